"""What a click tells, in pairs or in a best and worst of more. `python -m benchmarks.best_worst`.

Simulated people with a linear taste or an ideal point answer the adaptive questions of a `Study` about 30
items with 3 features, by the choice model that is learned with: the best with odds exp(utility), then the
worst of the rest with odds exp(-utility). After each block of answers, the probabilities that the study
predicts for all pairs are held against the true ones: the expected log loss of a true choice, above that of
whoever knows the person. Writes best_worst.md beside this file; `--quick` asks two people of each kind.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from coombs import create_study, questions

N_ITEMS, N_FEATURES = 30, 3
SIZES = (2, 3, 4, 5)
"""Items in a question."""
CLICKS = (12, 24, 36)
"""A pair is one click, a set two."""
QUESTIONS = (6, 12, 18)
"""Questions after which sets are held against pairs, whatever the clicks."""
KINDS = ("linear", "ideal")
SCALE = 2.0
"""Standard deviation of the utilities: a random pair is predictable at about 85 %."""


class Point(NamedTuple):
    """What was known of one person after so many questions."""

    kind: str
    size: int
    n_questions: int
    excess: float


def utilities(items: NDArray[np.float64], kind: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Of all items for a new person."""
    if kind == "linear":
        raw = items @ rng.normal(size=N_FEATURES)
    else:
        raw = -((items - rng.normal(scale=0.7, size=N_FEATURES)) ** 2 @ rng.uniform(0.3, 1.5, N_FEATURES))
    result: NDArray[np.float64] = SCALE * (raw - raw.mean()) / raw.std()
    return result


def excess_loss(truth: NDArray[np.float64], belief: questions.Votes) -> float:
    """Expected log loss (nats) of a choice of a random pair above that of the true probabilities."""
    pairs = np.array([(i, j) for i in range(N_ITEMS) for j in range(i)])
    p = 1 / (1 + np.exp(truth[pairs[:, 1]] - truth[pairs[:, 0]]))
    q = np.clip(questions.information(belief, pairs)[1], 1e-9, 1 - 1e-9)
    return float((p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).mean())


def person(kind: str, size: int, seed: int) -> Iterator[Point]:
    """One person, asked in one way."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    items = rng.normal(size=(N_ITEMS, N_FEATURES))
    truth = utilities(items, kind, rng)
    study = create_study(items, storage="memory:", set_size=size, seed=seed, probes=0.0)
    most = max(CLICKS) // (1 if size == 2 else 2)
    stops = {*QUESTIONS, *(clicks // (1 if size == 2 else 2) for clicks in CLICKS)}
    for count in range(1, most + 1):
        question = study.ask()
        assert question is not None
        wants = truth[list(question.positions)] + rng.gumbel(size=len(question.positions))
        if size == 2:
            study.tell(question, "left" if wants[0] > wants[1] else "right")
        else:
            best = int(wants.argmax())
            dislikes = -truth[list(question.positions)] + rng.gumbel(size=len(question.positions))
            dislikes[best] = -np.inf
            study.tell(question, best=question.names[best], worst=question.names[int(dislikes.argmax())])
        if count in stops:
            yield Point(kind, size, count, excess_loss(truth, study.respondent().think().belief))


def table(points: list[Point], people: int, command: str) -> str:
    """The results in Markdown."""

    def cell(kind: str, size: int, n_questions: int) -> str:
        found = [one.excess for one in points if one[:3] == (kind, size, n_questions)]
        if not found:
            return "-"
        return f"{np.mean(found):.3f} ± {np.std(found) / max(len(found) - 1, 1) ** 0.5:.3f}"

    lines = [WORDS.format(command=command, people=people), ""]
    heads = [f"{one} clicks" for one in CLICKS] + [f"{one} questions" for one in QUESTIONS]
    lines += [f"| taste | items | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for kind in KINDS:
        for size in SIZES:
            per = 1 if size == 2 else 2
            cells = [cell(kind, size, one // per) for one in CLICKS]
            cells += [cell(kind, size, one) for one in QUESTIONS]
            lines.append(f"| {kind} | {size} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


WORDS = """# What a click tells: pairs, and the best and worst of three to five

`{command}`: mean ± standard error over {people} simulated people of each kind of the expected log loss (nats)
of a true choice of two random items, above that of whoever knows the person's probabilities; less is better,
0 is perfect. 30 items, 3 features, adaptive questions. A pair is one click, a set two: its best, its worst.

The simulated people answer sets by just the model that is learned with, as carefully as pairs. Real people
read three to five cards for each such question, and their worst choices may follow another noise than
their best ones: that is not in these numbers, and neither is time."""


def main() -> None:
    """Ask, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=16)
    parser.add_argument("--quick", action="store_true", help="two people of each kind, nothing written")
    options = parser.parse_args()
    people = 2 if options.quick else options.people
    points = [
        point
        for kind in KINDS
        for size in SIZES
        for seed in range(people)
        for point in person(kind, size, seed)
    ]
    text = table(points, people, f"python -m benchmarks.best_worst --people {people}")
    print(text)
    if not options.quick:
        Path(__file__).with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
