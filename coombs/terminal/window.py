"""Where commands come from and where screens go."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TextIO, TypeAlias

from coombs.terminal.keys import Lines, Reader, single_keys
from coombs.terminal.look import Look, size

Draw: TypeAlias = Callable[[Look], list[str]]
Show: TypeAlias = Callable[[Draw], Look]


@contextmanager
def terminal(keyboard: TextIO | None, screen: TextIO) -> Iterator[tuple[Reader, Show]]:
    """Where commands come from and where screens go; a window of its own if both are a terminal."""
    if keyboard is None or not keyboard.isatty():
        yield Lines(keyboard), partial(_show, screen, plain=True)
        return
    with single_keys(keyboard, lambda: size(screen)) as keys, _window(screen):
        yield keys, partial(_show, screen)


def _show(stream: TextIO, draw: Draw, plain: bool = False) -> Look:
    look = Look.of(stream, plain)
    lines = draw(look)
    if look.moves:
        # Home; each line to its end; nothing below.
        stream.write("\x1b[H" + "\x1b[K\n".join(lines) + "\x1b[J")
    else:
        stream.write("\n".join(lines) + "\n\n")
    stream.flush()
    return look


@contextmanager
def _window(stream: TextIO) -> Iterator[None]:
    """The terminal's second screen without its cursor; the first one comes back as it was."""
    if not Look.of(stream).moves:
        yield
        return
    if sys.platform == "win32":
        # Older consoles obey escape sequences only after this.
        os.system("")
    try:
        stream.write("\x1b[?1049h\x1b[?25l")
        yield
    finally:
        with suppress(OSError):
            stream.write("\x1b[?25h\x1b[?1049l")
            stream.flush()
