"""From a fit to an explanation of it: all statements, in the user's units and names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.data import tables
from coombs.data.encoding import LOG, NUMBER, YES_NO, FeatureColumn
from coombs.estimators.taste import TasteEstimator
from coombs.insights import diagnostics
from coombs.insights.columns import cells_of, chosen_scales, range_of
from coombs.insights.curves import thinned
from coombs.insights.declared import declared_wishes
from coombs.insights.explained_fit import ExplainedFit, checked_fit
from coombs.insights.explanation import FIT, Explanation
from coombs.insights.level_trade_offs import level_trade_offs
from coombs.insights.selection import names_of
from coombs.insights.statements import (
    BY_LEVEL,
    NOT_KNOWN,
    FeatureRange,
    FeatureVerdict,
    Ranked,
    Slope,
    TiedItems,
    TradeOff,
)
from coombs.insights.surface import combinations, shares_of
from coombs.insights.trade_offs import Slopes, known_slopes, trade_offs_at
from coombs.insights.verdicts import judged
from coombs.insights.what_matters import ranking_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coombs.data.tables import FloatArray, TableLike

ENOUGH_TRADE_OFFS = 3
"""Trade-offs that an item needs to be the one at which they are told."""
NEAREST = 10
"""Best items, at least, among which trade-offs are told at one."""
BETTER = 0.25
"""Share of the compared items among which trade-offs are told at one."""
MOST_TRIED = 40
"""Items that are tried as the one at which trade-offs are told, at most."""
MOST_DRAWS = 1_000
"""Draws that slopes are taken of."""


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
    """Return what a fitted `IdealPoint` says, in the user's units and names.

    Parameters
    ----------
    est : fitted IdealPoint
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
    >>> from coombs import IdealPoint
    >>> from coombs.simulate import make_preferences
    >>> truth = make_preferences(n_comparisons=60, random_state=0)
    >>> told = explain(IdealPoint(truth.items).fit(truth.pairs, truth.y))
    >>> [one.verdict for one in told.ideal]
    ['sweet spot', 'sweet spot']
    """
    fit = checked_fit(est, items, level, top, compare, chosen)
    verdicts, shapes, levels = judged(est, fit.level)
    trade_off_item, trade_offs = _trade_offs(fit, item, verdicts)
    users, trust = fit.data.answer_users, diagnostics.trust(fit, verdicts)
    told = Explanation(
        source=FIT,
        has_pattern=fit.has_pattern,
        n_people=1 if users is None else len(set(users.tolist())),
        n_answers=int((fit.data.answer_weights > 0).sum()),
        n_items=fit.data.n_items,
        metric=est.kind_,
        level=fit.level,
        intervals=fit.surface.posterior is not None,
        features=fit.features,
        ideal=verdicts,
        directions=combinations(fit.surface.model, names_of(est)) if fit.has_ideal else (),
        slopes=_slopes(fit),
        shapes=shapes,
        levels=levels,
        trade_off_item=trade_off_item,
        trade_offs=trade_offs,
        unknowns=tuple(diagnostics.unknowns(fit, verdicts)),
        trust=trust,
        ranking=tuple(_ranked(fit, int(top))),
        tied=tuple(_tied(fit)),
        wishes=tuple(declared_wishes(fit, trust.accuracy)),
        scales=tuple(chosen_scales(fit.columns)),
    )
    return told.without_claims() if told.has_pattern is False else told


def _slopes(fit: ExplainedFit) -> tuple[Slope, ...]:
    """Slopes of a linear preference, the strongest first."""
    if fit.est.kind_ != "none":
        return ()
    # The score falls, which is better.
    gains = -fit.surface.gradient(fit.surface.model.centre) * fit.surface.scales  # type: ignore[arg-type]
    places = [fit.columns[k].block[0] for k in fit.numbers]
    shares = shares_of(gains[places])
    found = []
    for k, j, share in zip(fit.numbers, places, shares, strict=True):
        is_log = fit.columns[k].column.role == LOG
        size = float(np.exp(fit.surface.scales[j])) if is_log else fit.features[k].deviation
        found.append(Slope(fit.features[k].name, size, float(gains[j]), float(share), is_log))
    return tuple(found[i] for i in np.argsort(-shares, kind="stable"))


def _trade_offs(
    fit: ExplainedFit, item: Any, verdicts: tuple[FeatureVerdict, ...]
) -> tuple[str, tuple[TradeOff, ...]]:
    """Trade-offs at the item asked for, or at one of the better items: near the ideal there are few."""
    if not fit.features:
        return "", ()
    order = np.argsort(fit.est.distance(fit.table), kind="stable")
    if fit.table.matrix is fit.data.items:
        order = order[np.isin(order, fit.data.compared)]
    order = order[: max(NEAREST, int(BETTER * len(order)))]
    order = order[np.linspace(0, len(order) - 1, min(MOST_TRIED, len(order))).astype(int)]
    if item is not None:
        order = tables.positions(fit.table, np.array([item]), lambda _: "the argument item")
    est, scales = fit.est, fit.surface.scales
    posterior = None if est.posterior_ is None else thinned(est.posterior_, MOST_DRAWS)
    at = [Slopes.at(fit.table.matrix[i], est.model_, posterior, scales) for i in order]
    features, wanted = _exchanged(fit, verdicts)
    categories = [one for one, said in zip(fit.columns, verdicts, strict=True) if said.verdict == BY_LEVEL]
    found = []
    for one in at:
        numbers = [(j, features[j]) for j in known_slopes(one, scales, features, wanted)]
        amounts = [(j, feature) for j, feature in numbers if feature.distinct != 2]
        of_levels = level_trade_offs(one, posterior, categories, amounts, fit.level)
        found.append((*trade_offs_at(one, scales, features, wanted, fit.level), *of_levels))
    found = [tuple(_as_yes_or_no(fit, one) for one in told) for told in found]
    place = max(range(len(order)), key=lambda k: min(len(found[k]), ENOUGH_TRADE_OFFS))
    logs = {one.name: at[place].x[one.block[0]] for one in fit.columns if one.column.role == LOG}
    return fit.labels[order[place]], tuple(one.from_logs(logs) for one in found[place])


def _as_yes_or_no(fit: ExplainedFit, told: TradeOff) -> TradeOff:
    """A trade-off of a feature that is yes or no, with these words."""
    roles = {one.name: one.column.role for one in fit.columns}
    if roles.get(told.feature) != YES_NO:
        return told
    yes, no = ("yes", "no") if told.change > 0 else ("no", "yes")
    return replace(told, level=yes, from_level=no)


def _exchanged(
    fit: ExplainedFit, verdicts: tuple[FeatureVerdict, ...]
) -> tuple[list[FeatureRange], list[FeatureVerdict]]:
    """Each feature of the model, in its own numbers, and what is wanted of it; nothing without an amount."""
    d = fit.data.n_features
    features = [FeatureRange("", 0.0, 1.0, 1.0, 1)] * d
    wanted = [FeatureVerdict("", None, None, None, 0.0, NOT_KNOWN)] * d
    for k in fit.numbers:
        one, j = fit.columns[k], fit.columns[k].block[0]
        if one.column.role in (NUMBER, LOG, YES_NO):
            plain = replace(one, column=FeatureColumn(one.name))
            features[j], wanted[j] = range_of(plain, fit.data.items, True), verdicts[k]
    return features, wanted


def _ranked(fit: ExplainedFit, top: int) -> Iterator[Ranked]:
    """The best items."""
    found = ranking_data(fit.est, items=fit.table, top=top, level=fit.level)
    first = np.full(len(fit.table.matrix), np.nan)
    if not fit.features:
        first = (_draws_of_ranks(fit) == 1).mean(axis=0)
    for place, i in enumerate(found.positions):
        best, worst = (None, None) if found.interval is None else map(int, found.interval[place])
        values = cells_of(fit.est.model_, fit.table.matrix[i])
        distance = float(found.distances[place])
        yield Ranked(fit.labels[i], place + 1, best, worst, distance, values, float(first[i]))


def _draws_of_ranks(fit: ExplainedFit) -> FloatArray:
    """(S, n) ranks of the items, which have no features, in each draw."""
    posterior = fit.est._draws()
    return posterior.ranks(fit.table.matrix, fit.est._effects_of(fit.table, draws=True))


def _tied(fit: ExplainedFit) -> Iterator[TiedItems]:
    """Runs of the ranking, of items without features, in which the first is not surely better than any."""
    if fit.features:
        return
    order = np.argsort(fit.est.distance(fit.table), kind="stable")
    ranks, begin = _draws_of_ranks(fit)[:, order], 0
    while begin < len(order):
        worse = (ranks[:, begin + 1 :] > ranks[:, [begin]]).mean(axis=0) >= fit.level
        size = 1 + int(worse.argmax() if worse.any() else len(worse))
        if size > 1:
            yield TiedItems(tuple(fit.labels[i] for i in order[begin : begin + size]))
        begin += size
