"""Time of IdealPoint: its convex program beside CVXPY + Clarabel, and the whole of `fit`.

    python -m benchmarks.lifted [--quick]

One run on one thread. Writes lifted.md and lifted.png beside this file.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cvxpy as cp
import numpy as np
from threadpoolctl import threadpool_limits

from coombs import Comparisons, ConvexIdealPoint, IdealPoint
from coombs.data.answers import Answers
from coombs.data.tables import FloatArray
from coombs.simulate import make_preferences

HERE = Path(__file__).parent
STRENGTH = 0.01
CASES = ((100, 5, 500, 20), (100, 10, 500, 20), (1000, 10, 10_000, 200))


def person(n: int, d: int, p: int, seed: int = 0) -> Comparisons:
    """Logistic answers, pairs drawn with repetition beyond what is there."""
    truth = make_preferences(n, d, min(p, n * (n - 1) // 2), noise="logistic", random_state=seed)
    data = truth.comparisons
    if p <= len(data):
        return data
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(data), p)
    return Comparisons(truth.items, truth.pairs[rows], y=truth.y[rows])


def many(n: int, d: int, p: int) -> Comparisons:
    """Logistic answers about very many items, M of unit size."""
    rng = np.random.default_rng(0)
    items, root, u = rng.normal(size=(n, d)), rng.normal(size=(d, d)) / np.sqrt(d), rng.normal(size=d) / 2
    distance = (((items - u) @ root.T) ** 2).sum(axis=1)
    i = rng.integers(0, n, p)
    j = (i + rng.integers(1, n, p)) % n
    first = rng.random(p) < 1 / (1 + np.exp(distance[i] - distance[j]))
    return Comparisons(items, np.where(first[:, None], np.column_stack([i, j]), np.column_stack([j, i])))


def ours(data: Comparisons) -> float:
    return float(ConvexIdealPoint(regularization=STRENGTH).fit(data).objective_)


def theirs(data: Comparisons) -> float:
    """The same program in CVXPY: one positive semidefinite matrix, logistic loss, solved by Clarabel."""
    items = (data.items - data.items.mean(axis=0)) / data.items.std(axis=0)
    answers = Answers.collect(items, *data.oriented())
    lifted: FloatArray = np.hstack([answers.items, np.ones((len(answers.items), 1))])
    products = np.einsum("ni,nj->nij", lifted, lifted).reshape(len(lifted), -1)
    rows = products[answers.winners] - products[answers.losers]
    b = cp.Variable((lifted.shape[1], lifted.shape[1]), PSD=True)
    losses = cp.logistic(rows @ cp.vec(b, order="C"))
    problem = cp.Problem(cp.Minimize(answers.weights @ losses + STRENGTH * cp.sum_squares(b)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(problem.solve(solver="CLARABEL"))


def seconds(call: Callable[[], object], repeats: int) -> float:
    """The shortest of several runs."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def convex(quick: bool) -> list[str]:
    """The table against CVXPY."""
    lines = [
        "| N, d, P | coombs | CVXPY + Clarabel | ratio | goal | objectives differ by |",
        "|---|---|---|---|---|---|",
    ]
    for n, d, p, goal in CASES[: 2 if quick else 3]:
        data = person(n, d, p)
        apart = abs(ours(data) - (other := theirs(data))) / (1 + abs(other))
        mine, cvx = seconds(partial(ours, data), 10), seconds(partial(theirs, data), 1 if p > 1000 else 3)
        times = f"{1e3 * mine:.1f} ms | {1e3 * cvx:.0f} ms | **{cvx / mine:.0f}x** | {goal}x"
        lines.append(f"| {n}, {d}, {p} | {times} | {apart:.0e} |")
        print(lines[-1], flush=True)
    return lines


def whole(quick: bool) -> list[str]:
    """Seconds of `fit` with everything chosen from the data."""
    lines = ['| N, d, P | `IdealPoint().fit` | `metric="auto"` | one more answer |', "|---|---|---|---|"]
    for n, d, p in ((100, 2, 50), (100, 5, 500), (100, 10, 500), (1000, 10, 10_000))[: 3 if quick else 4]:
        data = person(n, d, p)
        est = IdealPoint().fit(data)
        times = [
            seconds(partial(IdealPoint().fit, data), 3),
            seconds(partial(IdealPoint(metric="auto").fit, data), 3),
        ]
        times.append(seconds(partial(est.partial_fit, data[:1]), 3))
        lines.append(f"| {n}, {d}, {p} | " + " | ".join(f"{t:.2f} s" for t in times) + " |")
        print(lines[-1], flush=True)
    return lines


def scale() -> list[str]:
    """A million answers over a hundred thousand items, in units of one evaluation of value and gradient."""
    data = many(100_000, 20, 1_000_000)
    took = seconds(lambda: IdealPoint().fit(data), 2)
    est = IdealPoint().fit(data)
    target, z = est._inference.target, est._inference.mode[None]
    one = seconds(lambda: target.both(z), 10)
    text = f"10^6 answers, 10^5 items, d = 20: {took:.2f} s, {took / one:.0f} times one value and gradient "
    text += f"({1e3 * one:.0f} ms); goal 80."
    print(text, flush=True)
    return [text]


def curves() -> None:
    """Cost against P and against d, as a picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), constrained_layout=True)
    counts = (20, 50, 100, 200, 500, 1000, 2000, 5000, 20_000, 100_000, 1_000_000)
    for d, mark in ((2, "o"), (5, "s"), (10, "^")):
        times = [seconds(partial(IdealPoint().fit, many(1000, d, p)), 1) for p in counts]
        axes[0].loglog(counts, times, marker=mark, label=f"d = {d}")
    sizes = (1, 2, 5, 10, 20, 40)
    for p, mark in ((100, "o"), (500, "s"), (20_000, "^")):
        times = [seconds(partial(IdealPoint().fit, many(1000, d, p)), 1) for d in sizes]
        axes[1].loglog(sizes, times, marker=mark, label=f"P = {p:,}")
    axes[0].set(xlabel="answers P (N = 1,000)", ylabel="seconds of fit")
    axes[1].set(xlabel="features d (N = 1,000)")
    for ax in axes:
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
    figure.savefig(HERE / "lifted.png", dpi=110)


def main() -> None:
    """Print the tables and write them down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    with threadpool_limits(1):
        lines = [*convex(options.quick), "", *whole(options.quick)]
        if not options.quick:
            lines += ["", *scale()]
            curves()
            (HERE / "lifted.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
