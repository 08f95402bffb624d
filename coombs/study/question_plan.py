"""What a study asks whatever was answered: fixed questions, repeats and attention checks at chosen places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from coombs.data.catalogue import Catalogue
from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.storage.records import AnyQuestion, Item, QuestionRecord
from coombs.study.history import History
from coombs.study.item_versions import latest_versions, origins
from coombs.study.settings import FIXED, Settings
from coombs.study.study_records import ATTENTION, REPEAT

LATELY = 5
"""Answers before a repeat whose questions are not repeated, if there are earlier ones."""
TOWARDS_BALANCE = 2 / 3
"""Probability of the side that an item was shown on less often (Efron's biased coin).

A sure one would let whoever prefers an item of every question choose left and right in turn.
"""
TRIED_DESIGNS = 10
"""Fixed sets of questions that are drawn; the one with items most equally often is taken."""
FIXED_STREAM = 1
"""Sets the draws of fixed questions apart from others of the same seed."""


class Planned(NamedTuple):
    """A question by positions, why it is asked, and the probability of left, where it is known."""

    positions: tuple[int, ...]
    purpose: str
    predicted: float | None = None


class Check(NamedTuple):
    """An attention check: after how many answers, and the positions of the right and the wrong item."""

    after: int
    right: int
    wrong: int


@dataclass(frozen=True)
class QuestionPlan:
    """The questions of a study that do not depend on answers, by positions of its items."""

    fixed: tuple[tuple[int, ...], ...]
    repeats: tuple[int, ...]
    attention: tuple[Check, ...]
    skipped: tuple[str, ...] = ()
    origins: tuple[int, ...] = ()

    @classmethod
    def of(cls, settings: Settings, items: Catalogue, versions: Sequence[Item] = ()) -> Self:
        """The plan of a study, or an InputError where it names items that are not there.

        An item that changed is asked about as it is now. What names a retired one is left out, and `skipped`
        says so. Questions that were drawn are about the items that the study was made with. `versions` are
        the items as they are stored.
        """
        place, skipped = {item.name: i for i, item in enumerate(versions)}, list[str]()
        place |= {name: i for i, name in enumerate(items.names)}
        latest = latest_versions(versions) or list(range(len(items.names)))

        def position(name: str, setting: str) -> int:
            if name not in place:
                raise InputError(
                    "{where} names {name}, which is no item of the study; give its items' names.",
                    where=setting,
                    name=repr(name),
                )
            return latest[place[name]]

        def is_asked(positions: tuple[int, ...], setting: str) -> bool:
            gone = [items.names[one] for one in positions if one in items.retired]
            if gone:
                skipped.append(_skipped(setting, gone[0]))
            return not gone

        if isinstance(settings.fixed, int):
            n = items.table.n_scaled or len(items.names)
            drawn = balanced_sets(n, settings.set_size, settings.fixed, settings.seed)
            fixed = [tuple(latest[one] for one in positions) for positions in drawn]
        else:
            fixed = [tuple(position(name, "fixed") for name in one) for one in settings.fixed]
        checks = [
            Check(after, position(right, "attention"), position(wrong, "attention"))
            for after, right, wrong in settings.attention
        ]
        return cls(
            tuple(one for one in fixed if is_asked(one, "fixed")),
            settings.repeats,
            tuple(one for one in checks if is_asked(one[1:], "attention")),
            tuple(skipped),
            tuple(origins(versions)),
        )

    def next(self, history: History, seed: Sequence[int], rng: np.random.Generator) -> Planned | None:
        """The question that is due after these answers, if one is; `seed` is the person's own."""
        asked = list(history.questions.values())
        count = len(history.answers)
        checked = sum(one.purpose == ATTENTION for one in asked)
        due = [one for one in self.attention if one.after <= count]
        if checked < len(due):
            return _check(due[checked], rng)
        if sum(one.purpose == REPEAT for one in asked) < sum(after <= count for after in self.repeats):
            earlier = _to_repeat(history, rng)
            if earlier is not None:
                return Planned(tuple(reversed(earlier.positions)), REPEAT)
        new = self._next_fixed(asked, seed)
        return None if new is None else Planned(new, FIXED)

    @property
    def n_planned(self) -> int:
        """How many planned questions come where nothing else is asked."""
        count = len(self.fixed)
        for after in sorted([*self.repeats, *(one.after for one in self.attention)]):
            count += after <= count
        return count

    def planned_left(self, history: History) -> int:
        """How many planned questions were not answered yet."""
        purposes = (history.purpose(one) for one in history.answers.values())
        return max(self.n_planned - sum(one in (FIXED, REPEAT, ATTENTION) for one in purposes), 0)

    def fixed_left(self, history: History) -> int:
        """How many fixed questions were not answered yet."""
        if not self.fixed:
            return 0
        purposes = (history.purpose(one) for one in history.answers.values())
        return max(len(self.fixed) - sum(one == FIXED for one in purposes), 0)

    def _next_fixed(self, asked: Sequence[AnyQuestion], seed: Sequence[int]) -> tuple[int, ...] | None:
        """The next of the fixed questions in a person's own order."""
        if not self.fixed:
            return None
        done = {self._key(one.positions) for one in asked if one.purpose == FIXED}
        order = np.random.default_rng([*seed, FIXED_STREAM]).permutation(len(self.fixed)).tolist()
        return next((self.fixed[i] for i in order if self._key(self.fixed[i]) not in done), None)

    def _key(self, positions: Sequence[int]) -> frozenset[int]:
        """A question, whichever versions of its items it is about."""
        return frozenset(self.origins[one] if one < len(self.origins) else one for one in positions)


def _skipped(setting: str, item: str) -> str:
    """What is said of a planned question that is not asked."""
    if setting == "fixed":
        return Translatable("One of the fixed questions is skipped, as {item} is retired.", item=repr(item))
    return Translatable("One of the attention checks is skipped, as {item} is retired.", item=repr(item))


def _check(due: Check, rng: np.random.Generator) -> Planned:
    """An attention check, the right item on either side; it is told by what is "predicted"."""
    if rng.random() < 0.5:
        return Planned((due.right, due.wrong), ATTENTION, 1.0)
    return Planned((due.wrong, due.right), ATTENTION, 0.0)


def _to_repeat(history: History, rng: np.random.Generator) -> AnyQuestion | None:
    """An answered question that was asked once, not one of the latest if there are others."""
    answers = [one for one in history.answers.values() if one.choice != "skip"]
    asked = [history.questions[one.question_id] for one in answers if one.question_id in history.questions]
    again = {frozenset(one.positions) for one in asked if one.purpose in (REPEAT, ATTENTION)}
    once = [one for one in asked if frozenset(one.positions) not in again and history.is_askable(one)]
    if not once:
        return None
    candidates = once[:-LATELY] or once[:1]
    return candidates[int(rng.integers(len(candidates)))]


def balanced_sets(n_items: int, size: int, count: int, seed: int) -> list[tuple[int, ...]]:
    """Different sets of items, drawn by a seed, each item about as often as any other.

    Examples
    --------
    >>> pairs = balanced_sets(6, 2, 9, seed=0)
    >>> np.bincount(np.ravel(pairs)).tolist()
    [3, 3, 3, 3, 3, 3]
    """
    size = min(size, n_items)
    if not count:
        return []
    if count > math.comb(n_items, size):
        what = Translatable("pairs") if size == 2 else Translatable("sets of {size}", size=size)
        raise InputError(
            "fixed is {count}, and {n_items} items have {total} {what}; ask fewer.",
            count=count,
            n_items=n_items,
            total=math.comb(n_items, size),
            what=what,
        )
    rng = np.random.default_rng([seed, FIXED_STREAM])
    designs = [_design(n_items, size, count, rng) for _ in range(TRIED_DESIGNS)]
    return min(
        designs, key=lambda one: float(np.bincount(np.ravel(one).astype(int), minlength=n_items).var())
    )


def _design(n_items: int, size: int, count: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Different sets, each of items that were used least so far."""
    used = np.zeros(n_items, dtype=int)
    found: dict[frozenset[int], tuple[int, ...]] = {}
    slack = 0.0
    while len(found) < count:
        # Of items used as often, any; after a set that is there already, more and more others.
        order = np.argsort(used + rng.random(n_items) * (1 + slack), kind="stable")
        drawn = tuple(order[:size].tolist())
        slack = slack + 0.2 if frozenset(drawn) in found else 0.0
        if not slack:
            found[frozenset(drawn)] = drawn
            used[list(drawn)] += 1
    return list(found.values())


def balanced_sides(
    positions: tuple[int, int], asked: Sequence[AnyQuestion], rng: np.random.Generator
) -> tuple[int, int]:
    """Two items, each preferably on the side on which the person saw it less often."""
    first, second = positions
    ahead = 0
    for one in asked:
        if isinstance(one, QuestionRecord):
            ahead += (one.left in positions) * (1 if one.left == first else -1)
            ahead -= (one.right in positions) * (1 if one.right == first else -1)
    # `ahead` is how much more often the first was on the left, and the second on the right.
    p = 0.5 if ahead == 0 else TOWARDS_BALANCE if ahead < 0 else 1 - TOWARDS_BALANCE
    return (first, second) if rng.random() < p else (second, first)
