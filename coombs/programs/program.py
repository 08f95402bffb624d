"""The convex program that every estimator here is an instance of, in item space.

    minimise    sum_k w_k loss((Q d)_k) + gamma1 sum_k w_k |(Q rho)_k| + gamma3 |d|^2
                + sum_j penalty_j y_j^2 + linear' y
    over        y = (svec N, c),  N positive semidefinite,  rho with normals' rho = 0,
    where       d = offset + features y - rho   (and d >= 0 if `nonnegative`).

Without a residual block rho is zero: d = offset + features y. Any (y, rho) is feasible, and any
prices (a, b) in their boxes give a lower bound in closed form, so the gap that a solver reports
is a certificate whatever road it took.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from coombs.programs.cone import smat

if TYPE_CHECKING:
    from coombs.data.graph import ComparisonGraph, Matrix, Vector
    from coombs.programs.losses import Loss


SMALLEST_SHARE = 1e-4
"""Optima below this share of the loss at d = 0 are known to that share times the tolerance."""


class Status(StrEnum):
    """How a solve ended: the whole list; `status_` of a fitted estimator is the text of one.

    Examples
    --------
    >>> from coombs import Status
    >>> Status("optimal") is Status.OPTIMAL
    True
    """

    OPTIMAL = "optimal"
    OPTIMAL_BY_CLARABEL = "optimal_by_clarabel"
    OPTIMAL_BY_CVXPY = "optimal_by_cvxpy"
    ALMOST_OPTIMAL = "almost_optimal"
    CONVERGED = "converged"
    MAX_ITERATIONS = "max_iterations"
    STALLED = "stalled"
    CHAINS_APART = "chains_apart"


class ConvergenceError(RuntimeError):
    """No solver reached the tolerance; the message says how near each came.

    Examples
    --------
    >>> from coombs import ConvergenceError
    >>> issubclass(ConvergenceError, RuntimeError)
    True
    """


@dataclass(frozen=True)
class Program:
    """One instance; see the module's docstring for the letters."""

    graph: ComparisonGraph
    weights: Vector
    loss: Loss
    features: Matrix
    order: int
    penalty: Vector
    linear: Vector
    offset: Vector
    normals: Matrix
    gamma1: float = 0.0
    gamma3: float = 0.0
    residual: bool = True
    nonnegative: bool = False

    @property
    def n_psd(self) -> int:
        """How many of the unknowns y are svec N."""
        return self.order * (self.order + 1) // 2

    def distances(self, y: Vector, rho: Vector) -> Vector:
        """d = offset + features y - rho."""
        result: Vector = self.offset + self.features @ y - rho
        return result

    def value(self, y: Vector, rho: Vector) -> float:
        """The objective at a feasible point, from its definition."""
        d = self.distances(y, rho)
        total = self.loss.value(self.graph.differences(d), self.weights)
        total += float(self.penalty @ y**2 + self.linear @ y + self.gamma3 * (d @ d))
        if self.gamma1:
            total += self.gamma1 * float(self.weights @ np.abs(self.residuals(rho)))
        return total

    def residuals(self, rho: Vector) -> Vector:
        """r = (I - R R^+) Q rho, with the projection done in item space.

        A function of rho and not of q - d, which would lose the digits of a small residual.
        """
        return self.graph.differences(rho + self.features[:, self.n_psd :] @ (self.normals.T @ rho))

    def bound(self, multipliers: Matrix) -> float:
        """The dual objective at (a, b): no feasible point has less, given 0 <= a, |b| <= gamma1 w."""
        graph, n_psd = self.graph, self.n_psd
        pull = graph.accumulate(multipliers[0])
        total = self.loss.conjugate(multipliers[0], self.weights)
        if self.residual:
            tau = graph.accumulate(multipliers[1]) if self.gamma1 else np.zeros(graph.n_items)
            tau += self.normals @ (self.features[:, n_psd:].T @ tau)[: self.normals.shape[1]]
            excess = np.maximum(pull + tau, 0.0) if self.nonnegative else pull + tau
            total -= float(excess @ excess) / (4 * self.gamma3)
        else:
            tau = -pull
        slope = self.features.T @ tau + self.linear
        # min over N >= 0 of sum p N^2 + <G, N>, the penalty's matrix being an outer product.
        scaled = slope[:n_psd] / np.sqrt(self.penalty[:n_psd])
        lowest = np.minimum(np.linalg.eigvalsh(smat(scaled, self.order)), 0.0)
        total += float(tau @ self.offset) - float(lowest @ lowest) / 4
        ridge = self.penalty[n_psd:]
        total -= float((slope[n_psd:][ridge > 0] ** 2 / (4 * ridge[ridge > 0])).sum())
        return total

    def relative_gap(self, y: Vector, rho: Vector, multipliers: Matrix) -> float:
        """(value - bound) / scale(value)."""
        value = self.value(y, rho)
        return (value - self.bound(multipliers)) / self.scale(value)

    def scale(self, value: float) -> float:
        """|value|, but no less than a small share of the loss of knowing nothing."""
        ignorance = self.loss.value(np.zeros(self.graph.n_answers), self.weights)
        return max(abs(value), SMALLEST_SHARE * ignorance)


@dataclass(frozen=True)
class Solution:
    """Where a solve ended."""

    y: Vector
    distances: Vector
    status: Status
    objective: float
    gap: float
    n_iter: int

    @classmethod
    def by_cvxpy(cls, y: Vector, distances: Vector, objective: float) -> Solution:
        """What the reference found; it gives no multipliers, so there is no gap to certify."""
        return cls(y, distances, Status.OPTIMAL_BY_CVXPY, objective, float("nan"), 0)
