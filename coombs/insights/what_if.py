"""Where an item would rank if some of its features were others; nothing is fitted again.

The item keeps what it is worth beyond its features, and all other items stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.data.encoding import CATEGORY, DATE, LOG, NUMBER
from coombs.data.tables import InputError, row
from coombs.insights.columns import TableColumn, cells_of, range_of, table_columns
from coombs.insights.curves import thinned
from coombs.insights.selection import thin
from coombs.insights.what_matters import rank_interval
from coombs.words import plain, with_unit

if TYPE_CHECKING:
    from coombs.data.tables import FloatArray, ItemTable
    from coombs.estimators.taste import TasteEstimator
    from coombs.model import Model

MOST_DRAWS = 400
"""Draws that it is computed from."""
SLACK = 1e-3
"""Share of a feature's range by which a number may lie outside of it, as rounded ends do."""


@dataclass(frozen=True)
class ChangedCell:
    """A feature of the item, and its cell before and after, as text."""

    feature: str
    before: str
    after: str


@dataclass(frozen=True)
class WhatIf:
    """Where an item would rank with other features.

    Parameters
    ----------
    position : of the item
    changes : the cells that are others than the item's
    rank, low, high : the rank it would have, and the ranks it may have, 9 times in 10
    before : the rank that it has now
    n_items : number of items
    better_now : probability that the changed item is better than it is now
    best : probability that it would be better than all others
    is_outside : whether it would break a declared limit
    """

    position: int
    changes: tuple[ChangedCell, ...]
    rank: int
    low: int
    high: int
    before: int
    n_items: int
    better_now: float
    best: float
    is_outside: bool


def what_if(
    est: TasteEstimator, position: int, cells: Mapping[str, Any], among: Sequence[int] | None = None
) -> WhatIf:
    """Where a fitted item would rank with these cells, in the table's units, among the items `among`."""
    table = est._table(None)
    others = [i for i in (range(len(table.matrix)) if among is None else among) if i != position]
    changed = with_cells(est.model_, table, position, cells)
    effects = est._effects_of(table, draws=True)
    posterior, some = est._draws(), thin(len(est._draws()), MOST_DRAWS)
    draws, own = thinned(posterior, MOST_DRAWS), None if effects is None else effects[some]
    moved = table._replace(matrix=changed[None], names=None)
    outside = float(est._outside(moved)[0])
    here = draws.scores(table.matrix, own)
    # Inside the limits, as all fitted items are, an effect is the item's own.
    there = draws.scores(changed[None])[:, 0] + (0.0 if own is None else own[:, position]) + outside
    ranks = 1.0 + (here[:, others] < there[:, None]).sum(axis=1)
    low, high = rank_interval(ranks[:, None])[0].tolist()
    now = est.distances_
    effect = 0.0 if est.item_effects_ is None or not est.n_features_in_ else est.item_effects_[position]
    distance = float(est.model_.distance(moved)[0]) + effect + outside
    is_same = np.array_equal(changed, table.matrix[position])
    before = _rank(now, others, now[position], position)
    # Rounding apart, what does not change is as good as before.
    better = 0.0 * there if is_same else here[:, position] - there
    return WhatIf(
        position,
        _changes(est.model_, table, position, changed),
        before if is_same else _rank(now, others, distance, position),
        low,
        high,
        before,
        len(others) + 1,
        float(((better > 0) + 0.5 * (better == 0)).mean()),
        float((ranks == 1).mean()),
        bool(outside),
    )


def _rank(distances: FloatArray, others: list[int], own: float, position: int) -> int:
    """The place among others; of two at the same distance, the one that comes first in the table."""
    before = (distances[i] < own or (distances[i] == own and i < position) for i in others)
    return 1 + sum(map(bool, before))


def with_cells(model: Model, table: ItemTable, position: int, cells: Mapping[str, Any]) -> FloatArray:
    """(d,) features of an item some of whose cells are others; InputError where a cell cannot be."""
    result: FloatArray = table.matrix[position].copy()
    columns = {one.name: one for one in table_columns(model)}
    for name, cell in cells.items():
        if name not in columns:
            raise InputError(f"There is no feature {name!r}; the features are {', '.join(columns)}.")
        one = columns[name]
        result[list(one.block)] = _encoded(one, table.matrix, cell)
        for gap in (gap for gap in columns.values() if gap.column.gaps_of == name):
            result[list(gap.block)] = 0.0
    if model.encoding is not None and model.encoding.marked:
        first = len(result) - len(model.encoding.marked)
        for k, mark in enumerate(model.encoding.marked):
            # What was not known of it is known now.
            result[first + k] *= float(not {*mark.columns} <= {*cells})
    return result


def _encoded(one: TableColumn, items: FloatArray, cell: Any) -> FloatArray:
    """(k,) numbers of a cell; a number must lie where those of the items do, as beyond nothing is known."""
    column = one.column
    if column.role == CATEGORY and cell not in column.levels:
        raise InputError(
            "{name} is {cell}; it must be one of {levels}.",
            name=one.name,
            cell=repr(cell),
            levels=", ".join(column.levels),
        )
    value: FloatArray = column.encode(np.array([cell], dtype=object), row)[0]
    if column.role in (NUMBER, LOG, DATE):
        low, high = items[:, one.block[0]].min(), items[:, one.block[0]].max()
        if not low - SLACK * (high - low) <= value[0] <= high + SLACK * (high - low):
            about = range_of(one, items, is_varied=True)
            ends = [with_unit(about.text(end), about.unit) for end in (about.lowest, about.highest)]
            said = plain(cell) if isinstance(cell, float) else cell
            raise InputError(
                "{name} is {said}; it must be from {low} to {high}, as the items have it: beyond, the "
                "answers tell nothing.",
                name=one.name,
                said=said,
                low=ends[0],
                high=ends[1],
            )
        return np.clip(value, low, high)
    return value


def _changes(model: Model, table: ItemTable, position: int, changed: FloatArray) -> tuple[ChangedCell, ...]:
    """The cells that differ, as text."""
    before, after = cells_of(model, table.matrix[position]), cells_of(model, changed)
    found = []
    for one, was, will in zip(table_columns(model), before, after, strict=True):
        if was != will and not one.column.gaps_of:
            about = range_of(one, table.matrix, is_varied=True)
            was_text, will_text = map(about.item_quantity, (was, will))
            found.append(ChangedCell(one.name, was_text, will_text))
    return tuple(found)
