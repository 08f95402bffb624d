"""People made up, with a known truth: the paper's synthetic protocol."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from coombs.data.comparisons import Comparisons
from coombs.data.tables import FloatArray, InputError
from coombs.random_state import RandomState, generator

SMALLEST_NORM = 0.5
"""The paper's threshold on |M|_F."""
SMALLEST_SINGULAR_VALUE = 0.25
"""Its threshold on M's least singular value."""
SMALLEST_PULL = 0.2
"""Its threshold on |M u| / |u|."""


@dataclass(frozen=True)
class Preferences:
    """A simulated person: items, their answers, and the truth behind them."""

    items: FloatArray
    pairs: NDArray[np.intp]
    y: NDArray[np.int8]
    ideal_point: FloatArray
    metric: FloatArray

    @property
    def distances(self) -> FloatArray:
        """True squared distances of the items from the ideal point."""
        return squared_distances(self.items, self.ideal_point, self.metric)

    @property
    def comparisons(self) -> Comparisons:
        """The answers as the one datum."""
        return Comparisons(self.items, self.pairs, y=self.y)


def make_preferences(
    n_items: int = 100,
    n_features: int = 2,
    n_comparisons: int = 100,
    identity: bool = False,
    noise: str | float | None = None,
    random_state: RandomState = None,
) -> Preferences:
    """Draw a person and their answers by the paper's synthetic protocol.

    Items are uniform on [-2, 2]^d and u on [-1, 1]^d; M = L'L with L standard normal, drawn again
    until |M|_F > 0.5, its least singular value > 0.25 and |M u| / |u| > 0.2. Pairs are drawn
    without repetition, and y = +1 where the first of a pair is nearer to u.

    Parameters
    ----------
    n_items, n_features, n_comparisons : sizes
    identity : M is the identity instead
    noise : None; "logistic", where the first is preferred with probability
        1 / (1 + exp(d_first - d_second)); or a rate between 0 and 1 at which answers are flipped
    random_state : seed, generator or None

    Returns
    -------
    Preferences, with items, pairs, y, ideal_point, metric, distances and comparisons

    Examples
    --------
    >>> person = make_preferences(n_comparisons=3, random_state=0)
    >>> person.comparisons
    Comparisons(3 answers about 100 items with 2 features)
    """
    sizes = (("n_items", n_items, 2), ("n_features", n_features, 1), ("n_comparisons", n_comparisons, 1))
    for name, size, least in sizes:
        if not isinstance(size, Integral) or isinstance(size, bool) or size < least:
            raise InputError(f"{name} is {size!r}; it must be a whole number of at least {least}.")
    rng = generator(random_state)
    items = rng.uniform(-2.0, 2.0, (n_items, n_features))
    metric, ideal_point = draw_truth(n_features, identity, rng)
    pairs = draw_pairs(n_items, n_comparisons, rng)
    y = draw_answers(squared_distances(items, ideal_point, metric), pairs, noise, rng)
    return Preferences(items, pairs, y, ideal_point, metric)


def draw_truth(n_features: int, identity: bool, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """M and u past the paper's three thresholds."""
    while True:
        root = rng.standard_normal((n_features, n_features))
        metric = np.eye(n_features) if identity else root.T @ root
        u = rng.uniform(-1.0, 1.0, n_features)
        large = np.linalg.norm(metric) > SMALLEST_NORM
        regular = np.linalg.svd(metric, compute_uv=False)[-1] > SMALLEST_SINGULAR_VALUE
        if large and regular and np.linalg.norm(metric @ u) > SMALLEST_PULL * np.linalg.norm(u):
            return metric, u


def draw_pairs(n_items: int, n_comparisons: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Different unordered pairs, uniformly, in random order within each."""
    possible = n_items * (n_items - 1) // 2
    if not 1 <= n_comparisons <= possible:
        raise InputError(
            f"n_comparisons is {n_comparisons}; {n_items} items have {possible} different pairs, "
            f"so it must be between 1 and {possible}."
        )
    code = rng.choice(possible, n_comparisons, replace=False, shuffle=True)
    # Pair number c is (high, low) with c = high (high - 1) / 2 + low.
    high = ((1.0 + np.sqrt(1.0 + 8.0 * code)) / 2).astype(np.intp)
    high -= high * (high - 1) // 2 > code
    high += (high + 1) * high // 2 <= code
    pairs = np.column_stack([high, code - high * (high - 1) // 2])
    return np.where(rng.random((n_comparisons, 1)) < 0.5, pairs, pairs[:, ::-1]).astype(np.intp)


def draw_answers(
    distances: FloatArray, pairs: NDArray[np.intp], noise: str | float | None, rng: np.random.Generator
) -> NDArray[np.int8]:
    """y for each pair, with the noise that was asked for."""
    margin = distances[pairs[:, 1]] - distances[pairs[:, 0]]
    if noise is None:
        first = margin > 0
    elif noise == "logistic":
        first = rng.random(len(pairs)) < expit(margin)
    elif isinstance(noise, Real) and not isinstance(noise, bool) and 0 <= float(noise) <= 1:
        first = (margin > 0) ^ (rng.random(len(pairs)) < float(noise))
    else:
        raise InputError(f"noise is {noise!r}; it must be None, 'logistic' or a rate between 0 and 1.")
    return np.where(first, 1, -1).astype(np.int8)


def squared_distances(items: FloatArray, ideal_point: FloatArray, metric: FloatArray) -> FloatArray:
    """(x - u)' M (x - u) for every item."""
    away = items - ideal_point
    result: FloatArray = np.einsum("ij,jk,ik->i", away, metric, away)
    return result
