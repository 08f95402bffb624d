"""A Gaussian process of scores: its sizes, relevances and lapse rate, and the evidence for it.

They maximise the bound on the evidence times a weak prior, by its exact gradient; the evidence over all of
them is found from a few points about that place. O(P n^2 + n^3) for P answers about n items, for each of
about 200 passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import block_diag, cholesky, solve_triangular
from scipy.special import expit, ndtri

from coombs.data.answer_chance import HEAD_START, HEAD_START_WIDTH
from coombs.inference.kernel import features_of
from coombs.inference.questions_left_out import left_out_each
from coombs.inference.set_design import SetDesign, design_of
from coombs.inference.variational import GaussianSites, VariationalFit
from coombs.inference.variational_fit import variational_fit, variational_fits
from coombs.programs.program import Status

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.graph import Matrix, Vector


LINEAR, TOGETHER, EFFECT, LAPSE, ALONE = range(5)
"""Places of the sizes and the lapse rate's log odds; the relevances follow, together and alone, and last the
logarithm of the head start where ties are possible."""
CENTRES = (math.log(1.5), 0.0, 0.0, math.log(0.02), 0.0)
"""Prior centres of the logarithms of those sizes, in logits of an answer, and of the lapse's log odds."""
SIZE_WIDTH = 0.6
"""Prior deviation of the logarithm of each size, beside what they have in common."""
EFFECT_WIDTH = 1.2
"""The same of the effects' size: features may tell all, or nothing."""
SCALE_WIDTH = 1.6
"""Prior deviation of what the sizes have in common: how consistent somebody is."""
LAPSE_WIDTH = 1.2
"""Prior deviation of the lapse rate's log odds."""
RELEVANCE = -1.1
"""Prior centre of a relevance's logarithm, all features together; features are standardised."""
OWN_RELEVANCE = -0.4
"""The same of each feature alone."""
RELEVANCE_WIDTH = 0.4
"""Prior deviation of each, beside what they have in common."""
COMMON_WIDTH = 0.8
"""Prior deviation of what the relevances have in common."""
NO_EFFECT = math.log(1e-3)
"""Size of item effects that are not asked for, which keeps the covariance regular."""
MOST_STEPS = 60
"""Steps towards the best sizes and relevances, at most."""
FARTHEST = 4.0
"""Prior deviations that any of them may be away from its centre."""
POINTS = 24
"""Points about the best sizes and relevances at which the evidence is averaged."""
SOME_POINTS = 4
"""Half of those at which answers about several things are left out."""
WIDEST = 2.0
"""The largest variance of those points along any direction, the prior's being 1."""
ROUGHLY = 1e-2
"""The same where only the evidence is wanted."""


class Process:
    """Answers about items, and the bound on their evidence as a function of sizes and relevances.

    A `place` has the logarithms of the sizes, the lapse's log odds and the relevances' logarithms; `u` is the
    same in prior deviations, N(0, I) a priori.
    """

    def __init__(self, answers: Answers, lapse: float | None = None, effects: bool = True) -> None:
        self.answers, self.features = answers, features_of(answers.levels.blocks, answers.items.shape[1])
        self.d = d = len(self.features)
        self.centre = np.concatenate([CENTRES, np.full(d, RELEVANCE), np.full(d, OWN_RELEVANCE)])
        fixed = {} if effects else {EFFECT: NO_EFFECT}
        if lapse is not None:
            fixed[LAPSE] = float(np.log(max(lapse, 1e-9) / (1 - lapse)))
        for where, value in fixed.items():
            self.centre[where] = value
        self.spread = _prior_root(d, tuple(fixed))
        if has_ties(answers):
            self.centre = np.append(self.centre, HEAD_START)
            self.spread = block_diag(self.spread, HEAD_START_WIDTH)

    def place(self, u: Vector) -> Vector:
        """From prior deviations."""
        result: Vector = self.centre + self.spread @ u
        return result

    @cached_property
    def _squares(self) -> Matrix:
        """(d, n, n) squared distances of the items along each feature, of which a category is one."""
        columns = self.answers.items.T
        result: Matrix = (columns[:, :, None] - columns[:, None, :]) ** 2
        if self.d < len(columns):
            result = np.stack([result[list(feature)].sum(axis=0) for feature in self.features])
        return result

    def covariances(self, place: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Of the items' scores: the linear part's, that of all features together, (d, n, n) of each alone."""
        d, items = self.d, self.answers.items
        r, q = np.exp(2 * place[5 : 5 + d]), np.exp(2 * place[5 + d : 5 + 2 * d])
        linear = math.exp(2 * place[LINEAR]) / d * (items @ items.T)
        together = math.exp(2 * place[TOGETHER]) * np.exp(-np.tensordot(r, self._squares, 1) / 2)
        alone = math.exp(2 * place[ALONE]) / d * np.exp(-q[:, None, None] * self._squares / 2)
        return linear, together, alone

    def bound(self, u: Vector, start: GaussianSites | None) -> tuple[float, Vector, VariationalFit]:
        """The bound and its slope along u.

        At the best sites the bound depends on a size only through the covariance K: along dK it changes by
        tr(D dK), D = (b b' - K^-1 + K^-1 S K^-1) / 2, with b = K^-1 mean and S the posterior covariance.
        """
        place, d = self.place(u), self.d
        linear, together, alone = self.covariances(place)
        summed = alone.sum(axis=0)
        root = root_of(linear + together + summed, math.exp(2 * place[EFFECT]))
        design = design_of(root, self.answers, self.head_start(place))
        found = variational_fit(design, float(expit(place[LAPSE])), start)
        # Unknowns of anchors, which come last, are not of the items.
        n = len(root)
        b = solve_triangular(root, found.mean[:n], lower=True, trans=1, check_finite=False)
        inverse = solve_triangular(found.lower, np.eye(len(found.lower)), lower=True, check_finite=False)
        gained = np.eye(n) - (inverse.T @ inverse)[:n, :n]
        inner = solve_triangular(root, gained, lower=True, trans=1, check_finite=False)
        inner = solve_triangular(root, inner.T, lower=True, trans=1, check_finite=False)
        along = (np.outer(b, b) - inner) / 2
        slope = np.empty(len(place))
        slope[LINEAR] = 2 * np.vdot(along, linear)
        slope[TOGETHER] = 2 * np.vdot(along, together)
        slope[EFFECT] = 2 * math.exp(2 * place[EFFECT]) * along.trace()
        slope[LAPSE] = found.to_lapse
        slope[ALONE] = 2 * np.vdot(along, summed)
        flat = self._squares.reshape(d, -1)
        slope[5 : 5 + d] = -(flat @ (along * together).ravel()) * np.exp(2 * place[5 : 5 + d])
        alone *= along
        own = np.einsum("jk,jk->j", flat, alone.reshape(d, -1))
        slope[5 + d : 5 + 2 * d] = -own * np.exp(2 * place[5 + d : 5 + 2 * d])
        if has_ties(self.answers):
            slope[-1] = found.to_head_start
        return found.bound, self.spread.T @ slope, found

    def variational_fit(
        self, u: Vector, start: GaussianSites | None, tolerance: float | None = None
    ) -> VariationalFit:
        """The best Gaussian at one point u."""
        return self.variational_fits([u], start, tolerance)[0]

    def variational_fits(
        self, points: list[Vector], start: GaussianSites | None, tolerance: float | None = None
    ) -> list[VariationalFit]:
        """The best Gaussian at each point u."""
        designs, lapses = [], []
        for place in map(self.place, points):
            linear, together, alone = self.covariances(place)
            root = root_of(linear + together + alone.sum(axis=0), math.exp(2 * place[EFFECT]))
            designs.append(design_of(root, self.answers, self.head_start(place)))
            lapses.append(float(expit(place[LAPSE])))
        return variational_fits(designs, lapses, start, tolerance)

    def head_start(self, place: Vector) -> float:
        """That ties come from."""
        return head_start_at(place, self.answers)

    def learn(self, start: Vector | None = None) -> Best:
        """The most likely sizes and relevances, and what the evidence is about them."""
        # Asking questions goes without it, and starts sooner.
        from scipy.optimize import minimize

        last: list[VariationalFit] = []

        def objective(u: Vector) -> tuple[float, Vector]:
            value, slope, found = self.bound(u, last[0].sites if last else None)
            last[:] = [found]
            return float(u @ u) / 2 - value, u - slope

        options = {"maxiter": MOST_STEPS, "ftol": 1e-6, "gtol": 1e-2, "maxcor": 30}
        limits: list[tuple[float | None, float]] = [(-FARTHEST, FARTHEST)] * len(self.centre)
        # Were all of them limited on both sides, scipy's first step would be as long as the slope.
        limits[LAPSE] = (None, FARTHEST)
        start = np.zeros(len(limits)) if start is None else start
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options, bounds=limits)
        status = Status.MAX_ITERATIONS if found.status == 1 else Status.CONVERGED
        at, covariance = self.variational_fit(found.x, last[0].sites), _covariance(found.hess_inv)
        return Best(self, found.x, covariance, at, status, int(found.nfev))


def has_ties(answers: Answers) -> bool:
    """Whether a tie is possible."""
    return answers.sets is not None and len(answers.sets.ahead) > 0


def head_start_at(place: Vector, answers: Answers) -> float:
    """That ties come from: its logarithm is the last of a place, if there are ties."""
    return math.exp(place[-1]) if has_ties(answers) else 0.0


def _covariance(steps: Any) -> Matrix:
    """The inverse curvature that L-BFGS has met on its way; along what it has not, the prior's."""
    result = eye = np.eye(steps.shape[0])
    for step, change in zip(steps.sk, steps.yk, strict=True):
        if (inner := float(step @ change)) > 1e-10:
            across = eye - np.outer(step, change) / inner
            result = across @ result @ across.T + np.outer(step, step) / inner
    return result


def root_of(covariance: Matrix, ridge: float) -> Matrix:
    """The lower triangular root, the effects' variance included."""
    n = len(covariance)
    covariance[np.diag_indices(n)] += ridge + 1e-9 * (1.0 + float(covariance.trace()) / n)
    result: Matrix = cholesky(covariance, lower=True, check_finite=False)
    return result


def _prior_root(d: int, fixed: tuple[int, ...]) -> Matrix:
    """A root of the prior covariance of a place; of what is fixed, nothing."""
    covariance = np.diag(np.concatenate([np.full(5, SIZE_WIDTH**2), np.full(2 * d, RELEVANCE_WIDTH**2)]))
    covariance[EFFECT, EFFECT] = EFFECT_WIDTH**2
    covariance[LAPSE, LAPSE] = LAPSE_WIDTH**2
    sizes = [where for where in (LINEAR, TOGETHER, EFFECT, ALONE) if where not in fixed]
    together, alone = list(range(5, 5 + d)), list(range(5 + d, 5 + 2 * d))
    for group, width in ((sizes, SCALE_WIDTH), (together, COMMON_WIDTH), (alone, COMMON_WIDTH)):
        covariance[np.ix_(group, group)] += width**2
    result = np.linalg.cholesky(covariance)
    result[list(fixed)] = 0.0
    return result


@dataclass(frozen=True, eq=False)
class Best:
    """The most likely sizes and relevances of a process, and others about them that count as well."""

    process: Process
    u: Vector
    covariance: Matrix
    at: VariationalFit
    status: Status
    n_iter: int

    @cached_property
    def _around(self) -> tuple[Vector, list[VariationalFit]]:
        """log weights of some points about the best, for integrals over all, and the posteriors there.

        Importance sampling from a Gaussian with about the curvature at the best, by a fixed set of points.
        """
        values, vectors = np.linalg.eigh(self.covariance)
        values = np.clip(values, 1e-3, WIDEST)
        half = spread_points(POINTS // 2, len(self.u))
        normal = np.concatenate([half, -half])
        # The symmetric root, which does not depend on the eigenvectors' signs or on their choice.
        points = self.u + ((normal @ vectors) * np.sqrt(values)) @ vectors.T
        # What is left out of sites that are have not quite converged is off by more where they are matrices.
        tolerance = ROUGHLY / 10 if isinstance(self.at.design, SetDesign) else ROUGHLY
        fits = self.process.variational_fits(list(points), self.at.sites, tolerance)
        bounds = np.array([one.bound for one in fits])
        logs = bounds - (points**2).sum(axis=1) / 2 + (normal**2).sum(axis=1) / 2
        return logs + float(np.log(values).sum()) / 2 - math.log(len(points)), fits

    @property
    def room(self) -> float:
        """About how much the evidence over all sizes and relevances is above the bound at the best."""
        return (float(np.linalg.slogdet(self.covariance)[1]) - float(self.u @ self.u)) / 2

    @cached_property
    def log_evidence(self) -> float:
        """log of how likely the answers are, over all sizes and relevances."""
        return float(np.logaddexp.reduce(self._around[0]))

    def leave_out(self) -> Vector:
        """The probability of each answer, as predicted from those about other pairs.

        With sizes and relevances known, a pair's own sites are taken out of the Gaussian. As they are
        not, a point counts by its weight over the probability that it gives to what is left out.
        """
        logs, fits = self._around
        if isinstance(self.at.design, SetDesign):
            # Each takes longer, and a few say nearly the same; of each its mirror image as well.
            some = np.concatenate([np.arange(SOME_POINTS) + i for i in (0, len(fits) // 2)])
            logs, fits = logs[some], [fits[i] for i in some]
        each = left_out_each(fits)
        probabilities = np.array([one for one, _ in each])
        weights = logs[:, None] - np.array([of_pair for _, of_pair in each])
        weights = np.exp(weights - weights.max(axis=0))
        result: Vector = (weights * probabilities).sum(axis=0) / weights.sum(axis=0)
        return result


def spread_points(count: int, d: int) -> Matrix:
    """(count, d) points that spread evenly under a standard normal: multiples of roots of a number."""
    base = 2.0
    for _ in range(30):
        base = (1 + base) ** (1 / (d + 1))
    steps = (1 / base) ** np.arange(1, d + 1)
    result: Matrix = ndtri((0.5 + np.arange(1, count + 1)[:, None] * steps) % 1)
    return result
