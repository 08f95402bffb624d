"""What the storage in memory is made of: studies, and a sheet for each respondent."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from coombs.storage.records import AnswerRecord, Event, QuestionRecord, RespondentRecord, UndoRecord
from coombs.storage.rows import Row

Record = TypeVar("Record", QuestionRecord, Event)


@dataclass(frozen=True)
class Study:
    """A study's columns and its items', which become new records whenever they are read."""

    row: Row
    items: list[Row]


@dataclass
class Sheet:
    """A respondent's questions and events in the order of their ids, and what follows from them."""

    respondent: RespondentRecord
    questions: list[QuestionRecord] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    standing: dict[int, AnswerRecord] = field(default_factory=dict)
    by_question: dict[int, AnswerRecord] = field(default_factory=dict)
    met: Counter[frozenset[int]] = field(default_factory=Counter)

    def copy(self) -> Sheet:
        """The same, to go back to; records never change and are shared."""
        return Sheet(
            self.respondent,
            self.questions.copy(),
            self.events.copy(),
            self.standing.copy(),
            self.by_question.copy(),
            self.met.copy(),
        )

    def add_question(self, question: QuestionRecord) -> None:
        """Note a question."""
        self.questions.append(question)
        self.met[frozenset((question.left, question.right))] += 1

    def add_answer(self, answer: AnswerRecord) -> None:
        """Let an answer stand."""
        self.events.append(answer)
        self.standing[answer.id] = answer
        self.met[frozenset((answer.left, answer.right))] += 1
        if answer.question_id is not None:
            self.by_question[answer.question_id] = answer

    def add_undo(self, undo: UndoRecord) -> None:
        """Let its answer stand no longer."""
        self.events.append(undo)
        answer = self.standing.pop(undo.answer_id)
        self.met[frozenset((answer.left, answer.right))] -= 1
        if answer.question_id is not None:
            del self.by_question[answer.question_id]


@dataclass
class State:
    """Everything, and the last id given out."""

    studies: dict[int, Study] = field(default_factory=dict)
    sheets: dict[int, Sheet] = field(default_factory=dict)
    last_id: int = 0

    def copy(self) -> State:
        """The same, to go back to."""
        sheets = {number: sheet.copy() for number, sheet in self.sheets.items()}
        return replace(self, studies=self.studies.copy(), sheets=sheets)

    def new_id(self) -> int:
        """An id that nothing has; one sequence serves all."""
        self.last_id += 1
        return self.last_id


def find(records: Sequence[Record], number: int) -> Record | None:
    """The record with that id."""
    found = records[bisect_left(records, number, key=_id) :][:1]
    return found[0] if found and found[0].id == number else None


def page(records: Sequence[Record], after: int, latest: int | None) -> list[Record]:
    """The records after an id, the latest so many."""
    start = bisect_left(records, after + 1, key=_id)
    if latest is not None:
        start = max(start, len(records) - max(latest, 0))
    return list(records[start:])


def _id(record: QuestionRecord | Event) -> int:
    """What records are sorted by."""
    return record.id
