"""SQLite: a file, for any number of processes on one machine, or memory, for one process."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from coombs.data.tables import InputError
from coombs.storage import validation
from coombs.storage.database import Connection, Database
from coombs.storage.failures import StorageError, StorageUnavailableError, damaged
from coombs.storage.rows import Row
from coombs.storage.sqlite_files import (
    Files,
    Inode,
    database_replaced,
    inode,
    log_replaced,
    make_file,
    open_log,
    wal_path,
)
from coombs.storage.timestamps import time_text
from coombs.storage.write_queue import PATIENCE, POLL, ThreadTurn, next_in_line

Done = TypeVar("Done")

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


LARGEST_CHECKED = 2**23
"""Bytes of a file that is checked whenever it is opened: 8 MB, or 40,000 answers, take about 0.1 s."""
LARGEST_COPIED = 2**29
"""Bytes of a file of which a copy in memory is looked at, in place of the file itself."""
_READERS = 5.0
"""Seconds to wait for others to stop reading, so that the log can be emptied."""
_NO_ANSWER = (0, 0, "")
"""Before the first one is stored."""
INDEXED = "SELECT name FROM pragma_index_info(?)"
"""The columns of an index."""


class SqliteConnection(Connection):
    """A connection, the files it has opened, and its own hold on the log, by which processes queue."""

    def __init__(self, driver_connection: sqlite3.Connection, path: Path, place: str) -> None:
        self.descriptor = -1
        super().__init__(driver_connection)
        self.descriptor = open_log(path, place)
        self.files = Files.at(path, place)

    def close(self) -> None:
        """Close the connection and let go of the log."""
        super().close()
        if self.descriptor >= 0:
            descriptor, self.descriptor = self.descriptor, -1
            os.close(descriptor)


class SqliteDatabase(Database):
    """A database file."""

    needs = "it must be a database that coombs made, or a new file in a folder that can be written to"
    # The text of an error about damaged text may be no text itself.
    errors = (sqlite3.Error, UnicodeDecodeError)
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
    has_returning = sqlite3.sqlite_version_info >= (3, 35)
    has_rules = True

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = Path(validation.text(path, "database file's path")).absolute()
        self.place = f"The database file {str(self._path)!r}"
        self._last, self._inserting = _NO_ANSWER, _NO_ANSWER
        self._written: float | None = None
        self._file: Inode | None = None
        make_file(self._path, self.place, self.needs)

    def _connect(self) -> Connection:
        before = inode(self._path, self.place)
        self._check_others(before)
        if self._file not in (None, before) and not self._is_all_in_place():
            raise database_replaced(self.place)
        connection = _connected(f"{self._path.as_uri()}?mode=rw")
        try:
            _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
            connection.execute("PRAGMA synchronous = FULL")
            # This opens the log.
            _patiently(lambda: connection.execute("SELECT 1 FROM sqlite_master").fetchone())
            made = SqliteConnection(connection, self._path, self.place)
        except BaseException:
            connection.close()
            raise
        if made.files.database != before:
            made.close()
            raise database_replaced(self.place)
        self._file = before
        return made

    def _check_others(self, database: Inode) -> None:
        """Open no other log than other threads have open: SQLite would take the one for the other."""
        others = [one.files for one in self.open_connections() if isinstance(one, SqliteConnection)]
        logs = {files.log for files in others if files.database == database}
        if logs and logs != {inode(wal_path(self._path), f"The log (-wal) of {self.place}")}:
            raise log_replaced(self.place)

    def _check_files(self) -> None:
        """Refuse to go on with files that are no longer where they were opened."""
        connection = self.connection
        assert isinstance(connection, SqliteConnection)
        now = Files.at(self._path, self.place)
        if now == connection.files:
            return
        if now.database == connection.files.database:
            raise log_replaced(self.place)
        if connection.writing:
            raise database_replaced(self.place)
        self.close()
        self._check_files()

    def _is_all_in_place(self) -> bool:
        """Whether the file now in place, however it came there, has the last answer stored from here."""
        try:
            with closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)) as found:
                select = "SELECT 1 FROM events WHERE respondent_id = ? AND id = ? AND told = ?"
                return found.execute(select, self._last).fetchone() is not None or self._last == _NO_ANSWER
        except sqlite3.Error:
            return False

    def _run(self, statement: str, values: Row) -> Any:
        """Run a statement on the files that are in place; outside of a transaction, wait for others."""
        if self.connection.writing:
            return super()._run(statement, values)
        self._check_files()
        return _patiently(lambda: super(SqliteDatabase, self)._run(statement, values))

    def insert(self, table: str, columns: str, values: Row) -> int:
        """Add a row; the last one that is kept of all answers is remembered."""
        number = super().insert(table, columns, values)
        if table == "events":
            self._inserting = (values[0], number, time_text(values[-1]))
        return number

    def _begin(self) -> None:
        """Start to write when it is this process's turn."""
        self._check_files()
        self._inserting = self._last
        with self._first_in_line():
            super()._begin()

    def _commit(self) -> None:
        """Keep what was done, unless the file has gone meanwhile."""
        self._check_files()
        super()._commit()
        self._last, self._written = self._inserting, time.monotonic()

    def checkpoint(self, calm: float = 0.0) -> None:
        """Write what is in the log (-wal) into the database itself, unless others are busy with it."""
        written = self._written
        if written is not None and time.monotonic() - written >= calm:
            with suppress(StorageError), self.turn:
                if self.is_to_erase:
                    with self._first_in_line():
                        self.execute("VACUUM")
                    self.is_to_erase = False
                busy, *_ = self.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0]
                if not busy:
                    self._written = None

    def erase(self) -> None:
        """Write the file anew, without what was deleted, and empty the log once nobody reads it."""
        super().erase()
        end = time.monotonic() + _READERS
        while self._written is not None and time.monotonic() < end:
            time.sleep(POLL)
            self.checkpoint()

    def _first_in_line(self) -> AbstractContextManager[None]:
        """Be the next process that writes."""
        connection = self.connection
        assert isinstance(connection, SqliteConnection)
        return next_in_line(connection.descriptor)

    def failure(self, error: Exception) -> StorageError:
        """Away for the moment, or else damaged: our statements fail in no other way."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        reason = _AWAY.get(code)
        if reason is None and isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
            reason = "another thread has closed it"
        if reason is None:
            reason = "it holds text that is none" if isinstance(error, UnicodeDecodeError) else str(error)
            return damaged(self.place, " ".join(reason.split()))
        return StorageUnavailableError(
            f"{self.place} cannot be used at the moment, as {reason} ({error}); "
            "try again once that is repaired."
        )

    def _new_turn(self) -> AbstractContextManager[Any]:
        return ThreadTurn()

    def layout(self, table: str) -> frozenset[str]:
        """The columns of a table, which must be there, which are unique, which point elsewhere; triggers."""
        columns = self.rows(f"PRAGMA table_info({table})")
        found = [f"column {name}" for _, name, *_ in columns]
        found += [f"rule that {row[1]} is there" for row in columns if row[3]]
        for _, index, is_unique, *_ in self.rows(f"PRAGMA index_list({table})"):
            # What an index is called comes from the file, and so may be anything.
            names = ", ".join(str(name) for (name,) in self.rows(INDEXED, index))
            found.append(f"{'rule of one row for each' if is_unique else 'index on'} {names}")
        for _, _, to, here, *_ in self.rows(f"PRAGMA foreign_key_list({table})"):
            found.append(f"rule that {here} is one of {to}")
        triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?"
        return frozenset([*found, *(f"trigger {name}" for (name,) in self.rows(triggers, table))])

    def page_faults(self, most: int, whole: bool = False) -> list[str]:
        """What SQLite's own check finds, which is left out of large files but as a whole."""
        pages, size = self.rows("PRAGMA page_count")[0][0], self.rows("PRAGMA page_size")[0][0]
        if pages * size > LARGEST_CHECKED and not whole:
            return []
        # Not quick_check: answers that a damaged index does not find would be missing without a word.
        found = self.rows(f"PRAGMA integrity_check({most})")
        return [" ".join(str(text).split()) for (text,) in found if text != "ok"]

    def _exclude(self) -> None:
        """Nothing to do: in SQLite one transaction at a time writes."""


class ReadOnlyDatabase(SqliteDatabase):
    """A database file that stays as it is, for whoever looks at it or copies it."""

    def __init__(self, path: str, may_be_used: bool = True) -> None:
        Database.__init__(self)
        self._may_be_used = may_be_used
        self.path = Path(validation.text(path, "database file's path")).absolute()
        self.place = f"The database file {str(self.path)!r}"
        self._written = None
        if not self.path.is_file():
            raise InputError(f"There is no database file {str(self.path)!r}; check the path.")

    def _connect(self) -> Connection:
        # Whoever uses it keeps a log beside it. Without one, SQLite need not make any, either.
        is_used = wal_path(self.path).exists() or self._may_be_used
        found = _connected(f"{self.path.as_uri()}?mode=ro{'' if is_used else '&immutable=1'}")
        if self._may_be_used or self.path.stat().st_size > LARGEST_COPIED:
            return Connection(found)
        # SQLite does not look at all rules of a database that it may only read.
        copy = _connected(":memory:")
        try:
            found.backup(copy)
        except sqlite3.Error:
            copy.close()
            return Connection(found)
        found.close()
        return Connection(copy)

    def _check_files(self) -> None:
        """It is looked at only for a moment."""


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
        self._last, self._inserting = _NO_ANSWER, _NO_ANSWER
        self._written = None
        self._local = SimpleNamespace(connection=_MemoryConnection(_connected(":memory:")))

    def rows(self, statement: str, *values: Any) -> list[Row]:
        """All rows that a statement gives, once no other thread is in a transaction."""
        with self.turn:
            return super().rows(statement, *values)

    def _check_files(self) -> None:
        """There is none."""

    def _begin(self) -> None:
        """Start to write: no other process can."""
        Database._begin(self)

    def erase(self) -> None:
        """There is no file that could hold what was deleted."""

    def close(self) -> None:
        """Nothing to let go of: what is kept would go with the connection."""

    def checkpoint(self, calm: float = 0.0) -> None:
        """There is no file, and so nothing to tidy."""


def _connected(place: str) -> sqlite3.Connection:
    """A connection that keeps foreign keys; any thread may close it, so that its own may have ended."""
    # Nothing waits inside of SQLite, which would sleep up to a tenth of a second: `_patiently` does.
    connection = sqlite3.connect(place, timeout=0, isolation_level=None, check_same_thread=False, uri=True)
    connection.execute("PRAGMA foreign_keys = ON")
    # What is deleted is overwritten with zeros.
    connection.execute("PRAGMA secure_delete = ON")
    return connection


def _patiently(work: Callable[[], Done]) -> Done:
    """What comes of work that has to wait while other processes are in its way."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(POLL)
