"""Processes that learn, so that the one which answers requests stays quick; replaced when they break."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Any, TypeVar

from coombs.study.online_model import ModelUpdate, UpdateTask, learn
from coombs.web.learning.heartbeat import Heartbeat, give_signs

TIME_LIMIT = 5.0
"""Seconds that a worker, which gives way, has for a few answers before this process, busy itself, learns."""
HANGS = 6
"""Times that limit after which a worker is taken to hang though it gives signs of life: before, the machine
may only be busy, and another worker would have to begin anew."""
TIME_PER_ANSWER = 0.05
"""Seconds that each new answer adds to that limit: 2,000 answers at once take 10 s on a slow machine."""
NICENESS = 19
"""How much workers give way to the processes that answer requests: entirely."""
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
"""For workers: the matrices are small, and no module comes from the current folder."""

Done = TypeVar("Done")


class WorkerPool:
    """`learn` in other processes; where none is ready, or one broke or is late, this process learns instead.

    A pool in which a worker died or hangs, at work or not, gives way to a new one.
    """

    def __init__(self, processes: int, time_limit: float = TIME_LIMIT) -> None:
        self._processes, self._time_limit = processes, time_limit
        self._pool: WatchedPool | None = None
        self._first_pid: Future[int] = Future()
        self._late: Future[ModelUpdate] | None = None
        self._lock = threading.Lock()
        self._ending = threading.Lock()
        self._closed = False
        self.restarts = 0

    def learn(self, task: UpdateTask) -> ModelUpdate:
        """As `online_model.learn`."""
        pool, is_ready = self._started()
        if not is_ready:
            return learn(task)
        limit = self._time_limit + TIME_PER_ANSWER * len(task.new)
        try:
            future = pool.submit(_learn, task)
            # Everybody's model holds the same items and prior, which therefore do not come back.
            return future.result(limit).whole(task.state.belief)
        except TimeoutError:
            self._late = future
            watch = threading.Timer((HANGS - 1) * limit, self._replace, (pool, future))
            watch.daemon = True
            watch.start()
        except BrokenProcessPool:
            self._replace(pool)
        return learn(task)

    def _started(self) -> tuple[WatchedPool, bool]:
        """The pool, and whether its first worker is ready and none is late."""
        with self._lock:
            if self._closed:
                raise RuntimeError("The worker processes were closed.")
            if self._pool is None:
                self._pool = WatchedPool(self._processes, on_hang=self._replace)
                # A process is started for each task that finds none idle.
                self._first_pid, *_ = [self._pool.submit(os.getpid) for _ in range(self._processes)]
            is_late = self._late is not None and not self._late.done()
            return self._pool, self._first_pid.done() and not is_late

    def _replace(self, pool: WatchedPool, late: Future[ModelUpdate] | None = None) -> None:
        """Start other processes in place of those of a pool, unless what was late is there by now."""
        if late is not None and late.done():
            return
        self._discard(pool)
        if not self._closed:
            self.restarts += 1
            logging.getLogger("coombs.web").warning("Worker processes did not answer and are replaced.")
            self._started()

    def check(self) -> bool:
        """Whether all processes live; where one does not, others are started."""
        pool = self._pool
        if pool is None or pool.is_alive:
            return True
        self._replace(pool)
        return False

    def _discard(self, pool: WatchedPool) -> None:
        """Kill the processes of a pool."""
        with self._lock:
            if self._pool is pool:
                self._pool = None
        with self._ending:
            pool.kill()

    def close(self) -> None:
        """End the processes, also those in the middle of a task; none is started again."""
        with self._lock:
            self._closed, pool = True, self._pool
        if pool is not None:
            self._discard(pool)


class WatchedPool:
    """Processes that give signs of life. Where one hangs, all are killed, and whoever waits is told."""

    def __init__(
        self,
        processes: int,
        begin: Callable[..., None] | None = None,
        args: tuple[Any, ...] = (),
        on_hang: Callable[[WatchedPool], None] | None = None,
    ) -> None:
        context, self._on_hang = WorkerContext(), on_hang
        self._heart = Heartbeat(processes, context, self._hangs)
        about = (self._heart.shared, begin, args)
        self._executor = ProcessPoolExecutor(processes, context, begin_worker, about)

    def submit(self, function: Callable[..., Done], *args: object) -> Future[Done]:
        """As that of an executor."""
        return self._executor.submit(function, *args)

    def _hangs(self) -> None:
        logging.getLogger("coombs.web").warning("A worker process gave no sign of life and is ended.")
        self.end_processes()
        if self._on_hang is not None:
            self._on_hang(self)

    @property
    def is_alive(self) -> bool:
        """Whether no process has died; one that hangs is found by its heartbeat."""
        processes = list((self._executor._processes or {}).values())
        return not self._executor._broken and all(one.is_alive() for one in processes)

    def end_processes(self) -> None:
        """Kill the processes: all that waits for them is told that they broke."""
        # Python 3.14 has kill_workers().
        for process in list((self._executor._processes or {}).values()):
            process.kill()

    def kill(self) -> None:
        """Kill the processes and end what belongs to them here."""
        self._heart.end()
        self.end_processes()
        # Waits for the pool's own thread: at exit Python 3.11 may otherwise write to a pipe that it closes.
        self._executor.shutdown()


class Apart:
    """A function in a process of its own, which ends with it: for work of seconds, which nobody waits for."""

    def __init__(self) -> None:
        self._pool: WatchedPool | None = None

    def run(self, function: Callable[..., Done], *args: object) -> Done:
        """What the function returns; a BrokenProcessPool if it was closed before, or hangs."""
        pool = self._pool = WatchedPool(1)
        try:
            return pool.submit(function, *args).result()
        finally:
            pool.kill()

    def close(self) -> None:
        """End the process, also in the middle of its work."""
        if self._pool is not None:
            self._pool.end_processes()


class _Process(SpawnProcess):
    """A process that does not run the caller's script again, as those of multiprocessing do."""

    _lock = threading.Lock()

    def start(self) -> None:
        """Start with an empty main module in place of the caller's, and with our environment."""
        with self._lock:
            main, environment = sys.modules["__main__"], dict(os.environ)
            sys.modules["__main__"] = ModuleType("__main__")
            os.environ.update(ENVIRONMENT)
            try:
                super().start()
            finally:
                sys.modules["__main__"] = main
                for name in ENVIRONMENT:
                    os.environ.pop(name)
                os.environ.update(environment)


class WorkerContext(SpawnContext):
    """Starts such processes."""

    Process = _Process


def begin_worker(shared: tuple[Any, Any], begin: Callable[..., None] | None, args: tuple[Any, ...]) -> None:
    """In a worker, before its first task: what all do, and then what `begin` does."""
    give_signs(*shared)
    # Ctrl+C is for the server, which then ends this.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_server, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    if begin is not None:
        begin(*args)


def _end_with_server() -> None:
    """However the server came to an end."""
    server = parent_process()
    assert server is not None
    server.join()
    os._exit(1)


def _learn(task: UpdateTask) -> ModelUpdate:
    """In a worker: the update without the items and the prior, which the server has."""
    return learn(task).light()
