"""The kinds of quadratic preferences: what a score s(x) = x'Mx - 2 v'x may be (less is better).

A kind turns unknowns y into (M, v), for many y at once, takes a gradient back, and has a prior. All
features are standardised, so that one prior serves every table of items. The scale of the scores is an
unknown of its own wherever there is one, and the others are relative to it or centred at what the answers
determine: then the posterior is near a Gaussian, and a sampler needs few steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from scipy.special import digamma, gammaln

from coombs.programs.cone import triangle

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector

QUADRATIC_SPREAD = 4.0
"""Typical deviation of x'Mx over the items, in units of the noise of an answer (logits)."""
LINEAR_SPREAD = 6.0
"""Typical deviation of a linear score over the items, in the same unit."""
LOG_SCALE = 0.7
"""Prior deviation of the logarithm of the scores' scale."""
IDEAL_DISTANCE = 0.6
"""Typical size of a coordinate of the ideal point, in deviations of the items."""
LOG_IDEAL = 0.4
"""Prior deviation of its logarithm."""
LIKENESS = -0.6
"""Prior centre of eta, where a metric has (d + 1)(1 + e^eta) degrees of freedom: more, and it is rounder."""
LIKENESS_WIDTH = 1.6
"""Prior deviation of eta."""
RATIO_WIDTH = 0.5
"""Prior deviation of the logarithm of the linear part's size, relative to the quadratic part's."""
HALF_LOG_2_PI = math.log(2 * math.pi) / 2
"""What the negative log density of a standard normal lacks."""
SMALL = 12
"""Features up to which many products of matrices are faster by their entries than one by one."""
FLOOR = 1e-3
"""Least eigenvalue of a metric to start from, as a share of the mean one; and the least mean one."""


class Quadratic(NamedTuple):
    """(M, v) of each point, (C, d, d) and (C, d), and what the kind needs again for the gradient."""

    metric: Matrix
    linear: Matrix
    saved: Any = None


class Kind(Protocol):
    """What a preference may depend on; y is (C, size(d))."""

    name: str
    has_ideal: bool

    def size(self, d: int) -> int:
        """How many unknowns, those of the prior included."""

    def expand(self, y: Matrix, d: int) -> Quadratic:
        """(M, v) of each row of y."""

    def pull(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        """The gradient with respect to y, from those with respect to M (symmetric) and v."""

    def prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix]:
        """The negative log density of the prior of each row, and its gradient."""

    def constant(self, d: int) -> float:
        """What the negative log density of the prior lacks."""

    def draw(self, count: int, d: int, rng: np.random.Generator) -> Matrix:
        """Rows of the prior."""

    def locate(self, metric: Matrix, linear: Vector) -> Vector:
        """Unknowns at, or near, a positive semidefinite metric and v."""


def _mean_eigenvalue(metric: Matrix) -> float:
    """Of a metric that is not too small to start from."""
    return max(float(np.trace(metric)) / max(len(metric), 1), FLOOR)


def _ridge(metric: Matrix) -> Matrix:
    """What makes a positive semidefinite metric positive definite."""
    return FLOOR * _mean_eigenvalue(metric) * np.eye(len(metric))


def _ideal(metric: Matrix, linear: Vector) -> Vector:
    """u with M u = v, no farther than three deviations from the items' centre."""
    point = np.linalg.solve(metric + _ridge(metric), linear) if len(metric) else linear
    return np.clip(point, -3.0, 3.0)


def _times(metric: Matrix, vector: Matrix) -> Matrix:
    """M v of each row, (C, d)."""
    result: Matrix = np.einsum("ijc,jc->ic", metric.transpose(1, 2, 0), vector.T).T
    return result


def _product(a: Matrix, b: Matrix) -> Matrix:
    """A'B of each pair of matrices, (d, d, C)."""
    if len(a) <= SMALL:
        result: Matrix = np.einsum("kic,kjc->ijc", a, b)
        return result
    left, right = np.ascontiguousarray(a.transpose(2, 1, 0)), np.ascontiguousarray(b.transpose(2, 0, 1))
    return np.ascontiguousarray((left @ right).transpose(1, 2, 0))


def _solve(root: Matrix, vector: Matrix) -> Matrix:
    """R^-1 v of each upper triangular R, (d, d, C), and v, (d, C)."""
    result = vector.copy()
    for i in range(len(root) - 1, -1, -1):
        result[i] /= root[i, i]
        result[:i] -= root[:i, i] * result[i]
    return result


def _rotated(matrix: Matrix, basis: Matrix) -> Matrix:
    """V A V' of each A, (d, d, C)."""
    result: Matrix = basis @ (basis @ matrix.reshape(len(basis), -1)).reshape(matrix.shape)
    return result


def _normal(values: Matrix, log_size: Vector) -> tuple[Vector, Matrix, Vector]:
    """Independent normals of one size: negative log density, and its slopes along the values and log size."""
    slope = values * np.exp(-2 * log_size)[:, None]
    squares = np.einsum("ci,ci->c", values, slope)
    count = values.shape[1]
    return squares / 2 + count * log_size, slope, count - squares


class _Centred:
    """A kind with an ideal point: unknowns (shape, u, hyperparameters of the shape, q), u ~ N(0, e^2q)."""

    has_ideal = True
    n_hyper = 0

    def shape_size(self, d: int) -> int:
        raise NotImplementedError

    def metric(self, y: Matrix, d: int) -> tuple[Matrix, Any]:
        """M of each row, and what to save."""
        raise NotImplementedError

    def pull_metric(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix) -> Matrix:
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

    def expand(self, y: Matrix, d: int) -> Quadratic:
        metric, saved = self.metric(y, d)
        return Quadratic(metric, _times(metric, self.ideal(y, d)), saved)

    def ideal(self, y: Matrix, d: int) -> Matrix:
        """u of each row."""
        size = self.shape_size(d)
        return y[:, size : size + d]

    def ideal_at(self, y: Matrix, d: int, at: Quadratic) -> Matrix:
        """The same, in any basis."""
        return self.ideal(y, d)

    def pull(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        half = to_linear.T[:, None] * (self.ideal(y, d).T / 2)
        to_both = to_metric + (half + half.swapaxes(0, 1)).transpose(2, 0, 1)
        result, size = np.zeros_like(y), self.shape_size(d)
        result[:, :size] = self.pull_metric(y, d, at, to_both)
        result[:, size : size + d] = _times(at.metric, to_linear)
        return result

    def prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix]:
        size = self.shape_size(d)
        hyper = y[:, size + d :]
        value, to_shape, to_hyper = self.shape_prior(y, d, at)
        log_size = math.log(IDEAL_DISTANCE) + LOG_IDEAL * hyper[:, -1]
        of_ideal, to_ideal, to_size = _normal(self.ideal_at(y, d, at), log_size)
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


@cache
def _upper(d: int) -> tuple[Index, Index]:
    """Rows and columns of the diagonal, then of what is above it."""
    rows, columns = _above(d)
    diagonal = np.arange(d)
    return np.concatenate([diagonal, rows]), np.concatenate([diagonal, columns])


@cache
def _above(d: int) -> tuple[Index, Index]:
    """Rows and columns above the diagonal."""
    rows, columns = np.triu_indices(d, 1)
    return rows, columns


def _log_mean(d: int) -> float:
    """log of the typical size of a metric's diagonal."""
    return math.log(QUADRATIC_SPREAD / math.sqrt(max(d, 1)))


@dataclass(frozen=True)
class Full(_Centred):
    """Any positive definite metric, the paper's: M = V R'R V', R upper triangular, in a fixed `basis` V.

    M is Wishart with nu = (d + 1)(1 + e^eta) degrees of freedom and mean e^2k times a typical size: entries
    of R above the diagonal are normal, squares of the i-th on it are chi squared with nu - i (Bartlett).
    With eta learned, somebody who weighs all directions alike is not credited with a metric of chance. The
    prior is the same in every basis; in the eigenvectors of a rough estimate, the largest first, the
    posterior is nearest to a Gaussian. It is so with w = R V'u / R_00 in place of u, as v = R_00 V R'w.
    Unknowns: log R_00, log R_ii / R_00, R_ij / R_00, w, k, eta, q.
    """

    basis: Matrix | None = field(default=None, repr=False, compare=False)

    name = "full"
    n_hyper = 2

    def shape_size(self, d: int) -> int:
        return d * (d + 1) // 2

    def expand(self, y: Matrix, d: int) -> Quadratic:
        # Points last: then sums over features are sums of whole rows.
        size, basis = self.shape_size(d), self._basis(d, y.dtype)
        entries, w = y.T[:size].copy(), y.T[size : size + d]
        scale = np.exp(2 * entries[0])
        entries[0] = 0.0
        np.exp(entries[:d], out=entries[:d])
        root = np.zeros((d, d, len(y)), y.dtype)
        root[_upper(d)] = entries
        metric = _rotated(scale * _product(root, root), basis)
        linear = basis @ (scale * np.einsum("kic,kc->ic", root, w))
        return Quadratic(metric.transpose(2, 0, 1), linear.T, (root, entries, scale, _solve(root, w)))

    def _basis(self, d: int, dtype: Any) -> Matrix:
        result: Matrix = np.eye(d, dtype=dtype) if self.basis is None else self.basis.astype(dtype)
        return result

    def ideal(self, y: Matrix, d: int) -> Matrix:
        result: Matrix = self.ideal_at(y, d, self.expand(y, d)) @ self._basis(d, y.dtype).T
        return result

    def ideal_at(self, y: Matrix, d: int, at: Quadratic) -> Matrix:
        result: Matrix = at.saved[3].T
        return result

    def pull(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        root, entries, scale, _ = at.saved
        size, inverse = self.shape_size(d), self._basis(d, y.dtype).T
        w, to_v = y.T[size : size + d], inverse @ to_linear.T
        to_root = 2 * _product(root.swapaxes(0, 1), _rotated(to_metric.transpose(1, 2, 0), inverse))
        to_root += w[:, None] * to_v
        result = np.zeros((y.shape[1], len(y)), y.dtype)
        result[:size] = to_root[_upper(d)]
        result[size : size + d] = np.einsum("ikc,kc->ic", root, to_v)
        result *= scale
        # Everything is relative to R_00.
        total = np.einsum("ic,ic->c", result[:size], entries)
        total += np.einsum("ic,ic->c", result[size : size + d], w)
        result[:d] *= entries[:d]
        result[0] = total
        return result.T

    def prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix]:
        root, entries, _, u = at.saved
        size = self.shape_size(d)
        value, slope = super().prior(y, d, at)
        # From u to w: du = R^-1 dw, and du = -R^-1 dR u, both relative to R_00.
        to_w = _solve(root.swapaxes(0, 1)[::-1, ::-1], slope.T[size : size + d][::-1])[::-1]
        to_entries = (to_w[:, None] * u)[_upper(d)]
        to_entries[:d] *= entries[:d]
        to_entries[:d] -= 1
        slope.T[1:size] -= to_entries[1:]
        slope.T[size : size + d] = to_w
        return value + y.T[1:d].sum(axis=0), slope

    def draw(self, count: int, d: int, rng: np.random.Generator) -> Matrix:
        return self._from_ideal(super().draw(count, d, rng), d)

    def locate(self, metric: Matrix, linear: Vector) -> Vector:
        y, size, d = super().locate(metric, linear), self.shape_size(len(metric)), len(metric)
        y[size : size + d] = y[size : size + d] @ self._basis(d, y.dtype)
        result: Vector = self._from_ideal(y[None], d)[0]
        return result

    def _from_ideal(self, y: Matrix, d: int) -> Matrix:
        """The unknowns, from the same with V'u in place of w."""
        size = self.shape_size(d)
        root, u = self.expand(y, d).saved[0], y[:, size : size + d]
        result = y.copy()
        result[:, size : size + d] = np.einsum("ijc,cj->ci", root, u)
        return result

    def shape_prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix, Matrix]:
        _, entries, scale, _ = at.saved
        size, unknowns = self.shape_size(d), y.T
        n_above, places = size - d, np.arange(d, dtype=y.dtype)
        nu = (d + 1) * (1 + np.exp(LIKENESS + LIKENESS_WIDTH * unknowns[size + d + 1]))
        freedom = nu - places[:, None]
        total = d * nu - n_above
        log_sigma = (_log_mean(d) + LOG_SCALE * unknowns[size + d] - np.log(nu)) / 2
        slope = entries * (scale * np.exp(-2 * log_sigma))
        squares = np.einsum("ic,ic->c", slope, entries)
        logs = d * unknowns[0] + unknowns[1:d].sum(axis=0)
        # sum (nu - i - 1) log R_ii, and size log R_00 + sum log R_ii / R_00, as the unknowns are these.
        value = squares / 2 + (n_above + total) * log_sigma - nu * logs + places @ unknowns[:d]
        value += total * (math.log(2) / 2) + gammaln(freedom / 2).sum(axis=0)
        slope[:d] *= entries[:d]
        slope[:d] -= freedom
        slope[0] = squares - total - n_above
        to_sigma = n_above + total - squares
        to_nu = d * (log_sigma + math.log(2) / 2) - logs + digamma(freedom / 2).sum(axis=0) / 2
        to_eta = LIKENESS_WIDTH * (nu - d - 1) * (to_nu - to_sigma / (2 * nu))
        return value, slope.T, np.stack([to_sigma * (LOG_SCALE / 2), to_eta]).T

    def shape_constant(self, d: int) -> float:
        return d * (d - 1) / 2 * HALF_LOG_2_PI - d * math.log(2)

    def draw_shape(self, hyper: Matrix, d: int, rng: np.random.Generator) -> Matrix:
        k, eta = hyper.T
        nu = (d + 1) * (1 + np.exp(LIKENESS + LIKENESS_WIDTH * eta))
        sigma = np.exp((_log_mean(d) + LOG_SCALE * k - np.log(nu)) / 2)[:, None]
        diagonal = sigma * np.sqrt(rng.chisquare(nu[:, None] - np.arange(d)))
        above = sigma * rng.standard_normal((len(k), d * (d - 1) // 2))
        first = diagonal[:, :1]
        return np.concatenate([np.log(first), np.log(diagonal[:, 1:] / first), above / first], axis=1)

    def shape_of(self, metric: Matrix) -> Vector:
        d, basis = len(metric), np.eye(len(metric)) if self.basis is None else self.basis
        root = np.linalg.cholesky(basis.T @ metric @ basis + _ridge(metric)).T
        logs = np.log(np.diagonal(root))
        return np.concatenate([logs[:1], logs[1:] - logs[0], root[_above(d)] / root[0, 0]])


class Diagonal(_Centred):
    """One weight for each feature: M = diag(a^2), a half normal; unknowns log a, u, k, q."""

    name = "diagonal"
    n_hyper = 1

    def shape_size(self, d: int) -> int:
        return d

    def metric(self, y: Matrix, d: int) -> tuple[Matrix, Any]:
        squares = np.exp(2 * y[:, :d])
        return squares[:, :, None] * np.eye(d, dtype=y.dtype), squares

    def pull_metric(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix) -> Matrix:
        result: Matrix = 2 * at.saved * np.diagonal(to_metric, axis1=1, axis2=2)
        return result

    def shape_prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix, Matrix]:
        log_sigma = (_log_mean(d) + LOG_SCALE * y[:, 2 * d]) / 2
        scaled = at.saved * np.exp(-2 * log_sigma)[:, None]
        squares = scaled.sum(axis=1)
        value = squares / 2 + d * log_sigma - y[:, :d].sum(axis=1)
        return value, scaled - 1, ((d - squares) * LOG_SCALE / 2)[:, None]

    def shape_constant(self, d: int) -> float:
        return d * (HALF_LOG_2_PI - math.log(2))

    def draw_shape(self, hyper: Matrix, d: int, rng: np.random.Generator) -> Matrix:
        log_sigma = (_log_mean(d) + LOG_SCALE * hyper) / 2
        result: Matrix = log_sigma + np.log(np.abs(rng.standard_normal((len(hyper), d))))
        return result

    def shape_of(self, metric: Matrix) -> Vector:
        result: Vector = np.log(np.maximum(np.diag(metric), FLOOR * _mean_eigenvalue(metric))) / 2
        return result


class Identity(_Centred):
    """The Euclidean distance of standardised features: M = e^2k I; unknowns k, u, q."""

    name = "identity"

    def shape_size(self, d: int) -> int:
        return 1

    def metric(self, y: Matrix, d: int) -> tuple[Matrix, Any]:
        size = np.exp(_log_mean(d) + LOG_SCALE * y[:, 0])
        return size[:, None, None] * np.eye(d, dtype=y.dtype), size

    def pull_metric(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix) -> Matrix:
        result: Matrix = (LOG_SCALE * at.saved * np.trace(to_metric, axis1=1, axis2=2))[:, None]
        return result

    def shape_prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix, Matrix]:
        return y[:, 0] ** 2 / 2, y[:, :1], np.zeros((len(y), 0), y.dtype)

    def shape_constant(self, d: int) -> float:
        return HALF_LOG_2_PI

    def draw_shape(self, hyper: Matrix, d: int, rng: np.random.Generator) -> Matrix:
        return rng.standard_normal((len(hyper), 1))

    def shape_of(self, metric: Matrix) -> Vector:
        return np.array([(math.log(_mean_eigenvalue(metric)) - _log_mean(len(metric))) / LOG_SCALE])


class Linear:
    """A linear utility: M = 0. More is better, or less is; there is no ideal. Unknowns v, k."""

    name = "none"
    has_ideal = False

    def size(self, d: int) -> int:
        return d + 1

    def expand(self, y: Matrix, d: int) -> Quadratic:
        return Quadratic(np.zeros((len(y), d, d), y.dtype), y[:, :d])

    def pull(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        return np.concatenate([to_linear, np.zeros((len(y), 1), y.dtype)], axis=1)

    def _log_size(self, d: int, k: Vector) -> Vector:
        return math.log(LINEAR_SPREAD / 2 / math.sqrt(d)) + LOG_SCALE * k

    def prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix]:
        value, to_linear, to_size = _normal(y[:, :d], self._log_size(d, y[:, d]))
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

    def expand(self, y: Matrix, d: int) -> Quadratic:
        t = triangle(d)
        n = len(t.rows)
        return Quadratic((y[:, :n] / t.factors.astype(y.dtype))[:, t.unpack], y[:, n : n + d])

    def pull(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
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
        of_metric, to_metric, by_metric = _normal(y[:, :n], log_metric)
        of_linear, to_linear, by_linear = _normal(y[:, n : n + d], log_linear)
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

    def expand(self, y: Matrix, d: int) -> Quadratic:
        return Quadratic(np.zeros((len(y), d, d), y.dtype), np.zeros((len(y), d), y.dtype))

    def pull(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
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
