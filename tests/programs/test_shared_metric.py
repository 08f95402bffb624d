"""One metric for many people: the optimum against CVXPY, the certificate, laws, the solver's parts."""

from __future__ import annotations

import numpy as np
import pytest
from cases import some_slow
from hypothesis import given, settings
from hypothesis import strategies as st

from coombs import Status
from coombs.programs import reference, shared_interior
from coombs.programs.arrow import Arrow, Unknowns
from coombs.programs.constraint_sets import SETS, ConstraintSet
from coombs.programs.losses import LOSSES
from coombs.programs.minimise import minimise_shared
from coombs.programs.program import ConvergenceError
from coombs.programs.scaled_cones import Array, Orthant, SecondOrder, Semidefinite, packed
from coombs.programs.shared_metric import PeoplesAnswers, SharedProgram, SharedSolution

LOSS_NAMES = ("hinge", "logistic")
KINDS = [Orthant, SecondOrder, Semidefinite]
every_set = pytest.mark.parametrize("name", SETS)
some_sets = pytest.mark.parametrize("name", some_slow(SETS, fast=["nuclear_full", "psd"]))
every_loss = pytest.mark.parametrize("loss", LOSS_NAMES)
laws = settings(max_examples=5, deadline=None)
SEEDS = st.integers(0, 10**6)


def people(seed: int, d: int = 3, n_people: int = 4, answers: int = 18) -> PeoplesAnswers:
    """People who share a metric; all contradict themselves a little, so every program has a minimum."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((14, d))
    who = np.repeat(np.arange(n_people), answers)
    winners = rng.integers(0, len(items), len(who))
    losers = (winners + rng.integers(1, len(items), len(who))) % len(items)
    root = rng.standard_normal((d, d))
    ideals = rng.standard_normal((n_people, d))
    far = [
        np.einsum("ni,ij,nj->n", items[i] - ideals[who], root @ root.T, items[i] - ideals[who])
        for i in (winners, losers)
    ]
    swap = (far[0] > far[1]) ^ (rng.random(len(who)) < 0.2)
    first, second = np.where(swap, losers, winners), np.where(swap, winners, losers)
    both = np.concatenate([first, second]), np.concatenate([second, first])
    weights = rng.integers(1, 4, len(who)).astype(float)
    weights = np.concatenate([weights, 0.2 * weights])
    return PeoplesAnswers.collect(items, *both, weights, np.tile(who, 2), n_people)


def constraint(name: str, answers: PeoplesAnswers, radius: float = 1.5, own: float = 1.0) -> ConstraintSet:
    """A set that binds at these sizes."""
    radii = {"psd": (), "nuclear_full": (2 * radius,), "nuclear_split": (radius, 2 * own)}
    return ConstraintSet(name, answers.items.shape[1], answers.n_people, *radii.get(name, (radius, own)))


def program(name: str, loss: str, answers: PeoplesAnswers, **radii: float) -> SharedProgram:
    """The program of these answers."""
    return SharedProgram.of(answers, LOSSES[loss], constraint(name, answers, **radii))


def solve(name: str, loss: str, answers: PeoplesAnswers, tol: float = 1e-8) -> SharedSolution:
    """Its optimum."""
    found = shared_interior.solve(program(name, loss, answers), tol)
    assert found.status is Status.OPTIMAL
    return found


def norms(name: str, found: SharedSolution) -> tuple[float, ...]:
    """What the set bounds."""
    metric, own = found.metric, found.directions
    longest = float(np.linalg.norm(own, axis=1).max())
    values = {
        "frobenius": (float(np.linalg.norm(metric)), longest),
        "nuclear_metric": (float(np.trace(metric)), longest),
        "nuclear_split": (float(np.trace(metric)), float(np.linalg.norm(own, "nuc"))),
        "nuclear_full": (float(np.linalg.norm(np.hstack([metric, own.T]), "nuc")),),
    }
    return values.get(name, ())


@every_set
@every_loss
@pytest.mark.parametrize("seed", [0, 1])
def test_optimum_equals_cvxpy(name: str, loss: str, seed: int) -> None:
    """The same objective, M and v as the program written in CVXPY."""
    answers = people(seed, d=2 + seed)
    bounds = constraint(name, answers)
    ours = solve(name, loss, answers)
    metric, own, value = reference.solve_shared(answers, loss, bounds)
    assert ours.gap <= 1e-8
    assert ours.objective == pytest.approx(value, rel=1e-6, abs=1e-7)
    if loss == "logistic":
        # Strictly convex in the margins: M and v are unique, not the objective alone.
        assert ours.metric == pytest.approx(metric, abs=2e-3)
        assert ours.directions == pytest.approx(own, abs=2e-3)


@every_set
@pytest.mark.parametrize(("d", "n_people"), [(1, 1), (1, 3), (4, 1)])
def test_optimum_of_one_feature_or_one_person_equals_cvxpy(name: str, d: int, n_people: int) -> None:
    """The smallest programs there are."""
    answers = people(8, d=d, n_people=n_people)
    _, _, value = reference.solve_shared(answers, "logistic", constraint(name, answers))
    assert solve(name, "logistic", answers).objective == pytest.approx(value, rel=1e-6)


@every_set
@every_loss
def test_optimum_is_in_its_set(name: str, loss: str) -> None:
    """M >= 0, and every norm within its radius."""
    answers = people(3)
    found, bounds = solve(name, loss, answers), constraint(name, answers)
    assert np.linalg.eigvalsh(found.metric).min() >= 0
    for value, radius in zip(norms(name, found), (bounds.radius, bounds.own_radius), strict=False):
        assert value <= radius * (1 + 1e-12)


@every_loss
def test_terms_of_single_answers_are_the_same_program(loss: str) -> None:
    """The literal sum and the one with arrays have the same value."""
    answers = people(2, d=2, n_people=2, answers=6)
    bounds = constraint("frobenius", answers)
    literal, _, _ = reference.literal_problem(answers, loss, bounds)
    assert literal.solve(solver="CLARABEL") == pytest.approx(
        solve("frobenius", loss, answers).objective, rel=1e-5
    )


@every_loss
@pytest.mark.parametrize("name", ["frobenius", "nuclear_metric", "nuclear_split"])
def test_optimum_with_a_given_metric_equals_cvxpy(name: str, loss: str) -> None:
    """Where M is given, everybody's v alone is learned."""
    answers, metric = people(4), np.diag([1.0, 0.5, 2.0]) / 4
    bounds = ConstraintSet(name, 3, answers.n_people, 1.0, 1.5, has_metric=False)
    ours = shared_interior.solve(SharedProgram.of(answers, LOSSES[loss], bounds, metric))
    _, own, value = reference.solve_shared(answers, loss, bounds, metric)
    assert ours.status is Status.OPTIMAL
    assert ours.objective == pytest.approx(value, rel=1e-6)
    if loss == "logistic":
        assert ours.directions == pytest.approx(own, abs=2e-3)


@every_set
@every_loss
@laws
@given(seed=SEEDS)
def test_no_point_of_the_set_is_below_a_bound(name: str, loss: str, seed: int) -> None:
    """Any prices in their box bound every point of the set, near the optimum or not."""
    rng = np.random.default_rng(seed)
    problem = program(name, loss, people(seed))
    prices = rng.uniform(0.0, 1.0, len(problem.own)) * problem.weights
    inside = problem.constraint.start(1.0)
    x = Unknowns(rng.uniform(0, 1) * inside.shared, rng.uniform(-1, 1, inside.own.shape))
    limits = norms(name, SharedSolution(problem.metric(x), problem.directions(x), Status.OPTIMAL, 0, 0, 0))
    shrink = min(
        [
            1.0,
            *(
                r / v
                for r, v in zip(
                    (problem.constraint.radius, problem.constraint.own_radius), limits, strict=False
                )
            ),
        ]
    )
    x = Unknowns(shrink * x.shared, shrink * x.own)
    guide = rng.standard_normal((3, 3))
    assert problem.bound(prices, x, guide) <= problem.value(x) + 1e-12


@some_sets
@every_loss
@laws
@given(seed=SEEDS)
def test_order_of_people_and_features_does_not_matter(name: str, loss: str, seed: int) -> None:
    """Permuted people and features give permuted results."""
    answers, rng = people(seed), np.random.default_rng(seed)
    columns, who = rng.permutation(3), rng.permutation(answers.n_people)
    place = np.argsort(who)
    other = PeoplesAnswers.collect(
        answers.items[:, columns],
        answers.winners,
        answers.losers,
        answers.weights,
        place[answers.people],
        answers.n_people,
    )
    first, second = solve(name, loss, answers), solve(name, loss, other)
    assert second.objective == pytest.approx(first.objective, rel=3e-8)
    if loss == "logistic":
        assert second.metric == pytest.approx(first.metric[np.ix_(columns, columns)], abs=5e-3)
        assert second.directions == pytest.approx(first.directions[who][:, columns], abs=5e-3)


@some_sets
@every_loss
@laws
@given(seed=SEEDS)
def test_repeated_answers_are_weights(name: str, loss: str, seed: int) -> None:
    """An answer given twice counts as one with twice the weight."""
    answers = people(seed)
    times = np.random.default_rng(seed).integers(1, 4, len(answers.winners))
    rows = np.repeat(np.arange(len(times)), times)
    repeated, weighted = (
        PeoplesAnswers.collect(
            answers.items, answers.winners[i], answers.losers[i], mass, answers.people[i], answers.n_people
        )
        for i, mass in ((rows, np.ones(len(rows))), (np.arange(len(times)), times.astype(float)))
    )
    assert len(repeated.winners) == len(weighted.winners)
    assert solve(name, loss, repeated).objective == pytest.approx(
        solve(name, loss, weighted).objective, rel=3e-8
    )


@every_loss
def test_bounds_that_do_not_bind_change_nothing(loss: str) -> None:
    """With large radii every set has the optimum of `psd`."""
    answers = people(5)
    free = solve("psd", loss, answers).objective
    for name in SETS[:-1]:
        wide = shared_interior.solve(program(name, loss, answers, radius=300.0, own=300.0))
        assert wide.objective == pytest.approx(free, rel=1e-6)


@every_loss
def test_larger_radius_has_no_larger_optimum(loss: str) -> None:
    """Sets grow with their radii, so optima fall."""
    answers = people(6)
    values = [
        shared_interior.solve(program("nuclear_full", loss, answers, radius=r)).objective
        for r in (0.1, 0.5, 2.0)
    ]
    assert values[0] > values[1] > values[2]


@every_set
def test_people_of_very_different_diligence_are_fitted(name: str) -> None:
    """One answer here, sixty there, and somebody with none: blocks of unequal length."""
    base = people(7, n_people=5, answers=60)
    kept = (base.people == 2) | ((base.people == 1) & (np.cumsum(base.people == 1) <= 1))
    kept |= (base.people == 4) & (np.cumsum(base.people == 4) <= 9)
    answers = PeoplesAnswers.collect(
        base.items, base.winners[kept], base.losers[kept], base.weights[kept], base.people[kept], 5
    )
    ours = shared_interior.solve(program(name, "hinge", answers))
    _, _, value = reference.solve_shared(answers, "hinge", constraint(name, answers))
    assert ours.status is Status.OPTIMAL
    assert ours.objective == pytest.approx(value, rel=1e-6)


def test_too_few_iterations_are_not_passed_off_as_an_optimum() -> None:
    """The status says so, and `minimise_shared` raises with the gap."""
    problem = program("nuclear_full", "hinge", people(0))
    assert shared_interior.solve(problem, max_iter=3).status is Status.MAX_ITERATIONS
    with pytest.raises(ConvergenceError, match="max_iterations after 3 iterations with a relative gap"):
        minimise_shared(problem, max_iter=3)


def inside(kind: type, rng: np.random.Generator, n: int = 3) -> Array:
    """Points well inside five cones of a kind."""
    if kind is Orthant:
        return rng.uniform(0.1, 3.0, (5, 1))
    if kind is SecondOrder:
        rest = rng.standard_normal((5, n))
        return np.hstack([np.linalg.norm(rest, axis=1, keepdims=True) + rng.uniform(0.1, 1, (5, 1)), rest])
    roots = rng.standard_normal((5, n, n))
    return packed(roots @ roots.swapaxes(1, 2) + 0.1 * np.eye(n))


@pytest.mark.parametrize("kind", KINDS)
@laws
@given(seed=SEEDS)
def test_scaling_makes_primal_and_dual_alike(kind: type, seed: int) -> None:
    """G^-1 s = G' z = lam, the Hessian maps s to z, and <s, z> is |lam|^2."""
    rng = np.random.default_rng(seed)
    s, z = inside(kind, rng), inside(kind, rng)
    scaling = kind(s, z)
    assert scaling.to_scaled(s) == pytest.approx(scaling.lam(), abs=1e-8)
    assert scaling.from_scaled_dual(scaling.lam()) == pytest.approx(z, abs=1e-8)
    every = np.arange(s.shape[1])
    assert np.einsum("kij,kj->ki", scaling.block(every, every), s) == pytest.approx(z, rel=1e-6, abs=1e-8)
    assert scaling.total(every) == pytest.approx(scaling.block(every, every).sum(axis=0))
    assert np.vdot(s, z) == pytest.approx(np.vdot(scaling.lam(), scaling.lam()))


@pytest.mark.parametrize("kind", KINDS)
@laws
@given(seed=SEEDS)
def test_longest_step_ends_at_the_boundary(kind: type, seed: int) -> None:
    """Just before it the point can be scaled, just behind it not."""
    rng = np.random.default_rng(seed)
    s, z = inside(kind, rng), inside(kind, rng)
    step = rng.standard_normal(s.shape)
    inverse = kind(s, z).inverse_step(kind(s, z).to_scaled(step))
    scaling, scaled = kind(s, z), kind(s, z).to_scaled(step)
    dual = -scaling.lam() - scaled
    assert scaling.affine_inverse_step(scaled) == pytest.approx(scaling.inverse_step(scaled, dual))
    if inverse <= 0.05:
        return
    kind(s + 0.999 / inverse * step, z)
    with np.errstate(invalid="ignore"):
        behind = s + 1.001 / inverse * step
        if kind is Orthant:
            assert behind.min() < 0
        else:
            with pytest.raises(np.linalg.LinAlgError):
                kind(behind, z)


@pytest.mark.parametrize("kind", KINDS)
def test_correction_solves_the_jordan_equation(kind: type) -> None:
    """For no second-order term and aim mu: along the central path nothing is left to correct."""
    s = inside(kind, np.random.default_rng(0))
    scaling = kind(s, 0.3 * kind.inverse(s))
    nothing = np.zeros_like(scaling.lam())
    assert scaling.corrected(0.3, nothing, nothing) == pytest.approx(nothing, abs=1e-12)


@pytest.mark.parametrize("with_row", [False, True])
def test_arrow_solve_equals_a_dense_solve(with_row: bool) -> None:
    """Elimination of people gives the solution of the whole matrix."""
    rng = np.random.default_rng(0)
    p, k, q = 4, 3, 2
    size = p + k * q
    system, whole = Arrow(p, k, q), np.zeros((size, size))
    for one in range(k):
        root = rng.standard_normal((p + q, p + q + 2))
        block = root @ root.T
        system.shared += block[:p, :p]
        system.cross[one] += block[p:, :p]
        system.own[one] += block[p:, p:]
        at = np.r_[0:p, p + one * q : p + one * q + q]
        whole[np.ix_(at, at)] += block
    if with_row:
        row = Unknowns(rng.standard_normal(p), rng.standard_normal((k, q)))
        flat = np.concatenate([row.shared, row.own.ravel()])
        system.add_row(row, 7.0)
        whole += 7.0 * np.outer(flat, flat)
    system.factor()
    rhs = rng.standard_normal(size)
    found = system.solve(Unknowns(rhs[:p], rhs[p:].reshape(k, q)))
    assert np.concatenate([found.shared, found.own.ravel()]) == pytest.approx(np.linalg.solve(whole, rhs))
    if with_row:
        assert found.along == pytest.approx(row.dot(found))
