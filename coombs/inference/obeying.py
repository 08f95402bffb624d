"""Draws of a Gaussian taste that obey declared directions: annealed, by elliptical slice sampling.

A draw moves along the ellipse through itself and a fresh draw of the Gaussian, to where it still obeys
(Murray, Adams and MacKay, 2010); what is obeyed is linear in the draws, so a whole ellipse costs one look at
each end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.directions import Directions
from coombs.inference.sampler import longest_step

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector

    Draw = Callable[[np.random.Generator, int], Matrix]
    """So many draws, a row each, the second half the mirror image of the first."""
    Gains = Callable[[Matrix], Matrix]
    """(S, q) gains of (S, p) rows, linear in them but for a constant."""

STAGES = 60
"""Steps, at most, from draws of the Gaussian to draws that obey."""
MOVES = 3
"""Moves of all draws after each step."""
LAST_MOVES = 8
"""Moves of all draws in the end."""
SHRINKS = 40
"""How often the piece of an ellipse is made smaller, at most."""


def obeying(draw: Draw, gains: Gains, directions: Directions, count: int) -> tuple[Matrix, float]:
    """Rows that obey, always the same ones, and the logarithm of the Gaussian's mass that does.

    Where hardly any of it does, as answers say the opposite, minus infinity: the rows obey in part then.
    """
    rng = np.random.default_rng(0)
    here = _Ellipses(draw, gains, directions, rng, count)
    share, log_mass = 0.0, 0.0
    for _ in range(STAGES):
        logs = directions.log_weight_of(here.at)
        step = min(1.0 - share, longest_step(logs, count / 2))
        weights = np.exp(step * (logs - logs.max()))
        log_mass += step * float(logs.max()) + float(np.log(weights.mean()))
        share = 1.0 if step >= (1.0 - share) * (1 - 1e-9) else share + step
        here.resample(weights)
        for _ in range(LAST_MOVES if share == 1.0 else MOVES):
            here.move(share)
        if share == 1.0:
            break
    return here.rows, log_mass if share == 1.0 else -np.inf


class _Ellipses:
    """Rows, their gains `at`, and how they move."""

    def __init__(
        self, draw: Draw, gains: Gains, directions: Directions, rng: np.random.Generator, count: int
    ) -> None:
        self._draw, self._gains, self._directions, self._rng = draw, gains, directions, rng
        self.rows = draw(rng, count)
        self._mean = (self.rows[:1] + self.rows[count // 2 : count // 2 + 1]) / 2
        self._centre, self.at = gains(self._mean), gains(self.rows)

    def resample(self, weights: Vector) -> None:
        """Copies in proportion to the weights (systematic resampling)."""
        total, count = np.cumsum(weights), len(weights)
        ticks = (self._rng.random() + np.arange(count)) / count * total[-1]
        chosen = np.minimum(np.searchsorted(total, ticks), count - 1)
        self.rows, self.at = self.rows[chosen], self.at[chosen]

    def move(self, share: float) -> None:
        """Each row along its ellipse, given a share of what directions count for."""
        rng, count = self._rng, len(self.rows)
        other = self._draw(rng, count)
        away, here = self._gains(other) - self._centre, self.at - self._centre
        least = share * self._directions.log_weight_of(self.at) + np.log(rng.random(count))
        angle = rng.uniform(0, 2 * np.pi, count)
        low, high, left = angle - 2 * np.pi, angle.copy(), np.arange(count)
        for _ in range(SHRINKS):
            turn = angle[left, None]
            there = self._centre + here[left] * np.cos(turn) + away[left] * np.sin(turn)
            left = left[share * self._directions.log_weight_of(there) < least[left]]
            if not len(left):
                break
            is_low = angle[left] < 0
            low[left[is_low]], high[left[~is_low]] = angle[left[is_low]], angle[left[~is_low]]
            angle[left] = rng.uniform(low[left], high[left])
        angle[left] = 0.0
        sine, cosine = np.sin(angle)[:, None], np.cos(angle)[:, None]
        self.rows = self._mean + (self.rows - self._mean) * cosine + (other - self._mean) * sine
        self.at = self._centre + here * cosine + away * sine
