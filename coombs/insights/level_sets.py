"""Maps of two features and profiles of one, as numbers that any front end can draw.

They show the ideal-point description of a fit; where a smooth taste counts, the average that predicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data.tables import FloatArray, InputError, ItemTable, TableLike
from coombs.estimators.taste import TasteEstimator
from coombs.inference.posterior import LEVEL
from coombs.insights.columns import by_feature, in_users_numbers, numeric_names, table_columns
from coombs.insights.curves import MOST_FEATURES, averaged, is_averaged, some_items
from coombs.insights.maps import OVER_ITEMS, Band, FeatureMatrix, LevelSets, Profile
from coombs.insights.selection import (
    FeatureKey,
    feature_position,
    feature_positions,
    item_names,
    items_of,
    names_of,
    need_features,
)
from coombs.insights.statements import LESS, MORE, SWEET_SPOT, WORST, FeatureRange, FeatureVerdict
from coombs.insights.surface import FLAT, Surface, shares_of
from coombs.insights.verdicts import fitted_features, judged
from coombs.insights.what_matters import what_matters_data
from coombs.language import Translatable

if TYPE_CHECKING:
    from coombs.estimators.base import PairEstimator

At: TypeAlias = Mapping[FeatureKey, float] | Sequence[float] | FloatArray | None
"""Values of the features that do not change."""

GRID = 121
"""Values of each feature of a map, and of a profile."""
SMALL_GRID = 61
"""Values of each feature of a map in a matrix."""
AVERAGED_GRID = 41
"""Values of each feature of a map that is averaged over items, at most."""
SMALL_AVERAGED_GRID = 25
"""Values of each feature of such a map in a matrix."""
MARGIN = 0.06
"""How far a picture goes beyond the items, as a share of their range."""
REACH = 0.5
"""How far a picture stretches beyond the items to reach the ideal, as a share of their range."""
STEPS = 10
"""Steps between the lines of a map."""
NEARLY_BEST = 1
"""The line of an average's map within which the best by the ideal alone must lie to be marked."""
TURNS = {SWEET_SPOT: "best", WORST: "worst"}
"""What is at the value of a verdict that has one."""
SIGNS = {MORE: 1, LESS: -1}
"""Which way is better by a verdict that says so."""
AT_IDEAL = Translatable("the ideal point")
"""Where other features are if all of them have an ideal that is supported."""
AT_GUESS = Translatable("their best guess")
"""Where other features are if not all of them have an ideal that is supported."""


@dataclass(frozen=True, eq=False)
class _Scene:
    """A fit and what all its maps need."""

    est: PairEstimator
    table: ItemTable
    verdicts: Sequence[FeatureVerdict]
    level: float
    base: FloatArray
    is_default: bool

    @cached_property
    def surface(self) -> Surface:
        """What describes the fit."""
        return Surface.of(self.est)

    @property
    def marks_estimate(self) -> bool:
        """Whether nothing is known of how sure the ideal point is: then it is marked in any case."""
        return not isinstance(self.est, TasteEstimator)

    def turn(self, j: int) -> str:
        """What is at the best or worst value of a feature, if it has one."""
        return "best" if self.marks_estimate else TURNS.get(self.verdicts[j].verdict, "")

    def ends(self, j: int) -> tuple[float, float] | None:
        """Of the interval of that value."""
        one = self.verdicts[j]
        return None if one.low is None or one.high is None else (one.low, one.high)

    def allows(self, j: int, value: float) -> bool:
        """Whether that may be the value."""
        ends = self.ends(j)
        return ends is None or ends[0] <= value <= ends[1]

    @property
    def is_over_items(self) -> bool:
        """Whether the average is shown, over the items' own other features."""
        return self.is_default and is_averaged(self.est)

    def distance(self, plane: list[int], points: FloatArray) -> FloatArray:
        """(g,) distance, or the average's score, at (g, k) values on a plane."""
        if self.is_over_items:
            return averaged(self.est.model_.scores_of, some_items(self.table.matrix), plane, points)
        grid = np.tile(self.base, (len(points), 1))
        grid[:, plane] = points
        model = self.est.model_ if is_averaged(self.est) else self.surface.model
        return model.scores_of(grid)

    def others(self, plane: list[int]) -> str:
        """Where the features are that do not change."""
        if not self.is_default:
            return Translatable("fixed values")
        if self.is_over_items:
            return OVER_ITEMS
        if not self.surface.has_ideal:
            return Translatable("their average")
        return AT_IDEAL if all(self.turn(j) for j in range(len(self.base)) if j not in plane) else AT_GUESS


def level_sets_data(
    est: PairEstimator,
    x: FeatureKey,
    y: FeatureKey,
    *,
    items: TableLike = None,
    at: At = None,
    level: float = LEVEL,
    size: int = GRID,
    verdicts: Sequence[FeatureVerdict] | None = None,
) -> LevelSets:
    """Return the learned distance on a grid of two features, as `level_sets` draws it.

    Parameters
    ----------
    est : a fitted estimator
    x, y : features by name or position
    items : to show; by default the fitted ones
    at : values of the other features, for all features or by name; by default as for `level_sets`
    level : of the ideal point's interval
    size : values of each feature; of an average, which takes longer, at most 41
    verdicts : what is wanted of each feature, `Explanation.ideal`; computed if not given

    Returns
    -------
    LevelSets

    Examples
    --------
    >>> from coombs import SingleStep
    >>> from coombs.plots import level_sets_data
    >>> est = SingleStep([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]).fit([[1, 0], [1, 2]])
    >>> level_sets_data(est, 0, "feature 1", size=5).distance.shape
    (5, 5)
    """
    need_features(est)
    names = names_of(est)
    if len(names) < 2:
        raise InputError("Level sets need two features; the items have one.")
    plane = [_position(est, x), _position(est, y)]
    if plane[0] == plane[1]:
        raise InputError(f"Feature {names[plane[0]]!r} is given twice; level sets need two different ones.")
    scene = _scene(est, items, at, level, verdicts)
    return _level_sets(scene, plane, min(size, AVERAGED_GRID) if scene.is_over_items else size)


def profile_data(
    est: PairEstimator, feature: FeatureKey, *, items: TableLike = None, level: float = LEVEL
) -> Profile:
    """Return the squared distance as one feature changes and the others stay as they are in level sets.

    Parameters
    ----------
    est : a fitted estimator
    feature : by name or position
    items : to show; by default the fitted ones
    level : of the best value's interval

    Returns
    -------
    Profile

    Examples
    --------
    >>> from coombs import SingleStep
    >>> from coombs.plots import profile_data
    >>> est = SingleStep([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]).fit([[1, 0], [1, 2]])
    >>> profile_data(est, "feature 1").points.tolist()
    [1.0, 0.0, 2.0]
    """
    need_features(est)
    return _profile(_scene(est, items, None, level), _position(est, feature))


def feature_matrix_data(
    est: PairEstimator,
    *,
    features: Sequence[FeatureKey] | None = None,
    items: TableLike = None,
    level: float = LEVEL,
    verdicts: Sequence[FeatureVerdict] | None = None,
) -> FeatureMatrix:
    """Return profiles of features and level sets of every two of them, as `feature_matrix` draws them.

    Parameters
    ----------
    est : a fitted estimator
    features : by name or position; by default the six that decide most, and those first
    items : to show; by default the fitted ones
    level : of the best values' intervals
    verdicts : what is wanted of each feature, `Explanation.ideal`; computed if not given

    Returns
    -------
    FeatureMatrix

    Examples
    --------
    >>> from coombs import SingleStep
    >>> from coombs.plots import feature_matrix_data
    >>> est = SingleStep([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]).fit([[1, 0], [1, 2]])
    >>> [profile.feature for profile in feature_matrix_data(est, features=[1, 0]).profiles]
    ['feature 1', 'feature 0']
    """
    need_features(est)
    known = judged(est, level, items_of(est, items)).verdicts if verdicts is None else verdicts
    scene = _scene(est, items, None, level, known)
    if features is None:
        matters = what_matters_data(est, items=items, level=level, verdicts=known)
        features = [name for name in matters.features if name in numeric_names(est.model_)][:MOST_FEATURES]
    chosen = feature_positions(names_of(est), features, "matrix")
    size = SMALL_AVERAGED_GRID if scene.is_over_items else SMALL_GRID
    panels = {
        (a, b): _level_sets(scene, [chosen[b], chosen[a]], size) for a in range(len(chosen)) for b in range(a)
    }
    return FeatureMatrix(tuple(_profile(scene, j) for j in chosen), panels)


def _scene(
    est: PairEstimator,
    items: TableLike,
    at: At,
    level: float,
    verdicts: Sequence[FeatureVerdict] | None = None,
) -> _Scene:
    table = items_of(est, items)
    known = judged(est, level, table).verdicts if verdicts is None else verdicts
    each = by_feature(est.model_, known)
    return _Scene(est, table, each, level, _base(est, table, at), at is None)


def _position(est: PairEstimator, feature: FeatureKey) -> int:
    """The column of a feature of which there can be a map."""
    for one in table_columns(est.model_):
        if one.is_category and feature in (one.name, *one.column.names):
            raise InputError(f"{one.name!r} is a category; maps and profiles are of numbers.")
    return feature_position(names_of(est), feature)


def _base(est: PairEstimator, table: ItemTable, at: At) -> FloatArray:
    """(d,) values of all features: the ideal's, or the average item's without one, or those asked for."""
    names = names_of(est)
    base = np.array(est.ideal_point_ if Surface.of(est).has_ideal else table.matrix.mean(axis=0))
    if isinstance(at, Mapping):
        for feature, value in at.items():
            base[feature_position(names, feature)] = value
    elif at is not None:
        base = np.array(at, dtype=float)
    if base.shape != (len(names),) or not np.isfinite(base).all():
        raise InputError(f"at must be {len(names)} finite numbers, or some of them by feature name.")
    return base


def _level_sets(scene: _Scene, plane: list[int], size: int) -> LevelSets:
    """Level sets of two different features."""
    surface, table, names = scene.surface, scene.table, names_of(scene.est)
    is_known, average = all(map(scene.turn, plane)), is_averaged(scene.est)
    turning, kind = surface.turning_point(plane, scene.base), surface.kind_of(plane)
    is_ideal = surface.is_ideal(plane, scene.base, turning)
    shown = turning if is_known else np.full(2, np.nan)
    views = np.array([_view(table.matrix[:, j], at) for j, at in zip(plane, shown, strict=True)])
    xs, ys = (np.linspace(low, high, size) for low, high in views)
    grid = np.column_stack([np.tile(xs, size), np.repeat(ys, size)])
    distance = scene.distance(plane, grid).reshape(size, size)
    levels = _levels(distance, "none" if average else kind)
    inside = is_known and kind != "none" and _is_marked(scene, plane, turning, views)
    if inside and average:
        inside = bool((scene.distance(plane, turning[None]) <= levels[NEARLY_BEST : NEARLY_BEST + 1]).any())
    ranges = {one.name: one for one in fitted_features(scene.est, table)}
    wishes = [_wish(scene, ranges[names[j]], j) for j in plane]
    columns = {one.block[0]: one.column for one in table_columns(scene.est.model_)}
    axes, shares = _axes_of(surface.scaled_metric[np.ix_(plane, plane)], surface.scales[plane])
    order = np.argsort(scene.est.distance(table), kind="stable")
    drawn = _is_drawn(table, [names[j] for j in plane])
    called = np.array(item_names(table), dtype=object)
    return LevelSets(
        features=(names[plane[0]], names[plane[1]]),
        xs=xs,
        ys=ys,
        distance=distance,
        levels=levels,
        points=table.matrix[drawn][:, plane],
        names=tuple(called[drawn]),
        ranks=(np.argsort(order) + 1)[drawn],
        base=scene.base,
        others=scene.others(plane),
        is_average=average,
        turning=turning,
        kind=kind,
        wishes=(wishes[0], wishes[1]),
        is_known=is_known,
        is_ideal=is_ideal,
        interval=_interval(scene, plane, is_ideal) if is_known else None,
        inside=inside,
        band=None if is_known else _band(scene, plane),
        towards=None if inside else _towards(scene, plane, views, turning),
        axes=axes if is_known and not average else axes[:0],
        shares=shares,
        level=scene.level,
        columns=(columns[plane[0]], columns[plane[1]]),
        left_out=tuple(called[~drawn]),
    )


def _is_drawn(table: ItemTable, features: Sequence[str]) -> NDArray[np.bool_]:
    """(n,) which items have a place in a map: those of which both values are known, unless that is none."""
    every = np.ones(len(table.matrix), dtype=bool)
    known = every if table.encoding is None else table.encoding.is_known(table.matrix, features)
    return known if known.any() else every


def _wish(scene: _Scene, feature: FeatureRange, j: int) -> str:
    """What is wanted of a feature, in the user's numbers."""
    return in_users_numbers(scene.est.model_, scene.verdicts[j], j).in_few_words(feature)


def _is_marked(scene: _Scene, plane: list[int], turning: FloatArray, views: FloatArray) -> bool:
    """Whether the turning point is in the picture and where the words have it."""
    inside = all(low <= at <= high for (low, high), at in zip(views, turning, strict=True))
    if scene.is_default and scene.surface.has_ideal:
        # An average may be least elsewhere than the ideal point that describes it.
        inside &= all(scene.allows(j, at) for j, at in zip(plane, turning, strict=True))
    return inside


def _interval(scene: _Scene, plane: list[int], is_ideal: bool) -> FloatArray | None:
    """Of the turning point: where it is the ideal point, what the words say of that."""
    if not is_ideal:
        return scene.surface.turning_interval(plane, scene.base, scene.level)
    ends = [scene.ends(j) for j in plane]
    return None if None in ends else np.array(ends)


def _band(scene: _Scene, plane: list[int]) -> Band | None:
    """The one feature of two that has a best or a worst value."""
    for axis, j in enumerate(plane):
        value = scene.verdicts[j].value
        if scene.turn(j) and value is not None:
            return Band(axis, value, scene.ends(j), scene.turn(j))
    return None


def _profile(scene: _Scene, j: int) -> Profile:
    surface, one = scene.surface, scene.verdicts[j]
    (ideal,) = surface.turning_point([j], scene.base)
    is_known = surface.kind_of([j]) == "ideal" and scene.turn(j) == "best" and scene.allows(j, ideal)
    ideal, ends = (ideal, scene.ends(j)) if is_known else (np.nan, None)
    xs = np.linspace(*_view(scene.table.matrix[:, j], ideal), GRID)
    distance = scene.distance([j], xs[:, None])
    interval = None if ends is None else np.array(ends)
    column = next(one.column for one in table_columns(scene.est.model_) if one.block[0] == j)
    return Profile(one.feature, xs, distance, scene.table.matrix[:, j], float(ideal), interval, column)


def _view(values: FloatArray, ideal: float) -> tuple[float, float]:
    """Ends of an axis: the items and a margin, and the ideal where it is not far from them."""
    low, high = float(values.min()), float(values.max())
    width = high - low or max(1.0, abs(high)) / 10
    if low - REACH * width <= ideal <= high + REACH * width:
        low, high = min(low, ideal), max(high, ideal)
    margin = MARGIN * max(high - low, width)
    return low - margin, high + margin


def _levels(distance: FloatArray, kind: str) -> FloatArray:
    """Equal steps of distance, or of score where it may be negative; none where it is flat."""
    low, high = float(distance.min()), float(distance.max())
    if not high - low > FLAT * max(abs(low), abs(high)):
        return np.empty(0)
    if kind == "ideal" and low >= 0:
        return np.linspace(np.sqrt(low), np.sqrt(high), STEPS + 1)[1:-1] ** 2
    return np.linspace(low, high, STEPS + 1)[1:-1]


def _towards(scene: _Scene, plane: list[int], views: FloatArray, turning: FloatArray) -> FloatArray | None:
    """Direction of an ideal that lies outside the picture, or else of steepest descent, as far as known."""
    middle, width = views.mean(axis=1), views[:, 1] - views[:, 0]
    point = scene.base.copy()
    point[plane] = middle
    way = -scene.surface.gradient(point)[plane] * width
    if not all(map(scene.turn, plane)):
        signs = [SIGNS.get(scene.verdicts[j].verdict, 0) for j in plane]
        way = np.where(np.sign(way) == signs, way, 0.0)
    elif scene.surface.kind_of(plane) == "ideal":
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
    return (vectors * np.sqrt(sizes / sizes[0])).T * scales, shares_of(sizes)
