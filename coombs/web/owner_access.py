"""Whether a request is the owner's: by token, by session or from this machine; one throttle for all ways."""

from __future__ import annotations

from dataclasses import dataclass

import anyio.to_thread
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Scope

from coombs.storage import Storage
from coombs.storage.api_tokens import PREFIX, ApiTokens
from coombs.web.access import Policy
from coombs.web.owner_sessions import SESSION_SECONDS, OwnerSessions
from coombs.web.proxies import FORWARDED, path_of, root_of
from coombs.web.throttle import Throttle
from coombs.web.token_rights import StudyAccess

COOKIE = "coombs_owner"
VISITOR = "coombs.visitor"
"""Where the scope of a request has who asks."""
PUBLIC_PATHS = frozenset({"/login", "/logout", "/docs", "/openapi.json", "/health", "/ready", "/metrics"})
PUBLIC_FOLDERS = ("/a/", "/join/", "/api/respondents/", "/static/")
"""All else is the owner's."""


class NotOwnerError(Exception):
    """The page is the owner's."""


@dataclass(frozen=True)
class Visitor:
    """Who asks: the owner or not; after too many wrong tokens, the seconds until the next try."""

    is_owner: bool = False
    wait: int = 0
    access: StudyAccess | None = None
    """What a program may with the token that it showed."""

    @property
    def sees_links(self) -> bool:
        """Whether people's links are for them."""
        return self.is_owner or (self.access is not None and self.access.sees_links)


class OwnerAccess:
    """Knows the owner of an app; nothing of a request's body is read for it."""

    def __init__(self, policy: Policy, storage: Storage) -> None:
        self._policy, self._throttle = policy, Throttle()
        self.has_token = policy.token is not None
        self._sessions = None if policy.token is None else OwnerSessions(storage, policy.token)
        self._tokens = ApiTokens(storage.database)

    async def visitor(self, connection: HTTPConnection) -> Visitor:
        """Who asks, by the headers alone."""
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and (given := given.strip()).startswith(PREFIX):
            return await self._program(connection, given)
        if self._sessions is None:
            is_forwarded = connection.scope.get(FORWARDED, False)
            return Visitor(not is_forwarded and self._policy.is_local(connection))
        if scheme.lower() == "bearer":
            return self.shown(connection, given.strip())
        key = connection.cookies.get(COOKIE, "")
        if not key or path_of(connection.scope).startswith("/static/"):
            return Visitor()
        # A session's key has 256 random bits: it is looked at also where tokens are not, so that nobody who
        # guesses tokens from the owner's address shuts the owner out.
        if await anyio.to_thread.run_sync(self._sessions.is_open, key):
            return Visitor(is_owner=True)
        return self._wrong(connection)

    async def _program(self, connection: HTTPConnection, token: str) -> Visitor:
        """What a token of a study opens; one of the owner may begin in the same way."""
        if wait := self._throttle.wait(_address(connection)):
            return Visitor(wait=wait)
        found = await anyio.to_thread.run_sync(self._tokens.find, token)
        # The wrong ones of an address are not forgotten for it: who may little could guess the owner's.
        return self.shown(connection, token) if found is None else Visitor(access=StudyAccess(*found))

    def shown(self, connection: HTTPConnection, token: str) -> Visitor:
        """Who asks, having shown that token."""
        address = _address(connection)
        if wait := self._throttle.wait(address):
            return Visitor(wait=wait)
        if self._policy.accepts(token):
            self._throttle.right(address)
            return Visitor(is_owner=True)
        return self._wrong(connection)

    def _wrong(self, connection: HTTPConnection) -> Visitor:
        address = _address(connection)
        self._throttle.wrong(address)
        return Visitor(wait=self._throttle.wait(address))

    async def begin(self, connection: HTTPConnection, response: Response) -> Response:
        """The response, after which the browser is known as the owner's."""
        assert self._sessions is not None
        key = await anyio.to_thread.run_sync(self._sessions.begin)
        response.set_cookie(
            COOKIE,
            key,
            max_age=SESSION_SECONDS,
            path=root_of(connection.scope) or "/",
            httponly=True,
            samesite="strict",
            secure=connection.url.scheme == "https",
        )
        return response

    async def end(self, connection: HTTPConnection, response: Response) -> Response:
        """The response, after which the browser is nobody's, and its session has ended everywhere."""
        key = connection.cookies.get(COOKIE, "")
        if self._sessions is not None and key:
            await anyio.to_thread.run_sync(self._sessions.end, key)
        return forget(connection.scope, response)


def forget(scope: Scope, response: Response) -> Response:
    """The response, with which the browser drops its session's key."""
    response.delete_cookie(COOKIE, path=root_of(scope) or "/")
    return response


def visitor_of(scope: Scope) -> Visitor:
    """Who asks, as the middleware found."""
    found: Visitor = scope.get(VISITOR, Visitor())
    return found


def is_public(path: str) -> bool:
    """Whether a path is for everybody, or for whoever has a link."""
    return path in PUBLIC_PATHS or path.startswith(PUBLIC_FOLDERS)


def _address(connection: HTTPConnection) -> str:
    return connection.client.host if connection.client else ""
