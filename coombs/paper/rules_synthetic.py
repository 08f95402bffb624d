"""Rules for the claims about the synthetic experiments and Proposition 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

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
PAPERS_MOST = 500
"""Comparisons, where the paper's sweeps end."""
TOPS = ("top5", "top10", "top20")
EUCLIDEAN = ("Euclidean 1", "Euclidean 2")
START, ORACLE, OWN = "start", "Alternating, oracle stop", "Alternating, our stop"


def curve(summary: Summary, estimator: str, measure: str, d: int | None = None, of: str = "median") -> Curve:
    """A measure of an estimator against the number of comparisons."""
    cells = [c for c in cells_of(summary) if c["estimator"] == estimator and d in (None, c["d"])]
    found = {cell["answers"]: float(cell[measure][of]) for cell in cells}
    if not found:
        raise MissingError(f"The summary has no {estimator}.")
    return dict(sorted(found.items()))


def error(measure: str, value: float) -> float:
    """So that less is better: what is missing of a share of the top."""
    return 1 - value if measure in TOPS else value


def span(values: Curve) -> tuple[int, int]:
    """The fewest and the most comparisons, which must differ."""
    if len(values) < 2:
        raise MissingError("The run has one number of comparisons only.")
    return min(values), max(values)


def _ends(values: Curve) -> Sequence[int]:
    return span(values)


def _first(values: Curve) -> Sequence[int]:
    return (min(values),)


def _last(values: Curve) -> Sequence[int]:
    return (max(values),)


def _each(
    summary: Summary,
    measures: Sequence[str],
    passes: Callable[[str, Curve], bool],
    shown: Callable[[Curve], Sequence[int]],
    rule: str,
) -> Verdict:
    """A check of SingleStep for each measure and number of features."""
    checks: list[Check] = []
    texts = []
    for d in dict.fromkeys(cell["d"] for cell in cells_of(summary)):
        curves = {measure: curve(summary, "SingleStep", measure, d) for measure in measures}
        checks += [(f"{LABELS[key]} at d = {d}", passes(key, values)) for key, values in curves.items()]
        at = shown(curves[measures[0]])
        numbers = (
            f"{LABELS[key]} {' to '.join(number(values[p]) for p in at)}" for key, values in curves.items()
        )
        texts.append(f"d = {d} at {' and '.join(map(str, at))}: {', '.join(numbers)}")
    return weigh(checks, "; ".join(texts) + ".", rule)


def _left(measure: str, values: Curve, by: int = 150) -> float:
    """What share of the first error is left by so many comparisons."""
    first, _ = span(values)
    then = max((p for p in values if first < p <= by), default=None)
    if then is None:
        raise MissingError(f"The run has no second number of comparisons up to {by}.")
    return error(measure, values[then]) / max(error(measure, values[first]), 1e-12)


def poor_at_first(summary: Summary) -> Verdict:
    """Large errors and a small share of the top 10 where there are few comparisons."""
    least = {"ur": 0.5, "wer": 0.2, "top10": 0.5}

    def passes(measure: str, values: Curve) -> bool:
        if min(values) > 20:
            raise MissingError("The run has no number of comparisons up to 20.")
        return error(measure, values[min(values)]) >= least[measure]

    rule = "Large: UR at least 0.5, WER at least 0.2; few: at most 0.5 of the top 10."
    return _each(summary, tuple(least), passes, _first, rule)


def rapid(summary: Summary) -> Verdict:
    """Half of the first error is gone by 150 comparisons."""
    rule = "Rapidly: by 150 comparisons at most half is left of the first error (1 - share for the top 10)."
    return _each(summary, ("ur", "wer", "top10"), lambda key, values: _left(key, values) <= 0.5, _ends, rule)


def at_the_end(most: Mapping[str, float], rule: str, summary: Summary) -> Verdict:
    """Errors of at most so much at the most comparisons; a run shorter than the paper's cannot refute it."""

    def passes(measure: str, values: Curve) -> bool:
        return error(measure, values[max(values)]) <= most[measure] + 1e-9

    found = _each(summary, tuple(most), passes, _last, rule)
    last = max(cell["answers"] for cell in cells_of(summary))
    if last >= PAPERS_MOST or found.outcome is Outcome.HOLDS:
        return found
    why = f" This run ends at {last} comparisons; the claim is about {PAPERS_MOST}."
    return found._replace(outcome=Outcome.NOT_RUN, reason=found.reason + why)


def kendall_falls(summary: Summary) -> Verdict:
    """Lower at the end than at first, by the real measure."""

    def passes(_: str, values: Curve) -> bool:
        first, last = span(values)
        return values[last] < values[first]

    rule = "Falls: lower at the most comparisons than at the fewest."
    return _each(summary, ("kendall",), passes, _ends, rule)


def kendall_slow(summary: Summary) -> Verdict:
    """Whether the real measure is slow; and whether the authors' is."""
    rule = "Slowly: by 150 comparisons more than half is left of the first value."
    real, authors, both = (
        _each(summary, keys, lambda key, values: _left(key, values) > 0.5, _ends, rule)
        for keys in (("kendall",), ("kendall_authors",), ("kendall", "kendall_authors"))
    )
    why = f" By the measure of the authors' code, which is not Kendall's tau, the claim {authors.outcome}."
    return real._replace(measured=both.measured, reason=real.reason + why)


def kendall_stays_high(summary: Summary) -> Verdict:
    """The order of all items is still wrong at the most comparisons."""
    rule = "Hard: at the most comparisons a tenth of all pairs or more is still in the wrong order."
    return _each(summary, ("kendall",), lambda _, values: values[max(values)] >= 0.1, _last, rule)


class Rivals(NamedTuple):
    """Errors of SingleStep and of both Euclidean algorithms."""

    ours: float
    one: float
    two: float

    @property
    def loss(self) -> float:
        """How far behind the better Euclidean algorithm."""
        return self.ours - min(self.one, self.two)


def _against(summary: Summary, measure: str) -> dict[int, Rivals]:
    """All three, by the number of comparisons."""
    curves = [curve(summary, name, measure) for name in ("SingleStep", *EUCLIDEAN)]
    shared = [p for p in curves[0] if p in curves[1] and p in curves[2]]
    if not shared:
        raise MissingError("The run has no number of comparisons that all three have.")
    return {p: Rivals(*(error(measure, values[p]) for values in curves)) for p in shared}


def better_than_both(measure: str, summary: Summary) -> Verdict:
    """Ahead of both Euclidean algorithms at every number of comparisons."""
    found = _against(summary, measure)
    checks = [(f"at {p}", rivals.loss < 0) for p, rivals in found.items()]
    ends = {p: [number(error(measure, value)) for value in found[p]] for p in (min(found), max(found))}
    texts = [f"at {p}: {ours} against {one} and {two}" for p, (ours, one, two) in ends.items()]
    won = sum(passed for _, passed in checks)
    measured = f"Better than both on {LABELS[measure]} at {won} of {len(checks)} numbers of comparisons; "
    return weigh(
        checks, measured + "; ".join(texts) + ".", "Better: the median, at every number of comparisons."
    )


def little_loss(summary: Summary) -> Verdict:
    """At most 0.05 behind the better Euclidean algorithm."""
    checks: list[Check] = []
    worst = {}
    for measure in ("ur", "kendall", "top10"):
        loss = {p: rivals.loss for p, rivals in _against(summary, measure).items()}
        checks += [(f"{LABELS[measure]} at {p}", lost <= 0.05) for p, lost in loss.items()]
        worst[measure] = max(loss.items(), key=lambda pair: pair[1])
    text = ", ".join(f"{LABELS[key]} {lost:+.3f} at {p}" for key, (p, lost) in worst.items())
    rule = "Little: the median at most 0.05 worse than that of the better Euclidean algorithm."
    return weigh(checks, f"Largest loss: {text}.", rule)


def insignificant_loss(summary: Summary) -> Verdict:
    """No worse than the worse quartile of the better Euclidean algorithm."""
    checks: list[Check] = []
    for measure in ("ur", "kendall", *TOPS):
        quartile = [
            curve(summary, name, measure, of="low" if measure in TOPS else "high") for name in EUCLIDEAN
        ]
        for p, rivals in _against(summary, measure).items():
            bound = min(error(measure, one[p]) for one in quartile)
            checks.append((f"{LABELS[measure]} at {p}", rivals.ours <= bound + 1e-9))
    inside = sum(passed for _, passed in checks)
    measured = (
        f"Inside in {inside} of {len(checks)} medians of UR, Kendall and the shares of the top 5, 10 and 20."
    )
    rule = (
        "Not significant: the median is no worse than the worse quartile of the better Euclidean algorithm."
    )
    return weigh(checks, measured, rule)


def loss_shrinks(summary: Summary) -> Verdict:
    """The loss at the most comparisons is none, or less than at the fewest."""
    checks: list[Check] = []
    texts = []
    for measure in ("ur", "kendall", *TOPS):
        loss = {p: rivals.loss for p, rivals in _against(summary, measure).items()}
        first, last = span(loss)
        checks.append((LABELS[measure], loss[last] <= max(loss[first], 0.01)))
        texts.append(f"{LABELS[measure]} {loss[first]:+.3f} to {loss[last]:+.3f}")
    measured = f"Loss from {first} to {last} comparisons (minus is a gain): {', '.join(texts)}."
    return weigh(
        checks, measured, "Shrinks: at the most comparisons at most 0.01, or less than at the fewest."
    )


def small_wer_means_recovered(summary: Summary) -> Verdict:
    """The Euclidean algorithms never recover M; their WER must not be small, then."""
    low = {(name, p): v for name in EUCLIDEAN for p, v in curve(summary, name, "wer", of="low").items()}
    name, p = least = min(low, key=lambda key: low[key])
    rule = (
        "The Euclidean algorithms take M = I, which is wrong here, so a quarter of their trials must not "
        "have a WER of 0.05 or less. WER looks at eigenvectors alone; the learned eigenvalues do not enter."
    )
    measured = f"Smallest lower quartile of WER: {number(low[least])}, of {name} at {p}."
    return weigh([("a small WER with a wrong M", low[least] > 0.05)], measured, rule)


def large_wer_with_good_fit(summary: Summary) -> Verdict:
    """With M = I the eigenvectors are arbitrary: WER is large where everything else is good."""
    ur, kendall = (curve(summary, "SingleStep", key) for key in ("ur", "kendall"))
    high = curve(summary, "SingleStep", "wer", of="high")
    good = [p for p in high if ur[p] <= 0.05 and kendall[p] <= 0.05]
    if not good:
        raise MissingError("No number of comparisons has a good fit (UR and Kendall at most 0.05).")
    p = max(good, key=lambda key: high[key])
    measured = (
        f"At {p}: upper quartile of WER {number(high[p])}, UR {number(ur[p])}, Kendall {number(kendall[p])}."
    )
    rule = "Large: somewhere an upper quartile of WER of 0.1 or more where UR and Kendall are at most 0.05."
    return weigh([("a large WER with a good fit", high[p] >= 0.1)], measured, rule)


def _steps(summary: Summary, measure: str, low: int, high: int) -> dict[int, tuple[float, float]]:
    """Errors before and after alternating for numbers of comparisons in a range."""
    before, after = (curve(summary, name, measure) for name in (START, ORACLE))
    found = {
        p: (error(measure, before[p]), error(measure, after[p]))
        for p in before
        if low <= p <= high and p in after
    }
    if not found:
        raise MissingError(f"The run has no number of comparisons from {low} to {high}.")
    return found


def _change(before: float, after: float) -> float:
    """By what share the error fell."""
    return (before - after) / max(before, 1e-12)


def _told(measure: str, found: Mapping[int, tuple[float, float]]) -> str:
    pairs = ((p, error(measure, a), error(measure, b)) for p, (a, b) in found.items())
    return f"{LABELS[measure]} " + ", ".join(f"{number(a)} to {number(b)} at {p}" for p, a, b in pairs)


def hardly_helps(low: int, high: int, summary: Summary) -> Verdict:
    """UR falls by less than 0.05, or by less than 15 %."""
    found = _steps(summary, "ur", low, high)
    checks = [(f"at {p}", a - b < 0.05 or _change(a, b) < 0.15) for p, (a, b) in found.items()]
    return weigh(
        checks, _told("ur", found) + ".", "Hardly: the median UR falls by less than 0.05 or less than 15 %."
    )


def helps(measures: Sequence[str], summary: Summary) -> Verdict:
    """Alternating has a smaller error at every number of comparisons from 40 to 200."""
    found = {measure: _steps(summary, measure, 40, 200) for measure in measures}
    checks = [(f"{LABELS[key]} at {p}", b < a) for key, steps in found.items() for p, (a, b) in steps.items()]
    measured = "; ".join(_told(key, steps) for key, steps in found.items())
    return weigh(
        checks, f"{measured}.", "Helps: a better median at every number of comparisons from 40 to 200."
    )


def cuts_by_60(summary: Summary) -> Verdict:
    """The largest fall of UR between 40 and 200 comparisons."""
    falls = {p: _change(a, b) for p, (a, b) in _steps(summary, "ur", 40, 200).items()}
    p = max(falls, key=lambda key: falls[key])
    own = curve(summary, OWN, "ur").get(p)
    other = f"; with our stop UR is {number(own)} there" if own is not None else ""
    rule = "Nearly 60 %: the median UR falls by 55 % or more somewhere from 40 to 200; in part from 30 %."
    measured = f"At most {100 * falls[p]:.0f} %, at {p} comparisons{other}."
    return grade(falls[p] >= 0.55, falls[p] >= 0.3, measured, rule)


def start_is(good: bool, low: int, high: int, summary: Summary) -> Verdict:
    """UR before alternating: small where there is nothing to gain, large where nothing can be known."""
    found = {p: a for p, (a, _) in _steps(summary, "ur", low, high).items()}
    checks = [(f"at {p}", value <= 0.1 if good else value >= 0.3) for p, value in found.items()]
    text = ", ".join(f"{number(value)} at {p}" for p, value in found.items())
    rule = (
        "Very accurate: a median UR of at most 0.1."
        if good
        else "Not recovered: a median UR of at least 0.3."
    )
    return weigh(checks, f"UR before alternating: {text}.", rule)


def kendall_stays(summary: Summary) -> Verdict:
    """The real measure changes by at most 0.03."""
    found = {key: _steps(summary, key, 0, 10**9) for key in ("kendall", "kendall_authors")}
    checks = [(f"at {p}", abs(a - b) <= 0.03) for p, (a, b) in found["kendall"].items()]
    most = {
        key: max(steps.items(), key=lambda pair: abs(pair[1][0] - pair[1][1])) for key, steps in found.items()
    }
    text = ", ".join(f"{LABELS[key]} {b - a:+.3f} at {p}" for key, (p, (a, b)) in most.items())
    return weigh(checks, f"Largest change: {text}.", "The same: the median of the real measure within 0.03.")


def lost_along_kernel(summary: Summary) -> Verdict:
    """Where M has a kernel, u is off along it and not across it."""
    cells = [cell for cell in cells_of(summary) if cell["smallest"] == 0]
    if not cells:
        raise MissingError("The run has no singular M.")
    along, across = cells[0]["error_along"], cells[0]["error_across"]
    measured = (
        f"M singular: error of u {number(along)} along its kernel, {number(across)} across, in units of |u|."
    )
    checks = [("lost along", along >= 0.3), ("five times the error across", along >= 5 * across)]
    return weigh(checks, measured, "Lost: an error of 0.3 or more, and five times that across the kernel.")


def found_if_definite(summary: Summary) -> Verdict:
    """Where all eigenvalues are of one size, u is found along the weakest direction too."""
    cell = max(cells_of(summary), key=lambda one: float(one["smallest"]))
    if cell["smallest"] < 0.3:
        raise MissingError("The run has no M whose smallest eigenvalue is 0.3 or more.")
    measured = (
        f"Smallest eigenvalue {cell['smallest']:g}: error {number(cell['error_along'])} along its direction, "
    )
    measured += f"{number(cell['error_across'])} across."
    checks = [(key, cell[f"error_{key}"] <= 0.1) for key in ("along", "across")]
    return weigh(checks, measured, "Found: errors of at most 0.1 of |u|.")


def hard_if_ill_conditioned(summary: Summary) -> Verdict:
    """M is definite, but nearly not: u is as good as lost along its weakest direction."""
    cells = sorted(cells_of(summary), key=lambda one: float(one["smallest"]))
    weak = [cell for cell in cells if 0 < cell["smallest"] <= 0.03]
    if not weak or cells[-1]["smallest"] < 0.3:
        raise MissingError("The run has no smallest eigenvalues both up to 0.03 and from 0.3.")
    sound = cells[-1]["error_along"]
    checks = [(f"at {cell['smallest']:g}", cell["error_along"] >= 3 * sound) for cell in weak]
    texts = [f"{number(cell['error_along'])} at {cell['smallest']:g}" for cell in (*weak, cells[-1])]
    rule = "Hard: at smallest eigenvalues up to 0.03, three times the error at the largest one or more."
    return weigh(checks, f"Error along the weakest direction: {', '.join(texts)}.", rule)


def rest_is_found(summary: Summary) -> Verdict:
    """What decides the answers is found whatever the smallest eigenvalue."""
    found = {cell["smallest"]: cell["error_across"] for cell in cells_of(summary)}
    checks = [(f"at {smallest:g}", value <= 0.1) for smallest, value in found.items()]
    measured = f"Error of u across the weakest direction: from {number(min(found.values()))} to "
    rule = "Little role: the rest of u is found to 0.1 of |u| at every smallest eigenvalue."
    return weigh(checks, f"{measured}{number(max(found.values()))}.", rule)
