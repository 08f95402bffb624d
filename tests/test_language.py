"""Texts in several languages."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import nodes

import coombs
from coombs.language import (
    ENGLISH,
    FORMS,
    LANGUAGES,
    Language,
    NumberText,
    Translatable,
    best_language,
    language,
)
from coombs.web.pages.rendering import templates

ERRORS = ("InputError", "UnknownStudyError", "StudyExistsError", "AnsweredError")
"""What is raised with a sentence that pages translate."""
GERMAN = Language(
    "de", {"{n} answer by {who}|{n} answers by {who}": "{n} Antwort von {who}|{n} Antworten von {who}"}
)


@pytest.mark.parametrize(
    ("n", "expected"), [(0, "0 Antworten von Ann"), (1, "1 Antwort von Ann"), (2, "2 Antworten von Ann")]
)
def test_of_two_forms_the_number_decides(n: int, expected: str) -> None:
    assert GERMAN.text("{n} answer by {who}|{n} answers by {who}", n=n, who="Ann") == expected


def test_what_is_not_translated_is_english() -> None:
    assert GERMAN.text("Skip") == "Skip" and language("xx") == language(ENGLISH)


@pytest.mark.parametrize(
    ("accepted", "code"),
    [
        ("de-AT,de;q=0.9,en;q=0.5", "de"),
        ("fr, es;q=0.4, de;q=0.3", "es"),
        ("fr", "en"),
        ("de;q=0, es;q=0.1", "es"),
        ("en-GB,en;q=0.9,de;q=0.8", "en"),
        ("", "en"),
    ],
)
def test_the_browser_gets_what_it_likes_most_of_what_there_is(accepted: str, code: str) -> None:
    assert best_language(accepted).code == code


@given(st.text(max_size=60))
def test_no_header_is_too_strange(accepted: str) -> None:
    assert best_language(accepted).code in LANGUAGES


def shown_texts() -> set[str]:
    """Every English text of the templates and of the code."""
    return texts_in_templates() | texts_in_code()


def texts_in_code() -> set[str]:
    """Every English text that is made a `Translatable`, or is the pattern of an error with values."""
    found = set()
    for path in Path(coombs.__file__).parent.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for call in ast.walk(ast.parse(source)) if "Translatable(" in source or "Error(" in source else ():
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            if call.func.id == "Translatable" or (call.func.id in ERRORS and call.keywords):
                (english,) = call.args
                if isinstance(english, ast.Starred):
                    # What InputError itself makes of its pattern.
                    continue
                assert isinstance(english, ast.Constant), (
                    f"{path.name}, line {call.lineno}: no text stands there"
                )
                found.add(english.value)
    return found


def texts_in_templates() -> set[str]:
    """Every English text that a template asks for."""
    pages, found = templates(), set()
    for name in pages.list_templates(extensions=["html"]):
        assert pages.loader is not None
        source = pages.loader.get_source(pages, name)[0]
        for call in pages.parse(source).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name == "t":
                (english,) = call.args
                assert isinstance(english, nodes.Const), f"{name}: only a text that stands there can be found"
                found.add(english.value)
    return found


def values_in(text: str) -> set[str]:
    """What is put into a text."""
    return set(re.findall(r"{(\w+)}", text))


@pytest.mark.parametrize("code", sorted(set(LANGUAGES) - {ENGLISH}))
def test_every_language_has_every_text_and_no_other(code: str) -> None:
    assert set(language(code).texts) == shown_texts()


@pytest.mark.parametrize("code", sorted(set(LANGUAGES) - {ENGLISH}))
def test_a_translation_has_the_values_and_the_forms_of_the_english(code: str) -> None:
    for english, text in language(code).texts.items():
        assert values_in(text) == values_in(english), english
        assert text.count(FORMS) == english.count(FORMS), english
        assert text.strip() == text and text, english
        assert not re.search(r"<|&\w+;", text), f"{english}: no markup"


def test_a_text_made_in_python_is_english_everywhere_but_on_a_page() -> None:
    text = Translatable("{n} answer by {who}|{n} answers by {who}", n=2, who="Ann")
    assert text == "2 answers by Ann" and str(text) is text and f"{text}!" == "2 answers by Ann!"
    assert GERMAN.say(text) == "2 Antworten von Ann"
    assert GERMAN.say(pickle.loads(pickle.dumps(text))) == "2 Antworten von Ann"


def test_texts_within_texts_and_numbers_are_translated_and_names_are_not() -> None:
    german = Language("de", {"{x} km": "{x} Kilometer", "far": "weit", "about {size}": "etwa {size}"})
    near = Translatable("about {size}", size=Translatable("{x} km", x=NumberText("1.5")))
    assert near == "about 1.5 km" and german.say(near) == "etwa 1,5 Kilometer"
    assert german.say("far") == "far" and german.say(Translatable("far")) == "weit"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_only_the_decimal_sign_of_a_number_changes(value: float) -> None:
    text = NumberText(value)
    assert language("de").say(text).replace(",", ".") == text == language(ENGLISH).say(text)
