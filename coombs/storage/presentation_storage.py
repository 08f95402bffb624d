"""What people of a study see, by versions, the study's open link, and how far each of them came."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.storage import rows, validation
from coombs.storage.database import LARGEST
from coombs.storage.records import Participant, PresentationRecord, RespondentRecord, StudyRecord
from coombs.storage.study_storage import StudyStorage
from coombs.storage.timestamps import utc
from coombs.storage.validation import UnknownStudyError
from coombs.storage.webhooks import note

NO_PRESENTATION = 0
"""The version of a study whose people go straight to the questions."""

RESTORED = ("language", "seed", "consent_version", "consented", "finished")
"""The columns of a respondent that come with what they do."""


class PresentationStorage(StudyStorage):
    """The part of a `Storage` that keeps presentations, consent and fields. A version never changes."""

    def add_presentation(
        self, study_id: int, content: Mapping[str, Any], *, at: datetime | None = None
    ) -> PresentationRecord:
        """Keep the next version of what people see.

        Parameters
        ----------
        study_id : of the study
        content : names and values, as JSON holds them
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        PresentationRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.add_presentation(study.record.id, {"title": "Pizza"}).version
        1
        """
        text, created = validation.as_json(dict(content), "presentation"), utc(at)
        with self.database.transaction():
            self._check_study(study_id, self.database.for_update)
            select = "SELECT COALESCE(MAX(version), 0) FROM presentations WHERE study_id = ?"
            version = 1 + int(self.database.rows(select, study_id)[0][0])
            self.database.insert_new("presentations", rows.PRESENTATION, (study_id, version, text, created))
        return PresentationRecord(study_id, version, dict(content), created)

    def presentations(self, study_id: int) -> list[PresentationRecord]:
        """Return the versions of what people see, the latest last.

        Parameters
        ----------
        study_id : of the study

        Returns
        -------
        list of PresentationRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.presentations(study.record.id)
        []
        """
        select = f"SELECT {rows.PRESENTATION} FROM presentations WHERE study_id = ? ORDER BY version"
        found = self.database.rows(select, study_id)
        if not found:
            self._check_study(study_id)
        return list(map(rows.presentation, found))

    def change_settings(self, study_id: int, settings: Mapping[str, Any]) -> StudyRecord:
        """Replace the settings of a study.

        Parameters
        ----------
        study_id : of the study
        settings : all of them, what JSON can hold

        Returns
        -------
        StudyRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.change_settings(study.record.id, {"top": 1}).settings
        {'top': 1}
        """
        text = validation.as_json(dict(settings), "settings")
        with self.database.transaction():
            self.database.change("UPDATE studies SET settings = ? WHERE id = ?", text, study_id)
            for row in self.database.rows(f"SELECT id, {rows.STUDY} FROM studies WHERE id = ?", study_id):
                return rows.study(row)
        raise UnknownStudyError(f"There is no study with the id {study_id}.")

    def open_token(self, study_id: int) -> str | None:
        """Return what the study's open link holds, or None where it is off.

        Parameters
        ----------
        study_id : of the study

        Returns
        -------
        str or None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.open_token(study.record.id) is None
        True
        """
        for (token,) in self.database.rows("SELECT open_token FROM studies WHERE id = ?", study_id):
            return None if token is None else str(token)
        raise UnknownStudyError(f"There is no study with the id {study_id}.")

    def set_open_token(self, study_id: int, token: str | None) -> None:
        """Switch the open link of a study on, with this token, or off.

        Parameters
        ----------
        study_id : of the study
        token : what the link holds, or None for off

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.set_open_token(study.record.id, "secret")
        >>> study.storage.by_open_token("secret")
        'pizza'
        """
        held = None if token is None else validation.text(token, "token")
        with self.database.transaction():
            self._check_study(study_id, self.database.for_update)
            self.database.change("UPDATE studies SET open_token = ? WHERE id = ?", held, study_id)

    def by_open_token(self, token: str) -> str:
        """Return the name of the study whose open link holds the token, or raise UnknownStudyError.

        Parameters
        ----------
        token : of the link

        Returns
        -------
        str

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.set_open_token(study.record.id, "secret")
        >>> study.storage.by_open_token("secret")
        'pizza'
        """
        select = "SELECT name FROM studies WHERE open_token = ?"
        for (name,) in self.database.rows(select, validation.text(token, "token")):
            return str(name)
        raise UnknownStudyError(
            Translatable("This link is not in use; ask whoever made the study for the present one.")
        )

    def participant(self, token: str) -> Participant:
        """Return whose link holds the token and what holds for them now, or raise UnknownStudyError.

        Parameters
        ----------
        token : of the link

        Returns
        -------
        Participant

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.participant(study.respondent("Ann").record.token).study_name
        'pizza'
        """
        found = self.database.rows(
            f"SELECT {rows.of('respondents', rows.RESPONDENT)},"
            " (SELECT COALESCE(MAX(version), 0) FROM presentations"
            " WHERE presentations.study_id = respondents.study_id),"
            f" {rows.of('studies', rows.STUDY)} FROM respondents"
            " JOIN studies ON studies.id = respondents.study_id WHERE respondents.token = ?",
            validation.text(token, "token"),
        )
        for row in found:
            width = 1 + len(rows.RESPONDENT.split(", "))
            study, person = rows.study(row[width + 1 :]), rows.respondent(row[:width])
            if not person.is_revoked:
                return Participant(study.name, person, study.settings, row[width])
        raise UnknownStudyError(
            Translatable("This link is nobody's; ask whoever made the study for a new one.")
        )

    def by_external_id(self, study_id: int, external_id: str) -> RespondentRecord | None:
        """Return who has an id of another service in a study, or None.

        Parameters
        ----------
        study_id : of the study
        external_id : of the person, as another service has it

        Returns
        -------
        RespondentRecord or None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.by_external_id(study.record.id, "P7") is None
        True
        """
        select = f"SELECT id, {rows.RESPONDENT} FROM respondents WHERE study_id = ? AND external_id = ?"
        wanted = validation.text(external_id, "id elsewhere")
        found = self.database.rows(select, study_id, wanted)
        return rows.respondent(found[0]) if found else None

    def n_respondents(self, study_id: int) -> int:
        """Return how many people a study has.

        Parameters
        ----------
        study_id : of the study

        Returns
        -------
        int

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.n_respondents(study.record.id)
        0
        """
        found = self.database.rows("SELECT COUNT(*) FROM respondents WHERE study_id = ?", study_id)
        return int(found[0][0])

    def set_consent(
        self,
        respondent_id: int,
        version: int,
        language: str | None = None,
        *,
        at: datetime | None = None,
    ) -> RespondentRecord:
        """Keep that somebody agreed to a version of the presentation, and in which language they read it.

        Parameters
        ----------
        respondent_id : of the person
        version : of the presentation, from 1
        language : its code, or None where it is not known
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        RespondentRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.set_consent(ann.id, 1).consent_version
        1
        """
        spoken = None if language is None else validation.text(language, "language")
        agreed = validation.count(version, "version"), utc(at), spoken
        change = (
            "UPDATE respondents SET consent_version = ?, consented = ?, language = COALESCE(?, language)"
            " WHERE id = ?"
        )
        return self._changed(respondent_id, change, *agreed, respondent_id)

    def set_fields(self, respondent_id: int, fields: Mapping[str, str]) -> RespondentRecord:
        """Keep what somebody says of themselves, beside what they said before.

        Parameters
        ----------
        respondent_id : of the person
        fields : what they say, by label; "" for nothing

        Returns
        -------
        RespondentRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.set_fields(ann.id, {"Age": "41"}).fields
        {'Age': '41'}
        """
        select = f"SELECT id, {rows.RESPONDENT} FROM respondents WHERE id = ? {self.database.for_update}"
        with self.database.transaction():
            found = self.database.rows(select, respondent_id)
            before = rows.respondent(found[0]).fields if found else {}
            text = rows.fields_text({**before, **fields})
            change = "UPDATE respondents SET fields = ? WHERE id = ?"
            return self._changed(respondent_id, change, text, respondent_id)

    def set_finished(
        self, respondent_id: int, is_finished: bool = True, *, at: datetime | None = None
    ) -> RespondentRecord:
        """Keep when somebody was through with all, the first time; or that they are not any more.

        Parameters
        ----------
        respondent_id : of the person
        is_finished : False where an answer was taken back
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        RespondentRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.set_finished(ann.id).finished is None
        False
        """
        if not is_finished:
            change = "UPDATE respondents SET finished = NULL WHERE id = ?"
            return self._changed(respondent_id, change, respondent_id)
        change = "UPDATE respondents SET finished = COALESCE(finished, ?) WHERE id = ?"
        with self.database.transaction():
            select = f"SELECT finished FROM respondents WHERE id = ? {self.database.for_update}"
            before = self.database.rows(select, respondent_id)
            if before and before[0][0] is None:
                note(self.database, respondent_id, "done")
            return self._changed(respondent_id, change, utc(at), respondent_id)

    def start_anew(self, respondent_id: int, token: str) -> RespondentRecord | None:
        """Give a new link to somebody without any answer or question, without what was said by the old one.

        Parameters
        ----------
        respondent_id : of the person
        token : what the new link holds

        Returns
        -------
        RespondentRecord, or None where there are questions or answers, and nothing is changed

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.start_anew(ann.id, "another secret").token
        'another secret'
        """
        with self.database.transaction():
            self._check_respondent(respondent_id, self.database.for_update)
            told = self.database.rows(
                "SELECT 1 FROM questions WHERE respondent_id = ?"
                " UNION ALL SELECT 1 FROM events WHERE respondent_id = ? LIMIT 1",
                respondent_id,
                respondent_id,
            )
            if told:
                return None
            change = (
                "UPDATE respondents SET token = ?, fields = NULL, consent_version = NULL, consented = NULL,"
                " finished = NULL WHERE id = ?"
            )
            held = validation.text(token, "token")
            return self._changed(respondent_id, change, held, respondent_id)

    def restore_respondent(self, respondent_id: int, known: Mapping[str, Any]) -> None:
        """Keep what was known of somebody elsewhere, as after an import.

        Parameters
        ----------
        respondent_id : of the person
        known : language, seed, consent_version, consented or finished, as in `RespondentRecord`

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.restore_respondent(ann.id, {"seed": 7})
        >>> storage.participant(ann.token).record.seed
        7
        """
        kept = {column: known[column] for column in RESTORED if known.get(column) is not None}
        if "seed" in kept and not 0 <= kept["seed"] <= LARGEST:
            raise InputError(f"The seed is {kept['seed']}; it must be a whole number, not negative.")
        with self.database.transaction():
            for column, value in kept.items():
                checked = validation.text(value, column) if isinstance(value, str) else value
                change = f"UPDATE respondents SET {column} = ? WHERE id = ?"
                self.database.change(change, checked, respondent_id)

    def _changed(self, respondent_id: int, change: str, *values: Any) -> RespondentRecord:
        """A respondent after a change, in one transaction."""
        with self.database.transaction():
            self.database.change(change, *values)
            select = f"SELECT id, {rows.RESPONDENT} FROM respondents WHERE id = ?"
            for row in self.database.rows(select, respondent_id):
                return rows.respondent(row)
        raise UnknownStudyError(f"There is no respondent with the id {respondent_id}.")
