"""What the documents show is what the code does."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

import coombs
from coombs import cli

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
NEEDED = ("matplotlib", "pandas", "pyarrow", "polars", "fastapi")
START = ROOT / "docs" / "start.md"
WRITTEN = {
    START: ("report.html", "model.json"),
    ROOT / "docs" / "estimators.md": ("taste.html", "taste.png", "taste.json"),
}
SLOW = ("demo", "ask", "serve", "bench", "reproduce")
"""Commands that wait for a person or take long: that they can be called so is enough. Those of docs/cli.md
run in test_cli.py."""


class Block(NamedTuple):
    """A fenced block; `file` is where a reader is told to save it."""

    language: str
    file: str
    text: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    fences = re.findall(r"^```(\w*) ?(\S*)\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [Block(*fence) for fence in fences]


def commands(block: Block) -> Iterator[tuple[list[str], str]]:
    """The words of each command in a block, and what is shown of what it prints: in consoles, after a $."""
    if block.language not in ("", "console") or block.file:
        return
    mark = r"\$ " if block.language else ""
    start = rf"^{mark}((?:\w+=\S+ )?(?:coombs|pip|make) .*)\n"
    _, *parts = re.split(start, block.text, flags=re.MULTILINE)
    for line, shown in zip(parts[::2], parts[1::2], strict=True):
        words = shlex.split(line, comments=True)
        yield words["=" in words[0] :], shown


def words_of(text: str) -> set[str]:
    """The words in it, but for numbers and rows of tables: a sampler's are others on another machine."""
    return set(re.findall(r"[A-Za-z]{2,}", re.sub(r"^  .*\d.*$", "", text, flags=re.MULTILINE)))


def check_command(words: list[str], shown: str, capsys: pytest.CaptureFixture[str], run: bool) -> None:
    """That a command can be called so and, if it runs, prints the words shown or refuses in that sentence."""
    program, *arguments = words
    if program == "make":
        assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    elif program == "pip":
        known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        asked = re.fullmatch(r"coombs\[(.+)\]", arguments[1])
        assert asked is not None and set(asked[1].split(",")) <= known.keys()
    elif not run or arguments[0] in SLOW:
        cli.group.commands[arguments[0]].make_context(arguments[0], arguments[1:])
    else:
        code = cli.main(arguments)
        out, err = capsys.readouterr()
        refused = shown.startswith("coombs: ")
        assert code == (2 if refused else 0), err
        assert err == shown if refused else words_of(shown) <= words_of(out), f"{words} printed {out}"


@pytest.mark.parametrize(
    "page",
    [README, *(pytest.param(page, marks=pytest.mark.slow) for page in PAGES[1:])],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_examples_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page's files, Python and commands, in order, in one session and in a folder of its own."""
    for name in NEEDED:
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    session: dict[str, object] = {}
    for block in blocks(page):
        if block.file:
            (tmp_path / block.file).write_text(block.text)
        if block.language == "python":
            exec(block.text, session)
        for words, shown in commands(block):
            capsys.readouterr()
            check_command(words, shown, capsys, run=page.name != "cli.md")
    assert all((tmp_path / name).exists() for name in WRITTEN.get(page, ()))


def test_no_example_is_passed_over() -> None:
    """Every line that calls coombs in a block is found as a command; every language is known."""
    for page in PAGES:
        for block in blocks(page):
            assert block.language in ("", "console", "python") or block.file, f"{page.name}: {block.language}"
            called = re.findall(r"^(?:\$ )?(?:\w+=\S+ )?coombs \w+", block.text, flags=re.MULTILINE)
            found = [words for words, _ in commands(block) if words[0] == "coombs"]
            assert len(found) == len(called), f"{page.name}: {called}"


def test_every_page_is_in_the_index() -> None:
    """docs/README.md has all of them, and so has the site's index; two pages are the site's own."""
    index, site = ((ROOT / "docs" / name).read_text() for name in ("README.md", "index.md"))
    pages = [page for page in PAGES if page.name not in ("README.md", "index.md", "reference.md")]
    assert all(f"]({page.name})" in index and f"\n{page.stem}\n" in site for page in pages)


def test_the_reference_has_every_public_name() -> None:
    """Of the package, its plots, its studies and its measures."""
    reference = (ROOT / "docs" / "reference.md").read_text()
    names = [f"coombs.{name}" for name in coombs.__all__ if not name.startswith("_")]
    names += [f"coombs.plots.{name}" for name in coombs.plots.__all__ if name[0].islower()]
    assert [name for name in names if f" {name}\n" not in reference] == []


@pytest.mark.slow
def test_docs_show_what_the_demo_prints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The same sections about the same person; a sampler's numbers differ from machine to machine.

    So do the questions, and with them whether 40 answers are a pattern.
    """
    cli.main(["demo", "--report", str(tmp_path / "demo.html")])
    printed = capsys.readouterr().out
    shown = next(block.text for block in blocks(START) if block.text.startswith("A simulated person"))
    headings = r"^(.+)\n-+$"
    assert shown.splitlines()[0] == printed.splitlines()[0]
    found = re.findall(headings, printed, re.MULTILINE)
    assert found == re.findall(headings, shown, re.MULTILINE)


def test_contributing_maps_the_package() -> None:
    """Every folder and module at the top of it, and nothing that does not exist."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`((?:coombs|tests|benchmarks|docs|examples)/[\w/.]*)`", text))
    assert [name for name in named if not (ROOT / name).exists()] == []
    top = [one for one in (ROOT / "coombs").iterdir() if not one.name.startswith(("_", "py.typed"))]
    there = {f"coombs/{one.name}" + "/" * one.is_dir() for one in top}
    assert there - named == set()
    modules = {path.name for path in (ROOT / "coombs").rglob("*.py")}
    assert set(re.findall(r"`([a-z]\w*\.py)`", text)) - modules == set()


def test_changelog_has_this_version() -> None:
    """The version in the package is the newest in the changelog."""
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert newest is not None and newest[1] == coombs.__version__


def test_links_between_documents_lead_somewhere() -> None:
    """Every relative link in a Markdown file of the project."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_commands_named_in_a_sentence_have_the_options_given() -> None:
    """As `coombs fit --out`, in backticks; those in blocks are run."""
    context, found = click.Context(cli.group), 0
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for name, rest in re.findall(r"`coombs ([a-z]+)([^`]*)`", text):
            command = cli.group.get_command(context, name)
            assert command is not None, f"{page.name} has coombs {name}"
            for part in rest.split():
                if isinstance(command, click.Group) and part in command.commands:
                    command = command.commands[part]
            known = {"--help"}.union(*(parameter.opts for parameter in command.params))
            options = re.findall(r"(?<!\S)--[a-z-]+", rest)
            assert known.issuperset(options), f"{page.name} has coombs {name}{rest}"
            found += len(options)
    assert found > 10


def test_extra_all_holds_every_optional_dependency_of_the_package() -> None:
    """What a user may want is in [all]; the reference solver, the peers and the tools are apart."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = [name for name in extras if name not in ("all", "cvxpy", "dev", "docs", "peers")]
    assert extras["all"] == [f"coombs[{','.join(wanted)}]"]
