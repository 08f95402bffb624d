"""What an experiment is: cells of trials, a summary of their rows, and figures and tables of it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data.files import write_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row: TypeAlias = dict[str, Any]
"""Texts, numbers, and lists and dictionaries of them: what JSON can hold."""
Tables: TypeAlias = dict[str, list[list[str]]]
"""Rows of cells by title, the heading first."""


XU_DAVENPORT = (
    "Austin Xu and Mark Davenport: Simultaneous Preference and Metric Learning from Paired Comparisons, "
    "NeurIPS 2020."
)


@dataclass(frozen=True)
class Cell:
    """Trials that differ only by chance: a name for files, and the settings they share."""

    name: str
    settings: Mapping[str, float | str]

    def __getitem__(self, key: str) -> Any:
        return self.settings[key]


class Trials:
    """Rows of trials by column."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, **values: float | str) -> Trials:
        """The rows with these values."""
        return Trials(row for row in self.rows if all(row[key] == value for key, value in values.items()))

    def __getitem__(self, column: str) -> NDArray[np.float64]:
        return np.array([float(row[column]) for row in self.rows])

    def distinct(self, *columns: str) -> list[Any]:
        """The values of a column, or of several together, each once, in the order of their first row."""
        found = dict.fromkeys(tuple(row[name] for name in columns) for row in self.rows)
        return [one[0] if len(columns) == 1 else one for one in found]

    def write(self, path: Path) -> None:
        """As CSV, a column for each number in a list or dictionary."""
        rows = [dict(_flat(row)) for row in self.rows]
        columns = list(dict.fromkeys(key for row in rows for key in row))
        write_csv(path, columns, ([row.get(key, "") for key in columns] for row in rows))


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers and texts in it, with names like metric_0_1."""
    if not isinstance(value, dict | list):
        yield name, value
        return
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _flat(part, f"{name}_{key}" if name else str(key))


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper.

    Parameters
    ----------
    name, title, description : for the command line, and for the report
    n_trials : how many of each cell, as in the paper
    cells : of a full run, or with True of a quick one
    trial : the rows of trial number n of a cell under a seed; a function of a module, so that
        other processes can find it
    summary : of all rows, for JSON and for the claims
    figures : by name, of the summary and all rows
    tables : of the same, for the report
    needs : a sentence that says what is missing for it to run here, or None
    paper : whose experiment it is
    """

    name: str
    title: str
    description: str
    n_trials: int
    cells: Callable[[bool], Sequence[Cell]]
    trial: Callable[[Cell, int, int], list[Row]]
    summary: Callable[[Trials], dict[str, Any]]
    figures: Callable[[dict[str, Any], Trials], dict[str, Figure]]
    tables: Callable[[dict[str, Any], Trials], Tables] = lambda *_: {}
    needs: Callable[[], str | None] = lambda: None
    paper: str = XU_DAVENPORT


def stream(seed: int, *keys: float | str) -> np.random.Generator:
    """Random numbers for these keys under a seed, the same whoever asks and in whatever order."""
    return np.random.default_rng([seed, *(zlib.crc32(str(key).encode()) for key in keys)])
