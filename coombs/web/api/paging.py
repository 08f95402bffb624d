"""Long lists in parts: `?limit=100`, and the address of the next part in the header `Link`."""

from __future__ import annotations

from typing import Annotated, TypeAlias
from urllib.parse import quote, urlencode

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.tables import InputError
from coombs.web.proxies import path_of, site_of

MOST = 1000
"""Rows of a part, at most."""

Limit: TypeAlias = Annotated[
    int | None,
    Query(ge=1, le=MOST, description="How many at most; by default all. The header Link has the rest"),
]
After: TypeAlias = Annotated[
    str, Query(max_length=500, description="Where the part before ended, as Link has it")
]


def point_to_next(request: Request, response: Response, limit: int | None, after: str, **more: str) -> None:
    """Let a reply name the address of the next part; `more` is what else the query has."""
    query = urlencode({**more, "limit": limit, "after": after})
    address = f"{site_of(request.scope)}{quote(path_of(request.scope), safe='/~')}?{query}"
    response.headers["Link"] = f'<{address}>; rel="next"'


def after_number(after: str) -> int:
    """The number of the row that the part before ended with; 0 before the first."""
    if not after:
        return 0
    if not after.isdecimal() or len(after) > 18:
        raise InputError(f"after is {after!r}; take it from the header Link of the part before.")
    return int(after)
