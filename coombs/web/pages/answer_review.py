"""All of somebody's answers behind their link: look them over, the surprising ones first, and change any."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import Response

from coombs.study.participation import check_open, check_step
from coombs.web.given_answers import given_answers
from coombs.web.pages.rendering import go_to, render
from coombs.web.result_access import latest_snapshot, whose_result
from coombs.web.routing import cache_of

A_PAGE = 40
"""Answers on a page."""

router = APIRouter(prefix="/a/{token}/answers", include_in_schema=False)


@router.get("")
def answers_page(
    request: Request, token: str, order: str = "", page: int = 1, changed: int | None = None
) -> Response:
    """The answers, surprising ones first, or the latest first (`order=time`)."""
    cache, respondent = cache_of(request), whose_result(request, token)
    fitted = cache.kept_result(respondent)
    snapshot = None if fitted is not None else latest_snapshot(request, respondent)
    told = given_answers(respondent, fitted, snapshot)
    by_time = order == "time" or not any(one.is_surprising for one in told)
    if not by_time:
        told.sort(key=lambda one: 1.0 if one.chance is None else one.chance)
    last = max(1, -(-len(told) // A_PAGE))
    page = min(max(page, 1), last)
    cards = cache.cards(respondent)
    shown = [
        (one, cards.pair(*one.answer.positions) if one.is_pair else None)
        for one in told[(page - 1) * A_PAGE : page * A_PAGE]
    ]
    return render(
        request,
        "answers.html",
        person=respondent,
        token=token,
        shown=shown,
        count_of_all=len(told),
        n_surprising=sum(one.is_surprising for one in told),
        by_time=by_time,
        page=page,
        last=last,
        changed=next((one.answer for one in told if one.answer.id == changed), None),
    )


@router.post("")
def change_answer(
    request: Request,
    token: str,
    answer: Annotated[int, Form()],
    choice: Annotated[str, Form()],
    order: Annotated[str, Form()] = "",
) -> Response:
    """Put another choice in the place of an answer, both stored before the reply, or neither."""
    respondent = whose_result(request, token)
    check_open(respondent)
    check_step(respondent)
    found = respondent.change(answer, choice)
    return go_to(request, f"/a/{token}/answers?changed={found.id}{'&order=time' if order == 'time' else ''}")
