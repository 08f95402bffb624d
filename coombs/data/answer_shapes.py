"""What `Comparisons` know of answers that are not about pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from coombs.data import naming
from coombs.data.answers import Answers
from coombs.data.checking import Positions, Signs
from coombs.data.orders import NONE, SHAPES, Events, Orders, Ratings, events
from coombs.data.tables import NO_LEVELS, FloatArray, InputError, Levels, Names


class AnswerShapes:
    """Properties of answers of any shape: pairs, then choices and rankings, then ratings."""

    __slots__ = ()

    items: FloatArray
    pairs: Positions
    y: Signs
    weights: FloatArray
    users: Names | None
    orders: Orders | None
    ratings: Ratings | None

    @property
    def shapes(self) -> dict[str, int]:
        """How many answers have each shape, where not all are about pairs.

        Examples
        --------
        >>> from coombs import Comparisons
        >>> Comparisons.from_rankings([[0.0], [1.0], [2.0]], [[2, 0, 1], [0, 1]]).shapes
        {'ranking': 2}
        """
        counts = {"pair": len(self.pairs)}
        for code, name in enumerate(SHAPES):
            counts[name] = 0 if self.orders is None else int((self.orders.shapes == code).sum())
        counts["rating"] = 0 if self.ratings is None else len(self.ratings)
        return (
            {}
            if self.orders is None and self.ratings is None
            else {name: n for name, n in counts.items() if n}
        )

    @property
    def compared(self) -> Positions:
        """Positions of the items that answers are about."""
        parts = [self.pairs.ravel()]
        parts += [] if self.orders is None else [self.orders.members[self.orders.members != NONE]]
        parts += [] if self.ratings is None else [self.ratings.items]
        return np.unique(np.concatenate(parts))

    @property
    def is_decided(self) -> bool:
        """Whether some answer is about a pair, or says of two items which is better."""
        # A tie counts half for each of the two, which the smallest of numbers has none of.
        if (self.weights / 2 > 0).any():
            return True
        if self.orders is not None and len(self.orders):
            real = self.orders.members != NONE
            lowest = np.minimum.reduceat(np.where(real, self.orders.tiers, len(real)), self.orders.starts)
            highest = np.maximum.reduceat(np.where(real, self.orders.tiers, -1), self.orders.starts)
            if ((lowest < highest) & (self.orders.weights > 0)).any():
                return True
        if self.ratings is None:
            return False
        used = self.ratings.weights > 0
        told = np.unique(np.column_stack([self.ratings.people[used], self.ratings.levels[used]]), axis=0)
        return len(np.unique(told[:, 0])) < len(told)

    @property
    def answer_weights(self) -> FloatArray:
        """(n,) what each answer counts for, whatever its shape."""
        return np.concatenate([part.weights for part in self._parts()])

    @property
    def answer_users(self) -> Names | None:
        """(n,) who gave each answer, whatever its shape; None where somebody is not named."""
        users = [part.users for part in self._parts() if len(part.weights)]
        known = [one for one in users if one is not None]
        return np.concatenate(known) if known and len(known) == len(users) else None

    @property
    def n_choices(self) -> int:
        """How many single choices the answers are made of: one of ten ranked items is nine."""
        orders = 0 if self.orders is None else int((self.orders.sizes[self.orders.weights > 0] - 1).sum())
        rated = 0 if self.ratings is None else int((self.ratings.weights > 0).sum())
        return int((self.weights > 0).sum()) + orders + rated

    def _parts(self) -> list[Any]:
        return [self, *(part for part in (self.orders, self.ratings) if part is not None)]

    def _wins(self) -> tuple[Positions, Positions, FloatArray]:
        """Winners, losers and weights of answers about pairs; a tie is two halves, the reverse ones last."""
        used = self.weights > 0
        pairs, y, weights = self.pairs, self.y, self.weights
        if not used.all():
            pairs, y, weights = pairs[used], y[used], weights[used]
        lost, tied = y < 0, y == 0
        # Positions where the first or the second of the pair is, which is faster than swapping rows.
        first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        winners, losers = np.where(lost, second, first), np.where(lost, first, second)
        if not tied.any():
            return winners, losers, weights.copy()
        winners = np.concatenate([winners, second[tied]])
        losers = np.concatenate([losers, first[tied]])
        return winners, losers, np.concatenate([np.where(tied, weights / 2, weights), weights[tied] / 2])

    def oriented(self) -> tuple[Positions, Positions, FloatArray]:
        """Return the answers winner first; those of weight zero are dropped.

        A tie (i, j) of weight w counts as (i, j) and (j, i) with w / 2 each; the reverse rows come last. Of
        choices, rankings and ratings, what they say of every two items follows, as if each were an answer.

        Returns
        -------
        winners, losers : (m,) positions
        weights : (m,) positive floats

        Examples
        --------
        >>> from coombs import Comparisons
        >>> data = Comparisons([[0.0], [1.0], [2.0]], [[0, 1], [1, 2]], y=[-1, 0])
        >>> [part.tolist() for part in data.oriented()]
        [[1, 1, 2], [0, 2, 1], [1.0, 0.5, 0.5]]
        """
        parts = [self._wins()]
        for part in (self.orders, self.ratings):
            if part is not None:
                winners, losers, of = part.in_pairs()
                some = part.weights[of] > 0
                parts.append((winners[some], losers[some], part.weights[of][some]))
        if len(parts) == 1:
            return parts[0]
        winners, losers, mass = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return winners, losers, mass

    def collected(self, items: FloatArray, levels: Levels = NO_LEVELS, *, in_pairs: bool = False) -> Answers:
        """Return what is learned from: distinct answers about scaled items, each shape with its likelihood.

        Where some pairs are tied, who wins does so against a head start of the other (Rao and Kupper).

        Parameters
        ----------
        items : (n_items, k) features, scaled
        levels : which of them are levels of categories
        in_pairs : whether every two items of a choice, ranking or rating count as an answer of their own

        Returns
        -------
        Answers

        Examples
        --------
        >>> from coombs import Comparisons
        >>> data = Comparisons.from_rankings([[0.0], [1.0], [2.0]], [[2, 0, 1]])
        >>> len(data.collected(data.items).winners), len(data.collected(data.items, in_pairs=True).winners)
        (2, 3)
        """
        tied = (self.y == 0) & (self.weights > 0)
        if in_pairs or (self.orders is None and self.ratings is None and not tied.any()):
            winners, losers, weights = self.oriented()
            if not len(winners):
                raise InputError("No answer says of two items which is better; at least one must.")
            return Answers.collect(items, winners, losers, weights, levels=levels)
        compiled = self._events()
        sets = compiled.sets if compiled.sets.n_rows else None
        return Answers.collect(items, *compiled[:3], sets, levels)

    def _events(self) -> Events:
        """The answers as answers about two rows."""
        one, other = np.where(self.y[:, None] < 0, self.pairs[:, ::-1], self.pairs).T
        used, tied = self.weights > 0, self.y == 0
        pairs, ties = ((one[rows], other[rows], self.weights[rows]) for rows in (used & ~tied, used & tied))
        return events(pairs, ties, self.orders, self.ratings, len(self.items))

    def _several(self) -> list[tuple[Any, ...]]:
        """Answers about several things, and ratings, as plain values."""
        found: list[tuple[Any, ...]] = []
        if self.orders is not None:
            users = naming.texts(self.orders.users) or [""] * len(self.orders)
            for k, (shape, weight) in enumerate(zip(self.orders.shapes, self.orders.weights, strict=True)):
                tiers = tuple(tuple(sorted(tier)) for tier in self.orders.tiers_of(k))
                found.append((int(shape), tiers, float(weight), users[k]))
        if self.ratings is not None:
            rated = self.ratings
            columns = rated.items.tolist(), rated.values[rated.levels].tolist(), rated.weights.tolist()
            found += zip(*columns, naming.texts(rated.users) or [""] * len(rated), strict=True)
        return found
