"""Clients that are slow on purpose, and bodies that are too much: the page goes on for everybody else."""

from __future__ import annotations

import os
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
from fault_size import size
from running_page import RunningPage, running_page

pytest.importorskip("fastapi")

from coombs import create_study, load_study

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="limits are those of POSIX")]
TOKEN = "a token of the owner"
FILES = 1024
"""Files that the server may open, as is usual."""
HALF_OPEN = 1200
"""Connections that never end their request."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("slow")


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[RunningPage]:
    """A server with the usual limit of files, whose clients have no such limit."""
    url = f"sqlite:///{folder / 'slow.db'}"
    create_study([[1.0], [2.0], [4.0]], "points", storage=url).respondent("Ann")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * HALF_OPEN:
        pytest.skip(f"a process may open {hard} files here, which is too few for the clients")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * HALF_OPEN), hard))
    try:
        with running_page(folder, "--storage", url, COOMBS_TOKEN=TOKEN) as made:
            resource.prlimit(made.process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
            yield made
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def begun(page: RunningPage, count: int, text: str) -> list[socket.socket]:
    """Connections on each of which a request was begun."""
    made = []
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", page.port), timeout=30)
        # It may be ended at once: its address has too many.
        with suppress(OSError):
            one.sendall(text.encode())
        made.append(one)
    return made


def n_open(clients: list[socket.socket]) -> int:
    """Connections that the server has not ended."""
    left = 0
    for one in clients:
        one.setblocking(False)
        try:
            left += one.recv(1) != b""
        except BlockingIOError:
            left += 1
        except OSError:
            pass
    return left


def files(page: RunningPage) -> int:
    """Files that the server has open."""
    return len(list(Path(f"/proc/{page.process.pid}/fd").iterdir()))


HEADERS = "POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nContent-Length: 200\r\n"
REQUESTS = {
    "half of the headers": HEADERS,
    "nothing": "",
    "half of a body": f"{HEADERS}Content-Type: application/x-www-form-urlencoded\r\n\r\ntoken=",
}


@pytest.mark.parametrize("kind", list(REQUESTS)[: size(1, 3)])
def test_half_open_requests_do_not_fill_the_server(page: RunningPage, kind: str) -> None:
    clients = begun(page, HALF_OPEN, REQUESTS[kind])
    try:
        # While they are there, others are served, and for good: most were ended at once.
        for _ in range(3):
            with urlopen(f"{page.address}/login", timeout=30) as reply:
                assert reply.status == 200
        assert n_open(clients) <= FILES // 2 and files(page) < FILES
        for _ in range(600):
            if not n_open(clients):
                break
            time.sleep(0.1)
        # All others are ended once their time is over.
        assert n_open(clients) == 0
        urlopen(f"{page.address}/login", timeout=30).close()
    finally:
        for one in clients:
            one.close()


BODY = b"[" * 10_000_000


def sent(page: RunningPage, path: str, **headers: str) -> int:
    """The status of the reply to a body of brackets."""
    known = {
        "Host": "127.0.0.1",
        "Content-Type": "application/json",
        "Content-Length": str(len(BODY)),
        **headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in known.items())
    with socket.create_connection(("127.0.0.1", page.port), timeout=60) as one:
        # It may be refused before it is sent.
        with suppress(OSError):
            one.sendall(f"POST {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode() + BODY)
        reply = one.makefile("rb").readline()
    return int(reply.split()[1])


@pytest.mark.parametrize("owner", [False, True])
def test_a_body_of_brackets_holds_up_nobody(page: RunningPage, owner: bool) -> None:
    """Before, one such request stopped all others for five seconds, and twenty took 5 GB."""
    known = {"Authorization": f"Bearer {TOKEN}"} if owner else {}
    before, served, statuses = cpu_seconds(page), 0, list[int]()
    threads = [
        threading.Thread(target=lambda: statuses.append(sent(page, "/api/studies", **known)))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        urlopen(f"{page.address}/static/icon.svg", timeout=60).close()
        served += 1
    assert statuses == [422 if owner else 401] * 20
    # Of the server's processor, which no busy machine changes much: parsing them all would take 100 s.
    assert served and cpu_seconds(page) - before < 20
    assert memory(page) < 1.5e9


def cpu_seconds(page: RunningPage) -> float:
    """What the server's process took of a processor."""
    user, system = Path(f"/proc/{page.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def memory(page: RunningPage) -> float:
    """The most bytes that the server had."""
    status = Path(f"/proc/{page.process.pid}/status").read_text()
    return float(status.partition("VmHWM:")[2].split()[0]) * 1024


def test_an_answer_is_stored_while_slow_clients_hold_on(page: RunningPage, folder: Path) -> None:
    study = load_study("points", storage=f"sqlite:///{folder / 'slow.db'}")
    base = f"/api/respondents/{study.respondent('Ann').record.token}"
    clients = begun(page, HALF_OPEN, REQUESTS["half of the headers"])
    try:
        turn = page.api(f"{base}/question")
        said = {"question": turn["question"]["id"], "choice": "left"}
        assert page.api(f"{base}/tell", said)["progress"]["n_answers"] == 1
    finally:
        for one in clients:
            one.close()
    assert len(study.respondent("Ann").history()) == 1
