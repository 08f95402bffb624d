"""A person who is looking for a flat: simulated, so that what is learned can be held against the truth.

Run it with `python -m coombs.demo`.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from coombs.comparisons import Comparisons
from coombs.estimators.single_step import SingleStep
from coombs.evaluation import kendall_tau_distance, top_k_fraction, ur_error, wer_error
from coombs.model import Model
from coombs.simulate import draw_answers, draw_pairs
from coombs.tables import FloatArray, ItemTable, Names

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
    """Simulate the person, learn from 100 answers, and print what was learned beside the truth."""
    rng = np.random.default_rng(7)
    person = make_person(rng)
    true_distances = person.truth.distance(person.flats)
    pairs = draw_pairs(len(person.flats.matrix), N_ANSWERS, rng)
    data = Comparisons(person.flats, pairs, y=draw_answers(true_distances, pairs, None, rng))
    start = time.perf_counter()
    est = SingleStep(standardize=True).fit(data)
    seconds = time.perf_counter() - start
    print(f"{data}\n")
    print_ideal(est.model_, person)
    print_interactions(est.model_)
    print_top_ten(est, person)
    print_errors(est, person, true_distances, seconds)


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


def print_ideal(model: Model, person: Person) -> None:
    """The ideal point beside the true one, in the user's units."""
    print(f"{'Ideal flat':<12}{'learned':>10}{'truth':>10}")
    for name, found, true in zip(FEATURES, model.ideal_point, person.truth.ideal_point, strict=True):
        print(f"{name:<12}{found:>10.1f}{true:>10.1f} {FEATURES[name]}")


def print_interactions(model: Model) -> None:
    """The metric as feature interactions, in units of each feature's spread."""
    print("\nWhat matters (features in units of their spread)")
    shares, directions = model.interactions()
    for share, direction in zip(shares, directions.T, strict=True):
        print(f"  {share:>4.0%}  {interaction(direction, tuple(FEATURES))}")


def interaction(direction: FloatArray, names: tuple[str, ...], least: float = 0.2) -> str:
    """A direction in words, its parts largest first and those below `least` left out: "0.91 a - 0.39 b"."""
    parts = [j for j in np.argsort(-np.abs(direction)) if abs(direction[j]) >= least]
    signs = np.sign(direction) * np.sign(direction[parts[0]])
    words = [f"{'+' if signs[j] > 0 else '-'} {abs(direction[j]):.2f} {names[j]}" for j in parts]
    return " ".join(words).removeprefix("+ ")


def print_top_ten(est: SingleStep, person: Person) -> None:
    """The ten best flats beside the true ten best."""
    learned: Names = est.rank(person.flats)[:10]
    true: Names = person.truth.rank(person.flats)[:10]
    print(f"\n{'Top ten':<10}{'learned':<16}{'truth':<16}")
    for place, (found, right) in enumerate(zip(learned, true, strict=True), start=1):
        mark = "" if found in true else "  (not among the true ten)"
        print(f"{place:>7}   {found:<16}{right:<16}{mark}".rstrip())


def print_errors(est: SingleStep, person: Person, true_distances: FloatArray, seconds: float) -> None:
    """The paper's measures, and the time."""
    found = est.distance(person.flats)
    scales = person.flats.matrix.std(axis=0)
    scaled = np.outer(scales, scales)
    centre = person.flats.matrix.mean(axis=0)
    ideal_error = ur_error(est.ideal_point_ - centre, person.truth.ideal_point - centre, person.truth.metric)
    print(f"\nIdeal point error (UR)   {ideal_error:.3f}  measured from the average flat")
    print(f"Metric error (WER)       {wer_error(est.metric_ * scaled, person.truth.metric * scaled):.3f}")
    print(f"Kendall tau distance     {kendall_tau_distance(found, true_distances):.3f}")
    print(f"Top ten found            {top_k_fraction(found, true_distances, 10):.0%}")
    print(f"Learned in               {1000 * seconds:.0f} ms ({est.status_}, gap {est.gap_:.0e})")


if __name__ == "__main__":
    main()
