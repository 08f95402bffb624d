"""What pictures show, as numbers: any front end can draw these records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.posterior import LEVEL, Posterior, quantiles
from coombs.tables import FloatArray, InputError, ItemTable, TableLike, item_table
from coombs.words import number

if TYPE_CHECKING:
    from coombs.estimators.base import PairEstimator

Feature: TypeAlias = str | int
At: TypeAlias = Mapping[Feature, float] | Sequence[float] | FloatArray | None

GRID, SMALL_GRID = 121, 61
MARGIN, REACH = 0.06, 0.5
"""Of the items' range: what a picture shows beyond them, and how far it stretches to reach the ideal."""
AT_IDEAL = "the ideal point"
MOST_FEATURES = 6
MOST_ITEMS, MOST_DRAWS, MOST_NUMBERS = 300, 200, 4_000_000
"""Items and draws that importance is computed from, evenly thinned, and features times both."""
FLAT = 1e-9
"""Eigenvalues within this share of the largest count as zero."""
SURE = 0.9
"""Share of draws that must agree on whether more or less is better."""


@dataclass(frozen=True, eq=False)
class LevelSets:
    """The learned distance over two features, and what lies there.

    Parameters
    ----------
    features : names of the two
    xs, ys, distance : (g,), (g,) and (g, g) squared distance, a row for each y; other features at `base`
    levels : where to draw lines: equal steps of distance, or of score where that may be negative
    points, names, ranks : (n, 2), n and (n,) of the items; rank 1 is the best by all features
    base : (d,) the item that the other features are taken from
    others : where the other features are: "the ideal point", "their average" or "fixed values"
    turning : (2,) where the distance turns on this plane, NaN where it does not
    kind : what is there: "ideal", "worst", "saddle", or "none"
    interval : (2, 2) ends for each coordinate of the turning point, or None
    inside : whether the turning point lies in the picture
    towards : (2,) what is better from the picture's middle on, in parts of its width and height; or None
    axes, shares : (k, 2) directions in which the distance changes most and least, in the user's units,
        one spread long for the first and in proportion for the other, and their shares
    """

    features: tuple[str, str]
    xs: FloatArray
    ys: FloatArray
    distance: FloatArray
    levels: FloatArray
    points: FloatArray
    names: tuple[str, ...]
    ranks: NDArray[np.int_]
    base: FloatArray
    others: str
    turning: FloatArray
    kind: str
    interval: FloatArray | None
    inside: bool
    towards: FloatArray | None
    axes: FloatArray
    shares: FloatArray

    @property
    def at_ideal(self) -> bool:
        """Whether the other features are at the ideal."""
        return self.others == AT_IDEAL

    @property
    def is_conditional(self) -> bool:
        """Whether the turning point is not that of all features, but depends on where the others are."""
        return len(self.base) > 2 and not self.at_ideal


@dataclass(frozen=True, eq=False)
class Ranking:
    """Items from best to worst: positions in their table, names, distances, (n, 2) ranks they may have."""

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
    wishes : d sentences of what is wanted
    shares, directions : (k,) of the eigenvalues, (k, d) in units of the features' spreads
    """

    features: tuple[str, ...]
    positions: NDArray[np.intp]
    importance: FloatArray
    interval: FloatArray | None
    wishes: tuple[str, ...]
    shares: FloatArray
    directions: FloatArray


@dataclass(frozen=True, eq=False)
class Profile:
    """(g,) squared distance along one feature, others at the ideal; (n,) items, ideal and interval there."""

    feature: str
    xs: FloatArray
    distance: FloatArray
    points: FloatArray
    ideal: float
    interval: FloatArray | None


@dataclass(frozen=True, eq=False)
class FeatureMatrix:
    """A profile for each feature, and level sets for every two of them by their places."""

    profiles: tuple[Profile, ...]
    panels: dict[tuple[int, int], LevelSets]


def level_sets_data(
    est: PairEstimator,
    x: Feature,
    y: Feature,
    *,
    items: TableLike = None,
    at: At = None,
    level: float = LEVEL,
    size: int = GRID,
) -> LevelSets:
    """Learned distance on a grid of two features; the other features, and parameters, as for `level_sets`."""
    table, names = _items(est, items), feature_names(est)
    if len(names) < 2:
        raise InputError("Level sets need two features; the items have one.")
    plane = [feature_position(names, x), feature_position(names, y)]
    if plane[0] == plane[1]:
        raise InputError(f"Feature {names[plane[0]]!r} is given twice; level sets need two different ones.")
    base = _base(est, table, names, at)
    at_ideal = at is None and _has_ideal(est)
    kind = _kind(est, plane)
    turning, interval = _turning(est, plane, base, at_ideal, level)
    reach = turning if at_ideal or at is not None else np.full(2, np.nan)
    views = [_view(table.matrix[:, j], p) for j, p in zip(plane, reach, strict=True)]
    xs, ys = (np.linspace(low, high, size) for low, high in views)
    grid = np.tile(base, (size * size, 1))
    grid[:, plane[0]], grid[:, plane[1]] = np.tile(xs, size), np.repeat(ys, size)
    distance = est.distance(grid).reshape(size, size)
    inside = kind != "none" and all(low <= p <= high for (low, high), p in zip(views, turning, strict=True))
    axes, shares = _axes_of(_scaled_metric(est)[np.ix_(plane, plane)], _scales(est)[plane])
    order = np.argsort(est.distance(table), kind="stable")
    return LevelSets(
        (names[plane[0]], names[plane[1]]),
        xs,
        ys,
        distance,
        _levels(distance, kind),
        table.matrix[:, plane],
        item_names(table),
        np.argsort(order) + 1,
        base,
        AT_IDEAL if at_ideal else "their average" if at is None else "fixed values",
        turning,
        kind,
        interval,
        inside,
        None if inside else _towards(est, plane, base, np.array(views), turning, kind),
        axes,
        shares,
    )


def ranking_data(
    est: PairEstimator, *, items: TableLike = None, top: int | None = None, level: float = LEVEL
) -> Ranking:
    """The best `top` items, or all, with the ranks that each may have where there is a posterior."""
    if top is not None and (not isinstance(top, Integral) or isinstance(top, bool) or top < 1):
        raise InputError(f"top is {top!r}; it must be a positive whole number.")
    table = _items(est, items)
    distances = est.distance(table)
    order = np.argsort(distances, kind="stable")[:top]
    names, interval = item_names(table), None
    if _posterior(est) is not None:
        interval = est.rank_interval(table, level)[order]
    return Ranking(
        order, tuple(names[i] for i in order), distances[order], interval, len(table.matrix), level
    )


def what_matters_data(
    est: PairEstimator, *, items: TableLike = None, level: float = LEVEL, wishes: bool = True
) -> WhatMatters:
    """How much each feature decides among the items, and what is wanted of it unless `wishes` is False.

    A feature's importance is how much the score changes, by the root of its mean square, when an item
    gets the feature of another item and keeps the rest; as a share of the sum over features.
    """
    table, names, posterior = _items(est, items), feature_names(est), _posterior(est)
    middle = table.matrix.mean(axis=0)
    matrix = (table.matrix - middle)[_thin(len(table.matrix), MOST_ITEMS)]
    gradient = _gradient(est, middle)
    importance = _importance(est.model_.metric[None], gradient[None], matrix)[0]
    order, interval = np.argsort(-importance, kind="stable"), None
    if posterior is not None:
        some = _thin(len(posterior), min(MOST_DRAWS, 1 + MOST_NUMBERS // matrix.size))
        metrics, slopes = posterior.metrics[some], _gradients(posterior, middle)[some]
        interval = quantiles(_importance(metrics, slopes, matrix), level)[order]
    wanted = _wishes(est, table, level) if wishes else [""] * len(names)
    wished = tuple(wanted[j] for j in order)
    shares, directions = _directions(est, gradient)
    return WhatMatters(
        tuple(names[j] for j in order), order, importance[order], interval, wished, shares, directions
    )


def profile_data(
    est: PairEstimator, feature: Feature, *, items: TableLike = None, level: float = LEVEL
) -> Profile:
    """Squared distance as one feature changes and the others stay at the ideal (at their means without)."""
    table, names = _items(est, items), feature_names(est)
    j = feature_position(names, feature)
    base = _base(est, table, names, None)
    turning, interval = _turning(est, [j], base, _has_ideal(est), level)
    xs = np.linspace(*_view(table.matrix[:, j], turning[0] if _has_ideal(est) else np.nan), GRID)
    grid = np.tile(base, (GRID, 1))
    grid[:, j] = xs
    curve = est.distance(grid)
    ideal = turning[0] if _kind(est, [j]) == "ideal" else np.nan
    interval = None if interval is None or np.isnan(ideal) else interval[0]
    return Profile(names[j], xs, curve, table.matrix[:, j], float(ideal), interval)


def feature_matrix_data(
    est: PairEstimator,
    *,
    features: Sequence[Feature] | None = None,
    items: TableLike = None,
    level: float = LEVEL,
) -> FeatureMatrix:
    """Profiles and level sets of the features asked for, by default of the six most important."""
    names = feature_names(est)
    if features is None:
        features = what_matters_data(est, items=items).features[:MOST_FEATURES]
    chosen = [feature_position(names, feature) for feature in features]
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError("The features of the matrix must be different ones, and at least one.")
    profiles = [profile_data(est, j, items=items, level=level) for j in chosen]
    panels = {
        (a, b): level_sets_data(est, chosen[b], chosen[a], items=items, level=level, size=SMALL_GRID)
        for a in range(len(chosen))
        for b in range(a)
    }
    return FeatureMatrix(tuple(profiles), panels)


def feature_names(est: PairEstimator) -> tuple[str, ...]:
    """Names of the features, "feature 0", ... where they have none."""
    names = est._fitted_model().feature_names
    return tuple(f"feature {j}" for j in range(est.n_features_in_)) if names is None else names


def feature_position(names: Sequence[str], feature: Feature) -> int:
    """The column of a feature that is given by name or position."""
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < len(names):
        return int(feature)
    raise InputError(f"There is no feature {feature!r}; the features are {', '.join(map(repr, names))}.")


def item_names(table: ItemTable) -> tuple[str, ...]:
    """Names of the items, "item 0", ... where they have none."""
    names = (f"item {i}" for i in range(len(table.matrix))) if table.names is None else map(str, table.names)
    return tuple(names)


def _items(est: PairEstimator, items: TableLike) -> ItemTable:
    return item_table(est._given(items))


def _posterior(est: PairEstimator) -> Posterior | None:
    return est._described()[1] if hasattr(est, "_described") else None


def _scales(est: PairEstimator) -> FloatArray:
    scales = est.model_.scales
    return np.ones(est.n_features_in_) if scales is None else scales


def _scaled_metric(est: PairEstimator) -> FloatArray:
    """M in units of the features' spreads."""
    scales = _scales(est)
    return est.metric_ * np.outer(scales, scales)


def _has_ideal(est: PairEstimator) -> bool:
    """Whether the ideal point is one: neither missing, nor a place that is worst along some direction."""
    values = np.linalg.eigvalsh(_scaled_metric(est))
    return bool(np.isfinite(est.ideal_point_).all() and values[0] >= -FLAT * max(values[-1], 0.0))


def _kind(est: PairEstimator, plane: list[int]) -> str:
    """What a turning point is when the features of a plane change."""
    metric = _scaled_metric(est)
    values, zero = np.linalg.eigvalsh(metric[np.ix_(plane, plane)]), FLAT * np.abs(metric).max()
    if (np.abs(values) <= zero).all():
        return "none"
    return "ideal" if values[0] >= -zero else "worst" if values[-1] <= zero else "saddle"


def _base(est: PairEstimator, table: ItemTable, names: Sequence[str], at: At) -> FloatArray:
    """(d,) values of all features: the ideal's, or the average item's without one, or those asked for."""
    base = np.array(est.ideal_point_ if _has_ideal(est) else table.matrix.mean(axis=0))
    if isinstance(at, Mapping):
        for feature, value in at.items():
            base[feature_position(names, feature)] = value
    elif at is not None:
        base = np.array(at, dtype=float)
    if base.shape != (len(names),) or not np.isfinite(base).all():
        raise InputError(f"at must be {len(names)} finite numbers, or some of them by feature name.")
    return base


def _gradient(est: PairEstimator, point: FloatArray) -> FloatArray:
    """Of the squared distance, or the score, at a point."""
    model = est.model_
    away = point - (model.ideal_point if model.centre is None else model.centre)
    return 2 * model.metric @ away + (0.0 if model.slope is None else model.slope)


def _gradients(posterior: Posterior, point: FloatArray) -> FloatArray:
    """(S, d) of each draw's score at a point."""
    return 2 * posterior.metrics @ (point - posterior.centre) - 2 * posterior.linears


def _turning(
    est: PairEstimator, plane: list[int], base: FloatArray, at_ideal: bool, level: float
) -> tuple[FloatArray, FloatArray | None]:
    """Where the distance turns as the features of a plane change, and the ends of its interval."""
    posterior, block = _posterior(est), np.ix_(plane, plane)
    if at_ideal:
        ends = None if posterior is None else quantiles(posterior.ideal_points[:, plane], level)
        return est.ideal_point_[plane], ends
    if not _scaled_metric(est)[block].any():
        return np.full(len(plane), np.nan), None
    # f(b + s) = f(b) + g's + s'M s is stationary at s = -M^-1 g / 2.
    scales = _scales(est)[plane]
    step = _pseudo_solve(est.metric_[block][None], _gradient(est, base)[plane][None], scales)[0]
    if posterior is None:
        return base[plane] + step, None
    blocks = posterior.metrics[:, plane][:, :, plane]
    steps = _pseudo_solve(blocks, _gradients(posterior, base)[:, plane], scales)
    return base[plane] + step, quantiles(base[plane] + steps, level)


def _pseudo_solve(metrics: FloatArray, gradients: FloatArray, scales: FloatArray) -> FloatArray:
    """-M^-1 g / 2 for each of a stack, not moving along what M does not see, in units of `scales`."""
    inverse = np.linalg.pinv(metrics * np.outer(scales, scales), rcond=FLAT, hermitian=True)
    result: FloatArray = -0.5 * scales * np.einsum("sij,sj->si", inverse, gradients * scales)
    return result


def _view(values: FloatArray, ideal: float) -> tuple[float, float]:
    """Ends of an axis: the items and a margin, and the ideal where it is not far from them."""
    low, high = float(values.min()), float(values.max())
    width = high - low or max(1.0, abs(high)) / 10
    if low - REACH * width <= ideal <= high + REACH * width:
        low, high = min(low, ideal), max(high, ideal)
    margin = MARGIN * max(high - low, width)
    return low - margin, high + margin


def _levels(distance: FloatArray, kind: str, steps: int = 10) -> FloatArray:
    """Equal steps of distance, or of score where it may be negative; none where it is flat."""
    low, high = float(distance.min()), float(distance.max())
    if not high - low > FLAT * max(abs(low), abs(high)):
        return np.empty(0)
    if kind == "ideal" and low >= 0:
        return np.linspace(np.sqrt(low), np.sqrt(high), steps + 1)[1:-1] ** 2
    return np.linspace(low, high, steps + 1)[1:-1]


def _towards(
    est: PairEstimator, plane: list[int], base: FloatArray, views: FloatArray, turning: FloatArray, kind: str
) -> FloatArray | None:
    """Direction of an ideal that lies outside the picture, or else of steepest descent."""
    middle, width = views.mean(axis=1), views[:, 1] - views[:, 0]
    point = base.copy()
    point[plane] = middle
    way = (turning - middle) / width if kind == "ideal" else -_gradient(est, point)[plane] * width
    size = float(np.linalg.norm(way))
    return way / size if size > 0 else None


def _axes_of(block: FloatArray, scales: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvectors of a scaled block as rows in the user's units, the most important first, and shares."""
    values, vectors = np.linalg.eigh(block)
    order = np.argsort(-np.abs(values))
    sizes, vectors = np.abs(values[order]), vectors[:, order]
    if not sizes[0] > 0:
        return np.empty((0, 2)), np.empty(0)
    return (vectors * np.sqrt(sizes / sizes[0])).T * scales, sizes / sizes.sum()


def _directions(est: PairEstimator, gradient: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares and rows: eigenvectors of the scaled metric, or the slope of linear preferences."""
    scaled = _scaled_metric(est)
    if not scaled.any():
        slope = gradient * _scales(est)
        size = np.linalg.norm(slope)
        return (np.ones(1), slope[None] / size) if size > 0 else (np.empty(0), np.empty((0, len(slope))))
    values, vectors = np.linalg.eigh(scaled)
    order = np.argsort(-np.abs(values))
    return np.abs(values[order]) / np.abs(values).sum(), vectors[:, order].T


def _importance(metrics: FloatArray, gradients: FloatArray, away: FloatArray) -> FloatArray:
    """(S, d) shares of root-mean-square changes of s(z) = z'Mz + g'z, z being `away` from the middle.

    With a feature's own a and another item's b, and h = 2 sum_k M_jk z_k + g_j over the other
    features k, the change is M_jj (a^2 - b^2) + (a - b) h; its mean square comes from moments.
    """
    scale = np.maximum(away.std(axis=0), np.finfo(float).tiny)
    a, m, g = away / scale, metrics * np.outer(scale, scale), gradients * scale
    own = np.diagonal(m, axis1=1, axis2=2)[:, None, :]
    h = 2 * (a @ m - own * a) + g[:, None, :]
    m1, m2, m3, m4 = (np.mean(a**k, axis=0) for k in (1, 2, 3, 4))
    squares = 2 * own[:, 0] ** 2 * (m4 - m2**2)
    mixed = (a**3 * h).mean(1) - m1 * (a**2 * h).mean(1) - m2 * (a * h).mean(1) + m3 * h.mean(1)
    slopes = (a**2 * h**2).mean(1) - 2 * m1 * (a * h**2).mean(1) + m2 * (h**2).mean(1)
    change = np.sqrt(np.maximum(squares + 2 * own[:, 0] * mixed + slopes, 0.0))
    result: FloatArray = change / np.maximum(change.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return result


def _wishes(est: PairEstimator, table: ItemTable, level: float) -> Sequence[str]:
    """What is wanted of each feature, in a few words."""
    if _posterior(est) is None:
        return [_wish(est, table, j, level) for j in range(table.matrix.shape[1])]
    # It is built on this module.
    from coombs.explain.learned import wishes

    return wishes(est, level)


def _wish(est: PairEstimator, table: ItemTable, j: int, level: float) -> str:
    """What is wanted of a feature, in a few words."""
    low, high = float(table.matrix[:, j].min()), float(table.matrix[:, j].max())
    base = _base(est, table, feature_names(est), None)
    (at,), ends = _turning(est, [j], base, _has_ideal(est), level)
    kind, posterior, middle = _kind(est, [j]), _posterior(est), table.matrix.mean(axis=0)
    if low == high:
        return "always the same"
    # Between yes and no there is no ideal.
    told = len(np.unique(table.matrix[:, j])) > 2 and (ends is None or ends[0, 1] - ends[0, 0] < high - low)
    if kind in ("ideal", "worst") and low <= at <= high and told:
        first, last = ("", "") if ends is None else (number(end, high - low) for end in ends[0])
        return f"{kind} about {number(at, high - low)}{f' ({first} to {last})' if first else ''}"
    # The slope halfway tells the two ends apart.
    middle[j] = (low + high) / 2
    slopes = (_gradient(est, middle)[None] if posterior is None else _gradients(posterior, middle))[:, j]
    falls, rises = (slopes < 0).mean(), (slopes > 0).mean()
    if kind == "ideal" and told:
        falls, rises = at > high, at < low
    return "more is better" if falls >= SURE else "less is better" if rises >= SURE else "not known yet"


def _thin(n: int, most: int) -> NDArray[np.intp]:
    """At most so many positions out of n, evenly."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))
