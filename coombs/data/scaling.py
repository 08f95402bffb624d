"""The features that are learned from, scaled, and the way back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.tables import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.comparisons import Comparisons
    from coombs.data.tables import FloatArray

LARGEST = 1e50
"""Features beyond this overflow when squared."""
LARGEST_RATIO = 1e12
"""Features whose spreads differ by more lose their digits to each other."""
ROUNDING = 1e-13
"""A feature that varies by less than this share of its largest value is constant."""


@dataclass(frozen=True)
class Scaler:
    """x = centre + sizes z for the features in `columns`, the only ones that are learned from.

    `varies` says which features are not constant; `spreads` is the standard deviation of each, 1 where it is
    constant. Back in the user's units, what was not learned from has no weight, and an ideal at its value.
    """

    centre: FloatArray
    sizes: FloatArray
    spreads: FloatArray
    varies: NDArray[np.bool_]
    columns: NDArray[np.intp]

    @classmethod
    def of(cls, items: FloatArray, standardize: bool, *, drop_constant: bool = True) -> Scaler:
        """By mean and deviation of each feature (1 where it is constant), or by 0 and 1."""
        deviation = items.std(axis=0)
        # A column that varies by its own rounding errors is constant.
        varies = deviation > ROUNDING * np.abs(items).max(axis=0)
        spreads = np.where(varies, deviation, 1.0)
        columns = np.flatnonzero(varies) if drop_constant else np.arange(len(varies))
        if standardize:
            return cls(items.mean(axis=0), spreads, spreads, varies, columns)
        return cls(np.zeros_like(spreads), np.ones_like(spreads), spreads, varies, columns)

    def forward(self, items: FloatArray) -> FloatArray:
        """(n, k) scaled features that are learned from."""
        scaled: FloatArray = (items - self.centre) / self.sizes
        return scaled if len(self.columns) == len(self.sizes) else scaled[:, self.columns]

    def metric(self, scaled: FloatArray) -> FloatArray:
        """(..., d, d) in the user's units, from (..., k, k)."""
        d, sizes = len(self.sizes), self.sizes[self.columns]
        result = np.zeros((*scaled.shape[:-2], d, d))
        result[..., self.columns[:, None], self.columns] = scaled / np.outer(sizes, sizes)
        return result

    def slope(self, scaled: FloatArray) -> FloatArray:
        """(..., d) slopes along the features in the user's units, from (..., k)."""
        result = np.zeros((*scaled.shape[:-1], len(self.sizes)))
        result[..., self.columns] = scaled / self.sizes[self.columns]
        return result

    def point(self, scaled: FloatArray) -> FloatArray:
        """(..., d) points in the user's units, from (..., k); NaN where they are not known."""
        result = np.zeros((*scaled.shape[:-1], len(self.sizes)))
        result[..., self.columns] = scaled
        result[np.isnan(scaled).any(axis=-1)] = np.nan
        if not len(self.columns):
            result[:] = np.nan
        return self.centre + self.sizes * result


def check_largest(data: Comparisons) -> None:
    """Refuse features that overflow or vanish when squared."""
    largest = np.abs(data.items).max(axis=0)
    j = int(largest.argmax())
    if largest[j] > LARGEST:
        raise InputError(f"Feature {_feature(data, j)} reaches {largest[j]:.0e}; give it in larger units.")
    if 0 < largest[j] < 1 / LARGEST:
        raise InputError(f"No feature exceeds {largest[j]:.0e}; give them in smaller units.")


def check_alike(data: Comparisons, scaler: Scaler) -> None:
    """Refuse features that lose their digits to each other."""
    columns = np.flatnonzero(scaler.varies)
    sizes = (scaler.spreads / scaler.sizes)[columns]
    if len(sizes) and sizes.max() > LARGEST_RATIO * sizes.min():
        wide, narrow = (_feature(data, int(columns[j])) for j in (sizes.argmax(), sizes.argmin()))
        raise InputError(
            f"Feature {wide} varies {sizes.max() / sizes.min():.0e} times as much as feature {narrow}; "
            "use standardize=True, or units in which they are alike."
        )


def _feature(data: Comparisons, j: int) -> str:
    """How messages call a feature."""
    return str(j) if data.feature_names is None else repr(data.feature_names[j])
