"""Many people together, against every person alone: log loss on answers not learned from.

    python -m benchmarks.together [--people 25] [--data coffee simulated ...]

Together is `Population`, alone is `IdealPoint` for each person, both with everything by default. Coffee,
berries and communities are real (../shared/data); simulated people share nothing but that they are people.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from coombs import Comparisons, IdealPoint, Population

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TESTED = 30
"""Answers of each person that are predicted, at most."""
SIZES = {"coffee": (5, 10, 20, 40), "berries": (5, 10), "communities": (2, 3, 4, 6)}
"""Answers of each person that are learned from."""


class Crowd(NamedTuple):
    """Items, winners, losers and whose each answer is."""

    items: pd.DataFrame
    winners: np.ndarray
    losers: np.ndarray
    people: np.ndarray


def rated(frame: pd.DataFrame, features: list[str], score: str, person: str, within: str) -> Crowd:
    """Every two things that one person rated differently, in one sitting."""
    frame = frame.dropna(subset=[*features, score]).reset_index(drop=True)
    people, values = pd.factorize(frame[person])[0], frame[score].to_numpy()
    won, lost = [], []
    for rows in frame.groupby(within).indices.values():
        one, other = (rows[part] for part in np.triu_indices(len(rows), 1))
        better, worse = values[one] > values[other], values[one] < values[other]
        won += [one[better], other[worse]]
        lost += [other[better], one[worse]]
    winners, losers = np.concatenate(won), np.concatenate(lost)
    return Crowd(frame[features], winners, losers, people[winners])


def coffee() -> Crowd:
    """118 judges; four just-about-right ratings of each coffee."""
    features = ["Temp", "Flavor.intensity", "Acidity", "Mouthfeel"]
    return rated(pd.read_csv(DATA / "black_coffee.csv"), features, "Liking", "Judge", "Judge")


def berries() -> Crowd:
    """969 people; six just-about-right ratings of each berry."""
    names = ("sweetness", "tartness", "firmness", "juiciness", "color", "size")
    features = [f"jar_{name}" for name in names]
    return rated(pd.read_csv(DATA / "berries.csv"), features, "liking", "user", "panel")


def communities() -> Crowd:
    """400 people, eight choices each between two described communities."""
    frame = pd.read_csv(DATA / "communities.csv")
    pairs = [rows for rows in frame.groupby(["person", "task"]).indices.values() if len(rows) == 2]
    chosen = frame["chosen"].to_numpy()
    rows = np.array([pair if chosen[pair[0]] else pair[::-1] for pair in pairs if chosen[pair].sum() == 1])
    names = ["school", "crime", "white_share", "housing_cost", "democrat_share", "driving_min", "place"]
    return Crowd(frame[names], rows[:, 0], rows[:, 1], pd.factorize(frame["person"])[0][rows[:, 0]])


def simulated(kind: str, seed: int = 0, n_people: int = 40, n_answers: int = 120) -> Crowd:
    """People who share nothing: linear tastes, ideal points, or a liking for each item."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((40, 3))
    if kind == "linear":
        utility = items @ rng.normal(0, 1.5, (3, n_people))
    elif kind == "ideal":
        ideals, weights = rng.standard_normal((n_people, 3)), rng.uniform(0.3, 1.5, (n_people, 3))
        utility = -1.5 * (weights[None] * (items[:, None] - ideals) ** 2).sum(axis=2)
    else:
        utility = rng.normal(0, 1.5, (40, n_people))
    people = np.repeat(np.arange(n_people), n_answers)
    pairs = rng.permuted(np.tile(np.arange(40), (len(people), 1)), axis=1)[:, :2]
    first = rng.random(len(people)) < expit(utility[pairs[:, 0], people] - utility[pairs[:, 1], people])
    return Crowd(
        pd.DataFrame(items, columns=["a", "b", "c"]),
        np.where(first, *pairs.T),
        np.where(first, *pairs.T[::-1]),
        people,
    )


def compare(name: str, crowd: Crowd, sizes: tuple[int, ...], n_tested: int) -> None:
    """A row for each number of answers."""
    rng = np.random.default_rng(1)
    order = rng.permutation(len(crowd.people))
    people, pairs = crowd.people[order], np.column_stack([crowd.winners, crowd.losers])[order]
    place = pd.Series(people).groupby(people).cumcount().to_numpy()
    chosen = rng.permutation(np.unique(people))[:n_tested]
    test = (place >= max(sizes)) & (place < max(sizes) + TESTED) & np.isin(people, chosen)
    asked = Comparisons(crowd.items, pairs[test], users=people[test])
    whose = people[test]
    for size in sizes:
        learned = place < size
        begin = time.process_time()
        population = Population().fit(Comparisons(crowd.items, pairs[learned], users=people[learned]))
        seconds = time.process_time() - begin
        together = population.predict_proba(asked)[:, 1]
        alone = np.empty(len(whose))
        begin = time.process_time()
        for person in np.unique(whose):
            own, rows = learned & (people == person), whose == person
            est = IdealPoint().fit(Comparisons(crowd.items, pairs[own]))
            alone[rows] = est.predict_proba(asked[rows])[:, 1]
        more = time.process_time() - begin
        losses = pd.DataFrame({"together": -np.log(together), "alone": -np.log(alone)}).groupby(whose).mean()
        gain = losses["alone"] - losses["together"]
        accuracy = [f"{np.mean(p > 0.5):.3f}" for p in (together, alone)]
        print(
            f"| {name} | {size} | {accuracy[0]} / {losses['together'].mean():.3f} | {accuracy[1]} / "
            f"{losses['alone'].mean():.3f} | {gain.mean():+.3f} ± {gain.sem():.3f} | {seconds:.1f} | "
            f"{more / len(losses):.2f} |",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=25, help="people whose answers are predicted")
    parser.add_argument("--data", nargs="*", default=["coffee", "berries", "communities", "simulated"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| people | answers each | together | alone | gain in log loss | CPU s, all | CPU s, one alone |")
    print("|---|---|---|---|---|---|---|")
    makers = {"coffee": coffee, "berries": berries, "communities": communities}
    for name in options.data:
        if name == "simulated":
            for kind in ("linear", "ideal", "items"):
                compare(f"simulated, {kind}", simulated(kind), (20, 60), options.people)
        else:
            compare(name, makers[name](), SIZES[name], options.people)


if __name__ == "__main__":
    main()
