"""Damaged files, tampered schemas, tampered rows: each is a sentence, and nothing is lost without a word.

A damaged value that could have been stored as it is (a letter of a name, a digit of a feature) is not told.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import postgres
import pytest
from fault_size import size

from coombs import InputError, create_study, list_studies, load_study
from coombs.cli import main
from coombs.storage import Judgement, StorageDamagedError, StorageError, open_storage
from coombs.study import check_storage

pytestmark = pytest.mark.slow

ITEMS = [[float(i), float(i * 3 % 7)] for i in range(8)]
PEOPLE = ("Ann", "Bob")
N_FILES = size(40, 800)


def fill(url: str) -> None:
    """A study in which two people answered questions, took answers back and said other things."""
    study = create_study(ITEMS, "points", storage=url, top=2, strategy="random")
    storage, rng = study.storage, random.Random(1)
    for name in PEOPLE:
        person = study.respondent(name).record.id
        with storage.batch():
            for number in range(1, 41):
                left, right = rng.sample(range(8), 2)
                storage.add_question(person, left, right, "random", 0.5, progress=0.1, again=True)
                answer = storage.add_answer(person, left, right, "left", question_id=number)
                if number % 10 == 0:
                    storage.add_undo(person, answer.id)
            storage.add_judgement(person, Judgement("ranking", ((2,), (0,), (1, 3))))
    storage.close_all()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "study.db"
    fill(f"sqlite:///{path}")
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sound, tmp_path / "study.db"))


def use(url: str, folder: Path) -> dict[str, int]:
    """All that is done with a study; how much of each it had before."""
    storage = open_storage(url)
    try:
        assert [one.name for one in list_studies(storage)] == ["points"] or not list_studies(storage)
        study = load_study("points", storage=storage)
        had = {"items": study.n_items}
        for name in study.respondents():
            person = study.respondent(name)
            had[f"answers of {name}"] = len(person.history())
            had[f"questions of {name}"] = len(storage.questions(person.record.id))
            person.comparisons()
            storage.by_token(person.record.token)
        study.comparisons()
        study.export(folder / "all.jsonl")
        person = study.respondent("Ann")
        person.prior()
        question = person.ask()
        if question is not None:
            person.tell(question, "right")
        person.tell((0, 1))
        person.undo()
        person.progress()
        return had
    finally:
        storage.close_all()


def outcome(url: str, folder: Path) -> dict[str, int] | str:
    """What there was, or the sentence that was raised."""
    try:
        return use(url, folder)
    except (StorageError, InputError) as error:
        sentence = str(error)
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 1000, sentence
    return sentence


# Files


def at_random(data: bytearray, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def in_header(data: bytearray, rng: random.Random) -> bytes:
    data[rng.randrange(100)] = rng.randrange(256)
    return bytes(data)


def one_page(data: bytearray, rng: random.Random) -> bytes:
    start = 4096 * rng.randrange(len(data) // 4096)
    data[start : start + 4096] = bytes(4096) if rng.random() < 0.5 else rng.randbytes(4096)
    return bytes(data)


def two_pages(data: bytearray, rng: random.Random) -> bytes:
    one, other = (4096 * number for number in rng.sample(range(1, len(data) // 4096), 2))
    data[one : one + 4096], data[other : other + 4096] = data[other : other + 4096], data[one : one + 4096]
    return bytes(data)


def one_block(data: bytearray, rng: random.Random) -> bytes:
    start, length = rng.randrange(len(data)), rng.choice([16, 64, 512])
    data[start : start + length] = rng.randbytes(len(data[start : start + length]))
    return bytes(data)


def cut(data: bytearray, rng: random.Random) -> bytes:
    return bytes(data[: rng.randrange(1, len(data))])


def cut_at_a_page(data: bytearray, rng: random.Random) -> bytes:
    return bytes(data[: 4096 * rng.randrange(1, len(data) // 4096)])


def longer(data: bytearray, rng: random.Random) -> bytes:
    return bytes(data) + rng.randbytes(rng.randint(1, 10_000))


DAMAGES = (at_random, in_header, one_page, two_pages, one_block, cut, cut_at_a_page, longer)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_a_sentence_or_has_all_its_rows(
    damage: Callable[[bytearray, random.Random], bytes], sound: Path, tmp_path: Path
) -> None:
    """Whoever opens it, and whoever checks it; a check that finds it sound means that all rows are there."""
    whole = use(f"sqlite:///{shutil.copy(sound, tmp_path / 'whole.db')}", tmp_path)
    told = 0
    for number in range(-(-N_FILES // len(DAMAGES))):
        rng, path = random.Random(number), tmp_path / f"{number}.db"
        path.write_bytes(damage(bytearray(sound.read_bytes()), rng))
        try:
            is_sound = check_storage(f"sqlite:///{path}").is_sound
        except InputError:
            is_sound = False
        found = outcome(f"sqlite:///{path}", tmp_path)
        told += isinstance(found, str)
        assert found == whole or isinstance(found, str), number
        assert not is_sound or found == whole or "is damaged: " not in found, number
    assert told > 0 or damage not in (one_page, cut, cut_at_a_page)


def test_rows_that_a_damaged_index_does_not_find_are_missed_when_the_file_is_opened(path: Path) -> None:
    """A letter in an index, and some answers would not be there, without a word."""
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_events_1'"
        ).fetchone()
    # The sixth event of the second person.
    data, cell = bytearray(path.read_bytes()), bytes([4, 1, 1, 1, 2, 6])
    at = data.index(cell, 4096 * (root - 1), 4096 * root)
    data[at + 4] = 0x98
    path.write_bytes(data)
    with pytest.raises(StorageError, match="is damaged"):
        open_storage(f"sqlite:///{path}")
    assert not check_storage(f"sqlite:///{path}").is_sound


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"Dear diary, " * 1000, bytes(8192)])
def test_what_is_no_database_is_not_taken_for_one(content: bytes, sound: Path, path: Path) -> None:
    """An empty file is a new database, unless a log lies beside it."""
    path.write_bytes(content)
    path.with_name("study.db-wal").write_bytes(b"x" * 5000)
    with pytest.raises((StorageError, InputError), match="coombs"):
        open_storage(f"sqlite:///{path}")
    assert path.read_bytes() == content


def test_a_log_that_is_cut_or_damaged_leaves_whole_answers(path: Path, tmp_path: Path) -> None:
    """SQLite takes what is before the damage: some of the last transactions, each whole or not at all."""
    storage = open_storage(f"sqlite:///{path}")
    person = load_study("points", storage=storage).respondent("Ann").record.id
    before = len(storage.events(person))
    for _ in range(30):
        storage.add_answer(person, 0, 1, "left")
    wal = path.with_name("study.db-wal")
    files = {file: file.read_bytes() for file in (path, wal)}
    storage.close_all()
    for number in range(size(20, 200)):
        rng, folder = random.Random(number), tmp_path / str(number)
        folder.mkdir()
        (folder / "study.db").write_bytes(files[path])
        log = bytearray(files[wal])
        log = log[: rng.randrange(len(log))] if number % 2 else bytearray(at_random(log, rng))
        (folder / "study.db-wal").write_bytes(log)
        opened = open_storage(f"sqlite:///{folder}/study.db")
        assert before <= len(opened.events(person)) <= before + 30
        opened.close_all()
        assert check_storage(f"sqlite:///{folder}/study.db").is_sound


def test_a_file_that_is_damaged_while_it_is_used_is_a_sentence(sound: Path, tmp_path: Path) -> None:
    for number in range(size(10, 100)):
        path = Path(shutil.copy(sound, tmp_path / f"{number}.db"))
        storage = open_storage(f"sqlite:///{path}")
        data = bytearray(path.read_bytes())
        for _ in range(6):
            data = bytearray(one_page(data, random.Random(number)))
        path.write_bytes(data)
        with suppress(StorageError, InputError):
            study = load_study("points", storage=storage)
            for name in study.respondents():
                study.respondent(name).history()
            study.respondent("Ann").tell((0, 1))
        storage.close_all()


# Schemas

TABLES = ("studies", "items", "respondents", "questions", "events", "priors")
SCHEMAS = [
    *(f"DROP TABLE {table}" for table in TABLES),
    *(f"ALTER TABLE {table} RENAME TO other" for table in TABLES),
    "ALTER TABLE events RENAME COLUMN choice TO chosen",
    "ALTER TABLE items RENAME COLUMN features TO numbers",
    "ALTER TABLE questions DROP COLUMN purpose",
    "ALTER TABLE respondents DROP COLUMN prior_version",
    "CREATE TABLE copy AS SELECT * FROM events; DROP TABLE events; ALTER TABLE copy RENAME TO events",
    "CREATE TABLE copy AS SELECT * FROM items; DROP TABLE items; ALTER TABLE copy RENAME TO items",
    "ALTER TABLE events RENAME TO all_events; CREATE VIEW events AS SELECT * FROM all_events",
    "DROP INDEX events_by_pair",
    "CREATE TRIGGER thief AFTER INSERT ON events BEGIN DELETE FROM events WHERE id = new.id; END",
    "DROP TABLE coombs_schema",
    "DELETE FROM coombs_schema",
    "INSERT INTO coombs_schema VALUES (3)",
    "UPDATE coombs_schema SET version = 'newest'",
    "UPDATE coombs_schema SET version = 0",
    "UPDATE coombs_schema SET version = -1",
    "UPDATE coombs_schema SET version = 2.5",
    "UPDATE coombs_schema SET version = 99",
    "UPDATE coombs_schema SET version = 5",
    "ALTER TABLE coombs_schema RENAME COLUMN version TO number",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE (' WHERE name = 'events'",
    "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name LIKE 'sqlite_autoindex%'",
]


def change(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; {script}")


@pytest.mark.parametrize("script", SCHEMAS)
def test_a_tampered_schema_is_refused_when_it_is_opened(script: str, path: Path) -> None:
    change(path, script)
    before = path.read_bytes()
    with pytest.raises((StorageError, InputError), match=r"(coombs backup|newer coombs)"):
        open_storage(f"sqlite:///{path}")
    assert path.read_bytes() == before
    with suppress(InputError):
        assert not check_storage(f"sqlite:///{path}").is_sound


# Rows

EVENT = "WHERE respondent_id = 1 AND id = 5"
QUESTION = "WHERE respondent_id = 1 AND id = 3"
ITEM = "WHERE position = 2"
ROWS = [
    *(
        f"UPDATE events SET {change} {EVENT}"
        for change in (
            "choice = 'maybe'",
            "choice = NULL",
            "choice = x'6c656674'",
            "weight = -1",
            "weight = 'heavy'",
            "weight = 9e999",
            "weight = NULL",
            "told = 'yesterday'",
            "told = 5",
            "told = x'00'",
            "told = ''",
            "left_item = 99",
            "left_item = -1",
            "left_item = right_item",
            "left_item = 'first'",
            "left_item = 1.5",
            "left_item = NULL",
            "question_id = 999",
            "question_id = 'x'",
            "question_id = 4",
            "undoes = 999",
            "undoes = 5",
            "judgement = '{'",
            """judgement = '{"shape": "ranking", "places": [[0], [99]]}'""",
            "judgement = x'00'",
            "id = 'five'",
            "id = -5",
        )
    ),
    "UPDATE events SET undoes = 12 WHERE respondent_id = 1 AND undoes = 10",
    "UPDATE events SET judgement = '[]' WHERE judgement IS NOT NULL",
    *(
        f"UPDATE questions SET {change} {QUESTION}"
        for change in (
            "predicted = 7",
            "predicted = 'likely'",
            "progress = -1",
            "progress = x'00'",
            "purpose = x'ff'",
            "asked = 'soon'",
            "left_item = 99",
            "left_item = right_item",
            "left_item = 'a'",
            "id = 'three'",
        )
    ),
    *(
        f"UPDATE items SET {change} {ITEM}"
        for change in (
            "features = '[1.0]'",
            "features = '{}'",
            "features = 'NaN'",
            "features = '[NaN, 1.0]'",
            "features = '[1e999, 1.0]'",
            "features = '[\"a\", 1.0]'",
            "features = '[true, 1.0]'",
            "features = '[1.0, 2.0'",
            "features = x'00'",
            "details = '[]'",
            "details = '{\"a\": 1}'",
            "details = 'x'",
            "name = x'ff'",
            "position = 50",
            "position = 'two'",
        )
    ),
    "DELETE FROM items WHERE position = 7",
    "DELETE FROM items",
    *(
        f"UPDATE studies SET {change}"
        for change in (
            "feature_names = '[\"a\"]'",
            "feature_names = '[1, 2]'",
            "feature_names = '{'",
            "feature_names = x'00'",
            "settings = '[]'",
            "settings = '{'",
            "settings = '{\"top\": -1}'",
            "settings = '{\"strategy\": 3}'",
            "settings = '{\"name_kinds\": 3}'",
            "created = 'once'",
            "name = x'00'",
        )
    ),
    *(
        f"UPDATE respondents SET {change} WHERE id = 1"
        for change in (
            "token = x'00'",
            "created = 'once'",
            "prior_version = -3",
            "prior_version = 99",
            "prior_version = 'x'",
        )
    ),
    "INSERT INTO events (id, respondent_id, question_id, left_item, right_item, choice, weight, told)"
    " SELECT 900, respondent_id, question_id, left_item, right_item, 'right', weight, told"
    f" FROM events {EVENT}",
    "DELETE FROM questions WHERE respondent_id = 1 AND id = 3",
]
LOST = [
    "UPDATE events SET respondent_id = 99 WHERE respondent_id = 1 AND id > 30 AND undoes IS NULL",
    "UPDATE questions SET respondent_id = 99 WHERE respondent_id = 2",
    "INSERT INTO items (study_id, position, name, features, details) VALUES (9, 0, 'lost', '[]', '{}')",
    "INSERT INTO respondents (id, study_id, name, token, created)"
    " VALUES (77, 9, 'Eve', 't', '2026-01-01T00:00:00+00:00')",
    "INSERT INTO priors VALUES (9, 1, '{}', 0, 0, 'given', '2026-01-01T00:00:00+00:00')",
    "INSERT INTO priors VALUES (1, 1, '{', 0, 0, 'given', '2026-01-01T00:00:00+00:00')",
    "INSERT INTO priors VALUES (1, 1, '{}', -1, 0, 'given', '2026-01-01T00:00:00+00:00')",
    "INSERT INTO priors VALUES (1, 1, '{}', 0, 0, 'dream', '2026-01-01T00:00:00+00:00')",
]
"""Rows that belong to nobody, or are not read in a day's use: only a check comes upon them."""


@pytest.mark.parametrize("script", ROWS)
def test_a_tampered_row_is_named_when_it_is_read(script: str, path: Path, tmp_path: Path) -> None:
    change(path, script)
    with pytest.raises(StorageDamagedError, match=r"is damaged: .*; look at it with `coombs check`, and put"):
        use(f"sqlite:///{path}", tmp_path)
    assert not check_storage(f"sqlite:///{path}").is_sound


@pytest.mark.parametrize("script", LOST)
def test_rows_of_nobody_are_found_by_a_check(script: str, path: Path, tmp_path: Path) -> None:
    change(path, script)
    outcome(f"sqlite:///{path}", tmp_path)
    assert not check_storage(f"sqlite:///{path}").is_sound


@pytest.mark.parametrize("script", ROWS[:: size(12, 1)])
def test_the_page_and_the_command_line_claim_nothing_of_damaged_rows(
    script: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from coombs import web

    token = load_study("points", storage=f"sqlite:///{path}").respondent("Ann").record.token
    app = web.create_app(f"sqlite:///{path}")
    change(path, script)
    there = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5), "follow_redirects": False}
    with TestClient(app, headers={"Origin": "http://127.0.0.1"}, **there) as client:
        replies = [client.get(f"/a/{token}"), client.get(f"/api/respondents/{token}/history")]
        replies += [client.post(f"/a/{token}/undo", data={}), client.get("/"), client.get("/studies/points")]
    for reply in replies:
        assert reply.status_code in (200, 303, 404, 500)
        if reply.status_code == 500:
            assert "damaged" in reply.text and str(path) not in reply.text
            assert "stored at once" not in reply.text and "is stored" not in reply.text
    assert main(["check", str(path)]) == 1
    assert "Traceback" not in capsys.readouterr().err


POSTGRES = [
    *(f"DROP TABLE {table} CASCADE" for table in ("events", "items", "priors")),
    "ALTER TABLE questions DROP COLUMN purpose",
    "ALTER TABLE events RENAME COLUMN choice TO chosen",
    "DELETE FROM coombs_schema",
    "INSERT INTO coombs_schema VALUES (3)",
    "UPDATE coombs_schema SET version = 0",
    "UPDATE items SET features = '[NaN, 1.0]' WHERE position = 2",
    "UPDATE items SET features = '[1.0]' WHERE position = 2",
    "UPDATE items SET details = '[]' WHERE position = 2",
    "DELETE FROM items WHERE position = 7",
    "UPDATE studies SET settings = '{'",
    "UPDATE studies SET feature_names = '[1, 2]'",
    "UPDATE events SET judgement = '[]' WHERE judgement IS NOT NULL",
    "UPDATE events SET weight = 'Infinity' WHERE respondent_id = 1 AND id = 5",
    "UPDATE events SET left_item = 99 WHERE respondent_id = 1 AND id = 5",
    "UPDATE questions SET right_item = 99 WHERE respondent_id = 1 AND id = 3",
    "UPDATE respondents SET prior_version = 99",
]


@pytest.mark.parametrize("script", POSTGRES)
def test_a_tampered_postgresql_database_is_a_sentence(script: str, tmp_path: Path) -> None:
    fill(url := postgres.fresh_url())
    postgres.execute(url, script)
    found: Any = outcome(url, tmp_path)
    assert isinstance(found, str) and "damaged" in found
    assert not check_storage(url).is_sound
