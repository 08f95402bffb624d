"""How people differ: what matters to each, and how far their rankings agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from coombs.evaluation import kendall_tau_distance
from coombs.study import Study
from coombs.web.findings import Findings
from coombs.web.registry import Registry
from coombs.words import percent

LEAST_ANSWERS = 8
MOST_PEOPLE = 12
"""Answers that a person needs to be compared, and people that are: each takes a fit."""


class Wish(NamedTuple):
    """What a feature is to one person."""

    share: float
    text: str


class Difference(NamedTuple):
    """A feature and what it is to everybody, in the order of the people."""

    feature: str
    wishes: tuple[Wish, ...]


class Differences(NamedTuple):
    """People side by side; `agreement` has the share of pairs of items that two rank alike."""

    people: tuple[str, ...]
    favourites: tuple[tuple[str, ...], ...]
    features: tuple[Difference, ...]
    agreement: tuple[tuple[float, ...], ...]
    left_out: int

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
        least = f"{self._alike(*pairs[0])}; they differ most about {feature}."
        return least if len(pairs) == 1 else f"{self._alike(*pairs[-1])}, the most of all. {least}"

    def _alike(self, one: int, other: int) -> str:
        share = percent(self.agreement[one][other])
        return f"{self.people[one]} and {self.people[other]} would rank {share} of all pairs alike"


def enough(study: Study) -> int:
    """Answers that a person needs to be compared with others."""
    return max(LEAST_ANSWERS, 2 * len(study.catalogue.features))


def differences(registry: Registry, study: Study) -> Differences | None:
    """The people with the most answers side by side; None where fewer than two have enough."""
    counts = sorted(study.storage.respondents(study.record.id), key=lambda pair: -pair[1])
    able = [record for record, n in counts if n >= enough(study)]
    found = [registry.findings(registry.respondent(record.token)) for record in able[:MOST_PEOPLE]]
    people = [one for one in found if one is not None]
    if len(people) < 2:
        return None
    return Differences(
        tuple(one.respondent.name for one in people),
        tuple(tuple(place.name for place in one.ranking[:3]) for one in people),
        tuple(_features(people)),
        tuple(tuple(_agreement(one, other) for other in people) for one in people),
        len(able) - len(people),
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
