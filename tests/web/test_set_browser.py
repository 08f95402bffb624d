"""The best and the worst of a set in a real browser: by mouse, by touch, by keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coombs import create_study
from coombs.study import Answer, Study

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api")
pytest.importorskip("axe_core_python.sync_playwright")

from test_web_browser import PHONE, Server, after, browser, check, new_page, server

pytestmark = pytest.mark.browser
__all__ = ["browser", "new_page", "server"]

ITEMS = [[float(i), float(7 * i % 5)] for i in range(12)]


def asked(server: Server, name: str) -> tuple[Study, str]:
    """A study of sets of four, and Ann's page."""
    study = create_study(ITEMS, name, storage=server.url, metric="identity", set_size=4, probes=0.0)
    return study, f"{server.address}/a/{study.respondent('Ann').record.token}"


def shown(page: Any) -> list[int]:
    """Positions of the cards."""
    return [int(one.get_attribute("value")) for one in page.locator("input[name=best]").all()]


def last(study: Study) -> Answer:
    return study.respondent("Ann").history()[-1]


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_two_clicks_are_an_answer(
    new_page: Callable[..., Any], server: Server, options: dict[str, Any]
) -> None:
    study, address = asked(server, f"clicks{len(options)}")
    page = new_page(**options)
    page.goto(address)
    check(page)
    items = shown(page)
    press = page.locator("label.bw-end").nth(0).tap if options else page.locator("label.bw-end").nth(0).click
    press()
    # One item cannot be both: the later press counts.
    page.locator("label.bw-worst").nth(0).click()
    assert page.locator("input[name=best]:checked").count() == 0
    after(page, page.locator("label.bw-end:not(.bw-worst)").nth(2).click)
    said = last(study)
    assert (said.positions[0], said.positions[-1]) == (items[2], items[0])
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


LOOKED_OVER = """() => [...document.querySelectorAll(".said-set .said-side")].flatMap((card) => {
  const box = card.getBoundingClientRect(), name = card.querySelector(".who").getBoundingClientRect();
  return [...card.querySelectorAll(".bw-end")].map((one) => {
    const end = one.getBoundingClientRect();
    const line = parseFloat(getComputedStyle(one).lineHeight);
    const isInside = end.right <= box.right && end.left >= box.left;
    return isInside && end.top >= name.bottom && end.height < 2.5 * line;
  });
})"""
"""Whether what chooses an end of a set is inside of its card, below the name, its words on one line."""


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_answers_about_sets_have_room_for_long_words(
    new_page: Callable[..., Any], server: Server, options: dict[str, Any]
) -> None:
    study, address = asked(server, f"room{len(options)}")
    question = study.respondent("Ann").ask()
    assert question is not None
    study.respondent("Ann").tell(question, best=question.names[0], worst=question.names[1])
    page = new_page(locale="de-DE", **options)
    page.goto(f"{address}/answers")
    found = page.evaluate(LOOKED_OVER)
    assert len(found) == 8 and all(found)
    check(page)


def test_keys_alone_are_enough(new_page: Callable[..., Any], server: Server) -> None:
    study, address = asked(server, "keys")
    page = new_page()
    page.goto(address)
    items = shown(page)

    def numbers() -> None:
        page.keyboard.press("2")
        page.keyboard.press("4")

    after(page, numbers)
    said = last(study)
    assert (said.positions[0], said.positions[-1]) == (items[1], items[3])
    # Arrow keys go from one to the next, and send nothing by themselves.
    items = shown(page)
    page.locator("input[name=best]").nth(0).focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.locator("input[name=worst]").nth(0).focus()
    page.keyboard.press("Space")
    assert len(study.respondent("Ann").history()) == 1
    page.locator(".send").focus()
    after(page, lambda: page.keyboard.press("Enter"))
    said = last(study)
    assert (said.positions[0], said.positions[-1]) == (items[1], items[0])
    after(page, lambda: page.keyboard.press("s"))
    assert last(study).choice == "skip"
    after(page, lambda: page.keyboard.press("Backspace"))
    assert last(study).choice is None


def test_it_works_without_a_script(new_page: Callable[..., Any], server: Server) -> None:
    study, address = asked(server, "plain")
    page = new_page(java_script_enabled=False)
    page.goto(address)
    items = shown(page)
    page.locator("input[name=best]").nth(3).check(force=True)
    page.locator("input[name=worst]").nth(1).check(force=True)
    page.locator(".send").click()
    page.wait_for_load_state()
    said = last(study)
    assert (said.positions[0], said.positions[-1]) == (items[3], items[1])
