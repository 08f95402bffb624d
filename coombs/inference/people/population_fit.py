"""The population that makes everybody's answers likely: passes over all people, accelerated.

A pass is a map over blocks of people (posteriors.py) and a sum of a few matrices (population_prior.py).
People may also be of one of several groups, each with a mean of its own, or toss a coin.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.blas import serial
from coombs.inference.people.acceleration import Anderson
from coombs.inference.people.population_prior import PopulationPrior, Sums
from coombs.inference.people.posteriors import Posteriors, Sites, Update, posteriors, update

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coombs.data.graph import Matrix, Vector
    from coombs.inference.people.answer_blocks import AnswerBlock

MOST_PASSES = 150
"""Passes over everybody, at most."""
TOLERANCE = 5e-3
"""How little a pass changes means and deviations in the end, by their typical size."""
FIRST_PASSES = 3
"""Passes in which only the sites change, so that everybody's posterior is nearly there."""
LAST_PASSES = 2
"""The same at the end."""


class PopulationStatus(StrEnum):
    """How the passes ended."""

    CONVERGED = "converged"
    MAX_ITERATIONS = "max_iterations"
    NUMERICAL_ERROR = "numerical_error"


class View(NamedTuple):
    """The items as anybody sees them: whitened coordinates (n, D), utilities (G, n) by the groups' means.

    `effect` is the deviation of what an item is worth to one person beyond that.
    """

    white: Matrix
    base: Matrix
    effect: float

    @classmethod
    def of(cls, prior: PopulationPrior, coordinates: Matrix) -> View:
        """Of items with these coordinates."""
        return cls(coordinates @ prior.root, prior.means @ coordinates.T, prior.effect)


class BlockPass(NamedTuple):
    """What a pass over a block gives: sums, probabilities of groups and coin (K, G + 1), sites."""

    sums: Sums
    members: Matrix
    sites: tuple[Sites, ...]


def pass_over(block: AnswerBlock, sites: tuple[Sites, ...], prior: PopulationPrior, view: View) -> BlockPass:
    """One pass over a block of people."""
    design = block.design(view.white, view.effect)
    found = [posteriors(design, block.margins(base), one) for base, one in zip(view.base, sites, strict=True)]
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
    block: AnswerBlock,
    prior: PopulationPrior,
    evidence: float,
) -> Sums:
    """What the M-step needs of a block."""
    d = len(prior.root)
    first, second, covariance, slope, curvature = [], 0.0, [], 0.0, 0.0
    effects = np.zeros(3)
    for here, one, own in zip(found, updates, members.T[:-1], strict=True):
        weighted = here.mean[:, :d] * own[:, None]
        first.append(weighted.sum(axis=0))
        second = second + weighted.T @ here.mean[:, :d]
        covariance.append(here.weighted_covariance(own, d))
        if prior.effect:
            # Where a person has fewer items, what follows is as before any answer.
            variance = here.effect_variances(d)
            excess = (here.mean[:, d:] ** 2 + variance - 1).sum(axis=1)
            told = excess, (1 - variance).sum(axis=1), block.local.counts
            effects += [float(own @ part) for part in told]
        counted, away = own[:, None] * block.weights, (0.5 / one.p - 1) / (1 - prior.lapse)
        slope += float((counted * away).sum())
        curvature += float((counted * away**2).sum())
    totals = members.sum(axis=0)
    moments = np.array(first), np.array(covariance), np.asarray(second), effects
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
    tolerance: float = TOLERANCE,
    max_iter: int = MOST_PASSES,
) -> PopulationFit:
    """Passes until nothing changes; sums are added in the blocks' order, whoever computed them."""
    prior = start
    sites = tuple(tuple(Sites.empty(block) for _ in prior.shares) for block in blocks)
    accelerated, status, count = Anderson(), PopulationStatus.MAX_ITERATIONS, 0
    with serial(0), ThreadPoolExecutor(n_jobs) as pool:

        def run(prior: PopulationPrior, sites: tuple[tuple[Sites, ...], ...]) -> list[BlockPass]:
            view = View.of(prior, coordinates)
            return list(pool.map(lambda block, own: pass_over(block, own, prior, view), blocks, sites))

        for count in range(1, max_iter + 1):
            found = run(prior, sites)
            sites = tuple(one.sites for one in found)
            if count <= FIRST_PASSES:
                continue
            new = prior.maximised(reduce(Sums.plus, (one.sums for one in found)))
            residual = prior.change(new)
            if not np.isfinite(residual):
                status = PopulationStatus.NUMERICAL_ERROR
                break
            if residual < tolerance:
                status = PopulationStatus.CONVERGED
                break
            prior = new.at(accelerated.next(prior.vector(), new.vector()))
        for _ in range(LAST_PASSES):
            used, found = sites, run(prior, sites)
            sites = tuple(one.sites for one in found)
    members, sums = tuple(one.members for one in found), reduce(Sums.plus, (one.sums for one in found))
    return PopulationFit(blocks, prior, used, members, sums, status, count)
