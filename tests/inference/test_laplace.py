"""The mode and the Gaussian about it, against finite differences, scikit-learn and the sampler."""

from __future__ import annotations

import numpy as np
import pytest
from cases import some_slow
from problems import person, standard, target_of, weighted
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from coombs.data.answers import Answers
from coombs.data.tables import FloatArray
from coombs.inference import infer, laplace
from coombs.inference.kinds import METRICS
from coombs.inference.target import Target
from coombs.programs.cone import svec
from coombs.programs.program import Status
from coombs.simulate import make_preferences

every_metric = pytest.mark.parametrize("kind", METRICS)


@pytest.fixture(autouse=True)
def to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maximising goes on until nothing more is gained, so that the mode can be checked."""
    monkeypatch.setattr(laplace, "LEAST_GAIN", 1e-6)


def start_of(target: Target) -> FloatArray:
    """A rough metric of the identity's size, and nothing else."""
    own = target.kind.locate(2 * np.eye(target.d), np.zeros(target.d))
    return np.concatenate([own, np.zeros(target.n - target.own)])


# The mode


@every_metric
@pytest.mark.parametrize("lapse", [None, 0.05])
def test_the_slope_is_zero_at_the_mode(
    kind: str, lapse: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a maximiser of scipy's, from there with exact arithmetic, gains nothing."""
    monkeypatch.setattr(laplace, "LEAST_GAIN", 1e-12)
    monkeypatch.setattr(laplace, "FLAT", 1e-6)
    target = target_of(weighted(person(2, 200, 30)), kind, lapse=lapse)
    mode = laplace.maximise(target, start_of(target))
    assert mode.status is Status.CONVERGED
    assert mode.value == pytest.approx(target.value(mode.y[None])[0])
    root = laplace.whitening(laplace.curvature(target, mode.y, np.random.default_rng(0)))
    assert np.abs(root.T @ target.gradient(mode.y[None])[0]).max() < 1e-3
    other = minimize(
        lambda y: target.value(y[None])[0],
        mode.y,
        jac=lambda y: target.gradient(y[None])[0],
        method="BFGS",
        options={"gtol": 1e-7},
    )
    assert mode.value - other.fun < 1e-6


def test_coordinates_do_not_change_the_mode() -> None:
    """With a root of the covariance or without, and only those unknowns move that may."""
    target = target_of(person(2, 200, 30), "full")
    one = laplace.maximise(target, start_of(target))
    root = laplace.whitening(laplace.curvature(target, one.y, np.random.default_rng(0)))
    two = laplace.maximise(target, start_of(target), root=root)
    assert one.value == pytest.approx(two.value, abs=0.02)
    moved = np.arange(3)
    part = laplace.maximise(target, start_of(target), moved=moved)
    assert (part.y[3:] == start_of(target)[3:]).all() and (part.y[:3] != start_of(target)[:3]).any()


def test_a_maximiser_that_runs_out_of_steps_says_so() -> None:
    target = target_of(person(2, 200, 30), "full")
    assert laplace.maximise(target, start_of(target), max_iter=1).status is Status.MAX_ITERATIONS


@pytest.mark.parametrize("size", [0.3, 1.0, 3.0])
def test_item_effects_alone_are_a_ridge_bradley_terry_model(
    size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Effects of a given size are worths with a normal prior of that deviation: C = size^2.

    Maximised to the end they are equal; where it stops by itself, to a tenth of the prior's deviation.
    """
    answers = weighted(person(2, 120, 20, noise=0.2))
    target = target_of(answers, "items", lapse=0.0, effects=True)
    incidence = np.zeros((len(answers.winners), len(answers.items)))
    incidence[np.arange(len(incidence)), answers.winners] = 1.0
    incidence[np.arange(len(incidence)), answers.losers] = -1.0
    sign = np.where(np.arange(len(incidence)) % 2, 1, -1)
    theirs = LogisticRegression(fit_intercept=False, C=size**2, tol=1e-10, max_iter=10_000)
    theirs.fit(sign[:, None] * incidence, sign, sample_weight=answers.weights)
    for gain, flat, near in ((laplace.LEAST_GAIN, laplace.FLAT, 0.1 * size), (1e-10, 1e-6, 1e-3)):
        monkeypatch.setattr(laplace, "LEAST_GAIN", gain)
        monkeypatch.setattr(laplace, "FLAT", flat)
        mode = laplace.maximise_effects(target, np.zeros(0), np.zeros((0, 0)), size)
        effects = target.scores(mode.y[None]).effects
        assert effects is not None
        assert mode.status is Status.CONVERGED
        assert -effects[0] == pytest.approx(theirs.coef_[0], abs=near)


def test_item_effects_and_features_are_maximised_together() -> None:
    """No slope is left but that of the effects' size, which stays; and it is better than without."""
    plain = target_of(weighted(person(2, 300, 30, noise=0.2)), "diagonal", lapse=0.02)
    target, rng = plain.with_effects(), np.random.default_rng(0)
    mode = laplace.maximise(plain, start_of(plain))
    root = laplace.whitening(laplace.curvature(plain, mode.y, rng))
    found = laplace.maximise_effects(target, mode.y, root, 0.7)
    assert np.exp(found.y[plain.n]) * 0.5 == pytest.approx(0.7)
    slope = target.gradient(found.y[None])[0]
    assert np.abs(np.delete(slope, plain.n)).max() < 0.3
    nothing = np.concatenate([mode.y, found.y[plain.n : plain.n + 1], np.zeros(len(target.items))])
    assert found.value < target.value(nothing[None])[0]


# The Gaussian


def fisher(target: Target, y: FloatArray) -> FloatArray:
    """sum w (dp/dy)(dp/dy)' / p (1 - p), by differences of p."""
    step = 1e-5
    moves = step * np.eye(target.n)
    ahead, behind = (np.exp(target.log_probabilities(y + sign * moves)) for sign in (1, -1))
    slopes = (ahead - behind) / (2 * step)
    p = np.exp(target.log_probabilities(y[None]))[:, 0]
    result: FloatArray = (slopes.T * (target.weights / (p * (1 - p)))) @ slopes
    return result


def prior_hessian(target: Target, y: FloatArray) -> FloatArray:
    """Of the negative log prior, by differences of its value alone."""
    empty, step, n = target.reweighted(0 * target.weights), 1e-3, target.n
    moves = step * np.eye(n)
    corners = {
        (a, b): np.array([empty.value(y + a * moves[i] + b * moves) for i in range(n)])
        for a in (1, -1)
        for b in (1, -1)
    }
    result: FloatArray = (corners[1, 1] - corners[1, -1] - corners[-1, 1] + corners[-1, -1]) / (4 * step**2)
    return result


@every_metric
@pytest.mark.parametrize("lapse", [None, 0.0, 0.1])
def test_curvature_is_the_fisher_information_and_the_priors(kind: str, lapse: float | None) -> None:
    """What of the prior's curves the wrong way is left out."""
    target = target_of(weighted(person(2, 40, 10)), kind, lapse=lapse)
    y = 0.5 * target.draw_prior(1, np.random.default_rng(0))[0]
    found = laplace.curvature(target, y, np.random.default_rng(0))
    values, vectors = np.linalg.eigh(prior_hessian(target, y))
    exact = fisher(target, y) + (vectors * np.maximum(values, laplace.LEAST_CURVATURE)) @ vectors.T
    assert found == pytest.approx(exact, rel=1e-3, abs=2e-3 * np.abs(exact).max())


def test_curvature_of_some_answers_stands_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    target = target_of(person(2, 2000, 100), "diagonal")
    y = 0.5 * target.draw_prior(1, np.random.default_rng(0))[0]
    whole = laplace.curvature(target, y, np.random.default_rng(0))
    monkeypatch.setattr(laplace, "MOST_ANSWERS", 1000)
    part = laplace.curvature(target, y, np.random.default_rng(0))
    ratio = np.linalg.eigvals(np.linalg.solve(whole, part)).real
    assert ratio.min() > 0.3 and ratio.max() < 3


def test_draws_of_the_gaussian_have_the_inverse_curvature() -> None:
    """About the mode, which is their mean: every draw has its mirror image."""
    target, rng = target_of(person(2, 60, 15), "diagonal", lapse=0.02), np.random.default_rng(0)
    mode = 0.5 * target.draw_prior(1, rng)[0]
    hessian = laplace.curvature(target, mode, rng)
    root = laplace.whitening(hessian)
    covariance = np.linalg.inv(hessian)
    assert root @ root.T == pytest.approx(covariance)
    draws = laplace.draw(target, mode, root, 20_000, rng)
    size = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.abs((np.cov(draws.T) - covariance) / size).max() < 6 * np.sqrt(2 / 10_000)
    assert draws.mean(axis=0) == pytest.approx(mode)


def test_drawn_item_effects_have_their_inverse_information_given_all_else() -> None:
    """Where the features stay at the mode; draws of the other unknowns are as without effects."""
    plain = target_of(weighted(person(2, 28, 8, noise=0.2)), "none", lapse=0.02)
    target, rng = plain.with_effects(), np.random.default_rng(0)
    mode, n = target.draw_prior(1, np.random.default_rng(0))[0], len(target.items)
    root = laplace.whitening(laplace.curvature(plain, mode[: plain.n], rng))
    draws = laplace.draw(target, mode, root, 20_000, rng)
    covariance = np.linalg.inv(np.eye(n) + fisher(target, mode)[-n:, -n:])
    effects = laplace.draw(target, mode, 0 * root, 20_000, rng)[:, -n:]
    assert np.cov(effects.T) == pytest.approx(covariance, abs=0.08 * covariance.max())
    own = root @ root.T
    assert np.cov(draws[:, : plain.n].T) == pytest.approx(own, abs=0.1 * own.max())
    assert (draws[:, plain.n] == mode[plain.n]).all()


def test_drawn_item_effects_offset_drawn_features() -> None:
    """Scores of items vary less than if the two were drawn apart, when variances would add up."""
    plain = target_of(person(2, 180, 20, noise=0.2), "none", lapse=0.02)
    target, rng = plain.with_effects(), np.random.default_rng(0)
    mode = laplace.maximise(plain, start_of(plain))
    root = laplace.whitening(laplace.curvature(plain, mode.y, rng))
    y = laplace.maximise_effects(target, mode.y, root, 2.0).y
    scores = target.scores(laplace.draw(target, y, 3 * root, 4000, rng))
    assert scores.effects is not None

    def spread(values: FloatArray) -> float:
        return float((values - values.mean(axis=0)).var(axis=1).mean())

    both = target.of_items(scores)
    features = both - scores.effects.T
    assert spread(both) < 0.6 * (spread(features) + spread(scores.effects.T))


def test_very_many_item_effects_are_drawn_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the inverse of each one's own information."""
    monkeypatch.setattr(laplace, "MOST_EFFECTS", 7)
    plain = target_of(weighted(person(2, 28, 8, noise=0.2)), "none", lapse=0.02)
    target, rng = plain.with_effects(), np.random.default_rng(0)
    mode = target.draw_prior(1, np.random.default_rng(0))[0]
    root = laplace.whitening(laplace.curvature(plain, mode[: plain.n], rng))
    effects = laplace.draw(target, mode, 0 * root, 20_000, rng)[:, -8:]
    assert effects.var(axis=0) == pytest.approx(1 / (1 + np.diag(fisher(target, mode))[-8:]), rel=0.07)
    assert np.abs(np.corrcoef(effects.T) - np.eye(8)).max() < 0.05


def test_where_curvature_is_lost_a_little_takes_its_place() -> None:
    """No direction is infinitely wide."""
    root = laplace.whitening(np.diag([-1.0, 0.0, 4.0]))
    least = 1 / laplace.LEAST_CURVATURE
    assert root @ root.T == pytest.approx(np.diag([least, least, 0.25]))


# Where answers are many


def centred_scores(found: infer.Inference) -> FloatArray:
    """Of items, about their mean: the zero of a score means nothing."""
    s = found.target.of_items(found.scores())
    return s - s.mean(axis=0)


@pytest.mark.parametrize("kind", some_slow(["full", "diagonal", "signed"], fast=["full"]))
def test_laplace_agrees_with_the_sampler_where_answers_are_many(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores: means within a deviation, deviations within 40 %."""
    many = person(2, 2500, 100, seed=1)
    draws = infer.infer(many, kind, np.random.default_rng(0), effort=infer.SHARED)
    monkeypatch.setattr(infer, "MOST_SAMPLED", 0)
    gaussian = infer.infer(many, kind, np.random.default_rng(0))
    assert (draws.sampled, gaussian.sampled) == (True, False)
    mean, deviation = centred_scores(draws).mean(axis=1), centred_scores(draws).std(axis=1)
    assert (np.abs(centred_scores(gaussian).mean(axis=1) - mean) < deviation).all()
    assert centred_scores(gaussian).std(axis=1) == pytest.approx(deviation, rel=0.4)


def off(one: FloatArray, other: FloatArray) -> float:
    """Relative distance."""
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def test_newton_finds_the_truth_and_the_mode() -> None:
    """More than 100,000 answers: (M, v) within 3 % of the truth, and within 0.5 % of the mode.

    Every entry is within five deviations of the draws.
    """
    truth = make_preferences(500, 3, 110_000, noise="logistic", random_state=0)
    centre, size = truth.items.mean(axis=0), truth.items.std(axis=0)
    metric = truth.metric * np.outer(size, size)
    v = metric @ ((truth.ideal_point - centre) / size)
    answers = standard(Answers.collect(truth.items, *truth.comparisons.oriented()))
    found = infer.infer(answers, "full", np.random.default_rng(0))
    assert not found.sampled and found.status is Status.CONVERGED
    mode, draws = found.target.scores(found.mode[None]), found.scores()
    assert off(mode.metric[0], metric) < 0.03
    assert off(mode.linear[0], v) < 0.03
    assert mode.lapse[0] < 0.01
    target = target_of(answers, "full")
    start = np.concatenate([target.kind.locate(metric, v), [0.0]])
    maximised = target.scores(laplace.maximise(target, start).y[None])
    assert off(mode.metric[0], maximised.metric[0]) < 0.005
    assert off(mode.linear[0], maximised.linear[0]) < 0.005
    rows = np.array([np.concatenate([svec(m), w]) for m, w in zip(draws.metric, draws.linear, strict=True)])
    away = rows.mean(axis=0) - np.concatenate([svec(metric), v])
    assert (np.abs(away) < 5 * rows.std(axis=0)).all()


def test_the_size_of_item_effects_is_chosen_by_answers_left_out() -> None:
    """None: the least that is tried; strong ones: more."""
    chosen = []
    for seed, size in ((0, 0.0), (0, 4.0)):
        rng = np.random.default_rng(seed)
        items = rng.normal(size=(40, 2))
        worth = items @ [1.0, -1.0] + size * rng.standard_normal(40)
        pairs = rng.integers(0, 40, (3000, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        first = rng.random(len(pairs)) < 1 / (1 + np.exp(worth[pairs[:, 1]] - worth[pairs[:, 0]]))
        ends = np.where(first[:, None], pairs, pairs[:, ::-1])
        answers = standard(Answers.collect(items, *ends.T, np.ones(len(pairs))))
        target = target_of(answers, "none")
        start = (np.eye(2), np.zeros(2))
        chosen.append(infer.choose_effect_size(target, start, np.random.default_rng(0)))
    assert chosen[0] == infer.EFFECT_SIZES[0] and chosen[1] >= 3.0


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_what_no_answer_sees_does_not_blur_the_scores(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of 0 and 1 for every level: they depend on each other, and their squares are themselves."""
    monkeypatch.setattr(infer, "MOST_SAMPLED_TWO_VALUED", 0)
    rng = np.random.default_rng(0)
    level, size = rng.integers(0, 4, 60), rng.normal(size=60)
    items = np.column_stack([size, np.eye(4)[level]])
    items = (items - items.mean(axis=0)) / items.std(axis=0)
    truth = np.array([1.5, 0.5, -0.5, -1.5])[level] - (size - 0.3) ** 2
    pairs = np.array([rng.choice(60, 2, replace=False) for _ in range(3_500)])
    first = rng.random(len(pairs)) < 1 / (1 + np.exp(truth[pairs[:, 1]] - truth[pairs[:, 0]]))
    winners, losers = np.where(first, pairs.T, pairs[:, ::-1].T)
    found = infer.infer(Answers.collect(items, winners, losers, np.ones(len(pairs))), kind, rng)
    assert not found.sampled
    scores = infer.quadratic_scores(items, found.scores())
    scores -= scores.mean(axis=0)
    low, high = np.quantile(scores, [0.05, 0.95], axis=1)
    assert (high - low).mean() < 0.8
    assert np.corrcoef(np.median(scores, axis=1), -truth)[0, 1] > 0.97
