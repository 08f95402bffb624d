"""What is wanted of each feature: decided once, here, for words, tables and pictures alike.

By Bayes factors where there is a posterior, so that nothing is said which only the prior says; by the
estimate alone where there is none. Where a smooth taste counts, its draws must agree; and a shape that it
surely has and no ideal has decides.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.data.encoding import ORDERED, YES_NO, FeatureColumn
from coombs.data.scaling import Scaler
from coombs.estimators import description
from coombs.estimators.taste import TasteEstimator
from coombs.inference.kind import ideal_density
from coombs.insights.columns import (
    TableColumn,
    category_verdict,
    level_liking,
    level_scores,
    range_of,
    table_columns,
    with_scale_doubt,
)
from coombs.insights.curves import (
    TasteCurve,
    importance,
    is_averaged,
    some_items,
    taste_curves_data,
    thinned,
)
from coombs.insights.declared import with_declared
from coombs.insights.selection import items_of
from coombs.insights.shapes import TAIL, shapes_of
from coombs.insights.statements import (
    BY_LEVEL,
    CONSTANT,
    DROP,
    HARDLY,
    LEANINGS,
    LESS,
    LEVELS_ABOVE,
    LEVELS_BELOW,
    MORE,
    NOT_KNOWN,
    RATHER_LESS,
    RATHER_MORE,
    RISE,
    SWEET_SPOT,
    WORST,
    FeatureRange,
    FeatureVerdict,
    LevelScore,
    Shape,
)
from coombs.insights.surface import Surface

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coombs.data.tables import FloatArray, ItemTable
    from coombs.estimators.base import PairEstimator
    from coombs.inference.posterior import Posterior

SMALL_WEIGHT = 0.05
"""A feature hardly matters where the upper end of its weight is below this."""
SURE_PEAK = 0.9
"""Probability from which on a feature is said to have a best or a worst value."""
SURE_SLOPE = 0.975
"""Probability from which on more of a feature is said to be better, or worse."""
SAMPLE = 200
"""Items at which slopes are looked at."""
FOUND = (MORE, LESS, SWEET_SPOT, WORST)
"""Verdicts in the order of the shapes of `coombs.estimators.description`."""
TURNED = 0.15
"""Part of its height by which an average's taste may turn back where more, or less, is said to be better."""
MOST_DRAWS = 1_000
"""Draws that levels are looked at in."""
AGREED = 0.9
"""Share of an average's draws that must agree with a verdict on its ideal-point description."""
AGREES = {DROP: LESS, LEVELS_BELOW: LESS, RISE: MORE, LEVELS_ABOVE: MORE}
"""The verdict that a shape agrees with; two peaks agree with none."""


class ColumnFindings(NamedTuple):
    """What is wanted of each column, the shapes along single ones, and what levels are worth."""

    verdicts: tuple[FeatureVerdict, ...]
    shapes: tuple[Shape, ...] = ()
    levels: tuple[LevelScore, ...] = ()


def fitted_features(est: PairEstimator, items: ItemTable | None = None) -> tuple[FeatureRange, ...]:
    """The features as the fitted items have them."""
    matrix = _fitted_items(est, items).matrix
    varies = Scaler.of(matrix, standardize=True).varies
    return tuple(range_of(one, matrix, bool(varies[one.block[0]])) for one in table_columns(est.model_))


def judged(est: PairEstimator, level: float, items: ItemTable | None = None) -> ColumnFindings:
    """The verdict on each column, the shapes of the taste that no ideal has, and what levels are worth.

    `items` are looked at where the estimator does not know those that were compared.
    """
    table, features = _fitted_items(est, items), fitted_features(est, items)
    if isinstance(est, TasteEstimator) and est.kind_ == "items":
        # No feature varies.
        none = (FeatureVerdict(one.name, None, None, None, 0.0, CONSTANT) for one in features)
        return ColumnFindings(tuple(none))
    weights, ends = importance(est, table.matrix, level)
    is_small = (weights if ends is None else ends[:, 1]) < SMALL_WEIGHT
    columns = table_columns(est.model_)
    verdicts = _of_numbers(est, table, features, weights, is_small, level)
    levels: list[LevelScore] = []
    for k, one in enumerate(columns):
        if one.is_category and features[k].distinct != 1:
            draws, has_draws = _liking_of_levels(est, table, one)
            scores = level_scores(one, draws, level, has_draws)
            matters = partial(_matters, est, one)
            verdicts[k] = category_verdict(scores, draws, float(weights[k]), matters, bool(is_small[k]))
            levels += scores if verdicts[k].verdict == BY_LEVEL else ()
    if has_pattern(est) is False:
        none = (FeatureVerdict(one.feature, None, None, None, one.share, NOT_KNOWN) for one in verdicts)
        return ColumnFindings(tuple(none))
    verdicts = with_declared(est, _with_leanings(est, columns, verdicts))
    if not is_averaged(est):
        return ColumnFindings(tuple(map(_with_best, features, verdicts)), (), tuple(levels))
    curves = {curve.feature: curve for curve in taste_curves_data(est, items=table)}
    shapes = {shape.feature: shape for shape in shapes_of(est, tuple(curves.values()))}
    agreed = (_agreed(one, curves.get(one.feature), shapes.get(one.feature)) for one in verdicts)
    return ColumnFindings(tuple(map(_with_best, features, agreed)), tuple(shapes.values()), tuple(levels))


def _of_numbers(
    est: PairEstimator,
    table: ItemTable,
    features: Sequence[FeatureRange],
    weights: FloatArray,
    is_small: NDArray[np.bool_],
    level: float,
) -> list[FeatureVerdict]:
    """The verdict on each column, as if all were numbers; of a category, nothing yet."""
    surface, columns = Surface.of(est), table_columns(est.model_)
    places = [one.block[0] for one in columns]
    ranges = _feature_ranges(columns, table.matrix, features)
    found = _probabilities(est, surface, ranges, table.matrix)[places]
    intervals = np.full((len(features), 2), np.nan)
    if surface.posterior is not None:
        intervals = _best_values(surface.posterior, ranges, surface.scales, level)[places]
    return [
        _verdict(
            features[k],
            found[k],
            float(weights[k]),
            bool(is_small[k]),
            float(one.column.shown(surface.ideal[places[k]])),
            one.column.shown(intervals[k]),
        )
        for k, one in enumerate(columns)
    ]


def _feature_ranges(
    columns: Sequence[TableColumn], items: FloatArray, features: Sequence[FeatureRange]
) -> list[FeatureRange]:
    """Each feature of the model, in its own numbers; of levels, that they do not matter here."""
    result = [FeatureRange("", 0.0, 1.0, 1.0, 1)] * items.shape[1]
    for one, feature in zip(columns, features, strict=True):
        if not one.is_category:
            (j,) = one.block
            result[j] = range_of(replace(one, column=FeatureColumn(one.name)), items, feature.distinct != 1)
    return result


def _liking_of_levels(est: PairEstimator, table: ItemTable, one: TableColumn) -> tuple[FloatArray, bool]:
    """(S, L) what each level is worth, of the draws of what predicts; of the estimate without any."""
    items = some_items(table.matrix)
    if isinstance(est, TasteEstimator) and est.posterior_ is not None:
        posterior = thinned(est.posterior_, MOST_DRAWS)
        draws, bumps = level_liking(posterior.scores, items, one.block), posterior.coefficients
        if bumps is not None:
            draws = with_scale_doubt(
                draws, np.abs(bumps).max(axis=1) > 0, float(est._data.answer_weights.sum())
            )
        return draws, True
    return level_liking(est.model_.scores_of, items, one.block)[None], False


def _matters(est: PairEstimator, one: TableColumn) -> bool:
    """Whether the answers show that a category matters; without a posterior, that is not known."""
    described = est.description() if isinstance(est, TasteEstimator) else None
    if described is None or not isinstance(est, TasteEstimator):
        return True
    learned = [k for k, j in enumerate(est._scaler.columns) if j in one.block]
    return bool(learned) and described.matters(learned[0])


def _with_best(feature: FeatureRange, one: FeatureVerdict) -> FeatureVerdict:
    """With the best value in words."""
    if one.verdict == SWEET_SPOT and one.value is not None:
        return replace(one, best=feature.text(one.value))
    end = {MORE: feature.highest, LESS: feature.lowest}.get(one.verdict)
    is_named = feature.role in (YES_NO, ORDERED)
    return replace(one, best=feature.text(end)) if end is not None and is_named else one


def has_pattern(est: PairEstimator) -> bool | None:
    """Whether the answers tell more than a coin's would; None where there is no posterior to tell."""
    described = est.description() if isinstance(est, TasteEstimator) else None
    return None if described is None else described.has_pattern


def _fitted_items(est: PairEstimator, items: ItemTable | None) -> ItemTable:
    data = getattr(est, "_data", None)
    if data is not None:
        table: ItemTable = data.item_table
        return table
    return items_of(est) if items is None else items


def _best_values(
    posterior: Posterior, features: Sequence[FeatureRange], scales: FloatArray, level: float
) -> FloatArray:
    """(d, 2) intervals of the ideal point's coordinates, if all values of items were as probable before.

    The prior holds ideals near the middle for likelier, which with few answers is stronger than what these
    say. So each draw counts by one over the prior density of its coordinate; outside the items, as at their
    end.
    """
    points = posterior.ideal_points[~np.isnan(posterior.ideal_points).any(axis=1)]
    result = np.full((len(features), 2), np.nan)
    for j, feature in enumerate(features):
        if len(points) and feature.distinct != 1:
            values = np.sort(points[:, j].clip(feature.lowest, feature.highest))
            weights = 1 / ideal_density((values - posterior.centre[j]) / scales[j])
            places = (np.cumsum(weights) - weights / 2) / weights.sum()
            result[j] = np.interp([(1 - level) / 2, (1 + level) / 2], places, values)
    return result


def _verdict(
    feature: FeatureRange,
    found: FloatArray,
    weight: float,
    is_small: bool,
    ideal: float,
    interval: FloatArray,
) -> FeatureVerdict:
    """The likeliest, if that is sure; a value and an interval only where there is a best or a worst one."""
    if feature.distinct == 1:
        return FeatureVerdict(feature.name, None, None, None, 0.0, CONSTANT)
    likeliest = int(found.argmax())
    sure = SURE_SLOPE if likeliest in (description.MORE, description.LESS) else SURE_PEAK
    verdict = FOUND[likeliest] if found[likeliest] >= sure else NOT_KNOWN
    if verdict in (SWEET_SPOT, WORST) and not feature.lowest <= ideal <= feature.highest:
        verdict = NOT_KNOWN
    verdict = HARDLY if is_small else verdict
    if verdict not in (SWEET_SPOT, WORST):
        return FeatureVerdict(feature.name, None, None, None, weight, verdict)
    if np.isnan(interval).any():
        return FeatureVerdict(feature.name, ideal, None, None, weight, verdict)
    low, high = np.clip(interval, feature.lowest, feature.highest)
    low, high = float(min(low, ideal)), float(max(high, ideal))
    return FeatureVerdict(feature.name, ideal, low, high, weight, verdict)


def _agreed(one: FeatureVerdict, curve: TasteCurve | None, shape: Shape | None) -> FeatureVerdict:
    """The verdict where a smooth taste counts: its shape, if it surely has one; nothing against its draws."""
    if shape is not None and AGREES.get(shape.kind) == one.verdict:
        return replace(one, shape=shape.words)
    if shape is not None:
        return FeatureVerdict(one.feature, None, None, None, one.share, shape.kind, shape.words)
    leaning = LEANINGS.get(one.shape, one.verdict)
    if curve is None or leaning not in FOUND or _share_that_agrees(one, leaning, curve) >= AGREED:
        return one
    return FeatureVerdict(one.feature, None, None, None, one.share, NOT_KNOWN)


def _with_leanings(
    est: PairEstimator, columns: Sequence[TableColumn], verdicts: Sequence[FeatureVerdict]
) -> list[FeatureVerdict]:
    """Where it is not known what is best, whether at least more or less is better on average."""
    described = est.description() if isinstance(est, TasteEstimator) else None
    if described is None or not isinstance(est, TasteEstimator):
        return list(verdicts)
    leanings = np.zeros(len(est.ideal_point_))
    leanings[est._scaler.columns] = described.leanings
    signs = leanings[[one.block[0] for one in columns]]
    words = {1.0: RATHER_MORE, -1.0: RATHER_LESS}
    return [
        replace(one, shape=words.get(float(sign), "")) if one.verdict == NOT_KNOWN else one
        for one, sign in zip(verdicts, signs, strict=True)
    ]


def _share_that_agrees(one: FeatureVerdict, verdict: str, curve: TasteCurve) -> float:
    """The share of the average's draws that go the way of a verdict, between the ends of what items have."""
    ends = np.quantile(curve.points, [TAIL, 1 - TAIL])
    low, high = curve.draws[:, np.searchsorted(curve.xs, ends).clip(max=len(curve.xs) - 1)].T
    if one.value is None:
        if one.verdict in (MORE, LESS) and _turns_back(verdict, curve, ends):
            return 0.0
        return float((high > low if verdict == MORE else low > high).mean())
    place = int(np.searchsorted(curve.xs, curve.column.number(one.value)))
    at = curve.draws[:, min(place, len(curve.xs) - 1)]
    is_best = (at > low) & (at > high)
    return float((is_best if one.verdict == SWEET_SPOT else (at < low) & (at < high)).mean())


def _turns_back(verdict: str, curve: TasteCurve, ends: FloatArray) -> bool:
    """Whether the mean curve goes against the verdict by a part of its height that is more than chance."""
    begin, end = np.searchsorted(curve.xs, ends)
    mean = curve.draws[:, begin : end + 1].mean(axis=0)
    path = mean if verdict == MORE else mean[::-1]
    return float((np.maximum.accumulate(path) - path).max()) > TURNED * float(np.ptp(mean))


def _probabilities(
    est: PairEstimator, surface: Surface, features: Sequence[FeatureRange], items: FloatArray
) -> FloatArray:
    """(d, 4) probabilities of more, less, sweet spot, worst: by the answers, or by the estimate alone."""
    result, better = np.zeros((len(features), 4)), _better(surface, features, items)
    described = est.description() if isinstance(est, TasteEstimator) else None
    if described is None:
        edge, curved = description.NEARLY_ALL, 2 + (np.diag(surface.scaled_metric) < 0)
        found = np.where(better >= edge, 0, np.where(better <= 1 - edge, 1, curved))
        result[np.arange(len(found)), found] = 1.0
    else:
        assert isinstance(est, TasteEstimator)
        result[est._scaler.columns] = described.shapes
    # Between yes and no there is no ideal.
    two = np.array([feature.distinct == 2 for feature in features])
    result[two] = np.stack([better, 1 - better, 0 * better, 0 * better], axis=1)[two]
    return result


def _better(surface: Surface, features: Sequence[FeatureRange], items: FloatArray) -> FloatArray:
    """Share of draws and items for which more of each feature is better.

    Of a feature with two values: share of draws in which the one is better than the other on average.
    """
    some, draws = items[:: max(1, -(-len(items) // SAMPLE))], surface.posterior
    if draws is None:
        gradient, metrics = surface.gradient(some)[None] / 2, surface.model.metric[None]
    else:
        metrics = draws.metrics
        gradient = (some - draws.centre) @ metrics - draws.linears[:, None, :]
    # From one value to the other: the slope halfway between them.
    halfway = np.array([(feature.lowest + feature.highest) / 2 for feature in features])
    average = gradient.mean(axis=1) + np.diagonal(metrics, axis1=1, axis2=2) * (halfway - some.mean(axis=0))
    two = np.array([feature.distinct == 2 for feature in features])
    result: FloatArray = np.where(two, (average < 0).mean(axis=0), (gradient < 0).mean(axis=(0, 1)))
    return result
