"""What there is to know of two items or more, row by row: features in the user's numbers, their details."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from coombs.data.catalogue import Catalogue
from coombs.data.encoding import CATEGORY, LOG, NUMBER, FeatureColumn
from coombs.words import numbers, with_unit


class ComparisonRow(NamedTuple):
    """A feature, or a detail, of all the items.

    `shares` say where a feature's values are among those of all items, from the lowest, 0, to the highest, 1;
    of a detail they are None.
    """

    label: str
    texts: tuple[str, ...]
    shares: tuple[float, ...] | None

    @property
    def differs(self) -> bool:
        """Whether the items differ in it."""
        return len(set(self.texts)) > 1


def comparison_rows(items: Catalogue, positions: Sequence[int]) -> list[ComparisonRow]:
    """The features of some items, then their details."""
    values, (lowest, highest) = items.table.matrix[list(positions)], items.feature_range
    shares = (values - lowest) / np.where(highest > lowest, highest - lowest, 1.0)
    encoding = items.table.encoding
    columns = [FeatureColumn(name) for name in items.features] if encoding is None else encoding.columns
    blocks = [(j,) for j in range(len(columns))] if encoding is None else encoding.blocks
    known = {} if encoding is None else encoding.cells(values)
    features = []
    for column, block in zip(columns, blocks, strict=False):
        if column.gaps_of:
            continue
        cells = known.get(column.name, values[:, block[0]])
        texts = _texts(column, cells.tolist() if column.role in (NUMBER, LOG) else list(cells))
        places = tuple(shares[:, block[0]].tolist())
        has_place = column.role != CATEGORY and None not in cells.tolist()
        features.append(ComparisonRow(column.name, texts, places if has_place else None))
    details = [items.details[position] for position in positions]
    names = dict.fromkeys(name for each in details for name in each)
    return features + [
        ComparisonRow(name, tuple(each.get(name, "") for each in details), None) for name in names
    ]


def _texts(column: FeatureColumn, cells: Sequence[Any]) -> tuple[str, ...]:
    """Cells as people read them: numbers with their unit and as many digits as tell them apart."""
    known = [cell for cell in cells if cell is not None]
    if column.role not in (NUMBER, LOG) or not known:
        return tuple(map(column.text, cells))
    texts = iter(numbers(*known))
    return tuple(column.text(cell) if cell is None else with_unit(next(texts), column.unit) for cell in cells)
