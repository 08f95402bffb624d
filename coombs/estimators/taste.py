"""What `IdealPoint` and `ConvexIdealPoint` share: kinds of preference, item effects, a description."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coombs.data.log_scales import on_scale_of
from coombs.data.tables import InputError
from coombs.data.wishes import wishes_of
from coombs.estimators.base import Fit, PairEstimator
from coombs.estimators.description import Description
from coombs.estimators.fitted import TasteFit, posterior_of
from coombs.inference.infer import QUICK, Inference, infer, rough, spread_of
from coombs.inference.kinds import METRICS
from coombs.inference.levels import plain_columns
from coombs.inference.posterior import Posterior
from coombs.inference.smooth import Smooth, infer_smooth
from coombs.model import Model
from coombs.progress import ProgressBar
from coombs.random_state import generator

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.comparisons import Comparisons
    from coombs.data.scaling import Scaler
    from coombs.data.tables import FloatArray, ItemTable
    from coombs.inference.mixture import Mixture
    from coombs.insights import Explanation
    from coombs.insights.item_comparison import ItemComparison

OUTSIDE = 1e6
"""What an item outside declared limits is farther away by, in logits: no taste makes up for it."""
LEVELLED = 100
"""Items, at most, that set the additive constant of draws without an ideal point."""


@dataclass(frozen=True)
class KindScore:
    """How well one kind of preference predicts answers that it has not seen, by cross-validation.

    A coin has an `accuracy` of 0.5 and a `log_loss` of 0.693.

    Parameters
    ----------
    metric : the kind; "items" for one without features
    item_effects : whether items have effects of their own
    accuracy, log_loss : share of answers predicted, and minus the mean log probability of the answers

    Examples
    --------
    >>> KindScore("full", item_effects=False, accuracy=0.9, log_loss=0.3).accuracy
    0.9
    """

    metric: str
    item_effects: bool
    accuracy: float
    log_loss: float


class TasteEstimator(PairEstimator):
    """An estimator of a `TasteFit`; a subclass adds `_fit_answers`.

    Constant features are left out, items and answers put in a canonical order: neither the prior nor their
    order must speak for them.
    """

    _drop_constant = True
    _standardizes_categories = False

    item_effects: str | bool = False
    random_state: Any
    posterior_: Posterior | None

    def _fit_answers(self, answers: Answers, rng: np.random.Generator) -> TasteFit:
        """The algorithm."""
        raise NotImplementedError

    @property
    def _has_effects(self) -> bool:
        return super()._has_effects or bool(self.wishes)

    @property
    def _lapse(self) -> float | None:
        """The share of answers given at random, if it is known."""
        return None

    def _learn(self, answers: Answers, scaler: Scaler) -> Fit:
        return self._fit_answers(answers.canonical(), generator(self.random_state))

    def _answers(self, data: Comparisons) -> Answers:
        """Distinct answers about the features that are learned from."""
        return self._collected(data, self._scaler).canonical()

    def _store(self, data: Comparisons, fit: Fit, scaler: Scaler) -> None:
        """Fitted attributes, in the user's units."""
        assert isinstance(fit, TasteFit)
        self._mixture = fit.mixture
        self._kind_scores: tuple[KindScore, ...] = ()
        self._description: Description | None = None
        self._description_of: tuple[Model, Posterior | None] | None = None
        self.kind_, self.lapse_, self.strength_ = fit.kind, fit.lapse, fit.strength
        self.item_effects_, self.kind_weights_ = fit.effects, _kind_weights(fit)
        self.slope_ = None if fit.is_distance else scaler.slope(-2 * fit.linear)
        v, has_levels = fit.described_linear, bool(scaler.levels.blocks)
        self._described_slope = scaler.slope(-2 * v) if has_levels and v is not None else None
        super()._store(data, fit, scaler)
        self.posterior_ = self._posterior_of(fit.mixture)
        has_level = self.model_.bumps is not None and bool(np.isfinite(self.ideal_point_).all())
        if has_level:
            # The average is a distance up to a constant: on average over the items, the description's.
            away = self.described()[0].scores_of(data.items) - self.model_.scores_of(data.items)
            self.model_ = replace(self.model_, offset=float(away.mean()))
        elif self._described_slope is not None:
            self.model_ = _from_its_best(self.model_)
        if not data.n_features and fit.effects is not None:
            scores = dict(zip(data.item_table.texts, fit.effects.tolist(), strict=True))
            self.model_ = replace(self.model_, item_scores=scores)
        self.distances_ = self._distance_of(data.item_table)
        if self.model_.bumps is not None and self.posterior_ is not None:
            some = np.linspace(0, data.n_items - 1, min(LEVELLED, data.n_items)).astype(int)
            effects = None if self.posterior_.effects is None else self.posterior_.effects[:, some]
            means = self._mean_distances(self.posterior_, data.items[some], effects)
            self.posterior_ = self.posterior_.at_level(data.items[some], effects, means)

    def _mean_distances(
        self, posterior: Posterior, items: FloatArray, effects: FloatArray | None
    ) -> FloatArray:
        """(S,) mean distance of the items in each draw.

        Of one without an ideal point, as many times the spread of its scores as in a draw that has one.
        """
        told, distances = self.described()[1], posterior.distances(items, effects)
        is_scored = np.isnan(posterior.ideal_points).any(axis=1)
        means: FloatArray = distances.mean(axis=1)
        if told is None or told is posterior or np.isnan(told.ideal_points).all():
            means[is_scored] = float((self.distances_ - self._outside(self._data.item_table)).mean())
            return means
        known = told.distances(items)[np.isfinite(told.ideal_points).all(axis=1)]
        ratios = known.mean(axis=1) / spread_of(known.T)
        means[is_scored] = spread_of(distances[is_scored].T) * np.resize(ratios, int(is_scored.sum()))
        return means

    def _model(self, names: tuple[str, ...] | None, fit: Fit, scaler: Scaler) -> Model:
        assert isinstance(fit, TasteFit)
        if fit.is_distance:
            return super()._model(names, fit, scaler)
        return Model(
            scaler.metric(fit.predictor),
            self.ideal_point_,
            names,
            scaler.spreads,
            slope=self.slope_,
            centre=scaler.centre,
            bumps=None if fit.bumps is None else fit.bumps.in_units(scaler),
        )

    def _posterior_of(self, mixture: Mixture | None) -> Posterior | None:
        if mixture is None:
            return None
        return posterior_of(mixture, self._answers(self._data), self._scaler, self._data.items)

    def described(self) -> tuple[Model, Posterior | None]:
        """Return the ideal-point part alone, which words, weights and trade-offs are about.

        Returns
        -------
        model : Model without a smooth part
        posterior : its Posterior, or None without one

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1], [1, 2]])
        >>> model, posterior = est.described()
        >>> model.ideal_point.shape, len(posterior) > 0
        ((1,), True)
        """
        check_is_fitted(self)
        mixture = self._mixture
        if mixture is None or self.model_.bumps is None or not mixture.quadratic:
            return self.model_, self.posterior_
        if self._description_of is None:
            slope = self._described_slope
            plain: dict[str, Any] = {"slope": slope, "bumps": None, "offset": 0.0}
            plain["centre"] = None if slope is None else self._scaler.centre
            model = replace(self.model_, metric=self.metric_, ideal_point=self.ideal_point_, **plain)
            model = model if slope is None else _from_its_best(model)
            self._description_of = model, self._posterior_of(mixture.described)
        return self._description_of

    def description(self) -> Description | None:
        """Return what the answers support, by Bayes factors.

        Returns
        -------
        Description with `has_pattern`, `log_odds` (of a taste against a coin) and `shapes` (of each
            feature's taste); None without a posterior

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1], [1, 2]])
        >>> est.description().has_pattern
        False
        """
        check_is_fitted(self)
        if self._description is None and self._mixture is not None:
            items = self._scaler.forward(self._data.items)
            self._description = Description.of(self._mixture, self._answers(self._data), items, self._lapse)
        return self._description

    def explain(self, **options: Any) -> Explanation:
        """Return what was learned in words and tables, and how far to trust it.

        Parameters
        ----------
        options : those of `coombs.insights.explain`

        Returns
        -------
        Explanation, which prints as text

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1], [1, 2]])
        >>> est.explain().has_pattern
        False
        """
        # Imported here because it takes this module's classes.
        from coombs.insights import explain

        return explain(self, **options)

    def compare(self, first: Any, second: Any) -> ItemComparison:
        """Return which of two items is better, how sure that is, and which features speak for either.

        Parameters
        ----------
        first, second : fitted items, by name or position

        Returns
        -------
        ItemComparison, whose `text` is a sentence

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="none").fit([[2, 1], [1, 0], [2, 0]] * 5)
        >>> est.compare(2, 0).probability > 0.9
        True
        """
        from coombs.insights.item_comparison import compare_items

        return compare_items(self, first, second)

    def kinds(self) -> tuple[KindScore, ...]:
        """Return how well each kind of preference predicts answers that it has not seen, simplest first.

        Returns
        -------
        tuple of KindScore (metric, item_effects, accuracy, log_loss); the first kind is Bradley and Terry's:
            nothing of the features, an effect of each item

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1], [1, 2], [0, 2]])
        >>> [score.metric for score in est.kinds()]
        ['items', 'none', 'identity', 'diagonal', 'full', 'signed', 'smooth']
        """
        check_is_fitted(self)
        if not self._kind_scores:
            answers = self._answers(self._data)
            plain = plain_columns(answers.levels, answers.items.shape[1])
            names = METRICS if len(plain) else ("none",) if answers.levels.blocks else ()
            kinds = [("items", True), *((name, False) for name in names)]
            kinds += [("smooth", self.item_effects is not False)] * bool(names)
            known = {} if self._mixture is None else {kind_of(part): part for part in self._mixture.parts}
            kinds += [kind for kind in known if kind not in kinds]
            rng, start = generator(0), rough(answers, generator(0))
            with ProgressBar(len(kinds), "comparing kinds of preference") as progress:
                for kind in kinds:
                    if kind not in known and kind[0] == "smooth":
                        known[kind] = self._smooth(answers)
                    elif kind not in known:
                        settings = {"lapse": self._lapse, "start": start, "effort": QUICK}
                        known[kind] = infer(answers, kind[0], rng, effects=kind[1], **settings)  # type: ignore[arg-type]
                    left = known[kind].leave_out()
                    self._kind_scores += (KindScore(*kind, left.accuracy, left.log_loss),)
                    progress.advance()
        return self._kind_scores

    def _smooth(self, answers: Answers) -> Smooth:
        return infer_smooth(answers, lapse=self._lapse, effects=self.item_effects is not False)

    def _distance_of(self, table: ItemTable) -> FloatArray:
        """Distances of a table's items, with the effects of those that are known."""
        table = on_scale_of(table, self.model_.encoding)
        distance = self.model_.distance(table)
        # Of items without features, the effects are all that there is.
        effects = self._effects_of(table) if self.n_features_in_ else None
        return distance if effects is None else distance + effects

    def _effects_of(self, table: ItemTable, draws: bool = False) -> FloatArray | None:
        """What a table's items are worth beyond their features; or (S, n) draws of it.

        Zero for strangers; an item outside declared limits is farther away than all others.
        """
        effects, outside = self._own_effects(table, draws), self._outside(table)
        if not outside.any():
            return effects
        if effects is None:
            shape = (len(self.posterior_), len(outside)) if draws and self.posterior_ is not None else None
            return outside if shape is None else np.broadcast_to(outside, shape)
        return effects + outside

    def _outside(self, table: ItemTable) -> FloatArray:
        """(n,) what items outside declared limits are farther away by."""
        names = self.model_.feature_names
        if not self.wishes:
            return np.zeros(len(table.matrix))
        if table.features is None and names is not None:
            table = table._replace(features=np.array(names, dtype=object))
        return np.where(wishes_of(self.wishes, table).inside, 0.0, OUTSIDE)

    def _own_effects(self, table: ItemTable, draws: bool) -> FloatArray | None:
        """Effects of a table's items, zero for strangers; or (S, n) draws of them."""
        effects, fitted = self.item_effects_, self._data.item_table
        if draws:
            effects = None if self.posterior_ is None else self.posterior_.effects
        if effects is None:
            return None
        if table is fitted or (_same_names(table, fitted) and np.array_equal(table.matrix, fitted.matrix)):
            return effects
        if not self.n_features_in_:
            # Which says so of items that are not known.
            self.model_.distance(table)
        result = np.zeros((*effects.shape[:-1], len(table.matrix)))
        if table.names is not None and fitted.names is not None:
            known = {name: i for i, name in enumerate(fitted.names)}
            pairs = [(i, known[name]) for i, name in enumerate(table.names) if name in known]
            if pairs:
                here, there = np.array(pairs).T
                result[..., here] = effects[..., there]
        return result

    def _draws(self) -> Posterior:
        check_is_fitted(self)
        if self.posterior_ is None:
            raise InputError(
                "There are no intervals: the fit is the optimum of a convex program; use IdealPoint for them."
            )
        return self.posterior_


def _from_its_best(model: Model) -> Model:
    """The model with scores that are 0 at its ideal point, of which the best levels are a part."""
    if np.isnan(model.ideal_point).any():
        return model
    return replace(model, offset=-float(replace(model, offset=0.0).scores_of(model.ideal_point[None])[0]))


def kind_of(part: Inference | Smooth) -> tuple[str, bool]:
    """Its name, and whether it has item effects."""
    return part.name, part.has_effects


def _kind_weights(fit: TasteFit) -> dict[str, float]:
    """The weight of each kind of preference in the average; with item effects it has a plus."""
    if fit.mixture is None:
        return {fit.kind: 1.0}
    counted = fit.mixture.counted
    names = [name + "+" * effects for name, effects in map(kind_of, counted.parts)]
    return dict(zip(names, counted.weights.tolist(), strict=True))


def _same_names(one: ItemTable, other: ItemTable) -> bool:
    if one.names is None or other.names is None:
        return one.names is other.names
    return np.array_equal(one.names, other.names)
