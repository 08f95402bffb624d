"""Names keep their type and are never taken for positions: another name changes nothing but the name."""

from __future__ import annotations

import io
import json
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coombs import Comparisons, IdealPoint, SingleStep, cli, create_study, import_study, load_study
from coombs.data import naming
from coombs.storage import open_storage
from coombs.study import Study

pd = pytest.importorskip("pandas")

N = 6
POINTS = np.random.default_rng(5).normal(size=(N, 2))
DISTANCE = (POINTS**2).sum(axis=1)
PAIRS = np.array([(i, j) for i in range(N) for j in range(N) if DISTANCE[i] < DISTANCE[j]])
SIGNS = np.where(np.arange(len(PAIRS)) % 3 == 0, -1, 1)
USERS = np.array([7, 3, 12] * len(PAIRS))[: len(PAIRS)]
"""Answers of a person whose ideal is the origin, (second, first) for every third."""
SHOWN = np.where(SIGNS[:, None] < 0, PAIRS[:, ::-1], PAIRS)
REFERENCE = SingleStep(POINTS).fit(SHOWN, SIGNS)

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=4)
moments = st.datetimes(datetime(1980, 1, 1), datetime(2200, 1, 1)).map(pd.Timestamp)
dates = st.dates()


def unique(names: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """As many names as there are items, which differ."""
    return st.lists(names, min_size=N, max_size=N, unique_by=naming.text)


renamings = st.one_of(
    st.permutations(range(N)),
    st.permutations(range(1, N + 1)),
    st.permutations([str(i) for i in range(N)]),
    st.permutations([float(i) for i in range(N)]),
    unique(st.integers()),
    unique(st.integers(-3, 9)),
    unique(st.floats(allow_nan=False, allow_infinity=False)),
    unique(text),
    unique(moments),
    unique(dates),
)
KINDS = {
    "permuted positions": [3, 5, 0, 1, 4, 2],
    "positions in reverse": [5, 4, 3, 2, 1, 0],
    "from one": [2, 1, 4, 3, 6, 5],
    "large": [2**63, -1, 0, 1, 2**53 + 1, 2],
    "floats": [1.0, 0.0, 2.5, -1.0, 0.1, 3.0],
    "digits": ["1", "0", "2", "5", "4", "3"],
    "words": ["tie", "left", "right", "skip", "winner", "0"],
    "days": list(pd.date_range("2026-01-01", periods=N)),
    "moments": list(pd.date_range("2026-01-01", periods=N, freq="7h")),
    "zoned": list(pd.date_range("2026-01-01", periods=N, tz="Europe/Berlin")),
}
kinds = pytest.mark.parametrize("names", KINDS.values(), ids=KINDS)


def frame(names: list[Any]) -> Any:
    """The items by these names."""
    return pd.DataFrame(POINTS, columns=["x", "y"], index=pd.Index(names))


def by_name(names: list[Any], pairs: Any = PAIRS) -> list[tuple[Any, Any]]:
    """Pairs of positions as pairs of names."""
    called = frame(names).index.tolist()
    return [(called[i], called[j]) for i, j in pairs.tolist()]


# Comparisons and estimators


@given(renamings)
@example(KINDS["large"])
@settings(max_examples=60)
def test_answers_by_name_are_about_the_items_of_those_names(names: list[Any]) -> None:
    items = frame(names)
    data = Comparisons(items, by_name(names), y=SIGNS, users=USERS)
    assert data.pairs.tolist() == PAIRS.tolist()
    assert data.item_names is not None and data.item_names.tolist() == items.index.tolist()
    assert [type(name) for name in data.item_names] == [type(name) for name in items.index.tolist()]
    assert Comparisons.from_frame(items, data.to_frame()) == data
    assert Comparisons.from_ranking(items, items.index[::-1]).pairs[0].tolist() == [N - 1, N - 2]
    assert Comparisons.concatenate([data[:3], data[3:]]) == data


@given(renamings)
@settings(max_examples=15)
def test_renaming_changes_nothing_of_a_fit_but_the_names(names: list[Any]) -> None:
    items = frame(names)
    data = Comparisons(items, by_name(names, SHOWN), y=SIGNS)
    for est in (
        SingleStep(items).fit(by_name(names, SHOWN), SIGNS),
        SingleStep().fit(data),
        SingleStep().fit(data, SIGNS),
        SingleStep().fit(data[::-1], SIGNS[::-1], np.ones(len(data))),
    ):
        assert np.allclose(est.metric_, REFERENCE.metric_, atol=1e-6)
        assert est.rank().tolist() == [items.index[i] for i in REFERENCE.rank()]
        assert np.array_equal(items.loc[est.rank()].to_numpy(), POINTS[REFERENCE.rank()])
        assert est.score(data) == est.score(data, SIGNS) == REFERENCE.score(SHOWN, SIGNS)
        assert est.predict(by_name(names)).tolist() == REFERENCE.predict(PAIRS).tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("names", [KINDS["permuted positions"], KINDS["from one"]])
def test_partial_fit_learns_of_the_same_items_whatever_their_names(names: list[Any]) -> None:
    est = IdealPoint(frame(names), metric="identity", item_effects=False).fit(by_name(names)[:12])
    est.partial_fit(by_name(names)[12:])
    assert est._data.pairs.tolist() == PAIRS.tolist()
    assert est.score(by_name(names)) > 0.9


def test_users_keep_their_type() -> None:
    """So that one of them can be chosen."""
    data = Comparisons(POINTS, PAIRS, users=USERS)
    assert data.users is not None and data.users.tolist() == USERS.tolist()
    assert len(data[data.users == 7]) == (USERS == 7).sum()
    assert Comparisons(POINTS, PAIRS[:3], users=[1, "1", 2.5]).users.tolist() == [1, "1", 2.5]  # type: ignore[union-attr]
    days = pd.Series(pd.date_range("2026-01-01", periods=3))
    assert Comparisons(POINTS, PAIRS[:3], users=days).users.tolist() == days.tolist()  # type: ignore[union-attr]
    scored = Comparisons.from_scores(POINTS, range(N), groups=[1, 1, 1, "b", "b", "b"])
    assert scored.users is not None and set(scored.users) == {1, "b"}


def test_times_out_of_an_array_name_the_items_of_those_times() -> None:
    """Numpy's times, pandas' and days are the same names."""
    days = pd.date_range("2026-01-01", periods=N)
    items = pd.DataFrame(POINTS, index=days)
    assert Comparisons(items, days.to_numpy()[PAIRS]).pairs.tolist() == PAIRS.tolist()
    assert Comparisons(items, [("2026-01-01", days[3].date())]).pairs.tolist() == [[0, 3]]
    assert Comparisons(POINTS[:2], [(0, 1)]) != Comparisons(items[:2], [(days[0], days[1])])


# Studies


def told(names: list[Any], storage: Any = "memory:") -> Study:
    """A study with all answers, by name."""
    study = create_study(frame(names), storage=storage)
    for pair, sign in zip(by_name(names, SHOWN), SIGNS.tolist(), strict=True):
        study.tell(pair, "left" if sign > 0 else "right")
    return study


def check(study: Study, names: list[Any]) -> None:
    """That a study says of the items by these names what the reference says by position."""
    called = frame(names).index.tolist()
    data = study.comparisons()
    assert data.pairs.tolist() == SHOWN.tolist() and data.y.tolist() == SIGNS.tolist()
    assert [(one.left, one.right) for one in study.history()] == by_name(names, SHOWN)
    assert data.item_names is not None
    for found in (data.item_names.tolist(), study.catalogue.labels):
        assert found == called and [type(name) for name in found] == [type(name) for name in called]


@pytest.mark.slow
@given(renamings)
@settings(max_examples=12)
def test_renaming_changes_nothing_of_a_study_but_the_names(names: list[Any]) -> None:
    storage = open_storage("memory:")
    study = told(names, storage)
    check(study, names)
    check(load_study(storage=storage), names)
    check(create_study(frame(names), storage=storage), names)
    assert {called(one) for one in study.progress().top} <= {called(one) for one in frame(names).index}


def called(name: Any) -> tuple[type, str]:
    return type(name), str(name)


@kinds
def test_export_and_import_keep_names_and_their_types(names: list[Any], tmp_path: Path) -> None:
    study = told(names)
    for ending in ("csv", "parquet"):
        study.export(tmp_path / f"answers.{ending}")
        other = create_study(frame(names), storage="memory:")
        assert other.import_answers(tmp_path / f"answers.{ending}") == len(PAIRS)
        check(other, names)
    study.export(tmp_path / "all.jsonl")
    check(import_study(tmp_path / "all.jsonl", storage=f"sqlite:///{tmp_path}/a.db"), names)
    check(load_study(storage=f"sqlite:///{tmp_path}/a.db"), names)


def test_integers_are_integers_in_json(tmp_path: Path) -> None:
    told([3, 5, 0, 1, 4, 2]).export(tmp_path / "all.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [line["name"] for line in lines if line["kind"] == "item"] == [3, 5, 0, 1, 4, 2]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("start", [0, 1])
def test_the_result_ranks_the_items_that_were_preferred(start: int) -> None:
    """Ids that permute positions: the ranking is by ids, as the top of the progress is."""
    ids = (np.random.default_rng(1).permutation(20) + start).tolist()
    quality = np.random.default_rng(2).permutation(20)
    study = create_study(pd.DataFrame({"quality": quality}, index=ids), storage="memory:", metric="none")
    order = [ids[i] for i in np.argsort(-quality)]
    for better, worse in pairwise(order):
        study.tell((better, worse))
    assert study.result().ranking == order
    assert study.progress(3).top == tuple(order[:3])


# Command line and API


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("ids", [list(range(1, 13)), list(range(11, -1, -1)), [f"{i:03}" for i in range(12)]])
@pytest.mark.long
def test_asking_about_numbered_items_ends_in_a_ranking_of_them(
    ids: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{name},{i * 7 % 5},{i / 2}" for i, name in enumerate(ids)]
    (tmp_path / "things.csv").write_text("\n".join(["Thing ID,price,size", *rows]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("left\nright\n" * 6))
    assert cli.main(["ask", "things.csv", "--questions", "12", "--json"]) == 0
    out, err = capsys.readouterr()
    assert sorted(json.loads(out)["ranking"]) == sorted(map(str, ids))
    assert "Column 'Thing ID' numbers the items" in " ".join(err.split())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("names", [KINDS["permuted positions"], KINDS["digits"], KINDS["days"]])
def test_the_command_line_gives_names_out_as_a_file_has_them(
    names: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Integers of a Parquet file stay integers; times are text in JSON."""
    monkeypatch.chdir(tmp_path)
    frame(names).to_parquet("items.parquet")
    answers = Comparisons(frame(names), by_name(names), users=USERS).to_frame()
    answers.drop(columns="winner").assign(choice="left").to_parquet("answers.parquet")
    options = ["--estimator", "single-step", "--json", "--user", "7"]
    assert cli.main(["fit", "items.parquet", "answers.parquet", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = [naming.for_json(name) for name in frame(names).index]
    assert sorted(map(str, (one["item"] for one in found["ranking"]))) == sorted(map(str, expected))
    assert {type(one["item"]) for one in found["ranking"]} == {type(name) for name in expected}
    assert found["users"] == [7]


@pytest.mark.slow
def test_the_api_gives_names_out_with_their_type() -> None:
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from coombs import web

    study = told(KINDS["permuted positions"])
    with TestClient(web.create_app(study.storage), base_url="http://127.0.0.1") as client:
        at = f"/api/respondents/{study.respondent().record.token}"
        given = client.get(f"{at}/history").json()
        assert [(one["left"], one["right"]) for one in given] == by_name(KINDS["permuted positions"], SHOWN)
        assert given[0]["winner"] == study.history()[0].winner
        turn = client.get(f"{at}/question").json()
        assert set(turn["progress"]["top"]) <= set(KINDS["permuted positions"])
        ranking = client.get(f"{at}/result").json()["ranking"]
        assert sorted(one["item"] for one in ranking) == list(range(N))
        assert client.get(f"/a/{study.respondent().record.token}/result").status_code == 200
