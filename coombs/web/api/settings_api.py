"""The owner's settings of a study: what people see, how many questions they get, when it is open."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from coombs.study import Study
from coombs.study.presentation import State
from coombs.study.study_changes import change_study, described_study
from coombs.web.api.bounded_json import BoundedRoute
from coombs.web.api.participation_api import FieldOut
from coombs.web.api.studies import BEARER, Name
from coombs.web.proxies import site_of
from coombs.web.routing import study_of

router = APIRouter(prefix="/api/studies", tags=["owner"], route_class=BoundedRoute, dependencies=[BEARER])


class PresentationOut(BaseModel):
    """What people see beside the questions."""

    title: str = Field(description="Of the study, for its people; blank for its name")
    introduction: str = Field(description="Shown first")
    consent: str = Field(description="What people must agree to; blank asks for no consent")
    wording: str = Field(description="Of the question; blank for the usual")
    instructions: str = Field(description="Shown before the first question")
    thank_you: str = Field(description="Shown after the last")
    redirect: str = Field(description="An http or https address; {pid} in it is the participant's id")
    shows_result: bool = Field(description="Whether people see their own result")
    language: str | None = Field(description="For everybody, as de; null leaves it to the browser")
    opens: str | None = Field(description="From when on people can answer, ISO 8601, in UTC")
    closes: str | None = Field(description="Until when people can answer")
    fields: list[FieldOut] = Field(description="What people are asked about themselves")
    id_parameter: str = Field(description="Another name of the participant's id in the open link's address")
    parameters: list[str] = Field(description="Of that address, to keep with the person")
    embed_origins: list[str] = Field(
        description="Other sites that may embed the study; none leaves it to the server"
    )


class SettingsOut(BaseModel):
    """A study as its owner has set it."""

    version: int = Field(description="Of what people see: every change makes another; 0 before the first")
    state: State = Field(description="Whether people can answer now")
    presentation: PresentationOut
    settings: dict[str, Any] = Field(
        description="How it asks, as Settings in Python: questions, most_questions, top, certainty, ..."
    )
    open_link: str | None = Field(description="By which anybody can take part; null where it is off")


class SettingsIn(BaseModel):
    """What is to change; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    presentation: dict[str, Any] = Field({}, description="Some of what `presentation` has in the reply")
    settings: dict[str, Any] = Field({}, description="Some of what `settings` has in the reply")
    open_link: Literal["on", "off", "renew"] | None = Field(
        None, description="renew makes another link in the place of the present one"
    )
    close: bool | None = Field(None, description="true closes the study now, false opens it now")


@router.get("/{name}/settings")
def settings(request: Request, name: Name) -> SettingsOut:
    """What people see, how many questions they get, when the study is open, and its open link."""
    return _out(request, study_of(request, name))


@router.patch("/{name}/settings")
def change_settings(request: Request, name: Name, changes: SettingsIn) -> SettingsOut:
    """Change some of it, all that is sent or nothing; 422 with a sentence where something cannot be."""
    study = study_of(request, name)
    change_study(study, changes.presentation, changes.settings, changes.open_link, close=changes.close)
    return _out(request, study)


def _out(request: Request, study: Study) -> SettingsOut:
    token = study.open_token
    link = None if token is None else f"{site_of(request.scope)}/join/{token}"
    return SettingsOut.model_validate({**described_study(study), "open_link": link})
