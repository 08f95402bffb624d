"""Answers of any shape in a study: out of `Comparisons`, into them again, and for the online model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from coombs.data import naming, tables
from coombs.data.comparisons import Comparisons
from coombs.data.orders import NONE, RANKING, SHAPES, Orders, Ratings, events
from coombs.data.shape_constructors import no_pairs
from coombs.data.tables import InputError, ItemTable
from coombs.inference.belief import AnswerRows
from coombs.progress import ProgressBar
from coombs.storage.judgement import RATING, Judgement
from coombs.storage.records import AnswerRecord, AnyAnswer, Choice, JudgementRecord, new_token
from coombs.study.history import History

if TYPE_CHECKING:
    from coombs.data.graph import Vector
    from coombs.study.study import Study

_SIGNS = {"left": 1, "right": -1, "tie": 0}
"""What a choice between two is in `Comparisons`."""
_CHOICES = {sign: choice for choice, sign in _SIGNS.items()}
_MIRRORED: dict[Choice, Choice] = {"left": "right", "right": "left"}
"""The same choice, the two items the other way around."""


class Pair(NamedTuple):
    """What is said of two items, by position."""

    left: int
    right: int
    choice: Choice


class Told(NamedTuple):
    """An answer to be kept: who gave it, what it says, what it counts, and when it was given, if known."""

    user: str
    said: Pair | Judgement
    weight: float
    at: datetime | None = None


def told_in(data: Comparisons, table: ItemTable, user: str) -> list[Told]:
    """The answers in `Comparisons` about a study's items; those of nobody are the user's."""
    if not isinstance(data, Comparisons):
        raise InputError(f"The answers are a {type(data).__name__}; they must be Comparisons.")
    place = _places(data, table)

    def users(part: Any, count: int) -> list[str]:
        return [user] * count if part.users is None else [naming.text(one) for one in part.users]

    told = [
        Told(who, Pair(place[i], place[j], cast("Choice", _CHOICES[y])), weight)
        for who, (i, j), y, weight in zip(
            users(data, len(data.pairs)),
            data.pairs.tolist(),
            data.y.tolist(),
            data.weights.tolist(),
            strict=True,
        )
    ]
    if (orders := data.orders) is not None:
        for k, who in enumerate(users(orders, len(orders))):
            tiers = tuple(tuple(place[one] for one in tier) for tier in orders.tiers_of(k))
            said = Judgement(SHAPES[orders.shapes[k]], tiers)
            told.append(Told(who, said, float(orders.weights[k])))
    if (rated := data.ratings) is not None:
        scale = tuple(rated.values.tolist())
        for k, who in enumerate(users(rated, len(rated))):
            said = Judgement(RATING, ((place[rated.items[k]],),), scale[rated.levels[k]], scale)
            told.append(Told(who, said, float(rated.weights[k])))
    return told


def _places(data: Comparisons, table: ItemTable) -> dict[int, int]:
    """The position in the study of every item that answers are about: by name, or else of the same table."""
    about = data.compared
    if (data.item_names is None) != (table.names is None):
        raise InputError("The answers are about other items: either both must have names for them, or none.")
    if data.item_names is None:
        if not np.array_equal(data.items, table.matrix):
            raise InputError("The answers are about other items; without names, the items must be the same.")
        found = about
    else:
        names = np.array([naming.text(data.item_names[i]) for i in about], dtype=object)
        found = tables.positions(table, names, lambda _: "the answers")
    return {NONE: NONE, **dict(zip(about.tolist(), found.tolist(), strict=True))}


def said_in(answer: AnswerRecord | JudgementRecord) -> Pair | Judgement:
    """What a stored answer says."""
    if isinstance(answer, JudgementRecord):
        return answer.judgement
    return Pair(answer.left, answer.right, answer.choice)


def same_said(told: Told) -> tuple[Any, ...]:
    """What makes two answers the same, but for the time: whichever item stood on the left, or came first in a
    place, and whatever else there is on a scale.
    """
    user, said, weight, _ = told
    if isinstance(said, Judgement):
        places = tuple(tuple(sorted(place)) for place in said.places)
        return user, said.shape, places, said.rating, weight
    left, right, choice = said
    if left > right:
        left, right, choice = right, left, _MIRRORED.get(choice, choice)
    return user, left, right, choice, weight


def keep(study: Study, told: Sequence[Told]) -> None:
    """Store answers, all of them or none."""
    storage, people = study.storage, dict[str, int]()
    with storage.batch(), ProgressBar(len(told), "answers") as bar:
        for user, said, weight, at in _on_one_scale(study, told):
            if user not in people:
                people[user] = storage.add_respondent(study.record.id, user, new_token()).id
            if isinstance(said, Pair):
                storage.add_answer(people[user], *said, weight=weight, at=at)
            else:
                storage.add_judgement(people[user], said, weight=weight, at=at)
            bar.advance()


def _on_one_scale(study: Study, told: Sequence[Told]) -> Sequence[Told]:
    """The answers, ratings on a scale of all that the study has: of two people's, one is part of the other's.

    So whatever is kept can be learned from together; ratings on another scale are refused.
    """
    new = [one.said for one in told if isinstance(one.said, Judgement) and one.said.shape == RATING]
    if not new:
        return told
    old = [
        one.judgement
        for person, count in study.storage.respondents(study.record.id)
        for one in (History.of(study.storage, person.id).answers.values() if count else ())
        if isinstance(one, JudgementRecord) and one.judgement.shape == RATING
    ]
    ratings = _ratings(new, np.ones(len(new)), None)
    if old:
        ratings = _ratings(old, np.ones(len(old)), None).joined(ratings)
    scale = tuple(ratings.values.tolist())
    return [
        one._replace(said=replace(one.said, scale=scale))
        if isinstance(one.said, Judgement) and one.said.shape == RATING
        else one
        for one in told
    ]


def comparisons_of(table: ItemTable, answers: Sequence[AnyAnswer], user: str) -> Comparisons:
    """The answers of one person, none of them a skip, each of its own shape."""

    def who(count: int) -> Any:
        return np.array([user] * count, dtype=object)

    pairs = [one for one in answers if isinstance(one, AnswerRecord)]
    several = [one for one in answers if isinstance(one, JudgementRecord)]
    checked = no_pairs()
    if pairs:
        checked = (
            np.array([(one.left, one.right) for one in pairs], dtype=np.intp),
            np.array([_SIGNS[one.choice] for one in pairs], dtype=np.int8),
            np.array([one.weight for one in pairs], dtype=float),
            who(len(pairs)),
        )
    ordered = [one for one in several if one.judgement.shape != RATING]
    rated = [one for one in several if one.judgement.shape == RATING]
    orders = Orders.of([_order(one) for one in ordered], who(len(ordered))) if ordered else None
    weights = np.array([one.weight for one in rated], dtype=float)
    ratings = _ratings([one.judgement for one in rated], weights, who(len(rated))) if rated else None
    return Comparisons.at_positions(table, *checked, orders, ratings)


def _order(record: JudgementRecord) -> tuple[int, tuple[tuple[int, ...], ...], float]:
    """Shape, tiers and weight of an answer."""
    return SHAPES.index(record.judgement.shape), record.judgement.places, record.weight


def _ratings(rated: Sequence[Judgement], weights: Vector, users: Any) -> Ratings:
    """Ratings on a scale that has all of people's ratings."""
    values = np.array(sorted({value for one in rated for value in one.scale}))
    items = np.array([one.items[0] for one in rated], dtype=np.intp)
    levels = np.searchsorted(values, [cast("float", one.rating) for one in rated])
    return Ratings(items, levels, values, weights, users)


def n_choices(answer: AnyAnswer) -> int:
    """How many single choices an answer is made of, if it counts; a tie is two halves."""
    if not answer.weight or answer.choice == "skip":
        return 0
    if isinstance(answer, JudgementRecord):
        return max(len(answer.judgement.items) - 1, 1)
    return 2 if answer.choice == "tie" else 1


def live_rows(answers: Sequence[AnyAnswer], n_items: int) -> AnswerRows:
    """What the online model learns from: a tie counts half each way, a skip or a weight of zero not at all.

    A choice, a best and worst or a ranking is one choice among rivals after the other, as in a fit: pairs of
    their items would count for more than was said. The online model has neither thresholds nor a score of
    "none of these". So ratings are pairs of items that were rated differently, which together count for as
    many answers as there are ratings; and that none was chosen says nothing, as it is about all alike.
    """
    used = [one for one in answers if one.weight]
    several = [one for one in used if isinstance(one, JudgementRecord)]
    rated = [one for one in several if one.judgement.shape == RATING]
    rows = [row for one in used if isinstance(one, AnswerRecord) for row in _wins(one)]
    rows += _rated_wins(rated) if rated else []
    orders = [_order_of_items(one) for one in several if one.judgement.shape != RATING]
    table = np.array(rows).reshape(-1, 3)
    pairs = table[:, 0].astype(np.intp), table[:, 1].astype(np.intp), table[:, 2]
    known = [one for one in orders if len(one[1]) > 1 or one[0] == RANKING]
    if not known:
        return AnswerRows(*pairs, None)
    no_ties = pairs[0][:0], pairs[1][:0], pairs[2][:0]
    found = events(pairs, no_ties, Orders.of(known), None, n_items)
    return AnswerRows(*found[:3], found.sets if found.sets.n_sets else None)


def _wins(answer: AnswerRecord) -> list[tuple[int, int, float]]:
    """Winner, loser and weight of an answer about a pair."""
    left, right, weight = answer.left, answer.right, answer.weight
    if answer.choice == "tie":
        return [(left, right, weight / 2), (right, left, weight / 2)]
    if answer.choice == "skip":
        return []
    return [(left, right, weight) if answer.choice == "left" else (right, left, weight)]


def _rated_wins(rated: Sequence[JudgementRecord]) -> list[tuple[int, int, float]]:
    """Pairs of one person's ratings that differ, which share the weight of all ratings."""
    weights = np.array([one.weight for one in rated])
    winners, losers, of = _ratings([one.judgement for one in rated], weights, None).in_pairs()
    shares = weights[of] * (len(rated) / max(len(of), 1))
    return list(zip(winners.tolist(), losers.tolist(), shares.tolist(), strict=True))


def _order_of_items(record: JudgementRecord) -> tuple[int, list[list[int]], float]:
    """Shape, tiers and weight of an answer, without "none of these"; nothing is said of what is below it."""
    shape, places, weight = _order(record)
    if NONE in places[0]:
        return shape, [], weight
    known = [[item for item in place if item != NONE] for place in places]
    return shape, [place for place in known if place], weight
