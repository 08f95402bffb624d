"""What there is to know of two items, row by row: features in the user's numbers, and their details."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coombs.data.catalogue import Catalogue
from coombs.words import numbers


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
    features = [
        ComparisonRow(label, numbers(*both), (first, second))
        for label, both, (first, second) in zip(
            items.features, values.T.tolist(), shares.T.tolist(), strict=True
        )
    ]
    left, right = (items.details[position] for position in positions)
    names = dict.fromkeys([*left, *right])
    return features + [ComparisonRow(name, (left.get(name, ""), right.get(name, "")), None) for name in names]
