"""Errors for cells that are not what they should be; pages say them in their language."""

from __future__ import annotations

from typing import Any

from coombs.language import Translatable
from coombs.messages import InputError

ITEM = Translatable("item")
"""What is compared, in messages."""
MUST = {
    "number": Translatable("it must be a number"),
    "unit": Translatable("it must be a number, with a unit only if all have one"),
    "finite": Translatable("it must be a finite number"),
    "positive": Translatable("on a log scale it must be positive"),
    "yes": Translatable("it must be yes or no"),
    "date": Translatable("it must be a date, as 2026-01-31"),
    "known": Translatable("every item needs it"),
}
"""What a cell must be, by a word for it."""


def wrong_cell(what: str, place: str, cell: Any, must: str) -> InputError:
    """The error for a cell, of what, where, and what it must be.

    Examples
    --------
    >>> print(wrong_cell("Rating", "row 3", "'much'", MUST["number"]))
    Rating of row 3 is 'much'; it must be a number.
    """
    return InputError(
        "{what} of {place} is {cell}; {must}.", what=what, place=place, cell=str(cell), must=must
    )


def feature_called(name: str) -> str:
    """A feature, in messages."""
    return Translatable("Feature {name}", name=repr(name))


def item_called(name: str) -> str:
    """An item, in messages."""
    return Translatable("item {name}", name=repr(name))
