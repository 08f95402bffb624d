"""What a user would do otherwise: the paper's program in CVXPY, literally or structured by hand."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array

from coombs.data.answers import Answers
from coombs.programs import reference
from coombs.simulate import Preferences

GAMMAS = (2.0, 0.002, 0.001)


def collected(truth: Preferences) -> Answers:
    """The answers, winner first."""
    data = truth.comparisons
    return Answers.collect(data.items, *data.oriented())


def literal(truth: Preferences) -> float:
    """The paper's eq. (M_est) as it stands, with its P x P projector; returns the optimum."""
    problem, _, _ = reference.metric_problem(collected(truth), "hinge", GAMMAS, None, False)
    return solved(problem)


def item_space(truth: Preferences) -> float:
    """The same program with the projector replaced by unknowns: sparse, O(P) rows; returns the optimum."""
    gamma1, gamma2, gamma3 = GAMMAS
    answers = collected(truth)
    x, p, (n, d) = answers.items, len(answers.winners), answers.items.shape
    rows = np.concatenate([np.arange(p), np.arange(p)])
    ends = np.concatenate([answers.losers, answers.winners])
    q = csr_array((np.concatenate([np.ones(p), -np.ones(p)]), (rows, ends)), shape=(p, n))
    squares = np.einsum("ij,ik->ijk", x, x).reshape(n, d * d)
    metric, r = cp.Variable((d, d), PSD=True), cp.Variable(p)
    distances, w = cp.Variable(n), cp.Variable(d)
    objective = cp.sum(cp.pos(1 - q @ distances)) + gamma1 * cp.norm1(r)
    objective += gamma2 * cp.sum_squares(metric) + gamma3 * cp.sum_squares(distances)
    explained = squares @ cp.vec(metric, order="C") - distances - x @ w
    problem = cp.Problem(cp.Minimize(objective), [r == q @ explained, (q @ x).T @ r == 0])
    return solved(problem)


def solved(problem: cp.Problem) -> float:
    """The optimum as far as Clarabel gets, which at d = 10 it calls inaccurate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(problem.solve(solver="CLARABEL"))
