"""Tokens by which programs use one study: the database has their digests, so that nobody reads them there."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

from coombs.data.tables import InputError
from coombs.storage import stored_values as read
from coombs.storage import validation
from coombs.storage.database import Database
from coombs.storage.rows import Row
from coombs.storage.stored_values import RowReading
from coombs.storage.timestamps import now
from coombs.storage.validation import UnknownStudyError

Rights: TypeAlias = Literal["answer", "read", "own"]
"""What a token may: make people and answer for them; read what was answered; everything in its study."""
RIGHTS: tuple[Rights, ...] = get_args(Rights)
PREFIX = "coombs_"
"""What every token begins with, so that it is known where it should not be."""
_TOKEN = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
"""32 random bytes after it."""
_LONGEST_NAME = 100
"""Characters of a token's name."""


@dataclass(frozen=True)
class ApiToken:
    """What is known of a token, which was shown once.

    Parameters
    ----------
    name : what it is for
    rights : "answer", "read" or "own"
    created : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> ApiToken("shop", "answer", datetime(2026, 1, 31, tzinfo=UTC)).rights
    'answer'
    """

    name: str
    rights: Rights
    created: datetime


class ApiTokens:
    """The tokens of all studies in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, study_id: int, name: str, rights: str) -> str:
        """A new token, or an InputError; it cannot be had again."""
        called = " ".join(validation.text(name, "token's name").split())
        if not called or len(called) > _LONGEST_NAME or not called.isprintable():
            raise InputError(
                "The token's name is {name}; it must be plain text of 1 to {most} characters.",
                name=repr(name),
                most=_LONGEST_NAME,
            )
        if rights not in RIGHTS:
            raise InputError(f"The rights are {rights!r}; they must be {', '.join(RIGHTS[:-1])} or own.")
        token = f"{PREFIX}{secrets.token_urlsafe(32)}"
        row = study_id, called, _digest(token), rights, now()
        with self._database.transaction():
            if not self._database.insert_new("api_tokens", "study_id, name, digest, rights, created", row):
                raise InputError(
                    "There is a token named {name} already; revoke it, or choose another name.",
                    name=repr(called),
                )
        return token

    def of_study(self, study_id: int) -> list[ApiToken]:
        """Those of a study, in the order they were made."""
        select = "SELECT name, rights, created FROM api_tokens WHERE study_id = ? ORDER BY id"
        return [_token(row) for row in self._database.rows(select, study_id)]

    def revoke(self, study_id: int, name: str) -> None:
        """Let a token open nothing from now on, or an InputError where there is none."""
        delete = "DELETE FROM api_tokens WHERE study_id = ? AND name = ?"
        with self._database.transaction():
            if not self._database.change(delete, study_id, validation.text(name, "token's name")):
                raise UnknownStudyError(f"There is no token named {name!r}.")

    def find(self, token: str) -> tuple[str, Rights] | None:
        """The name of the study that a token is for, and its rights; None where it is none."""
        if not _TOKEN.fullmatch(token):
            return None
        found = self._database.rows(
            "SELECT studies.name, api_tokens.rights FROM api_tokens"
            " JOIN studies ON studies.id = api_tokens.study_id WHERE api_tokens.digest = ?",
            _digest(token),
        )
        with RowReading("A token"):
            return (str(found[0][0]), _rights(found[0][1])) if found else None


def _token(row: Row) -> ApiToken:
    with RowReading(f"The token {row[0]!r}"):
        name, rights, created = row
        return ApiToken(read.text(name, "its name"), _rights(rights), read.moment(created, "its time"))


def _rights(value: Any) -> Rights:
    for one in RIGHTS:
        if one == value:
            return one
    raise ValueError("its rights are unknown")


def _digest(token: str) -> str:
    """A token has 256 random bits, so that its digest needs no salt and no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()
