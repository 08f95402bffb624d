"""What people are asked about themselves, before the questions or after them, and what they answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import fields as fields_of
from typing import Any, Literal, Self, TypeAlias

from coombs.data.tables import InputError
from coombs.language import Translatable

Kind: TypeAlias = Literal["text", "choice", "number"]
"""What is typed or chosen."""
Asked: TypeAlias = Literal["before", "after"]
"""When a field is asked: before the questions or after them."""
Problem: TypeAlias = Literal["needed", "long", "choice", "number"]
"""Why something typed or chosen cannot be kept."""
_MUST = {
    "needed": "is needed to go on",
    "long": "may have {most} plain characters",
    "choice": "must be one of {choices}",
    "number": "must be a number",
}
"""What is said of each."""
KINDS = ("text", "choice", "number")
ASKED = ("before", "after")
LONGEST_LABEL = 200
"""Characters of a label or a choice."""
LONGEST_ANSWER = 1_000
"""Characters of what is typed into a field."""
MOST_CHOICES = 200
"""Choices of a field."""
REQUIRED = "*"
"""After the label of a field that must be filled in, where fields are written as lines."""
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}([.,][0-9]{1,15})?")
"""As people write one."""


@dataclass(frozen=True)
class PersonField:
    """A question to people about themselves.

    Parameters
    ----------
    label : what is asked, as "Age group"; without ":" and "|"
    kind : "text", "choice" or "number"
    choices : of a choice, at least two
    required : whether nobody gets on without it
    asked : "before" the questions or "after" them

    Examples
    --------
    >>> from coombs.study import PersonField
    >>> PersonField("Age group", "choice", ("under 30", "30 and over"), required=True).line
    'Age group*: under 30 | 30 and over'
    """

    label: str
    kind: Kind = "text"
    choices: tuple[str, ...] = ()
    required: bool = False
    asked: Asked = "before"

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", _plain(self.label, Translatable("A field's label")))
        name = Translatable("The field {label}", label=repr(self.label))
        if self.label.endswith(REQUIRED) or ":" in self.label:
            raise InputError("{name} must not have ':' in its label, nor '*' at its end.", name=name)
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise InputError(f"{name} is of the kind {self.kind!r}; it must be one of {', '.join(KINDS)}.")
        if not isinstance(self.asked, str) or self.asked not in ASKED:
            raise InputError(f"{name} is asked {self.asked!r}; it must be before or after.")
        if not isinstance(self.required, bool):
            raise InputError(f"{name} has required {self.required!r}; it must be True or False.")
        if isinstance(self.choices, str) or not isinstance(self.choices, Iterable):
            raise InputError(f"{name} has the choices {self.choices!r}; they must be a list.")
        what = Translatable("A choice of the field {label}", label=repr(self.label))
        choices = tuple(_plain(one, what) for one in self.choices)
        object.__setattr__(self, "choices", choices)
        if self.kind == "choice" and not 2 <= len(set(choices)) == len(choices) <= MOST_CHOICES:
            raise InputError("{name} needs two to {most} different choices.", name=name, most=MOST_CHOICES)
        if self.kind != "choice" and choices:
            raise InputError("{name} has choices; its kind must be choice then.", name=name)

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return a field out of a dict, as JSON has it.

        Parameters
        ----------
        given : label, and what else is not as by default

        Returns
        -------
        PersonField

        Examples
        --------
        >>> from coombs.study import PersonField
        >>> PersonField.of({"label": "Age", "kind": "number"}).kind
        'number'
        """
        known = {one.name for one in fields_of(cls)}
        if not isinstance(given, Mapping) or "label" not in given or not known.issuperset(given):
            raise InputError(f"A field about people is {given!r}; it may have {', '.join(sorted(known))}.")
        return cls(**given)

    @classmethod
    def of_line(cls, line: str, asked: Asked = "before") -> Self:
        """Return a field as a line has it.

        Parameters
        ----------
        line : as "Town", "Age: number" or "Age group*: under 30 | 30 and over"; a star is for required
        asked : "before" or "after"

        Returns
        -------
        PersonField

        Examples
        --------
        >>> from coombs.study import PersonField
        >>> PersonField.of_line("Age*: number").required
        True
        """
        label, _, about = (part.strip() for part in line.partition(":"))
        required, label = label.endswith(REQUIRED), label.removesuffix(REQUIRED).strip()
        if about in ("", "text", "number"):
            return cls(label, "number" if about == "number" else "text", (), required, asked)
        return cls(label, "choice", tuple(one.strip() for one in about.split("|")), required, asked)

    @property
    def line(self) -> str:
        """It as a line, which `of_line` reads."""
        about = {"text": "", "number": ": number", "choice": f": {' | '.join(self.choices)}"}[self.kind]
        return f"{self.label}{REQUIRED if self.required else ''}{about}"

    def checked(self, said: Any) -> str:
        """Return what somebody said, as it is kept.

        Parameters
        ----------
        said : as it was typed or chosen; blank for nothing

        Returns
        -------
        str

        Examples
        --------
        >>> from coombs.study import PersonField
        >>> PersonField("Age", "number").checked(" 41 ")
        '41'
        """
        text, problem = _typed(said), self.problem(said)
        if problem:
            must = _MUST[problem].format(most=LONGEST_ANSWER, choices=", ".join(self.choices))
            raise InputError(f"“{self.label}” {must}.")
        return text.replace(",", ".") if self.kind == "number" else text

    def problem(self, said: Any) -> Problem | None:
        """Return why something cannot be kept.

        Parameters
        ----------
        said : as for `checked`

        Returns
        -------
        "needed", "long", "choice", "number", or None where it can

        Examples
        --------
        >>> from coombs.study import PersonField
        >>> PersonField("Age", "number").problem("old")
        'number'
        """
        text = _typed(said)
        if not text:
            return "needed" if self.required else None
        if len(text) > LONGEST_ANSWER or not text.isprintable():
            return "long"
        if self.kind == "choice" and text not in self.choices:
            return "choice"
        return "number" if self.kind == "number" and not _NUMBER.fullmatch(text) else None


def _typed(said: Any) -> str:
    """What somebody typed or chose, in one line."""
    return " ".join(str(said).split()) if isinstance(said, str | int | float) else ""


def fields_in(text: str, asked: Asked) -> tuple[PersonField, ...]:
    """Fields, one a line."""
    return tuple(PersonField.of_line(line, asked) for line in text.splitlines() if line.strip())


def _plain(value: Any, what: str) -> str:
    """One line of text."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text or len(text) > LONGEST_LABEL or not text.isprintable() or "|" in text:
        raise InputError(
            "{what} is {value}; it must be text of one line without {bar}, not blank.",
            what=what,
            value=repr(value),
            bar="'|'",
        )
    return text
