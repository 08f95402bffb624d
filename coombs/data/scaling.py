"""The features that are learned from, scaled, and the way back to the user's units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.tables import NO_LEVELS, InputError, Levels

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

    Levels of a category are not centred and share one size, the root of sum p (1 - p) over their shares p:
    the category as a whole has a variance of 1, and a rare level is not blown up. `levels` are those of
    `columns`.
    """

    centre: FloatArray
    sizes: FloatArray
    spreads: FloatArray
    varies: NDArray[np.bool_]
    columns: NDArray[np.intp]
    levels: Levels = NO_LEVELS

    @classmethod
    def of(
        cls,
        items: FloatArray,
        standardize: bool,
        *,
        drop_constant: bool = True,
        levels: Levels = NO_LEVELS,
        n_scaled: int | None = None,
    ) -> Scaler:
        """A scaler by mean and deviation of each feature (1 where it is constant), or by 0 and 1.

        Those are of the first `n_scaled` items, unless a feature is constant among them.
        """
        centre, deviation, varies = _spread(items)
        spreads = np.where(varies, deviation, 1.0)
        if n_scaled is not None and n_scaled < len(items):
            first_centre, first_deviation, first_varies = _spread(items[:n_scaled])
            for block in levels.blocks:
                # Of a category, all levels or none.
                first_varies[list(block)] = first_varies[list(block)].any()
            centre = np.where(first_varies, first_centre, centre)
            deviation = np.where(first_varies, first_deviation, deviation)
            spreads = np.where(varies & (deviation > 0), deviation, spreads)
        columns = np.flatnonzero(varies) if drop_constant else np.arange(len(varies))
        if not standardize:
            centre, sizes = np.zeros_like(spreads), np.ones_like(spreads)
        else:
            sizes = spreads.copy()
            for block, present in zip(*levels, strict=True):
                centre[list(block)] = 0.0
                # Marks of single items stay as they are.
                whole = math.sqrt(float((deviation[list(block)] ** 2).sum()))
                sizes[list(block)] = whole if present and whole else 1.0
        if levels.blocks:
            columns = columns[_order(items[:n_scaled], levels, columns)]
        return cls(centre, sizes, spreads, varies, columns, _learned(levels, columns, sizes))

    def forward(self, items: FloatArray) -> FloatArray:
        """(n, k) scaled features that are learned from."""
        scaled: FloatArray = (items - self.centre) / self.sizes
        is_whole = np.array_equal(self.columns, np.arange(len(self.sizes)))
        return scaled if is_whole else scaled[:, self.columns]

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


def _spread(items: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """(d,) mean and deviation of each feature, and whether it varies: by more than its rounding errors."""
    deviation = items.std(axis=0)
    return items.mean(axis=0), deviation, deviation > ROUNDING * np.abs(items).max(axis=0)


def _order(items: FloatArray, levels: Levels, columns: NDArray[np.intp]) -> NDArray[np.intp]:
    """The columns, those of a category in an order that does not depend on what its levels are called.

    By how many items have a level, and where these are in the other features.
    """
    plain = np.ones(items.shape[1], dtype=bool)
    place = np.arange(items.shape[1], dtype=float)
    for block in levels.blocks:
        plain[list(block)] = False
        place[list(block)] = min(block)
    rest = items[:, plain]
    away = (rest - rest.mean(axis=0)) / np.maximum(rest.std(axis=0), np.finfo(float).tiny)
    key = away @ np.sqrt(np.arange(2.0, 2.0 + rest.shape[1]))
    counts, sums = items.sum(axis=0) * ~plain, (key @ items) * ~plain
    return np.lexsort((sums[columns].round(9), -counts[columns], place[columns]))


def _learned(levels: Levels, columns: NDArray[np.intp], sizes: FloatArray) -> Levels:
    """The same levels by their places among the columns that are learned from."""
    left = levels.only(columns.tolist())
    values = [present / sizes[columns[block[0]]] for block, present in zip(*left, strict=True)]
    return Levels(left.blocks, tuple(map(float, values)))


def check_largest(data: Comparisons) -> None:
    """Refuse features that overflow or vanish when squared."""
    if not data.n_features:
        return
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
