"""The tables and the plot of `benchmarks.peers`, from its measures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peer_data import ANSWERS, DATA
from benchmarks.peer_models import MODELS
from benchmarks.simulated import heading

LOG_LOSS, ACCURACY, CALIBRATION, CPU = range(4)
OURS = {model.name for model in MODELS if model.is_ours}
FEWEST = 3
"""People of a row that is shown."""

Row = dict[str, np.ndarray]
"""By model, people x measures; the same people for every model."""


def rows_of(cells: dict[Any, np.ndarray], people: int) -> dict[tuple[str, int], Row]:
    """The measures by data set and number of answers, of people that all models of a row have."""
    rows = {}
    for data in DATA:
        for answers in ANSWERS:
            names = [
                m.name for m in MODELS if any((data, k, answers, m.name) in cells for k in range(people))
            ]
            common = [k for k in range(people) if all((data, k, answers, n) in cells for n in names)]
            if names and len(common) >= FEWEST:
                rows[data, answers] = {
                    n: np.array([cells[data, k, answers, n] for k in common]) for n in names
                }
    return rows


def paired(row: Row, measure: int) -> tuple[str, dict[str, tuple[float, float]]]:
    """The best model, and of each how far behind it is, with the standard error over people."""
    sign = -1 if measure == ACCURACY else 1
    best = min(row, key=lambda name: sign * row[name][:, measure].mean())
    behind = {name: sign * (row[name][:, measure] - row[best][:, measure]) for name in row}
    return best, {name: (d.mean(), d.std(ddof=1) / np.sqrt(len(d))) for name, d in behind.items()}


def level(row: Row, measure: int) -> set[str]:
    """The best model and those that are behind by at most one standard error of the difference."""
    best, behind = paired(row, measure)
    return {name for name, (mean, error) in behind.items() if name == best or mean <= error}


def tables(cells: dict[Any, np.ndarray], given: argparse.Namespace) -> list[str]:
    """A summary of the models; then log loss, accuracy and calibration by data set and number of answers."""
    rows = rows_of(cells, given.people)
    names = [model.name for model in MODELS if any(model.name in row for row in rows.values())]
    lines = ["", *summary(rows, names)]
    for title, measure in (
        ("Log loss of answers not learned from", LOG_LOSS),
        ("Accuracy", ACCURACY),
        ("Calibration error (ten bins)", CALIBRATION),
    ):
        note = (
            "In bold the best; `*`: behind by at most one standard error of the paired difference. "
            "Last, the standard error of the best over people, and the number of people."
        )
        lines += ["", f"## {title}", "", *heading(note, ("data", "answers", *names, "s.e.", "people"))]
        lines += [table_row(key, row, names, measure) for key, row in rows.items()]
    return lines


def table_row(key: tuple[str, int], row: Row, names: list[str], measure: int) -> str:
    """A data set and a number of answers."""
    best, near = paired(row, measure)[0], level(row, measure)

    def cell(name: str) -> str:
        if name not in row:
            return "-"
        value = f"{row[name][:, measure].mean():.3f}".lstrip("0")
        return f"**{value}**" if name == best else value + ("*" if name in near else "")

    values = row[best][:, measure]
    error = values.std(ddof=1) / np.sqrt(len(values))
    ends = f"{error:.3f}".lstrip("0")
    return f"| {key[0]} | {key[1]} | {' | '.join(map(cell, names))} | {ends} | {len(values)} |"


def summary(rows: dict[tuple[str, int], Row], names: list[str]) -> list[str]:
    """Mean ranks among the models, how often each is level with the best, and the CPU time of a fit."""
    lines = heading(
        "Means over the rows below. A metric of coombs is ranked among the peers and itself. Level: rows in "
        "which a model is the best of these, or behind by at most one standard error of the paired difference.",
        (
            "model",
            "rank, log loss",
            "level",
            "rank, accuracy",
            "level",
            "calibration error",
            "CPU s",
            "CPU s, most",
        ),
    )
    for name in names:
        among = [
            {n: r for n, r in row.items() if n == name or n not in OURS}
            for row in rows.values()
            if name in row
        ]
        cells = [name]
        for measure, sign in ((LOG_LOSS, 1), (ACCURACY, -1)):
            ranks = [_rank(row, name, measure, sign) for row in among]
            count = sum(name in level(row, measure) for row in among)
            cells += [f"{np.mean(ranks):.2f}", f"{count} of {len(among)}"]
        cpu = [row[name][:, CPU].mean() for row in among]
        error = np.mean([row[name][:, CALIBRATION].mean() for row in among])
        lines.append(f"| {' | '.join(cells)} | {error:.3f} | {np.mean(cpu):.2f} | {max(cpu):.2f} |")
    if "coombs auto" in names:
        among = [
            {n: r for n, r in row.items() if n == "coombs auto" or n not in OURS} for row in rows.values()
        ]
        count = [sum("coombs auto" in level(row, m) for row in among) for m in (LOG_LOSS, ACCURACY)]
        lines += [
            "",
            f"coombs auto is the best peer or within one standard error of it in {count[0]} of {len(among)} "
            f"rows by log loss, and in {count[1]} by accuracy.",
        ]
    return lines


def _rank(row: Row, name: str, measure: int, sign: int) -> int:
    own = sign * row[name][:, measure].mean()
    return 1 + sum(sign * other[:, measure].mean() < own for other in row.values())


def draw(cells: dict[Any, np.ndarray], given: argparse.Namespace, path: Path) -> None:
    """Write the plot: log loss above the best peer's, a panel for each data set."""
