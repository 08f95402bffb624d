"""The synthetic experiments: errors against the number of comparisons."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.stats import kendalltau
from sklearn.exceptions import ConvergenceWarning

from coombs.data.tables import FloatArray
from coombs.estimators.alternating import Alternating
from coombs.estimators.base import PairEstimator
from coombs.estimators.euclidean import EuclideanCompass, EuclideanSingleStep
from coombs.estimators.ideal_point import IdealPoint
from coombs.estimators.single_step import SingleStep
from coombs.evaluation import interpolated_median, kendall_tau_distance, top_k_fraction, ur_error, wer_error
from coombs.paper.experiment import Cell, Experiment, Row, Trials, stream
from coombs.paper.figures import curves
from coombs.paper.sweep_quantities import ORACLE, OWN, START
from coombs.simulate import Preferences, draw_answers, draw_pairs, make_preferences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Plans: TypeAlias = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""Figures by name: a panel for each of these measures, a curve for each of these estimators."""
CellsOf: TypeAlias = Callable[[bool], Sequence[Cell]]
"""The cells of a full run, or with True of a quick one."""
Person: TypeAlias = Callable[[Cell, int, int], Preferences]
"""Who answers in trial number n of a cell under a seed."""

N_ITEMS = 100
N_TRIALS = 100
"""Trials of each cell."""
ANSWERS = (10, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500)
"""Numbers of comparisons of the paper's sweeps."""
ALTERNATING_ANSWERS = (10, 20, 30, 40, 60, 80, 100, 150, 200, 300)
"""Numbers of comparisons of the paper's sweeps with the alternating scheme."""
QUICK_ANSWERS = (20, 100, 300)
"""Numbers of comparisons of a quick run."""
TOP = (5, 10, 20)
"""Numbers of nearest items whose share is measured."""
KEYS = ("d", "estimator", "answers")
"""Columns that a row of the summary is about."""
CODE = "SingleStep, authors' code"
ESTIMATORS: dict[str, Callable[[Preferences], PairEstimator]] = {
    "SingleStep": lambda truth: SingleStep(truth.items),
    CODE: lambda truth: SingleStep(truth.items, nonnegative_distances=True, adaptive_alpha=True),
    "Euclidean 1": lambda truth: EuclideanSingleStep(truth.items),
    "Euclidean 2": lambda truth: EuclideanCompass(truth.items),
    START: lambda truth: SingleStep(truth.items, gamma3=0.0001),
    ORACLE: lambda truth: Alternating(truth.items, truth=(truth.ideal_point, truth.metric)),
    OWN: lambda truth: Alternating(truth.items),
    "IdealPoint": lambda truth: IdealPoint(truth.items),
}
"""By their names in rows, summaries and figures."""


def cells(features: Sequence[int], answers: Sequence[int], quick: bool) -> list[Cell]:
    """Every number of features with every number of answers."""
    some = QUICK_ANSWERS if quick else answers
    return [Cell(f"d{d}-p{p}", {"d": d, "answers": p}) for d in features for p in some]


def new_person(name: str, identity: bool, cell: Cell, seed: int, number: int) -> Preferences:
    """New items, a new u and a new M for each trial."""
    rng = stream(seed, name, cell.name, number)
    return make_preferences(N_ITEMS, cell["d"], cell["answers"], identity, None, rng)


def same_person(cell: Cell, seed: int, number: int) -> Preferences:
    """New answers about one fixed problem."""
    fixed = make_preferences(N_ITEMS, cell["d"], 1, random_state=stream(seed, "alternating", "problem"))
    rng = stream(seed, "alternating", cell.name, number)
    pairs = draw_pairs(N_ITEMS, cell["answers"], rng)
    y = draw_answers(fixed.distances, pairs, None, rng)
    return Preferences(fixed.items, pairs, y, fixed.ideal_point, fixed.metric)


def trial(person: Person, estimators: Sequence[str], cell: Cell, seed: int, number: int) -> list[Row]:
    """What each estimator learns from one person's answers, against the truth."""
    truth = person(cell, seed, number)
    with warnings.catch_warnings():
        # Alternating says when it stops at 100 alternations, as the paper lets it.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = {name: ESTIMATORS[name](truth).fit(truth.pairs, truth.y) for name in estimators}
    return [{"estimator": name, **measures(est, truth)} for name, est in fits.items()]


def measures(est: PairEstimator, truth: Preferences) -> Row:
    """Of a fit against the truth behind it; the ranking is by (M, u), as an item may never be compared."""
    learned, true = est.distance(truth.items), truth.distances
    wer = wer_error(est.metric_, truth.metric)
    return {
        "ur": ur_error(est.ideal_point_, truth.ideal_point, truth.metric),
        "wer": wer,
        "wer_authors": float(np.sqrt(wer)),
        "kendall": kendall_tau_distance(learned, true),
        "kendall_authors": authors_kendall(learned, true),
        **{f"top{k}": top_k_fraction(learned, true, k) for k in TOP},
    }


def authors_kendall(learned: FloatArray, true: FloatArray) -> float:
    """What the authors' code computes: tau of the two sorting permutations, not of the ranks."""
    tau = kendalltau(np.argsort(learned, kind="stable"), np.argsort(true, kind="stable")).statistic
    return float((1 - tau) / 2)


def summary(trials: Trials) -> dict[str, Any]:
    """Median and quartiles of every measure, for each number of features, estimator and number of answers."""
    keys = [dict(zip(KEYS, values, strict=True)) for values in trials.distinct(*KEYS)]
    return {"cells": [key | _summary_of(trials.where(**key)) for key in keys]}


def _summary_of(part: Trials) -> dict[str, Any]:
    cell: dict[str, Any] = {"trials": len(part)}
    for measure in part.rows[0]:
        if measure not in (*KEYS, "trial"):
            values = part[measure]
            middle = interpolated_median(values) if measure.startswith("top") else float(np.median(values))
            low, high = np.quantile(values, [0.25, 0.75]).tolist()
            cell[measure] = {"median": middle, "low": low, "high": high, "mean": float(values.mean())}
    return cell


def figures(plans: Plans, summary: dict[str, Any], _: Trials) -> dict[str, Figure]:
    """The paper's figures, a colour for each number of features or for each estimator."""
    return {name: curves(summary["cells"], *plan) for name, plan in plans.items()}


def _sweep(
    name: str, title: str, description: str, cells: CellsOf, person: Person, fits: Sequence[str], plans: Plans
) -> Experiment:
    trials = partial(trial, person, fits)
    return Experiment(name, title, description, N_TRIALS, cells, trials, summary, partial(figures, plans))


_BOTH = ("SingleStep", "IdealPoint")
_EUCLIDEAN = ("SingleStep", "Euclidean 1", "Euclidean 2", "IdealPoint")
_ALTERNATING = (START, ORACLE, OWN, "IdealPoint")

SINGLE_STEP = _sweep(
    "single-step",
    "Single-step estimation",
    "100 items uniform on [-2, 2]^d, u on [-1, 1]^d, M = L'L; new items, u and M for each trial. Median and "
    "quartiles (interpolated median for shares of the top K). gamma1 = 2, gamma2 = 0.002, gamma3 = 0.001, "
    "alpha = 1.",
    partial(cells, (2, 5, 10), ANSWERS),
    partial(new_person, "single-step", False),
    ("SingleStep", CODE, "IdealPoint"),
    {
        "main": (("ur", "wer", "top10"), _BOTH),
        "supplement": (("kendall", "top5", "top20"), _BOTH),
        "authors": (("ur", "kendall_authors", "wer_authors"), ("SingleStep", CODE)),
    },
)
EUCLIDEAN = _sweep(
    "euclidean",
    "Against Euclidean algorithms, M not the identity",
    "d = 2; as before, beside the paper's Euclidean Algorithm 1 (distances alone) and 2 (u alone).",
    partial(cells, (2,), ANSWERS),
    partial(new_person, "euclidean", False),
    _EUCLIDEAN,
    {"main": (("ur", "kendall", "top10"), _EUCLIDEAN)},
)
IDENTITY = _sweep(
    "identity",
    "Against Euclidean algorithms, M the identity",
    "The same where the Euclidean algorithms are right: what does learning the metric cost?",
    partial(cells, (2,), ANSWERS),
    partial(new_person, "euclidean", True),
    _EUCLIDEAN,
    {"main": (("ur", "kendall", "top10"), _EUCLIDEAN), "supplement": (("top5", "top20"), _EUCLIDEAN)},
)
ALTERNATING = _sweep(
    "alternating",
    "Alternating estimation",
    "d = 5, one fixed problem, new comparisons for each trial. The oracle stops where the true UR error "
    "changes by less than 1e-3; our own stop needs no truth. gammas 2, 0.002, 0.0001, alpha 1 at the start; "
    "then 2/3, 1/15, 7/1500 and 1/2.",
    partial(cells, (5,), ALTERNATING_ANSWERS),
    same_person,
    _ALTERNATING,
    {
        "main": (("ur",), _ALTERNATING),
        "supplement": (("wer", "kendall", "top5", "top10", "top20"), _ALTERNATING),
    },
)
