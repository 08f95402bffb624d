"""Sets of things that stand in answers as one: what is chosen is better than the best of its rivals.

Of scores s, less being better, a choice of c among c and its rivals R has probability
e^-s_c / (e^-s_c + sum_R e^-s_j) = sigma(s_R - s_c) with s_R = -log sum_R e^-s_j. So it is an answer about a
pair, c and a row for all of R (Plackett and Luce). The worst of a set has s_R = log sum_R e^s_j instead.

Where ties are possible, i is said to be better than j if it is so even with a head start h > 0 of j (Rao and
Kupper, 1967): with probability sigma(s_j - h - s_i), an answer about i and a row for j ahead. Of a tie both
rows are of items ahead, and its probability is what remains. h is learned.

A rating is between two thresholds t > t' of its person's scale with probability sigma(t - s) - sigma(t' - s):
a tie of the item and a row half-way between the two, the head start being half of the gap. The lowest and the
highest rating are answers about the item and one threshold (thresholds.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coombs.data.thresholds import Thresholds

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from coombs.data.graph import Index, Matrix, Vector


WIDEST = 60.0
"""Scores that differ by less, in logits, have odds that can be added up in single precision."""
WIDEST_DOUBLE = 600.0
"""Scores that differ by less, in logits, have odds that can be added up in double precision."""
NO_ROWS = np.zeros(0, dtype=np.intp)
"""Where nothing is tied."""


class Choices(NamedTuple):
    """Choices among at most K things: the members (P, K), the chosen first; 1 for best, -1 for worst.

    Where there are fewer, the chosen one fills the rest, which is not `present`.
    """

    rows: Index
    members: Index
    present: NDArray[np.bool_]
    signs: Vector


class BandRatings(NamedTuple):
    """Ratings between two thresholds: the members (P, 3) are the item and the thresholds, all `present`."""

    rows: Index
    members: Index
    present: NDArray[np.bool_]
    chance: Vector


class Shares(NamedTuple):
    """Each row's odds and the totals of sets of rivals; without totals, the shares of the members."""

    odds: Matrix
    totals: Matrix | None


@dataclass(frozen=True, eq=False)
class RivalSets:
    """Sets of rows, one after the other in `members`, set q from `starts[q]` on; and rows beyond the items.

    Rows are the items, then anchors (a threshold of somebody's rating scale, or "none of these"), then the
    items that are once more there with a head start, which are `ahead`, then the bands between neighbouring
    thresholds, then the sets themselves. `scales` says of each anchor which rating scale it belongs to, -1 if
    none. `signs` are 1 for a set that stands for its best, -1 for one that stands for its worst. Where
    ratings are not `cumulative`, as in older fits, an item passes one threshold after the other, each with
    noise of its own, and there are no bands.
    """

    scales: Index
    members: Index
    starts: Index
    signs: Vector
    ahead: Index = field(default_factory=NO_ROWS.copy)
    cumulative: bool = False

    @property
    def n_anchors(self) -> int:
        """How many anchors there are."""
        return len(self.scales)

    @property
    def n_sets(self) -> int:
        """How many sets there are."""
        return len(self.starts)

    @property
    def n_single(self) -> int:
        """How many rows are neither items nor sets: the anchors, the items ahead and the bands."""
        return len(self.scales) + len(self.ahead) + len(self.bands)

    @property
    def n_rows(self) -> int:
        """How many rows are no items."""
        return self.n_single + self.n_sets

    @cached_property
    def bands(self) -> Index:
        """The first of the two anchors that each band is between."""
        if not self.cumulative:
            return NO_ROWS
        return np.flatnonzero((self.scales[:-1] == self.scales[1:]) & (self.scales[1:] >= 0))

    @cached_property
    def thresholds(self) -> Thresholds:
        """How the anchors' scores come from unknowns."""
        return Thresholds.of(self.scales, self.cumulative)

    @property
    def has_gaps(self) -> bool:
        """Whether there are anchors whose scores are not linear in their unknowns."""
        return bool(len(self.bands))

    @cached_property
    def sizes(self) -> Index:
        """How many rows each set has."""
        return np.diff(self.starts, append=len(self.members))

    @cached_property
    def owners(self) -> Index:
        """The set that each member is in."""
        return np.repeat(np.arange(self.n_sets), self.sizes)

    def extended(self, scores: Matrix, head_start: Vector | None = None) -> tuple[Matrix, Shares]:
        """Scores of all rows, from (n, C) those of items and anchors; and each member's share of its set."""
        n = len(scores) - self.n_anchors
        if len(self.ahead):
            ahead = scores.take(self.ahead, axis=0)
            scores = np.concatenate([scores, ahead if head_start is None else ahead - head_start])
        if len(self.bands):
            scores = np.concatenate([scores, self.middles(scores, n)])
        if not self.n_sets:
            return scores, Shares(scores[:0], None)
        lowest, highest = scores.min(axis=0), scores.max(axis=0)
        widest = float((highest - lowest).max())
        if widest < WIDEST:
            return self._extended_at_once(scores, lowest, highest)
        if widest < WIDEST_DOUBLE:
            whole, shares = self._extended_at_once(
                *(part.astype(float) for part in (scores, lowest, highest))
            )
            return whole.astype(scores.dtype), shares
        sign = np.repeat(self.signs, self.sizes).astype(scores.dtype)[:, None]
        values = -sign * scores.take(self.members, axis=0)
        highest = np.maximum.reduceat(values, self.starts, axis=0)
        owners = self.owners
        values -= highest.take(owners, axis=0)
        np.exp(values, out=values)
        totals = np.add.reduceat(values, self.starts, axis=0)
        values /= totals.take(owners, axis=0)
        own = -self.signs.astype(scores.dtype)[:, None] * (np.log(totals) + highest)
        return np.concatenate([scores, own]), Shares(values, None)

    def _extended_at_once(self, scores: Matrix, lowest: Vector, highest: Vector) -> tuple[Matrix, Shares]:
        """`extended` where no score is so far from another that its odds vanish: sums of the items' odds."""
        odds = np.exp(lowest - scores)
        if self._has_worst:
            odds = np.concatenate([odds, np.exp(scores - highest)])
        totals = self._of_sets(len(scores), scores.dtype) @ odds
        own = np.log(totals)
        if self._has_worst:
            signs = self.signs.astype(scores.dtype)[:, None]
            own = np.where(signs > 0, lowest, highest) - signs * own
        else:
            np.subtract(lowest, own, out=own)
        return np.concatenate([scores, own]), Shares(odds, totals)

    @cached_property
    def _has_worst(self) -> bool:
        return bool((self.signs < 0).any())

    def _of_sets(self, n: int, dtype: Any) -> csr_array:
        """(sets, n) ones where a row is a member; of sets that stand for their worst, n columns later."""
        from scipy.sparse import csr_array

        key = -n, np.dtype(dtype).name
        if key not in self._matrices:
            later = np.where(self.signs < 0, n, 0)[self.owners]
            at = self.owners, self.members + later
            shape = (self.n_sets, n * (1 + self._has_worst))
            self._matrices[key] = csr_array((np.ones(len(self.members), dtype), at), shape=shape)
        return self._matrices[key]

    def pulled(self, slopes: Matrix, shares: Shares) -> Matrix:
        """Slopes along the scores of items and anchors, from those along all rows: the transpose."""
        n, result = len(slopes) - self.n_sets, slopes
        if self.n_sets and shares.totals is not None:
            members = self._of_sets(n, shares.totals.dtype).T
            of_odds = (shares.odds * (members @ (slopes[n:] / shares.totals))).astype(
                slopes.dtype, copy=False
            )
            result = slopes[:n] + of_odds[:n]
            if self._has_worst:
                result += of_odds[n:]
        elif self.n_sets:
            of_members = shares.odds * slopes[n:].take(self.owners, axis=0)
            result = slopes[:n] + self._incidence(n, slopes.dtype) @ of_members
        if len(self.bands):
            n -= len(self.bands)
            half, result = result[n:] / 2, result[:n].copy()
            first = n - len(self.ahead) - self.n_anchors + self.bands
            # No two bands have the same first threshold.
            result[first] += half
            result[first + 1] += half
        if len(self.ahead):
            n -= len(self.ahead)
            again, result = result[n:], result[:n].copy()
            result[self.ahead] += again
        return result

    def middles(self, scores: Matrix, n: int) -> Matrix:
        """Scores half-way between the two thresholds of each band; n rows are items."""
        result: Matrix = (scores[n + self.bands] + scores[n + self.bands + 1]) / 2
        return result

    def half_gaps(self, scores: Matrix, n: int) -> Matrix:
        """Half of the gap of each band; n rows are items."""
        result: Matrix = (scores[n + self.bands] - scores[n + self.bands + 1]) / 2
        return result

    def band_of(self, rows: Index, n: int) -> Index:
        """The band that each row is, -1 if it is none; n rows are items."""
        at = rows - (n + self.n_anchors + len(self.ahead))
        return np.where((at >= 0) & (at < len(self.bands)), at, -1)

    def anchor_of(self, rows: Index, n: int) -> Index:
        """The anchor that each row is, of a band the first of its two, -1 if it is none; n rows are items."""
        anchor, band = rows - n, self.band_of(rows, n)
        found = np.where((anchor >= 0) & (anchor < self.n_anchors), anchor, -1)
        return np.where(band >= 0, np.append(self.bands, -1)[band], found)

    def scale_of(self, rows: Index, n: int) -> Index:
        """The rating scale that each row is of, -1 if it is of none; n rows are items."""
        return np.append(self.scales, -1)[self.anchor_of(rows, n)]

    def counts(self, n: int) -> Vector:
        """How many things each row stands for where somebody answers at random; n rows are items."""
        result, rows = np.ones(n + self.n_rows), np.arange(n + self.n_rows)
        result[self.are_ahead(rows, n)] = 2
        result[n + self.n_single :] = self.sizes
        if self.cumulative:
            scale = self.scale_of(rows, n)
            result[scale >= 0] = np.bincount(self.scales[self.scales >= 0])[scale[scale >= 0]]
        return result

    def items_of(self, rows: Index, n: int) -> Index:
        """The same rows, of items ahead the items themselves; n rows are items."""
        if not len(self.ahead):
            return rows
        result, inside = rows.copy(), self.are_ahead(rows, n)
        result[inside] = self.ahead[rows[inside] - n - self.n_anchors]
        return result

    def are_ahead(self, rows: Index, n: int) -> NDArray[np.bool_]:
        """Whether rows are of items ahead; n rows are items."""
        first = n + self.n_anchors
        return (rows >= first) & (rows < first + len(self.ahead))

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

    def choices(self, winners: Index, losers: Index, base: int) -> tuple[Choices, ...]:
        """Answers about sets of rivals, which are rows from `base` on, by the number of things in them."""
        single, many = np.minimum(winners, losers), np.maximum(winners, losers) - base
        rows = np.flatnonzero(many >= 0)
        sizes, found = self.sizes[many[rows]], []
        # Of about the same number of things, so that there are few arrays and little is filled up.
        for rank in np.unique(np.ceil(np.log2(sizes + 1))):
            some = rows[np.ceil(np.log2(sizes + 1)) == rank]
            own = self.sizes[many[some]]
            place = np.arange(int(own.max()))
            present = place < own[:, None]
            at = self.starts[many[some]][:, None] + np.minimum(place, own[:, None] - 1)
            rivals = np.where(present, self.members[at], single[some][:, None])
            members = np.concatenate([single[some][:, None], rivals], axis=1)
            present = np.concatenate([np.ones((len(some), 1), dtype=bool), present], axis=1)
            found.append(Choices(some, members, present, self.signs[many[some]]))
        return tuple(found)

    def renumbered(self, place: Index, n: int) -> RivalSets:
        """The same sets where row i has become row place[i], members in order; n rows were items."""
        members, first = place[self.members], n + self.n_anchors
        new = place[first : first + len(self.ahead)]
        ahead = place[self.ahead[np.argsort(new)[np.count_nonzero(new < 0) :]]]
        return replace(self, members=members[np.lexsort((members, self.owners))], ahead=ahead)

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
