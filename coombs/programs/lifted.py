"""The lifted convex program: one positive semidefinite matrix for metric and ideal point together.

With z = (x, 1) an item's score is z'Bz, B = [[M, -Mu], [-u'M, c]], linear in B, so that

    sum_k w_k loss(s_loser - s_winner) + strength |B|_F^2      (or strength trace B, for low rank)

is convex over B >= 0. Other kinds are the same with fewer entries or without the cone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coombs.programs.cone import outer_features, smat, svec
from coombs.programs.minimise import minimise
from coombs.programs.program import ConvergenceError, Program

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.graph import Matrix, Vector
    from coombs.programs.losses import Loss
    from coombs.programs.program import Solution

KINDS = ("none", "identity", "full", "signed")
"""Kinds of preference that are such a program."""
TRACE_RIDGE = 1e-4
"""The share of the trace penalty that a ridge adds to it: the cone's bound needs a curvature."""
SHRINK = 0.01
"""Share of the metric's largest eigenvalue that is added to all when the ideal point is solved for."""
FARTHEST = 1e6
"""Deviations of the items from their centre that an ideal point may be away, at most."""
STRENGTHS = tuple(10.0 ** np.arange(-4.0, 1.5))
"""Strengths of the penalty to choose from."""
FOLDS = 5
"""Parts that answers are cut into to choose one."""
SPARSE = 40
"""Pairs of items for each answer from which on the Laplacian is sparse."""


def program(
    answers: Answers, loss: Loss, strength: float, *, trace: bool = False, kind: str = "full"
) -> Program:
    """The program of one kind of preference; see `quadratic_of` for what its unknowns mean."""
    graph = answers.graph()
    n, d = answers.items.shape
    # Its Laplacian is only multiplied with, never factored: sparse where answers are few for the items.
    graph.dense = graph.dense and n * n < SPARSE * graph.n_answers
    squares, order = np.zeros((n, 0)), 0
    if kind == "full":
        features, order = outer_features(np.hstack([answers.items, np.ones((n, 1))])), d + 1
    elif kind == "identity":
        squares, order = (answers.items**2).sum(axis=1, keepdims=True), 1
    elif kind == "signed":
        squares = outer_features(answers.items)
    if kind != "full":
        features = np.hstack([squares, -2 * answers.items])
    linear, n_psd = np.zeros(features.shape[1]), order * (order + 1) // 2
    penalty = np.full(len(linear), strength)
    if trace:
        linear[:n_psd], penalty[:n_psd] = strength * svec(np.eye(order)), strength * TRACE_RIDGE
    return Program(
        graph,
        answers.weights,
        loss,
        np.asfortranarray(features - graph.piece_means(features)),
        order,
        penalty,
        linear,
        np.zeros(n),
        np.zeros((n, 0)),
        residual=False,
    )


def quadratic_of(y: Vector, d: int, kind: str) -> tuple[Matrix, Vector]:
    """(M, v) of scores x'Mx - 2 v'x, from the unknowns of a program."""
    if kind == "full":
        lifted = smat(y, d + 1)
        return lifted[:d, :d], -lifted[:d, d]
    if kind == "identity":
        return y[0] * np.eye(d), y[1:]
    return smat(y[:-d], d) if kind == "signed" else np.zeros((d, d)), y[-d:]


def shrunk_ideal(metric: Matrix, v: Vector, shrink: float = SHRINK) -> Vector:
    """u = (M + shrink lambda_max I)^-1 v: where M hardly sees, u stays near the centre."""
    values, vectors = np.linalg.eigh(metric)
    floor = shrink * max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)
    # No farther than that, or distances would lose their digits.
    floor = max(floor, float(np.linalg.norm(v)) / FARTHEST)
    # Away from zero on either side, for a signed metric.
    values = values + np.where(values < 0, -floor, floor)
    result: Vector = vectors @ ((vectors.T @ v) / values)
    return result


def choose_strength(
    answers: Answers, loss: Loss, rng: np.random.Generator, *, trace: bool = False, kind: str = "full"
) -> float:
    """The strength with the least loss on answers left out, cut by unordered pair."""
    folds = list(answers.folds(FOLDS, rng))
    totals = [
        sum(_left_out(kept, left, loss, strength, trace, kind) for kept, left in folds)
        for strength in STRENGTHS
    ]
    return float(STRENGTHS[int(np.argmin(totals))] if folds else STRENGTHS[len(STRENGTHS) // 2])


def _left_out(kept: Answers, left: Answers, loss: Loss, strength: float, trace: bool, kind: str) -> float:
    """The loss on answers left out."""
    whole = program(kept, loss, strength, trace=trace, kind=kind)
    try:
        scores: Vector = whole.features @ minimise(whole, tol=1e-4).y
    except ConvergenceError:
        return np.inf
    return float(loss.value(left.graph().differences(scores), left.weights))


def solve(
    answers: Answers, loss: Loss, strength: float, *, trace: bool, kind: str, tol: float, max_iter: int
) -> tuple[Matrix, Vector, Solution]:
    """(M, v) of the optimum, and how it ended."""
    solution = minimise(program(answers, loss, strength, trace=trace, kind=kind), "auto", tol, max_iter)
    return *quadratic_of(solution.y, answers.items.shape[1], kind), solution
