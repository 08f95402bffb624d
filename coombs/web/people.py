"""How people differ: what matters to each, and how far their rankings agree."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from coombs.evaluation import kendall_tau_distance
from coombs.study import Study
from coombs.web.findings import Findings
from coombs.web.registry import Registry
from coombs.words import percent

LEAST_ANSWERS = 8
"""Answers that a person needs to be compared."""
MOST_PEOPLE = 12
"""People that are compared: each takes a fit, of about a second."""
MOST_NAMES = 20
"""Names of people who are left out that are told."""


class Wish(NamedTuple):
    """What a feature is to one person."""

    share: float
    text: str


class Difference(NamedTuple):
    """A feature and what it is to everybody, in the order of the people."""

    feature: str
    wishes: tuple[Wish, ...]


class LeftOut(NamedTuple):
    """Names of people who are not compared: as there is no room, with too few answers, without a pattern."""

    crowded: tuple[str, ...]
    few: tuple[str, ...]
    patternless: tuple[str, ...]

    def sentence(self, n_compared: int, least: int) -> str:
        """How many are compared, and who is not, and why."""
        everybody = n_compared + sum(map(len, self))
        if n_compared == everybody:
            return f"All {everybody} people are compared."
        reasons = [
            (self.crowded, "not more answers than those compared"),
            (self.few, f"fewer than {least} answers"),
            (self.patternless, "no pattern in the answers yet"),
        ]
        told = "; ".join(f"{_some(names)} ({why})" for names, why in reasons if names)
        some = (
            f"{n_compared} of {everybody} people are compared; left out: " if n_compared > 1 else "Left out: "
        )
        return f"{some}{told}."


def _some(names: Sequence[str]) -> str:
    """Names, and how many more there are."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


class Differences(NamedTuple):
    """People side by side; `agreement` has the share of pairs of items that two rank alike."""

    people: tuple[str, ...]
    favourites: tuple[tuple[str, ...], ...]
    features: tuple[Difference, ...]
    agreement: tuple[tuple[float, ...], ...]

    @property
    def summary(self) -> str:
        """Who agrees most and least, and about what those differ."""
        pairs = sorted(
            combinations(range(len(self.people)), 2), key=lambda pair: self.agreement[pair[0]][pair[1]]
        )
        one, other = pairs[0]
        feature = max(
            self.features, key=lambda row: abs(row.wishes[one].share - row.wishes[other].share)
        ).feature
        least = f"{self._alike(*pairs[0])}; what differs most is how much {feature} matters to them."
        return least if len(pairs) == 1 else f"{self._alike(*pairs[-1])}, the most of all. {least}"

    def _alike(self, one: int, other: int) -> str:
        share = percent(self.agreement[one][other])
        return f"{self.people[one]} and {self.people[other]} would rank {share} of all pairs alike"


def enough(study: Study) -> int:
    """Answers that a person needs to be compared with others."""
    return max(LEAST_ANSWERS, 2 * len(study.catalogue.features))


class Comparison(NamedTuple):
    """Whom the page is about, in a sentence, and how they differ, if there are two or more."""

    sentence: str
    differences: Differences | None


def compared(registry: Registry, study: Study) -> Comparison:
    """The people with the most answers side by side, and who is left out."""
    counts = study.storage.respondents(study.record.id)
    # Of people with equally many answers those come first whom a hash of the name puts first.
    order = sorted(counts, key=lambda pair: (-pair[1], zlib.crc32(pair[0].name.encode()), pair[0].name))
    able = [record for record, n in order if n >= enough(study)]
    chosen = sorted(able[:MOST_PEOPLE], key=lambda record: record.id)
    found = [registry.findings(registry.respondent(record.token)) for record in chosen]
    people = [one for one in found if one is not None and one.has_pattern]
    named = {one.respondent.name for one in people}
    left_out = LeftOut(
        tuple(record.name for record in able[MOST_PEOPLE:]),
        tuple(record.name for record, n in order if n < enough(study)),
        tuple(record.name for record in chosen if record.name not in named),
    )
    sentence = left_out.sentence(len(people), enough(study))
    return Comparison(sentence, _differences(people) if len(people) > 1 else None)


def _differences(people: Sequence[Findings]) -> Differences:
    return Differences(
        tuple(one.respondent.name for one in people),
        tuple(tuple(place.name for place in one.ranking[:3]) for one in people),
        tuple(_features(people)),
        tuple(tuple(_agreement(one, other) for other in people) for one in people),
    )


def _features(people: Sequence[Findings]) -> list[Difference]:
    """Features by what they matter to all, the most important first."""
    matters = [{matter.feature: matter for matter in one.matters} for one in people]
    rows = [
        Difference(name, tuple(Wish(one[name].share, one[name].wish) for one in matters))
        for name in matters[0]
    ]
    return sorted(rows, key=lambda row: -sum(wish.share for wish in row.wishes))


def _agreement(one: Findings, other: Findings) -> float:
    """The share of pairs of items that both rank alike."""
    return 1 - float(kendall_tau_distance(one.result.model.distances_, other.result.model.distances_))
