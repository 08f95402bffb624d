"""How much each feature decides, and which items come first, as numbers that any front end can draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coombs.data.tables import FloatArray, InputError, TableLike
from coombs.data.wishes import wishes_of
from coombs.inference.posterior import LEVEL, quantiles
from coombs.insights.columns import table_columns
from coombs.insights.curves import importance
from coombs.insights.selection import item_names, items_of, names_of, need_features
from coombs.insights.surface import Surface
from coombs.insights.verdicts import fitted_features, judged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coombs.data.tables import FloatArray
    from coombs.estimators.base import PairEstimator
    from coombs.estimators.taste import TasteEstimator
    from coombs.insights.statements import FeatureVerdict


@dataclass(frozen=True, eq=False)
class Ranking:
    """Items from best to worst.

    Parameters
    ----------
    positions : (n,) rows of the items in their table
    names : of the items
    distances : (n,) of the items, less being better
    interval : (n, 2) the best and the worst rank that each may have, or None without a posterior
    n_items : in the table, of which these are the best
    level : of the intervals

    Examples
    --------
    >>> from coombs import SingleStep
    >>> from coombs.plots import ranking_data
    >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[1, 0], [1, 2]])
    >>> best = ranking_data(est, top=1)
    >>> best.names, best.n_items
    (('item 1',), 3)
    """

    positions: NDArray[np.intp]
    names: tuple[str, ...]
    distances: FloatArray
    interval: NDArray[np.int_] | None
    n_items: int
    level: float

    @property
    def ranks(self) -> NDArray[np.int_]:
        """1, 2, 3, ..."""
        return np.arange(1, len(self.names) + 1)


@dataclass(frozen=True, eq=False)
class WhatMatters:
    """How much each feature decides, and the metric's directions, the most important first.

    Parameters
    ----------
    features : names
    positions : (d,) their columns
    importance : (d,) shares, adding up to 1 unless nothing matters
    interval : (d, 2) ends of the shares, or None
    wishes : d short texts: what is wanted of each
    shares, directions : (k,) of the eigenvalues, (k, d) in units of the features' spreads, columns in order
    names : of the features in the order of the directions' columns; a category has one for each level
    level : of the intervals

    Examples
    --------
    >>> from coombs import SingleStep
    >>> from coombs.plots import what_matters_data
    >>> est = SingleStep([[0.0, 3.0], [1.0, 3.0], [2.0, 3.0]]).fit([[1, 0], [1, 2]])
    >>> what_matters_data(est).features
    ('feature 0', 'feature 1')
    """

    features: tuple[str, ...]
    positions: NDArray[np.intp]
    importance: FloatArray
    interval: FloatArray | None
    wishes: tuple[str, ...]
    shares: FloatArray
    directions: FloatArray
    names: tuple[str, ...]
    level: float


def ranking_data(
    est: PairEstimator, *, items: TableLike = None, top: int | None = None, level: float = LEVEL
) -> Ranking:
    """Return the best items in order, with the ranks that each may have where there is a posterior.

    Parameters
    ----------
    est : a fitted estimator
    items : to rank; by default the fitted ones
    top : how many of the best; None for all
    level : of the ranks' intervals

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from coombs import SingleStep
    >>> from coombs.plots import ranking_data
    >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[1, 0], [1, 2]])
    >>> ranking_data(est, items=[[5.0], [0.9], [3.0]]).positions.tolist()
    [1, 2, 0]
    """
    if top is not None and (not isinstance(top, Integral) or isinstance(top, bool) or top < 1):
        raise InputError(f"top is {top!r}; it must be a positive whole number.")
    table = items_of(est, items)
    distances = est.distance(table)
    order = np.argsort(distances, kind="stable")
    if est.wishes:
        # What is out of the question has no place.
        order = order[wishes_of(est.wishes, table).inside[order]]
    order = order[:top]
    names, interval = item_names(table), None
    if Surface.of(est).posterior is not None:
        interval = est.rank_interval(table, level)[order]
    return Ranking(
        order, tuple(names[i] for i in order), distances[order], interval, len(table.matrix), level
    )


def what_matters_data(
    est: PairEstimator,
    *,
    items: TableLike = None,
    level: float = LEVEL,
    verdicts: Sequence[FeatureVerdict] | None = None,
) -> WhatMatters:
    """Return how much each feature decides among the items, and what is wanted of it.

    A feature's importance is how much the score changes, by the root of its mean square, when an item
    gets the feature of another item and keeps the rest; as a share of the sum over features.

    Parameters
    ----------
    est : a fitted estimator
    items : among which features decide; by default the fitted ones
    level : of the intervals
    verdicts : what is wanted of each feature, `Explanation.ideal`; computed if not given

    Returns
    -------
    WhatMatters

    Examples
    --------
    >>> from coombs import SingleStep
    >>> from coombs.plots import what_matters_data
    >>> est = SingleStep([[0.0, 3.0], [1.0, 3.0], [2.0, 3.0]]).fit([[1, 0], [1, 2]])
    >>> what_matters_data(est).importance.tolist()
    [1.0, 0.0]
    """
    need_features(est)
    table, names = items_of(est, items), tuple(one.name for one in table_columns(est.model_))
    shares, interval = importance(est, table.matrix, level)
    order = np.argsort(-shares, kind="stable")
    if verdicts is None:
        verdicts = judged(est, level, table).verdicts
    wishes = [
        one.in_few_words(feature) for feature, one in zip(fitted_features(est, table), verdicts, strict=True)
    ]
    eigenvalues, directions = _directions(Surface.of(est), table.matrix.mean(axis=0))
    return WhatMatters(
        tuple(names[j] for j in order),
        order,
        shares[order],
        None if interval is None else interval[order],
        tuple(wishes[j] for j in order),
        eigenvalues,
        directions,
        names_of(est),
        level,
    )


def _directions(surface: Surface, middle: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares and rows: eigenvectors of the scaled metric, or the slope of linear preferences."""
    if surface.scaled_metric.any():
        shares, vectors = surface.model.interactions()
        return shares, vectors.T
    slope = surface.gradient(middle) * surface.scales
    size = np.linalg.norm(slope)
    return (np.ones(1), slope[None] / size) if size > 0 else (np.empty(0), np.empty((0, len(slope))))


class RankDraws(NamedTuple):
    """(S, n) ranks of n items, 1 being the best, in each of S draws."""

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
