"""What the owner can do: list studies, make one, make links for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.security import HTTPBearer
from starlette.requests import Request
from starlette.responses import Response

from coombs.storage import RespondentRecord, StudySummary
from coombs.study import Study, create_study, delete_study
from coombs.web.api.idempotency import IdempotentRoute
from coombs.web.api.paging import After, Limit, after_number, point_to_next
from coombs.web.api.schemas import GroupOut, PeopleIn, PersonOut, StudyIn, StudyOut, StudySummaryOut
from coombs.web.item_cards import LINK, PICTURE
from coombs.web.owner_access import visitor_of
from coombs.web.proxies import site_of
from coombs.web.routing import cache_of, group_state, study_called, study_of
from coombs.web.uploads import people_names, read_upload, study_name

Name = Annotated[str, Path(description="The study's name; ~2F stands for a slash in it, ~7E for ~")]
BEARER = Depends(
    HTTPBearer(
        scheme_name="token",
        description="The owner's token, or one of a study: 'answer' may make people, 'read' may read, 'own' "
        "may do all in its study.",
        auto_error=False,
    )
)
"""For the reference: the middleware looks at the token."""

router = APIRouter(prefix="/api/studies", tags=["owner"], route_class=IdempotentRoute, dependencies=[BEARER])


@router.get("", response_model=list[StudySummaryOut])
def studies(
    request: Request, response: Response, limit: Limit = None, after: After = ""
) -> Sequence[StudySummary]:
    """All studies, by name."""
    found = [one for one in cache_of(request).storage.studies() if one.name > after]
    if limit is not None and len(found) > limit:
        found = found[:limit]
        point_to_next(request, response, limit, found[-1].name)
    return found


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
    return _about(request, study_of(request, name))


@router.delete("/{name}", status_code=204)
def delete(request: Request, name: Name) -> None:
    """Delete a study with its people and their answers, for good."""
    cache = cache_of(request)
    found = cache.study(study_called(name))
    delete_study(found.name, storage=cache.storage)
    cache.forget(found)
    request.app.state.groups.forget(found)


@router.get("/{name}/people")
def people(request: Request, name: Name) -> GroupOut:
    """What everybody's answers say together: groups, everybody, consensus; computed beside the API.

    While it is computed, `fraction` says how far it is, and the result is the one before, if any.
    """
    state = group_state(request, study_of(request, name))
    result = None if state.result is None else state.result.to_dict()
    return GroupOut(
        is_current=state.is_current, fraction=state.fraction, problem=state.problem or None, result=result
    )


@router.get("/{name}/respondents")
def respondents(
    request: Request, response: Response, name: Name, limit: Limit = None, after: After = ""
) -> list[PersonOut]:
    """Everybody's link, and how much they answered; who may only read sees no links."""
    study = study_of(request, name)
    most = None if limit is None else limit + 1
    found = study.storage.respondents(study.record.id, after=after_number(after), most=most)
    if limit is not None and len(found) > limit:
        found = found[:limit]
        point_to_next(request, response, limit, str(found[-1][0].id))
    return people_out(request, found)


@router.post("/{name}/respondents", status_code=201)
def add_respondents(request: Request, name: Name, new: PeopleIn) -> list[PersonOut]:
    """A link for each name; one that is there already stays as it is."""
    study = study_of(request, name)
    wanted = people_names("\n".join(" ".join(one.split()) for one in new.names))
    for one in wanted:
        study.respondent(one)
    found = study.storage.respondents(study.record.id)
    return people_out(request, [(one, n) for one, n in found if one.name in set(wanted)])


def _about(request: Request, study: Study) -> StudyOut:
    return StudyOut(
        name=study.name,
        n_items=study.n_items,
        features=study.catalogue.columns,
        columns=list(study.catalogue.decisions),
        wishes=list(study.settings.wishes),
        respondents=people_out(request, study.storage.respondents(study.record.id)),
        shared_prior=study.settings.shared_prior,
        n_others=study.priors.n_others,
    )


def people_out(request: Request, found: Sequence[tuple[RespondentRecord, int]]) -> list[PersonOut]:
    """People as the API shows them; of who may only read, and of revoked links, without links."""
    base, sees = f"{site_of(request.scope)}/a", visitor_of(request.scope).sees_links
    shown = [(one, n, sees and not one.is_revoked) for one, n in found]
    return [
        PersonOut(
            name=one.name,
            token=one.token if has_link else None,
            link=f"{base}/{one.token}" if has_link else None,
            n_answers=n,
        )
        for one, n, has_link in shown
    ]
