"""Do intervals hold what they promise, and probabilities mean what they say? `python -m benchmarks.coverage`.

People with logistic noise, 100 items. Intervals of nominal 90 % for each coordinate of the ideal point,
each distance and each rank; and probabilities of answers that were not given. Distances also at unit
spread, as answers without contradictions do not tell the scale. Writes coverage.md. With `--chosen`
questions are those that a study chooses, and people also of other kinds: coverage_chosen.md.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import itertools

import numpy as np

from benchmarks.simulated import Person, make_person, run, write
from coombs import IdealPoint
from coombs.data.tables import FloatArray
from coombs.inference.posterior import quantiles
from coombs.simulate import draw_answers, draw_pairs, make_preferences

CELLS = ((2, 30), (2, 100), (5, 50), (5, 100), (5, 300), (10, 200))
BINS = np.linspace(0.5, 1.0, 6)


class Trial(NamedTuple):
    """Shares inside of the intervals, and probabilities of fresh answers with what was answered."""

    ideal: float
    distances: float
    shapes: float
    ranks: float
    probabilities: FloatArray
    right: FloatArray


def shape_interval(est: IdealPoint, items: FloatArray) -> FloatArray:
    """(n, 2) ends of the distances' intervals with unit spread, as their common scale may not be known."""
    draws = est.posterior_.distances(items, est.posterior_.effects)
    return quantiles(draws / draws.std(axis=1, keepdims=True), 0.9)


def trial(job: tuple[int, int, int]) -> Trial:
    d, p, seed = job
    truth = make_preferences(100, d, p, noise="logistic", random_state=np.random.default_rng([seed, d, p, 1]))
    est = IdealPoint(truth.items).fit(truth.pairs, truth.y)
    ranks = truth.distances.argsort().argsort() + 1
    rng = np.random.default_rng([seed, d, p, 2])
    pairs = draw_pairs(100, 200, rng)
    y = draw_answers(truth.distances, pairs, "logistic", rng)
    first = est.predict_proba(pairs)[:, 1]
    sure = np.maximum(first, 1 - first)
    return Trial(
        inside(est.ideal_point_interval(), truth.ideal_point),
        inside(est.distance_interval(), truth.distances),
        inside(shape_interval(est, truth.items), truth.distances / truth.distances.std()),
        inside(est.rank_interval(), ranks),
        sure,
        ((first >= 0.5) == (y > 0)).astype(float),
    )


CHOSEN = (
    ("paper", 3, 30),
    ("paper", 5, 60),
    ("linear", 4, 40),
    ("ideal", 4, 40),
    ("correlated", 4, 40),
    ("cut-offs", 4, 40),
)
"""People (the paper's with logistic noise, or of benchmarks.simulated), features, and chosen questions."""


def chosen_trial(job: tuple[str, int, int, int]) -> float:
    """The share of true ranks inside of their intervals."""
    who, d, n, seed = job
    if who == "paper":
        truth = make_preferences(
            60, d, 1, noise="logistic", random_state=np.random.default_rng([seed, d, n, 3])
        )
        person = Person(truth.items, truth.distances, ("",) * d, np.random.default_rng([seed, 4]))
    else:
        person = make_person(who, d, seed)
    est = person.study(n, seed=seed).result().model
    assert person.scores is not None
    return inside(est.rank_interval(), person.scores.argsort().argsort() + 1)


def of_chosen_questions(people: int, jobs: int) -> None:
    """Print the table and write it down."""
    lines = [
        f"`python -m benchmarks.coverage --chosen --people {people}`: shares of ranks inside of 90 %",
        "intervals, 60 items, chosen questions.",
        "",
        "| people | d, answers | ranks |",
        "|---|---|---|",
    ]
    for who, d, n in CHOSEN:
        found = run(chosen_trial, [(who, d, n, seed) for seed in range(people)], jobs)
        lines.append(
            f"| {who} | {d}, {n} | {np.mean(found):.3f} +- {np.std(found) / len(found) ** 0.5:.3f} |"
        )
        print(lines[-1], flush=True)
    write("coverage_chosen.md", lines)


def inside(interval: FloatArray, truth: FloatArray) -> float:
    return float(((interval[:, 0] <= truth) & (truth <= interval[:, 1])).mean())


def main() -> None:
    """Print both tables and write them down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--chosen", action="store_true", help="chosen questions instead of random ones")
    options = parser.parse_args()
    if options.chosen:
        of_chosen_questions(options.people, options.jobs)
        return
    lines = [
        f"{options.people} people a line, logistic noise, 100 items: shares inside of 90 % intervals.",
        "",
    ]
    lines += ["| d, P | ideal point | distances | at unit spread | ranks |", "|---|---|---|---|---|"]
    sure, right = [], []
    with ProcessPoolExecutor(options.jobs) as pool:
        for d, p in CELLS:
            jobs = [(d, p, seed) for seed in range(options.people)]
            trials = list(pool.map(trial, jobs, chunksize=4))
            shares = [np.mean([t[i] for t in trials]) for i in range(4)]
            lines.append(f"| {d}, {p} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")
            print(lines[-1], flush=True)
            sure += [t.probabilities for t in trials]
            right += [t.right for t in trials]
    lines += [
        "",
        "Answers not given, all lines together: probability of the likelier item, and how often it won.",
        "",
    ]
    lines += ["| probability | answers | mean probability | won |", "|---|---|---|---|"]
    p, won = np.concatenate(sure), np.concatenate(right)
    for low, high in itertools.pairwise(BINS):
        chosen = (p >= low) & ((p < high) | (high == 1.0))
        means = f"{p[chosen].mean():.3f} | {won[chosen].mean():.3f}"
        lines.append(f"| {low:.1f} to {high:.1f} | {chosen.sum()} | {means} |")
    print("\n".join(lines[-len(BINS) - 3 :]))
    (Path(__file__).parent / "coverage.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
