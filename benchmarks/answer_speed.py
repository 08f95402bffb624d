"""What a fit to answers of each shape costs, beside one to pairs that tell as much.

    python -m benchmarks.answer_speed

As much: the trace of the Fisher information of the items' scores, all scores alike and without lapses, what
thresholds leave unknown taken away. A pair has 1/2, a choice of k has (k - 1) / k. CPU seconds are
medians over people.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.answer_coverage import (
    Person,
    best_worst,
    choices,
    choices_or_none,
    rankings,
    ratings,
    tied_pairs,
)
from coombs import Comparisons, IdealPoint
from coombs.data.orders import Ratings
from coombs.inference.information import information_pairs
from coombs.inference.kinds import KINDS
from coombs.inference.target import Target

PEOPLE = 5
SHAPES = {
    "60 choices of 4": (choices, 60),
    "60 choices of 3 or none": (choices_or_none, 60),
    "36 best and worst of 4": (best_worst, 36),
    "12 rankings of 10": (rankings, 12),
    "100 pairs with ties": (tied_pairs, 100),
    "120 ratings by 3 judges": (ratings, 120),
}


def told(data: Comparisons) -> float:
    """How much answers tell about the scores of the items."""
    if data.ratings is not None:
        return told_by_ratings(data.ratings)
    answers = data.collected(data.items)
    target = Target.about(answers, KINDS["none"], lapse=0.0)
    n = len(answers.items)
    pairs = information_pairs(target, np.zeros(target.n))
    whole = np.asarray(pairs.laplacian(n + target.n_anchors))
    items, across, anchors = whole[:n, :n], whole[:n, n:], whole[n:, n:]
    return float(np.trace(items - across @ np.linalg.pinv(anchors) @ across.T))


def told_by_ratings(ratings: Ratings) -> float:
    """The same of ratings alone, with thresholds that make a judge's levels as frequent as they are.

    A rating of level k has (f_k - f_(k-1))^2 / p_k in the mean, f being the density at the thresholds beside
    it; where thresholds are unknown, n ratings of which m are of an item lose m^2 / n of them.
    """
    total = 0.0
    for scale in np.unique(ratings.scales):
        own = ratings.scales == scale
        share = np.bincount(ratings.levels[own], ratings.weights[own])
        below = np.concatenate([[0.0], np.cumsum(share / share.sum())])
        density, share = below * (1 - below), np.diff(below)
        each = (np.diff(density)[share > 0] ** 2 / share[share > 0]).sum()
        of_items = np.bincount(ratings.items[own], ratings.weights[own])
        total += float(each * (of_items.sum() - (of_items**2).sum() / of_items.sum()))
    return total


def seconds(data: Comparisons) -> float:
    """CPU time of a fit."""
    begin = time.process_time()
    IdealPoint(random_state=0).fit(data)
    return time.process_time() - begin


def main() -> None:
    """Print the table."""
    print("| answers | pairs that tell as much | s | s of those pairs | ratio |\n|---|---|---|---|---|")
    for name, (make, count) in SHAPES.items():
        rows = []
        for seed in range(PEOPLE):
            person = Person(seed)
            data = make(person)
            while len(data) < count:
                data = data + make(person)
            data = data[:count]
            n_pairs = round(2 * told(data))
            pairs = Comparisons(np.asarray(person.items), [person.order(2) for _ in range(n_pairs)])
            rows.append((n_pairs, seconds(data), seconds(pairs)))
        n_pairs, own, of_pairs = np.median(rows, axis=0)
        print(f"| {name} | {n_pairs:.0f} | {own:.2f} | {of_pairs:.2f} | {own / of_pairs:.1f} |", flush=True)


if __name__ == "__main__":
    main()
