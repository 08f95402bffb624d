"""Records as rows of columns that any storage can hold, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from coombs.storage import rules
from coombs.storage.records import (
    AnswerRecord,
    Event,
    Item,
    QuestionRecord,
    RespondentRecord,
    StudyRecord,
    UndoRecord,
)

Row: TypeAlias = tuple[Any, ...]

# The columns of each table, after the id where it has one.
STUDY = "name, feature_names, settings, created"
ITEM = "study_id, position, name, features, details"
RESPONDENT = "study_id, name, token, created"
QUESTION = "respondent_id, left_item, right_item, purpose, foretold, progress, asked"
ANSWER = "respondent_id, question_id, left_item, right_item, choice, weight, told"
UNDO = "respondent_id, undoes, told"
EVENT = "respondent_id, question_id, left_item, right_item, choice, weight, undoes, told"


def study_row(
    name: str, feature_names: Sequence[str], settings: Mapping[str, Any], at: datetime | None
) -> Row:
    """The columns of a new study."""
    names = rules.as_json(list(feature_names), "feature names")
    plain = rules.as_json(dict(settings), "settings")
    return rules.text(name, "study's name"), names, plain, rules.moment(at)


def study(row: Row) -> StudyRecord:
    """The record of a study."""
    number, name, feature_names, settings, created = row
    return StudyRecord(number, name, tuple(json.loads(feature_names)), json.loads(settings), time(created))


def item_row(item: Item) -> Row:
    """The columns of an item, after those of its place."""
    name = rules.text(item.name, "item's name")
    features = rules.as_json([float(value) for value in item.features], f"features of item {name!r}")
    return name, features, rules.as_json(dict(item.details), f"details of item {name!r}")


def item(row: Row) -> Item:
    """An item, as it was given."""
    name, features, details = row
    return Item(name, tuple(json.loads(features)), json.loads(details))


def respondent(row: Row) -> RespondentRecord:
    """The record of a respondent."""
    return RespondentRecord(*_timed(row))


def question(row: Row) -> QuestionRecord:
    """The record of a question."""
    return QuestionRecord(*_timed(row))


def answer(row: Row) -> AnswerRecord:
    """The record of an answer."""
    return AnswerRecord(*_timed(row))


def undo(row: Row) -> UndoRecord:
    """The record of an undo."""
    return UndoRecord(*_timed(row))


def event(row: Row) -> Event:
    """The record of an answer, or of an undo if the row undoes one."""
    *told, undoes, at = row
    return answer((*told, at)) if undoes is None else undo((*told[:2], undoes, at))


def time_text(at: datetime) -> str:
    """A time in UTC as ISO text, all of one length, so that text sorts as times do."""
    return at.isoformat(timespec="microseconds")


def time(value: str | datetime) -> datetime:
    """A time in UTC out of ISO text, or as PostgreSQL gives it, in the session's zone."""
    return (value if isinstance(value, datetime) else datetime.fromisoformat(value)).astimezone(UTC)


def _timed(row: Row) -> Row:
    """A row with its last column as a time."""
    return *row[:-1], time(row[-1])
