"""From answers to draws of what a person may want: start, climb or sample, and score what came out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.solvers import hamiltonian, interior, laplace, lifted
from coombs.solvers.ladder import LADDER
from coombs.solvers.losses import LOSSES
from coombs.solvers.minimise import serial
from coombs.solvers.program import Status
from coombs.solvers.target import IDEAL, LAPSE, SCALE, Scores, Target

if TYPE_CHECKING:
    from coombs.solvers.formulate import Answers
    from coombs.solvers.graph import Matrix, Vector
    from coombs.solvers.hamiltonian import Shape


class Effort(NamedTuple):
    """How many chains, and how many moves of each before and while drawing."""

    chains: int
    warm_up: int
    rounds: int


WHOLE = Effort(24, 36, 44)
QUICK = Effort(16, 18, 14)
MORE = Effort(24, 12, 44)
REFRESH = Effort(24, 3, 10)
"""For an estimate; to compare rungs; to go on from a quick one; after a few more answers."""
MOST_SAMPLED = 3_000
"""Up to this many distinct answers the posterior is sampled; beyond, it is narrow enough for a Gaussian."""
MOST_SAMPLED_EFFECTS = 600
MOST_UNKNOWNS = 2_500
APART = 1.5
"""Gelman and Rubin's factor from which the chains have not come together."""
DRAWS = 528
"""Draws that are kept for whoever asks."""
FOLDS, EFFECT_FOLDS = 4, 2
EFFECT_SIZES = (0.3, 1.0, 3.0, 10.0)
"""Parts that answers are cut into, how many of them choose the size of item effects, and from what."""
LOO_DRAWS, LOO_BLOCK = 200, 20_000
FARTHEST = 3.0
"""In units of the items' spread, how far from their centre an ideal point is looked for at first."""
FIRST_CLIMB = 40
START_STRENGTH = 0.002
START_ANSWERS = 3_000
LARGEST_LIFTED = 20
"""The convex program that gives the start, its strength, and where it would cost too much."""


@dataclass(frozen=True)
class Inference:
    """Draws of the posterior of one rung, and how they were made."""

    target: Target
    draws: Matrix
    mode: Vector
    sampled: bool
    status: Status
    objective: float
    n_iter: int
    rhat: float
    shape: Shape | None = None

    def scores(self) -> Scores:
        """What the draws mean."""
        return self.target.scores(self.draws)

    def ideal_points(self, scores: Scores) -> Matrix:
        """(S, d) u with M u = v; of a signed metric, where it is neither better nor worse all around."""
        if self.target.rung.name == "signed":
            points = [
                np.linalg.lstsq(m, v, rcond=1e-9)[0]
                for m, v in zip(scores.metric, scores.linear, strict=True)
            ]
            return np.array(points)
        _, q, _, _ = self.target.hyper(self.draws)
        result: Matrix = np.exp(q)[:, None] * self.draws[:, self.target.own - self.target.d : self.target.own]
        return result

    @property
    def effect_size(self) -> float:
        """A typical size of the item effects."""
        return float(np.exp(self.target.hyper(self.draws)[3]).mean()) if self.target.effects else 0.0

    def leave_one_out(self) -> tuple[float, float]:
        """Accuracy and log loss of foretelling each answer from the others.

        A draw counts by 1 / p, as if the answer had not been given; no draw counts for more than
        sqrt S average ones (Ionides, 2008).
        """
        total = right = loss = 0.0
        for block in range(0, self.target.graph.n_answers, LOO_BLOCK):
            logs, weights = self._log_probabilities(slice(block, block + LOO_BLOCK))
            p = np.exp(logs)
            counts = 1 / p
            counts = np.minimum(counts, counts.mean(axis=1, keepdims=True) * np.sqrt(p.shape[1]))
            foretold = (counts * p).sum(axis=1) / counts.sum(axis=1)
            total += float(weights.sum())
            right += float(weights @ ((np.sign(foretold - 0.5) + 1) / 2))
            loss -= float(weights @ np.log(foretold))
        return right / total, loss / total

    def _log_probabilities(self, rows: slice) -> tuple[Matrix, Vector]:
        """log p of some answers under some draws, and their weights."""
        draws = self.draws[:: max(1, len(self.draws) // LOO_DRAWS)]
        part = self.target.part(rows)
        return part.log_probabilities(draws), part.weights

    def disagreement(self) -> float:
        """How many deviations the answers about single items are off what the features foretell.

        A score test of item effects: with g_i the slope of the log likelihood along an effect of item
        i and h_i its expected square, sum (g_i^2 - h_i) has mean zero if there are none.
        """
        target, n = self.target, len(self.target.items)
        p, _, _ = target.probabilities(self.mode if not self.sampled else self.draws.mean(axis=0))
        if self.sampled:
            p = np.exp(target.log_probabilities(self.draws[:: max(1, len(self.draws) // 64)])).mean(axis=1)
        ends, graph = np.concatenate([target.graph.winners, target.graph.losers]), target.graph
        slope = np.bincount(graph.winners, target.weights * (1 - p), n)
        slope -= np.bincount(graph.losers, target.weights * (1 - p), n)
        expected = np.bincount(ends, np.tile(target.weights * p * (1 - p), 2), n)
        return float((slope**2 - expected).sum() / np.sqrt(2 * (expected**2).sum() + 1e-12))


def infer(
    answers: Answers,
    rung: str,
    rng: np.random.Generator,
    *,
    lapse: float | None = None,
    effect_size: float = 0.0,
    start: tuple[Matrix, Vector] | None = None,
    effort: Effort = WHOLE,
) -> Inference:
    """The posterior of one rung of the ladder, with item effects of about that size if it is not zero.

    `start` is a metric and an ideal point to begin near.
    """
    graph = answers.graph()
    target = Target(answers.items, graph, answers.weights, LADDER[rung], lapse=lapse)
    most = MOST_SAMPLED_EFFECTS if effect_size else MOST_SAMPLED
    unknowns = target.n + (effect_size > 0) * len(answers.items)
    # Counted votes make as narrow a posterior as so many answers.
    few = max(graph.n_answers, float(answers.weights.sum())) <= most and unknowns <= MOST_UNKNOWNS
    z = begin(target, *(rough(answers, rng) if start is None else start), exact=not few)
    with serial(len(answers.items)):
        if few:
            return _sampled(target, z, rng, effect_size, effort)
        return _gaussian(target, z, rng, effect_size)


def rough(answers: Answers, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    """A metric and an ideal point by the lifted convex program, of some of the answers if they are many."""
    d = answers.items.shape[1]
    if not 0 < d <= LARGEST_LIFTED or len(answers.winners) > laplace.MANY_ANSWERS:
        return np.eye(d) / max(d, 1), np.zeros(d)
    few = answers.some(START_ANSWERS, rng)
    with serial(len(few.items)):
        y = interior.solve(lifted.program(few, LOSSES["logistic"], START_STRENGTH), 1e-5, 60).y
    metric, v = lifted.quadratic_of(y, d, "full")
    return metric, lifted.shrunk_ideal(metric, v)


def begin(target: Target, metric: Matrix, u: Vector, exact: bool = False) -> Vector:
    """Unknowns near a metric and an ideal point, where they are likely a priori unless `exact`."""
    d = max(target.d, 1)
    size = max(float(np.trace(metric)) / d**2, 1e-12)
    z = np.zeros(target.n)
    scale = (np.log(size) / 2 - SCALE[0]) / SCALE[1]
    u = np.clip(u, -FARTHEST, FARTHEST)
    if not exact:
        scale = np.clip(scale, -2.0, 2.0)
    z[: target.own] = target.rung.start(metric / size, u / np.exp(IDEAL[0]), exact)
    z[target.own] = scale
    return z


def _sampled(
    target: Target, z: Vector, rng: np.random.Generator, effect_size: float, effort: Effort
) -> Inference:
    """By Hamiltonian Monte Carlo, all chains from one point."""
    if effect_size:
        target = target.with_effects()
        z = laplace.climb_effects(target, z, effect_size).z
    return _go_on(target, np.tile(z, (effort.chains, 1)), hamiltonian.Shape.at(target, z), rng, effort)


def _go_on(
    target: Target, start: Matrix, shape: Shape, rng: np.random.Generator, effort: Effort
) -> Inference:
    chains = hamiltonian.sample(
        target.single(), start, shape, rng, warm_up=effort.warm_up, rounds=effort.rounds
    )
    return _of_chains(target, chains)


def _of_chains(target: Target, chains: hamiltonian.Chains) -> Inference:
    draws = chains.draws.astype(float)
    flat = draws.reshape(-1, target.n)
    values = target.value(flat)
    scores = target.of_items(target.scores(flat)).T
    spread = scores / spread_of(scores.T)[:, None]
    rhat = float(np.median(hamiltonian.split_rhat(spread.reshape(*draws.shape[:2], -1))))
    kept = flat[np.linspace(0, len(flat) - 1, min(DRAWS, len(flat))).astype(int)]
    best = int(values.argmin())
    n_iter = draws.shape[0] * draws.shape[1]
    status = Status.CONVERGED if rhat < APART else Status.CHAINS_APART
    return Inference(target, kept, flat[best], True, status, float(values[best]), n_iter, rhat, chains.shape)


def finish(quick: Inference, rng: np.random.Generator) -> Inference:
    """As many draws as an estimate needs, going on from a quick one."""
    if quick.shape is None:
        return quick
    chosen = rng.choice(len(quick.draws), MORE.chains, replace=False)
    with serial(len(quick.target.items)):
        return _go_on(quick.target, quick.draws[chosen], quick.shape, rng, MORE)


def refresh(before: Inference, answers: Answers, rng: np.random.Generator) -> Inference:
    """Given a few more answers: the chains go on from draws chosen by how well they foretell those."""
    old, shape = before.target, before.shape
    assert shape is not None
    target = Target(answers.items, answers.graph(), answers.weights, old.rung, lapse=old.lapse)
    gain = old.value(before.draws) - target.value(before.draws)
    chance = np.exp(gain - gain.max())
    chosen = rng.choice(len(gain), REFRESH.chains, p=chance / chance.sum())
    with serial(len(answers.items)):
        return _go_on(target, before.draws[chosen], shape, rng, REFRESH)


def cross_validate(
    answers: Answers, rung: str, rng: np.random.Generator, *, lapse: float | None, effect_size: float
) -> tuple[float, float]:
    """Accuracy and log loss on answers left out, cut by unordered pair."""
    total = right = loss = 0.0
    for kept, left in answers.folds(FOLDS, rng):
        found = infer(kept, rung, rng, lapse=lapse, effect_size=effect_size, effort=QUICK)
        p = np.exp(_about(found.target, left).log_probabilities(found.draws)).mean(axis=1)
        total += float(left.weights.sum())
        right += float(left.weights @ ((np.sign(p - 0.5) + 1) / 2))
        loss -= float(left.weights @ np.log(p))
    return (right / total, loss / total) if total else (float("nan"), float("nan"))


def choose_effect_size(
    answers: Answers,
    rung: str,
    rng: np.random.Generator,
    *,
    lapse: float | None,
    start: tuple[Matrix, Vector],
) -> float:
    """The size of item effects that foretells answers left out best, zero being none."""
    sizes = (0.0, *EFFECT_SIZES)
    totals = np.zeros(len(sizes))
    for kept, left in list(answers.folds(FOLDS, rng))[:EFFECT_FOLDS]:
        target = Target(kept.items, kept.graph(), kept.weights, LADDER[rung], lapse=lapse)
        features = _climb(target, begin(target, *start, exact=True), rng)[0].z
        more = target.with_effects()
        for i, size in enumerate(sizes):
            z = laplace.climb_effects(more, features, size).z if size else features
            foretold = _about(more if size else target, left).log_probabilities(z[None])[:, 0]
            totals[i] -= left.weights @ foretold
    return sizes[int(totals.argmin())]


def _about(target: Target, answers: Answers) -> Target:
    """The same unknowns, with other answers about the same items."""
    settings = {"lapse": target.lapse, "effects": target.effects}
    return Target(target.items, answers.graph(), answers.weights, target.rung, **settings)  # type: ignore[arg-type]


def spread_of(scores: Matrix) -> Vector:
    """Deviation of the (N, C) scores of each draw; 1 where they are all alike."""
    spread = scores.std(axis=0)
    return np.where(spread > 1e-9 * np.abs(scores).max(axis=0, initial=1e-9), spread, 1.0)


def _gaussian(target: Target, z: Vector, rng: np.random.Generator, effect_size: float) -> Inference:
    """By Laplace's approximation about the mode."""
    mode, root = _climb(target, z, rng)
    if effect_size:
        target = target.with_effects()
        mode = laplace.climb_effects(target, mode.z, effect_size)
    draws = laplace.draw(target, mode.z, root, DRAWS, rng)
    return Inference(target, draws, mode.z, False, mode.status, mode.value, mode.n_iter, 1.0)


def _climb(target: Target, z: Vector, rng: np.random.Generator) -> tuple[laplace.Mode, Matrix]:
    """The mode, and a root of the covariance there.

    On some of the answers first, if they are many; then in coordinates that the curvature makes round.
    """
    if target.graph.n_answers > laplace.MANY_ANSWERS and target.rung.name == "full":
        mode = _newton(target, z, rng)
        root = laplace.whitening(laplace.curvature(target, mode.z, rng))
        if mode.status is not Status.CONVERGED:
            mode = laplace.climb(target, mode.z, root=root)
        return mode, root
    z = laplace.settled(target, laplace.climb(target, laplace.settled(target, z), max_iter=FIRST_CLIMB).z)
    root = laplace.whitening(laplace.curvature(target, z, rng))
    return laplace.climb(target, z, root=root), root


def _newton(target: Target, z: Vector, rng: np.random.Generator) -> laplace.Mode:
    scores = target.scores(z[None])
    scores, mode = laplace.newton(target, scores.metric[0], scores.linear[0], rng)
    u = lifted.shrunk_ideal(scores.metric[0], scores.linear[0], 0.0)
    z = begin(target, scores.metric[0], u, exact=True)
    if target.lapse is None:
        z[target.own + 2] = (np.log(scores.lapse[0] / (1 - scores.lapse[0])) - LAPSE[0]) / LAPSE[1]
    return replace(mode, z=laplace.settled(target, z))
