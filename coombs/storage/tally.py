"""Counts of what happened in this process, which any thread may add to."""

from __future__ import annotations

import threading
from collections import Counter


class Tally:
    """Numbers by name, from 0 on.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.add("answers")
    >>> tally["answers"], tally["errors"]
    (1, 0)
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, name: str) -> None:
        """Count one more."""
        with self._lock:
            self._counts[name] += 1

    def __getitem__(self, name: str) -> int:
        return self._counts[name]
