"""What commands print: tables and pages for people, JSON for programs."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coombs.terminal_text import terminal_safe

if TYPE_CHECKING:
    from coombs.model import Model

WIDTH = 96
HEADING = "\x1b[1m{}\x1b[m"


def page(text: str) -> None:
    """Print a page: fitted to a narrow terminal, headings bold where there is colour, nothing commanded."""
    lines = [terminal_safe(line) for line in text.splitlines()]
    if sys.stdout.isatty() and max(map(len, lines), default=0) > shutil.get_terminal_size().columns:
        from coombs.terminal.display import Display
        from coombs.terminal.page import fitted

        lines = fitted("\n".join(lines), Display.of(sys.stdout))
    print("\n".join(_bold_headings(lines) if has_colour() else lines))


def as_json(value: Any) -> None:
    """Print a value as one line of JSON, with null for numbers that are none."""
    print(json.dumps(_plain(value), allow_nan=False))


def careful(sentence: Any) -> None:
    """Say on stderr what a person should know."""
    print(f"coombs: careful: {terminal_safe(' '.join(str(sentence).split()))}", file=sys.stderr)


def together(model: Model) -> None:
    """Say first if a model is of several people, taken for one."""
    from coombs import words

    if sentence := words.together(model.n_people or 1):
        print(f"{sentence}.\n")


def section(title: str, *blocks: str) -> str:
    """A heading, and under it tables, and sentences in lines of a readable length."""
    parts = [block if block.startswith(("  ", "- ")) else textwrap.fill(block, WIDTH) for block in blocks]
    return "\n".join([title, "-" * len(title), *parts])


def table(align: str, heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under their headings, `align` having an l or an r for each; those that do not fit are left out.

    Examples
    --------
    >>> print(table("lr", ("item", "rank"), [("latte", "1"), ("mocha", "2")]))
      item   rank
      latte     1
      mocha     2
    """
    lines = [[terminal_safe(cell) for cell in row] for row in (heading, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    fit = sum(sum(widths[:k]) + 2 * k <= WIDTH for k in range(1, len(widths) + 1)) or 1
    shape = list(zip(align, widths, strict=True))[:fit]
    text = "\n".join(_row(cells[:fit], shape) for cells in lines)
    return text if fit == len(widths) else f"{text}\n  (columns left out: {', '.join(lines[0][fit:])})"


def has_colour() -> bool:
    """Only on a terminal, and only if nobody asks for none."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def _row(cells: Sequence[str], shape: Sequence[tuple[str, int]]) -> str:
    padded = (
        cell.rjust(width) if align == "r" else cell.ljust(width)
        for cell, (align, width) in zip(cells, shape, strict=True)
    )
    return f"  {'  '.join(padded)}".rstrip()


def _bold_headings(lines: Sequence[str]) -> list[str]:
    following = [*lines[1:], ""]
    return [
        HEADING.format(line) if line and under and not under.strip("-") else line
        for line, under in zip(lines, following, strict=True)
    ]


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
