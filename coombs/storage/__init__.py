"""Where studies are kept: in memory, SQLite or PostgreSQL, each a `Database`, behind one `Storage`."""

from __future__ import annotations

import sys
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeGuard

from coombs.data.tables import InputError
from coombs.storage.database import Database
from coombs.storage.failures import StorageDamagedError, StorageError, StorageUnavailableError
from coombs.storage.judgement import Judgement
from coombs.storage.overview_storage import Activity
from coombs.storage.records import (
    CHOICES,
    AnswerRecord,
    AnyAnswer,
    AnyQuestion,
    Choice,
    Event,
    Item,
    JudgementRecord,
    LogRecord,
    Participant,
    PresentationRecord,
    PriorRecord,
    QuestionRecord,
    RespondentRecord,
    SetQuestionRecord,
    SkipRecord,
    StudyRecord,
    StudySummary,
    UndoRecord,
)
from coombs.storage.storage import Storage
from coombs.storage.timestamps import now
from coombs.storage.validation import AnsweredError, StudyExistsError, UnknownStudyError

__all__ = [
    "CHOICES",
    "Activity",
    "AnswerRecord",
    "AnsweredError",
    "AnyAnswer",
    "AnyQuestion",
    "Choice",
    "Event",
    "Item",
    "Judgement",
    "JudgementRecord",
    "LogRecord",
    "Participant",
    "PresentationRecord",
    "PriorRecord",
    "QuestionRecord",
    "RespondentRecord",
    "SetQuestionRecord",
    "SkipRecord",
    "Storage",
    "StorageDamagedError",
    "StorageError",
    "StorageUnavailableError",
    "StudyExistsError",
    "StudyRecord",
    "StudySummary",
    "UndoRecord",
    "UnknownStudyError",
    "Upgrade",
    "backup_storage",
    "is_memory",
    "is_storage_error",
    "now",
    "open_storage",
    "upgrade_storage",
]


class Upgrade(NamedTuple):
    """What came of bringing a database up to date.

    Parameters
    ----------
    before, after : versions of its schema
    copy : of the database as it was, or None

    Examples
    --------
    >>> Upgrade(6, 7, None).after
    7
    """

    before: int
    after: int
    copy: Path | None


_SQLITE = "sqlite:///"
"""What the URL of a SQLite file begins with; its path follows."""
_MEMORY = ("memory:", "sqlite://", "sqlite:///:memory:")
"""URLs of memory: ours, and two as SQLAlchemy and Optuna have it."""
_POSTGRES = ("postgresql://", "postgres://")
"""What the URL of a PostgreSQL database begins with."""


def open_storage(url: str | Storage) -> Storage:
    """Return the storage at a URL, made there if it is new, brought up to date if it is old.

    Parameters
    ----------
    url : "memory:", also as "sqlite://" or "sqlite:///:memory:" (new and empty each time),
        "sqlite:///file.db" (four slashes: an absolute path),
        "postgresql://user:password@host:port/database" (needs ``pip install 'coombs[postgres]'``),
        or a Storage, which is returned as it is

    Returns
    -------
    Storage

    Raises
    ------
    InputError
        If there is no such storage, or it cannot be written to or understood.
    StorageUnavailableError
        If it cannot be reached at the moment.
    StorageDamagedError
        If what it holds is damaged.

    Examples
    --------
    >>> storage = open_storage("memory:")
    >>> study = storage.create_study("pizza", ["size"], [Item("small", (1.0,)), Item("large", (2.0,))], {})
    >>> respondent = storage.add_respondent(study.id, "Ann", token="secret")
    >>> storage.add_answer(respondent.id, 0, 1, "right").choice
    'right'
    """
    if isinstance(url, Storage):
        return url
    if not isinstance(url, str):
        raise _no_storage(f"a {type(url).__name__}")
    if url.startswith(_POSTGRES):
        return _postgres(url)
    if is_memory(url) or (url.startswith(_SQLITE) and url != _SQLITE):
        from coombs.storage.sqlite import MemoryDatabase, SqliteDatabase

        return Storage(MemoryDatabase() if is_memory(url) else SqliteDatabase(url.removeprefix(_SQLITE)))
    # What stands before an @ may be a password.
    raise _no_storage(repr(f"...@{url.rpartition('@')[2]}" if "@" in url else url))


def open_unchanged(url: str, may_be_used: bool = True) -> Database:
    """The database at a URL, neither made nor brought up to date: to look at it or copy it."""
    if isinstance(url, str) and url.startswith(_POSTGRES):
        return _postgres_database(url)
    if not isinstance(url, str) or is_memory(url) or not url.startswith(_SQLITE):
        raise InputError(f"{url!r} is no database that is kept; give sqlite:///file.db or postgresql://....")
    from coombs.storage.sqlite import ReadOnlyDatabase

    return ReadOnlyDatabase(url.removeprefix(_SQLITE), may_be_used)


def backup_storage(url: str, path: str | PathLike[str]) -> Path:
    """Write a copy of a SQLite database into a new file, while others may write into the database.

    Parameters
    ----------
    url : as for `open_storage`, of a SQLite file; a PostgreSQL database is copied with its own pg_dump
    path : of the copy, which must not be there

    Returns
    -------
    Path of the copy: one file, whole and checked

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_storage(f"sqlite:///{folder}/study.db").close_all()
    ...     backup_storage(f"sqlite:///{folder}/study.db", f"{folder}/copy.db").name
    'copy.db'
    """
    if isinstance(url, str) and url.startswith(_POSTGRES):
        raise InputError(
            "A PostgreSQL database is copied with its own program: pg_dump --format=custom --file=copy.dump "
            "DATABASE, and brought back with pg_restore."
        )
    from coombs.storage.backup import backup

    database = open_unchanged(url)
    try:
        return backup(database, path)
    finally:
        database.close()


def upgrade_storage(url: str) -> Upgrade:
    """Bring a database to the newest version of the schema, as opening it does, and say what was done.

    Parameters
    ----------
    url : as for `open_storage`; of a SQLite file a copy is made before

    Returns
    -------
    Upgrade: the version before and after, and the path of the copy, None where there is none

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_storage(f"sqlite:///{folder}/study.db").close_all()
    ...     upgrade_storage(f"sqlite:///{folder}/study.db").copy is None
    True
    """
    from coombs.storage.schema import VERSIONS, version_of

    database, copy = open_unchanged(url), None
    try:
        before = version_of(database)
        if not before:
            raise InputError(f"{database.place} is no database of coombs; check the path.")
        if before < len(VERSIONS) and url.startswith(_SQLITE):
            copy = backup_storage(url, f"{url.removeprefix(_SQLITE)}.version{before}")
    finally:
        database.close()
    open_storage(url).close_all()
    return Upgrade(before, len(VERSIONS), copy)


def is_memory(url: str | Storage) -> bool:
    """Return whether a URL means that nothing is kept.

    Parameters
    ----------
    url : as for `open_storage`

    Returns
    -------
    bool

    Examples
    --------
    >>> is_memory("memory:"), is_memory("sqlite:///coombs.db")
    (True, False)
    """
    return isinstance(url, str) and url in _MEMORY


def is_storage_error(error: BaseException | None) -> TypeGuard[Exception]:
    """Return whether a storage, or a database's driver below it, raised an error.

    Parameters
    ----------
    error : the exception, or None

    Returns
    -------
    bool

    Examples
    --------
    >>> import sqlite3
    >>> is_storage_error(sqlite3.OperationalError()), is_storage_error(ValueError())
    (True, False)
    """
    if isinstance(error, StorageError):
        return True
    drivers = (sys.modules.get(name) for name in ("sqlite3", "psycopg"))
    return any(driver is not None and isinstance(error, driver.Error) for driver in drivers)


def _postgres(url: str) -> Storage:
    """A storage in PostgreSQL, if the driver is there."""
    return Storage(_postgres_database(url))


def _postgres_database(url: str) -> Database:
    try:
        from coombs.storage.postgres import PostgresDatabase
    except ImportError as error:
        raise InputError(
            "PostgreSQL needs psycopg, which is not installed; install it: pip install 'coombs[postgres]'."
        ) from error
    return PostgresDatabase(url)


def _no_storage(what: str) -> InputError:
    """The error for what is no storage."""
    return InputError(
        f"The storage is {what}; it must be memory:, sqlite:///file.db, sqlite:////absolute/file.db or "
        "postgresql://user:password@host:port/database."
    )
