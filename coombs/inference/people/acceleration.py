"""Anderson's acceleration of a fixed-point iteration x -> g(x)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from coombs.data.graph import Vector

MEMORY = 8
"""Steps that are remembered."""
RIDGE = 1e-3
"""Share of the largest squared change that keeps the least squares regular."""
LONGEST = 4.0
"""How many times as far as the plain step, for each step that is remembered, an accelerated one may go."""
ASTRAY = 10.0
"""How many times the least residual that is remembered one may have."""


@dataclass
class Anderson:
    """Where to look next: the combination of past steps whose residual g(x) - x is least."""

    points: list[Vector] = field(default_factory=list)
    residuals: list[Vector] = field(default_factory=list)

    def next(self, x: Vector, image: Vector) -> Vector:
        """From x and g(x)."""
        residual = image - x
        plain = float(np.linalg.norm(residual))
        if plain > ASTRAY * min(map(np.linalg.norm, self.residuals), default=np.inf):
            self.points.clear()
            self.residuals.clear()
        self.points.append(x)
        self.residuals.append(residual)
        del self.points[: -MEMORY - 1], self.residuals[: -MEMORY - 1]
        if len(self.points) < 2:
            return image
        changes, moves = (np.diff(np.array(past), axis=0) for past in (self.residuals, self.points))
        gram = changes @ changes.T
        gram[np.diag_indices(len(gram))] += RIDGE * gram.diagonal().max() + 1e-300
        step = residual - np.linalg.solve(gram, changes @ residual) @ (moves + changes)
        most = LONGEST * len(self.points) * plain
        result: Vector = x + step * min(1.0, most / max(float(np.linalg.norm(step)), 1e-300))
        return result
