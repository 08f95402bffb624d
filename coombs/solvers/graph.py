"""Items joined by answers: the signed incidence matrix Q, used without being stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Matrix = NDArray[np.float64]
    Index = NDArray[np.intp]

DENSE_ITEMS = 1500
"""Up to this many items a Laplacian is a dense array; beyond, a sparse one."""


class ComparisonGraph:
    """Row k of Q has +1 at the loser and -1 at the winner of answer k, so (Q d)_k = d_loser - d_winner."""

    def __init__(self, winners: Index, losers: Index, n_items: int) -> None:
        self.winners, self.losers, self.n_items = winners, losers, n_items
        self.n_answers = len(winners)
        self.dense = n_items <= DENSE_ITEMS
        ones = np.ones(self.n_answers, dtype=np.int8)
        adjacency = coo_array((ones, (winners, losers)), shape=(n_items, n_items))
        n_pieces, piece = connected_components(adjacency, directed=False)
        self.piece: Index = piece.astype(np.intp)
        self.piece_sizes: Index = np.bincount(self.piece, minlength=n_pieces)
        self._both_ends = np.concatenate([losers, winners])
        # One cell (lower triangle) of the n x n Laplacian for each answer.
        self._cells = np.maximum(winners, losers) * n_items + np.minimum(winners, losers)

    def differences(self, values: Vector) -> Vector:
        """Q v."""
        result: Vector = values.take(self.losers, axis=0)
        result -= values.take(self.winners, axis=0)
        return result

    def accumulate(self, prices: Vector) -> Vector:
        """Q' a."""
        n = self.n_items
        result: Vector = np.bincount(self.losers, prices, n).astype(np.float64, copy=False)
        result -= np.bincount(self.winners, prices, n)
        return result

    def laplacian(self, weights: Vector) -> Matrix | csr_array:
        """Q' diag(weights) Q, symmetric: a dense array up to DENSE_ITEMS items, else sparse."""
        n = self.n_items
        degrees = np.bincount(self._both_ends, np.concatenate([weights, weights]), n)
        if not self.dense:
            items = np.arange(n)
            rows = np.concatenate([self.winners, self.losers, items])
            columns = np.concatenate([self.losers, self.winners, items])
            return csr_array(
                coo_array((np.concatenate([-weights, -weights, degrees]), (rows, columns)), (n, n))
            )
        lower: Matrix = np.bincount(self._cells, weights, n * n).reshape(n, n)  # type: ignore[assignment]
        result: Matrix = -lower
        result -= lower.T
        result.flat[:: n + 1] = degrees
        return result

    def piece_means(self, values: Matrix) -> Matrix:
        """Each row replaced by the mean of its piece of the graph."""
        if len(self.piece_sizes) == 1:
            return np.broadcast_to(values.mean(axis=0), values.shape)
        sums = np.zeros((len(self.piece_sizes), *values.shape[1:]))
        np.add.at(sums, self.piece, values)
        sizes = self.piece_sizes.reshape(-1, *[1] * (values.ndim - 1))
        means: Matrix = (sums / sizes)[self.piece]
        return means

    def piece_units(self) -> Matrix:
        """One unit vector for each piece, constant on it and zero elsewhere."""
        units = np.zeros((self.n_items, len(self.piece_sizes)))
        units[np.arange(self.n_items), self.piece] = 1.0 / np.sqrt(self.piece_sizes[self.piece])
        return units
