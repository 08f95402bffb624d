"""The posterior of one person's weights, in the space of their answers' margins: few answers, few operations.

Margins are t = o + X (w - mean) with w - mean ~ N(0, P). With G = X P X', sites of precisions S and shifts r
(see posteriors.py) and L L' = I + S^1/2 G S^1/2, the covariance of the margins is G - V'V, V = L^-1 S^1/2 G,
that of the weights P - W'W, W = L^-1 S^1/2 X P, and the weights' mean moves by P X' g - W' L^-1 S^1/2 G g,
g = r - S o.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs
from scipy.special import ndtr

from coombs.inference.people.posteriors import LEAST_PRECISION, Posteriors, Sites, update
from coombs.inference.people.tilted import SCALES, SHARES

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.inference.people.population_prior import PopulationPrior

MOST_ANSWERS = 120
"""Answers up to which this is quicker than the general way."""
MOST_PASSES = 12
"""Passes over the answers, at most."""
SETTLED = 1e-5
"""By how much a pass changes what any answer says of its margin, in logits, where passes end."""

_SCALES = np.reshape(SCALES, (-1, 1))
_SHARES = np.array(SHARES)
_DENSITY = _SHARES / np.sqrt(2 * np.pi)


class OnePosterior(NamedTuple):
    """Of each component: means (C, n) and covariances (C, n, n) of the weights, log evidence (C,) of answers.

    `moved` (C, n, D) is by what the means change with the component's. Weights are those of the D coordinates
    and then the effects of `items`.
    """

    means: Matrix
    covariances: Matrix
    moved: Matrix
    log_evidence: Vector
    items: Index


class Margins(NamedTuple):
    """Of the answers' margins: means and variances (A,); S^1/2 (A,), L (A, A) and g (A,)."""

    mean: Vector
    variance: Vector
    root: Vector
    lower: Matrix
    gain: Vector


def posterior_of(
    winners: Index, losers: Index, weights: Vector, phi: Matrix, prior: PopulationPrior
) -> OnePosterior:
    """Given answers about items with coordinates `phi`, by their positions there."""
    covariance, d = prior.covariance, len(prior.root)
    away = phi[winners] - phi[losers]
    design, spread, items = away, covariance @ away.T, np.zeros(0, dtype=np.intp)
    if prior.effect:
        items, incidence = _items(winners, losers)
        design = np.hstack([away, incidence])
        spread = np.concatenate([spread, prior.effect**2 * incidence.T])
    whole, n = design @ spread, design.shape[1]
    own = np.diag(np.append(np.zeros(d), np.full(n - d, prior.effect**2)))
    own[:d, :d] = covariance
    means, covariances, moved, evidence = [], [], [], []
    groups, scales, _ = prior.components
    for mean, scale in zip(prior.means[groups] * scales[:, None], scales.tolist(), strict=True):
        gram, across = whole * scale**2, spread * scale**2
        margins, log_evidence = _settled(gram, away @ mean, weights, prior.lapse)
        _, _, root, lower, gain = margins
        seen = _solved(lower, root[:, None] * across.T)
        change = across @ gain - _solved(lower, root * (gram @ gain)) @ seen
        means.append(np.append(mean, np.zeros(n - d)) + change)
        covariances.append(own * scale**2 - seen.T @ seen)
        moved.append(np.eye(n, d) - seen.T @ _solved(lower, root[:, None] * away))
        evidence.append(log_evidence)
    found = np.array(means), np.array(covariances), np.array(moved), np.array(evidence)
    return OnePosterior(*found, items)


def _items(winners: Index, losers: Index) -> tuple[Index, Matrix]:
    """The items that answers are about, and (A, M) of 1 and -1."""
    items, place = np.unique(np.concatenate([winners, losers]), return_inverse=True)
    rows, incidence = np.arange(len(winners)), np.zeros((len(winners), len(items)))
    incidence[rows, place[: len(rows)]] += 1.0
    incidence[rows, place[len(rows) :]] -= 1.0
    return items, incidence


def _settled(gram: Matrix, offset: Vector, counts: Vector, lapse: float) -> tuple[Margins, float]:
    """Margins after passes until no site changes, and the log evidence.

    As `Cavity.best_sites`, with few calls of numpy, which are most of what one person costs.
    """
    precision, shift = np.zeros((2, len(offset)))
    copies = np.maximum(counts, 1.0)
    for _ in range(MOST_PASSES):
        found = _margins(gram, offset, precision, shift)
        left = np.maximum(1 - precision / copies * found.variance, 1e-6)
        mean, variance = (found.mean - shift / copies * found.variance) / left, found.variance / left
        slope, curvature = _tilt(mean, variance, lapse)
        best = np.maximum(curvature / np.maximum(1 - variance * curvature, 1e-9), LEAST_PRECISION)
        before, precision = shift, counts * best
        shift = counts * (slope + best * (mean + variance * slope))
        if float(np.abs(shift - before).max()) < SETTLED:
            break
    found = _margins(gram, offset, precision, shift)
    log_det = 2 * np.log(found.lower.diagonal()).sum(keepdims=True)
    about = (found.mean[None], found.variance[None], log_det, offset[None])
    one = Posteriors(offset[None, :0], *about, covariances=None, rows=None)
    told = update(one, Sites(precision[None], shift[None]), counts[None], lapse)
    return found, float(told.log_evidence[0])


def _margins(gram: Matrix, offset: Vector, precision: Vector, shift: Vector) -> Margins:
    root, gain = np.sqrt(precision), shift - precision * offset
    scaled = root[:, None] * gram
    inner = scaled * root
    inner.flat[:: len(root) + 1] += 1.0
    lower = dpotrf(inner, lower=1, overwrite_a=1)[0]
    seen, moved = _solved(lower, scaled), gram @ gain
    mean = offset + moved - _solved(lower, root * moved) @ seen
    variance = np.maximum(gram.diagonal() - np.einsum("ab,ab->b", seen, seen), 0.0)
    return Margins(mean, variance, root, lower, gain)


def _solved(lower: Matrix, right: Matrix) -> Matrix:
    """L^-1 of some columns, or of one."""
    result: Matrix = dtrtrs(lower, right, lower=1)[0]
    return result[:, 0] if right.ndim == 1 and result.ndim > 1 else result


def _tilt(mean: Vector, variance: Vector, lapse: float) -> tuple[Vector, Vector]:
    """Slope and minus the curvature along the mean of the log probability of answers with normal margins."""
    # a = s / sqrt(1 + s^2 v), z = a m: p has the parts Phi(z), a phi(z), -a^2 z phi(z), as in tilted.py.
    at = _SCALES / np.sqrt(1 + _SCALES**2 * variance)
    z = at * mean
    height = np.exp(-0.5 * z * z) * at
    factor = (1 - lapse) / (lapse / 2 + (1 - lapse) * (_SHARES @ ndtr(z)))
    slope = (_DENSITY @ height) * factor
    return slope, slope**2 + (_DENSITY @ (height * at * z)) * factor
