"""What a fit says: one record for each kind of statement, and the page they make up."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from coombs.data.tables import InputError
from coombs.render import text as rendering
from coombs.render.text import WORST as WORST
from coombs.render.text import short
from coombs.words import ordinal, percent, plain, weighted_sum

MORE, LESS, SWEET_SPOT = "more is better", "less is better", "sweet spot"
HARDLY, NOT_KNOWN, CONSTANT = "hardly matters", "not known", "always the same"
"""The verdicts on a feature: the whole list."""
DROP, RISE, TWO_PEAKS = "a drop", "a rise", "two peaks"
LEVELS_ABOVE, LEVELS_BELOW = "levels off above", "levels off below"
"""The shapes of a taste along a feature that an ideal point does not have: the whole list."""
FINDINGS = (
    "has_pattern",
    "n_people",
    "n_answers",
    "n_items",
    "metric",
    "level",
    "intervals",
    "features",
    "ideal",
    "shapes",
    "trade_off_item",
    "trade_offs",
)
"""What of an explanation a model file keeps, beside how well it predicts."""
TOLD_TRUST = ("accuracy", "log_loss", "basis", "smooth_weight", "description_accuracy")
"""What it keeps of that."""
COUNTS = ("n_people", "n_answers", "n_items")
"""Those of them that count something."""
UNKNOWN_TRUST: dict[str, Any] = {
    "smooth_weight": 0.0,
    "description_accuracy": math.nan,
    "log_odds": math.nan,
    "kinds": (),
    "advice": "",
    "agreement": math.nan,
    "ceiling": 1.0,
    "asked_again": 0,
    "contradicted": 0,
    "ties": 0,
    "lapse": 0.0,
    "lapse_low": 0.0,
    "lapse_high": 1.0,
    "effects": None,
    "surprises": (),
    "warnings": (),
    "cautions": (),
}
"""What a model file does not keep."""
MOST_LOADINGS = 6
"""Of a direction, told in words."""


@dataclass(frozen=True)
class Feature:
    """A feature as the fitted items have it; `distinct` counts its values up to 3."""

    name: str
    lowest: float
    highest: float
    deviation: float
    distinct: int
    whole: bool

    @property
    def range(self) -> float:
        """From the lowest to the highest."""
        return self.highest - self.lowest

    def text(self, value: float | None) -> str:
        """A value with the decimals that the feature's range calls for."""
        if value is None:
            return "-"
        size = self.range or abs(self.lowest) or 1.0
        decimals = max(0, math.ceil(math.log10(50 / size)))
        if decimals > 6 or max(abs(value), size) >= 1e7:
            return f"{value:.3g}"
        text = f"{value:.{decimals}f}"
        return text if float(text) else text.removeprefix("-")


@dataclass(frozen=True)
class Direction:
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
    """How much better one standard deviation more of a feature is: log-odds of being chosen."""

    feature: str
    deviation: float
    gain: float
    share: float


@dataclass(frozen=True)
class Ideal:
    """What is wanted of a feature: a verdict, where it is best if there is such a place, and its weight.

    `share` is how much the feature decides, as a share of all; NaN without a pattern. `low` and `high` go no
    farther than the items.
    """

    feature: str
    value: float | None
    low: float | None
    high: float | None
    share: float
    verdict: str


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
        if self.kind in (LEVELS_ABOVE, LEVELS_BELOW):
            return f"{self.kind} {plain(self.at[0])}"
        comma = "," * (self.kind == TWO_PEAKS)
        return f"{self.kind}{comma} {' and '.join(f'near {plain(place)}' for place in self.at)}"

    @property
    def text(self) -> str:
        """As price: a drop near 900."""
        return f"{self.feature}: {self.words}"


@dataclass(frozen=True)
class TradeOff:
    """A change of one feature for the better, and the change of another for the worse that it is worth.

    `low` and `high` are the ends of the latter's interval, the smaller change first, or None.
    """

    feature: str
    change: float
    other: str
    other_change: float
    low: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        """As 1.3 more of battery hours is worth about 10 more of price (6 to 17)."""
        one, other = _amount(self.change, self.feature), _amount(self.other_change, self.other)
        if self.low is None or self.high is None:
            return f"{one} is worth about {other}"
        return f"{one} is worth about {other} ({short(abs(self.low))} to {short(abs(self.high))})"


@dataclass(frozen=True)
class Unknown:
    """Something that the answers do not tell."""

    kind: str
    text: str


@dataclass(frozen=True)
class Kind:
    """A kind of preference, and how well it predicts answers that it has not seen."""

    name: str
    metric: str
    item_effects: bool
    accuracy: float
    log_loss: float
    in_use: bool


@dataclass(frozen=True)
class Surprise:
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
    """How far to trust the rest.

    `accuracy` and `log_loss` are of answers that were not learned from: the share that is predicted, and
    the mean of -log p, a coin's being 0.5 and 0.693. `basis` says how they were found: "left out" (each
    answer predicted from those about other pairs), "evidence" (questions were chosen by their answers; what
    the model, as far as the evidence bears it out, expects of random new questions), "withheld" (the answers
    follow the sides, so that it says nothing) or "none". `log_odds` is
    the logarithm of how much likelier the answers are with a taste than with a coin.
    `agreement` is the share of its own answers that the model has right, `ceiling` the most that
    any model could have, pairs being contradicted or tied; `lapse` the share of answers given at random,
    between `lapse_low` and `lapse_high`; `effects` the spread of the items' own
    effects over that of their distances; `cautions` are the kinds of the warnings. Where the model averages
    an ideal point with a smooth taste, `smooth_weight` is the latter's share, and `description_accuracy` what
    the ideal point, which the words describe, would have alone (NaN where that is not known).
    """

    accuracy: float
    log_loss: float
    basis: str
    smooth_weight: float
    description_accuracy: float
    log_odds: float
    kinds: tuple[Kind, ...]
    advice: str
    agreement: float
    ceiling: float
    asked_again: int
    contradicted: int
    ties: int
    lapse: float
    lapse_low: float
    lapse_high: float
    effects: float | None
    surprises: tuple[Surprise, ...]
    warnings: tuple[str, ...]
    cautions: tuple[str, ...]


@dataclass(frozen=True)
class Ranked:
    """One of the best items; `best` and `worst` are the ends of its rank's interval."""

    item: str
    rank: int
    best: int | None
    worst: int | None
    distance: float
    values: tuple[float, ...]

    @property
    def text(self) -> str:
        """As 3rd, between 1st and 6th."""
        if self.best is None or self.worst is None:
            return ordinal(self.rank)
        if self.best == self.worst == self.rank:
            return ordinal(self.rank)
        return f"{ordinal(self.rank)}, between {ordinal(self.best)} and {ordinal(self.worst)}"


@dataclass(frozen=True)
class Explanation:
    """What `explain` found: print it, show it in a notebook, or take `to_dict`.

    Where `has_pattern` is False the answers tell no more than a coin's would: nothing is claimed then.
    """

    has_pattern: bool
    n_people: int
    n_answers: int
    n_items: int
    metric: str
    level: float
    intervals: bool
    features: tuple[Feature, ...]
    directions: tuple[Direction, ...]
    slopes: tuple[Slope, ...]
    ideal: tuple[Ideal, ...]
    shapes: tuple[Shape, ...]
    trade_off_item: str
    trade_offs: tuple[TradeOff, ...]
    unknowns: tuple[Unknown, ...]
    trust: Trust
    ranking: tuple[Ranked, ...]

    def __str__(self) -> str:
        return rendering.to_text(self)

    def _repr_html_(self) -> str:
        return rendering.to_html(self)

    def without_claims(self) -> Explanation:
        """The same answers with no pattern in them: what cannot be said then is not there."""
        nothing = tuple(Ideal(one.feature, None, None, None, math.nan, NOT_KNOWN) for one in self.ideal)
        careful = zip(self.trust.cautions, self.trust.warnings, strict=True)
        # Of what was learned.
        kept = {kind: text for kind, text in careful if kind != "several tastes"}
        trust = replace(self.trust, surprises=(), warnings=tuple(kept.values()), cautions=tuple(kept))
        if self.has_pattern:
            # How well a taste predicts that is none is not worth telling.
            none = UNKNOWN_TRUST | {"accuracy": math.nan, "log_loss": math.nan, "basis": "withheld"}
            trust = Trust(**none)
        return replace(
            self,
            has_pattern=False,
            directions=(),
            slopes=(),
            ideal=nothing,
            shapes=(),
            trade_off_item="",
            trade_offs=(),
            unknowns=tuple(one for one in self.unknowns if one.kind != "not known yet"),
            trust=trust,
            ranking=(),
        )

    def findings(self) -> dict[str, Any]:
        """What the answers bear out, for a model file: `from_findings` reads it."""
        plain = _plain(self)
        return {name: plain[name] for name in FINDINGS} | {
            "trust": {name: plain["trust"][name] for name in TOLD_TRUST}
        }

    @classmethod
    def from_findings(cls, found: dict[str, Any]) -> Explanation:
        """An explanation that holds just these."""
        try:
            # Models of earlier versions have no shapes.
            told = {name: found[name] for name in FINDINGS if name != "shapes"}
            for name in COUNTS:
                if type(told[name]) is not int:
                    raise TypeError(f"{name} must be a whole number")
            told["features"] = tuple(_record(Feature, one) for one in told["features"])
            told["ideal"] = tuple(_record(Ideal, one) for one in told["ideal"])
            told["shapes"] = tuple(
                replace(_record(Shape, one), at=tuple(one["at"])) for one in found.get("shapes", ())
            )
            told["trade_offs"] = tuple(_record(TradeOff, one) for one in told["trade_offs"])
            known = {name: math.nan if value is None else value for name, value in found["trust"].items()}
            trust = Trust(**UNKNOWN_TRUST | known)
            rest: dict[str, Any] = dict.fromkeys(("directions", "slopes", "unknowns", "ranking"), ())
            result = cls(**told, **rest, trust=trust)
            str(result)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"The model's findings cannot be read ({error!r}).") from error
        return result

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python types that JSON can hold, sentences under `text`."""
        result: dict[str, Any] = _plain(self)
        return result


def _record(kind: Any, fields_of: dict[str, Any]) -> Any:
    """A record from its plain form, of which `text` is not a part."""
    return kind(**{field.name: fields_of[field.name] for field in fields(kind)})


def _amount(change: float, name: str) -> str:
    """As 1.3 more of battery hours."""
    return f"{short(abs(change))} {'more' if change > 0 else 'less'} of {name}"


def _plain(value: Any) -> Any:
    """Records as dicts, tuples as lists, NaN as None."""
    if is_dataclass(value):
        result = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        text = getattr(value, "text", None)
        return result | {"text": text} if isinstance(text, str) else result
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
