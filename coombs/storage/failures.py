"""What a storage raises when the database fails it: it is away, or what it holds is damaged."""

from __future__ import annotations

REMEDY = "look at it with `coombs check`, and put a copy made by `coombs backup` in its place"
"""What to do about a damaged database."""


class StorageError(RuntimeError):
    """The database did not do what it was asked to; it is no fault of the input.

    Examples
    --------
    >>> issubclass(StorageUnavailableError, StorageError) and issubclass(StorageDamagedError, StorageError)
    True
    """


class StorageUnavailableError(StorageError):
    """The database is away, locked, full or gone for the moment: the same call may work later.

    If it was raised by the end of a transaction on a server, what was done may be stored or not. Telling the
    same answer to the same question again is safe: it is stored once.

    Examples
    --------
    >>> from coombs.storage import open_storage
    >>> try:
    ...     open_storage("postgresql://127.0.0.1:1/studies")
    ... except StorageUnavailableError as error:
    ...     print(str(error)[:69])
    The PostgreSQL database 'studies' at '127.0.0.1' cannot be reached (c
    """


class StorageDamagedError(StorageError):
    """What the database holds is not what coombs stored; the sentence says what is damaged.

    Examples
    --------
    >>> print(damaged("Item 3 of study 1", "its features are no list of numbers"))  # doctest: +ELLIPSIS
    Item 3 of study 1 is damaged: its features are no list of numbers; look at it with `coombs check`, ...
    """


def damaged(what: str, reason: str) -> StorageDamagedError:
    """The error about something that is damaged."""
    return StorageDamagedError(f"{what} is damaged: {reason}; {REMEDY}.")
