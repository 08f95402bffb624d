"""How much the tests in tests/faults do: a little in CI, a lot with `make faults`."""

from __future__ import annotations

import os

FULL = os.environ.get("COOMBS_FAULTS") == "full"
"""Whether everything is run, however long it takes."""


def size(quick: int, full: int) -> int:
    """How often, how many or how long: `quick` in CI, `full` with COOMBS_FAULTS=full."""
    return full if FULL else quick
