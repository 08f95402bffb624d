"""Pictures of many people as the parts of SVGs: a map, bands of features, and how far people agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.data.encoding import NOT_KNOWN
from coombs.language import Translatable
from coombs.render.people_html import map_caption
from coombs.web.pages.level_map import BOTTOM, HEIGHT, LEFT, LETTER, RIGHT, ROOM, TOP, WIDTH, MapAxis

if TYPE_CHECKING:
    from coombs.insights.people_pictures import ConsensusPlaces, PeopleAgreement, PeopleBand, PeopleMap

SIGNS = (
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z",
    "M-4.5 -4.5h9v9h-9Z",
    "M0 -6L5.6 4.4H-5.6Z",
    "M0 -6.4L5.4 0L0 6.4L-5.4 0Z",
    "M0 6L5.6 -4.4H-5.6Z",
    "M-2 -5.5h4v3.5h3.5v4h-3.5v3.5h-4v-3.5h-3.5v-4h3.5Z",
    "M-5.5 -3.5L-3.5 -5.5L0 -2L3.5 -5.5L5.5 -3.5L2 0L5.5 3.5L3.5 5.5L0 2L-3.5 5.5L-5.5 3.5L-2 0Z",
    "M0 -6.5L1.8 -2H6.3L2.8 1.2L4 6L0 3.2L-4 6L-2.8 1.2L-6.3 -2H-1.8Z",
)
"""Outlines of the groups' signs, about the origin; more than eight groups begin again."""
MOST_CELLS = 40
"""People along an edge of the picture of agreement."""
MOST_DOTS = 1_000
"""People on the map."""
CELL = 10
"""Edge of a cell in that picture, in its units."""


class Sign(NamedTuple):
    """A person on the map, or the middle of a group; `look` is the number of the sign and colour, from 1."""

    x: float
    y: float
    look: int
    name: str


class PeopleMapSvg(NamedTuple):
    """What a template draws of a map; `zero` are the places of no weight, None of ideals."""

    axes: tuple[str, str]
    more: float
    signs: list[Sign]
    middles: list[Sign]
    zero: tuple[float, float] | None
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    caption: tuple[str, ...]


class BandRow(NamedTuple):
    """A feature: where 90 % and 50 % of people, the mean and zero are, from 0 to 100."""

    feature: str
    wide: tuple[float, float]
    half: tuple[float, float]
    mean: float
    zero: float


class AgreementSvg(NamedTuple):
    """Cells by row (x, y, strength), the edges of groups, the size of the picture, and means by group."""

    cells: list[tuple[int, int, float]]
    edges: list[int]
    size: int
    groups: list[int]
    means: list[list[float | None]]
    n_shown: int


class PlaceRow(NamedTuple):
    """An item of the consensus: its mean place, and where half of the people place it, from 0 to 100."""

    rank: int
    item: str
    mean: float
    low: float
    high: float
    left: float
    width: float


def look(group: int) -> int:
    """The number of a group's sign and colour, from 1."""
    return (group - 1) % len(SIGNS) + 1


def people_map_svg(data: PeopleMap) -> PeopleMapSvg:
    """A dot a person."""
    (left, right), (low, high) = data.limits.tolist()
    across, down = MapAxis(left, right, LEFT, WIDTH - RIGHT), MapAxis(low, high, HEIGHT - BOTTOM, TOP)
    some = np.linspace(0, len(data.names) - 1, min(len(data.names), MOST_DOTS)).astype(int)
    signs = [
        Sign(
            across.at(data.points[k, 0]), down.at(data.points[k, 1]), look(int(data.groups[k])), data.names[k]
        )
        for k in some
    ]
    middles = [
        Sign(across.at(x), down.at(y), look(g), Translatable("the middle of group {number}", number=g))
        for g, (x, y) in enumerate(data.means.tolist(), 1)
        if len(data.means) > 1 and np.isfinite([x, y]).all()
    ]
    zero = None if data.is_ideal else (across.at(0.0), down.at(0.0))
    names = [column.axis_name(name) for name, column in zip(data.features, data.columns, strict=True)]
    first, second = (
        names if data.is_ideal else [Translatable("weight of {feature}", feature=one) for one in names]
    )
    ticks = across.ticks(data.columns[0]), down.ticks(data.columns[1])
    more = max(0.0, LETTER * max((len(text) for _, text in ticks[1]), default=0) - ROOM)
    return PeopleMapSvg((first, second), more, signs, middles, zero, *ticks, map_caption(data))


def band_rows(data: PeopleBand) -> list[BandRow]:
    """All features on one scale, but for what single items are worth of which some cell is not known."""
    shown = [k for k, name in enumerate(data.features) if not name.startswith(f"{NOT_KNOWN}: ")]
    quantiles, ends = data.quantiles[shown], data.ends[shown]
    low, high = float(min(quantiles.min(), ends.min())), float(max(quantiles.max(), ends.max()))
    low, high = min(0.0, low), max(0.0, high)

    def at(value: float) -> float:
        return round(100 * (float(value) - low) / max(high - low, 1e-9), 2)

    return [
        BandRow(data.features[k], (at(q[0]), at(q[4])), (at(q[1]), at(q[3])), at(data.mean[k]), at(0.0))
        for k, q in zip(shown, quantiles, strict=True)
    ]


def agreement_svg(data: PeopleAgreement) -> AgreementSvg:
    """Some people in the order of their groups, and the mean agreement of groups."""
    n = len(data.names)
    some = np.linspace(0, n - 1, min(n, MOST_CELLS)).astype(int)
    matrix, groups = data.agreement[np.ix_(some, some)], data.groups[some]
    cells = [
        (CELL * j, CELL * i, round(float(matrix[i, j]) ** 2, 2)) for i, j in np.ndindex(len(some), len(some))
    ]
    edges = [CELL * (int(k) + 1) for k in np.flatnonzero(np.diff(groups))]
    found = sorted({*data.groups.tolist()})
    return AgreementSvg(cells, edges, CELL * len(some), found, _means(data, found), len(some))


def _means(data: PeopleAgreement, groups: list[int]) -> list[list[float | None]]:
    """Mean agreement of different people, by their groups."""
    off = ~np.eye(len(data.names), dtype=bool)
    found: list[list[float | None]] = []
    for one in groups:
        row: list[float | None] = []
        for other in groups:
            pairs = np.outer(data.groups == one, data.groups == other) & off
            row.append(float(data.agreement[pairs].mean()) if pairs.any() else None)
        found.append(row)
    return found


def place_rows(data: ConsensusPlaces) -> list[PlaceRow]:
    """The items, best first."""
    n = max(data.n_items, 1)
    return [
        PlaceRow(
            rank,
            item,
            float(mean),
            float(q[1]),
            float(q[3]),
            round(100 * (float(q[1]) - 1) / n, 2),
            round(max(100 * (float(q[3]) - float(q[1]) + 1) / n, 1.5), 2),
        )
        for rank, (item, mean, q) in enumerate(zip(data.items, data.mean, data.quantiles, strict=True), 1)
    ]
