"""What is kept for a while in a database, so that every process of a page sees it: sessions, uploads."""

from __future__ import annotations

from datetime import timedelta

from coombs.storage.database import Database
from coombs.storage.timestamps import now, time_text


class TemporaryValues:
    """Texts of one purpose by name, each until it expires; at most `most` of them, the latest.

    Times are compared as text, all of one length, which sorts as they do.
    """

    def __init__(self, database: Database, purpose: str, seconds: float, most: int) -> None:
        self._database, self._purpose = database, purpose
        self._kept, self._most = timedelta(seconds=seconds), most

    def put(self, name: str, content: str) -> bool:
        """Keep a text, unless one has that name; those that expired, and the oldest of too many, go."""
        at, database = now(), self._database
        row = self._purpose, name, content, time_text(at), time_text(at + self._kept)
        with database.transaction():
            database.change("DELETE FROM temporary WHERE expires <= ?", time_text(at))
            is_new = database.insert_new("temporary", "purpose, name, content, created, expires", row)
            database.change(
                "DELETE FROM temporary WHERE purpose = ? AND name NOT IN"
                " (SELECT name FROM temporary WHERE purpose = ? ORDER BY created DESC, name LIMIT ?)",
                self._purpose,
                self._purpose,
                self._most,
            )
        return is_new

    def replace(self, name: str, content: str) -> None:
        """Change a text that is kept."""
        update = "UPDATE temporary SET content = ? WHERE purpose = ? AND name = ?"
        with self._database.transaction():
            self._database.change(update, content, self._purpose, name)

    def get(self, name: str) -> str | None:
        """The text, unless it expired or was dropped."""
        found = self._database.rows(
            "SELECT content FROM temporary WHERE purpose = ? AND name = ? AND expires > ?",
            self._purpose,
            name,
            time_text(now()),
        )
        return str(found[0][0]) if found else None

    def drop(self, name: str) -> None:
        """Let go of a text."""
        delete = "DELETE FROM temporary WHERE purpose = ? AND name = ?"
        with self._database.transaction():
            self._database.change(delete, self._purpose, name)
