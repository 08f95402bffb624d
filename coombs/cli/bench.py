"""`coombs bench`: how long things take on this machine."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING

from coombs.cli import show
from coombs.cli.parser import Commands, add_command, add_json
from coombs.render.blocks import Section, TableBlock

if TYPE_CHECKING:
    from coombs.simulate import Preferences

KINDS = ("SingleStep.fit", "IdealPoint.fit", "tell + next question")
N_ITEMS = 100
SIZES = ((5, 50), (5, 500), (10, 500), (5, 3333))
QUICK = ((5, 50), (5, 200))
"""Features and answers."""
MOST_FOR_CVXPY = 500
"""Answers: its time and memory grow with their square, to 20 s and 800 MB at 3333."""
RUNS, FEW_RUNS, TURNS = 5, 3, 40


@dataclass(frozen=True)
class Row:
    """What was timed, and seconds of ours and of CVXPY + Clarabel with the same."""

    what: str
    n_features: int
    n_answers: int
    seconds: float
    cvxpy_seconds: float | None = None


def add(commands: Commands) -> None:
    """The command and its options."""
    bench = add_command(
        commands,
        "bench",
        run,
        "coombs bench --quick",
        help="time coombs on this machine",
        description=f"Time fits and questions about {N_ITEMS} items, beside the paper's program in CVXPY + "
        "Clarabel if that is installed: about 20 s.",
    )
    bench.add_argument("--quick", action="store_true", help="small problems only: a few seconds")
    add_json(bench)


def run(options: argparse.Namespace) -> None:
    """Time, and print a table."""
    rows = measure(QUICK if options.quick else SIZES)
    if options.json:
        show.as_json({"machine": _machine(), "rows": [asdict(row) for row in rows]})
        return
    print(f"{_machine()}, one thread. {N_ITEMS} items; medians of a few runs, of CVXPY one run.")
    heading = ("what", "features", "answers", "coombs", "CVXPY + Clarabel", "ratio")
    show.page([Section("", [TableBlock("lrrrrr", heading, [_cells(row) for row in rows])])])
    if not _has_cvxpy():
        print('For the comparison: pip install "coombs[cvxpy]"')


def measure(sizes: tuple[tuple[int, int], ...]) -> list[Row]:
    """All rows, with a bar where it takes long."""
    from threadpoolctl import threadpool_limits

    from coombs.progress import Progress
    from coombs.simulate import make_preferences

    rows: list[Row] = []
    with Progress(len(KINDS) * len(sizes), "timing") as bar, threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for d, p in sizes:
            person = make_preferences(N_ITEMS, d, p, noise="logistic", random_state=0)
            for row in _rows(person, d, p):
                rows.append(row)
                bar.advance(label=row.what)
    return sorted(rows, key=lambda row: KINDS.index(row.what))


def _rows(person: Preferences, d: int, p: int) -> Iterator[Row]:
    from coombs import IdealPoint, SingleStep

    data = person.comparisons
    theirs = None
    if _has_cvxpy() and p <= MOST_FOR_CVXPY:
        importlib.import_module("cvxpy")
        theirs = _seconds(lambda: SingleStep(solver="cvxpy").fit(data), 1)
    yield Row(KINDS[0], d, p, _seconds(lambda: SingleStep().fit(data), RUNS), theirs)
    yield Row(KINDS[1], d, p, _seconds(lambda: IdealPoint().fit(data), FEW_RUNS))
    yield Row(KINDS[2], d, p, _turn(person))


def _turn(person: Preferences) -> float:
    """Of a study with the person's answers: keep one more and choose the next question."""
    from coombs.study import create_study

    study = create_study(person.items, storage="memory:")
    for pair, y in zip(person.pairs.tolist(), person.y, strict=True):
        study.tell(pair, "left" if y > 0 else "right")
    times, question = [], study.ask()
    for _ in range(TURNS):
        if question is None:
            break
        left, right = person.distances[list(question.positions)]
        begin = time.perf_counter()
        study.tell(question, "left" if left < right else "right")
        question = study.ask()
        times.append(time.perf_counter() - begin)
    return median(times)


def _seconds(call: Callable[[], object], runs: int) -> float:
    """The median of some runs."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return median(times)


def _cells(row: Row) -> tuple[str, ...]:
    theirs = row.cvxpy_seconds
    other = ("", "") if theirs is None else (_time(theirs), f"{theirs / row.seconds:.0f}x")
    return row.what, str(row.n_features), str(row.n_answers), _time(row.seconds), *other


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1e3 * seconds:.{1 if seconds < 0.1 else 0}f} ms"


def _has_cvxpy() -> bool:
    return importlib.util.find_spec("cvxpy") is not None


def _machine() -> str:
    from coombs import __version__

    return (
        f"coombs {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    )
