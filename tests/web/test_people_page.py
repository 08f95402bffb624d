"""The owner's pages and API about people: how far they are, reminding, rights; who answers meanwhile."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import create_study, web
from coombs.storage import Storage, open_storage
from coombs.study import Study
from coombs.web import app as web_app
from coombs.web.learning import group_learning
from coombs.web.people_view import PAGE_SIZE, PeopleView

FORM = {"Origin": "http://127.0.0.1"}
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage(f"sqlite:///{tmp_path / 'web.db'}")


def client_of(storage: Storage, **options: Any) -> TestClient:
    settings = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5), "headers": FORM, **options}
    return TestClient(web.create_app(storage), follow_redirects=False, **settings)


@pytest.fixture
def client(storage: Storage) -> Iterator[TestClient]:
    with client_of(storage) as made:
        yield made


@pytest.fixture
def study(storage: Storage) -> Study:
    """Ann is done, Bob has started, and a script is only invited."""
    made = create_study([[float(i), i % 3] for i in range(8)], "taste", storage=storage)
    ann = made.respondent("Ann")
    for _ in range(3):
        ann.tell(ann.ask(), "left")
    storage.set_finished(ann.record.id)
    made.respondent("Bob").tell((1, 2))
    made.respondent(SCRIPT)
    return made


def number(study: Study, name: str) -> int:
    return study.person_record(name)[0].id


def names(page: str) -> list[str]:
    return re.findall(r'/people/\d+">([^<]*)</a></th>', page)


def test_the_page_says_how_far_everybody_is(client: TestClient, study: Study) -> None:
    page = client.get("/studies/taste").text
    assert "1 of 3 people are done, 1 started" in page
    assert SCRIPT not in page and "&lt;script&gt;" in page
    for show, expected in (("done", ["Ann"]), ("started", ["Bob"]), ("flagged", []), ("nonsense", 3)):
        found = names(client.get(f"/studies/taste?show={show}").text)
        assert found == expected or len(found) == expected
    assert names(client.get("/studies/taste?sort=-answers").text)[0] == "Ann"
    assert names(client.get("/studies/taste?sort=name").text)[1] == "Ann"


def test_thousands_of_people_come_in_pages_and_few_statements(storage: Storage) -> None:
    study = create_study([[0.0], [1.0], [2.0]], "many", storage=storage)
    with storage.batch():
        for i in range(PAGE_SIZE * 2 + 7):
            storage.add_respondent(
                study.record.id, f"P{i:04}", f"token {i}", at=datetime(2026, 1, 1, tzinfo=UTC)
            )
    seen: list[str] = []
    storage.database.connection.driver_connection.set_trace_callback(seen.append)
    monitor = study.monitor()
    storage.database.connection.driver_connection.set_trace_callback(None)
    assert len(seen) <= 3
    pages = [PeopleView.of(monitor, "all", "-name", str(page)).rows for page in (1, 2, 3, 9)]
    assert [len(rows) for rows in pages] == [PAGE_SIZE, PAGE_SIZE, 7, 7]
    assert [one.name for rows in pages[:3] for one in rows] == [
        f"P{i:04}" for i in reversed(range(PAGE_SIZE * 2 + 7))
    ]


def test_only_answers_since_the_last_look_are_read_again(study: Study) -> None:
    study.monitor()
    seen: list[str] = []
    connection = study.storage.database.connection.driver_connection
    connection.set_trace_callback(seen.append)
    study.monitor()
    connection.set_trace_callback(None)
    assert len(seen) == 3
    study.respondent("Bob").tell((3, 4))
    assert study.monitor().people[1].n_answers == 2


def test_those_who_are_not_done_are_listed_with_their_links(client: TestClient, study: Study) -> None:
    study.revoke_link("Bob")
    page = client.get("/studies/taste/remind").text
    links = study.links()
    assert f"/a/{links[SCRIPT]}" in page and links["Ann"] not in page and "Bob" not in page
    rows = list(csv.reader(io.StringIO(client.get("/studies/taste/remind.csv").content.decode("utf-8-sig"))))
    assert rows[1:] == [[SCRIPT, "invited", f"http://127.0.0.1/a/{links[SCRIPT]}"]]


def test_a_person_is_deleted_by_forms_and_their_link_is_nobodys(client: TestClient, study: Study) -> None:
    token = study.links()["Ann"]
    assert client.get(f"/a/{token}").status_code == 200
    page = f"/studies/taste/people/{number(study, 'Ann')}"
    assert "3 answers" in client.get(f"{page}/delete").text and "Ann" in study.respondents()
    assert client.post(f"{page}/delete").headers["location"] == "/studies/taste#people"
    assert list(study.respondents()) == ["Bob", SCRIPT]
    gone = client.post(f"/a/{token}/tell", data={"question": 1, "choice": "left"})
    assert gone.status_code == 404 and "link is nobody" in gone.text
    assert client.get(page).status_code == 404 and client.get("/studies/taste").status_code == 200
    assert "A person with 3 answers was deleted." in client.get("/studies/taste").text


@pytest.mark.parametrize("act", ["delete", "anonymise", "revoke", "renew"])
def test_every_act_is_asked_about_first_and_holds_in_other_processes(
    client: TestClient, storage: Storage, study: Study, act: str
) -> None:
    """Whose cache had the person; whoever answers there gets a sentence."""
    token, page = study.links()["Bob"], f"/studies/taste/people/{number(study, 'Bob')}/{act}"
    with client_of(open_storage(f"sqlite:///{storage.database._path}")) as other:  # type: ignore[attr-defined]
        question = other.get(f"/api/respondents/{token}/question").json()["question"]
        assert client.get(page).status_code == 200 and "Bob" in study.respondents()
        assert client.post(page).status_code == 303
        told = {"question": question["id"], "choice": "left"}
        for reply in (
            other.post(f"/api/respondents/{token}/tell", json=told),
            other.get(f"/a/{token}"),
            other.get(f"/a/{token}/result"),
        ):
            assert reply.status_code == 404 and "Traceback" not in reply.text
        assert other.get("/studies/taste").status_code == 200
    assert token not in client.get("/studies/taste").text


def test_a_person_is_shown_and_taken_away(client: TestClient, study: Study) -> None:
    page = f"/studies/taste/people/{number(study, SCRIPT)}"
    shown = client.get(page).text
    assert SCRIPT not in shown and "&lt;script&gt;" in shown
    ann = f"/studies/taste/people/{number(study, 'Ann')}"
    assert client.get(f"{ann}/data.json").json()["person"]["name"] == "Ann"
    assert len(client.get(f"{ann}/answers.csv").text.splitlines()) == 4
    for path in (f"{page}/burn", "/studies/taste/people/99", "/studies/taste/people/99/delete"):
        assert client.get(path).status_code == 404
    assert client.post(f"{page}/burn").status_code == 404


def test_the_owner_says_how_long_data_is_kept(client: TestClient, study: Study) -> None:
    post = {"until": "2099-01-31", "action": "anonymise"}
    assert client.post("/studies/taste/retention", data=post).status_code == 303
    assert "After 2099-01-31 all people of this study are made anonymous" in client.get("/studies/taste").text
    assert client.post("/studies/taste/retention", data={"until": "soon"}).status_code == 422
    assert client.post("/studies/taste/retention", data={"until": ""}).status_code == 303
    assert study.retention is None


def test_the_server_does_what_is_due_by_itself(storage: Storage, study: Study) -> None:
    study.set_retention("2020-01-31")
    assert web_app.RETENTION_EVERY <= 3600
    with client_of(storage) as client:
        for _ in range(500):
            if not client.get("/api/studies/taste/monitor").json()["people"]:
                break
        assert study.respondents() == {}
        assert client.get("/api/studies/taste/log").json()[0]["what"].endswith("3 people deleted.")


def test_the_api_has_the_same(client: TestClient, study: Study) -> None:
    api = "/api/studies/taste"
    found = client.get(f"{api}/monitor?show=not done").json()
    assert found["counts"] == {"invited": 1, "started": 1, "done": 1}
    assert [one["name"] for one in found["people"]] == ["Bob", SCRIPT]
    assert found["people"][0]["link"] == f"http://127.0.0.1/a/{study.links()['Bob']}"
    part = client.get(f"{api}/monitor?limit=2")
    assert len(part.json()["people"]) == 2 and 'rel="next"' in part.headers["link"]
    assert client.get(f"{api}/respondents/Ann").json()["person"]["name"] == "Ann"
    old = study.links()["Bob"]
    assert client.post(f"{api}/respondents/Bob/renew", json={}).json()["token"] == study.links()["Bob"] != old
    assert client.post(f"{api}/respondents/Bob/revoke", json={}).json()["link"] is None
    called = client.post(f"{api}/respondents/Bob/anonymise", json={}).json()["name"]
    assert called in study.respondents()
    assert client.delete(f"{api}/respondents/Ann").json() == {"n_answers": 3}
    assert client.delete(f"{api}/respondents/Ann").status_code == 404
    kept = {"until": "2099-01-31", "action": "delete"}
    assert client.put(f"{api}/retention", json=kept).json() == kept == client.get(f"{api}/retention").json()
    assert client.put(f"{api}/retention", json={"until": "x"}).status_code == 422
    assert len(client.get(f"{api}/log").json()) == 4


def test_nobody_but_the_owner_sees_or_does_any_of_it(storage: Storage, study: Study) -> None:
    ann = number(study, "Ann")
    pages = ("remind", "remind.csv", f"people/{ann}", f"people/{ann}/data.json", f"people/{ann}/delete")
    with client_of(storage, client=("192.0.2.1", 5)) as stranger:
        for path in pages:
            assert stranger.get(f"/studies/taste/{path}").status_code in (401, 403)
        for path in (f"people/{ann}/delete", "retention"):
            assert stranger.post(f"/studies/taste/{path}").status_code in (401, 403)
        for path in ("monitor", "respondents/Ann", "retention", "log"):
            assert stranger.get(f"/api/studies/taste/{path}").status_code in (401, 403)
        assert stranger.delete("/api/studies/taste/respondents/Ann").status_code in (401, 403)
    with client_of(storage, headers={"Origin": "https://elsewhere.example"}) as other:
        assert other.post(f"/studies/taste/people/{ann}/delete").status_code == 403
    assert "Ann" in study.respondents()


def test_a_result_of_everybody_goes_when_somebody_in_it_does(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although the former result stays on the page while answers alone have changed."""
    names = lambda data, *_, **__: sorted({*data.answer_users.tolist()})  # noqa: E731
    monkeypatch.setattr(group_learning, "group_result", names)
    learner = group_learning.GroupLearner()
    assert learner.state(study, 30.0).result == ["Ann", "Bob"]
    monkeypatch.setattr(learner, "_learn", lambda *_: None)
    study.respondent("Bob").tell((3, 4))
    assert learner.state(study).result == ["Ann", "Bob"]
    study.anonymise_respondent("Bob")
    state = learner.state(study)
    assert state.result is None and not state.is_current
    learner.close()
