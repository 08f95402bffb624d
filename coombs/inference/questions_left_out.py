"""Answers of any shape predicted by a Gaussian from which the sites of their own question are taken out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular

from coombs.data.rival_sets import Choices
from coombs.inference.set_design import SetDesign, covariances, expect_choices, positive
from coombs.inference.variational import Settled, without_pairs

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector


def left_out(found: Settled) -> tuple[Vector, Vector]:
    """Of each row held out: its probability without its question's sites, and the log of all of those."""
    if not isinstance(found.design, SetDesign):
        return without_pairs(found)
    p, held = _Questions(found, found.design).probabilities(), found.design.answers.held_out
    logs = np.bincount(held.questions, held.weights * np.log(p)).astype(float)
    return p, logs[held.questions]


@dataclass(frozen=True, eq=False)
class _Questions:
    """What the posterior says of what each question is about, without what its answers say.

    On the scores of what a question is about, its sites are a Gaussian of precision L and shift h; taking
    it out of N(m, S) leaves the mean (I - S L)^-1 (m - S h) and the covariance (I - S L)^-1 S.
    """

    found: Settled
    design: SetDesign

    @cached_property
    def scores(self) -> Vector:
        """Means, of items and anchors."""
        result: Vector = self.design.root @ self.found.mean
        return result

    @cached_property
    def across(self) -> Matrix:
        """A root of their covariance."""
        result: Matrix = solve_triangular(
            self.found.lower, self.design.root.T, lower=True, check_finite=False
        )
        return result.T

    @cached_property
    def choices(self) -> dict[int, tuple[Index, float]]:
        """Of each answer about more than two things: what it is about, and 1 for a best, -1 for a worst."""
        return {
            int(k): (one.members[i][one.present[i]], float(one.signs[i]))
            for one in self.design.choices
            for i, k in enumerate(one.rows)
        }

    def probabilities(self) -> Vector:
        """Of each row held out."""
        held = self.design.answers.held_out
        pairs = np.maximum(*self.ends) < len(self.scores)
        margin, variance = np.zeros((2, len(pairs)))
        others: dict[int, list[tuple[int, Vector, Matrix]]] = {}
        order = np.argsort(held.questions, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(held.questions[order])) + 1):
            members, mean, spread = self._without(rows)
            for k in rows.tolist():
                there = np.searchsorted(members, self._about(k))
                own = spread[np.ix_(there, there)]
                if pairs[k]:
                    margin[k] = mean[there[0]] - mean[there[1]]
                    variance[k] = own[0, 0] + own[1, 1] - 2 * own[0, 1]
                else:
                    others.setdefault(len(there), []).append((k, mean[there], own))
        p = np.empty(len(pairs))
        lapse = self.found.lapse
        p[pairs] = self.design.mean_probability(margin, np.maximum(variance, 1e-12), lapse)[pairs]
        for some in others.values():
            places, means, spreads = (np.array(part) for part in zip(*some, strict=True))
            signs = np.array([self.choices[int(k)][1] for k in places])
            asked = Choices(
                places, np.zeros_like(means, dtype=np.intp), np.ones(means.shape, dtype=bool), signs
            )
            p[places] = expect_choices(means, positive(spreads), asked, lapse).p
        return p

    def _about(self, k: int) -> Index:
        """The items and anchors that a row is about: the chosen first, or the loser before the winner."""
        return self.choices[k][0] if k in self.choices else np.array([self.ends[1][k], self.ends[0][k]])

    @cached_property
    def ends(self) -> tuple[Index, Index]:
        """Winners and losers of the rows held out, of items ahead the items themselves."""
        held, n = self.design.answers.held_out, len(self.design.answers.items)
        winners, losers = (self.design.sets.items_of(rows, n) for rows in (held.winners, held.losers))
        return winners, losers

    def _without(self, rows: Index) -> tuple[Index, Vector, Matrix]:
        """What a question is about, and mean and covariance of its scores without the question's answers."""
        members = np.unique(np.concatenate([self._about(int(k)) for k in rows]))
        precision, shift = np.zeros((len(members), len(members))), np.zeros(len(members))
        for k in rows[rows < self.design.answers.held_out.n_answers]:
            block, moved = self._sites[int(k)]
            there = np.searchsorted(members, self._about(int(k)))
            precision[np.ix_(there, there)] += block
            shift[there] += moved
        spread = self.across[members] @ self.across[members].T
        left = np.linalg.inv(np.eye(len(members)) - spread @ precision)
        return members, left @ (self.scores[members] - spread @ shift), left @ spread

    @cached_property
    def _sites(self) -> dict[int, tuple[Matrix, Vector]]:
        """Of each answer, its site's precision and shift on what it is about."""
        design, here, result = self.design, self.found.expectation, {}
        side = np.array([1.0, -1.0])
        for i, k in enumerate(design.pair_rows.tolist()):
            size = self.found.sites.precision[i]
            result[k] = size * np.outer(side, side), (here.slope[i] + size * here.margin[i]) * side
        for one, block in zip(design.choices, self.found.sites.blocks, strict=True):
            at = self.scores[one.members]
            moments = expect_choices(at, covariances(self.across, one.members), one, self.found.lapse)
            weights = design.answers.weights[one.rows]
            shifts = weights[:, None] * moments.slope + np.einsum("pkl,pl->pk", block, at)
            for i, k in enumerate(one.rows.tolist()):
                there = one.present[i]
                result[k] = block[i][np.ix_(there, there)], shifts[i][there]
        return result
