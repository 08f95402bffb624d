"""Studies, their items and respondents, in SQL that SQLite and PostgreSQL both speak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.storage import rows, validation
from coombs.storage.database import LARGEST, Database
from coombs.storage.layout import check_layout
from coombs.storage.records import Item, RespondentRecord, StudyRecord, StudySummary
from coombs.storage.schema import migrate
from coombs.storage.validation import StudyExistsError, UnknownStudyError

# An undo is an event, and because of it another does not stand.
_COUNT = "COUNT(*) - 2 * COUNT(undoes)"


class StudyStorage:
    """The part of a `Storage` that keeps studies, their items and respondents."""

    def __init__(self, database: Database, *, prepare: bool = True) -> None:
        self.database = database
        if prepare:
            migrate(database)
            check_layout(database)

    def create_study(
        self,
        name: str,
        feature_names: Sequence[str],
        items: Sequence[Item],
        settings: Mapping[str, Any],
        *,
        at: datetime | None = None,
    ) -> StudyRecord:
        """Make a new study with its items, or raise StudyExistsError.

        Parameters
        ----------
        name : of the study
        feature_names : what the features are called
        items : of Item, in their order
        settings : what JSON can hold
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        StudyRecord

        Examples
        --------
        >>> from coombs.storage import Item, open_storage
        >>> storage = open_storage("memory:")
        >>> items = [Item("small", (1.0,)), Item("large", (2.0,))]
        >>> study = storage.create_study("pizza", ["size"], items, {})
        >>> study.feature_names
        ('size',)
        """
        row = rows.study_row(name, feature_names, settings, at)
        item_rows = [rows.item_row(item) for item in items]
        with self.database.transaction():
            if not self.database.insert_new("studies", rows.STUDY, row):
                raise StudyExistsError(
                    "There is a study named {name} already; choose another name.", name=repr(name)
                )
            study = self.study(name)
            placed = [(study.id, position, *item) for position, item in enumerate(item_rows)]
            self.database.insert_each("items", rows.ITEM, placed)
        return study

    def study(self, name: str) -> StudyRecord:
        """Return the study of that name, or raise UnknownStudyError.

        Parameters
        ----------
        name : of the study

        Returns
        -------
        StudyRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.study("pizza").feature_names
        ('feature 0',)
        """
        select = f"SELECT id, {rows.STUDY} FROM studies WHERE name = ?"
        for row in self.database.rows(select, validation.text(name, "study's name")):
            return rows.study(row)
        raise UnknownStudyError("There is no study named {name}.", name=repr(name))

    def studies(self) -> list[StudySummary]:
        """Return all studies by name.

        Returns
        -------
        list of StudySummary

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> [one.n_respondents for one in study.storage.studies()]
        [0]
        """
        found = self.database.rows(
            "SELECT name, created,"
            " (SELECT COUNT(*) FROM items WHERE items.study_id = studies.id AND retired IS NULL),"
            " (SELECT COUNT(*) FROM respondents WHERE respondents.study_id = studies.id),"
            f" (SELECT {_COUNT} FROM respondents JOIN events ON events.respondent_id = respondents.id"
            " WHERE respondents.study_id = studies.id)"
            " FROM studies"
        )
        # Sorted here, as databases differ in how they sort text.
        return sorted(map(rows.summary, found), key=lambda one: one.name)

    def items(self, study_id: int) -> list[Item]:
        """Return the items of a study in their order, those that were retired among them.

        Parameters
        ----------
        study_id : of the study

        Returns
        -------
        list of Item

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> [item.name for item in study.storage.items(study.record.id)]
        ['0', '1']
        """
        columns = rows.ITEM.partition(", ")[2]
        select = f"SELECT {columns} FROM items WHERE study_id = ? ORDER BY position"
        found = self.database.rows(select, study_id)
        if not found:
            self._check_study(study_id)
        return rows.items(study_id, found)

    def add_respondent(
        self,
        study_id: int,
        name: str,
        token: str,
        *,
        source: str | None = None,
        external_id: str | None = None,
        fields: Mapping[str, str] | None = None,
        at: datetime | None = None,
    ) -> RespondentRecord:
        """Return the respondent of that name, made with this token unless there is one already.

        Parameters
        ----------
        study_id : of the study
        name : of the person
        token : what their link holds
        source, external_id, fields : as in `RespondentRecord`, of somebody new
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        RespondentRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.add_respondent(study.record.id, "Ann", token="other") == ann
        True
        """
        row = rows.respondent_row(study_id, name, token, at, source, external_id, fields)
        with self.database.transaction():
            self._check_study(study_id, self.database.for_update)
            self.database.insert_new("respondents", rows.NEW_RESPONDENT, row)
            select = f"SELECT id, {rows.RESPONDENT} FROM respondents WHERE study_id = ? AND name = ?"
            found = self.database.rows(select, study_id, name)
        if not found:
            raise InputError(
                "Another respondent has this token or id; everybody needs an id and a token of their own."
            )
        return rows.respondent(found[0])

    def respondents(
        self, study_id: int, *, after: int = 0, most: int | None = None
    ) -> list[tuple[RespondentRecord, int]]:
        """Return the respondents of a study in the order they came, with their standing answers.

        Parameters
        ----------
        study_id : of the study
        after : the id of a respondent; only those who came later
        most : how many; None is all

        Returns
        -------
        list of RespondentRecord and number of answers

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.respondents(study.record.id) == [(ann, 0)]
        True
        """
        found = self.database.rows(
            f"SELECT id, {rows.RESPONDENT},"
            f" (SELECT {_COUNT} FROM events WHERE events.respondent_id = respondents.id)"
            " FROM respondents WHERE study_id = ? AND id > ? ORDER BY id LIMIT ?",
            study_id,
            after,
            LARGEST if most is None else most,
        )
        if not found:
            self._check_study(study_id)
        return [(rows.respondent(row[:-1]), row[-1]) for row in found]

    def answer_counts(self, study_id: int) -> list[int]:
        """Return how many answers of each person stand, without reading who they are.

        Parameters
        ----------
        study_id : of the study

        Returns
        -------
        list of int, of those who answered

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.tell(("0", "1")).choice, study.storage.answer_counts(study.record.id)
        ('left', [1])
        """
        found = self.database.rows(
            f"SELECT {_COUNT} FROM respondents JOIN events ON events.respondent_id = respondents.id"
            " WHERE respondents.study_id = ? GROUP BY respondents.id",
            study_id,
        )
        return [int(count) for (count,) in found]

    def state(self, study_id: int) -> tuple[int, int]:
        """Return two numbers that stay as long as everybody's answers and who gave them do; else they rise.

        Parameters
        ----------
        study_id : of the study

        Returns
        -------
        int that rises with every line of the log, and int that else rises with every answer, undoing, and
            field that is filled in

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.state(study.record.id)
        (0, 0)
        """
        ((lines, events),) = self.database.rows(
            "SELECT (SELECT COUNT(*) FROM study_log WHERE study_id = ?),"
            " (SELECT SUM(COALESCE(LENGTH(fields), 0)"
            " + COALESCE((SELECT MAX(id) FROM events WHERE events.respondent_id = respondents.id), 0))"
            " FROM respondents WHERE study_id = ?)",
            study_id,
            study_id,
        )
        return int(lines), int(events or 0)

    def by_token(self, token: str) -> tuple[str, RespondentRecord]:
        """Return whose link holds the token, or raise UnknownStudyError.

        Parameters
        ----------
        token : of the link

        Returns
        -------
        the study's name, and RespondentRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.by_token(ann.token) == ("pizza", ann)
        True
        """
        for row in self.database.rows(
            f"SELECT id, {rows.RESPONDENT}, (SELECT studies.name FROM studies WHERE studies.id = study_id)"
            " FROM respondents WHERE token = ?",
            validation.text(token, "token"),
        ):
            found = rows.respondent(row[:-1])
            if not found.is_revoked:
                return row[-1], found
        raise UnknownStudyError(
            Translatable("This link is nobody's; ask whoever made the study for a new one.")
        )

    def close(self) -> None:
        """Let go of this thread's connection; nothing is lost, and the next call opens another.

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.close()
        >>> len(study.storage.studies())
        1
        """
        self.database.close()

    def close_all(self) -> None:
        """Let go of the connections of all threads but those at work: a SQLite file is whole by itself then.

        Python does so when a program ends, also by Ctrl-C; whoever stops a server does it before.

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.close_all()
        >>> len(study.storage.studies())
        1
        """
        self.database.finish()

    def checkpoint(self, calm: float = 0.0) -> None:
        """Write what a SQLite file has in its -wal into the file itself; other storages do so by themselves.

        Parameters
        ----------
        calm : seconds; where this process wrote within them, it is left for later

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs.storage import open_storage
        >>> open_storage("memory:").checkpoint()
        """
        self.database.checkpoint(calm)

    def _check_study(self, study_id: int, lock: str = "") -> None:
        """Refuse an id that no study has."""
        if not self.database.rows(f"SELECT 1 FROM studies WHERE id = ? {lock}", study_id):
            raise UnknownStudyError(f"There is no study with the id {study_id}.")

    def _check_respondent(self, respondent_id: int, lock: str = "") -> None:
        """Refuse an id that no respondent has."""
        if not self.database.rows(f"SELECT 1 FROM respondents WHERE id = ? {lock}", respondent_id):
            raise UnknownStudyError(f"There is no respondent with the id {respondent_id}.")
