"""The synthetic experiments: errors against the number of comparisons."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coombs.estimators.alternating import Alternating
from coombs.estimators.base import PairEstimator
from coombs.estimators.euclidean import EuclideanCompass, EuclideanSingleStep
from coombs.estimators.ideal_point import IdealPoint
from coombs.estimators.single_step import SingleStep
from coombs.evaluation import interpolated_median
from coombs.paper.experiment import Cell, Experiment, Row, Table, stream
from coombs.paper.figures import curves
from coombs.paper.measures import measures
from coombs.simulate import Preferences, draw_answers, draw_pairs, make_preferences

N_ITEMS = 100
ANSWERS = (10, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500)
ALTERNATING_ANSWERS = (10, 20, 30, 40, 60, 80, 100, 150, 200, 300)
QUICK_ANSWERS = (20, 100, 300)
INTERPOLATED = ("top5", "top10", "top20")

Fits = Callable[[Preferences], dict[str, PairEstimator]]


@dataclass(frozen=True)
class Picture:
    """One figure of the paper: a panel for each measure, a curve for each estimator."""

    name: str
    panels: tuple[str, ...]
    estimators: tuple[str, ...]


def cells(features: Sequence[int], answers: Sequence[int], quick: bool) -> list[Cell]:
    """Every number of features with every number of answers."""
    some = QUICK_ANSWERS if quick else answers
    return [Cell(f"d{d}-p{p}", {"d": d, "answers": p}) for d in features for p in some]


def _rows(truth: Preferences, fits: dict[str, PairEstimator]) -> list[Row]:
    result: list[Row] = []
    for name, est in fits.items():
        with warnings.catch_warnings():
            # Alternating says when it stops at 100 alternations, as the paper lets it.
            warnings.simplefilter("ignore", ConvergenceWarning)
            est.fit(truth.pairs, truth.y)
        result.append({"estimator": name, **measures(est, truth)})
    return result


def _person(cell: Cell, identity: bool, name: str, seed: int, number: int) -> Preferences:
    rng = stream(seed, name, cell.name, number)
    return make_preferences(N_ITEMS, cell["d"], cell["answers"], identity, None, rng)


def single_step_trial(cell: Cell, seed: int, number: int) -> list[Row]:
    """The paper's program as its text has it and as the authors' code has it, and ours."""
    truth = _person(cell, False, "single-step", seed, number)
    authors = SingleStep(truth.items, nonnegative_distances=True, adaptive_alpha=True)
    return _rows(
        truth,
        {
            "SingleStep": SingleStep(truth.items),
            "SingleStep, authors' code": authors,
            "IdealPoint": IdealPoint(truth.items),
        },
    )


def euclidean_trial(identity: bool, cell: Cell, seed: int, number: int) -> list[Row]:
    """The paper's program, both Euclidean algorithms, and ours."""
    truth = _person(cell, identity, "euclidean", seed, number)
    return _rows(
        truth,
        {
            "SingleStep": SingleStep(truth.items),
            "Euclidean 1": EuclideanSingleStep(truth.items),
            "Euclidean 2": EuclideanCompass(truth.items),
            "IdealPoint": IdealPoint(truth.items),
        },
    )


def alternating_trial(cell: Cell, seed: int, number: int) -> list[Row]:
    """New answers about one fixed problem: the start, the oracle's stop, our own stop, and IdealPoint."""
    fixed = make_preferences(N_ITEMS, cell["d"], 1, random_state=stream(seed, "alternating", "problem"))
    rng = stream(seed, "alternating", cell.name, number)
    pairs = draw_pairs(N_ITEMS, cell["answers"], rng)
    y = draw_answers(fixed.distances, pairs, None, rng)
    truth = Preferences(fixed.items, pairs, y, fixed.ideal_point, fixed.metric)
    known = (truth.ideal_point, truth.metric)
    return _rows(
        truth,
        {
            "start": SingleStep(truth.items, gamma3=0.0001),
            "Alternating, oracle stop": Alternating(truth.items, truth=known),
            "Alternating, our stop": Alternating(truth.items),
            "IdealPoint": IdealPoint(truth.items),
        },
    )


def summary(table: Table) -> dict[str, Any]:
    """Median and quartiles of every measure, for each number of features, estimator and number of answers."""
    keys = list(dict.fromkeys((row["d"], row["estimator"], row["answers"]) for row in table.rows))
    parts = [(table.where(d=d, estimator=name, answers=p), d, name, p) for d, name, p in keys]
    return {"cells": [_summary_of(*part) for part in parts]}


def _summary_of(part: Table, d: Any, name: Any, p: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"d": d, "estimator": name, "answers": p, "trials": len(part)}
    for measure in part.rows[0]:
        if measure not in ("d", "answers", "trial", "estimator"):
            values = part[measure]
            middle = interpolated_median(values) if measure in INTERPOLATED else float(np.median(values))
            low, high = np.quantile(values, [0.25, 0.75])
            found[measure] = {
                "median": middle,
                "low": float(low),
                "high": float(high),
                "mean": float(values.mean()),
            }
    return found


def figures(pictures: Sequence[Picture], table: Table) -> dict[str, Any]:
    """The paper's figures, a colour for each number of features or for each estimator."""
    found = summary(table)["cells"]
    return {one.name: curves(found, one.panels, one.estimators) for one in pictures}


SINGLE_STEP = Experiment(
    "single-step",
    "Single-step estimation",
    "100 items uniform on [-2, 2]^d, u on [-1, 1]^d, M = L'L; new items, u and M for each trial. Median and "
    "quartiles (interpolated median for shares of the top K). gamma1 = 2, gamma2 = 0.002, gamma3 = 0.001, "
    "alpha = 1.",
    100,
    partial(cells, (2, 5, 10), ANSWERS),
    single_step_trial,
    summary,
    partial(
        figures,
        (
            Picture("main", ("ur", "wer", "top10"), ("SingleStep", "IdealPoint")),
            Picture("supplement", ("kendall", "top5", "top20"), ("SingleStep", "IdealPoint")),
            Picture(
                "authors",
                ("ur", "kendall_authors", "wer_authors"),
                ("SingleStep", "SingleStep, authors' code"),
            ),
        ),
    ),
)

_EUCLIDEAN = ("SingleStep", "Euclidean 1", "Euclidean 2", "IdealPoint")

EUCLIDEAN = Experiment(
    "euclidean",
    "Against Euclidean algorithms, M not the identity",
    "d = 2; as before, beside the paper's Euclidean Algorithm 1 (distances alone) and 2 (u alone).",
    100,
    partial(cells, (2,), ANSWERS),
    partial(euclidean_trial, False),
    summary,
    partial(figures, (Picture("main", ("ur", "kendall", "top10"), _EUCLIDEAN),)),
)

IDENTITY = Experiment(
    "identity",
    "Against Euclidean algorithms, M the identity",
    "The same where the Euclidean algorithms are right: what does learning the metric cost?",
    100,
    partial(cells, (2,), ANSWERS),
    partial(euclidean_trial, True),
    summary,
    partial(
        figures,
        (
            Picture("main", ("ur", "kendall", "top10"), _EUCLIDEAN),
            Picture("supplement", ("top5", "top20"), _EUCLIDEAN),
        ),
    ),
)

_ALTERNATING = ("start", "Alternating, oracle stop", "Alternating, our stop", "IdealPoint")

ALTERNATING = Experiment(
    "alternating",
    "Alternating estimation",
    "d = 5, one fixed problem, new comparisons for each trial. The oracle stops where the true UR error "
    "changes by less than 1e-3; our own stop needs no truth. gammas 2, 0.002, 0.0001, alpha 1 at the start; "
    "then 2/3, 1/15, 7/1500 and 1/2.",
    100,
    partial(cells, (5,), ALTERNATING_ANSWERS),
    alternating_trial,
    summary,
    partial(
        figures,
        (
            Picture("main", ("ur",), _ALTERNATING),
            Picture("supplement", ("wer", "kendall", "top5", "top10", "top20"), _ALTERNATING),
        ),
    ),
)
