"""Passes over people in parts by one and by two Dask workers: `python -m benchmarks.shards`.

CPU seconds, as a machine may have other work to do: a pass takes as long as the worker with the most to do.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.many_people import ANSWERS, linear_crowd
from coombs import Population
from coombs.inference.people.shard_keepers import ShardsOnCluster

PAGE = Path(__file__).with_suffix(".md")
PARTS = 4
"""Files of answers."""
FEATURES = 8
"""Of an item."""


def cpu_seconds() -> float:
    """Of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def write_answers(folder: Path, n_people: int) -> np.ndarray:
    """Files of answers, a person's in one; the items."""
    rng = np.random.default_rng(0)
    crowd = linear_crowd(1, FEATURES, rng, n_items=100)
    people = np.repeat(np.arange(n_people), ANSWERS)
    weights = rng.multivariate_normal(crowd.mean, crowd.covariance, n_people)
    first = rng.integers(0, 100, len(people))
    second = (first + rng.integers(1, 100, len(people))) % 100
    away = np.zeros(len(people))
    for j in range(FEATURES):
        away += (crowd.items[first, j] - crowd.items[second, j]) * weights[people, j]
    won = rng.logistic(size=len(people)) < away
    wins = {"winner": np.where(won, first, second), "loser": np.where(won, second, first)}
    answers = pd.DataFrame({"user": people} | wins)
    for part in range(PARTS):
        answers[people % PARTS == part].to_parquet(folder / f"{part}.parquet")
    return crowd.items


class Watched:
    """Passes on a cluster, with what each worker's CPU spends on them."""

    def __init__(self, client: object) -> None:
        self.client, self.spent, self.change = client, [], ShardsOnCluster.change

    def __call__(self, keeper: ShardsOnCluster, *args: object) -> list[object]:
        """One pass."""
        before = self.client.run(cpu_seconds)
        found = self.change(keeper, *args)
        after = self.client.run(cpu_seconds)
        self.spent.append([after[worker] - before[worker] for worker in after])
        return found


def one_row(workers: int, folder: Path, items: np.ndarray) -> tuple[str, float, np.ndarray]:
    """The row of a number of workers; seconds of the passes by the slowest worker; the learned mean."""
    from distributed import Client, LocalCluster

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        watched = Watched(client)
        ShardsOnCluster.change = lambda keeper, *args: watched(keeper, *args)
        here, wall = time.process_time(), time.perf_counter()
        try:
            population = Population(items, metric="none").fit(folder, client=client)
        finally:
            ShardsOnCluster.change = watched.change
        here, wall = time.process_time() - here, time.perf_counter() - wall
        spent = np.array(watched.spent)
        every = client.run(cpu_seconds).values()
    slowest = float(spent.max(axis=1).sum())
    cells = f"{spent.sum():.1f} | {slowest:.1f} | {here:.1f} | {sum(every):.1f} | {wall:.0f}"
    row = f"| {workers} | {population.n_iter_} | {cells} |"
    print(row, flush=True)
    return row, slowest, population._average.parts[0].fit.prior.vector()


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--people", type=int, default=40_000)
    n_people = parser.parse_args().people
    with tempfile.TemporaryDirectory() as name:
        items = write_answers(Path(name), n_people)
        load = os.getloadavg()[0]
        rows, seconds, learned = zip(*(one_row(count, Path(name), items) for count in (1, 2)), strict=True)
    lines = [
        "# People in parts, by one worker and by two",
        "",
        f"`python -m benchmarks.shards`: {n_people:,} people, {ANSWERS} answers each, {FEATURES} features, "
        f"{PARTS} Parquet files, `LocalCluster` with processes of one thread.",
        "",
        "CPU seconds but for the last column. Slowest: in each pass, those of the worker with most to do, "
        "added up: the wall time of the passes on a machine without other work. Here: what is learned from "
        "the sample of 20,000 people, which is the same however many people and workers there are. Workers "
        f"in all: with starting, importing and reading. The machine had {os.cpu_count()} cores and "
        f"other work to do (load {load:.1f}), so that wall times say little.",
        "",
        "| workers | passes | passes, all workers | passes, slowest | here | workers in all | wall s |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
        f"Two workers are {seconds[0] / seconds[1]:.2f} times as fast as one in the passes; what was learned "
        f"differs by {np.abs(learned[0] - learned[1]).max():.1g}.",
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(lines[-1])


if __name__ == "__main__":
    main()
