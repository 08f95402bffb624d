"""The command line: each command end to end, in its words and in JSON, and what it refuses."""

from __future__ import annotations

import io
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import coombs
from coombs import Comparisons, IdealPoint, Model, cli, questions
from coombs.cli import manual, output, people
from coombs.cli.fit import ESTIMATORS, METRICS, read_answers
from coombs.cli.options import STRATEGIES
from coombs.demo import TRUTH, catalogue_file
from coombs.estimators import ideal_point
from coombs.evaluation import kendall_tau_distance
from coombs.inference.people import coordinates
from coombs.render.sections import Points, Section, TableBlock, table_lines
from coombs.study import create_study
from coombs.study.settings import FIXED

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "cli.md"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, without colours of the caller's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command: its exit code, what it printed and what it said on stderr."""

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code: Any = cli.main(arguments)
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def shop(run: Run) -> Path:
    """Items, answers and the truth about a person."""
    assert run("simulate", "shop", "--items", "40", "--features", "2", "--answers", "60")[0] == 0
    return Path("shop")


@pytest.fixture
def taste(run: Run, shop: Path) -> str:
    """A saved model."""
    assert run("fit", f"{shop}/items.csv", f"{shop}/answers.csv", "--out", "taste.json")[0] == 0
    return "taste.json"


def refused(result: tuple[int, str, str], *words: str) -> None:
    """Exit code 2 and one sentence with some words, nothing else."""
    code, out, err = result
    assert code == 2 and not out
    assert err.startswith("coombs: ") and err.count("\n") == 1 and "Traceback" not in err
    assert all(word in err for word in words), err


# The whole.


def test_help_names_every_command_and_imports_no_numpy() -> None:
    """Only a command imports it, so that help comes at once."""
    code = (
        "import sys, contextlib\nfrom coombs.cli import main\n"
        "with contextlib.suppress(SystemExit):\n    main(['--help'])\n"
        "sys.exit('numpy' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert found.returncode == 0, found.stderr
    for name in ("demo", "fit", "rank", "explain", "ask", "serve", "reproduce", "simulate", "bench"):
        assert re.search(rf"^  {name} +\w", found.stdout, re.MULTILINE)


def test_the_package_is_a_command() -> None:
    """`python -m coombs`, too."""
    found = subprocess.run(
        [sys.executable, "-m", "coombs", "--version"], capture_output=True, text=True, cwd=ROOT
    )
    assert found.returncode == 0 and found.stdout == f"coombs {coombs.__version__}\n"


def test_every_command_has_help_and_an_example(run: Run) -> None:
    """Of its own."""
    for command in cli.COMMANDS:
        name = str(command.name)
        code, out, _ = run(name, "--help")
        assert code == 0 and out.startswith(f"Usage: coombs {name}") and "Example: coombs" in out
        assert command.short_help and command.help and command.example.split()[1] == name


def test_choices_are_those_of_the_library() -> None:
    """The commands repeat them, as declaring a command must not import the library."""
    assert set(STRATEGIES) == {*questions.STRATEGIES, FIXED}
    assert set(METRICS) == {"auto", "smooth", *ideal_point.METRICS}
    assert set(people.METRICS) == {"auto", *coordinates.KINDS}
    assert all(hasattr(coombs, name) for name in ESTIMATORS.values())


def test_errors_of_ours_are_not_hidden(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is the user's is a sentence."""
    monkeypatch.setattr("coombs.cli.rank.read_model", lambda path: int("a bug"))
    with pytest.raises(ValueError, match="invalid literal"):
        run("explain", "taste.json")


# fit


@pytest.mark.slow
def test_fit_does_not_load_what_only_scikit_learn_might_need(shop: Path) -> None:
    """In a process of its own; and what was put off is there once it is used."""
    script = (
        "import sys\n"
        "from coombs.cli import main\n"
        "assert main(['fit', 'shop/items.csv', 'shop/answers.csv']) == 0\n"
        "assert not {'pandas.core', 'scipy.stats._stats_py'} & set(sys.modules)\n"
        "import pandas, scipy.stats\n"
        "assert len(pandas.DataFrame({'a': [1]})) == 1 and scipy.stats.norm.cdf(0) == 0.5\n"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)


def test_fit_says_what_was_learned_and_writes_the_model(run: Run, shop: Path) -> None:
    """The page of `explain`; how well each kind of preference predicts is left for --compare."""
    code, out, err = run("fit", "shop/items.csv", "shop/answers.csv", "--out", "taste.json", "--top", "3")
    headings = re.findall(r"^(.+)\n-+$", out, re.MULTILINE)
    assert code == 0 and not err
    assert headings == [
        "What matters",
        "Trade-offs",
        "What is not known",
        "How far to trust it",
        "Ranking",
    ]
    assert "From 60 answers about 40 items with 2 features" in out
    assert "of the answers are predicted from the others" in out and "in use" not in out
    assert out.endswith("\nModel: taste.json\n") and "\x1b" not in out
    assert "(linear)" not in out
    model = Model.from_json(Path("taste.json").read_text())
    truth = Model.from_json((shop / "truth.json").read_text())
    items = read_answers("shop/items.csv", "shop/answers.csv")[0].item_table
    assert model.feature_names == ("feature 1", "feature 2")
    assert kendall_tau_distance(model.distance(items), truth.distance(items)) < 0.15


@pytest.mark.slow
def test_fit_in_json_is_stable_and_agrees_with_rank(run: Run, taste: str) -> None:
    """The same line twice; the same order as of the saved model."""
    arguments = ("fit", "shop/items.csv", "shop/answers.csv", "--json")
    code, out, err = run(*arguments)
    assert code == 0 and not err and out == run(*arguments)[1] and out.count("\n") == 1
    told = json.loads(out)
    assert list(told) == [
        *("estimator", "metric", "status", "user", "users", "n_answers", "shapes", "n_items"),
        *("features", "has_pattern", "agreement", "ideal_point", "ranking", "model", "explanation"),
        "written",
    ]
    assert told["n_answers"] == 60 and told["metric"] == "full" and told["users"] == []
    assert told["model"] == json.loads(Path(taste).read_text())
    assert [one["rank"] for one in told["ranking"]] == list(range(1, 41))
    assert all(one["rank_low"] <= one["rank_high"] for one in told["ranking"])
    ranked = json.loads(run("rank", taste, "shop/items.csv", "--json")[1])
    assert [one["item"] for one in ranked] == [one["item"] for one in told["ranking"]]
    assert told["explanation"]["ideal"][0]["feature"] == "feature 1"


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "ideal-point"])
def test_fit_by_the_papers_estimators(name: str, run: Run, shop: Path) -> None:
    """What a model says, and how the program ended; no intervals in JSON."""
    arguments = ("fit", "shop/items.csv", "shop/answers.csv", "--estimator", name)
    code, out, err = run(*arguments)
    assert code == 0 and not err
    assert "The program ended as optimal" in out or name == "alternating"
    assert "Ranking\n-------" in out and "best at" in out and "coombs fit" not in out
    told = json.loads(run(*arguments, "--json")[1])
    assert told["estimator"] == name and told["metric"] is None and told["ranking"][0]["rank_low"] is None
    refused(run(*arguments, "--metric", "full"), "--metric is for ideal-point")


def test_fit_compares_kinds_when_asked(run: Run, shop: Path) -> None:
    """All of them, with advice."""
    code, out, _ = run("fit", "shop/items.csv", "shop/answers.csv", "--compare", "--metric", "diagonal")
    assert code == 0 and "(linear)" in out and "(Bradley-Terry)" in out and "not tried" not in out


@pytest.mark.slow
def test_fit_writes_a_report(run: Run, shop: Path) -> None:
    """With pictures, and says where."""
    pytest.importorskip("matplotlib")
    code, out, _ = run(
        "fit", "shop/items.csv", "shop/answers.csv", "--report", "r.html", "--metric", "identity"
    )
    assert code == 0 and out.endswith("\nReport: r.html\n")
    assert "data:image/png" in Path("r.html").read_text()


def write_people() -> None:
    """Items with texts, and answers of two people who want the opposite."""
    Path("items.csv").write_text(
        "name,size,photo\n" + "".join(f"flat {i},{i},{i}.jpg\n" for i in range(1, 9))
    )
    rows = [
        f"{user},flat {i},flat {i + 3},flat {i + 3 * (user == 'Ann')},1"
        for user in ("Ann", "Ben")
        for i in range(1, 6)
    ]
    Path("answers.csv").write_text("user,left,right,winner,weight\n" + "\n".join(rows) + "\n")


@pytest.mark.slow
def test_answers_of_several_people_are_told_apart_when_asked(run: Run) -> None:
    """Together it says so; text columns of the items are passed over."""
    write_people()
    code, out, _ = run("fit", "items.csv", "answers.csv", "--metric", "none", "--pooled")
    assert code == 0
    assert out.startswith("Recognised: 10 pairs, by 2 people.\n\n2 people together, one model: Ann, Ben.\n")
    best = {}
    for user in ("Ann", "Ben"):
        told = json.loads(
            run("fit", "items.csv", "answers.csv", "--metric", "none", "--user", user, "--json")[1]
        )
        assert told["user"] == user and told["users"] == [user] and told["n_answers"] == 5
        best[user] = told["ranking"][0]["item"]
        # Five answers may or may not be a pattern; a linear taste has no ideal either way.
        assert told["ideal_point"] in (None, {"size": None})
    assert best == {"Ann": "flat 8", "Ben": "flat 1"}
    assert "The answers of Ann.\n" in run("fit", "items.csv", "answers.csv", "--user", "Ann")[1]
    refused(run("fit", "items.csv", "answers.csv", "--user", "Cy"), "Nobody is called 'Cy'", "'Ann', 'Ben'")


def test_a_model_of_several_people_is_named_as_such_everywhere(run: Run) -> None:
    pytest.importorskip("matplotlib")
    write_people()
    command = ("fit", "items.csv", "answers.csv", "--metric", "none", "--out", "m.json")
    told = json.loads(run(*command, "--pooled", "--report", "r.html", "--json")[1])
    assert told["model"]["n_people"] == 2
    # They want the opposite, so that together there is no pattern.
    report = Path("r.html").read_text()
    assert "<h1>No pattern found yet</h1>" in report and "2 people together, one model. Taken for" in report
    for later in (("explain", "m.json"), ("rank", "m.json", "items.csv")):
        assert run(*later)[1].startswith("2 people together, one model.\n")
    assert json.loads(run("explain", "m.json", "--json")[1])["n_people"] == 2
    assert told["has_pattern"] is False and told["ideal_point"] is None
    run(*command, "--user", "Ann")
    assert "together" not in run("explain", "m.json")[1] + run("rank", "m.json", "items.csv")[1]


@pytest.mark.slow
def test_fit_reads_parquet(run: Run, shop: Path) -> None:
    """The same answers, the same model."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for name in ("items", "answers"):
        pandas.read_csv(shop / f"{name}.csv").to_parquet(shop / f"{name}.parquet")
    csv, parquet = (
        json.loads(run("fit", f"shop/items.{kind}", f"shop/answers.{kind}", "--json")[1])
        for kind in ("csv", "parquet")
    )
    assert csv["ranking"] == parquet["ranking"]


@pytest.mark.slow
def test_answers_of_a_study_are_fitted(run: Run) -> None:
    """Export, then fit: skips are left out."""
    items = [[float(i), float(i % 3)] for i in range(8)]
    study = create_study(items, "numbers")
    for _ in range(12):
        question = study.ask()
        assert question is not None
        study.tell(question, "left" if question.positions[0] > question.positions[1] else "right")
    question = study.ask()
    assert question is not None
    study.tell(question, "skip")
    Path("items.csv").write_text("a,b\n" + "\n".join(f"{a},{b}" for a, b in items))
    assert run("export", "answers.csv")[1] == "answers.csv: study 'numbers', 13 answers by 1 person\n"
    told = json.loads(run("fit", "items.csv", "answers.csv", "--metric", "none", "--json")[1])
    assert told["n_answers"] == 12 and told["ranking"][0]["item"] == 7


def test_an_id_by_another_name_is_said_and_not_learned_from(run: Run) -> None:
    """Unless `--features` names it."""
    rows = [f"{i},{i * 7 % 11},{i * 5 % 13}" for i in range(1, 11)]
    Path("cars.csv").write_text("\n".join(["car_id,price,size", *rows]))
    Path("answers.csv").write_text("winner,loser\n1,2\n3,10\n4,5\n")
    options = ("fit", "cars.csv", "answers.csv", "--json", "--estimator", "single-step")
    code, out, err = run(*options)
    told = json.loads(out)
    assert code == 0 and told["features"] == ["price", "size"]
    assert {one["item"] for one in told["ranking"]} == {str(i) for i in range(1, 11)}
    assert "Column 'car_id' numbers the items" in err and "--features" in err and err.count("\n") == 1
    Path("answers.csv").write_text("winner,loser\n1,2\n3,9\n4,5\n")
    code, out, err = run(*options, "--features", "car_id, price")
    assert code == 0 and not err
    assert json.loads(out)["features"] == ["car_id", "price"]


def test_a_fit_whose_chains_stay_apart_warns_in_a_sentence(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On stderr, so that JSON stays whole."""
    monkeypatch.setattr(ideal_point.IdealPoint, "_doubt", lambda self, fit: "The chains\nare apart.")
    code, out, err = run("fit", "shop/items.csv", "shop/answers.csv", "--json")
    assert code == 0 and json.loads(out) and err == "coombs: careful: The chains are apart.\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv", "answers.csv"], ["There is no file nowhere.csv"]),
        (["items.csv", "nowhere.csv"], ["There is no file nowhere.csv"]),
        (["items.csv", "nowhere.parquet"], ["nowhere.parquet"]),
        (["items.csv", "items.csv"], ["needed are left, right, winner"]),
        (["items.csv", "answers.csv", "--user", "Ann"], ["no column user"]),
        (["items.csv", "answers.csv", "--out", "no/folder.json"], ["There is no folder"]),
        (["items.csv", "answers.csv", "--out", "."], ["is a folder"]),
        (["items.csv", "answers.csv", "--report", "no/r.html"], ["There is no folder"]),
        (
            ["items.csv", "answers.csv", "--metric", "round"],
            ["--metric", "'round' is not one of 'auto'", "See coombs fit --help."],
        ),
        (["items.csv", "answers.csv", "--seed", "-1"], ["'-1' is not a whole number from 0"]),
        (["items.csv", "answers.csv", "--top", "0"], ["'0' is not a positive whole number"]),
        (["items.csv", "strange.csv"], ["Unknown item 'moch\x20'", "did you mean 'mocha'?"]),
        (["items.csv"], ["items.csv has no answers in it (item, price)"]),
    ],
)
def test_fit_refuses_bad_input_in_one_sentence(arguments: list[str], words: list[str], run: Run) -> None:
    """Before anything is written; what commands a terminal is not passed on."""
    Path("items.csv").write_text("item,price\nlatte,4\nmocha,5\n")
    Path("answers.csv").write_text("left,right,winner\nlatte,mocha,mocha\n")
    Path("strange.csv").write_text("left,right,winner\nlatte,moch\x1b,latte\n")
    before = set(Path().iterdir())
    result = run("fit", *arguments)
    refused((result[0], result[1], result[2].replace("\\x1b", "\x20")), *words)
    assert set(Path().iterdir()) == before and "\x1b" not in result[2]


# rank and explain


def test_rank_shows_the_best_and_writes_them(run: Run, taste: str) -> None:
    """Also items that were never compared, whatever the order of the columns, and other columns."""
    Path("new.csv").write_text("flat,about,feature 2,feature 1\nnear,=1+1,0.2,-0.1\nfar,far away,2,2\n")
    code, out, _ = run("rank", taste, "new.csv", "--csv", "ranking.csv")
    assert code == 0 and out.endswith("Written: ranking.csv\n")
    assert out.splitlines()[0].split() == ["rank", "item", "distance", "feature", "1", "feature", "2"]
    assert [line.split()[1] for line in out.splitlines()[1:3]] == ["near", "far"]
    assert out.splitlines()[2].split()[-2:] == ["2.0", "2.0"]
    header, first, _ = Path("ranking.csv").read_text().splitlines()
    assert header == '"rank","item","distance","feature 1","feature 2"'
    assert first.startswith('1,"near",') and first.endswith(",-0.1,0.2")
    _, out, _ = run("rank", taste, "shop/items.csv", "--top", "5")
    assert len(out.splitlines()) == 7 and out.endswith("\n  and 35 more\n")
    assert len(run("rank", taste, "shop/items.csv")[1].splitlines()) == 22
    told = json.loads(run("rank", taste, "shop/items.csv", "--top", "2", "--json")[1])
    assert [one["rank"] for one in told] == [1, 2]
    assert list(told[0]) == ["rank", "item", "distance", "features"]
    assert list(told[0]["features"]) == ["feature 1", "feature 2"]


def test_rank_refuses_items_without_the_models_features(run: Run, taste: str) -> None:
    """And says which it was learned from."""
    Path("other.csv").write_text("item,feature 1,price\na,1,2\nb,2,3\n")
    refused(
        run("rank", taste, "other.csv"),
        "There is no column 'feature 2'; the columns are feature 1, price.",
        "learned from feature 1, feature 2",
    )
    Path("other.csv").write_text("item,feature 1,feature 2\na,1,large\nb,2,3\n")
    refused(run("rank", taste, "other.csv"), "must be a number")
    Path("nameless.json").write_text(Model(np.eye(3), np.zeros(3)).to_json())
    refused(run("rank", "nameless.json", "shop/items.csv"), "2 features; the model was learned from 3")
    refused(run("rank", taste, "shop/items.csv", "--csv", "no/such/r.csv"), "There is no folder")
    Path("huge.json").write_text(Model(np.eye(2) * 1e308, np.full(2, 1e9)).to_json())
    refused(run("rank", "huge.json", "shop/items.csv"), "metric has a number beyond 1e+120")
    Path("large.json").write_text(Model(np.eye(2) * 1e120, np.zeros(2)).to_json())
    Path("far.csv").write_text("item,feature 1,feature 2\na,1,2\nb,1e100,3\n")
    refused(run("rank", "large.json", "far.csv"), "item 'b' is too large for a number")


def test_rank_takes_the_mean_for_a_number_that_is_not_known_and_says_so(run: Run, taste: str) -> None:
    Path("gaps.csv").write_text("item,feature 1,feature 2\na,0,0\nb,,1\nc,2,-\n")
    code, out, err = run("rank", taste, "gaps.csv", "--json")
    assert code == 0 and err.count("not known: the mean of ") == 2 and "item 'b'" in err
    found = {one["item"]: one["features"] for one in json.loads(out)}
    assert found["b"] == {"feature 1": "not known", "feature 2": 1.0}
    no_means = replace(Model.from_json(Path(taste).read_text()), slope=None, centre=None, bumps=None)
    Path("no_means.json").write_text(no_means.to_json())
    Path("blank.csv").write_text("item,feature 1,feature 2\na,,0\nb,,1\n")
    refused(run("rank", "no_means.json", "blank.csv"), "Feature 'feature 1' of item 'a' is nan")


def test_rank_counts_the_effects_of_items_that_a_saved_fit_knows(run: Run, shop: Path) -> None:
    items = Comparisons.read_csv(f"{shop}/items.csv", f"{shop}/answers.csv")
    est = IdealPoint(item_effects=True, metric="none").fit(items)
    est.save("est.json")
    code, out, err = run("rank", "est.json", f"{shop}/items.csv", "--json")
    assert code == 0 and f"{len(est.rank())} of {len(est.rank())} items are ranked with their own" in err
    assert [one["item"] for one in json.loads(out)] == est.rank().tolist()


def changed(**fields: Any) -> str:
    """A model with other fields; Ellipsis takes one away."""
    data = json.loads(Model(np.eye(2), np.zeros(2), ("a", "b"), np.ones(2)).to_json()) | fields
    return json.dumps({name: value for name, value in data.items() if value is not ...})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1, 2]", "not a coombs model"),
        ('{"format": "other"}', "not a coombs model"),
        (changed(version=5), "version 5; this coombs reads 1 to 4"),
        (changed(version=None), "version None"),
        (changed(metric=...), "cannot be read"),
        (changed(metric=[[float("nan"), 0], [0, 1]]), "must be finite"),
        (changed(metric=[[1e400, 0], [0, 1]]), "must be finite"),
        (changed(ideal_point=["x", 1]), "cannot be read"),
        (changed(metric=[[1, 2], [3, 4]]), "symmetric"),
        (changed(metric=[[1]]), "not of one size"),
        (changed(scales=[0, 1]), "positive"),
        (changed(feature_names=["a"]), "list of 2 texts"),
        (changed(ideal_point=None), "an ideal point, or a slope"),
        (changed(metric=[[1e100, 0], [0, 1]], scales=[1e100, 1]), "too large for its scales"),
    ],
)
def test_a_broken_model_gets_a_sentence(text: str, words: str, run: Run) -> None:
    """Which names the file, or what does not fit."""
    Path("broken.json").write_text(text)
    refused(run("explain", "broken.json"), words)


def test_a_model_that_is_no_text_or_too_large_or_absent_gets_a_sentence(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is read beyond what a model can have."""
    Path("bytes.json").write_bytes(b"\xff\xfe\x00")
    refused(run("explain", "bytes.json"), "bytes.json is not text")
    monkeypatch.setattr("coombs.cli.model_files.LARGEST_MODEL", 1000)
    Path("large.json").write_text(" " * 1001)
    refused(run("rank", "large.json", "items.csv"), "large.json has more than")
    refused(run("explain", "nowhere.json"), "There is no file nowhere.json")
    refused(run("explain", "."), ". cannot be read")


def test_explain_says_what_a_model_holds_and_what_it_does_not(run: Run) -> None:
    """That the best size goes with the rent: one spread more of rent calls for -M_ab / M_bb of size."""
    metric = np.array([[2.0, -0.5], [-0.5, 1.0]]) / np.outer([200, 20], [200, 20])
    model = Model(metric, np.array([700.0, 75.0]), ("rent", "size"), np.array([200.0, 20.0]))
    Path("m.json").write_text(model.to_json())
    code, out, _ = run("explain", "m.json")
    assert code == 0
    assert "With rent 200 above its ideal, the best size is 10 above its own." in out
    assert re.search(r"rent +67 % +sweet spot +700", out) and "are not in a model" in out
    told = json.loads(run("explain", "m.json", "--json")[1])
    assert told["source"] == "model" and told["has_pattern"] is told["n_answers"] is told["level"] is None
    assert told["metric"] == "full" and told["ideal"][1]["value"] == 75
    assert told["trust"]["accuracy"] is told["trust"]["contradicted"] is None
    assert told["trade_offs"][0]["other_change"] == pytest.approx(10)
    best = min(np.linspace(60, 100, 401), key=lambda size: model.distance([[900.0, size]])[0])
    assert best == pytest.approx(85, abs=0.1)


def test_explain_says_of_a_model_what_the_fit_said(run: Run, shop: Path) -> None:
    """The same table, trade-offs and accuracy; findings that cannot be read are refused."""
    fitted = run("fit", "shop/items.csv", "shop/answers.csv", "--out", "taste.json")[1]
    said = {part.split("\n")[0]: part for part in run("explain", "taste.json")[1].strip().split("\n\n")}
    parts = {part.split("\n")[0]: part for part in fitted.strip().split("\n\n")}
    assert "sweet spot" in said["What matters"]
    for heading in ("What matters", "Trade-offs"):
        assert said[heading] == parts[heading]
    accuracy = re.search(r"\d+ % of the answers are predicted", said["How far to trust it"])
    assert accuracy is not None and accuracy[0] in parts["How far to trust it"]
    told = json.loads(run("explain", "taste.json", "--json")[1])
    assert told["source"] == "findings" and told["has_pattern"] and told["n_answers"] == 60
    broken = json.loads(Path("taste.json").read_text())
    for findings in (3, {}, broken["findings"] | {"ideal": "none"}):
        Path("broken.json").write_text(json.dumps(broken | {"findings": findings}))
        refused(run("explain", "broken.json"), "findings")


def test_without_a_pattern_nothing_is_given_as_a_finding(run: Run) -> None:
    """By no command: no ideal, no weights; an order only for programs, with a sentence for people."""
    write_people()
    told = json.loads(run("fit", "items.csv", "answers.csv", "--metric", "none", "--json")[1])
    assert told["has_pattern"] is False and told["ideal_point"] is None and told["ranking"] == []
    told = json.loads(run("fit", "items.csv", "answers.csv", "--pooled", "--out", "m.json", "--json")[1])
    assert told["has_pattern"] is False and told["ideal_point"] is None and len(told["ranking"]) == 8
    found = told["explanation"]
    assert not found["ranking"] and not found["trade_offs"] and found["trade_off_item"] == ""
    assert not found["trust"]["surprises"] and not found["directions"]
    for one in found["ideal"]:
        assert (one["verdict"], one["value"], one["share"]) == ("not known", None, None)
    saved = json.loads(run("explain", "m.json", "--json")[1])
    assert saved["has_pattern"] is False and not saved["directions"] and not saved["trade_offs"]
    assert all(one["value"] is None and one["verdict"] == "not known" for one in saved["ideal"])
    assert "No pattern found yet" in run("explain", "m.json")[1]
    for options in ([], ["--json"], ["--csv", "ranking.csv"]):
        code, _, err = run("rank", "m.json", "items.csv", *options)
        assert code == 0 and err.count("\n") == 1 and "no better than chance" in err


def test_explain_knows_every_kind_of_model() -> None:
    """Linear, signed, blind along a direction, and one that says nothing."""
    nothing = np.zeros((2, 2))
    unknown = np.full(2, np.nan)
    linear = Model(
        nothing, unknown, ("rent", "size"), np.array([100.0, 10.0]), np.array([0.02, -0.1]), np.zeros(2)
    )
    told = linear.explain()
    assert told.metric == "none"
    assert [one.verdict for one in told.ideal] == ["less is better", "more is better"]
    # 10 more of size is 1 better in score, which 50 more of rent takes away.
    assert [one.text for one in told.trade_offs] == ["10 more of size is worth about 50 more of rent"]
    changed_by = np.array([[told.trade_offs[0].other_change, told.trade_offs[0].change]])
    assert linear.distance(changed_by)[0] == pytest.approx(0)
    signed = Model(np.diag([1.0, -2.0]), np.zeros(2), None, None, np.zeros(2), np.zeros(2))
    told = Model(signed.metric, np.zeros(2), None, None, np.ones(2), np.zeros(2)).explain()
    assert told.metric == "signed" and "anti-ideal" in str(told) and "the middle is the worst" in str(told)
    told = Model(np.diag([1.0, 0.0]), np.zeros(2), ("rent", "size"), np.ones(2)).explain()
    assert "Along 1.00 size the model sees no difference" in str(told)
    assert told.ideal[1].verdict == "hardly matters"
    told = Model(nothing, unknown, None, None, np.zeros(2), np.zeros(2)).explain()
    assert told.metric == "nothing" and "every item is as good" in str(told) and "nan" not in str(told)


# simulate, demo, bench, serve, export and import


def test_simulate_writes_what_fit_and_rank_read(run: Run) -> None:
    """The truth ranks the items as the answers do, where there is no noise."""
    code, out, _ = run(
        "simulate", "a/b", "--items", "12", "--features", "3", "--answers", "20", "--noise", "none"
    )
    assert code == 0 and out.startswith("a/b/items.csv: 12 items with 3 features\n")
    data, *_ = read_answers("a/b/items.csv", "a/b/answers.csv")
    truth = Model.from_json(Path("a/b/truth.json").read_text())
    winners, losers, _ = data.oriented()
    distance = truth.distance(data.item_table)
    assert len(data) == 20 and (distance[winners] < distance[losers]).all()
    told = json.loads(run("simulate", "c", "--seed", "5", "--noise", "0.1", "--json")[1])
    assert told == {"items": "c/items.csv", "answers": "c/answers.csv", "truth": "c/truth.json"}
    run("simulate", "d", "--seed", "5", "--noise", "0.1")
    assert Path("c/answers.csv").read_bytes() == Path("d/answers.csv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shop"], "items.csv is there already"),
        (["file"], "cannot be made"),
        (["new", "--items", "3", "--answers", "10"], "3 items have 3 different pairs"),
        (["new", "--noise", "much"], "'much' is not none, logistic or a rate"),
        (["new", "--noise", "2"], "a rate between 0 and 1"),
        (["new", "--items", "one"], "'one' is not a positive whole number"),
    ],
)
def test_simulate_refuses_what_cannot_be(arguments: list[str], words: str, run: Run, shop: Path) -> None:
    """No file is replaced."""
    Path("file").write_text("")
    refused(run("simulate", *arguments), words)


def test_the_catalogue_ships_with_the_package() -> None:
    """64 flats with four features in natural units, and a text."""
    assert (resources.files("coombs") / "data" / "flats.csv").is_file()
    with catalogue_file() as path:
        goods = create_study(path, storage="memory:").catalogue
    assert len(goods.names) == len(set(goods.names)) == 64
    assert tuple(goods.features) == TRUTH.feature_names
    assert all(details["about"] for details in goods.details)
    low, high = goods.table.matrix.min(axis=0), goods.table.matrix.max(axis=0)
    assert ((low < TRUTH.ideal_point) & (TRUTH.ideal_point < high)).all()
    assert np.linalg.eigvalsh(TRUTH.metric).min() > 0


@pytest.mark.slow
def test_answers_that_a_study_chose_are_no_test(run: Run, tmp_path: Path) -> None:
    """An export says which questions were chosen; the fit then speaks as the study does."""
    rows = [f"{i},{i % 7},{(3 * i) % 11}" for i in range(12)]
    Path("items.csv").write_text("\n".join(["item,price,size", *rows]) + "\n")
    pairs = [(i, j) for i in range(12) for j in range(i) if i % 7 != j % 7][:40]
    answers = [f"{i},{j},{i if i % 7 < j % 7 else j}" for i, j in pairs]
    for purpose in ("information", "probe"):
        rows = [f"{answer},{purpose}" for answer in answers]
        Path(f"{purpose}.csv").write_text("\n".join(["left,right,winner,purpose", *rows]) + "\n")
    assert "should be predicted" in run("fit", "items.csv", "information.csv")[1]
    assert "are predicted from the others" in run("fit", "items.csv", "probe.csv")[1]


@pytest.mark.slow
def test_demo_learns_what_the_simulated_person_wants(run: Run) -> None:
    """The ranking is near the truth; the report is where it says."""
    pytest.importorskip("matplotlib")
    code, out, err = run("demo", "--report", "demo.html")
    assert code == 0 and not err
    assert "has answered 60 questions about 64 flats.\n" in out
    wrong = re.search(r"in the wrong order +([\d.]+)%", out)
    # 8 with a deviation of 2 over the paths that questions may take; half of them for a ranking at random.
    assert wrong is not None and float(wrong[1]) < 25
    # Whether 60 answers are a pattern hangs on the path that the questions take.
    pictures = "" if "No pattern found yet" in out else " with pictures"
    assert out.endswith(f"\nReport{pictures}: demo.html\n") and Path("demo.html").exists()
    assert len(out.splitlines()) < 100
    assert set(Path().iterdir()) == {Path("demo.html")}


@pytest.mark.slow
def test_demo_without_matplotlib_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the result, which needs no pictures."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("coombs.study.result.Result.has_pattern", True)
    code, out, _ = run("demo", "--questions", "3", "--seed", "1")
    assert code == 0 and "answered 3 questions" in out
    assert out.splitlines()[-1].startswith("No report: ") and 'pip install "coombs[plots]"' in out
    assert not list(Path().iterdir())


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Any, dict[str, Any]]]]:
    """What the page was called with, without one."""
    import types

    calls: list[tuple[Any, dict[str, Any]]] = []
    fake = types.ModuleType("coombs.web")
    fake.serve = lambda items, **settings: calls.append((items, settings))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "coombs.web", fake)
    return calls


def test_serve_opens_the_page(run: Run, served: list[tuple[Any, dict[str, Any]]]) -> None:
    """With what was given; only this machine by default."""
    assert run("serve")[0] == 0
    shown = run("serve", "f.csv", "--host", "0.0.0.0", "--port", "9", "--token", "t", "--no-browser")
    assert shown[0] == 0 and "everybody on this machine sees a token on the command line" in shown[2]
    assert run("demo", "--serve")[0] == 0
    (first, plain), (second, other), (third, demo) = served
    assert first is None and plain["host"] == "127.0.0.1" and plain["open_browser"] and plain["token"] is None
    assert second == "f.csv" and (other["host"], other["port"], other["token"]) == ("0.0.0.0", 9, "t")
    assert not other["open_browser"] and other["storage"] == "sqlite:///coombs.db"
    assert third.endswith("flats.csv") and demo["storage"] == "memory:" and demo["host"] == "127.0.0.1"
    refused(run("serve", "--port", "70000"), "from 0 to 65535")
    assert set(plain) == set(other) > set(demo)
    kept = {"features", "wishes", "shared_prior", "storage", "name"}
    kept |= {"strategy", "top", "certainty", "questions", "asking"}
    where = {"host", "port", "token", "token_file", "allowed_hosts", "proxies", "root_path"}
    run = {
        "workers",
        "metrics_from",
        "webhook_networks",
        "embed_origins",
        "log",
        "access_log",
        "open_browser",
    }
    assert set(plain) == kept | where | run


def test_serve_without_its_extra_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence."""
    monkeypatch.setitem(sys.modules, "coombs.web", None)
    refused(run("serve"), 'pip install "coombs[web]"')
    refused(run("demo", "--serve"), 'pip install "coombs[web]"')


@pytest.mark.slow
@pytest.mark.long
def test_bench_is_a_table_or_json(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CVXPY it says what to install."""
    monkeypatch.setattr("coombs.cli.bench.QUICK", ((2, 20),))
    code, out, _ = run("bench", "--quick", "--json")
    rows = json.loads(out)["rows"]
    assert code == 0 and rows[0]["what"] == "SingleStep.fit" and len(rows) == 3
    assert all(row["seconds"] > 0 for row in rows)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, out, _ = run("bench", "--quick")
    assert code == 0 and out.endswith('For the comparison: pip install "coombs[cvxpy]"\n')
    assert re.search(r"tell \+ next question +2 +20 +[\d.]+ m?s", out)


def test_studies_go_out_and_come_back(run: Run) -> None:
    """Answers as a table, or all of it."""
    study = create_study([[0.0], [1.0], [2.0]], "three")
    study.tell((2, 0))
    assert run("export", "all.jsonl")[1] == "all.jsonl: study 'three', 1 answer by 1 person\n"
    assert run("import", "all.jsonl", "--name", "again")[1] == "Study 'again': 1 answer by 1 person\n"
    assert run("export", "answers.csv", "--name", "again")[0] == 0
    assert run("import", "answers.csv", "--name", "again")[1] == "Study 'again': 0 answers more\n"
    Path("more.csv").write_text("winner,loser\n1,0\n2,0\n")
    assert run("import", "more.csv", "--name", "again")[1] == "Study 'again': 1 answer more\n"
    refused(run("export", "x.csv"), "which study is meant with --name", "'again'", "'three'")
    refused(run("export", "x.csv", "--name", "none"), "none")
    refused(run("export", "x.txt", "--name", "three"), ".csv or .parquet")
    refused(run("export", "x.csv", "--storage", "sqlite:///other.db"), "There is no database other.db")
    refused(run("import", "nowhere.csv", "--name", "three"), "There is no file nowhere.csv")
    refused(run("import", "all.jsonl", "--name", "three"), "three")
    assert not Path("other.db").exists() and not Path("x.csv").exists()


# What is printed.


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals_without_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headings are bold there, and nothing is anywhere else."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    page = [Section("What matters", ["All."]), Section("Other", ["More."])]
    text = "What matters\n------------\nAll.\n\nOther\n-----\nMore."
    for terminal, no_color, bold in ((True, "", True), (True, "1", False), (False, "", False)):
        stream = Terminal() if terminal else io.StringIO()
        monkeypatch.setattr("sys.stdout", stream)
        monkeypatch.setenv("NO_COLOR", no_color)
        output.page(page)
        assert (stream.getvalue() == f"{text}\n") == (not bold)
        assert stream.getvalue().count("\x1b[1m") == 2 * bold
        assert re.sub(r"\x1b\[1?m", "", stream.getvalue()) == f"{text}\n"


def test_a_narrow_terminal_gets_the_page_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences flow anew, tables are cut."""
    stream = Terminal()
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("LINES", "20")
    monkeypatch.setenv("NO_COLOR", "1")
    long = "A long sentence about this and that. " * 4
    output.page([Section("Title", [long, Points([long]), TableBlock("l", ["x" * 60], [["y" * 50]])])])
    assert all(len(line) <= 30 for line in stream.getvalue().splitlines())


def test_nothing_in_a_file_commands_the_terminal(run: Run) -> None:
    """Neither names of items nor names of features."""
    name = "a\x1b[31mb\ud800"
    Path("m.json").write_text(Model(np.eye(1), np.zeros(1), (name,)).to_json())
    _, out, _ = run("explain", "m.json")
    assert "\x1b" not in out and "\ud800" not in out and "a\ufffd[31mb" in out
    Path("m.json").write_text(Model(np.eye(1), np.zeros(1)).to_json())
    Path("i.csv").write_text("item,x\n\x1b[2J,1\nb\x07,2\n")
    _, out, _ = run("rank", "m.json", "i.csv")
    assert "\x1b" not in out and "\x07" not in out


def test_wide_tables_leave_columns_out_and_say_so() -> None:
    """The first ones stay."""
    heading = [f"column {k}" for k in range(20)]
    lines = table_lines(TableBlock("l" * 20, heading, [["x"] * 20]))
    assert all(len(line) <= 96 for line in lines)
    assert "column 0" in lines[0] and re.fullmatch(r"  \(and \d+ columns more\)", lines[-1])


def test_json_has_null_for_what_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    """And Python's numbers for numpy's."""
    output.as_json({"a": float("nan"), "b": np.float64(1.5), "c": (np.int64(2), float("inf"))})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": 1.5, "c": [2, None]}


# Completion.


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`coombs` is a program that shells find."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "coombs").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m coombs "$@"\n')
    (folder / "coombs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def script(shell: str) -> str:
    """What `coombs completion` prints."""
    return subprocess.run(["coombs", "completion", shell], capture_output=True, text=True, check=True).stdout


def is_there(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not there")


@is_there("bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("coombs repr", ["reproduce"]),
        ("coombs ex", ["explain", "export"]),
        ("coombs fit --m", ["--metric"]),
        ("coombs fit items.csv answers.csv --metric s", ["signed", "smooth"]),
        ("coombs fit --estimator ", list(ESTIMATORS)),
        ("coombs ask --strategy ", list(STRATEGIES)),
        ("coombs simulate --noise ", ["none", "logistic"]),
        ("coombs completion ", ["bash", "zsh", "fish"]),
        # Files, by bash itself.
        ("coombs fit ", ["-o", "default"]),
        ("coombs fit --out ", ["-o", "default"]),
    ],
)
@pytest.mark.usefixtures("on_path")
def test_bash_completes_commands_options_and_values(line: str, offered: list[str]) -> None:
    """Whatever the commands know."""
    # Outside of a completion there is no compopt; it says what it would be called with.
    code = (
        'source /dev/stdin <<< "$SCRIPT"\ncompopt() { COMPREPLY=("$@"); }\nCOMP_WORDS=($LINE)\n'
        '[[ "$LINE" == *" " ]] && COMP_WORDS+=("")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n'
        '_coombs_completion coombs\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "SCRIPT": script("bash"), "LINE": line}
    found = subprocess.run(["bash", "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert not found.stderr
    assert found.stdout.split() == offered


@is_there("fish")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("coombs ex", ["explain", "export"]),
        ("coombs fit --m", ["--metric"]),
        ("coombs fit items.csv answers.csv --metric s", ["signed", "smooth"]),
        ("coombs completion ", ["bash", "fish", "zsh"]),
    ],
)
@pytest.mark.usefixtures("on_path")
def test_fish_completes_commands_options_and_values(line: str, offered: list[str]) -> None:
    code = f"{script('fish')}complete -C {shlex.quote(line)}"
    found = subprocess.run(["fish", "--no-config", "-c", code], capture_output=True, text=True, check=True)
    assert not found.stderr
    assert sorted(one.split("\t")[0] for one in found.stdout.splitlines()) == offered


@is_there("zsh")
@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("coombs rep", "coombs reproduce"),
        ("coombs fit a.csv b.csv --metric si", "--metric signed"),
        ("coombs simulate --noi", "--noise"),
        ("coombs fit it", "coombs fit items.csv"),
        ("coombs fit items.csv ans", "items.csv answers.csv"),
    ],
)
@pytest.mark.usefixtures("on_path")
def test_zsh_completes_commands_options_values_and_files(typed: str, shown: str, tmp_path: Path) -> None:
    """In a terminal, as its completion works nowhere else."""
    pty = pytest.importorskip("pty")
    for name in ("items.csv", "answers.csv"):
        Path(name).touch()
    Path("c.zsh").write_text(script("zsh"))
    process, terminal = pty.fork()
    if not process:
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "PS1": "> ", "COLUMNS": "200"})
    seen = ""

    def wait_for(text: str) -> None:
        nonlocal seen
        end = time.monotonic() + 30
        while text not in seen:
            assert select.select([terminal], [], [], max(0, end - time.monotonic()))[0], seen
            # Bells, and spaces that are taken back, are between.
            seen += re.sub("\a| \b", "", os.read(terminal, 4096).decode(errors="replace"))

    try:
        # The answer of an echo cannot be mistaken for what was typed.
        os.write(terminal, b"autoload -Uz compinit && compinit -u -D && source c.zsh && echo rea''dy\n")
        wait_for("ready")
        seen = ""
        os.write(terminal, typed.encode() + b"\t")
        wait_for(shown)
        assert "doubled" not in seen and "error" not in seen
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_valid(shell: str, run: Run) -> None:
    """As far as the shell is here to say so."""
    code, out, _ = run("completion", shell)
    assert code == 0 and f"_COOMBS_COMPLETE={shell}_complete" in out
    if shutil.which(shell):
        Path("script").write_text(out)
        assert subprocess.run([shell, "-n", "script"]).returncode == 0
    refused(run("completion", "cmd"), "'cmd' is not one of 'bash', 'zsh', 'fish'")


# The page of the documents.


def test_the_page_is_what_the_commands_say() -> None:
    """`python -m coombs.cli.manual > docs/cli.md` makes it anew."""
    assert PAGE.read_text() == manual.page()


@pytest.mark.slow
def test_every_example_of_the_page_runs(
    run: Run, served: list[tuple[Any, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one folder; the one that makes the others' files first, beside answers of several people."""
    pytest.importorskip("matplotlib")
    write_people()
    monkeypatch.setattr("coombs.cli.bench.QUICK", ((2, 20),))
    examples = re.findall(r"^```\n(coombs .*)\n```$", PAGE.read_text(), re.MULTILINE)
    assert len(examples) == len(cli.COMMANDS)
    for example in sorted(examples, key=lambda text: "simulate" not in text):
        monkeypatch.setattr("sys.stdin", io.StringIO("left\nright\n"))
        code, out, err = run(*shlex.split(example)[1:])
        assert code == 0, f"{example}: {err}"
        assert out or "serve" in example


def test_options_are_told_in_the_page() -> None:
    """Each with its help, which no one forgot."""
    for command in cli.COMMANDS:
        context = click.Context(command)
        records = [parameter.get_help_record(context) for parameter in command.params]
        assert all(record is not None and all(record) for record in records)
