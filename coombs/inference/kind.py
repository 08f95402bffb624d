"""What a kind of quadratic preference is: scores s(x) = x'Mx - 2 v'x (less is better), and a prior.

A kind turns unknowns y into (M, v), for many y at once, takes a gradient back, and has a prior. All
features are standardised, so that one prior serves every table of items. The scale of the scores is an
unknown of its own wherever there is one, and the others are relative to it or centred at what the answers
determine: then the posterior is near a Gaussian, and a sampler needs few steps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector

QUADRATIC_SPREAD = 4.0
"""Typical deviation of x'Mx over the items, in units of the noise of an answer (logits)."""
LOG_SCALE = 1.1
"""Prior deviation of the logarithm of the scores' scale."""
IDEAL_DISTANCE = 0.6
"""Typical size of a coordinate of the ideal point, in deviations of the items."""
LOG_IDEAL = 0.4
"""Prior deviation of the logarithm of the ideal point's size."""
HALF_LOG_2_PI = math.log(2 * math.pi) / 2
"""What the negative log density of a standard normal lacks."""
FLOOR = 1e-3
"""Least eigenvalue of a metric to start from, as a share of the mean one; and the least mean one."""


class Quadratic(NamedTuple):
    """(M, v) of each point, (C, d, d) and (C, d), and what the kind needs again for the gradient."""

    metric: Matrix
    linear: Matrix
    saved: Any = None


class Kind(Protocol):
    """What a preference may depend on; y is (C, size(d))."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def has_ideal(self) -> bool:
        """Whether there is an ideal point, or a worst one."""

    def size(self, d: int) -> int:
        """How many unknowns, those of the prior included."""

    def scale_at(self, d: int) -> int | None:
        """Which of them is the scale of all scores, in prior deviations; None where there are no scores."""

    def expand(self, y: Matrix, d: int) -> Quadratic:
        """(M, v) of each row of y."""

    def pullback(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        """The gradient with respect to y, from those with respect to M (symmetric) and v."""

    def prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix]:
        """The negative log density of the prior of each row, and its gradient."""

    def constant(self, d: int) -> float:
        """What the negative log density of the prior lacks."""

    def draw(self, count: int, d: int, rng: np.random.Generator) -> Matrix:
        """Rows of the prior."""

    def locate(self, metric: Matrix, linear: Vector) -> Vector:
        """Unknowns at, or near, a positive semidefinite metric and v."""

    def ideal(self, y: Matrix, d: int) -> Matrix:
        """u with M u = v of each row, of a kind that has one."""


def ideal_density(values: Vector) -> Vector:
    """Prior density, up to a constant, of a coordinate of the ideal point: normal of a log-normal size."""
    normal = np.linspace(-3.0, 3.0, 41)
    sizes = IDEAL_DISTANCE * np.exp(LOG_IDEAL * normal)
    result: Vector = np.exp(-((values[:, None] / sizes) ** 2) / 2) / sizes @ np.exp(-(normal**2) / 2)
    return result


def mean_eigenvalue(metric: Matrix) -> float:
    """Of a metric that is not too small to start from."""
    return max(float(np.trace(metric)) / max(len(metric), 1), FLOOR)


def ridge(metric: Matrix) -> Matrix:
    """What makes a positive semidefinite metric positive definite."""
    return FLOOR * mean_eigenvalue(metric) * np.eye(len(metric))


def _ideal(metric: Matrix, linear: Vector) -> Vector:
    """u with M u = v, no farther than three deviations from the items' centre."""
    point = np.linalg.solve(metric + ridge(metric), linear) if len(metric) else linear
    return np.clip(point, -3.0, 3.0)


def times(metric: Matrix, vector: Matrix) -> Matrix:
    """M v of each row, (C, d)."""
    result: Matrix = np.einsum("ijc,jc->ic", metric.transpose(1, 2, 0), vector.T).T
    return result


def normal(values: Matrix, log_size: Vector) -> tuple[Vector, Matrix, Vector]:
    """Independent normals of one size: negative log density, and its slopes along the values and log size."""
    slope = values * np.exp(-2 * log_size)[:, None]
    squares = np.einsum("ci,ci->c", values, slope)
    count = values.shape[1]
    return squares / 2 + count * log_size, slope, count - squares


class Centred:
    """A kind with an ideal point: unknowns (shape, u, hyperparameters of the shape, q), u ~ N(0, e^2q)."""

    has_ideal = True
    n_hyper = 0

    def shape_size(self, d: int) -> int:
        raise NotImplementedError

    def metric(self, y: Matrix, d: int) -> tuple[Matrix, Any]:
        """M of each row, and what to save."""
        raise NotImplementedError

    def pullback_metric(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix) -> Matrix:
        """The gradient along the shape."""
        raise NotImplementedError

    def shape_prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix, Matrix]:
        """Negative log density of the shape, and its gradient along the shape and its hyperparameters."""
        raise NotImplementedError

    def draw_shape(self, hyper: Matrix, d: int, rng: np.random.Generator) -> Matrix:
        raise NotImplementedError

    def shape_of(self, metric: Matrix) -> Vector:
        raise NotImplementedError

    def size(self, d: int) -> int:
        return self.shape_size(d) + d + self.n_hyper + 1

    def scale_at(self, d: int) -> int | None:
        return self.shape_size(d) + d

    def expand(self, y: Matrix, d: int) -> Quadratic:
        metric, saved = self.metric(y, d)
        return Quadratic(metric, times(metric, self.ideal(y, d)), saved)

    def ideal(self, y: Matrix, d: int) -> Matrix:
        """u of each row."""
        size = self.shape_size(d)
        return y[:, size : size + d]

    def ideal_at(self, y: Matrix, d: int, at: Quadratic) -> Matrix:
        """u of each row, in any basis."""
        return self.ideal(y, d)

    def pullback(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        half = to_linear.T[:, None] * (self.ideal(y, d).T / 2)
        to_both = to_metric + (half + half.swapaxes(0, 1)).transpose(2, 0, 1)
        result, size = np.zeros_like(y), self.shape_size(d)
        result[:, :size] = self.pullback_metric(y, d, at, to_both)
        result[:, size : size + d] = times(at.metric, to_linear)
        return result

    def prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix]:
        size = self.shape_size(d)
        hyper = y[:, size + d :]
        value, to_shape, to_hyper = self.shape_prior(y, d, at)
        log_size = math.log(IDEAL_DISTANCE) + LOG_IDEAL * hyper[:, -1]
        of_ideal, to_ideal, to_size = normal(self.ideal_at(y, d, at), log_size)
        slope = np.concatenate([to_shape, to_ideal, hyper], axis=1)
        slope[:, size + d : -1] += to_hyper
        slope[:, -1] += LOG_IDEAL * to_size
        return value + of_ideal + (hyper * hyper).sum(axis=1) / 2, slope

    def shape_constant(self, d: int) -> float:
        raise NotImplementedError

    def constant(self, d: int) -> float:
        return self.shape_constant(d) + (d + self.n_hyper + 1) * HALF_LOG_2_PI

    def draw(self, count: int, d: int, rng: np.random.Generator) -> Matrix:
        hyper = rng.standard_normal((count, self.n_hyper + 1))
        shape = self.draw_shape(hyper[:, :-1], d, rng)
        size = IDEAL_DISTANCE * np.exp(LOG_IDEAL * hyper[:, -1:])
        return np.concatenate([shape, size * rng.standard_normal((count, d)), hyper], axis=1)

    def locate(self, metric: Matrix, linear: Vector) -> Vector:
        return np.concatenate([self.shape_of(metric), _ideal(metric, linear), np.zeros(self.n_hyper + 1)])


def log_mean(d: int) -> float:
    """log of the typical size of a metric's diagonal."""
    return math.log(QUADRATIC_SPREAD / math.sqrt(max(d, 1)))
