"""What a storage checks before it keeps something, and the errors it raises."""

from __future__ import annotations

import json
import math
from numbers import Integral, Real
from typing import Any

from coombs.data import naming
from coombs.data.tables import LARGEST_WEIGHT, InputError, weight_rule
from coombs.storage.records import CHOICES, AnswerRecord, Choice


class UnknownStudyError(InputError):
    """There is no study, respondent or question of that name or number.

    Examples
    --------
    >>> from coombs import load_study
    >>> try:
    ...     load_study("flats", storage="memory:")
    ... except UnknownStudyError as error:
    ...     print(error)
    There is no study named 'flats'.
    """


class StudyExistsError(InputError):
    """There is a study of that name already.

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0]], storage="memory:")
    >>> try:
    ...     create_study([[0.0], [1.0]], storage=study.storage, load_if_exists=False)
    ... except StudyExistsError as error:
    ...     print(error)
    There is a study named 'study' already; choose another name.
    """


class AnsweredError(InputError):
    """The question has another answer, or the answer was undone already.

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0]], storage="memory:")
    >>> question = study.ask()
    >>> _ = study.tell(question, "left")
    >>> try:
    ...     study.tell(question, "tie")
    ... except AnsweredError as error:
    ...     print(error)
    Question 1 has another answer, 'left'; undo it first.
    """


def text(value: str, what: str) -> str:
    """Text that every database can hold."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"The {what} {value!a} has half a character in it; it must be Unicode.") from None
    if "\0" in value:
        raise InputError(f"The {what} {value!r} has a zero character in it; it must have none.")
    return value


def as_json(value: Any, what: str) -> str:
    """Settings, details and numbers as JSON; floats keep every digit."""
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"The {what} cannot be kept as JSON ({error}); give what JSON can hold.") from error


def share(value: float | None, what: str) -> float | None:
    """A number from 0 to 1, or None."""
    if value is None:
        return None
    if not 0 <= value <= 1:
        raise InputError(f"The {what} is {value}; it must be from 0 to 1, or None.")
    return float(value)


def count(value: int, what: str) -> int:
    """A whole number that is not negative."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise InputError(f"The {what} is {value!r}; it must be a whole number, not negative.")
    return int(value)


def choice(value: Choice) -> Choice:
    """One of the four."""
    if not isinstance(value, str) or value not in CHOICES:
        raise InputError(f"The choice is {value!r}; it must be one of {', '.join(CHOICES)}.")
    return value


def weight(value: float) -> float:
    """How much an answer counts."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InputError(f"The weight is {value!r}; it must be a number, not negative.")
    plain = naming.as_float(value)
    if not 0 <= plain <= LARGEST_WEIGHT:
        raise InputError(f"The weight is {value if math.isfinite(plain) else plain}; {weight_rule(plain)}.")
    return plain


def check_repeat(standing: AnswerRecord, left: int, right: int, told: Choice, counts: float) -> None:
    """That an answer to a question says what its standing answer says, whichever item stood on the left."""

    def said(left: int, right: int, told: Choice) -> int | str:
        return {"left": left, "right": right}.get(told, told)

    before = said(standing.left, standing.right, standing.choice), standing.weight
    if before != (said(left, right, told), counts):
        raise AnsweredError(
            "Question {number} has another answer, {choice}; undo it first.",
            number=standing.question_id,
            choice=repr(standing.choice),
        )
