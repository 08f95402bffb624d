"""How likely answers are where all things are alike: what a coin, and thresholds, would give.

Over all lapse rates, scores of anchors, head starts of ties and thresholds of rating scales.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline

from coombs.data.thresholds import ANCHOR_WIDTH, COMMON_WIDTH, GAP_CENTRE, GAP_WIDTH, gap_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from coombs.data.answers import Answers
    from coombs.data.graph import Matrix, Vector
    from coombs.data.rival_sets import RivalSets

LAPSE_ODDS = math.log(0.01)
"""Prior centre of the log odds of a lapse, an answer given at random."""
LAPSE_WIDTH = 1.5
"""Prior deviation of the log odds of a lapse."""
HEAD_START = math.log(0.5)
"""Prior centre of the logarithm of the head start that ties come from, in logits."""
HEAD_START_WIDTH = 1.0
"""Prior deviation of the logarithm of the head start."""
NODES = np.linspace(-4.0, 4.0, 17)
"""Points of integrals over the lapse or the head start, in prior deviations."""
FEW_NODES = NODES[[0, 8, 10, 12, 14, 16]]
"""Points of those integrals for ratings: few lapses hardly matter beside thresholds."""
COMMON_NODES = np.linspace(-4.0, 4.0, 9)
"""Points between which what gaps have in common is interpolated, in prior deviations."""
GRID = 121
"""Points of integrals over an anchor's score."""
FARTHEST = 12.0
"""Thresholds of integrals are no farther from the items, in logits."""
BLOCK = 2_000_000
"""Numbers that an array holds, at most."""


def log_chance_of(answers: Answers) -> float:
    """log of how likely all answers are at random, over all scores of the anchors and head starts."""
    if answers.sets is None or not answers.sets.n_single:
        return float(answers.weights @ np.log(answers.chance))
    rated, levels = _counts_of_levels(answers, answers.sets)
    of_others = _Others(answers, answers.sets, rated)
    of_ratings = np.interp(NODES, FEW_NODES, log_chance_of_ratings(levels, _lapses_at(FEW_NODES)))
    others = [of_others.log_chance(lapse) for lapse in _lapses_at(NODES).tolist()]
    logs = others + of_ratings - NODES**2 / 2
    return float(np.logaddexp.reduce(logs) - np.logaddexp.reduce(-(NODES**2) / 2))


def _lapses_at(nodes: Vector) -> Vector:
    """Lapse rates so many prior deviations from the centre."""
    result: Vector = 1 / (1 + np.exp(-LAPSE_ODDS - LAPSE_WIDTH * nodes))
    return result


class _Others:
    """Answers that are no ratings by cumulative models."""

    def __init__(self, answers: Answers, sets: RivalSets, rated: NDArray[np.bool_]) -> None:
        n, base = len(answers.items), answers.n_rows - sets.n_sets
        at = np.linspace(-4 * ANCHOR_WIDTH, 4 * ANCHOR_WIDTH, GRID)
        # Items all have the score 0: an answer is about one anchor, or about none.
        inside = sets.members >= n
        anchor_of, count = np.full(answers.n_rows, -1), np.ones(answers.n_rows)
        anchor_of[n : n + sets.n_anchors] = np.arange(sets.n_anchors)
        anchor_of[base + sets.owners[inside]] = sets.members[inside] - n
        count[base:] = sets.sizes
        count[anchor_of >= 0] -= 1
        anchor = np.maximum(anchor_of[answers.winners], anchor_of[answers.losers])
        own = np.flatnonzero((anchor >= 0) & ~rated)
        odds = [
            np.where((anchor_of[rows] >= 0)[:, None], np.exp(-at), 0.0) + count[rows][:, None]
            for rows in (answers.winners[own], answers.losers[own])
        ]
        self.prior = -((at / ANCHOR_WIDTH) ** 2) / 2
        self.anchors, self.anchor = np.unique(anchor[own], return_inverse=True)
        self.share = odds[0] / (odds[0] + odds[1])
        self.chance, self.weights = answers.chance[own][:, None], answers.weights[own][:, None]
        plain = (anchor < 0) & ~sets.are_ahead(answers.losers, n) & ~rated
        self.plain = float(answers.weights[plain] @ np.log(answers.chance[plain]))
        decided = sets.are_ahead(answers.losers, n) & ~answers.is_tie
        self.n_tied, self.n_decided = (
            float(answers.weights[some].sum()) for some in (answers.is_tie, decided)
        )

    def log_chance(self, lapse: float) -> float:
        """Given a lapse rate."""
        log_p = self.weights * np.log(lapse * self.chance + (1 - lapse) * self.share)
        logs = np.zeros((len(self.anchors), GRID))
        np.add.at(logs, self.anchor, log_p)
        of_anchors = np.logaddexp.reduce(logs + self.prior, axis=1) - np.logaddexp.reduce(self.prior)
        return float(of_anchors.sum()) + self.plain + self._of_ties(lapse)

    def _of_ties(self, lapse: float) -> float:
        """Of answers that could be ties, over all head starts."""
        wins = 1 / (1 + np.exp(np.exp(HEAD_START + HEAD_START_WIDTH * NODES)))
        logs = self.n_tied * np.log(lapse / 3 + (1 - lapse) * (1 - 2 * wins))
        logs += self.n_decided * np.log(lapse / 3 + (1 - lapse) * wins)
        return float(np.logaddexp.reduce(logs - NODES**2 / 2) - np.logaddexp.reduce(-(NODES**2) / 2))


def _counts_of_levels(answers: Answers, sets: RivalSets) -> tuple[NDArray[np.bool_], list[Vector]]:
    """Which answers are ratings by cumulative models; and the weight of each level of each scale."""
    n, high = len(answers.items), np.maximum(answers.winners, answers.losers)
    if not sets.cumulative:
        return np.zeros(len(high), dtype=bool), []
    scale, place = sets.scale_of(high, n), sets.anchor_of(high, n) + (answers.winners < n)
    rated, n_steps = scale >= 0, np.bincount(sets.scales[sets.scales >= 0])
    # Levels of a scale follow those of the one before it, one more than it has thresholds.
    first = int(np.count_nonzero(sets.scales < 0))
    at, ends = place[rated] - first + scale[rated], np.cumsum(n_steps + 1)
    counts = np.bincount(at, answers.weights[rated], int(ends[-1]) if len(ends) else 0).astype(float)
    return rated, [own for own in np.split(counts, ends[:-1]) if own.any()]


def log_chance_of_ratings(counts: Sequence[Vector], lapses: Vector) -> Vector:
    """log of how likely so many ratings of each level of each scale are where all items are alike.

    Given each lapse rate, over all thresholds and what their gaps have in common. Points of integrals are
    about as far apart as a deviation of what is integrated over.
    """
    if not counts:
        return np.zeros(len(lapses))
    n_gaps, totals = sum(len(own) - 2 for own in counts), np.zeros((len(COMMON_NODES), len(lapses)))
    for some, times in _alike(counts, len(lapses)):
        for total, common in zip(totals, COMMON_NODES, strict=True):
            total += times @ _log_chance_of_scales(some, lapses, common)
    common, weights = _normal_nodes(1 / math.sqrt(1 + n_gaps * (COMMON_WIDTH / GAP_WIDTH) ** 2))
    return _log_sums(CubicSpline(COMMON_NODES, totals)(common) + weights[:, None], 0)


def _alike(counts: Sequence[Vector], n_lapses: int) -> Iterator[tuple[Matrix, Vector]]:
    """Counts of scales with as many levels, not too many at once, and how many scales have each."""
    for n_levels in sorted({len(own) for own in counts}):
        every, times = np.unique([own for own in counts if len(own) == n_levels], axis=0, return_counts=True)
        grid, points = _grid(every), _normal_nodes(_step(2.5, float(every.max()), 1.0))[0]
        size = max(1, BLOCK // (len(grid) * len(points) * n_lapses))
        for begin in range(0, len(every), size):
            yield every[begin : begin + size], times[begin : begin + size].astype(float)


def _grid(counts: Matrix) -> Vector:
    """Places of a threshold."""
    step = _step(2.5, float(counts.sum(axis=1).max()), 0.3)
    return np.linspace(-FARTHEST, FARTHEST, 1 + math.ceil(2 * FARTHEST / step))


def _log_chance_of_scales(counts: Matrix, lapses: Vector, common: float) -> Matrix:
    """Log chance of the ratings on each scale, (S, lapses), given what gaps have in common.

    From the middle threshold outwards, each is integrated over given the one before it.
    """
    n_levels, grid = counts.shape[1], _grid(counts)
    prior = -((grid / ANCHOR_WIDTH) ** 2) / 2
    prior -= np.logaddexp.reduce(prior)
    points, weights = _normal_nodes(_step(2.5, float(counts.max()), 1.0))
    x = GAP_CENTRE + COMMON_WIDTH * common + GAP_WIDTH * points
    gaps, middle = (gap_size(n_levels - 1) * np.logaddexp(0, x), weights), (n_levels - 1) // 2
    # Levels below the middle threshold, from the lowest on; those above it, from the highest on.
    below = _outwards(counts[:, : middle + 1], gaps, lapses, n_levels, grid)
    above = _outwards(counts[:, :middle:-1], gaps, lapses, n_levels, grid)[::-1]
    return _log_sums(below + above + prior[:, None, None], 0)


def _step(size: float, count: float, most: float) -> float:
    """Between points of an integral over what so many ratings tell."""
    return float(np.clip(size / math.sqrt(max(count, 1.0)), most / 5, most))


def _normal_nodes(step: float) -> tuple[Vector, Vector]:
    """Points of a standard normal, a step apart, and their log weights."""
    points = np.linspace(-4.0, 4.0, 1 + math.ceil(8 / step))
    logs = -(points**2) / 2
    return points, logs - np.logaddexp.reduce(logs)


def _outwards(
    counts: Matrix, gaps: tuple[Vector, Vector], lapses: Vector, n_levels: int, grid: Vector
) -> Matrix:
    """(grid, S, lapses) log of how likely these levels are, by the threshold that they are all beyond.

    The outermost is the first. As if they were the lowest, which are beyond a threshold at t with probability
    sigma(-t). `gaps` are some, and their log weights.
    """

    def logs_of(p: Matrix) -> Matrix:
        """log p, with each lapse rate, of all scales."""
        result: Matrix = np.log(lapses / n_levels + (1 - lapses) * p[..., None])[..., None, :]
        return result

    result = counts[:, :1] * logs_of(_sigma(-grid))
    beyond = grid[:, None] + gaps[0]
    # sigma(-t) - sigma(-t - gap).
    level = logs_of(-np.expm1(-gaps[0]) * _sigma(-grid)[:, None] * _sigma(beyond))
    for count in counts[:, 1:].T:
        logs = CubicSpline(grid, result)(np.minimum(beyond, FARTHEST))
        logs += count[:, None] * level
        logs += gaps[1][:, None, None]
        result = _log_sums(logs, 1)
    return result


def _log_sums(logs: Matrix, axis: int) -> Matrix:
    """log of the sums of e^logs; these are used up."""
    most = logs.max(axis=axis, keepdims=True)
    logs -= most
    sums: Matrix = np.log(np.exp(logs, out=logs).sum(axis=axis)) + most.squeeze(axis)
    return sums


def _sigma(x: Matrix) -> Matrix:
    result: Matrix = 1 / (1 + np.exp(-x))
    return result
