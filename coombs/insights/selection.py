"""Which features and items are meant, what they are called, and some of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data.tables import InputError, ItemTable, TableLike
from coombs.words import feature_names

if TYPE_CHECKING:
    from coombs.estimators.base import PairEstimator

FeatureKey: TypeAlias = str | int
"""A feature by name or position."""


def names_of(est: PairEstimator) -> tuple[str, ...]:
    """Names of a fit's features."""
    return feature_names(est._fitted_model().feature_names, len(est.ideal_point_))


def need_features(est: PairEstimator) -> None:
    """Refuse to draw features where items have none."""
    if not est.n_features_in_:
        raise InputError("The items have no features to draw; plots.ranking draws how the answers rank them.")


def feature_position(names: Sequence[str], feature: FeatureKey) -> int:
    """The column of a feature that is given by name or position."""
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < len(names):
        return int(feature)
    raise InputError(f"There is no feature {feature!r}; the features are {', '.join(map(repr, names))}.")


def feature_positions(names: Sequence[str], features: Sequence[FeatureKey], what: str) -> list[int]:
    """The columns of different features, at least one."""
    chosen = [feature_position(names, feature) for feature in features]
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError(f"The features of the {what} must be different ones, and at least one.")
    return chosen


def items_of(est: PairEstimator, items: TableLike = None) -> ItemTable:
    """The items given, or the fitted ones."""
    return est._table(items)


def item_names(table: ItemTable) -> tuple[str, ...]:
    """Names of the items, "item 0", ... where they have none."""
    names = (f"item {i}" for i in range(len(table.matrix))) if table.names is None else map(str, table.names)
    return tuple(names)


def thin(n: int, most: int) -> NDArray[np.intp]:
    """At most so many positions out of n, evenly."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))
