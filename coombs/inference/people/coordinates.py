"""What a person's utility of an item is a weighted sum of, for each kind of preference.

Each kind has coordinates phi(x) of items, so that a utility is w'phi(x), more being better: the features (a
linear taste), their squares, their products (with them, an ideal point and a metric of one's own: M and v are
linear in w), or bumps and an effect of each item (a smooth taste). Coordinates of one block have weights that
are alike before any answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.inference.kernel import Bumps, Kernel, features_of
from coombs.inference.levels import plain_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.tables import Levels

KINDS = ("none", "diagonal", "full", "smooth")
"""Kinds of preference, simplest first."""
SUPPORT = 200
"""Items at which bumps have their middle, at most."""
MOST_BUMPS = 30
"""Independent functions that bumps are made of, at most."""
LEAST_SHARE = 2e-3
"""Share of the largest that the variance of such a function must have."""
RELEVANCE = 0.35
"""Per deviation of a feature: bumps of all features together are about three deviations wide,"""
OWN_RELEVANCE = 0.7
"""those of one feature about one and a half."""
MOST_EFFECTS = 120
"""Items up to which each has an effect of its own."""
LEAST_ANSWERS = 10
"""Answers about each item, on average, for that."""
MOST_PRODUCTS = 105
"""Products of two different features that are taken in, at most."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Of one kind: which products there are, the bumps, how many items have effects; and the blocks.

    `squares` and `products` are columns of the scaled features; `blocks` says which block each coordinate is
    in. `scales` make the coordinates of a block vary by 1 each, on average over its coordinates.
    """

    kind: str
    n_features: int
    squares: Index
    products: Index
    bumps: Bumps | None
    n_effects: int
    blocks: Index
    scales: Vector

    def __call__(self, items: Matrix, known: Index | None = None) -> Matrix:
        """(n, D) of scaled items; `known` says which of the items with effects each is, -1 if none."""
        return self._plain(items, known) * self.scales

    def _plain(self, items: Matrix, known: Index | None) -> Matrix:
        parts = [items, items[:, self.squares] ** 2]
        parts.append(items[:, self.products[:, 0]] * items[:, self.products[:, 1]])
        if self.bumps is not None:
            parts.append(self.bumps(items))
        own = np.zeros((len(items), self.n_effects))
        if known is not None and self.n_effects:
            rows = np.flatnonzero(known >= 0)
            own[rows, known[rows]] = 1.0
        return np.hstack([*parts, own])

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return len(self.blocks)

    def about(self, column: int) -> NDArray[np.bool_]:
        """(D,) whether each coordinate is of a feature, alone or with another; bumps are of none."""
        found = np.zeros(self.size, dtype=bool)
        found[column] = True
        n = self.n_features
        found[n : n + len(self.squares)] = self.squares == column
        n += len(self.squares)
        found[n : n + len(self.products)] = (self.products == column).any(axis=1)
        return found

    @property
    def has_metric(self) -> bool:
        """Whether a utility may be a distance from an ideal point."""
        return len(self.squares) > 0

    def quadratic(self, weights: Matrix) -> tuple[Matrix, Matrix]:
        """M and v, (..., d, d) and (..., d), of weights: the utility is -x'Mx + 2 v'x and what is smooth."""
        plain = weights * self.scales
        d, n_squares, n_products = self.n_features, len(self.squares), len(self.products)
        metric = np.zeros((*plain.shape[:-1], d, d))
        metric[..., self.squares, self.squares] = -plain[..., d : d + n_squares]
        halves = -plain[..., d + n_squares : d + n_squares + n_products] / 2
        one, other = self.products.T
        metric[..., one, other] = metric[..., other, one] = halves
        return metric, plain[..., :d] / 2


def coordinates_of(kind: str, items: Matrix, levels: Levels, n_answers: float) -> Coordinates:
    """Of a kind, for these scaled items and so many answers about them."""
    d = items.shape[1]
    plain = plain_columns(levels, d)
    # The square of a column with two values is no more than the column.
    curved = np.array([j for j in plain if len(np.unique(items[:, j])) > 2], dtype=np.intp)
    squares = curved if kind in ("diagonal", "full") else curved[:0]
    pairs = [(i, j) for k, i in enumerate(plain) for j in plain[k + 1 :]] if kind == "full" else []
    products = np.array(pairs if len(pairs) <= MOST_PRODUCTS else [], dtype=np.intp).reshape(-1, 2)
    bumps = _bumps(items, levels) if kind == "smooth" and d else None
    has_effects = kind == "smooth" and len(items) <= MOST_EFFECTS
    n_effects = len(items) if has_effects and n_answers >= LEAST_ANSWERS * len(items) else 0
    n_effects = n_effects if d else len(items)
    of_features = np.zeros(d, dtype=np.intp)
    for number, block in enumerate(levels.blocks):
        of_features[list(block)] = 1 + number
    first = 1 + len(levels.blocks)
    sizes = [len(squares), len(products), 0 if bumps is None else bumps.weights.shape[1], n_effects]
    rest = [np.full(size, first + k) for k, size in enumerate(sizes)]
    _, blocks = np.unique(np.concatenate([of_features, *rest]), return_inverse=True)
    blank = Coordinates(kind, d, squares, products, bumps, n_effects, blocks, np.ones(len(blocks)))
    spread = blank(items, np.arange(len(items)) if n_effects else None).var(axis=0)
    mean = np.bincount(blocks, spread) / np.bincount(blocks)
    return replace(blank, scales=1 / np.sqrt(np.maximum(mean, 1e-12))[blocks])


def _bumps(items: Matrix, levels: Levels) -> Bumps:
    """Independent functions, the smoothest first, that bumps about the items are made of."""
    support = np.unique(items, axis=0)
    if len(support) > SUPPORT:
        support = support[np.linspace(0, len(support) - 1, SUPPORT).astype(int)]
    d = items.shape[1]
    # Features that are many would otherwise make every item unlike every other.
    relevance = RELEVANCE / np.sqrt(max(len(features_of(levels.blocks, d)) / 3, 1))
    kernel = Kernel(support, 1.0, 1.0, np.full(d, relevance), np.full(d, OWN_RELEVANCE), levels.blocks)
    values, vectors = np.linalg.eigh(kernel(support))
    values, vectors = values[::-1][:MOST_BUMPS], vectors[:, ::-1][:, :MOST_BUMPS]
    kept = values > LEAST_SHARE * values[0]
    return Bumps(kernel, vectors[:, kept] / np.sqrt(values[kept]))
