"""The owner's first pages: the studies so far, an upload to look over, a new study, the login."""

from __future__ import annotations

from functools import cache
from importlib.resources import files as package_files
from typing import Annotated

from fastapi import APIRouter, Depends, File, Form, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.study import create_study
from coombs.web.column_choices import LABELS, MARKS, chosen_roles, column_choices
from coombs.web.declared_form import DeclaredForm
from coombs.web.drafts import Drafts
from coombs.web.errors import described, too_many
from coombs.web.owner_access import OwnerAccess
from coombs.web.pages.rendering import go_to, render
from coombs.web.routing import cache_of, own_path, study_path
from coombs.web.upload_validation import review
from coombs.web.uploads import NAMES_FILE, ColumnRoles, Upload, names_table, study_name

FIRST_ROWS = 6
"""Rows of an upload that are shown."""
NOTHING = DeclaredForm()
"""What is declared before anybody declares anything."""

router = APIRouter(include_in_schema=False)


@cache
def examples() -> dict[str, bytes]:
    """The tables that ship with the package, by name."""
    folder = package_files("coombs") / "data"
    found = sorted(folder.iterdir(), key=lambda one: one.name) if folder.is_dir() else []
    return {one.name.removesuffix(".csv"): one.read_bytes() for one in found if one.name.endswith(".csv")}


@router.get("/")
def home(request: Request) -> Response:
    """Studies so far, and where to drop a file."""
    return _home(request)


def _home(request: Request, status: int = 200, problem: str = "", typed: str = "") -> Response:
    studies = sorted(cache_of(request).storage.studies(), key=lambda one: one.created, reverse=True)
    more = {"studies": studies, "examples": list(examples())}
    return render(request, "start.html", status, **more, problem=problem, typed=typed)


@router.post("/drafts")
def upload(
    request: Request,
    file: Annotated[UploadFile | None, File()] = None,
    example: Annotated[str, Form()] = "",
    names: Annotated[str, Form()] = "",
) -> Response:
    """A file, names that were written down, or an example that ships, to look over."""
    drafts: Drafts = request.app.state.drafts
    try:
        if example:
            if example not in examples():
                raise InputError(f"There is no example {example!r}.")
            draft = drafts.add(examples()[example], f"{example}.csv")
        elif names:
            draft = drafts.add(names_table(names), NAMES_FILE)
        elif file is None or not file.filename:
            raise InputError(
                Translatable(
                    "No file was chosen; choose a CSV, Excel, JSON or Parquet file, or take an example."
                )
            )
        else:
            draft = drafts.add(file.file.read(), file.filename)
    except InputError as error:
        return _home(request, 422, str(error), names)
    return go_to(request, f"/drafts/{draft.id}")


@router.get("/drafts/{number}")
def look_over(request: Request, number: str) -> Response:
    """The table, and what its columns probably are."""
    draft = _upload(request, number)
    return _preview(request, draft, draft.guess(), draft.table.file.rpartition(".")[0] or draft.table.file)


@router.post("/drafts/{number}")
def submit_columns(
    request: Request,
    number: str,
    name: Annotated[str, Form()] = "",
    role: Annotated[list[str] | None, Form()] = None,
    levels: Annotated[list[str] | None, Form()] = None,
    numbered: Annotated[bool, Form()] = False,
    declared: Annotated[DeclaredForm, Depends()] = NOTHING,
    create: Annotated[str, Form()] = "",
) -> Response:
    """Check the choices again, or make the study; `role` and `levels` are in the order of the columns."""
    draft = _upload(request, number)
    try:
        roles = chosen_roles(draft, role or (), levels or (), numbered)
    except InputError as error:
        return _preview(request, draft, draft.guess(), name, *described(error), declared=declared)
    if not create:
        return _preview(request, draft, roles, name, declared=declared)
    try:
        called, storage = study_name(name), cache_of(request).storage
        wishes = declared.texts(column_choices(draft, roles))
        create_study(draft.catalogue(roles), called, storage=storage, load_if_exists=False, wishes=wishes)
    except InputError as error:
        return _preview(request, draft, roles, name, *described(error), declared=declared)
    return go_to(request, study_path(called))


def _preview(
    request: Request,
    draft: Upload,
    roles: ColumnRoles,
    name: str,
    status: int = 200,
    problem: str = "",
    declared: DeclaredForm = NOTHING,
) -> Response:
    found = review(draft, roles)
    return render(
        request,
        "preview.html",
        status,
        upload=draft,
        rows=draft.texts(FIRST_ROWS),
        roles=roles,
        review=found,
        declared=declared.rows(found.columns),
        labels=LABELS,
        marks=MARKS,
        has_repeats=roles.names is not None and bool(draft.repeated(roles.names)),
        name=name,
        wishes=declared.lines,
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
    owner: OwnerAccess = request.app.state.owner
    visitor, path = owner.shown(request, token), own_path(to)
    if visitor.is_owner:
        return await owner.begin(request, go_to(request, path))
    status, wrong = (
        (429, too_many(visitor)) if visitor.wait else (401, Translatable("That is not the token."))
    )
    return render(request, "login.html", status, wrong=wrong, to=path)


@router.post("/logout")
async def logout(request: Request) -> Response:
    """End the session of this browser."""
    owner: OwnerAccess = request.app.state.owner
    return await owner.end(request, go_to(request, "/login"))


def _upload(request: Request, number: str) -> Upload:
    drafts: Drafts = request.app.state.drafts
    draft = drafts.get(number)
    if draft is None:
        raise HTTPException(404, Translatable("This upload is no longer here; choose the file again."))
    return draft
