"""A full disk, a folder that may not be written to, a clock that goes backwards, signals, many writers."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from fault_size import FULL, size

from coombs import create_study
from coombs.data.tables import InputError
from coombs.storage import Item, StorageUnavailableError, open_storage, timestamps
from coombs.study import check_storage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked"),
]

ITEMS = [Item(str(i), (float(i),)) for i in range(20)]


def in_child(work: Callable[[], Any]) -> Any:
    """What comes of work in another process, which may harm itself."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            os.write(write, json.dumps(work()).encode())
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    os.close(write)
    text = b""
    while more := os.read(read, 1 << 16):
        text += more
    os.close(read)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return json.loads(text)


def prepared(path: Path) -> int:
    """A respondent's id in a new database."""
    storage = open_storage(f"sqlite:///{path}")
    study = storage.create_study("study", ["x"], ITEMS, {})
    person = storage.add_respondent(study.id, "Ann", "token").id
    storage.close_all()
    return person


def stored(path: Path, person: int) -> list[float]:
    storage = open_storage(f"sqlite:///{path}")
    try:
        return [event.weight for event in storage.events(person)]
    finally:
        storage.close_all()


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    """Files may not grow for a while: what was confirmed before and after is there, and nothing else."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "study.db"
    person = prepared(path)

    def work() -> Any:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        storage, confirmed, failed = open_storage(f"sqlite:///{path}"), [], 0
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        for weight in range(size(400, 5000)):
            is_full = weight % 100 >= 50
            largest = max(file.stat().st_size for file in tmp_path.iterdir())
            if weight % 50 == 0:
                limit = largest + 5000 if is_full else hard
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
            try:
                storage.add_answer(person, 0, 1, "left", weight=weight)
                confirmed.append(weight)
            except StorageUnavailableError:
                failed += 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        storage.close_all()
        return confirmed, failed

    confirmed, failed = in_child(work)
    assert failed > 0 and len(confirmed) >= size(200, 2500)
    assert stored(path, person) == confirmed
    assert check_storage(f"sqlite:///{path}").is_sound


def test_a_folder_that_may_not_be_written_to_is_a_sentence(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever is root does it as nobody; what was stored stays readable to a check."""
    folder = Path("/tmp") / f"coombs-fault-{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        person = prepared(folder / "study.db")
        (folder / "study.db").chmod(0o444)
        folder.chmod(0o555)

        def work() -> list[str]:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            said = []
            for name in ("study.db", "new.db"):
                try:
                    open_storage(f"sqlite:///{folder}/{name}").add_answer(person, 0, 1, "left")
                except (InputError, StorageUnavailableError) as error:
                    said.append(str(error))
            said.append(str(check_storage(f"sqlite:///{folder}/study.db").is_sound))
            return said

        said = in_child(work)
        assert len(said) == 3 and all("written to" in one for one in said[:2]) and said[2] == "True"
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_clock_that_goes_backwards_loses_nothing_and_changes_no_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, calls = datetime(2026, 6, 1, tzinfo=UTC), iter(range(10**6))
    monkeypatch.setattr(timestamps, "now", lambda: start - timedelta(hours=next(calls)))
    study = create_study([[float(i)] for i in range(12)], storage=f"sqlite:///{tmp_path}/study.db")
    person, told = study.respondent("Ann"), []
    for number in range(size(20, 60)):
        question = person.ask()
        if question is None:
            break
        told.append(person.tell(question, "left").id)
        if number % 7 == 3:
            person.undo()
            told.pop()
    assert [answer.id for answer in person.history()] == told
    study.storage.close_all()
    again = create_study([[float(i)] for i in range(12)], storage=f"sqlite:///{tmp_path}/study.db")
    assert [answer.id for answer in again.respondent("Ann").history()] == told
    assert check_storage(f"sqlite:///{tmp_path}/study.db").is_sound


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_server_leaves_one_whole_file_at_calm_moments_and_at_its_end(
    how: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "teas.csv").write_text("tea,price\n" + "".join(f"Tea {i},{i * 7 % 11}\n" for i in range(9)))
    path = tmp_path / "coombs.db"
    command = [sys.executable, "-m", "coombs", "serve", "teas.csv", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            said = [server.stderr.readline() for _ in range(3)]
            base = said[1].split()[-1].partition("?")[0].replace("/a/", "/api/respondents/")

            def call(what: str, body: Any = None) -> Any:
                data = None if body is None else json.dumps(body).encode()
                request = Request(f"{base}/{what}", data, {"Content-Type": "application/json"})
                with urlopen(request, timeout=60) as reply:
                    return json.load(reply)

            turn = call("question")
            for _ in range(3):
                turn = call("tell", {"question": turn["question"]["id"], "choice": "left"})
            if how == signal.SIGTERM:
                _wait(lambda: path.with_name("coombs.db-wal").stat().st_size == 0)
                copy = shutil.copy(path, tmp_path / "copy.db")
                assert _answers(Path(copy)) == 3
            call("tell", {"question": turn["question"]["id"], "choice": "left"})
            server.send_signal(how)
            server.wait(60)
        finally:
            server.kill()
    assert sorted(file.name for file in tmp_path.glob("coombs.db*")) == ["coombs.db"]
    assert _answers(path) == 4


def _wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not until():
        assert time.monotonic() < end
        time.sleep(0.1)


def _answers(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        ((count,),) = connection.execute("SELECT COUNT(*) FROM events")
        return int(count)


def test_writers_into_one_file_get_about_equally_many_turns(tmp_path: Path) -> None:
    """16 processes that write without a pause; in full, none waits more than a second in 99 of 100 times."""
    path, people = tmp_path / "study.db", size(8, 16)
    prepared(path)
    storage = open_storage(f"sqlite:///{path}")
    study = storage.study("study").id
    persons = [storage.add_respondent(study, f"p{i}", f"t{i}").id for i in range(people)]
    storage.close_all()
    total = size(800, 8000)
    code = f"""
import json, sys, time
from coombs.storage import open_storage
storage, person, waits = open_storage("sqlite:///{path}"), int(sys.argv[1]), []
print("ready", flush=True)
sys.stdin.readline()
while storage.state({study})[1] < {total}:
    begun = time.monotonic()
    storage.add_answer(person, 0, 1, "left")
    waits.append(time.monotonic() - begun)
print(json.dumps(waits))
"""
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen([sys.executable, "-c", code, str(person)], **pipes) for person in persons]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    waits = [json.loads(writer.communicate()[0]) for writer in writers]
    counts = [len(one) for one in waits]
    slow = max(sorted(one)[int(0.99 * len(one))] for one in waits)
    print({"answers": [min(counts), max(counts)], "99 of 100 wait at most": slow})
    assert max(counts) <= 3 * min(counts)
    assert sum(counts) == sum(len(stored(path, person)) for person in persons)
    assert slow <= 1 or not FULL


def test_a_random_mix_of_faults_is_counted(tmp_path: Path) -> None:
    """Answers, undos, moves of the file and closings in any order: what is confirmed is what is stored."""
    path, rng = tmp_path / "study.db", random.Random(3)
    person = prepared(path)
    storage, confirmed = open_storage(f"sqlite:///{path}"), []
    for weight in range(size(300, 3000)):
        is_away = rng.random() < 0.1
        if is_away:
            path.rename(tmp_path / "away.db")
        try:
            storage.add_answer(person, 0, 1, "left", weight=weight)
            confirmed.append(weight)
        except StorageUnavailableError:
            assert is_away
        if is_away:
            (tmp_path / "away.db").rename(path)
        if rng.random() < 0.1:
            rng.choice([storage.close, storage.close_all, storage.checkpoint])()
    storage.close_all()
    assert stored(path, person) == confirmed
