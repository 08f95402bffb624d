"""Posteriors of one feature by numerical integration: nothing of the package but its prior's constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp

from coombs.data.answers import Answers
from coombs.data.tables import FloatArray
from coombs.inference import kind as prior
from coombs.inference import kinds

FARTHEST = 6.5
"""Where a standard normal unknown is cut off."""
FINEST = 0.3
"""Up to about this size, points along v or u are equally apart."""


@dataclass(frozen=True)
class Exact:
    """Unknowns y on a grid, the prior's share of each point, and log p of each answer there."""

    y: FloatArray
    log_prior: FloatArray
    log_p: FloatArray

    def log_evidence(self, weights: FloatArray) -> float:
        """log of the answers' probability."""
        return float(logsumexp(self.log_prior + weights @ self.log_p))

    def shares(self, weights: FloatArray) -> FloatArray:
        """The posterior's share of each point."""
        logs = self.log_prior + weights @ self.log_p
        result: FloatArray = np.exp(logs - logsumexp(logs))
        return result

    def moments(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means and deviations of arcsinh of the unknowns, whose tails are light."""
        shares, values = self.shares(weights), np.arcsinh(self.y)
        mean = shares @ values
        return mean, np.sqrt(shares @ (values - mean) ** 2)

    def quantile(self, weights: FloatArray, unknown: int, level: float) -> float:
        """Of one unknown; the share of a grid point lies half on either side of it."""
        values, place = np.unique(np.round(self.y[:, unknown], 9), return_inverse=True)
        share = np.bincount(place, self.shares(weights))
        return float(np.interp(level, np.cumsum(share) - share / 2, values))

    def without(self, weights: FloatArray, left: FloatArray) -> FloatArray:
        """The probability of each answer, predicted from all but some."""
        result: FloatArray = np.exp(self.log_p) @ self.shares(np.where(left, 0.0, weights))
        return result


def integrate(answers: Answers, kind: str, lapse: float) -> Exact:
    """Of the linear kind, unknowns (v, k); or the identity, (k, u, q).

    Along v or u the grid is finer near zero, where answers say most.
    """
    wide, normal = np.linspace(-9.5, 9.5, 801), np.linspace(-FARTHEST, FARTHEST, 61)
    if kind == "none":
        t, k = _grid(wide, np.linspace(-FARTHEST, FARTHEST, 121))
        v, metric = FINEST * np.sinh(t), 0 * t
        log_prior = _log_normal(v, kinds.LINEAR_SPREAD / 2 * np.exp(prior.LOG_SCALE * k)) - k**2 / 2
        y = np.column_stack([v, k])
    else:
        k, t, q = _grid(normal, wide[np.abs(wide) < 5.5][::3], normal[::2])
        u, metric = FINEST * np.sinh(t), prior.QUADRATIC_SPREAD * np.exp(prior.LOG_SCALE * k)
        size = prior.IDEAL_DISTANCE * np.exp(prior.LOG_IDEAL * q)
        log_prior = _log_normal(u, size) - (k**2 + q**2) / 2
        v, y = metric * u, np.column_stack([k, u, q])
    log_prior += np.log(np.cosh(t))
    x = answers.items[:, 0]
    squares = x[answers.losers] ** 2 - x[answers.winners] ** 2
    margin = np.outer(squares, metric) - 2 * np.outer(x[answers.losers] - x[answers.winners], v)
    log_p = np.log(lapse / 2 + (1 - lapse) * expit(margin))
    return Exact(y, log_prior - logsumexp(log_prior), log_p)


def _grid(*axes: FloatArray) -> list[FloatArray]:
    return [one.ravel() for one in np.meshgrid(*axes, indexing="ij")]


def _log_normal(values: FloatArray, size: FloatArray) -> FloatArray:
    """Log density of a normal, but for its constant."""
    result: FloatArray = -((values / size) ** 2) / 2 - np.log(size)
    return result
