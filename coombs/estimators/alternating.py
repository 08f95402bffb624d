"""The paper's alternating estimator."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coombs.data.scaling import Scaler
from coombs.data.tables import InputError
from coombs.estimators.base import Fit
from coombs.estimators.single_step import SingleStep
from coombs.evaluation import ur_error
from coombs.programs.program import Status

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.tables import FloatArray, TableLike

WITHOUT_TRUTH = 0.1
"""Share of `tolerance` that the change of u must fall below: a step is smaller than what is left."""


class Iterate(NamedTuple):
    """One iterate in the user's units; `ur_error` is NaN without a truth."""

    objective: float
    ideal_point: FloatArray
    metric: FloatArray
    status: str
    ur_error: float


class Alternating(SingleStep):
    """The paper's alternating scheme: metric given the ideal point, ideal point given the metric.

    It starts from `SingleStep` with the start_ parameters; step k then solves

        minimise  sum_k loss((Qd)_k) + gamma1 |zeta|_1 + gamma2 |M|_F^2 + gamma3 |d|^2
        s.t.      |diag(S M R') - Q d - 2 R M u| <= zeta,  M positive semidefinite,

    with the u before it, and takes the next u from (M, d) as `SingleStep` does.

    Parameters
    ----------
    start_gamma1, start_gamma2, start_gamma3, start_alpha : of the first step; the paper's
    gamma1, gamma2, gamma3, alpha : of the steps after it; the paper's
    truth : (u, M); then it stops as the paper does, when the true UR error changes by less than
        `tolerance`, and takes the iterate before a rise. Without it, it stops when |u_k - u_(k-1)|^2 is
        below a tenth of `tolerance` times |u_k - c|^2, in the learned metric, c the centre of the items
    tolerance, max_alternations : when to stop at the latest
    others : as for `SingleStep`

    Attributes
    ----------
    history_ : an `Iterate` (objective, ideal_point, metric, status, ur_error) of every step, the start first
    status_ : "converged" or "max_iterations"; n_iter_ counts the steps
    others : as for `SingleStep`

    Examples
    --------
    >>> from coombs.simulate import make_preferences
    >>> truth = make_preferences(n_comparisons=100, random_state=0)
    >>> est = Alternating(truth.items, truth=(truth.ideal_point, truth.metric)).fit(truth.pairs, truth.y)
    >>> est.status_, len(est.history_) == est.n_iter_ + 1
    ('converged', True)
    """

    _positive: tuple[str, ...] = (
        *SingleStep._positive,
        "start_gamma1",
        "start_gamma2",
        "start_gamma3",
        "tolerance",
    )
    _not_negative: tuple[str, ...] = ("alpha", "start_alpha")

    def __init__(
        self,
        items: TableLike = None,
        *,
        start_gamma1: float = 2.0,
        start_gamma2: float = 0.002,
        start_gamma3: float = 0.0001,
        start_alpha: float = 1.0,
        gamma1: float = 2 / 3,
        gamma2: float = 1 / 15,
        gamma3: float = 7 / 1500,
        alpha: float = 0.5,
        truth: tuple[FloatArray, FloatArray] | None = None,
        tolerance: float = 1e-3,
        max_alternations: int = 100,
        loss: str = "hinge",
        standardize: bool = False,
        nonnegative_distances: bool = False,
        adaptive_alpha: bool = False,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 300,
    ) -> None:
        super().__init__(
            items,
            gamma1=gamma1,
            gamma2=gamma2,
            gamma3=gamma3,
            alpha=alpha,
            loss=loss,
            standardize=standardize,
            nonnegative_distances=nonnegative_distances,
            adaptive_alpha=adaptive_alpha,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
        )
        self.start_gamma1, self.start_gamma2, self.start_gamma3 = start_gamma1, start_gamma2, start_gamma3
        self.start_alpha = start_alpha
        self.truth = truth
        self.tolerance = tolerance
        self.max_alternations = max_alternations

    def _learn(self, answers: Answers, scaler: Scaler) -> Fit:
        """Alternate until u stays; `history_` keeps the steps."""
        self._check_truth(answers.items.shape[1])
        centre = answers.items.mean(axis=0)
        start = (self.start_gamma1, self.start_gamma2, self.start_gamma3)
        fit = self._step(answers, start, self.start_alpha, None)
        self.history_ = [self._iterate(fit, scaler)]
        status = Status.MAX_ITERATIONS
        for _ in range(self.max_alternations):
            before = fit
            gammas = (self.gamma1, self.gamma2, self.gamma3)
            fit = self._step(answers, gammas, self.alpha, before.ideal_point)
            self.history_.append(self._iterate(fit, scaler))
            if self._has_converged(before, fit, centre):
                status = Status.CONVERGED
                fit = before if self._rose() else fit
                break
        if status is Status.MAX_ITERATIONS:
            message = f"Alternating stopped after {self.max_alternations} alternations while u still moved."
            warnings.warn(message + " Raise max_alternations or tolerance.", ConvergenceWarning, stacklevel=3)
        steps = len(self.history_) - 1
        return Fit(fit.metric, fit.ideal_point, fit.distances, fit.objective, status, steps, fit.gap)

    def _iterate(self, fit: Fit, scaler: Scaler) -> Iterate:
        """A step in the user's units."""
        metric, u = scaler.metric(fit.metric), scaler.point(fit.ideal_point)
        error = float("nan") if self.truth is None else ur_error(u, *self.truth)
        return Iterate(fit.objective, u, metric, str(fit.status), error)

    def _rose(self) -> bool:
        """Whether the true error grew; never without a truth."""
        return self.history_[-1].ur_error > self.history_[-2].ur_error

    def _has_converged(self, before: Fit, now: Fit, centre: FloatArray) -> bool:
        """The paper's rule where the truth is known, ours where it is not."""
        if self.truth is not None:
            return self.history_[-2].ur_error - self.history_[-1].ur_error < self.tolerance
        move, size = now.ideal_point - before.ideal_point, now.ideal_point - centre
        moved, length = move @ now.metric @ move, size @ now.metric @ size
        return bool(moved <= WITHOUT_TRUTH * self.tolerance * length)

    def _check_truth(self, d: int) -> None:
        """Refuse a truth of another size."""
        if self.truth is None:
            return
        if not isinstance(self.truth, tuple | list) or len(self.truth) != 2:
            raise InputError("truth must be a tuple (u, M).")
        shapes = [np.shape(part) for part in self.truth]
        if shapes != [(d,), (d, d)]:
            raise InputError(f"truth has shapes {shapes}; it must be (u, M) of shapes {[(d,), (d, d)]}.")
