"""What is still uncertain: draws of what a person may want, and the intervals that follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coombs.data import naming, notebook
from coombs.data.tables import FloatArray, InputError
from coombs.inference.kernel import Bumps
from coombs.words import count, plain

LEVEL = 0.9
"""Probability of intervals, by default."""
MOST_RANKED = 20_000_000
"""Scores, of draws times items, that ranks are taken from at most."""
BLOCK = 4_000_000
"""Scores that are held at once where ranks are not computed."""


@dataclass(frozen=True, eq=False, repr=False)
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

    Examples
    --------
    >>> import numpy as np
    >>> from coombs import Posterior
    >>> ideals = np.array([[1.0], [2.0]])
    >>> Posterior(np.zeros(1), np.ones((2, 1, 1)), linears=ideals, ideal_points=ideals, lapses=np.zeros(2))
    Posterior(2 draws by sampling, 1 feature, R-hat 1.00)
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

    def __repr__(self) -> str:
        how = "by sampling" if self.sampled else "about the mode"
        parts = [f"{count(len(self), 'draw')} {how}", count(len(self.centre), "feature")]
        parts += [] if self.effects is None else [f"effects of {count(self.effects.shape[1], 'item')}"]
        parts += ["a smooth part"] * (self.basis is not None)
        return f"Posterior({', '.join([*parts, f'R-hat {self.rhat:.2f}'])})"

    def _repr_html_(self) -> str:
        """The intervals of the ideal point as a table for notebooks."""
        some = replace(self, ideal_points=self.ideal_points[:, : notebook.MOST_ROWS])
        rows = [[str(j), *map(plain, ends)] for j, ends in enumerate(some.ideal_interval().tolist())]
        header = ["feature", f"ideal point from ({100 * LEVEL:.0f} % interval)", "to"]
        return notebook.table(repr(self), header, rows, len(self.centre), "feature")

    def scores(self, items: FloatArray, effects: FloatArray | None = None) -> FloatArray:
        """Return the score of each item in each draw; less is better.

        Parameters
        ----------
        items : (n, d) features
        effects : (S, n) effects of these items, or None

        Returns
        -------
        (S, n) scores

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Posterior
        >>> ideals = np.array([[1.0], [2.0]])
        >>> draws = Posterior(np.zeros(1), np.ones((2, 1, 1)), ideals, ideals, np.zeros(2))
        >>> draws.scores(np.array([[0.0], [3.0]])).tolist()
        [[0.0, 3.0], [0.0, -3.0]]
        """
        away = items - self.centre
        result: FloatArray = np.einsum("snd,nd->sn", away @ self.metrics, away)
        result -= 2.0 * (self.linears @ away.T)
        if self.basis is not None and self.coefficients is not None:
            result += self.coefficients @ self.basis(items).T
        if effects is not None:
            result += effects
        return result

    def distances(self, items: FloatArray, effects: FloatArray | None = None) -> FloatArray:
        """Return the squared distance of each item from each draw's ideal point.

        Parameters
        ----------
        items, effects : as for `scores`

        Returns
        -------
        (S, n) squared distances; plain scores where a draw has no ideal point

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Posterior
        >>> ideals = np.array([[1.0], [2.0]])
        >>> draws = Posterior(np.zeros(1), np.ones((2, 1, 1)), ideals, ideals, np.zeros(2))
        >>> draws.distances(np.array([[0.0], [3.0]])).tolist()
        [[1.0, 4.0], [4.0, 1.0]]
        """
        levels = self.levels
        if levels is None:
            # Less the score at the ideal, v'u as M u = v, but for levels of categories.
            away = np.nan_to_num(self.ideal_points - self.centre)
            rest = self.linears - np.einsum("sde,se->sd", self.metrics, away)
            levels = np.einsum("sd,sd->s", self.linears + rest, away)
        result: FloatArray = self.scores(items, effects) + levels[:, None]
        return result

    def at_level(self, items: FloatArray, effects: FloatArray | None, level: float | FloatArray) -> Posterior:
        """Return the same draws with a given mean distance of the items.

        For averages of several kinds of preference, whose scores are known up to a constant.

        Parameters
        ----------
        items, effects : as for `scores`
        level : the mean distance, of all draws or (S,) of each

        Returns
        -------
        Posterior

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Posterior
        >>> ideals = np.array([[1.0], [2.0]])
        >>> draws = Posterior(np.zeros(1), np.ones((2, 1, 1)), ideals, ideals, np.zeros(2))
        >>> items = np.array([[0.0], [3.0]])
        >>> draws.at_level(items, None, 5.0).distances(items).mean(axis=1).tolist()
        [5.0, 5.0]
        """
        away = items - self.centre
        mean = np.einsum("sij,ij->s", self.metrics, away.T @ away / len(away))
        mean -= 2.0 * (self.linears @ away.mean(axis=0))
        if self.basis is not None and self.coefficients is not None:
            mean += self.coefficients @ self.basis(items).mean(axis=0)
        if effects is not None:
            mean += effects.mean(axis=1)
        return replace(self, levels=level - mean)

    def ideal_interval(self, level: float = LEVEL) -> FloatArray:
        """Return the interval of each coordinate of the ideal point.

        Parameters
        ----------
        level : the interval's probability, between 0 and 1

        Returns
        -------
        (d, 2) lower and upper ends; NaN where no draw has an ideal point

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Posterior
        >>> ideals = np.array([[1.0], [2.0]])
        >>> draws = Posterior(np.zeros(1), np.ones((2, 1, 1)), ideals, ideals, np.zeros(2))
        >>> draws.ideal_interval(0.5).tolist()
        [[1.25, 1.75]]
        """
        # Of an average, the draws that have one.
        return quantiles(self.ideal_points[~np.isnan(self.ideal_points).any(axis=1)], level)

    def distance_interval(
        self, items: FloatArray, effects: FloatArray | None = None, level: float = LEVEL
    ) -> FloatArray:
        """Return the interval of each item's squared distance.

        Parameters
        ----------
        items, effects : as for `scores`
        level : the interval's probability, between 0 and 1

        Returns
        -------
        (n, 2) lower and upper ends

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Posterior
        >>> ideals = np.array([[1.0], [2.0]])
        >>> draws = Posterior(np.zeros(1), np.ones((2, 1, 1)), ideals, ideals, np.zeros(2))
        >>> draws.distance_interval(np.array([[0.0], [3.0]]), level=0.5).tolist()
        [[1.75, 3.25], [1.75, 3.25]]
        """
        size = max(1, BLOCK // len(self))
        blocks = [slice(begin, begin + size) for begin in range(0, len(items), size)]
        parts = [self.distances(items[b], None if effects is None else effects[:, b]) for b in blocks]
        return np.concatenate([quantiles(part, level) for part in parts])

    def ranks(self, items: FloatArray, effects: FloatArray | None = None) -> FloatArray:
        """Return the rank of each item in each draw.

        Parameters
        ----------
        items, effects : as for `scores`

        Returns
        -------
        (S, n) ranks, 1 being the best; of fewer draws where items are many

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Posterior
        >>> ideals = np.array([[1.0], [2.0]])
        >>> draws = Posterior(np.zeros(1), np.ones((2, 1, 1)), ideals, ideals, np.zeros(2))
        >>> draws.ranks(np.array([[0.0], [3.0]])).tolist()
        [[1.0, 2.0], [2.0, 1.0]]
        """
        every = -(-len(self) * len(items) // MOST_RANKED)
        bumps = None if self.coefficients is None else self.coefficients[::every]
        some = replace(self, metrics=self.metrics[::every], linears=self.linears[::every], coefficients=bumps)
        order = np.argsort(some.scores(items, None if effects is None else effects[::every]), axis=1)
        ranks = np.empty(order.shape)
        np.put_along_axis(ranks, order, np.arange(1.0, order.shape[1] + 1)[None], axis=1)
        return ranks

    def probability(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the probability that the first of each pair is preferred, averaged over the draws.

        Parameters
        ----------
        first, second : (S, n) scores of the first and the second items

        Returns
        -------
        (n,) probabilities, lapses included

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Posterior
        >>> ideals = np.array([[1.0], [2.0]])
        >>> draws = Posterior(np.zeros(1), np.ones((2, 1, 1)), ideals, ideals, np.zeros(2))
        >>> scores = draws.scores(np.array([[1.5], [1.5]]))
        >>> draws.probability(scores, scores).tolist()
        [0.5, 0.5]
        """
        with np.errstate(over="ignore"):
            sigma = 1 / (1 + np.exp(first - second))
        lapse = self.lapses[:, None]
        result: FloatArray = (lapse / 2 + (1 - lapse) * sigma).mean(axis=0)
        return result


def check_level(level: Any) -> None:
    """Refuse what is not a probability between 0 and 1."""
    if not 0 < naming.as_float(level) < 1:
        raise InputError(f"level is {level!r}; it must be between 0 and 1, as 0.9.")


def quantiles(draws: FloatArray, level: float) -> FloatArray:
    """(n, 2) ends of the central interval of (S, n) draws."""
    check_level(level)
    tails = [(1 - level) / 2, (1 + level) / 2]
    if not len(draws):
        return np.full((draws.shape[1], 2), np.nan)
    result: FloatArray = np.quantile(draws, tails, axis=0).T
    return result
