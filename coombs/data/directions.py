"""Features of which more, or less, is never worse, as a person declared it: what that says of the scores.

A declared direction is a constraint: along the feature, scores must not get worse anywhere in the table. It
enters the prior as a steep logistic function of the slope, at points of the table where it could be broken:
of quadratic scores the slope is linear in x, so that it is enough to look at the outermost items.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector

STEEPNESS = 15.0
"""How fast a direction becomes impossible, for each logit by which it is broken over a feature's range."""
MOST_POINTS = 24
"""Items, at most, at which slopes are looked at."""
TURNS = 24
"""Directions in which the outermost items are looked for."""
GRID = 6
"""Values of a feature between which a score that is not quadratic must not get worse."""
LINES = 12
"""Lines along a feature, through items, on which these values are."""


@dataclass(frozen=True, eq=False)
class Directions:
    """Of scaled items: the declared `columns`, +1 where more is never worse and -1 where less is.

    `ranges` are the declared columns' lowest and highest values, (k, 2), and `points` the (m, d) items.
    `log_mass` is the logarithm of the prior's mass that obeys, of the kind that these are the directions of.
    """

    columns: Index
    signs: Vector
    ranges: Matrix
    points: Matrix
    log_mass: float = 0.0
    steepness: float = STEEPNESS

    @classmethod
    def of(cls, items: Matrix, signs: Vector, n_answers: float = 0.0) -> Directions | None:
        """Of the scaled items of a whole table, `signs` being 0 where nothing is declared.

        So many answers cannot pull harder than the directions hold.
        """
        columns = np.flatnonzero(signs)
        if not len(columns):
            return None
        some = items[:, columns]
        ranges = np.column_stack([some.min(axis=0), some.max(axis=0)])
        steepness = STEEPNESS + n_answers
        return cls(columns, signs[columns].astype(float), ranges, _outermost(items), steepness=steepness)

    def only(self, columns: Index) -> Directions | None:
        """The same where only these columns are left, in this order."""
        place = {int(column): k for k, column in enumerate(columns)}
        kept = np.array([k for k, j in enumerate(self.columns) if int(j) in place], dtype=np.intp)
        if not len(kept):
            return None
        left = np.array([place[int(self.columns[k])] for k in kept], dtype=np.intp)
        found = (self.signs[kept], self.ranges[kept], self.points[:, columns])
        return Directions(left, *found, steepness=self.steepness)

    @cached_property
    def _lengths(self) -> Vector:
        """What a slope is multiplied with: minus the sign times the range, as less is better of scores."""
        result: Vector = -self.signs * (self.ranges[:, 1] - self.ranges[:, 0])
        return result

    def gains(self, metric: Matrix, linear: Matrix) -> Matrix:
        """(k, m, C) logits gained over a feature's range by its slope at each point; negative if broken.

        The slope of s = x'Mx - 2 v'x along x_j is 2 (M x - v)_j.
        """
        points, rows = self.points.astype(metric.dtype), metric.transpose(1, 2, 0)
        each = [
            2 * float(length) * (points @ rows[j] - linear.T[j])
            for j, length in zip(self.columns, self._lengths, strict=True)
        ]
        return np.stack(each)

    def log_weight(self, metric: Matrix, linear: Matrix) -> Vector:
        """(C,) log of how far quadratic scores obey where they do least: 0 if they do, else very negative."""
        return _log_sigmoid(self.steepness * self.gains(metric, linear).min(axis=1))[0]

    def log_weight_and_pull(self, metric: Matrix, linear: Matrix) -> tuple[Vector, Matrix, Matrix]:
        """`log_weight`, and its gradients with respect to M (symmetric) and v."""
        gains = self.gains(metric, linear)
        where = gains.argmin(axis=1)
        least = np.take_along_axis(gains, where[:, None], axis=1)[:, 0]
        total, slack = _log_sigmoid(self.steepness * least)
        slack *= self.steepness * self._lengths.astype(metric.dtype)[:, None]
        points = self.points.T.astype(metric.dtype)
        # Points last, as they are in memory. 2 (M x)_j is in both halves of M.
        to_metric, to_linear = np.zeros_like(metric.transpose(1, 2, 0)), np.zeros_like(linear.T)
        for j, at, of_column in zip(self.columns, where, slack, strict=True):
            along = points[:, at] * of_column
            to_metric[j] += along
            to_metric[:, j] += along
            to_linear[j] = -2 * of_column
        return total, to_metric.transpose(2, 0, 1), to_linear.T

    def log_weight_of(self, gains: Matrix) -> Vector:
        """`log_weight` from (S, k * lines) gains of other scores between the points of `lines`."""
        least = gains.reshape(len(gains), len(self.columns), -1).min(axis=2)
        return _log_sigmoid(self.steepness * (GRID - 1) * least.T)[0]

    def lines(self) -> tuple[Matrix, Matrix]:
        """Points that must be at least as good as others, in the same order: neighbours along a feature."""
        through = self.points[np.linspace(0, len(self.points) - 1, min(LINES, len(self.points))).astype(int)]
        better, worse = [], []
        for column, sign, (low, high) in zip(self.columns, self.signs, self.ranges, strict=True):
            grid = np.tile(through, (GRID, 1, 1))
            grid[:, :, column] = np.linspace(low, high, GRID)[:, None]
            ahead, behind = (grid[1:], grid[:-1]) if sign > 0 else (grid[:-1], grid[1:])
            better.append(ahead.reshape(-1, grid.shape[2]))
            worse.append(behind.reshape(-1, grid.shape[2]))
        return np.concatenate(better), np.concatenate(worse)


def _log_sigmoid(t: Matrix) -> tuple[Vector, Matrix]:
    """log(1 / (1 + e^-t)) added up over the first axis, and its derivative at each t."""
    small = np.exp(-np.abs(t))
    total: Vector = (np.minimum(t, 0) - np.log1p(small)).sum(axis=0, dtype=float)
    slope: Matrix = np.where(t < 0, 1, small) / (1 + small)
    return total, slope


def _outermost(items: Matrix) -> Matrix:
    """The items that are farthest out in some direction; all of them where they are few."""
    distinct = np.unique(items, axis=0)
    if len(distinct) <= MOST_POINTS:
        return distinct
    d = items.shape[1]
    # The axes, then directions that are always the same ones.
    turns = np.concatenate([np.eye(d), np.random.default_rng(0).standard_normal((TURNS, d))])
    along = distinct @ turns.T
    ends = np.concatenate([along.argmax(axis=0), along.argmin(axis=0)])
    chosen = list(dict.fromkeys(np.column_stack(np.split(ends, 2)).ravel().tolist()))
    result: Matrix = distinct[np.sort(chosen[:MOST_POINTS])]
    return result
