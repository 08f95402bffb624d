"""Answers about items whose numbers are on the scales, log or not, that predict these answers better."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logsumexp

from coombs.data.comparisons import Comparisons
from coombs.data.log_scales import undecided, with_scales

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from coombs.data.checking import Positions
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.tables import FloatArray, ItemTable, Levels

LINEAR_SIZES = (0.5, 1.5, 4.5)
"""Sizes A of the slopes, in logits a deviation, that the evidence is averaged over."""
BENT_SIZES = (0.1, 0.4, 1.6)
"""Sizes B of the curvatures, in logits, that the evidence is averaged over."""
LAPSE = 0.02
"""Share of answers taken to be given at random, so that no single answer decides."""
MOST_STEPS = 30
"""Steps of Fisher scoring, at most."""
CONVERGED = 1e-9
"""Fisher scoring ends where a step gains less than this log density."""
FEWEST_HALVINGS = 12
"""Halvings of a step that gains nothing, at most."""


@dataclass(frozen=True, eq=False)
class WonPairs:
    """Answers as pairs, winner first, of which each counts by its weight."""

    winners: Index
    losers: Index
    weights: Vector


def log_evidence(items: Matrix, levels: Levels, pairs: WonPairs) -> float:
    """log of how likely the answers are, of items in these columns."""
    linear, bent = _columns(items, levels)
    rows = np.hstack([linear, bent])
    moves = rows[pairs.losers] - rows[pairs.winners]
    found = [
        _laplace(moves, np.repeat([slope, bend], [linear.shape[1], bent.shape[1]]), pairs.weights)
        for slope, bend in product(LINEAR_SIZES, BENT_SIZES)
    ]
    return float(logsumexp(found) - np.log(len(found)))


def _columns(items: Matrix, levels: Levels) -> tuple[Matrix, Matrix]:
    """Standardised columns, and the squares of those that are numbers."""
    is_level = np.zeros(items.shape[1], dtype=bool)
    is_level[[j for block in levels.blocks for j in block]] = True
    deviation = items.std(axis=0)
    varies = deviation > 0
    z = (items - items.mean(axis=0)) / np.where(varies, deviation, 1.0)
    linear = np.where(is_level, items - items.mean(axis=0), z)[:, varies]
    bent = z[:, varies & ~is_level] ** 2 - 1
    return linear, bent


def _laplace(moves: Matrix, sizes: Vector, weights: Vector) -> float:
    """log of the integral of likelihood times prior, by a Gaussian about the mode."""
    rows = moves * sizes
    y = np.zeros(rows.shape[1])
    value, slope, curvature = _density(rows, y, weights)
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(curvature, slope)
        for _ in range(FEWEST_HALVINGS):
            after = _density(rows, y + step, weights)
            if after[0] >= value:
                break
            step /= 2
        else:
            break
        gain, y = after[0] - value, y + step
        value, slope, curvature = after
        if gain < CONVERGED:
            break
    return value - float(np.linalg.slogdet(curvature)[1]) / 2


def _density(rows: Matrix, y: Vector, weights: Vector) -> tuple[float, Vector, Matrix]:
    """log density of answers and unknowns at y, but for a constant; its slope; the expected curvature.

    An answer of margin m has p = LAPSE / 2 + (1 - LAPSE) sigma(m), the unknowns a standard Gaussian prior.
    """
    sigma = expit(rows @ y)
    p = LAPSE / 2 + (1 - LAPSE) * sigma
    rate = (1 - LAPSE) * sigma * (1 - sigma)
    value = float(weights @ np.log(p) - y @ y / 2)
    slope = rows.T @ (weights * rate / p) - y
    # Fisher's information of a coin with probability p is (dp/dm)^2 / (p (1 - p)).
    curvature = (rows.T * (weights * rate**2 / (p * (1 - p)))) @ rows + np.eye(len(y))
    return value, slope, curvature


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
