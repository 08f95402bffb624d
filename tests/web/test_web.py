"""The page and its API: every page and endpoint, every way in that must stay shut, every error."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import postgres
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preview_form import decisions, preview_form

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import Comparisons, IdealPoint, InputError, Model, create_study, load_study, web
from coombs.storage import open_storage
from coombs.study import Study
from coombs.web import middleware, study_cache, upload_validation
from coombs.web.fitted_result import Column, FittedResult
from coombs.web.item_cards import Cards, is_image_file, web_address
from coombs.web.pages import home
from coombs.web.pages.level_map import LETTER, _labels, level_map
from coombs.web.routing import study_called, study_path
from coombs.web.study_cache import LRUCache
from coombs.web.uploads import numbered, read_upload

FORM = {"Origin": "http://127.0.0.1"}
SCRIPT = "<script>alert(1)</script>"
TABLE = (
    "shoe,price,weight,photo,page,about\n"
    + "".join(
        f"Shoe {i},{60 + 7 * (i * 5 % 11)},{200 + 13 * (i * 3 % 7)},https://example.org/{i}.jpg,"
        f"https://example.org/{i},Number {i}\n"
        for i in range(12)
    )
).encode()


@pytest.fixture
def storage(tmp_path: Path) -> Any:
    return open_storage(f"sqlite:///{tmp_path / 'web.db'}")


@pytest.fixture
def client(storage: Any) -> Iterator[TestClient]:
    yield from _client(web.create_app(storage))


def _client(app: Any, **options: Any) -> Iterator[TestClient]:
    settings = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5), "headers": FORM} | options
    with TestClient(app, follow_redirects=False, **settings) as made:
        yield made


@pytest.fixture
def study(storage: Any) -> Study:
    items = np.random.default_rng(0).normal(size=(14, 2)).round(2)
    return create_study(items, "points", storage=storage, top=3)


def answered(study: Study, name: str, n: int = 24, ideal: float = 0.0) -> str:
    """The token of a person who wants what is near the ideal in both features."""
    person, rng = study.respondent(name), np.random.default_rng(n)
    distances = ((study.catalogue.table.matrix - ideal) ** 2).sum(axis=1)
    for _ in range(n):
        # Random pairs: questions that are chosen because their answers are open tell less of a pattern.
        one, other = map(int, rng.choice(len(distances), 2, replace=False))
        person.tell((one, other) if distances[one] < distances[other] else (other, one))
    return person.record.token


def make(
    client: TestClient, table: bytes = TABLE, name: str = "shoes", roles: Any = None, **more: str
) -> Any:
    """A study by the forms that a person uses."""
    reply = client.post("/drafts", files={"file": ("shoes.csv", table, "text/csv")})
    assert reply.status_code == 303, reply.text
    page = client.get(reply.headers["location"]).text
    data = preview_form(page, roles, name=name, create="yes", **more)
    return client.post(reply.headers["location"], data=data)


def link(client: TestClient, study: str = "shoes", person: str = "Ann") -> str:
    reply = client.post(f"/api/studies/{study}/respondents", json={"names": [person]})
    return str(reply.json()[0]["token"])


# The pages, from the start to the result.


def test_importing_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert callable(web.create_app) and callable(web.serve)
    assert list(tmp_path.iterdir()) == []


def test_start_lists_studies_and_examples(client: TestClient, study: Study) -> None:
    page = client.get("/")
    assert page.status_code == 200
    assert "points" in page.text and "14" in page.text
    assert all(f'value="{name}"' in page.text for name in home.examples())


def test_an_example_that_ships_becomes_a_study(client: TestClient) -> None:
    (name, *_) = home.examples()
    preview = client.post("/drafts", data={"example": name})
    page = client.get(preview.headers["location"])
    data = preview_form(page.text, name="mine", create="yes")
    assert page.status_code == 200 and {"names", "number"} <= set(data["role"])
    made = client.post(preview.headers["location"], data=data)
    assert made.headers["location"] == "/studies/mine"
    assert client.post("/drafts", data={"example": "none"}).status_code == 422


def test_from_file_to_result(client: TestClient, storage: Any) -> None:
    """Upload, look over, create, answer, undo, result and downloads, all by plain forms."""
    made = make(client)
    assert made.status_code == 303 and made.headers["location"] == "/studies/shoes"
    mine = client.post("/studies/shoes/answer").headers["location"]
    assert "no result before the first answer" in client.get(f"{mine}/result").text
    for _ in range(8):
        page = client.get(mine).text
        assert "https://example.org/" in page and 'src="https://example.org/' in page
        (number,) = re.findall(r'name="question" value="(\d+)"', page)
        reply = client.post(f"{mine}/tell", data={"question": number, "choice": "left"})
        assert reply.status_code == 303 and reply.headers["location"] == mine
    assert client.post(f"{mine}/undo").status_code == 303
    assert "No pattern found yet" in client.get(f"{mine}/result?whole=true").text
    answered(load_study("shoes", storage=storage), "me", 30)
    result = client.get(f"{mine}/result?whole=true").text
    for heading in (
        "Your ranking",
        "Your ideal",
        "What matters to you",
        "on a map",
        "What you trade",
        "How well it predicts",
        "What is not known",
    ):
        assert heading in result
    assert "from 37 answers" in result
    ranking = list(csv.DictReader(io.StringIO(client.get(f"{mine}/result/ranking.csv").text)))
    assert [row["rank"] for row in ranking] == [str(i) for i in range(1, 13)]
    assert {"in_top_3", "price", "rank_low"} <= ranking[0].keys()
    assert len(client.get(f"{mine}/result/answers.csv").text.splitlines()) == 38
    model = Model.from_json(client.get(f"{mine}/result/model.json").text)
    assert model.feature_names == ("price", "weight") and str(model.explain()).startswith("What matters")


@pytest.mark.parametrize("choice", ["left", "tie"])
def test_one_answer_has_a_result(client: TestClient, study: Study, choice: str) -> None:
    """However little it says, and a skip says nothing."""
    person = study.respondent("Ann")
    person.tell((0, 1), "skip")
    home = f"/a/{person.record.token}/result"
    assert (
        "There is no result" in client.get(home).text and client.get(f"{home}/ranking.csv").status_code == 404
    )
    assert client.get(f"{home}/checked").status_code == client.get(f"{home}/model.json").status_code == 404
    person.tell((2, 3), choice)
    page = client.get(f"{home}?whole=true")
    assert page.status_code == 200 and "No pattern found yet" in page.text


@pytest.mark.slow
def test_report_is_a_download(client: TestClient, study: Study) -> None:
    pytest.importorskip("matplotlib")
    reply = client.get(f"/a/{answered(study, 'Ann')}/result/report.html")
    assert reply.status_code == 200 and "attachment" in reply.headers["content-disposition"]
    assert "<h1>points: what Ann wants</h1>" in reply.text


def test_next_question_comes_as_a_part_of_the_page(client: TestClient, study: Study) -> None:
    token = study.respondent("Ann").record.token
    number = study.respondent("Ann").current()
    assert number is not None
    data = {"question": number.id, "choice": "tie"}
    part = client.post(f"/a/{token}/tell", data=data, headers={"X-Part": "question"})
    assert part.status_code == 200 and "<html" not in part.text and 'name="question"' in part.text
    other = client.post(f"/a/{token}/tell", data=data | {"choice": "left"}, headers={"X-Part": "question"})
    assert "answered already" in other.text
    assert [one.choice for one in study.respondent("Ann").history()] == ["tie"]


def test_map_of_any_two_features(client: TestClient, study: Study) -> None:
    token = answered(study, "Ann")
    part = client.get(f"/a/{token}/result/map?x=feature 1&y=feature 0", headers={"X-Part": "map"})
    assert part.text.startswith("<figure") and "<path" in part.text
    assert "<html" in client.get(f"/a/{token}/result/map?x=feature 1&y=feature 0").text
    assert client.get(f"/a/{token}/result/map?x=feature 1&y=feature 1").status_code == 422
    assert client.get(f"/a/{token}/result/map?x=no&y=feature 1").status_code == 422


@pytest.mark.slow
def test_a_map_says_where_the_other_features_are() -> None:
    """Of a signed taste the cross is the best of these two alone, others at their average."""
    items = np.random.default_rng(0).uniform(-1, 1, (30, 3))
    pairs = np.random.default_rng(1).choice(30, (80, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    scores = items[:, 0] ** 2 + items[:, 1] ** 2 - 2 * items[:, 2] ** 2
    y = np.where(scores[pairs[:, 0]] < scores[pairs[:, 1]], 1, -1)
    made = level_map(IdealPoint(items, metric="signed").fit(pairs, y), "feature 0", "feature 1")
    assert made.ideal is not None
    assert "The cross is the best for these two, the other features at their average." in made.sentence
    for metric, what in (("full", "the ideal point"), ("auto", "the best by the ideal alone")):
        made = level_map(IdealPoint(items[:, :2], metric=metric).fit(pairs, y), "feature 0", "feature 1")
        assert (made.ideal is not None) == (f"The cross is {what}." in made.sentence)


def test_an_ideal_value_stands_for_a_sweet_spot_alone(client: TestClient, storage: Any) -> None:
    """Else what is better, or, not in bold, that it is not known."""
    items = np.random.default_rng(0).uniform(0, 1, (30, 3))
    study = create_study(items, "three", storage=storage, metric="diagonal")
    person, rng = study.respondent("Ann"), np.random.default_rng(0)
    scores = 3 * items[:, 0] + 8 * (items[:, 1] - 0.5) ** 2
    for _ in range(120):
        one, other = map(int, rng.choice(30, 2, replace=False))
        person.tell((one, other) if scores[one] < scores[other] else (other, one))
    found = FittedResult(person, person.history())
    rows = {row.feature: row for row in found.ideal(found.ranking[:4])}
    assert rows["feature 0"].ideal == "less is better" and not rows["feature 0"].between
    assert 0.4 < float(rows["feature 1"].ideal) < 0.6 and " to " in rows["feature 1"].between
    page = client.get(f"/a/{person.record.token}/result?whole=true").text
    assert '<td class="number strong">less is better</td>' in page
    for row in rows.values():
        assert row.is_known or (row.ideal, row.between) == ("not known yet", "")
        assert row.is_known or '<td class="number quiet">not known yet</td>' in page


@given(
    st.lists(
        st.tuples(
            st.tuples(st.floats(58, 626), st.floats(14, 394)),
            st.text(st.characters(categories=["L"]), min_size=1, max_size=40),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_the_best_item_on_a_map_always_has_a_label_in_the_picture(
    dots: list[tuple[tuple[float, float], str]],
) -> None:
    best, *_ = _labels(dots)
    assert best is not None
    width = LETTER * len(best.text)
    left = best.x - width if best.anchor == "end" else best.x
    assert left >= 58 - 0.1 and left + width <= 626 + 0.1


@pytest.mark.slow
def test_surprising_answer_can_be_corrected(client: TestClient, study: Study) -> None:
    """One answer against all the others is shown, taken back, and asked again."""
    token = answered(study, "Ann", 30)
    person, matrix = study.respondent("Ann"), study.catalogue.table.matrix
    order = (matrix**2).sum(axis=1).argsort()
    wrong = person.tell((int(order[-1]), int(order[0])))
    page = client.get(f"/a/{token}/result/checked").text
    assert "1 surprising answer<" in page and f'/a/{token}/answers"' in page
    assert client.post(f"/a/{token}/undo", data={"answer": wrong.id}).status_code == 303
    assert wrong.id not in [one.id for one in person.history()]
    again = client.post(f"/a/{token}/undo", data={"answer": wrong.id})
    assert again.status_code == 303 and len(person.history()) == 30


def test_owner_sees_people(client: TestClient, study: Study) -> None:
    tokens = [answered(study, "Ann"), answered(study, "Bob", ideal=2.0)]
    assert client.post("/studies/points/people", data={"names": "Cid\n\nDora\nCid"}).status_code == 303
    page = client.get("/studies/points").text
    assert all(f"http://127.0.0.1/a/{token}" in page for token in tokens)
    assert study.respondents() == {"Ann": 24, "Bob": 24, "Cid": 0, "Dora": 0}
    assert "How people differ" in page
    assert client.post("/studies/points/people", data={"names": " \n"}).status_code == 422


@pytest.mark.slow
def test_answers_of_any_shape_come_in_by_a_file_and_are_shown_everywhere(client: TestClient) -> None:
    """Counted, fitted, compared, downloaded, told in words, escaped, and taken back."""
    names = [SCRIPT, *(f"tea {i}" for i in range(4))]
    items = "".join(f"{name},{i},{i % 3}\n" for i, name in enumerate(names))
    make(client, f"shoe,price,weight\n{items}".encode())
    orders = [[0, 1, 2, 4], [0, 2, 3, 4], [1, 2, 3, 4], [0, 1, 3, 4]]
    rankings = "".join(
        f"{who},{','.join(names[i] for i in order[:: -1 if who == 'Bob' else 1])}\n"
        for who in ("Ann", "Bob")
        for order in orders * 2
    )
    for table in (
        f"user,{','.join(f'rank{i}' for i in range(4))}\n{rankings}",
        f"user,item,rating\nAnn,{SCRIPT},5\nAnn,tea 3,1\n",
        f"user,option1,option2,option3,chosen\nAnn,tea 1,tea 3,{SCRIPT},{SCRIPT}\n",
    ):
        reply = client.post("/studies/shoes/answers", files={"file": ("a.csv", table.encode())})
        assert reply.status_code == 303, reply.text
    page = client.get("/studies/shoes").text
    assert re.findall(r'data-label="Answers">(\d+)<', page) == ["11", "8"]
    token = link(client)
    history = client.get(f"/api/respondents/{token}/history").json()
    assert [one["shape"] for one in history] == [*["ranking"] * 8, "rating", "rating", "choice"]
    assert (history[-1]["text"], history[-1]["left"]) == (f"{SCRIPT} chosen of 3", None)
    assert history[-1]["places"] == [[SCRIPT], ["tea 1", "tea 3"]] and history[-2]["rating"] == 1
    shown = client.get(f"/a/{token}/result?whole=true").text
    assert "from 11 answers" in shown and "The best of 5 items" in shown and SCRIPT not in shown
    assert "were predicted" not in shown
    file = client.get(f"/a/{token}/result/answers.csv").text
    assert file.startswith('"answer","shape","user","item","place","weight"')
    assert SCRIPT in file and client.get("/studies/shoes/export/study.jsonl").status_code == 200
    assert client.get(f"/a/{token}").status_code == 200
    undone = client.post(f"/a/{token}/undo", headers={"x-part": "question"}).text
    assert "Taken back: &lt;script&gt;alert(1)&lt;/script&gt; chosen of 3." in undone
    assert len(client.get(f"/api/respondents/{token}/history").json()) == 10


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"user,item,rating\nAnn,99,5\nAnn,1,2\n", "99"),
        (b"minutes_left,minutes_right,winner\n5,6,left\n7,6,left\n", "names no item of the study"),
        (b"", "is empty"),
        (None, "No file was chosen"),
    ],
)
def test_a_file_of_answers_that_cannot_be_used_gets_a_sentence(
    client: TestClient, study: Study, content: bytes | None, sentence: str
) -> None:
    sent: Any = {} if content is None else {"files": {"file": ("a.csv", content)}}
    reply = client.post("/studies/points/answers", **sent)
    assert reply.status_code == 422 and sentence in reply.text and study.respondents() == {}


def test_a_single_rating_is_no_result(client: TestClient, study: Study) -> None:
    study.add(Comparisons.from_ratings(study.catalogue.table, [0, 1], [2, 3], users=["Ann", "Bob"]))
    for token in study.links().values():
        assert client.get(f"/a/{token}").status_code == 200
        assert "There is no result before" in client.get(f"/a/{token}/result").text


def test_export_and_delete_with_confirmation(client: TestClient, study: Study) -> None:
    token = answered(study, "Ann", 3)
    assert len(client.get("/studies/points/export/answers.csv").text.splitlines()) == 4
    lines = client.get("/studies/points/export/study.jsonl").text.splitlines()
    assert json.loads(lines[0])["name"] == "points" and token not in "".join(lines)
    assert client.get("/studies/points/export/other").status_code == 422
    assert client.post("/studies/points/delete", data={"confirm": "pints"}).status_code == 422
    assert client.get(f"/a/{token}").status_code == 200
    assert client.post("/studies/points/delete", data={"confirm": "points"}).status_code == 303
    assert client.get(f"/a/{token}").status_code == 404
    assert client.get("/studies/points").status_code == 404


def test_every_pair_asked_is_said(client: TestClient, storage: Any) -> None:
    study = create_study([[0.0], [1.0]], "two", storage=storage)
    token = answered(study, "Ann", 1)
    page = client.get(f"/a/{token}").text
    assert "Every pair has been asked" in page and page.count("<h1") == 1
    assert client.get(f"/api/respondents/{token}/question").json()["question"] is None


def test_no_favourites_are_named_before_there_is_evidence_of_a_taste(
    client: TestClient, storage: Any
) -> None:
    """Not when every pair was asked, nor when a goal is reached that asks little."""
    study = create_study(np.eye(4), "four", storage=storage, certainty=0.01, probes=0)
    person = study.respondent("me")
    while (question := person.ask()) is not None:
        # Every prediction is proved wrong.
        person.tell(question, "right" if (question.probability or 0.5) >= 0.5 else "left")
        page = client.get(f"/a/{person.record.token}").text
        assert "know your favourites" not in page and " first." not in page
    assert "Every pair has been asked." in page and "no favourites can be told yet" in page


def test_pictures_in_files_are_shown_from_their_folder_alone(tmp_path: Path, storage: Any) -> None:
    folder = tmp_path / "table"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"\x89PNG")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    rows = "name,size,picture\na,1,a.png\nb,2,../secret.png\nc,3,link.png\nd,4,none.png\n"
    (folder / "items.csv").write_text(rows)
    study = create_study(str(folder / "items.csv"), "pictures", storage=storage)
    token = study.respondent().record.token
    for client in _client(web.create_app(storage, pictures=folder)):
        picture = client.get(f"/a/{token}/picture/0")
        assert picture.content == b"\x89PNG" and picture.headers["content-type"] == "image/png"
        for position in (1, 2, 3, 4, -1):
            assert client.get(f"/a/{token}/picture/{position}").status_code == 404
    for client in _client(web.create_app(storage)):
        assert client.get(f"/a/{token}/picture/0").status_code == 404
        assert "picture/0" not in client.get(f"/a/{token}").text


# Warnings about the data, in words.


def test_warnings_name_rows_and_columns() -> None:
    table = (
        "name,a,b,c,same,mixed,gap,text\n"
        + "".join(f"n{i},{i},{2 * i + 0.01 * (i % 2)},{i * i % 5},7,{i},{i},t{i}\n" for i in range(6))
        + "n6,0,0,0,7,oops,,t\n"
    )
    draft = read_upload(table.encode(), "things.csv")
    assert draft.guess().features == ("a", "b", "c", "gap")
    found = upload_validation.review(draft, draft.guess())
    columns = {one.name: (one.decision, one.reason) for one in found.columns}
    assert columns["same"] == ("shown, not learned from", "it is the same for all items")
    assert "it is not all numbers: in line 8 it is 'oops'; as a number" in columns["mixed"][1]
    assert columns["gap"] == ("number, 1 of 7 not known", "")
    assert columns["text"] == ("shown, not learned from", "it is text")
    told = " ".join(found.warnings)
    assert "only 7 items" in told
    assert "a and b go up and down together, so it will be hard to tell which of the two matters" in told
    without = {"gap": "text", "c": "text"}
    told = " ".join(upload_validation.review(draft, draft.guess(roles=without)).warnings)
    assert "cannot tell lines 2 and 8 apart: they have the same features" in told


def test_repeated_names_are_told_and_refused(client: TestClient) -> None:
    table = b"shoe,price,weight\nx,1,2\nx,2,3\ny,4,5\n"
    draft = read_upload(table, "t.csv")
    (names, *_) = upload_validation.review(draft, draft.guess()).columns
    assert "Several items are called 'x'" in names.problem
    made = make(client, table)
    assert made.status_code == 422 and "names must differ" in made.text
    assert make(client, table, roles={"shoe": "text"}).status_code == 303


def test_repeated_names_can_be_numbered(client: TestClient) -> None:
    table = b"shoe,price,weight\nPlain 1,1,2\nPlain 1,2,3\nPlain 1,3,1\nPlain 1 (2),4,5\n"
    preview = client.post("/drafts", files={"file": ("shoes.csv", table)}).headers["location"]
    assert 'name="numbered"' in client.get(preview).text
    draft = read_upload(table, "t.csv")
    choices = replace(draft.guess(), numbered=True)
    assert draft.catalogue(choices).names == ["Plain 1", "Plain 1 (3)", "Plain 1 (4)", "Plain 1 (2)"]
    found = upload_validation.review(draft, choices)
    assert not found.problems and not any(one.problem for one in found.columns)
    assert "numbered: Plain 1, Plain 1 (2)" in " ".join(found.warnings)
    assert make(client, table, numbered="true").status_code == 303


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "a (2)", "a (3)", "b (2) (2)", "b (2)"])))
def test_numbered_names_differ_and_the_first_of_each_stays(names: list[str]) -> None:
    found = numbered(names)
    assert len(set(found)) == len(names)
    assert all(found[names.index(name)] == name for name in names)


@pytest.mark.parametrize(
    ("table", "roles", "words"),
    [
        ("name,a\nx,1\n", {}, "has one row; two or more are needed"),
        ("name,a\nx,1\ny,2\n", {"name": "text", "a": "text"}, "Neither a feature nor the name is chosen"),
        ("name,a\nx,1\ny,1\n", {"a": "number"}, "All items are the same in a"),
    ],
)
def test_what_must_be_corrected_first_is_what_is_refused(
    client: TestClient, table: str, roles: dict[str, str], words: str
) -> None:
    """It stands in a list of its own, before what is good to know, and no study is made."""
    preview = client.post("/drafts", files={"file": ("t.csv", table.encode())}).headers["location"]
    data = preview_form(client.get(preview).text, roles)
    page = client.post(preview, data=data).text
    problem = page.index("Correct these first")
    assert problem < page.index(words) < page.find("Good to know") % len(page)
    assert client.post(preview, data=data | {"create": "yes"}).status_code == 422


def test_of_one_row_nothing_else_is_said() -> None:
    draft = read_upload(b"name,a,b\nx,1,\n", "t.csv")
    found = upload_validation.review(draft, draft.guess())
    assert len(found.problems) == 1 and not found.warnings


def test_many_places_are_counted() -> None:
    table = "name,a\n" + "".join(f"{'' if i % 2 else i},{i}\n" for i in range(20))
    draft = read_upload(table.encode(), "t.csv")
    (names, _) = upload_validation.review(draft, draft.guess()).columns
    assert names.problem == "There is no name in lines 3, 5, 7, 9, 11 and 5 more; every item needs one."


def test_checking_again_comes_back_to_the_choices(client: TestClient) -> None:
    preview = client.post("/drafts", files={"file": ("shoes.csv", TABLE)}).headers["location"]
    page = client.get(preview).text
    assert f'formaction="{preview}#columns"' in page and 'id="columns"' in page


@pytest.mark.parametrize(
    ("header", "row", "names", "features"),
    [
        ("id,name,price", "{i},Shoe {i},{i}", "name", ("price",)),
        ("id,Title,price", "A-{i},Shoe {i},{i}", "Title", ("price",)),
        ("price,size,item", "{i},{i},Shoe {i}", "item", ("price", "size")),
        ("id,price", "{i},{i}", "id", ("price",)),
        ("shoe,name,price", "Shoe {i},Brand {i},{i}", "shoe", ("price",)),
        ("id,name,price", "{i},{i},{i}", "id", ("name", "price")),
        ("shoe,brand_id,price", "Shoe {i},{i},{i}", "shoe", ("price",)),
        ("price,size", "{i},{i}", None, ("price", "size")),
    ],
)
def test_names_are_text_rather_than_numbers_or_ids(
    header: str, row: str, names: str | None, features: tuple[str, ...]
) -> None:
    """And ids are nothing to learn from."""
    rows = "".join(row.format(i=i) + "\n" for i in range(4))
    guess = read_upload(f"{header}\n{rows}".encode(), "t.csv").guess()
    assert (guess.names, guess.features) == (names, features)


@pytest.mark.parametrize("path", ["img/{}.png", "C:\\img\\{}.JPG", "/home/me/{}.webp", "{}.gif"])
def test_pictures_in_files_are_not_uploaded_and_that_is_said(path: str) -> None:
    table = "name,a,photo\n" + "".join(f"n{i},{i},{path.format(i)}\n" for i in range(3))
    draft = read_upload(table.encode(), "t.csv")
    guess = draft.guess()
    assert guess.of["photo"] == "text"
    *_, photo = upload_validation.review(draft, guess).columns
    assert photo.reason == (
        "it names files on your disk, which are not part of an upload; use web addresses, "
        "or start with: coombs serve t.csv"
    )
    online = read_upload(TABLE, "shoes.csv")
    assert online.guess().of["photo"] == "picture" and not online.on_disk


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["$950", '"$1,200"'], "1,200 is 1200"),
        (["950 EUR", "n/a", "-20 EUR"], "1 cell not known (n/a)"),
        (['"1,200"', '"12,000.50"'], "12,000.50 is 12000.5"),
        (["2 kg", "3 EUR"], "it is text; kept as text: EUR and kg do not convert into each other"),
        (
            ["1", "2", "$3"],
            "it is not all numbers: in line 4 it is '$3'; as a number, such cells count as not known",
        ),
    ],
)
def test_how_cells_were_read_is_said(cells: list[str], sentence: str) -> None:
    table = "name,a,price\n" + "".join(f"n{i},{i},{cell}\n" for i, cell in enumerate(cells))
    draft = read_upload(table.encode(), "t.csv")
    *_, price = upload_validation.review(draft, draft.guess()).columns
    assert price.reason == sentence


@pytest.mark.parametrize("suffix", [".xlsx", ".jsonl", ".json", ".csv"])
def test_a_table_may_be_uploaded_in_any_form(client: TestClient, suffix: str) -> None:
    rows = [{"name": f"n{i}", "price": f"{i + 1},50 €", "since": f"202{i}-01-31"} for i in range(4)]
    content = "\n".join(map(json.dumps, rows)).encode()
    if suffix == ".json":
        content = json.dumps(rows).encode()
    if suffix == ".csv":
        lines = (";".join(row.values()) for row in rows)
        content = ("name;price;since\n" + "\n".join(lines)).encode("cp1252")
    if suffix == ".xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in [list(rows[0]), *(list(row.values()) for row in rows)]:
            book.active.append(row)
        packed = io.BytesIO()
        book.save(packed)
        content = packed.getvalue()
    preview = client.post("/drafts", files={"file": (f"t{suffix}", content)}).headers["location"]
    page = client.get(preview).text
    assert decisions(page) == {"name": "the names of the items", "price": "number in €", "since": "date"}
    assert "decimal commas (4,50 is 4.5)" in page
    assert client.post(preview, data=preview_form(page, create="yes")).status_code == 303


def test_words_with_numbers_are_text() -> None:
    draft = read_upload(b"name,a,model\nx,1,BMW 320\ny,2,3a\n", "t.csv")
    assert draft.guess().of["model"] == "text"


# Files of other kinds than CSV with commas.


@pytest.mark.parametrize(("separator", "word"), [(";", "semicolons"), ("\t", "tabs")])
def test_other_separators_and_decimal_commas_are_understood_and_said(
    client: TestClient, separator: str, word: str
) -> None:
    rows = ["name,size,price,note", "a,12.5,3,x", "b,-0.75,4,y", "c,2,5,z"]
    text = "".join(row.replace(",", separator).replace(".", ",") + "\n" for row in rows)
    preview = client.post("/drafts", files={"file": ("t.csv", text.encode())}).headers["location"]
    page = client.get(preview).text
    assert f"The file has {word} between its columns and commas in its numbers; both were understood." in page
    assert preview_form(page)["role"] == ["names", "number", "number", "text"]
    draft = read_upload(text.encode(), "t.csv")
    assert draft.catalogue(draft.guess()).table.matrix.tolist() == [[12.5, 3], [-0.75, 4], [2, 5]]
    made = client.post("/api/studies", json={"name": "t", "csv": text})
    assert made.status_code == 201 and made.json()["features"] == ["size", "price"]
    plain = read_upload(text.replace(",", "").encode(), "t.csv")
    told = upload_validation.review(plain, plain.guess()).warnings
    assert f"The file has {word} between its columns, which was understood." in told


def _parquet(frame: Any, **options: Any) -> bytes:
    pytest.importorskip("pyarrow")
    content: bytes = frame.to_parquet(**options)
    return content


def test_a_parquet_file_is_read_as_the_same_table_in_csv(client: TestClient) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(io.BytesIO(TABLE))
    frame["new"] = frame["price"] > 100
    frame["gap"] = frame["weight"].where(frame.index != 3).astype("float32") + 0.5
    text, file = read_upload(frame.to_csv(index=False).encode(), "t.csv"), read_upload(_parquet(frame), "t")
    assert text.texts(20) == file.texts(20) and text.guess() == file.guess()
    *_, gap = upload_validation.review(file, file.guess()).columns
    assert gap.decision == "number, 1 of 12 not known"
    indexed = read_upload(_parquet(frame.set_index("shoe")), "t")
    assert indexed.texts(20) == text.texts(20) and indexed.guess() == text.guess()
    unnamed = read_upload(_parquet(frame[2:].drop(columns="shoe")), "t")
    assert unnamed.guess().names == "item" and unnamed.texts(1)[0][0] == "2"
    assert make(client, _parquet(frame)).status_code == 303


def test_parquet_has_the_limits_of_csv(client: TestClient) -> None:
    pandas = pytest.importorskip("pandas")
    wide = pandas.DataFrame({f"c{i}": [1] for i in range(300)})
    for content, words in (
        (_parquet(pandas.DataFrame({"a": range(20_001)})), "has 20001 rows"),
        (_parquet(wide), "has 300 columns"),
        (
            _parquet(pandas.concat([wide.iloc[:, :100]] * 10_001, ignore_index=True)),
            "more than 1000000 cells",
        ),
        (_parquet(pandas.DataFrame({"a": []})), "has no rows"),
        (_parquet(pandas.DataFrame(index=range(3))), "has no rows"),
        (_parquet(wide)[:-9], "cannot be read"),
    ):
        reply = client.post("/drafts", files={"file": ("bad.parquet", content)})
        assert reply.status_code == 422 and "bad.parquet" in reply.text and words in reply.text


@pytest.mark.parametrize("absent", ["pandas", "pyarrow.parquet"])
def test_parquet_without_its_libraries_says_what_to_install(
    absent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    content = _parquet(pandas.DataFrame({"a": [1, 2]}))
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(InputError, match=r'pip install "coombs\[frames\]"'):
        read_upload(content, "t.parquet")


def test_start_offers_the_kinds_of_files_that_can_be_read(client: TestClient) -> None:
    page = client.get("/").text
    (accepted,) = re.findall(r'accept="([^"]+)"', page)
    assert {".csv", ".xlsx", ".json", ".jsonl", ".parquet"} <= set(accepted.split(","))
    assert "CSV, Excel, JSON or Parquet" in page


def test_choices_are_checked_again_and_nothing_is_lost(client: TestClient) -> None:
    preview = client.post("/drafts", files={"file": ("shoes.csv", TABLE)}).headers["location"]
    data = preview_form(client.get(preview).text, {"weight": "log", "page": "ignore"}, name="my shoes")
    again = client.post(preview, data=data)
    assert again.status_code == 200 and preview_form(again.text) == data
    for wrong in ({"role": ["number"]}, {"role": []}, {"role": ["nope"] * 6}, {"name": " "}):
        assert client.post(preview, data=data | {"create": "yes"} | wrong).status_code == 422
    assert client.post("/drafts/gone", data={"create": "yes"}).status_code == 404


def test_a_name_that_is_taken_is_refused(client: TestClient) -> None:
    assert make(client).status_code == 303
    again = make(client)
    assert again.status_code == 409 and "already" in again.text and 'value="shoes"' in again.text


def test_a_column_that_is_no_picture_is_shown_as_text(client: TestClient, storage: Any) -> None:
    draft = read_upload(b"name,a,picture\nx,1,red\ny,2,blue\n", "t.csv")
    items = draft.catalogue(draft.guess())
    assert Cards(items).picture_column is None and items.details[0] == {"picture (text)": "red"}


# The API.


def test_ask_tell_undo_by_json(client: TestClient) -> None:
    csv_text = TABLE.decode()
    made = client.post("/api/studies", json={"name": "shoes", "csv": csv_text})
    assert made.status_code == 201 and made.json()["features"] == ["price", "weight"]
    assert client.post("/api/studies", json={"name": "shoes", "csv": csv_text}).status_code == 409
    base = f"/api/respondents/{link(client)}"
    first = client.get(f"{base}/question").json()
    assert first["question"]["left"]["features"][0]["label"] == "price"
    number = first["question"]["id"]
    told = client.post(f"{base}/tell", json={"question": number, "choice": "left"})
    assert told.status_code == 200 and told.json()["question"]["id"] != number
    assert told.json()["progress"]["n_answers"] == 1
    again = client.post(f"{base}/tell", json={"question": number, "choice": "left"})
    assert again.status_code == 200 and again.json()["progress"]["n_answers"] == 1
    other = client.post(f"{base}/tell", json={"question": number, "choice": "right"})
    assert other.status_code == 409
    assert other.json()["question"] == told.json()["question"] == again.json()["question"]
    (given,) = client.get(f"{base}/history").json()
    assert given["choice"] == "left" and given["question"] == number
    undone = client.post(f"{base}/undo", json={})
    assert undone.json()["question"]["id"] == number and undone.json()["progress"]["n_answers"] == 0
    nothing = {"has_pattern": False, "n_answers": 0, "ranking": [], "ideal_point": None}
    assert client.get(f"{base}/result").json() == nothing
    assert client.get(f"{base}/progress").json()["text"].startswith("top ")


def test_result_by_json(client: TestClient, study: Study) -> None:
    base = f"/api/respondents/{answered(study, 'Ann')}"
    result = client.get(f"{base}/result?explain=true").json()
    assert result["n_answers"] == 24 and len(result["ranking"]) == 14
    assert set(result["ideal_point"]) == {"feature 0", "feature 1"}
    assert result["explanation"]["n_items"] == 14


def test_owner_by_json(client: TestClient, study: Study) -> None:
    assert [one["name"] for one in client.get("/api/studies").json()] == ["points"]
    assert client.get("/api/studies/points").json()["n_items"] == 14
    made = client.post("/api/studies/points/respondents", json={"names": ["Ann", "Ann", "Bob"]})
    assert [one["name"] for one in made.json()] == ["Ann", "Bob"]
    listed = client.get("/api/studies/points/respondents").json()
    assert listed == made.json() and listed[0]["link"].endswith(listed[0]["token"])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"question": 10**9, "choice": "left"}, 422),
        ({"question": 2**70, "choice": "left"}, 422),
        ({"question": 1, "choice": "up"}, 422),
        ({"question": "one", "choice": "left"}, 422),
        ({"choice": "left"}, 422),
        ({"question": 1, "choice": "left", "more": 1}, 422),
        ([], 422),
    ],
)
def test_wrong_json_is_refused_with_a_sentence(
    client: TestClient, study: Study, body: Any, status: int
) -> None:
    base = f"/api/respondents/{study.respondent('Ann').record.token}"
    reply = client.post(f"{base}/tell", json=body)
    assert reply.status_code == status and isinstance(reply.json()["detail"], str)


def test_api_is_documented_without_anything_from_elsewhere(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()
    page = client.get("/docs").text
    assert len(schema["paths"]) >= 10
    for path in schema["paths"]:
        assert path in page
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)


@pytest.mark.slow
def test_two_people_at_once_get_all_their_answers(client: TestClient, study: Study) -> None:
    """Twenty threads, repeated posts included: none lost, none twice."""
    tokens = [study.respondent(f"p{i}").record.token for i in range(4)]
    bad: list[int] = []

    def work(token: str) -> None:
        base = f"/api/respondents/{token}"
        for _ in range(4):
            number = client.get(f"{base}/question").json()["question"]["id"]
            for _ in range(2):
                reply = client.post(f"{base}/tell", json={"question": number, "choice": "left"})
                bad.extend([reply.status_code] if reply.status_code != 200 else [])

    threads = [threading.Thread(target=work, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bad == [] and set(study.respondents().values()) == {4}


# Safety.


def test_a_port_that_is_taken_gets_a_sentence() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="another port"):
        web.serve(None, storage="memory:", port=taken.getsockname()[1], open_browser=False)


OWNERS = [
    "/",
    "/studies/points",
    "/studies/points/differences",
    "/studies/points/export/answers.csv",
    "/studies/points/delete",
    "/drafts/x",
    "/api/studies",
    "/api/studies/points/respondents",
]


@pytest.mark.parametrize("path", OWNERS)
def test_owner_pages_need_the_token(storage: Any, study: Study, path: str) -> None:
    for client in _client(web.create_app(storage, token="geheim-und-lange-ä")):
        refused = client.get(path)
        assert refused.status_code == 401 and "14 items" not in refused.text
        assert client.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
        client.cookies.set("coombs_owner", "geheim")
        assert client.get(path).status_code == 401


def test_login_sets_a_strict_cookie(storage: Any, study: Study) -> None:
    for client in _client(web.create_app(storage, token="geheim-und-lange")):
        assert client.post("/login", data={"token": "wrong", "to": "/"}).status_code == 401
        reply = client.post("/login", data={"token": "geheim-und-lange", "to": "/studies/points"})
        assert reply.headers["location"] == "/studies/points"
        cookie = reply.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie and "geheim" not in cookie
        assert client.get("/studies/points").status_code == 200
        assert client.post("/logout").status_code == 303
        client.cookies.clear()
        for elsewhere in ("//evil.example", "https://evil.example", "/\\evil.example"):
            sent = client.post("/login", data={"token": "geheim-und-lange", "to": elsewhere})
            assert sent.headers["location"] == "/"


def test_token_in_the_address_is_used_once(storage: Any, study: Study) -> None:
    for client in _client(web.create_app(storage, token="geheim-und-lange")):
        assert client.get("/?token=wrong").status_code == 401
        reply = client.get("/studies/points?token=geheim-und-lange")
        assert reply.status_code == 303 and reply.headers["location"] == "/studies/points"
        assert client.get("/studies/points").status_code == 200
        assert (
            client.get("/api/studies", headers={"Authorization": "Bearer geheim-und-lange"}).status_code
            == 200
        )


def test_respondents_need_no_token_and_see_only_their_own(storage: Any, study: Study) -> None:
    ann, bob = answered(study, "Ann", 2), answered(study, "Bob", 3)
    assert len(ann) >= 20 and ann != bob
    for client in _client(web.create_app(storage, token="geheim-und-lange")):
        page = client.get(f"/a/{ann}")
        assert page.status_code == 200
        assert bob not in page.text and "Bob" not in page.text and "/studies/" not in page.text
        theirs = client.get(f"/api/respondents/{bob}/history").json()
        # Ann's link does not answer Bob's questions.
        reply = client.post(
            f"/api/respondents/{ann}/tell", json={"question": theirs[0]["question"], "choice": "tie"}
        )
        assert reply.status_code == 422
        # Everybody's answers are numbered by themselves: this number is Bob's alone.
        undo = client.post(f"/api/respondents/{ann}/undo", json={"answer": theirs[-1]["id"]})
        assert undo.status_code == 422
        assert client.get(f"/api/respondents/{bob}/history").json() == theirs
        assert client.get(f"/a/{ann[:-1]}").status_code == 404


def test_without_a_token_owner_pages_are_this_machines(storage: Any, study: Study) -> None:
    app = web.create_app(storage, allowed_hosts=["box.example"])
    for client in _client(app, client=("192.168.1.7", 5)):
        assert client.get("/").status_code == 403
    for client in _client(app, base_url="http://box.example", headers={"Origin": "http://box.example"}):
        assert client.get("/").status_code == 403
        assert client.get(f"/a/{study.respondent().record.token}").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", ""])
def test_foreign_hosts_are_refused(client: TestClient, study: Study, host: str) -> None:
    for path in ("/", f"/a/{study.respondent().record.token}", "/api/studies", "/static/coombs.css"):
        assert client.get(path, headers={"Host": host}).status_code == 400


def test_known_hosts_are_served(client: TestClient) -> None:
    for host in ("localhost", "localhost:8000", "127.0.0.1:1", "[::1]:80", "LOCALHOST."):
        assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9"},
        {"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-site"},
    ],
)
def test_posts_from_other_sites_do_nothing(client: TestClient, study: Study, headers: dict[str, str]) -> None:
    token = study.respondent().record.token
    study.respondent().tell((0, 1))
    posts: list[tuple[str, dict[str, Any]]] = [
        ("/studies/points/delete", {"data": {"confirm": "points"}}),
        ("/studies/points/people", {"data": {"names": "Eve"}}),
        (f"/a/{token}/undo", {"data": {}}),
        (f"/api/respondents/{token}/undo", {"json": {}}),
        ("/drafts", {"files": {"file": ("a.csv", TABLE)}}),
    ]
    for path, body in posts:
        assert client.post(path, headers=headers, **body).status_code == 403
    assert study.respondents() == {"me": 1}


def test_a_form_without_an_origin_is_refused_and_json_is_not(storage: Any, study: Study) -> None:
    for client in _client(web.create_app(storage), headers={}):
        form = client.post("/studies/points/people", data={"names": "Eve"})
        assert form.status_code == 403
        reply = client.post("/api/studies/points/respondents", json={"names": ["Ann"]})
        assert reply.status_code == 201


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_api_takes_only_json(client: TestClient, study: Study, kind: str) -> None:
    token = study.respondent().record.token
    reply = client.post(f"/api/respondents/{token}/undo", content=b"{}", headers={"Content-Type": kind})
    assert reply.status_code == 415


def test_script_in_names_and_cells_is_text(client: TestClient) -> None:
    table = (
        f'shoe,price,"{SCRIPT}",note,page\n'
        + "".join(
            f'"{SCRIPT}{i}",{i},{i * i % 5},"""><img src=x onerror=alert(1)>",javascript:alert(1)\n'
            for i in range(6)
        )
    ).encode()
    upload = client.post("/drafts", files={"file": (f"{SCRIPT}.csv", table)})
    pages = [client.get(upload.headers["location"]).text]
    data = preview_form(pages[0], {"page": "link"}, name=SCRIPT, create="yes")
    made = client.post(upload.headers["location"], data=data)
    assert made.status_code == 303
    home = made.headers["location"]
    client.post(f"{home}/people", data={"names": f"Eve {SCRIPT}"})
    mine = client.post(f"{home}/answer").headers["location"]
    for _ in range(5):
        page = client.get(mine).text
        (number,) = re.findall(r'name="question" value="(\d+)"', page)
        pages.append(page)
        client.post(f"{mine}/tell", data={"question": number, "choice": "left"})
    pages += [client.get(path).text for path in ("/", home, f"{home}/delete", f"{mine}/result?whole=true")]
    for page in pages:
        assert "<script>alert" not in page and "<img src=x" not in page
        assert 'href="javascript:' not in page
    assert "&lt;script&gt;" in pages[-1]


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        " javascript:alert(1)",
        "data:text/html,x",
        "//evil.example",
        "data:image/svg+xml,<svg onload=x>",
        "vbscript:x",
        "http://",
        "https://a b",
        'https://a"onload=',
        "file:///etc",
        "java\nscript:alert(1)",
        "https://[",
        "/local",
        "",
    ],
)
def test_only_web_addresses_are_links(address: str) -> None:
    assert web_address(address) is None


def test_web_addresses_are_links() -> None:
    assert web_address(" https://example.org/a?b=c#d ") == "https://example.org/a?b=c#d"
    assert is_image_file("img/a.JPG")
    for path in ("../a.jpg", "/etc/a.jpg", "c:/a.jpg", "a\\b.jpg", "a.svg", "a.html"):
        assert not is_image_file(path)


def test_formulas_are_guarded_in_every_csv(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coombs.study.result.Result.has_pattern", True)
    table = b"shoe,price,weight\n" + b"".join(
        b'"=HYPERLINK(%d)",%d,%d\n' % (i, i, i * i % 5) for i in range(5)
    )
    assert make(client, table).status_code == 303
    token = link(client, person="@SUM(A1)")
    base = f"/api/respondents/{token}"
    for _ in range(3):
        number = client.get(f"{base}/question").json()["question"]["id"]
        client.post(f"{base}/tell", json={"question": number, "choice": "left"})
    for path in (
        f"/a/{token}/result/ranking.csv",
        f"/a/{token}/result/answers.csv",
        "/studies/shoes/export/answers.csv",
    ):
        cells = [cell for row in csv.reader(io.StringIO(client.get(path).text)) for cell in row]
        assert any("HYPERLINK" in cell for cell in cells)
        assert not [cell for cell in cells if cell[:1] in "=@+" and cell]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04rest", "workbook"),
        (b"\xd0\xcf\x11\xe0rest", "in Excel: Save as → .xlsx or CSV UTF-8"),
        (b"\xff\xfea\x00,", "neither UTF-8, UTF-16 nor Windows text"),
        (b"name,a\nK\x81se,1\n", "in Excel: Save as → CSV UTF-8"),
        (b"name,a\nx,\x001\n", "zero bytes"),
        (b"a|b\n1|2\n", "separate the fields by commas"),
        (b"name,a\nx,1,2\n", "the header has 2"),
        (b"name,a\n", "no rows"),
        (b"1,2\n3,4\n", "all numbers"),
        (b"a,a\n1,2\n", "names must differ"),
        (b"name," + b",".join(b"c%d" % i for i in range(300)) + b"\n" + b"1," * 300 + b"1\n", "301 columns"),
        (b"name,a\n" + b"x,1\n" * 20_001, "20001 rows"),
        (b"," * 1_200_000, "more than 1000000 cells"),
        (b";" * 1_200_000, "more than 1000000 cells"),
        (b'name,a\n"' + b"x" * 200_000 + b'",1\n', "is a quote (&#34;) left open?"),
    ],
)
def test_broken_uploads_get_a_sentence(client: TestClient, content: bytes, words: str) -> None:
    reply = client.post("/drafts", files={"file": ("bad.csv", content)})
    assert reply.status_code == 422 and words in reply.text and "bad.csv" in reply.text
    assert "/tmp" not in reply.text and "Traceback" not in reply.text


def test_uploads_are_limited(client: TestClient, study: Study) -> None:
    """By the length that is given, and by what comes if none is."""
    large = b"x" * (middleware.LARGEST_UPLOAD + 1)
    assert client.post("/drafts", files={"file": ("a.csv", large)}).status_code == 413

    def pieces() -> Iterator[bytes]:
        head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        yield head
        for _ in range(11):
            yield b"x" * 2**20

    streamed = client.post(
        "/drafts", content=pieces(), headers={"Content-Type": "multipart/form-data; boundary=b"}
    )
    assert streamed.status_code == 413 and "10 MB" in streamed.text
    token = study.respondent().record.token
    reply = client.post(
        f"/api/respondents/{token}/undo",
        content=b" " * (middleware.LARGEST_FORM + 1),
        headers={"Content-Type": "application/json"},
    )
    assert reply.status_code == 413 and "detail" in reply.json()


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "a/b",
        "..",
        ".",
        "100 %",
        "a%2Fb",
        "x'; DROP TABLE studies;--",
        "ünï ☕",
        "a?b#c",
        "a\\b",
        '" onclick="x',
    ],
)
def test_any_name_is_only_a_name(client: TestClient, name: str) -> None:
    """Path tricks and SQL in names of studies, people and files: kept as they are, and found again."""
    made = make(client, name=name)
    assert made.status_code == 303
    home = made.headers["location"]
    assert client.get(home).status_code == 200
    assert study_called(unquote(home.removeprefix("/studies/"))) == name and home == study_path(name)
    assert client.post(f"{home}/people", data={"names": name}).status_code == 303
    listed = client.get(f"/api{home}").json()
    assert listed["name"] == name and [one["name"] for one in listed["respondents"]] == [name]
    saved = client.get(f"{home}/export/study.jsonl").headers["content-disposition"]
    assert re.fullmatch(r'attachment; filename="[A-Za-z0-9._-]+"', saved)
    assert client.post(f"{home}/delete", data={"confirm": name}).status_code == 303
    assert client.get("/api/studies").json() == []


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/a/../studies/points",
        "/a/%00",
        "/a/' OR 1=1 --",
        "/a/" + "x" * 3000,
        "/drafts/..%2f..%2fetc",
    ],
)
def test_path_tricks_lead_nowhere(client: TestClient, study: Study, path: str) -> None:
    reply = client.get(path)
    assert reply.status_code in (404, 422) or path == "/a/../studies/points"
    assert "import" not in reply.text and "Traceback" not in reply.text


def test_file_names_with_paths_are_only_names(client: TestClient) -> None:
    reply = client.post("/drafts", files={"file": ("../../etc/cron.d/evil.csv", TABLE)})
    assert "<h1>evil.csv</h1>" in client.get(reply.headers["location"]).text


def test_every_response_has_the_headers(client: TestClient, study: Study) -> None:
    token = study.respondent().record.token
    for path in ("/", f"/a/{token}", "/api/studies", "/none", "/static/answer.js", f"/a/{token}/result"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert (
            "unsafe" not in policy and "frame-ancestors 'none'" in policy and "default-src 'none'" in policy
        )
        assert headers["x-content-type-options"] == "nosniff"
        # Nothing of an address goes to another site.
        assert headers["referrer-policy"] in ("no-referrer", "same-origin")
        assert headers["cache-control"] == ("public, max-age=3600" if "static" in path else "no-store")


@pytest.mark.slow
def test_pages_have_nothing_inline_or_from_elsewhere(client: TestClient, study: Study) -> None:
    token = answered(study, "Ann", 4)
    for path in ("/", "/studies/points", f"/a/{token}", f"/a/{token}/result?whole=true", "/docs", "/login"):
        page = client.get(path).text
        assert not re.findall(r"<script>|<style|\sstyle=|\son\w+=", page)
        assert not re.findall(r'(?:src|href)="(?:https?:)?//(?!127\.0\.0\.1)', page)


def test_a_fault_while_learning_costs_nobody_an_answer(
    client: TestClient, study: Study, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError("a fault of ours")

    monkeypatch.setattr("coombs.study.online_model.OnlineModel.update", fail)
    base = f"/api/respondents/{study.respondent().record.token}"
    for number in range(1, 4):
        asked = client.get(f"{base}/question").json()["question"]["id"]
        told = client.post(f"{base}/tell", json={"question": asked, "choice": "left"})
        assert told.status_code == 200 and told.json()["progress"]["n_answers"] == number
    assert "a fault of ours" in caplog.text


def test_an_undo_that_is_sent_twice_takes_back_one_answer(client: TestClient, study: Study) -> None:
    """As a page does when the reply to the first was lost."""
    token = answered(study, "Ann", 5)
    page = client.get(f"/a/{token}").text
    (last,) = re.findall(r'class="undo"[^>]* name="answer" value="(\d+)"', page)
    for _ in range(2):
        assert client.post(f"/a/{token}/undo", data={"answer": last}).status_code == 303
    assert len(study.respondent("Ann").history()) == 4


# How far it is.


def bar(page: str) -> tuple[int, str]:
    """What the bar shows, and what is said beside it."""
    found = re.search(r'aria-valuenow="(\d+)" aria-valuetext="([^"]*)"', page)
    assert found is not None
    return int(found[1]), found[2]


@pytest.mark.slow
def test_the_bar_does_not_go_back_whichever_process_shows_it(tmp_path: Path) -> None:
    """Two servers over one file, which learn from the same answers with other draws, and restarts."""
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    items = np.random.default_rng(0).normal(size=(14, 2)).round(2)
    person = create_study(items, "points", storage=url, top=3, certainty=0.6).respondent("Ann")
    home, matrix, shown = f"/a/{person.record.token}", items, []
    for k in range(6):
        # A new app is a restart; the other one has learned from all answers so far, one by one.
        apps = [_client(web.create_app(url)) for _ in range(2)]
        clients = [next(app) for app in apps]
        for j in range(8):
            shown += [bar(one.get(home).text)[0] for one in clients]
            turn = clients[(j + k) % 2].get(f"/api{home.replace('/a/', '/respondents/')}/question").json()
            question = turn["question"]
            if question is None:
                break
            left, right = (matrix[question[side]["position"]] for side in ("left", "right"))
            choice = "left" if (left**2).sum() < (right**2).sum() else "right"
            clients[j % 2].post(f"{home}/tell", data={"question": question["id"], "choice": choice})
        for app in apps:
            app.close()
    assert shown == sorted(shown) and shown[0] == 0 and shown[-1] > 50


def test_after_a_restart_answers_are_being_read_and_the_bar_is_where_it_was(
    storage: Any, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = answered(study, "Ann", 20)
    study.respondent("Ann").ask()
    far = study.respondent("Ann").progress().fraction
    monkeypatch.setattr("coombs.web.learning.learning_queue.LearningQueue.update", lambda *_, **__: None)
    for client in _client(web.create_app(storage)):
        page = client.get(f"/a/{token}").text
        assert bar(page) == (round(100 * far), "reading your 20 answers") and far > 0
        assert "Reading your 20 answers" in page and "certain yet" not in page


def test_the_bar_may_go_back_where_answers_are_undone(client: TestClient, study: Study) -> None:
    person, matrix = study.respondent("Ann"), study.catalogue.table.matrix
    token = person.record.token
    for _ in range(12):
        question = person.ask()
        assert question is not None
        left, right = (matrix[list(question.positions)] ** 2).sum(axis=1)
        person.tell(question, "left" if left < right else "right")
    before = bar(client.get(f"/a/{token}").text)[0]
    for _ in range(12):
        client.post(f"/a/{token}/undo")
    assert bar(client.get(f"/a/{token}").text)[0] == 0 < before


# Words for people.


@pytest.mark.slow
def test_answers_without_a_pattern_are_not_made_into_a_taste(client: TestClient, study: Study) -> None:
    """Not those that all are contradicted; answers at random might have a pattern by accident."""
    person = study.respondent("Ann")
    for first in range(10):
        for second in (first + 1, first + 4):
            person.tell((first, second))
            person.tell((second, first))
    page = client.get(f"/a/{person.record.token}/result?whole=true").text
    assert "<h1>No pattern found yet</h1>" in page and "<title>No pattern found yet" in page
    for finding in (
        'id="best"',
        'class="place',
        "ideal, beside",
        "on a map",
        "trades for",
        "fit together",
        "model.json",
    ):
        assert finding not in page
    assert "<details" not in page
    assert "Careful" not in page and "was learned" not in page
    for part in ("map?x=feature 0&y=feature 1", "ranking.csv"):
        refused = client.get(f"/a/{person.record.token}/result/{part}")
        assert refused.status_code == 404 and "no more than tossing a coin" in refused.text
    plain = client.get(f"/api/respondents/{person.record.token}/result?explain=true").json()
    assert plain["has_pattern"] is plain["explanation"]["has_pattern"] is False
    assert plain["ideal_point"] is None and plain["what_matters"] == [] == plain["explanation"]["ranking"]
    assert np.isnan(person.result().ideal_point).all()
    for word in ("R-hat", "random_state", "log loss", "metric=", "anti-ideal", "kind in use", "Bradley"):
        assert word not in page
    steady = client.get(f"/a/{answered(study, 'Bob', 30)}/result?whole=true").text
    assert "No pattern" not in steady and 'id="best"' in steady
    # That a model agrees with its own answers says nothing of how well it predicts.
    assert "agrees with" not in steady


@pytest.mark.slow
def test_ties_alone_are_no_pattern(client: TestClient, study: Study) -> None:
    person = study.respondent("Ann")
    for _ in range(4):
        person.tell(person.ask(), "tie")
    assert "No pattern found yet" in client.get(f"/a/{person.record.token}/result?whole=true").text


@pytest.mark.slow
def test_always_one_side_is_named_and_nothing_is_made_of_it(client: TestClient, study: Study) -> None:
    person = study.respondent("Ann")
    for _ in range(15):
        person.tell(person.ask(), "left")
    home = f"/a/{person.record.token}/result"
    page = client.get(f"{home}?whole=true").text
    assert "Ann always chose the left item: 15 of 15 times." in page and 'id="best"' not in page
    assert "You always chose the left item" in str(person.result())
    plain = client.get(f"/api/respondents/{person.record.token}/result").json()
    assert plain["has_pattern"] is False and plain["response_style"]["is_straight_lining"] is True
    assert plain["conduct"] == plain["response_style"]
    assert not person.result().explain().has_pattern and plain["ideal_point"] is None
    report = client.get(f"{home}/report.html").text
    assert "<title>No pattern found yet: points: the answers of Ann</title>" in report


@pytest.mark.slow
def test_the_report_of_ones_own_answers_says_you(client: TestClient, study: Study) -> None:
    pytest.importorskip("matplotlib")
    report = client.get(f"/a/{answered(study, 'me', 20)}/result/report.html").text
    assert "<title>points: what you want</title>" in report and "what me" not in report


@pytest.mark.slow
def test_the_owner_reads_of_somebody_elses_taste_as_theirs(client: TestClient, study: Study) -> None:
    page = client.get(f"/a/{answered(study, 'Ann')}/result?whole=true").text
    assert "The ranking of Ann" in page and "What matters to Ann" in page and "Your" not in page
    mine = client.get(f"/a/{answered(study, 'me')}/result?whole=true").text
    assert "Your ranking" in mine and "<title>Which one, and why" in mine


def test_an_ideal_is_told_as_far_as_items_go() -> None:
    column = Column(np.array([5.0, 10.0, 56.0]))
    assert (column.ideal(-4.0), column.ideal(80.0), column.ideal(17.94)) == ("5 or less", "56 or more", "18")
    assert [column.between(*ends) for ends in ((-12.0, 32.2), (30.0, 70.0), (9.0, 21.0), (-5.0, 99.0))] == [
        "up to 32",
        "30 or more",
        "9 to 21",
        "",
    ]
    assert Column(np.array([7.0, 7.0])).ideal(7.0) == "-"
    assert Column(np.array([335594.22, 1.0])).text(335594.22) == "335\u202f594.22"


def test_links_of_this_computer_are_said_to_be_so(client: TestClient, study: Study) -> None:
    study.respondent("Ann")
    assert "These links open on this computer only" in client.get("/studies/points").text
    for other in _client(
        web.create_app(study.storage, token="geheim-und-lange"), base_url="http://192.0.2.7"
    ):
        other.get("/?token=geheim-und-lange")
        assert "on this computer only" not in other.get("/studies/points").text


# Another storage.


@pytest.mark.slow
def test_a_study_in_postgresql_goes_from_the_table_to_the_result() -> None:
    storage = open_storage(postgres.fresh_url())
    for client in _client(web.create_app(storage, processes=1)):
        new = client.post("/api/studies", json={"name": "flats", "csv": TABLE.decode()})
        assert new.status_code == 201
        made = client.post("/api/studies/flats/respondents", json={"names": ["Ann", "Bo"]})
        for person in made.json():
            where = f"/api/respondents/{person['token']}"
            turn = client.get(f"{where}/question").json()
            for _ in range(5):
                said = {"question": turn["question"]["id"], "choice": "left"}
                turn = client.post(f"{where}/tell", json=said).json()
            assert client.post(f"{where}/undo", json={}).json()["progress"]["n_answers"] == 4
            assert len(client.get(f"{where}/result").json()["ranking"]) == 12
            assert client.get(f"/a/{person['token']}/result").status_code == 200
        assert client.get("/studies/flats").status_code == 200
    assert [one.n_answers for one in storage.studies()] == [8]
    storage.close()


# Errors.


def test_errors_are_pages_for_people_and_json_for_programs(client: TestClient) -> None:
    page = client.get("/none")
    assert page.status_code == 404 and "<h1>Not found</h1>" in page.text
    assert "nobody" in client.get("/a/unknown").text
    assert client.get("/api/respondents/unknown/question").json() == {
        "detail": "This link is nobody's; ask whoever made the study for a new one."
    }
    assert client.get("/studies/unknown").status_code == 404
    assert client.post("/").status_code == 405
    assert client.post("/drafts").status_code == 422
    assert client.post("/a/unknown/tell", data={"question": "x"}).status_code == 422


def test_a_fault_shows_no_traceback(
    client: TestClient, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("coombs.study.respondent.Respondent.turn", fail)
    token = study.respondent().record.token
    page = client.get(f"/a/{token}")
    assert page.status_code == 500 and "secret" not in page.text and "stored" not in page.text
    assert "x-content-type-options" in page.headers
    reply = client.get(f"/api/respondents/{token}/question")
    assert reply.status_code == 500 and "secret" not in reply.text


def test_storage_that_is_down_is_said_and_nothing_is_lost(
    client: TestClient, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = answered(study, "Ann", 2)
    base = f"/api/respondents/{token}"
    number = client.get(f"{base}/question").json()["question"]["id"]

    def fail(*_: Any, **__: Any) -> None:
        raise sqlite3.OperationalError("disk I/O error at /secret/path")

    with monkeypatch.context() as patch:
        patch.setattr(type(study.storage), "add_answer", fail)
        reply = client.post(f"{base}/tell", json={"question": number, "choice": "left"})
        assert reply.status_code == 503 and "secret" not in reply.text
        page = client.post(f"/a/{token}/tell", data={"question": number, "choice": "left"})
        assert page.status_code == 503 and "storage does not answer" in page.text
    assert client.post(f"{base}/tell", json={"question": number, "choice": "left"}).status_code == 200
    assert len(study.respondent("Ann").history()) == 3


# What is kept at hand.


def test_cache_keeps_the_latest_used() -> None:
    cache: LRUCache[int] = LRUCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)


def test_people_that_fell_out_come_back_as_they_were(
    client: TestClient, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: Any = client.app
    app.state.cache._people.most = 1
    tokens = [answered(study, name, 2) for name in ("Ann", "Bob")]
    for token in tokens * 2:
        assert client.get(f"/api/respondents/{token}/progress").json()["n_answers"] == 2


def test_who_is_idle_is_dropped_from_memory_and_comes_back_as_they_were(
    client: TestClient, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: Any = client.app
    cache, token = app.state.cache, answered(study, "Ann", 2)
    base = f"/api/respondents/{token}"
    asked = client.get(f"{base}/question").json()["question"]
    cache.forget_idle()
    assert cache._people.get(token) is not None
    monkeypatch.setattr(study_cache, "IDLE_SECONDS", -1.0)
    cache.forget_idle()
    assert cache._people.get(token) is None
    again = client.get(f"{base}/question").json()
    assert again["progress"]["n_answers"] == 2 and again["question"] == asked


def test_a_study_made_anew_elsewhere_is_seen(client: TestClient, study: Study) -> None:
    from coombs.study import delete_study

    old = study.respondent().record.token
    assert client.get(f"/a/{old}").status_code == 200 and client.get("/studies/points").status_code == 200
    delete_study("points", storage=study.storage)
    create_study([[1.0], [2.0], [3.0]], "points", storage=study.storage)
    assert "3 items" in client.get("/studies/points").text
    number = client.get(f"/api/respondents/{old}/question")
    assert number.status_code in (404, 422, 503)


@pytest.mark.parametrize("header", ["Item ID", "car_id", "thing"])
def test_a_column_that_numbers_items_is_their_name_and_the_preview_says_so(
    client: TestClient, header: str
) -> None:
    """On the page and by the API; who wants to learn from it says so."""
    rows = [f"{i},{i * 7 % 11},{i * 5 % 13}" for i in range(1, 11)]
    table = "\n".join([f"{header},price,size", *rows])
    draft = read_upload(table.encode(), "things.csv")
    choices = draft.guess()
    assert choices.names == header and choices.features == ("price", "size")
    (first, *_) = upload_validation.review(draft, choices).columns
    assert (first.decision, first.reason) == ("the names of the items", "it numbers the items")
    made = client.post("/api/studies", json={"name": "a", "csv": table}).json()
    assert made["features"] == ["price", "size"]
    body = {"name": "b", "csv": table, "features": [header, "price"]}
    assert client.post("/api/studies", json=body).json()["features"] == [header, "price"]


def test_former_names_in_the_api_are_said_to_be_deprecated() -> None:
    schema = web.create_app("memory:").openapi()
    fields = schema["components"]["schemas"]["ProgressOut"]["properties"]
    assert "Deprecated" in fields["far"]["description"] and "fraction" in fields
    result = schema["paths"]["/api/respondents/{token}/result"]["get"]["description"]
    assert "`conduct`, the same, is deprecated" in result


def test_categories_are_learned_from() -> None:
    towns, words = ("coast", "rural", "urban"), ("no", "yes")
    rows = [f"flat {i},{i * 10 + 50},{towns[i % 3]},{words[i % 2]}" for i in range(12)]
    draft = read_upload("\n".join(["name,size,town,balcony", *rows]).encode(), "flats.csv")
    choices = draft.guess()
    assert choices.features == ("size", "town", "balcony")
    goods = draft.catalogue(choices)
    assert goods.columns == ["size", "town", "balcony"]
    assert goods.features == ["size", "town=coast", "town=rural", "town=urban", "balcony"]
