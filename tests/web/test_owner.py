"""Whose pages are the owner's: tokens, sessions, one throttle, and nothing of a stranger's body is read."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import InputError, create_study, web
from coombs.storage import open_storage
from coombs.web import owner_sessions, owner_token, server_log
from coombs.web.api import bounded_json
from coombs.web.owner_access import is_public
from coombs.web.throttle import FREE_TRIES, LONGEST_WAIT, Throttle

TOKEN = "a token of the owner"
FORM = {"Origin": "http://127.0.0.1"}


@pytest.fixture
def storage(tmp_path: Path) -> Any:
    storage = open_storage(f"sqlite:///{tmp_path / 'web.db'}")
    create_study([[1.0], [2.0], [4.0]], "points", storage=storage)
    return storage


def client_of(app: Any, **options: Any) -> TestClient:
    known = {"base_url": "http://127.0.0.1", "client": ("192.0.2.7", 5), "headers": FORM} | options
    return TestClient(app, follow_redirects=False, **known)


def shown(key: str) -> dict[str, str]:
    """The header of a browser with that session."""
    return {"Cookie": f"coombs_owner={key}", **FORM}


@pytest.fixture
def client(storage: Any) -> Iterator[TestClient]:
    with client_of(web.create_app(storage, token=TOKEN)) as made:
        yield made


# Tokens.


def test_a_token_comes_from_the_call_a_file_or_the_environment(tmp_path: Path) -> None:
    file, environment = tmp_path / "token", {"COOMBS_TOKEN": "that of the environment"}
    file.write_text("that of the file\n")
    assert owner_token.given_token(None, None, {}) is None
    assert owner_token.given_token(None, None, environment) == "that of the environment"
    assert owner_token.given_token(None, str(file), environment) == "that of the file"
    assert owner_token.given_token(TOKEN, None, environment) == TOKEN
    assert owner_token.new_token() != owner_token.new_token()
    assert owner_token.checked(owner_token.new_token())


@pytest.mark.parametrize(
    ("token", "file", "words"),
    [
        ("short", None, "5 characters, which can be guessed; give 16 or more"),
        ("with a line\nin it, and long", None, "plain text"),
        (TOKEN, "token", "one of the two"),
        (None, "none", "cannot be read"),
        (None, "empty", "is empty"),
        (None, "few", "3 characters"),
    ],
)
def test_a_token_that_will_not_do_gets_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str | None, file: str | None, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").write_text("\n")
    Path("few").write_text("abc")
    Path("token").write_text(TOKEN)
    with pytest.raises(InputError, match=words):
        owner_token.given_token(token, file, {})
    with pytest.raises(InputError, match=words):
        web.serve(None, storage="memory:", token=token, token_file=file, open_browser=False)


def test_an_app_refuses_a_token_that_can_be_guessed() -> None:
    with pytest.raises(InputError, match="characters, which can be guessed"):
        web.create_app("memory:", token="secret")


# Sessions.


def test_logging_out_ends_the_session_itself_in_every_process(storage: Any) -> None:
    first, second = (client_of(web.create_app(storage, token=TOKEN)) for _ in range(2))
    first.post("/login", data={"token": TOKEN})
    key = shown(first.cookies["coombs_owner"])
    first.cookies.clear()
    assert first.get("/", headers=key).status_code == second.get("/", headers=key).status_code == 200
    assert second.post("/logout", headers=key).headers["location"] == "/login"
    assert first.get("/", headers=key).status_code == 401
    assert second.get("/", headers=key).status_code == 401


def test_a_session_expires_and_one_of_another_token_is_none(
    storage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = owner_sessions.OwnerSessions(storage, TOKEN)
    key = sessions.begin()
    assert sessions.is_open(key) and not sessions.is_open(key[:-1] + "~")
    assert not owner_sessions.OwnerSessions(storage, f"{TOKEN}.").is_open(key)
    monkeypatch.setattr(owner_sessions, "SESSION_SECONDS", -1)
    late = owner_sessions.OwnerSessions(storage, TOKEN)
    assert not late.is_open(late.begin())
    assert sessions.is_open(key)


def test_a_database_does_not_hold_what_opens_a_session(storage: Any) -> None:
    key = owner_sessions.OwnerSessions(storage, TOKEN).begin()
    kept = str(storage.database.rows("SELECT name, content FROM temporary"))
    assert key not in kept and TOKEN not in kept


def test_only_the_latest_sessions_are_kept(storage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_sessions, "MOST_SESSIONS", 3)
    sessions = owner_sessions.OwnerSessions(storage, TOKEN)
    keys = [sessions.begin() for _ in range(5)]
    assert [sessions.is_open(key) for key in keys] == [False, False, True, True, True]


def test_a_session_that_ended_is_dropped_by_the_browser(client: TestClient) -> None:
    reply = client.get("/", headers=shown("x" * 43))
    assert reply.status_code == 401 and 'coombs_owner="";' in reply.headers["set-cookie"]


# One throttle.


def test_waits_double_and_are_forgotten() -> None:
    at = [0.0]
    throttle = Throttle(lambda: at[0])
    for _ in range(FREE_TRIES - 1):
        throttle.wrong("192.0.2.7")
        assert throttle.wait("192.0.2.7") == 0
    waits = []
    for _ in range(9):
        throttle.wrong("192.0.2.7")
        waits.append(throttle.wait("192.0.2.7"))
    assert waits == [1, 2, 4, 8, 16, 32, *[LONGEST_WAIT] * 3]
    assert throttle.wait("192.0.2.8") == 0
    at[0] += LONGEST_WAIT
    assert throttle.wait("192.0.2.7") == 0
    throttle.right("192.0.2.7")
    throttle.wrong("192.0.2.7")
    assert throttle.wait("192.0.2.7") == 0


def test_addresses_of_one_network_count_as_one() -> None:
    throttle = Throttle(lambda: 0.0)
    for number in range(FREE_TRIES):
        throttle.wrong(f"2001:db8::{number:x}")
    assert throttle.wait("2001:db8::ffff") == 1 and throttle.wait("2001:db8:0:1::") == 0


WAYS = {
    "form": lambda client, secret: client.post("/login", data={"token": secret}),
    "address": lambda client, secret: client.get("/", params={"token": secret}),
    "header": lambda client, secret: client.get("/", headers={"Authorization": f"Bearer {secret}"}),
    "API": lambda client, secret: client.get("/api/studies", headers={"Authorization": f"Bearer {secret}"}),
    "cookie": lambda client, secret: client.get("/", headers=shown(secret * 5)),
}


@pytest.mark.usefixtures("still_throttle")
@pytest.mark.parametrize("way", WAYS)
def test_wrong_tokens_are_slowed_down_whichever_way_they_come(client: TestClient, way: str) -> None:
    """Also the right one is then not looked at, lest the reply tells which it was."""
    replies = [WAYS[way](client, f"wrong{number}") for number in range(FREE_TRIES + 1)]
    assert [one.status_code for one in replies[: FREE_TRIES - 1]] == [401] * (FREE_TRIES - 1)
    assert replies[-1].status_code == 429 and "Too many wrong tokens" in replies[-1].text
    for other, tried in WAYS.items():
        if other != "cookie":
            assert tried(client, TOKEN).status_code == 429


@pytest.mark.usefixtures("still_throttle")
def test_who_guesses_shuts_nobody_else_out(storage: Any) -> None:
    app = web.create_app(storage, token=TOKEN)
    inside, guesser, elsewhere = client_of(app), client_of(app), client_of(app, client=("192.0.2.9", 5))
    inside.post("/login", data={"token": TOKEN})
    for _ in range(FREE_TRIES + 3):
        guesser.post("/login", data={"token": "wrong"})
    # The owner's session goes on, at the same address too; so do links.
    assert inside.get("/").status_code == 200
    assert elsewhere.post("/login", data={"token": TOKEN}).status_code == 303
    link = create_study([[1.0], [2.0]], "other", storage=storage).respondent().record.token
    assert guesser.get(f"/a/{link}", headers=shown("wrong")).status_code == 200


# Nothing of a stranger's request is read.


async def asked(app: Any, method: str, path: str, **headers: str) -> tuple[int, int]:
    """The status of a reply, and how often the body was asked for."""
    reads, statuses = [], []
    known = {"host": "127.0.0.1", "origin": "http://127.0.0.1", **headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in known.items()],
        "client": ("192.0.2.7", 5),
        "server": ("127.0.0.1", 80),
    }

    async def receive() -> dict[str, Any]:
        reads.append(1)
        return {"type": "http.request", "body": b"[" * 1000, "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        statuses.append(message.get("status"))

    await app(scope, receive, send)
    return statuses[0], len(reads)


def routes(app: Any) -> list[tuple[str, str]]:
    """Methods and paths of all routes."""
    found = app.openapi()["paths"]
    pages = [
        (method, "/".join(re.sub(r"{.*}", "x", part) for part in route.path.split("/")))
        for route in all_routes(app.routes)
        for method in route.methods
    ]
    assert {path for _, path in pages} >= {re.sub(r"{\w+}", "x", path) for path in found}
    return pages


def all_routes(routes: Any) -> Iterator[Any]:
    """Routes, also of routers inside."""
    for route in routes:
        inside = getattr(route, "routes", None) or getattr(
            getattr(route, "original_router", None), "routes", None
        )
        if getattr(route, "methods", None):
            yield route
        elif inside:
            yield from all_routes(inside)


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x"])
def test_of_a_strangers_request_for_an_owners_route_nothing_is_read(storage: Any, kind: str) -> None:
    app = web.create_app(storage, token=TOKEN)
    owned = [(method, path) for method, path in routes(app) if not is_public(path)]
    assert len(owned) > 15 and ("POST", "/api/studies") in owned and ("POST", "/drafts") in owned
    for method, path in owned:
        status, reads = asyncio.run(asked(app, method, path, content_type=kind, content_length="9999"))
        assert (status, reads) == (401, 0) or (status == 415 and kind[0] == "m"), path


def test_all_that_is_public_is_named(storage: Any) -> None:
    app = web.create_app(storage, token=TOKEN)
    public = {path for _, path in routes(app) if is_public(path)}
    known = {"a", "api", "join", "login", "logout", "docs", "openapi.json"}
    assert {path.split("/")[1] for path in public} == known | {"health", "ready", "metrics"}
    assert not is_public("/a") and not is_public("/api/studies") and not is_public("/drafts")


@pytest.mark.parametrize("path", ["/a/x/tell", "/a/x/undo", "/api/respondents/x/tell", "/login"])
def test_a_body_that_anybody_may_send_is_small(storage: Any, path: str) -> None:
    with client_of(web.create_app(storage, token=TOKEN)) as client:
        large = {"token": "x" * 20_000}
        sent = {"json": large} if path.startswith("/api") else {"data": large}
        assert client.post(path, **sent).status_code == 413


EVIL = {
    "deep": b"[" * 10_000_000,
    "wide": b"[" + b"[]," * 3_000_000 + b"[]]",
    "objects": b'{"a":' * 2_000_000,
    "number": b'{"name": ' + b"9" * 5_000_000 + b"}",
    "UTF-16": '{"name": "a"}'.encode("utf-16"),
    "list of features": b'{"name": "a", "csv": "b", "features": [' + b"1," * 200_000 + b"1]}",
    "unfinished": b'{"name": "' + b'\\"' * 1_000_000,
}


@pytest.mark.parametrize("shape", EVIL)
def test_json_of_every_evil_shape_is_refused_before_it_is_parsed(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    parsed, loads = list[int](), json.loads

    def noted(text: Any) -> Any:
        parsed.extend([len(text)] if len(text) > 1000 else [])
        return loads(text)

    monkeypatch.setattr(bounded_json.json, "loads", noted)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    reply = client.post("/api/studies", content=EVIL[shape], headers=headers)
    assert reply.status_code in (400, 422) and len(reply.json()["detail"]) < 200
    assert parsed == [] or shape in ("number", "unfinished")


def test_a_large_table_is_no_evil_shape(client: TestClient) -> None:
    rows = "".join(f'"Thing {i}, [{{""a"": 1}}]",{i * 7 % 97},{i * 5 % 89}\n' for i in range(15_000))
    body = {"name": "things", "csv": f"thing,price,size\n{rows}"}
    reply = client.post("/api/studies", json=body, headers={"Authorization": f"Bearer {TOKEN}"})
    assert reply.status_code == 201 and reply.json()["n_items"] == 15_000


# Logs.


def test_an_access_log_holds_no_tokens_and_no_personal_links(caplog: pytest.LogCaptureFixture) -> None:
    web.create_app("memory:")
    web.create_app("memory:")
    logger = logging.getLogger("uvicorn.access")
    assert len(logger.filters) == 1
    with caplog.at_level(logging.INFO, "uvicorn.access"):
        for path in (
            "/?token=SECRET",
            "/taste/a/SECRET/tell",
            "/api/respondents/SECRET/undo?x=1",
            "/drafts/SECRET",
        ):
            logger.info('%s - "%s %s HTTP/%s" %d', "192.0.2.7:5", "GET", path, "1.1", 200)
    assert "SECRET" not in caplog.text and "/taste/a/.../tell" in caplog.text
    assert server_log.without_secrets("/studies/points") == "/studies/points"
