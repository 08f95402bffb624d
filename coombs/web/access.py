"""Who may do what: known hosts, posts from our own pages only, and the owner's token."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
COOKIE = "coombs_owner"
COOKIE_SECONDS = 30 * 24 * 3600
"""How long a browser is known as the owner's, in seconds."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' http: https:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Links hold secrets, so nothing of them goes elsewhere. Not "no-referrer": under it browsers post
    # our own forms with the origin "null", which then cannot be told from a stranger's.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class NotOwnerError(Exception):
    """The page is the owner's."""


@dataclass(frozen=True)
class Policy:
    """The owner's token, if there is one, and the host names that the page answers to."""

    token: str | None = None
    hosts: frozenset[str] = LOOPBACK_NAMES

    @classmethod
    def of(cls, token: str | None, allowed_hosts: Iterable[str] | None) -> Policy:
        """Loopback names and those given."""
        named = {host_name(host) for host in allowed_hosts or ()}
        return cls(token or None, LOOPBACK_NAMES | named)

    def knows_host(self, header: str) -> bool:
        """Whether a Host header is ours; DNS rebinding brings a foreign name.

        No name can be rebound to an address, so with a token any address will do.
        """
        name = host_name(header)
        return name in self.hosts or (self.token is not None and _is_address(name))

    def is_owner(self, connection: HTTPConnection) -> bool:
        """Whether a request comes from whoever started the server."""
        if self.token is None:
            client = connection.client.host if connection.client else ""
            here = host_name(connection.headers.get("host", "")) in LOOPBACK_NAMES
            return here and is_loopback(client)
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.accepts(given.strip())
        return _same(connection.cookies.get(COOKIE, ""), self._cookie)

    def accepts(self, given: str) -> bool:
        """Whether that is the token."""
        return self.token is not None and _same(given, self.token)

    def with_cookie(self, request: Request, response: Response) -> Response:
        """The response, after which the browser is known as the owner's."""
        response.set_cookie(
            COOKIE,
            self._cookie,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    @property
    def _cookie(self) -> str:
        """It follows from the token, not the other way around."""
        return hmac.new((self.token or "").encode(), b"coombs owner", hashlib.sha256).hexdigest()


def host_name(header: str) -> str:
    """The name or address in a Host header, without its port."""
    text = header.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    # A bare IPv6 address has more than one colon, and no port.
    name = text.partition(":")[0] if text.count(":") == 1 else text
    return name.rstrip(".")


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine, for itself."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def is_cross_site(method: str, headers: Headers) -> bool:
    """Whether another site made a browser send this."""
    if method in SAFE_METHODS:
        return False
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    if origin is not None:
        return not _is_origin(origin, headers.get("host", ""))
    # Neither header: no browser of this decade, unless it could be a form.
    return headers.get("content-type", "").lower().startswith(FORM_TYPES)


def is_not_json(method: str, path: str, headers: Headers) -> bool:
    """Whether something other than JSON is sent to the API."""
    if method in SAFE_METHODS or method == "DELETE" or not path.startswith("/api/"):
        return False
    return headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json"


def _is_origin(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == host.strip().lower() != ""
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _same(given: str, secret: str) -> bool:
    """In constant time."""
    return hmac.compare_digest(given.encode(), secret.encode())
