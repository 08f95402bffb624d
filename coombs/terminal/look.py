"""What a terminal can show: how much, in which colours and with which signs."""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple, TextIO

LEAST = 20
"""Columns that are taken to be there always."""
ENDLESS = 10_000
"""Lines of what is no window."""
BOLD, DIM, GREEN, MAGENTA, CYAN = 1, 2, 32, 35, 36

_SIGNS = "←→↓█░━·─"
_ASCII = str.maketrans(_SIGNS, "<>v#.=.-")


class Look(NamedTuple):
    """Columns and lines; whether the cursor can be moved, whether there is colour, and more than ASCII."""

    width: int = 80
    height: int = ENDLESS
    moves: bool = False
    colour: bool = False
    unicode: bool = True

    @classmethod
    def of(cls, stream: TextIO, plain: bool = False) -> Look:
        """That of a stream, at this moment; plain if only its width and its signs are to be used."""
        width, height = size(stream)
        moves = not plain and stream.isatty() and os.environ.get("TERM") != "dumb"
        colour = moves and not os.environ.get("NO_COLOR")
        return cls(max(width, LEAST), height if moves else ENDLESS, moves, colour, _has_signs(stream))

    def style(self, text: str, *codes: int) -> str:
        """The text in a style, if there is colour."""
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[m" if self.colour and text else text

    def signs(self, text: str) -> str:
        """The text with its arrows and bars, or what looks most like them in ASCII."""
        return text if self.unicode else text.translate(_ASCII)

    @property
    def ellipsis(self) -> str:
        """The end of what was cut."""
        return "…" if self.unicode else "..."


def size(stream: TextIO) -> tuple[int, int]:
    """Columns and lines; 80 and 24 of what is no window."""
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        columns = lines = 0
    return (columns, lines) if columns and lines else shutil.get_terminal_size()


def _has_signs(stream: TextIO) -> bool:
    try:
        f"{_SIGNS}…".encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
