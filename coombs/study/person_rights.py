"""What a person may ask of whoever runs a study: to see their data, to have it deleted, or made anonymous."""

from __future__ import annotations

import json
import threading
from datetime import date, datetime
from os import PathLike
from typing import TYPE_CHECKING, Any

from coombs.data import files, naming
from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.storage import LogRecord, RespondentRecord, Storage, UnknownStudyError
from coombs.storage.records import StudyRecord, UndoRecord
from coombs.storage.timestamps import now, time_text
from coombs.study.history import History
from coombs.study.retention import DELETE, Retention, read_day, retention_of
from coombs.study.study_records import answer_of
from coombs.words import count

if TYPE_CHECKING:
    from coombs.data.catalogue import Catalogue
    from coombs.study.respondent import Respondent
    from coombs.study.study import Study


class PersonRights:
    """The part of a `Study` by which people's data is shown, deleted, made anonymous, and kept no longer."""

    storage: Storage
    record: StudyRecord
    if TYPE_CHECKING:

        @property
        def catalogue(self) -> Catalogue:
            """The items."""

    _respondents: dict[str, Respondent]
    _lock: threading.Lock

    def delete_respondent(self, name: str) -> int:
        """Delete a person with their link, fields, questions and answers, which cannot be had back.

        What the study learned from everybody (its shared prior) is deleted too, and learned again without
        them. The database no longer holds the bytes. The log has a line, without the name.

        Parameters
        ----------
        name : of the person

        Returns
        -------
        int, the number of their answers

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> ann = study.respondent("ann")
        >>> _ = ann.tell((1, 0))
        >>> study.delete_respondent("ann"), study.respondents()
        (1, {})
        """
        person, n_answers = self.person_record(name)
        what = f"A person with {count(n_answers, 'answer')} was deleted."
        self.storage.delete_respondents(self.record.id, [person], what)
        self._forget([name])
        return n_answers

    def anonymise_respondent(self, name: str) -> str:
        """Take away who a person is: name, external id, fields, language and link; their answers stay.

        Parameters
        ----------
        name : of the person

        Returns
        -------
        str, the neutral name that they have from now on

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.respondent("ann").tell((1, 0))
        >>> study.anonymise_respondent("ann"), study.respondents()
        ('Anonymous 1', {'Anonymous 1': 1})
        """
        person, _ = self.person_record(name)
        (called,) = self.storage.anonymise_respondents(
            self.record.id, [person], "A person was made anonymous."
        )
        self._forget([name])
        return called

    def revoke_link(self, name: str) -> None:
        """Let a person's link open nothing from now on; their answers stay.

        Parameters
        ----------
        name : of the person

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.respondent("ann")
        >>> study.revoke_link("ann")
        >>> study.links()
        {}
        """
        self._change_link(name, "A person's link was revoked.", revoke=True)

    def renew_link(self, name: str) -> str:
        """Give a person a new link; the one they had, if any, opens nothing from now on.

        Parameters
        ----------
        name : of the person

        Returns
        -------
        str, the token of the new link

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.respondent("ann")
        >>> study.renew_link("ann") == study.links()["ann"]
        True
        """
        return self._change_link(name, "A person's link was renewed.")

    def export_respondent(self, name: str, path: str | PathLike[str] | None = None) -> dict[str, Any]:
        """Return all that is stored of a person, and write it into a file if a path is given.

        Parameters
        ----------
        name : of the person
        path : ends in .json for everything, or in .csv for the standing answers

        Returns
        -------
        dict that JSON can hold; the link's token is a secret, and left out

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.respondent("ann").tell((1, 0))
        >>> [one["text"] for one in study.export_respondent("ann")["answers"]]
        ['1 over 0']
        """
        person, _ = self.person_record(name)
        found = self._all_of(person)
        if path is not None:
            self._write_person(found, person, path)
        return found

    def set_retention(self, until: date | str | None, action: str = DELETE) -> Retention | None:
        """Say until when people's data is kept; after that day it is deleted or made anonymous.

        The page does it by itself within an hour, or `coombs retention --apply`.

        Parameters
        ----------
        until : the last day, as "2027-01-31" or a date; None for no end
        action : "delete", or "anonymise", which keeps the answers

        Returns
        -------
        Retention, or None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.set_retention("2027-01-31", "anonymise").action
        'anonymise'
        """
        if until is None:
            self.storage.set_retention(self.record.id, None, None)
            return None
        made = Retention(read_day(until), action)
        self.storage.set_retention(self.record.id, made.until.isoformat(), made.action)
        return made

    @property
    def retention(self) -> Retention | None:
        """Until when people's data is kept, as it is stored now; None where that has no end."""
        return retention_of(self.storage.study(self.record.name))

    def log(self) -> list[LogRecord]:
        """Return what happened to the study and its people, the earliest first, without names.

        Returns
        -------
        list of LogRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.respondent("ann")
        >>> _ = study.delete_respondent("ann")
        >>> study.log()[0].what
        'A person with 0 answers was deleted.'
        """
        return self.storage.log(self.record.id)

    def person_record(self, name: str) -> tuple[RespondentRecord, int]:
        """Return what the storage has of somebody who is there, and the number of their answers.

        Parameters
        ----------
        name : of the person

        Returns
        -------
        RespondentRecord and int

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.respondent("ann")
        >>> study.person_record("ann")[1]
        0
        """
        for record, n_answers in self.storage.respondents(self.record.id):
            if record.name == name:
                return record, n_answers
        raise UnknownStudyError(
            "There is nobody named {name} in the study {study}.",
            name=repr(name),
            study=repr(self.record.name),
        )

    def _change_link(self, name: str, what: str, revoke: bool = False) -> str:
        person, _ = self.person_record(name)
        with self.storage.batch():
            token = self.storage.change_token(person.id, revoke=revoke)
            self.storage.add_log(self.record.id, what)
        self._forget([name])
        return token

    def _forget(self, names: list[str]) -> None:
        """Drop people from memory who were deleted or changed."""
        with self._lock:
            for name in names:
                self._respondents.pop(name, None)

    def _all_of(self, person: RespondentRecord) -> dict[str, Any]:
        """What is stored of somebody, as JSON can hold it."""
        storage, labels = self.storage, self.catalogue.labels
        events = storage.events(person.id)
        history = History.of(storage, person.id)
        known = {name: _plain(value) for name, value in vars(person).items() if name not in _OURS}
        questions = [
            {**_plain_record(one), "items": [naming.for_json(labels[i]) for i in one.positions]}
            for one in history.questions.values()
        ]
        told = [one for one in events if not isinstance(one, UndoRecord)]
        undone = {one.answer_id: one.told for one in events if isinstance(one, UndoRecord)}
        answers = [
            {
                **_plain_record(one),
                "text": answer_of(one, person.name, labels, history.questions.get(one.question_id or 0)).text,
                "undone": _plain(undone.get(one.id)),
            }
            for one in told
        ]
        return {
            "study": self.record.name,
            "person": {**known, "has_link": not person.is_revoked},
            "questions": questions,
            "answers": answers,
            "exported": time_text(now()),
        }

    def _write_person(
        self, found: dict[str, Any], person: RespondentRecord, path: str | PathLike[str]
    ) -> None:
        from coombs.study.answer_files import export_answers
        from coombs.study.stored_studies import load_study

        ending = files.path_text(path).lower().rpartition(".")[2]
        if ending == "csv":
            export_answers(load_study(self.record.name, storage=self.storage), path, person.name)
        elif ending == "json":
            text = json.dumps(found, ensure_ascii=False, indent=2, allow_nan=False)
            with files.replacing(path) as part:
                part.write_text(f"{text}\n", encoding="utf-8")
        else:
            raise InputError(f"The file's name must end in .json or .csv; it is {files.path_text(path)!r}.")


_OURS = ("id", "study_id", "token")
"""Of a person's record: our numbers, and a secret."""


def _plain_record(record: object) -> dict[str, Any]:
    """A question or an answer as JSON can hold it, without the person's own number."""
    return {name: _plain(value) for name, value in vars(record).items() if name != "respondent_id"}


def _plain(value: Any) -> Any:
    """A value of a record as JSON can hold it."""
    if isinstance(value, datetime):
        return time_text(value)
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return dict(value) if isinstance(value, dict) else value


def person_by_number(study: Study, number: int) -> tuple[RespondentRecord, int]:
    """Somebody in a study by the number that the owner's pages have, and the number of their answers."""
    for record, n_answers in study.storage.respondents(study.record.id):
        if record.id == number:
            return record, n_answers
    raise UnknownStudyError(Translatable("This person is not in the study any more."))
