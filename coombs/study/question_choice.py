"""Which new question a respondent is asked, and why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from coombs import questions, set_questions
from coombs.questions import Choice
from coombs.set_questions import SetChoice
from coombs.study.current_items import CurrentItems
from coombs.study.history import History, unordered
from coombs.study.online_model import AnyBelief, Snapshot
from coombs.study.question_plan import Planned, balanced_sides
from coombs.study.settings import FIXED, Settings


class NewQuestion(NamedTuple):
    """Items by position, why they are asked about, and what is predicted, if it is known.

    `predicted` is the probability of left, `chances` are those of each of a set to be the best; `again` says
    that it may have been asked before.
    """

    positions: tuple[int, ...]
    purpose: str
    predicted: float | None = None
    chances: tuple[float, ...] | None = None
    again: bool = False


def new_question(
    settings: Settings,
    current: CurrentItems,
    history: History,
    snapshot: Snapshot | None,
    rng: np.random.Generator,
    again: bool = True,
) -> NewQuestion | None:
    """A question that was not asked, if there is one.

    Where the snapshot names no new one, choose `again`, or take a random one.
    """
    if settings.strategy == FIXED:
        return None
    size, goal = min(settings.set_size, len(current)), settings.goal(len(current))
    source = (_Sets if size > 2 else _Pairs)(current, size, goal[0], history, rng)
    if snapshot is None:
        return source.at_random()
    new, probe = source.ahead(snapshot), rng.random() < settings.probes
    if not probe and _needs_confirmation(settings, history):
        sure = source.confirmation(snapshot)
        if sure is not None:
            return sure
    at_random = probe or (new is None and not again)
    strategy = "random" if at_random else settings.strategy
    if at_random or new is None:
        new = source.chosen(snapshot.belief, strategy)
    return None if new is None else new._replace(purpose="probe" if probe else strategy)


def planned_question(
    planned: Planned, history: History, snapshot: Snapshot | None, rng: np.random.Generator
) -> NewQuestion:
    """A question of the study's plan, with what is predicted of it."""
    positions, purpose, predicted = planned
    if len(positions) > 2:
        order = positions if purpose != FIXED else tuple(rng.permutation(positions).tolist())
        known = () if snapshot is None else set_questions.describe(snapshot.belief, [order])
        return NewQuestion(order, purpose, chances=known[0].chances if known else None, again=True)
    if purpose == FIXED:
        positions = balanced_sides((positions[0], positions[1]), list(history.questions.values()), rng)
    if predicted is None and snapshot is not None:
        predicted = float(questions.information(snapshot.belief, np.array([positions]))[1][0])
    return NewQuestion(positions, purpose, predicted, again=True)


class _Source(ABC):
    """Questions about current items that were not asked."""

    def __init__(
        self, current: CurrentItems, size: int, k: int, history: History, rng: np.random.Generator
    ) -> None:
        self._current, self._n_items, self._size, self._k = current, len(current), size, k
        self._history, self._rng = history, rng

    @abstractmethod
    def at_random(self) -> NewQuestion | None:
        """A random question, of which nothing is predicted."""

    @abstractmethod
    def ahead(self, snapshot: Snapshot) -> NewQuestion | None:
        """The first new question that was chosen with a snapshot."""

    @abstractmethod
    def confirmation(self, snapshot: Snapshot) -> NewQuestion | None:
        """A question that tests what was learned."""

    @abstractmethod
    def chosen(self, belief: AnyBelief, strategy: str) -> NewQuestion | None:
        """A question that is chosen now."""


class _Pairs(_Source):
    """Questions about two items, each preferably on the side on which it was seen less often."""

    def at_random(self) -> NewQuestion | None:
        pairs = questions.random_pairs(self._n_items, self._asked, self._rng).tolist()
        if not pairs:
            return None
        first, second = self._current.positions_of(pairs[0])
        return self._on_sides((first, second), "random", None)

    @property
    def _asked(self) -> Collection[tuple[int, int]]:
        """Pairs that were asked about, by place."""
        return self._current.pairs(self._history.pairs)

    def ahead(self, snapshot: Snapshot) -> NewQuestion | None:
        return self._made(self._first_new(snapshot.choices))

    def confirmation(self, snapshot: Snapshot) -> NewQuestion | None:
        return self._made(self._first_new(snapshot.confirmations), "confirmation")

    def _first_new(self, choices: Sequence[Choice]) -> Choice | None:
        """The first that was not asked."""
        asked = self._history.pairs
        return next((one for one in choices if unordered(*one[:2]) not in asked), None)

    def chosen(self, belief: AnyBelief, strategy: str) -> NewQuestion | None:
        votes = self._current.votes(belief)
        found = questions.choose(votes, strategy, self._n_items, self._asked, self._rng, self._k)
        return self._made(self._current.choice(found[0]) if found else None)

    def _made(self, choice: Choice | None, purpose: str = "") -> NewQuestion | None:
        if choice is None:
            return None
        return self._on_sides((choice.first, choice.second), purpose, choice.probability)

    def _on_sides(self, pair: tuple[int, int], purpose: str, predicted: float | None) -> NewQuestion:
        sides = balanced_sides(pair, list(self._history.questions.values()), self._rng)
        if predicted is not None and sides != pair:
            predicted = 1 - predicted
        return NewQuestion(sides, purpose, predicted)


class _Sets(_Source):
    """Questions about the best and the worst of three items or more."""

    def at_random(self) -> NewQuestion | None:
        found = set_questions.random_sets(*self._known, self._rng)
        return NewQuestion(self._current.positions_of(found[0]), "random") if found else None

    @property
    def _known(self) -> tuple[int, int, Collection[frozenset[int]]]:
        """How many items there are, how many a set has, and those that were asked about, by place."""
        return self._n_items, self._size, self._current.sets(self._history.sets)

    def ahead(self, snapshot: Snapshot) -> NewQuestion | None:
        asked = self._history.sets
        return _of_set(next((one for one in snapshot.sets if frozenset(one.items) not in asked), None))

    def confirmation(self, snapshot: Snapshot) -> NewQuestion | None:
        votes = self._current.votes(snapshot.belief)
        sure = set_questions.confirmation_set(votes, *self._known, self._rng)
        return _of_set(None if sure is None else self._current.set_choice(sure), "confirmation")

    def chosen(self, belief: AnyBelief, strategy: str) -> NewQuestion | None:
        votes = self._current.votes(belief)
        found = set_questions.choose_sets(votes, strategy, *self._known, self._rng, self._k)
        return _of_set(self._current.set_choice(found[0]) if found else None)


def _of_set(choice: SetChoice | None, purpose: str = "") -> NewQuestion | None:
    return None if choice is None else NewQuestion(choice.items, purpose, chances=choice.chances)


def _needs_confirmation(settings: Settings, history: History) -> bool:
    """Whether it is time for a question with a predictable answer, where questions are chosen at all."""
    chooses = bool(settings.probes) and settings.strategy != "random"
    return chooses and history.needs_confirmation
