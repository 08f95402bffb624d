"""How many threads BLAS may use."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Iterator

SERIAL_ITEMS = 600
"""Up to this many items the matrices are so small that threads of BLAS only get in each other's way."""


@contextmanager
def serial(n_items: int) -> Iterator[None]:
    """One thread of BLAS where the matrices are small."""
    if n_items > SERIAL_ITEMS:
        yield
        return
    _Serial.enter()
    try:
        yield
    finally:
        _Serial.leave()


class _Serial:
    """The limit on BLAS, which is the process's: the first thread to ask sets it, the last one lifts it."""

    lock = Lock()
    inside = 0
    limit: Any = None

    @classmethod
    def enter(cls) -> None:
        with cls.lock:
            if not cls.inside:
                cls.limit = _blas().limit(limits=1, user_api="blas")
            cls.inside += 1

    @classmethod
    def leave(cls) -> None:
        with cls.lock:
            cls.inside -= 1
            if not cls.inside:
                cls.limit.restore_original_limits()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
