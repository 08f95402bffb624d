"""Draws that are kept up to date answer by answer: the same posterior as a fresh inference has."""

from __future__ import annotations

import numpy as np
import pytest
from cases import some_slow
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from coombs.data.answers import Answers
from coombs.data.graph import ComparisonGraph
from coombs.inference.belief import DRAWS, FEW, AnswerRows, Belief
from coombs.inference.infer import infer
from coombs.inference.kinds import KINDS
from coombs.inference.target import Target

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


def standardised(n: int, d: int, seed: int) -> Floats:
    items = np.random.default_rng(seed).normal(size=(n, d))
    result: Floats = (items - items.mean(axis=0)) / items.std(axis=0)
    return result


def answers_of(items: Floats, count: int, seed: int, noise: float = 0.0) -> tuple[Rows, Rows]:
    """Winners and losers of random pairs, by somebody with a metric and an ideal point of their own."""
    rng = np.random.default_rng(seed)
    n, d = items.shape
    root, ideal = rng.normal(size=(d, d)), 0.6 * rng.normal(size=d)
    distance = (((items - ideal) @ root.T) ** 2).sum(axis=1)
    first = rng.integers(n, size=count)
    second = (first + 1 + rng.integers(n - 1, size=count)) % n
    left = (distance[first] < distance[second]) ^ (rng.random(count) < noise)
    return np.where(left, first, second), np.where(left, second, first)


def told(
    belief: Belief, winners: Rows, losers: Rows, rng: np.random.Generator, weight: float = 1.0
) -> Belief:
    """One answer after the other."""
    for winner, loser in zip(winners, losers, strict=True):
        belief = belief.after(AnswerRows(np.array([winner]), np.array([loser]), np.array([weight])), rng)
    return belief


def normalised(scores: Floats) -> Floats:
    """Each draw's scores with mean 0 and spread 1: a person's scale and origin say nothing about items."""
    away = scores.astype(float) - scores.mean(axis=0)
    result: Floats = away / np.maximum(away.std(axis=0), 1e-12)
    return result


def of_belief(belief: Belief) -> Floats:
    return normalised(belief.scores(np.arange(len(belief.items)))[0])


def of_fresh(items: Floats, winners: Rows, losers: Rows, weights: Floats, kind: str = "full") -> Floats:
    """What the estimator's own sampler says of the same answers."""
    found = infer(Answers.collect(items, winners, losers, weights), kind, np.random.default_rng(5))
    any_answer = ComparisonGraph(np.zeros(1, np.intp), np.ones(1, np.intp), len(items))
    target = Target(items, any_answer, np.ones(1), found.target.kind)
    return normalised(target.of_items(target.scores(found.draws)))


def assert_alike(one: Floats, other: Floats) -> None:
    """Means within Monte Carlo error (draws count for about a fifth of independent ones), and spreads."""
    spread = max(one.std(axis=1).mean(), other.std(axis=1).mean())
    apart = np.sqrt(np.mean((one.mean(axis=1) - other.mean(axis=1)) ** 2))
    assert apart < 5 * spread / np.sqrt(DRAWS / 5)
    assert 0.75 < one.std(axis=1).mean() / other.std(axis=1).mean() < 1.35


@pytest.mark.slow
@pytest.mark.parametrize(("d", "count", "noise"), [(2, 24, 0.0), (2, 50, 0.15), (3, 50, 0.0)])
@pytest.mark.long
def test_draws_after_many_answers_are_those_of_a_fresh_inference(d: int, count: int, noise: float) -> None:
    items = standardised(30, d, 0)
    winners, losers = answers_of(items, count, 1, noise)
    rng = np.random.default_rng(2)
    belief = told(Belief.prior(items, "full", rng), winners, losers, rng)
    assert_alike(of_belief(belief), of_fresh(items, winners, losers, np.ones(count)))


@pytest.mark.parametrize(
    "kind", some_slow(["none", "identity", "diagonal", "signed"], fast=["none", "diagonal"])
)
def test_every_kind_is_kept_up_to_date(kind: str) -> None:
    items = standardised(25, 3, 3)
    winners, losers = answers_of(items, 30, 4)
    rng = np.random.default_rng(5)
    belief = told(Belief.prior(items, kind, rng), winners, losers, rng)
    assert_alike(of_belief(belief), of_fresh(items, winners, losers, np.ones(30), kind))


def test_a_heavier_answer_is_as_many_answers() -> None:
    items = standardised(20, 2, 6)
    winners, losers = answers_of(items, 15, 7)
    rng = np.random.default_rng(8)
    belief = told(Belief.prior(items, "full", rng), winners, losers, rng, weight=4.0)
    assert_alike(of_belief(belief), of_fresh(items, winners, losers, np.full(15, 4.0)))


def test_an_answer_of_a_large_weight_does_not_make_everything_certain() -> None:
    items = standardised(20, 2, 6)
    rng = np.random.default_rng(8)
    belief = told(Belief.prior(items, "full", rng), np.array([0]), np.array([1]), rng, weight=1e5)
    fresh = of_belief(belief.afresh(rng))
    assert of_belief(belief).std(axis=1).mean() > 0.5 * fresh.std(axis=1).mean()


def test_a_tie_draws_two_items_together() -> None:
    items = standardised(12, 2, 9)
    rng = np.random.default_rng(10)
    prior = Belief.prior(items, "full", rng)
    belief = prior
    for _ in range(10):
        belief = belief.after(AnswerRows(np.array([0, 1]), np.array([1, 0]), np.full(2, 0.5)), rng)
    before, after = (abs(np.subtract(*of_belief(one)[:2])).mean() for one in (prior, belief))
    assert after < 0.8 * before
    weights = np.full(20, 0.5)
    assert_alike(of_belief(belief), of_fresh(items, np.tile([0, 1], 10), np.tile([1, 0], 10), weights))


@pytest.mark.slow
def test_contradictory_answers_leave_a_coin() -> None:
    items = standardised(12, 2, 11)
    rng = np.random.default_rng(12)
    belief = told(Belief.prior(items, "full", rng), np.tile([0, 1], 15), np.tile([1, 0], 15), rng)
    scores, _ = belief.scores(np.array([0, 1]))
    assert np.isfinite(belief.draws).all()
    assert abs((1 / (1 + np.exp(scores[0] - scores[1]))).mean() - 0.5) < 0.1


def assert_prior(belief: Belief, prior: Floats) -> None:
    """The kind's unknowns and the lapse's, by Kolmogorov and Smirnov's distance."""
    lapse = np.random.default_rng(17).standard_normal(len(prior))
    for mine, theirs in zip(belief.draws.T, [*prior.T, lapse], strict=True):
        assert ks_2samp(mine, theirs, method="asymp").statistic < 0.2


def test_before_any_answer_the_draws_are_the_priors() -> None:
    """Each unknown is distributed as those of the kind are: differences of 0.2 are seen once in 10^8."""
    belief = Belief.prior(standardised(30, 3, 13), "full", np.random.default_rng(14))
    assert belief.draws.shape == (DRAWS, KINDS["full"].size(3) + 1)
    assert_prior(belief, KINDS["full"].draw(20_000, 3, np.random.default_rng(15)))


def test_forgetting_the_draws_of_no_answer_gives_the_prior() -> None:
    belief = Belief.prior(standardised(30, 3, 13), "full", np.random.default_rng(14))
    afresh = belief.afresh(np.random.default_rng(15))
    assert afresh.draws.shape == belief.draws.shape
    assert (afresh.draws != belief.draws).any()
    assert_prior(afresh, KINDS["full"].draw(20_000, 3, np.random.default_rng(16)))


@pytest.mark.slow
def test_many_answers_at_once_say_what_they_say_one_by_one() -> None:
    items = standardised(25, 2, 16)
    winners, losers = answers_of(items, 40, 17)
    rng = np.random.default_rng(18)
    prior = Belief.prior(items, "full", rng)
    together = prior.after(AnswerRows(winners, losers, np.ones(40)), rng)
    assert len(together.draws) == DRAWS
    assert_alike(of_belief(told(prior, winners, losers, rng)), of_belief(together))


def test_a_few_answers_at_once_say_what_they_say_one_by_one() -> None:
    items = standardised(25, 2, 16)
    winners, losers = answers_of(items, FEW, 19)
    rng = np.random.default_rng(20)
    prior = Belief.prior(items, "full", rng)
    together = prior.after(AnswerRows(winners, losers, np.ones(FEW)), rng)
    assert_alike(of_belief(told(prior, winners, losers, rng)), of_belief(together))


@pytest.mark.slow
def test_draws_are_as_sure_of_themselves_as_those_of_a_fresh_inference() -> None:
    apart = []
    for seed in range(5):
        items, rng = standardised(30, 2, seed), np.random.default_rng(seed)
        winners, losers = answers_of(items, 12, seed)
        belief = told(Belief.prior(items, "full", rng), winners, losers, rng)
        sizes = [
            np.log(one.scores(np.arange(30))[0].std(axis=0)).mean() for one in (belief, belief.afresh(rng))
        ]
        apart.append(sizes[0] - sizes[1])
    assert abs(np.mean(apart)) < 0.2


def test_answers_after_all_was_learned_afresh_are_learned_too() -> None:
    """The unknowns are in another basis then."""
    items = standardised(25, 3, 16)
    winners, losers = answers_of(items, 30, 17)
    rng = np.random.default_rng(18)
    together = Belief.prior(items, "full", rng).after(AnswerRows(winners[:20], losers[:20], np.ones(20)), rng)
    assert together.kind is not KINDS["full"]
    belief = told(together, winners[20:], losers[20:], rng)
    assert belief.kind is together.kind
    assert_alike(of_belief(belief), of_fresh(items, winners, losers, np.ones(30)))


def test_no_answer_changes_nothing() -> None:
    rng, nothing = np.random.default_rng(18), np.zeros(0, dtype=np.intp)
    belief = Belief.prior(standardised(25, 3, 16), "full", rng)
    assert belief.after(AnswerRows(nothing, nothing, np.zeros(0)), rng) is belief


def test_the_same_generator_gives_the_same_draws() -> None:
    items = standardised(20, 3, 23)
    winners, losers = answers_of(items, 12, 24)
    draws = []
    for _ in range(2):
        rng = np.random.default_rng(25)
        draws.append(told(Belief.prior(items, "full", rng), winners, losers, rng).draws)
    np.testing.assert_array_equal(*draws)


def test_an_answer_changes_no_belief_from_before() -> None:
    items = standardised(20, 2, 23)
    rng = np.random.default_rng(25)
    belief = Belief.prior(items, "full", rng)
    before = belief.draws.copy()
    told(belief, np.array([0, 2, 4, 6]), np.array([1, 3, 5, 7]), rng)
    np.testing.assert_array_equal(belief.draws, before)
    assert len(belief.winners) == 0


def test_an_answer_that_no_draw_predicted_leaves_finite_draws() -> None:
    items = standardised(30, 2, 26)
    order = np.argsort((items**2).sum(axis=1))
    rng = np.random.default_rng(27)
    belief = told(Belief.prior(items, "full", rng), order[:15], order[:14:-1], rng)
    for _ in range(4):
        belief = told(belief, order[-1:], order[:1], rng)
        assert np.isfinite(belief.draws).all() and np.isfinite(belief.step)
    scores, lapses = belief.scores(np.arange(30))
    assert np.isfinite(scores).all() and np.isfinite(lapses).all()


@pytest.mark.parametrize(
    ("items", "kind"),
    [
        (standardised(10, 1, 28), "full"),
        (standardised(2, 2, 29), "full"),
        (np.repeat(standardised(4, 2, 30), 3, axis=0), "full"),
        (np.zeros((5, 0)), "items"),
        (standardised(10, 1, 28), "signed"),
        (standardised(10, 1, 28), "none"),
    ],
    ids=["one feature", "two items", "duplicates", "no features", "one feature, signed", "one, linear"],
)
def test_small_and_degenerate_tables_are_learned_from(items: Floats, kind: str) -> None:
    rng = np.random.default_rng(31)
    belief = told(Belief.prior(items, kind, rng), np.array([0] * 9), np.array([1] * 9), rng)
    for one in (belief, belief.afresh(rng)):
        assert one.draws.shape == (DRAWS, belief.draws.shape[1])
        assert np.isfinite(one.draws).all()
        assert np.isfinite(one.mean_scores()).all()


def test_duplicated_items_have_the_same_scores() -> None:
    items = np.repeat(standardised(4, 2, 32), 2, axis=0)
    rng = np.random.default_rng(33)
    belief = told(Belief.prior(items, "full", rng), np.array([0, 2, 1]), np.array([1, 4, 6]), rng)
    scores, _ = belief.scores(np.arange(8))
    np.testing.assert_array_equal(scores[::2], scores[1::2])


def test_scores_of_some_items_are_those_among_all() -> None:
    belief = Belief.prior(standardised(40, 3, 34), "full", np.random.default_rng(35))
    everything, lapses = belief.scores(np.arange(40))
    some, every_third = belief.scores(np.array([7, 3]), every=3)
    np.testing.assert_allclose(some, everything[[7, 3]][:, ::3], rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(every_third, lapses[::3])


def test_mean_scores_are_the_mean_of_the_draws_normalised_by_spread() -> None:
    items = standardised(60, 3, 36)
    rng = np.random.default_rng(37)
    winners, losers = answers_of(items, 10, 38)
    belief = told(Belief.prior(items, "full", rng), winners, losers, rng)
    scores = belief.scores(np.arange(60))[0].astype(float)
    slow = (scores / scores.std(axis=0)).mean(axis=1)
    np.testing.assert_allclose(belief.mean_scores(), slow, rtol=1e-3, atol=1e-3)


def test_ten_thousand_items_work() -> None:
    items = standardised(10_000, 5, 39)
    rng = np.random.default_rng(40)
    belief = told(Belief.prior(items, "full", rng), *answers_of(items, 8, 41), rng)
    assert belief.mean_scores().shape == (10_000,)
    assert np.isfinite(belief.mean_scores()).all()


def test_an_item_far_from_all_others_leaves_finite_draws() -> None:
    items = np.random.default_rng(42).normal(size=(200, 2))
    items[0] = 1e6
    items = (items - items.mean(axis=0)) / items.std(axis=0)
    rng = np.random.default_rng(43)
    belief = told(Belief.prior(items, "full", rng), np.array([0, 1, 2]), np.array([1, 2, 0]), rng)
    scores, _ = belief.scores(np.arange(200))
    assert np.isfinite(belief.draws).all() and np.isfinite(scores).all()
