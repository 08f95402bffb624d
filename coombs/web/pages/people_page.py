"""The owner's pages about people: whom to remind, one person, their rights, and how long data is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Form
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from coombs.data import files
from coombs.language import Translatable
from coombs.storage import RespondentRecord
from coombs.study import QualityFlags, Study
from coombs.study.answer_files import export_answers
from coombs.study.history import History
from coombs.study.person_rights import person_by_number
from coombs.study.retention import ACTIONS
from coombs.web.pages.rendering import download, go_to, render
from coombs.web.proxies import site_of
from coombs.web.routing import cache_of, study_of, study_path, written

router = APIRouter(prefix="/studies/{name}", include_in_schema=False)

ACTS: dict[str, Callable[[Study, str], object]] = {
    "delete": Study.delete_respondent,
    "anonymise": Study.anonymise_respondent,
    "revoke": Study.revoke_link,
    "renew": Study.renew_link,
}
"""What can be done to a person's data or link, by the last part of the address."""


@router.get("/remind")
def remind_page(request: Request, name: str) -> Response:
    """The links of all who are not done, to copy."""
    study = study_of(request, name)
    rows = _not_done(request, study)
    text = "\n".join(f"{called}\t{link}" for called, _, link in rows)
    return render(request, "remind.html", study=study, rows=rows, text=text)


@router.get("/remind.csv")
def remind_csv(request: Request, name: str) -> Response:
    """The links of all who are not done, as a CSV file."""
    study = study_of(request, name)
    rows = _not_done(request, study)
    header = ["name", "status", "link"]
    content = written("csv", lambda path: files.write_csv(path, header, rows))
    return download(content, f"{study.name}-remind.csv", "text/csv")


def _not_done(request: Request, study: Study) -> list[tuple[str, str, str]]:
    """Name, status and link of each."""
    tokens, site = study.links(), site_of(request.scope)
    people = study.monitor().not_done
    return [(one.name, one.status, f"{site}/a/{tokens[one.name]}") for one in people if one.name in tokens]


@router.get("/people/{number}")
def person_page(request: Request, name: str, number: int) -> Response:
    """What is known of somebody, and what can be done about it."""
    study = study_of(request, name)
    record, _ = person_by_number(study, number)
    person = next(one for one in study.monitor().people if one.id == number)
    link = f"{site_of(request.scope)}/a/{record.token}"
    told = QualityFlags.of(History.of(study.storage, number)).sentences(Translatable("This person"))
    return render(request, "person.html", study=study, person=person, record=record, link=link, told=told)


@router.get("/people/{number}/data.json")
def person_json(request: Request, name: str, number: int) -> Response:
    """All that is stored of somebody."""
    study, record = _person(request, name, number)
    text = json.dumps(study.export_respondent(record.name), ensure_ascii=False, indent=2, allow_nan=False)
    return download(text, f"{study.name}-{record.name}.json", "application/json")


@router.get("/people/{number}/answers.csv")
def person_csv(request: Request, name: str, number: int) -> Response:
    """Somebody's answers."""
    study, record = _person(request, name, number)
    content = written("csv", lambda path: export_answers(study, path, record.name))
    return download(content, f"{study.name}-{record.name}.csv", "text/csv")


@router.get("/people/{number}/{act}")
def ask_before(request: Request, name: str, number: int, act: str) -> Response:
    """Whether it is meant."""
    study, record = _person(request, name, number)
    if act not in ACTS:
        raise HTTPException(404)
    n_answers = study.respondents().get(record.name, 0)
    return render(request, "person_confirm.html", study=study, record=record, act=act, n_answers=n_answers)


@router.post("/people/{number}/{act}")
def act_upon(request: Request, name: str, number: int, act: str) -> Response:
    """Do it."""
    study, record = _person(request, name, number)
    if act not in ACTS:
        raise HTTPException(404)
    ACTS[act](study, record.name)
    cache_of(request).forget_person(record)
    there = "#people" if act == "delete" else f"/people/{number}"
    return go_to(request, f"{study_path(study.name)}{there}")


def _person(request: Request, name: str, number: int) -> tuple[Study, RespondentRecord]:
    study = study_of(request, name)
    return study, person_by_number(study, number)[0]


@router.post("/retention")
def set_retention(
    request: Request,
    name: str,
    until: Annotated[str, Form()] = "",
    action: Annotated[str, Form()] = ACTIONS[0],
) -> Response:
    """Until when people's data is kept; a blank date keeps it without an end."""
    study = study_of(request, name)
    study.set_retention(until.strip() or None, action)
    return go_to(request, f"{study_path(study.name)}#keeping")
