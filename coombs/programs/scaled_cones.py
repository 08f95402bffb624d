"""Batches of cones of one kind, each with the Nesterov-Todd scaling of an interior-point iteration.

A batch holds vectors s (primal) and z (dual) of shape (cones, size). Its scaling G makes them alike,
G^-1 s = G' z = lam, and the products that the method drives to zero are those of the cone's Jordan
algebra: of numbers, of the second-order cone {|s_1..| <= s_0}, of symmetric matrices (in svec).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from coombs.programs.cone import triangle

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector

Array = np.ndarray


class Scaling(Protocol):
    """What the method asks of a batch at one point; `scaled` things have the shape the batch likes."""

    degree: int

    def block(self, rows: Index, columns: Index) -> Array:
        """(cones, rows, columns) of the map s -> (G G')^-1 s."""

    def total(self, places: Index) -> Matrix:
        """The sum over all cones of the block of these rows and columns."""

    def to_scaled(self, primal_step: Matrix) -> Array:
        """G^-1 ds."""

    def from_scaled_dual(self, scaled: Array) -> Matrix:
        """G^-T dz."""

    def lam(self) -> Array:
        """The scaled point."""

    def corrected(self, aim: float, primal: Array, dual: Array) -> Array:
        """The x with lam o x = aim e - lam o lam - primal o dual."""

    def inverse_step(self, *scaled: Array) -> float:
        """The inverse of the longest step along these that stays in the cone."""

    def affine_inverse_step(self, primal: Array) -> float:
        """`inverse_step` along an affine step, whose dual part is -lam - primal."""


class _WholeHessian:
    """Blocks of a Hessian that is cheap as a whole."""

    def hessian(self) -> Array:
        """(cones, size, size)."""
        raise NotImplementedError

    def block(self, rows: Index, columns: Index) -> Array:
        return self.hessian()[:, rows[:, None], columns]

    def total(self, places: Index) -> Matrix:
        result: Matrix = self.block(places, places).sum(axis=0)
        return result

    def affine_inverse_step(self, primal: Array) -> float:
        return self.inverse_step(primal, -self.lam() - primal)

    def lam(self) -> Array:
        """The scaled point."""
        raise NotImplementedError

    def inverse_step(self, *scaled: Array) -> float:
        """The inverse of the longest step."""
        raise NotImplementedError


class Orthant(_WholeHessian):
    """Numbers s >= 0: a batch of cones of size 1."""

    def __init__(self, primal: Matrix, dual: Matrix) -> None:
        self.degree = primal.size
        self._root = np.sqrt(dual / primal)
        self._lam = np.sqrt(primal * dual)

    @staticmethod
    def inverse(primal: Matrix) -> Matrix:
        """s^-1, the dual point on the central path."""
        return 1.0 / primal

    def hessian(self) -> Array:
        return (self._root**2)[..., None]

    def to_scaled(self, primal_step: Matrix) -> Array:
        return primal_step * self._root

    def from_scaled_dual(self, scaled: Array) -> Matrix:
        return scaled * self._root

    def lam(self) -> Array:
        return self._lam

    def corrected(self, aim: float, primal: Array, dual: Array) -> Array:
        result: Array = (aim - primal * dual) / self._lam - self._lam
        return result

    def inverse_step(self, *scaled: Array) -> float:
        return max(-float((one / self._lam).min()) for one in scaled)


class SecondOrder(_WholeHessian):
    """Vectors with |s_1..| <= s_0."""

    def __init__(self, primal: Matrix, dual: Matrix) -> None:
        self.degree = 2 * len(primal)
        s_norm, z_norm = _hyperbolic(primal), _hyperbolic(dual)
        s, z = primal / s_norm[:, None], dual / z_norm[:, None]
        gamma = np.sqrt((1.0 + (s * z).sum(axis=1)) / 2)
        w = s + z
        w[:, 1:] -= 2 * z[:, 1:]
        # The scaling point: G = eta [w_0, w_1'; w_1, I + w_1 w_1' / (1 + w_0)].
        self._w = w / (2 * gamma)[:, None]
        self._eta = np.sqrt(s_norm / z_norm)[:, None]
        self._lam = self.to_scaled(primal)
        self._norm = np.sqrt(s_norm * z_norm)[:, None]

    @staticmethod
    def inverse(primal: Matrix) -> Matrix:
        """s^-1 = J s / (s_0^2 - |s_1|^2)."""
        return _reflected(primal) / _hyperbolic(primal)[:, None] ** 2

    def hessian(self) -> Array:
        # (2 (J w)(J w)' - J) / eta^2
        w = _reflected(self._w)
        result: Array = 2 * w[:, :, None] * w[:, None, :]
        n = w.shape[1]
        result[:, 0, 0] -= 1.0
        result[:, range(1, n), range(1, n)] += 1.0
        result /= self._eta[:, :, None] ** 2
        return result

    def to_scaled(self, primal_step: Matrix) -> Array:
        return self._turned(primal_step, -1.0) / self._eta

    def from_scaled_dual(self, scaled: Array) -> Matrix:
        return self._turned(scaled, -1.0) / self._eta

    def _turned(self, x: Matrix, sign: float) -> Matrix:
        """The hyperbolic rotation by w, or its inverse for sign = -1."""
        w0, w1 = self._w[:, :1], self._w[:, 1:]
        along = (w1 * x[:, 1:]).sum(axis=1, keepdims=True)
        result = np.empty_like(x)
        result[:, :1] = w0 * x[:, :1] + sign * along
        result[:, 1:] = x[:, 1:] + (sign * x[:, :1] + along / (1.0 + w0)) * w1
        return result

    def lam(self) -> Array:
        return self._lam

    def corrected(self, aim: float, primal: Array, dual: Array) -> Array:
        target = -_jordan(self._lam, self._lam) - _jordan(primal, dual)
        target[:, 0] += aim
        return self._divided(target)

    def _divided(self, target: Array) -> Array:
        """The x with lam o x = target."""
        l0, l1 = self._lam[:, :1], self._lam[:, 1:]
        along = (l1 * target[:, 1:]).sum(axis=1, keepdims=True)
        result = np.empty_like(target)
        result[:, :1] = (l0 * target[:, :1] - along) / self._norm**2
        result[:, 1:] = (target[:, 1:] - result[:, :1] * l1) / l0
        return result

    def inverse_step(self, *scaled: Array) -> float:
        lam = self._lam / self._norm
        worst = -np.inf
        for one in scaled:
            # P(lam^-1/2) d, whose eigenvalues are its first entry -+ the norm of the rest.
            first = lam[:, 0] * one[:, 0] - (lam[:, 1:] * one[:, 1:]).sum(axis=1)
            rest = one[:, 1:] - ((first + one[:, 0]) / (lam[:, 0] + 1.0))[:, None] * lam[:, 1:]
            worst = max(worst, float(((np.linalg.norm(rest, axis=1) - first) / self._norm[:, 0]).max()))
        return worst


class Semidefinite:
    """Symmetric matrices >= 0 of one order, as svec."""

    def __init__(self, primal: Matrix, dual: Matrix) -> None:
        self._order = order_of(primal.shape[1])
        self.degree = self._order * len(primal)
        left, right = (np.linalg.cholesky(unpacked(one, self._order)) for one in (primal, dual))
        u, self._values, _ = np.linalg.svd(_transposed(right) @ left)
        self._root = np.sqrt(self._values)
        self._inverse = _transposed(u / self._root[:, None, :]) @ _transposed(right)
        self._weight = _transposed(self._inverse) @ self._inverse
        self._means = (self._values[:, :, None] + self._values[:, None, :]) / 2
        self._roots = self._root[:, :, None] * self._root[:, None, :]

    @staticmethod
    def inverse(primal: Matrix) -> Matrix:
        """X^-1."""
        return packed(np.linalg.inv(unpacked(primal, order_of(primal.shape[1]))))

    def block(self, rows: Index, columns: Index) -> Array:
        # X -> T X T with T = (G G')^-1, on svec coordinates.
        t = triangle(self._order)
        flat = self._weight.reshape(len(self._weight), -1)
        ii, jj, ij, ji = (places[rows[:, None], columns] for places in t.kron)
        result: Array = flat.take(ii, axis=1)
        result *= flat.take(jj, axis=1)
        result += flat.take(ij, axis=1) * flat.take(ji, axis=1)
        result *= t.kron_factors[rows[:, None], columns]
        return result

    def total(self, places: Index) -> Matrix:
        # All products of two entries of T, summed over the cones at once.
        t = triangle(self._order)
        flat = self._weight.reshape(len(self._weight), -1)
        products = flat.T @ flat
        ii, jj, ij, ji = (one[places[:, None], places] for one in t.kron)
        result: Matrix = products[ii, jj]
        result += products[ij, ji]
        result *= t.kron_factors[places[:, None], places]
        return result

    def to_scaled(self, primal_step: Matrix) -> Array:
        result: Array = self._inverse @ unpacked(primal_step, self._order) @ _transposed(self._inverse)
        return result

    def from_scaled_dual(self, scaled: Array) -> Matrix:
        return packed(_transposed(self._inverse) @ scaled @ self._inverse)

    def lam(self) -> Array:
        result = np.zeros((len(self._values), self._order, self._order))
        result.reshape(len(result), -1)[:, :: self._order + 1] = self._values
        return result

    def corrected(self, aim: float, primal: Array, dual: Array) -> Array:
        cross = primal @ dual
        target = -(cross + _transposed(cross)) / 2
        diagonal = target.reshape(len(target), -1)[:, :: self._order + 1]
        diagonal += aim - self._values**2
        result: Array = target / self._means
        return result

    def inverse_step(self, *scaled: Array) -> float:
        both = np.concatenate([one / self._roots for one in scaled])
        return -float(np.linalg.eigvalsh(both)[:, 0].min())

    def affine_inverse_step(self, primal: Array) -> float:
        # lam itself is I there, so the eigenvalues of -lam - primal are -1 less those of the primal part.
        values = np.linalg.eigvalsh(primal / self._roots)
        return max(-float(values[:, 0].min()), 1.0 + float(values[:, -1].max()))


def order_of(size: int) -> int:
    """The order of matrices whose svec has this size."""
    return int((np.sqrt(8 * size + 1) - 1) / 2 + 0.5)


def unpacked(vectors: Matrix, order: int) -> Array:
    """(cones, order, order) symmetric matrices of svec rows."""
    t = triangle(order)
    return (vectors / t.factors).take(t.unpack, axis=-1)


def packed(matrices: Array) -> Matrix:
    """Rows of svec, of the lower triangles."""
    t = triangle(matrices.shape[-1])
    return matrices.reshape(len(matrices), -1).take(t.places, axis=1) * t.factors


def _transposed(matrices: Array) -> Array:
    return matrices.swapaxes(-1, -2)


def _hyperbolic(x: Matrix) -> Vector:
    """sqrt(x_0^2 - |x_1|^2)."""
    rest = np.linalg.norm(x[:, 1:], axis=1)
    inside = (x[:, 0] - rest) * (x[:, 0] + rest)
    if not (inside > 0).all():
        raise np.linalg.LinAlgError("a vector left its cone")
    return np.asarray(np.sqrt(inside))


def _reflected(x: Matrix) -> Matrix:
    """J x = (x_0, -x_1)."""
    result = -x
    result[:, 0] = x[:, 0]
    return result


def _jordan(x: Matrix, y: Matrix) -> Matrix:
    """x o y = (x'y, x_0 y_1 + y_0 x_1)."""
    result = x[:, :1] * y + y[:, :1] * x
    result[:, 0] = (x * y).sum(axis=1)
    return result
