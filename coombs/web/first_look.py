"""A first look at somebody's result, from the model that chooses their questions: at once, without a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from coombs.inference.population_belief import PopulationBelief
from coombs.study import Respondent
from coombs.study.online_model import Snapshot

N_FIRST = 5
"""Items that a first look names."""


@dataclass(frozen=True)
class FirstLook:
    """What can be said before the fit: the likeliest best items, or nothing, and why.

    Parameters
    ----------
    n_answers : standing answers, skips not counted
    positions : of the items that come first; none while nothing was learned yet, or with doubts
    doubts : why none can be named, in sentences
    """

    n_answers: int
    positions: tuple[int, ...]
    doubts: tuple[str, ...]

    @classmethod
    def of(cls, respondent: Respondent, snapshot: Snapshot | None) -> Self:
        """By the person's own answers, as the result is, whatever others' the questions are chosen with."""
        doubts = respondent.doubts()
        n_answers = sum(one.is_learned_from for one in respondent.history())
        if snapshot is None or doubts:
            return cls(n_answers, (), doubts)
        belief = snapshot.belief
        own = belief.own if isinstance(belief, PopulationBelief) else belief
        return cls(n_answers, tuple(snapshot.order(own)[:N_FIRST].tolist()), ())
