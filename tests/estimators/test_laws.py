"""Laws that hold whatever the data: order, swaps, repeats, weights, scale, translation, kernels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from cases import some_slow
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from coombs import Alternating, Comparisons, EuclideanCompass, EuclideanSingleStep, SingleStep
from coombs.data.answers import Answers
from coombs.data.tables import FloatArray
from coombs.programs.formulate import ideal_point
from coombs.simulate import Preferences, make_preferences

SEEDS = st.integers(0, 10**6)
ESTIMATORS = [SingleStep, Alternating, EuclideanSingleStep, EuclideanCompass]
# Alternating takes four times as long as the others.
quick_ones = [one for one in ESTIMATORS if one is not Alternating]
every_estimator = pytest.mark.parametrize("estimator", some_slow(ESTIMATORS, fast=quick_ones))
laws = settings(max_examples=12, deadline=None)


def person(seed: int) -> Preferences:
    """A small noisy person; sizes vary with the seed."""
    return make_preferences(12, 2 + seed % 2, 20 + seed % 17, noise=0.1, random_state=seed)


def learn(estimator: type, data: Comparisons, **parameters: Any) -> Any:
    """A fit tight enough for two fits to be compared; gammas large enough for the optimum to be sharp."""
    if estimator is Alternating:
        parameters |= {"max_alternations": 3, "tolerance": 1e-12}
    if issubclass(estimator, SingleStep):
        parameters |= {"gamma2": 0.1, "gamma3": 0.1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator(tol=1e-11, max_iter=200, **parameters).fit(data)


def same(a: Any, b: Any, tolerance: float = 2e-4) -> None:
    """The same metric, ideal point and objective."""
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-7)
    assert a.metric_ == pytest.approx(b.metric_, abs=tolerance)
    assert a.ideal_point_ == pytest.approx(b.ideal_point_, abs=tolerance * 10)


@every_estimator
@laws
@given(seed=SEEDS)
def test_order_of_answers_does_not_matter(estimator: type, seed: int) -> None:
    """A permutation of the answers gives the same fit."""
    data = person(seed).comparisons
    order = np.random.default_rng(seed).permutation(len(data))
    same(learn(estimator, data), learn(estimator, data[order]))


@every_estimator
@laws
@given(seed=SEEDS)
def test_order_of_items_does_not_matter(estimator: type, seed: int) -> None:
    """A permutation of the items gives the same fit, and permutes the distances."""
    data = person(seed).comparisons
    order = np.random.default_rng(seed).permutation(data.n_items)
    moved = Comparisons(data.items[order], np.argsort(order)[data.pairs], y=data.y)
    one, two = learn(estimator, data), learn(estimator, moved)
    same(one, two)
    assert one.distances_[order] == pytest.approx(two.distances_, abs=2e-3)


@every_estimator
@laws
@given(seed=SEEDS)
def test_swapping_a_pair_with_its_sign_does_not_matter(estimator: type, seed: int) -> None:
    """(i, j, y) and (j, i, -y) are the same answer."""
    data = person(seed).comparisons
    swap = np.random.default_rng(seed).random(len(data)) < 0.5
    pairs = np.where(swap[:, None], data.pairs[:, ::-1], data.pairs)
    same(
        learn(estimator, data),
        learn(estimator, Comparisons(data.items, pairs, np.where(swap, -data.y, data.y))),
    )


@every_estimator
@laws
@given(seed=SEEDS)
def test_a_repeat_is_a_weight_of_two(estimator: type, seed: int) -> None:
    """Rows given twice equal rows of weight two."""
    data = person(seed).comparisons
    twice = np.flatnonzero(np.random.default_rng(seed).random(len(data)) < 0.3)
    rows = np.concatenate([np.arange(len(data)), twice])
    weights = np.ones(len(data))
    weights[twice] = 2.0
    weighted = Comparisons(data.items, data.pairs, data.y, weights=weights)
    same(learn(estimator, data[rows]), learn(estimator, weighted))


@every_estimator
@laws
@given(seed=SEEDS)
def test_a_tie_is_half_an_answer_each_way(estimator: type, seed: int) -> None:
    """A tie equals two contradictory answers of weight one half."""
    data = person(seed).comparisons
    y = data.y.copy()
    y[:3] = 0
    pairs = np.concatenate([data.pairs, data.pairs[:3, ::-1]])
    signs = np.concatenate([np.where(y == 0, 1, y), np.ones(3, dtype=int)])
    weights = np.concatenate([np.where(y == 0, 0.5, 1.0), np.full(3, 0.5)])
    tied = Comparisons(data.items, data.pairs, y)
    same(learn(estimator, tied), learn(estimator, Comparisons(data.items, pairs, signs, weights=weights)))


@every_estimator
@laws
@given(seed=SEEDS, shift=st.floats(-100, 100))
def test_translating_items_translates_the_ideal_point(estimator: type, seed: int, shift: float) -> None:
    """With the shrinkage of u measured from the items' centre: M stays and u moves along."""
    data = person(seed).comparisons
    moved = Comparisons(data.items + shift, data.pairs, data.y)
    one, two = learn(estimator, data, standardize=True), learn(estimator, moved, standardize=True)
    assert one.metric_ == pytest.approx(two.metric_, abs=2e-4)
    assert one.ideal_point_ + shift == pytest.approx(two.ideal_point_, abs=2e-3)


@pytest.mark.slow
@laws
@given(seed=SEEDS, shift=st.floats(-100, 100))
def test_alternating_stops_at_the_same_step_wherever_the_origin_is(seed: int, shift: float) -> None:
    """The rule that needs no truth measures u from the items' centre."""
    data = make_preferences(40, 3, 60, random_state=seed).comparisons
    moved = Comparisons(data.items + shift, data.pairs, data.y)
    fits = []
    for part in (data, moved):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fits.append(Alternating(standardize=True, max_alternations=20).fit(part))
    assert abs(fits[0].n_iter_ - fits[1].n_iter_) <= 1


@laws
@given(seed=SEEDS, factor=st.sampled_from([1e-9, 1e-3, 1e3, 1e8]))
def test_scaling_every_term_of_the_objective_changes_nothing(seed: int, factor: float) -> None:
    """Weights, gamma2 and gamma3 times c: the same program, so the same metric and ideal point."""
    data = person(seed).comparisons
    heavy = Comparisons(data.items, data.pairs, data.y, weights=np.full(len(data), factor))
    one = SingleStep(gamma2=0.1, gamma3=0.1, alpha=1e-9, tol=1e-11, max_iter=200).fit(data)
    two = SingleStep(gamma2=0.1 * factor, gamma3=0.1 * factor, alpha=1e-9 * factor, tol=1e-11, max_iter=200)
    two.fit(heavy)
    assert two.objective_ == pytest.approx(factor * one.objective_, rel=1e-7)
    assert two.metric_ == pytest.approx(one.metric_, abs=2e-4)


@laws
@given(seed=SEEDS, shift=st.floats(-100, 100))
def test_translation_leaves_the_metric_and_moves_u_as_alpha_vanishes(seed: int, shift: float) -> None:
    """The paper's alpha shrinks u towards the origin of the features; without it u moves along."""
    data = person(seed).comparisons
    moved = Comparisons(data.items + shift, data.pairs, data.y)
    one, two = learn(SingleStep, data, alpha=1e-12), learn(SingleStep, moved, alpha=1e-12)
    assert one.metric_ == pytest.approx(two.metric_, abs=2e-4)
    assert one.distances_ == pytest.approx(two.distances_, abs=2e-3)
    seen = np.linalg.eigvalsh(one.metric_)
    if seen[0] > 1e-2 * seen[-1]:
        assert one.ideal_point_ + shift == pytest.approx(two.ideal_point_, abs=0.1)


def truth_answers(truth: Preferences) -> Answers:
    """The answers of a person, collected."""
    data = truth.comparisons
    return Answers.collect(data.items, *data.oriented())


@laws
@given(seed=SEEDS, factor=st.floats(0.01, 100))
def test_metric_and_distances_scale_together(seed: int, factor: float) -> None:
    """(c M, c d), with alpha c^2, give the ideal point of (M, d)."""
    truth = person(seed)
    answers, rng = truth_answers(truth), np.random.default_rng(seed)
    d = truth.distances[answers.touched] + rng.normal(0, 0.1, len(answers.touched))
    plain = ideal_point(answers, truth.metric, d, 0.5)
    scaled = ideal_point(answers, factor * truth.metric, factor * d, 0.5 * factor**2)
    assert scaled == pytest.approx(plain, abs=1e-8)


@laws
@given(seed=SEEDS)
def test_proposition_1_u_is_recovered_when_the_metric_is_positive_definite(seed: int) -> None:
    """From the true metric and distances, u comes back exactly as alpha vanishes."""
    truth = person(seed)
    answers = truth_answers(truth)
    u = ideal_point(answers, truth.metric, truth.distances[answers.touched], 1e-14)
    assert u == pytest.approx(truth.ideal_point, abs=1e-6)


@laws
@given(seed=SEEDS)
def test_proposition_1_the_kernel_part_of_u_is_not_recovered(seed: int) -> None:
    """With a rank-deficient metric, u comes back up to the kernel, whatever u is there."""
    truth = person(seed)
    answers, rng = truth_answers(truth), np.random.default_rng(seed)
    kernel = rng.standard_normal(len(truth.ideal_point))
    kernel /= np.linalg.norm(kernel)
    across = np.eye(len(kernel)) - np.outer(kernel, kernel)
    metric = across @ truth.metric @ across
    away = truth.items[answers.touched] - truth.ideal_point
    u = ideal_point(answers, metric, np.einsum("ij,jk,ik->i", away, metric, away), 1e-12)
    assert across @ u == pytest.approx(across @ truth.ideal_point, abs=1e-4)
    assert kernel @ u == pytest.approx(0.0, abs=1e-4)


def columns(items: FloatArray, kind: str) -> tuple[FloatArray, FloatArray]:
    """Items with a column that says nothing new, and the direction nobody can see then."""
    if kind == "constant":
        return np.column_stack([items, np.full(len(items), 7.0)]), np.array([0.0, 0.0, 1.0])
    return np.column_stack([items, items[:, 0]]), np.array([1.0, 0.0, -1.0]) / np.sqrt(2)


@pytest.mark.parametrize("kind", ["constant", "duplicated"])
@pytest.mark.parametrize("standardize", [False, True])
def test_directions_that_the_metric_cannot_see_are_reported(kind: str, standardize: bool) -> None:
    """A constant or duplicated column leaves one direction of u unidentified, and only that."""
    truth = make_preferences(40, 2, 150, random_state=1)
    items, unseen = columns(truth.items, kind)
    est = SingleStep(items, standardize=standardize).fit(truth.pairs, truth.y)
    assert est.unidentified_.shape == (3, 1)
    assert abs(est.unidentified_[:, 0] @ unseen) == pytest.approx(1.0, abs=1e-6)


def test_everything_is_unidentified_when_answers_are_fewer_than_features() -> None:
    """With P <= rank R the program has no residual: M is zero, and nothing of u is known."""
    truth = make_preferences(30, 6, 4, random_state=0)
    est = SingleStep(truth.items).fit(truth.pairs, truth.y)
    assert np.abs(est.metric_).max() == 0.0
    assert est.unidentified_.shape == (6, 6)


def test_nothing_is_unidentified_when_answers_abound() -> None:
    """A positive definite metric is recovered, and so is u."""
    truth = make_preferences(100, 2, 500, random_state=0)
    est = SingleStep(truth.items).fit(truth.pairs, truth.y)
    assert est.unidentified_.shape == (2, 0)
    assert est.ideal_point_ == pytest.approx(truth.ideal_point, abs=0.1)
