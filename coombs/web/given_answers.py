"""All of somebody's answers, to be looked over: what was chosen, and how surprising it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from coombs import questions
from coombs.inference.population_belief import PopulationBelief
from coombs.study import Answer, Respondent
from coombs.study.online_model import Snapshot
from coombs.study.set_answers import BEST_WORST
from coombs.study.study_records import ATTENTION, REPEAT
from coombs.web.fitted_result import FittedResult

SURPRISING = 0.25
"""Probability of what was chosen below which an answer is called surprising."""


class GivenAnswer(NamedTuple):
    """An answer and how likely it was by all answers, itself among them; None where that is not known."""

    answer: Answer
    chance: float | None

    @property
    def is_pair(self) -> bool:
        """Whether it is about two items, so that another choice can take its place."""
        return self.answer.shape == "pair" and len(self.answer.positions) == 2

    @property
    def is_set(self) -> bool:
        """Whether it names the best and the worst of several, or passes over them."""
        return self.answer.shape == BEST_WORST

    @property
    def ends(self) -> dict[int, str]:
        """Positions of the best and the worst of a set, and which is which."""
        told = self.answer
        return {told.positions[0]: "best", told.positions[-1]: "worst"} if self.is_set and told.places else {}

    @property
    def is_surprising(self) -> bool:
        """Whether the other answers speak against it."""
        return self.chance is not None and self.chance < SURPRISING


def given_answers(
    respondent: Respondent, fitted: FittedResult | None, snapshot: Snapshot | None
) -> list[GivenAnswer]:
    """The answers, latest first, by the fit if it is at hand, or else by the live model.

    Without a pattern nothing is surprising. Checks of attention and repeats are no answers to look over.
    """
    told = [one for one in respondent.history() if one.purpose not in (ATTENTION, REPEAT)][::-1]
    clear = [one for one in told if one.shape == "pair" and one.choice in ("left", "right")]
    chances = dict(
        zip([one.id for one in clear], _chances(respondent, fitted, snapshot, clear), strict=False)
    )
    return [GivenAnswer(one, chances.get(one.id)) for one in told]


def _chances(
    respondent: Respondent, fitted: FittedResult | None, snapshot: Snapshot | None, clear: Sequence[Answer]
) -> list[float]:
    """Of each answer that prefers one of two items."""
    model: Any
    if fitted is not None:
        model = fitted.result.model if fitted.has_pattern else None
    elif snapshot is None or respondent.doubts():
        model = None
    else:
        belief = snapshot.belief
        model = belief.own if isinstance(belief, PopulationBelief) else belief
    if model is None or not clear:
        return []
    first = questions.information(model, np.array([one.positions for one in clear]))[1]
    left = np.array([one.choice == "left" for one in clear])
    found: list[float] = np.where(left, first, 1 - first).tolist()
    return found
