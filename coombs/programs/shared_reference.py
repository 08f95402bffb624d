"""The programs of Canal, Mason, Vinayak & Nowak (2022) written in CVXPY: the reference.

`problem` is as somebody who knows CVXPY would write them, with arrays; `literal_problem` adds one term an
answer, as the paper's sum reads. Slow on purpose; nothing here is shared with the fast road. Needs the
extra [cvxpy].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.programs.reference import import_cvxpy, loss_of, solve_problem

if TYPE_CHECKING:
    from coombs.data.graph import Matrix
    from coombs.programs.constraint_sets import ConstraintSet
    from coombs.programs.shared_metric import PeoplesAnswers


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
    """The same, answer by answer."""
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
