"""A kind of preference beside levels of categories, which have no place on a scale.

The kind has its metric on the other features alone. A level l of a block has v_l = e^z t_l: t_l is standard
normal, so that nothing depends on the order of levels and rare ones are shrunk towards the others, and z is
an unknown of the block, relative to the scale of the kind's scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.tables import Levels
from coombs.inference.kind import HALF_LOG_2_PI, LOG_SCALE, Quadratic
from coombs.inference.kinds import KINDS

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.inference.kind import Kind

SPREAD = 5.0
"""Typical deviation of the scores of a category and of as many features as there are, in logits."""
BLOCK_WIDTH = 0.7
"""Prior deviation of the logarithm of a block's size, beside the scale of the kind."""


def with_levels(kind: Kind, levels: Levels, d: int) -> Kind:
    """The kind, on the columns that are no levels, beside these; levels alone are a linear preference."""
    if not levels.blocks or kind.name == "items":
        return kind
    return WithLevels(kind if len(plain_columns(levels, d)) else KINDS["items"], levels)


def plain_columns(levels: Levels, d: int) -> Index:
    """The columns that are no levels."""
    is_plain = np.ones(d, dtype=bool)
    for block in levels.blocks:
        is_plain[list(block)] = False
    return np.flatnonzero(is_plain)


def padded(levels: Levels, d: int, metric: Matrix, linear: Vector) -> tuple[Matrix, Vector]:
    """M and v of the other columns as those of all."""
    plain = plain_columns(levels, d)
    whole, vector = np.zeros((d, d)), np.zeros(d)
    whole[np.ix_(plain, plain)], vector[plain] = metric, linear
    return whole, vector


@dataclass(frozen=True)
class WithLevels:
    """Unknowns: those of `kind`, t of each level, and the size of each block in prior deviations."""

    kind: Kind
    levels: Levels

    @property
    def name(self) -> str:
        """Of the kind; levels alone are a linear preference."""
        return "none" if self.kind.name == "items" else self.kind.name

    @property
    def has_ideal(self) -> bool:
        """As the kind."""
        return self.kind.has_ideal

    @cached_property
    def _columns(self) -> Index:
        return np.array([j for block in self.levels.blocks for j in block])

    @cached_property
    def _block(self) -> Index:
        """The block of each level."""
        return np.repeat(np.arange(len(self.levels.blocks)), list(map(len, self.levels.blocks)))

    @cached_property
    def _belongs(self) -> Matrix:
        """(levels, blocks) 1 where a level is of a block."""
        return np.eye(len(self.levels.blocks))[self._block]

    def _own(self, d: int) -> int:
        return self.kind.size(d - len(self._columns))

    def size(self, d: int) -> int:
        """How many unknowns."""
        return self._own(d) + len(self._columns) + len(self.levels.blocks)

    def sizes_at(self, d: int) -> Index:
        """Where the blocks' sizes are among the unknowns, and the scale that they share with the kind."""
        scale, first = self.scale_at(d), self._own(d) + len(self._columns)
        return np.array([*range(first, self.size(d)), *([] if scale is None else [scale])], dtype=np.intp)

    def scale_at(self, d: int) -> int | None:
        """Where the scale of the kind's scores is among the unknowns."""
        return self.kind.scale_at(d - len(self._columns))

    def _log_sizes(self, y: Matrix, d: int) -> Matrix:
        """(C, blocks) of v."""
        n_blocks, k = len(self.levels.blocks), self.scale_at(d)
        n_features = d - len(self._columns) + n_blocks
        own = y[:, -n_blocks:]
        centre = math.log(SPREAD / 2 / math.sqrt(n_features))
        if k is None:
            return centre + LOG_SCALE * own
        return centre + BLOCK_WIDTH * own + LOG_SCALE * y[:, k : k + 1]

    def expand(self, y: Matrix, d: int) -> Quadratic:
        """(M, v) of each row of y; M is zero on the levels."""
        own, count, plain = self._own(d), len(self._columns), plain_columns(self.levels, d)
        at = self.kind.expand(y[:, :own], len(plain))
        # Points last, as elsewhere.
        metric, linear = np.zeros((d, d, len(y)), y.dtype), np.zeros((d, len(y)), y.dtype)
        metric[np.ix_(plain, plain)] = at.metric.transpose(1, 2, 0)
        linear[plain] = at.linear.T
        sizes = np.exp(self._log_sizes(y, d))[:, self._block]
        linear[self._columns] = (sizes * y[:, own : own + count]).T
        return Quadratic(metric.transpose(2, 0, 1), linear.T, (at, sizes))

    def pullback(self, y: Matrix, d: int, at: Quadratic, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        """The gradient with respect to y."""
        (inner, sizes), own, plain = at.saved, self._own(d), plain_columns(self.levels, d)
        count, k = len(self._columns), self.scale_at(d)
        of_kind = self.kind.pullback(
            y[:, :own], len(plain), inner, to_metric[:, plain[:, None], plain], to_linear[:, plain]
        )
        result, to_levels = np.zeros_like(y), to_linear[:, self._columns] * sizes
        result[:, :own] = of_kind
        result[:, own : own + count] = to_levels
        to_size = (to_levels * y[:, own : own + count]) @ self._belongs.astype(y.dtype)
        result[:, own + count :] = to_size * (LOG_SCALE if k is None else BLOCK_WIDTH)
        if k is not None:
            result[:, k] += LOG_SCALE * to_size.sum(axis=1)
        return result

    def prior(self, y: Matrix, d: int, at: Quadratic) -> tuple[Vector, Matrix]:
        """The negative log density of the prior, and its gradient."""
        own = self._own(d)
        value, slope = self.kind.prior(y[:, :own], d - len(self._columns), at.saved[0])
        rest = y[:, own:]
        return value + (rest * rest).sum(axis=1) / 2, np.concatenate([slope, rest], axis=1)

    def constant(self, d: int) -> float:
        """What that lacks."""
        rest = self.size(d) - self._own(d)
        return self.kind.constant(d - len(self._columns)) + rest * HALF_LOG_2_PI

    def draw(self, count: int, d: int, rng: np.random.Generator) -> Matrix:
        """Rows of the prior."""
        own = self.kind.draw(count, d - len(self._columns), rng)
        return np.concatenate([own, rng.standard_normal((count, self.size(d) - self._own(d)))], axis=1)

    def locate(self, metric: Matrix, linear: Vector) -> Vector:
        """Unknowns at, or near, a metric and v."""
        d = len(linear)
        plain, rest = plain_columns(self.levels, d), np.zeros(self.size(d) - self._own(d))
        y = np.concatenate([self.kind.locate(metric[np.ix_(plain, plain)], linear[plain]), rest])
        sizes = np.exp(self._log_sizes(y[None], d))[0, self._block]
        y[self._own(d) : self._own(d) + len(sizes)] = linear[self._columns] / sizes
        return y

    def ideal(self, y: Matrix, d: int) -> Matrix:
        """u of each row: of the kind, and the best level of each category."""
        own, plain = self._own(d), plain_columns(self.levels, d)
        result = np.zeros((len(y), d), y.dtype)
        result[:, plain] = self.kind.ideal(y[:, :own], len(plain))
        return best_levels(result, self.expand(y, d).linear, self.levels)


def best_levels(points: Matrix, linear: Matrix, levels: Levels) -> Matrix:
    """Points, (..., d), with the level of each category that v says is best."""
    for block, present in zip(*levels, strict=True):
        columns = np.array(block)
        points[..., columns] = 0.0
        best = columns[linear[..., columns].argmax(axis=-1)]
        np.put_along_axis(points, best[..., None], present, axis=-1)
    return points
