"""What a study gives out: frozen records in the user's names, which have the type they came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from coombs.data import naming, notebook
from coombs.data.orders import NONE
from coombs.language import Translatable
from coombs.storage.records import AnyAnswer, Choice, JudgementRecord, QuestionRecord
from coombs.terminal_text import terminal_safe

VAGUE = 0.2
"""Probabilities below this are not told: they go up and down by chance."""
MOST_PLACES = 6
"""Places of a ranking that are named in a line."""


@dataclass(frozen=True, repr=False)
class Question:
    """Two items by name and by position, and why they are asked about.

    Parameters
    ----------
    id : of the question
    respondent : who is asked
    left, right : the items' names
    positions : of the two
    purpose : a strategy's name, "probe" (a random pair, kept as a test), "confirmation" (its answer is
        foreseeable) or "check" (asked again on purpose)
    probability : that of left, as predicted before the answer; None where nothing was learned yet
    asked : when, in UTC

    Examples
    --------
    >>> from coombs import create_study
    >>> question = create_study([[0.0], [1.0], [2.0]], storage="memory:").ask()
    >>> question.respondent, len(question.positions)
    ('me', 2)
    """

    id: int
    respondent: str
    left: Any
    right: Any
    positions: tuple[int, int]
    purpose: str
    probability: float | None
    asked: datetime

    def __repr__(self) -> str:
        left, right, who = (
            terminal_safe(naming.text(one)) for one in (self.left, self.right, self.respondent)
        )
        return f"Question({self.id}: {left!r} or {right!r}? For {who!r}, {self.purpose})"

    def _repr_html_(self) -> str:
        """The two items as a table for notebooks."""
        rows = [[naming.text(self.left), naming.text(self.right)]]
        return notebook.table(repr(self), ["left", "right"], rows, 1, "question")


@dataclass(frozen=True)
class Answer:
    """What was said about two items, to a question or unasked; or about several, or of one by a rating.

    Parameters
    ----------
    id : of the answer
    respondent : who said it
    question : the question's id; None for an answer never asked for
    left, right : the items' names; None in other shapes than a pair
    positions : of the two, or of all items
    choice : "left", "right", "tie" or "skip"; None in other shapes than a pair
    weight : what the answer counts
    told : when, in UTC
    purpose, probability : those of the question
    shape : "pair", "choice", "best-worst", "ranking" or "rating"
    places : of other shapes than a pair, names of the items, the best place first, as `Judgement` has them;
        None is none of these
    rating : of a rating

    Examples
    --------
    >>> from coombs import create_study
    >>> answer = create_study([[0.0], [1.0]], storage="memory:").tell((1, 0))
    >>> answer.choice, answer.winner
    ('left', '1')
    """

    id: int
    respondent: str
    question: int | None
    left: Any
    right: Any
    positions: tuple[int, ...]
    choice: Choice | None
    weight: float
    told: datetime
    purpose: str | None = None
    probability: float | None = None
    shape: str = "pair"
    places: tuple[tuple[Any, ...], ...] = ()
    rating: float | None = None

    @property
    def winner(self) -> Any:
        """The item that was preferred to all others; None for a tie, a skip or a rating."""
        if self.shape == "pair":
            return {"left": self.left, "right": self.right}.get(self.choice or "")
        return self.places[0][0] if self.rating is None and len(self.places[0]) == 1 else None

    @property
    def is_clear(self) -> bool:
        """Whether it prefers an item to another, or rates one."""
        return self.winner is not None or (
            self.shape != "pair" and (len(self.places), self.rating) != (1, None)
        )

    @property
    def text(self) -> str:
        """What was said, in a line."""
        if self.shape == "pair":
            return self._pair_text()
        names = [[naming.text("none" if one is None else one) for one in place] for place in self.places]
        count = len(self.positions)
        if self.rating is not None:
            return f"{names[0][0]} rated {self.rating:g}"
        if self.shape == "best-worst":
            return f"{names[0][0]} best, {names[-1][0]} worst of {count}"
        if self.shape == "choice":
            chosen = ", then ".join(" and ".join(place) for place in names[: max(len(names) - 1, 1)])
            return f"{chosen} chosen of {count}"
        more = f" and {len(names) - MOST_PLACES} more" if len(names) > MOST_PLACES else ""
        return " > ".join(" = ".join(place) for place in names[:MOST_PLACES]) + more

    def _pair_text(self) -> str:
        left, right = naming.text(self.left), naming.text(self.right)
        if self.choice == "skip":
            return f"no answer about {left} and {right}"
        if self.choice == "tie":
            return f"{left} and {right} alike"
        return f"{left} over {right}" if self.choice == "left" else f"{right} over {left}"


def answer_of(
    record: AnyAnswer, respondent: str, names: Sequence[Any], question: QuestionRecord | None
) -> Answer:
    """A stored answer in the user's names."""
    about = record.id, respondent, record.question_id
    if isinstance(record, JudgementRecord):
        said = record.judgement
        places = tuple(tuple(None if i == NONE else names[i] for i in place) for place in said.places)
        return Answer(
            *about,
            left=None,
            right=None,
            positions=said.items,
            choice=None,
            weight=record.weight,
            told=record.told,
            shape=said.shape,
            places=places,
            rating=said.rating,
        )
    pair = names[record.left], names[record.right], (record.left, record.right)
    why = () if question is None else (question.purpose, question.predicted)
    return Answer(*about, *pair, record.choice, record.weight, record.told, *why)


@dataclass(frozen=True)
class StudyProgress:
    """How much is known, and how much another question would tell.

    Parameters
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
    n_answered : questions that have an answer, skips counted
    n_questions : that everybody gets, where the study has a fixed number of them; None otherwise

    Examples
    --------
    >>> from coombs.study import StudyProgress
    >>> print(StudyProgress(9, ("tea",), 0.5, 0.5, 0.3, 4, 0.8))
    top 1 is 50 % certain, about 4 more
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
    n_answered: int = 0
    n_questions: int | None = None

    @property
    def far(self) -> float:
        """The former name of `fraction`."""
        return self.fraction

    @property
    def text(self) -> str:
        """How far it is, in a few words."""
        if self.n_questions is not None:
            return Translatable(
                "{answered} of {n} question|{answered} of {n} questions",
                answered=self.n_answered,
                n=self.n_questions,
            )
        if not self.top:
            reading = Translatable("reading your {n} answer|reading your {n} answers", n=self.n_answers)
            return reading if self.n_answers else Translatable("nothing is certain yet")
        left: dict[str, Any] = {"k": len(self.top), "left": self.questions_left}
        if self.probability < VAGUE:
            vague = Translatable("top {k} is not certain yet, about {left} more", **left)
            return vague if self.questions_left else Translatable("top {k} is not certain yet", **left)
        left["sure"] = f"{100 * self.probability:.0f} %"
        said = Translatable("top {k} is {sure} certain, about {left} more", **left)
        return said if self.questions_left else Translatable("top {k} is {sure} certain", **left)

    def __str__(self) -> str:
        return self.text
