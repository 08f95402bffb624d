"""Rules for the claims about applicants: what was learned from Unranked, Ranked and GradCafe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from coombs.paper.judging import Check, MissingError, Outcome, Summary, Verdict, cells_of, number, weigh
from coombs.plots.labels import in_words

Weights: TypeAlias = dict[str, float]

KINDS = {
    "verbal": ("verbal",),
    "quantitative": ("quant",),
    "writing": ("writ",),
    "GPA": ("gpa",),
    "letters": ("letter", "lor"),
}
"""The paper's features, and what their names hold, one or another, in the data."""
RANGES = {
    "verbal": (130.0, 170.0),
    "quantitative": (130.0, 170.0),
    "writing": (0.0, 6.0),
    "GPA": (0.0, 4.0),
    "letters": (1.0, float(np.exp(3))),
}
PAPERS_IDEAL = {"verbal": 158.08, "quantitative": 162.50, "writing": 4.68, "GPA": 4.06, "letters": 15.28}
MEANINGFUL = 0.3
"""The second weight of an interaction; the paper's table prints one of 0.31 and none below."""
TOGETHER = 0.8
"""The share of an interaction's squared weights that its named features must have."""
WHY = {
    "simulated": "The paper's applicants are private. These are simulated from a known truth, so they show what the "
    "method finds, not what is so of theirs.",
    "GradCafe": "The paper's applicants are private. These are others, who told their scores themselves.",
}


class Interaction(NamedTuple):
    """An eigenvalue of the metric with the weights of its eigenvector, of length one."""

    eigenvalue: float
    weights: Weights

    @property
    def words(self) -> str:
        """As "0.91 writing - 0.39 GPA"."""
        return in_words(np.array(list(self.weights.values())), list(self.weights), MEANINGFUL)

    @property
    def alone(self) -> bool:
        """Whether one feature has all of the meaning."""
        return sorted(abs(value) for value in self.weights.values())[-2] < MEANINGFUL

    def mixes(self, one: str, other: str) -> str:
        """The "sum" or the "difference" of two features, or "" if it is neither."""
        a, b = self.weights[one], self.weights[other]
        if a**2 + b**2 < TOGETHER or min(abs(a), abs(b)) < MEANINGFUL:
            return ""
        return "sum" if a * b > 0 else "difference"


def elsewhere(rule: Callable[[Summary], Verdict], summary: Summary) -> Verdict:
    """A verdict from other applicants than the paper's: at best it holds in part."""
    found = rule(summary)
    why = WHY.get(summary.get("data", "simulated"))
    if why is None:
        return found
    outcome = Outcome.PART if found.outcome is Outcome.HOLDS else found.outcome
    return found._replace(outcome=outcome, reason=f"{found.reason} {why}")


def kind_of(name: str) -> str:
    """Which of the paper's five features it is."""
    for kind, parts in KINDS.items():
        if any(part in name.lower() for part in parts):
            return kind
    raise MissingError(f"{name!r} is none of the paper's features.")


def _kinds(values: Mapping[str, float]) -> Weights:
    return {kind_of(name): float(value) for name, value in values.items()}


def _interactions(part: Mapping[str, Any], least: int = 2) -> list[Interaction]:
    """Largest first, and at least so many."""
    found = []
    for one in part["interactions"]:
        weights = _kinds(one["loadings"])
        length = max(float(np.linalg.norm(list(weights.values()))), 1e-12)
        found.append(Interaction(one["eigenvalue"], {k: value / length for k, value in weights.items()}))
    if len(found) < least or len(found[0].weights) < 2:
        raise MissingError(f"The summary has no {least} interactions of two features or more.")
    return sorted(found, key=lambda one: -one.eigenvalue)


def _diagonal(part: Mapping[str, Any]) -> Weights:
    """M's diagonal, the weight of each feature by itself, largest first."""
    found = _interactions(part)
    parts = {kind: sum(one.eigenvalue * one.weights[kind] ** 2 for one in found) for kind in found[0].weights}
    return dict(sorted(parts.items(), key=lambda pair: -pair[1]))


def _pairs(summary: Summary) -> dict[frozenset[str], Mapping[str, Any]]:
    found = {frozenset(map(kind_of, key.split(","))): part for key, part in summary["pairs"].items()}
    if not found:
        raise MissingError("The summary has no pairs of features.")
    return found


def _pair(summary: Summary, one: str, other: str) -> Mapping[str, Any]:
    found = _pairs(summary).get(frozenset((one, other)))
    if found is None:
        raise MissingError(f"The summary has no pair of {one} and {other}.")
    return found


def order_of_importance(summary: Summary) -> Verdict:
    """Verbal least, quantitative before it, the others above."""
    order = list(_diagonal(summary))
    checks = [
        ("verbal last", order[-1] == "verbal"),
        ("quantitative next to last", order[-2] == "quantitative"),
    ]
    rule = "Importance: the diagonal of M. Verbal last, quantitative next to last."
    return weigh(checks, f"Most important first: {', '.join(order)}.", rule)


def gpa_and_writing_first(summary: Summary) -> Verdict:
    """Two mixtures of GPA and writing, in either order, then letters."""
    found = _interactions(summary, 4)
    mixed = {one.mixes("GPA", "writing") for one in found[:2]}
    checks = [(f"{kind} of GPA and writing", kind in mixed) for kind in ("difference", "sum")]
    if "letters" in found[0].weights:
        checks.append(("letters third", _mostly(found[2], "letters")))
    measured = f"First: {'; '.join(one.words for one in found[:3])}."
    rule = (
        "A mixture: both weights at least 0.3, together 0.8 of all squared weights. Its place among the first two is "
        "free, as the paper has nearly equal eigenvalues."
    )
    return weigh(checks, measured, rule)


def _mostly(one: Interaction, kind: str) -> bool:
    return one.weights[kind] ** 2 >= TOGETHER


def first_two_equal(summary: Summary) -> Verdict:
    """Eigenvalues within a fifth of each other."""
    first, second = _interactions(summary)[:2]
    ratio = first.eigenvalue / max(second.eigenvalue, 1e-12)
    measured = f"Eigenvalues {first.eigenvalue:.4g} and {second.eigenvalue:.4g}, a ratio of {ratio:.2f} (paper: 1.01)."
    checks = [("a ratio of at most 1.2", ratio <= 1.2), ("a ratio of at most 1.5", ratio <= 1.5)]
    return weigh(checks, measured, "Almost equal: a ratio of at most 1.2; in part up to 1.5.")


def gre_last(summary: Summary) -> Verdict:
    """The difference of quantitative and verbal next to last, their sum last."""
    found = _interactions(summary, 4)
    checks: list[Check] = []
    if "letters" in found[0].weights:
        checks.append(("letters third", _mostly(found[2], "letters")))
    for place, kind in ((-2, "difference"), (-1, "sum")):
        checks.append((f"{kind} of the two", found[place].mixes("quantitative", "verbal") == kind))
    measured = f"Last: {'; '.join(one.words for one in found[2:])}."
    rule = "A mixture: both weights at least 0.3, together 0.8 of all squared weights."
    return weigh(checks, measured, rule)


def ideal_scores(summary: Summary) -> Verdict:
    """Near the truth where there is one, else near the paper's."""
    found = _kinds(summary["ideal"])
    known = summary.get("truth", {}).get("ideal")
    aim = PAPERS_IDEAL if known is None else _kinds(known)
    checks = [(kind, abs(value - aim[kind]) <= 0.1 * np.ptp(RANGES[kind])) for kind, value in found.items()]
    texts = [
        f"{kind} {value:.2f} ({'' if known is None else f'truth {aim[kind]:.2f}, '}paper {PAPERS_IDEAL[kind]:.2f})"
        for kind, value in found.items()
    ]
    rule = f"Near {'the paper' if known is None else 'the truth'}: within a tenth of the feature's range."
    return weigh(checks, f"{', '.join(texts)}.", rule)


def gre_difference_then_sum(summary: Summary) -> Verdict:
    """Of the two GRE scores alone."""
    found = _interactions(_pair(summary, "verbal", "quantitative"))
    checks = [
        (f"{kind} {place}", one.mixes("verbal", "quantitative") == kind)
        for one, (kind, place) in zip(found, (("difference", "first"), ("sum", "second")), strict=False)
    ]
    return weigh(
        checks, f"{'; then '.join(one.words for one in found)}.", "A mixture: both weights at least 0.3."
    )


def quantitative_outweighs_verbal(summary: Summary) -> Verdict:
    """A point less of quantitative costs more than a point of verbal makes up."""
    weights = _diagonal(_pair(summary, "verbal", "quantitative"))
    ratio = weights["quantitative"] / max(weights["verbal"], 1e-12)
    checks = [("at least 2 times", ratio >= 2), ("at least 1.2 times", ratio >= 1.2)]
    measured = f"In the pair's metric, quantitative has {ratio:.2f} times the weight of verbal."
    return weigh(
        checks, measured, "Significantly: twice the weight on M's diagonal or more; in part from 1.2 times."
    )


def many_pairs_outside(summary: Summary) -> Verdict:
    """Of the pairs, at least a third."""
    outside = [pair for pair, part in _pairs(summary).items() if not part["inside"]]
    share = len(outside) / len(_pairs(summary))
    checks = [("a third of the pairs", share >= 1 / 3), ("any", share > 0)]
    measured = f"{len(outside)} of {len(_pairs(summary))} pairs have an ideal outside of the allowed range."
    return weigh(checks, measured, "Many: at least a third of the pairs; in part if any.")


def outside_means_more(summary: Summary) -> Verdict:
    """Where an ideal is outside, it is above."""
    checks: list[Check] = []
    for pair, part in _pairs(summary).items():
        for kind, value in _kinds(part["ideal"]).items():
            low, high = RANGES[kind]
            if not low <= value <= high:
                checks.append((f"{kind} {value:.4g} with {' '.join(pair - {kind})}", value > high))
    if not checks:
        raise MissingError("No ideal is outside of the allowed range.")
    above = sum(passed for _, passed in checks)
    return weigh(
        checks,
        f"{above} of {len(checks)} ideals outside are above.",
        "More is better: above the largest value.",
    )


def gpa_beyond_four(summary: Summary) -> Verdict:
    """In the pair with GRE quantitative."""
    value = _kinds(_pair(summary, "quantitative", "GPA")["ideal"])["GPA"]
    return weigh(
        [("above 8", value > 8), ("above 4", value > 4)],
        f"An ideal GPA of {value:.2f} (paper: about 35).",
        "Far beyond: over 8, twice the best; in part over 4.",
    )


def few_pairs_interact(summary: Summary) -> Verdict:
    """At most half of the pairs, but writing with GPA."""
    mixed = {pair: not _interactions(part)[0].alone for pair, part in _pairs(summary).items()}
    names = [" with ".join(sorted(pair)) for pair, is_so in mixed.items() if is_so]
    checks = [
        ("at most half of the pairs", len(names) <= len(mixed) / 2),
        ("writing with GPA", mixed.get(frozenset(("writing", "GPA")), False)),
    ]
    rule = "Meaningful: a second weight of 0.3 or more. Many have none: at least half of the pairs."
    return weigh(checks, f"{len(names)} of {len(mixed)} pairs interact: {', '.join(names) or 'none'}.", rule)


def scores_overlap(summary: Summary) -> Verdict:
    """Denied applicants often score above those with a fellowship."""
    shares = {
        kind: value
        for kind, value in _kinds(summary["overlap"]).items()
        if kind in ("verbal", "quantitative")
    }
    checks = [(kind, value >= 0.2) for kind, value in shares.items()]
    texts = ", ".join(f"{kind} {100 * value:.0f} %" for kind, value in shares.items())
    measured = f"Pairs of a fellow and a denied applicant in which the denied scores higher: {texts}."
    return weigh(checks, measured, "Large: a fifth of the pairs or more.")


def ranks_well(summary: Summary) -> Verdict:
    """The share of comparisons that come out right."""
    schools = [one["SingleStep"] for one in summary.get("schools", ())]
    value = float(np.mean(schools)) if schools else float(summary["accuracy"])
    source = f", mean of {len(schools)} schools" if schools else ""
    checks = [("at least 0.8", value >= 0.8), ("at least 0.6", value >= 0.6)]
    rule = "Correctly: 0.8 or more; in part from 0.6. Guessing gives 0.5."
    return weigh(checks, f"Share of comparisons right: {number(value)}{source}.", rule)


# Ranked candidates.

TOPS = {"top22": 0.9, "top17": 0.9, "top11": 0.8}


def _ranked(summary: Summary) -> list[Mapping[str, Any]]:
    """SingleStep by the number of comparisons."""
    found = [cell for cell in cells_of(summary) if cell["estimator"] == "SingleStep"]
    if not found:
        raise MissingError("The summary has no SingleStep.")
    return sorted(found, key=lambda cell: int(cell["answers"]))


def _below_a_fifth(cells: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    found = [cell for cell in cells if cell["share"] < 0.2]
    if not found:
        raise MissingError("The run has no number of comparisons below 20 % of all.")
    return found[-1]


def _shares(cell: Mapping[str, Any]) -> str:
    return ", ".join(f"top {key[3:]} {number(cell[key]['mean'])}" for key in TOPS)


def top_rises(summary: Summary) -> Verdict:
    """By a fifth of the comparisons half of what was missing at first is found."""
    cells = _ranked(summary)
    first, then = cells[0], _below_a_fifth(cells)
    if first is then:
        raise MissingError("The run has fewer than two numbers of comparisons below 20 % of all.")
    checks = [(f"top {key[3:]}", 1 - then[key]["mean"] <= 0.5 * (1 - first[key]["mean"])) for key in TOPS]
    measured = f"At {first['answers']}: {_shares(first)}; at {then['answers']}: {_shares(then)}."
    return weigh(
        checks, measured, "Rapidly: below 20 % of all comparisons half of what was missing at first is found."
    )


def top_with_a_fifth(summary: Summary) -> Verdict:
    """Over 0.9 of the top 22 and 17 and over 0.8 of the top 11."""
    cell = _below_a_fifth(_ranked(summary))
    checks = [(f"top {key[3:]}", cell[key]["mean"] > least) for key, least in TOPS.items()]
    measured = f"With {cell['answers']} comparisons ({100 * cell['share']:.0f} %): {_shares(cell)}."
    return weigh(
        checks, measured, "Over 0.9 of the top 22 and 17, over 0.8 of the top 11 (means), below 20 % of all."
    )


def top_eleven_in_order(summary: Summary) -> Verdict:
    """Kendall's distance of the top 11 at the most comparisons."""
    cells = _ranked(summary)
    first, last = (cells[k]["kendall11"]["median"] for k in (0, -1))
    checks = [("at most 0.05", last <= 0.05), ("at most 0.15", last <= 0.15)]
    measured = f"Median Kendall distance of the top 11: {number(first)} at {cells[0]['answers']}, "
    measured += f"{number(last)} at {cells[-1]['answers']}."
    rule = "Extremely accurate: 0.05 or less, by the real Kendall distance; in part up to 0.15."
    return weigh(checks, measured, rule)


def no_interactions(summary: Summary) -> Verdict:
    """Every interaction is a feature alone."""
    found = _interactions(summary["all"])
    checks = [(one.words, one.alone) for one in found]
    measured = f"From {summary['n_comparisons']} comparisons: {'; '.join(one.words for one in found)}."
    return weigh(checks, measured, "Meaningful: a second weight of 0.3 or more.")


def gpa_and_writing_lead(summary: Summary) -> Verdict:
    """The order of the four features, the first two nearly equal."""
    order = [kind_of(name) for name in summary["all"]["order"]]
    first, second = _interactions(summary["all"], 4)[:2]
    ratio = first.eigenvalue / max(second.eigenvalue, 1e-12)
    checks = [
        ("GPA and writing first", set(order[:2]) == {"GPA", "writing"}),
        ("quantitative third", order[2:3] == ["quantitative"]),
        ("verbal last", order[-1:] == ["verbal"]),
        ("equal eigenvalues", ratio <= 1.5),
    ]
    measured = f"Most important first: {', '.join(order)}; first two eigenvalues in a ratio of {ratio:.2f}."
    return weigh(checks, measured, "Roughly equal: a ratio of at most 1.5.")
