"""Signs of life of worker processes: one that hangs, busy or idle, is noticed and ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from multiprocessing.context import SpawnContext
from typing import Any

BEAT = 1.0
"""Seconds between two signs of life of a process, and between two looks at them."""
SILENT = 10
"""Looks in a row without a sign of life after which a process is taken to hang."""
SLOWEST_START = 120
"""Looks without the first sign of life after which it is taken to hang at its start."""


class Heartbeat:
    """Counters in shared memory, one for each process of a pool; `on_hang` is called once, in a thread.

    Looks are counted, not seconds: a machine that sleeps, or a server that was stopped itself, finds nobody
    late when it goes on.
    """

    def __init__(self, processes: int, context: SpawnContext, on_hang: Callable[[], None]) -> None:
        self._beats, self._started = context.RawArray("Q", processes), context.Value("i", 0)
        self._on_hang, self._ended = on_hang, threading.Event()
        threading.Thread(target=self._watch, name="coombs-heartbeat", daemon=True).start()

    @property
    def shared(self) -> tuple[Any, Any]:
        """What a worker needs for `give_signs`."""
        return self._beats, self._started

    def end(self) -> None:
        """Look no longer."""
        self._ended.set()

    def _watch(self) -> None:
        last, silent = list(self._beats), [0] * len(self._beats)
        while not self._ended.wait(BEAT):
            now, started = list(self._beats), int(self._started.value)
            silent = [n + 1 if same == beat else 0 for n, same, beat in zip(silent, last, now, strict=True)]
            last = now
            # Processes are started as they are needed: of those not yet seen only the first must come.
            if max(silent[:started], default=0) >= SILENT or (not started and silent[0] >= SLOWEST_START):
                self._on_hang()
                return


def give_signs(beats: Any, started: Any) -> None:
    """In a worker: count on, until it ends."""
    with started.get_lock():
        place = started.value
        # One that takes the place of another that ended counts on for it.
        started.value = min(place + 1, len(beats))

    def count_on() -> None:
        while True:
            beats[min(place, len(beats) - 1)] += 1
            time.sleep(BEAT)

    threading.Thread(target=count_on, daemon=True).start()
