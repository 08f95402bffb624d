"""What a respondent is asked: two items, or a set of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, TypeAlias


@dataclass(frozen=True)
class QuestionRecord:
    """Two items that a respondent was asked about, why, and what was expected.

    Parameters
    ----------
    id, respondent_id : numbers
    left, right : positions of the items
    purpose : a strategy's name, "probe", "confirmation" or "check"
    predicted : the probability of left, given the answers before it, or None
    progress : how far it was shown to be, from 0 to 1, or None
    asked : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import QuestionRecord
    >>> QuestionRecord(1, 1, 0, 1, "probe", 0.5, None, datetime(2026, 1, 31, tzinfo=UTC)).purpose
    'probe'
    """

    id: int
    respondent_id: int
    left: int
    right: int
    purpose: str
    predicted: float | None
    progress: float | None
    asked: datetime

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions of the items, in the order in which they were shown."""
        return self.left, self.right


@dataclass(frozen=True)
class SetQuestionRecord:
    """Three or more items of which a respondent was asked for the best and the worst.

    Parameters
    ----------
    id, respondent_id : numbers
    items : positions of the items, in the order in which they were shown
    purpose : as of a `QuestionRecord`
    chances : the probability of each to be the best, given the answers before, or None
    progress : how far it was shown to be, from 0 to 1, or None
    asked : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from coombs.storage import SetQuestionRecord
    >>> at = datetime(2026, 1, 31, tzinfo=UTC)
    >>> SetQuestionRecord(1, 1, (2, 0, 1), "probe", (0.5, 0.3, 0.2), None, at).positions
    (2, 0, 1)
    """

    id: int
    respondent_id: int
    items: tuple[int, ...]
    purpose: str
    chances: tuple[float, ...] | None
    progress: float | None
    asked: datetime

    predicted: ClassVar[None] = None

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions of the items, in the order in which they were shown."""
        return self.items


AnyQuestion: TypeAlias = QuestionRecord | SetQuestionRecord
"""A question about two items or more."""
