"""What there is to know of two items, row by row: features in the user's numbers, and their details."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from coombs.data.catalogue import Catalogue
from coombs.data.encoding import CATEGORY, LOG, NUMBER, FeatureColumn
from coombs.words import numbers, with_unit


class ComparisonRow(NamedTuple):
    """A feature, or a detail, of both items.

    `shares` say where a feature's values are among those of all items, from the lowest, 0, to the highest, 1;
    of a detail they are None.
    """

    label: str
    texts: tuple[str, str]
    shares: tuple[float, float] | None

    @property
    def differs(self) -> bool:
        """Whether the items differ in it."""
        return self.texts[0] != self.texts[1]


def comparison_rows(items: Catalogue, positions: tuple[int, int]) -> list[ComparisonRow]:
    """The features of two items, then their details."""
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
        first, second = shares[:, block[0]].tolist()
        has_place = column.role != CATEGORY and None not in cells.tolist()
        features.append(ComparisonRow(column.name, texts, (first, second) if has_place else None))
    left, right = (items.details[position] for position in positions)
    names = dict.fromkeys([*left, *right])
    return features + [ComparisonRow(name, (left.get(name, ""), right.get(name, "")), None) for name in names]


def _texts(column: FeatureColumn, cells: Sequence[Any]) -> tuple[str, str]:
    """Two cells as people read them: numbers with their unit and as many digits as tell them apart."""
    known = [cell for cell in cells if cell is not None]
    if column.role not in (NUMBER, LOG) or not known:
        return column.text(cells[0]), column.text(cells[1])
    texts = iter(numbers(known[0], known[-1]))
    first, second = (
        column.text(cell) if cell is None else with_unit(next(texts), column.unit) for cell in cells
    )
    return first, second
