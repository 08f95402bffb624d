"""From a fit to an explanation of it: all statements, in the user's units and names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.data import tables
from coombs.estimators.taste import TasteEstimator
from coombs.insights import diagnostics
from coombs.insights.case import Case, case_of
from coombs.insights.curves import thinned
from coombs.insights.explanation import FIT, Explanation
from coombs.insights.statements import FeatureVerdict, Ranked, Slope, TradeOff
from coombs.insights.surface import combinations, shares_of
from coombs.insights.trade_offs import Slopes, trade_offs_at
from coombs.insights.verdicts import judged
from coombs.insights.what_matters import ranking_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coombs.data.tables import TableLike

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
    verdicts, shapes = judged(est, case.level)
    trade_off_item, trade_offs = _trade_offs(case, item, verdicts)
    users = case.data.users
    told = Explanation(
        source=FIT,
        has_pattern=case.has_pattern,
        n_people=1 if users is None else len(set(users.tolist())),
        n_answers=int((case.data.weights > 0).sum()),
        n_items=case.data.n_items,
        metric=est.kind_,
        level=case.level,
        intervals=case.surface.posterior is not None,
        features=case.features,
        ideal=verdicts,
        directions=combinations(case.surface.model, case.names) if case.has_ideal else (),
        slopes=_slopes(case),
        shapes=shapes,
        trade_off_item=trade_off_item,
        trade_offs=trade_offs,
        unknowns=tuple(diagnostics.unknowns(case, verdicts)),
        trust=diagnostics.trust(case, verdicts),
        ranking=tuple(_ranked(case, int(top))),
    )
    return told.without_claims() if told.has_pattern is False else told


def _slopes(case: Case) -> tuple[Slope, ...]:
    """Of a linear preference, the strongest first."""
    if case.est.kind_ != "none":
        return ()
    # The score falls, which is better.
    gains = -case.surface.gradient(case.surface.model.centre) * case.surface.scales  # type: ignore[arg-type]
    shares = shares_of(gains)
    return tuple(
        Slope(case.features[j].name, case.features[j].deviation, float(gains[j]), float(shares[j]))
        for j in np.argsort(-shares, kind="stable")
        if case.varies[j]
    )


def _trade_offs(
    case: Case, item: Any, verdicts: tuple[FeatureVerdict, ...]
) -> tuple[str, tuple[TradeOff, ...]]:
    """At the item asked for, or at one of the better ones: near the ideal itself there are hardly any."""
    order = np.argsort(case.est.distance(case.table), kind="stable")
    if case.table.matrix is case.data.items:
        order = order[np.isin(order, case.data.pairs)]
    order = order[: max(NEAREST, int(BETTER * len(order)))]
    order = order[np.linspace(0, len(order) - 1, min(MOST_TRIED, len(order))).astype(int)]
    if item is not None:
        order = tables.positions(case.table, np.array([item]), lambda _: "the argument item")
    est, scales = case.est, case.surface.scales
    posterior = None if est.posterior_ is None else thinned(est.posterior_, MOST_DRAWS)
    at = [Slopes.at(case.table.matrix[i], est.model_, posterior, scales) for i in order]
    found = [trade_offs_at(one, scales, case.features, verdicts, case.level) for one in at]
    place = max(range(len(order)), key=lambda k: min(len(found[k]), ENOUGH_TRADE_OFFS))
    return case.labels[order[place]], found[place]


def _ranked(case: Case, top: int) -> Iterator[Ranked]:
    """The best items."""
    found = ranking_data(case.est, items=case.table, top=top, level=case.level)
    for place, i in enumerate(found.positions):
        best, worst = (None, None) if found.interval is None else map(int, found.interval[place])
        values = tuple(map(float, case.table.matrix[i]))
        yield Ranked(case.labels[i], place + 1, best, worst, float(found.distances[place]), values)
