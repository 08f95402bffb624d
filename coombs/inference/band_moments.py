"""Expectations of ratings between two thresholds.

Of the margin e between an item and the middle of its two thresholds, and half of their gap h, a rating has
log q = log sigma(e - h) + log sigma(-e - h) + log(e^2h - 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from coombs.data.rival_sets import BandRatings, Choices
from coombs.inference.set_design import ChoiceMoments, expect_choices
from coombs.inference.variational import NODE_WEIGHTS, NODES

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector

LEAST_HALF = 1e-3
"""Half of the least gap between two thresholds, in logits."""
TO_MIDDLE = np.array([-1.0, 0.5, 0.5])
"""From an item and two thresholds to the margin e."""
TO_HALF = np.array([0.0, 0.5, -0.5])
"""The same to h."""
_MIXED = np.outer(TO_MIDDLE, TO_HALF)
BLOCKS = np.array([np.outer(TO_MIDDLE, TO_MIDDLE), _MIXED + _MIXED.T, np.outer(TO_HALF, TO_HALF)])
"""From curvatures along e, along both and along h to those along the item and the thresholds."""


def expect_bands(
    mean: Matrix, covariance: Matrix, chance: Matrix | float, lapse: Matrix | float
) -> ChoiceMoments:
    """Of ratings whose item and thresholds have (P, 3) means and (P, 3, 3) covariances.

    Along the gap, which cannot be normal, to second order. Chances and lapses are one for all, or a column.
    """
    nodes, shares = (NODES, NODE_WEIGHTS) if covariance.any() else (np.zeros(1), np.ones(1))
    spread = covariance.reshape(-1, 9) @ BLOCKS.reshape(3, 9).T
    half = np.maximum(mean @ TO_HALF, LEAST_HALF)[:, None]
    margin = (mean @ TO_MIDDLE)[:, None] + np.sqrt(np.maximum(spread[:, :1], 0.0)) * nodes
    first, second = expit(margin - half), expit(-margin - half)
    q = np.expm1(2 * half) * first * second
    p = np.maximum(lapse * chance + (1 - lapse) * q, 1e-300)
    careful = (1 - lapse) * q / p
    # The first slopes of log q, and minus the second ones.
    along, apart = second - first, first + second + 1 / np.tanh(half) - 1
    curved = first * (1 - first), second * (1 - second)
    both, doubt = curved[0] + curved[1], 1 - careful
    curvature = np.stack(
        [
            careful * (both - doubt * along**2),
            careful * (curved[1] - curved[0] - doubt * along * apart),
            careful * (both + 1 / np.sinh(half) ** 2 - doubt * apart**2),
        ],
        axis=-1,
    )
    sizes = shares @ curvature
    slope = np.outer((careful * along) @ shares, TO_MIDDLE) + np.outer((careful * apart) @ shares, TO_HALF)
    log_p = np.log(p) @ shares - (sizes[:, 1:] * spread[:, 1:]).sum(axis=1) / 2
    blocks = (sizes @ BLOCKS.reshape(3, 9)).reshape(-1, 3, 3)
    is_concave = (sizes[:, 0] >= 0) & (sizes[:, 0] * sizes[:, 2] >= sizes[:, 1] ** 2)
    return ChoiceMoments(p @ shares, log_p, slope, blocks, ((chance - q) / p) @ shares, is_concave)


def expect_group(mean: Matrix, spread: Matrix, group: Choices | BandRatings, lapses: Vector) -> ChoiceMoments:
    """Of answers whose members' scores have (E, P, K) means and (E, P, K, K) covariances; lapses (E,)."""
    count, n_answers, k = mean.shape
    known = mean.reshape(-1, k), spread.reshape(-1, k, k)
    column = np.repeat(lapses, n_answers)[:, None]
    if isinstance(group, BandRatings):
        return expect_bands(*known, np.tile(group.chance, count)[:, None], column)
    present, signs = np.tile(group.present, (count, 1)), np.tile(group.signs, count)
    return expect_choices(*known, group._replace(present=present, signs=signs), column)
