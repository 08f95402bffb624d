"""A study by its open link in a browser: by keyboard, on a phone, without scripts; the owner's settings."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from coombs.study import PersonField, Presentation, create_study, load_study

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api")
pytest.importorskip("axe_core_python.sync_playwright")

from test_web_browser import PHONE, Server, browser, check, new_page, question, server

__all__ = ["browser", "new_page", "server"]

pytestmark = pytest.mark.browser

FIELDS = (
    PersonField("Age group", "choice", ("under 30", "30 and over"), required=True),
    PersonField("Years in school", "number", asked="after"),
)


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    """Another site, to which people go at the end: it says by which id they came."""

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f"<title>Done</title><h1>{self.path}</h1>{self.headers.get('Referer')}".encode())

        def log_message(self, *_: object) -> None:
            pass

    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield f"http://localhost:{site.server_port}"
    site.shutdown()
    site.server_close()


def made(server: Server, name: str, **texts: Any) -> str:
    """A study of two questions; its open link."""
    items = [[float(i), float(i * i % 7)] for i in range(8)]
    study = create_study(items, name, storage=server.url, questions=2, presentation=Presentation(**texts))
    return f"{server.address}/join/{study.switch_open_link()}"


def test_a_long_title_fits_on_a_phone(new_page: Callable[..., Any], tmp_path: Path) -> None:
    """Of whoever is not the owner, the top of the page has the title."""
    title = "How should our town spend its money on trams, buses and bicycles in the years to come?"
    with Server(f"sqlite:///{tmp_path / 'web.db'}", token="a token of the owner") as server:
        page = new_page(**PHONE)
        page.goto(made(server, "long", title=title))
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]


def test_the_whole_way_by_keyboard_on_a_phone(
    new_page: Callable[..., Any], server: Server, elsewhere: str
) -> None:
    texts = {"introduction": "Hello.", "consent": "Yes?", "instructions": "Click.", "thank_you": "Bye."}
    link = made(server, "keys", **texts, redirect=f"{elsewhere}/done?id={{pid}}", fields=FIELDS)
    page = new_page(**PHONE)
    press = page.keyboard.press

    def focus(role: str, name: str) -> None:
        """Go there by Tab alone."""
        wanted = page.get_by_role(role, name=name, exact=True)
        for _ in range(20):
            if wanted.evaluate("one => one === document.activeElement"):
                return
            press("Tab")
        raise AssertionError(f"{name} cannot be reached by Tab")

    page.goto(f"{link}?PROLIFIC_PID=a%2Fb")
    check(page)
    focus("checkbox", "I have read this and agree")
    press("Space")
    focus("button", "Start")
    press("Enter")
    page.wait_for_selector("text=A few questions about you")
    check(page)
    focus("combobox", "Age group")
    press("ArrowDown")
    focus("button", "Continue")
    press("Enter")
    page.wait_for_selector("text=How it works")
    check(page)
    focus("button", "Start")
    press("Enter")
    page.wait_for_selector("#question")
    check(page)
    first = question(page)
    press("ArrowLeft")
    page.wait_for_function("q => document.querySelector('input[name=question]').value !== q", arg=first)
    press("ArrowRight")
    page.wait_for_selector("text=Finally, a few questions about you")
    check(page)
    focus("button", "Continue")
    press("Enter")
    page.wait_for_selector("text=Thank you")
    check(page)
    width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert width <= 0
    focus("link", "Continue")
    press("Enter")
    page.wait_for_url(f"{elsewhere}/**")
    assert page.inner_text("h1") == "/done?id=a%2Fb" and "None" in page.inner_text("body")
    study = load_study("keys", storage=server.url)
    (found,) = (record for record, _ in study.storage.respondents(study.record.id))
    assert found.finished and found.consent_version == 1 and found.fields["Age group"] == "under 30"


def test_without_scripts_the_browser_comes_back_as_the_same_person_and_goes_on_at_once(
    new_page: Callable[..., Any], server: Server, elsewhere: str
) -> None:
    link = made(server, "forms", redirect=f"{elsewhere}/done?id={{pid}}")
    page = new_page(java_script_enabled=False)
    page.goto(f"{link}?pid=7")
    page.get_by_role("button", name="Start").click()
    page.goto(f"{link}?pid=7")
    assert "/a/" in page.url
    page.locator("button.choose").first.click()
    page.locator("button.choose").first.click()
    page.wait_for_url(f"{elsewhere}/**")
    assert page.inner_text("h1") == "/done?id=7"
    assert list(load_study("forms", storage=server.url).respondents()) == ["7"]


def test_an_answer_on_the_screen_when_the_study_closes_gets_a_sentence(browser: Any, server: Server) -> None:
    link = made(server, "closing")
    # Not `new_page`, as the browser itself notes the refusal.
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    page.get_by_role("button", name="Start").click()
    page.wait_for_selector("#question")
    study = load_study("closing", storage=server.url)
    study.close()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("text=This study is closed")
    assert "one that was still on the screen is not" in page.inner_text("main")
    assert sum(study.respondents().values()) == 0
    context.close()


def test_the_owner_sets_and_previews_it(new_page: Callable[..., Any], server: Server, tmp_path: Path) -> None:
    made(server, "owned")
    page = new_page()
    page.goto(f"{server.address}/studies/owned")
    page.get_by_role("link", name="Settings").click()
    check(page)
    page.fill("#title", "Where to live?")
    page.fill("#consent", "Yes?")
    page.fill("#before", "Age group*: under 30 | 30 and over")
    page.get_by_role("button", name="Save").first.click()
    page.wait_for_selector("text=Saved.")
    page.get_by_role("link", name="See what people see").click()
    page.wait_for_selector("text=Where to live?")
    check(page)
    page.goto(f"{server.address}/studies/owned/settings")
    page.get_by_role("button", name="Close now").click()
    page.wait_for_selector("text=The study is closed")
    assert load_study("owned", storage=server.url).presentation.state() == "closed"
