"""The result's page: a first look, the best and why, stars, items left out, two side by side, what if."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import create_study, web
from coombs.storage import open_storage
from coombs.study import Study
from coombs.web.result_view import ViewChoices

TOKEN = "a token that nobody guesses"


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return open_storage(f"sqlite:///{tmp_path_factory.mktemp('result') / 'web.db'}")


@pytest.fixture(scope="module")
def study(storage: Any, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Teas of which cheap and strong ones are liked."""
    rows = [f"Tea {i},{3 + i * 7 % 13},{i * 3 % 8},{'green' if i % 3 else 'black'}" for i in range(12)]
    path = tmp_path_factory.mktemp("table") / "teas.csv"
    path.write_text("\n".join(["tea,price,strength,kind", *rows]))
    return create_study(str(path), "teas", storage=storage, metric="none", top=3)


def tell(study: Study, name: str, n: int = 40) -> str:
    """The token of somebody who has answered random pairs."""
    person, rng = study.respondent(name), np.random.default_rng(1)
    price, strength = study.catalogue.table.matrix[:, 0], study.catalogue.table.matrix[:, 1]
    worth = strength - price
    for _ in range(n):
        one, other = map(int, rng.choice(len(worth), 2, replace=False))
        person.tell((one, other) if worth[one] > worth[other] else (other, one))
    return person.record.token


@pytest.fixture(scope="module")
def client(storage: Any) -> Iterator[TestClient]:
    with TestClient(web.create_app(storage), base_url="http://127.0.0.1", client=("127.0.0.1", 5)) as made:
        yield made


@pytest.fixture(scope="module")
def home(client: TestClient, study: Study) -> str:
    """The address of a fitted result."""
    home = f"/a/{tell(study, 'me')}/result"
    assert client.get(f"{home}?whole=true").status_code == 200
    return home


def test_a_first_look_comes_without_a_fit_and_claims_nothing_that_is_not_checked(
    client: TestClient, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tell(study, "Ann", 6)

    def never(*_: Any) -> None:
        raise AssertionError("a fit was made")

    monkeypatch.setattr("coombs.study.result.Result.of", never)
    page = client.get(f"/a/{token}/result").text
    assert "data-wait" in page and "result?whole=true" in page
    # No question was asked, so no answer was predicted, and no favourite can be told yet.
    assert "seems to come first" not in page and "Reading 6 answers" in page
    monkeypatch.setattr("coombs.study.respondent.Respondent.doubts", lambda _: ())
    page = client.get(f"/a/{token}/result").text
    assert "seems to come first" in page and "may still change" in page
    assert "% sure" not in page and "Why this one" not in page


def test_the_best_item_is_large_with_its_features_and_two_sentences_say_why(
    client: TestClient, home: str
) -> None:
    page = client.get(home).text
    best = page[page.index('class="best') : page.index("Why this one")]
    assert "The best of 12 items" in best and "% sure, from 40 answers" in best
    assert all(f"<dt>{name}</dt>" in best for name in ("price", "strength", "kind"))
    why = page[page.index('class="why"') :].partition("</ul>")[0]
    assert why.count("<li") == 2 and "data-wait" not in page
    assert page.count('<li class="place') == 12


def names(page: str) -> list[str]:
    """Of the ranking, best first."""
    return re.findall(r'<li class="place">.*?</span>(Tea \d+)</h3>', page, re.S)


def test_what_is_left_out_leaves_the_ranking_and_comes_back_and_stars_stay_in_sight(
    client: TestClient, home: str
) -> None:
    page = client.get(home).text
    first, second, *_ = names(page)
    position = int(first.removeprefix("Tea "))
    without = client.get(f"{home}?without={position}").text
    assert first not in names(without) and names(without)[0] == second
    assert f'<h1 id="best">{second}</h1>' in without and "1 item left out" in without
    assert "The best of the 11 items that are left" in without
    assert names(client.get(f"{home}?without={position}&back={position}").text) == names(page)
    starred = client.get(f"{home}?star=4&top=1").text
    assert starred.index('class="place starred"') < starred.index('<li class="place">')
    assert 'data-state="star=4&amp;top=1"' in starred and "the best: " in starred
    assert 'class="place starred"' not in client.get(f"{home}?star=4&unstar=4").text


def test_a_view_keeps_two_items_and_passes_over_what_cannot_be() -> None:
    chosen = ViewChoices.of([7, 7, -1, 0], [*range(9)], 4, range(5))
    assert chosen == ViewChoices((), (0, 1, 2), None)
    assert ViewChoices.of([1], [2], 3, range(5)).query == "star=1&without=2&top=3"


def test_two_items_are_compared_with_doubt_as_a_part_and_as_a_page(client: TestClient, home: str) -> None:
    page = client.get(f"{home}/compare?first=0&second=5").text
    part = client.get(f"{home}/compare?first=0&second=5", headers={"X-Part": "result"}).text
    assert "<html" in page and "<html" not in part and "% sure" in part
    assert part.count('class="what"') >= 2 and ("speaks for Tea" in part or "not known yet" in part)
    assert client.get(f"{home}/compare?first=0&second=0").status_code == 422
    assert client.get(f"{home}/compare?first=0&second=99").status_code == 422


def test_what_if_says_where_a_changed_item_would_rank(client: TestClient, home: str) -> None:
    last = names(client.get(home).text)[-1]
    item = int(last.removeprefix("Tea "))
    asked = client.get(f"{home}/what-if?item={item}").text
    assert f"{last} ranks 12 of 12 now." in asked and 'type="number"' in asked
    changed = client.get(f"{home}/what-if?item={item}&f0=3&f1=7", headers={"X-Part": "result"}).text
    rank = int(re.findall(r"It would rank (\d+) of 12", changed)[0])
    assert rank < 12 and "The chance that it would be better than now" in changed and "price: " in changed
    refused = client.get(f"{home}/what-if?item={item}&f0=much")
    assert refused.status_code == 422 and "must be a number" in refused.text
    assert "beyond, the answers tell nothing" in client.get(f"{home}/what-if?item={item}&f0=400").text
    assert client.get(f"{home}/what-if?item=99").status_code == 422


def test_people_do_not_see_a_result_that_their_study_does_not_show(storage: Any, study: Study) -> None:
    shut = create_study(study.catalogue, "shut", storage=storage, metric="none")
    shut.present(shows_result=False)
    token = tell(shut, "Ann", 5)
    app = web.create_app(storage, token=TOKEN)
    with TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 5)) as made:
        for path in ("", "/checked", "/compare?first=0&second=1", "/model.json"):
            assert made.get(f"/a/{token}/result{path}").status_code == 404
        assert made.get(f"/api/respondents/{token}/result").status_code == 404
        owner = {"Authorization": f"Bearer {TOKEN}"}
        assert made.get(f"/a/{token}/result", headers=owner).status_code == 200
