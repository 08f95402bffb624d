"""The thresholds of rating scales: in order, from unknowns that are free.

A rating is the number of thresholds t_1 > ... > t_K of its scale that an item passes, all with one noise
(proportional odds): of an item with score s, P(rating >= k) = sigma(t_k - s). The unknowns of a scale are its
middle threshold and what the gaps on either side of it come from, g log(1 + e^x) with x normal, so thresholds
cannot cross. The x have something in common: how consistent somebody is, which stretches scores and gaps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
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
MOST = 80.0
"""Logits whose odds are still finite in single precision."""


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
            sizes[own[place != middle]] = gap_size(len(own))
        gaps = np.flatnonzero(~np.isnan(sizes))
        # The symmetric root of GAP_WIDTH^2 I + COMMON_WIDTH^2 11'.
        common = math.sqrt(GAP_WIDTH**2 + COMMON_WIDTH**2 * len(gaps)) - GAP_WIDTH
        mixed[np.ix_(gaps, gaps)] = GAP_WIDTH * np.eye(len(gaps)) + common / max(len(gaps), 1)
        return cls(sums, mixed, sizes)

    @property
    def are_gaps(self) -> NDArray[np.bool_]:
        """Which terms are gaps."""
        return ~np.isnan(self.sizes)

    def terms(self, y: Matrix) -> Matrix:
        """(C, n) places and gaps, from unknowns."""
        values: Matrix = y @ self.mixed.T.astype(y.dtype)
        gaps = self._gaps
        x = GAP_CENTRE + values[:, gaps]
        values[:, gaps] = self.sizes[gaps].astype(y.dtype) * (np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))
        return values

    def term_slopes(self, y: Matrix) -> Matrix:
        """(C, n) slopes of the terms along what they come from."""
        gaps = self._gaps
        slopes: Matrix = np.ones_like(y)
        x = y @ self.mixed.T[:, gaps].astype(y.dtype)
        # Of log(1 + e^x) it is sigma(x).
        small = np.exp(np.minimum(-GAP_CENTRE - x, MOST))
        slopes[:, gaps] = self.sizes[gaps].astype(y.dtype) / (1 + small)
        return slopes

    @cached_property
    def _gaps(self) -> Index:
        return np.flatnonzero(self.are_gaps)

    def scores(self, y: Matrix) -> Matrix:
        """(C, n) scores of the anchors."""
        result: Matrix = self.terms(y) @ self.sums.T.astype(y.dtype)
        return result

    def pulled(self, y: Matrix, to_scores: Matrix) -> Matrix:
        """(C, n) slopes along the unknowns, from those along the scores."""
        to_terms = (to_scores @ self.sums.astype(y.dtype)) * self.term_slopes(y)
        result: Matrix = to_terms @ self.mixed.astype(y.dtype)
        return result

    def jacobian(self, y: Matrix) -> Matrix:
        """(C, n, n) slopes of the scores along the unknowns."""
        result: Matrix = (self.sums * self.term_slopes(y)[:, None, :]) @ self.mixed
        return result


def gap_size(n_steps: int) -> float:
    """Of gaps on a scale with so many thresholds."""
    return SCALE_LENGTH / n_steps / math.log1p(math.exp(GAP_CENTRE))
