"""Records of maps of two features and profiles of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coombs.data.encoding import FeatureColumn
from coombs.data.tables import FloatArray

PLAIN = FeatureColumn("")
"""A column of numbers."""
OVER_ITEMS = "averaged over the items"
"""Where other features are in a map of an average."""


class Band(NamedTuple):
    """Where one of two features, that of the x axis (0) or of the y axis (1), is best or worst (`turn`)."""

    axis: int
    value: float
    ends: tuple[float, float] | None
    turn: str


@dataclass(frozen=True, eq=False)
class LevelSets:
    """The learned distance over two features, and what lies there.

    Parameters
    ----------
    features : names of the two
    xs, ys, distance : (g,), (g,) and (g, g) squared distance, or score, a row for each y
    levels : where to draw lines: equal steps of distance, or of score where that may be negative
    points, names, ranks : (n, 2), n and (n,) of the items; rank 1 is the best by all features
    base : (d,) the item that the other features are taken from; not used in a map of an average
    others : where the other features are: "the ideal point", "their best guess" where the answers do not
        support all of it, "their average", "averaged over the items" or "fixed values"
    is_average : whether `distance` is that of the average that predicts, and what is marked that of the
        ideal-point description beside it
    turning : (2,) where the described distance turns on this plane, NaN where it does not
    kind : what is there: "ideal", "worst", "saddle", or "none"
    wishes : what the answers support of each of the two features
    is_known : whether that is a best or a worst value of both, so that the turning point means something
    is_ideal : whether the turning point is the ideal point of all features
    interval : (2, 2) ends for each coordinate of the turning point, or None
    inside : whether the turning point is known, and lies in the picture
    band : what is known where only one feature has a best or worst value, or None
    towards : (2,) what is better from the picture's middle on, in parts of its width and height; or None
    axes, shares : (k, 2) directions in which the distance changes most and least, in the user's units,
        one spread long for the first and in proportion for the other, and their shares; none of an average
    level : of the interval
    columns : how the two columns of the table became numbers, which these values are
    left_out : names of items that are not among the points, as one of the two values is not known

    Examples
    --------
    >>> from coombs import SingleStep
    >>> from coombs.plots import level_sets_data
    >>> est = SingleStep([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]).fit([[1, 0], [1, 2]])
    >>> level_sets_data(est, 0, 1).features
    ('feature 0', 'feature 1')
    """

    features: tuple[str, str]
    xs: FloatArray
    ys: FloatArray
    distance: FloatArray
    levels: FloatArray
    points: FloatArray
    names: tuple[str, ...]
    ranks: NDArray[np.int_]
    base: FloatArray
    others: str
    is_average: bool
    turning: FloatArray
    kind: str
    wishes: tuple[str, str]
    is_known: bool
    is_ideal: bool
    interval: FloatArray | None
    inside: bool
    band: Band | None
    towards: FloatArray | None
    axes: FloatArray
    shares: FloatArray
    level: float
    columns: tuple[FeatureColumn, FeatureColumn] = (PLAIN, PLAIN)
    left_out: tuple[str, ...] = ()

    @property
    def axis_names(self) -> tuple[str, str]:
        """The features with their units, as "size (m²)"."""
        (x, y), (across, up) = self.features, self.columns
        return across.axis_name(x), up.axis_name(y)

    @property
    def is_conditional(self) -> bool:
        """Whether the turning point is not that of all features, but depends on where the others are."""
        return len(self.base) > 2 and not self.is_ideal


@dataclass(frozen=True, eq=False)
class Profile:
    """The learned distance along one feature, and what lies there.

    Parameters
    ----------
    feature : name
    xs, distance : (g,) each: its values, and the squared distance with the other features at the ideal or
        its best guess, or at their means without one; of an average, its score, averaged over the items'
        other features
    points : (n,) values of the items
    ideal : the best value, NaN where the answers do not show that there is one
    interval : (2,) its ends, or None
    column : how the column of the table became numbers, which these values are

    Examples
    --------
    >>> from coombs import SingleStep
    >>> from coombs.plots import profile_data
    >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[1, 0], [1, 2]])
    >>> round(profile_data(est, 0).ideal)
    1
    """

    feature: str
    xs: FloatArray
    distance: FloatArray
    points: FloatArray
    ideal: float
    interval: FloatArray | None
    column: FeatureColumn = PLAIN


@dataclass(frozen=True, eq=False)
class FeatureMatrix:
    """A profile for each feature, and level sets for every two of them.

    Parameters
    ----------
    profiles : one for each feature
    panels : level sets by row and column, which are places in `profiles`; the column is less than the row,
        and its feature is on the x axis

    Examples
    --------
    >>> from coombs import SingleStep
    >>> from coombs.plots import feature_matrix_data
    >>> est = SingleStep([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]).fit([[1, 0], [1, 2]])
    >>> list(feature_matrix_data(est).panels)
    [(1, 0)]
    """

    profiles: tuple[Profile, ...]
    panels: dict[tuple[int, int], LevelSets]
