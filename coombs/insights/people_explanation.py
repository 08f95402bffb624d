"""What is said of many people and of each: what they share, where they differ, what is best for all."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.blas import serial
from coombs.data import naming
from coombs.inference.people.tastes import LIKELY_COIN, MOST_TOLD
from coombs.inference.posterior import LEVEL
from coombs.insights.people_covariates import (
    CovariateFinding,
    covariate_findings,
    feature_labels,
    without_findings,
)
from coombs.insights.people_curves import curve_along, verdict_along
from coombs.insights.people_records import BestValue, GroupSummary, SharedFeature, SharedItem, UnlikePerson
from coombs.words import feature_names

if TYPE_CHECKING:
    from coombs.data.tables import FloatArray
    from coombs.estimators.person import Person
    from coombs.estimators.population import Population
    from coombs.inference.people.tastes import Taste

PATTERN = 3.0
"""Nats by which answers of people left out must be likelier than tosses of a coin for anything to be said."""
DRAWS = 1_000
"""Draws of the population's mean taste."""
MOST_SHOWN = 5
"""Items that are named as best, or as contested."""
DIFFER = 3.0
"""Nats by which the answers must be likelier with differences along a feature for them to be told."""
DIVIDED = 8.0
"""Nats by which the answers must be likelier with differences along a feature for people to be divided."""
MOSTLY = 0.5
"""Weight of kinds that have weights of features from which on people can be divided about one."""
MOST_EVIDENCE = 1_000_000
"""Answers times features up to which the evidence for differences is computed."""
SPLIT = 0.3
"""Share of people that must want the opposite of the others for them to be divided."""
LISTED = 2
"""Answers about an item, on average, from which on items are named."""
MOST_LOOKED_AT = 2_000
"""People up to whom it is looked for somebody who is unlike anybody."""


@dataclass(frozen=True)
class PeopleExplanation:
    """What is known of many people: print it, or take `to_dict`.

    Parameters
    ----------
    has_pattern : False where answers of people left out are no likelier than tosses of a coin: then nothing
        is claimed
    n_people, n_answers, n_items : how many people gave how many answers about how many items
    accuracy, log_loss : of answers of people that nothing but their other answers was learned from
    kinds : weights of the kinds of preference in the average
    lapse, coins : share of answers given at random; people who seem to toss a coin
    features : what people want of each feature
    best, contested : the best items for all, and those that many people surely like and many surely do not
    groups : of people, if there is more than one
    unlike : people whose answers are unlikely of anybody in the population, if they are 2,000 at most
    covariates : which tastes go with what is known of people, where answers of people left out support it
    untold : what is known of people that no taste is found to go with

    Examples
    --------
    >>> from coombs import Population
    >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> population.explain().n_people
    2
    """

    has_pattern: bool
    n_people: int
    n_answers: int
    n_items: int
    accuracy: float
    log_loss: float
    kinds: dict[str, float]
    lapse: float
    coins: int
    features: tuple[SharedFeature, ...] = ()
    best: tuple[SharedItem, ...] = ()
    contested: tuple[SharedItem, ...] = ()
    groups: tuple[GroupSummary, ...] = ()
    unlike: tuple[UnlikePerson, ...] = ()
    covariates: tuple[CovariateFinding, ...] = ()
    untold: tuple[str, ...] = ()

    @property
    def differ(self) -> bool:
        """Whether the answers show that people differ, along a feature, by groups or about items."""
        by_feature = any(one.deviation is not None for one in self.features)
        return by_feature or len(self.groups) > 1 or bool(self.contested)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in plain types, for JSON.

        Returns
        -------
        dict; numbers that are not known are None

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.explain().to_dict()["n_answers"]
        2
        """
        plain: dict[str, Any] = plain_values(asdict(self))
        return plain

    def __str__(self) -> str:
        from coombs.render.people_text import people_sections
        from coombs.render.sections import page

        return page(people_sections(self))

    def _repr_html_(self) -> str:
        from coombs.render.people_text import people_sections
        from coombs.render.sections import fragment

        return fragment(people_sections(self))


@dataclass(frozen=True)
class PersonExplanation:
    """What is known of one person out of many: print it, or take `to_dict`.

    Parameters
    ----------
    has_pattern : False where nothing is known of anybody's taste: then nothing is claimed
    name : what the person is called; empty of somebody new
    n_answers : how many answers of their own were learned from
    consistency : mean probability with which they choose what they like better of two items
    coin : probability that they toss a coin
    features : what they want of each feature, in `mean` with its ends and `verdict`
    ranking : the best items: name, the best and the worst rank that it may have

    Examples
    --------
    >>> from coombs import Population
    >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> population.person(1).explain().n_answers
    1
    """

    has_pattern: bool
    name: str
    n_answers: int
    consistency: float
    coin: float
    features: tuple[SharedFeature, ...] = ()
    ranking: tuple[tuple[str, int, int], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in plain types, for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.person(1).explain().to_dict()["name"]
        '1'
        """
        plain: dict[str, Any] = plain_values(asdict(self))
        return plain

    def __str__(self) -> str:
        from coombs.render.people_text import person_sections
        from coombs.render.sections import page

        return page(person_sections(self))

    def _repr_html_(self) -> str:
        from coombs.render.people_text import person_sections
        from coombs.render.sections import fragment

        return fragment(person_sections(self))


def explain_person(person: Person, population: Population) -> PersonExplanation:
    """The explanation of one person; without a pattern in everybody's answers nothing is claimed."""
    name = "" if person.name is None else naming.text(person.name)
    found = PersonExplanation(
        has_pattern(population), name, person.n_answers, person.consistency_, person.coin_probability_
    )
    if not found.has_pattern or found.coin > LIKELY_COIN:
        return found
    columns, names = population._scaler.columns.tolist(), names_of(population)
    features = []
    if columns:
        slopes = slopes_of(population, person._tastes)
        ends = np.quantile(slopes, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0).T.tolist()
        for k, j in enumerate(columns):
            mean, (low, high) = float(slopes[:, k].mean()), ends[k]
            one = SharedFeature(names[j], mean, low, high, None, None, "not known")
            features.append(with_verdict(population, person._tastes, slopes[:, k], j, one))
    ranking: tuple[tuple[str, int, int], ...] = ()
    if not population._is_described:
        table, best = population.item_table_, np.argsort(-person.utility(), kind="stable")[:MOST_SHOWN]
        ranks = person.rank_interval()[best].tolist()
        called = [str(i) if table.names is None else table.texts[i] for i in best.tolist()]
        ranking = tuple((item, low, high) for item, (low, high) in zip(called, ranks, strict=True))
    ordered = sorted(features, key=lambda one: -abs(one.mean))
    return replace(found, features=tuple(ordered), ranking=ranking)


def plain_values(value: Any) -> Any:
    """A value without numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: plain_values(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else naming.for_json(value)


def explain_people(population: Population) -> PeopleExplanation:
    """The explanation of a population; without a pattern, only what was asked and how badly it predicts."""
    with serial(0):
        return _explain_people(population)


def _explain_people(population: Population) -> PeopleExplanation:
    """`explain_people`, while BLAS has one thread."""
    trial, data = population._average.trial, population._data
    found = PeopleExplanation(
        has_pattern=has_pattern(population),
        n_people=len(population.people_),
        n_answers=len(data),
        n_items=len(population.item_table_.matrix),
        accuracy=trial.accuracy,
        log_loss=trial.log_loss,
        kinds=population.kind_weights_,
        lapse=float(population.lapse_),
        coins=int((population._everybody[1] > LIKELY_COIN).sum()),
    )
    if not found.has_pattern:
        return found
    # Imported here because they take what is above.
    from coombs.insights.people_groups import contested_items, summaries, unlike_anybody

    items = _items(population) if names_items(population) else ()
    unlike = unlike_anybody(population) if found.n_people <= MOST_LOOKED_AT else ()
    odd = [population._position(one.name) for one in unlike]
    return replace(
        found,
        features=_features(population),
        best=items[:MOST_SHOWN],
        contested=contested_items(population, items)[:MOST_SHOWN],
        groups=summaries(population),
        unlike=unlike,
        covariates=covariate_findings(population),
        untold=without_findings(population),
        # Whoever wants the opposite of all others does not toss a coin.
        coins=found.coins - int((population._everybody[1][odd] > LIKELY_COIN).sum()),
    )


def names_items(population: Population) -> bool:
    """Whether items are worth naming: profiles that hardly anybody has seen are not."""
    data = population._data
    return not population._is_described and 2 * len(data) >= LISTED * data.n_items


def has_pattern(population: Population) -> bool:
    """Whether answers of people left out are clearly likelier than tosses of a coin."""
    alone = population._alone
    return bool(population._average.trial.gain > PATTERN if alone is None else alone.explain().has_pattern)


def _items(population: Population) -> tuple[SharedItem, ...]:
    """All items, the best first by everybody's places."""
    frame = population.consensus("borda")
    names, n = frame["item"].map(str).tolist(), len(frame)
    places, deviations = frame["borda"].tolist(), (frame["disagreement"] * n).tolist()
    return tuple(SharedItem(*one) for one in zip(names, places, deviations, strict=True))


def _features(population: Population) -> tuple[SharedFeature, ...]:
    """What people want of each feature that varies, from draws of the mean taste and of people's."""
    columns, names = population._scaler.columns.tolist(), names_of(population)
    if not columns:
        return ()
    tastes = mean_tastes(population)
    slopes, own = slopes_of(population, tastes), slopes_of(population, population._anybody)
    low, high = np.quantile(slopes, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    differ, found = _differences(population), []
    for k, j in enumerate(columns):
        mean, deviation = float(slopes[:, k].mean()), float(own[:, k].std())
        share = float((own[:, k] > 0).mean())
        one = SharedFeature(names[j], mean, float(low[k]), float(high[k]), deviation, share, "not known")
        one = with_verdict(population, tastes, slopes[:, k], j, one)
        if differ[k] > DIVIDED and SPLIT < share < 1 - SPLIT and one.best is None:
            one = replace(one, verdict="divided")
        # Where a value inside is best, wanting more of it tells little.
        has_share = differ[k] > DIFFER and one.best is None
        found.append(
            replace(
                one, share=share if has_share else None, deviation=deviation if differ[k] > DIFFER else None
            )
        )
    return tuple(sorted(found, key=lambda one: -abs(one.mean) - (one.deviation or 0.0)))


def names_of(population: Population) -> tuple[str, ...]:
    """What the features are called."""
    data = population._data
    names = None if data.feature_names is None else data.feature_names.tolist()
    return feature_names(names, data.n_features)


def is_gap(population: Population, j: int) -> bool:
    """Whether a feature says that a cell is blank."""
    marks = [block for block, present in zip(*population._data.levels, strict=True) if not present]
    return any(j in block for block in marks) or names_of(population)[j].endswith("=not known")


def with_verdict(
    population: Population,
    tastes: tuple[Taste, ...],
    slopes: FloatArray,
    j: int,
    one: SharedFeature,
    only: int | None = None,
) -> SharedFeature:
    """What is wanted of a feature, with the best value if that is inside; by one kind of the average only."""
    if is_gap(population, j):
        # What a blank cell goes along with is nothing that people want.
        return one
    found = verdict_along(population, slopes, curve_along(population, tastes, j, only), j)
    if isinstance(found, BestValue):
        return replace(one, verdict="best inside", best=found)
    is_level = any(j in block for block in population._data.levels.blocks)
    return replace(one, verdict=found, is_level=is_level)


def _differences(population: Population) -> list[float]:
    """Nats by which the answers show that people differ along each feature; 0 where that is not told.

    Where people want something else by what is known of them, they surely differ.
    """
    surely = {one.feature for one in covariate_findings(population)}
    unexplained = _unexplained_differences(population)
    labels = feature_labels(population)
    return [math.inf if name in surely else nats for name, nats in zip(labels, unexplained, strict=True)]


def _unexplained_differences(population: Population) -> list[float]:
    """Nats by which people differ along each feature beyond what is known of them."""
    average, columns = population._average, population._scaler.columns
    plain = [k for k, part in enumerate(average.parts) if part.coordinates.kind != "smooth"]
    share = float(average.weights[plain].sum())
    # Of many people, some tell it.
    answers = len(population._data) * min(1.0, MOST_TOLD / len(population.people_))
    if share < MOSTLY or answers * len(columns) > MOST_EVIDENCE:
        return [0.0] * len(columns)
    best = max(plain, key=lambda k: average.weights[k])
    part, phi = average.parts[best], population._phis[best]
    about = [part.coordinates.about(j) for j in range(len(columns))]
    return part.evidence_of_differences(phi, about)


def mean_tastes(population: Population) -> tuple[Taste, ...]:
    """The mean of all people, with its own uncertainty."""
    found = []
    for taste, part in zip(population._anybody, population._average.parts, strict=True):
        prior = part.kind_prior.prior
        scale = float(prior.scale_shares @ prior.scales)
        doubt = scale**2 * np.tensordot(prior.shares**2, part.doubts, 1)
        # How many are of each group is not known exactly either.
        away = scale * prior.means - taste.mean
        doubt = doubt + (away * prior.shares[:, None]).T @ away / max(len(population.people_), 1)
        found.append(
            replace(
                taste,
                members=np.array([1.0, 0.0]),
                means=taste.mean[None],
                covariances=doubt[None],
                effect=0.0,
                groups=np.zeros(1, dtype=np.intp),
                scales=np.ones(1),
            )
        )
    return tuple(found)


def slopes_of(population: Population, tastes: tuple[Taste, ...], only: int | None = None) -> FloatArray:
    """(S, k) utility gained by a deviation of each feature that varies, of draws of a taste.

    That is along a straight line, what else items have being as it is; by all kinds of the average or one.
    """
    average, parts = population._average, []
    weights = average.weights if only is None else np.eye(len(average.parts))[only]
    counts = np.diff(np.round(np.cumsum(weights) * DRAWS).astype(int), prepend=0).tolist()
    for taste, rows, number in zip(tastes, population._slope_rows, counts, strict=True):
        if number:
            parts.append(taste.weights(number)[:, : rows.shape[1]] @ rows.T)
    return np.concatenate(parts)
