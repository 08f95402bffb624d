"""What the claims about applicants are judged by: Unranked, Ranked and GradCafe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from coombs.datasets import FEATURES, IDEAL, LIMITS
from coombs.paper.judging import Measured, MissingError, NoMetricError, Summary, three_decimals
from coombs.words import in_words

Weights: TypeAlias = dict[str, float]

NAMES = dict(zip(FEATURES, ("verbal", "quantitative", "writing", "GPA", "letters"), strict=True))
RANGES = {NAMES[name]: ends for name, ends in LIMITS.items()}
PAPERS_IDEAL = dict(zip(NAMES.values(), IDEAL, strict=True))
MEANINGFUL = 0.3
"""The second weight of an interaction; the paper's table prints one of 0.31 and none below."""
TOGETHER = 0.8
"""The share of an interaction's squared weights that its named features must have."""
NO_METRIC = 1e-9
"""An M with no larger eigenvalue is 0 up to rounding."""
NO_WEIGHT = 1e-6
"""An eigenvalue below this share of the largest is 0 up to rounding."""
EQUAL = 1.5
"""The ratio of two eigenvalues that are about equal."""
SEVERAL = 3
"""Pairs of features that a claim about many of them needs."""
TINY = 1e-12
"""Keeps a ratio finite."""
TOPS = ("top22", "top17", "top11")
A_FIFTH = 0.2
"""The share of all comparisons below which the paper finds most of the top."""
BESIDE = {"SingleStep, by (M, u)": "By (M, u), not by d", "comparisons won": "Counting wins, no features"}
"""Other estimators of a summary, in words."""


class Interaction(NamedTuple):
    """An eigenvalue of the metric with the weights of its eigenvector, of length one."""

    eigenvalue: float
    weights: Weights
    arbitrary: bool
    """Whether its eigenvalue is 0, and another one too."""

    @property
    def words(self) -> str:
        """As "0.91 writing - 0.39 GPA"."""
        if self.arbitrary:
            return "none (eigenvalue 0)"
        return in_words(np.array(list(self.weights.values())), list(self.weights), MEANINGFUL)

    @property
    def alone(self) -> bool:
        """Whether one feature has all of the meaning."""
        return self.arbitrary or sorted(map(abs, self.weights.values()))[-2] < MEANINGFUL

    def mixes(self, one: str, other: str) -> str:
        """The "sum" or the "difference" of two features, or "" if it is neither."""
        a, b = self.weights[one], self.weights[other]
        if self.arbitrary or a**2 + b**2 < TOGETHER or min(abs(a), abs(b)) < MEANINGFUL:
            return ""
        return "sum" if a * b > 0 else "difference"


def named(values: Mapping[str, float]) -> Weights:
    """The same under the paper's names."""
    return {NAMES[key]: value for key, value in values.items()}


def interactions(part: Mapping[str, Any]) -> list[Interaction]:
    """Largest first."""
    found = part["interactions"]
    largest = found[0]["eigenvalue"]
    if largest < NO_METRIC:
        raise NoMetricError
    zero = [one["eigenvalue"] < NO_WEIGHT * largest for one in found]
    return [
        Interaction(one["eigenvalue"], named(one["loadings"]), is_zero and sum(zero) > 1)
        for one, is_zero in zip(found, zero, strict=True)
    ]


def diagonal(part: Mapping[str, Any]) -> Weights:
    """M's diagonal, the weight of each feature by itself, largest first."""
    found = interactions(part)
    parts = {name: sum(one.eigenvalue * one.weights[name] ** 2 for one in found) for name in found[0].weights}
    return dict(sorted(parts.items(), key=lambda pair: -pair[1]))


def _by_names(summary: Summary) -> dict[frozenset[str], Mapping[str, Any]]:
    """What was learned from every two features."""
    return {frozenset(NAMES[name] for name in key.split(",")): part for key, part in summary["pairs"].items()}


def _pairs(summary: Summary, least: int = 1) -> dict[frozenset[str], Mapping[str, Any]]:
    """Those with a metric, and at least so many."""
    every = _by_names(summary).items()
    found = {pair: part for pair, part in every if part["interactions"][0]["eigenvalue"] >= NO_METRIC}
    if len(found) < least:
        raise MissingError(f"Too few pairs of features with a metric: {len(found)}, where {least} would do.")
    return found


def _pair(summary: Summary, one: str, other: str) -> Mapping[str, Any]:
    found = _by_names(summary).get(frozenset((one, other)))
    if found is None:
        raise MissingError(f"The run has no pair of {one} and {other}.")
    return found


def _ratio(first: float, second: float) -> str:
    """With two decimals."""
    return f"{first / second:.2f}" if first < 1000 * second else "over 1000"


# What is learned from Unranked Candidates and GradCafe


def overlap(summary: Summary) -> Measured:
    """How often denied applicants score above those with a fellowship."""
    found = named(summary["overlap"])
    shares = {name: found[name] for name in ("verbal", "quantitative") if name in found}
    texts = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
    text = f"Pairs of an applicant of the best category and one denied who scores higher: {texts}."
    return Measured(list(shares.items()), text)


def importance(summary: Summary) -> Measured:
    """Whether verbal is least on M's diagonal, and quantitative next."""
    order = list(diagonal(summary))
    checks = [
        ("verbal last", order[-1] == "verbal"),
        ("quantitative next to last", order[-2] == "quantitative"),
    ]
    return Measured(checks, f"Most important first: {', '.join(order)}.")


def _letters_third(found: list[Interaction]) -> list[tuple[str, float]]:
    """Where there are letters."""
    third = found[2]
    if "letters" not in third.weights:
        return []
    return [("letters third", not third.arbitrary and third.weights["letters"] ** 2 >= TOGETHER)]


def first_interactions(summary: Summary) -> Measured:
    """Whether they are two mixtures of GPA and writing, in either order, then letters."""
    found = interactions(summary)
    mixed = {one.mixes("GPA", "writing") for one in found[:2]}
    checks = [(f"{kind} of GPA and writing", kind in mixed) for kind in ("difference", "sum")]
    text = f"First: {'; '.join(one.words for one in found[:3])}."
    return Measured(checks + _letters_third(found), text)


def first_two(summary: Summary) -> Measured:
    """The ratio of the first two eigenvalues."""
    first, second = (one.eigenvalue for one in interactions(summary)[:2])
    text = f"Eigenvalues {first:.4g} and {second:.4g}: a ratio of {_ratio(first, second)} (paper 1.01)."
    return Measured([("", first / max(second, TINY))], text)


def last_interactions(summary: Summary) -> Measured:
    """Whether the difference of quantitative and verbal is next to last, and their sum last."""
    found = interactions(summary)
    checks = _letters_third(found)
    for place, kind in ((-2, "difference"), (-1, "sum")):
        checks.append((f"{kind} of the two", found[place].mixes("quantitative", "verbal") == kind))
    return Measured(checks, f"Last: {'; '.join(one.words for one in found[2:])}.")


def ideal_scores(summary: Summary) -> Measured:
    """How far from the truth where there is one, else from the paper's, in ranges of the features."""
    found = named(summary["ideal"])
    known = summary.get("truth", {}).get("ideal")
    aim, goal = ("paper", PAPERS_IDEAL) if known is None else ("truth", named(known))
    checks = [(name, abs(value - goal[name]) / np.ptp(RANGES[name])) for name, value in found.items()]
    texts = [f"{name} {value:.2f} ({aim} {goal[name]:.2f})" for name, value in found.items()]
    return Measured(checks, f"{', '.join(texts)}.", aim=aim)


def gre_pair(summary: Summary) -> Measured:
    """Whether the two GRE scores alone give a difference, then a sum."""
    found = interactions(_pair(summary, "verbal", "quantitative"))
    checks = [
        (f"{kind} {place}", one.mixes("verbal", "quantitative") == kind)
        for one, kind, place in zip(found, ("difference", "sum"), ("first", "second"), strict=True)
    ]
    return Measured(checks, f"{'; then '.join(one.words for one in found)}.")


def quantitative_to_verbal(summary: Summary) -> Measured:
    """How many times as much a point of quantitative weighs as one of verbal."""
    weights = diagonal(_pair(summary, "verbal", "quantitative"))
    times = _ratio(weights["quantitative"], weights["verbal"])
    text = f"In the pair's metric, quantitative has {times} times the weight of verbal."
    return Measured([("", weights["quantitative"] / max(weights["verbal"], TINY))], text)


def share_outside(summary: Summary) -> Measured:
    """The share of pairs whose ideal is outside of the allowed range."""
    outside = [not part["inside"] for part in _pairs(summary, SEVERAL).values()]
    text = f"{sum(outside)} of {len(outside)} pairs have an ideal outside of the allowed range."
    return Measured([("", sum(outside) / len(outside))], text)


def ideals_outside(summary: Summary) -> Measured:
    """Whether an ideal outside of the range is above it."""
    checks = []
    for pair, part in _pairs(summary).items():
        for name, value in named(part["ideal"]).items():
            low, high = RANGES[name]
            if not low <= value <= high:
                checks.append((f"{name} {value:.4g} with {' '.join(pair - {name})}", value > high))
    if not checks:
        raise MissingError("No ideal is outside of the allowed range.")
    return Measured(checks, f"{sum(above for _, above in checks)} of {len(checks)} ideals outside are above.")


def ideal_gpa(summary: Summary) -> Measured:
    """In the pair with GRE quantitative."""
    pair = _pair(summary, "quantitative", "GPA")
    interactions(pair)  # without a metric the ideal is a mere mean
    value = named(pair["ideal"])["GPA"]
    return Measured([("", value)], f"An ideal GPA of {value:.2f} (paper: about 35).")


def pairs_that_interact(summary: Summary) -> Measured:
    """Whether they are at most half of the pairs, but writing with GPA."""
    mixed = {pair: not interactions(part)[0].alone for pair, part in _pairs(summary, SEVERAL).items()}
    names = [" with ".join(sorted(pair)) for pair, is_so in mixed.items() if is_so]
    checks = [
        ("at most half of the pairs", len(names) <= len(mixed) / 2),
        ("writing with GPA", not interactions(_pair(summary, "writing", "GPA"))[0].alone),
    ]
    return Measured(checks, f"{len(names)} of {len(mixed)} pairs interact: {', '.join(names) or 'none'}.")


def norm_of_the_table(summary: Summary) -> Measured:
    """The norm of the table's M, in units of the largest that any data can give with its gammas."""
    paper, largest = summary["norm"]["paper"], summary["norm"]["largest"]
    text = f"|M| of the table: {paper:.0f}; the largest that these gammas allow: {largest:.0f}."
    return Measured([("no data give the table", paper / largest)], text)


def share_right(summary: Summary) -> Measured:
    """Of the answers learned from."""
    value = float(summary["accuracy"])
    return Measured([("", value)], f"Share right of what it learned from: {three_decimals(value)}.")


def share_predicted(summary: Summary) -> Measured:
    """Of held-out answers, on average over schools."""
    schools = summary["schools"]
    accuracies = {
        name: [one[name] for one in schools if name in one] for name in ("SingleStep", "IdealPoint", "linear")
    }
    means = {name: float(np.mean(found)) for name, found in accuracies.items() if found}
    texts = ", ".join(f"{name} {three_decimals(mean)}" for name, mean in means.items())
    text = f"Share right of held-out comparisons, mean of {len(schools)} schools: {texts}."
    return Measured([("", means["SingleStep"])], text)


# Ranked Candidates


def _ranked(summary: Summary) -> list[Mapping[str, Any]]:
    """SingleStep by the number of comparisons."""
    return [cell for cell in summary["cells"] if cell["estimator"] == "SingleStep"]


def _shares(cell: Mapping[str, Any]) -> str:
    return ", ".join(f"top {key[3:]} {three_decimals(cell[key]['mean'])}" for key in TOPS)


def _order(cell: Mapping[str, Any]) -> str:
    return three_decimals(cell["kendall11"]["median"])


def _beside(summary: Summary, answers: int, show: Callable[[Mapping[str, Any]], str]) -> str:
    """The same of M and u alone, and of counting without any features."""
    at = {one["estimator"]: one for one in summary["cells"] if one["answers"] == answers}
    return "".join(f" {words}: {show(at[name])}." for name, words in BESIDE.items() if name in at)


def missing_of_the_top(summary: Summary) -> Measured:
    """By a fifth of the comparisons, beyond half of what was missing at first."""
    first, *_, then = (cell for cell in _ranked(summary) if cell["share"] < A_FIFTH)
    missing = {key: [1 - cell[key]["mean"] for cell in (first, then)] for key in TOPS}
    checks = [(f"top {key[3:]}", b - a / 2) for key, (a, b) in missing.items()]
    return Measured(
        checks, f"At {first['answers']}: {_shares(first)}; at {then['answers']}: {_shares(then)}."
    )


def top_with_a_fifth(summary: Summary) -> Measured:
    """Shares of the top found with less than a fifth of the comparisons."""
    cell = [one for one in _ranked(summary) if one["share"] < A_FIFTH][-1]
    text = f"With {cell['answers']} comparisons ({100 * cell['share']:.0f} %): {_shares(cell)}."
    checks = [(f"top {key[3:]}", cell[key]["mean"]) for key in TOPS]
    return Measured(checks, text + _beside(summary, cell["answers"], _shares))


def order_of_the_top(summary: Summary) -> Measured:
    """Kendall's distance of the top 11 at the most comparisons."""
    first, *_, last = _ranked(summary)
    ends = ", ".join(f"{_order(cell)} at {cell['answers']}" for cell in (first, last))
    text = f"Median Kendall distance of the top 11: {ends}.{_beside(summary, last['answers'], _order)}"
    return Measured([("", last["kendall11"]["median"])], text)


def lone_features(summary: Summary) -> Measured:
    """Whether every interaction is a feature alone."""
    found = interactions(summary["all"])
    text = f"From {summary['n_comparisons']} comparisons: {'; '.join(one.words for one in found)}."
    return Measured([(one.words, one.alone) for one in found], text)


def leading_features(summary: Summary) -> Measured:
    """Whether the four features are in the paper's order, the first two nearly equal."""
    order = [NAMES[name] for name in summary["all"]["order"]]
    first, second = (one.eigenvalue for one in interactions(summary["all"])[:2])
    known = [one["eigenvalue"] for one in summary.get("truth", {}).get("interactions", ())][:2]
    truth = f" (truth {_ratio(*known)})" if known else ""
    ratio = f"first two eigenvalues in a ratio of {_ratio(first, second)}{truth}"
    checks = [
        ("GPA and writing first", set(order[:2]) == {"GPA", "writing"}),
        ("quantitative third", order[2:3] == ["quantitative"]),
        ("verbal last", order[-1:] == ["verbal"]),
        ("equal eigenvalues", first <= EQUAL * second),
    ]
    return Measured(checks, f"Most important first: {', '.join(order)}; {ratio}.")
