"""Uploads before they become a study: read, guessed at, looked over, and made into a catalogue."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coombs.data import files, naming
from coombs.data.catalogue import Catalogue, details_of, encoded_items
from coombs.data.column_roles import ItemColumn, is_id_header, item_columns, readable_names, refuse_unknown
from coombs.data.encoding import CATEGORY, is_gap
from coombs.data.files import NamedColumns
from coombs.data.tables import Columns, InputError
from coombs.web.item_cards import (
    IMAGE_ENDINGS,
    LINK,
    PICTURE,
    SAMPLE_ROWS,
    link_column,
    picture_column,
    web_address,
)

MOST_ROWS = 20_000
"""Items of a study."""
MOST_COLUMNS = 200
"""Columns of a file."""
MOST_FEATURES = 30
"""Columns to learn from."""
MOST_CELLS = 1_000_000
"""Rows times columns."""
MOST_NAMES = 500
"""People who get a link at once."""
LONGEST_NAME = 120
"""Characters of a study's, a person's or a file's name."""


@dataclass(frozen=True)
class ColumnRoles:
    """Which column is what.

    `complete` leaves out rows in which a feature is missing; `numbered` numbers names that are repeated.
    """

    features: tuple[str, ...] = ()
    names: str | None = None
    picture: str | None = None
    link: str | None = None
    complete: bool = False
    numbered: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All that have a role."""
        return (*self.features, *filter(None, (self.names, self.picture, self.link)))


@dataclass(frozen=True)
class Upload:
    """An uploaded table, its cells as text."""

    table: NamedColumns
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))

    @cached_property
    def item_columns(self) -> tuple[ItemColumn, ...]:
        """What the columns probably are."""
        return item_columns(self.table, names=readable_names(self.table))

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        """Columns of numbers, gaps allowed."""
        return tuple(column.name for column in self.item_columns if column.kind == "number")

    @cached_property
    def learnable(self) -> tuple[str, ...]:
        """Columns that can be ticked: numbers, and whatever else is learned from by its cells."""
        others = {one.name for one in self.item_columns if one.role == "feature" and one.kind == "text"}
        return tuple(name for name in self.table.columns if name in self.numeric or name in others)

    @cached_property
    def numbering(self) -> tuple[str, ...]:
        """Columns of numbers that only number the items."""
        return tuple(column.name for column in self.item_columns if column.numbers_items)

    def gaps(self, name: str) -> list[int]:
        """Rows in which a column has no number; in a category, a blank is a level."""
        if name in self.learnable and name not in self.numeric:
            kind = next(one.learned_as for one in self.item_columns if one.name == name)
            return [] if kind == CATEGORY else np.flatnonzero(is_gap(self.table.typed[name])).tolist()
        return [i for i, cell in enumerate(self.table.typed[name].tolist()) if not _is_number(cell)]

    def is_constant(self, name: str) -> bool:
        """Whether all cells that are not blank are alike."""
        return len({cell for cell in self.table.typed[name].tolist() if not naming.is_missing(cell)}) == 1

    def texts(self, rows: int) -> list[list[str]]:
        """The first rows."""
        cells = [column[:rows].tolist() for column in self.table.columns.values()]
        return [list(row) for row in zip(*cells, strict=True)]

    def repeated(self, name: str) -> list[str]:
        """What comes more than once in a column."""
        times = Counter(self.table.columns[name].tolist())
        return [cell for cell in times if cell and times[cell] > 1]

    @cached_property
    def on_disk(self) -> tuple[str, ...]:
        """Columns of pictures in files, which an upload does not bring."""
        return tuple(name for name in self.table.columns if _are_files(self._cells(name)))

    def guess(self) -> ColumnRoles:
        """What the columns probably are."""
        names = next((column.name for column in self.item_columns if column.role == "names"), None)
        others = {
            name: self._cells(name)
            for name in self.table.columns
            if name != names and name not in self.numeric
        }
        # Without any web address there is nothing to show.
        pictures = {name: cells for name, cells in others.items() if any(map(web_address, cells))}
        picture = picture_column(pictures)
        link = link_column({name: cells for name, cells in others.items() if name != picture})
        features = [
            column.name
            for column in self.item_columns
            if column.role == "feature"
            and column.name in self.learnable
            and column.name not in (picture, link)
            and not is_id_header(column.name)
            and not self.gaps(column.name)
            and not self.is_constant(column.name)
        ]
        return ColumnRoles(tuple(features[:MOST_FEATURES]), names, picture, link)

    def catalogue(self, roles: ColumnRoles) -> Catalogue:
        """The items, or an InputError that says what to choose instead."""
        self.check(roles)
        rows = np.arange(self.table.n_rows)
        if roles.complete:
            rows = np.setdiff1d(rows, [i for name in roles.features for i in self.gaps(name)])
        for name, (row, *_) in ((name, gaps) for name in roles.features if (gaps := self.gaps(name))):
            if not roles.complete:
                called = None if roles.names is None else self.table.columns[roles.names][row]
                where = self.table.where(row) if called is None else f"item {called!r}"
                what = f"Feature {name!r} of {where} is nan"
                raise InputError(f"{what}; it must be a finite number.")
        if len(rows) < 2:
            raise InputError("Fewer than two rows have all the features; leave out the columns with gaps.")
        names = None if roles.names is None else self.table.columns[roles.names][rows]
        if names is not None and roles.numbered:
            names = np.array(numbered(names.tolist()), dtype=object)
        columns = item_columns(self.table, list(roles.features), names=roles.names)
        table = encoded_items(self.table, columns, names, rows)
        shown = {name: column[rows] for name, column in self._details(roles).items()}
        return Catalogue(table, details_of(shown, len(rows)))

    def check(self, roles: ColumnRoles) -> None:
        """Refuse what no study can be made of, whatever the cells are."""
        if self.table.n_rows < 2:
            raise InputError(
                f"{self.table.file} has one row; two or more are needed, as things are compared."
            )
        refuse_unknown(roles.columns, list(self.table.columns))
        if not roles.features and roles.names is None:
            raise InputError("Neither a feature nor the name is chosen; choose one or the other.")
        if len(roles.features) > MOST_FEATURES:
            raise InputError(f"{len(roles.features)} features are chosen; choose {MOST_FEATURES} at most.")
        if roles.names in roles.features:
            raise InputError(f"{roles.names!r} is chosen as a feature and as the name; one of the two.")

    def _cells(self, name: str) -> list[str]:
        return [str(cell) for cell in self.table.columns[name][:SAMPLE_ROWS]]

    def _details(self, roles: ColumnRoles) -> Columns:
        """The columns that are shown; the picture and the link by names that the cards know."""
        renamed: dict[str, str] = {}
        for name in self.table.columns:
            if name in roles.features or name == roles.names:
                continue
            special = {roles.picture: PICTURE, roles.link: LINK}.get(name)
            renamed[name] = special or (f"{name} (text)" if name in (PICTURE, LINK) else name)
        return {new: self.table.columns[old] for old, new in renamed.items()}


def read_upload(content: bytes, file: str) -> Upload:
    """An uploaded file, or an InputError in words."""
    file = Path(file.replace("\\", "/")).name[:LONGEST_NAME] or "the file"
    if not content.strip():
        raise InputError(f"{file} is empty; it needs a header line and at least two rows.")
    try:
        table = files.content_table(content, file, MOST_CELLS)
    except ImportError as error:
        raise InputError(
            f'{file} is a Parquet file, which needs: pip install "coombs[frames]"; or bring it as CSV.'
        ) from error
    _refuse_large(table.n_rows, len(table.columns), file)
    if table.source != "parquet":
        return Upload(table)
    index = {} if table.index is None else {table.index_name: table.index}
    texts = {name: _texts(column) for name, column in (index | table.columns).items()}
    return Upload(NamedColumns(texts, "csv", file))


def read_names(text: str) -> Upload:
    """Names that were written down, one on each line."""
    # Below a header, no name is taken for one, nor for columns.
    return read_upload(f"name\n{text}".encode(errors="replace"), "names.txt")


def _texts(column: NDArray[Any]) -> NDArray[Any]:
    cells = column.astype(np.float64).tolist() if column.dtype.kind == "f" else column
    return np.array([naming.text(cell) for cell in cells], dtype=object)


def _refuse_large(rows: int, columns: int, file: str) -> None:
    if columns > MOST_COLUMNS:
        raise InputError(f"{file} has {columns} columns; {MOST_COLUMNS} are the most.")
    if rows > MOST_ROWS:
        raise InputError(f"{file} has {rows} rows; {MOST_ROWS} are the most.")


def numbered(names: Sequence[str]) -> list[str]:
    """The names, those that are repeated with a number.

    Examples
    --------
    >>> numbered(["Plain", "Plain", "Plain (2)", "Fancy", "Plain"])
    ['Plain', 'Plain (3)', 'Plain (2)', 'Fancy', 'Plain (4)']
    """
    taken, times, result = set(names), Counter[str](), []
    for name in names:
        times[name] += 1
        while times[name] > 1 and f"{name} ({times[name]})" in taken:
            times[name] += 1
        result.append(name if times[name] == 1 else f"{name} ({times[name]})")
    return result


def study_name(text: str) -> str:
    """A name for a study out of a form."""
    name = " ".join(text.split())
    if not name:
        raise InputError("The study has no name; give it one, such as 'flats'.")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise InputError(f"The study's name must be plain text of {LONGEST_NAME} characters at most.")
    return name


def people_names(text: str) -> Sequence[str]:
    """Names of people out of a form, one on each line, each once."""
    names = list(dict.fromkeys(" ".join(line.split()) for line in text.splitlines()))
    names = [name for name in names if name]
    if not names:
        raise InputError("There is no name; write one on each line.")
    if len(names) > MOST_NAMES:
        raise InputError(f"There are {len(names)} names; {MOST_NAMES} at a time are the most.")
    for name in names:
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise InputError(f"A person's name must be plain text of {LONGEST_NAME} characters at most.")
    return names


def _is_number(cell: object) -> bool:
    return isinstance(cell, float) and bool(np.isfinite(cell))


def _are_files(cells: Sequence[str]) -> bool:
    """Whether there are pictures, and all of them in files."""
    filled = [cell.strip().lower() for cell in cells if cell.strip()]
    return bool(filled) and all(cell.endswith(IMAGE_ENDINGS) and "//" not in cell for cell in filled)
