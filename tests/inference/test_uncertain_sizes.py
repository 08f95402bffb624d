"""How much people differ, where they are few: populations with more and with less of it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import expit

from coombs.inference.people.answer_blocks import blocks_of
from coombs.inference.people.population_fit import PopulationFit, fit_population
from coombs.inference.people.population_prior import PopulationPrior
from coombs.inference.people.uncertain_sizes import read_again, size_variance, with_sizes

ITEMS = np.random.default_rng(0).standard_normal((40, 3))


@cache
def fitted(n_people: int, n_answers: int = 12) -> PopulationFit:
    """A population of people who differ by a deviation of 0.8 in each of three weights."""
    rng = np.random.default_rng(1)
    weights = rng.normal([1.0, -0.5, 0.0], 0.8, (n_people, 3))
    people = np.repeat(np.arange(n_people), n_answers)
    one = rng.integers(0, 40, len(people))
    other = (one + rng.integers(1, 40, len(people))) % 40
    first = rng.random(len(people)) < expit(((ITEMS[one] - ITEMS[other]) * weights[people]).sum(axis=1))
    winners, losers = np.where(first, one, other), np.where(first, other, one)
    blocks = blocks_of(winners, losers, np.ones(len(people)), people, n_people)
    return fit_population(ITEMS, blocks, PopulationPrior.first(ITEMS, np.zeros(3, dtype=int)))


def test_of_few_people_the_fit_stands_between_a_smaller_and_a_larger_one():
    fit = fitted(15)
    middle, smaller, larger = with_sizes(fit, ITEMS)
    assert middle.fit is fit
    assert middle.share + smaller.share + larger.share == pytest.approx(1.0)
    assert min(middle.share, smaller.share, larger.share) > 0
    traces = [np.trace(one.fit.prior.covariance) for one in (smaller, middle, larger)]
    assert traces[0] < traces[1] < traces[2]
    assert middle.fit.n_iter > 0 and smaller.fit.n_iter == larger.fit.n_iter == 0
    assert [len(one) for one in larger.fit.sites] == [len(one) for one in fit.sites]


def test_the_more_people_the_surer_the_size_until_it_is_known():
    variances = [size_variance(fitted(n)) for n in (15, 150, 1500)]
    assert variances[0].along_one > variances[1].along_one > variances[2].along_one
    assert all(one.overall < one.along_one for one in variances)
    many = fitted(1500)
    assert with_sizes(many, ITEMS) == [(many, 1.0)]


@pytest.mark.parametrize(("factor", "likelier"), [(0.4, 2), (2.5, 1)])
def test_answers_tell_on_which_side_of_a_wrong_size_the_right_one_is(factor: float, likelier: int):
    """Of 100 people whose covariance is taken for too small, a larger one is likelier, and vice versa."""
    fit = fitted(100)
    wrong = read_again(fit, ITEMS, fit.prior.resized(factor))
    shares = [one.share for one in with_sizes(wrong, ITEMS)]
    assert shares[likelier] > shares[3 - likelier]


def test_a_population_read_again_as_it_is_stays_as_it_is():
    fit = fitted(100)
    again = read_again(fit, ITEMS, fit.prior)
    assert again.log_evidence == pytest.approx(fit.log_evidence, abs=0.1)
    np.testing.assert_allclose(again.sums.first, fit.sums.first, atol=0.1)


def test_a_larger_covariance_has_larger_means_that_predict_the_same():
    """A stranger's probabilities hardly change with the size."""
    prior = fitted(100).prior
    larger = prior.resized(2.0)
    np.testing.assert_allclose(larger.covariance, 2 * prior.covariance)
    assert np.abs(larger.means).max() > np.abs(prior.means).max()
    means = [one.means[0] / one.mean_scale(one.covariance) for one in (prior, larger)]
    np.testing.assert_allclose(*means)
