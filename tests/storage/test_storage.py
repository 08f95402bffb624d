"""The storages: one contract, the same for memory, SQLite and PostgreSQL."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import postgres
import pytest

from coombs.data.tables import InputError
from coombs.storage import (
    AnsweredError,
    AnswerRecord,
    Item,
    Judgement,
    JudgementRecord,
    RespondentRecord,
    Storage,
    StorageDamagedError,
    StorageUnavailableError,
    StudyExistsError,
    StudyRecord,
    StudySummary,
    UndoRecord,
    UnknownStudyError,
    open_storage,
)
from coombs.storage.postgres import PostgresDatabase
from coombs.storage.schema import VERSIONS, in_dialect
from coombs.storage.sqlite import SqliteDatabase

DATA = Path(__file__).parent
ITEMS = [Item(f"item {i}", (float(i), i / 3), {"color": "red"}) for i in range(6)]
HARD = ["Ωmega ✓ 漢字 🎲", 'O\'Hara "the" \\ %s ?', "'; DROP TABLE studies; --", " ", "", "a\nb", "NULL"]
NOON = datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=UTC)


def url_of(kind: str, folder: Path) -> str:
    if kind == "postgres":
        return postgres.fresh_url()
    return "memory:" if kind == "memory" else f"sqlite:///{folder}/study.db"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, tmp_path)


@pytest.fixture
def storage(url: str) -> Iterator[Storage]:
    opened = open_storage(url)
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A URL that can be opened more than once."""
    return url_of(request.param, tmp_path)


def make(storage: Storage, name: str = "study", **more: Any) -> StudyRecord:
    return storage.create_study(name, ["size", "price"], ITEMS, {"strategy": "x"}, **more)


@pytest.fixture
def ann(storage: Storage) -> RespondentRecord:
    return storage.add_respondent(make(storage).id, "Ann", "token of Ann")


# Studies


def test_a_study_comes_back_as_it_was_made(storage: Storage) -> None:
    settings = {"a": [1, 2.5, None, True], "b": {"c": "d"}}
    made = storage.create_study("study", ("x", "ü"), ITEMS, settings, at=NOON)
    assert made == storage.study("study")
    assert made.feature_names == ("x", "ü")
    assert made.settings == settings
    assert made.created == NOON
    assert storage.items(made.id) == ITEMS


def test_features_keep_every_digit(storage: Storage) -> None:
    features = (1e-300, 0.1 + 0.2, -0.0, 5e-324, 1.7976931348623157e308, float(np.pi), 1e22)
    study = storage.create_study("study", list("abcdefg"), [Item("a", features), Item("b", features)], {})
    kept = storage.items(study.id)[0].features
    assert [value.hex() for value in kept] == [value.hex() for value in features]
    assert storage.items(study.id)[0].details == {}


@pytest.mark.parametrize("name", HARD)
def test_any_text_is_a_name(storage: Storage, name: str) -> None:
    items = [Item(name, (1.0,), {name: name}), Item("other", (2.0,))]
    study = storage.create_study(name, [name], items, {name: name})
    ann = storage.add_respondent(study.id, name, token=name)
    storage.add_question(ann.id, 0, 1, purpose=name)
    assert storage.study(name) == study
    assert study.settings == {name: name}
    assert storage.items(study.id) == items
    assert [(who.name, who.token) for who, _ in storage.respondents(study.id)] == [(name, name)]
    assert storage.questions(ann.id)[0].purpose == name


@pytest.mark.parametrize("name", ["zero \0", "half \ud800"])
def test_text_that_some_database_cannot_hold_is_refused_by_all(storage: Storage, name: str) -> None:
    study = make(storage)
    for call in (
        lambda: storage.create_study(name, [], [], {}),
        lambda: storage.create_study("new", ["x"], [Item(name, (1.0,))], {}),
        lambda: storage.study(name),
        lambda: storage.add_respondent(study.id, name, "token"),
        lambda: storage.add_respondent(study.id, "name", name),
    ):
        with pytest.raises(InputError, match="must"):
            call()
    assert [summary.name for summary in storage.studies()] == ["study"]


def test_settings_that_are_not_json_are_refused(storage: Storage) -> None:
    for settings in ({"a": object()}, {"a": float("nan")}):
        with pytest.raises(InputError, match="settings cannot be kept as JSON"):
            storage.create_study("study", ["x"], ITEMS, settings)
    assert storage.studies() == []


def test_changing_what_was_given_or_got_changes_nothing_kept(storage: Storage) -> None:
    settings, details = {"a": [1]}, {"color": "red"}
    study = storage.create_study("study", ["x"], [Item("a", (1.0,), details)], settings)
    for mapping in (settings, study.settings, storage.study("study").settings):
        mapping["a"].append(2)
    for mapping in (details, storage.items(study.id)[0].details):
        mapping["color"] = "blue"  # type: ignore[index]
    assert storage.study("study").settings == {"a": [1]}
    assert storage.items(study.id)[0].details == {"color": "red"}


def test_a_name_is_taken_once(storage: Storage) -> None:
    first = make(storage)
    with pytest.raises(StudyExistsError, match="'study' already"):
        storage.create_study("study", ["other"], [], {})
    assert storage.study("study") == first
    assert storage.items(first.id) == ITEMS


def test_studies_come_by_name_with_their_counts(storage: Storage) -> None:
    for name in ("b", "a", "B", "é"):
        make(storage, name, at=NOON)
    ann = storage.add_respondent(storage.study("a").id, "Ann", "1")
    storage.add_respondent(storage.study("a").id, "Bob", "2")
    answers = [storage.add_answer(ann.id, 0, 1, choice) for choice in ("left", "tie", "skip")]
    storage.add_undo(ann.id, answers[0].id)
    empty = {name: StudySummary(name, NOON, 6, 0, 0) for name in ("B", "b", "é")}
    full = StudySummary("a", NOON, 6, 2, 2)
    assert storage.studies() == [empty["B"], full, empty["b"], empty["é"]]


def test_what_is_unknown_is_said_so(storage: Storage, ann: RespondentRecord) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: storage.study("other"),
        lambda: storage.delete_study("other"),
        lambda: storage.items(99),
        lambda: storage.respondents(99),
        lambda: storage.add_respondent(99, "Ann", "token"),
        lambda: storage.add_question(99, 0, 1, "start"),
        lambda: storage.add_answer(99, 0, 1, "left"),
        lambda: storage.add_answer(ann.id, 0, 1, "left", question_id=99),
        lambda: storage.add_answer(ann.id, 0, 1, "left", question_id=10**30),
        lambda: storage.add_undo(ann.id, 99),
        lambda: storage.add_undo(99, 99),
        lambda: storage.questions(99),
        lambda: storage.pairs(99),
        lambda: storage.events(10**30),
    ]
    for call in calls:
        with pytest.raises(UnknownStudyError, match=r"\.$"):
            call()
    assert storage.events(ann.id) == storage.questions(ann.id) == []


def test_deleting_a_study_removes_all_of_it_and_nothing_else(storage: Storage) -> None:
    respondents = []
    for name in ("kept", "gone"):
        respondent = storage.add_respondent(make(storage, name).id, "Ann", f"token {name}")
        question = storage.add_question(respondent.id, 0, 1, "start")
        answer = storage.add_answer(respondent.id, 0, 1, "left", question_id=question.id)
        storage.add_undo(respondent.id, answer.id)
        storage.add_answer(respondent.id, 0, 1, "right", question_id=question.id)
        respondents.append(respondent)
    kept, gone = respondents
    before = storage.questions(kept.id), storage.events(kept.id)
    storage.delete_study("gone")
    assert [summary.name for summary in storage.studies()] == ["kept"]
    assert (storage.questions(kept.id), storage.events(kept.id)) == before
    assert storage.items(kept.study_id) == ITEMS
    with pytest.raises(UnknownStudyError):
        storage.events(gone.id)
    # The name and the token are free again, and ids are never used twice.
    again = storage.add_respondent(make(storage, "gone").id, "Ann", "token gone")
    assert again.id > gone.id
    assert again.study_id > gone.study_id
    assert storage.events(again.id) == []


# Respondents


def test_a_respondent_is_made_once_and_keeps_the_first_token(storage: Storage) -> None:
    study = make(storage)
    ann = storage.add_respondent(study.id, "Ann", "1", at=NOON)
    assert ann.created == NOON
    assert storage.add_respondent(study.id, "Ann", "2") == ann
    assert storage.add_respondent(study.id, "Ann", "1") == ann
    assert [who for who, _ in storage.respondents(study.id)] == [ann]
    with pytest.raises(InputError, match="token of their own"):
        storage.add_respondent(study.id, "Bob", "1")
    elsewhere = storage.add_respondent(make(storage, "other").id, "Ann", "3")
    assert elsewhere.id != ann.id
    assert elsewhere.token == "3"


def test_respondents_come_in_order_with_their_standing_answers(storage: Storage) -> None:
    study = make(storage)
    zoe, ann = (storage.add_respondent(study.id, name, name) for name in ("Zoe", "Ann"))
    told = [storage.add_answer(zoe.id, 0, 1, choice) for choice in ("left", "tie", "skip", "right")]
    storage.add_undo(zoe.id, told[0].id)
    assert storage.respondents(study.id) == [(zoe, 3), (ann, 0)]


# Questions


def test_a_question_comes_back_as_it_was_asked(storage: Storage, ann: RespondentRecord) -> None:
    first = storage.add_question(ann.id, 4, 2, "entropy", 0.1 + 0.2, progress=0.7, at=NOON)
    second = storage.add_question(ann.id, 0, 1, "probe")
    assert (first.respondent_id, first.left, first.right, first.purpose) == (ann.id, 4, 2, "entropy")
    assert (first.predicted, first.progress, first.asked) == (0.1 + 0.2, 0.7, NOON)
    assert second.predicted is None and second.progress is None
    assert second.id > first.id
    assert storage.questions(ann.id) == [first, second]


@pytest.mark.parametrize(("left", "right"), [(0, 1), (1, 0)])
def test_a_pair_is_asked_once_either_way_around(
    storage: Storage, ann: RespondentRecord, left: int, right: int
) -> None:
    assert storage.add_question(ann.id, 0, 1, "start")
    assert storage.add_question(ann.id, left, right, "start") is None
    assert storage.add_question(ann.id, left, right, "check", again=True)
    assert storage.add_question(ann.id, 0, 2, "start")
    assert len(storage.questions(ann.id)) == 3
    bob = storage.add_respondent(ann.study_id, "Bob", "token of Bob")
    assert storage.add_question(bob.id, left, right, "start")


@pytest.mark.parametrize(("left", "right"), [(0, 1), (1, 0)])
def test_a_pair_answered_unasked_is_not_asked_unless_undone(
    storage: Storage, ann: RespondentRecord, left: int, right: int
) -> None:
    first, second = (storage.add_answer(ann.id, 0, 1, "tie") for _ in range(2))
    assert storage.add_question(ann.id, left, right, "start") is None
    storage.add_undo(ann.id, first.id)
    assert storage.add_question(ann.id, left, right, "start") is None
    storage.add_undo(ann.id, second.id)
    assert storage.add_question(ann.id, left, right, "start")


def test_a_pair_stays_asked_when_its_answer_is_undone(storage: Storage, ann: RespondentRecord) -> None:
    question = storage.add_question(ann.id, 0, 1, "start")
    answer = storage.add_answer(ann.id, 0, 1, "left", question_id=question.id)
    storage.add_undo(ann.id, answer.id)
    assert storage.add_question(ann.id, 0, 1, "start") is None


def test_a_token_leads_to_its_respondent_alone(storage: Storage, ann: RespondentRecord) -> None:
    bob = storage.add_respondent(ann.study_id, "Bob", "token of Bob")
    other = storage.add_respondent(make(storage, "other").id, "Ann", "token elsewhere")
    assert storage.by_token("token of Bob")[1] == bob
    assert storage.by_token("token elsewhere") == ("other", other)
    for wrong in ("", "Token of Bob", "token of", "' OR '1'='1"):
        with pytest.raises(UnknownStudyError, match="nobody's"):
            storage.by_token(wrong)


def test_pairs_are_those_asked_or_answered(storage: Storage, ann: RespondentRecord) -> None:
    assert storage.pairs(ann.id) == set()
    question = storage.add_question(ann.id, 3, 1, "start")
    asked = storage.add_answer(ann.id, 3, 1, "left", question_id=question.id)
    unasked = [storage.add_answer(ann.id, 2, 0, "tie"), storage.add_answer(ann.id, 4, 5, "skip")]
    assert storage.pairs(ann.id) == {(1, 3), (0, 2), (4, 5)}
    storage.add_undo(ann.id, asked.id)
    storage.add_undo(ann.id, unasked[0].id)
    assert storage.pairs(ann.id) == {(1, 3), (4, 5)}


@pytest.mark.parametrize(("left", "right"), [(0, 0), (0, 6), (-1, 0), (10**30, 1)])
def test_only_two_items_of_the_study_are_a_pair(
    storage: Storage, ann: RespondentRecord, left: int, right: int
) -> None:
    with pytest.raises(InputError, match="not two items of the study"):
        storage.add_question(ann.id, left, right, "start", again=True)
    with pytest.raises(InputError, match="not two items of the study"):
        storage.add_answer(ann.id, left, right, "left")
    assert storage.events(ann.id) == storage.questions(ann.id) == []


def test_what_cannot_be_asked_or_told_is_refused(storage: Storage, ann: RespondentRecord) -> None:
    for predicted in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match="from 0 to 1"):
            storage.add_question(ann.id, 0, 1, "start", predicted)
        with pytest.raises(InputError, match="progress"):
            storage.add_question(ann.id, 0, 1, "start", progress=predicted)
    for weight in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="finite and not negative"):
            storage.add_answer(ann.id, 0, 1, "left", weight=weight)
    with pytest.raises(InputError, match="left, right, tie, skip"):
        storage.add_answer(ann.id, 0, 1, "both")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="time zone"):
        storage.add_answer(ann.id, 0, 1, "left", at=datetime(2026, 1, 1))
    assert storage.events(ann.id) == storage.questions(ann.id) == []


# Answers and undos


def test_an_answer_comes_back_as_it_was_told(storage: Storage, ann: RespondentRecord) -> None:
    question = storage.add_question(ann.id, 3, 1, "start")
    asked = storage.add_answer(ann.id, 3, 1, "right", question_id=question.id, weight=1e-300, at=NOON)
    unasked = storage.add_answer(ann.id, 0, 5, "skip", weight=0)
    assert asked == AnswerRecord(asked.id, ann.id, question.id, 3, 1, "right", 1e-300, NOON)
    assert unasked == AnswerRecord(unasked.id, ann.id, None, 0, 5, "skip", 0.0, unasked.told)
    assert storage.events(ann.id) == [asked, unasked]


def test_numbers_of_numpy_are_kept_as_numbers(storage: Storage, ann: RespondentRecord) -> None:
    left, right = np.array([2, 4])
    question = storage.add_question(ann.id, left, right, "start", np.float32(0.5))
    answer = storage.add_answer(ann.id, left, right, "left", question_id=question.id, weight=np.float32(2))
    assert storage.questions(ann.id) == [question]
    assert storage.events(ann.id) == [answer]
    kept = question.left, question.predicted, answer.right, answer.weight
    assert [type(value) for value in kept] == [int, float, int, float]


def test_times_come_back_in_utc_to_the_microsecond(storage: Storage, ann: RespondentRecord) -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    for at in (NOON, NOON.replace(microsecond=0), NOON.astimezone(east), datetime(1969, 7, 20, tzinfo=UTC)):
        storage.add_answer(ann.id, 0, 1, "left", at=at)
        kept = storage.events(ann.id)[-1].told
        assert kept == at
        assert kept.tzinfo is UTC
    before = datetime.now(UTC)
    storage.add_answer(ann.id, 0, 1, "left")
    assert before <= storage.events(ann.id)[-1].told <= datetime.now(UTC)


def test_telling_the_same_again_adds_nothing(storage: Storage, ann: RespondentRecord) -> None:
    question = storage.add_question(ann.id, 0, 1, "start")
    answer = storage.add_answer(ann.id, 0, 1, "left", question_id=question.id)
    assert storage.add_answer(ann.id, 0, 1, "left", question_id=question.id, at=NOON) == answer
    assert storage.add_answer(ann.id, 1, 0, "right", question_id=question.id) == answer
    for told in ((0, 1, "right"), (1, 0, "left"), (0, 1, "tie"), (0, 1, "skip")):
        with pytest.raises(AnsweredError, match="has another answer, 'left'"):
            storage.add_answer(ann.id, *told, question_id=question.id)
    with pytest.raises(AnsweredError):
        storage.add_answer(ann.id, 0, 1, "left", question_id=question.id, weight=2.0)
    assert storage.events(ann.id) == [answer]


def test_answers_to_no_question_are_all_kept(storage: Storage, ann: RespondentRecord) -> None:
    told = [storage.add_answer(ann.id, 0, 1, choice) for choice in ("left", "left", "right")]
    assert storage.events(ann.id) == told


def test_an_answer_is_to_the_respondents_own_question_about_its_items(
    storage: Storage, ann: RespondentRecord
) -> None:
    bob = storage.add_respondent(ann.study_id, "Bob", "token of Bob")
    question = storage.add_question(ann.id, 0, 1, "start")
    with pytest.raises(UnknownStudyError, match="asked no question"):
        storage.add_answer(bob.id, 0, 1, "left", question_id=question.id)
    with pytest.raises(UnknownStudyError, match="the items 0 and 1, not 0 and 2"):
        storage.add_answer(ann.id, 0, 2, "left", question_id=question.id)
    assert storage.events(ann.id) == storage.events(bob.id) == []


CHOICE = Judgement("choice", ((-1,), (4, 0, 2)))
JUDGEMENTS = [
    CHOICE,
    Judgement("best-worst", ((5,), (1, 2), (0,))),
    Judgement("ranking", ((3,), (0, 4), (2,))),
    Judgement("rating", ((3,),), 0.1 + 0.2, (-1.0, 0.1 + 0.2, 5e300)),
]


def test_judgements_come_back_as_they_were_told(storage: Storage, ann: RespondentRecord) -> None:
    """Bit for bit, in order with the other answers, counted with them, and undone as they are."""
    weights = [1.0, 0.1 + 0.2, 5e-324, 0.0]
    made: list[Any] = [storage.add_answer(ann.id, 0, 1, "left")]
    made += [
        storage.add_judgement(ann.id, one, weight=weight, at=NOON)
        for one, weight in zip(JUDGEMENTS, weights, strict=True)
    ]
    made.append(storage.add_undo(ann.id, made[1].id))
    assert storage.events(ann.id) == made
    assert [one.judgement for one in made[1:5]] == JUDGEMENTS
    assert storage.respondents(ann.study_id)[0][1] == storage.studies()[0].n_answers == 4
    assert storage.pairs(ann.id) == {(0, 1)}
    with pytest.raises(AnsweredError, match="undone already"):
        storage.add_undo(ann.id, made[1].id)


def test_judgements_of_other_items_or_nobody_are_refused(storage: Storage, ann: RespondentRecord) -> None:
    with pytest.raises(InputError, match="6 is no item of the study"):
        storage.add_judgement(ann.id, Judgement("ranking", ((0,), (6,))))
    with pytest.raises(UnknownStudyError, match="no respondent with the id 99"):
        storage.add_judgement(99, CHOICE)
    with pytest.raises(InputError, match="weight is -1"):
        storage.add_judgement(ann.id, CHOICE, weight=-1)
    assert storage.events(ann.id) == []


def test_questions_about_sets_and_their_answers_come_back_as_they_were(
    storage: Storage, ann: RespondentRecord
) -> None:
    """One standing answer each; the same again adds nothing; a seed is fixed once."""
    first = storage.add_set_question(ann.id, (2, 0, 1), "random", (0.5, 0.25, 0.25), progress=0.5, at=NOON)
    pair = storage.add_question(ann.id, 0, 1, "random")
    again = storage.add_set_question(ann.id, (1, 0, 2), "repeat", again=True)
    assert first is not None and pair is not None and again is not None
    assert storage.questions(ann.id) == [first, pair, again] and storage.pairs(ann.id) == {(0, 1)}
    said = Judgement("best-worst", ((2,), (0,), (1,)))
    told = storage.add_judgement(ann.id, said, question_id=first.id)
    assert storage.add_judgement(ann.id, said, question_id=first.id) == told
    skipped = storage.add_skip(ann.id, again.id)
    assert storage.add_skip(ann.id, again.id) == skipped
    with pytest.raises(AnsweredError):
        storage.add_skip(ann.id, first.id)
    with pytest.raises(InputError, match="is about a pair"):
        storage.add_skip(ann.id, pair.id)
    undone = storage.add_undo(ann.id, skipped.id)
    assert storage.events(ann.id) == [told, skipped, undone]
    assert (storage.use_seed(ann.id, 3), storage.use_seed(ann.id, 4)) == (3, 3)


@pytest.mark.parametrize(
    "damage",
    ["[0, 1, 2]", '{"items": [0, 0, 1], "chances": null}', '{"items": [0, 1, 2], "chances": [2, 0, 0]}'],
)
def test_a_damaged_set_is_a_sentence(shared: str, damage: str) -> None:
    storage = open_storage(shared)
    ann = storage.add_respondent(make(storage).id, "Ann", "token")
    storage.add_set_question(ann.id, (0, 1, 2), "random")
    storage.close()
    run(shared, f"UPDATE questions SET items = '{damage}'")
    with pytest.raises(StorageDamagedError, match=f"^Question 1 of respondent {ann.id} is damaged: .*check"):
        storage.questions(ann.id)
    storage.close()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("vote", ((0,), (1,))), "has the shape 'vote'; it must be one of choice"),
        (("ranking", ((0,), ())), "must have positions of items in every place"),
        (("ranking", ((0,), ("1",))), "must have positions of items in every place"),
        (("ranking", ((0,), (1, 0))), "has an item twice"),
        (("ranking", ((-1,), (1,))), "has the position -1"),
        (("ranking", ((1,),)), "must be of two or more"),
        (("best-worst", ((0, 1), (2,))), "must have one best, one worst"),
        (("choice", ((0,), (1,)), 3.0), "must have no rating"),
        (("rating", ((0,), (1,)), 3.0, (3.0,)), "must be of one item"),
        (("rating", ((0,),), float("nan"), (1.0,)), "rating that is no finite number"),
        (("rating", ((0,),), 2.0, (1.0, 3.0)), "has the rating 2.0; it must be one of its scale"),
        (("rating", ((0,),), 10**400, (10**400,)), "rating that is no finite number"),
    ],
)
def test_a_judgement_that_says_nothing_is_refused(given: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Judgement(*given)


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"shape": "choice"}', '{"shape": "choice", "places": [[0], [0]]}', "1e999"]
)
def test_a_damaged_judgement_is_a_sentence(shared: str, damage: str) -> None:
    storage = open_storage(shared)
    ann = storage.add_respondent(make(storage).id, "Ann", "token")
    number = storage.add_judgement(ann.id, CHOICE).id
    storage.close()
    run(shared, f"UPDATE events SET judgement = '{damage}'")
    with pytest.raises(
        StorageDamagedError, match=f"^Answer {number} of respondent {ann.id} is damaged: .*check"
    ):
        storage.events(ann.id)
    storage.close()


def test_an_answer_is_undone_once_and_may_be_told_again(storage: Storage, ann: RespondentRecord) -> None:
    question = storage.add_question(ann.id, 0, 1, "start")
    first = storage.add_answer(ann.id, 0, 1, "left", question_id=question.id)
    undo = storage.add_undo(ann.id, first.id, at=NOON)
    assert undo == UndoRecord(undo.id, ann.id, first.id, NOON)
    with pytest.raises(AnsweredError, match="undone already"):
        storage.add_undo(ann.id, first.id)
    second = storage.add_answer(ann.id, 0, 1, "right", question_id=question.id)
    assert storage.add_answer(ann.id, 0, 1, "right", question_id=question.id) == second
    assert storage.events(ann.id) == [first, undo, second]
    assert first.id < undo.id < second.id
    assert storage.respondents(ann.study_id) == [(ann, 1)]


def test_only_ones_own_answers_are_undone(storage: Storage, ann: RespondentRecord) -> None:
    bob = storage.add_respondent(ann.study_id, "Bob", "token of Bob")
    answer = storage.add_answer(ann.id, 0, 1, "left")
    undo = storage.add_undo(ann.id, answer.id)
    for respondent, number in ((bob, answer.id), (ann, undo.id)):
        with pytest.raises(UnknownStudyError, match="gave no answer"):
            storage.add_undo(respondent.id, number)
    assert storage.events(bob.id) == []


def test_after_and_latest_choose_the_end_in_order(storage: Storage, ann: RespondentRecord) -> None:
    bob = storage.add_respondent(ann.study_id, "Bob", "token of Bob")
    for i in range(1, 6):
        storage.add_question(ann.id, 0, i, "start")
        answer = storage.add_answer(ann.id, 0, i, "left")
        storage.add_answer(bob.id, 0, i, "left")
    storage.add_undo(ann.id, answer.id)
    for read in (storage.events, storage.questions):
        everything = read(ann.id)
        ids = [record.id for record in everything]
        assert ids == sorted(ids)
        for latest in (None, 0, 1, 3, 10**30):
            for i in range(len(ids)):
                rest = everything[i + 1 :]
                chosen = rest if latest is None else rest[max(0, len(rest) - latest) :]
                assert read(ann.id, after=ids[i], latest=latest) == chosen
        assert read(ann.id, latest=2) == everything[-2:]


# Batches, threads and processes


def test_a_batch_is_kept_whole(storage: Storage, ann: RespondentRecord) -> None:
    with storage.batch():
        question = storage.add_question(ann.id, 0, 1, "start")
        with storage.batch():
            storage.add_answer(ann.id, 0, 1, "left", question_id=question.id)
        assert len(storage.events(ann.id)) == 1
    assert len(storage.events(ann.id)) == 1


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_batch_that_fails_leaves_nothing(
    storage: Storage, ann: RespondentRecord, error: type[BaseException]
) -> None:
    """Also what an inner batch, which ended well, had done; and a study that it deleted is back."""
    kept = storage.add_answer(ann.id, 0, 1, "left")

    def fail() -> None:
        with storage.batch():
            storage.add_undo(ann.id, kept.id)
            storage.add_question(ann.id, 2, 3, "start")
            with storage.batch():
                make(storage, "new")
            storage.delete_study("study")
            raise error

    with pytest.raises(error):
        fail()
    assert storage.events(ann.id) == [kept]
    assert storage.questions(ann.id) == []
    assert storage.items(ann.study_id) == ITEMS
    assert storage.respondents(ann.study_id) == [(ann, 1)]
    assert [summary.name for summary in storage.studies()] == ["study"]
    storage.add_undo(ann.id, kept.id)


def test_a_refusal_caught_inside_of_a_batch_does_not_harm_it(storage: Storage, ann: RespondentRecord) -> None:
    with storage.batch():
        question = storage.add_question(ann.id, 0, 1, "start")
        first = storage.add_answer(ann.id, 0, 1, "left", question_id=question.id)
        for call in (
            lambda: storage.add_answer(ann.id, 0, 1, "right", question_id=question.id),
            lambda: make(storage),
            lambda: storage.add_respondent(ann.study_id, "Bob", ann.token),
        ):
            with pytest.raises(InputError):
                call()
        second = storage.add_answer(ann.id, 0, 2, "left")
    assert storage.events(ann.id) == [first, second]


def test_other_threads_neither_see_nor_join_a_batch(storage: Storage, ann: RespondentRecord) -> None:
    """What another thread adds meanwhile is kept though the batch fails; it never sees half of it."""
    seen: list[int] = []

    def look_and_tell() -> None:
        seen.append(len(storage.events(ann.id)))
        storage.add_answer(ann.id, 0, 2, "right")
        storage.close()

    other = threading.Thread(target=look_and_tell)

    def fail() -> None:
        with storage.batch():
            storage.add_answer(ann.id, 0, 1, "left")
            other.start()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    other.join()
    assert seen == [0]
    assert [event.right for event in storage.events(ann.id)] == [2]


def test_threads_at_once_make_one_of_each(storage: Storage, ann: RespondentRecord) -> None:
    """Eight threads make the same respondent, ask the same pairs and answer the same question."""
    question = storage.add_question(ann.id, 4, 5, "start")
    start = threading.Barrier(8)

    def work(i: int) -> tuple[RespondentRecord, int, AnswerRecord]:
        start.wait()
        respondent = storage.add_respondent(ann.study_id, "Bob", f"token {i}")
        pairs = [(0, 1), (1, 0), (0, 2), (2, 3)]
        asked = [storage.add_question(ann.id, *pair, "start") for pair in pairs]
        answer = storage.add_answer(ann.id, 4, 5, "left", question_id=question.id)
        return respondent, sum(one is not None for one in asked), answer

    with ThreadPoolExecutor(8) as pool:
        respondents, asked, answers = zip(*pool.map(work, range(8)), strict=True)
    assert len(set(respondents)) == len(set(answers)) == 1
    assert sum(asked) == 3
    assert len(storage.questions(ann.id)) == 4
    assert len(storage.events(ann.id)) == 1


def test_batches_of_several_respondents_never_wait_for_each_other_in_a_ring(storage: Storage) -> None:
    """Two threads tell for the same two respondents in opposite orders."""
    study = make(storage)
    pair = [storage.add_respondent(study.id, name, name).id for name in "ab"]

    def work(order: list[int]) -> None:
        for _ in range(10):
            with storage.batch():
                for respondent in order:
                    storage.add_answer(respondent, 0, 1, "left")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, [pair, pair[::-1]]))
    assert [count for _, count in storage.respondents(study.id)] == [20, 20]


def test_a_closed_storage_opens_again_when_it_is_used(storage: Storage, ann: RespondentRecord) -> None:
    storage.close()
    storage.close()
    assert storage.respondents(ann.study_id) == [(ann, 0)]


def test_what_one_storage_adds_another_sees(shared: str) -> None:
    one, two = open_storage(shared), open_storage(shared)
    ann = one.add_respondent(make(one).id, "Ann", "token")
    answer = two.add_answer(ann.id, 0, 1, "left")
    assert one.events(ann.id) == [answer]
    one.close()
    two.close()


def test_many_may_open_a_new_database_at_once(shared: str) -> None:
    start = threading.Barrier(8)

    def work(i: int) -> str:
        start.wait()
        storage = open_storage(shared)
        name = make(storage, str(i)).name
        storage.close()
        return name

    with ThreadPoolExecutor(8) as pool:
        names = sorted(pool.map(work, range(8)))
    storage = open_storage(shared)
    assert [summary.name for summary in storage.studies()] == names
    storage.close()


# Connections


def test_a_connection_that_the_server_dropped_is_made_anew() -> None:
    storage = open_storage(url := postgres.fresh_url())
    ann = storage.add_respondent(make(storage).id, "Ann", "token")
    drop = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    for call in (lambda: storage.add_answer(ann.id, 0, 1, "left"), lambda: storage.events(ann.id)):
        postgres.execute(url, drop)
        call()
    assert len(storage.events(ann.id)) == 1
    storage.close()


def test_a_connection_dropped_inside_of_a_batch_loses_the_batch_and_says_so() -> None:
    storage = open_storage(url := postgres.fresh_url())
    ann = storage.add_respondent(make(storage).id, "Ann", "token")

    def interrupted() -> None:
        with storage.batch():
            storage.add_answer(ann.id, 0, 1, "left")
            drop = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            postgres.execute(url, drop)
            storage.add_answer(ann.id, 0, 2, "left")

    with pytest.raises(StorageUnavailableError, match="cannot be reached"):
        interrupted()
    assert storage.events(ann.id) == []
    storage.close()


def test_a_batch_that_the_server_gave_up_is_never_taken_for_kept() -> None:
    database = PostgresDatabase(postgres.fresh_url())

    def swallow() -> None:
        with database.batch(), suppress(StorageDamagedError):
            database.rows("SELECT nothing")

    with pytest.raises(StorageUnavailableError, match="undid all of it"):
        swallow()
    database.close()


def test_every_read_is_a_lookup_in_an_index(tmp_path: Path) -> None:
    """SQLite says of no statement that it scans a table, but for the list of all studies."""
    plans: list[str] = []

    class Explained(SqliteDatabase):
        def _run(self, statement: str, values: Any) -> Any:
            if statement.startswith(("SELECT", "DELETE")) and "sqlite_master" not in statement:
                plans.extend(row[3] for row in super().execute(f"EXPLAIN QUERY PLAN {statement}", values))
            return super()._run(statement, values)

    storage = Storage(Explained(str(tmp_path / "study.db")))
    plans.clear()
    ann = storage.add_respondent(make(storage).id, "Ann", "token")
    question = storage.add_question(ann.id, 0, 1, "start")
    answer = storage.add_answer(ann.id, 0, 1, "left", question_id=question.id)
    storage.add_undo(ann.id, answer.id)
    storage.add_judgement(ann.id, CHOICE)
    storage.questions(ann.id, latest=1)
    storage.events(ann.id, latest=1)
    assert not any("B-TREE" in plan for plan in plans)
    storage.respondents(ann.study_id)
    storage.studies()
    storage.delete_study("study")
    storage.close()
    assert len(plans) > 20
    # Only counting looks at all of a respondent's events, and at nothing but an index.
    rows = [plan for plan in plans if re.match("SEARCH (events|questions|undo) ", plan)]
    assert all(re.search(" AND | COVERING |rowid=", plan) for plan in rows)
    assert {plan for plan in plans if "SCAN" in plan} == {"SCAN studies"}


def test_drivers_are_imported_only_when_they_are_needed() -> None:
    code = "import sys, coombs.storage; print(sorted({'psycopg', 'sqlite3', 'scipy'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# What cannot be opened


def test_a_storage_passes_through(storage: Storage) -> None:
    assert open_storage(storage) is storage


@pytest.mark.parametrize("url", ["memory:", "sqlite://", "sqlite:///:memory:"])
def test_each_storage_in_memory_is_new(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By our name and by SQLAlchemy's and Optuna's two; no file is made."""
    monkeypatch.chdir(tmp_path)
    make(open_storage(url))
    assert open_storage(url).studies() == []
    assert list(tmp_path.iterdir()) == []


FORK = """
import os
from coombs.storage import Item, open_storage
storage = open_storage("memory:")
study = storage.create_study("study", ["x"], [Item("a", (1.0,)), Item("b", (2.0,))], {})
ann = storage.add_respondent(study.id, "Ann", "token").id
storage.add_answer(ann, 0, 1, "left")
child = os.fork()
if not child:
    storage.add_answer(ann, 0, 1, "right")
    os._exit(len(storage.events(ann)))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(storage.events(ann)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_a_copy_of_what_is_in_memory() -> None:
    run = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["2", "1"]


def test_a_relative_path_is_of_the_folder_where_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    storage = open_storage("sqlite:///a study.db")
    storage.close()
    monkeypatch.chdir(tmp_path / "other")
    make(storage)
    storage.close()
    assert [path.name for path in tmp_path.iterdir()] == ["a study.db", "other"]


NO_URLS = [
    "",
    "study.db",
    "sqlite:study.db",
    "sqlite://study.db",
    "sqlite:///",
    "memory",
]
NO_KINDS = ["mysql://ann:secret@host/db", "mysql://ann:sec@ret@host/db", None, Path("study.db")]


@pytest.mark.parametrize("url", [*NO_URLS, *NO_KINDS])
def test_what_is_no_url_is_told_what_would_be_one(url: Any) -> None:
    with pytest.raises(
        InputError, match=r"it must be memory:, sqlite:///file.db, .* or postgresql://"
    ) as error:
        open_storage(url)
    assert "sec" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:secret@127.0.0.1:1/db",
        "postgres://127.0.0.1:1/db?user=ann&password=secret",
        "postgresql://ann:secret@127.0.0.1:port/db",
        "postgresql://ann:secret@127.0.0.1:1/db?colour=red",
        "postgresql://ann:sec@ret@127.0.0.1:1/db",
        "postgresql://ann:sec/ret@127.0.0.1:1/db",
        "postgresql://ann:sec?ret@127.0.0.1:1/db",
        "postgresql://ann:secret%zz@127.0.0.1:1/db",
    ],
)
def test_a_server_that_is_not_there_is_a_sentence_without_the_password(url: str) -> None:
    kinds = (InputError, StorageUnavailableError)
    with pytest.raises(kinds, match=r"^The PostgreSQL .*; .*must .*[a-z2]F?\.$") as error:
        open_storage(url)
    assert "sec" not in str(error.value)
    assert "sec" not in "".join(traceback.format_exception(error.value))


def test_a_database_that_is_not_there_is_a_sentence() -> None:
    url = postgres.fresh_url().replace("/postgres?", "/nothing?")
    with pytest.raises(StorageUnavailableError, match=r"'nothing' at .* cannot be reached .*does not exist"):
        open_storage(url)


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "coombs.storage.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"pip install 'coombs\[postgres\]'"):
        open_storage("postgresql://localhost/db")


def test_a_file_that_is_no_database_is_a_sentence_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 1000)
    with pytest.raises(InputError, match=r"notes.*' cannot be used \(file is not a database\); it must be"):
        open_storage(f"sqlite:///{path}")
    assert path.read_text() == "Dear diary, " * 1000
    with pytest.raises(InputError, match="not a file that can be written to"):
        open_storage(f"sqlite:///{tmp_path}")
    with pytest.raises(InputError, match=r"there is no folder .*absent'; make it first"):
        open_storage(f"sqlite:///{tmp_path}/absent/study.db")


@pytest.mark.skipif(
    not Path("/proc/version").exists(), reason="needs a folder that even root cannot write to"
)
def test_a_folder_that_cannot_be_written_to_is_a_sentence() -> None:
    with pytest.raises(InputError, match="folder that can be written to"):
        open_storage("sqlite:////proc/study.db")


def run(url: str, script: str) -> None:
    """Run statements, past the storage."""
    if url.startswith("postgres"):
        postgres.execute(url, script)
    else:
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(script)


def test_a_database_of_another_program_is_left_alone(shared: str) -> None:
    run(shared, "CREATE TABLE items (price INTEGER)")
    with pytest.raises(InputError, match=r"cannot be used .*items.* already exists"):
        open_storage(shared)
    run(shared, "INSERT INTO items (price) VALUES (1); CREATE TABLE studies (name TEXT)")


def test_a_newer_schema_is_refused_in_a_sentence(shared: str) -> None:
    open_storage(shared).close()
    run(shared, "UPDATE coombs_schema SET version = 99")
    with pytest.raises(
        InputError, match=r"is of version 99, made by a newer coombs.* install a newer coombs"
    ):
        open_storage(shared)


def old(url: str, version: int = 1) -> None:
    """Make an old database: SQLite's from a dump, PostgreSQL's from its statements and that data."""
    dump = (DATA / f"storage_v{version}.sql").read_text()
    if url.startswith("sqlite"):
        return run(url, dump)
    tables = ("studies", "items", "priors", "respondents", "questions", "events", "coombs_schema")
    inserts = [re.findall(rf'^INSERT INTO "{table}" .*?\);$', dump, re.M | re.S) for table in tables]
    for statements in VERSIONS[:version]:
        run(url, in_dialect(statements, PostgresDatabase))
    run(url, "CREATE TABLE coombs_schema (version INTEGER NOT NULL)")
    run(url, "".join(statement for table in inserts for statement in table))
    for table in ("studies", "respondents", "questions", "events"):
        run(url, f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT MAX(id) FROM {table}))")


def test_a_database_of_version_1_opens_with_everything_in_it(shared: str) -> None:
    old(shared)
    storage = open_storage(shared)
    study = storage.study("Ann's wines ✓")
    assert (study.feature_names, study.settings) == (("acid", "sugar"), {"strategy": "entropy"})
    assert storage.items(study.id)[1] == Item("Riesling; 'trocken'", (0.1 + 0.2, 1e-300), {"region": "Mosel"})
    (ann, n_ann), (bob, n_bob) = storage.respondents(study.id)
    assert [(ann.name, ann.token, n_ann), (bob.name, bob.token, n_bob)] == [
        ("Ann", "tA", 2),
        ("Bob", "tB", 1),
    ]
    assert [(q.left, q.right, q.purpose, q.predicted) for q in storage.questions(ann.id)] == [
        (0, 1, "start", None),
        (2, 0, "entropy", None),
    ]
    first, undo, second, third = storage.events(ann.id)
    assert (first.choice, first.told) == ("left", NOON)
    assert undo == UndoRecord(undo.id, ann.id, first.id, NOON)
    assert (second.choice, second.question_id) == ("right", storage.questions(ann.id)[0].id)
    assert (third.choice, third.question_id, third.weight) == ("skip", None, 0.1 + 0.2)
    assert storage.add_question(ann.id, 0, 1, "check", 0.25, again=True).predicted == 0.25
    storage.close()


def test_a_database_of_version_3_keeps_its_predictions_under_their_new_name(shared: str) -> None:
    """The column was called foretold."""
    old(shared, 3)
    storage = open_storage(shared)
    ((ann, count),) = storage.respondents(storage.study("Ann's wines ✓").id)
    assert (ann.name, ann.token, count) == ("Ann", "tA", 1)
    assert [(q.left, q.right, q.purpose, q.predicted, q.progress) for q in storage.questions(ann.id)] == [
        (0, 1, "start", None, None),
        (2, 0, "information", 0.1 + 0.2, 0.25),
    ]
    assert storage.add_question(ann.id, 1, 2, "probe", 0.75).predicted == 0.75
    assert [question.predicted for question in storage.questions(ann.id, latest=2)] == [0.1 + 0.2, 0.75]
    storage.close()


def test_a_database_of_version_4_keeps_its_answers_and_takes_judgements(shared: str) -> None:
    """The events moved to another table: with their undos and ids, after which others follow."""
    old(shared, 4)
    storage = open_storage(shared)
    ((ann, count),) = storage.respondents(storage.study("Ann's wines ✓").id)
    first, second, undo, skip = storage.events(ann.id)
    assert [one.id for one in (first, second, undo, skip)] == [1, 2, 3, 4] and count == 2
    assert (first.choice, second.choice, undo.answer_id) == ("left", "right", first.id)
    assert (skip.choice, skip.weight, skip.told) == ("skip", 0.1 + 0.2, NOON)
    new = storage.add_judgement(ann.id, Judgement("ranking", ((0,), (1, 2))))
    assert new.id == 5
    with pytest.raises(AnsweredError, match="undone already"):
        storage.add_undo(ann.id, first.id)
    storage.delete_study("Ann's wines ✓")
    assert storage.studies() == []
    storage.close()


def test_ids_count_the_questions_and_answers_of_one_respondent_alone(storage: Storage) -> None:
    """Nobody can tell from a number how much others were asked and said."""
    study = make(storage)
    people = [storage.add_respondent(study.id, name, name).id for name in ("Ann", "Bob")]
    for number in (1, 2, 3):
        for person in people:
            question = storage.add_question(person, 0, number, "start")
            assert question is not None
            assert question.id == number
            assert storage.add_answer(person, 0, number, "left", question_id=number).id == number
    assert storage.add_undo(people[1], 3).id == 4
    assert [event.id for event in storage.events(people[0])] == [1, 2, 3]
    with pytest.raises(UnknownStudyError, match="gave no answer 4"):
        storage.add_undo(people[0], 4)


def test_a_database_of_version_6_goes_on_with_its_ids(shared: str) -> None:
    """Which were everybody's together; the next ones are each respondent's own."""
    old(shared, 6)
    storage = open_storage(shared)
    ann, bob = (person.id for person, _ in storage.respondents(storage.study("wines").id))
    assert [one.id for one in storage.questions(ann)] == [1, 3]
    assert [one.id for one in storage.events(bob)] == [2, 4]
    before = storage.state(1)
    assert storage.add_answer(ann, 2, 0, "tie", question_id=3).id == 6
    assert storage.add_question(bob, 1, 2, "start").id == 3
    assert storage.state(1) > before
    with pytest.raises(AnsweredError, match="undone already"):
        storage.add_undo(bob, 2)
    assert (storage.use_prior(ann), len(storage.priors(1))) == (1, 1)
    assert isinstance(storage.events(ann)[1], JudgementRecord)
    storage.delete_study("wines")
    storage.close()


def test_many_may_open_an_old_database_at_once(shared: str) -> None:
    old(shared)
    start = threading.Barrier(8)

    def work(_: int) -> int:
        start.wait()
        storage = open_storage(shared)
        answers = storage.studies()[0].n_answers
        storage.close()
        return answers

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [3] * 8


def test_versions_of_a_prior_are_kept_in_order_and_fixed_for_each_person(storage: Storage) -> None:
    """A version that is fixed stays, whatever comes later; 0 is none; a deleted study has none left."""
    study = make(storage)
    ann, bob = (storage.add_respondent(study.id, name, token=name) for name in ("Ann", "Bob"))
    assert storage.priors(study.id) == [] and storage.use_prior(ann.id) is None
    assert storage.use_prior(bob.id, 0) == 0
    counts = {"n_people": 12, "n_answers": 90}
    first = storage.add_prior(study.id, '{"a": "ü"}', **counts, source="given", at=NOON)
    second = storage.add_prior(study.id, "{}", **counts, source="study")
    assert (first.version, second.version, first.created) == (1, 2, NOON)
    assert storage.priors(study.id) == [first, second]
    assert storage.prior_text(study.id, 1) == '{"a": "ü"}'
    assert storage.use_prior(ann.id, 1) == storage.use_prior(ann.id, 2) == storage.use_prior(ann.id) == 1
    assert storage.use_prior(bob.id, 2) == 0
    for wrong in (
        lambda: storage.prior_text(study.id, 3),
        lambda: storage.priors(study.id + 1),
        lambda: storage.use_prior(10**30),
        lambda: storage.add_prior(study.id + 1, "{}", **counts, source="study"),
    ):
        with pytest.raises(UnknownStudyError):
            wrong()
    with pytest.raises(InputError, match="source of the prior is 'dream'"):
        storage.add_prior(study.id, "{}", **counts, source="dream")
    with pytest.raises(InputError, match="number of people is -1"):
        storage.add_prior(study.id, "{}", n_people=-1, n_answers=0, source="study")
    storage.delete_study(study.name)
    again = make(storage)
    assert storage.priors(again.id) == []


def test_items_are_added_marked_and_given_more_features_in_every_storage(storage: Storage) -> None:
    study = storage.create_study("tea", ["size"], [Item("a", (1.0,)), Item("b", (2.0,))], {})
    at = datetime(2026, 1, 31, tzinfo=UTC)
    storage.set_features(study.id, ["size", "new"], {0: (1.0, 0.0), 1: (2.0, 0.0)})
    storage.add_items(study.id, [Item("a", (3.0, 1.0), {"x": "y"}, at, None, 0)])
    storage.retire_items(study.id, [0, 1], at=at)
    storage.restore_items(study.id, [1])
    old, other, new = storage.items(study.id)
    assert (old.retired, other.retired, old.features) == (at, None, (1.0, 0.0))
    assert new == Item("a", (3.0, 1.0), {"x": "y"}, at, None, 0)
    assert storage.study("tea").feature_names == ("size", "new")
    assert storage.studies()[0].n_items == 2
    storage.add_log(study.id, "Items changed.")
    person = storage.add_respondent(study.id, "Ann", "token")
    events, line = storage.events_and_log(person.id)
    assert events == [] and line == storage.log(study.id)[-1].id
    with pytest.raises(UnknownStudyError):
        storage.add_items(study.id + 99, [])
