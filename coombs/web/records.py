"""What the API takes and gives, as JSON."""

from __future__ import annotations

from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from coombs.storage import Choice

# An item's name has the type that it came in; times and whatever else JSON does not know are text.
Name: TypeAlias = str | int | float | bool


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Told(_Body):
    """An answer: to tell the same again changes nothing, so it may be repeated."""

    question: int = Field(description="The question's id")
    choice: Choice


class Undo(_Body):
    """The answer to take back."""

    answer: int | None = Field(None, description="Its id; by default the last")


class NewStudy(_Body):
    """A study to make of a table in CSV."""

    name: str
    csv: str = Field(description="A header line, and a line for each item")
    features: list[str] | None = Field(None, description="Columns to learn from; by default those of numbers")
    name_column: str | None = Field(None, description="By default the first, if it is text")
    picture_column: str | None = None
    link_column: str | None = None


class NewPeople(_Body):
    """People to make links for."""

    names: list[str]


class Feature(BaseModel):
    """A feature of an item; `share` is where it lies between the lowest, 0, and the highest, 1."""

    label: str
    text: str
    differs: bool
    share: float


class Item(BaseModel):
    """One of the two."""

    name: Name
    position: int
    picture: str | None
    link: str | None
    features: list[Feature]
    details: dict[str, str]


class Question(BaseModel):
    """Which of the two is preferred?"""

    id: int
    left: Item
    right: Item


class Progress(BaseModel):
    """How sure the best items are, and about how many more questions it takes."""

    text: str
    n_answers: int
    top: list[Name]
    probability: float
    goal: float
    questions_left: int | None
    far: float
    reached: bool


class Turn(BaseModel):
    """The question to answer next (none where every pair was asked), and how far it is."""

    question: Question | None
    progress: Progress


class Given(BaseModel):
    """An answer that stands."""

    id: int
    question: int | None
    left: Name
    right: Name
    choice: Choice
    winner: Name | None
    told: str


class Summary(BaseModel):
    """A study in a list."""

    name: str
    created: str
    n_items: int
    n_respondents: int
    n_answers: int


class Person(BaseModel):
    """A respondent, their secret, and where they answer."""

    name: str
    token: str
    link: str
    n_answers: int


class About(BaseModel):
    """A study."""

    name: str
    n_items: int
    features: list[str]
    respondents: list[Person]
