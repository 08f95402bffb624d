"""What whoever runs the server asks for: whether it lives, whether it is ready, and its numbers."""

from __future__ import annotations

import logging

import anyio
import anyio.to_thread
from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from coombs.storage import Storage, is_storage_error
from coombs.web.metrics import CONTENT_TYPE, Metrics
from coombs.web.owner_access import visitor_of
from coombs.web.proxies import is_among

PATIENCE = 2.0
"""Seconds in which the storage must answer."""
RETRY_AFTER = 3
"""Seconds after which it may be asked again."""
NO_STORAGE = "The storage does not answer."
NO_WORKERS = "A process that learns from answers has died; others are started."
NOT_YOURS = "These numbers are for the owner, and for networks that --metrics-from names."

router = APIRouter(include_in_schema=False)


@router.get("/health")
async def health() -> Response:
    """That the process lives."""
    return PlainTextResponse("It lives.\n")


@router.get("/ready")
async def ready(request: Request) -> Response:
    """Whether answers can be stored and learned from: 503 and a sentence where not."""
    problem = await _problem(request.app)
    if problem is None:
        return PlainTextResponse("It is ready.\n")
    return PlainTextResponse(f"{problem}\n", 503, {"Retry-After": str(RETRY_AFTER)})


async def _problem(app: FastAPI) -> str | None:
    """What is not ready."""
    answered = False
    # Abandoned where it hangs: a storage that is away may take half a minute to say so.
    with anyio.move_on_after(PATIENCE):
        answered = await anyio.to_thread.run_sync(
            _answers, app.state.cache.storage, abandon_on_cancel=True, limiter=app.state.looks
        )
    if not answered:
        return NO_STORAGE
    alive = await anyio.to_thread.run_sync(app.state.queue.check_workers)
    return None if alive else NO_WORKERS


def _answers(storage: Storage) -> bool:
    """Whether the storage can be read."""
    try:
        storage.database.rows("SELECT version FROM coombs_schema")
    except Exception as error:
        if not is_storage_error(error):
            raise
        logging.getLogger("coombs.web").error("%s", error)
        return False
    return True


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """The server's numbers, for Prometheus."""
    client = request.client.host if request.client else ""
    if not visitor_of(request.scope).is_owner and not is_among(client, request.app.state.metrics_from):
        raise HTTPException(403, NOT_YOURS)
    numbers: Metrics = request.app.state.metrics
    return Response(numbers.text(), media_type=CONTENT_TYPE)
