"""Probabilities of answers, and what their slopes are computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from coombs.data.graph import Matrix
    from coombs.data.rival_sets import Shares


class AnswerProbabilities(NamedTuple):
    """Of each answer at each point: p and sigma; and each member's share of its set of rivals.

    Of ties, and of ratings between two thresholds: q's slopes along the head start, and half of the gap.
    """

    p: Matrix
    sigma: Matrix
    shares: Shares | None
    of_ties: Matrix | None = None
    of_bands: Matrix | None = None


def tied(margin: Matrix, half: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """q that a win is by less than half either way, q'/q along the margin, and q's slope along half.

    q = 1 - sigma(e - h) - sigma(-e - h) = (e^2h - 1) sigma(e - h) sigma(-e - h).
    """
    first, second = expit(margin - half), expit(-margin - half)
    q = np.expm1(2 * half) * first * second
    to_half = first * expit(half - margin) + second * expit(half + margin)
    return q, second - first, to_half
