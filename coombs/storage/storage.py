"""The storage: what it keeps and how, in SQL that SQLite and PostgreSQL both speak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from coombs.data.tables import InputError
from coombs.storage import rows, validation
from coombs.storage.database import LARGEST, Database
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
from coombs.storage.schema import migrate
from coombs.storage.timestamps import stored_time, utc
from coombs.storage.validation import AnsweredError, StudyExistsError, UnknownStudyError

# An undo is an event, and because of it another does not stand.
_COUNT = "COUNT(*) - 2 * COUNT(undoes)"

_STANDS = (
    "NOT EXISTS (SELECT 1 FROM events undo"
    " WHERE undo.respondent_id = events.respondent_id AND undo.undoes = events.id)"
)

# No row pairs an item with itself, so this is the same pair, whichever way around.
_PAIR = "respondent_id = ? AND left_item IN (?, ?) AND right_item IN (?, ?)"


class Storage:
    """Studies, their items, and everything that respondents were asked and said, in a database.

    Every method is one transaction, unless inside of `batch`: when it returns, what it added is kept,
    whatever happens to the process; when it raises, nothing was added. Any number of processes and
    threads may call at once. `at` is when it happened, by default now.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        migrate(database)

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
        row = rows.study_row(name, feature_names, settings, at)
        item_rows = [rows.item_row(item) for item in items]
        with self.database.transaction():
            if not self.database.insert_new("studies", rows.STUDY, row):
                raise StudyExistsError(f"There is a study named {name!r} already; choose another name.")
            study = self.study(name)
            placed = [(study.id, position, *item) for position, item in enumerate(item_rows)]
            self.database.insert_each("items", rows.ITEM, placed)
        return study

    def study(self, name: str) -> StudyRecord:
        """The study of that name, or UnknownStudyError."""
        select = f"SELECT id, {rows.STUDY} FROM studies WHERE name = ?"
        for row in self.database.rows(select, validation.text(name, "study's name")):
            return rows.study(row)
        raise UnknownStudyError(f"There is no study named {name!r}.")

    def studies(self) -> list[StudySummary]:
        """All studies by name."""
        found = self.database.rows(
            "SELECT name, created,"
            " (SELECT COUNT(*) FROM items WHERE items.study_id = studies.id),"
            " (SELECT COUNT(*) FROM respondents WHERE respondents.study_id = studies.id),"
            f" (SELECT {_COUNT} FROM respondents JOIN events ON events.respondent_id = respondents.id"
            " WHERE respondents.study_id = studies.id)"
            " FROM studies"
        )
        # Sorted here, as databases differ in how they sort text.
        return [StudySummary(name, stored_time(created), *counts) for name, created, *counts in sorted(found)]

    def delete_study(self, name: str) -> None:
        """Remove a study with all that belongs to it."""
        with self.database.batch():
            self.database.change("DELETE FROM studies WHERE id = ?", self.study(name).id)

    def items(self, study_id: int) -> list[Item]:
        """The items of a study in their order."""
        select = "SELECT name, features, details FROM items WHERE study_id = ? ORDER BY position"
        found = self.database.rows(select, study_id)
        if not found:
            self._check_study(study_id)
        return [rows.item(row) for row in found]

    def add_respondent(
        self, study_id: int, name: str, token: str, *, at: datetime | None = None
    ) -> RespondentRecord:
        """The respondent of that name, made with this token unless there is one already."""
        row = validation.text(name, "respondent's name"), validation.text(token, "token"), utc(at)
        with self.database.transaction():
            self._check_study(study_id, self.database.for_update)
            self.database.insert_new("respondents", rows.RESPONDENT, (study_id, *row))
            select = f"SELECT id, {rows.RESPONDENT} FROM respondents WHERE study_id = ? AND name = ?"
            found = self.database.rows(select, study_id, name)
        if not found:
            raise InputError(
                "Another respondent has this token; every respondent needs a token of their own."
            )
        return rows.timed(RespondentRecord, found[0])

    def respondents(self, study_id: int) -> list[tuple[RespondentRecord, int]]:
        """The respondents of a study in the order they came, each with the number of standing answers."""
        found = self.database.rows(
            f"SELECT id, {rows.RESPONDENT},"
            f" (SELECT {_COUNT} FROM events WHERE events.respondent_id = respondents.id)"
            " FROM respondents WHERE study_id = ? ORDER BY id",
            study_id,
        )
        if not found:
            self._check_study(study_id)
        return [(rows.timed(RespondentRecord, row[:-1]), row[-1]) for row in found]

    def by_token(self, token: str) -> tuple[str, RespondentRecord]:
        """The study's name and the respondent whose link holds the token, or UnknownStudyError."""
        for row in self.database.rows(
            f"SELECT id, {rows.RESPONDENT}, (SELECT studies.name FROM studies WHERE studies.id = study_id)"
            " FROM respondents WHERE token = ?",
            validation.text(token, "token"),
        ):
            return row[-1], rows.timed(RespondentRecord, row[:-1])
        raise UnknownStudyError("This link is nobody's; ask whoever made the study for a new one.")

    def add_question(
        self,
        respondent_id: int,
        left: int,
        right: int,
        purpose: str,
        predicted: float | None = None,
        *,
        progress: float | None = None,
        again: bool = False,
        at: datetime | None = None,
    ) -> QuestionRecord | None:
        """A new question; None, unless `again`, if the respondent was asked or answered that pair before.

        The pair is the same either way around; an answer that was undone does not count.
        """
        shares = (
            validation.share(predicted, "predicted probability"),
            validation.share(progress, "progress"),
        )
        row = respondent_id, int(left), int(right), validation.text(purpose, "purpose"), *shares, utc(at)
        with self.database.transaction():
            self._lock(respondent_id, left, right)
            if not again and self._met(respondent_id, left, right):
                return None
            number = self.database.insert("questions", rows.QUESTION, row)
        return QuestionRecord(number, *row)

    def questions(
        self, respondent_id: int, *, after: int = 0, latest: int | None = None
    ) -> list[QuestionRecord]:
        """Questions in the order they were asked: with a larger id than `after`, the `latest` so many."""
        found = self._page("questions", rows.QUESTION, respondent_id, after, latest)
        return [rows.timed(QuestionRecord, row) for row in found]

    def pairs(self, respondent_id: int) -> set[tuple[int, int]]:
        """Pairs that the respondent was asked about or has a standing answer to, the lower position first."""
        found = self.database.rows(
            "SELECT DISTINCT left_item, right_item FROM questions WHERE respondent_id = ?"
            " UNION SELECT DISTINCT left_item, right_item FROM events WHERE respondent_id = ?"
            " AND left_item IS NOT NULL AND id NOT IN"
            " (SELECT undoes FROM events WHERE respondent_id = ? AND undoes IS NOT NULL)",
            *[respondent_id] * 3,
        )
        if not found:
            self._check_respondent(respondent_id)
        return {(min(pair), max(pair)) for pair in found}

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
        told = int(left), int(right), validation.choice(choice), validation.weight(weight)
        row = respondent_id, question_id, *told, utc(at)
        with self.database.transaction():
            self._lock(respondent_id, left, right)
            standing = (
                None if question_id is None else self._standing(respondent_id, question_id, left, right)
            )
            if standing is not None:
                validation.check_repeat(standing, *told)
                return standing
            number = self.database.insert("events", rows.ANSWER, row)
        return AnswerRecord(number, *row)

    def add_undo(self, respondent_id: int, answer_id: int, *, at: datetime | None = None) -> UndoRecord:
        """Take an answer back: AnsweredError if it was, UnknownStudyError if it is not this respondent's."""
        row = respondent_id, answer_id, utc(at)
        with self.database.transaction():
            self._check_respondent(respondent_id, self.database.for_update)
            found = self.database.rows(
                f"SELECT {_STANDS} FROM events WHERE respondent_id = ? AND id = ? AND undoes IS NULL",
                respondent_id,
                answer_id,
            )
            if not found:
                raise UnknownStudyError(f"Respondent {respondent_id} gave no answer {answer_id}.")
            if not found[0][0]:
                raise AnsweredError(f"Answer {answer_id} was undone already; an answer is undone once.")
            number = self.database.insert("events", rows.UNDO, row)
        return UndoRecord(number, *row)

    def events(self, respondent_id: int, *, after: int = 0, latest: int | None = None) -> list[Event]:
        """Answers and undos in their order: with a larger id than `after`, the `latest` so many."""
        return [rows.event(row) for row in self._page("events", rows.EVENT, respondent_id, after, latest)]

    def batch(self) -> AbstractContextManager[None]:
        """Calls inside, by this thread, are one transaction: quick for many, and all of them or none."""
        return self.database.batch()

    def close(self) -> None:
        """Let go of this thread's connection; nothing is lost without it, and the next call opens another."""
        self.database.close()

    def _check_study(self, study_id: int, lock: str = "") -> None:
        """Refuse an id that no study has."""
        if not self.database.rows(f"SELECT 1 FROM studies WHERE id = ? {lock}", study_id):
            raise UnknownStudyError(f"There is no study with the id {study_id}.")

    def _check_respondent(self, respondent_id: int, lock: str = "") -> None:
        """Refuse an id that no respondent has."""
        if not self.database.rows(f"SELECT 1 FROM respondents WHERE id = ? {lock}", respondent_id):
            raise UnknownStudyError(f"There is no respondent with the id {respondent_id}.")

    def _lock(self, respondent_id: int, left: int, right: int) -> None:
        """Be alone with a respondent, so that ids rise in the order of commits; refuse what is no pair."""
        found = self.database.rows(
            "SELECT (SELECT COUNT(*) FROM items WHERE items.study_id = respondents.study_id"
            " AND position IN (?, ?))"
            f" FROM respondents WHERE id = ? {self.database.for_update}",
            left,
            right,
            respondent_id,
        )
        if not found:
            raise UnknownStudyError(f"There is no respondent with the id {respondent_id}.")
        if found[0][0] < 2:
            raise InputError(
                f"{left} and {right} are not two items of the study; give two different positions."
            )

    def _page(
        self, table: str, columns: str, respondent_id: int, after: int, latest: int | None
    ) -> list[rows.Row]:
        """The last rows of a respondent, in their order; the same read shows that there is a respondent."""
        found = self.database.rows(
            f"SELECT {rows.of(table, columns)} FROM respondents LEFT JOIN {table}"
            f" ON {table}.respondent_id = respondents.id AND {table}.id > ?"
            f" WHERE respondents.id = ? ORDER BY {table}.id DESC LIMIT ?",
            after,
            respondent_id,
            LARGEST if latest is None else max(latest, 0),
        )
        if not found:
            self._check_respondent(respondent_id)
        return [row for row in reversed(found) if row[0] is not None]

    def _met(self, respondent_id: int, left: int, right: int) -> bool:
        """Whether a pair was asked, or has a standing answer."""
        pair = respondent_id, left, right, left, right
        select = (
            f"SELECT 1 FROM questions WHERE {_PAIR}"
            f" UNION ALL SELECT 1 FROM events WHERE {_PAIR} AND {_STANDS} LIMIT 1"
        )
        return bool(self.database.rows(select, *pair, *pair))

    def _standing(self, respondent_id: int, question_id: int, left: int, right: int) -> AnswerRecord | None:
        """The standing answer to a question, which must be the respondent's and about these items."""
        found = self.database.rows(
            f"SELECT questions.left_item, questions.right_item, {rows.of('events', rows.ANSWER)}"
            " FROM questions LEFT JOIN events ON events.respondent_id = questions.respondent_id"
            f" AND events.question_id = questions.id AND {_STANDS}"
            " WHERE questions.respondent_id = ? AND questions.id = ?",
            respondent_id,
            question_id,
        )
        if not found:
            raise UnknownStudyError(f"Respondent {respondent_id} was asked no question {question_id}.")
        first, second, *answer = found[0]
        if {left, right} != {first, second}:
            raise UnknownStudyError(
                f"Question {question_id} is about the items {first} and {second}, not {left} and {right}."
            )
        return None if answer[0] is None else rows.timed(AnswerRecord, tuple(answer))
