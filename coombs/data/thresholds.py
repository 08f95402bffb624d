"""The thresholds of rating scales: in order, from unknowns that are free.

A rating is the number of thresholds t_1 > ... > t_K of its scale that an item passes, all with one noise
(proportional odds): of an item with score s, P(rating >= k) = sigma(t_k - s). The unknowns of a scale are its
middle threshold and what the gaps on either side of it come from, g log(1 + e^x) with x normal, so thresholds
cannot cross. The x have something in common: how consistent somebody is, which stretches scores and gaps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coombs.data.graph import Index, Matrix, Vector

ANCHOR_WIDTH = 3.0
"""Prior deviation of the score of an anchor (the middle threshold of a scale, "none of these"), in logits."""
SCALE_LENGTH = 6.0
"""Number of a scale's thresholds times the prior median of a gap between two of them, in logits."""
GAP_CENTRE = 1.0
"""Prior centre of the x that a gap comes from."""
GAP_WIDTH = 1.0
"""Prior deviation of each x, beside what all have in common."""
COMMON_WIDTH = 1.5
"""Prior deviation of what all x have in common."""
FARTHEST = 12.0
"""Thresholds of integrals are no farther from the items, in logits."""


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Scores of anchors as `sums` of a term each: a place, or the gap beside another anchor.

    Terms come from `mixed` unknowns, which are standard normal a priori; `sizes` are those of the gaps, NaN
    of places.
    """

    sums: Matrix
    mixed: Matrix
    sizes: Vector

    @classmethod
    def of(cls, scales: Index, cumulative: bool) -> Thresholds:
        """Of anchors; `scales` says which rating scale each belongs to, -1 if to none."""
        n = len(scales)
        sums, mixed, sizes = np.eye(n), ANCHOR_WIDTH * np.eye(n), np.full(n, math.nan)
        for scale in np.unique(scales[scales >= 0]) if cumulative else ():
            own = np.flatnonzero(scales == scale)
            place, middle = np.arange(len(own)), len(own) // 2
            # The first threshold is the easiest to pass: its score is the highest.
            above = (place[:, None] <= place) & (place < middle)
            below = (place[:, None] >= place) & (place > middle)
            block = above.astype(float) - below
            block[:, middle] = 1.0
            sums[np.ix_(own, own)] = block
            sizes[own[place != middle]] = _size(len(own))
        gaps = np.flatnonzero(~np.isnan(sizes))
        # The symmetric root of GAP_WIDTH^2 I + COMMON_WIDTH^2 11'.
        common = math.sqrt(GAP_WIDTH**2 + COMMON_WIDTH**2 * len(gaps)) - GAP_WIDTH
        mixed[np.ix_(gaps, gaps)] = GAP_WIDTH * np.eye(len(gaps)) + common / max(len(gaps), 1)
        return cls(sums, mixed, sizes)

    @property
    def are_gaps(self) -> NDArray[np.bool_]:
        """Which terms are gaps."""
        return ~np.isnan(self.sizes)

    def terms(self, y: Matrix) -> tuple[Matrix, Matrix]:
        """(C, n) places and gaps, from unknowns; and their slopes along what they come from."""
        values: Matrix = y @ self.mixed.T.astype(y.dtype)
        slopes, gaps = np.ones_like(values), self.are_gaps
        if gaps.any():
            x, size = GAP_CENTRE + values[:, gaps], self.sizes[gaps].astype(y.dtype)
            values[:, gaps] = size * np.logaddexp(0, x)
            slopes[:, gaps] = size * _sigma(x)
        return values, slopes

    def scores(self, y: Matrix) -> Matrix:
        """(C, n) scores of the anchors."""
        result: Matrix = self.terms(y)[0] @ self.sums.T.astype(y.dtype)
        return result

    def pulled(self, y: Matrix, to_scores: Matrix) -> Matrix:
        """(C, n) slopes along the unknowns, from those along the scores."""
        to_terms = (to_scores @ self.sums.astype(y.dtype)) * self.terms(y)[1]
        result: Matrix = to_terms @ self.mixed.astype(y.dtype)
        return result

    def jacobian(self, y: Matrix) -> Matrix:
        """(C, n, n) slopes of the scores along the unknowns."""
        result: Matrix = (self.sums * self.terms(y)[1][:, None, :]) @ self.mixed
        return result


def _size(n_steps: int) -> float:
    """Of gaps on a scale with so many thresholds."""
    return SCALE_LENGTH / n_steps / math.log1p(math.exp(GAP_CENTRE))


def log_chance_of_ratings(counts: Sequence[Vector], lapse: float) -> float:
    """log of how likely so many ratings of each level of each scale are where all items are alike.

    Over all thresholds, and what their gaps have in common. Points of integrals are about as far apart as a
    deviation of what is integrated over.
    """
    # The storages, which know the shapes of answers, go without scipy.
    from scipy.interpolate import CubicSpline

    if not counts:
        return 0.0
    n_gaps = sum(len(own) - 2 for own in counts)
    common, result = _normal_nodes(1 / math.sqrt(1 + n_gaps * (COMMON_WIDTH / GAP_WIDTH) ** 2))
    few = np.linspace(-4.0, 4.0, 9)
    for own in counts:
        result = result + CubicSpline(few, [_log_chance_of_scale(own, lapse, at) for at in few])(common)
    return float(np.logaddexp.reduce(result))


def _log_chance_of_scale(counts: Vector, lapse: float, common: float) -> float:
    """The same of one scale, given what gaps have in common, in prior deviations.

    From the middle threshold outwards, each is integrated over given the one before it.
    """
    n_steps = len(counts) - 1
    step = _step(2.5, float(counts.sum()), 0.3)
    grid = np.linspace(-FARTHEST, FARTHEST, 1 + math.ceil(2 * FARTHEST / step))
    prior = -((grid / ANCHOR_WIDTH) ** 2) / 2
    points, weights = _normal_nodes(_step(2.5, float(counts.max()), 1.0))
    x = GAP_CENTRE + COMMON_WIDTH * common + GAP_WIDTH * points
    gaps, middle = (_size(n_steps) * np.logaddexp(0, x), weights), n_steps // 2
    # Levels below the middle threshold, from the lowest on; those above it, from the highest on.
    below = _outwards(counts[: middle + 1], gaps, lapse, lapse / len(counts), grid)
    above = _outwards(counts[middle + 1 :][::-1], gaps, lapse, lapse / len(counts), grid)[::-1]
    return float(np.logaddexp.reduce(below + above + prior) - np.logaddexp.reduce(prior))


def _step(size: float, count: float, most: float) -> float:
    """Between points of an integral over what so many ratings tell."""
    return float(np.clip(size / math.sqrt(max(count, 1.0)), most / 5, most))


def _normal_nodes(step: float) -> tuple[Vector, Vector]:
    """Points of a standard normal, a step apart, and their log weights."""
    points = np.linspace(-4.0, 4.0, 1 + math.ceil(8 / step))
    logs = -(points**2) / 2
    return points, logs - np.logaddexp.reduce(logs)


def _outwards(
    counts: Vector, gaps: tuple[Vector, Vector], lapse: float, chance: float, grid: Vector
) -> Vector:
    """log of how likely these levels are, the outermost first, by the threshold that they are all beyond.

    As if they were the lowest, which are beyond a threshold at t with probability sigma(-t). `gaps` are some,
    and their log weights.
    """
    from scipy.interpolate import CubicSpline

    result: Vector = counts[0] * np.log(chance + (1 - lapse) * _sigma(-grid))
    for count in counts[1:]:
        # sigma(-t) - sigma(-t - gap).
        level = -np.expm1(-gaps[0]) * _sigma(-grid)[:, None] * _sigma(grid[:, None] + gaps[0])
        outer = CubicSpline(grid, result)(np.minimum(grid[:, None] + gaps[0], FARTHEST))
        logs = count * np.log(chance + (1 - lapse) * level) + outer + gaps[1]
        result = np.logaddexp.reduce(logs, axis=1)
    return result


def _sigma(x: Matrix) -> Matrix:
    result: Matrix = 1 / (1 + np.exp(-x))
    return result
