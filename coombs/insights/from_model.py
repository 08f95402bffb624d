"""What a model says by itself, without the items and the answers that it was learned from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from coombs.data.tables import FloatArray, InputError
from coombs.insights import explanation as records
from coombs.model import Model
from coombs.render import text
from coombs.render.text import Block, Points, Section, Table
from coombs.words import in_words, loadings, number, percent

LEAST_SHARE, LEAST_LOADING = 0.005, 0.15
"""Directions, and parts of them, below these are left out."""
TOGETHER, MOST_TRADE_OFFS = 0.15, 6
"""M_ab / sqrt(M_aa M_bb) from which two features are told to act together, and how many such pairs are."""
NO_MATTER = "does not matter"
JUDGED = {
    "ideal": "Items are judged by their distance from an ideal along these directions.",
    "signed": "Items are judged along these directions; some have a worst point instead of an ideal.",
    "linear": "More or less of each feature is better, without an ideal in between.",
    "nothing": "The features say nothing: every item is as good as every other.",
}
NOT_HERE = (
    "How sure any of this is, which answers surprise and how well it predicts are not in a model: "
    "coombs fit tells them from the answers. Nor are effects of single items."
)

NOT_KEPT = (
    "What else is not known, which answers surprise and the ranking are not in a model: coombs fit tells "
    "them from the answers. Nor are effects of single items."
)
"""What a model with findings does not hold."""


@dataclass(frozen=True)
class Direction:
    """Features that act together, and their share of the metric."""

    share: float
    loadings: dict[str, float]
    anti_ideal: bool
    text: str


@dataclass(frozen=True)
class Wish:
    """What is wanted of a feature: its ideal if there is one, its share of what matters, and a verdict."""

    feature: str
    ideal: float | None
    share: float
    verdict: str


@dataclass(frozen=True)
class TradeOff(records.TradeOff):
    """Where a feature is off by `change`, the other is best, or is worth it, at `other_change`."""

    text: str = ""


@dataclass(frozen=True)
class Portrait:
    """All of it; `kind` is ideal, signed, linear or nothing."""

    kind: str
    features: tuple[str, ...]
    scales: tuple[float, ...] | None
    directions: tuple[Direction, ...]
    wishes: tuple[Wish, ...]
    trade_offs: tuple[TradeOff, ...]
    unseen: tuple[str, ...]
    told: records.Explanation | None = None

    def __str__(self) -> str:
        return self.page(NOT_HERE)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python types that JSON can hold."""
        plain = asdict(replace(self, told=None))
        del plain["told"]
        found = self.told and self.told.findings()
        # What a model says that has no findings may be anything's.
        return {"has_pattern": found and found["has_pattern"], **plain, "findings": found}

    def page(self, missing: str) -> str:
        """In words, with a sentence on what is not told here."""
        if self.told is None:
            return text.page(_sections(self, missing))
        kept = ("What matters", "Trade-offs", "How far to trust it", text.NO_PATTERN)
        found = [section for section in text.sections(self.told) if section.title in kept]
        return text.page([*found, Section("What is not here", [NOT_KEPT])])


def portrait(model: Model) -> Portrait:
    """What a model says: what matters, the ideal, what is worth what, and what it does not see."""
    d = len(model.ideal_point)
    names = model.feature_names or tuple(f"feature {j}" for j in range(d))
    scales = np.ones(d) if model.scales is None else model.scales
    kind, metric = _kind(model), _scaled(model, scales)
    slope = np.zeros(d) if model.slope is None else model.slope * scales
    linear = kind == "linear"
    if model.findings is not None:
        return _found(records.Explanation.from_findings(model.findings), kind, model)
    told = _slope_trade_offs(slope, scales, names) if linear else _metric_trade_offs(metric, scales, names)
    return Portrait(
        kind,
        names,
        None if model.scales is None else tuple(model.scales.tolist()),
        tuple(_directions(model, metric, names)),
        tuple(_slope_wishes(slope, names) if linear else _metric_wishes(model, metric, names)),
        tuple(islice(told, MOST_TRADE_OFFS)),
        tuple(_unseen(model, scales, names)) if kind == "ideal" else (),
    )


def _found(told: records.Explanation, kind: str, model: Model) -> Portrait:
    """What the fit found: the same as it said itself."""
    return Portrait(
        kind,
        tuple(one.name for one in told.features),
        None if model.scales is None else tuple(model.scales.tolist()),
        (),
        tuple(Wish(one.feature, one.value, one.share, one.verdict) for one in told.ideal),
        tuple(TradeOff(**vars(one), text=one.text) for one in told.trade_offs),
        (),
        told,
    )


def _scaled(model: Model, scales: FloatArray) -> FloatArray:
    """M in units of the features' spreads."""
    with np.errstate(over="ignore"):
        metric: FloatArray = model.metric * np.outer(scales, scales)
    if not np.isfinite(metric).all():
        raise InputError("The model's metric is too large for its scales; they must fit.")
    return metric


def _kind(model: Model) -> str:
    slope = 0.0 if model.slope is None else np.abs(model.slope).max()
    if not np.abs(model.metric).max() and not slope:
        return "nothing"
    if np.isnan(model.ideal_point).any():
        return "linear"
    return "ideal" if model.slope is None else "signed"


def _directions(model: Model, metric: FloatArray, names: tuple[str, ...]) -> Iterator[Direction]:
    """Eigenvectors of M in units of the features' spreads, the most important first."""
    shares, vectors = model.interactions()
    for share, vector in zip(shares.tolist(), vectors.T, strict=True):
        if share >= LEAST_SHARE:
            parts = {names[j]: weight for j, weight in loadings(vector, LEAST_LOADING)}
            said = in_words(vector, names, LEAST_LOADING)
            yield Direction(share, parts, bool(vector @ metric @ vector < 0), said)


def _metric_wishes(model: Model, metric: FloatArray, names: tuple[str, ...]) -> Iterator[Wish]:
    """The ideal, and each feature's share of the metric."""
    weights = np.diag(metric)
    for j, (name, share) in enumerate(zip(names, _shares(weights), strict=True)):
        there = "best here" if weights[j] > 0 else "the middle is the worst"
        if weights[j]:
            yield Wish(name, float(model.ideal_point[j]), share, there)
        else:
            yield Wish(name, None, share, NO_MATTER)


def _slope_wishes(slope: FloatArray, names: tuple[str, ...]) -> Iterator[Wish]:
    """What is better, and each feature's share of the slope of the score, which is best where it is least."""
    for name, share, rise in zip(names, _shares(slope), slope, strict=True):
        better = "more is better" if rise < 0 else "less is better"
        yield Wish(name, None, share, better if rise else NO_MATTER)


def _shares(values: FloatArray) -> list[float]:
    sizes = np.abs(values)
    result: list[float] = (sizes / max(float(sizes.sum()), np.finfo(float).tiny)).tolist()
    return result


def _metric_trade_offs(metric: FloatArray, scales: FloatArray, names: tuple[str, ...]) -> Iterator[TradeOff]:
    """One spread off in a, the best of b is off by -M_ab / M_bb: the minimum of the distance along b."""
    weights = np.diag(metric)
    pairs = [(a, b) for a in range(len(names)) for b in range(a) if min(weights[a], weights[b]) > 0]
    together = {(a, b): metric[a, b] / np.sqrt(weights[a] * weights[b]) for a, b in pairs}
    for (a, b), strength in sorted(together.items(), key=lambda one: -abs(one[1])):
        if abs(strength) < TOGETHER:
            return
        one, other = (a, b) if weights[a] >= weights[b] else (b, a)
        change, answer = scales[one], -metric[one, other] / weights[other] * scales[other]
        side = "above" if answer > 0 else "below"
        said = (
            f"With {names[one]} {_size(change, scales[one])} above its ideal, the best {names[other]} is "
            f"{_size(answer, scales[other])} {side} its own."
        )
        yield TradeOff(names[one], float(change), names[other], float(answer), text=said)


def _slope_trade_offs(slope: FloatArray, scales: FloatArray, names: tuple[str, ...]) -> Iterator[TradeOff]:
    """One spread of a for the better is worth s_a / s_b spreads of b for the worse, the strongest first."""
    strongest = [j for j in np.argsort(-np.abs(slope), kind="stable") if slope[j]]
    for place, b in enumerate(strongest):
        for a in strongest[place + 1 :]:
            change = -np.sign(slope[a]) * scales[a]
            answer = abs(slope[a]) / slope[b] * scales[b]
            one, other = _amount(change, scales[a]), _amount(answer, scales[b])
            said = f"{one} of {names[a]} is worth about {other} of {names[b]}."
            yield TradeOff(names[a], float(change), names[b], float(answer), text=said)


def _unseen(model: Model, scales: FloatArray, names: tuple[str, ...]) -> Iterator[str]:
    for vector in (model.unseen_directions() / scales[:, None]).T:
        yield in_words(vector / np.linalg.norm(vector), names, LEAST_LOADING)


def _amount(change: float, spread: float) -> str:
    return f"{_size(change, spread)} {'more' if change > 0 else 'less'}"


def _size(change: float, spread: float) -> str:
    size = number(abs(change), 4 * spread)
    return size.rstrip("0").rstrip(".") if "." in size else size


def _sections(told: Portrait, missing: str) -> Iterator[Section]:
    """The page."""
    yield Section("What matters", list(_matters(told)))
    yield Section("The ideal", [_ideal(told)])
    if told.trade_offs:
        yield Section("Trade-offs", [Points([one.text for one in told.trade_offs])])
    unseen = [f"Along {one} the model sees no difference, so that the ideal is open." for one in told.unseen]
    yield Section("What is not known", [*([Points(unseen)] if unseen else []), missing])


def _matters(told: Portrait) -> Iterator[Block]:
    unit = "their own units" if told.scales is None else "standard deviations"
    yield JUDGED[told.kind]
    if told.directions:
        rows = [
            (percent(one.share), one.text, "anti-ideal" if one.anti_ideal else "") for one in told.directions
        ]
        yield Table("rll", ("share", f"direction, in {unit}", ""), rows)
    if told.scales is not None:
        sizes = zip(told.features, told.scales, strict=True)
        yield f"Standard deviations: {', '.join(f'{name} {size:.3g}' for name, size in sizes)}."


def _ideal(told: Portrait) -> Table:
    spreads = told.scales or tuple(abs(one.ideal or 0.0) for one in told.wishes)
    rows = [
        (
            one.feature,
            "-" if one.ideal is None else number(one.ideal, 4 * spread),
            percent(one.share),
            one.verdict,
        )
        for one, spread in zip(told.wishes, spreads, strict=True)
    ]
    return Table("lrrl", ("feature", "ideal", "share", "verdict"), rows)
