"""The paper's programs, written as instances of `Program`, and the way back.

Features are centred and rotated to principal axes of unit size first: x = centre + V diag(sigma) z.
With M = V diag(1/sigma) N diag(1/sigma) V' the penalty |M|_F^2 stays diagonal in the entries of N,
so nothing is lost and every scale of features becomes the same problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.graph import ComparisonGraph
from coombs.programs.cone import outer_features, smat, triangle
from coombs.programs.program import Program

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.graph import Matrix, Vector
    from coombs.programs.losses import Loss
    from coombs.programs.program import Solution

RANK = 1e-13
"""Principal axes shorter than this share of the longest are rounding errors of the features."""
RANK_ANSWERS = 1e-10
"""Principal axes of the compared differences shorter than this share of the longest are rounding errors."""

SMALLEST_VARIANCE = 1e-9
"""Variance given to a category of which all compared items have the same level."""


@dataclass(frozen=True)
class Axes:
    """Principal axes of the items about a centre: points = centre + coordinates diag(sizes) axes'."""

    coordinates: Matrix
    sizes: Vector
    axes: Matrix

    @classmethod
    def about(cls, deviations: Matrix) -> Axes:
        """Axes of items given as deviations from the centre, those of zero size left out."""
        _, sizes, vt = np.linalg.svd(deviations, full_matrices=False)
        sizes = sizes / np.sqrt(len(deviations))
        keep = sizes > RANK * sizes.max(initial=0.0)
        axes = vt[keep].T
        return cls(deviations @ axes / sizes[keep], sizes[keep], axes)

    def metric(self, psd: Vector) -> Matrix:
        """M in the user's coordinates, from svec N."""
        values, vectors = np.linalg.eigh(smat(psd, len(self.sizes)))
        root = (self.axes / self.sizes) @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        result: Matrix = root @ root.T
        return result

    def penalty(self, gamma2: float) -> Vector:
        """gamma2 |M|_F^2 as coefficients of the squared entries of svec N."""
        t = triangle(len(self.sizes))
        result: Vector = gamma2 / (self.sizes[t.rows] * self.sizes[t.columns]) ** 2
        return result


def centred(items: Matrix) -> tuple[Matrix, Vector]:
    """Deviations from the mean and the mean; constant columns come out exactly zero."""
    from_first = items - items[0]
    shift = from_first.mean(axis=0)
    return from_first - shift, items[0] + shift


@dataclass(frozen=True)
class Formulation:
    """A program and the coordinates its unknowns are in."""

    program: Program
    axes: Axes | None = None

    def metric(self, y: Vector) -> Matrix:
        """The metric among the unknowns."""
        assert self.axes is not None
        return self.axes.metric(y[: self.program.n_psd])


def metric_program(
    answers: Answers,
    loss: Loss,
    gammas: tuple[float, float, float],
    ideal_point: Vector | None,
    nonnegative: bool,
) -> Formulation:
    """The program for (M, d): eq. (M_est) of the paper, or eq. (M_est2) when an ideal point is given."""
    gamma1, gamma2, gamma3 = gammas
    graph = answers.graph()
    if ideal_point is None:
        axes = Axes.about(centred(answers.items)[0])
        absorbed, normals = _projector(graph, answers.weights, axes.coordinates)
    else:
        axes = Axes.about(answers.items - ideal_point)
        absorbed = normals = np.zeros((graph.n_items, 0))
    if ideal_point is None and graph.n_answers <= normals.shape[1]:
        # I - R R^+ is zero: no residual, and nothing that M could explain.
        axes = Axes(axes.coordinates[:, :0], axes.sizes[:0], axes.axes[:, :0])
        absorbed, normals, gamma1 = absorbed[:, :0], normals[:, :0], 0.0
    features = np.hstack([outer_features(axes.coordinates), -absorbed])
    features -= graph.piece_means(features)
    penalty = np.concatenate([axes.penalty(gamma2), np.zeros(absorbed.shape[1])])
    program = Program(
        graph,
        answers.weights,
        loss,
        np.asfortranarray(features),
        len(axes.sizes),
        penalty,
        np.zeros_like(penalty),
        np.zeros(graph.n_items),
        normals,
        gamma1,
        gamma3,
        nonnegative=nonnegative,
    )
    return Formulation(program, axes)


def level_metric(answers: Answers, distances: Vector) -> Matrix:
    """A metric along the levels of categories, of the size that one of the features typically has.

    Squares of 0 and 1 are 0 and 1: diag(S M R') of a diagonal M on levels is R m, which I - R R^+ takes away.
    So the program leaves it 0, by gamma2 alone, and no u could say which level is better. Any other M there
    has the same residual; this one lets u do so, as far as alpha and the distances say.
    """
    n_columns = answers.items.shape[1]
    diagonal = np.zeros(n_columns)
    variances = answers.items.var(axis=0)
    n_features = n_columns - sum(len(block) - 1 for block in answers.levels.blocks)
    for block, present in zip(*answers.levels, strict=True):
        columns, spread = list(block), distances.std() / np.sqrt(n_features)
        # Marks of single items are no category.
        diagonal[columns] = bool(present) * spread / max(float(variances[columns].sum()), SMALLEST_VARIANCE)
    return np.diag(diagonal)


def says_nothing(program: Program, solution: Solution) -> bool:
    """Whether M = 0 and d = 0 are no worse, as where every answer is contradicted."""
    nothing = program.loss.value(np.zeros(program.graph.n_answers), program.weights)
    return nothing <= solution.objective


def euclidean_program(answers: Answers, loss: Loss, gamma1: float, gamma2: float) -> Formulation:
    """The paper's Euclidean Algorithm 1: d alone, M being the identity."""
    graph = answers.graph()
    deviations, _ = centred(answers.items)
    absorbed, normals = _projector(graph, answers.weights, Axes.about(deviations).coordinates)
    squares = (deviations**2).sum(axis=1)
    if graph.n_answers <= normals.shape[1]:
        absorbed, normals, gamma1 = absorbed[:, :0], normals[:, :0], 0.0
        squares = np.zeros_like(squares)
    features = -(absorbed - graph.piece_means(absorbed))
    nothing = np.zeros(absorbed.shape[1])
    return Formulation(
        Program(
            graph,
            answers.weights,
            loss,
            np.asfortranarray(features),
            0,
            nothing,
            nothing,
            squares - graph.piece_means(squares),
            normals,
            gamma1,
            gamma2,
        )
    )


def compass_program(answers: Answers, loss: Loss, ridge: float) -> tuple[Formulation, Vector]:
    """The paper's Euclidean Algorithm 2: u alone. The unknown is u less the returned centre."""
    graph = answers.graph()
    deviations, centre = centred(answers.items)
    program = Program(
        graph,
        answers.weights,
        loss,
        np.asfortranarray(-2.0 * deviations),
        0,
        np.full(len(centre), ridge),
        2.0 * ridge * centre,
        (deviations**2).sum(axis=1),
        np.zeros((graph.n_items, 0)),
        residual=False,
    )
    return Formulation(program), centre


def _projector(graph: ComparisonGraph, weights: Vector, coordinates: Matrix) -> tuple[Matrix, Matrix]:
    """(U, T) with r - Q U T' rho the part of r = Q rho that no ideal point explains.

    The columns of Q U are an orthonormal basis of the range of R in the inner product of the
    weights (a thin SVD, never R'R), and T = Q' W Q U.
    """
    root = np.sqrt(weights)[:, None]
    _, sizes, vt = np.linalg.svd(root * graph.differences(coordinates.T).T, full_matrices=False)
    keep = sizes > RANK_ANSWERS * sizes.max(initial=0.0)
    absorbed = coordinates @ (vt[keep].T / sizes[keep])
    columns = [graph.accumulate(row) for row in weights * graph.differences(absorbed.T)]
    return absorbed, np.array(columns).reshape(len(columns), graph.n_items).T


def ideal_point(
    answers: Answers, metric: Matrix, distances: Vector, alpha: float, adaptive: bool = False
) -> Vector:
    """u = (M R'WR M + alpha I)^-1 M R'W (a_M - Q d) / 2, with distances of the touched items.

    Computed about the items' centre c, where a_M - Q d - 2 R M u keeps its value and loses its
    cancellation: minimise |sqrt W ((a_M - Q d) / 2 - R M v)|^2 + alpha |c + v|^2 over v = u - c.
    """
    deviations, centre = centred(answers.items)
    q = np.einsum("ij,jk,ik->i", deviations, metric, deviations) - distances
    root = np.sqrt(answers.weights)
    rm = root[:, None] * ((deviations[answers.losers] - deviations[answers.winners]) @ metric)
    target = root * (q[answers.losers] - q[answers.winners]) / 2
    if adaptive:
        alpha = raised_alpha(rm, alpha)
    ridge = np.sqrt(alpha) * np.eye(len(centre))
    lhs = np.vstack([rm, ridge])
    rhs = np.concatenate([target, -np.sqrt(alpha) * centre])
    result: Vector = centre + np.linalg.lstsq(lhs, rhs, rcond=None)[0]
    return result


def raised_alpha(rm: Matrix, alpha: float) -> float:
    """The authors' code's alpha, raised where R M is ill conditioned; the paper's text has no such rule.

    Their tail value is the sixth singular value where there are more than six: MATLAB's svds
    returns no more.
    """
    sizes = np.linalg.svd(rm, compute_uv=False)
    if not sizes.size or sizes[0] == 0.0:
        return alpha
    condition = sizes[0] / sizes[-1] if sizes[-1] > 0 else np.inf
    if 5 < condition < 1000:
        return float(alpha + 5 * condition)
    return float(alpha + 100 * sizes[:6][-1]) if condition > 1000 else alpha
