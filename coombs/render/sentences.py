"""An explanation in words and tables: each sentence of the page stands here, or with the record it is of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from coombs.data.encoding import CATEGORY
from coombs.insights.explanation import FINDINGS, FIT, MODEL
from coombs.insights.statements import BY_LEVEL, NOT_KNOWN, SHAPES, SWEET_SPOT, WORST
from coombs.render.sections import Block, Points, Section, TableBlock
from coombs.words import LESS_IS_BETTER, NO_PATTERN, count, no_more, percent, plain, short, together

if TYPE_CHECKING:
    from coombs.insights.explanation import Explanation
    from coombs.insights.statements import FeatureRange, FeatureVerdict, Trust

NO_BEST = "So there is no best item to tell."
"""The same of items without features."""
NOTHING = "So there is no ideal, no best item and no trade-off to tell."
"""What follows where there is no pattern."""
BY_ANSWERS = "Items are ranked by the answers alone."
"""How items without features are judged."""
MAY_BE_BEST = 0.05
"""Probability of being the best from which on an item without features is named for it."""
TOLD_SMOOTH = 0.05
"""Share of a smooth taste in the average from which on it is told."""
TOLD_EFFECTS = 0.2
"""Spread of the items' own effects, relative to that of what the features say, from which on it is told."""
MANY_LAPSES = 0.03
"""Share of answers given at random from which on it is told, if it is surely more."""
CLEARLY = 1.0
"""With n answers, a log loss is clearly better than a coin's if it is less by this over sqrt n."""
JUDGED = {
    "items": "No feature varies, so items are judged by themselves alone.",
    "none": "The model takes more or less of each feature to be better, without an ideal in between.",
    "identity": "The model judges items by their distance from an ideal, all features alike.",
    "diagonal": "The model judges items by their distance from an ideal, each feature with its own weight.",
    "full": "The model judges items by their distance from an ideal, features acting together.",
    "signed": "The model judges items by an ideal or a worst point, features acting together.",
    "smooth": "The model is a taste of any smooth shape, without an ideal.",
    "nothing": "The features say nothing: every item is as good as every other.",
}
"""How the model judges items, by its kind."""
SMOOTH_ALONE = (
    "The model has a smooth part, so there is no single ideal to tell. Its words need the findings of the "
    "fit, which `coombs fit --out` writes into the model."
)
"""Of a model with a smooth part that has no findings."""
ESTIMATE = (
    "These are the numbers of an estimate. Whether the answers support them is not known: a coin's answers "
    "would give such numbers, too."
)
"""Of an estimate without a posterior, and of a model without findings."""
BEST_TOGETHER = (
    "The best values belong together: where an item is off one of them, the best value of another may change."
)
"""Of sweet spots where features act together: the ideal point's values, not the best with the rest as is."""
NOT_HERE = {
    FINDINGS: "Which answers surprise and the ranking are not in a model: coombs fit tells them from the "
    "answers. Nor are effects of single items.",
    MODEL: "How sure any of this is, which answers surprise and how well it predicts are not in a model: "
    "coombs fit tells them from the answers. Nor are effects of single items.",
}
"""What a model does not hold, with its findings and without."""
NO_DOUBT_HERE = (
    "Which answers surprise and how sure each rank is are not in a model: coombs fit tells them from the "
    "answers. coombs rank lists the ranking."
)
"""The same of items without features."""


def sections(told: Explanation, missing: str | None = None) -> list[Section]:
    """The page: those of its sections that have something to say.

    `missing` is what is said of what a model does not hold.
    """
    absent = NOT_HERE[FINDINGS if told.source == FINDINGS else MODEL] if told.features else NO_DOUBT_HERE
    absent = missing or absent
    found = (
        Section("What was declared", [Points([one.text for one in told.wishes])] if told.wishes else []),
        Section(NO_PATTERN, list(_no_pattern(told))),
        Section("What matters" if told.features else "Which is best", list(_matters(told))),
        Section("Trade-offs", list(_trade_offs(told))),
        Section("Scales", [Points([one.text for one in told.scales])] if told.scales else []),
        Section("What is not known", list(_unknowns(told, absent))),
        Section("How far to trust it", list(_trust(told))),
        Section("Ranking", list(_ranking(told))),
        Section("What is not here", [absent] if told.source == FINDINGS else []),
    )
    return [section for section in found if section.blocks]


def _unknowns(told: Explanation, missing: str) -> Iterator[Block]:
    if told.unknowns:
        yield Points([one.text for one in told.unknowns])
    elif told.source == FIT and told.has_pattern:
        yield "Nothing stands out."
    if told.source == MODEL:
        yield missing


def _no_pattern(told: Explanation) -> Iterator[Block]:
    if told.has_pattern is not False:
        return
    losses = [kind.log_loss for kind in told.trust.kinds]
    people = told.n_people or 1
    nothing = NOTHING if told.features else NO_BEST
    if losses and min(losses) < math.log(2) - CLEARLY / math.sqrt(told.n_answers or 1):
        yield f"{_source(told)}For this kind of preference they tell no more than tossing a coin would."
        yield f"{nothing} Another kind of preference predicts them: see below."
    else:
        yield f"{_source(told)}{no_more(people, 'they')}"
        yield nothing if people > 1 else f"{nothing} More answers may show a pattern."


def _source(told: Explanation) -> str:
    """What it was learned from, where that is known."""
    if told.n_answers is None or told.n_items is None:
        return ""
    n, people = f"{count(told.n_answers, 'answer')} about {count(told.n_items, 'item')}", told.n_people or 1
    whose = f" by {together(people)}," if people > 1 else ""
    features = f" with {count(len(told.features), 'feature')}" if told.features else ""
    return f"From {n}{whose.removesuffix(',' * (not features))}{features}. "


def _matters(told: Explanation) -> Iterator[Block]:
    if told.has_pattern is False:
        return
    if not told.features:
        yield f"{_source(told)}{BY_ANSWERS}"
        yield from _likely_best(told)
        return
    if told.source == MODEL and told.metric == "smooth":
        yield SMOOTH_ALONE
        return
    is_average = told.trust.smooth_weight >= TOLD_SMOOTH and told.metric != "smooth"
    yield f"{_source(told)}{_average(told) if is_average else JUDGED[told.metric]}"
    if told.ideal and told.metric not in ("items", "nothing"):
        if told.has_pattern is None:
            yield ESTIMATE
        yield _wanted(told)
        spots = [one for one in told.ideal if one.verdict == SWEET_SPOT]
        if told.metric in ("full", "signed") and len(spots) > 1:
            yield BEST_TOGETHER
    if told.shapes:
        yield "Along single features the taste has shapes that no ideal has:"
        yield Points([f"{one.text}." for one in told.shapes])
    yield from _levels(told)
    if told.slopes:
        rows = [
            (one.feature, f"{'times ' * one.is_factor}{short(one.deviation)}", f"{one.gain:+.2f}")
            for one in told.slopes
        ]
        yield TableBlock("lrr", ("feature", "standard deviation", "log-odds for one more"), rows)
    if told.source == MODEL and told.directions:
        yield from _directions(told)


def _likely_best(told: Explanation) -> Iterator[Block]:
    """Of items without features: which may well be the best, and which are tied as far as it is known."""
    likely = [one for one in told.ranking if one.first_probability >= MAY_BE_BEST]
    if likely:
        named = [f"{one.item} ({percent(one.first_probability)})" for one in likely]
        yield f"Likely the best: {', '.join(named)}."
    if told.tied:
        yield "Which is better is not sure among:"
        yield Points([f"{one.text}." for one in told.tied])


def _levels(told: Explanation) -> Iterator[Block]:
    """What the levels of each category are worth, the best first."""
    for name in dict.fromkeys(one.feature for one in told.levels):
        yield f"{name}, log-odds of being chosen against the average item:"
        rows = [
            (one.level, f"{one.score:+.1f}", _ends(one.low, one.high), "" if one.is_known else NOT_KNOWN)
            for one in told.levels
            if one.feature == name
        ]
        heading = (name, "worth", f"{100 * told.level:g} % interval" if rows[0][2] else "", "better or worse")
        yield TableBlock("lrrl", heading, rows)


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:+.1f} to {high:+.1f}"


def _average(told: Explanation) -> str:
    """What predicts, what is told of the ideal in it, and what that alone would lose."""
    trust = told.trust
    ideal, smooth = percent(1 - trust.smooth_weight), percent(trust.smooth_weight)
    text = f"The model averages an ideal ({ideal}) with any smooth taste ({smooth})."
    if trust.smooth_weight > 1 - TOLD_SMOOTH:
        text = "The answers speak for a smooth taste rather than an ideal."
    if all(one.value is None for one in told.ideal):
        return text
    text += " Best values are those of the ideal alone"
    if not math.isfinite(trust.description_accuracy):
        return f"{text}."
    alone, both = percent(trust.description_accuracy), percent(trust.accuracy)
    return f"{text}, which predicts {alone} of the answers; the model, {both}."


def _wanted(told: Explanation) -> TableBlock:
    """What is wanted of each feature; a linear taste has no ideal, a convex program no intervals."""
    heading = [
        "feature",
        "weight",
        "by the estimate" if told.has_pattern is None else "what is wanted",
        "best at",
        f"{100 * told.level:g} % interval",
        "items have",
    ]
    ranked = sorted(zip(told.features, told.ideal, strict=True), key=lambda pair: -pair[1].share)
    rows = [[one.feature, _share(one.share), *_cells(feature, one)] for feature, one in ranked]
    kept = [k for k in range(len(heading)) if any(row[k] not in ("", "-") for row in rows)]
    align = "".join("lrlrrr"[k] for k in kept)
    return TableBlock(align, [heading[k] for k in kept], [[row[k] for k in kept] for row in rows])


def _cells(feature: FeatureRange, one: FeatureVerdict) -> tuple[str, str, str, str]:
    """The verdict, with where a worst value is; the best value, its interval, and the items' range."""
    is_worst_at = one.verdict == WORST and one.value is not None
    wanted = f"{one.verdict}, about {feature.text(one.value)}" if is_worst_at else feature.word(one.verdict)
    if one.verdict in (NOT_KNOWN, *SHAPES, BY_LEVEL) and one.shape:
        wanted = feature.word(one.shape)
    is_best, is_known = one.verdict == SWEET_SPOT, one.low is not None and one.high is not None
    between = f"{feature.text(one.low)} to {feature.text(one.high)}" if is_best and is_known else "-"
    lowest, highest = feature.item_text(feature.lowest), feature.item_text(feature.highest)
    items = "-" if math.isnan(feature.range) else f"{lowest} to {highest}"
    items = f"{len(feature.levels)} levels" if feature.role == CATEGORY else items
    return wanted, feature.text(one.value) if is_best else "-", between, items


def _share(share: float) -> str:
    return "" if math.isnan(share) else percent(share)


def _directions(told: Explanation) -> Iterator[Block]:
    """Of a model alone, how features act together."""
    sizes = [(one.name, one.deviation) for one in told.features if one.deviation > 0]
    unit = "standard deviations" if sizes else "their own units"
    rows = [(percent(one.share), one.text, "anti-ideal" if one.anti_ideal else "") for one in told.directions]
    yield TableBlock("rll", ("share", f"direction, in {unit}", ""), rows)
    if sizes:
        yield f"Standard deviations: {', '.join(f'{name} {plain(size)}' for name, size in sizes)}."


def _trade_offs(told: Explanation) -> Iterator[Block]:
    if told.trade_off_item and not told.trade_offs:
        yield f"None to tell at {told.trade_off_item}."
    elif told.trade_offs:
        if told.trade_off_item:
            yield f"At {told.trade_off_item}, for small changes:"
        elif told.has_pattern is None:
            yield "By the estimate:"
        yield Points([f"{one.text}." for one in told.trade_offs])


def _trust(told: Explanation) -> Iterator[Block]:
    trust, people = told.trust, told.n_people or 1
    yield from _accuracy(told)
    yield from _kinds(told)
    yield from _ceiling(trust)
    if told.has_pattern is False or told.source == MODEL:
        return
    if trust.lapse_low > MANY_LAPSES and people == 1:
        ends = dict.fromkeys(map(percent, (trust.lapse_low, trust.lapse_high)))
        yield f"{' to '.join(ends)} of the answers look as if they were given at random."
    if people > 1:
        yield (
            f"These are {people} people together: where they differ, the model is about none of them, "
            "and their differences look like answers given at random."
        )
    if trust.effects is not None and trust.effects >= TOLD_EFFECTS:
        yield (
            "Items differ by more than their features tell: the spread of their own effects is "
            f"{trust.effects:.2f} times that of what the features say."
        )
    if trust.warnings:
        yield Points([f"Careful: {warning}" for warning in trust.warnings])
    if trust.surprises:
        yield "Surprising answers:"
        yield Points([f"{one.text}." for one in trust.surprises])


def _accuracy(told: Explanation) -> Iterator[Block]:
    """How well answers are predicted that were not learned from."""
    trust = told.trust
    loss = f"log loss {trust.log_loss:.3f} (a coin: 0.693)."
    if trust.basis == "left out":
        yield f"{percent(trust.accuracy)} of the answers are predicted from the others (a coin: 50 %); {loss}"
    elif trust.basis == "evidence":
        new = f"About {percent(trust.accuracy)} of answers to new questions should be predicted"
        yield f"{new} (a coin: 50 %); {loss}"
    elif trust.basis == "withheld":
        yield "There is nothing to put to the test."
    elif told.intervals:
        yield "Only one pair was compared, so nothing can be put to the test."
    elif math.isfinite(trust.agreement):
        yield (
            f"The model agrees with {percent(trust.agreement)} of the answers it was learned from; how well "
            "it predicts other answers is not known."
        )


def _kinds(told: Explanation) -> Iterator[Block]:
    """Each kind of preference put to the test, and which of them are in use."""
    kinds = told.trust.kinds
    if not kinds:
        return
    used = [kind for kind in kinds if kind.in_use]
    yield "How well each kind of preference predicts answers from the others:"
    rows = []
    for kind in kinds:
        use = "in use" if len(used) == 1 else f"in use ({percent(kind.weight)} of the average)"
        cells = kind.name, percent(kind.accuracy), f"{kind.log_loss:.3f}", use if kind.in_use else ""
        rows.append(cells)
    yield TableBlock("lrrl", ("kind of preference", "right", "log loss", ""), rows)
    if not told.intervals:
        yield "These are of posteriors, not of the convex program in use."
    if told.trust.advice:
        yield told.trust.advice


def _ceiling(trust: Trust) -> Iterator[str]:
    """What contradictions and ties leave to any model."""
    if trust.ceiling < 1:
        causes = [(trust.contradicted, "contradicted pair"), (trust.ties, "tie")]
        # Choices and rankings may contradict each other without a pair that was asked again.
        both = " and ".join(count(n, noun) for n, noun in causes if n) or "answers at odds"
        yield f"With {both}, no model can agree with more than {percent(trust.ceiling)}."
    elif trust.asked_again:
        yield f"No answer contradicts another ({count(trust.asked_again, 'pair')} asked more than once)."


def _ranking(told: Explanation) -> Iterator[Block]:
    if not told.ranking:
        return
    is_ideal = told.metric in ("identity", "diagonal", "full")
    is_distance = is_ideal and told.trust.effects is None and not told.trust.smooth_weight
    rows = [
        (
            one.item,
            one.text,
            f"{one.distance:.3g}",
            *(feature.item_text(value) for feature, value in zip(told.features, one.values, strict=True)),
        )
        for one in told.ranking
    ]
    names = [feature.name for feature in told.features]
    heading = ("item", "rank", "distance" if is_distance else LESS_IS_BETTER, *names)
    if not names:
        rows = [(one.item, one.text, percent(one.first_probability)) for one in told.ranking]
        heading = ("item", "rank", "probability of being the best")
    yield TableBlock("llr" + "r" * len(names), heading, rows)
