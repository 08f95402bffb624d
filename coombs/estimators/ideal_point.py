"""Our own estimator: the posterior of an ideal point and a metric, given the answers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from coombs.data.comparisons import Comparisons
from coombs.data.directions import Directions
from coombs.data.log_scales import on_scale_of
from coombs.data.tables import InputError
from coombs.data.wishes import keeping, wishes_of
from coombs.estimators.base import Fit, comparisons_of
from coombs.estimators.better_scales import about, on_better_scales
from coombs.estimators.fitted import TasteFit, estimate
from coombs.estimators.parameters import check_auto_or_number, check_choice
from coombs.estimators.taste import KindScore, TasteEstimator
from coombs.inference.infer import SHARED, WHOLE, Inference, infer, refresh, rough
from coombs.inference.kinds import METRICS
from coombs.inference.mixture import Mixture
from coombs.inference.posterior import LEVEL, quantiles
from coombs.inference.smooth import MOST_ITEMS, Smooth
from coombs.programs.program import Status
from coombs.random_state import generator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from coombs.data.answers import Answers
    from coombs.data.scaling import Scaler
    from coombs.data.tables import FloatArray, TableLike

EFFECTS_EVIDENCE = 2.0
"""Deviations by which answers must disagree with the features before item effects are tried."""
AVERAGED = ("full", "smooth")
"""The kinds that "auto" averages: an ideal point, and anything smooth."""
MANY_FEATURES = 8
"""Features from which on a first look at a kind is too rough to tell whether it counts."""
NEWS = 0.1
"""Up to this share of new answers, the chains go on from where they were."""
PREDICTED = 4_000_000
"""Probabilities, of draws times pairs, that are held at once."""


class IdealPoint(TasteEstimator):
    """Ideal point and metric with everything chosen from the data, and how uncertain they are.

    Answer k, with margin e = s_loser - s_winner, has probability lapse / 2 + (1 - lapse) sigma(e), and
    s = (x - u)' M (x - u), plus an effect of the item if asked for. All is given a prior in units
    of the standardised features, the scales of M, of u and of the effects, and the lapse rate being
    learned too; the estimate is the mean of the posterior, by Hamiltonian Monte Carlo up to 3,000
    distinct answers, and by its mode beyond.

    Parameters
    ----------
    items : (n_items, d) array or frame, a list of names (ranked by the answers alone, as by Bradley and
        Terry), or None when `fit` gets the items with the answers
    metric : "auto" (an ideal point averaged with anything smooth, by the evidence for each), "full" (any M),
        "diagonal", "identity", "none" (linear: more or less is better), "signed" (M may be negative along a
        direction: the middle is worst) or "smooth" (a Gaussian process, without an ideal point)
    item_effects : "auto" (where the answers call for it), True or False
    lapse : "auto", or the share of answers given at random, 0 to less than 1
    wishes : what the person declares, which is obeyed: directions, as "price: less" (cheaper is never worse)
        or "size: more", and limits, as "price <= 1500", "town != harbour" or "balcony = yes": items outside
        them come last, and answers that the limits decide are not learned from
    scales : "auto" puts positive numbers, of which nobody said whether they are on a log scale, on the scale
        that predicts the answers better, by the evidence; "given" leaves them as they are
    standardize : scale the features inside (results stay in the user's units), as the prior assumes; False
        where their units are already alike and their spreads mean something
    random_state : seed or generator of the sampler

    Attributes
    ----------
    metric_, ideal_point_ : in the user's units; the metric's scale is that of the margins. Of "auto" they
        describe the ideal-point part; with "none" and "smooth" there is no ideal point: it is NaN
    distances_ : (n_items,) of all items, item effects included
    model_, posterior_ : what ranks and predicts: a `Model`, and a `Posterior` with draws
    slope_ : (d,) of the scores at the items' mean, or None where the scores are distances
    kind_, lapse_, item_effects_ : what was chosen; effects are (n_items,), or None without
    kind_weights_ : of the kinds in the average; with item effects a kind has a plus
    unidentified_ : (d, k) directions along which no answer says anything of the ideal point
    objective_, status_, n_iter_ : how it ended
    n_features_in_, feature_names_in_ : as scikit-learn has them

    Examples
    --------
    >>> from coombs.simulate import make_preferences
    >>> truth = make_preferences(n_comparisons=60, random_state=0)
    >>> est = IdealPoint(truth.items).fit(truth.pairs, truth.y)
    >>> inside = est.ideal_point_interval()
    >>> bool((inside[:, 0] < truth.ideal_point).all() and (truth.ideal_point < inside[:, 1]).all())
    True
    """

    _needs_features = False

    def __init__(
        self,
        items: TableLike = None,
        *,
        metric: str = "auto",
        item_effects: str | bool = "auto",
        lapse: str | float = "auto",
        wishes: Sequence[str] = (),
        scales: str = "auto",
        standardize: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.items = items
        self.metric = metric
        self.item_effects, self.lapse = item_effects, lapse
        self.wishes = wishes
        self.scales = scales
        self.standardize = standardize
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, "metric", (*METRICS, "smooth", "auto"))
        check_choice(self, "item_effects", ("auto", True, False))
        check_choice(self, "scales", ("auto", "given"))
        check_auto_or_number(self, "lapse", -1e-300, 1.0, "a number from 0 to less than 1")

    def _fit_answers(self, answers: Answers, rng: np.random.Generator) -> TasteFit:
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
        if names[-1] == "none" and not mixture.weights[-1]:
            mixture = Mixture(mixture.parts[:-1])
        if not wanted and self.item_effects == "auto" and _lacks_effects(mixture):
            mixture = Mixture((*mixture.parts, part(mixture.described.main.name, True)))
        return estimate(mixture if effort is WHOLE else mixture.extended(rng), answers)

    def _on_better_scales(self, data: Comparisons) -> Comparisons:
        return data if self.scales == "given" else on_better_scales(data)

    @property
    def _lapse(self) -> float | None:
        return None if self.lapse == "auto" else float(self.lapse)

    def _collected(self, data: Comparisons, scaler: Scaler) -> Answers:
        """What is learned from: every answer with the likelihood that it really has, and declared wishes."""
        scaled = scaler.forward(data.items)
        if not self.wishes:
            return data.collected(scaled, scaler.levels)
        declared = wishes_of(self.wishes, data.item_table).check()
        answers = keeping(data, declared.inside).collected(scaled, scaler.levels)
        signs, total = declared.signs[scaler.columns], float(answers.weights.sum())
        return replace(answers, directions=Directions.of(scaled, signs, total))

    def _candidates(self, answers: Answers) -> tuple[str, ...]:
        if not answers.items.shape[1]:
            return ("items",)
        if self.metric != "auto":
            return (self.metric,)
        # A smooth taste for very many items is rough, and a linear one may be all that the answers tell.
        return (*AVERAGED, "none") if len(answers.items) > MOST_ITEMS else AVERAGED

    def _doubt(self, fit: Fit) -> str | None:
        if fit.status == Status.CHAINS_APART:
            assert isinstance(fit, TasteFit) and fit.mixture is not None
            return (
                f"The sampler's chains did not come together (R-hat {fit.mixture.rhat:.2f}, 1 being "
                "perfect): intervals are rough, and numbers change with random_state."
            )
        if fit.status == Status.MAX_ITERATIONS:
            return "Maximising the posterior ran out of steps: the estimate is near the maximum at best."
        return super()._doubt(fit)

    def partial_fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from some more answers about the same items; much cheaper than a new fit to all.

        A few new answers move the posterior little, so the chains go on from where they were. The
        first call is a `fit`.

        Parameters
        ----------
        X, y, sample_weight : the new answers, as for `fit`

        Returns
        -------
        self

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1], [1, 2]])
        >>> est.partial_fit([[0, 2]]).rank().shape
        (3,)
        """
        if not hasattr(self, "posterior_"):
            return self.fit(X, y, sample_weight)
        self._check_parameters()
        old = self._data
        new = comparisons_of(self, X, y, sample_weight, self.item_table_)
        new = about(new, on_scale_of(new.item_table, self.model_.encoding))
        if not np.array_equal(new.items, old.items):
            raise InputError("The new answers are about other items; fit to all answers instead.")
        data = Comparisons.concatenate([old, new])
        parts = () if self._mixture is None else self._mixture.parts
        known, answers = self._answers(old), self._answers(data)
        goes_on = all(map(_goes_on, parts)) and answers.sets is None
        if not parts or not goes_on or len(new) > 1 + NEWS * len(old):
            return self.fit(data)
        rng = generator(self.random_state, len(data))

        def again(part: Inference | Smooth) -> Inference | Smooth:
            return self._smooth(answers) if isinstance(part, Smooth) else refresh(part, known, answers, rng)

        self._store(data, estimate(Mixture(tuple(map(again, parts))), answers), self._scaler)
        return self

    @property
    def rung_(self) -> str:
        """The old name of `kind_`."""
        warnings.warn("rung_ is now kind_; the old name goes with 0.4.", FutureWarning, stacklevel=2)
        return self.kind_

    def ladder(self) -> tuple[KindScore, ...]:
        """The old name of `kinds`."""
        warnings.warn("ladder() is now kinds(); the old name goes with 0.4.", FutureWarning, stacklevel=2)
        return self.kinds()

    def ideal_point_interval(self, level: float = LEVEL) -> FloatArray:
        """Return the interval of each coordinate of the ideal point, in the user's units.

        Parameters
        ----------
        level : the interval's probability, between 0 and 1

        Returns
        -------
        (d, 2) lower and upper ends

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1], [1, 2]])
        >>> low, high = est.ideal_point_interval(level=0.5)[0]
        >>> bool(low < high)
        True
        """
        self._draws()
        posterior = self.described()[1]
        assert posterior is not None
        return posterior.ideal_interval(level)

    def distance_interval(self, items: TableLike = None, level: float = LEVEL) -> FloatArray:
        """Return the interval of each item's squared distance.

        Answers without contradictions do not tell the scale that all distances share: it is then the
        prior's, and only their ratios are known. `rank_interval` does not need it.

        Parameters
        ----------
        items : (n, d) table; by default the fitted items
        level : the interval's probability, between 0 and 1

        Returns
        -------
        (n, 2) lower and upper ends

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1], [1, 2]])
        >>> est.distance_interval().shape
        (3, 2)
        """
        table = self._table(items)
        found = self._draws().distance_interval(table.matrix, self._own_effects(table, draws=True), level)
        return found + self._outside(table)[:, None]

    def rank_interval(self, items: TableLike = None, level: float = LEVEL) -> NDArray[np.int_]:
        """Return the best and the worst rank that each item may have.

        Parameters
        ----------
        items : (n, d) table; by default the fitted items
        level : the interval's probability, between 0 and 1

        Returns
        -------
        (n, 2) whole numbers, 1 being the best rank

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1], [1, 2]])
        >>> est.rank_interval().shape
        (3, 2)
        """
        table = self._table(items)
        ranks = self._draws().ranks(table.matrix, self._effects_of(table, draws=True))
        ends = quantiles(ranks, level)
        return np.column_stack([np.floor(ends[:, 0]), np.ceil(ends[:, 1])]).astype(int)

    def top_probability(self, k: int, items: TableLike = None) -> FloatArray:
        """Return the probability that each item is among the best k.

        Parameters
        ----------
        k : whole number from 1 to the number of items
        items : (n, d) table; by default the fitted items

        Returns
        -------
        (n,) probabilities, adding up to k

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1], [1, 2]])
        >>> est.top_probability(3).tolist()
        [1.0, 1.0, 1.0]
        """
        table = self._table(items)
        n = len(table.matrix)
        if not isinstance(k, Integral) or isinstance(k, bool) or not 1 <= k <= n:
            raise InputError(f"k is {k!r}; it must be a whole number from 1 to {n}, as there are {n} items.")
        ranks = self._draws().ranks(table.matrix, self._effects_of(table, draws=True))
        result: FloatArray = (ranks <= k).mean(axis=0)
        return result

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities averaged over the posterior, lapses included.

        Parameters
        ----------
        X : pairs, as for `fit`

        Returns
        -------
        (n, 2) probabilities of -1 and +1

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[0, 1], [1, 2]])
        >>> est.predict_proba([[0, 2], [2, 0]]).shape
        (2, 2)
        """
        margin = self.decision_function(X)
        data = comparisons_of(self, X, None, None, self.item_table_)
        first = self._probability(data)
        # The mean of the margins decides; where the mean of the probabilities disagrees it is a coin's throw.
        first = np.where(margin >= 0, np.maximum(first, 0.5), np.minimum(first, 0.5))
        return np.column_stack([1 - first, first])

    def _probability(self, data: Comparisons) -> FloatArray:
        posterior, table = self._draws(), self._table(data.item_table)
        effects = self._effects_of(table, draws=True)
        result, size = np.empty(len(data.pairs)), max(1, PREDICTED // len(posterior))
        for begin in range(0, len(result), size):
            pairs = data.pairs[begin : begin + size]
            used, place = np.unique(pairs, return_inverse=True)
            scores = posterior.scores(table.matrix[used], None if effects is None else effects[:, used])
            first, second = scores[:, place.reshape(pairs.shape)].transpose(2, 0, 1)
            result[begin : begin + size] = posterior.probability(first, second)
        return result


def _lacks_effects(mixture: Mixture) -> bool:
    """Whether answers disagree with the features so much that effects of single items are called for."""
    if any(part.has_effects for part in mixture.parts):
        return False
    main = mixture.described.main
    return not isinstance(main, Smooth) and main.disagreement() > EFFECTS_EVIDENCE


def _goes_on(part: Inference | Smooth) -> bool:
    """Whether it can be brought up to date rather than learned afresh."""
    return isinstance(part, Smooth) or (part.sampled and not part.has_effects)
