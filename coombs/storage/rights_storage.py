"""What is stored of one person: all of it at once, taken out for good, or left without a name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence, Set
from datetime import datetime
from itertools import count
from typing import Any

from coombs.storage import stored_values as read
from coombs.storage import validation
from coombs.storage.log_storage import LogStorage
from coombs.storage.records import ANONYMOUS, RespondentRecord, new_token, revoked_token
from coombs.storage.stored_values import RowReading
from coombs.storage.validation import UnknownStudyError


class RightsStorage(LogStorage):
    """The part of a `Storage` by which people's data is shown to them, deleted or made anonymous.

    What is deleted is overwritten: when a method returns, a SQLite file and its log (-wal) no longer hold the
    bytes, unless another program was reading just then; then they go when the file is next tidied up.
    """

    def delete_respondents(
        self, study_id: int, people: Sequence[RespondentRecord], what: str, *, at: datetime | None = None
    ) -> int:
        """Delete people with all that they were asked and said, and note it in the log.

        What the study learned from everybody's answers (its priors, but for those it was given) goes too, as
        it was learned from theirs as well; it is learned again when somebody new is asked.

        Parameters
        ----------
        study_id : of the study
        people : of RespondentRecord
        what : the line for the log, without a name
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        int, how many were there

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.delete_respondents(study.record.id, [ann], "1 person was deleted.")
        1
        """
        delete = "DELETE FROM respondents WHERE study_id = ? AND id = ?"
        with self.database.batch():
            self._check_study(study_id, self.database.for_update)
            self._forget_messages(study_id, people)
            if any(self._has_answered(one.id) for one in people):
                self._forget_learned(study_id)
            gone = sum(self.database.change(delete, study_id, one.id) for one in people)
            if gone:
                self.add_log(study_id, what, at=at)
        self.erase()
        return gone

    def anonymise_respondents(
        self, study_id: int, people: Sequence[RespondentRecord], what: str, *, at: datetime | None = None
    ) -> list[str]:
        """Take away who people are: name, external id, fields, language and link. Their answers stay.

        Parameters
        ----------
        study_id : of the study
        people : of RespondentRecord
        what : the line for the log, without a name
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        list of str, the new names of those that were there

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.anonymise_respondents(study.record.id, [ann], "1 person was made anonymous.")
        ['Anonymous 1']
        """
        update = (
            "UPDATE respondents SET name = ?, token = ?, external_id = NULL, fields = NULL, language = NULL"
            " WHERE study_id = ? AND id = ?"
        )
        given = []
        with self.database.batch():
            self._check_study(study_id, self.database.for_update)
            self._forget_messages(study_id, people)
            taken = {
                str(name)
                for (name,) in self.database.rows("SELECT name FROM respondents WHERE study_id = ?", study_id)
            }
            free = (name for number in count(1) if (name := f"{ANONYMOUS} {number}") not in taken)
            for one in people:
                name = next(free)
                if self.database.change(update, name, revoked_token(), study_id, one.id):
                    given.append(name)
            if given:
                self.add_log(study_id, what, at=at)
        self.erase()
        return given

    def change_token(self, respondent_id: int, *, revoke: bool = False) -> str:
        """Give a person's link another token, so that the old one is nobody's.

        Parameters
        ----------
        respondent_id : of the person
        revoke : True leaves the person without a link

        Returns
        -------
        str, the token that is stored

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.by_token(storage.change_token(ann.id))[1].name
        'Ann'
        """
        stored = revoked_token() if revoke else new_token()
        with self.database.transaction():
            update = "UPDATE respondents SET token = ? WHERE id = ?"
            if not self.database.change(update, stored, respondent_id):
                raise UnknownStudyError(f"There is no respondent with the id {respondent_id}.")
        return stored

    def set_retention(self, study_id: int, until: str | None, action: str | None) -> None:
        """Keep until when people's data is kept, and what happens to it then, among the study's settings.

        Parameters
        ----------
        study_id : of the study
        until : a date, as "2027-01-31", or None for no end
        action : what happens then, or None

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.set_retention(study.record.id, "2027-01-31", "delete")
        >>> study.storage.study("pizza").settings["retain_until"]
        '2027-01-31'
        """
        changes = {"retain_until": until, "retention": action}
        with self.database.transaction():
            self._check_study(study_id, self.database.for_update)
            ((stored,),) = self.database.rows("SELECT settings FROM studies WHERE id = ?", study_id)
            with RowReading(f"The study with the id {study_id}"):
                settings = read.json_object(stored, "its settings")
            kept = {name: value for name, value in {**settings, **changes}.items() if value is not None}
            text = validation.as_json(kept, "settings")
            self.database.change("UPDATE studies SET settings = ? WHERE id = ?", text, study_id)

    def erase(self) -> None:
        """Overwrite what was deleted, so that the files do not hold it any more.

        Deleting somebody does that by itself, but inside of a batch, after which it has to be called.

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs.storage import open_storage
        >>> open_storage("memory:").erase()
        """
        if not self.database.connection.writing:
            self.database.erase()

    def delete_study(self, name: str) -> None:
        """Remove a study with all that belongs to it and all that is kept of its people, down to the bytes.

        Parameters
        ----------
        name : of the study

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.delete_study("pizza")
        >>> study.storage.studies()
        []
        """
        with self.database.batch():
            number = self.study(name).id
            people = [one for one, _ in self.respondents(number)]
            self._forget_replies({name, *(said for one in people for said in (one.name, one.token))})
            self.database.change("DELETE FROM studies WHERE id = ?", number)
        self.erase()

    def _has_answered(self, respondent_id: int) -> bool:
        return bool(self.database.rows("SELECT 1 FROM events WHERE respondent_id = ? LIMIT 1", respondent_id))

    def _forget_learned(self, study_id: int) -> None:
        """Delete what was learned from everybody's answers; who is asked by it is fixed anew."""
        self.database.change(
            "UPDATE respondents SET prior_version = NULL WHERE study_id = ? AND prior_version IN"
            " (SELECT version FROM priors WHERE study_id = ? AND source = 'study')",
            study_id,
            study_id,
        )
        self.database.change("DELETE FROM priors WHERE study_id = ? AND source = 'study'", study_id)

    def _forget_messages(self, study_id: int, people: Sequence[RespondentRecord]) -> None:
        """Delete messages to webhooks, which know people by ids, and replies kept for programs."""
        numbers = {one.id for one in people}
        deliveries = self.database.rows(
            "SELECT deliveries.id, deliveries.body FROM deliveries"
            " JOIN webhooks ON webhooks.id = deliveries.webhook_id WHERE webhooks.study_id = ?",
            study_id,
        )
        for number, body in deliveries:
            if json.loads(body).get("respondent") in numbers:
                self.database.change("DELETE FROM deliveries WHERE id = ?", number)
        self._forget_replies({said for one in people for said in (one.name, one.token)})

    def _forget_replies(self, texts: Set[str]) -> None:
        """Delete replies kept for programs that have one of the texts in them."""
        replies = self.database.rows("SELECT name, content FROM temporary WHERE purpose = 'reply'")
        for name, content in replies:
            # A reply is JSON inside of JSON.
            if not texts.isdisjoint(_texts_in(json.loads(json.loads(content).get("reply", "null")))):
                self.database.change("DELETE FROM temporary WHERE purpose = 'reply' AND name = ?", name)


def _texts_in(value: Any) -> Iterator[str]:
    """All texts in what JSON holds, but for the keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value if isinstance(value, list) else value.values():
            yield from _texts_in(one)
