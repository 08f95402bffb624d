"""People whose taste is their own are not taken for coin-tossers, and ordinary people are as they were."""

from __future__ import annotations

import numpy as np
import pytest
from cases import some_slow
from scipy.special import expit

from coombs import Population
from coombs.inference.people.own_tastes import may_be_own, with_own

N_ITEMS = 40


def with_an_opposite(metric: str = "none", seed: int = 0, answers: int = 30):
    """25 people who want much the same, the last of whom wants the opposite; weights and the fit."""
    rng = np.random.default_rng(seed)
    items, mean = rng.standard_normal((N_ITEMS, 3)), np.array([1.5, -1.0, 0.8])
    weights = mean + rng.normal(0, 0.3, (25, 3))
    weights[-1] = -mean
    users = np.repeat(np.arange(25), answers)
    pairs = np.array([rng.choice(N_ITEMS, 2, replace=False) for _ in users])
    margins = ((items[pairs[:, 0]] - items[pairs[:, 1]]) * weights[users]).sum(axis=1)
    y = np.where(rng.random(len(users)) < expit(margins), 1, -1)
    return items, weights, (pairs, y, users), Population(items, metric=metric).fit(pairs, y, users=users)


@pytest.mark.parametrize("seed", some_slow(range(3), fast=[0]))
def test_somebody_who_wants_the_opposite_is_predicted_and_is_no_coin(seed: int):
    items, weights, _, population = with_an_opposite(seed=seed)
    assert population.to_frame()["coin"].iloc[-1] < 0.5
    assert np.corrcoef(population.utilities()[-1], items @ weights[-1])[0, 1] > 0.7


def test_everybody_at_once_is_what_each_is_alone():
    _, _, (pairs, y, users), population = with_an_opposite("diagonal", answers=12)
    frame, utilities = population.to_frame(), population.utilities()
    for k in (0, 24):
        person = population.person(k)
        np.testing.assert_allclose(person.utility(), utilities[k], atol=2e-3)
        assert abs(person.coin_probability_ - frame["coin"][k]) < 1e-3
        own = users == k
        new = population.person_from(np.where(y[own, None] > 0, pairs[own], pairs[own, ::-1]))
        np.testing.assert_allclose(new.utility(), person.utility(), atol=2e-3)


def test_probabilities_are_those_of_three_ways_to_answer():
    members, totals = np.array([[0.3, 0.2, 0.5], [0.9, 0.1, 0.0]]), np.array([4.0, 9.0])
    coin, evidence = 0.1, np.array([-2.0, -5.0])
    found = with_own(members, totals, coin, evidence)
    # As if each part had its share: groups and coin as they were, and 0.03 of tastes of one's own.
    scale = members[0, -1] / (coin * 0.5**4)
    parts = np.array([0.3, 0.2, scale * 0.03 * np.exp(-2.0), 0.5])
    np.testing.assert_allclose(found[0], parts / parts.sum())
    np.testing.assert_allclose(found[1], [0.9, 0.1, 0.0, 0.0])


def test_only_whom_the_population_hardly_tells_is_read_again():
    members = np.array([[0.5, 0.5], [1 - 1e-9, 1e-9], [1.0, 0.0]])
    assert may_be_own(members, np.array([10.0, 10.0, 10.0]), 0.03).tolist() == [0]
