"""From a fit to statements about it: what matters, the ideal, trade-offs and the ranking."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coombs import tables
from coombs.estimators.ideal_point import IdealPoint
from coombs.explain import doubts
from coombs.explain.records import (
    CONSTANT,
    HARDLY,
    LESS,
    MORE,
    NOT_KNOWN,
    SWEET_SPOT,
    WORST,
    Direction,
    Explanation,
    Feature,
    Ideal,
    Ranked,
    Slope,
    TradeOff,
)
from coombs.plots.data import what_matters_data
from coombs.scaling import Scaler
from coombs.solvers.kinds import IDEAL_DISTANCE, LOG_IDEAL
from coombs.tables import InputError
from coombs.words import loadings, within

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from coombs.comparisons import Comparisons
    from coombs.model import Model
    from coombs.posterior import Posterior
    from coombs.tables import FloatArray, ItemTable, TableLike

SMALL_LOADING, SMALL_DIRECTION = 0.15, 0.005
"""Loadings, and shares of directions, below these are left out."""
SMALL_SHARE, SMALL_PULL = 0.02, 0.1
"""A feature with less of the metric, and with less of the scores' slopes, hardly matters."""
UNLEARNED = 0.75
"""Nothing is known where an interval has this share of its width before any answer, or the data's."""
SURE = 0.9
"""Share of draws that must agree where the interval alone says nothing."""
NOT_YET = "not known yet"
SAMPLE = 200
"""Items at which slopes are looked at."""
MOST_TRADE_OFFS, ENOUGH_TRADE_OFFS, STRONGEST, NEAREST = 6, 3, 5, 10
"""Trade-offs told, and enough of them; features they are between; items of which one has enough."""
NO_SLOPE, LEAST_ANSWER, BENT = 0.01, 0.01, 0.25
"""Slopes below this share of the largest are none, changes below this share of the range nothing;
and how far a trade-off may be from a straight line."""


@dataclass(frozen=True)
class Case:
    """A fit and what all statements about it need.

    `table` holds the items that are ranked, `labels` what they are called, and `compared` what those
    of the answers are called.
    """

    est: IdealPoint
    data: Comparisons
    level: float
    table: ItemTable
    labels: tuple[str, ...]
    compared: tuple[str, ...]
    features: tuple[Feature, ...]
    varies: NDArray[np.bool_]
    compare: bool

    @property
    def model(self) -> Model:
        """The estimate."""
        return self.est.model_

    @property
    def rung(self) -> str:
        """The kind of preference in use."""
        return self.est.rung_

    @property
    def posterior(self) -> Posterior | None:
        """The draws, if there are any."""
        return self.est.posterior_

    @property
    def has_ideal(self) -> bool:
        """Whether the score is a quadratic."""
        return self.rung not in ("none", "items")

    @property
    def scales(self) -> FloatArray:
        """The features' spreads."""
        assert self.model.scales is not None
        return self.model.scales

    @property
    def scaled_metric(self) -> FloatArray:
        """M in units of the features' spreads."""
        return self.model.metric * np.outer(self.scales, self.scales)

    def direction(self, vector: FloatArray, share: float = 0.0, anti_ideal: bool = False) -> Direction:
        """The loadings worth telling, the largest first and positive."""
        told = tuple((self.features[j].name, weight) for j, weight in loadings(vector, SMALL_LOADING))
        return Direction(share, told, anti_ideal)


def explain(
    est: IdealPoint,
    *,
    items: TableLike = None,
    item: Any = None,
    level: float = 0.9,
    top: int = 10,
    compare: bool = True,
) -> Explanation:
    """What a fitted `IdealPoint` says, in the user's units and names.

    Parameters
    ----------
    est : fitted IdealPoint
    items : table of the items to rank, the fitted ones by default
    item : name or position of the item at which trade-offs are told, one of the best by default
    level : of all intervals, between 0 and 1
    top : how many of the best items to list
    compare : False puts only the kind of preference in use to the test, which is quick

    Returns
    -------
    Explanation, which prints as a page of text and shows as HTML in a notebook

    Examples
    --------
    >>> from coombs.simulate import make_preferences
    >>> truth = make_preferences(n_comparisons=60, random_state=0)
    >>> told = explain(IdealPoint(truth.items).fit(truth.pairs, truth.y))
    >>> [one.verdict for one in told.ideal]
    ['sweet spot', 'sweet spot']
    """
    case = _case(est, items, level, top, compare)
    directions, ideal = _directions(case), _ideal(case)
    trade_off_item, trade_offs = _trade_offs(case, item)
    return Explanation(
        n_answers=int((case.data.weights > 0).sum()),
        n_items=case.data.n_items,
        metric=case.rung,
        level=float(level),
        intervals=case.posterior is not None,
        features=case.features,
        directions=directions,
        slopes=_slopes(case),
        ideal=ideal,
        trade_off_item=trade_off_item,
        trade_offs=trade_offs,
        unknowns=tuple(doubts.unknowns(case, ideal)),
        trust=doubts.trust(case, directions),
        ranking=_ranking(case, int(top)),
    )


def _case(est: Any, items: TableLike, level: Any, top: Any, compare: bool) -> Case:
    """The parameters, checked."""
    if not isinstance(est, IdealPoint):
        raise InputError(f"explain is for a fitted IdealPoint; this is a {type(est).__name__}.")
    check_is_fitted(est)
    if not isinstance(level, Real) or isinstance(level, bool) or not 0 < float(level) < 1:
        raise InputError(f"level is {level!r}; it must be between 0 and 1, as 0.9.")
    if not isinstance(top, Integral) or isinstance(top, bool) or top < 1:
        raise InputError(f"top is {top!r}; it must be a positive whole number.")
    data: Comparisons = est._data
    varies = Scaler.of(data.items, standardize=True).varies
    features = tuple(_features(data, varies))
    own = est.item_table_
    named = own is not None and np.array_equal(own.matrix, data.items)
    compared = _labels(data.item_table, () if named else features)
    table = data.item_table if items is None and own is None else est._table(items)
    labels = compared if items is None and own is None else _labels(table)
    return Case(est, data, float(level), table, labels, compared, features, varies, compare)


def _features(data: Comparisons, varies: NDArray[np.bool_]) -> Iterator[Feature]:
    for j, column in enumerate(data.items.T):
        name = f"feature {j}" if data.feature_names is None else str(data.feature_names[j])
        ends, deviation = (float(column.min()), float(column.max())), float(column.std())
        distinct = min(len(np.unique(column)), 3) if varies[j] else 1
        yield Feature(name, *ends, deviation, distinct, bool((column == np.round(column)).all()))


def _labels(table: ItemTable, vectors: Sequence[Feature] = ()) -> tuple[str, ...]:
    """What items are called: by name, by position, or by their vectors where no one knows positions."""
    if vectors:
        rows = [[f.text(float(x)) for f, x in zip(vectors[:4], row, strict=False)] for row in table.matrix]
        more = [", ..."] if len(vectors) > 4 else []
        return tuple(f"({', '.join(row)}{''.join(more)})" for row in rows)
    if table.names is None:
        return tuple(f"item {i}" for i in range(len(table.matrix)))
    return tuple(map(str, table.names))


# What matters.


def _directions(case: Case) -> tuple[Direction, ...]:
    """Eigenvectors of M in units of the features' spreads, the most important first."""
    if not case.has_ideal:
        return ()
    values, vectors = np.linalg.eigh(case.scaled_metric)
    shares = np.abs(values) / max(float(np.abs(values).sum()), np.finfo(float).tiny)
    return tuple(
        case.direction(vectors[:, k], float(shares[k]), anti_ideal=bool(values[k] < 0))
        for k in np.argsort(-shares, kind="stable")
        if shares[k] >= SMALL_DIRECTION
    )


def _slopes(case: Case) -> tuple[Slope, ...]:
    """Of a linear preference, the strongest first."""
    if case.rung != "none":
        return ()
    gains = _slope_of(case) * case.scales
    shares = _shares_of(gains)
    return tuple(
        Slope(case.features[j].name, case.features[j].deviation, float(gains[j]), float(shares[j]))
        for j in np.argsort(-shares, kind="stable")
        if case.varies[j]
    )


def _slope_of(case: Case) -> FloatArray:
    """How much the score falls, which is better, for one unit more of each feature."""
    assert case.model.slope is not None
    return -case.model.slope


def _shares_of(values: FloatArray) -> FloatArray:
    result: FloatArray = np.abs(values) / max(float(np.abs(values).sum()), np.finfo(float).tiny)
    return result


# The ideal.


def _ideal(case: Case) -> tuple[Ideal, ...]:
    """The verdict on each feature."""
    if case.rung == "items":
        return ()
    found = _quadratic_ideal(case) if case.has_ideal else _linear_ideal(case)
    # The same measure as in the pictures: what a feature decides, its slope counted too.
    matters = what_matters_data(case.est, items=case.data.item_table)
    weights = dict(zip(matters.positions.tolist(), matters.importance.tolist(), strict=True))
    return tuple(replace(one, share=float(weights[j])) for j, one in enumerate(found))


def wishes(est: IdealPoint, level: float = 0.9) -> tuple[str, ...]:
    """What is wanted of each feature, in a few words: the verdicts of `explain`, for pictures and pages."""
    case = _case(est, None, level, 1, compare=False)
    if case.rung == "items":
        return tuple(NOT_YET for _ in case.features)
    found = _quadratic_ideal(case) if case.has_ideal else _linear_ideal(case)
    return tuple(map(_in_few_words, case.features, found))


def _in_few_words(feature: Feature, one: Ideal) -> str:
    if one.verdict not in (SWEET_SPOT, WORST) or one.value is None:
        return NOT_YET if one.verdict == NOT_KNOWN else one.verdict
    what = "ideal" if one.verdict == SWEET_SPOT else "worst"
    between = ""
    if one.low is not None and one.high is not None:
        between = within((one.low, one.high), (feature.lowest, feature.highest), feature.text)
    return f"{what} about {feature.text(one.value)}{between and f' ({between})'}"


def _linear_ideal(case: Case) -> Iterator[Ideal]:
    """More or less is better, where the interval of the slope has one sign."""
    gain, shares = _slope_of(case), _shares_of(_slope_of(case) * case.scales)
    draws = gain[None] if case.posterior is None else case.posterior.linears
    positive = (draws > 0).mean(axis=0)
    tail = (1 - case.level) / 2
    for j, feature in enumerate(case.features):
        if not case.varies[j]:
            verdict = CONSTANT
        elif shares[j] < SMALL_SHARE:
            verdict = HARDLY
        else:
            verdict = MORE if positive[j] >= 1 - tail else LESS if positive[j] <= tail else NOT_KNOWN
        yield Ideal(feature.name, None, None, None, float(shares[j]), verdict)


def _quadratic_ideal(case: Case) -> Iterator[Ideal]:
    """Value and interval of u, judged by the range of the items."""
    u, curvature = case.model.ideal_point, np.diag(case.scaled_metric)
    shares, pulls, better = _shares_of(curvature), _pulls(case), _better(case)
    beyond = estimate = _beyond(case, u[None], case.model.metric[None])
    unlearned = UNLEARNED * _prior_width(case) * case.scales
    ends = np.full((len(u), 2), np.nan)
    if case.posterior is not None:
        beyond = _beyond(case, case.posterior.ideal_points, case.posterior.metrics)
        ends = case.est.ideal_point_interval(case.level)
    for j, feature in enumerate(case.features):
        if not case.varies[j]:
            yield Ideal(feature.name, None, None, None, 0.0, CONSTANT)
            continue
        low, high = (None, None) if case.posterior is None else (float(ends[j, 0]), float(ends[j, 1]))
        width = 0.0 if low is None or high is None else (high - low) / min(feature.range, unlearned[j])
        sides = beyond[:, j] if width >= 1 else np.maximum(beyond, estimate)[:, j]
        verdict = _verdict(feature, width, sides, float(better[j]), curvature[j] >= 0)
        # An ideal far outside the data makes a small curvature matter, hence the pull.
        if shares[j] < SMALL_SHARE and pulls[j] < SMALL_PULL:
            verdict = HARDLY
        yield Ideal(feature.name, float(u[j]), low, high, float(shares[j]), verdict)


def _verdict(feature: Feature, width: float, beyond: FloatArray, better: float, is_ideal: bool) -> str:
    """Where the ideal is beyond the data, more or less is better; inside them it is a sweet spot.

    With an interval of width 1 nothing is known. Where it is half of that, or where items have only
    two values, most items in most draws must agree on what is better.
    """
    enough = SURE if width >= 1 else 0.5
    slope = better if width >= 0.5 or feature.distinct == 2 else 0.5
    more, less = (0.0, 0.0) if feature.distinct == 2 else beyond
    if more > enough or slope > SURE:
        return MORE
    if less > enough or slope < 1 - SURE:
        return LESS
    if width >= 1 or feature.distinct == 2:
        return NOT_KNOWN
    return SWEET_SPOT if is_ideal else WORST


def _prior_width(case: Case) -> float:
    """Of the interval for u before any answer, in standard deviations of the features."""
    if case.rung == "signed":
        return np.inf
    scales, draws = np.random.default_rng(0).standard_normal((2, 20_000))
    tails = [(1 - case.level) / 2, (1 + case.level) / 2]
    return float(np.ptp(np.quantile(IDEAL_DISTANCE * np.exp(LOG_IDEAL * scales) * draws, tails)))


def _beyond(case: Case, points: FloatArray, metrics: FloatArray) -> FloatArray:
    """(2, d): shares of draws in which more, and in which less, is better over all of the range."""
    low, high = np.array([(feature.lowest, feature.highest) for feature in case.features]).T
    is_ideal = np.diagonal(metrics, axis1=1, axis2=2) >= 0
    above, below = points > high, points < low
    return np.array([np.where(is_ideal, *w).mean(axis=0) for w in ((above, below), (below, above))])


def _some_items(case: Case) -> FloatArray:
    items: FloatArray = case.data.items
    return items[:: max(1, -(-len(items) // SAMPLE))]


def _gradient(model: Model, items: FloatArray) -> FloatArray:
    """2 M (x - u), or 2 M (x - c) + slope: what one unit more of each feature costs."""
    away = items - (model.ideal_point if model.centre is None else model.centre)
    gradient: FloatArray = 2 * away @ model.metric
    return gradient if model.slope is None else gradient + model.slope


def _pulls(case: Case) -> FloatArray:
    """Share of each feature in the slopes of the score at the items."""
    slopes = _gradient(case.model, _some_items(case)) * case.scales
    return _shares_of(np.sqrt((slopes**2).mean(axis=0)))


def _better(case: Case) -> FloatArray:
    """Share of draws and items for which more of each feature is better.

    Of a feature with two values: share of draws in which the one is better than the other on average.
    """
    items, posterior, model = _some_items(case), case.posterior, case.model
    if posterior is None:
        gradient, metrics = _gradient(model, items)[None] / 2, model.metric[None]
    else:
        metrics = posterior.metrics
        gradient = (items - posterior.centre) @ metrics - posterior.linears[:, None, :]
    # From one value to the other: the slope halfway between them.
    halfway = np.array([(feature.lowest + feature.highest) / 2 for feature in case.features])
    average = gradient.mean(axis=1) + np.diagonal(metrics, axis1=1, axis2=2) * (halfway - items.mean(axis=0))
    two = np.array([feature.distinct == 2 for feature in case.features])
    result: FloatArray = np.where(two, (average < 0).mean(axis=0), (gradient < 0).mean(axis=(0, 1)))
    return result


# Trade-offs.


def _trade_offs(case: Case, item: Any) -> tuple[str, tuple[TradeOff, ...]]:
    """At the item asked for, or at one of the best: near the ideal itself there are hardly any."""
    order = np.argsort(case.est.distance(case.table), kind="stable")[:NEAREST]
    if item is not None:
        order = tables.positions(case.table, np.array([item]), lambda _: "the argument item")
    found = [tuple(_trade_offs_at(case, case.table.matrix[i])) for i in order]
    place = max(range(len(order)), key=lambda k: min(len(found[k]), ENOUGH_TRADE_OFFS))
    return case.labels[order[place]], found[place]


def _trade_offs_at(case: Case, x: FloatArray) -> Iterator[TradeOff]:
    """Between the features that pull most at x, each pair told the way that asks for less."""
    gradient = _gradient(case.model, x[None])[0]
    pull = np.abs(gradient) * case.scales * case.varies
    strongest = [j for j in np.argsort(-pull, kind="stable")[:STRONGEST] if pull[j] > NO_SLOPE * pull.max()]
    pairs = [(a, b) for k, a in enumerate(strongest) for b in strongest[k + 1 :]]
    pairs.sort(key=lambda pair: -pull[pair[0]] * pull[pair[1]])
    told = 0
    for a, b in pairs:
        # The weaker feature's step asks for less of the stronger one.
        trade_off = _trade_off(case, gradient, b, a) or _trade_off(case, gradient, a, b)
        if trade_off is not None and told < MOST_TRADE_OFFS:
            told += 1
            yield trade_off


def _trade_off(case: Case, gradient: FloatArray, a: int, b: int) -> TradeOff | None:
    """A step of a for the worse and b's answer, -g_a / g_b times it; None where that makes no sense."""
    one, other = case.features[a], case.features[b]
    if other.distinct == 2:
        return None
    for step in _steps(one):
        change = float(np.sign(gradient[a])) * step
        answer = float(-gradient[a] / gradient[b]) * change
        if not LEAST_ANSWER <= abs(answer) / other.range <= 1:
            return None
        # Along (change, answer) the score stays level but for the metric's curvature.
        ends, moves = np.ix_((a, b), (a, b)), np.array([change, answer])
        if abs(moves @ case.model.metric[ends] @ moves) <= BENT * abs(gradient[a] * change):
            return TradeOff(one.name, change, other.name, answer)
    return None


def _steps(feature: Feature) -> list[float]:
    """Round numbers from about a tenth of the range downwards; whole ones of what is counted."""
    if feature.distinct == 2:
        return [feature.range]
    sizes = [_round_number(feature.range / 10 / 2**k) for k in range(5)]
    return ([size for size in sizes if size >= 1] or [1.0]) if feature.whole else sizes


def _round_number(size: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten."""
    power = math.floor(math.log10(size))
    choices = [float(f"{digit}e{power}") for digit in (1, 2, 5, 10)]
    return min(choices, key=lambda choice: abs(math.log(choice / size)))


# The ranking.


def _ranking(case: Case, top: int) -> tuple[Ranked, ...]:
    """The best items."""
    distances = case.est.distance(case.table)
    order = np.argsort(distances, kind="stable")[:top]
    ends = None if case.posterior is None else case.est.rank_interval(case.table, case.level)
    result = []
    for place, i in enumerate(order, start=1):
        best, worst = (None, None) if ends is None else (int(ends[i, 0]), int(ends[i, 1]))
        values = tuple(map(float, case.table.matrix[i]))
        result.append(Ranked(case.labels[i], place, best, worst, float(distances[i]), values))
    return tuple(result)
