"""What every request passes: host, origin, owner and size on the way in, headers on the way out."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coombs.language import Translatable
from coombs.web.access import HEADERS, Policy, is_cross_site, is_not_json
from coombs.web.embedding import PREFLIGHT, Embedding
from coombs.web.owner_access import VISITOR, NotOwnerError, OwnerAccess, is_public
from coombs.web.proxies import path_of

LARGEST_UPLOAD = 10 * 2**20
"""Bytes of a request with a file."""
LARGEST_FORM = 2**18
"""Bytes of any other request."""
LARGEST_ANSWER = 2**14
"""Bytes of a request of whoever is not known to be the owner."""
LARGEST_FIELDS = 2**16
"""Bytes of what somebody says of themselves: several texts, of which a form writes a letter in up to 12."""
GUEST = "coombs.guest"
"""Where a request has the origin of another site whose script may send it."""
UPLOADS = ("/drafts", "/api/studies")
"""Paths that take a file."""

TOO_LARGE = f"That is more than {LARGEST_UPLOAD // 2**20} MB; choose a smaller file, or fewer columns."
FOREIGN_HOST = (
    "This server does not answer to that name; open it by the address that it printed, "
    "or let whoever runs it add the name: --allow-host."
)
CROSS_SITE = Translatable(
    "This was sent from another site, so nothing was done; open the page itself and try again."
)
NOT_JSON = "The API takes JSON; send it with the header Content-Type: application/json."

Refuse = Callable[[Request, Exception], Awaitable[Response]]


class SafetyMiddleware:
    """ASGI middleware; `refuse` makes the page or the JSON that says why not."""

    def __init__(
        self, app: ASGIApp, policy: Policy, owner: OwnerAccess, embedding: Embedding, refuse: Refuse
    ) -> None:
        self.app, self.policy, self.owner, self.refuse = app, policy, owner, refuse
        self.embedding = embedding

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
                self._add_headers(message, scope)
            await send(message)

        try:
            await self._check(scope)
            # A browser asks what a script of another site may send.
            if scope["method"] == "OPTIONS" and GUEST in scope:
                await Response(status_code=204, headers=PREFLIGHT)(scope, receive, out)
                return
            await self.app(scope, _counted(receive, path_of(scope)), out)
        except Exception as error:
            if not isinstance(error, HTTPException | NotOwnerError):
                # The path may hold a token.
                logging.getLogger("coombs.web").exception("A %s request failed.", scope["method"])
            if started:
                raise
            response = await self.refuse(Request(scope), error)
            await response(scope, receive, out)

    async def _check(self, scope: Scope) -> None:
        """Refuse a request, with nothing of its body read; note who asks."""
        headers, path = Headers(scope=scope), path_of(scope)
        if not self.policy.knows_host(headers.get("host", "")):
            raise HTTPException(400, FOREIGN_HOST)
        if await self.embedding.is_guest(path, headers):
            scope[GUEST] = headers["origin"]
        reason = self._reason(scope)
        if reason is not None:
            raise reason
        visitor = scope[VISITOR] = await self.owner.visitor(HTTPConnection(scope))
        if visitor.is_owner or is_public(path):
            return
        if visitor.access is None:
            raise NotOwnerError
        refusal = visitor.access.refusal(scope["method"], path)
        if refusal is not None:
            raise HTTPException(403, refusal)

    def _reason(self, scope: Scope) -> HTTPException | None:
        """Why a request is refused, whoever asks."""
        headers, method, path = Headers(scope=scope), scope["method"], path_of(scope)
        if GUEST not in scope and is_cross_site(method, headers):
            return HTTPException(403, CROSS_SITE)
        if is_not_json(method, path, headers):
            return HTTPException(415, NOT_JSON)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 12 or int(length) > _largest(path):
            return HTTPException(413, _too_large(path))
        return None

    def _add_headers(self, message: Message, scope: Scope) -> None:
        headers, path = MutableHeaders(scope=message), path_of(scope)
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        static = path.startswith("/static/")
        headers.setdefault("Cache-Control", "public, max-age=3600" if static else "no-store")
        self.embedding.apply(headers, path, scope.get(GUEST, ""))


def _largest(path: str) -> int:
    """Bytes that a request for a path may have."""
    if is_public(path):
        return LARGEST_FIELDS if path.endswith("/fields") else LARGEST_ANSWER
    return LARGEST_UPLOAD if path in UPLOADS or path.endswith(("/answers", "/items")) else LARGEST_FORM


def _too_large(path: str) -> str:
    return TOO_LARGE if _largest(path) == LARGEST_UPLOAD else "That is too large for this address."


def _counted(receive: Receive, path: str) -> Receive:
    """`receive`, which fails once there is too much of a body."""
    total, largest = 0, _largest(path)

    async def counted() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > largest:
            raise HTTPException(413, _too_large(path))
        return message

    return counted
