"""What the holder of a respondent's link sees and does around the questions: consent, fields, the end."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from coombs.study import PersonField, Respondent
from coombs.study.participation import (
    NEXT,
    NotNowError,
    Step,
    agree,
    fill_in,
    finish,
    missing,
    redirect_address,
    step_of,
)
from coombs.web.api.bounded_json import BoundedRoute
from coombs.web.api.respondents import NOT_NOW, Token
from coombs.web.routing import cache_of, is_through

router = APIRouter(prefix="/api/respondents/{token}", tags=["respondent"], route_class=BoundedRoute)


class ConsentIn(BaseModel):
    """That somebody agrees to the consent text."""

    model_config = ConfigDict(extra="forbid")

    agree: Literal[True]
    language: str | None = Field(None, max_length=20, description="The code of the language that they read")
    version: int | None = Field(None, description="Of the texts that they saw; by default the latest")


class FieldsIn(BaseModel):
    """What somebody says of themselves, by label; what is left out is blank."""

    model_config = ConfigDict(extra="forbid")

    fields: dict[str, str]


class FieldOut(BaseModel):
    """A field about people."""

    label: str
    kind: Literal["text", "choice", "number"]
    choices: list[str] = []
    required: bool = False
    asked: Literal["before", "after"] = "before"

    @classmethod
    def of(cls, field: PersonField) -> FieldOut:
        """A field, as JSON has it."""
        return cls.model_validate({**vars(field), "choices": list(field.choices)})


class ParticipationOut(BaseModel):
    """What comes next for a person, and the texts of the study."""

    step: Step
    version: int = Field(description="Of the texts, to be sent with consent; 0 where there are none")
    title: str
    introduction: str
    consent: str
    wording: str = Field(description="Of the question; blank for the usual")
    instructions: str
    thank_you: str
    fields: list[FieldOut] = Field(description="That are to be filled in now")
    redirect: str | None = Field(description="Where the person goes now, once all is answered")
    shows_result: bool

    @classmethod
    def of(cls, respondent: Respondent, is_complete: bool = False) -> ParticipationOut:
        """What a person would see."""
        shown, record = respondent.study.presentations.current, respondent.record
        step = step_of(respondent, is_complete)
        asked = {"before": shown.before, "after": shown.after}.get(step, ())
        return cls(
            step=step,
            version=respondent.study.presentations.latest,
            title=respondent.study.title,
            introduction=shown.introduction,
            consent=shown.consent,
            wording=shown.wording,
            instructions=shown.instructions,
            thank_you=shown.thank_you,
            fields=[FieldOut.of(one) for one in missing(asked, record)],
            redirect=(redirect_address(shown, record) or None) if step == "finished" else None,
            shows_result=shown.shows_result,
        )


@router.get("")
def participation(request: Request, token: Token) -> ParticipationOut:
    """What comes next for a person: closed, consent, before, questions, after or finished."""
    respondent = cache_of(request).respondent(token)
    return ParticipationOut.of(respondent, is_through(request, respondent, asked_to_stop=False))


@router.post("/consent", responses={403: NOT_NOW})
def give_consent(request: Request, token: Token, given: ConsentIn) -> ParticipationOut:
    """Keep that a person agrees to the consent text, with the time and its version.

    Where the text has changed since that version, `step` is `consent` again.
    """
    respondent = cache_of(request).respondent(token)
    agree(respondent, given.agree, given.language, given.version)
    return ParticipationOut.of(respondent)


@router.post("/fields", responses={403: NOT_NOW})
def give_fields(request: Request, token: Token, given: FieldsIn) -> ParticipationOut:
    """Keep what a person says of themselves; 422 with a sentence where something cannot be used."""
    respondent = cache_of(request).respondent(token)
    is_complete = is_through(request, respondent)
    fill_in(respondent, given.fields, is_complete)
    if is_complete:
        finish(respondent)
    return ParticipationOut.of(respondent, is_complete)


@router.post("/finish", responses={403: NOT_NOW})
def finish_now(request: Request, token: Token) -> ParticipationOut:
    """A person is done, where the study leaves it to them when; otherwise all questions come first."""
    respondent = cache_of(request).respondent(token)
    if not is_through(request, respondent):
        step = step_of(respondent)
        raise NotNowError(NEXT[step])
    finish(respondent)
    return ParticipationOut.of(respondent, is_complete=True)
