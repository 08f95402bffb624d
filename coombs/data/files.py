"""Files of items and of answers as columns; how messages call their lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from io import BytesIO, StringIO
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from coombs.data import naming
from coombs.data.tables import (
    Columns,
    InputError,
    ItemTable,
    Where,
    assemble,
    frame_columns,
    holds_text,
    is_default,
    item_table,
    pandas,
    refuse_repeats,
)

PathType: TypeAlias = str | PathLike[str]

NAME_HEADERS = {"item", "name", "id", ""}
# Columns by these names call something: what looks like a number in them is a name, and stays as it is.
_LABEL_HEADERS = NAME_HEADERS | {"left", "right", "winner", "loser", "user"}
# Columns of which the first or the last word is one of these are ids, if all of their cells differ.
_ID_WORDS = {"id", "ids", "uid", "uuid", "guid"}
_COUNTING_HEADERS = {
    "",
    "#",
    "nr",
    "nr.",
    "no",
    "no.",
    "num",
    "number",
    "key",
    "index",
    "idx",
    "row",
    "unnamed: 0",
}
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WHOLE = re.compile(r"-?\d+")
FEWEST_COUNTED = 5
"""Rows from which on 1, 2, 3, ... is taken for a count of them, whatever the column is called."""
_BOOLEAN_WORDS = {"true": 1.0, "false": 0.0}
_SEPARATORS = ",;\t"
_DECIMAL = re.compile(r"\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*")
# Spreadsheets run a cell that begins so as a formula; apostrophes before it are kept apart by one more.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


class Roles(NamedTuple):
    """The column that holds the names, and those that only number the items and are not learned from."""

    names: str | None
    numbering: tuple[str, ...]


class CsvTable(NamedTuple):
    """The columns of a CSV file as text, the lines that its rows end on, and how it is written."""

    columns: Columns
    lines: list[int]
    separator: str
    decimal_commas: bool


def csv_items(path: PathType) -> ItemTable:
    """The items in a CSV file, whose names stay the text that the file has."""
    raw, where = csv_columns(path)
    return _file_items(raw, {name: typed(column) for name, column in raw.items()}, where)


def parquet_items(path: PathType) -> ItemTable:
    """The items in a Parquet file; an index that pandas saved with them holds the names."""
    frame, where = parquet_frame(path)
    if not is_default(frame.index):
        return item_table(frame)
    columns = frame_columns(frame)
    return _file_items(columns, columns, where)


def csv_columns(path: PathType) -> tuple[Columns, Where]:
    """The columns of a CSV file as text, and how messages call its rows."""
    name = path_text(path)
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise _unreadable(name, error) from error
    table = csv_table(utf8(content, name), name)
    return table.columns, lambda i: f"line {table.lines[i]} of {name}"


def utf8(content: bytes, name: str) -> str:
    """The text in a CSV file."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text; in Excel: Save as → CSV UTF-8.") from error


def csv_table(text: str, name: str) -> CsvTable:
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
    return CsvTable({h: cells[:, j] for j, h in enumerate(header)}, lines, separator, bool(decimal))


def parquet_frame(path: PathType) -> tuple[Any, Where]:
    """The frame in a Parquet file, and how messages call its rows."""
    name = path_text(path)
    frame = read_parquet(name, name)
    return frame, lambda i: f"row {i} of {name}"


def read_parquet(source: str | BytesIO, name: str) -> Any:
    """The frame in a Parquet file that messages call by this name."""
    with _readable_parquet(name):
        frame = pandas().read_parquet(source)
    if len(frame) == 0:
        raise InputError(f"{name} has no rows; it needs at least one.")
    return frame


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
    """Write rows whose text no spreadsheet runs, and `csv_columns` reads as it was."""
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


def _file_items(raw: Columns, columns: Columns, where: Where) -> ItemTable:
    """Items as files hold them."""
    names, numbering = roles(raw, columns)
    left = {name: column for name, column in columns.items() if name not in (names, *numbering)}
    return assemble(None if names is None else raw[names], left, where)


def roles(raw: Columns, columns: Columns, features: Sequence[str] = ()) -> Roles:
    """Which column of a file holds the names, and which others only number the items; never a feature.

    The first column is the names by its header or because it is text; otherwise one that numbers items is.

    Examples
    --------
    >>> cars = {"price": np.array([4, 5]), "Car ID": np.array([17, 12])}
    >>> roles(cars, cars)
    Roles(names='Car ID', numbering=())
    """
    free = [name for name in columns if name not in set(features)]
    named = [name for name in free if is_id_header(name) and _tells_apart(columns[name])]
    counting = [name for name in free if name not in named and _counts(raw, name)]
    numbers = [name for name, column in columns.items() if not holds_text(column)]
    # Where there is nothing else to learn from, a column that counts is a feature.
    found = [*named, *(counting if set(numbers) - {*named, *counting} else ())]
    first = next(iter(columns))
    called = first.strip().lower() in NAME_HEADERS or holds_text(columns[first])
    names = first if called and first in free else next(iter(found), None)
    return Roles(names, tuple(name for name in found if name != names and name in numbers))


def is_id_header(header: str) -> bool:
    """Whether a column is called as those that number things.

    Examples
    --------
    >>> [is_id_header(name) for name in ("Item ID", "car_id", "carId", "uuid", "nr", "humid", "idle")]
    [True, True, True, True, True, False, False]
    """
    words = [word.lower() for word in _WORDS.findall(header)]
    return header.strip().lower() in _COUNTING_HEADERS or bool({*words[:1], *words[-1:]} & _ID_WORDS)


def _tells_apart(column: NDArray[Any]) -> bool:
    """Whether every cell is there, differs from all others, and is text or a whole number."""
    texts = [naming.text(cell) for cell in column]
    whole = holds_text(column) or all(map(_WHOLE.fullmatch, texts))
    return whole and "" not in texts and len(set(texts)) == len(texts)


def _counts(raw: Columns, name: str) -> bool:
    """Whether a column is 0 to n - 1 or 1 to n in the order of the rows; the first column in any order.

    Numbers with a decimal point measure something, also where they are whole.
    """
    cells = raw[name].tolist()
    if len(cells) < FEWEST_COUNTED or not all(_WHOLE.fullmatch(str(cell)) for cell in cells):
        return False
    values = [int(cell) for cell in cells]
    values = sorted(values) if name == next(iter(raw)) else values
    return any(values == list(range(start, start + len(cells))) for start in (0, 1))


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
