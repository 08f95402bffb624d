"""`coombs monitor`, `coombs respondent` and `coombs retention`, and exports into folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coombs import cli, create_study, load_study
from coombs.study import Study


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.chdir(tmp_path)
    made = create_study([[0.0], [1.0], [2.0]], "taste", storage="sqlite:///coombs.db")
    made.respondent("Ann").tell((1, 0))
    made.respondent("Bob")
    return made


def test_monitor_lists_people_links_and_json(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["monitor"]) == 0
    assert "1 invited, 1 started, 0 done" in capsys.readouterr().out
    assert cli.main(["monitor", "--show", "invited", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["people"]] == ["Bob"]
    assert cli.main(["monitor", "--show", "not done", "--links", "https://x.example/"]) == 0
    assert f"Bob  https://x.example/a/{study.links()['Bob']}" in capsys.readouterr().out


def test_a_person_is_deleted_only_if_that_is_meant(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["respondent", "delete", "Ann"]) == 2
    assert "add --yes" in capsys.readouterr().err and "Ann" in study.respondents()
    assert cli.main(["respondent", "export", "Ann", "ann.json"]) == 0
    assert json.loads(Path("ann.json").read_text())["person"]["name"] == "Ann"
    assert cli.main(["respondent", "renew", "Bob"]) == 0
    assert study.links()["Bob"] in capsys.readouterr().out
    assert cli.main(["respondent", "revoke", "Bob"]) == 0 and "Bob" not in study.links()
    assert cli.main(["respondent", "anonymise", "Bob", "--yes"]) == 0
    assert cli.main(["respondent", "delete", "Ann", "--yes"]) == 0
    assert list(study.respondents()) == ["Anonymous 1"]
    assert cli.main(["respondent", "delete", "Ann", "--yes"]) == 2
    assert cli.main(["respondent", "delete", "Ann", "file.json", "--yes"]) == 2


def test_retention_is_said_and_done(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["retention"]) == 0
    assert "until you delete it" in capsys.readouterr().out
    assert cli.main(["retention", "--until", "soon"]) == 2
    assert cli.main(["retention", "--until", "2020-01-31", "--action", "anonymise"]) == 0
    assert "until 2020-01-31, then: anonymise" in capsys.readouterr().out
    assert cli.main(["retention", "--apply"]) == 0
    assert "2 people" in capsys.readouterr().out
    assert load_study("taste", storage=study.storage).retention is None
    assert cli.main(["retention", "--apply", "--storage", "sqlite:///none.db"]) == 2


def test_a_study_is_exported_into_a_folder(study: Study) -> None:
    assert cli.main(["export", "tables/"]) == 0 and cli.main(["export", "tables.zip"]) == 0
    assert Path("tables/codebook.md").exists() and Path("tables.zip").exists()
