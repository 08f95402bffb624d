"""Sections as HTML; everything that a user named is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from coombs.render.blocks import Block, Points, Section, TableBlock

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
        head, body = _row("th", block, block.heading), [_row("td", block, row) for row in block.rows]
        return f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"
    if isinstance(block, Points):
        return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in block.sentences)}</ul>"
    return f"<p>{escape(block)}</p>"


def _row(tag: str, table: TableBlock, row: Sequence[str]) -> str:
    cells = [
        f'<{tag} style="text-align: {SIDES[align]}">{escape(cell)}</{tag}>'
        for align, cell in zip(table.align, row, strict=True)
    ]
    return f"<tr>{''.join(cells)}</tr>"
