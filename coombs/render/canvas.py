"""What all pictures share: a figure that no display knows of, colours, fonts and calm axes."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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
