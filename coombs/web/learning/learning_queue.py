"""The queue of people whose answers are to be learned from; a reply waits for it only briefly."""

from __future__ import annotations

import logging
import math
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial

from coombs.data.tables import InputError
from coombs.storage import is_storage_error
from coombs.study import Respondent, Study
from coombs.study.online_model import ModelUpdate, UpdateTask, learn
from coombs.study.shared_prior import learn_prior
from coombs.web.learning.worker import TIME_LIMIT, Apart, WorkerPool

PATIENCE = 0.065
"""Seconds that a reply waits for the model to learn."""
PATIENCE_AT_FIRST = 0.3
"""Seconds that the first page of somebody who comes back waits."""
SOON = 3
"""People queued for each process with whom a reply still waits."""
REFRESH_EVERY = 10
"""Answers of one person after which it is looked whether the study's prior is to be learned again."""
REST = 50
"""Times as long as such a look took until the next: in a study of thousands each reads many rows."""


class LearningQueue:
    """Updates people's models, in worker processes if there are any; nobody is queued twice.

    When answers come faster than the models learn, replies go by the latest snapshot, several answers are
    learned from at once, and questions are less well chosen; nobody waits.
    """

    def __init__(self, processes: int = 0, time_limit: float = TIME_LIMIT) -> None:
        self._processes, self._time_limit = processes, time_limit
        self._queued: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        self._start()

    def _start(self) -> None:
        self._for_priors, self._apart = ThreadPoolExecutor(1, "coombs-prior"), Apart()
        self._next_look: dict[int, float] = {}
        self._threads = ThreadPoolExecutor(max(self._processes, 1), "coombs-learn")
        self._workers = WorkerPool(self._processes, self._time_limit) if self._processes else None

    def learn(self, task: UpdateTask) -> ModelUpdate:
        """As `online_model.learn`, in a worker process if there are any."""
        return learn(task) if self._workers is None else self._workers.learn(task)

    def update(self, respondent: Respondent, patience: float = PATIENCE) -> None:
        """Learn from all answers so far, and wait that long for it; a reply can do without."""
        token = respondent.record.token
        with self._lock:
            future = self._queued.get(token)
            if future is None:
                future = self._queued[token] = self._threads.submit(self._update, respondent)
            is_soon = len(self._queued) <= SOON * max(self._processes, 1)
        # Behind a long queue nobody is served in that time, and whoever waits keeps others from being.
        wait([future], patience if is_soon else 0.0)
        error = future.exception() if future.done() and not future.cancelled() else None
        if isinstance(error, InputError) or is_storage_error(error):
            raise error
        if error is not None:
            logging.getLogger("coombs.web").error("Learning from answers failed.", exc_info=error)

    def _update(self, respondent: Respondent) -> None:
        # An answer stored from here on may be too late for this update.
        with self._lock:
            self._queued.pop(respondent.record.token, None)
        heard = respondent.think().n_heard
        if heard and heard % REFRESH_EVERY == 0:
            self.refresh_prior(respondent.study)

    def refresh_prior(self, study: Study) -> None:
        """Learn from everybody's answers what is known of the next person, if it is time; nobody waits."""
        with self._lock:
            if time.monotonic() < self._next_look.get(study.record.id, 0.0):
                return
            self._next_look[study.record.id] = math.inf
        self._for_priors.submit(self._refresh_prior, study, self._apart)

    def _refresh_prior(self, study: Study, apart: Apart) -> None:
        began, rest = time.monotonic(), 0.0
        try:
            is_due = study.priors.is_due()
            rest = REST * (time.monotonic() - began)
            if not is_due:
                return
            if self._workers is None:
                study.priors.learn()
            else:
                study.priors.learn(partial(apart.run, learn_prior))
        except BrokenProcessPool:
            # The server stops, or the process was killed: there is another time.
            pass
        except Exception:
            logging.getLogger("coombs.web").exception("Learning a study's prior failed.")
        finally:
            with self._lock:
                self._next_look[study.record.id] = time.monotonic() + rest

    @property
    def length(self) -> int:
        """People whose answers wait to be learned from."""
        return len(self._queued)

    @property
    def restarts(self) -> int:
        """How often worker processes were replaced."""
        return self._workers.restarts if self._workers is not None else 0

    def check_workers(self) -> bool:
        """Whether the worker processes live, or there are none by design; dead ones are replaced."""
        return self._workers is None or self._workers.check()

    def close(self) -> None:
        """Drop what is queued and end the processes; what comes later starts anew."""
        with self._lock:
            self._queued.clear()
        threads, workers = self._threads, self._workers
        self._for_priors.shutdown(wait=False, cancel_futures=True)
        self._apart.close()
        if workers is not None:
            workers.close()
        threads.shutdown(wait=workers is not None, cancel_futures=True)
        self._start()
