"""Sets of things that stand in answers as one: what is chosen is better than the best of its rivals.

Of scores s, less being better, a choice of c among c and its rivals R has probability
e^-s_c / (e^-s_c + sum_R e^-s_j) = sigma(s_R - s_c) with s_R = -log sum_R e^-s_j. So it is an answer about a
pair, c and a row for all of R (Plackett and Luce). The worst of a set has s_R = log sum_R e^s_j instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from coombs.data.graph import Index, Matrix, Vector


@dataclass(frozen=True, eq=False)
class RivalSets:
    """Sets of rows, one after the other in `members`, set q from `starts[q]` on; and rows beyond the items.

    Rows are the items, then anchors (a threshold of somebody's rating scale, or "none of these"), then the
    sets themselves. `scales` says of each anchor which rating scale it belongs to, -1 if none. `signs` are 1
    for a set that stands for its best, -1 for one that stands for its worst.
    """

    scales: Index
    members: Index
    starts: Index
    signs: Vector

    @property
    def n_anchors(self) -> int:
        """How many anchors there are."""
        return len(self.scales)

    @property
    def n_sets(self) -> int:
        """How many sets there are."""
        return len(self.starts)

    @cached_property
    def sizes(self) -> Index:
        """How many rows each set has."""
        return np.diff(self.starts, append=len(self.members))

    @cached_property
    def owners(self) -> Index:
        """The set that each member is in."""
        return np.repeat(np.arange(self.n_sets), self.sizes)

    def extended(self, scores: Matrix) -> tuple[Matrix, Matrix]:
        """Scores of all rows, from (n, C) those of items and anchors; and each member's share of its set."""
        if not self.n_sets:
            return scores, scores[:0]
        sign = np.repeat(self.signs, self.sizes).astype(scores.dtype)[:, None]
        values = -sign * scores.take(self.members, axis=0)
        highest = np.maximum.reduceat(values, self.starts, axis=0)
        owners = self.owners
        values -= highest.take(owners, axis=0)
        np.exp(values, out=values)
        totals = np.add.reduceat(values, self.starts, axis=0)
        values /= totals.take(owners, axis=0)
        own = -self.signs.astype(scores.dtype)[:, None] * (np.log(totals) + highest)
        return np.concatenate([scores, own]), values

    def pulled(self, slopes: Matrix, shares: Matrix) -> Matrix:
        """Slopes along the scores of items and anchors, from those along all rows: the transpose."""
        if not self.n_sets:
            return slopes
        n = len(slopes) - self.n_sets
        of_members = shares * slopes[n:].take(self.owners, axis=0)
        result: Matrix = slopes[:n] + self._incidence(n, shares.dtype) @ of_members
        return result

    def _incidence(self, n: int, dtype: Any) -> csr_array:
        """(n, members) ones where a row is a member."""
        # The storages, which know the shapes of answers, go without it.
        from scipy.sparse import csr_array

        key = n, np.dtype(dtype).name
        if key not in self._matrices:
            count = len(self.members)
            ones, at = np.ones(count, dtype), (self.members, np.arange(count))
            self._matrices[key] = csr_array((ones, at), shape=(n, count))
        return self._matrices[key]

    @cached_property
    def _matrices(self) -> dict[tuple[int, str], csr_array]:
        return {}

    def renumbered(self, place: Index) -> RivalSets:
        """The same sets where row i has become row place[i], members in order."""
        members = place[self.members]
        return replace(self, members=members[np.lexsort((members, self.owners))])

    def in_order(self) -> tuple[RivalSets, Index]:
        """The sets in an order that depends on nothing but their members, and where each one was."""
        ends = np.append(self.starts, len(self.members))
        keys = [(self.signs[q], *self.members[ends[q] : ends[q + 1]].tolist()) for q in range(self.n_sets)]
        order = np.array(sorted(range(self.n_sets), key=keys.__getitem__), dtype=np.intp)
        return self.only(order), order

    def joined(self, other: RivalSets) -> RivalSets:
        """These sets and then others, of the same rows."""
        return replace(
            self,
            members=np.concatenate([self.members, other.members]),
            starts=np.concatenate([self.starts, other.starts + len(self.members)]),
            signs=np.concatenate([self.signs, other.signs]),
        )

    def only(self, chosen: Index) -> RivalSets:
        """Some of the sets, in this order."""
        sizes = self.sizes[chosen]
        starts = np.cumsum(sizes) - sizes
        inside = np.arange(int(sizes.sum())) - np.repeat(starts, sizes)
        members = self.members[np.repeat(self.starts[chosen], sizes) + inside]
        return replace(self, members=members, starts=starts, signs=self.signs[chosen])
