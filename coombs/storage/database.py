"""A database that speaks SQL: a connection for each thread and process, and transactions."""

from __future__ import annotations

import atexit
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime
from numbers import Integral
from typing import Any, ClassVar
from weakref import WeakSet

from coombs.storage.failures import StorageError
from coombs.storage.rows import Row
from coombs.storage.tally import Tally
from coombs.storage.timestamps import time_text

LARGEST = 2**63 - 1
"""The largest number that a column holds."""

# Connections that a fork copied from its parent: closing one would end the parent's, so they stay open.
_INHERITED: list[Any] = []


class Connection:
    """The driver's connection of a thread, and whether a transaction is open on it; gone with the thread."""

    def __init__(self, driver_connection: Any) -> None:
        self.driver_connection = driver_connection
        self.pid = os.getpid()
        self.writing = self.closed = False
        # Held while a statement runs, so that another thread closes it at no such moment.
        self.in_use = threading.RLock()

    @property
    def inherited(self) -> bool:
        """Whether it is of the process that this one was forked from, and so not to be used here."""
        return self.pid != os.getpid()

    def close(self) -> None:
        """Close the connection, if it is this process's to close."""
        self.closed = True
        if self.inherited:
            _INHERITED.append(self.driver_connection)
        else:
            self.driver_connection.close()

    def __del__(self) -> None:
        self.close()


class Database(ABC):
    """What both kinds of databases do alike, and the words in which they differ."""

    place: str
    """How messages call it."""
    needs: ClassVar[str]
    """What messages say that it must be."""
    errors: ClassVar[tuple[type[Exception], ...]]
    """What the driver raises."""
    identity: ClassVar[str]
    """The type of a column that numbers its rows and never uses a number twice."""
    continue_ids: ClassVar[str]
    """Lets the ids of a table, {new}, go on where those of another, {old}, ended."""
    timestamp: ClassVar[str]
    """The type of a column of times."""
    find_table: ClassVar[str]
    """Gives a row if there is a table of that name."""
    begin: ClassVar[str]
    """Starts a transaction that writes."""
    for_update: ClassVar[str]
    """Ends a SELECT whose rows no other transaction may lock before this one is over."""
    has_returning: ClassVar[bool] = True
    """Whether an INSERT can return what it added."""
    has_rules: ClassVar[bool]
    """Whether `layout` tells the rules of a table, not its columns alone."""

    def __init__(self) -> None:
        self._local: Any = threading.local()
        self._connections: WeakSet[Connection] = WeakSet()
        self._listing = threading.Lock()
        self.turn = self._new_turn()
        self.is_to_erase = False
        self.tally = Tally()
        _DATABASES.add(self)

    @abstractmethod
    def _connect(self) -> Connection:
        """A new connection, on which every statement is its own transaction."""

    @abstractmethod
    def failure(self, error: Exception) -> StorageError:
        """What an error of the driver means."""

    @abstractmethod
    def layout(self, table: str) -> frozenset[str]:
        """What a table has: its columns as "column id", and rules; empty where there is none."""

    def page_faults(self, most: int, whole: bool = False) -> list[str]:
        """Pages of a file that are damaged, at most so many: where that is soon told, or of all of it."""
        return []

    @abstractmethod
    def _exclude(self) -> None:
        """Let the open transaction wait until no other is in a batch, and keep others out."""

    def _new_turn(self) -> AbstractContextManager[Any]:
        """What a thread enters before it writes, any number of times, and leaves after."""
        return nullcontext()

    def dialect(self, statement: str) -> str:
        """A statement, in which question marks stand for values, as the driver writes it."""
        return statement

    @property
    def connection(self) -> Connection:
        """This thread's connection."""
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None or connection.inherited or connection.closed:
            with self._failures():
                connection = self._local.connection = self._connect()
            with self._listing:
                self._connections.add(connection)
        return connection

    def open_connections(self) -> list[Connection]:
        """Those of this process, whichever threads have them."""
        with self._listing:
            found = list(self._connections)
        return [one for one in found if not (one.inherited or one.closed)]

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Let nothing that the driver raises get out but as an error of ours."""
        try:
            yield
        except self.errors as error:
            self.tally.add("errors")
            raise self.failure(error) from error

    def execute(self, statement: str, values: Row = ()) -> Any:
        """Run a statement, its values apart from it; the driver's cursor."""
        with self._failures(), self.connection.in_use:
            return self._run(statement, values)

    def _run(self, statement: str, values: Row) -> Any:
        """Run a statement; what the driver raises is not translated."""
        return self.connection.driver_connection.execute(self.dialect(statement), tuple(map(_plain, values)))

    def rows(self, statement: str, *values: Any) -> list[Row]:
        """All rows that a statement gives."""
        with self._failures(), self.connection.in_use:
            found: list[Row] = self._run(statement, values).fetchall()
        return found

    def change(self, statement: str, *values: Any) -> int:
        """Run a statement; how many rows it changed."""
        return int(self.execute(statement, values).rowcount)

    def insert(self, table: str, columns: str, values: Row) -> int:
        """Add a row to a table that numbers those of each respondent, the first of the values; its number.

        The respondent must be locked, so that no other transaction takes the same number.
        """
        select = f"SELECT COALESCE(MAX(id), 0) + 1 FROM {table} WHERE respondent_id = ?"
        into, marks = f"INSERT INTO {table} (id, {columns})", _marks(values)
        if self.has_returning:
            insert = f"{into} VALUES (({select}), {marks}) RETURNING id"
            return int(self.rows(insert, values[0], *values)[0][0])
        number = int(self.rows(select, values[0])[0][0])
        self.change(f"{into} VALUES (?, {marks})", number, *values)
        return number

    def insert_each(self, table: str, columns: str, rows: Sequence[Row]) -> None:
        """Add many rows."""
        if rows:
            insert = f"INSERT INTO {table} ({columns}) VALUES ({_marks(rows[0])})"
            with self._failures():
                self.connection.driver_connection.cursor().executemany(self.dialect(insert), rows)

    def insert_new(self, table: str, columns: str, values: Row) -> bool:
        """Add a row, unless there is one that it may not be beside; whether it was added."""
        insert = f"INSERT INTO {table} ({columns}) VALUES ({_marks(values)}) ON CONFLICT DO NOTHING"
        return self.change(insert, *values) > 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is done inside, or none of it; inside of another it is part of that."""
        with self.turn:
            if self.connection.writing:
                yield
                return
            try:
                self._begin()
                self.connection.writing = True
                yield
                self._commit()
                self.connection.writing = False
            except BaseException:
                self._roll_back()
                raise

    @contextmanager
    def batch(self) -> Iterator[None]:
        """A transaction that may lock rows in any order, as no other that locks several runs beside it."""
        with self.transaction():
            self._exclude()
            yield

    def _begin(self) -> None:
        """Start a transaction."""
        self.execute(self.begin)

    def _commit(self) -> None:
        """Keep what the open transaction did."""
        self.execute("COMMIT")

    def _roll_back(self) -> None:
        """Take back what the open transaction did, if its connection is still there."""
        connection = getattr(self._local, "connection", None)
        if connection is not None and not connection.inherited:
            connection.writing = False
            with suppress(*self.errors):
                connection.driver_connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close this thread's connection, unless it is in a transaction; the next call opens another."""
        connection = getattr(self._local, "connection", None)
        if connection is not None and not connection.writing:
            self._local.connection = None
            connection.close()

    @abstractmethod
    def checkpoint(self, calm: float = 0.0) -> None:
        """Tidy up, if nothing was written within so many seconds."""

    def erase(self) -> None:
        """Overwrite what was deleted, so that files do not hold it any more: now, or when others let it."""
        self.is_to_erase = True
        self.checkpoint()

    def finish(self) -> None:
        """Tidy up and close the connections of all threads but those at work: before the process ends."""
        self.checkpoint()
        for connection in self.open_connections():
            if not connection.writing and connection.in_use.acquire(blocking=False):
                try:
                    connection.close()
                finally:
                    connection.in_use.release()


_DATABASES: WeakSet[Database] = WeakSet()


def _before_fork() -> None:
    """Close the idle connections of the thread that forks: SQLite cannot share one's locks with a child."""
    for database in list(_DATABASES):
        database.close()


def _after_fork() -> None:
    """Whose turn it was in the parent is nothing to the child."""
    for database in list(_DATABASES):
        database.turn, database._listing = database._new_turn(), threading.Lock()


def _at_exit() -> None:
    """Leave databases as whole as they can be; also after Ctrl-C."""
    for database in list(_DATABASES):
        with suppress(StorageError, *database.errors):
            database.finish()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)


def _marks(values: Row) -> str:
    """Where the values go."""
    return ", ".join("?" * len(values))


def _plain(value: Any) -> Any:
    """A value as drivers take it; a number too large for a column is no id, and so may be the largest."""
    # Nearly all values are of these, and asking about abstract types takes ten times as long.
    if type(value) in (str, float) or (type(value) is int and abs(value) <= LARGEST):
        return value
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, Integral):
        return max(-LARGEST, min(int(value), LARGEST))
    return value
