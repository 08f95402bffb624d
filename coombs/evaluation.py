"""The paper's measures of how near an estimate is to the truth."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from coombs.data.tables import FloatArray, InputError

LARGEST = 1e100
"""A number whose median is taken, at most: it is rounded to twelve decimals."""


def ur_error(u_hat: ArrayLike, u: ArrayLike, M: ArrayLike) -> float:
    """Return the ideal-point reconstruction error |u_hat - u|_M^2 / |u|_M^2 under the true metric.

    Parameters
    ----------
    u_hat, u : (d,) estimated and true ideal point
    M : (d, d) true metric

    Returns
    -------
    float from 0, which is exact

    Examples
    --------
    >>> from coombs.evaluation import ur_error
    >>> ur_error([1.0, 0.0], [1.0, 1.0], [[1.0, 0.0], [0.0, 3.0]])
    0.75
    """
    u_hat, u = _numbers(u_hat, u, 1)
    M, _ = _numbers(M, np.zeros((len(u), len(u))), 2)
    with np.errstate(over="ignore", invalid="ignore"):
        away = u_hat - u
        size, error = float(u @ M @ u), float(away @ M @ away)
    if size == 0:
        raise InputError(
            "The true ideal point has length zero in the true metric; the error needs one that has not."
        )
    if not (size > 0 and np.isfinite([size, error]).all() and np.isfinite(error / size)):
        raise InputError(
            "Squared distances overflow or are negative; use other units, and a metric that is one."
        )
    return error / size


def wer_error(M_hat: ArrayLike, M: ArrayLike) -> float:
    """Return the weighted eigenstructure error |L * |V'V_hat| - L|_F^2 / |L|_F^2, M = V L V'.

    Eigenvalues are in descending order on both sides. It is the paper's, so it is squared, and
    it says nothing where eigenvalues of M repeat.

    Parameters
    ----------
    M_hat, M : (d, d) estimated and true metric; their scale does not matter

    Returns
    -------
    float from 0, which is exact

    Examples
    --------
    >>> from coombs.evaluation import wer_error
    >>> wer_error([[2.0, 0.0], [0.0, 1.0]], [[6.0, 0.0], [0.0, 3.0]])
    0.0
    """
    M_hat, M = (_in_own_units(one) for one in _numbers(M_hat, M, 2))
    if M.shape[0] != M.shape[1] or not M.any():
        raise InputError(f"The true metric must be square and not zero; its shape is {M.shape}.")
    values, vectors = _eigen(M)
    _, found = _eigen(M_hat)
    weight = np.diag(values)
    off = weight * np.abs(vectors.T @ found) - weight
    return float((off**2).sum() / (weight**2).sum())


def kendall_tau_distance(d_hat: ArrayLike, d: ArrayLike) -> float:
    """Return the share of item pairs that two lists of distances put in opposite order.

    Of the pairs that the true distances d tell apart; where d_hat ties such a pair, it counts half.
    O(n log n).

    Parameters
    ----------
    d_hat, d : (n,) estimated and true distances of the same items

    Returns
    -------
    float from 0 (the same order) to 1 (reversed)

    Examples
    --------
    >>> from coombs.evaluation import kendall_tau_distance
    >>> kendall_tau_distance([1.0, 2.0, 3.0], [1.0, 3.0, 2.0])
    0.3333333333333333
    """
    d_hat, d = _numbers(d_hat, d, 1)
    pairs = len(d) * (len(d) - 1) // 2
    tied, tied_hat, tied_both = _tied_pairs(d), _tied_pairs(d_hat), _tied_pairs(d, d_hat)
    if tied == pairs:
        raise InputError("All true distances are equal; there is no order to compare with.")
    if tied_hat == pairs:
        return 0.5
    # tau-b = (concordant - discordant) / sqrt(pairs untied in d * pairs untied in d_hat)
    # scipy's asymptotic p-value, which nobody needs here, divides by n - 2.
    # All of scipy.stats takes a third of a second to import.
    from scipy.stats import kendalltau

    tau = kendalltau(d_hat, d, method="exact" if len(d) == 2 else "asymptotic").statistic
    surplus = round(tau * np.sqrt(float(pairs - tied) * (pairs - tied_hat)))
    discordant = (pairs - tied - tied_hat + tied_both - surplus) / 2
    return float(discordant + (tied_hat - tied_both) / 2) / (pairs - tied)


def top_k_fraction(d_hat: ArrayLike, d: ArrayLike, k: int) -> float:
    """Return the share of the true k nearest items that are among the estimated k nearest.

    Parameters
    ----------
    d_hat, d : (n,) estimated and true distances of the same items
    k : whole number from 1 to n

    Returns
    -------
    float from 0 to 1

    Examples
    --------
    >>> from coombs.evaluation import top_k_fraction
    >>> top_k_fraction([0.1, 0.2, 0.3, 0.4], [0.1, 0.4, 0.2, 0.3], 2)
    0.5
    """
    d_hat, d = _numbers(d_hat, d, 1)
    if not isinstance(k, Integral) or not 1 <= k <= len(d):
        raise InputError(f"k is {k}; with {len(d)} items it must be between 1 and {len(d)}.")
    nearest, found = (set(np.argsort(x, kind="stable")[:k].tolist()) for x in (d, d_hat))
    return len(nearest & found) / k


def interpolated_median(values: ArrayLike) -> float:
    """Return the median of discrete values, moved within its step by how many lie below and above.

    With m the median and w the smallest step between different values, m + w (n_above - n_below) /
    (2 n_equal); the plain median where it falls between two values.

    Parameters
    ----------
    values : finite numbers, at least one

    Returns
    -------
    float

    Examples
    --------
    >>> from coombs.evaluation import interpolated_median
    >>> interpolated_median([0.8, 0.9, 0.9, 0.9, 1.0, 1.0])
    0.9166666666666667
    """
    # Rounded, so that 0.1 + 0.2 and 0.3 are one step of a discrete scale.
    x = _floats(values).ravel()
    if not x.size or not (np.abs(x) <= LARGEST).all():
        raise InputError(
            f"The interpolated median needs at least one value, and all of them finite, up to {LARGEST:.0e}."
        )
    x = np.round(x, 12)
    median = float(np.median(x))
    equal = np.isclose(x, median, rtol=0, atol=1e-11)
    different = np.unique(x)
    if not equal.any() or len(different) == 1:
        return median
    step = float(np.diff(different).min())
    below, above = int((x[~equal] < median).sum()), int((x[~equal] > median).sum())
    return median + step * (above - below) / (2 * int(equal.sum()))


def _numbers(estimate: ArrayLike, truth: ArrayLike, ndim: int) -> tuple[FloatArray, FloatArray]:
    """Both as floats, once they are finite and of the same shape."""
    first, second = _floats(estimate), _floats(truth)
    if first.shape != second.shape or first.ndim != ndim:
        kind = "vectors" if ndim == 1 else "matrices"
        shapes = f"{first.shape} and {second.shape}"
        raise InputError(f"The shapes are {shapes}; they must be {kind} of the same shape.")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("The estimate and the truth must be finite numbers; at least one is not.")
    return first, second


def _floats(values: ArrayLike) -> FloatArray:
    """Values as floats."""
    try:
        return np.asarray(values, dtype=float)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"The values must be numbers ({error}).") from error


def _in_own_units(matrix: FloatArray) -> FloatArray:
    """The matrix by its largest entry."""
    largest = float(np.abs(matrix).max(initial=0.0))
    return matrix / largest if largest else matrix


def _eigen(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, largest first, and their vectors."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1], vectors[:, ::-1]


def _tied_pairs(*keys: FloatArray) -> int:
    """Pairs of items that are equal in every key."""
    order = np.lexsort(keys)
    changes = np.zeros(len(order), dtype=bool)
    for key in keys:
        changes[1:] |= key[order][1:] != key[order][:-1]
    sizes = np.bincount(np.cumsum(changes))
    return int((sizes * (sizes - 1) // 2).sum())
