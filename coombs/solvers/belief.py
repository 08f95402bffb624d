"""Draws of what a person may want, kept up to date answer by answer, in milliseconds.

Resample and move (Gilks and Berzuini, 2001): a new answer weighs every draw by how well it foretells
it; draws are copied or dropped accordingly; then Hamiltonian moves take the copies apart. Before the first
answer the draws are the prior's, so that there is a question to ask from the beginning.

The moves' shape is the covariance of the draws themselves. Up to six features a metric's root is triangular.
Of more, a root A may turn (A -> QA) without changing anything, so each is turned towards their mean
(Procrustes) first. That is an approximation: roots on one slice, moved by one shape, come out a little too
small, and the draws a little too unsure. They choose questions; estimates and intervals are `infer`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from coombs.solvers import hamiltonian
from coombs.solvers.formulate import Answers
from coombs.solvers.graph import ComparisonGraph
from coombs.solvers.infer import QUICK, infer
from coombs.solvers.ladder import LADDER, Rung, Triangular
from coombs.solvers.minimise import serial
from coombs.solvers.target import Target

if TYPE_CHECKING:
    from coombs.solvers.graph import Index, Matrix, Vector

TRIANGULAR, MOST_TRIANGULAR = Triangular(), 6
"""Up to so many features the metric's root is triangular: it cannot turn, but of more it mixes badly."""
DRAWS = 240
LEAPS = 8
"""Steps of a move."""
ACCEPTANCE, FIRST_STEP = 0.7, 0.3
BUDGET = 4.8e8
"""Operations that the moves after an answer may take: about 30 ms."""
LEAST_MOVED = 24
ROUNDS = 3
"""Draws that are moved at least, and how often each is at most."""
SHRINKAGE = 0.03
"""Weight of a round shape beside the covariance of the draws, for each unknown."""
ALIGN_EVERY = 4
FEW, LEAST_LEFT = 6, 4
"""More new answers at once, or fewer draws that foretold them, and all is learned afresh."""


@dataclass(frozen=True)
class Belief:
    """Draws z, (S, n), given the answers so far about standardised items."""

    items: Matrix
    rung: str
    lapse: float | None
    winners: Index
    losers: Index
    weights: Vector
    draws: Matrix
    step: float = FIRST_STEP
    reference: Matrix | None = field(default=None, repr=False)

    @classmethod
    def prior(cls, items: Matrix, rung: str, lapse: float | None, rng: np.random.Generator) -> Self:
        """Before any answer."""
        nothing = np.zeros(0, dtype=np.intp)
        belief = cls(items, rung, lapse, nothing, nothing, np.zeros(0), np.zeros((0, 0)))
        size = (DRAWS, belief._about(np.arange(2)).n)
        draws: Matrix = rng.standard_normal(size, dtype=np.float32)  # type: ignore[assignment]
        return replace(belief, draws=draws)

    def after(
        self,
        winners: Index,
        losers: Index,
        weights: Vector,
        rng: np.random.Generator,
    ) -> Belief:
        """Given more answers."""
        told = replace(
            self,
            winners=np.concatenate([self.winners, winners]),
            losers=np.concatenate([self.losers, losers]),
            weights=np.concatenate([self.weights, weights]),
        )
        if not len(winners):
            return self
        with serial(0), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            chance = self._chance(winners, losers, weights)
            # Copies of too few draws would stay alike for long.
            if len(winners) <= FEW and chance.sum() ** 2 > LEAST_LEFT * (chance**2).sum():
                return told._resampled(chance, rng)._moved(rng)
        return told.afresh(rng)

    def afresh(self, rng: np.random.Generator) -> Belief:
        """Forget the draws, and make new ones from all answers."""
        if not len(self.winners):
            return self.prior(self.items, self.rung, self.lapse, rng)
        answers = Answers.collect(self.items, self.winners, self.losers, self.weights)
        found = infer(answers, self.rung, rng, lapse=self.lapse, effort=QUICK)
        draws = found.draws[rng.choice(len(found.draws), DRAWS, replace=len(found.draws) < DRAWS)]
        if self._rung is TRIANGULAR:
            draws = TRIANGULAR.of_full(draws, self.items.shape[1])
        return replace(self, draws=draws.astype(np.float32), step=FIRST_STEP, reference=None)

    def scores(self, positions: Index, every: int = 1) -> tuple[Matrix, Vector]:
        """(n, S) scores of some items in `every` so many draws, less being better, and (S,) lapses."""
        target = self._about(positions)
        meaning = target.scores(self.draws[::every])
        return target.of_items(meaning), meaning.lapse

    def mean_scores(self) -> Vector:
        """(N,) scores of all items by the draws' mean, each at the same scale."""
        return self._mean_scores

    @cached_property
    def _mean_scores(self) -> Vector:
        few = np.linspace(0, len(self.items) - 1, min(len(self.items), 100)).astype(np.intp)
        spread = self.scores(few)[0].std(axis=0)
        meaning = self._about(few).scores(self.draws)
        per = 1 / np.maximum(spread, 1e-12) / len(spread)
        metric = np.tensordot(per, meaning.metric, 1)
        result: Vector = np.einsum("nd,nd->n", self.items @ metric, self.items)
        result -= 2 * self.items @ (per @ meaning.linear)
        return result

    def _about(self, positions: Index) -> Target:
        """The same unknowns for some of the items, of which no answer matters."""
        one = ComparisonGraph(np.zeros(1, np.intp), np.ones(1, np.intp), len(positions))
        return self._target(positions, one, np.ones(1))

    def _target(self, positions: Index, graph: ComparisonGraph, weights: Vector) -> Target:
        return Target(self.items[positions], graph, weights, self._rung, lapse=self.lapse, dtype=np.float32)

    @property
    def _rung(self) -> Rung:
        """The one whose unknowns the draws are."""
        few = self.items.shape[1] <= MOST_TRIANGULAR
        return TRIANGULAR if self.rung == "full" and few else LADDER[self.rung]

    def _chance(self, winners: Index, losers: Index, weights: Vector) -> Vector:
        """How well each draw foretells some answers, the best being 1."""
        ends, place = np.unique(np.concatenate([winners, losers]), return_inverse=True)
        graph = ComparisonGraph(place[: len(winners)], place[len(winners) :], len(ends))
        logs = weights @ self._target(ends, graph, weights).log_probabilities(self.draws).astype(float)
        result: Vector = np.exp(logs - logs.max())
        return result

    def _resampled(self, chance: Vector, rng: np.random.Generator) -> Belief:
        """Draws copied by their chance, the copies last; before them, those that were moved longest ago."""
        count, total = len(self.draws), np.cumsum(chance)
        ticks = (rng.random() + np.arange(count)) / count * total[-1]
        chosen = np.minimum(np.searchsorted(total, ticks), count - 1)
        is_copy = np.concatenate([[False], chosen[1:] == chosen[:-1]])
        return replace(self, draws=self.draws[np.concatenate([chosen[~is_copy], chosen[is_copy]])])

    def _moved(self, rng: np.random.Generator) -> Belief:
        """As many draws as the budget allows moved, from the last on, and put first."""
        answers = Answers.collect(self.items, self.winners, self.losers, self.weights)
        target = Target(
            answers.items, answers.graph(), answers.weights, self._rung, lapse=self.lapse, dtype=np.float32
        )
        aligned = self._aligned(target.d) if len(self.winners) % ALIGN_EVERY == 0 else self
        draws, step, shape = aligned.draws.copy(), self.step, aligned._shape()
        count, left = len(draws), self._affordable(answers)
        while left > 0:
            moved = min(count, left)
            left -= count
            start = draws[-moved:]
            new, chance = hamiltonian.move(target, start, replace(shape, step=step), LEAPS, rng)
            step *= float(np.exp(0.3 * (chance - ACCEPTANCE)))
            draws = np.concatenate([new, draws[:-moved]])
        return replace(aligned, draws=draws, step=step)

    def _affordable(self, answers: Answers) -> int:
        """Moves of single draws."""
        (n, d), unknowns = answers.items.shape, self.draws.shape[1]
        # The last is the shape's: quick for its size, but large where there are many features.
        operations = 4 * n * d * (d + 1) + 250 * len(answers.winners) + 1000 + 1.2 * unknowns**2
        operations *= LEAPS
        return int(np.clip(BUDGET / operations, LEAST_MOVED, ROUNDS * len(self.draws)))

    def _aligned(self, d: int) -> Belief:
        """Roots of the metric turned towards a common one."""
        size = self._rung.turning(d)
        if not size:
            return self
        roots = self.draws[:, :size].reshape(len(self.draws), -1, d)
        reference = roots[0] if self.reference is None else self.reference
        left, _, right = np.linalg.svd(reference @ roots.swapaxes(1, 2))
        turned = left @ right @ roots
        draws = np.hstack([turned.reshape(len(roots), size), self.draws[:, size:]])
        return replace(self, draws=draws, reference=turned.mean(axis=0))

    def _shape(self) -> hamiltonian.Shape:
        """The covariance of the draws, and a little that is round."""
        count, n = len(self.draws) / 2, self.draws.shape[1]
        covariance = np.atleast_2d(np.cov(self.draws.T.astype(float)))
        prior = SHRINKAGE * n
        covariance *= count
        covariance[np.diag_indices(n)] += prior * max(np.trace(covariance) / count / n, 1e-9)
        root = np.linalg.cholesky(covariance / (count + prior)).astype(self.draws.dtype)
        return hamiltonian.Shape(np.arange(n), np.zeros(0, np.intp), root, 1.0)
