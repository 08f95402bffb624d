"""Declared directions: the slope of the constraint, the prior's mass, and draws that obey."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cases import some_slow

from coombs.data.answers import Answers
from coombs.data.directions import Directions
from coombs.data.tables import FloatArray, Levels
from coombs.inference.infer import QUICK, infer
from coombs.inference.kinds import KINDS
from coombs.inference.levels import with_levels
from coombs.inference.sampler import draw_prior
from coombs.inference.smooth import infer_smooth
from coombs.inference.target import Target

NEARLY = 0.5
"""Logits over a feature's range by which a direction may be broken by a draw."""


def some_answers(n_answers: int = 40, *, against: bool = False) -> Answers:
    """Of somebody with a linear taste, or the opposite, about 30 items with three features."""
    rng = np.random.default_rng(5)
    items = rng.standard_normal((30, 3))
    scores = items @ (np.array([-1.0, 0.5, 0.0]) * (-1 if against else 1))
    pairs = rng.integers(0, 30, (n_answers, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    first = rng.random(len(pairs)) < 1 / (1 + np.exp(scores[pairs[:, 0]] - scores[pairs[:, 1]]))
    wins = np.where(first[:, None], pairs, pairs[:, ::-1])
    answers = Answers.collect(items, wins[:, 0], wins[:, 1], np.ones(len(wins)))
    return replace(answers, directions=Directions.of(items, np.array([1.0, -1.0, 0.0])))


@pytest.mark.parametrize("name", ["none", "identity", "diagonal", "full", "signed"])
def test_the_density_has_the_gradient_of_its_differences(name: str) -> None:
    target = Target.about(some_answers(), KINDS[name])
    y, step = 0.4 * target.draw_prior(3, np.random.default_rng(0)), 1e-6
    moves = step * np.eye(target.n)
    slopes = [(target.value(point + moves) - target.value(point - moves)) / (2 * step) for point in y]
    found = target.gradient(y)
    assert np.abs(np.array(slopes) - found).max() < 1e-6 * (1 + np.abs(found).max())


def test_with_levels_of_a_category_the_gradient_is_right_too() -> None:
    rng = np.random.default_rng(0)
    levels = Levels(((2, 3),), (1.0,))
    items = np.column_stack([rng.standard_normal((20, 2)), np.eye(2)[rng.integers(0, 2, 20)]])
    answers = Answers.collect(items, np.arange(10), np.arange(10, 20), np.ones(10), levels=levels)
    answers = replace(answers, directions=Directions.of(items, np.array([0.0, -1.0, 0.0, 0.0])))
    target = Target.about(answers, with_levels(KINDS["full"], levels, 4))
    y, moves = 0.4 * target.draw_prior(2, rng), 1e-6 * np.eye(target.n)
    slopes = [(target.value(point + moves) - target.value(point - moves)) / 2e-6 for point in y]
    found = target.gradient(y)
    assert np.abs(np.array(slopes) - found).max() < 1e-6 * (1 + np.abs(found).max())


def test_a_quarter_of_linear_tastes_obeys_two_directions() -> None:
    target = Target.about(some_answers(), KINDS["none"])
    _, log_mass = draw_prior(target, 1024, np.random.default_rng(0))
    assert log_mass == pytest.approx(np.log(0.25), abs=0.15)


def test_the_mass_is_that_of_plain_draws() -> None:
    target = Target.about(some_answers(), KINDS["diagonal"])
    _, log_mass = draw_prior(target, 1024, np.random.default_rng(0))
    plain = np.exp(target.log_obeyed(target.draw_prior(100_000, np.random.default_rng(1))))
    assert log_mass == pytest.approx(np.log(plain.mean()), abs=0.5)


@pytest.mark.parametrize(
    ("name", "against"),
    some_slow(
        [("none", True), ("diagonal", True), ("full", False), ("full", True), ("signed", False)],
        fast=[("none", True), ("full", True)],
    ),
)
def test_draws_obey_whatever_the_answers_say(name: str, against: bool) -> None:
    answers = some_answers(against=against)
    found = infer(answers, name, np.random.default_rng(0), effort=QUICK)
    assert answers.directions is not None
    scores = found.scores()
    gains = answers.directions.gains(scores.metric, scores.linear).min(axis=1)
    assert (gains > -NEARLY).mean() > 0.97
    # On average, and not only nearly.
    mean = answers.directions.gains(scores.metric.mean(axis=0)[None], scores.linear.mean(axis=0)[None])
    assert mean.min() > -0.1


@pytest.mark.slow
def test_the_evidence_for_directions_is_larger_if_the_answers_agree_with_them() -> None:
    for name in ("none", "diagonal"):
        gains = []
        for against in (False, True):
            answers = some_answers(against=against)
            free = replace(answers, directions=None)
            both = [infer(one, name, np.random.default_rng(0), effort=QUICK) for one in (answers, free)]
            gains.append(both[0].log_evidence - both[1].log_evidence)
        assert gains[0] > 0 > gains[1]


@pytest.mark.parametrize("against", [False, True])
def test_a_smooth_taste_obeys_along_the_whole_feature(against: bool) -> None:
    answers = some_answers(against=against)
    assert answers.directions is not None
    smooth = infer_smooth(answers)
    better, worse = answers.directions.lines()
    gains: FloatArray = 5 * (smooth.of_items(worse) - smooth.of_items(better))
    assert (gains.min(axis=0) > -NEARLY).mean() > 0.97
    assert gains.mean(axis=1).min() > -0.1
    free = infer_smooth(replace(answers, directions=None))
    assert (smooth.log_evidence > free.log_evidence) is not against


def test_a_mirrored_feature_with_the_other_direction_is_the_same_taste() -> None:
    answers = some_answers()
    assert answers.directions is not None
    mirror = np.array([-1.0, 1.0, 1.0])
    signs = np.array([-1.0, -1.0, 0.0])
    other = replace(answers, items=answers.items * mirror, directions=None)
    other = replace(other, directions=Directions.of(other.items, signs))
    whole = replace(answers, directions=Directions.of(answers.items, np.array([1.0, -1.0, 0.0])))
    one, two = (infer_smooth(part).of_compared().mean(axis=1) for part in (whole, other))
    assert np.corrcoef(one, two)[0, 1] > 0.99


def test_only_the_outermost_items_are_looked_at_and_they_bound_the_slope_of_all() -> None:
    rng = np.random.default_rng(0)
    items = rng.standard_normal((500, 2))
    found = Directions.of(items, np.array([1.0, 0.0]))
    assert found is not None and len(found.points) <= 24
    root = rng.standard_normal((50, 2, 2))
    metric, linear = root @ root.transpose(0, 2, 1), rng.standard_normal((50, 2))
    everywhere = replace(found, points=items).gains(metric, linear).min(axis=1)
    here = found.gains(metric, linear).min(axis=1)
    assert (here - everywhere < 0.12 * np.ptp(found.gains(metric, linear), axis=1)).all()
    assert Directions.of(items, np.zeros(2)) is None
    assert found.only(np.array([1])) is None
    assert found.only(np.array([1, 0])).columns.tolist() == [1]  # type: ignore[union-attr]
