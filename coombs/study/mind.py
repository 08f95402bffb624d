"""What is believed of one respondent: the live draws, moved along with their answers, and what they say."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from coombs import questions
from coombs.data.tables import FloatArray
from coombs.inference.belief import Belief
from coombs.inference.live import AveragedBelief
from coombs.storage.records import AnswerRecord
from coombs.study.ask_tell import VAGUE

KEPT = 6
"""Earlier beliefs that are kept, for undoing."""
CHUNK, MANY = 3, 16
"""Answers that are learned from at once, and from how many new ones on all are."""
AHEAD = 4
"""Questions that are chosen at once, in case the next is wanted before its turn to be chosen comes."""
NEAR = 60
"""Items that may be among the best, at least."""
AT_LEAST, FOR_EACH, TRUST = 10, 10, 0.1
"""Questions that a goal is guessed to take, for each feature and besides; what an answer corrects of that."""
FOR_WRONG, FOR_UNSURE = 4.0, 1.2
"""Questions still to come for each answer, if all of the top were wrong, and if it were all unsure."""
LEAST = 2
"""Answers for each feature before anything counts as certain."""


class Top(NamedTuple):
    """The likeliest best items by position, the probability that they are just these, the share that is."""

    positions: tuple[int, ...]
    probability: float
    share: float


@dataclass(frozen=True)
class Thought:
    """What a belief comes to: the questions to ask next, best first, and the best items."""

    belief: Belief
    choices: tuple[questions.Choice, ...]
    _tops: dict[int, Top] = field(default_factory=dict)

    @property
    def n_heard(self) -> int:
        """Answers behind it; a tie is two halves."""
        return len(self.belief.winners)

    def gain(self, left: int, right: int) -> float:
        """What the answer to a question would tell, in bits."""
        for one in self.choices:
            if {left, right} == {one.first, one.second}:
                return one.gain
        return float(questions.information(self.belief, np.array([[left, right]]))[0][0])

    def top(self, k: int) -> Top:
        """The likeliest best k."""
        if k not in self._tops:
            self._tops[k] = self._top(k)
        return self._tops[k]

    def _top(self, k: int) -> Top:
        means = self.belief.mean_scores()
        near = np.argsort(means, kind="stable")[: max(NEAR, 3 * k)]
        sets = questions.top_sets(self.belief.scores(near)[0], k)
        right = sets[:k].sum(axis=0)
        probability = (float((right == k).sum()) + 0.5) / (len(right) + 1)
        return Top(tuple(near[:k].tolist()), probability, float(right.mean()) / k)


class Thinking(Protocol):
    """A mind, here or elsewhere."""

    def think(
        self, answers: Sequence[AnswerRecord], asked: Collection[tuple[int, int]], strategy: str, k: int
    ) -> Thought:
        """What to ask next, and which k items are the best, given all answers that stand now."""


class Mind:
    """Draws of what a respondent may want, given the answers that it was told."""

    def __init__(self, items: FloatArray, metric: str, seed: Sequence[int]) -> None:
        """About standardised items."""
        self.rng = np.random.default_rng(list(seed))
        self._told: list[int] = []
        self._kept: list[tuple[int, Belief]] = []
        kind = AveragedBelief if metric == "auto" else Belief
        self.belief: Belief = kind.prior(items, "full" if metric == "auto" else metric, None, self.rng)

    def think(
        self, answers: Sequence[AnswerRecord], asked: Collection[tuple[int, int]], strategy: str, k: int
    ) -> Thought:
        """What to ask next, and which k items are the best, given all answers that stand now."""
        self._hear(answers)
        n_items = len(self.belief.items)
        choices = questions.choose(self.belief, strategy, n_items, asked, self.rng, k, AHEAD)
        thought = Thought(self.belief, choices)
        thought.top(k)
        return thought

    def _hear(self, answers: Sequence[AnswerRecord]) -> None:
        """New answers are learned from, undone ones unlearned."""
        numbers, same = [answer.id for answer in answers], 0
        while same < min(len(numbers), len(self._told)) and numbers[same] == self._told[same]:
            same += 1
        self._return_to(same)
        self._learn(answers[len(self._told) :])

    def _return_to(self, count: int) -> None:
        """The latest belief that is kept of the first so many answers, or fewer."""
        if count == len(self._told):
            return
        while self._kept and self._kept[-1][0] > count:
            self._kept.pop()
        if self._kept:
            known, self.belief = self._kept.pop()
        else:
            known, self.belief = (
                0,
                self.belief.prior(self.belief.items, self.belief.metric, self.belief.lapse, self.rng),
            )
        self._told = self._told[:known]

    def _learn(self, answers: Sequence[AnswerRecord]) -> None:
        """A few at a time, so that they can be undone; all at once if there are many."""
        size = CHUNK if len(answers) <= MANY else len(answers)
        for begin in range(0, len(answers), size):
            chunk = answers[begin : begin + size]
            self._kept = [*self._kept, (len(self._told), self.belief)][-KEPT:]
            self.belief = self.belief.after(*oriented(chunk), self.rng)
            self._told = [*self._told, *(answer.id for answer in chunk)]


class Way:
    """How far it is to a goal: a guess at first, which what is seen on the way corrects little by little."""

    def __init__(self, n_features: int) -> None:
        self._guess = float(AT_LEAST + FOR_EACH * n_features)
        self._least = LEAST * n_features
        self._restart()

    def _restart(self) -> None:
        self._count, self._total, self._far, self.reached = 0, self._guess, 0.0, False

    def step(self, count: int, top: Top, goal: float) -> tuple[int, float]:
        """Questions until the probability of the top reaches the goal, and how far it is, from 0 to 1.

        How far never goes back, nor is a goal that was reached lost again, unless answers are undone.
        """
        if count < self._count:
            self._restart()
        for _ in range(self._count, count):
            # Of the first answers there is little to see.
            trust = TRUST * min(1.0, count / self._guess)
            self._total += trust * (_in_all(count, top, goal) - self._total)
        self._count = count
        left = max(1, math.ceil(self._total - count), self._least - count)
        if top.probability >= goal and count >= self._least:
            left, self.reached = 0, True
        self._far = max(self._far, count / (count + left) if count else 0.0)
        return left, self._far


def _in_all(count: int, top: Top, goal: float) -> float:
    """Questions that it takes in all, by rules of thumb that simulated people gave."""
    if top.probability < VAGUE:
        return count * (1 + FOR_WRONG * (1 - top.share))
    return count * (1 + FOR_UNSURE * max(0.0, 1 - top.probability / goal))


def oriented(
    answers: Sequence[AnswerRecord],
) -> tuple[questions.Index, questions.Index, FloatArray]:
    """Winners, losers and weights; a tie counts half each way, a skip or a weight of zero not at all."""
    rows: list[tuple[int, int, float]] = []
    for answer in answers:
        left, right, weight = answer.left, answer.right, answer.weight
        if not weight:
            continue
        if answer.choice == "tie":
            rows += [(left, right, weight / 2), (right, left, weight / 2)]
        elif answer.choice != "skip":
            rows.append((left, right, weight) if answer.choice == "left" else (right, left, weight))
    table = np.array(rows).reshape(-1, 3)
    return table[:, 0].astype(np.intp), table[:, 1].astype(np.intp), table[:, 2]
