"""Behind a proxy or below a path: who asks, by which name, and where the page is mounted."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import TypeAlias

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from coombs.data.tables import InputError

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

FORWARDED = "coombs.forwarded"
"""Where the scope of a request says that it came through a proxy, named or not."""
ROOT = "coombs.root"
"""Where it has the path that the page is below: what is mounted in the page has another root path."""
_HEADERS = (
    b"x-forwarded-for",
    b"x-forwarded-proto",
    b"x-forwarded-host",
    b"x-forwarded-prefix",
    b"forwarded",
)
_ROOT = re.compile(r"(/[A-Za-z0-9._~-]+)+")
"""A path below which the page can be."""


class ProxyMiddleware:
    """ASGI middleware: what a named proxy says of a request counts, and nobody else's headers do.

    `X-Forwarded-For` and `-Proto` say who asks and how, `-Host` and `-Prefix` where the page is for them.
    Below a root path, requests come in with it or without, as proxies are set up in either way.
    """

    def __init__(self, app: ASGIApp, root: str = "", proxies: tuple[Network, ...] = ()) -> None:
        self.app, self.root, self.proxies = app, root, proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on as the proxy had it."""
        if scope["type"] == "http":
            is_forwarded = any(name in _HEADERS for name, _ in scope["headers"])
            # An app that mounts this one, or the server, knows the root better.
            root = str(scope.get("root_path") or self.root).rstrip("/")
            scope = {**scope, "root_path": root, FORWARDED: is_forwarded}
            if scope[FORWARDED]:
                self._apply(scope)
            scope[ROOT] = scope["root_path"]
            _put_below_root(scope)
        await self.app(scope, receive, send)

    def _apply(self, scope: Scope) -> None:
        """Take over what a named proxy says, and drop the headers in any case."""
        given = Headers(raw=scope["headers"])
        scope["headers"] = [one for one in scope["headers"] if one[0] not in _HEADERS]
        if not scope.get("client") or not is_among(scope["client"][0], self.proxies):
            return
        scope["client"] = (self._client(given) or scope["client"][0], 0)
        proto, host = _last(given, "x-forwarded-proto"), _last(given, "x-forwarded-host")
        if proto in ("http", "https"):
            scope["scheme"] = proto
        if host:
            kept = [one for one in scope["headers"] if one[0] != b"host"]
            scope["headers"] = [(b"host", host.encode("latin-1")), *kept]
        prefix = _last(given, "x-forwarded-prefix").rstrip("/")
        if _ROOT.fullmatch(prefix):
            scope["root_path"] = prefix

    def _client(self, given: Headers) -> str:
        """The last address that no named proxy has: what is before it could be anybody's word."""
        chain = [one.strip() for one in ",".join(given.getlist("x-forwarded-for")).split(",") if one.strip()]
        return next(
            (one for one in reversed(chain) if not is_among(one, self.proxies)), chain[0] if chain else ""
        )


def networks(given: Iterable[str], what: str = "The proxy") -> tuple[Network, ...]:
    """Addresses or networks, or an InputError."""
    found = []
    for one in given:
        try:
            found.append(ipaddress.ip_network(one.strip(), strict=False))
        except ValueError:
            raise InputError(
                f"{what} {one!r} is no address; give one, as 127.0.0.1, or a network, as 10.0.0.0/8."
            ) from None
    return tuple(found)


def checked_root(path: str) -> str:
    """A path that the page is below, as "/taste", or "" for none."""
    root = f"/{path.strip('/')}" if path.strip("/") else ""
    if root and not _ROOT.fullmatch(root):
        raise InputError(f"The root path is {path!r}; it must be plain, as /taste.")
    return root


def is_among(address: str, proxies: Iterable[Network]) -> bool:
    """Whether an address is a named proxy's."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None) or found
    return any(mapped in network for network in proxies)


def root_of(scope: Scope) -> str:
    """The path that the page is below, "" at the top."""
    return str(scope[ROOT])


def path_of(scope: Scope) -> str:
    """The path of a request as routes have it, without the root."""
    return str(scope["path"]).removeprefix(root_of(scope)) or "/"


def site_of(scope: Scope) -> str:
    """The address of the page as whoever asks has it, without a slash at its end."""
    host = Headers(scope=scope).get("host", "")
    return f"{scope['scheme']}://{host}{root_of(scope)}"


def _put_below_root(scope: Scope) -> None:
    """Let the path begin with the root, as ASGI has it, also where a proxy has cut it off."""
    root, path = root_of(scope), scope["path"]
    if root and path != root and not path.startswith(f"{root}/"):
        scope["path"] = f"{root}{path}"
        scope["raw_path"] = root.encode() + scope.get("raw_path", path.encode())


def _last(given: Headers, name: str) -> str:
    """The last of several values, which the nearest proxy added."""
    return ",".join(given.getlist(name)).rpartition(",")[2].strip()
