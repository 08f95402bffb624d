"""Distinct answers by position, which the programs and the posterior are computed from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.data.graph import ComparisonGraph
from coombs.data.tables import NO_LEVELS, Levels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coombs.data.directions import Directions
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.rival_sets import RivalSets


ANCHOR_WIDTH = 3.0
"""Prior deviation of the score of an anchor (a threshold of a rating scale, "none of these"), in logits."""
LAPSE_ODDS = math.log(0.01)
"""Prior centre of the log odds of a lapse, an answer given at random."""
LAPSE_WIDTH = 1.5
"""Its prior deviation."""
LAPSE_NODES = np.linspace(-4.0, 4.0, 17)
"""Points of integrals over it, in prior deviations."""
GRID = 121
"""Points of integrals over an anchor's score."""
RATED_WITH = 3
"""Ratings before and after it on the same scale that the order of each is tested with."""


class HeldOut(NamedTuple):
    """What is predicted from the other answers: the answers, and what those about more than two say of two.

    Parameters
    ----------
    winners, losers : rows
    questions : what each is about; it is predicted from answers about something else
    weights : of the answers; zero for the pairs, which are no answers of their own
    shares : what each counts for in the share of pairs that are put in the right order
    chance : their probability at random
    n_answers : how many of the rows, the first ones, are answers
    better, worse : rows of two ratings on one scale, each held against the same item
    """

    winners: Index
    losers: Index
    questions: Index
    weights: Vector
    shares: Vector
    chance: Vector
    n_answers: int
    better: Index = np.zeros(0, dtype=np.intp)
    worse: Index = np.zeros(0, dtype=np.intp)


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
        """The same of answers about rows that are not all items."""
        n = len(items) + sets.n_anchors + sets.n_sets
        distinct, where = np.unique(winners * n + losers, return_inverse=True)
        totals = np.bincount(where, weights, len(distinct)).astype(float)
        every = np.arange(len(items))
        whole = cls(items, distinct // n, distinct % n, totals, every, len(items), levels, sets)
        return whole.only(np.flatnonzero(totals > 0))

    @property
    def n_rows(self) -> int:
        """The items, the anchors and the sets of rivals."""
        return len(self.items) + (0 if self.sets is None else self.sets.n_anchors + self.sets.n_sets)

    @cached_property
    def chance(self) -> Vector:
        """How likely each answer is if it is given at random: one over the things it is about."""
        count = np.ones(self.n_rows)
        if self.sets is not None:
            count[len(self.items) + self.sets.n_anchors :] = self.sets.sizes
        result: Vector = 1 / (count[self.winners] + count[self.losers])
        return result

    @property
    def total(self) -> float:
        """How many answers there are, by weight; a rating is one, however many thresholds it passes."""
        total = float(self.weights.sum())
        if self.sets is None or not self.sets.n_anchors:
            return total
        anchor = np.maximum(self.winners, self.losers) - len(self.items)
        inside = (anchor >= 0) & (anchor < self.sets.n_anchors)
        is_first = np.diff(self.sets.scales, prepend=-2) != 0
        at = np.clip(anchor, 0, self.sets.n_anchors - 1)
        # Every rating meets the first threshold of its scale, once.
        later = inside & ~is_first[at] & (self.sets.scales[at] >= 0)
        return total - float(self.weights[later].sum())

    @cached_property
    def log_chance(self) -> float:
        """log of how likely all answers are at random, over all scores of the anchors."""
        if self.sets is None or not self.sets.n_anchors:
            return float(self.weights @ np.log(self.chance))
        n, base = len(self.items), self.n_rows - self.sets.n_sets
        at = np.linspace(-4 * ANCHOR_WIDTH, 4 * ANCHOR_WIDTH, GRID)
        prior = -((at / ANCHOR_WIDTH) ** 2) / 2
        logs = np.zeros((self.sets.n_anchors, GRID))
        # Items all have the score 0: an answer is about one anchor, or about none.
        inside = self.sets.members >= n
        anchor_of, count = np.full(self.n_rows, -1), np.ones(self.n_rows)
        anchor_of[n:base] = np.arange(self.sets.n_anchors)
        anchor_of[base + self.sets.owners[inside]] = self.sets.members[inside] - n
        count[base:] = self.sets.sizes
        count[anchor_of >= 0] -= 1
        odds = [
            np.where((anchor_of[rows] >= 0)[:, None], np.exp(-at), 0.0) + count[rows][:, None]
            for rows in (self.winners, self.losers)
        ]
        anchor = np.maximum(anchor_of[self.winners], anchor_of[self.losers])
        share, totals = odds[0] / (odds[0] + odds[1]), []
        # Somebody may be careless as well, in which case thresholds hardly matter.
        for node in LAPSE_NODES:
            lapse = 1 / (1 + np.exp(-LAPSE_ODDS - LAPSE_WIDTH * node))
            log_p = self.weights[:, None] * np.log(lapse * self.chance[:, None] + (1 - lapse) * share)
            logs[:] = 0.0
            np.add.at(logs, anchor[anchor >= 0], log_p[anchor >= 0])
            of_anchors = np.logaddexp.reduce(logs + prior, axis=1) - np.logaddexp.reduce(prior)
            totals.append(float(of_anchors.sum() + log_p[anchor < 0, 0].sum()) - node**2 / 2)
        return float(np.logaddexp.reduce(totals) - np.logaddexp.reduce(-(LAPSE_NODES**2) / 2))

    @cached_property
    def questions(self) -> Index:
        """What each answer is about, counted from zero: the same things, or an item on the same rating scale.

        Examples
        --------
        >>> both = np.array([0, 1]), np.array([1, 0])
        >>> Answers.collect(np.eye(2), *both, np.ones(2)).questions.tolist()
        [0, 0]
        """
        low, high = np.minimum(self.winners, self.losers), np.maximum(self.winners, self.losers)
        if self.sets is None:
            return np.unique(low * self.n_rows + high, return_inverse=True)[1]
        n, base, sets = len(self.items), self.n_rows - self.sets.n_sets, self.sets
        ends = np.append(sets.starts, len(sets.members))

        def things(one: int, other: int) -> tuple[int, ...]:
            if other >= base:
                return tuple(sorted([one, *sets.members[ends[other - base] : ends[other - base + 1]]]))
            scale = sets.scales[other - n] if other >= n else -1
            return (one, other) if scale < 0 else (one, -1 - int(scale))

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
        winners, losers, of = self._item_pairs()
        found = self.collect(self.items, winners, losers, self.weights[of], levels=self.levels)
        return replace(found, touched=self.touched[found.touched], n_items=self.n_items)

    def _item_pairs(self, rated: bool = True) -> tuple[Index, Index, Index]:
        """What answers with sets of rivals, and ratings, say of two items; and the answer that says it."""
        assert self.sets is not None
        n, base, sets = len(self.items), self.n_rows - self.sets.n_sets, self.sets
        sizes = np.concatenate([np.ones(base, dtype=np.intp), sets.sizes])
        starts = np.concatenate([np.zeros(base, dtype=np.intp), sets.starts])
        times = sizes[self.winners] * sizes[self.losers]
        of = np.repeat(np.arange(len(times)), times)
        inside = np.arange(len(of)) - np.repeat(np.cumsum(times) - times, times)
        members = np.append(sets.members, 0)
        winners, losers = (
            np.where(
                rows[of] < base, rows[of], members[np.minimum(starts[rows[of]] + inside, len(members) - 1)]
            )
            for rows in (self.winners, self.losers)
        )
        real = (winners < n) & (losers < n)
        if not rated:
            return winners[real], losers[real], of[real]
        more = self._rated_pairs(sets)
        return tuple(np.concatenate([a[real], b]) for a, b in zip((winners, losers, of), more, strict=True))  # type: ignore[return-value]

    def _ratings(self, sets: RivalSets) -> tuple[Index, Index, Index, Index]:
        """Item, scale, level and one answer of each rating, those of a scale together."""
        n = len(self.items)
        anchor = np.maximum(self.winners, self.losers) - n
        is_rating = (anchor >= 0) & (anchor < sets.n_anchors)
        is_rating &= sets.scales[np.clip(anchor, 0, sets.n_anchors - 1)] >= 0 if sets.n_anchors else False
        rows = np.flatnonzero(is_rating)
        # A rating is one more than the thresholds that its item has passed: the last answer of each tells.
        item, scale = np.minimum(self.winners, self.losers)[rows], sets.scales[anchor[rows]]
        place = anchor[rows] + (self.winners[rows] < n)
        order = np.lexsort((place, item, scale))
        last = order[np.flatnonzero(np.diff(scale[order] * n + item[order], append=-1))]
        return item[last], scale[last], place[last], rows[last]

    def _rated_pairs(self, sets: RivalSets) -> tuple[Index, Index, Index]:
        """Of each rating and some others on the same scale, the better and the worse item; and its answer."""
        item, _, _, of = self._ratings(sets)
        better, worse = self._unequal(sets)
        return item[better], item[worse], of[better]

    def _unequal(self, sets: RivalSets) -> tuple[Index, Index]:
        """Ratings on the same scale, the better and the worse: each with some others."""
        _, scale, level, _ = self._ratings(sets)
        better, worse = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
        for step in range(1, RATED_WITH + 1):
            here, there = np.arange(max(len(scale) - step, 0)), np.arange(step, len(scale))
            both = (scale[here] == scale[there]) & (level[here] != level[there])
            here, there = here[both], there[both]
            ahead = level[here] > level[there]
            better.append(np.where(ahead, here, there))
            worse.append(np.where(ahead, there, here))
        return np.concatenate(better), np.concatenate(worse)

    def _base_rates(self) -> Vector:
        """The chance of each answer; of a threshold, by how many of the other ratings pass it."""
        assert self.sets is not None
        result, n = self.chance.copy(), len(self.items)
        anchor = np.maximum(self.winners, self.losers) - n
        rated = np.flatnonzero((anchor >= 0) & (anchor < self.sets.n_anchors))
        rated = rated[self.sets.scales[anchor[rated]] >= 0]
        at, passed, weights = anchor[rated], self.winners[rated] < n, self.weights[rated]
        counts = np.array([np.bincount(at, weights * way, self.sets.n_anchors) for way in (passed, ~passed)])
        grid = np.linspace(-4 * ANCHOR_WIDTH, 4 * ANCHOR_WIDTH, GRID)
        sides = -np.logaddexp(0, grid), -np.logaddexp(0, -grid)
        prior = -((grid / ANCHOR_WIDTH) ** 2) / 2

        def evidence(yes: Vector, no: Vector) -> Vector:
            """log of how likely so many passes and failures are, whatever the threshold."""
            logs = yes[:, None] * sides[0] + no[:, None] * sides[1] + prior
            found: Vector = np.logaddexp.reduce(logs, axis=1)
            return found

        whole = evidence(counts[0][at], counts[1][at])
        without = evidence(counts[0][at] - weights * passed, counts[1][at] - weights * ~passed)
        result[rated] = np.exp((whole - without) / weights)
        return result

    @cached_property
    def held_out(self) -> HeldOut:
        """The rows that are predicted from the others, to see how well."""
        if self.sets is None:
            return HeldOut(
                self.winners,
                self.losers,
                self.questions,
                self.weights,
                self.weights,
                self.chance,
                len(self.winners),
            )
        winners, losers, of = self._item_pairs(rated=False)
        # An answer about two items is its own pair.
        plain = np.maximum(self.winners, self.losers) < len(self.items)
        kept = ~plain[of]
        winners, losers, of = winners[kept], losers[kept], of[kept]
        times = np.bincount(of, minlength=len(self.winners))
        shares = (self.weights / np.maximum(times, 1))[of]
        # Two ratings are put in order by how each item does against the same one, its own rating left out.
        item, _, _, rating = self._ratings(self.sets)
        same = int(np.bincount(item, minlength=1).argmax()) if len(item) else 0
        first = len(self.winners) + len(of)
        of = np.concatenate([of, rating])
        better, worse = self._unequal(self.sets)
        apart = (item[better] != same) & (item[worse] != same)
        return HeldOut(
            np.concatenate([self.winners, winners, item]),
            np.concatenate([self.losers, losers, np.where(item == same, (same + 1) % len(self.items), same)]),
            np.concatenate([self.questions, self.questions[of]]),
            np.concatenate([self.weights, np.zeros(len(of))]),
            np.concatenate([np.where(plain, self.weights, 0.0), shares, np.zeros(len(item))]),
            np.concatenate([self._base_rates(), np.full(len(of), 0.5)]),
            len(self.winners),
            first + better[apart],
            first + worse[apart],
        )

    def with_columns(self, columns: Index) -> Answers:
        """The same about some of the features."""
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
        """The same where not all rows are items; anchors stay, whatever is about them."""
        n, base = len(self.items), self.n_rows - sets.n_sets
        used = np.unique([self.winners[rows], self.losers[rows]])
        kept = used[used >= base] - base
        few = sets.only(kept)
        ends = np.unique(np.concatenate([used[used < n], few.members[few.members < n]]))
        place = np.full(self.n_rows, -1, dtype=np.intp)
        place[ends] = np.arange(len(ends))
        place[n:base] = len(ends) + np.arange(sets.n_anchors)
        place[base + kept] = len(ends) + sets.n_anchors + np.arange(len(kept))
        return Answers(
            self.items[ends],
            place[self.winners[rows]],
            place[self.losers[rows]],
            self.weights[rows],
            self.touched[ends],
            self.n_items,
            self.levels,
            few.renumbered(place),
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
        """The same with items in the order of their features and answers in that of their items.

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
        if sets is not None and sets.n_sets:
            sets, before = sets.renumbered(place).in_order()
            place[self.n_rows - len(before) + before] = np.arange(self.n_rows - len(before), self.n_rows)
        winners, losers = place[self.winners], place[self.losers]
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
