"""How often the interior point converges by itself: `python -m benchmarks.robustness`.

Every hard case of the solver's promise, for three dimensions and four numbers of answers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coombs.data.answers import Answers
from coombs.data.tables import FloatArray
from coombs.programs import interior
from coombs.programs.formulate import metric_program
from coombs.programs.losses import LOSSES
from coombs.programs.program import Status
from coombs.simulate import make_preferences

Case = tuple[FloatArray, FloatArray, tuple[float, float, float]]
PAPER = (2.0, 0.002, 0.001)
ADMISSIONS = (1 / 650, 1 / 6500, 2 / 65e6)
RANKED = (3 / 800, 1 / 8000, 5 / 8e11)


def cases(d: int, p: int) -> Iterator[Case]:
    """Items, (winner, loser) rows and gammas."""
    rng = np.random.default_rng(5)
    truth = make_preferences(100 if p >= 500 else 60, d, p, random_state=7)
    x, wins = truth.items, np.where(truth.y[:, None] > 0, truth.pairs, truth.pairs[:, ::-1])
    scales = 10.0 ** np.linspace(-4, 4, d)
    near = x[:, 0] + 1e-8 * rng.standard_normal(len(x))
    constant = np.full(len(x), 3.0)
    for items in (
        x,
        x + 1e6,
        x * scales,
        x * scales + 1e6,
        *(np.column_stack([x, c]) for c in (constant, x[:, 0], near)),
    ):
        yield items, wins, PAPER
    flipped = np.where(rng.random((p, 1)) < 0.2, wins[:, ::-1], wins)
    yield x, flipped, PAPER
    yield x, np.concatenate([wins, wins[:, ::-1]]), PAPER
    for gamma1 in (1e-6, 1 / 650, 1e2):
        for gamma2 in (1e-6, 1e2):
            for gamma3 in (1e-6, 1e2):
                yield x, wins, (gamma1, gamma2, gamma3)
    yield x, flipped, ADMISSIONS
    yield x, flipped, RANKED
    yield 150 + 5 * x, flipped, ADMISSIONS


def main() -> None:
    print("| loss | d >= 0 | problems | converged | iterations: mean, most |\n|---|---|---|---|---|")
    for name, loss in LOSSES.items():
        for nonnegative in (False, True):
            ends = []
            for d in (2, 5, 10):
                for p in (3, 20, 100, 500):
                    for items, wins, gammas in cases(d, p):
                        answers = Answers.collect(items, wins[:, 0], wins[:, 1], np.ones(len(wins)))
                        ends.append(
                            interior.solve(metric_program(answers, loss, gammas, None, nonnegative).program)
                        )
            steps = [end.n_iter for end in ends if end.status is Status.OPTIMAL]
            counts = f"{len(ends)} | {len(steps)} | {np.mean(steps):.1f}, {max(steps)}"
            print(f"| {name} | {'yes' if nonnegative else 'no'} | {counts} |", flush=True)


if __name__ == "__main__":
    main()
