"""Whether a column of positive numbers predicts answers better as it is or on a log scale, by the evidence.

The log evidence of a model is the sum of the log probabilities that it gives to each answer after those
before it, in whatever order: of two scales of a column, the one with more of it predicts better. It is taken,
by Laplace's approximation, of a taste that bends along each column by itself,

    s(x) = sum_j a_j z_j + b_j (z_j^2 - 1),   a_j ~ N(0, A^2),   b_j ~ N(0, B^2),

z the standardised columns, levels of categories having a_j only, and averaged over a few sizes A and B.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logsumexp

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.tables import Levels

LINEAR_SIZES = (0.5, 1.5, 4.5)
"""Sizes A of the slopes, in logits a deviation, that the evidence is averaged over."""
BENT_SIZES = (0.1, 0.4, 1.6)
"""Sizes B of the bends."""
LAPSE = 0.02
"""Share of answers taken to be given at random, so that no single answer decides."""
MOST_STEPS = 30
"""Steps of Fisher scoring, at most."""
CONVERGED = 1e-9
"""Gain of the log density below which they end."""
FEWEST_HALVINGS = 12
"""Halvings of a step that gains nothing, at most."""


@dataclass(frozen=True, eq=False)
class WonPairs:
    """Answers as pairs, winner first, of which each counts by its weight."""

    winners: Index
    losers: Index
    weights: Vector


def log_evidence(items: Matrix, levels: Levels, pairs: WonPairs) -> float:
    """log of how likely the answers are, of items in these columns."""
    linear, bent = _columns(items, levels)
    rows = np.hstack([linear, bent])
    moves = rows[pairs.losers] - rows[pairs.winners]
    found = [
        _laplace(moves, np.repeat([slope, bend], [linear.shape[1], bent.shape[1]]), pairs.weights)
        for slope, bend in product(LINEAR_SIZES, BENT_SIZES)
    ]
    return float(logsumexp(found) - np.log(len(found)))


def _columns(items: Matrix, levels: Levels) -> tuple[Matrix, Matrix]:
    """Standardised columns, and the squares of those that are numbers."""
    is_level = np.zeros(items.shape[1], dtype=bool)
    is_level[[j for block in levels.blocks for j in block]] = True
    deviation = items.std(axis=0)
    varies = deviation > 0
    z = (items - items.mean(axis=0)) / np.where(varies, deviation, 1.0)
    linear = np.where(is_level, items - items.mean(axis=0), z)[:, varies]
    bent = z[:, varies & ~is_level] ** 2 - 1
    return linear, bent


def _laplace(moves: Matrix, sizes: Vector, weights: Vector) -> float:
    """log of the integral of likelihood times prior, by a Gaussian about the mode."""
    rows = moves * sizes
    y = np.zeros(rows.shape[1])
    value, slope, curvature = _density(rows, y, weights)
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(curvature, slope)
        for _ in range(FEWEST_HALVINGS):
            after = _density(rows, y + step, weights)
            if after[0] >= value:
                break
            step /= 2
        else:
            break
        gain, y = after[0] - value, y + step
        value, slope, curvature = after
        if gain < CONVERGED:
            break
    return value - float(np.linalg.slogdet(curvature)[1]) / 2


def _density(rows: Matrix, y: Vector, weights: Vector) -> tuple[float, Vector, Matrix]:
    """log density of answers and unknowns at y, but for a constant; its slope; the expected curvature.

    An answer of margin m has p = LAPSE / 2 + (1 - LAPSE) sigma(m), the unknowns a standard Gaussian prior.
    """
    sigma = expit(rows @ y)
    p = LAPSE / 2 + (1 - LAPSE) * sigma
    rate = (1 - LAPSE) * sigma * (1 - sigma)
    value = float(weights @ np.log(p) - y @ y / 2)
    slope = rows.T @ (weights * rate / p) - y
    # Fisher's information of a coin with probability p is (dp/dm)^2 / (p (1 - p)).
    curvature = (rows.T * (weights * rate**2 / (p * (1 - p)))) @ rows + np.eye(len(y))
    return value, slope, curvature
