"""How the pictures are drawn, with matplotlib."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coombs.data.tables import FloatArray, InputError, TableLike
from coombs.inference.posterior import LEVEL
from coombs.insights.plot_data import (
    At,
    Band,
    Feature,
    FeatureMatrix,
    LevelSets,
    Profile,
    feature_matrix_data,
    feature_names,
    level_sets_data,
    ranking_data,
    what_matters_data,
)
from coombs.render.labels import free_place, shown, text_size, wrapped
from coombs.words import in_words, number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

    from coombs.estimators.base import PairEstimator

# Okabe and Ito's blue and vermilion, and greys: told apart in print and by the colour-blind.
BLUE, RED, INK, GREY, FAINT = "#0072B2", "#D55E00", "#222222", "#555555", "#AAAAAA"
OTHER_SCRIPTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Noto Sans Arabic",
)
MARKS = {"ideal": "*", "worst": "X", "saddle": "D", "none": "."}
NAMED, MOST_BARS = 6, 20
"""Best items with a label, and features or directions with a bar."""
WIDE = 330.0
"""Points from which on two legends fit side by side."""


def level_sets(
    est: PairEstimator,
    x: Feature,
    y: Feature,
    *,
    items: TableLike = None,
    at: At = None,
    level: float = LEVEL,
    ax: Axes | None = None,
) -> Axes:
    """Draw lines of equal learned distance over two features, the items among them, and the ideal point.

    The ideal point is marked where the answers bear out that both features have a best value; where only one
    has, that is a band. The paper's estimators do not know how sure they are: theirs is marked in any case.

    Parameters
    ----------
    est : a fitted estimator
    x, y : features by name or position
    items : to show; by default the fitted ones
    at : values of the other features, for all features or by name; by default those of the ideal point as
        far as it can be guessed, or of the average item where there is none
    level : of the ideal point's interval
    ax : to draw in; by default that of a new figure, which is `ax.figure`
    """
    data = level_sets_data(est, x, y, items=items, at=at, level=level)
    with style():
        own, ax = ax is None, _new_axes(ax, (6.6, 5.6))
        _draw_levels(ax, data, marker=26 * min(1, (150 / len(data.ranks)) ** 0.5))
        _draw_axes(ax, data)
        note = _draw_towards(ax, data)
        _legend(ax, data, level)
        title = "" if len(data.base) == 2 else f"Other features at {data.others}"
        ax.set_title(title, loc="left", fontsize=9, color=GREY)
        if own:
            ax.get_figure().draw_without_rendering()  # type: ignore[union-attr]
        _label_best(ax, data, note)
    return ax


def ranking(
    est: PairEstimator,
    *,
    items: TableLike = None,
    top: int = 20,
    level: float = LEVEL,
    ax: Axes | None = None,
) -> Axes:
    """Draw the best items in order, each with the ranks it may have; their distances without a posterior."""
    data = ranking_data(est, items=items, top=top, level=level)
    places = np.arange(len(data.names))
    with style():
        from matplotlib.ticker import MaxNLocator

        ax = _new_axes(ax, (6.6, 1.1 + 0.24 * len(places)))
        if data.interval is not None:
            at, label = (
                data.ranks.astype(float),
                f"rank among {data.n_items}, with its {percent(level)} interval",
            )
            ax.hlines(places, *data.interval.T, color=BLUE, alpha=0.35, linewidth=5)
            right = max(float(data.interval.max()), len(places))
            ax.set_xlim(1 - 0.03 * right, right + 0.03 * right)
        else:
            nonnegative = data.distances.min() >= 0
            at = np.sqrt(data.distances) if nonnegative else data.distances
            label = "distance from the ideal point" if nonnegative else "score (less is better)"
        ax.plot(at, places, "o", color=BLUE, markersize=5)
        ax.set_yticks(places, [shown(name) for name in data.names])
        ax.set_ylim(len(places) - 0.4, -0.6)
        ax.set_xlabel(label)
        calm(ax)
        ax.xaxis.set_major_locator(MaxNLocator(integer=data.interval is not None))
        ax.grid(axis="x", color="#E6E6E6", linewidth=0.8)
        ax.tick_params(axis="y", length=0)
    return ax


def what_matters(
    est: PairEstimator,
    ax: Axes | None = None,
    *,
    items: TableLike = None,
    level: float = LEVEL,
    by: str = "features",
) -> Axes:
    """Draw how much each feature decides, and what is wanted of it.

    With by="directions", the shares of the metric's eigenvectors, the paper's feature interactions, in
    units of the features' spreads.
    """
    if by not in ("features", "directions"):
        raise InputError(f"by is {by!r}; it must be 'features' or 'directions'.")
    data = what_matters_data(est, items=items, level=level)
    if by == "features":
        bars, notes, ends = data.importance, data.wishes, data.interval
        labels = [wrapped(name) for name in data.features]
        title = f"share of what decides{f', with its {percent(level)} interval' if ends is not None else ''}"
    else:
        names = feature_names(est)
        bars, notes, ends = data.shares, ("",) * len(data.shares), None
        labels = [wrapped(in_words(direction, names)) for direction in data.directions]
        title = "share of what changes the distance"
    if len(bars) > MOST_BARS:
        title += f"; the {MOST_BARS} largest of {len(bars)}"
    shown_ends = None if ends is None else ends[:MOST_BARS]
    with style():
        ax = _new_axes(ax, (6.6, 1.0 + 0.5 * min(len(bars), MOST_BARS)))
        _draw_bars(ax, bars[:MOST_BARS], labels[:MOST_BARS], notes[:MOST_BARS], shown_ends)
        ax.set_xlabel(title)
    return ax


def feature_matrix(
    est: PairEstimator,
    *,
    features: Sequence[Feature] | None = None,
    items: TableLike = None,
    level: float = LEVEL,
) -> Figure:
    """Draw level sets for every two features, and on the diagonal how the distance changes along one.

    At most six features by default, the most important ones, and those first.
    """
    data = feature_matrix_data(est, features=features, items=items, level=level)
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
            grid[a, b].xaxis.set_major_locator(MaxNLocator(4))
        if d > 1:
            _matrix_legend(grid[0, -1], data, level)
    return figure


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


def _new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or those of a new figure."""
    return new_figure(size).subplots() if ax is None else ax


def calm(ax: Axes) -> None:
    """Fewer lines, and what is left of them grey."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(color=FAINT, labelsize=8)
    ax.set_axisbelow(True)


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
    ax.set_xlabel(shown(data.features[0]))
    ax.set_ylabel(shown(data.features[1]))
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


def _legend(ax: Axes, data: LevelSets, level: float) -> None:
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
        Line2D([], [], marker=mark, color=RED, markersize=8, label=words)
        for mark, words in _marks(data, level)
    ]
    if len(data.axes):
        marks += [Line2D([], [], color=GREY, linewidth=1.2, label="arrows: longer matters more")]
    below = ax.transAxes + ScaledTranslation(0, -34 / 72, ax.figure.dpi_scale_trans)
    text: Any = {"frameon": False, "fontsize": 8, "handletextpad": 0.4, "borderaxespad": 0}
    left: Any = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below, **text}
    if ax.bbox.width * 72 / ax.figure.dpi < WIDE:
        ax.legend(handles=[*dots, *marks], **left)
        return
    first = ax.legend(handles=dots, ncols=3, columnspacing=1.2, **left)
    if marks:
        ax.legend(handles=marks, **left | {"loc": "upper right", "bbox_to_anchor": (1, 0)})
        ax.add_artist(first)


def _marks(data: LevelSets, level: float) -> list[tuple[str, str]]:
    """The mark of the turning point, or of a band, and what it is."""
    its = f" and its {percent(level)} interval"
    if data.inside:
        return [(MARKS[data.kind], data.what.removeprefix("the ") + ("" if data.interval is None else its))]
    if data.band is None:
        return []
    return [
        (
            "",
            f"{data.band.turn} {shown(data.features[data.band.axis])}"
            + ("" if data.band.ends is None else its),
        )
    ]


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


def _draw_bars(
    ax: Axes, bars: FloatArray, labels: list[str], notes: Sequence[str], ends: FloatArray | None
) -> None:
    """Horizontal bars of shares with their intervals, a note to the right of each."""
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    places = np.arange(len(bars))
    ax.barh(places, bars, height=0.55, color=BLUE, alpha=0.85)
    right = bars if ends is None else np.maximum(bars, ends[:, 1])
    if ends is not None:
        ax.hlines(places, *ends.T, color=INK, linewidth=1.2)
    texts = [f"{percent(bar)}   {note}".strip() for bar, note in zip(bars, notes, strict=True)]
    for place, at, text in zip(places, right, texts, strict=True):
        ax.annotate(text, (at, place), (6, 0), textcoords="offset points", va="center", fontsize=8, color=INK)
    ax.set_yticks(places, labels)
    ax.set_ylim(len(bars) - 0.4, -0.6)
    longest = float(right.max(initial=0.05))
    ax.set_xticks([tick for tick in MaxNLocator(5).tick_values(0, longest) if 0 <= tick <= longest])
    ax.set_xlim(0, _room(ax, right, texts))
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    calm(ax)
    ax.tick_params(axis="y", length=0)


def _room(ax: Axes, ends: FloatArray, texts: Sequence[str]) -> float:
    """Where an axis must end for texts to fit to the right of these values, if they can."""
    width = ax.bbox.width * 72 / ax.figure.dpi
    shares = [max(1 - (text_size(text)[0] + 10) / width, 0.35) for text in texts]
    return float(max([0.05, *(ends / shares)]))


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
    ax.set_xlabel(shown(data.feature))
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


def _matrix_legend(ax: Axes, data: FeatureMatrix, level: float) -> None:
    """What the marks mean, where the matrix is empty."""
    from matplotlib.lines import Line2D

    colours: Any = _rank_colours(np.array([1, 2]), 2)
    marks = [
        Line2D([], [], color=BLUE, linewidth=1.6, label="distance (lower is better)"),
        Line2D([], [], marker="o", linestyle="", color=colours[0], markersize=4, label="best item"),
        Line2D([], [], marker="o", linestyle="", color=colours[1], markersize=4, label="worst item"),
    ]
    interval = f", {percent(level)} interval"
    intervals = any(panel.interval is not None for panel in data.panels.values())
    for kind, what in dict.fromkeys(
        (panel.kind, panel.what) for panel in data.panels.values() if panel.inside
    ):
        words = what.removeprefix("the ") + interval * intervals
        marks += [Line2D([], [], marker=MARKS[kind], color=RED, markersize=6, label=words)]
    if any(panel.band is not None for panel in data.panels.values()):
        marks += [
            Line2D([], [], color=RED, linewidth=1.2, label=f"best of one feature{interval * intervals}")
        ]
    legend = ax.legend(handles=marks, loc="upper right", frameon=False, fontsize=8, borderaxespad=0)
    legend.set_in_layout(False)
