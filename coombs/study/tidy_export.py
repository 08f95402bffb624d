"""A study as tidy tables, CSV and Parquet, with a codebook: answers, people, items; in a folder or a zip."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coombs.data import files, naming, tables
from coombs.data.catalogue import shown_cells
from coombs.data.orders import NONE
from coombs.storage.records import AnswerRecord, AnyAnswer, AnyQuestion, JudgementRecord
from coombs.storage.timestamps import time_text
from coombs.study import codebook
from coombs.study.codebook import NUMBER, TEXT, TidyColumn, TidyTable
from coombs.study.history import History
from coombs.study.item_versions import version_numbers

if TYPE_CHECKING:
    from coombs.study.monitoring import MonitoredPerson
    from coombs.study.study import Study

PAIR = "pair"
"""The kind of an answer about two items."""


def tidy_tables(study: Study) -> tuple[TidyTable, ...]:
    """Answers, people and items, a row each."""
    study.follow_items()
    people = study.monitor().people
    return _answers(study, people), _people(study, people), _items(study)


def _answers(study: Study, people: tuple[MonitoredPerson, ...]) -> TidyTable:
    everything, rows = study.storage.everything(study.record.id), []
    for person in people:
        history = History(is_whole=True)
        history.add(*everything.get(person.id, ([], [])))
        for answer in history.answers.values():
            asked = None if answer.question_id is None else history.questions.get(answer.question_id)
            rows.append((person.name, *_answer(study, answer, asked), ", ".join(person.flags) or None))
    return TidyTable("answers", "a row for each answer that stands", codebook.ANSWERS, rows)


def _answer(study: Study, answer: AnyAnswer, asked: AnyQuestion | None) -> tuple[Any, ...]:
    """The cells of an answer between its person and their flags."""
    names = study.catalogue.names
    shown = asked.positions if asked is not None else _items_of(answer)
    best, worst = _ends(answer)
    seconds = None if asked is None else round((answer.told - asked.asked).total_seconds(), 6)
    said = answer.judgement if isinstance(answer, JudgementRecord) else None
    kind = said.shape if said is not None else PAIR if len(shown) == 2 else "best-worst"
    places = said and [[None if i == NONE else names[i] for i in place] for place in said.places]
    return (
        answer.id,
        answer.question_id,
        kind,
        asked and asked.purpose,
        json.dumps([names[i] for i in shown], ensure_ascii=False),
        answer.choice,
        None if best is None else names[best],
        None if worst is None else names[worst],
        places and json.dumps(places, ensure_ascii=False),
        said and said.rating,
        asked and asked.predicted,
        answer.weight,
        asked and asked.asked,
        answer.told,
        seconds,
    )


def _items_of(answer: AnyAnswer) -> tuple[int, ...]:
    """What an answer that nobody asked for is about."""
    if isinstance(answer, AnswerRecord):
        return answer.left, answer.right
    return answer.judgement.items if isinstance(answer, JudgementRecord) else ()


def _ends(answer: AnyAnswer) -> tuple[int | None, int | None]:
    """The best and the worst item of an answer, where there is one of each."""
    if isinstance(answer, AnswerRecord):
        pair = {"left": (answer.left, answer.right), "right": (answer.right, answer.left)}
        return pair.get(answer.choice, (None, None))
    if not isinstance(answer, JudgementRecord) or answer.judgement.rating is not None:
        return None, None
    first, last = answer.judgement.places[0], answer.judgement.places[-1]
    best = first[0] if len(first) == 1 and first[0] != NONE else None
    has_worst = answer.judgement.shape != "choice" and len(last) == 1 and last is not first
    return best, last[0] if has_worst else None


def _people(study: Study, people: tuple[MonitoredPerson, ...]) -> TidyTable:
    records = {record.id: record for record, _ in study.storage.respondents(study.record.id)}
    labels = list(dict.fromkeys(label for record in records.values() for label in record.fields))
    columns = codebook.PEOPLE + tuple(
        TidyColumn(name, TEXT, f"what they said of themselves: {label}", "as it was typed or chosen")
        for label, name in _apart(labels, [one.name for one in codebook.PEOPLE], "field")
    )
    rows = []
    for one in people:
        record = records.get(one.id)
        if record is None:
            continue
        known = one.source, one.external_id, one.status, one.has_link
        agreed = record.language, record.consented, record.consent_version
        times = one.invited, one.started, one.last_seen, one.finished
        fields = (record.fields.get(label) for label in labels)
        rows.append((one.name, *known, *agreed, *times, one.n_answers, ", ".join(one.flags) or None, *fields))
    return TidyTable("people", "a row for each person", columns, rows)


def _items(study: Study) -> TidyTable:
    catalogue = study.catalogue
    cells = shown_cells(catalogue.table)
    details = list(dict.fromkeys(name for one in catalogue.details for name in one))
    taken = [one.name for one in codebook.ITEMS]
    told = {one.name: one.text for one in catalogue.decisions}
    numeric = {name: all(not isinstance(cell, str) for cell in column) for name, column in cells.items()}
    features = [
        TidyColumn(name, NUMBER if numeric[column] else TEXT, "a feature, learned from", told.get(column, ""))
        for column, name in _apart(list(cells), taken, "feature")
    ]
    taken += [one.name for one in features]
    shown = [
        TidyColumn(name, TEXT, "shown, not learned from") for _, name in _apart(details, taken, "detail")
    ]
    stored = study.stored_items
    versions = version_numbers(stored)
    rows = [
        (
            name,
            i,
            stored[i].name,
            versions[i],
            stored[i].replaces,
            stored[i].added or study.record.created,
            stored[i].retired,
            *(column[i] for column in cells.values()),
            *(catalogue.details[i].get(one) or None for one in details),
        )
        for i, name in enumerate(catalogue.names)
    ]
    what = "a row for each item, and for each version of it that was asked about"
    return TidyTable("items", what, (*codebook.ITEMS, *features, *shown), rows)


def _apart(names: list[str], taken: list[str], kind: str) -> Iterator[tuple[str, str]]:
    """Names of columns, each with what it is called where others have that name."""
    used = set(taken)
    for name in names:
        called = name
        while called in used:
            called = f"{kind} {called}"
        used.add(called)
        yield name, called


def export_tables(study: Study, path: files.PathType) -> None:
    """Write answers, people, items and the codebook into a folder, which is made, or into a .zip.

    Parquet files are written where pyarrow is installed.

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0]], storage="memory:")
    >>> _ = study.tell((1, 0))
    >>> folder = Path(tempfile.mkdtemp()) / "study"
    >>> export_tables(study, folder)
    >>> sorted(one.name for one in folder.glob("*.csv"))
    ['answers.csv', 'codebook.csv', 'items.csv', 'people.csv']
    """
    target = Path(files.path_text(path))
    if target.suffix.lower() != ".zip":
        try:
            target.mkdir(exist_ok=True)
        except OSError as error:
            raise tables.InputError(f"The folder {target} cannot be made ({error.strerror}).") from error
        _write(study, target)
        return
    with tempfile.TemporaryDirectory() as folder, files.replacing(path) as part:
        _write(study, Path(folder))
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed:
            for one in sorted(Path(folder).iterdir()):
                packed.write(one, one.name)


def _write(study: Study, folder: Path) -> None:
    found = tidy_tables(study)
    for table in found:
        header = [one.name for one in table.columns]
        files.write_csv(folder / f"{table.name}.csv", header, ([*map(_in_csv, row)] for row in table.rows))
        if find_spec("pyarrow") is not None:
            with files.replacing(folder / f"{table.name}.parquet") as part:
                _frame(table).to_parquet(part, index=False)
    files.write_csv(folder / "codebook.csv", codebook.CODEBOOK_COLUMNS, codebook.codebook_rows(found))
    (folder / "codebook.md").write_text(codebook.codebook_markdown(study.name, found), encoding="utf-8")
    shown = [
        {"version": one.version, "created": time_text(one.created), **one.content}
        for one in study.storage.presentations(study.record.id)
    ]
    text = json.dumps(shown, ensure_ascii=False, indent=2)
    (folder / "presentations.json").write_text(f"{text}\n", encoding="utf-8")


def _frame(table: TidyTable) -> Any:
    """A table as a frame, with the types that the codebook says."""
    pandas = tables.pandas()
    frame = pandas.DataFrame(list(table.rows), columns=[one.name for one in table.columns], dtype=object)
    return frame.astype({one.name: codebook.PANDAS[one.type] for one in table.columns})


def _in_csv(cell: Any) -> Any:
    """A cell as CSV has it."""
    if isinstance(cell, datetime):
        return time_text(cell)
    return naming.for_json(cell) if not isinstance(cell, bool | str | int | float | None) else cell
