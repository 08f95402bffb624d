"""What intervals of `Population` hold in simulated crowds, and how far its mean and covariance are off."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.many_people_simulated import (
    Crowd,
    cut_off_crowd,
    heavy_tailed_crowd,
    ideal_crowd,
    linear_crowd,
    sized_crowd,
    two_camps_crowd,
    uneven_crowd,
    weak_crowd,
)
from coombs import Population
from coombs.estimators.person import Person

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.many_people_simulated import Array, Index

ANSWERS = 20
"""Of each person."""
LEVEL = 0.9
"""Of the intervals."""
PAIRS = 60
"""Random pairs of items whose choice probabilities are looked at."""


def fitted(crowd: Crowd, people: Index, rng: np.random.Generator, **settings: Any) -> Population:
    """To one answer of each of these people in turn."""
    pairs, y = crowd.answers(people, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Population(crowd.items, **settings).fit(pairs, y, users=people)


def mean_and_covariance(population: Population) -> tuple[Array, Array]:
    """Of a linear population's weights, in the user's units."""
    part = population._average.parts[population._average.main]
    prior, scales = part.fit.prior, part.coordinates.scales
    units = np.array([population._scaler.slope(row) for row in np.diag(scales)]).T
    return units @ (prior.shares @ prior.means), units @ prior.covariance @ units.T


def held_by(population: Population, person: Person, utilities: Array, pairs: Index) -> tuple[float, float]:
    """Shares of ranks and of choice probabilities that a person's 90 % intervals hold."""
    ranks = np.argsort(np.argsort(-utilities)) + 1
    ends = person.rank_interval(level=LEVEL)
    drawn = population._drawn_utilities(person._tastes, population.item_table_, 1000)
    away = drawn[:, pairs[:, 0]] - drawn[:, pairs[:, 1]]
    low, high = np.quantile(away, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    true = utilities[pairs[:, 0]] - utilities[pairs[:, 1]]
    in_ranks = (ends[:, 0] <= ranks) & (ranks <= ends[:, 1])
    return float(in_ranks.mean()), float(((low <= true) & (true <= high)).mean())


LINEAR, IDEAL = "linear, 4 features", "ideal points, 3 features"
COVERED: tuple[tuple[str, Callable[..., Crowd], str, tuple[int, ...]], ...] = (
    (LINEAR, linear_crowd, "none", (10, 30, 100)),
    (LINEAR, linear_crowd, "diagonal", (10, 30)),
    (LINEAR, linear_crowd, "auto", (10, 30, 100)),
    (IDEAL, ideal_crowd, "diagonal", (10, 30, 100)),
    (IDEAL, ideal_crowd, "auto", (10, 30, 100)),
    ("half as strong, 4 features", weak_crowd, "none", (10, 30)),
    ("1.7 times as strong, 4 features", sized_crowd, "none", (10, 30)),
    ("heavy-tailed, 4 features", heavy_tailed_crowd, "none", (10, 30, 100)),
    ("two camps, one group fitted, 4 features", two_camps_crowd, "none", (10, 30, 100)),
    ("more and less consistent people, 4 features", uneven_crowd, "none", (10, 30, 100)),
    ("cut-offs, 3 features", cut_off_crowd, "auto", (30, 100)),
)
"""Tastes, how they are made, `metric`, and people in the fit."""
LOOKED_AT = 20
"""People of each population whose intervals are looked at."""


def coverage(populations: int = 8) -> list[str]:
    """Of people with 0, 5 and 20 answers; the first two were not in the fit."""
    lines = [
        f"## What 90 % intervals hold ({populations} populations a row, {LOOKED_AT} people in each)",
        "",
        f"Ranks of 40 items, and probabilities of {PAIRS} random choices; ± is a standard error over "
        f"populations. Those with 0 and 5 answers are not in the fit, those with {ANSWERS} are. Ranks are "
        "whole numbers, so that their intervals hold more.",
        "",
        "| tastes | `metric` | people | answers | ranks | choice probabilities |",
        "|---|---|---|---|---|---|",
    ]
    rows = [(name, make, metric, n) for name, make, metric, sizes in COVERED for n in sizes]
    for name, make, metric, n_people in rows:
        d = int(name.split()[-2])
        found = np.array([one_coverage(make, n_people, d, 5000 + k, metric) for k in range(populations)])
        mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(populations)
        for answers, shares, errors in zip((0, 5, ANSWERS), mean, error, strict=True):
            cells = " | ".join(f"{share:.3f} ± {e:.3f}" for share, e in zip(shares, errors, strict=True))
            lines.append(f"| {name} | {metric} | {n_people} | {answers} | {cells} |")
            print(lines[-1], flush=True)
    return lines


def one_coverage(make: Callable[..., Crowd], n_people: int, d: int, seed: int, metric: str) -> Array:
    """(3, 2) of people with 0, 5 and 20 answers: shares of ranks and of choice probabilities held."""
    rng = np.random.default_rng(seed)
    crowd = make(n_people + LOOKED_AT, d, rng)
    population = fitted(crowd, np.repeat(np.arange(n_people), ANSWERS), rng, metric=metric)
    pairs = np.array([rng.choice(len(crowd.items), 2, replace=False) for _ in range(PAIRS)])
    shares = []
    for k in range(LOOKED_AT):
        new = n_people + k
        told = population.person_from(*crowd.answers(np.full(5, new), rng))
        old = k % n_people
        people = (Person(population, population._anybody), told, population.person(old))
        pairs_of = zip(people, (new, new, old), strict=True)
        shares.append([held_by(population, one, crowd.utilities[who], pairs) for one, who in pairs_of])
    result: Array = np.mean(shares, axis=0)
    return result


def bias(populations: int = 10) -> list[str]:
    """Of means and covariances, against those of the people themselves."""
    lines = [
        f"## Bias of what is learned of all: {ANSWERS} answers each, 8 features, {populations} populations",
        "",
        "Trace: of the covariance, by that of the people's true weights; mean: the learned one along the "
        "true one, by its length; ± is a standard error. A lapse rate of 0.02 is what is expected before "
        "any answer; where nobody ever lapses, whatever is taken for lapses makes tastes look stronger.",
        "",
        "| people | lapse rate | trace | mean | lapse rate learned |",
        "|---|---|---|---|---|",
    ]
    for n_people, lapse in ((100, 0.0), (100, 0.02), (1000, 0.0), (1000, 0.02)):
        rows = []
        for k in range(populations):
            rng = np.random.default_rng(700 + k)
            crowd = linear_crowd(n_people, 8, rng, n_items=100)
            people = np.repeat(np.arange(n_people), ANSWERS)
            pairs, y = crowd.answers(people, rng)
            y = np.where(rng.random(len(y)) < lapse / 2, -y, y)
            population = Population(crowd.items, metric="none").fit(pairs, y, users=people)
            mean, spread = mean_and_covariance(population)
            true = crowd.weights.mean(axis=0)
            trace = np.trace(spread) / np.trace(np.cov(crowd.weights, rowvar=False))
            rows.append((trace, mean @ true / (true @ true), population.lapse_))
        found = np.array(rows)
        error = found.std(axis=0) / np.sqrt(populations)
        trace, along, learned = found.mean(axis=0)
        cells = f"{trace:.3f} ± {error[0]:.3f} | {along:.3f} ± {error[1]:.3f} | {learned:.4f}"
        lines.append(f"| {n_people} | {lapse:g} | {cells} |")
        print(lines[-1], flush=True)
    return lines
