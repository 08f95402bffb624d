"""Things to choose from: the features that are learned from, and whatever else there is to show of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from os import PathLike
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coombs import files, naming, tables
from coombs.tables import Columns, InputError, ItemTable, TableLike, Where

Details = tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Catalogue:
    """Checked items, and of each the columns that are not features, as text."""

    table: ItemTable
    details: Details

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


def catalogue(items: TableLike | str | PathLike[str], features: Sequence[str] | None = None) -> Catalogue:
    """Items out of an array, a frame, or a CSV or Parquet file.

    Columns of numbers are features; columns of text are details, such as a picture or a link.
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
        return _of_columns(*files.split_names(columns, columns), where, features)
    raw, where = files.csv_columns(path)
    names, typed = files.split_names(raw, {name: files.typed(column) for name, column in raw.items()})
    return _of_columns(names, typed, where, features, raw)


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
