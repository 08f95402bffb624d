"""What a person declared before any answer: directions that the fit obeys, and limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.wishes import Wish, Wishes, keeping, wishes_of
from coombs.insights.statements import NOT_KNOWN, DeclaredWish, FeatureVerdict
from coombs.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coombs.data.comparisons import Comparisons
    from coombs.estimators.base import PairEstimator
    from coombs.insights.case import Case


def declared_of(est: PairEstimator) -> Wishes | None:
    """The wishes of a fit about its items, if there are any."""
    given = getattr(est, "wishes", ())
    return wishes_of(given, est._data.item_table) if given else None


def declared_wishes(case: Case) -> Iterator[DeclaredWish]:
    """Each wish in words, then what the limits leave out of the answers."""
    declared = declared_of(case.est)
    if declared is None:
        return
    n = len(declared.inside)
    for wish in declared.wishes:
        if not wish.is_limit:
            yield DeclaredWish(str(wish), f"{wish.form.capitalize()} {wish.feature} is never worse.")
            continue
        outside = n - int(wishes_of(str(wish), case.data.item_table).inside.sum())
        kept = f"{count(outside, 'item')} of {n} outside" if outside else "all items keep it"
        yield DeclaredWish(str(wish), f"{wish}: {kept}.")
    if not declared.inside.all():
        yield from _left_out(case.data, declared)


def _left_out(data: Comparisons, declared: Wishes) -> Iterator[DeclaredWish]:
    """How many answers the limits explain, and how many go against them."""
    used, total = len(keeping(data, declared.inside)), len(data)
    if used == total:
        return
    text = f"{count(total - used, 'answer')} of {total} not learned from, as the limits decide them."
    winners, losers, _ = data.oriented()
    against = ~declared.inside[winners] & declared.inside[losers]
    pairs = len(np.unique(np.column_stack([winners, losers])[against], axis=0))
    if pairs:
        text += f" {count(pairs, 'time')} an item outside them was preferred to one inside."
    yield DeclaredWish("", text)


def with_declared(est: PairEstimator, verdicts: Iterable[FeatureVerdict]) -> list[FeatureVerdict]:
    """Verdicts in which a declared direction stands where the answers alone do not tell what is wanted."""
    given = getattr(est, "wishes", ())
    directions: dict[str, Wish] = {}
    if given:
        found = wishes_of(given, est._data.item_table).wishes
        directions = {wish.feature: wish for wish in found if not wish.is_limit}
    return [
        replace(one, shape=f"{directions[one.feature].form} is never worse, as declared")
        if one.verdict == NOT_KNOWN and one.feature in directions
        else one
        for one in verdicts
    ]


def is_declared(est: PairEstimator, feature: str) -> bool:
    """Whether a direction of a feature was declared."""
    declared = declared_of(est)
    return declared is not None and any(
        wish.feature == feature and not wish.is_limit for wish in declared.wishes
    )
