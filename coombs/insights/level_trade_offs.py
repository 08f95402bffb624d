"""What levels of a category are worth of a number, at one item, where the answers support it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.encoding import NOT_KNOWN
from coombs.insights.columns import TableColumn
from coombs.insights.statements import FeatureRange, TradeOff
from coombs.insights.trade_offs import BENT, LEAST_CHANGE, VAGUE_RATIO, VERY_SURE, Slopes

if TYPE_CHECKING:
    from coombs.data.tables import FloatArray
    from coombs.inference.posterior import Posterior

MOST_TOLD = 3
"""Levels of one category that are told of, at most."""


@dataclass(frozen=True, eq=False)
class LevelCosts:
    """What an item would cost more with each other level of a category: of the estimate, (L,), and of draws.

    `own` is the place of the level that the item has.
    """

    column: TableColumn
    own: int
    rows: FloatArray
    estimate: FloatArray
    draws: FloatArray

    @classmethod
    def at(cls, slopes: Slopes, posterior: Posterior | None, column: TableColumn) -> LevelCosts | None:
        """At the item of these slopes; None where its level is not known."""
        block = list(column.block)
        here = slopes.x[block]
        if not here.any() or column.column.levels[int(here.argmax())] == NOT_KNOWN:
            return None
        rows = np.tile(slopes.x, (len(block), 1))
        rows[:, block] = np.eye(len(block))
        own = int(here.argmax())
        scores = slopes.model.scores_of(rows)
        drawn = scores[None] if posterior is None else posterior.scores(rows)
        return cls(column, own, rows, scores - scores[own], drawn - drawn[:, [own]])

    @property
    def known(self) -> list[int]:
        """Levels that are known to be better or worse than the item's own, the most different first."""
        agree = (np.sign(self.draws) == np.sign(self.estimate)).mean(axis=0)
        names = self.column.column.levels
        order = np.argsort(-np.abs(self.estimate), kind="stable")
        return [
            int(k)
            for k in order
            if k != self.own and agree[k] >= VERY_SURE and names[k] != NOT_KNOWN and self.estimate[k]
        ]


def level_trade_offs(
    slopes: Slopes,
    posterior: Posterior | None,
    categories: Sequence[TableColumn],
    numbers: Sequence[tuple[int, FeatureRange]],
    level: float,
) -> Iterator[TradeOff]:
    """What levels of categories that matter are worth of the first of the numbers in which it can be told.

    `numbers` are features, by place, whose slope at the item is known, the one that pulls most first.
    """
    for column in categories:
        costs = LevelCosts.at(slopes, posterior, column)
        told = 0
        for k in [] if costs is None else costs.known:
            found = (_trade_off(slopes, costs, k, j, one, level) for j, one in numbers)  # type: ignore[arg-type]
            first = next((one for one in found if one is not None), None)
            if first is not None and told < MOST_TOLD:
                told += 1
                yield first


def _trade_off(
    slopes: Slopes, costs: LevelCosts, k: int, j: int, other: FeatureRange, level: float
) -> TradeOff | None:
    """What the better of the item's level and level k is worth of a number; None if too vague or too bent."""
    change, slope = float(costs.estimate[k]), float(slopes.estimate[j])
    # What of the number makes up for the other level: s(x) = s(x with the level and the change).
    offset = -change / slope
    if not LEAST_CHANGE <= abs(offset) / other.range <= 1:
        return None
    moved = costs.rows[k].copy()
    moved[j] += offset
    before, after = slopes.model.scores_of(np.stack([slopes.x, moved]))
    if abs(after - before) > BENT * abs(change):
        return None
    names, is_better = costs.column.column.levels, change < 0
    # Of the better level, the number may be worse by so much.
    better, worse = (names[k], names[costs.own]) if is_better else (names[costs.own], names[k])
    # More of a number with a rising score is worse.
    size, sign = abs(offset), float(np.sign(slope))
    told = TradeOff(costs.column.name, 0.0, other.name, sign * size, level=better, from_level=worse)
    if not slopes.has_draws:
        return told
    drawn, along = costs.draws[:, k], slopes.draws[:, j]
    alike = (np.sign(drawn) == np.sign(change)) & (np.sign(along) == np.sign(slope))
    # Nearly all draws agree, or else nothing is told: of simulated people, 79 of 83 intervals of 90 % held.
    low, high = np.quantile(np.abs(drawn[alike] / along[alike]), [(1 - level) / 2, (1 + level) / 2])
    if not size / VAGUE_RATIO < low <= high < size * VAGUE_RATIO:
        return None
    return replace(told, low=sign * float(low), high=sign * float(high))
