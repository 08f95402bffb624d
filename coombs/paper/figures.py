"""Curves with quartiles against the number of comparisons, in colours that all can tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from coombs.render.canvas import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINES = ("-", "--", ":", "-.")
MARKS = ("o", "s", "^", "D")
MOST_COLUMNS = 3
"""Panels side by side."""
MOST_ERROR = 1.5
"""Where an axis of errors ends, so that a few wild trials do not hide the rest."""
LABELS = {
    "ur": "UR error",
    "wer": "WER error",
    "wer_authors": "WER error, not squared (authors' code)",
    "kendall": "Kendall tau distance",
    "kendall_authors": '"Kendall tau" of the authors\' code',
    "top5": "share of the top 5",
    "top10": "share of the top 10",
    "top20": "share of the top 20",
    **{f"top{k}": f"share of the top {k} (mean, deviation)" for k in (11, 17, 22)},
    "kendall11": "Kendall tau distance of the top 11",
}


def curves(cells: Sequence[Mapping[str, Any]], panels: Sequence[str], estimators: Sequence[str]) -> Figure:
    """A panel for each measure; a line for each estimator and number of features."""
    columns = min(len(panels), MOST_COLUMNS)
    rows = -(-len(panels) // columns)
    figure = new_figure((max(3.9 * columns, 6.0), 3.3 * rows + 0.4))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    features = list(dict.fromkeys(cell["d"] for cell in cells))
    for ax, measure in zip(axes, panels, strict=False):
        for i, name in enumerate(estimators):
            for j, d in enumerate(features):
                part = [cell for cell in cells if cell["estimator"] == name and cell["d"] == d]
                several = len(features) > 1
                _curve(ax, part, measure, j if several else i, i, f"{name}, d = {d}" if several else name)
        _finish(ax, measure)
    for spare in axes[len(panels) :]:
        spare.set_visible(False)
    legend(figure, axes[0], 2 * columns)
    return figure


def _curve(
    ax: Axes, part: Sequence[Mapping[str, Any]], measure: str, colour: int, line: int, label: str
) -> None:
    answers = [cell["answers"] for cell in part]
    middle, low, high = ([cell[measure][key] for cell in part] for key in ("median", "low", "high"))
    shade, dashes, mark = COLOURS[colour % len(COLOURS)], LINES[line % len(LINES)], MARKS[line % len(MARKS)]
    ax.plot(answers, middle, dashes, color=shade, marker=mark, markersize=3.5, linewidth=1.4, label=label)
    ax.fill_between(answers, low, high, color=shade, alpha=0.12, linewidth=0)


def _finish(ax: Axes, measure: str) -> None:
    ax.set_xlabel("comparisons")
    ax.set_title(LABELS[measure], fontsize=10, loc="left")
    ax.set_ylim(bottom=0, top=1.02 if measure.startswith("top") else None)
    if measure in ("ur", "wer", "wer_authors"):
        ax.set_ylim(0, min(MOST_ERROR, ax.get_ylim()[1]))
    light_frame(ax)


def light_frame(ax: Axes) -> None:
    """A pale grid, and no lines above and to the right."""
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)


def legend(figure: Figure, ax: Axes, most_columns: int) -> None:
    """Below the figure, of what one of its panels shows."""
    handles, labels = ax.get_legend_handles_labels()
    columns = min(most_columns, len(labels))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
