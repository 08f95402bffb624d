"""Sections as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from coombs.render.blocks import Block, Points, Section, TableBlock
from coombs.terminal_text import terminal_safe

WIDTH = 96
"""Characters of a line."""
LONGEST = (60, 28)
"""Characters of a cell of a table; and if the table is too wide with these."""
NARROWEST = 12
"""Characters of a heading of a table where room is scarce, at least."""


def page(sections: Iterable[Section]) -> str:
    """Sections as plain text."""
    return "\n\n".join("\n".join(section_lines(section)) for section in sections)


def section_lines(section: Section) -> Iterator[str]:
    """A heading, underlined, and what stands under it."""
    if section.title:
        yield from (terminal_safe(section.title), "-" * len(section.title))
    for block in section.blocks:
        yield from block_lines(block)


def block_lines(block: Block) -> list[str]:
    """A paragraph or a list in lines of a readable length, or a table."""
    if isinstance(block, TableBlock):
        return table_lines(block)
    if isinstance(block, Points):
        return [line for sentence in block.sentences for line in _wrapped(sentence, "- ", "  ")]
    return _wrapped(block)


def table_lines(table: TableBlock, width: int = WIDTH) -> list[str]:
    """Aligned columns, as many as a line holds; long cells go over several lines."""
    for longest in LONGEST:
        columns = [
            _column(*column, longest=longest) for column in zip(table.heading, *table.rows, strict=True)
        ]
        widths = [max(len(line) for cell in column for line in cell) for column in columns]
        fit = sum(sum(widths[:k]) + 2 * k <= width for k in range(1, len(widths) + 1))
        if fit == len(widths):
            break
    shape = list(zip(widths, table.align, strict=True))[: max(fit, 1)]
    lines = [line for row in zip(*columns, strict=True) for line in _row(row, shape)]
    left_out = len(columns) - len(shape)
    more = f"  (and {left_out} {'column' if left_out == 1 else 'columns'} more)"
    return [*lines, more] if left_out else lines


def _wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(terminal_safe(text), WIDTH, initial_indent=first, subsequent_indent=rest)


def _column(heading: str, *body: str, longest: int) -> list[list[str]]:
    """Lines of each cell; where room is scarce, the heading is no wider than it must be."""
    cells = [textwrap.wrap(terminal_safe(cell), longest) or [""] for cell in body]
    width = max((len(line) for cell in cells for line in cell), default=0)
    width = longest if longest == max(LONGEST) else max(width, NARROWEST)
    return [textwrap.wrap(terminal_safe(heading), width) or [""], *cells]


def _row(row: Sequence[list[str]], shape: list[tuple[int, str]]) -> Iterator[str]:
    for line in zip_longest(*row[: len(shape)], fillvalue=""):
        cells = zip(line, shape, strict=True)
        padded = (cell.rjust(width) if align == "r" else cell.ljust(width) for cell, (width, align) in cells)
        yield "  " + "  ".join(padded).rstrip()
