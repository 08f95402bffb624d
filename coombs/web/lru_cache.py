"""A bounded cache that threads share."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class LRUCache(Generic[Value]):
    """The values used last; the one used longest ago goes first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Value | None:
        """What is kept, if it is."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: str, value: Value) -> Value:
        """Keep it."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self.most:
                self._values.popitem(last=False)
        return value

    def drop(self, matches: Callable[[Value], bool]) -> None:
        """Forget some."""
        with self._lock:
            for key in [key for key, value in self._values.items() if matches(value)]:
                del self._values[key]
