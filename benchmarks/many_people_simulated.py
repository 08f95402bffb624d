"""Simulated populations: items, everybody's utilities of them, and answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Crowd:
    """Items (n, d), everybody's utilities (K, n) and weights (K, d), with their mean and covariance."""

    items: Array
    utilities: Array
    weights: Array
    mean: Array
    covariance: Array

    def answers(self, people: Index, rng: np.random.Generator) -> tuple[Index, Index]:
        """(m, 2) pairs of different items, and y, one answer by each of these people in turn."""
        n = len(self.items)
        first = rng.integers(0, n, len(people))
        second = (first + rng.integers(1, n, len(people))) % n
        away = self.utilities[people, first] - self.utilities[people, second]
        return np.column_stack([first, second]), np.where(rng.random(len(people)) < expit(away), 1, -1)


def linear_crowd(n_people: int, d: int, rng: np.random.Generator, n_items: int = 40) -> Crowd:
    """Weights ~ N(mean, covariance), all correlated."""
    items = rng.standard_normal((n_items, d))
    mean = rng.normal(0, 1, d) * np.sqrt(4 / max(d, 4))
    root = rng.standard_normal((d, d)) * np.sqrt(1.5 / max(d, 4) / d)
    covariance = root @ root.T + 0.6 / max(d, 4) * np.eye(d)
    weights = rng.multivariate_normal(mean, covariance, n_people)
    return Crowd(items, weights @ items.T, weights, mean, covariance)


def ideal_crowd(n_people: int, d: int, rng: np.random.Generator, n_items: int = 40) -> Crowd:
    """Ideal points and relevances of features of one's own, about the population's."""
    items = rng.standard_normal((n_items, d))
    middle = rng.normal(0, 0.5, d)
    ideals = middle + rng.normal(0, 0.6, (n_people, d))
    relevance = np.exp(rng.normal(-0.7, 0.3, d) + rng.normal(0, 0.3, (n_people, d)))
    utilities = -(relevance[:, None] * (items - ideals[:, None]) ** 2).sum(axis=2)
    return Crowd(items, utilities, ideals, middle, 0.36 * np.eye(d))


def grouped_crowd(
    sizes: tuple[int, ...], d: int, separation: float, rng: np.random.Generator, n_items: int = 40
) -> tuple[Crowd, Index]:
    """Groups whose means are `separation` deviations of a weight inside a group from each other."""
    items, within = rng.standard_normal((n_items, d)), 0.5
    corners = np.linalg.qr(rng.standard_normal((d, d)))[0][: len(sizes)]
    means = corners * separation * within / np.sqrt(2) + rng.normal(0, 0.7, d)
    group = np.repeat(np.arange(len(sizes)), sizes)
    weights = means[group] + within * rng.standard_normal((len(group), d))
    crowd = Crowd(items, weights @ items.T, weights, means.mean(axis=0), within**2 * np.eye(d))
    return crowd, group


def _with(crowd: Crowd, weights: Array) -> Crowd:
    """The same crowd with other linear tastes."""
    return replace(crowd, weights=weights, utilities=weights @ crowd.items.T)


def sized_crowd(n_people: int, d: int, rng: np.random.Generator, size: float = 1.7) -> Crowd:
    """Linear tastes that are so many times as strong."""
    crowd = linear_crowd(n_people, d, rng)
    return _with(crowd, size * crowd.weights)


def weak_crowd(n_people: int, d: int, rng: np.random.Generator) -> Crowd:
    """Linear tastes half as strong."""
    return sized_crowd(n_people, d, rng, 0.5)


def heavy_tailed_crowd(n_people: int, d: int, rng: np.random.Generator) -> Crowd:
    """Weights about the mean are t with 4 degrees of freedom, with the covariance of `linear_crowd`."""
    crowd = linear_crowd(n_people, d, rng)
    wide = np.sqrt(2 / rng.chisquare(4, n_people))[:, None]
    return _with(crowd, crowd.mean + wide * (crowd.weights - crowd.mean))


def two_camps_crowd(n_people: int, d: int, rng: np.random.Generator) -> Crowd:
    """Half of the people want more of what the other half want less of, beside tastes of their own."""
    crowd = linear_crowd(n_people, d, rng)
    side = rng.choice([-1, 1], n_people)[:, None]
    return _with(crowd, crowd.weights + side * rng.normal(0, 0.7, d))


def uneven_crowd(n_people: int, d: int, rng: np.random.Generator) -> Crowd:
    """Some answer more consistently than others: everybody's weights times a scale, lognormal with 0.6."""
    crowd = linear_crowd(n_people, d, rng)
    return _with(crowd, crowd.weights * np.exp(rng.normal(0, 0.6, n_people))[:, None])


def cut_off_crowd(n_people: int, d: int, rng: np.random.Generator, n_items: int = 40) -> Crowd:
    """A feature counts only by whether it is over a limit of one's own."""
    items = rng.standard_normal((n_items, d))
    limits = rng.normal(0, 0.5, d) + rng.normal(0, 0.5, (n_people, d))
    sizes = rng.normal(1.4, 1.0, d) + 1.4 * rng.standard_normal((n_people, d))
    utilities = (sizes[:, None] * (items > limits[:, None])).sum(axis=2)
    return Crowd(items, utilities, sizes, sizes.mean(axis=0), 1.96 * np.eye(d))
