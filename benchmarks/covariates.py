"""What `Population.fit(..., people=frame)` is worth: log loss of new people, and what is said falsely.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.covariates

Simulated people want features linearly; the weight of one of them moves with something that is known of them,
by a slope. Two minutes; writes covariates.md.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from coombs import Population
from coombs.inference.people.average_of_kinds import LEAST_GAIN
from coombs.insights.people_covariates import covariate_findings

PAGE = Path(__file__).with_suffix(".md")
ITEMS = 30
"""Things to choose from,"""
FEATURES = 4
"""with so many features."""
OWN = 0.6
"""Deviation of everybody's own weights, in logits."""
LEARNED = 8
"""Answers of each person who is learned from."""
COUNTS = (0, 1, 3, 5)
"""Answers of each new person."""
NEW = 30
"""New people, whose"""
ASKED = 30
"""further choices are predicted."""
SETTINGS = ((40, 0.0), (200, 0.0), (40, 0.8), (200, 0.8), (200, 0.3))
"""People and slopes."""
FITTED = 10
"""Populations whose losses are averaged."""
TRUE = ("told", "feature 0")
"""What goes together."""
FRESH = 40
"""Populations of which it is counted what is learned from,"""
DRAWS = 20
"""and what is said."""


class Crowd(NamedTuple):
    """People, what is known of them, and their weights."""

    people: pd.DataFrame
    weights: np.ndarray[Any, Any]


def crowd(rng: np.random.Generator, n: int, slope: float) -> Crowd:
    """`told` goes with the first weight, all else is noise."""
    frame = pd.DataFrame(
        {
            "told": rng.normal(size=n),
            "noise": rng.normal(size=n),
            "sort": rng.choice(["a", "b", "c"], n),
            "said": rng.choice(["yes", "no"], n),
        },
        index=[f"person {i}" for i in range(n)],
    )
    weights = rng.normal(np.linspace(1.2, -1.0, FEATURES), OWN, (n, FEATURES))
    weights[:, 0] += slope * frame["told"]
    return Crowd(frame, weights)


def answers(
    rng: np.random.Generator, items: np.ndarray[Any, Any], weights: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Pairs of items, and what somebody with each row of weights says."""
    pairs = rng.permuted(np.tile(np.arange(ITEMS), (len(weights), 1)), axis=1)[:, :2]
    margin = ((items[pairs[:, 0]] - items[pairs[:, 1]]) * weights).sum(axis=1)
    return pairs, np.where(rng.random(len(weights)) < expit(margin), 1, -1)


def losses(seed: int, n: int, slope: float) -> dict[str, list[float]]:
    """Mean log loss of new people's choices, by how many answers they gave, with what is known or without."""
    rng = np.random.default_rng(seed)
    items, learned, new = rng.normal(size=(ITEMS, FEATURES)), crowd(rng, n, slope), crowd(rng, NEW, slope)
    pairs, y = answers(rng, items, np.repeat(learned.weights, LEARNED, axis=0))
    users = np.repeat(learned.people.index, LEARNED)
    noise = ["noise", "sort", "said"]
    chosen = {"nothing": None, "all": list(learned.people), "noise": noise}
    own = [answers(rng, items, np.repeat(row[None], max(COUNTS) + ASKED, axis=0)) for row in new.weights]
    found: dict[str, list[float]] = {}
    for name, columns in chosen.items():
        people = None if columns is None else learned.people[columns]
        est = Population(items, metric="none").fit(pairs, y, users=users, people=people)
        totals = np.zeros(len(COUNTS))
        for (asked, said), (_, row) in zip(own, new.people.iterrows(), strict=True):
            about = None if columns is None else row[columns].to_dict()
            for k, count in enumerate(COUNTS):
                person = est.person_from(asked[:count], said[:count], about=about)
                p = person.predict_proba(asked[-ASKED:])[:, 1]
                totals[k] -= np.log(np.where(said[-ASKED:] > 0, p, 1 - p)).mean() / NEW
        found[name] = totals.tolist()
    return found


def table(n: int, slope: float) -> str:
    """A row for each number of answers."""
    every = [losses(seed, n, slope) for seed in range(FITTED)]
    rows = [
        f"\n{n} people with {LEARNED} answers each are learned from; slope {slope:g}.\n",
        "| answers of a new person | answers alone | all that is known | noise alone |",
        "|---|---|---|---|",
    ]
    for k, count in enumerate(COUNTS):
        base = np.array([one["nothing"][k] for one in every])
        cells = [f"{base.mean():.4f}"]
        for name in ("all", "noise"):
            gain = np.array([one[name][k] for one in every]) - base
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            cells.append(f"{base.mean() + gain.mean():.4f} ({gain.mean():+.4f} ± {error:.4f})")
        rows.append(f"| {count} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def said(n: int, slope: float) -> str:
    """How many populations have a false statement, and how many the true one."""
    false = true = 0
    for seed in range(DRAWS):
        rng = np.random.default_rng(1000 + seed)
        items, learned = rng.normal(size=(ITEMS, FEATURES)), crowd(rng, n, slope)
        pairs, y = answers(rng, items, np.repeat(learned.weights, LEARNED, axis=0))
        people = learned.people if slope else learned.people.drop(columns="told")
        users = np.repeat(learned.people.index, LEARNED)
        est = Population(items, metric="none").fit(pairs, y, users=users, people=people)
        found = [(one.covariate, one.feature) for one in covariate_findings(est)]
        true += TRUE in found
        false += any(one != TRUE for one in found)
    return f"| {n} | {slope:g} | {true if slope else ''} | {false} |"


def kept(n: int, slope: float) -> str:
    """How often covariates are learned from: those that are noise, and the one that is not."""
    noise, any_noise, true = 0.0, 0, 0
    for seed in range(FRESH):
        rng = np.random.default_rng(5000 + seed)
        items, learned = rng.normal(size=(ITEMS, FEATURES)), crowd(rng, n, slope)
        pairs, y = answers(rng, items, np.repeat(learned.weights, LEARNED, axis=0))
        people = learned.people if slope else learned.people.drop(columns="told")
        users = np.repeat(learned.people.index, LEARNED)
        est = Population(items, metric="none").fit(pairs, y, users=users, people=people)
        gains = est._average.told.gains
        is_true = np.array([name == "told" for name in people])
        noise += float((gains[~is_true] > LEAST_GAIN).mean()) / FRESH
        any_noise += bool((gains[~is_true] > LEAST_GAIN).any())
        true += bool((gains[is_true] > LEAST_GAIN).any())
    return f"| {n} | {slope:g} | {true if slope else ''} | {any_noise} | {100 * noise:.0f} % |"


def main() -> None:
    """All of it, as a page."""
    warnings.simplefilter("ignore")
    lines = [
        "# What is known of people",
        "",
        "`python -m benchmarks.covariates`: simulated people who choose linearly by four features, with "
        f"deviations {OWN} of their own weights. The weight of one feature moves by the slope with a number",
        "that is known of them; another number, a category and a yes or no are noise. Log loss of 30 further "
        f"choices of {NEW} new people, the mean of {FITTED} populations, with the difference from",
        "what answers alone give and its standard error.",
        *(table(n, slope) for n, slope in ((40, 0.8), (200, 0.8), (200, 0.3))),
        "",
        f"What is said of covariates (`explain()`), in {DRAWS} populations each: how many have the one true "
        "statement, and how many a false one. Without a slope there are the three covariates that are noise.",
        "",
        "| people | slope | true | false |",
        "|---|---|---|---|",
        *(said(n, slope) for n, slope in SETTINGS),
        "",
        f"What is learned from, in {FRESH} other populations each: how many have the true one, how many "
        "any that is noise,",
        f"and the share of covariates that are noise. The least gain, {LEAST_GAIN:g} nats, was chosen after "
        "a look at losses with 1,",
        "so that the last column of the tables above flatters it; these seeds are others.",
        "",
        "| people | slope | true | any noise | of noise |",
        "|---|---|---|---|---|",
        *(kept(n, slope) for n, slope in SETTINGS),
    ]
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
