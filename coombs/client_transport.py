"""How the client of the API sends a request and gets its reply: by urllib, without following redirects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener


class ClientReply(NamedTuple):
    """A reply of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _NoRedirect(HTTPRedirectHandler):
    """A token goes nowhere but to the server that it is for."""

    def redirect_request(self, *_: Any) -> None:
        return None


class UrllibTransport:
    """Sends requests by urllib."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._opener: OpenerDirector = build_opener(_NoRedirect)

    def __call__(self, request: Request) -> ClientReply:
        """The reply, or an OSError where none comes."""
        try:
            with self._opener.open(request, timeout=self._timeout) as reply:
                return ClientReply(reply.status, _lower(reply.headers), reply.read())
        except HTTPError as error:
            with error:
                return ClientReply(error.code, _lower(error.headers), error.read())
        except (URLError, OSError):
            raise
        except Exception as error:
            # Of http.client, where a reply was cut off.
            raise OSError(str(error)) from error


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
