"""Does the computation's own randomness show? `python -m benchmarks.seeds`. Writes seeds.md.

The paper's simulated people, 100 items. Each is fitted twice: with another seed, another order of items and
another order of answers. Medians and 95th percentiles, over items (or pairs) and people, of the differences.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from benchmarks.simulated import options, run, write
from coombs import IdealPoint
from coombs.data.tables import FloatArray
from coombs.simulate import make_preferences

CELLS = ((2, 30), (5, 30), (5, 100), (5, 500), (10, 200), (10, 500))
"""Features and answers."""
FLIPS = (0.0, 0.08)
"""Shares of answers that are turned around."""
BELONGS = (0.3, 0.7)
"""Probabilities of being among the ten best between which an item may be in one list and not in the other."""


class Differences(NamedTuple):
    """Of one person's two fits; `seconds` are of the first."""

    scores: FloatArray
    probabilities: FloatArray
    ends: FloatArray
    distances: FloatArray
    other_tops: int
    seconds: float
    rhat: float


def trial(job: tuple[str, int, int, float, int]) -> Differences:
    metric, d, n, flips, seed = job
    person = make_preferences(
        100, d, n, noise=flips or None, random_state=np.random.default_rng([seed, d, n])
    )
    begin = time.process_time()
    one = IdealPoint(person.items, metric=metric, random_state=0).fit(person.pairs, person.y)
    seconds = time.process_time() - begin
    rng = np.random.default_rng(seed)
    items, answers = rng.permutation(100), rng.permutation(n)
    place = np.argsort(items)
    other = IdealPoint(person.items[items], metric=metric, random_state=1)
    other.fit(place[person.pairs][answers], person.y[answers])
    here, there = one.distances_, other.distances_[place]
    pairs = np.column_stack(np.triu_indices(100, 1))[::7]
    first, second = one.predict_proba(pairs)[:, 1], other.predict_proba(place[pairs])[:, 1]
    ends, other_ends = one.distance_interval(), other.distance_interval()[place]
    tops = np.stack([one.top_probability(10), other.top_probability(10)[place]])
    in_doubt = ((tops > BELONGS[0]) & (tops < BELONGS[1])).any(axis=0)
    lists = np.stack([here.argsort().argsort() < 10, there.argsort().argsort() < 10])
    assert one.posterior_ is not None
    return Differences(
        np.abs(_standard(here) - _standard(there)),
        np.abs(first - second),
        (np.abs(ends - other_ends) / (ends[:, 1] - ends[:, 0])[:, None]).ravel(),
        np.abs(here - there) / one.posterior_.distances(person.items).std(axis=0),
        int(((lists[0] != lists[1]) & ~in_doubt).sum()),
        seconds,
        one.posterior_.rhat,
    )


def _standard(scores: FloatArray) -> FloatArray:
    result: FloatArray = (scores - scores.mean()) / scores.std()
    return result


def main() -> None:
    given = options(__doc__, 50)
    lines = [
        f"`python -m benchmarks.seeds --people {given.people}`: two seeds, orders; median / 95th percentile.",
        "",
        "| metric | d, answers, flipped | scores, in deviations | probabilities | interval ends, in widths | "
        "distances, in posterior deviations | other top tens | CPU s a fit | worst R-hat |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for metric in ("full", "auto"):
        for d, n in CELLS:
            for flips in FLIPS:
                jobs = [(metric, d, n, flips, seed) for seed in range(given.people)]
                found = run(trial, jobs, given.jobs)
                parts = [np.concatenate([one[i] for one in found]) for i in range(4)]
                cells = [f"{np.median(part):.4f} / {np.quantile(part, 0.95):.4f}" for part in parts]
                cells += [str(sum(one.other_tops for one in found))]
                cells += [f"{np.mean([one.seconds for one in found]):.2f}"]
                cells += [f"{max(one.rhat for one in found):.3f}"]
                lines.append(f"| {metric} | {d}, {n}, {flips:.0%} | " + " | ".join(cells) + " |")
                print(lines[-1], flush=True)
    write("seeds.md", lines)


if __name__ == "__main__":
    main()
