"""What the rows about applicants say: summaries, pictures and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from coombs.datasets import EIGENVALUES, FEATURES, LIMITS
from coombs.paper.experiment import Table
from coombs.paper.figures import COLOURS, MARKS, curves
from coombs.render.canvas import new_figure
from coombs.words import in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from coombs.data.tables import FloatArray

Part: TypeAlias = dict[str, Any]
Tables: TypeAlias = dict[str, list[list[str]]]

WORDS = dict(zip(FEATURES, ("GRE verbal", "GRE quant", "GRE writing", "GPA", "letters"), strict=True))
STANDARDIZED = "SingleStep, standardized"
BY_MODEL = ", by (M, u)"
TOP = (11, 17, 22)
POOLED = "pooled"
COMPARED = ("SingleStep", "IdealPoint", "linear")
VANISHING = 1e-6
"""A metric with a diagonal below this, in units of spreads, is zero but for rounding errors."""
TIERS = {1: ("fellowship", "o"), 2: ("admitted", "s"), 3: ("denied", "x")}


# What a row says


def part(row: Mapping[str, Any]) -> Part:
    """What was learned, out of its columns; the status alone where there was no optimum."""
    found: Part = {"status": row["status"]} if row.get("status") else {}
    names = str(row["features"]).split(",")
    if row.get(f"ideal_{names[0]}", "") == "":
        return found
    places = range(len(names))
    found["units"] = row["units"]
    found["ideal"] = {name: row[f"ideal_{name}"] for name in names}
    found["interactions"] = [
        {
            "eigenvalue": row[f"eigenvalue_{k + 1}"],
            "loadings": {name: row[f"loading_{k + 1}_{name}"] for name in names},
        }
        for k in places
    ]
    found["metric"] = [[row[f"m_{i}_{j}"] for j in places] for i in places]
    weights = {name: row[f"m_{i}_{i}"] for i, name in enumerate(names)}
    found["order"] = sorted(names, key=lambda name: -weights[name])
    scaled = {name: weight * row[f"spread_{name}"] ** 2 for name, weight in weights.items()}
    found["order_in_spreads"] = sorted(names, key=lambda name: -scaled[name])
    found["vanishes"] = max(scaled.values()) < VANISHING
    return found | {key: row[key] for key in ("accuracy", "accuracy_fitted") if row.get(key, "") != ""}


def _pairs(rows: Sequence[Mapping[str, Any]]) -> Part:
    """Of the rows about two features, by their names."""
    parts = {str(row["features"]): part(row) for row in rows if str(row["features"]).count(",") == 1}
    return {name: one | {"inside": _inside(one["ideal"])} for name, one in parts.items() if "ideal" in one}


def _inside(ideal: Mapping[str, float]) -> bool:
    return all(LIMITS[name][0] <= value <= LIMITS[name][1] for name, value in ideal.items())


def _statuses(rows: Sequence[Mapping[str, Any]], *columns: str) -> dict[str, dict[str, int]]:
    """How the solves of each estimator ended."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        ends = [str(row[name]) for name in columns if row.get(name)]
        if ends:
            found.setdefault(str(row["estimator"]), Counter()).update(ends)
    return {name: dict(counts) for name, counts in found.items()}


# Summaries


def unranked_summary(table: Table) -> Part:
    """Of the first trial: what each estimator learned from all features and from pairs, beside the truth."""
    rows = table.where(trial=0, record="fit").rows
    whole = [row for row in rows if row["features"] == ",".join(FEATURES)]
    truths = {row["units"]: part(row) for row in table.where(trial=0, record="truth").rows}
    views = {}
    for row in whole:
        own = [one for one in rows if one["estimator"] == row["estimator"]]
        views[row["estimator"]] = part(row) | {
            "truth": truths.get(row.get("units"), {}),
            "pairs": _pairs(own),
        }
    return {
        "data": "simulated",
        "features": list(FEATURES),
        **views["SingleStep"],
        "overlap": {name: whole[0][f"overlap_{name}"] for name in FEATURES},
        "applicants": whole[0]["applicants"],
        "dropped": whole[0]["dropped"],
        "n_candidates": whole[0]["candidates"],
        "n_comparisons": whole[0]["answers"],
        "norm": {"largest": whole[0]["largest_norm"], "paper": float(np.linalg.norm(EIGENVALUES))},
        "statuses": _statuses(rows, "status"),
        "standardized": views[STANDARDIZED],
        "IdealPoint": views["IdealPoint"],
    }


def ranked_summary(table: Table) -> Part:
    """Shares of the top and Kendall's distance over the trials; the metric from all comparisons."""
    fits, first = table.where(record="fit"), table.rows[0]
    keys = dict.fromkeys((row["answers"], row["estimator"]) for row in fits.rows)
    whole = {row["estimator"]: row for row in fits.rows if row["answers"] == first["comparisons"]}
    parts = {name: part(whole[name]) if name in whole else {} for name in ("SingleStep", "IdealPoint")}
    truths = {row["units"]: part(row) for row in table.where(record="truth").rows}
    return {
        "data": "simulated",
        "features": str(first["features"]).split(","),
        "n_candidates": first["candidates"],
        "n_comparisons": first["comparisons"],
        "cells": [_ranked_cell(fits.where(answers=n, estimator=name)) for n, name in keys],
        "all": parts["SingleStep"] | {"IdealPoint": parts["IdealPoint"]},
        "truth": truths["own"] | {"in_spreads": truths["spreads"]},
        "statuses": _statuses(fits.rows, "status", "status_kendall"),
    }


def _ranked_cell(some: Table) -> Part:
    """One estimator at one number of comparisons, over the trials that have an optimum."""
    row, failed = some.rows[0], 0
    found: Part = {"answers": row["answers"], "share": row["answers"] / row["comparisons"]}
    for name in (*(f"top{k}" for k in TOP), f"kendall{TOP[0]}"):
        values = np.array([one[name] for one in some.rows if one.get(name, "") != ""], dtype=float)
        failed = max(failed, len(some) - len(values))
        if not len(values):
            continue
        if name.startswith("top"):
            found[name] = {"mean": float(values.mean()), "deviation": float(values.std())}
        else:
            low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
            found[name] = {"median": middle, "low": low, "high": high}
    return found | {"estimator": row["estimator"], "trials": len(some), "failed": failed}


def gradcafe_summary(table: Table) -> Part:
    """Accuracy for each school and pooled; what was learned from all schools together."""
    fits = table.where(trial=0, record="fit").rows
    views = {name: [row for row in fits if row["estimator"] == name] for name in ("SingleStep", "IdealPoint")}
    parts = {name: part(rows[0]) | {"pairs": _pairs(rows)} for name, rows in views.items()}
    features = str(fits[0]["features"]).split(",")
    folds = table.where(record="fold")
    schools = {school: _accuracies(folds.where(school=school)) for school in folds.distinct("school")}
    return {
        "data": "GradCafe",
        "features": features,
        **parts["SingleStep"],
        "overlap": {name: fits[0][f"overlap_{name}"] for name in features},
        "pooled": schools.pop(POOLED),
        "schools": [{"school": school} | found for school, found in schools.items()],
        "statuses": _statuses(table.rows, "status"),
        "IdealPoint": parts["IdealPoint"],
    }


def _accuracies(folds: Table) -> Part:
    """Shares of all held-out answers that each estimator predicts."""
    found: Part = {"answers": folds.rows[0]["answers"]}
    for name in COMPARED:
        rows = Table(row for row in folds.where(estimator=name).rows if row.get("accuracy", "") != "")
        if len(rows):
            found[name] = float(np.average(rows["accuracy"], weights=rows["held_out"]))
    return found


# Pictures


def unranked_figures(table: Table) -> dict[str, Figure]:
    """Level sets for every pair of features."""
    views = _views(unranked_summary(table))
    candidates = {
        pair: table.where(trial=0, record="candidate", features=pair)
        for pair in dict.fromkeys(pair for view in views.values() for pair in view["pairs"])
    }
    return {
        f"level-sets-{pair.replace(',', '-')}": _level_sets(pair, views, some)
        for pair, some in candidates.items()
    }


def _views(summary: Part) -> dict[str, Part]:
    return {
        "SingleStep": summary,
        STANDARDIZED: summary["standardized"],
        "IdealPoint": summary["IdealPoint"],
    }


def _level_sets(pair: str, views: Mapping[str, Part], candidates: Table) -> Figure:
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
            rows = candidates["tier"] == tier
            x, y = points[rows].T
            ax.scatter(x, y, s=16, marker=mark, color=COLOURS[k], alpha=0.8, label=word, zorder=3)
        ax.set(xlabel=WORDS[names[0]], ylabel=WORDS[names[1]])
        ax.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8)
    return figure


def _lines(ax: Axes, found: Part, points: FloatArray) -> None:
    """Level lines of (x - u)' M (x - u) over the items' range, and where the ideal is."""
    ideal, metric = np.array(list(found["ideal"].values())), np.array(found["metric"])
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
    if not found["vanishes"]:
        levels = np.unique(np.quantile(distance, np.linspace(0.05, 0.95, 10)))
        ax.contour(*plane, distance, levels=levels, cmap="Greys_r", linewidths=0.9, zorder=1)
        if near:
            ax.scatter(ideal[0], ideal[1], s=120, marker="*", color="black", zorder=4)
        else:
            _towards(ax, (ideal - (low + high) / 2) / (high - low))
    ax.text(0, -0.2, _caption(found), transform=ax.transAxes, fontsize=8, va="top")


def _caption(found: Part) -> str:
    """The ideal and the eigenvectors in words."""
    if found["vanishes"]:
        return "M = 0: the features are not used,\nand there is neither ideal nor level"
    place = ", ".join(f"{WORDS[name]} {value:.4g}" for name, value in found["ideal"].items())
    lines = [f"{one['eigenvalue']:.3g}: {_words(one)}" for one in found["interactions"]]
    units = "features' units" if found["units"] == "own" else "units of spreads"
    return "\n".join([f"ideal: {place}", f"eigenvectors, in {units}:", *lines])


def _towards(ax: Axes, way: FloatArray) -> None:
    """An arrow at the edge, to an ideal beyond it."""
    edge = 0.5 + 0.49 * way / np.abs(way).max()
    tail = edge - 0.12 * way / np.linalg.norm(way)
    arrow = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.6}
    ax.annotate("", tuple(edge), tuple(tail), "axes fraction", "axes fraction", arrowprops=arrow, zorder=4)


def ranked_figures(table: Table) -> dict[str, Figure]:
    """Shares of the top 11, 17 and 22 with deviations; Kendall's distance of the top 11 with quartiles."""
    cells = [{"d": 4} | cell for cell in ranked_summary(table)["cells"]]
    names = list(dict.fromkeys(cell["estimator"] for cell in cells))
    tops, last = [f"top{k}" for k in TOP], f"kendall{TOP[0]}"
    found = {
        "top": curves([cell | _bands(cell, tops) for cell in cells if tops[0] in cell], tops, names),
        "kendall": curves([cell for cell in cells if last in cell], (last,), names),
    }
    for ax, k in zip(found["top"].axes, TOP, strict=True):
        ax.set_title(f"share of the top {k} (mean, deviation)", fontsize=10, loc="left")
    found["kendall"].set_size_inches(6.4, 4.4)
    found["kendall"].axes[0].set_title("Kendall tau distance of the top 11", fontsize=10, loc="left")
    return found


def _bands(cell: Part, names: Sequence[str]) -> Part:
    """Mean and deviation in the place of median and quartiles."""
    ends = {name: (cell[name]["mean"], cell[name]["deviation"]) for name in names}
    return {
        name: {"median": mean, "low": mean - deviation, "high": min(1.0, mean + deviation)}
        for name, (mean, deviation) in ends.items()
    }


def gradcafe_figures(table: Table) -> dict[str, Figure]:
    """Accuracy for each school, those with most comparisons on top."""
    summary = gradcafe_summary(table)
    rows = [{"school": "all schools pooled"} | summary["pooled"], *summary["schools"]]
    figure = new_figure((6.4, 1.6 + 0.24 * len(rows)))
    ax = figure.subplots()
    for k, name in enumerate(COMPARED):
        places = [place for place, row in enumerate(rows) if name in row]
        values = [rows[place][name] for place in places]
        label = "linear preference" if name == "linear" else name
        ax.scatter(values, places, s=28, marker=MARKS[k], color=COLOURS[k], label=label, zorder=3)
    ax.axvline(0.5, color="grey", linewidth=0.8)
    ax.set_yticks(range(len(rows)), [f"{row['school']} ({row['answers']})" for row in rows], fontsize=8)
    ax.set(xlabel="accuracy on held-out comparisons (guessing: 0.5)", ylim=(len(rows) - 0.4, -0.6))
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return {"main": figure}


# Tables


def _words(interaction: Mapping[str, Any]) -> str:
    """As "0.91 GRE writing - 0.39 GPA"."""
    weights = interaction["loadings"]
    return in_words(np.array(list(weights.values())), [WORDS[name] for name in weights])


def _number(value: float | None, form: str = ".3f") -> str:
    return "-" if value is None else format(value, form)


def _interactions(parts: Mapping[str, Part]) -> list[list[str]]:
    """Of each part that has any, beside the truth where it has one."""
    rows = []
    for name, one in parts.items():
        known = one.get("truth", {}).get("interactions", ())
        for k, found in enumerate(one.get("interactions", ())):
            row = [name, f"{found['eigenvalue']:.4g}", _words(found)]
            if known:
                row += [f"{known[k]['eigenvalue']:.4g}", _words(known[k])]
            rows.append(row)
    truth = ["true eigenvalue", "true interaction"] if rows and len(rows[0]) > 3 else []
    return [["estimator", "eigenvalue", "interaction", *truth], *rows]


def _ideals(parts: Mapping[str, Part], features: Sequence[str]) -> list[list[str]]:
    """A column for each part."""
    rows = [["feature", *parts]]
    for feature in features:
        values = [one.get("ideal", {}).get(feature) for one in parts.values()]
        rows.append([WORDS[feature], *(_number(value, ".2f") for value in values)])
    return rows


def _ends(statuses: Mapping[str, Mapping[str, int]]) -> list[list[str]]:
    """How many solves ended how."""
    rows = [[name, end, str(n)] for name, counts in statuses.items() for end, n in counts.items()]
    return [["estimator", "status", "fits"], *rows]


def unranked_tables(table: Table) -> Tables:
    """Interactions, ideal scores, pairs of features, and what cleaning left out."""
    summary = unranked_summary(table)
    views, features, norm = _views(summary), summary["features"], summary["norm"]
    rules = table.where(trial=0, record="rule", features=",".join(features)).rows
    right = [
        [name, *(_number(one.get(f"accuracy{by}")) for by in ("", "_fitted"))] for name, one in views.items()
    ]
    return {
        "Feature interactions from all five features": _interactions(views),
        "The norm of M that any data can give with the paper's gammas": [
            ["at most", "in the paper's table"],
            [f"{norm['largest']:.0f}", f"{norm['paper']:.0f}"],
        ],
        "Ideal scores": _ideals({"truth (learned by the paper)": summary["truth"]} | views, features),
        "Share of the comparisons that come out right": [
            ["estimator", "by (M, u)", "by its own distances, free to follow the answers"],
            *right,
        ],
        "Pairs of features": _pair_rows(views),
        f"What cleaning left out of {summary['applicants']} applicants": [
            ["rule", "applicants"],
            *([str(row["rule"]), str(row["dropped"])] for row in rules),
            ["all", str(summary["dropped"])],
        ],
        "How the solves ended": _ends(summary["statuses"]),
    }


def _pair_rows(views: Mapping[str, Part]) -> list[list[str]]:
    """Of every pair by every estimator."""
    rows = [["features", "estimator", "ideal", "in the allowed range", "interactions", "right by (M, u)"]]
    for pair in dict.fromkeys(pair for view in views.values() for pair in view["pairs"]):
        for name, view in views.items():
            one = view["pairs"].get(pair)
            if one is None:
                continue
            both = ", ".join(WORDS[feature] for feature in one["ideal"])
            ideal = ", ".join(f"{value:.4g}" for value in one["ideal"].values())
            words = "; ".join(f"{each['eigenvalue']:.3g}: {_words(each)}" for each in one["interactions"])
            found = [ideal, ("no", "yes")[one["inside"]], words, _number(one.get("accuracy"))]
            rows.append([both, name, *(["-", "-", "none: M = 0", "-"] if one["vanishes"] else found)])
    return rows


def ranked_tables(table: Table) -> Tables:
    """Shares and distances, and the metric from all comparisons."""
    summary = ranked_summary(table)
    whole, truth = summary["all"], summary["truth"]
    parts = {
        "SingleStep": whole | {"truth": truth},
        "IdealPoint": whole["IdealPoint"] | {"truth": truth["in_spreads"]},
    }
    known = {"truth": truth}
    orders = [
        [name, *(", ".join(WORDS[each] for each in one[key]) for key in ("order", "order_in_spreads"))]
        for name, one in (known | parts).items()
        if "order" in one
    ]
    return {
        "Shares of the top, mean and deviation, and Kendall's distance of the top 11, median and quartiles": [
            ["comparisons", "share", "estimator", *(f"top {k}" for k in TOP), "Kendall", "no optimum"],
            *map(_ranked_row, summary["cells"]),
        ],
        f"Feature interactions from all {summary['n_comparisons']} comparisons": _interactions(parts),
        "Features by M's diagonal, most important first": [
            ["estimator", "in their own units", "in units of spreads"],
            *orders,
        ],
        "Ideal scores": _ideals(known | parts, summary["features"]),
        "How the solves ended": _ends(summary["statuses"]),
    }


def _ranked_row(cell: Part) -> list[str]:
    row = [str(cell["answers"]), f"{100 * cell['share']:.0f} %", cell["estimator"]]
    shares = (cell.get(f"top{k}") for k in TOP)
    row += ["-" if one is None else f"{one['mean']:.3f} ± {one['deviation']:.3f}" for one in shares]
    order = cell.get(f"kendall{TOP[0]}")
    row.append("-" if order is None else f"{order['median']:.3f} ({order['low']:.3f} to {order['high']:.3f})")
    return [*row, str(cell["failed"])]


def gradcafe_tables(table: Table) -> Tables:
    """Accuracy, interactions and ideal scores."""
    summary = gradcafe_summary(table)
    parts = {"SingleStep": summary, "IdealPoint": summary["IdealPoint"]}
    schools = [{"school": "all schools pooled"} | summary["pooled"], *summary["schools"]]
    return {
        "Accuracy on held-out comparisons": [
            ["school", "comparisons", "SingleStep", "IdealPoint", "linear preference"],
            *(
                [one["school"], str(one["answers"]), *(_number(one.get(name)) for name in COMPARED)]
                for one in schools
            ),
        ],
        "Feature interactions from all schools together": _interactions(parts),
        "Ideal scores from all schools together": _ideals(parts, summary["features"]),
        "Pairs of features": _pair_rows(parts),
        "How the solves ended": _ends(summary["statuses"]),
    }
