"""What is said about a map: one place for figures, reports and pages."""

from __future__ import annotations

from coombs.insights.maps import OVER_ITEMS, LevelSets
from coombs.language import Translatable
from coombs.words import listed


def mark_text(data: LevelSets) -> str:
    """What the turning point of a map is."""
    if data.kind == "ideal":
        return _best_text(data)
    if data.kind != "worst":
        return Translatable("best one way and worst another")
    if data.is_average and data.is_conditional:
        return Translatable("the worst for these two by the ideal alone")
    if data.is_average:
        return Translatable("the worst by the ideal alone")
    if data.is_conditional:
        return Translatable("the worst for these two, the other features at {others}", others=data.others)
    return Translatable("the worst")


def _best_text(data: LevelSets) -> str:
    """What the best point of a map is."""
    if data.is_average and data.is_conditional:
        return Translatable("the best for these two by the ideal alone")
    if data.is_average:
        return Translatable("the best by the ideal alone")
    if data.is_conditional:
        return Translatable("the best for these two, the other features at {others}", others=data.others)
    return Translatable("the ideal point") if data.is_ideal else Translatable("the best")


def others_text(data: LevelSets) -> str:
    """Where the features of a map are that do not change."""
    if data.others == OVER_ITEMS:
        return Translatable("other features are averaged over the items")
    return Translatable("other features are at {others}", others=data.others)


def map_text(data: LevelSets, better: str, mark: str) -> str:
    """What a map shows, what is marked in it by `mark`, and where the other features are."""
    text: str = Translatable(
        "Everything along a line is equally good; the {better}, the better. Dots are the items.",
        better=better,
    )
    for part in _parts(data, mark):
        text = Translatable("{first} {second}", first=text, second=part)
    return text


def _parts(data: LevelSets, mark: str) -> list[str]:
    """Sentences about a map, after the first."""
    parts: list[str] = []
    if data.is_average:
        parts.append(Translatable("This is the taste that predicts and ranks, not the ideal alone."))
    if data.left_out:
        parts.append(
            Translatable("Not drawn, as a value is not known: {items}.", items=listed(data.left_out))
        )
    parts.append(mark_caption(data, mark))
    if len(data.base) > 2:
        parts.append(
            Translatable("For the lines, {others}; each item is judged by its own.", others=others_text(data))
        )
    return [part for part in parts if part]


def mark_caption(data: LevelSets, mark: str) -> str:
    """What is marked in a map, by a `mark` if it is a point; or why nothing is."""
    one, other = (
        Translatable("{feature}: {wish}", feature=name, wish=wish)
        for name, wish in zip(data.features, data.wishes, strict=True)
    )
    wishes = Translatable("{first}; {second}", first=one, second=other)
    if data.inside:
        return Translatable("The {mark} is {what}.", mark=mark, what=mark_text(data))
    if data.band is not None:
        turn = Translatable("best") if data.band.turn == "best" else Translatable("worst")
        named = {"feature": data.features[data.band.axis], "turn": turn, "wishes": wishes}
        if data.is_average:
            return Translatable(
                "The band is where {feature} is {turn} by the ideal alone ({wishes}).", **named
            )
        return Translatable("The band is where {feature} is {turn} ({wishes}).", **named)
    if not data.is_known:
        return Translatable(
            "No point is marked, as the answers do not show that one is best ({wishes}).", wishes=wishes
        )
    if data.kind == "ideal" and data.towards is not None:
        return Translatable("Outside the picture lies {what}.", what=mark_text(data))
    if data.kind == "none":
        return ""
    return Translatable("No point is marked, as these lines turn elsewhere than the ideal point.")
