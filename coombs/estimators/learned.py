"""From draws to a fit: the estimate, and the draws in the user's units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.scaling import Scaler
from coombs.estimators.base import Fit
from coombs.inference.averaging import average, by_evidence, predicted_by_evidence, stack
from coombs.inference.infer import DRAWS, Inference, extend, spread_of
from coombs.inference.left_out import LeftOut, pairs_of
from coombs.inference.posterior import Posterior
from coombs.inference.smooth import Smooth
from coombs.programs import lifted
from coombs.programs.program import Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.answers import Answers
    from coombs.data.tables import FloatArray
    from coombs.inference.kernel import Bumps

LARGE_WEIGHT = 0.1
"""A kind with more of the average decides how the fit ended."""
MAY_COUNT = 2e-3
"""A kind with more of it, by a first look, is worth more draws."""
NEGLIGIBLE = 0.01
"""A kind with less of the average is left out of it."""
MOST_EFFECTS = 20_000_000
"""Item effects, of draws times items, up to which all draws are kept."""
LEAST_DRAWS = 256
"""Draws that are kept however many items there are."""
SEED = 0
"""Of what is computed after a fit."""


@dataclass(frozen=True)
class Mixture:
    """Kinds of preference, averaged by their evidence, or by how well each predicts; or a single one."""

    parts: tuple[Inference | Smooth, ...]

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """How well each kind predicts answers from the others."""
        return tuple(part.leave_out() for part in self.parts)

    @property
    def answer_weights(self) -> FloatArray:
        """How often each distinct answer was given."""
        first = self.parts[0]
        return first.answers.weights if isinstance(first, Smooth) else first.target.weights

    @cached_property
    def _probabilities(self) -> FloatArray | None:
        """Of the kinds and, last, of a coin, by the evidence; None where there is none."""
        evidence = np.array([part.log_evidence for part in self.parts])
        if len(evidence) == 1 or not np.isfinite(evidence).all():
            return None
        return by_evidence(evidence, float(self.answer_weights.sum()))

    @cached_property
    def weights(self) -> FloatArray:
        """Of the kinds, adding up to 1."""
        if len(self.parts) == 1:
            return np.ones(1)
        kinds = stack(self.left_out) if self._probabilities is None else self._probabilities[:-1]
        kinds = np.where(kinds < NEGLIGIBLE * kinds.sum(), 0.0, kinds)
        return kinds / kinds.sum() if kinds.sum() > 0 else np.full(len(kinds), 1 / len(kinds))

    @cached_property
    def coin(self) -> float:
        """The probability, in an average, that all was answered at random."""
        return 0.0 if self._probabilities is None else float(self._probabilities[-1])

    @cached_property
    def predicted(self) -> LeftOut:
        """How well the average predicts answers from the others."""
        if len(self.parts) == 1:
            return self.left_out[0]
        if self._probabilities is None:
            return average(self.left_out)
        return predicted_by_evidence(self.left_out, self._probabilities, pairs_of(self.quadratic[0]))

    @property
    def quadratic(self) -> tuple[Inference, ...]:
        """The kinds that have a metric and v, which describe what the others may only predict."""
        return tuple(part for part in self.parts if not isinstance(part, Smooth))

    @property
    def described(self) -> Mixture:
        """Those kinds alone, weighted alike relative to each other; itself if there is nothing else."""
        return self._only(np.array([not isinstance(part, Smooth) for part in self.parts]), coin=0.0)

    @property
    def counted(self) -> Mixture:
        """The kinds that are not left out."""
        return self._only(self.weights > 0, self.coin)

    def _only(self, chosen: NDArray[np.bool_], coin: float) -> Mixture:
        if chosen.all() or not chosen.any():
            return self
        result = Mixture(tuple(part for part, is_chosen in zip(self.parts, chosen, strict=True) if is_chosen))
        weights = self.weights[chosen]
        alike = np.full(len(weights), 1 / len(weights))
        # Cached properties of a frozen record.
        vars(result).update(weights=weights / weights.sum() if weights.sum() > 0 else alike, coin=coin)
        if "left_out" in vars(self):
            vars(result)["left_out"] = tuple(np.array(self.left_out, dtype=object)[chosen])
        return result

    def extended(self, rng: np.random.Generator) -> Mixture:
        """With more draws of the kinds that may count, and weights by what those say."""
        shares = self.weights if self._probabilities is None else self._probabilities[:-1]
        parts = tuple(
            part if isinstance(part, Smooth) or share < MAY_COUNT else extend(part, rng)
            for part, share in zip(self.parts, shares, strict=True)
        )
        is_new = any(new is not old for new, old in zip(parts, self.parts, strict=True))
        return Mixture(parts) if is_new else self

    @property
    def has_effects(self) -> bool:
        """Whether items have effects of their own."""
        return any(part.has_effects for part in self.parts)

    @property
    def main(self) -> Inference | Smooth:
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
    def _large(self) -> list[Inference | Smooth]:
        return [part for part, is_large in zip(self.parts, self._is_large, strict=True) if is_large]


@dataclass(frozen=True)
class Learned(Fit):
    """A fit with what is particular to this estimator, in scaled coordinates.

    `predictor` and `linear` are M and v of the scores that rank and predict, to which `bumps` may be added;
    `metric` and the ideal point describe them, and are the same where they can be.
    """

    kind: str = "full"
    linear: FloatArray | None = None
    predictor: FloatArray | None = None
    bumps: Bumps | None = None
    mixture: Mixture | None = None
    effects: FloatArray | None = None
    lapse: float = 0.0
    strength: float | None = None
    varies: NDArray[np.bool_] | None = None
    touched: NDArray[np.intp] | None = None


@dataclass(frozen=True)
class _Mean:
    """Of one kind's draws, each at unit spread of the items' scores: M, v, effects, log spread."""

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


def estimate(whole: Mixture) -> Learned:
    """The mean of the draws, each at unit spread of the items' scores; or the mode."""
    mixture, described = whole.counted, whole.described
    means, weights = [_Mean.of(part) for part in mixture.parts], mixture.weights

    scale = float(np.exp(_mean(means, "log_spread", weights)))
    metric, v = (scale * value for value in _description(described))
    has_ideal = any(_has_ideal(part) for part in described.parts)
    u = lifted.shrunk_ideal(metric, v, 1e-9) if has_ideal else np.zeros(len(v))
    bumps = [
        replace(part.basis, weights=scale * weight * (part.basis.weights @ one.coefficients))
        for part, one, weight in zip(mixture.parts, means, weights, strict=True)
        if isinstance(part, Smooth) and one.coefficients is not None
    ]
    return Learned(
        metric,
        u,
        np.zeros(0),
        described.main.objective,
        mixture.status,
        sum(part.n_iter for part in whole.parts),
        float("nan"),
        kind=described.main.name,
        linear=scale * _mean(means, "linear", weights),
        predictor=scale * _mean(means, "metric", weights),
        bumps=bumps[0] if bumps else None,
        mixture=whole,
        effects=scale * _mean(means, "effects", weights) if mixture.has_effects else None,
        lapse=float(_mean(means, "lapse", weights)),
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
        # Of all items, from the model, once it is in the user's units.
        distances=np.zeros(answers.n_items),
        varies=varies,
        touched=answers.touched,
    )


def posterior_of(fit: Learned, mixture: Mixture, scaler: Scaler, items: FloatArray) -> Posterior:
    """The draws in the user's units, of all features and all items; of each kind as many as it has weight."""
    mixture = mixture.counted
    varies, touched = fit.varies, fit.touched
    assert varies is not None and touched is not None
    has_effects, most = mixture.has_effects, DRAWS
    if has_effects:
        # Every item of the table has an effect in every draw, compared or not.
        most = min(DRAWS, max(LEAST_DRAWS, MOST_EFFECTS // len(items)))
    ends = np.round(np.cumsum(mixture.weights) * most).astype(int)
    counts = np.diff(ends, prepend=0)
    if len(mixture.parts) == 1 and not isinstance(mixture.parts[0], Smooth):
        counts = np.array([min(most, len(mixture.parts[0].draws))])
    smooth = next((part for part in mixture.parts if isinstance(part, Smooth)), None)
    place = _Place(
        scaler,
        varies,
        touched,
        items,
        has_effects,
        0 if smooth is None else smooth.draws.coefficients.shape[1],
    )
    drawn = [
        _draws_of_smooth(part, int(count), place)
        if isinstance(part, Smooth)
        else _draws_of(part, int(count), place)
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
        None if smooth is None else smooth.basis.in_units(scaler.centre, scaler.sizes, place.columns),
        None if smooth is None else coefficients,
    )


@dataclass(frozen=True)
class _Place:
    """Where draws are put: all features, all items, all weights of a smooth part."""

    scaler: Scaler
    varies: NDArray[np.bool_]
    touched: NDArray[np.intp]
    items: FloatArray
    has_effects: bool
    n_coefficients: int

    @property
    def columns(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.varies)

    def effects(self, count: int, drawn: FloatArray | None, strange: FloatArray | None = None) -> FloatArray:
        """(count, n_items); an item that was never compared may be as `strange`, or as any other."""
        n = len(self.items) if self.has_effects else 0
        if drawn is None or not n:
            return np.zeros((count, n))
        size = drawn.std(axis=1, keepdims=True) if strange is None else strange
        result = np.random.default_rng(SEED).standard_normal((count, n))
        result *= size
        result[:, self.touched] = drawn
        return result


def _draws_of(inference: Inference, count: int, place: _Place) -> tuple[FloatArray, ...]:
    """M, v, u, lapse, item effects and smooth weights of so many draws, in the user's units."""
    chosen = np.linspace(0, len(inference.draws) - 1, count).astype(int)
    some = replace(inference, draws=inference.draws[chosen])
    scores, columns, d, sizes = some.scores(), place.columns, len(place.varies), place.scaler.sizes
    metrics, linears, points = np.zeros((count, d, d)), np.zeros((count, d)), np.full((count, d), np.nan)
    metrics[:, columns[:, None], columns] = scores.metric
    linears[:, columns] = scores.linear
    if inference.target.kind.has_ideal:
        points[:] = 0.0
        points[:, columns] = some.ideal_points(scores)
    return (
        metrics / np.outer(sizes, sizes),
        linears / sizes,
        place.scaler.centre + sizes * points,
        scores.lapse,
        place.effects(count, scores.effects),
        np.zeros((count, place.n_coefficients)),
    )


def _draws_of_smooth(smooth: Smooth, count: int, place: _Place) -> tuple[FloatArray, ...]:
    """The same of a smooth taste, which has neither metric nor ideal point."""
    chosen = np.linspace(0, len(smooth.draws.lapse) - 1, count).astype(int)
    d, sizes = len(place.varies), place.scaler.sizes
    linears = np.zeros((count, d))
    linears[:, place.columns] = smooth.draws.linear[chosen] / sizes[place.columns]
    effects = strange = None
    if smooth.has_effects:
        effects = smooth.draws.effects[chosen]
        strange = smooth.strangeness(place.scaler.forward(place.items)[:, place.columns])
    return (
        np.zeros((count, d, d)),
        linears,
        np.full((count, d), np.nan),
        smooth.draws.lapse[chosen],
        place.effects(count, effects, strange),
        smooth.draws.coefficients[chosen],
    )


def without_ideal(fit: Learned) -> bool:
    """Whether a Euclidean metric is so small that its ideal point is too far away to compute with."""
    assert fit.linear is not None
    short = np.linalg.norm(fit.metric @ fit.ideal_point - fit.linear) > 0.1 * np.linalg.norm(fit.linear)
    return bool(fit.kind == "identity" and fit.mixture is None and short)
