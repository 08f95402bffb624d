"""What commands print: tables and pages for people, JSON for programs."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from coombs.render.sections import WIDTH, Section, section_lines
from coombs.terminal.display import Display
from coombs.terminal_text import terminal_safe

if TYPE_CHECKING:
    from coombs.model import Model

HEADING = "\x1b[1m{}\x1b[m"
"""A heading on a terminal with colour."""


def page(sections: Iterable[Section]) -> None:
    """Print sections: fitted to a narrow terminal, headings bold where there is colour."""
    print("\n\n".join("\n".join(_lines(section)) for section in sections))


def _lines(section: Section) -> list[str]:
    display = Display.of(sys.stdout) if sys.stdout.isatty() else Display(WIDTH)
    lines = list(section_lines(section, min(display.width, WIDTH), display.ellipsis))
    return [HEADING.format(lines[0]), *lines[1:]] if section.title and has_colour() else lines


def as_json(value: Any) -> None:
    """Print a value as one line of JSON, with null for numbers that are none."""
    print(json.dumps(_plain(value), allow_nan=False))


def careful(sentence: Any) -> None:
    """Say on stderr what a person should know."""
    print(f"coombs: careful: {terminal_safe(' '.join(str(sentence).split()))}", file=sys.stderr)


@contextmanager
def warned() -> Iterator[None]:
    """Say on stderr what is warned of inside, once it is done."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", UserWarning)
        yield
    for sentence in dict.fromkeys(str(one.message) for one in raised):
        careful(sentence)


def note(sentence: str) -> None:
    """Say on stderr what was recognised."""
    print(f"coombs: {terminal_safe(sentence)}", file=sys.stderr)


def line(text: str) -> None:
    """Print a line that may hold others' words."""
    print(terminal_safe(text))


def together(model: Model) -> None:
    """Say first if a model is of several people, taken for one."""
    from coombs import words

    if sentence := words.together(model.n_people or 1):
        print(f"{sentence}.\n")


def has_colour() -> bool:
    """Only on a terminal, and only if nobody asks for none."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def _plain(value: Any) -> Any:
    """What JSON can hold: NaN and infinities are null, numpy's types Python's."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or type(value) in (str, int, float, bool):
        return value
    from coombs.data import naming

    return naming.for_json(value)
