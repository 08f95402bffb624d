"""IdealPoint: what it recovers, the laws it keeps, and how sure it is."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from cases import some_slow
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from coombs import Comparisons, ConvexIdealPoint, IdealPoint, InputError, Model, SingleStep
from coombs.data.tables import FloatArray
from coombs.estimators import ideal_point
from coombs.evaluation import kendall_tau_distance, ur_error, wer_error
from coombs.inference import infer
from coombs.inference.infer import DRAWS, Effort, Inference
from coombs.inference.mixture import Mixture
from coombs.inference.smooth import NEVER, Smooth
from coombs.programs.program import Status
from coombs.simulate import Preferences, draw_pairs, make_preferences, squared_distances

pd = pytest.importorskip("pandas")

METRICS = ("none", "identity", "diagonal", "full", "signed")
every_metric = pytest.mark.parametrize("metric", METRICS)
laws = settings(max_examples=10, deadline=None)
SEEDS = st.integers(0, 10**6)


def answers_to(scores: FloatArray, pairs: Any, rng: np.random.Generator) -> Any:
    """y of a person who sees these scores, less being better, through logistic noise."""
    first = rng.random(len(pairs)) < expit(scores[pairs[:, 1]] - scores[pairs[:, 0]])
    return np.where(first, 1, -1)


def ranks_of(distances: FloatArray) -> Any:
    """1 for the least distance."""
    return np.argsort(np.argsort(distances)) + 1


def spreads(est: Any) -> tuple[FloatArray, FloatArray]:
    """Posterior deviations of the ideal point and of every distance."""
    posterior = est.posterior_
    return est.described()[1].ideal_points.std(axis=0), posterior.distances(est.item_table_.matrix).std(
        axis=0
    )


def standardised(est: Any) -> FloatArray:
    """Scores of the items with mean 0 and deviation 1."""
    distance = est.distance()
    result: FloatArray = (distance - distance.mean()) / distance.std()
    return result


def assert_like(one: Any, two: Any, share: float = 0.3) -> None:
    """Two runs of the sampler on one posterior: the same but for a share of its deviations.

    The sampler goes on until standardised scores are known to 0.01, five in a hundred of them a little less.
    """
    assert np.abs(standardised(one) - standardised(two)).max() < 0.07
    wide, far = spreads(one)
    assert (np.abs(one.ideal_point_ - two.ideal_point_) < share * wide).all()
    assert (np.abs(one.distance() - two.distance()) < share * far + 1e-9).all()


@pytest.fixture(scope="module")
def truth() -> Preferences:
    """A person with 80 noisy answers about 60 items."""
    return make_preferences(60, 2, 80, noise="logistic", random_state=0)


@pytest.fixture(scope="module")
def fitted(truth: Preferences) -> IdealPoint:
    """What is learned from them."""
    return IdealPoint(truth.items, metric="full").fit(truth.pairs, truth.y)


# What it recovers


@pytest.mark.slow
def test_the_papers_protocol_is_recovered() -> None:
    """Two features, 200 answers: u, M and the ranking, each time."""
    for seed in range(4):
        truth = make_preferences(100, 2, 200, random_state=seed)
        est = IdealPoint(truth.items).fit(truth.pairs, truth.y)
        assert est.status_ == "converged"
        assert ur_error(est.ideal_point_, truth.ideal_point, truth.metric) < 0.05
        assert wer_error(est.metric_, truth.metric) < 0.01
        assert kendall_tau_distance(est.distance(), truth.distances) < 0.03
        assert est.score(truth.pairs, truth.y) > 0.97


def errors(truth: Preferences, est: Any) -> list[float]:
    """UR error and Kendall distance."""
    est.fit(truth.pairs, truth.y)
    return [
        ur_error(est.ideal_point_, truth.ideal_point, truth.metric),
        kendall_tau_distance(est.distance(), truth.distances),
    ]


@pytest.mark.slow
@pytest.mark.long
def test_few_answers_are_used_better_than_by_single_step() -> None:
    """Five features, 50 answers: smaller UR error and Kendall distance in the median."""
    draws = [make_preferences(100, 5, 50, random_state=seed) for seed in range(8)]
    ours = np.median([errors(draw, IdealPoint(draw.items)) for draw in draws], axis=0)
    theirs = np.median([errors(draw, SingleStep(draw.items)) for draw in draws], axis=0)
    assert (ours < theirs).all()


@pytest.mark.slow
@pytest.mark.long
def test_answers_given_at_random_are_found_out() -> None:
    """A tenth flipped is a lapse rate of 0.2, and does not spoil the ideal point."""
    ours, theirs = [], []
    for seed in range(4):
        truth = make_preferences(100, 2, 300, noise=0.1, random_state=seed)
        est = IdealPoint(truth.items)
        ours.append(errors(truth, est)[0])
        theirs.append(errors(truth, SingleStep(truth.items))[0])
        assert 0.05 < est.lapse_ < 0.4
    assert (np.array(ours) < theirs).all()


def test_a_lapse_rate_that_is_given_stays() -> None:
    """lapse_ is the parameter, in every draw."""
    truth = make_preferences(40, 2, 60, noise=0.1, random_state=0)
    est = IdealPoint(truth.items, lapse=0.2).fit(truth.pairs, truth.y)
    assert est.lapse_ == pytest.approx(0.2)
    # An average counts with a coin, too.
    assert est.posterior_ is not None and est.posterior_.lapses == pytest.approx(0.2, abs=1e-3)
    assert est.predict_proba(truth.pairs).min() >= 0.1 - 1e-9
    assert IdealPoint(truth.items, lapse=0).fit(truth.pairs, truth.y).lapse_ < 1e-6


# Laws


def person(seed: int) -> Preferences:
    """A small noisy person; sizes vary with the seed."""
    return make_preferences(12, 2 + seed % 2, 20 + seed % 17, noise=0.1, random_state=seed)


def convex(data: Comparisons, metric: str) -> Any:
    """The lifted convex program, tight enough for two fits to be compared."""
    return ConvexIdealPoint(metric=metric, regularization=0.01, tol=1e-11).fit(data)


def assert_same(one: Any, two: Any) -> None:
    """The same optimum."""
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-7)
    assert one.metric_ == pytest.approx(two.metric_, rel=2e-3, abs=2e-3)
    assert one.predict_proba(one._data) == pytest.approx(two.predict_proba(one._data), abs=2e-3)


# Not "identity", which may be of size zero: see below.
CONVEX = pytest.mark.parametrize("metric", ["none", "full", "signed"])


@CONVEX
@laws
@given(seed=SEEDS)
def test_order_of_items_and_answers_does_not_matter(metric: str, seed: int) -> None:
    """Permutations give the same fit, and permute the distances."""
    data, rng = person(seed).comparisons, np.random.default_rng(seed)
    order, rows = rng.permutation(data.n_items), rng.permutation(len(data))
    moved = Comparisons(data.items[order], np.argsort(order)[data.pairs][rows], y=data.y[rows])
    one, two = convex(data, metric), convex(moved, metric)
    assert_same(one, two)
    assert one.distances_[order] == pytest.approx(two.distances_, rel=5e-3, abs=5e-3)


@CONVEX
@laws
@given(seed=SEEDS)
def test_swapping_a_pair_with_its_sign_does_not_matter(metric: str, seed: int) -> None:
    """(i, j, y) and (j, i, -y) are the same answer."""
    data = person(seed).comparisons
    swap = np.random.default_rng(seed).random(len(data)) < 0.5
    pairs = np.where(swap[:, None], data.pairs[:, ::-1], data.pairs)
    swapped = Comparisons(data.items, pairs, np.where(swap, -data.y, data.y))
    assert_same(convex(data, metric), convex(swapped, metric))


@CONVEX
@laws
@given(seed=SEEDS)
def test_a_repeat_is_a_weight_of_two_and_a_tie_half_each_way(metric: str, seed: int) -> None:
    """Rows given twice, and rows with y = 0."""
    data = person(seed).comparisons
    y = data.y.copy()
    y[:3] = 0
    rows = np.concatenate([np.arange(len(data)), [4, 5]])
    written = Comparisons(data.items, data.pairs[rows], y[rows])
    weights = np.where(y == 0, 0.5, 1.0)
    weights[[4, 5]] = 2.0
    spelled = Comparisons(
        data.items,
        np.concatenate([data.pairs, data.pairs[:3, ::-1]]),
        np.concatenate([np.where(y == 0, 1, y), np.ones(3, dtype=int)]),
        weights=np.concatenate([weights, np.full(3, 0.5)]),
    )
    assert_same(convex(written, metric), convex(spelled, metric))


@CONVEX
@laws
@given(seed=SEEDS, shift=st.floats(-100, 100), power=st.integers(-6, 6))
def test_units_and_origin_of_a_feature_do_not_matter(
    metric: str, seed: int, shift: float, power: int
) -> None:
    """M, u and the slope change as the features do; no distance does."""
    data = person(seed).comparisons
    sizes, zero = np.ones(data.n_features), np.zeros(data.n_features)
    sizes[0], zero[-1] = 10.0**power, shift
    other = convex(Comparisons(data.items * sizes + zero, data.pairs, data.y), metric)
    one = convex(data, metric)
    assert other.metric_ * np.outer(sizes, sizes) == pytest.approx(one.metric_, rel=2e-3, abs=2e-3)
    assert other.distance() == pytest.approx(one.distance(), rel=5e-3, abs=5e-3)
    if metric in ("none", "signed"):
        assert other.slope_ * sizes == pytest.approx(one.slope_, rel=2e-3, abs=2e-3)
    else:
        assert (other.ideal_point_ - zero) / sizes == pytest.approx(one.ideal_point_, rel=1e-2, abs=1e-2)


def test_a_euclidean_metric_keeps_the_laws_too() -> None:
    """Items and answers in another order, pairs swapped, other units and another zero."""
    data = make_preferences(12, 2, 30, identity=True, random_state=0).comparisons
    order, sizes, zero = (
        np.random.default_rng(0).permutation(12),
        np.array([1e3, 1e-2]),
        np.array([5.0, -1.0]),
    )
    items = data.items[order] * sizes + zero
    moved = Comparisons(items, np.argsort(order)[data.pairs][::-1, ::-1], -data.y[::-1])
    one, two = convex(data, "identity"), convex(moved, "identity")
    assert two.metric_ * np.outer(sizes, sizes) == pytest.approx(one.metric_, rel=1e-3, abs=1e-3)
    assert (two.ideal_point_ - zero) / sizes == pytest.approx(one.ideal_point_, rel=1e-3, abs=1e-3)
    assert two.distance() == pytest.approx(one.distance()[order], rel=1e-3, abs=1e-3)


def test_a_euclidean_metric_of_size_zero_is_a_linear_preference() -> None:
    """Where the extremes are liked best, the optimum over m >= 0 is m = 0: that of metric="none"."""
    rng = np.random.default_rng(0)
    items, pairs = rng.uniform(-2, 2, (30, 2)), draw_pairs(30, 100, rng)
    scores = items @ [1.0, 2.0] - 0.3 * (items**2).sum(axis=1)
    y = np.where(scores[pairs[:, 1]] > scores[pairs[:, 0]], 1, -1)
    linear, euclidean = (
        ConvexIdealPoint(items, metric=metric, loss="hinge", regularization=0.1).fit(pairs, y)
        for metric in ("none", "identity")
    )
    assert euclidean.objective_ == pytest.approx(linear.objective_, rel=1e-6)
    margin = linear.decision_function(pairs)
    assert euclidean.decision_function(pairs) == pytest.approx(margin, abs=1e-3 * np.abs(margin).max())


@pytest.mark.slow
@pytest.mark.long
def test_the_order_of_items_and_answers_changes_nothing_of_a_sampled_fit() -> None:
    """Up to rounding; where that ever leads to another random path, it is another run of the sampler."""
    apart = []
    for seed in range(4):
        truth, rng = (
            make_preferences(60, 3, 80, noise="logistic", random_state=seed),
            np.random.default_rng(seed),
        )
        order, rows, swap = rng.permutation(60), rng.permutation(80), rng.random(80) < 0.5
        pairs, back = np.where(swap[:, None], truth.pairs[:, ::-1], truth.pairs), np.argsort(order)
        one = IdealPoint(truth.items, item_effects=False).fit(truth.pairs, truth.y)
        two = IdealPoint(truth.items[order], item_effects=False)
        two.fit(back[pairs][rows], np.where(swap, -truth.y, truth.y)[rows])
        assert np.abs(standardised(one) - standardised(two)[back]).max() < 0.07
        apart.append(np.abs(one.metric_ - two.metric_).max() / np.abs(one.metric_).max())
        apart[-1] += np.abs(one.rank_interval() - two.rank_interval()[back]).max()
    assert np.median(apart) < 1e-6


def test_units_and_origin_change_nothing_of_a_sampled_fit(truth: Preferences, fitted: IdealPoint) -> None:
    """Within the sampler's own error, and the metric's shape."""
    sizes, zero = np.array([1e-6, 1e3]), np.array([7.0, -1e5])
    units = IdealPoint(truth.items * sizes + zero).fit(truth.pairs, truth.y)
    wide, far = spreads(fitted)
    assert (np.abs((units.ideal_point_ - zero) / sizes - fitted.ideal_point_) < 0.3 * wide).all()
    assert (np.abs(units.distance() - fitted.distance()) < 0.3 * far).all()
    shape = units.metric_ * np.outer(sizes, sizes)
    assert shape / np.trace(shape) == pytest.approx(fitted.metric_ / np.trace(fitted.metric_), abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "p"), [(2, 80), (5, 100)])
@pytest.mark.long
def test_two_seeds_give_the_same_ranking_scores(d: int, p: int) -> None:
    """Standardised scores within 0.07 of each other, and 0.03 in the mean square, of a deviation."""
    for seed in range(3):
        truth = make_preferences(60, d, p, noise="logistic", random_state=seed)
        one, two = (
            standardised(
                IdealPoint(truth.items, random_state=[k, seed], item_effects=False).fit(truth.pairs, truth.y)
            )
            for k in (1, 2)
        )
        assert np.abs(one - two).max() < 0.07
        assert np.sqrt(np.mean((one - two) ** 2)) < 0.03


@pytest.mark.slow
def test_the_order_of_answers_changes_nothing_at_all(truth: Preferences, fitted: IdealPoint) -> None:
    """They are collected before anything random happens."""
    order = np.random.default_rng(0).permutation(80)
    again = IdealPoint(truth.items, metric="full").fit(truth.pairs[order], truth.y[order])
    assert (again.metric_ == fitted.metric_).all()
    twice = IdealPoint(truth.items, metric="full").fit(np.tile(truth.pairs, (2, 1)), np.tile(truth.y, 2))
    heavy = IdealPoint(truth.items, metric="full").fit(truth.pairs, truth.y, sample_weight=np.full(80, 2.0))
    assert (twice.metric_ == heavy.metric_).all()


@pytest.mark.parametrize("metric", some_slow(METRICS, fast=["none", "full"]))
def test_a_constant_feature_changes_nothing(metric: str, truth: Preferences) -> None:
    """A zero row and column of the metric, and the constant as the ideal."""
    plain = IdealPoint(truth.items, metric=metric).fit(truth.pairs, truth.y)
    more = np.column_stack([truth.items[:, 0], np.full(60, 7.0), truth.items[:, 1]])
    est = IdealPoint(more, metric=metric).fit(truth.pairs, truth.y)
    assert est.metric_[np.ix_([0, 2], [0, 2])] == pytest.approx(plain.metric_)
    assert (est.metric_[1] == 0).all() and (est.metric_[:, 1] == 0).all()
    assert est.distance() == pytest.approx(plain.distance())
    assert est.predict_proba(truth.pairs) == pytest.approx(plain.predict_proba(truth.pairs))
    if metric == "none":
        assert est.slope_ is not None and est.slope_[1] == 0
    else:
        assert est.ideal_point_ == pytest.approx(np.insert(plain.ideal_point_, 1, 7.0))
        assert est.ideal_point_interval()[1] == pytest.approx([7.0, 7.0])


# Hard cases


SMALL = make_preferences(20, 2, 30, random_state=0)
BOTH_WAYS = np.concatenate([SMALL.pairs, SMALL.pairs[:, ::-1]])
HARD: dict[str, tuple[Any, Any, Any]] = {
    "only ties": (SMALL.items, SMALL.pairs, np.zeros(30)),
    "every answer contradicted": (SMALL.items, BOTH_WAYS, None),
    "one answer": (SMALL.items, SMALL.pairs[:1], None),
    "two items": (SMALL.items[:2], [[0, 1]], None),
    "two items with one feature": (SMALL.items[:2, :1], [[0, 1]], None),
    "one feature": (SMALL.items[:, :1], SMALL.pairs, SMALL.y),
    "a duplicated feature": (SMALL.items[:, [0, 1, 0]], SMALL.pairs, SMALL.y),
    "yes or no features": ((SMALL.items > 0) + 0.0, SMALL.pairs, SMALL.y),
    "items alike in pairs": (np.repeat(SMALL.items[:10], 2, axis=0), SMALL.pairs, SMALL.y),
    "a graph in pieces": (SMALL.items, [[0, 1], [2, 3], [4, 5], [6, 7], [6, 8]], None),
    "units of every size": (SMALL.items * [1e-9, 1e9] + [1e-6, 1e12], SMALL.pairs, SMALL.y),
    "an item far out": (np.where(np.arange(20)[:, None] == 0, 1e6, SMALL.items), SMALL.pairs, SMALL.y),
    "more features than answers": (np.random.default_rng(0).normal(size=(20, 8)), SMALL.pairs[:4], None),
    "no feature varies": (np.ones((20, 2)), SMALL.pairs, SMALL.y),
    "only like items compared": ([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]], [[0, 1]], None),
}


def assert_finite(est: Any) -> None:
    """Every number that it tells."""
    pairs = est._data.pairs
    told = [est.metric_, est.distances_, est.distance(), est.predict_proba(pairs), est.lapse_]
    told += [est.distance_interval(), est.rank_interval(), est.top_probability(1)]
    if est.kind_ not in ("none", "items"):
        told += [est.ideal_point_, est.ideal_point_interval()]
    assert all(np.isfinite(values).all() for values in told)


every_case = pytest.mark.parametrize("name", HARD)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer draws, where any will do."""
    for module, name in ((ideal_point, "WHOLE"), (ideal_point, "SHARED"), (infer, "WHOLE")):
        monkeypatch.setattr(module, name, Effort(chains=32, warm_up=2, least=8, most=8))
    monkeypatch.setattr(infer, "LARGEST_RHAT", np.inf)


@every_case
@pytest.mark.parametrize("metric", some_slow(["none", "full", "signed", "auto"], fast=["full"]))
@pytest.mark.usefixtures("quick")
def test_hard_case_gives_finite_numbers(name: str, metric: str) -> None:
    """Without a warning, with intervals; "auto" tries the other metrics too."""
    items, pairs, y = HARD[name]
    assert_finite(IdealPoint(items, metric=metric).fit(pairs, y))


@pytest.mark.parametrize(
    "name", some_slow(HARD, fast=["only ties", "two items", "one feature", "more features than answers"])
)
@pytest.mark.usefixtures("quick")
def test_hard_case_gives_finite_numbers_with_item_effects(name: str) -> None:
    """The same where every item has an effect of its own."""
    items, pairs, y = HARD[name]
    assert_finite(IdealPoint(items, item_effects=True).fit(pairs, y))


@pytest.mark.slow
@every_metric
@pytest.mark.parametrize("d", [1, 3])
def test_more_answers_than_are_sampled_give_finite_numbers(d: int, metric: str) -> None:
    """About the mode, with item effects and without."""
    truth = make_preferences(100, d, 3200, noise="logistic", random_state=0)
    for effects in (False, True):
        est = IdealPoint(truth.items, metric=metric, item_effects=effects).fit(truth.pairs, truth.y)
        assert est.posterior_ is not None and not est.posterior_.sampled
        assert_finite(est)


@pytest.mark.slow
def test_answers_that_all_contradict_each_other_leave_it_even() -> None:
    """Probabilities near one half, whatever else."""
    est = IdealPoint(SMALL.items).fit(BOTH_WAYS)
    assert est.predict_proba(BOTH_WAYS) == pytest.approx(0.5, abs=0.15)
    assert est.score(BOTH_WAYS) == 0.5
    ties = IdealPoint(SMALL.items).fit(SMALL.pairs, np.zeros(30))
    assert ties.predict_proba(SMALL.pairs) == pytest.approx(0.5, abs=0.25)


def test_an_item_never_compared_has_its_place_by_its_features() -> None:
    """Its distance is the model's, not zero; items that were compared may have effects beside."""
    truth = make_preferences(100, 2, 40, random_state=3)
    est = IdealPoint(truth.items, item_effects=False).fit(truth.pairs, truth.y)
    untouched = np.setdiff1d(np.arange(100), truth.pairs.ravel())
    assert len(untouched) > 10
    assert est.distances_ == pytest.approx(est.model_.distance(truth.items))
    assert kendall_tau_distance(est.distance()[untouched], truth.distances[untouched]) < 0.15


def test_counted_votes_are_as_sure_as_that_many_answers() -> None:
    """A hundred pairs with 300 votes each: the truth within four deviations, and the chains agree."""
    truth = make_preferences(60, 4, 100, random_state=0)
    margin = truth.distances[truth.pairs[:, 1]] - truth.distances[truth.pairs[:, 0]]
    first = np.random.default_rng(0).binomial(300, expit(margin))
    pairs = np.concatenate([truth.pairs, truth.pairs[:, ::-1]])
    est = IdealPoint(truth.items).fit(pairs, sample_weight=np.concatenate([first, 300 - first]))
    assert est.status_ == "converged"
    wide, _ = spreads(est)
    assert (np.abs(est.ideal_point_ - truth.ideal_point) < 4 * wide).all()


@pytest.mark.slow
@pytest.mark.long
def test_very_many_answers_with_a_few_flipped_converge() -> None:
    """More than 100,000, one in fifty turned over: the truth within four deviations."""
    truth = make_preferences(600, 2, 105_000, noise=0.02, random_state=0)
    est = IdealPoint(truth.items).fit(truth.pairs, truth.y)
    assert est.lapse_ == pytest.approx(0.04, abs=0.005)
    wide, _ = spreads(est)
    assert (np.abs(est.ideal_point_ - truth.ideal_point) < 4 * wide).all()
    assert est.status_ == "converged"


# Kinds of preference


def weights_for(person: str, seed: int) -> dict[str, float]:
    """The weights that kinds of preference get for somebody with 300 answers."""
    rng = np.random.default_rng(seed)
    items, u = rng.uniform(-2, 2, (60, 2)), np.array([0.3, -0.4])
    scores = {
        "linear": items @ [2.0, -1.5],
        "extremes": -squared_distances(items, u, np.eye(2)),
        "ellipse": squared_distances(items, u, 2 * np.array([[1.0, 0.6], [0.6, 1.0]])),
        "axes": squared_distances(items, u, np.diag([3.0, 0.4])),
        "circle": squared_distances(items, u, 1.5 * np.eye(2)),
    }[person]
    pairs = draw_pairs(60, 300, rng)
    est = IdealPoint(items, metric="auto", item_effects=False).fit(pairs, answers_to(scores, pairs, rng))
    return est.kind_weights_


@pytest.mark.slow
@pytest.mark.parametrize(
    ("person", "right"),
    [
        ("linear", "smooth"),
        ("extremes", "smooth"),
        ("ellipse", "full"),
        ("axes", "full"),
        ("circle", "full"),
    ],
)
def test_auto_gives_weight_to_the_kind_that_fits(person: str, right: str) -> None:
    """An ideal point where there is one; else anything smooth."""
    assert np.mean([weights_for(person, seed).get(right, 0.0) for seed in range(2)]) > 0.8


@pytest.mark.slow
def test_auto_is_an_average_by_the_evidence() -> None:
    """Weights add up to 1; metric and ideal point describe the kind that has them, slope and bumps all."""
    rng = np.random.default_rng(0)
    truth = make_preferences(40, 3, 20, random_state=5)
    pairs, y = truth.pairs, np.where(rng.random(20) < 0.2, -truth.y, truth.y)
    est = IdealPoint(truth.items, item_effects=False).fit(pairs, y)
    weights = est.kind_weights_
    assert tuple(weights) == ("full", "smooth") and sum(weights.values()) == pytest.approx(1.0)
    assert all(0.01 <= weight < 1 for weight in weights.values())
    assert est.kind_ == "full" and est.status_ == "converged"
    assert est.slope_ is not None and est.model_.bumps is not None
    assert np.linalg.eigvalsh(est.metric_).min() >= -1e-9
    assert np.isfinite(est.ideal_point_).all() and est.item_effects_ is None
    posterior = est.posterior_
    assert posterior is not None and len(posterior) == DRAWS
    share = np.isnan(posterior.ideal_points).any(axis=1).mean()
    assert share == pytest.approx(weights["smooth"], abs=0.001)
    model, described = est.described()
    assert model.bumps is None and described is not None and not np.isnan(described.ideal_points).any()
    # A distance up to a constant: on average over the items, that of the description.
    assert est.distances_.mean() == pytest.approx(model.distance(truth.items).mean())
    again = IdealPoint(truth.items, item_effects=False).fit(pairs, y)
    assert again.kind_weights_ == weights


def test_two_seeds_give_the_same_average(truth: Preferences) -> None:
    """Weights to 0.1, scores to a tenth of a deviation."""
    one, two = (
        IdealPoint(truth.items, metric="auto", item_effects=False, random_state=seed).fit(
            truth.pairs, truth.y
        )
        for seed in (1, 2)
    )
    assert one.kind_weights_ == pytest.approx(two.kind_weights_, abs=0.1)
    assert np.abs(standardised(one) - standardised(two)).max() < 0.12


def test_one_kind_has_all_the_weight(fitted: IdealPoint) -> None:
    assert fitted.kind_weights_ == {"full": 1.0} and fitted.kind_ == "full"
    assert fitted.slope_ is None and fitted.strength_ is None
    assert fitted.status_ == "converged" and fitted.n_iter_ > 0 and np.isfinite(fitted.objective_)


def test_kinds_with_little_weight_do_not_decide_how_a_fit_ended(fitted: IdealPoint) -> None:
    """They had few draws; the one with the largest weight decides in any case."""
    mixture = fitted._mixture
    assert mixture is not None
    (part,) = mixture.parts
    bad = replace(part, status=Status.CHAINS_APART, rhat=1.5)

    def averaged(weights: list[float]) -> Mixture:
        result = Mixture((part, bad, part))
        vars(result).update(weights=np.array(weights))
        return result

    assert averaged([0.85, 0.05, 0.1]).status is Status.CONVERGED
    assert averaged([0.85, 0.05, 0.1]).rhat == part.rhat
    assert averaged([0.4, 0.4, 0.2]).status is Status.CHAINS_APART
    assert averaged([0.4, 0.4, 0.2]).rhat == 1.5
    assert averaged([0.14, 0.15, 0.13]).status is Status.CHAINS_APART


def test_a_kind_whose_predictions_are_not_known_is_no_part_of_the_average(truth: Preferences) -> None:
    """Not of its accuracy either, where there is no evidence: as for very many answers and ties."""
    mixture = IdealPoint(truth.items, random_state=0).fit(truth.pairs, truth.y)._mixture
    assert mixture is not None
    full, smooth = (next(part for part in mixture.parts if part.name == name) for name in ("full", "smooth"))
    assert isinstance(full, Inference) and isinstance(smooth, Smooth)
    known, chance = mixture.left_out[0], full.answers.held_out.chance
    full = replace(full, sampled=False, annealed_evidence=np.nan)
    averaged = Mixture((full, replace(smooth, log_evidence=NEVER, left=chance)))
    vars(averaged)["left_out"] = (known, replace(known, probabilities=chance))
    assert averaged.weights.tolist() == [1.0, 0.0]
    assert averaged.predicted.log_loss == pytest.approx(known.log_loss)
    assert averaged.predicted.accuracy == known.accuracy
    # However badly the other predicts.
    worse = replace(known, probabilities=np.full(len(chance), 1e-3))
    vars(averaged)["left_out"] = (worse, replace(known, probabilities=chance))
    del vars(averaged)["weights"]
    assert averaged.weights.tolist() == [1.0, 0.0]


def test_features_that_do_not_vary_leave_a_coin_or_item_effects() -> None:
    """With effects an item that won is better; without, nothing is known."""
    items = np.ones((6, 2))
    for lapse in ("auto", 0.1):
        coin = IdealPoint(items, item_effects=False, lapse=lapse).fit([[0, 1], [2, 3]])
        assert coin.predict_proba([[0, 1]]) == pytest.approx(0.5)
        est = IdealPoint(items, lapse=lapse).fit([[0, 1], [0, 1], [2, 3]])
        assert est.predict_proba([[0, 1]])[0, 1] > 0.5
        assert est.kind_ == "items"


def test_a_linear_preference_has_a_slope_and_no_ideal(truth: Preferences) -> None:
    """Zero metric, NaN ideal point, and scores that the slope gives."""
    rng = np.random.default_rng(0)
    utility = truth.items @ [2.0, -1.0]
    y = answers_to(-utility, truth.pairs, rng)
    est = IdealPoint(truth.items, metric="none").fit(truth.pairs, y)
    assert (est.metric_ == 0).all() and np.isnan(est.ideal_point_).all()
    assert est.slope_ is not None and est.slope_[0] < 0 < est.slope_[1]
    assert np.isnan(est.ideal_point_interval()).all()
    distances = est.distance()
    assert distances - distances[0] == pytest.approx((truth.items - truth.items[0]) @ est.slope_)
    assert kendall_tau_distance(distances, -utility) < 0.1


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [(IdealPoint, {"item_effects": False}), (ConvexIdealPoint, {"regularization": 0.1})],
)
@pytest.mark.parametrize("metric", ["none", "signed", "full"])
def test_the_model_survives_json(
    kind: type[Any], parameters: dict[str, Any], metric: str, truth: Preferences
) -> None:
    """The same distances from the text alone, and no NaN in it."""
    est = kind(truth.items, metric=metric, **parameters).fit(truth.pairs, truth.y)
    text = est.model_.to_json()
    assert json.loads(text, parse_constant=pytest.fail)
    back = Model.from_json(text)
    assert back == est.model_
    assert back.distance(truth.items) == pytest.approx(est.distance())


def test_a_signed_metric_has_a_direction_whose_middle_is_worst() -> None:
    """A negative eigenvalue, and a ranking with the extremes first."""
    rng = np.random.default_rng(0)
    items = rng.uniform(-2, 2, (60, 2))
    scores = squared_distances(items, np.zeros(2), np.diag([2.0, -2.0]))
    pairs = draw_pairs(60, 300, rng)
    est = IdealPoint(items, metric="signed").fit(pairs, answers_to(scores, pairs, rng))
    values = np.linalg.eigvalsh(est.metric_)
    assert values[0] < 0 < values[1]
    assert np.abs(est.ideal_point_).max() < 0.5
    assert kendall_tau_distance(est.distance(), scores) < 0.1


def test_kinds_tells_how_well_each_kind_predicts() -> None:
    """Bradley and Terry's first; for a person with an ideal point, a kind with one is best."""
    truth = make_preferences(30, 2, 200, noise="logistic", random_state=1)
    est = IdealPoint(truth.items).fit(truth.pairs, truth.y)
    kinds = est.kinds()
    assert [kind.metric for kind in kinds] == ["items", *METRICS, "smooth"]
    assert [kind.item_effects for kind in kinds] == [True] + 5 * [False] + [True]
    assert all(0.4 < kind.accuracy <= 1 and 0 < kind.log_loss < 1.2 for kind in kinds)
    assert min(kinds, key=lambda kind: kind.log_loss).metric in ("diagonal", "full", "signed")
    assert est.kinds() is kinds
    with pytest.warns(FutureWarning, match="kinds"):
        assert est.ladder() is kinds
    with pytest.warns(FutureWarning, match="kind_"):
        assert est.rung_ == est.kind_


# Item effects


@dataclass(frozen=True)
class Loved:
    """Items with a worth that their features only partly tell, answers, and answers left out."""

    items: Any
    pairs: Any
    y: Any
    others: Any
    y_others: Any


def love(seed: int) -> Loved:
    """Forty items of a linear utility, each with an effect of its own: 1,500 answers, 1,000 left out."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(40, 3))
    scores = features @ [1.0, -1.0, 0.5] + rng.normal(0, 2, 40)
    pairs = rng.integers(0, 40, (2600, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]][:2500]
    y = answers_to(scores, pairs, rng)
    frame = pd.DataFrame(features, index=[f"item {i}" for i in range(40)], columns=["a", "b", "c"])
    return Loved(frame, pairs[:1500], y[:1500], pairs[1500:], y[1500:])


@pytest.fixture(scope="module")
def loved() -> Loved:
    return love(0)


@pytest.fixture(scope="module")
def with_effects(loved: Loved) -> IdealPoint:
    return IdealPoint(loved.items, metric="none").fit(loved.pairs, loved.y)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [None, "logistic", 0.1])
@pytest.mark.long
def test_item_effects_stay_off_where_features_tell_all(noise: Any) -> None:
    """However the answers are noisy."""
    for seed in range(2):
        truth = make_preferences(40, 2, 400, noise=noise, random_state=seed)
        assert IdealPoint(truth.items).fit(truth.pairs, truth.y).item_effects_ is None


@pytest.mark.slow
def test_item_effects_come_on_where_they_help(loved: Loved, with_effects: IdealPoint) -> None:
    """And predict pairs left out better, in accuracy and in log loss."""
    without = IdealPoint(loved.items, metric="none", item_effects=False).fit(loved.pairs, loved.y)
    assert with_effects.item_effects_ is not None and without.item_effects_ is None
    assert (
        with_effects.score(loved.others, loved.y_others) > without.score(loved.others, loved.y_others) + 0.05
    )
    losses = [
        -np.log(
            est.predict_proba(loved.others)[np.arange(len(loved.others)), (loved.y_others > 0) + 0]
        ).mean()
        for est in (with_effects, without)
    ]
    assert losses[0] < losses[1] - 0.05


def test_few_answers_with_item_effects_are_sampled(loved: Loved) -> None:
    """Up to 600, and it helps there too."""
    few = slice(0, 400)
    ours = IdealPoint(loved.items, metric="none").fit(loved.pairs[few], loved.y[few])
    theirs = IdealPoint(loved.items, metric="none", item_effects=False).fit(loved.pairs[few], loved.y[few])
    assert ours.item_effects_ is not None
    assert ours.posterior_ is not None and ours.posterior_.sampled
    assert ours.score(loved.others, loved.y_others) > theirs.score(loved.others, loved.y_others) + 0.05


@pytest.mark.slow
def test_a_linear_taste_is_averaged_where_described_things_are_very_many() -> None:
    """With weak answers about things that come once each, more or less of a feature is what is found."""
    rng = np.random.default_rng(0)
    items = rng.standard_normal((640, 3))
    pairs = np.arange(640).reshape(-1, 2)
    y = np.where(items[::2, 0] - items[1::2, 0] + rng.logistic(size=320) > 0, 1, -1)
    est = IdealPoint(items).fit(pairs, y)
    assert "none" in [part.name for part in est._mixture.parts]
    assert est.predict_proba(pairs)[:, 1] @ y > 0


@pytest.mark.parametrize("metric", some_slow(METRICS, fast=["none", "full"]))
def test_probabilities_with_item_effects_are_as_good_as_those_of_the_estimate(
    metric: str, loved: Loved
) -> None:
    """Averaging over the draws loses next to nothing in log loss."""
    assert loss_of_averaging(metric, loved) < 0.02


def loss_of_averaging(metric: str, loved: Loved) -> float:
    """How much worse the log loss of averaged probabilities is than that of the estimate's."""
    est = IdealPoint(loved.items, metric=metric, item_effects=True).fit(loved.pairs, loved.y)
    averaged = est.predict_proba(loved.others)[:, 1]
    plain = expit(est.decision_function(loved.others))
    losses = [-np.log(np.where(loved.y_others > 0, p, 1 - p)).mean() for p in (averaged, plain)]
    return float(losses[0] - losses[1])


def test_drawn_item_effects_make_up_for_drawn_features() -> None:
    """Also where what the features tell is uncertain beside the effects."""
    assert loss_of_averaging("diagonal", love(7)) < 0.02


def test_item_effects_follow_the_items_by_name(loved: Loved, with_effects: IdealPoint) -> None:
    """To a table in another order; an item with a name that nobody knows has none."""
    est, order = with_effects, np.random.default_rng(0).permutation(40)
    assert est.item_effects_ is not None
    assert est.distance(loved.items.iloc[order]) == pytest.approx(est.distance()[order])
    assert est.distance_interval(loved.items.iloc[order]) == pytest.approx(est.distance_interval()[order])
    assert est.rank(loved.items.iloc[order]).tolist() == est.rank().tolist()
    assert est.distance() == pytest.approx(est.model_.distance(loved.items) + est.item_effects_)
    part = loved.items.iloc[:5].rename(index={"item 0": "stranger"})
    bare = est.model_.distance(part)
    assert est.distance(part) == pytest.approx(bare + np.where(np.arange(5) == 0, 0, est.item_effects_[:5]))


def test_item_effects_follow_names_and_not_features(loved: Loved, with_effects: IdealPoint) -> None:
    """The same features under other names are other items."""
    est = with_effects
    strangers = loved.items.rename(index=lambda name: f"new {name}")
    assert est.distance(strangers) == pytest.approx(est.model_.distance(strangers))


def test_item_effects_of_pairs_of_vectors_count_for_every_prediction(loved: Loved) -> None:
    """predict, score and predict_proba mean the same items, however they are given."""
    vectors = loved.items.to_numpy()[loved.pairs]
    est = IdealPoint(metric="none", item_effects=True).fit(vectors, loved.y)
    right = (est.predict(vectors) == loved.y).mean()
    assert est.score(vectors, loved.y) == pytest.approx(right)
    probability = est.predict_proba(vectors)[:, 1]
    assert ((probability > 0.5) == (loved.y > 0)).mean() == pytest.approx(right, abs=0.01)


@pytest.mark.slow
def test_item_effects_asked_for_are_there_and_refused_ones_are_not(
    loved: Loved, truth: Preferences, fitted: IdealPoint
) -> None:
    """True and False are obeyed, whatever the answers say."""
    est = IdealPoint(truth.items, item_effects=True).fit(truth.pairs, truth.y)
    assert est.item_effects_ is not None and est.item_effects_.shape == (60,)
    assert fitted.item_effects_ is None
    assert IdealPoint(loved.items, item_effects=False).fit(loved.pairs, loved.y).item_effects_ is None


def test_items_never_compared_have_no_effect_but_may_have_any(with_effects: IdealPoint, loved: Loved) -> None:
    """Zero in the estimate, wide in the draws."""
    few = (loved.pairs < 30).all(axis=1)
    est = IdealPoint(loved.items, metric="none", item_effects=True).fit(loved.pairs[few], loved.y[few])
    assert est.item_effects_ is not None and (est.item_effects_[30:] == 0).all()
    widths = np.diff(est.distance_interval())[:, 0]
    assert np.median(widths[30:]) > 1.5 * np.median(widths[:30])


# How sure it is


@dataclass(frozen=True)
class Sure:
    """Fits to many simulated people."""

    truths: list[Preferences]
    fits: list[IdealPoint]


ANSWERS = 80


@pytest.fixture(scope="module")
def people() -> Sure:
    """Thirty of them with 80 answers each, and 60 more answers to predict."""
    truths = [
        make_preferences(60, 2, ANSWERS + 60, noise="logistic", random_state=seed) for seed in range(30)
    ]
    fits = [IdealPoint(t.items).fit(t.pairs[:ANSWERS], t.y[:ANSWERS]) for t in truths]
    return Sure(truths, fits)


def inside(intervals: Any, values: Any) -> Any:
    """Which intervals hold their value."""
    return (intervals[:, 0] <= values) & (values <= intervals[:, 1])


@pytest.mark.slow
@pytest.mark.long
def test_intervals_hold_the_truth_as_often_as_they_say(people: Sure) -> None:
    """Nominal 90 % intervals of the ideal point, of distances and of ranks, over thirty people."""
    pairs = list(zip(people.fits, people.truths, strict=True))
    ideal = np.mean([inside(est.ideal_point_interval(), t.ideal_point) for est, t in pairs])
    distance = np.mean([inside(est.distance_interval(), t.distances) for est, t in pairs])
    rank = np.mean([inside(est.rank_interval(), ranks_of(t.distances)) for est, t in pairs])
    for coverage in (ideal, distance, rank):
        assert 0.78 <= coverage <= 0.99


@pytest.mark.slow
def test_probabilities_are_those_of_answers_not_seen(people: Sure) -> None:
    """In each fifth of the probabilities, that share of the answers came."""
    pairs = list(zip(people.fits, people.truths, strict=True))
    told = np.concatenate([est.predict_proba(t.pairs[ANSWERS:])[:, 1] for est, t in pairs])
    came = np.concatenate([t.y[ANSWERS:] > 0 for t in people.truths])
    for low in np.arange(0, 1, 0.2):
        part = (told >= low) & (told <= low + 0.2)
        assert told[part].mean() == pytest.approx(came[part].mean(), abs=0.1)
    loss = -np.log(np.where(came, told, 1 - told)).mean()
    assert loss < 0.35


@pytest.mark.slow
def test_intervals_hold_what_was_estimated(people: Sure) -> None:
    """Ranks and distances lie in their intervals, which nest as the level grows."""
    for est in people.fits[:8]:
        assert inside(est.rank_interval(), ranks_of(est.distance())).all()
        assert inside(est.distance_interval(), est.distance()).mean() > 0.95
        assert inside(est.ideal_point_interval(), est.ideal_point_).all()
        for intervals in (est.ideal_point_interval, est.distance_interval, est.rank_interval):
            narrow, wide = intervals(level=0.5), intervals(level=0.95)
            assert (wide[:, 0] <= narrow[:, 0]).all() and (narrow[:, 1] <= wide[:, 1]).all()
            assert (narrow[:, 0] <= narrow[:, 1]).all()


def test_an_interval_leaves_out_the_same_share_of_draws_at_either_end(fitted: IdealPoint) -> None:
    """A twentieth each at 0.9, the default."""
    posterior, ends = fitted.posterior_, fitted.ideal_point_interval()
    assert posterior is not None
    assert (posterior.ideal_points < ends[:, 0]).mean(axis=0) == pytest.approx([0.05, 0.05], abs=0.005)
    assert (posterior.ideal_points > ends[:, 1]).mean(axis=0) == pytest.approx([0.05, 0.05], abs=0.005)
    assert fitted.ideal_point_interval(0.9) == pytest.approx(ends)


def test_ranks_are_whole_numbers_from_one_to_the_number_of_items(fitted: IdealPoint) -> None:
    """In intervals of every level."""
    ranks = fitted.rank_interval(level=0.999)
    assert ranks.dtype.kind == "i" and ranks.shape == (60, 2)
    assert ranks.min() == 1 and ranks.max() == 60


def test_top_probabilities_add_up_to_k(fitted: IdealPoint) -> None:
    """And an item is the likelier among the best the nearer it is."""
    for k in (1, 5, 60):
        assert fitted.top_probability(k).sum() == pytest.approx(k)
    assert (fitted.top_probability(60) == 1).all()
    assert (fitted.top_probability(1) <= fitted.top_probability(5)).all()
    best, worst = fitted.rank()[[0, -1]]
    assert fitted.top_probability(10)[best] > 0.5 > fitted.top_probability(10)[worst]


@pytest.mark.slow
def test_intervals_shrink_with_more_answers() -> None:
    """Ten times as many: much narrower in everything."""
    truth = make_preferences(60, 2, 500, noise="logistic", random_state=1)
    widths = []
    for p in (50, 500):
        est = IdealPoint(truth.items).fit(truth.pairs[:p], truth.y[:p])
        told = (est.ideal_point_interval(), est.rank_interval())
        widths.append([np.diff(intervals).mean() for intervals in told])
    assert (np.array(widths[1]) < 0.6 * np.array(widths[0])).all()


def test_items_given_later_have_intervals(truth: Preferences, fitted: IdealPoint) -> None:
    """Of their distances, ranks and chances, among themselves."""
    later = np.vstack([fitted.ideal_point_, fitted.ideal_point_ + 3])
    assert fitted.rank_interval(later).shape == (2, 2)
    assert fitted.top_probability(1, later)[0] > 0.9
    assert fitted.distance_interval(truth.items[:7]) == pytest.approx(fitted.distance_interval()[:7])


# As an estimator


@every_metric
def test_predictions_agree_with_one_another(metric: str, truth: Preferences) -> None:
    """predict is the sign of decision_function and the likelier class."""
    est = IdealPoint(truth.items, metric=metric, item_effects=False).fit(truth.pairs, truth.y)
    pairs = draw_pairs(60, 500, np.random.default_rng(0))
    margin, proba, label = est.decision_function(pairs), est.predict_proba(pairs), est.predict(pairs)
    assert (label == np.where(margin >= 0, 1, -1)).all()
    assert (proba.max(axis=1) == np.where(label > 0, proba[:, 1], proba[:, 0])).all()
    assert proba.sum(axis=1) == pytest.approx(1.0)
    assert est.decision_function(truth.items[pairs]) == pytest.approx(margin)
    assert est.predict_proba(truth.items[pairs]) == pytest.approx(proba)


def test_the_same_seed_gives_the_same_fit(truth: Preferences, fitted: IdealPoint) -> None:
    """To the last bit; another seed another run, and a generator goes on."""
    again = IdealPoint(truth.items, metric="full").fit(truth.pairs, truth.y)
    assert (again.metric_ == fitted.metric_).all()
    assert (again.predict_proba(truth.pairs) == fitted.predict_proba(truth.pairs)).all()
    for random_state in (1, np.random.default_rng(1), np.random.RandomState(1), None):
        other = IdealPoint(truth.items, metric="full", random_state=random_state).fit(truth.pairs, truth.y)
        assert (other.metric_ != fitted.metric_).any()
        assert_like(fitted, other)


def test_clone_and_pickle(truth: Preferences, fitted: IdealPoint) -> None:
    """A clone has the parameters, a pickle all that was learned."""
    copy = clone(IdealPoint(truth.items, metric="signed", lapse=0.1))
    assert (copy.metric, copy.lapse) == ("signed", 0.1) and not hasattr(copy, "metric_")
    back = pickle.loads(pickle.dumps(fitted))
    assert (back.predict_proba(truth.pairs) == fitted.predict_proba(truth.pairs)).all()
    assert (back.rank_interval() == fitted.rank_interval()).all()
    assert len(pickle.dumps(fitted)) < 2_000_000


@pytest.mark.slow
def test_cross_validation_and_grid_search_work(truth: Preferences) -> None:
    """Over the kinds, as over any other parameter."""
    scores = cross_val_score(IdealPoint(truth.items, item_effects=False), truth.pairs, truth.y, cv=3)
    assert scores.mean() > 0.7
    grid = {"metric": ["none", "full"]}
    search = GridSearchCV(IdealPoint(truth.items, item_effects=False), grid, cv=3, scoring="neg_log_loss")
    search.fit(truth.pairs, truth.y)
    assert search.best_params_ == {"metric": "full"}


def test_comparisons_names_and_vectors_are_one_datum(truth: Preferences, fitted: IdealPoint) -> None:
    """The same fit from each; vectors come in another order, so within the uncertainty."""
    names = np.array([f"item {i}" for i in range(60)])
    frame = pd.DataFrame(truth.items, index=names, columns=["price", "size"])
    for est in (
        IdealPoint(metric="full").fit(truth.comparisons),
        IdealPoint(frame, metric="full").fit(names[truth.pairs], truth.y),
        IdealPoint(metric="full").fit(Comparisons(frame, names[truth.pairs], truth.y)),
    ):
        assert (est.metric_ == fitted.metric_).all()
    named = IdealPoint(frame, metric="full").fit(names[truth.pairs], truth.y)
    assert named.rank().tolist() == names[fitted.rank()].tolist()
    assert named.predict(names[truth.pairs]).tolist() == fitted.predict(truth.pairs).tolist()
    vectors = IdealPoint(metric="full").fit(truth.items[truth.pairs], truth.y)
    wide, far = spreads(fitted)
    # Features are standardised by the items there are, and the untouched ones are not there.
    assert (np.abs(vectors.ideal_point_ - fitted.ideal_point_) < wide).all()
    assert (np.abs(vectors.distance(truth.items) - fitted.distance()) < far).all()


# More answers


@pytest.mark.slow
def test_partial_fit_is_a_fresh_fit_to_all_answers() -> None:
    """Within the sampler's errors, two answers at a time."""
    truth = make_preferences(60, 2, 70, noise="logistic", random_state=2)
    est = IdealPoint(truth.items, item_effects=False).partial_fit(truth.pairs[:60], truth.y[:60])
    first = IdealPoint(truth.items, item_effects=False).fit(truth.pairs[:60], truth.y[:60])
    assert (est.metric_ == first.metric_).all()
    for k in range(60, 70, 2):
        est.partial_fit(truth.pairs[k : k + 2], truth.y[k : k + 2])
    whole = IdealPoint(truth.items, item_effects=False).fit(truth.pairs, truth.y)
    assert_like(whole, est)
    ratio = np.diff(est.ideal_point_interval()) / np.diff(whole.ideal_point_interval())
    assert ((ratio > 0.75) & (ratio < 1.33)).all()
    assert est.status_ == "converged"
    assert len(est.posterior_) >= 1000


@pytest.mark.slow
def test_many_new_answers_are_a_fresh_fit(truth: Preferences, fitted: IdealPoint) -> None:
    """To the last bit, as are those after a convex program or with item effects."""
    est = (
        IdealPoint(truth.items, metric="full")
        .fit(truth.pairs[:40], truth.y[:40])
        .partial_fit(truth.pairs[40:], truth.y[40:])
    )
    assert (est.metric_ == fitted.metric_).all()
    one = IdealPoint(truth.items, item_effects=True).fit(truth.pairs[:78], truth.y[:78])
    one.partial_fit(truth.pairs[78:], truth.y[78:])
    two = IdealPoint(truth.items, item_effects=True).fit(truth.pairs, truth.y)
    assert one.metric_ == pytest.approx(two.metric_)


@pytest.mark.parametrize("metric", ["none", "signed"])
def test_partial_fit_takes_names_and_every_metric(metric: str, truth: Preferences) -> None:
    """And weights, and keeps the names."""
    names = np.array([f"item {i}" for i in range(60)])
    frame = pd.DataFrame(truth.items, index=names)
    est = IdealPoint(frame, metric=metric).fit(names[truth.pairs[:75]], truth.y[:75])
    before = est.predict_proba(names[truth.pairs[75:]])
    est.partial_fit(names[truth.pairs[75:]], truth.y[75:], sample_weight=np.full(5, 3.0))
    assert est.kind_ == metric
    assert sorted(est.rank()) == sorted(names)
    after = est.predict_proba(names[truth.pairs[75:]])
    right = (truth.y[75:] > 0).astype(int)
    assert after[range(5), right].mean() > before[range(5), right].mean()


def test_new_answers_may_touch_items_that_no_answer_touched() -> None:
    """Their features were known all along."""
    truth = make_preferences(60, 2, 40, noise="logistic", random_state=0)
    inner = (truth.pairs < 50).all(axis=1)
    est = IdealPoint(truth.items, item_effects=False).fit(truth.pairs[inner], truth.y[inner])
    est.partial_fit([[55, 58]])
    assert_finite(est)


def test_answers_about_other_items_are_refused(truth: Preferences) -> None:
    """By partial_fit, in words."""
    est = IdealPoint(truth.items).fit(truth.pairs, truth.y)
    with pytest.raises(InputError, match="about other items"):
        est.partial_fit(Comparisons(truth.items + 1, [[0, 1]]))
    with pytest.raises(InputError, match="about other items"):
        est.partial_fit(truth.items[truth.pairs[:1]], [1])


# What is refused


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("metric", value) for value in ("cube", None, 3)),
        *(("item_effects", value) for value in ("yes", None, 2)),
        *(("lapse", value) for value in (-0.1, 1.0, "some", float("nan"), True, None)),
        *(("random_state", value) for value in (-1, "seed", 1.5)),
        *(("standardize", value) for value in ("yes", None, 2)),
    ],
)
def test_a_bad_parameter_is_refused_by_name(name: str, value: Any) -> None:
    """In a sentence, at fit."""
    with pytest.raises(InputError, match=rf"^{name} is .*; it must be "):
        IdealPoint(SMALL.items, **{name: value}).fit(SMALL.pairs, SMALL.y)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("metric", value) for value in ("diagonal", "smooth", "auto", None)),
        *(("loss", value) for value in ("l2", None)),
        *(("penalty", value) for value in ("lasso", None)),
        *(("regularization", value) for value in (0.0, -1.0, float("inf"), "none", None, True)),
        *(("random_state", value) for value in (-1, "seed", 1.5)),
        *(("tol", value) for value in (0.0, "small")),
        *(("max_iter", value) for value in (0, 1.5)),
    ],
)
def test_a_bad_parameter_of_the_convex_program_is_refused_by_name(name: str, value: Any) -> None:
    """In a sentence, at fit."""
    with pytest.raises(InputError, match=rf"^{name} is .*; it must be "):
        ConvexIdealPoint(SMALL.items, **{name: value}).fit(SMALL.pairs, SMALL.y)


def test_features_in_units_that_are_alike_need_no_standardising(truth: Preferences) -> None:
    """Then the prior is in their units: standardised items give the same either way."""
    items = (truth.items - truth.items.mean(axis=0)) / truth.items.std(axis=0)
    one, two = (IdealPoint(items, metric="full", standardize=value) for value in (True, False))
    one.fit(truth.pairs, truth.y)
    two.fit(truth.pairs, truth.y)
    assert two.distances_ == pytest.approx(one.distances_, rel=0.2, abs=0.1)


@pytest.mark.parametrize("level", [0, 1, -0.5, 90, float("nan"), "high", None])
def test_a_bad_level_is_refused_by_name(level: Any, fitted: IdealPoint) -> None:
    """By everything that takes one."""
    for intervals in (fitted.ideal_point_interval, fitted.distance_interval, fitted.rank_interval):
        with pytest.raises(InputError, match=r"^level is "):
            intervals(level=level)


@pytest.mark.parametrize("k", [0, -1, 61, 1.5, "two", None])
def test_a_bad_k_is_refused_by_name(k: Any, fitted: IdealPoint) -> None:
    """No item is among the best none, and there are 60."""
    with pytest.raises(InputError, match=r"^k is "):
        fitted.top_probability(k)


@pytest.mark.parametrize(
    "parameters",
    [{"loss": "hinge"}, {"regularization": 0.1}, {"penalty": "trace"}, {"loss": "squared_hinge"}],
)
def test_a_convex_program_has_no_intervals(parameters: dict[str, Any], truth: Preferences) -> None:
    """A sentence says what would have; predictions are there."""
    est = ConvexIdealPoint(truth.items, **parameters).fit(truth.pairs, truth.y)
    assert est.posterior_ is None and est.status_ == "optimal"
    assert est.strength_ is not None and est.strength_ > 0
    assert est.score(truth.pairs, truth.y) > 0.8
    assert est.predict_proba(truth.pairs).shape == (80, 2)
    assert not hasattr(est, "rank_interval")


PROGRAMS = [
    (metric, penalty, loss)
    for metric in ("none", "identity", "full", "signed")
    for penalty in ("frobenius", "trace")
    for loss in ("logistic", "hinge", "squared_hinge")
    if (penalty, loss) != ("frobenius", "logistic")
]


@pytest.mark.parametrize(
    ("metric", "penalty", "loss"),
    some_slow(
        PROGRAMS, fast=[one for one in PROGRAMS if one[0] in ("none", "full") and one[2] != "squared_hinge"]
    ),
)
def test_every_convex_program_chooses_its_strength(metric: str, penalty: str, loss: str) -> None:
    """And ends in an optimum."""
    truth = make_preferences(30, 2, 60, noise=0.1, random_state=0)
    est = ConvexIdealPoint(truth.items, metric=metric, penalty=penalty, loss=loss).fit(truth.pairs, truth.y)
    assert est.status_.startswith("optimal") and est.posterior_ is None
    assert np.isfinite(est.metric_).all()
    assert est.score(truth.pairs, truth.y) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("columns", [[0], [0, 1, 0]])
def test_a_euclidean_metric_with_a_trace_penalty_chooses_its_strength(columns: list[int]) -> None:
    """Of one feature, and of one given twice."""
    truth = make_preferences(30, 2, 60, noise=0.1, random_state=0)
    est = ConvexIdealPoint(truth.items[:, columns], metric="identity", penalty="trace")
    est.fit(truth.pairs, truth.y)
    assert est.status_.startswith("optimal")


def test_chains_that_stay_apart_are_told(truth: Preferences, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the status, and as a warning with the factor."""
    monkeypatch.setattr("coombs.inference.infer.LARGEST_RHAT", 0.5)
    with pytest.warns(ConvergenceWarning, match="did not come together .*R-hat 1"):
        est = IdealPoint(truth.items).fit(truth.pairs, truth.y)
    assert est.status_ == "chains_apart"


def test_columns_in_another_order_are_taken_by_name() -> None:
    """In ranks, distances and their intervals: the names tell the order."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 2)), columns=["price", "size"])
    est = IdealPoint(metric="diagonal").fit(
        Comparisons.from_scores(frame, 2 * frame["size"] - frame["price"])
    )
    swapped = frame[["size", "price"]]
    for method in (est.rank, est.distance, est.distance_interval, est.rank_interval):
        np.testing.assert_array_equal(method(swapped), method(frame))
    with pytest.raises(
        InputError, match="Feature 1 of the items is 'cost'; the model was learned from price"
    ):
        est.rank_interval(frame.rename(columns={"size": "cost"}))
