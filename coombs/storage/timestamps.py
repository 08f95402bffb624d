"""Times in UTC: now, checked, as ISO 8601 text and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from coombs.data.tables import InputError


def now() -> datetime:
    """Return the time, in UTC.

    Returns
    -------
    datetime

    Examples
    --------
    >>> str(now().tzinfo)
    'UTC'
    """
    return datetime.now(UTC)


def utc(at: datetime | None) -> datetime:
    """When something happened, by default now, in UTC."""
    if at is None:
        return now()
    if at.tzinfo is None:
        raise InputError(f"The time {at.isoformat()} has no time zone; it must have one, such as UTC.")
    return at.astimezone(UTC)


def time_text(at: datetime) -> str:
    """A time as text to the microsecond, all of one length, so that text sorts as times do."""
    return at.isoformat(timespec="microseconds")


def stored_time(value: str | datetime) -> datetime:
    """A time in UTC out of `time_text`, or as PostgreSQL gives it, in the session's zone."""
    return (value if isinstance(value, datetime) else datetime.fromisoformat(value)).astimezone(UTC)


def read_time(value: Any) -> datetime:
    """A time in UTC, which text without a zone is in; a bare number could mean anything."""
    try:
        if not isinstance(value, str) or value.replace(".", "").isdigit():
            raise ValueError
        at = datetime.fromisoformat(value)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError("ISO 8601, as 2026-01-31T12:00:00+00:00") from error
