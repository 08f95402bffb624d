"""Requests of every evil shape to the page and its API, in process: never a 500, never an exception."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fault_size import size
from fuzzing import Record, fuzz, json_text, json_value, mutated_bytes, mutated_json, mutated_table, text

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import web

pytestmark = pytest.mark.slow

HEADERS = {"Origin": "http://127.0.0.1"}
TABLE = "name,price,town\n" + "".join(f"Flat {i},{500 + 37 * i % 90},{'ab'[i % 2]}\n" for i in range(8))
STUDY = {
    "name": "flats",
    "csv": TABLE,
    "features": ["price", "town:category"],
    "roles": {"town": "category"},
    "wishes": ["price: less"],
    "shared_prior": "auto",
    "name_column": "name",
    "picture_column": None,
    "link_column": None,
}
PATHS = (
    *("/", "/docs", "/login", "/openapi.json", "/api/studies", "/api/studies/{s}", "/api/studies/{s}/people"),
    *("/api/studies/{s}/respondents", "/studies/{s}", "/studies/{s}/people", "/studies/{s}/export/{x}"),
    *("/studies/{s}/delete", "/studies/{s}/differences", "/a/{t}", "/a/{t}/picture/{x}", "/a/{t}/result"),
    *("/a/{t}/result/map", "/a/{t}/result/words", "/a/{t}/result/{x}", "/api/respondents/{t}/question"),
    *(
        "/studies/{s}/items",
        "/studies/{s}/items/drafts/{x}",
        "/studies/{s}/items/items.csv",
        "/api/studies/{s}/items",
    ),
    *("/join/{x}", "/studies/{s}/settings", "/studies/{s}/settings/preview", "/api/studies/{s}/settings"),
    *("/api/respondents/{t}", "/a/{t}/consent", "/a/{t}/fields", "/a/{t}/finish"),
    *("/api/respondents/{t}/progress", "/api/respondents/{t}/history", "/api/respondents/{t}/result"),
    *(
        "/drafts/{x}",
        "/static/{x}",
        "/{x}",
        "/api/{x}",
        "/studies/{s}/answers.csv",
        "/studies/{s}/differences/people.csv",
    ),
)


class Site:
    """An app with a study in it, made anew when it has become large."""

    def __init__(self) -> None:
        self._stop: Any = None
        self.used = 0

    def client(self) -> TestClient:
        """The page, with somebody who answers."""
        self.used += 1
        if self._stop is None or self.used % 300 == 0:
            self.close()
            self._made = TestClient(
                web.create_app("memory:", processes=0),
                base_url="http://127.0.0.1",
                client=("127.0.0.1", 5),
                headers=HEADERS,
                follow_redirects=False,
            )
            self._made.__enter__()
            self._stop = lambda: self._made.__exit__(None, None, None)
            self._made.post("/api/studies", json={"name": "flats", "csv": TABLE})
            people = self._made.post("/api/studies/flats/respondents", json={"names": ["ann", "bob"]}).json()
            self.token = people[0]["token"]
        return self._made

    def close(self) -> None:
        """Stop the app."""
        if self._stop is not None:
            self._stop()
        self._stop = None


SITE = Site()


@pytest.fixture(autouse=True)
def _stopped() -> Iterator[None]:
    yield
    SITE.close()


def send(record: Record, about: Any, method: str, path: str, **request: Any) -> Any:
    """A request whose reply must be one of ours: below 500, and no traceback in it."""
    client = SITE.client()

    def call() -> Any:
        reply = client.request(method, path, **request)
        assert reply.status_code < 500, (reply.status_code, reply.text[:300])
        assert "Traceback" not in reply.text
        has_body = method != "HEAD" and reply.status_code != 204
        if has_body and reply.headers.get("content-type", "").startswith("application/json"):
            reply.json()
        return reply

    # What httpx itself refuses to send never comes to us.
    return record.run((method, path, about), call, allowed=REFUSED)


try:
    import httpx2 as httpx
except ImportError:
    import httpx
REFUSED = (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeEncodeError)


def word(rng: random.Random) -> str:
    """A part of a path."""
    return quote(text(rng)[:5000].encode(errors="replace"), safe="" if rng.random() < 0.5 else "/.")


def get_pages(record: Record, rng: random.Random, folder: Path) -> None:
    """Every page, with odd names, tokens and query strings."""
    SITE.client()
    parts = {
        "s": rng.choice(("flats", word(rng))),
        "t": rng.choice((SITE.token, SITE.token, word(rng))),
        "x": word(rng),
    }
    path = rng.choice(PATHS).format(**parts)
    if rng.random() < 0.5:
        names = ("x", "y", "group", "explain", "whole", "token", "")
        path += "?" + "&".join(f"{rng.choice(names)}={word(rng)}" for _ in range(rng.choice((1, 2))))
    method = rng.choice(("GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"))
    # The others need the study.
    send(
        record, None, "GET" if path.startswith("/api/studies/flats") and method == "DELETE" else method, path
    )


def post_json(record: Record, rng: random.Random, folder: Path) -> None:
    """Bodies of the wrong type, with odd values, with keys twice, with broken text."""
    client = SITE.client()
    question = client.get(f"/api/respondents/{SITE.token}/question").json().get("question") or {"id": 1}
    name = word(rng).replace("%", "")[:30]
    bodies = {
        "/api/studies": STUDY | {"name": name},
        "/api/studies/flats/respondents": {"names": ["cleo", "dan"]},
        f"/api/respondents/{SITE.token}/tell": {"question": question["id"], "choice": "left"},
        f"/api/respondents/{SITE.token}/undo": {"answer": None},
        "/api/studies/flats/items": {"csv": TABLE, "preview": False},
        "/api/studies/flats/items/retire": {"names": [name]},
        "/api/studies/flats/items/restore": {"names": [name]},
        f"/api/respondents/{SITE.token}/consent": {"agree": True, "language": "de"},
        f"/api/respondents/{SITE.token}/fields": {"fields": {"Age": "41"}},
    }
    path = rng.choice(list(bodies))
    body: Any = bodies[path]
    kind = rng.random()
    if path == "/api/studies" and kind < 0.5:
        body = body | {"csv": mutated_table(rng, TABLE.encode()).decode()}
        for one in ("features", "roles", "name_column"):
            if rng.random() < 0.6:
                del body[one]
    elif kind < 0.9:
        body = mutated_json(rng, body)
    content = json_text(rng, body) if kind < 0.93 else json_text(rng, json_value(rng))
    headers = {"Content-Type": rng.choice((*["application/json"] * 9, "application/json; charset=utf-16"))}
    send(record, content, "POST", path, content=content.encode(errors="surrogatepass"), headers=headers)


def post_form(record: Record, rng: random.Random, folder: Path) -> None:
    """Files and forms: uploads, columns of a draft, answers in a file, names, wrong tokens."""
    client = SITE.client()
    content = mutated_table(rng, TABLE.encode()) if rng.random() < 0.7 else mutated_bytes(rng, TABLE.encode())
    file = (rng.choice(("t.csv", "t.json", "t.txt", "t.xlsx", "t.parquet", text(rng)[:300])), content)
    kind = rng.randrange(5)
    if kind == 0:
        send(record, file, "POST", "/drafts", files={"file": file})
    elif kind == 1:
        send(record, None, "POST", "/drafts", data={rng.choice(("names", "example")): text(rng)})
    elif kind == 2:
        draft = client.post("/drafts", files={"file": ("t.csv", TABLE.encode())}).headers["location"]
        roles = ["names", "number", "category", "text", "log", "ordered", "picture", "link", "", text(rng)]
        form = {
            "name": rng.choice((f"n{rng.random()}", text(rng))),
            "role": [rng.choice(roles) for _ in range(rng.choice((0, 2, 3, 3, 4)))],
            "levels": [rng.choice(("", "a\nb", text(rng))) for _ in range(rng.choice((0, 3, 3, 4)))],
            "wishes": rng.choice(("", "price: less", text(rng))),
            "numbered": rng.choice(("", "on", "true", text(rng))),
            "create": rng.choice(("", "1")),
        }
        send(record, form, "POST", draft, data={key: one for key, one in form.items() if rng.random() < 0.9})
    elif kind == 3:
        answers = (
            f"user,left,right,winner\nann,Flat 1,Flat 2,left\n{text(rng)[:50]},Flat 0,Flat 3,tie\n".encode(
                errors="replace"
            )
        )
        answers = mutated_table(rng, answers)
        send(record, answers, "POST", "/studies/flats/answers", files={"file": (file[0], answers)})
    else:
        path = rng.choice(
            ("/studies/flats/people", "/login", "/logout", f"/a/{SITE.token}/tell", f"/a/{SITE.token}/undo")
        )
        # A wrong token is answered after a pause.
        names = (
            ("names", "question", "choice", "answer", "to")
            if path == "/login"
            else ("names", "question", "choice")
        )
        form = {one: text(rng) for one in names if rng.random() < 0.7}
        if path != "/login" or rng.random() < 0.02:
            send(record, form, "POST", path, data=form)


def odd_headers(record: Record, rng: random.Random, folder: Path) -> None:
    """Hosts, origins, lengths and types that no browser sends."""
    SITE.client()
    names = (
        "Host",
        "Origin",
        "Referer",
        "Cookie",
        "Authorization",
        "Accept",
        "Content-Type",
        "Sec-Fetch-Site",
    )
    names += ("X-Forwarded-For", "X-Forwarded-Proto", "If-None-Match", "Range", "Content-Length", "Cookie")
    odd = {
        rng.choice(names): quote(text(rng)[:3000].encode(errors="replace"), safe=" ;=,/<>") for _ in range(2)
    }
    body = json.dumps({"names": ["a"]}).encode()
    path = rng.choice(("/", "/api/studies/flats/respondents", f"/a/{SITE.token}"))
    send(record, odd, rng.choice(("GET", "POST")), path, content=body, headers=odd)


TARGETS = {one.__name__: one for one in (get_pages, post_json, post_form, odd_headers)}
SIZES = {
    "get_pages": (300, 4_000),
    "post_json": (200, 3_000),
    "post_form": (150, 3_000),
    "odd_headers": (100, 2_000),
}


@pytest.mark.parametrize("target", list(TARGETS))
def test_every_request_gets_a_reply_of_ours(target: str, tmp_path: Path) -> None:
    fuzz(TARGETS[target], size(*SIZES[target]), tmp_path)
