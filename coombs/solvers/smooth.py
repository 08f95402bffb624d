"""A smooth taste: scores that are a Gaussian process over the features, with an effect of each item.

s(x) = w'x + g(x) + t_item, less being better: w and t normal, g a Gaussian process whose kernel has a part
for all features together and one for each alone (`Kernel`). The posterior of the scores is approximated by
a Gaussian, variationally: an answer is about one difference of scores, so its expectations are integrals in
one dimension, and the best Gaussian has one site (precision and shift) an answer (Opper and Archambeau,
2009). Sizes, relevances and the lapse rate maximise the bound on the evidence times a weak prior. Nothing
is drawn at random on the way. O(P n^2 + n^3) for P answers about n items, for each of about 200 passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import expit, ndtri

from coombs.solvers.kernel import Bumps, Kernel
from coombs.solvers.left_out import LeftOut
from coombs.solvers.minimise import serial
from coombs.solvers.program import Status

if TYPE_CHECKING:
    from coombs.solvers.formulate import Answers
    from coombs.solvers.graph import Index, Matrix, Vector

LINEAR, TOGETHER, EFFECT, LAPSE, ALONE = range(5)
"""Places of the sizes and the lapse rate's log odds; the relevances follow, together and alone."""
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
NODES, _SHARES = np.polynomial.hermite_e.hermegauss(15)
NODE_WEIGHTS = _SHARES / _SHARES.sum()
"""Nodes and weights of the integrals over a standard normal."""
SETTLED = 1e-4
"""Sites are settled where a pass changes the bound by less."""
ROUGHLY = 1e-3
"""The same where only the evidence is wanted."""
MOST_PASSES = 60
"""Passes over the sites, at most."""
MOST_STEPS = 60
"""Steps towards the best sizes and relevances, at most."""
FARTHEST = 4.0
"""Prior deviations that any of them may be away from its centre."""
MOST_LEARNED = 300
"""Compared items from which sizes and relevances are learned."""
MOST_ANSWERS = 1_000
"""Answers among them, at most."""
MOST_WEIGHED = 400
"""Up to this many unknowns an answer's uncertainty enters the bound; beyond, it is Laplace's."""
MOST_ITEMS = 600
"""Compared items for which the posterior is exact; beyond, support points stand for them, without effects."""
SUPPORT = 300
"""Support points, at most."""
MOST_SUPPORTED = 20_000
"""Answers that are learned from where there are support points."""
DRAWS = 4_096
"""Draws of the posterior."""
POINTS = 24
"""Points about the best sizes and relevances at which the evidence is averaged."""
WIDEST = 2.0
"""The largest variance of those points along any direction, the prior's being 1."""
BLOCK = 20_000
"""Items or answers that are predicted at once."""
LEAST = 1e-7
"""Directions with less than this share of the kernel's largest eigenvalue are left out."""


class Sites(NamedTuple):
    """What each answer says of its margin: a Gaussian of this precision, and precision times place."""

    precision: Vector
    shift: Vector


@dataclass(frozen=True, eq=False)
class Design:
    """Scores of items as root z, with whitened unknowns z ~ N(0, I), and margins s_loser - s_winner."""

    root: Matrix
    answers: Answers

    def margins(self, whitened: Vector) -> Vector:
        """Of each answer."""
        scores = self.root @ whitened
        result: Vector = scores[self.answers.losers] - scores[self.answers.winners]
        return result

    def pull(self, values: Vector) -> Vector:
        """The margins' transpose."""
        n = len(self.root)
        to_score = np.bincount(self.answers.losers, values, n) - np.bincount(self.answers.winners, values, n)
        return to_score @ self.root

    @cached_property
    def rows(self) -> Matrix:
        """Each answer's margin as a function of z."""
        result: Matrix = self.root[self.answers.losers] - self.root[self.answers.winners]
        return result

    def posterior(self, precision: Vector) -> Matrix:
        """The lower root of the posterior's precision, given that of the sites."""
        n = len(self.root)
        if len(precision) <= 2 * n:
            gram: Matrix = (self.rows * precision[:, None]).T @ self.rows
        else:
            laplacian = self.answers.graph().laplacian(precision)
            gram = self.root.T @ (laplacian @ self.root)
        gram[np.diag_indices(len(gram))] += 1.0
        result: Matrix = cholesky(gram, lower=True, check_finite=False)
        return result

    def variances(self, lower: Matrix) -> Vector:
        """Of the margins."""
        across = solve_triangular(lower, self.rows.T, lower=True, check_finite=False)
        result: Vector = np.einsum("ij,ij->j", across, across)
        return result


class Settled(NamedTuple):
    """The best Gaussian for some sizes and relevances: its sites, precision and mean; the bound there."""

    bound: float
    lower: Matrix
    mean: Vector
    margin: Vector
    variance: Vector
    sites: Sites
    lapse: float
    to_lapse: float


def settle(
    design: Design, lapse: float, start: Sites | None = None, tolerance: float | None = None
) -> Settled:
    """The best sites, from some that are near or from none.

    Each site takes on the mean slope and curvature of its answer's log probability (a natural gradient
    step), half as far where that did not help. Of many unknowns, those at the mean, which is Laplace's way.
    """
    weights, tolerance = design.answers.weights, SETTLED if tolerance is None else tolerance
    sites = Sites(0.1 * weights, 0 * weights) if start is None else start
    weigh, length, before = design.root.shape[1] <= MOST_WEIGHED, 1.0, -np.inf
    variance = np.zeros(len(weights))
    for count in range(MOST_PASSES):
        lower = design.posterior(sites.precision)
        variance = design.variances(lower) if weigh else variance
        mean: Vector = cho_solve((lower, True), design.pull(sites.shift), check_finite=False)
        margin = design.margins(mean)
        log_p, slope, curvature, to_lapse = _expected(margin, variance, lapse)
        far = float(mean @ mean) - float(sites.precision @ variance)
        bound = float(weights @ log_p) - far / 2 - float(np.log(np.diag(lower)).sum())
        # What is returned belongs to these sites.
        if abs(bound - before) < tolerance or count == MOST_PASSES - 1:
            break
        if bound < before:
            length = max(length / 2, 0.1)
        before = bound
        precision = np.maximum(weights * curvature, 1e-6 * weights)
        shift = weights * slope + precision * margin
        sites = Sites(
            sites.precision + length * (precision - sites.precision),
            sites.shift + length * (shift - sites.shift),
        )
    along_lapse = float(weights @ to_lapse) * lapse * (1 - lapse)
    return Settled(bound, lower, mean, margin, variance, sites, lapse, along_lapse)


def _expected(margin: Vector, variance: Vector, lapse: float) -> tuple[Vector, Vector, Vector, Vector]:
    """Of log p at a normal margin: its mean, those of its slope and curvature, and of its slope in lapse."""
    nodes, shares = (NODES, NODE_WEIGHTS) if variance.any() else (np.zeros(1), np.ones(1))
    sigma = expit(margin[:, None] + np.sqrt(variance)[:, None] * nodes)
    p = np.maximum(lapse / 2 + (1 - lapse) * sigma, 1e-300)
    slope = (1 - lapse) * sigma * (1 - sigma) / p
    curvature = slope * (slope - 1 + 2 * sigma)
    return np.log(p) @ shares, slope @ shares, curvature @ shares, ((0.5 - sigma) / p) @ shares


class Process:
    """Answers about items, and the bound on their evidence as a function of sizes and relevances.

    A `place` has the logarithms of the sizes, the lapse's log odds and the relevances' logarithms; `u` is the
    same in prior deviations, N(0, I) a priori.
    """

    def __init__(self, answers: Answers, lapse: float | None = None, effects: bool = True) -> None:
        d = answers.items.shape[1]
        self.answers, self.d = answers, d
        self.centre = np.concatenate([CENTRES, np.full(d, RELEVANCE), np.full(d, OWN_RELEVANCE)])
        fixed = {} if effects else {EFFECT: NO_EFFECT}
        if lapse is not None:
            fixed[LAPSE] = float(np.log(max(lapse, 1e-9) / (1 - lapse)))
        for where, value in fixed.items():
            self.centre[where] = value
        self.spread = _prior_root(d, tuple(fixed))

    def place(self, u: Vector) -> Vector:
        """From prior deviations."""
        result: Vector = self.centre + self.spread @ u
        return result

    @cached_property
    def _squares(self) -> Matrix:
        """(d, n, n) squared differences of the items along each feature."""
        columns = self.answers.items.T
        result: Matrix = (columns[:, :, None] - columns[:, None, :]) ** 2
        return result

    def covariances(self, place: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Of the items' scores: the linear part's, that of all features together, (d, n, n) of each alone."""
        d, items = self.d, self.answers.items
        r, q = np.exp(2 * place[5 : 5 + d]), np.exp(2 * place[5 + d :])
        linear = math.exp(2 * place[LINEAR]) / d * (items @ items.T)
        together = math.exp(2 * place[TOGETHER]) * np.exp(-np.tensordot(r, self._squares, 1) / 2)
        alone = math.exp(2 * place[ALONE]) / d * np.exp(-q[:, None, None] * self._squares / 2)
        return linear, together, alone

    def bound(self, u: Vector, start: Sites | None) -> tuple[float, Vector, Settled]:
        """The bound and its slope along u.

        At the best sites the bound depends on a size only through the covariance K: along dK it changes by
        tr(D dK), D = (b b' - K^-1 + K^-1 S K^-1) / 2, with b = K^-1 mean and S the posterior covariance.
        """
        place, d = self.place(u), self.d
        linear, together, alone = self.covariances(place)
        summed = alone.sum(axis=0)
        root = _root(linear + together + summed, math.exp(2 * place[EFFECT]))
        found = settle(Design(root, self.answers), float(expit(place[LAPSE])), start)
        eye = np.eye(len(root))
        b = solve_triangular(root, found.mean, lower=True, trans=1, check_finite=False)
        inverse = solve_triangular(found.lower, eye, lower=True, check_finite=False)
        inner = solve_triangular(root, eye - inverse.T @ inverse, lower=True, trans=1, check_finite=False)
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
        slope[5 + d :] = -own * np.exp(2 * place[5 + d :])
        return found.bound, self.spread.T @ slope, found

    def settle(self, u: Vector, start: Sites | None, tolerance: float | None = None) -> Settled:
        """The best Gaussian there."""
        place = self.place(u)
        linear, together, alone = self.covariances(place)
        root = _root(linear + together + alone.sum(axis=0), math.exp(2 * place[EFFECT]))
        return settle(Design(root, self.answers), float(expit(place[LAPSE])), start, tolerance)

    def learn(self, start: Vector | None = None) -> Best:
        """The most likely sizes and relevances, and what the evidence is about them."""
        # Asking questions goes without it, and starts sooner.
        from scipy.optimize import minimize

        last: list[Settled] = []

        def objective(u: Vector) -> tuple[float, Vector]:
            value, slope, found = self.bound(u, last[0].sites if last else None)
            last[:] = [found]
            return float(u @ u) / 2 - value, u - slope

        options = {"maxiter": MOST_STEPS, "ftol": 1e-6, "gtol": 1e-2, "maxcor": 30}
        limits = [(-FARTHEST, FARTHEST)] * len(self.centre)
        start = np.zeros(len(limits)) if start is None else start
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options, bounds=limits)
        status = Status.MAX_ITERATIONS if found.status == 1 else Status.CONVERGED
        at, covariance = self.settle(found.x, last[0].sites), _covariance(found.hess_inv)
        return Best(self, found.x, covariance, at, status, int(found.nfev))


def _covariance(steps: Any) -> Matrix:
    """The inverse curvature that L-BFGS has met on its way; along what it has not, the prior's."""
    result = eye = np.eye(steps.shape[0])
    for step, change in zip(steps.sk, steps.yk, strict=True):
        if (inner := float(step @ change)) > 1e-10:
            across = eye - np.outer(step, change) / inner
            result = across @ result @ across.T + np.outer(step, step) / inner
    return result


def _root(covariance: Matrix, ridge: float) -> Matrix:
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
    at: Settled
    status: Status
    n_iter: int

    @cached_property
    def _around(self) -> tuple[Vector, list[Settled]]:
        """log weights of some points about the best, for integrals over all, and the posteriors there.

        Importance sampling from a Gaussian with about the curvature at the best, by a fixed set of points.
        """
        values, vectors = np.linalg.eigh(self.covariance)
        values = np.clip(values, 1e-3, WIDEST)
        half = spread_points(POINTS // 2, len(self.u))
        normal = np.concatenate([half, -half])
        # The symmetric root, which does not depend on the eigenvectors' signs or on their choice.
        points = self.u + ((normal @ vectors) * np.sqrt(values)) @ vectors.T
        settled = [self.process.settle(point, self.at.sites, ROUGHLY) for point in points]
        bounds = np.array([one.bound for one in settled])
        logs = bounds - (points**2).sum(axis=1) / 2 + (normal**2).sum(axis=1) / 2
        return logs + float(np.log(values).sum()) / 2 - math.log(len(points)), settled

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
        logs, settled = self._around
        each = [_without(one, self.process.answers) for one in settled]
        probabilities = np.array([one for one, _ in each])
        weights = logs[:, None] - np.array([of_pair for _, of_pair in each])
        weights = np.exp(weights - weights.max(axis=0))
        result: Vector = (weights * probabilities).sum(axis=0) / weights.sum(axis=0)
        return result


def _without(found: Settled, answers: Answers) -> tuple[Vector, Vector]:
    """Of each answer: its probability without the sites of its pair, and the log one of all of the pair's."""
    low, high = np.minimum(answers.winners, answers.losers), np.maximum(answers.winners, answers.losers)
    pair = np.unique(low * len(answers.items) + high, return_inverse=True)[1]
    side = np.where(answers.winners == low, 1.0, -1.0)
    precision = np.bincount(pair, found.sites.precision)[pair]
    shift = side * np.bincount(pair, side * found.sites.shift)[pair]
    left = np.maximum(1 / np.maximum(found.variance, 1e-12) - precision, 1e-9)
    margin = (found.margin / np.maximum(found.variance, 1e-12) - shift) / left
    p = mean_probability(margin, 1 / left, found.lapse)
    of_pair: Vector = np.bincount(pair, answers.weights * np.log(p)).astype(float)[pair]
    return p, of_pair


def mean_probability(margin: Vector, variance: Vector, lapse: float) -> Vector:
    """Of an answer whose margin is normal."""
    mean = np.empty(len(margin))
    for begin in range(0, len(margin), BLOCK):
        part = slice(begin, begin + BLOCK)
        mean[part] = expit(margin[part, None] + np.sqrt(variance[part, None]) * NODES) @ NODE_WEIGHTS
    result: Vector = lapse / 2 + (1 - lapse) * mean
    return result


def spread_points(count: int, d: int) -> Matrix:
    """(count, d) points that spread evenly under a standard normal: multiples of roots of a number."""
    base = 2.0
    for _ in range(30):
        base = (1 + base) ** (1 / (d + 1))
    steps = (1 / base) ** np.arange(1, d + 1)
    result: Matrix = ndtri((0.5 + np.arange(1, count + 1)[:, None] * steps) % 1)
    return result


class Draws(NamedTuple):
    """Of a smooth taste: v of the linear part -2 v'x, weights of the basis, effects of the compared items."""

    linear: Matrix
    coefficients: Matrix
    effects: Matrix
    lapse: Vector


@dataclass(frozen=True, eq=False)
class Posterior:
    """The Gaussian of the whitened unknowns, by its mean and the lower root of its precision.

    The items' scores are root times those unknowns, `features` times standard normal weights plus effects;
    without a root, the unknowns are those weights.
    """

    mean: Vector
    lower: Matrix
    features: Matrix
    root: Matrix | None
    linear_size: float
    effect_size: float
    lapse: float

    def draw(self, rng: np.random.Generator, count: int = DRAWS) -> tuple[Matrix, Matrix]:
        """So many draws of the features' weights and of the items' effects, each with its mirror image.

        Given scores of the items, weights and effects are drawn by Matheron's rule: from the prior, moved by
        what the scores say more.
        """
        half = rng.standard_normal((count // 2, len(self.mean)))
        moves = solve_triangular(self.lower, half.T, lower=True, trans=1, check_finite=False).T
        if self.root is None:
            return _mirrored(self.mean, moves), np.zeros((count, 0))
        scores, mean = moves @ self.root.T, self.root @ self.mean
        prior = rng.standard_normal((len(half), self.features.shape[1]))
        noise = self.effect_size * rng.standard_normal(scores.shape)
        weights = prior + self._weights(scores - prior @ self.features.T - noise)
        mean_weights = self._weights(mean[None])[0]
        effects = _mirrored(mean - self.features @ mean_weights, scores - weights @ self.features.T)
        return _mirrored(mean_weights, weights), effects

    def _weights(self, scores: Matrix) -> Matrix:
        """The mean weights of the features, given scores."""
        inner = solve_triangular(self.root, scores.T, lower=True, check_finite=False)
        across = solve_triangular(self.root, inner, lower=True, trans=1, check_finite=False)
        result: Matrix = across.T @ self.features
        return result


@dataclass(frozen=True, eq=False)
class Smooth:
    """The posterior of a smooth taste, for standardised features.

    Its scores are s(x) = -2 v'x + basis(x) c + effect, with draws of v, c and the effects. `bound` is that on
    the evidence, `log_evidence` is over all sizes and relevances as well.
    """

    answers: Answers
    basis: Bumps
    posterior: Posterior
    has_effects: bool
    left: Vector
    log_evidence: float
    bound: float
    status: Status
    n_iter: int

    name = "smooth"
    sampled = True
    rhat = 1.0

    @cached_property
    def draws(self) -> Draws:
        """Always the same."""
        d, posterior = self.answers.items.shape[1], self.posterior
        unknowns, effects = posterior.draw(np.random.default_rng(0))
        lapses = np.full(len(unknowns), posterior.lapse)
        return Draws(-posterior.linear_size * unknowns[:, :d] / 2, unknowns[:, d:], effects, lapses)

    def __getstate__(self) -> dict[str, Any]:
        """Without the draws, which can be made again."""
        return {name: value for name, value in vars(self).items() if name != "draws"}

    @property
    def objective(self) -> float:
        """What was minimised."""
        return -self.bound

    def leave_out(self) -> LeftOut:
        """Every answer predicted from those about other pairs."""
        return LeftOut(np.clip(self.left, 1e-9, 1 - 1e-9), self.answers.weights)

    def of_items(self, items: Matrix) -> Matrix:
        """(N, S) scores of items, without their effects."""
        result: Matrix = -2 * (items @ self.draws.linear.T)
        result += self.basis(items) @ self.draws.coefficients.T
        return result

    def of_compared(self) -> Matrix:
        """(n, S) scores of the compared items, their effects included; of some where they are many."""
        items = self.answers.items
        if self.draws.effects.shape[1]:
            return self.of_items(items) + self.draws.effects.T
        return self.of_items(items[np.linspace(0, len(items) - 1, min(SUPPORT, len(items))).astype(int)])

    def strangeness(self, items: Matrix) -> Vector:
        """How far the scores of items that were never compared may be off, beyond what the draws say."""
        known = np.empty(len(items))
        for begin in range(0, len(items), BLOCK):
            known[begin : begin + BLOCK] = (self.basis(items[begin : begin + BLOCK]) ** 2).sum(axis=1)
        missing = np.maximum(self.basis.kernel.peak - known, 0.0)
        result: Vector = np.sqrt(missing + self.posterior.effect_size**2 * self.has_effects)
        return result


def posterior_at(
    place: Vector, answers: Answers, sites: Sites | None, exact: bool = True
) -> tuple[Bumps, Posterior, Design, Settled]:
    """The posterior with known sizes and relevances; if not `exact`, by support points without effects."""
    n, d = answers.items.shape
    support = answers.items
    if n > SUPPORT:
        support = support[np.sort(np.random.default_rng(0).choice(n, SUPPORT, replace=False))]
    relevances, own = np.exp(place[5 : 5 + d]), np.exp(place[5 + d :])
    kernel = Kernel(support, math.exp(place[TOGETHER]), math.exp(place[ALONE]), relevances, own)
    values, vectors = np.linalg.eigh(kernel(support))
    kept = values > LEAST * values[-1]
    basis = Bumps(kernel, vectors[:, kept] / np.sqrt(values[kept]))
    size, effect = math.exp(place[LINEAR]) / math.sqrt(d), math.exp(place[EFFECT])
    features, root = np.hstack([size * answers.items, basis(answers.items)]), None
    if exact:
        whole = replace(kernel, support=answers.items)(answers.items)
        root = _root(whole + size**2 * (answers.items @ answers.items.T), effect**2)
    design = Design(features if root is None else root, answers)
    found = settle(design, float(expit(place[LAPSE])), sites)
    posterior = Posterior(found.mean, found.lower, features, root, size, effect, found.lapse)
    return basis, posterior, design, found


def infer_smooth(answers: Answers, *, lapse: float | None = None, effects: bool = True) -> Smooth:
    """The posterior of a smooth taste; without effects where compared items are many."""
    n = len(answers.items)
    effects = effects and n <= MOST_ITEMS
    few = _some(answers)
    with serial(n):
        best, rows = Process(few, lapse, effects).learn(), np.arange(len(answers.winners))
        if n > MOST_ITEMS and len(rows) > MOST_SUPPORTED:
            rows = np.sort(np.random.default_rng(0).choice(rows, MOST_SUPPORTED, replace=False))
        used = answers if len(rows) == len(answers.winners) else answers.only(rows)
        place, sites = best.process.place(best.u), best.at.sites if used is few else None
        basis, posterior, design, found = posterior_at(place, used, sites, exact=n <= MOST_ITEMS)
        if used is few:
            left, log_evidence = best.leave_out(), best.log_evidence
        else:
            whole = found if found.variance.any() else found._replace(variance=design.variances(found.lower))
            whole = whole if used is answers else _of_all(whole, rows, answers, basis, posterior.linear_size)
            left = _without(whole, answers)[0]
            log_evidence = found.bound + best.log_evidence - best.at.bound if used is answers else math.nan
    ended = (log_evidence, found.bound, best.status, best.n_iter)
    return Smooth(answers, basis, posterior, effects, left, *ended)


def _of_all(found: Settled, rows: Index, answers: Answers, basis: Bumps, size: float) -> Settled:
    """What was learned from some rows of the answers, as it is of all: those not used have empty sites."""
    precision, shift = np.zeros((2, len(answers.winners)))
    precision[rows], shift[rows] = found.sites
    n, blocks = len(answers.items), range(0, len(answers.items), BLOCK)
    scores, roots = np.empty(n), np.empty((n, len(found.mean)), dtype=np.float32)
    for part in (slice(begin, begin + BLOCK) for begin in blocks):
        features = np.hstack([size * answers.items[part], basis(answers.items[part])])
        scores[part] = features @ found.mean
        roots[part] = solve_triangular(found.lower, features.T, lower=True, check_finite=False).T
    variance = np.empty(len(precision))
    for begin in range(0, len(variance), BLOCK):
        part = slice(begin, begin + BLOCK)
        away = roots[answers.losers[part]] - roots[answers.winners[part]]
        variance[part] = np.einsum("ij,ij->i", away, away)
    variance[rows] = found.variance
    margin = scores[answers.losers] - scores[answers.winners]
    return found._replace(margin=margin, variance=variance, sites=Sites(precision, shift))


def _some(answers: Answers) -> Answers:
    """So few of the answers that sizes and relevances can be learned from them quickly."""
    rng = np.random.default_rng(0)
    if len(answers.items) > MOST_LEARNED:
        ends = rng.permutation(len(answers.winners))
        both = np.column_stack([answers.winners, answers.losers])[ends].ravel()
        _, first = np.unique(both, return_index=True)
        if len(first) > MOST_LEARNED:
            enough = int(np.sort(first)[MOST_LEARNED]) // 2
            answers = answers.only(np.sort(ends[:enough]))
    return answers.some(MOST_ANSWERS, rng)


def _mirrored(mean: Vector, moves: Matrix) -> Matrix:
    return np.concatenate([mean + moves, mean - moves])
