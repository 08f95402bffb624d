"""Numbers and directions as people read them; every text, table and picture takes them from here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coombs.tables import FloatArray


def percent(share: float) -> str:
    """As 62 %."""
    if 0 < share < 0.005 or 0.995 <= share < 1:
        return "under 1 %" if share < 0.5 else "over 99 %"
    return f"{100 * share:.0f} %"


def ordinal(rank: int) -> str:
    """As 1st, 2nd, 11th."""
    ending = "th" if 10 <= rank % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending}"


def count(n: int, noun: str) -> str:
    """As 1 answer, 2 answers."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def number(value: float, spread: float) -> str:
    """A number with as many decimals as tell a fiftieth of the spread."""
    decimals = int(np.clip(np.ceil(np.log10(50 / spread)), 0, 12)) if spread > 0 else 2
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def loadings(direction: FloatArray, least: float) -> list[tuple[int, float]]:
    """(place, weight) of a direction's parts, largest first and positive; those below `least` left out."""
    order = np.argsort(-np.abs(direction), kind="stable")
    sign = -1.0 if direction[order[0]] < 0 else 1.0
    told = [j for k, j in enumerate(order) if k == 0 or abs(direction[j]) >= least]
    return [(int(j), float(sign * direction[j])) for j in told]


def weighted_sum(parts: Sequence[tuple[str, float]]) -> str:
    """As 0.91 price - 0.39 size."""
    words = [f"{'-' if weight < 0 else '+'} {abs(weight):.2f} {name}" for name, weight in parts]
    return " ".join(words).removeprefix("+ ")


def in_words(direction: FloatArray, names: Sequence[str], least: float = 0.2) -> str:
    """A direction's parts as a weighted sum."""
    return weighted_sum([(names[j], weight) for j, weight in loadings(direction, least)])
