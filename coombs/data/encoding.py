"""How the columns of a table become the numbers that are learned from, and how these are read again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coombs.data import cells as reading
from coombs.data import naming, tables
from coombs.data.cell_errors import MUST, feature_called, wrong_cell
from coombs.data.dates import from_days
from coombs.data.tables import Columns, FloatArray, InputError, Levels, Names, Where
from coombs.language import Translatable

NUMBER = "number"
LOG = "log"
CATEGORY = "category"
ORDERED = "ordered"
YES_NO = "yes/no"
DATE = "date"
LEARNED = (NUMBER, LOG, CATEGORY, ORDERED, YES_NO, DATE)
"""What a column may be learned from as: the whole list."""
SAID = "said"
"""What decided on which scale a number is: the user."""
ANSWERS = "answers"
"""What decided on which scale a number is: the answers, which it predicts better."""
NOT_KNOWN = "not known"
"""The level of a category's cells that are blank."""
DAY = np.timedelta64(1, "D")
"""The unit of dates, which are counted from 1970."""
SHOWN_LEVELS = 5
"""Levels that a description or a message names."""


@dataclass(frozen=True)
class FeatureColumn:
    """How one column of a table becomes numbers.

    Parameters
    ----------
    name : of the column
    role : one of `LEARNED`; a category has a column of 0 and 1 for every level, the others have one column
    levels : of a category; of an ordered one, the lowest first
    unit : of the cells, or empty
    gaps : how many cells were not known
    fill : what stands, as a number, for a cell that is not known; None where every cell must be
    gaps_of : the column of which this one says, as yes or no, that a cell is not known; or empty
    scale_by : of a number, what decided on a log scale or none: `SAID`, `ANSWERS`, or empty, the column

    Examples
    --------
    >>> town = FeatureColumn("town", "category", ("rural", "urban"))
    >>> town.names, town.encode(np.array(["urban", "rural"]), tables.row).tolist()
    (('town=rural', 'town=urban'), [[0.0, 1.0], [1.0, 0.0]])
    """

    name: str
    role: str = NUMBER
    levels: tuple[str, ...] = ()
    unit: str = ""
    gaps: int = 0
    fill: float | None = None
    gaps_of: str = ""
    scale_by: str = ""

    @property
    def source(self) -> str:
        """The column of the table whose cells it is made of."""
        return self.gaps_of or self.name

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns that it becomes."""
        if self.role == CATEGORY:
            return tuple(f"{self.name}={level}" for level in self.levels)
        return (self.name,)

    @property
    def is_plain(self) -> bool:
        """Whether its cells are the numbers that are learned from."""
        return self.role == NUMBER and self.fill is None and not self.unit and not self.scale_by

    def encode(self, cells: NDArray[Any], where: Where) -> FloatArray:
        """(n, k) numbers of these cells; a level that is not among those known is 0 in all columns."""
        if self.gaps_of:
            return is_gap(cells).astype(np.float64)[:, None]
        if self.role == CATEGORY:
            texts = np.array(level_texts(cells), dtype=object)
            result: FloatArray = (texts[:, None] == np.array(self.levels, dtype=object)).astype(np.float64)
            return result
        values = self._values(cells, where)
        gaps = np.isnan(values)
        if gaps.any() and self.fill is None:
            i = int(gaps.argmax())
            raise wrong_cell(feature_called(self.name), where(i), "nan", MUST["known"])
        if self.fill is not None:
            values[gaps] = self.fill
        return values[:, None]

    def _values(self, cells: NDArray[Any], where: Where) -> FloatArray:
        """(n,) numbers, NaN where a cell is not known."""
        if self.role == ORDERED:
            return self._codes(cells, where)
        if self.role == YES_NO:
            return yes_or_no(cells, self.name, where)
        if self.role == DATE:
            return days(cells, self.name, where)
        called = feature_called(self.name)
        values = tables.numbers(cells, called, where)
        if np.isinf(values).any():
            i = int(np.isinf(values).argmax())
            raise wrong_cell(called, where(i), values[i], MUST["finite"])
        if self.role == LOG:
            if (values <= 0).any():
                i = int((values <= 0).argmax())
                raise wrong_cell(called, where(i), f"{values[i]:g}", MUST["positive"])
            return np.log(values)
        return values

    def _codes(self, cells: NDArray[Any], where: Where) -> FloatArray:
        """Places among the levels."""
        places = {level: float(place) for place, level in enumerate(self.levels)}
        texts = level_texts(cells)
        for i, text in enumerate(texts):
            if text != NOT_KNOWN and text not in places:
                more = ", ..." * (len(self.levels) > SHOWN_LEVELS)
                known = ", ".join(map(repr, self.levels[:SHOWN_LEVELS])) + more
                must = Translatable("the levels are {levels}", levels=known)
                raise wrong_cell(feature_called(self.name), where(i), repr(text), must)
        return np.array([places.get(text, math.nan) for text in texts])

    def unseen(self, cells: NDArray[Any]) -> list[str]:
        """Levels of a category that it was not learned from."""
        if self.role != CATEGORY:
            return []
        return sorted(set(level_texts(cells)) - set(self.levels))

    def cells(self, values: FloatArray) -> NDArray[Any]:
        """(n,) cells, from the (n, k) numbers that they became; None for a level that is not known."""
        if self.role == CATEGORY:
            found = [
                self.levels[i] if row.any() else None for i, row in zip(values.argmax(1), values, strict=True)
            ]
            return _objects(None if level == NOT_KNOWN else level for level in found)
        if self.role == ORDERED:
            last = len(self.levels) - 1
            return _objects(self.levels[int(np.clip(round(value), 0, last))] for value in values[:, 0])
        if self.role == DATE:
            return from_days(values[:, 0])
        result: NDArray[Any] = self.shown(values[:, 0])
        return result

    def text(self, cell: Any) -> str:
        """A cell that came back from numbers, as people read it."""
        if self.role == YES_NO and cell is not None:
            return Translatable("yes") if cell else Translatable("no")
        text = naming.text(cell)
        return Translatable("not known") if text in ("", NOT_KNOWN) else text

    def shown(self, values: Any) -> Any:
        """Numbers as the table has them, from those that are learned from."""
        if self.role != LOG:
            return values
        # What was 500 is 500 again, not 499.99999999999994.
        return _rounded(np.exp(values))

    def number(self, values: Any) -> Any:
        """The way back."""
        return np.log(values) if self.role == LOG else values

    @property
    def what(self) -> str:
        """What it is learned from as: "number, on a log scale"; "6 categories"; "number in kg"."""
        n_levels = len({*self.levels} - {NOT_KNOWN})
        ordered = " < ".join(self.levels[:SHOWN_LEVELS]) + " < ..." * (len(self.levels) > SHOWN_LEVELS)
        what: str = {
            CATEGORY: Translatable("{n} category|{n} categories", n=n_levels),
            ORDERED: ordered,
            YES_NO: Translatable("yes or no"),
            DATE: Translatable("date"),
        }.get(self.role, Translatable("number"))
        if self.unit:
            what = Translatable("{what} in {unit}", what=what, unit=self.unit)
        if self.role == LOG:
            what = Translatable("{what}, on a log scale", what=what)
        elif self.scale_by == ANSWERS:
            what = Translatable("{what}, not on a log scale", what=what)
        if self.scale_by == ANSWERS:
            what = Translatable("{what}, as that predicts these answers better", what=what)
        return what

    def axis_name(self, name: str) -> str:
        """What an axis of its numbers is called: a name, with the unit."""
        return f"{name} ({self.unit})" if self.unit else name

    @property
    def description(self) -> str:
        """As "price: number, on a log scale"; "town: 6 categories"; "weight: number in kg, 3 not known"."""
        gaps = f", {self.gaps} {NOT_KNOWN}" if self.gaps else ""
        return f"{self.name}: {self.what}{gaps}"


class Mark(NamedTuple):
    """An item, by name, and the columns of which its cell is not known."""

    item: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Encoding:
    """How a table becomes the matrix that is learned from: a record for each column, in their order.

    `marked` are items of which some cell is not known: each has a column of its own after all others, 1 for
    that item, so that answers about it can say what the cell does not.

    Examples
    --------
    >>> known = Encoding((FeatureColumn("size"), FeatureColumn("town", "category", ("rural", "urban"))))
    >>> table = {"size": np.array([3.0, 4.0]), "town": np.array(["urban", "rural"])}
    >>> known.encode(table, tables.row).tolist(), known.blocks
    ([[3.0, 0.0, 1.0], [4.0, 1.0, 0.0]], ((0,), (1, 2)))
    """

    columns: tuple[FeatureColumn, ...]
    marked: tuple[Mark, ...] = ()

    @property
    def table_names(self) -> list[str]:
        """What the columns of the table are called."""
        return [one.name for one in self.columns if not one.gaps_of]

    @cached_property
    def names(self) -> Names:
        """(D,) of the matrix's columns."""
        marks = [f"{NOT_KNOWN}: {mark.item}" for mark in self.marked]
        return np.array([*(name for one in self.columns for name in one.names), *marks], dtype=object)

    @cached_property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """Which columns of the matrix each column of the table became; the marks, if any, are one more."""
        sizes = [len(one.names) for one in self.columns] + [len(self.marked)] * bool(self.marked)
        ends = np.cumsum([0, *sizes]).tolist()
        return tuple(tuple(range(begin, end)) for begin, end in pairwise(ends))

    @property
    def levels(self) -> Levels:
        """The blocks that are levels of a category, or marks."""
        kinds = [one.role == CATEGORY for one in self.columns] + [True] * bool(self.marked)
        chosen = [k for k, is_level in enumerate(kinds) if is_level]
        present = tuple(float(k < len(self.columns)) for k in chosen)
        return Levels(tuple(self.blocks[k] for k in chosen), present)

    @property
    def is_plain(self) -> bool:
        """Whether it leaves all numbers as they are."""
        return all(one.is_plain for one in self.columns) and not self.marked

    def encode(
        self, columns: Mapping[str, NDArray[Any]], where: Where, names: Sequence[str] = ()
    ) -> FloatArray:
        """(n, D) numbers of items in named columns; `names` are what the items are called."""
        for name in self.table_names:
            if name not in columns:
                learned = ", ".join(self.table_names)
                raise InputError(f"There is no column {name!r}; the model was learned from {learned}.")
        parts = [one.encode(columns[one.source], where) for one in self.columns]
        if self.marked:
            called = np.array(list(names) or [""] * len(parts[0]), dtype=object)
            gaps = self._has_gap(columns)
            parts += [((called == mark.item) & gaps).astype(float)[:, None] for mark in self.marked]
        return np.ascontiguousarray(np.hstack(parts))

    def _has_gap(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """(n,) whether a cell that has no level of its own for it is not known."""
        missing = [is_gap(columns[one.name]) for one in self.columns if one.fill is not None]
        result: NDArray[np.bool_] = np.logical_or.reduce(missing)
        return result

    def unseen(self, columns: Mapping[str, NDArray[Any]]) -> list[str]:
        """Sentences about levels that it was not learned from."""
        return [
            f"{one.name} {', '.join(map(repr, strange[:SHOWN_LEVELS]))} was not learned from: "
            "it is taken for an average one."
            for one in self.columns
            if (strange := one.unseen(columns[one.source]))
        ]

    def cells(self, matrix: FloatArray) -> Columns:
        """The table's columns, from the matrix that they became; None for a cell that is not known."""
        found = {
            one.name: one.cells(matrix[:, list(block)])
            for one, block in zip(self.columns, self.blocks, strict=False)
            if not one.gaps_of
        }
        for name, rows in self._gaps(matrix):
            if rows.any():
                found[name] = found[name].astype(object)
                found[name][rows] = None
        return found

    def is_known(self, matrix: FloatArray, names: Sequence[str]) -> NDArray[np.bool_]:
        """(n,) whether the cells of all these columns are known."""
        known = np.ones(len(matrix), dtype=bool)
        for name, rows in self._gaps(matrix):
            known &= ~rows if name in names else True
        return known

    def _gaps(self, matrix: FloatArray) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Columns with cells that are not known, and (n,) which these are."""
        for one, block in zip(self.columns, self.blocks, strict=False):
            if one.gaps_of:
                yield one.gaps_of, matrix[:, block[0]] > 0
        first = len(self.names) - len(self.marked)
        for k, mark in enumerate(self.marked):
            for name in mark.columns:
                yield name, matrix[:, first + k] > 0

    def to_dict(self) -> dict[str, Any]:
        """In plain types, for JSON."""
        marked = [[mark.item, list(mark.columns)] for mark in self.marked]
        return {"columns": [_plain(one) for one in self.columns], "marked": marked}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """From `to_dict`; ValueError where it is not one."""
        try:
            columns = tuple(_column(one) for one in data["columns"])
            marked = tuple(Mark(item, tuple(names)) for item, names in data.get("marked", []))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"columns cannot be read ({error!r})") from error
        called = {one.name for one in columns}
        if not all(isinstance(mark.item, str) and called.issuperset(mark.columns) for mark in marked):
            raise ValueError("marked must be items, each with names of columns")
        if not called.issuperset(one.source for one in columns):
            raise ValueError("gaps_of must be a column")
        result = cls(columns, marked)
        if len(set(result.names)) < len(result.names):
            raise ValueError("names are repeated")
        return result


def is_gap(cells: NDArray[Any]) -> NDArray[np.bool_]:
    """(n,) whether each cell is blank."""
    if cells.dtype.kind in "fmM":
        missing: NDArray[np.bool_] = np.isnan(cells) if cells.dtype.kind == "f" else np.isnat(cells)
        return missing
    return np.array([text == NOT_KNOWN for text in level_texts(cells)], dtype=bool)


def level_texts(cells: NDArray[Any]) -> list[str]:
    """Cells as the names of levels."""
    return [
        naming.text(cell).strip() or NOT_KNOWN
        for cell in (cells if cells.dtype.kind in "mM" else cells.tolist())
    ]


def yes_or_no(cells: NDArray[Any], name: str, where: Where) -> FloatArray:
    """Cells that say yes or no, or are 1 or 0, as 1 and 0, NaN where they say nothing."""
    values = reading.yes_no(cells)
    if values is None:
        odd = (
            i for i, cell in enumerate(cells) if isinstance(cell, str) and not reading.says_yes_or_no(cell)
        )
        if (i := next(odd, None)) is not None:
            raise wrong_cell(feature_called(name), where(i), repr(cells[i]), MUST["yes"])
        values = tables.numbers(cells, feature_called(name), where)
    wrong = ~np.isin(values, (0.0, 1.0)) & ~np.isnan(values)
    if wrong.any():
        i = int(wrong.argmax())
        raise wrong_cell(feature_called(name), where(i), f"{values[i]:g}", MUST["yes"])
    return values


def days(cells: NDArray[Any], name: str, where: Where) -> FloatArray:
    """Dates as days since 1970, NaN where there is none."""
    if cells.dtype.kind == "M":
        result: FloatArray = (cells - np.datetime64(0, "D")) / DAY
        return np.where(np.isnat(cells), np.nan, result)
    return np.array([_day(cell, name, where, i) for i, cell in enumerate(cells)])


def _day(cell: Any, name: str, where: Where, i: int) -> float:
    text = naming.text(cell).strip()
    if not text:
        return math.nan
    try:
        return float((np.datetime64(datetime.fromisoformat(text), "s") - np.datetime64(0, "s")) / DAY)
    except (ValueError, TypeError) as error:
        raise wrong_cell(feature_called(name), where(i), repr(text), MUST["date"]) from error


def _rounded(values: Any) -> Any:
    """Numbers with 13 digits."""
    sizes = 10.0 ** (12 - np.floor(np.log10(values)))
    return np.round(values * sizes) / sizes


def _objects(values: Any) -> NDArray[Any]:
    found = list(values)
    result = np.empty(len(found), dtype=object)
    result[:] = found
    return result


def _plain(one: FeatureColumn) -> dict[str, Any]:
    """A column's record without what it has by default."""
    values = {field.name: getattr(one, field.name) for field in fields(one)}
    kept = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {
        name: value
        for name, value in kept.items()
        if name in ("name", "role") or value not in ([], "", 0, None)
    }


def _column(data: Mapping[str, Any]) -> FeatureColumn:
    """A column's record, checked."""
    given = dict(data)
    levels = given.pop("levels", [])
    one = FeatureColumn(levels=tuple(levels), **given)
    texts = (one.name, one.role, one.unit, one.gaps_of, one.scale_by, *one.levels)
    if not isinstance(levels, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("names, roles, units and levels must be texts")
    if one.role not in LEARNED or (one.role in (CATEGORY, ORDERED)) != bool(levels):
        raise ValueError(f"column {one.name!r} is {one.role!r} with {len(levels)} levels")
    if one.fill is not None and not (isinstance(one.fill, float | int) and math.isfinite(one.fill)):
        raise ValueError(f"fill of column {one.name!r} is {one.fill!r}")
    if one.scale_by not in ("", *([SAID, ANSWERS] if one.role in (NUMBER, LOG) else [])):
        raise ValueError(f"scale_by of column {one.name!r} is {one.scale_by!r}")
    if type(one.gaps) is not int or one.gaps < 0:
        raise ValueError(f"gaps of column {one.name!r} is {one.gaps!r}")
    return one
