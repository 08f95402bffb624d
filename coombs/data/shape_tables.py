"""Choices, rankings and ratings in tables: recognised by their columns, and written as long tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coombs.data import checking, naming, tables
from coombs.data.cells import UNKNOWN_NUMBERS
from coombs.data.orders import BEST_WORST, CHOICE, NONE, RANKING, SHAPES
from coombs.data.shape_constructors import NONE_WORDS, without
from coombs.data.tables import Columns, InputError, Where

if TYPE_CHECKING:
    from coombs.data.comparisons import Comparisons
    from coombs.data.graph import Index

_NUMBERED = re.compile(r"(option|alternative|item|card|choice|shown|rank|place|preference)[ _-]?(\d+)")
"""Columns of which each holds one of the things that an answer is about."""
_RANKED = {"rank", "place", "preference"}
"""Numbered columns called so are in order."""
_LISTS = ("options", "shown", "set", "alternatives")
"""Columns that hold all options of a row, with | or ; between them."""
_CHOSEN = ("chosen", "best", "winner", "choice", "picked")
"""Columns that say which of several options was chosen."""
_GROUPS = ("question", "task", "set", "ballot", "voter", "answer")
"""Columns of a long table that say which rows are one answer."""
_RATING = ("rating", "stars", "score", "grade")
"""Columns that hold a rating."""
_PLACE = ("rank", "place", "position")
"""Columns of a long table that hold an item's place in a ranking."""


class Shaped(NamedTuple):
    """Answers in a table: the shape and the tiers of each (or items and ratings), and its row."""

    shapes: list[str]
    answers: list[list[list[Any]]]
    rows: list[int]
    users: Any = None
    weights: Any = None
    ratings: Any = None
    things: Any = None


def shaped(columns: Columns, where: Where) -> list[Shaped]:
    """The answers in columns by lower-case names; none where they are about pairs, or not known."""
    if is_own(columns):
        return list(_own(columns, where))
    for reader in (_best_worst, _choices, _rankings, _long):
        if (found := reader(columns, where)) is not None:
            return [found]
    return []


def is_own(columns: Columns) -> bool:
    """Whether a table is one with a row for each thing in an answer, as `long_rows` writes."""
    return {"answer", "shape", "item", "place"} <= columns.keys()


def long_rows(data: Comparisons, called: Any) -> dict[str, list[Any]]:
    """Columns of a table with a row for each thing in an answer, which `shaped` reads again."""
    rows: list[tuple[Any, ...]] = []
    users = [None] * len(data.pairs) if data.users is None else list(data.users)
    for k, ((i, j), y) in enumerate(zip(data.pairs.tolist(), data.y.tolist(), strict=True)):
        places = {1: (1, 2), -1: (2, 1), 0: (1, 1)}[y]
        for one, place in zip((i, j), places, strict=True):
            rows.append((k, "pair", users[k], called[one], place, float(data.weights[k])))
    first, nothing = len(data.pairs), none_word(map(naming.text, called))
    if data.orders is not None:
        orders = data.orders
        for k, shape in enumerate(orders.shapes.tolist()):
            user = None if orders.users is None else orders.users[k]
            for place, tier in enumerate(orders.tiers_of(k)):
                for one in tier:
                    name = nothing if one == NONE else called[one]
                    rows.append((first + k, SHAPES[shape], user, name, place + 1, float(orders.weights[k])))
        first += len(orders)
    if data.ratings is not None:
        rated = data.ratings
        for k, (one, level) in enumerate(zip(rated.items.tolist(), rated.levels.tolist(), strict=True)):
            user = None if rated.users is None else rated.users[k]
            value = float(rated.values[level])
            rows.append((first + k, "rating", user, called[one], value, float(rated.weights[k])))
    names = ("answer", "shape", "user", "item", "place", "weight")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def none_word(names: Iterable[str]) -> str:
    """What says "none of these" where items have these names: in capitals where one is called so."""
    known, word = set(names), "none of these"
    return next((one for one in (word, word.capitalize(), word.upper()) if one not in known), word)


def _column(columns: Columns, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in columns), None)


def _extras(columns: Columns, rows: list[int]) -> tuple[Any, Any]:
    """Users and weights of some rows."""
    users = checking.optional(columns.get("user"))
    weights = checking.optional(columns.get("weight", columns.get("confidence")))
    return None if users is None else users[rows], None if weights is None else as_numbers(weights[rows])


def _options(columns: Columns) -> tuple[str, Callable[[int], list[str]]] | None:
    """What columns hold the things that an answer is about, and those of each row."""
    numbered = [(int(m[2]), name, m[1]) for name in columns if (m := _NUMBERED.fullmatch(name))]
    if len(numbered) >= 2:
        names = [name for _, name, _ in sorted(numbered)]
        cells = [[naming.text(cell) for cell in columns[name]] for name in names]
        return numbered[0][2], lambda i: [column[i] for column in cells if column[i]]
    if (name := _column(columns, _LISTS)) is not None and _looks_like_lists(columns[name]):
        texts = [naming.text(cell) for cell in columns[name]]
        return name, lambda i: [part.strip() for part in re.split(r"[|;]", texts[i]) if part.strip()]
    return None


def _looks_like_lists(column: Any) -> bool:
    return any(re.search(r"[|;]", naming.text(cell)) for cell in column)


def _best_worst(columns: Columns, where: Where) -> Shaped | None:
    found = _options(columns)
    if found is None or not {"best", "worst"} <= columns.keys():
        return None
    answers, rows = [], []
    for i in range(len(columns["best"])):
        given = found[1](i)
        best, worst = naming.text(columns["best"][i]), naming.text(columns["worst"][i])
        if not best and not worst:
            continue
        for what, one in (("best", best), ("worst", worst)):
            if one not in given:
                raise InputError(
                    "The {what} of {place} is {one}; it must be one of {given}.",
                    what=what,
                    place=where(i),
                    one=repr(one),
                    given=_list(given),
                )
        if best == worst:
            raise InputError(
                "In {place} {best} is both best and worst; the two must differ.",
                place=where(i),
                best=repr(best),
            )
        rest = without(given, best, worst)
        answers.append([[best], *([rest] if rest else []), [worst]])
        rows.append(i)
    return Shaped([SHAPES[BEST_WORST]] * len(rows), answers, rows, *_extras(columns, rows))


def _choices(columns: Columns, where: Where) -> Shaped | None:
    found, name = _options(columns), _column(columns, _CHOSEN)
    if found is None or name is None or found[0] in _RANKED:
        return None
    answers: list[list[list[Any]]] = []
    rows: list[int] = []
    for i in range(len(columns[name])):
        given, one = found[1](i), naming.text(columns[name][i])
        if not one or (one.lower() == "skip" and one not in given):
            continue
        if one in given:
            answers.append([[one], without(given, one)])
        elif one.lower() in NONE_WORDS:
            answers.append([[None], given])
        else:
            raise InputError(
                "The choice of {place} is {one}; it must be one of {given}, or none.",
                place=where(i),
                one=repr(one),
                given=_list(given),
            )
        rows.append(i)
    return Shaped([SHAPES[CHOICE]] * len(rows), answers, rows, *_extras(columns, rows))


def _rankings(columns: Columns, where: Where) -> Shaped | None:
    found = _options(columns)
    if found is not None and found[0] in _RANKED:
        n = len(next(iter(columns.values())))
        each = [(i, found[1](i)) for i in range(n)]
        rows = [i for i, given in each if len(given) > 1]
        return Shaped(
            [SHAPES[RANKING]] * len(rows),
            [[[one] for one in given] for _, given in each if len(given) > 1],
            rows,
            *_extras(columns, rows),
        )
    name = _column(columns, ("ranking", "order"))
    if name is None or not any(">" in naming.text(cell) for cell in columns[name]):
        return None
    texts = [naming.text(cell) for cell in columns[name]]
    rows = [i for i, text in enumerate(texts) if text]
    answers = [
        [[one.strip() for one in place.split("=") if one.strip()] for place in texts[i].split(">")]
        for i in rows
    ]
    for i, tiers in zip(rows, answers, strict=True):
        if not all(tiers):
            raise InputError(
                "The ranking of {place} is {said}; it must be like a > b = c > d.",
                place=where(i),
                said=repr(texts[i]),
            )
    return Shaped([SHAPES[RANKING]] * len(rows), answers, rows, *_extras(columns, rows))


def _long(columns: Columns, where: Where) -> Shaped | None:
    """A row for each thing: its place in a ranking, whether it was chosen, or its rating."""
    if "item" not in columns:
        return None
    group = _column(columns, _GROUPS)
    place = _column(columns, _PLACE)
    if place is not None and (group or "user" in columns):
        return _grouped(columns, group or "user", place, RANKING, where)
    if group is not None and "chosen" in columns:
        return _grouped(columns, group, "chosen", CHOICE, where)
    rating = _column(columns, _RATING)
    if rating is None:
        return None
    rows = list(range(len(columns["item"])))
    return Shaped([], [], rows, *_extras(columns, rows), columns[rating], columns["item"])


def _own(columns: Columns, where: Where) -> Iterator[Shaped]:
    """What `long_rows` wrote, each shape apart."""
    shapes = np.array([naming.text(cell).lower() for cell in columns["shape"]])
    known = ("pair", *SHAPES, "rating")
    for i, shape in enumerate(shapes):
        if shape not in known:
            raise InputError(f"The shape of {where(i)} is {shape!r}; it must be one of {', '.join(known)}.")
    for group in (known[:1], SHAPES, known[-1:]):
        rows = np.flatnonzero(np.isin(shapes, group))
        if not len(rows):
            continue

        def place(i: int, rows: Index = rows) -> str:
            return where(int(rows[i]))

        some = {name: column[rows] for name, column in columns.items()}
        if "rating" in group:
            every = list(range(len(rows)))
            yield Shaped(["rating"], [], rows.tolist(), *_extras(some, every), some["place"], some["item"])
            continue
        found = _grouped(some, "answer", "place", RANKING, place)
        if found.rows:
            own = shapes[rows[found.rows]].tolist()
            yield found._replace(shapes=own, rows=rows[found.rows].tolist())


def _grouped(columns: Columns, group: str, place: str, shape: int, where: Where) -> Shaped:
    """Answers of which each thing has a row: by place, or by whether it was chosen."""
    names = tables.labels(columns["item"], "item", where)
    keys = [naming.text(cell) for cell in columns[group]]
    if group != "user" and "user" in columns:
        keys = [f"{naming.text(user)}\n{key}" for user, key in zip(columns["user"], keys, strict=True)]
    values = tables.numbers(as_numbers(columns[place]), place.capitalize(), where)
    answers: dict[str, dict[float, list[str]]] = {}
    first: dict[str, int] = {}
    for i, (key, name, value) in enumerate(zip(keys, names, values.tolist(), strict=True)):
        if np.isnan(value):
            continue
        first.setdefault(key, i)
        answers.setdefault(key, {}).setdefault(-value if shape == CHOICE else value, []).append(name)
    tiers = {key: [by[value] for value in sorted(by)] for key, by in answers.items()}
    if shape == CHOICE:
        for key, by in answers.items():
            if (n := len(by.get(-1.0, []))) != 1:
                raise InputError(
                    "In the question of {place} {n} items are chosen; one must be.",
                    place=where(first[key]),
                    n=n,
                )
    rows = [first[key] for key in tiers]
    return Shaped([SHAPES[shape]] * len(rows), list(tiers.values()), rows, *_extras(columns, rows))


def as_numbers(column: Any) -> Any:
    """Texts that read as numbers, as numbers; true and false are 1 and 0, NaN is not known."""
    try:
        # Nearly always, and then quick. Python reads 1_000 as a number as well, which nobody writes.
        return np.array([cell if cell != "" else np.nan for cell in column], dtype=float)
    except (TypeError, ValueError):
        pass
    words = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0} | dict.fromkeys(UNKNOWN_NUMBERS, np.nan)
    cells = []
    for cell in column:
        text = naming.text(cell).lower()
        try:
            cells.append(words[text] if text in words else float(text))
        except ValueError:
            cells.append(cell)
    return np.array(cells, dtype=object)


def _list(names: list[str]) -> str:
    return ", ".join(map(repr, names[:6])) + (", ..." if len(names) > 6 else "")
