"""Designs of the same answers, one for each of several covariances of the scores: what one pass computes.

The first axis of arrays is that of the designs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dtrtri
from scipy.sparse import csr_array

from coombs.data.rankings import Rankings
from coombs.inference.answer_moments import expect_group, expect_rankings
from coombs.inference.set_design import SetDesign, covariances, linearised, positive_blocks
from coombs.inference.variational import (
    Design,
    Expectation,
    GaussianSites,
    VariationalFit,
    expected,
    expected_ties,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coombs.data.answers import Answers
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.rival_sets import BandRatings, Choices

MOST_WEIGHED = 400
"""Up to this many unknowns an answer's uncertainty enters the bound; beyond, it is Laplace's."""
BLOCK = 4_000_000
"""Numbers that an array holds, at most, where it need not hold more."""


def repeated(sites: GaussianSites, count: int) -> GaussianSites:
    """Sites, repeated for each design."""
    blocks = tuple(np.repeat(block[None], count, axis=0) for block in sites.blocks)
    return GaussianSites(np.tile(sites.precision, (count, 1)), np.tile(sites.shift, (count, 1)), blocks)


class Gaussians(NamedTuple):
    """Lower roots of precisions, means, and the lower roots' inverses unless covariances do not matter.

    `known` is how much less than a priori the sum of variances is; zero if that does not matter.
    """

    lower: Matrix
    mean: Matrix
    inverse: Matrix | None
    known: Vector


class Expectations(NamedTuple):
    """As `Expectation`, of several designs."""

    value: Vector
    to_lapse: Vector
    sites: GaussianSites
    margin: Matrix
    variance: Matrix
    slope: Matrix
    to_head_start: Vector


def stack_of(designs: list[Design], lapses: list[float]) -> DesignStack:
    """Of designs of the same answers."""
    starts = np.array([design.head_start for design in designs])
    known = designs[0], np.array([design.root for design in designs]), np.array(lapses), starts
    if not isinstance(designs[0], SetDesign):
        return DesignStack(*known)
    offsets = [design.offsets for design in designs if isinstance(design, SetDesign)]
    return SetDesignStack(*known, None if offsets[0] is None else np.array(offsets))


@dataclass(frozen=True, eq=False)
class DesignStack:
    """Designs of the same answers, all about two things: roots (E, n, m), lapses (E,), head starts (E,).

    The scores are roots z and, where they are linear near some z only, offsets (E, n).
    """

    design: Design
    roots: Matrix
    lapses: Vector
    head_starts: Vector
    offsets: Matrix | None = None

    @property
    def answers(self) -> Answers:
        """Which all of them are about."""
        return self.design.answers

    @property
    def pair_rows(self) -> Index:
        """Answers about two things."""
        return self.answers.pair_rows

    @property
    def ends(self) -> tuple[Index, Index]:
        """Winners and losers of those."""
        winners, losers = self.answers.ends
        return winners[self.pair_rows], losers[self.pair_rows]

    def only(self, chosen: Any) -> DesignStack:
        """Some of the designs."""
        return replace(
            self,
            roots=self.roots[chosen],
            lapses=self.lapses[chosen],
            head_starts=self.head_starts[chosen],
            offsets=None if self.offsets is None else self.offsets[chosen],
        )

    def fit_of(
        self, e: int, bound: float, at: Gaussians, sites: GaussianSites, found: Expectations
    ) -> VariationalFit:
        """What was found of one of the designs."""
        value, to_lapse, best, margin, variance, slope, to_start = found
        sums = float(value[e]), float(to_lapse[e])
        own = Expectation(*sums, best.only(e), margin[e], variance[e], slope[e], float(to_start[e]))
        near = sites.only(e)._replace(near=at.mean[e])
        return VariationalFit(bound, at.lower[e], at.mean[e], near, float(self.lapses[e]), own, self.design)

    def linearised(self, means: Matrix) -> DesignStack:
        """This stack with scores linearised about these means, where they are not linear in the unknowns."""
        return self

    def where(self, chosen: NDArray[np.bool_], other: DesignStack) -> DesignStack:
        """The chosen designs, with scores that are linear elsewhere."""
        return self

    def first_sites(self) -> GaussianSites:
        """From nothing."""
        weights = self.answers.weights
        return repeated(GaussianSites(0.1 * weights, 0 * weights), len(self.roots))

    def to_scores(self, of_pairs: Matrix) -> Matrix:
        """(E, n) sums over the answers about two things: losers' less winners'."""
        winners, losers = self.ends
        return self.added(losers, of_pairs) - self.added(winners, of_pairs)

    def added(self, members: Index, values: Matrix) -> Matrix:
        """(E, n) sums of values, (E, ...), that belong to members, (...)."""
        count, n = self.roots.shape[:2]
        at = (n * np.arange(count)[:, None] + members.ravel()).ravel()
        sums: Matrix = np.bincount(at, values.ravel(), count * n).astype(float, copy=False)
        return sums.reshape(count, n)

    def shifts(self, sites: GaussianSites) -> Matrix:
        """The sites' shifts along the scores."""
        return self.to_scores(sites.shift)

    def posterior(self, sites: GaussianSites) -> Gaussians:
        """Given the sites."""
        gram, shifts = self._gram(sites)
        gram[:, np.arange(gram.shape[1]), np.arange(gram.shape[1])] += 1.0
        lower: Matrix = np.linalg.cholesky(gram).astype(float, copy=False)
        rotated_shifts: Matrix = (shifts[:, None, :] @ self.roots)[:, 0]
        if gram.shape[1] > MOST_WEIGHED:
            means = [
                cho_solve((root, True), own, check_finite=False)
                for root, own in zip(lower, rotated_shifts, strict=True)
            ]
            return Gaussians(lower, np.array(means), None, np.zeros(len(gram)))
        inverse = np.empty_like(lower)
        for root, result in zip(lower, inverse, strict=True):
            result[:] = dtrtri(root, lower=1)[0] if len(root) else root
        mean = inverse.transpose(0, 2, 1) @ (inverse @ rotated_shifts[:, :, None])
        known = gram.shape[1] - np.einsum("eij,eij->e", inverse, inverse)
        return Gaussians(lower, mean[:, :, 0], inverse, known)

    def _gram(self, sites: GaussianSites) -> tuple[Matrix, Matrix]:
        """What sites say: the unknowns' precision, by that of the scores, and shifts along the scores."""
        (count, n, _), parts = self.roots.shape, list(self.parts(sites))
        places = np.concatenate([at for at, _ in parts])
        sizes = np.concatenate([size.reshape(count, -1) for _, size in parts], axis=1)
        across = self.roots.transpose(0, 2, 1)
        of_scores: Any
        if n * n <= BLOCK:
            at = (n * n * np.arange(count)[:, None] + places).ravel()
            of_scores = np.bincount(at, sizes.ravel(), count * n * n).reshape(count, n, n)
            gram: Matrix = across @ (of_scores @ self.roots)
        else:
            where = places // n, places % n
            of_scores = [csr_array((sizes[e], where), shape=(n, n)) for e in range(count)]
            gram = np.array([across[e] @ (of_scores[e] @ self.roots[e]) for e in range(count)])
        shifts = self.shifts(sites)
        if self.offsets is not None:
            # Sites are about scores, unknowns about what is left of them without the offsets.
            shifts = shifts - np.array([of_scores[e] @ self.offsets[e] for e in range(count)])
        return gram, shifts

    def parts(self, sites: GaussianSites) -> Iterator[tuple[Index, Matrix]]:
        """Places in the (n, n) precision of the scores, and (E, ...) what the sites add there."""
        n, (winners, losers) = self.roots.shape[1], self.ends
        for one, other in ((winners, winners), (losers, losers)):
            yield n * one + other, sites.precision
        for one, other in ((winners, losers), (losers, winners)):
            yield n * one + other, -sites.precision

    def across(self, at: Gaussians) -> Matrix | None:
        """Roots of the scores' covariances, unless these do not matter."""
        return None if at.inverse is None else self.roots @ at.inverse.transpose(0, 2, 1)

    def expect(self, at: Gaussians) -> Expectations:
        """Under these Gaussians."""
        return self.expect_pairs(self.scores(at), self.across(at))

    def expect_pairs(self, scores: Matrix, across: Matrix | None) -> Expectations:
        """Of answers about two things, from the scores' means and roots of covariances."""
        own = self.pair_rows
        (winners, losers), weights = self.ends, self.answers.weights[own]
        margin, variance = scores[:, losers] - scores[:, winners], np.zeros((len(scores), len(own)))
        if across is not None:
            away = across[:, losers] - across[:, winners]
            variance = np.einsum("epm,epm->ep", away, away)
        log_p, slope, curvature, to_lapse, to_start = self._of_margins(margin, variance)
        precision = np.maximum(weights * curvature, 1e-6 * weights)
        best = GaussianSites(precision, weights * slope + precision * margin)
        sums = log_p @ weights, to_lapse @ weights
        return Expectations(*sums, best, margin, variance, weights * slope, to_start @ weights)

    def scores(self, at: Gaussians) -> Matrix:
        """(E, n) means."""
        result: Matrix = (self.roots @ at.mean[:, :, None])[:, :, 0]
        return result if self.offsets is None else result + self.offsets

    def _of_margins(self, margin: Matrix, variance: Matrix) -> tuple[Matrix, ...]:
        """What `expected` says of the answers about two things, and mean slopes along the head start."""
        shape, sets = margin.shape, self.answers.sets
        margin, variance = margin.ravel(), variance.ravel()
        lapses = np.repeat(self.lapses, shape[1])[:, None]
        chance = np.tile(self.answers.chance[self.pair_rows], shape[0])[:, None] if sets is not None else 0.5
        found = [*expected(margin, variance, lapses, chance), np.zeros(len(margin))]
        if sets is not None and len(sets.ahead):
            rows = np.tile(self.pair_rows, shape[0])
            may = np.flatnonzero(sets.are_ahead(self.answers.losers[rows], len(self.answers.items)))
            tied, starts = self.answers.is_tie[rows[may]], np.repeat(self.head_starts, shape[1])[may, None]
            of_may = expected_ties(margin[may], variance[may], lapses[may], tied, starts)
            for whole, part in zip(found, of_may, strict=True):
                whole[may] = part
        return tuple(part.reshape(shape) for part in found)


@dataclass(frozen=True, eq=False)
class SetDesignStack(DesignStack):
    """Designs of the same answers where answers may also be about sets of items and anchors."""

    def linearised(self, means: Matrix) -> DesignStack:
        """This stack with the anchors' scores linearised about these means."""
        sets = self.answers.sets
        if sets is None or self.offsets is None:
            return self
        roots, offsets = linearised(self.roots, sets, means)
        return replace(self, roots=roots, offsets=offsets)

    def where(self, chosen: NDArray[np.bool_], other: DesignStack) -> DesignStack:
        """The chosen designs, with scores that are linear elsewhere."""
        if self.offsets is None or other.offsets is None:
            return self
        if chosen.all():
            return other
        roots = np.where(chosen[:, None, None], other.roots, self.roots)
        return replace(self, roots=roots, offsets=np.where(chosen[:, None], other.offsets, self.offsets))

    @property
    def groups(self) -> tuple[Any, ...]:
        """Answers about more than two things: choices, rankings that they make, ratings in bands."""
        choices, rankings = self.answers.in_rankings
        return *choices, *rankings, *self.answers.in_bands

    def first_sites(self) -> GaussianSites:
        """From nothing."""
        weights, (choices, rankings) = self.answers.weights, self.answers.in_rankings
        blocks = [0.4 * weights[one.rows][:, None, None] * _about(one.present) for one in choices]
        for ranking in rankings:
            each = (_about(later) for later in _choices_of(ranking.present))
            of_places = _weights_of(ranking, weights).T[:, :, None, None]
            blocks.append(0.4 * sum(part * of_place for part, of_place in zip(each, of_places, strict=True)))
        blocks += [
            0.4 * weights[rated.rows][:, None, None] * _about(rated.present)
            for rated in self.answers.in_bands
        ]
        first = GaussianSites(0.1 * weights[self.pair_rows], np.zeros(self.roots.shape[1]), tuple(blocks))
        return repeated(first, len(self.roots))

    def shifts(self, sites: GaussianSites) -> Matrix:
        """The sites' shifts along the scores."""
        return sites.shift

    def parts(self, sites: GaussianSites) -> Iterator[tuple[Index, Matrix]]:
        """Places in the (n, n) precision of the scores, and (E, ...) what the sites add there."""
        yield from super().parts(sites)
        n = self.roots.shape[1]
        for one, block in zip(self.groups, sites.blocks, strict=True):
            yield (n * one.members[:, :, None] + one.members[:, None, :]).ravel(), block

    def expect(self, at: Gaussians) -> Expectations:
        """Under these Gaussians."""
        scores, across, blocks = self.scores(at), self.across(at), []
        pairs = self.expect_pairs(scores, across)
        sums, shift = np.array([pairs.value, pairs.to_lapse]), self.to_scores(pairs.sites.shift)
        for one in self.groups:
            mean = scores[:, one.members]
            spread = np.zeros((*mean.shape, mean.shape[2]))
            if across is not None:
                spread = covariances(across, one.members)
            of_one = self._of_rankings if isinstance(one, Rankings) else self._of_answers
            log_p, to_lapse, slope, new = of_one(mean, spread, one)
            sums += [log_p, to_lapse]
            shift += self.added(one.members, slope + (new @ mean[:, :, :, None])[..., 0])
            blocks.append(new)
        best = GaussianSites(pairs.sites.precision, shift, tuple(blocks))
        return pairs._replace(value=sums[0], to_lapse=sums[1], sites=best)

    def _of_answers(self, mean: Matrix, spread: Matrix, group: Choices | BandRatings) -> tuple[Matrix, ...]:
        """log p and slope along the lapse, (E,), slopes and precisions, of choices or ratings (E, P, K)."""
        count, n_answers, _ = mean.shape
        weights = self.answers.weights[group.rows]
        found = expect_group(mean, spread, group, self.lapses)
        precision = positive_blocks(found.curvature, found.is_concave).reshape(spread.shape)
        log_p, to_lapse = (part.reshape(count, n_answers) @ weights for part in (found.log_p, found.to_lapse))
        slope = weights[:, None] * found.slope.reshape(mean.shape)
        return log_p, to_lapse, slope, weights[:, None, None] * precision

    def _of_rankings(self, mean: Matrix, spread: Matrix, rankings: Any) -> tuple[Matrix, ...]:
        """log p and slope along the lapse, (E,), slopes and precisions, of rankings (E, P, K)."""
        count, n_rankings, k = mean.shape
        weights = np.tile(_weights_of(rankings, self.answers.weights), (count, 1))
        present, lapses = np.tile(rankings.present, (count, 1)), np.repeat(self.lapses, n_rankings)[:, None]
        found = expect_rankings(mean.reshape(-1, k), spread.reshape(-1, k, k), present, weights, lapses)
        precision = positive_blocks(found.curvature, found.is_concave).reshape(spread.shape)
        log_p, to_lapse = (
            part.reshape(count, n_rankings).sum(axis=1) for part in (found.log_p, found.to_lapse)
        )
        return log_p, to_lapse, found.slope.reshape(mean.shape), precision


def _about(present: NDArray[np.bool_]) -> Matrix:
    """(P, K, K) the curvature of choices among what is present, all alike."""
    share = present / np.maximum(present.sum(axis=1, keepdims=True), 1)
    result: Matrix = share[:, :, None] * (np.eye(share.shape[1]) - share[:, None, :])
    return result


def _choices_of(present: NDArray[np.bool_]) -> Iterator[NDArray[np.bool_]]:
    """What is present from each place of rankings on."""
    for place in range(present.shape[1]):
        yield present & (np.arange(present.shape[1]) >= place)


def _weights_of(rankings: Rankings, weights: Vector) -> Matrix:
    """(R, K) of the choice of each place."""
    return np.where(rankings.rows >= 0, weights[rankings.rows], 0.0)
