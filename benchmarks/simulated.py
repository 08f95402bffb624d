"""People simulated from other models than ours, and how they answer: for the tables on honesty."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from coombs import Comparisons, create_study
from coombs.tables import FloatArray

N_ITEMS = 60
"""Items of each person's table."""
LOGITS = 3.0
"""Ordinary noise: two items a deviation of the scores apart are told apart with probability 0.95."""
KINDS = ("linear", "ideal", "correlated", "cut-offs", "diminishing", "coin")
"""Ways to judge: linear; an ideal with a weight for each feature; the same with a full metric; limits that
must be kept; logarithms; tossing a coin."""


@dataclass(frozen=True, eq=False)
class Person:
    """Items, scores (less is better, in logits), and what is true of each feature: more, less, peak or ""."""

    items: FloatArray
    scores: FloatArray | None
    truth: tuple[str, ...]
    rng: np.random.Generator

    def prefers_first(self, pairs: Any) -> Any:
        """How the person answers, noise included."""
        pairs = np.asarray(pairs)
        if self.scores is None:
            return self.rng.random(len(pairs)) < 0.5
        margin = self.scores[pairs[:, 1]] - self.scores[pairs[:, 0]]
        return self.rng.random(len(pairs)) < 1 / (1 + np.exp(-margin))

    def random_answers(self, count: int) -> Comparisons:
        """Answers to random questions, no pair twice."""
        every = np.column_stack(np.triu_indices(len(self.items), 1))
        pairs = self.rng.permuted(self.rng.permutation(every)[:count], axis=1)
        return Comparisons(self.items, pairs, y=np.where(self.prefers_first(pairs), 1, -1))

    def study(self, count: int, **settings: Any) -> Any:
        """A study in which the person answered so many chosen questions."""
        study = create_study(self.items, storage="memory:", **settings)
        for _ in range(count):
            question = study.ask()
            if question is None:
                break
            first = self.prefers_first([question.positions])[0]
            study.tell(question, "left" if first else "right")
        return study


def make_person(kind: str, d: int, seed: int, irrelevant: int = 0) -> Person:
    """Somebody of a kind; the last `irrelevant` features do not matter to them."""
    rng = np.random.default_rng([seed, d, KINDS.index(kind)])
    items = rng.uniform(-1.7, 1.7, (N_ITEMS, d)) if seed % 2 else rng.standard_normal((N_ITEMS, d))
    items = (items - items.mean(axis=0)) / items.std(axis=0)
    used, m = items[:, : d - irrelevant], d - irrelevant
    if kind == "coin":
        return Person(items, None, ("",) * d, rng)
    if kind in ("linear", "diminishing"):
        weights = rng.choice([-1.0, 1.0], m) * rng.uniform(0.5, 1.5, m)
        shape = (
            used if kind == "linear" else np.log1p(np.exp(-1.5 * np.sign(weights) * used)) * -np.sign(weights)
        )
        scores, truth = -shape @ weights, tuple("more" if weight > 0 else "less" for weight in weights)
    elif kind == "cut-offs":
        signs, limits = rng.choice([-1.0, 1.0], m), rng.uniform(-0.5, 0.5, m)
        scores = ((signs * used < limits) * rng.uniform(0.5, 1.5, m)).sum(axis=1)
        scores += 0.05 * rng.standard_normal(len(items))
        truth = tuple("more" if sign > 0 else "less" for sign in signs)
    else:
        u = rng.uniform(-0.7, 0.7, m)
        root = np.diag(np.sqrt(rng.uniform(0.5, 1.5, m)))
        if kind == "correlated":
            root = root @ (np.eye(m) + 0.4 * rng.standard_normal((m, m)))
        scores, truth = (((used - u) @ root.T) ** 2).sum(axis=1), ("peak",) * m
    return Person(items, LOGITS * scores / scores.std(), truth + ("",) * irrelevant, rng)


def run(trial: Callable[[Any], Any], jobs: Iterable[Any], n_jobs: int) -> list[Any]:
    """Trials in parallel, without their warnings."""
    with ProcessPoolExecutor(n_jobs, initializer=_quiet) as pool:
        return list(pool.map(trial, list(jobs), chunksize=2))


def _quiet() -> None:
    warnings.simplefilter("ignore")


def options(doc: str | None, people: int) -> argparse.Namespace:
    """What all of these commands take."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--people", type=int, default=people, help="of each line")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def heading(title: str, columns: Iterable[str]) -> list[str]:
    """The lines of a Markdown table before its rows."""
    columns = list(columns)
    return [title, "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def write(name: str, lines: list[str]) -> None:
    """Into benchmarks/, as Markdown."""
    (Path(__file__).parent / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
