"""Do 90 % intervals hold for answers of each shape, and for the bag of pairs that they contain?

    python -m benchmarks.answer_coverage --people 200

People have an ideal point and a metric of their own, and answer by Luce's rule (a best-worst answer: best
first, then the worst of the rest; ratings: one logistic noise and thresholds of their own, which is the model
that they are fitted with, or noise of its own at each threshold, which is not). Held: the share of random
pairs of items whose true difference of scores lies in the 90 % interval, scores being told up to the scale of
each draw, and of items whose true rank does.
"""

from __future__ import annotations

import argparse
import itertools
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs import Comparisons, IdealPoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

N_ITEMS = 20
N_FEATURES = 2
LEVEL = 0.9
EQUAL = 0.6
"""What seems to differ by less, in logits, is called equal."""
PAIRS = 60
"""Random pairs of items whose differences are looked at."""


class Person:
    """Somebody with an ideal point, over items of their own."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.items = self.rng.standard_normal((N_ITEMS, N_FEATURES))
        root = self.rng.standard_normal((N_FEATURES, N_FEATURES))
        ideal = 0.8 * self.rng.standard_normal(N_FEATURES)
        away = (self.items - ideal) @ root.T
        scores = (away**2).sum(axis=1)
        self.scores = scores / scores.std() * np.exp(self.rng.normal(0.7, 0.5))

    def some(self, k: int) -> Array:
        """Different items."""
        return self.rng.choice(N_ITEMS, k, replace=False)

    def order(self, k: int) -> list[int]:
        """Some of the items from best to worst."""
        things = self.some(k)
        worth = -self.scores[things] + self.rng.gumbel(size=k)
        return [int(i) for i in things[np.argsort(-worth)]]

    def worst(self, things: list[int]) -> int:
        """Of some items."""
        worth = self.scores[things] + self.rng.gumbel(size=len(things))
        return things[int(worth.argmax())]


def pairs(person: Person) -> Comparisons:
    return Comparisons(person.items, [person.order(2) for _ in range(60)])


def choices(person: Person) -> Comparisons:
    orders = [person.order(4) for _ in range(40)]
    return Comparisons.from_choices(person.items, orders, [one[0] for one in orders])


def choices_or_none(person: Person) -> Comparisons:
    """Somebody who takes nothing where nothing is better than the median item."""
    sets, chosen = [], []
    for _ in range(40):
        things = person.some(3)
        worth = np.append(-person.scores[things], -np.median(person.scores)) + person.rng.gumbel(size=4)
        best = int(worth.argmax())
        sets.append(things.tolist())
        chosen.append(None if best == 3 else int(things[best]))
    return Comparisons.from_choices(person.items, sets, chosen)


def best_worst(person: Person) -> Comparisons:
    orders = [person.order(4) for _ in range(25)]
    worst = [person.worst(one[1:]) for one in orders]
    return Comparisons.from_best_worst(person.items, orders, [one[0] for one in orders], worst)


def rankings(person: Person) -> Comparisons:
    return Comparisons.from_rankings(person.items, [person.order(10) for _ in range(6)])


def tied_rankings(person: Person) -> Comparisons:
    """Somebody who calls things equal where the next one seems hardly worse."""
    rankings: list[list[list[int]]] = []
    for _ in range(8):
        things = person.some(8)
        worth = -person.scores[things] + person.rng.gumbel(size=8)
        order = np.argsort(-worth)
        tiers = [[int(things[order[0]])]]
        for before, after in itertools.pairwise(order):
            if worth[before] - worth[after] > EQUAL:
                tiers.append([])
            tiers[-1].append(int(things[after]))
        rankings.append(tiers)
    return Comparisons.from_rankings(person.items, rankings)


def davidson_pairs(person: Person) -> Comparisons:
    """Equal is a third way out, as likely as either of two things that are alike: not as it is fitted."""
    asked = np.array([person.some(2) for _ in range(60)])
    one, other = person.scores[asked].T
    worth = -np.column_stack([(one + other) / 2, one, other]) + person.rng.gumbel(size=(len(asked), 3))
    return Comparisons(person.items, asked, y=np.array([0, 1, -1])[worth.argmax(axis=1)])


def tied_pairs(person: Person) -> Comparisons:
    """What seems hardly to differ is called equal (Rao and Kupper), as it is fitted."""
    asked = np.array([person.some(2) for _ in range(60)])
    first, second = asked.T
    away = person.scores[second] - person.scores[first] + person.rng.logistic(size=len(asked))
    return Comparisons(person.items, asked, y=np.where(np.abs(away) < EQUAL, 0, np.sign(away)))


def ratings(person: Person) -> Comparisons:
    """Three judges of the same taste, each with a scale of their own, rate all items, as it is fitted."""
    rated, levels, users = [], [], []
    for judge in "abc":
        worth = -person.scores + person.rng.logistic(size=N_ITEMS)
        cuts = np.quantile(-person.scores, [0.2, 0.45, 0.7, 0.9]) + person.rng.normal(0, 0.7)
        levels += np.searchsorted(cuts, worth).tolist()
        rated += list(range(N_ITEMS))
        users += [judge] * N_ITEMS
    return Comparisons.from_ratings(person.items, rated, levels, users=users)


def stepwise_ratings(person: Person) -> Comparisons:
    """The same by passing one threshold after the other, each with noise of its own: not as it is fitted."""
    rated, levels, users = [], [], []
    for judge in "abc":
        cuts = np.quantile(-person.scores, [0.2, 0.45, 0.7, 0.9]) + person.rng.normal(0, 0.7)
        passed = -person.scores[:, None] - cuts + person.rng.logistic(size=(N_ITEMS, len(cuts))) > 0
        levels += np.cumprod(passed, axis=1).sum(axis=1).tolist()
        rated += list(range(N_ITEMS))
        users += [judge] * N_ITEMS
    return Comparisons.from_ratings(person.items, rated, levels, users=users)


def fine_ratings(person: Person) -> Comparisons:
    """One judge rates all items three times from 0 to 100, which is learned from as five levels."""
    worth = np.tile(-person.scores, 3) + person.rng.logistic(size=3 * N_ITEMS)
    given = np.clip(np.round(50 + 5 * (worth + np.median(person.scores))), 0, 100)
    return Comparisons.from_ratings(person.items, np.tile(np.arange(N_ITEMS), 3), given)


SHAPES: dict[str, Callable[[Person], Comparisons]] = {
    "60 pairs": pairs,
    "40 choices of 4": choices,
    "40 choices of 3 or none": choices_or_none,
    "25 best and worst of 4": best_worst,
    "6 rankings of 10": rankings,
    "8 rankings of 8 with ties": tied_rankings,
    "60 pairs with ties": tied_pairs,
    "60 pairs with ties after Davidson": davidson_pairs,
    "60 ratings by 3 judges": ratings,
    "60 ratings, step by step": stepwise_ratings,
    "60 ratings from 0 to 100 by 1 judge": fine_ratings,
}


def bag(data: Comparisons) -> Comparisons:
    """Every two items that an answer puts in order, as an answer of its own."""
    winners, losers, weights = data.oriented()
    return Comparisons(data.items, np.column_stack([winners, losers]), weights=weights)


def held(shape: str, seed: int, in_pairs: bool) -> tuple[float, float, float]:
    """Shares of differences and of ranks that the intervals hold; and the mean width of the former."""
    person = Person(seed)
    data = SHAPES[shape](person)
    est = IdealPoint(random_state=0).fit(bag(data) if in_pairs else data)
    posterior, rng = est.posterior_, np.random.default_rng(seed)
    effects = est._effects_of(data.item_table, draws=True)
    scores = posterior.scores(data.items, effects)
    first = rng.integers(N_ITEMS, size=PAIRS)
    second = (first + rng.integers(1, N_ITEMS, size=PAIRS)) % N_ITEMS
    away = scores[:, first] - scores[:, second]
    low, high = np.quantile(away, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    true = person.scores[first] - person.scores[second]
    inside = float(((low <= true) & (true <= high)).mean())
    ranks = np.argsort(np.argsort(person.scores)) + 1
    ends = est.rank_interval(level=LEVEL)
    right = float(((ends[:, 0] <= ranks) & (ranks <= ends[:, 1])).mean())
    return inside, right, float((high - low).mean())


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--no-bag", action="store_true", help="leave out the bags of pairs")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    lines = [
        f"# Coverage of 90 % intervals by the shape of the answers ({options.people} people)",
        "",
        "Share held of differences of scores, and of ranks (+- standard error over people); mean width.",
        "",
        "| answers | differences | ranks | width | bag of pairs: differences | ranks | width |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    with ProcessPoolExecutor(options.jobs) as pool:
        for shape in options.shapes:
            row: list[str] = [shape]
            for in_pairs in (False, True):
                if in_pairs and (options.no_bag or shape == "60 pairs"):
                    row += ["", "", ""]
                    continue
                tasks = [pool.submit(held, shape, seed, in_pairs) for seed in range(options.people)]
                found: Any = np.array([task.result() for task in tasks])
                mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(len(found))
                row += [
                    f"{mean[0]:.3f} ± {error[0]:.3f}",
                    f"{mean[1]:.3f} ± {error[1]:.3f}",
                    f"{mean[2]:.2f}",
                ]
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], flush=True)
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
