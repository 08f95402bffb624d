"""What the rows about applicants say: summaries, figures and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from coombs.datasets import EIGENVALUES, SCALES
from coombs.paper.experiment import Row, Tables, Trials
from coombs.paper.figures import COLOURS, MARKS, curves, legend, light_frame
from coombs.paper.learned_metric import WORDS, has_metric, interactions, outside
from coombs.render.canvas import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from coombs.data.tables import FloatArray

Part: TypeAlias = dict[str, Any]
"""A part of a summary: what an estimator learned, or how well it did."""

STANDARDIZED = "SingleStep, standardized"
VIEW_KEYS = {STANDARDIZED: "standardized", "IdealPoint": "IdealPoint"}
"""Under which key of a summary it is what an estimator learned; SingleStep's is the summary itself."""
BY_MODEL = ", by (M, u)"
"""What follows an estimator's name where items are ranked by its model alone."""
TOP = (11, 17, 22)
"""Numbers of best candidates whose share is measured."""
TOPS = tuple(f"top{k}" for k in TOP)
KENDALL = f"kendall{TOP[0]}"
POOLED = "pooled"
COMPARED = {"SingleStep": "SingleStep", "IdealPoint": "IdealPoint", "linear": "linear preference"}
"""What predicts held-out answers of schools, in words."""
TIERS = {1: ("fellowship", "o"), 2: ("admitted", "s"), 3: ("denied", "x")}


# Summaries


def _part(row: Row) -> Part:
    """What a fit learned; its status alone where there was no optimum."""
    return {"status": row["status"], **row.get("learned", {})}


def _learned_summary(fits: Trials, truths: Mapping[str, Part]) -> Part:
    """What each estimator learned from all features, beside the truth in its units, and from pairs."""
    views: dict[str, Part] = {}
    for row in fits.rows:
        view = views.setdefault(row["estimator"], {"pairs": {}})
        if row["features"].count(",") > 1:
            view |= _part(row)
        elif "learned" in row:
            view["pairs"][row["features"]] = _part(row)
    for view in views.values() if truths else ():
        view["truth"] = truths.get(view.get("units", ""), {})
    return {
        "features": fits.rows[0]["features"].split(","),
        **views["SingleStep"],
        "overlap": fits.rows[0]["overlap"],
        **{key: views[name] for name, key in VIEW_KEYS.items() if name in views},
    }


def _statuses(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """How the solves of each estimator ended."""
    statuses: dict[str, Counter[str]] = {}
    for row in rows:
        if ends := [row[name] for name in ("status", "status_kendall") if name in row]:
            statuses.setdefault(row["estimator"], Counter()).update(ends)
    return {name: dict(counts) for name, counts in statuses.items()}


def _truths(trials: Trials) -> dict[str, Part]:
    """By their units."""
    return {row["learned"]["units"]: row["learned"] for row in trials.where(record="truth").rows}


def unranked_summary(trials: Trials) -> Part:
    """Of the first trial: what was learned about whom, and what no data could give."""
    first = trials.where(trial=0)
    fits, row = first.where(record="fit"), first.rows[0]
    return {
        "data": "simulated",
        **_learned_summary(fits, _truths(first)),
        "applicants": row["applicants"],
        "dropped": row["dropped"],
        "n_candidates": row["candidates"],
        "n_comparisons": row["answers"],
        "norm": {"largest": row["largest_norm"], "paper": float(np.linalg.norm(EIGENVALUES))},
        "statuses": _statuses(fits.rows),
    }


def ranked_summary(trials: Trials) -> Part:
    """Shares of the top and Kendall's distance over the trials; the metric from all comparisons."""
    fits, first, truths = trials.where(record="fit"), trials.rows[0], _truths(trials)
    whole = {row["estimator"]: row for row in fits.where(answers=first["comparisons"]).rows}
    parts = {name: _part(whole[name]) if name in whole else {} for name in ("SingleStep", "IdealPoint")}
    keys = fits.distinct("answers", "estimator")
    return {
        "data": "simulated",
        "features": first["features"].split(","),
        "n_candidates": first["candidates"],
        "n_comparisons": first["comparisons"],
        "cells": [_ranked_cell(fits.where(answers=n, estimator=name)) for n, name in keys],
        "all": parts["SingleStep"] | {"IdealPoint": parts["IdealPoint"]},
        "truth": truths["own"] | {"in_spreads": truths["spreads"]},
        "statuses": _statuses(fits.rows),
    }


def _ranked_cell(trials: Trials) -> Part:
    """One estimator at one number of comparisons, over the trials that have an optimum."""
    row, failed = trials.rows[0], 0
    cell: Part = {"answers": row["answers"], "share": row["answers"] / row["comparisons"]}
    for name in (*TOPS, KENDALL):
        values = np.array([trial[name] for trial in trials.rows if name in trial])
        failed = max(failed, len(trials) - len(values))
        if len(values) and name in TOPS:
            cell[name] = {"mean": float(values.mean()), "deviation": float(values.std())}
        elif len(values):
            low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
            cell[name] = {"median": middle, "low": low, "high": high}
    return cell | {"estimator": row["estimator"], "trials": len(trials), "failed": failed}


def gradcafe_summary(trials: Trials) -> Part:
    """Accuracy for each school and pooled; what was learned from all schools together."""
    folds = trials.where(record="fold")
    schools = {school: _accuracies(folds.where(school=school)) for school in folds.distinct("school")}
    return {
        "data": "GradCafe",
        **_learned_summary(trials.where(trial=0, record="fit"), {}),
        "pooled": schools.pop(POOLED),
        "schools": [{"school": school} | accuracies for school, accuracies in schools.items()],
        "statuses": _statuses(trials.rows),
    }


def _accuracies(folds: Trials) -> Part:
    """Shares of all held-out answers that each estimator predicts."""
    accuracies: Part = {"answers": folds.rows[0]["answers"]}
    for name in COMPARED:
        solved = Trials(row for row in folds.where(estimator=name).rows if "accuracy" in row)
        if len(solved):
            accuracies[name] = float(np.average(solved["accuracy"], weights=solved["held_out"]))
    return accuracies


# Figures


def _views(summary: Part) -> dict[str, Part]:
    """By estimator."""
    return {"SingleStep": summary} | {name: summary[key] for name, key in VIEW_KEYS.items() if key in summary}


def _all_pairs(views: Mapping[str, Part]) -> list[str]:
    """Of features, that any of the views has."""
    return list(dict.fromkeys(pair for view in views.values() for pair in view["pairs"]))


def unranked_figures(summary: Part, trials: Trials) -> dict[str, Figure]:
    """Level sets for every pair of features."""
    views = _views(summary)
    candidates = trials.where(trial=0, record="candidate")
    return {
        f"level-sets-{pair.replace(',', '-')}": _level_sets(pair, views, candidates.where(features=pair))
        for pair in _all_pairs(views)
    }


def _level_sets(pair: str, views: Mapping[str, Part], candidates: Trials) -> Figure:
    """A panel for each estimator: lines of equal distance among the candidates, and the ideal."""
    names = pair.split(",")
    points = np.column_stack([candidates[name] for name in names])
    figure = new_figure((3.9 * len(views), 4.3))
    axes = figure.subplots(1, len(views), squeeze=False)[0]
    for ax, (estimator, view) in zip(axes, views.items(), strict=True):
        ax.set_title(estimator, fontsize=10, loc="left")
        if pair in view["pairs"]:
            _lines(ax, view["pairs"][pair], points)
        for k, (tier, (word, mark)) in enumerate(TIERS.items()):
            x, y = points[candidates["tier"] == tier].T
            ax.scatter(x, y, s=16, marker=mark, color=COLOURS[k], alpha=0.8, label=word, zorder=3)
        ax.set(xlabel=WORDS[names[0]], ylabel=WORDS[names[1]])
        ax.spines[["top", "right"]].set_visible(False)
    legend(figure, axes[0], len(TIERS))
    return figure


def _lines(ax: Axes, learned: Part, points: FloatArray) -> None:
    """Level lines of (x - u)' M (x - u) over the items' range, and where the ideal is."""
    ideal, metric = np.array(list(learned["ideal"].values())), np.array(learned["metric"])
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.08 * (high - low)
    near = ((ideal > low - 4 * margin) & (ideal < high + 4 * margin)).all()
    if near:
        low, high = np.minimum(low, ideal), np.maximum(high, ideal)
    low, high = low - margin, high + margin
    plane = np.meshgrid(*(np.linspace(a, b, 121) for a, b in zip(low, high, strict=True)))
    away = np.stack(plane, axis=-1) - ideal
    distance = np.einsum("abi,ij,abj->ab", away, metric, away)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    if has_metric(learned):
        levels = np.unique(np.quantile(distance, np.linspace(0.05, 0.95, 10)))
        ax.contour(*plane, distance, levels=levels, cmap="Greys_r", linewidths=0.9, zorder=1)
        if near:
            ax.scatter(ideal[0], ideal[1], s=120, marker="*", color="black", zorder=4)
        else:
            _towards(ax, (ideal - (low + high) / 2) / (high - low))
    ax.text(0, -0.2, _caption(learned), transform=ax.transAxes, fontsize=8, va="top")


def _towards(ax: Axes, direction: FloatArray) -> None:
    """An arrow at the edge, to an ideal beyond it."""
    edge = 0.5 + 0.49 * direction / np.abs(direction).max()
    tail = edge - 0.12 * direction / np.linalg.norm(direction)
    arrow = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.6}
    ax.annotate("", tuple(edge), tuple(tail), "axes fraction", "axes fraction", arrowprops=arrow, zorder=4)


def _caption(learned: Part) -> str:
    """The ideal and the eigenvectors in words."""
    if not has_metric(learned):
        return "M = 0: the features are not used,\nand there is neither ideal nor level"
    place = ", ".join(f"{WORDS[name]} {value:.4g}" for name, value in learned["ideal"].items())
    units = "features' units" if learned["units"] == "own" else "units of spreads"
    return "\n".join([f"ideal: {place}", f"eigenvectors, in {units}:", *_weighted(learned)])


def ranked_figures(summary: Part, _: Trials) -> dict[str, Figure]:
    """Shares of the top 11, 17 and 22 with deviations; Kendall's distance of the top 11 with quartiles."""
    cells = [{"d": len(summary["features"])} | cell for cell in summary["cells"]]
    names = list(dict.fromkeys(cell["estimator"] for cell in cells))
    top = curves([cell | _bands(cell) for cell in cells if TOPS[0] in cell], TOPS, names)
    order = curves([cell for cell in cells if KENDALL in cell], (KENDALL,), names)
    order.set_size_inches(6.4, 4.4)
    return {"top": top, "kendall": order}


def _bands(cell: Part) -> Part:
    """Mean and deviation in the place of median and quartiles."""
    ends = {name: (cell[name]["mean"], cell[name]["deviation"]) for name in TOPS}
    return {
        name: {"median": mean, "low": mean - deviation, "high": min(1.0, mean + deviation)}
        for name, (mean, deviation) in ends.items()
    }


def _schools(summary: Part) -> list[Part]:
    return [{"school": "all schools pooled"} | summary["pooled"], *summary["schools"]]


def gradcafe_figures(summary: Part, _: Trials) -> dict[str, Figure]:
    """Accuracy for each school, those with most comparisons on top."""
    rows = _schools(summary)
    figure = new_figure((6.4, 1.6 + 0.24 * len(rows)))
    ax = figure.subplots()
    for k, (name, label) in enumerate(COMPARED.items()):
        places = [place for place, row in enumerate(rows) if name in row]
        values = [rows[place][name] for place in places]
        ax.scatter(values, places, s=28, marker=MARKS[k], color=COLOURS[k], label=label, zorder=3)
    ax.axvline(0.5, color="grey", linewidth=0.8)
    ax.set_yticks(range(len(rows)), [f"{row['school']} ({row['answers']})" for row in rows], fontsize=8)
    ax.set(xlabel="accuracy on held-out comparisons (guessing: 0.5)", ylim=(len(rows) - 0.4, -0.6))
    light_frame(ax)
    legend(figure, ax, len(COMPARED))
    return {"main": figure}


# Tables


def _weighted(part: Part) -> list[str]:
    """Each eigenvalue and its interaction."""
    return [f"{one.eigenvalue:.3g}: {one.words()}" for one in interactions(part)]


def _number(value: float | None, form: str = ".3f") -> str:
    return "-" if value is None else format(value, form)


def _interactions(parts: Mapping[str, Part]) -> list[list[str]]:
    """Of each part that has any, beside the truth where it has one."""
    rows = []
    for name, part in parts.items():
        sides = [interactions(side) for side in (part, part.get("truth", {})) if "interactions" in side]
        rows += [
            [name, *(text for one in both for text in (f"{one.eigenvalue:.4g}", one.words()))]
            for both in zip(*sides, strict=True)
        ]
    truth = ["true eigenvalue", "true interaction"] if rows and len(rows[0]) > 3 else []
    return [["estimator", "eigenvalue", "interaction", *truth], *rows]


def _ideals(parts: Mapping[str, Part], features: Sequence[str]) -> list[list[str]]:
    """A column for each part."""
    ideals = [part.get("ideal", {}) for part in parts.values()]
    rows = [[WORDS[name], *(_number(ideal.get(name), ".2f") for ideal in ideals)] for name in features]
    return [["feature", *parts], *rows]


def _ends(summary: Part) -> list[list[str]]:
    """How many solves ended how."""
    ends = summary["statuses"].items()
    rows = [[name, end, str(n)] for name, counts in ends for end, n in counts.items()]
    return [["estimator", "status", "fits"], *rows]


def _pair_rows(views: Mapping[str, Part]) -> list[list[str]]:
    """Of every pair by every estimator."""
    rows = [["features", "estimator", "ideal", "in the allowed range", "interactions", "right by (M, u)"]]
    for pair in _all_pairs(views):
        features = ", ".join(WORDS[name] for name in pair.split(","))
        for name, view in views.items():
            part = view["pairs"].get(pair)
            if part is not None and has_metric(part):
                ideal = ", ".join(f"{value:.4g}" for value in part["ideal"].values())
                inside, words = "no" if outside(part) else "yes", "; ".join(_weighted(part))
                rows.append([features, name, ideal, inside, words, _number(part.get("accuracy"))])
            elif part is not None:
                rows.append([features, name, "-", "-", "none: M = 0", "-"])
    return rows


def _learned_tables(summary: Part) -> Tables:
    """Interactions, ideal scores, pairs of features, and how the solves ended."""
    views = _views(summary)
    truth = {"truth (learned by the paper)": summary["truth"]} if "truth" in summary else {}
    return {
        "Feature interactions from all features": _interactions(views),
        "Ideal scores": _ideals(truth | views, summary["features"]),
        "Pairs of features": _pair_rows(views),
        "How the solves ended": _ends(summary),
    }


def unranked_tables(summary: Part, trials: Trials) -> Tables:
    """What was learned, how well, what no data could give, and what cleaning left out."""
    norm, accuracies = summary["norm"], ("accuracy", "accuracy_fitted")
    rules = trials.where(trial=0, record="rule", features=",".join(summary["features"])).rows
    return _learned_tables(summary) | {
        "The norm of M that any data can give with the paper's gammas": [
            ["at most", "in the paper's table"],
            [f"{norm['largest']:.0f}", f"{norm['paper']:.0f}"],
        ],
        "Share of the comparisons that come out right": [
            ["estimator", "by (M, u)", "by its own distances, free to follow the answers"],
            *(
                [name, *(_number(view.get(key)) for key in accuracies)]
                for name, view in _views(summary).items()
            ),
        ],
        f"What cleaning left out of {summary['applicants']} applicants": [
            ["rule", "applicants"],
            *([row["rule"], str(row["dropped"])] for row in rules),
            ["all", str(summary["dropped"])],
        ],
    }


def ranked_tables(summary: Part, _: Trials) -> Tables:
    """Shares and distances, and the metric from all comparisons."""
    whole, truth = summary["all"], summary["truth"]
    parts = {
        "SingleStep": whole | {"truth": truth},
        "IdealPoint": whole["IdealPoint"] | {"truth": truth["in_spreads"]},
    }
    with_truth = {"truth": truth} | parts
    return {
        "Shares of the top, mean and deviation, and Kendall's distance of the top 11, median and quartiles": [
            ["comparisons", "share", "estimator", *(f"top {k}" for k in TOP), "Kendall", "no optimum"],
            *map(_ranked_row, summary["cells"]),
        ],
        f"Feature interactions from all {summary['n_comparisons']} comparisons": _interactions(parts),
        "Features by M's diagonal, most important first": [
            ["estimator", "in their own units", "in units of spreads"],
            *([name, *_orders(part)] for name, part in with_truth.items() if "metric" in part),
        ],
        "Ideal scores": _ideals(with_truth, summary["features"]),
        "How the solves ended": _ends(summary),
    }


def _orders(part: Part) -> list[str]:
    """The features by M's diagonal in their own units, and in units of simulated applicants' spreads."""
    names, weights = list(part["ideal"]), np.diag(part["metric"])
    scales = (np.ones(len(names)), np.array(SCALES[: len(names)]) ** 2)
    orders = [np.argsort(-weights * scale, kind="stable") for scale in scales]
    return [", ".join(WORDS[names[j]] for j in order) for order in orders]


def _ranked_row(cell: Part) -> list[str]:
    shares = ["{mean:.3f} ± {deviation:.3f}".format(**cell[name]) if name in cell else "-" for name in TOPS]
    order = "{median:.3f} ({low:.3f} to {high:.3f})".format(**cell[KENDALL]) if KENDALL in cell else "-"
    percent = f"{100 * cell['share']:.0f} %"
    return [str(cell["answers"]), percent, cell["estimator"], *shares, order, str(cell["failed"])]


def gradcafe_tables(summary: Part, _: Trials) -> Tables:
    """Accuracy, and what was learned from all schools together."""
    rows = [
        [school["school"], str(school["answers"]), *(_number(school.get(name)) for name in COMPARED)]
        for school in _schools(summary)
    ]
    heading = ["school", "comparisons", *COMPARED.values()]
    return {"Accuracy on held-out comparisons": [heading, *rows]} | _learned_tables(summary)
