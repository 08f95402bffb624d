"""Draws about the mode, corrected for curvature along directions that no answer sees.

Along a direction that no answer sees, such as metric and ideal point of a column of 0 and 1 together, a
Gaussian about the mode is as wide as the prior. Points that are alike to all answers lie on a curved surface,
and a straight step leaves it: it would change scores that the answers know well. So every step d from the
mode m is corrected: it becomes the y with

    least |theta(y) - theta(m) - theta'(m) d|^2_H + |y - m - d|^2_P,

where theta are M, v and the unknowns of lapses and ties, in which scores are linear, H is the answers'
information about them, and P the prior's curvature. Where the posterior is Gaussian, this changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coombs.inference.information import information_pairs
from coombs.inference.laplace import MOST_ANSWERS, prior_curvature
from coombs.programs.cone import outer_features, triangle

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector
    from coombs.inference.target import Target

MOST_LIFTED = 500
"""Entries of M, v and the lapse, at most, of which there is information."""
STEPS = 60
"""Iterations of the correction, at most."""
TOLERANCE = 1e-2
"""A step is corrected enough once another iteration would gain less than this log probability."""
DIFFERENCE = 1e-5
"""Share of a step over which finite differences are taken."""


@dataclass(frozen=True)
class CurvatureCorrection:
    """The information of the answers, and the curvature of the prior, at a mode."""

    target: Target
    mode: Vector
    information: Matrix
    prior: Matrix

    @classmethod
    def at(cls, target: Target, mode: Vector, rng: np.random.Generator) -> CurvatureCorrection | None:
        """At a mode; None where there are too many unknowns, or none of the features."""
        d = target.d
        if not target.own or d * (d + 3) // 2 >= MOST_LIFTED:
            return None
        pairs = information_pairs(target, mode)
        share = max(1.0, len(pairs.one) / MOST_ANSWERS)
        if share > 1:
            pairs = pairs.only(rng.choice(len(pairs.one), MOST_ANSWERS, replace=False))
        # Anchors have no features.
        items = np.concatenate([target.items, np.zeros((target.n_anchors, d))])
        one, other = items[pairs.one], items[pairs.other]
        rows = np.hstack([outer_features(other) - outer_features(one), -2 * (other - one)])
        rows = np.column_stack([rows, pairs.to_lapse]) if target.lapse is None else rows
        rows = np.column_stack([rows, pairs.to_head_start]) if target.has_ties else rows
        rows = rows * np.sqrt(share * pairs.size)[:, None]
        information = rows.T @ rows
        if target.has_ties:
            information[-1, -1] += pairs.of_head_start
        return cls(target, mode[: target.n_features], information, prior_curvature(target, mode))

    def corrected(self, steps: Matrix, root: Matrix) -> Matrix:
        """(C, n) corrected steps from the mode, from steps of a Gaussian with this root of its covariance."""
        ahead, behind = (self._lifted(self.mode + sign * DIFFERENCE * steps) for sign in (1, -1))
        aim = self._lifted(self.mode[None]) + (ahead - behind) / (2 * DIFFERENCE)
        here, length = steps.copy(), np.ones(len(steps))
        value, slope = self._objective(here, steps, aim)
        # Newton's method with the curvature at the mode, damped until the objective falls.
        for _ in range(STEPS):
            change = slope @ root @ root.T
            open_ = length * (slope * change).sum(axis=1) > TOLERANCE
            if not open_.any():
                break
            there = here - length[:, None] * change
            new, new_slope = self._objective(there, steps, aim)
            down = open_ & (new < value)
            here[down], value[down], slope[down] = there[down], new[down], new_slope[down]
            length = np.where(down, np.minimum(1.5 * length, 1.0), np.where(open_, length / 3, length))
        return here

    def _lifted(self, y: Matrix) -> Matrix:
        """(C, q) theta of points."""
        table, own = triangle(self.target.d), self.target.own
        at = self.target.kind.expand(y[:, :own], self.target.d)
        return np.hstack([at.metric[:, table.rows, table.columns] * table.factors, at.linear, y[:, own:]])

    def _objective(self, here: Matrix, steps: Matrix, aim: Matrix) -> tuple[Vector, Matrix]:
        """The objective, and its gradient with respect to the steps."""
        table, own, d = triangle(self.target.d), self.target.own, self.target.d
        y, away = self.mode + here, here - steps
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            at = self.target.kind.expand(y[:, :own], d)
            entries = at.metric[:, table.rows, table.columns] * table.factors
            off = np.hstack([entries, at.linear, y[:, own:]]) - aim
            to_lifted, to_move = off @ self.information, away @ self.prior
            value = ((off * to_lifted).sum(axis=1) + (away * to_move).sum(axis=1)) / 2
            n = len(table.rows)
            to_metric = (to_lifted[:, :n] / table.factors)[:, table.unpack]
            to_move[:, :own] += self.target.kind.pullback(
                y[:, :own], d, at, to_metric, to_lifted[:, n : n + d]
            )
            to_move[:, own:] += to_lifted[:, n + d :]
        return np.where(np.isfinite(value), value, np.inf), to_move
