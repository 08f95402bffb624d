"""How many questions a prior from others saves somebody new. `python -m benchmarks.prior` (--quick: minutes).

Fifty people gave 20 random answers each about 100 items with 4 features; a `Population` learned from them is
the prior of a study. New people are asked chosen questions with and without it, answering alike, and the
ranking by what is believed after each answer is compared with the truth (Kendall distance). People are of two
groups with an ideal point of one's own near the group's, of a third ideal that nobody has, of the opposite
taste; or judge by other models than ours: one feature above all, or cut-offs. Writes prior.md.
"""

from __future__ import annotations

import argparse
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from coombs import Population, create_study
from coombs.evaluation import kendall_tau_distance

N_ITEMS, D, OTHERS, EACH = 100, 4, 50, 20
SHARPNESS = 2.0
"""Deviation of utilities over the items, in logits: about a tenth of random answers are mistakes."""
OWN_IDEAL, OWN_METRIC = 0.3, 0.2
"""Deviations of people's ideals from their group's, and of the logarithms of their weights."""
QUESTIONS = 24
MARKS = (8, 16, 24)
"""Answers without a prior whose distance is to be reached."""
LEVEL = 0.9
CASES = (
    ("two groups of ideals", "like others"),
    ("two groups of ideals", "a third ideal"),
    ("two groups of ideals", "the opposite"),
    ("one feature above all", "like others"),
    ("one feature above all", "another feature"),
    ("cut-offs", "like others"),
    ("cut-offs", "the opposite"),
)
Floats = NDArray[np.float64]


class World:
    """Items and two groups of people: ideals at c + a and c - a, with c, a and b at right angles."""

    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.rng = kind, np.random.default_rng([seed, 1])
        self.items = self.rng.normal(size=(N_ITEMS, D))
        axes, _ = np.linalg.qr(self.rng.normal(size=(D, D)))
        self.c, self.a, self.b = axes[:, 0], 0.8 * axes[:, 1], 1.5 * axes[:, 2]
        self.weights = np.exp(self.rng.normal(0.0, 0.4, D))

    def utilities(self, who: str, rng: np.random.Generator) -> Floats:
        """Of one person, for all items."""
        ideal = self.c + rng.choice([-1.0, 1.0]) * self.a
        if who == "a third ideal":
            ideal = self.b
        elif who == "the opposite":
            ideal = -1.2 * self.c
        ideal = ideal + rng.normal(0.0, OWN_IDEAL, D)
        weights = self.weights * np.exp(rng.normal(0.0, OWN_METRIC, D))
        away = np.abs(self.items - ideal)
        value = -(away**2) @ weights
        if self.kind == "one feature above all":
            first = int(np.abs(self.c).argmax())
            first = (first + 1) % D if who == "another feature" else first
            value = 0.3 * value - 3 * np.round(2 * away[:, first]) / 2
        elif self.kind == "cut-offs":
            value = 0.05 * value - (away > 1.0) @ weights
        return SHARPNESS * value / value.std()

    def population(self) -> Population:
        """Learned from the others."""
        people = np.array([self.utilities("like others", self.rng) for _ in range(OTHERS)])
        users = np.repeat(np.arange(OTHERS), EACH)
        pairs = self.rng.permuted(np.tile(np.arange(N_ITEMS), (len(users), 1)), axis=1)[:, :2]
        away = people[users, pairs[:, 0]] - people[users, pairs[:, 1]]
        y = np.where(self.rng.logistic(size=len(users)) < away, 1, -1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Population(self.items, groups="auto").fit(pairs, y, users=users)


class Curve(NamedTuple):
    """Of one person: distance, and share of ranks inside their intervals, after 0, 1, 2, ... answers."""

    case: tuple[str, str]
    has_prior: bool
    distances: Floats
    inside: Floats


def asked(world: World, who: str, prior: Population | None, seed: int) -> tuple[Floats, Floats]:
    """A new person through a study."""
    rng = np.random.default_rng([seed, 2])
    utilities = world.utilities(who, rng)
    ranks = np.argsort(np.argsort(-utilities))
    study = create_study(world.items, storage="memory:", probes=0.0, seed=seed, prior=prior)
    person, distances, inside = study.respondent("new"), [], []
    for _ in range(QUESTIONS + 1):
        belief = person.think().belief
        distances.append(kendall_tau_distance(belief.mean_scores(), -utilities))
        drawn = np.argsort(np.argsort(belief.scores(np.arange(N_ITEMS))[0], axis=0), axis=0)
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
        inside.append(np.mean((low <= ranks) & (ranks <= high)))
        question = person.ask()
        left, right = utilities[list(question.positions)]
        person.tell(question, "left" if rng.logistic() < left - right else "right")
    return np.array(distances), np.array(inside)


def run(task: tuple[str, int, int]) -> list[Curve]:
    """One world of a kind."""
    kind, seed, people = task
    world = World(kind, seed)
    prior, found = world.population(), []
    for case in (case for case in CASES if case[0] == kind):
        for k in range(people):
            for one in (prior, None):
                curve = asked(world, case[1], one, 1000 * seed + k)
                found.append(Curve(case, one is not None, *curve))
    return found


def needed(distances: Floats, goal: float) -> str:
    """The first number of answers with which a distance is reached and kept."""
    beyond = np.flatnonzero(distances > goal)
    count = 0 if not len(beyond) else int(beyond[-1]) + 1
    return str(count) if count <= QUESTIONS else f"> {QUESTIONS}"


def table(curves: list[Curve]) -> list[str]:
    """A row for each kind of person."""
    lines = [
        "| the others | the new person | people | distance without: 0, 8, 16, 24 | with: 0, 8, 16, 24 | "
        "answers with, for what 8, 16, 24 give without | ranks inside 90 % intervals with: 0, 5, 20 |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in CASES:
        own = [one for one in curves if one.case == case]
        if not own:
            continue
        means = {has: np.mean([c.distances for c in own if c.has_prior == has], axis=0) for has in (0, 1)}
        inside = np.mean([c.inside for c in own if c.has_prior], axis=0)
        shown = [", ".join(f"{means[has][n]:.3f}" for n in (0, *MARKS)) for has in (0, 1)]
        goals = ", ".join(needed(means[1], means[0][mark]) for mark in MARKS)
        covered = ", ".join(f"{inside[n]:.2f}" for n in (0, 5, 20))
        lines.append(
            f"| {case[0]} | {case[1]} | {len(own) // 2} | {' | '.join(shown)} | {goals} | {covered} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two worlds of each kind; writes nothing")
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--other-worlds", type=int, default=8, help="of people who judge by other models")
    parser.add_argument("--people", type=int, default=4, help="of each sort in each world")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    worlds, people = (2, 2) if options.quick else (options.worlds, options.people)
    first, *others = dict.fromkeys(kind for kind, _ in CASES)
    tasks = [(first, seed, people) for seed in range(worlds)]
    n_others = min(worlds, options.other_worlds)
    tasks += [(kind, seed, people) for seed in range(n_others) for kind in others]
    curves: list[Curve] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for found in pool.map(run, tasks):
            curves += found
            print("\n".join(table(curves)), flush=True)
    if options.quick:
        return
    text = [
        "# Questions that a prior saves",
        "",
        f"`python -m benchmarks.prior --worlds {worlds} --other-worlds {n_others} --people {people}`: "
        f"{OTHERS} others gave {EACH} random answers each about {N_ITEMS} items with {D} features; "
        "mean Kendall distance of the believed ranking from the true one.",
        "",
        *table(curves),
    ]
    (Path(__file__).parent / "prior.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
