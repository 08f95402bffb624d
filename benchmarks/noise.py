"""Is noise called noise? `python -m benchmarks.noise`: how often a pattern is found. Writes noise.md.

People who toss a coin (those who always click left are the same, as sides are random) and people with
ordinary noise, who answer random questions or those that a study chooses.
"""

from __future__ import annotations

import numpy as np

from benchmarks.simulated import heading, make_person, options, run, write
from coombs import IdealPoint

SIZES = ((15, 3), (30, 3), (30, 6), (60, 3))
"""Answers and features."""
WHO = ("coin", "linear", "ideal", "correlated", "cut-offs")


def trial(job: tuple[str, int, int, bool, int]) -> tuple[bool, float]:
    """Whether a pattern is found, and the accuracy that is reported."""
    who, n, d, chosen, seed = job
    person = make_person(who, d, seed)
    if chosen:
        result = person.study(n, seed=seed).result()
        return result.has_pattern, result.explain().trust.accuracy
    told = IdealPoint().fit(person.random_answers(n)).explain()
    return told.has_pattern, told.trust.accuracy


def main() -> None:
    given = options(__doc__, 100)
    title = (
        f"`python -m benchmarks.noise --people {given.people}`: share of people in whose answers a pattern "
        "is found (reported accuracy, mean)."
    )
    lines = heading(title, ("questions", "answers, features", *WHO))
    for chosen in (False, True):
        for n, d in SIZES:
            cells = []
            for who in WHO:
                found = run(trial, [(who, n, d, chosen, seed) for seed in range(given.people)], given.jobs)
                share, accuracy = np.mean([f for f, _ in found]), np.nanmean([a for _, a in found])
                cells.append(f"{share:.2f} ({accuracy:.3f})")
            lines.append(f"| {'chosen' if chosen else 'random'} | {n}, {d} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    write("noise.md", lines)


if __name__ == "__main__":
    main()
