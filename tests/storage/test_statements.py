"""What a click costs in the database: SQLite's own trace counts the statements."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from coombs import create_study, load_study
from coombs.storage import Storage, open_storage
from coombs.study import Respondent, Study

MOST = 14 if sqlite3.sqlite_version_info >= (3, 35) else 16
"""SQL statements of one click: an answer stored, and the next question chosen, stored and shown."""


@pytest.fixture
def storage() -> Storage:
    return open_storage("memory:")


@pytest.fixture
def study(storage: Storage) -> Study:
    made = create_study(np.random.default_rng(0).normal(size=(30, 2)), storage=storage, top=2, certainty=0.3)
    for _ in range(8):
        made.tell(made.ask(), "left")
    return made


@pytest.fixture
def statements(storage: Storage, study: Study) -> Iterator[list[str]]:
    """All that are executed, by any thread: memory has one connection."""
    seen: list[str] = []
    connection = storage.database.connection.driver_connection
    connection.set_trace_callback(seen.append)
    yield seen
    connection.set_trace_callback(None)


def in_python(person: Respondent) -> None:
    question = person.ask()
    assert question is not None
    person.tell(question, "left")


def in_a_terminal(person: Respondent) -> None:
    person.progress()
    person.doubts()
    question = person.current()
    assert question is not None
    person.tell(question, "left")


def on_a_page(person: Respondent) -> None:
    person.think()
    question, _ = person.turn()
    assert question is not None
    person.last_answer()
    person.doubts()
    person.tell(question.id, "right")


@pytest.mark.parametrize("click", [in_python, in_a_terminal, on_a_page])
def test_a_click_costs_few_statements(
    study: Study, statements: list[str], click: Callable[[Respondent], None]
) -> None:
    person = study.respondent()
    for _ in range(6):
        statements.clear()
        click(person)
        assert len(statements) <= MOST, statements
    # Nothing was lost, and nothing stored twice.
    assert len(person.history()) == len({answer.question for answer in person.history()}) == 14
    assert load_study(storage=study.storage).history() == person.history()


def test_a_click_on_the_page_costs_few_statements(study: Study, statements: list[str]) -> None:
    """Learning may end after the reply, so that the first reply here pays for one before it.

    One statement more than elsewhere reads whose link it is, which may have been revoked meanwhile, and what
    holds for them. Now and then it is also looked at whether others have answered enough for a prior: three
    statements.
    """
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from coombs import web

    headers: Any = {"Origin": "http://127.0.0.1", "x-part": "question"}
    page = f"/a/{study.respondent().record.token}"
    with TestClient(web.create_app(study.storage), base_url="http://127.0.0.1", headers=headers) as client:
        shown = client.get(page).text
        statements.clear()
        for _ in range(6):
            (number,) = re.findall(r'name="question" value="(\d+)"', shown)
            shown = client.post(f"{page}/tell", data={"question": number, "choice": "left"}).text
    assert len(statements) <= 6 * (MOST + 1) + 2 + 3, statements
    assert len(study.history()) == 14
