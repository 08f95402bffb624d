"""What is worth what at one item, where slopes are known and agree with what is wanted of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from coombs.insights.statements import (
    LEANINGS,
    LESS,
    MORE,
    SWEET_SPOT,
    FeatureRange,
    FeatureVerdict,
    TradeOff,
)
from coombs.words import round_number

if TYPE_CHECKING:
    from coombs.data.tables import FloatArray
    from coombs.inference.posterior import Posterior
    from coombs.model import Model

SMALL_STEP = 1e-3
"""Step of the finite differences that slopes are computed by, in spreads of the features."""
SURE = 0.95
"""Probability from which on the sign of a slope at an item is known."""
VERY_SURE = 0.995
"""Probability from which on the sign of a slope is known where only an average direction is known."""
MOST_TRADE_OFFS = 6
"""Trade-offs that are told, at most."""
STRONGEST = 5
"""Features that trade-offs are between, at most."""
NO_SLOPE = 0.01
"""Slopes below this share of the largest are none."""
LEAST_CHANGE = 0.01
"""Changes below this share of the range are nothing."""
BENT = 0.25
"""How far from a straight line a trade-off may be, as a share of the gain."""
VAGUE_RATIO = 4.0
"""A trade-off with an end of its interval more than this factor away is not told."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """What one unit more of each feature costs at an item, of what predicts and ranks: the average itself.

    By central differences of the scores, which are exact where these are quadratic: (d,) of the estimate, and
    (S, d) of the draws, or of the estimate alone where there are none.
    """

    model: Model
    x: FloatArray
    estimate: FloatArray
    draws: FloatArray
    has_draws: bool

    @classmethod
    def at(cls, x: FloatArray, model: Model, posterior: Posterior | None, scales: FloatArray) -> Slopes:
        """At an item with these features."""
        steps = SMALL_STEP * np.where(scales > 0, scales, 1.0)
        around = np.concatenate([x + np.diag(steps), x - np.diag(steps)])

        def slope(scores: FloatArray) -> FloatArray:
            ahead, behind = np.split(scores, 2, axis=-1)
            result: FloatArray = (ahead - behind) / (2 * steps)
            return result

        estimate = slope(model.scores_of(around))
        draws = estimate[None] if posterior is None else slope(posterior.scores(around))
        return cls(model, x, estimate, draws, posterior is not None)

    def bend(self, pair: tuple[int, int], moves: FloatArray) -> float:
        """By how much the score changes where, were it straight, it would not."""
        moved = self.x.copy()
        moved[list(pair)] += moves
        before, after = self.model.scores_of(np.stack([self.x, moved]))
        return abs(float(after - before))


def trade_offs_at(
    slopes: Slopes,
    scales: FloatArray,
    features: Sequence[FeatureRange],
    verdicts: Sequence[FeatureVerdict],
    level: float,
) -> tuple[TradeOff, ...]:
    """Between known features whose slopes at x are known, the strongest first."""
    strongest, strength = known_slopes(slopes, scales, features, verdicts), np.abs(slopes.estimate) * scales
    pairs = [(a, b) for k, a in enumerate(strongest) for b in strongest[k + 1 :]]
    pairs.sort(key=lambda pair: -strength[pair[0]] * strength[pair[1]])
    told = (
        _trade_off(slopes, features, (b, a), level)
        # A gain of the weaker feature costs less of the stronger one.
        or _trade_off(slopes, features, (a, b), level)
        for a, b in pairs
    )
    return tuple(islice((one for one in told if one is not None), MOST_TRADE_OFFS))


def known_slopes(
    slopes: Slopes,
    scales: FloatArray,
    features: Sequence[FeatureRange],
    verdicts: Sequence[FeatureVerdict],
) -> list[int]:
    """The features that count most at x, of those whose slopes there are known, the strongest first."""
    gradient, draws = slopes.estimate, slopes.draws
    strength = np.abs(gradient) * scales * [feature.distinct != 1 for feature in features]
    return [
        int(j)
        for j in np.argsort(-strength, kind="stable")[:STRONGEST]
        if strength[j] > NO_SLOPE * strength.max() and _is_known(gradient[j], draws[:, j], verdicts[j])
    ]


def _is_known(slope: float, draws: FloatArray, one: FeatureVerdict) -> bool:
    """Whether it is known what is better there, and the verdict says nothing else."""
    said = LEANINGS.get(one.shape, one.verdict)
    against = {MORE: slope > 0, LESS: slope < 0}.get(said, said != SWEET_SPOT)
    sure = VERY_SURE if one.shape in LEANINGS else SURE
    return bool(not against and (np.sign(draws) == np.sign(slope)).mean() >= sure)


def _trade_off(
    slopes: Slopes, features: Sequence[FeatureRange], pair: tuple[int, int], level: float
) -> TradeOff | None:
    """A change of a for the better, and the change of b for the worse that it is worth; None if too vague."""
    (a, b), gradient, draws = pair, slopes.estimate, slopes.draws
    one, other = features[a], features[b]
    if other.distinct == 2:
        return None
    alike = (np.sign(draws[:, list(pair)]) == np.sign(gradient[list(pair)])).all(axis=1)
    ratios = draws[alike, a] / draws[alike, b]
    for step in _steps(one):
        gain = -float(np.sign(gradient[a])) * step
        cost = float(-gradient[a] / gradient[b]) * gain
        if not LEAST_CHANGE <= abs(cost) / other.range <= 1:
            return None
        if slopes.bend(pair, np.array([gain, cost])) > BENT * abs(gradient[a] * gain):
            continue
        if not slopes.has_draws:
            return TradeOff(one.name, gain, other.name, cost)
        # Half as much is left out, as only those are told whose draws agree.
        low, high = np.quantile(np.abs(ratios * gain), [(1 - level) / 4, (3 + level) / 4])
        if not abs(cost) / VAGUE_RATIO < low <= high < abs(cost) * VAGUE_RATIO:
            return None
        sign = float(np.sign(cost))
        return TradeOff(one.name, gain, other.name, cost, sign * float(low), sign * float(high))
    return None


def _steps(feature: FeatureRange) -> list[float]:
    """Round numbers from about a tenth of the range downwards; whole ones of what is counted."""
    if feature.distinct == 2:
        return [feature.range]
    sizes = [round_number(feature.range / 10 / 2**k) for k in range(5)]
    return ([size for size in sizes if size >= 1] or [1.0]) if feature.whole else sizes
