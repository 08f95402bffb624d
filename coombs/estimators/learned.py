"""From draws to a fit: the estimate, and the draws in the user's units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coombs.estimators.base import Fit
from coombs.posterior import Posterior
from coombs.scaling import Scaler
from coombs.solvers import lifted
from coombs.solvers.infer import DRAWS, Inference, extend, spread_of
from coombs.solvers.left_out import LeftOut, leave_out
from coombs.solvers.program import Status
from coombs.solvers.stacking import average, stack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.solvers.formulate import Answers
    from coombs.tables import FloatArray

LARGE_WEIGHT = 0.1
"""A kind with more of the average is worth more draws, and decides how the fit ended."""
SEED = 0
"""Of what is computed after a fit."""


@dataclass(frozen=True)
class Mixture:
    """Kinds of preference, averaged by how well each predicts answers left out; or a single one."""

    parts: tuple[Inference, ...]

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """How well each kind predicts answers from the others."""
        return tuple(leave_out(part, np.random.default_rng(SEED)) for part in self.parts)

    @cached_property
    def weights(self) -> FloatArray:
        """Of the kinds, adding up to 1."""
        return stack(self.left_out) if len(self.parts) > 1 else np.ones(1)

    @cached_property
    def predicted(self) -> LeftOut:
        """How well the average predicts answers from the others."""
        return average(self.left_out) if len(self.parts) > 1 else self.left_out[0]

    def extended(self, rng: np.random.Generator) -> Mixture:
        """With more draws of the kinds that count, and the same weights."""
        parts = [
            extend(part, rng) if is_large else part
            for part, is_large in zip(self.parts, self._is_large, strict=True)
        ]
        result = Mixture(tuple(parts))
        # Cached properties of a frozen record.
        vars(result).update(left_out=self.left_out, weights=self.weights)
        return result

    @property
    def main(self) -> Inference:
        """The kind with the largest weight."""
        return self.parts[int(self.weights.argmax())]

    @property
    def rhat(self) -> float:
        """The worst of the kinds that matter."""
        return max(part.rhat for part in self._large)

    @property
    def status(self) -> Status:
        """How the fit ended, for the kinds that matter."""
        statuses = [part.status for part in self._large]
        return next((status for status in statuses if status is not Status.CONVERGED), Status.CONVERGED)

    @property
    def _is_large(self) -> NDArray[np.bool_]:
        """Whether each kind matters; the largest does in any case."""
        return self.weights >= min(LARGE_WEIGHT, float(self.weights.max()))

    @property
    def _large(self) -> list[Inference]:
        return [part for part, is_large in zip(self.parts, self._is_large, strict=True) if is_large]


@dataclass(frozen=True)
class Learned(Fit):
    """A fit with what is particular to this estimator, in scaled coordinates.

    `predictor` and `linear` are M and v of the scores that rank and predict; `metric` and the ideal point
    describe them, and are the same where they can be.
    """

    rung: str = "full"
    linear: FloatArray | None = None
    predictor: FloatArray | None = None
    mixture: Mixture | None = None
    effects: FloatArray | None = None
    lapse: float = 0.0
    strength: float | None = None
    varies: NDArray[np.bool_] | None = None
    touched: NDArray[np.intp] | None = None


@dataclass(frozen=True)
class _Mean:
    """Of one kind's draws, each at unit spread of the items' scores: M, v, effects, scores, log spread."""

    metric: FloatArray
    linear: FloatArray
    effects: FloatArray
    scores: FloatArray
    log_spread: float
    lapse: float

    @classmethod
    def of(cls, inference: Inference) -> _Mean:
        draws = inference.draws if inference.sampled else inference.mode[None]
        target = inference.target
        meaning = target.scores(draws)
        of_items = target.of_items(meaning)
        spread = spread_of(of_items)
        effects = np.zeros(len(target.items))
        if meaning.effects is not None:
            effects = (meaning.effects / spread[:, None]).mean(axis=0)
        return cls(
            (meaning.metric / spread[:, None, None]).mean(axis=0),
            (meaning.linear / spread[:, None]).mean(axis=0),
            effects,
            (of_items / spread).mean(axis=1),
            float(np.log(spread).mean()),
            float(inference.scores().lapse.mean()),
        )


def estimate(mixture: Mixture) -> Learned:
    """The mean of the draws, each at unit spread of the items' scores; or the mode."""
    means, weights = [_Mean.of(part) for part in mixture.parts], mixture.weights

    def mean(name: str, shares: FloatArray) -> FloatArray:
        total = sum(share * getattr(one, name) for share, one in zip(shares, means, strict=True))
        return np.asarray(total)

    scale = float(np.exp(mean("log_spread", weights)))
    # The description: the kinds with a positive semidefinite metric, if there are any.
    described = np.array([_is_distance(part) for part in mixture.parts]) * weights
    shares = described / described.sum() if described.any() else weights
    metric, v = scale * mean("metric", shares), scale * mean("linear", shares)
    has_ideal = any(part.target.kind.has_ideal for part in mixture.parts)
    u = lifted.shrunk_ideal(metric, v, 1e-9) if has_ideal else np.zeros(len(v))
    main = mixture.main
    n_iter = sum(part.n_iter for part in mixture.parts)
    effects = scale * mean("effects", weights)
    return Learned(
        metric,
        u,
        scale * mean("scores", weights),
        main.objective,
        mixture.status,
        n_iter,
        float("nan"),
        rung=main.target.kind.name,
        linear=scale * mean("linear", weights),
        predictor=scale * mean("metric", weights),
        mixture=mixture,
        effects=effects if any(part.target.effects for part in mixture.parts) else None,
        lapse=float(mean("lapse", weights)),
    )


def _is_distance(inference: Inference) -> bool:
    """Whether scores are distances from an ideal point."""
    return inference.target.kind.has_ideal and inference.target.kind.name != "signed"


def embed(fit: Learned, answers: Answers, varies: NDArray[np.bool_]) -> Learned:
    """The fit with constant features put back, unseen, and items that no answer touches."""
    d, columns = len(varies), np.flatnonzero(varies)
    assert fit.linear is not None

    def matrix(values: FloatArray) -> FloatArray:
        result = np.zeros((d, d))
        result[np.ix_(columns, columns)] = values
        return result

    def vector(values: FloatArray) -> FloatArray:
        result = np.zeros(d)
        result[columns] = values
        return result

    return replace(
        fit,
        metric=matrix(fit.metric),
        ideal_point=vector(fit.ideal_point),
        linear=vector(fit.linear),
        predictor=None if fit.predictor is None else matrix(fit.predictor),
        effects=None if fit.effects is None else answers.scatter(fit.effects),
        distances=answers.scatter(fit.distances),
        varies=varies,
        touched=answers.touched,
    )


def posterior_of(fit: Learned, scaler: Scaler, n_items: int) -> Posterior:
    """The draws in the user's units, of all features and all items; of each kind as many as it has weight."""
    mixture, varies, touched = fit.mixture, fit.varies, fit.touched
    assert mixture is not None and varies is not None and touched is not None
    ends = np.round(np.cumsum(mixture.weights) * DRAWS).astype(int)
    counts = np.diff(ends, prepend=0) if len(mixture.parts) > 1 else [len(mixture.parts[0].draws)]
    has_effects = any(part.target.effects for part in mixture.parts)
    drawn = [
        _draws_of(part, int(count), scaler, varies, touched, n_items if has_effects else 0)
        for part, count in zip(mixture.parts, counts, strict=True)
        if count
    ]
    metrics, linears, points, lapses, effects = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    sampled = all(part.sampled for part in mixture.parts)
    return Posterior(
        scaler.centre,
        metrics,
        linears,
        points,
        lapses,
        effects if has_effects else None,
        mixture.rhat,
        sampled,
    )


def _draws_of(
    inference: Inference,
    count: int,
    scaler: Scaler,
    varies: NDArray[np.bool_],
    touched: NDArray[np.intp],
    n_effects: int,
) -> tuple[FloatArray, ...]:
    """M, v, u, lapse and item effects of so many draws, in the user's units."""
    chosen = np.linspace(0, len(inference.draws) - 1, count).astype(int)
    some = replace(inference, draws=inference.draws[chosen])
    scores, columns, d = some.scores(), np.flatnonzero(varies), len(varies)
    metrics, linears, points = np.zeros((count, d, d)), np.zeros((count, d)), np.full((count, d), np.nan)
    metrics[:, columns[:, None], columns] = scores.metric
    linears[:, columns] = scores.linear
    if inference.target.kind.has_ideal:
        points[:] = 0.0
        points[:, columns] = some.ideal_points(scores)
    effects = np.zeros((count, n_effects))
    if scores.effects is not None:
        # An item that was never compared may have any effect that the others have.
        rng = np.random.default_rng(SEED)
        effects = scores.effects.std(axis=1, keepdims=True) * rng.standard_normal((count, n_effects))
        effects[:, touched] = scores.effects
    return (
        metrics / np.outer(scaler.sizes, scaler.sizes),
        linears / scaler.sizes,
        scaler.centre + scaler.sizes * points,
        scores.lapse,
        effects,
    )


def without_ideal(fit: Learned) -> bool:
    """Whether a Euclidean metric is so small that its ideal point is too far away to compute with."""
    assert fit.linear is not None
    short = np.linalg.norm(fit.metric @ fit.ideal_point - fit.linear) > 0.1 * np.linalg.norm(fit.linear)
    return bool(fit.rung == "identity" and fit.mixture is None and short)
