"""Studies, questions and answers, kept in memory, in a SQLite file or in a PostgreSQL database."""

from __future__ import annotations

import sys
from typing import TypeGuard

from coombs.data.tables import InputError
from coombs.storage.failures import StorageDamagedError, StorageError, StorageUnavailableError
from coombs.storage.judgement import Judgement
from coombs.storage.records import (
    CHOICES,
    AnswerRecord,
    AnyAnswer,
    Choice,
    Event,
    Item,
    JudgementRecord,
    PriorRecord,
    QuestionRecord,
    RespondentRecord,
    StudyRecord,
    StudySummary,
    UndoRecord,
)
from coombs.storage.storage import Storage
from coombs.storage.timestamps import now
from coombs.storage.validation import AnsweredError, StudyExistsError, UnknownStudyError

__all__ = [
    "CHOICES",
    "AnswerRecord",
    "AnsweredError",
    "AnyAnswer",
    "Choice",
    "Event",
    "Item",
    "Judgement",
    "JudgementRecord",
    "PriorRecord",
    "QuestionRecord",
    "RespondentRecord",
    "Storage",
    "StorageDamagedError",
    "StorageError",
    "StorageUnavailableError",
    "StudyExistsError",
    "StudyRecord",
    "StudySummary",
    "UndoRecord",
    "UnknownStudyError",
    "is_memory",
    "is_storage_error",
    "now",
    "open_storage",
]

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
    try:
        from coombs.storage.postgres import PostgresDatabase
    except ImportError as error:
        raise InputError(
            "PostgreSQL needs psycopg, which is not installed; install it: pip install 'coombs[postgres]'."
        ) from error
    return Storage(PostgresDatabase(url))


def _no_storage(what: str) -> InputError:
    """The error for what is no storage."""
    return InputError(
        f"The storage is {what}; it must be memory:, sqlite:///file.db, sqlite:////absolute/file.db or "
        "postgresql://user:password@host:port/database."
    )
