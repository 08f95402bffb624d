"""What is predicted from the other answers, to see how well; and how likely it is by what is common."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln

from coombs.data.thresholds import ANCHOR_WIDTH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.answers import Answers
    from coombs.data.graph import Index, Vector
    from coombs.data.rival_sets import RivalSets

GRID = 121
"""Points of integrals over an anchor's score."""


class HeldOut(NamedTuple):
    """What is predicted from the other answers: the answers, and what those about more than two say of two.

    Parameters
    ----------
    winners, losers : rows
    questions : what each is about; it is predicted from answers about something else
    weights : of the answers; zero for the pairs, which are no answers of their own
    shares : what each counts for in the share of pairs that are put in the right order
    chance : their probability at random
    n_answers : how many of the rows, the first ones, are answers
    better, worse : rows of two ratings on one scale, each held against the same item
    """

    winners: Index
    losers: Index
    questions: Index
    weights: Vector
    shares: Vector
    chance: Vector
    n_answers: int
    better: Index = np.zeros(0, dtype=np.intp)
    worse: Index = np.zeros(0, dtype=np.intp)


def held_out_of(answers: Answers) -> HeldOut:
    """The rows that are predicted from the others."""
    whole = answers.winners, answers.losers, answers.questions, answers.weights
    if answers.sets is None:
        return HeldOut(*whole, answers.weights, answers.chance, len(answers.winners))
    winners, losers, of = answers.item_pairs(rated=False)
    # An answer about two items is its own pair.
    plain = np.maximum(answers.winners, answers.losers) < len(answers.items)
    kept = ~plain[of]
    winners, losers, of = winners[kept], losers[kept], of[kept]
    times = np.bincount(of, minlength=len(answers.winners))
    shares = (answers.weights / np.maximum(times, 1))[of]
    # Two ratings are put in order by how each item does against the same one, its own rating left out.
    item, _, _, rating = answers.ratings(answers.sets)
    same = int(np.bincount(item, minlength=1).argmax()) if len(item) else 0
    first = len(answers.winners) + len(of)
    of = np.concatenate([of, rating])
    better, worse = answers.unequal(answers.sets)
    apart = (item[better] != same) & (item[worse] != same)
    others = np.where(item == same, (same + 1) % len(answers.items), same)
    return HeldOut(
        np.concatenate([answers.winners, winners, item]),
        np.concatenate([answers.losers, losers, others]),
        np.concatenate([answers.questions, answers.questions[of]]),
        np.concatenate([answers.weights, np.zeros(len(of))]),
        np.concatenate([np.where(plain, answers.weights, 0.0), shares, np.zeros(len(item))]),
        np.concatenate([_base_rates(answers, answers.sets), np.full(len(of), 0.5)]),
        len(answers.winners),
        first + better[apart],
        first + worse[apart],
    )


def _base_rates(answers: Answers, sets: RivalSets) -> Vector:
    """The chance of each answer; of ratings and ties, by how many of the others are such."""
    result, n = answers.chance.copy(), len(answers.items)
    high, passed = np.maximum(answers.winners, answers.losers), answers.winners < n
    rated = np.flatnonzero(sets.scale_of(high, n) >= 0)
    anchor, passed, weights = sets.anchor_of(high[rated], n), passed[rated], answers.weights[rated]
    if sets.cumulative:
        result[rated] = _level_rates(anchor + passed, sets.scales[anchor], sets.scales, weights)
    else:
        result[rated] = _passing_rates(anchor, passed, sets.n_anchors, weights)
    # Where a tie was possible: by how many of the other such answers are ties.
    tied = answers.is_tie
    decided = sets.are_ahead(answers.losers, n) & ~tied
    yes, no = (float(answers.weights[some].sum()) + 0.5 for some in (tied, decided))
    for some, rest, other, ways in ((tied, yes, no, 1), (decided, no, yes, 2)):
        w = answers.weights[some]
        result[some] = np.exp((betaln(rest, other) - betaln(rest - w, other)) / w) / ways
    return result


def _level_rates(place: Index, scale: Index, scales: Index, weights: Vector) -> Vector:
    """Of each rating, by how many others on its scale are of its level; no level is impossible.

    `place` is one more than the last threshold passed.
    """
    # Levels of a scale follow those of the one before it, one more than it has thresholds.
    at = place + scale
    n_levels = (np.bincount(scales[scales >= 0]) + 1)[scale]
    own, whole = np.bincount(at, weights)[at] + 0.5, np.bincount(scale, weights)[scale] + n_levels / 2
    logs = gammaln(own) - gammaln(own - weights) - gammaln(whole) + gammaln(whole - weights)
    result: Vector = np.exp(logs / weights)
    return result


def _passing_rates(at: Index, passed: NDArray[np.bool_], n_anchors: int, weights: Vector) -> Vector:
    """Of each threshold passed or not, by how many others pass it."""
    counts = np.array([np.bincount(at, weights * way, n_anchors) for way in (passed, ~passed)])
    grid = np.linspace(-4 * ANCHOR_WIDTH, 4 * ANCHOR_WIDTH, GRID)
    sides = -np.logaddexp(0, grid), -np.logaddexp(0, -grid)
    prior = -((grid / ANCHOR_WIDTH) ** 2) / 2

    def evidence(yes: Vector, no: Vector) -> Vector:
        """log of how likely so many passes and failures are, whatever the threshold."""
        logs = yes[:, None] * sides[0] + no[:, None] * sides[1] + prior
        found: Vector = np.logaddexp.reduce(logs, axis=1)
        return found

    whole = evidence(counts[0][at], counts[1][at])
    without = evidence(counts[0][at] - weights * passed, counts[1][at] - weights * ~passed)
    result: Vector = np.exp((whole - without) / weights)
    return result
