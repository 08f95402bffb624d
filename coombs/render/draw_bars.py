"""How much each feature decides, and the best items, drawn from their records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.tables import FloatArray
from coombs.render.canvas import BLUE, INK, PALE, axes_in, calm, shown, style, text_size, wrapped
from coombs.words import LESS_IS_BETTER, in_words, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from coombs.insights.what_matters import Ranking, WhatMatters

MOST_BARS = 20
"""Features or directions with a bar, at most."""
WIDTH = 6.6
"""Inches of a figure."""


def draw_ranking(data: Ranking, ax: Axes | None = None) -> Axes:
    """The best items in order, each with the ranks it may have; their distances without a posterior."""
    places = np.arange(len(data.names))
    with style():
        from matplotlib.ticker import MaxNLocator

        ax = axes_in(ax, (WIDTH, 1.1 + 0.24 * len(places)))
        if data.interval is not None:
            at = data.ranks.astype(float)
            label = f"rank among {data.n_items}, with its {percent(data.level)} interval"
            ax.hlines(places, *data.interval.T, color=BLUE, alpha=0.35, linewidth=5)
            right = max(float(data.interval.max()), len(places))
            ax.set_xlim(1 - 0.03 * right, right + 0.03 * right)
        else:
            nonnegative = data.distances.min() >= 0
            at = np.sqrt(data.distances) if nonnegative else data.distances
            label = "distance from the ideal point" if nonnegative else LESS_IS_BETTER
        ax.plot(at, places, "o", color=BLUE, markersize=5)
        ax.set_yticks(places, [shown(name) for name in data.names])
        ax.set_ylim(len(places) - 0.4, -0.6)
        ax.set_xlabel(label)
        calm(ax)
        ax.xaxis.set_major_locator(MaxNLocator(integer=data.interval is not None))
        ax.grid(axis="x", color=PALE, linewidth=0.8)
        ax.tick_params(axis="y", length=0)
    return ax


def draw_what_matters(data: WhatMatters, ax: Axes | None = None, by: str = "features") -> Axes:
    """Bars of how much each feature decides, with what is wanted of it; or of the metric's eigenvectors."""
    if by == "features":
        bars, notes, ends = data.importance, data.wishes, data.interval
        labels = [wrapped(name) for name in data.features]
        title = f"share of what decides{f', with its {percent(data.level)} interval' * (ends is not None)}"
    else:
        bars, notes, ends = data.shares, ("",) * len(data.shares), None
        labels = [wrapped(in_words(direction, data.names)) for direction in data.directions]
        title = "share of what changes the distance"
    if len(bars) > MOST_BARS:
        title += f"; the {MOST_BARS} largest of {len(bars)}"
    some = slice(MOST_BARS)
    with style():
        ax = axes_in(ax, (WIDTH, 1.0 + 0.5 * min(len(bars), MOST_BARS)))
        _draw_bars(ax, bars[some], labels[some], notes[some], None if ends is None else ends[some])
        ax.set_xlabel(title)
    return ax


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
