"""Answers that put several things in order: choices, best and worst, rankings; and ratings.

What each says of the items is compiled here into answers about two rows (rival_sets.py): a choice is better
than the best of its rivals, a ranking is one choice after the other (Plackett and Luce), the worst of a set
is worse than the worst of the rest, and a rating is the number of thresholds of its person's scale that the
item passes, all with one noise (a cumulative ordinal model). Where pairs are tied, who wins does so against a
head start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from coombs.data import naming
from coombs.data.rival_sets import NO_ROWS, RivalSets
from coombs.data.tables import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from coombs.data.graph import Index, Vector
    from coombs.data.tables import Names

NONE = -1
"""The position of "none of these"."""
CHOICE = 0
"""The shape of an answer that takes the first tier out of all; the last tier is the rest, in no order."""
BEST_WORST = 1
"""The shape of an answer whose first tier is the best and whose last is the worst of a set."""
RANKING = 2
"""The shape of an answer that orders everything in it; things of one tier are tied."""
MOST_SCALES = 25
"""People up to which everybody has thresholds of their own; of more, those of about the same mean share."""
SAME_SCALE = 0.4
"""Share of all ratings' range that ratings must have to be on the same scale as others."""
MOST_LEVELS = 10
"""Different ratings up to which each is a level of its own."""
GROUPS = 5
"""Levels of more different ratings, about as many in each."""
MOST_PAIRED = 60
"""Ratings of one person up to which every two are held against each other."""
SHAPES = ("choice", "best-worst", "ranking")
"""What the shapes are called."""
NOUNS = {"best-worst": "best-worst choice"} | {name: name for name in ("pair", "choice", "ranking", "rating")}
"""What answers of each shape are called when they are counted."""


class Events(NamedTuple):
    """Answers about two rows each: items, then anchors, then sets of rivals."""

    winners: Index
    losers: Index
    weights: Vector
    sets: RivalSets


@dataclass(frozen=True, eq=False)
class Orders:
    """Answers one after the other in `members`, answer k from `starts[k]` on, the best tier first.

    `members` are positions of items, or NONE; `tiers` count from 0 inside an answer; `shapes` are CHOICE,
    BEST_WORST or RANKING.
    """

    members: Index
    tiers: Index
    starts: Index
    shapes: Index
    weights: Vector
    users: Names | None

    @classmethod
    def of(
        cls, answers: Sequence[tuple[int, Sequence[Sequence[int]], float]], users: Names | None = None
    ) -> Orders:
        """Of the shape, the tiers and the weight of each answer."""
        shapes, tiers, weights = zip(*answers, strict=True)
        sizes = np.array([sum(map(len, one)) for one in tiers], dtype=np.intp)
        members, places = np.array(
            [(member, k) for one in tiers for k, tier in enumerate(one) for member in tier], dtype=np.intp
        ).T.copy()
        codes, mass = np.array(shapes, dtype=np.intp), np.array(weights, dtype=float)
        return cls(members, places, np.cumsum(sizes) - sizes, codes, mass, users)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sizes(self) -> Index:
        """How many things each answer is about."""
        return np.diff(self.starts, append=len(self.members))

    def take(self, rows: Index) -> Orders:
        """Some of the answers, in this order."""
        sizes = self.sizes[rows]
        starts = np.cumsum(sizes) - sizes
        inside = np.repeat(self.starts[rows] - starts, sizes) + np.arange(int(sizes.sum()))
        users = None if self.users is None else self.users[rows]
        parts = self.members[inside], self.tiers[inside], starts, self.shapes[rows], self.weights[rows]
        return Orders(*parts, users)

    def joined(self, other: Orders | None) -> Orders:
        """These answers and then others."""
        if other is None:
            return self
        starts = np.concatenate([self.starts, other.starts + len(self.members)])
        names = ("members", "tiers", "shapes", "weights")
        members, tiers, shapes, weights = (
            np.concatenate([getattr(self, name), getattr(other, name)]) for name in names
        )
        users = None
        if self.users is not None and other.users is not None:
            users = np.concatenate([self.users, other.users])
        return Orders(members, tiers, starts, shapes, weights, users)

    def tiers_of(self, k: int) -> list[list[int]]:
        """The tiers of an answer, best first."""
        part = slice(self.starts[k], self.starts[k] + self.sizes[k])
        tiers: list[list[int]] = [[] for _ in range(int(self.tiers[part].max()) + 1)]
        for member, tier in zip(self.members[part].tolist(), self.tiers[part].tolist(), strict=True):
            tiers[tier].append(member)
        return tiers

    def in_pairs(self) -> tuple[Index, Index, Index]:
        """Winner and loser of every two items of different tiers, and the answer that says so."""
        winners, losers, of = [], [], []
        for k in range(len(self)):
            part = slice(self.starts[k], self.starts[k] + self.sizes[k])
            members, tiers = self.members[part], self.tiers[part]
            first, second = np.nonzero(tiers[:, None] < tiers[None, :])
            real = (members[first] != NONE) & (members[second] != NONE)
            winners.append(members[first[real]])
            losers.append(members[second[real]])
            of.append(np.full(int(real.sum()), k))
        return tuple(np.concatenate(parts).astype(np.intp) for parts in (winners, losers, of))  # type: ignore[return-value]

    @property
    def always_offers_none(self) -> bool:
        """Whether "none of these" could be chosen each time: it was once at least, and is not listed else."""
        is_none = self.members == NONE
        return bool(is_none.any() and (self.tiers[is_none] == 0).all())

    def choices(self) -> Iterator[tuple[int, list[int], float, float]]:
        """What is chosen, out of which rivals, 1 for a best and -1 for a worst, and the answer's weight."""
        always_none = self.always_offers_none
        for k, (shape, weight) in enumerate(zip(self.shapes.tolist(), self.weights.tolist(), strict=True)):
            if not weight:
                continue
            tiers = self.tiers_of(k)
            if shape == CHOICE and always_none and tiers[0] != [NONE]:
                tiers = [tiers[0], [member for tier in tiers[1:] for member in tier] + [NONE]]
            if shape == BEST_WORST:
                best, worst = tiers[0][0], tiers[-1][0]
                rest = [member for tier in tiers[1:-1] for member in tier]
                yield best, [*rest, worst], 1.0, weight
                if rest:
                    yield worst, rest, -1.0, weight
                continue
            for i, tier in enumerate(tiers):
                below = [member for lower in tiers[i + 1 :] for member in lower]
                if below:
                    share = weight * _share_of_tie(len(tier), len(below))
                    for member in tier:
                        yield member, below, 1.0, share
                if len(tier) > 1 and shape == RANKING:
                    # Tied things are alike: as many answers as it takes to order them, each way alike.
                    share = weight * (len(tier) - 1) / len(tier)
                    for member in tier:
                        yield member, [other for other in tier if other != member], 1.0, share


def _share_of_tie(n_tied: int, n_below: int) -> float:
    """What each of some tied things counts for as chosen out of itself and what is below.

    That all of them come first says as much as so many such choices: with equal scores, the slope of its
    probability along their common score is the sum of the choices'.
    """
    if n_tied == 1:
        return 1.0
    left = np.arange(1, n_tied + 1)
    return float((n_tied - (left / (left + n_below)).sum()) / (n_tied * n_below / (1 + n_below)))


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings of items: positions, `levels` that index the scale's sorted `values`, and who gave them."""

    items: Index
    levels: Index
    values: Vector
    weights: Vector
    users: Names | None

    def __len__(self) -> int:
        return len(self.items)

    def take(self, rows: Index) -> Ratings:
        """Some of the ratings, in this order, on the same scale."""
        users = None if self.users is None else self.users[rows]
        return replace(
            self, items=self.items[rows], levels=self.levels[rows], weights=self.weights[rows], users=users
        )

    def joined(self, other: Ratings | None) -> Ratings:
        """These ratings and then others, on a scale of all their values."""
        if other is None:
            return self
        values = np.union1d(self.values, other.values)
        for part, rest in ((self, other), (other, self)):
            # A part of the other's ratings is surely on its scale.
            is_part = np.isin(part.values, rest.values).all()
            if not is_part and np.ptp(part.values) < SAME_SCALE * np.ptp(values):
                raise InputError(
                    f"Ratings from {self.values[0]:g} to {self.values[-1]:g} and from {other.values[0]:g} to "
                    f"{other.values[-1]:g} are on two scales; bring them to one, or join them as rankings."
                )
        levels = [np.searchsorted(values, one.values[one.levels]) for one in (self, other)]
        users = None
        if self.users is not None and other.users is not None:
            users = np.concatenate([self.users, other.users])
        items = np.concatenate([self.items, other.items])
        weights = np.concatenate([self.weights, other.weights])
        return Ratings(items, np.concatenate(levels), values, weights, users)

    @property
    def people(self) -> Index:
        """Who gave each rating, counted from zero in the order of their names."""
        if self.users is None:
            return np.zeros(len(self), dtype=np.intp)
        return np.unique([naming.text(user) for user in self.users], return_inverse=True)[1]

    @property
    def scales(self) -> Index:
        """The scale of each rating: everybody's own; of very many people, of those about as mild."""
        people = self.people
        n_people = int(people.max(initial=-1)) + 1
        if n_people <= MOST_SCALES:
            return people
        counts, middle = np.bincount(people), float(self.levels.mean())
        # Few ratings say little about how mild somebody is.
        mildness = (np.bincount(people, self.levels) + middle) / (counts + 1)
        order = np.argsort(mildness, kind="stable")
        group = np.empty(n_people, dtype=np.intp)
        group[order] = np.arange(n_people) * MOST_SCALES // n_people
        return group[people]

    def in_pairs(self) -> tuple[Index, Index, Index]:
        """Winner and loser of every two items that one person rated differently, and the winner's rating.

        Of somebody with very many ratings, each with some others, always the same.
        """
        people, nothing = self.people, np.zeros(0, dtype=np.intp)
        found = [(nothing, nothing, nothing)]
        order = np.argsort(people, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(people[order])) + 1):
            if len(rows) > MOST_PAIRED:
                found.append(self._some_pairs(np.random.default_rng(0).permutation(rows)))
                continue
            first, second = np.nonzero(self.levels[rows][:, None] > self.levels[rows][None, :])
            differ = self.items[rows[first]] != self.items[rows[second]]
            first, second = rows[first[differ]], rows[second[differ]]
            found.append((self.items[first], self.items[second], first))
        winners, losers, of = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return winners, losers, of

    def _some_pairs(self, rows: Index) -> tuple[Index, Index, Index]:
        """Winners and losers among each of a person's ratings and those that come next."""
        one = np.concatenate([rows[:-step] for step in range(1, MOST_PAIRED // 2 + 1)])
        other = np.concatenate([rows[step:] for step in range(1, MOST_PAIRED // 2 + 1)])
        differ = (self.levels[one] != self.levels[other]) & (self.items[one] != self.items[other])
        one, other = one[differ], other[differ]
        ahead = self.levels[one] > self.levels[other]
        first, second = np.where(ahead, one, other), np.where(ahead, other, one)
        return self.items[first], self.items[second], first

    def in_few_levels(self) -> Ratings:
        """The same in at most `MOST_LEVELS` levels, as they are learned from; of more, in `GROUPS` groups.

        Thresholds between a few levels know nearly as much as between very many, each of which is an unknown.
        The groups are each person's own, as their thresholds are; of very many people, of all ratings.
        """
        if len(self.values) <= MOST_LEVELS:
            return self
        given, people, levels = self.values[self.levels], self.people, np.empty(len(self), dtype=np.intp)
        if int(people.max(initial=-1)) + 1 > MOST_SCALES:
            people = np.zeros_like(people)
        for person in np.unique(people):
            rows = people == person
            ends = np.quantile(given[rows], np.arange(1, GROUPS) / GROUPS, method="lower")
            levels[rows] = np.searchsorted(ends, given[rows])
        return replace(self, levels=levels, values=np.arange(float(GROUPS)))

    def thresholds(self) -> tuple[Index, Index, Index]:
        """The scale of each threshold, and of each rating the row it is about and whether the item wins.

        Rows are thresholds, counted from 0, and then the bands between those of a scale. The lowest rating
        does not pass the first threshold, the highest passes the last, and others are in a band.
        """
        scales, n_steps = self.scales, len(self.values) - 1
        n_scales = int(scales.max(initial=-1)) + 1
        is_low, is_high = self.levels == 0, self.levels == n_steps
        band = n_scales * n_steps + scales * (n_steps - 1) + self.levels - 1
        rows = np.where(is_low | is_high, scales * n_steps + is_high * (n_steps - 1), band)
        return np.repeat(np.arange(n_scales), n_steps), rows, ~is_low


Pairs: TypeAlias = "tuple[Index, Index, Vector]"
"""Rows, first and second, and weights."""


def events(pairs: Pairs, ties: Pairs, orders: Orders | None, ratings: Ratings | None, n_items: int) -> Events:
    """All answers as answers about two rows: pairs (winners, losers, weights), ties, orders and ratings."""
    choices = [] if orders is None else list(orders.choices())
    has_none = any(chosen == NONE or NONE in rivals for chosen, rivals, _, _ in choices)
    scales = np.full(int(has_none), -1)
    parts = []
    ahead, of_scale, n_bands = NO_ROWS, NO_ROWS, 0
    if ratings is not None and len(ratings.values) == 1:
        # One rating for everything says nothing.
        ratings = None
    if ratings is not None:
        few = ratings.in_few_levels()
        of_scale, rated, wins = few.thresholds()
        n_bands = len(of_scale) - len(np.unique(of_scale))
        scales = np.concatenate([scales, of_scale])
    first = n_items + len(scales)
    if len(ties[0]):
        ahead, pairs = _with_ties(pairs, ties, first)
        first += len(ahead)
    if ratings is not None:
        # Bands come after the items ahead.
        rows = n_items + len(scales) - len(of_scale) + rated + len(ahead) * (rated >= len(of_scale))
        ends = np.where(wins, few.items, rows), np.where(wins, rows, few.items)
        parts.append((*ends, few.weights))
        first += n_bands
    known = dict[tuple[float, tuple[int, ...]], int]()
    winners, losers, weights = [], [], []
    for chosen, rivals, sign, weight in choices:
        # The anchor for "none of these" is the first row after the items.
        single, *many = (n_items if member == NONE else member for member in (chosen, *rivals))
        other = many[0]
        if len(many) > 1:
            key = sign, tuple(sorted(many))
            other = first + known.setdefault(key, len(known))
        winners.append(single if sign > 0 else other)
        losers.append(other if sign > 0 else single)
        weights.append(weight)
    parts = [pairs, *parts]
    parts.append((np.array(winners, dtype=np.intp), np.array(losers, dtype=np.intp), np.array(weights)))
    members = [member for _, some in known for member in some]
    sizes = np.array([len(some) for _, some in known], dtype=np.intp)
    signs = np.array([sign for sign, _ in known], dtype=float)
    sets = RivalSets(scales, np.array(members, dtype=np.intp), np.cumsum(sizes) - sizes, signs, ahead, True)
    all_winners, all_losers, all_weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Events(all_winners, all_losers, all_weights, sets)


def _with_ties(pairs: Pairs, ties: Pairs, first: int) -> tuple[Index, Pairs]:
    """The items ahead, which are rows from `first` on; and the answers.

    Who wins does so against the other ahead; of a tie both are, in their order, as it is the same both ways.
    """
    ahead = np.unique(np.concatenate([*pairs[:2], *ties[:2]]))
    low, high = np.sort(ties[:2], axis=0)
    winners = np.concatenate([pairs[0], first + np.searchsorted(ahead, low)])
    losers = first + np.searchsorted(ahead, np.concatenate([pairs[1], high]))
    return ahead, (winners, losers, np.concatenate([pairs[2], ties[2]]))
