"""`coombs bench`: how long things take on this machine."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from coombs.cli import output
from coombs.cli.options import command, json_option
from coombs.render.sections import Section, TableBlock

if TYPE_CHECKING:
    from coombs.simulate import Preferences

SINGLE_STEP = "SingleStep.fit"
IDEAL_POINT = "IdealPoint.fit"
TURN = "tell + next question"
TIMED = (SINGLE_STEP, IDEAL_POINT, TURN)
"""What is timed, in the order of the table."""
N_ITEMS = 100
SIZES = ((5, 50), (5, 500), (10, 500), (5, 3333))
"""Features and answers of each problem."""
QUICK = ((5, 50), (5, 200))
"""Features and answers of each problem with `--quick`."""
MOST_FOR_CVXPY = 500
"""Answers: its time and memory grow with their square, to 20 s and 800 MB at 3333."""
SINGLE_STEP_RUNS = 5
"""Fits of which the median is taken."""
IDEAL_POINT_RUNS = 3
"""Fits of which the median is taken."""
TURNS = 40
"""Answers and questions of which the median is taken."""


class Timing(NamedTuple):
    """What was timed, and seconds of ours and of CVXPY + Clarabel with the same."""

    what: str
    n_features: int
    n_answers: int
    seconds: float
    cvxpy_seconds: float | None = None


@command("bench", "time coombs on this machine", "coombs bench --quick")
@click.option("--quick", is_flag=True, help="small problems only: a few seconds")
@json_option
def bench(quick: bool, as_json: bool) -> None:
    """Time fits and questions about 100 items, beside the paper's program in CVXPY + Clarabel if that is
    installed: about 20 s.
    """
    timings = measure(QUICK if quick else SIZES)
    if as_json:
        output.as_json({"machine": _machine(), "rows": [one._asdict() for one in timings]})
        return
    print(f"{_machine()}, one thread. {N_ITEMS} items; medians of a few runs, of CVXPY one run.")
    heading = ("what", "features", "answers", "coombs", "CVXPY + Clarabel", "ratio")
    output.page([Section("", [TableBlock("lrrrrr", heading, [_cells(one) for one in timings])])])
    if not _has_cvxpy():
        print('For the comparison: pip install "coombs[cvxpy]"')


def measure(sizes: tuple[tuple[int, int], ...]) -> list[Timing]:
    """All timings, with a bar where it takes long."""
    from threadpoolctl import threadpool_limits

    from coombs.progress import ProgressBar
    from coombs.simulate import make_preferences

    timings: list[Timing] = []
    bar = ProgressBar(len(TIMED) * len(sizes), "timing")
    with bar, threadpool_limits(1), warnings.catch_warnings(action="ignore"):
        for d, p in sizes:
            person = make_preferences(N_ITEMS, d, p, noise="logistic", random_state=0)
            for one in _timings(person, d, p):
                timings.append(one)
                bar.advance(label=one.what)
    return sorted(timings, key=lambda one: TIMED.index(one.what))


def _timings(person: Preferences, d: int, p: int) -> Iterator[Timing]:
    from coombs import IdealPoint, SingleStep

    data = person.comparisons
    theirs = None
    if _has_cvxpy() and p <= MOST_FOR_CVXPY:
        importlib.import_module("cvxpy")
        theirs = _seconds(lambda: SingleStep(solver="cvxpy").fit(data), 1)
    ours = _seconds(lambda: SingleStep().fit(data), SINGLE_STEP_RUNS)
    yield Timing(SINGLE_STEP, d, p, ours, theirs)
    yield Timing(IDEAL_POINT, d, p, _seconds(lambda: IdealPoint().fit(data), IDEAL_POINT_RUNS))
    yield Timing(TURN, d, p, _turn(person))


def _turn(person: Preferences) -> float:
    """Seconds, in a study with the person's answers: keep one more and choose the next question."""
    from statistics import median

    from coombs import create_study

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
    from statistics import median

    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return median(times)


def _cells(timing: Timing) -> tuple[str, ...]:
    theirs = timing.cvxpy_seconds
    other = ("", "") if theirs is None else (_time(theirs), f"{theirs / timing.seconds:.0f}x")
    return timing.what, str(timing.n_features), str(timing.n_answers), _time(timing.seconds), *other


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1e3 * seconds:.{1 if seconds < 0.1 else 0}f} ms"


def _has_cvxpy() -> bool:
    from importlib.util import find_spec

    return find_spec("cvxpy") is not None


def _machine() -> str:
    import platform

    from coombs import __version__

    return (
        f"coombs {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    )
