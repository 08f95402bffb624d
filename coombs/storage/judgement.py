"""What is said of several items at once, or of one by a rating: checked, as JSON of a closed format."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from coombs.data.orders import NONE, SHAPES
from coombs.data.strict_json import read_json
from coombs.data.tables import InputError

RATING = "rating"
"""The shape of a judgement of one item by a number."""
_KEYS = {True: {"shape", "places", "rating", "scale"}, False: {"shape", "places"}}
"""What the JSON of a judgement has, by whether it is a rating."""


@dataclass(frozen=True)
class Judgement:
    """What is said of several items, or of one by a rating.

    Parameters
    ----------
    shape : "choice", "best-worst", "ranking" or "rating"
    places : positions of the items, the best place first; those of one place are tied, or the rest of a
        choice, or between best and worst. -1 in a choice is none of these. A rating has one item
    rating : of that item; None in other shapes
    scale : all ratings that there are, from the lowest on

    Examples
    --------
    >>> from coombs.storage import Judgement
    >>> Judgement("choice", ((2,), (0, 1))).items
    (2, 0, 1)
    >>> Judgement("rating", ((2,),), 4.0, (1.0, 4.0, 5.0)).rating
    4.0
    """

    shape: str
    places: tuple[tuple[int, ...], ...]
    rating: float | None = None
    scale: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        wrong = _wrong_shape(self) or _wrong_places(self) or _wrong_rating(self)
        if wrong:
            raise InputError(f"The judgement {wrong}.")
        # Numbers of numpy are not plain for JSON.
        places = tuple(tuple(int(item) for item in place) for place in self.places)
        object.__setattr__(self, "places", places)
        if self.rating is not None:
            object.__setattr__(self, "rating", float(self.rating))
            object.__setattr__(self, "scale", tuple(map(float, self.scale)))

    @property
    def items(self) -> tuple[int, ...]:
        """Positions of all the items, none of these left out."""
        return tuple(item for place in self.places for item in place if item != NONE)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it; numbers keep every digit.

        Returns
        -------
        dict

        Examples
        --------
        >>> from coombs.storage import Judgement
        >>> Judgement("ranking", ((1,), (0, 2))).to_dict()
        {'shape': 'ranking', 'places': [[1], [0, 2]]}
        """
        plain: dict[str, Any] = {"shape": self.shape, "places": [list(place) for place in self.places]}
        return plain if self.rating is None else plain | {"rating": self.rating, "scale": list(self.scale)}


def judgement_text(judgement: Judgement) -> str:
    """A judgement as JSON text, in which it is stored."""
    return json.dumps(judgement.to_dict(), allow_nan=False)


def read_judgement(text: str) -> Judgement:
    """A judgement from its stored text; an InputError where that is damaged."""
    return judgement_of(read_json(text, "It", "it must be a judgement"))


def judgement_of(plain: Any) -> Judgement:
    """A judgement from the dict of `to_dict`; an InputError that says what is wrong."""
    if not isinstance(plain, dict) or plain.keys() != _KEYS[plain.get("shape") == RATING]:
        raise InputError(
            "The judgement must be an object with shape and places; of a rating, also rating and scale."
        )
    places, scale = plain["places"], plain.get("scale", [])
    if not _is_list(places, list) or not all(_is_list(place, int) for place in places):
        raise InputError("The judgement's places must be lists of positions of items, as [[2], [0, 1]].")
    if not _is_list(scale, (int, float)):
        raise InputError("The judgement's scale must be a list of numbers.")
    return Judgement(plain["shape"], tuple(map(tuple, places)), plain.get("rating"), tuple(scale))


def _is_list(value: Any, of: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, of) and type(one) is not bool for one in value)


def _wrong_shape(said: Judgement) -> str:
    known = (*SHAPES, RATING)
    if isinstance(said.shape, str) and said.shape in known:
        return ""
    return f"has the shape {said.shape!r}; it must be one of {', '.join(known)}"


def _wrong_places(said: Judgement) -> str:
    items = [item for place in said.places for item in place]
    if not all(isinstance(item, Integral) for item in items) or not all(said.places):
        return "must have positions of items in every place"
    if len(set(items)) < len(items):
        return "has an item twice; once is right"
    if min(items, default=0) < (NONE if said.shape == "choice" else 0):
        return f"has the position {min(items)}; positions count from 0"
    if said.shape == RATING:
        return "must be of one item" if len(items) != 1 else ""
    if said.shape == "best-worst" and (
        len(said.places) not in (2, 3) or len(said.places[0]) != 1 or len(said.places[-1]) != 1
    ):
        return "must have one best, one worst, and the others between them"
    return "must be of two or more" if len(items) < 2 else ""


def _is_finite(value: Any) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and bool(abs(value) <= sys.float_info.max)


def _wrong_rating(said: Judgement) -> str:
    if said.shape != RATING:
        return "must have no rating" if said.rating is not None or said.scale else ""
    if not all(map(_is_finite, (said.rating, *said.scale))):
        return "has a rating that is no finite number"
    if list(said.scale) != sorted(set(said.scale)) or said.rating not in said.scale:
        return f"has the rating {said.rating}; it must be one of its scale, which rises"
    return ""
