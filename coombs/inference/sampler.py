"""Many short Hamiltonian Monte Carlo chains, started by annealing (sequential Monte Carlo).

All chains begin as draws of the prior, or of the posterior given other weights of the answers. The weights
then change step by step to those asked for; at each step draws are resampled by how well they predict
what is new (Del Moral, Doucet and Jasra, 2006) and moved once. So there is no mode to find, and no start
to forget. The chains share a mass matrix, which is their own covariance, and a step size; they go on until
the means that they report are known well enough, and are judged by nested R-hat (Margossian et al., 2022).
In the end all draws are shifted to where their mean gradient is zero, as it is on average: a control variate
(Mira, Solgi and Imparato, 2013) for whatever is computed from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.inference.convergence import Gradients, Monitor
from coombs.progress import ProgressBar

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector
    from coombs.inference.target import Density, Target

ACCEPTANCE = 0.8
"""The share of accepted moves that the step size aims at."""
FIRST_STEP = 0.5
"""The first step size, in deviations of the posterior."""
LARGEST_STEP = 1.2
"""The largest step size, in deviations of the posterior."""
TRAJECTORY = 2.0
"""How far a move goes, in deviations of the posterior."""
FEWEST_LEAPFROGS = 3
"""Leapfrog steps of a move, at least."""
MOST_LEAPFROGS = 30
"""Leapfrog steps of a move, at most."""
RESAMPLE = 0.5
"""Annealing steps are chosen so that this share of the chains stays effective."""
MOST_STAGES = 400
"""Annealing steps, at most."""
PRIOR_SHARE = 3.0
"""Weight of a chain in a new mass matrix, in which the one before counts as one for each unknown."""
FEWEST_CHAINS = 96
"""Chains, at least, where answers are many."""
CHAIN_ANSWERS = 120_000
"""Chains times answers, at most, unless that leaves fewer chains than the minimum."""
LEVEL_ANSWERS = 400
"""Answers that the annealing begins with, if there are more."""
LEVEL_RATIO = 3
"""Factor by which the answers grow from one level of the annealing to the next."""
ISLANDS = 2
"""Groups of chains that are annealed apart, as one may miss the bulk of the posterior."""
CHECK_EVERY = 4
"""Rounds between two checks of whether the means are known well enough."""
OBEDIENT_MOVES = 3
"""Moves of draws of the prior, before and after they are made to obey declared directions."""
POOL = 32
"""Draws of the prior for each draw that must obey declared directions."""


@dataclass(frozen=True)
class Effort:
    """How many chains, and how many moves of each.

    Drawing ends after `least` rounds if the standard errors are small enough, and after `most` anyway.
    """

    chains: int
    warm_up: int
    least: int
    most: int


@dataclass(frozen=True)
class Tuning:
    """What the chains share: a root of their covariance (the inverse mass matrix) and a step size."""

    root: Matrix
    step: float = FIRST_STEP

    @classmethod
    def of(cls, y: Matrix, weights: Vector | None, n_dense: int, before: Tuning | None = None) -> Tuning:
        """From where the chains are; unknowns after the first `n_dense` get variances only.

        Chains are few for so many entries: what they say is averaged with what was known `before`, in its
        shape, or with their variances.
        """
        if not y.shape[1]:
            return cls(np.zeros((0, 0)))
        covariance = np.atleast_2d(np.cov(y.T.astype(float), aweights=weights))
        variances = np.maximum(np.diag(covariance), 1e-12) * (1 + 1e-6)
        count = len(y) if weights is None else weights.sum() ** 2 / (weights @ weights)
        known = np.diag(variances) if before is None else before.root @ before.root.T
        known *= np.median(variances / np.diag(known))
        share = n_dense / (n_dense + PRIOR_SHARE * count)
        covariance = (1 - share) * covariance + share * known
        covariance[n_dense:], covariance[:, n_dense:] = 0.0, 0.0
        covariance[np.diag_indices(len(variances))] = np.maximum(np.diag(covariance), variances)
        step = FIRST_STEP if before is None else before.step
        return cls(np.linalg.cholesky(covariance).astype(float), step)

    @property
    def n_leapfrogs(self) -> int:
        """Leapfrog steps of a move."""
        return int(np.clip(np.ceil(TRAJECTORY / self.step), FEWEST_LEAPFROGS, MOST_LEAPFROGS))


@dataclass(frozen=True)
class Chains:
    """Draws (rounds, C, n), how the chains were tuned, and how well they agree."""

    draws: Matrix
    tuning: Tuning
    acceptance: float
    rhat: float
    standard_errors: Vector
    n_gradients: int
    log_evidence: float
    is_annealed: bool = True


class Ensemble:
    """The chains: where they are, the density there, and how they are moved.

    They may be in equal `islands`, one after the other, that are resampled apart.
    """

    def __init__(
        self,
        target: Target,
        y: Matrix,
        rng: np.random.Generator,
        tuning: Tuning | None,
        islands: int = 1,
    ) -> None:
        self.target, self.rng = target, rng
        self.y: Matrix = y.astype(target.dtype)
        self.n_dense = target.n
        if target.n > len(y) // 2:
            self.n_dense = target.n - len(target.items) * target.effects - target.n_anchors
        self.tuning = Tuning.of(self.y, None, self.n_dense) if tuning is None else tuning
        self.n_gradients = 0
        self.is_annealed = True
        self.evidence = np.zeros(islands)
        self._at: Density | None = None

    @property
    def at(self) -> Density:
        """The density where the chains are."""
        if self._at is None:
            self._at = self.target.density(self.y)
        return self._at

    @property
    def log_evidence(self) -> float:
        """log of the mean of what each island estimates."""
        return float(np.logaddexp.reduce(self.evidence) - np.log(len(self.evidence)))

    def anneal(self, before: Vector) -> None:
        """From draws given these weights of the answers to draws given the target's."""
        whole, after = self.target, self.target.weights
        news = np.asarray(after - before, whole.dtype)
        self._anneal(
            lambda y: (news @ whole.log_probabilities(y)).astype(float),
            lambda share: whole.reweighted(before + share * (after - before)),
        )

    def obey(self, share: float) -> None:
        """From draws of the prior that obey declared directions to a share to draws that do entirely."""
        whole = self.target
        self._anneal(whole.log_obeyed, whole.softened, share)

    def _anneal(
        self,
        gain_of: Callable[[Matrix], Vector],
        target_at: Callable[[float], Target],
        share: float = 0.0,
    ) -> None:
        """Step by step to a target whose log density is larger by a gain, `target_at` a share of it."""
        whole = self.target
        for _ in range(MOST_STAGES):
            gain = gain_of(self.y).reshape(len(self.evidence), -1)
            step = min(1.0 - share, *(longest_step(island, RESAMPLE * len(island)) for island in gain))
            share = 1.0 if step >= (1.0 - share) * (1 - 1e-9) else share + step
            best = gain.max(axis=1, keepdims=True)
            weights = np.exp(step * (gain - best))
            self.evidence += step * best[:, 0] + np.log(weights.mean(axis=1))
            self._resample(weights)
            self.target = target_at(share)
            self._at = None
            self.move(0.5)
            if share == 1.0:
                break
        self.is_annealed = share == 1.0
        self.target = whole

    def _resample(self, weights: Vector) -> None:
        """Copies in proportion to the weights, (islands, C), next to each other (systematic resampling)."""
        self.tuning = Tuning.of(self.y, weights.ravel(), self.n_dense, self.tuning)
        totals, chosen = np.cumsum(np.atleast_2d(weights), axis=1), []
        size = totals.shape[1]
        for i, total in enumerate(totals):
            ticks = (self.rng.random() + np.arange(size)) / size * total[-1]
            chosen.append(i * size + np.minimum(np.searchsorted(total, ticks), size - 1))
        self.y = self.y[np.concatenate(chosen)]

    def join(self, count: int) -> None:
        """So many chains out of the islands, by their evidence: one that missed the bulk of it has little."""
        weights = np.exp(self.evidence - self.evidence.max())
        ends = np.round(np.cumsum(weights) / weights.sum() * count).astype(int)
        size = len(self.y) // len(weights)
        chosen = [
            i * size + self.rng.permutation(np.arange(share) % size)
            for i, share in enumerate(np.diff(ends, prepend=0))
        ]
        self.y, self._at = self.y[np.concatenate(chosen)], None

    def learn(self) -> None:
        """The mass matrix from where the chains are now."""
        self.tuning = Tuning.of(self.y, None, self.n_dense, self.tuning)

    def move(self, gain: float = 0.0) -> float:
        """Each chain moved once, or left where it was; `gain` says how much the step size adapts."""
        target, dtype, tuning = self.target, self.target.dtype, self.tuning
        root = tuning.root.astype(dtype)
        across = np.ascontiguousarray(root.T)
        n_chains, n = self.y.shape
        step: Vector = tuning.step * self.rng.uniform(0.6, 1.4, (n_chains,)).astype(dtype)
        momentum: Matrix = self.rng.standard_normal((n, n_chains), dtype=dtype)  # type: ignore[assignment]
        energy = self.at.value + _kinetic(momentum)
        # Unknowns by chains, as the target computes. Half a momentum step, then position and momentum in
        # turn, then half a momentum step.
        y = np.ascontiguousarray(self.y.T)
        momentum = momentum - step / 2 * (across @ self.at.gradient.T)
        for _ in range(tuning.n_leapfrogs - 1):
            y = y + step * (root @ momentum)
            momentum = momentum - step * (across @ target.gradient(y.T).T)
        y = (y + step * (root @ momentum)).T
        at = target.density(y)
        momentum = momentum - step / 2 * (across @ at.gradient.T)
        self.n_gradients += tuning.n_leapfrogs
        # A move that diverges ends in an infinite or undefined energy, and is not accepted.
        probability = np.nan_to_num(np.exp(np.minimum(0.0, energy - at.value - _kinetic(momentum))))
        moved = self.rng.random(n_chains) < probability
        self.y = np.where(moved[:, None], y, self.y)
        self._at = type(at)(
            np.where(moved, at.likelihood, self.at.likelihood),
            np.where(moved, at.prior, self.at.prior),
            np.where(moved[:, None], at.gradient, self.at.gradient),
        )
        mean = float(probability.mean())
        longer = tuning.step * float(np.exp(gain * (mean - ACCEPTANCE)))
        self.tuning = replace(tuning, step=min(max(longer, 1e-3), LARGEST_STEP))
        return mean


def longest_step(gain: Vector, effective: float) -> float:
    """The longest step t <= 1 for which weights exp(t gain) leave so many chains effective."""

    def enough(step: float) -> bool:
        weights = np.exp(step * (gain - gain.max()))
        return bool(weights.sum() ** 2 >= effective * (weights @ weights))

    low, high = 0.0, 1.0
    if enough(high):
        return high
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return max(low, 1e-6)


def _kinetic(momentum: Matrix) -> Vector:
    """|p|^2 / 2 of each chain, (n, C)."""
    result: Vector = (momentum * momentum).sum(axis=0, dtype=float) / 2
    return result


def sample(
    levels: list[Target],
    rng: np.random.Generator,
    effort: Effort,
    quantities: Callable[[Matrix], Matrix],
    enough: Callable[[Monitor], bool],
    *,
    start: Matrix | None = None,
    before: Vector | None = None,
    tuning: Tuning | None = None,
) -> Chains:
    """Draws of the last of the `levels`, targets whose first answers are those of the one before.

    From the prior, or from `start`, draws of the first level given the weights `before`. `quantities` are
    what is reported of a round's points, (C, q); `enough` says when their means are known well enough.
    """
    with (
        np.errstate(over="ignore", invalid="ignore", divide="ignore"),
        ProgressBar(effort.warm_up + effort.least, "sampling preferences") as progress,
    ):
        if start is None:
            first = draw_prior(levels[0], effort.chains // ISLANDS * ISLANDS, rng)[0]
            ensemble = _annealed(levels, first, rng, islands=ISLANDS)
            ensemble.join(affordable(effort, levels[-1]))
        else:
            ensemble = _annealed(levels, start, rng, before, tuning)
        for _ in range(effort.warm_up):
            ensemble.move(1.0)
            ensemble.learn()
            progress.advance()
        draws: list[Matrix] = []
        accepted, monitor, gradients = [], Monitor(quantities), Gradients(levels[-1].n)
        while len(draws) < effort.most:
            accepted.append(ensemble.move())
            draws.append(ensemble.y)
            monitor.add(ensemble.y)
            gradients.add(ensemble.at.gradient)
            progress.advance()
            if len(draws) >= effort.least and len(draws) % CHECK_EVERY == 0 and enough(monitor):
                break
    return Chains(
        np.array(draws) - gradients.shift().astype(levels[-1].dtype),
        ensemble.tuning,
        float(np.mean(accepted)),
        monitor.rhat(),
        monitor.standard_errors(),
        ensemble.n_gradients,
        ensemble.log_evidence,
        ensemble.is_annealed,
    )


def draw_prior(target: Target, count: int, rng: np.random.Generator) -> tuple[Matrix, float]:
    """Draws of the prior that obey the declared directions, and the logarithm of the mass that does.

    The best of many draws, which are then annealed and moved.
    """
    if target.directions is None:
        return target.draw_prior(count, rng), 0.0
    parts = [target.draw_prior(count, rng) for _ in range(POOL)]
    logs = np.concatenate([target.log_obeyed(part) for part in parts])
    share = longest_step(logs, count / 2)
    weights = np.exp(share * (logs - logs.max()))
    log_mass = share * float(logs.max()) + float(np.log(weights.mean()))
    chosen = rng.choice(len(logs), count, p=weights / weights.sum())
    empty = target.reweighted(0.0 * target.weights)
    ensemble = Ensemble(empty.softened(share), np.concatenate(parts)[chosen], rng, None)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(OBEDIENT_MOVES):
            ensemble.move(0.5)
            ensemble.learn()
        ensemble.target, ensemble._at = empty, None
        if share < 1.0:
            ensemble.obey(share)
        for _ in range(OBEDIENT_MOVES):
            ensemble.learn()
            ensemble.move(0.5)
    return ensemble.y, log_mass + ensemble.log_evidence


def _annealed(
    levels: list[Target],
    y: Matrix,
    rng: np.random.Generator,
    before: Vector | None = None,
    tuning: Tuning | None = None,
    islands: int = 1,
) -> Ensemble:
    """Draws of the last level, from draws of the first given the weights `before`, or of the prior."""
    weights = np.zeros(0) if before is None else before
    evidence, is_annealed = np.zeros(islands), True
    for target in levels:
        n_new = target.graph.n_answers - len(weights)
        ensemble = Ensemble(target, y, rng, tuning, islands)
        ensemble.anneal(np.concatenate([weights, np.zeros(n_new)]))
        weights, tuning = target.weights, ensemble.tuning
        evidence += ensemble.evidence
        is_annealed &= ensemble.is_annealed
        most = max(FEWEST_CHAINS, CHAIN_ANSWERS // max(target.graph.n_answers, 1)) // islands
        y = np.concatenate([island[:most] for island in np.split(ensemble.y, islands)])
    ensemble.evidence, ensemble.is_annealed = evidence, is_annealed
    return ensemble


def affordable(effort: Effort, target: Target) -> int:
    """Fewer chains where answers are many: the posterior is the narrower then."""
    most = CHAIN_ANSWERS // max(target.graph.n_answers, 1)
    return min(effort.chains, max(FEWEST_CHAINS, most))


def levels_of(target: Target, rng: np.random.Generator) -> list[Target]:
    """The target, and before it the same given fewer of its answers, the first of the next one's.

    So most of the annealing is done with few answers, which is cheap.
    """
    n = target.graph.n_answers
    if n <= LEVEL_ANSWERS:
        return [target]
    sizes = [n]
    while sizes[0] > LEVEL_ANSWERS:
        sizes.insert(0, max(LEVEL_ANSWERS, sizes[0] // LEVEL_RATIO))
    order = rng.permutation(n)
    return [target.only(order[:size]) for size in sizes]
