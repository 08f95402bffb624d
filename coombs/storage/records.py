"""What crosses the storage's border: frozen records, items by position, times in UTC."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from coombs.storage.judgement import Judgement

Choice: TypeAlias = Literal["left", "right", "tie", "skip"]
CHOICES: tuple[str, ...] = get_args(Choice)


def new_token() -> str:
    """What a respondent's link holds, and nobody can guess."""
    return secrets.token_urlsafe(16)


@dataclass(frozen=True)
class Item:
    """A thing to choose from.

    Parameters
    ----------
    name : what it is called
    features : numbers that are learned from
    details : whatever else a page shows of it

    Examples
    --------
    >>> from coombs.storage import Item
    >>> Item("tea", (2.5,)).details
    {}
    """

    name: str
    features: tuple[float, ...]
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyRecord:
    """A study: its items and their features never change.

    Parameters
    ----------
    id : number
    name : of the study
    feature_names : of its items
    settings : how it asks
    created : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import StudyRecord
    >>> StudyRecord(1, "pizza", ("size",), {}, datetime(2026, 1, 31, tzinfo=UTC)).name
    'pizza'
    """

    id: int
    name: str
    feature_names: tuple[str, ...]
    settings: Mapping[str, Any]
    created: datetime


@dataclass(frozen=True)
class StudySummary:
    """A study as a list shows it.

    Parameters
    ----------
    name : of the study
    created : when
    n_items, n_respondents, n_answers : how many it has

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import StudySummary
    >>> StudySummary("pizza", datetime(2026, 1, 31, tzinfo=UTC), 2, 1, 0).n_items
    2
    """

    name: str
    created: datetime
    n_items: int
    n_respondents: int
    n_answers: int


@dataclass(frozen=True)
class RespondentRecord:
    """A person who answers in a study.

    Parameters
    ----------
    id, study_id : numbers
    name : of the person
    token : what their link holds, and cannot be guessed
    created : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import RespondentRecord
    >>> RespondentRecord(1, 1, "Ann", "secret", datetime(2026, 1, 31, tzinfo=UTC)).name
    'Ann'
    """

    id: int
    study_id: int
    name: str
    token: str
    created: datetime


@dataclass(frozen=True)
class PriorRecord:
    """A version of what a study knows of anybody before their first answer; its text is read apart.

    Parameters
    ----------
    study_id : of the study
    version : from 1
    n_people, n_answers : from which it was learned
    source : "given" with the study, or learned from the "study"
    created : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import PriorRecord
    >>> PriorRecord(1, 2, 50, 1000, "study", datetime(2026, 1, 31, tzinfo=UTC)).n_people
    50
    """

    study_id: int
    version: int
    n_people: int
    n_answers: int
    source: str
    created: datetime

    SOURCES: ClassVar[tuple[str, ...]] = ("given", "study")


@dataclass(frozen=True)
class QuestionRecord:
    """Two items that a respondent was asked about, why, and what was expected.

    Parameters
    ----------
    id, respondent_id : numbers
    left, right : positions of the items
    purpose : a strategy's name, "probe", "confirmation" or "check"
    predicted : the probability of left, given the answers before it, or None
    progress : how far it was shown to be, from 0 to 1, or None
    asked : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import QuestionRecord
    >>> QuestionRecord(1, 1, 0, 1, "probe", 0.5, None, datetime(2026, 1, 31, tzinfo=UTC)).purpose
    'probe'
    """

    id: int
    respondent_id: int
    left: int
    right: int
    purpose: str
    predicted: float | None
    progress: float | None
    asked: datetime

    @property
    def positions(self) -> tuple[int, ...]:
        """Of the items, in the order in which they were shown."""
        return self.left, self.right


@dataclass(frozen=True)
class SetQuestionRecord:
    """Three or more items of which a respondent was asked for the best and the worst.

    Parameters
    ----------
    id, respondent_id : numbers
    items : positions of the items, in the order in which they were shown
    purpose : as of a `QuestionRecord`
    chances : the probability of each to be the best, given the answers before, or None
    progress : how far it was shown to be, from 0 to 1, or None
    asked : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import SetQuestionRecord
    >>> at = datetime(2026, 1, 31, tzinfo=UTC)
    >>> SetQuestionRecord(1, 1, (2, 0, 1), "probe", (0.5, 0.3, 0.2), None, at).positions
    (2, 0, 1)
    """

    id: int
    respondent_id: int
    items: tuple[int, ...]
    purpose: str
    chances: tuple[float, ...] | None
    progress: float | None
    asked: datetime

    predicted: ClassVar[None] = None

    @property
    def positions(self) -> tuple[int, ...]:
        """Of the items, in the order in which they were shown."""
        return self.items


@dataclass(frozen=True)
class AnswerRecord:
    """An answer, to a question or to none.

    Parameters
    ----------
    id, respondent_id : numbers
    question_id : of the question, or None
    left, right : positions of the items
    choice : "left", "right", "tie" or "skip"
    weight : what it counts
    told : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import AnswerRecord
    >>> AnswerRecord(1, 1, None, 0, 1, "left", 1.0, datetime(2026, 1, 31, tzinfo=UTC)).choice
    'left'
    """

    id: int
    respondent_id: int
    question_id: int | None
    left: int
    right: int
    choice: Choice
    weight: float
    told: datetime


@dataclass(frozen=True)
class JudgementRecord:
    """An answer that is not about a pair: a choice among several, a best and worst, a ranking, a rating.

    Parameters
    ----------
    id, respondent_id : numbers
    judgement : what was said
    weight : what it counts
    told : when
    question_id : of the question about a set, or None

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import Judgement, JudgementRecord
    >>> said = Judgement("choice", ((2,), (0, 1)))
    >>> JudgementRecord(1, 1, said, 1.0, datetime(2026, 1, 31, tzinfo=UTC)).judgement.shape
    'choice'
    """

    id: int
    respondent_id: int
    judgement: Judgement
    weight: float
    told: datetime
    question_id: int | None = None

    choice: ClassVar[None] = None


@dataclass(frozen=True)
class SkipRecord:
    """That a question about a set was passed over.

    Parameters
    ----------
    id, respondent_id : numbers
    question_id : of the question
    weight : what an answer would have counted
    told : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import SkipRecord
    >>> SkipRecord(1, 1, 1, 1.0, datetime(2026, 1, 31, tzinfo=UTC)).choice
    'skip'
    """

    id: int
    respondent_id: int
    question_id: int
    weight: float
    told: datetime

    choice: ClassVar[Choice] = "skip"


@dataclass(frozen=True)
class UndoRecord:
    """That an answer no longer stands.

    Parameters
    ----------
    id, respondent_id, answer_id : numbers
    told : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import UndoRecord
    >>> UndoRecord(2, 1, 1, datetime(2026, 1, 31, tzinfo=UTC)).answer_id
    1
    """

    id: int
    respondent_id: int
    answer_id: int
    told: datetime


AnyQuestion: TypeAlias = QuestionRecord | SetQuestionRecord
"""A question about two items or more."""
AnyAnswer: TypeAlias = AnswerRecord | JudgementRecord | SkipRecord
"""An answer of any shape."""
Event: TypeAlias = AnyAnswer | UndoRecord
"""Answers and undos of a respondent share one sequence of ids, from 1 on; so do their questions."""
