"""Many people, drawn from their records: a map, a band of the population, agreement, the consensus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.render.canvas import BLUE, FAINT, GREY, INK, PALE, RED, axes_in, calm, mark_values, shown, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from coombs.insights.people_pictures import ConsensusPlaces, PeopleAgreement, PeopleBand, PeopleMap

# Okabe and Ito's colours, from dark to light by turns, so that neighbours are told apart without colour too.
GROUP_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")
"""Colours of the groups; more than eight groups begin again."""
GROUP_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Signs of the groups, with which they print in black and white."""
WIDTH = 6.6
"""Inches of a figure."""
MOST_FEATURES = 20
"""Features in a band, at most."""
NAMED_ROWS = 40
"""People up to whom each has a name beside a picture of agreement."""


def draw_people_map(data: PeopleMap, ax: Axes | None = None) -> Axes:
    """People as dots by two features, a sign and a colour for each group; large signs are the medians."""
    with style():
        ax = axes_in(ax, (WIDTH, 5.2))
        size = 34 * min(1.0, (120 / max(len(data.names), 1)) ** 0.5)
        for g, mean in enumerate(data.means):
            own = data.points[data.groups == g + 1]
            look: Any = {"marker": GROUP_MARKS[g % 8], "color": GROUP_COLOURS[g % 8]}
            label = f"group {g + 1} ({len(own)})" if len(data.means) > 1 else f"people ({len(own)})"
            ax.scatter(
                own[:, 0],
                own[:, 1],
                s=size,
                alpha=0.6,
                linewidths=0.4,
                edgecolors="white",
                label=label,
                zorder=3,
                **look,
            )
            if len(data.means) > 1 and np.isfinite(mean).all():
                look |= {"edgecolors": INK, "linewidths": 1.4, "alpha": 1.0}
                ax.scatter(mean[:1], mean[1:], s=150, zorder=5, **look)
        if not data.is_ideal:
            ax.axhline(0, color=FAINT, linewidth=0.8, zorder=1)
            ax.axvline(0, color=FAINT, linewidth=0.8, zorder=1)
        ax.set_xlim(*data.limits[0])
        ax.set_ylim(*data.limits[1])
        for axis, name, column, ends in (
            (ax.xaxis, data.features[0], data.columns[0], data.limits[0]),
            (ax.yaxis, data.features[1], data.columns[1], data.limits[1]),
        ):
            axis.set_label_text(
                shown(column.axis_name(name)) if data.is_ideal else f"weight of {shown(name)} (logits)"
            )
            mark_values(axis, column, *ends)
        calm(ax)
        if len(data.means) > 1:
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)
    return ax


def draw_people_band(data: PeopleBand, ax: Axes | None = None) -> Axes:
    """A row a feature: where 90 % and 50 % of people are, their median, and the mean with its interval."""
    some = slice(MOST_FEATURES)
    quantiles, places = data.quantiles[some], np.arange(len(data.quantiles[some]))
    with style():
        ax = axes_in(ax, (WIDTH, 1.5 + 0.42 * len(places)))
        ax.axvline(0, color=FAINT, linewidth=0.9, zorder=1)
        ax.hlines(places, quantiles[:, 0], quantiles[:, 4], color=BLUE, alpha=0.25, linewidth=9, zorder=2)
        ax.hlines(places, quantiles[:, 1], quantiles[:, 3], color=BLUE, alpha=0.6, linewidth=9, zorder=2)
        ax.plot(quantiles[:, 2], places, "|", color="white", markersize=9, markeredgewidth=2, zorder=3)
        ax.hlines(places, *data.ends[some].T, color=RED, linewidth=1.6, zorder=4)
        ax.plot(data.mean[some], places, "o", color=RED, markersize=4, zorder=4)
        ax.set_yticks(places, [shown(name) for name in data.features[some]])
        ax.set_ylim(len(places) - 0.4, -0.6)
        ax.set_xlabel("weight: utility gained by a deviation of the feature (logits)")
        calm(ax)
        ax.grid(axis="x", color=PALE, linewidth=0.8)
        ax.tick_params(axis="y", length=0)
        _band_legend(ax)
    return ax


def _band_legend(ax: Axes) -> None:
    """What the bars and dots are, below the picture."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks = [
        Patch(color=BLUE, alpha=0.25, label="90 % of people"),
        Patch(color=BLUE, alpha=0.6, label="50 % of people"),
        Line2D([], [], color=RED, marker="o", markersize=4, linewidth=1.6, label="mean, 90 % interval"),
    ]
    ax.legend(handles=marks, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=8)


def draw_people_agreement(data: PeopleAgreement, ax: Axes | None = None) -> Axes:
    """A square of people by people, in the order of their groups, which lines divide."""
    n = len(data.names)
    with style():
        ax = axes_in(ax, (WIDTH, 5.6))
        picture = ax.imshow(data.agreement, cmap="cividis", vmin=0, vmax=1, interpolation="nearest")
        changes = np.flatnonzero(np.diff(data.groups)) + 0.5
        for at in changes:
            ax.axhline(at, color="white", linewidth=1.6)
            ax.axvline(at, color="white", linewidth=1.6)
        ends = np.concatenate([[-0.5], changes, [n - 0.5]])
        middles = (ends[1:] + ends[:-1]) / 2
        found = data.groups[np.ceil(ends[:-1]).astype(int)]
        if n <= NAMED_ROWS:
            ax.set_yticks(np.arange(n), [shown(name, 16) for name in data.names], fontsize=7)
            ax.set_xticks([])
        else:
            ax.set_yticks([])
        if len(found) > 1:
            ax.set_xticks(middles, [f"group {g}" for g in found])
        elif n > NAMED_ROWS:
            ax.set_xticks([])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        bar = ax.get_figure().colorbar(picture, ax=ax, shrink=0.8)  # type: ignore[union-attr]
        bar.set_label("share of pairs of items that both rank alike", color=GREY)
        bar.outline.set_visible(False)
    return ax


def draw_consensus_ranking(data: ConsensusPlaces, ax: Axes | None = None) -> Axes:
    """A row an item, best first: where 90 % and 50 % of people place it, and its mean place."""
    places = np.arange(len(data.items))
    with style():
        from matplotlib.ticker import MaxNLocator

        ax = axes_in(ax, (WIDTH, 1.4 + 0.26 * len(places)))
        quantiles = data.quantiles
        ax.hlines(places, quantiles[:, 0], quantiles[:, 4], color=BLUE, alpha=0.25, linewidth=6)
        ax.hlines(places, quantiles[:, 1], quantiles[:, 3], color=BLUE, alpha=0.6, linewidth=6)
        ax.plot(data.mean, places, "o", color=RED, markersize=4, zorder=3)
        ax.set_yticks(places, [shown(name) for name in data.items])
        ax.set_ylim(len(places) - 0.4, -0.6)
        ax.set_xlim(1 - 0.03 * data.n_items, data.n_items + 0.03 * data.n_items)
        ax.set_xlabel(f"place among {data.n_items}: of 90 % of people, of 50 %, and the mean (dot)")
        calm(ax)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(axis="x", color=PALE, linewidth=0.8)
        ax.tick_params(axis="y", length=0)
    return ax
