"""Problems that the solver's tests share: random ones by the paper's protocol, and the hard cases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from coombs.data.answers import Answers
from coombs.data.tables import FloatArray
from coombs.inference.kind import Kind
from coombs.inference.kinds import KINDS
from coombs.inference.target import Target
from coombs.simulate import make_preferences

PAPER = (2.0, 0.002, 0.001)
ADMISSIONS = (1 / 650, 1 / 6500, 2 / 65e6)


class Problem(NamedTuple):
    """Answers, winner first, and the gammas to solve with."""

    name: str
    answers: Answers
    gammas: tuple[float, float, float]


def draw(d: int, p: int, n: int = 30, seed: int = 0, noise: str | float | None = None) -> Answers:
    """Answers by the paper's protocol."""
    data = make_preferences(n, d, p, noise=noise, random_state=seed).comparisons
    return Answers.collect(data.items, *data.oriented())


def with_items(answers: Answers, items: FloatArray) -> Answers:
    """The same answers about other features."""
    return Answers(items, answers.winners, answers.losers, answers.weights, answers.touched, answers.n_items)


def standard(answers: Answers) -> Answers:
    """The same answers about standardised features, as the estimator hands them over."""
    x = answers.items
    return with_items(answers, (x - x.mean(axis=0)) / x.std(axis=0))


def person(d: int, p: int, n: int = 30, seed: int = 0, noise: str | float | None = "logistic") -> Answers:
    """Noisy answers about standardised features."""
    return standard(draw(d, p, n, seed, noise))


def weighted(answers: Answers, seed: int = 0) -> Answers:
    """The same answers with random weights."""
    weights = np.random.default_rng(seed).uniform(0.2, 3.0, len(answers.weights))
    return replace(answers, weights=weights)


def target_of(answers: Answers, kind: str | Kind, **settings: Any) -> Target:
    """The posterior of a kind of preference."""
    chosen = KINDS[kind] if isinstance(kind, str) else kind
    return Target(answers.items, answers.graph(), answers.weights, chosen, **settings)


def some_metric(d: int, seed: int = 0) -> FloatArray:
    """A metric of mean size 1."""
    root = np.random.default_rng(seed).standard_normal((d + 2, d))
    metric = root.T @ root
    return metric * d / np.trace(metric)


def hard_cases(d: int = 3, p: int = 60, n: int = 30) -> Iterator[Problem]:
    """Every hard case of the solver's promise."""
    plain, rng = draw(d, p, n), np.random.default_rng(1)
    x = plain.items
    near = x[:, :1] + 1e-8 * rng.standard_normal((len(x), 1))
    features = {
        "offset of 1e6": x + 1e6,
        "columns from 1e-4 to 1e4": x * 10.0 ** np.linspace(-4, 4, d),
        "both": x * 10.0 ** np.linspace(-4, 4, d) + 1e6,
        "a constant column": np.column_stack([x, np.full(len(x), 3.0)]),
        "a duplicated column": np.column_stack([x, x[:, 0]]),
        "a nearly duplicated column": np.column_stack([x, near]),
        "scores of applicants": 150 + 5 * x,
    }
    for name, items in features.items():
        yield Problem(name, with_items(plain, items), PAPER)
    yield Problem("fewer answers than features", draw(10, 4, n), PAPER)
    yield Problem("one answer", draw(2, 1, n), PAPER)
    yield Problem("a graph in pieces", draw(d, n // 3, 3 * n), PAPER)
    yield Problem("noise", draw(d, 2 * p, n, noise=0.2), PAPER)
    w, lo = plain.winners, plain.losers
    both = Answers.collect(x, np.concatenate([w, lo]), np.concatenate([lo, w]), np.ones(2 * len(w)))
    yield Problem("every answer contradicted", both, PAPER)
    yield Problem("admissions gammas on noisy answers", draw(d, 2 * p, n, noise=0.2), ADMISSIONS)
    for gamma1 in (1e-6, 1e2):
        for gamma2 in (1e-6, 1e2):
            for gamma3 in (1e-6, 1e2):
                yield Problem(f"gammas {gamma1:g} {gamma2:g} {gamma3:g}", plain, (gamma1, gamma2, gamma3))


HARD = {problem.name: problem for problem in hard_cases()}
