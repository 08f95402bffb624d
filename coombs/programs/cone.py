"""The cone of positive semidefinite matrices, in scaled-vector (svec) coordinates.

svec lists the lower triangle row by row, off-diagonal entries times sqrt 2, so that
svec(A)' svec(B) = trace(A B).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg.lapack import dgesdd, dpotrf, dsyev

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector


class Triangle(NamedTuple):
    """Index arrays of svec for one matrix order; `places` are those of its entries in the raveled matrix."""

    rows: Index
    columns: Index
    factors: Vector
    places: Index
    unpack: Index
    kron: tuple[Index, Index, Index, Index]
    kron_factors: Matrix


@lru_cache(maxsize=32)
def triangle(order: int) -> Triangle:
    """Where the entries of svec stand in a matrix of this order."""
    i, j = np.tril_indices(order)
    factors = np.where(i == j, 1.0, np.sqrt(2.0))
    unpack = np.empty((order, order), dtype=np.intp)
    unpack[i, j] = unpack[j, i] = np.arange(len(i))
    ii, jj, ij, ji = (np.add.outer(a * order, b) for a, b in ((i, i), (j, j), (i, j), (j, i)))
    return Triangle(i, j, factors, i * order + j, unpack, (ii, jj, ij, ji), np.outer(factors, factors) / 2)


def svec(matrix: Matrix) -> Vector:
    """The scaled lower triangle of a symmetric matrix."""
    t = triangle(len(matrix))
    return matrix.take(t.places) * t.factors


def smat(vector: Vector, order: int) -> Matrix:
    """The symmetric matrix of an svec."""
    t = triangle(order)
    return (vector / t.factors).take(t.unpack)


def outer_features(points: Matrix) -> Matrix:
    """Row i is svec(x_i x_i'), so that its product with svec(M) is x_i' M x_i."""
    t = triangle(points.shape[1])
    return points[:, t.rows] * points[:, t.columns] * t.factors


def congruence(matrix: Matrix) -> Matrix:
    """The map X -> W X W as a matrix on svec coordinates, W symmetric."""
    t = triangle(len(matrix))
    w = matrix.ravel()
    ii, jj, ij, ji = t.kron
    result: Matrix = w.take(ii)
    result *= w.take(jj)
    result += w.take(ij) * w.take(ji)
    result *= t.kron_factors
    return result


class NesterovTodd:
    """The scaling G at which primal N and dual S look alike: G^-1 N G^-T = diag(lam) = G' S G."""

    def __init__(self, primal: Matrix, dual: Matrix) -> None:
        left, right = _cholesky(primal), _cholesky(dual)
        u, lam, _, failed = dgesdd(right.T @ left) if len(primal) else _NOTHING
        self.lam: Vector = lam
        if failed:
            raise np.linalg.LinAlgError("the cone's scaling did not converge")
        root = np.sqrt(self.lam)
        self.inverse: Matrix = (u / root).T @ right.T
        self.weight: Matrix = self.inverse.T @ self.inverse
        self.diagonal: Matrix = np.diag(self.lam)
        self._means = (self.lam[:, None] + self.lam) / 2
        self._roots = root[:, None] * root

    def hessian(self) -> Matrix:
        """The map X -> W^-1 X W^-1, W = G G', as a matrix on svec coordinates."""
        return congruence(self.weight)

    def to_scaled(self, primal_step: Matrix) -> Matrix:
        """G^-1 X G^-T."""
        return self.inverse @ primal_step @ self.inverse.T

    def from_scaled_dual(self, scaled: Matrix) -> Matrix:
        """G^-T X G^-1."""
        return self.inverse.T @ scaled @ self.inverse

    def divide(self, target: Matrix) -> Matrix:
        """The X with (lam X + X lam) / 2 = target."""
        result: Matrix = target / self._means
        return result

    def inverse_step(self, scaled_step: Matrix) -> float:
        """The inverse of the largest alpha with diag(lam) + alpha X still in the cone."""
        if not len(self.lam):
            return 0.0
        return -float(dsyev(scaled_step / self._roots, compute_v=0)[0][0])


_NOTHING = (np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0)), 0)


def _cholesky(matrix: Matrix) -> Matrix:
    """The lower factor, by LAPACK directly: these matrices are tiny and the wrappers are not."""
    if not len(matrix):
        return matrix
    factor, failed = dpotrf(matrix, lower=1)
    if failed:
        raise np.linalg.LinAlgError("a matrix left the cone")
    return factor  # type: ignore[no-any-return]
