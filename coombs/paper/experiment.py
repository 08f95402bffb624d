"""What an experiment is: cells of trials, a summary of their rows, and pictures of it."""

from __future__ import annotations

import csv
import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value: TypeAlias = float | int | str
Row: TypeAlias = dict[str, Value]


@dataclass(frozen=True)
class Cell:
    """Trials that differ only by chance: a name for files, and the settings they share."""

    name: str
    settings: Mapping[str, Value]

    def __getitem__(self, key: str) -> Any:
        return self.settings[key]


class Table:
    """Rows of trials by column: numbers as floats, everything else as text."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.rows = [dict(row) for row in rows]

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, **values: Value) -> Table:
        """The rows with these values."""
        return Table(row for row in self.rows if all(row[key] == value for key, value in values.items()))

    def __getitem__(self, column: str) -> NDArray[np.float64]:
        return np.array([float(row[column]) for row in self.rows])

    def distinct(self, column: str) -> list[Any]:
        """The column's values, each once, in the order of their first row."""
        return list(dict.fromkeys(row[column] for row in self.rows))

    def write(self, path: Path) -> None:
        """As CSV, whole or not at all."""
        columns = list(dict.fromkeys(key for row in self.rows for key in row))
        partial = path.with_suffix(".partial")
        with partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        os.replace(partial, path)

    @classmethod
    def read(cls, path: Path) -> Table:
        """What `write` wrote."""
        with path.open(newline="", encoding="utf-8") as file:
            return cls({key: _value(text) for key, text in row.items()} for row in csv.DictReader(file))


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper.

    Parameters
    ----------
    name, title, description : for the command line, and for the report
    trials : how many of each cell, as in the paper
    cells : of a full run, or with True of a quick one
    trial : the rows of trial number n of a cell under a seed; a function of a module, so that
        other processes can find it
    summary : of all rows, for JSON and for the claims
    figures : pictures of all rows by name
    tables : tables of all rows by title, heading first; for the report
    needs : a sentence that says what is missing for it to run here, or None
    """

    name: str
    title: str
    description: str
    trials: int
    cells: Callable[[bool], Sequence[Cell]]
    trial: Callable[[Cell, int, int], list[Row]]
    summary: Callable[[Table], dict[str, Any]]
    figures: Callable[[Table], dict[str, Figure]]
    tables: Callable[[Table], dict[str, list[list[str]]]] = field(default=lambda _: {})
    needs: Callable[[], str | None] = field(default=lambda: None)


def stream(seed: int, *keys: Value) -> np.random.Generator:
    """Chance for these keys under a seed, the same whoever asks and in whatever order."""
    return np.random.default_rng([seed, *(zlib.crc32(str(key).encode()) for key in keys)])
