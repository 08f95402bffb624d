"""The page in a real browser: mouse, keys and a phone-sized screen, from the start to the result."""

from __future__ import annotations

import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import postgres
import pytest

from coombs import web
from coombs.study import create_study, load_study

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
CUT_OFF = ("ERR_FAILED", "ERR_CONNECTION", "ERR_EMPTY", "status of 503", "status of 429")
QUESTION = "input[name=question]"
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

    def __init__(self, url: Any, pictures: Path | None = None, **settings: Any) -> None:
        app = web.create_app(url, pictures=pictures, **settings)
        config = uvicorn.Config(app, port=0, log_level="error", access_log=False, ws="none")
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
        # The browser itself notes a request that was cut off on purpose, and a server that was stopped.
        if message.type in ("error", "warning") and not any(one in message.text for one in CUT_OFF):
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


def want_the_cheaper(server: Server, study: str, person: str) -> None:
    """30 answers to random questions, so that there is a pattern."""
    found = load_study(study, storage=server.url)
    respondent, price = found.respondent(person), found.catalogue.table.matrix[:, 0]
    pairs = [(i, j) for i in range(16) for j in range(i) if price[i] != price[j]]
    for one, other in random.Random(0).sample(pairs, 30):
        respondent.tell((one, other) if price[one] < price[other] else (other, one))


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
    want_the_cheaper(server, "mouse", "me")
    page.get_by_role("link", name="Result").click()
    page.wait_for_selector("#unknown")
    assert "from 39 answers" in page.inner_text("main")
    check(page)
    page.click("#map-part summary")
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
    want_the_cheaper(server, "phone", "Ann")
    page.goto(f"{page.url}/result")
    page.wait_for_selector("#unknown")
    check(page)
    # All of the ranking is there at once, with the certainty; the map is wider, and says so.
    page.click("#map-part summary")
    assert page.evaluate(HIDDEN, ".place") == 0 < page.evaluate(HIDDEN, ".map .scroll")
    assert page.evaluate("document.documentElement.scrollWidth <= 390")
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


def picture(width: int, height: int) -> bytes:
    """A PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x30\x70\xa0" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def things(n_features: int, shape: tuple[int, int] | None, n_texts: int, folder: Path) -> str:
    """The path of a table with features, perhaps pictures of a shape, and texts."""
    header = ["thing", *(f"feature {k}" for k in range(n_features)), *["picture"] * (shape is not None)]
    rows = [[*header, *(f"text {k}" for k in range(n_texts))]]
    for i in range(12):
        row = [f"Thing number {i}", *(str((7 * i + k * k) % 23) for k in range(n_features))]
        if shape is not None:
            (folder / f"{i}.png").write_bytes(picture(*shape))
            row.append(f"{i}.png")
        rows.append([*row, *["A sentence or two about this thing and what it is made of"] * n_texts])
    path = folder / "things.csv"
    path.write_text("\n".join(map(",".join, rows)) + "\n")
    return str(path)


COVERED = """() => {
  const covered = [];
  for (const row of document.querySelectorAll(".row, .details li, .card h2")) {
    row.scrollIntoView({ block: "nearest" });
    const { left, right, top, bottom } = row.getBoundingClientRect();
    const middle = [(left + right) / 2, (top + bottom) / 2];
    for (const [x, y] of [[left + 3, top + 3], [right - 3, bottom - 3], middle]) {
      // The card is a large button, without a colour: what is below it is seen.
      const seen = document.elementsFromPoint(x, y).find((one) => !one.matches(".choose"));
      if (!row.contains(seen) && !seen.contains(row)) covered.push(`${row.innerText} by ${seen.className}`);
    }
  }
  window.scrollTo(0, 0);
  return covered;
}"""
SIZES = [(1280, 720), (1366, 768), (390, 844), (1920, 1080)]
LANDSCAPE, PORTRAIT = (600, 400), (400, 640)
CARDS = [(2, 0), (3, 2), (6, 0), (6, 2), (8, 2), (14, 1)]
"""Numbers of features and of texts."""


def bottom(page: Any, of: str) -> float:
    """Where the lowest of some elements ends."""
    return max(box["y"] + box["height"] for box in (one.bounding_box() for one in page.locator(of).all()))


@pytest.mark.long
def test_nothing_on_a_card_is_covered_and_pictures_give_way(
    new_page: Callable[..., Any], tmp_path: Path
) -> None:
    url, page = f"sqlite:///{tmp_path / 'cards.db'}", new_page()
    with Server(url, tmp_path) as server:
        for shape, (n_features, n_texts) in product([None, LANDSCAPE, PORTRAIT], CARDS):
            table = things(n_features, shape, n_texts, tmp_path)
            study = create_study(table, f"{shape} {n_features} {n_texts}", storage=url)
            page.goto(f"{server.address}/a/{study.respondent('Ann').record.token}")
            page.wait_for_load_state("networkidle")
            for width, height in SIZES:
                page.set_viewport_size({"width": width, "height": height})
                assert page.evaluate(COVERED) == [], (study.name, width)
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                check_view(page, width, height, n_features, n_texts)
                if shape is not None:
                    assert page.locator(".photo").first.bounding_box()["height"] >= 48


def check_view(page: Any, width: int, height: int, n_features: int, n_texts: int) -> None:
    """Both cards are in view where there are not very many features, and the buttons, too."""
    phone = width < 500
    if n_features <= (6 if phone else 8):
        assert bottom(page, ".card") <= height
        assert bottom(page, ".others button") <= height or (phone and n_features + n_texts > 6)


def test_a_picture_fills_its_place_whatever_its_shape(new_page: Callable[..., Any], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'cards.db'}"
    study = create_study(things(3, PORTRAIT, 0, tmp_path), "things", storage=url)
    with Server(url, tmp_path) as server:
        page = new_page(viewport={"width": 1280, "height": 720})
        page.goto(f"{server.address}/a/{study.respondent('Ann').record.token}")
        page.wait_for_load_state("networkidle")
        photo, card = (page.locator(of).first.bounding_box() for of in (".photo", ".card"))
        # From edge to edge, but for the card's border, and cropped, not fitted in.
        assert card["width"] - photo["width"] <= 5 and photo["y"] - card["y"] <= 3
        assert page.evaluate("getComputedStyle(document.querySelector('.photo')).objectFit") == "cover"


def test_buttons_are_in_sight_above_very_many_features(
    new_page: Callable[..., Any], server: Server, tmp_path: Path
) -> None:
    page = new_page(viewport={"width": 1280, "height": 800})
    page.goto(server.address)
    page.set_input_files("#file", things(30, None, 0, tmp_path))
    page.get_by_role("button", name="Make the study").click()
    page.goto(person_link(server, "things", "Ann"))
    for value in ("left", "right", "tie"):
        box = page.locator(f"button[value={value}]").bounding_box()
        assert box["y"] + box["height"] <= 800
        after(page, lambda box=box: page.mouse.click(box["x"] + 10, box["y"] + 10))
    # The card is still one large button, and ends where it ends.
    after(page, lambda: page.mouse.click(300, 500))
    before = question(page)
    page.mouse.click(100, 500)
    page.mouse.click(640, 500)
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


@contextmanager
def serving(url: str, port: int) -> Iterator[Any]:
    """A server in a process of its own, which is killed at the end."""
    command = [sys.executable, "-m", "coombs", "serve", "--storage", url, "--port", str(port), "--no-browser"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None and "coombs is at" in process.stderr.readline()
        yield process
    finally:
        process.kill()
        process.wait(30)
        process.stderr.close()


def test_an_answer_outlives_a_server_that_is_killed_and_started_again(
    new_page: Callable[..., Any], tmp_path: Path
) -> None:
    """It stays on the screen, a line says that it is not stored yet, and it is stored once; an undo too."""
    url = f"sqlite:///{tmp_path / 'killed.db'}"
    study = create_study([[float(i), i * 3 % 8.0] for i in range(8)], "killed", storage=url)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    page, ann = new_page(), study.respondent("Ann")
    with serving(url, port):
        page.goto(f"http://127.0.0.1:{port}/a/{ann.record.token}")
        after(page, lambda: page.keyboard.press("ArrowLeft"))
    for key, what, count in (("ArrowRight", "this answer", 2), ("Backspace", "this undo", 1)):
        before = question(page)
        page.keyboard.press(key)
        line = page.locator("#trouble")
        line.wait_for(state="visible")
        assert f"No connection: {what} is not stored yet." in line.inner_text()
        assert question(page) == before and len(ann.history()) == 3 - count
        with serving(url, port):
            page.wait_for_function(
                f"before => document.querySelector('{QUESTION}').value != before", arg=before
            )
            line.wait_for(state="hidden")
            assert answers(page) == len(ann.history()) == count
    assert page.evaluate("document.querySelectorAll('.chosen').length") == 0


@pytest.mark.slow
def test_an_answer_outlives_a_database_server_that_is_stopped_and_started_again(
    new_page: Callable[..., Any],
) -> None:
    """Of the database nothing is shown; the answer stays on the screen, and is stored once it is back."""
    url = postgres.fresh_url()
    study = create_study([[float(i), i * 3 % 8.0] for i in range(8)], "stopped", storage=url)
    page, ann = new_page(), study.respondent("Ann")
    with Server(url) as server:
        page.goto(f"{server.address}/a/{ann.record.token}")
        after(page, lambda: page.keyboard.press("ArrowLeft"))
        before, line = question(page), page.locator("#trouble")
        subprocess.run(postgres.command("stop"), check=True)
        try:
            page.keyboard.press("ArrowRight")
            line.wait_for(state="visible")
            told = line.inner_text()
        finally:
            subprocess.run(postgres.command("restart"), check=True)
        assert "this answer is not stored yet" in told and "postgres" not in told.lower()
        assert question(page) == before
        page.wait_for_function(f"before => document.querySelector('{QUESTION}').value != before", arg=before)
        line.wait_for(state="hidden")
        assert answers(page) == len(ann.history()) == 2
    study.storage.close_all()


def test_trouble_of_the_server_is_not_final_and_a_reply_of_something_else_is_none(
    new_page: Callable[..., Any], server: Server, tmp_path: Path
) -> None:
    page = new_page()
    create(page, server, "trouble", tmp_path)
    page.goto(person_link(server, "trouble", "Ann"))
    told: list[str] = []
    replies = [{"status": 503}, {"status": 200, "body": "<p>Log in to the hotel</p>"}, {"status": 429}]

    def sometimes(route: Any) -> None:
        told.append(page.locator("#trouble").inner_text())
        route.fulfill(**replies[len(told) - 1]) if len(told) <= len(replies) else route.continue_()

    page.route("**/tell", sometimes)
    after(page, lambda: page.keyboard.press("ArrowLeft"))
    trouble = "The server has trouble"
    assert [line.partition(":")[0] for line in told] == ["", trouble, "No connection", trouble]
    assert answers(page) == 1 and not page.locator("#trouble").is_visible()


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
    # The first look goes on to the whole result by itself.
    page.wait_for_url("**/result?whole=true")
    assert "How well it predicts Ann" in page.inner_text("main")


HOMES = "home,price,floor,pool,town,free\n" + "".join(
    f"Home {i},{10 ** (2 + i % 4)} €,{('low', 'mid', 'high')[i % 3]},{'yes' if i % 2 else 'no'},"
    f"{('coast', 'rural', 'urban')[i % 3 - i % 2]},{'' if i == 4 else f'{i + 10}.03.2026'}\n"
    for i in range(12)
)


@pytest.mark.parametrize("options", [{}, {"java_script_enabled": False}, PHONE])
def test_a_column_becomes_what_its_owner_chooses(
    server: Server, new_page: Callable[..., Any], tmp_path: Path, options: dict[str, Any]
) -> None:
    """With and without scripts: the field for levels comes with the choice, and the study keeps both."""
    name = f"homes {len(options)} {'viewport' in options}"
    (tmp_path / f"{name}.csv").write_text(HOMES, encoding="utf-8")
    page = new_page(**options)
    page.goto(server.address)
    page.set_input_files("#file", str(tmp_path / f"{name}.csv"))
    if "java_script_enabled" in options:
        page.get_by_role("button", name="Look at the table").click()
    page.wait_for_url("**/drafts/*")
    assert page.locator("#levels3").is_hidden()
    page.get_by_label("floor", exact=True).select_option("ordered")
    page.locator("#levels3").fill("low, mid")
    page.get_by_role("button", name="Check the choices again").click()
    page.get_by_text("is 'high'; the levels are 'low', 'mid'.").wait_for()
    assert page.locator("#levels3").input_value() == "low, mid"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if "java_script_enabled" not in options:
        check(page)
    page.locator("#levels3").fill("low, mid, high")
    page.get_by_role("button", name="Make the study").click()
    page.wait_for_url("**/studies/*")
    page.get_by_text("floor: low < mid < high").wait_for()
    page.get_by_text("free: date, 1 of 12 not known").wait_for()
    page.get_by_role("button", name="Answer questions myself").click()
    page.wait_for_url("**/a/*")
    cards = page.locator(".card dd").all_inner_texts()
    assert {"low", "mid", "high"} & {text.split(" (")[0] for text in cards}
    assert any(text.startswith(("100", "1000", "10\u202f000")) and "€" in text for text in cards)


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, PHONE], ids=["light", "dark", "phone"])
def test_the_groups_page_comes_by_itself_and_is_accessible(
    look: dict[str, Any], new_page: Callable[..., Any], server: Server, tmp_path: Path
) -> None:
    """From the bar to the groups without a click, whatever the screen; nothing is wider than it."""
    name = f"group-{len(look)}"
    study = create_study([[i % 4, i * 7 % 5] for i in range(12)], name, storage=server.url)
    draw = random.Random(0)
    for k in range(6):
        person = study.respondent(f"person {k}")
        for _ in range(12):
            one, other = draw.sample(range(12), 2)
            first = (one % 4 > other % 4) == (k % 2 == 0)
            person.tell((one, other) if first else (other, one))
    page = new_page(**look)
    page.goto(f"{server.address}/studies/{name}")
    page.get_by_role("link", name="How people differ").click()
    page.wait_for_selector("#take", timeout=120_000)
    check(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#everybody").count() == 1


def test_a_result_is_looked_at_from_all_sides(
    new_page: Callable[..., Any], server: Server, tmp_path: Path
) -> None:
    """A first look gives way to the checked result; stars and what is left out stay; what if, two, print."""
    create(new_page(), server, "sides", tmp_path)
    want_the_cheaper(server, "sides", "me")
    page = new_page(**PHONE, color_scheme="dark")
    page.goto(f"{person_link(server, 'sides', 'me')}/result")
    page.wait_for_selector("#best")
    best = page.inner_text("#best")
    page.click("button[name=without] >> nth=0")
    page.wait_for_function("was => document.getElementById('best').innerText !== was", arg=best)
    page.click("button[name=star] >> nth=2")
    page.wait_for_selector(".pinned .place")
    assert "star=" in page.url and page.evaluate("document.activeElement.ariaPressed") == "true"
    page.goto(page.url.partition("?")[0])
    page.wait_for_selector(".pinned .place")
    assert page.inner_text("#best") != best and "1 item left out" in page.inner_text("main")
    page.select_option("#second", index=9)
    other = page.locator("#second option:checked").inner_text().partition(". ")[2]
    page.wait_for_selector(f"#compare .side:last-child:has-text('{other}')")
    page.select_option("#item", index=10)
    page.wait_for_selector("#what-if .verdict:has-text('11 of 15')")
    slider = page.locator("#what-if input[type=range]").first
    slider.focus()
    slider.press("Home")
    page.wait_for_selector("#what-if .verdict:has-text('would rank')")
    check(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(media="print")
    assert page.is_visible("#best") and not page.is_visible("button[name=star] >> nth=0")


def test_without_script_a_result_is_looked_at_by_forms(
    new_page: Callable[..., Any], server: Server, tmp_path: Path
) -> None:
    create(new_page(), server, "still", tmp_path)
    want_the_cheaper(server, "still", "me")
    page = new_page(java_script_enabled=False)
    page.goto(f"{person_link(server, 'still', 'me')}/result?whole=true")
    best = page.inner_text("#best")
    page.click("button[name=without] >> nth=0")
    assert page.inner_text("#best") != best
    page.select_option("#item", index=5)
    page.click("text=Where would it rank?")
    page.fill("#f0", "3")
    page.click("text=Where would it rank?")
    assert "would rank" in page.inner_text(".verdict") and "of 15" in page.inner_text(".verdict")


def test_a_person_is_deleted_without_javascript(new_page: Callable[..., Any], server: Server) -> None:
    """And every page on the way is usable by all, wide and narrow."""
    study = create_study([[float(i), i % 3] for i in range(6)], "rights", storage=server.url)
    study.respondent("Ann").tell((1, 2))
    study.respondent("Bob")
    page, phone = new_page(java_script_enabled=False), new_page(**PHONE)
    page.goto(f"{server.address}/studies/rights")
    page.get_by_role("link", name="Started").click()
    assert page.locator("table.people tbody tr").count() == 1
    page.get_by_role("link", name="Ann", exact=True).click()
    number = page.url.rpartition("/")[2]
    for path in ("", f"/people/{number}", f"/people/{number}/delete", "/remind"):
        phone.goto(f"{server.address}/studies/rights{path}")
        check(phone)
        assert phone.evaluate(HIDDEN, "html") == 0
    page.get_by_role("link", name="Delete this person").click()
    page.get_by_role("button", name="Delete for good").click()
    page.wait_for_url("**/studies/rights#people")
    assert study.respondents() == {"Bob": 0}
