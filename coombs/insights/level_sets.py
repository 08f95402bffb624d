"""Maps of two features and profiles of one, as numbers that any front end can draw.

They show the ideal-point description of a fit; where a smooth taste counts, the average that predicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data.tables import FloatArray, InputError, ItemTable, TableLike
from coombs.estimators.taste import TasteEstimator
from coombs.inference.posterior import LEVEL
from coombs.insights.curves import MOST_FEATURES, averaged, is_averaged, some_items
from coombs.insights.selection import (
    FeatureKey,
    feature_position,
    feature_positions,
    item_names,
    items_of,
    names_of,
)
from coombs.insights.statements import LESS, MORE, SWEET_SPOT, WORST, FeatureVerdict
from coombs.insights.surface import FLAT, Surface, shares_of
from coombs.insights.verdicts import fitted_features, judged
from coombs.insights.what_matters import what_matters_data

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
"""What a picture shows beyond the items, as a share of their range."""
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
AT_IDEAL = "the ideal point"
"""Where other features are if all of them have an ideal that is borne out."""
AT_GUESS = "their best guess"
"""Where other features are if not."""
OVER_ITEMS = "averaged over the items"
"""Where other features are in a map of an average."""


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
    xs, ys, distance : (g,), (g,) and (g, g) squared distance, or score, a row for each y
    levels : where to draw lines: equal steps of distance, or of score where that may be negative
    points, names, ranks : (n, 2), n and (n,) of the items; rank 1 is the best by all features
    base : (d,) the item that the other features are taken from; not used in a map of an average
    others : where the other features are: "the ideal point", "their best guess" where the answers do not
        bear out all of it, "their average", "averaged over the items" or "fixed values"
    is_average : whether `distance` is that of the average that predicts, and what is marked that of the
        ideal-point description beside it
    turning : (2,) where the described distance turns on this plane, NaN where it does not
    kind : what is there: "ideal", "worst", "saddle", or "none"
    wishes : what the answers bear out of each of the two features
    is_known : whether that is a best or a worst value of both, so that the turning point means something
    is_ideal : whether the turning point is the ideal point of all features
    interval : (2, 2) ends for each coordinate of the turning point, or None
    inside : whether the turning point is known, and lies in the picture
    band : what is known where only one feature has a best or worst value, or None
    towards : (2,) what is better from the picture's middle on, in parts of its width and height; or None
    axes, shares : (k, 2) directions in which the distance changes most and least, in the user's units,
        one spread long for the first and in proportion for the other, and their shares; none of an average
    level : of the interval
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
    is_average: bool
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
    level: float

    @property
    def is_conditional(self) -> bool:
        """Whether the turning point is not that of all features, but depends on where the others are."""
        return len(self.base) > 2 and not self.is_ideal


@dataclass(frozen=True, eq=False)
class Profile:
    """(g,) squared distance along one feature, others at the ideal or its best guess; (n,) items there.

    Of an average, its score, averaged over the items' other features. `ideal`, with its interval, is NaN
    where the answers do not bear out that there is one.
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
            return averaged(self.est.model_.distance, some_items(self.table.matrix), plane, points)
        grid = np.tile(self.base, (len(points), 1))
        grid[:, plane] = points
        model = self.est.model_ if is_averaged(self.est) else self.surface.model
        return model.distance(grid)

    def others(self, plane: list[int]) -> str:
        """Where the features are that do not change."""
        if not self.is_default:
            return "fixed values"
        if self.is_over_items:
            return OVER_ITEMS
        if not self.surface.has_ideal:
            return "their average"
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
    """Learned distance on a grid of two features; the other features, and parameters, as for `level_sets`.

    `verdicts` are those of the explanation, if they are there already.
    """
    names = names_of(est)
    if len(names) < 2:
        raise InputError("Level sets need two features; the items have one.")
    plane = [feature_position(names, x), feature_position(names, y)]
    if plane[0] == plane[1]:
        raise InputError(f"Feature {names[plane[0]]!r} is given twice; level sets need two different ones.")
    scene = _scene(est, items, at, level, verdicts)
    return _level_sets(scene, plane, min(size, AVERAGED_GRID) if scene.is_over_items else size)


def profile_data(
    est: PairEstimator, feature: FeatureKey, *, items: TableLike = None, level: float = LEVEL
) -> Profile:
    """Squared distance as one feature changes and the others stay at the ideal (at their means without)."""
    return _profile(_scene(est, items, None, level), feature_position(names_of(est), feature))


def feature_matrix_data(
    est: PairEstimator,
    *,
    features: Sequence[FeatureKey] | None = None,
    items: TableLike = None,
    level: float = LEVEL,
    verdicts: Sequence[FeatureVerdict] | None = None,
) -> FeatureMatrix:
    """Profiles and level sets of the features asked for, by default of the six most important."""
    scene = _scene(est, items, None, level, verdicts)
    if features is None:
        matters = what_matters_data(est, items=items, level=level, verdicts=scene.verdicts)
        features = matters.features[:MOST_FEATURES]
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
    known = judged(est, level, table)[0] if verdicts is None else verdicts
    return _Scene(est, table, known, level, _base(est, table, at), at is None)


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
    """Of two different features."""
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
    wishes = [scene.verdicts[j].in_few_words(fitted_features(scene.est, table)[j]) for j in plane]
    axes, shares = _axes_of(surface.scaled_metric[np.ix_(plane, plane)], surface.scales[plane])
    order = np.argsort(scene.est.distance(table), kind="stable")
    return LevelSets(
        features=(names[plane[0]], names[plane[1]]),
        xs=xs,
        ys=ys,
        distance=distance,
        levels=levels,
        points=table.matrix[:, plane],
        names=item_names(table),
        ranks=np.argsort(order) + 1,
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
    )


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
    return Profile(one.feature, xs, distance, scene.table.matrix[:, j], float(ideal), interval)


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
