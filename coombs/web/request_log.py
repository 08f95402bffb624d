"""What is noted of every request: numbers for Prometheus and, where it is asked for, a line in the log."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coombs.web.metrics import Metrics

LOGGER = logging.getLogger("coombs.web.requests")
NO_ROUTE = "none"
"""What the route is called of a request that was refused before, or is for no route."""


class RequestLogMiddleware:
    """ASGI middleware: the template of the route stands for the address, which may hold a token."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and note it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def out(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
            await send(message)

        try:
            await self.app(scope, receive, out)
        finally:
            seconds, route = time.perf_counter() - began, route_of(scope)
            self.metrics.note(scope["method"], route, status, seconds)
            said = {
                "method": scope["method"],
                "route": route,
                "status": status,
                "ms": round(1e3 * seconds, 1),
            }
            LOGGER.info("request", extra={"fields": said})


def route_of(scope: Scope) -> str:
    """The template of the route that a request took, such as /a/{token}."""
    template = getattr(scope.get("route"), "path", None)
    if template is None and scope.get("endpoint") is not None:
        return "/static"
    return NO_ROUTE if template is None else str(template)
