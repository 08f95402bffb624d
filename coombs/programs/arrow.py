"""Newton systems in the shape of an arrow: what all people share, and a block of each person's own.

    [ S   C'        ] [ shared ]   [ f_s ]
    [ C   diag(B_k) ] [ own    ] = [ f_k ]

Own unknowns are eliminated, all people at once; what remains has the size of what is shared, and one more
where a single inequality binds everybody (a rank-one term rho g g', kept as an unknown of its own).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector


UNSEEN = 1e-14
"""Curvature, as a share of the largest of a person, given to own unknowns that have none."""
RIDGE = 1e-13
"""Added to everybody's own block, equilibrated: few answers leave it singular. Refinement makes up for it."""


class Unknowns(NamedTuple):
    """(p,) numbers that are shared and (people, q) of each person's own; or a gradient in them."""

    shared: Vector
    own: Matrix
    along: float = 0.0
    """Of a step, row'x of the row that binds everybody: as solved for, with more digits than the sum."""

    def plus(self, other: Unknowns, times: float = 1.0) -> Unknowns:
        """The sum."""
        along = self.along + times * other.along
        return Unknowns(self.shared + times * other.shared, self.own + times * other.own, along)

    def dot(self, other: Unknowns) -> float:
        """The inner product."""
        return float(self.shared @ other.shared + np.vdot(self.own, other.own))


class Arrow:
    """The system, summed up from its parts, then factored once."""

    def __init__(self, n_shared: int, n_people: int, n_own: int) -> None:
        self.shared = np.zeros((n_shared, n_shared))
        self.cross = np.zeros((n_people, n_own, n_shared))
        self.own = np.zeros((n_people, n_own, n_own))
        self._row: tuple[Unknowns, float] | None = None

    def add_row(self, row: Unknowns, rho: float) -> None:
        """Add rho g g'; at most one such row may have parts of people's own."""
        if row.own.any():
            self._row = row, rho
        else:
            self.shared += rho * np.outer(row.shared, row.shared)

    def factor(self) -> None:
        """Eliminate everybody's own unknowns and factor the rest."""
        p, q = len(self.shared), self.own.shape[1]
        border, cross = self.shared, self.cross
        if self._row is not None:
            row, rho = self._row
            border = np.zeros((p + 1, p + 1))
            border[:p, :p] = self.shared
            border[p, :p] = border[:p, p] = row.shared
            border[p, p] = -1.0 / rho
            cross = np.concatenate([cross, row.own[:, :, None]], axis=2)
        diagonal = self.own.reshape(len(self.own), -1)[:, :: q + 1]
        # What nothing sees stays where it is.
        diagonal = diagonal + UNSEEN * diagonal.max(axis=1, keepdims=True) + np.finfo(float).tiny
        # Equilibrated, for the curvature of a cone spans many orders of magnitude near its boundary.
        self._own_scale = 1.0 / np.sqrt(diagonal)
        balanced = self.own * self._own_scale[:, :, None] * self._own_scale[:, None, :]
        balanced.reshape(len(balanced), -1)[:, :: q + 1] = 1.0 + RIDGE
        self._own = balanced
        self._cross = cross * self._own_scale[:, :, None]
        size = len(border)
        eliminated = np.linalg.solve(balanced, self._cross)
        border = border - self._flat_cross().T @ eliminated.reshape(self._flat_cross().shape)
        self._scale = 1.0 / np.sqrt(np.abs(border.reshape(-1)[:: size + 1]) + np.finfo(float).tiny)
        border *= self._scale * self._scale[:, None]
        self._lu = dgetrf(border) if size else None
        if self._lu is not None and self._lu[2] > 0:
            raise np.linalg.LinAlgError("the border is singular")

    def solve(self, rhs: Unknowns) -> Unknowns:
        """The solution of the factored system."""
        own = rhs.own * self._own_scale
        border = -(self._solve_own(own).reshape(-1) @ self._flat_cross())
        border[: len(rhs.shared)] += rhs.shared
        if self._lu is not None:
            border = self._scale * dgetrs(self._lu[0], self._lu[1], self._scale * border)[0]
        # By a solve of its own: differences of two solves would lose the digits of a nearly singular block.
        own = self._solve_own(own - self._cross @ border)
        along = float(border[-1]) / self._row[1] if self._row is not None else 0.0
        return Unknowns(border[: len(rhs.shared)], own * self._own_scale, along)

    def _flat_cross(self) -> Matrix:
        """A row for every own unknown of everybody."""
        n_people, n_own, size = self._cross.shape
        result: Matrix = self._cross.reshape(n_people * n_own, size)
        return result

    def _solve_own(self, rhs: Matrix) -> Matrix:
        result: Matrix = np.linalg.solve(self._own, rhs[:, :, None])[:, :, 0]
        return result
