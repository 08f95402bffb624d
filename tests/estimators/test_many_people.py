"""SharedMetric: several people's answers in, one metric and everybody's ideal point out."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from cases import some_slow
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from coombs import Comparisons, InputError, SharedMetric
from coombs.estimators.many_people import ideal_points
from coombs.programs.constraint_sets import SETS, radii
from coombs.programs.losses import LOSSES

every_set = pytest.mark.parametrize("constraint", SETS)
SEEDS = st.integers(0, 10**6)
laws = settings(max_examples=5, deadline=None)


def crowd(seed: int = 0, n_people: int = 6, answers: int = 40, noise: float = 0.1) -> Comparisons:
    """People with one metric and ideals of their own; a share of the answers is turned round."""
    rng = np.random.default_rng(seed)
    items, ideals = rng.standard_normal((30, 3)), 0.7 * rng.standard_normal((n_people, 3))
    root = rng.standard_normal((3, 3))
    who = np.repeat(np.arange(n_people), answers)
    pairs = np.array([rng.choice(30, 2, replace=False) for _ in who])
    first, second = (
        np.einsum("ni,ij,nj->n", x, root @ root.T, x)
        for x in (items[pairs[:, i]] - ideals[who] for i in (0, 1))
    )
    y = np.where((first < second) ^ (rng.random(len(who)) < noise), 1, -1)
    return Comparisons(items, pairs, y, users=[f"person {k}" for k in who])


DATA = crowd()
RADII: dict[str, Any] = {"radius": 2.0, "own_radius": 1.5}


@every_set
def test_fit_has_a_row_for_everybody_and_predicts(constraint: str) -> None:
    """Answers that were learned from are mostly predicted, by each of the five sets."""
    est = SharedMetric(constraint=constraint, **RADII).fit(DATA)
    assert est.status_ == "optimal"
    assert est.gap_ <= 1e-8
    assert est.people_.tolist() == [f"person {k}" for k in range(6)]
    assert est.ideal_points_.shape == (6, 3)
    assert est.score(DATA) > 0.75
    assert est.predict_proba(DATA).sum(axis=1) == pytest.approx(np.ones(len(DATA)))


@pytest.mark.parametrize("loss", LOSSES)
def test_objective_is_the_mean_loss_of_the_margins(loss: str) -> None:
    """What is minimised, from its definition."""
    est = SharedMetric(constraint="frobenius", loss=loss, **RADII).fit(DATA)
    margins = DATA.y * est.decision_function(DATA)
    weights = np.full(len(margins), 1 / len(margins))
    assert est.objective_ == pytest.approx(LOSSES[loss].value(margins, weights))


def test_margins_are_differences_of_squared_distances_where_nothing_is_shrunk() -> None:
    """With alpha = 0 and a metric of full rank, v = -2 M u."""
    est = SharedMetric(constraint="frobenius", metric="identity", alpha=0.0, **RADII).fit(DATA)
    u = est.ideal_points_[2]
    far = [
        np.einsum("ni,ij,nj->n", x - u, est.metric_, x - u)
        for x in (DATA.items[DATA.pairs[:, i]] for i in (0, 1))
    ]
    assert est.decision_function(DATA.pairs, ["person 2"] * len(DATA)) == pytest.approx(
        far[1] - far[0], abs=1e-6
    )


def test_ideal_points_are_the_tikhonov_estimate() -> None:
    """Against the formula written out, and the pseudo-inverse for alpha = 0."""
    rng = np.random.default_rng(0)
    root, v = rng.standard_normal((3, 2)), rng.standard_normal((5, 3))
    metric = root @ root.T
    written = -2 * np.linalg.solve(4 * metric @ metric + 0.7 * np.eye(3), metric @ v.T).T
    assert ideal_points(metric, v, 0.7) == pytest.approx(written)
    assert ideal_points(metric, v, 0.0) == pytest.approx(-0.5 * (np.linalg.pinv(metric) @ v.T).T)


@pytest.mark.parametrize("constraint", some_slow(SETS, fast=["frobenius", "psd"]))
@laws
@given(seed=SEEDS)
def test_turning_pairs_round_changes_nothing(constraint: str, seed: int) -> None:
    """(i, j) with y is (j, i) with -y; the order of the answers does not matter."""
    data, rng = crowd(seed, 3, 15), np.random.default_rng(seed)
    flip, order = rng.random(len(data)) < 0.5, rng.permutation(len(data))
    pairs = np.where(flip[:, None], data.pairs[:, ::-1], data.pairs)
    other = Comparisons(data.items, pairs, np.where(flip, -data.y, data.y), users=data.users)[order]
    first, second = (SharedMetric(constraint=constraint, **RADII).fit(one) for one in (data, other))
    assert first.people_.tolist() == second.people_.tolist()
    assert first.objective_ == pytest.approx(second.objective_, rel=3e-8)
    assert first.metric_ == pytest.approx(second.metric_, abs=1e-3)


@pytest.mark.parametrize("standardize", [False, True])
def test_units_do_not_matter_where_features_are_standardised(standardize: bool) -> None:
    """Predictions are the same in other units with standardize=True; without, the set is another one."""
    scaled = Comparisons(
        DATA.items * [1.0, 50.0, 0.02] + [3.0, 0.0, -1.0], DATA.pairs, DATA.y, users=DATA.users
    )
    first, second = (
        SharedMetric(constraint="frobenius", standardize=standardize, **RADII).fit(one)
        for one in (DATA, scaled)
    )
    same = np.allclose(first.decision_function(DATA), second.decision_function(scaled), atol=1e-3)
    assert same == standardize


def test_identity_learns_ideal_points_alone() -> None:
    """The paper's baseline: M = I."""
    est = SharedMetric(constraint="frobenius", metric="identity", **RADII).fit(DATA)
    assert est.metric_ == pytest.approx(np.eye(3))
    assert est.score(DATA) < SharedMetric(constraint="frobenius", **RADII).fit(DATA).score(DATA)


@pytest.mark.parametrize("constraint", some_slow(SETS, fast=["frobenius", "psd"]))
def test_auto_finds_a_size_that_predicts(constraint: str) -> None:
    """Better on new answers than a set that is far too small."""
    train, test = crowd(1, 6, 40), crowd(1, 6, 80)[np.arange(480) % 80 >= 40]
    est = SharedMetric(constraint=constraint, loss="logistic").fit(train)
    assert est.score(test) > 0.6
    if constraint != "psd":
        assert 0 < est.radius_ < np.inf


def test_radii_hold_the_metric_they_are_made_for() -> None:
    """size I with ideals among the items is inside of every set."""
    items = np.random.default_rng(0).standard_normal((20, 4))
    metric, v = 0.5 * np.eye(4), -2 * 0.5 * items
    both = np.hstack([metric, v.T])
    norms = {
        "frobenius": (np.linalg.norm(metric), np.linalg.norm(v, axis=1).max()),
        "nuclear_metric": (np.trace(metric), np.linalg.norm(v, axis=1).max()),
        "nuclear_split": (np.trace(metric), np.linalg.norm(v, "nuc")),
        "nuclear_full": (np.linalg.norm(both, "nuc"), 0.0),
    }
    for name, found in norms.items():
        assert all(
            value <= most * (1 + 1e-12)
            for value, most in zip(found, radii(name, 0.5, items, 20), strict=True)
        )


def test_rankings_and_ties_are_taken_by_person() -> None:
    """A ranking is what it says of every two items, and a tie two halves."""
    items = DATA.items[:5]
    ranked = Comparisons.from_rankings(items, [[0, 1, 2], [2, 1, 0]], users=["ann", "bob"])
    pairs = Comparisons(
        items, [[0, 1], [0, 2], [1, 2], [2, 1], [2, 0], [1, 0]], users=["ann"] * 3 + ["bob"] * 3
    )
    fits = [SharedMetric(constraint="frobenius", **RADII).fit(one) for one in (ranked, pairs)]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-7)
    tied = SharedMetric(constraint="frobenius", **RADII).fit(
        Comparisons(items, [[0, 1], [1, 2]], [0, -1], users=["ann", "bob"])
    )
    assert tied.score([[0, 1]], [0], ["ann"]) == 0.5


def test_estimator_is_scikit_learns() -> None:
    """Cloned, pickled, searched; vectors and names of items do as well as positions."""
    est = SharedMetric(constraint="frobenius", **RADII)
    with pytest.raises(NotFittedError):
        est.predict(DATA)
    fitted = clone(est).set_params(loss="logistic").fit(DATA)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(DATA), fitted.predict_proba(DATA))
    folds = StratifiedKFold(2).split(DATA.pairs, DATA.users)
    search = GridSearchCV(est, {"radius": [0.01, 2.0]}, cv=list(folds)).fit(DATA)
    assert search.best_params_ == {"radius": 2.0}
    vectors = DATA.items[DATA.pairs]
    by_vectors = clone(est).fit(vectors, DATA.y, users=DATA.users)
    assert by_vectors.score(vectors, DATA.y, DATA.users) == pytest.approx(est.fit(DATA).score(DATA), abs=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"radius": 0.0}, "radius is 0.0; it must be 'auto' or a positive number"),
        ({"own_radius": -1}, "own_radius is -1"),
        ({"radius": "wide"}, "radius is 'wide'"),
        ({"constraint": "ball"}, "constraint is 'ball'; it must be one of frobenius"),
        (
            {"constraint": "nuclear_full", "metric": "identity"},
            "bounds the metric and everybody's direction together",
        ),
        ({"loss": "squares"}, "loss is 'squares'"),
        ({"alpha": -1.0}, "alpha is -1.0"),
    ],
)
def test_bad_parameters_get_a_sentence(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SharedMetric(**({"constraint": "frobenius", **RADII} | change)).fit(DATA)


def test_bad_answers_get_a_sentence() -> None:
    """Nobody named; somebody without answers; somebody unknown; no items."""
    est = SharedMetric(DATA.items, constraint="frobenius", **RADII)
    with pytest.raises(InputError, match="Nobody is named"):
        est.fit(DATA.pairs, DATA.y)
    weights = np.where(np.array(DATA.users) == "person 3", 0.0, 1.0)
    with pytest.raises(InputError, match="'person 3': no answer with a positive weight"):
        est.fit(DATA, sample_weight=weights)
    with pytest.raises(InputError, match="'zoe': no answers of theirs were learned from"):
        est.fit(DATA).predict([[0, 1]], users=["zoe"])
    with pytest.raises(InputError, match="SharedMetric has no items"):
        SharedMetric().fit([[0, 1]], users=["ann"])


def test_users_are_not_taken_for_answers_that_have_their_own() -> None:
    """A ranking knows who gave it: users beside it are refused, where the ranking would be lost."""
    ranked = Comparisons.from_rankings(DATA.items, [[0, 1, 2]], users=["ann"]) + DATA
    with pytest.raises(InputError, match="users of their own"):
        SharedMetric(constraint="frobenius", **RADII).fit(ranked, users=["ann"] * len(ranked.pairs))
