"""The owner's first pages: the studies so far, an upload to look over, a new study, the login."""

from __future__ import annotations

from functools import cache
from importlib.resources import files as package_files
from typing import Annotated

from fastapi import APIRouter, File, Form, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.tables import InputError
from coombs.study import create_study
from coombs.web.access import COOKIE, Policy
from coombs.web.column_choices import LABELS, MARKS, chosen_roles
from coombs.web.errors import described, pause
from coombs.web.pages.rendering import go_to, render
from coombs.web.routing import OWNER_ONLY, cache_of, study_path
from coombs.web.study_cache import LRUCache
from coombs.web.upload_validation import review
from coombs.web.uploads import ColumnRoles, Upload, read_names, read_upload, study_name

FIRST_ROWS = 6
"""Rows of an upload that are shown."""

router = APIRouter(include_in_schema=False)


@cache
def examples() -> dict[str, bytes]:
    """The tables that ship with the package, by name."""
    folder = package_files("coombs") / "data"
    found = sorted(folder.iterdir(), key=lambda one: one.name) if folder.is_dir() else []
    return {one.name.removesuffix(".csv"): one.read_bytes() for one in found if one.name.endswith(".csv")}


@router.get("/", dependencies=[OWNER_ONLY])
def home(request: Request) -> Response:
    """Studies so far, and where to drop a file."""
    return _home(request)


def _home(request: Request, status: int = 200, problem: str = "", typed: str = "") -> Response:
    studies = sorted(cache_of(request).storage.studies(), key=lambda one: one.created, reverse=True)
    more = {"studies": studies, "examples": list(examples())}
    return render(request, "start.html", status, **more, problem=problem, typed=typed)


@router.post("/drafts", dependencies=[OWNER_ONLY])
def upload(
    request: Request,
    file: Annotated[UploadFile | None, File()] = None,
    example: Annotated[str, Form()] = "",
    names: Annotated[str, Form()] = "",
) -> Response:
    """A file, names that were written down, or an example that ships, to look over."""
    try:
        if example:
            if example not in examples():
                raise InputError(f"There is no example {example!r}.")
            draft = read_upload(examples()[example], f"{example}.csv")
        elif names:
            draft = read_names(names)
        elif file is None or not file.filename:
            raise InputError(
                "No file was chosen; choose a CSV, Excel, JSON or Parquet file, or take an example."
            )
        else:
            draft = read_upload(file.file.read(), file.filename)
    except InputError as error:
        return _home(request, 422, str(error), names)
    _uploads(request).put(draft.id, draft)
    return go_to(f"/drafts/{draft.id}")


@router.get("/drafts/{number}", dependencies=[OWNER_ONLY])
def look_over(request: Request, number: str) -> Response:
    """The table, and what its columns probably are."""
    draft = _upload(request, number)
    return _preview(request, draft, draft.guess(), draft.table.file.rpartition(".")[0] or draft.table.file)


@router.post("/drafts/{number}", dependencies=[OWNER_ONLY])
def submit_columns(
    request: Request,
    number: str,
    name: Annotated[str, Form()] = "",
    role: Annotated[list[str] | None, Form()] = None,
    levels: Annotated[list[str] | None, Form()] = None,
    numbered: Annotated[bool, Form()] = False,
    wishes: Annotated[str, Form()] = "",
    create: Annotated[str, Form()] = "",
) -> Response:
    """Check the choices again, or make the study; `role` and `levels` are in the order of the columns."""
    draft = _upload(request, number)
    try:
        roles = chosen_roles(draft, role or (), levels or (), numbered)
    except InputError as error:
        return _preview(request, draft, draft.guess(), name, *described(error), wishes=wishes)
    if not create:
        return _preview(request, draft, roles, name, wishes=wishes)
    try:
        called, storage = study_name(name), cache_of(request).storage
        declared = [line.strip() for line in wishes.splitlines() if line.strip()]
        create_study(draft.catalogue(roles), called, storage=storage, load_if_exists=False, wishes=declared)
    except InputError as error:
        return _preview(request, draft, roles, name, *described(error), wishes=wishes)
    return go_to(study_path(called))


def _preview(
    request: Request,
    draft: Upload,
    roles: ColumnRoles,
    name: str,
    status: int = 200,
    problem: str = "",
    wishes: str = "",
) -> Response:
    return render(
        request,
        "preview.html",
        status,
        upload=draft,
        rows=draft.texts(FIRST_ROWS),
        roles=roles,
        review=review(draft, roles),
        labels=LABELS,
        marks=MARKS,
        has_repeats=roles.names is not None and bool(draft.repeated(roles.names)),
        name=name,
        wishes=wishes,
        problem=problem,
    )


@router.get("/login")
def login_page(request: Request) -> Response:
    """Where the owner gives the token."""
    return render(request, "login.html", wrong="", to="/")


@router.post("/login")
async def login(
    request: Request, token: Annotated[str, Form()] = "", to: Annotated[str, Form()] = "/"
) -> Response:
    """Let the owner in."""
    policy: Policy = request.app.state.policy
    # Only a path of our own: not //elsewhere, nor /\elsewhere.
    path = to if to.startswith("/") and to[1:2] not in ("/", "\\") and to.isprintable() else "/"
    if policy.accepts(token):
        return policy.with_cookie(request, go_to(path))
    await pause(request)
    return render(request, "login.html", 401, wrong="That is not the token.", to=path)


@router.post("/logout")
def logout(request: Request) -> Response:
    """Forget that this browser is the owner's."""
    response = go_to("/login")
    response.delete_cookie(COOKIE)
    return response


def _uploads(request: Request) -> LRUCache[Upload]:
    uploads: LRUCache[Upload] = request.app.state.uploads
    return uploads


def _upload(request: Request, number: str) -> Upload:
    draft = _uploads(request).get(number)
    if draft is None:
        raise HTTPException(404, "This upload is no longer here; choose the file again.")
    return draft
