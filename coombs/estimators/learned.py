"""From draws to a fit: the estimate, and the draws in the user's units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.estimators.base import Fit
from coombs.posterior import Posterior
from coombs.scaling import Scaler
from coombs.solvers import lifted
from coombs.solvers.infer import Inference, spread_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.solvers.formulate import Answers
    from coombs.tables import FloatArray


@dataclass(frozen=True)
class Learned(Fit):
    """A fit with what is particular to this estimator, in scaled coordinates."""

    rung: str = "full"
    linear: FloatArray | None = None
    inference: Inference | None = None
    effects: FloatArray | None = None
    lapse: float = 0.0
    strength: float | None = None
    varies: NDArray[np.bool_] | None = None
    touched: NDArray[np.intp] | None = None


def estimate(inference: Inference) -> Learned:
    """The mean of the draws, each at unit spread of the items' scores; or the mode."""
    draws = inference.draws if inference.sampled else inference.mode[None]
    target = inference.target
    scores = target.scores(draws)
    of_items = target.of_items(scores)
    spread = spread_of(of_items)
    scale = float(np.exp(np.log(spread).mean()))
    metric = scale * (scores.metric / spread[:, None, None]).mean(axis=0)
    linear = scale * (scores.linear / spread[:, None]).mean(axis=0)
    effects = None if scores.effects is None else scale * (scores.effects / spread[:, None]).mean(axis=0)
    distances = scale * (of_items / spread).mean(axis=1)
    u = lifted.shrunk_ideal(metric, linear, 1e-9) if target.rung.has_ideal else np.zeros(target.d)
    ended = (inference.objective, inference.status, inference.n_iter, float("nan"))
    lapse = float(inference.scores().lapse.mean())
    return Learned(metric, u, distances, *ended, target.rung.name, linear, inference, effects, lapse)


def embed(fit: Learned, answers: Answers, varies: NDArray[np.bool_]) -> Learned:
    """The fit with constant features put back, unseen, and items that no answer touches."""
    d, columns = len(varies), np.flatnonzero(varies)
    metric, u, linear = np.zeros((d, d)), np.zeros(d), np.zeros(d)
    assert fit.linear is not None
    metric[np.ix_(columns, columns)], u[columns], linear[columns] = fit.metric, fit.ideal_point, fit.linear
    effects = None
    if fit.effects is not None:
        effects = answers.scatter(fit.effects)
    return replace(
        fit,
        metric=metric,
        ideal_point=u,
        linear=linear,
        effects=effects,
        distances=answers.scatter(fit.distances),
        varies=varies,
        touched=answers.touched,
    )


def posterior_of(fit: Learned, scaler: Scaler, n_items: int) -> Posterior:
    """The draws in the user's units, of all features and all items."""
    inference, varies, touched = fit.inference, fit.varies, fit.touched
    assert inference is not None and varies is not None and touched is not None
    scores, columns, d = inference.scores(), np.flatnonzero(varies), len(varies)
    count = len(scores.lapse)
    metrics, linears, points = np.zeros((count, d, d)), np.zeros((count, d)), np.zeros((count, d))
    metrics[:, columns[:, None], columns] = scores.metric
    linears[:, columns] = scores.linear
    if inference.target.rung.has_ideal:
        points[:, columns] = inference.ideal_points(scores)
    else:
        points[:] = np.nan
    effects = None
    if scores.effects is not None:
        # An item that was never compared may have any effect that the others have.
        rng = np.random.default_rng(0)
        effects = scores.effects.std(axis=1, keepdims=True) * rng.standard_normal((count, n_items))
        effects[:, touched] = scores.effects
    return Posterior(
        scaler.centre,
        metrics / np.outer(scaler.sizes, scaler.sizes),
        linears / scaler.sizes,
        scaler.centre + scaler.sizes * points,
        scores.lapse,
        effects,
        inference.rhat,
        inference.sampled,
    )


def without_ideal(fit: Learned) -> bool:
    """Whether a Euclidean metric is so small that its ideal point is too far away to compute with."""
    assert fit.linear is not None
    short = np.linalg.norm(fit.metric @ fit.ideal_point - fit.linear) > 0.1 * np.linalg.norm(fit.linear)
    return bool(fit.rung == "identity" and fit.inference is None and short)
