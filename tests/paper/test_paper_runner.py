"""The reproduction's runner: what is done is kept, and chance does not depend on who does it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from coombs import cli
from coombs.data.tables import InputError
from coombs.paper.experiment import Cell, Row, stream
from coombs.paper.proposition import PROPOSITION
from coombs.paper.runner import Run, reproduce
from coombs.progress import ProgressBar, duration

pytest.importorskip("matplotlib")


def files(folder: Path) -> dict[str, bytes]:
    """Contents of all tables, summaries and figures."""
    kinds = ("*.csv", "*.json", "*.png", "*.svg")
    return {str(p.relative_to(folder)): p.read_bytes() for kind in kinds for p in folder.rglob(kind)}


@pytest.mark.slow
def test_same_seed_same_files_whatever_the_jobs(tmp_path: Path) -> None:
    """One process or two; another seed gives other numbers."""
    for jobs in (1, 2):
        reproduce([PROPOSITION], Run(tmp_path / str(jobs), seed=5, trials=2, quick=True, jobs=jobs))
    reproduce([PROPOSITION], Run(tmp_path / "other", seed=6, trials=2, quick=True))
    one, two, other = (files(tmp_path / name) for name in ("1", "2", "other"))
    assert one == two
    assert one["proposition/trials.csv"] != other["proposition/trials.csv"]
    assert (tmp_path / "1/proposition/main.png").stat().st_size > 5000
    assert (tmp_path / "1/proposition/main.svg").exists()


def test_a_run_goes_on_where_it_was_stopped_and_does_no_cell_twice(tmp_path: Path) -> None:
    """The third cell fails once; then only it and what follows are done."""
    asked: list[str] = []

    def trial(cell: Cell, seed: int, number: int) -> list[Row]:
        asked.append(cell.name)
        if len(asked) == 5:
            raise KeyboardInterrupt
        return [{"along": float(stream(seed, cell.name, number).random()), "across": 1.0}]

    experiment, run = replace(PROPOSITION, trial=trial), Run(tmp_path, trials=2)
    with pytest.raises(KeyboardInterrupt):
        reproduce([experiment], run)
    done, before = len(list((tmp_path / "proposition/cells").glob("*.json"))), len(asked)
    trials = reproduce([experiment], run)["proposition"].trials
    assert done == 2
    assert len(asked) - before == 2 * (len(experiment.cells(False)) - done)
    assert len(trials) == 2 * len(experiment.cells(False))


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    """SIGKILL after the first cell; the rest comes out as if nothing had been."""
    out = tmp_path / "killed"
    command = [
        sys.executable,
        "-m",
        "coombs",
        "reproduce",
        "proposition",
        "--out",
        str(out),
        "--trials",
        "2",
    ]
    command += ["--jobs", "1", "--seed", "3"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(out.glob("proposition/cells/*.json")) and time.monotonic() < deadline:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    for folder in (out, tmp_path / "whole"):
        reproduce([PROPOSITION], Run(folder, seed=3, trials=2))
    assert files(out) == files(tmp_path / "whole")


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    """Its cells would be mixed with ours."""
    reproduce([], Run(tmp_path, seed=1))
    with pytest.raises(InputError, match=r"holds a run with .*'seed': 1"):
        reproduce([], Run(tmp_path, seed=2))
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(InputError, match="not what a run writes"):
        reproduce([], Run(tmp_path, seed=1))


@pytest.mark.slow
def test_rows_of_a_finished_cell_are_those_of_its_trials_to_the_last_digit(tmp_path: Path) -> None:
    """Read from the file or just computed: numbers, texts, lists and dictionaries."""
    row: Row = {"along": 0.1 + 0.2, "across": 1e-300, "who": "a, b", "learned": {"metric": [[1.0, 2.0]]}}
    experiment = replace(PROPOSITION, trial=lambda *_: [row])
    first, again = (
        reproduce([experiment], Run(tmp_path, trials=1, quick=True))["proposition"] for _ in range(2)
    )
    assert first.trials.rows == again.trials.rows and first.summary == again.summary
    assert first.trials.rows[0] == {"smallest": 0.0, "trial": 0, **row}
    header = (tmp_path / "proposition" / "trials.csv").read_text().splitlines()[0]
    assert header == '"smallest","trial","along","across","who","learned_metric_0_0","learned_metric_0_1"'


def test_experiments_are_listed_and_unknown_ones_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One sentence and exit code 2."""
    assert cli.main(["reproduce", "--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert (
        names[0] == "single-step"
        and "proposition" in names
        and names[-1] == "many-people"
        and len(names) == 9
    )
    assert cli.main(["reproduce", "singlestep", "--out", str(tmp_path / "x")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("coombs: There is no experiment 'singlestep'") and error.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_without_matplotlib_it_says_so_before_it_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not after half an hour."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cli.main(["reproduce", "proposition", "--out", str(tmp_path / "x")]) == 2
    assert "pip install" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
@pytest.mark.long
def test_the_quick_run_of_everything_ends_in_a_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Every experiment, its tables, summary and pictures, and the claims."""
    assert cli.main(["reproduce", "all", "--quick", "--trials", "1", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for folder in (path for path in tmp_path.iterdir() if path.is_dir()):
        assert json.loads((folder / "summary.json").read_text())
        assert list(folder.glob("*.png")) and list(folder.glob("*.svg"))
    assert "Proposition 1" in page and "<script" not in page


def test_a_bar_says_how_far_and_how_long_still() -> None:
    """After a quarter of the work, three times as long."""
    bar = ProgressBar(8, "cells")
    bar.done = 2
    assert bar.text(10.0) == "[#######                     ]  25%, 30 s left  cells"
    assert [duration(s) for s in (5, 65, 3720)] == ["5 s", "1 min 5 s", "1 h 2 min"]
