"""How much people differ is not known exactly where they are few: populations in which it is more, or less.

Three points stand for the posterior of how much people have of their own; at each, everybody's answers are
read in its light. What is meant is the size along any one direction, which is less certain than that of
all directions together.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.blas import serial
from coombs.inference.people.population_fit import PopulationFit, View, pass_over
from coombs.inference.people.population_prior import OWN_WEIGHTS, SAME_PEOPLE, Sums

if TYPE_CHECKING:
    from coombs.data.graph import Matrix
    from coombs.inference.people.population_prior import PopulationPrior

KNOWN = 0.12
"""Deviation of the logarithm of a variance below which it is taken as known."""
PASSES = 4
"""Passes over the answers at each point."""
DISTANCE = 3**0.5
"""Deviations from the middle to the points on either side, and"""
SHARE = 1 / 6
"""what each of them counts: with the middle they have the first five moments of a normal distribution."""
MOST_NATS = 2.0
"""By how much, at most, the answers change the logarithm of what a point counts."""


class SizedFit(NamedTuple):
    """A population in which people differ so much, and how likely that is."""

    fit: PopulationFit
    share: float


class SizeVariance(NamedTuple):
    """Of the logarithm of the variance of what is own: of all directions together, and along one of them."""

    overall: float
    along_one: float


def with_sizes(fit: PopulationFit, coordinates: Matrix) -> list[SizedFit]:
    """The fit alone where its size is known, otherwise with a smaller and a larger one beside it."""
    variance = size_variance(fit)
    if variance.along_one < KNOWN**2:
        return [SizedFit(fit, 1.0)]
    best = fit.log_evidence + fit.prior.log_prior_of_size()
    found = [SizedFit(fit, 1 - 2 * SHARE)]
    for side in (-1, 1):
        factor = float(np.exp(side * DISTANCE * variance.along_one**0.5))
        with serial(0):
            there = read_again(fit, coordinates, fit.prior.resized(factor))
        away = there.log_evidence + there.prior.log_prior_of_size() - best
        # Of the log posterior, as much as it tells of one direction, less the normal one that SHARE is of.
        nats = away * variance.overall / variance.along_one + DISTANCE**2 / 2
        found.append(SizedFit(there, SHARE * float(np.exp(np.clip(nats, -MOST_NATS, MOST_NATS)))))
    total = sum(one.share for one in found)
    return [SizedFit(one.fit, one.share / total) for one in found]


def size_variance(fit: PopulationFit) -> SizeVariance:
    """From how much answers tell of everybody: a person is worth the square of their share of information."""
    prior, n = fit.prior, max(float(fit.sums.people.sum()), 1e-9)
    own = prior.root.T @ prior.differences @ prior.root
    shares = np.eye(len(own)) - fit.sums.covariance.sum(axis=0) / n
    # As many people as it would be if answers told everything; and in how many directions people differ.
    told = n * float(np.vdot(shares @ own, own @ shares) / np.vdot(own, own))
    directions = float(np.trace(own) ** 2 / np.vdot(own, own))
    overall = 2 / (told * directions + OWN_WEIGHTS)
    return SizeVariance(overall, overall + 2 / (told + SAME_PEOPLE * prior.caution))


def read_again(fit: PopulationFit, coordinates: Matrix, prior: PopulationPrior) -> PopulationFit:
    """Everybody's answers in the light of another population."""
    view = View.of(prior, coordinates)
    found = [
        pass_over(block, sites, prior, view, PASSES)
        for block, sites in zip(fit.blocks, fit.sites, strict=True)
    ]
    sums = reduce(Sums.plus, (one.sums for one in found))
    sites, members = tuple(one.sites for one in found), tuple(one.members for one in found)
    # The population does not change here, so that no passes count.
    return replace(fit, prior=prior, sites=sites, members=members, sums=sums, n_iter=0)
