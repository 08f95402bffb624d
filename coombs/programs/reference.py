"""The programs of the papers written literally in CVXPY, P x P projector and all: the reference."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.programs.program import ConvergenceError

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.graph import Matrix, Vector
    from coombs.programs.constraint_sets import ConstraintSet
    from coombs.programs.shared_metric import PeoplesAnswers


def solve_metric(
    answers: Answers, loss: str, gammas: tuple[float, float, float], u: Vector | None, nonnegative: bool
) -> tuple[Matrix, Vector, float]:
    """(M, d, objective) of eq. (M_est), or of eq. (M_est2) when an ideal point u is given."""
    problem, m, d = metric_problem(answers, loss, gammas, u, nonnegative)
    value = solve_problem(problem)
    return np.asarray(m.value), np.asarray(d.value), value


def metric_problem(
    answers: Answers, loss: str, gammas: tuple[float, float, float], u: Vector | None, nonnegative: bool
) -> tuple[Any, Any, Any]:
    """The problem of `solve_metric` and its unknowns M and d."""
    cp = import_cvxpy()
    gamma1, gamma2, gamma3 = gammas
    r, s, q = _matrices(answers)
    m = cp.Variable((r.shape[1], r.shape[1]), PSD=True)
    d, zeta = cp.Variable(len(answers.items)), cp.Variable(len(r))
    residual = cp.sum(cp.multiply(s @ m, r), axis=1) - q @ d
    residual = residual - 2 * r @ m @ u if u is not None else _projector(answers, r) @ residual
    objective = loss_of(loss, q @ d, answers.weights) + gamma1 * answers.weights @ zeta
    objective += gamma2 * cp.sum_squares(m) + gamma3 * cp.sum_squares(d)
    constraints = [-zeta <= residual, residual <= zeta, zeta >= 0] + [d >= 0] * nonnegative
    return cp.Problem(cp.Minimize(objective), constraints), m, d


def solve_euclidean(answers: Answers, loss: str, gamma1: float, gamma2: float) -> tuple[Vector, float]:
    """(d, objective) of the paper's Euclidean Algorithm 1."""
    cp = import_cvxpy()
    r, s, q = _matrices(answers)
    d, zeta = cp.Variable(len(answers.items)), cp.Variable(len(r))
    residual = _projector(answers, r) @ ((s * r).sum(axis=1) - q @ d)
    objective = loss_of(loss, q @ d, answers.weights) + gamma1 * answers.weights @ zeta
    objective += gamma2 * cp.sum_squares(d)
    value = solve_problem(
        cp.Problem(cp.Minimize(objective), [-zeta <= residual, residual <= zeta, zeta >= 0])
    )
    return np.asarray(d.value), value


def solve_compass(answers: Answers, loss: str, ridge: float) -> tuple[Vector, float]:
    """(u, objective) of the paper's Euclidean Algorithm 2."""
    cp = import_cvxpy()
    r, s, _ = _matrices(answers)
    u = cp.Variable(r.shape[1])
    margins = (s * r).sum(axis=1) - 2 * r @ u
    value = solve_problem(
        cp.Problem(cp.Minimize(loss_of(loss, margins, answers.weights) + ridge * cp.sum_squares(u)))
    )
    return np.asarray(u.value), value


def _matrices(answers: Answers) -> tuple[Matrix, Matrix, Matrix]:
    """R, S and Q, with rows oriented so that every y_k is +1."""
    x, winners, losers = answers.items, answers.winners, answers.losers
    q = np.zeros((len(winners), len(x)))
    q[np.arange(len(winners)), losers] = 1.0
    q[np.arange(len(winners)), winners] = -1.0
    return x[losers] - x[winners], x[losers] + x[winners], q


def _projector(answers: Answers, r: Matrix) -> Matrix:
    """I - R R^+ in the inner product of the weights, for which repeats are weights."""
    root = np.sqrt(answers.weights)[:, None]
    result: Matrix = np.eye(len(r)) - r @ np.linalg.pinv(root * r) * root.T
    return result


def loss_of(name: str, margins: Any, weights: Vector) -> Any:
    """A loss of margins, weighted and summed."""
    cp = import_cvxpy()
    if name == "hinge":
        return weights @ cp.pos(1 - margins)
    if name == "squared_hinge":
        return weights @ cp.square(cp.pos(1 - margins))
    if name == "logistic":
        return weights @ cp.logistic(-margins)
    raise NotImplementedError(f"The loss {name!r} has no form in CVXPY.")


def solve_problem(problem: Any) -> float:
    """Its optimal value by Clarabel, or a ConvergenceError."""
    with warnings.catch_warnings():
        # Of an inaccurate solution, which is refused below.
        warnings.simplefilter("ignore", UserWarning)
        try:
            problem.solve(solver="CLARABEL")
        except (import_cvxpy().error.SolverError, ValueError) as error:
            raise ConvergenceError(f"CVXPY failed ({error}); the reference has no answer to give.") from error
    if problem.status != "optimal":
        raise ConvergenceError(f"CVXPY ended as {problem.status}; the reference has no answer to give.")
    return float(problem.value)


def import_cvxpy() -> Any:
    """The module, or a sentence about the extra that brings it."""
    try:
        import cvxpy
    except ImportError as error:
        message = 'solver="cvxpy" needs the reference solver; install it with: pip install "coombs[cvxpy]"'
        raise ImportError(message) from error
    return cvxpy


def solve_shared(
    answers: PeoplesAnswers, loss: str, constraint: ConstraintSet, metric: Matrix | None = None
) -> tuple[Matrix, Matrix, float]:
    """(M, everybody's v, objective), by Clarabel."""
    found, m, v = problem(answers, loss, constraint, metric)
    value = solve_problem(found)
    return np.asarray(m.value), np.asarray(v.value).T, value


def problem(
    answers: PeoplesAnswers, loss: str, constraint: ConstraintSet, metric: Matrix | None = None
) -> tuple[Any, Any, Any]:
    """The problem and its unknowns M and V = [v_1..v_K]; M is given where a metric is."""
    cp = import_cvxpy()
    m, v = _unknowns(answers, metric)
    won, lost = answers.items[answers.winners], answers.items[answers.losers]
    squares = cp.sum(cp.multiply(lost @ m, lost) - cp.multiply(won @ m, won), axis=1)
    margins = squares + cp.sum(cp.multiply(lost - won, v[:, answers.people].T), axis=1)
    objective = loss_of(loss, margins, answers.weights)
    return cp.Problem(cp.Minimize(objective), _constraints(m, v, constraint)), m, v


def literal_problem(answers: PeoplesAnswers, loss: str, constraint: ConstraintSet) -> tuple[Any, Any, Any]:
    """`problem`, written answer by answer."""
    cp = import_cvxpy()
    m, v = _unknowns(answers, None)
    objective = 0.0
    for winner, loser, k, weight in zip(
        answers.winners, answers.losers, answers.people, answers.weights, strict=True
    ):
        won, lost = answers.items[winner], answers.items[loser]
        margin = cp.quad_form(lost, m) - cp.quad_form(won, m) + v[:, int(k)] @ (lost - won)
        objective += weight * (cp.pos(1 - margin) if loss == "hinge" else cp.logistic(-margin))
    return cp.Problem(cp.Minimize(objective), _constraints(m, v, constraint)), m, v


def _unknowns(answers: PeoplesAnswers, metric: Matrix | None) -> tuple[Any, Any]:
    cp, d = import_cvxpy(), answers.items.shape[1]
    m = cp.Variable((d, d), PSD=True) if metric is None else cp.Constant(metric)
    return m, cp.Variable((d, answers.n_people))


def _constraints(m: Any, v: Any, constraint: ConstraintSet) -> list[Any]:
    """The constraint set, beside M >= 0."""
    cp, name = import_cvxpy(), constraint.name
    found: list[Any] = []
    if constraint.has_metric and name == "frobenius":
        found.append(cp.norm(m, "fro") <= constraint.radius)
    if constraint.has_metric and name in ("nuclear_metric", "nuclear_split"):
        found.append(cp.normNuc(m) <= constraint.radius)
    if name == "nuclear_full":
        found.append(cp.normNuc(cp.hstack([m, v])) <= constraint.radius)
    if name == "nuclear_split":
        found.append(cp.normNuc(v) <= constraint.own_radius)
    if name in ("frobenius", "nuclear_metric"):
        found += [cp.norm(v[:, k]) <= constraint.own_radius for k in range(v.shape[1])]
    return found
