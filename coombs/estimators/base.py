"""What every estimator here shares: rows are comparisons, items sit in the estimator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coombs.data.answers import Answers
from coombs.data.catalogue import item_table
from coombs.data.comparisons import Comparisons, InputError
from coombs.data.graph import gram_of_differences
from coombs.data.new_items import table_for
from coombs.data.scaling import Scaler, check_alike
from coombs.estimators import parameters
from coombs.estimators.savable import Savable
from coombs.estimators.transforming import Transforming
from coombs.model import Model
from coombs.programs.program import Status

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from coombs.data.tables import FloatArray, ItemTable, TableLike
    from coombs.inference.posterior import Posterior
    from coombs.programs.program import Solution


@dataclass(frozen=True)
class Fit:
    """What an estimator's algorithm hands back, in the coordinates it was given."""

    metric: FloatArray
    ideal_point: FloatArray
    distances: FloatArray
    objective: float
    status: Status | str
    n_iter: int
    gap: float

    @classmethod
    def of(cls, solution: Solution, metric: FloatArray, u: FloatArray, distances: FloatArray) -> Fit:
        """A metric, an ideal point and distances of all items, with how the solve ended."""
        ended = (solution.objective, solution.status, solution.n_iter, solution.gap)
        return cls(metric, u, distances, *ended)


class PairEstimator(Savable, Transforming, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fit, predict and rank for rows that are comparisons; a subclass adds its `_learn`.

    `fit` and `predict` take a `Comparisons`, pairs (n, 2) of items of the estimator's `items` by
    position or name, or pairs (n, 2, d) of feature vectors.
    """

    _positive: tuple[str, ...] = ()
    _not_negative: tuple[str, ...] = ()
    _drop_constant = False
    """Whether features that are the same for all items are left out before learning."""
    _standardizes_categories = True
    """Whether a table with categories, whose levels share no unit with numbers, is always standardised."""

    items: TableLike
    standardize: bool
    wishes: Sequence[str] = ()
    """What was declared, of estimators that obey it."""
    item_effects_: FloatArray | None = None
    """What single items are worth beyond their features, of estimators that learn it."""

    @property
    def _has_effects(self) -> bool:
        """Whether items may be worth more or less than their features say."""
        return self.item_effects_ is not None

    def _learn(self, answers: Answers, scaler: Scaler) -> Fit:
        """The algorithm: answers about scaled items in, a fit in the same coordinates out."""
        raise NotImplementedError

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from comparisons.

        Parameters
        ----------
        X : Comparisons, (n, 2) pairs of positions or names, or (n, 2, d) pairs of feature vectors
        y : (n,) of +1 or True (the first is preferred), -1 or False, 0 (tie); by default the first is
            preferred. 0 and 1 without any -1 is refused
        sample_weight : (n,) weights of the answers

        Returns
        -------
        self

        Examples
        --------
        >>> from coombs import SingleStep
        >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]])
        >>> est.rank().tolist()
        [0, 1, 2]
        """
        self._check_parameters()
        data = comparisons_of(self, X, y, sample_weight, self.items)
        parameters.check_features(self, data)
        if not data.is_decided:
            raise InputError("No answer says of two items which is better; at least one must.")
        data = self._on_better_scales(data)
        standardize = self._standardizes(data)
        drops, n_scaled = self._drop_constant, data.n_scaled
        scaler = Scaler.of(
            data.items, standardize, drop_constant=drops, levels=data.levels, n_scaled=n_scaled
        )
        check_alike(data, scaler)
        fit = self._learn(self._collected(data, scaler), scaler)
        self._store(data, fit, scaler)
        # Vectors in pairs have no positions that a user would know.
        self.item_table_: ItemTable | None = data.item_table
        if not isinstance(X, Comparisons) and _ndim(X) == 3:
            self.item_table_ = None if self.items is None else item_table(self.items)
        return self

    def _standardizes(self, data: Comparisons) -> bool:
        """Whether features are standardised for these items."""
        return self.standardize or (self._standardizes_categories and any(data.levels.present))

    def _on_better_scales(self, data: Comparisons) -> Comparisons:
        """The comparisons, with numbers on the scales that predict better, if an estimator chooses them."""
        return data

    def _collected(self, data: Comparisons, scaler: Scaler) -> Answers:
        """What is learned from: of choices, rankings and ratings, what they say of every two items."""
        return data.collected(scaler.forward(data.items), scaler.levels, in_pairs=True)

    def _store(self, data: Comparisons, fit: Fit, scaler: Scaler) -> None:
        """Fitted attributes, in the user's units."""
        if (message := self._doubt(fit)) is not None:
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        self._data, self._fit, self._scaler = data, fit, scaler
        self.metric_, self.ideal_point_ = scaler.metric(fit.metric), scaler.point(fit.ideal_point)
        self.metric_.flags.writeable = self.ideal_point_.flags.writeable = False
        names, used = data.feature_names, data.weights > 0
        pairs = np.column_stack(data.oriented()[:2]) if data.shapes else data.pairs[used]
        self._compared = gram_of_differences(data.items / scaler.spreads, pairs)
        model = self._model(None if names is None else tuple(names), fit, scaler)
        self.model_ = replace(model, encoding=data.encoding)
        self.distances_, self.objective_, self.gap_ = fit.distances, fit.objective, fit.gap
        self.status_, self.n_iter_ = str(fit.status), fit.n_iter
        self.classes_, self.n_features_in_ = np.array([-1, 1]), data.n_features
        if data.encoding is not None:
            names = np.array(data.encoding.table_names, dtype=object)
            self.n_features_in_ = len(names)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _model(self, names: tuple[str, ...] | None, fit: Fit, scaler: Scaler) -> Model:
        """What ranks and predicts, in the user's units."""
        return Model(self.metric_, self.ideal_point_, names, scaler.spreads)

    def _doubt(self, fit: Fit) -> str | None:
        """What a user should know of a fit that is not quite what was asked for."""
        if fit.status == Status.ALMOST_OPTIMAL:
            return f"The fit is almost optimal only: its certified relative gap is {fit.gap:.1e}."
        return None

    @property
    def unidentified_(self) -> FloatArray:
        """(d, k) orthonormal directions along which no answer says anything of u, given the metric.

        They are the kernel of R M: what the metric does not see (the paper's Proposition 1), and what
        the compared items do not differ in.
        """
        return self._fitted_model().unseen_directions(self._compared)

    def _check_parameters(self) -> None:
        """Refuse parameters that no program has; a subclass adds its own."""
        for name in self._positive:
            parameters.check_number(self, name)
        for name in self._not_negative:
            parameters.check_number(self, name, zero=True)
        parameters.check_shared(self)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the distance of the second of each pair less that of the first.

        Parameters
        ----------
        X : pairs, as for `fit`

        Returns
        -------
        (n,) margins, positive where the first is better

        Examples
        --------
        >>> from coombs import SingleStep
        >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]])
        >>> est.decision_function([[0, 2], [2, 0]]).shape
        (2,)
        """
        check_is_fitted(self)
        # Pairs of vectors may be of items that have effects.
        if not isinstance(X, Comparisons) and _ndim(X) == 3 and not self._has_effects:
            values = np.asarray(X)
            if values.shape[1] != 2:
                raise InputError(f"The pairs have shape {values.shape}; they must be (n, 2, n_features).")
            distance = self.model_.distance(values.reshape(-1, values.shape[2])).reshape(-1, 2)
            return distance[:, 1] - distance[:, 0]
        return self._margins(comparisons_of(self, X, None, None, self.item_table_))

    def _margins(self, data: Comparisons) -> FloatArray:
        distance = self._distance_of(data.item_table)
        result: FloatArray = distance[data.pairs[:, 1]] - distance[data.pairs[:, 0]]
        return result

    def _distance_of(self, table: ItemTable) -> FloatArray:
        """Distances of a checked table's items."""
        return self.model_.distance(table)

    def predict(self, X: Any) -> NDArray[np.int_]:
        """Return which of each pair is nearer to the ideal point.

        Parameters
        ----------
        X : pairs, as for `fit`

        Returns
        -------
        (n,) of +1 for the first, -1 for the second

        Examples
        --------
        >>> from coombs import SingleStep
        >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]])
        >>> est.predict([[0, 2], [2, 0]]).tolist()
        [1, -1]
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the logistic function of each margin, as `loss="logistic"` means it.

        Parameters
        ----------
        X : pairs, as for `fit`

        Returns
        -------
        (n, 2) probabilities of -1, that the second is preferred, and of +1, that the first is

        Examples
        --------
        >>> from coombs import SingleStep
        >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]])
        >>> probability = est.predict_proba([[0, 2], [2, 0]])
        >>> probability.shape, bool(probability[0, 1] > 0.5)
        ((2, 2), True)
        """
        first = expit(self.decision_function(X))
        return np.column_stack([1 - first, first])

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the weighted share of answers that are predicted; a tie, like equal distances, counts half.

        Parameters
        ----------
        X, y, sample_weight : answers, as for `fit`

        Returns
        -------
        float from 0 to 1

        Examples
        --------
        >>> from coombs import SingleStep
        >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]])
        >>> est.score([[0, 2], [2, 0]])
        0.5
        """
        check_is_fitted(self)
        data = comparisons_of(self, X, y, sample_weight, self.item_table_)
        winners, losers, weights = data.oriented()
        distance = self._distance_of(data.item_table)
        right = (np.sign(distance[losers] - distance[winners]) + 1) / 2
        return float(weights @ right / weights.sum())

    def distance(self, items: TableLike = None) -> FloatArray:
        """Return the squared distance (x - u)' M (x - u) of each item, plus its own effect if it has one.

        Of `IdealPoint` with a smooth taste in its average, the average's score, put where that distance is.

        Parameters
        ----------
        items : (n, d) table; by default the fitted items, compared or not

        Returns
        -------
        (n,) squared distances, less being better

        Examples
        --------
        >>> from coombs import SingleStep
        >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]])
        >>> est.distance([[0.5], [1.5], [2.5]]).shape
        (3,)
        """
        return self._distance_of(self._table(items))

    def rank(self, items: TableLike = None) -> NDArray[Any]:
        """Return the items from best to worst.

        Parameters
        ----------
        items : (n, d) table; by default the fitted items, compared or not

        Returns
        -------
        (n,) names where the items have them, otherwise positions

        Examples
        --------
        >>> from coombs import SingleStep
        >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]])
        >>> est.rank([[1.5], [0.5]]).tolist()
        [1, 0]
        """
        table = self._table(items)
        order = np.argsort(self._distance_of(table), kind="stable")
        return order if table.names is None else table.names[order]

    def described(self) -> tuple[Model, Posterior | None]:
        """Return the model by its metric and ideal point, and draws of them where there are any.

        Returns
        -------
        model : Model
        posterior : Posterior, or None of an estimator without draws

        Examples
        --------
        >>> from coombs import SingleStep
        >>> model, posterior = SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]]).described()
        >>> model.ideal_point.shape, posterior is None
        ((1,), True)
        """
        check_is_fitted(self)
        return self.model_, None

    def _fitted_model(self) -> Model:
        return self.described()[0]

    def _table(self, items: TableLike) -> ItemTable:
        """These items, or the fitted ones, checked, their features in the order of the fit."""
        given, model = self._given(items), self.model_
        means = self._scaler.centre if self.standardize else None
        return table_for(given, model.feature_names, len(model.ideal_point), model.encoding, means)

    def _given(self, items: TableLike) -> TableLike:
        """These items, or the fitted ones."""
        check_is_fitted(self)
        if items is None and self.item_table_ is None:
            raise InputError("The fit was to pairs of feature vectors; give the items that are meant.")
        return self.item_table_ if items is None else items

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.three_d_array = True
        tags.target_tags.required = False
        return tags


def comparisons_of(
    estimator: Any, X: Any, y: ArrayLike | None, weights: ArrayLike | None, items: TableLike
) -> Comparisons:
    """Whatever an estimator was given, as comparisons; pairs of positions or names are about `items`."""
    if isinstance(X, Comparisons):
        return X if y is None and weights is None else X.with_answers(y, weights)
    if _ndim(X) == 3:
        return Comparisons.from_features(X, y=y, weights=weights)
    if items is None:
        raise InputError(
            f"{type(estimator).__name__} has no items, so pairs of positions or names mean nothing to it; "
            "give it items=..., or fit a Comparisons or (n, 2, d) pairs of feature vectors."
        )
    return Comparisons(items, X, y=y, weights=weights)


def _ndim(values: Any) -> int:
    """Dimensions of an array-like; 0 where its rows differ in length, which `Comparisons` will say."""
    try:
        return np.asarray(values).ndim
    except ValueError:
        return 0
