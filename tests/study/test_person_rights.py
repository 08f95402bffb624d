"""What is stored of a person: shown, deleted down to the bytes, made anonymous, kept as long as promised."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import postgres
import pytest

from coombs import Comparisons, InputError, create_study, delete_study, import_study, load_study
from coombs.storage import Judgement, RespondentRecord, Storage, UnknownStudyError, open_storage
from coombs.study import Study, apply_retention, check_storage, study_jsonl
from coombs.study.history import History
from coombs.study.participation import arrive
from coombs.study.shared_prior import LearnedPrior

ANN = "Ann Eleonora Kowalczyk"
"""A name that comes by chance in no file."""


@pytest.fixture
def storage() -> Storage:
    return open_storage("memory:")


@pytest.fixture(params=["sqlite", "postgres"])
def each(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    """Of every kind of database."""
    opened = open_storage(
        f"sqlite:///{tmp_path}/study.db" if request.param == "sqlite" else postgres.fresh_url()
    )
    yield opened
    opened.close()


def made(storage: Storage | str) -> Study:
    """Two people, of whom one answered a question and more, took an answer back, and ranked three."""
    items = np.random.default_rng(0).normal(size=(8, 2))
    study = create_study(items, "taste", storage=storage)
    ann = study.respondent(ANN)
    ann.tell(ann.ask(), "left")
    ann.tell((3, 4))
    ann.undo()
    study.storage.add_judgement(ann.record.id, Judgement("ranking", ((2,), (0, 1))))
    study.respondent("Bob").tell((1, 2))
    return study


def with_prior(study: Study) -> None:
    """Learned from everybody, and both are asked by it."""
    number = study.record.id
    study.storage.add_prior(number, "{}", n_people=2, n_answers=4, source="study")
    for person, _ in study.storage.respondents(number):
        study.storage.use_prior(person.id, 1)


def test_nothing_of_a_deleted_person_is_left_and_others_stay(each: Storage) -> None:
    storage = each
    study = made(storage)
    bob = study.respondent("Bob").history()
    person = study.respondent(ANN).record
    assert study.delete_respondent(ANN) == 2
    assert study.respondents() == {"Bob": 1}
    assert study.respondent("Bob").history() == bob
    for table in ("questions", "events"):
        assert storage.database.rows(f"SELECT 1 FROM {table} WHERE respondent_id = ?", person.id) == []
    with pytest.raises(UnknownStudyError, match="link is nobody's"):
        storage.by_token(person.token)
    with pytest.raises(UnknownStudyError, match="nobody named"):
        study.delete_respondent(ANN)


def test_a_deletion_is_logged_without_the_name(storage: Storage) -> None:
    study = made(storage)
    study.delete_respondent(ANN)
    (line,) = study.log()
    assert line.what == "A person with 2 answers was deleted."
    assert datetime.now(UTC) - line.happened < timedelta(minutes=5)


def test_what_was_learned_from_everybody_goes_with_whoever_is_deleted(storage: Storage) -> None:
    study = made(storage)
    with_prior(study)
    study.delete_respondent(ANN)
    assert storage.priors(study.record.id) == []
    bob = study.respondent("Bob")
    assert storage.use_prior(bob.record.id) is None
    assert bob.ask() is not None


def test_what_is_being_learned_while_somebody_is_deleted_is_not_kept(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = made(storage)
    monkeypatch.setattr(study.priors, "is_due", lambda: True)

    def fit(answers: Comparisons, _: str) -> LearnedPrior:
        if ANN in study.respondents():
            study.delete_respondent(ANN)
        return LearnedPrior("{}", 2, len(answers))

    assert study.priors.learn(fit) is None and storage.priors(study.record.id) == []
    assert study.priors.learn(fit) is not None


def test_what_was_learned_stays_when_somebody_goes_who_said_nothing(storage: Storage) -> None:
    study = made(storage)
    study.respondent("Cem")
    with_prior(study)
    study.delete_respondent("Cem")
    assert [one.n_people for one in storage.priors(study.record.id)] == [2]


def test_a_prior_that_was_given_stays(storage: Storage) -> None:
    study = made(storage)
    storage.add_prior(study.record.id, "{}", n_people=9, n_answers=9, source="given")
    study.delete_respondent(ANN)
    assert [one.source for one in storage.priors(study.record.id)] == ["given"]


def test_an_anonymous_person_keeps_answers_and_nothing_else(each: Storage) -> None:
    storage = each
    study = made(storage)
    old, before = study.respondent(ANN).record, study.respondent(ANN).history()
    storage.database.change(
        "UPDATE respondents SET external_id = ?, fields = ?, language = ? WHERE id = ?",
        *("p1", '{"age": "40"}', "de", old.id),
    )
    called = study.anonymise_respondent(ANN)
    assert study.respondents() == {called: 2, "Bob": 1}
    assert [one.places for one in study.respondent(called).history()] == [one.places for one in before]
    columns = "external_id, fields, language"
    assert storage.database.rows(f"SELECT {columns} FROM respondents WHERE id = ?", old.id) == [(None,) * 3]
    with pytest.raises(UnknownStudyError):
        storage.by_token(old.token)
    with pytest.raises(UnknownStudyError):
        storage.by_token(storage.respondents(study.record.id)[0][0].token)
    assert list(study.links()) == ["Bob"]
    assert study.anonymise_respondent("Bob") != called


def test_a_link_that_was_renewed_or_revoked_opens_nothing(storage: Storage) -> None:
    study = made(storage)
    first = study.links()[ANN]
    second = study.renew_link(ANN)
    assert storage.by_token(second)[1].name == ANN
    study.revoke_link(ANN)
    for token in (first, second):
        with pytest.raises(UnknownStudyError, match="link is nobody's"):
            storage.by_token(token)
    assert ANN not in study.links() and study.respondents()[ANN] == 2
    third = study.renew_link(ANN)
    assert study.links()[ANN] == third not in (first, second)


def messages(storage: Storage, study: Study) -> list[str]:
    """Bodies of deliveries, of which two are about Ann."""
    storage.database.change(
        "INSERT INTO webhooks (study_id, address, secret, topics, created) VALUES (?, ?, ?, ?, ?)",
        *(study.record.id, "https://example.org", "s", "answer", datetime.now(UTC)),
    )
    ((number,),) = storage.database.rows("SELECT id FROM webhooks")
    ann, bob = (study.respondent(name).record.id for name in (ANN, "Bob"))
    about = {"respondent": ann, "answer": 1}, {"respondent": ann}, {"respondent": bob, "answer": 1}
    bodies = [json.dumps(one) for one in about]
    for body in bodies:
        storage.database.change(
            "INSERT INTO deliveries (webhook_id, topic, body, created, tries) VALUES (?, 'answer', ?, ?, 0)",
            *(number, body, datetime.now(UTC)),
        )
    return bodies


@pytest.mark.parametrize("end", ["delete_respondent", "anonymise_respondent"])
def test_messages_about_a_person_go_with_them(storage: Storage, end: str) -> None:
    study = made(storage)
    bodies = messages(storage, study)
    getattr(study, end)(ANN)
    assert storage.database.rows("SELECT body FROM deliveries") == [(bodies[2],)]


@pytest.mark.parametrize("end", ["delete_respondent", "anonymise_respondent"])
def test_a_file_does_not_hold_the_bytes_of_who_is_gone(tmp_path: Path, end: str) -> None:
    """Neither it nor its log, also where the row was changed before, and other connections are open."""
    path = tmp_path / "study.db"
    study = made(f"sqlite:///{path}")
    messages(study.storage, study)
    if end == "delete_respondent":
        with_prior(study)
    token = study.renew_link(ANN)
    other = open_storage(f"sqlite:///{path}")
    reader = threading.Thread(target=other.studies)
    reader.start()
    reader.join()
    getattr(study, end)(ANN)
    stored = b"".join(one.read_bytes() for one in sorted(tmp_path.iterdir()))
    assert b"Bob" in stored
    assert ANN.encode() not in stored and token.encode() not in stored
    if end == "delete_respondent":
        assert study.storage.database.rows("PRAGMA freelist_count") == [(0,)]
    study.storage.close_all()
    other.close_all()
    assert check_storage(f"sqlite:///{path}").is_sound


def test_a_file_that_somebody_reads_is_overwritten_once_they_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coombs.storage.sqlite._READERS", 0.0)
    path = tmp_path / "study.db"
    study = made(f"sqlite:///{path}")
    reading = open_storage(f"sqlite:///{path}")
    other = reading.database.connection.driver_connection
    other.execute("BEGIN")
    other.execute("SELECT * FROM respondents").fetchall()
    study.delete_respondent(ANN)
    assert study.respondents() == {"Bob": 1}
    other.execute("ROLLBACK")
    study.storage.checkpoint()
    assert all(ANN.encode() not in one.read_bytes() for one in tmp_path.iterdir())


def test_a_file_does_not_hold_the_bytes_of_a_deleted_study(tmp_path: Path) -> None:
    study = made(f"sqlite:///{tmp_path}/study.db")
    delete_study("taste", storage=study.storage)
    assert all(ANN.encode() not in one.read_bytes() for one in tmp_path.iterdir())


def test_others_answer_on_while_people_are_deleted(tmp_path: Path) -> None:
    """In other processes' connections: every answer that was confirmed is there, and nothing else is."""
    url = f"sqlite:///{tmp_path}/study.db"
    study = create_study([[float(i)] for i in range(9)], "busy", storage=url)
    people = [study.respondent(f"P{i}").record for i in range(3)]
    told: dict[str, int] = {}
    done = threading.Event()

    def answer(person: RespondentRecord) -> None:
        own, number = open_storage(url), 0
        while not done.is_set():
            own.add_answer(person.id, number % 9, (number + 1) % 9, "left")
            number += 1
        told[person.name] = number
        own.close()

    threads = [threading.Thread(target=answer, args=[person]) for person in people]
    for one in threads:
        one.start()
    for i in range(6):
        study.respondent(f"gone {i}").tell((1, 0))
        study.delete_respondent(f"gone {i}")
    done.set()
    for one in threads:
        one.join()
    assert study.respondents() == told and min(told.values()) > 0
    study.storage.close_all()
    assert check_storage(url).is_sound


def test_an_id_does_not_open_what_was_revoked(storage: Storage) -> None:
    """Neither by the study's open link."""
    study = made(storage)
    came = arrive(study, "p1")
    study.revoke_link(came.name)
    with pytest.raises(InputError, match="takes part already"):
        arrive(study, "p1")


def test_whoever_answers_while_deleted_gets_a_sentence(storage: Storage) -> None:
    study = made(storage)
    ann = study.respondent(ANN)
    question = ann.ask()
    assert question is not None
    load_study("taste", storage=storage).delete_respondent(ANN)
    for act in (lambda: ann.tell(question, "left"), ann.ask, ann.undo, ann.history):
        with pytest.raises(UnknownStudyError):
            act()


def test_everything_of_a_person_is_in_their_export(storage: Storage, tmp_path: Path) -> None:
    study = made(storage)
    study.export_respondent(ANN, tmp_path / "ann.json")
    study.export_respondent(ANN, tmp_path / "ann.csv")
    found = json.loads((tmp_path / "ann.json").read_text())
    person = study.respondent(ANN).record
    history = History.of(storage, person.id)
    assert found["person"]["name"] == ANN and found["study"] == "taste"
    assert [one["id"] for one in found["questions"]] == list(history.questions)
    standing = [one["id"] for one in found["answers"] if one["undone"] is None]
    assert standing == list(history.answers) and len(found["answers"]) == 3
    assert person.token not in (tmp_path / "ann.json").read_text()
    with (tmp_path / "ann.csv").open() as file:
        assert {row["user"] for row in csv.DictReader(file)} == {ANN}
    with pytest.raises(InputError, match=r"\.json or \.csv"):
        study.export_respondent(ANN, tmp_path / "ann.txt")


@pytest.mark.parametrize(("action", "left"), [("delete", []), ("anonymise", ["Anonymous 1", "Anonymous 2"])])
def test_data_is_kept_no_longer_than_the_owner_said(each: Storage, action: str, left: list[str]) -> None:
    """Until the end of that day, and then it is done once."""
    storage = each
    study = made(storage)
    study.set_retention("2030-01-31", action)
    assert apply_retention(storage, today=date(2030, 1, 31)) == []
    assert len(study.respondents()) == 2
    (done,) = apply_retention(storage, today=date(2030, 2, 1))
    assert (done.study, done.action, done.n_people) == ("taste", action, 2)
    assert list(study.respondents()) == left
    assert study.retention is None and "2 people" in study.log()[-1].what
    study.respondent("Dee")
    assert apply_retention(storage, today=date(2030, 2, 2)) == [] and "Dee" in study.respondents()


def test_data_is_kept_for_ever_unless_the_owner_says_otherwise(storage: Storage) -> None:
    study = made(storage)
    assert study.retention is None
    study.set_retention(date(2030, 1, 31))
    kept = load_study("taste", storage=storage).retention
    assert kept is not None and (kept.until, kept.action) == (date(2030, 1, 31), "delete")
    study.set_retention(None)
    assert study.retention is None and apply_retention(storage, today=date(2099, 1, 1)) == []


@pytest.mark.parametrize(
    ("until", "action", "message"),
    [
        ("tomorrow", "delete", "must be one, as 2027"),
        (7, "delete", "date"),
        ("2030-01-31", "burn", "delete or"),
    ],
)
def test_a_wrong_retention_is_refused(until: object, action: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        made("memory:").set_retention(until, action)  # type: ignore[arg-type]


def test_an_exported_study_keeps_its_log_its_retention_and_revoked_links(tmp_path: Path) -> None:
    study = made("memory:")
    study.delete_respondent("Bob")
    study.revoke_link(ANN)
    study.set_retention("2030-01-31", "anonymise")
    study = load_study("taste", storage=study.storage)
    study.export(tmp_path / "study.jsonl")
    again = import_study(tmp_path / "study.jsonl", storage="memory:")
    assert [(one.what, one.happened) for one in again.log()] == [(o.what, o.happened) for o in study.log()]
    assert again.links() == {} and again.respondents() == study.respondents()
    assert again.retention == study.retention


def test_a_study_without_some_versions_of_its_prior_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after somebody was deleted between two that were given."""
    any_prior = SimpleNamespace(for_features=lambda *_: None, with_features=lambda _: any_prior)
    monkeypatch.setattr(study_jsonl, "people_prior_of", lambda _: any_prior)
    study, text = made("memory:"), "{}"
    number = study.record.id
    for source in ("given", "study", "given"):
        study.storage.add_prior(number, text, n_people=3, n_answers=9, source=source)
    study.storage.use_prior(study.respondent("Cem").record.id, 3)
    study.delete_respondent("Bob")
    study.export(tmp_path / "study.jsonl")
    again = import_study(tmp_path / "study.jsonl", storage="memory:")
    assert len(again.storage.priors(again.record.id)) == 2
    assert again.storage.use_prior(again.respondent("Cem").record.id) == 2
