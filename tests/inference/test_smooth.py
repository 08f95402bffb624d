"""A smooth taste: its bound, posterior, evidence and predictions against independent computations; laws."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import some_slow
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import person
from scipy.optimize import approx_fprime
from scipy.special import expit

from coombs import Comparisons, IdealPoint
from coombs.data.answers import Answers
from coombs.data.scaling import Scaler
from coombs.data.tables import FloatArray, InputError
from coombs.inference import process as of_process
from coombs.inference import smooth, variational, variational_fit
from coombs.inference.kernel import Bumps, Kernel
from coombs.inference.process import Process
from coombs.inference.smooth import infer_smooth
from coombs.inference.variational import Design
from coombs.model import Model
from coombs.simulate import make_preferences

SEEDS = st.integers(0, 10**6)
laws = settings(max_examples=4, deadline=None)


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites so exact that differences of the bound mean something."""
    monkeypatch.setattr(variational_fit, "TOLERANCE", 1e-12)
    monkeypatch.setattr(variational_fit, "MOST_PASSES", 2_000)


def few_answers(seed: int = 0, n: int = 5, d: int = 2, count: int = 9) -> Answers:
    """Answers about a few items, some contradicted and of any weight."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((n, d))
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(count)])
    return Answers.collect(items, pairs[:, 0], pairs[:, 1], rng.choice([1.0, 2.0], count)).canonical()


def some_kernel(d: int = 3, m: int = 6, seed: int = 0) -> Kernel:
    rng = np.random.default_rng(seed)
    relevances = rng.uniform(0.3, 1.2, (2, d))
    return Kernel(rng.standard_normal((m, d)), 1.3, 0.7, *relevances)


def comparisons(seed: int, n: int = 10, d: int = 2, count: int = 24) -> Comparisons:
    """A noisy person's answers."""
    return make_preferences(n, d, count, noise="logistic", random_state=seed).comparisons


def learn(data: Comparisons, **parameters: Any) -> IdealPoint:
    return IdealPoint(metric="smooth", **parameters).fit(data)


def centred(values: FloatArray) -> FloatArray:
    return values - values.mean()


# ------------------------------------------------------------------------------------- the bound


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("parameters", [{}, {"lapse": 0.05}, {"lapse": 0.0}, {"effects": False}])
def test_the_bounds_slope_is_its_finite_difference(parameters: dict[str, Any]) -> None:
    process = Process(person(3, 30, 12), **parameters)
    q = len(process.centre)
    for u in (np.zeros(q), 0.5 * np.random.default_rng(0).standard_normal(q)):
        _, slope, _ = process.bound(u, None)
        numeric = approx_fprime(u, lambda at: process.bound(at, None)[0], 1e-5)
        # Integrals with fifteen nodes are not quite each other's derivatives where scores vary much.
        assert slope == pytest.approx(numeric, abs=1e-3, rel=3e-3)


def test_what_is_fixed_has_no_slope_and_stays() -> None:
    process = Process(person(2, 20, 10), lapse=0.1, effects=False)
    far = process.place(np.full(len(process.centre), 3.0))
    assert expit(far[of_process.LAPSE]) == pytest.approx(0.1)
    assert far[of_process.EFFECT] == of_process.NO_EFFECT


def test_the_learned_place_is_a_maximum() -> None:
    best = Process(person(3, 60, 20)).learn()
    middle = best.at.bound - best.u @ best.u / 2
    rng = np.random.default_rng(0)
    for _ in range(20):
        u = best.u + 0.5 * rng.standard_normal(len(best.u))
        assert best.process.variational_fit(u, None).bound - u @ u / 2 < middle + 0.01


# ------------------------------------------------------------------------------------- the kernel


def test_the_kernels_slopes_are_finite_differences() -> None:
    kernel, rng = some_kernel(), np.random.default_rng(1)
    weights, items = rng.standard_normal(6), rng.standard_normal((4, 3))
    bumps = Bumps(kernel, weights)
    for item, slope in zip(items, bumps.slopes(items), strict=True):
        numeric = approx_fprime(item, lambda at: float(bumps(at[None])[0]), 1e-6)
        assert slope == pytest.approx(numeric, abs=1e-4)


def test_a_kernel_in_the_users_units_is_that_of_standardised_features() -> None:
    """Whatever the units and origins; a constant column adds a constant, which no comparison sees."""
    rng = np.random.default_rng(0)
    centre, sizes = np.array([1e6, 3.0, -2e-3, 0.5]), np.array([2.0, 1.0, 1e-4, 30.0])
    columns = np.array([0, 2, 3])
    bumps = Bumps(some_kernel(), rng.standard_normal(6))
    standard = np.zeros((8, 4))
    standard[:, columns] = rng.standard_normal((8, 3))
    varies = np.isin(np.arange(4), columns)
    given = bumps.in_units(Scaler(centre, sizes, sizes, varies, columns))(centre + sizes * standard)
    assert centred(given) == pytest.approx(centred(bumps(standard[:, columns])), abs=1e-7)


def test_a_kernel_far_from_the_origin_keeps_its_digits() -> None:
    """Squared distances are not differences of huge numbers."""
    kernel, far = some_kernel(), 1e7
    items = np.random.default_rng(0).standard_normal((5, 3))
    moved = replace(kernel, support=kernel.support + far)
    assert moved(items + far) == pytest.approx(kernel(items), abs=1e-7)
    assert moved.slopes(items + far, np.ones(6)) == pytest.approx(kernel.slopes(items, np.ones(6)), abs=1e-7)


def test_the_kernel_is_that_of_the_process() -> None:
    """Two ways to the same covariance."""
    answers = person(3, 20, 12)
    process = Process(answers)
    place = process.place(np.random.default_rng(0).standard_normal(len(process.centre)))
    _, together, alone = process.covariances(place)
    sizes = math.exp(place[of_process.TOGETHER]), math.exp(place[of_process.ALONE])
    kernel = Kernel(answers.items, *sizes, np.exp(place[5:8]), np.exp(place[8:]))
    assert kernel(answers.items) == pytest.approx(together + alone.sum(axis=0))
    assert np.diag(kernel(answers.items)) == pytest.approx(kernel.peak)


def test_blocks_of_items_are_evaluated_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    bumps = Bumps(some_kernel(), np.random.default_rng(0).standard_normal((6, 2)))
    items = np.random.default_rng(1).standard_normal((17, 3))
    whole = bumps(items)
    monkeypatch.setattr("coombs.inference.kernel.BLOCK", 12)
    assert bumps(items) == pytest.approx(whole)


# ------------------------------------------------------------------------------------- models


def smooth_model() -> Model:
    bumps = Bumps(some_kernel(), np.arange(6.0))
    point, slope = np.full(3, np.nan), np.array([1.0, -1.0, 0.0])
    return Model(np.zeros((3, 3)), point, slope=slope, centre=np.ones(3), bumps=bumps, offset=2.5)


def test_a_smooth_model_survives_json() -> None:
    model, items = smooth_model(), np.random.default_rng(0).standard_normal((5, 3))
    again = Model.from_json(model.to_json())
    assert again == model and again.offset == 2.5
    assert again.distance(items).tolist() == model.distance(items).tolist()
    assert Bumps.from_dict(model.bumps.to_dict(), 3).to_dict() == model.bumps.to_dict()  # type: ignore[union-attr]


def test_models_with_other_offsets_or_bumps_are_others() -> None:
    model = smooth_model()
    assert model != replace(model, offset=0.0)
    assert model != replace(model, bumps=None)
    assert model != replace(model, bumps=replace(model.bumps, weights=np.ones(6)))  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weights", [1.0]),
        ("weights", [[1.0, 2.0]] * 6),
        ("weights", 3.0),
        ("weights", None),
        ("support", [[1.0, 2.0]] * 6),
        ("support", [[1.0], [1.0, 2.0]]),
        ("relevances", [1.0, 2.0]),
        ("own_relevances", "many"),
        ("together", "3"),
        ("alone", None),
        ("alone", 1e308),
    ],
)
def test_bumps_that_do_not_fit_are_refused_in_a_sentence(name: str, value: Any) -> None:
    data = json.loads(smooth_model().to_json())
    data["bumps"][name] = value
    with pytest.raises(InputError, match="bumps cannot be read"):
        Model.from_json(json.dumps(data))


@pytest.mark.parametrize("field", [{"bumps": []}, {"bumps": "x"}, {"bumps": {}}, {"offset": None}])
def test_a_smooth_part_that_is_none_is_refused(field: dict[str, Any]) -> None:
    data = json.loads(smooth_model().to_json()) | field
    with pytest.raises(InputError, match="bumps cannot be read"):
        Model.from_json(json.dumps(data))


@pytest.mark.parametrize("offset", [float("nan"), float("inf"), 1e308])
def test_an_offset_that_is_not_finite_is_refused(offset: float) -> None:
    data = json.loads(smooth_model().to_json()) | {"offset": offset}
    with pytest.raises(InputError, match=r"must be .*finite"):
        Model.from_json(json.dumps(data))


# ------------------------------------------------------------------------------------- the posterior


def log_likelihood(scores: FloatArray, answers: Answers, lapse: FloatArray | float) -> FloatArray:
    """(S,) of draws of the scores, (S, n)."""
    margins = scores[:, answers.losers] - scores[:, answers.winners]
    p = np.asarray(lapse)[..., None] / 2 + (1 - np.asarray(lapse)[..., None]) * expit(margins)
    result: FloatArray = np.log(p) @ answers.weights
    return result


def log_mean(logs: FloatArray) -> tuple[float, float]:
    """log of a mean, and its standard error."""
    values = np.exp(logs - logs.max())
    mean = values.mean()
    return math.log(mean) + float(logs.max()), float(values.std() / mean / math.sqrt(len(values)))


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("seed", some_slow(range(3), fast=[2]))
def test_the_posterior_is_that_of_weighted_draws_of_the_prior(seed: int) -> None:
    """Means within a third of a deviation, deviations within a quarter, the evidence just above the bound."""
    answers, rng = few_answers(seed), np.random.default_rng(seed)
    process = Process(answers)
    u = 0.5 * rng.standard_normal(len(process.centre))
    found, place = process.variational_fit(u, None), process.place(u)
    linear, together, alone = process.covariances(place)
    effect = math.exp(2 * place[of_process.EFFECT]) * np.eye(5)
    root = np.linalg.cholesky(linear + together + alone.sum(axis=0) + effect)
    scores = rng.standard_normal((400_000, 5)) @ root.T
    logs = log_likelihood(scores, answers, float(expit(place[of_process.LAPSE])))
    evidence, error = log_mean(logs)
    assert found.bound < evidence + 5 * error
    assert found.bound == pytest.approx(evidence, abs=0.15)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    margins = scores[:, answers.losers] - scores[:, answers.winners]
    mean = weights @ margins
    deviation = np.sqrt(weights @ (margins - mean) ** 2)
    assert (np.abs(found.expectation.margin - mean) < 0.35 * deviation).all()
    assert np.abs(np.log(np.sqrt(found.expectation.variance) / deviation)).max() < 0.25
    rows = Design(root, answers).rows
    half = np.linalg.solve(found.lower, rows.T)
    covariance = (weights[:, None] * (margins - mean)).T @ (margins - mean)
    assert half.T @ half == pytest.approx(covariance, abs=0.35 * deviation.max() ** 2)


def brute_force(
    answers: Answers, count: int, rng: np.random.Generator, each: int = 40
) -> tuple[float, float]:
    """The evidence by draws of sizes, relevances and scores from the prior; its standard error."""
    process, d, n = Process(answers), answers.items.shape[1], len(answers.items)
    u = rng.standard_normal((count, len(process.centre)))
    place = process.centre + u @ process.spread.T
    squares = (answers.items.T[:, :, None] - answers.items.T[:, None, :]) ** 2
    sizes, r, q = np.exp(2 * place[:, :5]), np.exp(2 * place[:, 5 : 5 + d]), np.exp(2 * place[:, 5 + d :])
    covariance = sizes[:, of_process.LINEAR, None, None] / d * (answers.items @ answers.items.T)
    covariance += sizes[:, of_process.TOGETHER, None, None] * np.exp(-np.tensordot(r, squares, 1) / 2)
    own = np.exp(-q[:, :, None, None] * squares / 2).sum(axis=1)
    covariance += sizes[:, of_process.ALONE, None, None] / d * own
    covariance += (sizes[:, of_process.EFFECT, None, None] + 1e-9) * np.eye(n)
    roots = np.linalg.cholesky(covariance)
    scores = roots @ rng.standard_normal((count, n, each))
    lapses = np.repeat(expit(place[:, of_process.LAPSE]), each)
    return log_mean(log_likelihood(scores.transpose(0, 2, 1).reshape(-1, n), answers, lapses))


@pytest.mark.parametrize(("seed", "n", "d", "count"), [(0, 4, 1, 6), (1, 6, 2, 9), (2, 6, 3, 12)])
def test_the_evidence_over_sizes_and_relevances_is_the_priors_mean(
    seed: int, n: int, d: int, count: int
) -> None:
    answers = few_answers(seed, n, d, count)
    truth, error = brute_force(answers, 10_000, np.random.default_rng(seed))
    assert error < 0.05
    # 16 points and a bound: a fifth too low on average, give or take another.
    assert infer_smooth(answers).log_evidence == pytest.approx(truth, abs=0.8)


def exact_left_out(answers: Answers) -> FloatArray:
    """The probability of each answer by a fit to those about other pairs."""
    pair = np.minimum(answers.winners, answers.losers) * len(answers.items)
    pair += np.maximum(answers.winners, answers.losers)
    result = np.empty(len(pair))
    for one in np.unique(pair):
        left = pair == one
        fit = infer_smooth(answers._only(~left))
        scores = fit.of_compared()
        margins = scores[answers.losers[left]] - scores[answers.winners[left]]
        result[left] = (fit.draws.lapse / 2 + (1 - fit.draws.lapse) * expit(margins)).mean(axis=1)
    return result


@pytest.mark.parametrize("sizes", [((2, 20, 10), (3, 24, 12)), ((3, 40, 20), (4, 50, 30)) * 3])
@pytest.mark.slow
@pytest.mark.long
def test_answers_left_out_are_predicted_as_by_fits_without_them(sizes: tuple[tuple[int, int, int]]) -> None:
    """Each nearly (sizes and relevances are averaged over, a fit takes the best), on average no better."""
    gains = []
    for seed, size in enumerate(sizes):
        answers = person(*size, seed).canonical()
        left, exact = infer_smooth(answers).leave_out().probabilities, exact_left_out(answers)
        assert np.abs(left - exact).mean() < 0.12
        gains.append(float((np.log(left) - np.log(exact)).mean()))
    assert abs(np.mean(gains)) < 0.08


@pytest.mark.parametrize("effects", [True, False])
def test_draws_are_the_analytic_posterior_of_the_compared_items(effects: bool) -> None:
    """Linear part, bumps and effects add up to the Gaussian of the scores."""
    fit = infer_smooth(person(3, 40, 14), effects=effects)
    scores, at = fit.of_compared(), fit.posterior
    assert at.root is not None
    half = np.linalg.solve(at.lower, at.root.T)
    covariance = half.T @ half
    assert scores.mean(axis=1) == pytest.approx(at.root @ at.mean, abs=1e-6)
    # 2,048 independent draws: a sixth of a deviation is seven standard errors.
    size = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert (np.abs(np.cov(scores) - covariance) / size).max() < 0.16


def test_draws_of_the_parts_are_their_posterior() -> None:
    """The mean of the features' part, apart from the effects, is the kernel's regression."""
    fit = infer_smooth(person(2, 30, 12))
    at = fit.posterior
    assert at.root is not None
    weights = np.linalg.solve(at.root @ at.root.T, at.root @ at.mean)
    mean = at.features @ (at.features.T @ weights)
    assert fit.of_items(fit.answers.items).mean(axis=1) == pytest.approx(mean, abs=1e-5)
    assert fit.draws.effects.mean(axis=0) == pytest.approx(at.effect_size**2 * weights, abs=1e-5)


# ------------------------------------------------------------------------------------- laws


def same(one: IdealPoint, two: IdealPoint, pairs: FloatArray, tolerance: float = 0.01) -> None:
    """The same probabilities, up to where sites and sizes were called settled."""
    there, here = (est.predict_proba(pairs)[:, 1] for est in (one, two))
    assert there == pytest.approx(here, abs=tolerance)


@laws
@given(seed=SEEDS)
def test_the_order_of_items_and_answers_does_not_matter(seed: int) -> None:
    data, rng = comparisons(seed), np.random.default_rng(seed)
    order, rows = rng.permutation(data.n_items), rng.permutation(len(data))
    moved = Comparisons(data.items[order], np.argsort(order)[data.pairs][rows], y=data.y[rows])
    one, two = learn(data), learn(moved)
    assert one.distances_[order] == pytest.approx(two.distances_, abs=0.02 * np.ptp(two.distances_))


@laws
@given(seed=SEEDS)
def test_names_of_items_do_not_matter(seed: int) -> None:
    data = comparisons(seed)
    names = np.array([f"item {i}" for i in range(data.n_items)])
    frame = pd.DataFrame(data.items, index=names, columns=["price", "size"])
    named = Comparisons(frame, names[data.pairs], y=data.y)
    assert learn(named).distances_.tolist() == learn(data).distances_.tolist()


@pytest.mark.slow
@laws
@given(seed=SEEDS, size=st.sampled_from([1e-6, 0.1, 1e5]), origin=st.sampled_from([0.0, -3.0, 1e6]))
def test_units_and_origin_of_features_do_not_matter(seed: int, size: float, origin: float) -> None:
    data = comparisons(seed)
    scale, shift = np.array([size, 1.0]), np.array([origin * size, -origin])
    moved = Comparisons(data.items * scale + shift, data.pairs, y=data.y)
    one, two = learn(data), learn(moved)
    same(one, two, data.pairs)
    assert centred(one.distances_) == pytest.approx(
        centred(two.distances_), abs=0.02 * np.ptp(one.distances_)
    )


@pytest.mark.slow
@laws
@given(seed=SEEDS)
def test_the_sign_of_a_feature_does_not_matter(seed: int) -> None:
    data = comparisons(seed)
    same(learn(data), learn(Comparisons(data.items * [1.0, -1.0], data.pairs, y=data.y)), data.pairs)


@laws
@given(seed=SEEDS)
def test_a_weight_of_two_is_the_answer_twice(seed: int) -> None:
    data, rng = comparisons(seed), np.random.default_rng(seed)
    weights = rng.choice([1.0, 2.0], len(data))
    rows = np.repeat(np.arange(len(data)), weights.astype(int))
    weighted = Comparisons(data.items, data.pairs, y=data.y, weights=weights)
    same(learn(weighted), learn(data[rows]), data.pairs)


@laws
@given(seed=SEEDS)
def test_reversed_answers_reverse_the_scores(seed: int) -> None:
    data = comparisons(seed)
    one, two = learn(data), learn(Comparisons(data.items, data.pairs, y=-data.y))
    size = 0.02 * np.ptp(one.distances_)
    assert centred(one.distances_) == pytest.approx(-centred(two.distances_), abs=size)


@laws
@given(seed=SEEDS)
def test_a_constant_feature_does_not_matter(seed: int) -> None:
    data = comparisons(seed)
    more = np.column_stack([data.items, np.full(data.n_items, 7.0)])
    one, two = learn(data), learn(Comparisons(more, data.pairs, y=data.y))
    assert centred(one.distances_) == pytest.approx(centred(two.distances_), abs=1e-6)


# ------------------------------------------------------------------------------------- hard inputs


def every_answer_contradicted() -> Comparisons:
    data = comparisons(0)
    pairs = np.concatenate([data.pairs, data.pairs[:, ::-1]])
    return Comparisons(data.items, pairs, y=np.tile(data.y, 2))


def heavy() -> Comparisons:
    data = comparisons(0)
    return Comparisons(data.items, data.pairs, y=data.y, weights=np.full(len(data), 1e6))


def duplicated_items() -> Comparisons:
    data = comparisons(0)
    return Comparisons(np.tile(data.items, (2, 1)), data.pairs + np.array([0, 10]), y=data.y)


HARD = {
    "one answer": lambda: comparisons(0)[:1],
    "two items": lambda: Comparisons([[0.0, 1.0], [1.0, 3.0]], [[0, 1]]),
    "two items that disagree": lambda: Comparisons([[0.0], [1.0]], [[0, 1], [1, 0]]),
    "duplicated items": duplicated_items,
    "every answer contradicted": every_answer_contradicted,
    "weights of 1e6": heavy,
    "weights of 1e-6": lambda: comparisons(0).with_answers(comparisons(0).y, np.full(24, 1e-6)),
    "14 features of 8 items": lambda: comparisons(0, 8, 14, 20),
    "most features constant": lambda: Comparisons(np.eye(6)[:, :1] * [1, 0, 0], [[0, 1], [2, 0], [3, 4]]),
}


@pytest.mark.parametrize("metric", ["smooth", pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "case",
    some_slow(HARD, fast=set(HARD) - {"weights of 1e6", "14 features of 8 items"}),
)
@pytest.mark.long
def test_a_hard_case_gives_finite_numbers_that_agree(case: str, metric: str) -> None:
    data = HARD[case]()
    est = IdealPoint(metric=metric).fit(data)
    first = est.predict_proba(data)[:, 1]
    assert np.isfinite(est.distances_).all() and ((first > 0) & (first < 1)).all()
    left = est._mixture.predicted  # type: ignore[union-attr]
    assert np.isfinite(left.log_loss) and len(left.probabilities) == len(est._answers(data).winners)
    assert str(est.explain())


def test_answers_that_contradict_each_other_leave_it_even() -> None:
    data = every_answer_contradicted()
    est = learn(data)
    assert est.predict_proba(data)[:, 1] == pytest.approx(0.5, abs=0.05)
    assert infer_smooth(est._answers(data)).log_evidence < -48 * math.log(2)


def test_features_that_are_all_constant_leave_item_effects() -> None:
    data = Comparisons(np.ones((4, 2)), [[0, 1], [0, 1], [0, 1], [2, 3]])
    est = learn(data)
    assert est.predict([[0, 1]])[0] == 1


def crowd(n: int, d: int, count: int, seed: int = 0) -> Comparisons:
    """Noisy answers about many items."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((n, d))
    scores = np.abs(items) @ np.linspace(1.0, 2.0, d)
    first = rng.integers(0, n, count)
    second = (first + rng.integers(1, n, count)) % n
    y = np.where(rng.random(count) < expit(scores[second] - scores[first]), 1, -1)
    return Comparisons(items, np.column_stack([first, second]), y=y)


def answers_of(data: Comparisons) -> Answers:
    return Answers.collect(data.items, *data.oriented()).canonical()


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens to very many items and answers happens to some."""
    limits = {"MOST_LEARNED": 40, "MOST_ANSWERS": 60, "MOST_ITEMS": 60, "SUPPORT": 40, "MOST_SUPPORTED": 300}
    for name, value in limits.items():
        monkeypatch.setattr(smooth, name, value)
    monkeypatch.setattr(smooth, "BLOCK", 64)
    monkeypatch.setattr(variational, "BLOCK", 64)


@pytest.mark.usefixtures("small_limits")
def test_every_answer_is_predicted_where_only_some_are_learned_from() -> None:
    data = crowd(100, 2, 900)
    fit = infer_smooth(answers_of(data))
    left = fit.leave_out()
    assert len(left.probabilities) == len(fit.answers.winners) == len(left.weights)
    assert math.isnan(fit.log_evidence)
    scores = fit.of_items(fit.answers.items)
    margins = scores[fit.answers.losers] - scores[fit.answers.winners]
    drawn = (fit.draws.lapse / 2 + (1 - fit.draws.lapse) * expit(margins)).mean(axis=1)
    # The used ones are left out, and differ; the others are predicted as they would be.
    assert np.median(np.abs(left.probabilities - drawn)) < 0.01
    assert 0.55 < left.accuracy < 0.9


@pytest.mark.slow
@pytest.mark.usefixtures("small_limits")
def test_some_answers_are_stacked_with_another_kind() -> None:
    data = crowd(100, 2, 900)
    full = IdealPoint(metric="full").fit(data)._mixture
    small = IdealPoint(metric="smooth").fit(data)._mixture
    assert full is not None and small is not None
    both = type(full)((*full.parts, *small.parts))
    assert both.weights.sum() == pytest.approx(1.0) and len(both.predicted.probabilities) > 800


@pytest.mark.usefixtures("small_limits")
def test_support_points_lose_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores from support points and from all items rank alike."""
    data = crowd(80, 2, 280)
    few = infer_smooth(answers_of(data), effects=False)
    assert few.posterior.root is None
    monkeypatch.setattr(smooth, "MOST_ITEMS", 600)
    exact = infer_smooth(answers_of(data), effects=False)
    assert exact.posterior.root is not None
    one, two = (fit.of_items(fit.answers.items).mean(axis=1) for fit in (few, exact))
    assert np.corrcoef(one, two)[0, 1] > 0.98


@pytest.mark.slow
def test_items_beyond_the_support_are_learned_too() -> None:
    data = crowd(700, 2, 900)
    est = learn(data)
    assert est.item_effects_ is None and est.score(data) > 0.6


@pytest.mark.slow
@pytest.mark.long
def test_more_answers_than_are_learned_from_are_averaged() -> None:
    data = crowd(700, 3, 25_000)
    est = IdealPoint().fit(data)
    assert sum(est.kind_weights_.values()) == pytest.approx(1.0)
    assert abs(est.explain().trust.accuracy - est.score(data)) < 0.02


def test_a_large_table_with_few_answers_takes_fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """An effect of every item in every draw would fill the memory; probabilities hardly change."""
    data = crowd(40, 2, 60)
    whole = learn(data)
    monkeypatch.setattr("coombs.estimators.fitted.MOST_EFFECTS", 40 * 1_000)
    thin = learn(data)
    assert len(thin.posterior_) == 1_000 < len(whole.posterior_)  # type: ignore[arg-type]
    assert thin.posterior_.effects.shape == (1_000, 40)  # type: ignore[union-attr]
    assert thin.predict_proba(data) == pytest.approx(whole.predict_proba(data), abs=0.03)
    assert thin.rank().tolist() == whole.rank().tolist()


@pytest.mark.slow
@pytest.mark.long
def test_very_many_items_and_answers_are_learned_from_and_explained() -> None:
    data = crowd(20_000, 6, 60_000)
    est = IdealPoint().fit(data)
    assert est.score(data) > 0.7
    assert abs(est._mixture.predicted.accuracy - est.score(data)) < 0.02  # type: ignore[union-attr]


# ------------------------------------------------------------------------------------- the average


@pytest.fixture(scope="module")
def two_peaks() -> IdealPoint:
    """Somebody whom no ideal point describes: the smooth kind has all the weight."""
    rng = np.random.default_rng(1)
    items = rng.uniform(-1.7, 1.7, (60, 2))
    scores = 8 * np.minimum(((items - 0.9) ** 2).sum(axis=1), ((items + 0.9) ** 2).sum(axis=1))
    pairs = np.array([rng.choice(60, 2, replace=False) for _ in range(400)])
    y = np.where(rng.random(400) < expit(scores[pairs[:, 1]] - scores[pairs[:, 0]]), 1, -1)
    return IdealPoint(items).fit(pairs, y)


def test_a_smooth_taste_with_all_the_weight_predicts(two_peaks: IdealPoint) -> None:
    """Estimate, draws and model are of one kind; the ideal point still describes."""
    assert two_peaks.kind_weights_ == {"smooth+": 1.0}
    model, posterior = two_peaks.model_, two_peaks.posterior_
    assert model.bumps is not None and posterior is not None
    drawn = posterior.scores(two_peaks._data.items, posterior.effects).mean(axis=0)
    assert np.corrcoef(drawn, two_peaks.distances_)[0, 1] > 0.999
    assert np.isfinite(two_peaks.ideal_point_).all()
    assert two_peaks.get_mahalanobis_matrix().tolist() == two_peaks.metric_.tolist()
    assert two_peaks.transform(two_peaks._data.items).std() > 0 and not two_peaks.unidentified_.size
    assert two_peaks.score(two_peaks._data) > 0.9


@pytest.fixture(scope="module")
def averaged() -> IdealPoint:
    data = comparisons(8, 30, 3, 20)
    est = IdealPoint(data.items).fit(data.pairs, data.y)
    assert len(est.kind_weights_) == 2
    return est


@pytest.mark.parametrize("name", ["averaged", "two_peaks"])
def test_an_average_is_one_model(name: str, request: pytest.FixtureRequest) -> None:
    """Ranks, predictions, probabilities and intervals agree."""
    est = request.getfixturevalue(name)
    pairs = est._data.pairs
    place = np.argsort(est.rank())
    assert (est.predict(pairs) == np.where(place[pairs[:, 0]] < place[pairs[:, 1]], 1, -1)).all()
    assert ((est.predict_proba(pairs)[:, 1] >= 0.5) == (est.predict(pairs) == 1)).all()
    assert est.distances_ == pytest.approx(est.distance())
    ranks = est.rank_interval()
    inside = (ranks[:, 0] <= place + 1) & (place + 1 <= ranks[:, 1])
    assert inside.mean() > 0.95


@pytest.mark.parametrize("name", ["averaged", "two_peaks"])
def test_intervals_of_distances_hold_the_estimate(name: str, request: pytest.FixtureRequest) -> None:
    """Draws that are known up to a constant are put where the estimate is."""
    est = request.getfixturevalue(name)
    low, high = est.distance_interval().T
    assert ((low <= est.distances_) & (est.distances_ <= high)).mean() > 0.95


@pytest.mark.parametrize("name", ["averaged", "two_peaks"])
def test_the_level_of_an_average_is_as_uncertain_as_that_of_its_description(
    name: str, request: pytest.FixtureRequest
) -> None:
    """No answer tells it: draws with an ideal point have their own, others one like theirs."""
    est = request.getfixturevalue(name)
    drawn, (_, described) = est.posterior_, est.described()
    distances, known = drawn.distances(est._data.items, drawn.effects), described.distances(est._data.items)
    own = np.isfinite(drawn.ideal_points).all(axis=1)
    levels = replace(drawn, levels=None).distances(est._data.items, drawn.effects)
    assert distances[own] == pytest.approx(levels[own])
    ratios, wanted = (one.mean(axis=1) / one.std(axis=1) for one in (distances[~own], known))
    assert np.quantile(ratios, [0.1, 0.5, 0.9]) == pytest.approx(
        np.quantile(wanted, [0.1, 0.5, 0.9]), rel=0.1
    )


@pytest.mark.parametrize("name", ["averaged", "two_peaks"])
def test_a_fitted_average_is_pickled_small_and_the_same(name: str, request: pytest.FixtureRequest) -> None:
    est = request.getfixturevalue(name)
    text = pickle.dumps(est)
    assert len(text) < 20e6
    again = pickle.loads(text)
    assert again.predict_proba(est._data).tolist() == est.predict_proba(est._data).tolist()
    assert again.rank().tolist() == est.rank().tolist()
    assert again.model_ == est.model_


@pytest.mark.slow
def test_partial_fit_of_an_average_is_a_fit_to_all() -> None:
    data = comparisons(5, 30, 3, 60)
    more = IdealPoint(data.items).fit(data.pairs[:57], data.y[:57]).partial_fit(data.pairs[57:], data.y[57:])
    whole = IdealPoint(data.items).fit(data.pairs, data.y)
    assert more.predict_proba(data.pairs) == pytest.approx(whole.predict_proba(data.pairs), abs=0.06)
    assert more.kind_weights_ == pytest.approx(whole.kind_weights_, abs=0.15)
