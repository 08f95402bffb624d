"""What stands after all that was asked, answered and undone: a replay of a respondent's rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from heapq import merge

from coombs.storage import Storage, StorageDamagedError
from coombs.storage.failures import damaged
from coombs.storage.records import (
    AnswerRecord,
    AnyAnswer,
    AnyQuestion,
    Event,
    JudgementRecord,
    QuestionRecord,
    RespondentRecord,
    SetQuestionRecord,
    UndoRecord,
)
from coombs.study.study_records import ATTENTION

MOST_ANSWERS = 2_000
"""The latest answers that questions are chosen by, at most."""
FIRST_CONFIRMATION = 6
"""Answers before the first question with a predictable answer."""
CONFIRM_EVERY = 3
"""After it, every third question has a predictable answer, until there is evidence of a taste."""
CONFIRMED = 4.0
"""Log odds, a taste against a coin, that are evidence enough."""


class History:
    """The questions and the standing answers of one respondent, in their order.

    `asked` are the pairs of questions, and of earlier rows that were not read; `sets` are questions about
    more than two; `last_position` is that of the last item that any row is about; `last_event` and
    `last_question` are the ids up to which everything was read. Where that is all there is (`is_whole`), rows
    that do not fit together are damage. Questions about `retired` items are not asked again.
    """

    def __init__(self, is_whole: bool = False) -> None:
        self.is_whole = is_whole
        self.retired: frozenset[int] = frozenset()
        self._clear()

    def _clear(self) -> None:
        self.questions: dict[int, AnyQuestion] = {}
        self.answers: dict[int, AnyAnswer] = {}
        self.last_event = self.last_question = 0
        self.asked: set[tuple[int, int]] = set()
        self.sets: set[frozenset[int]] = set()
        self.last_position = -1
        self._answer_of: dict[int, int] = {}
        self._stood: dict[int, int] = {}
        self._reopened: dict[int, None] = {}

    @staticmethod
    def of(storage: Storage, respondent_id: int) -> History:
        """The whole history of a respondent; events are read first, as what they answer was asked before."""
        events = storage.events(respondent_id)
        history = History(is_whole=True)
        history.add(storage.questions(respondent_id), events)
        return history

    def add(self, questions: Sequence[AnyQuestion], events: Sequence[Event]) -> None:
        """Add questions and events, in the storage's order."""
        if self.is_whole:
            self._check_questions(questions, events)
        for row in merge(events, questions, key=_when):
            if isinstance(row, QuestionRecord | SetQuestionRecord):
                self.note(row)
                self.last_question = max(self.last_question, row.id)
                continue
            if isinstance(row, UndoRecord):
                if self.is_whole and row.answer_id not in self.answers:
                    raise _damaged(row, "it takes back an answer that is not there")
                self._undone(row.answer_id)
            else:
                self._answered(row)
            self.last_event = max(self.last_event, row.id)

    def note(self, question: AnyQuestion) -> None:
        """A question just asked; it is read again with those that others asked before it."""
        self.questions.pop(question.id, None)
        self.questions[question.id] = question
        self._stood[question.id] = len(self.answers)
        self.last_position = max(self.last_position, *question.positions)
        if isinstance(question, QuestionRecord):
            self.asked.add(unordered(question.left, question.right))
        else:
            self.sets.add(frozenset(question.items))

    def _check_questions(self, questions: Sequence[AnyQuestion], events: Sequence[Event]) -> None:
        """Check that answers are about the items of their questions."""
        asked = self.questions | {question.id: question for question in questions}
        for event in events:
            if not isinstance(event, UndoRecord) and event.question_id is not None:
                question = asked.get(event.question_id)
                if question is None:
                    raise _damaged(event, "its question is not there")
                if not _is_about(event, question):
                    raise _damaged(event, "it is not about the items of its question")

    def _answered(self, answer: AnyAnswer) -> None:
        if self.is_whole and answer.question_id in self._answer_of:
            raise _damaged(answer, "its question has another answer")
        self.answers[answer.id] = answer
        if isinstance(answer, AnswerRecord):
            self.last_position = max(self.last_position, answer.left, answer.right)
        elif isinstance(answer, JudgementRecord):
            self.last_position = max(self.last_position, *answer.judgement.items)
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
        """Pairs that were asked about, or have a standing answer about them alone."""
        told = (one for one in self.answers.values() if isinstance(one, AnswerRecord))
        return self.asked | {unordered(one.left, one.right) for one in told}

    @property
    def reopened(self) -> AnyQuestion | None:
        """The question whose answer was undone last, if it has no new one."""
        known = (self.questions[number] for number in reversed(self._reopened) if number in self.questions)
        return next(filter(self.is_askable, known), None)

    @property
    def open(self) -> AnyQuestion | None:
        """The question to show: one reopened, or the last one asked if it has no answer."""
        if self.reopened is not None or not self.questions:
            return self.reopened
        last = self.questions[next(reversed(self.questions))]
        return last if last.id not in self._answer_of and self.is_askable(last) else None

    @property
    def unanswered(self) -> AnyQuestion | None:
        """The earliest question without an answer."""
        left = (one for number, one in self.questions.items() if number not in self._answer_of)
        return next(filter(self.is_askable, left), None)

    def is_askable(self, question: AnyQuestion) -> bool:
        """Whether none of the items of a question is retired."""
        return not self.retired or self.retired.isdisjoint(question.positions)

    @property
    def progress(self) -> float:
        """The progress last shown with a question answered or open, if no fewer answers stand now."""
        numbers = [*self._answer_of, *([] if self.open is None else [self.open.id])]
        kept = [n for n in numbers if n in self.questions and self._stood[n] <= len(self.answers)]
        return max((self.questions[n].progress or 0.0 for n in kept), default=0.0)

    @property
    def open_progress(self) -> float | None:
        """The progress shown with the open question, unless other answers stand since then."""
        waiting = self.open
        if waiting is None or self._stood[waiting.id] != len(self.answers):
            return None
        return waiting.progress

    @property
    def log_odds(self) -> float:
        """log of how much likelier the answers were by the predictions made before them than by a coin."""
        told = (
            (self.questions.get(number), self.answers.get(answer))
            for number, answer in self._answer_of.items()
        )
        return sum(_log_odds(question, answer) for question, answer in told)

    @property
    def learned(self) -> list[AnyAnswer]:
        """The standing answers that are learned from: all but those to attention checks."""
        return [one for one in self.answers.values() if self.purpose(one) != ATTENTION]

    def purpose(self, answer: AnyAnswer) -> str | None:
        """The purpose of the question that an answer is to, if any."""
        question = None if answer.question_id is None else self.questions.get(answer.question_id)
        return None if question is None else question.purpose

    @property
    def needs_confirmation(self) -> bool:
        """Whether it is time for a question with a predictable answer.

        Answers to chosen questions are open by design: they teach much, and say nothing about whether there
        is a taste to learn. So, until that is settled, every so many questions test what was learned.
        """
        count = len(self.answers)
        return count >= FIRST_CONFIRMATION and count % CONFIRM_EVERY == 0 and self.log_odds < CONFIRMED

    def has_answer(self, question: int) -> bool:
        """Whether a question has a standing answer."""
        return question in self._answer_of

    @property
    def n_answered(self) -> int:
        """Questions that have a standing answer; a skip is one."""
        return len(self._answer_of)

    @property
    def last_answer(self) -> AnyAnswer | None:
        """The latest standing answer."""
        return self.answers[next(reversed(self.answers))] if self.answers else None


class StoredHistory(History):
    """A history read from the storage as far as it is needed: the latest rows first, then what is new.

    `is_stale` says that something was added here and not read back; `n_earlier` counts the standing
    answers that are older than what was read. `follow` is called whenever something was read, with the last
    line of the study's log and the number of items that there must be, and says which of them are retired.
    """

    def __init__(
        self, storage: Storage, respondent: RespondentRecord, follow: Callable[[int, int], frozenset[int]]
    ) -> None:
        super().__init__()
        self._follow = follow
        self._storage, self._respondent = storage, respondent
        self._read = False
        self.is_stale, self.n_earlier = True, 0

    @property
    def n_answered(self) -> int:
        """Questions that have a standing answer; earlier answers than were read count as such."""
        return self.n_earlier + super().n_answered

    def sync(self) -> None:
        """Read what came since, from this process or others."""
        latest = None if self._read else MOST_ANSWERS
        # Events first: the question of each is there by then.
        number = self._respondent.id
        events, line = self._storage.events_and_log(number, after=self.last_event, latest=latest)
        asked = self._storage.questions(self._respondent.id, after=self.last_question, latest=latest)
        if not self._read:
            self.is_whole = max(len(asked), len(events)) < MOST_ANSWERS
        self.add(asked, events)
        self.retired = self._follow(line, self.last_position + 1)
        self.is_stale = False
        if not self._read:
            self._read = True
            if not self.is_whole:
                stored = self._storage.respondents(self._respondent.study_id)
                number = next(n for one, n in stored if one.id == self._respondent.id)
                self.n_earlier = number - len(self.answers)

    def refresh(self) -> None:
        """Read what came since, if something was added here: one read serves a whole turn."""
        if self.is_stale:
            self.sync()

    def read_all(self) -> None:
        """Read everything, however old, if it was not; if it was, nothing."""
        if not self.is_whole:
            self._clear()
            self._read, self.is_whole, self.n_earlier = True, True, 0
            self.sync()

    def question(self, number: int) -> AnyQuestion | None:
        """A question by its id, however old."""
        for read in (self.sync, self.read_all):
            if number not in self.questions:
                read()
        return self.questions.get(number)

    def answer(self, number: int) -> AnyAnswer | None:
        """A standing answer by its id, however old."""
        self.sync()
        if number not in self.answers:
            self.read_all()
        return self.answers.get(number)


def _damaged(event: Event, reason: str) -> StorageDamagedError:
    return damaged(f"Answer {event.id} of respondent {event.respondent_id}", reason)


def _when(row: Event | AnyQuestion) -> datetime:
    return row.asked if isinstance(row, QuestionRecord | SetQuestionRecord) else row.told


def _is_about(answer: AnyAnswer, question: AnyQuestion) -> bool:
    """Whether an answer is about just the items of a question."""
    if isinstance(answer, AnswerRecord):
        return isinstance(question, QuestionRecord) and {answer.left, answer.right} == {
            question.left,
            question.right,
        }
    if isinstance(question, QuestionRecord):
        return False
    return not isinstance(answer, JudgementRecord) or set(answer.judgement.items) == set(question.items)


def _log_odds(question: AnyQuestion | None, answer: AnyAnswer | None) -> float:
    """log of how much likelier an answer was by what was predicted of it than by chance: 1 in 2, or in k."""
    if question is None or question.purpose == ATTENTION:
        return 0.0
    if isinstance(question, SetQuestionRecord):
        if not isinstance(answer, JudgementRecord) or question.chances is None:
            return 0.0
        chance = question.chances[question.items.index(answer.judgement.places[0][0])]
        return math.log(len(question.items) * max(chance, 1e-9))
    if question.predicted is None or not isinstance(answer, AnswerRecord):
        return 0.0
    if answer.choice not in ("left", "right"):
        return 0.0
    p = question.predicted if answer.choice == "left" else 1 - question.predicted
    return math.log(2 * max(p, 1e-9))


def unordered(left: int, right: int) -> tuple[int, int]:
    """A pair, the same either way around."""
    return (left, right) if left < right else (right, left)
