"""Simulated people, with a known truth: the paper's synthetic protocol."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from coombs.data import naming
from coombs.data.comparisons import Comparisons
from coombs.data.tables import FloatArray, InputError
from coombs.random_state import RandomState, generator

SMALLEST_NORM = 0.5
"""The paper's threshold on |M|_F."""
SMALLEST_SINGULAR_VALUE = 0.25
"""The protocol's threshold on M's least singular value."""
SMALLEST_PULL = 0.2
"""The protocol's threshold on |M u| / |u|."""


@dataclass(frozen=True)
class Preferences:
    """A simulated person: items, their answers, and the truth behind them.

    Parameters
    ----------
    items : (n_items, d) features
    pairs, y : (n, 2) positions of the items compared, and (n,) answers: +1 where the first is preferred
    ideal_point, metric : (d,) u and (d, d) M, the truth

    Examples
    --------
    >>> from coombs.simulate import make_preferences
    >>> person = make_preferences(n_items=5, n_comparisons=3, random_state=0)
    >>> person.distances.shape, len(person.comparisons)
    ((5,), 3)
    """

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
    """Return a person and their answers, drawn by the paper's synthetic protocol.

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
    >>> from coombs.simulate import make_preferences
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
    """Return a metric and an ideal point past the paper's three thresholds.

    Parameters
    ----------
    n_features : d
    identity : M is the identity
    rng : numpy generator

    Returns
    -------
    metric, ideal_point : (d, d) M = L'L with L standard normal, and (d,) u, uniform on [-1, 1]^d

    Examples
    --------
    >>> import numpy as np
    >>> from coombs.simulate import draw_truth
    >>> metric, ideal_point = draw_truth(3, False, np.random.default_rng(0))
    >>> metric.shape, ideal_point.shape
    ((3, 3), (3,))
    """
    while True:
        root = rng.standard_normal((n_features, n_features))
        metric = np.eye(n_features) if identity else root.T @ root
        u = rng.uniform(-1.0, 1.0, n_features)
        large = np.linalg.norm(metric) > SMALLEST_NORM
        regular = np.linalg.svd(metric, compute_uv=False)[-1] > SMALLEST_SINGULAR_VALUE
        if large and regular and np.linalg.norm(metric @ u) > SMALLEST_PULL * np.linalg.norm(u):
            return metric, u


def draw_pairs(n_items: int, n_comparisons: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return different unordered pairs, drawn uniformly, the two of each in a random order.

    Parameters
    ----------
    n_items : how many items there are
    n_comparisons : how many pairs, n_items (n_items - 1) / 2 at most
    rng : numpy generator

    Returns
    -------
    (n_comparisons, 2) positions

    Examples
    --------
    >>> import numpy as np
    >>> from coombs.simulate import draw_pairs
    >>> pairs = draw_pairs(3, 3, np.random.default_rng(0))
    >>> sorted(sorted(pair) for pair in pairs.tolist())
    [[0, 1], [0, 2], [1, 2]]
    """
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
    """Return the answer of somebody with these distances to each pair.

    Parameters
    ----------
    distances : (n_items,) squared distances from the ideal point
    pairs : (n, 2) positions
    noise : None, "logistic" or a rate, as for `make_preferences`
    rng : numpy generator

    Returns
    -------
    (n,) of +1 where the first is preferred, -1 where the second is

    Examples
    --------
    >>> import numpy as np
    >>> from coombs.simulate import draw_answers
    >>> pairs, rng = np.array([[0, 1], [1, 0]]), np.random.default_rng(0)
    >>> draw_answers(np.array([1.0, 4.0]), pairs, None, rng).tolist()
    [1, -1]
    """
    margin = distances[pairs[:, 1]] - distances[pairs[:, 0]]
    if noise is None:
        first = margin > 0
    elif isinstance(noise, str) and noise == "logistic":
        first = rng.random(len(pairs)) < expit(margin)
    elif 0 <= naming.as_float(noise) <= 1:
        first = (margin > 0) ^ (rng.random(len(pairs)) < float(noise))
    else:
        raise InputError(f"noise is {noise!r}; it must be None, 'logistic' or a rate between 0 and 1.")
    return np.where(first, 1, -1).astype(np.int8)


def squared_distances(items: FloatArray, ideal_point: FloatArray, metric: FloatArray) -> FloatArray:
    """Return (x - u)' M (x - u) for every item.

    Parameters
    ----------
    items : (n_items, d) features
    ideal_point, metric : (d,) u and (d, d) M

    Returns
    -------
    (n_items,) squared distances

    Examples
    --------
    >>> import numpy as np
    >>> from coombs.simulate import squared_distances
    >>> squared_distances(np.array([[3.0, 0.0], [1.0, 1.0]]), np.zeros(2), np.eye(2)).tolist()
    [9.0, 2.0]
    """
    away = items - ideal_point
    result: FloatArray = np.einsum("ij,jk,ik->i", away, metric, away)
    return result
