"""What the answers do not tell: features whose best value is not known, items never compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from coombs.data.encoding import YES_NO
from coombs.insights.declared import directions_of
from coombs.insights.statements import NOT_KNOWN, FeatureVerdict, NotKnown
from coombs.language import Translatable

if TYPE_CHECKING:
    from coombs.insights.explained_fit import ExplainedFit


def vague_features(fit: ExplainedFit, ideal: tuple[FeatureVerdict, ...]) -> Iterator[NotKnown]:
    """Features of which the answers do not tell what is wanted."""
    told, known = ideal if fit.has_pattern is not False else (), directions_of(fit.est)
    vague = [one for one in told if one.verdict == NOT_KNOWN and one.feature not in known]
    categories = {one.name for one in fit.columns if one.is_category}
    if names := [one.feature for one in vague if one.feature in categories]:
        text = Translatable("It is not known yet which levels are better: {features}.", features=names)
        yield NotKnown("not known yet", text)
    either = {one.name for one in fit.columns if one.column.role == YES_NO}
    if names := [one.feature for one in vague if one.feature in either]:
        text = Translatable("It is not known yet whether yes or no is better: {features}.", features=names)
        yield NotKnown("not known yet", text)
    vague = [one for one in vague if one.feature not in categories | either]
    if names := [one.feature for one in vague if not one.shape]:
        text = Translatable("It is not known yet whether more or less is better: {features}.", features=names)
        if fit.has_ideal:
            text = Translatable(
                "It is not known yet whether more, less or something in between is better: {features}.",
                features=names,
            )
        yield NotKnown("not known yet", text)
    leaning = [one for one in vague if one.shape]
    if leaning:
        text = Translatable(
            "It is not known yet whether there is a best value in between: {features}.",
            features=[
                Translatable("{feature} ({wish})", feature=one.feature, wish=one.shape) for one in leaning
            ],
        )
        yield NotKnown("not known yet", text)


def never_compared(fit: ExplainedFit, alone: int) -> str:
    """How many items were never compared, and what ranks them, if anything does."""
    total = fit.data.n_items
    if fit.has_pattern is False:
        return Translatable(
            "{n} of {total} items was never compared.|{n} of {total} items were never compared.",
            n=alone,
            total=total,
        )
    if fit.features:
        return Translatable(
            "{n} of {total} items was never compared; only its features rank it."
            "|{n} of {total} items were never compared; only their features rank them.",
            n=alone,
            total=total,
        )
    return Translatable(
        "{n} of {total} items was never compared; nothing is known of it."
        "|{n} of {total} items were never compared; nothing is known of them.",
        n=alone,
        total=total,
    )
