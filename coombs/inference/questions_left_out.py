"""Answers of any shape predicted by a Gaussian from which the sites of their own question are taken out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular

from coombs.data.rival_sets import BandRatings
from coombs.inference.answer_moments import TO_HALF, expect_group
from coombs.inference.set_design import SetDesign, covariances, positive, positive_blocks
from coombs.inference.variational import VariationalFit, without_pairs

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.rival_sets import Choices


def left_out(found: VariationalFit) -> tuple[Vector, Vector]:
    """Of each row held out: its probability without its question's sites, and the log of all of those."""
    return left_out_each([found])[0]


def left_out_each(found: list[VariationalFit]) -> list[tuple[Vector, Vector]]:
    """`left_out` for several posteriors given the same answers."""
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

    found: tuple[VariationalFit, ...]
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
    def lapses(self) -> Vector:
        """Of the posteriors."""
        return np.array([one.lapse for one in self.found])

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
            two = rows[pairs[rows]]
            one, other = (np.searchsorted(members, ends[two]) for ends in self.ends)
            margin[:, two] = mean[:, other] - mean[:, one]
            variance[:, two] = spread[:, one, one] + spread[:, other, other] - 2 * spread[:, one, other]
            for k in rows[~pairs[rows]].tolist():
                there = np.searchsorted(members, self._about(k))
                others.setdefault((self.groups[k][0], len(there)), []).append(
                    (k, mean[:, there], spread[:, there[:, None], there])
                )
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
        means, spreads = means.swapaxes(0, 1), spreads.swapaxes(0, 1)
        group = self.designs[0].groups[place]
        own, present = np.searchsorted(group.rows, rows), np.ones(means.shape[1:], dtype=bool)
        if isinstance(group, BandRatings):
            means = _in_order(means, self.scores[:, group.members[own]])
            asked: Choices | BandRatings = group._replace(chance=group.chance[own])
        else:
            asked = group._replace(present=present, signs=group.signs[own])
        shape = spreads.shape
        spreads = positive(spreads.reshape(-1, *shape[2:])).reshape(shape)
        p[:, rows] = expect_group(means, spreads, asked, self.lapses).p.reshape(len(p), -1)

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
        own = rows[rows < self.designs[0].answers.held_out.n_answers]
        two = rows[np.maximum(*self.ends)[rows] < self.scores.shape[1]]
        chosen = [self.groups[k][1] for k in rows.tolist() if k in self.groups]
        members = np.unique(np.concatenate([*(ends[two] for ends in self.ends), *chosen]))
        size = len(members)
        precision, shift = np.zeros((len(self.found), size, size)), np.zeros((len(self.found), size, 1))
        for k in own:
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
        for one in first.groups:
            blocks, shifts = self._sites_of(one)
            for i, k in enumerate(one.rows.tolist()):
                there = np.flatnonzero(one.present[i])
                result[k] = blocks[:, i, there[:, None], there], shifts[:, i, there]
        return result

    def _sites_of(self, one: Choices | BandRatings) -> tuple[Matrix, Matrix]:
        """Precisions and shifts of the sites of some answers, in each of the posteriors."""
        at, k = self.scores[:, one.members], one.members.shape[1]
        moments = expect_group(at, covariances(self.across, one.members), one, self.lapses)
        weights = self.designs[0].answers.weights[one.rows]
        blocks = (
            positive_blocks(moments.curvature, moments.is_concave).reshape(*at.shape, k)
            * weights[:, None, None]
        )
        slope = moments.slope.reshape(at.shape)
        return blocks, weights[:, None] * slope + np.einsum("epkl,epl->epk", blocks, at)


def _in_order(mean: Matrix, before: Matrix) -> Matrix:
    """Means of an item and two thresholds, whose gap was taken as linear in its unknown at `before`.

    It is nearly so where it grows, and about exponential where it shrinks.
    """
    old, new, middle = before @ TO_HALF, mean @ TO_HALF, (mean[..., 1] + mean[..., 2]) / 2
    half = np.where(new > old, new, old * np.exp(np.minimum(new / old - 1, 0.0)))
    return np.stack([mean[..., 0], middle + half, middle - half], axis=-1)
