"""How long a study keeps people's data, and what happens to it then."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from coombs.data.tables import InputError
from coombs.storage import Storage, open_storage
from coombs.storage.records import StudyRecord
from coombs.storage.timestamps import now

DELETE = "delete"
"""At the end of the retention, people are deleted with all that they said."""
ANONYMISE = "anonymise"
"""At the end of the retention, people's names, ids, fields and links go, and their answers stay."""
ACTIONS = (DELETE, ANONYMISE)
"""What can happen when people's data is no longer to be kept."""


@dataclass(frozen=True)
class Retention:
    """Until when a study keeps people's data, and what happens to it then.

    Parameters
    ----------
    until : the last day, in UTC
    action : "delete" or "anonymise"

    Examples
    --------
    >>> from datetime import date
    >>> from coombs.study import Retention
    >>> Retention(date(2027, 1, 31), "delete").is_due(date(2027, 2, 1))
    True
    """

    until: date
    action: str = DELETE

    def __post_init__(self) -> None:
        if not isinstance(self.action, str) or self.action not in ACTIONS:
            raise InputError(f"The action is {self.action!r}; it must be {' or '.join(ACTIONS)}.")

    def is_due(self, today: date | None = None) -> bool:
        """Return whether the last day is over.

        Parameters
        ----------
        today : in UTC (default: now)

        Returns
        -------
        bool

        Examples
        --------
        >>> from datetime import date
        >>> from coombs.study import Retention
        >>> Retention(date(2027, 1, 31), "delete").is_due(date(2027, 1, 31))
        False
        """
        return (now().date() if today is None else today) > self.until


def retention_of(record: StudyRecord) -> Retention | None:
    """What a study's settings say of it; None where people's data has no end."""
    until = record.settings.get("retain_until")
    return None if until is None else Retention(read_day(until), record.settings.get("retention", DELETE))


def read_day(value: date | str) -> date:
    """A date, out of text as well."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError as error:
        raise InputError("The date is {value}; it must be one, as 2027-01-31.", value=repr(value)) from error


@dataclass(frozen=True)
class RetentionDone:
    """What was done where people's data was no longer to be kept.

    Parameters
    ----------
    study : its name
    action : "delete" or "anonymise"
    n_people : how many people it was done to

    Examples
    --------
    >>> from coombs.study import RetentionDone
    >>> RetentionDone("flats", "delete", 30).n_people
    30
    """

    study: str
    action: str
    n_people: int


def apply_retention(storage: str | Storage, *, today: date | None = None) -> list[RetentionDone]:
    """Delete or anonymise the people of all studies whose retention is over, as their owners chose.

    It is done once: the date is taken away then, and the log says what was done.

    Parameters
    ----------
    storage : as for `create_study`
    today : in UTC (default: now)

    Returns
    -------
    list of RetentionDone

    Examples
    --------
    >>> from datetime import date
    >>> from coombs import create_study
    >>> from coombs.study import apply_retention
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> _ = study.tell((1, 0)), study.set_retention("2027-01-31")
    >>> apply_retention(study.storage, today=date(2027, 2, 1))
    [RetentionDone(study='study', action='delete', n_people=1)]
    """
    place = open_storage(storage)
    due = ((one.name, retention_of(place.study(one.name))) for one in place.studies())
    return [
        done
        for name, kept in due
        if kept is not None and kept.is_due(today) and (done := _end_retention(place, name, today))
    ]


def _end_retention(storage: Storage, name: str, today: date | None) -> RetentionDone | None:
    """Do what is due in a study, unless another process did it meanwhile."""
    with storage.batch():
        record = storage.study(name)
        kept = retention_of(record)
        if kept is None or not kept.is_due(today):
            return None
        people = [person for person, _ in storage.respondents(record.id)]
        n_people = "1 person" if len(people) == 1 else f"{len(people)} people"
        ended = f"The retention until {kept.until} is over:"
        if kept.action == DELETE:
            storage.delete_respondents(record.id, people, f"{ended} {n_people} deleted.")
        else:
            storage.anonymise_respondents(record.id, people, f"{ended} {n_people} made anonymous.")
        if not people:
            storage.add_log(record.id, f"{ended} there was nobody.")
        storage.set_retention(record.id, None, None)
    storage.erase()
    return RetentionDone(name, kept.action, len(people))
