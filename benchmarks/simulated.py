"""People simulated from other models than ours, and how they answer: for tables on honesty and peers."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from coombs import Comparisons, create_study
from coombs.data.tables import FloatArray

N_ITEMS = 60
"""Items of each person's table."""
LOGITS = 3.0
"""Ordinary noise: two items a deviation of the scores apart are told apart with probability 0.95."""
KINDS = (
    "linear",
    "ideal",
    "correlated",
    "cut-offs",
    "diminishing",
    "coin",
    "two peaks",
    "must-haves",
    "lexicographic",
)
"""Ways to judge: linear; an ideal with a weight for each feature; the same with a full metric; limits that
must be kept; logarithms; tossing a coin; the nearer of two ideals; linear among the items that keep all of
two limits, and far worse outside; one feature after the other, in three levels each."""


@dataclass(frozen=True, eq=False)
class Person:
    """Items, scores (less is better, in logits), and what is true of each feature: more, less, peak or ""."""

    items: FloatArray
    scores: FloatArray | None
    truth: tuple[str, ...]
    rng: np.random.Generator
    ideal: FloatArray | None = None

    def probability(self, pairs: Any) -> Any:
        """Of preferring the first."""
        pairs = np.asarray(pairs)
        if self.scores is None:
            return np.full(len(pairs), 0.5)
        return 1 / (1 + np.exp(self.scores[pairs[:, 0]] - self.scores[pairs[:, 1]]))

    def prefers_first(self, pairs: Any) -> Any:
        """How the person answers, noise included."""
        return self.rng.random(len(pairs)) < self.probability(pairs)

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
    ideal = None
    used, m = items[:, : d - irrelevant], d - irrelevant
    if kind == "coin":
        return Person(items, None, ("",) * d, rng)
    if kind in ("linear", "diminishing", "must-haves", "lexicographic", "cut-offs"):
        scores, signs = _monotone(kind, used, rng)
        truth = tuple("more" if sign > 0 else "less" for sign in signs)
    elif kind == "two peaks":
        direction = rng.standard_normal(m)
        u = 1.3 * direction / np.linalg.norm(direction)
        scores = np.minimum(((used - u) ** 2).sum(axis=1), ((used + u) ** 2).sum(axis=1) + 0.3)
        truth = ("peaks",) * m
    else:
        u = rng.uniform(-0.7, 0.7, m)
        ideal = np.append(u, np.full(irrelevant, np.nan))
        root = np.diag(np.sqrt(rng.uniform(0.5, 1.5, m)))
        if kind == "correlated":
            root = root @ (np.eye(m) + 0.4 * rng.standard_normal((m, m)))
        scores, truth = (((used - u) @ root.T) ** 2).sum(axis=1), ("peak",) * m
    return Person(items, LOGITS * scores / scores.std(), truth + ("",) * irrelevant, rng, ideal)


def _monotone(kind: str, used: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Scores (less is better) of somebody who wants more or less of every feature, and the signs."""
    m = used.shape[1]
    if kind == "cut-offs":
        signs, limits = rng.choice([-1.0, 1.0], m), rng.uniform(-0.5, 0.5, m)
        scores = ((signs * used < limits) * rng.uniform(0.5, 1.5, m)).sum(axis=1)
        return scores + 0.05 * rng.standard_normal(len(used)), signs
    signs = rng.choice([-1.0, 1.0], m)
    weights = signs * rng.uniform(0.5, 1.5, m)
    if kind == "diminishing":
        return np.log1p(np.exp(-1.5 * signs * used)) * signs @ weights, signs
    if kind == "must-haves":
        fails = (signs * used < rng.uniform(-1.0, -0.3, m))[:, rng.permutation(m)[:2]]
        return -used @ weights + 5 * fails.any(axis=1), signs
    if kind == "lexicographic":
        levels = (signs * used > -0.43).astype(float) + (signs * used > 0.43)
        return -levels @ 3.0 ** -rng.permutation(m), signs
    return -used @ weights, signs


def run(trial: Callable[[Any], Any], jobs: Iterable[Any], n_jobs: int) -> list[Any]:
    """Trials in parallel, without their warnings."""
    return list(results(trial, jobs, n_jobs, chunksize=2))


def results(
    trial: Callable[[Any], Any], jobs: Iterable[Any], n_jobs: int, chunksize: int = 1
) -> Iterator[Any]:
    """The same, one result after the other."""
    with ProcessPoolExecutor(n_jobs, initializer=_quiet) as pool:
        yield from pool.map(trial, list(jobs), chunksize=chunksize)


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
