"""Expectations of rankings, and of ratings between two thresholds, under a Gaussian of the scores.

All choices of a ranking share their points, so that they cost little more than one. With odds e_k of the
things in their order and T_t = e_t + e_(t+1) + ..., the choice of place t has the shares r_k = e_k / T_t of
k >= t. So sums over places of products of shares are e_k e_l times sums up to the lesser of k and l.

Of the margin e between an item and the middle of its two thresholds, and half of their gap h, a rating has
log q = log sigma(e - h) + log sigma(-e - h) + log(e^2h - 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

from coombs.data.rival_sets import BandRatings, Choices
from coombs.inference.set_design import CACHED, ChoiceMoments, expect_choices, points_of, roots_of
from coombs.inference.variational import NODE_WEIGHTS, NODES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.graph import Matrix, Vector

FARTHEST = 300.0
"""Scores of a ranking that are farther from its best, in logits, are as good as that far.

Squares of such odds are still numbers.
"""


class RankingMoments(NamedTuple):
    """Of each ranking, sums over its choices times their weights; as `ChoiceMoments`."""

    log_p: Vector
    slope: Matrix
    curvature: Matrix
    to_lapse: Vector
    is_concave: NDArray[np.bool_]


def expect_rankings(
    mean: Matrix, covariance: Matrix, present: NDArray[np.bool_], weights: Matrix, lapse: Matrix
) -> RankingMoments:
    """Of rankings whose scores have (R, K) means and (R, K, K) covariances; weights (R, K), lapses (R, 1)."""
    count, k = mean.shape
    size, parts = max(1, CACHED // (4 * k * max(k, 8))), []
    for begin in range(0, count, size):
        part = slice(begin, begin + size)
        some = (mean[part], covariance[part], present[part], weights[part], lapse[part])
        parts.append(_expect_rankings(*some))
    return RankingMoments(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _expect_rankings(
    mean: Matrix, covariance: Matrix, present: NDArray[np.bool_], weights: Matrix, lapse: Matrix
) -> RankingMoments:
    """`expect_rankings` for so few that their arrays are small."""
    k = mean.shape[1]
    points = points_of(k - 1) if covariance.any() else np.zeros((1, k - 1))
    # Things by rankings by points.
    odds = np.zeros((k, len(mean), len(points)))
    np.matmul(roots_of(covariance).transpose(1, 0, 2), points.T, out=odds[1:])
    odds += np.where(present, mean[:, :1] - mean, -np.inf).T[:, :, None]
    odds -= odds.max(axis=0)
    np.maximum(odds, -FARTHEST, out=odds)
    np.exp(odds, out=odds)
    odds *= present.T[:, :, None]
    tails = np.cumsum(odds[::-1], axis=0)[::-1]
    # Of what is not there.
    tails[~present.T] = 1.0
    chance = (1 / np.maximum(np.cumsum(present[:, ::-1], axis=1)[:, ::-1], 1)).T[:, :, None]
    q = odds / tails
    p = np.maximum(lapse * chance + (1 - lapse) * q, 1e-300)
    weight, careful = weights.T[:, :, None], (1 - lapse) * q / p
    counted = weight * careful
    slope, curvature = _derivatives(odds, tails, counted, counted * (1 - careful))
    log_p = (weight * np.log(p)).mean(axis=2).sum(axis=0)
    to_lapse = (weight * (chance - q) / p).mean(axis=2).sum(axis=0)
    # As of single choices.
    is_concave = (weight == 0) | (lapse * chance * (1 - q) <= q * p)
    return RankingMoments(log_p, slope, curvature, to_lapse, is_concave.all(axis=(0, 2)))


def _derivatives(odds: Matrix, tails: Matrix, careful: Matrix, doubtful: Matrix) -> tuple[Matrix, Matrix]:
    """Means over points of the slopes along the scores and of minus the curvature, summed over places.

    With c and d the weights times how careful, and how doubtful, a choice is, r its shares and e_t its
    place, the slope along -s is the sum of c (e_t - r), and minus the curvature that of
    c diag r - (c + d) r r' + d (e_t r' + r e_t') - d e_t e_t'.
    """
    count = odds.shape[2]
    of_one, of_two = np.cumsum(careful / tails, axis=0), np.cumsum((careful + doubtful) / tails**2, axis=0)
    shares = odds * of_one
    slope = (shares - careful).mean(axis=2).T
    products = odds * of_two
    upper = np.triu((doubtful / tails - products).transpose(1, 0, 2) @ odds.transpose(1, 2, 0) / count)
    curvature = upper + upper.transpose(0, 2, 1)
    diagonal: Matrix = np.einsum("pkk->pk", curvature)
    diagonal += (shares - doubtful + products * odds).mean(axis=2).T
    return slope, curvature


LEAST_HALF = 1e-3
"""Half of the least gap between two thresholds, in logits."""
TO_MIDDLE = np.array([-1.0, 0.5, 0.5])
"""From an item and two thresholds to the margin e."""
TO_HALF = np.array([0.0, 0.5, -0.5])
"""From an item and two thresholds to half of the gap h."""
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
