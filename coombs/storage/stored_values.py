"""Values as a database gives them back, each checked: a file may be damaged, or another program's work."""

from __future__ import annotations

import json
import math
from datetime import datetime
from types import TracebackType
from typing import Any

from coombs.data.tables import LARGEST_WEIGHT
from coombs.storage.failures import damaged
from coombs.storage.timestamps import stored_time

_SHOWN = 60
"""Letters of a damaged value that a message shows."""


class RowReading:
    """Errors of value inside are damage to what is read."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        # An InputError is one, too.
        if isinstance(error, ValueError | TypeError | OverflowError):
            raise damaged(self._what, str(error).rstrip(".")) from error


def number(value: Any, what: str, least: int = 0) -> int:
    """A whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{what} is {_shown(value)}, no whole number from {least} on")
    return value


def text(value: Any, what: str) -> str:
    """Text."""
    if not isinstance(value, str):
        raise ValueError(f"{what} is {_shown(value)}, no text")
    return value


def share(value: Any, what: str) -> float | None:
    """A number from 0 to 1, or None."""
    if value is None:
        return None
    if not isinstance(value, float | int) or not 0 <= value <= 1:
        raise ValueError(f"{what} is {_shown(value)}, no number from 0 to 1")
    return float(value)


def numbers(value: Any, what: str) -> tuple[float, ...]:
    """Finite numbers, out of a list in JSON."""
    found = json_list(value, what)
    if not all(type(one) in (float, int) and math.isfinite(one) for one in found):
        raise ValueError(f"{what} are {_shown(value)}, no finite numbers")
    return tuple(map(float, found))


def weight(value: Any) -> float:
    """What an answer counts."""
    if not isinstance(value, float | int) or not 0 <= value <= LARGEST_WEIGHT:
        raise ValueError(f"its weight is {_shown(value)}, no number from 0 on")
    return float(value)


def pair(left: Any, right: Any, last_item: int) -> tuple[int, int]:
    """Two items of a study."""
    for position in (left, right):
        if number(position, "its item") > last_item:
            raise ValueError(f"it is about item {position}, which the study does not have")
    if left == right:
        raise ValueError(f"it is about item {left} alone")
    return left, right


def moment(value: Any, what: str) -> datetime:
    """A time."""
    try:
        if isinstance(value, str | datetime):
            return stored_time(value)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"{what} is {_shown(value)}, no time")


def json_list(value: Any, what: str) -> list[Any]:
    """A list in JSON."""
    found = _loaded(value, what)
    if not isinstance(found, list):
        raise ValueError(f"{what} is {_shown(value)}, no list in JSON")
    return found


def json_object(value: Any, what: str) -> dict[str, Any]:
    """An object in JSON."""
    found = _loaded(value, what)
    if not isinstance(found, dict):
        raise ValueError(f"{what} is {_shown(value)}, no object in JSON")
    return found


def _loaded(value: Any, what: str) -> Any:
    # Not as strict as for files from elsewhere, which would take several times as long for many items.
    try:
        return json.loads(text(value, what))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} cannot be read ({error})") from error


def _shown(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return repr(value)[:_SHOWN]
