"""What crosses the storage's border: frozen records, items by position, times in UTC."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from coombs.storage.judgement import Judgement
from coombs.storage.question_records import AnyQuestion as AnyQuestion
from coombs.storage.question_records import QuestionRecord as QuestionRecord
from coombs.storage.question_records import SetQuestionRecord as SetQuestionRecord

Choice: TypeAlias = Literal["left", "right", "tie", "skip"]
CHOICES: tuple[str, ...] = get_args(Choice)


ANONYMOUS = "Anonymous"
"""What people are called, with a number, once their names were taken away."""
REVOKED = "revoked:"
"""What the token of a link that was revoked begins with; no address holds it."""


def new_token() -> str:
    """What a respondent's link holds, and nobody can guess."""
    return secrets.token_urlsafe(16)


def revoked_token() -> str:
    """What is stored of a respondent whose link was revoked: tokens differ, and this one opens nothing."""
    return f"{REVOKED}{new_token()}"


@dataclass(frozen=True)
class Item:
    """A thing to choose from, or a version of one: what changes is a new item, at a position of its own.

    Parameters
    ----------
    name : what it is called
    features : numbers that are learned from
    details : whatever else a page shows of it
    added : when it came to the study; None with the study
    retired : since when it is not asked about any more, or None
    replaces : the position of the version before it, or None

    Examples
    --------
    >>> from coombs.storage import Item
    >>> Item("tea", (2.5,)).details
    {}
    """

    name: str
    features: tuple[float, ...]
    details: Mapping[str, str] = field(default_factory=dict)
    added: datetime | None = None
    retired: datetime | None = None
    replaces: int | None = None


@dataclass(frozen=True)
class StudyRecord:
    """A study. What was once asked about stays as it was; items that change are new ones.

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
    source : how they came: "open link", or None by a link of their own
    external_id : what another service calls them, as Prolific, or None
    fields : what they said about themselves, by the label of each field, and what the address told
    language : the code of the language that they read, or None
    seed : of what is random for them, or None
    consent_version, consented : to which version of the presentation they agreed, and when, or None
    finished : when they were through with all, or None

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
    source: str | None = None
    external_id: str | None = None
    # A mapping has no hash.
    fields: Mapping[str, str] = field(default_factory=dict, hash=False)
    language: str | None = None
    seed: int | None = None
    consent_version: int | None = None
    consented: datetime | None = None
    finished: datetime | None = None

    @property
    def is_revoked(self) -> bool:
        """Whether the link was revoked, so that nobody can answer by it."""
        return self.token.startswith(REVOKED)


@dataclass(frozen=True)
class PresentationRecord:
    """A version of what the people of a study see: a change is a new version.

    Parameters
    ----------
    study_id : of the study
    version : from 1
    content : names and values, as JSON holds them
    created : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import PresentationRecord
    >>> PresentationRecord(1, 2, {"title": "Flats"}, datetime(2026, 1, 31, tzinfo=UTC)).version
    2
    """

    study_id: int
    version: int
    content: Mapping[str, Any]
    created: datetime


@dataclass(frozen=True)
class Participant:
    """Whoever has a link, and what holds for them now.

    Parameters
    ----------
    study_name : of their study
    record : of the person
    settings : of the study
    presentation_version : the latest, 0 where the study has none

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
    >>> ann = study.respondent("Ann").record
    >>> study.storage.participant(ann.token).presentation_version
    0
    """

    study_name: str
    record: RespondentRecord
    settings: Mapping[str, Any] = field(hash=False)
    presentation_version: int


@dataclass(frozen=True)
class LogRecord:
    """Something that happened to a study, or to somebody in it.

    Parameters
    ----------
    id, study_id : numbers
    what : a sentence without anybody's name
    happened : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import LogRecord
    >>> LogRecord(1, 1, "1 person was deleted.", datetime(2026, 1, 31, tzinfo=UTC)).what
    '1 person was deleted.'
    """

    id: int
    study_id: int
    what: str
    happened: datetime


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


AnyAnswer: TypeAlias = AnswerRecord | JudgementRecord | SkipRecord
"""An answer of any shape."""
Event: TypeAlias = AnyAnswer | UndoRecord
"""Answers and undos of a respondent share one sequence of ids, from 1 on; so do their questions."""
