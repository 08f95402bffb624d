"""What a terminal can show: how much, in which colours and with which symbols; and screens written to it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, TextIO, TypeAlias

LEAST_WIDTH = 20
"""Columns that are taken to be there always."""
ENDLESS = 10_000
"""Lines of what has no full screen, such as a pipe."""
# SGR codes of ECMA-48.
BOLD = 1
DIM = 2
GREEN = 32
MAGENTA = 35
CYAN = 36

_SYMBOLS = "←→↓█░━·─"
_ASCII = str.maketrans(_SYMBOLS, "<>v#.=.-")


class Display(NamedTuple):
    """Columns and lines; whether screens replace one another; whether it has colour, and more than ASCII."""

    width: int = 80
    height: int = ENDLESS
    full_screen: bool = False
    colour: bool = False
    unicode: bool = True

    @classmethod
    def of(cls, stream: TextIO, plain: bool = False) -> Display:
        """That of a stream, at this moment; plain if only its width and its symbols are to be used."""
        width, height = size(stream)
        full = not plain and stream.isatty() and os.environ.get("TERM") != "dumb"
        colour = full and not os.environ.get("NO_COLOR")
        return cls(max(width, LEAST_WIDTH), height if full else ENDLESS, full, colour, _has_symbols(stream))

    def style(self, text: str, *codes: int) -> str:
        """The text in a style, if there is colour."""
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[m" if self.colour and text else text

    def symbols(self, text: str) -> str:
        """The text with its arrows and bars, or what looks most like them in ASCII."""
        return text if self.unicode else text.translate(_ASCII)

    @property
    def ellipsis(self) -> str:
        """The end of what was cut."""
        return "…" if self.unicode else "..."


Draw: TypeAlias = Callable[[Display], list[str]]
"""The lines of a screen, on a given display."""


def size(stream: TextIO) -> tuple[int, int]:
    """Columns and lines; 80 and 24 of what is no window."""
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        columns = lines = 0
    return (columns, lines) if columns and lines else shutil.get_terminal_size()


def _has_symbols(stream: TextIO) -> bool:
    try:
        f"{_SYMBOLS}…".encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def write_screen(stream: TextIO, draw: Draw, plain: bool = False) -> Display:
    """Draw in place of the last screen, or below it if it is plain; on which display."""
    display = Display.of(stream, plain)
    lines = draw(display)
    if display.full_screen:
        # Home; each line to its end; nothing below.
        stream.write("\x1b[H" + "\x1b[K\n".join(lines) + "\x1b[J")
    else:
        stream.write("\n".join(lines) + "\n\n")
    stream.flush()
    return display


@contextmanager
def alternate_screen(stream: TextIO) -> Iterator[None]:
    """The terminal's second screen without its cursor; the first one comes back as it was."""
    if not Display.of(stream).full_screen:
        yield
        return
    if sys.platform == "win32":
        # Older consoles obey escape sequences only after this, which runs no command.
        os.system("")  # nosec B605 B607
    try:
        stream.write("\x1b[?1049h\x1b[?25l")
        yield
    finally:
        with suppress(OSError):
            stream.write("\x1b[?25h\x1b[?1049l")
            stream.flush()
