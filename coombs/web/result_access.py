"""Whose result may be seen, and where it comes from: a first look, or a fit."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request

from coombs.language import Translatable
from coombs.study import Respondent
from coombs.study.online_model import Snapshot
from coombs.web.fitted_result import FittedResult
from coombs.web.learning.learning_queue import LearningQueue
from coombs.web.owner_access import visitor_of
from coombs.web.routing import cache_of, slowly

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
