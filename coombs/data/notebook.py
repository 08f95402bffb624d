"""What a notebook shows of an object: a small table in HTML, in which every text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

MOST_ROWS = 10
"""Rows that a table shows; a line below it says how many there are."""


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], total: int, noun: str) -> str:
    """The first rows of a table that has `total` rows.

    Examples
    --------
    >>> page = table("2 < 3", ["item"], [["tea"], ["<b>"]], 5, "item")
    >>> "<caption>2 &lt; 3</caption>" in page, "<td>&lt;b&gt;</td>" in page, page[-16:]
    (True, True, '2 of 5 items</p>')
    """
    shown = rows[:MOST_ROWS]
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in shown)
    rest = f"<p>{len(shown)} of {total} {escape(noun)}s</p>" if total > len(shown) else ""
    caption = f"<caption>{escape(caption)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"
