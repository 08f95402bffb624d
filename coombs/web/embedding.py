"""Other sites that may show respondents' pages in a frame, and ask and tell from their own scripts."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders

from coombs.data.tables import InputError

PAGES = ("/a/", "/join/")
"""Paths that may be shown in a frame."""
API = "/api/respondents/"
"""Paths that scripts of other sites may call: their addresses hold the person's secret, no cookie does."""
SCRIPT = "/static/embed.js"
"""What other sites load to show a question."""
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "600",
}
"""What a browser is told before a script of another site sends JSON."""


class Embedding:
    """Origins that are named may embed; nobody else's page may.

    Examples
    --------
    >>> embedding = Embedding(["https://shop.example"])
    >>> embedding.may_call("/api/respondents/secret/tell", "https://shop.example")
    True
    >>> embedding.may_call("/api/studies", "https://shop.example")
    False
    """

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self.origins = tuple(dict.fromkeys(map(checked_origin, origins)))

    def may_call(self, path: str, origin: str) -> bool:
        """Whether a script of that origin may call that path."""
        return origin in self.origins and path.startswith(API)

    def framed_by(self, path: str) -> str:
        """Origins that may show a page in a frame, with spaces between; "" for none."""
        return " ".join(self.origins) if path.startswith(PAGES) else ""

    def apply(self, headers: MutableHeaders, path: str, request: Headers) -> None:
        """Let a reply say who may use it, beside our own pages."""
        if origins := self.framed_by(path):
            policy = headers["Content-Security-Policy"]
            headers["Content-Security-Policy"] = policy.replace(
                "frame-ancestors 'none'", f"frame-ancestors 'self' {origins}"
            )
            # It knows no list; browsers that know frame-ancestors go by that.
            del headers["X-Frame-Options"]
        if self.origins and path == SCRIPT:
            headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        if self.origins and path.startswith(API):
            headers.add_vary_header("Origin")
            if self.may_call(path, request.get("origin", "")):
                headers["Access-Control-Allow-Origin"] = request["origin"]
                headers["Access-Control-Expose-Headers"] = "Link, Retry-After"


def checked_origin(origin: str) -> str:
    """An origin as browsers write it, or an InputError: https, or http on this machine.

    Examples
    --------
    >>> checked_origin("https://Shop.example:443/")
    'https://shop.example'
    """
    text = origin.strip()
    wrong = InputError(
        f"The origin {origin!r} cannot be used; give one as https://shop.example, without a path (http "
        "only of this machine: localhost, 127.0.0.1)."
    )
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise wrong from None
    is_safe = bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in LOCAL))
    is_plain = text.isascii() and all(letter.isalnum() or letter in ".-:[]" for letter in parts.netloc)
    if not is_safe or not is_plain or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise wrong
    named = f"[{host}]" if ":" in host else host
    usual = 443 if parts.scheme == "https" else 80
    return f"{parts.scheme}://{named}{'' if port in (None, usual) else f':{port}'}"
