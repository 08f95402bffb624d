"""The page in a real browser: mouse, keys and a phone-sized screen, from the start to the result."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from coombs import web
from coombs.study import load_study

pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")
playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_core_python.sync_playwright")

pytestmark = pytest.mark.browser

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
INSTALL = "sudo apt-get install chromium"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
HIDDEN = "of => (it => it.scrollWidth - it.clientWidth)(document.querySelector(of))"
LOOKS = """of => {
  const card = getComputedStyle(document.querySelector(of));
  const button = getComputedStyle(document.querySelector(`${of} .choose`));
  const { borderTopColor: border, backgroundColor: ground } = card;
  return { border, ground, button: button.backgroundColor, ring: button.outlineStyle };
}"""
TABLE = "tea,price,strength,sweetness\n" + "".join(
    f"Tea {i},{3 + i * 7 % 10},{i * 3 % 8},{i * 5 % 9}\n" for i in range(16)
)


def browser_path() -> str | None:
    """A browser that is on this machine."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def chromium() -> str:
    """A browser; without one the test is skipped."""
    found = browser_path()
    if found is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed; on Debian type: {INSTALL}")
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
        page.set_default_timeout(60_000)
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
    # All of the ranking is there at once, with the certainty; the map is wider, and says so.
    assert page.evaluate(HIDDEN, ".scroll:has(.ranking)") == 0 < page.evaluate(HIDDEN, ".map .scroll")
    for path in ("/", "/studies/phone", "/docs"):
        page.goto(server.address + path)
        check(page)
        assert page.evaluate("document.documentElement.scrollWidth <= 390")


def test_no_card_looks_chosen_on_the_next_question(
    new_page: Callable[..., Any], server: Server, tmp_path: Path
) -> None:
    create(new_page(), server, "looks", tmp_path)
    page, phone = new_page(reduced_motion="reduce"), new_page(**PHONE, reduced_motion="reduce")
    page.goto(person_link(server, "looks", "Ann"))
    phone.goto(person_link(server, "looks", "Bob"))
    fresh = page.evaluate(LOOKS, ".card:nth-of-type(2)")
    accent = page.evaluate("getComputedStyle(document.querySelector('.choose')).backgroundColor")
    for side in (1, 2):
        card = f".card:nth-of-type({side})"
        after(page, lambda card=card: page.click(card, position={"x": 30, "y": 30}))
        looks = page.evaluate(LOOKS, card)
        # Under the pointer the border may be darker, but it has not the colour of what is chosen.
        assert looks["border"] != accent and {**looks, "border": fresh["border"]} == fresh
        after(phone, lambda card=card: phone.tap(card))
        assert phone.evaluate(LOOKS, card) == fresh
    # With keys: a ring around the button, and no more.
    page.mouse.move(1, 1)
    page.focus("button[value=left]")
    after(page, lambda: page.keyboard.press("Enter"))
    assert page.evaluate(LOOKS, ".card:nth-of-type(1)") == {**fresh, "ring": "solid"}


def test_buttons_stay_in_sight_where_there_is_room(
    new_page: Callable[..., Any], server: Server, tmp_path: Path
) -> None:
    page = new_page(viewport={"width": 1280, "height": 800})
    file = tmp_path / "many.csv"
    header = ",".join(["thing", *(f"feature {k}" for k in range(30))])
    rows = [",".join([f"Thing {i}", *(str((7 * i + k * k) % 23) for k in range(30))]) for i in range(12)]
    file.write_text("\n".join([header, *rows]) + "\n")
    page.goto(server.address)
    page.set_input_files("#file", str(file))
    page.get_by_role("button", name="Make the study").click()
    page.goto(person_link(server, "many", "Ann"))
    for value in ("left", "right", "tie"):
        box = page.locator(f"button[value={value}]").bounding_box()
        assert box["y"] + box["height"] <= 800
        after(page, lambda box=box: page.mouse.click(box["x"] + 10, box["y"] + 10))
    # The card is still one large button, and ends where it ends.
    after(page, lambda: page.mouse.click(300, 300))
    before = question(page)
    page.mouse.click(100, 300)
    page.mouse.click(640, 300)
    # At 200 % there is no room: the buttons come after the cards.
    page.set_viewport_size({"width": 640, "height": 400})
    assert page.evaluate("getComputedStyle(document.querySelector('.others')).position") == "static"
    assert question(page) == before


def test_the_size_of_letters_that_a_reader_has_set(browser: Any, server: Server, tmp_path: Path) -> None:
    flags = [*FLAGS, "--blink-settings=defaultFontSize=32"]
    large = browser.browser_type.launch(executable_path=chromium(), args=flags)
    try:
        page = large.new_page(viewport={"width": 1280, "height": 800})
        create(page, server, "large", tmp_path)
        assert page.evaluate("getComputedStyle(document.body).fontSize") == "32px"
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            for address in (f"{server.address}/studies/large", person_link(server, "large", "Ann")):
                page.goto(address)
                assert page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        large.close()


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
