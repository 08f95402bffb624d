"""A question as it is shown: its items side by side, or one above the other where there is no room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from coombs.data import naming
from coombs.data.catalogue import Catalogue
from coombs.insights.item_comparison import ComparisonRow, comparison_rows
from coombs.study import Question, StudyProgress
from coombs.terminal.display import BOLD, CYAN, DIM, GREEN, MAGENTA, Display
from coombs.terminal_text import cells, cut, pad, terminal_safe, wrap
from coombs.words import count

NARROW = 60
"""Columns below which items stand one above the other."""
NARROW_COLUMN = 16
"""Columns for each of several items below which items stand one above the other."""
LEAST_LINES = 4
"""Lines of items side by side below which the progress is left out, and all but a line of the notice."""
LEAST_STACKED_LINES = 3
"""Lines of each item one above the other, below which the progress is left out."""
WIDEST = 100
"""Columns above which nothing gets wider."""
PROGRESS_WIDTH = 24
"""Cells of the bar of progress."""
SHORTEST_SCALE = 6
"""Cells of the scale that shows where a value is among all items', below which there is none."""
LONGEST_SCALE = 20
"""Cells of that scale at most."""
NUMBER_WIDTH = 5
"""Cells of a number at least, so that columns seldom move from one question to the next."""
MOST_LINES = 3
"""Lines of a text about an item, or of a notice."""
LONGEST_DETAIL = 2_000
"""Characters of a text about an item that are looked at; more help nobody."""
COLOURS = (CYAN, MAGENTA)
"""Colours of A and B, and in turn of the items of a set."""
SIDES = ("A ← ", "B → ")
"""What stands before the names of two items."""
KEYS = (
    ("←", "A"),
    ("→", "B"),
    ("↓", "can't say"),
    ("s", "skip"),
    ("u", "undo"),
    ("q", "quit"),
    ("?", "help"),
)
LAST_KEYS = (("u", "undo"), ("q", "finish"))
"""Keys where there is no question left."""
SET_KEYS = (("s", "skip"), ("u", "undo"), ("q", "quit"), ("?", "help"))
"""Keys for a set, beside the numbers of its items."""
PAUSE_KEYS = (("c", "go on"), *LAST_KEYS)
"""Keys where the goal is reached."""
LONG_KEYS = (
    ("← a 1", "the left or upper item, A"),
    ("→ b 2", "the right or lower item, B"),
    ("↓ t =", "a tie: both alike, or you can't say"),
    ("s space", "skip: leave this question out"),
    ("u backspace", "undo: take the last answer back"),
    ("q Esc", "quit; every answer is stored at once"),
    ("?", "this help"),
)
LONG_SET_KEYS = (("1 2 ...", "the best item, then the worst"), *LONG_KEYS[3:])
WORDS = "left, right, tie, skip, undo or quit?"
LAST_WORDS = "undo or quit?"
PAUSE_WORDS = "continue, undo or quit?"
LONG_WORDS = "One of left, right, tie, skip, undo and quit, or its letter: a, b, t, s, u or q."
LONG_SET_WORDS = (
    "The number of the best item, then that of the worst; or skip, undo or quit, or its letter: s, u or q."
)


class Widths(NamedTuple):
    """Cells of the labels, of an item's column, and in it of a number and its scale."""

    label: int
    column: int
    number: int
    scale: int


def question_screen(
    question: Question,
    items: Catalogue,
    progress: StudyProgress,
    display: Display,
    notice: str = "",
    best: int | None = None,
) -> list[str]:
    """The lines of a question: none wider than the terminal, and no more than it has.

    Of a set the best is asked for first, and once it is known (its place, from 0 on) the worst.
    """
    display = display._replace(width=min(display.width, WIDEST))
    head = [*progress_lines(progress, display), *notice_lines(notice, display), ""]
    keys, words = _set_keys(question, best) if question.is_set else (KEYS, WORDS)
    foot = ["", *keys_lines(keys, words, display)]
    n_items = len(question.positions)
    is_narrow = display.width < max(NARROW, NARROW_COLUMN * n_items)
    least = (LEAST_STACKED_LINES + 1) * n_items - 1 if is_narrow else LEAST_LINES
    if display.height - len(head) - len(foot) < least:
        head = notice_lines(notice, display)[:1]
    titles = _titles(question, best)
    shown, room = printable_rows(items, question.positions), display.height - len(head) - len(foot)
    if is_narrow:
        each = (room - n_items + 1) // n_items
        blocks = [_alone(side, title, shown, display, each) for side, title in enumerate(titles)]
        body = [line for block in blocks for line in (*block, "")][:-1]
    else:
        body = _side_by_side(titles, shown, display, room)
    return [*head, *body, *foot][: display.height]


def _titles(question: Question, best: int | None) -> list[str]:
    """The items' names after their keys; the best is marked."""
    names = [terminal_safe(naming.text(name)) for name in question.names or (question.left, question.right)]
    if not question.is_set:
        return [side + name for side, name in zip(SIDES, names, strict=True)]
    return [f"{place + 1} {'+ ' if place == best else ''}{name}" for place, name in enumerate(names)]


def _set_keys(question: Question, best: int | None) -> tuple[Sequence[tuple[str, str]], str]:
    """Which end of a set is asked for: by keys, and by words."""
    asked, numbers = "the best" if best is None else "the worst", f"1-{len(question.positions)}"
    return [(numbers, asked), *SET_KEYS], f"{asked} ({numbers}), skip, undo or quit?"


def printable_rows(items: Catalogue, positions: Sequence[int]) -> list[ComparisonRow]:
    """What is known of some items, safe to print, without details that all lack."""
    rows = []
    for label, cells_of_row, shares in comparison_rows(items, positions):
        texts = tuple(terminal_safe(cell[:LONGEST_DETAIL]) for cell in cells_of_row)
        if shares is not None or any(texts):
            rows.append(ComparisonRow(terminal_safe(label), texts, shares))
    return rows


def pause_screen(
    sentence: str,
    progress: StudyProgress,
    display: Display,
    notice: str = "",
    more: bool = True,
    doubts: Sequence[str] = (),
) -> list[str]:
    """Why no question is shown, and the best items so far, or the doubts that there are any."""
    display = display._replace(width=min(display.width, WIDEST))
    head = [*([] if doubts else progress_lines(progress, display)), *notice_lines(notice, display), ""]
    # Without another question, that is what there is to say first.
    words = [*([] if doubts and more else [sentence]), *(doubts or ["These are the best:"])]
    told = [display.style(line, BOLD) for line in wrap(" ".join(words), display.width)]
    keys, say = (PAUSE_KEYS, PAUSE_WORDS) if more else (LAST_KEYS, LAST_WORDS)
    foot = ["", *keys_lines(keys, say, display)]
    room = max(display.height - len(head) - len(told) - len(foot), 0)
    names = [] if doubts else [terminal_safe(naming.text(name)) for name in progress.top]
    top = [cut(f"{k:>3}  {name}", display.width, display.ellipsis) for k, name in enumerate(names, 1)]
    return [*head, *told, *top[:room], *foot]


def help_screen(display: Display, is_set: bool = False) -> list[str]:
    """All keys; in a pipe, the words."""
    if not display.full_screen:
        return wrap(LONG_SET_WORDS if is_set else LONG_WORDS, display.width)
    keys = LONG_SET_KEYS if is_set else LONG_KEYS
    width = max(len(key) for key, _ in keys)
    lines = [(display.symbols(key.ljust(width)), meaning) for key, meaning in keys]
    room = display.width - width - 2
    asked = "Which do you like best, which least?" if is_set else "Which of the two do you prefer?"
    return [
        *wrap(asked, display.width),
        "",
        *(f"{display.style(key, BOLD)}  {cut(meaning, room, display.ellipsis)}" for key, meaning in lines),
        "",
        "Any key goes back.",
    ]


def progress_lines(progress: StudyProgress, display: Display) -> list[str]:
    """A bar towards the goal, how certain the best items are, and the number of answers."""
    filled = int(PROGRESS_WIDTH * progress.fraction)
    done, rest = display.symbols("█" * filled), display.symbols("░" * (PROGRESS_WIDTH - filled))
    bar = display.style(done, GREEN) + display.style(rest, DIM)
    text = display.symbols(f"{progress} · {count(progress.n_answers, 'answer')}")
    if PROGRESS_WIDTH + 2 + cells(text) <= display.width:
        return [f"{bar}  {text}"]
    return [*([bar] if display.width >= PROGRESS_WIDTH else []), *wrap(text, display.width)]


def notice_lines(notice: str, display: Display) -> list[str]:
    """A sentence; in a window there is a line for it always, so that nothing below moves."""
    lines = wrap(terminal_safe(notice), display.width, MOST_LINES, display.ellipsis)
    return [display.style(line, DIM) for line in lines] or [""] * display.full_screen


def keys_lines(keys: Sequence[tuple[str, str]], words: str, display: Display) -> list[str]:
    """Keys and what they do, in as many lines as it takes; outside of a window, the words to say."""
    if not display.full_screen:
        return wrap(words, display.width)
    lines, used = [""], 0
    for key, meaning in keys:
        wide = cells(f"{key} {meaning}   ")
        if used + wide - 3 > display.width:
            lines, used = [*lines, ""], 0
        lines[-1] += f"{display.style(display.symbols(key), BOLD)} {display.style(meaning, DIM)}   "
        used += wide
    return [line.rstrip() for line in lines]


def _side_by_side(
    titles: Sequence[str], shown: Sequence[ComparisonRow], display: Display, room: int
) -> list[str]:
    """A column of labels, and one of each item below its title."""
    sides = range(len(titles))
    widths = _widths(shown, len(titles), display)
    margin = " " * (widths.label + 4)
    tops = [_title(side, titles[side], widths.column, display) for side in sides]
    rules = "  ".join([display.style(display.symbols("─" * widths.column), DIM)] * len(titles))
    blocks = [_block(row, sides, widths, display) for row in shown]
    top = (margin + "  ".join(tops)).rstrip()
    return [top, *[margin + rules] * bool(shown), *_fitting(shown, blocks, room - 2)]


def _alone(side: int, title: str, shown: Sequence[ComparisonRow], display: Display, room: int) -> list[str]:
    """One item below its title."""
    widths = _widths(shown, 1, display)
    blocks = [_block(row, (side,), widths, display) for row in shown]
    return [_title(side, title, display.width, display).rstrip(), *_fitting(shown, blocks, room - 1)]


def _widths(shown: Sequence[ComparisonRow], n: int, display: Display) -> Widths:
    """Those of n items."""
    label = min(max((cells(row.label) for row in shown), default=0), display.width // (2 + n))
    column = (display.width - label - 2) // n - 2
    longest = max((len(text) for row in shown if row.shares for text in row.texts), default=0)
    number = min(max(longest, NUMBER_WIDTH), column - 2)
    scale = min(column - number - 2, LONGEST_SCALE)
    return Widths(label, column, number, scale if scale >= SHORTEST_SCALE else 0)


def _title(side: int, title: str, width: int, display: Display) -> str:
    shown = cut(display.symbols(title), width, display.ellipsis)
    return display.style(pad(shown, width), BOLD, _colour(side))


def _colour(side: int) -> int:
    return COLOURS[side % len(COLOURS)]


def _block(row: ComparisonRow, sides: Sequence[int], widths: Widths, display: Display) -> list[str]:
    """The lines of a row."""
    mark = "* " if row.differs and not display.colour else "  "
    label = pad(cut(row.label, widths.label, display.ellipsis), widths.label)
    labels = [mark + (label if row.differs else display.style(label, DIM))]
    columns = [_cell(row, side, widths, display) for side in sides]
    blanks = [" " * (widths.label + 2), *(" " * widths.column for _ in sides)]
    lines = zip_longest(labels, *columns)
    return [
        "  ".join(blank if part is None else part for part, blank in zip(line, blanks, strict=True)).rstrip()
        for line in lines
    ]


def _cell(row: ComparisonRow, side: int, widths: Widths, display: Display) -> list[str]:
    """The lines of one item in a row, as wide as its column: a number with its scale, or a text."""
    text = row.texts[side]
    if row.shares is None:
        lines = wrap(text, widths.column, MOST_LINES, display.ellipsis) or [""]
        padded = [pad(line, widths.column) for line in lines]
        return padded if row.differs else [display.style(line, DIM) for line in padded]
    number = pad(cut(text, widths.number, display.ellipsis), widths.number, right=True)
    filled = round(widths.scale * row.shares[side])
    parts = [
        display.style(number, BOLD if row.differs else DIM),
        "  ",
        display.style(display.symbols("━" * filled), _colour(side) if row.differs else DIM),
        display.style(display.symbols("·" * (widths.scale - filled)), DIM),
        " " * (widths.column - widths.number - 2 - widths.scale),
    ]
    return ["".join(parts)]


def _fitting(shown: Sequence[ComparisonRow], blocks: Sequence[list[str]], room: int) -> list[str]:
    """The rows that the window has room for, in their order; those that are equal go first, then the last."""
    kept = list(range(len(blocks)))
    least_wanted = sorted(kept, key=lambda k: (shown[k].differs, -k))
    while len(kept) > 1 and sum(len(blocks[k]) for k in kept) + (len(kept) < len(blocks)) > room:
        kept.remove(least_wanted[len(blocks) - len(kept)])
    lines = [line for k in kept for line in blocks[k]]
    hidden = len(blocks) - len(kept)
    return [*lines, f"  (and {hidden} more)"] if hidden else lines
