"""Simulated crowds by the protocols of Canal, Mason, Vinayak & Nowak (2022), and what they answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from coombs.programs.shared_metric import PeoplesAnswers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.tables import FloatArray

N_ITEMS = 100
"""Items of the synthetic experiment."""
STEEPNESS = 4.0
"""Steepness of logistic answers: the paper's medium noise."""
HUES = 8
CUTS = ((60.0, 60.0), (80.0, 35.0), (60.0, 30.0), (35.0, 30.0))
"""Lightness and chroma of saturated, light, muted and dark colours."""
GREYS = (0.0, 30.0, 55.0, 80.0, 100.0)
"""Lightness of colours without a hue."""
COLOUR_METRIC = (2.5, 1.0, 0.3)
"""Eigenvalues of what people who judge colours share."""
DEVIATION = 0.25
"""How far everybody's own metric is from it, as a share of its root."""
COLOUR_SPREAD = 0.45
"""Deviation of the ideal colours, the farthest colour being at 1."""
COLOUR_STEEPNESS = 3.0
"""Steepness of logistic answers about colours."""


@dataclass(frozen=True)
class Crowd:
    """People with a metric that they share and ideal points, and their answers."""

    items: FloatArray
    metric: FloatArray
    ideals: FloatArray
    answers: PeoplesAnswers
    test: PeoplesAnswers

    @property
    def directions(self) -> FloatArray:
        """v = -2 M u of each person."""
        result: FloatArray = -2 * self.ideals @ self.metric
        return result

    def radii(self, name: str) -> tuple[float, float]:
        """The smallest radii whose set holds the truth: the paper's oracle."""
        metric, own = self.metric, self.directions
        longest, trace = float(np.linalg.norm(own, axis=1).max()), float(np.trace(metric))
        return {
            "frobenius": (float(np.linalg.norm(metric)), longest),
            "nuclear_metric": (trace, longest),
            "nuclear_split": (trace, float(np.linalg.norm(own, "nuc"))),
            "nuclear_full": (float(np.linalg.norm(np.hstack([metric, own.T]), "nuc")), np.inf),
        }.get(name, (np.inf, np.inf))

    def alone(self, k: int) -> Crowd:
        """One person of them."""
        return replace(
            self, ideals=self.ideals[[k]], answers=_only(self.answers, k), test=_only(self.test, k)
        )


def _only(answers: PeoplesAnswers, k: int) -> PeoplesAnswers:
    mine = answers.people == k
    rows = (answers.winners[mine], answers.losers[mine], answers.weights[mine])
    return PeoplesAnswers.collect(answers.items, *rows, np.zeros(int(mine.sum()), dtype=np.intp), 1)


def draw_crowd(n_people: int, n_answers: int, d: int, rank: int, rng: np.random.Generator) -> Crowd:
    """The synthetic protocol: items and ideals N(0, I / d), |M|_F = d, as many answers again to predict."""
    items = rng.standard_normal((N_ITEMS, d)) / np.sqrt(d)
    root = rng.standard_normal((d, d))
    if rank < d:
        root = np.linalg.qr(root)[0][:, :rank]
    metric = root @ root.T
    metric *= d / np.linalg.norm(metric)
    ideals = rng.standard_normal((n_people, d)) / np.sqrt(d)
    who = np.repeat(np.arange(n_people), 2 * n_answers)
    first = rng.integers(0, N_ITEMS, len(who))
    pairs = np.column_stack([first, (first + rng.integers(1, N_ITEMS, len(who))) % N_ITEMS])
    far = _distances(items, np.broadcast_to(metric, (n_people, d, d)), ideals)
    winners, losers = _answered(far, who, pairs, STEEPNESS, rng)
    is_train = np.tile(np.arange(2 * n_answers) < n_answers, n_people)
    return _crowd(items, metric, ideals, (winners, losers, who), is_train)


def draw_colour_crowd(n_people: int, n_answers: int, rng: np.random.Generator) -> Crowd:
    """The colour protocol on simulated people: all ordered pairs of 37 colours, so many of them learned from.

    They share a metric only in part: everybody's own differs from it.
    """
    items = colours()
    axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    root = (axes * np.sqrt(COLOUR_METRIC)) @ axes.T
    own = root @ (np.eye(3) + DEVIATION * rng.standard_normal((n_people, 3, 3)))
    ideals = COLOUR_SPREAD * rng.standard_normal((n_people, 3))
    n = len(items)
    all_pairs = np.argwhere(~np.eye(n, dtype=bool))
    who = np.repeat(np.arange(n_people), len(all_pairs))
    far = _distances(items, own @ own.swapaxes(1, 2), ideals)
    winners, losers = _answered(far, who, np.tile(all_pairs, (n_people, 1)), COLOUR_STEEPNESS, rng)
    orders = np.argsort(rng.random((n_people, len(all_pairs))), axis=1)
    return _crowd(items, root @ root, ideals, (winners, losers, who), (orders < n_answers).ravel())


def colours() -> FloatArray:
    """(37, 3) colours in coordinates like CIELAB's, centred, the farthest at a distance of 1."""
    angles = 2 * np.pi * np.arange(HUES) / HUES
    rows = [
        [light, chroma * np.cos(angle), chroma * np.sin(angle)] for light, chroma in CUTS for angle in angles
    ]
    points = np.array([*rows, *([light, 0.0, 0.0] for light in GREYS)])
    points -= points.mean(axis=0)
    result: FloatArray = points / np.linalg.norm(points, axis=1).max()
    return result


def _distances(items: FloatArray, metrics: FloatArray, ideals: FloatArray) -> FloatArray:
    """(people, items) squared distances."""
    away = items[None] - ideals[:, None]
    return np.asarray(((away @ metrics) * away).sum(axis=2))


def _answered(
    far: FloatArray,
    who: NDArray[np.intp],
    pairs: NDArray[np.intp],
    steepness: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Winners and losers of logistic answers."""
    first, second = pairs.T
    is_first = rng.random(len(who)) < expit(steepness * (far[who, second] - far[who, first]))
    return np.where(is_first, first, second), np.where(is_first, second, first)


def _crowd(
    items: FloatArray,
    metric: FloatArray,
    ideals: FloatArray,
    rows: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]],
    is_train: NDArray[np.bool_],
) -> Crowd:
    """Answers to learn from and answers to predict."""
    winners, losers, who = rows
    train, test = (
        PeoplesAnswers.collect(
            items, winners[some], losers[some], np.ones(int(some.sum())), who[some], len(ideals)
        )
        for some in (is_train, ~is_train)
    )
    return Crowd(items, metric, ideals, train, test)
