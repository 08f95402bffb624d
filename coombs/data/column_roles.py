"""What each column of a table of items is: their names, a feature, or a detail that is only shown; and why.

The only place that decides it. A new kind of column, or another way to learn from one, goes here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import islice
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data import cells, naming
from coombs.data.dates import is_date
from coombs.data.encoding import (
    CATEGORY,
    DATE,
    LEARNED,
    LOG,
    NOT_KNOWN,
    NUMBER,
    ORDERED,
    YES_NO,
    is_gap,
    level_texts,
)
from coombs.data.files import NAME_HEADERS, NamedColumns
from coombs.data.known_orders import known_order
from coombs.data.scaling import LARGEST
from coombs.data.tables import InputError, holds_text
from coombs.language import Translatable

Kind: TypeAlias = Literal["number", "text", "mixed"]
"""What the cells are; gaps apart. Mixed is a column of numbers with mistakes in it, or of gaps alone."""
Role: TypeAlias = Literal["names", "feature", "detail", "ignored"]
"""A feature is learned from; a detail is shown and not learned from; what is ignored is neither."""
Roles: TypeAlias = Mapping[str, str | Sequence[str]]
"""What columns are said to be: one of `ROLES` each, or the levels of an ordered one, the lowest first."""
IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif")
"""How names of files of pictures end."""
ROLES = (*LEARNED, "text", "names", "ignore")
"""What a column may be said to be: the whole list."""
_AS = {
    NUMBER: "",
    LOG: " on a log scale",
    CATEGORY: " as a category",
    ORDERED: " as ordered levels",
    YES_NO: " as yes or no",
    DATE: " as dates",
}
_SHOWN = "is shown and not learned from"
_BLANKS = Translatable("has more blank cells than others")
MOST_LEVELS = 30
"""Different words of a column of text that is taken for a category, at most."""
ROWS_A_LEVEL = 3
"""Rows for each level of a category, at least, if there are more than two levels."""
LONGEST_LEVEL = 60
"""Characters of a level of a category, at most."""
DECADES = 100.0
"""Ratio of the largest to the smallest positive number from which on a log scale is considered."""
FEWEST_ON_LOG = 8
"""Numbers that a column needs for a log scale to be considered."""
DECADE = 10.0
"""Ratio of the largest to the smallest number from which on answers may decide for a log scale."""
FEWEST_VALUES = 5
"""Different numbers that a column needs for answers to tell that."""

FEWEST_COUNTED = 5
"""Rows from which on 1, 2, 3, ... is taken for a count of them, whatever the column is called."""
LONGEST_HEADING = 60
"""Characters of a text that can be a name by its place alone."""
READABLE_HEADERS = ("name", "title", "item", "titel", "bezeichnung", "nombre", "título", "titulo")
"""Columns of text that are called so are better to read than ids, the first of them best."""
_ID_WORDS = {"id", "ids", "uid", "uuid", "guid"}
"""Columns of which the first or the last word is one of these are ids, if all of their cells differ."""
_COUNTERS = {"", "#", "nr", "nr.", "no", "no.", "num", "number", "key", "index", "idx", "row", "unnamed: 0"}
"""Columns with one of these names are ids, too, if all of their cells differ."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WHOLE = re.compile(r"-?\d+")


@dataclass(frozen=True)
class ItemColumn:
    """What a column is, and a sentence that says why; `numbers_items`: its numbers only tell items apart.

    A feature is learned from as `learned_as` says, a category or an ordered column with these `levels`.
    `reason` is what the sentence says of the cells, where that decided: "is text"; `against` says in a few
    words what is against learning from text. `is_said`: the user said what it is.
    """

    name: str
    kind: Kind
    role: Role
    why: str
    numbers_items: bool
    learned_as: str = ""
    levels: tuple[str, ...] = ()
    reason: str = ""
    against: str = ""
    is_said: bool = False


def item_columns(
    table: NamedColumns,
    features: Sequence[str] | None = None,
    names: str | None = None,
    roles: Roles | None = None,
) -> tuple[ItemColumn, ...]:
    """What the columns of a table are.

    Numbers, dates, yes and no, and text of few different words are features; other text is a detail, unless
    `features` says which columns to learn from, or `roles` what a column is. In files the first column is the
    names by its header or because it is text; otherwise one that numbers the items is. `names` says which
    column holds them instead.

    Examples
    --------
    >>> cars = NamedColumns({"price": np.array([4, 5]), "Car ID": np.array([17, 12])}, "parquet")
    >>> for column in item_columns(cars):
    ...     print(column.role, column.why, sep=": ")
    feature: Column 'price' is learned from.
    names: Column 'Car ID' numbers the items: it is taken for their names and not learned from.
    """
    roles = _checked_roles({} if roles is None else roles, [*table.columns, *(features or ())])
    given = [name for name, role in roles.items() if role == "names"]
    candidates = _name_columns(table, [*(features or ()), *(name for name in roles if name not in given)])
    names = next(iter(given), None) or names or next(iter(candidates), None)
    refuse_unknown(features or (), [name for name in table.columns if name != names])
    found = []
    for name, column in table.typed.items():
        kind = _kind(column)
        numbers_items = name in candidates and kind == "number"
        learned_as, levels = _learned_as(table, name, kind, roles.get(name), features is not None)
        role, reason, then = _role(name, names, learned_as, roles.get(name), features, numbers_items)
        against = _against_levels(column) if role == "detail" and kind == "text" else ""
        is_guess = roles.get(name) is None and features is None
        if role == "feature" and is_guess and _is_mostly_blank(table, name, learned_as):
            role, reason, then = "detail", _BLANKS, f": it {_SHOWN}"
            against = "more than half of its cells are blank"
        if role != "feature":
            learned_as, levels = "", ()
        what = (f"Column {name!r} {reason}{then}.", numbers_items, learned_as, levels, then and reason)
        found.append(ItemColumn(name, kind, role, *what, against, name in roles))
    return tuple(found)


def _is_mostly_blank(table: NamedColumns, name: str, learned_as: str) -> bool:
    """Whether more than half of the cells are not known; beside ticks, a blank is a no."""
    column = table.typed[name]
    values = cells.yes_no(table.columns[name]) if learned_as == YES_NO else None
    gaps = is_gap(column) if values is None else np.isnan(values)
    return 2 * int(gaps.sum()) > len(column)


def _checked_roles(roles: Roles, columns: Sequence[str]) -> dict[str, str | tuple[str, ...]]:
    """Roles by column, once each is one that there is."""
    if not isinstance(roles, Mapping):
        raise InputError(f"roles is {roles!r}; it must be a dict from columns' names to what they are.")
    refuse_unknown(map(str, roles), columns)
    found = {str(name): checked_role(name, role) for name, role in roles.items()}
    if sum(role == "names" for role in found.values()) > 1:
        raise InputError("More than one column has the role 'names'; one holds the names of the items.")
    return found


def checked_role(name: str, role: str | Sequence[str]) -> str | tuple[str, ...]:
    """The role of a column, or its levels, once it is one that there is."""
    if isinstance(role, list | tuple):
        levels = tuple(naming.text(level).strip() for level in role)
        if len(set(levels)) < max(len(role), 2):
            raise InputError(
                "The levels of {name} must be two or more, in order, each once.", name=repr(name)
            )
        return levels
    if role not in ROLES:
        known = ", ".join(map(repr, ROLES))
        raise InputError(f"The role of {name!r} is {role!r}; it must be one of {known}, or a list of levels.")
    return str(role)


def _learned_as(
    table: NamedColumns, name: str, kind: Kind, role: str | tuple[str, ...] | None, is_chosen: bool
) -> tuple[str, tuple[str, ...]]:
    """What a column would be learned from as, and its levels; nothing where it is only to be shown."""
    declared, column = table.categorical.get(name), table.typed[name]
    if isinstance(role, tuple):
        return ORDERED, role
    if role is None:
        role = _guess(table, name, kind, is_chosen)
    if role == ORDERED:
        if declared is not None and declared.levels:
            return ORDERED, declared.levels
        return ORDERED, _ordered_levels(name, column)
    return (role, ()) if role in LEARNED else ("", ())


def _guess(table: NamedColumns, name: str, kind: Kind, is_chosen: bool) -> str:
    """What a column is probably learned from as; "text" if it is not."""
    declared, column = table.categorical.get(name), table.typed[name]
    if declared is not None:
        return ORDERED if declared.is_ordered else CATEGORY
    if column.dtype.kind == "b" or cells.yes_no(table.columns[name]) is not None:
        return YES_NO
    filled = [cell for cell in column if not naming.is_missing(cell)]
    if column.dtype.kind == "M" or (filled and all(map(is_date, filled))):
        return DATE
    if kind == "text":
        return CATEGORY if is_chosen or _has_few_levels(column) else "text"
    return LOG if kind == "number" and _spans_decades(column) else NUMBER


def _has_few_levels(column: NDArray[Any]) -> bool:
    """Whether the cells of a column of text are so few different words that they can be learned from."""
    return not _against_levels(column)


def _against_levels(column: NDArray[Any]) -> str:
    """What is against taking the cells of a column of text for levels; empty if nothing is."""
    texts = [text for text in level_texts(column) if text != NOT_KNOWN]
    levels = set(texts)
    if len(levels) < 2:
        return "all of its cells are the same" if levels else "all of its cells are blank"
    if any("://" in text for text in levels):
        return "it has links"
    if all(text.lower().endswith(IMAGE_ENDINGS) for text in levels):
        return "it has pictures"
    if any(len(text) > LONGEST_LEVEL for text in levels):
        return f"it has texts of more than {LONGEST_LEVEL} characters"
    if len(levels) == len(texts):
        return "every cell is another text"
    if len(levels) > min(MOST_LEVELS, max(2, len(texts) // ROWS_A_LEVEL)):
        return f"it has {len(levels)} different texts in {len(texts)} cells"
    return ""


def _repeats(column: NDArray[Any]) -> bool:
    """Whether the cells of a column are so few different words, each so often, that they cannot be names."""
    return _has_few_levels(column) and len(column) >= ROWS_A_LEVEL * len(set(level_texts(column)))


def _spans_decades(column: NDArray[Any]) -> bool:
    """Whether numbers are positive, over two decades or more, and less lopsided on a log scale."""
    values = _numbers(column)
    # Numbers too large to be features are refused as they are, not hidden behind their logarithms.
    if len(values) < FEWEST_ON_LOG or not _spans(values, DECADES) or values.max() > LARGEST:
        return False
    return abs(_skewness(np.log(values))) < abs(_skewness(values))


def has_two_scales(column: NDArray[Any]) -> bool:
    """Whether answers may tell if a column of numbers predicts them better on a log scale.

    Examples
    --------
    >>> has_two_scales(np.array([1, 2, 4, 9, 20, 40, 90])), has_two_scales(np.array([1, 2, 3, 4, 5]))
    (True, False)
    """
    values = _numbers(column)
    return len(np.unique(values)) >= FEWEST_VALUES and _spans(values, DECADE)


def _numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    """The finite numbers among the cells."""
    values = np.array([float(cell) for cell in column if cells.is_finite(cell)])
    return values


def _spans(values: NDArray[np.float64], ratio: float) -> bool:
    """Whether numbers are positive, the largest so many times the smallest."""
    return bool(values.min() > 0 and values.max() / ratio >= values.min())


def _skewness(values: NDArray[np.float64]) -> float:
    # In units of a power of two, so that no sum and no cube overflows.
    scaled = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    away = scaled - scaled.mean()
    return float((away**3).mean() / max(float((away**2).mean()), np.finfo(float).tiny) ** 1.5)


def sorted_levels(column: NDArray[Any]) -> list[str]:
    """The different cells of a column, by their numbers or as everybody knows them, or by the alphabet."""
    levels = sorted({text for text in level_texts(column) if text != NOT_KNOWN})
    if all(map(cells.is_finite, levels)):
        return sorted(levels, key=float)
    return list(known_order(levels) or levels)


def _ordered_levels(name: str, column: NDArray[Any]) -> tuple[str, ...]:
    """The levels of a column that is said to be ordered, by their numbers; words do not say their order."""
    levels = sorted_levels(column)
    if all(map(cells.is_finite, levels)):
        return tuple(levels)
    if (ordered := known_order(levels)) is not None:
        return ordered
    some = levels[:3] + ["..."] * (len(levels) > 3)
    raise InputError(
        f"The order of these words is not known: give the levels of {name!r} from low to high, as "
        f"roles={{{name!r}: {levels[:3]}}} in Python or {name}:{'<'.join(some)} for --features."
    )


def _role(
    name: str,
    names: str | None,
    learned_as: str,
    asked: str | tuple[str, ...] | None,
    features: Sequence[str] | None,
    numbers_items: bool,
) -> tuple[Role, str, str]:
    """What a column is, why, and what follows from that reason, if there is one."""
    if name == names:
        if numbers_items and asked is None:
            return (
                "names",
                Translatable("numbers the items"),
                ": it is taken for their names and not learned from",
            )
        return "names", Translatable("holds the names of the items"), ""
    if asked == "ignore":
        return "ignored", "is left out", ""
    if asked is not None:
        return ("feature", f"is learned from{_AS[learned_as]}", "") if learned_as else ("detail", _SHOWN, "")
    if features is not None and name not in features:
        return "detail", Translatable("is not one of the chosen features"), f": it {_SHOWN}"
    if features is None and numbers_items:
        return "detail", Translatable("only numbers the items"), ", and is not learned from"
    if not learned_as:
        return "detail", Translatable("is text"), f": it {_SHOWN}"
    return "feature", f"is learned from{_AS[learned_as]}", ""


def refuse_unknown(wanted: Iterable[str | None], columns: Sequence[str]) -> None:
    """Refuse a column that is not there."""
    for name in wanted:
        if name is not None and name not in columns:
            raise InputError(f"There is no column {name!r}; the columns are {', '.join(columns)}.")


def readable_names(table: NamedColumns) -> str | None:
    """A column of text that is called name, title or item, where the first column is numbers or ids.

    Without one, the second column, if it is short text that tells the items apart (Nr, Modell, ...). For
    people who read the names on a page; answers in files call items by the first column.
    """
    columns = table.typed
    first = next(iter(columns))
    if holds_text(columns[first]) and not is_id_header(first):
        return None
    called = {name.strip().lower(): name for name in reversed(columns) if holds_text(columns[name])}
    if found := next((called[word] for word in READABLE_HEADERS if word in called), None):
        return found
    second = [name for name in islice(columns, 1, 2) if name in called.values()]
    return next((name for name in second if _tells_apart(columns[name]) and _is_short(columns[name])), None)


def _is_short(column: NDArray[Any]) -> bool:
    """Whether text can be the heading of a card: short, and no web address."""
    return all(len(text) <= LONGEST_HEADING and "://" not in text for text in map(naming.text, column))


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

    A pandas frame has names in its index or none; a polars frame, which has no index, in a column of text. A
    few words that repeat are a category.
    """
    columns = table.typed
    free = [name for name in columns if name not in set(features)]
    if table.source == "pandas" or table.index is not None:
        # But for a frame that is nothing else than a list of names.
        only = table.index is None and len(columns) == 1 and not features
        return [name for name in free if only and holds_text(columns[name])]
    if table.source == "polars":
        texts = (name for name in free if holds_text(table.columns[name]))
        return [name for name in texts if not _repeats(columns[name])][:1]
    named = [name for name in free if is_id_header(name) and _tells_apart(columns[name])]
    counting = [name for name in free if name not in named and _counts(table, name)]
    numbers = {name for name, column in columns.items() if not holds_text(column)}
    # Where there is nothing else to learn from, a column that counts is a feature.
    found = [*named, *(counting if numbers - {*named, *counting} else ())]
    first = next(iter(columns), None)
    if first in free and (
        first.strip().lower() in NAME_HEADERS
        or (holds_text(columns[first]) and not _repeats(columns[first]))
        or columns[first].dtype.kind == "M"
    ):
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
    return "number" if numbers and any(map(cells.is_finite, filled)) else "mixed"


def _is_word(cell: Any) -> bool:
    return isinstance(cell, date) or (isinstance(cell, str) and not cells.is_finite(cell))
