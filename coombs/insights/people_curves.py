"""What people want along one feature: more, less, or a best value in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.data.encoding import FeatureColumn
from coombs.inference.people.feature_slopes import coordinates_along
from coombs.inference.posterior import LEVEL
from coombs.insights.columns import TableColumn, range_of
from coombs.insights.people_records import BestValue
from coombs.language import Translatable

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector
    from coombs.data.tables import FloatArray
    from coombs.estimators.population import Population
    from coombs.inference.people.tastes import Taste

SURE = 0.99
"""Probability of a direction, or of a best value inside, from which on it is said."""
DRAWS = 1_000
"""Draws of a taste."""
GRID = 21
"""Values of a feature at which tastes are looked at."""
ENDS = (0.02, 0.98)
"""Quantiles of the items' values between which tastes are looked at."""
DROP = 0.1
"""Share of a curve's range by which it must fall beyond its best value for that to be one."""


class Curve(NamedTuple):
    """Draws (S, K) of the utility of items with K values of a feature, averaged over their other features."""

    values: Vector
    utilities: Matrix

    @property
    def mean(self) -> Vector:
        """(K,) over the draws."""
        result: Vector = self.utilities.mean(axis=0)
        return result

    def falls_to(self, end: int) -> bool:
        """Whether the mean falls from its best value to an end, 0 or -1, by more than a little."""
        mean = self.mean
        return bool(mean.max() - mean[end] > DROP * np.ptp(mean))

    @property
    def has_peak(self) -> bool:
        """Whether some value in between is surely better than both ends."""
        best = self.utilities[:, self.mean.argmax()]
        above = (best > self.utilities[:, 0]) & (best > self.utilities[:, -1])
        return bool(above.mean() >= SURE) and self.falls_to(0) and self.falls_to(-1)


def curve_along(
    population: Population, tastes: tuple[Taste, ...], j: int, only: int | None = None
) -> Curve | None:
    """The curve along a feature, by all kinds of the average or by one of them.

    None of a level of a category, and where items have fewer than three values.
    """
    items, average = population._data.items, population._average
    in_category = any(j in block for block in population._data.levels.blocks)
    if in_category or len(np.unique(items[:, j])) < 3:
        return None
    low, high = np.quantile(items[:, j], ENDS)
    if low == high:
        low, high = items[:, j].min(), items[:, j].max()
    values = np.linspace(low, high, GRID)
    weights = average.weights if only is None else np.eye(len(average.parts))[only]
    counts = np.diff(np.round(np.cumsum(weights) * DRAWS).astype(int), prepend=0).tolist()
    parts = []
    for part, taste, number in zip(average.parts, tastes, counts, strict=True):
        if number:
            phi = coordinates_along(part.coordinates, population._scaler, items, [j], values[:, None])
            parts.append(taste.weights(number)[:, : phi.shape[1]] @ phi.T)
    utilities = np.concatenate(parts)
    return Curve(values, utilities - utilities.mean(axis=1, keepdims=True))


def verdict_along(population: Population, slopes: FloatArray, curve: Curve | None, j: int) -> BestValue | str:
    """A best value if there surely is one inside; else "more" or "less", "rather" so if only on average."""
    if curve is not None and curve.has_peak:
        return best_value(population, curve, j)
    if max((slopes > 0).mean(), (slopes < 0).mean()) < SURE:
        return "not known"
    way, end = ("more", -1) if slopes.mean() > 0 else ("less", 0)
    return f"rather {way}" if curve is not None and curve.falls_to(end) else way


def best_value(population: Population, curve: Curve, j: int) -> BestValue:
    """The best value of a feature with its interval, in the user's numbers."""
    data = population._data
    column = TableColumn(FeatureColumn(""), (j,))
    if data.encoding is not None:
        pairs = zip(data.encoding.columns, data.encoding.blocks, strict=False)
        column = next(TableColumn(one, block) for one, block in pairs if block[0] == j)
    best = curve.values[curve.utilities.argmax(axis=1)]
    ends = np.quantile(best, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    found = (float(column.column.shown(x)) for x in (curve.values[curve.mean.argmax()], *ends))
    value, low, high = found
    about = range_of(column, data.items, True)
    words = Translatable(
        "{value} ({low} to {high})", value=about.text(value), low=about.text(low), high=about.text(high)
    )
    return BestValue(value, low, high, words)
