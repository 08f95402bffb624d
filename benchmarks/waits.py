"""What a person waits for. `python -m benchmarks.waits [--install]`, on a quiet machine.

Commands in new processes; the page in a real Chromium, from the key that answers to the next question on
screen. `--install` adds a new environment, pip's downloads being in its cache, to the first question.
Writes waits.md beside this file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

from coombs.simulate import make_preferences

ROOT = Path(__file__).parents[1]
HERE = Path(sys.executable).parent
ANSWERS = 30
# From the key press to the next question, as the page itself sees it: the frame after it is there.
ANSWER = """
() => new Promise((resolve) => {
  const begin = performance.now();
  const watcher = new MutationObserver(() => requestAnimationFrame(() => {
    watcher.disconnect();
    setTimeout(() => resolve(performance.now() - begin));
  }));
  watcher.observe(document.getElementById("turn"), { childList: true });
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "KEY", bubbles: true }));
})
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="a new environment, too: a minute or two more")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        place = Path(folder)
        for n_items, d in ((64, 4), (100, 10), (10_000, 20)):
            write_people(place, n_items, d)
            first, waits = page(browser, HERE, place)
            what = f"{n_items:,} items, {d} features"
            rows.append((f"`coombs serve` to the first question, {what}", [first]))
            rows.append((f"a key to the next question, {what}", waits))
        write_people(place, 100, 5)
        rows.append(("`coombs --help`", command(HERE, place, "--help")))
        fit = command(HERE, place, "fit", "items.csv", "answers.csv", "--out", "model.json")
        rows.append(("`coombs fit` on 500 answers, 100 items, 5 features", fit))
        rows.append(("`coombs rank` on its model", command(HERE, place, "rank", "model.json", "items.csv")))
        if options.install:
            rows += install(browser, place)
    text = [
        "# What a person waits for",
        "",
        f"`python -m benchmarks.waits`, {os.cpu_count()} cores, Chromium headless on the same machine.",
        "",
        "| | median | 95 % under | longest |",
        "|---|---|---|---|",
        *(row(*one) for one in rows),
    ]
    print("\n".join(text))
    (Path(__file__).parent / "waits.md").write_text("\n".join(text) + "\n", encoding="utf-8")


def row(what: str, seconds: list[float]) -> str:
    """A row of the table."""
    found = [np.median(seconds), np.quantile(seconds, 0.95), max(seconds)]
    return f"| {what} | " + " | ".join(f"{1e3 * s:.0f} ms" if s < 10 else f"{s:.0f} s" for s in found) + " |"


def write_people(place: Path, n_items: int, d: int) -> None:
    """items.csv and answers.csv of a simulated person."""
    truth = make_preferences(n_items, d, 500, noise="logistic", random_state=0)
    names = [f"item {i}" for i in range(n_items)]
    pd.DataFrame(truth.items, names, [f"f{j}" for j in range(d)]).to_csv(place / "items.csv")
    first, second = np.array(names)[truth.pairs].T
    winners = np.where(truth.y > 0, first, second)
    pd.DataFrame({"left": first, "right": second, "winner": winners}).to_csv(
        place / "answers.csv", index=False
    )


def command(home: Path, place: Path, *words: str) -> list[float]:
    """Seconds of a command, some times."""
    seconds = []
    for _ in range(7):
        begin = time.perf_counter()
        subprocess.run([home / "coombs", *words], cwd=place, stdout=subprocess.DEVNULL, check=True)
        seconds.append(time.perf_counter() - begin)
    return seconds


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser that is there."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def page(browser: Any, home: Path, place: Path) -> tuple[float, list[float]]:
    """Seconds from the command to the first question, and from each answer to the next question."""
    storage = f"sqlite:///{place}/{time.monotonic_ns()}.db"
    begin = time.perf_counter()
    server = subprocess.Popen(
        [home / "coombs", "serve", "items.csv", "--port", "0", "--no-browser", "--storage", storage],
        cwd=place,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    address = next(line.split()[-1] for line in server.stderr if line.startswith("The first question"))
    shown = browser.new_page()
    shown.goto(address)
    shown.wait_for_selector("#question")
    first, waits = time.perf_counter() - begin, []
    rng = np.random.default_rng(0)
    for _ in range(ANSWERS):
        key = "ArrowLeft" if rng.random() < 0.5 else "ArrowRight"
        waits.append(shown.evaluate(ANSWER.replace("KEY", key)) / 1e3)
        shown.wait_for_timeout(300)
    shown.close()
    server.terminate()
    server.wait()
    return first, waits


def install(browser: Any, place: Path) -> list[tuple[str, list[float]]]:
    """An environment, made twice: the second time nothing is downloaded."""
    target = f"{ROOT}[web,plots]"
    for _ in range(2):
        shutil.rmtree(place / "env", ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", place / "env"], check=True)
        begin = time.perf_counter()
        subprocess.run([place / "env/bin/pip", "install", "-q", target], check=True)
        installed = time.perf_counter() - begin
    first, _ = page(browser, place / "env/bin", place)
    return [
        ('`pip install "coombs[web,plots]"` without the download', [installed]),
        ("then `coombs serve items.csv` to the first question, everything compiled anew", [first]),
    ]


if __name__ == "__main__":
    main()
