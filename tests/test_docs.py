"""What the documents show is what the code does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import coombs
from coombs import cli

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """Fenced blocks of the README in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_readme_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block, in order, in one session, in a folder of its own for the files it writes."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    session: dict[str, object] = {}
    for block in blocks("python"):
        exec(block, session)
    assert (tmp_path / "taste.html").exists() and (tmp_path / "taste.png").exists()


def test_examples_of_the_study_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block of docs/study.md, in order."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "study.md").read_text()
    session: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        exec(block, session)


def test_readme_shows_what_the_demo_prints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The same sections about the same person; a sampler's numbers differ from machine to machine."""
    cli.main(["demo", "--report", str(tmp_path / "demo.html")])
    printed = capsys.readouterr().out
    shown = next(block for block in blocks("") if block.startswith("A simulated person"))
    headings = r"^(.+)\n-+$"
    assert shown.splitlines()[0] == printed.splitlines()[0]
    assert re.findall(headings, shown, re.MULTILINE) == re.findall(headings, printed, re.MULTILINE)


def test_changelog_has_this_version() -> None:
    """The version in the package is the newest in the changelog."""
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert newest is not None and newest[1] == coombs.__version__


def test_links_between_documents_lead_somewhere() -> None:
    """Every relative link in a Markdown file of the project."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_extra_all_holds_every_optional_dependency_of_the_package() -> None:
    """What a user may want is in [all]; only the reference solver and the tools are apart."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = [name for name in extras if name not in ("all", "cvxpy", "dev")]
    assert extras["all"] == [f"coombs[{','.join(wanted)}]"]
