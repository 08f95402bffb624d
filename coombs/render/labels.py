"""Labels of pictures: names as they are drawn, and where there is room for them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.encoding import DATE, LOG, FeatureColumn
from coombs.data.tables import FloatArray
from coombs.insights.columns import axis_ticks
from coombs.terminal_text import terminal_safe

if TYPE_CHECKING:
    from matplotlib.axis import Axis

LONGEST = 28
"""Letters of a line."""
LINES = 3
"""Lines of a label."""
SIZE = 8.0
"""Of labels, in points."""
WAYS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
"""On which sides of its dot a label may stand."""
BETWEEN = 6.0
"""From one label of an axis to the next, in points."""
GAPS = (4.0, 8.0)
"""How far from it, in points."""


def shown(name: str, longest: int = LONGEST) -> str:
    """A name as matplotlib may draw it: on one line, not too long, its dollar signs no formula."""
    name = " ".join(terminal_safe(name).split())
    name = name if len(name) <= longest else name[: longest - 1].rstrip() + "…"
    return name.replace("$", r"\$")


def mark_values(axis: Axis, column: FeatureColumn, low: float, high: float, count: int = 4) -> None:
    """Levels, dates and numbers of a log scale on an axis; plain numbers stay as they are."""
    ticks = axis_ticks(column, low, high, count)
    if ticks is None:
        return
    if column.role in (DATE, LOG) and axis is axis.axes.xaxis:
        room = axis.axes.bbox.width * 72 / axis.axes.figure.dpi
        while len(ticks) > 2 and sum(text_size(text)[0] + BETWEEN for _, text in ticks) > room:
            ticks = ticks[::2]
    axis.set_ticks([place for place, _ in ticks], labels=[shown(text, 12) for _, text in ticks])


def wrapped(name: str) -> str:
    """A long name on up to three lines."""
    return "\n".join(shown(line) for line in textwrap.wrap(name, LONGEST, max_lines=LINES, placeholder=" …"))


def text_size(text: str) -> FloatArray:
    """Width and height of a label, in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    plain = text.replace(r"\$", "$")
    width, height, _ = text_to_path.get_text_width_height_descent(plain, FontProperties(size=SIZE), False)
    return np.array([width, height])


def free_place(
    dot: FloatArray,
    size: FloatArray,
    points: FloatArray,
    costs: FloatArray,
    taken: Sequence[FloatArray],
    frame: FloatArray,
) -> FloatArray | None:
    """Where to put a label beside a dot, as x0, y0, x1, y1; None if there is no room.

    In the frame, over none of the boxes that are taken, and covering the points that cost least.
    """
    best, least = None, np.inf
    for step, gap in enumerate(GAPS):
        for way in WAYS:
            middle = dot + np.array(way) * (size / 2 + gap)
            box = np.concatenate([middle - size / 2, middle + size / 2])
            outside = (box[:2] < frame[:2]).any() or (box[2:] > frame[2:]).any()
            if outside or any((box[:2] < b[2:] + 1).all() and (box[2:] > b[:2] - 1).all() for b in taken):
                continue
            covered = ((points > box[:2] - 3) & (points < box[2:] + 3)).all(axis=1)
            # Farther off, it is less clear whose label it is.
            cost = float(covered @ costs) + 2 * step
            if cost < least:
                best, least = box, cost
    return best
