"""A person who is looking for a flat: simulated, so that what is learned can be held against the truth.

Run it with `python -m coombs.demo`.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from coombs.comparisons import Comparisons
from coombs.estimators.ideal_point import IdealPoint
from coombs.evaluation import kendall_tau_distance, top_k_fraction
from coombs.model import Model
from coombs.simulate import draw_answers, draw_pairs
from coombs.tables import FloatArray, ItemTable

FEATURES = {"rent": "EUR a month", "size": "m2", "commute": "minutes", "floor": ""}
STREETS = (
    "Abbey Acre Alder Anchor Apple Arch Ash Bay Beech Bell Birch Bridge Brook Canal Castle Cedar "
    "Chapel Cherry Church Clay Cliff Copper Corn Cross Dale Dock Dove Elm Ferry Field Forge Garden"
)
N_ANSWERS = 100


class Person(NamedTuple):
    """Flats, and what one person thinks of them."""

    flats: ItemTable
    truth: Model


def main() -> None:
    """Simulate the person, learn from 100 answers, say what was learned, and hold it against the truth."""
    rng = np.random.default_rng(7)
    person = make_person(rng)
    distances = person.truth.distance(person.flats)
    pairs = draw_pairs(len(person.flats.matrix), N_ANSWERS, rng)
    data = Comparisons(person.flats, pairs, y=draw_answers(distances, pairs, "logistic", rng))
    start = time.perf_counter()
    est = IdealPoint().fit(data)
    seconds = time.perf_counter() - start
    print(f"A simulated person who looks for a flat has given {data}.\n")
    print(est.explain())
    print(f"\nThe truth\n---------\nLearned in {seconds:.1f} s; this is how near it came.")
    print_ideal(est, person)
    print_errors(est, person, distances)


def make_person(rng: np.random.Generator) -> Person:
    """Sixty-four flats, and a person for whom rent and size trade off."""
    names = np.array([f"{street} St {n}" for street in STREETS.split() for n in (1, 2)], dtype=object)
    size = rng.uniform(25, 110, len(names))
    rent = 300 + 7.5 * size + rng.normal(0, 150, len(names))
    commute, floor = rng.uniform(5, 60, len(names)), rng.integers(0, 9, len(names)).astype(float)
    flats = np.column_stack([rent.round(-1), size.round(), commute.round(), floor])
    scales = flats.std(axis=0)
    # In units of the spread: rent less what the size is worth, size, commute, floor.
    directions = np.array(
        [[1.0, -0.6, 0.0, 0.0], [0.5, 0.9, 0.0, 0.0], [0.0, 0.0, 0.8, 0.0], [0.0, 0.0, 0.0, 0.5]]
    )
    root = directions / scales
    truth = Model(root.T @ root, np.array([700.0, 75.0, 15.0, 3.0]), tuple(FEATURES), scales)
    table = ItemTable(flats, names, np.array(list(FEATURES), dtype=object), False)
    return Person(table, truth)


def print_ideal(est: IdealPoint, person: Person) -> None:
    """The ideal point beside the true one, in the user's units."""
    print(f"  {'ideal flat':<12}{'learned':>10}{'between':>18}{'truth':>10}")
    points = zip(
        FEATURES, est.ideal_point_, est.ideal_point_interval(), person.truth.ideal_point, strict=True
    )
    for name, found, (low, high), true in points:
        between = f"{low:.1f} and {high:.1f}"
        print(f"  {name:<12}{found:>10.1f}{between:>18}{true:>10.1f} {FEATURES[name]}".rstrip())


def print_errors(est: IdealPoint, person: Person, distances: FloatArray) -> None:
    """Of the ranking of all flats."""
    found = est.distance(person.flats)
    print(f"  pairs of flats in the wrong order  {kendall_tau_distance(found, distances):>6.1%}")
    print(f"  of the true ten best, found        {top_k_fraction(found, distances, 10):>6.0%}")


if __name__ == "__main__":
    main()
