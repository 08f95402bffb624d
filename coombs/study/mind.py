"""What is believed of one respondent: the live draws, moved along with their answers."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coombs import questions
from coombs.solvers.belief import FEW, ROUNDS, Belief
from coombs.storage.records import AnswerRecord
from coombs.tables import FloatArray

KEPT = 12
"""Earlier beliefs that are kept, for undoing."""
CHUNK, MANY = 3, 16
"""Answers that are learned from at once after coming back, and from how many on all are."""
NEAR = 60
"""Items that may be among the best, at least."""
SEVERAL = 6
"""Points of the way here that are needed to say how far it still is."""
LATEST = 30
FARTHEST = 300


class Top(NamedTuple):
    """The likeliest best items by position, the probability that they are just these, the share that is."""

    positions: tuple[int, ...]
    probability: float
    share: float


class Mind:
    """Draws of what a respondent may want, given the answers that it was told."""

    def __init__(self, items: FloatArray, rung: str, seed: Sequence[int]) -> None:
        """About standardised items."""
        self.rng = np.random.default_rng(list(seed))
        self._told: list[int] = []
        self._before: list[Belief] = []
        self._way: dict[int, deque[tuple[int, float]]] = {}
        self.belief = Belief.prior(items, rung, None, self.rng)

    def hear(self, answers: Sequence[AnswerRecord], rounds: int = ROUNDS) -> None:
        """All answers that stand now: new ones are learned from, undone ones unlearned."""
        numbers = [answer.id for answer in answers]
        same = 0
        while same < min(len(numbers), len(self._told)) and numbers[same] == self._told[same]:
            same += 1
        undone = len(self._told) - same
        if undone > len(self._before):
            self._afresh(answers, rounds)
        else:
            for _ in range(undone):
                self.belief = self._before.pop()
            self._learn(answers[same:], rounds)
        self._told = numbers

    def _learn(self, answers: Sequence[AnswerRecord], rounds: int) -> None:
        """One by one, so that each can be undone; in chunks if there are more; all at once if many."""
        if len(answers) > FEW:
            self._before = []
            size = CHUNK if len(answers) <= MANY else len(answers)
            for begin in range(0, len(answers), size):
                chunk = oriented(answers[begin : begin + size])
                self.belief = self.belief.after(*chunk, self.rng, rounds)
            return
        for answer in answers:
            self._before = [*self._before, self.belief][-KEPT:]
            self.belief = self.belief.after(*oriented([answer]), self.rng, rounds)

    def _afresh(self, answers: Sequence[AnswerRecord], rounds: int) -> None:
        self._before = []
        self.belief = Belief.prior(self.belief.items, self.belief.rung, self.belief.lapse, self.rng)
        self._learn(answers, rounds)

    def top(self, k: int) -> Top:
        """The likeliest best k."""
        means = self.belief.mean_scores()
        near = np.argsort(means, kind="stable")[: max(NEAR, 3 * k)]
        sets = questions.top_sets(self.belief.scores(near)[0], k)
        right = sets[:k].sum(axis=0)
        probability = (float((right == k).sum()) + 0.5) / (len(right) + 1)
        return Top(tuple(near[:k].tolist()), probability, float(right.mean()) / k)

    def questions_left(self, k: int, probability: float, goal: float) -> int | None:
        """Until the probability of the best k reaches the goal, if its log odds go on as they did lately."""
        way, count = self._way.setdefault(k, deque(maxlen=LATEST)), len(self.belief.winners)
        odds = _log_odds(probability)
        if not way or way[-1][0] != count:
            way.append((count, odds))
        if odds >= _log_odds(goal):
            return 0
        if len(way) < SEVERAL:
            return None
        x, y = np.array(way).T
        slope = float(np.polyfit(x, y, 1)[0])
        needed = (_log_odds(goal) - odds) / slope if slope > 1e-4 else math.inf
        return max(1, math.ceil(needed)) if needed <= FARTHEST else None


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


def _log_odds(p: float) -> float:
    return math.log(p / (1 - p))
