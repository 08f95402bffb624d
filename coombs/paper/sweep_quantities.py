"""What the claims about the synthetic experiments and Proposition 1 are judged by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from coombs.paper.judging import Measured, MissingError, Summary, listed, number, outcome_of

Curve: TypeAlias = dict[int, float]
"""A measure by the number of comparisons, in ascending order."""

LABELS = {
    "ur": "UR",
    "wer": "WER",
    "kendall": "Kendall",
    "kendall_authors": "authors' Kendall",
    "top5": "missing of the top 5",
    "top10": "missing of the top 10",
    "top20": "missing of the top 20",
}
"""Errors in words: of a share of the top, what is missing."""
TOPS = ("top5", "top10", "top20")
MAIN = ("ur", "wer", "top10")
EUCLIDEAN = ("Euclidean 1", "Euclidean 2")
START = "start"
ORACLE = "Alternating, oracle stop"
OWN = "Alternating, our stop"
SOON = 150
"""Comparisons by which a measure falls "rapidly" or "slowly"."""
HALF = 0.5
"""The share of the first error that is left by then if it falls slowly."""
SMALL_FALL = 0.05
"""A fall of UR that is hardly one."""
SMALL_SHARE = 0.15
"""The same as a share of UR."""
SMALL_LOSS = 0.01
"""A loss that is hardly one."""
GOOD_FIT = 0.05
"""UR and Kendall of a good fit, at most."""
WEAK = 0.03
"""The smallest eigenvalue of an ill-conditioned M, at most."""
TINY = 1e-12
"""Keeps a ratio finite."""


def curve(summary: Summary, estimator: str, measure: str, d: int | None = None, of: str = "median") -> Curve:
    """An error of an estimator against the number of comparisons."""
    cells = [c for c in summary["cells"] if c["estimator"] == estimator and d in (None, c["d"])]
    return {cell["answers"]: _error(measure, cell[measure][of]) for cell in cells}


def _error(measure: str, value: float) -> float:
    """What is missing of a share of the top, rounded so that 1 - 0.9 is 0.1; other measures are errors."""
    return round(1 - value, 9) if measure in TOPS else value


# Single-step estimation


def single_step(
    what: str, value: Callable[[Curve], float], measures: Sequence[str], summary: Summary
) -> Measured:
    """A value of SingleStep's errors for each measure and number of features."""
    features = dict.fromkeys(cell["d"] for cell in summary["cells"])
    curves = {
        f"{LABELS[key]} at d = {d}": curve(summary, "SingleStep", key, d)
        for d in features
        for key in measures
    }
    fewest, most = (end(cell["answers"] for cell in summary["cells"]) for end in (min, max))
    checks = {name: value(errors) for name, errors in curves.items()}
    return Measured(what.format(fewest=fewest, most=most), checks)


def first(errors: Curve) -> float:
    """With the fewest comparisons."""
    return errors[min(errors)]


def last(errors: Curve) -> float:
    """With the most comparisons."""
    return errors[max(errors)]


def change(errors: Curve) -> float:
    """From the fewest to the most comparisons."""
    return last(errors) - first(errors)


def share_left(errors: Curve) -> float:
    """What share of the first error is left soon."""
    return errors[max(p for p in errors if p <= SOON)] / max(first(errors), TINY)


def kendall_left(what: str, summary: Summary) -> Measured:
    """What is left of the real measure soon; and whether the authors' falls slowly."""
    real, authors = (single_step(what, share_left, (key,), summary) for key in ("kendall", "kendall_authors"))
    outcome = outcome_of([left > HALF for left in authors.checks.values()])
    note = f" By the measure of the authors' code, which is not Kendall's tau, the claim {outcome}."
    return real._replace(shown=listed({**real.checks, **authors.checks}), note=note)


# Against Euclidean algorithms


def _losses(summary: Summary, measure: str) -> Curve:
    """How far SingleStep is behind the better Euclidean algorithm, by the number of comparisons."""
    ours, *theirs = (curve(summary, name, measure) for name in ("SingleStep", *EUCLIDEAN))
    return {p: value - min(one[p] for one in theirs) for p, value in ours.items()}


def losses(measures: Sequence[str], summary: Summary) -> Measured:
    """Behind the better Euclidean algorithm at every number of comparisons."""
    checks = {f"{LABELS[key]} at {p}": lost for key in measures for p, lost in _losses(summary, key).items()}
    return Measured("Loss to the better Euclidean algorithm (minus is a gain)", checks)


def beyond_quartile(summary: Summary) -> Measured:
    """How much worse than the worse quartile of the better Euclidean algorithm."""
    checks = {}
    for measure in ("ur", "kendall", *TOPS):
        worse = "low" if measure in TOPS else "high"
        quartiles = [curve(summary, name, measure, of=worse) for name in EUCLIDEAN]
        for p, ours in curve(summary, "SingleStep", measure).items():
            bound = min(one[p] for one in quartiles)
            checks[f"{LABELS[measure]} at {p}"] = round(ours - bound, 9)
    return Measured("Median beyond the quartile (minus is inside)", checks)


def loss_at_the_end(summary: Summary) -> Measured:
    """Beyond a small one, or beyond the loss at the fewest comparisons if that is more."""
    checks, shown = {}, []
    for measure in ("ur", "kendall", *TOPS):
        lost = _losses(summary, measure)
        fewest, most = min(lost), max(lost)
        checks[LABELS[measure]] = lost[most] - max(lost[fewest], SMALL_LOSS)
        shown.append(f"{number(lost[fewest])} to {number(lost[most])} ({LABELS[measure]})")
    return Measured(f"Loss from {fewest} to {most} comparisons (minus is a gain)", checks, shown)


def euclidean_wer(summary: Summary) -> Measured:
    """The smallest lower quartile of the Euclidean algorithms, which never recover M."""
    curves = {name: curve(summary, name, "wer", of="low") for name in EUCLIDEAN}
    low = {f"{name} at {p}": value for name, values in curves.items() for p, value in values.items()}
    name = min(low, key=lambda key: low[key])
    return Measured("Smallest lower quartile of WER", {name: low[name]})


def wer_of_good_fits(summary: Summary) -> Measured:
    """The largest upper quartile where everything else is good: with M = I eigenvectors are arbitrary."""
    ur, kendall = (curve(summary, "SingleStep", key) for key in ("ur", "kendall"))
    high = curve(summary, "SingleStep", "wer", of="high")
    good = [p for p in high if ur[p] <= GOOD_FIT and kendall[p] <= GOOD_FIT]
    if not good:
        raise MissingError(f"No number of comparisons has a good fit (UR and Kendall at most {GOOD_FIT}).")
    p = max(good, key=lambda key: high[key])
    return Measured("Largest upper quartile of WER where UR and Kendall are small", {f"at {p}": high[p]})


# Alternating estimation


def _steps(summary: Summary, measure: str, low: int = 0, high: int = 10**9) -> dict[int, tuple[float, float]]:
    """Errors before and after alternating for numbers of comparisons in a range."""
    before, after = (curve(summary, name, measure) for name in (START, ORACLE))
    return {p: (before[p], after[p]) for p in before if low <= p <= high}


def _cut(before: float, after: float) -> float:
    """By what share the error fell."""
    return (before - after) / max(before, TINY)


def fall(low: int, high: int, summary: Summary) -> Measured:
    """Of UR, in units of a small one or of a small share, whichever is less."""
    steps = _steps(summary, "ur", low, high).items()
    falls = {f"at {p}": min((a - b) / SMALL_FALL, _cut(a, b) / SMALL_SHARE) for p, (a, b) in steps}
    shown = [f"{number(a)} to {number(b)} (at {p})" for p, (a, b) in steps]
    return Measured("UR before and after alternating", falls, shown)


def rise(measures: Sequence[str], summary: Summary) -> Measured:
    """Of errors by alternating, at each number of comparisons from 40 to 200."""
    checks = {
        f"{LABELS[measure]} at {p}": after - before
        for measure in measures
        for p, (before, after) in _steps(summary, measure, 40, 200).items()
    }
    return Measured("Change by alternating (minus is better)", checks)


def largest_cut(summary: Summary) -> Measured:
    """The largest share by which UR falls from 40 to 200 comparisons."""
    cuts = {p: _cut(*step) for p, step in _steps(summary, "ur", 40, 200).items()}
    p = max(cuts, key=lambda key: cuts[key])
    return Measured("Largest share by which UR falls", {f"at {p}": cuts[p]})


def ur_before(low: int, high: int, summary: Summary) -> Measured:
    """UR before alternating."""
    errors = {f"at {p}": before for p, (before, _) in _steps(summary, "ur", low, high).items()}
    return Measured("UR before alternating", errors)


def kendall_change(summary: Summary) -> Measured:
    """Of the real measure, by alternating; and the largest of the authors'."""
    real, authors = (
        {f"at {p}": abs(after - before) for p, (before, after) in _steps(summary, key).items()}
        for key in ("kendall", "kendall_authors")
    )
    shown = [*listed(real), f"at most {number(max(authors.values()))} (authors' Kendall)"]
    return Measured("Size of the change of Kendall by alternating", real, shown)


# Proposition 1


def _errors(summary: Summary, which: str) -> dict[float, float]:
    """Of u, along the weakest direction or across it, by its eigenvalue in ascending order."""
    return {cell["smallest"]: cell[f"error_{which}"] for cell in summary["cells"]}


def in_the_kernel(summary: Summary) -> Measured:
    """Where M has a kernel: the error of u along it, and how many times that across it."""
    along, across = (_errors(summary, which)[0.0] for which in ("along", "across"))
    checks = {"along the kernel": along, "times that across it": along / max(across, TINY)}
    return Measured("Error of u where M is singular, in units of |u|", checks)


def if_definite(summary: Summary) -> Measured:
    """Where all eigenvalues are of one size: both errors of u."""
    largest = max(_errors(summary, "along"))
    errors = {f"{which} its direction": _errors(summary, which)[largest] for which in ("along", "across")}
    return Measured(f"Error of u where the smallest eigenvalue is {largest:g}", errors)


def if_ill_conditioned(summary: Summary) -> Measured:
    """Where M is nearly singular: how many times the error at the largest smallest eigenvalue."""
    errors = _errors(summary, "along")
    largest = max(errors)
    least = max(errors[largest], TINY)
    checks = {f"at {smallest:g}": value / least for smallest, value in errors.items() if 0 < smallest <= WEAK}
    what = f"Error of u along the weakest direction, in units of the one at eigenvalue {largest:g}"
    return Measured(what, checks)


def rest_of_u(summary: Summary) -> Measured:
    """The error across the weakest direction, whatever its eigenvalue."""
    errors = {f"at {smallest:g}": value for smallest, value in _errors(summary, "across").items()}
    return Measured("Error of u across the weakest direction", errors)
