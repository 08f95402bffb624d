"""Time and memory of `SingleStep.fit` beside CVXPY + Clarabel, in one run on one thread: `make bench`.

Writes benchmarks/results.md and benchmarks/cost.png. Ours is the whole of `fit`: validation, the
program, the ideal point. Theirs is building the problem in CVXPY and solving it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import rivals
from coombs import SingleStep
from coombs.simulate import Preferences, draw_answers, make_preferences

HERE = Path(__file__).parent
RIVALS = {"literal": rivals.literal, "item space": rivals.item_space}
PEOPLE = 5
CASES = (
    ("literal", 5, 500, 80),
    ("literal", 10, 500, 80),
    ("literal", 5, 3333, 600),
    ("item space", 5, 50, 3),
    ("item space", 10, 50, 3),
    ("item space", 5, 500, 12),
    ("item space", 10, 500, 12),
    ("item space", 5, 3333, 25),
    ("item space", 10, 3333, 25),
)
LARGE = ((1_000, 10_000, 5), (10_000, 100_000, 10))
Curves = dict[str, list[tuple[int, float]]]


class Row(NamedTuple):
    """One line of the table."""

    rival: str
    d: int
    p: int
    goal: int
    ours: float
    theirs: float
    difference: float

    def __str__(self) -> str:
        ratio = self.theirs / self.ours
        times = f"{1000 * self.ours:.1f} ms | {1000 * self.theirs:.0f} ms"
        ratios = f"**{ratio:.{int(ratio < 10)}f}x** | {self.goal}x"
        return f"| {self.rival} | {self.d}, {self.p} | {times} | {ratios} | {self.difference:.0e} |"


HEADER = """\
| against CVXPY + Clarabel | d, P | coombs | CVXPY | ratio | goal | objectives differ by |
|---|---|---|---|---|---|---|"""


def fit(truth: Preferences) -> float:
    return float(SingleStep(truth.items).fit(truth.pairs, truth.y).objective_)


def best_of(call: Callable[[Preferences], float], truth: Preferences, repeats: int) -> float:
    """The shortest of several runs: what the code costs when nothing else wants the machine."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call(truth)
        times.append(time.perf_counter() - start)
    return min(times)


def compare(rival: str, d: int, p: int, goal: int) -> Row:
    """Median over people of each side's best time, the two sides taking turns."""
    ours, theirs, differences = [], [], []
    # The literal program at P = 3333 takes 20 s and 840 MB: one person must do.
    for seed in range(1 if rival == "literal" and p > 1000 else PEOPLE):
        truth = make_preferences(100, d, p, random_state=seed)
        optimum, reference = fit(truth), RIVALS[rival](truth)
        differences.append(abs(optimum - reference) / (1 + abs(reference)))
        ours.append(best_of(fit, truth, 20))
        theirs.append(best_of(RIVALS[rival], truth, 1 if p > 1000 else 3))
    return Row(rival, d, p, goal, float(np.median(ours)), float(np.median(theirs)), max(differences))


def measured(*arguments: object) -> dict[str, float]:
    """Time and memory of one solve in a process of its own."""
    command = [sys.executable, "-m", "benchmarks", "--child", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE.parent)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def child(who: str, n: int, p: int, d: int) -> None:
    """Solve once and print what it took, in all and beyond the libraries and the data."""
    truth, call = make_preferences(n, d, p, random_state=0), RIVALS.get(who, fit)
    call(make_preferences(10, 2, 10, random_state=0))
    # Linux: forget the peak that was inherited from the parent process.
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    seconds = best_of(call, truth, 1)
    peak = memory("VmHWM")
    print(json.dumps({"seconds": seconds, "extra": peak - before, "peak": peak}))


def memory(field: str) -> float:
    """A field of this process's status, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def cost_against_answers() -> Curves:
    """Seconds for a growing number of answers; at N = 100 they must repeat beyond 4,950 pairs."""
    small: list[tuple[int, float]] = []
    wide: list[tuple[int, float]] = []
    theirs: list[tuple[int, float]] = []
    for p in (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000):
        person = repeated(100, p)
        small.append((p, best_of(fit, person, 5)))
        if p <= 2000:
            theirs.append((p, best_of(rivals.item_space, person, 1)))
        if p >= 2000:
            wide.append((p, best_of(fit, make_preferences(1000, 5, p, random_state=0), 1)))
    return {"coombs, N = 100": small, "coombs, N = 1000": wide, "CVXPY in item space, N = 100": theirs}


def repeated(n: int, p: int) -> Preferences:
    """A person who is asked pairs with repetition, and flips one answer in twenty."""
    rng = np.random.default_rng(0)
    truth = make_preferences(n, 5, 1, random_state=0)
    first = rng.integers(0, n, p)
    pairs = np.column_stack([first, (first + rng.integers(1, n, p)) % n])
    y = draw_answers(truth.distances, pairs, 0.05, rng)
    return Preferences(truth.items, pairs, y, truth.ideal_point, truth.metric)


def draw_cost(curves: Curves) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    styles = (("#0072B2", "o", "-"), ("#E69F00", "s", "--"), ("#595959", "^", ":"))
    for (name, curve), (colour, marker, line) in zip(curves.items(), styles, strict=True):
        axes.loglog(*zip(*curve, strict=True), color=colour, marker=marker, linestyle=line, label=name)
    axes.set(
        xlabel="answers P", ylabel="seconds for one fit", title="Cost of SingleStep.fit, d = 5, one thread"
    )
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(HERE / "cost.png", dpi=150)


def run_table(quick: bool) -> list[Row]:
    """Every case, printed as it is done."""
    rows = []
    print(HEADER)
    for case in CASES:
        if not (quick and case[2] > 500):
            rows.append(compare(*case))
            print(rows[-1], flush=True)
    return rows


def run_all() -> None:
    """The table, memory, the large problems and the plot, written to results.md."""
    parts = [
        "# Benchmark results",
        "One run of `make bench` on one thread, N = 100: best of 20 fits and of 3 CVXPY solves "
        f"(1 at P = 3333), median over {PEOPLE} simulated people.",
        "\n".join([HEADER, *map(str, run_table(False))]),
    ]
    ours, theirs = measured("ours", 100, 3333, 5), measured("literal", 100, 3333, 5)
    parts.append(
        f"Memory beyond the libraries and the data at d = 5, P = 3333: coombs {ours['extra']:.0f} MB, "
        f"the literal program {theirs['extra']:.0f} MB."
    )
    for n, p, d in LARGE:
        large = measured("large", n, p, d)
        parts.append(
            f"N = {n:,}, P = {p:,}, d = {d}: {large['seconds']:.1f} s on all cores, "
            f"{large['peak']:.0f} MB at the peak, libraries included."
        )
    draw_cost(cost_against_answers())
    parts.append("![Cost against the number of answers](cost.png)")
    print("\n" + "\n\n".join(parts[3:]))
    (HERE / "results.md").write_text("\n\n".join(parts) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the table, up to P = 500; writes nothing")
    parser.add_argument("--child", nargs=4, metavar=("WHO", "N", "P", "D"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    who, *sizes = arguments.child or [None]
    with threadpool_limits(None if who == "large" else 1):
        if who:
            child(who, *map(int, sizes))
        elif arguments.quick:
            run_table(True)
        else:
            run_all()


if __name__ == "__main__":
    main()
