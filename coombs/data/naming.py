"""Names of items and of people: kept with the type they came in, told apart and found by their text."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime
from importlib import import_module
from numbers import Real
from typing import Any
from uuid import UUID

import numpy as np

_MIDNIGHT = " 00:00:00"
_HALF = re.compile("[\ud800-\udfff]")


def plain(value: Any) -> Any:
    """A name out of an array as Python's own type, or pandas' for a time.

    Examples
    --------
    >>> plain(np.int64(3)), plain(np.str_("latte")), plain(2.5)
    (3, 'latte', 2.5)
    """
    if isinstance(value, np.datetime64):
        return _time(value)
    if isinstance(value, np.timedelta64) or not isinstance(value, np.generic):
        return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    return value.item()


def text(value: Any) -> str:
    """A name as text, blank when missing.

    3.0 is 3, as pandas turns integers with gaps into floats; a midnight is its day.

    Examples
    --------
    >>> text(3.0), text(0.5), text(None), text(datetime(2026, 1, 31)), text(date(2026, 1, 31))
    ('3', '0.5', '', '2026-01-31', '2026-01-31')
    """
    if type(value) is str:
        return value
    value = plain(value)
    if is_missing(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat(" ").removesuffix(_MIDNIGHT) if isinstance(value, datetime) else str(value)


def with_half_character(texts: Sequence[str]) -> int | None:
    """The first text that has one half of a character that takes two, which no file and no page can hold."""
    return next((i for i, one in enumerate(texts) if not one.isascii() and _HALF.search(one)), None)


def is_name(value: Any) -> bool:
    """Whether it can be a name: what does not change, and so can be looked up.

    Examples
    --------
    >>> is_name("a"), is_name(3), is_name((1, 2)), is_name([1]), is_name(([],))
    (True, True, True, False, False)
    """
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_missing(value: Any) -> bool:
    """None, NaN, or pandas' NA and NaT, which must be told by name where pandas may be absent."""
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_number(value: Any) -> bool:
    """Whether a name is a number, which True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def as_float(value: Any) -> float:
    """A number as a float, infinite where it is too large for one; NaN for whatever is no number.

    Examples
    --------
    >>> as_float(3), as_float(10**400), as_float(True), as_float("3")
    (3.0, inf, nan, nan)
    """
    if not is_number(value):
        return math.nan
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return math.inf


def for_json(value: Any) -> str | int | float | bool:
    """A name as JSON can hold it: as it is, or as text."""
    exact = type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value))
    return value if exact else text(value)


def kinds(values: Sequence[Any]) -> str | list[str]:
    """What `read` must know to make the names again of their texts: one kind for all, or one for each.

    Examples
    --------
    >>> kinds([3, 1]), kinds(["a", 0.5])
    ('integer', ['text', 'float'])
    """
    found = [_kind(value) for value in values]
    return found[0] if len(set(found)) == 1 else found


def read(kind: str, name: str) -> Any:
    """The name of that kind whose `text` this is; a ValueError if there is none.

    Examples
    --------
    >>> read("integer", "3"), read("float", "3"), read("text", "3"), read("date", "2026-01-31")
    (3, 3.0, '3', datetime.date(2026, 1, 31))
    """
    if kind not in _READERS:
        raise ValueError(f"of a kind among {', '.join(_READERS)}, not {kind!r}")
    try:
        return _READERS[kind](name)
    except ValueError as error:
        raise ValueError(f"{kind}, as names of this study are") from error


def _kind(value: Any) -> str:
    if type(value).__name__ == "Timestamp":
        return "timestamp"
    return next((kind for kind, of in _TYPES.items() if isinstance(value, of)), "text")


def _bool(name: str) -> bool:
    if name not in ("True", "False"):
        raise ValueError
    return name == "True"


def _timestamp(name: str) -> Any:
    """A time as pandas has it; as Python has it where there is no pandas."""
    try:
        return import_module("pandas").Timestamp(name)
    except ImportError:
        return datetime.fromisoformat(name)


def _time(value: np.datetime64) -> Any:
    """A time out of an array of numpy's."""
    if np.isnat(value):
        return None
    if "pandas" in sys.modules:
        return sys.modules["pandas"].Timestamp(value)
    return value.astype("datetime64[us]").item()


# The first that fits: True is an int, and a datetime a date.
_TYPES = {"bool": bool, "integer": int, "float": float, "datetime": datetime, "date": date, "uuid": UUID}
_READERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "bool": _bool,
    "integer": int,
    "float": float,
    "timestamp": _timestamp,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "uuid": UUID,
}


def texts(labels: Any) -> list[str] | None:
    """Names or users as text; None stays."""
    return None if labels is None else [text(label) for label in labels]
