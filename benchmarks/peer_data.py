"""The answers that `benchmarks.peers` predicts: of simulated people, scores that are known, and real people.

A pool is everything that one person could be asked, with the probability of each answer. A task is a number
of its answers to learn from, and others to predict. Where people gave few answers each, or items are
described and not listed, a person is a random sample of everybody's answers.
"""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from sklearn.datasets import load_diabetes, load_wine

from benchmarks import people
from benchmarks.simulated import make_person

ANSWERS = (20, 50, 100, 200, 500)
N_FEATURES = 5
"""Of simulated people, the last of which does not matter to them."""
N_ITEMS = 100
"""Items drawn from a larger table with scores."""
TESTS = (50, 1000)
"""Fewest and most answers to predict."""

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Pool:
    """Items, pairs of them, and the probability that the first is preferred: 0 or 1 if that is known."""

    items: Array
    pairs: Array
    probability: Array


@dataclass(frozen=True, eq=False)
class Task:
    """Standardised items, answers to learn from (y: +1 or -1), pairs to predict and their probability."""

    items: Array
    pairs: Array
    y: Array
    asked: Array
    probability: Array


def make_task(data: str, person: int, answers: int) -> Task | None:
    """The first answers of a person in random order; None where there are too few."""
    pool = DATA[data](person)
    if pool is None or len(pool.pairs) < answers + TESTS[0]:
        return None
    rng = np.random.default_rng([zlib.crc32(data.encode()), person])
    order = rng.permutation(len(pool.pairs))
    pairs, probability = pool.pairs[order], pool.probability[order]
    flip = rng.random(len(pairs)) < 0.5
    pairs = np.where(flip[:, None], pairs[:, ::-1], pairs)
    probability = np.where(flip, 1 - probability, probability)
    y = np.where(rng.random(len(pairs)) < probability, 1, -1)
    n_tests = min(TESTS[1], len(pairs) - answers)
    # Items that are in neither are left out: of some pools there are thousands.
    used, position = np.unique(np.vstack([pairs[:answers], pairs[-n_tests:]]), return_inverse=True)
    position = position.reshape(-1, 2)
    items = pool.items[used]
    spread = items.std(axis=0)
    items = (items - items.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    return Task(items, position[:answers], y[:answers], position[answers:], probability[-n_tests:])


def simulated(kind: str, person: int) -> Pool:
    """Every pair of a simulated person's items."""
    who = make_person(kind, N_FEATURES, person, irrelevant=1)
    pairs = np.column_stack(np.triu_indices(len(who.items), 1))
    return Pool(who.items, pairs, who.probability(pairs))


def scored(load: Callable[[], tuple[Array, Array]], person: int) -> Pool:
    """Every pair of some items whose scores differ: the higher score is preferred."""
    items, scores = load()
    rng = np.random.default_rng(person)
    some = rng.permutation(len(items))[:N_ITEMS]
    pairs = np.column_stack(np.triu_indices(len(some), 1))
    margin = scores[some][pairs[:, 0]] - scores[some][pairs[:, 1]]
    return Pool(items[some], pairs[margin != 0], (margin[margin != 0] > 0).astype(float))


@cache
def candy() -> tuple[Array, Array]:
    """85 candies and the share of match-ups that each won."""
    rows = people.read("candy.csv")
    columns = [c for c in rows[0] if c not in ("competitorname", "winpercent")]
    return people.numbers(rows, columns)[0], people.numbers(rows, ["winpercent"])[0][:, 0]


@cache
def miles_per_gallon() -> tuple[Array, Array]:
    """392 cars; the origin is a category."""
    from vega_datasets import data

    cars = data.cars().dropna()
    measured = cars[["Cylinders", "Displacement", "Horsepower", "Weight_in_lbs", "Acceleration"]]
    origin = np.column_stack([cars["Origin"] == name for name in ("Europe", "Japan")])
    items = np.column_stack([measured, cars["Year"].dt.year, origin]).astype(float)
    return items, cars["Miles_per_Gallon"].to_numpy()


@cache
def wine() -> tuple[Array, Array]:
    """178 wines: alcohol as the score, from 12 other measurements."""
    table = load_wine().data
    return table[:, 1:], table[:, 0]


@cache
def diabetes() -> tuple[Array, Array]:
    """442 patients: how the disease went on, from 10 measurements."""
    return load_diabetes(return_X_y=True)


def answered(load: Callable[[], tuple[Array, Array, Array]], person: int) -> Pool | None:
    """All answers of a person of real data, those with most answers first."""
    items, pairs, group = load()
    names, counts = np.unique(group, return_counts=True)
    if person >= len(names):
        return None
    own = pairs[group == names[np.argsort(-counts, kind="stable")[person]]]
    return Pool(items, own, np.ones(len(own)))


def pooled(load: Callable[[], tuple[Array, Array, Array]], person: int) -> Pool:
    """Everybody's answers."""
    items, pairs, _ = load()
    return Pool(items, pairs, np.ones(len(pairs)))


def communities() -> tuple[Array, Array, Array]:
    """400 people's choices between two described communities; the place is a category."""
    rows = people.read("communities.csv")
    columns = ["school", "crime", "white_share", "housing_cost", "democrat_share", "driving_min"]
    place = np.array([row["place"] for row in rows])
    items = np.column_stack([people.numbers(rows, columns)[0], place[:, None] == np.unique(place)[1:]])
    chosen = np.array([row["chosen"] == "1" for row in rows]).reshape(-1, 2)
    pairs = np.arange(len(rows)).reshape(-1, 2)
    sure = chosen.sum(axis=1) == 1
    won = np.where(chosen[:, :1], pairs, pairs[:, ::-1])
    return items.astype(float), won[sure], np.array([row["person"] for row in rows])[::2][sure]


SIMULATED = {
    "ideal point": "correlated",
    "linear": "linear",
    "two peaks": "two peaks",
    "cut-offs": "cut-offs",
    "diminishing returns": "diminishing",
    "must-haves": "must-haves",
    "lexicographic": "lexicographic",
    "random": "coin",
}
SCORES = {"candy": candy, "miles per gallon": miles_per_gallon, "wine": wine, "diabetes": diabetes}
REAL = {
    "coffee by judge": (answered, cache(people.coffee)),
    "coffee pooled": (pooled, cache(people.coffee)),
    "GradCafe by school": (answered, cache(people.gradcafe)),
    "GradCafe pooled": (pooled, cache(people.gradcafe)),
    "berries pooled": (pooled, cache(people.berries)),
    "communities pooled": (pooled, cache(communities)),
}
DATA: dict[str, Callable[[int], Pool | None]] = {
    **{name: partial(simulated, kind) for name, kind in SIMULATED.items()},
    **{name: partial(scored, load) for name, load in SCORES.items()},
    **{name: partial(kind, load) for name, (kind, load) in REAL.items()},
}


def absent(data: str) -> str | None:
    """Why a data set can't be used here, if it can't."""
    if (data in REAL or data == "candy") and not people.DATA.exists():
        return f"{data} is skipped: there is no {people.DATA}."
    if data == "miles per gallon" and importlib.util.find_spec("vega_datasets") is None:
        return f"{data} is skipped: vega_datasets is not installed (pip install 'coombs[peers]')."
    return None
