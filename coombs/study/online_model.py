"""The online model of one respondent: draws of what they may want, updated as answers come in."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs import questions, set_questions
from coombs.data.directions import Directions
from coombs.data.tables import NO_LEVELS, FloatArray, Levels
from coombs.inference.averaged_belief import AveragedBelief
from coombs.inference.belief import Belief
from coombs.inference.people.people_prior import ItemsPrior
from coombs.inference.population_belief import PopulationBelief
from coombs.inference.score_belief import ScoreBelief
from coombs.storage.judgement import RATING
from coombs.storage.records import AnyAnswer, JudgementRecord
from coombs.study.current_items import CurrentItems
from coombs.study.judgements import live_rows, n_choices
from coombs.study.study_records import VAGUE

KEPT = 3
"""Earlier states that are kept, so that undone answers cost little."""
CHUNK = 3
"""Answers that are learned from at once: a state is kept after each chunk."""
ALL_AT_ONCE = 16
"""With more new answers than this, all of them are one chunk."""
AHEAD = 4
"""Questions that are chosen at once, in case the next is wanted before the model has learned again."""
SETS_AHEAD = 2
"""Sets that are chosen at once: fewer than pairs, as they take longer to choose."""
NEAR = 60
"""Items that may be among the best, at least."""
BASE_QUESTIONS = 10
"""Questions that a goal is first guessed to take, whatever the features."""
QUESTIONS_PER_FEATURE = 10
"""Questions that each feature adds to that guess."""
CORRECTION = 0.1
"""Share of the difference to the present estimate by which an answer corrects the total."""
MORE_IF_WRONG = 4.0
"""Questions still to come for each answer so far, if all of the top were wrong."""
MORE_IF_UNSURE = 1.2
"""Questions still to come for each answer so far, if nothing of the top were certain."""
LEAST_PER_FEATURE = 2
"""Answers for each feature before anything counts as certain."""
QUESTIONS_PER_ITEM = 2
"""Questions that a goal is first guessed to take for each item, where items have no features."""
LEAST_PER_ITEM = 0.5
"""Answers for each item without features before anything counts as certain: each compared once."""

AnyBelief: TypeAlias = Belief | PopulationBelief
"""By the respondent's own answers, or also by those of others."""


class Top(NamedTuple):
    """The likeliest best items by position, the probability that they are just these, the share that is."""

    positions: tuple[int, ...]
    probability: float
    share: float


@dataclass(frozen=True)
class Snapshot:
    """What the model says at one moment: the questions to ask next, best first, and the best items.

    `n_heard` are the answers behind it; a tie is two halves, and a ranking of ten nine choices. `current` are
    the items that were asked about then; `confirmations` are pairs that test what was learned.
    """

    belief: AnyBelief
    choices: tuple[questions.Choice, ...]
    n_heard: int
    current: CurrentItems
    sets: tuple[set_questions.SetChoice, ...] = ()
    confirmations: tuple[questions.Choice, ...] = ()
    _tops: dict[int, Top] = field(default_factory=dict)

    def gain(self, items: tuple[int, ...]) -> float:
        """What the answer to a question would tell, in bits."""
        pairs = (*self.choices, *self.confirmations)
        about: list[tuple[set[int], float]] = [({one.first, one.second}, one.gain) for one in pairs]
        about += [(set(one.items), one.gain) for one in self.sets]
        for known, gain in about:
            if known == set(items):
                return gain
        if len(items) > 2:
            return set_questions.describe(self.belief, [items])[0].gain
        return float(questions.information(self.belief, np.array([items]))[0][0])

    def order(self, belief: AnyBelief | None = None) -> NDArray[np.intp]:
        """Positions of the items that are asked about, the likeliest best first; also by another belief."""
        current = np.array(self.current.positions, dtype=np.intp)
        means = (belief or self.belief).mean_scores()[current]
        return current[np.argsort(means, kind="stable")]

    def top(self, k: int) -> Top:
        """The likeliest best k items."""
        if k not in self._tops:
            self._tops[k] = self._top(k)
        return self._tops[k]

    def _top(self, k: int) -> Top:
        near = self.order()[: max(NEAR, 3 * k)]
        sets = questions.top_sets(self.belief.scores(near)[0], k)
        right = sets[:k].sum(axis=0)
        probability = (float((right == k).sum()) + 0.5) / (len(right) + 1)
        return Top(tuple(near[:k].tolist()), probability, float(right.mean()) / k)


class ModelState(NamedTuple):
    """What was learned, and from which answers (their ids, in order), which are made of so many choices."""

    belief: AnyBelief
    answer_ids: tuple[int, ...] = ()
    n_heard: int = 0

    def light(self) -> ModelState:
        """This state without what all people's models share, to be sent to another process."""
        return self._replace(belief=self.belief.light())

    def whole(self, like: AnyBelief) -> ModelState:
        """This state with what all people's models share, taken from `like`."""
        return self._replace(belief=self.belief.whole(like))


class UpdateTask(NamedTuple):
    """All that learning depends on: a state, what is new, what to choose, and the seed."""

    state: ModelState
    new: tuple[AnyAnswer, ...]
    asked: Collection[tuple[int, int]]
    strategy: str
    k: int
    seed: tuple[int, ...]
    current: CurrentItems
    set_size: int = 2
    asked_sets: Collection[frozenset[int]] = ()


class ModelUpdate(NamedTuple):
    """The states after each chunk of new answers, and a snapshot of the last."""

    states: tuple[ModelState, ...]
    snapshot: Snapshot

    def light(self) -> ModelUpdate:
        """This update without what all people's models share."""
        return ModelUpdate(
            tuple(state.light() for state in self.states),
            replace(self.snapshot, belief=self.snapshot.belief.light()),
        )

    def whole(self, like: AnyBelief) -> ModelUpdate:
        """This update with what all people's models share, taken from `like`."""
        states = tuple(state.whole(like) for state in self.states)
        return ModelUpdate(states, replace(self.snapshot, belief=self.snapshot.belief.whole(like)))


Learn = Callable[[UpdateTask], ModelUpdate]
"""`learn`, here or in another process."""


def learn(task: UpdateTask) -> ModelUpdate:
    """Learn from new answers and choose the next questions; the same task always gives the same."""
    belief, ids, heard = task.state
    rng = np.random.default_rng([*task.seed, len(ids) + len(task.new)])
    # Other shapes than pairs come many at a time, and take longer; ratings say something only together.
    at_once = len(task.new) > ALL_AT_ONCE or any(isinstance(one, JudgementRecord) for one in task.new)
    size, states = len(task.new) if at_once else CHUNK, []
    for begin in range(0, len(task.new), size):
        chunk = task.new[begin : begin + size]
        rows = live_rows(chunk, len(belief.items))
        belief, ids = belief.after(rows, rng), (*ids, *(answer.id for answer in chunk))
        heard += sum(map(n_choices, chunk))
        states.append(ModelState(belief, ids, heard))
    choices, sets = _next_questions(task, belief, rng)
    snapshot = Snapshot(belief, choices, heard, task.current, sets, _confirmations(task, belief, rng))
    snapshot.top(task.k)
    return ModelUpdate(tuple(states), snapshot)


def _next_questions(
    task: UpdateTask, belief: AnyBelief, rng: np.random.Generator
) -> tuple[tuple[questions.Choice, ...], tuple[set_questions.SetChoice, ...]]:
    """Pairs, or sets, as the study asks."""
    current, k = task.current, task.k
    votes, n = current.votes(belief), len(current)
    if task.set_size > 2:
        known = frozenset(current.sets(task.asked_sets))
        chosen = set_questions.choose_sets(votes, task.strategy, n, task.set_size, known, rng, k, SETS_AHEAD)
        return (), tuple(map(current.set_choice, chosen))
    pairs = questions.choose(votes, task.strategy, n, current.pairs(task.asked), rng, k, AHEAD)
    return tuple(map(current.choice, pairs)), ()


def _confirmations(
    task: UpdateTask, belief: AnyBelief, rng: np.random.Generator
) -> tuple[questions.Choice, ...]:
    """Pairs that test what was learned, where questions are chosen by it."""
    if task.set_size > 2 or task.strategy == "random":
        return ()
    current = task.current
    known = current.votes(belief), len(current), current.pairs(task.asked)
    return tuple(map(current.choice, questions.confirmations(*known, rng, AHEAD)))


def _is_rating(answer: AnyAnswer) -> bool:
    return isinstance(answer, JudgementRecord) and answer.judgement.shape == RATING


class OnlineModel:
    """The states of one respondent's model; `learn` may do its work elsewhere."""

    def __init__(
        self,
        items: FloatArray,
        metric: str,
        seed: Sequence[int],
        learn: Learn = learn,
        levels: Levels = NO_LEVELS,
        directions: Directions | None = None,
        people: ItemsPrior | None = None,
    ) -> None:
        """About standardised items; `people` is what others' answers tell before the first of this one."""
        self._seed, self._learn = tuple(seed), learn
        kind, name = (AveragedBelief, "full") if metric == "auto" else (Belief, metric)
        kind = kind if items.shape[1] else ScoreBelief
        rng = np.random.default_rng(self._seed)
        own = kind.prior(items, name, rng, levels, directions)
        self._prior = ModelState(own if people is None else PopulationBelief.prior(own, people))
        self._states = [self._prior]

    def update(
        self,
        answers: Sequence[AnyAnswer],
        asked: Collection[tuple[int, int]],
        strategy: str,
        k: int,
        set_size: int = 2,
        asked_sets: Collection[frozenset[int]] = (),
        current: CurrentItems | None = None,
    ) -> Snapshot:
        """What to ask next, and which k items are the best, given all answers that stand now."""
        ids = tuple(answer.id for answer in answers)
        # Undone answers are unlearned: back to the latest state without them.
        self._states = [one for one in self._states if one.answer_ids == ids[: len(one.answer_ids)]]
        state = self._states[-1] if self._states else self._prior
        new = tuple(answers[len(state.answer_ids) :])
        if any(map(_is_rating, new)):
            state, new = self._prior, tuple(answers)
        n = len(self._prior.belief.items)
        among = CurrentItems(range(n), n) if current is None else current
        task = UpdateTask(state, new, asked, strategy, k, self._seed, among, set_size, asked_sets)
        learned = self._learn(task)
        self._states = [*self._states, *learned.states][-1 - KEPT :]
        return learned.snapshot


class RemainingQuestions:
    """An estimate of the questions until a goal: a guess at first, which each answer corrects a little."""

    def __init__(self, n_features: int, n_items: int) -> None:
        self._guess = float(BASE_QUESTIONS + QUESTIONS_PER_FEATURE * n_features)
        self._least = LEAST_PER_FEATURE * n_features
        if not n_features:
            self._guess = float(BASE_QUESTIONS + QUESTIONS_PER_ITEM * n_items)
            self._least = math.ceil(LEAST_PER_ITEM * n_items)
        self._restart()

    def _restart(self) -> None:
        self._count, self._total, self._progress, self.reached = 0, self._guess, 0.0, False

    def update(self, count: int, top: Top, goal: float) -> tuple[int, float]:
        """Questions until the probability of the top reaches the goal, and the progress, from 0 to 1.

        Progress never goes back, nor is a goal that was reached lost again, unless answers are undone.
        """
        if count < self._count:
            self._restart()
        for _ in range(self._count, count):
            # The first answers say little about how many it takes.
            correction = CORRECTION * min(1.0, count / self._guess)
            self._total += correction * (_in_all(count, top, goal) - self._total)
        self._count = count
        left = max(1, math.ceil(self._total - count), self._least - count)
        if top.probability >= goal and count >= self._least:
            left, self.reached = 0, True
        self._progress = max(self._progress, count / (count + left) if count else 0.0)
        return left, self._progress


def _in_all(count: int, top: Top, goal: float) -> float:
    """Questions that it takes in all, by rules of thumb from simulated people."""
    if top.probability < VAGUE:
        return count * (1 + MORE_IF_WRONG * (1 - top.share))
    return count * (1 + MORE_IF_UNSURE * max(0.0, 1 - top.probability / goal))
