"""Averaging kinds of preference by how well they predict answers left out, and by their evidence.

Predictions tell which average is best even where no kind is right (stacking; Yao et al., 2018); where answers
are few, the evidence (marginal likelihood) tells more. So the evidence is a part of stacking's prior.
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


PRIOR_ANSWERS = 2.0
"""Answers that what is thought of the kinds in advance counts for."""
BY_EVIDENCE = 0.8
"""Share of those answers that follows the evidence; the rest are for all kinds alike."""
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


def stack(left_out: Sequence[LeftOut], believed: Vector | None = None) -> Vector:
    """Weights w of the kinds that predict best: at the maximum of sum_k n_k log(w'p_k) + sum_j a_j log w_j.

    They add up to 1. p_kj is kind j's probability of answer k as predicted from the others. The second term
    is a prior, so that few answers do not decide: a_j is PRIOR_ANSWERS in equal parts, or mostly by what is
    `believed` of the kinds by the evidence. The maximum is unique, so nothing jumps.
    """
    table, counts = _table(left_out)
    return _weights(table, counts, _prior(len(left_out), believed))


def average(left_out: Sequence[LeftOut], probabilities: Vector | None = None, stacks: bool = True) -> LeftOut:
    """How well the average predicts answers that neither the kinds nor the weights have seen.

    `probabilities` are those by the evidence, of the kinds and last of a coin; they are the weights if it not
    `stacks`. Without some answers the evidence for each is less by the probability that it gives them.
    """
    (table, counts), tested = _table(left_out), left_out[0].held_out
    with_coin = np.column_stack([table, tested.chance])
    predicted, part = np.empty(len(counts)), tested.questions % PARTS
    for left in np.unique(part):
        kept, gone = part != left, part == left
        believed, coin = None, 0.0
        if probabilities is not None:
            rest = _without(probabilities, counts[gone] @ np.log(with_coin[gone]))
            believed, coin = of_kinds(rest), float(rest[-1])
        weights = believed
        if weights is None or stacks:
            weights = _weights(table[kept], counts[kept], _prior(len(left_out), believed))
        predicted[gone] = (1 - coin) * (table[gone] @ weights) + coin * tested.chance[gone]
    return LeftOut(predicted, tested)


def of_kinds(probabilities: Vector) -> Vector:
    """The probabilities of kinds that are followed by that of a coin, if it is none."""
    kinds, total = probabilities[:-1], float(probabilities[:-1].sum())
    result: Vector = kinds / total if total > 0 else np.full(len(kinds), 1 / len(kinds))
    return result


def _without(probabilities: Vector, of_answers: Vector) -> Vector:
    """What the probabilities are without answers to which these log probabilities are given."""
    logs = np.log(np.maximum(probabilities, 1e-300)) - of_answers
    weights = np.exp(logs - logs.max())
    result: Vector = weights / weights.sum()
    return result


def _table(left_out: Sequence[LeftOut]) -> tuple[Matrix, Vector]:
    return np.column_stack([one.probabilities for one in left_out]), left_out[0].weights


def _prior(n: int, believed: Vector | None) -> Vector:
    """The answers that each of n kinds counts for in advance."""
    equal = np.full(n, 1 / n)
    shares = equal if believed is None else BY_EVIDENCE * believed + (1 - BY_EVIDENCE) * equal
    return PRIOR_ANSWERS * shares


def _weights(table: Matrix, counts: Vector, prior: Vector) -> Vector:
    """By expectation and maximisation, which never leaves the simplex."""
    weights: Vector = prior / prior.sum()
    total = counts.sum() + prior.sum()
    for _ in range(STEPS):
        joint = table * weights
        before = weights
        weights = (counts @ (joint / joint.sum(axis=1, keepdims=True)) + prior) / total
        if np.abs(weights - before).max() < TOLERANCE:
            break
    return weights
