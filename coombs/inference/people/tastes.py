"""What is known of each person's taste: utilities of items, probabilities of answers, draws.

A taste is normal given its group; that nobody's mean is known exactly either is added to its covariance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.inference.people.answer_blocks import AnswerBlock, blocks_of, some_people
from coombs.inference.people.one_person import MOST_ANSWERS, posterior_of
from coombs.inference.people.own_tastes import may_be_own, own_prior, read_as_own, with_own
from coombs.inference.people.population_fit import PopulationFit, View, log_members, no_sites, pass_over
from coombs.inference.people.posteriors import Sites, leave_questions_out, posteriors, update
from coombs.inference.people.tilted import mean_probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coombs.data.graph import Index, Matrix, Vector
    from coombs.inference.people.coordinates import Coordinates
    from coombs.inference.people.population_prior import PopulationPrior

NEW_PASSES = 8
"""Passes over the answers of somebody new."""
ALIKE = 1e-3
"""Share of their deviation that weights keep where nobody has anything of their own."""
LIKELY_COIN = 0.5
"""Probability from which on somebody is counted as tossing a coin."""
MOST_TOLD = 200
"""People who tell whether people differ, at most."""
NO_ITEMS = np.zeros(0, dtype=np.intp)
"""Of somebody whose answers are about nothing."""


class Seen(NamedTuple):
    """Items as tastes see them: coordinates (n, D), and positions among the compared items, -1 if none."""

    phi: Matrix
    known: Index

    def take(self, rows: Index) -> Seen:
        """Some of the items."""
        return Seen(self.phi[rows], self.known[rows])


@dataclass(frozen=True, eq=False)
class Taste:
    """One person's, a mixture: probabilities of the components and, last, of a coin; of each, N(mean, cov).

    Components are groups at scales: `groups` and `scales` (C,) say which. Where the person may have a taste
    of their own, that is a group more, the last.
    Weights are those of the D coordinates and then effects of the M `items` that the person's answers are
    about, by position: `means` are (C, D + M), `covariances` (C, D + M, D + M), `members` (C + 1,). An item
    that is not among them has an effect of deviation `effect`, times the scale.
    """

    members: Vector
    means: Matrix
    covariances: Matrix
    lapse: float
    items: Index
    effect: float
    groups: Index
    scales: Vector

    @property
    def shares(self) -> Vector:
        """Of the components, whoever tosses a coin."""
        total = float(self.members[:-1].sum())
        return self.members[:-1] / total if total > 0 else np.full(len(self.means), 1 / len(self.means))

    @property
    def group_shares(self) -> Vector:
        """Of the groups."""
        result: Vector = np.bincount(self.groups, self.shares).astype(float)
        return result

    @property
    def mean(self) -> Vector:
        """(D,) of the weights of the coordinates."""
        return (self.shares @ self.means)[: self.means.shape[1] - len(self.items)]

    def design(self, seen: Seen) -> tuple[Matrix, Vector]:
        """(n, D + M) what utilities of items are multiples of, and (n,) variances added at a scale of 1."""
        if not self.effect:
            return seen.phi, np.zeros(len(seen.phi))
        is_own = np.equal.outer(seen.known, self.items) & (seen.known >= 0)[:, None]
        strange = np.where(is_own.any(axis=1), 0.0, self.effect**2)
        return np.hstack([seen.phi, is_own]), strange

    def utilities(self, seen: Seen) -> Vector:
        """(n,) mean utilities of items."""
        return self.design(seen)[0] @ (self.shares @ self.means)

    def probability(self, first: Seen, second: Seen) -> Vector:
        """(n,) that the first of each pair is chosen."""
        (one, doubt), (other, more) = self.design(first), self.design(second)
        away = one - other
        result = np.full(len(away), self.members[-1] / 2)
        parts = zip(self.members, self.means, self.covariances, self.scales, strict=False)
        for share, mean, covariance, scale in parts:
            variance = np.einsum("nd,nd->n", away @ covariance, away) + scale**2 * (doubt + more)
            result += share * mean_probability(away @ mean, np.maximum(variance, 0.0), self.lapse)
        return result

    def weights(self, count: int) -> Matrix:
        """(count, D + M) draws, of each component as many as it is likely; always the same."""
        rng, parts = np.random.default_rng(0), []
        for number, mean, covariance in zip(self._counts(count), self.means, self.covariances, strict=True):
            values, vectors = np.linalg.eigh(covariance)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            half = rng.standard_normal(((number + 1) // 2, len(mean)))
            parts.append(mean + np.concatenate([half, -half])[:number] @ root.T)
        return np.concatenate(parts)

    def _counts(self, count: int) -> Index:
        """(C,) how many of so many draws are of each component."""
        return np.diff(np.round(np.cumsum(self.shares) * count).astype(int), prepend=0)

    def draws(self, seen: Seen, count: int) -> Matrix:
        """(count, n) utilities of items."""
        design, strange = self.design(seen)
        noise = np.random.default_rng(1).standard_normal((count, len(design))) * np.sqrt(strange)
        result: Matrix = self.weights(count) @ design.T + self.drawn_scales(count)[:, None] * noise
        return result

    def drawn_scales(self, count: int) -> Vector:
        """(count,) of the draws."""
        return np.repeat(self.scales, self._counts(count))


@dataclass(frozen=True, eq=False)
class KindPrior:
    """What is known of anybody before any answer, of one kind of preference: kilobytes, however many people.

    `doubts` (G, D, D) are covariances of the groups' means.
    """

    coordinates: Coordinates
    prior: PopulationPrior
    doubts: Matrix

    def anybody(self) -> Taste:
        """Of a person who has not said anything."""
        prior = self.prior
        groups, scales, shares = prior.components
        members = np.append(shares * (1 - prior.coin), prior.coin)
        means = prior.means[groups] * scales[:, None]
        covariances = (prior.covariance + self.doubts)[groups] * scales[:, None, None] ** 2
        return Taste(members, means, covariances, prior.lapse, NO_ITEMS, prior.effect, groups, scales)

    def given(self, winners: Index, losers: Index, weights: Vector, seen: Seen) -> tuple[Taste, float]:
        """Of somebody new, given their answers about these items; and how likely those are (log).

        That is of a person who does not toss a coin.
        """
        if not len(winners):
            return self.anybody(), 0.0
        if len(winners) > MOST_ANSWERS:
            return self._given_many(winners, losers, weights, seen)
        prior = self.prior
        found = posterior_of(winners, losers, weights, seen.phi, prior)
        groups, scales, shares = prior.components
        logs = np.log(shares) + found.log_evidence
        highest = float(logs.max())
        evidence = highest + float(np.log(np.exp(logs - highest).sum()))
        coin = np.log(prior.coin) - float(weights.sum()) * np.log(2)
        logs = np.append(np.log1p(-prior.coin) + logs, coin)
        members = np.exp(logs - logs.max())
        members /= members.sum()
        doubts = self.doubts[groups] * scales[:, None, None] ** 2
        covariances = found.covariances + found.moved @ doubts @ found.moved.transpose(0, 2, 1)
        items = seen.known[found.items] if prior.effect else NO_ITEMS
        known = prior.lapse, items, prior.effect, groups, scales
        return Taste(members, found.means, covariances, *known), evidence

    @cached_property
    def own(self) -> KindPrior:
        """The same of somebody who has a taste of their own, whatever people share."""
        return KindPrior(self.coordinates, own_prior(self.prior), np.zeros((1, *self.doubts.shape[1:])))

    def _given_many(self, winners: Index, losers: Index, weights: Vector, seen: Seen) -> tuple[Taste, float]:
        """The same from many answers."""
        (block,) = blocks_of(winners, losers, weights, np.zeros(len(winners), dtype=np.intp), 1)
        prior, view = self.prior, View.of(self.prior, seen.phi)
        found = pass_over(block, no_sites(block, prior), prior, view, NEW_PASSES)
        taste, members = self.taste(block, found.sites, seen.phi, found.members[0]), found.members[0]
        # All of the evidence less the coin's part.
        careful = max(float(members[:-1].sum()), 1e-300) / (1 - prior.coin)
        evidence = found.sums.log_evidence + float(np.log(careful))
        taste = replace(taste, items=seen.known[taste.items]) if len(taste.items) else taste
        return taste, evidence

    def taste(
        self, block: AnswerBlock, sites: tuple[Sites, ...], coordinates: Matrix, members: Vector
    ) -> Taste:
        """Of the one person in a block, given what their answers say."""
        prior, d = self.prior, len(self.prior.root)
        # Of the items in the block alone, as all may be very many.
        items, place = np.unique(np.stack([block.winners, block.losers]), return_inverse=True)
        winners, losers = place.reshape(2, *block.winners.shape)
        own = AnswerBlock(block.people, winners, losers, block.weights, block.rows)
        view = View.of(prior, coordinates[items])
        count = own.local.items.shape[1] if view.effect else 0
        root = np.diag(np.append(np.zeros(d), np.full(count, view.effect)))
        root[:d, :d] = prior.root
        means, covariances = [], []
        groups, scales, _ = prior.components
        for (design, offset), one, group in zip(view.readings(own), sites, groups, strict=True):
            found = posteriors(design, offset, one)
            inner = root @ found.covariance_of(0)
            means.append(np.append(prior.means[group], np.zeros(count)) + root @ found.mean[0])
            # What a person's mean moves by with the group's: covariance of z, in the weights' units.
            moved = inner[:, :d] @ np.linalg.inv(prior.root)
            covariances.append(inner @ root.T + moved @ self.doubts[group] @ moved.T)
        seen = items[own.local.items[0]] if count else NO_ITEMS
        scaled = np.array(means) * scales[:, None], np.array(covariances) * scales[:, None, None] ** 2
        return Taste(members, *scaled, prior.lapse, seen, view.effect, groups, scales)


class Everybody(NamedTuple):
    """Mean weights (n_people, D), probabilities of groups and coin (n_people, G + 1), and effects of items.

    `values` are effects of `items` for the people `whose`.
    """

    weights: Matrix
    members: Matrix
    whose: Index
    items: Index
    values: Vector

    def utilities(self, people: Index, phi: Matrix) -> Matrix:
        """(k, n) of the compared items for some people, about everybody's own mean."""
        result: Matrix = self.weights[people] @ phi.T
        place = np.full(len(self.weights), -1)
        place[people] = np.arange(len(people))
        rows = np.flatnonzero(place[self.whose] >= 0) if len(self.whose) else self.whose
        result[place[self.whose[rows]], self.items[rows]] += self.values[rows]
        result -= result.mean(axis=1, keepdims=True)
        return result


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

    @cached_property
    def kind_prior(self) -> KindPrior:
        """What is known of anybody, without everybody's own."""
        prior = self.fit.prior
        prior = prior if prior.slopes is None else prior.slopes.unknown(prior)
        return KindPrior(self.coordinates, prior, self.doubts)

    @cached_property
    def slope_doubts(self) -> Matrix:
        """(q, D, q, D) covariance of the slopes of covariates."""
        prior = self.fit.prior
        assert prior.slopes is not None
        return prior.slopes.doubts(prior, self.fit.sums)

    def known_about(self, about: Vector | None) -> KindPrior:
        """What is known of somebody with these covariates, (q,); None if nothing is known of them."""
        prior = self.fit.prior
        if prior.slopes is None or about is None:
            return self.kind_prior
        doubt = np.einsum("k,kilj,l->ij", about, self.slope_doubts, about)
        return KindPrior(self.coordinates, prior.slopes.known(prior, about), self.doubts + doubt)

    def anybody(self) -> Taste:
        """Of a person who has not said anything."""
        return self.kind_prior.anybody()

    def of(self, person: int, coordinates: Matrix) -> Taste:
        """Of a person by position; `coordinates` are of all items that were compared."""
        of_block, row = self.place
        if person >= len(of_block) or of_block[person] < 0:
            return self.anybody()
        number, k = int(of_block[person]), int(row[person])
        block, sites = self.fit.blocks[number], self.fit.sites[number]
        some = block.only(np.array([k]))
        own = tuple(Sites(one.precision[k : k + 1], one.shift[k : k + 1]) for one in sites)
        prior = self.known_about(None if some.about is None else some.about[0])
        taste = prior.taste(some, own, coordinates, self.fit.members[number][k])
        given = some.rows[0] >= 0
        winners, losers, weights = (part[0][given] for part in (some.winners, some.losers, some.weights))
        return self._or_own(taste, winners, losers, weights, Seen(coordinates, np.arange(len(coordinates))))

    def of_answers(
        self, winners: Index, losers: Index, weights: Vector, seen: Seen, about: Vector | None = None
    ) -> Taste:
        """Of somebody new, given their answers about these items, and covariates."""
        taste, _ = self.known_about(about).given(winners, losers, weights, seen)
        return self._or_own(taste, winners, losers, weights, seen)

    def _or_own(self, taste: Taste, winners: Index, losers: Index, weights: Vector, seen: Seen) -> Taste:
        """What is known of a person of the population, or of one who has a taste of their own."""
        total = weights.sum(keepdims=True)
        if not len(may_be_own(taste.members[None], total, self.fit.prior.coin)):
            return taste
        own, evidence = self.kind_prior.own.given(winners, losers, weights, seen)
        groups = np.append(taste.groups, taste.groups[-1] + 1)
        members = with_own(taste.members[None], total, self.fit.prior.coin, np.array([evidence]))[0]
        means = np.concatenate([taste.means, own.means])
        covariances = np.concatenate([taste.covariances, own.covariances])
        known = replace(taste, members=members, means=means, covariances=covariances)
        return replace(known, groups=groups, scales=np.append(taste.scales, 1.0))

    def evidence_of_differences(self, coordinates: Matrix, about: Sequence[NDArray[np.bool_]]) -> list[float]:
        """How much likelier the answers are than if neither people nor groups differed there, in nats.

        `about` (D,) says which weights are meant, each time; what people share stays as it is. Some of many
        people tell it.
        """
        prior, blocks = self.fit.prior, self.fit.blocks
        if sum(len(block.people) for block in blocks) > MOST_TOLD:
            blocks = some_people(blocks, MOST_TOLD)
        here, found = _evidence(prior, coordinates, blocks), []
        for some in about:
            sizes = np.where(some, ALIKE, 1.0)
            means = np.where(some, prior.shares @ prior.means, prior.means)
            root = np.linalg.cholesky(prior.covariance * np.outer(sizes, sizes))
            alike = replace(prior, means=means, root=root)
            found.append(here - _evidence(alike, coordinates, blocks))
        return found

    def means(self, coordinates: Matrix, n_people: int) -> Everybody:
        """What is known of everybody, by its mean."""
        prior, anybody, view = self.fit.prior, self.anybody(), View.of(self.fit.prior, coordinates)
        weights, d, parts = np.tile(anybody.mean, (n_people, 1)), len(prior.root), prior.components
        members = np.tile(parts.by_group(anybody.members), (n_people, 1))
        effects: list[tuple[Index, Index, Vector]] = []
        for block, sites, own in zip(self.fit.blocks, self.fit.sites, self.fit.members, strict=True):
            readings = view.readings(block)
            # What weights are at a scale of 1 counts as much as they are larger.
            shares = own[:, :-1] / np.maximum(own[:, :-1].sum(axis=1), 1e-300)[:, None] * parts.scales
            found = np.zeros((len(block.people), readings[0][0].shape[2]))
            for (design, offset), one, group, share in zip(
                readings, sites, parts.groups, shares.T[:, :, None], strict=True
            ):
                z = posteriors(design, offset, one).mean
                found[:, :d] += share * (prior.means[group] + z[:, :d] @ prior.root.T)
                found[:, d:] += share * view.effect * z[:, d:]
            if prior.slopes is not None and block.about is not None:
                found[:, :d] += shares.sum(axis=1)[:, None] * (block.about @ prior.slopes.gamma.T)
            own = self._all_or_own(block, parts.by_group(own), coordinates, found)
            weights[block.people], members[block.people] = found[:, :d], own
            if view.effect:
                real = block.local.items >= 0
                whose = np.broadcast_to(block.people[:, None], real.shape)[real]
                effects.append((whose, block.local.items[real], found[:, d:][real]))
        columns = zip(*effects, strict=True) if effects else (np.zeros((1, 0), dtype=np.intp),) * 3
        whose, items, values = (np.concatenate(list(column)) for column in columns)
        return Everybody(weights, members, whose, items, values)

    def _all_or_own(self, block: AnswerBlock, members: Matrix, coordinates: Matrix, means: Matrix) -> Matrix:
        """(K, G + 1) probabilities of groups and coin where people may have tastes of their own.

        Their `means` (K, D + M) are changed; the probability of a taste of one's own is left to the groups.
        """
        some = may_be_own(members, block.totals, self.fit.prior.coin)
        if not len(some):
            return members
        prior, d = self.kind_prior.own.prior, len(self.fit.prior.root)
        found, evidence = read_as_own(block.only(some), prior, coordinates)
        own = np.hstack([found.mean[:, :d] @ prior.root.T, prior.effect * found.mean[:, d:]])
        *_, is_own, coin = with_own(members[some], block.totals[some], prior.coin, evidence).T
        share, width = (is_own / np.maximum(1 - coin, 1e-300))[:, None], own.shape[1]
        means[some] *= 1 - share
        means[some, :width] += share * own
        result = members.copy()
        result[some, :-1] *= ((1 - coin) / np.maximum(1 - members[some, -1], 1e-300))[:, None]
        result[some, -1] = coin
        return result


def _evidence(prior: PopulationPrior, coordinates: Matrix, blocks: tuple[AnswerBlock, ...]) -> float:
    """Log evidence of people's answers, given a population."""
    view = View.of(prior, coordinates)
    return sum(
        pass_over(block, no_sites(block, prior), prior, view, NEW_PASSES).sums.log_evidence
        for block in blocks
    )


def people_left_out(
    prior: PopulationPrior, coordinates: Matrix, blocks: tuple[AnswerBlock, ...]
) -> tuple[float, Vector]:
    """Of people who were not learned from: log evidence, and each answer's probability given their others.

    Answers are in the blocks' order.
    """
    view, total, predicted = View.of(prior, coordinates), 0.0, []
    for block in blocks:
        found = pass_over(block, no_sites(block, prior), prior, view, NEW_PASSES)
        total += found.sums.log_evidence
        predicted.append(_left_out(block, found.sites, prior, view)[block.rows >= 0])
    return total, np.concatenate(predicted)


def _left_out(block: AnswerBlock, sites: tuple[Sites, ...], prior: PopulationPrior, view: View) -> Matrix:
    """(K, A) probability of each answer given the person's others about other pairs."""
    p, updates = [], []
    for (design, offset), one in zip(view.readings(block), sites, strict=True):
        found = posteriors(design, offset, one)
        p.append(leave_questions_out(found, one, block, prior.lapse))
        updates.append(update(found, one, block.weights, prior.lapse))
    chances = np.stack([*p, np.full(block.weights.shape, 0.5)])
    # Without an answer, a component is likelier by as much as it made the answer unlikely.
    said = block.of_question(block.weights * np.log(chances))
    logs = log_members(updates, prior, block.totals).T[:, :, None] - said
    shares = np.exp(logs - logs.max(axis=0))
    result: Matrix = (shares * chances).sum(axis=0) / shares.sum(axis=0)
    return result
