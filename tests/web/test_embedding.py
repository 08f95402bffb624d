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
from coombs.study.embed_origins import MOST_ORIGINS, checked_origin

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
    ("servers", "named", "allowed"),
    [
        ([], [OTHER], [OTHER]),
        ([SHOP], [], [SHOP]),
        ([SHOP, OTHER], [OTHER], [OTHER]),
        ([SHOP], [OTHER], []),
    ],
)
def test_a_studys_own_sites_count_and_never_more_than_the_servers(
    study: Study, servers: list[str], named: list[str], allowed: list[str]
) -> None:
    study.present(embed_origins=named)
    study.switch_open_link()
    token = study.respondent("Ann").record.token
    with TestClient(
        web.create_app(study.storage, embed_origins=servers), base_url="http://127.0.0.1"
    ) as client:
        ancestors = f"'self' {' '.join(allowed)}" if allowed else "'none'"
        for path in (f"/a/{token}", f"/join/{study.open_token}"):
            policy = client.get(path).headers["content-security-policy"]
            assert policy.endswith(f"frame-ancestors {ancestors}")
        for origin in (SHOP, OTHER):
            cross = {"Sec-Fetch-Site": "cross-site", "Origin": origin}
            asked = client.get(f"/api/respondents/{token}/question", headers=cross)
            assert asked.headers.get("access-control-allow-origin") == (origin if origin in allowed else None)
            told = {"question": asked.json()["question"]["id"], "choice": "left"}
            sent = client.post(f"/api/respondents/{token}/tell", json=told, headers=cross)
            assert sent.status_code == (200 if origin in allowed else 403)


def test_sites_of_one_study_are_not_those_of_another_and_hold_at_once(study: Study) -> None:
    other = create_study(ITEMS, "more", storage=study.storage, shared_prior=False)
    links = [f"/a/{one.respondent('Ann').record.token}" for one in (study, other)]
    owner = {"Authorization": f"Bearer {TOKEN}"}
    with TestClient(web.create_app(study.storage, token=TOKEN), base_url="http://127.0.0.1") as client:

        def framed_by() -> list[str]:
            policies = [client.get(link).headers["content-security-policy"] for link in links]
            return [policy.partition("frame-ancestors ")[2] for policy in policies]

        assert framed_by() == ["'none'", "'none'"]
        form = client.get("/studies/points/settings", headers=owner).text
        assert "The server itself names none." in form
        named = {"embed_origins": f"{SHOP}/\n\n{OTHER}"}
        saved = client.post(
            "/studies/points/settings", data=named, headers={**owner, "Sec-Fetch-Site": "none"}
        )
        assert saved.status_code == 200 and f"{SHOP}\n{OTHER}</textarea>" in saved.text
        assert framed_by() == [f"'self' {SHOP} {OTHER}", "'none'"]
        changes = {"presentation": {"embed_origins": [OTHER]}}
        api = client.patch("/api/studies/more/settings", json=changes, headers=owner)
        assert api.json()["presentation"]["embed_origins"] == [OTHER]
        study.present(embed_origins=[])
        assert framed_by() == ["'none'", f"'self' {OTHER}"]


def test_the_owner_is_told_which_sites_the_server_does_not_allow(client: TestClient, study: Study) -> None:
    study.present(embed_origins=[SHOP, OTHER])
    form = client.get("/studies/points/settings", headers={"Authorization": f"Bearer {TOKEN}"}).text
    assert f"without effect: {OTHER}." in form and f"The server allows {SHOP}, and no others." in form


def test_wrong_sites_of_a_study_are_refused(study: Study) -> None:
    for wrong in (SHOP, [7], ["shop.example"], [f"https://{n}.example" for n in range(MOST_ORIGINS + 1)]):
        with pytest.raises(InputError):
            study.present(embed_origins=wrong)


def test_an_embeddable_page_never_redirects_by_itself_in_a_frame(client: TestClient, study: Study) -> None:
    """Without a script it has a link; with one, it goes on only in a window of its own."""
    study.present(redirect="https://panel.example/done?id={pid}")
    study.change_settings(questions=1)
    ann = study.respondent("Ann")
    ann.tell(ann.ask(), "left")
    page = client.get(f"/a/{ann.record.token}").text
    assert 'http-equiv="refresh"' not in page
    assert 'href="https://panel.example/done?id=Ann" data-at-once target="_top"' in page


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
  document.addEventListener("coombs:" + kind, (e) =>
    window.seen.push([kind, e.target.id, e.detail.answers, e.detail.redirect]));
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
        panel = f"{origin}/panel?id=Ann"
        study.present(embed_origins=[origin], redirect=f"{origin}/panel?id={{pid}}")
        with Server(study.storage) as page, playwright.sync_playwright() as driver:
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
            told = [one[:3] for one in seen if one[0] == "answer"]
            assert told == [["answer", "ask", n] for n in (1, 2, 3)]
            assert [one[3] for one in seen if one[0] == "done"] == [panel]
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
            # The frame stays until the person goes on, in the whole window; a page in no frame goes at once.
            assert shop.url == f"{origin}/"
            frame.locator("#onward").click()
            shop.wait_for_url(panel)
            stranger.goto(link)
            stranger.wait_for_url(panel)
            browser.close()
