"""What crosses the storage's border: frozen records, items by position, times in UTC."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

Choice: TypeAlias = Literal["left", "right", "tie", "skip"]
CHOICES: tuple[str, ...] = get_args(Choice)


def new_token() -> str:
    """What a respondent's link holds, and nobody can guess."""
    return secrets.token_urlsafe(16)


@dataclass(frozen=True)
class Item:
    """A thing to choose from: the features that are learned from, and whatever else a page shows of it."""

    name: str
    features: tuple[float, ...]
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyRecord:
    """A study: its items and their features never change."""

    id: int
    name: str
    feature_names: tuple[str, ...]
    settings: Mapping[str, Any]
    created: datetime


@dataclass(frozen=True)
class StudySummary:
    """A study as a list shows it."""

    name: str
    created: datetime
    n_items: int
    n_respondents: int
    n_answers: int


@dataclass(frozen=True)
class RespondentRecord:
    """A person who answers in a study; `token` is what their link holds, and cannot be guessed."""

    id: int
    study_id: int
    name: str
    token: str
    created: datetime


@dataclass(frozen=True)
class QuestionRecord:
    """Two items that a respondent was asked about, why, and what was expected.

    `purpose` is a strategy's name, "start", "probe" or "check"; `predicted` is the probability of left,
    given the answers before it, or None; `progress` is how far it was shown to be, from 0 to 1, or None.
    """

    id: int
    respondent_id: int
    left: int
    right: int
    purpose: str
    predicted: float | None
    progress: float | None
    asked: datetime


@dataclass(frozen=True)
class AnswerRecord:
    """An answer, to a question or to none (`question_id` is None)."""

    id: int
    respondent_id: int
    question_id: int | None
    left: int
    right: int
    choice: Choice
    weight: float
    told: datetime


@dataclass(frozen=True)
class UndoRecord:
    """That an answer no longer stands."""

    id: int
    respondent_id: int
    answer_id: int
    told: datetime


Event: TypeAlias = AnswerRecord | UndoRecord
"""Answers and undos share one sequence of ids, which rises with each respondent's events."""
