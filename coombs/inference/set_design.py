"""The best Gaussian given answers about more than two things, and about anchors.

A choice is about the scores of all it could have been, so its expectations are taken over a fixed set of
points of their Gaussian, and its site is a small matrix of precisions. So is that of a rating between two
thresholds, which is about them and an item. Thresholds are taken as linear in their unknowns near the mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit, ndtri

from coombs.data.thresholds import ANCHOR_WIDTH
from coombs.inference.variational import (
    NODE_WEIGHTS,
    NODES,
    Design,
    Expectation,
    Sites,
    squared_lengths,
)

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
LEAST_HALF = 1e-3
"""Half of the least gap between two thresholds, in logits."""


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

    offsets: Vector | float = 0.0

    def linearised(self, mean: Vector) -> SetDesign:
        """The same with scores of the anchors as they are near this mean."""
        thresholds, n_anchors = self.sets.thresholds, self.sets.n_anchors
        if not thresholds.are_gaps.any():
            return self
        own, n = mean[-n_anchors:], len(self.answers.items)
        root, offsets = self.root.copy(), np.zeros(len(self.root))
        root[n:, -n_anchors:] = thresholds.jacobian(own)
        offsets[n:] = thresholds.scores(own[None])[0] - root[n:, -n_anchors:] @ own
        result = replace(self, root=root, offsets=offsets)
        # What the answers are about stays: cached properties of a frozen record.
        vars(result).update(pair_rows=self.pair_rows, groups=self.groups)
        return result

    def scores(self, mean: Vector) -> Vector:
        """Of items and anchors."""
        result: Vector = self.root @ mean + self.offsets
        return result

    @property
    def sets(self) -> RivalSets:
        """The sets of rivals."""
        assert self.answers.sets is not None
        return self.answers.sets

    @cached_property
    def pair_rows(self) -> Index:
        """Answers about two things."""
        return np.flatnonzero(np.maximum(*self.answers.ends) < len(self.root))

    @cached_property
    def groups(self) -> tuple[Choices | BandRatings, ...]:
        """The others: choices, by the number of things, and ratings between two thresholds."""
        choices = self.sets.choices(*self.answers.ends, self.answers.n_rows - self.sets.n_sets)
        n, (winners, losers) = len(self.answers.items), self.answers.ends
        rows = np.flatnonzero(self.sets.band_of(losers, n) >= 0)
        if not len(rows):
            return choices
        first = n + self.sets.anchor_of(losers[rows], n)
        members = np.column_stack([winners[rows], first, first + 1])
        return (*choices, BandRatings(rows, members, np.ones(members.shape, bool), self.answers.chance[rows]))

    @cached_property
    def rows(self) -> Matrix:
        """The margin of each answer about two things as a function of z."""
        winners, losers = (rows[self.pair_rows] for rows in self.answers.ends)
        result: Matrix = self.root[losers] - self.root[winners]
        return result

    def first_sites(self) -> Sites:
        """From nothing."""
        weights = self.answers.weights
        blocks = []
        for one in self.groups:
            share = one.present / one.present.sum(axis=1, keepdims=True)
            about = share[:, :, None] * (np.eye(share.shape[1]) - share[:, None, :])
            blocks.append(0.4 * weights[one.rows][:, None, None] * about)
        return Sites(0.1 * weights[self.pair_rows], np.zeros(len(self.root)), tuple(blocks))

    def pull(self, sites: Sites) -> Vector:
        """The sites' shifts along the unknowns."""
        result: Vector = sites.shift @ self.root
        return result

    def posterior(self, sites: Sites) -> Matrix:
        """The lower root of the posterior's precision, given the sites."""
        gram: Matrix = (self.rows * sites.precision[:, None]).T @ self.rows
        for one, block in zip(self.groups, sites.blocks, strict=True):
            size = max(1, BLOCK // max(one.members.shape[1] * gram.shape[0], 1))
            for begin in range(0, len(one.rows), size):
                part = slice(begin, begin + size)
                rows = self.root[one.members[part]]
                gram += np.tensordot(rows, block[part] @ rows, axes=((0, 1), (0, 1)))
        gram[np.diag_indices(len(gram))] += 1.0
        result: Matrix = cholesky(gram, lower=True, check_finite=False)
        return result

    def expect(self, lower: Matrix, mean: Vector, sites: Sites, lapse: float) -> Expectation:
        """Under the Gaussian with this mean and lower root of the precision, which the sites give."""
        scores, offsets = self.scores(mean), np.broadcast_to(self.offsets, len(self.root))
        pairs = self._expect_pairs(lower, scores, sites, lapse)
        across, weights = None, self.answers.weights
        if self.is_weighed:
            across = solve_triangular(lower, self.root.T, lower=True, check_finite=False).T
        sums, shift, blocks = np.array(pairs[:3]), pairs.sites.shift.copy(), []
        for one, block in zip(self.groups, sites.blocks, strict=True):
            at, w = scores[one.members], weights[one.rows]
            spread = (
                np.zeros((*at.shape, at.shape[1])) if across is None else covariances(across, one.members)
            )
            found = expect_group(at, spread, one, lapse)
            sums += [w @ found.log_p, (block * spread).sum(), w @ found.to_lapse]
            new = w[:, None, None] * positive(found.curvature)
            moved = w[:, None] * found.slope + np.einsum("pkl,pl->pk", new, at - offsets[one.members])
            shift += np.bincount(one.members.ravel(), moved.ravel(), len(scores))
            blocks.append(new)
        best = Sites(pairs.sites.precision, shift, tuple(blocks))
        value, known, to_lapse = sums.tolist()
        return pairs._replace(value=value, known=known, to_lapse=to_lapse, sites=best)

    def _expect_pairs(self, lower: Matrix, scores: Vector, sites: Sites, lapse: float) -> Expectation:
        """The same of the answers about two things."""
        answers, own, n = self.answers, self.pair_rows, len(scores)
        (winners, losers), weights = (rows[own] for rows in answers.ends), answers.weights[own]
        margin, variance = scores[losers] - scores[winners], np.zeros(len(own))
        if self.is_weighed:
            variance = squared_lengths(lower, self.rows)
        log_p, slope, curvature, to_lapse, to_head_start = self.of_margins(margin, variance, lapse, own)
        precision = np.maximum(weights * curvature, 1e-6 * weights)
        offsets = np.broadcast_to(self.offsets, n)
        shifts = weights * slope + precision * (margin - offsets[losers] + offsets[winners])
        shift = np.zeros(n) + np.bincount(losers, shifts, n) - np.bincount(winners, shifts, n)
        sums = float(weights @ log_p), float(sites.precision @ variance), float(weights @ to_lapse)
        to_start = float(weights @ to_head_start)
        return Expectation(*sums, Sites(precision, shift), margin, variance, weights * slope, to_start)


class BandRatings(NamedTuple):
    """Ratings between two thresholds: the members (P, 3) are the item and the thresholds, all `present`."""

    rows: Index
    members: Index
    present: NDArray[np.bool_]
    chance: Vector


class ChoiceMoments(NamedTuple):
    """Means of p and log p of each choice, of its slopes, minus its curvature, and along the lapse."""

    p: Vector
    log_p: Vector
    slope: Matrix
    curvature: Matrix
    to_lapse: Vector


def expect_group(
    mean: Matrix, covariance: Matrix, answers: Choices | BandRatings, lapse: float
) -> ChoiceMoments:
    """Of answers whose members' scores have these (P, K) means and (P, K, K) covariances."""
    if isinstance(answers, BandRatings):
        return expect_bands(mean, covariance, answers.chance, lapse)
    return expect_choices(mean, covariance, answers, lapse)


TO_MIDDLE = np.array([-1.0, 0.5, 0.5])
"""From an item and two thresholds to the margin e between the item and their middle."""
TO_HALF = np.array([0.0, 0.5, -0.5])
"""The same to h, half of their gap."""


def expect_bands(mean: Matrix, covariance: Matrix, chance: Vector, lapse: float) -> ChoiceMoments:
    """Of ratings between two thresholds; along their gap, which cannot be normal, to second order.

    log q = log sigma(e - h) + log sigma(-e - h) + log(e^2h - 1).
    """
    nodes, shares = (NODES, NODE_WEIGHTS) if covariance.any() else (np.zeros(1), np.ones(1))
    variance = np.maximum(np.einsum("k,pkl,l->p", TO_MIDDLE, covariance, TO_MIDDLE), 0.0)
    half = np.maximum(mean @ TO_HALF, LEAST_HALF)[:, None]
    margin = (mean @ TO_MIDDLE)[:, None] + np.sqrt(variance)[:, None] * nodes
    first, second = expit(margin - half), expit(-margin - half)
    curved = first * expit(half - margin), second * expit(half + margin)
    q = np.expm1(2 * half) * first * second
    p = np.maximum(lapse * chance[:, None] + (1 - lapse) * q, 1e-300)
    careful = (1 - lapse) * q / p
    slopes = second - first, first + second + 1 / np.tanh(half) - 1
    both = curved[0] + curved[1]
    second_order = {(0, 0): both, (0, 1): curved[1] - curved[0], (1, 1): both + 1 / np.sinh(half) ** 2}
    along, slope = (TO_MIDDLE, TO_HALF), np.zeros(mean.shape)
    curvature, beyond = np.zeros(covariance.shape), np.zeros(len(mean))
    for a in range(2):
        slope += ((careful * slopes[a]) @ shares)[:, None] * along[a]
    for (a, b), value in second_order.items():
        size = (careful * (value - (1 - careful) * slopes[a] * slopes[b])) @ shares
        block = np.outer(along[a], along[b])
        block = block if a == b else block + block.T
        curvature += size[:, None, None] * block
        if b:
            beyond += size * (covariance * block).sum(axis=(1, 2))
    to_lapse = ((chance[:, None] - q) / p) @ shares
    return ChoiceMoments(p @ shares, np.log(p) @ shares - beyond / 2, slope, curvature, to_lapse)


def expect_choices(mean: Matrix, covariance: Matrix, choices: Choices, lapse: float) -> ChoiceMoments:
    """Of choices, the chosen first; scores have these (P, K) means and (P, K, K) covariances."""
    k = mean.shape[1]
    points = _points(k - 1) if covariance.any() else np.zeros((1, k - 1))
    # Only how much each is away from the chosen one counts.
    spread = covariance[:, 1:, 1:] - covariance[:, 1:, :1] - covariance[:, :1, 1:] + covariance[:, :1, :1]
    largest = 1 + spread.diagonal(axis1=1, axis2=2).max(axis=1)
    roots = np.linalg.cholesky(spread + JITTER * largest[:, None, None] * np.eye(k - 1))
    scores = (mean[:, 1:] - mean[:, :1])[:, None, :] + points @ roots.transpose(0, 2, 1)
    value = np.zeros((len(mean), len(points), k))
    value[:, :, 1:] = np.where(choices.present[:, None, 1:], -choices.signs[:, None, None] * scores, -np.inf)
    value -= value.max(axis=2, keepdims=True)
    share = np.exp(value, out=value)
    share /= share.sum(axis=2, keepdims=True)
    q, chance = share[:, :, 0], 1 / choices.present.sum(axis=1, keepdims=True)
    p = np.maximum(lapse * chance + (1 - lapse) * q, 1e-300)
    careful = (1 - lapse) * q / p
    away = -share
    away[:, :, 0] += 1
    count = len(points)
    slope = -choices.signs[:, None] * (careful[:, None, :] @ away)[:, 0] / count
    weighed = careful[:, :, None] * share
    curvature = -(weighed.transpose(0, 2, 1) @ share)
    curvature[:, np.arange(k), np.arange(k)] += weighed.sum(axis=1)
    if lapse > 0:
        curvature -= ((careful * (1 - careful))[:, :, None] * away).transpose(0, 2, 1) @ away
    to_lapse = ((chance - q) / p).mean(axis=1)
    return ChoiceMoments(p.mean(axis=1), np.log(p).mean(axis=1), slope, curvature / count, to_lapse)


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
    """(P, K, K) of the scores of members, from their (n, m) roots."""
    result = np.empty((*members.shape, members.shape[1]))
    size = max(1, BLOCK // max(members.shape[1] * across.shape[1], 1))
    for begin in range(0, len(members), size):
        rows = across[members[begin : begin + size]]
        result[begin : begin + size] = rows @ rows.transpose(0, 2, 1)
    return result
