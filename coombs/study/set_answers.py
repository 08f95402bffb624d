"""What is said of the items of a question: one of two, or the best and the worst of a set."""

from __future__ import annotations

from numbers import Integral
from typing import Any, TypeAlias, cast

from coombs.data import naming
from coombs.data.catalogue import Catalogue
from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.storage import Storage
from coombs.storage.judgement import Judgement
from coombs.storage.records import AnyAnswer, Choice, JudgementRecord

BEST_WORST = "best-worst"
"""The shape of the answer to a question about a set."""
SKIP: Choice = "skip"
"""What is said of a set that is passed over."""
Said: TypeAlias = Choice | Judgement
"""What is said of a question: of a pair a choice; of a set its best and worst, or that it is skipped."""


def said_of_pair(number: int | None, choice: str | None, best: Any, worst: Any) -> Choice:
    """What is said of a pair: without a question, by default that the first is preferred."""
    if best is not None or worst is not None:
        raise InputError("A pair has no best and worst; say left, right, tie or skip.")
    if choice is None and number is not None:
        raise InputError("Question {number} has no choice; say left, right, tie or skip.", number=number)
    return cast("Choice", "left" if choice is None else choice)


def said_of_set(
    catalogue: Catalogue,
    number: int | None,
    items: tuple[int, ...],
    choice: str | None,
    ends: tuple[Any, Any],
) -> Said:
    """The best and the worst of a set, or that it is skipped, which takes a question."""
    if choice == SKIP and ends == (None, None) and number is not None:
        return SKIP
    if choice is not None or None in ends:
        raise InputError(Translatable("This is about a set of items; give its best and worst, or say skip."))
    best, worst = (_member(catalogue, one, items) for one in ends)
    if best == worst:
        raise InputError(
            "{item} cannot be both the best and the worst; give two different items.", item=repr(ends[0])
        )
    rest = tuple(one for one in items if one not in (best, worst))
    return Judgement(BEST_WORST, ((best,), rest, (worst,)) if rest else ((best,), (worst,)))


def is_said_by(record: AnyAnswer, said: Said) -> bool:
    """Whether a stored answer about the same items says just that."""
    if not isinstance(said, Judgement):
        return record.choice == said
    if not isinstance(record, JudgementRecord):
        return False
    places = record.judgement.places
    return (places[0], places[-1]) == (said.places[0], said.places[-1])


def store_said(
    storage: Storage, person: int, items: tuple[int, ...], said: Said, *, question: int | None, weight: float
) -> AnyAnswer:
    """Keep what is said, in the row that fits it."""
    if isinstance(said, Judgement):
        return storage.add_judgement(person, said, question_id=question, weight=weight)
    if len(items) > 2:
        assert question is not None
        return storage.add_skip(person, question, weight=weight)
    left, right = items
    return storage.add_answer(person, left, right, said, question_id=question, weight=weight)


def _member(catalogue: Catalogue, item: Any, items: tuple[int, ...]) -> int:
    """The position of an item of a set, by its name or, where none is called so, by its position."""
    names = [naming.text(catalogue.labels[one]) for one in items]
    if (name := naming.text(item)) in names:
        return items[names.index(name)]
    is_position = isinstance(item, Integral) and not catalogue.table.number_names
    if is_position and int(item) in items:
        return int(item)
    raise InputError(f"{item!r} is none of the items of the question; it must be one of {', '.join(names)}.")
