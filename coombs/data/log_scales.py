"""Numbers of which answers may tell whether they belong on a log scale, and their tables on either scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coombs.data.column_roles import has_two_scales
from coombs.data.encoding import ANSWERS, LOG, NUMBER, Encoding, FeatureColumn
from coombs.data.tables import FloatArray, ItemTable


def undecided(table: ItemTable) -> dict[str, bool]:
    """Columns whose scale nobody said and answers may tell, and whether each is on a log scale.

    Examples
    --------
    >>> prices = ItemTable(np.array([[1.0], [3.0], [9.0], [20.0], [50.0]]), None, np.array(["price"]), False)
    >>> undecided(prices), undecided(prices._replace(features=None))
    ({'price': False}, {})
    """
    if table.features is None:
        return {}
    found = {}
    for column, j in _columns(table):
        if column.role in (NUMBER, LOG) and not column.scale_by:
            values = table.matrix[_known(table, column.name), j]
            if has_two_scales(column.shown(values)):
                found[column.name] = column.role == LOG
    return found


def with_scales(table: ItemTable, on_log: Mapping[str, bool]) -> ItemTable:
    """The same items with these columns on a log scale or not, as answers decided.

    Examples
    --------
    >>> prices = ItemTable(np.array([[1.0], [10.0]]), None, np.array(["price"], dtype=object), False)
    >>> with_scales(prices, {"price": True}).matrix.round(2).tolist()
    [[0.0], [2.3]]
    """
    matrix, columns = table.matrix.copy(), []
    for column, j in _columns(table):
        role = LOG if on_log.get(column.name, column.role == LOG) else NUMBER
        if column.name in on_log and role != column.role:
            known = _known(table, column.name)
            column, matrix[:, j] = _moved(column, role, matrix[:, j], known)
        columns.append(column)
    matrix.flags.writeable = False
    marked = () if table.encoding is None else table.encoding.marked
    return table._replace(matrix=matrix, encoding=Encoding(tuple(columns), marked))


def on_scale_of(table: ItemTable, encoding: Encoding | None) -> ItemTable:
    """The same items with their numbers on the scales of an encoding, where it differs in nothing else."""
    if encoding is None or table.features is None or table.encoding == encoding:
        return table
    wanted = {one.name: one.role == LOG for one in encoding.columns if one.scale_by == ANSWERS}
    moved = with_scales(table, {name: wanted[name] for name in wanted.keys() & undecided(table).keys()})
    return moved if moved.encoding == encoding else table


def _columns(table: ItemTable) -> list[tuple[FeatureColumn, int]]:
    """Each column of the table, and where it begins in the matrix."""
    if table.encoding is not None:
        blocks = [block[0] for block in table.encoding.blocks]
        return list(zip(table.encoding.columns, blocks, strict=False))
    return [(FeatureColumn(str(name)), j) for j, name in enumerate(table.features)]  # type: ignore[arg-type]


def _known(table: ItemTable, name: str) -> NDArray[np.bool_]:
    """(n,) whether the cells of a column are known."""
    if table.encoding is None:
        return np.ones(len(table.matrix), dtype=bool)
    return table.encoding.is_known(table.matrix, [name])


def _moved(
    column: FeatureColumn, role: str, values: FloatArray, known: NDArray[np.bool_]
) -> tuple[FeatureColumn, FloatArray]:
    """A column on the other scale, and its numbers; those that are not known are the mean of the others."""
    moved = replace(column, role=role, scale_by=ANSWERS)
    numbers = np.empty_like(values)
    numbers[known] = np.log(values[known]) if role == LOG else column.shown(values[known])
    if column.fill is not None:
        moved = replace(moved, fill=float(numbers[known].mean()))
        numbers[~known] = moved.fill
    return moved, numbers
