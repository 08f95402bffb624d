"""Who of a study's people is invited, has started and is done, when they were last seen, and flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from coombs.data import tables
from coombs.data.tables import InputError
from coombs.storage import Activity, RespondentRecord, Storage
from coombs.storage.records import StudyRecord
from coombs.storage.timestamps import time_text
from coombs.study.history import History
from coombs.study.quality_flags import QualityFlags

if TYPE_CHECKING:
    import pandas as pd

INVITED = "invited"
"""The status of whoever has a link, and did nothing with it yet."""
STARTED = "started"
"""The status of whoever came by the open link, agreed, said something of themselves, or was asked."""
DONE = "done"
"""The status of whoever is through with all."""
OPEN_LINK = "open link"
"""The source of whoever came by the link for anybody."""
STATUSES = (INVITED, STARTED, DONE)
"""All there are, in the order in which people pass through them."""


@dataclass(frozen=True)
class MonitoredPerson:
    """How far a person is.

    Parameters
    ----------
    id : number of the person, also in the addresses of the owner's pages
    name : of the person
    status : "invited", "started" or "done"
    n_answers : that stand
    flags : what is noticeable in them, see `QualityFlags`
    invited : when the link was made
    started : when they were asked or answered first, or else came by the open link or agreed; None before
    last_seen : when they came by the open link, agreed, were asked or answered last; None before
    finished : when they were through with all, or None
    source, external_id : how they came, and what another service calls them, or None
    has_link : whether their link works; False where it was revoked

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> _ = study.respondent("ann")
    >>> study.monitor().people[0].status
    'invited'
    """

    id: int
    name: str
    status: str
    n_answers: int
    flags: tuple[str, ...]
    invited: datetime
    started: datetime | None
    last_seen: datetime | None
    finished: datetime | None
    source: str | None
    external_id: str | None
    has_link: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it.

        Returns
        -------
        dict

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.respondent("ann")
        >>> study.monitor().people[0].to_dict()["flags"]
        []
        """
        plain = {
            name: time_text(value) if isinstance(value, datetime) else value
            for name, value in asdict(self).items()
        }
        return {**plain, "flags": list(self.flags)}


@dataclass(frozen=True)
class StudyMonitor:
    """How far a study is.

    Parameters
    ----------
    people : of MonitoredPerson, in the order in which they came

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> _ = study.respondent("ann"), study.tell((1, 0))
    >>> study.monitor().counts
    {'invited': 1, 'started': 1, 'done': 0}
    """

    people: tuple[MonitoredPerson, ...]

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many people have each status."""
        found = [one.status for one in self.people]
        return {status: found.count(status) for status in STATUSES}

    @property
    def not_done(self) -> tuple[MonitoredPerson, ...]:
        """Whom one may remind: those with a link who are not through."""
        return tuple(one for one in self.people if one.status != DONE and one.has_link)

    @property
    def flagged(self) -> tuple[MonitoredPerson, ...]:
        """Those in whose answers something is noticeable."""
        return tuple(one for one in self.people if one.flags)

    def only(self, show: str) -> tuple[MonitoredPerson, ...]:
        """Return some of the people.

        Parameters
        ----------
        show : "all", "invited", "started", "done", "flagged" or "not done"

        Returns
        -------
        tuple of MonitoredPerson

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.respondent("ann")
        >>> [one.name for one in study.monitor().only("not done")]
        ['ann']
        """
        several = {"all": self.people, "flagged": self.flagged, "not done": self.not_done}
        if show in several:
            return several[show]
        if show not in STATUSES:
            raise InputError(f"It is {show!r}; it must be one of {', '.join((*several, *STATUSES))}.")
        return tuple(one for one in self.people if one.status == show)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it.

        Returns
        -------
        dict

        Examples
        --------
        >>> from coombs import create_study
        >>> create_study([[0.0], [1.0], [2.0]], storage="memory:").monitor().to_dict()["people"]
        []
        """
        people = [one.to_dict() for one in self.people]
        return {"counts": self.counts, "n_flagged": len(self.flagged), "people": people}

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each person; needs pandas.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.tell((1, 0))
        >>> study.monitor().to_frame()["n_answers"].tolist()
        [1]
        """
        columns = [name for name in MonitoredPerson.__dataclass_fields__ if name != "id"]
        rows = [[getattr(one, name) for name in columns] for one in self.people]
        frame = tables.pandas().DataFrame(rows, columns=columns)
        frame["flags"] = [", ".join(one.flags) for one in self.people]
        for name in ("invited", "started", "last_seen", "finished"):
            frame[name] = tables.pandas().to_datetime(frame[name], utc=True)
        return frame


class MonitoredStudy:
    """The part of a `Study` that says how far its people are."""

    storage: Storage
    record: StudyRecord

    @cached_property
    def _known_flags(self) -> dict[int, tuple[Activity, tuple[str, ...]]]:
        """The flags of people by their ids, and what they had done by then."""
        return {}

    def monitor(self) -> StudyMonitor:
        """Return who is invited, has started and is done, when they were last seen, and what is noticeable.

        Returns
        -------
        StudyMonitor

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.tell((1, 0))
        >>> study.monitor().people[0].n_answers
        1
        """
        activity = self.storage.activity(self.record.id)
        flags = self._flags(activity)
        return StudyMonitor(
            tuple(
                _monitored(record, n_answers, activity.get(record.id), flags.get(record.id, ()))
                for record, n_answers in self.storage.respondents(self.record.id)
            )
        )

    def _flags(self, activity: Mapping[int, Activity]) -> dict[int, tuple[str, ...]]:
        """The flags of everybody; only the rows of those who did something since are read."""
        known = self._known_flags
        new = {one for one, done in activity.items() if one not in known or known[one][0] != done}
        rows = self.storage.everything(self.record.id, new) if new else {}
        for one in new:
            history = History(is_whole=True)
            history.add(*rows.get(one, ([], [])))
            known[one] = activity[one], QualityFlags.of(history).names
        return {one: known[one][1] for one in activity}


def _monitored(
    record: RespondentRecord, n_answers: int, done: Activity | None, flags: tuple[str, ...]
) -> MonitoredPerson:
    """How far somebody is."""
    # Who comes by the open link pressed a button to be made; nobody invited them.
    came = record.created if record.source == OPEN_LINK else record.consented
    started = came if done is None else done.first
    has_started = started is not None or bool(record.fields)
    return MonitoredPerson(
        id=record.id,
        name=record.name,
        status=DONE if record.finished else STARTED if has_started else INVITED,
        n_answers=n_answers,
        flags=flags,
        invited=record.created,
        started=started,
        last_seen=max(
            (one for one in (done and done.last, came, record.consented, record.finished) if one),
            default=None,
        ),
        finished=record.finished,
        source=record.source,
        external_id=record.external_id,
        has_link=not record.is_revoked,
    )
