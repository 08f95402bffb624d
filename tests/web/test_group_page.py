"""The group's page: groups, everybody, consensus, tables to take away; computed beside the page."""

from __future__ import annotations

import csv
import io
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import Comparisons, create_study, load_study, web
from coombs.insights.people_pictures import PeopleBand
from coombs.study import Study
from coombs.study.everybody import everybody_answers
from coombs.web import group_result
from coombs.web.learning.group_learning import GroupLearner
from coombs.web.pages.people_pictures_svg import band_rows

PAGE = "/studies/flats/differences"
SCRIPT = "<script>alert(1)</script>"
FORMULA = "=1+1"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linear tastes only, which take a moment."""
    monkeypatch.setattr(group_result, "METRIC", "none")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    app = web.create_app(f"sqlite:///{tmp_path / 'web.db'}")
    settings = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5)}
    with TestClient(app, follow_redirects=False, headers={"Origin": "http://127.0.0.1"}, **settings) as made:
        yield made


def camps(client: TestClient, n_people: int = 16, n_answers: int = 12, coins: bool = False) -> Study:
    """A study of flats, half of whose people want large ones, the others small ones; all cheap ones."""
    rng = np.random.default_rng(0)
    flats = pd.DataFrame(rng.uniform(0, 1, (12, 2)).round(3), columns=["rent", "size"])
    flats.index = [FORMULA, SCRIPT, *(f"flat {i}" for i in range(2, 12))]
    scaled = ((flats - flats.mean()) / flats.std()).to_numpy()
    tastes = np.array([[-1.5, 4.0], [-1.5, -4.0]])[np.arange(n_people) % 2] * (not coins)
    users = np.repeat(np.arange(n_people), n_answers)
    pairs = rng.permuted(np.tile(np.arange(12), (len(users), 1)), axis=1)[:, :2]
    utility = (scaled[pairs] * tastes[users][:, None]).sum(axis=2)
    y = np.where(rng.random(len(users)) < expit(utility[:, 0] - utility[:, 1]), 1, -1)
    study = create_study(flats, "flats", storage=client.app.state.cache.storage)  # type: ignore[attr-defined]
    names = np.array(["=cmd()", SCRIPT, *(f"person {i}" for i in range(2, n_people))])
    study.add(Comparisons(flats, flats.index.to_numpy()[pairs], y, users=names[users]))
    return study


def finished(client: TestClient, path: str = PAGE) -> str:
    """The page once all answers are in it; a slow machine has a minute."""
    begin = time.monotonic()
    while time.monotonic() - begin < 60:
        if client.get(f"{PAGE}/progress").json()["done"]:
            return client.get(path).text
        time.sleep(0.05)
    raise AssertionError("The group's page is not ready after a minute.")


def test_groups_come_first_with_what_each_wants_and_everybody_is_in_the_table(client: TestClient) -> None:
    camps(client)
    page = finished(client)
    groups, everybody = page.index("The groups, and what each wants"), page.index('id="everybody"')
    assert groups < everybody and "They are 2 groups" in page
    assert "more size" in page and "less size" in page and "8 people, 50 %" in page
    assert page.count('/result">') == 16 and "Items that divide people" in page
    assert "surely liked by 50 %, surely not by 50 %" in page
    assert SCRIPT not in page and "style=" not in page and "<script>" not in page


def test_what_goes_with_what_people_said_of_themselves_is_told(client: TestClient) -> None:
    """Who wants large flats has children, and height tells nothing."""
    study = camps(client, n_people=24)
    choices = [
        {"label": "Children", "kind": "choice", "choices": ["some", "none"]},
        {"label": "Height", "kind": "number"},
        {"label": "Remarks"},
    ]
    study.present(fields=choices)
    state = study.storage.state(study.record.id)
    for place, person in enumerate(study.respondents()):
        said = {"Children": ("some", "none")[place % 2], "Height": str(160 + place % 3), "Remarks": "-"}
        study.storage.set_fields(study.respondent(person).record.id, said)
    assert study.storage.state(study.record.id) > state
    page = finished(client)
    assert "Children: some want more size than others" in page
    assert "Children: none want less size than others" in page
    assert "Nothing is found to go with: Height." in page
    assert "They are 2 groups" in page


def test_a_group_is_shown_alone_and_one_that_is_not_there_is_not_found(client: TestClient) -> None:
    camps(client)
    whole, page = finished(client), client.get(f"{PAGE}?group=1").text
    assert "Everybody in group 1" in page and page.count('/result">') == 8 < whole.count('/result">')
    assert client.get(f"{PAGE}?group=7").status_code == 404


def test_coin_tossers_are_put_into_no_group_and_nothing_is_claimed(client: TestClient) -> None:
    camps(client, coins=True)
    page = finished(client)
    assert "No pattern found yet" in page and "no better than by tossing a coin" in page
    assert "what each wants" not in page and "Best for" not in page and "consistency" not in page
    table = client.get(f"{PAGE}/people.csv").text
    assert table.splitlines()[0] == '"user","answers"' and len(table.splitlines()) == 17


def test_the_table_has_a_row_a_person_and_no_formula(client: TestClient) -> None:
    camps(client)
    finished(client)
    rows = list(csv.reader(io.StringIO(client.get(f"{PAGE}/people.csv").text)))
    assert len(rows) == 17 and rows[1][0] == "'=cmd()"
    assert {"answers", "consistency", "group", "weight: size", "ideal: size", "rank: flat 3"} <= {*rows[0]}
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]
    pytest.importorskip("pyarrow")
    whole = pd.read_parquet(io.BytesIO(client.get(f"{PAGE}/people.parquet").content))
    assert whole["user"][0] == "=cmd()" and whole.shape == (16, len(rows[0]))
    ranks = whole.filter(like="rank: ").to_numpy()
    assert (np.sort(ranks, axis=1) == np.arange(1, 13)).all()


def test_an_answer_more_is_learned_from_and_the_page_says_that_it_is_not_yet(client: TestClient) -> None:
    study = camps(client, 8, 6)
    assert "48 answers" in finished(client)
    study.respondent("person 2").tell(("flat 3", "flat 4"))
    learner: Any = client.app.state.groups  # type: ignore[attr-defined]
    go_on = threading.Event()
    learner._threads.submit(go_on.wait, 60)
    page = client.get(PAGE).text
    assert "Answers have changed since" in page and "48 answers" in page
    assert client.get(f"{PAGE}/people.csv").status_code == 303
    go_on.set()
    assert "49 answers" in finished(client)
    study.respondent("person 2").undo()
    assert "48 answers" in finished(client)


def test_nobody_waits_for_it(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is computed other pages are served, and this one has a bar; also without a script."""
    camps(client)
    go_on = threading.Event()
    real = group_result.group_result

    def slow(data: Any, advance: Any, **_: Any) -> Any:
        advance(0.25)
        go_on.wait(60)
        return real(data, advance)

    monkeypatch.setattr("coombs.web.learning.group_learning.group_result", slow)
    page = client.get(PAGE)
    assert page.status_code == 200 and "<progress" in page.text and 'http-equiv="refresh"' in page.text
    assert client.get("/studies/flats").status_code == 200
    assert client.get(f"{PAGE}/progress").json() == {"fraction": 0.25, "done": False}
    assert client.get("/api/studies/flats/people").json()["result"] is None
    go_on.set()
    assert "<progress" not in finished(client)


def test_fewer_than_two_people_and_failures_get_a_sentence(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = create_study([[0.0], [1.0]], "flats", storage=client.app.state.cache.storage)  # type: ignore[attr-defined]
    assert "nobody to compare yet" in finished(client)
    study.tell((0, 1))
    assert "nobody to compare yet" in finished(client)

    def broken(*_: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr("coombs.web.learning.group_learning.group_result", broken)
    study.respondent("Ann").tell((0, 1))
    assert "could not be computed" in finished(client)
    assert client.get(f"{PAGE}/people.csv").status_code == 303
    assert client.get(f"{PAGE}/people.xls").status_code == 404


def test_the_api_has_groups_people_and_consensus(client: TestClient) -> None:
    camps(client)
    finished(client)
    told = client.get("/api/studies/flats/people").json()
    assert told["is_current"] and told["fraction"] == 1 and told["problem"] is None
    result = told["result"]
    assert result["has_pattern"] and [len(one["members"]) for one in result["groups"]] == [8, 8]
    assert len(result["people"]) == 16 and {*result["consensus"]} == {"all", "1", "2"}
    assert result["explanation"]["n_answers"] == 192
    other = TestClient(client.app, base_url="http://127.0.0.1", client=("192.0.2.7", 5))
    assert other.get("/api/studies/flats/people").status_code in (401, 403)
    assert other.get(PAGE).status_code in (401, 403)


def test_names_without_features_are_compared_too(client: TestClient) -> None:
    names = ["tea", "milk", "mocha", "water", "juice"]
    study = create_study(names, "flats", storage=client.app.state.cache.storage)  # type: ignore[attr-defined]
    for who, order in (("Ann", names), ("Bob", names), ("Cy", names)):
        person = study.respondent(who)
        for i, winner in enumerate(order):
            for loser in order[i + 1 :]:
                person.tell((winner, loser))
    page = finished(client)
    assert "Best for all" in page and "tea" in page and "People on a map" not in page


@pytest.mark.slow
def test_a_process_beside_the_page_tells_the_same_and_one_that_dies_is_made_up_for(tmp_path: Path) -> None:
    app = web.create_app(f"sqlite:///{tmp_path / 'web.db'}")
    with TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 5)) as made:
        camps(made)
        finished(made)
        here = made.get("/api/studies/flats/people").json()["result"]["explanation"]["n_people"]
    study = load_study("flats", storage=f"sqlite:///{tmp_path / 'web.db'}")
    learner = GroupLearner(1)
    state = learner.state(study, 120)
    assert state.is_current and state.result is not None and state.result.told.n_people == here
    assert learner._pool is not None
    learner._pool.end_processes()
    study.respondent("person 3").tell(("flat 3", "flat 4"))
    assert learner.state(study, 120).is_current
    learner.close()


@pytest.mark.slow
def test_a_process_is_ready_once_the_owner_looked_at_the_study(tmp_path: Path) -> None:
    """It has imported what it takes by then; a study of one person needs none."""
    app = web.create_app(f"sqlite:///{tmp_path / 'web.db'}", processes=1)
    with TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 5)) as made:
        learner = app.state.groups
        study = camps(made, n_people=2)
        assert learner._pool is None
        made.get(f"/studies/{study.name}").raise_for_status()
        while learner._pool is None:
            time.sleep(0.01)
        pool = learner._pool
        assert learner.state(study, 120).is_current and learner._pool is pool


@pytest.mark.slow
def test_a_server_that_stops_does_not_wait_for_the_group(tmp_path: Path) -> None:
    """What is being computed in a process is dropped, and not begun again in this one."""
    url = f"sqlite:///{tmp_path / 'web.db'}"
    with TestClient(web.create_app(url), base_url="http://127.0.0.1", client=("127.0.0.1", 5)) as made:
        camps(made)
    learner, study = GroupLearner(1), load_study("flats", storage=url)
    learner.state(study)
    while learner._pool is None:
        time.sleep(0.01)
    future = next(iter(learner._kept.values())).future
    learner.close()
    assert future is not None and future.result(60) is None and not learner._kept


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"shared_prior": "sometimes"}, "shared_prior is 'sometimes'; it must be true or false or 'auto'."),
        ({"wishes": "cheap"}, "wishes is 'cheap'; it must be a list."),
        ({"roles": {"size": 3}}, "roles.size is 3; it must be text or a list."),
        ({"name": None}, "name is null; it must be text."),
        ({"colour": 1}, "colour is not known here; leave it out."),
    ],
)
def test_what_is_wrong_with_a_request_is_said_in_our_words(
    client: TestClient, body: dict[str, object], sentence: str
) -> None:
    reply = client.post("/api/studies", json={"name": "flats", "csv": "size\n1\n2\n"} | body)
    assert reply.status_code == 422 and reply.json() == {"detail": sentence}


@pytest.mark.parametrize("group", ["abc", "1.5", ""])
def test_a_group_that_is_no_number_is_refused_in_our_words(client: TestClient, group: str) -> None:
    reply = client.get(f"/studies/flats/differences?group={group}")
    assert reply.status_code == 422 and "it must be a whole number." in reply.text


def test_progress_grows_in_small_steps_with_the_work(client: TestClient) -> None:
    """No single step is a quarter of the way, whatever is being learned."""
    data = everybody_answers(camps(client, 12, 8))
    assert data is not None
    shares: list[float] = [0.0]
    group_result.group_result(data, shares.append)
    steps = np.diff([*shares, 1.0])
    assert len(shares) > 40 and (steps >= -1e-12).all() and steps.max() < 0.25


def test_what_single_items_are_worth_is_no_feature_that_people_share() -> None:
    quantiles, ends = np.tile(np.arange(5.0), (2, 1)), np.zeros((2, 2))
    quantiles[1] = 900.0
    data = PeopleBand(("price", "not known: Tea 3"), quantiles, np.zeros(2), ends)
    assert [(row.feature, row.wide) for row in band_rows(data)] == [("price", (0.0, 100.0))]


def test_an_answer_about_a_set_is_one_answer() -> None:
    items = np.random.default_rng(0).uniform(size=(8, 2))
    study = create_study(items, "sets", storage="memory:", set_size=4, metric="none")
    for name in ("Ann", "Bob"):
        person = study.respondent(name)
        for _ in range(6):
            question = person.ask()
            assert question is not None
            first, *_, last = sorted(question.names, key=lambda k: items[int(k), 0])
            person.tell(question, best=last, worst=first)
    data = everybody_answers(study)
    assert data is not None
    assert [one.answers for one in group_result.group_result(data).people] == [6, 6]


def test_who_answers_as_if_by_a_coin_is_shown_in_no_group(client: TestClient) -> None:
    study = camps(client)
    assert finished(client).count('<td class="nowrap">-</td>') == 0
    kept = client.app.state.groups._kept[study.record.id]  # type: ignore[attr-defined]
    first, *others = kept.result.people
    kept.result = replace(kept.result, people=(first._replace(coin=0.9), *others))
    page = client.get(PAGE).text
    assert page.count('<td class="nowrap">-</td>') == page.count("as if by a coin") == 1
