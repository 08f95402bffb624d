"""The ranks that items may have among some of the fitted ones, from the draws of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.inference.posterior import LEVEL, quantiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coombs.data.tables import FloatArray
    from coombs.estimators.taste import TasteEstimator


class RankDraws(NamedTuple):
    """Of n items, (S, n) ranks among them, 1 being the best, in each of S draws."""

    ranks: FloatArray

    @classmethod
    def among(cls, est: TasteEstimator, positions: Sequence[int]) -> RankDraws:
        """Of these fitted items, as if there were no others."""
        table, some = est._table(None), list(positions)
        effects = est._effects_of(table, draws=True)
        own = None if effects is None else effects[:, some]
        return cls(est._draws().ranks(table.matrix[some], own))

    def intervals(self, level: float = LEVEL) -> NDArray[np.int_]:
        """(n, 2) the best and the worst rank that each item may have."""
        return rank_interval(self.ranks, level)

    def top(self, k: int) -> FloatArray:
        """(n,) how likely each item is among the best k."""
        result: FloatArray = (self.ranks <= k).mean(axis=0)
        return result


def rank_interval(ranks: FloatArray, level: float = LEVEL) -> NDArray[np.int_]:
    """(n, 2) ends of (S, n) ranks, rounded outwards."""
    ends = quantiles(ranks, level)
    return np.column_stack([np.floor(ends[:, 0]), np.ceil(ends[:, 1])]).astype(int)
