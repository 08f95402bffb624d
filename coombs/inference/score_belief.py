"""What somebody may think of items that have no features: a Gaussian of their scores, answer by answer.

Scores are s_i = size z_i, z standard normal, less being better. Given some sizes, the best Gaussian is found
anew after each answer, which takes milliseconds; draws are of all sizes, each by its evidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.linalg import solve_triangular

from coombs.blas import serial
from coombs.data.tables import NO_LEVELS, Levels
from coombs.inference.belief import AnswerRows, Belief
from coombs.inference.set_design import design_of
from coombs.inference.target import EFFECT_SIZE_ALONE, EFFECT_WIDTH
from coombs.inference.variational import VariationalFit
from coombs.inference.variational_fit import variational_fit

if TYPE_CHECKING:
    from coombs.data.directions import Directions
    from coombs.data.graph import Index, Matrix, Vector

SIZES = EFFECT_SIZE_ALONE + EFFECT_WIDTH * np.linspace(-2.0, 2.0, 5)
"""Logarithms of the sizes of scores that are weighed, in logits."""
DRAWS = 960
"""Draws that are kept: more than those of an ideal point, as items are not alike in anything."""
ROUGHLY = 1e-2
"""A Gaussian is found where a pass changes the bound on the evidence by less."""
LAPSE = 0.02
"""Share of answers given at random."""


@dataclass(frozen=True)
class ScoreBelief(Belief):
    """Draws, (S, n), of the scores of the n `touched` items; of others, by the `sizes` (S,) of the draws."""

    touched: Index | None = None
    sizes: Vector | None = None

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
        nothing = np.zeros(0, dtype=np.intp)
        sizes = np.exp(EFFECT_SIZE_ALONE + EFFECT_WIDTH * rng.standard_normal(DRAWS))
        known = (nothing, nothing, np.zeros(0), np.zeros((DRAWS, 0)))
        return cls(items, metric, *known, touched=nothing, sizes=sizes)

    def after(self, new: AnswerRows, rng: np.random.Generator) -> Belief:
        """Given more answers."""
        return self._with(new).afresh(rng) if len(new.winners) else self

    def afresh(self, rng: np.random.Generator) -> Belief:
        """Draws from all answers."""
        if not len(self.winners):
            return self.prior(self.items, self.metric, rng)
        answers = self.answers
        eye = np.eye(len(answers.items))
        found: list[VariationalFit] = []
        with serial(0):
            for size in SIZES:
                start = found[-1].sites if found else None
                found.append(variational_fit(design_of(math.exp(size) * eye, answers), LAPSE, start, ROUGHLY))
        log_prior = -(((SIZES - EFFECT_SIZE_ALONE) / EFFECT_WIDTH) ** 2) / 2
        log_weights = np.array([one.bound for one in found]) + log_prior
        shares = np.exp(log_weights - log_weights.max())
        # As many draws of each size as it has of the evidence, in no order.
        which = np.searchsorted(np.cumsum(shares / shares.sum()), (np.arange(DRAWS) + rng.random()) / DRAWS)
        which = rng.permutation(np.minimum(which, len(SIZES) - 1))
        draws: Matrix = np.empty((DRAWS, len(eye)))
        for k in np.unique(which):
            rows = np.flatnonzero(which == k)
            # Unknowns of anchors ("none of these", thresholds of ratings) come after those of the items.
            normal = rng.standard_normal((len(found[k].mean), len(rows)))
            moves = solve_triangular(found[k].lower, normal, lower=True, trans=1, check_finite=False)
            draws[rows] = math.exp(SIZES[k]) * (found[k].mean[:, None] + moves)[: len(eye)].T
        sizes, highest = np.exp(SIZES[which]), float(log_weights.max())
        evidence = highest + math.log(float(shares.sum() / np.exp(log_prior).sum()))
        return replace(self, draws=draws, touched=answers.touched, sizes=sizes, log_evidence=evidence)

    def scores(self, positions: Index, every: int = 1) -> tuple[Matrix, Vector]:
        """(n, S) scores of some items in `every` so many draws, less being better, and (S,) lapses."""
        assert self.touched is not None and self.sizes is not None
        place = {int(item): i for i, item in enumerate(self.touched)}
        known = [
            self.draws[:, place[i]] if i in place else self.sizes * _normal(i)
            for i in np.asarray(positions).tolist()
        ]
        scores = np.array(known).reshape(-1, DRAWS)[:, ::every]
        return scores, np.full(scores.shape[1], LAPSE)

    def _means(self) -> Vector:
        """Of the items, each draw at the same scale; nothing is known of one that was never compared."""
        result = np.zeros(len(self.items))
        if self.touched is not None and len(self.touched):
            result[self.touched] = (self.draws / self.draws.std(axis=1, keepdims=True)).mean(axis=0)
        return result


def _normal(position: int) -> Vector:
    """Standard normal numbers that belong to an item."""
    return np.random.default_rng(position).standard_normal(DRAWS)
