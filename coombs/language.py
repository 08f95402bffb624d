"""Texts in the language of whoever reads them: English is in the code, the others in `translations/`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Self

ENGLISH = "en"
"""The language that texts are written in, and that stands in for what is not translated."""
LANGUAGES = {ENGLISH: "English", "de": "Deutsch", "es": "Español"}
"""What each language calls itself, by its code."""
RIGHT_TO_LEFT = ("ar", "fa", "he", "ur")
"""Languages that are written from right to left."""
DECIMAL_COMMA = ("de", "es")
"""Languages that write 12,5 for 12.5."""
FORMS = "|"
"""Between the form for one and the form for several, as in "{n} answer|{n} answers"."""
_DECIMAL_POINT = re.compile(r"(?<=\d)\.(?=\d)")


@dataclass(frozen=True)
class Language:
    """A language, by its code, and its texts, by the English ones."""

    code: str = ENGLISH
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def direction(self) -> str:
        """As HTML has it."""
        return "rtl" if self.code in RIGHT_TO_LEFT else "ltr"

    def form(self, english: str, n: int | None = None) -> str:
        """A text before its values are put in; of two forms, that for n."""
        said = self.texts.get(english, english)
        return said if n is None or FORMS not in said else said.split(FORMS)[n != 1]

    def text(self, english: str, /, **values: Any) -> str:
        """A text with its values."""
        said = {name: self.say(value) for name, value in values.items()}
        return self.form(english, values.get("n")).format(**said)

    def say(self, value: Any) -> Any:
        """A `Translatable` or a `NumberText` in this language, or several with commas between them.

        Anything else, as names of items, stays as it is.
        """
        if isinstance(value, list | tuple):
            return ", ".join(str(self.say(one)) for one in value)
        if isinstance(value, Translatable):
            return self.text(value.english, **value.values)
        if isinstance(value, NumberText) and self.code in DECIMAL_COMMA:
            return _DECIMAL_POINT.sub(",", value)
        return value


class Translatable(str):
    """An English text that knows its pattern and its values, so that a page can say it in its language.

    Whatever else is done with it, it is the English text: in Python, in a terminal, in the API, in files.

    Parameters
    ----------
    english : the pattern, one of the texts of the catalogues in `translations/`
    values : what is put in for {name}; those that are `Translatable` are translated, too

    Examples
    --------
    >>> from coombs.language import NumberText, Translatable, language
    >>> size = Translatable("{low} to {high}", low=1, high=NumberText("2.5"))
    >>> size, language("de").say(size)
    ('1 to 2.5', '1 bis 2,5')
    """

    english: str
    values: Mapping[str, Any]

    def __new__(cls, english: str, /, **values: Any) -> Self:
        """The English text, with what it was made of."""
        self = super().__new__(cls, Language().text(english, **values))
        self.english, self.values = english, values
        return self

    def __str__(self) -> str:
        # As a text is what it is about: of an error's sentence, too, the pattern is kept.
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.english,), dict(self.values)


class NumberText(str):
    """A number as English writes it, perhaps with its unit, as 12.5 km: a page has its own decimal sign."""

    __slots__ = ()


@cache
def language(code: str) -> Language:
    """The language of a code, or English where there is none."""
    if code == ENGLISH or code not in LANGUAGES:
        return Language()
    found = files("coombs") / "translations" / f"{code}.json"
    return Language(code, json.loads(found.read_text(encoding="utf-8")))


def best_language(accepted: str) -> Language:
    """Of what a browser accepts, as "de-AT,de;q=0.9,en;q=0.5", the one that we have and it likes most."""
    wanted = []
    for place, part in enumerate(accepted.split(",")[:20]):
        code, _, quality = part.partition(";")
        try:
            liked = float(quality.strip().removeprefix("q=")) if quality.strip() else 1.0
        except ValueError:
            continue
        wanted.append((-liked, place, code.strip().lower().partition("-")[0]))
    known = (code for liked, _, code in sorted(wanted) if code in LANGUAGES and liked < 0)
    return language(next(known, ENGLISH))
