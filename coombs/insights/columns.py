"""The columns of the user's table, over the features that they became, and what levels are worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from coombs.data.dates import date_text
from coombs.data.encoding import ANSWERS, CATEGORY, DATE, LOG, NUMBER, ORDERED, YES_NO, FeatureColumn
from coombs.insights.statements import BY_LEVEL, HARDLY, NOT_KNOWN, FeatureRange, FeatureVerdict, LevelScore
from coombs.words import feature_names, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.tables import FloatArray
    from coombs.model import Model

SURE_SIGN = 0.975
"""Probability from which on a level is said to be better, or worse, than the average item."""
SCALE_ANSWERS = 10.0
"""Answers over which the variance of the logarithm of a smooth taste's scale, beside its draws, is spread."""
SURE_BEST = 0.9
"""Probability from which on a level is said to be the best."""


@dataclass(frozen=True)
class TableColumn:
    """A column of the table: how its cells became numbers, and which features of the model these are."""

    column: FeatureColumn
    block: tuple[int, ...]

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def is_category(self) -> bool:
        """Whether the features are levels."""
        return self.column.role == CATEGORY

    def is_constant(self, items: FloatArray) -> bool:
        """Whether all items have the same."""
        return bool((np.ptp(items[:, list(self.block)], axis=0) == 0).all())


def table_columns(model: Model) -> tuple[TableColumn, ...]:
    """The columns of the table that a model was learned from."""
    if model.encoding is None:
        names = feature_names(model.feature_names, len(model.ideal_point))
        return tuple(TableColumn(FeatureColumn(name), (j,)) for j, name in enumerate(names))
    pairs = zip(model.encoding.columns, model.encoding.blocks, strict=False)
    return tuple(TableColumn(column, block) for column, block in pairs)


def numeric_names(model: Model) -> list[str]:
    """Columns of the table that are no categories, of which there can be maps."""
    return [one.name for one in table_columns(model) if not one.is_category]


def by_feature(model: Model, verdicts: Sequence[FeatureVerdict]) -> list[FeatureVerdict]:
    """What is wanted of each feature of the model, in its own numbers, from that of the table's columns."""
    result = [FeatureVerdict("", None, None, None, 0.0, NOT_KNOWN)] * len(model.ideal_point)
    for one, verdict in zip(table_columns(model), verdicts, strict=True):
        if not one.is_category:
            result[one.block[0]] = _converted(verdict, one.column.number)
    return result


def in_users_numbers(model: Model, verdict: FeatureVerdict, j: int) -> FeatureVerdict:
    """The way back, for a feature of the model."""
    column = next(one.column for one in table_columns(model) if one.block[0] == j)
    return _converted(verdict, column.shown)


def _converted(verdict: FeatureVerdict, convert: Callable[[float], float]) -> FeatureVerdict:
    ends = (None if x is None else float(convert(x)) for x in (verdict.value, verdict.low, verdict.high))
    value, low, high = ends
    return replace(verdict, value=value, low=low, high=high)


def cells_of(model: Model, row: FloatArray) -> tuple[float | str, ...]:
    """What the table has of an item: numbers, and levels by name; of a cell that is not known, that."""
    if model.encoding is None:
        return tuple(map(float, row))
    cells = model.encoding.cells(row[None])
    result: list[float | str] = []
    for one, block in zip(model.encoding.columns, model.encoding.blocks, strict=False):
        cell = None if one.gaps_of else cells[one.name][0]
        if one.gaps_of or (one.role != CATEGORY and cell is not None):
            result.append(float(one.shown(row[block[0]])))
        else:
            result.append(NOT_KNOWN if cell is None else str(cell))
    return tuple(result)


def level_liking(
    score: Callable[[FloatArray], FloatArray], items: FloatArray, block: Sequence[int]
) -> FloatArray:
    """(..., L) minus the score of each level, averaged over items, less its mean as items have the levels.

    `score` gives (..., n) of n items.
    """
    columns, shares = list(block), items[:, list(block)].mean(axis=0)
    liking = []
    for j in columns:
        moved = items.copy()
        moved[:, columns] = 0.0
        moved[:, j] = 1.0
        liking.append(-score(moved).mean(axis=-1))
    table = np.stack(liking, axis=-1)
    # Of no items, as of an ideal point alone, all levels alike.
    is_known = shares.min() >= 0 and shares.sum() > 0
    weights = shares / shares.sum() if is_known else np.full(len(columns), 1 / len(columns))
    result: FloatArray = table - (table @ weights)[..., None]
    return result


def with_scale_doubt(draws: FloatArray, is_smooth: NDArray[np.bool_], n_answers: float) -> FloatArray:
    """(S, L) what levels are worth, where the draws that are of a smooth taste differ in scale as well.

    Those are of a Gaussian about scores whose scale the answers know badly: of simulated people with strong
    tastes, 90 % intervals without this held 81 of 100.
    """
    count = int(is_smooth.sum())
    normal = ndtri((np.random.default_rng(0).permutation(count) + 0.5) / max(count, 1))
    result = draws.copy()
    result[is_smooth] *= np.exp(math.sqrt(SCALE_ANSWERS / max(n_answers, 1.0)) * normal)[:, None]
    return result


def level_scores(
    column: TableColumn, draws: FloatArray, level: float, has_draws: bool
) -> tuple[LevelScore, ...]:
    """The levels from best to worst, from (S, L) draws of what they are worth."""
    # Of few answers a few draws have a very large scale: the middle one is told.
    middle = np.median(draws, axis=0)
    ends = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0).T
    sure = np.maximum((draws > 0).mean(axis=0), (draws < 0).mean(axis=0)) >= SURE_SIGN
    result = []
    for k in np.argsort(-middle, kind="stable"):
        low, high = map(float, ends[k]) if has_draws else (None, None)
        level_name = column.column.levels[k]
        result.append(LevelScore(column.name, level_name, float(middle[k]), low, high, bool(sure[k])))
    return tuple(result)


def category_verdict(
    scores: Sequence[LevelScore],
    draws: FloatArray,
    share: float,
    matters: Callable[[], bool],
    is_small: bool,
) -> FeatureVerdict:
    """What is wanted of a category, as far as the answers support it: nothing of it unless it matters.

    Whether it does takes a fit without it, which is not made where nothing would be said anyway.
    """
    name, known = scores[0].feature, [one for one in scores if one.is_known]
    if is_small:
        return FeatureVerdict(name, None, None, None, share, HARDLY)
    if not known or not matters():
        return FeatureVerdict(name, None, None, None, share, NOT_KNOWN)
    winners = np.bincount(draws.argmax(axis=1), minlength=draws.shape[1]) / len(draws)
    best = scores[0].level if winners.max() >= SURE_BEST else ""
    words = ", ".join(one.text for one in known)
    return FeatureVerdict(name, None, None, None, share, BY_LEVEL, words, best)


def range_of(one: TableColumn, items: FloatArray, is_varied: bool) -> FeatureRange:
    """A column as the items have it."""
    column = one.column
    about: dict[str, Any] = {"role": column.role, "levels": column.levels, "unit": column.unit}
    if one.is_category:
        distinct = min(int((items[:, list(one.block)].any(axis=0)).sum()), 3)
        return FeatureRange(one.name, distinct=distinct, **about)
    values = items[:, one.block[0]]
    known = values[values != column.fill] if column.fill is not None else values
    values = column.shown(known if len(known) else values)
    distinct = min(len(np.unique(values)), 3) if is_varied else 1
    ends, whole = (float(values.min()), float(values.max())), bool((values == np.round(values)).all())
    return FeatureRange(one.name, *ends, float(values.std()), distinct, whole, **about)


def axis_ticks(column: FeatureColumn, low: float, high: float, count: int) -> list[tuple[float, str]] | None:
    """Places on an axis from low to high and what is written there; None of plain numbers."""
    if column.role == YES_NO:
        return [(0.0, "no"), (1.0, "yes")]
    if column.role == ORDERED:
        return [(float(k), level) for k, level in enumerate(column.levels) if low <= k <= high]
    if column.role == DATE:
        return _date_ticks(low, high, count)
    if column.role != LOG:
        return None
    first, last = math.floor(low / math.log(10)), math.ceil(high / math.log(10))
    found = [m * 10.0**k for k in range(first, last + 1) for m in (1, 2, 5)]
    inside = [value for value in found if low <= math.log(value) <= high]
    if len(inside) > count:
        inside = [value for value in inside if math.log10(value).is_integer()][:: max(1, len(inside) // 18)]
    return [(math.log(value), plain(value)) for value in inside]


def _date_ticks(low: float, high: float, count: int) -> list[tuple[float, str]]:
    """About so many dates: the first days of years or of months where these are enough, or else any days."""
    ends = [np.datetime64(math.floor(end), "D") for end in (low, high)]
    # Years are counted from 1970, months from its January.
    for unit, zero, steps in (("Y", 1970, (500, 200, 100, 50, 20, 10, 5, 2, 1)), ("M", 0, (6, 3, 2, 1))):
        first, last = (end.astype(f"datetime64[{unit}]") for end in ends)
        every = np.arange(first, last + 1)
        days = every.astype("datetime64[D]").astype(np.float64)
        for step in steps:
            some = (days >= low) & (days <= high) & ((every.astype(np.int64) + zero) % step == 0)
            if some.sum() >= count - 1:
                return list(zip(days[some].tolist(), map(str, every[some]), strict=True))
    return [(day, date_text(day)) for day in np.linspace(low, high, count + 2)[1:-1].round().tolist()]


@dataclass(frozen=True)
class ChosenScale:
    """A number that is on a log scale, or on none, because that predicts the answers better."""

    feature: str
    is_log: bool

    @property
    def text(self) -> str:
        """As price: number, on a log scale, as that predicts these answers better."""
        scale, other = ("on a log scale", NUMBER) if self.is_log else ("not on a log scale", LOG)
        better = "as that predicts these answers better"
        return f"{self.feature}: number, {scale}, {better} (the role {other} keeps it otherwise)."


def chosen_scales(columns: Sequence[TableColumn]) -> Iterator[ChosenScale]:
    """Of the columns of a fit."""
    for one in columns:
        if one.column.scale_by == ANSWERS:
            yield ChosenScale(one.name, one.column.role == LOG)
