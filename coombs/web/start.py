"""The owner's first pages: the studies so far, a table to look over, a new study."""

from __future__ import annotations

from functools import cache
from importlib.resources import files as package_files
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.tables import InputError
from coombs.study import create_study
from coombs.web import checks
from coombs.web.drafts import Choices, Draft, read_upload, study_name
from coombs.web.errors import NotOwnerError, described, pause, with_cookie
from coombs.web.pages import go_to, registry_of, render, study_path
from coombs.web.registry import Cache
from coombs.web.safety import COOKIE, Policy

FIRST_ROWS = 6
GONE = "This upload is no longer here; choose the file again."

router = APIRouter(include_in_schema=False)


def owner(request: Request) -> None:
    """Let nobody pass but the owner."""
    policy: Policy = request.app.state.policy
    if not policy.is_owner(request):
        raise NotOwnerError


Owner = Depends(owner)


@cache
def examples() -> dict[str, bytes]:
    """The tables that ship with the package, by name."""
    folder = package_files("coombs") / "data"
    found = sorted(folder.iterdir(), key=lambda one: one.name) if folder.is_dir() else []
    return {one.name.removesuffix(".csv"): one.read_bytes() for one in found if one.name.endswith(".csv")}


@router.get("/", dependencies=[Owner])
def start(request: Request) -> Response:
    """Studies so far, and where to drop a file."""
    return _start(request)


def _start(request: Request, status: int = 200, problem: str = "") -> Response:
    studies = sorted(registry_of(request).storage.studies(), key=lambda one: one.created, reverse=True)
    return render(request, "start.html", status, studies=studies, examples=list(examples()), problem=problem)


@router.post("/drafts", dependencies=[Owner])
def upload(
    request: Request,
    file: Annotated[UploadFile | None, File()] = None,
    example: Annotated[str, Form()] = "",
) -> Response:
    """A file, or an example that ships, to look over."""
    try:
        if example:
            if example not in examples():
                raise InputError(f"There is no example {example!r}.")
            draft = read_upload(examples()[example], f"{example}.csv")
        elif file is None or not file.filename:
            raise InputError("No file was chosen; choose a CSV or Parquet file, or take an example.")
        else:
            draft = read_upload(file.file.read(), file.filename)
    except InputError as error:
        return _start(request, 422, str(error))
    _drafts(request).put(draft.id, draft)
    return go_to(f"/drafts/{draft.id}")


@router.get("/drafts/{number}", dependencies=[Owner])
def look_over(request: Request, number: str) -> Response:
    """The table, and what its columns probably are."""
    draft = _draft(request, number)
    return _preview(request, draft, draft.guess(), draft.file.rpartition(".")[0] or draft.file)


@router.post("/drafts/{number}", dependencies=[Owner])
def settle(
    request: Request,
    number: str,
    name: Annotated[str, Form()] = "",
    feature: Annotated[list[str] | None, Form()] = None,
    names: Annotated[str, Form()] = "",
    picture: Annotated[str, Form()] = "",
    link: Annotated[str, Form()] = "",
    complete: Annotated[bool, Form()] = False,
    numbered: Annotated[bool, Form()] = False,
    create: Annotated[str, Form()] = "",
) -> Response:
    """Check the choices again, or make the study."""
    draft = _draft(request, number)
    roles = (names or None, picture or None, link or None)
    choices = Choices(tuple(feature or ()), *roles, complete, numbered)
    if not create:
        return _preview(request, draft, choices, name)
    try:
        called = study_name(name)
        items = draft.catalogue(choices)
        create_study(items, called, storage=registry_of(request).storage, load_if_exists=False)
    except InputError as error:
        return _preview(request, draft, choices, name, *described(error))
    return go_to(study_path(called))


def _preview(
    request: Request, draft: Draft, choices: Choices, name: str, status: int = 200, problem: str = ""
) -> Response:
    known = all(
        column is None or column in draft.columns
        for column in (*choices.features, choices.names, choices.picture, choices.link)
    )
    if not known:
        choices, problem, status = draft.guess(), problem or "There is no such column.", 422
    return render(
        request,
        "preview.html",
        status,
        draft=draft,
        rows=draft.texts(FIRST_ROWS),
        choices=choices,
        problems=checks.problems(draft, choices),
        warnings=checks.warnings(draft, choices),
        has_gaps=any(len(draft.gaps(column)) for column in draft.numeric),
        has_repeats=choices.names is not None and bool(draft.repeated(choices.names)),
        name=name,
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
        return with_cookie(request, go_to(path), policy)
    await pause(request)
    return render(request, "login.html", 401, wrong="That is not the token.", to=path)


@router.post("/logout")
def logout(request: Request) -> Response:
    """Forget that this browser is the owner's."""
    response = go_to("/login")
    response.delete_cookie(COOKIE)
    return response


def _drafts(request: Request) -> Cache[Draft]:
    drafts: Any = request.app.state.drafts
    return drafts  # type: ignore[no-any-return]


def _draft(request: Request, number: str) -> Draft:
    draft = _drafts(request).get(number)
    if draft is None:
        raise HTTPException(404, GONE)
    return draft
