"""A process that thinks, so that the one which answers stays quick. `python -m coombs.web.helper`.

Jobs come on its standard input and go back on its output, as pickles: both ends are ours, and of one version.
It ends when its input does, however the server came to an end.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections import OrderedDict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, BinaryIO

from coombs.data.tables import FloatArray
from coombs.storage.records import AnswerRecord
from coombs.study.mind import Mind, Thought

MOST_MINDS, MOST_TABLES = 250, 20
POLITENESS = 5
"""How much the process gives way to those that answer (nice)."""


class Helper:
    """The process, started when there is something to do, and again if it was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def think(self, job: tuple[Any, ...]) -> Thought | None:
        """What `Minds.thought` gives for a job, the first of which is a key."""
        with self._lock:
            try:
                found = self._exchange(job)
            except Exception:
                # Whatever is left in its pipes must not be taken for another's.
                self._end()
                found = self._exchange(job)
        if isinstance(found, str):
            raise RuntimeError(f"A helper failed:\n{found}")
        return found

    def _exchange(self, job: tuple[Any, ...]) -> Thought | str | None:
        try:
            process = self._running()
            assert process.stdin is not None and process.stdout is not None
            pickle.dump(job, process.stdin)
            process.stdin.flush()
            key, found = pickle.load(process.stdout)
            if key != job[0]:
                raise EOFError("That was the answer to another job.")
        except BaseException:
            self._end()
            raise
        return found  # type: ignore[no-any-return]

    def _running(self) -> subprocess.Popen[bytes]:
        if self._closed:
            raise EOFError("The helper was closed.")
        if self._process is None:
            # It finds the modules that this process finds, and none in the folder where it happens to be.
            path = os.pathsep.join(filter(None, sys.path))
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path},
                # Ctrl+C is for the server, which then ends this.
                start_new_session=True,
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def stop(self) -> None:
        """End the process, also in the middle of a thought; none is started before `reopen`."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()

    def reopen(self) -> None:
        """The next job starts another process."""
        with self._lock:
            self._end()
            self._closed = False


class FarMind:
    """A `Mind` in a helper."""

    def __init__(self, helper: Helper, key: str, items: FloatArray, metric: str, seed: Sequence[int]) -> None:
        self._helper, self._key = helper, key
        self._items, self._made_of = items, (_digest(items), metric, seed)

    def think(
        self, answers: Sequence[AnswerRecord], asked: Collection[tuple[int, int]], strategy: str, k: int
    ) -> Thought:
        """As `Mind.think`."""
        about = answers, asked, strategy, k
        # Most often the mind is there; if not, the items are, of somebody else's.
        for made_of in (None, (*self._made_of, None), (*self._made_of, self._items)):
            thought = self._helper.think((self._key, about, made_of))
            if thought is not None:
                return replace(thought, belief=replace(thought.belief, items=self._items))
        raise RuntimeError("A helper does not know what it was told.")


def _digest(items: FloatArray) -> bytes:
    return hashlib.blake2b(items.tobytes(), digest_size=16).digest()


class Minds:
    """In the process: the minds and the tables used last."""

    def __init__(self) -> None:
        self._minds: OrderedDict[str, Mind] = OrderedDict()
        self._tables: OrderedDict[bytes, FloatArray] = OrderedDict()

    def thought(self, key: str, about: tuple[Any, ...], made_of: tuple[Any, ...] | None) -> Thought | None:
        """The thought of a mind, without the items; None if it takes more to make that mind."""
        if key not in self._minds:
            if made_of is None:
                return None
            digest, metric, seed, items = made_of
            if items is not None:
                _keep(self._tables, digest, items, MOST_TABLES)
            if digest not in self._tables:
                return None
            self._minds[key] = Mind(self._tables[digest], metric, seed)
        mind: Mind = _keep(self._minds, key, self._minds[key], MOST_MINDS)
        try:
            thought = mind.think(*about)
        except Exception:
            # What is left of it may be wrong.
            del self._minds[key]
            raise
        return replace(thought, belief=replace(thought.belief, items=thought.belief.items[:0]))


def _keep(kept: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> Any:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
    return value


def main(jobs: BinaryIO, back: BinaryIO) -> None:
    """Until there are no more jobs, or nobody to tell."""
    minds = Minds()
    with suppress(EOFError, OSError):
        while True:
            job = pickle.load(jobs)
            found: Thought | str | None
            try:
                found = minds.thought(*job)
            except Exception:
                found = traceback.format_exc()
            pickle.dump((job[0], found), back)
            back.flush()


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(POLITENESS)
    # Whatever else reads or prints in here must not come between.
    pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    main(*pipes)
