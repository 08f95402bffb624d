"""Whether a database holds what coombs stored: its file, its tables, and every row of every study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from coombs.data.tables import InputError
from coombs.inference.people.people_prior import people_prior_of
from coombs.storage import Storage, StorageDamagedError, open_unchanged, stored_values
from coombs.storage.api_tokens import ApiTokens
from coombs.storage.database import LARGEST, Database
from coombs.storage.failures import REMEDY
from coombs.storage.layout import LINKS, layout_faults, orphan_faults
from coombs.storage.schema import VERSIONS, version_of
from coombs.storage.stored_values import RowReading
from coombs.storage.webhooks import Webhooks
from coombs.study.history import History
from coombs.study.retention import retention_of
from coombs.study.stored_studies import load_study
from coombs.study.study_presentations import presentation_of
from coombs.words import count

MOST_PAGES = 20
"""Damaged pages that are listed."""


@dataclass(frozen=True)
class Fault:
    """Something that is not as it was stored.

    Parameters
    ----------
    kind : "file", "schema", "orphans" or "row"
    sentence : what is damaged

    Examples
    --------
    >>> from coombs.study import Fault
    >>> Fault("row", "Answer 3 of respondent 1 is damaged: its weight is -1.0.").kind
    'row'
    """

    kind: str
    sentence: str


@dataclass(frozen=True)
class StorageCheck:
    """What was found in a database.

    Parameters
    ----------
    place : what was looked at
    version, newest : of its schema, and the one that this coombs makes
    n_studies, n_respondents, n_answers : that could be read
    faults : none where all is as it was stored

    Examples
    --------
    >>> from coombs.study import StorageCheck
    >>> StorageCheck("The database file 'study.db'", 7, 7, 1, 2, 30, ()).is_sound
    True
    """

    place: str
    version: int
    newest: int
    n_studies: int
    n_respondents: int
    n_answers: int
    faults: tuple[Fault, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged."""
        return not self.faults

    def __str__(self) -> str:
        studies = f"{self.n_studies} {'study' if self.n_studies == 1 else 'studies'}"
        counts = f"{studies}, {count(self.n_respondents, 'respondent')}, {count(self.n_answers, 'answer')}"
        lines = [f"{self.place}: schema version {self.version} of {self.newest}; {counts}."]
        lines += [f"- {fault.sentence}" for fault in self.faults]
        if self.faults:
            lines.append(f"It is damaged; {REMEDY.partition(', and ')[2]}.")
        elif self.version < self.newest:
            lines.append("Its file is sound; its rows are checked once `coombs upgrade` has been run.")
        else:
            lines.append("All is as it was stored.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it.

        Returns
        -------
        dict

        Examples
        --------
        >>> from coombs.study import StorageCheck
        >>> StorageCheck("The database file 'study.db'", 7, 7, 1, 2, 30, ()).to_dict()["is_sound"]
        True
        """
        return {**asdict(self), "faults": [asdict(one) for one in self.faults], "is_sound": self.is_sound}


class Inspection:
    """Looks at a database, and notes every fault."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._faults: list[Fault] = []
        self._counts = [0, 0, 0]

    @contextmanager
    def _noted(self, kind: str) -> Iterator[None]:
        """Note damage that is come upon, and go on."""
        try:
            yield
        except (StorageDamagedError, InputError) as error:
            sentence = str(error).partition(f"; {REMEDY}")[0].rstrip(".")
            self._note(kind, [sentence])

    def _note(self, kind: str, sentences: list[str]) -> None:
        known = {fault.sentence for fault in self._faults}
        self._faults += [Fault(kind, f"{sentence}.") for sentence in sentences if f"{sentence}." not in known]

    def run(self) -> StorageCheck:
        """All of it."""
        database, version = self._database, 0
        self._look(
            "file",
            lambda: [f"SQLite's own check says: {one}" for one in database.page_faults(MOST_PAGES, True)],
        )
        with self._noted("schema"):
            version = version_of(database)
        if not self._faults and not 0 < version <= len(VERSIONS):
            made = "is no database of coombs" if not version else "was made by a newer coombs"
            raise InputError(f"{database.place} {made}; give one that this coombs knows.")
        if version:
            self._look("schema", lambda: layout_faults(database, version))
        if version == len(VERSIONS):
            for link in LINKS:
                self._look("orphans", partial(orphan_faults, database, link))
            with self._noted("row"):
                self._studies(Storage(database, prepare=False))
        n_studies, n_respondents, n_answers = self._counts
        return StorageCheck(
            database.place, version, len(VERSIONS), n_studies, n_respondents, n_answers, tuple(self._faults)
        )

    def _look(self, kind: str, look: Callable[[], list[str]]) -> None:
        with self._noted(kind):
            self._note(kind, look())

    def _studies(self, storage: Storage) -> None:
        for number, name in self._database.rows("SELECT id, name FROM studies ORDER BY id"):
            self._counts[0] += 1
            with self._noted("row"):
                with RowReading(f"The study with the id {number!r}"):
                    stored_values.text(name, "its name")
                retention_of(load_study(name, storage=storage).record)
            with self._noted("row"):
                for prior in storage.priors(number):
                    with RowReading(f"Version {prior.version} of the prior of the study {name!r}"):
                        people_prior_of(storage.prior_text(number, prior.version))
            with self._noted("row"):
                ApiTokens(self._database).of_study(number)
                Webhooks(self._database).of_study(number)
                Webhooks(self._database).latest(number, LARGEST)
                storage.log(number)
            with self._noted("row"):
                for shown in storage.presentations(number):
                    presentation_of(shown, name)
            with self._noted("row"):
                for person, _ in storage.respondents(number):
                    self._respondent(storage, person.id)

    def _respondent(self, storage: Storage, number: int) -> None:
        self._counts[1] += 1
        with self._noted("row"):
            storage.use_prior(number)
            self._counts[2] += len(History.of(storage, number).answers)


def check_storage(url: str) -> StorageCheck:
    """Return what is damaged in a database, which stays as it is.

    Parameters
    ----------
    url : as for `create_study`

    Returns
    -------
    StorageCheck

    Examples
    --------
    >>> import tempfile
    >>> from coombs import create_study
    >>> from coombs.study import check_storage
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = create_study([[0.0], [1.0], [2.0]], storage=f"sqlite:///{folder}/study.db")
    ...     study.storage.close_all()
    ...     check_storage(f"sqlite:///{folder}/study.db").faults
    ()
    """
    database = open_unchanged(url, may_be_used=False)
    try:
        return Inspection(database).run()
    finally:
        database.close()
