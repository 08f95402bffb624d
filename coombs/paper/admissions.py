"""The paper's applicants: Unranked and Ranked Candidates, simulated, and real ones from GradCafe."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import coombs.paper.admissions_figures as shown
from coombs.data.comparisons import Comparisons
from coombs.data.tables import FloatArray
from coombs.datasets import FEATURES, SCALES, Admissions, Candidates, make_admissions, read_gradcafe
from coombs.estimators.base import PairEstimator
from coombs.estimators.ideal_point import IdealPoint
from coombs.estimators.single_step import SingleStep
from coombs.evaluation import kendall_tau_distance, top_k_fraction
from coombs.model import Model
from coombs.paper.admissions_figures import BY_MODEL, POOLED, STANDARDIZED, TOP
from coombs.paper.experiment import Cell, Experiment, Row, stream
from coombs.paper.learned_metric import learned
from coombs.programs.program import ConvergenceError

SPREADS = dict(zip(FEATURES, SCALES, strict=True))
"""Of simulated applicants, in whose units their committee's metric was made."""
NO_OPTIMUM = "no_optimum"
"""The status of a fit that ended in a ConvergenceError; its row has no numbers."""


def attempt(est: PairEstimator, data: Comparisons) -> str:
    """Fit, and say how it ended, whatever that was."""
    with warnings.catch_warnings():
        # The status goes into the row.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            est.fit(data)
        except ConvergenceError:
            return NO_OPTIMUM
    return str(est.status_)


def share_right(distances: FloatArray, answers: Comparisons) -> float:
    """The share of answers whose winner is nearer; equal distances count half."""
    winners, losers, weights = answers.oriented()
    return float(weights @ ((np.sign(distances[losers] - distances[winners]) + 1) / 2) / weights.sum())


def _feature_sets(features: Sequence[str], most: int) -> list[str]:
    """All features, and so many of their pairs."""
    return [",".join(some) for some in (features, *islice(combinations(features, 2), most))]


def _names(candidates: Candidates) -> list[str]:
    return [] if candidates.items.features is None else candidates.items.features.tolist()


def _overlap(candidates: Candidates) -> dict[str, float]:
    """For each feature, in what share of pairs the worst tier's applicant has more of it than the best's."""
    best, worst = (candidates.tiers == end for end in (candidates.tiers.min(), candidates.tiers.max()))
    groups = np.array(["everyone"] * len(candidates)) if candidates.groups is None else candidates.groups
    compared = (groups[best][:, None] == groups[worst]) & (groups[best] != "")[:, None]
    columns = zip(_names(candidates), candidates.items.matrix.T, strict=True)
    return {name: float((x[best][:, None] < x[worst])[compared].mean()) for name, x in columns}


def _fit(name: str, est: PairEstimator, answers: Comparisons, spreads: FloatArray, in_spreads: bool) -> Row:
    """What an estimator learns from all answers, and how many of them it gets right.

    By (M, u), and by its own distances: the program's d, or with effects of the items.
    """
    row: Row = {"record": "fit", "estimator": name, "status": attempt(est, answers)}
    if row["status"] != NO_OPTIMUM:
        row["learned"] = learned(est.described()[0], spreads, in_spreads) | {
            "accuracy": share_right(est.model_.distance(answers.item_table), answers),
            "accuracy_fitted": share_right(est.distances_, answers),
        }
    return row


# Unranked Candidates

COUNTS = (33, 33, 34)
"""Candidates with a fellowship, admitted and denied."""
GAMMAS: dict[str, Any] = {"gamma1": 1 / 650, "gamma2": 1 / 6500, "gamma3": 2 / 65 * 1e-6, "alpha": 1.0}
UNRANKED_FITS: dict[str, tuple[Callable[[], PairEstimator], bool]] = {
    "SingleStep": (lambda: SingleStep(**GAMMAS), False),
    STANDARDIZED: (lambda: SingleStep(**GAMMAS, standardize=True), True),
    "IdealPoint": (IdealPoint, True),
}
"""Estimators, and whether their interactions are given in units of spreads."""


def unranked_cells(quick: bool) -> list[Cell]:
    """All five features, and every two of them."""
    every, *pairs = _feature_sets(FEATURES, 1 if quick else 10)
    named = {"all": every} | {pair.replace(",", "-"): pair for pair in pairs}
    return [Cell(name, {"features": features}) for name, features in named.items()]


def unranked_trial(cell: Cell, seed: int, number: int) -> list[Row]:
    """What is learned from all answers about 100 candidates; who they are; what cleaning left out."""
    features = cell["features"].split(",")
    applicants = make_admissions("unranked", random_state=stream(seed, "unranked", number))
    everyone = applicants.clean(features)
    drawn = everyone.sample(COUNTS, stream(seed, "unranked", number, cell.name))
    answers, spreads = drawn.comparisons(), np.array([SPREADS[name] for name in features])
    common: Row = {
        "candidates": len(drawn),
        "answers": len(answers),
        "largest_norm": largest_norm(),
        "applicants": len(applicants),
        "dropped": sum(everyone.dropped.values()),
        "overlap": _overlap(everyone),
    }
    rows = [
        common | _fit(name, make(), answers, spreads, in_spreads)
        for name, (make, in_spreads) in UNRANKED_FITS.items()
    ]
    if everyone.truth is not None:
        rows += _truths(everyone.truth, spreads)
    for tier, values in zip(drawn.tiers.tolist(), drawn.items.matrix.tolist(), strict=True):
        rows.append({"record": "candidate", "tier": tier, **dict(zip(features, values, strict=True))})
    return rows + [{"record": "rule", "rule": rule, "dropped": n} for rule, n in everyone.dropped.items()]


def _truths(truth: Model, spreads: FloatArray) -> list[Row]:
    """In the features' own units and in units of spreads."""
    return [{"record": "truth", "learned": learned(truth, spreads, units)} for units in (False, True)]


def largest_norm() -> float:
    """No data give a metric of a larger norm than this with the paper's gammas.

    M = 0 and d = 0, 1, 2 for the categories have no loss, so the optimum has gamma2 |M|^2 <= gamma1 |zeta|_1
    + gamma3 |d|^2, zeta being a projection of Qd: |zeta|_1 <= sqrt(n) |Qd|.
    """
    fellows, admitted, denied = COUNTS
    answers = fellows * (admitted + denied) + admitted * denied
    squares = fellows * admitted + 4 * fellows * denied + admitted * denied
    bound = GAMMAS["gamma1"] * np.sqrt(answers * squares) + GAMMAS["gamma3"] * (admitted + 4 * denied)
    return float(np.sqrt(bound / GAMMAS["gamma2"]))


UNRANKED = Experiment(
    "unranked",
    "Unranked Candidates (simulated)",
    "The paper's applicants are private; these are simulated: 3,789 whom a committee with the metric and the "
    "ideal that the paper printed, in units of the features' spreads, gave a fellowship, admitted or "
    "denied. Cleaned as in the supplement; 33 + 33 + 34 of them, all 3,333 comparisons. gamma1 = 1/650, "
    "gamma2 = 1/6500, gamma3 = 2/65e6, alpha = 1. SingleStep takes the features as they are, as the paper "
    "does, and its eigenvectors are in their units; SingleStep, standardized, and IdealPoint standardise "
    "inside, and their eigenvectors are in units of spreads. The truth beside each is in the same units. "
    "Accuracy is that of (M, u) on the comparisons learned from.",
    1,
    unranked_cells,
    unranked_trial,
    shown.unranked_summary,
    shown.unranked_figures,
    shown.unranked_tables,
)


# Ranked Candidates

TOP_GAMMAS: dict[str, Any] = {"gamma1": 3 / 800, "gamma2": 1 / 8000, "gamma3": 5 / 8 * 1e-11, "alpha": 1.0}
ORDER_GAMMAS: dict[str, Any] = {
    "gamma1": 7 / 6002,
    "gamma2": 1 / 6002,
    "gamma3": 2 / 6002 * 1e-4,
    "alpha": 1.0,
}
N_COMPARISONS = 2610
"""All that there are of Ranked Candidates."""
ANSWERS = (50, 100, 200, 350, 500, 1000, 1600, N_COMPARISONS)
QUICK_ANSWERS = (50, 500, N_COMPARISONS)


def ranked_cells(quick: bool) -> list[Cell]:
    """Numbers of comparisons, from 2 % of all to all."""
    return [Cell(f"p{n}", {"answers": n}) for n in (QUICK_ANSWERS if quick else ANSWERS)]


def ranked_trial(cell: Cell, seed: int, number: int) -> list[Row]:
    """How well some of the comparisons rank the candidates, by an estimator's distances and by (M, u)."""
    candidates = make_admissions("ranked", random_state=stream(seed, "ranked")).clean()
    everything = candidates.comparisons()
    rng = stream(seed, "ranked", cell.name, number)
    answers = everything[np.sort(rng.choice(len(everything), cell["answers"], replace=False))]
    features = _names(candidates)
    spreads = np.array([SPREADS[name] for name in features])
    assert candidates.truth is not None
    rows = [
        *_ranked_fits(candidates, answers, spreads),
        *_without_fits(candidates, candidates.truth, answers),
        *_truths(candidates.truth, spreads),
    ]
    common = {"record": "fit", "features": ",".join(features), "candidates": len(candidates)}
    return [{**common, "comparisons": len(everything), **row} for row in rows]


def _ranked_fits(candidates: Candidates, answers: Comparisons, spreads: FloatArray) -> list[Row]:
    """Of SingleStep, with the gammas of either figure, and IdealPoint."""
    top, order, ours = SingleStep(**TOP_GAMMAS), SingleStep(**ORDER_GAMMAS), IdealPoint()
    ends = {est: attempt(est, answers) for est in (top, order, ours)}
    rows: list[Row] = []
    for name, first, second in (("SingleStep", top, order), ("IdealPoint", ours, ours)):
        own: Row = {"estimator": name, "status": ends[first]}
        model: Row = {"estimator": f"{name}{BY_MODEL}"}
        for est, measure in ((first, _tops), (second, _kendall)):
            if ends[est] != NO_OPTIMUM:
                own |= measure(est.distances_, candidates)
                model |= measure(est.model_.distance(candidates.items), candidates)
        if ends[first] != NO_OPTIMUM:
            own["learned"] = learned(first.described()[0], spreads, first is ours)
        if second is not first:
            own["status_kendall"] = ends[second]
        rows += [own, model]
    return rows


def _without_fits(candidates: Candidates, truth: Model, answers: Comparisons) -> list[Row]:
    """What counting gives without any features, and what the features give if M and u are known."""
    winners, losers, _ = answers.oriented()
    won, lost = (np.bincount(side, minlength=len(candidates)) for side in (winners, losers))
    ranked = {
        "comparisons won": (lost - won) / np.maximum(lost + won, 1),
        f"truth{BY_MODEL}": truth.distance(candidates.items),
    }
    return [
        {"estimator": name, **_tops(d, candidates), **_kendall(d, candidates)} for name, d in ranked.items()
    ]


def _tops(distances: FloatArray, candidates: Candidates) -> Row:
    return {f"top{k}": top_k_fraction(distances, candidates.tiers, k) for k in TOP}


def _kendall(distances: FloatArray, candidates: Candidates) -> Row:
    """Of those who really are the top 11."""
    best = np.argsort(candidates.tiers, kind="stable")[: TOP[0]]
    return {f"kendall{TOP[0]}": kendall_tau_distance(distances[best], candidates.tiers[best])}


RANKED = Experiment(
    "ranked",
    "Ranked Candidates (simulated)",
    "88 made-up candidates, the top 11 in order and 8 bins, four features; comparisons drawn at random from "
    "all 2,610, of the same candidates in each trial. Shares of the top K: gamma1 = 3/800, gamma2 = 1/8000, "
    "gamma3 = 5/8e11; Kendall's distance of the top 11: 7/6002, 1/6002, 2/6002e4; alpha = 1. SingleStep "
    "ranks by its program's own distances d, by which the paper's numbers come out; they are free to follow "
    "the answers, whatever the features are, as are IdealPoint's effects of each candidate. So, beside "
    "them: by (M, u) alone, which could rank new candidates; the share of comparisons won, without any "
    "features; and what the true M and u find, the committee having weighed more than the features.",
    20,
    ranked_cells,
    ranked_trial,
    shown.ranked_summary,
    shown.ranked_figures,
    shown.ranked_tables,
)


# GradCafe

FILE = "gradcafe_statistics_phd.csv"
FOLDS = 5
"""Of the comparisons, each held out once."""
LEAST = 60
"""Comparisons that a school must have."""
MOST = 3000
"""Answers that SingleStep is given."""
GRADCAFE_FITS: dict[str, Callable[[], PairEstimator]] = {
    "SingleStep": lambda: SingleStep(**GAMMAS, standardize=True),
    "IdealPoint": lambda: IdealPoint(metric="full", item_effects=False),
    "linear": lambda: IdealPoint(metric="none", item_effects=False),
}


def gradcafe_path() -> Path:
    """In the folder that COOMBS_DATA names, or beside the repository."""
    folder = os.environ.get("COOMBS_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data"
    return Path(folder) / FILE


def gradcafe_needs() -> str | None:
    """What is missing, or None."""
    path = gradcafe_path()
    if path.is_file():
        return None
    return f"There is no file {str(path)!r}; the environment variable COOMBS_DATA may name its folder."


@cache
def _reports(path: Path) -> Admissions:
    return read_gradcafe(path)


def gradcafe_cells(quick: bool) -> list[Cell]:
    """Schools with enough comparisons, most first, and all of them pooled; one fold of each if quick."""
    schools = _reports(gradcafe_path()).clean().by_group()
    sizes = {school: len(some.comparisons()) for school, some in schools.items()}
    enough = sorted((school for school, n in sizes.items() if n >= LEAST), key=lambda school: -sizes[school])
    folds = 1 if quick else FOLDS
    cells = [Cell(POOLED, {"school": POOLED, "folds": folds, "pairs": 1 if quick else 6})]
    for school in enough[: 2 if quick else None]:
        name = re.sub(r"\W+", "-", school.lower()).strip("-")
        cells.append(Cell(f"school-{name}", {"school": school, "folds": folds, "pairs": 0}))
    return cells


def gradcafe_trial(cell: Cell, seed: int, number: int) -> list[Row]:
    """Accuracy on folds of the comparisons; of all schools together, also what is learned from all."""
    applicants = _reports(gradcafe_path())
    candidates, pooled = applicants.clean(), cell["school"] == POOLED
    answers = (candidates if pooled else candidates.by_group()[cell["school"]]).comparisons()
    folds = _folds(answers.pairs, stream(seed, "gradcafe", cell.name, number, "folds"))
    rng = stream(seed, "gradcafe", cell.name, number, "answers")
    rows = [row for fold in range(cell["folds"]) for row in _fold(answers, folds, fold, rng)]
    if pooled:
        rows += _pooled(applicants, cell["pairs"], rng)
    return [{"answers": len(answers)} | row for row in rows]


def _folds(pairs: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """A fold for each answer, the same for all answers about two applicants."""
    _, which = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True)
    which = which.reshape(-1)
    result: NDArray[np.intp] = rng.permutation(which.max() + 1)[which] % FOLDS
    return result


def _fold(answers: Comparisons, folds: NDArray[np.intp], fold: int, rng: np.random.Generator) -> list[Row]:
    """How many of a fold's answers each estimator predicts from the others."""
    rows: list[Row] = []
    held_out = answers[np.flatnonzero(folds == fold)]
    for name, make in GRADCAFE_FITS.items():
        est, known = make(), np.flatnonzero(folds != fold)
        status = attempt(est, answers[_at_most(known, name, rng)])
        row: Row = {"record": "fold", "fold": fold, "estimator": name, "status": status}
        if status != NO_OPTIMUM:
            row |= {"held_out": len(held_out), "accuracy": est.score(held_out)}
        rows.append(row)
    return rows


def _at_most(rows: NDArray[np.intp], name: str, rng: np.random.Generator) -> NDArray[np.intp]:
    """These answers, or as many as SingleStep is given."""
    if name != "SingleStep" or len(rows) <= MOST:
        return rows
    return np.sort(rng.choice(rows, MOST, replace=False))


def _pooled(applicants: Admissions, n_pairs: int, rng: np.random.Generator) -> list[Row]:
    """What is learned from all schools together, from all features and from pairs of them."""
    rows: list[Row] = []
    whole = applicants.clean()
    for features in _feature_sets(_names(whole), n_pairs):
        answers = applicants.clean(features.split(",")).comparisons()
        for name in ("SingleStep", "IdealPoint"):
            some = answers[_at_most(np.arange(len(answers)), name, rng)]
            row = _fit(name, GRADCAFE_FITS[name](), some, answers.items.std(axis=0), True)
            rows.append({"features": features, "overlap": _overlap(whole), **row})
    return rows


GRADCAFE = Experiment(
    "gradcafe",
    "Real applicants (GradCafe)",
    "Applicants for PhDs in statistics who told their GPA, their GRE scores and what became of them: "
    "accepted, wait-listed or rejected. Compared within a school. Accuracy on comparisons that were held "
    "out (5 folds by unordered pair), for schools with 60 comparisons or more and for all of them pooled: "
    "SingleStep with the gammas of Unranked Candidates, standardised, on at most 3,000 answers; IdealPoint "
    "with a full metric; and a linear preference; both without effects of single applicants. The ideal and "
    "the interactions, in units of spreads, are those from all schools together.",
    1,
    gradcafe_cells,
    gradcafe_trial,
    shown.gradcafe_summary,
    shown.gradcafe_figures,
    shown.gradcafe_tables,
    gradcafe_needs,
)
