"""Draws of an ideal point and of a smooth taste, in proportion to their evidence, after each answer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from coombs.blas import serial
from coombs.inference.belief import DRAWS, AnswerRows, Belief
from coombs.inference.kernel import Bumps
from coombs.inference.process import Process
from coombs.inference.smooth import NEVER, Draws, posterior_at

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.graph import Index, Matrix, Vector

FIRST = 4
"""Answers from which on a smooth taste is considered."""
MORE = 1.3
"""Factor by which the number of answers must grow before sizes and relevances are learned again."""
MOST_ITEMS = 150
"""Compared items up to which a smooth taste can be learned in the time of a click."""


@dataclass(frozen=True, eq=False)
class SmoothDraws:
    """Draws of a smooth taste given some answers, with the sizes behind them and their log evidence."""

    touched: Index
    basis: Bumps
    draws: Draws
    u: Vector
    room: float
    learned_from: int
    log_evidence: float

    @classmethod
    def of(cls, answers: Answers, before: SmoothDraws | None) -> SmoothDraws:
        """Given these answers; sizes and relevances are those of `before` unless many answers are new."""
        process, count = Process(answers), len(answers.winners)
        if before is None or count >= MORE * before.learned_from:
            best = process.learn(None if before is None else before.u)
            u, room, learned_from = best.u, best.room, count
        else:
            u, room, learned_from = before.u, before.room, before.learned_from
        basis, posterior, found = posterior_at(process.place(u), answers, None)
        draws, evidence = posterior.draws(DRAWS), found.bound + room
        if answers.directions is not None:
            draws, gain = posterior.obeying(answers.directions, basis, DRAWS)
            evidence = evidence + gain if math.isfinite(gain) else NEVER
        return cls(answers.touched, basis, draws, u, room, learned_from, evidence)

    def scores(self, items: Matrix, positions: Index) -> Matrix:
        """(n, S) of some of all items."""
        some = items[positions]
        result: Matrix = -2 * (some @ self.draws.linear.T) + self.basis(some) @ self.draws.coefficients.T
        order = np.argsort(self.touched)
        place = np.minimum(np.searchsorted(self.touched, positions, sorter=order), len(order) - 1)
        known = self.touched[order[place]] == positions
        effects = self.draws.effects.T[order[place]]
        result += np.where(known[:, None], effects, 0.0)
        return result


@dataclass(frozen=True)
class AveragedBelief(Belief):
    """As `Belief`, which is about an ideal point, together with a smooth taste."""

    smooth: SmoothDraws | None = None

    def after(self, new: AnswerRows, rng: np.random.Generator) -> Self:
        """Given more answers."""
        told = super().after(new, rng)
        assert isinstance(told, type(self))
        if len(told.winners) < FIRST or not len(new.winners):
            return told
        answers = told.answers.canonical()
        if len(answers.items) > MOST_ITEMS or not answers.items.shape[1]:
            return replace(told, smooth=None)
        with serial(0):
            return replace(told, smooth=SmoothDraws.of(answers, self.smooth))

    @property
    def total_evidence(self) -> float:
        """Log evidence of both together, which are equally likely before any answer."""
        if self.smooth is None:
            return self.log_evidence
        return float(np.logaddexp(self.log_evidence, self.smooth.log_evidence)) - math.log(2)

    @property
    def n_smooth(self) -> int:
        """Draws that are of the smooth taste."""
        if self.smooth is None:
            return 0
        odds = min(self.log_evidence - self.smooth.log_evidence, 50.0)
        return round(DRAWS / (1 + math.exp(odds)))

    def scores(self, positions: Index, every: int = 1) -> tuple[Matrix, Vector]:
        """(n, S) scores of some items in `every` so many draws, less being better, and (S,) lapses."""
        scores, lapses = super().scores(positions)
        if self.smooth is not None and (count := self.n_smooth):
            # Each with its mirror image, in the middle of the draws.
            middle = slice((DRAWS - count) // 2, (DRAWS - count) // 2 + count)
            own = self.smooth.scores(self.items, positions)[:, middle]
            scores = np.concatenate([scores[:, count:], own], axis=1)
            lapses = np.concatenate([lapses[count:], self.smooth.draws.lapse[middle]])
        return scores[:, ::every], lapses[::every]

    def _means(self) -> Vector:
        ideal = super()._means()
        share = self.n_smooth / DRAWS
        if self.smooth is None or not share:
            return ideal
        draws = self.smooth.draws
        few = np.linspace(0, len(self.items) - 1, min(len(self.items), 100)).astype(np.intp)
        per = 1 / np.maximum(self.smooth.scores(self.items, few).std(axis=0), 1e-12) / DRAWS
        own = Bumps(self.smooth.basis.kernel, self.smooth.basis.weights @ (per @ draws.coefficients))
        smooth = own(self.items) - 2 * self.items @ (per @ draws.linear)
        smooth[self.smooth.touched] += per @ draws.effects
        result: Vector = (1 - share) * ideal + share * smooth
        return result
