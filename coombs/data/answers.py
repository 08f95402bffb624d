"""Distinct answers by position, which the programs and the posterior are computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.answer_chance import log_chance_of
from coombs.data.graph import ComparisonGraph
from coombs.data.held_out import HeldOut, held_out_of
from coombs.data.rankings import Rankings, in_rankings
from coombs.data.rival_sets import BandRatings
from coombs.data.tables import NO_LEVELS, Levels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coombs.data.directions import Directions
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.rival_sets import Choices, RivalSets


RATED_WITH = 3
"""Ratings before and after it on the same scale that the order of each is tested with."""


@dataclass(frozen=True)
class Answers:
    """Distinct answers (winner, loser, weight) over the items they touch.

    Winners and losers are rows: the items and, where there are `sets`, anchors and sets of rivals after them.
    `levels` says which columns of the items are levels of categories, and `directions` along which of them
    the person declared that more, or less, is never worse.
    """

    items: Matrix
    winners: Index
    losers: Index
    weights: Vector
    touched: Index
    n_items: int
    levels: Levels = NO_LEVELS
    sets: RivalSets | None = None
    directions: Directions | None = None

    @classmethod
    def collect(
        cls,
        items: Matrix,
        winners: Index,
        losers: Index,
        weights: Vector,
        sets: RivalSets | None = None,
        levels: Levels = NO_LEVELS,
    ) -> Answers:
        """Add up repeats of an answer, and leave out the items that no answer touches."""
        if sets is not None:
            return cls._collect_rows(items, winners, losers, weights, sets, levels)
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
        mass: Vector = totals.astype(np.float64)
        return cls(items[touched], new[winners], new[losers], mass, touched, n, levels)

    @classmethod
    def _collect_rows(
        cls, items: Matrix, winners: Index, losers: Index, weights: Vector, sets: RivalSets, levels: Levels
    ) -> Answers:
        """Add up repeats of answers about rows that are not all items."""
        n = len(items) + sets.n_rows
        distinct, where = np.unique(winners * n + losers, return_inverse=True)
        totals = np.bincount(where, weights, len(distinct)).astype(float)
        every = np.arange(len(items))
        whole = cls(items, distinct // n, distinct % n, totals, every, len(items), levels, sets)
        return whole.only(np.flatnonzero(totals > 0))

    @property
    def n_rows(self) -> int:
        """The items, the anchors, the items ahead, the bands of rating scales and the sets of rivals."""
        return len(self.items) + (0 if self.sets is None else self.sets.n_rows)

    @cached_property
    def chance(self) -> Vector:
        """How likely each answer is if it is given at random: one over the things it is about."""
        if self.sets is not None:
            count = self.sets.counts(len(self.items))
            # Of a tie, both are ahead.
            count = np.where(self.is_tie, 1.0, count[self.winners]) + count[self.losers]
            return 1 / count
        return np.full(len(self.winners), 0.5)

    @property
    def total(self) -> float:
        """How many answers there are, by weight; a rating is one, however many thresholds it passes."""
        total = float(self.weights.sum())
        if self.sets is None or not self.sets.n_anchors or self.sets.cumulative:
            return total
        anchor = np.maximum(self.winners, self.losers) - len(self.items)
        inside = (anchor >= 0) & (anchor < self.sets.n_anchors)
        is_first = np.diff(self.sets.scales, prepend=-2) != 0
        at = np.clip(anchor, 0, self.sets.n_anchors - 1)
        # Every rating meets the first threshold of its scale, once.
        later = inside & ~is_first[at] & (self.sets.scales[at] >= 0)
        return total - float(self.weights[later].sum())

    @cached_property
    def is_tie(self) -> NDArray[np.bool_]:
        """Whether each answer is a tie of two items."""
        if self.sets is None:
            return np.zeros(len(self.winners), dtype=bool)
        return self.sets.are_ahead(self.winners, len(self.items))

    @cached_property
    def ends(self) -> tuple[Index, Index]:
        """Winners and losers, of items ahead the items themselves."""
        if self.sets is None:
            return self.winners, self.losers
        winners, losers = (self.sets.items_of(rows, len(self.items)) for rows in (self.winners, self.losers))
        return winners, losers

    @cached_property
    def pair_rows(self) -> Index:
        """Answers about two things."""
        n_anchors = 0 if self.sets is None else self.sets.n_anchors
        return np.flatnonzero(np.maximum(*self.ends) < len(self.items) + n_anchors)

    @cached_property
    def choices(self) -> tuple[Choices, ...]:
        """Answers about sets of rivals, by the number of things."""
        return () if self.sets is None else self.sets.choices(*self.ends, self.n_rows - self.sets.n_sets)

    @cached_property
    def in_rankings(self) -> tuple[tuple[Choices, ...], tuple[Rankings, ...]]:
        """The choices that stand alone, and rankings that the others make."""
        return in_rankings(self.choices)

    @cached_property
    def in_bands(self) -> tuple[BandRatings, ...]:
        """Ratings between two thresholds, if there are any."""
        if self.sets is None or not len(self.sets.bands):
            return ()
        n, (winners, losers) = len(self.items), self.ends
        rows = np.flatnonzero(self.sets.band_of(losers, n) >= 0)
        first = n + self.sets.anchor_of(losers[rows], n)
        members = np.column_stack([winners[rows], first, first + 1])
        ratings = BandRatings(rows, members, np.ones(members.shape, bool), self.chance[rows])
        return (ratings,) if len(rows) else ()

    @property
    def groups(self) -> tuple[Choices | BandRatings, ...]:
        """All answers that are about more than two things."""
        return (*self.choices, *self.in_bands)

    @cached_property
    def log_chance(self) -> float:
        """log of how likely all answers are at random, over all scores of the anchors and head starts."""
        return log_chance_of(self)

    @cached_property
    def questions(self) -> Index:
        """What each answer is about, counted from zero: the same things, or an item on the same rating scale.

        Examples
        --------
        >>> both = np.array([0, 1]), np.array([1, 0])
        >>> Answers.collect(np.eye(2), *both, np.ones(2)).questions.tolist()
        [0, 0]
        """
        low, high = np.minimum(*self.ends), np.maximum(*self.ends)
        if self.sets is None or not (self.sets.n_sets or self.sets.n_anchors):
            return np.unique(low * self.n_rows + high, return_inverse=True)[1]
        n, base, sets = len(self.items), self.n_rows - self.sets.n_sets, self.sets
        ends, of_scale = np.append(sets.starts, len(sets.members)), sets.scale_of(np.arange(self.n_rows), n)

        def things(one: int, other: int) -> tuple[int, ...]:
            if other >= base:
                return tuple(sorted([one, *sets.members[ends[other - base] : ends[other - base + 1]]]))
            scale = int(of_scale[other])
            return (one, other) if scale < 0 else (one, -1 - scale)

        keys = [things(one, other) for one, other in zip(low.tolist(), high.tolist(), strict=True)]
        known = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        return np.array([known[key] for key in keys], dtype=np.intp)

    def graph(self) -> ComparisonGraph:
        """The comparison graph of the rows."""
        return ComparisonGraph(self.winners, self.losers, self.n_rows)

    def in_pairs(self) -> Answers:
        """What the answers say of every two items, each once: more than they say together, but only pairs."""
        if self.sets is None:
            return self
        winners, losers, of = self.item_pairs()
        mass = np.where(self.is_tie, self.weights / 2, self.weights)[of]
        found = self.collect(self.items, winners, losers, mass, levels=self.levels)
        return replace(found, touched=self.touched[found.touched], n_items=self.n_items)

    def item_pairs(self, rated: bool = True) -> tuple[Index, Index, Index]:
        """What answers with sets of rivals, and ratings, say of two items; and the answer that says it."""
        assert self.sets is not None
        n, base, sets = len(self.items), self.n_rows - self.sets.n_sets, self.sets
        sizes = np.concatenate([np.ones(base, dtype=np.intp), sets.sizes])
        starts = np.concatenate([np.zeros(base, dtype=np.intp), sets.starts])
        first, second = self.ends
        times = sizes[first] * sizes[second]
        of = np.repeat(np.arange(len(times)), times)
        inside = np.arange(len(of)) - np.repeat(np.cumsum(times) - times, times)
        members = np.append(sets.members, 0)
        winners, losers = (
            np.where(
                rows[of] < base, rows[of], members[np.minimum(starts[rows[of]] + inside, len(members) - 1)]
            )
            for rows in (first, second)
        )
        # A tie goes both ways.
        tied = self.is_tie[of]
        winners, losers = np.concatenate([winners, losers[tied]]), np.concatenate([losers, winners[tied]])
        of = np.concatenate([of, of[tied]])
        real = (winners < n) & (losers < n)
        if not rated:
            return winners[real], losers[real], of[real]
        more = self._rated_pairs(sets)
        return tuple(np.concatenate([a[real], b]) for a, b in zip((winners, losers, of), more, strict=True))  # type: ignore[return-value]

    def ratings(self, sets: RivalSets) -> tuple[Index, Index, Vector, Index]:
        """Item, scale, level and one answer of each rating, those of a scale together."""
        n = len(self.items)
        high = np.maximum(self.winners, self.losers)
        scale, place = sets.scale_of(high, n), sets.anchor_of(high, n) + (self.winners < n)
        rows = np.flatnonzero(scale >= 0)
        # A rating is one more than the thresholds that its item has passed: the last answer of each tells.
        item, scale, place = np.minimum(self.winners, self.losers)[rows], scale[rows], place[rows]
        if sets.cumulative:
            # Of more than one rating of an item on the same scale, the mean.
            pairs, of, place_of = np.unique(scale * n + item, return_index=True, return_inverse=True)
            mass = np.bincount(place_of, self.weights[rows], len(pairs))
            mean = np.bincount(place_of, self.weights[rows] * place, len(pairs)) / mass
            return item[of], scale[of], mean, rows[of]
        order = np.lexsort((place, item, scale))
        last = order[np.flatnonzero(np.diff(scale[order] * n + item[order], append=-1))]
        return item[last], scale[last], place[last].astype(float), rows[last]

    def _rated_pairs(self, sets: RivalSets) -> tuple[Index, Index, Index]:
        """Better and worse item of each rating and some others on the same scale, and the answer of each."""
        item, _, _, of = self.ratings(sets)
        better, worse = self.unequal(sets)
        return item[better], item[worse], of[better]

    def unequal(self, sets: RivalSets) -> tuple[Index, Index]:
        """Ratings on the same scale, the better and the worse: each with some others."""
        _, scale, level, _ = self.ratings(sets)
        better, worse = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
        for step in range(1, RATED_WITH + 1):
            here, there = np.arange(max(len(scale) - step, 0)), np.arange(step, len(scale))
            both = (scale[here] == scale[there]) & (level[here] != level[there])
            here, there = here[both], there[both]
            ahead = level[here] > level[there]
            better.append(np.where(ahead, here, there))
            worse.append(np.where(ahead, there, here))
        return np.concatenate(better), np.concatenate(worse)

    @cached_property
    def held_out(self) -> HeldOut:
        """The rows that are predicted from the others, to see how well."""
        return held_out_of(self)

    def with_columns(self, columns: Index) -> Answers:
        """These answers about some of the features."""
        levels = self.levels.only(columns.tolist())
        directions = None if self.directions is None else self.directions.only(columns)
        return replace(self, items=self.items[:, columns], levels=levels, directions=directions)

    def some(self, count: int, rng: np.random.Generator) -> Answers:
        """At most so many of the distinct answers, chosen at random, over the items they touch."""
        if len(self.winners) <= count:
            return self
        return self.only(np.sort(rng.choice(len(self.winners), count, replace=False)))

    def only(self, rows: Index) -> Answers:
        """These answers, in this order, over the items they touch."""
        if self.sets is not None:
            return self._only_rows(rows, self.sets)
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

    def _only_rows(self, rows: Index, sets: RivalSets) -> Answers:
        """Some of the answers, where not all rows are items; all anchors and bands stay."""
        n, base = len(self.items), self.n_rows - sets.n_sets
        used = np.unique([self.winners[rows], self.losers[rows]])
        kept = used[used >= base] - base
        few = sets.only(kept)
        own = sets.items_of(used, n)
        ends = np.unique(np.concatenate([own[own < n], few.members[few.members < n]]))
        place = np.full(self.n_rows, -1, dtype=np.intp)
        place[ends] = np.arange(len(ends))
        single = np.arange(n, base)
        single = single[~sets.are_ahead(single, n) | np.isin(single, used)]
        place[single] = len(ends) + np.arange(len(single))
        place[base + kept] = len(ends) + len(single) + np.arange(len(kept))
        return Answers(
            self.items[ends],
            place[self.winners[rows]],
            place[self.losers[rows]],
            self.weights[rows],
            self.touched[ends],
            self.n_items,
            self.levels,
            few.renumbered(place, n),
            self.directions,
        )

    def folds(self, count: int, rng: np.random.Generator) -> Iterator[tuple[Answers, Answers]]:
        """(kept, left out) for each part of the answers, cut by unordered pair; all over the same items."""
        pair = self.questions
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
        """These answers with items in the order of their features, and answers in that of their items.

        What is computed from it then does not depend on the order in which they came. (Items that are alike
        keep theirs.)
        """
        if not self.items.size:
            return self
        # One number an item: sums of the features times roots, which are hardly ever equal.
        key = self.items @ np.sqrt(np.arange(2.0, 2.0 + self.items.shape[1]))
        order = np.argsort(key, kind="stable")
        place, sets = np.arange(self.n_rows), self.sets
        place[order] = np.arange(len(order))
        if sets is not None:
            first = len(order) + sets.n_anchors
            place[first + np.argsort(place[sets.ahead])] = first + np.arange(len(sets.ahead))
            sets, before = sets.renumbered(place, len(order)).in_order()
            place[self.n_rows - len(before) + before] = np.arange(self.n_rows - len(before), self.n_rows)
        winners, losers, tied = place[self.winners], place[self.losers], self.is_tie
        winners[tied], losers[tied] = np.sort([winners[tied], losers[tied]], axis=0)
        by_items = np.argsort(winners * self.n_rows + losers, kind="stable")
        return replace(
            self,
            items=self.items[order],
            winners=winners[by_items],
            losers=losers[by_items],
            weights=self.weights[by_items],
            touched=self.touched[order],
            sets=sets,
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
