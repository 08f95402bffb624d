"""Posteriors of many people's tastes at once, by expectation propagation.

A person's weights are w = mean + root z with z ~ N(0, I) before any answer. An answer sees them through one
margin t, the winner's utility less the loser's, so what it says is kept as a Gaussian of that margin, its
site exp(shift t - precision t^2 / 2): the one with which the posterior has the mean and the variance that
the answer itself would give it, the others being as they are (Minka, 2001).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.inference.people.small_matrices import inverse_and_log_det, lower_inverses
from coombs.inference.people.tilted import mean_probability, tilt

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector
    from coombs.inference.people.answer_blocks import AnswerBlock

LEAST_PRECISION = 1e-9
"""Of a site: an answer that nobody would expect may say less than nothing, as it may be a lapse."""


class Sites(NamedTuple):
    """What each answer says of its margin, (K, A) each: a Gaussian by its precision and precision x place."""

    precision: Matrix
    shift: Matrix

    @classmethod
    def empty(cls, block: AnswerBlock) -> Sites:
        """That say nothing."""
        return cls(np.zeros(block.weights.shape), np.zeros(block.weights.shape))

    def towards(self, other: Sites, length: float) -> Sites:
        """Part of the way to other sites."""
        if length == 1.0:
            return other
        precision = self.precision + length * (other.precision - self.precision)
        return Sites(precision, self.shift + length * (other.shift - self.shift))


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Of K people: means of z (K, D), margins and their variances (K, A), and log determinants of precisions.

    The covariance of z is `covariances`, or where there are fewer answers than weights I - rows' rows, with
    `rows` (K, A, D).
    """

    mean: Matrix
    margin: Matrix
    variance: Matrix
    log_det: Vector
    offset: Matrix
    covariances: Matrix | None
    rows: Matrix | None

    def weighted_covariance(self, weights: Vector, d: int) -> Matrix:
        """The (d, d) sum of everybody's covariance of the first d of z, by weight."""
        if self.covariances is not None:
            result: Matrix = np.tensordot(weights, self.covariances[:, :d, :d], axes=1)
            return result
        assert self.rows is not None
        flat = (self.rows[:, :, :d] * np.sqrt(weights)[:, None, None]).reshape(-1, d)
        total: Matrix = float(weights.sum()) * np.eye(d) - flat.T @ flat
        return total

    def effect_variances(self, d: int) -> Matrix:
        """(K, M) of what follows the first d of z."""
        if self.covariances is not None:
            result: Matrix = np.diagonal(self.covariances, axis1=1, axis2=2)[:, d:]
            return result
        assert self.rows is not None
        rest: Matrix = 1 - (self.rows[:, :, d:] ** 2).sum(axis=1)
        return rest

    def covariance_of(self, k: int) -> Matrix:
        """(D, D) of one person."""
        if self.covariances is not None:
            result: Matrix = self.covariances[k]
            return result
        assert self.rows is not None
        rest: Matrix = np.eye(self.rows.shape[2]) - self.rows[k].T @ self.rows[k]
        return rest

    def all_covariances(self) -> Matrix:
        """(K, D, D), which may be changed."""
        if self.covariances is not None:
            return self.covariances.copy()
        assert self.rows is not None
        rest: Matrix = np.eye(self.rows.shape[2]) - np.matmul(self.rows.transpose(0, 2, 1), self.rows)
        return rest


def posteriors(design: Matrix, offset: Matrix, sites: Sites) -> Posteriors:
    """Given the sites; margins are offset + design z."""
    _, a, d = design.shape
    precision = sites.precision
    gain = sites.shift - precision * offset
    pull = np.matmul(gain[:, None, :], design)[:, 0]
    if d <= a:
        gram = np.matmul((design * precision[:, :, None]).transpose(0, 2, 1), design)
        gram[:, np.arange(d), np.arange(d)] += 1.0
        covariance, log_det = inverse_and_log_det(gram)
        mean = np.matmul(covariance, pull[:, :, None])[:, :, 0]
        across = np.matmul(design, covariance)
        across *= design
        # A product with ones is a sum over few columns that does not go row by row.
        variance = np.matmul(across, np.ones(d))
        rows = None
    else:
        root = np.sqrt(precision)
        scaled = design * root[:, :, None]
        inner = np.matmul(scaled, scaled.transpose(0, 2, 1))
        inner[:, np.arange(a), np.arange(a)] += 1.0
        inverse, log_det = lower_inverses(inner)
        rows = np.matmul(inverse, scaled)
        mean = pull - np.matmul(np.matmul(rows, pull[:, :, None]).transpose(0, 2, 1), rows)[:, 0]
        seen = np.matmul(rows, design.transpose(0, 2, 1))
        variance = np.einsum("kad,kad->ka", design, design) - np.einsum("kab,kab->kb", seen, seen)
        np.maximum(variance, 0.0, out=variance)
        covariance = None
    margin = offset + np.matmul(design, mean[:, :, None])[:, :, 0]
    return Posteriors(mean, margin, variance, log_det, offset, covariance, rows)


class Update(NamedTuple):
    """New sites; each answer's probability given the others (K, A); everybody's log evidence (K,)."""

    sites: Sites
    p: Matrix
    log_evidence: Vector


class Cavity(NamedTuple):
    """Margins without each answer's own site (K, A), one w-th of it for an answer of weight w."""

    margin: Matrix
    variance: Matrix
    precision: Matrix
    shift: Matrix
    copies: Matrix

    @classmethod
    def of(cls, margin: Matrix, variance: Matrix, sites: Sites, weights: Matrix) -> Cavity:
        """From the margins with all sites: an answer of weight w is w answers."""
        copies = np.maximum(weights, 1.0)
        precision, shift = sites.precision / copies, sites.shift / copies
        left = 1 - precision * variance
        np.maximum(left, 1e-6, out=left)
        return cls((margin - shift * variance) / left, variance / left, precision, shift, copies)

    def best_sites(self, weights: Matrix, lapse: float) -> tuple[Sites, Matrix]:
        """Of each answer, the others being as they are; and its probability given the others."""
        p, slope, curvature = tilt(self.margin, self.variance, lapse)
        best = np.maximum(curvature / np.maximum(1 - self.variance * curvature, 1e-9), LEAST_PRECISION)
        shift = slope + best * (self.margin + self.variance * slope)
        return Sites(weights * best, weights * shift), p


def update(found: Posteriors, sites: Sites, weights: Matrix, lapse: float) -> Update:
    """The best site of each answer, the others being as they are."""
    cavity = Cavity.of(found.margin, found.variance, sites, weights)
    new, p = cavity.best_sites(weights, lapse)
    margin, variance, precision, shift, copies = cavity
    # log of the mean over the cavity of the site itself, in whose place the answer is put.
    wide = 1 + precision * variance
    about = (shift * (2 * margin + shift * variance) - precision * margin**2) / wide
    of_sites = copies * (about - np.log(wide)) / 2
    gain = sites.shift - sites.precision * found.offset
    known = gain * (found.margin - found.offset) + found.offset * (
        2 * sites.shift - sites.precision * found.offset
    )
    total = (weights * np.log(p) - of_sites + known / 2).sum(axis=1)
    return Update(new, p, total - found.log_det / 2)


def settle(design: Matrix, offset: Matrix, sites: Sites, weights: Matrix, lapse: float, passes: int) -> Sites:
    """Sites after so many passes over the same answers, with nothing computed but what they need."""
    _, a, d = design.shape
    gram = np.matmul(design, design.transpose(0, 2, 1)) if d > a and passes else None
    for number in range(passes):
        if number == 0 and not sites.precision.any() and not sites.shift.any():
            # Before any answer the covariance of z is I.
            margin, variance = offset, np.einsum("kad,kad->ka", design, design)
        elif gram is None:
            found = posteriors(design, offset, sites)
            margin, variance = found.margin, found.variance
        else:
            margin, variance = _margins(gram, offset, sites)
        sites, _ = Cavity.of(margin, variance, sites, weights).best_sites(weights, lapse)
    return sites


def _margins(gram: Matrix, offset: Matrix, sites: Sites) -> tuple[Matrix, Matrix]:
    """Margins and their variances where weights are many: from their covariances (K, A, A) before any answer.

    With G the covariance, S the sites' precisions and B = I + S^1/2 G S^1/2, afterwards it is
    G - G S^1/2 B^-1 S^1/2 G = S^-1/2 (I - B^-1) S^-1/2.
    """
    a = gram.shape[1]
    precision, root = sites.precision, np.sqrt(sites.precision)
    inner = gram * root[:, :, None]
    inner *= root[:, None, :]
    inner[:, np.arange(a), np.arange(a)] += 1.0
    inverse = np.linalg.inv(inner)
    moved = np.matmul(gram, (sites.shift - precision * offset)[:, :, None])
    held = np.matmul(inverse, root[:, :, None] * moved)
    moved -= np.matmul(gram, root[:, :, None] * held)
    # Where there is no answer, whose site says nothing, this is not needed.
    variance = np.diagonal(gram, axis1=1, axis2=2).copy()
    known = 1 - np.diagonal(inverse, axis1=1, axis2=2)
    np.divide(known, precision, out=variance, where=precision > 0)
    return offset + moved[:, :, 0], np.maximum(variance, 0.0)


def leave_questions_out(found: Posteriors, sites: Sites, block: AnswerBlock, lapse: float) -> Matrix:
    """(K, A) probability of each answer given those of the same person about other pairs."""
    precision, shift = sites.precision, sites.shift
    if block.questions is not None:
        # All that the person said about the pair is left out, whichever way round.
        k, a = block.weights.shape
        place = (block.questions + a * np.arange(k)[:, None]).ravel()
        side = np.where(block.winners < block.losers, 1.0, -1.0).ravel()
        precision = np.bincount(place, precision.ravel(), k * a)[place].reshape(k, a)
        shift = (side * np.bincount(place, side * shift.ravel(), k * a)[place]).reshape(k, a)
    left = np.maximum(1 - precision * found.variance, 1e-6)
    return mean_probability((found.margin - shift * found.variance) / left, found.variance / left, lapse)
