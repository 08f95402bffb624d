"""Whose result may be seen, and where it comes from: a first look, or a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from starlette.exceptions import HTTPException
from starlette.requests import Request

from coombs.inference.population_belief import PopulationBelief
from coombs.language import Translatable
from coombs.study import Respondent
from coombs.study.online_model import Snapshot
from coombs.web.fitted_result import FittedResult
from coombs.web.learning.learning_queue import LearningQueue
from coombs.web.owner_access import visitor_of
from coombs.web.routing import cache_of, slowly

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


NOT_SHOWN = Translatable("This study does not show people their results.")
PATIENCE_FOR_RESULT = 0.4
"""Seconds that a first look at a result waits for the model to read the answers, as after a restart."""


def latest_snapshot(request: Request, respondent: Respondent) -> Snapshot | None:
    """What the live model says of the answers; None where it takes longer than anybody should wait."""
    queue: LearningQueue = request.app.state.queue
    queue.update(respondent, PATIENCE_FOR_RESULT)
    return respondent.snapshot


def whose_result(request: Request, token: str) -> Respondent:
    """Whose link that is; 404 where the study shows people no result, unless the owner looks."""
    respondent = cache_of(request).respondent(token)
    if not respondent.study.presentations.current.shows_result and not visitor_of(request.scope).is_owner:
        raise HTTPException(404, NOT_SHOWN)
    return respondent


async def fitted_result(request: Request, token: str) -> tuple[Respondent, FittedResult | None]:
    """Whose link that is, and the result of their answers, None before the first."""
    cache = cache_of(request)
    respondent = await slowly(request, whose_result, request, token)
    return respondent, await slowly(request, cache.fitted, respondent)
