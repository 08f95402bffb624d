"""How much a file may hold: what is too large is refused before it is decoded, as far as that can be told."""

from __future__ import annotations

from coombs.data.tables import InputError

LARGEST_FILE = 2 * 10**9
"""Bytes of a file that is read as text: a device may have no end."""
LONGEST_LINE = 10**8
"""Characters of a line, at most."""
LARGEST_WORKBOOK = 500 * 2**20
"""Bytes of a workbook once it is unpacked."""
BYTES_A_CELL = 100
"""Bytes for each cell of an unpacked workbook or a decoded Parquet file, where cells are limited."""
MOST_COLUMNS = 10_000
"""Of a file; a table of more is one that was turned on its side, or made to do harm."""
LONGEST_CELL = 2**17
"""Characters of a cell, at most."""
MOST_SPARSE_CELLS = 50_000_000
"""Cells of a workbook or of JSON, of which a few bytes may stand for thousands of blank ones."""
MARKS_A_CELL = 3
"""Commas and brackets of JSON for each cell, where the number of cells is limited."""
LARGEST_TABLE = 2 * 2**30
"""Bytes of a decoded table that are always allowed."""
MOST_GROWTH = 100
"""Bytes of a decoded table that are allowed for each byte of the file."""


def refuse_cells(cells: int, name: str, most: int | None) -> None:
    """Refuse a table of more cells than are allowed."""
    if most is not None and cells > most:
        raise InputError(
            "{name} has more than {most} cells; leave out rows or columns.", name=name, most=most
        )


def refuse_columns(columns: int, name: str) -> None:
    """Refuse a table of more columns than are allowed."""
    if columns > MOST_COLUMNS:
        raise InputError(
            "{name} has {columns} columns; {most} are the most: should its columns be rows?",
            name=name,
            columns=columns,
            most=MOST_COLUMNS,
        )
