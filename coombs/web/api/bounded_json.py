"""JSON of requests: refused before it is parsed where it is too deep or of too many parts; off the loop."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import anyio.to_thread
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

DEEPEST = 10
"""Lists and objects inside of each other."""
MOST_PARTS = 50_000
"""Strings, brackets and commas: twice what a list of 100 levels for each of 100 columns takes."""
SMALL = 2**12
"""Bytes of JSON that is parsed at once."""
_PART = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},]', re.DOTALL)
"""A string, also one without an end, or what opens, parts or closes lists and objects; in linear time."""


class BoundedRoute(APIRoute):
    """A route whose JSON is bounded."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """The handler of a request whose JSON is parsed in a thread."""
        handler = super().get_route_handler()

        async def bounded(request: Request) -> Response:
            return await handler(_BoundedRequest(request.scope, request.receive))

        return bounded


class _BoundedRequest(Request):
    """A request whose JSON is parsed in a thread, unless it is small."""

    async def json(self) -> Any:
        """What the body says, or an HTTPException with a sentence."""
        body = await self.body()
        # An answer is parsed in less time than a thread takes to begin.
        return (
            bounded_json(body) if len(body) <= SMALL else await anyio.to_thread.run_sync(bounded_json, body)
        )


def bounded_json(body: bytes) -> Any:
    """What JSON says, at a cost that its size alone bounds.

    Examples
    --------
    >>> bounded_json(b'{"names": ["Ann", "[[[["]}')
    {'names': ['Ann', '[[[[']}
    >>> bounded_json(b"[" * 100)
    Traceback (most recent call last):
        ...
    starlette.exceptions.HTTPException: 422: The JSON has lists or objects more than 10 deep.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise HTTPException(400, "The JSON is not in UTF-8.") from None
    depth = 0
    for parts, found in enumerate(_PART.finditer(text)):
        mark = text[found.start()]
        depth += (mark in "[{") - (mark in "]}")
        if depth > DEEPEST:
            raise HTTPException(422, f"The JSON has lists or objects more than {DEEPEST} deep.")
        if parts > MOST_PARTS:
            raise HTTPException(422, f"The JSON has more than {MOST_PARTS} parts.")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        raise HTTPException(422, "The JSON holds a number that is too long.") from None
