"""The paper's single-step estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from coombs.data.scaling import Scaler
from coombs.estimators.base import Fit, PairEstimator
from coombs.programs import formulate, reference
from coombs.programs.losses import LOSSES
from coombs.programs.minimise import minimise
from coombs.programs.program import Solution

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.tables import FloatArray, TableLike

Gammas = tuple[float, float, float]


class SingleStep(PairEstimator):
    """The paper's convex program for the metric and the distances, then the ideal point from them.

    With R, S the differences and sums of the compared items and Q their incidence matrix,

        minimise  sum_k loss((Qd)_k) + gamma1 |zeta|_1 + gamma2 |M|_F^2 + gamma3 |d|^2
        s.t.      |(I - R R^+)(diag(S M R') - Q d)| <= zeta,  M positive semidefinite,

    and u = (M R'R M + alpha I)^-1 M R'(diag(S M R') - Q d) / 2. Weights multiply an answer's loss,
    its zeta and its row in R^+ and in u, so that a repeated answer is one of weight two. The program cannot
    tell the metric along levels of a category, whose squares are themselves: there it is of a typical size.

    Parameters
    ----------
    items : (n_items, d) array or frame, or None when `fit` gets the items with the answers
    gamma1, gamma2, gamma3, alpha : regularisation, the paper's by default
    loss : "hinge" (the paper's), "squared_hinge" or "logistic"
    standardize : scale the features inside, as is always done where there are categories; results stay in
        the user's units
    nonnegative_distances, adaptive_alpha : what the authors' code adds to the paper's text
    solver : "auto" (interior point, else Clarabel), "interior_point", "clarabel" or "cvxpy"
    tol, max_iter : relative duality gap to reach, and iterations to reach it in

    Attributes
    ----------
    metric_, ideal_point_ : what was learned, in the user's units
    distances_ : the program's own d; zero for an item that no answer touches, so rank with `rank`
    model_ : a `Model`, what ranks and predicts
    unidentified_ : (d, k) directions along which no answer says anything of the ideal point
    objective_, gap_, status_, n_iter_ : how the solve ended
    n_features_in_, feature_names_in_ : as scikit-learn has them

    Examples
    --------
    >>> from coombs.simulate import make_preferences
    >>> truth = make_preferences(n_comparisons=200, random_state=0)
    >>> est = SingleStep(truth.items).fit(truth.pairs, truth.y)
    >>> est.status_, round(est.score(truth.pairs, truth.y), 2)
    ('optimal', 0.99)
    """

    _positive: tuple[str, ...] = ("gamma1", "gamma2", "gamma3", "tol")
    _not_negative: tuple[str, ...] = ("alpha",)

    def __init__(
        self,
        items: TableLike = None,
        *,
        gamma1: float = 2.0,
        gamma2: float = 0.002,
        gamma3: float = 0.001,
        alpha: float = 1.0,
        loss: str = "hinge",
        standardize: bool = False,
        nonnegative_distances: bool = False,
        adaptive_alpha: bool = False,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 300,
    ) -> None:
        self.items = items
        self.gamma1, self.gamma2, self.gamma3, self.alpha = gamma1, gamma2, gamma3, alpha
        self.loss = loss
        self.standardize = standardize
        self.nonnegative_distances = nonnegative_distances
        self.adaptive_alpha = adaptive_alpha
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def _learn(self, answers: Answers, scaler: Scaler) -> Fit:
        """Eq. (M_est), then eq. (u_est)."""
        return self._step(answers, (self.gamma1, self.gamma2, self.gamma3), self.alpha, None)

    def _step(self, answers: Answers, gammas: Gammas, alpha: float, ideal_point: FloatArray | None) -> Fit:
        """One program for (M, d), without or with a known ideal point, and the u that follows."""
        first, second, third = map(float, gammas)
        metric, solution = self._solve(answers, (first, second, third), ideal_point)
        if ideal_point is None:
            metric = metric + formulate.level_metric(answers, solution.distances)
        u = formulate.ideal_point(answers, metric, solution.distances, float(alpha), self.adaptive_alpha)
        return Fit.of(solution, metric, u, answers.scatter(solution.distances))

    def _solve(
        self, answers: Answers, gammas: Gammas, ideal_point: FloatArray | None
    ) -> tuple[FloatArray, Solution]:
        """The optimum, with its metric in the coordinates of the items."""
        if self.solver == "cvxpy":
            metric, d, value = reference.solve_metric(
                answers, self.loss, gammas, ideal_point, self.nonnegative_distances
            )
            return metric, Solution.by_cvxpy(metric, d, value)
        form = formulate.metric_program(
            answers, LOSSES[self.loss], gammas, ideal_point, self.nonnegative_distances
        )
        solution = minimise(form.program, self.solver, self.tol, self.max_iter)
        if formulate.says_nothing(form.program, solution):
            solution = replace(solution, y=0 * solution.y, distances=0 * solution.distances)
        return form.metric(solution.y), solution
