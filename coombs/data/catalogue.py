"""Things to choose from: the features that are learned from, and whatever else there is to show of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from types import NoneType
from typing import Any

from coombs.data import files, naming, tables
from coombs.data.column_roles import ItemColumn, item_columns
from coombs.data.files import NamedColumns
from coombs.data.tables import Columns, FloatArray, InputError, ItemTable, TableLike

Details = tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Catalogue:
    """Checked items, and of each the columns that are not features, as text.

    `notes` are sentences about columns of a file that were not taken for features.
    """

    table: ItemTable
    details: Details
    notes: tuple[str, ...] = ()

    @cached_property
    def names(self) -> list[str]:
        """What the items are called, as text; their positions where they have no names."""
        return self.table.texts

    @cached_property
    def labels(self) -> list[Any]:
        """The names with the type that they came in; positions as text where there are none."""
        return self.names if self.table.names is None else self.table.names.tolist()

    @cached_property
    def features(self) -> list[str]:
        """What the features are called."""
        table = self.table
        if table.features is None:
            return [f"feature {j}" for j in range(table.matrix.shape[1])]
        return [str(name) for name in table.features]

    @cached_property
    def feature_range(self) -> tuple[FloatArray, FloatArray]:
        """The lowest and the highest value of each feature."""
        return self.table.matrix.min(axis=0), self.table.matrix.max(axis=0)


def catalogue(items: TableLike | str | PathLike[str], features: Sequence[str] | None = None) -> Catalogue:
    """Items out of an array, a frame, or a CSV or Parquet file.

    Columns of numbers are features; columns of text are details, such as a picture or a link. In files a
    column that only numbers the items (an id, or 1, 2, 3, ...) is their names, or a detail.
    `features` names the columns to learn from; the others are details then.
    """
    if isinstance(items, Catalogue):
        return items
    if isinstance(features, str) or not isinstance(features, Sequence | NoneType):
        raise InputError(f"features is {features!r}; it must be a list of columns' names.")
    features = None if features is None else [str(name) for name in features]
    if isinstance(items, str | PathLike):
        table = files.read_table(items)
    elif tables.frame_library(items):
        table = files.frame_table(items)
    elif features is not None:
        raise InputError("features names columns; these items are an array, which has no names.")
    else:
        found = tables.array_table(items)
        return Catalogue(found, ({},) * len(found.matrix))
    columns = item_columns(table, features)
    checked = _checked(table, columns, [column.name for column in columns if column.role == "feature"])
    shown = {column.name: table.columns[column.name] for column in columns if column.role == "detail"}
    return Catalogue(checked, details_of(shown, len(checked.matrix)), tuple(_notes(columns, features)))


def _notes(columns: Sequence[ItemColumn], features: Sequence[str] | None) -> Iterator[str]:
    """What is good to know about columns of numbers that are not learned from, though nobody said so."""
    for i, column in enumerate(columns if features is None else ()):
        # That a first column which is called id or name holds the names is no news.
        if column.numbers_items and not (i == 0 and column.name.strip().lower() in files.NAME_HEADERS):
            yield column.why


def item_table(items: TableLike | NamedColumns) -> ItemTable:
    """The checked record of items that are only learned from; a column of text is refused unless it is names.

    Nothing could show what it says, and it would be lost without a word.
    """
    if isinstance(items, ItemTable):
        return items
    if not isinstance(items, NamedColumns):
        if not tables.frame_library(items):
            return tables.array_table(items)
        items = files.frame_table(items)
    columns = item_columns(items)
    learned = [column for column in columns if column.role != "names"]
    wanted = [column.name for column in learned if column.role == "feature" or column.kind == "text"]
    return _checked(items, columns, wanted)


def details_of(columns: Columns, n: int) -> Details:
    """Columns that are shown, as text of each of n items."""
    texts = {name: [naming.text(cell) for cell in column] for name, column in columns.items()}
    return tuple({name: cells[i] for name, cells in texts.items()} for i in range(n))


def _checked(table: NamedColumns, columns: Sequence[ItemColumn], features: Sequence[str]) -> ItemTable:
    """The items with these features, and with their names."""
    named = (table.columns[column.name] for column in columns if column.role == "names")
    learned = {name: table.typed[name] for name in features}
    checked = tables.assemble(next(named, table.index), learned, table.where)
    return checked if table.has_headers or len(learned) < len(columns) else checked._replace(features=None)
