"""How long a person waits for the next question. `python -m benchmarks.live`.

`tell` + `ask` of a `Study` in a SQLite file (the answer stored, the draws brought up to date, the next
question chosen and stored), beside what one would do without it: fit an `IdealPoint` to all answers and
choose by it. Then how long it takes to open a database of a million answers and to ask. Writes live.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from coombs import IdealPoint, Study, create_study
from coombs.questions import next_question
from coombs.simulate import Preferences, make_preferences

SIZES = ((100, 10, 500), (10_000, 20, 500))
TURNS = 100
OPEN = """
import time
begin = time.perf_counter()
from coombs import load_study
imported = time.perf_counter()
question = load_study("many", storage={url!r}).respondent({name!r}).ask()
print(imported - begin, time.perf_counter() - imported)
"""


def filled(person: Preferences, url: str) -> Study:
    """A study with the person's answers."""
    study = create_study(person.items, storage=url)
    me = study.respondent()
    with study.storage.batch():
        for pair, y in zip(person.pairs.tolist(), person.y, strict=True):
            me.tell(pair, "left" if y > 0 else "right")
    return study


def turns(study: Study, person: Preferences) -> list[float]:
    """Seconds of each `tell` + `ask`, the draws' first making left out."""
    found, question = [], study.ask()
    for _ in range(TURNS):
        assert question is not None
        left, right = person.distances[list(question.positions)]
        begin = time.perf_counter()
        study.tell(question, "left" if left < right else "right")
        question = study.ask()
        found.append(time.perf_counter() - begin)
    return found


def otherwise(person: Preferences) -> float:
    """Seconds of a fit and of a choice by it; the best of three."""
    found = []
    for _ in range(3):
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = IdealPoint(person.items).fit(person.pairs, person.y)
        next_question(model, random_state=0)
        found.append(time.perf_counter() - begin)
    return min(found)


def speed(folder: Path) -> list[str]:
    """A row for each size."""
    lines = ["| items, features, answers | tell + ask: median | 95 % under | fit + choose instead | ratio |"]
    lines += ["|---|---|---|---|---|"]
    for n, d, answers in SIZES:
        person = make_preferences(n, d, answers, random_state=0)
        found = turns(filled(person, f"sqlite:///{folder}/{n}.db"), person)
        median, most, other = float(np.median(found)), float(np.quantile(found, 0.95)), otherwise(person)
        row = f"{1e3 * median:.0f} ms | {1e3 * most:.0f} ms | {1e3 * other:.0f} ms | {other / median:.0f}x"
        lines.append(f"| {n}, {d}, {answers} | {row} |")
    return lines


def opening(folder: Path, n_answers: int) -> list[str]:
    """A million answers, of a thousand people and of one."""
    lines = ["| answers | by | import coombs | open and ask |", "|---|---|---|---|"]
    for people in (1000, 1):
        url = f"sqlite:///{folder}/many{people}.db"
        _fill(url, n_answers, people)
        code = OPEN.format(url=url, name="person 0")
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        imported, asked = map(float, found.stdout.split())
        lines.append(f"| {n_answers} | {people} | {imported:.2f} s | {asked:.2f} s |")
    return lines


def _fill(url: str, n_answers: int, people: int) -> None:
    rng = np.random.default_rng(0)
    items = rng.normal(size=(1000, 5))
    study = create_study(items, name="many", storage=url)
    numbers = [study.respondent(f"person {i}").record.id for i in range(people)]
    left = rng.integers(1000, size=n_answers)
    right = (left + rng.integers(1, 1000, size=n_answers)) % 1000
    is_left = (items[left] ** 2).sum(axis=1) < (items[right] ** 2).sum(axis=1)
    with study.storage.batch():
        for k, (one, other, first) in enumerate(zip(left, right, is_left, strict=True)):
            study.storage.add_answer(numbers[k % people], one, other, "left" if first else "right")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=10**6)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = [
            "# Waiting for the next question",
            "",
            f"`python -m benchmarks.live`: {TURNS} turns each, one thread, SQLite in a temporary folder.",
            "",
            *speed(folder),
            "",
            "A process opens a database (1000 items, 5 features) and asks one of its respondents:",
            "",
            *opening(folder, options.answers),
        ]
    (Path(__file__).parent / "live.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
