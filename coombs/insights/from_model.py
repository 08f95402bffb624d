"""What a saved model says by itself: the findings that it keeps of the fit, or what its numbers tell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from coombs.inference.posterior import LEVEL
from coombs.insights.columns import category_verdict, level_liking, level_scores, table_columns
from coombs.insights.explanation import MODEL, Explanation
from coombs.insights.statements import (
    GOES_WITH,
    HARDLY,
    LESS,
    MORE,
    SWEET_SPOT,
    WORST,
    FeatureRange,
    FeatureVerdict,
    LevelScore,
    NotKnown,
    TradeOff,
)
from coombs.insights.surface import combination, combinations, scaled_metric, shares_of
from coombs.words import feature_names

if TYPE_CHECKING:
    from coombs.data.tables import FloatArray
    from coombs.model import Model

TOGETHER = 0.15
"""M_ab / sqrt(M_aa M_bb) from which on two features are told to act together."""
LEAST_SHARE = 0.05
"""Share of the metric that both features of a trade-off have, at least."""
MOST_TRADE_OFFS = 6
"""Trade-offs that are told, at most."""


def explain_model(model: Model) -> Explanation:
    """What a model says; of a smooth one without findings, only that its words need those of the fit."""
    if model.findings is not None:
        return Explanation.from_findings(model.findings)
    if any(one.is_category for one in table_columns(model)):
        return _by_columns(model)
    d = len(model.ideal_point)
    names = feature_names(model.feature_names, d)
    scales = np.ones(d) if model.scales is None else model.scales
    deviations = np.full(d, math.nan) if model.scales is None else scales
    features = tuple(
        FeatureRange(name, deviation=float(size)) for name, size in zip(names, deviations, strict=True)
    )
    metric = scaled_metric(model)
    kind = _kind(model, metric)
    told = Explanation(MODEL, None, model.n_people, None, None, kind, math.nan, False, features, ())
    if kind in ("smooth", "items"):
        return told
    slope = np.zeros(d) if model.slope is None else model.slope * scales
    is_linear = kind == "none"
    trade_offs = (_slope_trade_offs if is_linear else _metric_trade_offs)(
        slope if is_linear else metric, scales, names
    )
    return replace(
        told,
        ideal=tuple(_slope_verdicts(slope, names) if is_linear else _metric_verdicts(model, metric, names)),
        directions=combinations(model, names),
        trade_offs=tuple(islice(trade_offs, MOST_TRADE_OFFS)),
        unknowns=tuple(_unseen(model, scales, names)) if kind in ("full", "diagonal", "identity") else (),
    )


def _by_columns(model: Model) -> Explanation:
    """What a model of a table with categories says: of the other columns alone, and what levels are worth."""
    columns = table_columns(model)
    ranges = tuple(
        FeatureRange(one.name, role=one.column.role, levels=one.column.levels, unit=one.column.unit)
        for one in columns
    )
    has_ideal = bool(np.isfinite(model.ideal_point).all())
    kind = _kind(replace(model, slope=None) if has_ideal else model, model.metric)
    told = Explanation(MODEL, None, model.n_people, None, None, kind, math.nan, False, ranges, ())
    if kind == "smooth":
        return told
    base = model.ideal_point if has_ideal or model.centre is None else model.centre
    verdicts: list[FeatureVerdict] = []
    levels: list[LevelScore] = []
    for one in columns:
        if one.is_category:
            draws = level_liking(model.scores_of, base[None], one.block)[None]
            draws = draws - draws.mean()
            scores = level_scores(one, draws, LEVEL, has_draws=False)
            verdicts.append(category_verdict(scores, draws, math.nan, lambda: True, False))
            levels += scores
            continue
        (j,) = one.block
        weight, rise = model.metric[j, j], 0.0 if model.slope is None else model.slope[j]
        verdict = (SWEET_SPOT if weight > 0 else WORST) if weight else (MORE if rise < 0 else LESS)
        value = float(one.column.shown(model.ideal_point[j])) if weight else None
        verdicts.append(FeatureVerdict(one.name, value, None, None, math.nan, verdict))
    return replace(told, ideal=tuple(verdicts), levels=tuple(levels))


def _kind(model: Model, metric: FloatArray) -> str:
    """The kind of preference; "nothing" where every item is as good as every other."""
    if model.bumps is not None:
        return "smooth"
    if not len(metric):
        return "items"
    slope = 0.0 if model.slope is None else np.abs(model.slope).max()
    if not np.abs(model.metric).max() and not slope:
        return "nothing"
    if np.isnan(model.ideal_point).any():
        return "none"
    if model.slope is not None:
        return "signed"
    weights = np.diag(metric)
    if (metric != np.diag(weights)).any():
        return "full"
    return "identity" if np.allclose(weights, weights[0]) else "diagonal"


def _metric_verdicts(model: Model, metric: FloatArray, names: Sequence[str]) -> Iterator[FeatureVerdict]:
    """The ideal, and each feature's share of the metric."""
    weights = np.diag(metric)
    for j, (name, share) in enumerate(zip(names, shares_of(weights).tolist(), strict=True)):
        value = float(model.ideal_point[j]) if weights[j] else None
        verdict = (SWEET_SPOT if weights[j] > 0 else WORST) if weights[j] else HARDLY
        yield FeatureVerdict(name, value, None, None, share, verdict)


def _slope_verdicts(slope: FloatArray, names: Sequence[str]) -> Iterator[FeatureVerdict]:
    """What is better, and each feature's share of the slope of the score, which is best where it is least."""
    for name, share, rise in zip(names, shares_of(slope).tolist(), slope, strict=True):
        verdict = (MORE if rise < 0 else LESS) if rise else HARDLY
        yield FeatureVerdict(name, None, None, None, share, verdict)


def _metric_trade_offs(metric: FloatArray, scales: FloatArray, names: Sequence[str]) -> Iterator[TradeOff]:
    """One spread off in a, the best of b is off by -M_ab / M_bb: the minimum of the distance along b."""
    weights, shares = np.diag(metric), shares_of(np.diag(metric))
    counts = (weights > 0) & (shares >= LEAST_SHARE)
    pairs = [(a, b) for a in range(len(names)) for b in range(a) if counts[a] and counts[b]]
    together = {(a, b): metric[a, b] / np.sqrt(weights[a] * weights[b]) for a, b in pairs}
    for (a, b), strength in sorted(together.items(), key=lambda one: -abs(one[1])):
        if abs(strength) < TOGETHER:
            return
        one, other = (a, b) if weights[a] >= weights[b] else (b, a)
        answer = -metric[one, other] / weights[other] * scales[other]
        yield TradeOff(names[one], float(scales[one]), names[other], float(answer), kind=GOES_WITH)


def _slope_trade_offs(slope: FloatArray, scales: FloatArray, names: Sequence[str]) -> Iterator[TradeOff]:
    """One spread of a for the better is worth s_a / s_b spreads of b for the worse, the strongest first."""
    strongest = [j for j in np.argsort(-np.abs(slope), kind="stable") if slope[j]]
    for place, b in enumerate(strongest):
        for a in strongest[place + 1 :]:
            change = -np.sign(slope[a]) * scales[a]
            yield TradeOff(names[a], float(change), names[b], float(abs(slope[a]) / slope[b] * scales[b]))


def _unseen(model: Model, scales: FloatArray, names: Sequence[str]) -> Iterator[NotKnown]:
    for vector in (model.unseen_directions() / scales[:, None]).T:
        along = combination(vector / np.linalg.norm(vector), names).text
        text = f"Along {along} the model sees no difference, so the ideal is open there."
        yield NotKnown("unseen direction", text)
