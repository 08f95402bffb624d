"""What stands after all that was asked, answered and undone: a replay of a respondent's rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from heapq import merge

from coombs.storage.records import AnswerRecord, Event, QuestionRecord


class History:
    """The questions and the standing answers of one respondent, in their order.

    `asked` are the pairs of questions, and of earlier rows that were not read; `last_event` and
    `last_question` are the ids up to which everything was read.
    """

    def __init__(self) -> None:
        self.questions: dict[int, QuestionRecord] = {}
        self.answers: dict[int, AnswerRecord] = {}
        self.last_event = self.last_question = 0
        self.asked: set[tuple[int, int]] = set()
        self._answer_of: dict[int, int] = {}
        self._stood: dict[int, int] = {}
        self._reopened: dict[int, None] = {}

    def add(self, questions: Sequence[QuestionRecord], events: Sequence[Event]) -> None:
        """More of both, in the storage's order."""
        for row in merge(events, questions, key=_when):
            if isinstance(row, QuestionRecord):
                self.note(row)
                self.last_question = max(self.last_question, row.id)
                continue
            if isinstance(row, AnswerRecord):
                self._answered(row)
            else:
                self._undone(row.answer_id)
            self.last_event = max(self.last_event, row.id)

    def note(self, question: QuestionRecord) -> None:
        """A question just asked; it is read again with those that others asked before it."""
        self.questions.pop(question.id, None)
        self.questions[question.id] = question
        self._stood[question.id] = len(self.answers)
        self.asked.add(unordered(question.left, question.right))

    def _answered(self, answer: AnswerRecord) -> None:
        self.answers[answer.id] = answer
        if answer.question_id is not None:
            self._answer_of[answer.question_id] = answer.id
            self._reopened.pop(answer.question_id, None)

    def _undone(self, answer_id: int) -> None:
        # An answer from before what was read may be undone after it.
        answer = self.answers.pop(answer_id, None)
        if answer is not None and answer.question_id is not None:
            self._answer_of.pop(answer.question_id, None)
            self._reopened[answer.question_id] = None

    @property
    def pairs(self) -> set[tuple[int, int]]:
        """Those asked about, or with an answer that stands."""
        return self.asked | {unordered(one.left, one.right) for one in self.answers.values()}

    @property
    def reopened(self) -> QuestionRecord | None:
        """The question whose answer was undone last, if it has no new one."""
        known = [self.questions[number] for number in self._reopened if number in self.questions]
        return known[-1] if known else None

    @property
    def open(self) -> QuestionRecord | None:
        """The question to show: one reopened, or the last one asked if it has no answer."""
        if self.reopened is not None or not self.questions:
            return self.reopened
        last = self.questions[next(reversed(self.questions))]
        return last if last.id not in self._answer_of else None

    @property
    def unanswered(self) -> QuestionRecord | None:
        """The earliest question without an answer."""
        return next((one for number, one in self.questions.items() if number not in self._answer_of), None)

    @property
    def progress(self) -> float:
        """How far it was shown to be with questions answered or open, if no fewer answers stand now."""
        numbers = [*self._answer_of, *([] if self.open is None else [self.open.id])]
        kept = [n for n in numbers if n in self.questions and self._stood[n] <= len(self.answers)]
        return max((self.questions[n].progress or 0.0 for n in kept), default=0.0)

    @property
    def open_progress(self) -> float | None:
        """How far it was shown to be with the open question, unless other answers stand since then."""
        waiting = self.open
        if waiting is None or self._stood[waiting.id] != len(self.answers):
            return None
        return waiting.progress

    @property
    def log_odds(self) -> float:
        """log of how much likelier the answers were by the predictions made before them than by a coin."""
        total = 0.0
        for number, answer_id in self._answer_of.items():
            question, answer = self.questions.get(number), self.answers.get(answer_id)
            if question is None or answer is None or question.predicted is None:
                continue
            if answer.choice in ("left", "right"):
                p = question.predicted if answer.choice == "left" else 1 - question.predicted
                total += math.log(2 * max(p, 1e-9))
        return total

    @property
    def last_answer(self) -> AnswerRecord | None:
        """The latest that stands."""
        return self.answers[next(reversed(self.answers))] if self.answers else None


def _when(row: Event | QuestionRecord) -> datetime:
    return row.asked if isinstance(row, QuestionRecord) else row.told


def unordered(left: int, right: int) -> tuple[int, int]:
    """A pair, the same either way around."""
    return (left, right) if left < right else (right, left)
