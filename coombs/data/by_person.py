"""Answers by person: who gave each, and what answers of every shape say of two items."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coombs.data import naming, tables
from coombs.data.orders import CHOICE
from coombs.data.tables import InputError
from coombs.data.user_columns import refuse_blank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.checking import Positions
    from coombs.data.comparisons import Comparisons
    from coombs.data.tables import FloatArray, Names

SHOWN = 3
"""Names that a warning shows."""
CLOSE = 4
"""Times as many numbers as answers that users may span, if they are whole numbers, to be found by a table."""
RATING_WORTH = 1.0
"""Pairs that a rating beyond somebody's first tells as much as."""


class PersonAnswers(NamedTuple):
    """Winners, losers and weights of answers about two items, whose each is, and what people are called."""

    winners: Positions
    losers: Positions
    weights: FloatArray
    people: NDArray[np.intp]
    names: Names


def answers_by_person(data: Comparisons) -> PersonAnswers:
    """All answers, those about several things as pairs that together tell no more than the answer does.

    People are in the order of their first answer.
    """
    users = data.answer_users
    if users is None:
        raise InputError("The answers do not say who gave them; give users=, a label for each answer.")
    people, names = people_of(users)
    rows, tied = np.flatnonzero(data.weights > 0), (data.y == 0) & (data.weights > 0)
    winners, losers, weights = data._wins()
    whose = [people[np.concatenate([rows, np.flatnonzero(tied)])]]
    parts, first = [(winners, losers, weights)], len(data.pairs)
    for part, worth in ((data.orders, _worth_of_orders), (data.ratings, _worth_of_ratings)):
        if part is None:
            continue
        won, lost, of = part.in_pairs()
        mass = worth(part, of)
        some = np.flatnonzero(mass > 0)
        parts.append((won[some], lost[some], mass[some]))
        whose.append(people[first + of[some]])
        first += len(part)
    winners, losers, weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    if not len(winners):
        raise InputError("No answer says of two items which is better; at least one must.")
    return PersonAnswers(winners, losers, weights, np.concatenate(whose), names)


def people_of(users: Names) -> tuple[NDArray[np.intp], Names]:
    """(n,) positions of people, in the order of their first answer, and what they are called."""
    if users.dtype.kind in "iu":
        if len(users) and int(users.max()) - int(users.min()) <= CLOSE * len(users):
            return _people_by_number(users)
        values, first, place = np.unique(users, return_index=True, return_inverse=True)
        order = np.argsort(first)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return back[place], values[order]
    known: dict[str, int] = {}
    found = np.array([known.setdefault(naming.text(user), len(known)) for user in users], dtype=np.intp)
    if blank := [place for text, place in known.items() if not text.strip()]:
        refuse_blank(np.isin(found, blank), tables.row)
    _, first = np.unique(found, return_index=True)
    warn_of_names(users, found, list(known))
    return found, users[first]


def _people_by_number(users: Names) -> tuple[NDArray[np.intp], Names]:
    """`people_of` for whole numbers that lie close together: by a table of all of them, without sorting."""
    codes = users.astype(np.intp) - int(users.min())
    first = np.full(int(codes.max()) + 1, -1)
    # The last to be written is the first row with that number.
    first[codes[::-1]] = np.arange(len(users) - 1, -1, -1)
    rows = np.sort(first[first >= 0])
    place = np.empty(len(first), dtype=np.intp)
    place[codes[rows]] = np.arange(len(rows))
    return place[codes], users[rows]


def warn_of_names(users: Names, people: NDArray[np.intp], texts: list[str]) -> None:
    """Say where one person may have two names, or two people one."""
    _warn_of_twins(texts)
    _warn_of_types(users, people, texts)


def _warn_of_twins(texts: list[str]) -> None:
    """Say which names differ only by case or spaces: one person may have two."""
    seen: dict[str, str] = {}
    twins = []
    for text in texts:
        key = " ".join(text.split()).casefold()
        if key in seen:
            twins.append((seen[key], text))
        seen.setdefault(key, text)
    if twins:
        shown = ", ".join(f"{one!r} and {other!r}" for one, other in twins[:SHOWN])
        more = f" and {len(twins) - SHOWN} more" if len(twins) > SHOWN else ""
        warnings.warn(
            f"Users differ only by case or spaces: {shown}{more}; they are taken for different people.",
            UserWarning,
            stacklevel=5,
        )


def _warn_of_types(users: Names, people: NDArray[np.intp], texts: list[str]) -> None:
    """Say who is called by text here and by a number, or a date, there: it is one person."""
    if len({issubclass(kind, str) for kind in set(map(type, users))}) < 2:
        return
    is_text = np.array([isinstance(user, str) for user in users])
    both = np.intersect1d(people[is_text], people[~is_text])
    if len(both):
        shown = ", ".join(texts[place] for place in both[:SHOWN]) + (", ..." if len(both) > SHOWN else "")
        warnings.warn(
            f"Users are text here and numbers or dates there ({shown}); those that read alike are taken for "
            "one person.",
            UserWarning,
            stacklevel=5,
        )


def _worth_of_orders(orders: Any, of: NDArray[np.intp]) -> FloatArray:
    """The weight of each pair of a choice or ranking, so that all tell as much as the answer does.

    By the trace of the scores' information where all are alike: a pair has 1/2, a choice of k (k - 1) / k.
    """
    counts = np.bincount(of, minlength=len(orders))
    sizes = orders.sizes
    tells = np.where(orders.shapes == CHOICE, (sizes - 1) / sizes, 0.0)
    steps = np.array([sum((k - 1) / k for k in range(2, size + 1)) for size in sizes.tolist()])
    tells = np.where(orders.shapes == CHOICE, tells, np.minimum(steps, counts / 2))
    each = np.minimum(2 * tells / np.maximum(counts, 1), 1.0)
    result: FloatArray = (orders.weights * each)[of]
    return result


def _worth_of_ratings(ratings: Any, of: NDArray[np.intp]) -> FloatArray:
    """The weight of each two ratings of one person: n of them tell about as much as n - 1 pairs."""
    people = ratings.people
    counts = np.bincount(people)
    pairs = np.bincount(people[of], minlength=len(counts))
    each = np.minimum(RATING_WORTH * (counts - 1) / np.maximum(pairs, 1), 1.0)
    result: FloatArray = ratings.weights[of] * each[people[of]]
    return result
