"""Which set of items to ask for the best and the worst of: how much the answer would tell, by draws.

Under draw s the best of a set is item i with probability e/k + (1 - e) exp(-s_i) / sum_j exp(-s_j), scores s
being less for better items and e the lapse, and the worst of the k - 1 others is chosen likewise, as in a
fit. The answer is one of k (k - 1), and tells H(mean p) - mean H(p) bits about the preferences. Every set
cannot be tried: one grows from the pair that tells most, by the item that adds most, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from coombs import questions
from coombs.data.tables import FloatArray

if TYPE_CHECKING:
    from coombs.questions import Index, Votes

Sets: TypeAlias = Collection[frozenset[int]]
"""Sets of positions."""

LARGEST = 5
"""Items of a set, at most: of more, people compare few."""
MORE_SEEDS = 4
"""Pairs beyond those needed that sets grow from, in case a set was asked before."""
FEW_SETS = 3_000
"""Sets up to which all that were not asked are listed."""
LEAST_SURE = 0.6
"""The least probability of the likeliest best of a set that tests what was learned."""


class SetChoice(NamedTuple):
    """A question: the best and the worst of some items.

    Parameters
    ----------
    items : positions, in the order in which they are shown
    gain : what the answer would tell about the preferences, in bits
    chances : the probability of each to be the best

    Examples
    --------
    >>> from coombs.set_questions import SetChoice
    >>> SetChoice((3, 8, 1), 0.9, (0.5, 0.3, 0.2)).items
    (3, 8, 1)
    """

    items: tuple[int, ...]
    gain: float
    chances: tuple[float, ...]


def choose_sets(
    votes: Votes,
    strategy: str,
    n_items: int,
    size: int,
    asked: Sets,
    rng: np.random.Generator,
    k: int = questions.TOP,
    count: int = 1,
) -> tuple[SetChoice, ...]:
    """Sets that were not asked and whose answers tell most, each in a random order."""
    size = min(size, n_items)
    if strategy == "random":
        return describe(votes, random_sets(n_items, size, asked, rng, count))
    seeds = questions.choose(votes, strategy, n_items, (), rng, k, count + MORE_SEEDS)
    pairs = [one for seed in seeds for one in (seed.first, seed.second)]
    members = np.union1d(questions.candidate_items(votes, n_items, rng), pairs).astype(np.intp)
    grow = _Growth(votes, strategy, members, k)
    found: dict[frozenset[int], None] = {}
    for seed in seeds:
        grown = frozenset(grow.from_pair((seed.first, seed.second), size))
        if grown not in asked:
            found[grown] = None
        if len(found) == count:
            break
    chosen = [tuple(rng.permutation(sorted(one)).tolist()) for one in found]
    return describe(votes, chosen or random_sets(n_items, size, asked, rng))


def confirmation_set(
    votes: Votes, n_items: int, size: int, asked: Sets, rng: np.random.Generator
) -> SetChoice | None:
    """A random set whose best is predictable, if there is one: it tests what was learned."""
    found = describe(votes, random_sets(n_items, min(size, n_items), asked, rng, questions.TRIES))
    sure = max(found, key=lambda one: max(one.chances), default=None)
    return sure if sure is not None and max(sure.chances) >= LEAST_SURE else None


def random_sets(
    n_items: int, size: int, asked: Sets, rng: np.random.Generator, count: int = 1
) -> list[tuple[int, ...]]:
    """Different sets that were not asked, each in a random order."""
    found: dict[frozenset[int], tuple[int, ...]] = {}
    for _ in range(max(questions.TRIES, count)):
        drawn = tuple(rng.choice(n_items, size, replace=False).tolist())
        if frozenset(drawn) not in asked:
            found.setdefault(frozenset(drawn), drawn)
        if len(found) == count:
            return list(found.values())
    if not found and math.comb(n_items, size) <= FEW_SETS:
        left = [one for one in combinations(range(n_items), size) if frozenset(one) not in asked]
        order = rng.permutation(len(left))[:count]
        return [tuple(rng.permutation(left[i]).tolist()) for i in order]
    return list(found.values())


def describe(votes: Votes, sets: Collection[tuple[int, ...]]) -> tuple[SetChoice, ...]:
    """Sets as questions, with what each would tell and the probability of each item to be the best."""
    made = []
    for items in sets:
        scores, lapses = votes.scores(np.array(items, dtype=np.intp))
        best, both = outcome_probabilities(scores[None], lapses)
        chances = best[0].mean(axis=1)
        made.append(SetChoice(items, float(_bits(both)[0]), tuple((chances / chances.sum()).tolist())))
    return tuple(made)


def outcome_probabilities(scores: FloatArray, lapses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of n sets of k scores each, (n, k, S): of each item to be the best, (n, k, S), and of each answer.

    The answers are (n, k (k - 1), S): of each best, every other item as the worst.
    """
    k = scores.shape[1]
    best = _chosen(-scores, lapses)
    both = []
    for first in range(k):
        rest = np.delete(np.arange(k), first)
        both.append(best[:, [first]] * _chosen(scores[:, rest], lapses))
    return best, np.concatenate(both, axis=1)


def _chosen(utilities: FloatArray, lapses: FloatArray) -> FloatArray:
    """(n, k, S) probability that each of k is chosen."""
    odds = np.exp(utilities - utilities.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    result: FloatArray = lapses / utilities.shape[1] + (1 - lapses) * odds
    return result


def _bits(p: FloatArray) -> FloatArray:
    """(n,) what answers with probabilities (n, answers, draws) tell: H(mean p) - mean H(p)."""
    mean = p.mean(axis=2)
    result: FloatArray = _entropy(mean) - _entropy(p).mean(axis=1)
    return result


def _entropy(p: FloatArray) -> FloatArray:
    """In bits, over the answers."""
    p = np.maximum(p, 1e-12)
    result: FloatArray = -(p * np.log2(p)).sum(axis=1)
    return result


class _Growth:
    """Sets that grow by the item that adds most, out of some, by every third draw."""

    def __init__(self, votes: Votes, strategy: str, items: Index, k: int) -> None:
        self._items = items
        scores, lapses = votes.scores(items, questions.SCREEN)
        # Half the bytes, twice as fast.
        self._scores: Any = scores.astype(np.float32)
        self._lapses: Any = lapses.astype(np.float32)
        self._is_top: FloatArray | None = None
        if strategy == "best":
            k = min(k, len(items) - 1)
            top = questions.top_sets(self._scores, k).astype(np.float32)
            self._is_top = top - top.mean(axis=1, keepdims=True)

    def from_pair(self, pair: tuple[int, int], size: int) -> list[int]:
        """Positions of the items of a set that holds a pair."""
        place = {position: i for i, position in enumerate(self._items.tolist())}
        members = [place[one] for one in pair]
        while len(members) < size:
            others = np.setdiff1d(np.arange(len(self._items)), members)
            sets = np.column_stack([np.tile(members, (len(others), 1)), others]).astype(np.intp)
            members.append(int(others[self._worth(sets).argmax()]))
        result: list[int] = self._items[members].tolist()
        return result

    def _worth(self, sets: Index) -> FloatArray:
        """(n,) of sets (n, k): bits about the preferences, or the variance of the top that is explained."""
        _, p = outcome_probabilities(self._scores[sets], self._lapses)
        if self._is_top is None:
            return _bits(p)
        # sum over answers o of sum_i cov(p_o, t_i)^2 / mean p_o; of a pair that is `questions.best`.
        covariance = p @ self._is_top.T / p.shape[2]
        explained: FloatArray = (covariance**2).sum(axis=2) / np.maximum(p.mean(axis=2), 1e-3)
        worth: FloatArray = explained.sum(axis=1)
        return worth
