"""A clear page for every error, or the same as JSON; never a traceback."""

from __future__ import annotations

import logging
import re
import sqlite3
import sys
from http import HTTPStatus

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from coombs.data.tables import InputError
from coombs.language import Language, Translatable, language
from coombs.storage import (
    AnsweredError,
    StorageDamagedError,
    StorageError,
    StudyExistsError,
    UnknownStudyError,
    is_storage_error,
)
from coombs.study.participation import IdTakenError, NotNowError
from coombs.web.owner_access import COOKIE, NotOwnerError, OwnerAccess, Visitor, forget, visitor_of
from coombs.web.pages.rendering import browser_language, go_to, render
from coombs.web.proxies import path_of
from coombs.web.routing import own_path
from coombs.web.study_cache import StudyCache
from coombs.web.wrong_requests import wrong_request

SENTENCES = {
    400: Translatable("This request cannot be understood."),
    404: Translatable("There is no such page; check the address."),
    405: Translatable("This address cannot be used in that way."),
    413: Translatable("That is too large."),
    500: Translatable(
        "Something went wrong here; try again, and tell whoever runs this study if it happens again."
    ),
    503: Translatable(
        "The storage does not answer at the moment, so this is not stored yet; try again in a moment."
    ),
}
DAMAGED = Translatable(
    "The stored data of this study is damaged, so nothing can be stored; tell whoever runs the study."
)
"""Whether what was confirmed before is still there cannot be said then."""
FOR_OWNER = Translatable("This page is for whoever runs the server, on the same machine.")
"""What strangers are told where there is no token."""
RETRY_AFTER = 3
"""Seconds after which a client may try again when the storage is away."""
STATUSES = {
    UnknownStudyError: 404,
    AnsweredError: 409,
    NotNowError: 403,
    IdTakenError: 409,
    StudyExistsError: 409,
    InputError: 422,
}
"""HTTP statuses of errors whose own sentence is shown; the last is the general one."""
TITLES = {
    404: Translatable("Not found"),
    413: Translatable("Too large"),
    422: Translatable("That does not work"),
    503: Translatable("No storage"),
}
OTHER_TITLE = Translatable("This did not work")


def install(app: FastAPI) -> None:
    """Let the app answer errors in this way."""
    for kind in (HTTPException, RequestValidationError, InputError, StorageError, sqlite3.Error):
        app.add_exception_handler(kind, respond)
    if "psycopg" in sys.modules:
        app.add_exception_handler(sys.modules["psycopg"].Error, respond)


async def respond(request: Request, error: Exception) -> Response:
    """The response to an error."""
    if isinstance(error, NotOwnerError):
        return await _to_stranger(request)
    if is_storage_error(error):
        # Whoever runs the server reads what failed and where; a respondent does not.
        logging.getLogger("coombs.web").error("%s", error)
    status, sentence = described(error)
    return problem(request, status, sentence)


def problem(request: Request, status: int, sentence: str, spoken: Language | None = None) -> Response:
    """An error as a page, in the language of a study where it is known; or as JSON for a program."""
    if path_of(request.scope).startswith("/api/"):
        response: Response = JSONResponse({"detail": sentence}, status)
    else:
        told = {"number": status, "title": TITLES.get(status, OTHER_TITLE), "sentence": sentence}
        response = render(request, "error.html", status, **told, language=spoken or _spoken(request, status))
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_AFTER)
    return response


def _spoken(request: Request, status: int) -> Language:
    """The language of the study whose people the request is from, or else the browser's."""
    cache: StudyCache | None = getattr(request.app.state, "cache", None)
    found = re.match(r"/a/([^/]+)", path_of(request.scope))
    person = cache.at_hand(found[1]) if cache is not None and found else None
    if person is None or visitor_of(request.scope).is_owner:
        return browser_language(request)
    versions = person.study.presentations
    # With an error of the storage's, nothing is read from it.
    fixed = (versions.at_hand if status >= 500 else versions.current).language
    return language(fixed) if fixed else browser_language(request)


def described(error: Exception) -> tuple[int, str]:
    """The status of an error, and its sentence."""
    if isinstance(error, HTTPException):
        standard = error.detail == HTTPStatus(error.status_code).phrase
        return error.status_code, SENTENCES.get(error.status_code, error.detail) if standard else error.detail
    if isinstance(error, RequestValidationError):
        return 422, wrong_request(error.errors())
    for kind, status in STATUSES.items():
        if isinstance(error, kind):
            return status, str(error)
    if isinstance(error, StorageDamagedError):
        return 500, DAMAGED
    status = 503 if is_storage_error(error) else 500
    return status, SENTENCES[status]


async def _to_stranger(request: Request) -> Response:
    """The login page; whoever comes with the token in the address goes on without it there."""
    owner: OwnerAccess = request.app.state.owner
    path, visitor = path_of(request.scope), visitor_of(request.scope)
    if not owner.has_token:
        return problem(request, 403, FOR_OWNER)
    given = request.query_params.get("token", "")
    if given:
        visitor = owner.shown(request, given)
    if visitor.is_owner:
        return await owner.begin(request, go_to(request, own_path(path)))
    if visitor.wait:
        response = problem(request, 429, too_many(visitor))
        response.headers["Retry-After"] = str(visitor.wait)
    elif path.startswith("/api/"):
        response = problem(request, 401, "This needs the owner's token: Authorization: Bearer TOKEN.")
    else:
        wrong = Translatable("That is not the token.") if given else ""
        response = render(request, "login.html", 401, wrong=wrong, to=path)
    return forget(request.scope, response) if COOKIE in request.cookies else response


def too_many(visitor: Visitor) -> str:
    """That somebody must wait."""
    return Translatable(
        "Too many wrong tokens came from your address; the next one is looked at in {n} second."
        "|Too many wrong tokens came from your address; the next one is looked at in {n} seconds.",
        n=visitor.wait,
    )
