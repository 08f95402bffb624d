"""The app: storage, access policy, pages and API put together; importing this opens nothing."""

from __future__ import annotations

import asyncio
import logging
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
from coombs.blas import serial
from coombs.storage import Storage, StorageUnavailableError, open_storage
from coombs.study import apply_retention
from coombs.web import errors, operations
from coombs.web.access import Policy
from coombs.web.api import (
    items_api,
    participation_api,
    people_rights,
    respondents,
    settings_api,
    studies,
    study_data,
    tokens_api,
    webhooks_api,
)
from coombs.web.api.idempotency import KeptReplies
from coombs.web.drafts import Drafts
from coombs.web.embedding import Embedding
from coombs.web.learning.group_learning import GroupLearner
from coombs.web.learning.learning_queue import LearningQueue
from coombs.web.metrics import Metrics
from coombs.web.middleware import SafetyMiddleware
from coombs.web.owner_access import OwnerAccess
from coombs.web.pages import (
    answer_review,
    answering,
    api_reference,
    group_page,
    home,
    items_page,
    joining,
    people_page,
    programs_page,
    result_page,
    study_page,
    study_settings,
    taking_part,
    wishes_page,
)
from coombs.web.process_memory import free_memory
from coombs.web.proxies import ProxyMiddleware, checked_root, networks
from coombs.web.request_log import RequestLogMiddleware
from coombs.web.server_log import hide_secrets
from coombs.web.study_cache import StudyCache
from coombs.web.throttle import Arrivals
from coombs.web.webhook_delivery import WebhookDelivery

THREADS = 16
"""Requests that are worked on at once, each with a database connection; more get in each other's way."""
SLOW_THREADS = 2
"""Results that are worked on at once."""
CALM = 5.0
"""Seconds without an answer after which the database is tidied up."""
PUBLISHED = 1.0
"""Seconds after which a process tells the others its numbers anew."""
DELIVERED = 1.0
"""Seconds after which it is looked again whether messages to webhooks are to be sent."""
RETENTION_EVERY = 1800.0
"""Seconds between two looks for people's data that is no longer to be kept."""
ABOUT = "Ask and tell: which of two things does a person prefer? See docs/page.md."
ROUTERS = (
    # Each is asked in turn whether a request is its own, so that the busiest come first.
    respondents.router,
    answering.router,
    home.router,
    study_page.router,
    study_settings.router,
    items_page.router,
    people_page.router,
    programs_page.router,
    group_page.router,
    answer_review.router,
    taking_part.router,
    wishes_page.router,
    joining.router,
    result_page.router,
    api_reference.router,
    participation_api.router,
    studies.router,
    settings_api.router,
    items_api.router,
    people_rights.router,
    study_data.router,
    tokens_api.router,
    webhooks_api.router,
    operations.router,
)


def create_app(
    storage: str | Storage = "sqlite:///coombs.db",
    *,
    token: str | None = None,
    allowed_hosts: Iterable[str] | None = None,
    pictures: str | PathLike[str] | None = None,
    processes: int = 0,
    root_path: str = "",
    proxies: Iterable[str] = (),
    metrics_from: Iterable[str] = (),
    webhook_networks: Iterable[str] = (),
    embed_origins: Iterable[str] = (),
    metrics: Metrics | None = None,
) -> FastAPI:
    """The page and its JSON API, for any ASGI server.

    Parameters
    ----------
    storage : as for `create_study`
    token : the owner's, 16 characters or more; without one the owner's pages work on this machine only
    allowed_hosts : names, other than localhost, that the page answers to
    pictures : a folder; pictures that items name by a relative path are shown from it
    processes : that learn from answers, so that this one only replies; 0 does it in a thread
    root_path : the path below which a proxy shows the page, as "/taste"; an app that mounts this one sets it
    proxies : addresses or networks whose ``X-Forwarded-For``, ``-Proto``, ``-Host`` and ``-Prefix`` count;
        nobody else's do
    metrics_from : addresses or networks, beside the owner, to which /metrics is shown
    webhook_networks : private networks into which messages to webhooks may be sent
    embed_origins : other sites, as https://shop.example, that may show respondents' pages in a frame, and ask
        and tell from their own scripts, of studies that name no sites themselves; studies may then name none
        but these
    metrics : where the numbers are counted; by default this process's alone

    Returns
    -------
    FastAPI
        An ASGI application.

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
    queue = app.state.queue = LearningQueue(processes)
    app.state.groups = GroupLearner(processes)
    folder = None if pictures is None else Path(pictures)
    place = open_storage(storage)
    app.state.cache = StudyCache(place, folder, queue.learn, queue.refresh_prior)
    app.state.drafts, app.state.replies = Drafts(place), KeptReplies(place.database)
    app.state.arrivals = Arrivals()
    app.state.slow_work = anyio.CapacityLimiter(SLOW_THREADS)
    policy = Policy.of(token, allowed_hosts)
    app.state.owner = OwnerAccess(policy, place)
    app.state.metrics = _watched(Metrics() if metrics is None else metrics, place, queue)
    app.state.metrics_from = networks(metrics_from, "--metrics-from")
    app.state.webhook_networks = networks(webhook_networks, "--webhook-network")
    app.state.webhooks = WebhookDelivery(app.state.cache, app.state.webhook_networks)
    app.state.embedding = Embedding(app.state.cache, embed_origins)
    app.state.looks = anyio.CapacityLimiter(1)
    _add_routes(app, policy)
    app.add_middleware(ProxyMiddleware, root=checked_root(root_path), proxies=networks(proxies))
    hide_secrets()
    return app


def _add_routes(app: FastAPI, policy: Policy) -> None:
    """Pages, API, static files, and what every request passes."""
    for router in ROUTERS:
        # As they are: FastAPI's include_router would make each anew, for every app, at its first request.
        app.router.routes.extend(router.routes)
    app.mount("/static", StaticFiles(packages=[("coombs.web", "static")]), name="static")
    errors.install(app)

    async def refuse(request: Request, error: Exception) -> Response:
        request.scope["app"] = app
        return await errors.respond(request, error)

    parts = {"owner": app.state.owner, "embedding": app.state.embedding, "refuse": refuse}
    app.add_middleware(SafetyMiddleware, policy=policy, **parts)
    app.add_middleware(RequestLogMiddleware, metrics=app.state.metrics)


def _watched(metrics: Metrics, storage: Storage, queue: LearningQueue) -> Metrics:
    """The numbers, with those of the storage and of what is learned."""
    tally = storage.database.tally
    metrics.watch("coombs_answers_stored_total", lambda: tally["answers"])
    metrics.watch("coombs_database_errors_total", lambda: tally["errors"])
    metrics.watch("coombs_learning_queue_length", lambda: queue.length)
    metrics.watch("coombs_learning_restarts_total", lambda: queue.restarts)
    return metrics


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Until the server stops."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
    cache: StudyCache = app.state.cache
    work = (
        _tidy(cache),
        _publish(app.state.metrics),
        _deliver(app.state.webhooks),
        _keep_no_longer(cache),
    )
    tasks = [asyncio.create_task(one) for one in work]
    # Requests are worked on side by side, and threads of BLAS would take the cores from one another.
    with serial(0):
        yield
    app.state.webhooks.close()
    for task in tasks:
        task.cancel()
    app.state.queue.close()
    app.state.groups.close()
    cache.storage.close_all()


async def _deliver(webhooks: WebhookDelivery) -> None:
    """Send messages to webhooks; nobody waits for it."""
    limiter = anyio.CapacityLimiter(1)
    while True:
        await asyncio.sleep(DELIVERED)
        try:
            await anyio.to_thread.run_sync(webhooks.deliver, abandon_on_cancel=True, limiter=limiter)
        except StorageUnavailableError:
            # Whoever asks for a page is told and the log says why, which need not be said every second.
            continue
        except Exception:
            logging.getLogger("coombs.web").exception("Sending messages to webhooks failed.")


async def _publish(metrics: Metrics) -> None:
    """Let the other processes of the server know this one's numbers."""
    while True:
        metrics.publish()
        await asyncio.sleep(PUBLISHED)


async def _keep_no_longer(cache: StudyCache) -> None:
    """Delete or anonymise people whose data is no longer to be kept, as the owners of studies chose."""
    while True:
        try:
            await anyio.to_thread.run_sync(apply_retention, cache.storage)
        except Exception:
            logging.getLogger("coombs.web").exception("Looking for data that is not to be kept failed.")
        await asyncio.sleep(RETENTION_EVERY)


async def _tidy(cache: StudyCache) -> None:
    """At calm moments the database file is whole by itself, whatever happens to the server then.

    Who is idle is forgotten, and what was freed goes back to the system.
    """
    while True:
        await asyncio.sleep(CALM)
        await anyio.to_thread.run_sync(cache.storage.checkpoint, CALM)
        cache.forget_idle()
        await anyio.to_thread.run_sync(free_memory)
