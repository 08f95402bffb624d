"""Uploads before they become a study: read, guessed at, looked over, and made into a catalogue."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data import files, naming
from coombs.data.catalogue import Catalogue, catalogue, with_roles
from coombs.data.cells import yes_no
from coombs.data.column_roles import (
    IMAGE_ENDINGS,
    ItemColumn,
    Roles,
    is_id_header,
    item_columns,
    readable_names,
    refuse_unknown,
    sorted_levels,
)
from coombs.data.encoding import CATEGORY, LEARNED, ORDERED, YES_NO
from coombs.data.files import NamedColumns
from coombs.data.messy_tables import numbered
from coombs.data.profiles import described_choices, is_described
from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.web.item_cards import (
    LINK,
    PICTURE,
    SAMPLE_ROWS,
    link_column,
    picture_column,
    web_address,
)
from coombs.words import listed

MOST_ROWS = 20_000
"""Items of a study."""
MOST_COLUMNS = 200
"""Columns of a file."""
MOST_FEATURES = 30
"""Columns to learn from."""
MOST_CATEGORIES = 100
"""Levels of a category that somebody chose."""
MOST_CELLS = 1_000_000
"""Rows times columns."""
MOST_NAMES = 500
"""People who get a link at once."""
MOST_PLACES = 5
"""Rows that are named."""
LONGEST_NAME = 120
"""Characters of a study's, a person's or a file's name."""
NAMES_FILE = "names.txt"
"""What a list of names that was written down is called."""
ONCE = {
    "names": Translatable("names of the items"),
    PICTURE: Translatable("picture"),
    LINK: Translatable("link"),
}
"""Roles that one column can have, and what they are called."""
Role: TypeAlias = str | tuple[str, ...]


@dataclass(frozen=True)
class ColumnRoles:
    """What each column is: one of `ROLES`, the picture or the link, or the levels of an ordered one.

    `numbered` numbers names that are repeated.
    """

    of: Mapping[str, Role] = field(default_factory=dict)
    numbered: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """Columns that are learned from."""
        return tuple(name for name, role in self.of.items() if role in LEARNED or isinstance(role, tuple))

    @property
    def names(self) -> str | None:
        """The column that holds the names."""
        return self.only("names")

    def only(self, role: str) -> str | None:
        """The column that has a role which one column can have."""
        return next((name for name, one in self.of.items() if one == role), None)


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
    def by_name(self) -> dict[str, ItemColumn]:
        """`item_columns` by name."""
        return {column.name: column for column in self.item_columns}

    def is_constant(self, name: str) -> bool:
        """Whether all cells that are not blank are alike; beside ticks, a blank is a no."""
        values = yes_no(self.table.columns[name]) if self.by_name[name].learned_as == YES_NO else None
        return len(self.levels[name] if values is None else {*values[~np.isnan(values)].tolist()}) == 1

    def texts(self, rows: int) -> list[list[str]]:
        """The first rows."""
        cells = [column[:rows].tolist() for column in self.table.columns.values()]
        return [list(row) for row in zip(*cells, strict=True)]

    def repeated(self, name: str) -> list[str]:
        """What comes more than once in a column."""
        times = Counter(self.table.columns[name].tolist())
        return [cell for cell in times if cell and times[cell] > 1]

    def sample(self, name: str) -> list[str]:
        """The first cells of a column."""
        return [str(cell) for cell in self.table.columns[name][:SAMPLE_ROWS]]

    @cached_property
    def on_disk(self) -> tuple[str, ...]:
        """Columns of pictures in files, which an upload does not bring."""
        return tuple(name for name in self.table.columns if _are_files(self.sample(name)))

    def guess(self, features: Sequence[str] | None = None, roles: Roles | None = None) -> ColumnRoles:
        """What the columns probably are, but for those that are said to be something.

        As in the library, but that ids, constants and columns with mistakes in them are only shown, and so
        are columns beyond the most that can be learned from.
        """
        features, known = with_roles(features, _in_library(roles or {}), self.table)
        said = {*(features or ()), *(known or {})}
        columns = self.item_columns
        if said or features is not None:
            names = readable_names(self.table)
            columns = item_columns(self.table, features, None if names in said else names, known)
        found = {one.name: self._role(one, one.name in said) for one in columns}
        pictures = self._pictures([name for name in found if name not in said and found[name] != "names"])
        found |= {name: role for name, role in pictures.items() if role not in (roles or {}).values()}
        found |= {name: role for name, role in (roles or {}).items() if role in (PICTURE, LINK)}
        free = [name for name in ColumnRoles(found).features if name not in said]
        room = max(MOST_FEATURES - len(ColumnRoles(found).features) + len(free), 0)
        return ColumnRoles(found | dict.fromkeys(free[room:], "text"))

    def _role(self, column: ItemColumn, is_said: bool) -> Role:
        """What a column is, in one word or by its levels."""
        if column.role != "feature":
            return {"names": "names", "ignored": "ignore"}.get(column.role, "text")
        if not is_said and self.doubt(column.name):
            return "text"
        return column.levels if column.learned_as == ORDERED else column.learned_as

    def doubt(self, name: str) -> str:
        """Why a column that the library would learn from is only shown by default; blank where it is not."""
        if self.by_name[name].kind == "mixed":
            cells = self.table.typed[name].tolist()
            row = next((i for i, cell in enumerate(cells) if isinstance(cell, str)), 0)
            return Translatable(
                "is not all numbers: in {places} it is {cell}; as a number, such cells count as not known",
                places=self.places([row]),
                cell=repr(cells[row]),
            )
        if self.is_constant(name):
            return Translatable("is the same for all items")
        return Translatable("is called as ids are") if is_id_header(name) else ""

    def _pictures(self, names: Sequence[str]) -> dict[str, str]:
        """The picture and the link, among columns of text; without any web address there is none to show."""
        texts = [name for name in names if self.by_name[name].kind == "text"]
        cells = {name: self.sample(name) for name in texts if any(map(web_address, self.sample(name)))}
        picture = picture_column(cells)
        link = link_column({name: column for name, column in cells.items() if name != picture})
        return {name: role for name, role in ((picture, PICTURE), (link, LINK)) if name is not None}

    def catalogue(self, roles: ColumnRoles) -> Catalogue:
        """The items, or an InputError that says what to choose instead."""
        self.check(roles)
        table, names = self.table, roles.names
        if names is not None and roles.numbered:
            told = np.array(numbered(table.columns[names].tolist()), dtype=object)
            table = replace(table, columns=table.columns | {names: told})
        goods = catalogue(table, roles=_in_library(roles.of))
        called = {name: _detail_name(name, role) for name, role in roles.of.items()}
        details = tuple({called[name]: cell for name, cell in row.items()} for row in goods.details)
        return replace(goods, details=details)

    def check(self, roles: ColumnRoles) -> None:
        """Refuse what no study can be made of, whatever the cells are."""
        if self.table.n_rows < 2:
            raise InputError(
                "{file} has one row; two or more are needed, as things are compared.", file=self.table.file
            )
        refuse_unknown(roles.of, list(self.table.columns))
        if not roles.features and roles.names is None:
            raise InputError(
                Translatable("Neither a feature nor the name is chosen; choose one or the other.")
            )
        if len(roles.features) > MOST_FEATURES:
            raise InputError(
                "{columns} columns are to be learned from; choose {most} at most.",
                columns=len(roles.features),
                most=MOST_FEATURES,
            )
        for name in roles.of:
            if problem := self.excess(name, roles):
                raise InputError(problem)

    def excess(self, name: str, roles: ColumnRoles) -> str:
        """Why a column cannot have its role beside those of the others, or for its size; blank if it can."""
        role = roles.of[name]
        if isinstance(role, str) and role in ONCE and (first := roles.only(role)) != name:
            return Translatable(
                "{first} and {second} are both chosen as the {role}; choose one of the two.",
                first=repr(first),
                second=repr(name),
                role=ONCE[role],
            )
        if role == CATEGORY and (n := len(self.levels[name])) > MOST_CATEGORIES:
            return Translatable(
                "{column} has {cells} different cells; a category has {most} at most.",
                column=repr(name),
                cells=n,
                most=MOST_CATEGORIES,
            )
        return ""

    @cached_property
    def levels(self) -> dict[str, list[str]]:
        """The different cells of each column, by their numbers if all are numbers, or by the alphabet."""
        declared = {name: list(one.levels) for name, one in self.table.categorical.items() if one.levels}
        return {name: declared.get(name) or sorted_levels(cells) for name, cells in self.table.typed.items()}

    def places(self, rows: Sequence[int]) -> str:
        """As line 5, or lines 5 and 9."""
        numbers = listed([str(self.table.number(i)) for i in rows], MOST_PLACES)
        values: dict[str, Any] = {"n": len(rows), "numbers": numbers}
        if self.table.noun == "line":
            return Translatable("line {numbers}|lines {numbers}", **values)
        if self.table.noun == "entry":
            return Translatable("entry {numbers}|entries {numbers}", **values)
        return Translatable("row {numbers}|rows {numbers}", **values)


def read_upload(content: bytes, file: str, number: str | None = None) -> Upload:
    """An uploaded file of items, by a number that it had before, or an InputError in words."""
    table = read_table(content, file)
    _refuse_described(table)
    return Upload(table) if number is None else Upload(table, number)


def read_table(content: bytes, file: str) -> NamedColumns:
    """The table in an uploaded file, cells as text, or an InputError in words."""
    file = Path(file.replace("\\", "/")).name[:LONGEST_NAME] or "the file"
    if not content.strip():
        raise InputError("{file} is empty; it needs a header line and at least two rows.", file=file)
    try:
        table = files.content_table(content, file, MOST_CELLS)
    except ImportError as error:
        raise InputError(
            '{file} is a Parquet file, which needs: pip install "coombs[frames]"; or bring it as CSV.',
            file=file,
        ) from error
    _refuse_large(table.n_rows, len(table.columns), file)
    if table.source != "parquet":
        return table
    index = {} if table.index is None else {table.index_name: table.index}
    texts = {name: _texts(column) for name, column in (index | table.columns).items()}
    return NamedColumns(texts, "csv", file, categorical=table.categorical)


def names_table(text: str) -> bytes:
    """The file of names that were written down, one on each line."""
    # Below a header, no name is taken for one, nor for columns.
    return f"name\n{text}".encode(errors="replace")


def _texts(column: NDArray[Any]) -> NDArray[Any]:
    cells = column.astype(np.float64).tolist() if column.dtype.kind == "f" else column
    return np.array([naming.text(cell) for cell in cells], dtype=object)


def _refuse_large(rows: int, columns: int, file: str) -> None:
    if columns > MOST_COLUMNS:
        raise InputError(
            "{file} has {columns} columns; {most} are the most.",
            file=file,
            columns=columns,
            most=MOST_COLUMNS,
        )
    if rows > MOST_ROWS:
        raise InputError("{file} has {rows} rows; {most} are the most.", file=file, rows=rows, most=MOST_ROWS)


def _refuse_described(table: NamedColumns) -> None:
    """Refuse questions that describe what they are about: there is no list of things to ask about."""
    if not is_described(table):
        return
    try:
        found = described_choices(table)
    except InputError:
        # It only looks like it.
        return
    raise InputError(
        "{file} holds {answers} about things that it describes itself, not a list of things to "
        "ask about; learn from it with: coombs fit {file}; or bring a table with a row for each "
        "thing.",
        file=table.file,
        answers=Translatable("{n} answer|{n} answers", n=len(found.sets)),
    )


def study_name(text: str) -> str:
    """A name for a study out of a form."""
    name = " ".join(text.split())
    if not name:
        raise InputError(Translatable("The study has no name; give it one, such as 'flats'."))
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise InputError(
            "The study's name must be plain text of {most} characters at most.", most=LONGEST_NAME
        )
    return name


def people_names(text: str) -> Sequence[str]:
    """Names of people out of a form, one on each line, each once."""
    names = list(dict.fromkeys(" ".join(line.split()) for line in text.splitlines()))
    names = [name for name in names if name]
    if not names:
        raise InputError(Translatable("There is no name; write one on each line."))
    if len(names) > MOST_NAMES:
        raise InputError(
            "There are {names} names; {most} at a time are the most.", names=len(names), most=MOST_NAMES
        )
    for name in names:
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise InputError(
                "A person's name must be plain text of {most} characters at most.", most=LONGEST_NAME
            )
    return names


def _in_library(roles: Mapping[str, Any]) -> dict[str, Any]:
    """Roles that the library knows: pictures and links are text."""
    return {name: "text" if role in (PICTURE, LINK) else role for name, role in roles.items()}


def _detail_name(name: str, role: Role) -> str:
    """What a column that is shown is called, so that the cards know the picture and the link by it."""
    if role in (PICTURE, LINK):
        return str(role)
    return f"{name} (text)" if name in (PICTURE, LINK) else name


def _are_files(cells: Sequence[str]) -> bool:
    """Whether there are pictures, and all of them in files."""
    filled = [cell.strip().lower() for cell in cells if cell.strip()]
    return bool(filled) and all(cell.endswith(IMAGE_ENDINGS) and "//" not in cell for cell in filled)
