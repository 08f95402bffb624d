"""The kinds of quadratic preferences: every one by its name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.inference.kind import (
    FLOOR,
    HALF_LOG_2_PI,
    LOG_SCALE,
    QUADRATIC_SPREAD,
    Centred,
    Quadratic,
    log_mean,
    mean_eigenvalue,
    normal,
)
from coombs.inference.wishart import Full
from coombs.programs.cone import triangle

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector
    from coombs.inference.kind import Kind

LINEAR_SPREAD = 6.0
"""Typical deviation of a linear score over the items, in the same unit."""
RATIO_WIDTH = 0.5
"""Prior deviation of the logarithm of the linear part's size, relative to the quadratic part's."""


class Diagonal(Centred):
    """One weight for each feature: M = diag(a^2), a half normal; unknowns log a, u, k, q."""

    name = "diagonal"
    n_hyper = 1

    def shape_size(self, d: int) -> int:
        return d

    def metric(self, y: Matrix, d: int) -> tuple[Matrix, Any]:
        squares = np.exp(2 * y[:, :d])
        return squares[:, :, None] * np.eye(d, dtype=y.dtype), squares

    def pullback_metric(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix) -> Matrix:
        result: Matrix = 2 * at.saved * np.diagonal(to_metric, axis1=1, axis2=2)
        return result

    def shape_prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix, Matrix]:
        log_sigma = (log_mean(d) + LOG_SCALE * y[:, 2 * d]) / 2
        scaled = at.saved * np.exp(-2 * log_sigma)[:, None]
        squares = scaled.sum(axis=1)
        value = squares / 2 + d * log_sigma - y[:, :d].sum(axis=1)
        return value, scaled - 1, ((d - squares) * LOG_SCALE / 2)[:, None]

    def shape_constant(self, d: int) -> float:
        return d * (HALF_LOG_2_PI - math.log(2))

    def draw_shape(self, hyper: Matrix, d: int, rng: np.random.Generator) -> Matrix:
        log_sigma = (log_mean(d) + LOG_SCALE * hyper) / 2
        result: Matrix = log_sigma + np.log(np.abs(rng.standard_normal((len(hyper), d))))
        return result

    def shape_of(self, metric: Matrix) -> Vector:
        result: Vector = np.log(np.maximum(np.diag(metric), FLOOR * mean_eigenvalue(metric))) / 2
        return result


class Identity(Centred):
    """The Euclidean distance of standardised features: M = e^2k I; unknowns k, u, q."""

    name = "identity"

    def shape_size(self, d: int) -> int:
        return 1

    def scale_at(self, d: int) -> int | None:
        return 0

    def metric(self, y: Matrix, d: int) -> tuple[Matrix, Any]:
        size = np.exp(log_mean(d) + LOG_SCALE * y[:, 0])
        return size[:, None, None] * np.eye(d, dtype=y.dtype), size

    def pullback_metric(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix) -> Matrix:
        result: Matrix = (LOG_SCALE * at.saved * np.trace(to_metric, axis1=1, axis2=2))[:, None]
        return result

    def shape_prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix, Matrix]:
        return y[:, 0] ** 2 / 2, y[:, :1], np.zeros((len(y), 0), y.dtype)

    def shape_constant(self, d: int) -> float:
        return HALF_LOG_2_PI

    def draw_shape(self, hyper: Matrix, d: int, rng: np.random.Generator) -> Matrix:
        return rng.standard_normal((len(hyper), 1))

    def shape_of(self, metric: Matrix) -> Vector:
        return np.array([(math.log(mean_eigenvalue(metric)) - log_mean(len(metric))) / LOG_SCALE])


class Linear:
    """A linear utility: M = 0. More is better, or less is; there is no ideal. Unknowns v, k."""

    name = "none"
    has_ideal = False

    def size(self, d: int) -> int:
        return d + 1

    def scale_at(self, d: int) -> int | None:
        return d

    def ideal(self, y: Matrix, d: int) -> Matrix:
        return np.full((len(y), d), np.nan)

    def expand(self, y: Matrix, d: int) -> Quadratic:
        return Quadratic(np.zeros((len(y), d, d), y.dtype), y[:, :d])

    def pullback(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        return np.concatenate([to_linear, np.zeros((len(y), 1), y.dtype)], axis=1)

    def _log_size(self, d: int, k: Vector) -> Vector:
        return math.log(LINEAR_SPREAD / 2 / math.sqrt(d)) + LOG_SCALE * k

    def prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix]:
        value, to_linear, to_size = normal(y[:, :d], self._log_size(d, y[:, d]))
        slope = np.concatenate([to_linear, (LOG_SCALE * to_size + y[:, d])[:, None]], axis=1)
        return value + y[:, d] ** 2 / 2, slope

    def constant(self, d: int) -> float:
        return self.size(d) * HALF_LOG_2_PI

    def draw(self, count: int, d: int, rng: np.random.Generator) -> Matrix:
        k = rng.standard_normal(count)
        v = np.exp(self._log_size(d, k))[:, None] * rng.standard_normal((count, d))
        return np.concatenate([v, k[:, None]], axis=1)

    def locate(self, metric: Matrix, linear: Vector) -> Vector:
        return np.append(linear, 0.0)


class Signed:
    """Any symmetric M: some directions may be anti-ideal, the middle being worst.

    Unknowns svec M, v, k, q.
    """

    name = "signed"
    has_ideal = True

    def size(self, d: int) -> int:
        return d * (d + 1) // 2 + d + 2

    def scale_at(self, d: int) -> int | None:
        return d * (d + 1) // 2 + d

    def ideal(self, y: Matrix, d: int) -> Matrix:
        """Where it is neither better nor worse all around."""
        at = self.expand(y, d)
        each = zip(at.metric, at.linear, strict=True)
        return np.array([np.linalg.lstsq(m, v, rcond=1e-9)[0] for m, v in each]).reshape(len(y), d)

    def expand(self, y: Matrix, d: int) -> Quadratic:
        t = triangle(d)
        n = len(t.rows)
        return Quadratic((y[:, :n] / t.factors.astype(y.dtype))[:, t.unpack], y[:, n : n + d])

    def pullback(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        t = triangle(d)
        to_entries = to_metric[:, t.rows, t.columns] * t.factors.astype(y.dtype)
        return np.concatenate([to_entries, to_linear, np.zeros((len(y), 2), y.dtype)], axis=1)

    def _log_sizes(self, d: int, hyper: Matrix) -> tuple[Vector, Vector]:
        scale = LOG_SCALE * hyper[:, 0]
        linear = math.log(QUADRATIC_SPREAD / 2 / math.sqrt(d)) + scale + RATIO_WIDTH * hyper[:, 1]
        return math.log(QUADRATIC_SPREAD / d) + scale, linear

    def prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix]:
        n, hyper = len(triangle(d).rows), y[:, -2:]
        log_metric, log_linear = self._log_sizes(d, hyper)
        of_metric, to_metric, by_metric = normal(y[:, :n], log_metric)
        of_linear, to_linear, by_linear = normal(y[:, n : n + d], log_linear)
        to_hyper = hyper + np.stack([LOG_SCALE * (by_metric + by_linear), RATIO_WIDTH * by_linear], axis=1)
        value = of_metric + of_linear + (hyper * hyper).sum(axis=1) / 2
        return value, np.concatenate([to_metric, to_linear, to_hyper], axis=1)

    def constant(self, d: int) -> float:
        return self.size(d) * HALF_LOG_2_PI

    def draw(self, count: int, d: int, rng: np.random.Generator) -> Matrix:
        hyper = rng.standard_normal((count, 2))
        sizes = [np.exp(size)[:, None] for size in self._log_sizes(d, hyper)]
        metric = sizes[0] * rng.standard_normal((count, len(triangle(d).rows)))
        return np.concatenate([metric, sizes[1] * rng.standard_normal((count, d)), hyper], axis=1)

    def locate(self, metric: Matrix, linear: Vector) -> Vector:
        t = triangle(len(linear))
        return np.concatenate([metric[t.rows, t.columns] * t.factors, linear, np.zeros(2)])


class Constant:
    """Nothing of the features: with item effects, the Bradley-Terry model."""

    name = "items"
    has_ideal = False

    def size(self, d: int) -> int:
        return 0

    def scale_at(self, d: int) -> int | None:
        return None

    def ideal(self, y: Matrix, d: int) -> Matrix:
        return np.full((len(y), d), np.nan)

    def expand(self, y: Matrix, d: int) -> Quadratic:
        return Quadratic(np.zeros((len(y), d, d), y.dtype), np.zeros((len(y), d), y.dtype))

    def pullback(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        return np.zeros_like(y)

    def prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix]:
        return np.zeros(len(y), y.dtype), np.zeros_like(y)

    def constant(self, d: int) -> float:
        return 0.0

    def draw(self, count: int, d: int, rng: np.random.Generator) -> Matrix:
        return np.zeros((count, 0))

    def locate(self, metric: Matrix, linear: Vector) -> Vector:
        return np.zeros(0)


_ALL: tuple[Kind, ...] = (Constant(), Linear(), Identity(), Diagonal(), Full(), Signed())
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}
METRICS = ("none", "identity", "diagonal", "full", "signed")
"""The kinds that are metrics, from the simplest."""
