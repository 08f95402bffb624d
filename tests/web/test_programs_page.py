"""The owner's page about programs: tokens and webhooks are made, shown once, listed and removed."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import create_study, web
from coombs.storage.timestamps import now
from coombs.storage.webhooks import Webhooks
from coombs.study import Study

PAGE = "/studies/points/programs"
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return create_study([[0.0], [1.0], [2.0]], "points", storage=f"sqlite:///{tmp_path / 'web.db'}")


@pytest.fixture
def client(study: Study, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """The owner; every host is somewhere in the internet."""
    monkeypatch.setattr("coombs.web.app.DELIVERED", 3600.0)
    known = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: known)
    app = web.create_app(study.storage)
    headers = {"Origin": "http://127.0.0.1"}
    with TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 5), headers=headers) as made:
        yield made


def test_a_token_is_shown_once_listed_and_revoked(client: TestClient, study: Study) -> None:
    made = client.post(f"{PAGE}/tokens", data={"program": SCRIPT, "rights": "read"})
    (token,) = re.findall(r'data-copy="(coombs_[\w-]{43})"', made.text)
    assert made.status_code == 201 and SCRIPT not in made.text
    assert token not in client.get(PAGE).text and "&lt;script&gt;" in client.get(PAGE).text
    again = client.post(f"{PAGE}/tokens", data={"program": SCRIPT, "rights": "own"})
    assert again.status_code == 422 and "revoke it" in again.text
    client.post(f"{PAGE}/tokens/revoke", data={"program": SCRIPT})
    assert study.api_tokens.list() == []


def test_a_webhook_is_made_its_messages_seen_and_it_is_removed(client: TestClient, study: Study) -> None:
    data = {"address": "https://example.org/told", "topics": ["answer", "done"]}
    made = client.post(f"{PAGE}/webhooks", data=data)
    (hook,) = study.webhooks.list()
    assert made.status_code == 201 and hook.secret in made.text and hook.topics == ("answer", "done")
    study.tell((0, 1))
    page = client.get(PAGE).text
    assert hook.secret not in page and "waits to be sent" in page
    stored = Webhooks(study.storage.database)
    ((_, one),) = stored.due(now(), 10)
    stored.failed(one, f"It replied {SCRIPT}.", now(), now())
    assert "It is sent no more." in client.get(PAGE).text and SCRIPT not in client.get(PAGE).text
    client.post(f"{PAGE}/webhooks/remove", data={"number": hook.id})
    assert study.webhooks.list() == [] and study.webhooks.deliveries() == ()


@pytest.mark.parametrize(
    "data", [{"address": "http://example.org", "topics": "done"}, {"address": "https://a.example"}]
)
def test_a_webhook_that_cannot_be_gets_a_sentence(data: dict[str, str], client: TestClient) -> None:
    reply = client.post(f"{PAGE}/webhooks", data=data)
    assert reply.status_code == 422 and 'role="alert"' in reply.text


def test_the_page_is_the_owners_and_the_study_leads_to_it(client: TestClient, study: Study) -> None:
    assert PAGE in client.get("/studies/points").text
    stranger = TestClient(client.app, base_url="http://127.0.0.1", client=("203.0.113.9", 5))
    for path in ("", "/tokens", "/webhooks"):
        assert stranger.get(f"{PAGE}{path}").status_code == 403
    token = study.api_tokens.add("shop", "own")
    assert stranger.get(PAGE, headers={"Authorization": f"Bearer {token}"}).status_code == 403
