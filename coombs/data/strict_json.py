"""JSON that means one thing: no key twice, no number that is not finite, no endless nesting."""

from __future__ import annotations

import json
import math
from typing import Any

from coombs.data.tables import InputError

DEEPEST = 40
"""Lists and objects within each other, at most."""
MOST_DIGITS = 400
"""Digits of a whole number, at most; floats end before that."""


def read_json(text: str | bytes, what: str, hint: str) -> Any:
    """The value in JSON text; an InputError about `what`, with a `hint` at what would be right.

    Examples
    --------
    >>> read_json('{"a": [1, 2.5]}', "The model", "give another file")
    {'a': [1, 2.5]}
    >>> try:
    ...     read_json('{"a": 1, "a": 2}', "The model", "give another file")
    ... except InputError as error:
    ...     print(error)
    The model has 'a' twice; give another file.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise InputError(f"{what} has {key[:MOST_DIGITS]!r} twice; {hint}.")
            found[key] = value
        return found

    def refuse(number: str) -> float:
        raise InputError(f"{what} has {number[:20]} for a number; numbers must be finite: {hint}.")

    def finite(digits: str) -> float:
        return value if math.isfinite(value := float(digits)) else refuse(digits)

    def whole(digits: str) -> int | float:
        return int(digits) if len(digits) <= MOST_DIGITS else refuse(digits)

    hooks: dict[str, Any] = {"parse_constant": refuse, "parse_float": finite, "parse_int": whole}
    try:
        value = json.loads(text, object_pairs_hook=once, **hooks)
    except InputError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{what} is not JSON ({error}); {hint}.") from error
    _refuse_depth(value, what, hint)
    return value


def _refuse_depth(value: Any, what: str, hint: str) -> None:
    """Refuse what is nested deeper than anything that is written here, level by level."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        inner = [child for one in level for child in (one.values() if isinstance(one, dict) else one)]
        level = [child for child in inner if isinstance(child, dict | list)]
        if not level:
            return
    raise InputError(f"{what} has more than {DEEPEST} lists or objects within each other; {hint}.")
