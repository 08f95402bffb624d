"""The posterior near its mode: how to climb there, and the Gaussian that fits it there.

Where answers are many the posterior is narrow and this is as good as sampling, and much cheaper.
The scales k and q only say how large the unknowns that they multiply are a priori, so they are
set (`settled`), not climbed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.sparse import diags_array

from coombs.solvers.cone import congruence, outer_features, smat, svec, triangle
from coombs.solvers.program import Status
from coombs.solvers.target import EFFECT, IDEAL, LAPSE, SCALE, Scores

if TYPE_CHECKING:
    from coombs.solvers.graph import Index, Matrix, Vector
    from coombs.solvers.target import Target

STIFF = 1e8
"""Curvature put on turns of the metric's root, which change nothing."""
MOST_ANSWERS = 12_000
"""Curvature is measured on this many answers, chosen at random where there are more."""
LEAST_GAIN, FLAT = 0.02, 1e-4
"""A climb ends where a step gains less than this log probability, or the slope is this flat."""
MANY_ANSWERS = 100_000
"""Beyond this many answers a full metric is found by Newton's method, which needs no good start."""
NEWTON_STEPS, NEWTON_GAIN, NEWTON_LAPSE = 60, 0.1, 1e-3
BARRIER = 1.0
MOST_EFFECTS = 2_000
"""Up to this many item effects have a covariance; beyond, each has its own variance."""


@dataclass(frozen=True)
class Mode:
    """Where the climb ended."""

    z: Vector
    value: float
    status: Status
    n_iter: int


def free(target: Target) -> Index:
    """The unknowns that are climbed and drawn: all but the scales; of a Euclidean metric, its scale too."""
    fixed = [target.own, target.own + 1]
    if target.rung.has_ideal and not target.rung.metric_size(target.d):
        fixed = [target.own + 1]
    # What is between the metric's root and v: a share that only a sampler can weigh.
    fixed += range(target.rung.metric_size(target.d), target.own - target.d)
    if target.effects:
        fixed.append(target.n - len(target.items) - 1)
    return np.setdiff1d(np.arange(target.n), fixed)


def settled(target: Target, z: Vector) -> Vector:
    """The same preferences, with scales at which the unknowns have their size a priori.

    A full metric's root is left as it is: it also says how particular the metric is.
    """
    z, size = z.copy(), target.rung.metric_size(target.d)
    shape, linear = z[:size], z[target.own - min(target.d, target.own) : target.own]
    length = 1.0 if target.rung.turning(target.d) else _length(shape)
    z[target.own] += target.rung.power * np.log(length) / SCALE[1]
    shape /= length
    if target.rung.power < 1:
        # Its v is not a product with M, and would have grown with the scale.
        linear /= length
    length = _length(linear)
    z[target.own + 1] += np.log(length) / IDEAL[1]
    linear /= length
    return z


def _length(values: Vector) -> float:
    """Root mean square; 1 of nothing."""
    return float(np.linalg.norm(values) / np.sqrt(max(len(values), 1))) or 1.0


def climb(
    target: Target,
    start: Vector,
    *,
    max_iter: int = 500,
    root: Matrix | None = None,
    moved: Index | None = None,
) -> Mode:
    """The nearest mode, by L-BFGS in the coordinates that `root` makes round (z = start + root y)."""
    moved = free(target) if moved is None else moved

    def at(y: Vector) -> Vector:
        z = start.copy()
        z[moved] += y if root is None else root @ y
        return z

    def objective(y: Vector) -> tuple[float, Vector]:
        value, slope = target.both(at(y)[None])
        slope = slope[0, moved]
        return float(value[0]), slope if root is None else root.T @ slope

    # Asking questions goes without it, and starts sooner.
    from scipy.optimize import minimize

    least = LEAST_GAIN / max(1.0, float(target.value(start[None])[0]))
    options = {"maxiter": max_iter, "ftol": least, "gtol": FLAT, "maxcor": 20}
    # A trial step may go so far that scores overflow; it is then shortened.
    with np.errstate(over="ignore", invalid="ignore"):
        found = minimize(objective, np.zeros(len(moved)), jac=True, method="L-BFGS-B", options=options)
    status = Status.MAX_ITERATIONS if found.status == 1 else Status.CONVERGED
    return Mode(at(found.x), float(found.fun), status, int(found.nit))


def newton(target: Target, metric: Matrix, linear: Vector, rng: np.random.Generator) -> tuple[Scores, Mode]:
    """(M, v, lapse) near the most likely ones, by Newton's method with the curvature of some of the answers.

    The likelihood is convex in (M, v), and where answers are very many the prior says little beside it;
    a barrier, which is a Wishart prior, keeps M positive definite. With m answers in the curvature of
    n unknowns, what is left shrinks by about n / m at each step.
    """
    some = target.some(MOST_ANSWERS, rng)
    rows = _lifted_rows(some)
    scores = Scores(
        metric[None], linear[None], np.array([NEWTON_LAPSE if target.lapse is None else target.lapse]), None
    )
    taken = 0
    for whole in (some, target):
        here, status = _Quadratic.of(whole, scores), Status.MAX_ITERATIONS
        while taken < NEWTON_STEPS and status is not Status.CONVERGED:
            new, taken = here.step(whole, some, rows), taken + 1
            lapse = _likely_lapse(some, new.scores) if target.lapse is None else np.array([target.lapse])
            settled_lapse = lapse[0] == new.scores.lapse[0]
            if settled_lapse and here.value - new.value < NEWTON_GAIN:
                status = Status.CONVERGED
            here = new if settled_lapse else _Quadratic.of(whole, replace(new.scores, lapse=lapse))
        scores = here.scores
    return scores, Mode(here.slope, here.value, status, taken)


def _likely_lapse(target: Target, scores: Scores) -> Vector:
    """The most likely one, given all else."""
    _, sigma, _ = target.probabilities_of(scores)
    lapses = np.exp(np.linspace(np.log(1e-6), np.log(0.5), 30))
    logs = [target.weights @ np.log(lapse / 2 + (1 - lapse) * sigma) for lapse in lapses]
    return lapses[[int(np.argmax(logs))]]


@dataclass(frozen=True)
class _Quadratic:
    """A quadratic score, the negative log likelihood there, and its slope along (svec M, v)."""

    scores: Scores
    value: float
    slope: Vector

    @classmethod
    def of(cls, target: Target, scores: Scores) -> _Quadratic:
        """Value and slope there, infinite outside of the cone."""
        values, vectors = np.linalg.eigh(scores.metric[0])
        if values[0] <= 0:
            return cls(scores, np.inf, np.empty(0))
        value, to_metric, to_linear = target.likelihood(scores)
        value -= BARRIER * float(np.log(values).sum())
        to_metric = to_metric - BARRIER * (vectors / values) @ vectors.T
        return cls(scores, value, np.concatenate([svec(to_metric), to_linear]))

    def step(self, target: Target, some: Target, rows: Matrix) -> _Quadratic:
        """After a Newton step with the curvature of some answers, shortened until it leads down."""
        p, sigma, lapse = some.probabilities_of(self.scores)
        share, size = target.graph.n_answers / some.graph.n_answers, rows.shape[1] - target.d
        information = share * (1 - lapse) ** 2 * (sigma * (1 - sigma)) ** 2 / np.maximum(p * (1 - p), 1e-12)
        curved = rows * np.sqrt(some.weights * information, dtype=np.float32)[:, None]
        hessian = (curved.T @ curved).astype(float) + np.eye(rows.shape[1])
        hessian[:size, :size] += BARRIER * congruence(np.linalg.inv(self.scores.metric[0]))
        step: Vector = np.linalg.solve(hessian, self.slope).astype(float)
        for length in self._inside(-step, target.d) * 0.5 ** np.arange(10):
            there = self.of(target, self._moved(-length * step, target.d))
            if there.value < self.value:
                return there
        return self

    def _inside(self, step: Vector, d: int) -> float:
        """The longest step, up to 1, that leaves the metric a fifth of itself in every direction."""
        lowest = eigh(smat(step[:-d], d), self.scores.metric[0], eigvals_only=True)[0]
        return min(1.0, 0.8 / max(-float(lowest), 1e-300))

    def _moved(self, step: Vector, d: int) -> Scores:
        metric, linear = self.scores.metric + smat(step[:-d], d), self.scores.linear + step[-d:]
        return replace(self.scores, metric=metric, linear=linear)


def _lifted_rows(target: Target) -> Matrix:
    """d(margin)/d(svec M, v) of each answer, in single precision."""
    losers, winners = target.items[target.graph.losers], target.items[target.graph.winners]
    rows = np.hstack([outer_features(losers) - outer_features(winners), -2 * (losers - winners)])
    return rows.astype(np.float32)


def climb_effects(target: Target, features: Vector, effect_size: float) -> Mode:
    """Item effects of a given size on top of what the features tell, whose scale and lapse may change.

    `features` are the unknowns without effects. What the features tell stays: it is what holds for
    an item never seen. The mode of the effects' size would be zero whatever the data, so it stays too.
    """
    n = len(target.items)
    z = np.concatenate([features, [(np.log(effect_size) - EFFECT[0]) / EFFECT[1]], np.zeros(n)])
    hyper = [target.own] + [target.own + 2] * (target.lapse is None)
    return climb(target, z, moved=np.concatenate([hyper, np.arange(target.n - n, target.n)]).astype(np.intp))


def curvature(target: Target, z: Vector, rng: np.random.Generator) -> Matrix:
    """The Fisher information of the free unknowns at z, but for item effects, plus the prior's."""
    chosen, share = np.arange(target.graph.n_answers), 1.0
    if len(chosen) > MOST_ANSWERS:
        chosen = rng.choice(len(chosen), MOST_ANSWERS, replace=False)
        share = target.graph.n_answers / MOST_ANSWERS
    to_margin, information, to_lapse = _information(target, z)
    # Single precision is enough: the answers are a sample.
    rows = _margin_rows(target, z, chosen).astype(np.float32)
    if target.lapse is None:
        rows[:, target.own + 2] = to_lapse[chosen] / to_margin[chosen]
    scaled = rows * np.sqrt(share * information[chosen], dtype=np.float32)[:, None]
    hessian: Matrix = np.eye(target.n) + (scaled.T @ scaled).astype(float) + _turns(target, z)
    moved = free(target)
    return hessian[np.ix_(moved, moved)]


def whitening(hessian: Matrix) -> Matrix:
    """A root of the inverse: hessian^-1 = root root'. No eigenvalue is below the prior's, which is 1."""
    try:
        lower = cholesky(hessian, lower=True)
        result: Matrix = solve_triangular(lower, np.eye(len(hessian)), lower=True).T
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(hessian)
        result = vectors / np.sqrt(np.maximum(values, 1.0))
    return result


def draw(target: Target, mode: Vector, root: Matrix, count: int, rng: np.random.Generator) -> Matrix:
    """Points of the Gaussian about the mode, (count, n); item effects are drawn given what the features tell.

    The scores that an answer is about are features' and effects' together: where a draw's features say
    more, s_draw - s_mode, its effects say less.
    """
    z, moved = np.tile(mode, (count, 1)), free(target)
    z[:, moved[: len(root)]] += rng.standard_normal((count, len(root))) @ root.T
    if target.effects:
        n, (_, information, _) = len(target.items), _information(target, mode)
        size = np.exp(EFFECT[0] + EFFECT[1] * mode[-n - 1])
        told = target.of_items(replace(target.scores(z), effects=None))
        told -= target.of_items(replace(target.scores(mode[None]), effects=None))
        laplacian, spread = target.graph.laplacian(information), _effect_root(target, information, size)
        answer = -size * (spread @ (spread.T @ (laplacian @ told)))
        z[:, -n:] += answer.T + rng.standard_normal((count, n)) @ spread.T
    return z


def _effect_root(target: Target, information: Vector, size: float) -> Any:
    """A root of the effects' covariance; of their variances alone where they are many."""
    n = len(target.items)
    if n > MOST_EFFECTS:
        ends = np.concatenate([target.graph.winners, target.graph.losers])
        return diags_array(1 / np.sqrt(1 + size**2 * np.bincount(ends, np.tile(information, 2), n)))
    laplacian = target.graph.laplacian(information)
    dense = laplacian if isinstance(laplacian, np.ndarray) else laplacian.toarray()
    return whitening(size**2 * dense + np.eye(n))


def _information(target: Target, z: Vector) -> tuple[Vector, Vector, Vector]:
    """Of each answer: dp/d(margin), its weighted Fisher information there, dp/d(lapse's unknown)."""
    p, sigma, lapse = target.probabilities(z)
    to_margin = np.maximum((1 - lapse) * sigma * (1 - sigma), 1e-12)
    information = target.weights * to_margin**2 / np.maximum(p * (1 - p), 1e-12)
    return to_margin, information, (0.5 - sigma) * LAPSE[1] * lapse * (1 - lapse)


def _margin_rows(target: Target, z: Vector, chosen: Index) -> Matrix:
    """d(margin)/dz of the chosen answers, without item effects."""
    step, n = 1e-5, target.n
    moves = step * np.eye(n)
    ahead, behind = target.scores(z + moves), target.scores(z - moves)
    metric, linear = (ahead.metric - behind.metric) / (2 * step), (ahead.linear - behind.linear) / (2 * step)
    losers, winners = target.graph.losers[chosen], target.graph.winners[chosen]
    products = outer_features(target.items[losers]) - outer_features(target.items[winners])
    away, table = target.items[losers] - target.items[winners], triangle(target.d)
    rows: Matrix = products @ (metric[:, table.rows, table.columns] * table.factors).T - 2 * (away @ linear.T)
    return rows


def _turns(target: Target, z: Vector) -> Matrix:
    """STIFF times the projection onto turns A -> (I + W) A, W' = -W."""
    result, count, d = np.zeros((len(z), len(z))), target.rung.turning(target.d), target.d
    if count:
        root = z[:count].reshape(-1, d)
        high, low = np.tril_indices(len(root), -1)
        tangents = np.zeros((len(high), *root.shape))
        tangents[np.arange(len(high)), high] = root[low]
        tangents[np.arange(len(high)), low] = -root[high]
        basis, _ = np.linalg.qr(tangents.reshape(len(high), -1).T)
        result[:count, :count] = STIFF * basis @ basis.T
    return result
