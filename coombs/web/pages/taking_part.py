"""What people see around the questions: consent, fields about them, instructions, thanks."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form
from starlette.requests import Request
from starlette.responses import Response

from coombs.study import Respondent
from coombs.study.participation import (
    ANSWERING,
    NotNowError,
    Step,
    agree,
    fill_in,
    finish,
    missing,
    redirect_address,
    step_of,
)
from coombs.web.pages.rendering import go_to, language_of, render_to_person
from coombs.web.proxies import root_of
from coombs.web.routing import ShownTurn, cache_of, is_through

router = APIRouter(prefix="/a/{token}", include_in_schema=False)
FIELD = "field "
"""Before the label of a field in the name of its input."""
REFUSED: dict[Step, int] = {"closed": 403, "not open yet": 403}
"""The status of pages that say why nothing can be done."""


SeenVersion = Annotated[int | None, Form(alias="consent version")]
"""The version of the texts whose consent somebody saw."""


async def typed_fields(request: Request) -> dict[str, str]:
    """What was typed into the fields about people, by their labels."""
    form = await request.form()
    return {
        name.removeprefix(FIELD): value
        for name, value in form.items()
        if name.startswith(FIELD) and isinstance(value, str)
    }


def page_before(request: Request, respondent: Respondent, begin: bool) -> Response | None:
    """What comes before the questions, if anything is left of it."""
    step = step_of(respondent)
    if step not in ANSWERING:
        return step_page(request, respondent, step)
    shown = respondent.study.presentations.current
    opening = shown.instructions or (shown.introduction and not shown.consent and not shown.before)
    if step == "questions" and opening and not begin and not respondent.was_asked():
        return _page(request, respondent, "instructions")
    return None


def step_page(
    request: Request,
    respondent: Respondent,
    step: Step,
    status: int = 200,
    **more: Any,
) -> Response:
    """The page of a step that has no question."""
    shown, record = respondent.study.presentations.current, respondent.record
    if step in ("before", "after"):
        more.setdefault("asked", missing(shown.before if step == "before" else shown.after, record))
    if step == "finished":
        more["onward"] = redirect_address(shown, record)
        if shown.shows_result:
            more["result"] = f"{root_of(request.scope)}/a/{record.token}/result"
    return _page(request, respondent, step, REFUSED.get(step, status), **more)


def turn_page(request: Request, respondent: Respondent, turn: ShownTurn) -> Response | None:
    """What comes after the questions, once they are answered; None while one is there."""
    if turn.step not in ("after", "finished"):
        return None
    last = turn.last if respondent.study.presentations.current.state() == "open" else None
    return step_page(request, respondent, turn.step, last=last)


def _page(request: Request, respondent: Respondent, step: str, status: int = 200, **more: Any) -> Response:
    nothing = {"wrong": False, "problems": {}, "typed": {}, "onward": "", "result": "", "last": None}
    return render_to_person(request, "taking_part.html", respondent, status, step=step, **{**nothing, **more})


@router.post("/consent")
def consent(
    request: Request,
    token: str,
    agreed: Annotated[str, Form(alias="agree")] = "",
    version: SeenVersion = None,
) -> Response:
    """Keep that a person agrees to what they saw."""
    respondent = cache_of(request).respondent(token)
    step = step_of(respondent)
    if step == "consent":
        if agreed != "yes":
            return step_page(request, respondent, step, 422, wrong=True)
        agree(respondent, True, language_of(request, respondent.study).code, version)
    return go_to(request, f"/a/{token}")


@router.post("/fields")
def fields(
    request: Request,
    token: str,
    said: Annotated[dict[str, str], Depends(typed_fields)],
    asked: Annotated[str, Form()] = "",
) -> Response:
    """Keep what a person says of themselves."""
    respondent = cache_of(request).respondent(token)
    is_complete = asked == "after" and is_through(request, respondent)
    step = step_of(respondent, is_complete)
    if step == asked:
        shown = respondent.study.presentations.current
        wanted = missing(shown.before if step == "before" else shown.after, respondent.record)
        problems = {one.label: one.problem(said.get(one.label, "")) for one in wanted}
        problems = {label: problem for label, problem in problems.items() if problem}
        if problems:
            return step_page(request, respondent, step, 422, typed=said, problems=problems)
        fill_in(respondent, said, is_complete)
        if step == "after":
            finish(respondent)
    return go_to(request, f"/a/{token}")


@router.post("/finish")
def finish_page(request: Request, token: str) -> Response:
    """A person is done, where the study leaves it to them when."""
    respondent = cache_of(request).respondent(token)
    if not is_through(request, respondent):
        return go_to(request, f"/a/{token}")
    try:
        finish(respondent)
    except NotNowError:
        step = step_of(respondent, is_complete=True)
        return step_page(request, respondent, step)
    return go_to(request, f"/a/{token}")
