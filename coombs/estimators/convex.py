"""The lifted convex program as an estimator: no sampling, no intervals, one optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.data.tables import InputError
from coombs.estimators.fitted import TasteFit
from coombs.estimators.parameters import check_auto_or_number, check_choice
from coombs.estimators.taste import TasteEstimator
from coombs.programs import lifted
from coombs.programs.losses import LOSSES

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.tables import FloatArray, TableLike

FAR = 0.1
"""Where M u misses v by more than this share of it, the ideal point is too far away to compute with."""


class ConvexIdealPoint(TasteEstimator):
    """Metric and ideal point by one convex program over a positive semidefinite matrix.

    With z = (x, 1), an item's score is z'Bz, B = [[M, -Mu], [-u'M, c]], and

        minimise  sum_k loss(s_loser - s_winner) + strength |B|_F^2    (or strength trace B)

    over B >= 0. It has no intervals: see `IdealPoint` for those.

    Parameters
    ----------
    items : (n_items, d) array or frame, or None when `fit` gets the items with the answers
    metric : "full", "identity", "none" (linear: more or less is better) or "signed" (any symmetric M)
    loss : "logistic", "squared_hinge" or "hinge"
    regularization : the strength, or "auto": the one that predicts answers left out best
    penalty : "frobenius", or "trace" for a metric of low rank
    standardize : scale the features inside; results stay in the user's units
    random_state : of how answers are left out
    tol, max_iter : relative duality gap to reach, and iterations to reach it in

    Attributes
    ----------
    metric_, ideal_point_, distances_, model_, slope_, unidentified_ : as for `IdealPoint`
    strength_ : of the penalty
    objective_, gap_, status_, n_iter_ : how the solve ended
    n_features_in_, feature_names_in_ : as scikit-learn has them

    Examples
    --------
    >>> from coombs.simulate import make_preferences
    >>> truth = make_preferences(n_comparisons=60, random_state=0)
    >>> est = ConvexIdealPoint(truth.items, regularization=0.01).fit(truth.pairs, truth.y)
    >>> est.status_, est.score(truth.pairs, truth.y) > 0.9
    ('optimal', True)
    """

    _positive: tuple[str, ...] = ("tol",)

    def __init__(
        self,
        items: TableLike = None,
        *,
        metric: str = "full",
        loss: str = "logistic",
        regularization: str | float = "auto",
        penalty: str = "frobenius",
        standardize: bool = True,
        random_state: Any = 0,
        tol: float = 1e-8,
        max_iter: int = 300,
    ) -> None:
        self.items = items
        self.metric, self.loss = metric, loss
        self.regularization, self.penalty = regularization, penalty
        self.standardize = standardize
        self.random_state = random_state
        self.tol, self.max_iter = tol, max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, "metric", lifted.KINDS)
        check_choice(self, "penalty", ("frobenius", "trace"))
        check_auto_or_number(self, "regularization", 0.0, np.inf, "a positive number")

    def _fit_answers(self, answers: Answers, rng: np.random.Generator) -> TasteFit:
        if not answers.items.shape[1]:
            raise InputError("No feature differs between items; IdealPoint ranks items by answers alone.")
        loss, trace, kind = LOSSES[self.loss], self.penalty == "trace", self.metric
        if self.regularization == "auto":
            strength = lifted.choose_strength(answers, loss, rng, trace=trace, kind=kind)
        else:
            strength = float(self.regularization)
        metric, v, solution = lifted.solve(
            answers, loss, strength, trace=trace, kind=kind, tol=self.tol, max_iter=self.max_iter
        )
        u = np.full_like(v, np.nan) if kind == "none" else lifted.shrunk_ideal(metric, v)
        if kind == "identity" and _is_far(metric, u, v):
            u = np.full_like(v, np.nan)
        return TasteFit(
            metric=metric,
            ideal_point=u,
            distances=np.zeros(answers.n_items),
            objective=solution.objective,
            status=solution.status,
            n_iter=solution.n_iter,
            gap=solution.gap,
            kind=kind,
            linear=v,
            predictor=metric,
            is_distance=kind != "signed" and bool(np.isfinite(u).all()),
            strength=strength,
            described_linear=v,
        )


def _is_far(metric: FloatArray, u: FloatArray, v: FloatArray) -> bool:
    """Whether a metric is so small that its ideal point is too far away to compute with."""
    return bool(np.linalg.norm(metric @ u - v) > FAR * np.linalg.norm(v))
