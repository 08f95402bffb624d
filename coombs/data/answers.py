"""Distinct answers by position, which the programs and the posterior are computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.graph import ComparisonGraph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coombs.data.graph import Index, Matrix, Vector


@dataclass(frozen=True)
class Answers:
    """Distinct answers (winner, loser, weight) over the items they touch."""

    items: Matrix
    winners: Index
    losers: Index
    weights: Vector
    touched: Index
    n_items: int

    @classmethod
    def collect(cls, items: Matrix, winners: Index, losers: Index, weights: Vector) -> Answers:
        """Add up repeats of an answer, and leave out the items that no answer touches."""
        n = len(items)
        codes = winners * n + losers
        if n * n <= 4 * len(codes):
            dense = np.bincount(codes, weights, n * n)
            distinct = np.flatnonzero(dense)
            totals = dense[distinct]
        else:
            distinct, place = np.unique(codes, return_inverse=True)
            totals = np.bincount(place, weights, len(distinct))
        winners, losers = distinct // n, distinct % n
        is_touched = np.zeros(n, dtype=bool)
        is_touched[winners] = is_touched[losers] = True
        touched = np.flatnonzero(is_touched)
        new = np.cumsum(is_touched) - 1
        return cls(items[touched], new[winners], new[losers], totals.astype(np.float64), touched, n)

    def graph(self) -> ComparisonGraph:
        """The comparison graph of the touched items."""
        return ComparisonGraph(self.winners, self.losers, len(self.items))

    def some(self, count: int, rng: np.random.Generator) -> Answers:
        """At most so many of the distinct answers, chosen at random, over the items they touch."""
        if len(self.winners) <= count:
            return self
        return self.only(np.sort(rng.choice(len(self.winners), count, replace=False)))

    def only(self, rows: Index) -> Answers:
        """These answers, in this order, over the items they touch."""
        ends, place = np.unique([self.winners[rows], self.losers[rows]], return_inverse=True)
        winners, losers = place.reshape(2, -1)
        return replace(
            self,
            items=self.items[ends],
            winners=winners,
            losers=losers,
            weights=self.weights[rows],
            touched=self.touched[ends],
        )

    def folds(self, count: int, rng: np.random.Generator) -> Iterator[tuple[Answers, Answers]]:
        """(kept, left out) for each part of the answers, cut by unordered pair; all over the same items."""
        low, high = np.minimum(self.winners, self.losers), np.maximum(self.winners, self.losers)
        _, pair = np.unique(low * len(self.items) + high, return_inverse=True)
        n_pairs = int(pair.max()) + 1
        fold = rng.permutation(np.arange(n_pairs) % min(count, n_pairs))[pair]
        for k in range(min(count, n_pairs) if n_pairs > 1 else 0):
            yield self._only(fold != k), self._only(fold == k)

    def _only(self, chosen: NDArray[np.bool_]) -> Answers:
        """Some of the answers, over the same items."""
        return replace(
            self, winners=self.winners[chosen], losers=self.losers[chosen], weights=self.weights[chosen]
        )

    def canonical(self) -> Answers:
        """The same with items in the order of their features and answers in that of their items.

        What is computed from it then does not depend on the order in which they came. (Items that are alike
        keep theirs.)
        """
        if not self.items.size:
            return self
        # One number an item: sums of the features times roots, which are hardly ever equal.
        key = self.items @ np.sqrt(np.arange(2.0, 2.0 + self.items.shape[1]))
        order = np.argsort(key, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        winners, losers = place[self.winners], place[self.losers]
        by_items = np.argsort(winners * len(order) + losers, kind="stable")
        return replace(
            self,
            items=self.items[order],
            winners=winners[by_items],
            losers=losers[by_items],
            weights=self.weights[by_items],
            touched=self.touched[order],
        )

    def weights_of(self, others: Answers) -> Vector:
        """The weight that each of some other answers about the same table has here; zero if it is missing."""
        codes, wanted = (
            one.touched[one.winners] * one.n_items + one.touched[one.losers] for one in (self, others)
        )
        order = np.argsort(codes)
        place = np.minimum(np.searchsorted(codes, wanted, sorter=order), len(codes) - 1)
        found = codes[order[place]] == wanted
        return np.where(found, self.weights[order[place]], 0.0)

    def scatter(self, distances: Vector) -> Vector:
        """Distances of all items; one that no answer touches has zero."""
        result = np.zeros(self.n_items)
        result[self.touched] = distances
        return result
