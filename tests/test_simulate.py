"""Simulated people follow the paper's protocol, and their answers mean what they say."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import chisquare

from coombs import Comparisons, InputError
from coombs.simulate import Preferences, draw_answers, draw_pairs, make_preferences


def same(a: Preferences, b: Preferences) -> bool:
    """Whether two people are the same in every field."""
    return all(np.array_equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(Preferences))


def unordered(pairs: Any) -> set[frozenset[int]]:
    """Pairs without their order."""
    return {frozenset(pair) for pair in np.asarray(pairs).tolist()}


# The protocol


@given(st.integers(2, 30), st.integers(1, 6), st.integers(0, 10**6), st.booleans(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_person_has_the_shapes_and_ranges_of_the_protocol(
    n_items: int, d: int, seed: int, identity: bool, data: st.DataObject
) -> None:
    """Items on [-2, 2]^d, u on [-1, 1]^d, M symmetric, pairs of different items, y of -1 and 1."""
    n = data.draw(st.integers(1, n_items * (n_items - 1) // 2))
    person = make_preferences(n_items, d, n, identity, random_state=seed)
    assert person.items.shape == (n_items, d) and np.abs(person.items).max() <= 2
    assert person.ideal_point.shape == (d,) and np.abs(person.ideal_point).max() <= 1
    assert person.metric.shape == (d, d) and np.array_equal(person.metric, person.metric.T)
    assert person.pairs.shape == (n, 2) and person.y.shape == (n,) and set(person.y) <= {-1, 1}
    assert ((person.pairs >= 0) & (person.pairs < n_items)).all()
    assert (person.pairs[:, 0] != person.pairs[:, 1]).all() and len(unordered(person.pairs)) == n


@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_every_truth_is_past_the_three_thresholds(d: int) -> None:
    """|M|_F > 0.5, least singular value > 0.25, |M u| / |u| > 0.2, over many draws."""
    for seed in range(50):
        person = make_preferences(3, d, 1, random_state=seed)
        M, u = person.metric, person.ideal_point
        assert np.linalg.norm(M) > 0.5 and np.linalg.svd(M, compute_uv=False)[-1] > 0.25
        assert np.linalg.norm(M @ u) > 0.2 * np.linalg.norm(u)


def test_the_draws_fill_their_ranges() -> None:
    """Items and ideal points are uniform: mean 0, variance a third of the squared half-width."""
    items = make_preferences(20000, 2, 1, random_state=0).items
    points = np.array([make_preferences(2, 5, 1, True, random_state=k).ideal_point for k in range(500)])
    assert np.abs(items.mean(axis=0)).max() < 0.05 and items.var() == pytest.approx(4 / 3, rel=0.03)
    assert np.abs(points.mean(axis=0)).max() < 0.1 and points.var() == pytest.approx(1 / 3, rel=0.05)


def test_the_defaults_are_the_papers_hundred_items_in_the_plane() -> None:
    """100 items, 2 features, 100 answers, without noise."""
    person = make_preferences(random_state=0)
    assert person.items.shape == (100, 2) and person.pairs.shape == (100, 2)


def test_identity_makes_the_metric_euclidean() -> None:
    """M is the identity and the distances are |x - u|^2."""
    person = make_preferences(n_features=4, identity=True, random_state=0)
    assert np.array_equal(person.metric, np.eye(4))
    away = person.items - person.ideal_point
    np.testing.assert_allclose(person.distances, (away**2).sum(axis=1))


def test_distances_are_the_squared_mahalanobis_ones() -> None:
    """(x - u)' M (x - u), item by item."""
    person = make_preferences(10, 3, 5, random_state=1)
    expected = [(x - person.ideal_point) @ person.metric @ (x - person.ideal_point) for x in person.items]
    np.testing.assert_allclose(person.distances, expected)


def test_comparisons_carry_the_same_answers() -> None:
    """The one datum of a person has its items, pairs and y."""
    person = make_preferences(10, 3, 20, random_state=2)
    assert person.comparisons == Comparisons(person.items, person.pairs, y=person.y)


# Randomness


@pytest.mark.parametrize("noise", [None, "logistic", 0.2])
def test_the_same_seed_gives_the_same_person(noise: str | float | None) -> None:
    """An integer and a generator made from it agree; another seed does not."""
    first = make_preferences(noise=noise, random_state=7)
    assert same(first, make_preferences(noise=noise, random_state=7))
    assert same(first, make_preferences(noise=noise, random_state=np.random.default_rng(7)))
    assert not same(first, make_preferences(noise=noise, random_state=8))


def test_a_generator_moves_on_from_person_to_person() -> None:
    """Two draws from one generator differ, and so do two without a seed."""
    rng = np.random.default_rng(0)
    assert not same(make_preferences(random_state=rng), make_preferences(random_state=rng))
    assert not same(make_preferences(), make_preferences())


def test_the_global_random_state_is_left_alone() -> None:
    """Neither read nor moved."""
    np.random.seed(0)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    make_preferences(noise="logistic")
    assert np.random.random() == expected  # noqa: NPY002


# Pairs


@pytest.mark.parametrize("n_items", [2, 3, 7, 40])
def test_asking_for_all_pairs_gives_each_of_them_once(n_items: int) -> None:
    """n (n - 1) / 2 answers are every unordered pair."""
    n = n_items * (n_items - 1) // 2
    pairs = draw_pairs(n_items, n, np.random.default_rng(0))
    assert unordered(pairs) == {frozenset((i, j)) for i in range(n_items) for j in range(i)}


def test_pairs_are_drawn_uniformly_in_either_order() -> None:
    """Each of the 30 ordered pairs of 6 items comes equally often, in every place of the draw."""
    rng = np.random.default_rng(0)
    draws = np.array([draw_pairs(6, 4, rng) for _ in range(4000)])
    for place in range(4):
        counts = np.bincount(draws[:, place] @ [6, 1], minlength=36).reshape(6, 6)
        assert (np.diag(counts) == 0).all()
        assert chisquare(counts[~np.eye(6, dtype=bool)]).pvalue > 1e-4


@pytest.mark.parametrize("n_items", [20000, 3_000_000])
def test_pairs_of_very_many_items_are_in_range_and_distinct(n_items: int) -> None:
    """The numbering of pairs stays exact where their number is past 10^12, and reaches both ends."""
    pairs = draw_pairs(n_items, 1000, np.random.default_rng(0))
    assert pairs.min() >= 0 and pairs.max() < n_items
    assert (pairs[:, 0] != pairs[:, 1]).all() and len(unordered(pairs)) == 1000
    assert np.median(pairs) == pytest.approx(n_items / 2, rel=0.1)


# Answers


def test_answers_without_noise_agree_with_the_distances() -> None:
    """+1 where the first of the pair is nearer to the ideal point, -1 where the second is."""
    person = make_preferences(50, 3, 500, random_state=0)
    first, second = person.distances[person.pairs].T
    assert np.array_equal(person.y == 1, first < second) and {-1, 1} == set(person.y)


def test_plus_one_means_that_the_first_is_preferred() -> None:
    """The sign by hand, and through the datum: winners come first."""
    distances, pairs = np.array([1.0, 4.0]), np.array([[0, 1], [1, 0]])
    y = draw_answers(distances, pairs, None, np.random.default_rng(0))
    assert y.tolist() == [1, -1]
    winners, losers, _ = Comparisons([[1.0], [2.0]], pairs, y=y).oriented()
    assert winners.tolist() == [0, 0] and losers.tolist() == [1, 1]


@pytest.mark.parametrize("margin", [-2.0, -0.5, 0.0, 1.0, 3.0])
def test_logistic_answers_are_as_frequent_as_the_logistic_function_of_the_margin(margin: float) -> None:
    """Share of +1 within 4 standard errors of sigma(d_second - d_first)."""
    n, p = 20000, expit(margin)
    pairs = np.tile([[0, 1]], (n, 1))
    y = draw_answers(np.array([0.0, margin]), pairs, "logistic", np.random.default_rng(0))
    assert (y == 1).mean() == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / n))


@pytest.mark.parametrize("rate", [0, 0.1, 0.5, 1, np.float64(0.3)])
def test_answers_are_flipped_at_the_rate(rate: float) -> None:
    """Share of answers that the distances contradict within 4 standard errors of the rate."""
    person = make_preferences(200, 2, 10000, noise=rate, random_state=0)
    first, second = person.distances[person.pairs].T
    wrong = (person.y == 1) != (first < second)
    assert wrong.mean() == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) / 10000))


def test_noise_leaves_items_truth_and_pairs_as_they_were() -> None:
    """With one seed, people differ in nothing but their answers."""
    calm, noisy = (make_preferences(noise=noise, random_state=3) for noise in (None, 0.5))
    assert np.array_equal(calm.items, noisy.items) and np.array_equal(calm.pairs, noisy.pairs)
    assert np.array_equal(calm.metric, noisy.metric) and not np.array_equal(calm.y, noisy.y)


# What is refused


def test_more_answers_than_pairs_are_refused_in_a_sentence() -> None:
    """The message has what was asked, what there is and what would be right."""
    sentence = "n_comparisons is 11; 5 items have 10 different pairs, so it must be between 1 and 10."
    with pytest.raises(InputError) as error:
        make_preferences(n_items=5, n_comparisons=11)
    assert str(error.value) == sentence


@pytest.mark.parametrize("n", [0, -3])
def test_no_answers_are_refused(n: int) -> None:
    """There is no person without answers."""
    with pytest.raises(InputError, match=f"n_comparisons is {n};"):
        make_preferences(n_comparisons=n)


@pytest.mark.parametrize("noise", ["gaussian", -0.1, 1.5, float("nan"), [0.1]])
def test_noise_of_another_kind_is_refused(noise: Any) -> None:
    """The message names the three kinds that there are."""
    with pytest.raises(InputError, match=r"noise is .* None, 'logistic' or a rate between 0 and 1"):
        make_preferences(noise=noise)


def test_no_features_are_refused_in_words() -> None:
    """An item without features is no item."""
    with pytest.raises(InputError, match="n_features"):
        make_preferences(n_features=0)


def test_fewer_than_two_items_are_refused_by_their_number() -> None:
    """What is wrong is n_items, whatever n_comparisons is."""
    with pytest.raises(InputError, match="n_items"):
        make_preferences(n_items=1, n_comparisons=1)
