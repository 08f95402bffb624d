"""From draws to a fit: the estimate, and the draws in the user's units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.scaling import Scaler
from coombs.estimators.base import Fit
from coombs.inference.infer import DRAWS, Inference, spread_of
from coombs.inference.levels import best_levels
from coombs.inference.posterior import Posterior
from coombs.inference.smooth import Smooth
from coombs.programs import lifted

if TYPE_CHECKING:
    from collections.abc import Callable

    from coombs.data.answers import Answers
    from coombs.data.tables import FloatArray
    from coombs.inference.kernel import Bumps
    from coombs.inference.mixture import Mixture

MOST_EFFECTS = 20_000_000
"""Item effects, of draws times items, up to which all draws are kept."""
LEAST_DRAWS = 256
"""Draws that are kept however many items there are."""
SEED = 0
"""Seed of what is computed after a fit."""


@dataclass(frozen=True)
class TasteFit(Fit):
    """A fit with what predicts beside what describes, in scaled coordinates.

    `predictor` and `linear` are M and v of the scores that rank and predict, to which `bumps` may be added;
    `metric` and the ideal point (NaN if there is none) describe them. `is_distance` says whether scores
    are distances from that ideal point; `described_linear` is the v that belongs to `metric`. `effects` are
    those of the compared items.
    """

    kind: str
    linear: FloatArray
    predictor: FloatArray
    is_distance: bool
    bumps: Bumps | None = None
    mixture: Mixture | None = None
    effects: FloatArray | None = None
    lapse: float = 0.0
    strength: float | None = None
    described_linear: FloatArray | None = None


@dataclass(frozen=True)
class _Mean:
    """Means of one kind's draws, each at unit spread of the items' scores: M, v, effects, log spread."""

    metric: FloatArray
    linear: FloatArray
    effects: FloatArray
    log_spread: float
    lapse: float
    coefficients: FloatArray | None = None

    @classmethod
    def of(cls, part: Inference | Smooth) -> _Mean:
        return cls._of_smooth(part) if isinstance(part, Smooth) else cls._of_quadratic(part)

    @classmethod
    def _of_quadratic(cls, inference: Inference) -> _Mean:
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
            float(np.log(spread).mean()),
            float(inference.scores().lapse.mean()),
        )

    @classmethod
    def _of_smooth(cls, smooth: Smooth) -> _Mean:
        draws, d = smooth.draws, smooth.draws.linear.shape[1]
        of_items = smooth.of_compared()
        spread = spread_of(of_items)
        return cls(
            np.zeros((d, d)),
            (draws.linear / spread[:, None]).mean(axis=0),
            (draws.effects / spread[:, None]).mean(axis=0) if smooth.has_effects else np.zeros(()),
            float(np.log(spread).mean()),
            float(draws.lapse.mean()),
            (draws.coefficients / spread[:, None]).mean(axis=0),
        )


def estimate(whole: Mixture, answers: Answers) -> TasteFit:
    """The mean of the draws, each at unit spread of the items' scores; or the mode."""
    mixture, described = whole.counted, whole.described
    means, weights = [_Mean.of(part) for part in mixture.parts], mixture.weights
    scale = float(np.exp(_mean(means, "log_spread", weights)))
    metric, v = (scale * value for value in _description(described))
    has_ideal = any(_has_ideal(part) for part in described.parts)
    bumps = [
        replace(part.basis, weights=scale * weight * (part.basis.weights @ one.coefficients))
        for part, one, weight in zip(mixture.parts, means, weights, strict=True)
        if isinstance(part, Smooth) and one.coefficients is not None
    ]
    effects = answers.scatter(scale * _mean(means, "effects", weights)) if mixture.has_effects else None
    ideal = np.full(len(v), np.nan)
    if has_ideal:
        ideal = best_levels(lifted.shrunk_ideal(metric, v, 1e-9), v, answers.levels)
    return TasteFit(
        metric=metric,
        ideal_point=ideal,
        distances=np.zeros(answers.n_items),
        objective=described.main.objective,
        status=mixture.status,
        n_iter=sum(part.n_iter for part in whole.parts),
        gap=float("nan"),
        kind=described.main.name,
        linear=scale * _mean(means, "linear", weights),
        predictor=scale * _mean(means, "metric", weights),
        is_distance=len(mixture.parts) == 1 and _is_distance(mixture.parts[0]) and not answers.levels.blocks,
        bumps=bumps[0] if bumps else None,
        mixture=whole,
        effects=effects,
        lapse=float(_mean(means, "lapse", weights)),
        described_linear=v,
    )


def _description(described: Mixture) -> tuple[FloatArray, FloatArray]:
    """M and v, at unit spread: of the kinds with a positive semidefinite metric, if there are any."""
    means = [_Mean.of(part) for part in described.parts]
    shares = np.array([_is_distance(part) for part in described.parts]) * described.weights
    shares = shares / shares.sum() if shares.any() else described.weights
    return _mean(means, "metric", shares), _mean(means, "linear", shares)


def _mean(means: list[_Mean], name: str, shares: FloatArray) -> FloatArray:
    return np.asarray(sum(share * getattr(one, name) for share, one in zip(shares, means, strict=True)))


def _has_ideal(part: Inference | Smooth) -> bool:
    return not isinstance(part, Smooth) and part.target.kind.has_ideal


def _is_distance(part: Inference | Smooth) -> bool:
    """Whether scores are distances from an ideal point."""
    return _has_ideal(part) and part.name != "signed"


def posterior_of(mixture: Mixture, answers: Answers, scaler: Scaler, items: FloatArray) -> Posterior:
    """The draws in the user's units, of all features and all items; of each kind as many as it has weight."""
    mixture = mixture.counted
    has_effects, most = mixture.has_effects, DRAWS
    if has_effects:
        # Every item of the table has an effect in every draw, compared or not.
        most = min(DRAWS, max(LEAST_DRAWS, MOST_EFFECTS // len(items)))
    ends = np.round(np.cumsum(mixture.weights) * most).astype(int)
    counts = np.diff(ends, prepend=0)
    if len(mixture.parts) == 1 and not isinstance(mixture.parts[0], Smooth):
        counts = np.array([min(most, len(mixture.parts[0].draws))])
    smooth = next((part for part in mixture.parts if isinstance(part, Smooth)), None)
    n_coefficients = 0 if smooth is None else smooth.draws.coefficients.shape[1]
    table = _Table(scaler, answers, items if has_effects else items[:0], n_coefficients)
    drawn = [
        table.draws_of_smooth(part, int(count))
        if isinstance(part, Smooth)
        else table.draws_of(part, int(count))
        for part, count in zip(mixture.parts, counts, strict=True)
        if count
    ]
    metrics, linears, points, lapses, effects, coefficients = (
        np.concatenate(parts) for parts in zip(*drawn, strict=True)
    )
    return Posterior(
        scaler.centre,
        metrics,
        linears,
        points,
        1 - (1 - lapses) * (1 - mixture.coin),
        effects if has_effects else None,
        mixture.rhat,
        all(part.sampled for part in mixture.parts),
        None if smooth is None else smooth.basis.in_units(scaler),
        None if smooth is None else coefficients,
    )


@dataclass(frozen=True)
class _Table:
    """Where draws are put: all features, all items that have effects, all weights of a smooth part."""

    scaler: Scaler
    answers: Answers
    items: FloatArray
    n_coefficients: int

    def draws_of(self, inference: Inference, count: int) -> tuple[FloatArray, ...]:
        """M, v, u, lapse, item effects and smooth weights of so many draws, in the user's units."""
        chosen = np.linspace(0, len(inference.draws) - 1, count).astype(int)
        some = replace(inference, draws=inference.draws[chosen])
        scores = some.scores()
        points = np.full(scores.linear.shape, np.nan)
        if inference.target.kind.has_ideal:
            points = some.ideal_points(scores)
        return (
            self.scaler.metric(scores.metric),
            self.scaler.slope(scores.linear),
            self.scaler.point(points),
            scores.lapse,
            self._effects(count, scores.effects, _like_the_others),
            np.zeros((count, self.n_coefficients)),
        )

    def draws_of_smooth(self, smooth: Smooth, count: int) -> tuple[FloatArray, ...]:
        """`draws_of` a smooth taste, which has neither metric nor ideal point."""
        chosen = np.linspace(0, len(smooth.draws.lapse) - 1, count).astype(int)
        linears = smooth.draws.linear[chosen]
        effects = smooth.draws.effects[chosen] if smooth.has_effects else None
        return (
            np.zeros((count, len(self.scaler.sizes), len(self.scaler.sizes))),
            self.scaler.slope(linears),
            self.scaler.point(np.full(linears.shape, np.nan)),
            smooth.draws.lapse[chosen],
            self._effects(count, effects, lambda _: smooth.strangeness(self.scaler.forward(self.items))),
            smooth.draws.coefficients[chosen],
        )

    def _effects(
        self, count: int, drawn: FloatArray | None, size: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """(count, n_items); those of items that were never compared may have any value of a `size`."""
        if drawn is None or not len(self.items):
            return np.zeros((count, len(self.items)))
        result = np.random.default_rng(SEED).standard_normal((count, len(self.items)))
        result *= size(drawn)
        result[:, self.answers.touched] = drawn
        return result


def _like_the_others(effects: FloatArray) -> FloatArray:
    """The deviation of each draw's effects."""
    return np.asarray(effects.std(axis=1, keepdims=True))
