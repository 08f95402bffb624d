"""`coombs serve` as people run it: a process that is started, used, killed and stopped."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from coombs import load_study

pytest.importorskip("fastapi", reason="the page needs the extra 'web'")
uvicorn = pytest.importorskip("uvicorn")

from coombs.web.connections import BoundedProtocol  # noqa: E402

TEAS = "tea,price,strength\n" + "".join(f"Tea {i},{3 + i * 7 % 10},{i * 3 % 8}\n" for i in range(12))


class Page:
    """A running server, and the address of the first question."""

    def __init__(self, place: Path) -> None:
        command = [sys.executable, "-m", "coombs", "serve", "teas.csv", "--port", "0", "--no-browser"]
        self.process = subprocess.Popen(command, cwd=place, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.said = [self.process.stderr.readline() for _ in range(3)]
        self.question = self.said[1].split()[-1].partition("?")[0]

    def api(self, what: str, body: dict[str, Any] | None = None) -> Any:
        """A reply of the API."""
        data = None if body is None else json.dumps(body).encode()
        address = f"{self.question.replace('/a/', '/api/respondents/')}/{what}"
        request = Request(address, data, {"Content-Type": "application/json"})
        with urlopen(request, timeout=30) as reply:
            return json.load(reply)

    def stop(self, how: signal.Signals) -> int:
        """End it; the exit code."""
        self.process.send_signal(how)
        assert self.process.stderr is not None
        self.said.append(self.process.stderr.read())
        self.process.stderr.close()
        return self.process.wait(30)


@contextmanager
def page(place: Path) -> Iterator[Page]:
    made = Page(place)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.stop(signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_serve_keeps_every_confirmed_answer_when_it_is_killed_and_stops_quietly(tmp_path: Path) -> None:
    (tmp_path / "teas.csv").write_text(TEAS)
    with page(tmp_path) as first:
        assert first.said[0].startswith("coombs is at http://127.0.0.1:")
        assert first.said[2] == "Press Ctrl+C to stop; every answer is stored.\n"
        with urlopen(first.question, timeout=30) as reply:
            assert b"Which do you prefer?" in reply.read()
        asked = first.api("question")
        for _ in range(4):
            asked = first.api("tell", {"question": asked["question"]["id"], "choice": "left"})
        assert first.stop(signal.SIGKILL) == -signal.SIGKILL
    with page(tmp_path) as again:
        # The same link, but for the port.
        assert again.question.partition("/a/")[2] == first.question.partition("/a/")[2]
        turn = again.api("question")
        assert turn["progress"]["n_answers"] == 4 and turn["question"] == asked["question"]
        again.api("tell", {"question": asked["question"]["id"], "choice": "right"})
        assert again.stop(signal.SIGINT) == 0
        assert again.said[-1] == ""
    study = load_study("teas", storage=f"sqlite:///{tmp_path}/coombs.db")
    assert [one.choice for one in study.history()] == ["left"] * 4 + ["right"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_serve_that_is_terminated_while_workers_run_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "teas.csv").write_text(TEAS)
    with page(tmp_path) as made:
        asked = made.api("question")
        made.api("tell", {"question": asked["question"]["id"], "choice": "left"})
        assert made.stop(signal.SIGTERM) == 128 + signal.SIGTERM
        assert made.said[-1] == ""


def test_what_serve_is_given_is_how_its_study_asks_also_one_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from coombs import cli
    from coombs.web import server

    (tmp_path / "teas.csv").write_text(TEAS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "_serve", lambda *_: None)
    plain = ["serve", "teas.csv", "--port", "0", "--no-browser", "--features", "price"]
    assert cli.main(plain) == 0
    study = load_study("teas", storage=f"sqlite:///{tmp_path}/coombs.db")
    assert study.settings.top is None and study.settings.goal(12) == (3, 0.8)
    given = ["--top", "2", "--certainty", "0.9", "--strategy", "best", "--questions", "30"]
    assert cli.main([*plain, *given]) == 0
    asked = load_study("teas", storage=f"sqlite:///{tmp_path}/coombs.db").settings
    assert (asked.top, asked.certainty, asked.strategy, asked.most_questions) == (2, 0.9, "best", 30)


def test_no_part_of_a_reply_waits_for_the_one_before_it() -> None:
    """Else each reply takes 40 ms more on Linux: asyncio sees to it only for sockets that it made itself."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        """Nothing is asked of it."""

    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=BoundedProtocol, ws="none", lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    with socket.create_connection(listener.getsockname()):
        while not server.server_state.connections:
            time.sleep(0.01)
        (one,) = server.server_state.connections
        assert one.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    server.should_exit = True
    thread.join(20)
    listener.close()
