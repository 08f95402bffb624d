"""One whole study in a browser: made by its owner, answered by thirty people in two camps, closed, exported.

With COOMBS_SCREENSHOTS=docs/images/study the pictures of the documentation are made on the way.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from coombs import load_study
from tests.web.test_web_browser import PHONE, Server, browser, new_page

__all__ = ["browser", "new_page"]
axe = pytest.importorskip("axe_core_python.sync_playwright")
pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.long]

SHOTS = os.environ.get("COOMBS_SCREENSHOTS")
"""The folder for pictures, if any are wanted."""
TALLEST = 1800
"""Pixels of a picture's height, at most."""
N_PEOPLE = 30
"""People who come by the open link."""
N_QUESTIONS = 20
"""Questions that everybody gets, the check among them."""
FLATS = pd.DataFrame(
    {
        "rent": [620 + 40 * (7 * i % 16) for i in range(16)],
        "size": [38 + 3 * (5 * i % 16) for i in range(16)],
        "commute": [8 + 2 * (3 * i % 16) for i in range(16)],
    },
    index=pd.Index([f"Flat {i + 1}" for i in range(16)], name="flat"),
)
WORST, BEST = "Flat 16", "Flat 1"
CAMPS = ((-1.0, -0.4, -0.2), (0.4, 1.0, -0.2))
"""What the two camps want: little rent, or much room."""
NEXT = "asked => document.querySelector('input[name=question]')?.value !== asked"
"""Whether another question is there, or none."""
SETTINGS = {
    "title": "Where would you like to live?",
    "introduction": "We want to know which flats people like. It takes three minutes.",
    "consent": "Your answers are stored without your name. You can stop whenever you like.",
    "instructions": "You will see two flats at a time. Choose the one you would rather live in.",
    "wording": "Which flat would you rather live in?",
    "thank_you": "That was all. Thank you very much!",
    "questions": str(N_QUESTIONS),
    "fixed": "5",
    "attention": f"5: {BEST} > {WORST}",
    "before": "Age group*: under 30 | 30 to 49 | 50 and over",
}


def utility(name: str, camp: int) -> float:
    """What a flat is worth to somebody."""
    scaled = (FLATS - FLATS.mean()) / FLATS.std()
    return float(scaled.loc[name].to_numpy() @ np.array(CAMPS[camp])) * 4


def choice(left: str, right: str, camp: int | None, rng: np.random.Generator) -> str:
    """What somebody answers; without a camp always the left one."""
    if camp is None:
        return "left"
    if {left, right} == {BEST, WORST}:
        return "left" if left == BEST else "right"
    margin = utility(left, camp) - utility(right, camp)
    return "left" if rng.random() < 1 / (1 + np.exp(-margin)) else "right"


def shot(page: Any, name: str) -> None:
    """A picture for the documentation, if any are wanted; nobody finds a page hard to use."""
    found = axe.Axe().run(page)["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        path = Path(SHOTS) / f"{name}.png"
        width = page.viewport_size["width"]
        height = min(page.evaluate("document.documentElement.scrollHeight"), TALLEST)
        page.screenshot(path=path, full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height})
        # A page has few colours: a palette is a third of the bytes.
        Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


class Visitor:
    """Somebody at a browser without a window: forms and cookies, then the API with their link."""

    def __init__(self, server: Server, join: str) -> None:
        self.server, self.join = server, join
        self.opener = build_opener(HTTPCookieProcessor(CookieJar()))

    def send(self, path: str, body: dict[str, str]) -> str:
        """A form; where it leads."""
        data, headers = urlencode(body).encode(), {"Origin": self.server.address}
        with self.opener.open(Request(self.server.address + path, data, headers), timeout=60) as reply:
            return str(reply.url)

    def call(self, path: str, body: Any = None) -> Any:
        """A reply of the API."""
        data = None if body is None else json.dumps(body).encode()
        known = {"Content-Type": "application/json"}
        with self.opener.open(Request(self.server.address + path, data, known), timeout=60) as reply:
            return json.load(reply)

    def take_part(self, camp: int | None, rng: np.random.Generator) -> None:
        """From the open link to the thanks."""
        token = self.send(self.join, {"agree": "yes"}).rpartition("/a/")[2]
        self.send(f"/a/{token}/fields", {"asked": "before", "field Age group": "30 to 49"})
        turn = self.call(f"/api/respondents/{token}/question")
        while (asked := turn["question"]) is not None:
            told = choice(asked["left"]["name"], asked["right"]["name"], camp, rng)
            turn = self.call(f"/api/respondents/{token}/tell", {"question": asked["id"], "choice": told})


def make(page: Any, server: Server, tmp_path: Path) -> str:
    """The owner makes the study; the path of its open link."""
    FLATS.to_csv(tmp_path / "flats.csv")
    page.goto(server.address)
    shot(page, "start")
    page.set_input_files("#file", str(tmp_path / "flats.csv"))
    page.wait_for_selector("#columns")
    shot(page, "columns")
    page.get_by_role("button", name="Make the study").click()
    page.wait_for_url("**/studies/flats")
    page.goto(f"{server.address}/studies/flats/settings")
    for name, value in SETTINGS.items():
        page.fill(f"[name={name}]", value)
    page.select_option("[name=strategy]", "random")
    shot(page, "settings")
    page.get_by_role("button", name="Save", exact=True).first.click()
    page.wait_for_selector("text=Saved.")
    page.get_by_role("button", name="Switch it on").click()
    link = page.locator("#open-link ~ .copying a, section[aria-labelledby=open-link] a.address").first
    return str(link.get_attribute("href")).removeprefix(server.address)


def by_keyboard(page: Any, server: Server, join: str, rng: np.random.Generator) -> None:
    """Somebody of the first camp takes part without a mouse."""
    page.goto(server.address + join)
    shot(page, "consent")
    page.focus("[name=agree]")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("select[name='field Age group']")
    shot(page, "fields")
    page.focus("select[name='field Age group']")
    page.keyboard.type("under")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=How it works")
    shot(page, "instructions")
    page.get_by_role("button", name="Start").focus()
    page.keyboard.press("Enter")
    for number in range(N_QUESTIONS):
        page.wait_for_selector("input[name=question]", state="attached")
        if number == 3:
            shot(page, "question")
        asked = page.input_value("input[name=question]")
        names = [page.inner_text(f"#{side}-name") for side in ("left", "right")]
        page.keyboard.press("ArrowLeft" if choice(*names, 0, rng) == "left" else "ArrowRight")
        page.wait_for_function(NEXT, arg=asked)
    page.wait_for_selector("text=Thank you")
    shot(page, "thanks")
    page.get_by_role("link", name="See your result").click()
    page.wait_for_selector("text=Take it with you")
    shot(page, "result")
    page.get_by_role("link", name="Answers", exact=True).first.click()
    page.wait_for_url("**/answers*")
    shot(page, "answers")


def on_a_phone(page: Any, server: Server, join: str, rng: np.random.Generator) -> None:
    """Somebody of the second camp takes part by touch, and looks at the result."""
    page.goto(server.address + join)
    page.tap("[name=agree]")
    page.get_by_role("button", name="Start").tap()
    page.select_option("select[name='field Age group']", "50 and over")
    page.get_by_role("button", name="Continue").tap()
    page.get_by_role("button", name="Start").tap()
    for number in range(N_QUESTIONS):
        page.wait_for_selector("input[name=question]", state="attached")
        if number == 1:
            shot(page, "question-phone")
        asked = page.input_value("input[name=question]")
        names = [page.inner_text(f"#{side}-name") for side in ("left", "right")]
        page.tap(f"button[value={choice(*names, 1, rng)}]")
        page.wait_for_function(NEXT, arg=asked)
    page.get_by_role("link", name="See your result").tap()
    page.wait_for_selector("text=Take it with you")
    shot(page, "result-phone")


def test_from_the_table_to_the_two_camps(new_page: Any, tmp_path: Path) -> None:
    """Everything that a researcher and their people see and do, on one path."""
    rng = np.random.default_rng(0)
    with Server(f"sqlite:///{tmp_path / 'study.db'}") as server:
        owner = new_page(viewport={"width": 1040, "height": 760})
        join = make(owner, server, tmp_path)
        by_keyboard(new_page(), server, join, rng)
        on_a_phone(new_page(**PHONE), server, join, rng)
        for number in range(2, N_PEOPLE):
            Visitor(server, join).take_part(None if number == 7 else number % 2, rng)
        study = load_study("flats", storage=server.url)
        assert len(study.respondents()) == N_PEOPLE and set(study.respondents().values()) == {N_QUESTIONS}
        watch(owner, server, join)
        take_away(owner, server, tmp_path)
        owner.goto(f"{server.address}/studies/flats/differences")
        owner.wait_for_selector("#groups", timeout=300_000)
        shot(owner, "group")
        assert "They are 2 groups" in owner.inner_text("main")
        assert "Best for" in owner.inner_text("main")


def watch(page: Any, server: Server, join: str) -> None:
    """The owner sees who always took the left one, deletes them, and closes the study."""
    page.goto(f"{server.address}/studies/flats?show=flagged#people")
    shot(page, "people")
    rows = page.locator("table.people tbody tr")
    flagged = [row.inner_text() for row in rows.all()]
    lining = [text for text in flagged if "straight-lining" in text]
    assert len(lining) == 1, flagged
    rows.filter(has_text="straight-lining").locator("th a").click()
    shot(page, "person")
    page.get_by_role("link", name="Delete").first.click()
    page.get_by_role("button", name="Delete").first.wait_for()
    shot(page, "person-delete")
    page.get_by_role("button", name="Delete").first.click()
    page.wait_for_url("**/studies/flats*")
    page.goto(f"{server.address}/studies/flats/settings")
    page.get_by_role("button", name="Close now").click()
    page.wait_for_selector("text=The study is closed")
    # The browser itself complains of a page that is refused.
    late = page.context.browser.new_page()
    late.goto(server.address + join)
    shot(late, "closed")
    late.close()
    for name in ("programs", "delete"):
        page.goto(f"{server.address}/studies/flats/{name}")
        shot(page, name)
    change_items(page, server)


def change_items(page: Any, server: Server) -> None:
    """A flat is dearer now and another is new; both are looked at first, and not taken."""
    page.goto(f"{server.address}/studies/flats/items/0")
    shot(page, "item-form")
    page.goto(f"{server.address}/studies/flats/items")
    shot(page, "items")
    table = b"flat,rent,size,commute\nFlat 2,690,53,14\nFlat 17,700,60,10\n"
    page.set_input_files("#file", {"name": "more.csv", "mimeType": "text/csv", "buffer": table})
    page.get_by_role("button", name="See what will change").click()
    page.get_by_role("button", name="Change the items").wait_for()
    shot(page, "items-preview")
    assert "rent: 900 → 690" in page.inner_text("main")


def take_away(page: Any, server: Server, tmp_path: Path) -> None:
    """All tables, as pandas reads them."""
    page.goto(f"{server.address}/studies/flats")
    with page.expect_download() as download:
        page.click("a[href$='/export/tables.zip']")
    packed = zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes()))
    tables = {name: packed.read(name) for name in packed.namelist()}
    people = pd.read_csv(io.BytesIO(tables["people.csv"]))
    answers = pd.read_csv(io.BytesIO(tables["answers.csv"]))
    assert len(people) == N_PEOPLE - 1 and len(answers) == (N_PEOPLE - 1) * N_QUESTIONS
    assert "codebook.md" in tables
