"""Pages in processes of their own, for tests that stop, hang or overload them; killed at the end."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

PATIENCE = 60.0
"""Seconds that a server may take to start, on the slowest machine."""


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class RunningPage:
    """A server at a port of this machine."""

    def __init__(self, command: Sequence[str], port: int, cwd: Path, environment: dict[str, str]) -> None:
        self.port, self.address = port, f"http://127.0.0.1:{port}"
        self.log = cwd / f"server-{port}.log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command, cwd=cwd, stdout=log, stderr=log, env={**os.environ, **environment}
            )

    def wait(self) -> None:
        """Until it answers."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
            try:
                urlopen(f"{self.address}/static/icon.svg", timeout=5).close()
                return
            except (URLError, OSError) as error:
                if isinstance(error, HTTPError):
                    return
                time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def api(
        self, path: str, body: Any = None, headers: dict[str, str] | None = None, patience: float = PATIENCE
    ) -> Any:
        """A reply of the API."""
        data = None if body is None else json.dumps(body).encode()
        known = {"Content-Type": "application/json", **(headers or {})}
        with urlopen(Request(f"{self.address}{path}", data, known), timeout=patience) as reply:
            return json.load(reply)

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait(PATIENCE)


@contextmanager
def running_page(
    cwd: Path, *options: str, port: int | None = None, **environment: str
) -> Iterator[RunningPage]:
    """`coombs serve` with some options."""
    at = free_port() if port is None else port
    command = [sys.executable, "-m", "coombs", "serve", "--port", str(at), "--no-browser", *options]
    with running(command, at, cwd, environment) as page:
        yield page


@contextmanager
def running_uvicorn(cwd: Path, app: str, *options: str, **environment: str) -> Iterator[RunningPage]:
    """uvicorn with an app of a module in a folder."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", app, "--port", str(port), *options]
    with running(command, port, cwd, environment) as page:
        yield page


@contextmanager
def running(
    command: Sequence[str], port: int, cwd: Path, environment: dict[str, str]
) -> Iterator[RunningPage]:
    """A server by its command, once it answers."""
    page = RunningPage(command, port, cwd, environment)
    try:
        page.wait()
        yield page
    finally:
        page.kill()


def children(pid: int) -> list[int]:
    """Processes that a process has started, on Linux."""
    # Each is the child of the thread that started it.
    found = sorted(Path(f"/proc/{pid}/task").glob("*/children"))
    return sorted(int(one) for path in found for one in path.read_text().split())


def workers(pid: int) -> list[int]:
    """Those of them that do our work, without multiprocessing's own."""
    return [one for one in children(pid) if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]
