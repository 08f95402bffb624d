"""Averaging kinds of preference: by their evidence, or by how well they predict answers left out.

The evidence (marginal likelihood; Bayesian model averaging) decides best where answers are few; where they
are so many that it is not known, predictions do (stacking; Yao et al., 2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from coombs.inference.left_out import LeftOut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coombs.data.graph import Matrix, Vector

FREEDOM = 5
"""Degrees of freedom of the t distribution that draws are held against: tails heavier than theirs."""
MOST_DRAWS = 2_048
"""Draws for each half of the computation."""
MOST_STEPS = 200
"""Steps of the fixed-point iteration, at most."""


def bridge(log_density: Callable[[Matrix], Vector], draws: Matrix) -> float:
    """log of the integral of exp(log_density), from draws of it, by bridge sampling (Meng and Wong, 1996).

    Every other draw makes a t distribution; the rest is held against draws of that one. With l the log
    ratios of the densities at either, r = log mean_t(e^l / (e^l + e^r)) - log mean_draws(1 / (e^l + e^r)).
    """
    order = np.linspace(0, len(draws) - 1, min(2 * MOST_DRAWS, len(draws))).astype(int)
    shape, rest = draws[order[::2]].astype(float), draws[order[1::2]].astype(float)
    proposal = _Student(shape.mean(axis=0), np.atleast_2d(np.cov(shape.T)))
    other = proposal.draw(len(rest))
    at_rest = log_density(rest) - proposal.log_density(rest)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        at_other = np.nan_to_num(log_density(other), nan=-np.inf) - proposal.log_density(other)
    result = float(np.median(at_rest))
    for _ in range(MOST_STEPS):
        before = result
        up = np.logaddexp.reduce(at_other - np.logaddexp(at_other, before)) - math.log(len(at_other))
        down = np.logaddexp.reduce(-np.logaddexp(at_rest, before)) - math.log(len(at_rest))
        result = float(up - down)
        if abs(result - before) < 1e-6:
            break
    return result


class _Student:
    """A multivariate t distribution with a mean and a covariance."""

    def __init__(self, mean: Vector, covariance: Matrix) -> None:
        scale = covariance * (FREEDOM - 2) / FREEDOM
        scale[np.diag_indices(len(mean))] *= 1 + 1e-9
        self.mean, self.root = mean, np.linalg.cholesky(scale + 1e-300 * np.eye(len(mean)))

    def draw(self, count: int) -> Matrix:
        """Always the same points of the same distribution."""
        rng = np.random.default_rng(0)
        normal = rng.standard_normal((count, len(self.mean)))
        stretch = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, count))
        result: Matrix = self.mean + stretch[:, None] * (normal @ self.root.T)
        return result

    def log_density(self, y: Matrix) -> Vector:
        n = len(self.mean)
        white = np.linalg.solve(self.root, (y - self.mean).T)
        constant = gammaln((FREEDOM + n) / 2) - gammaln(FREEDOM / 2) - n / 2 * math.log(FREEDOM * math.pi)
        constant -= float(np.log(np.diag(self.root)).sum())
        result: Vector = constant - (FREEDOM + n) / 2 * np.log1p((white**2).sum(axis=0) / FREEDOM)
        return result


PRIOR_ANSWERS = 4.0
"""Answers that the equal weighting of all kinds counts for."""
COIN = 0.1
"""How likely it is, before any answer, that somebody tosses a coin."""
STEPS = 200
"""Steps of the algorithm, at most."""
TOLERANCE = 1e-8
"""It ends where a step changes no weight by more."""
PARTS = 10
"""Parts of the answers, each predicted with weights from the others."""


def by_evidence(log_evidence: Vector, log_chance: float) -> Vector:
    """Probabilities of the kinds, all alike before any answer, and last that of a coin.

    `log_chance` is the logarithm of how likely all answers are at random.
    """
    alike = np.log((1 - COIN) / len(log_evidence))
    logs = np.append(log_evidence + alike, np.log(COIN) + log_chance)
    weights = np.exp(logs - logs.max())
    result: Vector = weights / weights.sum()
    return result


def predicted_by_evidence(left_out: Sequence[LeftOut], weights: Vector) -> LeftOut:
    """How well the average predicts answers that neither the kinds nor their probabilities have seen.

    Without a pair's answers a kind is likelier by one over the probability that it gives them.
    """
    table, counts = _table(left_out)
    tested = left_out[0].held_out
    table = np.column_stack([table, tested.chance])
    logs = np.log(table) * counts[:, None]
    of_pair = np.column_stack([np.bincount(tested.questions, column) for column in logs.T])[tested.questions]
    odds = np.log(np.maximum(weights, 1e-300)) - of_pair
    odds = np.exp(odds - odds.max(axis=1, keepdims=True))
    return LeftOut((odds * table).sum(axis=1) / odds.sum(axis=1), tested)


def stack(left_out: Sequence[LeftOut]) -> Vector:
    """Weights w of the kinds, adding up to 1, that maximise sum_k n_k log(sum_j w_j p_kj) + a sum_j log w_j.

    p_kj is kind j's probability of answer k as predicted from the others. The second term is a prior for
    equal weights, so that few answers do not decide; the maximum is unique, so nothing jumps.
    """
    return _weights(*_table(left_out))


def average(left_out: Sequence[LeftOut]) -> LeftOut:
    """How well the average predicts answers that neither the kinds nor the weights have seen."""
    table, counts = _table(left_out)
    predicted, part = np.empty(len(counts)), np.arange(len(counts)) % PARTS
    for left in np.unique(part):
        weights = _weights(table[part != left], counts[part != left])
        predicted[part == left] = table[part == left] @ weights
    return LeftOut(predicted, left_out[0].held_out)


def _table(left_out: Sequence[LeftOut]) -> tuple[Matrix, Vector]:
    return np.column_stack([one.probabilities for one in left_out]), left_out[0].weights


def _weights(table: Matrix, counts: Vector) -> Vector:
    """By expectation and maximisation, which never leaves the simplex."""
    n_kinds = table.shape[1]
    weights = np.full(n_kinds, 1 / n_kinds)
    prior = PRIOR_ANSWERS / n_kinds
    total = counts.sum() + PRIOR_ANSWERS
    for _ in range(STEPS):
        joint = table * weights
        before = weights
        weights = (counts @ (joint / joint.sum(axis=1, keepdims=True)) + prior) / total
        if np.abs(weights - before).max() < TOLERANCE:
            break
    return weights
