"""How far people are, and their rights: export, delete, anonymise, revoke, renew; how long data is kept."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from coombs.storage import LogRecord, RespondentRecord
from coombs.study import Retention, Study
from coombs.study.monitoring import MonitoredPerson
from coombs.study.retention import DELETE
from coombs.web.api.bounded_json import BoundedRoute
from coombs.web.api.paging import After, Limit, after_number, point_to_next
from coombs.web.api.schemas import PersonOut, Time, _Body
from coombs.web.api.studies import BEARER, Name, people_out
from coombs.web.owner_access import visitor_of
from coombs.web.proxies import site_of
from coombs.web.routing import cache_of, study_called, study_of

Person = Annotated[str, Path(description="The person's name; ~2F stands for a slash in it, ~7E for ~")]
Show = Annotated[
    str, Query(description="Whom to list: all, invited, started, done, flagged, or 'not done' to remind")
]

router = APIRouter(
    prefix="/api/studies/{name}", tags=["people"], route_class=BoundedRoute, dependencies=[BEARER]
)


class MonitoredOut(BaseModel):
    """How far a person is."""

    name: str
    status: str = Field(description="invited, started or done")
    n_answers: int
    flags: list[str] = Field(description="What is noticeable in the answers")
    invited: Time
    started: str | None
    last_seen: str | None
    finished: str | None
    source: str | None
    external_id: str | None
    has_link: bool = Field(description="Whether their link works; it does not once it was revoked")
    link: str | None = Field(description="Their link, by which they are reminded; null for who may only read")


class MonitorOut(BaseModel):
    """How far a study is: everybody's status, and how many have each."""

    counts: dict[str, int]
    n_flagged: int
    people: list[MonitoredOut]


class DeletedOut(BaseModel):
    """What was deleted."""

    n_answers: int


class AnonymousOut(BaseModel):
    """What a person is called from now on."""

    name: str


class RetentionIn(_Body):
    """Until when people's data is kept."""

    until: str | None = Field(description="The last day, in UTC, as 2027-01-31; null for no end")
    action: str = Field(DELETE, description="What happens then: delete, or anonymise, which keeps answers")


class RetentionOut(BaseModel):
    """Until when people's data is kept, and what happens then; null where there is no end."""

    until: str | None
    action: str | None

    @classmethod
    def of(cls, kept: Retention | None) -> RetentionOut:
        """As JSON has it."""
        if kept is None:
            return cls(until=None, action=None)
        return cls(until=kept.until.isoformat(), action=kept.action)


class LogOut(BaseModel):
    """Something that happened to the study or its people; names are not in it."""

    what: str
    happened: Time


@router.get("/monitor")
def monitor(
    request: Request,
    response: Response,
    name: Name,
    show: Show = "all",
    limit: Limit = None,
    after: After = "",
) -> MonitorOut:
    """Who is invited, has started and is done, when they were last seen, and what is noticeable."""
    study = study_of(request, name)
    found, links = study.monitor(), _links(request, study)
    people = [one for one in found.only(show) if one.id > after_number(after)]
    if limit is not None and len(people) > limit:
        people = people[:limit]
        point_to_next(request, response, limit, str(people[-1].id), show=show)
    shown = [_monitored(one, links.get(one.name)) for one in people]
    return MonitorOut(counts=found.counts, n_flagged=len(found.flagged), people=shown)


def _links(request: Request, study: Study) -> dict[str, str]:
    """Everybody's link, of who may know them."""
    base = f"{site_of(request.scope)}/a"
    if not visitor_of(request.scope).sees_links:
        return {}
    return {name: f"{base}/{token}" for name, token in study.links().items()}


def _monitored(person: MonitoredPerson, link: str | None) -> MonitoredOut:
    return MonitoredOut.model_validate({**person.to_dict(), "invited": person.invited, "link": link})


@router.get("/respondents/{person}")
def one_person(request: Request, name: Name, person: Person) -> dict[str, Any]:
    """All that is stored of a person: what they said of themselves, questions, answers, consent."""
    return study_of(request, name).export_respondent(study_called(person))


@router.delete("/respondents/{person}")
def delete(request: Request, name: Name, person: Person) -> DeletedOut:
    """Delete a person with all that is stored of them, for good."""
    study, record = _found(request, name, person)
    n_answers = study.delete_respondent(record.name)
    cache_of(request).forget_person(record)
    return DeletedOut(n_answers=n_answers)


@router.post("/respondents/{person}/anonymise")
def anonymise(request: Request, name: Name, person: Person) -> AnonymousOut:
    """Take away a person's name, external id, fields and link; the answers stay."""
    study, record = _found(request, name, person)
    called = study.anonymise_respondent(record.name)
    cache_of(request).forget_person(record)
    return AnonymousOut(name=called)


@router.post("/respondents/{person}/revoke")
def revoke(request: Request, name: Name, person: Person) -> PersonOut:
    """Let a person's link open nothing from now on."""
    study, record = _found(request, name, person)
    study.revoke_link(record.name)
    return _changed(request, study, record)


@router.post("/respondents/{person}/renew")
def renew(request: Request, name: Name, person: Person) -> PersonOut:
    """Give a person a new link; the old one opens nothing from now on."""
    study, record = _found(request, name, person)
    study.renew_link(record.name)
    return _changed(request, study, record)


@router.get("/retention")
def retention(request: Request, name: Name) -> RetentionOut:
    """Until when people's data is kept."""
    return RetentionOut.of(study_of(request, name).retention)


@router.put("/retention")
def set_retention(request: Request, name: Name, wanted: RetentionIn) -> RetentionOut:
    """Say until when people's data is kept, and what happens then."""
    return RetentionOut.of(study_of(request, name).set_retention(wanted.until, wanted.action))


@router.get("/log", response_model=list[LogOut])
def log(request: Request, name: Name) -> list[LogRecord]:
    """What happened to the study and its people."""
    return study_of(request, name).log()


def _found(request: Request, name: str, person: str) -> tuple[Study, RespondentRecord]:
    study = study_of(request, name)
    return study, study.person_record(study_called(person))[0]


def _changed(request: Request, study: Study, record: RespondentRecord) -> PersonOut:
    """A person after a change of their link."""
    cache_of(request).forget_person(record)
    (shown,) = people_out(request, [study.person_record(record.name)])
    return shown
