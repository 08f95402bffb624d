"""The app: storage, policy and pages put together; importing this opens nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

import coombs
from coombs.storage import Storage, open_storage
from coombs.web import api, errors, owner, reference, respondent, start
from coombs.web.drafts import Draft
from coombs.web.gate import Gate
from coombs.web.registry import Cache, Registry
from coombs.web.safety import Policy
from coombs.web.thinker import Thinker

THREADS, SLOW_THREADS = 40, 2
"""Answers, most of which wait for a thought, and results that are worked on at once; each has a connection
to the database."""
MOST_DRAFTS = 20
ABOUT = "Ask and tell: which of two things does a person prefer? See docs/page.md."


def create_app(
    storage: str | Storage = "sqlite:///coombs.db",
    *,
    token: str | None = None,
    allowed_hosts: Iterable[str] | None = None,
    pictures: str | PathLike[str] | None = None,
    processes: int = 0,
) -> FastAPI:
    """The page and its JSON API, for any ASGI server.

    Parameters
    ----------
    storage : as for `create_study`
    token : the owner's; without one the owner's pages work on this machine only
    allowed_hosts : names, other than localhost, that the page answers to
    pictures : a folder; pictures that items name by a relative path are shown from it
    processes : that learn from answers, so that this one only replies; 0 does it in a thread

    Examples
    --------
    >>> app = create_app("memory:")
    >>> "/api/studies" in app.openapi()["paths"]
    True
    """
    app = FastAPI(
        title="coombs",
        version=coombs.__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    state = app.state
    state.policy = Policy.of(token, allowed_hosts)
    state.thinker = Thinker(processes)
    folder = None if pictures is None else Path(pictures)
    state.registry = Registry(open_storage(storage), state.thinker, folder)
    state.drafts = Cache[Draft](MOST_DRAFTS)
    state.slow_lane = anyio.CapacityLimiter(SLOW_THREADS)
    state.wrong_tokens = asyncio.Lock()
    for router in (start.router, owner.router, respondent.router, reference.router, api.people, api.owners):
        app.include_router(router)
    app.mount("/static", StaticFiles(packages=[("coombs.web", "static")]), name="static")
    errors.install(app)

    async def refuse(request: Request, error: Exception) -> Response:
        request.scope["app"] = app
        return await errors.respond(request, error)

    app.add_middleware(Gate, policy=state.policy, refuse=refuse)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Until the server stops."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
    yield
    app.state.thinker.close()
