"""How a study asks, and when it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Self

from coombs.data import naming
from coombs.data.tables import InputError
from coombs.data.wishes import wish_texts
from coombs.inference.kinds import METRICS
from coombs.language import Translatable
from coombs.questions import STRATEGIES
from coombs.set_questions import LARGEST

SUREST = 0.99
"""The largest certainty that 240 draws can tell from being sure."""
FIXED = "fixed"
"""The strategy that asks none but fixed questions, and the purpose of those."""
MOST_FIXED = 500
"""Fixed questions, at most."""
MOST_QUESTIONS = 100_000
"""The largest number of questions that everybody may get."""
TOPS = ((30, 5), (6, 3), (0, 1))
"""Numbers of items, and of best items to be found from so many items on, if nobody says."""
AVERAGES = ("auto", "smooth")
"""Kinds that are not a metric: questions are chosen by an average."""


@dataclass(frozen=True)
class Settings:
    """How a study asks, and when it is done.

    Parameters
    ----------
    strategy : "information" (learn the preferences), "best" (find the favourites), "random", or "fixed" (none
        but the fixed questions)
    probes : the share of questions that are random pairs, kept as an unbiased test
    metric : as for `IdealPoint`; with "smooth", questions are chosen as for "auto"
    top, certainty : done when the best `top` items are right with this probability; by default 1 of up to 5
        items, 3 of up to 29, and else 5
    seed : of all chance
    wishes : declared directions and limits, as for `IdealPoint`, which are obeyed; items outside the limits
        are not in the study
    set_size : items in a question: 2 asks which of a pair is preferred, 3 to 5 for the best and the worst of
        a set; of fewer items, all of them
    fixed : how many questions are the same for everybody and come first, in an order of each person's own:
        drawn once by the seed, each item about as often; or a list of them by items' names, as
        (("tea", "milk"), ("tea", "coffee"))
    repeats : after how many answers an earlier question comes again, its sides swapped, as (12, 18)
    attention : questions with a known right answer: after how many answers, the right item, the wrong one, as
        ((10, "tea", "soap"),). Nothing is learned from them
    shared_prior : True learns from the study's people what is known of the next before their first answer
        (from three people on), "auto" does so from ten people on, unless a prior was given; False never does
    questions : everybody gets so many questions, and is done then; None leaves the number open
    most_questions : everybody is done when the best items are certain, or after so many questions; None goes
        on as long as people like

    Examples
    --------
    >>> from coombs.study import Settings
    >>> Settings(top=3).certainty
    0.8
    """

    strategy: str = "information"
    probes: float = 0.1
    metric: str = "auto"
    top: int | None = None
    certainty: float = 0.8
    seed: int = 0
    wishes: tuple[str, ...] = ()
    shared_prior: bool | str = "auto"
    set_size: int = 2
    fixed: int | tuple[tuple[str, ...], ...] = 0
    repeats: tuple[int, ...] = ()
    attention: tuple[tuple[int, str, str], ...] = ()
    questions: int | None = None
    most_questions: int | None = None

    def __post_init__(self) -> None:
        known = (*STRATEGIES, FIXED)
        if not isinstance(self.strategy, str) or self.strategy not in known:
            raise InputError(f"strategy is {self.strategy!r}; it must be one of {', '.join(known)}.")
        if not isinstance(self.metric, str) or self.metric not in (*METRICS, *AVERAGES):
            raise InputError(
                f"metric is {self.metric!r}; it must be one of {', '.join((*AVERAGES, *METRICS))}."
            )
        if not naming.is_number(self.probes) or not 0 <= self.probes <= 1:
            raise InputError(f"probes is {self.probes!r}; it must be a share from 0 to 1.")
        if not _is_whole(self.seed) or self.seed < 0:
            raise InputError(f"seed is {self.seed!r}; it must be a whole number, not negative.")
        if isinstance(self.wishes, str):
            raise InputError(f"wishes are {self.wishes!r}; they must be a list of texts, as 'price: less'.")
        object.__setattr__(self, "wishes", tuple(wish_texts(self.wishes)))
        words = isinstance(self.shared_prior, str) and self.shared_prior == "auto"
        if not isinstance(self.shared_prior, bool) and not words:
            raise InputError(f"shared_prior is {self.shared_prior!r}; it must be True, False or 'auto'.")
        self._check_numbers()
        self.goal(2)
        self._check_asking()
        # Numbers of numpy are not plain for JSON.
        for name, kind in (
            ("probes", float),
            ("top", int),
            ("certainty", float),
            ("seed", int),
            ("wishes", tuple),
            ("set_size", int),
        ):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else kind(value))

    def _check_asking(self) -> None:
        """Refuse what cannot be asked; lists become tuples, so that settings can be compared."""
        if not _is_whole(self.set_size) or not 2 <= self.set_size <= LARGEST:
            raise InputError(f"set_size is {self.set_size!r}; it must be 2 (pairs) or up to {LARGEST}.")
        object.__setattr__(self, "fixed", _fixed(self.fixed))
        object.__setattr__(self, "repeats", _repeats(self.repeats))
        object.__setattr__(self, "attention", _attention(self.attention))
        if self.strategy == FIXED and not self.fixed:
            raise InputError(
                Translatable("strategy is 'fixed' and there are no fixed questions; say how many, or which.")
            )

    @property
    def chosen_by(self) -> str:
        """The strategy by which questions are chosen after those that are fixed; random where none are."""
        return "random" if self.strategy == FIXED else self.strategy

    def _check_numbers(self) -> None:
        """Check that the number of questions is fixed in one way only."""
        for name in ("questions", "most_questions"):
            value = getattr(self, name)
            if value is None:
                continue
            if not _is_whole(value) or not 1 <= value <= MOST_QUESTIONS:
                raise InputError(
                    "{name} is {value}; it must be a whole number from 1 to {most}, or None.",
                    name=name,
                    value=repr(value),
                    most=f"{MOST_QUESTIONS:,}",
                )
            object.__setattr__(self, name, int(value))
        if self.questions is not None and self.most_questions is not None:
            raise InputError(
                Translatable("questions and most_questions are both given; give one of the two.")
            )

    @property
    def ends(self) -> bool:
        """Whether people are done at some time, and not when they like."""
        counted = self.questions is not None or self.most_questions is not None
        return counted or self.strategy == FIXED

    @property
    def asked_by(self) -> str:
        """The kind of preference that questions are chosen by."""
        return "auto" if self.metric in AVERAGES else self.metric

    def goal(self, n_items: int, k: Any = None, certainty: Any = None) -> tuple[int, float]:
        """Return k and certainty as given or by default; of few items, half of them at most.

        Parameters
        ----------
        n_items : number of items in the study
        k, certainty : as for `Study.progress`

        Returns
        -------
        (k, certainty)

        Examples
        --------
        >>> from coombs.study import Settings
        >>> Settings(top=5).goal(6), Settings().goal(12)
        ((3, 0.8), (3, 0.8))
        """
        certainty = self.certainty if certainty is None else certainty
        if k is None:
            k = next(top for least, top in TOPS if n_items >= least) if self.top is None else self.top
        if not _is_whole(k) or k < 1:
            raise InputError("The number of best items is {k}; it must be a whole number from 1.", k=repr(k))
        if not naming.is_number(certainty) or not 0 < certainty <= SUREST:
            raise InputError(
                "The certainty is {certainty}; it must be above 0 and at most {most}.",
                certainty=repr(certainty),
                most=SUREST,
            )
        return min(int(k), max(1, n_items // 2)), float(certainty)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Return the settings that a storage has, which may be from a later version.

        Parameters
        ----------
        stored : names and values; unknown names are passed over

        Returns
        -------
        Settings

        Examples
        --------
        >>> from coombs.study import Settings
        >>> Settings.of({"top": 3, "colour": "red"}).top
        3
        """
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})


def _fixed(value: Any) -> int | tuple[tuple[str, ...], ...]:
    """A number of questions, or the questions by items' names."""
    wrong = InputError(
        f"fixed is {value!r}; it must be a number of questions, or a list of them by name, as "
        "(('tea', 'milk'), ('tea', 'coffee'))."
    )
    if _is_whole(value) and 0 <= value <= MOST_FIXED:
        return int(value)
    if not isinstance(value, list | tuple) or not all(isinstance(one, list | tuple) for one in value):
        raise wrong
    made = tuple(tuple(naming.text(name) for name in one) for one in value)
    if any(not 2 <= len(set(one)) == len(one) <= LARGEST for one in made) or len(made) > MOST_FIXED:
        raise wrong
    return made if made else 0


def _repeats(value: Any) -> tuple[int, ...]:
    """Numbers of answers, rising."""
    given = [value] if _is_whole(value) else value
    if not isinstance(given, list | tuple) or not all(_is_whole(one) and one >= 1 for one in given):
        raise InputError(
            "repeats are {value}; they must be numbers of answers from 1, as {example}.",
            value=repr(value),
            example="(12, 18)",
        )
    return tuple(sorted(map(int, given)))


def _attention(value: Any) -> tuple[tuple[int, str, str], ...]:
    """Numbers of answers, rising, each with the right and the wrong item."""
    wrong = InputError(
        f"attention is {value!r}; it must be a list of checks: after how many answers, the right item, the "
        "wrong one, as ((10, 'tea', 'soap'),)."
    )
    if not isinstance(value, list | tuple):
        raise wrong
    made = []
    for one in value:
        if not isinstance(one, list | tuple) or len(one) != 3 or not _is_whole(one[0]) or one[0] < 0:
            raise wrong
        right, other = map(naming.text, one[1:])
        if right == other:
            raise wrong
        made.append((int(one[0]), right, other))
    return tuple(sorted(made))


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def by_number(
    settings: Settings, answered: int, left: int | None, fraction: float
) -> tuple[int | None, float]:
    """How many questions are left, and the progress from 0 to 1, where the number counts.

    `left` and `fraction` are the same by how certain the best items are.
    """
    if settings.questions is not None:
        return max(settings.questions - answered, 0), min(answered / settings.questions, 1.0)
    if settings.most_questions is None:
        return left, fraction
    rest = max(settings.most_questions - answered, 0)
    if not rest:
        return 0, 1.0
    return rest if left is None else min(left, rest), max(fraction, answered / settings.most_questions)
