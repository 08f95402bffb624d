"""Proposition 1, numerically: where M hardly sees a direction, u cannot be recovered along it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.estimators.single_step import SingleStep
from coombs.paper.experiment import Cell, Experiment, Row, Trials, stream
from coombs.paper.figures import COLOURS
from coombs.render.canvas import new_figure
from coombs.simulate import Preferences, draw_answers, draw_pairs, make_preferences, squared_distances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from coombs.data.tables import FloatArray

SMALLEST = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Smallest eigenvalues of M, the others being 1 and 2."""
D = 3
"""Features."""
N_ITEMS = 100
N_ANSWERS = 500


def cells(quick: bool) -> list[Cell]:
    """A cell for each smallest eigenvalue of M, the others being 1 and 2."""
    return [
        Cell(f"smallest-{value}", {"smallest": value}) for value in (SMALLEST[::3] if quick else SMALLEST)
    ]


def person(smallest: float, rng: np.random.Generator) -> tuple[Preferences, FloatArray]:
    """Somebody whose metric has this smallest eigenvalue, and the direction that belongs to it."""
    drawn = make_preferences(N_ITEMS, D, 1, random_state=rng)
    axes, _ = np.linalg.qr(rng.standard_normal((D, D)))
    metric = (axes * np.array([smallest, 1.0, 2.0])) @ axes.T
    pairs = draw_pairs(N_ITEMS, N_ANSWERS, rng)
    y = draw_answers(squared_distances(drawn.items, drawn.ideal_point, metric), pairs, None, rng)
    return replace(drawn, pairs=pairs, y=y, metric=metric), axes[:, 0]


def trial(cell: Cell, seed: int, number: int) -> list[Row]:
    """How far the recovered u is off along the weakest direction and across it, in units of |u|."""
    truth, weakest = person(cell["smallest"], stream(seed, "proposition", cell.name, number))
    est = SingleStep(truth.items, alpha=1e-6).fit(truth.pairs, truth.y)
    off = (est.ideal_point_ - truth.ideal_point) / np.linalg.norm(truth.ideal_point)
    along = float(off @ weakest)
    return [{"along": abs(along), "across": float(np.linalg.norm(off - along * weakest))}]


def summary(trials: Trials) -> dict[str, Any]:
    """Medians for each smallest eigenvalue."""
    cells = []
    for value in trials.distinct("smallest"):
        part = trials.where(smallest=value)
        errors = {f"error_{key}": float(np.median(part[key])) for key in ("along", "across")}
        cells.append({"smallest": value, "trials": len(part), **errors})
    return {"cells": cells}


def figures(summary: dict[str, Any], _: Trials) -> dict[str, Figure]:
    """Both errors against the smallest eigenvalue; zero has a place of its own at the left."""
    cells = summary["cells"]
    figure = new_figure((5.2, 3.6))
    ax = figure.subplots()
    places = [max(cell["smallest"], SMALLEST[1] / 3) for cell in cells]
    for key, label, colour, mark in (
        ("error_along", "along the weakest direction", COLOURS[1], "o"),
        ("error_across", "across it", COLOURS[0], "s"),
    ):
        ax.loglog(places, [cell[key] for cell in cells], color=colour, marker=mark, label=label)
    ax.set_xticks(places, [f"{cell['smallest']:g}" for cell in cells])
    ax.minorticks_off()
    ax.set(
        xlabel="smallest eigenvalue of M (the others are 1 and 2)",
        ylabel="median error of u, in units of |u|",
    )
    ax.grid(alpha=0.25)
    ax.legend(frameon=False)
    return {"main": figure}


PROPOSITION = Experiment(
    "proposition",
    "Proposition 1: what the metric does not see",
    "d = 3, 500 answers, M with eigenvalues e, 1 and 2. As e goes to 0, u along its eigenvector is lost: "
    "moving u there changes no answer. Across it, nothing is lost.",
    20,
    cells,
    trial,
    summary,
    figures,
)
