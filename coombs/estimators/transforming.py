"""What makes a fitted estimator a transformer: items in coordinates in which its distance is Euclidean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from coombs.data.tables import FloatArray, Names, TableLike


class Transforming(TransformerMixin):  # type: ignore[misc]
    """Adds `transform` and the names that scikit-learn and metric-learn have for what belongs to it."""

    def transform(self: Any, X: TableLike) -> FloatArray:
        """Return items in coordinates in which the learned distance is Euclidean: x L', M = L'L.

        Parameters
        ----------
        X : (n, d) table of items

        Returns
        -------
        (n, d) numbers, the most important direction first

        Examples
        --------
        >>> from coombs import SingleStep
        >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]])
        >>> est.transform([[0.5], [1.5]]).shape
        (2, 1)
        """
        result: FloatArray = self._fitted_model().transform(X)
        return result

    def fit_transform(self: Any, X: Any, y: ArrayLike | None = None, **fit_params: Any) -> Any:
        """Fit to comparisons, then transform the items they are about.

        Parameters
        ----------
        X, y : answers, as for `fit`
        fit_params : sample_weight, if any

        Returns
        -------
        (n_items, d) numbers, as from `transform`

        Examples
        --------
        >>> from coombs import SingleStep
        >>> SingleStep([[0.0], [1.0], [2.0]]).fit_transform([[0, 1], [1, 2]]).shape
        (3, 1)
        """
        return self.fit(X, y, **fit_params).transform(self._given(None))

    def get_feature_names_out(self: Any, input_features: Any = None) -> Names:
        """Return names for the columns of `transform`.

        Parameters
        ----------
        input_features : ignored; scikit-learn passes it

        Returns
        -------
        (d,) names: direction0 (the most important), direction1, ...

        Examples
        --------
        >>> from coombs import SingleStep
        >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]])
        >>> est.get_feature_names_out().tolist()
        ['direction0']
        """
        check_is_fitted(self)
        return np.array([f"direction{i}" for i in range(len(self.ideal_point_))], dtype=object)

    def get_mahalanobis_matrix(self: Any) -> FloatArray:
        """Return a copy of the learned metric, under the name that metric-learn gives it.

        Returns
        -------
        (d, d) metric

        Examples
        --------
        >>> from coombs import SingleStep
        >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]])
        >>> est.get_mahalanobis_matrix().shape
        (1, 1)
        """
        result: FloatArray = self._fitted_model().metric.copy()
        return result
