"""What people of a study see: validated with sentences, kept by versions, carried by exports."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import postgres
import pytest

from coombs import InputError, create_study, import_study, load_study
from coombs.storage import Storage, UnknownStudyError, open_storage
from coombs.storage.records import new_token
from coombs.study import PersonField, Presentation, Settings, Study, check_storage
from coombs.study.participation import finish, take_back
from coombs.study.person_fields import fields_in
from coombs.study.presentation import participant_id

ITEMS = np.random.default_rng(0).normal(size=(12, 2))
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FIELDS = (
    PersonField("Age group", "choice", ("under 30", "30 and over"), required=True),
    PersonField("Town"),
    PersonField("Years in school", "number", asked="after"),
)


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request: pytest.FixtureRequest) -> Iterator[Storage]:
    made = open_storage("memory:" if request.param == "sqlite" else postgres.fresh_url())
    yield made
    made.close_all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"title": 7}, "title is 7; it must be text"),
        ({"title": "a\nb"}, "several lines"),
        ({"title": "a" * 301}, "301 characters; it may have 300"),
        ({"introduction": "a\0b"}, "no page can show"),
        ({"consent": "\ud800"}, "no page can show"),
        ({"redirect": "javascript:alert(1)"}, "must be a web address"),
        ({"redirect": "ftp://example.org"}, "must be a web address"),
        ({"redirect": "https://"}, "must be a web address"),
        ({"redirect": "https://a b.org"}, "must be a web address"),
        ({"redirect": "https://{pid}.example.org"}, "must be a web address"),
        ({"redirect": "http://[1"}, "must be a web address"),
        ({"shows_result": "yes"}, "must be True or False"),
        ({"language": "xx"}, "one of en"),
        ({"language": []}, "one of en"),
        ({"opens": "soon"}, "it must be a time, ISO 8601"),
        ({"closes": datetime(2026, 1, 1)}, "has no time zone"),
        ({"opens": NOON, "closes": NOON}, "before it opens; give a later time"),
        ({"fields": "Age"}, "a list of fields"),
        ({"fields": [{"name": "Age"}]}, "it may have"),
        ({"fields": ["Age"]}, "it may have"),
        ({"fields": [{"label": "Age"}] * 2}, "Two fields are called 'Age'"),
        ({"fields": [{"label": f"{i}"} for i in range(51)]}, "there may be 50"),
        ({"parameters": "STUDY_ID"}, "a list of names"),
        ({"id_parameter": None}, "must be text"),
    ],
)
def test_what_cannot_be_shown_gets_a_sentence(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Presentation(**wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"label": " "}, "not blank"),
        ({"label": "a:b"}, "must not have ':'"),
        ({"label": "a|b"}, "without '|'"),
        ({"label": "Age*"}, "at its end"),
        ({"label": "Age", "kind": "date"}, "one of text, choice, number"),
        ({"label": "Age", "asked": "now"}, "before or after"),
        ({"label": "Age", "required": 1}, "True or False"),
        ({"label": "Age", "kind": "choice"}, "two to 200 different choices"),
        ({"label": "Age", "kind": "choice", "choices": ["a", "a"]}, "different choices"),
        ({"label": "Age", "kind": "choice", "choices": "ab"}, "must be a list"),
        ({"label": "Age", "choices": ["a", "b"]}, "must be choice then"),
    ],
)
def test_a_field_that_cannot_be_asked_gets_a_sentence(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        PersonField(**wrong)


def test_fields_are_the_same_as_lines_and_as_json() -> None:
    text = "\n".join(one.line for one in FIELDS if one.asked == "before")
    shown = Presentation(fields=FIELDS)
    assert fields_in(text, "before") == shown.before
    assert Presentation.of(shown.to_dict()) == shown
    assert fields_in("Age*: number\n\n Town : text ", "after") == (
        PersonField("Age", "number", (), True, "after"),
        PersonField("Town", asked="after"),
    )


def test_what_is_said_of_oneself_is_checked() -> None:
    group, town, years = FIELDS
    assert (
        group.checked("under 30") == "under 30" and town.checked("") == "" and years.checked("3,5") == "3.5"
    )
    for field, said, words in (
        (group, "", "needed to go on"),
        (group, "99", "must be one of under 30"),
        (years, "many", "must be a number"),
        (years, "nan", "must be a number"),
        (town, "a" * 1001, "1000 plain characters"),
    ):
        with pytest.raises(InputError, match=words):
            field.checked(said)


def test_the_participants_id_cannot_leave_its_place_in_the_address() -> None:
    shown = Presentation(redirect="https://example.org/done?id={pid}&x=1")
    assert shown.redirect_for("a&b=ü/?#") == "https://example.org/done?id=a%26b%3D%C3%BC%2F%3F%23&x=1"
    assert Presentation().redirect_for("a") == ""


def test_the_first_known_parameter_is_the_participants_id() -> None:
    shown = Presentation(id_parameter="rid")
    assert participant_id({"PROLIFIC_PID": "p", "x": "y"}, shown) == "p"
    assert participant_id({"PROLIFIC_PID": "p", "rid": " r "}, shown) == "r"
    assert participant_id({"rid": ""}, shown) is None
    with pytest.raises(InputError, match="cannot be used"):
        participant_id({"pid": "a\nb"}, shown)


def test_a_study_is_open_between_its_dates() -> None:
    shown = Presentation(opens=NOON, closes=NOON + timedelta(hours=1))
    times = [NOON - timedelta(seconds=1), NOON, NOON + timedelta(hours=1)]
    assert [shown.state(at) for at in times] == ["not open yet", "open", "closed"]


def test_a_change_is_a_new_version_and_the_same_is_none(storage: Storage) -> None:
    study = create_study(ITEMS, "points", storage=storage, presentation=Presentation(title="One"))
    assert study.presentation.title == "One" and study.presentations.latest == 1
    study.present(title="Two")
    study.present(title="Two")
    again = create_study(ITEMS, "points", storage=storage, presentation=Presentation(title="Two"))
    other = load_study("points", storage=storage)
    assert other.title == "Two" and other.presentations.latest == 2
    assert other.presentation == again.presentation == Presentation(title="Two")
    assert other.presentations.latest == 2 and other.presentations.version(1).title == "One"
    with pytest.raises(InputError, match="'colour' is nothing about what people see"):
        study.present(colour="red")
    with pytest.raises(InputError, match="must be a Presentation"):
        create_study(ITEMS, "third", storage=storage, presentation={"title": "x"})  # type: ignore[arg-type]
    with pytest.raises(UnknownStudyError):
        other.presentations.version(9)


def test_closing_and_opening_again_is_seen_by_others(storage: Storage) -> None:
    study = create_study(ITEMS, "points", storage=storage)
    other = load_study("points", storage=storage)
    study.present(opens=datetime.now(UTC) + timedelta(days=1))
    assert other.presentation.state() == "not open yet"
    study.close()
    assert other.presentation.state() == "closed"
    study.close()
    assert study.presentations.latest == 2
    study.reopen()
    assert other.presentation.state() == "open"


def test_settings_that_change_are_kept_and_some_never_do(storage: Storage) -> None:
    study = create_study(ITEMS, "points", storage=storage, top=2)
    assert study.change_settings(questions=3, certainty=0.7).questions == 3
    other = load_study("points", storage=storage)
    assert other.settings == study.settings and other.settings.top == 2
    assert other.stored_goal == (2, 0.7) == study.stored_goal
    with pytest.raises(InputError, match="metric, seed cannot change"):
        study.change_settings(seed=2, metric="full")
    with pytest.raises(InputError, match="'pace' is nothing about how a study asks"):
        study.change_settings(pace=2)
    with pytest.raises(InputError, match="give one of the two"):
        study.change_settings(most_questions=9)
    assert load_study("points", storage=storage).settings.most_questions is None


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "7", 100_001])
def test_a_number_of_questions_is_whole_and_positive(wrong: Any) -> None:
    with pytest.raises(InputError, match="whole number from 1"):
        Settings(questions=wrong)
    with pytest.raises(InputError, match="whole number from 1"):
        Settings(most_questions=wrong)


def _answer_all(study: Study, most: int) -> int:
    for n in range(most):
        question = study.ask()
        if question is None:
            return n
        study.tell(question, "skip" if n == 1 else "left")
    return most


def test_a_fixed_number_of_questions_is_just_that_skips_counted() -> None:
    study = create_study(ITEMS, storage="memory:", questions=4)
    assert _answer_all(study, 9) == 4
    progress = study.progress()
    assert str(progress) == "4 of 4 questions" and progress.fraction == 1 and study.done()
    assert study.current() is None and study.respondent().turn()[0] is None
    study.undo()
    assert not study.done() and study.progress().questions_left == 1
    question = study.ask()
    assert question is not None
    study.tell(question, "left")
    assert study.ask() is None
    # Certainty is still there for whoever asks for it.
    assert not study.done(k=1, certainty=0.99)


def test_whoever_is_done_stays_done_when_others_are_asked_more() -> None:
    """Until an answer is taken back: then there is what everybody gets."""
    study = create_study([[0.0], [1.0], [2.0], [3.0]], storage="memory:", questions=2)
    ann, bob = study.respondent("ann"), study.respondent("bob")
    for person in (ann, bob):
        person.tell(person.ask(), "skip")
    ann.tell(ann.ask(), "skip")
    finish(ann)
    study.change_settings(questions=5)
    found, others = ann.progress(), bob.progress()
    assert (str(found), found.fraction, found.questions_left, found.reached) == (
        "2 of 2 questions",
        1,
        0,
        True,
    )
    assert ann.done() and ann.ask() is None and ann.turn()[1] == found
    assert (str(others), others.fraction, others.questions_left) == ("1 of 5 questions", 0.2, 4)
    take_back(ann)
    assert str(ann.progress()) == "1 of 5 questions" and not ann.done()


def test_how_many_questions_are_left_is_told_only_where_it_is_known() -> None:
    """Until certain there is a most; a number that nobody knows is not told."""
    items = [[float(i), float(i * 7 % 12)] for i in range(12)]
    open_end = create_study(items, storage="memory:")
    at_most = create_study(items, storage="memory:", most_questions=9)
    for study in (open_end, at_most):
        study.tell(study.ask(), "left")
    assert open_end.progress().at_most is None and "more" not in str(open_end.progress())
    assert at_most.progress().at_most == 8 and str(at_most.progress()).endswith("certain yet, 8 more at most")


def test_until_certain_ends_at_the_most() -> None:
    study = create_study(ITEMS, storage="memory:", most_questions=3, top=5, certainty=0.99)
    assert _answer_all(study, 9) == 3 and study.done()


def test_the_open_link_is_switched_and_renewed(storage: Storage) -> None:
    study = create_study(ITEMS, "points", storage=storage)
    assert study.open_token is None
    first = study.switch_open_link()
    assert (
        first is not None and study.switch_open_link() == first and storage.by_open_token(first) == "points"
    )
    second = study.switch_open_link(renew=True)
    assert second not in (None, first)
    assert study.switch_open_link(False) is None
    for gone in (first, second, ""):
        with pytest.raises(UnknownStudyError, match="not in use"):
            storage.by_open_token(str(gone))


def test_what_somebody_does_is_kept_with_them(storage: Storage) -> None:
    study = create_study(ITEMS, "points", storage=storage, presentation=Presentation(consent="Yes?"))
    number = study.record.id
    made = storage.add_respondent(number, "P7", "one", source="open link", external_id="7", fields={"a": "b"})
    storage.set_consent(made.id, 1, "de", at=NOON)
    storage.set_fields(made.id, {"Age": "41"})
    first = storage.set_finished(made.id, at=NOON)
    assert storage.set_finished(made.id).finished == NOON == first.consented
    assert storage.participant("one").record == storage.by_external_id(number, "7") == first
    assert first.fields == {"a": "b", "Age": "41"} and (first.language, first.consent_version) == ("de", 1)
    assert storage.set_finished(made.id, False).finished is None
    with pytest.raises(InputError, match="this token or id"):
        storage.add_respondent(number, "other", "two", external_id="7")
    assert storage.by_external_id(number, "8") is None
    anew = storage.start_anew(made.id, "three")
    assert anew is not None and anew.fields == {} and anew.consented is None and anew.token == "three"
    storage.add_answer(made.id, 0, 1, "left")
    assert storage.start_anew(made.id, "four") is None


def test_an_export_brings_all_of_it_back(tmp_path: Path, storage: Storage) -> None:
    study = create_study(ITEMS, "points", storage=storage, questions=4)
    study.export(tmp_path / "plain.jsonl")
    assert '"version": 2' in (tmp_path / "plain.jsonl").read_text()
    study.present(consent="Yes?", opens=NOON, fields=FIELDS)
    study.present(consent="Really?")
    people = [storage.add_respondent(study.record.id, "P7", new_token(), source="open link", external_id="7")]
    storage.set_consent(people[0].id, 1, "de")
    storage.set_fields(people[0].id, {"Town": "Ulm", "Age group": ""})
    storage.set_finished(people[0].id)
    study.respondent("Ann")
    study.export(tmp_path / "all.jsonl")
    back = import_study(tmp_path / "all.jsonl", storage=f"sqlite:///{tmp_path / 'back.db'}")
    assert back.presentation == study.presentation and back.presentations.version(1).consent == "Yes?"
    assert back.settings.questions == 4

    def known(one: Study) -> list[dict[str, Any]]:
        own = ("id", "study_id", "token")
        stored = one.storage.respondents(one.record.id)
        return [{k: v for k, v in vars(record).items() if k not in own} for record, _ in stored]

    assert known(back) == known(study)
    back.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "all.jsonl").read_text()
    back.storage.close_all()
    assert check_storage(f"sqlite:///{tmp_path / 'back.db'}").is_sound


def test_a_damaged_presentation_is_found(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = create_study(ITEMS, "points", storage=url, presentation=Presentation(title="One"))
    study.storage.database.change("""UPDATE presentations SET content = '{"title": 7}'""")
    study.storage.set_consent(study.respondent("Ann").record.id, 4)
    study.storage.close_all()
    lacks, fault = check_storage(url).faults
    assert "1 of the rows of its table respondents lack the version of the presentation" in lacks.sentence
    assert "Version 1 of the presentation of the study 'points'" in fault.sentence


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"kind": "presentation", "version": 2, "content": {}, "created": "2026-01-01"}', "must be 1"),
        ('{"kind": "presentation", "version": 1, "content": {"title": 7}, "created": "2026-01-01"}', "text"),
        ('{"kind": "respondent", "id": 1, "name": "a", "created": "2026-01-01", "seed": -1}', "not negative"),
        (
            '{"kind": "respondent", "id": 1, "name": "a", "created": "2026-01-01", "consent_version": 3}',
            "presentation 3",
        ),
    ],
)
def test_a_broken_line_is_refused(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "study.jsonl"
    create_study(ITEMS, storage="memory:").export(path)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match=words):
        import_study(path, storage="memory:")
