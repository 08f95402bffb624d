"""Below a path, behind proxies and in another application: every link leads back to the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from preview_form import preview_form

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from coombs import InputError, create_study, web
from coombs.storage import open_storage
from coombs.web.proxies import networks

TOKEN = "a token of the owner"
TABLE = b"shoe,price,weight\n" + b"".join(
    f"Shoe {i},{60 + 7 * (i * 5 % 11)},{200 + 13 * (i * 3 % 7)}\n".encode() for i in range(12)
)
LINKS = re.compile(r'(?:href|src|action|formaction|data-undo|data-from)="([^"#]+)"')


def client_of(app: Any, host: str = "127.0.0.1", client: str = "127.0.0.1", **headers: str) -> TestClient:
    known = {"Origin": f"http://{host}", **headers}
    return TestClient(
        app, base_url=f"http://{host}", client=(client, 5), headers=known, follow_redirects=False
    )


def walk(client: TestClient, start: str, root: str) -> None:
    """All that an owner and a respondent do, by the links and the forms that pages have."""
    assert client.get(f"{start}/").status_code == 401
    entered = client.get(f"{start}/", params={"token": TOKEN})
    assert (
        entered.headers["location"] == f"{root}/" and f"Path={root or '/'}" in entered.headers["set-cookie"]
    )
    home = client.get(f"{root}/")
    assert home.status_code == 200
    styles = [one for one in LINKS.findall(home.text) if "static" in one]
    assert len(styles) > 2 and all(one.startswith(f"{root}/static/") for one in styles)
    assert all(client.get(one).status_code == 200 for one in styles)
    draft = client.post(f"{root}/drafts", files={"file": ("shoes.csv", TABLE)}).headers["location"]
    data = preview_form(client.get(draft).text, name="shoes", create="yes")
    study = client.post(draft, data=data).headers["location"]
    assert study == f"{root}/studies/shoes"
    question = client.post(f"{study}/answer").headers["location"]
    page = client.get(question).text
    (number,) = re.findall(r'name="question" value="(\d+)"', page)
    (tell,) = re.findall(r'action="([^"]+/tell)"', page)
    assert client.post(tell, data={"question": number, "choice": "left"}).headers["location"] == question
    for path in (f"{root}/", study, question, f"{question}/result", f"{root}/login", f"{root}/none"):
        for one in LINKS.findall(client.get(path).text):
            assert one.startswith((f"{root}/", "http")), (path, one)
    people = client.get(f"{root}/api/studies/shoes/respondents").json()
    assert [one["link"] for one in people] == [f"{client.base_url}{question}".replace("//a", "/a")]
    assert client.post(f"{root}/logout").headers["location"] == f"{root}/login"
    assert client.get(f"{root}/").status_code == 401


@pytest.mark.parametrize("cut_off", [True, False])
def test_below_a_root_path_whether_the_proxy_cuts_it_off_or_not(tmp_path: Path, cut_off: bool) -> None:
    app = web.create_app(f"sqlite:///{tmp_path / 'a.db'}", token=TOKEN, root_path="/taste/")

    async def proxy(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and cut_off:
            path = scope["path"].removeprefix("/taste") or "/"
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await app(scope, receive, send)

    walk(client_of(proxy), "/taste", "/taste")


def test_mounted_in_another_application(tmp_path: Path) -> None:
    app = web.create_app(f"sqlite:///{tmp_path / 'a.db'}", token=TOKEN)
    walk(client_of(Starlette(routes=[Mount("/tools/taste", app)])), "/tools/taste", "/tools/taste")


def test_at_the_top(tmp_path: Path) -> None:
    walk(client_of(web.create_app(f"sqlite:///{tmp_path / 'a.db'}", token=TOKEN)), "", "")


FORWARDED = {
    "X-Forwarded-For": "203.0.113.9, 198.51.100.4, 10.0.0.2",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "taste.example.org",
    "X-Forwarded-Prefix": "/taste",
}


@pytest.mark.usefixtures("still_throttle")
@pytest.mark.parametrize("named", [True, False])
def test_what_a_proxy_says_counts_if_it_is_named_and_else_does_not(named: bool) -> None:
    storage = open_storage("memory:")
    create_study([[1.0], [2.0]], "points", storage=storage).respondent("Ann")
    app = web.create_app(
        storage,
        token=TOKEN,
        allowed_hosts=["taste.example.org"],
        proxies=["10.0.0.0/8", "127.0.0.1"] if named else [],
    )
    client = client_of(app, client="127.0.0.1", Authorization=f"Bearer {TOKEN}", **FORWARDED)
    (person,) = client.get("/api/studies/points/respondents").json()
    site = "https://taste.example.org/taste" if named else "http://127.0.0.1"
    assert person["link"] == f"{site}/a/{person['token']}"
    # Wrong tokens are counted by who asked the proxy: not by the proxy, nor by what that one says of others.
    del client.headers["Authorization"]
    for _ in range(6):
        client.post("/login", data={"token": "wrong"}, headers={"Origin": "https://taste.example.org"})
    elsewhere = client_of(app, client="198.51.100.4")
    assert elsewhere.post("/login", data={"token": TOKEN}).status_code == (429 if named else 303)


def test_a_cookie_is_for_https_where_the_proxy_speaks_it() -> None:
    app = web.create_app("memory:", token=TOKEN, allowed_hosts=["taste.example.org"], proxies=["127.0.0.1"])
    reply = client_of(app, **FORWARDED).get("/", params={"token": TOKEN})
    assert "Secure" in reply.headers["set-cookie"] and "Path=/taste" in reply.headers["set-cookie"]
    assert "Secure" not in client_of(app).get("/", params={"token": TOKEN}).headers["set-cookie"]


def test_without_a_token_nobody_who_comes_through_a_proxy_is_the_owner() -> None:
    """Most proxies call the page by its own address, from the same machine."""
    app = web.create_app("memory:")
    assert client_of(app).get("/").status_code == 200
    for header in (*FORWARDED, "Forwarded"):
        assert client_of(app, **{header: "203.0.113.9"}).get("/").status_code == 403


@pytest.mark.parametrize("host", ["taste.example.org", "TASTE.example.org:443"])
def test_a_host_that_is_allowed_is_served_and_others_are_told_what_to_do(host: str) -> None:
    app = web.create_app("memory:", token=TOKEN, allowed_hosts=["taste.example.org"])
    assert client_of(app, host).get("/login").status_code == 200
    refused = client_of(app, "other.example.org").get("/login")
    assert refused.status_code == 400 and "--allow-host" in refused.text


def test_what_is_no_address_and_no_path_gets_a_sentence() -> None:
    with pytest.raises(InputError, match="proxy 'nginx' is no address"):
        networks(["127.0.0.1", "nginx"])
    for path in ("/a b", "https://example.org/", "/a?b"):
        with pytest.raises(InputError, match="must be plain"):
            web.create_app("memory:", root_path=path)


def test_an_upload_can_be_gone_on_with_in_another_process(tmp_path: Path) -> None:
    """Two apps over one file are what two processes are."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    first, second = client_of(web.create_app(url)), client_of(web.create_app(url))
    draft = first.post("/drafts", files={"file": ("../shoes.csv", TABLE)}).headers["location"]
    page = second.get(draft)
    assert page.status_code == 200 and "<h1>shoes.csv</h1>" in page.text
    assert page.text == first.get(draft).text
    data = preview_form(page.text, name="shoes", create="yes")
    assert second.post(draft, data=data).headers["location"] == "/studies/shoes"
    assert first.get("/studies/shoes").status_code == 200


def test_only_the_latest_uploads_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from coombs.web import drafts

    monkeypatch.setattr(drafts, "MOST_DRAFTS", 3)
    monkeypatch.setattr(drafts, "MOST_READ", 1)
    client = client_of(web.create_app(f"sqlite:///{tmp_path / 'a.db'}"))
    made = [client.post("/drafts", data={"names": f"a\nb\nc{i}"}).headers["location"] for i in range(5)]
    assert [client.get(one).status_code for one in made] == [404, 404, 200, 200, 200]
