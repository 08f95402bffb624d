"""How coordinates of items change along single features, the others being as the items have them.

Utilities are linear in the coordinates, so that coordinates may be averaged over items first: what a taste
makes of a feature is then a product with its weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector
    from coombs.data.scaling import Scaler
    from coombs.data.tables import Levels
    from coombs.inference.people.coordinates import Coordinates

ITEMS = 200
"""Items whose other features are kept, at most."""
PLACES = 21
"""Values of a feature, as the items have it, through which the straight line goes."""


def coordinates_along(
    coordinates: Coordinates, scaler: Scaler, items: Matrix, columns: list[int], values: Matrix
) -> Matrix:
    """(K, D) of items with `values` (K, m) in some columns, averaged over what else they have."""
    # Some items whatever their order: evenly among them in the order of their features.
    ranked = items[np.lexsort(items.T)]
    some = ranked[np.linspace(0, len(items) - 1, min(len(items), ITEMS)).astype(int)]
    moved = np.repeat(some, len(values), axis=0)
    moved[:, columns] = np.tile(values, (len(some), 1))
    phi = coordinates(scaler.forward(moved), np.full(len(moved), -1))
    result: Matrix = phi.reshape(len(some), len(values), -1).mean(axis=0)
    return result


def slope_rows(coordinates: Coordinates, scaler: Scaler, items: Matrix, levels: Levels) -> Matrix:
    """(k, D), a row for each feature that varies: what weights are multiplied by to give its slope.

    That is the utility gained by a deviation of the feature along a straight line; of a level of a category,
    by having it instead of the average item's.
    """
    # Marks of single items, which have no value, are as numbers.
    categories = [block for block, present in zip(*levels, strict=True) if present]
    of_level = {j: list(block) for block in categories for j in block}
    rows = []
    for j in scaler.columns.tolist():
        if j in of_level:
            rows.append(_level_row(coordinates, scaler, items, j, of_level[j]))
            continue
        values, repeats = np.unique(items[:, j], return_counts=True)
        counts = repeats.astype(float)
        if len(values) > PLACES:
            values, counts = np.quantile(items[:, j], np.linspace(0.0, 1.0, PLACES)), np.ones(PLACES)
        phi = coordinates_along(coordinates, scaler, items, [j], values[:, None])
        rows.append(float(items[:, j].std()) * _slope(values, counts) @ phi)
    return np.array(rows).reshape(len(rows), coordinates.size)


def _slope(values: Vector, counts: Vector) -> Vector:
    """(K,) what numbers at these values are multiplied by to give the slope of the line through them."""
    away = values - np.average(values, weights=counts)
    result: Vector = counts * away / (counts @ away**2)
    return result


def _level_row(coordinates: Coordinates, scaler: Scaler, items: Matrix, j: int, block: list[int]) -> Vector:
    """(D,) of a level, less the average over the levels as items have them."""
    phi = coordinates_along(coordinates, scaler, items, block, np.eye(len(block)))
    shares = items[:, block].mean(axis=0)
    result: Vector = phi[block.index(j)] - (shares / shares.sum()) @ phi
    return result
