"""The JSON API behind the page: another front end can ask and tell."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import JSONResponse

from coombs.data import naming
from coombs.storage import AnsweredError, RespondentRecord
from coombs.storage.timestamps import time_text
from coombs.study import Respondent, Study, create_study
from coombs.web.cards import Card
from coombs.web.drafts import Choices, people_names, read_upload, study_name
from coombs.web.findings import Findings
from coombs.web.pages import registry_of, slowly, study_called
from coombs.web.records import (
    About,
    Feature,
    Given,
    Item,
    NewPeople,
    NewStudy,
    Person,
    Progress,
    Question,
    Summary,
    Told,
    Turn,
    Undo,
)
from coombs.web.respondent import turn
from coombs.web.start import Owner
from coombs.web.thinker import AT_FIRST, PATIENCE

Token = Annotated[str, Path(description="What the respondent's link holds: whoever has it answers as them")]
Name = Annotated[str, Path(description="The study's name; ~2F stands for a slash in it, ~7E for ~")]

people = APIRouter(prefix="/api/respondents/{token}", tags=["respondent"])
owners = APIRouter(prefix="/api/studies", tags=["owner"], dependencies=[Owner])


@people.get("/question")
def question(request: Request, token: Token) -> Turn:
    """The question that waits for an answer, or a new one."""
    return _turn(request, registry_of(request).respondent(token), AT_FIRST)


@people.post("/tell", response_model=Turn, responses={409: {"description": "It has another answer"}})
def tell(request: Request, token: Token, told: Told) -> Turn | JSONResponse:
    """Keep an answer: when this returns it is stored. The reply has the next question."""
    respondent = registry_of(request).respondent(token)
    try:
        respondent.tell(told.question, told.choice)
    except AnsweredError as error:
        return JSONResponse({"detail": str(error), **_turn(request, respondent).model_dump()}, 409)
    return _turn(request, respondent)


@people.post("/undo")
def undo(request: Request, token: Token, which: Undo) -> Turn:
    """Take back an answer; its question comes again."""
    respondent = registry_of(request).respondent(token)
    respondent.undo(which.answer)
    return _turn(request, respondent)


@people.get("/progress")
def progress(request: Request, token: Token) -> Progress:
    """How far it is."""
    return _turn(request, registry_of(request).respondent(token)).progress


@people.get("/history")
def history(request: Request, token: Token) -> list[Given]:
    """The answers that stand, in their order."""
    return [
        Given(
            id=one.id,
            question=one.question,
            left=naming.for_json(one.left),
            right=naming.for_json(one.right),
            choice=one.choice,
            winner=None if one.winner is None else naming.for_json(one.winner),
            told=time_text(one.told),
        )
        for one in registry_of(request).respondent(token).history()
    ]


@people.get("/result")
async def result(request: Request, token: Token, explain: bool = False) -> dict[str, Any]:
    """Ranking, ideal and what matters, empty before the first answer; `explain` adds the explanation.

    Where `has_pattern` is false there is no ideal point, and the ranking is no better than chance.
    """
    registry = registry_of(request)
    respondent = await slowly(request, registry.respondent, token)
    found: Findings | None = await slowly(request, registry.findings, respondent)
    if found is None:
        return {"has_pattern": False, "n_answers": 0, "ranking": [], "ideal_point": None}
    plain: dict[str, Any] = await slowly(request, found.plain)
    told = await slowly(request, lambda: found.told.to_dict()) if explain else None
    return plain | ({"explanation": told} if explain else {})


@owners.get("")
def studies(request: Request) -> list[Summary]:
    """All studies."""
    return [
        Summary(
            name=one.name,
            created=time_text(one.created),
            n_items=one.n_items,
            n_respondents=one.n_respondents,
            n_answers=one.n_answers,
        )
        for one in registry_of(request).storage.studies()
    ]


@owners.post("", status_code=201)
def create(request: Request, new: NewStudy) -> About:
    """A new study; 409 if there is one of that name."""
    draft = read_upload(new.csv.encode(errors="replace"), "csv")
    guess = draft.guess()
    features = guess.features if new.features is None else tuple(new.features)
    choices = Choices(
        features,
        new.name_column or (None if guess.names in features else guess.names),
        new.picture_column or guess.picture,
        new.link_column or guess.link,
    )
    items = draft.catalogue(choices)
    storage = registry_of(request).storage
    study = create_study(items, study_name(new.name), storage=storage, load_if_exists=False)
    return _about(request, study)


@owners.get("/{name}")
def study(request: Request, name: Name) -> About:
    """A study and its people."""
    return _about(request, registry_of(request).study(study_called(name)))


@owners.get("/{name}/respondents")
def respondents(request: Request, name: Name) -> list[Person]:
    """Everybody's link, and how much they answered."""
    return _people(request, registry_of(request).study(study_called(name)))


@owners.post("/{name}/respondents", status_code=201)
def add_respondents(request: Request, name: Name, new: NewPeople) -> list[Person]:
    """A link for each name; one that is there already stays as it is."""
    study = registry_of(request).study(study_called(name))
    wanted = people_names("\n".join(" ".join(one.split()) for one in new.names))
    for one in wanted:
        study.respondent(one)
    return [person for person in _people(request, study) if person.name in wanted]


def _about(request: Request, study: Study) -> About:
    return About(
        name=study.name,
        n_items=study.n_items,
        features=study.catalogue.features,
        respondents=_people(request, study),
    )


def _people(request: Request, study: Study) -> list[Person]:
    return [_person(request, record, n) for record, n in study.storage.respondents(study.record.id)]


def _person(request: Request, record: RespondentRecord, n_answers: int) -> Person:
    link = f"{str(request.base_url).rstrip('/')}/a/{record.token}"
    return Person(name=record.name, token=record.token, link=link, n_answers=n_answers)


def _turn(request: Request, respondent: Respondent, patience: float = PATIENCE) -> Turn:
    """The page's turn as JSON."""
    shown = turn(request, respondent, patience=patience)
    found, asked = shown.progress, None
    if shown.question is not None and shown.cards is not None:
        left, right = (_item(card, respondent) for card in shown.cards)
        asked = Question(id=shown.question.id, left=left, right=right)
    return Turn(
        question=asked,
        progress=Progress(
            text=str(found),
            n_answers=found.n_answers,
            top=[naming.for_json(name) for name in found.top],
            probability=found.probability,
            goal=found.goal,
            questions_left=found.questions_left,
            far=found.far,
            reached=found.reached,
        ),
    )


def _item(card: Card, respondent: Respondent) -> Item:
    local = f"/a/{respondent.record.token}/picture/{card.position}"
    picture = local if card.picture == "local" else card.picture
    return Item(
        name=naming.for_json(respondent.study.catalogue.labels[card.position]),
        position=card.position,
        picture=picture,
        link=card.link,
        features=[Feature(**value._asdict()) for value in card.values],
        details=dict(card.details),
    )
