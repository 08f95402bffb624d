"""Cells that are numbers, with marks for thousands and decimals, and with units."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from coombs.data.units import CURRENCY, MOST_LETTERS, is_unit

Mark: TypeAlias = Literal[".", ","]
"""What stands before the decimals of a number."""

MARKS: tuple[Mark, ...] = (".", ",")
BOOLEAN_WORDS = {"true": 1.0, "false": 0.0}
_NUMBER_WORDS = frozenset(
    {*BOOLEAN_WORDS, *(sign + word for sign in ("", "+", "-") for word in ("inf", "infinity"))}
)
_LONGEST = 2 * MOST_LETTERS
"""Characters of a cell that may be a number with a unit."""

# Spaces that do not break, thin ones, curly apostrophes and a real minus, as typewriters have them.
_TYPEWRITER = str.maketrans({"\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2019": "'", "\u2212": "-"})
_NO_CENTS = re.compile(r"(?<=[0-9])([.,])(?:-|–|—)(?![0-9])")  # noqa: RUF001
_START = re.compile(rf"\s*[-+\u2212]?(?:{CURRENCY})?\s*[-+\u2212]?[.,]?\d")
_NUMBER = r"[-+]?(?:[0-9][0-9.,' ]*[0-9]|[0-9]|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?"
_QUANTITY = re.compile(rf"(?P<sign>-?)(?P<before>{CURRENCY})?\s*(?P<number>{_NUMBER})\s*(?P<after>.*)")
_HOURS = re.compile(r"([0-9]+) ?(?:h|hrs?|hours?|std\.?) ?([0-5]?[0-9]) ?(?:m|mins?|minutes?|\.)?", re.I)


def _grouped(mark: str, other: str, more: str = "") -> re.Pattern[str]:
    """Numbers whose decimals stand behind one mark, and whose thousands may be set apart by others."""
    groups = rf"[1-9][0-9]{{0,2}}([{other}' ])[0-9]{{3}}(?:\1[0-9]{{3}})*{more}"
    return re.compile(rf"[-+]?(?:{groups}|[0-9]*)(?:[{mark}][0-9]+)?(?:[eE][-+]?[0-9]+)?")


_PATTERNS: dict[Mark, re.Pattern[str]] = {
    # In India thousands are followed by groups of two: 12,34,567.
    ".": _grouped(".", ",", "|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"),
    ",": _grouped(",", "."),
}


class Quantity(NamedTuple):
    """A number as it is written, and its unit."""

    number: str
    unit: str

    def value(self, mark: Mark) -> float | None:
        """The number, if its decimals can stand behind that mark."""
        if not _PATTERNS[mark].fullmatch(self.number):
            return None
        thousands = "." if mark == "," else ","
        digits = re.sub(rf"[{thousands}' ]", "", self.number)
        return float(digits.replace(mark, "."))


def may_be_number(cell: str) -> bool:
    """Whether a cell begins as numbers and dates do, or is a word for a number."""
    return bool(_START.match(cell)) or cell.strip().lower() in _NUMBER_WORDS


def quantity(cell: str) -> Quantity | None:
    """A cell as a number and its unit, if it is that.

    Examples
    --------
    >>> quantity("1.699,- €"), quantity("1h30"), quantity("about 5")
    (Quantity(number='1.699,0', unit='€'), Quantity(number='90', unit='min'), None)
    """
    text = _NO_CENTS.sub(r"\g<1>0", cell.translate(_TYPEWRITER).strip())
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    sign, before, number, after = match.group("sign", "before", "number", "after")
    unit = f"{before or ''} {after}".strip()
    if hours := _HOURS.fullmatch(text):
        return Quantity(str(60 * int(hours[1]) + int(hours[2])), "min")
    if (unit and not is_unit(unit)) or (sign and number[0] in "+-"):
        return None
    return Quantity(sign + number, unit)


def plain_number(cell: str) -> float | None:
    """A cell as Python reads numbers, or true and false."""
    try:
        return float(cell)
    except ValueError:
        return BOOLEAN_WORDS.get(cell.strip().lower())
