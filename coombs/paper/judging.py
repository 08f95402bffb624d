"""How a claim is judged: a rule makes checks of a summary's numbers, and the checks make the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

Summary: TypeAlias = Mapping[str, Any]
Check: TypeAlias = tuple[str, bool]

NOT_ASKED = "The experiment was not part of this run."
FEW_TRIALS = 10
"""Fewer than these are mentioned in the verdict."""
MOST_NAMED = 6
"""Failed checks that a verdict names."""


class Outcome(StrEnum):
    """What became of a claim: the whole list."""

    HOLDS = "holds"
    PART = "holds in part"
    NOT = "does not hold"
    NOT_RUN = "not run"


class Verdict(NamedTuple):
    """What became of a claim, the numbers, and what they were held against."""

    outcome: Outcome
    measured: str
    reason: str


class MissingError(LookupError):
    """What a rule would need and a summary does not have."""


@dataclass(frozen=True)
class Claim:
    """A claim in our words, where the paper makes it, and the rule that judges it from a summary."""

    experiment: str
    where: str
    text: str
    rule: Callable[[Summary], Verdict]

    def judge(self, summary: Summary | None, reason: str = NOT_ASKED) -> Verdict:
        """The verdict on a summary; without one, that it was not run, for this reason."""
        if summary is None:
            return Verdict(Outcome.NOT_RUN, "", reason)
        try:
            found = self.rule(summary)
        except MissingError as error:
            return Verdict(Outcome.NOT_RUN, "", str(error))
        except KeyError as error:
            return Verdict(Outcome.NOT_RUN, "", f"The summary has no {error.args[0]!r}.")
        return found._replace(reason=f"{found.reason}{_few_trials(summary)}")


def weigh(checks: Sequence[Check], measured: str, rule: str) -> Verdict:
    """Holds if every check does, in part if at least half of them do, otherwise not."""
    if not checks:
        raise MissingError("The summary has nothing to judge it by.")
    failed = [name for name, passed in checks if not passed]
    if not failed:
        return Verdict(Outcome.HOLDS, measured, rule)
    outcome = Outcome.PART if 2 * len(failed) <= len(checks) else Outcome.NOT
    more = f" and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
    count = f"So in {len(checks) - len(failed)} of {len(checks)}; not" if len(checks) > 1 else "Not so"
    return Verdict(outcome, measured, f"{rule} {count}: {', '.join(failed[:MOST_NAMED])}{more}.")


def grade(fully: bool, partly: bool, measured: str, rule: str) -> Verdict:
    """For one number with two thresholds."""
    return Verdict(Outcome.HOLDS if fully else Outcome.PART if partly else Outcome.NOT, measured, rule)


def cells_of(summary: Summary) -> Sequence[Mapping[str, Any]]:
    """Its cells, of which there must be one."""
    found: Sequence[Mapping[str, Any]] = summary.get("cells", ())
    if not found:
        raise MissingError("The summary has no cells.")
    return found


def number(value: float) -> str:
    """With three decimals."""
    return f"{round(value, 3) + 0.0:.3f}"


def _few_trials(summary: Summary) -> str:
    trials = [cell["trials"] for cell in summary.get("cells", ()) if "trials" in cell]
    return f" Only {min(trials)} trials of each." if trials and min(trials) < FEW_TRIALS else ""
