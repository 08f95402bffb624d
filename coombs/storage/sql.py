"""The storage in SQL, the same for SQLite and PostgreSQL: values are always apart from statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from coombs.storage import rows, rules
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

# An undo is an event, and because of it another does not stand.
_COUNT = "COUNT(*) - 2 * COUNT(undoes)"

_STANDS = (
    "NOT EXISTS (SELECT 1 FROM events undo"
    " WHERE undo.respondent_id = events.respondent_id AND undo.undoes = events.id)"
)

# No row pairs an item with itself, so this is the same pair, whichever way around.
_PAIR = "respondent_id = ? AND left_item IN (?, ?) AND right_item IN (?, ?)"


class SqlStorage:
    """A storage in a database; see `coombs.storage.Storage`."""

    def __init__(self, database: Database) -> None:
        self._database = database
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
        with self._database.transaction():
            if not self._database.insert_new("studies", rows.STUDY, row):
                raise rules.study_exists(name)
            study = self.study(name)
            placed = [(study.id, position, *item) for position, item in enumerate(item_rows)]
            self._database.insert_each("items", rows.ITEM, placed)
        return study

    def study(self, name: str) -> StudyRecord:
        """The study of that name, or UnknownStudyError."""
        select = f"SELECT id, {rows.STUDY} FROM studies WHERE name = ?"
        for row in self._database.rows(select, rules.text(name, "study's name")):
            return rows.study(row)
        raise rules.no_study(name)

    def studies(self) -> list[StudySummary]:
        """All studies by name."""
        found = self._database.rows(
            "SELECT name, created,"
            " (SELECT COUNT(*) FROM items WHERE items.study_id = studies.id),"
            " (SELECT COUNT(*) FROM respondents WHERE respondents.study_id = studies.id),"
            f" (SELECT {_COUNT} FROM respondents JOIN events ON events.respondent_id = respondents.id"
            " WHERE respondents.study_id = studies.id)"
            " FROM studies"
        )
        # Sorted here, as databases differ in how they sort text.
        return [StudySummary(name, rows.time(created), *counts) for name, created, *counts in sorted(found)]

    def delete_study(self, name: str) -> None:
        """Remove a study with all that belongs to it."""
        with self._database.batch():
            self._database.change("DELETE FROM studies WHERE id = ?", self.study(name).id)

    def items(self, study_id: int) -> list[Item]:
        """The items of a study in their order."""
        select = "SELECT name, features, details FROM items WHERE study_id = ? ORDER BY position"
        found = self._database.rows(select, study_id)
        if not found:
            self._check_study(study_id)
        return [rows.item(row) for row in found]

    def add_respondent(
        self, study_id: int, name: str, token: str, *, at: datetime | None = None
    ) -> RespondentRecord:
        """The respondent of that name, made with this token unless there is one already."""
        row = rules.text(name, "respondent's name"), rules.text(token, "token"), rules.moment(at)
        with self._database.transaction():
            self._check_study(study_id, self._database.for_update)
            self._database.insert_new("respondents", rows.RESPONDENT, (study_id, *row))
            select = f"SELECT id, {rows.RESPONDENT} FROM respondents WHERE study_id = ? AND name = ?"
            found = self._database.rows(select, study_id, name)
        if not found:
            raise rules.token_taken()
        return rows.respondent(found[0])

    def respondents(self, study_id: int) -> list[tuple[RespondentRecord, int]]:
        """The respondents of a study in the order they came, each with the number of standing answers."""
        found = self._database.rows(
            f"SELECT id, {rows.RESPONDENT},"
            f" (SELECT {_COUNT} FROM events WHERE events.respondent_id = respondents.id)"
            " FROM respondents WHERE study_id = ? ORDER BY id",
            study_id,
        )
        if not found:
            self._check_study(study_id)
        return [(rows.respondent(row[:-1]), row[-1]) for row in found]

    def by_token(self, token: str) -> tuple[str, RespondentRecord]:
        """The study's name and the respondent whose link holds the token, or UnknownStudyError."""
        for row in self._database.rows(
            f"SELECT id, {rows.RESPONDENT}, (SELECT studies.name FROM studies WHERE studies.id = study_id)"
            " FROM respondents WHERE token = ?",
            rules.text(token, "token"),
        ):
            return row[-1], rows.respondent(row[:-1])
        raise rules.no_token()

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
        """A new question; None, unless `again`, if the respondent was asked or answered that pair before."""
        why = rules.text(purpose, "purpose"), rules.probability(foretold), rules.progress(progress)
        row = respondent_id, int(left), int(right), *why, rules.moment(at)
        with self._database.transaction():
            self._hold(respondent_id, left, right)
            if not again and self._met(respondent_id, left, right):
                return None
            return rows.question((self._database.insert("questions", rows.QUESTION, row), *row))

    def questions(
        self, respondent_id: int, *, after: int = 0, latest: int | None = None
    ) -> list[QuestionRecord]:
        """Questions in the order they were asked: with a larger id than `after`, the `latest` so many."""
        return [
            rows.question(row) for row in self._page("questions", rows.QUESTION, respondent_id, after, latest)
        ]

    def pairs(self, respondent_id: int) -> set[tuple[int, int]]:
        """Pairs that the respondent was asked about or has a standing answer to, the lower position first."""
        found = self._database.rows(
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
        """A new answer, or the standing one to that question if it says the same."""
        told = int(left), int(right), rules.choice(choice), rules.weight(weight)
        row = respondent_id, question_id, *told, rules.moment(at)
        with self._database.transaction():
            self._hold(respondent_id, left, right)
            if question_id is not None:
                rules.check_topic(self._question(respondent_id, question_id), left, right)
                for standing in self._standing(respondent_id, question_id):
                    rules.check_repeat(standing, *told)
                    return standing
            return rows.answer((self._database.insert("events", rows.ANSWER, row), *row))

    def add_undo(self, respondent_id: int, answer_id: int, *, at: datetime | None = None) -> UndoRecord:
        """Take an answer back: AnsweredError if it was, UnknownStudyError if it is not this respondent's."""
        row = respondent_id, answer_id, rules.moment(at)
        with self._database.transaction():
            self._check_respondent(respondent_id, self._database.for_update)
            if not self._exists("id = ? AND undoes IS NULL", respondent_id, answer_id):
                raise rules.no_answer(respondent_id, answer_id)
            if self._exists("undoes = ?", respondent_id, answer_id):
                raise rules.undone(answer_id)
            return rows.undo((self._database.insert("events", rows.UNDO, row), *row))

    def events(self, respondent_id: int, *, after: int = 0, latest: int | None = None) -> list[Event]:
        """Answers and undos in their order: with a larger id than `after`, the `latest` so many."""
        return [rows.event(row) for row in self._page("events", rows.EVENT, respondent_id, after, latest)]

    def batch(self) -> AbstractContextManager[None]:
        """Calls inside, by this thread, are one transaction: quick for many, and all of them or none."""
        return self._database.batch()

    def close(self) -> None:
        """Close this thread's connection; the next call opens another."""
        self._database.close()

    def _check_study(self, study_id: int, lock: str = "") -> None:
        """Refuse an id that no study has."""
        if not self._database.rows(f"SELECT 1 FROM studies WHERE id = ? {lock}", study_id):
            raise rules.no_study_id(study_id)

    def _check_respondent(self, respondent_id: int, lock: str = "") -> None:
        """Refuse an id that no respondent has."""
        if not self._database.rows(f"SELECT 1 FROM respondents WHERE id = ? {lock}", respondent_id):
            raise rules.no_respondent(respondent_id)

    def _page(
        self, table: str, columns: str, respondent_id: int, after: int, latest: int | None
    ) -> list[rows.Row]:
        """The last rows of a respondent, in their order."""
        found = self._database.rows(
            f"SELECT id, {columns} FROM {table} WHERE respondent_id = ? AND id > ? ORDER BY id DESC LIMIT ?",
            respondent_id,
            after,
            LARGEST if latest is None else max(latest, 0),
        )
        if not found:
            self._check_respondent(respondent_id)
        return found[::-1]

    def _hold(self, respondent_id: int, left: int, right: int) -> None:
        """Be alone with a respondent, so that ids rise in the order of commits; refuse what is no pair."""
        found = self._database.rows(
            "SELECT (SELECT COUNT(*) FROM items WHERE items.study_id = respondents.study_id"
            " AND position IN (?, ?))"
            f" FROM respondents WHERE id = ? {self._database.for_update}",
            left,
            right,
            respondent_id,
        )
        if not found:
            raise rules.no_respondent(respondent_id)
        if found[0][0] < 2:
            raise rules.no_items(left, right)

    def _met(self, respondent_id: int, left: int, right: int) -> bool:
        """Whether a pair was asked, or has a standing answer."""
        pair = respondent_id, left, right, left, right
        return bool(
            self._database.rows(f"SELECT 1 FROM questions WHERE {_PAIR} LIMIT 1", *pair)
            or self._database.rows(f"SELECT 1 FROM events WHERE {_PAIR} AND {_STANDS} LIMIT 1", *pair)
        )

    def _question(self, respondent_id: int, question_id: int) -> QuestionRecord:
        """A question of the respondent."""
        select = f"SELECT id, {rows.QUESTION} FROM questions WHERE respondent_id = ? AND id = ?"
        for row in self._database.rows(select, respondent_id, question_id):
            return rows.question(row)
        raise rules.no_question(respondent_id, question_id)

    def _standing(self, respondent_id: int, question_id: int) -> list[AnswerRecord]:
        """The standing answer to a question, or none."""
        select = (
            f"SELECT id, {rows.ANSWER} FROM events WHERE respondent_id = ? AND question_id = ? AND {_STANDS}"
        )
        return [rows.answer(row) for row in self._database.rows(select, respondent_id, question_id)]

    def _exists(self, condition: str, respondent_id: int, answer_id: int) -> bool:
        """Whether the respondent has such an event."""
        select = f"SELECT 1 FROM events WHERE respondent_id = ? AND {condition}"
        return bool(self._database.rows(select, respondent_id, answer_id))
