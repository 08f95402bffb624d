"""Numbers and directions as people read them; every text, table and picture takes them from here."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from coombs.language import NumberText, Translatable

if TYPE_CHECKING:
    from coombs.data.tables import FloatArray

DIGITS = 4
"""Digits of a number as people write it."""
CENTS = 2
"""Decimals that are always kept."""
SHORT_DIGITS = 2
"""Digits of a size that is known roughly."""
MOST_DECIMALS = 4
"""Decimals of a column whose numbers have no more than these."""
MOST_LISTED = 8
"""Words that a sentence lists."""
BEFORE_NUMBERS = ("$", "£", "¥", "₹")
"""Units that are written before numbers."""
THIN = "\u202f"
"""A space that does not break."""
_LONG_NUMBER = re.compile(r"^(\D{0,2})(\d{5,})")
"""A number of five digits or more, with its sign or a unit before it."""
MONTHS = (
    Translatable("Jan"),
    Translatable("Feb"),
    Translatable("Mar"),
    Translatable("Apr"),
    Translatable("May"),
    Translatable("Jun"),
    Translatable("Jul"),
    Translatable("Aug"),
    Translatable("Sep"),
    Translatable("Oct"),
    Translatable("Nov"),
    Translatable("Dec"),
)
"""The months, in short."""
NO_PATTERN = Translatable("No pattern found yet")
"""The heading where answers tell no more than chance would."""

LESS_IS_BETTER = "score (less is better)"
"""What scores are called that are no distances."""


def percent(share: float) -> str:
    """As 62 %."""
    if 0 < share < 0.005:
        return Translatable("under 1 %")
    return Translatable("over 99 %") if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def chance(share: float) -> str:
    """As 62 %; what draws give is never quite sure."""
    return percent(min(max(share, 0.001), 0.999))


def ordinal(rank: int) -> str:
    """As 1st, 2nd, 11th."""
    if 10 <= rank % 100 <= 20 or rank % 10 not in (1, 2, 3):
        return Translatable("{n}th", n=rank)
    if rank % 10 == 1:
        return Translatable("{n}st", n=rank)
    return Translatable("{n}nd", n=rank) if rank % 10 == 2 else Translatable("{n}rd", n=rank)


def count(n: int, noun: str) -> str:
    """As 1 answer, 2 answers."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def day(date: datetime.date) -> str:
    """As 5 Mar 2026."""
    return Translatable("{day} {month} {year}", day=date.day, month=MONTHS[date.month - 1], year=date.year)


def listed(words: Sequence[str], most: int = MOST_LISTED) -> str:
    """As a, b and c, or a, b and 7 more."""
    if len(words) > most:
        return Translatable("{first} and {n} more", first=list(words[:most]), n=len(words) - most)
    *first, last = words
    return Translatable("{first} and {last}", first=first, last=last) if first else last


def together(people: int) -> str:
    """What the answers of several people come to, where one model is fitted to all of them; else nothing."""
    return f"{people} people together, one model" if people > 1 else ""


def no_more(people: int, answers: str = "the answers") -> str:
    """What is said of answers without a pattern; of several people's, that each may have one."""
    coin = f"{answers} tell no more than tossing a coin would"
    if people > 1:
        return f"Taken for one person's, {coin}; each person's alone may have a pattern."
    return f"{coin[0].upper()}{coin[1:]}."


def number(value: float, spread: float) -> str:
    """A number with as many decimals as tell a fiftieth of the spread."""
    decimals = int(np.clip(np.ceil(np.log10(50 / spread)), 0, 12)) if spread > 0 else 2
    return NumberText(f"{round(value, decimals) + 0.0:.{decimals}f}")


def plain(value: float) -> str:
    """A number as people write it: as 335594, 12.75, 0.0286; four digits, or all before the point.

    Two decimals, as prices have them, are kept: 1299.99.
    """
    if not 1e-5 <= abs(value) < 1e12:
        return NumberText(f"{value:.{DIGITS}g}")
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(abs(value))))
    if has_cents(value):
        decimals = max(decimals, CENTS)
    text = f"{value:.{decimals}f}"
    return NumberText(text.rstrip("0").rstrip(".") if "." in text else text)


def has_cents(value: float) -> bool:
    """Whether a number has two decimals at most."""
    return float(f"{value:.{CENTS}f}") == value


def short(size: float) -> str:
    """Two digits of a number that is not negative, or all before the point."""
    if size == 0 or not 1e-5 <= size < 1e7:
        return NumberText(f"{size:.{SHORT_DIGITS}g}")
    text = f"{size:.{max(0, SHORT_DIGITS - 1 - math.floor(math.log10(size)))}f}"
    return NumberText(text.rstrip("0").rstrip(".") if "." in text else text)


def decimals(column: FloatArray) -> int:
    """As few decimals as lose nothing, up to four; else as many as tell a five-hundredth of the spread."""
    for digits in range(MOST_DECIMALS + 1):
        if np.array_equal(np.round(column, digits), column):
            return digits
    spread = float(np.ptp(column)) or 1.0
    return int(np.clip(np.ceil(np.log10(500 / spread)), 0, 12))


def feature_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Names of the features, "feature 0", ... where they have none."""
    return tuple(f"feature {j}" for j in range(count)) if names is None else tuple(map(str, names))


def round_number(size: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten."""
    power = math.floor(math.log10(size))
    choices = [float(f"{digit}e{power}") for digit in (1, 2, 5, 10)]
    return min(choices, key=lambda choice: abs(math.log(choice / size)))


def within(ends: tuple[float, float], items: tuple[float, float], text: Callable[[float], str]) -> str:
    """An interval as far as items go: as 3 to 5, up to 5, 3 or more; nothing if they tell neither end."""
    (low, high), (lowest, highest) = ends, items
    if high < lowest or low > highest or (low < lowest and high > highest):
        return ""
    if low < lowest:
        return Translatable("up to {high}", high=text(high))
    if high > highest:
        return Translatable("{low} or more", low=text(low))
    return Translatable("{low} to {high}", low=text(low), high=text(high))


def grouped(text: str) -> str:
    """A number's text, with or without a unit, with thin spaces between thousands from five digits on."""
    return NumberText(_LONG_NUMBER.sub(lambda found: f"{found[1]}{int(found[2]):,}".replace(",", THIN), text))


def with_unit(text: str, unit: str) -> str:
    """A number's text and its unit: 650 €, but $650."""
    if unit in BEFORE_NUMBERS:
        return NumberText(f"{'-' * text.startswith('-')}{unit}{text.removeprefix('-')}")
    return NumberText(f"{text} {unit}") if unit else text


def numbers(*values: float) -> tuple[str, ...]:
    """Numbers as people write them, with as many digits as tell them apart."""
    texts = tuple(map(plain, values))
    for digits in (6, 9, 12, 17):
        if len(set(texts)) == len(set(values)):
            break
        texts = tuple(f"{one:.{digits}g}" for one in values)
    return texts


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
