"""What one answer says of a normal margin t ~ N(m, v): p = e / 2 + (1 - e) sigma(t), e the lapse rate.

The logistic function is a mixture of normal distribution functions, sum_i c_i Phi(s_i t), to within 5e-6, and
the mean of each of those over a normal margin is Phi(s_i m / sqrt(1 + s_i^2 v)): nothing is integrated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector

SHARES = (0.060952632540323015, 0.37418873726656715, 0.45835853830469486, 0.10650009188841479)
"""c_i: fitted so that the largest error is the least."""
SCALES = (0.3210660622821051, 0.4751287190430338, 0.6987742362109864, 1.0231338107629027)
"""s_i, per logit."""

TAIL_SCALE = 0.3275911 / math.sqrt(2)
"""1 - Phi(z) is exp(-z^2 / 2) times a polynomial in 1 / (1 + TAIL_SCALE z),"""
TAIL = (0.127414796, -0.142248368, 0.7107068705, -0.7265760135, 0.5307027145)
"""whose coefficients these are, from the first power."""

AT_ONCE = 4_096
"""Answers that are computed at once: so many stay in a processor's cache."""
_SHARES, _SCALES = np.array(SHARES), np.array(SCALES)
_HEIGHTS = _SHARES / math.sqrt(2 * math.pi)
"""What exp(-z^2 / 2) is multiplied by."""


class Tilted(NamedTuple):
    """The mean probability of each answer; the slope and minus the curvature of its logarithm along m."""

    p: Vector
    slope: Vector
    curvature: Vector


def mean_probability(mean: Vector, variance: Vector, lapse: float) -> Vector:
    """Of an answer whose margin is normal, (...) of each."""
    total = np.zeros(np.broadcast(mean, variance).shape)
    for share, scale in zip(SHARES, SCALES, strict=True):
        total += share * ndtr(scale * mean / np.sqrt(1 + scale**2 * variance))
    result: Vector = lapse / 2 + (1 - lapse) * total
    return result


def tilt(mean: Vector, variance: Vector, lapse: float) -> Tilted:
    """What an answer says of a normal margin."""
    m, v, parts = mean.ravel(), variance.ravel(), np.empty((3, mean.size))
    for begin in range(0, mean.size, AT_ONCE):
        some = slice(begin, begin + AT_ONCE)
        _parts(m[some], v[some], parts[:, some])
    total, first, second = parts.reshape(3, *mean.shape)
    # Phi(z) is 1 - tail(z) where z > 0, which is where the mean is.
    total = np.where(mean > 0, 1 - total, total)
    p = lapse / 2 + (1 - lapse) * total
    slope = (1 - lapse) * first / p
    return Tilted(p, slope, slope**2 + (1 - lapse) * second / p)


def _parts(mean: Vector, variance: Vector, out: Matrix) -> None:
    """Sums over i of c_i times 1 - Phi(|z|), a phi(z) and a^2 z phi(z), a = s / sqrt(1 + s^2 v), z = a m."""
    # All s at once, a row each: few answers are worth no more than a call of numpy.
    at = variance + 1 / _SCALES[:, None] ** 2
    np.sqrt(at, out=at)
    np.divide(1.0, at, out=at)
    z = at * mean
    height = z * z
    height *= -0.5
    np.exp(height, out=height)
    np.matmul(_SHARES, tail(z, height), out=out[0])
    height *= at
    np.matmul(_HEIGHTS, height, out=out[1])
    height *= at
    height *= z
    np.matmul(_HEIGHTS, height, out=out[2])


def tail(z: Vector, height: Vector) -> Vector:
    """1 - Phi(|z|), given height = exp(-z^2 / 2), to within 8e-8 (Abramowitz and Stegun, 1964, 7.1.26).

    Not a third as much work as `ndtr`, as the exponential is needed anyway.
    """
    place = np.abs(z)
    place *= TAIL_SCALE
    place += 1.0
    np.divide(1.0, place, out=place)
    result = place * TAIL[-1]
    for coefficient in TAIL[-2::-1]:
        result += coefficient
        result *= place
    result *= height
    return result
