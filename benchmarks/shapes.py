"""How often a drop, levelling off or two peaks are told of people who have none, and of people who have one.

python -m benchmarks.shapes        # two cores, ten minutes
"""

from __future__ import annotations

from typing import Any

from benchmarks.simulated import heading, make_person, options, run, write
from coombs import IdealPoint
from coombs.insights.shapes import shapes_of
from coombs.insights.statements import DROP, LEVELS_ABOVE, LEVELS_BELOW, RISE, TWO_PEAKS
from coombs.plots import taste_curves_data

PEOPLE = ("linear", "ideal", "correlated", "coin", "cut-offs", "diminishing", "two peaks")
ANSWERS = (30, 60, 100, 200)
FEATURES = (2, 4)
FIRST_SEED = 200
"""Thresholds were chosen on people below."""
COLUMNS = {
    "a drop or rise": (DROP, RISE),
    "levels off": (LEVELS_ABOVE, LEVELS_BELOW),
    "two peaks": (TWO_PEAKS,),
}


def trial(job: tuple[str, int, int, int]) -> set[str]:
    """The kinds of shapes that are told of one person."""
    kind, d, count, seed = job
    est = IdealPoint().fit(make_person(kind, d, seed).random_answers(count))
    return {shape.kind for shape in shapes_of(est, taste_curves_data(est))}


def main() -> None:
    given = options(__doc__, 60)
    seeds = range(FIRST_SEED, FIRST_SEED + given.people)
    cells = [(kind, count) for kind in PEOPLE for count in ANSWERS]
    title = (
        f"`python -m benchmarks.shapes --people {given.people}`: shares of people of whom a shape is told."
    )
    lines = heading(title, ("people", "answers", *COLUMNS))
    for kind, count in cells:
        jobs: list[Any] = [(kind, d, count, seed) for d in FEATURES for seed in seeds]
        told = run(trial, jobs, given.jobs)
        shares = [sum(bool(one & set(kinds)) for one in told) / len(told) for kinds in COLUMNS.values()]
        lines.append(f"| {kind} | {count} | {' | '.join(f'{share:.3f}' for share in shares)} |")
        print(lines[-1], flush=True)
    write("shapes.md", lines)


if __name__ == "__main__":
    main()
