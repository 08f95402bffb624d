"""Runs experiments: in several processes, with a bar, and never a cell twice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from coombs.data.tables import InputError
from coombs.paper.experiment import Cell, Experiment, Row, Table
from coombs.progress import ProgressBar

QUICK_TRIALS = 3
BATCH = 4
"""Trials that a process takes at a time."""


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
        return min(QUICK_TRIALS, experiment.trials) if self.quick else experiment.trials

    def settings(self) -> dict[str, Any]:
        """What its numbers depend on: the jobs are not among it."""
        return {"seed": self.seed, "trials": self.trials, "quick": self.quick}


def reproduce(experiments: Sequence[Experiment], run: Run) -> dict[str, Table]:
    """The rows of each experiment that can run here, done or taken from what an earlier run has left."""
    _claim(run)
    able = [one for one in experiments if one.needs() is None]
    todo = [(one, cell) for one in able for cell in one.cells(run.quick)]
    total = sum(run.trials_of(one) for one, _ in todo)
    rows: dict[str, list[Row]] = {one.name: [] for one in able}
    with _pool(run.jobs) as pool, ProgressBar(total) as progress:
        for experiment, cell in todo:
            progress.advance(0, f"{experiment.name} {cell.name}")
            rows[experiment.name] += _cell(experiment, cell, run, pool, progress)
    for experiment in able:
        _finish(experiment, Table(rows[experiment.name]), run.out)
    return {name: Table(found) for name, found in rows.items()}


def _claim(run: Run) -> None:
    """Make the folder this run's own, or refuse one that holds another run."""
    try:
        run.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {str(run.out)!r} cannot be made ({error.strerror}).") from error
    path = run.out / "run.json"
    if path.exists():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{str(path)!r} is not what a run writes; take another folder.") from error
        if found != run.settings():
            raise InputError(
                f"The folder {str(run.out)!r} holds a run with {found}; this one has {run.settings()}. "
                "Take another folder, or the same settings to go on with it."
            )
    path.write_text(json.dumps(run.settings()), encoding="utf-8")


def _cell(
    experiment: Experiment, cell: Cell, run: Run, pool: ProcessPoolExecutor | None, progress: ProgressBar
) -> list[Row]:
    """The rows of a cell, from its file if there is one."""
    folder = run.out / experiment.name / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    path, numbers = folder / f"{cell.name}.csv", range(run.trials_of(experiment))
    if path.exists():
        progress.advance(len(numbers))
        return Table.read(path).rows
    one = partial(experiment.trial, cell, run.seed)
    found = map(one, numbers) if pool is None else pool.map(one, numbers, chunksize=BATCH)
    rows: list[Row] = []
    for number, result in enumerate(found):
        rows += [{**cell.settings, "trial": number, **row} for row in result]
        progress.advance()
    Table(rows).write(path)
    return Table.read(path).rows


def _finish(experiment: Experiment, table: Table, out: Path) -> None:
    """Raw trials, summary and pictures."""
    folder = out / experiment.name
    table.write(folder / "trials.csv")
    text = json.dumps(experiment.summary(table), indent=1, allow_nan=False)
    (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
    for name, figure in experiment.figures(table).items():
        for kind in ("png", "svg"):
            # No date, so that the same numbers give the same file.
            figure.savefig(
                folder / f"{name}.{kind}", dpi=110, metadata={"Date": None} if kind == "svg" else None
            )


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
