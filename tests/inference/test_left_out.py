"""Answers predicted from the others, and kinds averaged by it: against integration and another optimiser."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import person, weighted
from quadrature import integrate
from scipy.optimize import minimize
from scipy.stats import genpareto

from coombs.data.answers import Answers
from coombs.data.held_out import HeldOut
from coombs.data.tables import FloatArray
from coombs.inference import averaging, infer, left_out
from coombs.inference.averaging import average, stack
from coombs.inference.infer import Inference
from coombs.inference.left_out import LeftOut, leave_out, smoothed, without

LAPSE = 0.02


def inferred(answers: Answers, kind: str = "none", seed: int = 0, lapse: float | None = LAPSE) -> Inference:
    return infer.infer(answers, kind, np.random.default_rng(seed), lapse=lapse)


def both_ways(seed: int = 0) -> Answers:
    """Thirty weighted answers about twenty pairs, ten of them answered either way."""
    some = weighted(person(1, 20, 12, seed))
    winners, losers = some.winners, some.losers
    again = np.concatenate([winners, losers[:10]]), np.concatenate([losers, winners[:10]])
    return Answers.collect(some.items, *again, np.concatenate([some.weights, np.full(10, 0.7)]))


def exactly(answers: Answers, kind: str) -> FloatArray:
    """Each answer's probability given those about other pairs, by integration."""
    exact = integrate(answers, kind, LAPSE)
    low, high = np.minimum(answers.winners, answers.losers), np.maximum(answers.winners, answers.losers)
    pair = low * len(answers.items) + high
    return np.array([exact.without(answers.weights, pair == one)[k] for k, one in enumerate(pair)])


# Leaving out


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["none", "identity"])
@pytest.mark.parametrize("by", ["weights", "refits"])
@pytest.mark.long
def test_left_out_predictions_are_those_of_integration(
    kind: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By importance weights alone, and by refits alone; pairs answered both ways are left out together."""
    answers = both_ways(1)
    monkeypatch.setattr(left_out, "HEAVY", np.inf)
    monkeypatch.setattr(left_out, "MOST_REFITS", 0 if by == "weights" else 1000)
    found = leave_out(inferred(answers, kind), np.random.default_rng(1))
    exact = exactly(answers, kind)
    # About four times what is seen over seeds.
    assert np.abs(found.probabilities - exact).max() < (0.1 if by == "weights" else 0.04)
    assert np.sqrt(np.mean((found.probabilities - exact) ** 2)) < (0.03 if by == "weights" else 0.015)
    log_loss = -answers.weights @ np.log(exact) / answers.weights.sum()
    assert found.log_loss == pytest.approx(log_loss, abs=0.05)


def test_leaving_out_is_not_looking_at_the_answer() -> None:
    """The log loss is larger than that of answers that were seen, as a refit's is."""
    answers = person(2, 60, 20, seed=2)
    found = inferred(answers, "full", lapse=None)
    seen = np.exp(found.target.log_probabilities(found.draws)).mean(axis=1)
    left = leave_out(found, np.random.default_rng(0))
    assert left.log_loss > LeftOut(seen, answers.held_out).log_loss + 0.02


def test_a_pair_answered_both_ways_is_left_out_as_one() -> None:
    """The probabilities of the two answers add up to 1, however they were left out."""
    answers = both_ways()
    found = inferred(answers)
    pairs = answers.questions
    assert len(np.unique(pairs)) == 20 and len(pairs) == 30
    for few in (0, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(left_out, "MOST_REFITS", few)
            patch.setattr(left_out, "HEAVY", np.inf)
            p = leave_out(found, np.random.default_rng(0)).probabilities
        for pair in np.flatnonzero(np.bincount(pairs) == 2):
            assert p[pairs == pair].sum() == pytest.approx(1.0, abs=1e-5)


def test_blocks_of_answers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no pair is cut."""
    found = inferred(person(1, 40, 15))
    monkeypatch.setattr(left_out, "HEAVY", np.inf)
    monkeypatch.setattr(left_out, "MOST_REFITS", 0)
    whole = leave_out(found, np.random.default_rng(0)).probabilities
    monkeypatch.setattr(left_out, "BLOCK", 7 * left_out.MOST_DRAWS)
    assert leave_out(found, np.random.default_rng(0)).probabilities == pytest.approx(whole)


def test_too_many_heavy_pairs_are_refitted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten refits, each without a tenth of them: nearly the same log loss."""
    found = inferred(person(1, 60, 20, seed=3), "identity")
    plain, calls = leave_out(found, np.random.default_rng(0)), []
    monkeypatch.setattr(left_out, "HEAVY", -np.inf)
    monkeypatch.setattr(left_out, "without", lambda *args: calls.append(1) or without(*args))
    parts = leave_out(found, np.random.default_rng(0))
    assert len(calls) == left_out.PARTS
    assert parts.log_loss == pytest.approx(plain.log_loss, abs=0.1)


def test_a_single_pair_is_predicted_by_a_coin() -> None:
    """Nothing is left to predict it from."""
    answers = person(2, 1, 10)
    assert leave_out(inferred(answers, "full"), np.random.default_rng(0)).probabilities == pytest.approx(
        [0.5]
    )


def test_accuracy_and_log_loss_are_weighted_means() -> None:
    found = LeftOut(np.array([0.9, 0.5, 0.2]), of_pairs(np.array([2.0, 1.0, 1.0])))
    assert found.accuracy == pytest.approx(2.5 / 4)
    assert found.log_loss == pytest.approx(-(2 * np.log(0.9) + np.log(0.5) + np.log(0.2)) / 4)


# Pareto smoothing


@pytest.mark.parametrize("k", [-0.3, 0.2, 0.5, 0.9])
def test_paretos_k_is_that_of_the_tail(k: float) -> None:
    """Generalised Pareto ratios, in the mean of 60 rows of 8,192: a known small pull towards 1/2."""
    ratios = 1 + genpareto.rvs(k, size=(60, 8192), random_state=np.random.default_rng(0))
    tail = int(3 * np.sqrt(8192))
    found = smoothed(np.log(ratios))[1]
    assert found.mean() == pytest.approx((k * tail + 5) / (tail + 10), abs=0.07)


def test_smoothed_weights_add_up_to_one_and_keep_their_order() -> None:
    """None is negative, and none of the smoothed is larger than the largest was."""
    logs = np.random.default_rng(0).normal(0, 1.5, (10, 2000))
    weights, _ = smoothed(logs)
    assert weights.sum(axis=1) == pytest.approx(np.ones(10))
    assert (weights >= 0).all()
    for row, log in zip(weights, logs, strict=True):
        assert (np.diff(row[np.argsort(log)]) >= -1e-15).all()
    small = logs < np.quantile(logs, 0.5, axis=1, keepdims=True)
    ratio = weights / np.exp(logs)
    for row, chosen in zip(ratio, small, strict=True):
        assert row[chosen] == pytest.approx(np.full(chosen.sum(), row[chosen][0]))


def test_equal_ratios_have_equal_weights() -> None:
    """Also where they are huge, or draws are few."""
    for logs in (np.zeros((2, 1000)), np.full((2, 1000), 800.0), np.zeros((1, 10))):
        weights, k = smoothed(logs)
        assert weights == pytest.approx(np.full(logs.shape, 1 / logs.shape[1]))
        assert len(k) == len(logs)
    assert (smoothed(np.zeros((1, 1000)))[1] < left_out.HEAVY).all()
    assert (smoothed(np.zeros((1, 10)))[1] > left_out.HEAVY).all()


def test_a_heavy_tail_is_noticed() -> None:
    """One draw that has all the weight is not trusted, and leaves finite weights."""
    logs = np.random.default_rng(0).normal(size=(1, 1000))
    logs[0, :3] = [900, 700, 500]
    weights, k = smoothed(logs)
    assert np.isfinite(weights).all() and weights.sum() == pytest.approx(1.0)
    assert k[0] > left_out.HEAVY


# Stacking


def of_pairs(weights: FloatArray) -> HeldOut:
    """Answers with these weights, each about another pair."""
    n = len(weights)
    rows = np.arange(n)
    return HeldOut(rows, rows + n, rows, weights, weights, np.full(n, 0.5), n)


def told(probabilities: list[FloatArray], weights: FloatArray | None = None) -> list[LeftOut]:
    counts = np.ones(len(probabilities[0])) if weights is None else weights
    return [LeftOut(one, of_pairs(counts)) for one in probabilities]


def log_posterior(kinds: list[LeftOut], w: FloatArray) -> float:
    """What stacking maximises."""
    table = np.column_stack([kind.probabilities for kind in kinds])
    prior = averaging.PRIOR_ANSWERS / len(kinds)
    return float(kinds[0].weights @ np.log(table @ w) + prior * np.log(w).sum())


@pytest.mark.parametrize("n_answers", [3, 40, 1000])
def test_stacking_weights_are_the_optimum_that_scipy_finds(n_answers: int) -> None:
    """Over the simplex, with weighted answers; nothing else is better."""
    rng = np.random.default_rng(0)
    kinds = told(list(rng.beta(3, 1.5, (4, n_answers))), rng.uniform(0.5, 2, n_answers))
    found = stack(kinds)
    assert found.sum() == pytest.approx(1.0) and (found > 0).all()

    def objective(logits: FloatArray) -> float:
        w = np.exp(logits - logits.max())
        return -log_posterior(kinds, w / w.sum())

    best = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    w = np.exp(best.x - best.x.max())
    assert log_posterior(kinds, found) == pytest.approx(-best.fun, abs=1e-3)
    assert found == pytest.approx(w / w.sum(), abs=0.02)
    for other in rng.dirichlet(np.ones(4), 200):
        assert log_posterior(kinds, other) <= log_posterior(kinds, found) + 1e-3


def test_a_kind_that_predicts_better_gets_most_weight_when_answers_are_many() -> None:
    """With few answers the weights stay near equal, and come nearer to it with fewer still."""
    weights = [stack(told([np.full(n, 0.8), np.full(n, 0.5)]))[0] for n in (1, 5, 50, 500)]
    assert (np.diff(weights) > 0).all()
    assert 0.5 < weights[0] < 0.65
    assert weights[-1] > 0.95


def test_order_of_kinds_and_answers_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    table, counts = rng.beta(3, 1.5, (5, 60)), rng.uniform(0.5, 2, 60)
    weights = stack(told(list(table), counts))
    order, rows = rng.permutation(5), rng.permutation(60)
    assert stack(told(list(table[order]), counts)) == pytest.approx(weights[order])
    assert stack(told(list(table[:, rows]), counts[rows])) == pytest.approx(weights)


def test_a_repeat_is_a_weight_of_two_in_stacking_and_like_kinds_share() -> None:
    rng = np.random.default_rng(2)
    one, two = rng.beta(3, 1.5, (2, 30))
    twice = stack(told([np.tile(one, 2), np.tile(two, 2)]))
    assert stack(told([one, two], np.full(30, 2.0))) == pytest.approx(twice)
    shared = stack(told([one, two, one]))
    assert shared[0] == pytest.approx(shared[2])


def test_the_average_is_predicted_with_weights_from_other_answers() -> None:
    """So it is between the kinds, and where kinds are alike it is theirs."""
    rng = np.random.default_rng(3)
    one, two = rng.beta(3, 1.5, (2, 50))
    found = average(told([one, two]))
    assert (found.probabilities >= np.minimum(one, two)).all()
    assert (found.probabilities <= np.maximum(one, two)).all()
    assert average(told([one, one])).probabilities == pytest.approx(one)
    # A tenth that only one kind predicts has weights from the others.
    better = np.where(np.arange(50) % averaging.PARTS == 0, 0.9, 0.1)
    mixed = average(told([better, np.full(50, 0.6)])).probabilities
    assert mixed[::10] == pytest.approx(np.full(5, mixed[0])) and mixed[0] < 0.7


def test_few_answers_and_their_weights_stay_together() -> None:
    """An inference's own answers, in its order."""
    answers = weighted(person(1, 12, 8))
    found = leave_out(inferred(answers), np.random.default_rng(0))
    assert found.weights == pytest.approx(answers.weights)
    assert ((found.probabilities > 0) & (found.probabilities < 1)).all()
    heavy = replace(answers, weights=10 * answers.weights)
    assert leave_out(inferred(heavy), np.random.default_rng(0)).weights == pytest.approx(heavy.weights)
