"""The pictures of the page in docs/images: `python docs/screenshots.py` (Chromium and the extra `dev`)."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import uvicorn
from playwright.sync_api import sync_playwright

from coombs import create_study, web
from coombs.demo import TRUTH, catalogue_file
from coombs.simulate import draw_answers

IMAGES = Path(__file__).parent / "images"
ANSWERS = 90


def main() -> None:
    """Let the demo's person answer, and take pictures of a question, of the result and of the answers."""
    url = f"sqlite:///{Path(tempfile.mkdtemp()) / 'flats.db'}"
    with catalogue_file() as path:
        study = create_study(path, "flats", storage=url, seed=0)
    person, rng = study.respondent(), np.random.default_rng(0)
    distances = TRUTH.distance(study.catalogue.table)
    for _ in range(ANSWERS):
        question = person.ask()
        (answer,) = draw_answers(distances, np.array([question.positions]), "logistic", rng)
        # As a pair, so that nobody has taken a tenth of a second to read two cards.
        person.tell((question.left, question.right) if answer > 0 else (question.right, question.left))
    server = uvicorn.Server(uvicorn.Config(web.create_app(url), port=0, log_level="error", ws="none"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/a/{person.record.token}"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1040, "height": 640})
        page.goto(address)
        page.wait_for_timeout(3_000)
        page.screenshot(path=IMAGES / "answer.png")
        page.goto(f"{address}/result")
        # The first look gives way to the fit.
        page.wait_for_selector("#best", timeout=120_000)
        top = {"x": 0, "y": 0, "width": 1040, "height": 1700}
        page.screenshot(path=IMAGES / "result.png", full_page=True, clip=top)
        page.locator("section:has(> #compare), section:has(> #what-if)").first.scroll_into_view_if_needed()
        page.locator("#second").select_option(index=4)
        page.wait_for_timeout(1_500)
        page.locator("section:has(> #compare)").screenshot(path=IMAGES / "compare.png")
        page.goto(f"{address}/answers")
        page.screenshot(path=IMAGES / "answers.png", clip=top | {"height": 640})
        browser.close()
    server.should_exit = True


if __name__ == "__main__":
    main()
