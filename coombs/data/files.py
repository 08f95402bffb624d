"""Files and frames read as named columns, which nothing else does; files written."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from io import BytesIO, StringIO
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeAlias
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from coombs.data.tables import (
    Columns,
    InputError,
    frame_columns,
    frame_library,
    is_default,
    pandas,
    refuse_repeats,
)

PathType: TypeAlias = str | PathLike[str]

NAME_HEADERS = {"item", "name", "id", ""}
"""A first column that is called so holds the names of the items."""
PARQUET_SUFFIXES = (".parquet", ".pq")
"""How names of Parquet files end."""
_LABEL_HEADERS = NAME_HEADERS | {"left", "right", "winner", "loser", "user"}
"""Columns by these names call something: what looks like a number in them is a name, and stays as it is."""
_BOOLEAN_WORDS = {"true": 1.0, "false": 0.0}
_SEPARATORS = ",;\t"
_DECIMAL = re.compile(r"\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*")
# Spreadsheets run a cell that begins so as a formula; apostrophes before it are kept apart by one more.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


@dataclass(frozen=True)
class NamedColumns:
    """A table as named columns, wherever it comes from, with its cells as they are there: in CSV, as text.

    `index` holds what an index of pandas calls the rows; `lines` are those of a CSV file that rows end on.
    `has_headers` is False where pandas made the names of the columns up.
    """

    columns: Columns
    source: Literal["csv", "parquet", "pandas", "polars"]
    file: str = ""
    lines: Sequence[int] | None = None
    index: NDArray[Any] | None = None
    index_name: str = "item"
    has_headers: bool = True
    separator: str = ","
    decimal_commas: bool = False

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values()), ()))

    @cached_property
    def typed(self) -> Columns:
        """The columns with numbers for what reads as numbers, None for blanks, where cells are bare text."""
        if self.source != "csv":
            return self.columns
        return {name: typed(column) for name, column in self.columns.items()}

    @property
    def answers(self) -> Columns:
        """The columns of a table of answers: labels as they are, weights as numbers."""
        return {
            name: typed(column) if self.source == "csv" and name.strip().lower() == "weight" else column
            for name, column in self.columns.items()
        }

    def where(self, row: int) -> str:
        """How messages call a row."""
        return f"{self.noun} {self.number(row)}" + (f" of {self.file}" if self.file else "")

    @property
    def noun(self) -> str:
        """What a row is, in messages."""
        return "row" if self.lines is None else "line"

    def number(self, row: int) -> int:
        """The number of a row, in messages."""
        return row if self.lines is None else self.lines[row]


def read_table(path: PathType, source: Literal["csv", "parquet"] | None = None) -> NamedColumns:
    """The table in a file: Parquet or CSV as `source` says, or else by the end of its name."""
    name = path_text(path)
    if source == "parquet" or (source is None and name.lower().endswith(PARQUET_SUFFIXES)):
        return parquet_table(name, name)
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise _unreadable(name, error) from error
    return csv_table(utf8(content, name), name)


def frame_table(frame: Any) -> NamedColumns:
    """The table in a pandas or polars frame."""
    columns = frame_columns(frame)
    if frame_library(frame) == "polars":
        return NamedColumns(columns, "polars")
    return NamedColumns(
        columns,
        "pandas",
        # The 0, 1, 2, ... that pandas makes up names nothing.
        index=None if is_default(frame.index) else frame.index.to_numpy(dtype=object),
        index_name=str(frame.index.name or "item"),
        has_headers=not is_default(frame.columns),
    )


def utf8(content: bytes, name: str) -> str:
    """The text in a CSV file."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text; in Excel: Save as → CSV UTF-8.") from error


def csv_table(text: str, name: str) -> NamedColumns:
    """The table in the text of a CSV file; where no comma separates the header, semicolons or tabs do.

    In the latter case a comma in a number is its decimal point.

    Examples
    --------
    >>> table = csv_table("flat;size\\nMill Rd;12,5\\nBell St;8\\n", "flats.csv")
    >>> {name: column.tolist() for name, column in table.columns.items()}
    {'flat': ['Mill Rd', 'Bell St'], 'size': ['12.5', '8']}
    """
    try:
        separator = _separator(text)
        header, rows, lines = _csv_rows(_reader(text, separator), name)
    except csv.Error as error:
        raise _unreadable(name, error) from error
    refuse_repeats(header, f"column of {name}")
    cells = np.array(rows, dtype=object)
    decimal = [j for j, head in enumerate(header) if separator != "," and _has_decimals(head, cells[:, j])]
    for j in decimal:
        cells[:, j] = [cell.replace(",", ".") if _DECIMAL.fullmatch(cell) else cell for cell in cells[:, j]]
    columns = {head: cells[:, j] for j, head in enumerate(header)}
    return NamedColumns(columns, "csv", name, lines, separator=separator, decimal_commas=bool(decimal))


def parquet_table(source: str | BytesIO, name: str) -> NamedColumns:
    """The table in a Parquet file that messages call by this name."""
    with _readable_parquet(name):
        frame = pandas().read_parquet(source)
    if len(frame) == 0:
        raise InputError(f"{name} has no rows; it needs at least one.")
    return replace(frame_table(frame), source="parquet", file=name)


def parquet_shape(source: BytesIO, name: str) -> tuple[int, int]:
    """How many rows and columns a Parquet file has, without reading them."""
    with _readable_parquet(name):
        about = import_module("pyarrow.parquet").read_metadata(source)
    return about.num_rows, about.num_columns


@contextmanager
def _readable_parquet(name: str) -> Iterator[None]:
    """Say that a file cannot be read, whatever a damaged one makes pyarrow raise."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        raise _unreadable(name, error) from error


def numbered_lines(path: PathType) -> Iterator[tuple[int, str]]:
    """The lines of a text file, numbered from 1."""
    name = path_text(path)
    try:
        with open(name, encoding="utf-8-sig") as file:
            yield from enumerate(file, 1)
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(name, error) from error


def write_csv(path: PathType, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows whose text no spreadsheet runs, and `read_table` reads as it was."""
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        # All text is quoted: readers that pass over spaces after commas keep those inside of quotes.
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(header)
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


def guard(text: str) -> str:
    """A text as a cell that no spreadsheet takes for a formula: after an apostrophe if it looks like one.

    Examples
    --------
    >>> guard("=1+1"), guard("'=1+1"), guard("'tis"), unguard(guard("'=1+1"))
    ("'=1+1", "''=1+1", "'tis", "'=1+1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unguard(cell: str) -> str:
    """The text that `guard` made this cell of."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def typed(column: NDArray[Any]) -> NDArray[Any]:
    """A column of a CSV file with numbers for the cells that read as numbers, None for blank ones."""
    try:
        return column.astype(np.float64)
    except ValueError:
        return np.array([_typed_cell(cell) for cell in column], dtype=object)


def _typed_cell(cell: str) -> float | str | None:
    """A CSV cell as a number, as None when blank, or else as it is."""
    try:
        return float(cell)
    except ValueError:
        return _BOOLEAN_WORDS.get(cell.strip().lower(), cell) if cell.strip() else None


def _reader(text: str, separator: str) -> Any:
    return csv.reader(StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)


def _separator(text: str) -> str:
    """What separates the fields of a header: a comma if there is one outside of quotes."""
    found = (mark for mark in _SEPARATORS if len(next(_reader(text, mark), [])) > 1)
    return next(found, ",")


def _has_decimals(header: str, column: NDArray[Any]) -> bool:
    """Whether most of a column is numbers with decimal commas, and the rest, if any, is mistakes in it."""
    if header.lower() in _LABEL_HEADERS:
        return False
    found = [cell for cell in column if _DECIMAL.fullmatch(cell)]
    rest = [cell for cell in column if cell.strip() and not _DECIMAL.fullmatch(cell)]
    # Beside 12,5 a number with a point may be one of thousands: such a column stays as it is.
    pointed = any(isinstance(_typed_cell(cell), float) for cell in rest)
    return len(found) > len(rest) and not pointed and any("," in cell for cell in found)


def _csv_rows(reader: Any, name: str) -> tuple[list[str], list[list[str]], list[int]]:
    """Header, rows and their line numbers; blank lines are passed over."""
    header = [cell.strip() for cell in next(reader, [])]
    if not header:
        raise InputError(f"{name} is empty; it needs a header line and at least one row.")
    _check_header(header, name)
    rows, lines = [], []
    for cells in reader:
        if not any(cells):
            continue
        if len(cells) != len(header):
            at = f"Line {reader.line_num} of {name}"
            raise InputError(f"{at} has {len(cells)} fields; the header has {len(header)}.")
        rows.append([unguard(cell) for cell in cells])
        lines.append(reader.line_num)
    if not rows:
        raise InputError(f"{name} has no rows below its header; it needs at least one.")
    return header, rows, lines


def _unreadable(name: str, error: Exception) -> InputError:
    """The error for a file that is absent or not what it should be."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"There is no file {name}; give the path of one that exists.")
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return InputError(f"{name} cannot be read ({reason}); give a valid file of its kind.")


def _check_header(header: list[str], name: str) -> None:
    """Refuse a first line that is data, or that another character separates."""
    if len(header) == 1 and "|" in header[0]:
        raise InputError(f"Line 1 of {name} has no commas ({header[0]!r}); separate the fields by commas.")
    if all(isinstance(_typed_cell(cell), float) for cell in header):
        raise InputError(f"Line 1 of {name} is all numbers; it must hold the names of the columns.")


def path_text(path: PathType) -> str:
    """A path as text."""
    try:
        return str(fspath(path))
    except TypeError as error:
        raise InputError(f"The path is {path!r}; it must be the name of a file.") from error
