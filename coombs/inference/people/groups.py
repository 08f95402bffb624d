"""Groups of people with means of their own: where they are looked for, and how many there are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.inference.people.answer_blocks import some_people
from coombs.inference.people.population_fit import PopulationFit, View, fit_population
from coombs.inference.people.posteriors import posteriors

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector
    from coombs.inference.people.answer_blocks import AnswerBlock
    from coombs.inference.people.population_prior import PopulationPrior

MOST_GROUPS = 8
"""Groups that are looked for where their number is not given."""
ROUNDS = 50
"""Rounds of assigning people to the nearest middle, at most."""
WITHIN = (0.05, 0.3)
"""Shares of what a person has of their own, one group for all, that are left at first inside several."""
SCREENED = 250
"""People with whom beginnings are compared, at most: they nearly always end alike,"""
ROUGHLY = 2e-2
"""with this tolerance of the passes,"""
SCREENING = 12
"""of which there are so many at most: more hardly change the log evidence."""
HOPELESS = 0.5
"""Share of what groups must gain, below which they are given up after such a comparison."""


class GroupedFit(NamedTuple):
    """A fit with groups, and what they are worth: log evidence above one group's less their price, or 0."""

    fit: PopulationFit
    gain: float


def fit_groups(
    coordinates: Matrix,
    blocks: tuple[AnswerBlock, ...],
    start: PopulationPrior,
    groups: int | str,
    n_jobs: int = 1,
) -> GroupedFit:
    """A fit with so many groups; "auto" adds one while that is worth its parameters (Schwarz, 1978)."""
    best = one = fit_population(coordinates, blocks, start, n_jobs=n_jobs)
    if groups == "auto":
        best = _while_worth_it(one, coordinates, n_jobs)
    elif groups != 1:
        best = _finished(_begun(one, coordinates, int(groups), n_jobs), one, coordinates, n_jobs)
    gain = best.log_evidence - one.log_evidence - (len(best.prior.shares) - 1) * _price(one)
    return GroupedFit(best, max(gain, 0.0))


def _price(fit: PopulationFit) -> float:
    """What a group more must gain: it has a mean and a share."""
    return float((len(fit.prior.root) + 1) / 2 * np.log(max(_count(fit.blocks), 2)))


def _count(blocks: tuple[AnswerBlock, ...]) -> int:
    return sum(len(block.people) for block in blocks)


def _while_worth_it(fit: PopulationFit, coordinates: Matrix, n_jobs: int) -> PopulationFit:
    """With as many groups as are worth their parameters."""
    n, some = _count(fit.blocks), _screened(fit.blocks)
    best, share, price = fit, _count(some) / n, _price(fit)
    rough = _roughly(coordinates, some, fit.prior, n_jobs)
    for count in range(2, MOST_GROUPS + 1):
        if n < 5 * count:
            break
        before, rough = rough, _begun(fit, coordinates, count, n_jobs)
        if rough.log_evidence < before.log_evidence + HOPELESS * price * share:
            break
        new = _finished(rough, fit, coordinates, n_jobs)
        if new.log_evidence < best.log_evidence + price:
            break
        best = new
    return best


def _screened(blocks: tuple[AnswerBlock, ...]) -> tuple[AnswerBlock, ...]:
    return some_people(blocks, SCREENED) if _count(blocks) > SCREENED else blocks


def _roughly(
    coordinates: Matrix, some: tuple[AnswerBlock, ...], start: PopulationPrior, n_jobs: int
) -> PopulationFit:
    """Which beginning is best is told without effects of items, in a fraction of the time."""
    start = replace(start, effect=0.0)
    return fit_population(coordinates, some, start, n_jobs=n_jobs, tolerance=ROUGHLY, max_iter=SCREENING)


def _begun(fit: PopulationFit, coordinates: Matrix, count: int, n_jobs: int) -> PopulationFit:
    """As many groups of some people, from everybody's tastes with one group for all: the best beginning."""
    z, counted = _tastes(fit, coordinates)
    middles = [_middles(z, counted, count, axis) for axis in range(2)]
    first, second = (places[np.lexsort(places.T)] for places in middles)
    if np.allclose(first, second):
        # The same clusters, maybe in another order.
        del middles[1]
    starts = [_start(fit.prior, z, places, within) for places in middles for within in WITHIN]
    some = _screened(fit.blocks)
    found = [_roughly(coordinates, some, start, n_jobs) for start in starts]
    return max(found, key=lambda one: one.log_evidence)


def _finished(rough: PopulationFit, fit: PopulationFit, coordinates: Matrix, n_jobs: int) -> PopulationFit:
    """The same with all people."""
    start = replace(rough.prior, effect=fit.prior.effect)
    return fit_population(coordinates, fit.blocks, start, n_jobs=n_jobs)


def _tastes(fit: PopulationFit, coordinates: Matrix) -> tuple[Matrix, Vector]:
    """(K, D) everybody's mean z with one group for all, and how much each counts: coin-tossers do not."""
    view, parts = View.of(fit.prior, coordinates), []
    for block, sites in zip(fit.blocks, fit.sites, strict=True):
        found = posteriors(*view.readings(block)[0], sites[0])
        parts.append(found.mean[:, : len(fit.prior.root)])
    return np.concatenate(parts), 1 - np.concatenate([members[:, -1] for members in fit.members])


def _middles(z: Matrix, counted: Vector, count: int, first: int) -> Matrix:
    """(count, D) middles of clusters, each as far as can be from those before it at first."""
    centred = z - np.average(z, axis=0, weights=counted)
    axes = np.linalg.eigh((centred * counted[:, None]).T @ centred)[1]
    along = centred @ axes[:, -1 - min(first, z.shape[1] - 1)]
    chosen = [int(np.argmax(along * counted))]
    nearest = ((z - z[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < count:
        chosen.append(int(np.argmax(nearest * counted)))
        nearest = np.minimum(nearest, ((z - z[chosen[-1]]) ** 2).sum(axis=1))
    middles = z[chosen]
    for _ in range(ROUNDS):
        own = ((z[:, None, :] - middles) ** 2).sum(axis=2).argmin(axis=1)
        totals = np.maximum(np.bincount(own, counted, count), 1e-9)
        new = np.array([np.bincount(own, counted * column, count) for column in z.T]).T / totals[:, None]
        if np.allclose(new, middles):
            break
        middles = new
    return middles


def _start(prior: PopulationPrior, z: Matrix, middles: Matrix, within: float) -> PopulationPrior:
    """Groups with their means in these middles."""
    count = len(middles)
    # Tastes that answers tell little of are drawn together; so are the middles.
    wide = 1 / np.sqrt(np.clip((z**2).mean(axis=0), 0.05, 1.0))
    means = prior.means[0] + (middles * wide) @ prior.root.T
    return replace(prior, means=means, root=prior.root * np.sqrt(within), shares=np.full(count, 1 / count))
