"""The best sites of answers, for several covariances of the scores at once.

A pass over the sites of a few dozen answers is so short that calling numpy would be most of it. So arrays
have an axis for the designs, the first one, and all designs that are not settled yet share a pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dtrtri
from scipy.sparse import csr_array

from coombs.data.rankings import Rankings
from coombs.inference.ranking_moments import expect_rankings
from coombs.inference.set_design import SetDesign, covariances, expect_choices, mended
from coombs.inference.variational import Design, Expectation, Settled, Sites, expected, expected_ties

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coombs.data.answers import Answers
    from coombs.data.graph import Index, Matrix, Vector

SETTLED = 1e-4
"""Sites are settled where a pass changes the bound by less."""
MOST_PASSES = 60
"""Passes over the sites, at most."""
MOST_WEIGHED = 400
"""Up to this many unknowns an answer's uncertainty enters the bound; beyond, it is Laplace's."""
SHORTEST = 0.1
"""Part of the way to the best sites that a pass goes, at least."""
LONGER = 1.4
"""How many times as far the next pass goes after one that helped; never farther than the whole way."""
BLOCK = 4_000_000
"""Numbers that an array holds, at most, where it need not hold more."""


def settle(
    design: Design, lapse: float, start: Sites | None = None, tolerance: float | None = None
) -> Settled:
    """The best sites, from some that are near or from none."""
    return settle_each([design], [lapse], start, tolerance)[0]


def settle_each(
    designs: list[Design], lapses: list[float], start: Sites | None = None, tolerance: float | None = None
) -> list[Settled]:
    """The best sites of each of several designs of the same answers, all from the same start."""
    n, m = designs[0].root.shape
    size = max(1, BLOCK // (n * n + n * m + len(designs[0].answers.winners) * m + 1))
    result: list[Settled] = []
    for begin in range(0, len(designs), size):
        some = slice(begin, begin + size)
        stack = _stack_of(designs[some], lapses[some])
        tolerances = SETTLED if tolerance is None else tolerance
        for one, design in zip(_settled(stack, start, tolerances), designs[some], strict=True):
            result.append(one._replace(design=design))
    return result


def _settled(stack: _Stack, start: Sites | None, tolerance: float) -> list[Settled]:
    """Each site takes on the mean slope and curvature of its answer's log probability, pass by pass.

    This is a natural gradient step. One that does not help is taken back, and half of it tried. Of many
    unknowns, slope and curvature are those at the mean, which is Laplace's way.
    """
    count = len(stack.roots)
    sites = stack.first_sites() if start is None else _repeated(start, count)
    lengths, highest, place = np.ones(count), np.full(count, -np.inf), np.arange(count)
    here, best, found = sites, sites, dict[int, Settled]()
    for _ in range(MOST_PASSES):
        at = stack.posterior(sites)
        there = stack.expect(at, sites)
        known = there.known - np.einsum("em,em->e", at.mean, at.mean)
        bounds = there.value + known / 2 - np.log(np.einsum("emm->em", at.lower)).sum(axis=1)
        helped, done = bounds > highest, np.abs(bounds - highest) < tolerance
        # What is returned belongs to these sites.
        for e in np.flatnonzero(helped).tolist():
            found[int(place[e])] = stack.settled(e, float(bounds[e]), at, sites, there)
        here, best = _where(helped, sites, here), _where(helped, there.sites, best)
        highest = np.where(helped, bounds, highest)
        lengths = np.where(helped, np.minimum(LONGER * lengths, 1.0), lengths / 2)
        done |= lengths < SHORTEST
        if done.all():
            break
        if done.any():
            stack, here, best = stack.only(~done), here.only(~done), best.only(~done)
            lengths, highest, place = lengths[~done], highest[~done], place[~done]
        sites = _towards(here, best, lengths)
    return [found[e] for e in range(count)]


def _where(chosen: NDArray[np.bool_], one: Sites, other: Sites) -> Sites:
    """Of each design, these sites if it is chosen, the others if not."""
    if chosen.all():
        return one
    own = chosen[:, None]
    blocks = (
        np.where(own[:, :, None, None], first, second)
        for first, second in zip(one.blocks, other.blocks, strict=True)
    )
    precision = np.where(own, one.precision, other.precision)
    return Sites(precision, np.where(own, one.shift, other.shift), tuple(blocks))


def _repeated(sites: Sites, count: int) -> Sites:
    """The same for each design."""
    blocks = tuple(np.repeat(block[None], count, axis=0) for block in sites.blocks)
    return Sites(np.tile(sites.precision, (count, 1)), np.tile(sites.shift, (count, 1)), blocks)


def _towards(here: Sites, there: Sites, lengths: Vector) -> Sites:
    """Part of the way to other sites, for each design its own."""
    part = lengths[:, None]
    blocks = (
        old + part[:, :, None, None] * (new - old) for old, new in zip(here.blocks, there.blocks, strict=True)
    )
    precision = here.precision + part * (there.precision - here.precision)
    return Sites(precision, here.shift + part * (there.shift - here.shift), tuple(blocks))


class _Gaussians(NamedTuple):
    """Lower roots of precisions, means, and roots of the scores' covariances unless these do not matter."""

    lower: Matrix
    mean: Matrix
    across: Matrix | None


class _Expectations(NamedTuple):
    """As `Expectation`, of several designs."""

    value: Vector
    known: Vector
    to_lapse: Vector
    sites: Sites
    margin: Matrix
    variance: Matrix
    slope: Matrix
    to_head_start: Vector


def _stack_of(designs: list[Design], lapses: list[float]) -> _Stack:
    kind = _SetStack if isinstance(designs[0], SetDesign) else _Stack
    starts = np.array([design.head_start for design in designs])
    return kind(designs[0], np.array([design.root for design in designs]), np.array(lapses), starts)


@dataclass(frozen=True, eq=False)
class _Stack:
    """Designs of the same answers, all about two things: roots (E, n, m), lapses (E,), head starts (E,)."""

    design: Design
    roots: Matrix
    lapses: Vector
    head_starts: Vector

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

    def only(self, chosen: Any) -> _Stack:
        """Some of the designs."""
        return replace(
            self,
            roots=self.roots[chosen],
            lapses=self.lapses[chosen],
            head_starts=self.head_starts[chosen],
        )

    def settled(self, e: int, bound: float, at: _Gaussians, sites: Sites, found: _Expectations) -> Settled:
        """What was found of one of the designs."""
        value, known, to_lapse, best, margin, variance, slope, to_start = found
        sums = float(value[e]), float(known[e]), float(to_lapse[e])
        own = Expectation(*sums, best.only(e), margin[e], variance[e], slope[e], float(to_start[e]))
        return Settled(bound, at.lower[e], at.mean[e], sites.only(e), float(self.lapses[e]), own, self.design)

    def first_sites(self) -> Sites:
        """From nothing."""
        weights = self.answers.weights
        return _repeated(Sites(0.1 * weights, 0 * weights), len(self.roots))

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

    def shifts(self, sites: Sites) -> Matrix:
        """The sites' shifts along the scores."""
        return self.to_scores(sites.shift)

    def posterior(self, sites: Sites) -> _Gaussians:
        """Given the sites."""
        gram = self._gram(sites)
        gram[:, np.arange(gram.shape[1]), np.arange(gram.shape[1])] += 1.0
        lower: Matrix = np.linalg.cholesky(gram).astype(float, copy=False)
        pull: Matrix = (self.shifts(sites)[:, None, :] @ self.roots)[:, 0]
        if gram.shape[1] > MOST_WEIGHED:
            means = [
                cho_solve((root, True), own, check_finite=False)
                for root, own in zip(lower, pull, strict=True)
            ]
            return _Gaussians(lower, np.array(means), None)
        inverse = np.empty_like(lower)
        for root, result in zip(lower, inverse, strict=True):
            result[:] = dtrtri(root, lower=1)[0] if len(root) else root
        mean = inverse.transpose(0, 2, 1) @ (inverse @ pull[:, :, None])
        return _Gaussians(lower, mean[:, :, 0], self.roots @ inverse.transpose(0, 2, 1))

    def _gram(self, sites: Sites) -> Matrix:
        """The precision of the unknowns that comes from the sites, by that of the scores."""
        (count, n, _), parts = self.roots.shape, list(self.parts(sites))
        places = np.concatenate([at for at, _ in parts])
        sizes = np.concatenate([size.reshape(count, -1) for _, size in parts], axis=1)
        across = self.roots.transpose(0, 2, 1)
        if n * n <= BLOCK:
            at = (n * n * np.arange(count)[:, None] + places).ravel()
            of_scores = np.bincount(at, sizes.ravel(), count * n * n).reshape(count, n, n)
            result: Matrix = across @ (of_scores @ self.roots)
            return result
        where = places // n, places % n
        return np.array(
            [across[e] @ (csr_array((sizes[e], where), shape=(n, n)) @ self.roots[e]) for e in range(count)]
        )

    def parts(self, sites: Sites) -> Iterator[tuple[Index, Matrix]]:
        """Places in the (n, n) precision of the scores, and (E, ...) what the sites add there."""
        n, (winners, losers) = self.roots.shape[1], self.ends
        for one, other in ((winners, winners), (losers, losers)):
            yield n * one + other, sites.precision
        for one, other in ((winners, losers), (losers, winners)):
            yield n * one + other, -sites.precision

    def expect(self, at: _Gaussians, sites: Sites) -> _Expectations:
        """Under these Gaussians, which the sites give."""
        own = self.pair_rows
        (winners, losers), weights = self.ends, self.answers.weights[own]
        scores = self.scores(at)
        margin, variance = scores[:, losers] - scores[:, winners], np.zeros((len(scores), len(own)))
        if at.across is not None:
            away = at.across[:, losers] - at.across[:, winners]
            variance = np.einsum("epm,epm->ep", away, away)
        log_p, slope, curvature, to_lapse, to_start = self._of_margins(margin, variance)
        precision = np.maximum(weights * curvature, 1e-6 * weights)
        best = Sites(precision, weights * slope + precision * margin)
        known = (sites.precision * variance).sum(axis=1)
        sums = log_p @ weights, known, to_lapse @ weights
        return _Expectations(*sums, best, margin, variance, weights * slope, to_start @ weights)

    def scores(self, at: _Gaussians) -> Matrix:
        """(E, n) means."""
        result: Matrix = (self.roots @ at.mean[:, :, None])[:, :, 0]
        return result

    def _of_margins(self, margin: Matrix, variance: Matrix) -> tuple[Matrix, ...]:
        """What `expected` says of the answers about two things, and mean slopes along the head start."""
        shape, sets = margin.shape, self.answers.sets
        margin, variance = margin.ravel(), variance.ravel()
        lapses = np.repeat(self.lapses, shape[1])[:, None]
        found = [*expected(margin, variance, lapses), np.zeros(len(margin))]
        if sets is not None and len(sets.ahead):
            rows = np.tile(self.pair_rows, shape[0])
            may = np.flatnonzero(sets.are_ahead(self.answers.losers[rows], len(self.answers.items)))
            tied, starts = self.answers.is_tie[rows[may]], np.repeat(self.head_starts, shape[1])[may, None]
            of_may = expected_ties(margin[may], variance[may], lapses[may], tied, starts)
            for whole, part in zip(found, of_may, strict=True):
                whole[may] = part
        return tuple(part.reshape(shape) for part in found)


@dataclass(frozen=True, eq=False)
class _SetStack(_Stack):
    """The same of items and anchors, where answers may also be about sets of them."""

    def first_sites(self) -> Sites:
        """From nothing."""
        weights, (choices, rankings) = self.answers.weights, self.answers.in_rankings
        blocks = [0.4 * weights[one.rows][:, None, None] * _about(one.present) for one in choices]
        for ranking in rankings:
            each = (_about(later) for later in _choices_of(ranking.present))
            of_places = _weights_of(ranking, weights).T[:, :, None, None]
            blocks.append(0.4 * sum(part * of_place for part, of_place in zip(each, of_places, strict=True)))
        first = Sites(0.1 * weights[self.pair_rows], np.zeros(self.roots.shape[1]), tuple(blocks))
        return _repeated(first, len(self.roots))

    def shifts(self, sites: Sites) -> Matrix:
        """The sites' shifts along the scores."""
        return sites.shift

    def parts(self, sites: Sites) -> Iterator[tuple[Index, Matrix]]:
        """Places in the (n, n) precision of the scores, and (E, ...) what the sites add there."""
        yield from super().parts(sites)
        n, (choices, rankings) = self.roots.shape[1], self.answers.in_rankings
        every: tuple[Any, ...] = (*choices, *rankings)
        for one, block in zip(every, sites.blocks, strict=True):
            yield (n * one.members[:, :, None] + one.members[:, None, :]).ravel(), block

    def expect(self, at: _Gaussians, sites: Sites) -> _Expectations:
        """Under these Gaussians, which the sites give."""
        pairs, scores, blocks = super().expect(at, sites), self.scores(at), []
        sums, shift = np.array([pairs.value, pairs.known, pairs.to_lapse]), self.to_scores(pairs.sites.shift)
        choices, rankings = self.answers.in_rankings
        every: tuple[Any, ...] = (*choices, *rankings)
        for one, block in zip(every, sites.blocks, strict=True):
            mean = scores[:, one.members]
            spread = np.zeros((*mean.shape, mean.shape[2]))
            if at.across is not None:
                spread = covariances(at.across, one.members)
            of_one = self._of_rankings if isinstance(one, Rankings) else self._of_choices
            log_p, to_lapse, slope, new = of_one(mean, spread, one)
            sums += [log_p, np.einsum("epkl,epkl->e", block, spread), to_lapse]
            shift += self.added(one.members, slope + (new @ mean[:, :, :, None])[..., 0])
            blocks.append(new)
        value, known, to_lapse = sums
        best = Sites(pairs.sites.precision, shift, tuple(blocks))
        return pairs._replace(value=value, known=known, to_lapse=to_lapse, sites=best)

    def _of_choices(self, mean: Matrix, spread: Matrix, choices: Any) -> tuple[Matrix, ...]:
        """log p and slope along the lapse, (E,), slopes and precisions, of choices (E, P, K)."""
        count, n_choices, k = mean.shape
        weights = self.answers.weights[choices.rows]
        present, signs = np.tile(choices.present, (count, 1)), np.tile(choices.signs, count)
        every = choices._replace(present=present, signs=signs)
        lapses = np.repeat(self.lapses, n_choices)[:, None]
        found = expect_choices(mean.reshape(-1, k), spread.reshape(-1, k, k), every, lapses)
        precision = mended(found.curvature, found.is_concave).reshape(spread.shape)
        log_p, to_lapse = (part.reshape(count, n_choices) @ weights for part in (found.log_p, found.to_lapse))
        slope = weights[:, None] * found.slope.reshape(mean.shape)
        return log_p, to_lapse, slope, weights[:, None, None] * precision

    def _of_rankings(self, mean: Matrix, spread: Matrix, rankings: Any) -> tuple[Matrix, ...]:
        """The same of rankings."""
        count, n_rankings, k = mean.shape
        weights = np.tile(_weights_of(rankings, self.answers.weights), (count, 1))
        present, lapses = np.tile(rankings.present, (count, 1)), np.repeat(self.lapses, n_rankings)[:, None]
        found = expect_rankings(mean.reshape(-1, k), spread.reshape(-1, k, k), present, weights, lapses)
        precision = mended(found.curvature, found.is_concave).reshape(spread.shape)
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
