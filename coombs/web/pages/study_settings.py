"""The owner's settings of a study as a page: what people see, how many questions, dates, the open link."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.tables import InputError
from coombs.language import LANGUAGES
from coombs.storage.timestamps import now
from coombs.study import Study
from coombs.study.study_changes import change_study
from coombs.web.pages.joining import form_texts
from coombs.web.pages.rendering import go_to, render
from coombs.web.proxies import site_of
from coombs.web.routing import study_of, study_path
from coombs.web.settings_form import changes_in, form_of

router = APIRouter(prefix="/studies/{name}/settings", include_in_schema=False)


def _to_page(request: Request, study: Study, part: str = "") -> Response:
    return go_to(request, f"{study_path(study.name)}/settings{part}")


@router.get("")
def settings_page(request: Request, name: str, saved: str = "") -> Response:
    """The form."""
    study = study_of(request, name)
    return _page(request, study, form_of(study), saved=bool(saved))


@router.post("")
def save(request: Request, name: str, form: Annotated[dict[str, str], Depends(form_texts)]) -> Response:
    """Keep what the form has, all of it or nothing."""
    study = study_of(request, name)
    try:
        presentation, settings = changes_in(form, study.presentation)
        change_study(study, presentation, settings)
    except InputError as error:
        return _page(request, study, {**form_of(study), "shows_result": "", **form}, 422, str(error))
    return _to_page(request, study, "?saved=yes")


@router.post("/open-link")
def open_link(request: Request, name: str, switch: Annotated[str, Form()] = "") -> Response:
    """Switch the open link on or off, or renew it."""
    study = study_of(request, name)
    if switch not in ("on", "off", "renew"):
        raise InputError(f"The open link cannot be switched to {switch!r}; it must be on, off or renew.")
    study.switch_open_link(switch != "off", renew=switch == "renew")
    return _to_page(request, study, "#open-link")


@router.post("/state")
def state(request: Request, name: str, close: Annotated[str, Form()] = "") -> Response:
    """Close the study now, or open it."""
    study = study_of(request, name)
    (study.close if close == "yes" else study.reopen)()
    return _to_page(request, study, "#dates")


@router.get("/preview")
def preview(request: Request, name: str) -> Response:
    """All that people see, one after the other; nothing is stored."""
    study = study_of(request, name)
    shown, names = study.presentation, study.catalogue.labels[:2]
    return render(request, "people_preview.html", study=study, shown=shown, title=study.title, names=names)


def _page(
    request: Request, study: Study, form: dict[str, Any], status: int = 200, problem: str = "", **more: Any
) -> Response:
    token, embedding = study.open_token, request.app.state.embedding
    return render(
        request,
        "study_settings.html",
        status,
        study=study,
        form=form,
        state=study.presentation.state(),
        now=now(),
        shown=study.presentation,
        problem=problem,
        servers_origins=embedding.origins,
        refused_origins=embedding.refused(study.presentation.embed_origins),
        languages=LANGUAGES,
        open_link=None if token is None else f"{site_of(request.scope)}/join/{token}",
        **{"saved": False, **more},
    )
