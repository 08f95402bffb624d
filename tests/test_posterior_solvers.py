"""What the posterior's solvers find, against what is known without them.

Finite differences, CVXPY, scikit-learn, brute force.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from problems import draw, with_items
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from coombs import IdealPoint
from coombs.simulate import make_preferences, squared_distances
from coombs.solvers import hamiltonian, infer, laplace, lifted
from coombs.solvers.cone import svec
from coombs.solvers.formulate import Answers
from coombs.solvers.graph import ComparisonGraph
from coombs.solvers.hamiltonian import Shape, split_rhat
from coombs.solvers.infer import Effort
from coombs.solvers.ladder import LADDER
from coombs.solvers.losses import LOSSES
from coombs.solvers.minimise import minimise
from coombs.solvers.program import Status
from coombs.solvers.target import Forms, Products, Scores, Target
from coombs.tables import FloatArray

every_rung = pytest.mark.parametrize("rung", LADDER)
every_target = pytest.mark.parametrize(
    ("rung", "lapse", "effects"),
    [(rung, lapse, effects) for rung in LADDER for lapse in (None, 0.0, 0.02) for effects in (False, True)],
)


def standard(answers: Answers) -> Answers:
    """The same answers about standardised features, as the estimator hands them over."""
    x = answers.items
    return with_items(answers, (x - x.mean(axis=0)) / x.std(axis=0))


def person(d: int, p: int, n: int = 30, seed: int = 0, noise: Any = "logistic") -> Answers:
    """Noisy answers about standardised features."""
    return standard(draw(d, p, n, seed, noise))


def weighted(answers: Answers, seed: int = 0) -> Answers:
    """The same answers with random weights."""
    weights = np.random.default_rng(seed).uniform(0.2, 3.0, len(answers.weights))
    return replace(answers, weights=weights)


def target_of(answers: Answers, rung: str, **settings: Any) -> Target:
    return Target(answers.items, answers.graph(), answers.weights, LADDER[rung], **settings)


def points(target: Target, count: int = 3, seed: int = 0) -> FloatArray:
    """Draws of the prior."""
    return np.random.default_rng(seed).standard_normal((count, target.n))


def some_metric(d: int, seed: int = 0) -> FloatArray:
    """A metric of mean size 1: its trace is d^2, as that of d I is."""
    root = np.random.default_rng(seed).standard_normal((d + 2, d))
    metric = root.T @ root
    return metric * d**2 / np.trace(metric)


# The target


@every_target
def test_gradient_is_the_slope_of_the_value(rung: str, lapse: float | None, effects: bool) -> None:
    """By central differences along every unknown, with weights."""
    target = target_of(weighted(person(3, 25, 10)), rung, lapse=lapse, effects=effects)
    z, step = points(target), 1e-5
    value, gradient = target.both(z)
    assert value == pytest.approx(target.value(z))
    assert gradient == pytest.approx(target.gradient(z))
    for point, slope in zip(z, gradient, strict=True):
        ahead, behind = (target.value(point + sign * step * np.eye(target.n)) for sign in (1, -1))
        assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-6, abs=1e-6)


@every_target
def test_single_precision_agrees_with_double(rung: str, lapse: float | None, effects: bool) -> None:
    """Value and gradient to 1e-3 of their size."""
    target = target_of(weighted(person(3, 25, 10)), rung, lapse=lapse, effects=effects)
    z = points(target, 20)
    value, gradient = target.both(z)
    single_value, single_gradient = target.single().both(z.astype(np.float32))
    assert single_gradient.dtype == np.float32
    assert single_value == pytest.approx(value, rel=1e-3)
    size = np.linalg.norm(gradient, axis=1, keepdims=True)
    assert np.abs(single_gradient - gradient).max(initial=0.0) <= 1e-3 * size.max()


def test_value_is_the_likelihood_written_out() -> None:
    """|z|^2 / 2 - sum w log p, p = lapse / 2 + (1 - lapse) sigma(s_loser - s_winner)."""
    answers = weighted(person(2, 25, 10))
    target = target_of(answers, "full", lapse=0.02, effects=True)
    z = points(target, 1)
    scores = target.scores(z)
    assert scores.effects is not None
    x = answers.items
    s = np.einsum("ni,ij,nj->n", x, scores.metric[0], x) - 2 * x @ scores.linear[0] + scores.effects[0]
    p = 0.01 + 0.98 * expit(s[answers.losers] - s[answers.winners])
    assert target.value(z)[0] == pytest.approx(z[0] @ z[0] / 2 - answers.weights @ np.log(p))
    assert np.exp(target.log_probabilities(z)[:, 0]) == pytest.approx(p)


def test_forms_and_products_agree() -> None:
    """Two ways to the same scores, and back."""
    rng = np.random.default_rng(0)
    items, linear, pull = rng.normal(size=(9, 4)), rng.normal(size=(5, 4)), rng.normal(size=(9, 5))
    metric = np.array([some_metric(4, seed) for seed in range(5)])
    one, two = Forms(items), Products(items)
    assert one.values(metric, linear) == pytest.approx(two.values(metric, linear))
    for mine, theirs in zip(one.pull(pull), two.pull(pull), strict=True):
        assert mine == pytest.approx(theirs)


def test_parts_of_the_answers_make_up_the_whole() -> None:
    """The log likelihood of two halves adds up, and that of a random part is one of its answers."""
    target = target_of(weighted(person(2, 30, 10)), "full")
    z = points(target)
    prior = (z * z).sum(axis=1) / 2
    halves = [target.part(rows).value(z) - prior for rows in (slice(0, 13), slice(13, 30))]
    assert sum(halves) == pytest.approx(target.value(z) - prior)
    assert target.part(slice(0, 30)) is target
    few = target.some(12, np.random.default_rng(0))
    assert few.graph.n_answers == 12
    logs = {tuple(np.round(row, 9)) for row in target.log_probabilities(z)}
    assert all(tuple(np.round(row, 9)) in logs for row in few.log_probabilities(z))


@every_rung
@pytest.mark.parametrize("effects", [False, True])
def test_settled_unknowns_mean_the_same(rung: str, effects: bool) -> None:
    """The scales take up the size of the unknowns; metric, linear part and effects stay."""
    target = target_of(person(3, 25, 10), rung, effects=effects)
    z = 3 * points(target, 1)[0]
    z_settled = laplace.settled(target, z)
    before, after = target.scores(z[None]), target.scores(z_settled[None])
    assert after.metric == pytest.approx(before.metric)
    assert after.linear == pytest.approx(before.linear)
    if effects:
        assert after.effects == pytest.approx(before.effects)
    if target.own:
        assert (z_settled[target.own - 3 : target.own] ** 2).mean() == pytest.approx(1.0)
    if rung in ("diagonal", "signed"):
        assert (z_settled[: target.own - 3] ** 2).mean() == pytest.approx(1.0)


@pytest.mark.parametrize("rung", ["full", "diagonal", "identity", "signed", "none"])
def test_start_is_undone_by_expand(rung: str) -> None:
    """(M, M u) comes back, where the rung has such an M."""
    metric, u = some_metric(3), np.array([0.3, -1.0, 2.0])
    if rung == "diagonal":
        metric = np.diag(np.diag(metric))
    if rung == "identity":
        metric = 3 * np.eye(3)
    found, linear = LADDER[rung].expand(LADDER[rung].start(metric, u, exact=True)[None], 3)
    assert found[0] == pytest.approx(0 * metric if rung == "none" else metric, abs=1e-9)
    assert linear[0] == pytest.approx(metric @ u)


@pytest.mark.parametrize("rung", ["full", "signed"])
def test_an_exact_beginning_means_the_metric_and_ideal_it_was_given(rung: str) -> None:
    """At their own scale, however large."""
    target = target_of(person(3, 25, 10), rung)
    metric, u = 400 * some_metric(3), np.array([0.3, -1.0, 2.0])
    scores = target.scores(infer.begin(target, metric, u, exact=True)[None])
    assert scores.metric[0] == pytest.approx(metric)
    assert scores.linear[0] == pytest.approx(metric @ u)


# The lifted convex program


def by_cvxpy(answers: Answers, loss: str, strength: float, trace: bool, rung: str) -> float:
    """The program's optimum by CVXPY, from its definition."""
    cp = pytest.importorskip("cvxpy")
    x, (winners, losers) = answers.items, (answers.winners, answers.losers)
    d = x.shape[1]
    away, constraints, linear = x[losers] - x[winners], [], 0
    if rung == "full":
        z = np.hstack([x, np.ones((len(x), 1))])
        lifted_z = np.einsum("ni,nj->nij", z, z).reshape(len(z), -1)
        unknown = cp.Variable((d + 1, d + 1), PSD=True)
        margins = (lifted_z[losers] - lifted_z[winners]) @ cp.vec(unknown, order="C")
        squares, linear, free = cp.sum_squares(unknown), cp.trace(unknown), 0
    else:
        v, squares = cp.Variable(d), 0
        margins, free = -2 * away @ v, cp.sum_squares(v)
    if rung == "identity":
        size, lengths = cp.Variable(), (x**2).sum(axis=1)
        constraints = [size >= 0]
        margins = margins + size * (lengths[losers] - lengths[winners])
        squares, linear = cp.square(size), size
    if rung == "signed":
        metric = cp.Variable((d, d), symmetric=True)
        outer = np.einsum("ni,nj->nij", x, x).reshape(len(x), -1)
        margins = margins + (outer[losers] - outer[winners]) @ cp.vec(metric, order="C")
        free = free + cp.sum_squares(metric)
    losses = {
        "hinge": lambda: cp.pos(1 - margins),
        "squared_hinge": lambda: cp.square(cp.pos(1 - margins)),
        "logistic": lambda: cp.logistic(-margins),
    }
    objective = answers.weights @ losses[loss]()
    # Only what is in the cone has a trace; the rest has a ridge either way.
    objective += strength * (free + (linear + lifted.TRACE_RIDGE * squares if trace else squares))
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    assert problem.status == "optimal"
    return float(problem.value)


@pytest.mark.parametrize("rung", lifted.RUNGS)
@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_lifted_program_has_the_optimum_that_cvxpy_finds(loss: str, trace: bool, rung: str) -> None:
    """Objective to 1e-6, and what the unknowns mean gives that objective too."""
    answers, strength = weighted(person(2, 40, 15, noise=0.1)), 0.1
    program = lifted.program(answers, LOSSES[loss], strength, trace=trace, rung=rung)
    solution = minimise(program)
    assert solution.objective == pytest.approx(by_cvxpy(answers, loss, strength, trace, rung), rel=1e-6)
    metric, v = lifted.quadratic_of(solution.y, 2, rung)
    s = np.einsum("ni,ij,nj->n", answers.items, metric, answers.items) - 2 * answers.items @ v
    value = LOSSES[loss].value(s[answers.losers] - s[answers.winners], answers.weights)
    penalty = program.penalty @ solution.y**2 + program.linear @ solution.y
    assert value + penalty == pytest.approx(solution.objective, rel=1e-9)
    if rung in ("full", "identity"):
        assert np.linalg.eigvalsh(metric).min() >= -1e-9


def test_a_trace_penalty_gives_a_metric_of_lower_rank() -> None:
    """Where only one direction counts, an eigenvalue vanishes that a Frobenius penalty keeps."""
    rng = np.random.default_rng(0)
    items = rng.normal(size=(40, 3))
    metric = np.outer([1.0, 1.0, 0.0], [1.0, 1.0, 0.0])
    distances, pairs = squared_distances(items, np.zeros(3), metric), rng.integers(0, 40, (300, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    flip = distances[pairs[:, 0]] > distances[pairs[:, 1]]
    answers = Answers.collect(items, *np.where(flip[:, None], pairs[:, ::-1], pairs).T, np.ones(len(pairs)))
    found = [
        lifted.solve(answers, LOSSES["logistic"], strength, trace=trace, rung="full", tol=1e-8, max_iter=300)
        for strength, trace in ((0.1, False), (3.0, True))
    ]
    least, most = np.array([np.linalg.eigvalsh(m)[[0, -1]] for m, _, _ in found]).T
    assert least[1] < 1e-7 * most[1]
    assert least[0] > 1e-5 * most[0]


def test_the_chosen_strength_is_the_best_of_those_tried() -> None:
    """More noise wants more of it, and one pair alone gets the middle one."""
    rng = np.random.default_rng(0)
    clean, noisy = (
        lifted.choose_strength(person(2, 120, 30, noise=noise), LOSSES["logistic"], rng)
        for noise in (None, 0.3)
    )
    assert clean < noisy
    assert clean in lifted.STRENGTHS
    assert lifted.choose_strength(person(2, 1, 30), LOSSES["hinge"], rng) in lifted.STRENGTHS


# The ladder's limits


def test_a_linear_preference_is_a_logistic_regression() -> None:
    """Score -2 v'x with penalty |v|^2: coefficients w = 2 v of differences, C = 2 / strength."""
    truth, strength = make_preferences(30, 3, 150, noise="logistic", random_state=0), 0.3
    items = truth.items * [1.0, 10.0, 0.1] + [5.0, 0.0, -1.0]
    est = IdealPoint(items, metric="none", regularization=strength).fit(truth.pairs, truth.y)
    x = (items - items.mean(axis=0)) / items.std(axis=0)
    differences = x[truth.pairs[:, 0]] - x[truth.pairs[:, 1]]
    theirs = LogisticRegression(fit_intercept=False, C=2 / strength, tol=1e-10, max_iter=10_000)
    theirs.fit(differences, truth.y)
    assert est.slope_ is not None
    assert -est.slope_ * items.std(axis=0) == pytest.approx(theirs.coef_[0], abs=1e-4)
    assert est.predict_proba(truth.pairs) == pytest.approx(theirs.predict_proba(differences), abs=1e-4)


@pytest.mark.parametrize("size", [0.3, 1.0, 3.0])
def test_item_effects_alone_are_a_ridge_bradley_terry_model(
    size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Effects of a given size are worths with a normal prior of that width: C = size^2.

    Climbed to the end they are equal; where a climb stops by itself, to a tenth of the prior's width.
    """
    answers = weighted(person(2, 120, 20, noise=0.2))
    target = target_of(answers, "items", lapse=0.0, effects=True)
    incidence = np.zeros((len(answers.winners), len(answers.items)))
    incidence[np.arange(len(incidence)), answers.winners] = 1.0
    incidence[np.arange(len(incidence)), answers.losers] = -1.0
    sign = np.where(np.arange(len(incidence)) % 2, 1, -1)
    theirs = LogisticRegression(fit_intercept=False, C=size**2, tol=1e-10, max_iter=10_000)
    theirs.fit(sign[:, None] * incidence, sign, sample_weight=answers.weights)
    for gain, near in ((laplace.LEAST_GAIN, 0.1 * size), (1e-10, 1e-3)):
        monkeypatch.setattr(laplace, "LEAST_GAIN", gain)
        mode = laplace.climb_effects(target, np.zeros(target.n - 1 - len(answers.items)), size)
        effects = target.scores(mode.z[None]).effects
        assert effects is not None
        assert mode.status is Status.CONVERGED
        assert -effects[0] == pytest.approx(theirs.coef_[0], abs=near)


# The sampler


def sampled(target: Target, start: FloatArray, seed: int = 0, rounds: int = 100) -> FloatArray:
    """(rounds, 200, n) draws of 200 chains from one point."""
    shape, rng = Shape.at(target, start), np.random.default_rng(seed)
    chains = hamiltonian.sample(
        target.single(), np.tile(start, (200, 1)), shape, rng, warm_up=60, rounds=rounds
    )
    assert 0.2 < chains.acceptance < 0.98
    return chains.draws.astype(float)


@pytest.mark.parametrize(
    ("rung", "d", "lapse"),
    [
        ("identity", 1, 0.02),
        ("identity", 1, None),
        ("full", 1, 0.02),
        ("none", 2, 0.02),
        ("identity", 2, 0.02),
        ("diagonal", 2, 0.1),
    ],
)
def test_the_sampler_has_the_moments_of_importance_sampling(rung: str, d: int, lapse: float | None) -> None:
    """Means and deviations of the unknowns, by a million draws of the prior weighted by the likelihood."""
    target = target_of(person(d, 10, 12, seed=1), rung, lapse=lapse)
    prior = points(target, 10**6)
    logs = np.concatenate([(z * z).sum(axis=1) / 2 - target.value(z) for z in np.split(prior, 50)])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ prior
    deviation = np.sqrt(weights @ (prior - mean) ** 2)
    exact = deviation * np.sqrt((weights**2).sum())
    draws = sampled(target, np.zeros(target.n))
    error = np.sqrt(draws.mean(axis=0).var(axis=0) / draws.shape[1] + exact**2)
    assert np.abs(draws.mean(axis=(0, 1)) - mean).max() < (5 * error).max()
    assert (np.abs(draws.mean(axis=(0, 1)) - mean) < 5 * error).all()
    assert draws.std(axis=(0, 1)) == pytest.approx(deviation, rel=0.06)


@every_rung
@pytest.mark.parametrize("effects", [False, True])
def test_answers_that_say_nothing_leave_the_prior(rung: str, effects: bool) -> None:
    """All lapses: the draws are standard normal in every unknown."""
    target = target_of(person(2, 10, 8), rung, lapse=1 - 1e-7, effects=effects)
    draws = sampled(target, np.full(target.n, 0.5), rounds=40)
    assert draws.mean(axis=(0, 1)) == pytest.approx(np.zeros(target.n), abs=0.12)
    assert draws.var(axis=(0, 1)) == pytest.approx(np.ones(target.n), abs=0.15)


def test_contradicted_answers_shrink_the_scale_and_favour_no_side() -> None:
    """Each with its reverse: v and -v are as likely, and margins near zero the likeliest."""
    some = person(2, 10, 8)
    ends = [some.winners, some.losers]
    answers = Answers.collect(
        some.items, np.concatenate(ends), np.concatenate(ends[::-1]), np.ones(2 * len(ends[0]))
    )
    target = target_of(answers, "none", lapse=0.0)
    draws = sampled(target, np.zeros(target.n))
    assert draws[..., :2].mean(axis=(0, 1)) == pytest.approx(np.zeros(2), abs=0.1)
    assert draws[..., target.own].mean() < -0.3


def test_split_rhat_is_one_for_like_chains_and_large_for_shifted_ones() -> None:
    """Also where the chains agree but drift."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((200, 8, 3))
    assert split_rhat(values) == pytest.approx(np.ones(3), abs=0.02)
    assert (split_rhat(values + np.arange(8)[:, None]) > 1.5).all()
    assert (split_rhat(values + 4 * (np.arange(200) >= 100)[:, None, None]) > 1.5).all()


# Laplace's approximation


@pytest.fixture(scope="module")
def many() -> Answers:
    """Enough answers for the posterior to be narrow, few enough to sample it."""
    return person(2, 2500, 100, seed=1)


@pytest.mark.parametrize("rung", ["full", "diagonal", "signed"])
@pytest.mark.slow
def test_laplace_agrees_with_the_sampler_where_answers_are_many(
    rung: str, many: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores: means within a deviation, deviations within 30 %."""
    effort = Effort(chains=24, warm_up=90, rounds=90)
    draws = infer.infer(many, rung, np.random.default_rng(0), effort=effort)
    monkeypatch.setattr(infer, "MOST_SAMPLED", 0)
    gaussian = infer.infer(many, rung, np.random.default_rng(0))
    assert (draws.sampled, gaussian.sampled) == (True, False)
    (mean, deviation), (other_mean, other_deviation) = (
        (s.mean(axis=1), s.std(axis=1))
        for s in (centred_scores(found.target, found.scores()) for found in (draws, gaussian))
    )
    assert (np.abs(mean - other_mean) < deviation).all()
    assert other_deviation == pytest.approx(deviation, rel=0.3)


def centred_scores(target: Target, scores: Scores) -> FloatArray:
    """Of items, about their mean: the zero of a score means nothing."""
    s = target.of_items(scores)
    return s - s.mean(axis=0)


@pytest.fixture(scope="module")
def very_many() -> tuple[Answers, FloatArray, FloatArray]:
    """More than 100,000 answers, and the true (M, v) for standardised features."""
    truth = make_preferences(500, 3, 110_000, noise="logistic", random_state=0)
    centre, size = truth.items.mean(axis=0), truth.items.std(axis=0)
    metric = truth.metric * np.outer(size, size)
    answers = standard(Answers.collect(truth.items, *truth.comparisons.oriented()))
    return answers, metric, metric @ ((truth.ideal_point - centre) / size)


def off(one: FloatArray, other: FloatArray) -> float:
    """Relative distance."""
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def test_newton_finds_the_truth_and_the_mode(very_many: tuple[Answers, FloatArray, FloatArray]) -> None:
    """(M, v) within 3 % of the truth, and within 0.5 % of the mode that a climb finds."""
    answers, metric, v = very_many
    found = infer.infer(answers, "full", np.random.default_rng(0))
    assert not found.sampled and found.status is Status.CONVERGED
    mode = found.target.scores(found.mode[None])
    assert off(mode.metric[0], metric) < 0.03
    assert off(mode.linear[0], v) < 0.03
    assert mode.lapse[0] < 0.01
    target = target_of(answers, "full")
    start = laplace.settled(target, infer.begin(target, metric, np.linalg.solve(metric, v), exact=True))
    climbed = target.scores(laplace.climb(target, start).z[None])
    assert off(mode.metric[0], climbed.metric[0]) < 0.005
    assert off(mode.linear[0], climbed.linear[0]) < 0.005


def test_newtons_posterior_covers_the_truth(very_many: tuple[Answers, FloatArray, FloatArray]) -> None:
    """Every entry of (M, v) within four deviations of the draws."""
    answers, metric, v = very_many
    scores = infer.infer(answers, "full", np.random.default_rng(0)).scores()
    draws = np.array(
        [np.concatenate([svec(m), w]) for m, w in zip(scores.metric, scores.linear, strict=True)]
    )
    truth = np.concatenate([svec(metric), v])
    assert (np.abs(draws.mean(axis=0) - truth) < 4 * draws.std(axis=0)).all()


def fisher(target: Target, z: FloatArray) -> FloatArray:
    """I + sum w (dp/dz)(dp/dz)' / p (1 - p), by differences of p."""
    step = 1e-5
    moves = step * np.eye(target.n)
    ahead, behind = (np.exp(target.log_probabilities(z + sign * moves)) for sign in (1, -1))
    slopes = (ahead - behind) / (2 * step)
    p = np.exp(target.log_probabilities(z[None]))[:, 0]
    return np.eye(target.n) + (slopes.T * (target.weights / (p * (1 - p)))) @ slopes


@pytest.mark.parametrize("rung", ["none", "identity", "diagonal", "signed"])
@pytest.mark.parametrize("lapse", [None, 0.0, 0.1])
def test_curvature_is_the_fisher_information_and_the_priors(rung: str, lapse: float | None) -> None:
    """Of the free unknowns."""
    target = target_of(weighted(person(2, 40, 10)), rung, lapse=lapse)
    z, moved = 0.5 * points(target, 1)[0], laplace.free(target)
    found = laplace.curvature(target, z, np.random.default_rng(0))
    exact = fisher(target, z)[np.ix_(moved, moved)]
    assert found == pytest.approx(exact, rel=1e-3, abs=1e-3 * np.abs(exact).max())


def test_curvature_of_a_full_metric_holds_turns_fast() -> None:
    """Beside the Fisher information, a great stiffness along the turns of the root and nothing else."""
    target = target_of(person(3, 60, 15), "full", lapse=0.02)
    z, moved = points(target, 1)[0], laplace.free(target)
    extra = laplace.curvature(target, z, np.random.default_rng(0)) - fisher(target, z)[np.ix_(moved, moved)]
    values, vectors = np.linalg.eigh(extra)
    stiff = values > 0.5 * laplace.STIFF
    unknowns = target.rung.turning(3) - 3 * 4 // 2
    assert stiff.sum() == unknowns
    assert np.abs(values[~stiff]).max() < 1.0
    turned = np.tile(z, (stiff.sum(), 1))
    turned[:, moved] += 1e-5 * vectors[:, stiff].T
    assert target.scores(turned).metric == pytest.approx(
        np.tile(target.scores(z[None]).metric, (len(turned), 1, 1)), abs=1e-8
    )


def test_draws_of_the_gaussian_have_the_inverse_curvature() -> None:
    """About the mode, and the scales stay where they are."""
    target = target_of(person(2, 60, 15), "diagonal", lapse=0.02)
    rng, mode, moved = np.random.default_rng(0), points(target, 1)[0], laplace.free(target)
    hessian = laplace.curvature(target, mode, rng)
    root = laplace.whitening(hessian)
    assert root @ root.T == pytest.approx(np.linalg.inv(hessian))
    draws = laplace.draw(target, mode, root, 20_000, rng)
    covariance = np.linalg.inv(hessian)
    assert np.cov(draws[:, moved].T) == pytest.approx(covariance, abs=0.05 * covariance.max())
    assert (np.delete(draws, moved, axis=1) == np.delete(mode, moved)).all()


def test_drawn_item_effects_have_their_inverse_information_given_all_else() -> None:
    """Where the features stay at the mode; draws of the other unknowns are as without effects."""
    plain = target_of(weighted(person(2, 28, 8, noise=0.2)), "none", lapse=0.02)
    target, rng = plain.with_effects(), np.random.default_rng(0)
    mode, moved = points(target, 1)[0], laplace.free(plain)
    root = laplace.whitening(laplace.curvature(plain, mode[: plain.n], rng))
    draws = laplace.draw(target, mode, root, 20_000, rng)
    covariance = np.linalg.inv(fisher(target, mode)[-8:, -8:])
    effects = laplace.draw(target, mode, 0 * root, 20_000, rng)[:, -8:]
    assert np.cov(effects.T) == pytest.approx(covariance, abs=0.05 * covariance.max())
    assert np.cov(draws[:, moved].T) == pytest.approx(root @ root.T, abs=0.05 * (root @ root.T).max())
    assert draws.mean(axis=0) == pytest.approx(mode, abs=0.05)


def test_very_many_item_effects_are_drawn_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the inverse of each one's own information."""
    monkeypatch.setattr(laplace, "MOST_EFFECTS", 7)
    plain = target_of(weighted(person(2, 28, 8, noise=0.2)), "none", lapse=0.02)
    target, rng = plain.with_effects(), np.random.default_rng(0)
    mode = points(target, 1)[0]
    root = laplace.whitening(laplace.curvature(plain, mode[: plain.n], rng))
    effects = laplace.draw(target, mode, 0 * root, 20_000, rng)[:, -8:]
    assert effects.var(axis=0) == pytest.approx(1 / np.diag(fisher(target, mode))[-8:], rel=0.05)
    assert np.abs(np.corrcoef(effects.T) - np.eye(8)).max() < 0.04


def test_where_curvature_is_lost_the_priors_takes_its_place() -> None:
    """No direction is wider than a priori."""
    root = laplace.whitening(np.diag([-1.0, 0.0, 4.0]))
    assert root @ root.T == pytest.approx(np.diag([1.0, 1.0, 0.25]))


# Foretelling


def test_more_answers_choose_the_draws_that_foretell_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chains go on from draws weighted by how likely the new answers are there."""
    answers, rng = person(2, 60, 30), np.random.default_rng(0)
    few = replace(answers, winners=answers.winners[:50], losers=answers.losers[:50], weights=np.ones(50))
    before = infer.infer(few, "full", rng)
    monkeypatch.setattr(infer, "REFRESH", Effort(chains=2000, warm_up=0, rounds=4))
    monkeypatch.setattr(infer, "_go_on", lambda target, start, *rest: start)
    starts: Any = infer.refresh(before, answers, rng)
    target = target_of(answers, "full")
    logs = target.log_probabilities(before.draws)[50:].sum(axis=0)
    chance = np.exp(logs - logs.max())
    foretold = target.log_probabilities(starts)[50:].sum(axis=0).mean()
    assert foretold == pytest.approx(chance @ logs / chance.sum(), abs=0.1)
    assert foretold > logs.mean() + 0.2


@pytest.mark.parametrize("rung", ["full", "none", "signed"])
def test_leave_one_out_is_near_to_cross_validation(rung: str) -> None:
    """Log loss and accuracy of answers not seen, without fitting again."""
    answers = person(2, 200, 40, seed=2)
    found = infer.infer(answers, rung, np.random.default_rng(0))
    accuracy, loss = found.leave_one_out()
    other_accuracy, other_loss = infer.cross_validate(
        answers, rung, np.random.default_rng(0), lapse=None, effect_size=0.0
    )
    assert loss == pytest.approx(other_loss, abs=0.04)
    assert accuracy == pytest.approx(other_accuracy, abs=0.06)
    told = np.exp(found.target.log_probabilities(found.draws)).mean(axis=1)
    assert loss > -np.log(told).mean()


def test_answers_disagree_with_the_features_only_where_items_have_effects() -> None:
    """A score test: about standard normal where there are none, large where they are strong."""
    rng, none, strong = np.random.default_rng(0), [], []
    for seed in range(6):
        truth = make_preferences(30, 2, 300, noise="logistic", random_state=seed)
        for effects, found in ((0.0, none), (2.0, strong)):
            s = truth.distances + effects * rng.standard_normal(30)
            first = rng.random(300) < expit(s[truth.pairs[:, 1]] - s[truth.pairs[:, 0]])
            ends = np.where(first[:, None], truth.pairs, truth.pairs[:, ::-1])
            answers = standard(Answers.collect(truth.items, *ends.T, np.ones(300)))
            found.append(infer.infer(answers, "full", rng, effort=infer.QUICK).disagreement())
    assert np.abs(none).max() < 4
    assert np.median(none) < 1 < 5 < np.median(strong)


def test_a_graph_without_features_is_a_target_too() -> None:
    """Where no feature varies, effects of items are all there is."""
    graph = ComparisonGraph(np.array([0, 1, 0]), np.array([1, 2, 2]), 3)
    target = Target(np.zeros((3, 0)), graph, np.ones(3), LADDER["items"], effects=True)
    mode = laplace.climb_effects(target, np.zeros(3), 1.0)
    effects = target.scores(mode.z[None]).effects
    assert effects is not None
    assert (np.diff(effects[0]) > 0.1).all()
