"""Which rule should stop `Alternating` when the truth is not known? `python -m benchmarks.stopping`.

One long run of alternations for each simulated person; every rule then picks its iterate from it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coombs import Alternating, Comparisons
from coombs.data.tables import FloatArray
from coombs.estimators.alternating import Iterate
from coombs.evaluation import ur_error
from coombs.simulate import make_preferences

ANSWERS = (20, 40, 70, 100, 150, 200, 300)
LENGTH = 100


class Run(NamedTuple):
    """Iterates on all answers with their true errors; the hinge loss of a twin on answers it has not seen."""

    steps: Sequence[Iterate]
    errors: Sequence[float]
    held_out: Sequence[float]
    centre: FloatArray


def alternate(p: int, seed: int) -> Run:
    truth = make_preferences(100, 5, p, random_state=1000 * p + seed)
    data, rng = truth.comparisons, np.random.default_rng(seed)
    order = rng.permutation(p)
    unseen, seen = data[order[: p // 5]], data[order[p // 5 :]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        steps, twin = (
            Alternating(tolerance=1e-30, max_alternations=LENGTH).fit(part).history_ for part in (data, seen)
        )
    errors = [ur_error(step.ideal_point, truth.ideal_point, truth.metric) for step in steps]
    return Run(steps, errors, [hinge(step, unseen) for step in twin], truth.items.mean(axis=0))


def hinge(step: Iterate, data: Comparisons) -> float:
    away = data.items - step.ideal_point
    distance = np.einsum("ij,jk,ik->i", away, step.metric, away)
    winners, losers, _ = data.oriented()
    return float(np.maximum(0, 1 - (distance[losers] - distance[winners])).mean())


def oracle(run: Run) -> int:
    for k in range(1, len(run.errors)):
        fall = run.errors[k - 1] - run.errors[k]
        if fall < 1e-3:
            return k if fall >= 0 else k - 1
    return len(run.errors) - 1


def change(tolerance: float) -> Callable[[Run], int]:
    def rule(run: Run) -> int:
        for k in range(1, len(run.steps)):
            u, metric = run.steps[k].ideal_point - run.centre, run.steps[k].metric
            move = run.steps[k].ideal_point - run.steps[k - 1].ideal_point
            if move @ metric @ move <= tolerance * (u @ metric @ u):
                return k
        return len(run.steps) - 1

    return rule


def objective(tolerance: float) -> Callable[[Run], int]:
    def rule(run: Run) -> int:
        for k in range(2, len(run.steps)):
            now, before = run.steps[k].objective, run.steps[k - 1].objective
            if abs(before - now) <= tolerance * (1 + abs(now)):
                return k
        return len(run.steps) - 1

    return rule


RULES: dict[str, Callable[[Run], int]] = {
    "start only": lambda run: 0,
    "the paper's oracle": oracle,
    "best iterate there was": lambda run: int(np.argmin(run.errors)),
    "change of u < 1e-2": change(1e-2),
    "change of u < 1e-3": change(1e-3),
    "change of u < 3e-4": change(3e-4),
    "change of u < 1e-4": change(1e-4),
    "change of u < 1e-5": change(1e-5),
    "objective < 1e-2": objective(1e-2),
    "objective < 1e-3": objective(1e-3),
    "held-out hinge, least": lambda run: int(np.argmin(run.held_out)),
    f"always {LENGTH}": lambda run: LENGTH,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=40, help="simulated people for each number of answers")
    people = parser.parse_args().people
    runs = {p: [alternate(p, seed) for seed in range(people)] for p in ANSWERS}
    print(f"| rule | {' | '.join(f'P = {p}' for p in ANSWERS)} | geometric mean | alternations |")
    print("|---" * (len(ANSWERS) + 3) + "|")
    for name, rule in RULES.items():
        medians = [np.median([run.errors[rule(run)] for run in runs[p]]) for p in ANSWERS]
        everyone = [run for p in ANSWERS for run in runs[p]]
        mean = np.exp(np.mean([np.log(run.errors[rule(run)]) for run in everyone]))
        steps = np.mean([rule(run) for run in everyone])
        print(f"| {name} | {' | '.join(f'{m:.3f}' for m in medians)} | {mean:.3f} | {steps:.1f} |")


if __name__ == "__main__":
    main()
