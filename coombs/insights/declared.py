"""What a person declared before any answer: directions that the fit obeys, and limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.directions import Directions
from coombs.data.encoding import DATE, ORDERED, YES_NO
from coombs.data.wishes import Wish, Wishes, keeping, wishes_of
from coombs.insights.columns import table_columns
from coombs.insights.statements import NOT_KNOWN, DeclaredWish, FeatureVerdict
from coombs.language import Translatable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coombs.data.comparisons import Comparisons
    from coombs.data.tables import FloatArray
    from coombs.estimators.base import PairEstimator
    from coombs.insights.explained_fit import ExplainedFit

SIGNS = {"less": Translatable("less"), "more": Translatable("more")}
"""What directions of numbers are called."""
WORDS = {
    DATE: {"less": Translatable("earlier"), "more": Translatable("later")},
    ORDERED: {"less": Translatable("lower"), "more": Translatable("higher")},
    YES_NO: {"less": Translatable("no"), "more": Translatable("yes to")},
}
"""What directions of other columns are called, by the role of the column."""
CAPITALS = {
    "less": Translatable("Less"),
    "more": Translatable("More"),
    "earlier": Translatable("Earlier"),
    "later": Translatable("Later"),
    "lower": Translatable("Lower"),
    "higher": Translatable("Higher"),
    "no": Translatable("No"),
    "yes to": Translatable("Yes to"),
}
"""What directions of numbers are called at the beginning of a sentence."""
CONTRADICTED = 0.45
"""Share of answers predicted below which they seem to say the opposite of what was declared."""
NEARLY = 0.05
"""Logits between neighbouring values by which a direction may be broken, as a sampler's rounding."""


def declared_of(est: PairEstimator) -> Wishes | None:
    """The wishes of a fit about its items, if there are any."""
    return wishes_of(est.wishes, est._data.item_table) if est.wishes else None


def directions_of(est: PairEstimator) -> dict[str, str]:
    """What is never worse of each feature of which that was declared: less, more, later, ..."""
    declared = declared_of(est)
    if declared is None:
        return {}
    roles = {one.name: one.column.role for one in table_columns(est.model_)}
    words = {name: WORDS.get(roles[name], SIGNS) for name in declared.directions}
    return {name: words[name][wish.form] for name, wish in declared.directions.items()}


def declared_wishes(fit: ExplainedFit, accuracy: float) -> Iterator[DeclaredWish]:
    """Each wish in words, then what the limits leave out of the answers.

    `accuracy` is that of predictions of answers that were not learned from.
    """
    declared = declared_of(fit.est)
    if declared is None:
        return
    n, directions = len(declared.inside), directions_of(fit.est)
    for wish in declared.wishes:
        if not wish.is_limit:
            is_obeyed = _broken(fit.est, wish) <= NEARLY
            word = CAPITALS[directions[wish.feature]]
            text = Translatable("{word} {feature} is never worse.", word=word, feature=wish.feature)
            opposite = Translatable(
                "{wish}: the answers say the opposite, so that it is not obeyed everywhere.", wish=str(wish)
            )
            yield DeclaredWish(str(wish), text if is_obeyed else opposite)
            continue
        outside = n - int(wishes_of(str(wish), fit.data.item_table).inside.sum())
        kept = Translatable("{wish}: all items keep it.", wish=str(wish))
        if outside:
            kept = Translatable(
                "{wish}: {n} item of {total} outside.|{wish}: {n} items of {total} outside.",
                wish=str(wish),
                n=outside,
                total=n,
            )
        yield DeclaredWish(str(wish), kept)
    if not declared.inside.all():
        yield from _left_out(fit.data, declared)
    if declared.signs.any() and accuracy < CONTRADICTED:
        text = Translatable(
            "Answers are predicted worse than by a coin: they may say the opposite of what was declared."
        )
        yield DeclaredWish("", text)


def _broken(est: PairEstimator, wish: Wish) -> float:
    """By how much, at most, a direction is broken between neighbouring values of its feature, in logits."""
    scaler, data = est._scaler, est._data
    signs = wishes_of(str(wish), data.item_table).signs[scaler.columns]
    directions = Directions.of(scaler.forward(data.items), signs)
    if directions is None:
        return 0.0

    def scores(points: FloatArray) -> FloatArray:
        whole = np.tile(data.items.mean(axis=0), (len(points), 1))
        whole[:, scaler.columns] = scaler.centre[scaler.columns] + scaler.sizes[scaler.columns] * points
        return est.model_.scores_of(whole)

    better, worse = directions.lines()
    return float((scores(better) - scores(worse)).max())


def _left_out(data: Comparisons, declared: Wishes) -> Iterator[DeclaredWish]:
    """How many answers the limits explain, and how many go against them."""
    used, total = len(keeping(data, declared.inside)), len(data)
    if used == total:
        return
    yield DeclaredWish(
        "",
        Translatable(
            "{n} answer of {total} not learned from, as the limits decide it: how well answers are predicted "
            "is about the others.|{n} answers of {total} not learned from, as the limits decide them: how "
            "well answers are predicted is about the others.",
            n=total - used,
            total=total,
        ),
    )
    winners, losers, _ = data.oriented()
    against = ~declared.inside[winners] & declared.inside[losers]
    pairs = len(np.unique(np.column_stack([winners, losers])[against], axis=0))
    if pairs:
        text = Translatable(
            "{n} time an item outside the limits was preferred to one inside."
            "|{n} times an item outside the limits was preferred to one inside.",
            n=pairs,
        )
        yield DeclaredWish("", text)


def with_declared(est: PairEstimator, verdicts: Iterable[FeatureVerdict]) -> list[FeatureVerdict]:
    """Verdicts in which a declared direction stands where the answers alone do not tell what is wanted."""
    directions = directions_of(est)
    return [
        replace(
            one,
            shape=Translatable("{word} is never worse, as declared", word=directions[one.feature]),
        )
        if one.verdict == NOT_KNOWN and one.feature in directions
        else one
        for one in verdicts
    ]
