"""Hamiltonian Monte Carlo, many chains at once.

Each chain's point z gets a random push and then moves as a ball on the landscape of the negative log
posterior would, in a few leapfrog steps; Metropolis's rule accepts where it ends or keeps where it
began. The chains share one step size and one shape of the pushes, both learned while warming up.

A root A of the metric may turn (A -> QA) without changing anything, so there is no one shape for
its entries: they share a width. The other unknowns get a full covariance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.progress import Progress

if TYPE_CHECKING:
    from coombs.solvers.graph import Index, Matrix, Vector
    from coombs.solvers.target import Target

ACCEPTANCE = 0.65
"""The share of accepted moves that the step size aims at."""
FIRST_STEP = 0.1
LEAPS, LEAPS_DENSE, MOST_LEAPS = 16, 8, 32
"""Steps of a move: fewer where all unknowns have one shape, more where they are many."""
STRETCH = 1.6
"""The turning unknowns' width, in units of the inverse steepness of the landscape along them."""
DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Shape:
    """z = shape(xi) with xi about equally wide in every coordinate: `root` on `dense`, `width` elsewhere.

    Without others, `dense` are all unknowns in their order.
    """

    dense: Index
    others: Index
    root: Matrix
    width: float
    step: float = FIRST_STEP

    @classmethod
    def at(cls, target: Target, z: Vector) -> Shape:
        """From the curvature at z along the dense unknowns, no less than the prior's."""
        dense = target.dense
        steps = np.zeros((len(dense), target.n))
        steps[np.arange(len(dense)), dense] = DIFFERENCE
        slopes = target.gradient(np.concatenate([z + steps, z - steps]))[:, dense]
        hessian = (slopes[: len(dense)] - slopes[len(dense) :]) / (2 * DIFFERENCE)
        values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
        others = np.setdiff1d(np.arange(target.n), dense)
        return cls(dense, others, vectors / np.sqrt(np.maximum(values, 1.0)), 1.0)

    def learn(self, points: list[Matrix], slopes: list[Matrix]) -> Shape:
        """From where the chains have been: their covariance, and the steepness along the rest."""
        seen = np.concatenate(points)[:, self.dense].astype(float)
        # Successive points resemble each other; an eighth of them count.
        count, prior = len(seen) / 8, len(self.dense)
        covariance = (count * np.cov(seen.T) + prior * self.root @ self.root.T) / (count + prior)
        steepness = np.concatenate(slopes)[:, self.others].astype(float)
        width = STRETCH / np.sqrt(max((steepness**2).mean(), 1e-12)) if len(self.others) else 1.0
        root: Matrix = np.linalg.cholesky(covariance).astype(float)
        return replace(self, root=root, width=float(width))

    @property
    def leaps(self) -> int:
        """Steps of a move."""
        many = min(MOST_LEAPS, int(1.4 * np.sqrt(len(self.dense) + len(self.others))))
        return max(LEAPS, many) if len(self.others) else LEAPS_DENSE

    def move(self, push: Matrix) -> Matrix:
        """shape(xi), of each row."""
        root: Matrix = self.root.T.astype(push.dtype, copy=False)
        if not len(self.others):
            return push @ root
        result = np.empty_like(push)
        result[:, self.dense] = push[:, self.dense] @ root
        result[:, self.others] = push[:, self.others] * push.dtype.type(self.width)
        return result

    def pull(self, slope: Matrix) -> Matrix:
        """The slope with respect to xi."""
        root: Matrix = self.root.astype(slope.dtype, copy=False)
        if not len(self.others):
            return slope @ root
        result = np.empty_like(slope)
        result[:, self.dense] = slope[:, self.dense] @ root
        result[:, self.others] = slope[:, self.others] * slope.dtype.type(self.width)
        return result


@dataclass(frozen=True)
class Chains:
    """Draws (rounds, C, n), and what it takes to go on from the last."""

    draws: Matrix
    shape: Shape
    acceptance: float


def sample(
    target: Target, start: Matrix, shape: Shape, rng: np.random.Generator, *, warm_up: int, rounds: int
) -> Chains:
    """`rounds` draws of each chain, after `warm_up` that are thrown away."""
    # A move that goes astray ends in an infinite or undefined energy, and is not accepted.
    with (
        np.errstate(over="ignore", invalid="ignore", divide="ignore"),
        Progress(warm_up + rounds, "sampling preferences") as progress,
    ):
        return _sample(target, start, shape, rng, warm_up, rounds, progress)


def _sample(
    target: Target,
    start: Matrix,
    shape: Shape,
    rng: np.random.Generator,
    warm_up: int,
    rounds: int,
    progress: Progress,
) -> Chains:
    z: Matrix = start.astype(target.dtype)
    value, slope = target.both(z)
    points: list[Matrix] = []
    slopes: list[Matrix] = []
    kept, accepted = [], []
    for turn in range(warm_up + rounds):
        if points and turn in (warm_up // 3, 2 * warm_up // 3):
            shape, points, slopes = shape.learn(points, slopes), [], []
        push: Matrix = rng.standard_normal(z.shape, dtype=target.dtype)  # type: ignore[assignment]
        new, new_value, new_slope, chance = _leap(
            target, z, value, slope, push, shape, shape.step * rng.uniform(0.7, 1.3), shape.leaps
        )
        moved = rng.random(len(z)) < chance
        z, value = np.where(moved[:, None], new, z), np.where(moved, new_value, value)
        slope = np.where(moved[:, None], new_slope, slope)
        if turn < warm_up:
            shape = replace(shape, step=shape.step * float(np.exp(0.5 * (chance.mean() - ACCEPTANCE))))
            points.append(z)
            slopes.append(slope)
        else:
            kept.append(z)
            accepted.append(chance.mean())
        progress.advance()
    return Chains(np.array(kept), shape, float(np.mean(accepted)))


def move(
    target: Target, start: Matrix, shape: Shape, leaps: int, rng: np.random.Generator
) -> tuple[Matrix, float]:
    """Each point moved once, or left where it was; and the mean chance of accepting a move."""
    value, slope = target.both(start)
    push: Matrix = rng.standard_normal(start.shape, dtype=target.dtype)  # type: ignore[assignment]
    step = shape.step * rng.uniform(0.7, 1.3)
    new, _, _, chance = _leap(target, start, value, slope, push, shape, step, leaps)
    moved = rng.random(len(start)) < chance
    return np.where(moved[:, None], new, start), float(chance.mean())


def _leap(
    target: Target,
    z: Matrix,
    value: Vector,
    slope: Matrix,
    push: Matrix,
    shape: Shape,
    step: float,
    leaps: int,
) -> tuple[Matrix, Vector, Matrix, Vector]:
    """Where a few steps lead from z, and the chance of accepting that."""
    stride = z.dtype.type(step)
    energy = value + _kinetic(push)
    push = push - stride / 2 * shape.pull(slope)
    for _ in range(leaps - 1):
        z = z + stride * shape.move(push)
        push = push - stride * shape.pull(target.gradient(z))
    z = z + stride * shape.move(push)
    value, slope = target.both(z)
    push = push - stride / 2 * shape.pull(slope)
    chance = np.exp(np.minimum(0.0, energy - value - _kinetic(push)))
    return z, value, slope, np.nan_to_num(chance)


def _kinetic(push: Matrix) -> Vector:
    """|push|^2 / 2 of each chain."""
    result: Vector = (push * push).sum(axis=1, dtype=float) / 2
    return result


def split_rhat(values: Matrix) -> Vector:
    """Gelman and Rubin's factor for (rounds, C, ...) values, each chain cut in half; 1 is perfect."""
    half = len(values) // 2
    halves = np.concatenate([values[:half], values[half : 2 * half]], axis=1)
    within, between = halves.var(axis=0).mean(axis=0), halves.mean(axis=0).var(axis=0)
    result: Vector = np.sqrt(1.0 + between / np.maximum(within, np.finfo(float).tiny))
    return result
