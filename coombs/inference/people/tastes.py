"""What is known of each person's taste: utilities of items, probabilities of answers, draws.

A taste is normal given its group; that nobody's mean is known exactly either is added to its covariance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coombs.inference.people.answer_blocks import AnswerBlock, blocks_of
from coombs.inference.people.population_fit import PopulationFit, View, log_members, pass_over
from coombs.inference.people.posteriors import Sites, leave_questions_out, posteriors, update
from coombs.inference.people.tilted import mean_probability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.graph import Index, Matrix, Vector
    from coombs.inference.people.coordinates import Coordinates
    from coombs.inference.people.population_prior import PopulationPrior

NEW_PASSES = 12
"""Passes over the answers of somebody new."""
ALIKE = 1e-3
"""Share of their deviation that weights keep where nobody has anything of their own."""
SETTLED = 1e-6
"""Or until the log evidence changes by less."""


@dataclass(frozen=True, eq=False)
class Taste:
    """One person's: probabilities of the groups and, last, of a coin; of each group, weights ~ N(mean, cov).

    `means` are (G, D), `covariances` (G, D, D), `members` (G + 1,).
    """

    members: Vector
    means: Matrix
    covariances: Matrix
    lapse: float

    @property
    def shares(self) -> Vector:
        """Of the groups, whoever tosses a coin."""
        total = float(self.members[:-1].sum())
        return self.members[:-1] / total if total > 0 else np.full(len(self.means), 1 / len(self.means))

    @property
    def mean(self) -> Vector:
        """(D,) of the weights."""
        return self.shares @ self.means

    def probability(self, design: Matrix) -> Vector:
        """(n,) that the first of each pair is chosen, from (n, D) differences of coordinates."""
        result = np.full(len(design), self.members[-1] / 2)
        for share, mean, covariance in zip(self.members, self.means, self.covariances, strict=False):
            variance = np.einsum("nd,nd->n", design @ covariance, design)
            result += share * mean_probability(design @ mean, np.maximum(variance, 0.0), self.lapse)
        return result

    def draws(self, count: int) -> Matrix:
        """(count, D) weights, of each group as many as it is likely; always the same."""
        rng, parts = np.random.default_rng(0), []
        counts = np.diff(np.round(np.cumsum(self.shares) * count).astype(int), prepend=0)
        for number, mean, covariance in zip(counts, self.means, self.covariances, strict=True):
            values, vectors = np.linalg.eigh(covariance)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            half = rng.standard_normal(((number + 1) // 2, len(mean)))
            parts.append(mean + np.concatenate([half, -half])[:number] @ root.T)
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Tastes:
    """Everybody's, of one kind of preference."""

    coordinates: Coordinates
    fit: PopulationFit

    @cached_property
    def place(self) -> tuple[Index, Index]:
        """The block of each person and the row in it; -1 for those without answers."""
        n = 1 + max(int(block.people.max()) for block in self.fit.blocks)
        of_block, row = np.full(n, -1), np.full(n, -1)
        for number, block in enumerate(self.fit.blocks):
            of_block[block.people], row[block.people] = number, np.arange(len(block.people))
        return of_block, row

    @cached_property
    def doubts(self) -> Matrix:
        """(G, D, D) covariances of the groups' means."""
        return self.fit.prior.doubts(self.fit.sums)

    def anybody(self) -> Taste:
        """Of a person who has not said anything."""
        prior = self.fit.prior
        members = np.append(prior.shares * (1 - prior.coin), prior.coin)
        covariances = prior.covariance + self.doubts
        return Taste(members, prior.means, covariances, prior.lapse)

    def of(self, person: int, coordinates: Matrix) -> Taste:
        """Of a person by position; `coordinates` are of all items that were compared."""
        of_block, row = self.place
        if person >= len(of_block) or of_block[person] < 0:
            return self.anybody()
        number, k = int(of_block[person]), int(row[person])
        block, sites = self.fit.blocks[number], self.fit.sites[number]
        some = block.only(np.array([k]))
        own = tuple(Sites(one.precision[k : k + 1], one.shift[k : k + 1]) for one in sites)
        return self._taste(some, own, coordinates, self.fit.members[number][k])

    def of_answers(self, winners: Index, losers: Index, weights: Vector, coordinates: Matrix) -> Taste:
        """Of somebody new, given their answers about items with these coordinates."""
        (block,) = blocks_of(winners, losers, weights, np.zeros(len(winners), dtype=np.intp), 1)
        prior, view = self.fit.prior, View.of(self.fit.prior, coordinates)
        sites, before = tuple(Sites.empty(block) for _ in prior.shares), -np.inf
        for _ in range(NEW_PASSES):
            used, found = sites, pass_over(block, sites, prior, view)
            sites = found.sites
            if abs(found.sums.log_evidence - before) < SETTLED:
                break
            before = found.sums.log_evidence
        return self._taste(block, used, coordinates, found.members[0])

    def _taste(
        self, block: AnswerBlock, sites: tuple[Sites, ...], coordinates: Matrix, members: Vector
    ) -> Taste:
        prior = self.fit.prior
        # Of the items in the block alone, as all may be very many.
        items, place = np.unique(np.stack([block.winners, block.losers]), return_inverse=True)
        winners, losers = place.reshape(2, *block.winners.shape)
        own = AnswerBlock(block.people, winners, losers, block.weights, block.rows)
        view = View.of(prior, coordinates[items])
        means, covariances = [], []
        for mean, base, one, doubt in zip(prior.means, view.base, sites, self.doubts, strict=True):
            found = posteriors(own.design(view.white), own.margins(base), one)
            inner = found.covariance_of(0)
            means.append(mean + prior.root @ found.mean[0])
            # What a person's mean moves by with the group's: covariance of z, in the weights' units.
            moved = prior.root @ inner @ np.linalg.inv(prior.root)
            covariances.append(prior.root @ inner @ prior.root.T + moved @ doubt @ moved.T)
        return Taste(members, np.array(means), np.array(covariances), prior.lapse)

    def evidence_of_differences(self, coordinates: Matrix, about: NDArray[np.bool_]) -> float:
        """How much likelier the answers are than if nobody had anything of their own there, in nats.

        `about` (D,) says which weights are meant; what people share stays as it is.
        """
        prior = self.fit.prior
        sizes = np.where(about, ALIKE, 1.0)
        alike = replace(prior, root=np.linalg.cholesky(prior.covariance * np.outer(sizes, sizes)))
        here, there = (people_left_out(one, coordinates, self.fit.blocks)[0] for one in (prior, alike))
        return here - there

    def means(self, coordinates: Matrix, n_people: int) -> tuple[Matrix, Matrix]:
        """(n_people, D) everybody's mean weights, and (n_people, G + 1) probabilities of groups and coin."""
        prior, anybody, view = self.fit.prior, self.anybody(), View.of(self.fit.prior, coordinates)
        weights = np.tile(anybody.mean, (n_people, 1))
        members = np.tile(anybody.members, (n_people, 1))
        for block, sites, own in zip(self.fit.blocks, self.fit.sites, self.fit.members, strict=True):
            design, total = block.design(view.white), own[:, :-1].sum(axis=1)
            shares = own[:, :-1] / np.maximum(total, 1e-300)[:, None]
            found = np.zeros((len(block.people), weights.shape[1]))
            for g, (mean, base, one) in enumerate(zip(prior.means, view.base, sites, strict=True)):
                z = posteriors(design, block.margins(base), one).mean
                found += shares[:, g, None] * (mean + z @ prior.root.T)
            weights[block.people], members[block.people] = found, own
        return weights, members


def people_left_out(
    prior: PopulationPrior, coordinates: Matrix, blocks: tuple[AnswerBlock, ...]
) -> tuple[float, Vector]:
    """Of people who were not learned from: log evidence, and each answer's probability given their others.

    Answers are in the blocks' order.
    """
    view, total, predicted = View.of(prior, coordinates), 0.0, []
    for block in blocks:
        sites = tuple(Sites.empty(block) for _ in prior.shares)
        for _ in range(NEW_PASSES):
            used, found = sites, pass_over(block, sites, prior, view)
            sites = found.sites
        total += found.sums.log_evidence
        predicted.append(_left_out(block, used, prior, view)[block.rows >= 0])
    return total, np.concatenate(predicted)


def _left_out(block: AnswerBlock, sites: tuple[Sites, ...], prior: PopulationPrior, view: View) -> Matrix:
    """(K, A) probability of each answer given the person's others about other pairs."""
    design, p, updates = block.design(view.white), [], []
    for base, one in zip(view.base, sites, strict=True):
        found = posteriors(design, block.margins(base), one)
        p.append(leave_questions_out(found, one, block, prior.lapse))
        updates.append(update(found, one, block.weights, prior.lapse))
    chances = np.stack([*p, np.full(block.weights.shape, 0.5)])
    # Without an answer, a group is likelier by as much as it made the answer unlikely.
    logs = log_members(updates, prior, block.totals).T[:, :, None] - block.weights * np.log(chances)
    shares = np.exp(logs - logs.max(axis=0))
    result: Matrix = (shares * chances).sum(axis=0) / shares.sum(axis=0)
    return result
