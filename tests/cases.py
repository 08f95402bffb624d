"""Cases of one law: the most telling ones run with every `make test`, all of them with `make test-slow`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some_slow(values: Iterable[Any], fast: Collection[Any]) -> list[Any]:
    """The values, for `parametrize` or `params`; those not among the fast ones are marked slow.

    A tuple is the values of several parameters.
    """
    values = list(values)
    assert all(one in values for one in fast)
    return [one if one in fast else _slow(one) for one in values]


def _slow(value: Any) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
