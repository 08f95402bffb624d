"""Several processes that serve one page: they share its socket, and one that ends is replaced."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import Any

from coombs.data.tables import InputError
from coombs.web.learning.worker import WorkerContext
from coombs.web.shared_results import ResultShelf

QUICK = 5.0
"""Seconds after its start within which a process that ends counts as failed."""
MOST_QUICK = 5
"""Failed starts in a row after which the server gives up."""
LAST_WAIT = 15.0
"""Seconds that processes have to answer what they were asked when the server stops."""

Run = Callable[[Any, socket.socket, Path, str, connection.Connection], None]
"""Serves by settings with a socket, leaves its numbers in a folder, under a name, and has a line to the shelf
of results; a function of a module, which a new process can find."""


class ServerProcesses:
    """Processes that each run the same function, until the server is stopped."""

    def __init__(self, count: int, listener: socket.socket, run: Run, settings: Any) -> None:
        self._listener, self._run, self._settings = listener, run, settings
        self._processes: list[Any] = [None] * count
        self._started = [0.0] * count
        self._restarts = self._quick = 0
        self._shelf = ResultShelf()

    def serve(self) -> None:
        """Start them, and put new ones in the place of those that end; returns when it is interrupted."""
        # Python's own process that frees what a killed one left would say so in the midst of a log of JSON.
        sys.warnoptions.append("ignore:resource_tracker:UserWarning")
        with tempfile.TemporaryDirectory(prefix="coombs-") as folder:
            try:
                for place in range(len(self._processes)):
                    self._start(place, Path(folder))
                while True:
                    self._replace_ended(Path(folder))
            finally:
                self._stop()

    def _start(self, place: int, folder: Path) -> None:
        here, there = WorkerContext().Pipe()
        args = self._run, self._settings, self._listener, folder, str(place), there
        process = self._processes[place] = WorkerContext().Process(target=_begin, args=args)
        self._started[place] = time.monotonic()
        process.start()
        # The other end is the process's alone, so that its end is noticed.
        there.close()
        who = f"{place} {process.pid}"
        threading.Thread(target=self._shelf.serve, args=(who, here), daemon=True).start()

    def _replace_ended(self, folder: Path) -> None:
        """Wait until a process ends, and start another."""
        connection.wait([one.sentinel for one in self._processes])
        for place, process in enumerate(self._processes):
            if process.is_alive():
                continue
            is_quick = time.monotonic() - self._started[place] < QUICK
            self._quick = self._quick + 1 if is_quick else 0
            if self._quick >= MOST_QUICK:
                raise InputError("The processes of the server end as soon as they start; see its log.")
            logging.getLogger("coombs.web").warning("A process of the server ended and is replaced.")
            self._restarts += 1
            numbers = {"numbers": {"coombs_web_restarts_total": self._restarts}}
            (folder / "server.json").write_text(json.dumps(numbers))
            self._start(place, folder)

    def _stop(self) -> None:
        """Let all finish what they were asked, and end those that do not."""
        running = [one for one in self._processes if one is not None]
        for process in running:
            with suppress(OSError):
                process.terminate()
        end = time.monotonic() + LAST_WAIT
        for process in running:
            process.join(max(0.0, end - time.monotonic()))
            process.kill()


def _begin(
    run: Run,
    settings: Any,
    listener: socket.socket,
    folder: Path,
    name: str,
    shelf: connection.Connection,
) -> None:
    """In a new process: serve, until the server ends, however it came to that."""
    threading.Thread(target=_end_with_server, daemon=True).start()
    with suppress(KeyboardInterrupt):
        run(settings, listener, folder, name, shelf)


def _end_with_server() -> None:
    server = parent_process()
    assert server is not None
    server.join()
    os.kill(os.getpid(), signal.SIGTERM)
