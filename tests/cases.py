"""Cases of one law: the most telling ones run with every `make test`, all of them with `make test-slow`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some_slow(values: Iterable[Any], fast: Collection[Any]) -> list[Any]:
    """The values, for `parametrize` or `params`; those not among the fast ones are marked slow."""
    values = list(values)
    assert all(one in values for one in fast)
    return [one if one in fast else pytest.param(one, marks=pytest.mark.slow) for one in values]
