"""Answers about items whose numbers are on the scales, log or not, that predict these answers better."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.comparisons import Comparisons
from coombs.data.log_scales import undecided, with_scales
from coombs.inference.scale_evidence import WonPairs, log_evidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from coombs.data.checking import Positions
    from coombs.data.tables import FloatArray, ItemTable

MORE_LIKELY = math.log(5)
"""Nats of evidence by which the answers must speak against what the column alone suggests."""
FEWEST_ANSWERS = 30
"""Answers, at least, of which pairs are: with fewer, columns alone decide."""
MOST_PAIRS = 4_000
"""Distinct pairs that the evidence is taken of, at most."""
MOST_RATINGS = 20_000
"""Ratings of which pairs are made, at most: those of the people first in the alphabet."""


def on_better_scales(data: Comparisons) -> Comparisons:
    """The same answers, their items on the better scales; the same data where nothing speaks for another.

    The order of answers and items does not matter, and with few answers the scales stay as they are.
    """
    found = undecided(data.item_table)
    if not found:
        return data
    pairs = won_pairs(data)
    if pairs.weights.sum() < FEWEST_ANSWERS:
        return data
    better = better_scales(data.item_table, found, pairs)
    changed = {name: on_log for name, on_log in better.items() if on_log != found[name]}
    return about(data, with_scales(data.item_table, changed)) if changed else data


def about(data: Comparisons, table: ItemTable) -> Comparisons:
    """The same answers about the same items as another table has them."""
    answers = data.pairs, data.y, data.weights, data.users, data.orders, data.ratings
    return Comparisons.at_positions(table, *answers)


def better_scales(table: ItemTable, on_log: Mapping[str, bool], pairs: WonPairs) -> dict[str, bool]:
    """Whether each of these columns is better on a log scale; what is given stands without evidence.

    The column with the most to gain is moved first, until none gains as much as it must.
    """
    chosen, left = dict(on_log), list(on_log)

    def evidence(which: Mapping[str, bool]) -> float:
        moved = with_scales(table, which)
        return log_evidence(moved.matrix, moved.levels, pairs)

    stands = evidence(chosen)
    while left:
        found = {name: evidence(chosen | {name: not chosen[name]}) for name in left}
        best = max(left, key=lambda name: found[name])
        if found[best] < stands + MORE_LIKELY:
            break
        chosen[best], stands = not chosen[best], found[best]
        left.remove(best)
    return chosen


def won_pairs(data: Comparisons) -> WonPairs:
    """What the answers say of two items, each distinct pair once, in an order that is not that of the rows.

    An answer about several things counts for no more than it tells: all pairs of a ranking of k for k - 1.
    """
    winners, losers, weights = (np.concatenate(part) for part in zip(*_parts(data), strict=True))
    distinct, place = np.unique(winners * data.n_items + losers, return_inverse=True)
    mass = np.bincount(place, weights, len(distinct)).astype(float)
    if len(distinct) > MOST_PAIRS:
        kept = np.linspace(0, len(distinct) - 1, MOST_PAIRS).astype(np.intp)
        distinct, mass = distinct[kept], mass[kept]
    return WonPairs(distinct // data.n_items, distinct % data.n_items, mass)


def _parts(data: Comparisons) -> Iterator[tuple[Positions, Positions, FloatArray]]:
    """Winners, losers and weights of answers of each shape."""
    yield data._wins()
    if data.orders is not None:
        winners, losers, of = data.orders.in_pairs()
        yield winners, losers, (2 * data.orders.weights / data.orders.sizes)[of]
    if (ratings := data.ratings) is not None:
        people = ratings.people
        if len(people) > MOST_RATINGS:
            last = np.sort(people)[MOST_RATINGS]
            ratings = ratings.take(np.flatnonzero(people <= last))
            people = ratings.people
        winners, losers, of = ratings.in_pairs()
        n_pairs = np.bincount(people[of], minlength=int(people.max()) + 1)
        share = np.minimum(1.0, np.bincount(people) / np.maximum(n_pairs, 1))
        yield winners, losers, (ratings.weights * share[people])[of]
