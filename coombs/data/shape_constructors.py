"""How `Comparisons` are made of choices, best and worst, rankings, ratings and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from coombs.data import checking, naming, tables, user_columns
from coombs.data.catalogue import item_table
from coombs.data.orders import BEST_WORST, CHOICE, NONE, RANKING, SHAPES, Orders, Ratings
from coombs.data.tables import FloatArray, InputError, ItemTable, Names, TableLike, Where
from coombs.language import Translatable

Column: TypeAlias = ArrayLike | None
Tiers: TypeAlias = list[list[Any]]

NONE_WORDS = {"none", "none of these", "neither"}
"""What says that nothing was chosen, unless one of the things is called so."""


class ShapeConstructors:
    """The class methods of `Comparisons` that make one of answers that are not about pairs."""

    __slots__ = ()

    def _store(self, *values: Any) -> None:
        """Set every field, in their order."""
        raise NotImplementedError

    @classmethod
    def _of(cls, *values: Any) -> Self:
        """Comparisons out of checked values, one for each field."""
        data = cls.__new__(cls)
        data._store(*values)
        return data

    @classmethod
    def _joined(cls, parts: list[Self]) -> Self:
        """All answers of parts about the same items."""
        raise NotImplementedError

    @classmethod
    def from_choices(
        cls,
        items: TableLike,
        options: Sequence[Any],
        chosen: Sequence[Any],
        users: Column = None,
        weights: Column = None,
    ) -> Self:
        """Return answers that each chose one out of several things.

        The probability of a choice is Luce's: as much as its worth among that of all options.

        Parameters
        ----------
        items : table of items, as for `Comparisons`
        options : for each answer the items there were to choose from, by name or position; at least two
        chosen : for each answer the one that was chosen, or None for none of these; if that was chosen at
            least once, it is taken for offered every time
        users, weights : as for `Comparisons`

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> from coombs import Comparisons
        >>> Comparisons.from_choices([[0.0], [1.0], [2.0]], [[0, 1, 2], [1, 2]], [2, None])
        Comparisons(2 answers about 3 items with 1 feature: 2 choices)
        """
        table = checking.two_items(item_table(items))
        sets, chosen = _lists(options, "options"), tables.as_list(chosen, "chosen")
        _same_length(sets, chosen, "chosen", "sets of options")
        answers = [_choice(given, one, i) for i, (given, one) in enumerate(zip(sets, chosen, strict=True))]
        return cls._of_orders(table, answers, CHOICE, users, weights)

    @classmethod
    def from_best_worst(
        cls,
        items: TableLike,
        options: Sequence[Any],
        best: Sequence[Any],
        worst: Sequence[Any],
        users: Column = None,
        weights: Column = None,
    ) -> Self:
        """Return answers that each named the best and the worst of several things.

        The best is chosen first, then the worst of the rest (sequential best-worst scaling).

        Parameters
        ----------
        items : table of items, as for `Comparisons`
        options : for each answer the items that were shown, by name or position; at least two
        best, worst : for each answer which of them was best, and which worst
        users, weights : as for `Comparisons`

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> from coombs import Comparisons
        >>> Comparisons.from_best_worst([[0.0], [1.0], [2.0]], [[0, 1, 2]], best=[2], worst=[0])
        Comparisons(1 answer about 3 items with 1 feature: 1 best-worst choice)
        """
        table = checking.two_items(item_table(items))
        sets, best, worst = (
            _lists(options, "options"),
            tables.as_list(best, "best"),
            tables.as_list(worst, "worst"),
        )
        _same_length(sets, best, "best", "sets of options")
        _same_length(sets, worst, "worst", "sets of options")
        answers = []
        for i, (given, first, last) in enumerate(zip(sets, best, worst, strict=True)):
            keys = list(map(_key, given))
            for what, one in (("best", first), ("worst", last)):
                if _key(one) not in keys:
                    raise InputError(f"The {what} of answer {i} is {one!r}; it must be one of its options.")
            if _key(first) == _key(last):
                raise InputError(f"In answer {i} {first!r} is both best and worst; the two must differ.")
            ends = [keys.index(_key(one)) for one in (first, last)]
            rest = [one for k, one in enumerate(given) if k not in ends]
            answers.append([[given[ends[0]]], *([rest] if rest else []), [given[ends[1]]]])
        return cls._of_orders(table, answers, BEST_WORST, users, weights)

    @classmethod
    def from_rankings(
        cls,
        items: TableLike,
        rankings: Sequence[Any],
        users: Column = None,
        weights: Column = None,
        among: Sequence[Any] | None = None,
    ) -> Self:
        """Return answers that each put several things in order.

        A ranking is one choice after the other (Plackett and Luce): one of ten items is nine choices, and
        not 45 answers about pairs.

        Parameters
        ----------
        items : table of items, as for `Comparisons`
        rankings : for each answer the items by name or position, the best first; a list in the place of an
            item holds items that are tied. Items may be left out
        users, weights : as for `Comparisons`
        among : for each answer all the items there were; those that are not ranked are below the others

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> from coombs import Comparisons
        >>> Comparisons.from_rankings([[0.0], [1.0], [2.0]], [[2, 0, 1], [0, [1, 2]]])
        Comparisons(2 answers about 3 items with 1 feature: 2 rankings)
        """
        table = checking.two_items(item_table(items))
        answers = [[_tier(place) for place in ranking] for ranking in _lists(rankings, "rankings")]
        shape = RANKING
        if among is not None:
            sets = _lists(among, "among")
            _same_length(answers, sets, "among", "rankings")
            shape = CHOICE
            for i, (tiers, given) in enumerate(zip(answers, sets, strict=True)):
                ranked = {_key(one) for tier in tiers for one in tier}
                rest = [one for one in given if _key(one) not in ranked]
                if len(rest) + len(ranked) != len(given):
                    raise InputError(f"Ranking {i} has an item that is not in its `among`.")
                tiers += [rest] if rest else []
        return cls._of_orders(table, answers, shape, users, weights)

    @classmethod
    def from_ratings(
        cls,
        items: TableLike,
        rated: ArrayLike,
        ratings: ArrayLike,
        users: Column = None,
        weights: Column = None,
        higher_is_better: bool = True,
    ) -> Self:
        """Return ratings of items, a row a rating.

        Everybody has thresholds of their own between the levels of the scale, so that a strict and a mild
        judge may want the same; of more than 25 people, those of about the same mean share theirs. More
        than ten different ratings are taken for five levels, with about as many ratings in each.

        Parameters
        ----------
        items : table of items, as for `Comparisons`
        rated : (n,) names or positions of the items
        ratings : (n,) numbers; a missing one is left out
        users, weights : as for `Comparisons`
        higher_is_better : False where a low rating is a good one

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> from coombs import Comparisons
        >>> Comparisons.from_ratings([[0.0], [1.0], [2.0]], [0, 1, 2], [5, 3, 4])
        Comparisons(3 answers about 3 items with 1 feature: 3 ratings)
        """
        table = checking.two_items(item_table(items))
        things = checking.flat(rated, "rated items", exact=True)
        n = len(things)
        values = tables.numbers(checking.flat(ratings, "ratings", n, "rated items"), "Rating", tables.row)
        return cls._of_ratings(
            table, things, values if higher_is_better else -values, users, weights, tables.row
        )

    @classmethod
    def from_probabilities(
        cls,
        items: TableLike,
        pairs: TableLike,
        p: ArrayLike,
        users: Column = None,
        weights: Column = None,
    ) -> Self:
        """Return answers that say how likely the first of each pair is preferred (soft labels).

        Parameters
        ----------
        items, pairs : as for `Comparisons`
        p : (n,) numbers from 0 to 1; 1 is an answer for the first, 0 for the second
        users, weights : as for `Comparisons`

        Returns
        -------
        Comparisons of twice as many answers: for the first with weight p, for the second with 1 - p

        Examples
        --------
        >>> from coombs import Comparisons
        >>> data = Comparisons.from_probabilities([[0.0], [1.0]], [[0, 1]], [0.75])
        >>> data.y.tolist(), data.weights.tolist()
        ([1, -1], [0.75, 0.25])
        """
        table = checking.two_items(item_table(items))
        rows = tables.as_array(tables.winner_first(pairs), "pairs", exact=True)
        found = checking.pairs(table, rows, tables.row)
        _, _, mass, people = checking.answers(found, None, users, weights, tables.row)
        share = probabilities(checking.flat(p, "p", len(found)), tables.row)
        return cls._of(*table, *soft(found, share, mass, people))

    @classmethod
    def _of_orders(
        cls,
        table: ItemTable,
        answers: list[Tiers],
        shape: int | list[int],
        users: Column,
        weights: Column,
        where: Where = lambda i: f"answer {i}",
    ) -> Self:
        """Of tiers of names or positions, None being none of these."""
        flat = [one for tiers in answers for tier in tiers for one in tier]
        owner = np.repeat(np.arange(len(answers)), [sum(map(len, tiers)) for tiers in answers])
        if not answers:
            raise InputError("There are no answers; at least one is needed.")
        missing = np.array([one is None for one in flat], dtype=bool)
        called = tables.as_array([one for one in flat if one is not None], "items", exact=True)
        real = np.flatnonzero(~missing)
        members = np.full(len(flat), NONE, dtype=np.intp)
        members[real] = tables.positions(table, called, lambda i: where(int(owner[real[i]])))
        tiers = np.array([t for one in answers for t, tier in enumerate(one) for _ in tier], dtype=np.intp)
        sizes = np.bincount(owner, minlength=len(answers))
        _check_sets(table, members, owner, sizes, where)
        people, mass = of_people(users, weights, len(answers), where)
        starts = np.cumsum(sizes) - sizes
        shapes = np.broadcast_to(np.array(shape, dtype=np.intp), len(answers)).copy()
        orders = Orders(members, tiers, starts, shapes, mass, people)
        return cls._of(*table, *no_pairs(), orders)

    @classmethod
    def _of_ratings(
        cls,
        table: ItemTable,
        things: Any,
        values: FloatArray,
        users: Column,
        weights: Column,
        where: Where,
        is_scale: bool = False,
    ) -> Self:
        """Of names or positions, and ratings of which more is better; whatever they are, if `is_scale`."""
        people, mass = of_people(users, weights, len(values), where)
        known = np.isfinite(values)
        if np.isinf(values).any():
            raise InputError(
                f"Rating of {where(int(np.isinf(values).argmax()))} is infinite; it must be finite."
            )
        if not known.any():
            raise InputError("No rating is known; at least two are needed, that differ.")
        if len(np.unique(values[known])) < 2 and not is_scale:
            raise InputError(
                Translatable("All ratings are the same; they must differ to say what is better.")
            )
        rows = np.flatnonzero(known)
        positions = tables.positions(table, things[rows], lambda i: where(int(rows[i])))
        values, mass = values[rows], mass[rows]
        people = None if people is None else people[rows]
        scale, levels = np.unique(values, return_inverse=True)
        return cls._of(*table, *no_pairs(), None, Ratings(positions, levels, scale, mass, people))


def no_pairs() -> checking.Checked:
    """The fields of answers about pairs where there are none."""
    return np.zeros((0, 2), dtype=np.intp), np.zeros(0, dtype=np.int8), np.zeros(0), None


def probabilities(values: Any, where: Where) -> FloatArray:
    """Numbers from 0 to 1."""
    share = tables.numbers(values, "p", where)
    wrong = ~((share >= 0) & (share <= 1))
    if wrong.any():
        i = int(wrong.argmax())
        given = "missing" if np.isnan(share[i]) else f"{share[i]:g}"
        raise InputError(f"p of {where(i)} is {given}; it must be a number from 0 to 1.")
    return share


def soft(pairs: Any, share: FloatArray, mass: FloatArray, people: Names | None) -> checking.Checked:
    """Answers for the first of each pair with their share of the weight, and for the second with the rest."""
    signs = np.tile(np.array([1, -1], dtype=np.int8), len(pairs))
    weights = (np.column_stack([share, 1 - share]) * mass[:, None]).ravel()
    return np.repeat(pairs, 2, axis=0), signs, weights, None if people is None else np.repeat(people, 2)


def of_people(users: Column, weights: Column, n: int, where: Where) -> tuple[Names | None, FloatArray]:
    """Who gave each of n answers, and what it counts for, checked."""
    mass = np.ones(n)
    if weights is not None:
        mass = checking.positive_weights(checking.flat(weights, "weights", n, "answers"), where)
    if users is None:
        return None, mass
    given = checking.flat(users, "users", n, "answers", exact=True)
    return user_columns.user_labels(given, where), mass


def _choice(given: list[Any], one: Any, i: int) -> Tiers:
    """Tiers of a choice; None, and a word for it, are none of these."""
    keys = [_key(option) for option in given]
    if one is None or (isinstance(one, str) and one.strip().lower() in NONE_WORDS and _key(one) not in keys):
        return [[None], given]
    if _key(one) not in keys:
        raise InputError(f"The choice of answer {i} is {one!r}; it must be one of its options, or None.")
    at = keys.index(_key(one))
    rest = [*given[:at], *given[at + 1 :]]
    return [[given[at]], rest] if rest else [[given[at]]]


def without(given: list[Any], *taken: Any) -> list[Any]:
    """The options but for some, each taken once: what is there twice stays, and is refused later."""
    rest = list(given)
    for one in taken:
        rest.remove(one)
    return rest


def _tier(place: Any) -> list[Any]:
    """What shares a place of a ranking."""
    if isinstance(place, np.ndarray) and place.ndim == 0:
        return [place.item()]
    return list(place) if isinstance(place, list | tuple | set | frozenset | np.ndarray) else [place]


def _key(one: Any) -> str:
    return naming.text(one)


def _lists(values: Any, what: str) -> list[list[Any]]:
    """Several values for each answer."""
    return [
        tables.as_list(one, f"{what} of answer {i}") for i, one in enumerate(tables.as_list(values, what))
    ]


def _same_length(one: Sequence[Any], other: Sequence[Any], what: str, whose: str) -> None:
    if len(one) != len(other):
        raise InputError(f"There are {len(other)} {what} for {len(one)} {whose}; the numbers must be equal.")


def _check_sets(table: ItemTable, members: Any, owner: Any, sizes: Any, where: Where) -> None:
    """Refuse an answer about fewer than two things, or about one thing twice."""
    if (sizes < 2).any():
        i = int((sizes < 2).argmax())
        raise InputError(
            "In {place} there is {n} item; an answer needs two or more."
            "|In {place} there is {n} items; an answer needs two or more.",
            place=where(i),
            n=int(sizes[i]),
        )
    codes = owner * (len(table.matrix) + 1) + members + 1
    distinct, counts = np.unique(codes, return_counts=True)
    if (counts > 1).any():
        code = int(distinct[counts.argmax()])
        k, member = divmod(code, len(table.matrix) + 1)
        name = table.where(member - 1) if member else "none of these"
        raise InputError("In {place} {name} comes twice; once is right.", place=where(k), name=name)


def calling(table: ItemTable, texts: Any) -> Any:
    """What calls items in a table of answers: names, or positions as numbers where there are none."""
    if table.names is not None or not all(map(str.isdecimal, texts)):
        return texts
    return np.array([int(text) for text in texts])


def names_of(table: ItemTable, tier: list[Any], shape: str) -> list[Any]:
    """Names of things that share a place; in a choice, None and words for it that name no item are None."""
    if shape == SHAPES[CHOICE]:
        tier = [None if _is_none(table, one) else one for one in tier]
    if table.names is not None:
        return tier
    return [int(one) if isinstance(one, str) and one.isdecimal() else one for one in tier]


def _is_none(table: ItemTable, one: Any) -> bool:
    """Whether an option is none of these."""
    return one is None or (one.lower() in NONE_WORDS and one not in table.texts)
