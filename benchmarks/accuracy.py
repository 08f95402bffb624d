"""How near IdealPoint comes to the truth, beside the paper's estimators. `python -m benchmarks.accuracy`.

The paper's protocol (100 items): medians of the UR error, the WER and the Kendall distance, and the
mean share of the top 10, over people drawn afresh. Writes accuracy.md beside this file.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coombs import Alternating, EuclideanCompass, EuclideanSingleStep, IdealPoint, SingleStep
from coombs.estimators.base import PairEstimator
from coombs.evaluation import kendall_tau_distance, top_k_fraction, ur_error, wer_error
from coombs.simulate import Preferences, draw_answers, draw_pairs, make_preferences

ANSWERS = (20, 50, 100, 200, 300, 500)
LIMIT = {
    (2, 20): ".065 / .073",
    (2, 50): ".032 / .034",
    (2, 500): ".0002 / .0024",
    (5, 50): ".134 / .101",
    (5, 100): ".059 / .071",
    (5, 200): ".031 / .038",
    (5, 500): ".003 / .014",
}
"""UR / Kendall of the mean of the posterior under the prior that people are drawn from, which no estimator
can beat on average; by (features, answers), measured once with other draws of the same protocol."""


class Cell(NamedTuple):
    """A kind of person: features, answers, noise, whether M is the identity, whether one fixed problem."""

    d: int
    p: int
    noise: str | float | None = None
    identity: bool = False
    fixed: bool = False


def person(cell: Cell, seed: int) -> Preferences:
    """One simulated person; of a fixed problem, only the answers are new."""
    where = 777 if cell.fixed else [seed, cell.d, cell.p]
    drawn = make_preferences(100, cell.d, cell.p, cell.identity, cell.noise, np.random.default_rng(where))
    if not cell.fixed:
        return drawn
    rng = np.random.default_rng([seed, cell.p])
    pairs = draw_pairs(100, cell.p, rng)
    return drawn.__class__(
        drawn.items,
        pairs,
        draw_answers(drawn.distances, pairs, cell.noise, rng),
        drawn.ideal_point,
        drawn.metric,
    )


def estimators(cell: Cell, truth: Preferences) -> dict[str, Callable[[], PairEstimator]]:
    """The rivals of a cell."""
    found: dict[str, Callable[[], PairEstimator]] = {"IdealPoint": lambda: IdealPoint(truth.items)}
    if cell.identity:
        found["Euclidean 1"] = lambda: EuclideanSingleStep(truth.items)
        found["Euclidean 2"] = lambda: EuclideanCompass(truth.items)
    elif cell.fixed:
        known = (truth.ideal_point, truth.metric)
        found["Alternating, oracle"] = lambda: Alternating(truth.items, truth=known)
    else:
        found["SingleStep"] = lambda: SingleStep(truth.items)
    return found


def measure(job: tuple[Cell, int]) -> dict[str, list[float]]:
    """UR, WER, Kendall distance and share of the top 10 of each estimator."""
    cell, seed = job
    truth, result = person(cell, seed), {}
    for name, make in estimators(cell, truth).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            est = make().fit(truth.pairs, truth.y)
        distance = est.distance()
        result[name] = [
            ur_error(est.ideal_point_, truth.ideal_point, truth.metric),
            wer_error(est.metric_, truth.metric),
            kendall_tau_distance(distance, truth.distances),
            top_k_fraction(distance, truth.distances, 10),
        ]
    return result


def row(cell: Cell, trials: Sequence[dict[str, list[float]]]) -> tuple[str, float]:
    """A line of the table, and how many times smaller the UR error is than the best rival's."""
    summary = {}
    for name in trials[0]:
        values = np.array([trial[name] for trial in trials])
        summary[name] = [*np.median(values[:, :3], axis=0), values[:, 3].mean()]
    ours = summary.pop("IdealPoint")
    cells, ratio = [], np.inf
    for name, theirs in summary.items():
        worse = [ours[i] > theirs[i] + 1e-12 for i in range(3)] + [ours[3] < theirs[3] - 1e-12]
        marks = ["**" if bad else "" for bad in worse]
        cells.append(
            f"{name} | "
            + " | ".join(f"{t:.4f} -> {m}{o:.4f}{m}" for t, o, m in zip(theirs, ours, marks, strict=True))
        )
        ratio = min(ratio, theirs[0] / ours[0])
    limit = LIMIT.get((cell.d, cell.p), "") if not (cell.noise or cell.identity or cell.fixed) else ""
    return "\n".join(f"| {cell.d}, {cell.p} | {text} | {limit} |" for text in cells), ratio


PARTS: dict[str, list[Cell]] = {
    "The paper's protocol": [Cell(d, p) for d in (2, 5, 10) for p in ANSWERS],
    "One fixed problem, Alternating with its oracle stop": [Cell(5, p, fixed=True) for p in ANSWERS],
    "M is the identity": [Cell(d, p, identity=True) for d in (2, 5) for p in (100, 200, 300, 500)],
    "A tenth of the answers flipped": [Cell(5, p, noise=0.1) for p in (50, 100, 200, 500)],
    "Logistic noise": [Cell(5, p, noise="logistic") for p in (50, 100, 200, 500)],
}


def main() -> None:
    """Print the tables and write them down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--part", type=int, help="only this part, counted from 0")
    options = parser.parse_args()
    lines = [
        f"Medians of {options.trials} people (top 10: means), 100 items; theirs -> ours, bold where worse.",
        "The limit is UR / Kendall of the posterior under the prior that people are drawn from, measured",
        "once with other draws: no estimator can beat it on average.",
    ]
    parts = list(PARTS.items())
    with ProcessPoolExecutor(options.jobs) as pool:
        for title, cells in parts if options.part is None else [parts[options.part]]:
            lines += [
                "",
                f"## {title}",
                "",
                "| d, P | rival | UR | WER | Kendall | top 10 | limit |",
                "|---|---|---|---|---|---|---|",
            ]
            ratios = []
            for cell in cells:
                trials = list(
                    pool.map(measure, [(cell, seed) for seed in range(options.trials)], chunksize=4)
                )
                text, ratio = row(cell, trials)
                lines.append(text)
                ratios.append(ratio)
                print(text, flush=True)
            lines += ["", f"UR smaller by {np.exp(np.mean(np.log(ratios))):.2f}x in the geometric mean."]
            print(lines[-1], flush=True)
    if options.part is None:
        (Path(__file__).parent / "accuracy.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
