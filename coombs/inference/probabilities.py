"""Probabilities of answers, and what their slopes are computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from coombs.data.graph import Matrix
    from coombs.data.rival_sets import Shares

MOST = 80.0
"""Logits beyond which a probability is one, in single precision."""


class AnswerProbabilities(NamedTuple):
    """Of each answer at each point: p and sigma; and each member's share of its set of rivals.

    Of ties, and of ratings between two thresholds: q's slopes along the head start, and half of the gap.
    """

    p: Matrix
    sigma: Matrix
    shares: Shares | None
    of_ties: Matrix | None = None
    of_bands: Matrix | None = None


def tied(margin: Matrix, half: Matrix, of: Any = ...) -> tuple[Matrix, Matrix, Matrix]:
    """q that a win is by less than half either way, q'/q along the margin, and q's slope along half.

    `of` says which row of half each margin has, if not its own.

    q = 1 - sigma(e - h) - sigma(-e - h) = (1 - e^-2h) sigma(h - e) sigma(h + e).
    """
    # e^(e - h) and e^(-e - h).
    small, second = np.exp(-half)[of], np.exp(np.clip(margin, -MOST, MOST))
    first = small * second
    np.divide(small, second, out=second)
    one, other = 1 / (1 + first), 1 / (1 + second)
    q = one * other
    q *= -np.expm1(-2 * half)[of]
    first *= one
    second *= other
    slopes = second - first
    first *= one
    second *= other
    first += second
    return q, slopes, first
