"""Pictures of what was learned: each draws what the function of its name with `_data` computes.

Nothing here needs a display or changes matplotlib's settings; save a picture with
`level_sets(est, "price", "size").figure.savefig("taste.png")`.
"""

from coombs.insights.curves import TasteCurve, taste_curves_data
from coombs.insights.plot_data import (
    FeatureMatrix,
    LevelSets,
    Profile,
    Ranking,
    WhatMatters,
    feature_matrix_data,
    level_sets_data,
    profile_data,
    ranking_data,
    what_matters_data,
)
from coombs.render.plot_curves import taste_curves
from coombs.render.plots import feature_matrix, level_sets, ranking, what_matters

__all__ = [
    "FeatureMatrix",
    "LevelSets",
    "Profile",
    "Ranking",
    "TasteCurve",
    "WhatMatters",
    "feature_matrix",
    "feature_matrix_data",
    "level_sets",
    "level_sets_data",
    "profile_data",
    "ranking",
    "ranking_data",
    "taste_curves",
    "taste_curves_data",
    "what_matters",
    "what_matters_data",
]
