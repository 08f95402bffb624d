"""The files of a SQLite database: made for their owner alone, and noticed when they are gone or replaced."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

from coombs.data.tables import InputError
from coombs.storage.failures import StorageUnavailableError, damaged

Inode = tuple[int, int]
"""What a file is, whatever it is called: its device and its number there."""


@cache
def wal_path(path: Path) -> Path:
    """Where SQLite keeps what was written last, beside the database."""
    return path.with_name(f"{path.name}-wal")


def make_file(path: Path, place: str, needs: str) -> None:
    """Make a file for its owner alone, unless there is one; SQLite gives -wal and -shm the same rights."""
    if not path.parent.is_dir():
        folder = str(path.parent)
        raise InputError(f"{place} has no place to be, as there is no folder {folder!r}; make it first.")
    if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
        raise InputError(f"{place} is not a file that can be written to; {needs}.")
    if path.exists() and not _size(path) and _size(wal_path(path)):
        raise damaged(place, "it is empty, while the log (-wal) beside it is not")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise InputError(f"{place} cannot be made ({error.strerror}); {needs}.") from error


class Files(NamedTuple):
    """The database and its log, as they were when a connection opened them."""

    database: Inode
    log: Inode

    @classmethod
    def at(cls, path: Path, place: str) -> Files:
        """Those at a path now; a StorageUnavailableError where one is gone."""
        return cls(inode(path, place), inode(wal_path(path), f"The log (-wal) of {place}"))


def inode(path: Path, place: str) -> Inode:
    """Which file is at a path."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise StorageUnavailableError(
            f"{place} is gone ({error.strerror}): it was deleted or moved while coombs used it; put it back."
        ) from None
    return found.st_dev, found.st_ino


def sync_folder(folder: Path) -> None:
    """Let a new name in a folder outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_log(path: Path, place: str) -> int:
    """A descriptor of the log, on which SQLite has no locks that closing it would end."""
    try:
        return os.open(wal_path(path), os.O_RDONLY)
    except OSError as error:
        raise StorageUnavailableError(
            f"The log (-wal) of {place} cannot be opened ({error.strerror}); try again once that is repaired."
        ) from None


def log_replaced(place: str) -> StorageUnavailableError:
    """The error where another log is in the place of the one that was opened."""
    return StorageUnavailableError(
        f"The log (-wal) of {place} was replaced while coombs used it; put the former back, or stop coombs, "
        "which keeps what is in it, and start it again."
    )


def database_replaced(place: str) -> StorageUnavailableError:
    """The error where another file is in the place of the one that was opened."""
    return StorageUnavailableError(
        f"{place} was replaced by another file, which lacks answers that were stored in it; put the former "
        "back, or start coombs again to use the new one."
    )


def _size(path: Path) -> int:
    """In bytes, 0 where there is no such file."""
    return path.stat().st_size if path.exists() else 0
