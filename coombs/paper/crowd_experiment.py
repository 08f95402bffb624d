"""The experiments of Canal, Mason, Vinayak & Nowak (2022) again: one metric, learned from a crowd.

Synthetic people by the paper's protocol, and its protocol for colours on simulated people. Beside the five
programs stand their baselines: everybody alone, and a metric that is not learned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.estimators.many_people import ideal_points
from coombs.paper.crowd import STEEPNESS, Crowd, draw_colour_crowd, draw_crowd
from coombs.paper.experiment import Cell, Experiment, Row, Tables, Trials, stream
from coombs.paper.figures import COLOURS, LINES, MARKS, legend, light_frame
from coombs.paper.judging import number
from coombs.programs.constraint_sets import SETS, ConstraintSet
from coombs.programs.losses import LOSSES
from coombs.programs.program import Status
from coombs.programs.shared_interior import solve
from coombs.programs.shared_metric import PeoplesAnswers, SharedProgram
from coombs.render.canvas import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from coombs.data.tables import FloatArray

PAPER = (
    "Gregory Canal, Blake Mason, Ramya Korlakai Vinayak and Robert Nowak: One for All: Simultaneous Metric "
    "and Preference Learning over Multiple Users, NeurIPS 2022."
)
D, N_PEOPLE = 10, 10
"""Features and people of the synthetic experiment."""
RANKS = (1, 10)
"""Ranks of the metric."""
ANSWERS = tuple(range(30, 301, 30))
"""Answers of each person."""
N_COLOUR_PEOPLE = 48
COLOUR_ANSWERS = (5, 10, 20, 30, 50, 100, 200, 300)
N_TRIALS = 30
"""Trials of each cell."""
COLOUR_RADII = (float(np.sqrt(3.0)), 2.0)
"""The paper's: |I|_F, and 2 |u| for the farthest colour."""
ALONE = "everybody alone"
IDENTITY = "metric not learned"
MEASURES = {"metric": "relative error of M", "ideals": "relative error of u", "accuracy": "share predicted"}


def cells(quick: bool) -> list[Cell]:
    """Of synthetic people by rank and answers, and of people who judge colours by answers."""
    synthetic = [(1, 60)] if quick else [(rank, m) for rank in RANKS for m in ANSWERS]
    found = [
        Cell(f"rank{rank}-m{m}", {"kind": "synthetic", "rank": rank, "answers": m}) for rank, m in synthetic
    ]
    some = (20,) if quick else COLOUR_ANSWERS
    return found + [Cell(f"colours-m{m}", {"kind": "colours", "rank": 3, "answers": m}) for m in some]


def trial(cell: Cell, seed: int, number: int) -> list[Row]:
    """One crowd, by every program."""
    rng = stream(seed, "many-people", cell.name, number)
    if cell["kind"] == "colours":
        return _colour_rows(draw_colour_crowd(N_COLOUR_PEOPLE, cell["answers"], rng))
    return _synthetic_rows(draw_crowd(N_PEOPLE, cell["answers"], D, cell["rank"], rng))


def _synthetic_rows(crowd: Crowd) -> list[Row]:
    rows = [{"estimator": name, **_measured(crowd, name)} for name in SETS]
    single = [_measured(crowd.alone(k), "nuclear_full") for k in range(len(crowd.ideals))]
    rows.append({"estimator": ALONE, **_mean(single)})
    # |M|_F = d, as the truth has it.
    identity = np.sqrt(D) * np.eye(D)
    return [*rows, {"estimator": IDENTITY, **_measured(crowd, "frobenius", identity)}]


def _measured(crowd: Crowd, name: str, given: FloatArray | None = None) -> dict[str, float]:
    """Errors of a fit with the oracle's radii and the logistic loss of the answers' own steepness.

    loss(s e) of (M, v) is loss(e) of (s M, s v), so the set is s times as large and the result divided by s.
    """
    d = crowd.items.shape[1]
    radius, own_radius = (STEEPNESS * one for one in crowd.radii(name))
    bounds = ConstraintSet(name, d, len(crowd.ideals), radius, own_radius, given is None)
    scaled = None if given is None else STEEPNESS * given
    found = solve(SharedProgram.of(crowd.answers, LOSSES["logistic"], bounds, scaled))
    metric = found.metric / STEEPNESS if given is None else given
    own = found.directions / STEEPNESS
    truth = crowd.ideals @ crowd.metric @ np.linalg.pinv(crowd.metric, rcond=1e-4)
    return {
        "metric": _relative(crowd.metric, metric),
        "ideals": _relative(truth, ideal_points(metric, own, float(d))),
        "accuracy": accuracy(crowd.test, metric, own),
        "optimal": float(found.status is Status.OPTIMAL),
    }


def _colour_rows(crowd: Crowd) -> list[Row]:
    """The paper's three: together, with M = I, and everybody alone; hinge, with the paper's radii."""
    single = [_colour_accuracy(crowd.alone(k)) for k in range(len(crowd.ideals))]
    return [
        {"estimator": "frobenius", **_colour_accuracy(crowd)},
        {"estimator": IDENTITY, **_colour_accuracy(crowd, np.eye(3))},
        {"estimator": ALONE, **_mean(single)},
    ]


def _colour_accuracy(crowd: Crowd, given: FloatArray | None = None) -> dict[str, float]:
    bounds = ConstraintSet("frobenius", 3, len(crowd.ideals), *COLOUR_RADII, given is None)
    found = solve(SharedProgram.of(crowd.answers, LOSSES["hinge"], bounds, given))
    metric = found.metric if given is None else given
    return {
        "accuracy": accuracy(crowd.test, metric, found.directions),
        "optimal": float(found.status is Status.OPTIMAL),
    }


def accuracy(answers: PeoplesAnswers, metric: FloatArray, own: FloatArray) -> float:
    """The share of answers that a metric and everybody's v predict."""
    squares = np.einsum("ni,ij,nj->n", answers.items, metric, answers.items)
    margins = squares[answers.losers] - squares[answers.winners]
    steps = answers.items[answers.losers] - answers.items[answers.winners]
    margins += (steps * own[answers.people]).sum(axis=1)
    return float(answers.weights @ ((np.sign(margins) + 1) / 2))


def _relative(truth: FloatArray, found: FloatArray) -> float:
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


def _mean(rows: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def summary(trials: Trials) -> dict[str, Any]:
    """Medians and quartiles by kind of people, rank, program and answers."""
    keys = ("kind", "rank", "estimator", "answers")
    found = []
    for key in trials.distinct(*keys):
        part = trials.where(**dict(zip(keys, key, strict=True)))
        measures = {
            name: dict(
                zip(
                    ("low", "median", "high"),
                    map(float, np.quantile(part[name], (0.25, 0.5, 0.75))),
                    strict=True,
                )
            )
            for name in MEASURES
            if name in part.rows[0]
        }
        optimal = float(part["optimal"].mean())
        found.append(
            {**dict(zip(keys, key, strict=True)), "trials": len(part), "optimal": optimal, **measures}
        )
    return {"cells": found}


def figures(summary: dict[str, Any], _: Trials) -> dict[str, Figure]:
    """Errors and accuracy of synthetic people, a row of panels for each rank; and accuracy about colours."""
    cells = summary["cells"]
    synthetic = [cell for cell in cells if cell["kind"] == "synthetic"]
    judged = [cell for cell in cells if cell["kind"] == "colours"]
    return {"main": _panels(synthetic, list(MEASURES)), "colours": _panels(judged, ["accuracy"])}


def _panels(cells: list[dict[str, Any]], measures: list[str]) -> Figure:
    ranks = sorted({cell["rank"] for cell in cells})
    figure = new_figure((max(3.6 * len(measures), 5.0), 3.1 * len(ranks) + 0.4))
    axes = figure.subplots(len(ranks), len(measures), squeeze=False)
    for row, rank in zip(axes, ranks, strict=True):
        for ax, measure in zip(row, measures, strict=True):
            for i, name in enumerate(dict.fromkeys(cell["estimator"] for cell in cells)):
                part = [cell for cell in cells if cell["estimator"] == name and cell["rank"] == rank]
                answers = [cell["answers"] for cell in part]
                middle, low, high = (
                    [cell[measure][key] for cell in part] for key in ("median", "low", "high")
                )
                shade, line = COLOURS[i % len(COLOURS)], LINES[i % len(LINES)]
                ax.plot(
                    answers, middle, line, color=shade, marker=MARKS[i % len(MARKS)], markersize=3, label=name
                )
                ax.fill_between(answers, low, high, color=shade, alpha=0.1, linewidth=0)
            ax.set_title(f"{MEASURES[measure]}, M of rank {rank}", fontsize=10, loc="left")
            ax.set_xlabel("answers of each person")
            if measure != "accuracy":
                ax.set_ylim(0, 1.5)
            light_frame(ax)
    legend(figure, axes[0, 0], 4)
    return figure


def tables(summary: dict[str, Any], _: Trials) -> Tables:
    """Medians at the fewest and the most answers."""
    found: Tables = {}
    for kind, rank in dict.fromkeys((cell["kind"], cell["rank"]) for cell in summary["cells"]):
        part = [cell for cell in summary["cells"] if (cell["kind"], cell["rank"]) == (kind, rank)]
        ends = sorted({cell["answers"] for cell in part})
        shown = [name for name in MEASURES if name in part[0]]
        rows = [["program", "answers", *(MEASURES[name] for name in shown), "solved to 1e-8"]]
        for cell in part:
            if cell["answers"] in (ends[0], ends[len(ends) // 2], ends[-1]):
                values = [number(cell[name]["median"]) for name in shown]
                rows.append(
                    [cell["estimator"], str(cell["answers"]), *values, f"{100 * cell['optimal']:.0f}%"]
                )
        title = "Colours" if kind == "colours" else f"Synthetic people, M of rank {rank}"
        found[f"{title}: medians"] = rows
    return found


MANY_PEOPLE = Experiment(
    "many-people",
    "One metric, many people",
    "Synthetic: d = 10, 10 people, 100 items, logistic answers, M of rank 1 or 10, radii as the truth has "
    "them; as many answers again are predicted. Colours: 48 simulated people, with a metric that they share "
    "in part, and forced choices among 37 colours; hinge loss. Relative errors are of Frobenius norms.",
    N_TRIALS,
    cells,
    trial,
    summary,
    figures,
    tables,
    paper=PAPER,
)
