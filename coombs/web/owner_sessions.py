"""Sessions of the owner's browsers: kept in the storage, so that all processes know when one has ended."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

from coombs.storage import Storage
from coombs.storage.temporary import TemporaryValues

SESSION_SECONDS = 7 * 24 * 3600
"""How long a browser is known as the owner's, in seconds."""
MOST_SESSIONS = 100
"""Browsers that are known at once; the latest."""
_KEY = re.compile(r"[A-Za-z0-9_-]{43}")
"""32 random bytes, as a cookie holds them."""


class OwnerSessions:
    """A key for each browser that showed the token.

    The storage has a keyed hash of it: who reads the database cannot use it, and another token ends all.
    """

    def __init__(self, storage: Storage, token: str) -> None:
        self._token = token.encode()
        self._values = TemporaryValues(storage.database, "owner session", SESSION_SECONDS, MOST_SESSIONS)

    def begin(self) -> str:
        """The key of a new session."""
        key = secrets.token_urlsafe(32)
        self._values.put(self._name(key), "")
        return key

    def is_open(self, key: str) -> bool:
        """Whether that is the key of a session which has not ended."""
        return _KEY.fullmatch(key) is not None and self._values.get(self._name(key)) is not None

    def end(self, key: str) -> None:
        """End a session."""
        if _KEY.fullmatch(key):
            self._values.drop(self._name(key))

    def _name(self, key: str) -> str:
        return hmac.new(self._token, key.encode(), hashlib.sha256).hexdigest()
