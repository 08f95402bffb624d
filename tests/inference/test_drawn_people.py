"""Draws of everybody's taste are those of each, and places in rankings differ as people do."""

from __future__ import annotations

import numpy as np
import pytest
from cases import some_slow
from scipy.special import expit
from scipy.stats import rankdata

from coombs import Population
from coombs.inference.people.drawn_people import drawn_utilities
from coombs.inference.people.tastes import Seen


def answered(n_people: int, n_answers: int, seed: int = 0):
    """Items, everybody's weights, pairs, answers and whose they are."""
    rng = np.random.default_rng(seed)
    items, weights = rng.standard_normal((20, 3)), rng.normal([1.0, -0.5, 0.0], 1.0, (n_people, 3))
    users = np.repeat(np.arange(n_people), n_answers)
    pairs = np.array([rng.choice(20, 2, replace=False) for _ in users])
    margins = ((items[pairs[:, 0]] - items[pairs[:, 1]]) * weights[users]).sum(axis=1)
    return items, weights, pairs, np.where(rng.random(len(users)) < expit(margins), 1, -1), users


@pytest.mark.parametrize(
    ("metric", "groups", "n_answers"), some_slow([("none", 2, 6), ("diagonal", 1, 30)], fast=[("none", 2, 6)])
)
def test_draws_of_all_have_the_moments_of_each_persons(metric: str, groups: int, n_answers: int):
    items, _, pairs, y, users = answered(80, n_answers)
    population = Population(items, metric=metric, groups=groups).fit(pairs, y, users=users)
    part, phi = population._average.parts[0], population._phis[0]
    drawn = drawn_utilities(part, phi, np.array([3, 11]), 512)
    for k, person in enumerate((3, 11)):
        own = part.of(person, phi).draws(Seen(phi, np.arange(20)), 20_000)
        own -= own.mean(axis=1, keepdims=True)
        deviation = own.std(axis=0)
        assert (np.abs(drawn[:, k].mean(axis=0) - own.mean(axis=0)) < 0.15 * deviation + 0.02).all()
        # What is not known of the mean of all is left out.
        assert 0.85 < np.mean(drawn[:, k].std(axis=0) / deviation) < 1.05


def test_places_differ_as_much_as_peoples_do():
    items, weights, pairs, y, users = answered(150, 8)
    population = Population(items, metric="none").fit(pairs, y, users=users)
    places = rankdata(-(weights @ items.T), axis=1)
    found = population.consensus("borda").sort_values("item")
    assert 0.9 < (found["disagreement"] * 20).mean() / places.std(axis=0).mean() < 1.1
    assert np.abs(found["borda"] - places.mean(axis=0)).mean() < 0.6
    means = rankdata(-population.utilities(), axis=1)
    assert means.std(axis=0).mean() < 0.95 * places.std(axis=0).mean()


def test_draws_hang_neither_on_the_order_of_rows_nor_on_who_else_is_asked_for():
    items, _, pairs, y, users = answered(12, 5)
    order = np.random.default_rng(1).permutation(len(y))
    one = Population(items, metric="none").fit(pairs, y, users=users)
    other = Population(items, metric="none").fit(pairs[order], y[order], users=users[order])
    first, second = (found.consensus("borda").sort_values("item")["borda"] for found in (one, other))
    np.testing.assert_allclose(first, second, atol=1e-9)
    part, phi = one._average.parts[0], one._phis[0]
    alone = drawn_utilities(part, phi, np.array([4]), 4)
    np.testing.assert_allclose(drawn_utilities(part, phi, np.arange(12), 4)[:, [4]], alone)


def test_people_without_answers_are_drawn_as_anybody():
    items, _, pairs, y, users = answered(12, 5)
    population = Population(items, metric="none").fit(pairs, y, users=users)
    part, phi = population._average.parts[0], population._phis[0]
    drawn = drawn_utilities(part, phi, np.array([3, 99]), 512)[:, 1]
    own = part.anybody().draws(Seen(phi, np.arange(20)), 20_000)
    own -= own.mean(axis=1, keepdims=True)
    assert 0.8 < np.mean(drawn.std(axis=0) / own.std(axis=0)) < 1.1


@pytest.mark.parametrize("n_answers", some_slow([5, 30], fast=[5]))
def test_the_order_of_items_and_of_features_changes_nothing(n_answers: int):
    items, _, pairs, y, users = answered(12, n_answers)
    one = Population(items, metric="none").fit(pairs, y, users=users).consensus("borda")
    order = np.random.default_rng(1).permutation(20)
    places = np.argsort(order)
    moved = Population(items[order][:, [2, 0, 1]], metric="none").fit(places[pairs], y, users=users)
    other = moved.consensus("borda")
    other["item"] = order[other["item"]]
    for column in ("borda", "regret", "disagreement"):
        first, second = (found.sort_values("item")[column] for found in (one, other))
        np.testing.assert_allclose(first, second, atol=1e-4)
