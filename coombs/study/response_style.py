"""How somebody answered, whatever they answered about: always one side, left and right in turn, in a hurry.

Which of two items stands on the left is random. So whoever looks at the items chooses either side with
probability 1/2, independently each time, and exact binomial tests tell whether somebody looks at sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Literal, Self

from scipy.special import betainc

from coombs.language import NumberText, Translatable
from coombs.storage.records import Choice
from coombs.study.study_records import Answer

SIGNIFICANCE = 0.001
"""The probability, two-sided, below which a share of sides is not random."""
NEARLY_ALWAYS = 0.9
"""The share of one side, or of changes of side, from which on nothing but sides was looked at."""
LEAST_SECONDS = 0.7
"""A median time for an answer below this is too short to read two items."""
LEAST_TIMES = 10
"""Times from which on their median is judged."""
YOU = "You"
"""How sentences call the person whom they are for."""


@dataclass(frozen=True)
class ResponseStyle:
    """How somebody answered.

    Parameters
    ----------
    n_choices : answers "left" or "right" to questions that were asked
    side : the side chosen more often; None without answers, or where both were chosen equally often
    side_share : the share of the commoner side among these answers; None without answers
    changes : the share of these answers, after the first, that are on the other side than the one before
    seconds : the median time between an answer and the next; None where times are not known
    prefers_side : whether one side was chosen more often than a person who does not look at sides would
        (two-sided binomial test, p < 0.001)
    is_straight_lining : whether it was chosen (nearly) always
    is_alternating : whether left and right were chosen in turn, (nearly) always
    is_hasty : whether the median time is below 0.7 seconds, of at least ten

    Examples
    --------
    >>> from coombs.study import ResponseStyle
    >>> ResponseStyle.of(["left"] * 30).is_straight_lining
    True
    """

    n_choices: int
    side: Literal["left", "right"] | None
    side_share: float | None
    changes: float | None
    seconds: float | None
    prefers_side: bool
    is_straight_lining: bool
    is_alternating: bool
    is_hasty: bool

    @classmethod
    def of(cls, choices: Sequence[Choice], seconds: Sequence[float] = ()) -> Self:
        """Return how a person answered.

        Parameters
        ----------
        choices : the answers to questions that were asked (left, right, tie, skip), in their order
        seconds : how long answers took, as far as it is known

        Returns
        -------
        ResponseStyle

        Examples
        --------
        >>> ResponseStyle.of(["left", "right", "right", "left", "tie"] * 5).is_mechanical
        False
        >>> ResponseStyle.of(["left", "right"] * 10).is_alternating
        True
        """
        sides: list[Any] = [one for one in choices if one in ("left", "right")]
        n = len(sides)
        counted = Counter(sides).most_common()
        n_side = counted[0][1] if counted else 0
        n_changes = sum(one != other for one, other in pairwise(sides))
        prefers_side = _is_significant(n_side, n)
        typical = median(seconds) if seconds else None
        return cls(
            n_choices=n,
            side=counted[0][0] if 2 * n_side > n else None,
            side_share=n_side / n if n else None,
            changes=n_changes / (n - 1) if n > 1 else None,
            seconds=typical,
            prefers_side=prefers_side,
            is_straight_lining=prefers_side and n_side >= NEARLY_ALWAYS * n,
            is_alternating=_is_significant(n_changes, n - 1) and n_changes >= NEARLY_ALWAYS * (n - 1),
            is_hasty=typical is not None and len(seconds) >= LEAST_TIMES and typical < LEAST_SECONDS,
        )

    @classmethod
    def of_answers(cls, answers: Sequence[Answer]) -> Self:
        """Return how a person answered, by the standing answers; those to no question have no sides.

        Parameters
        ----------
        answers : those of `Respondent.history`

        Returns
        -------
        ResponseStyle

        Examples
        --------
        >>> ResponseStyle.of_answers([]).n_choices
        0
        """
        asked = [one for one in answers if one.question is not None]
        gaps = [(later.told - earlier.told).total_seconds() for earlier, later in pairwise(asked)]
        choices = [one.choice for one in asked if one.choice is not None]
        return cls.of(choices, [gap for gap in gaps if gap >= 0])

    @property
    def is_mechanical(self) -> bool:
        """Whether the answers follow the sides, so that they say nothing about the items."""
        return self.is_straight_lining or self.is_alternating

    def sentences(self, who: str = YOU) -> tuple[str, ...]:
        """Return what is noticeable, one plain sentence or two for each finding.

        Parameters
        ----------
        who : how the sentences call the person

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> ResponseStyle.of(["left"] * 30).sentences()[0]
        'You always chose the left item: 30 of 30 times.'
        """
        return (*self._about_sides(who), *self._about_time(who))

    def _about_sides(self, who: str) -> tuple[str, ...]:
        nothing = Translatable(
            "Which item stands on which side is random, so such answers tell nothing about the items."
        )
        if self.prefers_side and self.side_share is not None:
            partly = Translatable(
                "Which item stands on which side is random, so some of these answers follow the side."
            )
            return self._chose_side(who), nothing if self.is_straight_lining else partly
        if self.is_alternating and self.changes is not None:
            total = self.n_choices - 1
            values: dict[str, Any] = {"who": who, "times": round(self.changes * total), "total": total}
            if who == YOU:
                turns = Translatable(
                    "You chose left and right in turn: {times} of {total} times the other side came next.",
                    **values,
                )
            else:
                turns = Translatable(
                    "{who} chose left and right in turn: {times} of {total} times the other side came next.",
                    **values,
                )
            return turns, nothing
        return ()

    def _chose_side(self, who: str) -> Translatable:
        """Which side, and how often."""
        side = Translatable("the left item") if self.side == "left" else Translatable("the right item")
        times = round((self.side_share or 0.0) * self.n_choices)
        values: dict[str, Any] = {"who": who, "side": side, "times": times, "total": self.n_choices}
        if times == self.n_choices:
            if who == YOU:
                return Translatable("You always chose {side}: {times} of {total} times.", **values)
            return Translatable("{who} always chose {side}: {times} of {total} times.", **values)
        if self.is_straight_lining:
            if who == YOU:
                return Translatable("You nearly always chose {side}: {times} of {total} times.", **values)
            return Translatable("{who} nearly always chose {side}: {times} of {total} times.", **values)
        if who == YOU:
            return Translatable("You chose {side}: {times} of {total} times.", **values)
        return Translatable("{who} chose {side}: {times} of {total} times.", **values)

    def _about_time(self, who: str) -> tuple[str, ...]:
        if not self.is_hasty or self.seconds is None:
            return ()
        took: str = Translatable("less than 0.1 seconds")
        if self.seconds >= 0.1:
            took = Translatable("{seconds} seconds", seconds=NumberText(f"{self.seconds:.1f}"))
        if who == YOU:
            said = Translatable(
                "You took {time} for an answer (the median), which is too short to read two items.", time=took
            )
        else:
            said = Translatable(
                "{who} took {time} for an answer (the median), which is too short to read two items.",
                who=who,
                time=took,
            )
        return (said,)


def _is_significant(n_of_one_kind: int, n: int) -> bool:
    """Whether so many heads, the more frequent side, are improbable for n tosses of a coin."""
    if 2 * n_of_one_kind <= n:
        return False
    # P(X >= k) = I_(1/2)(k, n - k + 1), the regularised incomplete beta function.
    return bool(2 * betainc(n_of_one_kind, n - n_of_one_kind + 1, 0.5) < SIGNIFICANCE)
