"""The population that makes everybody's answers likely: passes over all people, accelerated.

A pass is a map over blocks of people (posteriors.py) and a sum of a few matrices (population_prior.py).
People may also be of one of several groups, each with a mean of its own, or toss a coin.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import partial, reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.blas import serial
from coombs.inference.people.acceleration import Anderson
from coombs.inference.people.answer_blocks import some_people
from coombs.inference.people.population_prior import PopulationPrior, Sums
from coombs.inference.people.posteriors import Posteriors, Sites, Update, posteriors, settle, update

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from coombs.data.graph import Matrix, Vector
    from coombs.inference.people.answer_blocks import AnswerBlock

MOST_PASSES = 100
"""Passes over everybody after each of which the population changes, at most."""
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
FEW_PEOPLE = 250
"""People, at least, from whom the population is learned first,"""
SAMPLE_SHARE = 8
"""where all are more than twice as many: one of so many."""
EVIDENCE_PASSES = 7
"""The same for people who are not learned from."""


class PopulationStatus(StrEnum):
    """How the passes ended."""

    CONVERGED = "converged"
    MAX_ITERATIONS = "max_iterations"
    NUMERICAL_ERROR = "numerical_error"


class View(NamedTuple):
    """The items as anybody sees them: whitened coordinates (n, D), utilities (G, n) by the groups' means."""

    white: Matrix
    base: Matrix

    @classmethod
    def of(cls, prior: PopulationPrior, coordinates: Matrix) -> View:
        """Of items with these coordinates."""
        return cls(coordinates @ prior.root, prior.means @ coordinates.T)


class BlockPass(NamedTuple):
    """What a pass over a block gives: sums, probabilities of groups and coin (K, G + 1), sites."""

    sums: Sums
    members: Matrix
    sites: tuple[Sites, ...]


def pass_over(
    block: AnswerBlock, sites: tuple[Sites, ...], prior: PopulationPrior, view: View, before: int = 0
) -> BlockPass:
    """One pass over a block of people, after some in which only the sites change."""
    design, offsets = block.design(view.white), [block.margins(base) for base in view.base]
    sites = tuple(
        settle(design, offset, one, block.weights, prior.lapse, before)
        for offset, one in zip(offsets, sites, strict=True)
    )
    found = [posteriors(design, offset, one) for offset, one in zip(offsets, sites, strict=True)]
    updates = [update(here, one, block.weights, prior.lapse) for here, one in zip(found, sites, strict=True)]
    logs = log_members(updates, prior, block.totals)
    highest = logs.max(axis=1, keepdims=True)
    members = np.exp(logs - highest)
    totals = members.sum(axis=1, keepdims=True)
    members /= totals
    evidence = float((highest + np.log(totals)).sum())
    sums = _sums(found, updates, members, block.weights, prior.lapse, evidence)
    return BlockPass(sums, members, tuple(one.sites for one in updates))


def log_members(updates: Sequence[Update], prior: PopulationPrior, totals: Vector) -> Matrix:
    """(K, G + 1) log of how likely everybody's answers are with each group, and with a coin."""
    groups = [
        np.log(share * (1 - prior.coin)) + one.log_evidence
        for share, one in zip(prior.shares, updates, strict=True)
    ]
    return np.column_stack([*groups, np.log(prior.coin) - totals * np.log(2)])


def _sums(
    found: Sequence[Posteriors],
    updates: Sequence[Update],
    members: Matrix,
    weights: Matrix,
    lapse: float,
    evidence: float,
) -> Sums:
    """What the M-step needs of a block."""
    first, second, covariance, slope, curvature = [], 0.0, [], 0.0, 0.0
    for here, one, own in zip(found, updates, members.T[:-1], strict=True):
        mean = here.mean * own[:, None]
        first.append(mean.sum(axis=0))
        second = second + mean.T @ here.mean
        covariance.append(here.weighted_covariance(own))
        counted, away = own[:, None] * weights, (0.5 / one.p - 1) / (1 - lapse)
        slope += float((counted * away).sum())
        curvature += float((counted * away**2).sum())
    totals = members.sum(axis=0)
    moments = np.array(first), np.array(covariance), np.asarray(second)
    return Sums(totals[:-1], *moments, slope, curvature, float(totals[-1]), evidence)


@dataclass(frozen=True, eq=False)
class PopulationFit:
    """The population, everybody's sites and probabilities of groups and coin by block, and how it ended."""

    blocks: tuple[AnswerBlock, ...]
    prior: PopulationPrior
    sites: tuple[tuple[Sites, ...], ...]
    members: tuple[Matrix, ...]
    sums: Sums
    status: PopulationStatus
    n_iter: int

    @property
    def log_evidence(self) -> float:
        """log of how likely the answers are, given what is learned of all."""
        return self.sums.log_evidence


def fit_population(
    coordinates: Matrix,
    blocks: tuple[AnswerBlock, ...],
    start: PopulationPrior,
    *,
    n_jobs: int = 1,
    tolerance: float | None = None,
    max_iter: int = MOST_PASSES,
) -> PopulationFit:
    """Passes until nothing changes; sums are added in the blocks' order, whoever computed them."""
    with serial(0):
        if n_jobs == 1:
            return _fit(coordinates, blocks, start, map, tolerance, max_iter)
        with ThreadPoolExecutor(n_jobs) as pool:
            return _fit(coordinates, blocks, start, pool.map, tolerance, max_iter)


def _fit(
    coordinates: Matrix,
    blocks: tuple[AnswerBlock, ...],
    start: PopulationPrior,
    over: Callable[..., Iterable[BlockPass]],
    tolerance: float | None,
    max_iter: int,
) -> PopulationFit:
    """The same, from where a fit to some of many people ends; `over` maps over blocks."""
    prior, n = start, sum(len(block.people) for block in blocks)
    some = max(FEW_PEOPLE, n // SAMPLE_SHARE)
    if n > 2 * some:
        prior = _fit(coordinates, some_people(blocks, some), start, over, tolerance, max_iter).prior
    least = float(np.clip(PRECISION / np.sqrt(n), FINEST, COARSEST)) if tolerance is None else tolerance
    sites = tuple(tuple(Sites.empty(block) for _ in prior.shares) for block in blocks)
    accelerated, status, count, before = Anderson(), PopulationStatus.MAX_ITERATIONS, 0, FIRST_PASSES
    while status == PopulationStatus.MAX_ITERATIONS:
        view, count = View.of(prior, coordinates), count + 1
        run = partial(pass_over, prior=prior, view=view, before=before)
        found = list(over(run, blocks, sites))
        sites, before = tuple(one.sites for one in found), BETWEEN_PASSES
        sums = reduce(Sums.plus, (one.sums for one in found))
        new = prior.maximised(sums)
        residual = prior.change(new)
        if not np.isfinite(residual):
            status = PopulationStatus.NUMERICAL_ERROR
        elif residual < least:
            status = PopulationStatus.CONVERGED
        elif count >= max_iter:
            break
        else:
            prior = new.at(accelerated.next(prior.vector(), new.vector()))
    members = tuple(one.members for one in found)
    return PopulationFit(blocks, prior, sites, members, sums, status, count)


def evidence_of(prior: PopulationPrior, coordinates: Matrix, blocks: tuple[AnswerBlock, ...]) -> float:
    """Log of how likely the answers of people are who were not learned from."""
    view, total = View.of(prior, coordinates), 0.0
    for block in blocks:
        sites = tuple(Sites.empty(block) for _ in prior.shares)
        total += pass_over(block, sites, prior, view, EVIDENCE_PASSES).sums.log_evidence
    return total
