"""Level sets over two features as the parts of an SVG: lines of equal liking, items, and the ideal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data.tables import FloatArray
from coombs.insights.level_sets import LevelSets, level_sets_data
from coombs.render.captions import map_text

if TYPE_CHECKING:
    from coombs.estimators.ideal_point import IdealPoint
    from coombs.insights.statements import FeatureVerdict

WIDTH, HEIGHT = 640, 440
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 14, 46
SIZE = 61
NAMED, MOST_DOTS = 5, 1_000
"""Best items that have a label, and items that have a dot."""
LONGEST, LETTER = 24, 7.6
"""Letters of a label, and how wide one is at most."""
# Corners of a cell in order around it, as (row, column).
_CORNERS = ((0, 0), (0, 1), (1, 1), (1, 0))

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""


class Line(NamedTuple):
    """A line of equal liking; `strength` is 1 for the best and near 0 for the worst."""

    path: str
    strength: float


class Label(NamedTuple):
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
    label: Label | None


class Tick(NamedTuple):
    """A mark on an axis."""

    at: float
    text: str


class Map(NamedTuple):
    """What a template draws."""

    x: str
    y: str
    lines: list[Line]
    dots: list[Dot]
    ideal: tuple[float, float] | None
    band: Box | None
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    sentence: str


def level_map(model: IdealPoint, x: str, y: str, verdicts: Sequence[FeatureVerdict] | None = None) -> Map:
    """The learned distance over two features; `verdicts` are those of the explanation, if it is there."""
    data = level_sets_data(model, x, y, size=SIZE, verdicts=verdicts)
    across = _scale(data.xs, LEFT, WIDTH - RIGHT)
    down = _scale(data.ys, HEIGHT - BOTTOM, TOP)
    count = max(len(data.levels), 1)
    lines = [
        Line(_path(data.distance, float(level), across, down), round(1 - k / count, 2))
        for k, level in enumerate(data.levels)
    ]
    places = [(_at(px, data.xs, across), _at(py, data.ys, down)) for px, py in data.points.tolist()]
    order = np.argsort(data.ranks)[:MOST_DOTS].tolist()
    labels = _labels([(places[i], data.names[i]) for i in order[:NAMED]])
    dots = [
        Dot(places[i][0], places[i][1], rank, data.names[i], labels[rank - 1] if rank <= NAMED else None)
        for rank, i in enumerate(order, 1)
    ][::-1]
    ideal = None
    if data.inside:
        ideal = _at(data.turning[0], data.xs, across), _at(data.turning[1], data.ys, down)
    return Map(
        *data.features,
        lines,
        dots,
        ideal,
        _band(data, across, down),
        _ticks(data.xs, across),
        _ticks(data.ys, down),
        map_text(data, "stronger the line", "cross"),
    )


def _band(data: LevelSets, across: FloatArray, down: FloatArray) -> Box | None:
    """Where one of the two features is best, from edge to edge of the picture."""
    if data.band is None:
        return None
    values, places = (data.xs, across) if data.band.axis == 0 else (data.ys, down)
    low, high = sorted(_at(end, values, places) for end in data.band.ends or [data.band.value] * 2)
    if data.band.axis == 0:
        return low, TOP, max(high, low + 1), HEIGHT - BOTTOM
    return LEFT, low, WIDTH - RIGHT, max(high, low + 1)


def _labels(dots: list[tuple[tuple[float, float], str]]) -> list[Label | None]:
    """A label for each dot where none covers another, and for the first, the best item, in any case."""
    labels: list[Label | None] = []
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


def _label(text: str, box: Box, x: float) -> Label:
    """A label in its box, which ends at the dot if it is to its left."""
    baseline = round((box[1] + box[3]) / 2 + 4, 1)
    if box[2] <= x - 9:
        return Label(text, round(x - 9, 1), baseline, "end")
    return Label(text, round(box[0], 1), baseline, "start")


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _scale(values: FloatArray, first: float, last: float) -> FloatArray:
    return np.linspace(first, last, len(values))


def _at(value: float, values: FloatArray, places: FloatArray) -> float:
    share = (float(value) - values[0]) / (values[-1] - values[0])
    return round(float(places[0] + share * (places[-1] - places[0])), 1)


def _ticks(values: FloatArray, places: FloatArray, count: int = 5) -> list[Tick]:
    """At round numbers."""
    low, high = float(values[0]), float(values[-1])
    raw = (high - low) / count
    power = 10.0 ** np.floor(np.log10(raw))
    step = float(power * min((1, 2, 2.5, 5, 10), key=lambda m: abs(m * power - raw)))
    marks = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)) + (step / power == 2.5))
    return [
        Tick(_at(mark, values, places), f"{mark + 0.0:,.{decimals}f}".replace(",", " ")) for mark in marks
    ]


def _path(grid: FloatArray, level: float, across: FloatArray, down: FloatArray) -> str:
    """The line of a level, cell by cell (marching squares)."""
    above = grid > level
    parts = []
    for row, column in np.argwhere(_crossed(above)).tolist():
        points = _crossings(grid, level, row, column, across, down)
        for one, other in zip(points[::2], points[1::2], strict=False):
            parts.append(f"M{one[0]:.1f} {one[1]:.1f}L{other[0]:.1f} {other[1]:.1f}")
    return "".join(parts)


def _crossed(above: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Cells that the line goes through."""
    total = above[:-1, :-1] * 1 + above[:-1, 1:] + above[1:, 1:] + above[1:, :-1]
    return (total > 0) & (total < 4)


def _crossings(
    grid: FloatArray, level: float, row: int, column: int, across: FloatArray, down: FloatArray
) -> list[tuple[float, float]]:
    """Where the line meets the sides of a cell."""
    points = []
    for (r, c), (s, d) in zip(_CORNERS, _CORNERS[1:] + _CORNERS[:1], strict=True):
        first, second = grid[row + r, column + c], grid[row + s, column + d]
        if (first > level) != (second > level):
            t = (level - first) / (second - first)
            points.append(
                (
                    float((1 - t) * across[column + c] + t * across[column + d]),
                    float((1 - t) * down[row + r] + t * down[row + s]),
                )
            )
    return points
