"""Files and frames read as named columns, which nothing else does; files written."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from os import PathLike, fsdecode
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from coombs.data import naming
from coombs.data.cells import ReadColumn, Reading, no_numbers, read_columns, read_frame_column
from coombs.data.dates import Dates, read_dates
from coombs.data.file_errors import unreadable
from coombs.data.file_limits import LARGEST_FILE, LONGEST_LINE
from coombs.data.formats import guard, read_text_table
from coombs.data.parquet_files import parquet_frame
from coombs.data.tables import (
    Columns,
    InputError,
    frame_columns,
    frame_library,
    is_default,
    weights,
)
from coombs.language import Translatable

if TYPE_CHECKING:
    import os

PathType: TypeAlias = str | PathLike[str]

NAME_HEADERS = {"item", "name", "id", ""}
"""A first column that is called so holds the names of the items."""
PARQUET_SUFFIXES = (".parquet", ".pq")
"""How names of Parquet files end."""
TIMES = ("timestamp", "time", "answered", "date")
"""Columns of a table of answers that say when each was given."""
NUMBERS = {"weight", "confidence", "p"}
"""Columns of a table of answers that hold numbers."""
_LABEL_HEADERS = NAME_HEADERS | {"left", "right", "winner", "loser", "user"}
"""Columns by these names call something: what looks like a number with marks in them is a name."""
_TEXT_SOURCES = ("csv", "excel", "json")
"""Where cells are bare text."""
_PARQUET = b"PAR1"
"""What Parquet files begin with."""


class Categorical(NamedTuple):
    """Levels of a column that a frame declares to be categorical, as text, and whether their order counts."""

    levels: tuple[str, ...]
    is_ordered: bool


@dataclass(frozen=True)
class NamedColumns:
    """A table as named columns, wherever it comes from, with its cells as they are there: in files, as text.

    `index` holds what an index of pandas calls the rows; `lines` are the numbers of a file's rows, which
    messages call by `noun`. `has_headers` is False where pandas made the names of the columns up. `notes` are
    sentences about how the file was read; `categorical` are the columns that a frame declares to be so.
    """

    columns: Columns
    source: Literal["csv", "excel", "json", "parquet", "pandas", "polars"]
    file: str = ""
    lines: Sequence[int] | None = None
    index: NDArray[Any] | None = None
    index_name: str = "item"
    has_headers: bool = True
    separator: str = ","
    noun: str = "row"
    notes: tuple[str, ...] = ()
    categorical: Mapping[str, Categorical] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values()), () if self.index is None else self.index))

    @cached_property
    def typed(self) -> Columns:
        """The columns as numbers (NaN: not known), dates (NaT), or words (None).

        A column of numbers with mistakes in it has numbers and text. In frames other types stay as they are.
        """
        return {name: column.cells for name, column in self._read.items()}

    @cached_property
    def readings(self) -> dict[str, Reading]:
        """How columns were read whose cells are not simply what they look like."""
        return {name: column.reading for name, column in self._read.items() if column.reading is not None}

    @property
    def sentences(self) -> list[str]:
        """How the file and its cells were read, as far as there is something to say."""
        return [*self.notes, *(f"{name}: {reading.phrase}." for name, reading in self.readings.items())]

    @cached_property
    def _read(self) -> dict[str, ReadColumn]:
        """The columns as numbers, dates or words, and how that was done."""
        if self.source not in _TEXT_SOURCES:
            return {name: read_frame_column(column) for name, column in self.columns.items()}
        labels = [name for name in self.columns if name.strip().lower() in _LABEL_HEADERS]
        return read_columns(self.columns, labels, self.separator in ";\t")

    def other_cells(self, names: Iterable[str]) -> dict[str, list[int]]:
        """Of columns that somebody takes for numbers, the rows of cells that are something else."""
        found = {name: no_numbers(self.typed[name]) for name in names if name in self.columns}
        return {name: rows for name, rows in found.items() if rows}

    def with_numbers(self, names: Iterable[str]) -> NamedColumns:
        """This table, where those cells are not known."""
        columns = dict(self.columns)
        for name, rows in self.other_cells(names).items():
            columns[name] = columns[name].astype(object)
            columns[name][rows] = "" if self.source in _TEXT_SOURCES else None
        return replace(self, columns=columns)

    @property
    def answers(self) -> Columns:
        """The columns of a table of answers: labels as they are, weights as numbers."""
        numbers = {name: column for name, column in self.columns.items() if name.strip().lower() in NUMBERS}
        if self.source not in _TEXT_SOURCES or not numbers:
            return self.columns
        read = read_columns(numbers, (), self.separator in ";\t")
        return self.columns | {name: column.cells for name, column in read.items()}

    def answers_with(self, half_life: float | None) -> Columns:
        """`answers`; with a half-life, those that are so many days older than the last count for half."""
        if half_life is None:
            return self.answers
        if not 0 < naming.as_float(half_life) < math.inf:
            raise InputError(f"The half-life is {half_life!r}; it must be a number of days above zero.")
        if not self.n_rows:
            raise InputError("There are no answers; at least one is needed.")
        columns = {name.strip().lower(): name for name in self.columns}
        name = next((columns[one] for one in TIMES if one in columns), None)
        times = None if name is None else self.typed[name]
        if name is None or times is None:
            raise InputError("A half-life needs a column timestamp with the date or time of each answer.")
        if times.dtype.kind != "M":
            cells = [naming.text(cell) for cell in self.columns[name]]
            row = next((i for i, cell in enumerate(cells) if not isinstance(read_dates([cell]), Dates)), 0)
            raise InputError(
                f"The {name} of {self.where(row)} is {cells[row]!r}; it must be a date such as 2026-01-31."
            )
        if np.isnat(times).any():
            raise InputError(f"The {name} of {self.where(int(np.isnat(times).argmax()))} is missing.")
        days = (times.max() - times) / np.timedelta64(1, "D")
        weight, answers = columns.get("weight", columns.get("confidence", "weight")), self.answers
        # Of a half-life next to nothing, only the last answers count.
        with np.errstate(over="ignore"):
            share = 0.5 ** (days / half_life)
        if any(naming.text(cell) for cell in answers.get(weight, ())):
            share = share * weights(answers[weight], self.where)
        return answers | {weight: share}

    def where(self, row: int) -> str:
        """How messages call a row."""
        place = called_row(self.noun, self.number(row))
        return Translatable("{place} of {file}", place=place, file=self.file) if self.file else place

    def number(self, row: int) -> int:
        """The number of a row, in messages."""
        return row if self.lines is None else self.lines[row]


def called_row(noun: str, number: int) -> str:
    """A row, in messages."""
    about: dict[str, Any] = {"n": 1, "numbers": str(number)}
    if noun == "line":
        return Translatable("line {numbers}|lines {numbers}", **about)
    if noun == "entry":
        return Translatable("entry {numbers}|entries {numbers}", **about)
    return Translatable("row {numbers}|rows {numbers}", **about) if noun == "row" else f"{noun} {number}"


def read_table(path: PathType, source: Literal["parquet"] | None = None) -> NamedColumns:
    """The table in a file: CSV, Excel, JSON or Parquet, by what it begins with and how its name ends."""
    name = path_text(path)
    if source == "parquet" or name.lower().endswith(PARQUET_SUFFIXES):
        return parquet_table(name, name)
    try:
        with open(name, "rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from error
    if len(content) > LARGEST_FILE:
        raise InputError(
            f"{name} has more than {LARGEST_FILE // 10**9} GB; bring it as Parquet, or in parts."
        )
    return content_table(content, name)


def content_table(content: bytes, name: str, most_cells: int | None = None) -> NamedColumns:
    """The table in the bytes of a file that is called so; more than `most_cells` cells are refused.

    Examples
    --------
    >>> table = content_table(b"flat;size\\nMill Rd;12,5\\nBell St;8\\n", "flats.csv")
    >>> table.columns["size"].tolist(), table.typed["size"].tolist(), table.readings["size"].phrase
    (['12,5', '8'], [12.5, 8.0], 'decimal commas (12,5 is 12.5)')
    """
    if content.startswith(_PARQUET):
        return parquet_table(BytesIO(content), name, most_cells)
    table = read_text_table(content, name, most_cells)
    columns = {head: np.array(cells, dtype=object) for head, cells in table.columns.items()}
    return NamedColumns(
        columns,
        table.source,
        name,
        table.lines,
        separator=table.separator,
        noun=table.noun,
        notes=table.notes,
    )


def frame_table(frame: Any) -> NamedColumns:
    """The table in a pandas or polars frame."""
    columns = frame_columns(frame)
    if frame_library(frame) == "polars":
        return NamedColumns(columns, "polars", categorical=_polars_categories(frame))
    return NamedColumns(
        columns,
        "pandas",
        categorical=_pandas_categories(frame),
        # The 0, 1, 2, ... that pandas makes up names nothing.
        index=None if is_default(frame.index) else frame.index.to_numpy(dtype=object),
        index_name=str(frame.index.name or "item"),
        has_headers=not is_default(frame.columns),
    )


def _pandas_categories(frame: Any) -> dict[str, Categorical]:
    """The categorical columns of a pandas frame."""
    kinds = ((str(name), kind) for name, kind in zip(frame.columns, frame.dtypes, strict=True))
    return {
        name: Categorical(tuple(map(naming.text, kind.categories)), bool(kind.ordered))
        for name, kind in kinds
        if hasattr(kind, "categories") and hasattr(kind, "ordered")
    }


def _polars_categories(frame: Any) -> dict[str, Categorical]:
    """The categorical columns of a polars frame; those of an Enum are in order."""
    kinds = ((str(name), kind) for name, kind in frame.schema.items())
    return {
        name: Categorical(tuple(kind.categories) if str(kind).startswith("Enum") else (), "Enum" in str(kind))
        for name, kind in kinds
        if str(kind).startswith(("Enum", "Categorical"))
    }


def parquet_table(source: str | BytesIO, name: str, most_cells: int | None = None) -> NamedColumns:
    """The table in a Parquet file that messages call by this name."""
    found = parquet_frame(source, name, most_cells)
    if len(found.frame) == 0:
        raise InputError("{name} has no rows; it needs at least one.", name=name)
    notes = [f"{one} of {name} holds lists or objects; it was left out." for one in found.nested]
    return replace(frame_table(found.frame), source="parquet", file=name, notes=tuple(notes))


def numbered_lines(path: PathType) -> Iterator[tuple[int, str]]:
    """The lines of a text file, numbered from 1."""
    name = path_text(path)
    try:
        with open(name, encoding="utf-8-sig") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), ""), 1):
                if len(line) > LONGEST_LINE:
                    raise InputError(f"Line {number} of {name} has more than {LONGEST_LINE} characters.")
                yield number, line
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from error


def write_csv(path: PathType, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows whose text no spreadsheet runs, and `read_table` reads as it was."""
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        # All text is quoted: readers that pass over spaces after commas keep those inside of quotes.
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow([guard(name) for name in header])
        writer.writerows([guard(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)


@contextmanager
def replacing(path: PathType) -> Iterator[Path]:
    """A path to write to, whose file takes the place of the one at `path` once it is whole."""
    target = Path(path_text(path)).resolve()
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}; make it, or give a path in one that exists.")
    part = target.with_name(f".{uuid4().hex}.part")
    try:
        yield part
        part.replace(target)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{target} cannot be written ({reason}); give another path.") from error
    finally:
        with suppress(OSError):
            part.unlink()


def path_text(path: PathType) -> str:
    """A path as text."""
    try:
        return fsdecode(path)
    except TypeError as error:
        raise InputError(f"The path is {path!r}; it must be the name of a file.") from error


def write_frame(frame: Any, path: str | os.PathLike[str]) -> None:
    """Write it without its index; .parquet keeps types, anything else is CSV with guarded texts."""
    with replacing(path) as part:
        if str(path).endswith(".parquet"):
            names = [column for column in frame if frame[column].dtype == object]
            # Names of several types cannot share a column of Parquet.
            mixed = {one: frame[one].map(str) for one in names if len({*map(type, frame[one])}) > 1}
            frame.assign(**mixed).to_parquet(part, index=False)
            return
        texts = {
            name: [guard(cell) if isinstance(cell, str) else cell for cell in frame[name]]
            for name in frame
            if frame[name].dtype == object or str(frame[name].dtype).startswith("str")
        }
        guarded = frame.assign(**texts).rename(columns=lambda name: guard(str(name)))
        # All text is quoted: pandas would leave a carriage return bare, which ends a row.
        guarded.to_csv(part, index=False, quoting=csv.QUOTE_NONNUMERIC)
