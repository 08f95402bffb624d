"""The owner's page about programs that use a study: tokens, webhooks, and how to embed a question."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.tables import InputError
from coombs.storage.api_tokens import RIGHTS
from coombs.storage.webhooks import TOPICS
from coombs.study import Study
from coombs.web.pages.rendering import go_to, render
from coombs.web.proxies import site_of
from coombs.web.routing import study_of, study_path
from coombs.web.webhook_addresses import check_reachable

SHOWN = 20
"""Messages to webhooks that are listed."""

router = APIRouter(prefix="/studies/{name}/programs", include_in_schema=False)


@router.get("")
def programs(request: Request, name: str) -> Response:
    """Tokens, webhooks, and what became of messages."""
    return _page(request, study_of(request, name))


@router.post("/tokens")
def add_token(
    request: Request, name: str, program: Annotated[str, Form()] = "", rights: Annotated[str, Form()] = ""
) -> Response:
    """A new token, which the reply alone shows."""
    study = study_of(request, name)
    try:
        token = study.api_tokens.add(program, rights)  # type: ignore[arg-type]
    except InputError as error:
        return _page(request, study, 422, token_problem=str(error), typed=program)
    return _page(request, study, 201, new_token=token)


@router.post("/tokens/revoke")
def revoke_token(request: Request, name: str, program: Annotated[str, Form()]) -> Response:
    """Let a token open nothing from now on."""
    study = study_of(request, name)
    study.api_tokens.revoke(program)
    return go_to(request, f"{study_path(study.name)}/programs")


@router.post("/webhooks")
def add_webhook(
    request: Request,
    name: str,
    address: Annotated[str, Form()] = "",
    topics: Annotated[list[str] | None, Form()] = None,
) -> Response:
    """A new address; the reply alone shows its secret."""
    study = study_of(request, name)
    try:
        check_reachable(address, request.app.state.webhook_networks)
        hook = study.webhooks.add(address, topics or [])
    except InputError as error:
        return _page(request, study, 422, hook_problem=str(error), address=address)
    return _page(request, study, 201, new_secret=hook.secret)


@router.post("/webhooks/remove")
def remove_webhook(request: Request, name: str, number: Annotated[int, Form()]) -> Response:
    """Tell an address nothing from now on."""
    study = study_of(request, name)
    study.webhooks.remove(number)
    return go_to(request, f"{study_path(study.name)}/programs")


def _page(request: Request, study: Study, status: int = 200, **more: Any) -> Response:
    empty = dict.fromkeys(
        ("new_token", "new_secret", "token_problem", "hook_problem", "typed", "address"), ""
    )
    return render(
        request,
        "programs.html",
        status,
        study=study,
        tokens=study.api_tokens.list(),
        hooks={one.id: one for one in study.webhooks.list()},
        deliveries=study.webhooks.deliveries(SHOWN),
        rights=RIGHTS,
        topics=TOPICS,
        origins=request.app.state.embedding.of(study.presentation.embed_origins),
        base=site_of(request.scope),
        **{**empty, **more},
    )
