"""From a fit to statements about it: what matters, the ideal, trade-offs and the ranking."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coombs.data import tables
from coombs.data.scaling import Scaler
from coombs.data.tables import InputError
from coombs.estimators import description
from coombs.estimators.taste import TasteEstimator
from coombs.insights import diagnostics as doubts
from coombs.insights.curves import COUNTS, smooth_weight, taste_curves_data
from coombs.insights.explanation import (
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
    Shape,
    Slope,
    TradeOff,
)
from coombs.insights.plot_data import what_matters_data
from coombs.insights.shapes import shapes_of
from coombs.words import loadings, round_number, within

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from coombs.data.comparisons import Comparisons
    from coombs.data.tables import FloatArray, ItemTable, TableLike
    from coombs.inference.posterior import Posterior
    from coombs.model import Model

SMALL_LOADING = 0.15
"""Loadings of a direction below this are left out."""
SMALL_DIRECTION = 0.005
"""Directions with less of the metric are left out."""
SMALL_WEIGHT = 0.05
"""A feature hardly matters where the upper end of its weight is below this."""
SURE_PEAK = 0.9
"""Probability from which on a feature is said to have a best or a worst value."""
SURE_SLOPE = 0.975
"""Probability from which on more of a feature is said to be better, or worse."""
SURE = 0.9
"""Probability from which on the sign of a slope at an item is known."""
NOT_YET = "not known yet"
"""What is wanted of a feature of which nothing is known."""
SAMPLE = 200
"""Items at which slopes are looked at."""
MOST_TRADE_OFFS = 6
"""Trade-offs that are told, at most."""
ENOUGH_TRADE_OFFS = 3
"""Trade-offs that an item needs to be the one at which they are told."""
STRONGEST = 5
"""Features that trade-offs are between, at most."""
NEAREST = 10
"""Best items, of which one is chosen to tell trade-offs at."""
NO_SLOPE = 0.01
"""Slopes below this share of the largest are none."""
LEAST_CHANGE = 0.01
"""Changes below this share of the range are nothing."""
BENT = 0.25
"""How far from a straight line a trade-off may be."""
VAGUE_RATIO = 4.0
"""A trade-off with an end of its interval more than this factor away is not told."""


@dataclass(frozen=True)
class Case:
    """A fit and what all statements about it need.

    `table` holds the items that are ranked, `labels` what they are called, and `compared` what those
    of the answers are called.
    """

    est: TasteEstimator
    data: Comparisons
    level: float
    table: ItemTable
    labels: tuple[str, ...]
    compared: tuple[str, ...]
    features: tuple[Feature, ...]
    varies: NDArray[np.bool_]
    compare: bool
    chosen: bool

    @property
    def has_pattern(self) -> bool:
        """Whether the answers tell more than a coin's would; of a convex program that is not known."""
        described = self.est.description()
        return described is None or described.has_pattern

    @property
    def model(self) -> Model:
        """The estimate, or what describes it."""
        return self.est.described()[0]

    @property
    def kind(self) -> str:
        """The kind of preference in use."""
        return self.est.kind_

    @property
    def is_average(self) -> bool:
        """Whether several kinds are, or another one than that which describes."""
        return len(self.est.kind_weights_) > 1 or self.est.model_.bumps is not None

    @property
    def posterior(self) -> Posterior | None:
        """The draws of what describes the estimate, if there are any."""
        return self.est.described()[1]

    @property
    def has_ideal(self) -> bool:
        """Whether there is an ideal point."""
        return bool(np.isfinite(self.est.ideal_point_).all()) and self.kind != "items"

    @property
    def scales(self) -> FloatArray:
        """The features' spreads."""
        assert self.model.scales is not None
        return self.model.scales

    @property
    def scaled_metric(self) -> FloatArray:
        """M in units of the features' spreads."""
        return self.est.metric_ * np.outer(self.scales, self.scales)

    def direction(self, vector: FloatArray, share: float = 0.0, anti_ideal: bool = False) -> Direction:
        """The loadings worth telling, the largest first and positive."""
        told = tuple((self.features[j].name, weight) for j, weight in loadings(vector, SMALL_LOADING))
        return Direction(share, told, anti_ideal)


def explain(
    est: TasteEstimator,
    *,
    items: TableLike = None,
    item: Any = None,
    level: float = 0.9,
    top: int = 10,
    compare: bool = False,
    chosen: bool = False,
) -> Explanation:
    """What a fitted `IdealPoint` says, in the user's units and names.

    Parameters
    ----------
    est : fitted IdealPoint or ConvexIdealPoint
    items : table of the items to rank, the fitted ones by default
    item : name or position of the item at which trade-offs are told, one of the best by default
    level : of all intervals, between 0 and 1
    top : how many of the best items to list
    compare : True puts every kind of preference to the test, which takes longer
    chosen : True if the questions were chosen by their answers, as a study does: then answers left out
        are no test, and how well new ones are predicted follows from the evidence

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
    case = _case(est, items, level, top, compare, chosen)
    ideal = _ideal(case)
    trade_off_item, trade_offs = _trade_offs(case, item, ideal)
    users = case.data.users
    told = Explanation(
        has_pattern=case.has_pattern,
        n_people=1 if users is None else len(set(users.tolist())),
        n_answers=int((case.data.weights > 0).sum()),
        n_items=case.data.n_items,
        metric=case.kind,
        level=float(level),
        intervals=case.posterior is not None,
        features=case.features,
        directions=_directions(case),
        slopes=_slopes(case),
        ideal=ideal,
        shapes=_curve_shapes(case),
        trade_off_item=trade_off_item,
        trade_offs=trade_offs,
        unknowns=tuple(doubts.unknowns(case, ideal)),
        trust=doubts.trust(case, ideal),
        ranking=_ranking(case, int(top)),
    )
    return told if told.has_pattern else told.without_claims()


def _case(
    est: Any, items: TableLike, level: Any, top: Any, compare: bool = False, chosen: bool = False
) -> Case:
    """The parameters, checked."""
    if not isinstance(est, TasteEstimator):
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
    return Case(est, data, float(level), table, labels, compared, features, varies, compare, chosen)


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
    if case.kind != "none":
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
    """What is wanted of each feature, where it is known, and how much the feature decides."""
    if case.kind == "items":
        return ()
    # The same measure as in the pictures.
    matters = what_matters_data(case.est, items=case.data.item_table, level=case.level, wishes=False)
    order = np.argsort(matters.positions)
    weights = matters.importance[order]
    most = weights if matters.interval is None else matters.interval[order, 1]
    shapes, ends = _shapes(case), np.full((len(weights), 2), np.nan)
    if case.posterior is not None:
        ends = case.est.ideal_point_interval(case.level)
    return tuple(
        _wanted(case, j, shapes[j], float(weights[j]), float(most[j]), ends[j]) for j in range(len(weights))
    )


def _wanted(case: Case, j: int, shapes: FloatArray, weight: float, most: float, ends: FloatArray) -> Ideal:
    """The verdict on a feature; a value and an interval only where there is a best or a worst one."""
    feature, u = case.features[j], float(case.est.ideal_point_[j])
    if not case.varies[j]:
        return Ideal(feature.name, None, None, None, 0.0, CONSTANT)
    likeliest = int(shapes.argmax())
    sure = SURE_SLOPE if likeliest in (description.MORE, description.LESS) else SURE_PEAK
    verdict = (MORE, LESS, SWEET_SPOT, WORST)[likeliest] if shapes[likeliest] >= sure else NOT_KNOWN
    inside = feature.lowest <= u <= feature.highest
    if verdict in (SWEET_SPOT, WORST) and not inside:
        verdict = NOT_KNOWN
    if not case.has_pattern:
        return Ideal(feature.name, None, None, None, weight, NOT_KNOWN)
    if most < SMALL_WEIGHT:
        verdict = HARDLY
    if verdict not in (SWEET_SPOT, WORST):
        return Ideal(feature.name, None, None, None, weight, verdict)
    if np.isnan(ends).any():
        return Ideal(feature.name, u, None, None, weight, verdict)
    low, high = np.clip(ends, feature.lowest, feature.highest)
    return Ideal(feature.name, u, float(min(low, u)), float(max(high, u)), weight, verdict)


def _shapes(case: Case) -> FloatArray:
    """(d, 4) probabilities of more, less, sweet spot, worst: by the answers, or by the estimate alone."""
    result = np.zeros((len(case.features), 4))
    described = case.est.description()
    two = np.array([feature.distinct == 2 for feature in case.features])
    if described is None:
        better = _better(case)
        curved = 2 + (np.diag(case.scaled_metric) < 0)
        edge = description.NEARLY_ALL
        shape = np.where(better >= edge, 0, np.where(better <= 1 - edge, 1, curved))
        result[np.arange(len(shape)), shape] = 1.0
    else:
        result[case.varies] = described.shapes
    # Between yes and no there is no ideal.
    better = _better(case)
    result[two] = np.stack([better, 1 - better, 0 * better, 0 * better], axis=1)[two]
    return result


def wanted(est: TasteEstimator, level: float = 0.9) -> tuple[tuple[Feature, Ideal], ...]:
    """Each feature and what is wanted of it: what `explain` says, for pictures."""
    case = _case(est, None, level, 1)
    nothing = tuple(Ideal(one.name, None, None, None, 0.0, NOT_KNOWN) for one in case.features)
    return tuple(zip(case.features, _ideal(case) or nothing, strict=True))


def in_few_words(feature: Feature, one: Ideal) -> str:
    """What is wanted of a feature, as more is better, or ideal about 3 (2 to 5)."""
    if one.verdict not in (SWEET_SPOT, WORST) or one.value is None:
        return NOT_YET if one.verdict == NOT_KNOWN else one.verdict
    what = "ideal" if one.verdict == SWEET_SPOT else "worst"
    between = ""
    if one.low is not None and one.high is not None:
        between = within((one.low, one.high), (feature.lowest, feature.highest), feature.text)
    return f"{what} about {feature.text(one.value)}{between and f' ({between})'}"


def _some_items(case: Case) -> FloatArray:
    items: FloatArray = case.data.items
    return items[:: max(1, -(-len(items) // SAMPLE))]


def _gradient(model: Model, items: FloatArray) -> FloatArray:
    """2 M (x - u), or 2 M (x - c) + slope: what one unit more of each feature costs."""
    away = items - (model.ideal_point if model.centre is None else model.centre)
    gradient: FloatArray = 2 * away @ model.metric
    return gradient if model.slope is None else gradient + model.slope


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


def _curve_shapes(case: Case) -> tuple[Shape, ...]:
    """What the average has and an ideal point has not, where the smooth taste counts."""
    if not case.has_pattern or smooth_weight(case.est) < COUNTS:
        return ()
    return shapes_of(case.est, taste_curves_data(case.est, items=case.data.item_table))


# Trade-offs.


def _trade_offs(case: Case, item: Any, ideal: tuple[Ideal, ...]) -> tuple[str, tuple[TradeOff, ...]]:
    """At the item asked for, or at one of the best: near the ideal itself there are hardly any."""
    order = np.argsort(case.est.distance(case.table), kind="stable")[:NEAREST]
    if item is not None:
        order = tables.positions(case.table, np.array([item]), lambda _: "the argument item")
    found = [tuple(_trade_offs_at(case, case.table.matrix[i], ideal)) for i in order]
    place = max(range(len(order)), key=lambda k: min(len(found[k]), ENOUGH_TRADE_OFFS))
    return case.labels[order[place]], found[place]


def _trade_offs_at(case: Case, x: FloatArray, ideal: tuple[Ideal, ...]) -> Iterator[TradeOff]:
    """Between known features whose slopes at x are known, those that pull most first."""
    gradient, draws = _slopes_at(case, x)
    known = [_is_known(gradient[j], draws[:, j], one) for j, one in enumerate(ideal)]
    pull = np.abs(gradient) * case.scales * case.varies
    strongest = [
        j
        for j in np.argsort(-pull, kind="stable")[:STRONGEST]
        if pull[j] > NO_SLOPE * pull.max() and j < len(known) and known[j]
    ]
    pairs = [(a, b) for k, a in enumerate(strongest) for b in strongest[k + 1 :]]
    pairs.sort(key=lambda pair: -pull[pair[0]] * pull[pair[1]])
    told = 0
    for a, b in pairs:
        # A gain of the weaker feature costs less of the stronger one.
        trade_off = _trade_off(case, gradient, draws, b, a) or _trade_off(case, gradient, draws, a, b)
        if trade_off is not None and told < MOST_TRADE_OFFS:
            told += 1
            yield trade_off


def _slopes_at(case: Case, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What one unit more of each feature costs at x: the estimate, and (S, d) draws of it."""
    gradient = _gradient(case.model, x[None])[0]
    if case.posterior is None:
        return gradient, gradient[None]
    draws = 2 * case.posterior.metrics @ (x - case.posterior.centre) - 2 * case.posterior.linears
    return gradient, draws


def _is_known(slope: float, draws: FloatArray, one: Ideal) -> bool:
    """Whether it is known what is better there, and the verdict says nothing else."""
    against = {MORE: slope > 0, LESS: slope < 0}.get(one.verdict, one.verdict != SWEET_SPOT)
    return bool(not against and (np.sign(draws) == np.sign(slope)).mean() >= SURE)


def _trade_off(case: Case, gradient: FloatArray, draws: FloatArray, a: int, b: int) -> TradeOff | None:
    """A change of a for the better, and the change of b for the worse that it is worth; None if too vague."""
    one, other = case.features[a], case.features[b]
    if other.distinct == 2:
        return None
    alike = (np.sign(draws[:, [a, b]]) == np.sign(gradient[[a, b]])).all(axis=1)
    ratios = draws[alike, a] / draws[alike, b]
    for step in _steps(one):
        gain = -float(np.sign(gradient[a])) * step
        cost = float(-gradient[a] / gradient[b]) * gain
        if not LEAST_CHANGE <= abs(cost) / other.range <= 1:
            return None
        # Along (gain, cost) the score stays level but for the metric's curvature.
        ends, moves = np.ix_((a, b), (a, b)), np.array([gain, cost])
        if abs(moves @ case.model.metric[ends] @ moves) > BENT * abs(gradient[a] * gain):
            continue
        if case.posterior is None:
            return TradeOff(one.name, gain, other.name, cost, None, None)
        tails = [(1 - case.level) / 2, (1 + case.level) / 2]
        low, high = np.quantile(np.abs(ratios * gain), tails)
        if not abs(cost) / VAGUE_RATIO < low <= high < abs(cost) * VAGUE_RATIO:
            return None
        sign = float(np.sign(cost))
        return TradeOff(one.name, gain, other.name, cost, sign * float(low), sign * float(high))
    return None


def _steps(feature: Feature) -> list[float]:
    """Round numbers from about a tenth of the range downwards; whole ones of what is counted."""
    if feature.distinct == 2:
        return [feature.range]
    sizes = [round_number(feature.range / 10 / 2**k) for k in range(5)]
    return ([size for size in sizes if size >= 1] or [1.0]) if feature.whole else sizes


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
