"""Shapes of the average along single features: what an ideal point does not have and the draws support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.encoding import LOG, NUMBER
from coombs.insights.curves import TasteCurve, is_averaged
from coombs.insights.statements import DROP, LEVELS_ABOVE, LEVELS_BELOW, RISE, TWO_PEAKS, WORST, Shape
from coombs.words import round_number

if TYPE_CHECKING:
    from coombs.data.tables import FloatArray
    from coombs.estimators.taste import TasteEstimator

SURE = 0.95
"""Share of the draws that must have a shape."""
TAIL = 0.05
"""Share of the items at either end that shapes leave out: there is little to learn from there."""
LEAST_VALUES = 8
"""Values that a feature must have."""
QUARTER = 0.25
"""Part of the items' range within which a drop happens."""
MOST_OF_IT = 0.5
"""Part of the change from one end of a curve to the other that a drop has."""
BEFORE_AND_AFTER = 0.5
"""Slope before and after a drop, over that of the drop, at most."""
RETURN = 0.3
"""Part of the height by which a curve may come back before or after a drop."""
EDGE = 0.1
"""Part of the range before and after a drop, at least; a highest place nearer to an end is no peak."""
LEVEL = 1 / 3
"""Gain over the best third of the range, over that of the worst third, where a curve levels off, at most."""
PAST_PEAK = 0.2
"""Part of the height by which a curve that levels off may fall before or after."""
FALL = 0.05
"""Part of the height by which a curve that levels off may fall where the draws are sure that it falls."""
REACHED = 0.85
"""Part of the height from which on a curve that levels off is level."""
DIP = 0.25
"""Part of the height by which a curve falls between two peaks, at least."""


def shapes_of(est: TasteEstimator, curves: Sequence[TasteCurve]) -> tuple[Shape, ...]:
    """The shape that each curve surely has, if any; none without a pattern or a smooth taste."""
    described = est.description()
    if described is None or not described.has_pattern or not is_averaged(est):
        return ()
    return tuple(shape for curve in curves if (shape := _shape(curve)) is not None)


def _shape(curve: TasteCurve) -> Shape | None:
    if len(np.unique(curve.points)) < LEAST_VALUES or curve.column.role not in (NUMBER, LOG):
        return None
    low, high = np.quantile(curve.points, [TAIL, 1 - TAIL])
    inner = (curve.xs >= low) & (curve.xs <= high)
    xs, draws = curve.xs[inner], curve.draws[:, inner]
    # A quarter of the range of all items.
    width = round(QUARTER * (len(curve.xs) - 1))
    for kind, places, share in (_two_peaks(draws), _drop(draws, width), _levels_off(draws)):
        if share >= SURE:
            step = round_number(float(np.ptp(curve.points)) / 40)
            at = tuple(round(float(xs[place]) / step) * step for place in places)
            if curve.column.role == LOG:
                at = tuple(float(f"{np.exp(xs[place]):.2g}") for place in places)
            return Shape(curve.feature, kind, at, float(share))
    return None


Found = tuple[str, tuple[int, ...], float]
"""A shape, its places on the grid, and the share of the draws that have it."""


def _two_peaks(draws: FloatArray) -> Found:
    """Two peaks, or the worst in the middle where both are at the ends; places by the mean of the draws.

    Both are at least DIP of the height above what lies between them.
    """
    mean = draws.mean(axis=0)
    left, right = np.maximum.accumulate(mean), np.maximum.accumulate(mean[::-1])[::-1]
    low = int((np.minimum(left, right) - mean).argmax())
    first, second = int(mean[: low + 1].argmax()), low + int(mean[low:].argmax())
    dip = np.minimum(draws[:, first], draws[:, second]) - draws[:, low]
    share = float((dip > DIP * np.ptp(draws, axis=1)).mean())
    edge = EDGE * (len(mean) - 1)
    if first <= edge and second >= len(mean) - 1 - edge:
        # It goes up to both ends: these are no peaks, the middle is a valley.
        return WORST, (low,), share
    return TWO_PEAKS, (first, second), share


def _drop(draws: FloatArray, width: int) -> Found:
    """Most of the change within a window, and the mean of the draws flatter before and after it."""
    mean, n = draws.mean(axis=0), draws.shape[1]
    edge = max(2, round(EDGE * (n - 1)))
    begins = np.arange(edge, n - width - edge)
    if not len(begins):
        return DROP, (0,), 0.0
    begin = int(begins[np.abs(mean[begins + width] - mean[begins]).argmax()])
    end = begin + width
    sign = 1.0 if mean[end] > mean[begin] else -1.0
    up, height = sign * mean, float(np.ptp(mean))
    slopes = np.array([up[begin] - up[0], up[-1] - up[end]]) / [begin, n - 1 - end]
    back = max(up[: begin + 1].max() - up[begin], up[end] - up[end:].min())
    if slopes.max() > BEFORE_AND_AFTER * (up[end] - up[begin]) / width or back > RETURN * height:
        return DROP, (0,), 0.0
    change, whole = (sign * (draws[:, b] - draws[:, a]) for a, b in ((begin, end), (0, -1)))
    halfway = begin + int(np.abs(up[begin : end + 1] - (up[begin] + up[end]) / 2).argmin())
    share = float(((change > 0) & (change >= MOST_OF_IT * whole)).mean())
    return RISE if sign > 0 else DROP, (halfway,), share


def _levels_off(draws: FloatArray) -> Found:
    """From the worst end to the best, over the last third hardly any gain, and no peak before the end."""
    n, is_more = draws.shape[1], bool(draws[:, -1].mean() > draws[:, 0].mean())
    up = draws if is_more else draws[:, ::-1]
    mean, third = up.mean(axis=0), n // 3
    height = float(np.ptp(mean))
    reached = int((mean - mean[0] >= REACHED * (mean.max() - mean[0])).argmax())
    kind, place = (LEVELS_ABOVE, reached) if is_more else (LEVELS_BELOW, n - 1 - reached)
    if mean.max() - mean[-1] > PAST_PEAK * height or mean[0] - mean.min() > PAST_PEAK * height:
        return kind, (place,), 0.0
    fall = up[:, int(mean.argmax())] - up[:, -1]
    if fall.mean() > FALL * height and (fall > 0).mean() >= SURE:
        # It surely falls again: that is a peak.
        return kind, (place,), 0.0
    first, last = up[:, third] - up[:, 0], up[:, -1] - up[:, -1 - third]
    return kind, (place,), float(((first > 0) & (last < LEVEL * first)).mean())
