"""A primal-dual interior-point method with Nesterov-Todd scaling and Mehrotra's corrector.

Every answer has multipliers: a of its margin and, beside a residual, b of that. It carries
complementary rows (slack, price), those of its loss and then the two sides of its residual,
r = p - m with prices gamma1 w - b and gamma1 w + b. So the prices are a constant plus C (a, b), with
C a small matrix of signs, and all rows are handled at once. The primal is feasible from the start
and stays so; a step only has to mend the stationarity of y and rho.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.programs.cone import NesterovTodd, smat, svec
from coombs.programs.kkt import KKT
from coombs.programs.losses import LOSSES
from coombs.programs.program import Solution, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from coombs.data.graph import Matrix, Vector
    from coombs.programs.kkt import Step
    from coombs.programs.program import Program

START_WIDTH = 2.0
"""How wide slacks start, in units of the hinge's margin; found by trial, as are the starting prices."""
SHORTEST_STEP = 1e-7
"""A step below this is no progress."""
HALVINGS = 12
"""How often a step is halved at most for the curve of a smooth loss."""
ROUGH = 1e-3
"""Relative gap of the hinge program from which a smooth loss starts."""
INSIDE = 0.1
"""How far that start is moved inside of its bounds, as a share of their width."""
HEAVY = 1e10
"""Weights above this make the reduced system inexact: then every direction is refined."""


@dataclass(slots=True)
class Point:
    """The iterate. `rows` holds the slacks of all rows, then their prices; `multipliers` is (a, b)."""

    y: Vector
    rho: Vector
    nu: Vector
    distances: Vector
    multipliers: Matrix
    rows: Matrix
    bound_price: Vector
    dual: Matrix


class SearchDirection(NamedTuple):
    """A Newton direction; the cone's two parts are in scaled coordinates."""

    y: Vector
    rho: Vector
    nu: Vector
    distances: Vector
    multipliers: Matrix
    rows: Matrix
    bound_price: Vector
    cone: Matrix
    dual: Matrix


class Targets(NamedTuple):
    """What a step should add to the products: slack * price over price, d * bound price, the cone's."""

    shift: Matrix
    bound: Vector
    cone: Matrix


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def solve(program: Program, tol: float = 1e-8, max_iter: int = 300) -> Solution:
    """Minimise the program to a certified relative gap of `tol`, or say how it ended instead."""
    ends: list[Solution] = []
    # A smooth loss beside residuals starts from the hinge's solution; from afar only if that fails.
    for start in (_start,) if program.loss.signs or not program.gamma1 else (_start_from_hinge, _start):
        ends.append(_solve_from(program, *start(program, max_iter), tol, max_iter))
        if ends[-1].status is Status.OPTIMAL:
            break
    return min(ends, key=lambda end: end.gap if math.isfinite(end.gap) else math.inf)


def _solve_from(program: Program, point: Point, before: int, tol: float, max_iter: int) -> Solution:
    """Follow the path from a point that took so many iterations before."""
    state = _State(program, point)
    status, n_iter = _follow(state, lambda: state.nearly_complementary(tol) and state.gap() <= tol, max_iter)
    gap = state.gap()
    status = Status.OPTIMAL if gap <= tol else status
    return Solution(state.point.y, state.point.distances, status, state.value(), gap, before + n_iter)


def _follow(state: _State, done: Callable[[], bool], max_iter: int) -> tuple[Status, int]:
    """Follow the central path until done: scale, predict, centre, correct, step."""
    for n_iter in range(max_iter):
        if done():
            return Status.OPTIMAL, n_iter
        try:
            state.scale_and_factor()
            affine = state.direction(state.affine_targets())
            sigma = state.centring(affine)
            combined = state.direction(state.corrected_targets(affine, sigma))
        except np.linalg.LinAlgError:
            return Status.STALLED, n_iter
        step = state.damped(combined, min(1.0, step_back(sigma) / state.inverse_step(combined)))
        if not step > SHORTEST_STEP:
            return Status.STALLED, n_iter
        state.move(combined, step)
    return Status.MAX_ITERATIONS, max_iter


def step_back(sigma: float) -> float:
    """The share of the longest step to take: nearly all of it once the path is straight."""
    return max(0.99, 1.0 - 0.1 * math.cbrt(sigma))


class _State:
    """The iterate, its scaling and its factored Newton system."""

    def __init__(self, program: Program, point: Point) -> None:
        self.program, self.point = program, point
        self.kkt = KKT(program)
        self.smooth = not program.loss.signs
        self.c = _price_map(program)
        self.n_rows, n_multipliers = self.c.shape
        # da = -h (Q dd + k_a) and db = g (Q drho - k_b): the same but for these signs.
        self.signs = np.array([-1.0, 1.0])[:n_multipliers, None]
        self.signed_c, self.absolute_c = self.signs * self.c.T, np.abs(self.c.T)
        # normals' rho = 0 holds at the start, and every step keeps it.
        self.no_nu = np.zeros(program.normals.shape[1])
        self.n_pairs = self.n_rows * program.graph.n_answers + len(point.bound_price) + program.order
        self._refresh()
        self._last_scale = self.program.scale(self.value())

    def _refresh(self) -> None:
        """What depends on the iterate alone."""
        program, point = self.program, self.point
        self.margins = program.graph.differences(point.distances)
        if self.smooth:
            point.multipliers[0] = program.loss.smooth_prices(self.margins, program.weights)
        self.slack, self.price = point.rows[: self.n_rows], point.rows[self.n_rows :]
        self.primal = smat(point.y[: program.n_psd], program.order)
        total = np.vdot(self.slack, self.price) + np.vdot(self.primal, point.dual)
        if program.nonnegative:
            total = total + np.vdot(point.bound_price, point.distances)
        self.mu = float(total) / max(1, self.n_pairs)

    def value(self) -> float:
        """The objective."""
        return self.program.value(self.point.y, self.point.rho)

    def gap(self) -> float:
        """The certified relative gap."""
        return self.program.relative_gap(self.point.y, self.point.rho, self.point.multipliers)

    def nearly_complementary(self, tol: float) -> bool:
        """Whether it is time to pay for the certificate; the last known value serves until it seems so."""
        products = self.mu * self.n_pairs
        if products <= 2 * tol * self._last_scale:
            self._last_scale = self.program.scale(self.value())
        return bool(products <= 2 * tol * self._last_scale)

    def scale_and_factor(self) -> None:
        """Weights h, g, theta and the cone's scaling; then the Newton system with them."""
        program, point = self.program, self.point
        self.ratio = self.slack / self.price
        softness = self.absolute_c @ self.ratio
        softness[0] += program.loss.compliance(self.margins, program.weights)
        weights = 1.0 / softness
        self.signed_weights = self.signs * weights
        theta = point.bound_price / point.distances if program.nonnegative else None
        self.scaling = NesterovTodd(self.primal, point.dual)
        self.kkt.factor(weights[0], weights[1] if len(weights) > 1 else None, theta, self.scaling.hessian())
        self.refinements = 1 if softness.min() < 1.0 / HEAVY else 0
        self._stationarity()

    def _stationarity(self) -> None:
        """grad_d = -Q'a + 2 gamma3 d; what is left of the conditions for y and for rho."""
        program, point = self.program, self.point
        pulls = program.graph.accumulate(point.multipliers)
        grad = 2 * program.gamma3 * point.distances - pulls[0]
        if program.nonnegative:
            grad -= point.bound_price
        self.left_y = program.features.T @ grad + 2 * program.penalty * point.y + program.linear
        self.left_y[: program.n_psd] -= svec(point.dual)
        self.left_rho = program.normals @ point.nu - grad
        if len(pulls) > 1:
            self.left_rho += pulls[1]

    def affine_targets(self) -> Targets:
        """Aim at zero products."""
        bound = self.point.bound_price
        if self.program.nonnegative:
            bound = -bound * self.point.distances
        return Targets(-self.slack, bound, -self.scaling.diagonal)

    def corrected_targets(self, affine: SearchDirection, sigma: float) -> Targets:
        """Aim at sigma mu, less the affine step's second-order term."""
        aim = sigma * self.mu
        shift = aim - affine.rows[: self.n_rows] * affine.rows[self.n_rows :]
        shift /= self.price
        shift -= self.slack
        bound = self.point.bound_price
        if self.program.nonnegative:
            bound = aim - bound * self.point.distances - affine.distances * affine.bound_price
        cross = affine.cone @ affine.dual
        cone = np.diag(aim - self.scaling.lam**2) - (cross + cross.T) / 2
        return Targets(shift, bound, self.scaling.divide(cone))

    def direction(self, targets: Targets) -> SearchDirection:
        """The Newton direction for these targets of the products."""
        program, point, graph = self.program, self.point, self.program.graph
        k = self.signed_c @ targets.shift
        dy, drho, dnu = self._newton(k, targets)
        dd = program.features @ dy - drho
        if not math.isfinite(dd @ dd):
            # Where numpy's own warnings, silenced in `solve`, end up.
            raise np.linalg.LinAlgError("the Newton direction overflowed")
        multipliers = graph.differences(np.array([dd, drho][: len(k)]))
        multipliers += k
        multipliers *= self.signed_weights
        rows = np.empty_like(point.rows)
        price = np.matmul(self.c, multipliers, out=rows[self.n_rows :])
        np.subtract(targets.shift, self.ratio * price, out=rows[: self.n_rows])
        bound_price = targets.bound
        if program.nonnegative:
            bound_price = (targets.bound - point.bound_price * dd) / point.distances
        scaled = self.scaling.to_scaled(smat(dy[: program.n_psd], program.order))
        return SearchDirection(
            dy, drho, dnu, dd, multipliers, rows, bound_price, scaled, targets.cone - scaled
        )

    def _newton(self, k: Matrix, targets: Targets) -> Step:
        """Right-hand sides of the Newton system, and its solution (dy, drho, dnu)."""
        program = self.program
        pushes = program.graph.accumulate(self.signed_weights * k)
        push = -pushes[0]
        if program.nonnegative:
            push -= targets.bound / self.point.distances
        f_y = -self.left_y - program.features.T @ push
        f_y[: program.n_psd] += svec(self.scaling.from_scaled_dual(targets.cone))
        f_rho = push - self.left_rho if program.residual else np.zeros_like(push)
        if len(pushes) > 1:
            f_rho -= pushes[1]
        return self.kkt.solve(f_y, f_rho, self.no_nu, self.refinements)

    def inverse_step(self, to: SearchDirection) -> float:
        """The inverse of the longest step that keeps slacks, prices and both sides of the cone positive."""
        point = self.point
        inverse = max(self.scaling.inverse_step(to.cone), self.scaling.inverse_step(to.dual), 1e-16)
        if self.n_rows:
            inverse = max(inverse, -(to.rows / point.rows).min())
        if self.program.nonnegative:
            inverse = max(inverse, -(to.distances / point.distances).min())
            inverse = max(inverse, -(to.bound_price / point.bound_price).min())
        return float(inverse)

    def damped(self, to: SearchDirection, step: float) -> float:
        """The step, halved while the curve of a smooth loss would make the conditions worse."""
        program, point = self.program, self.point
        if not self.smooth:
            return step
        margin_step = program.graph.differences(to.distances)
        before = self.left_rho if program.residual else self.left_y
        for _ in range(HALVINGS):
            prices = program.loss.smooth_prices(self.margins + step * margin_step, program.weights)
            bend = program.graph.accumulate(prices - point.multipliers[0] - step * to.multipliers[0])
            if not program.residual:
                bend = -(program.features.T @ bend)
            after = np.linalg.norm((1 - step) * before + bend)
            if after <= (1 - 0.05 * step) * np.linalg.norm(before) + 1e-9:
                break
            step /= 2
        return step

    def centring(self, affine: SearchDirection) -> float:
        """Mehrotra's sigma = (mu after the affine step / mu)^3.

        An affine step alpha turns sum XZ into (1 - alpha) sum XZ + alpha^2 sum dX dZ.
        """
        if not self.n_pairs:
            return 0.0
        step = min(1.0, 1.0 / self.inverse_step(affine))
        cross = np.vdot(affine.rows[: self.n_rows], affine.rows[self.n_rows :])
        cross = cross + np.vdot(affine.cone, affine.dual)
        if self.program.nonnegative:
            cross = cross + np.vdot(affine.distances, affine.bound_price)
        after = 1.0 - step + step**2 * float(cross) / (self.n_pairs * self.mu)
        return float(min(1.0, max(0.0, after)) ** 3)

    def move(self, to: SearchDirection, step: float) -> None:
        """Take the step."""
        point = self.point
        dual = self.scaling.from_scaled_dual(self.scaling.diagonal + step * to.dual)
        point.dual = (dual + dual.T) / 2
        point.y += step * to.y
        point.rho += step * to.rho
        point.nu += step * to.nu
        point.distances += step * to.distances
        point.multipliers += step * to.multipliers
        point.rows += step * to.rows
        point.bound_price += step * to.bound_price
        self._refresh()


def _price_map(program: Program) -> Matrix:
    """C: how the price of each row changes with (a, b)."""
    loss = np.array(program.loss.signs)[:, None]
    if not program.gamma1:
        return loss
    blank = np.zeros_like(loss)
    return np.vstack([np.hstack([loss, blank]), [[0.0, -1.0], [0.0, 1.0]]])


def _start(program: Program, max_iter: int = 0) -> tuple[Point, int]:
    """N a multiple of the identity that the penalty can bear; wide slacks, prices inside their box."""
    graph, n_psd = program.graph, program.n_psd
    diagonal = _start_diagonal(program)
    y = np.zeros(program.features.shape[1])
    y[:n_psd] = svec(np.diag(diagonal))
    distances = program.offset + program.features @ y
    rho = np.zeros(graph.n_items)
    if program.nonnegative:
        lift = START_WIDTH - distances.min()
        distances, rho = distances + lift, rho - lift
    a, slack, price = program.loss.start(graph.differences(distances), program.weights, START_WIDTH)
    multipliers = a[None].copy()
    if program.gamma1:
        box = np.broadcast_to(program.gamma1 * program.weights, (2, graph.n_answers))
        slack = np.vstack([slack, np.full_like(box, START_WIDTH / 2)])
        price, multipliers = np.vstack([price, box]), np.vstack([a, np.zeros_like(a)])
    mu = float((slack * price).mean()) if slack.size else 1.0
    bound_price = mu / distances if program.nonnegative else np.zeros(0)
    nu = np.zeros(program.normals.shape[1])
    rows = np.vstack([slack, price])
    return Point(y, rho, nu, distances, multipliers, rows, bound_price, np.diag(mu / diagonal)), 0


def _start_from_hinge(program: Program, max_iter: int) -> tuple[Point, int]:
    """A start for a smooth loss beside residuals, and the iterations it took.

    Far from its optimum a smooth loss has no curvature to steer by where the gammas are tiny. So
    solve the hinge program roughly, scale its point as suits the smooth loss, and step inside.
    """
    hinge = replace(program, loss=LOSSES["hinge"])
    rough = _State(hinge, _start(hinge)[0])
    _, n_iter = _follow(rough, lambda: rough.nearly_complementary(ROUGH), max_iter)
    found, n_psd = rough.point, program.n_psd

    def value(log_scale: float) -> float:
        return program.value(np.exp(log_scale) * found.y, np.exp(log_scale) * found.rho)

    # Asking questions goes without it, and starts sooner.
    from scipy.optimize import minimize_scalar

    scale = np.exp(minimize_scalar(value, bounds=(-3.0, 6.0), method="bounded").x)
    y, rho = scale * found.y, scale * found.rho
    primal = smat(y[:n_psd], program.order)
    room = np.minimum(_start_diagonal(program), max(np.trace(primal) / max(1, program.order), 1e-12))
    primal = primal + INSIDE * np.diag(room)
    y[:n_psd] = svec(primal)
    distances = program.distances(y, rho)
    if program.nonnegative:
        lift = max(0.0, INSIDE - float(distances.min()))
        distances, rho = distances + lift, rho - lift
    margins, residuals = program.graph.differences(distances), program.graph.differences(rho)
    a, _, _ = program.loss.start(margins, program.weights, INSIDE)
    slack = np.stack([np.maximum(residuals, 0.0), np.maximum(-residuals, 0.0)]) + INSIDE
    box = program.gamma1 * program.weights
    b = np.clip(found.multipliers[1], (INSIDE - 1) * box, (1 - INSIDE) * box)
    price = np.stack([box - b, box + b])
    mu = float((slack * price).mean())
    dual = mu * np.linalg.inv(primal)
    bound_price = mu / distances if program.nonnegative else np.zeros(0)
    multipliers, rows = np.stack([a, b]), np.vstack([slack, price])
    dual = (dual + dual.T) / 2
    return Point(y, rho, found.nu, distances, multipliers, rows, bound_price, dual), n_iter


def _start_diagonal(program: Program) -> Vector:
    """The diagonal of N to start with: of ordinary size, but no larger than the penalty bears."""
    steps = np.arange(program.order)
    # svec keeps the diagonal at 0, 2, 5, 9, ...
    root = np.sqrt(program.penalty[steps * (steps + 3) // 2])
    result: Vector = np.minimum(5.0 / max(1, program.order), 3.0 / root)
    return result
