"""The best and the worst of a set on the page and by the API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from coombs import create_study, web
from coombs.study import Study

FORM = {"Origin": "http://127.0.0.1"}


@pytest.fixture
def study() -> Study:
    made = create_study(
        [[float(i), float(i % 3)] for i in range(8)],
        "points",
        storage="memory:",
        metric="identity",
        set_size=4,
        attention=((2, "5", "1"),),
    )
    made.respondent("Ann")
    return made


@pytest.fixture
def client(study: Study) -> Iterator[TestClient]:
    known: Any = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5), "headers": FORM}
    with TestClient(web.create_app(study.storage), follow_redirects=False, **known) as made:
        yield made


def test_the_page_and_a_program_change_the_best_and_the_worst(client: TestClient, study: Study) -> None:
    person = study.respondent("Ann")
    question = person.ask()
    assert question is not None
    one, two, three, _ = question.positions
    told, home = person.tell(question, best=one, worst=two), f"/a/{person.record.token}/answers"
    page = client.get(home).text
    assert re.findall(r'name="best" value="(\d+)" required checked', page) == [str(one)]
    form = {"answer": told.id, "best": three, "worst": three}
    refused = client.post(home, data=form)
    assert "another one as the worst" in client.get(refused.headers["location"]).text
    assert client.post(home, data={**form, "worst": one}).status_code == 303
    (changed,) = person.history()
    assert (changed.positions[0], changed.positions[-1]) == (three, one)
    api = f"/api/respondents/{person.record.token}/change"
    reply = client.post(api, json={"answer": changed.id, "best": one, "worst": two})
    assert reply.status_code == 200 and person.history()[0].id == reply.json()["id"]
    assert client.post(api, json={"answer": changed.id, "choice": "skip"}).status_code == 422
    # The page's button that skips sends what is picked, too.
    skip = {"answer": reply.json()["id"], "best": one, "worst": two, "choice": "skip"}
    assert client.post(home, data=skip).status_code == 303 and person.history()[0].choice == "skip"
    study.close()
    assert (
        client.post(api, json={"answer": person.history()[0].id, "best": one, "worst": two}).status_code
        == 403
    )


def test_a_form_without_script_stores_the_best_and_the_worst(client: TestClient, study: Study) -> None:
    url = f"/a/{study.links()['Ann']}"
    page = client.get(url).text
    number = re.findall(r'name="question" value="(\d+)"', page)[0]
    best, worst = (re.findall(rf'name="{end}" value="(\d+)"', page) for end in ("best", "worst"))
    assert best == worst and len(set(best)) == 4
    both = client.post(f"{url}/tell", data={"question": number, "best": best[0], "worst": best[0]})
    assert both.status_code == 200 and "another one as the worst" in both.text
    for _ in range(2):
        told = client.post(f"{url}/tell", data={"question": number, "best": best[0], "worst": worst[3]})
        assert told.status_code == 303
    (answer,) = study.respondent("Ann").history()
    assert (answer.positions[0], answer.positions[-1]) == (int(best[0]), int(worst[3]))
    assert (
        client.post(f"{url}/tell", data={"question": number, "best": "99", "worst": "1"}).status_code == 422
    )
    client.post(f"{url}/undo", data={"answer": str(answer.id)})
    assert f'name="question" value="{number}"' in client.get(url).text


def test_the_api_asks_about_sets_and_keeps_the_form_of_pairs(client: TestClient, study: Study) -> None:
    url = f"/api/respondents/{study.links()['Ann']}"
    question = client.get(f"{url}/question").json()["question"]
    assert question["left"] is None and len(question["items"]) == 4
    ends = {"best": question["items"][1]["position"], "worst": question["items"][2]["position"]}
    told = client.post(f"{url}/tell", json={"question": question["id"], **ends})
    assert told.status_code == 200 and told.json()["progress"]["n_answers"] == 1
    other = client.post(f"{url}/tell", json={"question": question["id"], "choice": "skip"})
    assert other.status_code == 409
    second = told.json()["question"]
    assert client.post(f"{url}/tell", json={"question": second["id"]}).status_code == 422
    odd = {"question": second["id"], "best": True, "worst": False}
    assert client.post(f"{url}/tell", json=odd).status_code == 422
    third = client.post(f"{url}/tell", json={"question": second["id"], "choice": "skip"}).json()["question"]
    # An attention check is a pair; nothing says what it is.
    assert third["left"] == third["items"][0] and third["chosen"] == "fixed"
    assert client.post(f"{url}/tell", json={"question": third["id"], "choice": "left"}).status_code == 200
    shapes = [one["shape"] for one in client.get(f"{url}/history").json()]
    assert shapes == ["best-worst", "best-worst", "pair"]


def test_names_on_the_cards_are_escaped() -> None:
    nasty = {"name": ["<b>1</b>", "2", "3"], "size": [1.0, 2.0, 3.0]}
    pandas = pytest.importorskip("pandas")
    study = create_study(pandas.DataFrame(nasty).set_index("name"), storage="memory:", set_size=3)
    study.respondent("Ann")
    known: Any = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5), "headers": FORM}
    with TestClient(web.create_app(study.storage), **known) as client:
        page = client.get(f"/a/{study.links()['Ann']}").text
    assert "<b>1</b>" not in page and "&lt;b&gt;1&lt;/b&gt;" in page
