"""What is still uncertain: draws of what a person may want, and the intervals that follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from coombs.data.tables import FloatArray, InputError
from coombs.inference.kernel import Bumps

LEVEL = 0.9
"""Of intervals, by default."""
MOST_RANKED = 20_000_000
"""Scores, of draws times items, that ranks are taken from at most."""
BLOCK = 4_000_000
"""Scores that are held at once elsewhere."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws of the posterior, in the user's units.

    Draw s scores an item x as (x - c)' M_s (x - c) - 2 v_s' (x - c) + effect_s, less being better; where
    there is an ideal point u_s, that is its squared distance up to a constant of the draw.

    Parameters
    ----------
    centre : (d,) c
    metrics, linears, ideal_points : (S, d, d), (S, d), (S, d); ideal points are NaN for linear preferences
    lapses : (S,) share of answers given at random
    effects : (S, n_items) of the fitted items, or None
    rhat : agreement of the chains, 1 being perfect
    sampled : whether by sampling, or by a Gaussian about the mode
    basis, coefficients : of a smooth part, basis(x) coefficients_s, that is added; k functions, (S, k)
    levels : (S,) what makes distances of scores that are known up to a constant, or None
    """

    centre: FloatArray
    metrics: FloatArray
    linears: FloatArray
    ideal_points: FloatArray
    lapses: FloatArray
    effects: FloatArray | None = None
    rhat: float = 1.0
    sampled: bool = True
    basis: Bumps | None = None
    coefficients: FloatArray | None = None
    levels: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.metrics)

    def scores(self, items: FloatArray, effects: FloatArray | None = None) -> FloatArray:
        """(S, n) scores of items, with an effect of each if given."""
        away = items - self.centre
        result: FloatArray = np.einsum("snd,nd->sn", away @ self.metrics, away)
        result -= 2.0 * (self.linears @ away.T)
        if self.basis is not None and self.coefficients is not None:
            result += self.coefficients @ self.basis(items).T
        if effects is not None:
            result += effects
        return result

    def distances(self, items: FloatArray, effects: FloatArray | None = None) -> FloatArray:
        """(S, n) squared distances from each draw's ideal point; plain scores where it has none."""
        levels = self.levels
        if levels is None:
            levels = np.einsum("sd,sd->s", self.linears, np.nan_to_num(self.ideal_points - self.centre))
        result: FloatArray = self.scores(items, effects) + levels[:, None]
        return result

    def at_level(self, items: FloatArray, effects: FloatArray | None, level: float) -> Posterior:
        """With this mean distance of the items in every draw, as an average is known up to a constant."""
        away = items - self.centre
        mean = np.einsum("sij,ij->s", self.metrics, away.T @ away / len(away))
        mean -= 2.0 * (self.linears @ away.mean(axis=0))
        if self.basis is not None and self.coefficients is not None:
            mean += self.coefficients @ self.basis(items).mean(axis=0)
        if effects is not None:
            mean += effects.mean(axis=1)
        return replace(self, levels=level - mean)

    def ideal_interval(self, level: float = LEVEL) -> FloatArray:
        """(d, 2) lower and upper ends for each coordinate of the ideal point."""
        # Of an average, the draws that have one.
        return quantiles(self.ideal_points[~np.isnan(self.ideal_points).any(axis=1)], level)

    def distance_interval(
        self, items: FloatArray, effects: FloatArray | None = None, level: float = LEVEL
    ) -> FloatArray:
        """(n, 2) lower and upper ends for each squared distance."""
        size = max(1, BLOCK // len(self))
        blocks = [slice(begin, begin + size) for begin in range(0, len(items), size)]
        parts = [self.distances(items[b], None if effects is None else effects[:, b]) for b in blocks]
        return np.concatenate([quantiles(part, level) for part in parts])

    def ranks(self, items: FloatArray, effects: FloatArray | None = None) -> FloatArray:
        """(S, n) rank of each item in each draw, 1 being the best; of fewer draws where items are many."""
        every = -(-len(self) * len(items) // MOST_RANKED)
        bumps = None if self.coefficients is None else self.coefficients[::every]
        some = replace(self, metrics=self.metrics[::every], linears=self.linears[::every], coefficients=bumps)
        order = np.argsort(some.scores(items, None if effects is None else effects[::every]), axis=1)
        ranks = np.empty(order.shape)
        np.put_along_axis(ranks, order, np.arange(1.0, order.shape[1] + 1)[None], axis=1)
        return ranks

    def probability(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Probability that the first of each pair is preferred, from (S, n) scores of both."""
        with np.errstate(over="ignore"):
            sigma = 1 / (1 + np.exp(first - second))
        lapse = self.lapses[:, None]
        result: FloatArray = (lapse / 2 + (1 - lapse) * sigma).mean(axis=0)
        return result


def quantiles(draws: FloatArray, level: float) -> FloatArray:
    """(n, 2) ends of the central interval of (S, n) draws."""
    if not isinstance(level, Real) or isinstance(level, bool) or not 0 < float(level) < 1:
        raise InputError(f"level is {level!r}; it must be between 0 and 1, as 0.9.")
    tails = [(1 - level) / 2, (1 + level) / 2]
    if not len(draws):
        return np.full((draws.shape[1], 2), np.nan)
    result: FloatArray = np.quantile(draws, tails, axis=0).T
    return result
