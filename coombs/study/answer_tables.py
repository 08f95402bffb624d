"""Tables of answers as a study takes them in: every shape, each row with its user, weight and time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from coombs.data import checking, files, naming, tables
from coombs.data.comparisons import Comparisons
from coombs.data.profiles import is_described
from coombs.data.shape_constructors import probabilities
from coombs.data.shape_tables import Shaped, as_numbers, is_own, shaped
from coombs.data.tables import Columns, InputError, ItemTable, Names, UnknownItemError, Where
from coombs.data.user_columns import with_user
from coombs.data.wishes import parse
from coombs.storage.records import Choice
from coombs.storage.timestamps import read_time
from coombs.study.judgements import Pair, Told, told_in
from coombs.study.study import ME, Study
from coombs.study.study_jsonl import holds_study

_CHOICE_OF = {1: "left", -1: "right", 0: "tie", None: "skip"}
"""A choice by its sign."""

Times: TypeAlias = list[datetime | None]
"""When the answer of each row was given, if the table says so."""
Placed: TypeAlias = tuple[int, Told]
"""An answer, and the first of its rows."""


def answers_table(path: files.PathType) -> files.NamedColumns:
    """The table of answers in a file."""
    if files.path_text(path).lower().endswith(".jsonl") and holds_study(path):
        raise InputError(
            "{file} is a whole study; {function} makes it one again.",
            file=files.path_text(path),
            function="import_study",
        )
    return files.read_table(path)


def told_in_table(study: Study, found: files.NamedColumns) -> list[Told]:
    """The answers in a table about a study's items, checked."""
    try:
        return _told_in_table(study, found)
    except UnknownItemError as error:
        limits = [wish for wish in study.settings.wishes if parse(wish, study.catalogue.columns).is_limit]
        if not limits:
            raise
        raise InputError(
            "{error} Items outside the limits of the study ({limits}) are not in it: leave out the answers "
            "about them, or learn from all answers with coombs fit and --wish.",
            error=error.args[0],
            limits=", ".join(limits),
        ) from error


def _told_in_table(study: Study, found: files.NamedColumns) -> list[Told]:
    """The answers in a table about a study's items, whatever the study's limits are."""
    columns, where = checking.without_checks(checking.lower_case(with_user(found.answers)), found.where)
    times = _times(columns, where)
    if "user" in columns:
        users = [text if text.strip() else ME for text in map(naming.text, columns["user"])]
        columns = columns | {"user": np.array(users, dtype=object)}
    table, parts = study.catalogue.table, shaped(columns, where)
    if parts or is_own(columns):
        told = [one for part in parts for one in _of_shaped(table, part, columns, times, where)]
        told += _skips(table, columns, times, where) if is_own(columns) else []
        return [one for _, one in sorted(told, key=lambda placed: placed[0])]
    try:
        given = checking.answer_columns(columns, where)
    except InputError as error:
        if is_described(found):
            raise InputError(
                "{file} describes what its answers are about and names no item of the study; coombs fit "
                "{file} learns from it without one.",
                file=found.file,
            ) from error
        raise
    return _of_pairs(table, columns, given, times, where)


def _of_shaped(
    table: ItemTable, part: Shaped, columns: Columns, times: Times, where: Where
) -> Iterator[Placed]:
    """Answers of one shape, or of several in a table that `to_frame` or an export wrote."""
    own = is_own(columns)
    # The weights of an export may be anything, also zero from top to bottom.
    data = Comparisons._of_shaped(table, part._replace(weights=None) if own else part, where)
    told, rows = told_in(data, table, ME), part.rows
    if part.ratings is not None:
        known = np.isfinite(tables.numbers(as_numbers(part.ratings), "Rating", where))
        rows = [row for row, is_known in zip(part.rows, known, strict=True) if is_known]
        if data.ratings is None:
            yield from ((0, one) for one in _ranked(told, rows, columns, times))
            return
    weights = _weights(columns.get("weight"), len(times), where) if own else None
    for one, row in zip(told, rows, strict=True):
        said = one.said
        if isinstance(said, Pair):
            said = _sides(said, naming.text(columns["item"][row]), table)
        yield row, Told(one.user, said, one.weight if weights is None else weights[row], times[row])


def _skips(table: ItemTable, columns: Columns, times: Times, where: Where) -> list[Placed]:
    """Pairs of an export without places: those that were skipped."""
    users = _cells(columns.get("user"), len(times))
    weights = _weights(columns.get("weight"), len(times), where)
    found: dict[tuple[str, str], list[int]] = {}
    for row, (shape, cell) in enumerate(zip(columns["shape"], columns["place"], strict=True)):
        if naming.text(shape).lower() == "pair" and not naming.text(cell):
            found.setdefault((users[row], naming.text(columns["answer"][row])), []).append(row)
    skipped = [row for rows in found.values() for row in rows]

    def place(i: int) -> str:
        return where(skipped[i])

    names = tables.text_array(columns["item"][skipped], "item", place)
    position = dict(zip(skipped, tables.positions(table, names, place).tolist(), strict=True))
    told = []
    for (user, _), rows in found.items():
        first, *rest = rows
        if len(rows) != 2 or position[first] == position[rest[0]]:
            raise InputError(f"The pair of {where(first)} must have two items without a place, or none.")
        pair = Pair(position[first], position[rest[0]], "skip")
        told.append((first, Told(user or ME, pair, weights[first], times[first])))
    return told


def _ranked(told: list[Told], rows: list[int], columns: Columns, times: Times) -> Iterator[Told]:
    """Ratings that became a ranking of each person: given when the last of them was."""
    users = columns.get("user")
    for one in told:
        own = [times[row] for row in rows if users is None or naming.text(users[row]) == one.user]
        known = [at for at in own if at is not None]
        yield one._replace(at=max(known) if known and len(known) == len(own) else None)


def _sides(said: Pair, left: str, table: ItemTable) -> Pair:
    """A pair, winner first, with the item on the left that its first row names."""
    if said.choice == "tie" or table.texts[said.left] == left:
        return said
    return Pair(said.right, said.left, "right")


def _of_pairs(
    table: ItemTable, columns: Columns, given: checking.AnswerColumns, times: Times, where: Where
) -> list[Told]:
    """Answers about pairs, skips among them; of probabilities, one for each side."""
    first, second, choices = _choices(columns, given, where)
    n = len(times)
    left, right = tables.positions(table, first, where), tables.positions(table, second, where)
    if (left == right).any():
        i = int((left == right).argmax())
        raise InputError(
            "In {place} item {item} is compared with itself; the two must differ.",
            place=where(i),
            item=repr(first[i]),
        )
    users = [ME] * n if "user" not in columns else columns["user"].tolist()
    weights = _weights(columns.get("weight", columns.get("confidence")), n, where)
    rows = list(zip(users, left.tolist(), right.tolist(), choices, weights, times, strict=True))
    if given.p is None:
        return [Told(user, Pair(i, j, said), mass, at) for user, i, j, said, mass, at in rows]
    shares = probabilities(given.p, where).tolist()
    return [
        Told(user, Pair(i, j, cast("Choice", side)), mass * part, at)
        for (user, i, j, _, mass, at), share in zip(rows, shares, strict=True)
        for side, part in (("left", share), ("right", 1 - share))
    ]


def _choices(
    columns: Columns, given: checking.AnswerColumns, where: Where
) -> tuple[Names, Names, list[Choice]]:
    """The items of each row by name, and which was chosen."""
    if given.y is None:
        sides, words = given.pairs.T, ["left"] * len(given.rows)
    else:
        signs = dict(zip(given.rows.tolist(), given.y.tolist(), strict=True))
        sides = np.array([columns["left"], columns["right"]], dtype=object)
        words = [_CHOICE_OF[signs.get(i)] for i in range(len(columns["left"]))]
    first, second = (tables.text_array(side, "item", where) for side in sides)
    return first, second, cast("list[Choice]", words)


def _times(columns: Columns, where: Where) -> Times:
    """When each row was told."""
    count = len(next(iter(columns.values()), ()))
    texts = _cells(columns.get("told", columns.get("timestamp")), count)
    return [_row_time(text, i, where) if text.strip() else None for i, text in enumerate(texts)]


def _cells(column: NDArray[Any] | None, n: int) -> list[str]:
    """A column that may be absent as text, blank where there is none."""
    texts = [""] * n if column is None else [naming.text(cell) for cell in column]
    return ["" if text == "NaT" else text for text in texts]


def _weights(column: NDArray[Any] | None, n: int, where: Where) -> list[float]:
    """Weights; 1 where the column is absent or all blank."""
    if column is None or np.isnan(tables.numbers(column, "Weight", where)).all():
        return [1.0] * n
    return cast("list[float]", tables.weights(column, where).tolist())


def _row_time(text: str, i: int, where: Where) -> datetime:
    """When a row was told."""
    try:
        return read_time(text)
    except ValueError as error:
        raise InputError(
            "The time of {place} is {text}; it must be ISO 8601, as {example}.",
            place=where(i),
            text=repr(text),
            example="2026-01-31T12:00:00+00:00",
        ) from error
