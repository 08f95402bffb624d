"""The columns of each table, and records out of its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeAlias

from coombs.storage import stored_values as read
from coombs.storage import validation
from coombs.storage.failures import damaged
from coombs.storage.judgement import read_judgement
from coombs.storage.records import (
    CHOICES,
    AnswerRecord,
    AnyQuestion,
    Event,
    Item,
    JudgementRecord,
    PresentationRecord,
    PriorRecord,
    QuestionRecord,
    RespondentRecord,
    SetQuestionRecord,
    SkipRecord,
    StudyRecord,
    StudySummary,
    UndoRecord,
)
from coombs.storage.stored_values import RowReading
from coombs.storage.timestamps import utc

Row: TypeAlias = tuple[Any, ...]

STUDY = "name, feature_names, settings, created"
"""The columns of a study, after its id; so are those below."""
ITEM = "study_id, position, name, features, details, added, retired, replaces"
"""The columns of an item, which has no id."""
NEW_RESPONDENT = "study_id, name, token, created, source, external_id, fields"
"""The columns of a respondent who has not done anything yet."""
RESPONDENT = f"{NEW_RESPONDENT}, language, seed, consent_version, consented, finished"
"""All columns of a respondent but that of their prior."""
QUESTION = "respondent_id, left_item, right_item, purpose, predicted, progress, asked"
"""The columns of a question about a pair."""
SET_QUESTION = "respondent_id, items, purpose, progress, asked"
"""The columns of a question about a set."""
ANY_QUESTION = f"{QUESTION}, items"
"""The columns of any question."""
ANSWER = "respondent_id, question_id, left_item, right_item, choice, weight, told"
"""The columns of an event that is an answer."""
JUDGEMENT = "respondent_id, question_id, judgement, weight, told"
"""The columns of an event that is an answer of another shape."""
SKIP = "respondent_id, question_id, choice, weight, told"
"""The columns of an event that passes over a question about a set."""
UNDO = "respondent_id, undoes, told"
"""The columns of an event that is an undo."""
EVENT = "respondent_id, question_id, left_item, right_item, choice, weight, judgement, undoes, told"
"""The columns of any event."""

LEAST_SET = 3
"""Items of a set, at least: two are a pair."""
PRIOR = "study_id, version, prior, n_people, n_answers, source, created"
"""The columns of a prior, which has no id."""
PRESENTATION = "study_id, version, content, created"
"""The columns of a presentation, which has no id."""


@cache
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
    with RowReading(f"The study {row[1]!r}"):
        number, name, feature_names, settings, created = row
        names = read.json_list(feature_names, "the names of its features")
        if not all(isinstance(one, str) for one in names):
            raise ValueError("the names of its features are not text")
        plain = read.json_object(settings, "its settings")
        return StudyRecord(
            read.number(number, "its id"),
            read.text(name, "its name"),
            tuple(names),
            plain,
            read.moment(created, "its time"),
        )


def summary(row: Row) -> StudySummary:
    """A study as a list shows it."""
    name, created, *counts = row
    with RowReading(f"The study {name!r}"):
        return StudySummary(read.text(name, "its name"), read.moment(created, "its time"), *counts)


def item_row(item: Item) -> Row:
    """The columns of an item, after those of its place."""
    name = validation.text(item.name, "item's name")
    features = validation.as_json([float(value) for value in item.features], f"features of item {name!r}")
    times = (None if one is None else utc(one) for one in (item.added, item.retired))
    details = validation.as_json(dict(item.details), f"details of item {name!r}")
    return name, features, details, *times, item.replaces


def items(study_id: int, found: Sequence[Row]) -> list[Item]:
    """The items of a study in their order, of which none is missing."""
    made = [_item(study_id, row) for row in found]
    if [row[0] for row in found] != list(range(len(found))):
        raise damaged(f"The study with the id {study_id}", "some of its items are missing")
    if len({len(item.features) for item in made}) > 1:
        raise damaged(f"The study with the id {study_id}", "its items differ in how many features they have")
    later = [item.added is not None for item in made]
    if later != sorted(later):
        raise damaged(f"The study with the id {study_id}", "items that came later are among its first ones")
    asked = [item.name for item in made if item.retired is None]
    if len(set(asked)) < len(asked):
        raise damaged(f"The study with the id {study_id}", "two of its items have the same name")
    return made


def _item(study_id: int, row: Row) -> Item:
    """An item, as it was given."""
    position, name, features, details, added, retired, replaces = row
    with RowReading(f"Item {position!r} of the study with the id {study_id}"):
        shown = read.json_object(details, "its details")
        if not all(isinstance(one, str) for one in shown.values()):
            raise ValueError("its details are not text")
        if replaces is not None and read.number(replaces, "what it replaces") >= position:
            raise ValueError("it replaces an item that came after it")
        return Item(
            read.text(name, "its name"),
            read.numbers(features, "its features"),
            shown,
            None if added is None else read.moment(added, "when it was added"),
            None if retired is None else read.moment(retired, "when it was retired"),
            replaces,
        )


def respondent_row(
    study_id: int,
    name: str,
    token: str,
    at: datetime | None,
    source: str | None,
    external_id: str | None,
    fields: Mapping[str, str] | None,
) -> Row:
    """The columns of a new respondent."""
    called = validation.text(name, "respondent's name"), validation.text(token, "token")
    other = None if external_id is None else validation.text(external_id, "id elsewhere")
    way = None if source is None else validation.text(source, "source")
    return study_id, *called, utc(at), way, other, fields_text(fields)


def fields_text(fields: Mapping[str, str] | None) -> str | None:
    """What somebody said of themselves, as it is kept."""
    if not fields:
        return None
    plain = {validation.text(name, "field"): validation.text(said, name) for name, said in fields.items()}
    return validation.as_json(plain, "fields")


def respondent(row: Row) -> RespondentRecord:
    """The record of a respondent."""
    number, study_id, name, token, created, *known = row
    source, external_id, fields, language, seed, consent_version, consented, finished = known
    with RowReading(f"Respondent {number!r}"):
        said = {} if fields is None else read.json_object(fields, "what they said of themselves")
        if not all(isinstance(one, str) for one in said.values()):
            raise ValueError("what they said of themselves is not text")
        return RespondentRecord(
            read.number(number, "the id"),
            read.number(study_id, "the study"),
            read.text(name, "the name"),
            read.text(token, "the token"),
            read.moment(created, "the time"),
            None if source is None else read.text(source, "the source"),
            None if external_id is None else read.text(external_id, "the id elsewhere"),
            said,
            None if language is None else read.text(language, "the language"),
            None if seed is None else read.number(seed, "the seed"),
            None if consent_version is None else read.number(consent_version, "what was agreed to", 1),
            None if consented is None else read.moment(consented, "the time of the consent"),
            None if finished is None else read.moment(finished, "the time of the end"),
        )


def presentation(row: Row) -> PresentationRecord:
    """The record of a presentation."""
    study_id, version, content, created = row
    with RowReading(f"Version {version!r} of the presentation of the study with the id {study_id}"):
        return PresentationRecord(
            study_id,
            read.number(version, "its version", 1),
            read.json_object(content, "its content"),
            read.moment(created, "its time"),
        )


def prior(row: Row) -> PriorRecord:
    """The record of a prior."""
    study_id, version, n_people, n_answers, source, created = row
    with RowReading(f"Version {version!r} of the prior of the study with the id {study_id}"):
        if source not in PriorRecord.SOURCES:
            raise ValueError("its source is unknown")
        counts = (
            read.number(n_people, "its number of people"),
            read.number(n_answers, "its number of answers"),
        )
        return PriorRecord(
            study_id, read.number(version, "its version"), *counts, source, read.moment(created, "its time")
        )


def set_text(items: Sequence[int], chances: Sequence[float] | None) -> str:
    """A set of items, and the probability of each to be the best, as they are kept."""
    return json.dumps({"items": list(items), "chances": None if chances is None else list(chances)})


def set_of(value: object, last_item: int) -> tuple[tuple[int, ...], tuple[float, ...] | None]:
    """The items of a set, up to the last one of the study, and their chances."""
    plain = read.json_object(value, "its set of items")
    if plain.keys() != {"items", "chances"} or not isinstance(plain["items"], list):
        raise ValueError("its set of items is not items and chances")
    items = tuple(read.number(one, "its item") for one in plain["items"])
    if len(set(items)) < max(len(items), LEAST_SET) or max(items) > last_item:
        raise ValueError(f"its items are {items}, not three or more of the study")
    if plain["chances"] is None:
        return items, None
    given = plain["chances"] if isinstance(plain["chances"], list) else []
    chances = tuple(one for one in (read.share(one, "its chance") for one in given) if one is not None)
    if len(chances) != len(items):
        raise ValueError("it has not a chance for each of its items")
    return items, chances


def question(row: Row, last_item: int) -> AnyQuestion:
    """The record of a question, about items up to the last one of the study."""
    number, person, left, right, purpose, predicted, progress, asked, items = row
    with RowReading(f"Question {number!r} of respondent {person!r}"):
        if items is not None:
            about, chances = set_of(items, last_item)
            return SetQuestionRecord(
                read.number(number, "its id", 1),
                read.number(person, "its respondent"),
                about,
                read.text(purpose, "its purpose"),
                chances,
                read.share(progress, "its progress"),
                read.moment(asked, "its time"),
            )
        return QuestionRecord(
            read.number(number, "its id", 1),
            read.number(person, "its respondent"),
            *read.pair(left, right, last_item),
            read.text(purpose, "its purpose"),
            read.share(predicted, "its prediction"),
            read.share(progress, "its progress"),
            read.moment(asked, "its time"),
        )


def event(row: Row, last_item: int) -> Event:
    """The record of an answer, or of an undo if the row undoes one."""
    number, person, question_id, left, right, choice, weight, said, undoes, told = row
    what = f"Answer {number!r} of respondent {person!r}"
    if undoes is None and said is None and left is None and choice == "skip":
        return skip((number, person, question_id, choice, weight, told))
    if undoes is None and said is None:
        return answer((number, person, question_id, left, right, choice, weight, told), last_item)
    with RowReading(what):
        ids = read.number(number, "its id", 1), read.number(person, "its respondent")
        at = read.moment(told, "its time")
        if undoes is not None:
            return UndoRecord(*ids, read.number(undoes, "what it takes back", 1), at)
        judgement = read_judgement(read.text(said, "what was said"))
        if max(judgement.items) > last_item:
            raise ValueError(f"it is about item {max(judgement.items)}, which the study does not have")
        asked = None if question_id is None else read.number(question_id, "its question", 1)
        return JudgementRecord(*ids, judgement, read.weight(weight), at, asked)


def skip(row: Row) -> SkipRecord:
    """The record of a question about a set that was passed over."""
    number, person, question_id, _, weight, told = row
    with RowReading(f"Answer {number!r} of respondent {person!r}"):
        return SkipRecord(
            read.number(number, "its id", 1),
            read.number(person, "its respondent"),
            read.number(question_id, "its question", 1),
            read.weight(weight),
            read.moment(told, "its time"),
        )


def answer(row: Row, last_item: int) -> AnswerRecord:
    """The record of an answer about a pair."""
    number, person, question_id, left, right, choice, weight, told = row
    with RowReading(f"Answer {number!r} of respondent {person!r}"):
        if choice not in CHOICES:
            raise ValueError(f"its choice is {choice!r}")
        return AnswerRecord(
            read.number(number, "its id", 1),
            read.number(person, "its respondent"),
            None if question_id is None else read.number(question_id, "its question", 1),
            *read.pair(left, right, last_item),
            choice,
            read.weight(weight),
            read.moment(told, "its time"),
        )
