"""Files in and out: what was exported comes back as it was, and broken files are refused by line."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import postgres
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from coombs.data import files, formats
from coombs.data.catalogue import item_table
from coombs.data.comparisons import Comparisons, InputError
from coombs.storage import AnswerRecord, Judgement, Storage, StudyExistsError, UndoRecord, open_storage
from coombs.study import Study, create_study, import_study
from coombs.study.answer_files import export_answers, import_answers
from coombs.study.history import History
from coombs.study.study_jsonl import export_study

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

NOON = datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=UTC)
HARD = ["tie", "Tie", "TIE", "skip", "left", "right", "=1+1", "'=1", "''", "-5", "@x", " a ", "\t", "a\r\nb"]
HARD += ["NaN", "None", "3.0", "Ωmega 漢字 🎲", 'say "no", please', "\r", "\ufeff", "'", "2026-01-01"]

any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
names = st.sampled_from(HARD) | any_text
people = names.filter(lambda name: name.strip() != "")
weights = st.sampled_from([0.0, 1.0, 0.1 + 0.2, 5e-324, 1e9]) | st.floats(0, 1e6)
times = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC))


@contextmanager
def folder() -> Iterator[Path]:
    """A new folder for one example."""
    made = postgres.quick_folder()
    try:
        yield made
    finally:
        shutil.rmtree(made)


def frame(called: list[str]) -> Any:
    """Items of these names."""
    return pd.DataFrame({"x": np.arange(len(called)) / 3}, index=pd.Index(called, dtype=object))


@st.composite
def items(draw: st.DrawFn) -> Any:
    """Three to five items, with and without names."""
    n = draw(st.integers(3, 5))
    if draw(st.booleans()):
        return np.arange(2.0 * n).reshape(n, 2)
    return frame(draw(st.lists(names, min_size=n, max_size=n, unique=True)))


@st.composite
def judgements(draw: st.DrawFn, n_items: int) -> Judgement:
    """What may be said of some of the items."""
    shape = draw(st.sampled_from(["choice", "best-worst", "ranking", "rating"]))
    some = draw(st.permutations(range(n_items)))[: draw(st.integers(2, n_items))]
    if shape == "rating":
        scale = draw(st.lists(st.floats(-9, 9).map(lambda x: x + 0.0), min_size=1, max_size=12, unique=True))
        return Judgement(shape, ((some[0],),), draw(st.sampled_from(scale)), tuple(sorted(scale)))
    if shape == "choice":
        return Judgement(
            shape, ((some[0],), tuple(some[1:])) if draw(st.booleans()) else ((-1,), tuple(some))
        )
    if shape == "best-worst":
        return Judgement(shape, tuple(tier for tier in ((some[0],), tuple(some[2:]), (some[1],)) if tier))
    cut = draw(st.integers(1, len(some)))
    return Judgement(shape, tuple(tier for tier in (tuple(some[:cut]), tuple(some[cut:])) if tier))


@st.composite
def studies(draw: st.DrawFn, shapes: bool = True) -> Study:
    """Answers to questions and to none, some undone, and open questions, of up to three people."""
    study = create_study(draw(items()), draw(names.filter(str.strip)), storage="memory:", seed=7)
    for name in draw(st.lists(people, min_size=1, max_size=3, unique=True)):
        respondent = study.storage.add_respondent(study.record.id, name, f"secret of {name}", at=draw(times))
        for _ in range(draw(st.integers(0, 6))):
            happen(draw, study.storage, respondent.id, study.n_items, shapes)
    return study


def happen(draw: st.DrawFn, storage: Storage, respondent: int, n_items: int, shapes: bool) -> None:
    """Something that may happen to a respondent."""
    log = History.of(storage, respondent)
    left = draw(st.integers(0, n_items - 1))
    right = (left + draw(st.integers(1, n_items - 1))) % n_items
    what = draw(st.sampled_from(["ask", "tell", "answer", "undo", *["judge"] * shapes]))
    if what == "judge":
        storage.add_judgement(respondent, draw(judgements(n_items)), weight=draw(weights), at=draw(times))
    elif what == "ask":
        predicted = draw(st.none() | st.floats(0, 1))
        storage.add_question(respondent, left, right, draw(any_text), predicted, again=True, at=draw(times))
    elif what == "undo" and log.answers:
        storage.add_undo(respondent, draw(st.sampled_from(list(log.answers))), at=draw(times))
    else:
        told = {answer.question_id for answer in log.answers.values()}
        unanswered = [number for number in log.questions if number not in told]
        question = draw(st.sampled_from(unanswered)) if what == "answer" and unanswered else None
        if question is not None:
            pair = log.questions[question].left, log.questions[question].right
            left, right = pair[::-1] if draw(st.booleans()) else pair
        choice: Any = draw(st.sampled_from(["left", "right", "tie", "skip"]))
        more: Any = {"question_id": question, "weight": draw(weights), "at": draw(times)}
        storage.add_answer(respondent, left, right, choice, **more)


def standing(study: Study) -> dict[str, list[tuple[Any, ...]]]:
    """What each respondent says, in order."""
    logs = {
        who.name: History.of(study.storage, who.id) for who, _ in study.storage.respondents(study.record.id)
    }
    return {name: [said(one) for one in log.answers.values()] for name, log in logs.items() if log.answers}


def said(answer: Any) -> tuple[Any, ...]:
    """An answer as a table has it: without the rest of its scale, if it is a rating."""
    if isinstance(answer, AnswerRecord):
        return answer.left, answer.right, answer.choice, answer.weight, answer.told
    one = answer.judgement
    return one.shape, one.places, one.rating, answer.weight, answer.told


def state(study: Study) -> list[Any]:
    """All that a study holds, without the numbers and tokens that a storage gives."""
    record, storage = study.record, study.storage
    found: list[Any] = [record.feature_names, record.settings, record.created, storage.items(record.id)]
    for who, n_answers in storage.respondents(record.id):
        log, events = History.of(storage, who.id), storage.events(who.id)
        order = [None, *log.questions]
        numbers = [event.id for event in events]
        asked = [(q.left, q.right, q.purpose, q.predicted, q.asked) for q in log.questions.values()]
        told = [
            (event.told, event.left, event.right, event.choice, event.weight, order.index(event.question_id))
            if isinstance(event, AnswerRecord)
            else (event.told, numbers.index(event.answer_id))
            if isinstance(event, UndoRecord)
            else (event.told, event.judgement, event.weight)
            for event in events
        ]
        waiting = [None if one is None else order.index(one.id) for one in (log.open, log.reopened)]
        found.append((who.name, who.created, n_answers, asked, told, waiting))
    return found


def small(storage: str = "memory:") -> Study:
    return create_study(frame(["latte", "mocha", "tea"]), storage=storage)


def told(study: Study, name: str = "me") -> list[tuple[Any, ...]]:
    return [(one.left, one.right, one.choice, one.weight) for one in study.respondent(name).history()]


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


# Tables of answers


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@given(study=studies())
@settings(max_examples=60, deadline=None)
def test_exported_answers_come_back_as_they_stood(suffix: str, study: Study) -> None:
    """Names, choices, weights, times and order of every respondent."""
    assume(standing(study))
    with folder() as here:
        study.export(here / f"answers.{suffix}")
        again = create_study(study.catalogue, storage="memory:")
        assert again.import_answers(here / f"answers.{suffix}") == sum(map(len, standing(study).values()))
    assert standing(again) == standing(study)


@pytest.mark.slow
@given(study=studies(shapes=False))
@settings(max_examples=60, deadline=None)
def test_read_csv_takes_exported_answers_as_they_are(study: Study) -> None:
    """Also ties and skips about items that are called tie and skip."""
    counted = [one for answers in standing(study).values() for one in answers if one[2] != "skip"]
    assume(any(one[3] > 0 for one in counted))
    with folder() as here:
        study.export(here / "answers.csv")
        table = study.catalogue.table
        rows = [
            [*([] if table.names is None else [table.names[i]]), *row] for i, row in enumerate(table.matrix)
        ]
        header = ["item", "x"] if table.names is not None else ["x", "y"]
        files.write_csv(here / "items.csv", header, [[*row[:-1], float(row[-1])] for row in rows])
        data = Comparisons.read_csv(here / "items.csv", here / "answers.csv")
    signs = {"left": 1, "right": -1, "tie": 0}
    assert data.pairs.tolist() == [[one[0], one[1]] for one in counted]
    assert data.y.tolist() == [signs[one[2]] for one in counted]
    assert data.weights.tolist() == [one[3] for one in counted]


def test_ties_and_skips_about_items_called_so_are_not_wins(tmp_path: Path) -> None:
    """For `read_csv`, which knows no column choice and takes an item's name before a word."""
    called = ["tie", "Tie", "skip", "SKIP"]
    study = create_study(frame(called), storage="memory:")
    for pair, choice in (
        ((0, 1), "tie"),
        ((1, 0), "left"),
        ((2, 3), "skip"),
        ((3, 2), "tie"),
        ((0, 2), "right"),
    ):
        study.tell([called[i] for i in pair], choice)
    study.export(tmp_path / "answers.csv")
    files.write_csv(tmp_path / "items.csv", ["item", "x"], [[name, 1.0] for name in called])
    data = Comparisons.read_csv(tmp_path / "items.csv", tmp_path / "answers.csv")
    assert data.pairs.tolist() == [[0, 1], [1, 0], [3, 2], [0, 2]] and data.y.tolist() == [0, 1, 0, -1]


def test_exported_rows_say_what_was_asked(tmp_path: Path) -> None:
    """A row in full: the question, why, what was predicted, and both times."""
    study, at = small(), NOON + timedelta(seconds=5)
    ann = study.storage.add_respondent(study.record.id, "ann", "secret")
    asked = study.storage.add_question(ann.id, 0, 1, "probe", 0.25, at=NOON)
    assert asked is not None
    study.storage.add_answer(ann.id, 0, 1, "right", question_id=asked.id, weight=2, at=at)
    study.storage.add_answer(ann.id, 2, 1, "tie", at=at)
    export_answers(study, tmp_path / "answers.csv")
    with (tmp_path / "answers.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert first == {
        **{"user": "ann", "left": "latte", "right": "mocha", "winner": "mocha", "choice": "right"},
        **{"weight": "2.0", "question": str(asked.id), "purpose": "probe", "predicted": "0.25"},
        **{"asked": "2026-01-02T12:00:00.123456+00:00", "told": "2026-01-02T12:00:05.123456+00:00"},
    }
    assert (second["winner"], second["question"], second["purpose"], second["asked"]) == ("tie", "", "", "")
    export_answers(study, tmp_path / "answers.parquet")
    kept = pd.read_parquet(tmp_path / "answers.parquet")
    assert kept["question"].tolist()[0] == asked.id and pd.isna(kept["question"].tolist()[1])
    assert kept["predicted"].tolist()[0] == 0.25


def test_a_study_without_answers_gives_a_header_only(tmp_path: Path) -> None:
    """Nothing to say is no mistake when writing, but it is when reading."""
    study = small()
    study.export(tmp_path / "answers.csv")
    study.export(tmp_path / "answers.parquet")
    assert (tmp_path / "answers.csv").read_text().count("\n") == 1
    for name in ("answers.csv", "answers.parquet"):
        with pytest.raises(InputError, match="no rows"):
            study.import_answers(tmp_path / name)


@pytest.mark.filterwarnings("ignore:The column .user. is blank")
@pytest.mark.parametrize(
    "text",
    [
        "left,right,winner\nlatte,mocha,mocha\ntea,latte,skip\n",
        "Winner , LOSER\nmocha,latte\n",
        "user,winner,left,right,weight\n,right,latte,mocha,\n  ,skip,tea,latte,\n",
        "left,right,choice,winner\nlatte,mocha,right,latte\ntea,latte,SKIP,tea\n",
        "left,right,choice\nlatte,mocha, right\n",
    ],
)
def test_the_columns_may_be_any_that_read_csv_takes(tmp_path: Path, text: str) -> None:
    """Without a user it is "me"; choice goes before winner; skips are kept."""
    study = small()
    assert import_answers(study, write(tmp_path / "answers.csv", text)) == text.count("\n") - 1
    assert study.history()[0].winner == "mocha" and study.history()[0].weight == 1
    assert [one.choice for one in study.history()[1:]] == ["skip"] * (text.count("\n") - 2)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-01-02T12:00:00.123456Z", NOON),
        ("2026-01-02 14:00:00.123456+02:00", NOON),
        ("2026-01-02 12:00:00.123456", NOON),
        ("2026-01-02", datetime(2026, 1, 2, tzinfo=UTC)),
    ],
)
@pytest.mark.parametrize("column", ["told", "timestamp"])
def test_times_are_iso_and_in_utc_unless_they_say_otherwise(
    tmp_path: Path, column: str, text: str, at: datetime
) -> None:
    """In either column."""
    study = small()
    import_answers(study, write(tmp_path / "a.csv", f"winner,loser,{column}\ntea,latte,{text}\n"))
    assert study.history()[0].told == at


def test_a_blank_time_is_now(tmp_path: Path) -> None:
    study, before = small(), datetime.now(UTC)
    import_answers(study, write(tmp_path / "a.csv", "winner,loser,told\ntea,latte,\n"))
    assert before <= study.history()[0].told <= datetime.now(UTC)


@pytest.mark.parametrize("zone", [None, UTC, timezone(timedelta(hours=5))])
def test_parquet_may_hold_numbers_and_times_of_its_own_types(tmp_path: Path, zone: Any) -> None:
    """Positions, users and times as other programs write them."""
    at = NOON.astimezone(zone) if zone else NOON.replace(tzinfo=None)
    columns = {"left": [0, 2], "right": [1, 0], "winner": [1, 2], "user": [3.0, None]}
    table = pd.DataFrame({**columns, "timestamp": pd.to_datetime([at, None]), "weight": [2, 1]})
    table.to_parquet(tmp_path / "a.parquet")
    study = create_study(np.eye(3), storage="memory:")
    assert import_answers(study, tmp_path / "a.parquet") == 2
    assert told(study, "3") == [("0", "1", "right", 2.0)]
    assert told(study) == [("2", "0", "left", 1.0)]
    assert study.respondent("3").history()[0].told == NOON


def test_answers_join_those_that_are_there(tmp_path: Path) -> None:
    """A respondent keeps name, link and answers; one who is being asked sees the new ones."""
    study = small()
    study.tell(("tea", "latte"))
    token = study.respondent().record.token
    path = write(tmp_path / "a.csv", "user,winner,loser\nme,mocha,tea\nbob,tea,mocha\n")
    assert study.import_answers(path) == 2
    assert told(study) == [("tea", "latte", "left", 1.0), ("mocha", "tea", "left", 1.0)]
    assert study.respondents() == {"me": 2, "bob": 1}
    assert study.storage.respondents(study.record.id)[0][0].token == token


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_answers_are_added_all_or_not_at_all(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fails on the way, there is no new answer and no new respondent, and it can be tried again."""
    study = small("memory:" if kind == "memory" else f"sqlite:///{tmp_path}/x.db")
    path = write(tmp_path / "a.csv", "user,winner,loser\nann,mocha,tea\nbob,tea,mocha\n")
    with monkeypatch.context() as patch:
        calls = iter([study.storage.add_answer])
        patch.setattr(study.storage, "add_answer", lambda *args, **more: next(calls)(*args, **more))
        with pytest.raises(StopIteration):
            study.import_answers(path)
    assert study.respondents() == {}
    assert study.import_answers(path) == 2
    assert told(study, "ann") == [("mocha", "tea", "left", 1.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "left,right,winner\nlatte,tea,latte\nlatte,moca,latte\n",
            r"'moca' in line 3 .*did you mean 'mocha'",
        ),
        ("left,right,winner\nlatte,tea,mocha\n", r"winner of line 2 .* is 'mocha'; it must be"),
        ("left,right,choice\nlatte,tea,latte\n", r"choice of line 2 .* is 'latte'; it must be left"),
        ("left,right,choice\nlatte,tea,\n", r"choice of line 2 .* is missing"),
        ("left,right\nlatte,tea\n", r"columns left, right; needed are"),
        ("left,right,winner\nlatte,latte,latte\n", r"line 2 .* 'latte' is compared with itself"),
        ("winner,loser,weight\nlatte,tea,1\nlatte,tea,-1\n", r"Weight of line 3 .* is -1; it must be finite"),
        (
            "winner,loser,weight\nlatte,tea,1\nlatte,tea,\n",
            r"Weight of line 3 .* is missing; it must be finite",
        ),
        ("winner,loser,weight\nlatte,tea,much\n", r"Weight of line 2 .* is 'much'; it must be a number"),
        ("winner,loser,told\nlatte,tea,noon\n", r"time of line 2 .* is 'noon'; it must be ISO 8601"),
        ("winner,loser,told\nlatte,tea,1712111000123\n", r"time of line 2 .* it must be ISO 8601"),
        ("winner,loser,told\nlatte,tea,0001-01-01T00:00+05:00\n", r"time of line 2 .* it must be ISO 8601"),
        ("winner,loser,Winner\nlatte,tea,latte\n", r"More than one column of the answers is named 'winner'"),
        ("winner,loser\nlatte\n", r"Line 2 .* has 1 field; the header has 2"),
    ],
)
def test_broken_tables_are_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    """And nothing is added."""
    study = small()
    with pytest.raises(InputError, match=message):
        study.import_answers(write(tmp_path / "answers.csv", text))
    assert study.respondents() == {}


# Events


@pytest.mark.slow
@given(study=studies())
@settings(max_examples=80, deadline=None)
def test_a_study_comes_back_as_it_was(study: Study) -> None:
    """The same items, settings, questions, answers, undos and times; a second export is the same file."""
    with folder() as here:
        study.export(here / "study.jsonl")
        again = import_study(here / "study.jsonl", storage="memory:")
        again.export(here / "again.jsonl")
        assert (here / "study.jsonl").read_bytes() == (here / "again.jsonl").read_bytes()
    assert (again.name, again.settings, again.catalogue.names) == (
        study.name,
        study.settings,
        study.catalogue.names,
    )
    assert again.catalogue.details == study.catalogue.details
    assert np.array_equal(again.catalogue.table.matrix, study.catalogue.table.matrix)
    assert state(again) == state(study)


@given(study=studies())
@settings(max_examples=8, deadline=None)
def test_a_study_goes_through_every_kind_of_storage(study: Study) -> None:
    """Memory, SQLite, PostgreSQL if there is one, and back."""
    with folder() as here:
        urls = [f"sqlite:///{here}/x.db", "memory:"]
        if not isinstance(postgres._server(), str):
            urls.insert(1, postgres.fresh_url())
        last = study
        for url in urls:
            export_study(last, here / "study.jsonl")
            last = import_study(here / "study.jsonl", storage=url)
        assert state(last) == state(study)


def test_asking_goes_on_where_it_was(tmp_path: Path) -> None:
    """The same history, and after an undo the question that was reopened."""
    study = create_study(np.random.default_rng(0).normal(size=(8, 2)), storage="memory:", probes=0.5)
    for _ in range(5):
        question = study.ask()
        assert question is not None
        study.tell(question, "left")
    study.tell((3, 4))
    study.undo()
    undone = study.undo()
    study.export(tmp_path / "study.jsonl")
    again = import_study(tmp_path / "study.jsonl", storage=f"sqlite:///{tmp_path}/x.db", name="twin")

    def seen(one: Study) -> list[Any]:
        return [(a.positions, a.choice, a.told, a.purpose, a.probability) for a in one.history()]

    waiting = again.respondent().current()
    assert again.name == "twin" and seen(again) == seen(study) and len(seen(study)) == 4
    assert waiting is not None and undone is not None and waiting.positions == undone.positions
    assert waiting.probability == undone.probability


def test_links_are_secrets(tmp_path: Path) -> None:
    """No file holds a token, and imported respondents have new ones, also beside the old."""
    study = small()
    token = study.respondent("ann").record.token
    study.respondent("ann").tell(("tea", "latte"))
    for name in ("a.jsonl", "a.csv", "a.parquet"):
        study.export(tmp_path / name)
        assert token.encode() not in (tmp_path / name).read_bytes()
    again = import_study(tmp_path / "a.jsonl", storage=study.storage, name="again")
    assert again.respondent("ann").record.token != token


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    study = small()
    study.export(tmp_path / "a.jsonl")
    with pytest.raises(StudyExistsError, match="'study' already"):
        import_study(tmp_path / "a.jsonl", storage=study.storage)


HEAD = {"kind": "study", "format": "coombs study", "version": 2, "name": "s", "feature_names": ["x"]}
HEAD |= {"settings": {}, "created": "2026-01-01T00:00:00+00:00"}
AT = "2026-01-01T00:00:00+00:00"
LINES: list[dict[str, Any]] = [
    HEAD,
    {"kind": "item", "name": "a", "features": [1], "details": {}},
    {"kind": "item", "name": "b", "features": [2.5], "details": {"color": "red"}},
    {"kind": "respondent", "id": 1, "name": "ann", "created": AT},
    {"kind": "question", "id": 1, "respondent": 1, "left": 0, "right": 1, "purpose": "p", "predicted": 0.5}
    | {"asked": AT},
    {"kind": "answer", "id": 1, "respondent": 1, "question": 1, "left": 0, "right": 1, "choice": "left"}
    | {"weight": 1.0, "told": AT},
    {"kind": "undo", "answer": 1, "told": AT},
]


def changed(line: int, **more: Any) -> str:
    """The lines with one changed; a field that is ... is left out."""
    entry = {name: value for name, value in {**LINES[line - 1], **more}.items() if value is not ...}
    return "\n".join(json.dumps(one) for one in [*LINES[: line - 1], entry, *LINES[line:]])


def judged(judgement: Any) -> str:
    """The lines, and one more."""
    line = {"kind": "judgement", "id": 2, "respondent": 1, "judgement": judgement, "weight": 1.0, "told": AT}
    return changed(7) + "\n" + json.dumps(line)


def test_the_lines_below_are_a_study(tmp_path: Path) -> None:
    """Blank lines, a byte order mark and other line ends do no harm."""
    text = "\ufeff" + changed(1).replace("\n", "\r\n\r\n")
    study = import_study(write(tmp_path / "a.jsonl", text), storage="memory:")
    assert study.catalogue.names == ["a", "b"] and study.respondents() == {"ann": 0}
    assert study.catalogue.details[1] == {"color": "red"}


def test_a_file_of_version_1_is_read_with_what_it_foretold(tmp_path: Path) -> None:
    """Predictions had that name in files of answers and of whole studies."""
    text = changed(5, predicted=..., foretold=0.25).replace('"version": 2', '"version": 1')
    study = import_study(write(tmp_path / "a.jsonl", text), storage="memory:")
    ((respondent, _),) = study.storage.respondents(study.record.id)
    assert [question.predicted for question in study.storage.questions(respondent.id)] == [0.25]
    answers = write(tmp_path / "a.csv", "user,left,right,winner,purpose,foretold\nann,a,b,b,probe,0.25\n")
    assert study.import_answers(answers) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"a.jsonl: There are fewer than two items"),
        (
            changed(1, version=6),
            r"Line 1 of .*a.jsonl: It is of version 6, and this coombs reads up to version 5",
        ),
        (changed(1, version="1"), r"Line 1 .* version '1'; it must be 'coombs study', version 5"),
        (changed(1, format="other"), r"Line 1 .* It is 'other', version 2; it must be"),
        (changed(1, settings={"metric": "round"}), r"Line 1 .* metric is 'round'; it must be one of"),
        (changed(1, settings={"strategy": []}), r"Line 1 .* strategy is"),
        (changed(1, feature_names=[1]), r"Line 1 .* feature_names is \[1\]; it must be text"),
        (changed(1, created="soon"), r"Line 1 .* created is 'soon'; it must be ISO 8601"),
        (changed(2, **HEAD), r"Line 2 .* first line, and no other"),
        (changed(1, **LINES[1]), r"Line 1 .* first line, and no other"),
        (changed(3, name="a"), r"Line 3 .* The item 'a' is there already"),
        (changed(3, features=[1, 2]), r"Line 3 .* has 2 features; the study has 1"),
        (changed(3, features=["1"]), r"Line 3 .* features is \['1'\]; it must be a finite number"),
        (changed(3, details={"color": 1}), r"Line 3 .* details is .*; it must be text"),
        (changed(3, kind="respondent", id=1, created=AT), r"Line 3 .* fewer than two items"),
        (changed(4, name="zero \0"), r"Line 4 .* has a zero character"),
        (changed(5, respondent=7), r"Line 5 .* about respondent 7, which is on no line before"),
        (changed(5, left=2), r"Line 5 .* 2 and 1 are not two items of the study"),
        (changed(5, left=10**30), r"Line 5 .* are not two items of the study"),
        (changed(5, left=True), r"Line 5 .* left is True; it must be a whole number"),
        (changed(5, predicted=1.5), r"Line 5 .* predicted probability is 1.5; it must be from 0 to 1"),
        (changed(5, asked=...), r"Line 5 .* The question has no 'asked'; it must have id, respondent"),
        (changed(6, question=9), r"Line 6 .* about question 9, which is on no line before"),
        (changed(6, left=1, right=1), r"Line 6 .* Question 1 was put to another respondent or about other"),
        (changed(6, choice="up"), r"Line 6 .* The choice is 'up'; it must be one of"),
        (changed(6, weight=-1), r"Line 6 .* The weight is -1.0; it must be finite"),
        (changed(6, weight=float("inf")), r"Line 6 .* It has Infinity for a number; numbers must be finite"),
        (changed(6, weight=10**400), r"Line 6 .* numbers must be finite"),
        (changed(7, **{**LINES[5], "id": 2}), r"Line 7 .* Question 1 has an answer; it must be undone"),
        (judged({"shape": "vote", "places": [[0, 1]]}), r"Line 8 .* has the shape 'vote'; it must be one of"),
        (judged({"shape": "ranking", "places": [[0, 2]]}), r"Line 8 .* 2 is no item of the study"),
        (judged({"shape": "ranking", "places": [[0], [0]]}), r"Line 8 .* has an item twice"),
        (judged({"shape": "ranking", "places": [0, 1]}), r"Line 8 .* must be lists of positions"),
        (judged({"shape": "ranking"}), r"Line 8 .* must be an object with shape and places"),
        (judged([]), r"Line 8 .* judgement is \[\]; it must be an object"),
        (changed(7, answer=2), r"Line 7 .* about answer 2, which is on no line before"),
        (changed(7) + "\n" + json.dumps(LINES[6]), r"Line 8 .* about answer 1, which was undone"),
        (changed(7, kind="vote"), r"Line 7 .* of the kind 'vote'; it must be an object whose kind is one of"),
        (changed(7, kind=[]), r"Line 7 .* of the kind \[\]"),
        (changed(7) + "\n[1]", r"Line 8 .* of the kind None"),
        (changed(7)[:-9], r"Line 7 .* It is not JSON .*; it must be an object in JSON"),
        (changed(7) + "\n" + "[" * 100_000, r"Line 8 .* It is not JSON"),
    ],
)
def test_broken_lines_are_refused_by_number(tmp_path: Path, text: str, message: str) -> None:
    """In one sentence, and nothing of the study is kept."""
    storage = open_storage("memory:")
    with pytest.raises(InputError, match=message) as caught:
        import_study(write(tmp_path / "a.jsonl", text), storage=storage)
    assert storage.studies() == [] and "\n" not in str(caught.value)


def test_another_respondents_question_cannot_be_answered(tmp_path: Path) -> None:
    lines = [*LINES[:4], {**LINES[3], "id": 2, "name": "bob"}, LINES[4], {**LINES[5], "respondent": 2}]
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match=r"Line 7 .* put to another respondent"):
        import_study(path, storage="memory:")


@given(st.lists(st.text() | st.sampled_from([json.dumps(line) for line in LINES]), max_size=8))
@settings(max_examples=60, deadline=None)
def test_any_text_is_a_study_or_refused_in_words(lines: list[str]) -> None:
    """No other error than the one that says what is wrong."""
    with folder() as here:
        (here / "a.jsonl").write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
        with suppress(InputError):
            import_study(here / "a.jsonl", storage="memory:")


# Files


def test_paths_that_cannot_be_are_refused(tmp_path: Path) -> None:
    """The suffix, the folder and the file, each in words; and a failed import makes no database."""
    study = small()
    study.tell(("tea", "latte"))
    for name in ("a.xlsx", "a", "a.json"):
        with pytest.raises(InputError, match=r"must end in \.csv or \.parquet"):
            study.export(tmp_path / name)
    for suffix in ("csv", "parquet", "jsonl"):
        with pytest.raises(InputError, match=r"There is no folder .*none; make it"):
            study.export(tmp_path / "none" / f"a.{suffix}")
        (tmp_path / f"b.{suffix}").mkdir()
        with pytest.raises(InputError, match=r"cannot be written \(.*; give another path"):
            study.export(tmp_path / f"b.{suffix}")
        (tmp_path / f"b.{suffix}").rmdir()
    with pytest.raises(InputError, match=r"There is no file"):
        study.import_answers(tmp_path / "a.jsonl")
    with pytest.raises(InputError, match=r"There is no file"):
        import_study(tmp_path / "a.jsonl", storage=f"sqlite:///{tmp_path}/x.db")
    with pytest.raises(InputError, match=r"cannot be read"):
        import_study(tmp_path, storage="memory:")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is the old one or the whole new one, and nothing else is left behind."""
    study, path = small(), tmp_path / "a.csv"
    study.tell(("tea", "latte"))
    study.export(path)
    before = path.read_bytes()
    monkeypatch.setattr(study.storage, "questions", lambda number: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        study.export(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@given(names | st.text())
@example("''=1")
@example("'")
@settings(max_examples=300)
def test_guarded_text_is_no_formula_and_comes_back(text: str) -> None:
    assert formats.unguard(formats.guard(text)) == text
    assert not formats.guard(text).startswith(("=", "+", "-", "@", "\t", "\r"))


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "'=1"])
def test_no_cell_of_an_exported_table_is_a_formula(tmp_path: Path, name: str) -> None:
    """Neither names of items nor of people, as whoever answers may choose their own."""
    study = create_study(frame([name, "b"]), storage="memory:")
    study.respondent(f"{name} and co").tell((name, "b"))
    study.export(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        _, row = csv.reader(file)
    assert row[:4] == [f"'{name} and co", f"'{name}", "b", f"'{name}"]


def test_negative_numbers_are_read_and_written_as_numbers(tmp_path: Path) -> None:
    """Only text is guarded, and only an apostrophe is taken off."""
    files.write_csv(tmp_path / "items.csv", ["item", "x"], [["-a", -1.5], ["b", -2]])
    assert (tmp_path / "items.csv").read_text() == '"item","x"\n"\'-a",-1.5\n"b",-2\n'
    table = item_table(files.read_table(tmp_path / "items.csv"))
    assert table.names is not None and table.names.tolist() == ["-a", "b"]
    assert table.matrix.tolist() == [[-1.5], [-2.0]]
    plain = item_table(files.read_table(write(tmp_path / "plain.csv", "x,y\n-1,+2\n-3e-1,-0.0\n")))
    assert plain.names is None and plain.matrix.tolist() == [[-1, 2], [-0.3, 0]]


# Plain pairs


class Tensor:
    """As torch's: no array, but something that becomes one."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.values, dtype=dtype)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=20), st.data())
def test_pairs_of_choix_and_botorch_come_back(steps: list[tuple[int, int]], data: st.DataObject) -> None:
    """Lists of tuples, arrays and tensors of (winner, loser); also where y turned the pairs around."""
    pairs = [(i, (i + step) % 5) for i, step in steps]
    x = np.arange(10.0).reshape(5, 2)
    for given_items, given_pairs in ((x, pairs), (x, np.array(pairs)), (Tensor(x), Tensor(pairs))):
        back = Comparisons(given_items, given_pairs).to_pairs()
        assert back.tolist() == [list(pair) for pair in pairs] and back.dtype.kind == "i"
    y = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(pairs), max_size=len(pairs)))
    turned = [pair[::sign] for pair, sign in zip(pairs, y, strict=True)]
    assert Comparisons(x, turned, y).to_pairs().tolist() == [list(pair) for pair in pairs]


def test_pairs_cannot_say_ties_and_weights() -> None:
    """The sentence says how many there are, and its advice works."""
    data = Comparisons(np.eye(3), [[0, 1], [1, 2], [2, 0]], y=[1, 0, -1], weights=[1, 1, 2])
    with pytest.raises(InputError, match="1 tie and 1 weight other than 1; drop them"):
        data.to_pairs()
    assert data[(data.y != 0) & (data.weights == 1)].to_pairs().tolist() == [[0, 1]]


# Twice is once


@pytest.mark.slow
@given(studies(), st.sampled_from(["csv", "parquet"]))
@settings(max_examples=25, deadline=None)
def test_importing_ones_own_export_changes_nothing(study: Study, ending: str) -> None:
    before = standing(study)
    assume(before)
    with folder() as place:
        path = place / f"answers.{ending}"
        export_answers(study, path)
        assert import_answers(study, path) == 0
        copy = create_study(study.catalogue, "copy", storage="memory:")
        assert import_answers(copy, path) == sum(map(len, before.values()))
        assert import_answers(copy, path) == 0
    assert standing(study) == before


def test_a_file_without_times_counts_once_and_its_repeats_as_often_as_they_are_there(tmp_path: Path) -> None:
    """Whichever way around a pair stands; and an answer that was undone comes back."""
    study = create_study(np.eye(3), storage="memory:")
    (tmp_path / "a.csv").write_text("user,winner,loser\nann,0,1\nann,0,1\nbob,2,1\n")
    (tmp_path / "b.csv").write_text("user,left,right,choice\nann,1,0,right\nann,1,2,tie\nbob,1,2,left\n")
    assert import_answers(study, tmp_path / "a.csv") == 3
    assert import_answers(study, tmp_path / "a.csv") == 0
    assert import_answers(study, tmp_path / "b.csv") == 2
    study.respondent("ann").undo()
    assert import_answers(study, tmp_path / "b.csv") == 1
    assert {name: len(said) for name, said in standing(study).items()} == {"ann": 3, "bob": 2}


def test_the_same_answer_at_another_time_is_another_answer(tmp_path: Path) -> None:
    study = create_study(np.eye(3), storage="memory:")
    rows = ["winner,loser,told", "0,1,2026-01-01", "0,1,2026-01-02"]
    (tmp_path / "a.csv").write_text("\n".join(rows[:2]))
    (tmp_path / "b.csv").write_text("\n".join(rows))
    assert [import_answers(study, tmp_path / name) for name in ("a.csv", "b.csv", "a.csv")] == [1, 1, 0]


def test_a_file_of_a_study_about_pairs_is_one_that_older_versions_read(tmp_path: Path) -> None:
    study = small()
    study.tell(("tea", "latte"))
    for version in (2, 3):
        study.export(tmp_path / "a.jsonl")
        assert json.loads((tmp_path / "a.jsonl").read_text().splitlines()[0])["version"] == version
        study.add(
            Comparisons.from_choices(frame(["latte", "mocha", "tea"]), [["tea", "latte", "mocha"]], [None])
        )


def test_an_item_called_none_is_not_none_of_these(tmp_path: Path) -> None:
    called = ["none", "none of these", "None of these", "tea"]
    study = create_study(frame(called), storage="memory:")
    for chosen in ("none", "none of these", None):
        study.add(Comparisons.from_choices(frame(called), [called], [chosen]))
    study.export(tmp_path / "a.csv")
    files.write_csv(tmp_path / "items.csv", ["item", "x"], [[name, i / 3] for i, name in enumerate(called)])
    again = create_study(frame(called), storage="memory:")
    assert again.import_answers(tmp_path / "a.csv") == 3
    assert [one.winner for one in again.history()] == ["none", "none of these", None]
    assert Comparisons.read_csv(tmp_path / "items.csv", tmp_path / "a.csv").orders.tiers_of(2)[0] == [-1]


# One validation for every way in


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[1.0, 2.0], [1.0, 2.0]], "All 2 items have the same features"),
        ([[1e300, 0.0], [0.0, 1.0]], "Feature 'x' reaches 1e.300; give it in larger units"),
        ([[]], "fewer than two items"),
    ],
)
def test_a_study_that_create_study_refuses_cannot_be_imported(
    features: list[list[float]], message: str, tmp_path: Path
) -> None:
    """By the same sentence, and nothing is kept."""
    called = ["x", "y"][: len(features[0])]
    head = {"kind": "study", "format": "coombs study", "version": 1, "name": "s", "feature_names": called}
    lines = [head | {"settings": {}, "created": "2026-01-01T00:00:00+00:00"}] + [
        {"kind": "item", "name": str(i), "features": row, "details": {}} for i, row in enumerate(features)
    ]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, lines)))
    storage = open_storage("memory:")
    with pytest.raises(InputError, match=message):
        import_study(tmp_path / "s.jsonl", storage=storage)
    assert storage.studies() == []
    if called:
        with pytest.raises(InputError, match=message):
            create_study(pd.DataFrame(features, columns=called), storage=storage)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name_kinds": "integer"}, "The name of item 'a' must be integer, as names of this study are"),
        ({"name_kinds": "secret"}, "must be of a kind among text, bool, integer"),
        ({"name_kinds": ["text"]}, "name_kinds must be the kind of all names, or a list of one for each"),
        ({"name_kinds": 5}, "name_kinds must be the kind of all names"),
    ],
)
def test_names_that_are_not_of_their_kind_are_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    export_study(create_study(frame(["a", "b"]), storage="memory:"), tmp_path / "s.jsonl")
    first, *others = (tmp_path / "s.jsonl").read_text().splitlines()
    head = json.loads(first)
    head["settings"] |= changes
    (tmp_path / "s.jsonl").write_text("\n".join([json.dumps(head), *others]))
    with pytest.raises(InputError, match=message):
        import_study(tmp_path / "s.jsonl", storage="memory:")


def test_weights_too_large_to_reckon_with_are_refused_by_every_way_in(tmp_path: Path) -> None:
    """And the largest that is allowed can be learned from."""
    items = np.random.default_rng(0).normal(size=(6, 2))
    study = create_study(items, storage="memory:")
    (tmp_path / "a.csv").write_text("winner,loser,weight\n0,1,1e100\n")
    (tmp_path / "votes.soc").write_text("# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n9999999999: 1,2\n")
    pair = [[0, 1]]
    for call in (
        lambda: study.tell((0, 1), weight=1e100),
        lambda: study.import_answers(tmp_path / "a.csv"),
        lambda: Comparisons(items, pair, weights=[1e100]),
        lambda: Comparisons(items, pair).with_answers(weights=[1e100]),
        lambda: Comparisons.from_preflib(items[:2], tmp_path / "votes.soc"),
        lambda: study.storage.add_answer(study.respondent().record.id, 0, 1, "left", weight=1e100),
    ):
        with pytest.raises(InputError, match=r"it must be at most 1e\+09"):
            call()
    assert study.history() == ()
    for weight in (1e9, 1, 1e-300):
        study.tell((0, 1), weight=weight)
    assert study.ask() is not None and np.isfinite(study.progress().probability)
