"""Other sites that may show respondents' pages in a frame, and ask and tell from their own scripts."""

from __future__ import annotations

from collections.abc import Iterable

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders

from coombs.data.tables import InputError
from coombs.study.embed_origins import checked_origins
from coombs.web.access import is_from_another_origin
from coombs.web.study_cache import StudyCache

PAGES = ("/a/", "/join/")
"""Paths that may be shown in a frame."""
API = "/api/respondents/"
"""Paths that scripts of other sites may call: their addresses hold the person's secret, no cookie does."""
SCRIPT = "/static/embed.js"
"""What other sites load to show a question."""
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "600",
}
"""What a browser is told before a script of another site sends JSON."""


class Embedding:
    """Origins that a study or the server names may embed; nobody else's page may.

    A study's own origins count where it names any, otherwise the server's. Where the server names any, no
    others count.

    Examples
    --------
    >>> from coombs.storage import open_storage
    >>> embedding = Embedding(StudyCache(open_storage("memory:")), ["https://a.example", "https://b.example"])
    >>> embedding.of(["https://b.example", "https://c.example"])
    ('https://b.example',)
    """

    def __init__(self, cache: StudyCache, origins: Iterable[str] = ()) -> None:
        self.cache, self.origins = cache, checked_origins(origins)

    def of(self, named: Iterable[str]) -> tuple[str, ...]:
        """Origins that may embed a study that names these."""
        own = tuple(named)
        if not own or not self.origins:
            return own or self.origins
        return tuple(one for one in own if one in self.origins)

    def refused(self, named: Iterable[str]) -> tuple[str, ...]:
        """Those that a study names and the server does not allow."""
        own = tuple(named)
        return tuple(one for one in own if one not in self.of(own))

    def framed_by(self, path: str) -> str:
        """Origins that may show a page in a frame, with spaces between; "" for none.

        It is asked once the study was read for the page: nothing is read here.
        """
        if not path.startswith(PAGES):
            return ""
        study = self.cache.study_at_hand(path)
        return " ".join(self.of(() if study is None else study.presentations.at_hand.embed_origins))

    async def is_guest(self, path: str, headers: Headers) -> bool:
        """Whether a script of another site calls, and may."""
        if not path.startswith(API) or not is_from_another_origin(headers):
            return False
        return await anyio.to_thread.run_sync(self._may_call, path, headers["origin"])

    def _may_call(self, path: str, origin: str) -> bool:
        try:
            study = self.cache.respondent(path.removeprefix(API).partition("/")[0]).study
        except InputError:
            # What is wrong with the link is told to whom the server lets in.
            return origin in self.origins
        return origin in self.of(study.presentations.current.embed_origins)

    def apply(self, headers: MutableHeaders, path: str, guest: str) -> None:
        """Let a reply say who may use it, beside our own pages; `guest` is an origin that may call, or ""."""
        if origins := self.framed_by(path):
            policy = headers["Content-Security-Policy"]
            headers["Content-Security-Policy"] = policy.replace(
                "frame-ancestors 'none'", f"frame-ancestors 'self' {origins}"
            )
            # It knows no list; browsers that know frame-ancestors go by that.
            del headers["X-Frame-Options"]
        if path == SCRIPT:
            headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        if path.startswith(API):
            headers.add_vary_header("Origin")
            if guest:
                headers["Access-Control-Allow-Origin"] = guest
                headers["Access-Control-Expose-Headers"] = "Link, Retry-After"
