"""Whether chains have converged: R-hat and standard errors of what is reported, and mean gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector

GROUPS = 16
"""Groups of chains whose means are compared."""
DRAWS_FOR_SHIFT = 20
"""Draws for each unknown that are needed before draws are shifted to a mean gradient of zero."""


class Monitor:
    """Means of reported quantities by groups of chains, round by round."""

    def __init__(self, quantities: Callable[[Matrix], Matrix]) -> None:
        self._quantities = quantities
        self._means: list[Matrix] = []
        self._squares: list[Matrix] = []

    def __len__(self) -> int:
        return len(self._means)

    def add(self, y: Matrix) -> None:
        """One round of the chains."""
        values = self._quantities(y)
        n_groups = min(GROUPS, len(values))
        groups = values[: len(values) // n_groups * n_groups].reshape(n_groups, -1, values.shape[1])
        self._means.append(groups.mean(axis=1))
        self._squares.append((groups**2).mean(axis=1))

    def deviations(self) -> Vector:
        """Posterior standard deviations of the quantities."""
        means, squares = np.mean(self._means, axis=(0, 1)), np.mean(self._squares, axis=(0, 1))
        result: Vector = np.sqrt(np.maximum(squares - means**2, 0.0))
        return result

    def standard_errors(self) -> Vector:
        """Of the quantities' means, from how the groups differ."""
        means = np.mean(self._means, axis=0)
        result: Vector = means.std(axis=0, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else means[0] * 0
        return result

    def rhat(self) -> float:
        """Nested R-hat, each group cut in two halves in time, the worst over all quantities; 1 is perfect."""
        half = len(self._means) // 2
        if not half:
            return 1.0
        means, squares = np.array(self._means), np.array(self._squares)
        halves = np.concatenate([means[:half].mean(axis=0), means[half : 2 * half].mean(axis=0)])
        within = np.concatenate([squares[:half].mean(axis=0), squares[half : 2 * half].mean(axis=0)])
        within = (within - halves**2).mean(axis=0)
        varies = within > 1e-9 * np.maximum(squares.mean(axis=(0, 1)), 1e-300)
        ratio = halves.var(axis=0)[varies] / within[varies]
        return float(np.sqrt(1 + ratio.max(initial=0.0)))


class Gradients:
    """Mean and mean square of the gradients at the draws."""

    def __init__(self, n: int) -> None:
        self._count, self._total, self._square = 0, np.zeros(n), np.zeros((n, n))

    def add(self, gradient: Matrix) -> None:
        """Of one round of the chains, (C, n)."""
        self._count += len(gradient)
        self._total += gradient.sum(axis=0, dtype=float)
        self._square += gradient.T @ gradient

    def shift(self) -> Vector:
        """How far the draws' mean is off, F^-1 mean(g), F = mean(g g'); zero where draws are few.

        Off by a small e, draws have a mean gradient of H e, with H the mean Hessian; and F has the mean H.
        """
        n = len(self._total)
        if not n or self._count < DRAWS_FOR_SHIFT * n or not np.isfinite(self._square).all():
            return np.zeros(n)
        return np.asarray(np.linalg.lstsq(self._square, self._total, rcond=1e-9)[0], float)
