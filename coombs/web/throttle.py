"""How often wrong tokens may come from a network, whichever way, and new people by an open link."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable

FREE_TRIES = 5
"""Wrong tokens in a row without a wait: people mistype, and a browser may hold an old session."""
LONGEST_WAIT = 60.0
"""Seconds until another token is looked at, at most; the first wait is 1 s, and each is twice the last."""
FORGOTTEN = 900.0
"""Seconds after which the wrong tokens of an address are forgotten."""
MOST_ADDRESSES = 10_000
"""Addresses that are remembered, the latest."""


class Throttle:
    """Counts the wrong ones of each address; what comes before its wait is over is not looked at."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def wait(self, address: str) -> int:
        """Whole seconds until one of that address is looked at again; 0 is now."""
        count, last = self._wrong.get(network(address), (0, -math.inf))
        if count < FREE_TRIES:
            return 0
        pause = min(2.0 ** (count - FREE_TRIES), LONGEST_WAIT)
        return max(0, math.ceil(last + pause - self._clock()))

    def wrong(self, address: str) -> None:
        """Note a wrong one."""
        name, now = network(address), self._clock()
        count, last = self._wrong.pop(name, (0, now))
        self._wrong[name] = (1 if now - last > FORGOTTEN else count + 1), now
        while len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)

    def right(self, address: str) -> None:
        """Forget the wrong ones of whoever had the right one."""
        self._wrong.pop(network(address), None)


def network(address: str) -> str:
    """An address, or the network that one person has of IPv6: its first 64 bits.

    Examples
    --------
    >>> network("192.0.2.7"), network("2001:db8::7"), network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::', '192.0.2.7')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found), 64), strict=False).network_address)


MOST_ARRIVALS = 200
"""New people from one address within `ARRIVAL_SECONDS`: a lecture hall may share one."""
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
