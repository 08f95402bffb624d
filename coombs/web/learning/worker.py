"""Processes that learn, so that the one which answers requests stays quick; replaced when they break."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import count
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType

from coombs.data.tables import FloatArray
from coombs.study.online_model import ModelUpdate, UpdateTask, learn
from coombs.web.lru_cache import LRUCache

TIME_LIMIT = 30.0
"""Seconds after which a worker that learns from a few answers is taken to hang."""
TIME_PER_ANSWER = 0.05
"""Seconds that each new answer adds to that limit: 2,000 answers at once take 10 s on a slow machine."""
START_LIMIT = 60.0
"""Seconds that a worker may take to start."""
MOST_TABLES = 20
"""Tables of items that a worker keeps."""
NICENESS = 5
"""How much workers give way to the process that answers requests."""
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
"""For workers: the matrices are small, and no module comes from the current folder."""


class WorkerPool:
    """`learn` in other processes; a pool in which one died or hangs gives way to a new one."""

    def __init__(self, processes: int, time_limit: float = TIME_LIMIT) -> None:
        self._processes, self._time_limit = processes, time_limit
        self._pool: ProcessPoolExecutor | None = None
        self._first_pid: Future[int] = Future()
        self._keys: LRUCache[tuple[FloatArray, str]] = LRUCache(MOST_TABLES)
        self._numbers = count()
        self._lock = threading.Lock()
        self._closed = False

    def learn(self, task: UpdateTask) -> ModelUpdate:
        """As `online_model.learn`; a task whose worker was killed is tried once more."""
        try:
            return self._try(task)
        except BrokenProcessPool:
            return self._try(task)

    def _try(self, task: UpdateTask) -> ModelUpdate:
        pool, first_pid = self._started()
        items = task.state.belief.items
        key = self._key(items)
        limit = self._time_limit + TIME_PER_ANSWER * len(task.new)
        try:
            first_pid.result(START_LIMIT)
            # Most often the worker has the items already.
            light = task._replace(state=task.state.with_items(items[:0]))
            update = pool.submit(_learn, light, key).result(limit)
            if update is None:
                update = pool.submit(_learn, task, key).result(limit)
        except (BrokenProcessPool, TimeoutError) as error:
            self._discard(pool)
            if not self._closed:
                logging.getLogger("coombs.web").warning("Worker processes are replaced: %r.", error)
            raise
        assert update is not None
        return update.with_items(items)

    def _key(self, items: FloatArray) -> str:
        """By which workers know these items."""
        place = str(id(items))
        # What is kept cannot be freed, so no other items have the same id.
        _, key = self._keys.get(place) or self._keys.put(place, (items, str(next(self._numbers))))
        return key

    def _started(self) -> tuple[ProcessPoolExecutor, Future[int]]:
        """The pool, and its first worker's number, which is known once that has started."""
        with self._lock:
            if self._closed:
                raise RuntimeError("The worker processes were closed.")
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self._processes, _Context(), _begin)
                self._first_pid = self._pool.submit(os.getpid)
            return self._pool, self._first_pid

    def _discard(self, pool: ProcessPoolExecutor) -> None:
        """Kill the processes of a pool; the next task starts another."""
        with self._lock:
            if self._pool is pool:
                self._pool = None
        # All that waits for this pool is told that it broke. Python 3.14 has pool.kill_workers().
        for process in list((pool._processes or {}).values()):
            process.kill()

    def close(self) -> None:
        """End the processes, also those in the middle of a task; none is started again."""
        with self._lock:
            self._closed, pool = True, self._pool
        if pool is not None:
            self._discard(pool)


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


class _Context(SpawnContext):
    Process = _Process


def _begin() -> None:
    """In a worker, before its first task."""
    # Ctrl+C is for the server, which then ends this.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_server, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICENESS)


def _end_with_server() -> None:
    """However the server came to an end."""
    server = parent_process()
    assert server is not None
    server.join()
    os._exit(1)


def _learn(task: UpdateTask, key: str) -> ModelUpdate | None:
    """In a worker: the update without the items, which the server has; None if they are needed and absent."""
    sent = task.state.belief.items
    items = _tables.put(key, sent) if len(sent) else _tables.get(key)
    if items is None:
        return None
    return learn(task._replace(state=task.state.with_items(items))).with_items(items[:0])


_tables: LRUCache[FloatArray] = LRUCache(MOST_TABLES)
"""In a worker: the items that were sent to it, by key."""
