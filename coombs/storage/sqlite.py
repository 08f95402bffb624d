"""SQLite: a file, for any number of processes on one machine, or memory, for one process."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from coombs.data.tables import InputError
from coombs.storage import validation
from coombs.storage.database import Connection, Database
from coombs.storage.failures import StorageError, StorageUnavailableError, damaged
from coombs.storage.rows import Row

_PATIENCE = 30.0
"""Seconds to wait for other writers."""
_AWAY = {
    sqlite3.SQLITE_BUSY: "another program has kept it locked for too long",
    sqlite3.SQLITE_LOCKED: "another program has kept it locked for too long",
    sqlite3.SQLITE_PROTOCOL: "another program has kept it locked for too long",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk gave an error",
    sqlite3.SQLITE_READONLY: "it may not be written to",
    sqlite3.SQLITE_PERM: "it may not be opened",
    sqlite3.SQLITE_AUTH: "it may not be opened",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_NOMEM: "there is no memory left",
    sqlite3.SQLITE_INTERRUPT: "it was interrupted",
}
"""What keeps a database from working for the moment, by SQLite's primary error code."""


class _Turn:
    """Threads that write, one after another: SQLite's own way to wait is to sleep and try again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=_PATIENCE):
            raise StorageUnavailableError(
                f"Another thread has been writing for {_PATIENCE:.0f} s; try again when it is done."
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class SqliteDatabase(Database):
    """A database file."""

    needs = "it must be a database that coombs made, or a new file in a folder that can be written to"
    errors = (sqlite3.Error,)
    identity = "INTEGER PRIMARY KEY AUTOINCREMENT"
    continue_ids = (
        "DELETE FROM sqlite_sequence WHERE name = '{new}'; INSERT INTO sqlite_sequence (name, seq)"
        " SELECT '{new}', seq FROM sqlite_sequence WHERE name = '{old}'"
    )
    timestamp = "TEXT"
    find_table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    # Taking the write lock at once is waited for; taking it after a read could fail at once.
    begin = "BEGIN IMMEDIATE"
    for_update = ""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = Path(validation.text(path, "database file's path")).absolute()
        self.place = f"The database file {str(self._path)!r}"
        self._check_path()

    def _check_path(self) -> None:
        """Refuse a path where no database can be; make a file for its owner alone if there is none."""
        if not self._path.parent.is_dir():
            folder = str(self._path.parent)
            raise InputError(
                f"{self.place} has no place to be, as there is no folder {folder!r}; make it first."
            )
        if self._path.exists() and not (self._path.is_file() and os.access(self._path, os.W_OK)):
            raise InputError(f"{self.place} is not a file that can be written to; {self.needs}.")
        try:
            # SQLite gives the files beside it (-wal, -shm) the same rights.
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            pass
        except OSError as error:
            raise InputError(f"{self.place} cannot be made ({error.strerror}); {self.needs}.") from error

    def _connect(self) -> Any:
        connection = _connected(self._path)
        try:
            _use_write_ahead_log(connection)
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    def failure(self, error: Exception) -> StorageError:
        """Away for the moment, or else damaged: our statements fail in no other way."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        reason = _AWAY.get(code)
        if reason is None and isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
            reason = "another thread has closed it"
        if reason is None:
            return damaged(self.place, str(error))
        return StorageUnavailableError(
            f"{self.place} cannot be used at the moment, as {reason} ({error}); "
            "try again once that is mended."
        )

    def _new_turn(self) -> AbstractContextManager[Any]:
        return _Turn()

    def _inserted(self, statement: str, values: Row) -> int:
        return int(self.execute(statement, values).lastrowid)

    def _exclude(self) -> None:
        """Nothing to do: in SQLite one transaction at a time writes."""


class _MemoryConnection(Connection):
    """One that a forked process may use, as it has a copy of the memory."""

    @property
    def inherited(self) -> bool:
        """Never."""
        return False


class MemoryDatabase(SqliteDatabase):
    """A database in memory: one connection, which all threads take in turn."""

    place = "The database in memory"

    def __init__(self) -> None:
        Database.__init__(self)
        self._local = SimpleNamespace(connection=_MemoryConnection(_connected(":memory:")))

    def rows(self, statement: str, *values: Any) -> list[Row]:
        """All rows that a statement gives, once no other thread is in a transaction."""
        with self.turn:
            return super().rows(statement, *values)

    def close(self) -> None:
        """Nothing to let go of: what is kept would go with the connection."""


def _connected(path: Path | str) -> sqlite3.Connection:
    """A connection that keeps foreign keys; any thread may close it, so that its own may have ended."""
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Let readers and a writer work at once; the switch needs the file alone, and does not wait itself."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)
