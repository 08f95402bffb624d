"""Time of the programs of Canal et al. (2022) beside CVXPY: 48 people, 100 answers each, one thread.

    python -m benchmarks.many_people_programs [--quick]

`literal` is one term an answer in CVXPY, as the paper's sum reads and its authors' code has it, by CVXPY's
default solver; `arrays` is the same program written with arrays, by Clarabel, whose accuracy is nearest to
ours. Theirs is building and solving; ours is the program from the answers on, to a certified relative gap of
1e-8. CPU time of this process, all in one run, each case side by side. Writes many_people_programs.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from coombs.paper.crowd import draw_crowd
from coombs.programs import reference
from coombs.programs.constraint_sets import SETS, ConstraintSet
from coombs.programs.losses import LOSSES
from coombs.programs.shared_interior import solve
from coombs.programs.shared_metric import PeoplesAnswers, SharedProgram

HERE = Path(__file__).parent
N_PEOPLE, N_ANSWERS = 48, 100
REPEATS = 5
"""Of ours, of which the median counts; theirs runs once."""
GOAL = 300
CASES = [
    *((3, name, "hinge") for name in SETS),
    (3, "nuclear_full", "logistic"),
    (10, "frobenius", "hinge"),
    (10, "nuclear_full", "hinge"),
]


class Row(NamedTuple):
    """One line of the table: seconds, and how far their optimum is above ours."""

    d: int
    name: str
    loss: str
    ours: float
    gap: float
    n_iter: int
    arrays: float
    arrays_above: float
    literal: float
    literal_above: float

    def __str__(self) -> str:
        ratios = f"**{self.literal / self.ours:.0f}x** | {self.arrays / self.ours:.0f}x"
        ours = f"{1000 * self.ours:.0f} ms | {self.gap:.0e} | {self.n_iter}"
        theirs = f"{self.literal:.1f} s | {self.literal_above:+.0e} | "
        theirs += f"{self.arrays:.2f} s | {self.arrays_above:+.0e}"
        return f"| {self.d} | {self.name} | {self.loss} | {ours} | {theirs} | {ratios} |"


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds and the result."""
    start = time.process_time()
    found = run()
    return time.process_time() - start, found


def case(d: int, name: str, loss: str) -> Row:
    """Ours, then theirs, on the same answers."""
    crowd = draw_crowd(N_PEOPLE, N_ANSWERS, d, d, np.random.default_rng(0))
    answers = crowd.answers
    bounds = ConstraintSet(name, d, N_PEOPLE, *crowd.radii(name))
    runs = [timed(lambda: solve(SharedProgram.of(answers, LOSSES[loss], bounds))) for _ in range(REPEATS)]
    ours, found = float(np.median([seconds for seconds, _ in runs])), runs[0][1]
    assert found.status == "optimal"
    arrays, value = timed(lambda: by_cvxpy(reference.problem, answers, loss, bounds, solver="CLARABEL"))
    literal, literal_value = timed(lambda: by_cvxpy(reference.literal_problem, answers, loss, bounds))
    above = [one / found.objective - 1 for one in (value, literal_value)]
    return Row(d, name, loss, ours, found.gap, found.n_iter, arrays, above[0], literal, above[1])


def by_cvxpy(
    build: Callable[..., Any], answers: PeoplesAnswers, loss: str, bounds: ConstraintSet, **options: Any
) -> float:
    """The optimal value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(build(answers, loss, bounds)[0].solve(**options))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one case, printed only")
    quick = parser.parse_args().quick
    rows = []
    with threadpool_limits(1):
        for one in CASES[:1] if quick else CASES:
            rows.append(case(*one))
            print(rows[-1], flush=True)
            if not quick:
                (HERE / "many_people_programs.md").write_text(table(rows))


def table(rows: list[Row]) -> str:
    head = (
        "| d | set | loss | ours | gap | iterations | literal | above ours | arrays | above ours | "
        "literal / ours | arrays / ours |"
    )
    least = min(row.literal / row.ours for row in rows)
    return "\n".join(
        [
            "# One metric, many people: the programs of Canal et al. (2022) beside CVXPY",
            "",
            f"{N_PEOPLE} people, {N_ANSWERS} answers each, 100 items; CPU seconds of one thread, one run "
            "(`python -m benchmarks.many_people_programs`). *literal*: one term an answer, CVXPY's default "
            "solver. *arrays*: the same with arrays, Clarabel. *above ours*: their optimal value over ours, "
            f"less one. The goal is {GOAL} times the literal program; the least here is {least:.0f}.",
            "",
            head,
            "|" + "---|" * 12,
            *map(str, rows),
            "",
        ]
    )


if __name__ == "__main__":
    main()
