"""Answers as files: what is in one added to a study, and a study's written as CSV and Parquet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from coombs.data import files, tables
from coombs.data.orders import NONE
from coombs.data.shape_tables import none_word
from coombs.data.tables import InputError
from coombs.storage.records import (
    AnswerRecord,
    AnyAnswer,
    AnyQuestion,
    Choice,
    SetQuestionRecord,
    SkipRecord,
)
from coombs.storage.timestamps import time_text
from coombs.study.answer_tables import answers_table, told_in_table
from coombs.study.history import History
from coombs.study.judgements import Told, keep, said_in, same_said
from coombs.study.study import Study

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
"""The columns of a file of answers about pairs, and their types in pandas."""
_LONG_COLUMNS = {
    "answer": "Int64",
    "shape": "string",
    "user": "string",
    "item": "string",
    "place": "float64",
} | {name: _COLUMNS[name] for name in ("weight", "question", "purpose", "predicted", "asked", "told")}
"""The columns where answers have other shapes than pairs: a row for each item."""
_PLACES: dict[str, tuple[float | None, float | None]] = {
    "left": (1, 2),
    "right": (2, 1),
    "tie": (1, 1),
    "skip": (None, None),
}
"""The places of left and right by the choice between them."""

Standing: TypeAlias = tuple[str, AnyAnswer, AnyQuestion | None]
"""Who gave an answer that stands, the answer, and the question that it answers."""


def export_answers(study: Study, path: files.PathType, respondent: str | None = None) -> None:
    """Write the standing answers of all respondents, or of one, as CSV or Parquet by the path's suffix.

    The columns are user, left, right, winner (an item's name, tie or skip), choice (left, right, tie or
    skip), weight, question, purpose, predicted (the probability of left), asked and told (times in UTC).
    Where answers have other shapes than pairs, there is a row for each item in an answer, with answer, shape,
    item and place (1 for the best, blank in a skip; or the rating) in the place of left to choice; the items
    of a question in the order in which they were shown, predicted being of a set the probability of the item
    to be the best. `import_answers` and `Comparisons.read_csv` take either file as it is. In CSV an
    apostrophe stands before text that a spreadsheet would run as a formula; both take it off.

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
    standing = list(_standing(study, None if respondent is None else {respondent}))
    is_long = any(not isinstance(answer, AnswerRecord) for _, answer, _ in standing)
    columns, rows = (_LONG_COLUMNS, _long_rows) if is_long else (_COLUMNS, _pair_rows)
    if suffix in files.PARQUET_SUFFIXES:
        frame = tables.pandas().DataFrame(list(rows(study, standing)), columns=[*columns]).astype(columns)
        with files.replacing(path) as part:
            frame.to_parquet(part, index=False)
    elif suffix == ".csv":
        files.write_csv(path, [*columns], rows(study, standing))
    else:
        raise InputError(
            f"The answers cannot be written as {suffix!r}; the file's name must end in .csv or .parquet."
        )


def import_answers(study: Study, path: files.PathType) -> int:
    """Add the answers in a CSV, Excel, JSON or Parquet file to a study, all of them or none; return how many.

    The columns are those of `Comparisons.read_csv`, of any shape; also user (blank: the respondent "me"),
    weight, and told or timestamp (ISO 8601, in UTC unless it says otherwise; blank: now). A column choice
    (left, right, tie or skip) goes before winner. Skips are kept. They become answers that nobody asked for.

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
    return add_table(study, answers_table(path))


def add_table(study: Study, table: files.NamedColumns) -> int:
    """Add the answers in a table that was read before, all of them or none; return how many."""
    told = told_in_table(study, table)
    with study.storage.batch():
        told = _not_standing(study, told)
        keep(study, told)
    return len(told)


def _not_standing(study: Study, told: list[Told]) -> list[Told]:
    """The rows without those that stand already; each answer that stands accounts for one."""
    timed = Counter(
        (same_said(Told(user, said_in(answer), answer.weight)), answer.told)
        for user, answer, _ in _standing(study, {row.user for row in told})
        if not isinstance(answer, SkipRecord)
    )
    known, said = Counter[Any](), [same_said(row) for row in told]
    for key, times in timed.items():
        known[key[0]] += times
    new = set(range(len(told)))
    # Rows with a time first: they are just that answer, and the others any.
    for i in sorted(new, key=lambda i: told[i].at is None):
        at = told[i].at
        stands = known[said[i]] if at is None else timed[said[i], at]
        if stands:
            new.remove(i)
            known[said[i]] -= 1
            if at is not None:
                timed[said[i], at] -= 1
    return [told[i] for i in sorted(new)]


def _standing(study: Study, users: Collection[str] | None) -> Iterator[Standing]:
    """The answers of these users, or of all, that stand, each with the question it answers."""
    for respondent, count in study.storage.respondents(study.record.id):
        if count and (users is None or respondent.name in users):
            history = History.of(study.storage, respondent.id)
            for answer in history.answers.values():
                asked = None if answer.question_id is None else history.questions[answer.question_id]
                yield respondent.name, answer, asked


def _pair_rows(study: Study, standing: list[Standing]) -> Iterator[tuple[Any, ...]]:
    """Answers about pairs, a row each."""
    names = study.catalogue.names
    for user, answer, question in standing:
        assert isinstance(answer, AnswerRecord)
        left, right = names[answer.left], names[answer.right]
        winner = _winner(answer.choice, left, right)
        why, told = _why(question), time_text(answer.told)
        yield user, left, right, winner, answer.choice, answer.weight, answer.question_id, *why, told


def _long_rows(study: Study, standing: list[Standing]) -> Iterator[tuple[Any, ...]]:
    """Answers of any shape, a row for each item."""
    names = study.catalogue.names
    nothing = none_word(names)
    for number, (user, answer, question) in enumerate(standing):
        told = answer.weight, answer.question_id
        shape, placed = _placed(answer, question)
        for item, place in placed:
            why, at = _why(question, item), time_text(answer.told)
            yield number, shape, user, nothing if item == NONE else names[item], place, *told, *why, at


def _placed(answer: AnyAnswer, question: AnyQuestion | None) -> tuple[str, list[tuple[int, float | None]]]:
    """The shape of an answer, and the place of each item; a pair or a set is in the order it was shown."""
    if isinstance(answer, AnswerRecord):
        sides = zip((answer.left, answer.right), _PLACES[answer.choice], strict=True)
        return "pair", list(sides)
    if isinstance(answer, SkipRecord):
        return "best-worst", [(item, None) for item in (() if question is None else question.positions)]
    said = answer.judgement
    if said.rating is not None:
        return said.shape, [(said.items[0], said.rating)]
    placed: dict[int, float | None] = {i: k for k, tier in enumerate(said.places, 1) for i in tier}
    order = placed if question is None else question.positions
    return said.shape, [(item, placed[item]) for item in order]


def _why(question: AnyQuestion | None, item: int = NONE) -> tuple[Any, ...]:
    """Purpose, prediction and time of the question that was answered, if any.

    The prediction is the probability of left; of a set, that of this item to be the best.
    """
    if question is None:
        return (None,) * 3
    predicted = question.predicted
    if isinstance(question, SetQuestionRecord) and question.chances is not None:
        predicted = question.chances[question.items.index(item)]
    return question.purpose, predicted, time_text(question.asked)


def _winner(choice: Choice, left: str, right: str) -> str:
    """The item chosen, or tie or skip: in capitals where an item is called so, as readers take both."""
    if choice in ("left", "right"):
        return left if choice == "left" else right
    return next(word for word in (choice, choice.title(), choice.upper()) if word not in (left, right))


def _suffix(path: files.PathType) -> str:
    return Path(files.path_text(path)).suffix.lower()
