"""The owner's page and API of items that come, change and go."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape

import pytest
from fastapi.testclient import TestClient

from coombs import create_study, delete_study, load_study
from coombs.client import Client, ClientReply
from coombs.storage import Storage, open_storage
from coombs.study import Study
from coombs.web import create_app

CSV = "flat,rent,town,photo\nA,650,a,https://x.org/a.jpg\nB,720.5,b,\nC,900,a,\nD,480,b,\n"
PAGE = "/studies/flats/items"


@pytest.fixture(scope="module")
def storage() -> Storage:
    return open_storage("memory:")


def client_of(storage: Storage, **options: object) -> TestClient:
    known = {"client": ("127.0.0.1", 5), "headers": {"Origin": "http://127.0.0.1"}, **options}
    return TestClient(create_app(storage), base_url="http://127.0.0.1", **known)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def client(storage: Storage) -> Iterator[TestClient]:
    """The owner, at one server for all tests."""
    with client_of(storage) as made:
        yield made


@pytest.fixture
def study(client: TestClient, storage: Storage) -> Iterator[Study]:
    """A study that is made there, as another process has it."""
    new = {"name": "flats", "csv": CSV, "roles": {"town": "category", "photo": "picture"}}
    assert client.post("/api/studies", json=new).status_code == 201
    yield load_study("flats", storage=storage)
    delete_study("flats", storage=storage)


def uploaded(client: TestClient, table: str | bytes, file: str = "new.csv") -> str:
    """The address at which a table is looked over."""
    sent = client.post(PAGE, files={"file": (file, table)}, follow_redirects=False)
    assert sent.status_code == 303
    return sent.headers["location"]


def test_a_table_is_looked_over_before_it_changes_anything(client: TestClient, study: Study) -> None:
    table = (
        "flat,rent,town,photo\nZ,500,harbour,https://x.org/z.jpg\nA,651,a,https://x.org/a.jpg\nB,720.5,b,\n"
    )
    place = uploaded(client, table)
    shown = client.get(place).text
    assert all(
        word in shown for word in ("<li>Z</li>", "rent: 650 → 651", "<li>B</li>", "Changed: a new version")
    )
    assert study.items() == study.items(retired=True)
    assert client.post(place).status_code == 200
    assert [(one.name, one.version) for one in study.items()] == [
        ("B", 1),
        ("C", 1),
        ("D", 1),
        ("Z", 1),
        ("A", 2),
    ]
    assert study.items()[-1].cells["picture"] == "https://x.org/a.jpg"
    page = client.get(PAGE).text
    assert "harbour" in page and page.count("<tbody>") == 1


@pytest.mark.usefixtures("study")
def test_what_is_taken_away_comes_back_unchanged(client: TestClient) -> None:
    content = client.get(f"{PAGE}/items.csv").content
    place = client.post(PAGE, files={"file": ("items.csv", content)}, follow_redirects=False).headers[
        "location"
    ]
    assert "all items are as they were" in client.get(place).text


def test_one_item_is_changed_by_a_form_after_a_preview(client: TestClient, study: Study) -> None:
    place = f"{PAGE}/1"
    form = client.get(place, headers={"Accept-Language": "de"})
    inputs = dict(re.findall(r'<input[^>]* name="([^"]+)" value="([^"]*)"', form.text))
    assert inputs == {
        "name": "B",
        "cell rent": "720,5",
        "cell town": "b",
        "cell picture": inputs["cell picture"],
    }
    told = client.post(place, data=inputs)
    assert "all items are as they were" in told.text and len(study.items(retired=True)) == 4
    inputs |= {"cell rent": "690,25", "cell town": "", "name": "B & B"}
    told = client.post(place, data=inputs)
    assert (
        told.status_code == 200 and "rent: 720.5 → 690.25" in told.text and 'value="B &amp; B"' in told.text
    )
    assert len(study.items(retired=True)) == 4
    kept = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', told.text))
    assert client.post(place, data={name: unescape(value) for name, value in kept.items()}).status_code == 200
    changed = study.items()[-1]
    assert (changed.name, changed.version, changed.replaces) == ("B & B", 2, 1)
    assert changed.cells["rent"] == 690.25 and changed.cells["town"] == "not known"
    # The version before is not asked about, so that there is no form of it.
    assert client.get(place).status_code == 404 and client.post(place, data=inputs).status_code == 404


def test_a_mistake_in_the_form_of_one_item_is_said_and_what_was_typed_stays(
    client: TestClient, study: Study
) -> None:
    wrong = client.post(f"{PAGE}/1", data={"name": "B", "cell rent": "much"})
    assert wrong.status_code == 422 and "must be a number" in wrong.text and 'value="much"' in wrong.text
    assert client.post(f"{PAGE}/1", data={"name": "A", "apply": "yes"}).status_code == 422
    assert client.post(f"{PAGE}/1", data={"name": " ", "apply": "yes"}).status_code == 422
    assert len(study.items(retired=True)) == 4


def test_items_are_retired_and_brought_back_by_a_button(client: TestClient, study: Study) -> None:
    assert client.post(f"{PAGE}/retire", data={"position": 1}).status_code == 200
    assert [one.name for one in study.items()] == ["A", "C", "D"]
    assert "Bring back" in client.get(f"{PAGE}?show=retired").text
    assert client.post(f"{PAGE}/restore", data={"position": 1}).status_code == 200
    assert len(study.items()) == 4
    refused = client.post(f"{PAGE}/retire", data={"position": 99})
    assert refused.status_code == 422 and "no item at position 99" in refused.text


def test_a_mistake_is_said_on_the_page(client: TestClient, study: Study) -> None:
    assert client.post(PAGE).status_code == 422
    for table, told in (("flat,rent\nZ,5\n", "town"), ("flat,rent\nA,much\n", "must be a number")):
        place = client.post(PAGE, files={"file": ("new.csv", table)}, follow_redirects=False).headers[
            "location"
        ]
        assert told in client.get(place).text
        assert client.post(place).status_code == 422
    assert client.get(f"{PAGE}/drafts/none").status_code == 404
    assert len(study.items(retired=True)) == 4


def test_who_answers_meanwhile_is_asked_about_the_items_of_now(client: TestClient, study: Study) -> None:
    (person,) = client.post("/api/studies/flats/respondents", json={"names": ["Ann"]}).json()
    path = f"/api/respondents/{person['token']}"
    question = client.get(f"{path}/question").json()["question"]
    gone = question["left"]["name"]
    study.retire_items([gone])
    study.change_item("B" if gone != "B" else "C", {"rent": 1000})
    # The question on the screen is still answered.
    told = client.post(f"{path}/tell", json={"question": question["id"], "choice": "left"})
    assert told.status_code == 200
    names, turn = set(), told.json()
    while turn["question"] is not None:
        names |= {turn["question"][side]["name"] for side in ("left", "right")}
        answer = {"question": turn["question"]["id"], "choice": "skip"}
        turn = client.post(f"{path}/tell", json=answer).json()
    assert names == {one.name for one in study.items()}
    assert {one["left"] for one in client.get(f"{path}/history").json()} >= {gone}


def test_the_api_and_its_client_do_the_same(client: TestClient, study: Study) -> None:
    def send(request: object) -> ClientReply:
        body = None if request.data is None else request.data  # type: ignore[attr-defined]
        path = request.full_url.removeprefix("http://127.0.0.1")  # type: ignore[attr-defined]
        reply = client.request(request.method, path, content=body, headers=dict(request.header_items()))  # type: ignore[attr-defined]
        return ClientReply(reply.status_code, dict(reply.headers), reply.content)

    remote = Client("http://127.0.0.1", transport=send).study("flats")
    assert remote.update_items("flat,rent,town\nZ,5,a\n", preview=True)["added"] == ["Z"]
    assert remote.update_items("flat,rent,town\nZ,5,a\n")["added"] == ["Z"]
    assert remote.change_item("Z", {"rent": "7"}, preview=True)["differences"] == {"Z": ["rent: 5 → 7"]}
    assert remote.change_item("Z", {"rent": "7", "town": None}, rename="Y")["changed"] == ["Y"]
    assert remote.retire_items(["A", "B"])["retired"] == ["A", "B"]
    assert remote.restore_items(["B"])["restored"] == ["B"]
    assert (
        [one["name"] for one in remote.items()] == [one.name for one in study.items()] == ["B", "C", "D", "Y"]
    )
    assert remote.items()[-1]["cells"]["town"] is None
    assert len(remote.items(retired=True)) == 6
    part = client.get("/api/studies/flats/items?limit=2")
    assert len(part.json()) == 2 and 'rel="next"' in part.headers["link"]
    assert client.post("/api/studies/flats/items/retire", json={"names": ["Q"]}).status_code == 422
    assert client.get("/api/studies/flats").json()["n_items"] == 4
    assert "items/retire" in json.dumps(client.get("/openapi.json").json())


@pytest.mark.usefixtures("study")
def test_strangers_see_and_change_no_items(storage: Storage) -> None:
    with client_of(storage, client=("192.0.2.1", 5)) as stranger:
        for path in (PAGE, f"{PAGE}/items.csv", "/api/studies/flats/items"):
            assert stranger.get(path).status_code in (401, 403)
        for path in (PAGE, f"{PAGE}/retire", "/api/studies/flats/items", "/api/studies/flats/items/retire"):
            assert stranger.post(path, json={}).status_code in (401, 403)


def test_names_of_items_are_escaped(client: TestClient, study: Study) -> None:
    study.change_item("A", rename="<script>alert(1)</script>")
    assert "<script>alert" not in client.get(PAGE).text
    place = uploaded(client, "flat,rent,town\n<i>x</i>,5,a\n", "<b>.csv")
    assert "<i>" not in client.get(place).text


def test_a_planned_question_about_a_retired_item_is_said_to_the_owner(
    client: TestClient, storage: Storage
) -> None:
    made = create_study([[1.0], [2.0], [3.0]], "plan", storage=storage, fixed=(("0", "1"), ("1", "2")))
    made.retire_items([0])
    assert "is retired" in client.get("/studies/plan").text
    assert "is retired" in client.get("/studies/plan/items").text
