"""The owner's token: where it comes from, and what it must be."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from coombs.data.tables import InputError

VARIABLE = "COOMBS_TOKEN"
"""The environment variable that may hold the token."""
LEAST_LENGTH = 16
"""Characters that a token has at least."""
RANDOM_BYTES = 24
"""Random bytes in a token that is made here."""


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(RANDOM_BYTES)


def checked(token: str | None) -> str | None:
    """The token, or an InputError where it is too easy to guess; None for none."""
    if not token:
        return None
    if len(token) < LEAST_LENGTH:
        raise InputError(
            f"The owner's token has {len(token)} characters, which can be guessed; "
            f"give {LEAST_LENGTH} or more."
        )
    if not token.isprintable() or token != token.strip():
        raise InputError("The owner's token must be plain text without spaces around it.")
    return token


def given_token(
    token: str | None, token_file: str | None, environment: Mapping[str, str] = os.environ
) -> str | None:
    """The token that was given, in a file or in the environment; None where there is none."""
    if token is not None and token_file is not None:
        raise InputError("A token and a file with a token are given; give one of the two.")
    if token_file is not None:
        return checked(_read(token_file))
    return checked(environment.get(VARIABLE, "").strip() if token is None else token)


def _read(path: str) -> str:
    """What a file holds, without the end of its line."""
    try:
        found = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise InputError(f"The token's file {path!r} cannot be read ({reason}).") from None
    if not found:
        raise InputError(f"The token's file {path!r} is empty; write a token of {LEAST_LENGTH} characters.")
    return found
