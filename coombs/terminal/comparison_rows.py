"""What is shown of two items, row by row: features in the user's numbers, and whatever else is known."""

from __future__ import annotations

from typing import NamedTuple

from coombs.data.catalogue import Catalogue
from coombs.terminal_text import terminal_safe
from coombs.words import numbers

LONGEST_DETAIL = 2_000
"""Characters of a text about an item that are looked at; more help nobody."""


class ComparisonRow(NamedTuple):
    """A feature, or a detail, of both items.

    `shares` say where a feature's values are among those of all items, from the lowest, 0, to the highest, 1.
    """

    label: str
    texts: tuple[str, str]
    shares: tuple[float, float] | None

    @property
    def differs(self) -> bool:
        """Whether the items differ in it."""
        return self.texts[0] != self.texts[1]


def comparison_rows(items: Catalogue, positions: tuple[int, int]) -> list[ComparisonRow]:
    """The features of two items, then their details unless both are blank; all of it safe to print."""
    table, (first, second) = items.table.matrix, positions
    features = [
        ComparisonRow(terminal_safe(name), numbers(one, other), (share(one, column), share(other, column)))
        for name, column in zip(items.features, table.T.tolist(), strict=True)
        for one, other in [(column[first], column[second])]
    ]
    known = items.details[first], items.details[second]
    left, right = (
        {name: terminal_safe(text[:LONGEST_DETAIL]) for name, text in one.items()} for one in known
    )
    return features + [
        ComparisonRow(terminal_safe(name), (left[name], right[name]), None)
        for name in left
        if left[name] or right[name]
    ]


def share(value: float, column: list[float]) -> float:
    """Where a value is between the lowest and the highest of a column; 0 if all are alike."""
    lowest, highest = min(column), max(column)
    return (value - lowest) / (highest - lowest) if highest > lowest else 0.0
