"""All that is said of a fit or a model, as one frozen record, and how a model file keeps it."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from types import NoneType
from typing import Any

from coombs.data.tables import InputError
from coombs.insights.columns import ChosenScale
from coombs.insights.statements import (
    KINDS,
    NOT_KNOWN,
    Combination,
    DeclaredWish,
    FeatureRange,
    FeatureVerdict,
    LevelScore,
    NotKnown,
    Ranked,
    Shape,
    Slope,
    TiedItems,
    TradeOff,
    Trust,
)

FIT = "fit"
"""An explanation of a fit with its answers."""
FINDINGS = "findings"
"""An explanation of the findings that a model file keeps of a fit."""
MODEL = "model"
"""An explanation of a model of which only the numbers are known."""
KEPT = (
    "has_pattern",
    "n_people",
    "n_answers",
    "n_items",
    "metric",
    "level",
    "intervals",
    "trade_off_item",
)
"""Fields of an explanation that a model file keeps, beside the lists of `KEPT_LISTS` and some of `trust`."""
KEPT_TRUST = (
    "accuracy",
    "log_loss",
    "basis",
    "smooth_weight",
    "description_accuracy",
    "warnings",
    "cautions",
)
"""Fields of `trust` that a model file keeps."""
NO_TRUST = Trust(math.nan, math.nan, "none")
"""Trust where nothing is known of how well answers are predicted."""


@dataclass(frozen=True)
class Explanation:
    """What is known of a taste: print it, show it in a notebook, or take `to_dict`.

    Parameters
    ----------
    source : what it is of: a "fit" with its answers, the "findings" of one in a model file, or a "model" of
        which only the numbers are known
    has_pattern : False where the answers tell no more than a coin's would: then nothing is claimed; None
        where the answers are not there to tell
    n_people, n_answers, n_items : how many people gave how many answers about how many items; None where
        that is not known
    metric : the kind of preference, such as "full"
    level : of all intervals; NaN of a model alone
    intervals : whether there are intervals
    features : each feature with its range among the items
    ideal : what is wanted of each feature: a `verdict`, a `value` with its ends, and its `share`
    directions : combinations of features that act together, the most important first
    slopes : of a linear preference, how much more of a feature is better, the strongest first
    shapes : drops, rises, peaks and levels of the taste along a feature
    levels : what the levels of a category are worth, the best first, where that is supported
    trade_off_item, trade_offs : the item at which they are told, and what is worth what there
    unknowns : what the answers do not tell
    trust : how far to trust the rest: `accuracy` and `log_loss` on answers not learned from, warnings
    ranking : the best items, each with the ranks that it may have
    tied : of items without features, neighbours in the ranking that the answers do not tell apart
    wishes : what was declared before any answer, and what it leaves out
    scales : numbers that are on a log scale, or on none, because that predicts the answers better

    Examples
    --------
    >>> from coombs import IdealPoint
    >>> from coombs.simulate import make_preferences
    >>> truth = make_preferences(n_comparisons=60, random_state=0)
    >>> told = IdealPoint(truth.items, metric="identity").fit(truth.pairs, truth.y).explain()
    >>> told.has_pattern, told.n_answers, told.ideal[0].verdict
    (True, 60, 'sweet spot')
    """

    source: str
    has_pattern: bool | None
    n_people: int | None
    n_answers: int | None
    n_items: int | None
    metric: str
    level: float
    intervals: bool
    features: tuple[FeatureRange, ...]
    ideal: tuple[FeatureVerdict, ...]
    directions: tuple[Combination, ...] = ()
    slopes: tuple[Slope, ...] = ()
    shapes: tuple[Shape, ...] = ()
    levels: tuple[LevelScore, ...] = ()
    trade_off_item: str = ""
    trade_offs: tuple[TradeOff, ...] = ()
    unknowns: tuple[NotKnown, ...] = ()
    trust: Trust = NO_TRUST
    ranking: tuple[Ranked, ...] = ()
    tied: tuple[TiedItems, ...] = ()
    wishes: tuple[DeclaredWish, ...] = ()
    scales: tuple[ChosenScale, ...] = ()

    def __str__(self) -> str:
        # Printing is the one thing for which a record knows of what renders it.
        from coombs.render.sections import page
        from coombs.render.sentences import sections

        return page(sections(self))

    def _repr_html_(self) -> str:
        from coombs.render.sections import fragment
        from coombs.render.sentences import sections

        return fragment(sections(self))

    def without_claims(self) -> Explanation:
        """Return what can be said of the same answers if there is no pattern in them.

        Returns
        -------
        Explanation in which nothing is claimed, `has_pattern` being False

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[1, 0], [1, 2]])
        >>> est.explain().without_claims().ranking
        ()
        """
        nothing = tuple(
            FeatureVerdict(one.feature, None, None, None, math.nan, NOT_KNOWN) for one in self.ideal
        )
        careful = zip(self.trust.cautions, self.trust.warnings, strict=True)
        # Of what was learned.
        kept = {kind: text for kind, text in careful if kind != "several tastes"}
        trust = replace(self.trust, surprises=(), warnings=tuple(kept.values()), cautions=tuple(kept))
        if self.has_pattern:
            # How well a taste predicts that is none is not worth telling.
            trust = Trust(math.nan, math.nan, "withheld")
        return replace(
            self,
            has_pattern=False,
            directions=(),
            slopes=(),
            ideal=nothing,
            shapes=(),
            levels=(),
            trade_off_item="",
            trade_offs=(),
            unknowns=tuple(one for one in self.unknowns if one.kind != "not known yet"),
            trust=trust,
            ranking=(),
            tied=(),
        )

    def findings(self) -> dict[str, Any]:
        """Return what the answers support, for a model file, so that the model says the same as the fit.

        Returns
        -------
        dict of plain Python types that JSON can hold

        Examples
        --------
        >>> from dataclasses import replace
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[1, 0], [1, 2]])
        >>> model = replace(est.model_, findings=est.explain().findings())
        >>> model.explain().n_answers
        2
        """
        plain = self.to_dict()
        kept = {name: plain[name] for name in (*KEPT, *KEPT_LISTS)}
        return kept | {"trust": {name: plain["trust"][name] for name in KEPT_TRUST}}

    @classmethod
    def from_findings(cls, found: dict[str, Any]) -> Explanation:
        """Return an explanation that holds just these, as `Model.explain` does.

        Parameters
        ----------
        found : what `findings` gave

        Returns
        -------
        Explanation

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[1, 0], [1, 2]])
        >>> Explanation.from_findings(est.explain().findings()).source
        'findings'
        """
        try:
            # Models of earlier versions do not have all of these.
            later = ("shapes", "levels", "unknowns", "wishes", "scales")
            given = {**{name: [] for name in later}, **found}
            lists: dict[str, Any] = {
                name: tuple(_record(kind, one) for one in given[name]) for name, kind in KEPT_LISTS.items()
            }
            told: dict[str, Any] = {name: given[name] for name in KEPT}
            for field in fields(cls):
                if field.name in told:
                    _check(field.name, told[field.name], str(field.type).removesuffix(" | None"))
            if told["metric"] not in KINDS or told["level"] is None:
                raise ValueError(f"metric is {told['metric']!r}, level is {told['level']!r}")
            if len(lists["ideal"]) not in (0, len(lists["features"])):
                raise ValueError("features and ideal are not of one length")
            if any(one.lowest > one.highest for one in lists["features"]):
                raise ValueError("the lowest value of a feature is above the highest")
            if not all(shape.at for shape in lists["shapes"]):
                raise ValueError("a shape is nowhere")
            trust = _record(Trust, given["trust"])
            if len(trust.warnings) != len(trust.cautions):
                raise ValueError("warnings and cautions are not of one length")
            return cls(source=FINDINGS, **told, **lists, trust=trust)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"The model's findings cannot be read ({error!r}).") from error

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python types that JSON can hold, sentences under `text`.

        Returns
        -------
        dict of the attributes, records being dicts, tuples lists and NaN None

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[1, 0], [1, 2]])
        >>> est.explain().to_dict()["n_items"]
        3
        """
        result: dict[str, Any] = _plain(self)
        return result


KEPT_LISTS: dict[str, Any] = {
    "features": FeatureRange,
    "ideal": FeatureVerdict,
    "shapes": Shape,
    "levels": LevelScore,
    "trade_offs": TradeOff,
    "unknowns": NotKnown,
    "wishes": DeclaredWish,
    "scales": ChosenScale,
}
"""Lists of records that a model file keeps."""
READABLE: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "bool | None": (bool, NoneType),
    "float": (float, int, NoneType),
    "float | None": (float, int, NoneType),
    "int": (int,),
    "int | None": (int, NoneType),
    "str": (str,),
    "tuple[float, ...]": (list,),
    "tuple[str, ...]": (list,),
}
"""What a file may hold for a field of a type; null stands for NaN."""


def _record(kind: Any, found: dict[str, Any]) -> Any:
    """A record from its plain form, of which `text` is not a part; TypeError where the types differ."""
    values: dict[str, Any] = {}
    for field in fields(kind):
        if field.name not in found and field.default is not MISSING:
            continue
        value = found[field.name]
        _check(field.name, value, str(field.type))
        if field.type == "float" and value is None:
            value = math.nan
        if isinstance(value, list):
            value = tuple(map(float if field.type == "tuple[float, ...]" else _text, value))
        values[field.name] = value
    return kind(**values)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _check(name: str, value: Any, annotation: str) -> None:
    if type(value) not in READABLE[annotation] or (type(value) is float and not math.isfinite(value)):
        raise TypeError(f"{name} is {value!r}")


def _plain(value: Any) -> Any:
    """Records as dicts, tuples as lists, NaN as None, texts without what they were made of."""
    if is_dataclass(value):
        result = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        text = getattr(value, "text", None)
        return result | {"text": str.__str__(text)} if isinstance(text, str) else result
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, str):
        return str.__str__(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
