"""Maps of two features, and a matrix of them, drawn from their records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coombs.data.encoding import NUMBER
from coombs.data.tables import FloatArray
from coombs.render.canvas import (
    BLUE,
    GREY,
    INK,
    RED,
    axes_in,
    calm,
    free_place,
    mark_values,
    new_figure,
    shown,
    style,
    text_size,
)
from coombs.render.captions import mark_text, others_text
from coombs.words import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

    from coombs.insights.maps import Band, FeatureMatrix, LevelSets, Profile

MARKS = {"ideal": "*", "worst": "X", "saddle": "D", "none": "."}
"""The sign of a turning point, by what it is."""
NAMED = 6
"""Best items with a label."""
WIDE = 330.0
"""Points from which on two legends fit side by side."""
LONGEST_MARK = 50
"""Letters of the legend of marks up to which two legends fit side by side."""


def draw_level_sets(data: LevelSets, ax: Axes | None = None) -> Axes:
    """Lines of equal distance, the items among them, and what is best."""
    with style():
        own, ax = ax is None, axes_in(ax, (6.6, 5.6))
        _draw_levels(ax, data, marker=26 * min(1, (150 / len(data.ranks)) ** 0.5))
        _draw_axes(ax, data)
        note = _draw_towards(ax, data)
        _legend(ax, data)
        title = "" if len(data.base) == 2 else others_text(data).capitalize()
        ax.set_title(title, loc="left", fontsize=9, color=GREY)
        if own:
            ax.get_figure().draw_without_rendering()  # type: ignore[union-attr]
        _label_best(ax, data, note)
    return ax


def draw_feature_matrix(data: FeatureMatrix) -> Figure:
    """Level sets for every two features, and on the diagonal how the distance changes along one."""
    d = len(data.profiles)
    with style():
        from matplotlib.ticker import MaxNLocator

        figure = new_figure((1.2 + 1.75 * d, 1.0 + 1.6 * d))
        grid: Any = figure.subplots(d, d, squeeze=False)
        height = max(float(np.ptp(profile.distance)) for profile in data.profiles)
        for a, b in np.ndindex(d, d):
            if a == b:
                _draw_profile(grid[a, b], data.profiles[a], height)
            elif b < a:
                _draw_levels(grid[a, b], data.panels[a, b], marker=8.0)
            else:
                grid[a, b].axis("off")
            _outer_labels(grid[a, b], a, b, d)
            if data.profiles[b].column.role == NUMBER:
                grid[a, b].xaxis.set_major_locator(MaxNLocator(4))
        if d > 1:
            _matrix_legend(grid[0, -1], data)
    return figure


def _draw_levels(ax: Axes, data: LevelSets, marker: float) -> None:
    """Level sets, items as dots of this area, and the turning point with its interval."""
    from matplotlib.colors import LinearSegmentedColormap

    if len(data.levels):
        pale = LinearSegmentedColormap.from_list("pale", ["#C3D4E4", "white"])
        shades = [pale(share) for share in np.linspace(0, 1, len(data.levels) + 1)]
        plane = (data.xs, data.ys, data.distance)
        ax.contourf(*plane, levels=data.levels, colors=shades, extend="both")
        ax.contour(*plane, levels=data.levels, colors="#9DB0C2", linewidths=0.6, linestyles="-")
    else:
        words = "no difference here"
        ax.annotate(words, (0.5, 0.9), xycoords="axes fraction", ha="center", fontsize=8, color=GREY)
    # The best on top of the others.
    order = np.argsort(-data.ranks)
    xs, ys = data.points[order].T
    colours: Any = _rank_colours(data.ranks[order], len(order))
    dots = ax.scatter(xs, ys, s=marker, c=colours, edgecolors="white", linewidths=0.015 * marker, zorder=3)
    dots.set_rasterized(len(order) > 300)
    if data.inside:
        _draw_turning(ax, data, marker)
    if data.band is not None:
        _draw_band(ax, data.band)
    ax.set_xlim(data.xs[0], data.xs[-1])
    ax.set_ylim(data.ys[0], data.ys[-1])
    ax.set_xlabel(shown(data.axis_names[0]))
    ax.set_ylabel(shown(data.axis_names[1]))
    mark_values(ax.xaxis, data.columns[0], data.xs[0], data.xs[-1])
    mark_values(ax.yaxis, data.columns[1], data.ys[0], data.ys[-1])
    calm(ax)


def _draw_turning(ax: Axes, data: LevelSets, marker: float) -> None:
    """The turning point as a mark, its interval as a cross."""
    x, y = data.turning
    if data.interval is not None:
        ax.hlines(y, *data.interval[0], color=RED, linewidth=1.4, zorder=4)
        ax.vlines(x, *data.interval[1], color=RED, linewidth=1.4, zorder=4)
    mark, size = MARKS[data.kind], 40 + 3 * marker
    ax.scatter([x], [y], s=size, marker=mark, color=RED, edgecolors="white", linewidths=0.6, zorder=5)


def _draw_band(ax: Axes, band: Band) -> None:
    """Where one of the two features is best, as a line and its interval."""
    span, line = (ax.axvspan, ax.axvline) if band.axis == 0 else (ax.axhspan, ax.axhline)
    if band.ends is not None:
        span(*band.ends, color=RED, alpha=0.12, linewidth=0, zorder=1.5)
    line(band.value, color=RED, linewidth=1.2, zorder=1.6)


def _draw_axes(ax: Axes, data: LevelSets) -> None:
    """The eigenvectors as arrows both ways, through the ideal or the picture's middle."""
    from matplotlib.patches import FancyArrowPatch

    look: Any = {"arrowstyle": "-|>", "mutation_scale": 9, "color": GREY, "shrinkA": 0, "shrinkB": 0}
    for start, end in _arrows(data):
        ax.add_patch(FancyArrowPatch(tuple(start), tuple(end), zorder=2.5, **look))


def _lines(data: LevelSets) -> list[tuple[FloatArray, FloatArray]]:
    """Start and end of what labels had better not cover: arrows and the cross of the interval."""
    if data.interval is None or not data.inside:
        return _arrows(data)
    (left, right), (low, high), (x, y) = *data.interval, data.turning
    cross = [(np.array([left, y]), np.array([right, y])), (np.array([x, low]), np.array([x, high]))]
    return _arrows(data) + cross


def _arrows(data: LevelSets) -> list[tuple[FloatArray, FloatArray]]:
    """Start and end of each arrow."""
    centre = data.turning if data.inside else np.array([data.xs.mean(), data.ys.mean()])
    return [(centre, centre + sign * axis) for axis in data.axes for sign in (1, -1)]


def _draw_towards(ax: Axes, data: LevelSets) -> Annotation | None:
    """An arrow at the picture's edge where the ideal, or what is better, lies beyond it; its words."""
    if data.towards is None:
        return None
    edge = 0.5 + data.towards * 0.48 / np.abs(data.towards).max()
    tail = edge - 0.1 * data.towards
    ax.annotate(
        "",
        xy=tuple(edge),
        xytext=tuple(tail),
        xycoords="axes fraction",
        textcoords="axes fraction",
        arrowprops={"arrowstyle": "-|>", "color": RED, "linewidth": 2.0, "shrinkA": 0, "shrinkB": 0},
        zorder=6,
    )
    words = "better this way"
    if data.is_known and data.kind == "ideal":
        spreads = np.ptp(data.points, axis=0)
        where = [number(value, spread) for value, spread in zip(data.turning, spreads, strict=True)]
        what = "best for these two" if data.is_conditional else "ideal"
        words = f"{what} lies further this way\n(near {where[0]}, {where[1]})"
    dx, dy = data.towards
    return ax.annotate(
        words,
        xy=tuple(tail),
        xycoords="axes fraction",
        xytext=(-4 * np.sign(dx), -4 * np.sign(dy)),
        textcoords="offset points",
        ha="right" if dx > 0.3 else "left" if dx < -0.3 else "center",
        va="top" if dy > 0.3 else "bottom" if dy < -0.3 else "center",
        fontsize=8,
        color=RED,
        bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        zorder=6,
    )


def _legend(ax: Axes, data: LevelSets) -> None:
    """What the marks mean, below the picture."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    n = len(data.ranks)
    places = sorted({1, (n + 1) // 2, n})
    dots = [
        Line2D([], [], marker="o", linestyle="", color=colour, markersize=5, label=f"rank {place}")
        for place, colour in zip(places, _rank_colours(np.array(places), n), strict=True)
    ]
    marks = [
        Line2D([], [], marker=mark, color=RED, markersize=8, label=words) for mark, words in _marks(data)
    ]
    if len(data.axes):
        marks += [Line2D([], [], color=GREY, linewidth=1.2, label="arrows: longer matters more")]
    below = ax.transAxes + ScaledTranslation(0, -34 / 72, ax.figure.dpi_scale_trans)
    text: Any = {"frameon": False, "fontsize": 8, "handletextpad": 0.4, "borderaxespad": 0}
    left: Any = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below, **text}
    is_long = any(len(str(mark.get_label())) > LONGEST_MARK for mark in marks)
    if ax.bbox.width * 72 / ax.figure.dpi < WIDE or is_long:
        ax.legend(handles=[*dots, *marks], **left)
        return
    first = ax.legend(handles=dots, ncols=3, columnspacing=1.2, **left)
    if marks:
        ax.legend(handles=marks, **left | {"loc": "upper right", "bbox_to_anchor": (1, 0)})
        ax.add_artist(first)


def _marks(data: LevelSets) -> list[tuple[str, str]]:
    """The mark of the turning point, or of a band, and what it is."""
    its = f" and its {percent(data.level)} interval"
    if data.inside:
        words = mark_text(data).removeprefix("the ")
        return [(MARKS[data.kind], words + its * (data.interval is not None))]
    if data.band is None:
        return []
    words = (
        f"{data.band.turn} {shown(data.features[data.band.axis])}{' by the ideal alone' * data.is_average}"
    )
    return [("", words + its * (data.band.ends is not None))]


def _rank_colours(ranks: NDArray[np.int_], n: int) -> FloatArray:
    """Dark for the best, light for the worst."""
    from matplotlib import colormaps

    return np.asarray(colormaps["viridis"](0.95 * (ranks - 1) / max(n - 1, 1)))


def _label_best(ax: Axes, data: LevelSets, note: Annotation | None) -> None:
    """Names of the best few items beside their dots, where there is room for them."""
    from matplotlib import patheffects

    unit = ax.figure.dpi / 72
    frame = np.array(ax.bbox.extents) / unit
    dots = ax.transData.transform(data.points) / unit
    lines = [start + t * (end - start) for start, end in _lines(data) for t in np.linspace(0, 1, 20)]
    covered = np.concatenate([dots, ax.transData.transform(np.reshape(lines, (-1, 2))) / unit])
    costs = np.repeat([1.0, 0.3], [len(dots), len(lines)])
    taken = [] if note is None else [np.array(note.get_window_extent().extents) / unit]
    if data.inside:
        x, y = ax.transData.transform(data.turning) / unit
        taken.append(np.array([x - 7, y - 7, x + 7, y + 7]))
    for i in np.argsort(data.ranks)[:NAMED]:
        text = shown(data.names[i])
        place = free_place(dots[i], text_size(text), covered, costs, taken, frame)
        if place is None:
            continue
        taken.append(place)
        ax.annotate(
            text,
            xy=tuple(data.points[i]),
            xytext=tuple(place[:2] - dots[i]),
            textcoords="offset points",
            fontsize=8,
            color=INK,
            path_effects=[patheffects.withStroke(linewidth=2.5, foreground="white")],
            zorder=7,
        )


def _draw_profile(ax: Axes, data: Profile, height: float) -> None:
    """Distance along a feature, the ideal and its interval, and the items as a rug below."""
    if data.interval is not None:
        ax.axvspan(data.interval[0], data.interval[1], color=RED, alpha=0.15, linewidth=0)
    if data.xs[0] <= data.ideal <= data.xs[-1]:
        ax.axvline(data.ideal, color=RED, linewidth=1.2)
    ax.plot(data.xs, data.distance, color=BLUE, linewidth=1.6)
    low, height = float(data.distance.min()), height or 1.0
    ax.vlines(data.points, low - 0.12 * height, low - 0.05 * height, color=INK, linewidth=0.6, alpha=0.6)
    ax.set_ylim(low - 0.12 * height, low + 1.05 * height)
    ax.set_xlim(data.xs[0], data.xs[-1])
    ax.set_yticks([])
    mark_values(ax.xaxis, data.column, data.xs[0], data.xs[-1])
    ax.set_xlabel(shown(data.column.axis_name(data.feature)))
    ax.set_title(shown(data.feature), loc="left", fontsize=9)
    calm(ax)


def _outer_labels(ax: Axes, a: int, b: int, d: int) -> None:
    """Names and numbers at the matrix's left and lower edge only."""
    if b > 0:
        ax.set_ylabel("")
        ax.tick_params(labelleft=False)
    if a < d - 1:
        ax.set_xlabel("")
        ax.tick_params(labelbottom=False)


def _matrix_legend(ax: Axes, data: FeatureMatrix) -> None:
    """What the marks mean, where the matrix is empty."""
    from matplotlib.lines import Line2D

    panels = list(data.panels.values())
    what = "score" if panels[0].is_average else "distance"
    colours: Any = _rank_colours(np.array([1, 2]), 2)
    marks = [
        Line2D([], [], color=BLUE, linewidth=1.6, label=f"{what} (lower is better)"),
        Line2D([], [], marker="o", linestyle="", color=colours[0], markersize=4, label="best item"),
        Line2D([], [], marker="o", linestyle="", color=colours[1], markersize=4, label="worst item"),
    ]
    has_intervals = any(panel.interval is not None for panel in panels)
    interval = f", {percent(panels[0].level)} interval" * has_intervals
    for kind, what in dict.fromkeys((panel.kind, mark_text(panel)) for panel in panels if panel.inside):
        words = what.removeprefix("the ") + interval
        marks += [Line2D([], [], marker=MARKS[kind], color=RED, markersize=6, label=words)]
    if any(panel.band is not None for panel in panels):
        marks += [Line2D([], [], color=RED, linewidth=1.2, label=f"best of one feature{interval}")]
    legend = ax.legend(handles=marks, loc="upper right", frameon=False, fontsize=8, borderaxespad=0)
    legend.set_in_layout(False)
