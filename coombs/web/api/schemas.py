"""What the API takes and gives, as JSON."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt

from coombs.data import naming
from coombs.data.catalogue import ColumnDecision
from coombs.storage import Choice
from coombs.storage.api_tokens import Rights
from coombs.storage.timestamps import time_text
from coombs.storage.webhooks import TOPICS, Topic
from coombs.study import Respondent, StudyProgress
from coombs.study.participation import Step
from coombs.web.item_cards import Card, CardFeature
from coombs.web.routing import ChosenBy, ShownTurn

# An item's name has the type that it came in; times and whatever else JSON does not know are text.
ItemName: TypeAlias = Annotated[str | int | float | bool, BeforeValidator(naming.for_json)]
Time: TypeAlias = Annotated[str, BeforeValidator(time_text)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AnswerIn(_Body):
    """An answer: to tell the same again changes nothing, so it may be repeated."""

    question: int = Field(description="The question's id")
    choice: Choice | None = Field(None, description="Of a pair; of a set, skip alone")
    best: StrictInt | None = Field(None, description="Of a set, the position of its best item")
    worst: StrictInt | None = Field(None, description="Of a set, the position of its worst item")


class ChangeIn(_Body):
    """Another answer about the same items, in the place of one that stands."""

    answer: int = Field(description="Its id, as `history` has it")
    choice: Choice | None = Field(None, description="Of a pair; of a set, skip alone")
    best: StrictInt | None = Field(None, description="Of a set, the position of its best item")
    worst: StrictInt | None = Field(None, description="Of a set, the position of its worst item")


class UndoIn(_Body):
    """The answer to take back."""

    answer: int | None = Field(None, description="Its id; by default the last")


class StudyIn(_Body):
    """A study to make of a table in CSV."""

    name: str
    csv: str = Field(description="A header line, and a line for each item")
    features: list[str] | None = Field(
        None, description="Columns to learn from, as town or town:category; by default as the cells are"
    )
    roles: dict[str, str | list[str]] | None = Field(
        None,
        description="What columns are: number, log, category, ordered, yes/no, date, text (only shown), "
        "names, ignore, picture or link; or a list of levels, the lowest first",
    )
    wishes: list[str] = Field(
        [], description="What is declared: 'price: less', 'size: more', or limits, as 'price <= 1500'"
    )
    shared_prior: bool | Literal["auto"] = Field(
        "auto",
        description="Whether what people answered helps to choose questions for the next: auto is from ten "
        "people on",
    )
    name_column: str | None = Field(None, description="By default the first, if it is text")
    picture_column: str | None = None
    link_column: str | None = None


class PeopleIn(_Body):
    """People to make links for."""

    names: list[str]


class ItemOut(BaseModel):
    """One of the two."""

    name: ItemName
    position: int
    picture: str | None
    link: str | None
    features: list[CardFeature]
    details: dict[str, str]

    @classmethod
    def of(cls, card: Card, respondent: Respondent, root: str = "") -> ItemOut:
        """An item of a respondent's study; `root` is the path that the page is below."""
        local = f"{root}/a/{respondent.record.token}/picture/{card.position}"
        return cls(
            name=respondent.study.catalogue.labels[card.position],
            position=card.position,
            picture=local if card.picture == "local" else card.picture,
            link=card.link,
            features=list(card.features),
            details=dict(card.details),
        )


class QuestionOut(BaseModel):
    """Which of the two is preferred? Or, of more than two items: which is the best, which the worst?"""

    id: int
    chosen: ChosenBy = Field(
        description="How it was chosen: adaptive, by what was learned; random, as the study asks for; probe "
        "(at random on purpose, as a test); confirmation (its answer is predictable); check (asked again); "
        "learning (at random, as the model is still learning from the answers); fixed, by the study's plan"
    )
    left: ItemOut | None = Field(description="Of a pair; null for a set")
    right: ItemOut | None = Field(description="Of a pair; null for a set")
    items: list[ItemOut] = Field(description="All of them, in the order in which they are to be shown")


class ProgressOut(BaseModel):
    """How sure the best items are, and how far a person is."""

    text: str
    n_answers: int
    top: list[ItemName]
    probability: float
    goal: float
    questions_left: int | None = Field(
        description="Exact where the number of questions is fixed; otherwise a rule of thumb that is often "
        "far too low and not to be shown to people; 0 once nothing is left, null while nothing was learned"
    )
    fraction: float = Field(description="Of the way to the goal, from 0 to 1")
    far: float = Field(description="Deprecated: the former name of fraction")
    reached: bool
    n_answered: int = Field(0, description="Questions that have an answer, skips counted")
    n_questions: int | None = Field(
        None,
        description="That everybody gets, if that is fixed; of whoever is done, as many as they answered",
    )
    at_most: int | None = Field(
        None, description="No more questions than these are left, where the study has a most; else null"
    )

    @classmethod
    def of(cls, progress: StudyProgress) -> ProgressOut:
        """Progress, also in words."""
        return cls.model_validate({"text": str(progress), "far": progress.fraction, **vars(progress)})


class TurnOut(BaseModel):
    """The question to answer next (none where every pair was asked), and how far it is."""

    question: QuestionOut | None
    progress: ProgressOut
    n_others: int = Field(0, description="People with whose answers the questions are chosen")
    step: Step = Field("questions", description="questions, after (fields are left) or finished")

    @classmethod
    def of(cls, turn: ShownTurn, respondent: Respondent, root: str = "") -> TurnOut:
        """What a person would see; `root` is the path that the page is below."""
        question = None
        if turn.question is not None and turn.cards is not None:
            items = [ItemOut.of(card, respondent, root) for card in turn.cards]
            left, right = (None, None) if turn.question.is_set else items
            assert turn.chosen is not None
            question = QuestionOut(
                id=turn.question.id, chosen=turn.chosen, left=left, right=right, items=items
            )
        progress = ProgressOut.of(turn.progress)
        if not turn.shows_result:
            progress.top = []
        return cls(question=question, progress=progress, n_others=turn.n_others, step=turn.step)


class AnswerOut(BaseModel):
    """An answer that stands."""

    id: int
    text: str
    question: int | None
    left: ItemName | None
    right: ItemName | None
    choice: Choice | None
    winner: ItemName | None
    told: Time
    shape: str = Field(description="pair, choice, best-worst, ranking or rating")
    places: list[list[ItemName | None]] = Field(description="Of other shapes than a pair, the best first")
    rating: float | None


class PersonAnswerOut(AnswerOut):
    """An answer that stands, and whose it is."""

    respondent: str


class TokenIn(_Body):
    """A token to make for a program."""

    name: str = Field(description="What it is for; each is there once")
    rights: Rights


class TokenOut(BaseModel):
    """What is known of a token."""

    name: str
    rights: Rights
    created: Time


class NewTokenOut(BaseModel):
    """A new token, which is shown this once."""

    name: str
    rights: Rights
    token: str


class WebhookIn(_Body):
    """An address to tell what happens."""

    address: str = Field(description="https://...; http only on this machine")
    topics: list[Topic] = Field(list(TOPICS), description="What it is told of")


class WebhookOut(BaseModel):
    """An address that is told what happens."""

    id: int
    address: str
    topics: list[str]
    created: Time


class NewWebhookOut(WebhookOut):
    """A new address, and the secret by which its messages are signed, which is shown this once."""

    secret: str


class DeliveryOut(BaseModel):
    """A message to an address, and what came of it."""

    id: int
    webhook_id: int
    topic: str
    created: Time
    tries: int
    next_try: Time | None
    delivered: Time | None
    problem: str | None


class StudySummaryOut(BaseModel):
    """A study in a list."""

    name: str
    created: Time
    n_items: int
    n_respondents: int
    n_answers: int


class PersonOut(BaseModel):
    """A respondent, their secret, and where they answer; none of both for who may only read."""

    name: str
    token: str | None
    link: str | None
    n_answers: int


class GroupOut(BaseModel):
    """What everybody's answers say together, and how far it is."""

    is_current: bool = Field(description="Whether all answers are in the result")
    fraction: float = Field(description="Of the way to the next result, from 0 to 1")
    problem: str | None = Field(None, description="Why there is no result")
    result: dict[str, Any] | None = Field(
        None, description="has_pattern, explanation, groups, people and consensus; None before the first"
    )


class StudyOut(BaseModel):
    """A study."""

    name: str
    n_items: int
    features: list[str]
    columns: list[ColumnDecision] = Field(description="What columns are taken for, and that in words")
    wishes: list[str]
    respondents: list[PersonOut]
    shared_prior: bool | str = Field(description="Whether it learns from its own people")
    n_others: int = Field(description="People with whose answers questions are chosen for somebody new")
