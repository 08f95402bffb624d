"""What pictures show, as numbers: any front end can draw these records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data.tables import FloatArray, InputError, ItemTable, TableLike, item_table
from coombs.inference.posterior import LEVEL, quantiles
from coombs.insights import surface
from coombs.insights.surface import FLAT
from coombs.insights.verdicts import Verdict, verdicts

if TYPE_CHECKING:
    from coombs.estimators.base import PairEstimator

Feature: TypeAlias = str | int
At: TypeAlias = Mapping[Feature, float] | Sequence[float] | FloatArray | None

GRID, SMALL_GRID = 121, 61
MARGIN, REACH = 0.06, 0.5
"""Of the items' range: what a picture shows beyond them, and how far it stretches to reach the ideal."""
AT_IDEAL, AT_GUESS = "the ideal point", "their best guess"
"""Where other features are, by whether the answers bear out that all of those have an ideal."""
MOST_FEATURES = 6
MOST_ITEMS, MOST_DRAWS, MOST_NUMBERS = 300, 200, 4_000_000
"""Items and draws that importance is computed from, evenly thinned, and features times both."""


class Band(NamedTuple):
    """Where one of two features, that of the x axis (0) or of the y axis (1), is best or worst (`turn`)."""

    axis: int
    value: float
    ends: tuple[float, float] | None
    turn: str


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
    others : where the other features are: "the ideal point", "their best guess" where the answers do not
        bear out all of it, "their average" or "fixed values"
    turning : (2,) where the distance turns on this plane, NaN where it does not
    kind : what is there: "ideal", "worst", "saddle", or "none"
    wishes : what the answers bear out of each of the two features
    is_known : whether that is a best or a worst value of both, so that the turning point means something
    is_ideal : whether the turning point is the ideal point of all features
    interval : (2, 2) ends for each coordinate of the turning point, or None
    inside : whether the turning point is known, and lies in the picture
    band : what is known where only one feature has a best or worst value, or None
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
    wishes: tuple[str, str]
    is_known: bool
    is_ideal: bool
    interval: FloatArray | None
    inside: bool
    band: Band | None
    towards: FloatArray | None
    axes: FloatArray
    shares: FloatArray

    @property
    def is_conditional(self) -> bool:
        """Whether the turning point is not that of all features, but depends on where the others are."""
        return len(self.base) > 2 and not self.is_ideal

    @property
    def what(self) -> str:
        """What the turning point is."""
        if self.kind not in ("ideal", "worst"):
            return "best one way and worst another"
        best = "best" if self.kind == "ideal" else "worst"
        if self.is_conditional:
            return f"the {best} for these two, the other features at {self.others}"
        return "the ideal point" if self.is_ideal and self.kind == "ideal" else f"the {best}"

    def caption(self, mark: str) -> str:
        """What is marked in the picture, by a `mark` if it is a point; or why nothing is."""
        wishes = "; ".join(f"{name}: {wish}" for name, wish in zip(self.features, self.wishes, strict=True))
        if self.inside:
            return f"The {mark} is {self.what}."
        if self.band is not None:
            return f"The band is where {self.features[self.band.axis]} is {self.band.turn} ({wishes})."
        if not self.is_known:
            return f"No point is marked, as the answers do not bear out that one is best ({wishes})."
        if self.kind == "ideal" and self.towards is not None:
            return f"{self.what[0].upper()}{self.what[1:]} lies outside the picture."
        return "No point is marked, as these lines turn elsewhere than the ideal point." * (
            self.kind != "none"
        )


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
    """(g,) squared distance along one feature, others at the ideal or its best guess; (n,) items there.

    `ideal`, with its interval, is NaN where the answers do not bear out that there is one.
    """

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
    return _level_sets(est, table, plane, _base(est, table, names, at), at is None, level, size)


def _level_sets(
    est: PairEstimator,
    table: ItemTable,
    plane: list[int],
    base: FloatArray,
    is_default: bool,
    level: float,
    size: int,
    known: Sequence[Verdict] | None = None,
) -> LevelSets:
    """Of two different features; `is_default` says whether nobody chose where the others are."""
    names, known = feature_names(est), verdicts(est, table, level) if known is None else known
    wanted, kind = [known[j] for j in plane], surface.kind_of(est, plane)
    is_known = all(one.turn for one in wanted)
    turning = surface.turning_point(est, plane, base)
    is_ideal = surface.is_ideal(est, plane, base, turning)
    views = [
        _view(table.matrix[:, j], p if is_known else np.nan) for j, p in zip(plane, turning, strict=True)
    ]
    xs, ys = (np.linspace(low, high, size) for low, high in views)
    grid = np.tile(base, (size * size, 1))
    grid[:, plane[0]], grid[:, plane[1]] = np.tile(xs, size), np.repeat(ys, size)
    distance = surface.model_of(est).distance(grid).reshape(size, size)
    inside = all(low <= p <= high for (low, high), p in zip(views, turning, strict=True))
    if is_default and surface.has_ideal(est):
        # An average may be least elsewhere than the ideal point that describes it.
        inside &= all(one.allows(p) for one, p in zip(wanted, turning, strict=True))
    inside &= is_known and kind != "none"
    axes, shares = _axes_of(surface.scaled_metric(est)[np.ix_(plane, plane)], surface.scales_of(est)[plane])
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
        _others(est, plane, known) if is_default else "fixed values",
        turning,
        kind,
        (wanted[0].text, wanted[1].text),
        is_known,
        is_ideal,
        _interval(est, plane, base, wanted, level) if is_known else None,
        inside,
        None if is_known else _band(wanted),
        None if inside else _towards(est, plane, base, np.array(views), turning, wanted),
        axes if is_known else axes[:0],
        shares,
    )


def _others(est: PairEstimator, plane: list[int], known: Sequence[Verdict]) -> str:
    """Where the features are that do not change."""
    if not surface.has_ideal(est):
        return "their average"
    return AT_IDEAL if all(one.turn for j, one in enumerate(known) if j not in plane) else AT_GUESS


def _interval(
    est: PairEstimator, plane: list[int], base: FloatArray, wanted: Sequence[Verdict], level: float
) -> FloatArray | None:
    """Of the turning point: where it is the ideal point, what the words say of that."""
    turning = surface.turning_point(est, plane, base)
    if not surface.is_ideal(est, plane, base, turning):
        return surface.turning_interval(est, plane, base, level)
    ends = [one.ends for one in wanted]
    return None if None in ends else np.array(ends)


def _band(wanted: Sequence[Verdict]) -> Band | None:
    """The one feature of two that has a best or a worst value."""
    bands = [Band(axis, one.value, one.ends, one.turn) for axis, one in enumerate(wanted) if one.turn]
    return bands[0] if bands else None


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
    if surface.posterior_of(est) is not None:
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
    table, names, posterior = _items(est, items), feature_names(est), surface.posterior_of(est)
    middle = table.matrix.mean(axis=0)
    matrix = (table.matrix - middle)[thin(len(table.matrix), MOST_ITEMS)]
    gradient = surface.gradient(est, middle)
    importance = _importance(surface.model_of(est).metric[None], gradient[None], matrix)[0]
    order, interval = np.argsort(-importance, kind="stable"), None
    if posterior is not None:
        some = thin(len(posterior), min(MOST_DRAWS, 1 + MOST_NUMBERS // matrix.size))
        metrics, slopes = posterior.metrics[some], surface.gradients(posterior, middle)[some]
        interval = quantiles(_importance(metrics, slopes, matrix), level)[order]
    wanted = [one.text for one in verdicts(est, table, level)] if wishes else [""] * len(names)
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
    return _profile(est, table, j, verdicts(est, table, level)[j])


def _profile(est: PairEstimator, table: ItemTable, j: int, wanted: Verdict) -> Profile:
    names = feature_names(est)
    base = _base(est, table, names, None)
    (ideal,) = surface.turning_point(est, [j], base)
    is_known = surface.kind_of(est, [j]) == "ideal" and wanted.turn == "best" and wanted.allows(ideal)
    ideal = ideal if is_known else np.nan
    xs = np.linspace(*_view(table.matrix[:, j], ideal), GRID)
    grid = np.tile(base, (GRID, 1))
    grid[:, j] = xs
    ends = None if np.isnan(ideal) or wanted.ends is None else np.array(wanted.ends)
    return Profile(names[j], xs, surface.model_of(est).distance(grid), table.matrix[:, j], float(ideal), ends)


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
    table = _items(est, items)
    base, known = _base(est, table, names, None), verdicts(est, table, level)
    profiles = [_profile(est, table, j, known[j]) for j in chosen]
    panels = {
        (a, b): _level_sets(est, table, [chosen[b], chosen[a]], base, True, level, SMALL_GRID, known)
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


def _base(est: PairEstimator, table: ItemTable, names: Sequence[str], at: At) -> FloatArray:
    """(d,) values of all features: the ideal's, or the average item's without one, or those asked for."""
    base = np.array(est.ideal_point_ if surface.has_ideal(est) else table.matrix.mean(axis=0))
    if isinstance(at, Mapping):
        for feature, value in at.items():
            base[feature_position(names, feature)] = value
    elif at is not None:
        base = np.array(at, dtype=float)
    if base.shape != (len(names),) or not np.isfinite(base).all():
        raise InputError(f"at must be {len(names)} finite numbers, or some of them by feature name.")
    return base


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
    est: PairEstimator,
    plane: list[int],
    base: FloatArray,
    views: FloatArray,
    turning: FloatArray,
    wanted: Sequence[Verdict],
) -> FloatArray | None:
    """Direction of an ideal that lies outside the picture, or else of steepest descent, as far as known."""
    middle, width = views.mean(axis=1), views[:, 1] - views[:, 0]
    point = base.copy()
    point[plane] = middle
    way = -surface.gradient(est, point)[plane] * width
    if not all(one.turn for one in wanted):
        way = np.where(np.sign(way) == [one.sign for one in wanted], way, 0.0)
    elif surface.kind_of(est, plane) == "ideal":
        way = (turning - middle) / width
        if (np.abs(way) <= 0.5).all():
            return None
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
    scaled = surface.scaled_metric(est)
    if not scaled.any():
        slope = gradient * surface.scales_of(est)
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


def thin(n: int, most: int) -> NDArray[np.intp]:
    """At most so many positions out of n, evenly."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))
