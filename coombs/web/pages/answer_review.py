"""All of somebody's answers behind their link: look them over, the surprising ones first, and change any."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import Response

from coombs.study.participation import change_at_link
from coombs.web.given_answers import given_answers
from coombs.web.pages.rendering import go_to, render
from coombs.web.result_access import latest_snapshot, whose_result
from coombs.web.routing import cache_of, ends_of

A_PAGE = 40
"""Answers on a page."""

router = APIRouter(prefix="/a/{token}/answers", include_in_schema=False)


@router.get("")
def answers_page(
    request: Request,
    token: str,
    order: str = "",
    page: int = 1,
    changed: int | None = None,
    both: bool = False,
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
        # By position, so that the cards of a set stay where they are when another is the best.
        (one, cards.of(one.answer.positions if one.is_pair else sorted(one.answer.positions)))
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
        is_one_both=both,
    )


@router.post("")
def change_answer(
    request: Request,
    token: str,
    answer: Annotated[int, Form()],
    choice: Annotated[str | None, Form()] = None,
    best: Annotated[int | None, Form()] = None,
    worst: Annotated[int | None, Form()] = None,
    order: Annotated[str, Form()] = "",
) -> Response:
    """Put another answer in the place of one, both stored before the reply, or neither."""
    respondent, home = whose_result(request, token), f"/a/{token}/answers"
    by_time = "&order=time" if order == "time" else ""
    if best is not None and best == worst:
        return go_to(request, f"{home}?both=true{by_time}#answer-{answer}")
    # The best and the worst are sent with the button that skips, too.
    ends = {} if choice is not None else ends_of(respondent, best, worst)
    found = change_at_link(respondent, answer, choice, **ends)
    return go_to(request, f"{home}?changed={found.id}{by_time}")
