"""The Newton system of one interior-point iteration, reduced to item space.

With B = Q' diag(h) Q + 2 gamma3 I (+ diag theta), L = Q' diag(g) Q, F = features, T = normals and
H the curvature of y (penalty and cone), the unknowns solve

    F'B(F dy - drho) + H dy                = f_y
     -B(F dy - drho) + L drho + T dnu      = f_rho
                       T' drho             = f_nu .

drho = K^-1 (f_rho + C x) with K = B + L, C = [BF, T] and x = (dy, -dnu). What remains has the size of
y plus the rank of T:

    (diag(H + F'BF, 0) - C'K^-1C) x = (f_y, -f_nu) + C'K^-1 f_rho .
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.linalg.blas import dtrsm, dtrsv
from scipy.linalg.lapack import dgetrf, dgetrs, dpotrf, dpotrs
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from coombs.data.graph import Matrix, Vector
    from coombs.programs.program import Program

    Step = tuple[Vector, Vector, Vector]

DENSE_PIECE = 1500
"""A piece of the graph with more items than this fills in as it is factored: dense is then cheaper."""
LARGEST_DENSE = 18_000
"""Beyond this a dense factor would need more than about 2.6 GB."""


class Factor(Protocol):
    """A factored positive definite K, with the columns C that solves also need."""

    def gram(self, columns: Matrix) -> Matrix:
        """C' K^-1 C; keeps C."""

    def start(self, rhs: Vector) -> tuple[Vector, Vector]:
        """What `finish` needs of K^-1 rhs, and C' K^-1 rhs."""

    def finish(self, started: Vector, x: Vector) -> Vector:
        """K^-1 (rhs + C x)."""


class DenseFactor:
    """Cholesky K = H H' of a dense K, which is overwritten."""

    def __init__(self, matrix: Matrix) -> None:
        self._h, failed = dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            raise np.linalg.LinAlgError("K is not positive definite to working precision")

    def solve(self, rhs: Vector) -> Vector:
        """K^-1 rhs."""
        return dpotrs(self._h, rhs, lower=1)[0]  # type: ignore[no-any-return]

    def gram(self, columns: Matrix) -> Matrix:
        self._hc = dtrsm(1.0, self._h, columns, lower=1)
        return self._hc.T @ self._hc  # type: ignore[no-any-return]

    def start(self, rhs: Vector) -> tuple[Vector, Vector]:
        half = dtrsv(self._h, rhs, lower=1)
        return half, self._hc.T @ half

    def finish(self, started: Vector, x: Vector) -> Vector:
        return dtrsv(self._h, started + self._hc @ x, lower=1, trans=1)  # type: ignore[no-any-return]


class _FullSolves:
    """`gram`, `start` and `finish` by whole solves, for factors that have no half."""

    def solve(self, rhs: Matrix) -> Matrix:
        raise NotImplementedError

    def gram(self, columns: Matrix) -> Matrix:
        self._columns, self._kc = columns, self.solve(columns)
        return columns.T @ self._kc

    def start(self, rhs: Vector) -> tuple[Vector, Vector]:
        whole = self.solve(rhs)
        return whole, self._columns.T @ whole

    def finish(self, started: Vector, x: Vector) -> Vector:
        return started + self._kc @ x


class Unpinned(_FullSolves):
    """K from a factor of K' = K + tau E E', E the unit vectors constant on one piece each.

    As L E = 0, K' E = (D + tau) E with K = L + D, and Woodbury's small matrix is
    E' K'^-1 D E / tau, free of the cancellation that makes K itself hard to factor.
    """

    def __init__(self, pinned: DenseFactor, units: Matrix, diagonal: Vector, tau: float) -> None:
        self._pinned, self._kernel = pinned, pinned.solve(units)
        self._small = np.linalg.inv(self._kernel.T @ (diagonal[:, None] * units) / tau)

    def solve(self, rhs: Matrix) -> Matrix:
        result: Matrix = self._pinned.solve(rhs) + self._kernel @ (self._small @ (self._kernel.T @ rhs))
        return result


class SparseFactor(_FullSolves):
    """SuperLU of a sparse K whose fill stays small."""

    def __init__(self, matrix: csr_array) -> None:
        self._lu = splu(
            csc_array(matrix), "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )

    def solve(self, rhs: Matrix) -> Matrix:
        return self._lu.solve(rhs)  # type: ignore[no-any-return]


class KKT:
    """The system of one iteration, factored."""

    def __init__(self, program: Program) -> None:
        self._program, n = program, program.graph.n_items
        self._m = program.features.shape[1]
        self._size = self._m + program.normals.shape[1]
        # A constant added to d within a piece changes no answer: keep it out unless d >= 0 needs it.
        self._pin = program.residual and not program.nonnegative
        dense = program.residual and program.graph.dense
        self._units = program.graph.piece_units() if dense else np.zeros((n, 0))
        one_piece = len(program.graph.piece_sizes) == 1
        self._same: Matrix | float = 1.0 / n if one_piece or not dense else self._units @ self._units.T
        self._b, self._k = (np.zeros((n, n)) if program.graph.dense else None for _ in range(2))
        self._ridge = np.full(n, 2 * program.gamma3)
        self._columns = np.empty((n, self._size), order="F")
        self._columns[:, self._m :] = program.normals

    def factor(self, h: Vector, g: Vector | None, theta: Vector | None, cone: Matrix) -> None:
        """Factor for loss weights h, residual weights g, bound weights theta and the cone's curvature."""
        program = self._program
        self._h, self._g, self._cone = h, g, cone
        self._diagonal = self._ridge if theta is None else self._ridge + theta
        b = _add_diagonal(program.graph.laplacian(h, self._b), self._diagonal)
        self._columns[:, : self._m] = b @ program.features
        if program.residual:
            self._factor = self._factor_k(b, g)
        self._factor_reduced()

    def _factor_reduced(self) -> None:
        """LU of J = diag(H + F'BF, 0) - C'K^-1C."""
        program, m, d = self._program, self._m, len(self._cone)
        j = -self._factor.gram(self._columns) if program.residual else np.zeros((m, m))
        if not self._size:
            return
        j[:m, :m] += program.features.T @ self._columns[:, :m]
        j[:d, :d] += self._cone
        diagonal = j.reshape(-1)[:: self._size + 1]
        diagonal[:m] += 2 * program.penalty
        # Equilibrated, for nearly duplicated features put 1e16 beside 1 on the diagonal.
        self._scale = 1.0 / np.sqrt(np.abs(diagonal) + np.finfo(float).tiny)
        j *= self._scale
        j *= self._scale[:, None]
        self._lu, self._pivots, failed = dgetrf(j.T, overwrite_a=1)
        if failed > 0:
            raise np.linalg.LinAlgError("the reduced system is singular")

    def _factor_k(self, b: Matrix | csr_array, g: Vector | None) -> Factor:
        """K = B + L, made safely positive along vectors constant on a piece, where L is zero."""
        graph = self._program.graph
        if graph.dense:
            weights = self._h if g is None else self._h + g
            k = _add_diagonal(graph.laplacian(weights, self._k), self._diagonal)
            tau = float(k.trace()) / graph.n_items
            # A fresh array, for the factor overwrites it.
            pinned = DenseFactor(k + tau * self._same)
            return pinned if self._pin else Unpinned(pinned, self._units, self._diagonal, tau)
        k = b if g is None else b + graph.laplacian(g)
        k = k + diags_array(1e-13 * k.diagonal())
        if graph.piece_sizes.max() > DENSE_PIECE and graph.n_items <= LARGEST_DENSE:
            return DenseFactor(k.toarray())
        return SparseFactor(k)

    def solve(self, f_y: Vector, f_rho: Vector, f_nu: Vector, refinements: int) -> Step:
        """(dy, drho, dnu), with so many rounds of refinement on the unreduced system."""
        step = self._solve_once(f_y, f_rho, f_nu)
        for _ in range(refinements):
            done = self._multiply(*step)
            mend = self._solve_once(f_y - done[0], f_rho - done[1], f_nu - done[2])
            step = (step[0] + mend[0], step[1] + mend[1], step[2] + mend[2])
        return step

    def _solve_once(self, f_y: Vector, f_rho: Vector, f_nu: Vector) -> Step:
        """One solve through the factors."""
        m = self._m
        if not self._program.residual:
            return self._solve_reduced(f_y), f_rho, f_nu
        started, rhs = self._factor.start(f_rho)
        rhs[:m] += f_y
        rhs[m:] -= f_nu
        x = self._solve_reduced(rhs)
        drho = self._factor.finish(started, x)
        if self._pin and not self._program.graph.dense:
            drho -= self._program.graph.piece_means(drho)
        return x[:m], drho, -x[m:]

    def _solve_reduced(self, rhs: Vector) -> Vector:
        """J^-1 rhs."""
        if not self._size:
            return rhs
        return self._scale * dgetrs(self._lu, self._pivots, self._scale * rhs)[0]  # type: ignore[no-any-return]

    def _multiply(self, dy: Vector, drho: Vector, dnu: Vector) -> Step:
        """The left-hand side, through the answers themselves."""
        program, graph, d = self._program, self._program.graph, len(self._cone)
        dd = program.features @ dy - drho
        pull = graph.accumulate(self._h * graph.differences(dd)) + self._diagonal * dd
        e_y = program.features.T @ pull + 2 * program.penalty * dy
        e_y[:d] += self._cone @ dy[:d]
        if not program.residual:
            return e_y, drho, dnu
        e_rho = program.normals @ dnu - pull
        if self._g is not None:
            e_rho += graph.accumulate(self._g * graph.differences(drho))
        return e_y, e_rho, program.normals.T @ drho


def _add_diagonal(matrix: Matrix | csr_array, diagonal: Vector) -> Matrix | csr_array:
    """matrix + diag(diagonal), in place where that is possible."""
    n = matrix.shape[0]
    if isinstance(matrix, np.ndarray):
        matrix.flat[:: n + 1] += diagonal
        return matrix
    return matrix + diags_array(diagonal)
