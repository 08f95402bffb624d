"""Answers as tables: read out of every kind of file, written as CSV and Parquet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from coombs.data import checking, files, naming, tables
from coombs.data.tables import Columns, InputError, Names, Where
from coombs.progress import ProgressBar
from coombs.storage.records import AnswerRecord, Choice, QuestionRecord, new_token
from coombs.storage.timestamps import read_time, time_text
from coombs.study.history import History
from coombs.study.study import ME, Study
from coombs.study.study_jsonl import holds_study

_COLUMNS = {
    "user": "string",
    "left": "string",
    "right": "string",
    "winner": "string",
    "choice": "string",
    "weight": "float64",
    "question": "Int64",
    "purpose": "string",
    "predicted": "float64",
    "asked": "string",
    "told": "string",
}
"""The columns of a file of answers, and their types in pandas."""
_CHOICE_OF = {1: "left", -1: "right", 0: "tie", None: "skip"}
"""A choice by its sign."""

Said: TypeAlias = tuple[str, int, int, Choice, float]
"""What makes two answers the same, but for the time: user, the lower position, the other, choice, weight."""
Told: TypeAlias = tuple[str, int, int, Choice, float, datetime | None]
"""An answer in a table: user, left, right, choice, weight, and when, if the table says so."""


def export_answers(study: Study, path: files.PathType, respondent: str | None = None) -> None:
    """Write the standing answers of all respondents, or of one, as CSV or Parquet by the path's suffix.

    The columns are user, left, right, winner (an item's name, tie or skip), choice (left, right, tie or
    skip), weight, question, purpose, predicted (the probability of left), asked and told (times in UTC).
    `import_answers` and `Comparisons.read_csv` take the file as it is. In CSV an apostrophe stands
    before text that a spreadsheet would run as a formula; both take it off.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from coombs import create_study
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.csv"
    >>> study = create_study([[0.0], [1.0]], storage="memory:")
    >>> _ = study.tell((1, 0))
    >>> export_answers(study, path)
    >>> print(path.read_text().splitlines()[1][:24])
    "me","1","0","1","left",
    """
    suffix = _suffix(path)
    if suffix in files.PARQUET_SUFFIXES:
        frame = (
            tables.pandas().DataFrame(list(_rows(study, respondent)), columns=[*_COLUMNS]).astype(_COLUMNS)
        )
        with files.replacing(path) as part:
            frame.to_parquet(part, index=False)
    elif suffix == ".csv":
        files.write_csv(path, [*_COLUMNS], _rows(study, respondent))
    else:
        raise InputError(
            f"The answers cannot be written as {suffix!r}; the file's name must end in .csv or .parquet."
        )


def import_answers(study: Study, path: files.PathType) -> int:
    """Add the answers in a CSV, Excel, JSON or Parquet file to a study, all of them or none; return how many.

    The columns are those of `Comparisons.read_csv`: left, right, winner or winner, loser; also user
    (blank: the respondent "me"), weight, and told or timestamp (ISO 8601, in UTC unless it says
    otherwise; blank: now). A column choice (left, right, tie or skip) goes before winner. Skips are
    kept. They become answers that nobody asked for.

    Answers that stand already are not added again, so that importing a file twice, or one's own export,
    changes nothing: each standing answer of the same user about the same items, with the same choice, weight
    and time (any time, if the row has none), accounts for one row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from coombs import create_study
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.csv"
    >>> _ = path.write_text("user,left,right,winner\\nann,0,1,0\\nann,1,2,tie\\n")
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> import_answers(study, path), [answer.choice for answer in study.respondent("ann").history()]
    (2, ['left', 'tie'])
    """
    told = _told(study, *_read(path))
    storage, people = study.storage, dict[str, int]()
    with storage.batch():
        told = _not_standing(study, told)
        with ProgressBar(len(told), "answers") as bar:
            for user, left, right, choice, weight, at in told:
                if user not in people:
                    people[user] = storage.add_respondent(study.record.id, user, new_token()).id
                storage.add_answer(people[user], left, right, choice, weight=weight, at=at)
                bar.advance()
    return len(told)


def _not_standing(study: Study, told: list[Told]) -> list[Told]:
    """The rows without those that stand already; each answer that stands accounts for one."""
    timed = Counter(
        (_said(user, answer.left, answer.right, answer.choice, answer.weight), answer.told)
        for user, answer, _ in _standing(study, {row[0] for row in told})
    )
    known, said = Counter[Said](), [_said(*row[:5]) for row in told]
    for key, times in timed.items():
        known[key[0]] += times
    new = set(range(len(told)))
    # Rows with a time first: they are just that answer, and the others any.
    for i in sorted(new, key=lambda i: told[i][5] is None):
        at = told[i][5]
        stands = known[said[i]] if at is None else timed[said[i], at]
        if stands:
            new.remove(i)
            known[said[i]] -= 1
            if at is not None:
                timed[said[i], at] -= 1
    return [told[i] for i in sorted(new)]


def _standing(
    study: Study, users: Collection[str] | None
) -> Iterator[tuple[str, AnswerRecord, QuestionRecord | None]]:
    """The answers of these users, or of all, that stand, each with the question it answers."""
    for respondent, count in study.storage.respondents(study.record.id):
        if count and (users is None or respondent.name in users):
            history = History.of(study.storage, respondent.id)
            for answer in history.answers.values():
                asked = None if answer.question_id is None else history.questions[answer.question_id]
                yield respondent.name, answer, asked


def _said(user: str, left: int, right: int, choice: Choice, weight: float) -> Said:
    """An answer, the same whichever item stood on the left."""
    if left < right or choice not in ("left", "right"):
        return user, min(left, right), max(left, right), choice, weight
    return user, right, left, "left" if choice == "right" else "right", weight


def _rows(study: Study, respondent: str | None) -> Iterator[tuple[Any, ...]]:
    """The standing answers, a row each."""
    names = study.catalogue.names
    for user, answer, question in _standing(study, None if respondent is None else {respondent}):
        left, right = names[answer.left], names[answer.right]
        why: tuple[Any, ...] = (None, None, None)
        if question is not None:
            why = question.purpose, question.predicted, time_text(question.asked)
        winner, told = _winner(answer.choice, left, right), time_text(answer.told)
        yield user, left, right, winner, answer.choice, answer.weight, answer.question_id, *why, told


def _winner(choice: Choice, left: str, right: str) -> str:
    """The item chosen, or tie or skip: in capitals where an item is called so, as readers take both."""
    if choice in ("left", "right"):
        return left if choice == "left" else right
    return next(word for word in (choice, choice.title(), choice.upper()) if word not in (left, right))


def _read(path: files.PathType) -> tuple[Columns, Where]:
    """The columns of a file of answers by their names in lower case, and how messages call its rows."""
    if _suffix(path) == ".jsonl" and holds_study(path):
        raise InputError(f"{files.path_text(path)} is a whole study; import_study makes it one again.")
    table = files.read_table(path)
    return checking.lower_case(table.answers), table.where


def _told(study: Study, columns: Columns, where: Where) -> list[Told]:
    """The answers in a table, checked."""
    first, second, choices = _choices(columns, where)
    table = study.catalogue.table
    left, right = tables.positions(table, first, where), tables.positions(table, second, where)
    if (left == right).any():
        i = int((left == right).argmax())
        raise InputError(f"In {where(i)} item {first[i]!r} is compared with itself; the two must differ.")
    users = [text if text.strip() else ME for text in _cells(columns.get("user"), len(left))]
    weights = _weights(columns.get("weight"), len(left), where)
    texts = _cells(columns.get("told", columns.get("timestamp")), len(left))
    times = [_row_time(text, i, where) if text.strip() else None for i, text in enumerate(texts)]
    return list(zip(users, left.tolist(), right.tolist(), choices, weights, times, strict=True))


def _choices(columns: Columns, where: Where) -> tuple[Names, Names, list[Choice]]:
    """The items of each row by name, and which was chosen."""
    given = checking.answer_columns(columns, where)
    if given.y is None:
        sides, words = ("winner", "loser"), ["left"] * len(given.rows)
    else:
        signs = dict(zip(given.rows.tolist(), given.y.tolist(), strict=True))
        sides, words = ("left", "right"), [_CHOICE_OF[signs.get(i)] for i in range(len(columns["left"]))]
    first, second = (tables.text_array(columns[side], side, where) for side in sides)
    return first, second, cast("list[Choice]", words)


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
        raise InputError(f"The time of {where(i)} is {text!r}; it must be {error}.") from error


def _suffix(path: files.PathType) -> str:
    return Path(files.path_text(path)).suffix.lower()
