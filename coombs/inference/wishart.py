"""The full metric, with a Wishart prior."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import digamma, gammaln

from coombs.inference.kind import HALF_LOG_2_PI, LOG_SCALE, Centred, Quadratic, log_mean, ridge

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector

LIKENESS = -0.6
"""Prior centre of eta: of (d + 1)(1 + e^eta) degrees of freedom, the more, the nearer to the identity."""
LIKENESS_WIDTH = 1.6
"""Prior deviation of eta."""
SMALL = 12
"""Features up to which many products of matrices are faster by their entries than one by one."""


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


@dataclass(frozen=True)
class Full(Centred):
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

    def pullback(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
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
        log_sigma = (log_mean(d) + LOG_SCALE * unknowns[size + d] - np.log(nu)) / 2
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
        sigma = np.exp((log_mean(d) + LOG_SCALE * k - np.log(nu)) / 2)[:, None]
        diagonal = sigma * np.sqrt(rng.chisquare(nu[:, None] - np.arange(d)))
        above = sigma * rng.standard_normal((len(k), d * (d - 1) // 2))
        first = diagonal[:, :1]
        return np.concatenate([np.log(first), np.log(diagonal[:, 1:] / first), above / first], axis=1)

    def shape_of(self, metric: Matrix) -> Vector:
        d, basis = len(metric), np.eye(len(metric)) if self.basis is None else self.basis
        root = np.linalg.cholesky(basis.T @ metric @ basis + ridge(metric)).T
        logs = np.log(np.diagonal(root))
        return np.concatenate([logs[:1], logs[1:] - logs[0], root[_above(d)] / root[0, 0]])
