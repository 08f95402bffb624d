"""Some people answer far more, or less, consistently than others: whether that is so is told by evidence.

A person's taste is then the average over three scales of all their weights, by how likely each makes their
own answers. A population without such people has one scale, and nothing of this costs it anything later on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from coombs.blas import serial
from coombs.inference.people.answer_blocks import some_people
from coombs.inference.people.population_fit import View, fit_population, no_sites, pass_over

if TYPE_CHECKING:
    from coombs.data.graph import Matrix
    from coombs.inference.people.population_fit import PopulationFit

MOST_TELLING = 400
"""People who tell whether there may be such people, at most;"""
MOST_PEOPLE = 200_000
"""People in one memory, at most, who are read so: what is kept of their answers is three times as much."""
HARDLY = 1e-3
"""the log evidence must rise from a share of them that is so small."""
FIRST_SHARE = 0.25
"""Share of them with which passes over everybody begin."""
PRECISE = 1e-2
"""Tolerance of those passes, as the population without such people is known better than that."""
PASSES = 5
"""Passes over their answers."""


def with_uneven(fit: PopulationFit, coordinates: Matrix, n_jobs: int = 1) -> PopulationFit:
    """The fit, or one in which some people are far more, or less, consistent, if answers are likelier so."""
    n = sum(len(block.people) for block in fit.blocks)
    if n > MOST_PEOPLE or not _may_be_uneven(fit, coordinates):
        return fit
    start = replace(fit.prior, uneven=FIRST_SHARE)
    count = len(start.scales)
    sites = tuple(tuple(one for one in of_block for _ in range(count)) for of_block in fit.sites)
    found = fit_population(coordinates, fit.blocks, start, n_jobs=n_jobs, tolerance=PRECISE, sites=sites)
    return replace(found, n_iter=found.n_iter + fit.n_iter) if found.log_evidence > fit.log_evidence else fit


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
