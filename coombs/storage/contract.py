"""What a storage does: the whole of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from coombs.data.tables import InputError
from coombs.storage.records import (
    AnswerRecord,
    Choice,
    Event,
    Item,
    QuestionRecord,
    RespondentRecord,
    StudyRecord,
    StudySummary,
    UndoRecord,
)


class UnknownStudyError(InputError):
    """There is no study, respondent or question of that name or number."""


class StudyExistsError(InputError):
    """There is a study of that name already."""


class AnsweredError(InputError):
    """The question has another answer, or the answer was undone already."""


class Storage(Protocol):
    """Studies, their items, and everything that respondents were asked and said.

    Every method is one transaction, unless inside of `batch`: when it returns, what it added is kept,
    whatever happens to the process; when it raises, nothing was added. Any number of processes and
    threads may call at once.
    `at` is when it happened, by default now.
    """

    def create_study(
        self,
        name: str,
        feature_names: Sequence[str],
        items: Sequence[Item],
        settings: Mapping[str, Any],
        *,
        at: datetime | None = None,
    ) -> StudyRecord:
        """A new study with its items, or StudyExistsError."""
        ...

    def study(self, name: str) -> StudyRecord:
        """The study of that name, or UnknownStudyError."""
        ...

    def studies(self) -> list[StudySummary]:
        """All studies by name."""
        ...

    def delete_study(self, name: str) -> None:
        """Remove a study with all that belongs to it."""
        ...

    def items(self, study_id: int) -> list[Item]:
        """The items of a study in their order."""
        ...

    def add_respondent(
        self, study_id: int, name: str, token: str, *, at: datetime | None = None
    ) -> RespondentRecord:
        """The respondent of that name, made with this token unless there is one already."""
        ...

    def respondents(self, study_id: int) -> list[tuple[RespondentRecord, int]]:
        """The respondents of a study in the order they came, each with the number of standing answers."""
        ...

    def by_token(self, token: str) -> tuple[str, RespondentRecord]:
        """The study's name and the respondent whose link holds the token, or UnknownStudyError."""
        ...

    def add_question(
        self,
        respondent_id: int,
        left: int,
        right: int,
        purpose: str,
        foretold: float | None = None,
        *,
        progress: float | None = None,
        again: bool = False,
        at: datetime | None = None,
    ) -> QuestionRecord | None:
        """A new question; None, unless `again`, if the respondent was asked or answered that pair before.

        The pair is the same either way around; an answer that was undone does not count.
        """
        ...

    def questions(
        self, respondent_id: int, *, after: int = 0, latest: int | None = None
    ) -> list[QuestionRecord]:
        """Questions in the order they were asked: with a larger id than `after`, the `latest` so many."""
        ...

    def pairs(self, respondent_id: int) -> set[tuple[int, int]]:
        """Pairs that the respondent was asked about or has a standing answer to, the lower position first."""
        ...

    def add_answer(
        self,
        respondent_id: int,
        left: int,
        right: int,
        choice: Choice,
        *,
        question_id: int | None = None,
        weight: float = 1.0,
        at: datetime | None = None,
    ) -> AnswerRecord:
        """A new answer.

        A question has one standing answer: telling the same again returns it and adds nothing, so that
        whoever did not see the reply may repeat the call; another choice is an AnsweredError. A question
        of another respondent or about other items is an UnknownStudyError.
        """
        ...

    def add_undo(self, respondent_id: int, answer_id: int, *, at: datetime | None = None) -> UndoRecord:
        """Take an answer back: AnsweredError if it was, UnknownStudyError if it is not this respondent's."""
        ...

    def events(self, respondent_id: int, *, after: int = 0, latest: int | None = None) -> list[Event]:
        """Answers and undos in their order: with a larger id than `after`, the `latest` so many."""
        ...

    def batch(self) -> AbstractContextManager[None]:
        """Calls inside, by this thread, are one transaction: quick for many, and all of them or none."""
        ...

    def close(self) -> None:
        """Let go of connections; nothing is lost without it."""
        ...
