"""What a study gives out: frozen records in the user's names, which have the type they came in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from coombs.storage.records import Choice
from coombs.words import count

VAGUE = 0.2
"""Probabilities below this are not told: they go up and down by chance."""


@dataclass(frozen=True)
class Question:
    """Two items by name and by position, and why they are asked about.

    `purpose` is a strategy's name, "probe" (a random pair, kept as a test) or "check" (asked again on
    purpose); `probability` is that of left, as predicted before the answer.
    """

    id: int
    respondent: str
    left: Any
    right: Any
    positions: tuple[int, int]
    purpose: str
    probability: float | None
    asked: datetime


@dataclass(frozen=True)
class Answer:
    """What was said about two items, to a question (its id) or unasked (None)."""

    id: int
    respondent: str
    question: int | None
    left: Any
    right: Any
    positions: tuple[int, int]
    choice: Choice
    weight: float
    told: datetime
    purpose: str | None = None
    probability: float | None = None

    @property
    def winner(self) -> Any:
        """The item that was preferred; None for a tie or a skip."""
        return {"left": self.left, "right": self.right}.get(self.choice)


@dataclass(frozen=True)
class StudyProgress:
    """How much is known, and how much another question would tell.

    Attributes
    ----------
    n_answers : standing answers, skips not counted
    top : the k items that are most likely the best, best first; none while nothing was learned yet
    probability : that the best k are just these
    share : of these that are among the best k, on average
    gain : what the answer to the next question tells, in bits; 0 where there is nothing left to ask
    questions_left : about so many more until `probability` reaches the goal: by rule of thumb at first, by
        how it went so far later; None while nothing was learned yet
    goal : that probability
    fraction : of the way to the goal, from 0 to 1; it never goes back, unless answers are undone. It is
        stored with each question, so that all processes show the same
    reached : whether the goal was reached, now or at an earlier answer
    """

    n_answers: int
    top: tuple[Any, ...]
    probability: float
    share: float
    gain: float
    questions_left: int | None
    goal: float
    fraction: float = 0.0
    reached: bool = False

    @property
    def far(self) -> float:
        """The former name of `fraction`."""
        return self.fraction

    def __str__(self) -> str:
        if not self.top:
            read = f"reading your {count(self.n_answers, 'answer')}"
            return read if self.n_answers else "nothing is certain yet"
        left = f", about {self.questions_left} more" if self.questions_left else ""
        certain = (
            f"{100 * self.probability:.0f} % certain" if self.probability >= VAGUE else "not certain yet"
        )
        return f"top {len(self.top)} is {certain}{left}"
