"""`Population`: speed beside other hierarchical models, cost against people, coverage, groups, coin-tossers.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.many_people [peers cost auto coverage bias groups coins]

Each part writes its table to build/many_people; benchmarks/many_people.md has those that are there. Times are
CPU seconds of this process: what else the machine does changes them little. `peers` needs coombs[peers].
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.many_people_intervals import ANSWERS, bias, coverage, fitted, mean_and_covariance
from benchmarks.many_people_simulated import Crowd, grouped_crowd, ideal_crowd, linear_crowd
from coombs import Population
from coombs.inference.people.answer_blocks import blocks_of
from coombs.inference.people.population_fit import View, pass_over
from coombs.inference.people.population_prior import PopulationPrior
from coombs.inference.people.posteriors import Sites
from coombs.inference.people.uneven_people import MOST_PEOPLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.many_people_simulated import Array, Index

BUILD = Path("build/many_people")
PAGE = Path(__file__).with_suffix(".md")


def log_loss(population: Population, pairs: Index, y: Index, users: Index) -> float:
    """Mean, of answers not learned from."""
    p = population.predict_proba(pairs, users=users)[:, 1]
    return float(-np.log(np.where(y > 0, p, 1 - p)).mean())


def peers() -> list[str]:
    """1,000 people x 20 answers x 8 features, with 20 more of each to predict."""
    from benchmarks.many_people_peers import by_metropolis, by_nuts, by_xlogit

    k, d = 1000, 8
    rng = np.random.default_rng(0)
    crowd = linear_crowd(k, d, rng, n_items=100)
    people = np.repeat(np.arange(k), ANSWERS)
    (pairs, y), (new_pairs, new_y) = crowd.answers(people, rng), crowd.answers(people, rng)
    design, held = (
        ((crowd.items[asked[:, 0]] - crowd.items[asked[:, 1]]) * said[:, None]).reshape(k, ANSWERS, d)
        for asked, said in ((pairs, y), (new_pairs, new_y))
    )
    Population(crowd.items, metric="none").fit(pairs[:100], y[:100], users=people[:100])
    times = []
    for _ in range(5):
        start = time.process_time()
        population = Population(crowd.items, metric="none").fit(pairs, y, users=people)
        times.append(time.process_time() - start)
    seconds = float(np.median(times))
    mean, covariance = mean_and_covariance(population)
    others: dict[str, Any] = {
        "numpyro, NUTS": by_nuts,
        "Metropolis within Gibbs, as bayesm": by_metropolis,
        "xlogit": by_xlogit,
    }
    found = {name: fit(design) for name, fit in others.items()}
    nuts, upper = found["numpyro, NUTS"], np.triu_indices(d)

    def row(name: str, cpu: float, loss: float, about: Array, spread: Array, note: str) -> str:
        inside = []
        for draws, value in ((nuts.means, about), (nuts.covariances[:, *upper], spread[upper])):
            low, high = np.quantile(draws, [0.05, 0.95], axis=0)
            inside.append(f"{int(((low <= value) & (value <= high)).sum())} of {len(value)}")
        trace = np.trace(spread) / np.trace(nuts.covariances.mean(axis=0))
        times = f"{cpu:.2f} | {cpu / seconds:.0f}"
        return f"| {name} | {times} | {loss:.4f} | {inside[0]} | {inside[1]} | {trace:.3f} | {note} |"

    true = float(-np.log(1 / (1 + np.exp(-np.einsum("kad,kd->ka", held, crowd.weights)))).mean())
    loss = log_loss(population, new_pairs, new_y, people)
    passes = f"median of 5 fits, {population.n_iter_} changes of the population"
    return [
        f"## Beside others: {k} people, {ANSWERS} answers each, {d} features, full covariance",
        "",
        f"Log loss is of {ANSWERS} more answers of each; with everybody's true weights it is {true:.4f}. "
        "Inside: entries of the population's mean and covariance inside NUTS's 90 % intervals; trace: of the "
        "covariance, by NUTS's posterior mean (one far from 1 after Metropolis' steps says that there were "
        "too few of them). NUTS's time includes compiling.",
        "",
        "| | CPU s | times ours | log loss | mean inside | covariance inside | trace | |",
        "|---|---|---|---|---|---|---|---|",
        row('`Population(metric="none")`', seconds, loss, mean, covariance, passes),
        *(
            row(
                name,
                fit.seconds,
                fit.log_loss(held),
                fit.means.mean(axis=0),
                fit.covariances.mean(axis=0),
                fit.note,
            )
            for name, fit in found.items()
        ),
        row("the truth", 0.0, true, crowd.mean, crowd.covariance, ""),
    ]


def one_cost(n_people: int, is_uneven: bool) -> None:
    """Print CPU seconds, wall seconds, peak memory and status of a fit, in a process of its own."""
    rng, d = np.random.default_rng(0), 8
    small = linear_crowd(1, d, rng, n_items=100)
    people = np.repeat(np.arange(n_people), ANSWERS)
    weights = rng.multivariate_normal(small.mean, small.covariance, n_people)
    if is_uneven:
        weights *= np.exp(rng.normal(0, 0.6, n_people))[:, None]
    first = rng.integers(0, 100, len(people))
    second = (first + rng.integers(1, 100, len(people))) % 100
    away = np.zeros(len(people))
    for j in range(d):
        away += (small.items[first, j] - small.items[second, j]) * weights[people, j]
    y = np.where(rng.logistic(size=len(people)) < away, 1, -1)
    pairs = np.column_stack([first, second])
    del first, second, away
    Population(small.items, metric="none").fit(pairs[:100], y[:100], users=people[:100])
    cpu, wall = time.process_time(), time.perf_counter()
    population = Population(small.items, metric="none", n_jobs=2).fit(pairs, y, users=people)
    times = time.process_time() - cpu, time.perf_counter() - wall
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(*times, memory, population.status_, population.n_iter_)


def cost(most: int = 1_000_000) -> list[str]:
    """Against people."""
    lines = [
        f"## Cost against people: {ANSWERS} answers each, 8 features, `n_jobs=2`",
        "",
        "The whole of `fit`, checks included. Memory: the peak of the process, with the answers "
        f"themselves. Wall time is of a machine with {os.cpu_count()} cores that had other work to do "
        f"(load {os.getloadavg()[0]:.1f} at the start).",
        "",
        "| people | consistency | CPU s | wall s | peak GB | status | changes of the population |",
        "|---|---|---|---|---|---|---|",
    ]
    crowds = [(n, uneven) for n in (1_000, 10_000, 100_000, 1_000_000) for uneven in (False, True)]
    for n_people, is_uneven in crowds:
        if n_people <= most and (n_people <= MOST_PEOPLE or not is_uneven):
            command = [sys.executable, "-m", "benchmarks.many_people", "--one-cost", str(n_people)]
            command += ["--uneven"] * is_uneven
            told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            cpu, wall, memory = (float(cell) for cell in told[:3])
            name = "uneven" if is_uneven else "even"
            times = f"{cpu:.2f} | {wall:.2f} | {memory:.2f}"
            lines.append(f"| {n_people:,} | {name} | {times} | {told[3]} | {told[4]} |")
            print(lines[-1], flush=True)
    return lines


def auto() -> list[str]:
    """All kinds of preference, tried on people left out."""
    lines = [
        f'## All kinds tried (`metric="auto"`): {ANSWERS} answers each, 4 features, 40 items',
        "",
        "| people | tastes | CPU s | log loss | the best kind alone | kinds in the average |",
        "|---|---|---|---|---|---|",
    ]
    crowds: dict[str, Callable[..., Crowd]] = {"linear": linear_crowd, "ideal points": ideal_crowd}
    for n_people in (30, 200, 1000):
        for name, make in crowds.items():
            rng = np.random.default_rng(1)
            crowd = make(n_people, 4, rng)
            people = np.repeat(np.arange(n_people), ANSWERS)
            pairs, y = crowd.answers(people, rng)
            held = crowd.answers(people, rng)
            losses = {}
            for kind in ("auto", "none", "diagonal", "full", "smooth"):
                start = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    population = Population(crowd.items, metric=kind).fit(pairs, y, users=people)
                if kind == "auto":
                    seconds, kinds = time.process_time() - start, population.kind_weights_
                losses[kind] = log_loss(population, *held, people)
            loss = losses.pop("auto")
            best = min(losses, key=lambda kind: losses[kind])
            shares = ", ".join(f"{kind} {share:.2f}" for kind, share in kinds.items())
            cells = f"{seconds:.2f} | {loss:.4f} | {losses[best]:.4f} ({best}) | {shares}"
            lines.append(f"| {n_people} | {name} | {cells} |")
            print(lines[-1], flush=True)
    return lines


def groups(populations: int = 10, alone: int = 40) -> list[str]:
    """Three groups of 100 people, and one."""
    lines = [
        "## Groups: 3 of 100 people, 20 answers each, 4 features",
        "",
        "Separation: the distance of any two groups' mean weights, by the deviation of a weight inside a "
        "group (0.5 logits for a deviation of the feature). Adjusted Rand index, mean ± standard error of "
        f"{populations} populations. Weights known: by who knows everybody's weights and the groups' means; "
        "groups known: by who knows the groups' means and covariance and the same answers, the most that can "
        "be had.",
        "",
        '| separation | weights known | groups known | `groups=3` | `groups="auto"` | groups found by auto |',
        "|---|---|---|---|---|---|",
    ]
    for separation in (2.0, 4.0, 6.0, 8.0):
        found = np.array([one_grouping(separation, 2000 + k) for k in range(populations)])
        mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(populations)
        cells = " | ".join(f"{a:.2f} ± {b:.2f}" for a, b in zip(mean[:4], error[:4], strict=True))
        seen = zip(*np.unique(found[:, 4], return_counts=True), strict=True)
        counts = ", ".join(f"{number:.0f} in {times}" for number, times in seen)
        lines.append(f"| {separation:.0f} | {cells} | {counts} |")
        print(lines[-1], flush=True)
    ones = []
    for k in range(alone):
        rng = np.random.default_rng(3000 + k)
        crowd = linear_crowd((30, 100, 300)[k % 3], 4, rng)
        people = np.repeat(np.arange(len(crowd.weights)), ANSWERS)
        ones.append(fitted(crowd, people, rng, metric="none", groups="auto").n_groups_ == 1)
    lines += ["", f'One group of 30, 100 or 300 people: `groups="auto"` found one in {sum(ones)} of {alone}.']
    print(lines[-1], flush=True)
    return lines


def one_grouping(separation: float, seed: int) -> tuple[float, ...]:
    """Adjusted Rand indices: weights known, groups known, 3 groups, "auto"; how many groups that found."""
    rng = np.random.default_rng(seed)
    crowd, group = grouped_crowd((100, 100, 100), 4, separation, rng)
    means = np.array([crowd.weights[group == g].mean(axis=0) for g in range(3)])
    nearest = ((crowd.weights[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    people = np.repeat(np.arange(300), ANSWERS)
    pairs, y = crowd.answers(people, rng)
    known = nearest_by_answers(crowd, means, np.where(y[:, None] > 0, pairs, pairs[:, ::-1]))
    indices, count = [adjusted_rand_score(group, own) for own in (nearest, known)], 1
    for setting in (3, "auto"):
        population = Population(crowd.items, metric="none", groups=setting).fit(pairs, y, users=people)
        indices.append(adjusted_rand_score(group, population._everybody[2].argmax(axis=1)))
        count = population.n_groups_
    return *indices, count


def nearest_by_answers(crowd: Crowd, means: Array, wins: Index) -> Index:
    """Everybody's likeliest group, given their answers (winner, loser) and what is true of the groups."""
    n, d = len(crowd.weights), len(crowd.mean)
    start = PopulationPrior.first(crowd.items, np.zeros(d, dtype=np.intp))
    shares = np.full(len(means), 1 / len(means))
    root = np.linalg.cholesky(crowd.covariance)
    prior = replace(start, means=means, root=root, lapse=1e-6, shares=shares, coin=1e-9)
    people = np.repeat(np.arange(n), len(wins) // n)
    (block,) = blocks_of(*wins.T, np.ones(len(wins)), people, n)
    sites = tuple(Sites.empty(block) for _ in shares)
    found = pass_over(block, sites, prior, View.of(prior, crowd.items), before=8)
    result: Index = np.empty(n, dtype=np.intp)
    result[block.people] = found.members[:, :-1].argmax(axis=1)
    return result


def coins(populations: int = 10, n_people: int = 300) -> list[str]:
    """A tenth of the people answer at random."""
    lines = [
        f"## Coin-tossers: a tenth of {n_people} people, 4 features, {populations} populations",
        "",
        "Mean and trace: of the fit with coin-tossers against that without them, in the typical size of a "
        "weight, and as a ratio. Found: coin-tossers, and others, whose probability of it is over a half.",
        "",
        "| answers each | mean moved by | trace | coin-tossers found | false alarms | share estimated |",
        "|---|---|---|---|---|---|",
    ]
    for answers in (10, 20, 40):
        rows = []
        for k in range(populations):
            rng = np.random.default_rng(4000 + k)
            crowd = linear_crowd(n_people, 4, rng)
            people = np.repeat(np.arange(n_people), answers)
            pairs, y = crowd.answers(people, rng)
            tosses = people < n_people // 10
            mixed = np.where(tosses, rng.choice([-1, 1], len(y)), y)
            population = Population(crowd.items, metric="none").fit(pairs, mixed, users=people)
            clean = Population(crowd.items, metric="none").fit(
                pairs[~tosses], y[~tosses], users=people[~tosses]
            )
            (mean, spread), (mean_0, spread_0) = mean_and_covariance(population), mean_and_covariance(clean)
            size = np.sqrt((mean_0**2).mean() + np.trace(spread_0) / len(mean_0))
            coin = population._everybody[1] > 0.5
            rows.append(
                (
                    np.abs(mean - mean_0).max() / size,
                    np.trace(spread) / np.trace(spread_0),
                    coin[: n_people // 10].mean(),
                    coin[n_people // 10 :].mean(),
                    population.coin_share_,
                )
            )
        moved, trace, right, wrong, share = np.mean(rows, axis=0)
        lines.append(f"| {answers} | {moved:.3f} | {trace:.3f} | {right:.0%} | {wrong:.1%} | {share:.3f} |")
        print(lines[-1], flush=True)
    return lines


PARTS: dict[str, Callable[[], list[str]]] = {
    "peers": peers,
    "cost": cost,
    "auto": auto,
    "coverage": coverage,
    "bias": bias,
    "groups": groups,
    "coins": coins,
}


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS) + "; by default all")
    parser.add_argument("--one-cost", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--uneven", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_cost:
        one_cost(options.one_cost, options.uneven)
        return
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in options.parts or PARTS:
        if name not in PARTS:
            parser.error(f"there is no part {name!r}; there are {', '.join(PARTS)}")
        (BUILD / f"{name}.md").write_text("\n".join(PARTS[name]()) + "\n", encoding="utf-8")
    there = [BUILD / f"{name}.md" for name in PARTS if (BUILD / f"{name}.md").exists()]
    head = "# Many people\n\n`python -m benchmarks.many_people`; CPU seconds, OPENBLAS_NUM_THREADS=1.\n\n"
    PAGE.write_text(head + "\n".join(path.read_text(encoding="utf-8") for path in there), encoding="utf-8")


if __name__ == "__main__":
    main()
