"""The ideal-point description of a fit: the learned distance, or score, and where it turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.tables import FloatArray, InputError
from coombs.inference.posterior import Posterior, quantiles
from coombs.insights.selection import thin
from coombs.insights.statements import Combination
from coombs.words import loadings

if TYPE_CHECKING:
    from coombs.estimators.base import PairEstimator
    from coombs.model import Model

SMALL_SHARE = 0.005
"""Directions with less of the metric are left out."""
SMALL_LOADING = 0.15
"""Parts of a direction below this are left out."""
FLAT = 1e-9
"""Eigenvalues within this share of the largest count as zero."""
SAME = 1e-6
"""Places nearer to each other than this, in spreads of the features, are one."""
MOST_ITEMS = 300
"""Items that importance is computed from, evenly thinned."""
MOST_DRAWS = 200
"""Draws that its interval is computed from, evenly thinned."""
MOST_NUMBERS = 4_000_000
"""Draws times items times features that its interval is computed from."""


def scaled_metric(model: Model) -> FloatArray:
    """M in units of the features' spreads."""
    scales = np.ones(len(model.metric)) if model.scales is None else model.scales
    with np.errstate(over="ignore"):
        metric: FloatArray = model.metric * np.outer(scales, scales)
    if not np.isfinite(metric).all():
        raise InputError("The model's metric is too large for its scales; they must fit.")
    return metric


def gradient(model: Model, points: FloatArray) -> FloatArray:
    """(..., d) of the squared distance, or the score, at points: 2 M (x - u), or 2 M (x - c) + slope."""
    away = points - (model.ideal_point if model.centre is None else model.centre)
    result: FloatArray = 2 * away @ model.metric
    return result if model.slope is None else result + model.slope


def combinations(model: Model, names: Sequence[str]) -> tuple[Combination, ...]:
    """Eigenvectors of M in units of the features' spreads, the most important first, as far as told."""
    shares, vectors = model.interactions()
    metric = scaled_metric(model)
    return tuple(
        combination(vector, names, share, anti_ideal=bool(vector @ metric @ vector < 0))
        for share, vector in zip(shares.tolist(), vectors.T, strict=True)
        if share >= SMALL_SHARE
    )


def combination(
    vector: FloatArray, names: Sequence[str], share: float = 0.0, anti_ideal: bool = False
) -> Combination:
    """The loadings worth telling, the largest first and positive."""
    told = tuple((names[j], weight) for j, weight in loadings(vector, SMALL_LOADING))
    return Combination(share, told, anti_ideal)


def shares_of(values: FloatArray) -> FloatArray:
    """Sizes as shares of their sum."""
    result: FloatArray = np.abs(values) / max(float(np.abs(values).sum()), np.finfo(float).tiny)
    return result


@dataclass(frozen=True, eq=False)
class Surface:
    """What describes a fit: a model, without a smooth part if possible, and its draws, if there are any.

    `ideal` is the fit's ideal point, NaN where it has none.
    """

    model: Model
    posterior: Posterior | None
    ideal: FloatArray

    @classmethod
    def of(cls, est: PairEstimator) -> Surface:
        """Of any fitted estimator."""
        # It needs scikit-learn, which takes a second to import; a model alone goes without.
        from coombs.estimators.taste import TasteEstimator

        if isinstance(est, TasteEstimator):
            return cls(*est.described(), est.ideal_point_)
        return cls(est._fitted_model(), None, est.ideal_point_)

    @property
    def scales(self) -> FloatArray:
        """(d,) spreads of the features."""
        return np.ones(len(self.ideal)) if self.model.scales is None else self.model.scales

    @cached_property
    def scaled_metric(self) -> FloatArray:
        """M in units of the features' spreads."""
        return scaled_metric(self.model)

    @cached_property
    def has_ideal(self) -> bool:
        """Whether the ideal point is one: neither missing, nor a place that is worst along some direction."""
        values = np.linalg.eigvalsh(self.scaled_metric)
        return bool(np.isfinite(self.ideal).all() and values[0] >= -FLAT * max(values[-1], 0.0))

    def kind_of(self, plane: list[int]) -> str:
        """What a turning point is when the features of a plane change."""
        values = np.linalg.eigvalsh(self.scaled_metric[np.ix_(plane, plane)])
        zero = FLAT * np.abs(self.scaled_metric).max()
        if (np.abs(values) <= zero).all():
            return "none"
        return "ideal" if values[0] >= -zero else "worst" if values[-1] <= zero else "saddle"

    def gradient(self, points: FloatArray) -> FloatArray:
        """What one unit more of each feature costs at points."""
        return gradient(self.model, points)

    def gradients(self, point: FloatArray) -> FloatArray:
        """(S, d) of each draw's score at a point; of the estimate alone without draws."""
        if self.posterior is None:
            return self.gradient(point)[None]
        draws = self.posterior
        return 2 * draws.metrics @ (point - draws.centre) - 2 * draws.linears

    def turning_point(self, plane: list[int], base: FloatArray) -> FloatArray:
        """Where the distance turns as the features of a plane change; NaN where it is flat."""
        block = np.ix_(plane, plane)
        if not self.scaled_metric[block].any():
            return np.full(len(plane), np.nan)
        # f(b + s) = f(b) + g's + s'M s is stationary at s = -M^-1 g / 2.
        slopes = self.gradient(base)[plane]
        step = _pseudo_solve(self.model.metric[block][None], slopes[None], self.scales[plane])[0]
        result: FloatArray = base[plane] + step
        return result

    def turning_interval(self, plane: list[int], base: FloatArray, level: float) -> FloatArray | None:
        """(k, 2) ends for each coordinate of the turning point; of an average, by the draws that have one."""
        if self.posterior is None:
            return None
        some = ~np.isnan(self.posterior.ideal_points).any(axis=1)
        blocks, slopes = self.posterior.metrics[:, plane][:, :, plane], self.gradients(base)[:, plane]
        steps = _pseudo_solve(blocks[some], slopes[some], self.scales[plane])
        return quantiles(base[plane] + steps, level)

    def is_ideal(self, plane: list[int], base: FloatArray, turning: FloatArray) -> bool:
        """Whether a turning point is the ideal point of all features."""
        point = base.copy()
        point[plane] = turning
        # A comparison with NaN is False.
        return bool((np.abs(point - self.ideal) < SAME * self.scales).all())

    def importance(self, items: FloatArray, level: float) -> tuple[FloatArray, FloatArray | None]:
        """(d,) how much each feature decides among items, as shares, and (d, 2) ends of their intervals.

        That is how much the score changes, by the root of its mean square, when an item gets the feature of
        another item and keeps the rest.
        """
        middle = items.mean(axis=0)
        away = (items - middle)[thin(len(items), MOST_ITEMS)]
        shares = swap_shares(self.model.metric[None], self.gradient(middle)[None], away)[0]
        if self.posterior is None:
            return shares, None
        some = thin(len(self.posterior), min(MOST_DRAWS, 1 + MOST_NUMBERS // away.size))
        draws = swap_shares(self.posterior.metrics[some], self.gradients(middle)[some], away)
        return shares, quantiles(draws, level)


def swap_shares(metrics: FloatArray, gradients: FloatArray, away: FloatArray) -> FloatArray:
    """(S, d) shares of root-mean-square changes of s(z) = z'Mz + g'z, z being `away` from the middle.

    With a feature's own a and another item's b, and h = 2 sum_k M_jk z_k + g_j over the other
    features k, the change is M_jj (a^2 - b^2) + (a - b) h; its mean square comes from moments.
    """
    scale = np.maximum(away.std(axis=0), np.finfo(float).tiny)
    a, m, g = away / scale, metrics * np.outer(scale, scale), gradients * scale
    own = np.diagonal(m, axis1=1, axis2=2)[:, None, :]
    h = 2 * (a @ m - own * a) + g[:, None, :]
    m1, m2, m3, m4 = (np.mean(a**k, axis=0) for k in (1, 2, 3, 4))
    squares = 2 * own[:, 0] ** 2 * (m4 - m2**2)
    mixed = (a**3 * h).mean(1) - m1 * (a**2 * h).mean(1) - m2 * (a * h).mean(1) + m3 * h.mean(1)
    slopes = (a**2 * h**2).mean(1) - 2 * m1 * (a * h**2).mean(1) + m2 * (h**2).mean(1)
    change = np.sqrt(np.maximum(squares + 2 * own[:, 0] * mixed + slopes, 0.0))
    result: FloatArray = change / np.maximum(change.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return result


def _pseudo_solve(metrics: FloatArray, slopes: FloatArray, scales: FloatArray) -> FloatArray:
    """-M^-1 g / 2 for each of a stack, not moving along what M does not see, in units of `scales`."""
    inverse = np.linalg.pinv(metrics * np.outer(scales, scales), rcond=FLAT, hermitian=True)
    result: FloatArray = -0.5 * scales * np.einsum("sij,sj->si", inverse, slopes * scales)
    return result
