"""The paper's two Euclidean baselines: the metric is the identity."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.scaling import Scaler
from coombs.estimators.base import Fit, PairEstimator
from coombs.programs import formulate, reference
from coombs.programs.losses import LOSSES
from coombs.programs.minimise import minimise
from coombs.programs.program import Solution

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.tables import TableLike


class EuclideanSingleStep(PairEstimator):
    """The paper's Euclidean Algorithm 1: the single-step program with M fixed to the identity.

        minimise  sum_k loss((Qd)_k) + gamma1 |zeta|_1 + gamma2 |d|^2
        s.t.      |(I - R R^+)(diag(S R') - Q d)| <= zeta,

    and u = (R'R + alpha I)^-1 R'(diag(S R') - Q d) / 2, with the letters of `SingleStep`.

    Parameters
    ----------
    items : (n_items, d) array or frame, or None when `fit` gets the items with the answers
    gamma1, gamma2, alpha : regularisation, the paper's by default
    loss, standardize, solver, tol, max_iter : as for `SingleStep`

    Attributes
    ----------
    metric_ : the identity
    ideal_point_, distances_ and all others : as for `SingleStep`

    Examples
    --------
    >>> from coombs.simulate import make_preferences
    >>> truth = make_preferences(identity=True, n_comparisons=200, random_state=0)
    >>> est = EuclideanSingleStep(truth.items).fit(truth.pairs, truth.y)
    >>> bool(np.abs(est.ideal_point_ - truth.ideal_point).max() < 0.2)
    True
    """

    _positive = ("gamma1", "gamma2", "tol")
    _not_negative = ("alpha",)

    def __init__(
        self,
        items: TableLike = None,
        *,
        gamma1: float = 2.0,
        gamma2: float = 0.002,
        alpha: float = 1.0,
        loss: str = "hinge",
        standardize: bool = False,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 300,
    ) -> None:
        self.items = items
        self.gamma1, self.gamma2, self.alpha = gamma1, gamma2, alpha
        self.loss = loss
        self.standardize = standardize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def _learn(self, answers: Answers, scaler: Scaler) -> Fit:
        """Eq. (dist_euclid_est), then eq. (u_est) with M = I."""
        identity = np.eye(answers.items.shape[1])
        if self.solver == "cvxpy":
            d, value = reference.solve_euclidean(answers, self.loss, float(self.gamma1), float(self.gamma2))
            solution = Solution.by_cvxpy(d, d, value)
        else:
            form = formulate.euclidean_program(
                answers, LOSSES[self.loss], float(self.gamma1), float(self.gamma2)
            )
            solution = minimise(form.program, self.solver, self.tol, self.max_iter)
        u = formulate.ideal_point(answers, identity, solution.distances, float(self.alpha))
        return Fit.of(solution, identity, u, answers.scatter(solution.distances))


class EuclideanCompass(PairEstimator):
    """The paper's Euclidean Algorithm 2, after Davenport (2013): a convex program for u alone.

        minimise  sum_k loss(|x_j|^2 - |x_i|^2 - 2 (x_j - x_i)' u) + gamma |u|^2

    over answers that prefer item i to item j.

    Parameters
    ----------
    items : (n_items, d) array or frame, or None when `fit` gets the items with the answers
    gamma : weight of |u|^2
    loss, standardize, solver, tol, max_iter : as for `SingleStep`

    Attributes
    ----------
    metric_ : the identity
    distances_ : (n_items,) |x - u|^2
    ideal_point_ and all others : as for `SingleStep`

    Examples
    --------
    >>> from coombs.simulate import make_preferences
    >>> truth = make_preferences(identity=True, n_comparisons=200, random_state=0)
    >>> est = EuclideanCompass(truth.items).fit(truth.pairs, truth.y)
    >>> bool(np.abs(est.ideal_point_ - truth.ideal_point).max() < 0.2)
    True
    """

    _positive = ("gamma", "tol")

    def __init__(
        self,
        items: TableLike = None,
        *,
        gamma: float = 0.002,
        loss: str = "hinge",
        standardize: bool = False,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 300,
    ) -> None:
        self.items = items
        self.gamma = gamma
        self.loss = loss
        self.standardize = standardize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def _learn(self, answers: Answers, scaler: Scaler) -> Fit:
        """The program for u."""
        if self.solver == "cvxpy":
            u, value = reference.solve_compass(answers, self.loss, float(self.gamma))
            solution = Solution.by_cvxpy(u, u, value)
        else:
            form, centre = formulate.compass_program(answers, LOSSES[self.loss], float(self.gamma))
            solution = minimise(form.program, self.solver, self.tol, self.max_iter)
            # The program's unknown is u - centre, and it drops the constant gamma |centre|^2.
            u, constant = centre + solution.y, float(self.gamma) * float(centre @ centre)
            solution = replace(solution, objective=solution.objective + constant)
        distances = ((answers.items - u) ** 2).sum(axis=1)
        return Fit.of(solution, np.eye(len(u)), u, answers.scatter(distances))
