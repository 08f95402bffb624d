"""Templates to responses, addresses of studies, and work that is kept off the fast lane."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar
from urllib.parse import quote

import anyio.to_thread
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

import coombs
from coombs.web.registry import Registry
from coombs.web.safety import Policy
from coombs.words import NO_PATTERN, chance, count, ordinal, percent

Done = TypeVar("Done")


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


def study_path(name: str) -> str:
    """The address of a study; a slash in its name is written ~2F, which no server takes for a path."""
    special = r"[~/\\%]" if name.strip(".") else "."
    return f"/studies/{quote(re.sub(special, lambda found: f'~{ord(found[0]):02X}', name), safe='~')}"


def study_called(part: str) -> str:
    """The name in an address."""
    return re.sub("~([0-9A-F]{2})", lambda found: chr(int(found[1], 16)), part)


def registry_of(request: Request) -> Registry:
    """What the pages work with."""
    registry: Registry = request.app.state.registry
    return registry


async def slowly(request: Request, work: Callable[..., Done], *args: Any) -> Done:
    """Work of seconds, few at a time, so that answers do not wait for it."""
    return await anyio.to_thread.run_sync(partial(work, *args), limiter=request.app.state.slow_lane)


def download(content: bytes | str, name: str, kind: str) -> Response:
    """A file to save, whose name is plain."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "coombs"
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{plain}"'}
    )
