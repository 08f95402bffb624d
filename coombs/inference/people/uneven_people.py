"""Some people answer far more, or less, consistently than others: how many is told by evidence.

A person's taste is then the average over three scales of all their weights, by how likely each makes their
own answers. Few people hardly tell whether there are such people at all, so that the share of them is the
average, by evidence, of what it is if there are and of none. Many people who are alike in that have one
scale, and nothing of this costs them anything later on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scipy.special import expit

from coombs.blas import serial
from coombs.inference.people.answer_blocks import some_people
from coombs.inference.people.population_fit import (
    MOST_PASSES,
    PopulationStatus,
    View,
    fit_population,
    no_sites,
    pass_over,
)
from coombs.inference.people.uncertain_sizes import read_again

if TYPE_CHECKING:
    from coombs.data.graph import Matrix
    from coombs.inference.people.population_fit import PopulationFit
    from coombs.inference.people.population_prior import PopulationPrior

FEW_PEOPLE = 60
"""People up to whom there may always be such people; of more,"""
MOST_TELLING = 400
"""so many at most tell whether there may be:"""
HARDLY = 1e-3
"""the log evidence must rise from a share of them that is so small."""
MOST_PEOPLE = 200_000
"""People in one memory, at most, who are read so: what is kept of their answers is three times as much."""
FIRST_SHARE = 0.25
"""Share of them with which passes begin."""
PRECISE = 1e-2
"""Tolerance of those passes, as the population without such people is known better than that;"""
MOST_FIRST = 15
"""where others are learned from later, there are so many passes instead, unless they end before."""
LEAST_SHARE = 0.02
"""A smaller share of them is taken for none."""
CERTAIN = 0.99
"""Probability from which on it is certain that there are such people."""
PASSES = 5
"""Passes over their answers."""


def with_uneven(fit: PopulationFit, coordinates: Matrix, n_people: int, n_jobs: int = 1) -> PopulationFit:
    """The fit, or one in which some people are far more, or less, consistent, by how likely that is.

    It may be to some of `n_people`, who are read so in the end.
    """
    n = sum(len(block.people) for block in fit.blocks)
    if n_people > MOST_PEOPLE or not (n <= FEW_PEOPLE or _may_be_uneven(fit, coordinates)):
        return fit
    start = replace(fit.prior, uneven=FIRST_SHARE)
    count = len(start.scales)
    sites = tuple(tuple(one for one in of_block for _ in range(count)) for of_block in fit.sites)
    tolerance, most = (PRECISE, MOST_PASSES) if n == n_people else (None, MOST_FIRST)
    found = fit_population(
        coordinates, fit.blocks, start, n_jobs=n_jobs, tolerance=tolerance, max_iter=most, sites=sites
    )
    likely = float(expit(found.log_evidence - fit.log_evidence))
    if likely * found.prior.uneven < LEAST_SHARE:
        return fit
    if likely < CERTAIN:
        with serial(0):
            read = read_again(found, coordinates, _between(fit.prior, found.prior, likely))
        # Both must have converged.
        status = found.status if fit.status == PopulationStatus.CONVERGED else fit.status
        found = replace(read, status=status, n_iter=found.n_iter)
    return replace(found, n_iter=found.n_iter + fit.n_iter)


def _between(even: PopulationPrior, uneven: PopulationPrior, likely: float) -> PopulationPrior:
    """The population on the way from one without such people to one with them, as far as they are likely."""
    start = replace(even, uneven=uneven.uneven).vector()
    prior = uneven.at(start + likely * (uneven.vector() - start))
    return replace(prior, uneven=likely * uneven.uneven)


def _may_be_uneven(fit: PopulationFit, coordinates: Matrix) -> bool:
    """Whether the log evidence, which is concave in the share of such people, rises from none."""
    blocks = fit.blocks
    if sum(len(block.people) for block in blocks) > MOST_TELLING:
        blocks = some_people(blocks, MOST_TELLING)
    prior = replace(fit.prior, uneven=HARDLY)
    view = View.of(prior, coordinates)
    with serial(0):
        found = [pass_over(block, no_sites(block, prior), prior, view, PASSES) for block in blocks]
    return sum(float(one.sums.uneven[0]) for one in found) > 0
