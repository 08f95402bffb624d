"""What pictures of many people show: a map of them, a band of the population, agreement, the consensus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coombs.data import naming
from coombs.data.encoding import FeatureColumn
from coombs.data.tables import FloatArray, InputError
from coombs.estimators.population_people import BAND
from coombs.insights.people_explanation import mean_tastes, names_of, slopes_of
from coombs.insights.people_groups import agreement_of
from coombs.insights.selection import FeatureKey, feature_position

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.estimators.population import Population

MOST_DOTS = 2_000
"""People on a map."""
MOST_ROWS = 120
"""People whose agreement is shown."""
WITH_IDEALS = 0.5
"""Weight of kinds with an ideal point from which on a map shows ideals."""
HAVE_IDEALS = 0.9
"""Share of people who must have an ideal point for a map to show ideals."""
BEYOND = 0.5
"""How far a map of ideals goes beyond the items, in their range."""
PLAIN = FeatureColumn("")
"""A column of numbers."""


@dataclass(frozen=True, eq=False)
class PeopleMap:
    """People by two features: their ideals, or their weights where most have no ideal.

    Parameters
    ----------
    features : names of the two
    is_ideal : whether points are ideals in the user's units; otherwise weights, in logits a deviation
    names, groups : (k,) people and their groups, from 1
    points : (k, 2) of them
    means : (G, 2) medians of the groups' points
    limits : (2, 2) lowest and highest shown of each feature
    outside, without : people who are beyond that, and who have no ideal
    columns : how the two columns of the table became numbers; none of weights

    Examples
    --------
    >>> from coombs import Population
    >>> from coombs.plots import people_map_data
    >>> items = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]
    >>> population = Population(items, metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> people_map_data(population).points.shape
    (2, 2)
    """

    features: tuple[str, str]
    is_ideal: bool
    names: tuple[str, ...]
    groups: NDArray[np.intp]
    points: FloatArray
    means: FloatArray
    limits: FloatArray
    outside: int
    without: int
    columns: tuple[FeatureColumn, FeatureColumn] = (PLAIN, PLAIN)


@dataclass(frozen=True, eq=False)
class PeopleBand:
    """How people's weights of each feature are distributed in the population.

    Parameters
    ----------
    features : names, the one that matters most first
    quantiles : (d, 5) weights below which 5, 25, 50, 75 and 95 % of people are
    mean, ends : (d,) and (d, 2) of the population's mean and its 90 % interval

    Examples
    --------
    >>> from coombs import Population
    >>> from coombs.plots import people_band_data
    >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> people_band_data(population).quantiles.shape
    (1, 5)
    """

    features: tuple[str, ...]
    quantiles: FloatArray
    mean: FloatArray
    ends: FloatArray


@dataclass(frozen=True, eq=False)
class PeopleAgreement:
    """How far people's rankings agree, people in the order of their groups.

    Parameters
    ----------
    names, groups : (k,) people and their groups, from 1
    agreement : (k, k) share of pairs of items that two people rank alike
    n_people : how many there are, of whom so many are shown

    Examples
    --------
    >>> from coombs import Population
    >>> from coombs.plots import people_agreement_data
    >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> people_agreement_data(population).agreement.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    names: tuple[str, ...]
    groups: NDArray[np.intp]
    agreement: FloatArray
    n_people: int


@dataclass(frozen=True, eq=False)
class ConsensusPlaces:
    """The best items for all, and the places that people give them.

    Parameters
    ----------
    items : names, best first
    mean : (k,) mean places
    quantiles : (k, 5) places of 5, 25, 50, 75 and 95 % of people
    n_items, n_people : how many there are

    Examples
    --------
    >>> from coombs import Population
    >>> from coombs.plots import consensus_ranking_data
    >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> consensus_ranking_data(population).items
    ('2', '1', '0')
    """

    items: tuple[str, ...]
    mean: FloatArray
    quantiles: FloatArray
    n_items: int
    n_people: int


def people_map_data(
    population: Population, x: FeatureKey | None = None, y: FeatureKey | None = None
) -> PeopleMap:
    """Compute what `people_map` draws.

    Parameters
    ----------
    population : a fitted Population
    x, y : features by name or position; by default the two that matter most

    Returns
    -------
    PeopleMap

    Examples
    --------
    >>> from coombs import Population
    >>> items = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]
    >>> population = Population(items, metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> people_map_data(population, 0, 1).features
    ('feature 0', 'feature 1')
    """
    names = names_of(population)
    free = [j for j in _by_importance(population) if j in population._scaler.columns]
    given = [None if one is None else feature_position(names, one) for one in (x, y)]
    rest = [j for j in free if j not in given]
    chosen = [rest.pop(0) if one is None and rest else one for one in given]
    if None in chosen or chosen[0] == chosen[1]:
        raise InputError("A map of people needs two different features that vary among the items.")
    two = [int(one) for one in chosen if one is not None]
    some = _some(len(population.people_), MOST_DOTS)
    rows, is_ideal = population._rows(some), _has_ideals(population)
    called = [str(j) if population._data.feature_names is None else names[j] for j in two]
    points = np.column_stack([rows[f"{'ideal' if is_ideal else 'weight'}: {name}"] for name in called])
    limits = _limits(population, two, points, is_ideal)
    known = np.isfinite(points).all(axis=1)
    inside = known & (points >= limits[:, 0]).all(axis=1) & (points <= limits[:, 1]).all(axis=1)
    shown = np.flatnonzero(inside)
    groups = rows["group"][shown]
    means = np.array(
        [
            np.median(points[shown][groups == g], axis=0) if (groups == g).any() else [np.nan, np.nan]
            for g in range(1, population.n_groups_ + 1)
        ]
    )
    columns = _columns(population, two) if is_ideal else (PLAIN, PLAIN)
    return PeopleMap(
        (names[two[0]], names[two[1]]),
        is_ideal,
        tuple(naming.text(name) for name in rows["user"][shown]),
        groups,
        points[shown],
        means,
        limits,
        int((known & ~inside).sum()),
        int((~known).sum()),
        columns,
    )


def _by_importance(population: Population) -> list[int]:
    """Features that vary, that of which people's weights are largest first."""
    columns = population._scaler.columns
    sizes = (slopes_of(population, population._anybody) ** 2).mean(axis=0) if len(columns) else columns
    return [int(columns[k]) for k in np.argsort(-np.round(sizes, 9), kind="stable")]


def _has_ideals(population: Population) -> bool:
    """Whether ideals are what describes most people."""
    average = population._average
    with_metric = [part.coordinates.has_metric for part in average.parts]
    if average.weights[with_metric].sum() < WITH_IDEALS:
        return False
    some = _some(len(population.people_), MOST_DOTS)
    ideals = [column for name, column in population._rows(some).items() if name.startswith("ideal: ")]
    return bool(np.isfinite(np.column_stack(ideals)).all(axis=1).mean() >= HAVE_IDEALS)


def _limits(population: Population, two: list[int], points: FloatArray, is_ideal: bool) -> FloatArray:
    """(2, 2): of ideals not far beyond the items, of weights all of them and zero."""
    if is_ideal:
        items = population._data.items[:, two]
        low, high = items.min(axis=0), items.max(axis=0)
        return np.column_stack([low - BEYOND * (high - low), high + BEYOND * (high - low)])
    low, high = np.minimum(points.min(axis=0), 0.0), np.maximum(points.max(axis=0), 0.0)
    room = 0.06 * np.maximum(high - low, 1e-3)
    return np.column_stack([low - room, high + room])


def _columns(population: Population, two: list[int]) -> tuple[FeatureColumn, FeatureColumn]:
    """How the features became numbers; levels of a category are plain."""
    encoding, found = population._data.encoding, [PLAIN, PLAIN]
    if encoding is not None:
        for column, block in zip(encoding.columns, encoding.blocks, strict=False):
            for k, j in enumerate(two):
                if tuple(block) == (j,):
                    found[k] = column
    return found[0], found[1]


def _some(n: int, most: int) -> NDArray[np.intp]:
    """Positions of so many, evenly, if there are more."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.intp)


def people_band_data(population: Population) -> PeopleBand:
    """Compute what `people_band` draws.

    Parameters
    ----------
    population : a fitted Population

    Returns
    -------
    PeopleBand

    Examples
    --------
    >>> from coombs import Population
    >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> people_band_data(population).features
    ('feature 0',)
    """
    columns, names = population._scaler.columns, names_of(population)
    if not len(columns):
        raise InputError(
            "The items have no features that vary; consensus_ranking draws how people rank them."
        )
    own = slopes_of(population, population._anybody)
    means = slopes_of(population, mean_tastes(population))
    order = np.argsort(-np.round((own**2).mean(axis=0), 9), kind="stable")
    ends = np.quantile(means, [0.05, 0.95], axis=0).T
    return PeopleBand(
        tuple(names[columns[k]] for k in order),
        np.quantile(own, BAND, axis=0).T[order],
        means.mean(axis=0)[order],
        ends[order],
    )


def people_agreement_data(population: Population) -> PeopleAgreement:
    """Compute what `people_agreement` draws.

    Parameters
    ----------
    population : a fitted Population

    Returns
    -------
    PeopleAgreement

    Examples
    --------
    >>> from coombs import Population
    >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> people_agreement_data(population).n_people
    2
    """
    able = np.flatnonzero(population.n_answers_ > 0)
    some = able[_some(len(able), MOST_ROWS)]
    groups = population._everybody[2][some].argmax(axis=1) + 1
    matrix = agreement_of(population, some, some)
    np.fill_diagonal(matrix, 1.0)
    # In a group, along what its rankings differ in most, so that people who are alike are neighbours.
    order = np.lexsort((_along(matrix), groups))
    names = tuple(naming.text(population.people_[k]) for k in some[order])
    return PeopleAgreement(names, groups[order], matrix[np.ix_(order, order)], len(population.people_))


def _along(matrix: FloatArray) -> FloatArray:
    """(k,) places of people along what their rankings differ in most; all the same where they do not."""
    centred = matrix - matrix.mean(axis=0) - matrix.mean(axis=1, keepdims=True) + matrix.mean()
    values, vectors = np.linalg.eigh(centred)
    if values[-1] < 1e-6:
        return np.zeros(len(matrix))
    found: FloatArray = vectors[:, -1].round(6)
    return found if found[np.abs(found).argmax()] > 0 else -found


def consensus_ranking_data(
    population: Population, *, method: str = "borda", group: int | None = None, top: int = 20
) -> ConsensusPlaces:
    """Compute what `consensus_ranking` draws.

    Parameters
    ----------
    population : a fitted Population
    method, group : as of `Population.consensus`
    top : how many of the best items

    Returns
    -------
    ConsensusPlaces

    Examples
    --------
    >>> from coombs import Population
    >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> consensus_ranking_data(population, top=1).items
    ('2',)
    """
    names = [str(name) for name in population.consensus(method, group)["item"]]
    found, labels = population._placed(group), population.item_table_.names
    at = {str(name): i for i, name in enumerate(range(len(names)) if labels is None else labels)}
    best = [at[name] for name in names[:top]]
    return ConsensusPlaces(
        tuple(names[:top]), found.borda[best], found.quantiles[best], len(names), found.people
    )
