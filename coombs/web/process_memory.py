"""Memory that was freed, given back to the system: glibc keeps it, so that a peak would last for ever."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache


@cache
def _trim() -> Callable[[int], int] | None:
    """glibc's malloc_trim, where there is one."""
    if not sys.platform.startswith("linux"):
        return None
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found


def free_memory() -> None:
    """Give back what is free, if this system can."""
    trim = _trim()
    if trim is not None:
        trim(0)
