"""The owner's pages of one study: links for people, who answered, how they differ, export, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.tables import InputError
from coombs.study import Study, delete_study
from coombs.web.downloads import study_file
from coombs.web.drafts import people_names
from coombs.web.pages import download, go_to, registry_of, render, slowly, study_called, study_path
from coombs.web.people import compared, enough
from coombs.web.start import Owner

router = APIRouter(prefix="/studies", dependencies=[Owner], include_in_schema=False)
EXPORTS = {"answers.csv": ("csv", "text/csv"), "study.jsonl": ("jsonl", "application/jsonl")}


@router.get("/{name}")
def study_page(request: Request, name: str) -> Response:
    """Who answered how much, and everybody's link."""
    return _page(request, registry_of(request).study(study_called(name)))


def _page(request: Request, study: Study, status: int = 200, problem: str = "", typed: str = "") -> Response:
    people = study.storage.respondents(study.record.id)
    return render(
        request,
        "study.html",
        status,
        study=study,
        people=people,
        able=sum(n >= enough(study) for _, n in people),
        enough=enough(study),
        base=str(request.base_url).rstrip("/"),
        problem=problem,
        typed=typed,
    )


@router.post("/{name}/people")
def add_people(request: Request, name: str, names: Annotated[str, Form()] = "") -> Response:
    """A link for each name."""
    study = registry_of(request).study(study_called(name))
    try:
        for person in people_names(names):
            study.respondent(person)
    except InputError as error:
        return _page(request, study, 422, str(error), names)
    return go_to(f"{study_path(study.name)}#people")


@router.post("/{name}/answer")
def answer_oneself(request: Request, name: str) -> Response:
    """The owner's own link."""
    study = registry_of(request).study(study_called(name))
    return go_to(f"/a/{study.respondent().record.token}")


@router.get("/{name}/differences")
async def compare(request: Request, name: str) -> Response:
    """People side by side."""
    registry = registry_of(request)
    study = await slowly(request, registry.study, study_called(name))
    about = await slowly(request, compared, registry, study)
    return render(
        request,
        "differences.html",
        study=study,
        sentence=about.sentence,
        found=about.differences,
        enough=enough(study),
    )


@router.get("/{name}/export/{file}")
def export(request: Request, name: str, file: str) -> Response:
    """All answers, or all there is."""
    study = registry_of(request).study(study_called(name))
    if file not in EXPORTS:
        raise InputError(f"There is no export {file!r}; there are {' and '.join(EXPORTS)}.")
    ending, kind = EXPORTS[file]
    return download(study_file(study, ending), f"{study.name}-{file}", kind)


@router.get("/{name}/delete")
def ask_to_delete(request: Request, name: str) -> Response:
    """Whether it is meant."""
    study = registry_of(request).study(study_called(name))
    return render(request, "delete.html", study=study, answers=_n_answers(study), problem="")


@router.post("/{name}/delete")
def delete(request: Request, name: str, confirm: Annotated[str, Form()] = "") -> Response:
    """Delete it, once its name was typed."""
    registry = registry_of(request)
    study = registry.study(study_called(name))
    if " ".join(confirm.split()) != " ".join(study.name.split()):
        problem = "That is not the study's name, so nothing was deleted."
        answers = _n_answers(study)
        return render(request, "delete.html", 422, study=study, answers=answers, problem=problem)
    delete_study(study.name, storage=registry.storage)
    registry.forget(study)
    return go_to("/")


def _n_answers(study: Study) -> int:
    return sum(study.respondents().values())
