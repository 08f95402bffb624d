"""`Idempotency-Key`: whoever saw no reply may send the same again, and what it makes is made once."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Awaitable, Callable

import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from coombs.storage.database import Database
from coombs.storage.temporary import TemporaryValues
from coombs.web.api.bounded_json import BoundedRoute
from coombs.web.owner_access import visitor_of
from coombs.web.proxies import path_of

HEADER = "Idempotency-Key"
KEPT_SECONDS = 24 * 3600
"""How long a reply is kept, in seconds."""
MOST_REPLIES = 10_000
"""Replies that are kept, the latest."""
LONGEST_KEY = 200
"""Characters of a key."""
BUSY_SECONDS = 60.0
"""Seconds after which a request that was never answered is taken for dead."""
OTHER_BODY = "This Idempotency-Key came with another body before; give every request a key of its own."
BUSY = "The same request is being worked on; send it again in a moment."

Handler = Callable[[Request], Awaitable[Response]]


class IdempotentRoute(BoundedRoute):
    """A route whose posts may have an `Idempotency-Key`: the same key and body get the same reply."""

    def get_route_handler(self) -> Handler:  # type: ignore[override]
        """The handler of a request that may be a repetition."""
        handler = super().get_route_handler()

        async def once(request: Request) -> Response:
            key = request.headers.get(HEADER)
            if request.method != "POST" or key is None:
                return await handler(request)
            if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
                raise HTTPException(422, f"The {HEADER} must have 1 to {LONGEST_KEY} plain characters.")
            kept: KeptReplies = request.app.state.replies
            return await kept.reply(request, key, handler)

        return once


class KeptReplies:
    """Replies to requests with a key, in the storage, so that every process has them."""

    def __init__(self, database: Database) -> None:
        self._values = TemporaryValues(database, "reply", KEPT_SECONDS, MOST_REPLIES)

    async def reply(self, request: Request, key: str, handler: Handler) -> Response:
        """The reply, or the one that the same request got before."""
        body = await request.body()
        name, digest = _name(request, key), hashlib.sha256(body).hexdigest()
        known = await anyio.to_thread.run_sync(self._claim, name, digest)
        if known is not None:
            return known
        try:
            response = await handler(Request(request.scope, _again(body)))
        except BaseException:
            await self._forget(name)
            raise
        if response.status_code >= 300:
            await self._forget(name)
            return response
        fields = {"body": digest, "status": response.status_code, "reply": bytes(response.body).decode()}
        await anyio.to_thread.run_sync(self._values.replace, name, json.dumps(fields))
        return response

    def _claim(self, name: str, digest: str) -> Response | None:
        """What was replied to that before; None where it is new, and then it is this request's."""
        mark = json.dumps({"body": digest, "since": time.time()})
        if self._values.put(name, mark):
            return None
        known = json.loads(self._values.get(name) or mark)
        if known["body"] != digest:
            raise HTTPException(422, OTHER_BODY)
        if "reply" in known:
            return Response(known["reply"], known["status"], media_type="application/json")
        if time.time() - known["since"] < BUSY_SECONDS:
            raise HTTPException(409, BUSY)
        self._values.replace(name, mark)
        return None

    async def _forget(self, name: str) -> None:
        """Let the same be tried again: it made nothing."""
        await anyio.to_thread.run_sync(self._values.drop, name)


def _name(request: Request, key: str) -> str:
    """A key is that of who sent it, and for one address."""
    access = visitor_of(request.scope).access
    who = "" if access is None else f"{access.study}\n{access.rights}"
    text = f"{who}\n{path_of(request.scope)}\n{key}"
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _again(body: bytes) -> Callable[[], Awaitable[Message]]:
    """What receives a body that was read."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
