"""Pictures of what was learned: each draws what the function of its name with `_data` computes.

Nothing here needs a display or changes matplotlib's settings; save a picture with
`level_sets(est, "price", "size").figure.savefig("taste.png")`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coombs.data.tables import InputError, TableLike
from coombs.inference.posterior import LEVEL
from coombs.insights.curves import TasteCurve, taste_curves_data
from coombs.insights.level_sets import At, feature_matrix_data, level_sets_data, profile_data
from coombs.insights.maps import FeatureMatrix, LevelSets, Profile
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
from coombs.insights.selection import FeatureKey
from coombs.insights.shapes import shapes_of
from coombs.insights.what_matters import Ranking, WhatMatters, ranking_data, what_matters_data
from coombs.render.draw_bars import draw_ranking, draw_what_matters
from coombs.render.draw_curves import draw_taste_curves
from coombs.render.draw_maps import draw_feature_matrix, draw_level_sets
from coombs.render.draw_people import (
    draw_consensus_ranking,
    draw_people_agreement,
    draw_people_band,
    draw_people_map,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from coombs.estimators.base import PairEstimator
    from coombs.estimators.population import Population

__all__ = [
    "ConsensusPlaces",
    "FeatureMatrix",
    "LevelSets",
    "PeopleAgreement",
    "PeopleBand",
    "PeopleMap",
    "Profile",
    "Ranking",
    "TasteCurve",
    "WhatMatters",
    "consensus_ranking",
    "consensus_ranking_data",
    "feature_matrix",
    "feature_matrix_data",
    "level_sets",
    "level_sets_data",
    "people_agreement",
    "people_agreement_data",
    "people_band",
    "people_band_data",
    "people_map",
    "people_map_data",
    "profile_data",
    "ranking",
    "ranking_data",
    "taste_curves",
    "taste_curves_data",
    "what_matters",
    "what_matters_data",
]


def level_sets(
    est: PairEstimator,
    x: FeatureKey,
    y: FeatureKey,
    *,
    items: TableLike = None,
    at: At = None,
    level: float = LEVEL,
    ax: Axes | None = None,
) -> Axes:
    """Draw lines of equal learned distance over two features, the items among them, and the ideal point.

    The ideal point is marked where the answers show that both features have a best value; where only one
    has, that is a band. The paper's estimators do not know how sure they are: theirs is marked in any case.

    Where a smooth taste has a tenth or more of an average, the lines are those of the average, which predicts
    and ranks: its score, averaged over the other features of up to 60 items. The mark or band is then that of
    the ideal alone, which describes the average in short.

    Parameters
    ----------
    est : a fitted estimator
    x, y : features by name or position
    items : to show; by default the fitted ones
    at : values of the other features, for all features or by name; by default those of the ideal point as
        far as it can be guessed, or of the average item where there is none; of an average, see above
    level : of the ideal point's interval
    ax : to draw in; by default that of a new figure, which is `ax.figure`

    Returns
    -------
    matplotlib's Axes

    Examples
    --------
    >>> from coombs import SingleStep, plots
    >>> est = SingleStep([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]).fit([[1, 0], [1, 2]])
    >>> plots.level_sets(est, 0, 1).get_xlabel()
    'feature 0'
    """
    return draw_level_sets(level_sets_data(est, x, y, items=items, at=at, level=level), ax)


def ranking(
    est: PairEstimator,
    *,
    items: TableLike = None,
    top: int = 20,
    level: float = LEVEL,
    ax: Axes | None = None,
) -> Axes:
    """Draw the best items in order, each with the ranks it may have; their distances without a posterior.

    Parameters
    ----------
    est : a fitted estimator
    items : to rank; by default the fitted ones
    top : how many of the best to show
    level : of the ranks' intervals
    ax : to draw in; by default that of a new figure, which is `ax.figure`

    Returns
    -------
    matplotlib's Axes

    Examples
    --------
    >>> from coombs import SingleStep, plots
    >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[1, 0], [1, 2]])
    >>> [label.get_text() for label in plots.ranking(est, top=1).get_yticklabels()]
    ['item 1']
    """
    return draw_ranking(ranking_data(est, items=items, top=top, level=level), ax)


def what_matters(
    est: PairEstimator,
    ax: Axes | None = None,
    *,
    items: TableLike = None,
    level: float = LEVEL,
    by: str = "features",
) -> Axes:
    """Draw how much each feature decides, and what is wanted of it.

    Parameters
    ----------
    est : a fitted estimator
    ax : to draw in; by default that of a new figure, which is `ax.figure`
    items : among which features decide; by default the fitted ones
    level : of the intervals
    by : "features", or "directions" for the shares of the metric's eigenvectors, the paper's feature
        interactions, in units of the features' spreads

    Returns
    -------
    matplotlib's Axes

    Examples
    --------
    >>> from coombs import SingleStep, plots
    >>> est = SingleStep([[0.0, 3.0], [1.0, 3.0], [2.0, 3.0]]).fit([[1, 0], [1, 2]])
    >>> [label.get_text() for label in plots.what_matters(est).get_yticklabels()]
    ['feature 0', 'feature 1']
    """
    if by not in ("features", "directions"):
        raise InputError(f"by is {by!r}; it must be 'features' or 'directions'.")
    return draw_what_matters(what_matters_data(est, items=items, level=level), ax, by)


def feature_matrix(
    est: PairEstimator,
    *,
    features: Sequence[FeatureKey] | None = None,
    items: TableLike = None,
    level: float = LEVEL,
) -> Figure:
    """Draw level sets for every two features, and on the diagonal how the distance changes along one.

    Parameters
    ----------
    est : a fitted estimator
    features : by name or position; by default the six that decide most, and those first
    items : to show; by default the fitted ones
    level : of the best values' intervals

    Returns
    -------
    matplotlib's Figure

    Examples
    --------
    >>> from coombs import SingleStep, plots
    >>> est = SingleStep([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]).fit([[1, 0], [1, 2]])
    >>> len(plots.feature_matrix(est).axes)
    4
    """
    return draw_feature_matrix(feature_matrix_data(est, features=features, items=items, level=level))


def taste_curves(
    est: PairEstimator,
    *,
    features: Sequence[FeatureKey] | None = None,
    items: TableLike = None,
    level: float = LEVEL,
) -> Figure:
    """Draw how much items are liked as each feature changes, as the average of the kinds has it.

    With its band and, dashed, the ideal alone where that is another curve. Each curve is averaged over the
    other features of up to 60 items. A panel names the shape that the answers support and no ideal has.

    Parameters
    ----------
    est : a fitted IdealPoint with a posterior
    features : by name or position; by default the six that decide most
    items : to average over and to show as strokes; by default the fitted ones
    level : of the band

    Returns
    -------
    matplotlib's Figure

    Examples
    --------
    >>> from coombs import IdealPoint, plots
    >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="identity").fit([[1, 0], [1, 2]])
    >>> len(plots.taste_curves(est).axes)
    1
    """
    curves = taste_curves_data(est, features=features, items=items, level=level)
    return draw_taste_curves(curves, shapes_of(est, curves))


def people_map(
    population: Population,
    x: FeatureKey | None = None,
    y: FeatureKey | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw people's ideals on a map of two features, or their weights where most people have no ideal.

    A group has a colour and a sign of its own; large signs are the middles of the groups.

    Parameters
    ----------
    population : a fitted Population
    x, y : features by name or position; by default the two that matter most
    ax : to draw in; by default that of a new figure, which is `ax.figure`

    Returns
    -------
    matplotlib's Axes

    Examples
    --------
    >>> from coombs import Population, plots
    >>> items = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]
    >>> population = Population(items, metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> plots.people_map(population, 0, 1).get_xlabel()
    'weight of feature 0 (logits)'
    """
    return draw_people_map(people_map_data(population, x, y), ax)


def people_band(population: Population, *, ax: Axes | None = None) -> Axes:
    """Draw how people's weights are distributed: 50 and 90 % of people, and the mean with its interval.

    Parameters
    ----------
    population : a fitted Population
    ax : to draw in; by default that of a new figure, which is `ax.figure`

    Returns
    -------
    matplotlib's Axes

    Examples
    --------
    >>> from coombs import Population, plots
    >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> [label.get_text() for label in plots.people_band(population).get_yticklabels()]
    ['feature 0']
    """
    return draw_people_band(people_band_data(population), ax)


def people_agreement(population: Population, *, ax: Axes | None = None) -> Axes:
    """Draw how far people's rankings agree, as a square of people in the order of their groups.

    Parameters
    ----------
    population : a fitted Population; people without answers are left out, and of very many some are shown
    ax : to draw in; by default that of a new figure, which is `ax.figure`

    Returns
    -------
    matplotlib's Axes

    Examples
    --------
    >>> from coombs import Population, plots
    >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> [label.get_text() for label in plots.people_agreement(population).get_yticklabels()]
    ['1', '2']
    """
    return draw_people_agreement(people_agreement_data(population), ax)


def consensus_ranking(
    population: Population,
    *,
    method: str = "borda",
    group: int | None = None,
    top: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw the best items for all, with the places that 50 and 90 % of people give them.

    Parameters
    ----------
    population : a fitted Population
    method, group : as of `Population.consensus`
    top : how many of the best items
    ax : to draw in; by default that of a new figure, which is `ax.figure`

    Returns
    -------
    matplotlib's Axes

    Examples
    --------
    >>> from coombs import Population, plots
    >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> [label.get_text() for label in plots.consensus_ranking(population, top=1).get_yticklabels()]
    ['2']
    """
    return draw_consensus_ranking(consensus_ranking_data(population, method=method, group=group, top=top), ax)
