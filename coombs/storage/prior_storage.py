"""What a study knows of anybody before their first answer, by versions, and whose questions go by which."""

from __future__ import annotations

from datetime import datetime

from coombs.data.tables import InputError
from coombs.storage import rows, validation
from coombs.storage import stored_values as read
from coombs.storage.records import PriorRecord
from coombs.storage.stored_values import RowReading
from coombs.storage.study_storage import StudyStorage
from coombs.storage.timestamps import utc
from coombs.storage.validation import UnknownStudyError

NO_PRIOR = 0
"""The version of whoever is asked without a prior."""


class PriorStorage(StudyStorage):
    """The part of a `Storage` that keeps priors. A version never changes: a later one is added."""

    def add_prior(
        self,
        study_id: int,
        prior: str,
        *,
        n_people: int,
        n_answers: int,
        source: str,
        at: datetime | None = None,
    ) -> PriorRecord:
        """Keep the next version of a study's prior.

        Parameters
        ----------
        study_id : of the study
        prior : its JSON text
        n_people, n_answers : from which it was learned
        source : "given" with the study, or learned from the "study"
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        PriorRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, number = study.storage, study.record.id
        >>> storage.add_prior(number, "{}", n_people=12, n_answers=90, source="study").version
        1
        """
        if source not in PriorRecord.SOURCES:
            raise InputError(
                f"The source of the prior is {source!r}; it must be {' or '.join(PriorRecord.SOURCES)}."
            )
        counts = (
            validation.count(n_people, "number of people"),
            validation.count(n_answers, "number of answers"),
        )
        row = validation.text(prior, "prior"), *counts, source, utc(at)
        with self.database.transaction():
            self._check_study(study_id, self.database.for_update)
            select = "SELECT COALESCE(MAX(version), 0) FROM priors WHERE study_id = ?"
            version = 1 + int(self.database.rows(select, study_id)[0][0])
            self.database.insert_new("priors", rows.PRIOR, (study_id, version, *row))
        return PriorRecord(study_id, version, *row[1:])

    def priors(self, study_id: int) -> list[PriorRecord]:
        """Return the versions of a study's prior, the latest last, without their text.

        Parameters
        ----------
        study_id : of the study

        Returns
        -------
        list of PriorRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.priors(study.record.id)
        []
        """
        select = (
            "SELECT study_id, version, n_people, n_answers, source, created FROM priors"
            " WHERE study_id = ? ORDER BY version"
        )
        found = self.database.rows(select, study_id)
        if not found:
            self._check_study(study_id)
        return list(map(rows.prior, found))

    def prior_text(self, study_id: int, version: int) -> str:
        """Return the JSON text of a version of a study's prior, or raise UnknownStudyError.

        Parameters
        ----------
        study_id : of the study
        version : from 1

        Returns
        -------
        str

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, number = study.storage, study.record.id
        >>> _ = storage.add_prior(number, "{}", n_people=12, n_answers=90, source="study")
        >>> storage.prior_text(number, 1)
        '{}'
        """
        select = "SELECT prior FROM priors WHERE study_id = ? AND version = ?"
        for (text,) in self.database.rows(select, study_id, version):
            return str(text)
        raise UnknownStudyError(f"The study with the id {study_id} has no version {version} of a prior.")

    def use_prior(self, respondent_id: int, version: int | None = None) -> int | None:
        """Fix by which version of the prior somebody is asked, unless that was fixed before.

        Parameters
        ----------
        respondent_id : of the person
        version : from 1; 0 is none; None fixes nothing

        Returns
        -------
        the version that holds, or None if none was fixed

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.use_prior(ann.id, 0), storage.use_prior(ann.id)
        (0, 0)
        """
        found = self._used_prior(respondent_id)
        if found is not None or version is None:
            return found
        change = "UPDATE respondents SET prior_version = ? WHERE id = ? AND prior_version IS NULL"
        with self.database.transaction():
            self.database.change(change, validation.count(version, "version"), respondent_id)
            return self._used_prior(respondent_id)

    def use_seed(self, respondent_id: int, seed: int | None = None) -> int | None:
        """Fix the seed of somebody's questions, unless that was fixed before.

        Parameters
        ----------
        respondent_id : of the person
        seed : a whole number from 0; None fixes nothing

        Returns
        -------
        the seed that holds, or None if none was fixed

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.use_seed(ann.id, 7), storage.use_seed(ann.id, 8)
        (7, 7)
        """
        found = self._used_seed(respondent_id)
        if found is not None or seed is None:
            return found
        change = "UPDATE respondents SET seed = ? WHERE id = ? AND seed IS NULL"
        with self.database.transaction():
            self.database.change(change, seed, respondent_id)
            return self._used_seed(respondent_id)

    def _used_seed(self, respondent_id: int) -> int | None:
        """The seed that was fixed, if one was."""
        for (found,) in self.database.rows("SELECT seed FROM respondents WHERE id = ?", respondent_id):
            with RowReading(f"Respondent {respondent_id}"):
                return None if found is None else read.number(found, "the seed")
        raise UnknownStudyError(f"There is no respondent with the id {respondent_id}.")

    def _used_prior(self, respondent_id: int) -> int | None:
        """The version that was fixed, if one was."""
        select = (
            "SELECT prior_version, (SELECT COUNT(*) FROM priors WHERE priors.study_id = respondents.study_id"
            " AND priors.version = respondents.prior_version) FROM respondents WHERE id = ?"
        )
        for found, is_there in self.database.rows(select, respondent_id):
            if found is None:
                return None
            with RowReading(f"Respondent {respondent_id}"):
                if read.number(found, "the version of the prior") != NO_PRIOR and not is_there:
                    raise ValueError(f"there is no version {found} of the prior")
                return int(found)
        raise UnknownStudyError(f"There is no respondent with the id {respondent_id}.")
