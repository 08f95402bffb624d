"""Items that come after a fit, as the model takes them that was learned."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data import tables
from coombs.data.catalogue import item_table, named_columns
from coombs.data.column_roles import item_columns
from coombs.data.encoding import CATEGORY, NUMBER, YES_NO, Encoding, FeatureColumn, is_gap
from coombs.data.files import NamedColumns
from coombs.data.tables import Columns, FloatArray, InputError, ItemTable, TableLike, Where

Gaps: TypeAlias = list[tuple[str, NDArray[np.bool_]]]
"""Columns with cells that are not known, and (n,) which these are."""
MOST_NAMED = 3
"""Items that a sentence about such cells names."""


def table_for(
    items: TableLike | NamedColumns,
    features: Sequence[str] | None,
    n_features: int,
    encoding: Encoding | None,
    means: FloatArray | None = None,
) -> ItemTable:
    """Items as a model takes them that was learned from these features, or by this encoding.

    A level that was not learned from counts as an average one, and for a cell that is not known stands the
    column's mean, from `means` of the features or else of these items; warnings say so.
    """
    if isinstance(items, ItemTable):
        if items.encoding == encoding:
            return items.in_order(features, n_features)
        if items.features is None:
            return _positional(items.matrix, items, encoding)
        columns = _cells_of(items)
        names: NDArray[Any] | None = items.names
        where: Where = items.where
    else:
        table = named_columns(items)
        if table is None:
            if encoding is None:
                return tables.array_table(items).in_order(features, n_features)
            given = tables.as_array(items, "items")
            return _positional(given, None, encoding)
        if _has_gaps(table, features, encoding):
            plain = Encoding(tuple(FeatureColumn(str(name)) for name in features or ()))
            filled, gaps = filled_table(table, encoding or plain, means)
            for sentence in gap_sentences(filled, gaps, means is not None):
                warnings.warn(sentence, UserWarning, stacklevel=4)
            return filled
        if encoding is None:
            numbers = {name: NUMBER for name in features or () if name in table.columns}
            return item_table(table, roles=numbers).in_order(features, n_features)
        return _by_encoding(table, encoding)
    if encoding is None:
        return tables.assemble(names, columns, where).in_order(features, n_features)
    return _encoded(names, columns, where, encoding)


def _by_encoding(table: NamedColumns, encoding: Encoding) -> ItemTable:
    """Items with named columns, whose cells must be known unless the encoding says what stands for them."""
    wanted = [one.name for one in encoding.columns if one.name in table.columns]
    found = item_columns(table, wanted)
    columns = {
        one.name: (table.columns if one.role == YES_NO else table.typed)[one.name]
        for one in encoding.columns
        if one.name in table.columns and not one.gaps_of
    }
    held = (table.columns[one.name] for one in found if one.role == "names")
    return _encoded(next(held, table.index), columns, table.where, encoding)


def _has_gaps(table: NamedColumns, features: Sequence[str] | None, encoding: Encoding | None) -> bool:
    """Whether a cell is not known of a column of which every cell was at the fit."""
    if encoding is None:
        wanted = [str(name) for name in features or ()]
    else:
        wanted = [one.name for one in encoding.columns if one.fill is None and one.role != CATEGORY]
    there = [name for name in wanted if name in table.columns]
    return len(there) == len(wanted) and any(is_gap(table.typed[name]).any() for name in there)


def gap_sentences(table: ItemTable, gaps: Gaps, is_of_fit: bool) -> Iterator[str]:
    """What stands for cells that are not known, of the items that are meant."""
    whose = "the items that were learned from" if is_of_fit else "these items"
    for name, rows in gaps:
        which = ", ".join(table.where(int(i)) for i in rows.nonzero()[0][:MOST_NAMED])
        more = f" and {rows.sum() - MOST_NAMED} more" if rows.sum() > MOST_NAMED else ""
        yield f"Feature {name!r} of {which}{more} is not known: the mean of {whose} stands for it."


def filled_table(table: NamedColumns, encoding: Encoding, means: FloatArray | None) -> tuple[ItemTable, Gaps]:
    """New items as a model takes them that was learned by an encoding, and (n,) which cells are not known.

    For those stands the column's mean, as in a fit: `means` has it of each feature; without, the others'.
    """
    for name in encoding.table_names:
        if name not in table.columns:
            there = ", ".join(one.name for one in item_columns(table) if one.role != "names")
            learned = ", ".join(encoding.table_names)
            raise InputError(
                f"There is no column {name!r}; the columns are {there}. The model was learned from {learned}."
            )
    columns, gaps = [], []
    for one, block in zip(encoding.columns, encoding.blocks, strict=False):
        cells = table.typed.get(one.source)
        if cells is not None and one.role != CATEGORY and not one.gaps_of and is_gap(cells).any():
            gaps.append((one.name, is_gap(cells)))
            if one.fill is None and (means is not None or not is_gap(cells).all()):
                known = replace(one, fill=math.nan).encode(cells, table.where)
                mean = np.nanmean(known) if means is None else means[block[0]]
                one = replace(one, fill=float(mean))
        columns.append(one)
    filled = replace(encoding, columns=tuple(columns))
    checked = _by_encoding(table, filled)
    return checked._replace(encoding=None if encoding.is_plain else encoding), gaps


def _cells_of(table: ItemTable) -> Columns:
    """The columns of a table as they were before they became numbers."""
    if table.encoding is not None:
        return table.encoding.cells(table.matrix)
    assert table.features is not None
    return {str(name): column for name, column in zip(table.features, table.matrix.T, strict=True)}


def _positional(values: NDArray[Any], table: ItemTable | None, encoding: Encoding | None) -> ItemTable:
    """Items without names of columns: the columns of the table in their order, or all that they became."""
    wide = 0 if encoding is None else len(encoding.names)
    n = values.shape[1] if values.ndim == 2 else 0
    if encoding is not None and n == wide != len(encoding.table_names):
        return (table or tables.array_table(values))._replace(features=encoding.names, encoding=encoding)
    if encoding is None or n != len(encoding.table_names):
        expected = wide if encoding is None else len(encoding.table_names)
        raise InputError(f"The items have {n} features; the model was learned from {expected}.")
    columns = {name: values[:, j] for j, name in enumerate(encoding.table_names)}
    return _encoded(None if table is None else table.names, columns, tables.row, encoding)


def _encoded(names: NDArray[Any] | None, columns: Columns, where: Where, encoding: Encoding) -> ItemTable:
    """New items by an encoding that was learned; what it does not know is said."""
    checked = tables.assemble(names, columns, where, lambda *_: encoding)
    if names is None and encoding.marked:
        # Rows of another table are other items.
        matrix = checked.matrix.copy()
        matrix[:, -len(encoding.marked) :] = 0.0
        checked = checked._replace(matrix=matrix)
    for sentence in encoding.unseen(columns):
        warnings.warn(sentence, UserWarning, stacklevel=4)
    return checked
