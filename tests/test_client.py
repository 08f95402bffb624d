"""The client for other programs, against the app itself: ask, tell, read, and what goes wrong on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import client as client_module
from coombs import create_study, web
from coombs.client import Client, ClientError, ClientReply
from coombs.study import Study
from coombs.web.routing import study_path

TOKEN = "a-token-of-many-letters"
ITEMS = [[float(i), float(i * 7 % 12)] for i in range(12)]
Transport = Callable[[Request], ClientReply]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return create_study(ITEMS, "a/b", storage=f"sqlite:///{tmp_path / 'web.db'}", shared_prior=False)


@pytest.fixture
def transport(study: Study, monkeypatch: pytest.MonkeyPatch) -> Iterator[Transport]:
    """Requests go to the app without a network."""
    monkeypatch.setattr(client_module, "FIRST_WAIT", 0.0)
    monkeypatch.setattr(client_module, "PART", 2)
    app = web.create_app(study.storage, token=TOKEN)
    with TestClient(app, base_url="http://127.0.0.1", follow_redirects=False) as testing:

        def send(request: Request) -> ClientReply:
            reply = testing.request(
                request.get_method(),
                request.full_url,
                content=request.data,
                headers=dict(request.header_items()),
            )
            return ClientReply(reply.status_code, dict(reply.headers), reply.content)

        yield send


def client_of(transport: Transport, token: str = TOKEN, **options: Any) -> Client:
    return Client("http://127.0.0.1/", token, transport=transport, **options)


def test_a_program_asks_and_tells_for_its_users_and_reads_the_result(
    study: Study, transport: Transport
) -> None:
    shop = client_of(transport, study.api_tokens.add("shop", "answer")).study("a/b")
    person = shop.person("user 17")
    assert shop.person("user 17") == person and person.result()["n_answers"] == 0
    turn = person.ask()
    for _ in range(5):
        assert turn.question is not None and len(turn.question.items) == 2
        better = min(turn.question.items, key=lambda item: item.position)
        turn = person.tell(turn.question, "left" if better is turn.question.items[0] else "right")
    assert turn.progress["n_answers"] == 5 and len(person.history()) == 5
    assert person.undo(person.history()[-1]["id"]).progress["n_answers"] == 4
    with pytest.raises(ClientError, match="may answer; this takes one that may read or own") as refused:
        shop.about()
    assert refused.value.status == 403


def test_a_person_goes_through_consent_and_sets_to_the_end(study: Study, transport: Transport) -> None:
    settings: Any = {"questions": 2, "set_size": 3}
    other = create_study(ITEMS, "sets", storage=study.storage, **settings)
    other.present(consent="We keep your answers.")
    person = client_of(transport).study("sets").person("Ann")
    assert person.where()["step"] == "consent"
    with pytest.raises(ClientError, match="Consent comes before"):
        person.ask()
    assert person.agree()["step"] == "questions"
    turn = person.ask()
    while turn.question is not None:
        assert len(turn.question.items) == 3
        best, *_, worst = (item.position for item in turn.question.items)
        turn = person.tell(turn.question, best=best, worst=worst)
    assert person.where()["step"] == "finished" and len(person.history()) == 2


def test_who_may_read_sees_everybody_part_by_part(study: Study, transport: Transport) -> None:
    for i in range(5):
        study.respondent(f"p{i}").tell((i, i + 1))
    reader = client_of(transport, study.api_tokens.add("dashboard", "read")).study("a/b")
    assert [one.name for one in reader.people()] == [f"p{i}" for i in range(5)]
    assert [one["respondent"] for one in reader.answers()] == [f"p{i}" for i in range(5)]
    assert reader.export().count(b"\n") == 6 and reader.export("study.jsonl").startswith(b"{")
    assert reader.about()["n_items"] == 12 and "fraction" in reader.group()
    with pytest.raises(ClientError, match="may only read"):
        next(reader.people()).ask()


def test_a_reply_that_is_lost_makes_nothing_twice(study: Study, transport: Transport) -> None:
    """Every first reply is lost on its way, after the server has done its work."""
    seen: list[str] = []

    def lossy(request: Request) -> ClientReply:
        reply, key = transport(request), request.headers.get("Idempotency-key", request.full_url)
        seen.append(key)
        if seen.count(key) == 1:
            raise OSError("the cable")
        return reply

    owner = client_of(lossy)
    teas = owner.create_study("teas", "tea,price\nA,1\nB,2\nC,4\n")
    person = teas.person("Ann")
    turn = person.tell(person.ask().question.id, "left")  # type: ignore[union-attr]
    assert turn.progress["n_answers"] == 1
    assert sorted(one["name"] for one in owner.studies()) == ["a/b", "teas"]
    with pytest.raises(ClientError, match="There is a study named 'teas'") as refused:
        owner.create_study("teas", "tea,price\nA,1\nB,3\nC,4\n")
    assert refused.value.status == 409


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_in_trouble_is_asked_again_and_in_the_end_its_sentence_is_raised(status: int) -> None:
    sentence, sent = "It is away; try again.", 0

    def troubled(_: Request) -> ClientReply:
        nonlocal sent
        sent += 1
        return ClientReply(status, {"retry-after": "0"}, json.dumps({"detail": sentence}).encode())

    with pytest.raises(ClientError, match=sentence):
        Client("http://127.0.0.1", transport=troubled, tries=3).studies()
    assert sent == 3


def test_no_reply_and_no_address_are_sentences() -> None:
    def nobody(_: Request) -> ClientReply:
        raise OSError("nobody")

    with pytest.raises(ClientError, match="No reply from"):
        Client("http://127.0.0.1", transport=nobody, tries=1).studies()
    with pytest.raises(ClientError, match="it must be http"):
        Client("file:///etc/passwd")


def test_no_token_is_shown(study: Study, transport: Transport) -> None:
    person = client_of(transport).study("a/b").person("Ann")
    assert person.token is not None
    assert person.token not in repr(person) and TOKEN not in repr(person.client)


@pytest.mark.parametrize("name", ["a/b", "100 %", "~7E", "..", "ä ö?#"])
def test_a_study_has_the_address_that_the_page_gives_it(name: str) -> None:
    assert Client("http://127.0.0.1").study(name).path == f"/api{study_path(name)}"


def test_the_client_needs_no_numpy() -> None:
    code = "import sys, coombs.client; sys.exit('numpy' in sys.modules or 'fastapi' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
