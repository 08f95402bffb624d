"""What each column of a table of items is: their names, a feature, or a detail that is only shown; and why.

The only place that decides it. A new kind of column, or another way to learn from one, goes here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data import naming
from coombs.data.files import NAME_HEADERS, NamedColumns
from coombs.data.tables import InputError, holds_text

Kind: TypeAlias = Literal["number", "text", "mixed"]
"""What the cells are; gaps apart. Mixed is a column of numbers with mistakes in it, or of gaps alone."""
Role: TypeAlias = Literal["names", "feature", "detail"]
"""A feature is learned from; a detail is shown and not learned from."""

FEWEST_COUNTED = 5
"""Rows from which on 1, 2, 3, ... is taken for a count of them, whatever the column is called."""
TAKEN_FOR_NAMES = "numbers the items: it is taken for their names and not learned from"
READABLE_HEADERS = ("name", "title", "item")
"""Columns of text that are called so are better to read than ids, the first of them best."""
_ID_WORDS = {"id", "ids", "uid", "uuid", "guid"}
"""Columns of which the first or the last word is one of these are ids, if all of their cells differ."""
_COUNTERS = {"", "#", "nr", "nr.", "no", "no.", "num", "number", "key", "index", "idx", "row", "unnamed: 0"}
"""Columns that are called so are ids as well, under the same condition."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WHOLE = re.compile(r"-?\d+")


@dataclass(frozen=True)
class ItemColumn:
    """What a column is, and a sentence that says why; `numbers_items`: its numbers only tell items apart."""

    name: str
    kind: Kind
    role: Role
    why: str
    numbers_items: bool


def item_columns(
    table: NamedColumns, features: Sequence[str] | None = None, names: str | None = None
) -> tuple[ItemColumn, ...]:
    """What the columns of a table are.

    Numbers are features and text is a detail, unless `features` says which columns to learn from. In files
    the first column is the names by its header or because it is text; otherwise one that numbers the items
    is. `names` says which column holds them instead.

    Examples
    --------
    >>> cars = NamedColumns({"price": np.array([4, 5]), "Car ID": np.array([17, 12])}, "parquet")
    >>> for column in item_columns(cars):
    ...     print(column.role, column.why, sep=": ")
    feature: Column 'price' is learned from.
    names: Column 'Car ID' numbers the items: it is taken for their names and not learned from.
    """
    candidates = _name_columns(table, features or ())
    names = names or next(iter(candidates), None)
    refuse_unknown(features or (), [name for name in table.columns if name != names])
    found = []
    for name, column in table.typed.items():
        kind = _kind(column)
        numbers_items = name in candidates and kind == "number"
        role, why = _role(name, kind, names, features, numbers_items)
        found.append(ItemColumn(name, kind, role, f"Column {name!r} {why}.", numbers_items))
    return tuple(found)


def _role(
    name: str, kind: Kind, names: str | None, features: Sequence[str] | None, numbers_items: bool
) -> tuple[Role, str]:
    """What a column is, and why."""
    if name == names:
        return "names", TAKEN_FOR_NAMES if numbers_items else "holds the names of the items"
    if features is not None and name not in features:
        return "detail", "is not one of the chosen features: it is shown and not learned from"
    if features is None and numbers_items:
        return "detail", "only numbers the items, and is not learned from"
    if features is None and kind == "text":
        return "detail", "is text: it is shown and not learned from"
    return "feature", "is learned from"


def refuse_unknown(wanted: Iterable[str | None], columns: Sequence[str]) -> None:
    """Refuse a column that is not there."""
    for name in wanted:
        if name is not None and name not in columns:
            raise InputError(f"There is no column {name!r}; the columns are {', '.join(columns)}.")


def readable_names(table: NamedColumns) -> str | None:
    """A column of text that is called name, title or item, where the first column is numbers or ids.

    For people who read the names on a page; answers in files call items by the first column.
    """
    columns = table.typed
    first = next(iter(columns))
    if holds_text(columns[first]) and not is_id_header(first):
        return None
    called = {name.strip().lower(): name for name in reversed(columns) if holds_text(columns[name])}
    return next((called[word] for word in READABLE_HEADERS if word in called), None)


def is_id_header(header: str) -> bool:
    """Whether a column is called as those that number things.

    Examples
    --------
    >>> [is_id_header(name) for name in ("Item ID", "car_id", "carId", "uuid", "nr", "humid", "idle")]
    [True, True, True, True, True, False, False]
    """
    words = [word.lower() for word in _WORDS.findall(header)]
    return header.strip().lower() in _COUNTERS or bool({*words[:1], *words[-1:]} & _ID_WORDS)


def _name_columns(table: NamedColumns, features: Sequence[str]) -> list[str]:
    """Columns that may hold the names, the likeliest first; never a feature.

    A pandas frame has names in its index or none; a polars frame, which has no index, in a column of text.
    """
    columns = table.typed
    free = [name for name in columns if name not in set(features)]
    if table.source == "pandas" or table.index is not None:
        return []
    if table.source == "polars":
        return [name for name in free if holds_text(columns[name])]
    named = [name for name in free if is_id_header(name) and _tells_apart(columns[name])]
    counting = [name for name in free if name not in named and _counts(table, name)]
    numbers = {name for name, column in columns.items() if not holds_text(column)}
    # Where there is nothing else to learn from, a column that counts is a feature.
    found = [*named, *(counting if numbers - {*named, *counting} else ())]
    first = next(iter(columns), None)
    if first in free and (first.strip().lower() in NAME_HEADERS or holds_text(columns[first])):
        return [first, *found]
    return found


def _tells_apart(column: NDArray[Any]) -> bool:
    """Whether every cell is there, differs from all others, and is text or a whole number."""
    texts = [naming.text(cell) for cell in column]
    whole = holds_text(column) or all(map(_WHOLE.fullmatch, texts))
    return whole and "" not in texts and len(set(texts)) == len(texts)


def _counts(table: NamedColumns, name: str) -> bool:
    """Whether a column is 0 to n - 1 or 1 to n in the order of the rows; the first column in any order.

    Numbers with a decimal point measure something, also where they are whole.
    """
    cells = table.columns[name].tolist()
    if len(cells) < FEWEST_COUNTED or not all(_WHOLE.fullmatch(str(cell)) for cell in cells):
        return False
    values = [int(cell) for cell in cells]
    values = sorted(values) if name == next(iter(table.columns)) else values
    return any(values == list(range(start, start + len(cells))) for start in (0, 1))


def _kind(column: NDArray[Any]) -> Kind:
    """What the cells of a column are."""
    if column.dtype.kind in "biuf":
        return "number" if np.isfinite(column).any() else "mixed"
    if column.dtype.kind in "mM":
        return "text"
    filled = [cell for cell in column if naming.text(cell)]
    if filled and all(map(_is_word, filled)):
        return "text"
    numbers = all(isinstance(cell, Real | Decimal | np.bool_) for cell in filled)
    return "number" if numbers and any(map(_is_finite, filled)) else "mixed"


def _is_word(cell: Any) -> bool:
    return isinstance(cell, date) or (isinstance(cell, str) and not _is_finite(cell))


def _is_finite(cell: Any) -> bool:
    """Whether a cell is, or reads as, a number that a float can be."""
    try:
        return math.isfinite(float(cell))
    except (OverflowError, TypeError, ValueError):
        return False
