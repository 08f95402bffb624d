"""What the claims about applicants are judged by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from coombs.datasets import FEATURES, IDEAL, LIMITS
from coombs.paper.judging import Measured, MissingError, NoMetricError, Summary, listed, number
from coombs.paper.learned_metric import (
    MEANINGFUL,
    TOGETHER,
    WORDS,
    Interaction,
    Learned,
    diagonal,
    has_metric,
    interactions,
    outside,
)

VERBAL, QUANTITATIVE, WRITING, GPA, LETTERS = FEATURES
PAPERS_IDEAL = dict(zip(FEATURES, IDEAL, strict=True))
EQUAL = 1.5
"""The ratio of two eigenvalues that are about equal."""
SEVERAL = 3
"""Pairs of features that a claim about many of them needs."""
TINY = 1e-12
"""Keeps a ratio finite."""
TOPS = ("top22", "top17", "top11")
A_FIFTH = 0.2
"""The share of all comparisons below which the paper finds most of the top."""
BESIDE = {
    "SingleStep": "by d",
    "SingleStep, by (M, u)": "by (M, u)",
    "comparisons won": "by counting wins, without features",
}
"""SingleStep and what stands beside it, in words."""


def _metric(part: Learned) -> Learned:
    """The metric, if one was learned at all."""
    if not has_metric(part):
        raise NoMetricError
    return part


def _pairs(summary: Summary, least: int = 1) -> dict[str, Learned]:
    """What was learned from every two features, of those with a metric, and at least so many."""
    found = {pair: part for pair, part in summary["pairs"].items() if has_metric(part)}
    if len(found) < least:
        raise MissingError(f"Too few pairs of features with a metric: {len(found)}, where {least} would do.")
    return found


def _pair(summary: Summary, one: str, other: str) -> Learned:
    """What was learned from these two, with a metric."""
    found: Learned | None = summary["pairs"].get(f"{one},{other}")
    if found is None:
        raise MissingError(f"The run has no pair of {WORDS[one]} and {WORDS[other]}.")
    return _metric(found)


def _words(found: Sequence[Interaction]) -> list[str]:
    return [one.words(MEANINGFUL) for one in found]


def _ratio(found: Sequence[Interaction]) -> float:
    """Of the first two eigenvalues."""
    return found[0].eigenvalue / max(found[1].eigenvalue, TINY)


# What is learned from Unranked Candidates and GradCafe


def overlap(summary: Summary) -> Measured:
    """How often denied applicants score above those with a fellowship."""
    shares = summary["overlap"]
    found = {WORDS[name]: shares[name] for name in (VERBAL, QUANTITATIVE) if name in shares}
    return Measured("Share of pairs in which one denied scores above one of the best category", found)


def importance(summary: Summary) -> Measured:
    """Whether verbal is least on M's diagonal, and quantitative next."""
    order = list(diagonal(_metric(summary)))
    checks = {"verbal last": order[-1] == VERBAL, "quantitative next to last": order[-2] == QUANTITATIVE}
    return Measured("Most important first", checks, [WORDS[name] for name in order])


def _letters_third(found: list[Interaction]) -> dict[str, bool]:
    """Where there are letters."""
    third = found[2]
    if LETTERS not in third.weights:
        return {}
    return {"letters third": not third.arbitrary and third.weights[LETTERS] ** 2 >= TOGETHER}


def first_interactions(summary: Summary) -> Measured:
    """Whether they are two mixtures of GPA and writing, in either order, then letters."""
    found = interactions(_metric(summary))
    mixed = {one.mixes(GPA, WRITING) for one in found[:2]}
    checks = {f"{kind} of GPA and writing": kind in mixed for kind in ("difference", "sum")}
    return Measured("First interactions", checks | _letters_third(found), _words(found[:3]))


def first_two(summary: Summary) -> Measured:
    """The ratio of the first two eigenvalues."""
    found = interactions(_metric(summary))
    return Measured("Ratio of the first two eigenvalues (paper 1.01)", {"": _ratio(found)})


def _difference_then_sum(found: Sequence[Interaction]) -> dict[str, bool]:
    """Whether two interactions are these of the GRE scores."""
    return {
        f"{kind} of the two": one.mixes(VERBAL, QUANTITATIVE) == kind
        for one, kind in zip(found, ("difference", "sum"), strict=True)
    }


def last_interactions(summary: Summary) -> Measured:
    """Whether the difference of quantitative and verbal is next to last, and their sum last."""
    found = interactions(_metric(summary))
    checks = _letters_third(found) | _difference_then_sum(found[-2:])
    return Measured("Last interactions", checks, _words(found[2:]))


def ideal_scores(summary: Summary) -> Measured:
    """How far from the truth where there is one, else from the paper's, in ranges of the features."""
    found, known = summary["ideal"], summary.get("truth", {}).get("ideal")
    aim, goal = ("paper", PAPERS_IDEAL) if known is None else ("truth", known)
    checks = {WORDS[name]: abs(value - goal[name]) / np.ptp(LIMITS[name]) for name, value in found.items()}
    shown = [f"{value:.2f} ({WORDS[name]}; {aim} {goal[name]:.2f})" for name, value in found.items()]
    return Measured("Ideal scores", checks, shown, aim=aim)


def gre_pair(summary: Summary) -> Measured:
    """Whether the two GRE scores alone give a difference, then a sum."""
    found = interactions(_pair(summary, VERBAL, QUANTITATIVE))
    return Measured("Interactions, strongest first", _difference_then_sum(found), _words(found))


def quantitative_to_verbal(summary: Summary) -> Measured:
    """How many times as much a point of quantitative weighs as one of verbal."""
    weights = diagonal(_pair(summary, VERBAL, QUANTITATIVE))
    times = weights[QUANTITATIVE] / max(weights[VERBAL], TINY)
    return Measured("Weight of quantitative in units of that of verbal, in the pair's metric", {"": times})


def share_outside(summary: Summary) -> Measured:
    """The share of pairs whose ideal is outside of the allowed range."""
    found = [bool(outside(part)) for part in _pairs(summary, SEVERAL).values()]
    what = f"Share of {len(found)} pairs of features with an ideal outside of the allowed range"
    return Measured(what, {"": sum(found) / len(found)})


def ideals_outside(summary: Summary) -> Measured:
    """Whether an ideal outside of the range is above it."""
    checks = {
        f"{WORDS[name]} {value:.4g} ({', '.join(map(WORDS.__getitem__, part['ideal']))})": value
        > LIMITS[name][1]
        for part in _pairs(summary).values()
        for name, value in outside(part).items()
    }
    if not checks:
        raise MissingError("No ideal is outside of the allowed range.")
    return Measured("Ideals outside that are above", checks, [f"{sum(checks.values())} of {len(checks)}"])


def ideal_gpa(summary: Summary) -> Measured:
    """In the pair with GRE quantitative."""
    value = _pair(summary, QUANTITATIVE, GPA)["ideal"][GPA]
    return Measured("Ideal GPA (paper: about 35)", {"": value})


def pairs_that_interact(summary: Summary) -> Measured:
    """Whether they are at most half of the pairs, but writing with GPA."""
    pairs = _pairs(summary, SEVERAL)
    mixed = [part for part in pairs.values() if not interactions(part)[0].alone]
    checks = {
        "at most half of the pairs": len(mixed) <= len(pairs) / 2,
        "writing with GPA": not interactions(_pair(summary, WRITING, GPA))[0].alone,
    }
    names = [" with ".join(WORDS[name] for name in part["ideal"]) for part in mixed]
    return Measured(f"Pairs of features that interact, of {len(pairs)}", checks, names or ["none"])


def norm_of_the_table(summary: Summary) -> Measured:
    """The norm of the table's M, in units of the largest that any data can give with its gammas."""
    paper, largest = summary["norm"]["paper"], summary["norm"]["largest"]
    shown = [f"{paper:.0f}", f"and the largest that these gammas allow {largest:.0f}"]
    return Measured("|M| of the table", {"no data give the table": paper / largest}, shown)


def share_right(summary: Summary) -> Measured:
    """Of the answers learned from."""
    return Measured("Share right of the comparisons learned from", {"": float(summary["accuracy"])})


def share_predicted(summary: Summary) -> Measured:
    """Of held-out answers, on average over schools."""
    schools = summary["schools"]
    accuracies = {
        name: [one[name] for one in schools if name in one] for name in ("SingleStep", "IdealPoint", "linear")
    }
    means = {name: float(np.mean(found)) for name, found in accuracies.items() if found}
    what = f"Share right of held-out comparisons, mean of {len(schools)} schools"
    return Measured(what, {"SingleStep": means["SingleStep"]}, listed(means))


# Ranked Candidates


def _ranked(summary: Summary) -> list[Mapping[str, Any]]:
    """SingleStep by the number of comparisons."""
    return [cell for cell in summary["cells"] if cell["estimator"] == "SingleStep"]


def _shares(cell: Mapping[str, Any]) -> dict[str, float]:
    return {f"top {key[3:]}": cell[key]["mean"] for key in TOPS}


def _order(cell: Mapping[str, Any]) -> dict[str, float]:
    return {"": cell["kendall11"]["median"]}


def _beside(
    summary: Summary, answers: int, values: Callable[[Mapping[str, Any]], dict[str, float]]
) -> list[str]:
    """The values of SingleStep, of M and u alone, and of counting without any features."""
    at = {one["estimator"]: one for one in summary["cells"] if one["answers"] == answers}
    return [
        text
        for estimator, words in BESIDE.items()
        if estimator in at
        for text in listed(
            {f"{name} {words}".strip(): value for name, value in values(at[estimator]).items()}
        )
    ]


def missing_of_the_top(summary: Summary) -> Measured:
    """By a fifth of the comparisons, beyond half of what was missing at first."""
    first, *_, then = (cell for cell in _ranked(summary) if cell["share"] < A_FIFTH)
    missing = {name: (1 - a, 1 - _shares(then)[name]) for name, a in _shares(first).items()}
    checks = {name: b - a / 2 for name, (a, b) in missing.items()}
    shown = [f"{number(a)} to {number(b)} ({name})" for name, (a, b) in missing.items()]
    return Measured(f"Missing from {first['answers']} to {then['answers']} comparisons", checks, shown)


def top_with_a_fifth(summary: Summary) -> Measured:
    """Shares of the top found with less than a fifth of the comparisons."""
    cell = [one for one in _ranked(summary) if one["share"] < A_FIFTH][-1]
    what = f"Shares found with {cell['answers']} comparisons ({100 * cell['share']:.0f} %)"
    return Measured(what, _shares(cell), _beside(summary, cell["answers"], _shares))


def order_of_the_top(summary: Summary) -> Measured:
    """Kendall's distance of the top 11 at the most comparisons."""
    last = _ranked(summary)[-1]
    what = f"Median Kendall distance of the top 11 with {last['answers']} comparisons"
    return Measured(what, _order(last), _beside(summary, last["answers"], _order))


def lone_features(summary: Summary) -> Measured:
    """Whether every interaction is a feature alone."""
    found = interactions(_metric(summary["all"]))
    checks = {f"{k}. {one.words(MEANINGFUL)}": one.alone for k, one in enumerate(found, 1)}
    return Measured(f"Interactions from {summary['n_comparisons']} comparisons", checks, _words(found))


def leading_features(summary: Summary) -> Measured:
    """Whether the four features are in the paper's order, the first two nearly equal."""
    order = list(diagonal(_metric(summary["all"])))
    parts = {"ratio of the first two eigenvalues": summary["all"], "true ratio": summary.get("truth")}
    ratios = {name: _ratio(interactions(part)) for name, part in parts.items() if part}
    checks = {
        "GPA and writing first": set(order[:2]) == {GPA, WRITING},
        "quantitative third": order[2:3] == [QUANTITATIVE],
        "verbal last": order[-1:] == [VERBAL],
        "equal eigenvalues": ratios["ratio of the first two eigenvalues"] <= EQUAL,
    }
    return Measured("Most important first", checks, [*(WORDS[name] for name in order), *listed(ratios)])
