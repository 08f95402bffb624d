"""What the cells of columns say: numbers with marks and units, words, and what is not known."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coombs.data import naming
from coombs.data.dates import Dates, UnclearDates, read_dates
from coombs.data.quantities import (
    CURRENCY,
    MARKS,
    Factors,
    Mark,
    Quantity,
    common_unit,
    is_known,
    may_be_number,
    plain_number,
    quantity,
)
from coombs.data.tables import Columns, FloatArray
from coombs.language import Translatable

UNKNOWN = frozenset({"", "n/a", "na", "?", "-", "–", "—", "null"})  # noqa: RUF001
"""Cells, in lower case, that say that something is not known, also in a column of words."""
UNKNOWN_NUMBERS = UNKNOWN | frozenset(
    {"--", ".", "n.a.", "nan", "none", "unknown", "tbd", "#n/a", "#div/0!", "#value!", "#ref!", "#num!"}
    | {"k.a.", "k. a.", "keine angabe", "unbekannt", "s/d", "desconocido"}
    | {"#name?", "#null!"}
)
"""Cells that say so in a column of numbers or dates."""
YES_AND_NO = (
    ("yes", "no"),
    ("y", "n"),
    ("ja", "nein"),
    ("j", "n"),
    ("oui", "non"),
    ("sí", "no"),
    ("si", "no"),
    ("true", "false"),
    ("wahr", "falsch"),
    ("vrai", "faux"),
)
"""Words for yes and no, in lower case, that go together."""
TICKS = ("x", "✓", "✔", "☑", "✅")
"""Marks for yes, beside which a blank is a no, unless there are marks for no."""
CROSSES = frozenset({"✗", "✘", "✕", "❌", "☐"})
"""Marks for no."""
_NOT_TICKED = frozenset({"", "-", "–", "—"})  # noqa: RUF001
_MOST_WORDS = 4
"""Cells that a phrase quotes."""
_CLOCK = re.compile(r"[0-9]{1,2}:[0-5][0-9]")
_PRICE = re.compile(rf"{CURRENCY}|%")


@dataclass(frozen=True)
class Reading:
    """How a column was read, where its cells are not simply what they look like.

    `unit` is that of all its numbers (`kg`, `€`, `%`), blank if they have none. `phrases` say to people what
    was done or why nothing was: `in GB (1 TB is 1000)`, `3 cells not known (n/a, -)`. `is_kept_as_text`: it
    looks like something else.
    """

    unit: str = ""
    phrases: tuple[str, ...] = ()
    decimal_commas: bool = False
    is_kept_as_text: bool = False

    @property
    def phrase(self) -> str:
        """The phrases in a line."""
        return "; ".join(self.phrases)


class ReadColumn(NamedTuple):
    """A column as numbers, dates or words, and how that was done if there is something to say."""

    cells: NDArray[Any]
    reading: Reading | None = None


@dataclass(frozen=True)
class _TextColumn:
    """The different cells of a column of text, and what each may be."""

    cells: list[str]

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each cell comes."""
        return Counter(self.cells)

    @cached_property
    def lower(self) -> dict[str, str]:
        """Each cell in lower case, without spaces around it."""
        return {cell: _word(cell) for cell in self.counts}

    @cached_property
    def known(self) -> list[str]:
        """The cells that say something, if the others are numbers."""
        return [cell for cell, word in self.lower.items() if word not in UNKNOWN_NUMBERS]

    @cached_property
    def numeric(self) -> list[str]:
        """The cells that begin as numbers and dates do, or are words for numbers."""
        return [cell for cell in self.known if may_be_number(cell)]

    @cached_property
    def quantities(self) -> dict[str, Quantity]:
        """The cells that are numbers with or without a unit."""
        found = {cell: quantity(cell) for cell in self.numeric}
        return {cell: one for cell, one in found.items() if one is not None}

    @cached_property
    def others(self) -> dict[str, float]:
        """Cells that are numbers in another way: true, false, infinity."""
        found = {cell: plain_number(cell) for cell in self.numeric if cell not in self.quantities}
        return {cell: value for cell, value in found.items() if value is not None}

    @cached_property
    def values(self) -> dict[Mark, dict[str, float]]:
        """The quantities' numbers for each mark that decimals may stand behind."""
        result: dict[Mark, dict[str, float]] = {}
        for mark in MARKS:
            found = {cell: one.value(mark) for cell, one in self.quantities.items()}
            result[mark] = {cell: value for cell, value in found.items() if value is not None}
        return result

    @cached_property
    def decimal_mark(self) -> Mark | None:
        """What decimals stand behind, if only one mark makes numbers of most of the cells."""
        points, commas = (self.total(self.values[mark]) for mark in MARKS)
        return None if points == commas else "." if points > commas else ","

    @property
    def is_clean(self) -> bool:
        """Whether one mark only makes numbers of all cells."""
        mark = self.decimal_mark
        return mark is not None and all(cell in self.values[mark] for cell in self.known)

    @property
    def is_ambiguous(self) -> bool:
        """Whether either mark could be meant, and the numbers would differ."""
        return self.decimal_mark is None and self.values["."] != self.values[","]

    def unit(self, cell: str) -> str:
        """The unit of a cell that is a number."""
        return self.quantities[cell].unit if cell in self.quantities else ""

    def total(self, cells: Iterable[str]) -> int:
        """How many rows have one of these cells."""
        return sum(self.counts[cell] for cell in cells)

    def array(self, value: Mapping[str, Any]) -> NDArray[Any]:
        """The column with a value for each cell, None for the others."""
        result = np.empty(len(self.cells), dtype=object)
        result[:] = [value.get(cell) for cell in self.cells]
        return result

    def words(self, reason: str = "") -> ReadColumn:
        """The column as words, and why, if it looks like something else."""
        if not reason and self.known and all(_CLOCK.fullmatch(cell.strip()) for cell in self.known):
            example = min(self.known).strip()
            reason = Translatable(
                "{example} may be hours and minutes, or minutes and seconds", example=example
            )
        words = {cell: cell.strip() for cell, word in self.lower.items() if word not in UNKNOWN}
        kept = Translatable("kept as text: {reason}", reason=reason) if reason else ""
        return ReadColumn(self.array(words), _reading(kept, self.not_known(UNKNOWN), text=bool(reason)))

    def not_known(self, words: Collection[str]) -> str:
        """As: 3 cells not known (n/a, -); blank where all of these are."""
        gaps = {cell: self.counts[cell] for cell, word in self.lower.items() if word in words}
        named = sorted({cell.strip() for cell in gaps} - {""})
        if not named:
            return ""
        times, shown = sum(gaps.values()), named[:_MOST_WORDS]
        if any(not cell.strip() for cell in gaps):
            shown.append(Translatable("blank"))
        return Translatable(
            "{n} cell not known ({cells})|{n} cells not known ({cells})", n=times, cells=shown
        )


def read_columns(
    columns: Columns, labels: Collection[str] = (), commas: bool = False
) -> dict[str, ReadColumn]:
    """Columns of text as numbers, dates and words.

    What stands before decimals is decided for each column by the cells that leave no doubt (`12,5`,
    `1.699,00`), or else by the other columns; with `commas` it is a comma where there is doubt in all of
    them. In columns that are `labels` only bare numbers are numbers.

    Examples
    --------
    >>> laptops = {"price": ["1,699", "2,100", "950"], "weight": ["2.3 kg", "900 g", "1 kg"]}
    >>> laptops = {name: np.array(cells, dtype=object) for name, cells in laptops.items()}
    >>> for name, (cells, reading) in read_columns(laptops).items():
    ...     print(name, cells, reading.unit, reading.phrase, sep="; ")
    price; [1699. 2100.  950.]; ; 2,100 is 2100
    weight; [2.3 0.9 1. ]; kg; in kg (900 g is 0.9)
    """
    texts: dict[str, _TextColumn] = {}
    result: dict[str, ReadColumn] = {}
    for name, column in columns.items():
        try:
            result[name] = ReadColumn(column.astype(np.float64))
        except ValueError:
            if name in labels:
                result[name] = ReadColumn(_labels(column))
            else:
                texts[name] = _TextColumn(column.tolist())
    marks = {one.decimal_mark for one in texts.values() if one.is_clean}
    if "," in marks or any(one.is_ambiguous for one in texts.values()):
        plain = {name: _TextColumn(columns[name].tolist()) for name in result if name not in labels}
        marks |= {one.decimal_mark for one in plain.values()}
        if marks - {None} == {","}:
            # Beside decimal commas 1.699 is a number of thousands.
            texts |= {name: one for name, one in plain.items() if one.is_ambiguous}
    certain = marks - {None}
    mark: Mark = "," if certain == {","} or (commas and certain != {"."}) else "."
    first = next(iter(columns), None)
    result |= {name: _read(one, mark, name == first) for name, one in texts.items()}
    return {name: result[name] for name in columns}


def read_frame_column(column: NDArray[Any]) -> ReadColumn:
    """A column of a frame, whose numbers have their types: only text with marks, units or dates is changed.

    Words for what is not known are taken for that beside numbers, too.

    Examples
    --------
    >>> read_frame_column(np.array(["12 km", "8 km"], dtype=object)).cells
    array([12.,  8.])
    >>> read_frame_column(np.array([12, "n/a"], dtype=object)).cells
    array([12., nan])
    """
    if column.dtype.kind not in "OUT":
        return ReadColumn(column)
    cells = column.tolist()
    filled = [cell for cell in cells if not naming.is_missing(cell)]
    if filled and all(isinstance(cell, str) for cell in filled):
        text = _TextColumn([cell if isinstance(cell, str) else "" for cell in cells])
        found = _read(text, ".", first=False)
        # Text that is numbers and nothing else is there on purpose: 12 may be a name.
        is_bare = found.cells.dtype.kind == "f" and all(plain_number(cell) is not None for cell in text.known)
        is_mixed = found.cells.dtype.kind == "O" and any(isinstance(cell, float) for cell in found.cells)
        return ReadColumn(column) if is_bare or is_mixed else found
    words = [cell for cell in filled if isinstance(cell, str)]
    if not words or any(_word(word) not in UNKNOWN_NUMBERS for word in words):
        return ReadColumn(column)
    try:
        known = [None if isinstance(cell, str) or naming.is_missing(cell) else cell for cell in cells]
        values = [np.nan if cell is None else float(cell) for cell in known]
    except (OverflowError, TypeError, ValueError):
        return ReadColumn(column)
    return ReadColumn(np.array(values), Reading(phrases=(_TextColumn(words).not_known(UNKNOWN_NUMBERS),)))


def yes_no(column: NDArray[Any]) -> FloatArray | None:
    """A column of words or marks for yes and no as 1 and 0, NaN where it is not known; None for any other.

    Where ticks stand beside blanks and nothing else, a blank is a no.

    Examples
    --------
    >>> yes_no(np.array(["ja", "Nein", "n/a"], dtype=object)).tolist()
    [1.0, 0.0, nan]
    >>> yes_no(np.array(["x", "", "x"], dtype=object)).tolist()
    [1.0, 0.0, 1.0]
    >>> yes_no(np.array(["red", "no"], dtype=object))
    """
    if column.dtype.kind not in "OUT":
        return None
    words = [_word(naming.text(cell)) for cell in column.tolist()]
    found = set(words)
    signs = next((pair for pair in YES_AND_NO if found - UNKNOWN and found - UNKNOWN <= {*pair}), None)
    value = dict(zip(signs, (1.0, 0.0), strict=True)) if signs else _ticked(found)
    return np.array([value.get(word, np.nan) for word in words]) if value else None


def says_yes_or_no(cell: str) -> bool:
    """Whether a cell is a word or mark for yes or no, or for what is not known."""
    return _word(cell) in {*UNKNOWN, *TICKS, *CROSSES, *(word for pair in YES_AND_NO for word in pair)}


def _ticked(words: set[str]) -> dict[str, float]:
    """What each mark means in a column of ticks, of crosses, or of both; nothing for other columns."""
    tick = next((mark for mark in TICKS if mark in words), None)
    crosses = words & CROSSES
    if (tick is None and not crosses) or words - UNKNOWN - {tick} - CROSSES:
        return {}
    no = crosses or _NOT_TICKED
    return dict.fromkeys(no, 0.0) | ({} if tick is None else {tick: 1.0})


def _is_money_in_thousands(text: _TextColumn) -> bool:
    """Whether all are amounts of money, and each with a point has three digits behind it, as no price has."""
    pointed = [one.number for one in text.quantities.values() if "." in one.number]
    is_money = all(re.fullmatch(CURRENCY, one.unit) for one in text.quantities.values())
    return bool(pointed) and is_money and all(re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})+", one) for one in pointed)


def _read(text: _TextColumn, preferred: Mark, first: bool) -> ReadColumn:
    """A column of text as numbers, dates or words.

    In a first column things may be called `5 km`, `10 km`: it is words if all differ and are no prices.
    """
    if not text.numeric:
        return text.words()
    mark = text.decimal_mark or preferred
    if any(plain_number(cell) is not None for cell in text.quantities if cell not in text.values[mark]):
        # 12,5 beside 12.5: one of them is a mistake, and the bare number is not called that.
        mark = "."
    elif text.decimal_mark is None and _is_money_in_thousands(text):
        mark = ","
    values = text.values[mark] | text.others
    odd = [cell for cell in text.known if cell not in values]
    if odd and (dates := read_dates({cell.strip() for cell in text.known})):
        return _times(text, dates)
    units = Counter[str]()
    for cell in values:
        units[text.unit(cell)] += text.counts[cell]
    if odd or ("" in units and len(units) > 1):
        return _mixed(text, values, units, odd)
    if "" in units:
        return _numbers(text, values, mark, "", {"": 1.0})
    shared = common_unit(units)
    if all(map(is_known, units)):
        if shared is None:
            one, other = sorted(units)[:2]
            return text.words(
                Translatable("{one} and {other} do not convert into each other", one=one, other=other)
            )
        if first and len(text.counts) == len(text.cells) and not any(map(_PRICE.match, units)):
            return text.words()
    elif shared is None or first or len(set(values.values())) == 1:
        return text.words()
    return _numbers(text, values, mark, *shared)


def _times(text: _TextColumn, dates: Dates | UnclearDates) -> ReadColumn:
    """A column of dates, or of words if it is not clear which dates."""
    if isinstance(dates, UnclearDates):
        return text.words(dates.reason)
    times = text.array({cell: dates.values[cell.strip()] for cell in text.known})
    unit = next(iter(dates.values.values())).dtype
    return ReadColumn(times.astype(unit), _reading(dates.phrase, text.not_known(UNKNOWN_NUMBERS)))


def _mixed(text: _TextColumn, values: dict[str, float], units: Counter[str], odd: list[str]) -> ReadColumn:
    """A column some of whose cells are not numbers: numbers with mistakes, or words.

    It is words if no cell is a bare number and at most half of them are numbers with marks or units.
    """
    bare = {cell: value for cell, value in values.items() if not text.unit(cell)}
    shared = None if bare else common_unit(units) if units and all(map(is_known, units)) else None
    if shared:
        bare = {cell: value * shared[1][text.unit(cell)] for cell, value in values.items()}
    if not any(plain_number(cell) is not None for cell in bare) and text.total(bare) <= text.total(odd):
        return text.words()
    return ReadColumn(text.array({cell: cell for cell in text.known} | bare))


def _numbers(
    text: _TextColumn, values: dict[str, float], mark: Mark, unit: str, factors: Factors
) -> ReadColumn:
    """A column of numbers in one unit, and what was done to have them."""
    value = {cell: number * factors[text.unit(cell)] for cell, number in values.items()}
    column = np.array([value.get(cell, np.nan) for cell in text.cells])
    quantities = {cell: text.quantities[cell] for cell in values if cell in text.quantities}
    marked = [one.number for one in quantities.values() if plain_number(one.number) != one.value(mark)]
    converted = [cell for cell in quantities if factors[text.unit(cell)] != 1.0]
    commas = mark == "," and any("," in number for number in marked)
    phrases: list[str] = []
    if unit:
        example = min(converted, key=lambda cell: (len(cell), cell), default="")
        phrases.append(_in_unit(unit, example, value))
    if marked:
        example = max(marked, key=lambda number: (number.count("," if commas else ""), len(number), number))
        said = _same_as(example, f"{Quantity(example, '').value(mark):.15g}")
        phrases.append(Translatable("decimal commas ({example})", example=said) if commas else said)
    found = _reading(*phrases, text.not_known(UNKNOWN_NUMBERS))
    return ReadColumn(column, None if found is None else replace(found, unit=unit, decimal_commas=commas))


def _in_unit(unit: str, example: str, value: Mapping[str, float]) -> str:
    """As: in GB (1 TB is 1000)."""
    if not example:
        return Translatable("in {unit}", unit=unit)
    said = _same_as(example.strip(), f"{value[example]:.15g}")
    return Translatable("in {unit} ({example})", unit=unit, example=said)


def _same_as(cell: str, number: str) -> str:
    """How a cell was read."""
    return Translatable("{cell} is {number}", cell=cell, number=number)


def _labels(column: NDArray[Any]) -> NDArray[Any]:
    """A column that calls things: numbers where a cell is one, None where it is blank, or else the text."""
    found = np.empty(len(column), dtype=object)
    for i, cell in enumerate(column.tolist()):
        number = plain_number(cell)
        found[i] = number if number is not None else cell if cell.strip() else None
    return found


def _word(cell: str) -> str:
    return cell.strip().casefold()


def _reading(*phrases: str, text: bool = False) -> Reading | None:
    """What there is to say, if anything."""
    told = tuple(filter(None, phrases))
    return Reading(phrases=told, is_kept_as_text=text) if told else None


def no_numbers(cells: NDArray[Any]) -> list[int]:
    """Rows of a column that hold something else beside numbers, as "on request"; none of a column of words.

    Examples
    --------
    >>> no_numbers(np.array([4500.0, "on request", ""], dtype=object))
    [1]
    """
    filled = [i for i, cell in enumerate(cells.tolist()) if not naming.is_missing(cell) and cell != ""]
    words = [i for i in filled if isinstance(cells[i], str) and not is_finite(cells[i])]
    return words if len(words) < len(filled) else []


def is_finite(cell: Any) -> bool:
    """Whether a cell is, or reads as, a number that a float can be."""
    try:
        return math.isfinite(float(cell))
    except (OverflowError, TypeError, ValueError):
        return False
