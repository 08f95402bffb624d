"""Who answered: the column of a table that says so, however it is called, and the names in it, checked."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.data import naming, tables
from coombs.data.tables import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.tables import Columns, Names, Where

USER = "user"
"""The column that says who is meant."""
SHOWN = 3
"""Rows or names that a sentence shows."""
MOST_SEARCHED = 20_000
"""People among whom names that are spelt alike are looked for; among more, only case and spaces differ."""
_WHO = (
    "user|person|respondent|participant|subject|voter|judge|rater|annotator|panelist|panellist|evaluator"
    "|reviewer|worker|customer|client|resp"
)
_CALLED = re.compile(rf"({_WHO})s?(id|name|no|nr|num|number|code|key)?|who")
"""How else such a column is called, in lower case and without marks between words."""


def user_header(names: Iterable[str]) -> list[str]:
    """Columns whose names say that they hold who answered: user alone, or all that are called like it.

    Examples
    --------
    >>> user_header(["Participant ID", "left", "right", "winner"])
    ['Participant ID']
    >>> user_header(["left", "User", "person"])
    ['User']
    """
    given = list(names)
    exact = [name for name in given if name.strip().lower() == USER]
    return exact or [name for name in given if _CALLED.fullmatch(re.sub(r"[\W_]+", "", name.lower()))]


def with_user(columns: Columns) -> Columns:
    """The columns of a table of answers, with one called user where another says who answered."""
    found = user_column(columns, "the answers")
    for name in () if found is not None else user_header(columns)[:1]:
        # Without users, frames of ours have a column of None.
        if any(isinstance(cell, str) for cell in columns[name]):
            warnings.warn(
                f"The column {name!r} is blank from top to bottom: it does not tell anybody apart, and is "
                "left aside.",
                UserWarning,
                stacklevel=3,
            )
    if found is None or found.strip().lower() == USER:
        return columns
    kept = {name: column for name, column in columns.items() if name.strip().lower() != USER}
    return kept | {USER: columns[found]}


def user_column(columns: Columns, source: str) -> str | None:
    """The column that says who is meant: user, or one that is called like it, which a warning names.

    A column that is blank from top to bottom says nothing. Of two that say different things, neither is
    taken for it.
    """
    found = user_header(name for name, column in columns.items() if not is_blank(column))
    if not found or found[0].strip().lower() == USER:
        return next(iter(found), None)
    first, *others = found
    for other in others:
        if not _same_people(columns[first], columns[other]):
            raise InputError(
                f"There is no column user in {source}, and {first!r} and {other!r} may both say who is "
                "meant; call the one that does user."
            )
    warnings.warn(
        f"There is no column user in {source}; {first!r} is taken for it.", UserWarning, stacklevel=3
    )
    return first


def is_blank(column: NDArray[Any]) -> bool:
    """Whether a column is blank from top to bottom."""
    return column.dtype.kind in "OfUST" and not any(naming.text(cell).strip() for cell in column)


def _same_people(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two columns tell the same people apart."""
    pairs = set(zip(map(naming.text, one), map(naming.text, other), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def user_labels(values: NDArray[Any], where: Where) -> Names:
    """Who gave each answer, with the types they have; InputError names the rows that do not say it."""
    if values.dtype.kind not in "iub":
        refuse_blank([naming.text(cell).strip() == "" for cell in values], where)
    return tables.label_array(values, USER, where)


def refuse_blank(is_missing: Any, where: Where) -> None:
    """InputError where a row does not say who answered: how many there are, and the first of them."""
    rows = np.flatnonzero(is_missing)
    if not len(rows):
        return
    what = "say who gave the answer, or leave the row out"
    if len(rows) == 1:
        raise InputError(f"The user of {where(int(rows[0]))} is blank; {what}.")
    shown = ", ".join(where(int(row)) for row in rows[:SHOWN]) + (", ..." if len(rows) > SHOWN else "")
    what = what.replace("answer", "answers").replace("row", "rows")
    raise InputError(f"The user of {len(rows)} of {len(is_missing)} answers is blank ({shown}); {what}.")


def nobody_called(user: Any, people: Iterable[Any]) -> str:
    """The sentence for a name that none of these people has, with the nearest name there is.

    Examples
    --------
    >>> nobody_called("An", ["ann", "bob"])
    "Nobody is called 'An'; did you mean 'ann'?"
    >>> nobody_called("zoe", ["ann", "bob"])
    "Nobody is called 'zoe'; there are 2 people: 'ann', 'bob'."
    """
    text, known = naming.text(user), [naming.text(name) for name in people]
    folded = {" ".join(name.split()).casefold(): name for name in reversed(known)}
    key = " ".join(text.split()).casefold()
    close = [key] if key in folded else []
    if not close and len(known) <= MOST_SEARCHED:
        close = difflib.get_close_matches(key, list(folded), n=1, cutoff=0.7)
    if close:
        return f"Nobody is called {text!r}; did you mean {folded[close[0]]!r}?"
    shown = ", ".join(map(repr, known[:SHOWN])) + (", ..." if len(known) > SHOWN else ".")
    there = "there is one person" if len(known) == 1 else f"there are {len(known)} people"
    return f"Nobody is called {text!r}; {there}: {shown}"
