"""What the documents show is what the code does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import coombs
from coombs import demo

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """Fenced blocks of the README in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_readme_examples_run() -> None:
    """Every Python block, in order, in one session."""
    session: dict[str, object] = {}
    for block in blocks("python"):
        exec(block, session)


def test_readme_shows_what_the_demo_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """Line by line, but for the time."""
    demo.main()
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    shown = next(block for block in blocks("") if block.startswith("Comparisons(")).splitlines()
    assert shown[:-1] == printed[:-1]
    assert shown[-1].startswith("Learned in")


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
    assert set(extras) == {"all", "frames", "plots", "cvxpy", "dev"}
    assert extras["all"] == ["coombs[frames,plots]"]
