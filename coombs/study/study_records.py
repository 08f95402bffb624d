"""What a study gives out: frozen records in the user's names, which have the type they came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from coombs.data import naming, notebook
from coombs.data.orders import NONE
from coombs.language import Translatable
from coombs.storage.records import (
    AnswerRecord,
    AnyAnswer,
    AnyQuestion,
    Choice,
    JudgementRecord,
    QuestionRecord,
    SetQuestionRecord,
)
from coombs.terminal_text import terminal_safe
from coombs.words import listed

ATTENTION = "attention"
"""The purpose of a question with a known right answer; its prediction is 1 where that is left, else 0."""
REPEAT = "repeat"
"""The purpose of a question that was asked before, the sides swapped."""
VAGUE = 0.2
"""Probabilities below this are not told: they go up and down by chance."""
MOST_PLACES = 6
"""Places of a ranking that are named in a line."""


@dataclass(frozen=True, repr=False)
class Question:
    """Two items by name and by position, or a set of them, and why they are asked about.

    Parameters
    ----------
    id : of the question
    respondent : who is asked
    left, right : the items' names; None for a set
    positions : of the items, in the order in which they are shown
    purpose : a strategy's name, "probe" (a random pair or set, kept as a test), "confirmation" (its answer is
        predictable), "check" (asked again on purpose), "fixed" (the same for all), "repeat" (an earlier
        question, turned around) or "attention" (its right answer is known, and nothing is learned from it)
    probability : that of left, as predicted before the answer; None where nothing was learned yet, and for a
        set
    asked : when, in UTC
    names : of the items, in the order of `positions`
    chances : of a set, the probability of each to be the best, as predicted before the answer, or None

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
    positions: tuple[int, ...]
    purpose: str
    probability: float | None
    asked: datetime
    names: tuple[Any, ...] = ()
    chances: tuple[float, ...] | None = None

    @property
    def items(self) -> tuple[int, ...]:
        """Positions of the items, the same as `positions`."""
        return self.positions

    @property
    def is_set(self) -> bool:
        """Whether the best and the worst of three items or more are asked for."""
        return len(self.positions) > 2

    def __repr__(self) -> str:
        called = self.names or (self.left, self.right)
        names = [repr(terminal_safe(naming.text(one))) for one in called]
        which = f"best and worst of {', '.join(names)}?" if self.is_set else f"{' or '.join(names)}?"
        return f"Question({self.id}: {which} For {terminal_safe(self.respondent)!r}, {self.purpose})"

    def _repr_html_(self) -> str:
        """The items as a table for notebooks."""
        titles = [str(i) for i in range(1, len(self.names) + 1)] if self.is_set else ["left", "right"]
        rows = [[naming.text(one) for one in self.names or (self.left, self.right)]]
        return notebook.table(repr(self), titles, rows, 1, "question")


def question_of(record: AnyQuestion, respondent: str, names: Sequence[Any]) -> Question:
    """A stored question in the user's names."""
    called = tuple(names[i] for i in record.positions)
    left, right = called if isinstance(record, QuestionRecord) else (None, None)
    chances = record.chances if isinstance(record, SetQuestionRecord) else None
    why = record.purpose, record.predicted, record.asked
    return Question(record.id, respondent, left, right, record.positions, *why, called, chances)


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
    shape : "pair", "choice", "best-worst", "ranking" or "rating"; a set that was skipped is a "best-worst"
        without places
    places : of other shapes than a pair, names of the items, the best place first, as `Judgement` has them;
        None is none of these
    rating : of a rating
    names : of all items, in the order of `positions`

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
    names: tuple[Any, ...] = ()

    @property
    def winner(self) -> Any:
        """The item that was preferred to all others; None for a tie, a skip or a rating."""
        if self.shape == "pair":
            return {"left": self.left, "right": self.right}.get(self.choice or "")
        if not self.places or self.rating is not None:
            return None
        return self.places[0][0] if len(self.places[0]) == 1 else None

    @property
    def worst(self) -> Any:
        """The item that was said to be the worst; None in other shapes than a best and worst."""
        return self.places[-1][0] if self.shape == "best-worst" and self.places else None

    @property
    def is_learned_from(self) -> bool:
        """Whether it counts: neither a skip nor an answer to an attention check."""
        return self.choice != "skip" and self.purpose != ATTENTION

    @property
    def is_clear(self) -> bool:
        """Whether it prefers an item to another, or rates one."""
        return self.winner is not None or (
            self.shape != "pair" and bool(self.places) and (len(self.places), self.rating) != (1, None)
        )

    @property
    def text(self) -> str:
        """What was said, in a line."""
        if self.shape == "pair":
            return self._pair_text()
        if not self.places:
            about = listed([naming.text(one) for one in self.names])
            return Translatable("no answer about {items}", items=about)
        names = [[naming.text("none" if one is None else one) for one in place] for place in self.places]
        count = len(self.positions)
        if self.rating is not None:
            return Translatable("{item} rated {rating}", item=names[0][0], rating=f"{self.rating:g}")
        if self.shape == "best-worst":
            best, worst = names[0][0], names[-1][0]
            return Translatable("{best} best, {worst} worst of {total}", best=best, worst=worst, total=count)
        if self.shape == "choice":
            chosen, *rest = (listed(place) for place in names[: max(len(names) - 1, 1)])
            for place in rest:
                chosen = Translatable("{first}, then {last}", first=chosen, last=place)
            return Translatable("{items} chosen of {total}", items=chosen, total=count)
        order = " > ".join(" = ".join(place) for place in names[:MOST_PLACES])
        more = len(names) - MOST_PLACES
        return order if more <= 0 else Translatable("{first} and {n} more", first=order, n=more)

    def _pair_text(self) -> str:
        left, right = naming.text(self.left), naming.text(self.right)
        if self.choice == "skip":
            return Translatable("no answer about {items}", items=listed([left, right]))
        if self.choice == "tie":
            return Translatable("{first} and {second} alike", first=left, second=right)
        winner, loser = (left, right) if self.choice == "left" else (right, left)
        return Translatable("{winner} over {loser}", winner=winner, loser=loser)


def answer_of(
    record: AnyAnswer, respondent: str, names: Sequence[Any], question: AnyQuestion | None
) -> Answer:
    """A stored answer in the user's names."""
    about = record.id, respondent, record.question_id
    why = () if question is None else (question.purpose, question.predicted)
    if isinstance(record, AnswerRecord):
        called, pair = (names[record.left], names[record.right]), (record.left, record.right)
        made = Answer(*about, *called, pair, record.choice, record.weight, record.told, *why)
        return replace(made, names=called)
    said = record.judgement if isinstance(record, JudgementRecord) else None
    items = said.items if said is not None else () if question is None else question.positions
    places = () if said is None else said.places
    return Answer(
        *about,
        left=None,
        right=None,
        positions=items,
        choice=record.choice,
        weight=record.weight,
        told=record.told,
        purpose=None if question is None else question.purpose,
        shape="best-worst" if said is None else said.shape,
        places=tuple(tuple(None if i == NONE else names[i] for i in place) for place in places),
        rating=None if said is None else said.rating,
        names=tuple(names[i] for i in items),
    )


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
    questions_left : until the study's number of questions, where it has one; otherwise a rule of thumb for
        those until `probability` reaches the goal, which is often far too low; 0 once it is reached, None
        while nothing was learned yet
    goal : that probability
    fraction : of the way to the goal, from 0 to 1; it never goes back, unless answers are undone. It is
        stored with each question, so that all processes show the same
    reached : whether the goal was reached, now or at an earlier answer
    n_answered : questions that have an answer, skips counted
    n_questions : that everybody gets, where the study has a fixed number of them; None otherwise. Of
        whoever is done, those that they answered, also where the study asks others more by now
    at_most : no more questions than these are left, where the study has a most, or none but fixed questions

    Examples
    --------
    >>> from coombs.study import StudyProgress
    >>> print(StudyProgress(9, ("tea",), 0.5, 0.5, 0.3, 4, 0.8))
    top 1 is 50 % certain
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
    at_most: int | None = None

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
        said = Translatable("top {k} is not certain yet", k=len(self.top))
        if self.probability >= VAGUE:
            sure = f"{100 * self.probability:.0f} %"
            said = Translatable("top {k} is {sure} certain", k=len(self.top), sure=sure)
        if not self.at_most:
            # How many it takes to be certain is not known well enough to be told to anybody (docs/study.md).
            return said
        return Translatable("{said}, {n} more at most|{said}, {n} more at most", said=said, n=self.at_most)

    def __str__(self) -> str:
        return self.text
