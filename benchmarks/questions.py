"""How many questions it takes, chosen or random. `python -m benchmarks.questions`.

Simulated people of the paper's protocol (100 items) answer the questions of a `Study`: chosen by
information, chosen by information under a Euclidean metric, or random. Each time an `IdealPoint` is
fitted to the answers so far. Writes questions.md and questions.png beside this file.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coombs import IdealPoint, create_study
from coombs.evaluation import kendall_tau_distance, top_k_fraction
from coombs.simulate import Preferences, draw_answers, make_preferences

CHOSEN = {2: 30, 5: 100, 10: 200}
"""Questions to choose, by the number of features."""
RANDOM = {
    None: {2: 120, 5: 400, 10: 700},
    "logistic": {2: 60, 5: 200, 10: 400},
    0.1: {2: 60, 5: 200, 10: 400},
}
"""Random ones that they are held against, by noise."""
WAYS = ("information", "with probes", "Euclidean", "random")
NOISES = {None: "noise-free", "logistic": "logistic noise", 0.1: "a tenth flipped"}
COLOURS = {"information": "#0072B2", "with probes": "#56B4E9", "Euclidean": "#E69F00", "random": "#666666"}


class Cell(NamedTuple):
    """A way of asking people of one kind."""

    d: int
    noise: str | float | None
    way: str

    @property
    def stops(self) -> list[int]:
        """Numbers of answers after which a model is fitted."""
        most = RANDOM[self.noise][self.d] if self.way == "random" else CHOSEN[self.d]
        shares = (1 / 8, 1 / 4, 1 / 2, 1) if self.way == "random" else (1 / 3, 2 / 3, 1)
        return [max(4, round(most * share)) for share in shares]


class Point(NamedTuple):
    """How near one person's ranking is to the truth after so many answers."""

    cell: Cell
    answers: int
    kendall: float
    top: float


def asked(cell: Cell, person: Preferences, seed: int) -> Iterator[tuple[int, int]]:
    """(winner, loser) of each question in turn."""
    rng = np.random.default_rng([seed, 7])
    study = create_study(
        person.items,
        storage="memory:",
        strategy="random" if cell.way == "random" else "information",
        probes=0.1 if cell.way == "with probes" else 0.0,
        metric="identity" if cell.way == "Euclidean" else "full",
        seed=seed,
    )
    for _ in range(cell.stops[-1]):
        question = study.ask()
        assert question is not None
        pair = np.array([question.positions])
        first = draw_answers(person.distances, pair, cell.noise, rng)[0] > 0
        study.tell(question, "left" if first else "right")
        yield question.positions if first else question.positions[::-1]


def run(task: tuple[Cell, int]) -> list[Point]:
    """One person."""
    cell, seed = task
    person = make_preferences(100, cell.d, 1, random_state=np.random.default_rng([seed, cell.d]))
    answers = list(_random(cell, person, seed) if cell.way == "random" else asked(cell, person, seed))
    found = []
    for stop in cell.stops:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = IdealPoint(person.items).fit(np.array(answers[:stop]))
        truth = person.distances
        kendall = kendall_tau_distance(model.distances_, truth)
        found.append(Point(cell, stop, kendall, top_k_fraction(model.distances_, truth, 10)))
    return found


def _random(cell: Cell, person: Preferences, seed: int) -> Iterator[tuple[int, int]]:
    """Random pairs need no study."""
    rng = np.random.default_rng([seed, 8])
    pairs = rng.permutation(np.column_stack(np.triu_indices(100, 1)))[: cell.stops[-1]]
    first = draw_answers(person.distances, pairs, cell.noise, rng) > 0
    yield from map(tuple, np.where(first[:, None], pairs, pairs[:, ::-1]).tolist())


def table(points: list[Point]) -> list[str]:
    """Chosen against random, a row for each kind of person."""
    lines = ["| d | answers | chosen: Kendall, top 10 | with 10 % probes | Euclidean choice | random |"]
    lines += ["|---|---|---|---|---|---|"]
    for noise, name in NOISES.items():
        for d in sorted({one.cell.d for one in points}):
            cells = [_cell(points, Cell(d, noise, way)) for way in WAYS]
            lines.append(f"| {d} | {name}: {CHOSEN[d]} / {RANDOM[noise][d]} | {' | '.join(cells)} |")
    return lines


def _cell(points: list[Point], cell: Cell) -> str:
    found = [one for one in points if one.cell == cell and one.answers == cell.stops[-1]]
    if not found:
        return "-"
    kendall, top = np.median([one.kendall for one in found]), np.mean([one.top for one in found])
    return f"{kendall:.4f}, {top:.2f}"


def draw(points: list[Point], path: Path) -> None:
    """Kendall distance against the number of answers."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    sizes = sorted({one.cell.d for one in points})
    figure = Figure(figsize=(1 + 3 * len(sizes), 9), layout="constrained")
    axes = figure.subplots(3, len(sizes), squeeze=False)
    for row, (noise, name) in enumerate(NOISES.items()):
        for column, d in enumerate(sizes):
            ax = axes[row, column]
            for way in WAYS:
                cell = Cell(d, noise, way)
                medians = [
                    np.median([one.kendall for one in points if one.cell == cell and one.answers == stop])
                    for stop in cell.stops
                    if any(one.cell == cell for one in points)
                ]
                if medians:
                    ax.plot(cell.stops, medians, "o-", ms=4, color=COLOURS[way], label=way)
            ax.set(xscale="log", yscale="log", title=f"d = {d}, {name}", xlabel="answers")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter("{x:g}")
                axis.set_minor_formatter("")
            ax.set_ylabel("Kendall distance" if column == 0 else "")
    axes[0, 0].legend(frameon=False)
    figure.savefig(path, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument("--features", type=int, nargs="+", default=list(CHOSEN), choices=list(CHOSEN))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    every = [Cell(d, noise, way) for noise in NOISES for d in options.features for way in WAYS]
    cells = [cell for cell in every if cell.noise is None or cell.way in ("information", "random")]
    tasks = [(cell, seed) for cell in cells for seed in range(options.people)]
    with ProcessPoolExecutor(options.jobs) as pool:
        points = [point for found in pool.map(run, tasks) for point in found]
    here = Path(__file__).parent
    draw(points, here / "questions.png")
    text = [
        "# Chosen questions against random ones",
        "",
        f"`python -m benchmarks.questions --people {options.people}`: median Kendall distance and mean share "
        "of the top 10, chosen / random numbers of answers as given; 100 items, IdealPoint fitted to each.",
        "",
        *table(points),
        "",
        "![Kendall distance against the number of answers](questions.png)",
    ]
    (here / "questions.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
