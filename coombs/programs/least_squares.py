"""The ideal point given the metric: the paper's regularised least squares, eq. (u_est)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coombs.programs.formulate import centred

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.graph import Matrix, Vector


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
