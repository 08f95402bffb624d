"""What every storage checks, and the sentences it refuses with, so that all say the same."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from numbers import Real
from typing import Any

from coombs.data.tables import LARGEST_WEIGHT, InputError, weight_rule
from coombs.storage.contract import AnsweredError, StudyExistsError, UnknownStudyError
from coombs.storage.records import CHOICES, AnswerRecord, Choice, QuestionRecord, now


def moment(at: datetime | None) -> datetime:
    """When something happened, in UTC."""
    if at is None:
        return now()
    if at.tzinfo is None:
        raise InputError(f"The time {at.isoformat()} has no time zone; it must have one, such as UTC.")
    return at.astimezone(UTC)


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


def probability(foretold: float | None) -> float | None:
    """A number from 0 to 1, or None."""
    if foretold is None:
        return None
    if not 0 <= foretold <= 1:
        raise InputError(f"The probability foretold is {foretold}; it must be from 0 to 1, or None.")
    return float(foretold)


def progress(share: float | None) -> float | None:
    """A number from 0 to 1, or None."""
    if share is None:
        return None
    if not 0 <= share <= 1:
        raise InputError(f"The progress is {share}; it must be from 0 to 1, or None.")
    return float(share)


def choice(value: Choice) -> Choice:
    """One of the four."""
    if not isinstance(value, str) or value not in CHOICES:
        raise InputError(f"The choice is {value!r}; it must be one of {', '.join(CHOICES)}.")
    return value


def weight(value: float) -> float:
    """How much an answer counts."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InputError(f"The weight is {value!r}; it must be a number, not negative.")
    try:
        plain = float(value)
    except OverflowError:
        plain = math.inf
    if not 0 <= plain <= LARGEST_WEIGHT:
        raise InputError(f"The weight is {value if math.isfinite(plain) else plain}; {weight_rule(plain)}.")
    return plain


def check_topic(question: QuestionRecord, left: int, right: int) -> None:
    """That an answer is about its question's items, either way around."""
    if {left, right} != {question.left, question.right}:
        raise UnknownStudyError(
            f"Question {question.id} is about the items {question.left} and {question.right}, "
            f"not {left} and {right}."
        )


def check_repeat(standing: AnswerRecord, left: int, right: int, told: Choice, counts: float) -> None:
    """That an answer to a question says what its standing answer says."""
    before = _said(standing.left, standing.right, standing.choice), standing.weight
    if before != (_said(left, right, told), counts):
        raise AnsweredError(
            f"Question {standing.question_id} has another answer, {standing.choice!r}; undo it first."
        )


def _said(left: int, right: int, told: str) -> int | str:
    """The item chosen, or tie or skip."""
    return {"left": left, "right": right}.get(told, told)


def study_exists(name: str) -> StudyExistsError:
    """The error for a name that is taken."""
    return StudyExistsError(f"There is a study named {name!r} already; choose another name.")


def no_study(name: str) -> UnknownStudyError:
    """The error for a name that no study has."""
    return UnknownStudyError(f"There is no study named {name!r}.")


def no_study_id(study_id: int) -> UnknownStudyError:
    """The error for a number that no study has."""
    return UnknownStudyError(f"There is no study with the id {study_id}.")


def no_respondent(respondent_id: int) -> UnknownStudyError:
    """The error for a number that no respondent has."""
    return UnknownStudyError(f"There is no respondent with the id {respondent_id}.")


def no_token() -> UnknownStudyError:
    """The error for a token, which is not shown, that no respondent has."""
    return UnknownStudyError("This link is nobody's; ask whoever made the study for a new one.")


def no_question(respondent_id: int, question_id: int) -> UnknownStudyError:
    """The error for an answer to what is not the respondent's question."""
    return UnknownStudyError(f"Respondent {respondent_id} was asked no question {question_id}.")


def no_items(left: int, right: int) -> InputError:
    """The error for a pair that is not two items of the study."""
    return InputError(f"{left} and {right} are not two items of the study; give two different positions.")


def no_answer(respondent_id: int, answer_id: int) -> UnknownStudyError:
    """The error for an undo of what is not the respondent's answer."""
    return UnknownStudyError(f"Respondent {respondent_id} gave no answer {answer_id}.")


def undone(answer_id: int) -> AnsweredError:
    """The error for a second undo."""
    return AnsweredError(f"Answer {answer_id} was undone already; an answer is undone once.")


def token_taken() -> InputError:
    """The error for a token, which is a secret and not shown, that another respondent has."""
    return InputError("Another respondent has this token; every respondent needs a token of their own.")
