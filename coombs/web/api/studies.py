"""What the owner can do: list studies, make one, make links for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request

from coombs.storage import StudySummary
from coombs.study import Study, create_study
from coombs.web.api.bounded_json import BoundedRoute
from coombs.web.api.schemas import GroupOut, PeopleIn, PersonOut, StudyIn, StudyOut, StudySummaryOut
from coombs.web.item_cards import LINK, PICTURE
from coombs.web.proxies import site_of
from coombs.web.routing import cache_of, group_state, study_called
from coombs.web.uploads import people_names, read_upload, study_name

Name = Annotated[str, Path(description="The study's name; ~2F stands for a slash in it, ~7E for ~")]

router = APIRouter(prefix="/api/studies", tags=["owner"], route_class=BoundedRoute)


@router.get("", response_model=list[StudySummaryOut])
def studies(request: Request) -> Sequence[StudySummary]:
    """All studies."""
    return cache_of(request).storage.studies()


@router.post("", status_code=201)
def create(request: Request, new: StudyIn) -> StudyOut:
    """A new study; 409 if there is one of that name."""
    upload = read_upload(new.csv.encode(errors="replace"), "csv")
    special = {"names": new.name_column, PICTURE: new.picture_column, LINK: new.link_column}
    said = {column: role for role, column in special.items() if column is not None}
    roles = upload.guess(new.features, {**said, **(new.roles or {})})
    items, storage = upload.catalogue(roles), cache_of(request).storage
    made = create_study(
        items,
        study_name(new.name),
        storage=storage,
        load_if_exists=False,
        wishes=new.wishes,
        shared_prior=new.shared_prior,
    )
    return _about(request, made)


@router.get("/{name}")
def study(request: Request, name: Name) -> StudyOut:
    """A study and its people."""
    return _about(request, cache_of(request).study(study_called(name)))


@router.get("/{name}/people")
def people(request: Request, name: Name) -> GroupOut:
    """What everybody's answers say together: groups, everybody, consensus; computed beside the API.

    While it is computed, `fraction` says how far it is, and the result is the one before, if any.
    """
    state = group_state(request, cache_of(request).study(study_called(name)))
    result = None if state.result is None else state.result.to_dict()
    return GroupOut(
        is_current=state.is_current, fraction=state.fraction, problem=state.problem or None, result=result
    )


@router.get("/{name}/respondents")
def respondents(request: Request, name: Name) -> list[PersonOut]:
    """Everybody's link, and how much they answered."""
    return _people(request, cache_of(request).study(study_called(name)))


@router.post("/{name}/respondents", status_code=201)
def add_respondents(request: Request, name: Name, new: PeopleIn) -> list[PersonOut]:
    """A link for each name; one that is there already stays as it is."""
    study = cache_of(request).study(study_called(name))
    wanted = people_names("\n".join(" ".join(one.split()) for one in new.names))
    for one in wanted:
        study.respondent(one)
    return [person for person in _people(request, study) if person.name in wanted]


def _about(request: Request, study: Study) -> StudyOut:
    return StudyOut(
        name=study.name,
        n_items=study.n_items,
        features=study.catalogue.columns,
        columns=list(study.catalogue.decisions),
        wishes=list(study.settings.wishes),
        respondents=_people(request, study),
        shared_prior=study.settings.shared_prior,
        n_others=study.priors.n_others,
    )


def _people(request: Request, study: Study) -> list[PersonOut]:
    base = f"{site_of(request.scope)}/a"
    return [
        PersonOut(name=one.name, token=one.token, link=f"{base}/{one.token}", n_answers=n)
        for one, n in study.storage.respondents(study.record.id)
    ]
