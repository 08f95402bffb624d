"""Texts in the language of whoever reads them: English is in the code, the others in `translations/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

ENGLISH = "en"
"""The language that texts are written in, and that stands in for what is not translated."""
LANGUAGES = {ENGLISH: "English", "de": "Deutsch", "es": "Español"}
"""What each language calls itself, by its code."""
RIGHT_TO_LEFT = ("ar", "fa", "he", "ur")
"""Languages that are written from right to left."""
FORMS = "|"
"""Between the form for one and the form for several, as in "{n} answer|{n} answers"."""


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
        return self.form(english, values.get("n")).format(**values)


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
