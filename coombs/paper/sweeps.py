"""The synthetic experiments: errors against the number of comparisons."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
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
from coombs.simulate import Preferences, draw_answers, draw_pairs, make_preferences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Plans: TypeAlias = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
"""Figures by name: a panel for each of these measures, a curve for each of these estimators."""

N_ITEMS = 100
N_TRIALS = 100
"""Of each cell."""
ANSWERS = (10, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500)
ALTERNATING_ANSWERS = (10, 20, 30, 40, 60, 80, 100, 150, 200, 300)
QUICK_ANSWERS = (20, 100, 300)
"""Numbers of comparisons: of the paper's sweeps, of alternating, and of a quick run."""
TOP = (5, 10, 20)
"""Numbers of nearest items whose share is measured."""
KEYS = ("d", "estimator", "answers")
"""Columns that a row of the summary is about."""


def cells(features: Sequence[int], answers: Sequence[int], quick: bool) -> list[Cell]:
    """Every number of features with every number of answers."""
    some = QUICK_ANSWERS if quick else answers
    return [Cell(f"d{d}-p{p}", {"d": d, "answers": p}) for d in features for p in some]


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


def _rows(truth: Preferences, fits: dict[str, PairEstimator]) -> list[Row]:
    with warnings.catch_warnings():
        # Alternating says when it stops at 100 alternations, as the paper lets it.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = {name: est.fit(truth.pairs, truth.y) for name, est in fits.items()}
    return [{"estimator": name, **measures(est, truth)} for name, est in fitted.items()]


def _person(cell: Cell, identity: bool, name: str, seed: int, number: int) -> Preferences:
    rng = stream(seed, name, cell.name, number)
    return make_preferences(N_ITEMS, cell["d"], cell["answers"], identity, None, rng)


def single_step_trial(cell: Cell, seed: int, number: int) -> list[Row]:
    """The paper's program as its text has it and as the authors' code has it, and ours."""
    truth = _person(cell, False, "single-step", seed, number)
    fits = {
        "SingleStep": SingleStep(truth.items),
        "SingleStep, authors' code": SingleStep(truth.items, nonnegative_distances=True, adaptive_alpha=True),
        "IdealPoint": IdealPoint(truth.items),
    }
    return _rows(truth, fits)


def euclidean_trial(identity: bool, cell: Cell, seed: int, number: int) -> list[Row]:
    """The paper's program, both Euclidean algorithms, and ours."""
    truth = _person(cell, identity, "euclidean", seed, number)
    kinds = (SingleStep, EuclideanSingleStep, EuclideanCompass, IdealPoint)
    return _rows(truth, {name: kind(truth.items) for name, kind in zip(_EUCLIDEAN, kinds, strict=True)})


def alternating_trial(cell: Cell, seed: int, number: int) -> list[Row]:
    """New answers about one fixed problem: the start, the oracle's stop, our own stop, and IdealPoint."""
    fixed = make_preferences(N_ITEMS, cell["d"], 1, random_state=stream(seed, "alternating", "problem"))
    rng = stream(seed, "alternating", cell.name, number)
    pairs = draw_pairs(N_ITEMS, cell["answers"], rng)
    y = draw_answers(fixed.distances, pairs, None, rng)
    truth = Preferences(fixed.items, pairs, y, fixed.ideal_point, fixed.metric)
    fits = (
        SingleStep(truth.items, gamma3=0.0001),
        Alternating(truth.items, truth=(truth.ideal_point, truth.metric)),
        Alternating(truth.items),
        IdealPoint(truth.items),
    )
    return _rows(truth, dict(zip(_ALTERNATING, fits, strict=True)))


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


_BOTH = ("SingleStep", "IdealPoint")
_TEXT_AND_CODE = ("SingleStep", "SingleStep, authors' code")
_EUCLIDEAN = ("SingleStep", "Euclidean 1", "Euclidean 2", "IdealPoint")
_ALTERNATING = ("start", "Alternating, oracle stop", "Alternating, our stop", "IdealPoint")
_SINGLE_STEP_FIGURES: Plans = {
    "main": (("ur", "wer", "top10"), _BOTH),
    "supplement": (("kendall", "top5", "top20"), _BOTH),
    "authors": (("ur", "kendall_authors", "wer_authors"), _TEXT_AND_CODE),
}
_EUCLIDEAN_FIGURES: Plans = {"main": (("ur", "kendall", "top10"), _EUCLIDEAN)}
_IDENTITY_FIGURES = _EUCLIDEAN_FIGURES | {"supplement": (("top5", "top20"), _EUCLIDEAN)}
_ALTERNATING_FIGURES: Plans = {
    "main": (("ur",), _ALTERNATING),
    "supplement": (("wer", "kendall", "top5", "top10", "top20"), _ALTERNATING),
}

SINGLE_STEP = Experiment(
    "single-step",
    "Single-step estimation",
    "100 items uniform on [-2, 2]^d, u on [-1, 1]^d, M = L'L; new items, u and M for each trial. Median and "
    "quartiles (interpolated median for shares of the top K). gamma1 = 2, gamma2 = 0.002, gamma3 = 0.001, "
    "alpha = 1.",
    N_TRIALS,
    partial(cells, (2, 5, 10), ANSWERS),
    single_step_trial,
    summary,
    partial(figures, _SINGLE_STEP_FIGURES),
)
EUCLIDEAN = Experiment(
    "euclidean",
    "Against Euclidean algorithms, M not the identity",
    "d = 2; as before, beside the paper's Euclidean Algorithm 1 (distances alone) and 2 (u alone).",
    N_TRIALS,
    partial(cells, (2,), ANSWERS),
    partial(euclidean_trial, False),
    summary,
    partial(figures, _EUCLIDEAN_FIGURES),
)
IDENTITY = Experiment(
    "identity",
    "Against Euclidean algorithms, M the identity",
    "The same where the Euclidean algorithms are right: what does learning the metric cost?",
    N_TRIALS,
    partial(cells, (2,), ANSWERS),
    partial(euclidean_trial, True),
    summary,
    partial(figures, _IDENTITY_FIGURES),
)
ALTERNATING = Experiment(
    "alternating",
    "Alternating estimation",
    "d = 5, one fixed problem, new comparisons for each trial. The oracle stops where the true UR error "
    "changes by less than 1e-3; our own stop needs no truth. gammas 2, 0.002, 0.0001, alpha 1 at the start; "
    "then 2/3, 1/15, 7/1500 and 1/2.",
    N_TRIALS,
    partial(cells, (5,), ALTERNATING_ANSWERS),
    alternating_trial,
    summary,
    partial(figures, _ALTERNATING_FIGURES),
)
