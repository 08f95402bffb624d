"""Many people answering at once. `python -m benchmarks.load`.

A server of one process or two (one study, SQLite); people who each answer a question every so many seconds,
or as fast as they can, through the JSON API; in one run the server is killed (SIGKILL) in the middle and
started again. Then: how long an answer took, the CPU time of the processes that reply, and whether every
acknowledged answer is there once. Writes load.md beside this file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import numpy as np

from coombs import Study, create_study
from coombs.simulate import Preferences, make_preferences

SERVE = "from coombs.web import serve; serve(None, storage={0!r}, port={1}, workers={2}, open_browser=False)"


class Run(NamedTuple):
    """How many answer how fast for so many seconds, by how many processes, and whether those are killed."""

    people: int
    seconds: float
    processes: int
    pace: float
    kill: bool = False


@dataclass
class Seen:
    """What the people saw, and the seconds of CPU time that the server took."""

    seconds: list[float] = field(default_factory=list)
    acknowledged: list[tuple[str, int]] = field(default_factory=list)
    repeats: int = 0
    refused: list[str] = field(default_factory=list)
    cpu: float = 0.0


def cpu_seconds(server: int, processes: int) -> float:
    """CPU time of the processes that reply, without those that learn; 0 where the system does not tell."""
    found = Path(f"/proc/{server}/task").glob("*/children")
    several = [pid for path in found for pid in path.read_text().split()]
    stats = [Path(f"/proc/{pid}/stat") for pid in ([server] if processes == 1 else several)]
    # The user's and the system's, in ticks.
    times = [one.read_text().rpartition(")")[2].split()[11:13] for one in stats if one.exists()]
    return sum(int(ticks) for two in times for ticks in two) / os.sysconf("SC_CLK_TCK")


def start(url: str, port: int, processes: int) -> subprocess.Popen[bytes]:
    """A server, once it answers."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    server = subprocess.Popen([sys.executable, "-c", SERVE.format(url, port, processes)], env=environment)
    for _ in range(600):
        with suppress(OSError):
            urlopen(f"http://127.0.0.1:{port}/health", timeout=60).close()
            return server
        time.sleep(0.1)
    raise SystemExit("The server did not start.")


class Browser:
    """One person's connection, kept open as a browser keeps it.

    A client for all of them, such as httpx's, looks through 200 connections at each request, and then
    measures itself.
    """

    def __init__(self, port: int, seen: Seen) -> None:
        self.port, self.seen = port, seen
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def fetch(self, method: str, path: str, said: dict | None = None) -> dict:
        """A reply, asked for again until it comes."""
        while True:
            try:
                async with asyncio.timeout(30):
                    status, body = await self._exchange(method, path, said)
                if status == 200:
                    return json.loads(body)
                self.seen.refused.append(f"{status}: {body[:80]!r}")
            except (OSError, EOFError, TimeoutError):
                self.seen.repeats += 1
                self.close()
            await asyncio.sleep(0.2)

    async def _exchange(self, method: str, path: str, said: dict | None) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        body = b"" if said is None else json.dumps(said).encode()
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.partition("content-length:")[2].split()[0])
        return int(head.split()[1]), await reader.readexactly(length)

    def close(self) -> None:
        """The next request opens another connection."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


async def answer(
    browser: Browser, name: str, token: str, person: Preferences, pace: float, until: float
) -> None:
    """One person: an answer every so many seconds, told again where no reply came."""
    where, seen = f"/api/respondents/{token}", browser.seen
    await asyncio.sleep(np.random.default_rng(list(token.encode())).uniform(0, pace))
    turn = await browser.fetch("GET", f"{where}/question")
    while turn.get("question") and time.monotonic() < until:
        question, begin = turn["question"], time.monotonic()
        left, right = (person.distances[question[side]["position"]] for side in ("left", "right"))
        said = {"question": question["id"], "choice": "left" if left < right else "right"}
        turn = await browser.fetch("POST", f"{where}/tell", said)
        seen.seconds.append(time.monotonic() - begin)
        seen.acknowledged.append((name, question["id"]))
        await asyncio.sleep(max(0.0, pace - (time.monotonic() - begin)))


async def crowd(study: Study, people: list[Preferences], url: str, port: int, run: Run) -> Seen:
    """All of them at once, and the server's death in the middle."""
    seen, server = Seen(), start(url, port, run.processes)
    seen.cpu -= cpu_seconds(server.pid, run.processes)
    until, links = time.monotonic() + run.seconds, study.links()
    tasks = [
        asyncio.create_task(answer(Browser(port, seen), name, links[name], person, run.pace, until))
        for name, person in zip(links, people, strict=True)
    ]
    if run.kill:
        await asyncio.sleep(run.seconds / 2)
        seen.cpu += cpu_seconds(server.pid, run.processes)
        server.send_signal(signal.SIGKILL)
        server.wait()
        server = await asyncio.to_thread(start, url, port, run.processes)
        seen.cpu -= cpu_seconds(server.pid, run.processes)
    await asyncio.gather(*tasks)
    seen.cpu += cpu_seconds(server.pid, run.processes)
    server.terminate()
    server.wait()
    return seen


def missing_and_twice(study: Study, seen: Seen) -> tuple[int, int]:
    """Acknowledged answers that are not there, and questions with more than one."""
    stored: Counter[tuple[str, int | None]] = Counter()
    for name in study.respondents():
        stored.update((name, one.question) for one in study.respondent(name).history())
    missing = sum(one not in stored for one in seen.acknowledged)
    return missing, sum(count > 1 for count in stored.values())


def row(run: Run) -> str:
    """One crowd: a row of the table."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/load.db"
        tastes = [make_preferences(100, 5, 1, random_state=seed) for seed in range(run.people)]
        # One catalogue for all; tastes differ.
        tastes = [Preferences(tastes[0].items, t.pairs, t.y, t.ideal_point, t.metric) for t in tastes]
        study = create_study(tastes[0].items, name="load", storage=url)
        for number in range(run.people):
            study.respondent(f"person {number}")
        seen = asyncio.run(crowd(study, tastes, url, port, run))
        missing, twice = missing_and_twice(study, seen)
    ms = 1e3 * np.array(seen.seconds)
    print(Counter(seen.refused).most_common(3))
    pace = f"{run.pace:g} s" if run.pace else "as fast as they can"
    length = f"{run.seconds:.0f} s{', killed once' if run.kill else ''}"
    return (
        f"| {run.people} | {pace} | {run.processes} | {length} | {len(ms) / run.seconds:.0f} "
        f"| {1e3 * seen.cpu / len(ms):.1f} ms | {np.median(ms):.0f} ms "
        f"| {np.quantile(ms, 0.95):.0f} ms | {ms.max():.0f} ms | {missing} | {twice} | {seen.repeats} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pace", type=float, default=2, help="seconds between two answers of a person")
    options = parser.parse_args()
    size = options.people, options.seconds
    runs = [Run(*size, 1, options.pace), Run(*size, 1, options.pace, kill=True), Run(*size, 2, options.pace)]
    rows = [row(run) for run in [*runs, Run(*size, 1, 0.0), Run(*size, 2, 0.0)]]
    text = [
        "# Many people at once",
        "",
        "`python -m benchmarks.load`: SQLite, 100 items with 5 features; the server, the processes that "
        f"learn and the people are on one machine of {os.cpu_count()} cores. CPU time is that of the "
        "processes that reply.",
        "",
        "| people | an answer of each every | processes | for | answers a second | CPU time of an answer "
        "| median | 95 % under | longest | lost | twice | told again |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
        *rows,
    ]
    print("\n".join(text))
    (Path(__file__).parent / "load.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
