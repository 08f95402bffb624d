"""What everybody's answers together say, as plain data for a page or a program."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from coombs.blas import serial
from coombs.data import naming
from coombs.insights.people_covariates import covariate_findings, without_findings
from coombs.insights.people_explanation import PeopleExplanation, names_items, plain_values
from coombs.insights.people_groups import groups_of
from coombs.insights.people_pictures import (
    ConsensusPlaces,
    PeopleAgreement,
    PeopleBand,
    PeopleMap,
    consensus_ranking_data,
    people_agreement_data,
    people_band_data,
    people_map_data,
)
from coombs.progress import listening

if TYPE_CHECKING:
    from coombs.data.comparisons import Comparisons
    from coombs.estimators.population import Population
    from coombs.insights.people_records import PeopleGroup

LEARNED = 0.88
"""Share of the way once everybody's taste is learned; the rest is telling it."""
METRIC = "auto"
"""Kind of preference, of `Population`."""
MOST_PLACES = 500
"""Items in the consensus."""


class PersonRow(NamedTuple):
    """A person in the table: `likely` is the probability of the group, `coin` that all was at random."""

    name: str
    answers: int
    consistency: float
    group: int
    likely: float
    coin: float
    best: str


@dataclass(frozen=True, eq=False)
class GroupResult:
    """Everybody in a study; without a pattern, only who answered how much.

    `consensus` has the best items for all (0) and for each group; `table` is a row a person for export.
    """

    told: PeopleExplanation
    groups: tuple[PeopleGroup, ...]
    people: tuple[PersonRow, ...]
    consensus: dict[int, ConsensusPlaces]
    map: PeopleMap | None
    band: PeopleBand | None
    agreement: PeopleAgreement | None
    table: Any

    @property
    def has_pattern(self) -> bool:
        """Whether the answers tell more than a coin's would."""
        return self.told.has_pattern

    def to_dict(self) -> dict[str, Any]:
        """In plain types, for JSON."""
        consensus = {
            "all" if group == 0 else str(group): [
                {"item": item, "mean_place": mean, "half_of_people": [low, high]}
                for item, mean, (low, high) in zip(
                    one.items, one.mean.tolist(), one.quantiles[:, [1, 3]].tolist(), strict=True
                )
            ]
            for group, one in self.consensus.items()
        }
        groups = [asdict(one) | {"words": one.words} for one in self.groups]
        people = [one._asdict() for one in self.people]
        plain: dict[str, Any] = plain_values(
            {"has_pattern": self.has_pattern, "explanation": asdict(self.told), "groups": groups}
            | {"people": people, "consensus": consensus}
        )
        return plain


def group_result(
    data: Comparisons,
    advance: Callable[[float], None] = lambda share: None,
    n_jobs: int = 1,
    current: Sequence[int] | None = None,
    people: Any = None,
) -> GroupResult:
    """Learn what people share and which groups there are; `advance` is told the share that is done.

    Only the items at the positions `current` are ranked, by default all. `people` is a frame of what they
    said of themselves: groups are found without it.
    """
    from coombs.estimators.population import Population

    with warnings.catch_warnings():
        # What a fit is not sure of stands in the explanation.
        warnings.simplefilter("ignore")
        with listening(lambda share: advance(LEARNED * share)):
            population = Population(metric=METRIC, groups="auto", n_jobs=n_jobs).fit(data)
        told = _covariates(population, data, people, n_jobs)
    if current is not None and len(current) < data.n_items:
        population._rank_only(current)
    advance(LEARNED)
    with serial(0):
        result = _result_of(population, advance, answers_of(data))
    return replace(result, told=replace(result.told, **told)) if result.has_pattern else result


def _covariates(population: Population, data: Comparisons, people: Any, n_jobs: int) -> dict[str, Any]:
    """What goes with what people said of themselves, by the likeliest kind; and what nothing goes with."""
    if people is None:
        return {}
    metric = max(population.kind_weights_, key=lambda kind: population.kind_weights_[kind])
    fit = type(population)(metric=metric, n_jobs=n_jobs).fit(data, people=people)
    return {"covariates": covariate_findings(fit), "untold": without_findings(fit)}


def answers_of(data: Comparisons) -> Counter[str]:
    """How many answers everybody gave; a best and a worst of four are one."""
    return Counter(naming.text(who) for who in data.answer_users.tolist())  # type: ignore[union-attr]


def _result_of(population: Population, advance: Callable[[float], None], counts: Counter[str]) -> GroupResult:
    """What the page shows of a fitted population, where people gave so many answers."""
    told = population.explain()
    assert isinstance(told, PeopleExplanation)
    advance((1 + LEARNED) / 2)
    frame, d = population.to_frame(ranks=told.has_pattern), len(population._scaler.columns)
    # A population counts the pairs that an answer about a set says something of.
    frame["answers"] = [counts[naming.text(who)] for who in frame["user"]]
    if not told.has_pattern:
        frame = frame[["user", "answers"]]
        rows = [PersonRow(naming.text(who), int(n), 0.5, 1, 1.0, 1.0, "") for who, n in frame.to_numpy()]
        return GroupResult(told, (), tuple(rows), {}, None, None, None, frame)
    return GroupResult(
        told,
        groups_of(population),
        _rows(population, frame),
        _consensus(population),
        people_map_data(population) if d > 1 else None,
        people_band_data(population) if d else None,
        people_agreement_data(population),
        frame,
    )


def _rows(population: Population, frame: Any) -> tuple[PersonRow, ...]:
    """Of everybody, in the order in which they came."""
    names = ("user", "answers", "consistency", "group", "group probability", "coin", "best")
    is_named = names_items(population)
    return tuple(
        PersonRow(
            naming.text(who),
            int(answers),
            float(consistent),
            int(group),
            float(likely),
            float(coin),
            naming.text(best) if is_named else "",
        )
        for who, answers, consistent, group, likely, coin, best in zip(
            *(frame[one] for one in names), strict=True
        )
    )


def _consensus(population: Population) -> dict[int, ConsensusPlaces]:
    """For all, and for each group that has members."""
    if not names_items(population):
        return {}
    found = {0: consensus_ranking_data(population, top=MOST_PLACES)}
    if population.n_groups_ > 1:
        for g in sorted({*population._group_of.tolist()} - {-1}):
            found[g + 1] = consensus_ranking_data(population, group=g + 1, top=MOST_PLACES)
    return found
