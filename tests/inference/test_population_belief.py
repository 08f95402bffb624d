"""What is believed of somebody by their own answers and by those of others."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from coombs import Population
from coombs.data.scaling import Scaler
from coombs.inference.averaged_belief import AveragedBelief
from coombs.inference.belief import AnswerRows, Belief
from coombs.inference.population_belief import LOG_ODDS, PopulationBelief
from coombs.inference.score_belief import ScoreBelief

N = 30
WANTED = np.array([2.0, -1.5])


@cache
def items() -> Any:
    return np.random.default_rng(5).normal([3.0, -1.0], [2.0, 0.5], size=(N, 2))


@cache
def crowd(metric: str = "none") -> Population:
    """Twenty-five people who want much the same."""
    rng = np.random.default_rng(6)
    users = np.repeat(np.arange(25), 12)
    scaled = Scaler.of(items(), standardize=True).forward(items())
    tastes = rng.normal(WANTED, 0.4, size=(25, 2))
    pairs = rng.permuted(np.tile(np.arange(N), (len(users), 1)), axis=1)[:, :2]
    utility = (scaled[pairs] * tastes[users][:, None]).sum(axis=2)
    y = np.where(rng.logistic(size=len(users)) < utility[:, 0] - utility[:, 1], 1, -1)
    return Population(items(), metric=metric).fit(pairs, y, users=users)


def before(kind: type[Belief] = Belief, metric: str = "none") -> PopulationBelief:
    scaler = Scaler.of(items(), standardize=True)
    own = kind.prior(scaler.forward(items()), "full", np.random.default_rng(1))
    return PopulationBelief.prior(own, crowd(metric)._people_prior.about(items(), None, scaler))


def told(belief: PopulationBelief, wanted: Any, count: int, at_once: int = 1) -> PopulationBelief:
    """After random questions to somebody who wants that."""
    rng = np.random.default_rng(2)
    pairs = rng.permuted(np.tile(np.arange(N), (count, 1)), axis=1)[:, :2]
    utility = belief.items @ wanted
    better = utility[pairs[:, 0]] > utility[pairs[:, 1]]
    winners, losers = np.where(better, pairs.T, pairs[:, ::-1].T)
    for begin in range(0, count, at_once):
        some = slice(begin, begin + at_once)
        belief = belief.after(AnswerRows(winners[some], losers[some], np.ones(len(winners[some]))), rng)
    return belief


def test_before_any_answer_ones_own_belief_is_likelier() -> None:
    belief = before()
    assert belief.share == pytest.approx(expit(LOG_ODDS)) and belief.share < 0.5
    scores, lapses = belief.scores(np.arange(N))
    assert scores.shape == (N, len(belief.own.draws)) and lapses.shape == scores.shape[1:]
    taken = sum(len(one.numbers) for one in belief._drawn)
    assert taken == round(belief.share * len(belief.own.draws))
    # What others want counts, as far as it is likely to be this person's.
    utility = belief.items @ WANTED
    with_others, alone = (np.corrcoef(-one.mean_scores(), utility)[0, 1] for one in (belief, belief.own))
    assert with_others > alone + 0.05


def test_who_is_like_others_is_known_by_them_and_who_is_not_is_not() -> None:
    like, unlike = told(before(), WANTED, 10), told(before(), -WANTED, 10)
    assert like.share > 0.5 > 0.05 > unlike.share
    for belief, wanted in ((like, WANTED), (unlike, -WANTED)):
        utility = belief.items @ wanted
        assert np.corrcoef(-belief.mean_scores(), utility)[0, 1] > 0.6


def test_of_somebody_unlike_anybody_what_is_left_is_their_own_belief() -> None:
    belief = told(before(), -WANTED, 24, at_once=24)
    assert belief.share < 1e-3 and belief._drawn == ()
    some = np.arange(N)
    np.testing.assert_array_equal(belief.scores(some)[0], belief.own.scores(some)[0])
    np.testing.assert_array_equal(belief.mean_scores(), belief.own.mean_scores())


@pytest.mark.parametrize(("kind", "metric"), [(Belief, "none"), (AveragedBelief, "smooth")])
def test_an_item_has_the_same_scores_whichever_are_asked_for(kind: type[Belief], metric: str) -> None:
    belief = told(before(kind, metric), WANTED, 6, at_once=6)
    whole, some = belief.scores(np.arange(N))[0], np.array([7, 2, 19])
    np.testing.assert_allclose(belief.scores(some)[0], whole[some], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(belief.scores(some, 3)[0], whole[some, ::3], rtol=1e-5, atol=1e-5)


def test_what_goes_to_another_process_is_light_and_comes_back_whole() -> None:
    belief = told(before(), WANTED, 5, at_once=5)
    sent = pickle.loads(pickle.dumps(belief.light()))
    assert len(pickle.dumps(belief.light())) < 200_000 and not len(sent.items)
    back = sent.whole(belief)
    np.testing.assert_array_equal(back.scores(np.arange(N))[0], belief.scores(np.arange(N))[0])
    assert back.share == belief.share


def test_the_same_answers_give_the_same_belief() -> None:
    one, other = (told(before(), WANTED, 5) for _ in range(2))
    np.testing.assert_array_equal(one.scores(np.arange(N))[0], other.scores(np.arange(N))[0])


def test_items_without_features_have_a_prior_too() -> None:
    rng = np.random.default_rng(3)
    users, names = np.repeat(np.arange(12), 10), [f"name {i}" for i in range(8)]
    pairs = np.sort(rng.permuted(np.tile(np.arange(8), (len(users), 1)), axis=1)[:, :2], axis=1)
    population = Population(names).fit([[names[i], names[j]] for i, j in pairs], users=users)
    table = population.item_table_
    own = ScoreBelief.prior(np.zeros((8, 0)), "full", rng)
    scaler = Scaler.of(table.matrix, standardize=True)
    about = population._people_prior.about(table.matrix, table.texts, scaler)
    belief = PopulationBelief.prior(own, about)
    assert belief.mean_scores().argmin() == 0 and belief.mean_scores().argmax() == 7
    after = belief.after(AnswerRows(np.array([0, 1, 2]), np.array([5, 6, 7]), np.ones(3)), rng)
    assert after.share > 0.5
