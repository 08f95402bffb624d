"""How well answers are predicted from the others: each pair of items left out in turn.

A draw of the posterior counts by 1 / p of what is left out, the largest counts smoothed by a Pareto tail
(Vehtari, Gelman and Gabry, 2017). Where the tail is so heavy that this cannot be trusted (k > 0.6), the pair
is really left out: the draws are annealed to the posterior without it, and moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coombs.blas import serial
from coombs.inference import laplace
from coombs.inference.sampler import Ensemble

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.held_out import HeldOut
    from coombs.inference.infer import Inference
    from coombs.inference.target import Target

HEAVY = 0.6
"""Pareto's k from which importance weights are not trusted."""
MOST_DRAWS = 2_048
"""Draws that are weighted."""
BLOCK = 2_000_000
"""Weights that are held at once."""
CHAINS = 96
"""Chains of a refit."""
ROUNDS = 4
"""Rounds of a refit, after the annealing."""
MOST_REFITS = 20
"""Pairs that are refitted one by one, at most; of more, ten parts of them are."""
PARTS = 10
"""Parts of the pairs that are left out one after the other where pairs are many."""
STEPS = 100
"""Steps from the mode given all answers to that given fewer."""
FEW_PARTS = 4
"""Parts of the answers where the posterior is a Gaussian."""


@dataclass(frozen=True)
class LeftOut:
    """The probability of each row of `held_out` as predicted from answers about something else."""

    probabilities: Vector
    held_out: HeldOut

    @property
    def weights(self) -> Vector:
        """Of the answers; zero for what they say of two of several things."""
        return self.held_out.weights

    @property
    def accuracy(self) -> float:
        """Weighted share of pairs that are put in the right order; half of those with probability 1/2.

        Of ratings: of two on the same scale, each left out, the share that is put in the right order.
        """
        held = self.held_out
        right = (np.sign(self.probabilities - 0.5) + 1) / 2
        total, sure = float(held.shares.sum()), float(held.shares @ right)
        if len(held.better):
            away = self.probabilities[held.better] - self.probabilities[held.worse]
            rated = float(len(np.union1d(held.better, held.worse)))
            total, sure = total + rated, sure + rated * float(((np.sign(np.round(away, 9)) + 1) / 2).mean())
        return sure / max(total, 1e-300)

    @property
    def log_loss(self) -> float:
        """Weighted mean of -log p of an answer, in units in which chance has log 2 = 0.693."""
        chance = self.weights @ np.log(self.held_out.chance)
        return float(np.log(2) * (self.weights @ np.log(self.probabilities)) / chance)


def leave_out(inference: Inference, rng: np.random.Generator) -> LeftOut:
    """Every answer predicted from those about other pairs."""
    if not inference.sampled:
        return _by_parts(inference, rng)
    target, tested = inference.target, inference.answers.held_out
    pairs = tested.questions
    n_pairs, draws = int(pairs.max()) + 1, inference.draws
    draws = draws[np.linspace(0, len(draws) - 1, min(MOST_DRAWS, len(draws))).astype(int)]
    predicted, heavy = np.empty(len(pairs)), np.zeros(n_pairs)
    order = np.argsort(pairs, kind="stable")
    size = max(1, BLOCK // len(draws))
    with serial(len(target.items)):
        for begin in range(0, len(order), size):
            rows = order[begin : begin + size]
            # A pair that is cut in two by a block would be left out by halves: only of huge data.
            logs = _log_probabilities(inference, rows, draws)
            _, place = np.unique(pairs[rows], return_inverse=True)
            ratios = np.zeros((int(place.max()) + 1, len(draws)))
            np.add.at(ratios, place, -tested.weights[rows][:, None] * logs)
            counts, k = smoothed(ratios)
            heavy[pairs[rows]] = k[place]
            predicted[rows] = (counts[place] * np.exp(logs)).sum(axis=1)
        # So few that all can be refitted.
        doubtful = heavy > HEAVY if n_pairs > MOST_REFITS else np.ones(n_pairs, dtype=bool)
        _refit(inference, pairs, np.flatnonzero(doubtful), predicted, rng)
    return LeftOut(np.clip(predicted, 1e-9, 1 - 1e-9), tested)


def _by_parts(inference: Inference, rng: np.random.Generator) -> LeftOut:
    """Answers in a few parts, each predicted by the mode given the others: for posteriors that are narrow."""
    target, tested = inference.target, inference.answers.held_out
    n_pairs, predicted = int(tested.questions.max()) + 1, tested.chance.copy()
    part = rng.permutation(np.arange(n_pairs) % FEW_PARTS)[tested.questions]
    with serial(len(target.items)):
        for left in range(min(FEW_PARTS, n_pairs) if n_pairs > 1 else 0):
            kept = target.reweighted(np.where(part[: tested.n_answers] == left, 0.0, target.weights))
            rows = np.flatnonzero(part == left)
            predicted[rows] = np.exp(_log_probabilities(inference, rows, _mode(kept, inference)[None])[:, 0])
    return LeftOut(np.clip(predicted, 1e-9, 1 - 1e-9), tested)


def _mode(kept: Target, inference: Inference) -> Vector:
    """The mode given fewer answers, from that given all."""
    assert inference.tuning is not None
    root = inference.tuning.root
    start, size = inference.mode, inference.effect_size
    if not kept.effects:
        widths = laplace.with_widths(kept, start, root)
        return laplace.maximise(kept, start, root=widths, max_iter=STEPS).y
    return laplace.maximise_effects(kept, start, root, size, start=start, max_iter=STEPS).y


def _log_probabilities(inference: Inference, rows: Index, draws: Matrix) -> Matrix:
    """log p of some of the tested rows under some draws, (rows, S)."""
    target, tested = inference.target, inference.answers.held_out
    graph = type(target.graph)(tested.winners[rows], tested.losers[rows], target.graph.n_items)
    return target.like(graph, tested.weights[rows]).log_probabilities(draws)


def _refit(
    inference: Inference, pairs: Index, heavy: Index, predicted: Vector, rng: np.random.Generator
) -> None:
    """Predict answers about the heavy pairs from draws of the posterior without them."""
    parts = [np.array([pair]) for pair in heavy]
    if len(heavy) > MOST_REFITS:
        parts = np.array_split(rng.permutation(heavy), PARTS)
    for part in parts:
        left, tested = np.isin(pairs, part), inference.answers.held_out
        if left.all():
            predicted[left] = tested.chance[left]
            continue
        draws = without(inference, left[: tested.n_answers], rng)
        predicted[left] = np.exp(_log_probabilities(inference, np.flatnonzero(left), draws)).mean(axis=1)


def without(inference: Inference, left: NDArray[np.bool_], rng: np.random.Generator) -> Matrix:
    """Draws of the posterior without some answers, from those with them."""
    whole = inference.target.single()
    chosen = np.linspace(0, len(inference.draws) - 1, CHAINS).astype(int)
    kept = whole.reweighted(np.where(left, 0.0, whole.weights))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ensemble = Ensemble(kept, inference.draws[chosen], rng, inference.tuning)
        ensemble.anneal(whole.weights)
        rounds = []
        for _ in range(ROUNDS):
            ensemble.move()
            rounds.append(ensemble.y)
    return np.concatenate(rounds).astype(float)


def smoothed(log_ratios: Matrix) -> tuple[Matrix, Vector]:
    """Importance weights, adding up to 1 in each row, with Pareto-smoothed tails; and Pareto's k."""
    ratios = np.exp(log_ratios - log_ratios.max(axis=1, keepdims=True))
    n_draws = ratios.shape[1]
    tail = int(min(0.2 * n_draws, 3 * np.sqrt(n_draws)))
    if tail < 5:
        return ratios / ratios.sum(axis=1, keepdims=True), np.full(len(ratios), np.inf)
    order = np.argpartition(ratios, n_draws - tail - 1, axis=1)
    largest = order[:, n_draws - tail :]
    cut = np.take_along_axis(ratios, order[:, n_draws - tail - 1 : n_draws - tail], axis=1)
    values = np.take_along_axis(ratios, largest, axis=1)
    ranks = np.argsort(values, axis=1)
    excess = np.maximum(np.take_along_axis(values, ranks, axis=1) - cut, 1e-300)
    k, sigma = _fit_pareto(excess)
    quantile = (np.arange(1, tail + 1) - 0.5) / tail
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        steep = np.where(np.abs(k) < 1e-6, 1e-6, k)[:, None]
        smooth = cut + sigma[:, None] * np.expm1(-steep * np.log1p(-quantile)) / steep
    flat = (excess[:, -1] <= 1e-12) | ~np.isfinite(smooth).all(axis=1)
    smooth = np.where(flat[:, None], np.take_along_axis(values, ranks, axis=1), np.minimum(smooth, 1.0))
    np.put_along_axis(ratios, np.take_along_axis(largest, ranks, axis=1), smooth, axis=1)
    return ratios / ratios.sum(axis=1, keepdims=True), np.where(excess[:, -1] <= 1e-12, -1.0, k)


def _fit_pareto(excess: Matrix) -> tuple[Vector, Vector]:
    """Shape k and scale of generalised Pareto tails, one a row, sorted (Zhang and Stephens, 2009)."""
    n = excess.shape[1]
    n_grid = 30 + int(np.sqrt(n))
    grid = 1 - np.sqrt(n_grid / (np.arange(1, n_grid + 1) - 0.5))
    quarter = excess[:, int(n / 4 + 0.5) - 1]
    theta = 1 / excess[:, -1:] + grid / (3 * quarter[:, None])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shape = np.log1p(-theta[:, :, None] * excess[:, None, :]).mean(axis=2)
        log_likelihood = n * (np.log(-theta / shape) - shape - 1)
        log_likelihood = np.where(np.isfinite(log_likelihood), log_likelihood, -np.inf)
        weights = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        best = (theta * weights).sum(axis=1)
        k = np.log1p(-best[:, None] * excess).mean(axis=1)
        sigma = -k / best
    # A weak prior towards 1/2, as much as ten draws.
    k = np.where(np.isfinite(k), (k * n + 5) / (n + 10), np.inf)
    return k, np.where(np.isfinite(sigma), sigma, 1.0)
