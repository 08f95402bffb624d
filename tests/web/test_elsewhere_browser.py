"""Who reads from right to left, lives in another time zone or is certain of something, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from coombs import create_study, load_study
from coombs.language import Language

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api")
pytest.importorskip("axe_core_python.sync_playwright")

from test_web_browser import PHONE, TABLE, Server, after, browser, check, new_page, server

from coombs.web.pages import rendering

pytestmark = [pytest.mark.browser, pytest.mark.slow]
__all__ = ["browser", "new_page", "server"]

ITEMS = [[float(i), float(7 * i % 5)] for i in range(12)]


def is_too_wide(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_from_right_to_left_keys_choose_what_is_shown_there(
    new_page: Callable[..., Any], server: Server, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """There is no such language yet: one is made up, with English texts."""
    monkeypatch.setattr(rendering, "best_language", lambda _: Language("ar"))
    study = create_study(ITEMS, f"arabic{len(options)}", storage=server.url, metric="none")
    ann, page = study.respondent("Ann"), new_page(**options)
    page.goto(f"{server.address}/a/{ann.record.token}")
    assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
    check(page)
    for key, choice in (("ArrowLeft", "left"), ("ArrowRight", "right")):
        left, right = (page.locator(".card").nth(k).bounding_box() for k in (0, 1))
        assert left["y"] < right["y"] if options else left["x"] < right["x"]
        shown = [one.strip() for one in page.locator(".card h2").all_inner_texts()]
        after(page, lambda key=key: page.keyboard.press(key))
        said = ann.history()[-1]
        assert said.choice == choice and [said.left, said.right] == shown
    assert not is_too_wide(page)
    if options:
        return
    for i in range(11):
        for j in range(i + 1, 12, 2):
            ann.tell((i, j))
    page.goto(f"{server.address}/a/{ann.record.token}/result?whole=true")
    page.wait_for_selector("#unknown")
    check(page)
    assert not is_too_wide(page) and page.locator("li.place").count() == 12


def test_dates_are_typed_in_ones_own_time_and_kept_in_utc(
    new_page: Callable[..., Any], server: Server
) -> None:
    study = create_study(ITEMS, "dates", storage=server.url)
    study.present(opens=datetime(2030, 1, 31, 12, 30, tzinfo=UTC))
    page = new_page(timezone_id="America/New_York")
    page.goto(f"{server.address}/studies/dates/settings")
    assert page.get_by_label("Opens (your time, America/New York)").input_value() == "2030-01-31T07:30"
    page.get_by_label("Closes (your time").fill("2030-07-01T20:00")
    page.get_by_role("button", name="Save").click()
    page.wait_for_selector("text=Saved.")
    shown = load_study("dates", storage=server.url).presentation
    assert shown.opens == datetime(2030, 1, 31, 12, 30, tzinfo=UTC)
    assert shown.closes == datetime(2030, 7, 2, 0, 0, tzinfo=UTC)
    assert page.get_by_label("Closes (your time").input_value() == "2030-07-01T20:00"


def test_what_is_certain_is_said_on_one_card_before_the_first_question(
    new_page: Callable[..., Any], server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "teas.csv"
    file.write_text(TABLE)
    study, page = create_study(file, "teas", storage=server.url, metric="none"), new_page(**PHONE)
    page.goto(f"{server.address}/a/{study.respondent().record.token}?wishes=ask")
    check(page)
    page.get_by_label("At most price").fill("5")
    page.get_by_role("button", name="To the questions").click()
    page.wait_for_selector(".pair")
    known = load_study("teas", storage=server.url)
    assert known.settings.wishes == ("price <= 5",) and known.n_items == 5
