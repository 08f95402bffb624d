"""The interior-point method for one metric and many people: Nesterov-Todd scaling, Mehrotra's corrector.

The point is inside the set from the start and stays so. An answer has the price a of its margin and rows
(slack, price) for the kinks of its loss, as in `interior`; a constraint has its dual point z. A step mends

    sum_i a_i (shared_i, own_i) + sum_j A_j' z_j = 0

and drives the products of slacks and prices, and of s = constant + A x and z, to zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.blas import serial
from coombs.programs.arrow import Arrow, Unknowns
from coombs.programs.interior import HALVINGS, SHORTEST_STEP, START_WIDTH, step_back
from coombs.programs.program import Status
from coombs.programs.shared_metric import SharedSolution

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector
    from coombs.programs.scaled_cones import Array, Scaling
    from coombs.programs.shared_metric import SharedProgram

NEAR = 0.1
"""How far a step on the curve of a smooth loss may leave the central path, in units of its products."""
USUAL = 0.5
"""How much of a margin the metric explains at the start."""


BALANCE = 0.1
"""Products are kept above this share of the Newton decrement, so that both go to zero together."""
MOST_OF_IT = 0.999
"""No step goes farther towards the boundary than this share of the way."""
LEAST = 1e-3
"""Products need not be smaller than this share of what the tolerance allows."""
LATE = 0.1
"""Relative products below which a direction is refined once, on the unreduced system."""


class Step(NamedTuple):
    """A Newton direction; `cones` are its primal and dual parts in scaled coordinates."""

    x: Unknowns
    margins: Vector
    prices: Vector
    rows: Matrix
    cones: tuple[tuple[Array, Array], ...]


class SharedTargets(NamedTuple):
    """What a step should add to slacks, and to scaled primal plus dual points."""

    shift: Matrix
    cones: tuple[Array, ...]


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def solve(program: SharedProgram, tol: float = 1e-8, max_iter: int = 100) -> SharedSolution:
    """Minimise the program to a certified relative gap of `tol`, or say how it ended instead."""
    # Matrices of single people are small: threads of BLAS would only get in each other's way.
    with serial(0):
        state = _SharedState(program)
        state.least_mu = LEAST * tol * program.scale(0.0) / max(1, state.rows.size)
        status, n_iter = _follow(state, tol, max_iter)
        gap = state.gap()
    x = state.best
    return SharedSolution(
        program.metric(x) if program.n_metric else np.zeros((0, 0)),
        program.directions(x).copy(),
        Status.OPTIMAL if gap <= tol else status,
        program.value(x),
        gap,
        n_iter,
    )


def _follow(state: _SharedState, tol: float, max_iter: int) -> tuple[Status, int]:
    """Follow the central path until the gap is small: scale, predict, centre, correct, step."""
    for n_iter in range(max_iter):
        if state.nearly_complementary(tol) and state.gap() <= tol:
            return Status.OPTIMAL, n_iter
        try:
            state.scale_and_factor()
            affine = state.direction(state.affine_targets(), 0)
            sigma = state.centring(affine)
            combined = state.direction(state.corrected_targets(affine, sigma), state.refinements())
        except np.linalg.LinAlgError:
            return Status.STALLED, n_iter
        longest = min(step_back(sigma), MOST_OF_IT) / state.inverse_step(combined)
        step = state.damped(combined, min(1.0, longest), sigma)
        if not step > SHORTEST_STEP:
            return Status.STALLED, n_iter
        state.move(combined, step)
    return Status.MAX_ITERATIONS, max_iter


class _SharedState:
    """The iterate, its scaling and its factored Newton system."""

    def __init__(self, program: SharedProgram) -> None:
        self.program, self.constraints = program, program.constraint.constraints
        self.smooth = not program.loss.signs
        self.signs = np.array(program.loss.signs)
        self.x = program.constraint.start(_usual(program))
        self.margins = program.margins(self.x)
        self.prices, slack, price = program.loss.start(self.margins, program.weights, START_WIDTH)
        self.rows, self.n_rows = np.vstack([slack, price]), len(slack)
        self.points = [one.values(self.x) for one in self.constraints]
        mu = float((slack * price).mean()) if slack.size else self._first_mu()
        self.duals = [mu * one.kind.inverse(s) for one, s in zip(self.constraints, self.points, strict=True)]
        self._refresh()
        self._last_scale = program.scale(program.value(self.x))
        self.least_mu = 0.0
        self.best, self.least_value, self.most_bound = self.x, np.inf, -np.inf

    def _first_mu(self) -> float:
        """Products of a start without rows: together as large as the value."""
        return self.program.value(self.x) / max(1, sum(point.size for point in self.points))

    def _refresh(self) -> None:
        """What depends on the iterate alone."""
        if self.smooth:
            prices = self.program.loss.smooth_prices(self.margins, self.program.weights)
            assert prices is not None
            self.prices = prices
        self.slack, self.price = self.rows[: self.n_rows], self.rows[self.n_rows :]
        total = float(np.vdot(self.slack, self.price))
        total += sum(float(np.vdot(s, z)) for s, z in zip(self.points, self.duals, strict=True))
        self.products = total

    def gap(self) -> float:
        """The certified relative gap, of the best value and the best bound so far."""
        program = self.program
        value = program.value(self.x)
        if not value >= self.least_value:
            self.least_value, self.best = value, self.x
        guide = program.constraint.guide(tuple(self.duals))
        bound = program.bound(np.maximum(self.prices, 0.0), self.x, guide)
        self.most_bound = max(self.most_bound, bound)
        return (self.least_value - self.most_bound) / program.scale(self.least_value)

    def nearly_complementary(self, tol: float) -> bool:
        """Whether it is time to pay for the certificate."""
        if self.products <= 2 * tol * self._last_scale:
            self._last_scale = self.program.scale(self.program.value(self.x))
        return self.products <= 2 * tol * self._last_scale

    def refinements(self) -> int:
        """Rounds of refinement that a direction needs: none while cones are far from singular."""
        return int(self.products <= LATE * self._last_scale)

    def scale_and_factor(self) -> None:
        """Curvature h of the answers, the cones' scalings, and the Newton system with them."""
        program, size = self.program, self.program.constraint.sizes
        self.ratio = self.slack / self.price
        self.curvature = 1.0 / (
            self.ratio.sum(axis=0) + program.loss.compliance(self.margins, program.weights)
        )
        self.system = Arrow(size.n_shared, size.n_people, size.n_own)
        program.add_curvature(self.system, self.curvature)
        self.scalings: list[Scaling] = []
        for one, s, z in zip(self.constraints, self.points, self.duals, strict=True):
            scaling = one.kind(s, z)
            one.add_curvature(self.system, scaling)
            self.scalings.append(scaling)
        self.system.factor()
        self.degree = self.slack.size + sum(scaling.degree for scaling in self.scalings)
        self.mu = self.products / max(1, self.degree)
        self.left = self._with_duals(program.adjoint(self.prices), self.duals)
        # What a smooth loss would still gain; rows need no such care, as their conditions are linear.
        self.decrement = self.left.dot(self.system.solve(self.left)) if self.smooth else 0.0

    def _with_duals(self, to: Unknowns, duals: list[Matrix]) -> Unknowns:
        """Plus sum_j A_j' z_j."""
        for one, z in zip(self.constraints, duals, strict=True):
            one.add_adjoint(z, to)
        return to

    def affine_targets(self) -> SharedTargets:
        """Aim at zero products."""
        return SharedTargets(-self.slack, tuple(-scaling.lam() for scaling in self.scalings))

    def corrected_targets(self, affine: Step, sigma: float) -> SharedTargets:
        """Aim at sigma mu, less the affine step's second-order term."""
        aim = max(sigma * self.mu, self.least_mu, BALANCE * self.decrement / self.degree)
        n = self.n_rows
        shift = (aim - affine.rows[:n] * affine.rows[n:]) / self.price - self.slack
        cones = tuple(
            scaling.corrected(aim, *parts) for scaling, parts in zip(self.scalings, affine.cones, strict=True)
        )
        return SharedTargets(shift, cones)

    def direction(self, targets: SharedTargets, refinements: int) -> Step:
        """The Newton direction: da = -h (de + k), dz = target - ds in scaled coordinates."""
        program = self.program
        k = -(self.signs @ targets.shift) if self.n_rows else np.zeros(len(self.margins))
        pushes = [
            scaling.from_scaled_dual(target)
            for scaling, target in zip(self.scalings, targets.cones, strict=True)
        ]
        rhs = self._with_duals(program.adjoint(-self.curvature * k), pushes).plus(self.left)
        step = self._answered(self.system.solve(rhs), k, targets)
        for _ in range(refinements):
            step = self._answered(step.x.plus(self.system.solve(self._unmended(step))), k, targets)
        return step

    def _answered(self, dx: Unknowns, k: Vector, targets: SharedTargets) -> Step:
        """What prices and dual points do where the unknowns do dx."""
        margins = self.program.margin_steps(dx)
        if not math.isfinite(margins @ margins):
            raise np.linalg.LinAlgError("the Newton direction overflowed")
        prices = -self.curvature * (margins + k)
        rows = np.empty_like(self.rows)
        price_rows = np.multiply.outer(self.signs, prices, out=rows[self.n_rows :])
        np.multiply(self.ratio, price_rows, out=rows[: self.n_rows])
        np.subtract(targets.shift, rows[: self.n_rows], out=rows[: self.n_rows])
        cones = []
        for one, scaling, target in zip(self.constraints, self.scalings, targets.cones, strict=True):
            primal = scaling.to_scaled(one.forward(dx))
            cones.append((primal, target - primal))
        return Step(dx, margins, prices, rows, tuple(cones))

    def _unmended(self, step: Step) -> Unknowns:
        """What a whole step would leave of the stationarity conditions, by its own prices and dual points."""
        duals = [
            scaling.from_scaled_dual(dual)
            for scaling, (_, dual) in zip(self.scalings, step.cones, strict=True)
        ]
        return self._with_duals(self.program.adjoint(step.prices), duals).plus(self.left)

    def inverse_step(self, to: Step, *, affine: bool = False) -> float:
        """The inverse of the longest step that keeps slacks, prices and both sides of cones inside."""
        inverse = 1e-16
        for scaling, parts in zip(self.scalings, to.cones, strict=True):
            one = scaling.affine_inverse_step(parts[0]) if affine else scaling.inverse_step(*parts)
            inverse = max(inverse, one)
        if self.n_rows:
            inverse = max(inverse, -float((to.rows / self.rows).min()))
        return inverse

    def centring(self, affine: Step) -> float:
        """Mehrotra's sigma = (mu after the affine step / mu)^3."""
        step = min(1.0, 1.0 / self.inverse_step(affine, affine=True))
        n = self.n_rows
        cross = float(np.vdot(affine.rows[:n], affine.rows[n:]))
        cross += sum(float(np.vdot(*parts)) for parts in affine.cones)
        after = 1.0 - step + step**2 * cross / max(self.products, np.finfo(float).tiny)
        return float(min(1.0, max(0.0, after)) ** 3)

    def damped(self, to: Step, step: float, sigma: float) -> float:
        """The step, halved while the curve of a smooth loss would lead far from the central path."""
        if not self.smooth:
            return step
        program = self.program
        for _ in range(HALVINGS):
            prices = program.loss.smooth_prices(self.margins + step * to.margins, program.weights)
            assert prices is not None
            bend = program.adjoint(prices - self.prices - step * to.prices).plus(self.left, 1.0 - step)
            near = NEAR * self.products * (1.0 - step * (1.0 - sigma))
            if bend.dot(self.system.solve(bend)) <= max((1.0 - 0.1 * step) * self.decrement, near):
                break
            step /= 2
        return step

    def move(self, to: Step, step: float) -> None:
        """Take the step."""
        self.x = self.x.plus(to.x, step)
        self.margins = self.margins + step * to.margins
        self.prices = self.prices + step * to.prices
        self.rows = self.rows + step * to.rows
        self.points = [one.values(self.x) for one in self.constraints]
        self.duals = [
            scaling.from_scaled_dual(scaling.lam() + step * dual)
            for scaling, (_, dual) in zip(self.scalings, to.cones, strict=True)
        ]
        self._refresh()


def _usual(program: SharedProgram) -> float:
    """The size of a metric that explains an ordinary part of a margin."""
    if not program.n_metric:
        return 1.0
    identity = program.metric_diagonal()
    typical = float(np.sqrt(program.weights @ identity**2))
    return USUAL / typical if typical > 0 else 1.0
