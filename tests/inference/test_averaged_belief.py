"""Live draws of an average: as many of each kind as the evidence is for, and what they say together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from coombs.data.answers import Answers
from coombs.inference.averaged_belief import FIRST, MOST_ITEMS, AveragedBelief
from coombs.inference.belief import DRAWS, AnswerRows, Belief
from coombs.inference.smooth import infer_smooth

ITEMS = np.random.default_rng(0).normal(size=(40, 3))
ITEMS = (ITEMS - ITEMS.mean(axis=0)) / ITEMS.std(axis=0)
LINEAR = 3 * ITEMS @ [1.0, -0.7, 0.4]
EVERY = np.arange(40)


def told(scores: Any, count: int, seed: int = 1) -> AveragedBelief:
    """After answers, one by one, of somebody for whom a lower score is better."""
    rng = np.random.default_rng(seed)
    belief = AveragedBelief.prior(ITEMS, "full", rng)
    for _ in range(count):
        i, j = rng.choice(len(ITEMS), 2, replace=False)
        first = rng.random() < 1 / (1 + np.exp(scores[i] - scores[j]))
        winner, loser = (i, j) if first else (j, i)
        belief = belief.after(AnswerRows(np.array([winner]), np.array([loser]), np.ones(1)), rng)
    return belief


def test_the_first_answers_are_an_ideal_points() -> None:
    belief = told(LINEAR, FIRST - 1)
    assert belief.smooth is None and belief.n_smooth == 0
    assert told(LINEAR, FIRST).smooth is not None


@pytest.mark.slow
def test_a_linear_taste_is_more_and_more_smooth() -> None:
    """Its draws take the place of those with an ideal, and rank the items."""
    belief = told(LINEAR, 50)
    assert belief.n_smooth > 0.6 * DRAWS
    scores, lapses = belief.scores(EVERY)
    assert scores.shape == (40, DRAWS) and lapses.shape == (DRAWS,)
    assert np.corrcoef(scores.mean(axis=1), LINEAR)[0, 1] > 0.9
    assert np.corrcoef(belief.mean_scores(), LINEAR)[0, 1] > 0.9
    some, few = belief.scores(EVERY[:5], every=4)
    assert some == pytest.approx(scores[:5, ::4], abs=1e-4) and (few == lapses[::4]).all()


@pytest.mark.slow
def test_an_ideal_stays_one() -> None:
    scores = 3 * ((ITEMS - [0.3, -0.2, 0.1]) ** 2).sum(axis=1)
    belief = told(scores, 50)
    assert belief.n_smooth < 0.4 * DRAWS
    assert np.corrcoef(belief.mean_scores(), scores)[0, 1] > 0.8


@pytest.mark.slow
def test_the_smooth_part_is_that_of_a_fresh_fit() -> None:
    """Up to sizes and relevances that were learned from fewer answers."""
    belief = told(LINEAR, 40)
    assert belief.smooth is not None
    answers = Answers.collect(ITEMS, belief.winners, belief.losers, belief.weights).canonical()
    fresh = infer_smooth(answers)
    live = belief.smooth.scores(ITEMS, answers.touched).mean(axis=1)
    assert np.corrcoef(live, fresh.of_compared().mean(axis=1))[0, 1] > 0.99
    assert belief.smooth.log_evidence == pytest.approx(fresh.log_evidence, abs=2.0)


@pytest.mark.slow
def test_evidence_adds_up_answer_by_answer() -> None:
    """As much as a new beginning finds."""
    belief = told(LINEAR, 25)
    fresh = Belief.afresh(belief, np.random.default_rng(3))
    assert belief.log_evidence == pytest.approx(fresh.log_evidence, abs=1.5)


def test_with_very_many_items_there_is_only_the_ideal() -> None:
    rng = np.random.default_rng(2)
    items = rng.normal(size=(2 * MOST_ITEMS, 2))
    belief = AveragedBelief.prior(items, "full", rng)
    winners = np.arange(MOST_ITEMS + 1)
    belief = belief.after(AnswerRows(winners[:-1], winners[1:], np.ones(MOST_ITEMS)), rng)
    assert belief.smooth is None and np.isfinite(belief.scores(np.arange(9))[0]).all()
