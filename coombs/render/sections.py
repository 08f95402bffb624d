"""Sections of a page: what they are made of, and how they become plain text or HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

from coombs.terminal_text import cells, cut, pad, terminal_safe, wrap


class TableBlock(NamedTuple):
    """A small table; `align` has an l or an r for each column."""

    align: str
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


class Points(NamedTuple):
    """A list of sentences."""

    sentences: Sequence[str]


Block: TypeAlias = str | TableBlock | Points
"""A paragraph, a table or a list."""


class Section(NamedTuple):
    """A heading, none if it is empty, and what stands under it."""

    title: str
    blocks: Sequence[Block]


WIDTH = 96
"""Characters of a line."""
WIDE_CELL = 60
"""Characters of a line in a cell of a table, at most."""
NARROW_CELL = 28
"""The same where the table is too wide with those."""
NARROWEST = 12
"""Characters of a heading of a table where room is scarce, at least."""


def page(sections: Iterable[Section]) -> str:
    """Sections as plain text."""
    return "\n".join(lines(sections))


def lines(sections: Iterable[Section], width: int = WIDTH, ellipsis: str = "…") -> list[str]:
    """Sections, a blank line between them, in lines that a terminal of that width holds."""
    found: list[str] = []
    for section in sections:
        found += [""] if found else []
        found += section_lines(section, width, ellipsis)
    return found


def section_lines(section: Section, width: int = WIDTH, ellipsis: str = "…") -> Iterator[str]:
    """A heading, underlined, and what stands under it."""
    if section.title:
        title = terminal_safe(section.title)
        yield from wrap(title, width)
        yield "-" * min(cells(title), width)
    for block in section.blocks:
        if isinstance(block, TableBlock):
            yield from (cut(line, width, ellipsis) for line in table_lines(block, width))
        else:
            yield from _sentence_lines(block, min(width, WIDTH))


def _sentence_lines(block: str | Points, width: int) -> Iterator[str]:
    """A paragraph or a list, in lines of a readable length."""
    if isinstance(block, str):
        yield from wrap(terminal_safe(block), width)
        return
    for sentence in block.sentences:
        for k, line in enumerate(wrap(terminal_safe(sentence), width - 2)):
            yield f"{'  ' if k else '- '}{line}"


def table_lines(table: TableBlock, width: int = WIDTH) -> list[str]:
    """Aligned columns, as many as a line holds; long cells go over several lines."""
    for longest in (WIDE_CELL, NARROW_CELL):
        columns = [
            _column(*column, longest=longest) for column in zip(table.heading, *table.rows, strict=True)
        ]
        widths = [max(cells(line) for cell in column for line in cell) for column in columns]
        fit = sum(sum(widths[:k]) + 2 * k <= width for k in range(1, len(widths) + 1))
        if fit == len(widths):
            break
    shape = list(zip(widths, table.align, strict=True))[: max(fit, 1)]
    rows = [line for row in zip(*columns, strict=True) for line in _row(row, shape)]
    left_out = len(columns) - len(shape)
    more = f"  (and {left_out} {'column' if left_out == 1 else 'columns'} more)"
    return [*rows, more] if left_out else rows


def _column(heading: str, *body: str, longest: int) -> list[list[str]]:
    """Lines of each cell; where room is scarce, the heading is no wider than it must be."""
    wrapped = [wrap(terminal_safe(cell), longest) or [""] for cell in body]
    width = max((cells(line) for cell in wrapped for line in cell), default=0)
    width = longest if longest == WIDE_CELL else max(width, NARROWEST)
    return [wrap(terminal_safe(heading), width) or [""], *wrapped]


def _row(row: Sequence[list[str]], shape: list[tuple[int, str]]) -> Iterator[str]:
    for line in zip_longest(*row[: len(shape)], fillvalue=""):
        padded = (
            pad(cell, width, right=align == "r") for cell, (width, align) in zip(line, shape, strict=True)
        )
        yield "  " + "  ".join(padded).rstrip()


SIDES = {"l": "left", "r": "right"}
"""Where the text of a column stands."""


def fragment(sections: Iterable[Section]) -> str:
    """One <section> for each heading."""
    return "\n".join(map(_section, sections))


def _section(section: Section) -> str:
    blocks = "\n".join(map(_block, section.blocks))
    heading = f"<h2>{escape(section.title)}</h2>\n" if section.title else ""
    return f"<section>\n{heading}{blocks}\n</section>"


def _block(block: Block) -> str:
    if isinstance(block, TableBlock):
        head, body = (
            _table_row("th", block, block.heading),
            [_table_row("td", block, row) for row in block.rows],
        )
        return f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"
    if isinstance(block, Points):
        return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in block.sentences)}</ul>"
    return f"<p>{escape(block)}</p>"


def _table_row(tag: str, table: TableBlock, row: Sequence[str]) -> str:
    cells = [
        f'<{tag} style="text-align: {SIDES[align]}">{escape(cell)}</{tag}>'
        for align, cell in zip(table.align, row, strict=True)
    ]
    return f"<tr>{''.join(cells)}</tr>"
