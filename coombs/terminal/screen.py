"""A question as it is shown: two items side by side, or one above the other where there is no room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from coombs.data import naming
from coombs.data.catalogue import Catalogue
from coombs.study import Progress, Question
from coombs.terminal.cells import cells, cut, harmless, pad, wrap
from coombs.terminal.look import BOLD, CYAN, DIM, GREEN, MAGENTA, Look
from coombs.terminal.pair import Row, rows
from coombs.words import count

NARROW, WIDEST = 60, 100
"""Columns below which items are stacked, and above which nothing gets wider."""
BAR = 24
"""Cells of the bar of progress."""
SHORTEST, LONGEST = 6, 20
"""Cells of the scale that shows where a value is among all items'."""
NUMBER = 5
"""Cells of a number at least, so that columns seldom move from one question to the next."""
MOST_LINES = 3
"""Of a text that is shown of an item."""
COLOURS = (CYAN, MAGENTA)
KEYS = (
    ("←", "A"),
    ("→", "B"),
    ("↓", "can't say"),
    ("s", "skip"),
    ("u", "undo"),
    ("q", "quit"),
    ("?", "help"),
)
GO_ON = ("c", "go on")
PAUSE_KEYS = (("u", "undo"), ("q", "finish"))
LONG_KEYS = (
    ("← a 1", "the left or upper item, A"),
    ("→ b 2", "the right or lower item, B"),
    ("↓ t =", "a tie: both alike, or you can't say"),
    ("s space", "skip: leave this question out"),
    ("u backspace", "undo: take the last answer back"),
    ("q Esc", "quit; every answer is stored at once"),
    ("?", "this help"),
)
WORDS = "left, right, tie, skip, undo or quit?"
PAUSE_WORDS = ("undo or quit?", "continue, undo or quit?")
LONG_WORDS = "One of left, right, tie, skip, undo and quit, or its letter: a, b, t, s, u or q."


class Widths(NamedTuple):
    """Cells of the labels, of an item's column, and in it of a number and its scale."""

    label: int
    column: int
    number: int
    scale: int


def question_screen(
    question: Question, items: Catalogue, found: Progress, look: Look, notice: str = ""
) -> list[str]:
    """The lines of a question: none wider than the terminal, and no more than it has."""
    look = look._replace(width=min(look.width, WIDEST))
    head = [*progress_lines(found, look), *notice_lines(notice, look), ""]
    foot = ["", *keys_lines(KEYS, WORDS, look)]
    names = harmless(naming.text(question.left)), harmless(naming.text(question.right))
    shown, room = rows(items, question.positions), look.height - len(head) - len(foot)
    if look.width >= NARROW:
        body = _side_by_side(names, shown, look, room)
    else:
        upper, lower = (_alone(side, names[side], shown, look, (room - 1) // 2) for side in (0, 1))
        body = [*upper, "", *lower]
    return [*head, *body, *foot][: look.height]


def pause_screen(
    sentence: str,
    found: Progress,
    look: Look,
    notice: str = "",
    more: bool = True,
    doubts: Sequence[str] = (),
) -> list[str]:
    """Why no question is shown, and the best items so far, or the doubts that there are any."""
    look = look._replace(width=min(look.width, WIDEST))
    head = [*([] if doubts else progress_lines(found, look)), *notice_lines(notice, look), ""]
    # Without another question, that is what there is to say first.
    words = [*([] if doubts and more else [sentence]), *(doubts or ["These are the best:"])]
    told = [look.style(line, BOLD) for line in wrap(" ".join(words), look.width)]
    foot = ["", *keys_lines([*[GO_ON] * more, *PAUSE_KEYS], PAUSE_WORDS[more], look)]
    room = max(look.height - len(head) - len(told) - len(foot), 0)
    names = [] if doubts else [harmless(naming.text(name)) for name in found.top]
    top = [cut(f"{k:>3}  {name}", look.width, look.ellipsis) for k, name in enumerate(names, 1)]
    return [*head, *told, *top[:room], *foot]


def help_screen(look: Look) -> list[str]:
    """All keys; in a pipe, the words."""
    if not look.moves:
        return wrap(LONG_WORDS, look.width)
    width = max(len(key) for key, _ in LONG_KEYS)
    lines = [(look.signs(key.ljust(width)), meaning) for key, meaning in LONG_KEYS]
    room = look.width - width - 2
    return [
        *wrap("Which of the two do you prefer?", look.width),
        "",
        *(f"{look.style(key, BOLD)}  {cut(meaning, room, look.ellipsis)}" for key, meaning in lines),
        "",
        "Any key goes back.",
    ]


def progress_lines(found: Progress, look: Look) -> list[str]:
    """A bar towards the goal, how certain the best items are, and the number of answers."""
    filled = int(BAR * found.far)
    bar = look.style(look.signs("█" * filled), GREEN) + look.style(look.signs("░" * (BAR - filled)), DIM)
    text = look.signs(f"{found} · {count(found.n_answers, 'answer')}")
    if BAR + 2 + cells(text) <= look.width:
        return [f"{bar}  {text}"]
    return [*([bar] if look.width >= BAR else []), *wrap(text, look.width)]


def notice_lines(notice: str, look: Look) -> list[str]:
    """A sentence; in a window there is a line for it always, so that nothing below moves."""
    lines = wrap(harmless(notice), look.width, MOST_LINES, look.ellipsis)
    return [look.style(line, DIM) for line in lines] or [""] * look.moves


def keys_lines(keys: Sequence[tuple[str, str]], words: str, look: Look) -> list[str]:
    """Keys and what they do, in as many lines as it takes; outside of a window, the words to say."""
    if not look.moves:
        return wrap(words, look.width)
    lines, used = [""], 0
    for key, meaning in keys:
        wide = cells(f"{key} {meaning}   ")
        if used + wide - 3 > look.width:
            lines, used = [*lines, ""], 0
        lines[-1] += f"{look.style(look.signs(key), BOLD)} {look.style(meaning, DIM)}   "
        used += wide
    return [line.rstrip() for line in lines]


def _side_by_side(names: tuple[str, str], shown: Sequence[Row], look: Look, room: int) -> list[str]:
    """A column of labels, and one of each item below its name."""
    widths = _widths(shown, 2, look)
    margin = " " * (widths.label + 4)
    titles = [_title(side, names[side], widths.column, look) for side in (0, 1)]
    rule = look.style(look.signs("─" * widths.column), DIM)
    blocks = [_block(row, (0, 1), widths, look) for row in shown]
    top = (margin + "  ".join(titles)).rstrip()
    return [top, f"{margin}{rule}  {rule}", *_fitting(shown, blocks, room - 2)]


def _alone(side: int, name: str, shown: Sequence[Row], look: Look, room: int) -> list[str]:
    """One item below its name."""
    widths = _widths(shown, 1, look)
    blocks = [_block(row, (side,), widths, look) for row in shown]
    return [_title(side, name, look.width, look).rstrip(), *_fitting(shown, blocks, room - 1)]


def _widths(shown: Sequence[Row], n: int, look: Look) -> Widths:
    """Those of n items."""
    label = min(max(cells(row.label) for row in shown), look.width // (2 + n))
    column = (look.width - label - 2) // n - 2
    longest = max(len(text) for row in shown if row.shares for text in row.texts)
    number = min(max(longest, NUMBER), column - 2)
    scale = min(column - number - 2, LONGEST)
    return Widths(label, column, number, scale if scale >= SHORTEST else 0)


def _title(side: int, name: str, width: int, look: Look) -> str:
    title = cut(look.signs(("A ← ", "B → ")[side]) + name, width, look.ellipsis)
    return look.style(pad(title, width), BOLD, COLOURS[side])


def _block(row: Row, sides: Sequence[int], widths: Widths, look: Look) -> list[str]:
    """The lines of a row."""
    mark = "* " if row.differs and not look.colour else "  "
    label = pad(cut(row.label, widths.label, look.ellipsis), widths.label)
    labels = [mark + (label if row.differs else look.style(label, DIM))]
    columns = [_cell(row, side, widths, look) for side in sides]
    blanks = [" " * (widths.label + 2), *(" " * widths.column for _ in sides)]
    lines = zip_longest(labels, *columns)
    return [
        "  ".join(blank if part is None else part for part, blank in zip(line, blanks, strict=True)).rstrip()
        for line in lines
    ]


def _cell(row: Row, side: int, widths: Widths, look: Look) -> list[str]:
    """The lines of one item in a row, as wide as its column: a number with its scale, or a text."""
    text = row.texts[side]
    if row.shares is None:
        lines = wrap(text, widths.column, MOST_LINES, look.ellipsis) or [""]
        padded = [pad(line, widths.column) for line in lines]
        return padded if row.differs else [look.style(line, DIM) for line in padded]
    number = pad(cut(text, widths.number, look.ellipsis), widths.number, right=True)
    filled = round(widths.scale * row.shares[side])
    parts = [
        look.style(number, BOLD if row.differs else DIM),
        "  ",
        look.style(look.signs("━" * filled), COLOURS[side] if row.differs else DIM),
        look.style(look.signs("·" * (widths.scale - filled)), DIM),
        " " * (widths.column - widths.number - 2 - widths.scale),
    ]
    return ["".join(parts)]


def _fitting(shown: Sequence[Row], blocks: Sequence[list[str]], room: int) -> list[str]:
    """The rows that the window has room for, in their order; those that are equal go first, then the last."""
    kept = list(range(len(blocks)))
    least_wanted = sorted(kept, key=lambda k: (shown[k].differs, -k))
    while len(kept) > 1 and sum(len(blocks[k]) for k in kept) + (len(kept) < len(blocks)) > room:
        kept.remove(least_wanted[len(blocks) - len(kept)])
    lines = [line for k in kept for line in blocks[k]]
    hidden = len(blocks) - len(kept)
    return [*lines, f"  (and {hidden} more)"] if hidden else lines
