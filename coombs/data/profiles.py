"""Answers that describe what they are about: questions with profiles that no list of items has.

In a long table every profile is a row; in a wide one every question is, with a column for each feature of
each profile. Both become a table of the different profiles and, for each question, which of them it showed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coombs.data import naming
from coombs.data.column_roles import is_id_header, refuse_unknown
from coombs.data.files import NamedColumns
from coombs.data.tables import InputError
from coombs.data.user_columns import user_column
from coombs.words import count

CHOSEN = (
    *("chosen", "choice", "selected", "picked", "is_chosen", "was_chosen"),
    *("winner", "answer", "preferred"),
)
"""Columns that say which profile was chosen, the likeliest first."""
QUESTIONS = (
    *("task", "question", "set", "choice_set", "task_id", "question_id", "set_id", "contest", "contest_id"),
    *("trial", "round", "pair", "pair_id", "qid"),
)
"""Columns of a long table that say which rows are one question."""
PLACES = ("profile", "alternative", "alt", "option", "card", "position", "order", "side")
"""Columns of a long table that number the profiles of a question."""
ANSWER_WORDS = {"chosen", "choice", "selected", "picked", "winner", "answer", "preferred", "rating", "rank"}
"""A column with one of these in its name is an answer, not a feature."""
SIDES = {"left": 0, "right": 1, "first": 0, "second": 1} | {
    text: place for place in range(9) for text in (str(place + 1), "abcdefghi"[place])
}
"""How a wide table calls the profiles of a question."""
TIES = {"tie", "equal", "both", "same"}
"""A winner that says that neither was preferred."""
SKIPS = {"", "skip", "none"}
"""A winner that says that the question was not answered."""
YES = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
"""What a long table says of a profile: whether it was chosen."""
_WORDS = "left|right|first|second"
_WIDE = (
    re.compile(rf"(?P<side>{_WORDS})[ _.-](?P<name>.+)"),
    re.compile(rf"(?P<name>.+)[ _.-](?P<side>{_WORDS})"),
    re.compile(r"(?:(?:option|profile|alternative|alt|card)[ _.-]?)?(?P<side>[1-9a-i])[ _.-](?P<name>.+)"),
    re.compile(r"(?P<name>.+?)[ _.-](?:(?:option|profile|alternative|alt|card)[ _.-]?)?(?P<side>[1-9a-i])"),
    re.compile(r"(?P<name>.*\D)(?P<side>[1-9])"),
)
"""How a wide table may name its columns: left_price, price_left, a_price, price_1, price1."""


@dataclass(frozen=True)
class DescribedChoices:
    """Questions about profiles.

    Parameters
    ----------
    profiles : the different profiles, a row each, and their features, a column each
    features : names of the columns that are learned from
    sets : positions of the profiles that each question showed
    chosen : the place in its set of the one that was chosen, None for a tie
    users, weights : of the questions, or None
    rows : the first row of each question in the table
    notes : what was recognised, in sentences
    table : what it was read from
    """

    profiles: NamedColumns
    features: tuple[str, ...]
    sets: tuple[tuple[int, ...], ...]
    chosen: tuple[int | None, ...]
    users: NDArray[Any] | None
    weights: NDArray[Any] | None
    rows: tuple[int, ...]
    notes: tuple[str, ...]
    table: NamedColumns

    def where(self, i: int) -> str:
        """How messages call the row that a question begins in."""
        return self.table.where(self.rows[i])

    @property
    def called(self) -> NDArray[np.object_]:
        """What the profiles are called: by their features, in the order of the columns."""
        columns = [[naming.text(cell) for cell in self.profiles.typed[name]] for name in self.features]
        return np.array([", ".join(row) for row in zip(*columns, strict=True)], dtype=object)


class _Shown(NamedTuple):
    """A profile as a question shows it: its row, and the column that holds each feature there."""

    row: int
    columns: Mapping[str, str]


class _Asked(NamedTuple):
    """A question: its profiles, and which of them was chosen; None for a tie."""

    shown: Sequence[_Shown]
    chosen: int | None


def is_described(table: NamedColumns) -> bool:
    """Whether a table holds answers together with what they are about.

    Examples
    --------
    >>> from coombs.data.files import content_table
    >>> is_described(content_table(b"price_1,price_2,winner\\n3,4,1\\n", "pairs.csv"))
    True
    >>> is_described(content_table(b"task,price,chosen\\n1,3,1\\n1,4,0\\n", "long.csv"))
    True
    >>> is_described(content_table(b"item,price\\ntea,3\\n", "items.csv"))
    False
    """
    chosen = _called(table, CHOSEN)
    return chosen is not None and bool(_called(table, QUESTIONS) or _wide_columns(table, [chosen])[1])


def described_choices(
    table: NamedColumns,
    features: Sequence[str] | None = None,
    *,
    user: str | None = None,
    question: str | None = None,
    chosen: str | None = None,
) -> DescribedChoices:
    """The questions in a table; `features` names the columns to learn from, in a wide one without a side."""
    refuse_unknown((user, question, chosen), list(table.columns))
    user, chosen = user or _who(table), chosen or _called(table, CHOSEN)
    if chosen is None:
        raise InputError(
            f"No column of {_name(table)} says what was chosen ({', '.join(table.columns)}); call it chosen "
            "(1 or 0, a row for each profile) or winner (left or right, a row for each question)."
        )
    taken = [name for name in (user, chosen, _called(table, ("weight",))) if name is not None]
    sides, wide = _wide_columns(table, taken)
    question = question or _called(table, QUESTIONS)
    is_long = question is not None and all(_word(cell) in {"", *YES} for cell in table.columns[chosen])
    if wide and not is_long:
        asked, learned, other = _wide(
            table, chosen, sides, wide, features, [*taken, *filter(None, [question])]
        )
        how = f"A wide table: each row is a question about {count(sides, 'profile')}"
    elif question is None:
        raise InputError(
            f"No column of {_name(table)} says which rows are one question ({', '.join(table.columns)}); "
            "call it task or question."
        )
    else:
        asked, learned, other = _long(table, chosen, user, question, features, taken)
        how = f"A long table: rows with the same {question}{f' and {user}' if user else ''} are one question"
    how = f"{how}; {chosen} says which was chosen{f', {user} who answered' if user else ''}."
    return _collected(table, asked, learned, (how, *other), user)


def _who(table: NamedColumns) -> str | None:
    """The column that says who answered; the notes name it. A bare id is one, if there is no other."""
    with warnings.catch_warnings(action="ignore"):
        return user_column(table.columns, _name(table)) or _called(table, ("id",))


def _name(table: NamedColumns) -> str:
    """How messages call it."""
    return table.file or "the table"


def _word(cell: Any) -> str:
    """A cell as a word in lower case; 1.0, which a gap makes of 1, as 1."""
    return naming.text(cell).strip().lower().removesuffix(".0")


def _called(table: NamedColumns, names: Sequence[str]) -> str | None:
    """The column that is called as the first of these that there is."""
    there = {re.sub(r"[ .-]", "_", name.strip().lower()): name for name in reversed(table.columns)}
    return next((there[name] for name in names if name in there), None)


def _wide_columns(table: NamedColumns, taken: Sequence[str]) -> tuple[int, dict[str, list[str]]]:
    """How many profiles a row shows, and the columns of each feature, named as most of them are."""
    best: tuple[int, dict[str, list[str]]] = 0, {}
    for pattern in _WIDE:
        found: dict[str, dict[int, str]] = {}
        for name in table.columns:
            match = None if name in taken else pattern.fullmatch(name.strip().lower())
            # A number is no name of a feature: a_1 is a of the first, not 1 of a.
            if match is not None and any(map(str.isalpha, match["name"])):
                start, end = match.span("name")
                found.setdefault(name.strip()[start:end], {})[SIDES[match["side"]]] = name
        sides = max((len(one) for one in found.values()), default=0)
        whole = {
            name: [one[side] for side in range(sides)]
            for name, one in found.items()
            if sides > 1 and sorted(one) == list(range(sides))
        }
        if len(whole) * sides > len(best[1]) * best[0]:
            best = sides, whole
    return best


def _wide(
    table: NamedColumns,
    chosen: str,
    sides: int,
    wide: dict[str, list[str]],
    features: Sequence[str] | None,
    taken: Sequence[str],
) -> tuple[list[_Asked], list[str], list[str]]:
    """The questions of a wide table, what is learned from, and what is said of the rest."""
    refuse_unknown(features or (), list(wide))
    learned = [name for name in wide if features is None or name in features]
    asked = []
    columns = [{name: wide[name][side] for name in learned} for side in range(sides)]
    for row, cell in enumerate(table.columns[chosen]):
        word = _word(cell)
        if word in SKIPS:
            continue
        if word not in TIES and SIDES.get(word, sides) >= sides:
            raise InputError(
                f"{chosen} of {table.where(row)} is {naming.text(cell)!r}; it must be left or right, 1 or 2, "
                "a or b, tie or skip."
            )
        shown = [_Shown(row, one) for one in columns]
        asked.append(_Asked(shown, None if word in TIES else SIDES[word]))
    used = {column for one in wide.values() for column in one} | set(taken)
    rest = [name for name in table.columns if name not in used]
    rest += [column for name, one in wide.items() if name not in learned for column in one]
    other = [f"Not learned from: {', '.join(rest)}."] if rest else []
    return asked, learned, other


def _long(
    table: NamedColumns,
    chosen: str,
    user: str | None,
    question: str,
    features: Sequence[str] | None,
    taken: Sequence[str],
) -> tuple[list[_Asked], list[str], list[str]]:
    """The questions of a long table, what is learned from, and what is said of the rest."""
    keys = [[naming.text(cell) for cell in table.columns[name]] for name in (user, question) if name]
    groups: dict[tuple[str, ...], list[int]] = {}
    for row, key in enumerate(zip(*keys, strict=True)):
        groups.setdefault(key, []).append(row)
    used = {*taken, question}
    refuse_unknown(features or (), [name for name in table.columns if name not in used])
    why = {name: _why_not(table, name, groups) for name in table.columns if name not in used}
    if features is not None:
        why = {name: None if name in features else "not asked for" for name in why}
    learned = [name for name, reason in why.items() if reason is None]
    if not learned:
        raise InputError(f"No column of {_name(table)} describes the profiles; add one, such as price.")
    asked = [
        _Asked([_Shown(row, {name: name for name in learned}) for row in rows], place)
        for rows in groups.values()
        if (place := _chosen_place(table, chosen, rows)) is not None
    ]
    rest = [f"{name} ({reason})" for name, reason in why.items() if reason is not None]
    return asked, learned, [f"Not learned from: {', '.join(rest)}."] if rest else []


def _why_not(table: NamedColumns, name: str, groups: Mapping[Any, Sequence[int]]) -> str | None:
    """Why a column of a long table is no feature; None if it is one."""
    header = name.strip().lower()
    if header in PLACES or is_id_header(name):
        return "numbers the profiles"
    if set(re.split(r"[ _.-]", header)) & ANSWER_WORDS:
        return "is an answer"
    texts = [naming.text(cell) for cell in table.columns[name]]
    if all(len({texts[row] for row in rows}) == 1 for rows in groups.values()):
        return "the same for all profiles of each question"
    return None


def _chosen_place(table: NamedColumns, chosen: str, rows: Sequence[int]) -> int | None:
    """The place of the chosen one among the profiles of a question; None where it was not answered."""
    texts = [_word(table.columns[chosen][row]) for row in rows]
    if not any(texts):
        return None
    for row, text in zip(rows, texts, strict=True):
        if text not in YES:
            said = naming.text(table.columns[chosen][row])
            raise InputError(f"{chosen} of {table.where(row)} is {said!r}; it must be 1 (chosen) or 0.")
    places = [place for place, text in enumerate(texts) if YES[text]]
    if len(rows) < 2 or len(places) != 1:
        at = f"The question that begins in {table.where(rows[0])} has {count(len(rows), 'profile')}"
        raise InputError(f"{at}, {len(places)} of them chosen; it needs two or more, and one of them chosen.")
    return places[0]


def _collected(
    table: NamedColumns,
    asked: Sequence[_Asked],
    features: Sequence[str],
    notes: Sequence[str],
    user: str | None,
) -> DescribedChoices:
    """The different profiles, each once, and the questions about them, but for those about equal ones."""
    shown = [shown for one in asked for shown in one.shown]
    columns = {
        name: _column([table.columns[one.columns[name]][one.row] for one in shown]) for name in features
    }
    whole = replace(table, columns=columns, lines=[table.number(one.row) for one in shown], index=None)
    texts = [[naming.text(cell) for cell in whole.typed[name]] for name in features]
    keys = iter(zip(*texts, strict=True))
    positions: dict[tuple[str, ...], int] = {}
    sets, chosen, rows = [], [], []
    for one in asked:
        called = [next(keys) for _ in one.shown]
        if len(set(called)) == len(called):
            sets.append(tuple(positions.setdefault(key, len(positions)) for key in called))
            chosen.append(one.chosen)
            rows.append(one.shown[0].row)
    if not sets:
        raise InputError(f"No answered question of {_name(table)} is about profiles that differ.")
    said = [*notes, f"Learned from: {', '.join(features)}."]
    if alike := len(asked) - len(sets):
        said.append(f"Left out, as the profiles are alike: {count(alike, 'question')}.")
    weight = _called(table, ("weight",))
    users, weights = (None if name is None else table.answers[name][rows] for name in (user, weight))
    found = tuple(features), tuple(sets), tuple(chosen), users, weights, tuple(rows), tuple(said)
    first = {key: row for row, key in reversed(list(enumerate(zip(*texts, strict=True))))}
    return DescribedChoices(_only(whole, [first[key] for key in positions]), *found, table)


def _only(table: NamedColumns, rows: list[int]) -> NamedColumns:
    """Some rows of a table."""
    columns = {name: column[rows] for name, column in table.columns.items()}
    return replace(table, columns=columns, lines=[table.number(row) for row in rows])


def _column(cells: list[Any]) -> NDArray[Any]:
    """Cells as a column of numbers, or of whatever they are."""
    found = np.array(cells)
    if found.dtype.kind in "biufmM":
        return found
    result = np.empty(len(cells), dtype=object)
    result[:] = cells
    return result
