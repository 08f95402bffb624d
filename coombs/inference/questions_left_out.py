"""Answers of any shape predicted by a Gaussian from which the sites of their own question are taken out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular

from coombs.data.rival_sets import Choices
from coombs.inference.set_design import TO_HALF, BandRatings, SetDesign, covariances, expect_group, positive
from coombs.inference.variational import Settled, without_pairs

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector


def left_out(found: Settled) -> tuple[Vector, Vector]:
    """Of each row held out: its probability without its question's sites, and the log of all of those."""
    return left_out_each([found])[0]


def left_out_each(found: list[Settled]) -> list[tuple[Vector, Vector]]:
    """The same of several posteriors given the same answers."""
    designs = [one.design for one in found if isinstance(one.design, SetDesign)]
    if not designs:
        return [without_pairs(one) for one in found]
    held = designs[0].answers.held_out
    result = []
    for p in _Questions(tuple(found), tuple(designs)).probabilities():
        logs = np.bincount(held.questions, held.weights * np.log(p)).astype(float)
        result.append((p, logs[held.questions]))
    return result


@dataclass(frozen=True, eq=False)
class _Questions:
    """What posteriors say of what each question is about, without what its answers say.

    On the scores of what a question is about, its sites are a Gaussian of precision L and shift h; taking
    it out of N(m, S) leaves the mean (I - S L)^-1 (m - S h) and the covariance (I - S L)^-1 S. The first axis
    of arrays is that of the posteriors.
    """

    found: tuple[Settled, ...]
    designs: tuple[SetDesign, ...]

    @cached_property
    def scores(self) -> Matrix:
        """Means, of items and anchors."""
        return np.array(
            [design.scores(one.mean) for one, design in zip(self.found, self.designs, strict=True)]
        )

    @cached_property
    def across(self) -> Matrix:
        """Roots of their covariances."""
        return np.array(
            [
                solve_triangular(one.lower, design.root.T, lower=True, check_finite=False).T
                for one, design in zip(self.found, self.designs, strict=True)
            ]
        )

    @cached_property
    def groups(self) -> dict[int, tuple[int, Index]]:
        """Of each answer about more than two things: the group it is in, and what it is about."""
        return {
            int(k): (place, one.members[i][one.present[i]])
            for place, one in enumerate(self.designs[0].groups)
            for i, k in enumerate(one.rows)
        }

    def probabilities(self) -> Matrix:
        """Of each row held out."""
        held, n = self.designs[0].answers.held_out, self.scores.shape[1]
        pairs = np.maximum(*self.ends) < n
        margin, variance = np.zeros((2, len(self.found), len(pairs)))
        others: dict[tuple[int, int], list[tuple[int, Matrix, Matrix]]] = {}
        order = np.argsort(held.questions, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(held.questions[order])) + 1):
            members, mean, spread = self._without(rows)
            for k in rows.tolist():
                there = np.searchsorted(members, self._about(k))
                own = spread[:, there[:, None], there]
                if pairs[k]:
                    margin[:, k] = mean[:, there[0]] - mean[:, there[1]]
                    variance[:, k] = own[:, 0, 0] + own[:, 1, 1] - 2 * own[:, 0, 1]
                else:
                    key = self.groups[k][0], len(there)
                    others.setdefault(key, []).append((k, mean[:, there], own))
        p = np.array(
            [
                design.mean_probability(margin[e], np.maximum(variance[e], 1e-12), self.found[e].lapse)
                for e, design in enumerate(self.designs)
            ]
        )
        for (place, _), some in others.items():
            self._set_group(p, place, some)
        return p

    def _set_group(self, p: Matrix, place: int, some: list[tuple[int, Matrix, Matrix]]) -> None:
        """Write the probabilities of answers about as many things, whose means and covariances are given."""
        rows, means, spreads = (np.array(part) for part in zip(*some, strict=True))
        group = self.designs[0].groups[place]
        own = np.searchsorted(group.rows, rows)
        for e, one in enumerate(self.found):
            if isinstance(group, BandRatings):
                means[:, e] = self._in_order(means[:, e], self.scores[e][group.members[own]])
                asked: Choices | BandRatings = group._replace(chance=group.chance[own])
            else:
                shape = means[:, e].shape
                asked = Choices(rows, np.zeros(shape, np.intp), np.ones(shape, bool), group.signs[own])
            p[e, rows] = expect_group(means[:, e], positive(spreads[:, e]), asked, one.lapse).p

    @staticmethod
    def _in_order(mean: Matrix, before: Matrix) -> Matrix:
        """Means of an item and two thresholds, whose gap was taken as linear in its unknown at `before`.

        It is nearly so where it grows, and about exponential where it shrinks.
        """
        old, new, middle = before @ TO_HALF, mean @ TO_HALF, (mean[:, 1] + mean[:, 2]) / 2
        half = np.where(new > old, new, old * np.exp(np.minimum(new / old - 1, 0.0)))
        return np.column_stack([mean[:, 0], middle + half, middle - half])

    def _about(self, k: int) -> Index:
        """The items and anchors that a row is about: the chosen first, or the loser before the winner."""
        return self.groups[k][1] if k in self.groups else np.array([self.ends[1][k], self.ends[0][k]])

    @cached_property
    def ends(self) -> tuple[Index, Index]:
        """Winners and losers of the rows held out, of items ahead the items themselves."""
        design = self.designs[0]
        held, n = design.answers.held_out, len(design.answers.items)
        winners, losers = (design.sets.items_of(rows, n) for rows in (held.winners, held.losers))
        return winners, losers

    def _without(self, rows: Index) -> tuple[Index, Matrix, Matrix]:
        """What a question is about, and mean and covariance of its scores without the question's answers."""
        members = np.unique(np.concatenate([self._about(int(k)) for k in rows]))
        size = len(members)
        precision, shift = np.zeros((len(self.found), size, size)), np.zeros((len(self.found), size, 1))
        for k in rows[rows < self.designs[0].answers.held_out.n_answers]:
            block, moved = self._sites[int(k)]
            there = np.searchsorted(members, self._about(int(k)))
            precision[:, there[:, None], there] += block
            shift[:, there, 0] += moved
        across = self.across[:, members]
        spread = across @ across.transpose(0, 2, 1)
        left = np.linalg.inv(np.eye(size) - spread @ precision)
        mean = left @ (self.scores[:, members, None] - spread @ shift)
        return members, mean[:, :, 0], left @ spread

    @cached_property
    def _sites(self) -> dict[int, tuple[Matrix, Matrix]]:
        """Of each answer, its sites' precisions and shifts on what it is about."""
        first, result, side = self.designs[0], {}, np.array([1.0, -1.0])
        sizes = np.array([one.sites.precision for one in self.found])
        pulls = np.array(
            [one.expectation.slope + one.sites.precision * one.expectation.margin for one in self.found]
        )
        for i, k in enumerate(first.pair_rows.tolist()):
            result[k] = sizes[:, i, None, None] * np.outer(side, side), pulls[:, i, None] * side
        for place, one in enumerate(first.groups):
            blocks = np.array([found.sites.blocks[place] for found in self.found])
            shifts = np.array([self._shifts(e, one, blocks[e]) for e in range(len(self.found))])
            for i, k in enumerate(one.rows.tolist()):
                there = np.flatnonzero(one.present[i])
                result[k] = blocks[:, i, there[:, None], there], shifts[:, i, there]
        return result

    def _shifts(self, e: int, one: Choices | BandRatings, blocks: Matrix) -> Matrix:
        """The shifts of the sites of some choices in one of the posteriors."""
        at, design = self.scores[e][one.members], self.designs[e]
        moments = expect_group(at, covariances(self.across[e], one.members), one, self.found[e].lapse)
        weights = design.answers.weights[one.rows]
        shifts: Matrix = weights[:, None] * moments.slope + np.einsum("pkl,pl->pk", blocks, at)
        return shifts
