"""Many people: while worker and server are killed what was confirmed is there, once; and for a long time."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_size import FULL, size
from running_page import RunningPage, free_port, running, running_page, workers

pytest.importorskip("fastapi")

from coombs import Study, create_study

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")]
PEOPLE = size(30, 200)
SECONDS = size(9, 60)
PACE = float(os.environ.get("COOMBS_PACE", "2"))
"""Seconds between two answers of a person."""
LONG = size(600, 50_000)
"""Answers in one process: in full, those of a day."""
EACH = size(10, 50)
"""Answers of a person, who then leaves."""
AT_ONCE = 20
"""People who answer at the same time, as fast as they can."""
DAY = """
import sys
from coombs.web import app, serve, study_cache
# A day in minutes: who left is forgotten after seconds.
app.CALM, study_cache.IDLE_SECONDS = 1.0, 3.0
serve(None, storage=sys.argv[1], port=int(sys.argv[2]), open_browser=False)
"""


@dataclass
class Seen:
    """What the people saw: seconds of each reply, answers that were confirmed, replies other than 200."""

    seconds: list[float] = field(default_factory=list)
    confirmed: list[tuple[str, int]] = field(default_factory=list)
    refused: Counter[int] = field(default_factory=Counter)
    repeats: int = 0


class Person:
    """Somebody's browser: one connection, and an answer is sent until it is confirmed."""

    def __init__(self, name: str, token: str, port: int, seen: Seen) -> None:
        self.name, self.port, self.seen = name, port, seen
        self.where = f"/api/respondents/{token}"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def answer(self, begin: float, until: float, pace: float = PACE) -> None:
        """An answer every so many seconds."""
        await asyncio.sleep(begin)
        turn = await self._fetch("GET", "question")
        await asyncio.sleep(pace)
        while turn.get("question") and time.monotonic() < until:
            started = time.monotonic()
            turn = await self._tell(turn["question"]["id"])
            await asyncio.sleep(max(0.0, pace - (time.monotonic() - started)))
        self._close()

    async def answer_some(self, count: int) -> None:
        """Answers one after another."""
        turn = await self._fetch("GET", "question")
        for _ in range(count):
            turn = await self._tell(turn["question"]["id"])
        self._close()

    async def _tell(self, number: int) -> Any:
        started = time.monotonic()
        turn = await self._fetch("POST", "tell", {"question": number, "choice": "left"})
        self.seen.seconds.append(time.monotonic() - started)
        self.seen.confirmed.append((self.name, number))
        return turn

    async def _fetch(self, method: str, what: str, said: Any = None) -> Any:
        while True:
            try:
                async with asyncio.timeout(30):
                    status, body = await self._exchange(method, what, said)
                if status == 200:
                    return json.loads(body)
                self.seen.refused[status] += 1
            except (OSError, EOFError, TimeoutError):
                self.seen.repeats += 1
                self._close()
            await asyncio.sleep(0.1)

    async def _exchange(self, method: str, what: str, said: Any) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        body = b"" if said is None else json.dumps(said).encode()
        head = (
            f"{method} {self.where}/{what} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        )
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(lines.partition("content-length:")[2].split()[0])
        return int(lines.split()[1]), await reader.readexactly(length)

    def _close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


async def crowd(study: Study, page: RunningPage, restart: Any) -> Seen:
    """Everybody at once; a third of the way through a worker is killed, at two thirds the server."""
    seen, start = Seen(), time.monotonic()
    offsets = np.random.default_rng(0).uniform(0, PACE, PEOPLE)
    people = [Person(name, token, page.port, seen) for name, token in study.links().items()]
    tasks = [
        asyncio.create_task(one.answer(float(offset), start + SECONDS))
        for one, offset in zip(people, offsets, strict=True)
    ]
    await asyncio.sleep(SECONDS / 3)
    while not (learners := workers(page.process.pid)) and time.monotonic() < start + SECONDS / 2:
        await asyncio.sleep(0.1)
    for worker in learners[-1:]:
        os.kill(worker, signal.SIGKILL)
    await asyncio.sleep(SECONDS / 3)
    page.kill()
    await asyncio.to_thread(restart)
    await asyncio.gather(*tasks)
    return seen


def made(url: str, people: int) -> Study:
    """A study of 100 items with 5 features, and its people."""
    items = np.random.default_rng(0).normal(size=(100, 5)).round(2)
    study = create_study(items, "crowd", storage=url)
    for number in range(people):
        study.respondent(f"person {number}")
    return study


def lost_and_twice(study: Study, seen: Seen) -> tuple[int, int]:
    """Answers that were confirmed and are not there, and questions with two."""
    stored = Counter[tuple[str, int | None]]()
    for name in study.respondents():
        stored.update((name, one.question) for one in study.respondent(name).history())
    return sum(one not in stored for one in seen.confirmed), sum(count > 1 for count in stored.values())


def test_what_a_crowd_was_told_is_stored_when_worker_and_server_are_killed(tmp_path: Path) -> None:
    url, port = f"sqlite:///{tmp_path / 'crowd.db'}", free_port()
    study, after = made(url, PEOPLE), []
    with running_page(tmp_path, "--storage", url, port=port) as page:

        def restart() -> None:
            again = running_page(tmp_path, "--storage", url, port=port)
            after.append((again, again.__enter__()))

        try:
            seen = asyncio.run(crowd(study, page, restart))
        finally:
            for again, _ in after:
                again.__exit__(None, None, None)
    told = np.array(seen.seconds) * 1e3
    print(
        f"{PEOPLE} people, {SECONDS} s, an answer of each every {PACE:g} s: {len(told)} answers, "
        f"median {np.median(told):.0f} ms, 95 % under {np.quantile(told, 0.95):.0f} ms, longest "
        f"{told.max():.0f} ms, {seen.repeats} sent again, refused {dict(seen.refused)}"
    )
    assert len(seen.confirmed) > PEOPLE
    assert lost_and_twice(study, seen) == (0, 0)
    # Only in full: other machines and other work on them are slower.
    assert not FULL or np.quantile(told, 0.95) < 300


@dataclass(frozen=True)
class Use:
    """What the server takes: bytes of memory, open files, threads."""

    memory: float
    files: int
    threads: int

    @classmethod
    def of(cls, pid: int) -> Use:
        """Of a process, on Linux."""
        status = Path(f"/proc/{pid}/status").read_text()
        memory, threads = (status.partition(f"{name}:")[2].split()[0] for name in ("VmRSS", "Threads"))
        return cls(1024 * float(memory), len(list(Path(f"/proc/{pid}/fd").iterdir())), int(threads))


async def long_run(study: Study, page: RunningPage, seen: Seen) -> list[Use]:
    """People come, answer and leave; what the server takes after each part of them."""
    people = [Person(name, token, page.port, seen) for name, token in study.links().items()]
    turns, uses = asyncio.Semaphore(AT_ONCE), list[Use]()

    async def stay(one: Person) -> None:
        async with turns:
            await one.answer_some(EACH)

    for part in np.array_split(np.arange(len(people)), size(3, 10)):
        await asyncio.gather(*(stay(people[number]) for number in part))
        await asyncio.sleep(size(5, 12))
        uses.append(Use.of(page.process.pid))
        print(len(seen.confirmed), uses[-1], flush=True)
    return uses


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux says what a process takes")
@pytest.mark.long
def test_a_days_answers_in_one_process_take_no_more_and_more(tmp_path: Path) -> None:
    """Compared with the first part of them, after which all that is needed is in memory."""
    url, seen, port = f"sqlite:///{tmp_path / 'day.db'}", Seen(), free_port()
    study = made(url, LONG // EACH)
    with running([sys.executable, "-c", DAY, url, str(port)], port, tmp_path, {}) as page:
        first, *_, last = asyncio.run(long_run(study, page, seen))
        assert "Traceback" not in page.log.read_text()
    assert len(seen.confirmed) == LONG and lost_and_twice(study, seen) == (0, 0)
    assert last.memory < 1.2 * first.memory
    assert last.files <= first.files + 10 and last.threads <= first.threads + 5
