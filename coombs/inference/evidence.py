"""The evidence for a kind of preference (marginal likelihood): its likelihood, averaged over its prior."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector

FREEDOM = 5
"""Degrees of freedom of the t distribution that draws are held against: tails heavier than theirs."""
MOST_DRAWS = 2_048
"""Draws for each half of the computation."""
STEPS = 200
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
    for _ in range(STEPS):
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
