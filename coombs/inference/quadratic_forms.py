"""Quadratic scores of items for many metrics at once, and the gradients with respect to the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coombs.programs.cone import triangle

if TYPE_CHECKING:
    from coombs.data.graph import Matrix

LARGEST_PRODUCTS = 4_000_000
"""Products of features are kept up to this many; beyond, forms are computed from the items each time."""


class QuadraticForms:
    """s_i = x_i' M x_i - 2 v' x_i for many (M, v), and back: O(N d^2) time, O(N d) memory."""

    def __init__(self, items: Matrix) -> None:
        self.items = items

    def values(self, metric: Matrix, linear: Matrix) -> Matrix:
        """(N, C), from (C, d, d) and (C, d)."""
        result: Matrix = -2 * (self.items @ linear.T)
        for column, one in enumerate(metric):
            result[:, column] += np.einsum("nd,nd->n", self.items @ one, self.items)
        return result

    def pullback(self, to_score: Matrix) -> tuple[Matrix, Matrix]:
        """Gradients with respect to M and v, from that with respect to s, (N, C)."""
        to_metric = [(self.items * column[:, None]).T @ self.items for column in to_score.T]
        return np.array(to_metric), -2 * (to_score.T @ self.items)


class FeatureProducts:
    """Quadratic forms with all products of features kept: one matrix product each way."""

    def __init__(self, items: Matrix) -> None:
        self._triangle = t = triangle(items.shape[1])
        twice = np.where(t.rows == t.columns, 1, 2)
        self.products = np.hstack([items[:, t.rows] * items[:, t.columns] * twice, -2 * items])
        self.products = self.products.astype(items.dtype, copy=False)
        self._half = np.where(t.rows == t.columns, 1, 0.5).astype(items.dtype)

    def values(self, metric: Matrix, linear: Matrix) -> Matrix:
        """(N, C), from (C, d, d) and (C, d)."""
        t = self._triangle
        # Points last, as they are in memory.
        entries = metric.transpose(1, 2, 0)[t.rows, t.columns]
        result: Matrix = self.products @ np.concatenate([entries, linear.T])
        return result

    def pullback(self, to_score: Matrix) -> tuple[Matrix, Matrix]:
        """Gradients with respect to M and v, from that with respect to s, (N, C)."""
        joint, n = self.products.T @ to_score, len(self._half)
        to_entries = joint[:n] * self._half[:, None]
        return to_entries[self._triangle.unpack].transpose(2, 0, 1), joint[n:].T


def quadratic_forms(items: Matrix) -> QuadraticForms | FeatureProducts:
    """The quadratic forms of these items, computed in whichever of the two ways is quicker."""
    return (FeatureProducts if items.size * items.shape[1] < LARGEST_PRODUCTS else QuadraticForms)(items)
