"""How a study asks, and when it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, Self

from coombs.data.tables import InputError
from coombs.data.wishes import wish_texts
from coombs.inference.kinds import METRICS
from coombs.questions import STRATEGIES

SUREST = 0.99
"""The largest certainty that 240 draws can tell from being sure."""
MOST_QUESTIONS = 100_000
"""The largest number of questions that everybody may get."""
AVERAGES = ("auto", "smooth")
"""Kinds that are not a metric: questions are chosen by an average."""


@dataclass(frozen=True)
class Settings:
    """How a study asks, and when it is done.

    Parameters
    ----------
    strategy : "information" (learn the preferences), "best" (find the favourites) or "random"
    probes : the share of questions that are random pairs, kept as an unbiased test
    metric : as for `IdealPoint`; with "smooth", questions are chosen as for "auto"
    top, certainty : done when the best `top` items are right with this probability
    seed : of all chance
    wishes : declared directions and limits, as for `IdealPoint`, which are obeyed; items outside the limits
        are not in the study
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
    top: int = 5
    certainty: float = 0.8
    seed: int = 0
    wishes: tuple[str, ...] = ()
    shared_prior: bool | str = "auto"
    questions: int | None = None
    most_questions: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, str) or self.strategy not in STRATEGIES:
            raise InputError(f"strategy is {self.strategy!r}; it must be one of {', '.join(STRATEGIES)}.")
        if not isinstance(self.metric, str) or self.metric not in (*METRICS, *AVERAGES):
            raise InputError(
                f"metric is {self.metric!r}; it must be one of {', '.join((*AVERAGES, *METRICS))}."
            )
        if not _is_number(self.probes) or not 0 <= self.probes <= 1:
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
        # Numbers of numpy are not plain for JSON.
        for name, kind in (
            ("probes", float),
            ("top", int),
            ("certainty", float),
            ("seed", int),
            ("wishes", tuple),
        ):
            object.__setattr__(self, name, kind(getattr(self, name)))

    def _check_numbers(self) -> None:
        """That questions, where they are counted, are counted in one way."""
        for name in ("questions", "most_questions"):
            value = getattr(self, name)
            if value is None:
                continue
            if not _is_whole(value) or not 1 <= value <= MOST_QUESTIONS:
                raise InputError(
                    f"{name} is {value!r}; it must be a whole number from 1 to {MOST_QUESTIONS:,}, or None."
                )
            object.__setattr__(self, name, int(value))
        if self.questions is not None and self.most_questions is not None:
            raise InputError("questions and most_questions are both given; give one of the two.")

    @property
    def ends(self) -> bool:
        """Whether people are done at some time, and not when they like."""
        return self.questions is not None or self.most_questions is not None

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
        >>> Settings(top=5).goal(6)
        (3, 0.8)
        """
        k, certainty = self.top if k is None else k, self.certainty if certainty is None else certainty
        if not _is_whole(k) or k < 1:
            raise InputError(f"The number of best items is {k!r}; it must be a whole number from 1.")
        if not _is_number(certainty) or not 0 < certainty <= SUREST:
            raise InputError(f"The certainty is {certainty!r}; it must be above 0 and at most {SUREST}.")
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


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
