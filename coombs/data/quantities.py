"""Cells that are numbers, with marks for thousands and decimals, and with units, of which some convert."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

Factors: TypeAlias = dict[str, float]
"""By what to multiply a number with each unit, as it is written, to have it in one of them."""

_CURRENCIES = (
    "€ EUR Euro Euros",
    "$",
    "USD US$",
    "£ GBP",
    "¥ JPY",
    "CNY RMB",
    "₹ INR Rs Rs.",
    "CHF Fr. SFr.",
    "CAD CA$ C$",
    "AUD AU$ A$",
    "NZD NZ$",
    "BRL R$",
    "kr kr.",
    "SEK",
    "NOK",
    "DKK",
    "PLN zł",
    "CZK Kč",
    "HUF",
    "₽ RUB",
    "₺ TRY TL",
    "₩ KRW",
    "ZAR",
    "MXN",
    "SGD S$",
    "HKD HK$",
    "₪ ILS",
    "₴ UAH",
)
"""Spellings of one currency a line; none converts into another."""
_FAMILIES: tuple[Mapping[str, float], ...] = (
    {"mg": 1e-3, "g gr gram grams Gramm": 1.0, "kg kgs kilo kilos": 1e3, "t tonne tonnes": 1e6}
    | {"oz": 28.349523125, "lb lbs pound pounds": 453.59237},
    {"mm": 1e-3, "cm": 1e-2, "m metre metres meter meters": 1.0, "km": 1e3, "mi mile miles": 1609.344}
    | {"in inch inches Zoll \" '' ″ ”": 0.0254, "ft feet foot ' \u2032": 0.3048, "yd yards": 0.9144},
    {"mm² mm2": 1e-6, "cm² cm2": 1e-4, "m² m2 m^2 sqm qm": 1.0, "ha": 1e4, "km² km2 km^2": 1e6}
    | {"ft² ft2 sqft": 0.09290304, "acre acres": 4046.8564224},
    {"ml mL": 1e-3, "cl cL": 1e-2, "dl dL": 0.1, "l L litre litres liter liters Liter": 1.0}
    | {"cm³ cm3 ccm cc": 1e-3, "m³ m3 m^3": 1e3},
    {"ms": 1e-3, "s sec secs second seconds Sek.": 1.0, "min mins minute minutes Min. Minuten m": 60.0}
    | {"h hr hrs hour hours Std Std. Stunde Stunden": 3600.0, "d day days Tag Tage": 86400.0}
    | {"week weeks wk wks Woche Wochen": 604800.0},
    {"month months mo Monat Monate": 1.0, "year years yr yrs Jahr Jahre": 12.0},
    {"B byte bytes": 1.0, "KB kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
    | {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40},
    {"kbit/s kbps": 1e3, "Mbit/s Mbps Mb/s": 1e6, "Gbit/s Gbps Gb/s": 1e9},
    {"km/h kmh kph": 1 / 3.6, "m/s": 1.0, "mph": 0.44704},
    {"W watt watts Watt": 1.0, "kW": 1e3, "MW": 1e6, "PS": 735.49875, "hp": 745.6998715822702},
    {"Wh": 1.0, "kWh": 1e3, "MWh": 1e6},
    {"mAh": 1e-3, "Ah": 1.0},
    {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    {"% percent pct Prozent": 1.0, "‰": 0.1},
    {"k K thousand Tsd.": 1e3, "M million millions Mio Mio.": 1e6, "bn billion Mrd Mrd.": 1e9},
    *({spellings: 1.0} for spellings in _CURRENCIES),
)
"""Units that convert: spellings of one unit, and what it is in terms of the unit with 1."""
_UNIT = re.compile(r"°?[^\W\d_](?:[^\W\d_]|[./%²³°-])*")
"""A unit that is in no family: one word."""
_SHOWN = {**dict.fromkeys(('"', "''", "″", "”"), "inch"), "'": "ft", "\u2032": "ft"}
"""What marks are called in sentences."""
MOST_LETTERS = 24
"""Letters of a unit, at most."""
_PLURAL = 2
"""Letters that a plural may have more than its singular."""


def _spelled(family: Mapping[str, float]) -> dict[str, tuple[str, float]]:
    """The unit and its factor for each spelling of a family; words also in lower case."""
    named = {word: (key, factor) for key, factor in family.items() for word in key.split()}
    return {word.lower(): unit for word, unit in named.items() if len(word) > 1} | named


_TABLES = tuple(_spelled(family) for family in _FAMILIES)
CURRENCY = "|".join(re.escape(word) for word in sorted(" ".join(_CURRENCIES).split(), key=len, reverse=True))
"""A pattern of what may stand before a number."""


def is_known(unit: str) -> bool:
    """Whether a unit is in some family.

    Examples
    --------
    >>> is_known("KG"), is_known("sq ft"), is_known("rooms")
    (True, True, False)
    """
    return any(_unit(unit, table) for table in _TABLES)


def is_unit(text: str) -> bool:
    """Whether this may be a unit: a known one, one with words behind it, or any single word.

    Examples
    --------
    >>> [is_unit(text) for text in ("kg", "min walk", "€ / month", "rooms", "High Street", "x 4 kg")]
    [True, True, True, True, False, False]
    """
    if len(text) > MOST_LETTERS:
        return False
    if is_known(text):
        return True
    first = re.split(r"[\s/]", text, maxsplit=1)[0]
    return not re.search(r"\d", text) and (bool(_UNIT.fullmatch(text)) or is_known(first))


def common_unit(units: Counter[str]) -> tuple[str, Factors] | None:
    """The most frequent of some units and the factors from each to it; None if they do not convert.

    Examples
    --------
    >>> common_unit(Counter({"GB": 3, "TB": 1}))
    ('GB', {'GB': 1.0, 'TB': 1000.0})
    >>> common_unit(Counter({"star": 1, "stars": 4}))
    ('stars', {'star': 1.0, 'stars': 1.0})
    >>> common_unit(Counter({"kg": 2, "EUR": 1}))
    """
    for table in _TABLES:
        found = {unit: _unit(unit, table) for unit in units}
        known = {unit: one for unit, one in found.items() if one is not None}
        if len(known) == len(units):
            times = Counter[tuple[str, float]]()
            for unit, one in known.items():
                times[one] += units[unit]
            # Of two that are as frequent, the smaller: whole numbers are easier to read.
            kept = max(times, key=lambda one: (times[one], -one[1], one))
            spelled = Counter({unit: units[unit] for unit in units if known[unit] == kept})
            most = _most(spelled)
            return _SHOWN.get(most, most), {unit: known[unit][1] / kept[1] for unit in units}
    shortest = min(units, key=lambda unit: (len(unit), unit))
    if all(unit.startswith(shortest) and len(unit) - len(shortest) <= _PLURAL for unit in units) and (
        len(units) == 1 or len(shortest) > _PLURAL
    ):
        return _most(units), dict.fromkeys(units, 1.0)
    return None


def _unit(unit: str, table: Mapping[str, tuple[str, float]]) -> tuple[str, float] | None:
    """A unit in a family, whatever capitals and spaces it is written with."""
    word = unit.replace(" ", "")
    return table.get(word) or (table.get(word.lower()) if len(word) > 1 else None)


def _most(units: Counter[str]) -> str:
    """The most frequent spelling; of those as frequent, always the same."""
    return max(units, key=lambda unit: (units[unit], unit))


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
