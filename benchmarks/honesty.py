"""Is the reported accuracy that on new answers? `python -m benchmarks.honesty`. Writes honesty.md.

Reported minus actual accuracy and log loss, on 1,000 new answers to random questions, means over people of
five kinds that are not ours; random questions for each metric, and chosen ones.
"""

from __future__ import annotations

import numpy as np

from benchmarks.simulated import heading, make_person, options, run, write
from coombs import IdealPoint

SIZES = (20, 50, 200)
D = 4
METRICS = ("auto", "smooth", "full", "none", "identity", "diagonal", "signed")
WHO = ("linear", "ideal", "correlated", "cut-offs", "diminishing")


def trial(job: tuple[int, str, int]) -> tuple[float, float, float, float]:
    """Reported and actual accuracy, reported and actual log loss."""
    n, metric, seed = job
    person = make_person(WHO[seed % len(WHO)], D, seed)
    if metric == "chosen":
        result = person.study(n, seed=seed).result()
        est, told = result.model, result.explain()
    else:
        est = IdealPoint(metric=metric).fit(person.random_answers(n))
        told = est.explain()
    new = person.random_answers(1000)
    p = est.predict_proba(new)[:, 1]
    given = np.where(new.y > 0, p, 1 - p)
    return (
        told.trust.accuracy,
        float(((p >= 0.5) == (new.y > 0)).mean()),
        told.trust.log_loss,
        float(-np.log(given).mean()),
    )


def main() -> None:
    given = options(__doc__, 200)
    title = (
        f"`python -m benchmarks.honesty --people {given.people}`: reported minus actual accuracy, its "
        "standard error (log loss likewise); actual accuracy."
    )
    lines = heading(title, ("metric", *(f"{n} answers" for n in SIZES)))
    for metric in (*METRICS, "chosen"):
        cells = []
        for n in SIZES:
            found = np.array(run(trial, [(n, metric, seed) for seed in range(given.people)], given.jobs))
            accuracy, loss = (found[:, 0] - found[:, 1]), (found[:, 2] - found[:, 3])
            error = accuracy.std() / np.sqrt(len(accuracy))
            cells.append(
                f"{accuracy.mean():+.3f} +- {error:.3f} ({loss.mean():+.3f}); actual {found[:, 1].mean():.3f}"
            )
        lines.append(f"| {metric} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    write("honesty.md", lines)


if __name__ == "__main__":
    main()
