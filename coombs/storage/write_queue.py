"""Whose turn it is to write: processes that wait for a SQLite file get it in about the order they came."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from coombs.storage.failures import StorageUnavailableError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:
    # Windows: SQLite's own lock decides, in no order.
    fcntl = None

PATIENCE = 30.0
"""Seconds to wait for other writers."""
STUCK = 5.0
"""Seconds after which whoever is first in line is taken to be stuck, and others go past."""
POLL = 0.0005
"""Seconds between two looks at whether the write lock is free, of the one who is next."""
LOOK = 0.006
"""Seconds between two looks at whether one is next, of those who came just now."""
HALF = 0.03
"""Seconds of waiting after which one looks twice as often, so that who came earlier is earlier."""

# Not the one of everybody, whose numbers users may have seeded.
_random = random.Random()


class ThreadTurn:
    """Threads of a process that write, one after another."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=PATIENCE):
            raise StorageUnavailableError(
                f"Another thread has been writing for {PATIENCE:.0f} s; try again when it is done."
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@contextmanager
def next_in_line(descriptor: int) -> Iterator[None]:
    """Be the one process that waits for the write lock, which nobody else tries to take meanwhile.

    Whoever wrote and would write again queues behind it: SQLite by itself lets that one in first, as the
    others are asleep when the lock is free.
    """
    if fcntl is None:
        yield
        return
    begun = time.monotonic()
    while not _locked(fcntl, descriptor):
        waited = time.monotonic() - begun
        if waited > STUCK:
            break
        time.sleep(_random.uniform(0.5, 1.5) * max(LOOK / (1 + waited / HALF), POLL))
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _locked(fcntl: ModuleType, descriptor: int) -> bool:
    """Whether the line was free."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
