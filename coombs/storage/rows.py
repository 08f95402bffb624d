"""The columns of each table, and records out of its rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from coombs.storage import validation
from coombs.storage.judgement import read_judgement
from coombs.storage.records import AnswerRecord, Event, Item, JudgementRecord, StudyRecord, UndoRecord
from coombs.storage.timestamps import stored_time, utc

Row: TypeAlias = tuple[Any, ...]
Record = TypeVar("Record")

STUDY = "name, feature_names, settings, created"
"""The columns of a study, after its id; so are those below."""
ITEM = "study_id, position, name, features, details"
"""The columns of an item, which has no id."""
RESPONDENT = "study_id, name, token, created"
"""The columns of a respondent."""
QUESTION = "respondent_id, left_item, right_item, purpose, predicted, progress, asked"
"""The columns of a question."""
ANSWER = "respondent_id, question_id, left_item, right_item, choice, weight, told"
"""The columns of an event that is an answer."""
JUDGEMENT = "respondent_id, judgement, weight, told"
"""The columns of an event that is an answer of another shape."""
UNDO = "respondent_id, undoes, told"
"""The columns of an event that is an undo."""
EVENT = "respondent_id, question_id, left_item, right_item, choice, weight, judgement, undoes, told"
"""The columns of any event."""

PRIOR = "study_id, version, prior, n_people, n_answers, source, created"
"""The columns of a prior, which has no id."""


def of(table: str, columns: str) -> str:
    """Columns, and the id before them, by the name of their table."""
    return ", ".join(f"{table}.{column}" for column in ("id", *columns.split(", ")))


def study_row(
    name: str, feature_names: Sequence[str], settings: Mapping[str, Any], at: datetime | None
) -> Row:
    """The columns of a new study."""
    names = validation.as_json(list(feature_names), "feature names")
    plain = validation.as_json(dict(settings), "settings")
    return validation.text(name, "study's name"), names, plain, utc(at)


def study(row: Row) -> StudyRecord:
    """The record of a study."""
    number, name, feature_names, settings, created = row
    names = tuple(json.loads(feature_names))
    return StudyRecord(number, name, names, json.loads(settings), stored_time(created))


def item_row(item: Item) -> Row:
    """The columns of an item, after those of its place."""
    name = validation.text(item.name, "item's name")
    features = validation.as_json([float(value) for value in item.features], f"features of item {name!r}")
    return name, features, validation.as_json(dict(item.details), f"details of item {name!r}")


def item(row: Row) -> Item:
    """An item, as it was given."""
    name, features, details = row
    return Item(name, tuple(json.loads(features)), json.loads(details))


def event(row: Row) -> Event:
    """The record of an answer, or of an undo if the row undoes one."""
    *told, weight, judgement, undoes, at = row
    if undoes is not None:
        return timed(UndoRecord, (*told[:2], undoes, at))
    if judgement is None:
        return timed(AnswerRecord, (*told, weight, at))
    said = read_judgement(judgement, f"Answer {told[0]} of respondent {told[1]}")
    return timed(JudgementRecord, (*told[:2], said, weight, at))


def timed(kind: Callable[..., Record], row: Row) -> Record:
    """The record of a row whose last column is a time."""
    return kind(*row[:-1], stored_time(row[-1]))
