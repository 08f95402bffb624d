"""The lifted convex program and the answers it is given, against CVXPY, scikit-learn and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import person, weighted
from sklearn.linear_model import LogisticRegression

from coombs import ConvexIdealPoint
from coombs.data.answers import Answers
from coombs.data.tables import FloatArray
from coombs.programs import lifted
from coombs.programs.losses import LOSSES
from coombs.programs.minimise import minimise
from coombs.simulate import make_preferences, squared_distances

laws = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 10**6)

# Answers


def scrambled(seed: int) -> tuple[Answers, Answers, FloatArray]:
    """Weighted answers, the same with items and rows in another order, and that order of the items."""
    rng = np.random.default_rng(seed)
    items, rows = rng.normal(size=(14, 3)), rng.integers(0, 14, (25, 2))
    rows = rows[rows[:, 0] != rows[:, 1]]
    weights = rng.uniform(0.5, 2.0, len(rows))
    order, other = rng.permutation(14), rng.permutation(len(rows))
    moved = np.argsort(order)[rows][other]
    one = Answers.collect(items, *rows.T, weights)
    return one, Answers.collect(items[order], *moved.T, weights[other]), order


@laws
@given(seed=SEEDS)
def test_canonical_answers_do_not_know_the_order_they_came_in(seed: int) -> None:
    """Items, winners, losers are the same arrays; only what an item was called differs."""
    before, after, order = scrambled(seed)
    one, two = before.canonical(), after.canonical()
    assert (one.items == two.items).all()
    assert (one.winners == two.winners).all() and (one.losers == two.losers).all()
    assert one.weights == pytest.approx(two.weights)
    assert (one.touched == order[two.touched]).all()


@laws
@given(seed=SEEDS)
def test_canonical_answers_are_the_same_answers(seed: int) -> None:
    """About the same items of the table; and they are canonical already."""
    one, _, _ = scrambled(seed)
    two = one.canonical()
    named = [
        sorted(zip(a.touched[a.winners], a.touched[a.losers], a.weights, strict=True)) for a in (one, two)
    ]
    assert named[0] == named[1]
    assert (one.scatter(one.items[:, 0]) == two.scatter(two.items[:, 0])).all()
    again = two.canonical()
    assert (again.items == two.items).all() and (again.winners == two.winners).all()


def test_answers_about_items_without_features_stay_as_they_are() -> None:
    answers = Answers.collect(np.zeros((3, 0)), np.array([2, 0]), np.array([1, 1]), np.ones(2))
    assert answers.canonical() is answers


@laws
@given(seed=SEEDS)
def test_weights_of_other_answers_are_found_whatever_their_order(seed: int) -> None:
    """Zero for those that are missing, also where fewer items are touched."""
    whole, _, _ = scrambled(seed)
    kept = np.random.default_rng(seed).random(len(whole.winners)) < 0.7
    kept[0] = True
    ends = whole.touched[whole.winners], whole.touched[whole.losers]
    table = np.zeros((whole.n_items, 3))
    table[whole.touched] = whole.items
    part = Answers.collect(table, ends[0][kept], ends[1][kept], 2 * whole.weights[kept])
    expected = np.where(kept, 2 * whole.weights, 0.0)
    assert part.weights_of(whole) == pytest.approx(expected)
    assert part.canonical().weights_of(whole) == pytest.approx(expected)
    assert part.canonical().weights_of(whole.canonical()).sum() == pytest.approx(expected.sum())
    assert (whole.weights_of(part) == whole.weights[kept]).all()


# The lifted convex program


def by_cvxpy(answers: Answers, loss: str, strength: float, trace: bool, kind: str) -> float:
    """The program's optimum by CVXPY, from its definition."""
    cp = pytest.importorskip("cvxpy")
    x, (winners, losers) = answers.items, (answers.winners, answers.losers)
    d = x.shape[1]
    away, constraints, linear = x[losers] - x[winners], [], 0
    if kind == "full":
        z = np.hstack([x, np.ones((len(x), 1))])
        lifted_z = np.einsum("ni,nj->nij", z, z).reshape(len(z), -1)
        unknown = cp.Variable((d + 1, d + 1), PSD=True)
        margins = (lifted_z[losers] - lifted_z[winners]) @ cp.vec(unknown, order="C")
        squares, linear, free = cp.sum_squares(unknown), cp.trace(unknown), 0
    else:
        v, squares = cp.Variable(d), 0
        margins, free = -2 * away @ v, cp.sum_squares(v)
    if kind == "identity":
        size, lengths = cp.Variable(), (x**2).sum(axis=1)
        constraints = [size >= 0]
        margins = margins + size * (lengths[losers] - lengths[winners])
        squares, linear = cp.square(size), size
    if kind == "signed":
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


@pytest.mark.parametrize("kind", lifted.KINDS)
@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_lifted_program_has_the_optimum_that_cvxpy_finds(loss: str, trace: bool, kind: str) -> None:
    """Objective to 1e-6, and what the unknowns mean gives that objective too."""
    answers, strength = weighted(person(2, 40, 15, noise=0.1)), 0.1
    program = lifted.program(answers, LOSSES[loss], strength, trace=trace, kind=kind)
    solution = minimise(program)
    assert solution.objective == pytest.approx(by_cvxpy(answers, loss, strength, trace, kind), rel=1e-6)
    metric, v = lifted.quadratic_of(solution.y, 2, kind)
    s = np.einsum("ni,ij,nj->n", answers.items, metric, answers.items) - 2 * answers.items @ v
    value = LOSSES[loss].value(s[answers.losers] - s[answers.winners], answers.weights)
    penalty = program.penalty @ solution.y**2 + program.linear @ solution.y
    assert value + penalty == pytest.approx(solution.objective, rel=1e-9)
    if kind in ("full", "identity"):
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
        lifted.solve(answers, LOSSES["logistic"], strength, trace=trace, kind="full", tol=1e-8, max_iter=300)
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


# Limits


def test_a_linear_preference_is_a_logistic_regression() -> None:
    """Score -2 v'x with penalty |v|^2: coefficients w = 2 v of differences, C = 2 / strength."""
    truth, strength = make_preferences(30, 3, 150, noise="logistic", random_state=0), 0.3
    items = truth.items * [1.0, 10.0, 0.1] + [5.0, 0.0, -1.0]
    est = ConvexIdealPoint(items, metric="none", regularization=strength).fit(truth.pairs, truth.y)
    x = (items - items.mean(axis=0)) / items.std(axis=0)
    differences = x[truth.pairs[:, 0]] - x[truth.pairs[:, 1]]
    theirs = LogisticRegression(fit_intercept=False, C=2 / strength, tol=1e-10, max_iter=10_000)
    theirs.fit(differences, truth.y)
    assert est.slope_ is not None
    assert -est.slope_ * items.std(axis=0) == pytest.approx(theirs.coef_[0], abs=1e-4)
    assert est.predict_proba(truth.pairs) == pytest.approx(theirs.predict_proba(differences), abs=1e-4)
