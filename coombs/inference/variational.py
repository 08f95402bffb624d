"""The best Gaussian for whitened unknowns, given answers about differences of scores.

An answer is about one margin, so its expectations are integrals in one dimension, and the best Gaussian
has one site (precision and shift) an answer (Opper and Archambeau, 2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import expit

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.graph import Matrix, Vector


NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
"""Nodes and weights of integrals over a standard normal."""
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()
SETTLED = 1e-4
"""Sites are settled where a pass changes the bound by less."""
BLOCK = 20_000
"""Answers that are predicted at once."""
MOST_PASSES = 60
"""Passes over the sites, at most."""
MOST_WEIGHED = 400
"""Up to this many unknowns an answer's uncertainty enters the bound; beyond, it is Laplace's."""


class Sites(NamedTuple):
    """What each answer says of its margin: a Gaussian of this precision, and precision times place."""

    precision: Vector
    shift: Vector


@dataclass(frozen=True, eq=False)
class Design:
    """Scores of items as root z, with whitened unknowns z ~ N(0, I), and margins s_loser - s_winner."""

    root: Matrix
    answers: Answers

    def margins(self, whitened: Vector) -> Vector:
        """Of each answer."""
        scores = self.root @ whitened
        result: Vector = scores[self.answers.losers] - scores[self.answers.winners]
        return result

    def pull(self, values: Vector) -> Vector:
        """The margins' transpose."""
        n = len(self.root)
        to_score = np.bincount(self.answers.losers, values, n) - np.bincount(self.answers.winners, values, n)
        return to_score @ self.root

    @cached_property
    def rows(self) -> Matrix:
        """Each answer's margin as a function of z."""
        result: Matrix = self.root[self.answers.losers] - self.root[self.answers.winners]
        return result

    def posterior(self, precision: Vector) -> Matrix:
        """The lower root of the posterior's precision, given that of the sites."""
        n = len(self.root)
        if len(precision) <= 2 * n:
            gram: Matrix = (self.rows * precision[:, None]).T @ self.rows
        else:
            laplacian = self.answers.graph().laplacian(precision)
            gram = self.root.T @ (laplacian @ self.root)
        gram[np.diag_indices(len(gram))] += 1.0
        result: Matrix = cholesky(gram, lower=True, check_finite=False)
        return result

    def variances(self, lower: Matrix) -> Vector:
        """Of the margins."""
        across = solve_triangular(lower, self.rows.T, lower=True, check_finite=False)
        result: Vector = np.einsum("ij,ij->j", across, across)
        return result


class Settled(NamedTuple):
    """The best Gaussian for some sizes and relevances: its sites, precision and mean; the bound there."""

    bound: float
    lower: Matrix
    mean: Vector
    margin: Vector
    variance: Vector
    sites: Sites
    lapse: float
    to_lapse: float


def settle(
    design: Design, lapse: float, start: Sites | None = None, tolerance: float | None = None
) -> Settled:
    """The best sites, from some that are near or from none.

    Each site takes on the mean slope and curvature of its answer's log probability (a natural gradient
    step), half as far where that did not help. Of many unknowns, those at the mean, which is Laplace's way.
    """
    weights, tolerance = design.answers.weights, SETTLED if tolerance is None else tolerance
    sites = Sites(0.1 * weights, 0 * weights) if start is None else start
    weigh, length, before = design.root.shape[1] <= MOST_WEIGHED, 1.0, -np.inf
    variance = np.zeros(len(weights))
    for count in range(MOST_PASSES):
        lower = design.posterior(sites.precision)
        variance = design.variances(lower) if weigh else variance
        mean: Vector = cho_solve((lower, True), design.pull(sites.shift), check_finite=False)
        margin = design.margins(mean)
        log_p, slope, curvature, to_lapse = _expected(margin, variance, lapse)
        far = float(mean @ mean) - float(sites.precision @ variance)
        bound = float(weights @ log_p) - far / 2 - float(np.log(np.diag(lower)).sum())
        # What is returned belongs to these sites.
        if abs(bound - before) < tolerance or count == MOST_PASSES - 1:
            break
        if bound < before:
            length = max(length / 2, 0.1)
        before = bound
        precision = np.maximum(weights * curvature, 1e-6 * weights)
        shift = weights * slope + precision * margin
        sites = Sites(
            sites.precision + length * (precision - sites.precision),
            sites.shift + length * (shift - sites.shift),
        )
    along_lapse = float(weights @ to_lapse) * lapse * (1 - lapse)
    return Settled(bound, lower, mean, margin, variance, sites, lapse, along_lapse)


def _expected(margin: Vector, variance: Vector, lapse: float) -> tuple[Vector, Vector, Vector, Vector]:
    """Of log p at a normal margin: its mean, those of its slope and curvature, and of its slope in lapse."""
    nodes, shares = (NODES, NODE_WEIGHTS) if variance.any() else (np.zeros(1), np.ones(1))
    sigma = expit(margin[:, None] + np.sqrt(variance)[:, None] * nodes)
    p = np.maximum(lapse / 2 + (1 - lapse) * sigma, 1e-300)
    slope = (1 - lapse) * sigma * (1 - sigma) / p
    curvature = slope * (slope - 1 + 2 * sigma)
    return np.log(p) @ shares, slope @ shares, curvature @ shares, ((0.5 - sigma) / p) @ shares


def mean_probability(margin: Vector, variance: Vector, lapse: float) -> Vector:
    """Of an answer whose margin is normal."""
    mean = np.empty(len(margin))
    for begin in range(0, len(margin), BLOCK):
        part = slice(begin, begin + BLOCK)
        mean[part] = expit(margin[part, None] + np.sqrt(variance[part, None]) * NODES) @ NODE_WEIGHTS
    result: Vector = lapse / 2 + (1 - lapse) * mean
    return result


def without_pairs(found: Settled, answers: Answers) -> tuple[Vector, Vector]:
    """Of each answer: its probability without the sites of its pair, and the log one of all of the pair's."""
    low, high = np.minimum(answers.winners, answers.losers), np.maximum(answers.winners, answers.losers)
    pair = np.unique(low * len(answers.items) + high, return_inverse=True)[1]
    side = np.where(answers.winners == low, 1.0, -1.0)
    precision = np.bincount(pair, found.sites.precision)[pair]
    shift = side * np.bincount(pair, side * found.sites.shift)[pair]
    left = np.maximum(1 / np.maximum(found.variance, 1e-12) - precision, 1e-9)
    margin = (found.margin / np.maximum(found.variance, 1e-12) - shift) / left
    p = mean_probability(margin, 1 / left, found.lapse)
    of_pair: Vector = np.bincount(pair, answers.weights * np.log(p)).astype(float)[pair]
    return p, of_pair
