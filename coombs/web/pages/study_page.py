"""The owner's pages of one study: links for people, who answered, import, export, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Form, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.study import Study, delete_study
from coombs.study.answer_files import add_table
from coombs.web.learning.group_learning import LEAST_PEOPLE
from coombs.web.pages.rendering import download, go_to, render
from coombs.web.people_view import PeopleView
from coombs.web.proxies import site_of
from coombs.web.routing import cache_of, study_of, study_path, written
from coombs.web.uploads import people_names, read_table

router = APIRouter(prefix="/studies", include_in_schema=False)
EXPORTS = {
    "tables.zip": ("zip", "application/zip"),
    "answers.csv": ("csv", "text/csv"),
    "study.jsonl": ("jsonl", "application/jsonl"),
}
"""Files of a study: their endings and types."""


@router.get("/{name}")
def study_page(request: Request, name: str) -> Response:
    """How far everybody is, and everybody's link."""
    return _page(request, study_of(request, name))


def _page(
    request: Request, study: Study, status: int = 200, problem: str = "", typed: str = "", refused: str = ""
) -> Response:
    asked = request.query_params
    study.presentations.refresh()
    view = PeopleView.of(study.monitor(), asked.get("show", ""), asked.get("sort", ""), asked.get("page", ""))
    has_group = sum(one.n_answers > 0 for one in view.monitor.people) >= LEAST_PEOPLE
    if has_group:
        request.app.state.groups.get_ready()
    return render(
        request,
        "study.html",
        status,
        study=study,
        view=view,
        tokens=study.links(),
        kept=study.retention,
        log=study.log(),
        has_group=has_group,
        n_others=study.priors.n_others,
        base=site_of(request.scope),
        problem=problem,
        typed=typed,
        refused=refused,
    )


@router.post("/{name}/people")
def add_people(request: Request, name: str, names: Annotated[str, Form()] = "") -> Response:
    """A link for each name."""
    study = study_of(request, name)
    try:
        for person in people_names(names):
            study.respondent(person)
    except InputError as error:
        return _page(request, study, 422, str(error), names)
    return go_to(request, f"{study_path(study.name)}#people")


@router.post("/{name}/answers")
def add_answers(request: Request, name: str, file: Annotated[UploadFile | None, File()] = None) -> Response:
    """Answers of any shape in a file, that were given elsewhere."""
    study = study_of(request, name)
    try:
        if file is None or not file.filename:
            raise InputError(Translatable("No file was chosen; choose a file of answers."))
        add_table(study, read_table(file.file.read(), file.filename))
    except InputError as error:
        return _page(request, study, 422, refused=str(error))
    return go_to(request, f"{study_path(study.name)}#people")


@router.post("/{name}/answer")
def answer_oneself(request: Request, name: str) -> Response:
    """The owner's own link."""
    return go_to(request, f"/a/{study_of(request, name).respondent().record.token}")


@router.get("/{name}/export/{file}")
def export(request: Request, name: str, file: str) -> Response:
    """All answers, or all there is."""
    study = study_of(request, name)
    if file not in EXPORTS:
        raise InputError(f"There is no export {file!r}; there are {', '.join(EXPORTS)}.")
    ending, kind = EXPORTS[file]
    return download(written(ending, study.export), f"{study.name}-{file}", kind)


@router.get("/{name}/delete")
def ask_to_delete(request: Request, name: str) -> Response:
    """Whether it is meant."""
    return _delete_page(request, study_of(request, name))


@router.post("/{name}/delete")
def delete(request: Request, name: str, confirm: Annotated[str, Form()] = "") -> Response:
    """Delete it, once its name was typed."""
    cache, study = cache_of(request), study_of(request, name)
    if " ".join(confirm.split()) != " ".join(study.name.split()):
        return _delete_page(
            request, study, 422, Translatable("That is not the study's name, so nothing was deleted.")
        )
    delete_study(study.name, storage=cache.storage)
    cache.forget(study)
    request.app.state.groups.forget(study)
    return go_to(request, "/")


def _delete_page(request: Request, study: Study, status: int = 200, problem: str = "") -> Response:
    answers = sum(study.respondents().values())
    return render(request, "delete.html", status, study=study, answers=answers, problem=problem)
