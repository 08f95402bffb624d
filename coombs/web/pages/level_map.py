"""Level sets over two features as the parts of an SVG: lines of equal liking, items, and the ideal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from coombs.data.encoding import FeatureColumn
from coombs.data.tables import FloatArray, ItemTable
from coombs.insights.columns import axis_ticks
from coombs.insights.level_sets import level_sets_data
from coombs.insights.maps import LevelSets
from coombs.language import NumberText, Translatable
from coombs.render.captions import map_text

if TYPE_CHECKING:
    from coombs.estimators.ideal_point import IdealPoint
    from coombs.insights.statements import FeatureVerdict

WIDTH = 640
"""Width of the picture, in its units."""
HEIGHT = 440
"""Height of the picture, in its units."""
LEFT = 58
"""Margin, with the labels of the vertical axis."""
RIGHT = 14
"""Margin."""
TOP = 14
"""Margin."""
BOTTOM = 46
"""Margin, with the labels of the horizontal axis."""
GRID_SIZE = 61
"""Points along each axis at which the distance is computed, at most."""
NAMED = 5
"""Best items that have a label."""
MOST_DOTS = 1_000
"""Items that have a dot."""
LONGEST = 24
"""Letters of a label."""
ROOM = 50
"""For labels of the vertical axis, beside its name, in the picture's units."""
LETTER = 7.6
"""Width of a letter at most, in the picture's units."""

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""


class MapAxis(NamedTuple):
    """An axis: the lowest and highest value, and where in the picture these are."""

    low: float
    high: float
    first: float
    last: float

    def at(self, value: float) -> float:
        """Where a value is in the picture."""
        share = (float(value) - self.low) / (self.high - self.low)
        return round(float(self.first + share * (self.last - self.first)), 1)

    def ticks(self, column: FeatureColumn, count: int = 5) -> list[tuple[float, str]]:
        """About so many round numbers, or levels or dates, and where they are."""
        special = axis_ticks(column, self.low, self.high, count - 1)
        if special is not None:
            return [(self.at(place), text) for place, text in special]
        raw = (self.high - self.low) / count
        power = 10.0 ** np.floor(np.log10(raw))
        step = float(power * min((1, 2, 2.5, 5, 10), key=lambda m: abs(m * power - raw)))
        marks = np.arange(np.ceil(self.low / step), np.floor(self.high / step) + 1) * step
        decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)) + (step / power == 2.5))
        return [
            (self.at(mark), NumberText(f"{mark + 0.0:,.{decimals}f}".replace(",", " "))) for mark in marks
        ]


class DotLabel(NamedTuple):
    """A name beside a dot; `anchor` says which end of it is at x."""

    text: str
    x: float
    y: float
    anchor: str


class Dot(NamedTuple):
    """An item, with a label if it is the best, or one of the best and there is room."""

    x: float
    y: float
    rank: int
    name: str
    label: DotLabel | None


class LevelMap(NamedTuple):
    """What a template draws.

    A line is a path and its strength, 1 for the best and near 0 for the worst; a tick is a place and a text.
    `axes` are the names of the axes, with units; `more` is the room that long labels need at the left.
    """

    x: str
    y: str
    axes: tuple[str, str]
    more: float
    lines: list[tuple[str, float]]
    dots: list[Dot]
    ideal: tuple[float, float] | None
    band: Box | None
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    sentence: str


def level_map(
    model: IdealPoint,
    x: str,
    y: str,
    verdicts: Sequence[FeatureVerdict] | None = None,
    items: ItemTable | None = None,
) -> LevelMap:
    """The learned distance over two features; `verdicts` are those of the explanation, if it is there.

    `items` are drawn, by default all that were fitted.
    """
    data = level_sets_data(model, x, y, items=items, size=GRID_SIZE, verdicts=verdicts)
    across = MapAxis(data.xs[0], data.xs[-1], LEFT, WIDTH - RIGHT)
    down = MapAxis(data.ys[0], data.ys[-1], HEIGHT - BOTTOM, TOP)
    count = max(len(data.levels), 1)
    lines = [
        (_path(data.distance, float(level), across, down), round(1 - k / count, 2))
        for k, level in enumerate(data.levels)
    ]
    ideal = (across.at(data.turning[0]), down.at(data.turning[1])) if data.inside else None
    dots, band = _dots(data, across, down), _band(data, across, down)
    ticks = across.ticks(data.columns[0]), down.ticks(data.columns[1])
    more = max(0.0, LETTER * max((len(text) for _, text in ticks[1]), default=0) - ROOM)
    sentence = map_text(data, Translatable("stronger the line"), Translatable("cross"))
    return LevelMap(*data.features, data.axis_names, more, lines, dots, ideal, band, *ticks, sentence)


def _dots(data: LevelSets, across: MapAxis, down: MapAxis) -> list[Dot]:
    """The items, the best last, so that it is drawn above the others."""
    order = np.argsort(data.ranks)[:MOST_DOTS]
    ranks = data.ranks[order].tolist()
    places = [(across.at(x), down.at(y)) for x, y in data.points[order].tolist()]
    names = [data.names[i] for i in order]
    labels = _labels(list(zip(places, names, strict=True))[:NAMED])
    rows = zip_longest(ranks, places, names, labels)
    return [Dot(x, y, rank, name, label) for rank, (x, y), name, label in rows][::-1]


def _band(data: LevelSets, across: MapAxis, down: MapAxis) -> Box | None:
    """Where one of the two features is best, from edge to edge of the picture."""
    if data.band is None:
        return None
    axis = across if data.band.axis == 0 else down
    low, high = sorted(axis.at(end) for end in data.band.ends or [data.band.value] * 2)
    if data.band.axis == 0:
        return low, TOP, max(high, low + 1), HEIGHT - BOTTOM
    return LEFT, low, WIDTH - RIGHT, max(high, low + 1)


def _labels(dots: list[tuple[tuple[float, float], str]]) -> list[DotLabel | None]:
    """A label for each dot where none covers another, and for the first, the best item, in any case."""
    labels: list[DotLabel | None] = []
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for (x, y), _ in dots]
    for rank, ((x, y), name) in enumerate(dots, 1):
        text = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
        boxes = list(_boxes(x, y, LETTER * len(text)))
        free = [box for box in boxes if not any(_overlap(box, other) for other in taken)]
        if not free and rank > 1:
            labels.append(None)
            continue
        chosen = free[0] if free else min(boxes, key=lambda box: sum(_overlap(box, one) for one in taken))
        taken.append(chosen)
        labels.append(_label(text, chosen, x))
    return labels


def _boxes(x: float, y: float, width: float) -> Iterator[Box]:
    """Where a label of a dot may be: to its right, left, above or below, moved until it is in the picture."""
    right, left, middle = x + 9, x - 9 - width, min(max(x - width / 2, LEFT), WIDTH - RIGHT - width)
    if right + width <= WIDTH - RIGHT:
        yield right, y - 8, right + width, y + 8
    if left >= LEFT:
        yield left, y - 8, left + width, y + 8
    yield middle, y - 23, middle + width, y - 7
    yield middle, y + 7, middle + width, y + 23


def _label(text: str, box: Box, x: float) -> DotLabel:
    """A label in its box, which ends at the dot if it is to its left."""
    baseline = round((box[1] + box[3]) / 2 + 4, 1)
    if box[2] <= x - 9:
        return DotLabel(text, round(x - 9, 1), baseline, "end")
    return DotLabel(text, round(box[0], 1), baseline, "start")


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _path(grid: FloatArray, level: float, across: MapAxis, down: MapAxis) -> str:
    """The line of a level, cell by cell (marching squares)."""
    xs, ys = (np.linspace(axis.first, axis.last, len(grid)) for axis in (across, down))
    # x, y and the distance at each corner; then the four corners around each cell, in order.
    nodes = np.stack([*np.meshgrid(xs, ys), grid])
    corners = np.stack([nodes[:, :-1, :-1], nodes[:, :-1, 1:], nodes[:, 1:, 1:], nodes[:, 1:, :-1]], axis=-1)
    following = np.roll(corners, -1, axis=-1)
    crossed = (corners[2] > level) != (following[2] > level)
    start, end = corners[:, crossed], following[:, crossed]
    share = (level - start[2]) / (end[2] - start[2])
    segments = (start + share * (end - start))[:2].T.reshape(-1, 4).tolist()
    return "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in segments)
