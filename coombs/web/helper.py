"""A process that thinks, so that the one which answers stays quick. `python -m coombs.web.helper`.

Jobs come on its standard input and go back on its output, as pickles: both ends are ours, and of one version.
It ends when its input does, however the server came to an end.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections import OrderedDict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, BinaryIO

from coombs.storage.records import AnswerRecord
from coombs.study.mind import Mind, Thought
from coombs.tables import FloatArray

MOST_MINDS = 500
POLITENESS = 5
"""How much the process gives way to those that answer (nice)."""


class Helper:
    """The process, started when there is something to do, and again if it was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def think(self, job: tuple[Any, ...]) -> Thought | None:
        """What `_thought` gives for a job."""
        with self._lock:
            try:
                found = self._exchange(job)
            except (OSError, EOFError, pickle.UnpicklingError):
                self._end()
                found = self._exchange(job)
        if isinstance(found, str):
            raise RuntimeError(f"A helper failed:\n{found}")
        return found

    def _exchange(self, job: tuple[Any, ...]) -> Thought | str | None:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
        to, back = self._process.stdin, self._process.stdout
        assert to is not None and back is not None
        pickle.dump(job, to)
        to.flush()
        found: Thought | str | None = pickle.load(back)
        return found

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def close(self) -> None:
        """End the process; the next job starts another."""
        with self._lock:
            self._end()


class FarMind:
    """A `Mind` in a helper."""

    def __init__(self, helper: Helper, key: str, items: FloatArray, rung: str, seed: Sequence[int]) -> None:
        self._helper, self._key, self._made_of = helper, key, (items, rung, seed)

    def think(
        self, answers: Sequence[AnswerRecord], asked: Collection[tuple[int, int]], strategy: str, k: int
    ) -> Thought:
        """As `Mind.think`."""
        job = self._key, answers, asked, strategy, k
        thought = self._helper.think((*job, None)) or self._helper.think((*job, self._made_of))
        assert thought is not None
        return replace(thought, belief=replace(thought.belief, items=self._made_of[0]))


def _thought(minds: OrderedDict[str, Mind], job: tuple[Any, ...]) -> Thought | None:
    """The thought of one mind, without the items; None if it is not here, and not said how to make it."""
    key, *about, made_of = job
    if key not in minds:
        if made_of is None:
            return None
        minds[key] = Mind(*made_of)
    minds.move_to_end(key)
    while len(minds) > MOST_MINDS:
        minds.popitem(last=False)
    thought = minds[key].think(*about)
    return replace(thought, belief=replace(thought.belief, items=thought.belief.items[:0]))


def main(jobs: BinaryIO, back: BinaryIO) -> None:
    """Until there are no more jobs."""
    minds: OrderedDict[str, Mind] = OrderedDict()
    with suppress(EOFError):
        while True:
            job = pickle.load(jobs)
            found: Thought | str | None
            try:
                found = _thought(minds, job)
            except Exception:
                # What is left of that mind may be wrong.
                minds.pop(job[0], None)
                found = traceback.format_exc()
            pickle.dump(found, back)
            back.flush()


if __name__ == "__main__":
    # Ctrl+C is for the server, which then ends this.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(POLITENESS)
    jobs, back = sys.stdin.buffer, sys.stdout.buffer
    # Whatever prints must not come between.
    sys.stdout = sys.stderr
    main(jobs, back)
