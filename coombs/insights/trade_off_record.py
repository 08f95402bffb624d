"""How much of one feature is worth how much of another: the record of a trade-off, and its sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from coombs.language import Translatable
from coombs.words import short

WORTH = "is worth"
"""A trade-off in which one change offsets the other."""
GOES_WITH = "goes with"
"""A trade-off in which a change of one feature moves the best value of the other."""


@dataclass(frozen=True)
class TradeOff:
    """A change of one feature for the better, and the change of another for the worse that it is worth.

    `low` and `high` are the ends of the latter's interval, the smaller change first, or None. Of a model
    alone with an ideal point, `kind` is "goes with": the best value of the other feature changes by that.
    Of a category, or of yes and no, `level` is the better one, instead of `from_level`.
    """

    feature: str
    change: float
    other: str
    other_change: float
    low: float | None = None
    high: float | None = None
    kind: str = WORTH
    level: str = ""
    from_level: str = ""

    def from_logs(self, values: Mapping[str, float]) -> TradeOff:
        """This trade-off in the user's numbers: changes of some features are of logarithms, from these on."""

        def back(name: str, change: float | None) -> float | None:
            if change is None or name not in values:
                return change
            return math.exp(values[name]) * math.expm1(change)

        low, high = back(self.other, self.low), back(self.other, self.high)
        change, other = back(self.feature, self.change) or 0.0, back(self.other, self.other_change) or 0.0
        return replace(self, change=change, other_change=other, low=low, high=high)

    @property
    def text(self) -> str:
        """As 1.3 more of battery hours is worth about 10 more of price (6 to 17)."""
        if self.kind == GOES_WITH:
            side = "above" if self.other_change > 0 else "below"
            change, other_change = short(abs(self.change)), short(abs(self.other_change))
            return (
                f"With {self.feature} {change} above its ideal, the best {self.other} is {other_change} "
                f"{side} its own"
            )
        one, other = _amount(self.change, self.feature), _amount(self.other_change, self.other)
        if self.level:
            one = Translatable(
                "{feature}: {level} instead of {other}",
                feature=self.feature,
                level=self.level,
                other=self.from_level,
            )
        if self.low is None or self.high is None:
            return Translatable("{one} is worth about {other}", one=one, other=other)
        low, high = short(abs(self.low)), short(abs(self.high))
        return Translatable(
            "{one} is worth about {other} ({low} to {high})", one=one, other=other, low=low, high=high
        )


def _amount(change: float, name: str) -> str:
    """As 1.3 more of battery hours."""
    if change > 0:
        return Translatable("{size} more of {feature}", size=short(abs(change)), feature=name)
    return Translatable("{size} less of {feature}", size=short(abs(change)), feature=name)
