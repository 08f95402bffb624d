"""The tables and the plot of `benchmarks.peers`, from its measures."""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peer_data import ANSWERS, DATA
from benchmarks.peer_models import MODELS
from benchmarks.simulated import heading

LOG_LOSS, ACCURACY, CALIBRATION, CPU = range(4)
SIGN = (1, -1, 1, 1)
"""Whether less is better, or more."""
OURS = {model.name for model in MODELS if model.is_ours}
ROUNDING = 1e-9
"""Differences below are none: everybody predicts half of a coin's tosses."""
COLUMNS = 4
"""Panels side by side."""
# Colours of Okabe and Ito, which colour-blind people tell apart; each line has a marker of its own, too.
STYLES: dict[str, dict[str, Any]] = {
    "logistic": {"color": "#E69F00", "marker": "o", "linewidth": 1},
    "quadratic": {"color": "#D55E00", "marker": "s", "linewidth": 1},
    "choix": {"color": "#999999", "marker": "v", "linewidth": 1},
    "LightGBM": {"color": "#009E73", "marker": "^", "linewidth": 1},
    "XGBoost": {"color": "#CC79A7", "marker": "D", "linewidth": 1},
    "sklearn GP": {"color": "#56B4E9", "marker": "P", "linewidth": 1},
    "BoTorch GP": {"color": "#0072B2", "marker": "X", "linewidth": 1},
    "coombs full": {"color": "black", "marker": "", "linewidth": 1.2, "linestyle": ":"},
    "coombs smooth": {"color": "black", "marker": "", "linewidth": 1.2, "linestyle": "--"},
    "coombs auto": {"color": "black", "marker": "o", "linewidth": 2.2},
}
FEWEST = 3
"""People of a row that is shown."""

Row = dict[str, np.ndarray]
"""By model, people x measures; the same people for every model."""


def rows_of(cells: dict[Any, np.ndarray], people: int) -> dict[tuple[str, int], Row]:
    """The measures by data set and number of answers, of the people whom all models of a row have."""
    rows = {}
    for key in product(DATA, ANSWERS):
        row = {model.name: _people(cells, key, model.name, people) for model in MODELS}
        row = {name: found for name, found in row.items() if len(found) >= FEWEST}
        common = sorted(set.intersection(*map(set, row.values()))) if row else []
        if len(common) >= FEWEST and not OURS.issuperset(row):
            rows[key] = {name: np.array([found[k] for k in common]) for name, found in row.items()}
    return rows


def _people(
    cells: dict[Any, np.ndarray], key: tuple[str, int], model: str, people: int
) -> dict[int, np.ndarray]:
    known = ((k, cells.get((key[0], k, key[1], model))) for k in range(people))
    return {k: values for k, values in known if values is not None}


def peers_and(name: str, row: Row) -> Row:
    """The models a model is judged among: all peers, and one metric of coombs: itself, or auto."""
    ours = name if name in OURS else "coombs auto"
    return {n: values for n, values in row.items() if n == ours or n not in OURS}


def best_of(row: Row, measure: int) -> str:
    """The model with the best mean."""
    return min(row, key=lambda name: SIGN[measure] * row[name][:, measure].mean())


def best_peer(row: Row, measure: int) -> str:
    """The best of those that are not coombs."""
    return best_of({name: values for name, values in row.items() if name not in OURS}, measure)


def behind(row: Row, name: str, other: str, measure: int) -> tuple[float, float]:
    """How much worse the first model is, and the standard error of that over people."""
    return mean_and_error(SIGN[measure] * (row[name][:, measure] - row[other][:, measure]))


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Mean over people and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def is_level(row: Row, name: str, measure: int) -> bool:
    """Whether a model is the best, or behind by at most one standard error of the paired difference."""
    mean, error = behind(row, name, best_of(row, measure), measure)
    return mean <= error + ROUNDING


def rank(row: Row, name: str, measure: int) -> int:
    """1 for the best mean."""
    return 1 + sum(behind(row, name, other, measure)[0] > ROUNDING for other in row)


def tables(cells: dict[Any, np.ndarray], given: argparse.Namespace) -> list[str]:
    """A summary of the models, coombs auto beside the best peer, and each measure by row."""
    rows = rows_of(cells, given.people)
    names = [model.name for model in MODELS if any(model.name in row for row in rows.values())]
    lines = ["", *summary(rows, names)]
    note = (
        "In bold the best; `*`: behind by at most one standard error of the paired difference. "
        "Last, the standard error of the best over people, and the number of people."
    )
    for title, measure in (
        ("Log loss", LOG_LOSS),
        ("Accuracy", ACCURACY),
        ("Calibration error", CALIBRATION),
    ):
        lines += ["", f"## {title}", "", *heading(note, ("data", "answers", *names, "s.e.", "people"))]
        lines += [table_row(key, row, names, measure) for key, row in rows.items()]
    return lines + (["", *beside_best(rows)] if "coombs auto" in names else [])


def short(value: float, sign: str = "") -> str:
    """Three digits after the point, nothing before it."""
    return f"{value:{sign}.3f}".replace("0.", ".", 1)


def table_row(key: tuple[str, int], row: Row, names: list[str], measure: int) -> str:
    """A data set and a number of answers."""
    best = best_of(row, measure)

    def cell(name: str) -> str:
        if name not in row:
            return "-"
        value = short(row[name][:, measure].mean())
        return f"**{value}**" if name == best else value + "*" * is_level(row, name, measure)

    error = short(mean_and_error(row[best][:, measure])[1])
    return f"| {key[0]} | {key[1]} | {' | '.join(map(cell, names))} | {error} | {len(row[best])} |"


def summary(rows: dict[tuple[str, int], Row], names: list[str]) -> list[str]:
    """Mean ranks, how often each model is level with the best, calibration, and the CPU time of a fit."""
    note = (
        "Means over the rows below. Ranks are among the peers and coombs auto (full, smooth: and itself). "
        "Level: rows in which it is the best of these, or behind by at most one standard error of the paired "
        "difference. Calibration error: mean distance of probability and frequency in ten bins."
    )
    ranks = ("rank by log loss", "level", "rank by accuracy", "level")
    lines = heading(note, ("model", *ranks, "calibration error", "CPU s of a fit", "in the slowest row"))
    for name in names:
        among = [peers_and(name, row) for row in rows.values() if name in row]
        cells = [name]
        for measure in (LOG_LOSS, ACCURACY):
            count = sum(is_level(row, name, measure) for row in among)
            cells += [
                f"{np.mean([rank(row, name, measure) for row in among]):.2f}",
                f"{count} of {len(among)}",
            ]
        error, cpu = ([row[name][:, m].mean() for row in among] for m in (CALIBRATION, CPU))
        lines.append(
            f"| {' | '.join(cells)} | {short(np.mean(error))} | {np.mean(cpu):.2f} | {max(cpu):.2f} |"
        )
    among = [peers_and("coombs auto", row) for row in rows.values() if "coombs auto" in row]
    count = [sum(is_level(row, "coombs auto", m) for row in among) for m in (LOG_LOSS, ACCURACY)]
    told = (
        f"coombs auto is the best, or within one standard error of the best peer, in {count[0]} of "
        f"{len(among)} rows by log loss and in {count[1]} by accuracy."
    )
    return [*lines, "", told]


def beside_best(rows: dict[tuple[str, int], Row]) -> list[str]:
    """coombs auto less the best peer, with standard errors of the paired differences."""
    note = "Means and standard errors over people, and the paired difference to the best peer of the row."
    columns = (
        "log loss",
        "less the peer's",
        "accuracy",
        "less the peer's",
        "calibration error",
        "CPU s of a fit",
    )
    lines = ["## coombs auto beside the best peer", "", *heading(note, ("data", "answers", *columns))]
    for (data, answers), row in rows.items():
        if "coombs auto" not in row:
            continue
        own, cells = row["coombs auto"], [data, str(answers)]
        for measure in (LOG_LOSS, ACCURACY):
            best = best_peer(row, measure)
            mean, error = behind(row, "coombs auto", best, measure)
            cells += [pm(own[:, measure]), f"{best}: {short(SIGN[measure] * mean, '+')} ± {short(error)}"]
        mean, error = mean_and_error(own[:, CPU])
        lines.append(f"| {' | '.join([*cells, pm(own[:, CALIBRATION]), f'{mean:.2f} ± {error:.2f}'])} |")
    return lines


def pm(values: np.ndarray) -> str:
    """Mean and standard error over people."""
    return " ± ".join(map(short, mean_and_error(values)))


def draw(cells: dict[Any, np.ndarray], given: argparse.Namespace, path: Path) -> None:
    """Write the plot: log loss above that of the best peer, a panel for each data set."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    rows = rows_of(cells, given.people)
    shown = list(dict.fromkeys(data for data, _ in rows))
    n_rows = -(-(len(shown) + 1) // COLUMNS)
    figure, axes = plt.subplots(
        n_rows, COLUMNS, figsize=(10, 2.3 * n_rows + 0.4), sharex=True, sharey=True, squeeze=False
    )
    for axis, data in zip(axes.flat, shown, strict=False):
        panel(axis, data, {answers: row for (each, answers), row in rows.items() if each == data})
    for axis in axes.flat[len(shown) :]:
        axis.axis("off")
    handles = {h.get_label(): h for axis in axes.flat for h in axis.get_lines() if h.get_label() in STYLES}
    handles = [handles[name] for name in STYLES if name in handles]
    axes.flat[-1].legend(handles=handles, loc="center", fontsize=8, frameon=False, handlelength=3)
    figure.supxlabel("answers learned from", fontsize=10)
    figure.supylabel("log loss minus the best peer's", fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=160)


def panel(axis: Any, data: str, rows: dict[int, Row]) -> None:
    """The models' curves; of coombs auto with a standard error of the paired difference to the best peer."""
    axis.axhline(0, color="black", linewidth=0.6)
    for name, style in STYLES.items():
        curve = {
            n: behind(row, name, best_peer(row, LOG_LOSS), LOG_LOSS) for n, row in rows.items() if name in row
        }
        if curve:
            mean, error = zip(*curve.values(), strict=True)
            axis.plot(list(curve), mean, label=name, markersize=4, **style)
            if name == "coombs auto":
                axis.errorbar(list(curve), mean, error, fmt="none", ecolor="black", elinewidth=1, capsize=2)
    axis.set(xscale="log", xlim=(16, 620), ylim=(-0.08, 0.22))
    axis.set_xticks(ANSWERS, labels=map(str, ANSWERS))
    axis.minorticks_off()
    axis.tick_params(labelsize=8, labelbottom=True)
    axis.set_title(data, fontsize=9)
