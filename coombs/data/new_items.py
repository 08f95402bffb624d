"""New items: as a fitted model takes them, and added to a table whose features may gain levels and gaps."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data import tables
from coombs.data.catalogue import item_table, named_columns
from coombs.data.cell_errors import MUST, feature_called, item_called, wrong_cell
from coombs.data.column_roles import item_columns
from coombs.data.encoding import (
    CATEGORY,
    LOG,
    NOT_KNOWN,
    NUMBER,
    YES_NO,
    Encoding,
    FeatureColumn,
    Mark,
    is_gap,
)
from coombs.data.files import NamedColumns
from coombs.data.tables import Columns, FloatArray, InputError, ItemTable, TableLike, Where
from coombs.language import Translatable

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


NO_UNIT = Translatable("no unit")
"""What a column of bare numbers is in."""
MOST_LEVELS = 100
"""Levels that a category may have once items were added."""


class NewRows(NamedTuple):
    """Rows for a table: what each is called, the item of the table that it is made from (or None), its cells.

    Cells of columns that are not among these stay as they are in that item.
    """

    labels: Sequence[str]
    bases: Sequence[int | None]
    columns: Columns

    def only(self, which: Sequence[bool]) -> NewRows:
        """Some of them."""
        kept: list[int] = np.flatnonzero(np.array(which, dtype=bool)).tolist()
        columns = {name: cells[kept] for name, cells in self.columns.items()}
        return NewRows([self.labels[i] for i in kept], [self.bases[i] for i in kept], columns)


class GrownTable(NamedTuple):
    """How columns become numbers now, the items that there were, and the new ones."""

    encoding: Encoding
    old: FloatArray
    new: FloatArray


def encoding_of(table: ItemTable) -> Encoding:
    """How a table's columns became numbers; those of plain numbers are the numbers."""
    if table.encoding is not None:
        return table.encoding
    names = range(table.matrix.shape[1]) if table.features is None else table.features
    called = [str(name) if table.features is not None else f"feature {name}" for name in names]
    return Encoding(tuple(map(FeatureColumn, called)))


def learned_cells(table: NamedColumns, encoding: Encoding) -> Columns:
    """The columns of a table that are learned from by an encoding, as far as they are there."""
    found = {}
    # Of a column with gaps, what is no number is one, as it was where the study was made of such a table.
    table = table.with_numbers(one.name for one in encoding.columns if one.gaps and one.role in (NUMBER, LOG))
    for one in encoding.columns:
        if one.gaps_of or one.name not in table.columns:
            continue
        found[one.name] = (table.columns if one.role == YES_NO else table.typed)[one.name]
        reading = table.readings.get(one.name)
        if reading is not None and reading.unit and reading.unit != one.unit:
            raise InputError(
                "The column {name} is in {unit} here and in {known} in the study; write it so.",
                name=repr(one.name),
                unit=reading.unit,
                known=one.unit or NO_UNIT,
            )
    return found


def grown(table: ItemTable, rows: NewRows) -> GrownTable:
    """The table's items and new ones, by features of which there may be more than before.

    Examples
    --------
    >>> towns = Encoding((FeatureColumn("town", CATEGORY, ("rural", "urban")),))
    >>> known = ItemTable(np.eye(2), None, towns.names, False, towns)
    >>> more = grown(known, NewRows(["3"], [None], {"town": np.array(["harbour"], dtype=object)}))
    >>> more.encoding.names.tolist(), more.new.tolist()
    (['town=harbour', 'town=rural', 'town=urban'], [[1.0, 0.0, 0.0]])
    """
    before = encoding_of(table)
    gaps = _gaps(table, before, rows)
    columns = tuple(
        _widened(one, table.matrix[:, list(block)], rows, gaps.get(one.name))
        for one, block in zip(before.columns, before.blocks, strict=False)
    )
    flagged = {one.gaps_of for one in columns}
    marks = []
    for i, label in enumerate(rows.labels):
        missing = tuple(name for name, of in gaps.items() if of[i] and name not in flagged)
        marks += [Mark(label, missing)] if missing else []
    after = Encoding(columns, (*before.marked, *marks))
    if len(set(after.names)) < len(after.names):
        raise InputError("Two features would have the same name; call the new items otherwise.")
    old = _by_names(table.matrix, before, after)
    return GrownTable(after, old, _new_rows(old, after, rows, [mark.item for mark in marks]))


def differing(table: ItemTable, rows: NewRows) -> list[bool]:
    """Of each new row, whether its cells are others than those of the item that it is made from."""
    made, before = grown(table, rows), encoding_of(table)
    gaps, n_marks = _gaps(table, before, rows), len(made.encoding.marked)
    there = _known_gaps(table, before)
    found = []
    for i, base in enumerate(rows.bases):
        if base is None:
            found.append(True)
            continue
        end = made.old.shape[1] - n_marks
        is_other = not np.array_equal(made.new[i, :end], made.old[base, :end])
        found.append(is_other or any(of[i] != there[name][base] for name, of in gaps.items()))
    return found


def _known_gaps(table: ItemTable, encoding: Encoding) -> dict[str, NDArray[np.bool_]]:
    """Of each column, (n,) whether the cell of each item is not known."""
    there = dict.fromkeys(encoding.table_names, np.zeros(len(table.matrix), dtype=bool))
    for name, of in encoding._gaps(table.matrix):
        there[name] = there[name] | of
    return there


def _gaps(table: ItemTable, encoding: Encoding, rows: NewRows) -> dict[str, NDArray[np.bool_]]:
    """Of columns that are no categories, (m,) whether the cell of each new row is not known."""
    there, found = _known_gaps(table, encoding), {}
    for one in encoding.columns:
        if one.role == CATEGORY or one.gaps_of:
            continue
        if one.name in rows.columns:
            found[one.name] = is_gap(rows.columns[one.name])
        else:
            found[one.name] = np.array([base is not None and there[one.name][base] for base in rows.bases])
    return found


def _widened(
    column: FeatureColumn, values: FloatArray, rows: NewRows, gaps: NDArray[np.bool_] | None
) -> FeatureColumn:
    """The column with the levels of the new cells, and with what stands for a cell that is not known."""
    cells = rows.columns.get(column.source)
    if cells is None and not column.gaps_of:
        for label, base in zip(rows.labels, rows.bases, strict=True):
            if base is None:
                raise InputError(
                    "There is no column {name}, which the new item {item} needs; leave its cell blank where "
                    "it is not known.",
                    name=repr(column.name),
                    item=repr(label),
                )
        return column
    if column.role == CATEGORY and cells is not None:
        levels = {*column.levels, *column.unseen(cells)}
        if len(levels) > max(MOST_LEVELS, len(column.levels)):
            raise InputError(
                "{name} would have {total} categories; {most} are the most.",
                name=repr(column.name),
                total=len(levels),
                most=MOST_LEVELS,
            )
        known = tuple(sorted(levels - {NOT_KNOWN})) + (NOT_KNOWN,) * (NOT_KNOWN in levels)
        return replace(column, levels=known)
    if gaps is None or not gaps.any():
        return column
    fill = float(values.mean()) if column.fill is None else column.fill
    return replace(column, gaps=column.gaps + int(gaps.sum()), fill=fill)


def _by_names(matrix: FloatArray, before: Encoding, after: Encoding) -> FloatArray:
    """The same items where there are more features, of which they have none."""
    place = {name: j for j, name in enumerate(after.names.tolist())}
    result = np.zeros((len(matrix), len(place)))
    result[:, [place[name] for name in before.names.tolist()]] = matrix
    return result


def _new_rows(old: FloatArray, encoding: Encoding, rows: NewRows, marked: Sequence[str]) -> FloatArray:
    """(m, D) numbers of the new rows, of which some are marked, in this order."""

    def where(i: int) -> str:
        return item_called(rows.labels[i])

    result = np.array([np.zeros(old.shape[1]) if base is None else old[base] for base in rows.bases])
    result = result.reshape(len(rows.labels), old.shape[1])
    for one, block in zip(encoding.columns, encoding.blocks, strict=False):
        if one.source in rows.columns:
            result[:, list(block)] = one.encode(rows.columns[one.source], where)
    # A mark is of one item: what is not known of a new version is its own.
    first = old.shape[1] - len(encoding.marked)
    result[:, first:] = 0.0
    for k, label in enumerate(marked):
        result[rows.labels.index(label), old.shape[1] - len(marked) + k] = 1.0
    if not np.isfinite(result).all():
        i, j = np.argwhere(~np.isfinite(result))[0]
        raise wrong_cell(feature_called(encoding.names[j]), where(int(i)), result[i, j], MUST["finite"])
    return result
