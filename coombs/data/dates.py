"""Dates as people write them, where there is no doubt which number is the day."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, date, datetime, time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coombs.language import Translatable

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?")
_CLOCK = r"(?:[T,]? ?(?P<clock>\d{1,2}:\d{2}(?::\d{2})?))?"
_YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})([/.])(?P<a>\d{{1,2}})\2(?P<b>\d{{1,2}}){_CLOCK}")
_YEAR_LAST = re.compile(rf"(?P<a>\d{{1,2}})(?P<mark>[./-])(?P<b>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}){_CLOCK}")


MONTH_NAMES = (
    Translatable("January"),
    Translatable("February"),
    Translatable("March"),
    Translatable("April"),
    Translatable("May"),
    Translatable("June"),
    Translatable("July"),
    Translatable("August"),
    Translatable("September"),
    Translatable("October"),
    Translatable("November"),
    Translatable("December"),
)
"""What the months are called."""


class Dates(NamedTuple):
    """The time of each cell, and a phrase about what was decided, if something had to be."""

    values: dict[str, np.datetime64]
    phrase: str = ""


class UnclearDates(NamedTuple):
    """Why a column that looks like dates cannot be read as such."""

    reason: str


def read_dates(cells: Collection[str]) -> Dates | UnclearDates | None:
    """The days, or times, that some cells say; None if they are not dates.

    Examples
    --------
    >>> read_dates(["31.12.2025"]).values["31.12.2025"], read_dates(["12/31/2025", "1/2/2025"]).phrase
    (np.datetime64('2025-12-31'), 'dates with the month first (1/2/2025 is 2025-01-02)')
    >>> read_dates(["03/04/2025"]).reason, read_dates(["soon"])
    ('03/04/2025 may be a day in March or in April', None)
    """
    seen = [_is_date(cell) for cell in cells]
    if not any(seen):
        return None
    if not all(seen):
        odd = min(cell for cell, found in zip(cells, seen, strict=True) if not found)
        return (
            UnclearDates(Translatable("{cell} is no date", cell=repr(odd)))
            if sum(seen) > len(seen) / 2
            else None
        )
    by_day, by_month = _dates(cells, True), _dates(cells, False)
    if by_day and by_month and by_day != by_month:
        doubtful = min(cell for cell in cells if by_day[cell] != by_month[cell])
        one, other = by_month[doubtful].month, by_day[doubtful].month
        return UnclearDates(
            Translatable(
                "{cell} may be a day in {one} or in {other}",
                cell=doubtful,
                one=MONTH_NAMES[one - 1],
                other=MONTH_NAMES[other - 1],
            )
        )
    found = by_day or by_month
    if not found:
        return UnclearDates(Translatable("not every cell is a day that exists"))
    phrase = "" if by_day and by_month else _order(found, "day" if by_day else "month")
    return _stamped(found, phrase)


def _order(found: dict[str, datetime], first: str) -> str:
    """As: dates with the month first (1/2/2025 is 2025-01-02), if any cell alone would leave a doubt."""
    for cell in sorted(found):
        day, month = _dates([cell], True), _dates([cell], False)
        if day and month and day != month:
            said = {"cell": cell, "day": f"{found[cell]:%Y-%m-%d}"}
            if first == "day":
                return Translatable("dates with the day first ({cell} is {day})", **said)
            return Translatable("dates with the month first ({cell} is {day})", **said)
    return ""


def _stamped(found: dict[str, datetime], phrase: str) -> Dates | UnclearDates:
    """Times as numpy has them: days where no cell has a time, in UTC where they have time zones."""
    zones = {one.tzinfo is not None for one in found.values()}
    if len(zones) == 2:
        return UnclearDates(Translatable("some times have a time zone and some have none"))
    if True in zones:
        found = {cell: one.astimezone(UTC).replace(tzinfo=None) for cell, one in found.items()}
    days = all(one.time() == time() for one in found.values())
    return Dates({cell: np.datetime64(one, "D" if days else "s") for cell, one in found.items()}, phrase)


def _is_date(cell: str) -> bool:
    return cell[:1].isdigit() and any(one.fullmatch(cell) for one in (_ISO, _YEAR_FIRST, _YEAR_LAST))


def _dates(cells: Collection[str], day_first: bool) -> dict[str, datetime] | None:
    """The times that the cells are if that comes first where there is doubt; None if one does not exist."""
    try:
        return {cell: _date(cell, day_first) for cell in cells}
    except ValueError:
        return None


def _date(cell: str, day_first: bool) -> datetime:
    """The time that a cell is; a ValueError if there is none."""
    if _ISO.fullmatch(cell):
        return datetime.fromisoformat(cell)
    if match := _YEAR_FIRST.fullmatch(cell):
        month, day = match["a"], match["b"]
    elif match := _YEAR_LAST.fullmatch(cell):
        # Between points the day comes first everywhere.
        month, day = (
            (match["b"], match["a"]) if day_first or match["mark"] == "." else (match["a"], match["b"])
        )
    else:
        raise ValueError(cell)
    clock = match["clock"] or "0:00"
    text = f"{match['year']} {month} {day} {clock if clock.count(':') == 2 else f'{clock}:00'}"
    return datetime.strptime(text, "%Y %m %d %H:%M:%S")


def from_days(values: NDArray[np.float64]) -> NDArray[Any]:
    """Numbers of days since 1970 as dates; as times, to the second, where they are not whole."""
    whole = np.isclose(values, np.round(values))
    if whole.all():
        return np.round(values).astype(np.int64).astype("datetime64[D]")
    return np.round(values * 86_400).astype(np.int64).astype("datetime64[s]")


def date_text(value: float) -> str:
    """A number of days since 1970 as a date."""
    return str(np.datetime64(int(np.clip(round(value), -700_000, 2_900_000)), "D"))


def is_date(cell: Any) -> bool:
    """Whether a cell is a date, or text that is one as ISO 8601 writes it."""
    if isinstance(cell, date | np.datetime64):
        return True
    if not isinstance(cell, str) or len(cell.strip()) < len("2026-01-31"):
        return False
    try:
        datetime.fromisoformat(cell.strip())
    except ValueError:
        return False
    return True
