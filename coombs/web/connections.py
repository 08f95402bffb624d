"""Connections of slow clients: time limits for headers, bodies and replies, and how many there may be."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from coombs.web.proxies import Network, is_among
from coombs.web.throttle import network

try:
    import resource
except ImportError:  # Windows has no such limit.
    resource = None  # type: ignore[assignment]

HEADER_SECONDS = 10.0
"""Seconds from the first byte of a request, or from the connection, to the end of its headers."""
BODY_SECONDS = 20.0
"""Seconds for a body, and more for each of its parts as they come."""
BODY_RATE = 20_000.0
"""Bytes of a body that are worth another second."""
REPLY_SECONDS = 60.0
"""Seconds in which a client takes nothing of a reply that waits for it."""
LOOK_EVERY = 2.0
"""Seconds between two looks at a connection."""
MOST_CONNECTIONS = 2_000
"""Connections at once, where the system lets a process have as many files."""
OTHER_FILES = 256
"""Files that are kept free for databases, processes and the like."""


class BoundedProtocol(H11Protocol):
    """uvicorn's protocol with limits: `uvicorn --http coombs.web.connections:BoundedProtocol`.

    One address has half of all connections at most, but for proxies that are named. Where these are taken, or
    all, the one that has waited longest for its client gives way to a new one.
    """

    proxies: ClassVar[tuple[Network, ...]] = ()
    """Addresses that may have all connections."""
    most: ClassVar[int | None] = None
    """Connections at once; None is as many as files can be open."""
    _of_address: ClassVar[WeakKeyDictionary[Any, Counter[str]]] = WeakKeyDictionary()
    """Connections of each address, for each server."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection; where there are too many, end another."""
        super().connection_made(transport)
        _send_at_once(transport.get_extra_info("socket"))
        self._since, self._bytes, self._unsent = self.loop.time(), 0, 0
        self._look: asyncio.TimerHandle | None = self.loop.call_later(LOOK_EVERY, self._check)
        self._address = network(self.client[0]) if self.client else ""
        counts = self._of_address.setdefault(self.server_state, Counter())
        counts[self._address] += 1
        most = most_connections() if self.most is None else self.most
        if counts[self._address] > max(1, most // 2) and not is_among(self._address, self.proxies):
            self._make_room(self._address)
        elif len(self.connections) > most:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no longer."""
        super().connection_lost(exc)
        if self._look is not None:
            self._look.cancel()
            self._look = None
            counts = self._of_address[self.server_state]
            counts[self._address] -= 1
            if not counts[self._address]:
                del counts[self._address]

    def data_received(self, data: bytes) -> None:
        """Note when a request began, and how much of its body has come."""
        before = self.conn.their_state
        if before is h11.IDLE and self.timeout_keep_alive_task is not None:
            self._since = self.loop.time()
        super().data_received(data)
        if self.conn.their_state is not before:
            self._since, self._bytes = self.loop.time(), 0
        self._bytes += len(data)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._since = self.loop.time()
        super().on_response_complete()

    def _check(self) -> None:
        """End the connection of a client that is too slow."""
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            return
        if self._is_late():
            self.transport.abort()
        elif self._look is not None:
            self._look = self.loop.call_later(LOOK_EVERY, self._check)

    def _is_late(self) -> bool:
        """Whether the client keeps us waiting for longer than it may."""
        waited, unsent = self.loop.time() - self._since, self.transport.get_write_buffer_size()
        if unsent != self._unsent:
            # The client takes something, or there is more to take.
            self._unsent, self._since = unsent, self.loop.time()
            return False
        if unsent:
            return waited > REPLY_SECONDS
        if self.conn.their_state is h11.SEND_BODY:
            return not self.flow.read_paused and waited > BODY_SECONDS + self._bytes / BODY_RATE
        return self._is_waiting() and self.timeout_keep_alive_task is None and waited > HEADER_SECONDS

    def _is_waiting(self) -> bool:
        """Whether no request is being worked on."""
        return self.cycle is None or self.cycle.response_complete

    def _make_room(self, address: str | None = None) -> None:
        """End the connection, of an address or of all, that waited longest for its client; or this one."""
        others = [one for one in self.connections if isinstance(one, BoundedProtocol) and one is not self]
        waiting = [
            one
            for one in others
            if address in (None, one._address)
            and (one._is_waiting() or one.conn.their_state is h11.SEND_BODY)
            and not one.transport.is_closing()
        ]
        oldest = min(waiting, key=lambda one: one._since, default=self)
        oldest.transport.abort()


def _send_at_once(connected: Any) -> None:
    """Let no part of a reply wait until the one before it is acknowledged, which takes 40 ms."""
    # asyncio does so by itself only where the listening socket was made with the protocol's number.
    if connected is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def allow_files() -> None:
    """Let this process open as many files as connections take, as far as the system lets it."""
    if resource is not None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MOST_CONNECTIONS + OTHER_FILES
        if soft != resource.RLIM_INFINITY and soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def most_connections() -> int:
    """Connections that this process may have, by the files that it may open."""
    if resource is None:
        return MOST_CONNECTIONS
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(soft - OTHER_FILES, soft // 2)
    return min(MOST_CONNECTIONS, files)
