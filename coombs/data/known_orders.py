"""Words whose order everybody knows: sizes, grades, how often, how much, months, days, numbers in text."""

from __future__ import annotations

import re
from collections.abc import Sequence

SCALES = (
    "xxs|2xs, xs|extra small, s|small, m|medium, l|large, xl|extra large, xxl|2xl, xxxl|3xl, xxxxl|4xl",
    "tiny|very small, small, medium|mid|middle|normal|regular, large|big, huge|very large|very big",
    "none|no, very low|lowest, low|lower, medium|moderate|mid|middle|normal|average, "
    "high|higher, very high|highest",
    "none, weak|mild|light|slight, medium|moderate, strong|severe|heavy, very strong|very severe|very heavy",
    "terrible|awful|worst, very poor|very bad, poor|bad, fair|ok|okay|average|acceptable|mediocre, good, "
    "very good|great, excellent|outstanding|best",
    "never, rarely|seldom|hardly ever|almost never, sometimes|occasionally, often|frequently, "
    "usually|very often|mostly|almost always, always",
    "strongly disagree, disagree|somewhat disagree, neutral|neither|neither agree nor disagree|undecided, "
    "agree|somewhat agree, strongly agree",
    "very dissatisfied|very unsatisfied, dissatisfied|unsatisfied, neutral|neither, "
    "satisfied, very satisfied",
    "very unlikely, unlikely, neutral|possible|maybe, likely, very likely|certain",
    "unimportant|not important, slightly important|somewhat important, important|moderately important, "
    "very important, extremely important|essential",
    "not at all, a little|slightly|little, somewhat|moderately, very|very much|a lot, extremely|completely",
    "very cheap, cheap|inexpensive|budget, affordable|moderate|mid-range|medium, expensive|premium, "
    "very expensive|luxury",
    "very slow, slow, medium|moderate|normal, fast|quick, very fast|very quick",
    "very easy|beginner, easy|novice, medium|moderate|intermediate|normal, hard|difficult|advanced, "
    "very hard|very difficult|expert",
    "cold, cool, mild|warm, hot, very hot|boiling",
    "daily|every day, weekly|every week, monthly|every month, quarterly, yearly|annually|every year",
    "basement, ground floor|ground, first floor, second floor, third floor, fourth floor, fifth floor",
    "first|1st, second|2nd, third|3rd, fourth|4th, fifth|5th, sixth|6th, seventh|7th, eighth|8th, ninth|9th",
    "one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve",
    "bronze, silver, gold, platinum, diamond",
    "january|jan, february|feb, march|mar, april|apr, may, june|jun, july|jul, august|aug, "
    "september|sep|sept, october|oct, november|nov, december|dec",
    "monday|mon, tuesday|tue|tues, wednesday|wed, thursday|thu|thur|thurs, "
    "friday|fri, saturday|sat, sunday|sun",
)
"""From low to high, with commas between places, and | between words for the same place."""
_PLACES = [
    {word: float(k) for k, place in enumerate(scale.split(", ")) for word in place.split("|")}
    for scale in SCALES
]
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_SPACES = re.compile(r"[\s_]+")


def known_order(levels: Sequence[str]) -> tuple[str, ...] | None:
    """The levels from low to high, if everybody would put them so; None if that is not known.

    Examples
    --------
    >>> known_order(["M", "XL", "S"]), known_order(["2 stars", "10 stars", "1 star"]), known_order(["a", "b"])
    (('S', 'M', 'XL'), ('1 star', '2 stars', '10 stars'), None)
    """
    places = _numbered(levels)
    words = [_SPACES.sub(" ", level.strip().lower()) for level in levels]
    for scale in _PLACES:
        if places is None and all(word in scale for word in words):
            places = [scale[word] for word in words]
    if places is None or len(set(places)) < len(levels):
        return None
    return tuple(level for _, level in sorted(zip(places, levels, strict=True)))


def _numbered(levels: Sequence[str]) -> list[float] | None:
    """The number in each level, if all have one and are alike but for it."""
    found = [_NUMBER.findall(level) for level in levels]
    rests = {_NUMBER.sub("", level).strip().lower().removesuffix("s") for level in levels}
    if len(rests) > 1 or any(len(numbers) != 1 for numbers in found):
        return None
    return [float(numbers[0].replace(",", ".")) for numbers in found]
