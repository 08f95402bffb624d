"""What is said about a map: one place for figures, reports and pages."""

from __future__ import annotations

from coombs.insights.maps import OVER_ITEMS, LevelSets
from coombs.words import listed


def mark_text(data: LevelSets) -> str:
    """What the turning point of a map is."""
    best = {"ideal": "best", "worst": "worst"}.get(data.kind)
    if best is None:
        return "best one way and worst another"
    if data.is_average:
        return f"the {best}{' for these two' * data.is_conditional} by the ideal alone"
    if data.is_conditional:
        return f"the {best} for these two, the other features at {data.others}"
    return "the ideal point" if data.is_ideal and data.kind == "ideal" else f"the {best}"


def others_text(data: LevelSets) -> str:
    """Where the features of a map are that do not change."""
    return f"other features are {'' if data.others == OVER_ITEMS else 'at '}{data.others}"


def map_text(data: LevelSets, better: str, mark: str) -> str:
    """What a map shows, what is marked in it by `mark`, and where the other features are."""
    parts = [f"Everything along a line is equally good; the {better}, the better. Dots are the items."]
    if data.is_average:
        parts.append("This is the taste that predicts and ranks, not the ideal alone.")
    if data.left_out:
        parts.append(f"Not drawn, as a value is not known: {listed(data.left_out)}.")
    parts.append(mark_caption(data, mark))
    if len(data.base) > 2:
        parts.append(f"For the lines, {others_text(data)}; each item is judged by its own.")
    return " ".join(filter(None, parts))


def mark_caption(data: LevelSets, mark: str) -> str:
    """What is marked in a map, by a `mark` if it is a point; or why nothing is."""
    wishes = "; ".join(f"{name}: {wish}" for name, wish in zip(data.features, data.wishes, strict=True))
    if data.inside:
        return f"The {mark} is {mark_text(data)}."
    if data.band is not None:
        by = " by the ideal alone" * data.is_average
        return f"The band is where {data.features[data.band.axis]} is {data.band.turn}{by} ({wishes})."
    if not data.is_known:
        return f"No point is marked, as the answers do not bear out that one is best ({wishes})."
    if data.kind == "ideal" and data.towards is not None:
        what = mark_text(data)
        return f"{what[0].upper()}{what[1:]} lies outside the picture."
    return "No point is marked, as these lines turn elsewhere than the ideal point." * (data.kind != "none")
