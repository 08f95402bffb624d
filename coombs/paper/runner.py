"""Runs experiments: in several processes, with a bar, and never a cell twice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from coombs.data.files import replacing
from coombs.data.tables import InputError
from coombs.paper.experiment import Cell, Experiment, Row, Tables, Trials
from coombs.progress import ProgressBar

QUICK_TRIALS = 3
"""At most, of each cell of a quick run."""
BATCH = 4
"""Trials that a process takes at a time."""
DPI = 110
"""Dots per inch of a figure."""


@dataclass(frozen=True)
class Run:
    """Where to, from which seed, and how much of it."""

    out: Path
    seed: int = 0
    trials: int | None = None
    quick: bool = False
    jobs: int = 1

    def trials_of(self, experiment: Experiment) -> int:
        """Asked for, or the paper's; a few of a quick run."""
        if self.trials is not None:
            return self.trials
        return min(QUICK_TRIALS, experiment.n_trials) if self.quick else experiment.n_trials

    def settings(self) -> dict[str, Any]:
        """What its numbers depend on: the jobs are not among it."""
        return {"seed": self.seed, "trials": self.trials, "quick": self.quick}


class ExperimentResult(NamedTuple):
    """What came out of an experiment: its rows, their summary, figures as PNG by name, and tables."""

    trials: Trials
    summary: dict[str, Any]
    figures: dict[str, bytes]
    tables: Tables


def reproduce(experiments: Sequence[Experiment], run: Run) -> dict[str, ExperimentResult]:
    """What came out of each experiment that can run here; cells that an earlier run has left are kept."""
    _take_folder(run)
    able = [each for each in experiments if each.needs() is None]
    todo = [(each, cell) for each in able for cell in each.cells(run.quick)]
    rows: dict[str, list[Row]] = {each.name: [] for each in able}
    with _pool(run.jobs) as pool, ProgressBar(sum(run.trials_of(each) for each, _ in todo)) as progress:
        for experiment, cell in todo:
            progress.advance(0, f"{experiment.name} {cell.name}")
            rows[experiment.name] += _rows(experiment, cell, run, pool, progress)
    return {each.name: _finish(each, Trials(rows[each.name]), run.out / each.name) for each in able}


def _take_folder(run: Run) -> None:
    """Make the folder this run's own, or refuse one that holds another run."""
    try:
        run.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {str(run.out)!r} cannot be made ({error.strerror}).") from error
    path = run.out / "run.json"
    if path.exists():
        try:
            earlier = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{str(path)!r} is not what a run writes; take another folder.") from error
        if earlier != run.settings():
            raise InputError(
                f"The folder {str(run.out)!r} holds a run with {earlier}; this one has {run.settings()}. "
                "Take another folder, or the same settings to go on with it."
            )
    path.write_text(json.dumps(run.settings()), encoding="utf-8")


def _rows(
    experiment: Experiment, cell: Cell, run: Run, pool: ProcessPoolExecutor | None, progress: ProgressBar
) -> list[Row]:
    """Of a cell, from its file if there is one."""
    folder, numbers = run.out / experiment.name / "cells", range(run.trials_of(experiment))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{cell.name}.json"
    if path.exists():
        progress.advance(len(numbers))
        earlier: list[Row] = json.loads(path.read_text(encoding="utf-8"))
        return earlier
    trial = partial(experiment.trial, cell, run.seed)
    results = map(trial, numbers) if pool is None else pool.map(trial, numbers, chunksize=BATCH)
    rows: list[Row] = []
    for number, result in enumerate(results):
        rows += [{**cell.settings, "trial": number, **row} for row in result]
        progress.advance()
    with replacing(path) as part:
        part.write_text(json.dumps(rows), encoding="utf-8")
    return rows


def _finish(experiment: Experiment, trials: Trials, folder: Path) -> ExperimentResult:
    """Raw trials, summary and figures, in files and for the report."""
    from matplotlib import rc_context

    trials.write(folder / "trials.csv")
    summary = experiment.summary(trials)
    text = json.dumps(summary, indent=1, allow_nan=False)
    (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
    images = {}
    for name, figure in experiment.figures(summary, trials).items():
        image = BytesIO()
        figure.savefig(image, format="png", dpi=DPI)
        images[name] = image.getvalue()
        (folder / f"{name}.png").write_bytes(images[name])
        # No date and no random names inside, so that the same numbers give the same file.
        with rc_context({"svg.hashsalt": experiment.name}):
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    return ExperimentResult(trials, summary, images, experiment.tables(summary, trials))


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor | None]:
    """Processes with one thread of BLAS each, or none where there is one job."""
    if jobs == 1:
        with threadpool_limits(1):
            yield None
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_one_thread) as pool:
        yield pool


def _one_thread() -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    threadpool_limits(1)
