"""Draws of what a person may want, kept up to date answer by answer, in milliseconds.

Resample and move (Gilks and Berzuini, 2001): a new answer weighs every draw by how well it predicts
it; draws are copied or dropped accordingly; then Hamiltonian moves take the copies apart. Before the first
answer the draws are the prior's, so that there is a question to ask from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from coombs.blas import serial
from coombs.data.answers import Answers
from coombs.data.graph import ComparisonGraph
from coombs.data.tables import NO_LEVELS, Levels
from coombs.inference.infer import QUICK, infer
from coombs.inference.kinds import KINDS
from coombs.inference.levels import with_levels
from coombs.inference.sampler import FIRST_STEP, Ensemble, Tuning, draw_prior
from coombs.inference.target import Target

if TYPE_CHECKING:
    from coombs.data.directions import Directions
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.rival_sets import RivalSets
    from coombs.inference.kind import Kind

DRAWS = 240
"""Draws that are kept."""
BUDGET = 4.8e8
"""Operations that the moves after an answer may take: about 30 ms."""
LEAST_MOVED = 24
"""Draws that are moved at least."""
ROUNDS = 3
"""How often each draw is moved, at most."""
FEW = 6
"""With more new answers than this at once, everything is learned afresh."""
LEAST_LEFT = 4
"""Where fewer draws than this predicted the new answers, everything is learned afresh."""


class AnswerRows(NamedTuple):
    """Winners, losers and weights, and the sets of rivals that rows beyond the items stand for, if any."""

    winners: Index
    losers: Index
    weights: Vector
    sets: RivalSets | None = None


@dataclass(frozen=True)
class Belief:
    """Draws y, (S, n), given the answers so far about standardised items.

    Winners and losers are rows: the items and, where there are `sets`, sets of rivals after them.
    """

    items: Matrix
    metric: str
    winners: Index
    losers: Index
    weights: Vector
    draws: Matrix
    step: float = FIRST_STEP
    kind: Kind | None = None
    log_evidence: float = 0.0
    levels: Levels = NO_LEVELS
    directions: Directions | None = None
    sets: RivalSets | None = None

    @classmethod
    def prior(
        cls,
        items: Matrix,
        metric: str,
        rng: np.random.Generator,
        levels: Levels = NO_LEVELS,
        directions: Directions | None = None,
    ) -> Self:
        """Before any answer."""
        nothing, kind = np.zeros(0, dtype=np.intp), with_levels(KINDS[metric], levels, items.shape[1])
        known = (items, metric, nothing, nothing, np.zeros(0), np.zeros((0, 0)))
        belief = cls(*known, kind=kind, levels=levels, directions=directions)
        draws, _ = draw_prior(belief._about(np.arange(2)), DRAWS, rng)
        return replace(belief, draws=draws.astype(np.float32))

    def after(self, new: AnswerRows, rng: np.random.Generator) -> Belief:
        """Given more answers."""
        if not len(new.winners):
            return self
        told = self._with(new)
        with serial(0), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            logs = self._log_likelihood(new)
            likelihood = np.exp(logs - logs.max())
            # Copies of too few draws would stay alike for long.
            if len(new.winners) <= FEW and likelihood.sum() ** 2 > LEAST_LEFT * (likelihood**2).sum():
                more = float(logs.max() + np.log(likelihood.mean()))
                told = replace(told, log_evidence=self.log_evidence + more)
                return told._resampled(likelihood, rng)._moved(rng)
        return told.afresh(rng)

    def _with(self, new: AnswerRows) -> Self:
        """The same draws with more answers beside the others."""
        winners, losers, weights, sets = new
        if self.sets is not None and sets is not None:
            n, more = len(self.items), self.sets.n_sets
            winners, losers = (np.where(rows < n, rows, rows + more) for rows in (winners, losers))
            sets = self.sets.joined(sets)
        return replace(
            self,
            winners=np.concatenate([self.winners, winners]),
            losers=np.concatenate([self.losers, losers]),
            weights=np.concatenate([self.weights, weights]),
            sets=self.sets if sets is None else sets,
        )

    def afresh(self, rng: np.random.Generator) -> Belief:
        """Forget the draws, and make new ones from all answers."""
        if not len(self.winners):
            return self.prior(self.items, self.metric, rng, self.levels, self.directions)
        answers = self.answers.canonical()
        found = infer(answers, self.metric, rng, effort=QUICK)
        draws = found.draws[rng.choice(len(found.draws), DRAWS, replace=len(found.draws) < DRAWS)]
        step = FIRST_STEP if found.tuning is None else found.tuning.step
        evidence = found.log_evidence
        return replace(
            self, draws=draws.astype(np.float32), step=step, kind=found.target.kind, log_evidence=evidence
        )

    def light(self) -> Self:
        """Without the items, which everybody's belief in a study has alike, to be sent elsewhere."""
        return replace(self, items=self.items[:0])

    def whole(self, like: Any) -> Self:
        """With the items of another belief."""
        return replace(self, items=like.items)

    @property
    def total_evidence(self) -> float:
        """About how likely all answers were (log), by what was believed before any."""
        return self.log_evidence

    @property
    def answers(self) -> Answers:
        """Distinct ones."""
        told = self.winners, self.losers, self.weights
        found = Answers.collect(self.items, *told, self.sets, self.levels)
        return replace(found, directions=self.directions)

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
        return self._means()

    def _means(self) -> Vector:
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
        assert self.kind is not None
        return Target(
            self.items[positions],
            ComparisonGraph(np.zeros(1, np.intp), np.ones(1, np.intp), len(positions)),
            np.ones(1),
            self.kind,
            directions=self.directions,
            dtype=np.float32,
        )

    def _given(self, answers: Answers) -> Target:
        """The posterior of the same unknowns given some answers."""
        assert self.kind is not None
        return Target.about(answers, self.kind, dtype=np.float32)

    def _log_likelihood(self, rows: AnswerRows) -> Vector:
        """How well each draw predicts some answers."""
        some = Answers.collect(self.items, *rows, self.levels)
        result: Vector = some.weights @ self._given(some).log_probabilities(self.draws).astype(float)
        return result

    def _resampled(self, weights: Vector, rng: np.random.Generator) -> Belief:
        """Draws copied by their weights, the copies last; before them, those that were moved longest ago."""
        count, total = len(self.draws), np.cumsum(weights)
        ticks = (rng.random() + np.arange(count)) / count * total[-1]
        chosen = np.minimum(np.searchsorted(total, ticks), count - 1)
        is_copy = np.concatenate([[False], chosen[1:] == chosen[:-1]])
        return replace(self, draws=self.draws[np.concatenate([chosen[~is_copy], chosen[is_copy]])])

    def _moved(self, rng: np.random.Generator) -> Belief:
        """As many draws as the budget allows moved, from the last on, and put first."""
        answers = self.answers
        target = self._given(answers)
        draws, tuning = self.draws.copy(), Tuning.of(self.draws, None, target.n)
        tuning = replace(tuning, step=self.step)
        count, left = len(draws), self._affordable(answers, tuning.n_leapfrogs)
        while left > 0:
            moved = min(count, left)
            left -= count
            ensemble = Ensemble(target, draws[-moved:], rng, tuning)
            ensemble.move(0.3)
            tuning = ensemble.tuning
            draws = np.concatenate([ensemble.y, draws[:-moved]])
        return replace(self, draws=draws, step=tuning.step)

    def _affordable(self, answers: Answers, n_leapfrogs: int) -> int:
        """Moves of single draws."""
        (n, d), unknowns = answers.items.shape, self.draws.shape[1]
        # The last is the mass matrix's: quick for its size, but large where there are many features.
        operations = 4 * n * d * (d + 1) + 250 * len(answers.winners) + 1000 + 1.2 * unknowns**2
        operations *= n_leapfrogs
        return int(np.clip(BUDGET / operations, LEAST_MOVED, ROUNDS * len(self.draws)))
