"""The interactions of features in a learned metric, by the paper's names for the features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from coombs.paper.judging import MissingError
from coombs.words import in_words

Weights: TypeAlias = dict[str, float]

KINDS = {
    "verbal": ("verbal",),
    "quantitative": ("quant",),
    "writing": ("writ",),
    "GPA": ("gpa",),
    "letters": ("letter", "lor"),
}
"""The paper's features, and what their names hold, one or another, in the data."""
MEANINGFUL = 0.3
"""The second weight of an interaction; the paper's table prints one of 0.31 and none below."""
TOGETHER = 0.8
"""The share of an interaction's squared weights that its named features must have."""
NO_METRIC = 1e-9
"""An M with no larger eigenvalue is 0 up to rounding."""
NO_WEIGHT = 1e-6
"""An eigenvalue below this share of the largest is 0 up to rounding."""


class NoMetricError(Exception):
    """The program's optimum is M = 0."""


class Interaction(NamedTuple):
    """An eigenvalue of the metric with the weights of its eigenvector, of length one."""

    eigenvalue: float
    weights: Weights
    arbitrary: bool = False
    """Whether its eigenvalue is 0, and another one too."""

    @property
    def words(self) -> str:
        """As "0.91 writing - 0.39 GPA"."""
        if self.arbitrary:
            return "none (eigenvalue 0)"
        return in_words(np.array(list(self.weights.values())), list(self.weights), MEANINGFUL)

    @property
    def alone(self) -> bool:
        """Whether one feature has all of the meaning."""
        return self.arbitrary or sorted(abs(value) for value in self.weights.values())[-2] < MEANINGFUL

    def mostly(self, kind: str) -> bool:
        """Whether it is this feature, with little of the others."""
        return not self.arbitrary and self.weights[kind] ** 2 >= TOGETHER

    def mixes(self, one: str, other: str) -> str:
        """The "sum" or the "difference" of two features, or "" if it is neither."""
        a, b = self.weights[one], self.weights[other]
        if self.arbitrary or a**2 + b**2 < TOGETHER or min(abs(a), abs(b)) < MEANINGFUL:
            return ""
        return "sum" if a * b > 0 else "difference"


def kind_of(name: str) -> str:
    """Which of the paper's five features it is."""
    for kind, parts in KINDS.items():
        if any(part in name.lower() for part in parts):
            return kind
    raise MissingError(f"{name!r} is none of the paper's features.")


def by_kind(values: Mapping[str, float]) -> Weights:
    """The same under the paper's names."""
    return {kind_of(name): float(value) for name, value in values.items()}


def interactions(part: Mapping[str, Any], least: int = 2) -> list[Interaction]:
    """Largest first, and at least so many."""
    found = []
    for one in part["interactions"]:
        weights = by_kind(one["loadings"])
        length = max(float(np.linalg.norm(list(weights.values()))), 1e-12)
        found.append(Interaction(one["eigenvalue"], {k: value / length for k, value in weights.items()}))
    found.sort(key=lambda one: -one.eigenvalue)
    if len(found) < least or len(found[0].weights) < 2:
        raise MissingError(f"The summary has no {least} interactions of two features or more.")
    largest = found[0].eigenvalue
    if largest < NO_METRIC:
        raise NoMetricError
    zero = [one.eigenvalue < NO_WEIGHT * largest for one in found]
    return [one._replace(arbitrary=is_so and sum(zero) > 1) for one, is_so in zip(found, zero, strict=True)]


def diagonal(part: Mapping[str, Any]) -> Weights:
    """M's diagonal, the weight of each feature by itself, largest first."""
    found = interactions(part)
    parts = {kind: sum(one.eigenvalue * one.weights[kind] ** 2 for one in found) for kind in found[0].weights}
    return dict(sorted(parts.items(), key=lambda pair: -pair[1]))
