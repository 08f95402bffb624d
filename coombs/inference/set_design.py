"""The best Gaussian given answers about more than two things, and about anchors.

A choice is about the scores of all it could have been, so its expectations are taken over a fixed set of
points of their Gaussian, and its site is a small matrix of precisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtri

from coombs.data.rival_sets import ANCHOR_WIDTH
from coombs.inference.variational import Design

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.answers import Answers
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.rival_sets import Choices, RivalSets

POINTS = 32
"""Points that expectations of a choice are taken over, at least."""
JITTER = 1e-10
"""Share of one more than the largest variance that is added to all, so that a covariance has a root."""
BLOCK = 4_000_000
"""Numbers of roots that are held at once."""


def design_of(root: Matrix, answers: Answers, head_start: float = 0.0) -> Design:
    """Scores of the items as root z, and of anchors by unknowns of their own, which come last."""
    if answers.sets is None or not (answers.sets.n_sets or answers.sets.n_anchors):
        return Design(root, answers, head_start)
    return SetDesign(with_anchors(root, answers.sets.n_anchors), answers, head_start)


def with_anchors(root: Matrix, n_anchors: int) -> Matrix:
    """The root of items and anchors, from that of the items."""
    if not n_anchors:
        return root
    n, m = root.shape
    whole = np.zeros((n + n_anchors, m + n_anchors))
    whole[:n, :m] = root
    whole[np.arange(n, n + n_anchors), np.arange(m, m + n_anchors)] = ANCHOR_WIDTH
    return whole


@dataclass(frozen=True, eq=False)
class SetDesign(Design):
    """As `Design`, of items and anchors, where answers may also be about sets of them."""

    @property
    def sets(self) -> RivalSets:
        """The sets of rivals."""
        assert self.answers.sets is not None
        return self.answers.sets

    @property
    def pair_rows(self) -> Index:
        """Answers about two things."""
        return self.answers.pair_rows

    @property
    def choices(self) -> tuple[Choices, ...]:
        """The others, by the number of things."""
        return self.answers.choices


class ChoiceMoments(NamedTuple):
    """Means of p and log p of each choice, of its slopes, minus its curvature, and along the lapse.

    `is_concave` says of which choices log p is surely concave, so that the curvature is positive.
    """

    p: Vector
    log_p: Vector
    slope: Matrix
    curvature: Matrix
    to_lapse: Vector
    is_concave: NDArray[np.bool_]


def expect_choices(
    mean: Matrix, covariance: Matrix, choices: Choices, lapse: Matrix | float
) -> ChoiceMoments:
    """Of choices, the chosen first; scores have these (P, K) means and (P, K, K) covariances.

    The lapse is one for all, or a column.
    """
    k = mean.shape[1]
    points = _points(k - 1) if covariance.any() else np.zeros((1, k - 1))
    # Only how much each is away from the chosen one counts.
    spread = covariance[:, 1:, 1:] - covariance[:, 1:, :1] - covariance[:, :1, 1:] + covariance[:, :1, :1]
    largest = 1 + spread.diagonal(axis1=1, axis2=2).max(axis=1)
    roots = np.linalg.cholesky(spread + JITTER * largest[:, None, None] * np.eye(k - 1))
    away = np.where(choices.present[:, 1:], choices.signs[:, None] * (mean[:, :1] - mean[:, 1:]), -np.inf)
    # Things by choices by points: sums over things are of whole arrays.
    share = np.zeros((k, len(mean), len(points)))
    np.matmul((-choices.signs[:, None, None] * roots).transpose(1, 0, 2), points.T, out=share[1:])
    share[1:] += away.T[:, :, None]
    share -= share.max(axis=0)
    np.exp(share, out=share)
    share /= share.sum(axis=0)
    q, chance = share[0], 1 / choices.present.sum(axis=1, keepdims=True)
    p = np.maximum(lapse * chance + (1 - lapse) * q, 1e-300)
    careful = (1 - lapse) * q / p
    slope, curvature = _derivatives(share, careful)
    # With D = diag r - r r', a is D e_0 / q, so D - (1 - c) a a' is positive where (1 - c) (1 - q) <= q.
    is_concave = ((1 - careful) * (1 - q) <= q).all(axis=1)
    slope *= -choices.signs[:, None]
    to_lapse = ((chance - q) / p).mean(axis=1)
    return ChoiceMoments(p.mean(axis=1), np.log(p).mean(axis=1), slope, curvature, to_lapse, is_concave)


def _derivatives(share: Matrix, careful: Matrix) -> tuple[Matrix, Matrix]:
    """Means over points of the slopes of log p along -s, and of minus its curvature.

    With r the shares (K, P, points), c how likely an answer was careful and a = e_0 - r, the slope is c a and
    minus the curvature c (diag r - r r') - c (1 - c) a a'.
    """
    k, _, count = share.shape
    of_choices, doubtful = share.transpose(1, 0, 2), careful * (1 - careful)
    sums = of_choices @ np.stack([careful, doubtful], axis=2) / count
    curvature = -((of_choices * (careful + doubtful)[:, None, :]) @ share.transpose(1, 2, 0)) / count
    curvature[:, np.arange(k), np.arange(k)] += sums[:, :, 0]
    curvature[:, 0] += sums[:, :, 1]
    curvature[:, :, 0] += sums[:, :, 1]
    curvature[:, 0, 0] -= doubtful.mean(axis=1)
    slope = -sums[:, :, 0]
    slope[:, 0] += careful.mean(axis=1)
    return slope, curvature


@cache
def _points(k: int) -> Matrix:
    """Of a standard normal in k dimensions, always the same, each with its mirror image."""
    base = 2.0
    for _ in range(30):
        base = (1 + base) ** (1 / (k + 1))
    steps = (1 / base) ** np.arange(1, k + 1)
    count = max(POINTS // 2, 2 * k)
    half: Matrix = ndtri((0.5 + np.arange(1, count + 1)[:, None] * steps) % 1)
    # So few points have not quite the covariance of all.
    half = solve_triangular(cholesky(half.T @ half / count, lower=True), half.T, lower=True).T
    return np.concatenate([half, -half])


def mended(blocks: Matrix, are_positive: NDArray[np.bool_]) -> Matrix:
    """Blocks of which some may curve the wrong way, without that."""
    if not are_positive.all():
        blocks[~are_positive] = positive(blocks[~are_positive])
    return blocks


def positive(blocks: Matrix) -> Matrix:
    """Without what curves the wrong way."""
    try:
        np.linalg.cholesky(blocks + JITTER * np.eye(blocks.shape[1]))
        return blocks
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh((blocks + blocks.transpose(0, 2, 1)) / 2)
    result: Matrix = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return result


def covariances(across: Matrix, members: Index) -> Matrix:
    """(E, P, K, K) of the scores of members (P, K), from their (E, n, m) roots."""
    count, n, m = across.shape
    k = members.shape[1]
    if n * n <= members.size * k:
        whole: Matrix = across @ across.transpose(0, 2, 1)
        at = (n * members[:, :, None] + members[:, None, :]).ravel()
        own: Matrix = whole.reshape(count, n * n).take(at, axis=1)
        return own.reshape(count, -1, k, k)
    result = np.empty((count, *members.shape, k))
    size = max(1, BLOCK // max(count * k * m, 1))
    for begin in range(0, len(members), size):
        rows = across[:, members[begin : begin + size]]
        result[:, begin : begin + size] = rows @ rows.transpose(0, 1, 3, 2)
    return result
