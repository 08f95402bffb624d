"""Rules for the claims about applicants: what was learned from Unranked, Ranked and GradCafe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from coombs.datasets import IDEAL, LIMITS
from coombs.paper.interactions import (
    KINDS,
    NO_METRIC,
    NoMetricError,
    by_kind,
    diagonal,
    interactions,
    kind_of,
)
from coombs.paper.judging import (
    Check,
    MissingError,
    Outcome,
    Summary,
    Verdict,
    cells_of,
    grade,
    number,
    weigh,
)

RANGES = dict(zip(KINDS, LIMITS.values(), strict=True))
PAPERS_IDEAL = dict(zip(RANGES, IDEAL, strict=True))
SEVERAL = 3
"""Pairs of features that a claim about many of them needs."""
CORRECTLY = "Correctly: 0.8 or more; in part from 0.6. Guessing gives 0.5."
VIEWS = {"standardized": "with standardised features", "IdealPoint": "by IdealPoint"}
"""What others than SingleStep as it is learned, under these keys of a summary."""
WHY = {
    "simulated": "On simulated applicants: the paper's are private.",
    "GradCafe": "On other applicants: the paper's are private.",
}


def elsewhere(rule: Callable[[Summary], Verdict], summary: Summary) -> Verdict:
    """A verdict from other applicants than the paper's: at best it holds in part."""
    key = _fair_view(rule, summary)
    found = _judged(rule, summary if key is None else summary[key])
    others = {name: _outcome(rule, summary.get(one)) for one, name in VIEWS.items() if one != key}
    told = [f"{name} it {outcome}" for name, outcome in others.items() if outcome is not Outcome.NOT_RUN]
    reason = [found.reason]
    if key is not None:
        reason.append(f"Judged {VIEWS[key]}: in their own units not even the truth has it.")
    if told:
        reason.append(f"Beside it: {', '.join(told)}.")
    why = WHY.get(summary.get("data", "simulated"))
    if why is None:
        return found._replace(reason=" ".join(reason))
    outcome = Outcome.PART if found.outcome is Outcome.HOLDS else found.outcome
    return found._replace(outcome=outcome, reason=" ".join([*reason, why]))


def _fair_view(rule: Callable[[Summary], Verdict], summary: Summary) -> str | None:
    """The standardised view, if the truth has what is claimed in units of spreads only."""
    key = "standardized"
    own, spreads = (_outcome(rule, view.get("truth")) for view in (summary, summary.get(key, {})))
    return key if spreads is Outcome.HOLDS and own in (Outcome.PART, Outcome.NOT) else None


def _judged(rule: Callable[[Summary], Verdict], view: Summary) -> Verdict:
    try:
        return rule(view)
    except NoMetricError:
        return Verdict(Outcome.NOT, "M = 0 is the optimum: no metric is learned.", "Not without a metric.")


def _outcome(rule: Callable[[Summary], Verdict], view: Summary | None) -> Outcome:
    try:
        return _judged(rule, view or {}).outcome
    except LookupError:
        return Outcome.NOT_RUN


def _pairs(summary: Summary, least: int = 1) -> dict[frozenset[str], Mapping[str, Any]]:
    """Those with a metric, and at least so many."""
    found = {}
    for key, part in summary["pairs"].items():
        if max((one["eigenvalue"] for one in part["interactions"]), default=0.0) >= NO_METRIC:
            found[frozenset(map(kind_of, key.split(",")))] = part
    if len(found) < least:
        raise MissingError(f"Too few pairs of features with a metric: {len(found)}, where {least} would do.")
    return found


def _pair(summary: Summary, one: str, other: str) -> Mapping[str, Any]:
    for key, part in summary["pairs"].items():
        if set(map(kind_of, key.split(","))) == {one, other}:
            found: Mapping[str, Any] = part
            return found
    raise MissingError(f"The run has no pair of {one} and {other}.")


def _ratio(first: float, second: float) -> str:
    """With two decimals."""
    return f"{first / second:.2f}" if first < 1000 * second else "over 1000"


def order_of_importance(summary: Summary) -> Verdict:
    """Verbal least, quantitative before it, the others above."""
    order = list(diagonal(summary))
    checks = [
        ("verbal last", order[-1] == "verbal"),
        ("quantitative next to last", order[-2] == "quantitative"),
    ]
    rule = "Importance: the diagonal of M. Verbal last, quantitative next to last."
    return weigh(checks, f"Most important first: {', '.join(order)}.", rule)


def gpa_and_writing_first(summary: Summary) -> Verdict:
    """Two mixtures of GPA and writing, in either order, then letters."""
    found = interactions(summary, 4)
    mixed = {one.mixes("GPA", "writing") for one in found[:2]}
    checks = [(f"{kind} of GPA and writing", kind in mixed) for kind in ("difference", "sum")]
    if "letters" in found[0].weights:
        checks.append(("letters third", found[2].mostly("letters")))
    measured = f"First: {'; '.join(one.words for one in found[:3])}."
    rule = (
        "A mixture: both weights at least 0.3, together 0.8 of all squared weights. Which of the two is "
        "first does not count, as their eigenvalues are nearly equal in the paper."
    )
    return weigh(checks, measured, rule)


def first_two_equal(summary: Summary) -> Verdict:
    """Eigenvalues within a fifth of each other."""
    first, second = (one.eigenvalue for one in interactions(summary)[:2])
    measured = f"Eigenvalues {first:.4g} and {second:.4g}: a ratio of {_ratio(first, second)} (paper 1.01)."
    rule = "Almost equal: a ratio of at most 1.2; in part up to 1.5."
    return grade(first <= 1.2 * second, first <= 1.5 * second, measured, rule)


def eigenvalues_possible(summary: Summary) -> Verdict:
    """Whether any data can give the table's eigenvalues with the gammas of its caption."""
    norm = summary["norm"]
    checks = [("no data give the table", norm["paper"] <= norm["largest"])]
    measured = (
        f"|M| of the table: {norm['paper']:.0f}; the largest that these gammas allow: {norm['largest']:.0f}."
    )
    rule = (
        "M = 0 with d = 0, 1, 2 for the categories has no loss, which bounds gamma2 |M|^2 whatever the data."
    )
    return weigh(checks, measured, rule)


def gre_last(summary: Summary) -> Verdict:
    """The difference of quantitative and verbal next to last, their sum last."""
    found = interactions(summary, 4)
    checks: list[Check] = []
    if "letters" in found[0].weights:
        checks.append(("letters third", found[2].mostly("letters")))
    for place, kind in ((-2, "difference"), (-1, "sum")):
        checks.append((f"{kind} of the two", found[place].mixes("quantitative", "verbal") == kind))
    measured = f"Last: {'; '.join(one.words for one in found[2:])}."
    rule = "A mixture: both weights at least 0.3, together 0.8 of all squared weights."
    return weigh(checks, measured, rule)


def ideal_scores(summary: Summary) -> Verdict:
    """Near the truth where there is one, else near the paper's."""
    found = by_kind(summary["ideal"])
    known = summary.get("truth", {}).get("ideal")
    aim = PAPERS_IDEAL if known is None else by_kind(known)
    checks = [(kind, abs(value - aim[kind]) <= 0.1 * np.ptp(RANGES[kind])) for kind, value in found.items()]
    name = "paper" if known is None else "truth"
    texts = [f"{kind} {value:.2f} ({name} {aim[kind]:.2f})" for kind, value in found.items()]
    rule = f"Near the {name}: within a tenth of the feature's range."
    return weigh(checks, f"{', '.join(texts)}.", rule)


def gre_difference_then_sum(summary: Summary) -> Verdict:
    """Of the two GRE scores alone."""
    found = interactions(_pair(summary, "verbal", "quantitative"))
    checks = [
        (f"{kind} {place}", one.mixes("verbal", "quantitative") == kind)
        for one, (kind, place) in zip(found, (("difference", "first"), ("sum", "second")), strict=False)
    ]
    return weigh(
        checks, f"{'; then '.join(one.words for one in found)}.", "A mixture: both weights at least 0.3."
    )


def quantitative_outweighs_verbal(summary: Summary) -> Verdict:
    """A point less of quantitative costs more than a point of verbal makes up."""
    weights = diagonal(_pair(summary, "verbal", "quantitative"))
    ratio = weights["quantitative"] / max(weights["verbal"], 1e-12)
    times = _ratio(weights["quantitative"], weights["verbal"])
    measured = f"In the pair's metric, quantitative has {times} times the weight of verbal."
    return grade(
        ratio >= 2,
        ratio >= 1.2,
        measured,
        "Much: twice the weight on M's diagonal or more; in part from 1.2 times.",
    )


def many_pairs_outside(summary: Summary) -> Verdict:
    """Of the pairs, at least a third."""
    outside = [not part["inside"] for part in _pairs(summary, SEVERAL).values()]
    share = sum(outside) / len(outside)
    measured = f"{sum(outside)} of {len(outside)} pairs have an ideal outside of the allowed range."
    return grade(share >= 1 / 3, share > 0, measured, "Many: at least a third of the pairs; in part if any.")


def outside_means_more(summary: Summary) -> Verdict:
    """Where an ideal is outside, it is above."""
    checks: list[Check] = []
    for pair, part in _pairs(summary).items():
        for kind, value in by_kind(part["ideal"]).items():
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
    pair = _pair(summary, "quantitative", "GPA")
    interactions(pair)  # without a metric the ideal is a mere mean
    value = by_kind(pair["ideal"])["GPA"]
    return grade(
        value > 8,
        value > 4,
        f"An ideal GPA of {value:.2f} (paper: about 35).",
        "Far beyond: over 8, twice the best; in part over 4.",
    )


def few_pairs_interact(summary: Summary) -> Verdict:
    """At most half of the pairs, but writing with GPA."""
    mixed = {pair: not interactions(part)[0].alone for pair, part in _pairs(summary, SEVERAL).items()}
    names = [" with ".join(sorted(pair)) for pair, is_so in mixed.items() if is_so]
    checks = [
        ("at most half of the pairs", len(names) <= len(mixed) / 2),
        ("writing with GPA", not interactions(_pair(summary, "writing", "GPA"))[0].alone),
    ]
    rule = "Meaningful: a second weight of 0.3 or more. Many have none: at least half of the pairs."
    return weigh(checks, f"{len(names)} of {len(mixed)} pairs interact: {', '.join(names) or 'none'}.", rule)


def scores_overlap(summary: Summary) -> Verdict:
    """Denied applicants often score above those with a fellowship."""
    shares = {
        kind: value
        for kind, value in by_kind(summary["overlap"]).items()
        if kind in ("verbal", "quantitative")
    }
    checks = [(kind, value >= 0.2) for kind, value in shares.items()]
    texts = ", ".join(f"{kind} {100 * value:.0f} %" for kind, value in shares.items())
    measured = f"Pairs of an applicant of the best category and one denied who scores higher: {texts}."
    return weigh(checks, measured, "Large: a fifth of the pairs or more.")


def ranks_well(summary: Summary) -> Verdict:
    """The share of the answers learned from that come out right."""
    value = float(summary["accuracy"])
    return grade(
        value >= 0.8, value >= 0.6, f"Share right of what it learned from: {number(value)}.", CORRECTLY
    )


def predicts_well(summary: Summary) -> Verdict:
    """The share of held-out answers that come out right, on average over schools."""
    means = {}
    for name in ("SingleStep", "IdealPoint", "linear"):
        found = [one[name] for one in summary["schools"] if name in one]
        if found:
            means[name] = float(np.mean(found))
    value = means["SingleStep"]
    texts = ", ".join(f"{name} {number(mean)}" for name, mean in means.items())
    measured = f"Share right of held-out comparisons, mean of {len(summary['schools'])} schools: {texts}."
    return grade(value >= 0.8, value >= 0.6, measured, CORRECTLY)


# Ranked candidates.

TOPS = {"top22": 0.9, "top17": 0.9, "top11": 0.8}
BESIDE = {"SingleStep, by (M, u)": "By (M, u), not by d", "comparisons won": "Counting wins, no features"}
"""Other estimators of a summary, in words."""


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


def _order(cell: Mapping[str, Any]) -> str:
    return number(cell["kendall11"]["median"])


def _beside(summary: Summary, answers: int, show: Callable[[Mapping[str, Any]], str]) -> str:
    """The same of M and u alone, and of counting without any features."""
    at = {one["estimator"]: one for one in cells_of(summary) if one["answers"] == answers}
    return "".join(f" {words}: {show(at[name])}." for name, words in BESIDE.items() if name in at)


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
    measured += _beside(summary, cell["answers"], _shares)
    return weigh(
        checks, measured, "Over 0.9 of the top 22 and 17, over 0.8 of the top 11 (means), below 20 % of all."
    )


def top_eleven_in_order(summary: Summary) -> Verdict:
    """Kendall's distance of the top 11 at the most comparisons."""
    cells = _ranked(summary)
    first, last = cells[0], cells[-1]
    measured = f"Median Kendall distance of the top 11: {_order(first)} at {first['answers']}, "
    measured += f"{_order(last)} at {last['answers']}.{_beside(summary, last['answers'], _order)}"
    tau = last["kendall11"]["median"]
    rule = "Extremely accurate: 0.05 or less, by the real Kendall distance; in part up to 0.15."
    return grade(tau <= 0.05, tau <= 0.15, measured, rule)


def no_interactions(summary: Summary) -> Verdict:
    """Every interaction is a feature alone."""
    found = interactions(summary["all"])
    checks = [(one.words, one.alone) for one in found]
    measured = f"From {summary['n_comparisons']} comparisons: {'; '.join(one.words for one in found)}."
    return weigh(checks, measured, "Meaningful: a second weight of 0.3 or more.")


def gpa_and_writing_lead(summary: Summary) -> Verdict:
    """The order of the four features, the first two nearly equal."""
    order = [kind_of(name) for name in summary["all"]["order"]]
    first, second = (one.eigenvalue for one in interactions(summary["all"], 4)[:2])
    checks = [
        ("GPA and writing first", set(order[:2]) == {"GPA", "writing"}),
        ("quantitative third", order[2:3] == ["quantitative"]),
        ("verbal last", order[-1:] == ["verbal"]),
        ("equal eigenvalues", first <= 1.5 * second),
    ]
    measured = f"Most important first: {', '.join(order)}; first two eigenvalues in a ratio of "
    return weigh(
        checks, f"{measured}{_ratio(first, second)}{_true_ratio(summary)}.", "Equal: a ratio of at most 1.5."
    )


def _true_ratio(summary: Summary) -> str:
    """Of the truth, in the same units."""
    found = [one["eigenvalue"] for one in summary.get("truth", {}).get("interactions", ())][:2]
    return f" (truth {_ratio(*found)})" if len(found) == 2 else ""
