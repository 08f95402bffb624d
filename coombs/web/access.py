"""Who may do what: known hosts, posts from our own pages only, and the owner's token."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from coombs.web.owner_token import checked

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
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


@dataclass(frozen=True)
class Policy:
    """The owner's token, if there is one, and the host names that the page answers to."""

    token: str | None = None
    hosts: frozenset[str] = LOOPBACK_NAMES

    @classmethod
    def of(cls, token: str | None, allowed_hosts: Iterable[str] | None) -> Policy:
        """Loopback names and those given."""
        named = {host_name(host) for host in allowed_hosts or ()}
        return cls(checked(token), LOOPBACK_NAMES | named)

    def knows_host(self, header: str) -> bool:
        """Whether a Host header is ours; DNS rebinding brings a foreign name.

        No name can be rebound to an address, so with a token any address will do.
        """
        name = host_name(header)
        return name in self.hosts or (self.token is not None and _is_address(name))

    def is_local(self, connection: HTTPConnection) -> bool:
        """Whether a request comes from this machine, which without a token is the owner's."""
        client = connection.client.host if connection.client else ""
        return host_name(connection.headers.get("host", "")) in LOOPBACK_NAMES and is_loopback(client)

    def accepts(self, given: str) -> bool:
        """Whether that is the token, in constant time."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())


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


def is_from_another_origin(headers: Headers) -> bool:
    """Whether a script of another site asks, whatever it wants."""
    origin = headers.get("origin")
    return origin is not None and not _is_origin(origin, headers.get("host", ""))


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
