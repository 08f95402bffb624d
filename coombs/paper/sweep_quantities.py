"""What the claims about the synthetic experiments and Proposition 1 are judged by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from coombs.paper.judging import Measured, MissingError, Summary, listed, number, outcome_of

Key = TypeVar("Key", int, str)
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
"""A fall of UR that counts as none."""
SMALL_SHARE = 0.15
"""A fall, as a share of UR, that counts as none."""
SMALL_LOSS = 0.01
"""A loss that counts as none."""
GOOD_FIT = 0.05
"""UR and Kendall of a good fit, at most."""
WEAK = 0.03
"""The smallest eigenvalue of an ill-conditioned M, at most."""
WORSE = ", worse quartile"
"""What follows an estimator's name where it is not the median."""
TINY = 1e-12
"""Keeps a ratio finite."""


class ErrorValue(NamedTuple, Generic[Key]):
    """A number that is read from errors, by the number of comparisons or by the estimator, and what it is."""

    what: str
    value: Callable[[Mapping[Key, float]], float]


AT_FIRST = ErrorValue[int]("Median errors with {fewest} comparisons", lambda errors: errors[min(errors)])
AT_LAST = ErrorValue[int]("Median errors with {most} comparisons", lambda errors: errors[max(errors)])
CHANGE = ErrorValue[int](
    "Change from {fewest} to {most} comparisons",
    lambda errors: AT_LAST.value(errors) - AT_FIRST.value(errors),
)
LEFT = ErrorValue[int](
    f"Share of the error with {{fewest}} comparisons that is left by {SOON}",
    lambda errors: errors[max(p for p in errors if p <= SOON)] / max(AT_FIRST.value(errors), TINY),
)
LOSS = ErrorValue[str](
    "Loss to the better Euclidean algorithm (minus is a gain)",
    lambda errors: errors["SingleStep"] - min(errors[name] for name in EUCLIDEAN),
)
BEYOND = ErrorValue[str](
    "Loss to the worse quartile of the better Euclidean algorithm (minus is inside)",
    lambda errors: round(errors["SingleStep"] - min(errors[f"{name}{WORSE}"] for name in EUCLIDEAN), 9),
)
BEFORE = ErrorValue[str]("Before alternating", lambda errors: errors[START])
RISE = ErrorValue[str](
    "Change by alternating (minus is better)", lambda errors: errors[ORACLE] - errors[START]
)
MOVE = ErrorValue[str]("Size of the change by alternating", lambda errors: abs(RISE.value(errors)))
CUT = ErrorValue[str](
    "Share by which alternating cuts the error", lambda errors: -RISE.value(errors) / max(errors[START], TINY)
)
FALL = ErrorValue[str](
    f"Fall by alternating, in units of {SMALL_FALL} or of {100 * SMALL_SHARE:.0f} %, whichever is less",
    lambda errors: min(-RISE.value(errors) / SMALL_FALL, CUT.value(errors) / SMALL_SHARE),
)


def curve(summary: Summary, estimator: str, measure: str, d: int | None = None, of: str = "median") -> Curve:
    """An error of an estimator against the number of comparisons."""
    cells = [c for c in summary["cells"] if c["estimator"] == estimator and d in (None, c["d"])]
    return {cell["answers"]: _error(measure, cell[measure][of]) for cell in cells if of in cell[measure]}


def _error(measure: str, value: float) -> float:
    """What is missing of a share of the top, rounded so that 1 - 0.9 is 0.1; other measures are errors."""
    return round(1 - value, 9) if measure in TOPS else value


def single_step(asked: ErrorValue[int], measures: Sequence[str], summary: Summary) -> Measured:
    """A value of SingleStep's errors for each measure and number of features."""
    features = dict.fromkeys(cell["d"] for cell in summary["cells"])
    keys = [(key, d) for d in features for key in measures]
    curves = {f"{LABELS[key]} at d = {d}": curve(summary, "SingleStep", key, d) for key, d in keys}
    fewest, most = (end(cell["answers"] for cell in summary["cells"]) for end in (min, max))
    checks = {name: asked.value(errors) for name, errors in curves.items()}
    return Measured(asked.what.format(fewest=fewest, most=most), checks)


def kendall_left(summary: Summary) -> Measured:
    """What is left of the real measure soon; and whether the authors' falls slowly."""
    real, authors = (single_step(LEFT, (key,), summary) for key in ("kendall", "kendall_authors"))
    outcome = outcome_of([left > HALF for left in authors.checks.values()])
    note = f" By the measure of the authors' code, which is not Kendall's tau, the claim {outcome}."
    return real._replace(shown=listed({**real.checks, **authors.checks}), note=note)


def at_each(
    asked: ErrorValue[str], measures: Sequence[str], summary: Summary, low: int = 0, high: int = 10**9
) -> Measured:
    """A value of the estimators' errors for each measure and number of comparisons in a range."""
    names, numbers = (
        dict.fromkeys(cell[key] for cell in summary["cells"]) for key in ("estimator", "answers")
    )
    checks = {}
    for measure in measures:
        ends = {"": "median", WORSE: "low" if measure in TOPS else "high"}
        curves = {
            f"{name}{end}": curve(summary, name, measure, of=of) for name in names for end, of in ends.items()
        }
        for p in numbers:
            if low <= p <= high:
                errors = {name: values[p] for name, values in curves.items() if p in values}
                checks[f"{LABELS[measure]} at {p}"] = asked.value(errors)
    return Measured(asked.what, checks)


def loss_at_the_end(summary: Summary) -> Measured:
    """Beyond a small one, or beyond the loss at the fewest comparisons if that is more."""
    checks, shown = {}, []
    for measure in ("ur", "kendall", *TOPS):
        lost = list(at_each(LOSS, (measure,), summary).checks.values())
        first, last = lost[0], lost[-1]
        checks[LABELS[measure]] = last - max(first, SMALL_LOSS)
        shown.append(f"{number(first)} to {number(last)} ({LABELS[measure]})")
    return Measured("Loss with the fewest and the most comparisons (minus is a gain)", checks, shown)


def euclidean_wer(summary: Summary) -> Measured:
    """The smallest lower quartile of the Euclidean algorithms, which never recover M."""
    curves = {name: curve(summary, name, "wer", of="low") for name in EUCLIDEAN}
    low = {f"{name} at {p}": value for name, values in curves.items() for p, value in values.items()}
    return Measured("Smallest lower quartile of WER", _extreme(min, low))


def wer_of_good_fits(summary: Summary) -> Measured:
    """The largest upper quartile where everything else is good: with M = I eigenvectors are arbitrary."""
    ur, kendall = (curve(summary, "SingleStep", key) for key in ("ur", "kendall"))
    high = curve(summary, "SingleStep", "wer", of="high")
    good = {f"at {p}": high[p] for p in high if ur[p] <= GOOD_FIT and kendall[p] <= GOOD_FIT}
    if not good:
        raise MissingError(f"No number of comparisons has a good fit (UR and Kendall at most {GOOD_FIT}).")
    return Measured("Largest upper quartile of WER where UR and Kendall are small", _extreme(max, good))


def _extreme(end: Callable[..., str], values: Mapping[str, float]) -> dict[str, float]:
    """The least or the greatest value, with its name."""
    name = end(values, key=lambda key: values[key])
    return {name: values[name]}


def largest_cut(summary: Summary) -> Measured:
    """The largest share by which UR falls from 40 to 200 comparisons."""
    cuts = at_each(CUT, ("ur",), summary, 40, 200)
    return Measured(f"{cuts.what}, at most", _extreme(max, cuts.checks))


def kendall_change(summary: Summary) -> Measured:
    """Of the real measure, by alternating; and the largest of the authors'."""
    real, authors = (at_each(MOVE, (key,), summary) for key in ("kendall", "kendall_authors"))
    return real._replace(shown=listed({**real.checks, **_extreme(max, authors.checks)}))


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
