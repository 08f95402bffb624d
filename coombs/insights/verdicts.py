"""What pictures may say of each feature: what the answers bear out, as the words about them do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.data.tables import FloatArray, ItemTable
from coombs.insights.surface import gradient, has_ideal, kind_of, turning_point
from coombs.words import number

if TYPE_CHECKING:
    from coombs.estimators.base import PairEstimator


class Verdict(NamedTuple):
    """What is wanted of a feature, in a few words.

    `turn` is "best" or "worst" where it has such a value, else empty; `ends` are its interval's;
    `sign` is 1 where more is better, -1 where less is, else 0.
    """

    text: str
    turn: str
    value: float
    ends: tuple[float, float] | None
    sign: int

    def allows(self, value: float) -> bool:
        """Whether it may be the best or the worst value."""
        return self.ends is None or self.ends[0] <= value <= self.ends[1]


def verdicts(est: PairEstimator, table: ItemTable, level: float) -> list[Verdict]:
    """Of each feature; of the paper's estimators, which do not know how sure they are, the estimate."""
    from coombs.estimators.taste import TasteEstimator

    if not isinstance(est, TasteEstimator):
        return [_estimated(est, table, j) for j in range(table.matrix.shape[1])]
    # It is built on these pictures' numbers.
    from coombs.insights.explanation import LESS, MORE, SWEET_SPOT, WORST
    from coombs.insights.from_fit import in_few_words, wanted

    turns, signs = {SWEET_SPOT: "best", WORST: "worst"}, {MORE: 1, LESS: -1}
    found = []
    for feature, one in wanted(est, level):
        ends = None if one.low is None or one.high is None else (one.low, one.high)
        value, turn = np.nan if one.value is None else one.value, turns.get(one.verdict, "")
        found.append(Verdict(in_few_words(feature, one), turn, value, ends, signs.get(one.verdict, 0)))
    return found


def _estimated(est: PairEstimator, table: ItemTable, j: int) -> Verdict:
    """By the estimate alone."""
    text = _wish(est, table.matrix, j)
    return Verdict(text, "best", float(est.ideal_point_[j]), None, 0)


def _wish(est: PairEstimator, items: FloatArray, j: int) -> str:
    """What is wanted of a feature, in a few words."""
    low, high = float(items[:, j].min()), float(items[:, j].max())
    middle, kind = items.mean(axis=0), kind_of(est, [j])
    if low == high:
        return "always the same"
    (at,) = turning_point(est, [j], est.ideal_point_ if has_ideal(est) else middle)
    # Between yes and no there is no ideal.
    is_many = len(np.unique(items[:, j])) > 2
    if kind in ("ideal", "worst") and low <= at <= high and is_many:
        return f"{kind} about {number(at, high - low)}"
    # The slope halfway tells the two ends apart.
    middle[j] = (low + high) / 2
    slope = low - at if kind == "ideal" and is_many else float(gradient(est, middle)[j])
    return "more is better" if slope < 0 else "less is better" if slope > 0 else "not known yet"
