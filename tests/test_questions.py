"""Which question is asked next: how much each pair tells, and the pairs it is chosen from."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import chisquare

from coombs import ConvexIdealPoint, IdealPoint, InputError, SingleStep
from coombs.questions import (
    ALL_PAIRS,
    LEAST_CONFIRMING,
    STRATEGIES,
    TOP,
    best,
    candidates,
    choose,
    confirmations,
    information,
    next_question,
)
from coombs.simulate import make_preferences

Floats = NDArray[np.float64]


class Draws:
    """Votes that are given: (N, S) scores, less being better, and one lapse for all."""

    def __init__(self, scores: Floats, lapse: float = 0.01) -> None:
        self.all, self.lapse = scores, lapse

    def scores(self, positions: NDArray[np.intp], every: int = 1) -> tuple[Floats, Floats]:
        some = self.all[positions][:, ::every]
        return some, np.full(some.shape[1], self.lapse)

    def mean_scores(self) -> Floats:
        return self.all.mean(axis=1)


def some_draws(n: int, count: int = 60, seed: int = 0) -> Draws:
    return Draws(np.random.default_rng(seed).normal(size=(n, count)))


def all_pairs(n: int) -> NDArray[np.intp]:
    return np.column_stack(np.triu_indices(n, 1))


def slow_information(votes: Draws, i: int, j: int) -> tuple[float, float]:
    """As the formula says it: h(mean p) - mean h(p)."""

    def entropy(p: float) -> float:
        return -sum(x * math.log2(x) for x in (p, 1 - p) if x > 0)

    ps = [
        votes.lapse / 2 + (1 - votes.lapse) / (1 + math.exp(min(one - other, 700.0)))
        for one, other in zip(votes.all[i], votes.all[j], strict=True)
    ]
    mean = sum(ps) / len(ps)
    return entropy(mean) - sum(map(entropy, ps)) / len(ps), mean


tables = arrays(
    float,
    st.tuples(st.integers(2, 6), st.integers(1, 9)),
    elements=st.floats(-30, 30).map(lambda x: round(x, 3)),
)
lapses = st.sampled_from([1e-6, 0.01, 0.3])


@given(tables, lapses)
@settings(deadline=None)
def test_information_is_the_formula(scores: Floats, lapse: float) -> None:
    votes, pairs = Draws(scores, lapse), all_pairs(len(scores))
    gains, probabilities = information(votes, pairs)
    slow = np.array([slow_information(votes, i, j) for i, j in pairs])
    np.testing.assert_allclose(gains, slow[:, 0], atol=1e-5)
    np.testing.assert_allclose(probabilities, slow[:, 1], atol=1e-6)


@given(tables, lapses)
@settings(deadline=None)
def test_information_is_from_zero_to_one_bit_and_the_same_either_way_around(
    scores: Floats, lapse: float
) -> None:
    votes, pairs = Draws(scores, lapse), all_pairs(len(scores))
    gains, probabilities = information(votes, pairs)
    assert (gains > -1e-9).all() and (gains <= 1).all()
    turned, others = information(votes, pairs[:, ::-1])
    np.testing.assert_allclose(turned, gains, atol=1e-9)
    np.testing.assert_allclose(others, 1 - probabilities, atol=1e-9)


@given(tables, lapses, st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_information_does_not_change_when_all_scores_of_a_draw_shift(
    scores: Floats, lapse: float, seed: int
) -> None:
    shift = np.random.default_rng(seed).normal(size=scores.shape[1]) * 10
    pairs = all_pairs(len(scores))
    np.testing.assert_allclose(
        information(Draws(scores + shift, lapse), pairs)[0],
        information(Draws(scores, lapse), pairs)[0],
        atol=1e-9,
    )


def test_the_answer_about_duplicates_tells_nothing() -> None:
    scores = np.repeat(np.random.default_rng(0).normal(size=(3, 50)), 2, axis=0)
    gains, probabilities = information(Draws(scores), np.array([[0, 1], [2, 3], [5, 4]]))
    np.testing.assert_allclose(gains, 0, atol=1e-9)
    np.testing.assert_allclose(probabilities, 0.5)


def test_draws_that_agree_or_throw_coins_tell_nothing_and_draws_that_disagree_a_bit() -> None:
    sure = np.array([[-50.0, -50.0], [50.0, 50.0]])
    split = np.array([[-50.0, 50.0], [50.0, -50.0]])
    pair = np.array([[0, 1]])
    assert information(Draws(sure, 1e-9), pair)[0][0] == pytest.approx(0, abs=1e-4)
    assert information(Draws(0 * sure, 1e-9), pair)[0][0] == pytest.approx(0, abs=1e-9)
    assert information(Draws(split, 1e-9), pair)[0][0] == pytest.approx(1, abs=1e-4)
    assert information(Draws(split, 1.0), pair)[0][0] == pytest.approx(0, abs=1e-9)


def test_every_third_draw_is_what_the_others_left_out_would_be() -> None:
    votes, pairs = some_draws(5, 30), all_pairs(5)
    few = Draws(votes.all[:, ::3])
    for score in STRATEGIES.values():
        np.testing.assert_allclose(score(votes, pairs, 3), score(few, pairs, 1), atol=1e-6)


def test_scores_beyond_floating_point_give_numbers() -> None:
    gains, probabilities = information(Draws(np.array([[1e6, -1e6], [-1e6, 1e6]])), np.array([[0, 1]]))
    assert np.isfinite(gains).all() and np.isfinite(probabilities).all()


def test_best_prefers_pairs_where_the_top_is_decided() -> None:
    # Item i has score i give or take 2: what is among the best 5 is decided around the fifth.
    scores = np.arange(40.0)[:, None] + 2 * np.random.default_rng(1).normal(size=(40, 300))
    votes, pairs = Draws(scores), all_pairs(40)
    by_top, by_information = best(votes, pairs)[0], information(votes, pairs)[0]
    assert pairs[np.argsort(-by_top)[:20]].max() < 10
    assert pairs[np.argsort(-by_information)[:20]].max() >= 10
    assert (by_top >= 0).all()


def test_best_is_the_same_either_way_around() -> None:
    votes, pairs = some_draws(20), all_pairs(20)
    np.testing.assert_allclose(best(votes, pairs)[0], best(votes, pairs[:, ::-1])[0], atol=1e-6)


def test_best_tells_pairs_apart_however_few_items_there_are() -> None:
    votes = some_draws(TOP, 100)
    assert best(votes, all_pairs(TOP))[0].max() > 0


def test_random_takes_every_pair_and_both_orders_alike() -> None:
    votes, rng = some_draws(5, 3), np.random.default_rng(2)
    counts = Counter(choose(votes, "random", 5, (), rng)[0][:2] for _ in range(1500))
    assert len(counts) == 20
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_random_takes_every_item_alike_of_a_large_catalogue() -> None:
    votes, rng = some_draws(400, 3), np.random.default_rng(3)
    favourites = set(np.argsort(votes.mean_scores())[:60].tolist())
    chosen = [choose(votes, "random", 400, (), rng)[0][:2] for _ in range(200)]
    share = np.mean([item in favourites for pair in chosen for item in pair])
    assert abs(share - 60 / 400) < 4 * np.sqrt(0.15 * 0.85 / 400)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_no_pair_is_chosen_twice_and_in_the_end_there_is_none(strategy: str) -> None:
    votes, rng, asked = some_draws(6), np.random.default_rng(4), []
    while found := choose(votes, strategy, 6, asked, rng):
        [chosen] = found
        asked.append((chosen.first, chosen.second))
        assert -1e-6 <= chosen.gain <= 1 and 0 < chosen.probability < 1
    assert len({frozenset(pair) for pair in asked}) == len(asked) == 15


@pytest.mark.parametrize("strategy", ["information", "best"])
def test_the_pair_that_tells_most_is_chosen_in_a_random_order(strategy: str) -> None:
    votes, pairs = some_draws(12), all_pairs(12)
    expected = pairs[STRATEGIES[strategy](votes, pairs, 1)[0].argmax()].tolist()
    chosen = [choose(votes, strategy, 12, (), np.random.default_rng(seed))[0] for seed in range(60)]
    assert {frozenset(one[:2]) for one in chosen} == {frozenset(expected)}
    assert 15 < sum(one.first == expected[0] for one in chosen) < 45
    assert all(
        one.probability == pytest.approx(slow_information(votes, one.first, one.second)[1]) for one in chosen
    )


def test_screening_by_some_draws_finds_a_pair_almost_as_good_as_the_best() -> None:
    votes, pairs = some_draws(60, 240, seed=5), all_pairs(60)
    [chosen] = choose(votes, "information", 60, (), np.random.default_rng(6))
    assert chosen.gain > 0.95 * information(votes, pairs)[0].max()


def test_confirmations_are_new_pairs_whose_answers_are_predictable() -> None:
    rng = np.random.default_rng(12)
    known = Draws(np.arange(40.0)[:, None] + rng.normal(size=(40, 60)))
    asked = all_pairs(40)[::2].tolist()
    found = confirmations(known, 40, asked, rng, 4)
    pairs = {frozenset(one[:2]) for one in found}
    assert len(pairs) == 4 and not pairs & {frozenset(pair) for pair in asked}
    for one in found:
        likelier = max(one.probability, 1 - one.probability)
        assert likelier >= LEAST_CONFIRMING
        assert (one.probability > 0.5) == (one.first < one.second)


def test_where_nothing_is_predictable_or_new_there_is_no_confirmation() -> None:
    rng = np.random.default_rng(13)
    assert confirmations(Draws(np.zeros((10, 60))), 10, (), rng, 4) == ()
    assert confirmations(some_draws(4), 4, all_pairs(4).tolist(), rng) == ()


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_questions_ahead_are_different_pairs_as_many_as_there_are(strategy: str) -> None:
    votes = some_draws(4)
    for count, asked in [(3, ()), (9, ()), (9, [(0, 1), (2, 3)])]:
        found = choose(votes, strategy, 4, asked, np.random.default_rng(11), count=count)
        pairs = {frozenset(one[:2]) for one in found}
        assert len(pairs) == len(found) == min(count, 6 - len(asked))
        assert not pairs & {frozenset(pair) for pair in asked}


def test_a_question_ahead_tells_more_beside_the_first_than_the_second_best_does() -> None:
    """What both answers tell, summed over the four pairs of answers."""
    votes = some_draws(40, 240, seed=12)
    first, ahead = choose(votes, "information", 40, (), np.random.default_rng(12), count=2)
    scores, lapses = votes.scores(np.arange(40))

    def chance(one: Any) -> Any:
        p = 1 / (1 + np.exp(scores[one.first] - scores[one.second]))
        return p * (1 - lapses) + lapses / 2

    def told(*asked: Any) -> float:
        each = [chance(one) for one in asked]
        joint = np.array([np.prod(signs, axis=0) for signs in product(*((p, 1 - p) for p in each))])
        entropies = -(joint * np.log2(joint)).sum(axis=0)
        mean = joint.mean(axis=1)
        return float(-(mean * np.log2(mean)).sum() - entropies.mean())

    assert told(first) == pytest.approx(first.gain, abs=1e-4)
    [second] = choose(votes, "information", 40, [first[:2]], np.random.default_rng(13))
    assert told(first, ahead) > told(first, second)
    assert told(first, ahead) > 1.5 * first.gain


def test_of_few_items_all_pairs_are_candidates() -> None:
    votes, rng = some_draws(ALL_PAIRS, 3), np.random.default_rng(7)
    np.testing.assert_array_equal(candidates(votes, ALL_PAIRS, (), rng), all_pairs(ALL_PAIRS))


def test_of_many_items_candidates_are_new_pairs_of_the_favourites_and_of_others() -> None:
    n, rng = 1000, np.random.default_rng(8)
    votes = some_draws(n, 5)
    asked = [(int(j), int(i)) for i, j in candidates(votes, n, (), np.random.default_rng(8))[::14]]
    pairs = candidates(votes, n, asked, rng)
    assert len(pairs) == ALL_PAIRS * (ALL_PAIRS - 1) // 2 - len(asked)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert not {frozenset(pair) for pair in pairs.tolist()} & {frozenset(pair) for pair in asked}
    members = set(pairs.ravel().tolist())
    assert set(np.argsort(votes.mean_scores())[:50].tolist()) <= members
    assert len(members) == ALL_PAIRS


def test_a_pair_is_found_as_long_as_there_is_one_however_many_items() -> None:
    n = ALL_PAIRS + 10
    votes = some_draws(n, 3)
    left = set(np.argsort(votes.mean_scores())[-2:].tolist())
    asked = {(i, j) for i, j in all_pairs(n).tolist() if {i, j} != left}
    found = [choose(votes, "information", n, asked, np.random.default_rng(seed)) for seed in range(15)]
    assert all(len(one) == 1 for one in found)


def test_ten_thousand_items_give_a_question() -> None:
    votes = some_draws(10_000, 20)
    for strategy in STRATEGIES:
        [chosen] = choose(votes, strategy, 10_000, (), np.random.default_rng(9))
        assert chosen.first != chosen.second


@pytest.mark.parametrize("strategy", ["Information", "", None, 3])
def test_an_unknown_strategy_is_refused_with_those_there_are(strategy: Any) -> None:
    with pytest.raises(InputError, match="it must be one of information, random, best"):
        choose(some_draws(3), strategy, 3, (), np.random.default_rng(10))


@pytest.fixture(scope="module")
def fitted() -> IdealPoint:
    truth = make_preferences(n_items=15, n_comparisons=25, random_state=0)
    return IdealPoint(truth.items).fit(truth.pairs, truth.y)


@pytest.fixture(scope="module")
def with_effects() -> IdealPoint:
    truth = make_preferences(n_items=15, n_comparisons=40, random_state=0)
    return IdealPoint(truth.items, item_effects=True).fit(truth.pairs, truth.y)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
@pytest.mark.parametrize("model", ["fitted", "with_effects"])
def test_a_fitted_model_gives_a_question_and_predicts_its_answer(
    model: str, strategy: str, request: pytest.FixtureRequest
) -> None:
    est = request.getfixturevalue(model)
    found = next_question(est, strategy, random_state=0)
    assert found is not None
    assert found.probability == pytest.approx(est.predict_proba([found[:2]])[0, 1], abs=0.1)


def test_the_question_of_a_model_is_that_of_its_seed(fitted: IdealPoint) -> None:
    assert next_question(fitted, random_state=3) == next_question(fitted, random_state=3)
    orders = {next_question(fitted, random_state=seed)[:2] for seed in range(20)}
    assert len({frozenset(pair) for pair in orders}) == 1 and len(orders) == 2


def test_pairs_that_were_asked_are_not_asked_again_in_either_order(fitted: IdealPoint) -> None:
    first = next_question(fitted, random_state=0)
    again = next_question(fitted, asked=[(first.second, first.first)], random_state=0)
    assert {again.first, again.second} != {first.first, first.second}
    everything = [tuple(pair) for pair in all_pairs(15).tolist()]
    assert next_question(fitted, asked=everything) is None


def test_pairs_that_were_asked_may_be_an_array(fitted: IdealPoint) -> None:
    assert next_question(fitted, asked=all_pairs(15)) is None


def test_a_question_does_not_depend_on_how_the_features_are_measured() -> None:
    truth = make_preferences(n_items=12, n_comparisons=20, random_state=1)
    found = []
    for items in (truth.items, 1e6 + 1e3 * truth.items):
        est = IdealPoint(items, item_effects=False).fit(truth.pairs, truth.y)
        found.append(next_question(est, random_state=0))
    assert found[0][:2] == found[1][:2]
    assert found[0].gain == pytest.approx(found[1].gain, abs=0.1)


def test_a_model_without_a_posterior_is_refused_with_a_sentence() -> None:
    truth = make_preferences(n_items=10, n_comparisons=12, random_state=0)
    for est in (
        IdealPoint(truth.items),
        ConvexIdealPoint(truth.items, loss="hinge", regularization=0.1).fit(truth.pairs, truth.y),
        SingleStep(truth.items).fit(truth.pairs, truth.y),
        "model",
    ):
        with pytest.raises(InputError, match="need a fitted IdealPoint with a posterior"):
            next_question(est)
