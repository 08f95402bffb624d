"""Answers as a user gives them, checked: pairs, y, weights, users, and columns of a table of answers."""

from __future__ import annotations

import re
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data import naming, tables, user_columns
from coombs.data.tables import Columns, FloatArray, InputError, ItemTable, Names, Where
from coombs.language import Translatable

Positions: TypeAlias = NDArray[np.intp]
Signs: TypeAlias = NDArray[np.int8]
# The last four fields of Comparisons: pairs, y, weights, users.
Checked: TypeAlias = tuple[Positions, Signs, FloatArray, Names | None]

_RATING = re.compile(r"-?\d+([.,]\d+)?")
_SKIP = 2
"""The sign of a question that was not answered."""
_NEITHER = 3
"""The sign of a winner that is neither a word nor one of the two items."""
_WORDS = {"left": 1, "right": -1, "tie": 0, "skip": _SKIP}
"""Words for an answer, and the sign of each."""

_NEEDED = (
    "left, right, winner or winner, loser or chosen, rejected or left, right, p (probabilities); of choices "
    "option1, option2, ... and chosen, or best and worst; of rankings rank1, rank2, ..., or ranking "
    "(a > b = c), or user, item, rank; of ratings user, item, rating"
)
"""Columns that say what an answer was."""


def whole(value: Any, name: str, low: int, high: int | None = None) -> int:
    """An argument that must be a whole number in a range."""
    number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else low - 1
    if number < low or (high is not None and number > high):
        most = f"from {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"{name} is {value!r}; it must be a whole number {most}.")
    return number


def within(values: Any, name: str, n: int) -> Positions:
    """An argument that must be positions of n things."""
    array = np.asarray(values)
    if array.ndim == 1 and not array.size:
        return np.zeros(0, dtype=np.intp)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= n:
        raise InputError(f"{name} is {values!r}; it must be a list of positions from 0 to {n - 1}.")
    return array.astype(np.intp)


def two_items(table: ItemTable) -> ItemTable:
    """The table, once there is something to compare in it."""
    if len(table.matrix) < 2:
        raise InputError(f"There are fewer than two items ({len(table.matrix)}); a comparison needs two.")
    return table


def flat(
    values: Any, what: str, n: int | None = None, whose: str = "pairs", *, exact: bool = False
) -> NDArray[Any]:
    """Values as a one-dimensional array, of length n if that is given; cells as they are, if `exact`."""
    array = tables.as_array(values, what, exact=exact)
    if array.ndim != 1:
        raise InputError(f"The {what} of shape {array.shape} must be a flat list.")
    if n is not None and len(array) != n:
        raise InputError(f"There are {len(array)} {what} for {n} {whose}; the numbers must be equal.")
    return array


def answers(pairs: Positions, y: Signs | None, users: Any, weights: Any, where: Where) -> Checked:
    """Answers about checked pairs, checked."""
    n = len(pairs)
    signs = np.ones(n, dtype=np.int8) if y is None else y
    mass = np.ones(n) if weights is None else positive_weights(flat(weights, "weights", n), where)
    if users is None:
        return pairs, signs, mass, None
    return pairs, signs, mass, user_columns.user_labels(flat(users, "users", n, exact=True), where)


def labels(y: Any, n: int) -> Signs | None:
    """A user's y for n pairs, checked."""
    return None if y is None else signs(flat(y, "y", n), tables.row)


def pairs(table: ItemTable, values: NDArray[Any], where: Where) -> Positions:
    """Pairs by name or position as an (n, 2) array of positions."""
    if not values.size:
        raise InputError(Translatable("There are no answers; at least one pair is needed."))
    if values.ndim != 2 or values.shape[1] != 2:
        hint = {
            2: " (Comparisons.from_frame reads a frame with columns such as winner, loser and user)",
            3: " (Comparisons.from_features reads pairs of feature vectors)",
        }.get(values.ndim, "")
        raise InputError(f"The pairs have shape {values.shape}; they must be (n, 2){hint}.")
    pairs: Positions = tables.positions(table, values.ravel(), lambda i: where(i // 2)).reshape(-1, 2)
    return differing(pairs, values, where)


def differing(pairs: Positions, called: NDArray[Any], where: Where) -> Positions:
    """The pairs, once each is of two items; messages call them as they were given."""
    same = pairs[:, 0] == pairs[:, 1]
    if same.any():
        i = int(same.argmax())
        raise InputError(
            "In {place} item {item} is compared with itself; the two must differ.",
            place=where(i),
            item=f"'{called[i, 0]}'",
        )
    return pairs


def signs(values: NDArray[Any], where: Where) -> Signs:
    """y as -1, 0, 1; True and False are +1 and -1."""
    if values.dtype.kind == "b" or all(isinstance(value, bool | np.bool_) for value in values):
        return np.where(values.astype(bool), 1, -1).astype(np.int8)
    y = tables.numbers(values, "y", where)
    bad = (y != 1) & (y != 0) & (y != -1)
    if bad.any():
        i = int(bad.argmax())
        raise InputError(f"y of {where(i)} is {y[i]:g}; it must be 1 (first preferred), -1 or 0 (a tie).")
    if {*np.unique(y)} == {0, 1}:
        raise InputError(
            "y is 0 and 1 and never -1, so that 0 may mean a tie or that the second is preferred; for the "
            "latter give booleans or 2 * y - 1, for ties a frame whose winner is 'tie' (from_frame)."
        )
    return y.astype(np.int8)


def positive_weights(values: NDArray[Any], where: Where) -> FloatArray:
    """Weights that are not all zero."""
    weights = tables.weights(values, where)
    if not weights.any():
        raise InputError("All weights are zero; at least one must be positive.")
    return weights


def all_won(wins: Positions, weights: FloatArray | None = None, users: Names | None = None) -> Checked:
    """(winner, loser) rows as checked answers."""
    return wins, np.ones(len(wins), dtype=np.int8), np.ones(len(wins)) if weights is None else weights, users


def by_value(table: ItemTable, values: Any, noun: str, higher_is_better: bool, groups: Any) -> Checked:
    """Answers between items of different value, inside each group."""
    n = len(table.matrix)
    values, groups = tables.by_name(values, table, f"{noun}s"), tables.by_name(groups, table, "groups")
    value = tables.numbers(flat(values, f"{noun}s", n, "items"), noun.capitalize(), table.where)
    if np.isnan(value).any():
        where = table.where(int(np.isnan(value).argmax()))
        raise InputError(f"{noun.capitalize()} of {where} is nan; it must be a number.")
    people: NDArray[Any] = np.zeros(n)
    if groups is not None:
        people = tables.label_array(flat(groups, "groups", n, "items", exact=True), "group", table.where)
    found = wins(value if higher_is_better else -value, people)
    if not len(found):
        raise InputError(f"No two items that may be compared differ in {noun}; there is no answer.")
    return all_won(found, users=None if groups is None else people[found[:, 0]])


def wins(values: FloatArray, groups: NDArray[Any]) -> Positions:
    """(winner, loser) for every two positions of different value in the same group."""
    texts = [naming.text(group) for group in groups]
    _, inverse, sizes = np.unique(texts, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(inverse, kind="stable"), np.cumsum(sizes)[:-1])
    pairs = np.concatenate([group[np.column_stack(np.triu_indices(len(group), 1))] for group in members])
    first, second = values[pairs].T
    wins: Positions = np.where((first < second)[:, None], pairs[:, ::-1], pairs)[first != second]
    return wins


class AnswerColumns(NamedTuple):
    """Answers as a frame or file holds them, skips left out; `rows` are the rows they come from."""

    pairs: NDArray[Any]
    y: NDArray[np.int8] | None
    users: NDArray[Any] | None
    weights: NDArray[Any] | None
    rows: NDArray[np.intp]
    p: NDArray[Any] | None = None


def answer_columns(columns: Columns, where: Where) -> AnswerColumns:
    """Answers out of the columns left, right and choice or winner, or winner, loser; user, weight if there.

    A choice goes before a winner, unless it is something else that is called so.
    """
    columns = lower_case(columns)
    users = optional(columns.get("user"))
    weights = optional(columns.get("weight", columns.get("confidence")))
    if {"left", "right"} <= columns.keys() and not columns.keys().isdisjoint({"choice", "winner"}):
        pairs = tables.stacked([columns["left"], columns["right"]])
        y = (_choice_signs if _says_choice(columns) else _winner_signs)(columns, where)
        rows = np.flatnonzero(y != _SKIP)
        users, weights = (None if part is None else part[rows] for part in (users, weights))
        return AnswerColumns(pairs[rows], y[rows], users, weights, rows)
    for winner, loser in (("winner", "loser"), ("chosen", "rejected")):
        if {winner, loser} <= columns.keys():
            pairs = tables.stacked([columns[winner], columns[loser]])
            return AnswerColumns(pairs, None, users, weights, np.arange(len(pairs)))
    if gives_probabilities(columns):
        pairs = tables.stacked([columns["left"], columns["right"]])
        return AnswerColumns(pairs, None, users, weights, np.arange(len(pairs)), columns["p"])
    if "ranking" in columns:
        said = naming.text(columns["ranking"][0])
        raise InputError(
            "The ranking of {place} is {said}; it must be like a > b = c > d.",
            place=where(0),
            said=repr(said),
        )
    raise InputError(
        "The answers have the columns {columns}; needed are {needed}.{hint}",
        columns=", ".join(columns),
        needed=_NEEDED,
        hint=_wide_hint(columns),
    )


def _wide_hint(columns: Columns) -> str:
    """What is to be done with a table of ratings that has a column for each person."""
    names = [name for name in columns if name not in ("item", "name", "id")]
    cells = [naming.text(cell).strip() for name in names for cell in columns[name]]
    filled = [cell for cell in cells if cell]
    if len(names) == len(columns) or not filled or not all(map(_RATING.fullmatch, filled)):
        return ""
    return (
        f" Ratings with a column for each person ({', '.join(names[:3])}) need a row for each rating: "
        "in pandas, frame.melt('item', var_name='user', value_name='rating')."
    )


def gives_probabilities(columns: Columns) -> bool:
    """Whether answers are how likely the left is preferred, as nothing says what was."""
    names = {name.strip().lower() for name in columns}
    return {"left", "right", "p"} <= names and names.isdisjoint({"winner", "choice", "rejected"})


def lower_case(columns: Columns) -> Columns:
    """The columns of a table of answers by their names in lower case, which must differ."""
    tables.refuse_repeats([name.strip().lower() for name in columns], "column of the answers")
    return {name.strip().lower(): column for name, column in columns.items()}


def without_checks(columns: Columns, where: Where) -> tuple[Columns, Where]:
    """Columns by lower-case names without answers to attention checks, as a study exports them."""
    if not {"purpose", "question", "told"} <= columns.keys():
        return columns, where
    rows = np.flatnonzero([naming.text(cell) != "attention" for cell in columns["purpose"]])
    if len(rows) == len(columns["purpose"]):
        return columns, where
    return {name: column[rows] for name, column in columns.items()}, lambda i: where(int(rows[i]))


def _says_choice(columns: Columns) -> bool:
    """Whether the column choice is to be read."""
    if "winner" not in columns:
        return True
    return "choice" in columns and all(_word(cell) in _WORDS for cell in columns["choice"])


def _choice_signs(columns: Columns, where: Where) -> NDArray[np.int8]:
    """The choices as -1, 0, 1 and _SKIP."""
    words = [_word(cell) for cell in tables.labels(columns["choice"], "choice", where)]
    for i, word in enumerate(words):
        if word not in _WORDS:
            raise InputError(
                "The choice of {place} is {word}; it must be left, right, tie or skip.",
                place=where(i),
                word=repr(word),
            )
    return np.array([_WORDS[word] for word in words], dtype=np.int8)


def _word(cell: Any) -> str:
    return str(cell).strip().lower()


def _winner_signs(columns: Columns, where: Where) -> NDArray[np.int8]:
    """The column winner as y, or _SKIP for no answer; the name of one of the two items beats a word."""
    left, right, winner = (tables.labels(columns[name], name, where) for name in ("left", "right", "winner"))
    rows = zip(left, right, winner, strict=True)
    signs = [1 if w == a else -1 if w == b else _WORDS.get(w.lower(), _NEITHER) for a, b, w in rows]
    if _NEITHER in signs:
        i = signs.index(_NEITHER)
        raise InputError(
            "The winner of {place} is {winner}; it must be {left}, {right}, left, right, tie or skip.",
            place=where(i),
            winner=repr(winner[i]),
            left=repr(left[i]),
            right=repr(right[i]),
        )
    return np.array(signs, dtype=np.int8)


def optional(column: NDArray[Any] | None) -> NDArray[Any] | None:
    """A column that may be absent, or blank from top to bottom, which is the same."""
    blank = column is None or (column.dtype.kind in "Of" and all(naming.text(cell) == "" for cell in column))
    return None if blank else column
