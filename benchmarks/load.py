"""Many people answering at once. `python -m benchmarks.load`.

A server in a process of its own (one study, SQLite); people who each answer a question every two seconds
through the JSON API; in the middle the server is killed (SIGKILL) and started again. Then: how long an
answer took, and whether every acknowledged answer is there once. Writes load.md beside this file.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np

from coombs import Study, create_study
from coombs.simulate import Preferences, make_preferences

PACE = 2.0
"""Seconds between two answers of a person."""
SERVE = (
    "from coombs.web import serve; serve(None, storage={url!r}, name=None, port={port}, open_browser=False)"
)


@dataclass
class Seen:
    """What the people saw."""

    seconds: list[float] = field(default_factory=list)
    acknowledged: list[tuple[str, int]] = field(default_factory=list)
    repeats: int = 0
    refused: list[str] = field(default_factory=list)


def start(url: str, port: int) -> subprocess.Popen[bytes]:
    """A server, once it answers."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    server = subprocess.Popen([sys.executable, "-c", SERVE.format(url=url, port=port)], env=environment)
    for _ in range(200):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return server
        time.sleep(0.1)
    raise SystemExit("The server did not start.")


async def answer(
    client: httpx.AsyncClient, name: str, token: str, person: Preferences, seen: Seen, until: float
) -> None:
    """One person: an answer every two seconds, told again where no reply came."""
    where = f"/api/respondents/{token}"
    await asyncio.sleep(np.random.default_rng(len(name) + hash(token) % 1000).uniform(0, PACE))
    turn = await _told(client, "GET", f"{where}/question", None, seen)
    while turn.get("question") and time.monotonic() < until:
        question, begin = turn["question"], time.monotonic()
        left, right = (person.distances[question[side]["position"]] for side in ("left", "right"))
        said = {"question": question["id"], "choice": "left" if left < right else "right"}
        turn = await _told(client, "POST", f"{where}/tell", said, seen)
        seen.seconds.append(time.monotonic() - begin)
        seen.acknowledged.append((name, question["id"]))
        await asyncio.sleep(max(0.0, PACE - (time.monotonic() - begin)))


async def _told(client: httpx.AsyncClient, method: str, path: str, said: dict | None, seen: Seen) -> dict:
    while True:
        try:
            reply = await client.request(method, path, json=said)
            if reply.status_code == 200:
                return reply.json()
            seen.refused.append(f"{reply.status_code}: {reply.text[:80]}")
        except httpx.TransportError:
            seen.repeats += 1
        await asyncio.sleep(0.2)


async def crowd(
    study: Study, people: list[Preferences], url: str, port: int, seconds: float, kill: bool
) -> Seen:
    """All of them at once, and the server's death in the middle."""
    seen, server = Seen(), start(url, port)
    begin = time.monotonic()
    limits = httpx.Limits(max_connections=len(people))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30, limits=limits) as client:
        links = study.links
        tasks = [
            asyncio.create_task(answer(client, name, links[name], person, seen, begin + seconds))
            for name, person in zip(links, people, strict=True)
        ]
        if kill:
            await asyncio.sleep(seconds / 2)
            server.send_signal(signal.SIGKILL)
            server.wait()
            server = await asyncio.to_thread(start, url, port)
        await asyncio.gather(*tasks)
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


def run(people: int, seconds: float, kill: bool) -> str:
    """One crowd: a row of the table."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/load.db"
        tastes = [make_preferences(100, 5, 1, random_state=seed) for seed in range(people)]
        # One catalogue for all; tastes differ.
        tastes = [Preferences(tastes[0].items, t.pairs, t.y, t.ideal_point, t.metric) for t in tastes]
        study = create_study(tastes[0].items, name="load", storage=url)
        for number in range(people):
            study.respondent(f"person {number}")
        seen = asyncio.run(crowd(study, tastes, url, port, seconds, kill))
        missing, twice = missing_and_twice(study, seen)
    ms = 1e3 * np.array(seen.seconds)
    print(Counter(seen.refused).most_common(3))
    return (
        f"| {people} | {seconds:.0f} s{', killed once' if kill else ''} | {len(ms)} | {np.median(ms):.0f} ms "
        f"| {np.quantile(ms, 0.95):.0f} ms | {ms.max():.0f} ms | {missing} | {twice} | {seen.repeats} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    rows = [run(options.people, options.seconds, kill) for kill in (False, True)]
    text = [
        "# Many people at once",
        "",
        f"`python -m benchmarks.load`: an answer each {PACE:.0f} s, server and people on the same machine.",
        "",
        "| people | for | answers | median | 95 % under | longest | lost | twice | told again |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows,
    ]
    print("\n".join(text))
    (Path(__file__).parent / "load.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
