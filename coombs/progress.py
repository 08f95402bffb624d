"""A progress bar on the terminal for whatever takes longer than two seconds; or for whoever listens."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

PATIENCE = 2.0
"""Seconds before the bar is shown."""
REDRAW = 0.1
"""Seconds between two drawings of it."""
STRIDE = 0.02
"""Share of the way that is left that one of unknown many steps takes."""
WIDTH = 28
"""Characters of the bar itself."""

_LISTENER: ContextVar[Callable[[float], None] | None] = ContextVar("progress", default=None)
"""Who is told, beside the terminal."""


_STEPS: ContextVar[Callable[[], None] | None] = ContextVar("steps", default=None)
"""Who is told of single steps."""


@contextmanager
def listening(listener: Callable[[float], None]) -> Iterator[None]:
    """Every bar in here tells the listener which share is done, from 0 to 1."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def stepping(advance: Callable[[float], None], begin: float, end: float) -> Iterator[None]:
    """Every `step` in here goes on from one share towards another; how many there will be is not known."""
    share = begin

    def go_on() -> None:
        nonlocal share
        share += STRIDE * (end - share)
        advance(share)

    token = _STEPS.set(go_on)
    try:
        yield
    finally:
        _STEPS.reset(token)
    advance(end)


def step() -> None:
    """Some work is done; whoever is `stepping` here is told."""
    if (go_on := _STEPS.get()) is not None:
        go_on()


class ProgressBar:
    """How far, and how long still; only on a terminal, and only after two seconds."""

    def __init__(self, total: int, label: str = "", stream: TextIO | None = None) -> None:
        self.total, self.label, self.done = total, label, 0.0
        self.stream = sys.stderr if stream is None else stream
        self._begin = self._shown = time.monotonic()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._visible():
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def reach(self, share: float) -> None:
        """This share of all is done."""
        self.advance(share * self.total - self.done)

    def advance(self, by: float = 1, label: str | None = None) -> None:
        """So many more are done."""
        self.done, self.label = self.done + by, self.label if label is None else label
        if (listener := _LISTENER.get()) is not None:
            listener(min(self.done / max(self.total, 1), 1.0))
        now = time.monotonic()
        if self._visible() and now - self._shown > REDRAW:
            self._shown = now
            self.stream.write(f"\r\x1b[K{self.text(now - self._begin)}")
            self.stream.flush()

    def text(self, elapsed: float) -> str:
        """The bar after so many seconds."""
        share = min(self.done / max(self.total, 1), 1.0)
        bar = "#" * round(WIDTH * share)
        left = f", {duration(elapsed * (1 - share) / share)} left" if share > 0 else ""
        return f"[{bar:<{WIDTH}}] {share:4.0%}{left}  {self.label}"

    def _visible(self) -> bool:
        # A dumb terminal cannot clear a line.
        is_terminal = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        return is_terminal and time.monotonic() - self._begin > PATIENCE


def duration(seconds: float) -> str:
    """As 45 s, 3 min 20 s, 2 h 5 min."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
