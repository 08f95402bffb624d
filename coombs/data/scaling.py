"""Standardised features, and the way back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.tables import FloatArray
    from coombs.estimators.base import Fit

LARGEST, ROUNDING = 1e50, 1e-13
"""Features beyond the first overflow when squared; one that varies by less than the second is constant."""


@dataclass(frozen=True)
class Scaler:
    """Standardised features and the way back; the identity unless asked for.

    `spreads` is the standard deviation of each feature, 1 where it is constant, either way.
    """

    centre: FloatArray
    sizes: FloatArray
    spreads: FloatArray
    varies: NDArray[np.bool_]

    @classmethod
    def of(cls, items: FloatArray, standardize: bool) -> Scaler:
        """Mean and deviation of each column (1 where it is constant), or 0 and 1."""
        deviation = items.std(axis=0)
        # A column that varies by its own rounding errors is constant.
        varies = deviation > ROUNDING * np.abs(items).max(axis=0)
        spreads = np.where(varies, deviation, 1.0)
        if standardize:
            return cls(items.mean(axis=0), spreads, spreads, varies)
        return cls(np.zeros_like(spreads), np.ones_like(spreads), spreads, varies)

    def forward(self, items: FloatArray) -> FloatArray:
        """Standardised items."""
        return (items - self.centre) / self.sizes

    def back(self, fit: Fit) -> tuple[FloatArray, FloatArray]:
        """Metric and ideal point in the user's units."""
        return fit.metric / np.outer(self.sizes, self.sizes), self.centre + self.sizes * fit.ideal_point
