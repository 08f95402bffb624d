"""What all pictures share: a figure that no display knows of, colours, fonts and calm axes."""

from __future__ import annotations

import importlib.util
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.data.encoding import DATE, LOG, FeatureColumn
from coombs.data.tables import FloatArray
from coombs.insights.columns import axis_ticks
from coombs.terminal_text import terminal_safe

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Okabe and Ito's blue and vermilion, and greys: told apart in print and by the colour-blind.
BLUE = "#0072B2"
"""What was learned."""
RED = "#D55E00"
"""What is best."""
INK = "#222222"
"""Names and items."""
GREY = "#555555"
"""What is less important."""
FAINT = "#AAAAAA"
"""Axes."""
PALE = "#E6E6E6"
"""Lines behind everything."""
OTHER_SCRIPTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Noto Sans Arabic",
)
"""Fonts for names in other scripts, where they are installed."""


def need_matplotlib() -> None:
    """A sentence where it is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError('Pictures need matplotlib; install it with: pip install "coombs[plots]"')


@contextmanager
def style() -> Iterator[None]:
    """Settings for what is made inside; the user's stay as they are."""
    need_matplotlib()
    import matplotlib
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    fonts = ["DejaVu Sans", *(font for font in OTHER_SCRIPTS if font in installed)]
    settings: Any = {"font.family": fonts, "font.size": 9, "axes.labelsize": 9, "text.usetex": False}
    with matplotlib.rc_context(settings):
        yield


def new_figure(size: tuple[float, float]) -> Figure:
    """A figure that no display or pyplot knows of."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=120, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def axes_in(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or those of a new figure."""
    return new_figure(size).subplots() if ax is None else ax


def calm(ax: Axes) -> None:
    """Fewer lines, and what is left of them grey."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(color=FAINT, labelsize=8)
    ax.set_axisbelow(True)


LONGEST = 28
"""Letters of a line."""
LINES = 3
"""Lines of a label."""
SIZE = 8.0
"""Size of labels, in points."""
WAYS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
"""Sides of its dot on which a label may stand."""
BETWEEN = 6.0
"""Distance from one label of an axis to the next, in points."""
GAPS = (4.0, 8.0)
"""Distances of a label from its dot that are tried, in points."""


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
