"""Things to choose from: the features that are learned from, and whatever else there is to show of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from os import PathLike
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coombs.data import files, naming, tables
from coombs.data.tables import Columns, FloatArray, InputError, ItemTable, TableLike, Where

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
        return _of_file(items, features)
    library = tables.frame_library(items)
    if library is None:
        if features is not None:
            raise InputError("features names columns; these items are an array, which has no names.")
        table = tables.item_table(items)
        return Catalogue(table, ({},) * len(table.matrix))
    columns = tables.frame_columns(items)
    if library == "polars":
        name = next((name for name, column in columns.items() if tables.holds_text(column)), None)
        return _of_columns(None if name is None else columns.pop(name), columns, tables.row, features)
    return _of_columns(tables.index_names(items), columns, tables.row, features)


def _of_file(path: str | PathLike[str], features: Sequence[str] | None) -> Catalogue:
    """The items in a file, details as the file has them."""
    if str(path).lower().endswith((".parquet", ".pq")):
        frame, where = files.parquet_frame(path)
        columns = tables.frame_columns(frame)
        if not tables.is_default(frame.index):
            return _of_columns(tables.index_names(frame), columns, where, features)
        return _of_file_columns(columns, columns, where, features)
    raw, where = files.csv_columns(path)
    return _of_file_columns(raw, {name: files.typed(cells) for name, cells in raw.items()}, where, features)


def _of_file_columns(
    raw: Columns, columns: Columns, where: Where, features: Sequence[str] | None
) -> Catalogue:
    """Columns of a file, one of which may hold the names, and others only number the items."""
    names, numbering = files.roles(raw, columns, features or ())
    rest = {name: column for name, column in columns.items() if name != names}
    chosen = features
    if features is None:
        chosen = [name for name, column in rest.items() if not _is_text(column) and name not in numbering]
    found = _of_columns(None if names is None else raw[names], rest, where, chosen, raw)
    return replace(found, notes=tuple(_notes(columns, names, numbering)) if features is None else ())


def _notes(columns: Columns, names: str | None, numbering: Sequence[str]) -> Iterator[str]:
    """What is good to know about columns of numbers that are not learned from."""
    expected = names == next(iter(columns)) and names.strip().lower() in files.NAME_HEADERS
    if names is not None and not expected and not _is_text(columns[names]):
        yield f"Column {names!r} numbers the items: it is taken for their names and not learned from."
    for name in numbering:
        yield f"Column {name!r} only numbers the items, and is not learned from."


def _of_columns(
    names: NDArray[Any] | None,
    columns: Columns,
    where: Where,
    features: Sequence[str] | None,
    raw: Columns | None = None,
) -> Catalogue:
    if features is None:
        chosen = [name for name, column in columns.items() if not _is_text(column)]
    else:
        unknown = [name for name in features if name not in columns]
        if unknown:
            raise InputError(f"There is no column {unknown[0]!r}; the columns are {', '.join(columns)}.")
        chosen = [name for name in columns if name in set(features)]
    table = tables.assemble(names, {name: columns[name] for name in chosen}, where)
    others = {name: (raw or columns)[name] for name in columns if name not in chosen}
    texts = {name: [naming.text(cell) for cell in column] for name, column in others.items()}
    details = tuple({name: cells[i] for name, cells in texts.items()} for i in range(len(table.matrix)))
    return Catalogue(table, details)


def _is_text(column: NDArray[Any]) -> bool:
    """Whether no cell is a number and at least one is text; a column with both is a feature with mistakes."""
    if column.dtype.kind not in "OUT":
        return column.dtype.kind in "mM"
    filled = [cell for cell in column if naming.text(cell)]
    return bool(filled) and all(_is_word(cell) for cell in filled)


def _is_word(cell: Any) -> bool:
    return isinstance(cell, date) or (isinstance(cell, str) and not _reads_as_number(cell))


def _reads_as_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False
