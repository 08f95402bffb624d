"""Results that one process of a server computed, for the others; only memory holds them."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

MOST_BYTES = 200_000_000
"""Of results that are kept, the latest."""
KEPT_SECONDS = 600.0
"""Seconds that a result is kept which nobody asks for."""
WORKING_SECONDS = 60.0
"""Seconds after which a computation that says nothing is taken for dead, and another process begins it."""
REPLY_SECONDS = 10.0
"""Seconds that a process waits for the one that keeps results; then it does without."""


def result_key(study: int, whose: int | str, *state: object) -> str:
    """The name of a result: whose it is, which stays to be read, and of which state of their answers."""
    return f"{study}/{whose}/{hashlib.sha256(repr(state).encode()).hexdigest()}"


class ResultShelf:
    """Results as bytes by their names, and which are being computed, by whom.

    Examples
    --------
    >>> shelf = ResultShelf()
    >>> shelf.claim("one", "key"), shelf.claim("other", "key")
    (True, False)
    >>> shelf.put("one", "key", b"result")
    >>> shelf.get("other", "key"), shelf.claim("other", "key")
    (b'result', True)
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._values: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._claims: dict[str, tuple[str, float, float]] = {}
        self._lock = threading.Lock()

    def get(self, who: str, key: str) -> bytes | None:
        """A result, if it is there."""
        with self._lock:
            old = time.monotonic() - KEPT_SECONDS
            for name in [name for name, (used, _) in self._values.items() if used < old]:
                del self._values[name]
            if key not in self._values:
                return None
            value = self._values.pop(key)[1]
            self._values[key] = time.monotonic(), value
            return value

    def claim(self, who: str, key: str) -> bool:
        """Whether it is the asker's to compute, as nobody does."""
        with self._lock:
            at = time.monotonic()
            if key in self._claims and self._claims[key][1] > at - WORKING_SECONDS:
                return False
            self._claims[key] = who, at, 0.0
            return True

    def note(self, who: str, key: str, fraction: float) -> None:
        """How far a computation is."""
        with self._lock:
            if key in self._claims:
                self._claims[key] = who, time.monotonic(), fraction

    def fraction(self, who: str, key: str) -> float:
        """How far whoever computes it is."""
        with self._lock:
            return self._claims[key][2] if key in self._claims else 0.0

    def put(self, who: str, key: str, value: bytes) -> None:
        """Keep a result that the asker claimed, unless it was dropped meanwhile."""
        with self._lock:
            if self._claims.pop(key, None) is None:
                return
            self._values[key] = time.monotonic(), value
            while sum(len(one) for _, one in self._values.values()) > self._most:
                self._values.popitem(last=False)

    def release(self, who: str, key: str | None = None) -> None:
        """The asker computes this no more, or nothing, having ended."""
        with self._lock:
            for name in [name for name, claim in self._claims.items() if claim[0] == who]:
                if key in (None, name):
                    del self._claims[name]

    def drop(self, who: str, start: str) -> None:
        """Forget all results whose names begin so, those that are computed just now as well."""
        with self._lock:
            kept: tuple[dict[str, Any], ...] = self._values, self._claims
            for some in kept:
                for name in [name for name in some if name.startswith(start)]:
                    del some[name]

    def serve(self, who: str, line: Connection) -> None:
        """Answer a process until it ends."""
        with suppress(EOFError, OSError):
            while True:
                act, *about = line.recv()
                line.send(getattr(self, act)(who, *about))
        self.release(who)


class SharedResults:
    """What a process asks of the shelf that all of them share; alone it only says what is being computed."""

    def __init__(self, line: Connection | None = None) -> None:
        self._line, self._lock = line, threading.Lock()
        self._alone = ResultShelf()

    def _ask(self, *request: Any) -> Any:
        """The reply of the shelf; where it is gone, that of one of our own."""
        with self._lock:
            if self._line is not None:
                try:
                    self._line.send(request)
                    if self._line.poll(REPLY_SECONDS):
                        return self._line.recv()
                except (EOFError, OSError):
                    pass
                # A reply that comes late would be taken for that to another question.
                self._line = None
        act, *about = request
        return getattr(self._alone, act)("", *about)

    def get(self, key: str) -> Any:
        """A result that another process computed, or None."""
        found = None if self._line is None else self._ask("get", key)
        # Made by our own processes, and held by none but them.
        return None if found is None else ForkingPickler.loads(found)

    def claim(self, key: str) -> bool:
        """Whether this is ours to compute, as nobody does."""
        return bool(self._ask("claim", key))

    def note(self, key: str, fraction: float) -> None:
        """How far we are."""
        self._ask("note", key, fraction)

    def fraction(self, key: str) -> float:
        """How far whoever computes it is."""
        return float(self._ask("fraction", key))

    def put(self, key: str, value: Any) -> None:
        """Let the others have a result, which we claimed."""
        if self._line is None:
            self.release(key)
        else:
            self._ask("put", key, bytes(ForkingPickler.dumps(value)))

    def release(self, key: str) -> None:
        """We do not compute this any more."""
        self._ask("release", key)

    def drop(self, study: int, whose: int | str | None = None) -> None:
        """Forget results of a study, or of somebody in it."""
        if self._line is not None:
            self._ask("drop", f"{study}/" if whose is None else f"{study}/{whose}/")
