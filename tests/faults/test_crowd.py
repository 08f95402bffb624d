"""Many people at once while the worker and the server are killed: what was confirmed is there, once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_size import FULL, size
from running_page import RunningPage, children, free_port, running_page

pytest.importorskip("fastapi")

from coombs import Study, create_study

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")]
PEOPLE = size(30, 200)
SECONDS = size(12, 60)
PACE = 2.0
"""Seconds between two answers of a person."""


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

    async def answer(self, begin: float, until: float) -> None:
        """An answer every two seconds."""
        await asyncio.sleep(begin)
        turn = await self._fetch("GET", "question")
        while turn.get("question") and time.monotonic() < until:
            number, started = turn["question"]["id"], time.monotonic()
            turn = await self._fetch("POST", "tell", {"question": number, "choice": "left"})
            self.seen.seconds.append(time.monotonic() - started)
            self.seen.confirmed.append((self.name, number))
            await asyncio.sleep(max(0.0, PACE - (time.monotonic() - started)))
        self._close()

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
    for worker in children(page.process.pid)[-1:]:
        os.kill(worker, signal.SIGKILL)
    await asyncio.sleep(SECONDS / 3)
    page.kill()
    await asyncio.to_thread(restart)
    await asyncio.gather(*tasks)
    return seen


def test_what_a_crowd_was_told_is_stored_when_worker_and_server_are_killed(tmp_path: Path) -> None:
    url, port = f"sqlite:///{tmp_path / 'crowd.db'}", free_port()
    items = np.random.default_rng(0).normal(size=(100, 5)).round(2)
    study = create_study(items, "crowd", storage=url)
    for number in range(PEOPLE):
        study.respondent(f"person {number}")
    after = []
    with running_page(tmp_path, "--storage", url, port=port) as page:

        def restart() -> None:
            again = running_page(tmp_path, "--storage", url, port=port)
            after.append((again, again.__enter__()))

        try:
            seen = asyncio.run(crowd(study, page, restart))
        finally:
            for again, _ in after:
                again.__exit__(None, None, None)
    stored = Counter[tuple[str, int | None]]()
    for name in study.respondents():
        stored.update((name, one.question) for one in study.respondent(name).history())
    told = np.array(seen.seconds) * 1e3
    print(
        f"{PEOPLE} people, {SECONDS} s: {len(told)} answers, median {np.median(told):.0f} ms, 95 % under "
        f"{np.quantile(told, 0.95):.0f} ms, longest {told.max():.0f} ms, {seen.repeats} sent again, "
        f"refused {dict(seen.refused)}"
    )
    assert len(seen.confirmed) > PEOPLE
    assert [one for one in seen.confirmed if one not in stored] == []
    assert [one for one, count in stored.items() if count > 1] == []
    # Only in full: other machines and other work on them are slower.
    assert not FULL or np.quantile(told, 0.95) < 300
