"""What happened to a study and its people, in lines that hold nobody's name."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from coombs.storage import stored_values as read
from coombs.storage import validation
from coombs.storage.records import LogRecord
from coombs.storage.stored_values import RowReading
from coombs.storage.study_storage import StudyStorage
from coombs.storage.timestamps import utc


class LogStorage(StudyStorage):
    """The part of a `Storage` that keeps the log of a study."""

    def add_log(self, study_id: int, what: str, *, at: datetime | None = None) -> None:
        """Note what happened to a study; nothing that is noted is ever changed.

        Parameters
        ----------
        study_id : of the study
        what : a sentence without anybody's name
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.add_log(study.record.id, "The study was closed.")
        >>> [one.what for one in study.storage.log(study.record.id)]
        ['The study was closed.']
        """
        insert = "INSERT INTO study_log (study_id, what, happened) VALUES (?, ?, ?)"
        with self.database.transaction():
            self._check_study(study_id)
            self.database.change(insert, study_id, validation.text(what, "line of the log"), utc(at))

    def log(self, study_id: int) -> list[LogRecord]:
        """Return what happened to a study, the earliest first.

        Parameters
        ----------
        study_id : of the study

        Returns
        -------
        list of LogRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.log(study.record.id)
        []
        """
        select = "SELECT id, study_id, what, happened FROM study_log WHERE study_id = ? ORDER BY id"
        found = self.database.rows(select, study_id)
        if not found:
            self._check_study(study_id)
        return [_log_record(*row) for row in found]


def _log_record(number: Any, study_id: Any, what: Any, happened: Any) -> LogRecord:
    with RowReading(f"Line {number!r} of the log of the study with the id {study_id!r}"):
        return LogRecord(
            read.number(number, "its id"),
            read.number(study_id, "its study"),
            read.text(what, "what happened"),
            read.moment(happened, "its time"),
        )
