"""How people differ: what matters to each, and how far their rankings agree."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from coombs.evaluation import kendall_tau_distance
from coombs.study import Study
from coombs.web.fitted_result import FittedResult, Matter
from coombs.web.study_cache import StudyCache
from coombs.words import percent

LEAST_ANSWERS = 8
"""Answers that a person needs to be compared."""
MOST_PEOPLE = 12
"""People that are compared: each takes a fit, of about a second."""
MOST_NAMES = 20
"""People who are left out that are named."""
N_FAVOURITES = 3
"""Best items of each person that are shown."""


class Differences(NamedTuple):
    """People side by side.

    `features` has the matters of everybody, the feature that decides most for all of them first;
    `agreement` has the share of pairs of items that two people rank alike.
    """

    people: tuple[str, ...]
    favourites: tuple[tuple[str, ...], ...]
    features: tuple[tuple[Matter, ...], ...]
    agreement: tuple[tuple[float, ...], ...]

    @property
    def summary(self) -> str:
        """Who agrees most and least, and about what those differ."""
        pairs = sorted(
            combinations(range(len(self.people)), 2), key=lambda pair: self.agreement[pair[0]][pair[1]]
        )
        one, other = pairs[0]
        least = f"{self._alike(one, other)}."
        if self.features:
            most = max(self.features, key=lambda row: abs(row[one].share - row[other].share))
            about = f"what differs most is how much {most[0].feature} matters to them"
            least = f"{self._alike(one, other)}; {about}."
        return least if len(pairs) == 1 else f"{self._alike(*pairs[-1])}, the most of all. {least}"

    def _alike(self, one: int, other: int) -> str:
        share = percent(self.agreement[one][other])
        return f"{self.people[one]} and {self.people[other]} would rank {share} of all pairs alike"


def least_answers(study: Study) -> int:
    """Answers that a person needs to be compared with others."""
    return max(LEAST_ANSWERS, 2 * len(study.catalogue.features) or study.n_items)


def compare_people(cache: StudyCache, study: Study) -> tuple[str, Differences | None]:
    """Whom the page is about, in a sentence, and how they differ, if there are two or more."""
    least, counts = least_answers(study), study.storage.respondents(study.record.id)
    # Of people with equally many answers those come first whom a hash of the name puts first.
    order = sorted(counts, key=lambda pair: (-pair[1], zlib.crc32(pair[0].name.encode()), pair[0].name))
    able = [record for record, n in order if n >= least]
    chosen = sorted(able[:MOST_PEOPLE], key=lambda record: record.id)
    results = [cache.fitted(cache.respondent(record.token)) for record in chosen]
    people = [one for one in results if one is not None and one.has_pattern]
    named = {one.respondent.name for one in people}
    left_out = {
        "not more answers than those compared": [record.name for record in able[MOST_PEOPLE:]],
        f"fewer than {least} answers": [record.name for record, n in order if n < least],
        "no pattern in the answers yet": [record.name for record in chosen if record.name not in named],
    }
    return _sentence(len(people), len(order), left_out), _differences(people) if len(people) > 1 else None


def _sentence(n_compared: int, n_people: int, left_out: dict[str, list[str]]) -> str:
    """How many are compared, and who is not, and why."""
    if n_compared == n_people:
        return f"All {n_people} people are compared."
    reasons = "; ".join(f"{_some(names)} ({why})" for why, names in left_out.items() if names)
    if n_compared > 1:
        return f"{n_compared} of {n_people} people are compared; left out: {reasons}."
    return f"Left out: {reasons}."


def _some(names: Sequence[str]) -> str:
    """Names, and how many more there are."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _differences(people: Sequence[FittedResult]) -> Differences:
    matters = [{matter.feature: matter for matter in one.matters} for one in people]
    features = [tuple(one[name] for one in matters) for name in matters[0]]
    return Differences(
        tuple(one.respondent.name for one in people),
        tuple(tuple(place.name for place in one.ranking[:N_FAVOURITES]) for one in people),
        tuple(sorted(features, key=lambda row: -sum(matter.share for matter in row))),
        tuple(tuple(_agreement(one, other) for other in people) for one in people),
    )


def _agreement(one: FittedResult, other: FittedResult) -> float:
    """The share of pairs of items that both rank alike."""
    return 1 - float(kendall_tau_distance(one.result.model.distances_, other.result.model.distances_))
