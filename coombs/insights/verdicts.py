"""What is wanted of each feature: decided once, here, for words, tables and pictures alike.

By Bayes factors where there is a posterior, so that nothing is said which only the prior says; by the
estimate alone where there is none. Where a smooth taste counts, its draws must agree; and a shape that it
surely has and no ideal has decides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.scaling import Scaler
from coombs.estimators import description
from coombs.estimators.taste import TasteEstimator
from coombs.inference.kind import ideal_density
from coombs.insights.curves import TasteCurve, importance, is_averaged, taste_curves_data
from coombs.insights.selection import feature_ranges, items_of, names_of
from coombs.insights.shapes import TAIL, shapes_of
from coombs.insights.statements import (
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
    Shape,
)
from coombs.insights.surface import Surface

if TYPE_CHECKING:
    from collections.abc import Sequence

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
AGREED = 0.9
"""Share of an average's draws that must agree with a verdict on its ideal-point description."""
AGREES = {DROP: LESS, LEVELS_BELOW: LESS, RISE: MORE, LEVELS_ABOVE: MORE}
"""The verdict that a shape agrees with; two peaks agree with none."""


def fitted_features(est: PairEstimator, items: ItemTable | None = None) -> tuple[FeatureRange, ...]:
    """The features as the fitted items have them."""
    matrix = _fitted_items(est, items).matrix
    varies = Scaler.of(matrix, standardize=True).varies
    return tuple(feature_ranges(matrix, names_of(est), varies))


def judged(
    est: PairEstimator, level: float, items: ItemTable | None = None
) -> tuple[tuple[FeatureVerdict, ...], tuple[Shape, ...]]:
    """The verdict on each feature, and the shapes of the taste that no ideal has.

    `items` are looked at where the estimator does not know those that were compared.
    """
    table, features = _fitted_items(est, items), fitted_features(est, items)
    if isinstance(est, TasteEstimator) and est.kind_ == "items":
        # No feature varies.
        return tuple(FeatureVerdict(one.name, None, None, None, 0.0, CONSTANT) for one in features), ()
    surface = Surface.of(est)
    weights, ends = importance(est, table.matrix, level)
    most = weights if ends is None else ends[:, 1]
    found = _probabilities(est, surface, features, table.matrix)
    intervals = np.full((len(features), 2), np.nan)
    if surface.posterior is not None:
        intervals = _best_values(surface.posterior, features, surface.scales, level)
    verdicts = [
        _verdict(
            features[j], found[j], float(weights[j]), bool(most[j] < SMALL_WEIGHT), float(ideal), interval
        )
        for j, (ideal, interval) in enumerate(zip(surface.ideal, intervals, strict=True))
    ]
    if has_pattern(est) is False:
        none = (FeatureVerdict(one.feature, None, None, None, one.share, NOT_KNOWN) for one in verdicts)
        return tuple(none), ()
    verdicts = _with_leanings(est, features, verdicts)
    if not is_averaged(est):
        return tuple(verdicts), ()
    curves = {curve.feature: curve for curve in taste_curves_data(est, items=table)}
    shapes = {shape.feature: shape for shape in shapes_of(est, tuple(curves.values()))}
    agreed = (_agreed(one, curves.get(one.feature), shapes.get(one.feature)) for one in verdicts)
    return tuple(agreed), tuple(shapes.values())


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
    est: PairEstimator, features: Sequence[FeatureRange], verdicts: Sequence[FeatureVerdict]
) -> list[FeatureVerdict]:
    """Where it is not known what is best, whether at least more or less is better on average."""
    described = est.description() if isinstance(est, TasteEstimator) else None
    if described is None:
        return list(verdicts)
    signs = np.zeros(len(features))
    signs[[feature.distinct != 1 for feature in features]] = described.leanings
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
    at = curve.draws[:, min(int(np.searchsorted(curve.xs, one.value)), len(curve.xs) - 1)]
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
        result[[feature.distinct != 1 for feature in features]] = described.shapes
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
