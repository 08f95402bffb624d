"""The ideal and the metric that were learned about applicants: a record for JSON, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from coombs.datasets import FEATURES, LIMITS
from coombs.words import in_words

if TYPE_CHECKING:
    from coombs.data.tables import FloatArray
    from coombs.model import Model

Weights: TypeAlias = dict[str, float]
"""A number for each feature."""
Learned: TypeAlias = Mapping[str, Any]
"""What `learned` gives, or a part of a summary that has it."""

WORDS = dict(zip(FEATURES, ("GRE verbal", "GRE quant", "GRE writing", "GPA", "letters"), strict=True))
"""The features as people call them."""
MEANINGFUL = 0.3
"""The second weight of an interaction; the paper's table prints one of 0.31 and none below."""
TOGETHER = 0.8
"""The share of an interaction's squared weights that its named features must have."""
NO_METRIC = 1e-9
"""An M with no larger eigenvalue is 0 up to rounding."""
NO_WEIGHT = 1e-6
"""An eigenvalue below this share of the largest is 0 up to rounding."""


def learned(model: Model, spreads: FloatArray, in_spreads: bool) -> dict[str, Any]:
    """Ideal, metric, its eigenvalues and eigenvectors.

    The eigenvectors are those of the metric in the features' own units, as in the paper, or in units of
    their spreads.
    """
    names = model.feature_names or ()
    scaled = model.metric * np.outer(spreads, spreads) if in_spreads else model.metric
    values, vectors = np.linalg.eigh(scaled)
    # The largest weight is positive: an eigenvector has no sign.
    vectors = vectors * np.sign(np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0))
    return {
        "units": "spreads" if in_spreads else "own",
        "ideal": dict(zip(names, model.ideal_point.tolist(), strict=True)),
        "interactions": [
            {"eigenvalue": value, "loadings": dict(zip(names, vector, strict=True))}
            for value, vector in zip(values[::-1].tolist(), vectors.T[::-1].tolist(), strict=True)
        ],
        "metric": model.metric.tolist(),
    }


class Interaction(NamedTuple):
    """An eigenvalue of the metric with the weights of its eigenvector, of length one."""

    eigenvalue: float
    weights: Weights
    arbitrary: bool
    """Whether its eigenvalue is 0, and another one too."""

    def words(self, least: float = 0.2) -> str:
        """The weights of at least so much, as "0.91 GRE writing - 0.39 GPA"."""
        if self.arbitrary:
            return "none (eigenvalue 0)"
        return in_words(np.array(list(self.weights.values())), [WORDS[name] for name in self.weights], least)

    @property
    def alone(self) -> bool:
        """Whether one feature has all of the meaning."""
        return self.arbitrary or sorted(map(abs, self.weights.values()))[-2] < MEANINGFUL

    def mixes(self, one: str, other: str) -> str:
        """The "sum" or the "difference" of two features, or "" if it is neither."""
        a, b = self.weights[one], self.weights[other]
        if self.arbitrary or a**2 + b**2 < TOGETHER or min(abs(a), abs(b)) < MEANINGFUL:
            return ""
        return "sum" if a * b > 0 else "difference"


def has_metric(part: Learned) -> bool:
    """Whether M is not 0; without a metric the ideal is a mere mean."""
    return bool(part["interactions"][0]["eigenvalue"] >= NO_METRIC)


def interactions(part: Learned) -> list[Interaction]:
    """Largest first."""
    found = part["interactions"]
    zero = [one["eigenvalue"] <= NO_WEIGHT * found[0]["eigenvalue"] for one in found]
    return [
        Interaction(one["eigenvalue"], one["loadings"], is_zero and sum(zero) > 1)
        for one, is_zero in zip(found, zero, strict=True)
    ]


def diagonal(part: Learned) -> Weights:
    """M's diagonal, the weight of each feature by itself, largest first."""
    found = interactions(part)
    parts = {name: sum(one.eigenvalue * one.weights[name] ** 2 for one in found) for name in found[0].weights}
    return dict(sorted(parts.items(), key=lambda pair: -pair[1]))


def outside(part: Learned) -> Weights:
    """The coordinates of the ideal that are outside of the allowed range."""
    return {
        name: value
        for name, value in part["ideal"].items()
        if not LIMITS[name][0] <= value <= LIMITS[name][1]
    }
