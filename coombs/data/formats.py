"""The bytes of a file as columns of text: CSV in several encodings, Excel workbooks, JSON."""

from __future__ import annotations

import csv
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from io import BytesIO, StringIO
from itertools import islice
from pathlib import PurePath
from typing import Any, Literal

from coombs.data import naming
from coombs.data.file_errors import no_workbook, uneven_row, unreadable
from coombs.data.file_limits import (
    BYTES_A_CELL,
    LARGEST_WORKBOOK,
    LONGEST_CELL,
    MARKS_A_CELL,
    MOST_SPARSE_CELLS,
    refuse_cells,
    refuse_columns,
)
from coombs.data.name_lists import is_name_list, listed_names
from coombs.data.quantities import plain_number
from coombs.data.strict_json import read_json
from coombs.data.tables import InputError, refuse_repeats
from coombs.language import Translatable
from coombs.words import count

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
"""How names of JSON files end, of lines or of one list."""
EXCEL_SUFFIXES = (".xlsx", ".xlsm")
"""How names of Excel's workbooks end."""
_ROWS_AT_A_TIME = 100
"""Of a file that are turned into columns together."""
_SEPARATORS = ",;\t"
_HEADER_PART = 2**16
"""Characters in which the header of a CSV file ends."""
_SEPARATOR_LINE = re.compile(r"\"?sep=([^\w\s.\"']|\t)\"?\r?\n", re.IGNORECASE)
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_LITERAL = re.compile(r'"[^"]*"|\\.')
"""What a number format of Excel shows as it is."""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""What JSON may hold, but no text."""
_JSON = "there must be an object on each line, or a list of objects, with null for what is not known"
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_ZIP = b"PK\x03\x04"
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""What files begin with that are packed, which only their owner should unpack: they may be of any size."""
# Spreadsheets run a cell that begins so as a formula or, after a bar, as a command; some take the wide forms
# of these marks, too. Apostrophes before it are kept apart by one more.
_FORMULA = re.compile(r"'*[=+\-@|\uff1d\uff0b\uff0d\uff20\uff5c\t\r\n]")


@dataclass(frozen=True)
class TextTable:
    """A table with its cells as text; `lines` are the numbers of its rows, which messages call by `noun`.

    `notes` are sentences about how the file was read.
    """

    columns: dict[str, list[str]]
    lines: Sequence[int]
    source: Literal["csv", "excel", "json"]
    noun: str
    separator: str = ","
    notes: tuple[str, ...] = ()


def read_text_table(content: bytes, name: str, most_cells: int | None = None) -> TextTable:
    """The table in the bytes of a file that is called so; more than `most_cells` are refused.

    Examples
    --------
    >>> read_text_table(b"flat;size\\nMill Rd;12,5\\n", "flats.csv").columns
    {'flat': ['Mill Rd'], 'size': ['12,5']}
    >>> read_text_table(b'[{"flat": "Mill Rd", "size": 12.5}]', "flats.json").columns
    {'flat': ['Mill Rd'], 'size': ['12.5']}
    """
    if content.startswith(_OLD_EXCEL):
        raise InputError(
            "{name} is an old Excel file (.xls) or has a password; in Excel: Save as → .xlsx or CSV UTF-8.",
            name=name,
        )
    if PurePath(name).suffix.lower() in EXCEL_SUFFIXES and not content.startswith(_ZIP):
        raise InputError(
            "{name} is no Excel workbook inside; save it again as .xlsx, or as CSV under .csv.", name=name
        )
    if content.startswith(_ZIP):
        return _workbook_table(content, name, most_cells)
    if packed := next((kind for start, kind in _PACKED.items() if content.startswith(start)), None):
        raise InputError(
            "{name} is packed ({kind}); unpack it, and give the file that was in it.", name=name, kind=packed
        )
    text, notes = decoded(content, name)
    if PurePath(name).suffix.lower() in JSON_SUFFIXES:
        return _json_table(text, name, notes, most_cells)
    if is_name_list(text, name):
        names, lines = listed_names(text, name)
        refuse_cells(len(names), name, most_cells)
        return TextTable({"name": names}, lines, "csv", "line", notes=notes)
    return _csv_table(text, name, notes, most_cells)


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


# Text


def decoded(content: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """The text in a file, and what is to be said if it is not UTF-8.

    Examples
    --------
    >>> decoded("5 €".encode("utf-16"), "t.txt")
    ('5 €', ('t.txt is UTF-16 text and was read as such.',))
    """
    is_utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = _text(content, "utf-16" if is_utf16 else "utf-8-sig")
    if text is not None and "\0" in text:
        raise InputError("{name} has zero bytes in it, so it is no text; save it as 'CSV UTF-8'.", name=name)
    if text is not None:
        return text, (
            Translatable("{name} is UTF-16 text and was read as such.", name=name),
        ) if is_utf16 else ()
    text = None if is_utf16 or _NO_TEXT.search(content) else _text(content, "cp1252")
    if text is None:
        raise InputError(
            "{name} is neither UTF-8, UTF-16 nor Windows text (cp1252); in Excel: Save as → CSV UTF-8.",
            name=name,
        )
    note = Translatable(
        "{name} is not UTF-8; it was read as Windows text (cp1252). If letters look wrong, save it as CSV "
        "UTF-8.",
        name=name,
    )
    return text, (note,)


def _text(content: bytes, encoding: str) -> str | None:
    """The text in that encoding, if it is in it."""
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None


def _csv_table(text: str, name: str, notes: tuple[str, ...], most_cells: int | None) -> TextTable:
    """The table in a CSV file; a comma in the header separates, or else a semicolon or a tab."""
    said = _SEPARATOR_LINE.match(text)
    body, offset = (text[said.end() :], 1) if said else (text, 0)

    def lines() -> list[int]:
        """The lines that rows end on."""
        reader = _reader(body, separator)
        return [reader.line_num + offset for _ in reader]

    try:
        separator = said[1] if said else _separator(body)
        refuse_cells(body.count(separator) + body.count("\n"), name, most_cells)
        reader = _reader(body, separator)
        columns, places = _table(reader, name, lambda i: Translatable("Line {number}", number=lines()[i]))
    except csv.Error as error:
        if "field limit" in str(error):
            most = csv.field_size_limit()
            raise InputError(
                "{name} has a cell of more than {most} characters; is a quote ({quote}) left open?",
                name=name,
                most=most,
                quote='"',
            ) from error
        raise unreadable(name, error) from error
    if len(columns) == 1 and "|" in (only := next(iter(columns))):
        told = {"name": name, "line": repr(only)}
        raise InputError("Line 1 of {name} has no commas ({line}); separate the fields by commas.", **told)
    if "'" in text:
        columns = {head: [unguard(cell) for cell in cells] for head, cells in columns.items()}
        columns = _named([unguard(head).strip() for head in columns], list(columns.values()), name)
    # Cells may have line breaks in them.
    numbers = lines() if reader.line_num > places[-1] + 1 else range(1 + offset, places[-1] + 2 + offset)
    return TextTable(columns, [numbers[i] for i in places], "csv", "line", separator, notes)


def _reader(text: str, separator: str) -> Any:
    return csv.reader(StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)


def _separator(text: str) -> str:
    """What separates the fields of a header: a comma if there is one outside of quotes."""
    start = text[:_HEADER_PART].lstrip("\r\n")
    found = (mark for mark in _SEPARATORS if len(next(_reader(start, mark), [])) > 1)
    return next(found, ",")


def _table(
    rows: Iterable[Sequence[str]], name: str, where: Callable[[int], str]
) -> tuple[dict[str, list[str]], list[int]]:
    """The columns below a header and the positions of their rows; blank rows are passed over.

    Columns without a name and without a cell are left out.
    """
    numbered = ((i, row) for i, row in enumerate(rows) if any(row))
    first, top = next(numbered, (0, []))
    if not top:
        raise InputError("{name} is empty; it needs a header line and at least one row.", name=name)
    refuse_columns(len(top), name)
    header = [cell.strip() for cell in top]
    if all(plain_number(cell) is not None for cell in header):
        raise InputError(
            "{place} of {name} is all numbers; it must hold the names of the columns.",
            place=where(first),
            name=name,
        )
    columns: list[list[str]] = [[] for _ in header]
    places: list[int] = []
    # Few rows at a time: that many lists at once would keep the garbage collector busy.
    while chunk := list(islice(numbered, _ROWS_AT_A_TIME)):
        found, cells = zip(*chunk, strict=True)
        if set(map(len, cells)) != {len(header)}:
            cells = _as_long_as(
                header, chunk, lambda i: Translatable("{place} of {file}", place=where(i), file=name)
            )
        places.extend(found)
        for column, new in zip(columns, zip(*cells, strict=True), strict=True):
            column.extend(new)
    if not places:
        raise InputError("{name} has no rows below its header; it needs at least one.", name=name)
    return _named(header, columns, name), places


def _as_long_as(
    header: Sequence[str], rows: Iterable[tuple[int, Sequence[str]]], where: Callable[[int], str]
) -> tuple[Sequence[str], ...]:
    """The rows without blank cells beyond the header."""
    for i, row in rows:
        if len(row) < len(header) or any(row[len(header) :]):
            raise uneven_row(where(i), row, len(header))
    return tuple(row[: len(header)] for _, row in rows)


def _named(header: Sequence[str], columns: Sequence[list[str]], name: str) -> dict[str, list[str]]:
    """The columns by name, without those that have neither a name nor a cell."""
    pairs = zip(header, columns, strict=True)
    kept = [(head, cells) for head, cells in pairs if head or any(map(str.strip, cells))]
    heads = [head for head, _ in kept]
    if heads.count("") > 1:
        raise InputError(
            "{file} has {n} columns without a name; every column needs one.", file=name, n=heads.count("")
        )
    refuse_repeats(heads, Translatable("column of {file}", file=name))
    return dict(kept)


# Excel


def _workbook_table(content: bytes, name: str, most_cells: int | None) -> TextTable:
    """The table in the first sheet of a workbook that has one."""
    _refuse_archives(content, name, most_cells)
    try:
        openpyxl = import_module("openpyxl")
    except ImportError as error:
        raise InputError(
            "{name} is an Excel file, which needs: {command}; or save it as CSV UTF-8.",
            name=name,
            command='pip install "coombs[excel]"',
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _first_table(openpyxl, content, name, most_cells)
        except InputError:
            raise
        except Exception as error:
            # Whatever a damaged file makes openpyxl raise.
            raise unreadable(name, error) from error


def _refuse_archives(content: bytes, name: str, most_cells: int | None) -> None:
    """Refuse a zip file that is no workbook of Excel, or too large a one once unpacked."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            inside = {one.filename: one.file_size for one in archive.infolist()}
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise InputError(
            "{name} is a workbook or an archive that is damaged; save it again.", name=name
        ) from error
    if "xl/workbook.xml" not in inside:
        raise no_workbook(name, inside)
    most = LARGEST_WORKBOOK if most_cells is None else max(2**20, BYTES_A_CELL * most_cells)
    if sum(inside.values()) > most:
        raise InputError(
            "{name} has more than {most} MB once it is unpacked; leave out rows, columns or sheets.",
            name=name,
            most=most // 2**20,
        )


def _first_table(openpyxl: Any, content: bytes, name: str, most_cells: int | None) -> TextTable:
    """The first sheet that is not hidden and has two rows or more."""
    book = openpyxl.load_workbook(BytesIO(content), read_only=True, data_only=True)
    try:
        sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        for sheet in sheets:
            rows = _sheet_rows(sheet, name, most_cells)
            if sum(map(any, rows)) > 1:
                break
        else:
            raise InputError(
                "No sheet of {name} has a header line and a row below it; it needs both.", name=name
            )
    finally:
        book.close()
    notes = [f"Of {name} the sheet {sheet.title!r} was read, and no other."] if len(sheets) > 1 else []
    if not all(map(all, rows)):
        notes += _empty_formulas(openpyxl, content, sheet.title, rows, name)
    columns, places = _table(rows, name, lambda i: Translatable("Row {number}", number=i + 1))
    return TextTable(columns, [i + 1 for i in places], "excel", "row", notes=tuple(notes))


def _sheet_rows(sheet: Any, name: str, most_cells: int | None) -> list[list[str]]:
    """The rows of a sheet as text, all of one length."""
    # What a sheet says of its own size may be wrong.
    sheet.reset_dimensions()
    rows: list[list[str]] = []
    cells, most = 0, MOST_SPARSE_CELLS if most_cells is None else most_cells
    for row in sheet.iter_rows():
        rows.append([_excel_text(cell) for cell in row])
        cells += max(len(row), 1)
        refuse_cells(cells, name, most)
    while rows and not any(rows[-1]):
        rows.pop()
    width = max(map(len, rows), default=0)
    refuse_cells(width * len(rows), name, most)
    return [row + [""] * (width - len(row)) for row in rows]


def _excel_text(cell: Any) -> str:
    """A cell of Excel as text that reads as what it shows."""
    value = cell.value
    if isinstance(value, timedelta):
        return f"{value / timedelta(minutes=1):.15g} min"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and "%" in _LITERAL.sub("", cell.number_format):
        return f"{100 * value:.15g}%"
    return _cell_text(value)


def _empty_formulas(openpyxl: Any, content: bytes, title: str, rows: list[list[str]], name: str) -> list[str]:
    """What to say of formulas whose values are not stored: only a spreadsheet knows them."""
    book = openpyxl.load_workbook(BytesIO(content), read_only=True)
    try:
        sheet = book[title]
        sheet.reset_dimensions()
        found = [
            cell.coordinate
            for row, texts in zip(sheet.iter_rows(), rows, strict=False)
            for cell, text in zip(row, texts, strict=False)
            if not text and cell.value is not None and cell.data_type == "f"
        ]
    finally:
        book.close()
    if not found:
        return []
    return [
        f"{name} has {count(len(found), 'formula')} without a value, the first in cell {found[0]}, which "
        "count as not known; if they should not, open the file in Excel or LibreOffice and save it."
    ]


# JSON


def _json_table(text: str, name: str, notes: tuple[str, ...], most_cells: int | None) -> TextTable:
    """The table in lines of JSON, or in a list of objects."""
    if most_cells is not None:
        # Before it is parsed: a bracket takes a byte here, and sixty once it is an empty list.
        marks = sum(map(text.count, ",[{"))
        refuse_cells(marks // MARKS_A_CELL, name, most_cells)
    is_list = text.lstrip().startswith("[")
    noun = "entry" if is_list else "line"
    entries = list((_json_list if is_list else _json_lines)(text, name))
    header = list(dict.fromkeys(key for _, entry in entries for key in entry))
    if not header:
        raise InputError(f"{name} is empty; it needs a JSON object for each row.")
    refuse_columns(len(header), name)
    most = max(MOST_SPARSE_CELLS, text.count(":")) if most_cells is None else most_cells
    refuse_cells(len(header) * len(entries), name, most)
    for number, entry in entries:
        for key, value in entry.items():
            _check_value(key, value, f"In {noun} {number} of {name}")
    columns = [[_cell_text(entry.get(key)) for _, entry in entries] for key in header]
    named = _named([key.strip() for key in header], columns, name)
    return TextTable(named, [number for number, _ in entries], "json", noun, notes=notes)


def _json_lines(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"Line {number} of {name}"
            yield number, _object(read_json(line, where, _JSON), where)


def _json_list(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, entry in enumerate(read_json(text, name, _JSON), 1):
        yield number, _object(entry, f"Entry {number} of {name}")


def _check_value(key: str, value: Any, where: str) -> None:
    """Refuse what is no cell of a table."""
    if isinstance(value, list | dict):
        raise InputError(
            f"{where} {key!r} is a list or an object; it must be text, a number, true, false or null."
        )
    if isinstance(value, str) and len(value) > LONGEST_CELL:
        raise InputError(f"{where} {key!r} has {len(value)} characters; {LONGEST_CELL} are the most.")
    if _HALF_CHARACTER.search(key) or (isinstance(value, str) and _HALF_CHARACTER.search(value)):
        raise InputError(f"{where} {key!r} has half a character (\\ud800 to \\udfff); write the whole one.")


def _object(entry: Any, where: str) -> dict[str, Any]:
    """An entry, once it is an object."""
    if not isinstance(entry, dict):
        raise InputError(f'{where} is not an object; it must be one, such as {{"name": "a", "price": 5}}.')
    return entry


def _cell_text(value: Any) -> str:
    """A value as text that reads as the same value."""
    return str(value).lower() if isinstance(value, bool) else naming.text(value)
