"""What is certain before the first question, as a form asks for it: a row a feature, and lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple, Protocol

from fastapi import Form

from coombs.data.encoding import DATE, LOG, NUMBER, ORDERED, YES_NO

ASKED = (NUMBER, LOG, DATE, ORDERED, YES_NO)
"""Roles of columns that have a row; wishes about categories are written down."""
BETTER = ("less", "more")
"""What may be better."""
MUST = ("yes", "no")
"""What a column of yes and no may have to be."""


class DeclaredColumn(Protocol):
    """A column of an upload, or of a study: its name, and what it is taken for."""

    @property
    def name(self) -> str:
        """Of the column."""

    @property
    def role(self) -> str:
        """What it is."""


class DeclaredRow(NamedTuple):
    """A feature, its role, and what was chosen for it: a direction, and limits as they were typed."""

    name: str
    role: str
    direction: str = ""
    at_least: str = ""
    at_most: str = ""

    @property
    def is_asked(self) -> bool:
        """Whether the form has a row for it."""
        return self.role in ASKED

    @property
    def wishes(self) -> list[str]:
        """As wishes are written."""
        if not self.is_asked:
            return []
        found = [f"{self.name}: {self.direction}"] if self.direction in BETTER else []
        if self.role == YES_NO:
            return [f"{self.name} = {self.direction}"] if self.direction in MUST else found
        limits = ((">=", self.at_least), ("<=", self.at_most))
        return found + [f"{self.name} {sign} {limit}" for sign, limit in limits if limit]


class DeclaredForm:
    """The fields of a form: `direction`, `at_least` and `at_most` of each column, in order, and `wishes`."""

    def __init__(
        self,
        direction: Annotated[list[str] | None, Form()] = None,
        at_least: Annotated[list[str] | None, Form()] = None,
        at_most: Annotated[list[str] | None, Form()] = None,
        wishes: Annotated[str, Form()] = "",
    ) -> None:
        self._typed, self.lines = (direction or [], at_least or [], at_most or []), wishes

    def rows(self, columns: Sequence[DeclaredColumn]) -> list[DeclaredRow]:
        """Of all columns, in their order."""
        found = [DeclaredRow(one.name, one.role) for one in columns]
        for field, typed in zip(("direction", "at_least", "at_most"), self._typed, strict=True):
            cells = [*typed, *[""] * len(found)]
            found = [row._replace(**{field: cell.strip()}) for row, cell in zip(found, cells, strict=False)]
        return found

    def texts(self, columns: Sequence[DeclaredColumn]) -> list[str]:
        """All wishes, those of the rows first."""
        lines = [line.strip() for line in self.lines.splitlines() if line.strip()]
        return [*(wish for row in self.rows(columns) for wish in row.wishes), *lines]
