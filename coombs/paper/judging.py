"""How a claim is judged: numbers of a summary, each against a threshold, make the verdict."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

Summary: TypeAlias = Mapping[str, Any]

NOT_ASKED = "The experiment was not part of this run."
FEW_TRIALS = 10
"""Fewer than these are mentioned in the verdict."""
MOST_NAMED = 6
"""Failed checks that a verdict names."""
MOST_LISTED = 12
"""Values that a sentence lists."""
NO_DECIMALS = 1000
"""Numbers from here on are shown without decimals."""
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
VIEWS = {"standardized": "with standardised features", "IdealPoint": "by IdealPoint"}
"""What others than SingleStep as it is learned about applicants, under these keys of a summary."""
PRIVATE = {
    "simulated": "On simulated applicants: the paper's are private.",
    "GradCafe": "On other applicants: the paper's are private.",
}


class Outcome(StrEnum):
    """What became of a claim: the whole list."""

    HOLDS = "holds"
    PART = "holds in part"
    NOT = "does not hold"
    NOT_RUN = "not run"


class ClaimVerdict(NamedTuple):
    """What became of a claim, the numbers, and what they were held against."""

    outcome: Outcome
    measured: str
    reason: str


class MissingError(LookupError):
    """What a quantity would need and a summary does not have."""


class NoMetricError(Exception):
    """The program's optimum is M = 0."""


class Measured(NamedTuple):
    """A quantity: what it is, and the values that are held against the threshold, by name."""

    what: str
    checks: Mapping[str, float]
    shown: Sequence[str] = ()
    """What the sentence lists, where the values themselves would tell a reader less."""
    note: str = ""
    aim: str = ""
    """What the values should be near."""

    @property
    def text(self) -> str:
        """The quantity in a sentence, as "Error of u: 0.904 (along), 0.030 (across)."."""
        return f"{self.what}: {', '.join(self.shown or listed(self.checks))}."


def listed(values: Mapping[str, float]) -> list[str]:
    """Each value with its name; of many the least and the greatest."""
    texts = {name: f"{number(value)} ({name})" if name else number(value) for name, value in values.items()}
    if len(values) <= MOST_LISTED:
        return list(texts.values())
    least, greatest = (end(values, key=lambda name: values[name]) for end in (min, max))
    return [f"{len(values)} values from {texts[least]} to {texts[greatest]}"]


def number(value: float) -> str:
    """With three decimals, without a minus before zeros; a large one with four digits."""
    return f"{round(value, 3) + 0.0:.3f}" if abs(value) < NO_DECIMALS else f"{value:.4g}"


@dataclass(frozen=True)
class Claim:
    """A claim, and when it holds: every value of a quantity is on the right side of the threshold.

    Parameters
    ----------
    where : the paper makes it
    quantity : values and their description, computed from a summary
    comparison : "<", "<=", ">", ">=" or "=="
    threshold : for all values, or for those whose names begin so
    text : the claim in our words
    rule : what the comparison is, in words
    in_part : a weaker threshold for a single value, up to which the claim holds in part
    comparisons : a run with fewer cannot refute the claim
    any_data : whether the data do not matter
    experiment : that it is about
    """

    where: str
    quantity: Callable[[Summary], Measured]
    comparison: str
    threshold: float | Mapping[str, float]
    text: str
    rule: str
    in_part: float | None = None
    comparisons: int = 0
    any_data: bool = False
    experiment: str = ""

    def judge(self, summary: Summary | None, reason: str = NOT_ASKED) -> ClaimVerdict:
        """The verdict on a summary; without one, that it was not run, for this reason."""
        if summary is None:
            return ClaimVerdict(Outcome.NOT_RUN, "", reason)
        try:
            verdict = self._verdict(summary) if self.any_data else self._of_views(summary)
        except MissingError as error:
            return ClaimVerdict(Outcome.NOT_RUN, "", str(error))
        except KeyError as error:
            return ClaimVerdict(Outcome.NOT_RUN, "", f"The summary has no {error.args[0]!r}.")
        return verdict._replace(reason=f"{verdict.reason}{_few_trials(summary)}")

    def _verdict(self, view: Summary) -> ClaimVerdict:
        """By the rule alone."""
        try:
            measured = self.quantity(view)
        except NoMetricError:
            text = "M = 0 is the optimum: no metric is learned."
            return ClaimVerdict(Outcome.NOT, text, "Not without a metric.")
        checks, text, rule = measured.checks, measured.text, self.rule.format(aim=measured.aim)
        if not checks:
            raise MissingError("The summary has nothing to judge it by.")
        passed = {name: self._passes(name, value, self.threshold) for name, value in checks.items()}
        if self.in_part is not None:
            ((name, value),) = checks.items()
            partly = passed[name] or self._passes(name, value, self.in_part)
            return ClaimVerdict(outcome_of([passed[name], partly]), text, rule)
        failed = [name for name, is_so in passed.items() if not is_so]
        reason = f"{rule}{_named(failed, len(checks))}{measured.note}"
        verdict = ClaimVerdict(outcome_of(list(passed.values())), text, reason)
        if not self.comparisons or verdict.outcome is Outcome.HOLDS:
            return verdict
        last = max(cell["answers"] for cell in view["cells"])
        if last >= self.comparisons:
            return verdict
        why = f" This run ends at {last} comparisons; the claim is about {self.comparisons}."
        return verdict._replace(outcome=Outcome.NOT_RUN, reason=verdict.reason + why)

    def _passes(self, name: str, value: float, threshold: float | Mapping[str, float]) -> bool:
        if isinstance(threshold, Mapping):
            threshold = next(limit for start, limit in threshold.items() if name.startswith(start))
        return COMPARE[self.comparison](value, threshold)

    def _of_views(self, summary: Summary) -> ClaimVerdict:
        """Beside what others learned; on other applicants than the paper's it holds in part at best."""
        key = self._fair_view(summary)
        verdict = self._verdict(summary if key is None else summary[key])
        others = {name: self._outcome(summary.get(view)) for view, name in VIEWS.items() if view != key}
        beside = [
            f"{name} it {outcome}" for name, outcome in others.items() if outcome is not Outcome.NOT_RUN
        ]
        private = PRIVATE.get(summary.get("data", ""), "")
        reasons = (
            verdict.reason,
            "" if key is None else f"Judged {VIEWS[key]}: in their own units not even the truth has it.",
            f"Beside it: {', '.join(beside)}." if beside else "",
            private,
        )
        capped = Outcome.PART if private and verdict.outcome is Outcome.HOLDS else verdict.outcome
        return ClaimVerdict(capped, verdict.measured, " ".join(filter(None, reasons)))

    def _fair_view(self, summary: Summary) -> str | None:
        """The standardised view, if the truth has what is claimed in units of spreads only."""
        key = "standardized"
        own, spreads = (self._outcome(view.get("truth")) for view in (summary, summary.get(key, {})))
        return key if spreads is Outcome.HOLDS and own in (Outcome.PART, Outcome.NOT) else None

    def _outcome(self, view: Summary | None) -> Outcome:
        try:
            return self._verdict(view or {}).outcome
        except LookupError:
            return Outcome.NOT_RUN


def outcome_of(passed: Sequence[bool]) -> Outcome:
    """Holds if every check is passed, in part if at least half of them are, otherwise not."""
    if all(passed):
        return Outcome.HOLDS
    return Outcome.PART if 2 * sum(passed) >= len(passed) else Outcome.NOT


def _named(failed: Sequence[str], n_checks: int) -> str:
    """The checks that failed, in words."""
    if not failed:
        return ""
    more = f" and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
    count = f"So in {n_checks - len(failed)} of {n_checks}; not" if n_checks > 1 else "Not so"
    return f" {count}: {', '.join(failed[:MOST_NAMED])}{more}."


def _few_trials(summary: Summary) -> str:
    trials = [cell["trials"] for cell in summary.get("cells", ()) if "trials" in cell]
    return f" Only {min(trials)} trials of each." if trials and min(trials) < FEW_TRIALS else ""
