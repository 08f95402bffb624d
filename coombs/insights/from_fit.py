"""From a fit to an explanation of it: all statements, in the user's units and names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.data import tables
from coombs.data.encoding import LOG, NUMBER, YES_NO, FeatureColumn
from coombs.estimators.taste import TasteEstimator
from coombs.insights import diagnostics
from coombs.insights.case import Case, case_of
from coombs.insights.columns import cells_of, chosen_scales, range_of
from coombs.insights.curves import thinned
from coombs.insights.declared import declared_wishes
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
"""Best items, at least, of which one is chosen to tell trade-offs at."""
BETTER = 0.25
"""Share of the compared items that are as good as that."""
MOST_TRIED = 40
"""Of these, at most."""
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
    case = case_of(est, items, level, top, compare, chosen)
    verdicts, shapes, levels = judged(est, case.level)
    trade_off_item, trade_offs = _trade_offs(case, item, verdicts)
    users, trust = case.data.answer_users, diagnostics.trust(case, verdicts)
    told = Explanation(
        source=FIT,
        has_pattern=case.has_pattern,
        n_people=1 if users is None else len(set(users.tolist())),
        n_answers=int((case.data.answer_weights > 0).sum()),
        n_items=case.data.n_items,
        metric=est.kind_,
        level=case.level,
        intervals=case.surface.posterior is not None,
        features=case.features,
        ideal=verdicts,
        directions=combinations(case.surface.model, names_of(est)) if case.has_ideal else (),
        slopes=_slopes(case),
        shapes=shapes,
        levels=levels,
        trade_off_item=trade_off_item,
        trade_offs=trade_offs,
        unknowns=tuple(diagnostics.unknowns(case, verdicts)),
        trust=trust,
        ranking=tuple(_ranked(case, int(top))),
        tied=tuple(_tied(case)),
        wishes=tuple(declared_wishes(case, trust.accuracy)),
        scales=tuple(chosen_scales(case.columns)),
    )
    return told.without_claims() if told.has_pattern is False else told


def _slopes(case: Case) -> tuple[Slope, ...]:
    """Of a linear preference, the strongest first."""
    if case.est.kind_ != "none":
        return ()
    # The score falls, which is better.
    gains = -case.surface.gradient(case.surface.model.centre) * case.surface.scales  # type: ignore[arg-type]
    places = [case.columns[k].block[0] for k in case.numbers]
    shares = shares_of(gains[places])
    found = []
    for k, j, share in zip(case.numbers, places, shares, strict=True):
        is_log = case.columns[k].column.role == LOG
        size = float(np.exp(case.surface.scales[j])) if is_log else case.features[k].deviation
        found.append(Slope(case.features[k].name, size, float(gains[j]), float(share), is_log))
    return tuple(found[i] for i in np.argsort(-shares, kind="stable"))


def _trade_offs(
    case: Case, item: Any, verdicts: tuple[FeatureVerdict, ...]
) -> tuple[str, tuple[TradeOff, ...]]:
    """At the item asked for, or at one of the better ones: near the ideal itself there are hardly any."""
    if not case.features:
        return "", ()
    order = np.argsort(case.est.distance(case.table), kind="stable")
    if case.table.matrix is case.data.items:
        order = order[np.isin(order, case.data.compared)]
    order = order[: max(NEAREST, int(BETTER * len(order)))]
    order = order[np.linspace(0, len(order) - 1, min(MOST_TRIED, len(order))).astype(int)]
    if item is not None:
        order = tables.positions(case.table, np.array([item]), lambda _: "the argument item")
    est, scales = case.est, case.surface.scales
    posterior = None if est.posterior_ is None else thinned(est.posterior_, MOST_DRAWS)
    at = [Slopes.at(case.table.matrix[i], est.model_, posterior, scales) for i in order]
    features, wanted = _exchanged(case, verdicts)
    categories = [one for one, said in zip(case.columns, verdicts, strict=True) if said.verdict == BY_LEVEL]
    found = []
    for one in at:
        numbers = [(j, features[j]) for j in known_slopes(one, scales, features, wanted)]
        amounts = [(j, feature) for j, feature in numbers if feature.distinct != 2]
        of_levels = level_trade_offs(one, posterior, categories, amounts, case.level)
        found.append((*trade_offs_at(one, scales, features, wanted, case.level), *of_levels))
    found = [tuple(_as_yes_or_no(case, one) for one in told) for told in found]
    place = max(range(len(order)), key=lambda k: min(len(found[k]), ENOUGH_TRADE_OFFS))
    logs = {one.name: at[place].x[one.block[0]] for one in case.columns if one.column.role == LOG}
    return case.labels[order[place]], tuple(one.from_logs(logs) for one in found[place])


def _as_yes_or_no(case: Case, told: TradeOff) -> TradeOff:
    """Of a feature that is yes or no, a trade-off that says so."""
    roles = {one.name: one.column.role for one in case.columns}
    if roles.get(told.feature) != YES_NO:
        return told
    yes, no = ("yes", "no") if told.change > 0 else ("no", "yes")
    return replace(told, level=yes, from_level=no)


def _exchanged(
    case: Case, verdicts: tuple[FeatureVerdict, ...]
) -> tuple[list[FeatureRange], list[FeatureVerdict]]:
    """Each feature of the model, in its own numbers, and what is wanted of it; nothing without an amount."""
    d = case.data.n_features
    features = [FeatureRange("", 0.0, 1.0, 1.0, 1)] * d
    wanted = [FeatureVerdict("", None, None, None, 0.0, NOT_KNOWN)] * d
    for k in case.numbers:
        one, j = case.columns[k], case.columns[k].block[0]
        if one.column.role in (NUMBER, LOG, YES_NO):
            plain = replace(one, column=FeatureColumn(one.name))
            features[j], wanted[j] = range_of(plain, case.data.items, True), verdicts[k]
    return features, wanted


def _ranked(case: Case, top: int) -> Iterator[Ranked]:
    """The best items."""
    found = ranking_data(case.est, items=case.table, top=top, level=case.level)
    first = np.full(len(case.table.matrix), np.nan)
    if not case.features:
        first = (_draws_of_ranks(case) == 1).mean(axis=0)
    for place, i in enumerate(found.positions):
        best, worst = (None, None) if found.interval is None else map(int, found.interval[place])
        values = cells_of(case.est.model_, case.table.matrix[i])
        distance = float(found.distances[place])
        yield Ranked(case.labels[i], place + 1, best, worst, distance, values, float(first[i]))


def _draws_of_ranks(case: Case) -> FloatArray:
    """(S, n) ranks of the items, which have no features, in each draw."""
    posterior = case.est._draws()
    return posterior.ranks(case.table.matrix, case.est._effects_of(case.table, draws=True))


def _tied(case: Case) -> Iterator[TiedItems]:
    """Of items without features, runs of the ranking in which the first is not surely better than any."""
    if case.features:
        return
    order = np.argsort(case.est.distance(case.table), kind="stable")
    ranks, begin = _draws_of_ranks(case)[:, order], 0
    while begin < len(order):
        worse = (ranks[:, begin + 1 :] > ranks[:, [begin]]).mean(axis=0) >= case.level
        size = 1 + int(worse.argmax() if worse.any() else len(worse))
        if size > 1:
            yield TiedItems(tuple(case.labels[i] for i in order[begin : begin + size]))
        begin += size
