"""What the holder of a respondent's link can do: ask, tell, undo, and see what is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from coombs.storage import AnsweredError
from coombs.study import Answer, Respondent
from coombs.study.participation import change_at_link, tell_at_link, undo_at_link
from coombs.web.api.bounded_json import BoundedRoute
from coombs.web.api.paging import After, Limit, after_number, point_to_next
from coombs.web.api.schemas import AnswerIn, AnswerOut, ChangeIn, ProgressOut, TurnOut, UndoIn
from coombs.web.learning.learning_queue import PATIENCE, PATIENCE_AT_FIRST
from coombs.web.proxies import root_of
from coombs.web.result_access import fitted_result
from coombs.web.routing import cache_of, ends_of, next_turn, slowly

Token = Annotated[str, Path(description="What the respondent's link holds: whoever has it answers as them")]
NOT_NOW: dict[str, Any] = {"description": "Consent or fields are missing, or the study is not open"}

router = APIRouter(prefix="/api/respondents/{token}", tags=["respondent"], route_class=BoundedRoute)


@router.get("/question", responses={403: NOT_NOW})
def question(request: Request, token: Token) -> TurnOut:
    """The question that waits for an answer, or a new one."""
    return _turn(request, cache_of(request).respondent(token), PATIENCE_AT_FIRST)


@router.post(
    "/tell", response_model=TurnOut, responses={403: NOT_NOW, 409: {"description": "It has another answer"}}
)
def tell(request: Request, token: Token, answer: AnswerIn) -> TurnOut | JSONResponse:
    """Keep an answer: when this returns it is stored. The reply has the next question."""
    respondent = cache_of(request).respondent(token)
    try:
        ends = ends_of(respondent, answer.best, answer.worst)
        tell_at_link(respondent, answer.question, answer.choice, **ends)
    except AnsweredError as error:
        return JSONResponse({"detail": str(error), **_turn(request, respondent).model_dump()}, 409)
    return _turn(request, respondent)


@router.post("/undo", responses={403: NOT_NOW})
def undo(request: Request, token: Token, which: UndoIn) -> TurnOut:
    """Take back an answer; its question comes again."""
    respondent = cache_of(request).respondent(token)
    undo_at_link(respondent, which.answer)
    return _turn(request, respondent)


@router.post("/change", response_model=AnswerOut, responses={403: NOT_NOW})
def change(request: Request, token: Token, instead: ChangeIn) -> Answer:
    """Put another answer in the place of one: both are stored before the reply, or neither.

    The new answer has an id of its own. The same again is refused, as the former answer stands no more.
    """
    respondent = cache_of(request).respondent(token)
    ends = ends_of(respondent, instead.best, instead.worst)
    return change_at_link(respondent, instead.answer, instead.choice, **ends)


@router.get("/progress")
def progress(request: Request, token: Token) -> ProgressOut:
    """How far it is."""
    return _turn(request, cache_of(request).respondent(token)).progress


@router.get("/history", response_model=list[AnswerOut])
def history(
    request: Request, response: Response, token: Token, limit: Limit = None, after: After = ""
) -> Sequence[Answer]:
    """The answers that stand, in their order."""
    last = after_number(after)
    found = [one for one in cache_of(request).respondent(token).history() if one.id > last]
    if limit is not None and len(found) > limit:
        found = found[:limit]
        point_to_next(request, response, limit, str(found[-1].id))
    return found


@router.get("/result")
async def result(request: Request, token: Token, explain: bool = False) -> dict[str, Any]:
    """Ranking, ideal and what matters, empty before the first answer; `explain` adds the explanation.

    Where `has_pattern` is false there is no ideal point, and the ranking is no better than chance.
    `response_style` says how the questions were answered; `conduct`, the same, is deprecated.
    """
    _, fitted = await fitted_result(request, token)
    if fitted is None:
        return {"has_pattern": False, "n_answers": 0, "ranking": [], "ideal_point": None}
    plain = await slowly(request, fitted.to_dict)
    return plain | ({"explanation": await slowly(request, fitted.explanation.to_dict)} if explain else {})


def _turn(request: Request, respondent: Respondent, patience: float = PATIENCE) -> TurnOut:
    turn = next_turn(request, respondent, patience=patience)
    return TurnOut.of(turn, respondent, root_of(request.scope))
