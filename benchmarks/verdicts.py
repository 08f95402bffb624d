"""Are verdicts supported? `python -m benchmarks.verdicts`: how often each is right. Writes verdicts.md.

Random questions, ordinary noise. A verdict is false if the truth is another one, or if the feature is
irrelevant to the person.
"""

from __future__ import annotations

import numpy as np

from benchmarks.simulated import heading, make_person, options, run, write
from coombs import IdealPoint

SIZES = (15, 30, 60, 120)
WHO = (
    ("coin", 3, 0),
    ("linear", 3, 0),
    ("ideal", 3, 0),
    ("linear", 4, 2),
    ("ideal", 4, 2),
    ("correlated", 4, 0),
)
"""Kinds of people, features, and how many of these are irrelevant to them."""
NAMES = {
    "more is better": "more",
    "less is better": "less",
    "sweet spot": "peak",
    "the middle is the worst": "valley",
}


def trial(job: tuple[str, int, int, int, int, str]) -> list[tuple[str, str, bool | None]]:
    """(truth, verdict, whether the interval of a right sweet spot holds the true best value) of each feature.

    The verdict is empty where nothing is claimed.
    """
    who, d, irrelevant, n, seed, metric = job
    person = make_person(who, d, seed, irrelevant)
    told = IdealPoint(metric=metric).fit(person.random_answers(n)).explain()
    result = []
    for j, (truth, one) in enumerate(zip(person.truth, told.ideal, strict=True)):
        said, holds = NAMES.get(one.verdict, ""), None
        if said == truth == "peak" and person.ideal is not None:
            holds = bool(one.low <= person.ideal[j] <= one.high)
        result.append((truth, said, holds))
    return result


def main() -> None:
    given = options(__doc__, 100)
    title = (
        f"`python -m benchmarks.verdicts --people {given.people}`: of features: found (the right verdict, "
        "of those that have one) / false slope / false sweet spot (of all) / intervals of "
        "sweet spots that hold the true best value "
        "(of those rightly stated; nominal 0.90)."
    )
    lines = heading(title, ("metric", "people, features (irrelevant)", *(f"{n} answers" for n in SIZES)))
    for metric in ("full", "auto"):
        for who, d, irrelevant in WHO:
            cells = []
            for n in SIZES:
                jobs = [(who, d, irrelevant, n, seed, metric) for seed in range(given.people)]
                found = [pair for one in run(trial, jobs, given.jobs) for pair in one]
                right = [truth == said for truth, said, _ in found if truth]
                slope = np.mean([said in ("more", "less") and said != truth for truth, said, _ in found])
                spot = np.mean([said in ("peak", "valley") and said != truth for truth, said, _ in found])
                held = [holds for *_, holds in found if holds is not None]
                share = f"{np.mean(right):.2f}" if right else "-"
                holding = f"{np.mean(held):.2f}" if held else "-"
                cells.append(f"{share} / {slope:.3f} / {spot:.3f} / {holding}")
            lines.append(f"| {metric} | {who}, {d} ({irrelevant}) | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    write("verdicts.md", lines)


if __name__ == "__main__":
    main()
