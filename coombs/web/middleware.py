"""What every request passes: host, origin and size on the way in, headers on the way out."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coombs.web.access import HEADERS, Policy, is_cross_site, is_not_json

LARGEST_UPLOAD = 10 * 2**20
"""Bytes of a request with a file."""
LARGEST_FORM = 2**18
"""Bytes of any other request."""
UPLOADS = ("/drafts", "/api/studies")
"""Paths that take a file."""

TOO_LARGE = f"That is more than {LARGEST_UPLOAD // 2**20} MB; choose a smaller file, or fewer columns."
FOREIGN_HOST = "This server does not answer to that name; open it by the address that it printed."
CROSS_SITE = "This was sent from another site, so nothing was done; open the page itself and try again."
NOT_JSON = "The API takes JSON; send it with the header Content-Type: application/json."

Refuse = Callable[[Request, Exception], Awaitable[Response]]


class SafetyMiddleware:
    """ASGI middleware; `refuse` makes the page or the JSON that says why not."""

    def __init__(self, app: ASGIApp, policy: Policy, refuse: Refuse) -> None:
        self.app, self.policy, self.refuse = app, policy, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or say why not."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def out(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                _add_headers(message, scope["path"])
            await send(message)

        try:
            reason = self._reason(scope)
            if reason is not None:
                raise reason
            await self.app(scope, _counted(receive, _largest(scope["path"])), out)
        except Exception as error:
            if not isinstance(error, HTTPException):
                # The path may hold a token.
                logging.getLogger("coombs.web").exception("A %s request failed.", scope["method"])
            if started:
                raise
            response = await self.refuse(Request(scope), error)
            await response(scope, receive, out)

    def _reason(self, scope: Scope) -> HTTPException | None:
        """Why a request is refused unread."""
        headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
        if not self.policy.knows_host(headers.get("host", "")):
            return HTTPException(400, FOREIGN_HOST)
        if is_cross_site(method, headers):
            return HTTPException(403, CROSS_SITE)
        if is_not_json(method, path, headers):
            return HTTPException(415, NOT_JSON)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _largest(path):
            return HTTPException(413, TOO_LARGE)
        return None


def _largest(path: str) -> int:
    return LARGEST_UPLOAD if path in UPLOADS else LARGEST_FORM


def _counted(receive: Receive, largest: int) -> Receive:
    """The same, until there is too much of it."""
    total = 0

    async def counted() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > largest:
            raise HTTPException(413, TOO_LARGE)
        return message

    return counted


def _add_headers(message: Message, path: str) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    static = path.startswith("/static/")
    headers.setdefault("Cache-Control", "public, max-age=3600" if static else "no-store")
