"""Expectations of rankings: all choices of one over the same points, so that they cost little more than one.

With odds e_k of the things in their order and T_t = e_t + e_(t+1) + ..., the choice of place t has the shares
r_k = e_k / T_t of k >= t. So sums over places of products of shares are e_k e_l times sums up to the lesser
of k and l.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.inference.set_design import CACHED, points_of, roots_of

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
    """The same of a few."""
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
