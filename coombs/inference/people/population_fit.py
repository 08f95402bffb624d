"""The population that makes everybody's answers likely: passes over all people, accelerated.

A pass is a map over blocks of people (posteriors.py) and a sum of a few matrices (population_prior.py).
People may also be of one of several groups, each with a mean of its own, or toss a coin.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial, reduce
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from coombs.blas import serial
from coombs.inference.people.acceleration import Anderson
from coombs.inference.people.answer_blocks import some_people
from coombs.inference.people.population_prior import NO_COVARIATES, NO_SHARE, PopulationPrior, Sums
from coombs.inference.people.posteriors import Posteriors, Sites, Update, posteriors, settle, update
from coombs.progress import step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from coombs.data.graph import Matrix, Vector
    from coombs.inference.people.answer_blocks import AnswerBlock

MOST_PASSES = 100
"""Passes over everybody after each of which the population changes, at most."""
UNDAMPED = 10
"""Passes after which the lapse rate goes half of its way only: near its least it may jump to and fro."""
PRECISION = 0.15
"""How little the last changes means and deviations, by their typical size and that of chance, 1 / sqrt(n);"""
FINEST = 1e-3
"""but not less than this"""
COARSEST = 2e-2
"""nor more."""
FIRST_PASSES = 3
"""Passes in which only the sites change, so that everybody's posterior is nearly there."""
BETWEEN_PASSES = 1
"""The same before each change of the population: sites of one that is gone would hold the next one back."""
FEW_PEOPLE = 500
"""People, at least, who tell what the population is made of, and from whom it is learned first:"""
SAMPLE_SHARE = 8
"""one of so many,"""
MOST_FIRST = 60_000
"""and no more than this: their means and deviations are known to half a hundredth;"""
WORTH_IT = 1.5
"""where all are more than so many times as many."""

LARGE = 1.5
"""Deviation of what a block's own weights, or an item's effect, add to utilities, in logits, above which less
is tried;"""
MOST_HALVINGS = 8
"""half the variance, so many times at most, as so many people tell;"""
MOST_TELLING = 150
"""no more, since they need not tell it exactly."""
SETTLING_PASSES = 8
"""Passes in which only the sites change, there,"""
RESETTLING_PASSES = 2
"""and from sites of a population much like it: the log evidence is then off by less than 0.01."""


class PopulationStatus(StrEnum):
    """How the passes ended."""

    CONVERGED = "converged"
    MAX_ITERATIONS = "max_iterations"
    NUMERICAL_ERROR = "numerical_error"
    CLUSTER_LOST = "cluster_lost"


class View(NamedTuple):
    """The items as anybody sees them: whitened coordinates (n, D), utilities (G, n) by the groups' means.

    `effect` is the deviation of what an item is worth to one person beyond that; `slopes` (D, q) are by what
    whitened weights move with covariates, None without any; `scales` (S,) how many times as large weights.
    """

    white: Matrix
    base: Matrix
    effect: float
    scales: Vector
    slopes: Matrix | None = None

    @classmethod
    def of(cls, prior: PopulationPrior, coordinates: Matrix) -> View:
        """Of items with these coordinates."""
        slopes = None if prior.slopes is None else prior.slopes.whitened(prior.root)
        base = prior.means @ coordinates.T
        return cls(coordinates @ prior.root, base, prior.effect, prior.scales, slopes)

    def readings(self, block: AnswerBlock) -> list[tuple[Matrix, Matrix]]:
        """Of each component, (K, A, D) what margins are multiples of, and (K, A) those before any answer."""
        design = block.design(self.white, self.effect)
        offsets = [block.margins(base) for base in self.base]
        if self.slopes is not None and block.about is not None:
            moved = block.about @ self.slopes.T
            own = np.matmul(design[:, :, : moved.shape[1]], moved[:, :, None])[:, :, 0]
            offsets = [one + own for one in offsets]
        designs = [design if scale == 1.0 else design * scale for scale in self.scales.tolist()]
        scaled = list(zip(designs, self.scales.tolist(), strict=True))
        return [(one, offset * scale) for offset in offsets for one, scale in scaled]


def no_sites(block: AnswerBlock, prior: PopulationPrior) -> tuple[Sites, ...]:
    """Of each component, before any answer is read."""
    return tuple(Sites.empty(block) for _ in prior.components.shares)


class BlockPass(NamedTuple):
    """What a pass over a block gives: sums, probabilities of components and coin (K, C + 1), sites."""

    sums: Sums
    members: Matrix
    sites: tuple[Sites, ...]


def pass_over(
    block: AnswerBlock, sites: tuple[Sites, ...], prior: PopulationPrior, view: View, before: int = 0
) -> BlockPass:
    """One pass over a block of people, after some in which only the sites change."""
    readings = view.readings(block)
    sites = tuple(
        settle(design, offset, one, block.weights, prior.lapse, before)
        for (design, offset), one in zip(readings, sites, strict=True)
    )
    found = [posteriors(design, offset, one) for (design, offset), one in zip(readings, sites, strict=True)]
    updates = [update(here, one, block.weights, prior.lapse) for here, one in zip(found, sites, strict=True)]
    logs = log_members(updates, prior, block.totals)
    highest = logs.max(axis=1, keepdims=True)
    members = np.exp(logs - highest)
    totals = members.sum(axis=1, keepdims=True)
    members /= totals
    evidence = float((highest + np.log(totals)).sum())
    sums = _sums(found, updates, members, block, prior, evidence)
    return BlockPass(sums, members, tuple(one.sites for one in updates))


def log_members(updates: Sequence[Update], prior: PopulationPrior, totals: Vector) -> Matrix:
    """(K, C + 1) log of how likely everybody's answers are with each component, and with a coin."""
    parts = [
        np.log(share * (1 - prior.coin)) + one.log_evidence
        for share, one in zip(prior.components.shares, updates, strict=True)
    ]
    return np.column_stack([*parts, np.log(prior.coin) - totals * np.log(2)])


def _sums(
    found: Sequence[Posteriors],
    updates: Sequence[Update],
    members: Matrix,
    block: AnswerBlock,
    prior: PopulationPrior,
    evidence: float,
) -> Sums:
    """What the M-step needs of a block."""
    (groups, d), slope, curvature = prior.means.shape, 0.0, 0.0
    first, second, covariance = np.zeros((groups, d)), np.zeros((d, d)), np.zeros((groups, d, d))
    effects, crossed, spread = np.zeros(3), NO_COVARIATES, NO_COVARIATES
    if block.about is not None:
        spread = (block.about * members[:, :-1].sum(axis=1)[:, None]).T @ block.about
        crossed = np.zeros((d, len(spread)))
    components = prior.components.groups.tolist()
    for group, here, one, own in zip(components, found, updates, members.T[:-1], strict=True):
        weighted = here.mean[:, :d] * own[:, None]
        first[group] += weighted.sum(axis=0)
        second += weighted.T @ here.mean[:, :d]
        covariance[group] += here.weighted_covariance(own, d)
        if block.about is not None:
            crossed = crossed + weighted.T @ block.about
        if prior.effect:
            # Where a person has fewer items, what follows is as before any answer.
            variance = here.effect_variances(d)
            excess = (here.mean[:, d:] ** 2 + variance - 1).sum(axis=1)
            told = excess, (1 - variance).sum(axis=1), block.local.counts
            effects += [float(own @ part) for part in told]
        counted, away = own[:, None] * block.weights, (0.5 / one.p - 1) / (1 - prior.lapse)
        slope += float((counted * away).sum())
        curvature += float((counted * away**2).sum())
    totals = prior.components.by_group(members.sum(axis=0))
    shares = slope, curvature, float(totals[-1]), evidence
    moments = first, covariance, second, effects
    return Sums(totals[:-1], *moments, *shares, crossed, spread, _along_uneven(members, prior))


def _along_uneven(members: Matrix, prior: PopulationPrior) -> Vector:
    """Slope and curvature of the log evidence along the share of people off the middle scale."""
    if not prior.uneven:
        return NO_SHARE
    middle = members[:, 1:-1:3].sum(axis=1)
    away = (1 - members[:, -1] - middle) / prior.uneven - middle / (1 - prior.uneven)
    return np.array([away.sum(), (away**2).sum()])


BlockSites: TypeAlias = "tuple[tuple[Sites, ...], ...]"
"""Of each block, of each component."""


@dataclass(frozen=True, eq=False)
class PopulationFit:
    """The population, everybody's sites and probabilities of components and coin by block, how it ended."""

    blocks: tuple[AnswerBlock, ...]
    prior: PopulationPrior
    sites: BlockSites
    members: tuple[Matrix, ...]
    sums: Sums
    status: PopulationStatus
    n_iter: int

    @property
    def log_evidence(self) -> float:
        """log of how likely the answers are, given what is learned of all."""
        return self.sums.log_evidence


def first_count(n_people: int) -> int | None:
    """How many of very many people are learned from first; None if all are."""
    some = min(max(FEW_PEOPLE, n_people // SAMPLE_SHARE), MOST_FIRST)
    return some if n_people > WORTH_IT * some else None


def fit_population(
    coordinates: Matrix,
    blocks: tuple[AnswerBlock, ...],
    start: PopulationPrior,
    *,
    n_jobs: int = 1,
    tolerance: float | None = None,
    max_iter: int = MOST_PASSES,
    sites: BlockSites | None = None,
    is_near: bool = False,
) -> PopulationFit:
    """Passes until nothing changes; sums are added in the blocks' order, whoever computed them.

    Some of many people are learned from first, unless `start` is near, as it was learned so; so it is where
    there are `sites`, which are of a population much like it.
    """
    with serial(0):
        if n_jobs == 1:
            return _fit(coordinates, blocks, start, map, tolerance, max_iter, sites, is_near)
        with ThreadPoolExecutor(n_jobs) as pool:
            return _fit(coordinates, blocks, start, pool.map, tolerance, max_iter, sites, is_near)


def _fit(
    coordinates: Matrix,
    blocks: tuple[AnswerBlock, ...],
    start: PopulationPrior,
    over: Callable[..., Iterable[BlockPass]],
    tolerance: float | None,
    max_iter: int,
    begun: BlockSites | None = None,
    is_near: bool = False,
) -> PopulationFit:
    """The same; `over` maps over blocks."""
    n = sum(len(block.people) for block in blocks)
    some = None if is_near or begun is not None else first_count(n)
    if some is not None:
        start = _fit(coordinates, some_people(blocks, some), start, over, tolerance, max_iter).prior
    sites = tuple(no_sites(block, start) for block in blocks) if begun is None else begun
    members: tuple[Matrix, ...] = ()

    def everybody(prior: PopulationPrior, before: int) -> Sums:
        """One pass over all blocks."""
        nonlocal sites, members
        run = partial(pass_over, prior=prior, view=View.of(prior, coordinates), before=before)
        found = list(over(run, blocks, sites))
        sites, members = tuple(one.sites for one in found), tuple(one.members for one in found)
        return reduce(Sums.plus, (one.sums for one in found))

    before = FIRST_PASSES if begun is None else RESETTLING_PASSES
    ended = passes(start, everybody, n, tolerance, max_iter, before)
    smaller = _smaller(ended.prior, coordinates, blocks, sites)
    if smaller is not ended.prior:
        kept, less = (sites, members), everybody(smaller, SETTLING_PASSES)
        # Some people say so; all of them must bear it out.
        if criterion(smaller, less) > criterion(ended.prior, ended.sums):
            ended = ended._replace(prior=smaller, sums=less)
        else:
            sites, members = kept
    return PopulationFit(blocks, ended.prior, sites, members, ended.sums, ended.status, ended.n_iter)


def _smaller(
    prior: PopulationPrior,
    coordinates: Matrix,
    blocks: tuple[AnswerBlock, ...],
    sites: BlockSites,
) -> PopulationPrior:
    """The population with smaller differences, if some make the answers of some people likelier.

    Where people differ very much, their answers hardly tell by how much, and passes drift along that.
    """
    if max(prior.sizes(prior.covariance).max(), prior.effect) < LARGE:
        return prior
    before = RESETTLING_PASSES
    if sum(len(block.people) for block in blocks) > MOST_TELLING:
        blocks, before = some_people(blocks, MOST_TELLING), SETTLING_PASSES
        sites = tuple(no_sites(block, prior) for block in blocks)
    best = _read(prior, coordinates, blocks, sites, before)
    for _ in range(MOST_HALVINGS):
        less = (best.prior.resized(0.5), replace(best.prior, effect=best.prior.effect * 0.5**0.5))
        found = [
            _read(one, coordinates, blocks, best.sites, RESETTLING_PASSES)
            for one in less[: 2 if prior.effect else 1]
        ]
        new = max(found, key=lambda one: one.criterion)
        if new.criterion < best.criterion:
            break
        best = new
    return best.prior


class _Reading(NamedTuple):
    """How likely a population is with some people's answers, and what those say."""

    prior: PopulationPrior
    criterion: float
    sites: BlockSites


def _read(
    prior: PopulationPrior,
    coordinates: Matrix,
    blocks: tuple[AnswerBlock, ...],
    sites: BlockSites,
    before: int,
) -> _Reading:
    """Log evidence of these people's answers, and how likely such differences are before any answer."""
    view, total, after = View.of(prior, coordinates), 0.0, []
    for block, one in zip(blocks, sites, strict=True):
        found = pass_over(block, one, prior, view, before)
        total += found.sums.log_evidence
        after.append(found.sites)
    total += prior.log_prior_of_size() + prior.log_prior_of_effect()
    return _Reading(prior, total, tuple(after))


def criterion(prior: PopulationPrior, sums: Sums) -> float:
    """Log evidence of everybody's answers, and how likely such differences are before any answer."""
    return sums.log_evidence + prior.log_prior_of_size() + prior.log_prior_of_effect()


class Ended(NamedTuple):
    """The population of the last pass, what that pass gave, how the passes ended, and how many there were."""

    prior: PopulationPrior
    sums: Sums
    status: PopulationStatus
    n_iter: int


def passes(
    prior: PopulationPrior,
    everybody: Callable[[PopulationPrior, int], Sums],
    n_people: int,
    tolerance: float | None = None,
    max_iter: int = MOST_PASSES,
    before: int = FIRST_PASSES,
) -> Ended:
    """Passes over everybody until nothing changes, wherever people are.

    `everybody` runs one with a population, after some in which only the sites change, `before` the first.
    """
    least = (
        float(np.clip(PRECISION / np.sqrt(n_people), FINEST, COARSEST)) if tolerance is None else tolerance
    )
    accelerated, count, place = Anderson(), 0, prior.vector()
    while True:
        sums, count, before = everybody(prior, before), count + 1, BETWEEN_PASSES
        step()
        new = prior.maximised(sums)
        if count > UNDAMPED:
            new = replace(new, lapse=float(np.sqrt(prior.lapse * new.lapse)))
        residual = prior.change(new)
        if not np.isfinite(residual):
            return Ended(prior, sums, PopulationStatus.NUMERICAL_ERROR, count)
        if residual < least:
            return Ended(prior, sums, PopulationStatus.CONVERGED, count)
        if count >= max_iter:
            return Ended(prior, sums, PopulationStatus.MAX_ITERATIONS, count)
        place = accelerated.next(place, new.vector())
        prior = new.at(place)
