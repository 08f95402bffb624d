"""The table of a study's people as an address asks for it: some of them, sorted, a page at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from coombs.study import MonitoredPerson, StudyMonitor
from coombs.study.monitoring import STATUSES

PAGE_SIZE = 50
"""People on a page."""
SHOWN = ("all", *STATUSES, "flagged")
"""Whom the table can be about."""
_NEVER = datetime(1, 1, 1, tzinfo=UTC)
"""Before all times: of who was never seen."""
SORTS: dict[str, Callable[[MonitoredPerson], Any]] = {
    "name": lambda one: (one.name.casefold(), one.name),
    "status": lambda one: STATUSES.index(one.status),
    "answers": lambda one: one.n_answers,
    "seen": lambda one: one.last_seen or _NEVER,
    "flags": lambda one: len(one.flags),
}
"""By what people can be sorted; otherwise they stand in the order in which they came."""


@dataclass(frozen=True)
class PeopleView:
    """Of a monitor: whom to show, sorted by what (with a minus: the largest first), and which page."""

    monitor: StudyMonitor
    show: str = "all"
    sort: str = ""
    page: int = 1

    @classmethod
    def of(cls, monitor: StudyMonitor, show: str, sort: str, page: str) -> PeopleView:
        """As an address has it; what is unknown there is as if it were not there."""
        known = sort if sort.removeprefix("-") in SORTS else ""
        number = int(page) if page.isdecimal() and len(page) < 7 else 1
        view = cls(monitor, show if show in SHOWN else "all", known)
        return cls(monitor, view.show, known, min(max(number, 1), view.n_pages))

    @property
    def found(self) -> list[MonitoredPerson]:
        """All whom it is about, in order."""
        people = list(self.monitor.only(self.show))
        if self.sort:
            key = SORTS[self.sort.removeprefix("-")]
            people.sort(key=key, reverse=self.sort.startswith("-"))
        return people

    @property
    def rows(self) -> list[MonitoredPerson]:
        """Those on the page."""
        return self.found[(self.page - 1) * PAGE_SIZE : self.page * PAGE_SIZE]

    @property
    def n_pages(self) -> int:
        """How many pages there are, at least one."""
        return max(1, -(-len(self.monitor.only(self.show)) // PAGE_SIZE))

    @property
    def shares(self) -> list[tuple[str, float, float]]:
        """Of the bar: status, where its part begins, and how wide it is, in percent; those done first."""
        total, start, parts = max(1, len(self.monitor.people)), 0.0, []
        for status in reversed(STATUSES):
            width = 100 * self.monitor.counts[status] / total
            parts.append((status, round(start, 3), round(width, 3)))
            start += width
        return parts

    def filters(self) -> list[tuple[str, int]]:
        """Whom one can ask for, and how many they are."""
        return [(show, len(self.monitor.only(show))) for show in SHOWN]

    def query(self, **changes: Any) -> str:
        """The address's query of another view; who else is asked for stands on the first page."""
        wanted = {"show": self.show, "sort": self.sort, "page": 1, **changes}
        usual = {"show": "all", "sort": "", "page": 1}
        kept = {name: value for name, value in wanted.items() if value != usual[name]}
        return f"?{urlencode(kept)}" if kept else "?"

    def sorted_by(self, name: str) -> str:
        """The query of the same sorted by something; what is sorted by it turns around."""
        first = name if name in ("name", "status") else f"-{name}"
        other = name if first.startswith("-") else f"-{name}"
        return self.query(sort=other if self.sort == first else first)

    def direction(self, name: str) -> str:
        """How a column is sorted, as `aria-sort` has it."""
        if self.sort.removeprefix("-") != name:
            return "none"
        return "descending" if self.sort.startswith("-") else "ascending"
