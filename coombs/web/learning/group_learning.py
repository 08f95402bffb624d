"""What everybody in a study wants together, learned beside the page and kept until an answer changes."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.study.everybody import everybody_about, everybody_answers
from coombs.web.group_result import GroupResult, group_result
from coombs.web.learning.worker import WatchedPool, WorkerContext
from coombs.web.shared_results import SharedResults, result_key

if TYPE_CHECKING:
    from coombs.data.comparisons import Comparisons
    from coombs.study import Study

MOST_KEPT = 20
"""Studies whose result is kept."""
TRIES = 2
"""Processes that are tried before this one does the work."""
LEAST_PEOPLE = 2
"""People who must have answered."""
LOOK = 0.1
"""Seconds between two looks at a result that another process computes."""
TOO_FEW = Translatable("Fewer than two people have answered, so there is nobody to compare yet.")
FAILED = Translatable("This could not be computed; the log of the server says why.")
_SHARED: dict[str, Any] = {}
"""In a worker: where it says how far it is."""


@dataclass(frozen=True)
class GroupState:
    """What is known of a study: a result, whether all answers are in it, and how far the next one is.

    `problem` says why there is none.
    """

    result: GroupResult | None
    is_current: bool
    fraction: float
    problem: str = ""


@dataclass
class _Kept:
    """Of a study: the result, of which state of its answers, and what is being worked on."""

    result: GroupResult | None = None
    version: tuple[int, int] = (0, -1)
    problem: str = ""
    fraction: float = 0.0
    future: Future[None] | None = None


class GroupLearner:
    """One study at a time is worked on, in a process beside the page if there are any, else in a thread.

    Nobody waits for it: `state` says what is there, and begins anew where an answer came or went.
    """

    def __init__(self, processes: int = 0) -> None:
        self._has_process = processes > 0
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._pool: WatchedPool | None = None
        self._threads = ThreadPoolExecutor(1, "coombs-group")
        self._progress: Any = None
        self._ended = threading.Event()
        self.shared = SharedResults()

    def state(self, study: Study, patience: float = 0.0) -> GroupState:
        """Of a study, after waiting at most so many seconds for what is being worked on."""
        version = study.storage.state(study.record.id)
        with self._lock:
            kept = self._kept.setdefault(study.record.id, _Kept())
            self._kept.move_to_end(study.record.id)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            if kept.version[0] != version[0]:
                # Somebody in it may have been deleted, or has no name any more.
                kept.result = None
            if kept.version != version and kept.future is None:
                kept.fraction = 0.0
                kept.future = self._threads.submit(self._learn, study, kept, self._ended)
            future = kept.future
        if future is not None:
            wait([future], patience)
        is_current = kept.version >= version
        return GroupState(kept.result, is_current, 1.0 if is_current else kept.fraction, kept.problem)

    def get_ready(self) -> None:
        """Start the process, as somebody may look soon at what people want; nobody waits for it."""
        if self._has_process and self._pool is None:
            self._threads.submit(self._start, self._ended)

    def _start(self, ended: threading.Event) -> None:
        """In the thread: a process that has imported what it takes."""
        if self._pool is None and not ended.is_set():
            self._new_process().submit(_get_ready)
            if ended.is_set():
                self._end_process()

    def _learn(self, study: Study, kept: _Kept, ended: threading.Event) -> None:
        """In the thread: whatever comes of it, the next look begins anew only where answers changed."""
        version, result, problem = study.storage.state(study.record.id), None, ""
        try:
            result = self._once(study, version, kept, ended)
        except InputError as error:
            problem = str(error)
        except Exception:
            logging.getLogger("coombs.web").exception("Learning what people share failed.")
            problem = FAILED
        with self._lock:
            kept.result, kept.version, kept.problem, kept.future = result, version, problem, None

    def _once(
        self, study: Study, version: tuple[int, int], kept: _Kept, ended: threading.Event
    ) -> GroupResult:
        """What another process of the server has, or has soon, or else what is learned here."""
        items = study.catalogue
        key = result_key(study.record.id, "group", study.name, version, items.current, len(items.names))
        while not self.shared.claim(key):
            kept.fraction = self.shared.fraction(key)
            if ended.wait(LOOK):
                raise InputError("The server is being stopped.")
        try:
            found: GroupResult | None = self.shared.get(key)
            if found is None:
                found = self._result(study, key, kept)
                self.shared.put(key, found)
            return found
        finally:
            self.shared.release(key)

    def _result(self, study: Study, key: str, kept: _Kept) -> GroupResult:
        def note(share: float) -> None:
            kept.fraction = share
            self.shared.note(key, share)

        data = everybody_answers(study)
        if data is None or len({*data.answer_users.tolist()}) < LEAST_PEOPLE:  # type: ignore[union-attr]
            raise InputError(TOO_FEW)
        beside = {"current": study.catalogue.current, "people": everybody_about(study)}
        if not self._has_process:
            return group_result(data, note, **beside)
        # A process that was killed, or hung, may only have had bad luck.
        for _ in range(TRIES):
            try:
                return self._in_process(data, beside, note)
            except BrokenProcessPool as error:
                if self._pool is None:
                    raise InputError("The server is being stopped.") from error
                self._end_process()
        return group_result(data, note, **beside)

    def _in_process(
        self, data: Comparisons, beside: dict[str, Any], note: Callable[[float], None]
    ) -> GroupResult:
        pool = self._new_process() if self._pool is None else self._pool
        self._progress.value = 0.0
        future = pool.submit(_in_worker, data, beside)
        while True:
            try:
                return future.result(0.1)
            except TimeoutError:
                note(float(self._progress.value))

    def _new_process(self) -> WatchedPool:
        self._progress = WorkerContext().Value("d", 0.0)
        self._pool = WatchedPool(1, _begin, (self._progress,))
        return self._pool

    def forget(self, study: Study) -> None:
        """After it was deleted."""
        self.shared.drop(study.record.id, "group")
        with self._lock:
            self._kept.pop(study.record.id, None)

    def close(self) -> None:
        """Drop what is queued and end the process; what comes later starts anew."""
        self._end_process()
        self._ended.set()
        self._ended = threading.Event()
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._kept.clear()
        self._threads = ThreadPoolExecutor(1, "coombs-group")

    def _end_process(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.kill()


def _begin(progress: Any) -> None:
    """In a worker, before its first task."""
    _SHARED["progress"] = progress


def _get_ready() -> None:
    """In a worker: import what takes a second, before it is asked for."""
    for name in ("coombs.estimators.population", "pandas"):
        import_module(name)


def _in_worker(data: Comparisons, beside: dict[str, Any]) -> GroupResult:
    """In a worker, which says how far it is."""

    def note(share: float) -> None:
        _SHARED["progress"].value = share

    return group_result(data, note, n_jobs=-1, **beside)
