"""Our own estimator: the posterior of an ideal point and a metric, given the answers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coombs.data.answers import Answers
from coombs.data.comparisons import Comparisons
from coombs.data.scaling import Scaler
from coombs.data.tables import InputError, item_table
from coombs.estimators.base import Fit, PairEstimator
from coombs.estimators.description import Description
from coombs.estimators.learned import Learned, Mixture, embed, estimate, posterior_of, without_ideal
from coombs.inference.infer import QUICK, SHARED, WHOLE, Inference, infer, refresh, rough
from coombs.inference.kinds import METRICS
from coombs.inference.posterior import LEVEL, Posterior, quantiles
from coombs.inference.smooth import Smooth, infer_smooth
from coombs.programs import lifted
from coombs.programs.losses import LOSSES
from coombs.programs.program import Status
from coombs.progress import ProgressBar
from coombs.random_state import generator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from coombs.data.tables import FloatArray, ItemTable, TableLike
    from coombs.inference.kernel import Bumps
    from coombs.insights import Explanation
    from coombs.model import Model

EFFECTS_EVIDENCE = 2.0
"""Deviations by which answers must disagree with the features before item effects are tried."""
AVERAGED = ("full", "smooth")
"""The kinds that "auto" averages: an ideal point, and anything smooth."""
LEVELLED = 300
"""Items, at most, whose mean distance is the estimate's in every draw of an average."""
MANY_FEATURES = 8
"""Features from which on a first look at a kind is too rough to tell whether it counts."""
NEWS = 0.1
"""Up to this share of new answers, the chains go on from where they were."""


@dataclass(frozen=True)
class KindScore:
    """How well one kind of preference predicts answers that it has not seen, by cross-validation.

    A coin has an `accuracy` of 0.5 and a `log_loss` of 0.693.
    """

    metric: str
    item_effects: bool
    accuracy: float
    log_loss: float


class IdealPoint(PairEstimator):
    """Ideal point and metric with everything chosen from the data, and how uncertain they are.

    Answer k, with margin e = s_loser - s_winner, has probability lapse / 2 + (1 - lapse) sigma(e), and
    s = (x - u)' M (x - u), plus an effect of the item if asked for. All is given a prior in units
    of the standardised features, the scales of M, of u and of the effects, and the lapse rate being
    learned too; the estimate is the mean of the posterior, by Hamiltonian Monte Carlo up to 3,000
    distinct answers, and by its mode beyond.

    Parameters
    ----------
    items : (n_items, d) array or frame, or None when `fit` gets the items with the answers
    metric : "auto" (an ideal point averaged with anything smooth, by the evidence for each), "full" (any M),
        "diagonal", "identity", "none" (linear: more or less is better), "signed" (M may be negative along a
        direction: the middle is worst) or "smooth" (a Gaussian process, without an ideal point)
    loss : "logistic"; or "squared_hinge" or "hinge", which give the optimum of the lifted convex
        program (see `coombs.programs.lifted`) without probabilities or intervals
    regularization : "auto", or the strength of the lifted convex program, whose optimum is then the fit
    penalty : of that program: "frobenius", or "trace" for a metric of low rank
    item_effects : "auto" (where the answers call for it), True or False
    lapse : "auto", or the share of answers given at random, 0 to less than 1
    random_state : seed or generator of the sampler
    tol, max_iter : of the convex program

    Attributes
    ----------
    metric_, ideal_point_ : in the user's units; the metric's scale is that of the margins. Of "auto" they
        describe the ideal-point part; with "none" and "smooth" there is no ideal point: it is NaN
    distances_ : of all items, item effects included
    posterior_ : a `Posterior` with draws, or None for a convex program
    kind_, lapse_, item_effects_, strength_ : what was chosen
    objective_, status_, n_iter_, gap_ : how it ended

    Examples
    --------
    >>> from coombs.simulate import make_preferences
    >>> truth = make_preferences(n_comparisons=60, random_state=0)
    >>> est = IdealPoint(truth.items).fit(truth.pairs, truth.y)
    >>> inside = est.ideal_point_interval()
    >>> bool((inside[:, 0] < truth.ideal_point).all() and (truth.ideal_point < inside[:, 1]).all())
    True
    """

    _positive: tuple[str, ...] = ("tol",)

    standardize = True

    def __init__(
        self,
        items: TableLike = None,
        *,
        metric: str = "auto",
        loss: str = "logistic",
        regularization: str | float = "auto",
        penalty: str = "frobenius",
        item_effects: str | bool = "auto",
        lapse: str | float = "auto",
        random_state: Any = 0,
        tol: float = 1e-8,
        max_iter: int = 300,
    ) -> None:
        self.items = items
        self.metric, self.loss = metric, loss
        self.regularization, self.penalty = regularization, penalty
        self.item_effects, self.lapse = item_effects, lapse
        self.random_state = random_state
        self.tol, self.max_iter = tol, max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        choices: tuple[tuple[str, tuple[Any, ...]], ...] = (
            ("metric", (*METRICS, "smooth", "auto")),
            ("penalty", ("frobenius", "trace")),
            ("item_effects", ("auto", True, False)),
        )
        for name, allowed in choices:
            value = getattr(self, name)
            if not any(value is one or (isinstance(value, str) and value == one) for one in allowed):
                raise InputError(f"{name} is {value!r}; it must be one of {', '.join(map(str, allowed))}.")
        _check_number("regularization", self.regularization, 0.0, np.inf, "a positive number")
        _check_number("lapse", self.lapse, -1e-300, 1.0, "a number from 0 to less than 1")
        if self._convex and self._kind not in lifted.KINDS:
            raise InputError(
                f"metric is {self.metric!r}; the convex program that loss={self.loss!r}, "
                f"regularization={self.regularization!r} and penalty={self.penalty!r} ask for "
                f"has {', '.join(lifted.KINDS)}."
            )
        if self._convex and self.item_effects is True:
            raise InputError(
                "item_effects is True; the convex program has none: use loss='logistic' with "
                "regularization='auto' and penalty='frobenius'."
            )

    @property
    def _convex(self) -> bool:
        """Whether the lifted convex program is asked for, rather than the posterior."""
        return self.loss != "logistic" or self.regularization != "auto" or self.penalty != "frobenius"

    @property
    def _kind(self) -> str:
        """Of the convex program, which has nothing to average."""
        return "full" if self.metric == "auto" else self.metric

    def _learn(self, answers: Answers, scaler: Scaler) -> Fit:
        """The posterior's mean, or the optimum of the convex program."""
        rng = generator(self.random_state)
        # Constant features say nothing; neither the prior nor the items' order must speak for them.
        seen = replace(answers, items=answers.items[:, scaler.varies]).canonical()
        found = self._program(seen, rng) if self._convex else self._posterior(seen, rng)
        return embed(found, seen, scaler.varies)

    def _posterior(self, answers: Answers, rng: np.random.Generator) -> Learned:
        """The kind asked for, or the average of all, with item effects if they are called for."""
        names = self._candidates(answers)
        # Where no feature differs, effects are all that there is.
        wanted = self.item_effects is True or (self.item_effects == "auto" and names == ("items",))
        effort = WHOLE if len(names) == 1 or answers.items.shape[1] >= MANY_FEATURES else SHARED
        start = rough(answers, rng) if names != ("smooth",) else None

        def part(name: str, effects: bool) -> Inference | Smooth:
            if name == "smooth":
                return self._smooth(answers)
            return infer(answers, name, rng, lapse=self._lapse, effects=effects, start=start, effort=effort)

        mixture = Mixture(tuple(part(name, wanted) for name in names))
        if not wanted and self.item_effects == "auto" and _lacks_effects(mixture):
            mixture = Mixture((*mixture.parts, part(mixture.described.main.name, True)))
        return estimate(mixture if effort is WHOLE else mixture.extended(rng))

    def _smooth(self, answers: Answers) -> Smooth:
        return infer_smooth(answers, lapse=self._lapse, effects=self.item_effects is not False)

    @property
    def _lapse(self) -> float | None:
        return None if self.lapse == "auto" else float(self.lapse)

    def _candidates(self, answers: Answers) -> tuple[str, ...]:
        if not answers.items.shape[1]:
            return ("items",)
        return AVERAGED if self.metric == "auto" else (self.metric,)

    def _program(self, answers: Answers, rng: np.random.Generator) -> Learned:
        """The lifted convex program."""
        loss, trace = LOSSES[self.loss], self.penalty == "trace"
        if self.regularization == "auto":
            strength = lifted.choose_strength(answers, loss, rng, trace=trace, kind=self._kind)
        else:
            strength = float(self.regularization)
        metric, v, solution = lifted.solve(
            answers, loss, strength, trace=trace, kind=self._kind, tol=self.tol, max_iter=self.max_iter
        )
        u = lifted.shrunk_ideal(metric, v) if self._kind != "none" else 0 * v
        fit = Fit.of(solution, metric, u, solution.distances)
        return Learned(**vars(fit), kind=self._kind, linear=v, strength=strength)

    def _store(self, data: Comparisons, fit: Fit, scaler: Scaler) -> None:
        """Fitted attributes, in the user's units."""
        super()._store(data, fit, scaler)
        assert isinstance(fit, Learned) and fit.linear is not None
        self.kind_, self.lapse_, self.strength_ = fit.kind, fit.lapse, fit.strength
        self.item_effects_ = fit.effects
        self.kind_weights_ = _kind_weights(fit)
        self.slope_: FloatArray | None = None
        # Also where the ideal-point kind has no weight left, and only describes.
        averaged = len(self.kind_weights_) > 1 or (fit.bumps is not None and fit.kind != "smooth")
        if averaged or fit.kind in ("none", "signed", "items", "smooth") or without_ideal(fit):
            self.slope_ = -2 * fit.linear / scaler.sizes
            if fit.kind != "signed" and not (averaged and np.isfinite(self.ideal_point_).all()):
                self.ideal_point_ = np.full_like(scaler.sizes, np.nan)
            predictor = fit.metric if fit.predictor is None else fit.predictor
            self.model_ = replace(
                self.model_,
                metric=predictor / np.outer(scaler.sizes, scaler.sizes),
                ideal_point=self.ideal_point_,
                slope=self.slope_,
                centre=scaler.centre,
                bumps=_in_units(fit, scaler),
            )
        self._fit = fit
        self.posterior_ = self._posterior_of(fit.mixture, scaler, data)
        self._kind_scores: tuple[KindScore, ...] = ()
        self._description: Description | None = None
        self._description_of: tuple[Model, Posterior | None] | None = None
        self._mixture, self._data, self._scaler = fit.mixture, data, scaler
        if self.model_.bumps is not None and np.isfinite(self.ideal_point_).all():
            # The average is a distance up to a constant: on average over the items, the description's.
            scores = self.model_.distance(data.items)
            offset = float((self.described()[0].distance(data.items) - scores).mean())
            self.model_ = replace(self.model_, offset=offset)
            self.distances_ = scores + offset if fit.effects is None else scores + offset + fit.effects
        else:
            self.distances_ = self._distance_of(data.item_table)
        if self.model_.bumps is not None and self.posterior_ is not None:
            some = np.linspace(0, data.n_items - 1, min(LEVELLED, data.n_items)).astype(int)
            effects = None if self.posterior_.effects is None else self.posterior_.effects[:, some]
            level = float(self.distances_[some].mean())
            self.posterior_ = self.posterior_.at_level(data.items[some], effects, level)

    def _posterior_of(self, mixture: Mixture | None, scaler: Scaler, data: Comparisons) -> Posterior | None:
        return None if mixture is None else posterior_of(self._fit, mixture, scaler, data.items)

    def _fitted_model(self) -> Model:
        """The description: `transform` and what else is about the metric."""
        return self.described()[0]

    def described(self) -> tuple[Model, Posterior | None]:
        """The ideal-point description, which words, weights and trade-offs are about: no smooth part."""
        check_is_fitted(self)
        mixture = self._mixture
        if mixture is None or self.model_.bumps is None or not mixture.quadratic:
            return self.model_, self.posterior_
        if self._description_of is None:
            plain: dict[str, Any] = {"slope": None, "centre": None, "bumps": None, "offset": 0.0}
            model = replace(self.model_, metric=self.metric_, ideal_point=self.ideal_point_, **plain)
            draws = self._posterior_of(mixture.described, self._scaler, self._data)
            self._description_of = model, draws
        return self._description_of

    def _doubt(self, fit: Fit) -> str | None:
        if fit.status == Status.CHAINS_APART:
            assert isinstance(fit, Learned) and fit.mixture is not None
            return (
                f"The sampler's chains did not come together (R-hat {fit.mixture.rhat:.2f}, 1 being "
                "perfect): intervals are rough, and numbers change with random_state."
            )
        if fit.status == Status.MAX_ITERATIONS:
            return "The climb to the most likely preferences ran out of steps: they are near it at best."
        return super()._doubt(fit)

    def partial_fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from some more answers about the same items; much cheaper than a new fit to all.

        A few new answers move the posterior little, so the chains go on from where they were. The
        first call is a `fit`.
        """
        if not hasattr(self, "posterior_"):
            return self.fit(X, y, sample_weight)
        self._check_parameters()
        old = self._data
        new = self._comparisons(X, y, sample_weight, self.item_table_)
        if not np.array_equal(new.items, old.items):
            raise InputError("The new answers are about other items; fit to all answers instead.")
        data = Comparisons.concatenate([old, new])
        parts = () if self._mixture is None else self._mixture.parts
        if not parts or not all(map(_goes_on, parts)) or len(new) > 1 + NEWS * len(old):
            return self.fit(data)
        known, answers = self._answers(old), self._answers(data)
        rng = generator(self.random_state, len(data))

        def again(part: Inference | Smooth) -> Inference | Smooth:
            return self._smooth(answers) if isinstance(part, Smooth) else refresh(part, known, answers, rng)

        fit = estimate(Mixture(tuple(map(again, parts))))
        self._store(data, embed(fit, answers, self._scaler.varies), self._scaler)
        return self

    def kinds(self) -> tuple[KindScore, ...]:
        """How well each kind of preference predicts answers that it has not seen, simplest first.

        The first is Bradley and Terry's: nothing of the features, an effect of each item.
        """
        check_is_fitted(self)
        if not self._kind_scores:
            answers = self._answers(self._data)
            names = METRICS if answers.items.shape[1] else ()
            kinds = [("items", True), *((name, False) for name in names)]
            kinds += [("smooth", self.item_effects is not False)] * bool(names)
            known = {} if self._mixture is None else {_kind_of(part): part for part in self._mixture.parts}
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

    @property
    def rung_(self) -> str:
        """The old name of `kind_`."""
        warnings.warn("rung_ is now kind_; the old name goes with 0.4.", FutureWarning, stacklevel=2)
        return self.kind_

    def ladder(self) -> tuple[KindScore, ...]:
        """The old name of `kinds`."""
        warnings.warn("ladder() is now kinds(); the old name goes with 0.4.", FutureWarning, stacklevel=2)
        return self.kinds()

    def description(self) -> Description | None:
        """What the answers bear out, by Bayes factors; None of a convex program."""
        check_is_fitted(self)
        if self._description is None and self._mixture is not None:
            items = self._scaler.forward(self._data.items)[:, self._scaler.varies]
            self._description = Description.of(self._mixture, self._answers(self._data), items, self._lapse)
        return self._description

    def _answers(self, data: Comparisons) -> Answers:
        """Distinct answers about standardised items, without the constant features."""
        answers = Answers.collect(self._scaler.forward(data.items), *data.oriented())
        return replace(answers, items=answers.items[:, self._scaler.varies]).canonical()

    def ideal_point_interval(self, level: float = LEVEL) -> FloatArray:
        """(d, 2) ends of the interval for each coordinate of the ideal point, in the user's units."""
        self._draws()
        posterior = self.described()[1]
        assert posterior is not None
        return posterior.ideal_interval(level)

    def distance_interval(self, items: TableLike = None, level: float = LEVEL) -> FloatArray:
        """(n, 2) ends of the interval for each item's squared distance."""
        table = self._table(items)
        return self._draws().distance_interval(table.matrix, self._effects_of(table, draws=True), level)

    def rank_interval(self, items: TableLike = None, level: float = LEVEL) -> NDArray[np.int_]:
        """(n, 2) best and worst rank that each item may have, 1 being the first."""
        table = self._table(items)
        ranks = self._draws().ranks(table.matrix, self._effects_of(table, draws=True))
        ends = quantiles(ranks, level)
        return np.column_stack([np.floor(ends[:, 0]), np.ceil(ends[:, 1])]).astype(int)

    def top_probability(self, k: int, items: TableLike = None) -> FloatArray:
        """(n,) probability that each item is among the best k."""
        table = self._table(items)
        n = len(table.matrix)
        if not isinstance(k, Integral) or isinstance(k, bool) or not 1 <= k <= n:
            raise InputError(f"k is {k!r}; it must be a whole number from 1 to {n}, as there are {n} items.")
        ranks = self._draws().ranks(table.matrix, self._effects_of(table, draws=True))
        result: FloatArray = (ranks <= k).mean(axis=0)
        return result

    def explain(self, **options: Any) -> Explanation:
        """What was learned in words and tables, and how far to trust it; see `coombs.insights.explain`."""
        # Imported here because it takes this module's classes.
        from coombs.insights import explain

        return explain(self, **options)

    def decision_function(self, X: Any) -> FloatArray:
        """Distance of the second of each pair less that of the first: positive where the first is better."""
        check_is_fitted(self)
        if self.item_effects_ is None:
            return super().decision_function(X)
        # Pairs of vectors may be of items that have effects.
        return self._margins(self._comparisons(X, None, None, self.item_table_))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of -1 and +1, averaged over the posterior, lapses included."""
        margin = self.decision_function(X)
        if self.posterior_ is None:
            return super().predict_proba(X)
        data = self._comparisons(X, None, None, self.item_table_)
        first = self._probability(data)
        # The mean of the margins decides; where the mean of the probabilities disagrees it is a coin's throw.
        first = np.where(margin >= 0, np.maximum(first, 0.5), np.minimum(first, 0.5))
        return np.column_stack([1 - first, first])

    def _probability(self, data: Comparisons) -> FloatArray:
        posterior, table = self._draws(), data.item_table
        effects = self._effects_of(table, draws=True)
        result, size = np.empty(len(data)), max(1, 4_000_000 // len(posterior))
        for begin in range(0, len(data), size):
            pairs = data.pairs[begin : begin + size]
            used, place = np.unique(pairs, return_inverse=True)
            scores = posterior.scores(table.matrix[used], None if effects is None else effects[:, used])
            first, second = scores[:, place.reshape(pairs.shape)].transpose(2, 0, 1)
            result[begin : begin + size] = posterior.probability(first, second)
        return result

    def _distance_of(self, table: ItemTable) -> FloatArray:
        """Of a table's items, the effects of those that are known included."""
        effects = self._effects_of(table)
        distance = self.model_.distance(table)
        return distance if effects is None else distance + effects

    def distance(self, items: TableLike = None) -> FloatArray:
        """Squared distance of each item, plus its own effect if it has one; by default the fitted items."""
        return self._distance_of(self._table(items))

    def rank(self, items: TableLike = None) -> NDArray[Any]:
        """Items from best to worst: names where they have them, otherwise positions."""
        table = self._table(items)
        order = np.argsort(self._distance_of(table), kind="stable")
        return order if table.names is None else table.names[order]

    def _effects_of(self, table: ItemTable, draws: bool = False) -> FloatArray | None:
        """Effects of a table's items, zero for strangers; or (S, n) draws of them."""
        effects, fitted = self.item_effects_, self._data.item_table
        if draws:
            effects = None if self.posterior_ is None else self.posterior_.effects
        if effects is None:
            return None
        if table is fitted or (_same_names(table, fitted) and np.array_equal(table.matrix, fitted.matrix)):
            return effects
        result = np.zeros((*effects.shape[:-1], len(table.matrix)))
        if table.names is not None and fitted.names is not None:
            known = {name: i for i, name in enumerate(fitted.names)}
            pairs = [(i, known[name]) for i, name in enumerate(table.names) if name in known]
            if pairs:
                here, there = np.array(pairs).T
                result[..., here] = effects[..., there]
        return result

    def _table(self, items: TableLike) -> ItemTable:
        return item_table(self._given(items))

    def _draws(self) -> Posterior:
        check_is_fitted(self)
        if self.posterior_ is None:
            raise InputError(
                "There are no intervals: the fit is the optimum of a convex program; "
                "use loss='logistic' with regularization='auto' and penalty='frobenius'."
            )
        return self.posterior_


def _lacks_effects(mixture: Mixture) -> bool:
    """Whether answers disagree with the features so much that effects of single items are called for."""
    if any(part.has_effects for part in mixture.parts):
        return False
    main = mixture.described.main
    return not isinstance(main, Smooth) and main.disagreement() > EFFECTS_EVIDENCE


def _goes_on(part: Inference | Smooth) -> bool:
    """Whether it can be brought up to date rather than learned afresh."""
    return isinstance(part, Smooth) or (part.sampled and not part.has_effects)


def _in_units(fit: Learned, scaler: Scaler) -> Bumps | None:
    """The smooth part for features in the user's units."""
    if fit.bumps is None or fit.varies is None:
        return None
    return fit.bumps.in_units(scaler.centre, scaler.sizes, np.flatnonzero(fit.varies))


def _kind_of(part: Inference | Smooth) -> tuple[str, bool]:
    """Its name, and whether it has item effects."""
    return part.name, part.has_effects


def _kind_weights(fit: Learned) -> dict[str, float]:
    """The weight of each kind of preference in the average; with item effects it has a plus."""
    if fit.mixture is None:
        return {fit.kind: 1.0}
    counted = fit.mixture.counted
    names = [name + "+" * effects for name, effects in map(_kind_of, counted.parts)]
    return dict(zip(names, counted.weights.tolist(), strict=True))


def _same_names(one: ItemTable, other: ItemTable) -> bool:
    if one.names is None or other.names is None:
        return one.names is other.names
    return np.array_equal(one.names, other.names)


def _check_number(name: str, value: Any, low: float, high: float, kind: str) -> None:
    """Refuse what is neither "auto" nor a number between the two."""
    if isinstance(value, str) and value == "auto":
        return
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if not low < number < high:
        raise InputError(f"{name} is {value!r}; it must be 'auto' or {kind}.")
