"""How much the average of the kinds likes each value of a feature, as numbers: a curve and its draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.encoding import FeatureColumn
from coombs.data.tables import FloatArray, InputError, TableLike
from coombs.estimators.taste import TasteEstimator
from coombs.inference.posterior import LEVEL, Posterior, quantiles
from coombs.insights.columns import TableColumn, level_liking, table_columns
from coombs.insights.selection import FeatureKey, feature_positions, items_of, need_features, thin
from coombs.insights.surface import Surface

if TYPE_CHECKING:
    from coombs.estimators.base import PairEstimator

COUNTS = 0.1
"""The weight of the smooth taste in the average from which on curves and maps show the average."""
MOST_FEATURES = 6
"""Features that have a curve, or a row of a matrix, if nobody says which."""
GRID = 41
"""Values of a feature along a curve."""
MOST_ITEMS = 60
"""Items whose other features a curve is averaged over."""
MOST_DRAWS = 200
"""Draws of a curve."""
MOST_NUMBERS = 10_000_000
"""Draws times items times features that are held at once, for each value of the grid."""
MOST_CELLS = 8_000
"""Features times items with other values, whose scores are computed at once."""
SWAPS = 4
"""Other items whose value an item gets, to see how much a feature decides."""
PLAIN = FeatureColumn("")
"""A column of numbers."""
SAME = 0.25
"""Log odds up to which two curves are drawn as one: an even chance, or 56 %."""


@dataclass(frozen=True, eq=False)
class TasteCurve:
    """How much items are liked as one feature changes and their others stay: the average over the items.

    Parameters
    ----------
    feature : name
    xs : (g,) its values, from the lowest to the highest that items have
    draws : (S, g) log odds by which it is liked more, of each draw of the average; their mean over xs is 0
    described : (g,) the same of the ideal-point description, or None where there is no other than the average
    points : (n,) values of the items
    level : of the interval
    column : how the column of the table became numbers, in which xs and points are; of a category they are
        the places of its levels

    Examples
    --------
    >>> from coombs import IdealPoint
    >>> from coombs.plots import taste_curves_data
    >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[1, 0], [1, 2]])
    >>> (curve,) = taste_curves_data(est)
    >>> curve.liking.shape, curve.interval.shape
    ((41,), (41, 2))
    """

    feature: str
    xs: FloatArray
    draws: FloatArray
    described: FloatArray | None
    points: FloatArray
    level: float
    column: FeatureColumn = PLAIN

    @property
    def liking(self) -> FloatArray:
        """(g,) the mean of the draws."""
        result: FloatArray = self.draws.mean(axis=0)
        return result

    @property
    def interval(self) -> FloatArray:
        """(g, 2) lower and upper ends of the band."""
        return quantiles(self.draws, self.level)

    @property
    def differs(self) -> bool:
        """Whether the ideal-point description has another curve."""
        return self.described is not None and bool(np.abs(self.described - self.liking).max() > SAME)


def smooth_weight(est: PairEstimator) -> float:
    """The weight of a smooth taste in the average, from 0 to 1."""
    weights = est.kind_weights_ if isinstance(est, TasteEstimator) else {}
    return float(sum(weight for name, weight in weights.items() if name.startswith("smooth")))


def is_averaged(est: PairEstimator) -> bool:
    """Whether the smooth taste counts, so that curves and maps show the average rather than the ideal."""
    return smooth_weight(est) >= COUNTS


def taste_curves_data(
    est: PairEstimator,
    *,
    features: Sequence[FeatureKey] | None = None,
    items: TableLike = None,
    level: float = LEVEL,
) -> tuple[TasteCurve, ...]:
    """Return how much items are liked as each feature changes, as `taste_curves` draws it.

    With s_k the score of draw k, less being better, the curve of feature j is the mean over items i of
    -s_k(x_i with x in place of x_ij), as a function of x and less its own mean.

    Parameters
    ----------
    est : a fitted IdealPoint with a posterior
    features : by name or position; by default the six that decide most
    items : to average over; by default the fitted ones
    level : of the curves' intervals

    Returns
    -------
    tuple of TasteCurve, one for each feature

    Examples
    --------
    >>> from coombs import IdealPoint
    >>> from coombs.plots import taste_curves_data
    >>> items = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]
    >>> est = IdealPoint(items, metric="identity").fit([[1, 0], [1, 2]])
    >>> [curve.feature for curve in taste_curves_data(est, features=[1])]
    ['feature 1']
    """
    if not isinstance(est, TasteEstimator):
        raise InputError(f"Taste curves are for a fitted IdealPoint; this is a {type(est).__name__}.")
    need_features(est)
    table, columns = items_of(est, items), table_columns(est.model_)
    matrix = some_items(table.matrix)
    posterior = thinned(est._draws(), max(1, min(MOST_DRAWS, MOST_NUMBERS // matrix.size)))
    if features is None:
        shares, varies = (
            importance(est, table.matrix, level)[0],
            [not one.is_constant(matrix) for one in columns],
        )
        order = np.argsort(-shares, kind="stable").tolist()
        chosen = [k for k in order if varies[k] or not any(varies)][:MOST_FEATURES]
    else:
        chosen = feature_positions([one.name for one in columns], features, "curves")
    model = est.described()[0]
    is_other = smooth_weight(est) > 0 and model.bumps is None
    curves = []
    for one in (columns[k] for k in chosen):
        values = table.matrix[:, list(one.block)]
        if one.is_category:
            xs, points = np.arange(float(len(one.block))), values.argmax(axis=1).astype(float)
        else:
            points = values[:, 0]
            xs = np.linspace(points.min(), points.max(), GRID)
        draws = _liking(posterior.scores, matrix, one, xs)
        described = _liking(model.scores_of, matrix, one, xs) if is_other else None
        curves.append(TasteCurve(one.name, xs, draws, described, points, level, one.column))
    return tuple(curves)


def importance(est: PairEstimator, items: FloatArray, level: float) -> tuple[FloatArray, FloatArray | None]:
    """How much each column of the table decides among items, as shares, and ends of their intervals, or None.

    That is how much the score changes, by the root of its mean square, when an item gets the feature of
    another item and keeps the rest: of the ideal-point description, or of the average where a smooth taste
    counts.
    """
    is_average = isinstance(est, TasteEstimator) and is_averaged(est)
    columns = [list(one.block) for one in table_columns(est.model_)]
    surface = Surface.of(est)
    if not is_average and len(columns) == len(surface.ideal):
        return surface.importance(items, level)
    model, posterior = (est.model_, est._draws()) if is_average else (surface.model, surface.posterior)
    some = some_items(items)
    shares = _swap_shares(lambda moved: model.scores_of(moved)[None], some, columns)[0]
    if posterior is None:
        return shares, None
    return shares, quantiles(_swap_shares(thinned(posterior, MOST_DRAWS).scores, some, columns), level)


def _swap_shares(
    score: Callable[[FloatArray], FloatArray], items: FloatArray, columns: Sequence[list[int]]
) -> FloatArray:
    """(S, T) shares of the root-mean-square changes of (S, n) scores as items swap each of some columns."""
    before, n = score(items), len(items)
    shifts = {max(1, round(n * k / (SWAPS + 1))) for k in range(1, SWAPS + 1)}
    squares = [
        sum(
            ((score(_moved(items, block, np.roll(items[:, block], k, axis=0))) - before) ** 2).mean(axis=1)
            for k in shifts
        )
        for block in columns
    ]
    change = np.sqrt(np.stack(squares, axis=1))
    result: FloatArray = change / np.maximum(change.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return result


def averaged(
    score: Callable[[FloatArray], FloatArray], items: FloatArray, plane: Sequence[int], points: FloatArray
) -> FloatArray:
    """(..., g) mean over the items of their score when they have these (g, k) values on a plane."""
    n, size = len(items), max(1, MOST_CELLS // items.size)
    parts = []
    for begin in range(0, len(points), size):
        some = points[begin : begin + size]
        found = score(_moved(np.tile(items, (len(some), 1)), plane, np.repeat(some, n, axis=0)))
        parts.append(found.reshape(*found.shape[:-1], len(some), n).mean(axis=-1))
    return np.concatenate(parts, axis=-1)


def some_items(items: FloatArray) -> FloatArray:
    """The items whose other features curves and maps are averaged over."""
    return items[thin(len(items), MOST_ITEMS)]


def _liking(
    score: Callable[[FloatArray], FloatArray], items: FloatArray, one: TableColumn, xs: FloatArray
) -> FloatArray:
    """(..., g) minus the averaged score along a feature, less its mean; of a category, level by level."""
    if one.is_category:
        return level_liking(score, items, one.block)
    liking = -averaged(score, items, list(one.block), xs[:, None])
    result: FloatArray = liking - liking.mean(axis=-1, keepdims=True)
    return result


def _moved(items: FloatArray, plane: Sequence[int], values: FloatArray) -> FloatArray:
    """The items with other values of some features."""
    result = items.copy()
    result[:, plane] = values
    return result


def thinned(posterior: Posterior, most: int) -> Posterior:
    """At most so many draws of a posterior, evenly chosen, without item effects."""
    some = thin(len(posterior), most)
    bumps = None if posterior.coefficients is None else posterior.coefficients[some]
    drawn = {
        name: getattr(posterior, name)[some] for name in ("metrics", "linears", "ideal_points", "lapses")
    }
    return replace(posterior, **drawn, effects=None, coefficients=bumps)
