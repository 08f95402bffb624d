"""The posterior near its mode: how to get there, and the Gaussian that fits it there.

Where answers are many the posterior is narrow and this is as good as sampling, and much cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.sparse import block_diag, csr_array, diags_array, eye_array

from coombs.inference.information import information_pairs
from coombs.inference.levels import WithLevels
from coombs.inference.target import EFFECT_WIDTH, ScoreParameters
from coombs.programs.cone import congruence, outer_features, smat, svec, triangle
from coombs.programs.program import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from coombs.data.graph import Index, Matrix, Vector
    from coombs.inference.information import InformationPairs
    from coombs.inference.target import Target

MOST_ANSWERS = 12_000
"""Curvature is measured on this many answers, chosen at random where there are more."""
LEAST_GAIN = 0.02
"""Maximising ends where a step gains less than this log probability."""
FLAT = 1e-3
"""Maximising ends where no slope is larger."""
HELD = 1e6
"""Curvature along what is not moved."""
LEAST_CURVATURE = 1.0
"""The least curvature that the prior counts for along any direction."""
MANY_ANSWERS = 100_000
"""Beyond this many answers a full metric is found by Newton's method, which needs no good start."""
NEWTON_STEPS = 60
"""Newton's method ends after so many steps."""
NEWTON_GAIN = 0.1
"""Newton's method ends where a step gains less than this log probability."""
NEWTON_LAPSE = 1e-3
"""The lapse rate that Newton's method starts with."""
BARRIER = 1.0
"""Weight of log det M in Newton's method."""
MOST_EFFECTS = 2_000
"""Up to this many item effects have a covariance; beyond, each has its own variance."""


@dataclass(frozen=True)
class Mode:
    """Where maximising ended."""

    y: Vector
    value: float
    status: Status
    n_iter: int


def maximise(
    target: Target,
    start: Vector,
    *,
    max_iter: int = 500,
    root: Any = None,
    moved: Index | None = None,
) -> Mode:
    """The nearest mode, by L-BFGS in the coordinates that `root` makes isotropic (y = start + root x)."""
    moved = np.arange(target.n) if moved is None else moved

    def at(x: Vector) -> Vector:
        y = start.copy()
        y[moved] += x if root is None else root @ x
        return y

    def objective(x: Vector) -> tuple[float, Vector]:
        found = target.density(at(x)[None])
        slope = found.gradient[0, moved]
        return float(found.value[0]), slope if root is None else root.T @ slope

    # Asking questions goes without it, and starts sooner.
    from scipy.optimize import minimize

    least = LEAST_GAIN / max(1.0, abs(float(target.value(start[None])[0])))
    options = {"maxiter": max_iter, "ftol": least, "gtol": FLAT, "maxcor": 20}
    # A trial step may go so far that scores overflow; it is then shortened.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = minimize(objective, np.zeros(len(moved)), jac=True, method="L-BFGS-B", options=options)
    status = Status.MAX_ITERATIONS if found.status == 1 else Status.CONVERGED
    return Mode(at(found.x), float(found.fun), status, int(found.nit))


def newton(
    target: Target, metric: Matrix, linear: Vector, rng: np.random.Generator
) -> tuple[ScoreParameters, Mode]:
    """(M, v, lapse) near the most likely ones, by Newton's method with the curvature of some of the answers.

    The likelihood is convex in (M, v), and where answers are very many the prior says little beside it;
    a barrier, which is a Wishart prior, keeps M positive definite. With m answers in the curvature of
    n unknowns, what is left shrinks by about n / m at each step.
    """
    some = target.some(MOST_ANSWERS, rng)
    rows = _lifted_rows(some)
    scores = ScoreParameters(
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


def _likely_lapse(target: Target, scores: ScoreParameters) -> Vector:
    """The most likely one, given all else."""
    _, sigma, _ = target.probabilities_of(scores)
    lapses = np.exp(np.linspace(np.log(1e-6), np.log(0.5), 30))
    logs = [target.weights @ np.log(lapse / 2 + (1 - lapse) * sigma) for lapse in lapses]
    return lapses[[int(np.argmax(logs))]]


@dataclass(frozen=True)
class _Quadratic:
    """A quadratic score, the negative log likelihood there, and its slope along (svec M, v)."""

    scores: ScoreParameters
    value: float
    slope: Vector

    @classmethod
    def of(cls, target: Target, scores: ScoreParameters) -> _Quadratic:
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

    def _moved(self, step: Vector, d: int) -> ScoreParameters:
        metric, linear = self.scores.metric + smat(step[:-d], d), self.scores.linear + step[-d:]
        return replace(self.scores, metric=metric, linear=linear)


def _lifted_rows(target: Target) -> Matrix:
    """d(margin)/d(svec M, v) of each answer, in single precision."""
    losers, winners = target.items[target.graph.losers], target.items[target.graph.winners]
    rows = np.hstack([outer_features(losers) - outer_features(winners), -2 * (losers - winners)])
    return rows.astype(np.float32)


def maximise_effects(
    target: Target,
    without: Vector,
    root: Matrix,
    effect_size: float,
    *,
    start: Vector | None = None,
    max_iter: int = 500,
) -> Mode:
    """Item effects of a given size together with what the features tell, from the mode `without` effects.

    The mode of the effects' size would be zero whatever the data, so it stays. `root` is that of the
    features' unknowns, and `start` a point to begin at.
    """
    n, own = len(target.items), target.n_features
    y = np.concatenate([without[:own], [0.0], np.zeros(n), without[own:]]) if start is None else start.copy()
    y[own] = (np.log(effect_size) - target.effect_size) / EFFECT_WIDTH
    moved = np.concatenate([np.arange(own), np.arange(own + 1, target.n)])
    return maximise(target, y, root=with_widths(target, y, root), moved=moved, max_iter=max_iter)


def with_widths(target: Target, y: Vector, root: Matrix) -> Any:
    """The features' root, then the deviation of each effect and of each anchor given all else."""
    if not target.effects and not target.n_anchors:
        return root
    slopes = own_slopes(target, y)
    each = information_pairs(target, y).of_each(slopes.shape[0])
    return _Blocks(root, 1 / np.sqrt(1 + (slopes**2).T @ each))


def own_slopes(target: Target, y: Vector) -> csr_array:
    """(rows, unknowns) what unknowns of its own count for in the score of each item and anchor."""
    effects, anchors = csr_array((len(target.items), 0)), csr_array((0, 0))
    if target.effects:
        size = np.exp(target.effect_size + EFFECT_WIDTH * y[target.n_features])
        effects = size * eye_array(len(target.items), format="csr")
    if target.sets is not None and target.n_anchors:
        anchors = csr_array(target.sets.thresholds.jacobian(y[None, target.n - target.n_anchors :])[0])
    return csr_array(block_diag([effects, anchors], format="csr"))


class _Blocks:
    """A block-diagonal matrix: `root`, then `widths` on the diagonal."""

    def __init__(self, root: Matrix, widths: Vector) -> None:
        self.root, self.widths = root, widths

    @property
    def T(self) -> _Blocks:  # noqa: N802
        """Transposed."""
        return _Blocks(self.root.T, self.widths)

    def __matmul__(self, x: Vector) -> Vector:
        own = len(self.root)
        return np.concatenate([self.root @ x[:own], self.widths * x[own:]])


def curvature(target: Target, y: Vector, rng: np.random.Generator) -> Matrix:
    """The Fisher information of what the features tell and of lapses at y, plus the prior's curvature."""
    pairs = information_pairs(target, y)
    n_pairs, share = len(pairs.one), 1.0
    if n_pairs > MOST_ANSWERS:
        pairs = pairs.only(rng.choice(n_pairs, MOST_ANSWERS, replace=False))
        share = n_pairs / MOST_ANSWERS
    rows = _margin_rows(target, y, pairs)
    if target.lapse is None:
        rows = np.column_stack([rows, pairs.to_lapse])
    if target.has_ties:
        rows = np.column_stack([rows, pairs.to_head_start])
    # Single precision is enough: the answers are a sample.
    scaled = rows.astype(np.float32) * np.sqrt(share * pairs.size, dtype=np.float32)[:, None]
    hessian: Matrix = (scaled.T @ scaled).astype(float)
    if target.sets is not None and target.n_anchors:
        hessian -= _lost_to_anchors(target, y, pairs, scaled, share)
    hessian += prior_curvature(target, y)
    if target.has_ties:
        hessian[-1, -1] += pairs.of_head_start
    return hessian


def _lost_to_anchors(target: Target, y: Vector, pairs: InformationPairs, rows: Any, share: float) -> Matrix:
    """What `rows`, the roots of the pairs' information, tell less of the features as anchors are unknown."""
    assert target.sets is not None
    slopes = np.zeros((len(target.items) + target.n_anchors, target.n_anchors), dtype=np.float32)
    slopes[len(target.items) :] = target.sets.thresholds.jacobian(y[None, target.n - target.n_anchors :])[0]
    sizes = np.sqrt(share * pairs.size, dtype=np.float32)[:, None]
    own = sizes * (slopes[pairs.other] - slopes[pairs.one])
    across = (own.T @ rows).astype(float)
    result: Matrix = across.T @ np.linalg.solve((own.T @ own).astype(float) + np.eye(own.shape[1]), across)
    return result


def prior_curvature(target: Target, y: Vector) -> Matrix:
    """Of the prior of what the features tell and of lapses at y."""
    hessian = np.eye(target.n_features)
    hessian[: target.own, : target.own] = _kinds_curvature(target, y[: target.own])
    if isinstance(target.kind, WithLevels):
        # A size times unknowns is no Gaussian: what levels are worth is drawn with the sizes held.
        held = target.kind.sizes_at(target.d)
        hessian[held, held] += HELD
    return hessian


def _kinds_curvature(target: Target, own: Vector) -> Matrix:
    """Of the kind's prior, without what curves the wrong way."""
    step, n = 1e-4, len(own)
    if not n:
        return np.zeros((0, 0))
    points = np.concatenate([own + step * np.eye(n), own - step * np.eye(n)])
    slopes = target.kind.prior(points, target.d, target.kind.expand(points, target.d))[1]
    hessian = (slopes[:n] - slopes[n:]) / (2 * step)
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    result: Matrix = (vectors * np.maximum(values, LEAST_CURVATURE)) @ vectors.T
    return result


def whitening(hessian: Matrix) -> Matrix:
    """A root of the inverse: hessian^-1 = root root'."""
    try:
        lower = cholesky(hessian, lower=True)
        result: Matrix = solve_triangular(lower, np.eye(len(hessian)), lower=True).T
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(hessian)
        result = vectors / np.sqrt(np.maximum(values, LEAST_CURVATURE))
    return result


def draw(
    target: Target,
    mode: Vector,
    root: Matrix,
    count: int,
    rng: np.random.Generator,
    correct: Callable[[Matrix, Matrix], Matrix] | None = None,
) -> Matrix:
    """Points of the Gaussian about the mode, (count, n); item effects are drawn given what the features tell.

    The scores that an answer is about are features' and effects' together: where a draw's features say
    more, s_draw - s_mode, its effects say less. `correct` changes the steps from the mode, given the root.
    """
    y = np.tile(mode, (count, 1))
    half = rng.standard_normal(((count + 1) // 2, len(root))) @ root.T
    # Every draw has its mirror image, so that the draws' mean is the mode.
    steps = np.concatenate([half, -half])[:count]
    y[:, : len(root)] += steps if correct is None else correct(steps, root)
    if target.effects or target.n_anchors:
        slopes, pairs = own_slopes(target, mode), information_pairs(target, mode)
        n_rows, n_own = slopes.shape
        told = np.zeros((n_rows, count))
        told[: len(target.items)] = target.of_items(replace(target.scores(y), effects=None))
        told[: len(target.items)] -= target.of_items(replace(target.scores(mode[None]), effects=None))
        laplacian = pairs.laplacian(n_rows)
        spread = _own_root(slopes.T @ (laplacian @ slopes))
        answer = -(spread @ (spread.T @ (slopes.T @ (laplacian @ told))))
        y[:, target.n - n_own :] += answer.T + rng.standard_normal((count, n_own)) @ spread.T
    return y


def _own_root(information: Any) -> Any:
    """A root of the covariance of effects and anchors; of their variances alone where they are many."""
    n = information.shape[0]
    if n > MOST_EFFECTS:
        return diags_array(1 / np.sqrt(1 + information.diagonal()))
    dense = information if isinstance(information, np.ndarray) else information.toarray()
    return whitening(dense + np.eye(n))


def _margin_rows(target: Target, y: Vector, pairs: InformationPairs) -> Matrix:
    """d(s_other - s_one)/dy of the pairs along the kind's unknowns; anchors have no features."""
    step, own = 1e-5, y[: target.own]
    moves = step * np.eye(len(own))
    ahead, behind = target.kind.expand(own + moves, target.d), target.kind.expand(own - moves, target.d)
    metric, linear = (ahead.metric - behind.metric) / (2 * step), (ahead.linear - behind.linear) / (2 * step)
    items = (
        np.concatenate([target.items, np.zeros((target.n_anchors, target.d))])
        if target.n_anchors
        else target.items
    )
    other, one, table = items[pairs.other], items[pairs.one], triangle(target.d)
    products = outer_features(other) - outer_features(one)
    rows: Matrix = products @ (metric[:, table.rows, table.columns] * table.factors).T
    return rows - 2 * ((other - one) @ linear.T)
