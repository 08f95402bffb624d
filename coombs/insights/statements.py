"""Statements about a taste: a frozen record for each kind, with the words that belong to it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from coombs.data.dates import date_text
from coombs.data.encoding import DATE, LOG, NUMBER, ORDERED, YES_NO
from coombs.insights.trade_off_record import GOES_WITH as GOES_WITH
from coombs.insights.trade_off_record import WORTH as WORTH
from coombs.insights.trade_off_record import TradeOff as TradeOff
from coombs.language import NumberText, Translatable
from coombs.words import has_cents, listed, ordinal, percent, plain, weighted_sum, with_unit, within

MORE: str = Translatable("more is better")
LESS: str = Translatable("less is better")
SWEET_SPOT: str = Translatable("sweet spot")
WORST: str = Translatable("the middle is the worst")
HARDLY: str = Translatable("hardly matters")
NOT_KNOWN: str = Translatable("not known")
CONSTANT: str = Translatable("always the same")
DROP = "a drop"
RISE = "a rise"
TWO_PEAKS = "two peaks"
LEVELS_ABOVE = "levels off above"
LEVELS_BELOW = "levels off below"
SHAPES = (DROP, RISE, TWO_PEAKS, LEVELS_ABOVE, LEVELS_BELOW)
"""The shapes of a taste along a feature that an ideal point does not have: the whole list."""
BY_LEVEL = "by level"
"""The verdict on a category of which it is known what some levels are worth."""
VERDICTS = (MORE, LESS, SWEET_SPOT, WORST, HARDLY, NOT_KNOWN, CONSTANT, *SHAPES, BY_LEVEL)
"""What may be said to be wanted of a feature: the whole list."""
KINDS = {
    "items": "each item by itself (Bradley-Terry)",
    "none": "more or less is better (linear)",
    "identity": "an ideal, all features alike (Euclidean)",
    "diagonal": "an ideal, each feature with its weight",
    "full": "an ideal, features act together",
    "signed": "an ideal or a worst point, features act together",
    "smooth": "anything smooth (Gaussian process)",
}
"""Kinds of preference, the simplest first, and what they are called."""
MOST_LOADINGS = 6
"""Parts of a combination of features that are told in words."""
MOST_TIED = 8
"""Items of a tie that are named."""
RATHER_MORE: str = Translatable("more rather than less")
"""Said of a feature of which it is not known what is best, but that more is better on average."""
RATHER_LESS: str = Translatable("less rather than more")
"""Said of a feature of which it is not known what is best, but that less is better on average."""
LEANINGS = {RATHER_MORE: MORE, RATHER_LESS: LESS}
"""The verdict that each of these would be if it were sure."""


@dataclass(frozen=True)
class FeatureRange:
    """A feature as the fitted items have it; `distinct` counts its values up to 3.

    Of a model alone only its name and, perhaps, its deviation are known: the rest is NaN or None. `role` is
    what the column is learned from as; ordered levels are numbered from 0, dates are days since 1970, and a
    category has neither range nor deviation.
    """

    name: str
    lowest: float = math.nan
    highest: float = math.nan
    deviation: float = math.nan
    distinct: int | None = None
    whole: bool | None = None
    role: str = NUMBER
    levels: tuple[str, ...] = ()
    unit: str = ""

    @property
    def range(self) -> float:
        """From the lowest to the highest."""
        return self.highest - self.lowest

    def text(self, value: float | None) -> str:
        """A value with the decimals that the feature's range calls for; a level or a date as such."""
        if value is None or not math.isfinite(value):
            return "-"
        if self.role == YES_NO:
            return Translatable("yes") if value >= 0.5 else Translatable("no")
        if self.role == ORDERED:
            return self.levels[min(max(round(value), 0), len(self.levels) - 1)]
        if self.role == DATE:
            return date_text(value)
        if self.role == LOG:
            return plain(float(f"{value:.3g}"))
        size = self.range or abs(self.lowest) or 1.0
        if math.isnan(size):
            size = 4 * self.deviation if self.deviation > 0 else abs(value) or 1.0
        decimals = max(0, math.ceil(math.log10(50 / size)))
        if decimals > 6 or max(abs(value), size) >= 1e7:
            return NumberText(f"{value:.3g}")
        text = f"{value:.{decimals}f}"
        return NumberText(text if float(text) else text.removeprefix("-"))

    def item_text(self, value: float | str) -> str:
        """An item's own value."""
        if isinstance(value, str):
            return value
        is_short = self.role in (NUMBER, LOG) and has_cents(value)
        return plain(value) if is_short else self.text(value)

    def item_quantity(self, value: float | str) -> str:
        """An item's own value with its unit; what is not known has none."""
        return value if isinstance(value, str) else with_unit(self.item_text(value), self.unit)

    def word(self, said: str) -> str:
        """What is said of more and less of it, as it is said of what has no more and less."""
        more, less = self._ends()
        if not more or said not in (MORE, LESS, *LEANINGS):
            return said
        first, second = (more, less) if said in (MORE, RATHER_MORE) else (less, more)
        if said in LEANINGS:
            return Translatable("{level} rather than {other}", level=first, other=second)
        if self.role == ORDERED:
            return Translatable("{level} is best", level=first)
        return Translatable("{level} is better", level=first)

    def _ends(self) -> tuple[str, str]:
        """What more and less of it are called, where it has no more and less."""
        if self.role == ORDERED:
            return self.levels[-1], self.levels[0]
        if self.role == YES_NO:
            return Translatable("yes"), Translatable("no")
        return (Translatable("later"), Translatable("earlier")) if self.role == DATE else ("", "")


@dataclass(frozen=True)
class Combination:
    """Features that act together, in standard deviations of each, and their share of the metric."""

    share: float
    loadings: tuple[tuple[str, float], ...]
    anti_ideal: bool = False

    @property
    def text(self) -> str:
        """As 0.91 GRE writing - 0.39 GPA."""
        more = " ..." if len(self.loadings) > MOST_LOADINGS else ""
        return weighted_sum(self.loadings[:MOST_LOADINGS]) + more


@dataclass(frozen=True)
class Slope:
    """How much better one standard deviation more of a feature is: log-odds of being chosen.

    On a log scale, `is_factor`, so many times as much.
    """

    feature: str
    deviation: float
    gain: float
    share: float
    is_factor: bool = False


@dataclass(frozen=True)
class FeatureVerdict:
    """What is wanted of a feature: the one decision that words, tables and pictures take over.

    Parameters
    ----------
    feature : its name
    value : where it is best, or worst, if the verdict says that there is such a place; else None
    low, high : ends of that value's interval, which go no farther than the items
    share : how much the feature decides, as a share of all; NaN without a pattern
    verdict : one of `VERDICTS`
    shape : of the taste along the feature, in words, if it surely has one that no ideal has; of a category,
        what its levels are worth as far as that is known; else empty
    best : the best level or value in words, where it is known
    """

    feature: str
    value: float | None
    low: float | None
    high: float | None
    share: float
    verdict: str
    shape: str = ""
    best: str = ""

    def wanted(self, feature: FeatureRange) -> float | str | None:
        """The best value for a program: a number, or a level or a date as text; None where none is known."""
        if feature.role in (NUMBER, LOG):
            return self.value if self.verdict == SWEET_SPOT else None
        return self.best or None

    @property
    def says_something(self) -> bool:
        """Whether anything is known of what is wanted, be it only that less is better on average."""
        return self.verdict != NOT_KNOWN or bool(self.shape)

    def in_few_words(self, feature: FeatureRange) -> str:
        """As more is better; ideal about 3 (2 to 5); less is better, with a drop near 900."""
        if self.verdict in (*SHAPES, WORST, BY_LEVEL) and self.shape:
            return self.shape
        if self.verdict in (SWEET_SPOT, WORST) and self.value is not None:
            between = ""
            if self.low is not None and self.high is not None:
                between = within((self.low, self.high), (feature.lowest, feature.highest), feature.text)
            return self._about(feature.text(self.value), between)
        said = Translatable("not known yet") if self.verdict == NOT_KNOWN else feature.word(self.verdict)
        return (
            Translatable("{first}; {second}", first=said, second=feature.word(self.shape))
            if self.shape
            else said
        )

    def _about(self, value: str, between: str) -> str:
        """Where it is best, or worst."""
        if self.verdict == SWEET_SPOT:
            if between:
                return Translatable("ideal about {value} ({between})", value=value, between=between)
            return Translatable("ideal about {value}", value=value)
        if between:
            return Translatable("worst about {value} ({between})", value=value, between=between)
        return Translatable("worst about {value}", value=value)


def decide_most(
    shares: Iterable[tuple[str, float]], verdicts: Iterable[FeatureVerdict]
) -> list[tuple[str, float]]:
    """The two features that decide most, the largest share first, as far as it is known what is wanted.

    None if features of which nothing is known, as copies of each other, decide more together.
    """
    known = {one.feature for one in verdicts if one.says_something}
    every = list(shares)
    unknown = sum(share for name, share in every if name not in known)
    return [one for one in takewhile(lambda one: one[0] in known, every) if one[1] > unknown][:2]


@dataclass(frozen=True)
class Shape:
    """A shape of the taste along a feature, where it is (two places of two peaks), and how probable."""

    feature: str
    kind: str
    at: tuple[float, ...]
    probability: float

    @property
    def words(self) -> str:
        """As a drop near 900; levels off above 70; two peaks, near 3 and near 9."""
        first, last = plain(self.at[0]), plain(self.at[-1])
        if self.kind == TWO_PEAKS:
            return Translatable("two peaks, near {first} and near {last}", first=first, last=last)
        if self.kind == LEVELS_ABOVE:
            return Translatable("levels off above {value}", value=first)
        if self.kind == LEVELS_BELOW:
            return Translatable("levels off below {value}", value=first)
        if self.kind == WORST:
            return Translatable("the middle is the worst, near {value}", value=first)
        if self.kind == DROP:
            return Translatable("a drop near {value}", value=first)
        return Translatable("a rise near {value}", value=first)

    @property
    def text(self) -> str:
        """As price: a drop near 900."""
        return f"{self.feature}: {self.words}"


@dataclass(frozen=True)
class LevelScore:
    """What a level of a category is worth against the average item: log odds of being chosen.

    `low` and `high` are the ends of its interval, or None; `is_known` says whether its sign is.
    """

    feature: str
    level: str
    score: float
    low: float | None
    high: float | None
    is_known: bool

    @property
    def text(self) -> str:
        """As rural +0.4."""
        return f"{self.level} {self.score:+.1f}"


@dataclass(frozen=True)
class NotKnown:
    """Something that the answers do not tell."""

    kind: str
    text: str


@dataclass(frozen=True)
class DeclaredWish:
    """A wish that was declared before any answer, as it was written, and what it means for the items.

    Without a `wish`, what all of them together leave out.
    """

    wish: str
    text: str


@dataclass(frozen=True)
class ComparedKind:
    """A kind of preference, how well it predicts answers that it has not seen, and its weight in the fit."""

    name: str
    metric: str
    item_effects: bool
    accuracy: float
    log_loss: float
    in_use: bool
    weight: float


@dataclass(frozen=True)
class SurprisingAnswer:
    """An answer that the model thinks improbable."""

    winner: str
    loser: str
    probability: float

    @property
    def text(self) -> str:
        """As chose X over Y although the model gives that 4 %."""
        return (
            f"chose {self.winner} over {self.loser} although the model gives that {percent(self.probability)}"
        )


@dataclass(frozen=True)
class Trust:
    """How far to trust the rest; NaN, None and empty stand for what is not known.

    Parameters
    ----------
    accuracy, log_loss : of answers that were not learned from: the share that is predicted, and the mean of
        -log p, a coin's being 0.5 and 0.693
    basis : how they were found: "left out" (each answer predicted from those about other pairs), "evidence"
        (questions were chosen by their answers; what the model, as far as the evidence supports it, expects
        of random new questions), "withheld" (the answers follow the sides, so that it says nothing) or "none"
    smooth_weight, description_accuracy : where the model averages an ideal point with a smooth taste, the
        latter's share, and the accuracy of the ideal point alone, which the words describe
    log_odds : the logarithm of how much likelier the answers are with a taste than with a coin
    kinds, advice : kinds of preference put to the test, and what follows from that
    agreement, ceiling : the share of its own answers that the model has right, and the most that any model
        could have, pairs being contradicted or tied
    asked_again, contradicted, ties : pairs asked more than once, pairs answered both ways, and ties
    lapse, lapse_low, lapse_high : the share of answers given at random, and its interval
    effects : the spread of the items' own effects over that of their distances, where it is supported
    surprises : the most improbable answers
    warnings, cautions : sentences of caution, and their kinds
    """

    accuracy: float
    log_loss: float
    basis: str
    smooth_weight: float = 0.0
    description_accuracy: float = math.nan
    log_odds: float = math.nan
    kinds: tuple[ComparedKind, ...] = ()
    advice: str = ""
    agreement: float = math.nan
    ceiling: float = math.nan
    asked_again: int | None = None
    contradicted: int | None = None
    ties: int | None = None
    lapse: float = math.nan
    lapse_low: float = math.nan
    lapse_high: float = math.nan
    effects: float | None = None
    surprises: tuple[SurprisingAnswer, ...] = ()
    warnings: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True)
class TiedItems:
    """Items next to each other in the ranking of which the answers do not tell which is better."""

    items: tuple[str, ...]

    @property
    def text(self) -> str:
        """As tea, coffee and milk."""
        return listed(self.items, MOST_TIED)


@dataclass(frozen=True)
class Ranked:
    """One of the best items; `best` and `worst` are the ends of its rank's interval.

    `first_probability` is that of being the best of all, where items have no features; NaN elsewhere.
    """

    item: str
    rank: int
    best: int | None
    worst: int | None
    distance: float
    values: tuple[float | str, ...]
    first_probability: float = math.nan

    @property
    def text(self) -> str:
        """As 3rd, between 1st and 6th."""
        if self.best is None or self.worst is None or self.best == self.worst == self.rank:
            return ordinal(self.rank)
        return f"{ordinal(self.rank)}, between {ordinal(self.best)} and {ordinal(self.worst)}"
