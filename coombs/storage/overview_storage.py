"""Everybody in a study at once: what each did, and all questions and answers, in a few statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from coombs.storage import rows
from coombs.storage import stored_values as read
from coombs.storage.records import AnyQuestion, Event
from coombs.storage.stored_values import RowReading
from coombs.storage.study_storage import StudyStorage

_QUESTIONS_OF_EACH = (
    "SELECT respondents.id, COUNT(*), MIN(asked), MAX(asked) FROM respondents"
    " JOIN questions ON questions.respondent_id = respondents.id WHERE study_id = ? GROUP BY respondents.id"
)
"""How many questions were put to each, and when first and last."""
_EVENTS_OF_EACH = (
    "SELECT respondents.id, COUNT(*), MIN(told), MAX(told) FROM respondents"
    " JOIN events ON events.respondent_id = respondents.id WHERE study_id = ? GROUP BY respondents.id"
)
"""How many answers and undos each has, and when they were first and last."""
FEW = 500
"""People whose rows are asked for by their ids; of more, those of all are read."""


class Activity(NamedTuple):
    """What somebody did in a study.

    Parameters
    ----------
    n_questions : that were put to them
    n_events : answers, and answers taken back
    first, last : when they were asked or answered first and last

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import Activity
    >>> noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    >>> Activity(3, 2, noon, noon).n_questions
    3
    """

    n_questions: int
    n_events: int
    first: datetime
    last: datetime


class OverviewStorage(StudyStorage):
    """The part of a `Storage` that reads all people of a study together; one by one would take seconds."""

    def activity(self, study_id: int) -> dict[int, Activity]:
        """Return what everybody did so far, by the ids of the people who did anything.

        Parameters
        ----------
        study_id : of the study

        Returns
        -------
        dict of id to Activity

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> _ = study.tell((1, 0))
        >>> [one.n_events for one in study.storage.activity(study.record.id).values()]
        [1]
        """
        counts: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        times: defaultdict[int, list[Any]] = defaultdict(list)
        for place, select in enumerate((_QUESTIONS_OF_EACH, _EVENTS_OF_EACH)):
            for number, n, *span in self.database.rows(select, study_id):
                counts[number][place] = n
                with RowReading(f"Respondent {number!r}"):
                    times[number] += [read.moment(one, "a time") for one in span]
        return {one: Activity(n, m, min(times[one]), max(times[one])) for one, (n, m) in counts.items()}

    def everything(
        self, study_id: int, people: Collection[int] | None = None
    ) -> dict[int, tuple[list[AnyQuestion], list[Event]]]:
        """Return the questions and the events of some people of a study, or of all, in their order.

        Parameters
        ----------
        study_id : of the study
        people : their ids (default: all)

        Returns
        -------
        dict of id to questions and events; whoever has neither is not in it

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> _ = study.tell((1, 0))
        >>> [len(events) for _, events in study.storage.everything(study.record.id).values()]
        [1]
        """
        few = sorted(people) if people is not None and len(people) <= FEW else None
        select = "SELECT COALESCE(MAX(position), -1) FROM items WHERE study_id = ?"
        last_item = int(self.database.rows(select, study_id)[0][0])
        found: defaultdict[int, tuple[list[AnyQuestion], list[Event]]] = defaultdict(lambda: ([], []))
        for row in self._rows_of("questions", rows.ANY_QUESTION, study_id, few):
            found[row[1]][0].append(rows.question(row, last_item))
        for row in self._rows_of("events", rows.EVENT, study_id, few):
            found[row[1]][1].append(rows.event(row, last_item))
        return {one: both for one, both in found.items() if people is None or one in people}

    def _rows_of(self, table: str, columns: str, study_id: int, few: list[int] | None) -> list[rows.Row]:
        """The rows of a table that belong to a study's people, or to few of them."""
        select = (
            f"SELECT {rows.of(table, columns)} FROM respondents"
            f" JOIN {table} ON {table}.respondent_id = respondents.id WHERE respondents.study_id = ?"
        )
        if few is not None:
            select += f" AND respondents.id IN ({', '.join('?' * len(few)) or 'NULL'})"
        in_order = f"{select} ORDER BY {table}.respondent_id, {table}.id"
        return self.database.rows(in_order, study_id, *(few or ()))
