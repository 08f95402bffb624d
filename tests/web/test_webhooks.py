"""Messages to webhooks: stored with the answer, signed, sent again, never into private networks."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import postgres
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import InputError, cli, create_study, web
from coombs.client import is_from_webhook
from coombs.storage import open_storage
from coombs.storage import webhooks as stored
from coombs.storage.timestamps import now
from coombs.study import Study
from coombs.study.stored_check import Inspection
from coombs.web import webhook_delivery
from coombs.web.proxies import networks
from coombs.web.study_cache import StudyCache
from coombs.web.webhook_addresses import NotSentError, is_public_address, post, reachable
from coombs.web.webhook_delivery import WebhookDelivery

ITEMS = [[float(i), float(i * 7 % 12)] for i in range(12)]
ADDRESS = "https://example.org/told"
HERE = networks(["127.0.0.1"])


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return create_study(ITEMS, "points", storage=f"sqlite:///{tmp_path / 'web.db'}")


class Receiver:
    """An address that takes messages, or has trouble."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, Any], Mapping[str, str], bytes]] = []
        self.has_trouble = False

    def send(self, address: str, body: bytes, headers: Mapping[str, str], _: Any) -> None:
        """In the place of the network."""
        if self.has_trouble:
            raise NotSentError("The address replied 500.")
        self.got.append((json.loads(body), headers, body))

    def topics(self) -> list[str]:
        return [message["topic"] for message, *_ in self.got]


def delivery_of(study: Study, receiver: Receiver) -> WebhookDelivery:
    return WebhookDelivery(StudyCache(study.storage), (), receiver.send)


def test_messages_are_stored_with_the_answer_or_not_at_all(study: Study) -> None:
    study.webhooks.add(ADDRESS)

    def interrupted() -> None:
        with study.storage.batch():
            study.respondent("Ann").tell((0, 1))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert study.webhooks.deliveries() == ()
    study.respondent("Bob").tell((0, 1))
    study.respondent("Bob").undo()
    study.storage.set_finished(study.respondent("Bob").record.id)
    study.storage.set_finished(study.respondent("Bob").record.id)
    assert [one.topic for one in study.webhooks.deliveries()] == ["done", "undo", "answer"]


def test_an_answer_that_is_repeated_and_other_studies_make_no_message(study: Study) -> None:
    study.webhooks.add(ADDRESS, ["answer"])
    question = study.ask()
    for _ in range(2):
        study.tell(question, "left")  # type: ignore[arg-type]
    create_study(ITEMS, "other", storage=study.storage).tell((0, 1))
    assert len(study.webhooks.deliveries()) == 1


def test_a_message_says_what_was_answered_and_is_signed(study: Study) -> None:
    hook, receiver = study.webhooks.add(ADDRESS, ["answer", "done"]), Receiver()
    study.respondent("Ann").tell((3, 4))
    study.storage.set_finished(study.respondent("Ann").record.id)
    delivery_of(study, receiver).deliver()
    (told, headers, body), (done, *_) = receiver.got
    assert (told["topic"], told["study"], told["respondent"]) == ("answer", "points", "Ann")
    assert told["answer"]["winner"] == study.respondent("Ann").history()[0].winner
    assert done["topic"] == "done" and "answer" not in done
    assert is_from_webhook(hook.secret, headers["Coombs-Signature"], body)
    assert not is_from_webhook("another secret", headers["Coombs-Signature"], body)
    assert not is_from_webhook(hook.secret, headers["Coombs-Signature"], body + b" ")
    assert all(one.delivered is not None for one in study.webhooks.deliveries())


def test_what_does_not_arrive_is_sent_again_after_growing_waits_for_a_day(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = Receiver()
    receiver.has_trouble = True
    study.webhooks.add(ADDRESS)
    delivery, start = delivery_of(study, receiver), now()
    study.tell((0, 1))
    study.tell((1, 2))
    clock = [start + timedelta(seconds=1)]
    for module in (webhook_delivery, stored):
        monkeypatch.setattr(module, "now", lambda: clock[0])
    waits: list[timedelta] = []
    while any(one.next_try for one in study.webhooks.deliveries()):
        delivery.deliver()
        pending: list[datetime] = [one.next_try for one in study.webhooks.deliveries() if one.next_try]
        if pending:
            waits.append(min(pending) - clock[0])
            clock[0] = min(pending)
    assert waits == sorted(waits) and len(waits) < 25
    assert timedelta(days=1) < clock[0] - start < timedelta(days=1.3)
    assert all(one.problem and one.delivered is None for one in study.webhooks.deliveries())
    # What happens later is told, once there is no trouble.
    receiver.has_trouble = False
    study.tell((2, 3))
    delivery.deliver()
    assert receiver.topics() == ["answer"]


def test_a_message_is_sent_by_one_process_and_again_where_that_died(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = Receiver()
    study.webhooks.add(ADDRESS)
    study.tell((0, 1))
    hooks = stored.Webhooks(study.storage.database)
    ((_, one),) = hooks.due(now(), 10)
    # Another process saw it, too, and claimed it.
    assert hooks.claim(one, now() + webhook_delivery.CLAIMED) and not hooks.claim(one, now())
    delivery_of(study, receiver).deliver()
    assert receiver.got == []
    later = now() + 2 * webhook_delivery.CLAIMED
    monkeypatch.setattr(webhook_delivery, "now", lambda: later)
    delivery_of(study, receiver).deliver()
    assert receiver.topics() == ["answer"]


def test_an_address_in_trouble_does_not_hold_up_others(study: Study) -> None:
    good, bad = Receiver(), Receiver()
    bad.has_trouble = True
    for address in ("https://bad.example.org/", "https://good.example.org/"):
        study.webhooks.add(address)
    for i in range(5):
        study.tell((i, i + 1))

    def send(address: str, *rest: Any) -> None:
        (bad if "bad" in address else good).send(address, *rest)

    WebhookDelivery(StudyCache(study.storage), (), send).deliver()
    assert len(good.got) == 5
    tries = [one.tries for one in study.webhooks.deliveries() if one.delivered is None]
    # Only the first was tried: the others wait for it.
    assert sorted(tries) == [0, 0, 0, 0, 1]


def test_of_somebody_who_is_gone_nothing_is_told_and_no_message_names_anybody(study: Study) -> None:
    receiver, ann = Receiver(), study.respondent("Ann Secret")
    study.webhooks.add(ADDRESS)
    ann.tell((0, 1))
    rows = study.storage.database.rows("SELECT * FROM deliveries")
    assert "Ann" not in str(rows) and ann.record.token not in str(rows)
    study.storage.database.change("DELETE FROM respondents WHERE id = ?", ann.record.id)
    delivery_of(study, receiver).deliver()
    assert receiver.got == [] and study.webhooks.deliveries() == ()


@pytest.mark.parametrize(
    "address",
    [
        "http://example.org/",
        "ftp://example.org/",
        "https://user:password@example.org/",
        "https://example.org/#part",
        "https:///nowhere",
        "https://[::1",
        "https://example.org/a b",
        "nonsense",
    ],
)
def test_an_address_that_is_not_safe_is_refused(address: str, study: Study) -> None:
    with pytest.raises(InputError, match="https://host/path"):
        study.webhooks.add(address)


@pytest.mark.parametrize(
    "number",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fc00::1",
        "::ffff:10.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "ff02::1",
    ],
)
def test_private_addresses_are_not_sent_to_whatever_a_name_says(
    number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_public_address(number)
    known = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: known)
    with pytest.raises(NotSentError, match="private network"):
        reachable("https://example.org/", ())
    if "%" not in number and ":" not in number:
        assert reachable("https://example.org/", networks([number])) == number


@pytest.fixture
def listening() -> Iterator[tuple[str, list[tuple[Any, bytes]]]]:
    """A server of this machine that takes messages, and sends those to /away elsewhere."""
    got: list[tuple[Any, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.headers, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(302 if self.path == "/away" else 204)
            self.send_header("Location", "/told")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", got
    server.shutdown()
    server.server_close()


def test_messages_go_over_the_network_and_follow_no_redirect(listening: Any) -> None:
    address, got = listening
    post(f"{address}/told?x=1", b"{}", {"Coombs-Topic": "done"}, HERE)
    assert got[0][0]["Coombs-Topic"] == "done" and got[0][1] == b"{}"
    with pytest.raises(NotSentError, match="replied 302"):
        post(f"{address}/away", b"{}", {}, HERE)
    with pytest.raises(NotSentError, match="private network"):
        post(f"{address}/told", b"{}", {}, ())
    assert len(got) == 2


def test_the_owner_makes_webhooks_and_sees_what_became_of_messages(
    study: Study, listening: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The app would send by itself, at some time.
    monkeypatch.setattr("coombs.web.app.DELIVERED", 3600.0)
    address, got = listening
    app = web.create_app(study.storage, webhook_networks=["127.0.0.1"])
    path = "/api/studies/points/webhooks"
    with TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 5)) as client:
        assert client.post(path, json={"address": "http://127.0.0.2/"}).status_code == 422
        made = client.post(path, json={"address": f"{address}/told", "topics": ["answer"]}).json()
        assert made["secret"] not in client.get(path).text
        study.respondent("Ann").tell((0, 1))
        app.state.webhooks.deliver()
        (sent,) = client.get(f"{path}/deliveries").json()
        assert sent["delivered"] and sent["tries"] == 1 and not sent["problem"]
        assert is_from_webhook(made["secret"], got[0][0]["Coombs-Signature"], got[0][1])
        assert client.delete(f"{path}/{made['id']}").status_code == 204
        assert client.get(path).json() == [] and client.delete(f"{path}/{made['id']}").status_code == 404


def test_damaged_rows_are_found(study: Study) -> None:
    study.webhooks.add(ADDRESS)
    study.tell((0, 1))
    assert Inspection(study.storage.database).run().is_sound
    study.storage.database.change("UPDATE deliveries SET body = 'nonsense'")
    assert not Inspection(study.storage.database).run().is_sound


@pytest.mark.slow
def test_messages_in_postgresql() -> None:
    storage, receiver = open_storage(postgres.fresh_url()), Receiver()
    study = create_study(ITEMS, "points", storage=storage)
    study.webhooks.add(ADDRESS)
    receiver.has_trouble = True
    study.respondent("Ann").tell((0, 1))
    delivery_of(study, receiver).deliver()
    assert [one.tries for one in study.webhooks.deliveries()] == [1]
    storage.database.change("UPDATE deliveries SET next_try = created")
    receiver.has_trouble = False
    storage.set_finished(study.respondent("Ann").record.id)
    delivery_of(study, receiver).deliver()
    assert receiver.topics() == ["answer", "done"]
    token = study.api_tokens.add("shop", "read")
    assert study.api_tokens.list()[0].name == "shop" and len(token) == 50
    storage.close_all()


class Ear(BaseHTTPRequestHandler):
    """Takes messages, and keeps them."""

    heard: ClassVar[list[tuple[Mapping[str, str], bytes]]] = []

    def do_POST(self) -> None:
        self.heard.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def test_a_command_adds_lists_tests_and_removes_webhooks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = f"sqlite:///{tmp_path / 'cli.db'}"
    create_study(ITEMS, "points", storage=storage)
    Ear.heard = []
    with HTTPServer(("127.0.0.1", 0), Ear) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/told"

        def run(*arguments: str) -> tuple[int, str, str]:
            code = cli.main(["webhook", *arguments, "--storage", storage])
            return code, *capsys.readouterr()

        code, out, _ = run("add", address, "--topic", "done")
        secret = out.splitlines()[-1]
        assert code == 0 and "Webhook 1 is told of done." in out
        assert run("list")[1] == f"1: {address} (done); nothing sent yet\n"
        refused, _, why = run("test", "1")
        assert refused == 2 and "in a private network" in why and not Ear.heard
        assert "was taken by" in run("test", "1", "--webhook-network", "127.0.0.1")[1]
        server.shutdown()
    ((headers, body),) = Ear.heard
    assert is_from_webhook(secret, headers["Coombs-Signature"], body) and json.loads(body)["topic"] == "test"
    gone, _, why = run("test", "1", "--webhook-network", "127.0.0.1")
    assert gone == 2 and "could not be sent" in why
    assert run("test", "7")[0] == 2 and run("remove", "x")[0] == 2
    assert run("remove", "1")[0] == 0 and run("list")[1] == ""
