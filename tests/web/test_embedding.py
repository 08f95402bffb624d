"""Respondents' pages inside of other sites: no other pages, only for origins that are named."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import InputError, create_study, web
from coombs.study import Study
from coombs.web.embedding import SCRIPT, checked_origin

ITEMS = [[float(i), float(i * 7 % 12)] for i in range(12)]
SHOP, OTHER = "https://shop.example", "https://other.example"
TOKEN = "a-token-of-many-letters"


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return create_study(ITEMS, "points", storage=f"sqlite:///{tmp_path / 'web.db'}", shared_prior=False)


@pytest.fixture
def client(study: Study) -> Iterator[TestClient]:
    app = web.create_app(study.storage, token=TOKEN, embed_origins=[SHOP])
    with TestClient(app, base_url="http://127.0.0.1", follow_redirects=False) as made:
        yield made


def test_only_respondents_pages_may_be_framed_and_only_by_named_origins(
    client: TestClient, study: Study
) -> None:
    page = client.get(f"/a/{study.respondent('Ann').record.token}")
    assert f"frame-ancestors 'self' {SHOP}" in page.headers["content-security-policy"]
    assert "x-frame-options" not in page.headers and "framed.js" in page.text
    owner = {"Authorization": f"Bearer {TOKEN}"}
    for path in ("/", "/login", "/docs", "/studies/points", "/static/icon.svg", "/api/studies"):
        reply = client.get(path, headers=owner)
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
        assert reply.headers["x-frame-options"] == "DENY" and "framed.js" not in reply.text


def test_nothing_may_be_framed_where_no_origin_is_named(study: Study) -> None:
    client = TestClient(web.create_app(study.storage), base_url="http://127.0.0.1")
    reply = client.get(f"/a/{study.respondent('Ann').record.token}")
    assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
    assert reply.headers["x-frame-options"] == "DENY" and "framed.js" not in reply.text
    assert client.get(SCRIPT).headers["cross-origin-resource-policy"] == "same-origin"


def test_scripts_of_named_origins_ask_and_tell_and_nobody_elses(client: TestClient, study: Study) -> None:
    at = f"/api/respondents/{study.respondent('Ann').record.token}"
    cross = {"Sec-Fetch-Site": "cross-site", "Origin": SHOP}
    asked = client.get(f"{at}/question", headers=cross)
    assert asked.headers["access-control-allow-origin"] == SHOP and "Origin" in asked.headers["vary"]
    assert "access-control-allow-credentials" not in asked.headers
    preflight = client.options(f"{at}/tell", headers={**cross, "Access-Control-Request-Method": "POST"})
    assert preflight.status_code == 204 and "POST" in preflight.headers["access-control-allow-methods"]
    told = {"question": asked.json()["question"]["id"], "choice": "left"}
    stranger = {**cross, "Origin": OTHER}
    assert client.post(f"{at}/tell", json=told, headers=stranger).status_code == 403
    assert "access-control-allow-origin" not in client.get(f"{at}/question", headers=stranger).headers
    assert client.post(f"{at}/tell", json=told, headers=cross).status_code == 200
    # Forms of the page and the owner's part stay shut.
    form = {"question": told["question"], "choice": "left"}
    assert client.post(f"/a/{at.rpartition('/')[2]}/tell", data=form, headers=cross).status_code == 403
    owner = {**cross, "Authorization": f"Bearer {TOKEN}"}
    assert client.post("/api/studies", json={}, headers=owner).status_code == 403
    assert "access-control-allow-origin" not in client.get("/api/studies", headers=owner).headers


@pytest.mark.parametrize(
    "origin",
    [
        *("http://shop.example", "https://shop.example/path", "*", "null", "https://a b", ""),
        *("https://x'; script-src *", "https://user@shop.example", "javascript:alert(1)"),
        *("https://shop.example?x", "https://*.example", "https://[::1"),
    ],
)
def test_an_origin_that_is_none_or_not_safe_is_refused(origin: str) -> None:
    with pytest.raises(InputError, match="as https://shop"):
        checked_origin(origin)


def test_the_script_is_small() -> None:
    assert len((files("coombs.web") / "static" / "embed.js").read_bytes()) <= 3000


HOST = """<!doctype html><html lang="en"><title>Shop</title><h1>Shop</h1>
<div id="ask" data-coombs="{link}"></div><script src="{page}/static/embed.js"></script>
<script>window.seen = [];
for (const kind of ["answer", "done"])
  document.addEventListener("coombs:" + kind, (e) => window.seen.push([kind, e.target.id, e.detail.answers]));
</script></html>"""

ANSWERS = "n => window.seen.filter(([kind]) => kind === 'answer').length === n"
HEIGHT = "high => Math.abs(document.querySelector('iframe').clientHeight - high) < 2"


@contextmanager
def site(html: list[str]) -> Iterator[int]:
    """Another site: a server that shows a page; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = html[0].encode() if self.path == "/" else b""
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.browser
def test_a_question_in_another_sites_page_is_answered_and_that_page_is_told(tmp_path: Path) -> None:
    """The page is at 127.0.0.1, the site at localhost: to a browser these are two sites."""
    playwright = pytest.importorskip("playwright.sync_api")
    from test_web_browser import FLAGS, Server, chromium

    items, html = [[0.0], [1.0], [2.0]], [""]
    study = create_study(items, "points", storage=f"sqlite:///{tmp_path / 'web.db'}", questions=3)
    path = chromium()
    with site(html) as port:
        origin = f"http://localhost:{port}"
        with Server(study.storage, embed_origins=[origin]) as page, playwright.sync_playwright() as driver:
            link = f"{page.address}/a/{study.respondent('Ann').record.token}"
            html[0] = HOST.format(link=link, page=page.address)
            browser = driver.chromium.launch(executable_path=path, args=FLAGS)
            shop = browser.new_page()
            shop.set_default_timeout(60_000)
            shop.goto(origin)
            frame = shop.frame_locator("iframe")
            for n in range(1, 4):
                frame.locator("button.choose").first.click()
                shop.wait_for_function(ANSWERS, arg=n)
            shop.wait_for_function("() => window.seen.some(([kind]) => kind === 'done')")
            seen = shop.evaluate("window.seen")
            assert [one for one in seen if one[0] == "answer"] == [["answer", "ask", n] for n in (1, 2, 3)]
            assert sum(one[0] == "done" for one in seen) == 1
            # The frame is as high as what is in it, without the page's own head and foot.
            high = frame.locator("main").evaluate("it => it.getBoundingClientRect().height")
            shop.wait_for_function(HEIGHT, arg=high)
            assert not frame.locator("header.top").is_visible()
            assert len(study.respondent("Ann").history()) == 3
            # What a stranger's message says is not heard.
            shop.evaluate("window.postMessage({coombs: 'height', height: 5}, '*')")
            # A site that is not named sees nothing.
            stranger = browser.new_page()
            stranger.goto(f"http://127.0.0.1:{port}")
            stranger.wait_for_timeout(500)
            assert all("Which" not in one.content() for one in stranger.frames if one.parent_frame)
            assert shop.evaluate("document.querySelector('iframe').clientHeight") > 50
            browser.close()
