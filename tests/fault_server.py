"""A page that is killed again and again while people answer; run as a script, by the tests in tests/faults.

One process of one thread keeps the socket and starts the others: the server, and a process for each person,
who sends every answer until it is confirmed. The last line that is printed is what came of it, as JSON.
"""

from __future__ import annotations

import http.client
import json
import mmap
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

N_ITEMS = 40


def child(work: Callable[[], None]) -> int:
    """The id of a new process that does the work."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def serve(url: str, listener: socket.socket) -> None:
    """The page, with the socket that outlives it."""
    import logging

    import uvicorn

    from coombs.web import create_app

    logging.disable(logging.CRITICAL)
    config = uvicorn.Config(create_app(url), log_config=None, access_log=False, ws="none")
    uvicorn.Server(config).run(sockets=[listener])


class Progress:
    """How many answers were confirmed, seen by all processes: trouble comes by that, not by the clock."""

    def __init__(self, people: int) -> None:
        self._shared = mmap.mmap(-1, 8 * people)

    def note(self, person: int, count: int) -> None:
        """That somebody has so many."""
        self._shared[8 * person : 8 * person + 8] = count.to_bytes(8, "little")

    def total(self) -> int:
        """Of all."""
        whole = bytes(self._shared[:])
        return sum(int.from_bytes(whole[start : start + 8], "little") for start in range(0, len(whole), 8))

    def wait(self, more: int, seconds: float = 30) -> None:
        """Until there are so many more, or for so long."""
        end, aim = time.monotonic() + seconds, self.total() + more
        while self.total() < aim and time.monotonic() < end:
            time.sleep(0.005)


class Person:
    """Somebody who answers, and sends everything again until it is confirmed."""

    def __init__(self, port: int, number: int, token: str, report: int, progress: Progress) -> None:
        self._port, self._number, self._token = port, number, token
        self._report, self._progress = report, progress

    def call(self, what: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """A reply that is none of a server in trouble, however often that takes."""
        while True:
            try:
                status, text = self._once(what, body)
            except (OSError, http.client.HTTPException):
                status, text = 0, ""
            os.write(self._report, f"status {status}\n".encode())
            if status == 503 and any(word in text for word in ("sqlite", "postgres", "psycopg", "/", "host")):
                os.write(self._report, b"leak 1\n")
            if 0 < status < 500:
                return status, json.loads(text)
            time.sleep(0.02)

    def _once(self, what: str, body: dict[str, Any] | None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        try:
            path, headers = f"/api/respondents/{self._token}/{what}", {"Content-Type": "application/json"}
            if body is None:
                connection.request("GET", path)
            else:
                connection.request("POST", path, json.dumps(body), headers)
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        finally:
            connection.close()

    def answer(self) -> None:
        """Until every pair is asked, or for ever."""
        _, turn = self.call("question")
        rng, count = random.Random(self._token), 0
        while turn.get("question"):
            number = turn["question"]["id"]
            status, turn = self.call("tell", {"question": number, "choice": rng.choice(["left", "right"])})
            if status != 200:
                os.write(self._report, f"refused {status}\n".encode())
                return
            count += 1
            os.write(self._report, f"confirmed {number}\n".encode())
            self._progress.note(self._number, count)


def trouble(kind: str, url: str, rounds: int, more: str, listener: socket.socket, progress: Progress) -> None:
    """What goes wrong, so many times, while people answer."""
    server = child(lambda: serve(url, listener))
    path = Path(url.removeprefix("sqlite:///"))
    rng = random.Random(7)
    if kind != "kill":
        progress.wait(1, 120)
    for number in range(rounds):
        # Now and then also before the server has begun.
        progress.wait(number % 5)
        time.sleep(rng.uniform(0, 0.03))
        if kind == "kill":
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
            server = child(lambda: serve(url, listener))
        elif kind == "gone":
            away = path.with_name("away.db")
            path.rename(away)
            time.sleep(rng.uniform(0.05, 0.2))
            away.rename(path)
        else:
            # What restarts the database server, as a list of words.
            subprocess.run(json.loads(more), check=True, stdout=subprocess.DEVNULL)
    progress.wait(5)
    os.kill(server, signal.SIGTERM)
    os.waitpid(server, 0)


def run(kind: str, url: str, rounds: int, people: int, more: str = "") -> dict[str, Any]:
    """What was confirmed, what is stored, and which statuses were seen."""
    from coombs import create_study

    items = [[float(i), float(i * 7 % N_ITEMS)] for i in range(N_ITEMS)]
    study = create_study(items, "points", storage=url, strategy="random", shared_prior=False)
    tokens = [study.respondent(f"p{i}").record.token for i in range(people)]
    study.storage.close_all()
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    port, pipes, persons = listener.getsockname()[1], [], []
    progress = Progress(people)
    for number, token in enumerate(tokens):
        read, write = os.pipe()
        person = Person(port, number, token, write, progress)
        persons.append(child(person.answer))
        os.close(write)
        pipes.append(read)
    trouble_pid = child(lambda: trouble(kind, url, rounds, more, listener, progress))
    listener.close()
    reports = _reports(pipes, trouble_pid, persons)
    return _result(url, tokens, reports)


def _reports(pipes: list[int], until: int, persons: list[int]) -> list[list[str]]:
    """The lines of each person, until the trouble is over."""
    import selectors

    texts, waiting = [b""] * len(pipes), selectors.DefaultSelector()
    for number, pipe in enumerate(pipes):
        waiting.register(pipe, selectors.EVENT_READ, number)
    code = None
    while waiting.get_map():
        for key, _ in waiting.select(0.2):
            more = os.read(key.fd, 1 << 16)
            texts[key.data] += more
            if not more:
                waiting.unregister(key.fd)
        if code is None:
            pid, status = os.waitpid(until, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                for person in persons:
                    os.kill(person, signal.SIGKILL)
    for person in persons:
        os.waitpid(person, 0)
    assert code == 0, f"the trouble ended with {code}"
    return [text.decode().splitlines() for text in texts]


def _result(url: str, tokens: list[str], reports: list[list[str]]) -> dict[str, Any]:
    from coombs import load_study

    study = load_study("points", storage=url)
    result: dict[str, Any] = {"confirmed": 0, "stored": 0, "lost": 0, "twice": 0, "leaks": 0, "refused": 0}
    statuses: Counter[str] = Counter()
    for number, lines in enumerate(reports):
        words = [line.split() for line in lines]
        statuses.update(value for what, value in words if what == "status")
        confirmed = {int(value) for what, value in words if what == "confirmed"}
        stored = Counter(answer.question for answer in study.respondent(f"p{number}").history())
        result["confirmed"] += len(confirmed)
        result["stored"] += stored.total()
        result["lost"] += len(confirmed - stored.keys())
        result["twice"] += sum(count > 1 for count in stored.values())
        result["leaks"] += sum(what == "leak" for what, _ in words)
        result["refused"] += sum(what == "refused" for what, _ in words)
    study.storage.close_all()
    return {**result, "statuses": dict(statuses)}


if __name__ == "__main__":
    # Imported here, so that servers start at once.
    import coombs.web.app  # noqa: F401

    kind, url, rounds, people, *rest = sys.argv[1:]
    print(json.dumps(run(kind, url, int(rounds), int(people), *rest)))
