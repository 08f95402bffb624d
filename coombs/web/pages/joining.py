"""The open link: anybody who follows it becomes a person of the study, once a browser, by pressing Start."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.storage import RespondentRecord
from coombs.study import Study
from coombs.study.participation import IdTakenError, arrive, seen_version
from coombs.study.person_fields import LONGEST_ANSWER
from coombs.study.presentation import ID_PARAMETERS, Presentation, participant_id
from coombs.web.errors import problem
from coombs.web.pages.rendering import go_to, language_of, render_to_people
from coombs.web.pages.taking_part import SeenVersion
from coombs.web.proxies import root_of
from coombs.web.routing import cache_of
from coombs.web.throttle import Arrivals

router = APIRouter(prefix="/join/{open_token}", include_in_schema=False)
COOKIE_SECONDS = 180 * 24 * 3600
"""How long a browser is known as somebody's, in seconds."""
TOO_MANY = Translatable("Too many people came from your network just now; try again in some minutes.")


async def form_texts(request: Request) -> dict[str, str]:
    """All that a form sent as text."""
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


@router.get("")
def join_page(request: Request, open_token: str) -> Response:
    """What the study is, and a button: nobody is made by looking, as a preview of the link does."""
    study, told = _study(request, open_token), request.query_params
    shown = study.presentation
    known = _known_person(request, study, participant_id(told, shown))
    if known is not None:
        return go_to(request, f"/a/{known.token}")
    return _page(request, study, open_token, told)


@router.post("")
def join(
    request: Request,
    open_token: str,
    told: Annotated[dict[str, str], Depends(form_texts)],
    version: SeenVersion = None,
) -> Response:
    """Make a person, and send the browser to their own link."""
    study = _study(request, open_token)
    shown = study.presentation
    pid = participant_id(told, shown)
    known = _known_person(request, study, pid)
    if known is not None:
        return go_to(request, f"/a/{known.token}")
    if shown.state() != "open":
        return _page(request, study, open_token, told)
    if shown.consent and told.get("agree") != "yes":
        return _page(request, study, open_token, told, 422, wrong=True)
    seen = seen_version(study, version)
    arrivals: Arrivals = request.app.state.arrivals
    address = request.client.host if request.client else ""
    if wait := arrivals.wait(address):
        response = problem(request, 429, TOO_MANY, language_of(request, study))
        response.headers["Retry-After"] = str(wait)
        return response
    arrivals.note(address)
    try:
        made = arrive(study, pid, _kept(told, shown))
    except IdTakenError:
        return _page(request, study, open_token, told, 409, step="taken")
    language = language_of(request, study).code
    if shown.consent:
        study.storage.set_consent(made.id, seen, language)
    else:
        study.storage.restore_respondent(made.id, {"language": language})
    return _with_cookie(request, go_to(request, f"/a/{made.token}"), made, pid)


def _study(request: Request, open_token: str) -> Study:
    return cache_of(request).opened(open_token)


def _known_person(request: Request, study: Study, pid: str | None) -> RespondentRecord | None:
    """Whom this browser was made before, with that id, if their link still is good."""
    token = request.cookies.get(cookie_name(study.record.id, pid), "")
    if not token or not token.isascii():
        return None
    try:
        found = cache_of(request).storage.participant(token).record
    except InputError:
        return None
    return found if (found.study_id, found.external_id) == (study.record.id, pid) else None


def cookie_name(study_id: int, pid: str | None) -> str:
    """One for each study and id: two people at one computer are two, if each has an id."""
    digest = "" if pid is None else f"_{hashlib.sha256(pid.encode()).hexdigest()[:16]}"
    return f"coombs_person_{study_id}{digest}"


def _with_cookie(request: Request, response: Response, made: RespondentRecord, pid: str | None) -> Response:
    """The response, after which the browser is known as that person's."""
    response.set_cookie(
        cookie_name(made.study_id, pid),
        made.token,
        max_age=COOKIE_SECONDS,
        path=f"{root_of(request.scope)}/join",
        httponly=True,
        # Whoever comes again from another site, as Prolific, is still known.
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response


def _kept(told: Mapping[str, str], shown: Presentation) -> dict[str, str]:
    """What else of the address is kept with the person."""
    found = {name: " ".join(told.get(name, "").split())[:LONGEST_ANSWER] for name in shown.parameters}
    return {name: value for name, value in found.items() if value and value.isprintable()}


def _page(
    request: Request,
    study: Study,
    open_token: str,
    told: Mapping[str, str],
    status: int = 200,
    **more: Any,
) -> Response:
    """The page before somebody is a person of the study."""
    shown = study.presentations.current
    state = shown.state()
    step = "join" if state == "open" else state
    names = dict.fromkeys((*ID_PARAMETERS, shown.id_parameter, *shown.parameters))
    handed = {name: told[name] for name in names if told.get(name)}
    data = {"step": step, "open_token": open_token, "told": handed, "wrong": False, **more}
    return render_to_people(request, "taking_part.html", study, 403 if state != "open" else status, **data)
