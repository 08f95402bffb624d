"""Templates to responses."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

import coombs
from coombs.web.access import Policy
from coombs.web.routing import study_path
from coombs.words import NO_PATTERN, chance, count, ordinal, percent


@cache
def templates() -> Environment:
    """Every value is escaped."""
    env = Environment(
        loader=PackageLoader("coombs.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(percent=percent, chance=chance, study_path=study_path)
    env.globals.update(count=count, ordinal=ordinal, no_pattern=NO_PATTERN, version=coombs.__version__)
    return env


def render(request: Request, template: str, status: int = 200, **data: Any) -> HTMLResponse:
    """A page; every template knows whether the owner looks at it."""
    policy: Policy = request.app.state.policy
    data = {"is_owner": policy.is_owner(request), "has_token": policy.token is not None, **data}
    return HTMLResponse(templates().get_template(template).render(**data), status)


def go_to(path: str) -> Response:
    """After a form: the browser asks for another page."""
    return RedirectResponse(path, 303)


def download(content: bytes | str, name: str, kind: str) -> Response:
    """A file to save, whose name is plain."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "coombs"
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{plain}"'}
    )
