"""Slopes of people's tastes along what is known of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from coombs.data.tables import NO_LEVELS
from coombs.inference.people.average_of_kinds import Candidate, try_covariates
from coombs.inference.people.covariate_slopes import Covariates, CovariateSlopes
from coombs.inference.people.people_answers import PeopleAnswers
from coombs.inference.people.population_fit import View, fit_population, pass_over
from coombs.inference.people.population_prior import PopulationPrior
from coombs.inference.people.posteriors import Sites

BLOCKS = np.zeros(3, dtype=np.intp)


def people(n: int, n_answers: int, slope: float, seed: int = 0) -> PeopleAnswers:
    """Whose first weight moves with the first of two covariates."""
    rng = np.random.default_rng(seed)
    items, about = rng.standard_normal((20, 3)), rng.standard_normal((n, 2))
    about = (about - about.mean(axis=0)) / about.std(axis=0)
    weights = rng.normal([1.0, -1.0, 0.0], 0.6, (n, 3))
    weights[:, 0] += slope * about[:, 0]
    whose = np.repeat(np.arange(n), n_answers)
    pairs = rng.permuted(np.tile(np.arange(20), (len(whose), 1)), axis=1)[:, :2]
    margin = ((items[pairs[:, 0]] - items[pairs[:, 1]]) * weights[whose]).sum(axis=1)
    pairs = np.where((rng.logistic(size=len(whose)) < margin)[:, None], pairs, pairs[:, ::-1])
    known = Covariates(about, np.arange(2))
    return PeopleAnswers(items, NO_LEVELS, *pairs.T, np.ones(len(whose)), whose, n, known)


def start(answers: PeopleAnswers) -> PopulationPrior:
    """Before any answer."""
    return answers.start(answers.items, BLOCKS, 1.0, 0.0)


def test_the_slope_of_the_evidence_is_what_the_step_takes_it_for() -> None:
    """By finite differences, at slopes that are not the best ones: root^-T sum z c'."""
    answers = people(12, 4, 0.8)
    gamma = np.random.default_rng(1).normal(size=(3, 2)) / 3
    first = start(answers)
    assert first.slopes is not None
    root = np.linalg.cholesky(first.covariance + 0.1)

    def sums_at(slopes: np.ndarray):
        prior = replace(first, root=root, coin=1e-9, slopes=replace(first.slopes, gamma=slopes))
        view = View.of(prior, answers.items)
        found = [pass_over(block, (Sites.empty(block),), prior, view, 80).sums for block in answers.blocks()]
        return sum(one.log_evidence for one in found), sum(one.crossed for one in found)

    wanted = np.linalg.solve(root.T, sums_at(gamma)[1])
    for i, k in ((0, 0), (1, 1), (2, 0)):
        step = np.zeros((3, 2))
        step[i, k] = 1e-4
        slope = (sums_at(gamma + step)[0] - sums_at(gamma - step)[0]) / 2e-4
        # The probit mixture and its tail have errors of 1e-7, which differences divide by the step.
        assert slope == pytest.approx(wanted[i, k], abs=2e-2)


def test_slopes_are_found_and_others_are_shrunk() -> None:
    """Of 300 people with eight answers each; the deviation of an estimate is about .06."""
    answers = people(300, 8, 0.8)
    prior = fit_population(answers.items, answers.blocks(), start(answers)).prior
    assert prior.slopes is not None
    assert prior.slopes.gamma[0, 0] == pytest.approx(0.8, abs=0.3)
    assert np.abs(prior.slopes.gamma[:, 1]).max() < 0.3
    assert prior.slopes.variances[1] < prior.slopes.variances[0]


def test_somebody_of_whom_nothing_is_known_may_be_anybody() -> None:
    """The covariance of people's weights is that within plus that along the covariates."""
    slopes = replace(CovariateSlopes.first(BLOCKS, np.arange(2)), gamma=np.eye(3, 2))
    prior = replace(PopulationPrior.first(np.eye(3), BLOCKS), slopes=slopes)
    np.testing.assert_allclose(slopes.unknown(prior).covariance, prior.covariance + np.diag([1.0, 1.0, 0.0]))
    known = slopes.known(prior, np.array([2.0, -1.0]))
    np.testing.assert_allclose(known.means, [[2.0, -1.0, 0.0]])
    np.testing.assert_array_equal(known.root, prior.root)


def test_a_covariate_is_kept_if_people_left_out_bear_it_out() -> None:
    """A slope of 1.2 is worth many nats among 120 people, and noise a few at most."""
    found = try_covariates(people(120, 6, 1.2), Candidate("none", 1.0))
    assert 0 in found.columns and found.gains[0] > 10 > found.gains[1]


def test_a_covariate_in_which_nobody_differs_changes_nothing() -> None:
    """Slopes stay at nothing, and all else is as without them."""
    answers = people(30, 5, 0.0)
    silent = answers._replace(covariates=Covariates(np.zeros((30, 1)), np.zeros(1, dtype=np.intp)))
    plain, same = (
        fit_population(one.items, one.blocks(), start(one)).prior
        for one in (answers._replace(covariates=None), silent)
    )
    assert plain.slopes is None and same.slopes is not None and not same.slopes.gamma.any()
    np.testing.assert_allclose(same.means, plain.means, atol=1e-6)
    np.testing.assert_allclose(same.root, plain.root, atol=1e-6)
