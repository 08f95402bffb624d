"""What a person wants to do: single keys on a terminal, lines out of a pipe."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal, NamedTuple, NoReturn, TextIO, TypeAlias, get_args

from coombs.terminal_text import terminal_safe

Place: TypeAlias = Literal["1", "2", "3", "4", "5"]
"""The number of an item of a set."""
Action: TypeAlias = (
    Literal["left", "right", "tie", "skip", "undo", "quit", "help", "continue", "redraw"] | Place
)
PLACES: tuple[Place, ...] = get_args(Place)


class UnknownInput(NamedTuple):
    """What was said instead of an action: a sentence about it."""

    sentence: str


_LETTERS: dict[str, Action] = {
    **{place: place for place in PLACES},
    **dict.fromkeys("a", "left"),
    **dict.fromkeys("b", "right"),
    **dict.fromkeys("t=", "tie"),
    **dict.fromkeys("s", "skip"),
    **dict.fromkeys("u", "undo"),
    **dict.fromkeys("q", "quit"),
    **dict.fromkeys("?", "help"),
    **dict.fromkeys("c", "continue"),
}
WORDS: dict[str, Action] = {**_LETTERS, **{word: word for word in _LETTERS.values()}}
# Backspace, Ctrl-Z; Ctrl-C, Ctrl-D, Esc.
KEYS: dict[str, Action] = {
    **_LETTERS,
    " ": "skip",
    **dict.fromkeys("\x7f\x08\x1a", "undo"),
    **dict.fromkeys("\x03\x04\x1b", "quit"),
}
_ARROWS: dict[str, Action] = {"D": "left", "C": "right", "B": "tie"}
_WINDOWS_ARROWS: dict[str, Action] = {"K": "left", "M": "right", "P": "tie"}

_ESCAPE = 0.1
"""Seconds within which the rest of an escape sequence arrives; Esc itself has no rest."""
_RESIZE = 0.25
"""Seconds within which another size of the window is noticed."""


class LineReader:
    """An action a line; the end of the file is quit."""

    def __init__(self, stream: TextIO | None) -> None:
        self._lines = enumerate(stream if stream is not None else (), 1)

    def read(self) -> Action | UnknownInput:
        """The action of the next line that is not blank."""
        for number, line in self._lines:
            word = line.strip().lower()
            if word:
                return WORDS.get(word) or self._unknown(number, line.strip())
        return "quit"

    def _unknown(self, number: int, text: str) -> UnknownInput:
        said = terminal_safe(text[:40])
        return UnknownInput(
            f"Line {number} is {said!r}; it must be left, right, tie, skip, undo, quit or an item's number."
        )


class KeyReader:
    """An action a key; `character` gives the next one, or None after so many seconds."""

    def __init__(self, character: Callable[[float], str | None], size: Callable[[], object]) -> None:
        self._character, self._size = character, size

    def read(self) -> Action | UnknownInput:
        """The action of the next key, unless the window changes before."""
        size = self._size()
        while (character := self._character(_RESIZE)) is None:
            if self._size() != size:
                return "redraw"
        return self._named(character) or UnknownInput("That key has no meaning; ? shows those that have.")

    def _named(self, character: str) -> Action | None:
        if character in ("\0", "\xe0") and sys.platform == "win32":
            return _WINDOWS_ARROWS.get(self._character(_ESCAPE) or "")
        if character != "\x1b":
            return KEYS.get(character.lower())
        following = self._character(_ESCAPE)
        if following is None:
            return "quit"
        # ESC [ or ESC O, numbers, and one letter that says which key: ECMA-48, 5.4.
        final = self._character(_ESCAPE) if following in "[O" else None
        while final is not None and not "@" <= final <= "~":
            final = self._character(_ESCAPE)
        return _ARROWS.get(final or "")


@contextmanager
def single_keys(stream: TextIO, size: Callable[[], object]) -> Iterator[KeyReader]:
    """Keys without Enter and without echo; the terminal is as before afterwards, whatever happens."""
    with _ended_by_signals():
        if sys.platform == "win32":
            yield KeyReader(_windows_character, size)
        else:
            with _without_lines(stream.fileno()):
                yield KeyReader(_UnixCharacters(stream.fileno()), size)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Signals that end the process do it by an exception, so that the terminal is put right."""
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {getattr(signal, name): signal.signal(getattr(signal, name), _exit) for name in names}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


if sys.platform == "win32":
    import msvcrt

    def _windows_character(seconds: float) -> str | None:
        end = time.monotonic() + seconds
        while not msvcrt.kbhit():
            if time.monotonic() > end:
                return None
            time.sleep(0.01)
        return msvcrt.getwch()

else:
    import codecs
    import select
    import termios
    import tty

    @contextmanager
    def _without_lines(number: int) -> Iterator[None]:
        before = termios.tcgetattr(number)
        try:
            tty.setcbreak(number, termios.TCSANOW)
            mode = termios.tcgetattr(number)
            # Ctrl-Z would stop the process and leave its screen; it is read, as an undo.
            mode[6][termios.VSUSP] = os.fpathconf(number, "PC_VDISABLE").to_bytes(1, "little")
            termios.tcsetattr(number, termios.TCSANOW, mode)
            yield
        finally:
            # A terminal that has been closed needs nothing.
            with suppress(termios.error):
                termios.tcsetattr(number, termios.TCSANOW, before)

    class _UnixCharacters:
        """Characters of a terminal, one a call."""

        def __init__(self, number: int) -> None:
            self._number, self._read = number, ""
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

        def __call__(self, seconds: float) -> str | None:
            end = time.monotonic() + seconds
            while not self._read:
                left = end - time.monotonic()
                if left < 0 or not select.select([self._number], [], [], left)[0]:
                    return None
                self._read = self._decoder.decode(self._bytes())
            character, self._read = self._read[0], self._read[1:]
            return character

        def _bytes(self) -> bytes:
            """What has arrived; Ctrl-D once there is no terminal any more."""
            with suppress(OSError):
                return os.read(self._number, 1024) or b"\x04"
            return b"\x04"
