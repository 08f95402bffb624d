"""JSON with another value somewhere: what tests of files that are read do to them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

ODD = st.sampled_from(
    [..., None, True, -1, 0, 1, 3, 2.5, 1e308, -1e308, 1e-308, 10**30, "", "nan", "full", [], [1.0], [[]], {}]
)
"""Values that are hardly ever right; `...` is none at all."""


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the values of a JSON text are, those in lists and objects too."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, child in inner for place in places(child, (*path, key)))]


def damaged(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with another value at a place, or without it where the value is `...`."""
    if not path:
        return None if new is ... else new
    result = value.copy()
    if len(path) == 1 and new is ...:
        del result[path[0]]
    else:
        result[path[0]] = new if len(path) == 1 else damaged(value[path[0]], path[1:], new)
    return result
