"""Looking over one's answers: the surprising first, and any of them changed, all or nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import InputError, create_study, web
from coombs.storage import open_storage
from coombs.study import Study


@pytest.fixture
def storage(tmp_path: Any) -> Any:
    return open_storage(f"sqlite:///{tmp_path / 'web.db'}")


@pytest.fixture
def study(storage: Any) -> Study:
    items = np.random.default_rng(0).normal(size=(10, 2)).round(2)
    return create_study(items, "points", storage=storage, metric="none")


@pytest.fixture
def client(storage: Any) -> Iterator[TestClient]:
    settings: Any = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5)}
    with TestClient(web.create_app(storage), follow_redirects=False, **settings) as made:
        made.headers["Origin"] = "http://127.0.0.1"
        yield made


def test_a_changed_answer_takes_the_place_of_the_other_to_the_same_question(study: Study) -> None:
    question = study.ask()
    assert question is not None
    first = study.tell(question, "left")
    second = study.change(first, "right")
    assert [(one.id, one.choice, one.question) for one in study.history()] == [
        (second.id, "right", question.id)
    ]
    assert study.change(second, "right") == second and len(study.history()) == 1
    with pytest.raises(InputError, match="no standing answer"):
        study.change(first, "tie")
    unasked = study.change(study.tell((3, 4)), "right")
    assert unasked.winner == "4" and unasked.question is None


def test_a_change_that_cannot_be_stored_leaves_the_answer_as_it_was(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = study.tell((1, 0))
    with pytest.raises(InputError):
        study.change(first, "both")
    assert study.history() == (first,)

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(type(study.storage), "add_answer", broken)
    with pytest.raises(RuntimeError):
        study.change(first, "tie")
    assert study.history() == (first,) and study.respondent().history() == (first,)


def test_the_page_lists_all_answers_surprising_first_and_changes_them_by_a_form(
    client: TestClient, study: Study
) -> None:
    person, matrix = study.respondent("Ann"), study.catalogue.table.matrix
    pairs = [(i, j) for i in range(10) for j in range(i)][:40]
    told = [
        person.tell((i, j) if matrix[i, 0] > matrix[j, 0] else (j, i)) for i, j in pairs if abs(i - j) > 1
    ]
    order = matrix[:, 0].argsort().tolist()
    slip = person.tell((order[0], order[-1]))
    home = f"/a/{person.record.token}"
    assert "Surprising" not in client.get(f"{home}/answers").text
    assert client.get(f"{home}/result?whole=true").status_code == 200
    page = client.get(f"{home}/answers").text
    numbers = re.findall(r'id="answer-(\d+)"', page)
    assert numbers[0] == str(slip.id) and len(numbers) == len(told) + 1
    assert "Surprising</strong>" in page and "1 does not fit the others" in page
    latest = client.get(f"{home}/answers?order=time").text
    assert re.findall(r'id="answer-(\d+)"', latest)[1] == str(told[-1].id)
    reply = client.post(f"{home}/answers", data={"answer": slip.id, "choice": "right"})
    assert reply.status_code == 303
    assert "Stored: " in client.get(reply.headers["location"]).text
    assert slip.id not in [one.id for one in person.history()]
    assert person.history()[-1].choice == "right"
    again = client.post(f"{home}/answers", data={"answer": slip.id, "choice": "left"})
    assert again.status_code == 422 and "no standing answer" in again.text


def test_a_closed_study_takes_no_changes(client: TestClient, study: Study) -> None:
    person = study.respondent("Ann")
    answer = person.tell((0, 1))
    study.present(closes="2020-01-31")
    home = f"/a/{person.record.token}/answers"
    assert client.post(home, data={"answer": answer.id, "choice": "right"}).status_code >= 400
    assert person.history() == (answer,) and client.get(home).status_code == 200
