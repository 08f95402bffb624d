"""What speaks against somebody's answers: sides, haste, failed checks, repeats that differ, a coin's answers.

A flag is a reason to look, not a verdict. The tests of sides, repeats and predictions are made for false
alarms below 1 % of people who do look at the items; benchmarks/flags.md has whom they find and miss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Self

from scipy.special import bdtr, bdtrc

from coombs.language import Translatable
from coombs.storage.records import AnswerRecord, AnyAnswer, AnyQuestion, JudgementRecord
from coombs.study.history import History
from coombs.study.response_style import LEAST_SECONDS, LEAST_TIMES, NEARLY_ALWAYS, ResponseStyle
from coombs.study.response_style import SIGNIFICANCE as SIDES_SIGNIFICANCE
from coombs.study.study_records import ATTENTION, REPEAT

FLAGS = (
    Translatable("straight-lining"),
    Translatable("alternating"),
    Translatable("fast"),
    Translatable("attention"),
    Translatable("inconsistent"),
    Translatable("coin-like"),
)
"""All flags that there are."""
SAME_AGAIN = 0.8
"""Share of repeats that people who look at the items answer alike, at least."""
SIGNIFICANCE = 0.01
"""The probability below which so few alike repeats are not theirs."""
COIN_LIKE = -4.6
"""Log odds, a taste against a coin, from which down answers are like a coin's.

Where predictions are calibrated, the odds of a coin reach 100 to 1 by chance with probability 1/100 at most,
however long one looks (Ville's inequality): the logarithm of that.
"""


@dataclass(frozen=True)
class QualityFlags:
    """What speaks against somebody's answers, and the numbers behind it.

    Parameters
    ----------
    n_answers : standing answers to questions, skips counted
    seconds : the median time from a question to its answer; None without answers
    n_fast : answers in less than 0.35 seconds for each item shown
    n_attention, n_failed : attention checks that were answered, and those answered wrongly
    n_repeats, n_alike : repeats of an earlier question, and those answered as the first time
    log_odds : log of how much likelier the answers were by the predictions made before them than by a coin
    style : how the sides were chosen
    is_fast : whether the median is that of a fast answer, of at least ten answers
    has_one_place : whether the best and the worst of sets were (nearly) always in the same two places

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> study.respondent("ann").flags().names
    ()
    """

    n_answers: int
    seconds: float | None
    n_fast: int
    n_attention: int
    n_failed: int
    n_repeats: int
    n_alike: int
    log_odds: float
    style: ResponseStyle
    is_fast: bool
    has_one_place: bool = False

    @classmethod
    def of(cls, history: History) -> Self:
        """Return the flags of what stands, all of which was read.

        Parameters
        ----------
        history : a History

        Returns
        -------
        QualityFlags

        Examples
        --------
        >>> from coombs.study.history import History
        >>> QualityFlags.of(History()).n_answers
        0
        """
        asked = list(_asked(history))
        seconds = [max((answer.told - question.asked).total_seconds(), 0.0) for question, answer in asked]
        # Time for each item shown, so that larger sets may take longer.
        paces = [took / len(question.positions) for took, (question, _) in zip(seconds, asked, strict=True)]
        checks = [_is_right(*one) for one in asked if one[0].purpose == ATTENTION]
        repeats = [alike for alike in _repeats(asked) if alike is not None]
        least = LEAST_SECONDS / 2
        return cls(
            n_answers=len(asked),
            seconds=median(seconds) if seconds else None,
            n_fast=sum(pace < least for pace in paces),
            n_attention=len(checks),
            n_failed=checks.count(False),
            n_repeats=len(repeats),
            n_alike=repeats.count(True),
            log_odds=history.log_odds,
            style=ResponseStyle.of([one.choice for _, one in asked if isinstance(one, AnswerRecord)]),
            is_fast=len(paces) >= LEAST_TIMES and median(paces) < least,
            has_one_place=_has_one_place(asked),
        )

    @property
    def is_inconsistent(self) -> bool:
        """Whether fewer repeats were answered alike than looking at the items would give."""
        if not self.n_repeats:
            return False
        return bool(bdtr(self.n_alike, self.n_repeats, SAME_AGAIN) < SIGNIFICANCE)

    @property
    def is_coin_like(self) -> bool:
        """Whether a coin predicts the answers far better than what was learned from them."""
        return self.log_odds <= COIN_LIKE

    @property
    def names(self) -> tuple[str, ...]:
        """The flags that are raised, of `FLAGS`; none where nothing speaks against the answers."""
        raised = (
            self.style.is_straight_lining or self.has_one_place,
            self.style.is_alternating,
            self.is_fast,
            self.n_failed > 0,
            self.is_inconsistent,
            self.is_coin_like,
        )
        return tuple(name for name, is_raised in zip(FLAGS, raised, strict=True) if is_raised)

    def sentences(self, who: str = "You") -> tuple[str, ...]:
        """Return what is noticeable, one plain sentence or two for each flag.

        Parameters
        ----------
        who : how the sentences call the person

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.respondent("ann").flags().sentences()
        ()
        """
        found = list(self.style.sentences(who)) if self.style.is_mechanical else []
        if self.has_one_place:
            found.append(
                Translatable(
                    "{who} chose the best and the worst of sets by their places, not by the items.", who=who
                )
            )
        if self.is_fast:
            found.append(
                Translatable(
                    "{who} gave {fast} of {n} answer in less time than it takes to read the items."
                    "|{who} gave {fast} of {n} answers in less time than it takes to read the items.",
                    who=who,
                    fast=self.n_fast,
                    n=self.n_answers,
                )
            )
        if self.n_failed:
            found.append(
                Translatable(
                    "{who} answered {failed} of {n} attention check wrongly."
                    "|{who} answered {failed} of {n} attention checks wrongly.",
                    who=who,
                    failed=self.n_failed,
                    n=self.n_attention,
                )
            )
        if self.is_inconsistent:
            found.append(
                Translatable(
                    "{who} answered {alike} of {total} repeated questions as the first time.",
                    who=who,
                    alike=self.n_alike,
                    total=self.n_repeats,
                )
            )
        if self.is_coin_like:
            found.append(
                Translatable("{who} answered in a way that a coin predicts better than any taste.", who=who)
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the flags and the numbers as JSON can hold them.

        Returns
        -------
        dict

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.respondent("ann").flags().to_dict()["flags"]
        []
        """
        plain = {name: getattr(self, name) for name in _NUMBERS}
        return {"flags": list(self.names), **plain, "sentences": list(self.sentences())}


_NUMBERS = ("n_answers", "seconds", "n_fast", "n_attention", "n_failed", "n_repeats", "n_alike", "log_odds")
"""The fields that are plain numbers."""
Asked = tuple[AnyQuestion, AnyAnswer]
"""A question and its answer."""


def _asked(history: History) -> Iterator[Asked]:
    """The standing answers to questions, in their order."""
    for answer in history.answers.values():
        question = None if answer.question_id is None else history.questions.get(answer.question_id)
        if question is not None:
            yield question, answer


def _said(answer: AnyAnswer) -> Any:
    """What makes two answers to the same question alike, whichever sides its items stood on."""
    if isinstance(answer, AnswerRecord):
        return {"left": answer.left, "right": answer.right}.get(answer.choice, answer.choice)
    return answer.judgement.places[0][0] if isinstance(answer, JudgementRecord) else answer.choice


def _is_right(question: AnyQuestion, answer: AnyAnswer) -> bool | None:
    """Whether an attention check was answered as is right; None where it was skipped."""
    if answer.choice == "skip":
        return None
    left, right = question.positions
    return bool(_said(answer) == (left if (question.predicted or 0.0) > 0.5 else right))


def _has_one_place(asked: Sequence[Asked]) -> bool:
    """Whether the best and the worst were in the same two places too often: the order of a set is random."""
    places, sizes = Counter[tuple[int, int]](), []
    for question, answer in asked:
        if isinstance(answer, JudgementRecord):
            order, said = question.positions, answer.judgement.places
            places[order.index(said[0][0]), order.index(said[-1][0])] += 1
            sizes.append(len(order))
    if not sizes:
        return False
    # Each of k (k - 1) places is as likely; the commonest is tested, so all of them are.
    n, often, ways = len(sizes), max(places.values()), min(sizes) * (min(sizes) - 1)
    return often >= NEARLY_ALWAYS * n and bool(ways * bdtrc(often - 1, n, 1 / ways) < SIDES_SIGNIFICANCE)


def _repeats(asked: Sequence[Asked]) -> Iterator[bool | None]:
    """Of each repeat, whether it was answered as before; None where either was skipped."""
    first: dict[Any, Any] = {}
    for question, answer in asked:
        about, said = frozenset(question.positions), _said(answer)
        if question.purpose == REPEAT:
            before = first.get(about)
            yield None if before in (None, "skip") or said == "skip" else before == said
        elif question.purpose != ATTENTION:
            first.setdefault(about, said)
