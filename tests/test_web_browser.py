"""The page in a real browser: mouse, keys and a phone-sized screen, from the start to the result."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from coombs import web
from coombs.study import load_study

pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")
playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_core_python.sync_playwright")

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
TABLE = "tea,price,strength,sweetness\n" + "".join(
    f"Tea {i},{3 + i * 7 % 10},{i * 3 % 8},{i * 5 % 9}\n" for i in range(16)
)


@cache
def browser_path() -> str | None:
    """A browser that is there, or that Debian's installer can bring."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        with suppress(subprocess.SubprocessError):
            for step in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
                subprocess.run(["apt-get", *step], capture_output=True, timeout=180, check=True, env=quiet)
        found = shutil.which("chromium")
    return found


def chromium() -> str:
    """A browser; without one the test is skipped."""
    found = browser_path()
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed, and none could be")
    return found


class Server:
    """The page on a free port, in a thread."""

    def __init__(self, url: str) -> None:
        config = uvicorn.Config(web.create_app(url), port=0, log_level="error", access_log=False, ws="none")
        self.server, self.url = uvicorn.Server(config), url
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def __enter__(self) -> Server:
        self.thread.start()
        while not self.server.started:
            time.sleep(0.02)
        port = self.server.servers[0].sockets[0].getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(10)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(f"sqlite:///{tmp_path_factory.mktemp('web') / 'web.db'}") as running:
        yield running


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = chromium()
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def new_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Pages of people who have nothing to do with each other; no page may complain."""
    contexts, complaints = [], list[str]()

    def note(message: Any) -> None:
        # The browser itself notes a request that was cut off on purpose.
        if message.type in ("error", "warning") and "ERR_FAILED" not in message.text:
            complaints.append(message.text)

    def made(**options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield made
    for context in contexts:
        context.close()
    assert complaints == []


def create(page: Any, server: Server, name: str, tmp_path: Path) -> None:
    """From the start page to the study's."""
    file = tmp_path / f"{name}.csv"
    file.write_text(TABLE)
    page.goto(server.address)
    page.set_input_files("#file", str(file))
    page.get_by_role("button", name="Make the study").click()
    page.wait_for_url(f"**/studies/{name}")


def person_link(server: Server, study: str, person: str) -> str:
    token = load_study(study, storage=server.url).respondent(person).record.token
    return f"{server.address}/a/{token}"


def question(page: Any) -> str:
    return str(page.input_value("input[name=question]"))


def after(page: Any, act: Callable[[], Any]) -> None:
    """Do something, and wait for the next question."""
    before = question(page)
    act()
    page.wait_for_function("q => document.querySelector('input[name=question]').value !== q", arg=before)


def answers(page: Any) -> int:
    return int(page.inner_text(".progress .quiet").split()[0])


def check(page: Any) -> None:
    """No serious finding by axe."""
    found = axe.Axe().run(page)["violations"]
    serious = [
        (one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_start_to_result_with_the_mouse(new_page: Callable[..., Any], server: Server, tmp_path: Path) -> None:
    page = new_page()
    page.goto(server.address)
    check(page)
    create(page, server, "mouse", tmp_path)
    check(page)
    page.get_by_role("button", name="Answer questions myself").click()
    page.wait_for_selector(".pair")
    check(page)
    mine = page.url
    for k in range(8):
        side = ".card:nth-of-type(1)" if k % 2 else ".card:nth-of-type(2)"
        # Anywhere on the card will do.
        after(page, lambda side=side: page.click(side, position={"x": 30, "y": 30}))
    after(page, lambda: page.click("button[value=tie]"))
    after(page, lambda: page.click("button[value=skip]"))
    assert answers(page) == 9 and page.url == mine
    page.get_by_role("link", name="Result").click()
    page.wait_for_selector("#unknown")
    assert "From 9 answers" in page.inner_text("main")
    check(page)
    page.select_option("#x", "sweetness")
    page.wait_for_selector("figure svg[aria-label*='over sweetness']")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Ranking").click()
    assert saved.value.path().read_text().startswith('"item","rank"')


def test_keys_answer_and_undo(new_page: Callable[..., Any], server: Server, tmp_path: Path) -> None:
    page = new_page()
    create(page, server, "keys", tmp_path)
    page.goto(person_link(server, "keys", "Ann"))
    first = question(page)
    for key in ("ArrowLeft", "ArrowRight", "ArrowDown"):
        after(page, lambda key=key: page.keyboard.press(key))
    told = load_study("keys", storage=server.url).respondent("Ann").history()
    assert [one.choice for one in told] == ["left", "right", "tie"]
    for _ in range(3):
        after(page, lambda: page.keyboard.press("Backspace"))
    assert question(page) == first and answers(page) == 0
    after(page, lambda: page.keyboard.press("s"))
    # By Tab and Enter alone, as a screen reader's user would; the focus stays.
    page.focus("button[value=right]")
    after(page, lambda: page.keyboard.press("Enter"))
    assert page.evaluate("document.activeElement.value") == "right"
    assert re.match(r".+ or .+\?", page.inner_text("#spoken"))


def test_a_phone(new_page: Callable[..., Any], server: Server, tmp_path: Path) -> None:
    create(new_page(), server, "phone", tmp_path)
    page = new_page(**PHONE, color_scheme="dark")
    page.goto(person_link(server, "phone", "Ann"))
    boxes = [page.locator(".card").nth(k).bounding_box() for k in (0, 1)]
    assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"]
    for _ in range(4):
        after(page, lambda: page.tap(".card:nth-of-type(1)"))
    check(page)
    page.goto(f"{page.url}/result")
    page.wait_for_selector("#unknown")
    check(page)
    for path in ("/", "/studies/phone", "/docs"):
        page.goto(server.address + path)
        check(page)
        assert page.evaluate("document.documentElement.scrollWidth <= 390")


def test_come_back_later(new_page: Callable[..., Any], tmp_path: Path) -> None:
    """Another browser, and the server started anew: the same question waits."""
    url = f"sqlite:///{tmp_path / 'later.db'}"
    with Server(url) as server:
        page = new_page()
        create(page, server, "later", tmp_path)
        link = person_link(server, "later", "Ann")
        page.goto(link)
        after(page, lambda: page.keyboard.press("ArrowLeft"))
        waiting = question(page)
    with Server(url) as server:
        page = new_page()
        page.goto(server.address + "/a/" + link.rpartition("/")[2])
        assert question(page) == waiting and answers(page) == 1


def test_an_answer_is_sent_until_it_is_stored(
    new_page: Callable[..., Any], server: Server, tmp_path: Path
) -> None:
    page = new_page()
    create(page, server, "away", tmp_path)
    page.goto(person_link(server, "away", "Ann"))
    tries: list[str] = []

    def sometimes(route: Any) -> None:
        tries.append(route.request.url)
        route.abort() if len(tries) < 2 else route.continue_()

    page.route("**/tell", sometimes)
    after(page, lambda: page.keyboard.press("ArrowLeft"))
    assert len(tries) == 2 and answers(page) == 1


def test_two_people_at_once(new_page: Callable[..., Any], server: Server, tmp_path: Path) -> None:
    ann, bob = new_page(), new_page()
    create(ann, server, "two", tmp_path)
    for page, name in ((ann, "Ann"), (bob, "Bob")):
        page.goto(person_link(server, "two", name))
    for _ in range(5):
        after(ann, lambda: ann.keyboard.press("ArrowLeft"))
        after(bob, lambda: bob.keyboard.press("ArrowRight"))
    after(bob, lambda: bob.keyboard.press("Backspace"))
    assert load_study("two", storage=server.url).respondents() == {"Ann": 5, "Bob": 4}


def test_without_script_the_forms_do(new_page: Callable[..., Any], server: Server, tmp_path: Path) -> None:
    create(new_page(), server, "plain", tmp_path)
    page = new_page(java_script_enabled=False)
    page.goto(person_link(server, "plain", "Ann"))
    before = question(page)
    page.click("button[value=left]")
    assert question(page) != before and answers(page) == 1
    page.click("button.undo")
    assert question(page) == before and answers(page) == 0
    page.click("button[value=right]")
    page.goto(f"{page.url}/result")
    page.click("noscript a")
    assert "What is not known" in page.inner_text("main")
