"""What was told is kept, whatever happens to the process, and however many tell at once.

The tests run this file as a script: a process of one thread, which may fork, with coombs.storage imported.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import postgres
import pytest
from cases import some_slow

from coombs.storage import AnswerRecord, Item, Storage, StudyExistsError, open_storage

ITEMS = [Item(str(i), (float(i),)) for i in range(100)]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return postgres.fresh_url() if request.param == "postgres" else f"sqlite:///{tmp_path}/study.db"


@pytest.fixture
def quick_file() -> Iterator[str]:
    """A file in memory: 10,000 commits one after another would each wait for the disk."""
    folder = postgres.quick_folder()
    yield f"sqlite:///{folder}/study.db"
    shutil.rmtree(folder)


def in_script(command: str, *arguments: Any) -> Any:
    """What a command of this file, run as a script, prints as JSON; every warning in it is an error."""
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-W", "error", __file__, command, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


def answers(url: str) -> list[AnswerRecord]:
    """All answers of the one respondent there is."""
    storage = open_storage(url)
    events = storage.events(enter(storage))
    storage.close()
    return [event for event in events if isinstance(event, AnswerRecord)]


@pytest.mark.parametrize("processes", some_slow([12, 200], fast=[12]))
def test_every_answer_that_was_told_survives_kill_9(url: str, processes: int) -> None:
    """Processes, one after another, are killed while they ask and tell; none is told twice.

    Each begins by telling again what the one before it may or may not have told.
    """
    reported = in_script("kill", url, processes)
    kept = answers(url)
    assert len(reported) > processes
    assert set(map(tuple, reported)) <= {(answer.id, answer.question_id) for answer in kept}
    assert max(Counter(answer.question_id for answer in kept).values()) == 1
    storage = open_storage(url)
    asked = [question.id for question in storage.questions(kept[0].respondent_id)]
    storage.close()
    assert [answer.question_id for answer in kept] in (asked, asked[:-1])


@pytest.mark.slow
def test_eight_processes_tell_ten_thousand_answers_into_one_file(quick_file: str) -> None:
    assert in_script("crowd", quick_file, 8, 1250) == [0] * 8
    assert sorted(answer.weight for answer in answers(quick_file)) == list(range(10_000))


def test_eight_processes_tell_at_once(url: str) -> None:
    """Each as its own transaction, flushed to the disk, on a server or in a file."""
    assert in_script("crowd", url, 8, 25) == [0] * 8
    told = answers(url)
    assert sorted(answer.weight for answer in told) == list(range(200))


def test_who_follows_the_ids_misses_nothing(url: str) -> None:
    """A reader that asks for events after the last id it saw, while others tell, sees every one once."""
    seen = in_script("follow", url, 4, 50)
    assert sorted(seen) == list(range(200))


def test_a_fork_does_not_disturb_the_connections_of_its_parent(url: str) -> None:
    assert in_script("fork", url) == [0] * 6
    assert sorted(answer.weight for answer in answers(url)) == [0, *[1] * 5, *[2] * 5, 3]


# What the script does


def enter(storage: Storage) -> int:
    """The one respondent's id, made with the study if need be."""
    try:
        study = storage.create_study("study", ["x"], ITEMS, {})
    except StudyExistsError:
        study = storage.study("study")
    return storage.add_respondent(study.id, "Ann", "token").id


def child(work: Callable[[], None]) -> int:
    """The id of a new process that does the work; its exit code says whether it could."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except Exception:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def codes(pids: list[int]) -> list[int]:
    """Exit codes of processes, once they have ended."""
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def ask_and_tell(url: str, report: int) -> None:
    """Tell answers without end, and report each through a pipe once the call has returned."""
    storage = open_storage(url)
    ann = enter(storage)
    question = next(iter(storage.questions(ann, latest=1)), None)
    while True:
        if question is not None:
            answer = storage.add_answer(ann, question.left, question.right, "left", question_id=question.id)
            os.write(report, f"{answer.id} {answer.question_id}\n".encode())
        pair = random.sample(range(len(ITEMS)), 2)
        question = storage.add_question(ann, *pair, "start", again=True)


def kill(url: str, rounds: str) -> list[list[int]]:
    """Kill a process that tells, at a random moment after none to three reports, again and again."""
    reported = b""
    for number in range(int(rounds)):
        read, write = os.pipe()
        pid = child(lambda write=write: ask_and_tell(url, write))
        os.close(write)
        for _ in range(number % 4):
            reported += os.read(read, 1 << 16)
        time.sleep(random.uniform(0, 0.01))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        while more := os.read(read, 1 << 16):
            reported += more
        os.close(read)
    return [list(map(int, line.split())) for line in reported.decode().splitlines()]


def tell(url: str, first: int, count: int) -> None:
    """Tell answers whose weights number them."""
    storage = open_storage(url)
    ann = enter(storage)
    for weight in range(first, first + count):
        storage.add_answer(ann, *random.sample(range(len(ITEMS)), 2), "left", weight=weight)


def crowd(url: str, processes: str, count: str) -> list[int]:
    """Tell from several processes at once, all into what none has opened before."""
    each = int(count)
    return codes([child(lambda i=i: tell(url, i * each, each)) for i in range(int(processes))])


def follow(url: str, processes: str, count: str) -> list[float]:
    """The weights of the answers that a reader finds by following their ids."""
    storage = open_storage(url)
    ann, each, seen, last = enter(storage), int(count), [], 0
    telling = {child(lambda i=i: tell(url, i * each, each)) for i in range(int(processes))}
    while telling:
        # Looked at before reading, so that the last reading is after all was told.
        telling -= {pid for pid in telling if os.waitpid(pid, os.WNOHANG)[0]}
        for event in storage.events(ann, after=last):
            seen.append(event.weight)
            last = event.id
    storage.close()
    return seen


def fork(url: str) -> list[int]:
    """A parent and its children use one storage, that was in use when they were born; the last in a batch."""
    storage = open_storage(url)
    ann = enter(storage)
    storage.add_answer(ann, 0, 1, "left", weight=0)
    ended = []
    for _ in range(5):
        pid = child(lambda: storage.add_answer(ann, 0, 1, "left", weight=1))
        storage.add_answer(ann, 0, 1, "left", weight=2)
        ended += codes([pid])

    def look() -> None:
        assert len(storage.events(ann)) == 11

    with storage.batch():
        storage.add_answer(ann, 0, 1, "left", weight=3)
        ended += codes([child(look)])
    storage.close()
    return ended


if __name__ == "__main__":
    # Imported here, so that children spend their short lives on something else.
    import_module("coombs.storage.sqlite" if sys.argv[2].startswith("sqlite") else "coombs.storage.postgres")
    commands: dict[str, Callable[..., Any]] = {"kill": kill, "crowd": crowd, "follow": follow, "fork": fork}
    print(json.dumps(commands[sys.argv[1]](*sys.argv[2:])))
