"""The evidence by bridge sampling: against known integrals, and against the prior's own draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coombs.data.answers import Answers
from coombs.inference.averaging import bridge
from coombs.inference.infer import infer
from coombs.inference.kind import Kind
from coombs.inference.kinds import KINDS
from coombs.inference.target import Target


def some_answers(d: int) -> Answers:
    """Answers about standardised items."""
    rng = np.random.default_rng(1)
    items = rng.standard_normal((12, d))
    pairs = np.array([rng.choice(12, 2, replace=False) for _ in range(16)])
    return Answers.collect(items, pairs[:, 0], pairs[:, 1], np.ones(16)).canonical()


def test_the_integral_of_a_gaussian_is_known() -> None:
    rng = np.random.default_rng(0)
    root = np.array([[2.0, 0.0, 0.0], [1.0, 0.5, 0.0], [-1.0, 0.3, 1.5]])
    draws = 3.0 + rng.standard_normal((6000, 3)) @ root.T

    def log_density(y: np.ndarray) -> np.ndarray:
        white = np.linalg.solve(root, (y - 3.0).T)
        return -(white**2).sum(axis=0) / 2

    truth = 1.5 * math.log(2 * math.pi) + math.log(abs(np.linalg.det(root)))
    assert bridge(log_density, draws) == pytest.approx(truth, abs=0.1)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_prior_integrates_to_one(kind: Kind) -> None:
    """Its constant is right, whatever the unknowns are."""
    answers = some_answers(3)
    target = Target(answers.items, answers.graph(), answers.weights, kind, effects=kind.name == "items")
    nothing = target.reweighted(0 * answers.weights)
    draws = target.draw_prior(20_000, np.random.default_rng(2))
    assert bridge(nothing.log_joint, draws) == pytest.approx(0.0, abs=0.4)


def test_the_evidence_is_the_mean_likelihood_of_the_prior() -> None:
    answers = some_answers(2)
    found = infer(answers, "identity", np.random.default_rng(0))
    draws = found.target.draw_prior(200_000, np.random.default_rng(1))
    logs = found.target.log_probabilities(draws).sum(axis=0)
    mean = float(np.logaddexp.reduce(logs) - math.log(len(logs)))
    assert found.log_evidence == pytest.approx(mean, abs=0.2)


def test_answers_that_contradict_each_other_speak_for_a_coin() -> None:
    rng = np.random.default_rng(0)
    items = rng.standard_normal((10, 2))
    pairs = np.array([(i, j) for i in range(5) for j in range(5, 10)])
    winners, losers = np.concatenate([pairs[:, 0], pairs[:, 1]]), np.concatenate([pairs[:, 1], pairs[:, 0]])
    answers = Answers.collect(items, winners, losers, np.ones(50)).canonical()
    for kind in ("none", "full"):
        assert infer(answers, kind, rng).log_evidence < -50 * math.log(2) - 1
