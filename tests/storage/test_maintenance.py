"""Copies, checks and upgrades of databases: by the library and on the command line."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import postgres
import pytest

from coombs import InputError, create_study
from coombs.cli import main
from coombs.storage import backup_storage, open_storage, upgrade_storage
from coombs.storage.schema import VERSIONS
from coombs.study import Study, check_storage

DATA = Path(__file__).parent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def made(url: str) -> Study:
    study = create_study(np.arange(12.0).reshape(6, 2), "points", storage=url)
    for name in ("Ann", "Bob"):
        person = study.respondent(name)
        for _ in range(5):
            person.tell(person.ask(), "left")
        person.undo()
    return study


def change(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; {script}")


def old(path: Path, version: int) -> None:
    change(path, (DATA / f"storage_v{version}.sql").read_text())


def test_a_copy_made_while_others_write_is_whole_and_of_one_moment(path: Path, tmp_path: Path) -> None:
    """Each answer is to a question; every copy has all questions of its answers."""
    study, stop = made(f"sqlite:///{path}"), threading.Event()

    def write() -> None:
        person = study.respondent("Eve")
        while not stop.is_set():
            person.tell((0, 1))
        study.storage.close()

    thread = threading.Thread(target=write)
    thread.start()
    copies = [backup_storage(f"sqlite:///{path}", tmp_path / f"copy{i}.db") for i in range(3)]
    stop.set()
    thread.join()
    counts = []
    for copy in copies:
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        found = check_storage(f"sqlite:///{copy}")
        assert found.is_sound and found.n_answers >= 8
        counts.append(found.n_answers)
    assert counts == sorted(counts)
    assert not [file for file in tmp_path.iterdir() if "part" in file.name]


def test_a_copy_replaces_nothing_and_needs_a_place(path: Path, tmp_path: Path) -> None:
    made(f"sqlite:///{path}")
    there = tmp_path / "there.db"
    there.write_text("mine")
    with pytest.raises(InputError, match="already; give another name"):
        backup_storage(f"sqlite:///{path}", there)
    assert there.read_text() == "mine"
    with pytest.raises(InputError, match="make it first"):
        backup_storage(f"sqlite:///{path}", tmp_path / "no" / "copy.db")
    with pytest.raises(InputError, match="There is no database file"):
        backup_storage(f"sqlite:///{tmp_path}/no.db", tmp_path / "copy.db")
    with pytest.raises(InputError, match="pg_dump") as error:
        backup_storage("postgresql://ann:secret@localhost/db", tmp_path / "copy.db")
    assert "secret" not in str(error.value)
    with pytest.raises(InputError, match="no database that is kept"):
        backup_storage("memory:", tmp_path / "copy.db")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_was_stored_is_found_sound(kind: str, path: Path) -> None:
    url = f"sqlite:///{path}" if kind == "sqlite" else postgres.fresh_url()
    study = made(url)
    found = check_storage(url)
    assert (found.n_studies, found.n_respondents, found.n_answers, found.faults) == (1, 2, 8, ())
    assert "All is as it was stored." in str(found)
    study.storage.close_all()


def test_looking_changes_nothing(path: Path) -> None:
    made(f"sqlite:///{path}").storage.close_all()
    before = path.read_bytes()
    check_storage(f"sqlite:///{path}")
    assert path.read_bytes() == before and [file.name for file in path.parent.iterdir()] == [path.name]


def test_every_fault_is_listed_with_its_kind(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(f"sqlite:///{path}").storage.close_all()
    change(
        path,
        "UPDATE events SET weight = -1 WHERE respondent_id = 1 AND id = 2;"
        "UPDATE questions SET left_item = 99 WHERE respondent_id = 2 AND id = 1;"
        "INSERT INTO items (study_id, position, name, features, details) VALUES (7, 0, 'lost', '[]', '{}');"
        "CREATE TRIGGER thief AFTER INSERT ON events BEGIN DELETE FROM events; END",
    )
    found = check_storage(f"sqlite:///{path}")
    # SQLite's own check comes upon the weight as well, from version 3.40 on or so.
    kinds = [fault.kind for fault in found.faults if fault.kind != "file"]
    assert kinds == ["schema", "orphans", "row", "row"]
    for words in ("trigger thief", "1 of the rows of its table items lack the study", "weight is -1", "99"):
        assert any(words in fault.sentence for fault in found.faults)
    assert main(["check", str(path)]) == 1
    shown = capsys.readouterr().out
    assert "It is damaged; put a copy made by `coombs backup` in its place." in shown
    assert main(["check", str(path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["is_sound"] is False and len(told["faults"]) == len(found.faults)


def test_a_database_of_another_program_or_a_newer_coombs_is_not_judged(path: Path) -> None:
    change(path, "CREATE TABLE notes (text TEXT)")
    with pytest.raises(InputError, match="no database of coombs"):
        check_storage(f"sqlite:///{path}")
    with pytest.raises(InputError, match="no database of coombs"):
        upgrade_storage(f"sqlite:///{path}")
    path.unlink()
    open_storage(f"sqlite:///{path}").close_all()
    change(path, "UPDATE coombs_schema SET version = 99")
    with pytest.raises(InputError, match="made by a newer coombs"):
        check_storage(f"sqlite:///{path}")


@pytest.mark.parametrize("version", [1, 3, 4, 6])
def test_an_old_database_is_brought_up_to_date_and_kept_as_it_was(
    version: int, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old(path, version)
    shutil.copy(path, path.with_name("before.db"))
    assert "once `coombs upgrade` has been run" in str(check_storage(f"sqlite:///{path}"))
    assert main(["upgrade", str(path)]) == 0
    shown = capsys.readouterr().out
    assert f"from version {version} to {len(VERSIONS)}; as it was: {path}.version{version}" in shown
    found = check_storage(f"sqlite:///{path}")
    # The files were written by hand in part: one has a strategy of its own, one an empty prior.
    by_hand = [fault for fault in found.faults if "entropy" in fault.sentence or "prior" in fault.sentence]
    assert found.version == len(VERSIONS) and list(found.faults) == by_hand
    with (
        closing(sqlite3.connect(f"{path}.version{version}")) as kept,
        closing(sqlite3.connect(path.with_name("before.db"))) as before,
    ):
        assert list(kept.iterdump()) == list(before.iterdump())
    assert main(["upgrade", str(path)]) == 0
    assert f"is of version {len(VERSIONS)} already" in capsys.readouterr().out


def test_the_commands_answer_bad_input_with_a_sentence(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["check", "no.db"], ["upgrade", "no.db"], ["backup", "no.db", "copy.db"]):
        assert main(command) == 2
        assert "There is no database file" in capsys.readouterr().err
    made(f"sqlite:///{path}")
    assert main(["backup", str(path), str(tmp_path / "copy.db")]) == 0
    assert "checked" in capsys.readouterr().out
