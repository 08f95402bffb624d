"""The best Gaussian given answers about more than two things, and about anchors.

A choice is about the scores of all it could have been, so its expectations are taken over a fixed set of
points of their Gaussian, and its site is a small matrix of precisions. So is that of a rating between two
thresholds, which is about them and an item (band_moments.py). Thresholds are taken as linear in their
unknowns near the mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtri

from coombs.data.thresholds import ANCHOR_WIDTH
from coombs.inference.variational import Design

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.answers import Answers
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.rival_sets import BandRatings, Choices, RivalSets

POINTS = 32
"""Points that expectations of a choice are taken over, at least."""
CACHED = 40_000
"""Numbers of an array that stays in a processor's cache."""
JITTER = 1e-10
"""Share of one more than the largest variance that is added to all, so that a covariance has a root."""
BLOCK = 4_000_000
"""Numbers of roots that are held at once."""


def design_of(root: Matrix, answers: Answers, head_start: float = 0.0) -> Design:
    """Scores of the items as root z, and of anchors by unknowns of their own, which come last."""
    if answers.sets is None or not (answers.sets.n_sets or answers.sets.n_anchors):
        return Design(root, answers, head_start)
    n_anchors = answers.sets.n_anchors
    design = SetDesign(with_anchors(root, n_anchors), answers, head_start)
    return design.linearised(np.zeros(root.shape[1] + n_anchors))


def with_anchors(root: Matrix, n_anchors: int) -> Matrix:
    """The root of items and anchors, from that of the items; the anchors' part is that of single ones."""
    if not n_anchors:
        return root
    n, m = root.shape
    whole = np.zeros((n + n_anchors, m + n_anchors))
    whole[:n, :m] = root
    whole[np.arange(n, n + n_anchors), np.arange(m, m + n_anchors)] = ANCHOR_WIDTH
    return whole


@dataclass(frozen=True, eq=False)
class SetDesign(Design):
    """As `Design`, of items and anchors, where answers may also be about sets of them.

    The scores are root z and, where anchors are linear near some z only, `offsets`.
    """

    offsets: Vector | None = None

    def linearised(self, mean: Vector) -> SetDesign:
        """This design with the anchors' scores linearised about this mean."""
        if not self.sets.has_gaps:
            return self
        root, offsets = linearised(self.root[None], self.sets, mean[None])
        return replace(self, root=root[0], offsets=offsets[0])

    def scores(self, mean: Vector) -> Vector:
        """Of items and anchors."""
        result: Vector = self.root @ mean
        return result if self.offsets is None else result + self.offsets

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
    def groups(self) -> tuple[Choices | BandRatings, ...]:
        """The others: choices, by the number of things, and ratings between two thresholds."""
        return self.answers.groups


def linearised(roots: Matrix, sets: RivalSets, means: Matrix) -> tuple[Matrix, Matrix]:
    """(E, n, m) roots and (E, n) offsets of the scores, with the anchors' as they are near (E, m) means."""
    first, own = roots.shape[1] - sets.n_anchors, means[:, means.shape[1] - sets.n_anchors :]
    slopes, scores = sets.thresholds.jacobian(own), sets.thresholds.scores(own)
    roots, offsets = roots.copy(), np.zeros(roots.shape[:2])
    roots[:, first:, roots.shape[2] - sets.n_anchors :] = slopes
    offsets[:, first:] = scores - (slopes @ own[:, :, None])[:, :, 0]
    return roots, offsets


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
    count, k = mean.shape
    size = max(1, CACHED // (k * max(POINTS, 4 * k)))
    if count <= size:
        return _expect_choices(mean, covariance, choices, lapse)
    lapses, parts = np.broadcast_to(np.asarray(lapse), (count, 1)), []
    for begin in range(0, count, size):
        part = slice(begin, begin + size)
        some = choices._replace(present=choices.present[part], signs=choices.signs[part])
        parts.append(_expect_choices(mean[part], covariance[part], some, lapses[part]))
    return ChoiceMoments(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _expect_choices(
    mean: Matrix, covariance: Matrix, choices: Choices, lapse: Matrix | float
) -> ChoiceMoments:
    """`expect_choices` for so few that what is computed on the way stays in the processor's cache."""
    k = mean.shape[1]
    points = points_of(k - 1) if covariance.any() else np.zeros((1, k - 1))
    # Things by choices by points: sums over things are of whole arrays. Of each point there is the mirror
    # image as well, so the sign of what is added to the means does not matter.
    share = np.zeros((k, len(mean), len(points)))
    np.matmul(roots_of(covariance).transpose(1, 0, 2), points.T, out=share[1:])
    away = choices.signs[:, None] * (mean[:, :1] - mean[:, 1:])
    share[1:] += np.where(choices.present[:, 1:], away, -np.inf).T[:, :, None]
    share -= share.max(axis=0)
    np.exp(share, out=share)
    share /= share.sum(axis=0)
    q, chance = share[0], 1 / choices.present.sum(axis=1, keepdims=True)
    p = np.maximum(lapse * chance + (1 - lapse) * q, 1e-300)
    careful = (1 - lapse) * q / p
    of_points = np.stack([p, np.log(p), (chance - q) / p, careful, careful * (1 - careful)])
    means = of_points.mean(axis=2)
    slope, curvature = _derivatives(share, of_points[3:], means[3:])
    slope = -choices.signs[:, None] * slope
    # With D = diag r - r r', a is D e_0 / q, so D - (1 - c) a a' is positive where (1 - c) (1 - q) <= q; and
    # 1 - c = lapse chance / p falls with q.
    least = q.min(axis=1, keepdims=True)
    is_concave = lapse * chance * (1 - least) <= least * (lapse * chance + (1 - lapse) * least)
    return ChoiceMoments(means[0], means[1], slope, curvature, means[2], is_concave[:, 0])


def roots_of(covariance: Matrix) -> Matrix:
    """Lower roots of the covariances of how much each thing is away from the first: only that counts."""
    away = covariance - covariance[:, :1]
    spread = away[:, 1:, 1:] - away[:, 1:, :1]
    variances: Matrix = np.einsum("pkk->pk", spread)
    variances += JITTER * (1 + variances.max(axis=1, keepdims=True))
    result: Matrix = np.linalg.cholesky(spread).astype(float, copy=False)
    return result


def _derivatives(share: Matrix, careful: Matrix, means: Matrix) -> tuple[Matrix, Matrix]:
    """Means over points of the slopes of log p along -s, and of minus its curvature.

    With r the shares (K, P, points), c how likely an answer was careful and a = e_0 - r, the slope is c a and
    minus the curvature c (diag r - r r') - c (1 - c) a a'. `careful` has c and c (1 - c), and `means` theirs.
    """
    of_choices, count = share.transpose(1, 0, 2), share.shape[2]
    sums = of_choices @ careful.transpose(1, 2, 0) / count
    curvature = (of_choices * careful.sum(axis=0)[:, None, :]) @ share.transpose(1, 2, 0)
    curvature /= -count
    diagonal: Matrix = np.einsum("pkk->pk", curvature)
    diagonal += sums[:, :, 0]
    curvature[:, 0] += sums[:, :, 1]
    curvature[:, :, 0] += sums[:, :, 1]
    curvature[:, 0, 0] -= means[1]
    slope = -sums[:, :, 0]
    slope[:, 0] += means[0]
    return slope, curvature


@cache
def points_of(k: int) -> Matrix:
    """Of a standard normal in k dimensions, always the same, each with its mirror image."""
    base = 2.0
    for _ in range(30):
        base = (1 + base) ** (1 / (k + 1))
    steps = (1 / base) ** np.arange(1, k + 1)
    count = max(POINTS // 2, 2 * k)
    half: Matrix = ndtri((0.5 + np.arange(1, count + 1)[:, None] * steps) % 1)
    # So few points do not quite have the identity as their covariance.
    half = solve_triangular(cholesky(half.T @ half / count, lower=True), half.T, lower=True).T
    return np.concatenate([half, -half])


def positive_blocks(blocks: Matrix, are_positive: NDArray[np.bool_]) -> Matrix:
    """Blocks made positive semidefinite where they are not."""
    if not are_positive.all():
        blocks[~are_positive] = positive(blocks[~are_positive])
    return blocks


def positive(blocks: Matrix) -> Matrix:
    """Symmetric blocks without their negative eigenvalues."""
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
