"""Convex losses of a margin e = d_loser - d_winner, each with what the interior point needs of it.

Every answer has a price a on its margin, and a loss adds a complementary (slack, price) row for
each of its kinks. The Newton step of an answer is da = -h (de + k): 1/h is the sum of slack / price
over the rows plus `compliance`, the loss's own softness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import entr, expit

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector


class Loss(Protocol):
    """What a solver asks of a loss; `signs` gives d(price row)/da for each row."""

    name: str
    signs: tuple[float, ...]

    def value(self, margins: Vector, weights: Vector) -> float:
        """Sum of weighted losses."""

    def conjugate(self, prices: Vector, weights: Vector) -> float:
        """The largest g(a) with g(a) - a'e <= value(e) for every e."""

    def compliance(self, margins: Vector, weights: Vector) -> Vector | float:
        """The loss's own part of 1/h."""

    def smooth_prices(self, margins: Vector, weights: Vector) -> Vector | None:
        """The price that belongs to each margin, where the loss has no kink."""

    def start(self, margins: Vector, weights: Vector, width: float) -> tuple[Vector, Matrix, Matrix]:
        """Prices and positive (slack, price) rows consistent with the margins."""


class _Kinked:
    """A loss whose rows alone tie prices to margins."""

    def smooth_prices(self, margins: Vector, weights: Vector) -> Vector | None:
        return None


class Hinge(_Kinked):
    """max(0, 1 - e): slacks s - t = 1 - e, prices a of t and w - a of s."""

    name = "hinge"
    signs: tuple[float, ...] = (1.0, -1.0)

    def value(self, margins: Vector, weights: Vector) -> float:
        return float(weights @ np.maximum(0.0, 1.0 - margins))

    def conjugate(self, prices: Vector, weights: Vector) -> float:
        return float(prices.sum())

    def compliance(self, margins: Vector, weights: Vector) -> Vector | float:
        return 0.0

    def start(self, margins: Vector, weights: Vector, width: float) -> tuple[Vector, Matrix, Matrix]:
        short = 1.0 - margins
        slack = np.stack([np.maximum(-short, 0.0), np.maximum(short, 0.0)]) + width
        # Most answers end with a price of zero, so start nearer to that side of the box.
        prices = weights / 10
        return prices, slack, np.stack([prices, weights - prices])


class SquaredHinge(_Kinked):
    """max(0, 1 - e)^2: slacks a / 2w - t = 1 - e, price a of t."""

    name = "squared_hinge"
    signs: tuple[float, ...] = (1.0,)

    def value(self, margins: Vector, weights: Vector) -> float:
        return float(weights @ np.maximum(0.0, 1.0 - margins) ** 2)

    def conjugate(self, prices: Vector, weights: Vector) -> float:
        return float(prices.sum() - (prices**2 / (4 * weights)).sum())

    def compliance(self, margins: Vector, weights: Vector) -> Vector | float:
        return 0.5 / weights

    def start(self, margins: Vector, weights: Vector, width: float) -> tuple[Vector, Matrix, Matrix]:
        short = 1.0 - margins
        slack = np.maximum(-short, 0.0) + width
        prices = 2 * weights * (slack + short)
        return prices, slack[None], prices[None].copy()


class Logistic:
    """log(1 + exp(-e)): smooth, so no rows; a = w sigma(-e)."""

    name = "logistic"
    signs: tuple[float, ...] = ()

    def value(self, margins: Vector, weights: Vector) -> float:
        return float(weights @ np.logaddexp(0.0, -margins))

    def conjugate(self, prices: Vector, weights: Vector) -> float:
        share = prices / weights
        return float(weights @ (entr(share) + entr(1.0 - share)))

    def compliance(self, margins: Vector, weights: Vector) -> Vector | float:
        # Beyond |e| = 300 the curvature is below 1e-130; clipping keeps its inverse finite.
        clipped = np.clip(margins, -300.0, 300.0)
        result: Vector = 1.0 / (weights * expit(clipped) * expit(-clipped))
        return result

    def smooth_prices(self, margins: Vector, weights: Vector) -> Vector | None:
        result: Vector = weights * expit(-margins)
        return result

    def start(self, margins: Vector, weights: Vector, width: float) -> tuple[Vector, Matrix, Matrix]:
        nothing = np.empty((0, len(margins)))
        return weights * expit(-margins), nothing, nothing.copy()


_ALL: tuple[Loss, ...] = (Hinge(), SquaredHinge(), Logistic())
LOSSES: dict[str, Loss] = {loss.name: loss for loss in _ALL}
