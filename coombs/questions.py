"""Which question to ask next: how much each pair would tell, by the draws of what a person may want.

With p_s the probability under draw s that the first of a pair is preferred and h the entropy in bits, the
answer tells h(mean p) - mean h(p) bits about the preferences: much where the draws disagree and each
is sure of itself, nothing where all agree, and nothing where each of them throws a coin.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from coombs.data.tables import FloatArray, InputError
from coombs.random_state import RandomState, generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Index = NDArray[np.intp]
    Pairs = Collection[tuple[int, int]] | NDArray[np.intp]

__all__ = ["STRATEGIES", "Choice", "best", "information", "next_question", "random"]

ALL_PAIRS = 120
"""Up to this many items every pair is a candidate; of more, the pairs of this many chosen items are."""
FAVOURITES = 0.5
"""The share of a candidate set that are the likeliest best items; the others are drawn at random."""
SCREEN = 3
"""All candidates are weighed by every third draw first."""
SHORT_LIST = 200
"""Candidates that are then weighed by all draws."""
CONFIRMING = 0.95
"""Predicted probability of the likelier answer to a question that tests what was learned, if there is one."""
CONFIRMED_AMONG = 200
"""Pairs, at random, that are searched for one with a predictable answer: all of them would take too long."""
LEAST_CONFIRMING = 0.75
"""The least predicted probability of the likelier answer to a question that tests what was learned."""
TRIES = 40
"""Random pairs that are drawn to find new ones, at most."""
TOP = 5
"""Best items that a search for the best is about."""
CONTESTED = 60
"""Items that may be among the best, at most."""


class Votes(Protocol):
    """What draws say of items: a fitted `IdealPoint` or a live one."""

    def scores(self, positions: Index, every: int = 1) -> tuple[FloatArray, FloatArray]:
        """(n, S) scores of some items in `every` so many draws, less being better, and (S,) lapses."""

    def mean_scores(self) -> FloatArray:
        """(N,) scores of all items."""


class _Fitted:
    """The draws of a fitted `IdealPoint`, about all of its items or those inside declared limits."""

    def __init__(self, model: Any, within_limits: bool = False) -> None:
        posterior = getattr(model, "posterior_", None)
        if posterior is None:
            raise InputError("Questions need a fitted IdealPoint with a posterior, as its defaults give.")
        self._posterior, self._items = posterior, model._data.items
        self.positions = np.arange(len(self._items))
        if within_limits:
            self.positions = np.flatnonzero(model._outside(model._data.item_table) == 0)
        self._distances = model.distances_[self.positions]

    def scores(self, positions: Index, every: int = 1) -> tuple[FloatArray, FloatArray]:
        """(n, S) scores of some items in `every` so many draws, and (S,) lapses."""
        effects, positions = self._posterior.effects, self.positions[positions]
        chosen = None if effects is None else effects[:, positions]
        scores = self._posterior.scores(self._items[positions], chosen).T
        return scores[:, ::every], self._posterior.lapses[::every]

    def mean_scores(self) -> FloatArray:
        """(N,) distances of these items."""
        result: FloatArray = self._distances
        return result


def _as_votes(model: Any) -> Votes:
    """Draws, or those of a fitted model."""
    return model if hasattr(model, "mean_scores") else _Fitted(model)


class Choice(NamedTuple):
    """A question: which of two items.

    Parameters
    ----------
    first, second : positions of the items
    gain : what the answer would tell about the preferences, in bits
    probability : that the first is preferred

    Examples
    --------
    >>> from coombs.questions import Choice
    >>> Choice(first=3, second=8, gain=0.4, probability=0.5).gain
    0.4
    """

    first: int
    second: int
    gain: float
    probability: float


def information(model: Any, pairs: Index, every: int = 1, k: int = TOP) -> tuple[FloatArray, FloatArray]:
    """Return what the answer to each pair tells about the preferences, in bits.

    Parameters
    ----------
    model : a fitted `IdealPoint`, or live draws
    pairs : (n, 2) positions of items
    every : only every so many draws are looked at, for speed
    k : how many items count as the best; nothing to this strategy

    Returns
    -------
    worth : (n,) h(mean p) - mean h(p), from 0 to 1
    probability : (n,) that the first is preferred

    Examples
    --------
    >>> import numpy as np
    >>> from coombs import IdealPoint
    >>> from coombs.questions import information
    >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1]])
    >>> bits, probability = information(est, np.array([[0, 1], [1, 2]]))
    >>> bits.shape, bool((bits >= 0).all())
    ((2,), True)
    """
    p = _probabilities(_as_votes(model), pairs, every)
    mean = p.mean(axis=1)
    return _entropy(mean) - _entropy(p).mean(axis=1), mean


def best(model: Any, pairs: Index, every: int = 1, k: int = TOP) -> tuple[FloatArray, FloatArray]:
    """Return what the answer to each pair tells about which items are the best k.

    With t_is whether item i is among the best k of draw s, that is the variance of all t_i that knowing
    the answer explains: sum_i cov(p, t_i)^2 / (mean p (1 - mean p)).

    Parameters
    ----------
    model, pairs, every : as for `information`
    k : how many items count as the best

    Returns
    -------
    worth : (n,) the variance explained
    probability : (n,) that the first is preferred

    Examples
    --------
    >>> import numpy as np
    >>> from coombs import IdealPoint
    >>> from coombs.questions import best
    >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1]])
    >>> worth, probability = best(est, np.array([[0, 1], [1, 2]]), k=1)
    >>> worth.shape, bool((worth >= 0).all())
    ((2,), True)
    """
    votes = _as_votes(model)
    means = votes.mean_scores()
    k = min(k, len(means) - 1)
    contested = np.argsort(means, kind="stable")[: max(CONTESTED, 3 * k)]
    scores, _ = votes.scores(contested, every)
    is_top = top_sets(scores, k).astype(np.float32)
    is_top -= is_top.mean(axis=1, keepdims=True)
    p = _probabilities(votes, pairs, every)
    mean = p.mean(axis=1)
    covariance = p.astype(np.float32) @ is_top.T / p.shape[1]
    return (covariance**2).sum(axis=1) / np.maximum(mean * (1 - mean), 1e-3), mean


def random(model: Any, pairs: Index, every: int = 1, k: int = TOP) -> tuple[FloatArray, FloatArray]:
    """Return the same worth for every pair, so that any may be asked.

    Parameters
    ----------
    model, pairs, every, k : as for `information`

    Returns
    -------
    worth : (n,) zeros
    probability : (n,) that the first is preferred

    Examples
    --------
    >>> import numpy as np
    >>> from coombs import IdealPoint
    >>> from coombs.questions import random
    >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1]])
    >>> worth, probability = random(est, np.array([[0, 1], [1, 2]]))
    >>> worth.tolist()
    [0.0, 0.0]
    """
    return np.zeros(len(pairs)), _probabilities(_as_votes(model), pairs, every).mean(axis=1)


Strategy = Callable[[Any, "Index", int, int], tuple[FloatArray, FloatArray]]
STRATEGIES: dict[str, Strategy] = {"information": information, "random": random, "best": best}
"""What a strategy is called, and the function that says what each pair is worth."""
CHOSEN = {*STRATEGIES, "confirmation", "check"} - {"random"}
"""Purposes of questions that are asked because of what other answers said."""


def next_question(
    model: Any,
    strategy: str = "information",
    *,
    asked: Pairs = (),
    k: int = TOP,
    random_state: RandomState = None,
) -> Choice | None:
    """Return the pair of a fitted model's items to ask about next.

    Parameters
    ----------
    model : a fitted `IdealPoint`
    strategy : "information" (about the preferences), "best" (about the best items) or "random"
    asked : pairs of positions that are not to be asked again, either way around
    k : how many items count as the best
    random_state : for ties, candidates of large catalogues, and which of the two comes first

    Returns
    -------
    Choice, or None where every pair was asked

    Examples
    --------
    >>> from coombs import IdealPoint
    >>> from coombs.questions import next_question
    >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1]])
    >>> question = next_question(est, asked=[(0, 1), (0, 2)], random_state=0)
    >>> sorted([question.first, question.second])
    [1, 2]
    >>> next_question(est, asked=[(0, 1), (0, 2), (1, 2)]) is None
    True
    """
    votes = _Fitted(model, within_limits=True)
    place = {position: i for i, position in enumerate(votes.positions.tolist())}
    known = [(place[a], place[b]) for a, b in np.asarray(list(asked)).tolist() if a in place and b in place]
    found = choose(votes, strategy, len(place), known, generator(random_state), k)
    if not found:
        return None
    first, second = votes.positions[list(found[0][:2])].tolist()
    return found[0]._replace(first=first, second=second)


def choose(
    votes: Votes,
    strategy: str,
    n_items: int,
    asked: Pairs,
    rng: np.random.Generator,
    k: int = TOP,
    count: int = 1,
) -> tuple[Choice, ...]:
    """The candidate that tells most, and others that tell most beside it, the two of each in a random order.

    Those after the first are worth asking before the answers to the earlier ones are known: each has its
    worth times 1 - r^2, with r the correlation of the two probabilities over the draws.
    """
    if strategy not in list(STRATEGIES):
        raise InputError(f"strategy is {strategy!r}; it must be one of {', '.join(STRATEGIES)}.")
    if strategy == "random":
        chosen = random_pairs(n_items, asked, rng, count)
    else:
        # Of equals the first is taken: in no particular order.
        pairs, score = rng.permutation(candidates(votes, n_items, asked, rng)), STRATEGIES[strategy]
        if len(pairs) > SHORT_LIST:
            worth = score(votes, pairs, SCREEN, k)[0]
            pairs = pairs[np.argpartition(-worth, SHORT_LIST)[:SHORT_LIST]]
        worth = score(votes, pairs, 1, k)[0] if len(pairs) else np.zeros(0)
        chosen = rng.permuted(pairs[_different(votes, pairs, worth, count)], axis=1)
    return _choices(votes, chosen) if len(chosen) else ()


def _choices(votes: Votes, pairs: Index) -> tuple[Choice, ...]:
    """Pairs as questions, with what each would tell."""
    gains, probabilities = information(votes, pairs)
    return tuple(map(Choice, *pairs.T.tolist(), gains.tolist(), probabilities.tolist()))


def confirmations(
    votes: Votes, n_items: int, asked: Pairs, rng: np.random.Generator, count: int = 1
) -> tuple[Choice, ...]:
    """Pairs whose answers are predictable, if there are any: they test what was learned."""
    pairs = rng.permutation(candidates(votes, n_items, asked, rng))[:CONFIRMED_AMONG]
    if not len(pairs):
        return ()
    mean = _probabilities(votes, pairs, SCREEN).mean(axis=1)
    sure = np.maximum(mean, 1 - mean)
    # They are in a random order already.
    likely = np.flatnonzero(sure >= min(CONFIRMING, np.quantile(sure, 0.9)))[:count]
    found = _choices(votes, rng.permuted(pairs[likely], axis=1))
    return tuple(one for one in found if max(one.probability, 1 - one.probability) >= LEAST_CONFIRMING)


def _different(votes: Votes, pairs: Index, worth: FloatArray, count: int) -> list[int]:
    """The best pair, and some that are good and not like those before."""
    order = [int(worth.argmax())] if len(pairs) else []
    if count == 1 or not order:
        return order
    p = _probabilities(votes, pairs, 1)
    p -= p.mean(axis=1, keepdims=True)
    p /= np.maximum(np.linalg.norm(p, axis=1, keepdims=True), 1e-12)
    while len(order) < min(count, len(pairs)):
        worth = worth * np.maximum(1 - (p @ p[order[-1]]) ** 2, 0)
        worth[order[-1]] = -1
        order.append(int(worth.argmax()))
    return order


def random_pairs(n_items: int, asked: Pairs, rng: np.random.Generator, count: int = 1) -> Index:
    """(n, 2) pairs of positions that were not asked, in either order.

    Each is as likely, but for large catalogues of which almost all pairs were asked.
    """
    first = rng.integers(n_items, size=TRIES)
    second = (first + rng.integers(1, n_items, size=TRIES)) % n_items
    found = _new(np.column_stack([first, second]), n_items, asked)
    found = found[np.sort(np.unique(np.sort(found, axis=1) @ [n_items, 1], return_index=True)[1])]
    if len(found) >= count:
        return found[:count]
    small = n_items <= ALL_PAIRS
    left = _new(_all_pairs(np.arange(n_items)), n_items, asked) if small else _left_over(n_items, asked)
    return rng.permuted(rng.permutation(left)[:count], axis=1)


def candidates(votes: Votes, n_items: int, asked: Pairs, rng: np.random.Generator) -> Index:
    """(n, 2) pairs of positions that were not asked: all, or of many items some.

    Those are of a set with the likeliest best items and random others, so that both what the preferences
    are and which items are best can be asked about.
    """
    found = _new(_all_pairs(candidate_items(votes, n_items, rng)), n_items, asked)
    return found if len(found) or n_items <= ALL_PAIRS else _left_over(n_items, asked)


def candidate_items(votes: Votes, n_items: int, rng: np.random.Generator) -> Index:
    """Positions of all items, or of many the likeliest best and random others."""
    if n_items <= ALL_PAIRS:
        return np.arange(n_items)
    order = np.argsort(votes.mean_scores(), kind="stable")
    n_best = int(FAVOURITES * ALL_PAIRS)
    others = rng.choice(order[n_best:], ALL_PAIRS - n_best, replace=False)
    return np.sort(np.concatenate([order[:n_best], others]))


def _all_pairs(members: Index) -> Index:
    low, high = np.triu_indices(len(members), 1)
    return np.column_stack([members[low], members[high]])


def _left_over(n_items: int, asked: Pairs) -> Index:
    """The pairs of the item that was compared least that were not asked: none if no pair is left."""
    often = np.bincount(np.array(list(asked), dtype=np.int64).ravel(), minlength=n_items)
    item = int(often.argmin())
    others = np.delete(np.arange(n_items), item)
    return _new(np.column_stack([np.full(n_items - 1, item), others]), n_items, asked)


def _new(pairs: Index, n_items: int, asked: Pairs) -> Index:
    """Those that were not asked, either way around."""
    if not len(asked):
        return pairs
    done, found = (np.sort(part, axis=1) for part in (np.array(list(asked), dtype=np.int64), pairs))
    return pairs[~np.isin(found @ [n_items, 1], done @ [n_items, 1])]


def top_sets(scores: FloatArray, k: int) -> NDArray[np.bool_]:
    """(n, S) whether each item is among the best k of each draw."""
    k = min(k, len(scores))
    result = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(result, np.argpartition(scores, k - 1, axis=0)[:k], True, axis=0)
    return result


def _probabilities(votes: Votes, pairs: Index, every: int) -> FloatArray:
    """(n, S) probability that the first of each pair is preferred under each draw."""
    used, place = np.unique(pairs, return_inverse=True)
    scores, lapses = votes.scores(used, every)
    first, second = place.reshape(pairs.shape).T
    with np.errstate(over="ignore"):
        p: FloatArray = np.exp(scores[first] - scores[second])
    p += 1
    np.reciprocal(p, out=p)
    p *= 1 - lapses
    p += lapses / 2
    return p


def _entropy(p: FloatArray) -> FloatArray:
    """In bits."""
    p = np.clip(p, 1e-7, 1 - 1e-7)
    result: FloatArray = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    return result
