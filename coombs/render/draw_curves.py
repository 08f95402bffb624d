"""Taste curves, drawn from their records: a panel for each feature, liked more upwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.data.encoding import CATEGORY
from coombs.render.canvas import BLUE, GREY, INK, PALE, RED, calm, mark_values, new_figure, shown, style
from coombs.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from coombs.insights.curves import TasteCurve
    from coombs.insights.statements import Shape

NARROW = 4.0
"""Inches of a figure below which its legend is a column."""
COLUMNS = 3
"""Panels side by side, at most."""
RUG = 0.06
"""Height of the strokes that stand for items, as part of a panel."""


def draw_taste_curves(curves: Sequence[TasteCurve], shapes: Sequence[Shape]) -> Figure:
    """Each curve with its band, the description beside it, and the shape that it surely has in words."""
    words = {shape.feature: shape.words for shape in shapes}
    columns = 2 if len(curves) == 4 else min(len(curves), COLUMNS)
    rows = -(-len(curves) // columns)
    with style():
        figure = new_figure((0.8 + 2.4 * columns, 0.8 + 2.1 * rows))
        grid: Any = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for ax in grid.flat[len(curves) :]:
            ax.axis("off")
        for ax, curve in zip(grid.flat, curves, strict=False):
            _draw_curve(ax, curve, words.get(curve.feature, ""))
        for ax in grid[:, 0]:
            ax.set_ylabel("liked more (log odds)")
        _legend(figure, any(curve.differs for curve in curves), curves[0].level)
    return figure


def _draw_curve(ax: Axes, curve: TasteCurve, words: str) -> None:
    """The curve with its band, the description beside it, and the items as a rug below."""
    from matplotlib.ticker import MaxNLocator

    ax.axhline(0, color=PALE, linewidth=0.8)
    if curve.column.role == CATEGORY:
        _draw_levels(ax, curve)
        return
    ax.fill_between(curve.xs, *curve.interval.T, color=BLUE, alpha=0.2, linewidth=0)
    ax.plot(curve.xs, curve.liking, color=BLUE, linewidth=1.6)
    if curve.differs:
        ax.plot(curve.xs, np.asarray(curve.described), color=RED, linewidth=1.3, linestyle=(0, (4, 2)))
    ax.vlines(curve.points, 0, RUG, transform=ax.get_xaxis_transform(), color=INK, linewidth=0.6, alpha=0.6)
    ax.margins(x=0.02, y=0.12)
    is_whole = bool((curve.points == np.round(curve.points)).all())
    ax.xaxis.set_major_locator(MaxNLocator(5, prune=None if is_whole else "both", integer=is_whole))
    mark_values(ax.xaxis, curve.column, curve.xs[0], curve.xs[-1])
    ax.set_xlabel(shown(curve.column.axis_name(curve.feature)))
    ax.set_title(words, loc="left", fontsize=8, color=GREY)
    calm(ax)


def _draw_levels(ax: Axes, curve: TasteCurve) -> None:
    """The levels of a category as dots with their intervals, the best first; crosses are the description."""
    order = np.argsort(-curve.liking, kind="stable")
    places = np.arange(len(order))
    ax.vlines(places, *curve.interval[order].T, color=BLUE, linewidth=4, alpha=0.3)
    ax.plot(places, curve.liking[order], "o", color=BLUE, markersize=4)
    if curve.differs:
        ax.plot(places, np.asarray(curve.described)[order], "x", color=RED, markersize=5)
    ax.set_xticks(places, [shown(curve.column.levels[k], 10) for k in order], rotation=30, fontsize=7)
    ax.set_xlabel(shown(curve.feature))
    ax.margins(x=0.1, y=0.12)
    calm(ax)


def _legend(figure: Figure, differs: bool, level: float) -> None:
    """What the lines mean, below the panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=BLUE, linewidth=1.6, label="the taste that predicts"),
        Patch(facecolor=BLUE, alpha=0.2, label=f"its {percent(level)} interval"),
    ]
    if differs:
        dashes: Any = (0, (4, 2))
        handles += [Line2D([], [], color=RED, linewidth=1.3, linestyle=dashes, label="the ideal alone")]
    ncols = 1 if figure.get_figwidth() < NARROW else 3
    figure.legend(handles=handles, loc="outside lower left", ncols=ncols, frameon=False, fontsize=8)
