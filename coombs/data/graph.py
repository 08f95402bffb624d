"""Items joined by answers: the signed incidence matrix Q, used without being stored."""

from __future__ import annotations

from functools import cached_property
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
BLOCK = 50_000
"""Pairs whose differences are held at once."""


class ComparisonGraph:
    """Row k of Q has +1 at the loser and -1 at the winner of answer k, so (Q d)_k = d_loser - d_winner."""

    def __init__(self, winners: Index, losers: Index, n_items: int) -> None:
        self.winners, self.losers, self.n_items = winners, losers, n_items
        self.n_answers = len(winners)
        self.dense = n_items <= DENSE_ITEMS

    @cached_property
    def _twice(self) -> tuple[Index, Index]:
        losers, winners = (np.concatenate([one, one + self.n_items]) for one in (self.losers, self.winners))
        return losers, winners

    @cached_property
    def _both_ends(self) -> Index:
        return np.concatenate([self.losers, self.winners])

    @cached_property
    def _cells(self) -> tuple[Index, Index, Index]:
        """Each pair's cell in the lower triangle of the n x n Laplacian, its mirror, each answer's cell.

        Two answers share one where they contradict each other.
        """
        n = self.n_items
        codes = np.maximum(self.winners, self.losers) * n + np.minimum(self.winners, self.losers)
        cells, cell_of = np.unique(codes, return_inverse=True)
        return cells, cells % n * n + cells // n, cell_of

    @property
    def piece(self) -> Index:
        """The piece of the graph that each item is in."""
        return self._pieces[0]

    @property
    def piece_sizes(self) -> Index:
        """The sizes of the pieces."""
        return self._pieces[1]

    @cached_property
    def _pieces(self) -> tuple[Index, Index]:
        """The piece of the graph that each item is in, and the sizes of the pieces."""
        n = self.n_items
        # Rows of a CSR matrix, put together here because scipy's own conversion costs more than the search.
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.winners, minlength=n))])
        ends = self.losers[np.argsort(self.winners, kind="stable")]
        adjacency = csr_array((np.ones(self.n_answers), ends, starts), shape=(n, n))
        _, piece = connected_components(adjacency, directed=True, connection="weak")
        return piece.astype(np.intp), np.bincount(piece)

    def differences(self, values: Matrix) -> Matrix:
        """Q v, of a vector or of each row of a matrix."""
        result: Matrix = values.take(self.losers, axis=-1)
        result -= values.take(self.winners, axis=-1)
        return result

    def accumulate(self, prices: Matrix) -> Matrix:
        """Q' a, of a vector or of each of at most two rows."""
        flat, n = prices.reshape(-1), self.n_items * (prices.size // self.n_answers)
        losers, winners = (self.losers, self.winners) if n == self.n_items else self._twice
        result: Matrix = np.bincount(losers, flat, n)  # type: ignore[assignment]
        result -= np.bincount(winners, flat, n)
        return result if prices.ndim == 1 else result.reshape(-1, self.n_items)

    def laplacian(self, weights: Vector, out: Matrix | None = None) -> Matrix | csr_array:
        """Q' diag(weights) Q: a dense array up to DENSE_ITEMS items, else sparse.

        `out` may be a dense Laplacian of this graph to write over: zeros are where they were.
        """
        n = self.n_items
        degrees = np.bincount(self._both_ends, np.concatenate([weights, weights]), n)
        cells, mirrored, cell_of = self._cells
        totals = -np.bincount(cell_of, weights)
        if not self.dense:
            low, high, items = cells % n, cells // n, np.arange(n)
            rows, columns = np.concatenate([low, high, items]), np.concatenate([high, low, items])
            return csr_array(coo_array((np.concatenate([totals, totals, degrees]), (rows, columns)), (n, n)))
        result = np.zeros((n, n)) if out is None else out
        flat = result.reshape(-1)
        flat[cells] = flat[mirrored] = totals
        flat[:: n + 1] = degrees
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


def gram_of_differences(items: Matrix, pairs: Index) -> Matrix:
    """D'D of the compared items' differences, scaled to trace 1; a block of pairs at a time."""
    gram = np.zeros((items.shape[1], items.shape[1]))
    for begin in range(0, len(pairs), BLOCK):
        block = pairs[begin : begin + BLOCK]
        differences = items[block[:, 0]] - items[block[:, 1]]
        gram += differences.T @ differences
    return gram / max(float(gram.trace()), np.finfo(float).tiny)
