"""The files of a SQLite database that are deleted, moved or replaced while coombs uses them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from coombs.storage import Item, RespondentRecord, Storage, StorageUnavailableError, open_storage

ITEMS = [Item(str(i), (float(i),)) for i in range(6)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


@pytest.fixture
def storage(path: Path) -> Iterator[Storage]:
    opened = open_storage(f"sqlite:///{path}")
    yield opened
    opened.close()


@pytest.fixture
def ann(storage: Storage) -> RespondentRecord:
    study = storage.create_study("study", ["x"], ITEMS, {})
    ann = storage.add_respondent(study.id, "Ann", "token")
    storage.add_answer(ann.id, 0, 1, "left", weight=0)
    return ann


def weights(url: str | Path | Storage, ann: RespondentRecord) -> list[float]:
    storage = url if isinstance(url, Storage) else open_storage(f"sqlite:///{url}")
    return [event.weight for event in storage.events(ann.id)]


def beside(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}*"))


def refused(storage: Storage, ann: RespondentRecord, sentence: str) -> None:
    """By this thread, whose connection is open, and by a new one, to read and to write."""
    calls: list[Callable[[], object]] = [
        lambda: storage.add_answer(ann.id, 0, 1, "left", weight=9),
        lambda: storage.events(ann.id),
    ]
    for call in calls:
        with pytest.raises(StorageUnavailableError, match=sentence):
            call()
        with ThreadPoolExecutor(1) as pool, pytest.raises(StorageUnavailableError, match=sentence):
            pool.submit(call).result()


def test_a_deleted_database_is_noticed_and_not_made_anew(
    storage: Storage, ann: RespondentRecord, path: Path
) -> None:
    for file in beside(path):
        file.unlink()
    refused(storage, ann, "was deleted or moved while coombs used it")
    assert not path.exists()


def test_a_moved_database_is_noticed_and_goes_on_when_it_is_back(
    storage: Storage, ann: RespondentRecord, path: Path, tmp_path: Path
) -> None:
    """With or without the files beside it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for weight, files in enumerate([[path], beside(path)], 1):
        for file in files:
            file.rename(elsewhere / file.name)
        refused(storage, ann, "was deleted or moved while coombs used it")
        for file in files:
            (elsewhere / file.name).rename(file)
        storage.add_answer(ann.id, 0, 1, "left", weight=weight)
    storage.close_all()
    assert weights(path, ann) == [0, 1, 2]


def test_a_copy_in_its_place_is_taken_if_it_has_all_that_was_stored(
    storage: Storage, ann: RespondentRecord, path: Path, tmp_path: Path
) -> None:
    """As after moving it to another disk and back: it is another file then."""
    storage.add_answer(ann.id, 0, 1, "left", weight=1)
    copy = Path(shutil.copy(path, tmp_path / "copy.db"))
    path.unlink()
    refused(storage, ann, "deleted or moved")
    copy.rename(path)
    storage.add_answer(ann.id, 0, 1, "left", weight=2)
    assert weights(storage, ann) == [0, 1, 2]
    storage.close_all()
    assert weights(path, ann) == [0, 1, 2]


def test_an_older_copy_or_another_file_is_not_taken_and_the_former_is_waited_for(
    storage: Storage, ann: RespondentRecord, path: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(tmp_path / "older.db")) as target:
        source.backup(target)
    storage.add_answer(ann.id, 0, 1, "left", weight=1)
    storage.checkpoint()
    other = open_storage(f"sqlite:///{tmp_path}/other.db")
    other.close_all()
    (tmp_path / "notes.txt").write_text("Dear diary, " * 1000)
    (tmp_path / "empty").touch()
    path.rename(tmp_path / "former.db")
    for wrong in ("older.db", "other.db", "notes.txt", "empty"):
        before = (tmp_path / wrong).read_bytes()
        (tmp_path / wrong).rename(path)
        refused(storage, ann, "was replaced by another file")
        assert path.read_bytes() == before
    (tmp_path / "former.db").rename(path)
    storage.add_answer(ann.id, 0, 1, "left", weight=2)
    assert weights(storage, ann) == [0, 1, 2]


def test_a_file_that_goes_before_the_end_of_a_transaction_is_noticed(
    storage: Storage, ann: RespondentRecord, path: Path, tmp_path: Path
) -> None:
    def interrupted() -> None:
        with storage.batch():
            storage.add_answer(ann.id, 0, 1, "left", weight=9)
            path.rename(tmp_path / "elsewhere.db")

    with pytest.raises(StorageUnavailableError, match="deleted or moved"):
        interrupted()
    (tmp_path / "elsewhere.db").rename(path)
    assert weights(storage, ann) == [0]


def test_a_log_that_is_removed_is_noticed_and_what_was_in_it_is_kept(
    storage: Storage, ann: RespondentRecord, path: Path
) -> None:
    storage.add_answer(ann.id, 0, 1, "left", weight=1)
    path.with_name("study.db-wal").unlink()
    refused(storage, ann, "log")
    storage.close_all()
    assert weights(path, ann) == [0, 1]
    assert weights(storage, ann) == [0, 1]


def test_files_are_their_owners_alone(storage: Storage, ann: RespondentRecord, path: Path) -> None:
    assert len(beside(path)) == 3
    assert {stat.S_IMODE(os.stat(file).st_mode) for file in beside(path)} == {0o600}


def test_the_end_of_a_program_leaves_one_whole_file(path: Path) -> None:
    """Also after Ctrl-C, and with connections of other threads; not before it ends."""
    code = f"""
import threading
from coombs.storage import Item, open_storage
storage = open_storage("sqlite:///{path}")
study = storage.create_study("study", ["x"], [Item("a", (1.0,)), Item("b", (2.0,))], {{}})
thread = threading.Thread(target=lambda: (storage.add_respondent(study.id, "Ann", "token"), wait.wait()))
wait = threading.Event()
thread.daemon = True
thread.start()
storage.add_answer(storage.add_respondent(study.id, "Ann", "token").id, 0, 1, "left")
raise KeyboardInterrupt
"""
    subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    assert [file.name for file in beside(path)] == ["study.db"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM events").fetchone() == (1,)


def test_a_new_database_has_its_tables_in_the_file_itself(path: Path) -> None:
    """Whoever copies the file alone has at least a database of coombs."""
    storage = open_storage(f"sqlite:///{path}")
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(path, folder)
        with closing(sqlite3.connect(copy)) as connection:
            assert connection.execute("SELECT COUNT(*) FROM events").fetchone() == (0,)
    storage.close()


def test_a_checkpoint_brings_all_answers_into_the_file_itself(
    storage: Storage, ann: RespondentRecord, path: Path, tmp_path: Path
) -> None:
    storage.checkpoint()
    assert path.with_name("study.db-wal").stat().st_size == 0
    copy = Path(shutil.copy(path, tmp_path / "copy.db"))
    assert weights(copy, ann) == [0]
