"""The fit that is explained, with its answers and the items it ranks: what every statement is made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coombs.data import naming
from coombs.data.tables import InputError
from coombs.estimators.taste import TasteEstimator
from coombs.insights.columns import TableColumn, cells_of, table_columns
from coombs.insights.selection import item_names
from coombs.insights.surface import Surface
from coombs.insights.verdicts import fitted_features, has_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coombs.data.comparisons import Comparisons
    from coombs.data.tables import ItemTable, TableLike
    from coombs.insights.statements import FeatureRange

SHOWN_VALUES = 4
"""Features by which an item without a name is called."""


@dataclass(frozen=True)
class ExplainedFit:
    """A fitted estimator, and what every statement about it is made from.

    `table` holds the items that are ranked, `labels` their names, and `compared` the names of the items that
    the answers are about.
    """

    est: TasteEstimator
    data: Comparisons
    level: float
    table: ItemTable
    labels: tuple[str, ...]
    compared: tuple[str, ...]
    features: tuple[FeatureRange, ...]
    compare: bool
    chosen: bool

    @cached_property
    def surface(self) -> Surface:
        """What describes the fit."""
        return Surface.of(self.est)

    @cached_property
    def has_pattern(self) -> bool | None:
        """Whether the answers tell more than a coin's would; None where there is no posterior to tell."""
        return has_pattern(self.est)

    @property
    def varies(self) -> NDArray[np.bool_]:
        """(d,) whether each feature does."""
        return np.array([feature.distinct != 1 for feature in self.features])

    @property
    def is_average(self) -> bool:
        """Whether several kinds are averaged, or another one predicts than that which describes."""
        return len(self.est.kind_weights_) > 1 or self.est.model_.bumps is not None

    @property
    def has_ideal(self) -> bool:
        """Whether there is an ideal point, or a worst one."""
        return bool(np.isfinite(self.est.ideal_point_).all()) and self.est.kind_ != "items"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns of the table, and which features they became."""
        return table_columns(self.est.model_)

    @property
    def numbers(self) -> list[int]:
        """The columns that vary and are no categories."""
        return [k for k, one in enumerate(self.columns) if self.varies[k] and not one.is_category]


def checked_fit(
    est: Any, items: TableLike, level: Any, top: Any, compare: bool, chosen: bool
) -> ExplainedFit:
    """The estimator and the parameters of `explain`, checked."""
    if not isinstance(est, TasteEstimator):
        raise InputError(f"explain is for a fitted IdealPoint; this is a {type(est).__name__}.")
    check_is_fitted(est)
    if not 0 < naming.as_float(level) < 1:
        raise InputError(f"level is {level!r}; it must be between 0 and 1, as 0.9.")
    if not isinstance(top, Integral) or isinstance(top, bool) or top < 1:
        raise InputError(f"top is {top!r}; it must be a positive whole number.")
    data, own, features = est._data, est.item_table_, fitted_features(est)
    named = own is not None and np.array_equal(own.matrix, data.items)
    compared = item_names(data.item_table) if named else _by_vectors(est, features)
    is_own = items is None and own is None
    table = data.item_table if is_own else est._table(items)
    labels = compared if is_own else item_names(table)
    return ExplainedFit(est, data, float(level), table, labels, compared, features, compare, chosen)


def _by_vectors(est: TasteEstimator, features: Sequence[FeatureRange]) -> tuple[str, ...]:
    """What items are called whose positions no one knows."""
    shown, more = features[:SHOWN_VALUES], ", ..." if len(features) > SHOWN_VALUES else ""
    cells = [cells_of(est.model_, row) for row in est._data.items]
    rows = [
        [x if isinstance(x, str) else f.text(x) for f, x in zip(shown, row, strict=False)] for row in cells
    ]
    return tuple(f"({', '.join(row)}{more})" for row in rows)
