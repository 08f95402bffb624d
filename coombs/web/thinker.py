"""Learning from answers behind the page: an answer is stored first, and its reply waits a little for this."""

from __future__ import annotations

import logging
import threading
import zlib
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

from coombs.data.tables import InputError
from coombs.storage import is_storage_error
from coombs.study import Respondent
from coombs.study.mind import Mind
from coombs.study.respondent import MakeMind
from coombs.web.helper import FarMind, Helper

PATIENCE, AT_FIRST = 0.065, 0.3
"""Seconds that a reply waits; the first page of somebody who comes back may take longer."""


class Lane:
    """A thread that thinks of people one after another, by itself or in a process of its own."""

    def __init__(self, apart: bool) -> None:
        self.helper = Helper() if apart else None
        self.thread = ThreadPoolExecutor(1, "coombs-think")

    def close(self) -> None:
        """Drop what is queued; what comes later starts anew."""
        if self.helper is not None:
            self.helper.stop()
        self.thread.shutdown(wait=self.helper is not None, cancel_futures=True)
        self.thread = ThreadPoolExecutor(1, "coombs-think")
        if self.helper is not None:
            self.helper.reopen()


class Thinker:
    """Thinks of people, each in one lane; whoever is queued is not queued twice.

    When there are more answers than it can think of, replies go by what was thought last, several answers
    are learned from at once, and questions are less well chosen; none waits.
    """

    def __init__(self, processes: int = 0) -> None:
        self._lanes = [Lane(processes > 0) for _ in range(max(processes, 1))]
        self._queued: dict[str, Future[None]] = {}
        self._lock = threading.Lock()

    def make_mind(self, token: str) -> MakeMind:
        """How to make the mind of a person."""
        helper = self._lane(token).helper
        return Mind if helper is None else partial(FarMind, helper, token)

    def consider(self, respondent: Respondent, patience: float = PATIENCE) -> None:
        """Think of all answers so far, and wait for it so long; a reply can do without."""
        token = respondent.record.token
        with self._lock:
            future = self._queued.get(token)
            if future is None:
                future = self._lane(token).thread.submit(self._think, respondent)
                self._queued[token] = future
        wait([future], patience)
        error = future.exception() if future.done() and not future.cancelled() else None
        if isinstance(error, InputError) or is_storage_error(error):
            raise error
        if error is not None:
            logging.getLogger("coombs.web").error("Thinking failed.", exc_info=error)

    def _lane(self, token: str) -> Lane:
        return self._lanes[zlib.crc32(token.encode()) % len(self._lanes)]

    def _think(self, respondent: Respondent) -> None:
        # An answer told from here on may be too late for this time.
        with self._lock:
            self._queued.pop(respondent.record.token, None)
        respondent.think()

    def close(self) -> None:
        """Think no more of what is queued."""
        with self._lock:
            self._queued.clear()
        for lane in self._lanes:
            lane.close()
