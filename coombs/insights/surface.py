"""The surface that pictures draw: the learned distance, or score, where it turns and what it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coombs.data.tables import FloatArray
from coombs.estimators.taste import TasteEstimator
from coombs.inference.posterior import Posterior, quantiles

if TYPE_CHECKING:
    from coombs.estimators.base import PairEstimator
    from coombs.model import Model

FLAT = 1e-9
"""Eigenvalues within this share of the largest count as zero."""
SAME = 1e-6
"""Places nearer to each other than this, in spreads of the features, are one."""


def model_of(est: PairEstimator) -> Model:
    """What pictures draw: the ideal-point description of the fit."""
    return est.described()[0] if isinstance(est, TasteEstimator) else est.model_


def posterior_of(est: PairEstimator) -> Posterior | None:
    """The draws of that, if there are any."""
    return est.described()[1] if isinstance(est, TasteEstimator) else None


def scales_of(est: PairEstimator) -> FloatArray:
    """(d,) spreads of the features."""
    scales = est.model_.scales
    return np.ones(est.n_features_in_) if scales is None else scales


def scaled_metric(est: PairEstimator) -> FloatArray:
    """M of the distance that is drawn, in units of the features' spreads."""
    scales = scales_of(est)
    return model_of(est).metric * np.outer(scales, scales)


def has_ideal(est: PairEstimator) -> bool:
    """Whether the ideal point is one: neither missing, nor a place that is worst along some direction."""
    values = np.linalg.eigvalsh(scaled_metric(est))
    return bool(np.isfinite(est.ideal_point_).all() and values[0] >= -FLAT * max(values[-1], 0.0))


def kind_of(est: PairEstimator, plane: list[int]) -> str:
    """What a turning point is when the features of a plane change."""
    metric = scaled_metric(est)
    values, zero = np.linalg.eigvalsh(metric[np.ix_(plane, plane)]), FLAT * np.abs(metric).max()
    if (np.abs(values) <= zero).all():
        return "none"
    return "ideal" if values[0] >= -zero else "worst" if values[-1] <= zero else "saddle"


def gradient(est: PairEstimator, point: FloatArray) -> FloatArray:
    """Of the squared distance, or the score, at a point."""
    model = model_of(est)
    away = point - (model.ideal_point if model.centre is None else model.centre)
    return 2 * model.metric @ away + (0.0 if model.slope is None else model.slope)


def gradients(posterior: Posterior, point: FloatArray) -> FloatArray:
    """(S, d) of each draw's score at a point."""
    return 2 * posterior.metrics @ (point - posterior.centre) - 2 * posterior.linears


def turning_point(est: PairEstimator, plane: list[int], base: FloatArray) -> FloatArray:
    """Where the distance turns as the features of a plane change; NaN where it is flat."""
    block = np.ix_(plane, plane)
    if not scaled_metric(est)[block].any():
        return np.full(len(plane), np.nan)
    # f(b + s) = f(b) + g's + s'M s is stationary at s = -M^-1 g / 2.
    slopes = gradient(est, base)[plane]
    step = _pseudo_solve(model_of(est).metric[block][None], slopes[None], scales_of(est)[plane])[0]
    result: FloatArray = base[plane] + step
    return result


def turning_interval(
    est: PairEstimator, plane: list[int], base: FloatArray, level: float
) -> FloatArray | None:
    """(k, 2) ends for each coordinate of the turning point; of an average, by the draws that have one."""
    posterior = posterior_of(est)
    if posterior is None:
        return None
    some = ~np.isnan(posterior.ideal_points).any(axis=1)
    blocks, slopes = posterior.metrics[:, plane][:, :, plane], gradients(posterior, base)[:, plane]
    steps = _pseudo_solve(blocks[some], slopes[some], scales_of(est)[plane])
    return quantiles(base[plane] + steps, level)


def is_ideal(est: PairEstimator, plane: list[int], base: FloatArray, turning: FloatArray) -> bool:
    """Whether a turning point is the ideal point of all features."""
    point = base.copy()
    point[plane] = turning
    # A comparison with NaN is False.
    return bool((np.abs(point - est.ideal_point_) < SAME * scales_of(est)).all())


def _pseudo_solve(metrics: FloatArray, slopes: FloatArray, scales: FloatArray) -> FloatArray:
    """-M^-1 g / 2 for each of a stack, not moving along what M does not see, in units of `scales`."""
    inverse = np.linalg.pinv(metrics * np.outer(scales, scales), rcond=FLAT, hermitian=True)
    result: FloatArray = -0.5 * scales * np.einsum("sij,sj->si", inverse, slopes * scales)
    return result
