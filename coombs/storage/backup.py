"""Copies of a SQLite database, while others write into it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from coombs.data.tables import InputError
from coombs.storage.database import Database
from coombs.storage.failures import StorageUnavailableError, damaged
from coombs.storage.sqlite_files import sync_folder


def backup(database: Database, path: str | os.PathLike[str]) -> Path:
    """Write a copy of a SQLite database as it is at one moment into a new file, whole or not at all."""
    target = Path(path).absolute()
    if target.exists():
        raise InputError(f"There is a file {str(target)!r} already; give another name for the copy.")
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {str(target.parent)!r}; make it first.")
    part = target.with_name(f"{target.name}.part{os.getpid()}")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _copy(database, part)
        # Unlike a rename, this replaces nothing that came there meanwhile.
        os.link(part, target)
        sync_folder(target.parent)
    except OSError as error:
        raise InputError(
            f"The copy {str(target)!r} cannot be written ({error.strerror}); give another place for it."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink()
    return target


def _copy(database: Database, part: Path) -> None:
    """Page by page, in one transaction that keeps nobody from writing; then checked."""
    source = database.connection.driver_connection
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            source.backup(copy)
            # One file, with nothing beside it.
            copy.execute("PRAGMA journal_mode = DELETE")
            found = [text for (text,) in copy.execute("PRAGMA integrity_check(1)")]
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise StorageUnavailableError(
                f"The copy of {database.place} cannot be written ({error}); make room for it."
            ) from error
        raise database.failure(error) from error
    if found != ["ok"]:
        raise damaged(database.place, found[0])
    with open(part, "rb") as file:
        os.fsync(file.fileno())
