"""Texts in several languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coombs.language import ENGLISH, LANGUAGES, Language, best_language, language

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
