"""What is thought of items without features while questions are asked."""

from __future__ import annotations

import numpy as np
import pytest

from coombs import create_study, questions
from coombs.data.answers import Answers
from coombs.inference.belief import AnswerRows
from coombs.inference.infer import infer
from coombs.inference.score_belief import DRAWS, ScoreBelief


def _belief(n: int) -> ScoreBelief:
    return ScoreBelief.prior(np.zeros((n, 0)), "full", np.random.default_rng(0))


def test_before_any_answer_no_item_is_better() -> None:
    belief = _belief(5)
    scores, lapses = belief.scores(np.arange(5))
    assert scores.shape == (5, DRAWS) and lapses.shape == (DRAWS,)
    assert not belief.mean_scores().any()
    p = questions.information(belief, np.array([[0, 1], [2, 3]]))[1]
    assert np.abs(p - 0.5).max() < 0.1


def test_draws_agree_with_the_sampled_posterior() -> None:
    rng = np.random.default_rng(1)
    truth = 1.5 * rng.standard_normal(8)
    pairs = np.array([rng.choice(8, 2, replace=False) for _ in range(60)])
    wins = rng.random(60) < 1 / (1 + np.exp(truth[pairs[:, 0]] - truth[pairs[:, 1]]))
    pairs[~wins] = pairs[~wins, ::-1]
    belief = _belief(8).after(AnswerRows(pairs[:, 0], pairs[:, 1], np.ones(60)), rng)
    answers = Answers.collect(np.zeros((8, 0)), pairs[:, 0], pairs[:, 1], np.ones(60))
    sampled = infer(answers, "items", rng, effects=True).scores().effects
    assert sampled is not None
    ours, theirs = belief.scores(np.arange(8))[0], sampled.T
    ours, theirs = ours - ours.mean(axis=0), theirs - theirs.mean(axis=0)
    assert np.abs(ours.mean(axis=1) - theirs.mean(axis=1)).max() < 0.5
    assert np.abs(np.log(ours.std(axis=1) / theirs.std(axis=1))).max() < 0.5


def test_an_item_that_was_never_compared_may_have_any_score() -> None:
    belief = _belief(6).after(
        AnswerRows(np.array([0, 0]), np.array([1, 2]), np.ones(2)), np.random.default_rng(0)
    )
    known, strange = belief.scores(np.array([0, 5]))[0]
    assert strange.std() > known.std() and belief.mean_scores()[5] == 0 > belief.mean_scores()[0]


def test_the_same_seed_gives_the_same_draws() -> None:
    told = [
        _belief(4).after(AnswerRows(np.array([0]), np.array([1]), np.ones(1)), np.random.default_rng(3))
        for _ in range(2)
    ]
    assert np.array_equal(told[0].draws, told[1].draws)


@pytest.mark.parametrize("strategy", ["best", "information"])
def test_every_item_is_asked_about_before_long(strategy: str) -> None:
    names = [f"idea {i}" for i in range(12)]
    study = create_study(names, storage="memory:", strategy=strategy, seed=0)
    seen = set()
    for _ in range(24):
        question = study.ask()
        assert question is not None
        seen |= set(question.positions)
        study.tell(question, "left" if question.positions[0] < question.positions[1] else "right")
    assert len(seen) == 12


@pytest.mark.slow
@pytest.mark.long
def test_chosen_questions_find_the_best_sooner_than_random_ones() -> None:
    """Of twelve people's best four of sixteen, after 32 answers."""
    found = dict.fromkeys(("best", "random"), 0)
    for person in range(12):
        truth = 3.0 * np.random.default_rng(person).standard_normal(16)
        for strategy in found:
            rng, belief = np.random.default_rng(100 + person), _belief(16)
            asked: set[tuple[int, int]] = set()
            for _ in range(32):
                (one,) = questions.choose(belief, strategy, 16, asked, rng, 4)
                asked.add((one.first, one.second))
                wins = rng.random() < 1 / (1 + np.exp(truth[one.first] - truth[one.second]))
                ends = (one.first, one.second) if wins else (one.second, one.first)
                belief = belief.after(AnswerRows(np.array(ends[:1]), np.array(ends[1:]), np.ones(1)), rng)  # type: ignore[assignment]
            top = np.argsort(belief.mean_scores())[:4]
            found[strategy] += len(set(top.tolist()) & set(np.argsort(truth)[:4].tolist()))
    assert found["best"] > found["random"]


def test_without_features_the_best_are_looked_for_unless_another_strategy_is_asked_for() -> None:
    assert create_study(["a", "b", "c"], storage="memory:").settings.strategy == "best"
    assert create_study(["a", "b", "c"], storage="memory:", strategy="random").settings.strategy == "random"
    assert create_study([[0.0], [1.0]], storage="memory:").settings.strategy == "information"
