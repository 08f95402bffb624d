"""coombs beside what a user would take otherwise, at predicting answers not learned from.

    python -m benchmarks.peers                  # runs what build/peers.csv lacks; peers.md and peers.png
    python -m benchmarks.peers --models coombs  # runs these models again; all else is from build/peers.csv
    python -m benchmarks.peers --tables         # runs nothing; peers.md and peers.png from build/peers.csv
    python -m benchmarks.peers --quick          # 3 people, up to 100 answers; printed only

The models are in peer_models.py, the answers in peer_data.py; `pip install 'coombs[peers]'` has the peers.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Iterable
from pathlib import Path

# One thread, as CPU time is compared; before numpy reads it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.peer_data import ANSWERS, DATA, absent, make_task
from benchmarks.peer_models import MODELS, Model, log_loss
from benchmarks.peer_tables import draw, tables
from benchmarks.simulated import results, write

CACHE = Path(__file__).resolve().parents[1] / "build" / "peers.csv"
KEY = ("data", "person", "answers", "model")
MEASURES = ("log_loss", "accuracy", "calibration", "cpu")
PACKAGES = (
    "coombs",
    "scikit-learn",
    "choix",
    "lightgbm",
    "xgboost-cpu",
    "botorch",
    "torch",
    "numpy",
    "scipy",
)
SETTING = """\
Every model learns from the same answers to random pairs and predicts up to 1,000 other pairs. Of simulated
people (60 items, 5 features of which one does not matter, ordinary logistic noise) log loss and accuracy are
those expected under their true probabilities: no model reaches 0 and 1. With a score (candy, cars,
wine, diabetes) a person is a random draw of at most 100 items and of pairs, the higher score being preferred.
By judge and by school: real judges and departments, those with most answers first. Pooled: a person is a
random sample of everybody's answers."""
BY_NAME = {model.name: model for model in MODELS}

Cell = tuple[str, int, int, str]
Cells = dict[Cell, np.ndarray]
"""Measures by data set, person, number of answers and model."""


def accuracy(predicted: np.ndarray, target: np.ndarray) -> float:
    """Share of answers predicted; half of those for which the model has no preference."""
    return float(np.mean(np.where(predicted == 0.5, 0.5, np.where(predicted > 0.5, target, 1 - target))))


def calibration_error(predicted: np.ndarray, target: np.ndarray) -> float:
    """Mean distance of what is said from what happens, in ten bins of equal width."""
    place = np.minimum((10 * predicted).astype(int), 9)
    gaps = np.bincount(place, predicted - target, minlength=10)
    return float(np.abs(gaps).sum() / len(target))


def trial(job: tuple[str, int, int, tuple[str, ...]]) -> Cells:
    """The measures of some models for one person and number of answers."""
    data, person, answers, names = job
    task = make_task(data, person, answers)
    cells: Cells = {}
    for name in names if task else ():
        if BY_NAME[name].missing() is not None:
            continue
        begin = time.process_time()
        try:
            predict = BY_NAME[name].fit(task.items, task.pairs, task.y)
        except Exception as error:
            print(f"{name} failed at {data}, person {person}, {answers} answers: {error!r}", file=sys.stderr)
            continue
        cpu = time.process_time() - begin
        predicted = predict(task.asked)
        measures = [f(predicted, task.probability) for f in (log_loss, accuracy, calibration_error)]
        cells[data, person, answers, name] = np.array([*measures, cpu])
    return cells


def read_cache() -> Cells:
    """What earlier runs measured; of a cell measured twice, the later."""
    if not CACHE.exists():
        return {}
    with CACHE.open(newline="", encoding="utf-8") as file:
        return {
            (row["data"], int(row["person"]), int(row["answers"]), row["model"]): np.array(
                [float(row[measure]) for measure in MEASURES]
            )
            for row in csv.DictReader(file)
        }


def append_cache(cells: Cells) -> None:
    """Add to what earlier runs measured."""
    CACHE.parent.mkdir(exist_ok=True)
    is_new = not CACHE.exists()
    with CACHE.open("a", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        if is_new:
            out.writerow((*KEY, *MEASURES))
        out.writerows((*key, *(f"{value:.6g}" for value in values)) for key, values in cells.items())


def measure(given: argparse.Namespace, models: Iterable[Model], known: Cells) -> Cells:
    """Everything asked for that is not known, written down as it comes; what is known is kept."""
    names, cells, jobs = [model.name for model in models], dict(known), []
    for answers in given.answers:
        for data in given.only:
            for person in range(given.people):
                todo = tuple(n for n in names if given.again or (data, person, answers, n) not in known)
                if todo:
                    jobs.append((data, person, answers, todo))
    begin = time.monotonic()
    for done, found in enumerate(results(trial, jobs, given.jobs), 1):
        append_cache(found)
        cells |= found
        if done % 20 == 0 or done == len(jobs):
            print(
                f"{done} of {len(jobs)} tasks, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True
            )
    return cells


def main() -> None:
    given = arguments()
    skipped = [why for data in given.only if (why := absent(data))]
    given.only = [data for data in given.only if absent(data) is None]
    skipped += [why for model in given.models if (why := model.missing())]
    for why in skipped:
        print(why, file=sys.stderr)
    models = [model for model in given.models if not given.tables and model.missing() is None]
    cells = measure(given, models, read_cache())
    lines = head(given, skipped) + tables(cells, given)
    if given.quick:
        print("\n".join(lines))
    else:
        write("peers.md", lines)
        draw(cells, given, Path(__file__).with_name("peers.png"))


def head(given: argparse.Namespace, skipped: list[str]) -> list[str]:
    """How the tables came about."""
    versions = [f"{p} {importlib.metadata.version(p)}" for p in PACKAGES if installed(p)]
    return [
        "# coombs beside its peers",
        "",
        f"`python -m benchmarks.peers --people {given.people}`: at most {given.people} people for each row; "
        "rows that were not run are not shown.",
        f"Python {platform.python_version()}, {', '.join(versions)}.",
        *skipped,
        "",
        SETTING,
    ]


def installed(package: str) -> bool:
    """Whether there is such a distribution here."""
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def arguments() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, help="of each row; 20, or 3 with --quick")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--only", help="data sets, separated by commas: how their names begin")
    parser.add_argument("--models", help="run these models again, separated by commas: how their names begin")
    parser.add_argument("--missing", action="store_true", help="of --models, only what was never run")
    parser.add_argument("--answers", help="numbers of answers, separated by commas")
    parser.add_argument("--quick", action="store_true", help="up to 100 answers; printed only")
    parser.add_argument("--tables", action="store_true", help="of what was run before; nothing is run")
    given = parser.parse_args()
    given.again = given.models is not None and not given.missing
    given.people = given.people or (3 if given.quick else 20)
    known = [n for n in ANSWERS if n <= 100 or not given.quick]
    given.answers = [int(n) for n in given.answers.split(",")] if given.answers else known
    given.only = chosen(given.only, DATA, parser)
    given.models = [BY_NAME[name] for name in chosen(given.models, BY_NAME, parser)]
    return given


def chosen(names: str | None, known: Iterable[str], parser: argparse.ArgumentParser) -> list[str]:
    """Those that begin like one of the names; all without names."""
    if names is None:
        return list(known)
    found = [name for name in known if any(name.startswith(each.strip()) for each in names.split(","))]
    if not found:
        parser.error(f"{names!r} is none of: {'; '.join(known)}.")
    return found


if __name__ == "__main__":
    main()
