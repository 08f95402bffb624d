"""Numbers of items and people by what they are, so that nothing depends on the order in which they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector


def item_keys(features: Matrix) -> Vector:
    """(n,) of items: the same for items that are alike, in any order of features.

    Items without features are what their positions are.
    """
    if not features.shape[1]:
        return np.arange(len(features)) / 2.0
    result: Vector = np.sin(9.1 * (np.sin(1.7 * features) + np.cos(2.9 * features)).sum(axis=1))
    return result


def answer_keys(winners: Vector, losers: Vector, weights: Vector) -> Vector:
    """(...) of answers, by the keys of their items: their sum is a key of whoever gave them."""
    result: Vector = weights * (winners - losers / 3)
    return result
