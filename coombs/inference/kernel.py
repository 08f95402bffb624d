"""A smooth function of the features as a sum of bumps about support points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector
    from coombs.data.scaling import Scaler

BLOCK = 200_000
"""Values of the kernel that are held at once."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """k(x, z) = a^2 exp(-sum_j (r_j (x_j - z_j))^2 / 2) + b^2 / d sum_j exp(-(q_j (x_j - z_j))^2 / 2).

    The first part takes all features together, the second each alone. A relevance is one over the distance
    along a feature within which values are alike; zero, and the feature does not matter. Columns of a block,
    as the levels of a category, are one feature: they are together in the second part, too.

    Parameters
    ----------
    support : (m, d) points z
    together, alone : sizes a and b
    relevances, own_relevances : (d,) r and q; the same for all columns of a block
    blocks : columns that are one feature
    """

    support: Matrix
    together: float
    alone: float
    relevances: Vector
    own_relevances: Vector
    blocks: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def features(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each feature."""
        return features_of(self.blocks, len(self.relevances))

    def __call__(self, items: Matrix) -> Matrix:
        """(n, m) values at items."""
        half = math.sqrt(0.5)
        # In place, as this is most of what very many items cost.
        own = np.zeros((len(items), len(self.support)))
        away = np.empty_like(own)
        for feature in self.features:
            if len(feature) > 1:
                own += np.exp(-self._own_squares(items, feature) / 2)
                continue
            (j,) = feature
            np.subtract(items[:, j, None], self.support[:, j], out=away)
            away *= half * self.own_relevances[j]
            np.multiply(away, away, out=away)
            np.negative(away, out=away)
            own += np.exp(away, out=away)
        own *= self.alone**2 / len(self.features)
        own += self.together**2 * np.exp(-self._near(items) / 2)
        return own

    def slopes(self, items: Matrix, weights: Matrix) -> Matrix:
        """(n, d) derivatives along the features of the function with these weights of the bumps, (m,)."""
        joint = self.together**2 * np.exp(-self._near(items) / 2) * weights
        result = np.empty(items.shape)
        for feature in self.features:
            own = np.exp(-self._own_squares(items, feature) / 2)
            own *= self.alone**2 / len(self.features) * weights
            for j in feature:
                away, q = items[:, j, None] - self.support[:, j], self.own_relevances[j]
                result[:, j] = -(away * (self.relevances[j] ** 2 * joint + q**2 * own)).sum(axis=1)
        return result

    def _own_squares(self, items: Matrix, feature: tuple[int, ...]) -> Matrix:
        """Squared distances of items from the support along one feature, in units of its relevance."""
        parts = ((items[:, j, None] - self.support[:, j]) * self.own_relevances[j] for j in feature)
        result = np.zeros((len(items), len(self.support)))
        for part in parts:
            result += part * part
        return result

    def _near(self, items: Matrix) -> Matrix:
        """Squared distances of items from the support, all features together."""
        # From the support's middle: far from the origin, squares lose their digits.
        middle = self.support.mean(axis=0)
        return _squares((items - middle) * self.relevances, (self.support - middle) * self.relevances)

    @property
    def peak(self) -> float:
        """k(x, x)."""
        return self.together**2 + self.alone**2

    def in_units(self, scaler: Scaler) -> Kernel:
        """The same for features in the user's units."""
        # A feature that was not learned from has no relevance, and adds a constant.
        blocks = tuple(tuple(scaler.columns[list(block)].tolist()) for block in self.blocks)
        n_features = len(features_of(blocks, len(scaler.sizes)))
        alone = self.alone * np.sqrt(n_features / max(len(self.features), 1))
        relevances, own = scaler.slope(self.relevances), scaler.slope(self.own_relevances)
        return Kernel(scaler.point(self.support), self.together, alone, relevances, own, blocks)


def features_of(blocks: tuple[tuple[int, ...], ...], d: int) -> tuple[tuple[int, ...], ...]:
    """The columns of each feature, d columns in all: those of a block are one feature."""
    taken = {j for block in blocks for j in block}
    return (*((j,) for j in range(d) if j not in taken), *blocks)


@dataclass(frozen=True, eq=False)
class Bumps:
    """A smooth function of the features: weights (m,) of the kernel's bumps; or k of them, (m, k)."""

    kernel: Kernel
    weights: Matrix

    def __call__(self, items: Matrix) -> Matrix:
        """(n,) or (n, k) values at items, a block of them at a time."""
        size = max(1, BLOCK // max(len(self.weights), 1))
        blocks = [self.kernel(items[begin : begin + size]) for begin in range(0, len(items), size)]
        return np.concatenate([block @ self.weights for block in blocks])

    def slopes(self, items: Matrix) -> Matrix:
        """(n, d) derivatives along the features."""
        return self.kernel.slopes(items, self.weights)

    def in_units(self, scaler: Scaler) -> Bumps:
        """The same for features in the user's units."""
        return Bumps(self.kernel.in_units(scaler), self.weights)

    def to_dict(self) -> dict[str, Any]:
        """In plain types, for JSON."""
        return {
            "support": self.kernel.support.tolist(),
            "weights": self.weights.tolist(),
            "together": self.kernel.together,
            "alone": self.kernel.alone,
            "relevances": self.kernel.relevances.tolist(),
            "own_relevances": self.kernel.own_relevances.tolist(),
            **({"blocks": [list(block) for block in self.kernel.blocks]} if self.kernel.blocks else {}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], d: int) -> Bumps:
        """From `to_dict`, for d features; ValueError where the numbers do not fit together."""
        support = np.array(data["support"], dtype=float)
        weights, own, relevances = (
            np.array(data[name], dtype=float) for name in ("weights", "own_relevances", "relevances")
        )
        sizes = (float(data["together"]), float(data["alone"]))
        one_size = weights.ndim == 1 and support.shape == (len(weights), d)
        if not one_size or any(values.shape != (d,) for values in (relevances, own)):
            raise ValueError("support, weights and relevances are not of one size")
        given = (support, weights, relevances, own, np.array(sizes))
        if not all(np.isfinite(values).all() for values in given):
            raise ValueError("numbers must be finite")
        blocks = tuple(tuple(map(int, block)) for block in data.get("blocks", ()))
        places = [j for block in blocks for j in block]
        if not all(blocks) or len(set(places)) < len(places) or not all(0 <= j < d for j in places):
            raise ValueError("blocks must be different columns")
        return cls(Kernel(support, *sizes, relevances, own, blocks), weights)


def _squares(one: Matrix, other: Matrix) -> Matrix:
    """Squared distances of all rows of one to all of the other."""
    result: Matrix = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * (one @ other.T)
    return np.maximum(result, 0.0)
