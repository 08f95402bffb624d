"""Times as text: ISO 8601 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def read_time(value: Any) -> datetime:
    """A time in UTC, which text without a zone is in; a bare number could mean anything."""
    try:
        if not isinstance(value, str) or value.replace(".", "").isdigit():
            raise ValueError
        at = datetime.fromisoformat(value)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError("ISO 8601, as 2026-01-31T12:00:00+00:00") from error


def time_text(at: datetime) -> str:
    """To the microsecond."""
    return at.isoformat(timespec="microseconds")
