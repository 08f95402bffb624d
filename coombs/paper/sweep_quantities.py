"""What the claims about the synthetic experiments and Proposition 1 are judged by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from coombs.paper.judging import Measured, MissingError, Summary, outcome_of, three_decimals

Curve: TypeAlias = dict[int, float]
"""A measure by the number of comparisons, in ascending order."""

LABELS = {
    "ur": "UR",
    "wer": "WER",
    "kendall": "Kendall",
    "kendall_authors": "authors' Kendall",
    "top5": "top 5",
    "top10": "top 10",
    "top20": "top 20",
}
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
FIRST = (min,)
LAST = (max,)
ENDS = (min, max)


def curve(summary: Summary, estimator: str, measure: str, d: int | None = None, of: str = "median") -> Curve:
    """A measure of an estimator against the number of comparisons."""
    cells = [c for c in summary["cells"] if c["estimator"] == estimator and d in (None, c["d"])]
    return {cell["answers"]: cell[measure][of] for cell in cells}


def error(measure: str, value: float) -> float:
    """So that less is better: what is missing of a share of the top."""
    return 1 - value if measure in TOPS else value


# Single-step estimation


def single_step(
    value: Callable[[Curve], float],
    measures: Sequence[str],
    shown: Sequence[Callable[[Curve], int]],
    summary: Summary,
) -> Measured:
    """A value of SingleStep's errors for each measure and number of features."""
    checks, texts = [], []
    for d in dict.fromkeys(cell["d"] for cell in summary["cells"]):
        curves = {measure: curve(summary, "SingleStep", measure, d) for measure in measures}
        at, numbers = [place(curves[measures[0]]) for place in shown], []
        for key, values in curves.items():
            errors = {p: error(key, number) for p, number in values.items()}
            checks.append((f"{LABELS[key]} at d = {d}", value(errors)))
            numbers.append(f"{LABELS[key]} {' to '.join(three_decimals(values[p]) for p in at)}")
        texts.append(f"d = {d} at {' and '.join(map(str, at))}: {', '.join(numbers)}")
    return Measured(checks, "; ".join(texts) + ".")


def first(errors: Curve) -> float:
    """With the fewest comparisons."""
    return errors[min(errors)]


def last(errors: Curve) -> float:
    """With the most comparisons, rounded so that 1 - 0.9 is 0.1."""
    return round(errors[max(errors)], 9)


def change(errors: Curve) -> float:
    """From the fewest to the most comparisons."""
    return last(errors) - first(errors)


def share_left(errors: Curve) -> float:
    """What share of the first error is left soon."""
    return errors[max(p for p in errors if p <= SOON)] / max(first(errors), TINY)


def kendall_left(summary: Summary) -> Measured:
    """What is left of the real measure soon; and whether the authors' falls slowly."""
    measured = single_step(share_left, ("kendall", "kendall_authors"), ENDS, summary)
    authors = outcome_of([left > HALF for _, left in measured.checks[1::2]])
    note = f" By the measure of the authors' code, which is not Kendall's tau, the claim {authors}."
    return Measured(measured.checks[::2], measured.text, note)


# Against Euclidean algorithms


def _against(summary: Summary, measure: str) -> dict[int, list[float]]:
    """Errors of SingleStep and of both Euclidean algorithms, by the number of comparisons."""
    curves = [curve(summary, name, measure) for name in ("SingleStep", *EUCLIDEAN)]
    return {p: [error(measure, values[p]) for values in curves] for p in curves[0]}


def _losses(summary: Summary, measure: str) -> Curve:
    """How far SingleStep is behind the better Euclidean algorithm."""
    return {p: ours - min(one, two) for p, (ours, one, two) in _against(summary, measure).items()}


def loss(measure: str, summary: Summary) -> Measured:
    """Behind the better Euclidean algorithm at every number of comparisons."""
    losses, errors = _losses(summary, measure), _against(summary, measure)
    texts = []
    for p in dict.fromkeys((min(errors), max(errors))):
        ours, one, two = (three_decimals(error(measure, value)) for value in errors[p])
        texts.append(f"at {p}: {ours} against {one} and {two}")
    won = sum(lost < 0 for lost in losses.values())
    text = f"Better than both on {LABELS[measure]} at {won} of {len(losses)} numbers of comparisons; "
    return Measured([(f"at {p}", lost) for p, lost in losses.items()], text + "; ".join(texts) + ".")


def losses(summary: Summary) -> Measured:
    """Behind the better Euclidean algorithm by each measure."""
    checks, texts = [], []
    for measure in ("ur", "kendall", "top10"):
        lost = _losses(summary, measure)
        checks += [(f"{LABELS[measure]} at {p}", value) for p, value in lost.items()]
        worst = max(lost, key=lambda p: lost[p])
        texts.append(f"{LABELS[measure]} {lost[worst]:+.3f} at {worst}")
    return Measured(checks, f"Largest loss: {', '.join(texts)}.")


def beyond_quartile(summary: Summary) -> Measured:
    """How much worse than the worse quartile of the better Euclidean algorithm."""
    checks = []
    for measure in ("ur", "kendall", *TOPS):
        worse = "low" if measure in TOPS else "high"
        quartiles = [curve(summary, name, measure, of=worse) for name in EUCLIDEAN]
        for p, (ours, *_) in _against(summary, measure).items():
            bound = min(error(measure, one[p]) for one in quartiles)
            checks.append((f"{LABELS[measure]} at {p}", round(ours - bound, 9)))
    inside = sum(beyond <= 0 for _, beyond in checks)
    medians = f"{inside} of {len(checks)} medians of UR, Kendall and the shares of the top 5, 10 and 20"
    return Measured(checks, f"Inside in {medians}.")


def loss_at_the_end(summary: Summary) -> Measured:
    """Beyond a small one, or beyond the loss at the fewest comparisons if that is more."""
    checks, texts = [], []
    for measure in ("ur", "kendall", *TOPS):
        lost = _losses(summary, measure)
        first, last = min(lost), max(lost)
        checks.append((LABELS[measure], lost[last] - max(lost[first], SMALL_LOSS)))
        texts.append(f"{LABELS[measure]} {lost[first]:+.3f} to {lost[last]:+.3f}")
    return Measured(checks, f"Loss from {first} to {last} comparisons (minus is a gain): {', '.join(texts)}.")


def euclidean_wer(summary: Summary) -> Measured:
    """The smallest lower quartile of the Euclidean algorithms, which never recover M."""
    low = {(name, p): v for name in EUCLIDEAN for p, v in curve(summary, name, "wer", of="low").items()}
    name, p = least = min(low, key=lambda key: low[key])
    text = f"Smallest lower quartile of WER: {three_decimals(low[least])}, of {name} at {p}."
    return Measured([("a small WER with a wrong M", low[least])], text)


def wer_of_good_fits(summary: Summary) -> Measured:
    """The largest upper quartile where everything else is good: with M = I eigenvectors are arbitrary."""
    ur, kendall = (curve(summary, "SingleStep", key) for key in ("ur", "kendall"))
    high = curve(summary, "SingleStep", "wer", of="high")
    good = [p for p in high if ur[p] <= GOOD_FIT and kendall[p] <= GOOD_FIT]
    if not good:
        raise MissingError(f"No number of comparisons has a good fit (UR and Kendall at most {GOOD_FIT}).")
    p = max(good, key=lambda key: high[key])
    wer, u, tau = (three_decimals(values[p]) for values in (high, ur, kendall))
    text = f"At {p}: upper quartile of WER {wer}, UR {u}, Kendall {tau}."
    return Measured([("a large WER with a good fit", high[p])], text)


# Alternating estimation


def _steps(summary: Summary, measure: str, low: int = 0, high: int = 10**9) -> dict[int, tuple[float, float]]:
    """Errors before and after alternating for numbers of comparisons in a range."""
    before, after = (curve(summary, name, measure) for name in (START, ORACLE))
    return {p: (error(measure, before[p]), error(measure, after[p])) for p in before if low <= p <= high}


def _cut(before: float, after: float) -> float:
    """By what share the error fell."""
    return (before - after) / max(before, TINY)


def _in_words(measure: str, steps: Mapping[int, tuple[float, float]]) -> str:
    ends = {p: [three_decimals(error(measure, value)) for value in pair] for p, pair in steps.items()}
    return f"{LABELS[measure]} " + ", ".join(f"{a} to {b} at {p}" for p, (a, b) in ends.items())


def fall(low: int, high: int, summary: Summary) -> Measured:
    """Of UR, in units of a small one or of a small share, whichever is less."""
    steps = _steps(summary, "ur", low, high)
    falls = {p: min((a - b) / SMALL_FALL, _cut(a, b) / SMALL_SHARE) for p, (a, b) in steps.items()}
    return Measured([(f"at {p}", value) for p, value in falls.items()], _in_words("ur", steps) + ".")


def rise(measures: Sequence[str], summary: Summary) -> Measured:
    """Of errors by alternating, at each number of comparisons from 40 to 200."""
    checks, texts = [], []
    for measure in measures:
        steps = _steps(summary, measure, 40, 200)
        checks += [(f"{LABELS[measure]} at {p}", after - before) for p, (before, after) in steps.items()]
        texts.append(_in_words(measure, steps))
    return Measured(checks, "; ".join(texts) + ".")


def largest_cut(summary: Summary) -> Measured:
    """The largest share by which UR falls from 40 to 200 comparisons."""
    cuts = {p: _cut(a, b) for p, (a, b) in _steps(summary, "ur", 40, 200).items()}
    p = max(cuts, key=lambda key: cuts[key])
    own = three_decimals(curve(summary, OWN, "ur")[p])
    text = f"At most {100 * cuts[p]:.0f} %, at {p} comparisons; with our stop UR is {own} there."
    return Measured([("", cuts[p])], text)


def ur_before(low: int, high: int, summary: Summary) -> Measured:
    """UR before alternating."""
    errors = {p: a for p, (a, _) in _steps(summary, "ur", low, high).items()}
    text = ", ".join(f"{three_decimals(value)} at {p}" for p, value in errors.items())
    checks = [(f"at {p}", value) for p, value in errors.items()]
    return Measured(checks, f"UR before alternating: {text}.")


def kendall_change(summary: Summary) -> Measured:
    """Of the real measure, by alternating; and the largest of the authors'."""
    real, authors = (
        {p: after - before for p, (before, after) in _steps(summary, key).items()}
        for key in ("kendall", "kendall_authors")
    )
    largest = [(moves, max(moves, key=lambda p: abs(moves[p]))) for moves in (real, authors)]
    texts = [f"{moves[p]:+.3f} at {p}" for moves, p in largest]
    text = f"Largest change: Kendall {texts[0]}, authors' Kendall {texts[1]}."
    return Measured([(f"at {p}", abs(move)) for p, move in real.items()], text)


# Proposition 1


def _errors(summary: Summary, which: str) -> dict[float, float]:
    """Of u, along the weakest direction or across it, by its eigenvalue in ascending order."""
    return {cell["smallest"]: cell[f"error_{which}"] for cell in summary["cells"]}


def in_the_kernel(summary: Summary) -> Measured:
    """Where M has a kernel: the error of u along it, and how many times that across it."""
    along, across = (_errors(summary, which)[0.0] for which in ("along", "across"))
    text = f"error of u {three_decimals(along)} along its kernel, {three_decimals(across)} across"
    times = ("five times the error across", along / max(across, TINY))
    return Measured([("lost along", along), times], f"M singular: {text}, in units of |u|.")


def if_definite(summary: Summary) -> Measured:
    """Where all eigenvalues are of one size: both errors of u."""
    largest = max(_errors(summary, "along"))
    found = {which: _errors(summary, which)[largest] for which in ("along", "across")}
    along, across = map(three_decimals, found.values())
    errors = f"{along} along its direction, {across} across"
    return Measured(list(found.items()), f"Smallest eigenvalue {largest:g}: error {errors}.")


def if_ill_conditioned(summary: Summary) -> Measured:
    """Where M is nearly singular: how many times the error at the largest smallest eigenvalue."""
    errors = _errors(summary, "along")
    largest, weak = max(errors), [smallest for smallest in errors if 0 < smallest <= WEAK]
    text = ", ".join(f"{three_decimals(errors[smallest])} at {smallest:g}" for smallest in (*weak, largest))
    least = max(errors[largest], TINY)
    checks = [(f"at {smallest:g}", errors[smallest] / least) for smallest in weak]
    return Measured(checks, f"Error along the weakest direction: {text}.")


def rest_of_u(summary: Summary) -> Measured:
    """The error across the weakest direction, whatever its eigenvalue."""
    errors = _errors(summary, "across")
    low, high = (three_decimals(end(errors.values())) for end in (min, max))
    checks = [(f"at {smallest:g}", value) for smallest, value in errors.items()]
    return Measured(checks, f"Error of u across the weakest direction: from {low} to {high}.")
