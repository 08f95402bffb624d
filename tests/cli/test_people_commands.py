"""`coombs people` and `coombs groups`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from coombs import cli

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in a folder with a table of flats and answers of two camps."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    flats = pd.DataFrame(
        {"flat": [f"flat {i}" for i in range(12)], "rent": rng.uniform(400, 1200, 12).round()}
    )
    flats["size"] = rng.uniform(20, 90, 12).round()
    camps = np.repeat([1.0, -1.0], 10)
    scaled = (flats[["rent", "size"]] - flats[["rent", "size"]].mean()) / flats[["rent", "size"]].std()
    rows = []
    for person in range(20):
        utility = scaled.to_numpy() @ [-1.0, 2.5 * camps[person]]
        for _ in range(14):
            i, j = rng.choice(12, 2, replace=False)
            winner = i if rng.random() < expit(2 * (utility[i] - utility[j])) else j
            rows.append([f"p{person}", f"flat {i}", f"flat {j}", f"flat {winner}"])
    flats.to_csv("flats.csv", index=False)
    pd.DataFrame(rows, columns=["user", "left", "right", "winner"]).to_csv("answers.csv", index=False)

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code: Any = cli.main(arguments)
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return call


def test_people_says_what_is_shared_and_writes_a_row_a_person(run: Run) -> None:
    code, out, err = run("people", "flats.csv", "answers.csv", "--metric", "none", "--out", "people.csv")
    assert code == 0 and not err
    assert "20 people, 280 answers about 12 items." in out and "How far to trust this" in out
    frame = pd.read_csv("people.csv")
    assert len(frame) == 20 and {"user", "weight: rent", "best", "consistency"} <= {*frame.columns}


def test_people_tells_one_person_in_json(run: Run) -> None:
    _, out, _ = run("people", "flats.csv", "answers.csv", "--metric", "none", "--user", "p3", "--json")
    told = json.loads(out)
    assert told["name"] == "p3" and told["n_answers"] == 14 and len(told["ranking"]) == 5


@pytest.mark.slow
def test_groups_finds_two_camps(run: Run) -> None:
    code, out, _ = run("groups", "flats.csv", "answers.csv", "--metric", "none", "--json")
    found = json.loads(out)["groups"]
    assert code == 0 and sorted(one["people"] for one in found) == [10, 10]
    assert "Best for them" in run("groups", "flats.csv", "answers.csv", "--metric", "none")[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--user", "zoe"], "Nobody is called 'zoe'"),
        (["--groups", "few"], "--groups is 'few'"),
        (["--out", "nowhere/people.csv"], "no folder"),
    ],
)
def test_people_refuses_bad_input_in_one_sentence(arguments: list[str], sentence: str, run: Run) -> None:
    code, out, err = run("people", "flats.csv", "answers.csv", "--metric", "none", *arguments)
    assert code == 2 and not out and sentence in err and err.count("\n") == 1


def test_people_needs_a_column_user(run: Run) -> None:
    frame = pd.read_csv("answers.csv").drop(columns="user")
    frame.to_csv("nobody.csv", index=False)
    code, _, err = run("people", "flats.csv", "nobody.csv")
    assert code == 2 and "no column user" in err


def test_one_person_alone_is_told_as_coombs_fit_tells_it(run: Run) -> None:
    frame = pd.read_csv("answers.csv").query("user == 'p3'")
    frame.to_csv("one.csv", index=False)
    code, out, err = run("people", "flats.csv", "one.csv", "--metric", "none")
    assert code == 0 and "one person only" in err and out
    assert run("groups", "flats.csv", "one.csv", "--metric", "none")[0] == 0


def test_groups_of_coin_tossers_have_nothing_that_is_best_for_them(run: Run) -> None:
    frame, rng = pd.read_csv("answers.csv"), np.random.default_rng(0)
    frame["winner"] = np.where(rng.random(len(frame)) < 0.5, frame["left"], frame["right"])
    frame.to_csv("coins.csv", index=False)
    told = json.loads(run("groups", "flats.csv", "coins.csv", "--metric", "none", "--json")[1])
    assert told["has_pattern"] is False and all(one["best"] == [] for one in told["groups"])


def test_fit_of_several_people_learns_everybody_and_writes_all_that_is_asked_for(run: Run) -> None:
    pytest.importorskip("matplotlib")
    command = ("fit", "flats.csv", "answers.csv", "--metric", "none", "--groups", "2")
    files = ("--out", "p.json", "--people", "people.csv", "--report", "r.html")
    code, out, err = run(*command, *files)
    assert code == 0 and not err and out.startswith("Recognised: 280 pairs, by 20 people.\n")
    assert (
        "more size" in out
        and "less size" in out
        and "Population: p.json\nPeople: people.csv\nReport: r.html" in out
    )
    frame = pd.read_csv("people.csv")
    assert len(frame) == 20 and "rank: flat 3" in frame.columns
    assert Path("r.html").read_text().count("<img ") == 4
    assert run("explain", "p.json")[0] == run("rank", "p.json", "flats.csv", "--user", "p3")[0] == 0


def test_fit_of_several_people_is_told_in_json(run: Run) -> None:
    told = json.loads(
        run("fit", "flats.csv", "answers.csv", "--metric", "none", "--groups", "2", "--json")[1]
    )
    assert told["estimator"] == "population" and len(told["users"]) == 20 and told["has_pattern"]
    assert sorted(one["people"] for one in told["groups"]) == [10, 10]
    assert [one["rank"] for one in told["ranking"]] == list(range(1, 13))
    assert {"less rent"} <= {part for one in told["groups"] for part in one["wants"].split(", ")}


@pytest.mark.parametrize(
    ("option", "name"), [(["--metric", "signed"], "--metric signed"), (["--estimator", "compass"], "compass")]
)
def test_what_only_one_model_has_takes_all_people_for_one_and_says_so(
    option: list[str], name: str, run: Run
) -> None:
    frame = pd.read_csv("answers.csv").query("user in ['p0', 'p1']")
    frame.to_csv("two.csv", index=False)
    code, out, err = run("fit", "flats.csv", "two.csv", *option)
    assert code == 0 and name in err and "taken for one person's" in err
    assert "2 people together, one model" in out


def test_fit_with_a_table_of_people_needs_people(run: Run) -> None:
    code, _, err = run("fit", "flats.csv", "answers.csv", "--pooled", "--people", "people.csv")
    assert code == 2 and "--people writes a row a person" in err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--pooled", "--groups", "2"], "--groups is of many people, and this is one model; leave it away."),
        (["--people", "x.xlsx"], "x.xlsx would be a table; its name must end in .csv or .parquet."),
    ],
)
def test_fit_refuses_what_it_would_not_do(run: Run, options: list[str], sentence: str) -> None:
    code, out, err = run("fit", "flats.csv", "answers.csv", *options)
    assert code == 2 and sentence in err and not out


def test_a_table_about_people_must_say_who(run: Run) -> None:
    Path("about.csv").write_text("age,town\n20,a\n30,b\n")
    code, _, err = run("people", "flats.csv", "answers.csv", "--about", "about.csv")
    assert code == 2 and "about.csv has no column user" in err


def test_a_column_that_is_called_like_user_is_named(run: Run) -> None:
    """Of answers and of what is known of people."""
    frame = pd.read_csv("answers.csv")
    frame.rename(columns={"user": "Participant ID"}).to_csv("called.csv", index=False)
    people = [f"p{i}" for i in range(20)]
    about = pd.DataFrame({"Person": people, "shoe": np.random.default_rng(1).integers(36, 46, 20)})
    about.to_csv("about.csv", index=False)
    code, out, err = run("people", "flats.csv", "called.csv", "--metric", "none", "--about", "about.csv")
    assert code == 0 and "20 people, 280 answers" in out
    assert "no column user in the answers; 'Participant ID' is taken for it" in err
    assert "no column user in about.csv; 'Person' is taken for it" in err
    assert "No taste is found to go with shoe" in out


def test_users_that_are_blank_are_said(run: Run) -> None:
    """All of them, or some."""
    frame = pd.read_csv("answers.csv")
    frame.assign(user="").to_csv("blank.csv", index=False)
    code, out, err = run("fit", "flats.csv", "blank.csv", "--metric", "none")
    assert code == 0 and "The column 'user' is blank from top to bottom" in err and "people" not in out
    code, _, err = run("people", "flats.csv", "blank.csv")
    assert code == 2 and "blank.csv has no column user with names in it" in err
    frame.assign(user=frame["user"].where(frame.index > 1, "")).to_csv("some.csv", index=False)
    for command in ("fit", "people", "groups"):
        code, _, err = run(command, "flats.csv", "some.csv")
        assert code == 2 and "The user of 2 of 280 answers is blank (line 2 of some.csv, line 3 of" in err


def test_rank_says_by_what_and_an_unknown_person_gets_the_nearest_name(run: Run) -> None:
    run("people", "flats.csv", "answers.csv", "--metric", "none", "--save", "people.json")
    _, out, _ = run("rank", "people.json", "flats.csv")
    assert out.startswith("By mean utility") and "Borda" in out and "mean utility" in out.split("\n\n")[1]
    assert "Borda" in run("explain", "people.json")[1]
    for command in (["explain", "people.json"], ["rank", "people.json", "flats.csv"]):
        code, _, err = run(*command, "--user", "P3")
        assert code == 2 and err == "coombs: Nobody is called 'P3'; did you mean 'p3'?\n"


@pytest.mark.parametrize("command", [["people", "--save"], ["fit", "--pooled", "--out"]])
def test_rank_says_of_a_new_level_that_it_was_not_learned_from(run: Run, command: list[str]) -> None:
    """In a sentence of ours, not in Python's form of a warning with a line of the program."""
    flats = pd.read_csv("flats.csv")
    flats["town"] = ["centre", "harbour"] * 6
    flats.to_csv("towns.csv", index=False)
    name, *options = command
    run(name, "towns.csv", "answers.csv", "--metric", "none", *options, "taste.json")
    flats.assign(town=["moon", *flats["town"][1:]]).to_csv("new.csv", index=False)
    code, _, err = run("rank", "taste.json", "new.csv")
    assert code == 0
    assert "coombs: careful: town 'moon' was not learned from: it is taken for an average one.\n" in err
    assert all(line.startswith("coombs: ") for line in err.splitlines())
