"""Commands with a list of names in place of a table of items."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from coombs import cli

NAMES = ["tea", "coffee", "water", "juice", "milk"]


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """A command's exit code, what it printed and what it said on stderr."""
    try:
        code: Any = cli.main(arguments)
    except SystemExit as stop:
        code = stop.code
    return code, *capsys.readouterr()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A list of names as text and as CSV, and answers about them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ideas.txt").write_text("\n".join(NAMES))
    (tmp_path / "ideas.csv").write_text("\n".join(["drink", *NAMES]))
    rows = [f"{a},{b}" for i, a in enumerate(NAMES) for b in NAMES[i + 1 :]] * 2
    (tmp_path / "answers.csv").write_text("\n".join(["winner,loser", *rows]))
    return tmp_path


@pytest.mark.parametrize("items", ["ideas.txt", "ideas.csv"])
def test_fit_ranks_names(folder: Path, capsys: pytest.CaptureFixture[str], items: str) -> None:
    pytest.importorskip("matplotlib")
    files = ("--out", "model.json", "--report", "report.html")
    code, page, said = _run(capsys, "fit", items, "answers.csv", *files)
    assert code in (0, None) and "Likely the best: tea" in page and "feature" not in page
    # Nobody knows whether 'drink' is the header or a drink.
    assert ("'drink', is taken for the header" in said) == (items == "ideas.csv")
    assert "--features" not in said and "<h2>Which is best</h2>" in (folder / "report.html").read_text()
    code, page, _ = _run(capsys, "rank", "model.json", items)
    assert code in (0, None) and [row.split()[1] for row in page.splitlines()[1:]] == NAMES
    code, page, _ = _run(capsys, "explain", "model.json")
    assert code in (0, None) and "coombs rank lists the ranking" in page


def test_fit_prints_names_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(_run(capsys, "fit", "ideas.txt", "answers.csv", "--json")[1])
    assert [one["item"] for one in found["ranking"]] == NAMES and found["features"] == []
    assert found["ideal_point"] == {} and found["model"]["item_scores"].keys() == set(NAMES)


def test_an_estimator_of_features_is_refused_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, said = _run(capsys, "fit", "ideas.txt", "answers.csv", "--estimator", "single-step")
    assert code == 2 and "The items have no features" in said and "Traceback" not in said


def test_a_model_of_names_does_not_rank_strangers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _run(capsys, "fit", "ideas.txt", "answers.csv", "--out", "model.json")
    (folder / "others.txt").write_text("tea\nbeer\n")
    code, _, said = _run(capsys, "rank", "model.json", "others.txt")
    assert code == 2 and "Nothing is known of item 'beer'" in said


def test_ask_asks_about_names(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("left\nright\ntie\nleft\nquit\n"))
    code, page, said = _run(capsys, "ask", "ideas.txt", "--storage", "sqlite:///s.db")
    assert code in (0, None) and "5 items, ranked by the answers alone" in page + said
    assert "Everything is stored" in page + said


def test_fit_takes_one_file_that_describes_its_items(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(
        f"{p},{40 - p},{10 + p % 7},{10 + p % 5},{1 if p < 20 else 2}\n" for p in range(1, 40) if p != 20
    )
    (folder / "pairs.csv").write_text(f"price_1,price_2,size_1,size_2,winner\n{rows}")
    code, page, said = _run(capsys, "fit", "pairs.csv", "--metric", "none")
    assert code in (0, None) and "coombs: A wide table: each row is a question about 2 profiles" in said
    assert "From 38 answers" in page and "less is better" in page


def test_one_file_without_answers_gets_a_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, said = _run(capsys, "fit", "ideas.csv")
    assert code == 2 and "ideas.csv has no answers in it (drink); give a file of answers as well" in said
