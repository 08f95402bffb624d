"""The page for a list of names: written down or uploaded, asked about, and ranked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient
from preview_form import preview_form

from coombs import load_study, web
from coombs.storage import open_storage

NAMES = ["tea", "coffee, black", "water", "juice", "milk", "cocoa"]


@pytest.fixture
def storage(tmp_path: Any) -> Any:
    return open_storage(f"sqlite:///{tmp_path / 'web.db'}")


@pytest.fixture
def client(storage: Any) -> Iterator[TestClient]:
    settings: dict[str, Any] = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5)}
    with TestClient(
        web.create_app(storage), follow_redirects=False, headers={"Origin": "http://127.0.0.1"}, **settings
    ) as made:
        yield made


def _draft(client: TestClient, **sent: Any) -> str:
    answer = client.post("/drafts", **sent)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


@pytest.mark.parametrize(
    "sent",
    [
        {"data": {"names": "\r\n".join(NAMES)}},
        {"files": {"file": ("drinks.txt", "\n".join(NAMES).encode())}},
        {"files": {"file": ("drinks.csv", "\n".join(["item", *(f'"{name}"' for name in NAMES)]).encode())}},
    ],
)
def test_names_become_a_study_that_is_asked_about_and_ranked(
    client: TestClient, storage: Any, sent: dict[str, Any]
) -> None:
    place = _draft(client, **sent)
    page = client.get(place).text
    assert "6 items, 1 column" in page and "ranked by the answers alone" in page
    assert "Correct these first" not in page
    made = client.post(place, data=preview_form(page, name="drinks", create="yes"))
    assert made.status_code == 303, made.text
    assert "ranked by the answers alone" in client.get("/studies/drinks").text
    study = load_study("drinks", storage=storage)
    assert study.catalogue.names == NAMES
    person = study.respondent()
    for i, winner in enumerate(NAMES):
        for loser in NAMES[i + 1 :]:
            person.tell((winner, loser))
            person.tell((winner, loser))
    token = person.record.token
    assert "<dl>" not in client.get(f"/a/{token}").text
    page = client.get(f"/a/{token}/result?whole=true").text
    assert '<h1 id="best">tea</h1>' in page and "Your ranking" in page
    assert not re.search(r"What matters|ideal|trade|on a map", page.split("</header>")[-1])
    assert client.get(f"/a/{token}/result/report.html").status_code == 200
    assert client.get(f"/a/{token}/result/ranking.csv").text.startswith('"item","rank"')


def test_a_list_without_names_gets_a_sentence(client: TestClient) -> None:
    answer = client.post("/drafts", data={"names": " \n \n"})
    assert answer.status_code == 422 and "write one on each line" in answer.text


def test_a_name_that_is_written_twice_can_be_numbered(client: TestClient) -> None:
    page = client.get(_draft(client, data={"names": "tea\nmilk\ntea"})).text
    assert "Several items are called &#39;tea&#39;" in page and "Number the names" in page


def test_a_header_that_may_be_a_name_is_said(client: TestClient) -> None:
    page = client.get(_draft(client, files={"file": ("d.csv", b"espresso\ntea\nmilk\n")})).text
    assert "&#39;espresso&#39;, is taken for the header" in page


def test_a_study_of_names_is_made_through_the_api(client: TestClient) -> None:
    made = client.post("/api/studies", json={"name": "drinks", "csv": "item\ntea\nmilk\n"})
    assert made.status_code == 201, made.text
    assert made.json()["features"] == [] and made.json()["n_items"] == 2
