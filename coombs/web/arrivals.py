"""How many new people may come from an address by an open link."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable

from coombs.web.throttle import MOST_ADDRESSES, network

MOST_ARRIVALS = 200
"""New people from one address within the time below: a lecture hall may share one."""
ARRIVAL_SECONDS = 600.0
"""Seconds for which an arrival counts."""


class Arrivals:
    """Counts the new people of each address, in this process."""

    def __init__(self, most: int = MOST_ARRIVALS, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, address: str) -> int:
        """Whole seconds until another may come from there; 0 is now."""
        times = self._recent(network(address))
        if len(times) < self._most:
            return 0
        return max(1, round(times[0] + ARRIVAL_SECONDS - self._clock()))

    def note(self, address: str) -> None:
        """Count one."""
        name = network(address)
        times = self._recent(name)
        times.append(self._clock())
        self._times[name] = times
        self._times.move_to_end(name)
        while len(self._times) > MOST_ADDRESSES:
            self._times.popitem(last=False)

    def _recent(self, name: str) -> deque[float]:
        times, before = self._times.get(name, deque()), self._clock() - ARRIVAL_SECONDS
        while times and times[0] < before:
            times.popleft()
        return times
