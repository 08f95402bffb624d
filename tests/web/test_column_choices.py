"""The columns of an upload: what is decided of each, what its owner may choose instead, and what is kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient
from preview_form import decisions, preview_form

from coombs import InputError, load_study, web
from coombs.data.catalogue import catalogue
from coombs.storage import open_storage
from coombs.web.column_choices import column_choices
from coombs.web.upload_validation import review
from coombs.web.uploads import MOST_FEATURES, read_table, read_upload

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
ROWS = [
    "{name},{price},{floor},{tick},{town},{day},https://example.org/{i}".format(
        name=f"house {i}",
        price=f"{10 ** (2 + i % 4)} €",
        floor=("low", "mid", "high")[i % 3],
        tick="x" if i % 4 == 0 else "",
        town=("coast", "rural", "")[i % 3] if i < 9 else "coast",
        day=f"{i + 10}.03.2026",
        i=i,
    )
    for i in range(12)
]
HOUSES = "\n".join(["house,price,floor,pool,town,free,page", *ROWS])


@pytest.fixture
def storage(tmp_path: Path) -> Any:
    return open_storage(f"sqlite:///{tmp_path / 'web.db'}")


@pytest.fixture
def client(storage: Any) -> Iterator[TestClient]:
    settings: dict[str, Any] = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5)}
    with TestClient(
        web.create_app(storage), follow_redirects=False, headers={"Origin": "http://127.0.0.1"}, **settings
    ) as made:
        yield made


def uploaded(client: TestClient, content: bytes | str, file: str = "houses.csv") -> str:
    content = content.encode() if isinstance(content, str) else content
    reply = client.post("/drafts", files={"file": (file, content)})
    assert reply.status_code == 303, reply.text
    return str(reply.headers["location"])


def problems(page: str) -> list[str]:
    return [unescape(one) for one in re.findall(r'<p class="problem" id="wrong\d+">(.*?)</p>', page)]


def test_each_column_says_what_was_decided_and_why(client: TestClient) -> None:
    page = client.get(uploaded(client, HOUSES)).text
    assert decisions(page) == {
        "house": "the names of the items",
        "price": "number in €, on a log scale",
        "floor": "3 categories",
        "pool": "yes or no",
        "town": "2 categories, 3 of 12 not known",
        "free": "date",
        "page": "shown as a link",
    }
    assert "low, mid and high" in page


def test_the_roles_that_a_column_can_have_are_offered() -> None:
    draft = read_upload(HOUSES.encode(), "houses.csv")
    offered = {
        one.name: set(one.offered) - {"names", "text", "ignore"}
        for one in column_choices(draft, draft.guess())
    }
    assert offered["price"] == {"number", "log", "category", "ordered"}
    assert offered["pool"] == {"yes/no"} and offered["floor"] == {"category", "ordered"}
    assert offered["free"] == {"date", "category", "ordered"}
    assert {"link", "picture"} <= offered["page"]


def test_chosen_roles_are_kept_by_the_study_and_said_again(client: TestClient, storage: Any) -> None:
    """In the order that was written down, after the study is opened again, and on its page."""
    place = uploaded(client, HOUSES)
    form = preview_form(client.get(place).text, {"floor": "ordered", "pool": "text", "page": "ignore"})
    form["levels"][2] = "low, mid, high"  # type: ignore[index]
    assert preview_form(client.post(place, data=form).text) == form
    assert client.post(place, data=form | {"create": "yes"}).status_code == 303
    goods = load_study("houses", storage=storage).catalogue
    assert goods.table.encoding is not None
    assert goods.table.encoding.columns[1].levels == ("low", "mid", "high")
    assert "page" not in goods.details[0] and goods.details[0]["pool"] == "x"
    page = unescape(client.get("/studies/houses").text)
    for said in (
        "price</strong>: <span>number in €, on a log scale",
        "floor</strong>: <span>low < mid < high",
    ):
        assert said in page
    assert "pool</strong>: <span>shown, not learned from" in page


@pytest.mark.parametrize(
    ("column", "role", "levels", "sentence"),
    [
        ("floor", "number", "", "Feature 'floor' of line 2 of houses.csv is 'low'; it must be a number."),
        ("floor", "date", "", "Feature 'floor' of line 2 of houses.csv is 'low'; it must be a date, as"),
        ("floor", "yes/no", "", "is 'low'; it must be yes or no."),
        ("floor", "ordered", "low, mid", "of line 4 of houses.csv is 'high'; the levels are 'low', 'mid'."),
        ("floor", "ordered", "low, low", "The levels of 'floor' must be two or more, in order, each once."),
        ("floor", "names", "", "'house' and 'floor' are both chosen as the names of the items; choose "),
        ("price", "picture", "", ""),
    ],
)
def test_a_choice_that_cannot_work_is_said_at_that_column_and_nothing_is_lost(
    client: TestClient, column: str, role: str, levels: str, sentence: str
) -> None:
    place = uploaded(client, HOUSES)
    form = preview_form(client.get(place).text, {column: role, "town": "text"}, name="mine")
    form["levels"][2] = levels or form["levels"][2]  # type: ignore[index]
    page = client.post(place, data=form).text
    assert preview_form(page) == form
    found = problems(page)
    assert len(found) == bool(sentence) and sentence in "".join(found)
    made = client.post(place, data=form | {"create": "yes"})
    assert made.status_code == (422 if sentence else 303)
    assert not sentence or preview_form(made.text) == form


def test_levels_with_commas_in_them_have_another_mark_between_them(client: TestClient, storage: Any) -> None:
    sizes = ["small, round", "small, flat", "large"]
    rows = [f'n{i},"{sizes[i % 3]}"' for i in range(9)]
    place = uploaded(client, "\n".join(["name,size", *rows]), "t.csv")
    form = preview_form(client.get(place).text, {"size": "ordered"}, create="yes")
    assert form["levels"][1] == "large < small, flat < small, round"
    form["levels"][1] = " < ".join(sizes)  # type: ignore[index]
    assert client.post(place, data=form).status_code == 303
    encoding = load_study("t", storage=storage).catalogue.table.encoding
    assert encoding is not None and encoding.columns[0].levels == tuple(sizes)


def test_gaps_are_learned_around_and_shown_as_not_known(client: TestClient, storage: Any) -> None:
    rows = [
        f"n{i},{'' if i in (2, 5, 7) else 10 * i} kg" if i not in (2, 5, 7) else f"n{i},n/a"
        for i in range(40)
    ]
    place = uploaded(client, "\n".join(["name,weight", *rows]), "t.csv")
    page = client.get(place).text
    assert decisions(page)["weight"] == "number in kg, 3 of 40 not known"
    assert client.post(place, data=preview_form(page, create="yes")).status_code == 303
    study = load_study("t", storage=storage)
    assert study.n_items == 40
    left, right = web.create_app(storage).state.cache.cards(study.respondent()).pair(2, 3)
    assert (left.features[0].text, left.features[0].share) == ("not known", None)
    assert right.features[0].text == "30 kg"


def test_cards_have_the_users_units_words_and_dates() -> None:
    from coombs.web.item_cards import Cards

    draft = read_upload(HOUSES.encode(), "houses.csv")
    left, right = Cards(draft.catalogue(draft.guess())).pair(3, 4)
    assert [one.text for one in left.features] == ["100\u202f000 €", "low", "no", "coast", "2026-03-13"]
    assert [one.text for one in right.features] == ["100 €", "mid", "yes", "rural", "2026-03-14"]
    assert left.link == "https://example.org/3" and not left.details


@pytest.mark.parametrize("file", ["flats.csv", "coffees.jsonl", "laptops.xlsx", "ideas.txt"])
def test_every_example_of_items_is_uploaded_as_the_library_reads_it(
    client: TestClient, storage: Any, file: str
) -> None:
    if file.endswith(".xlsx"):
        pytest.importorskip("openpyxl")
    place = uploaded(client, (DATA / file).read_bytes(), file)
    form = preview_form(client.get(place).text, name="mine", create="yes")
    assert client.post(place, data=form).status_code == 303
    study = load_study("mine", storage=storage)
    assert study.catalogue.decisions == catalogue(DATA / file).decisions
    page = client.get(f"/a/{study.respondent().record.token}")
    assert page.status_code == 200 and "I prefer this" in page.text


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("cp1252"),
        lambda text: ("sep=;\n" + text.replace(",", ";")).encode(),
        lambda text: text.replace(",", "\t").encode(),
        lambda text: text.replace("\n", "\r\n").encode("utf-8-sig"),
    ],
)
def test_other_encodings_and_separators_are_the_same_table(change: Callable[[str], bytes]) -> None:
    plain, other = (read_upload(content, "houses.csv") for content in (HOUSES.encode(), change(HOUSES)))
    assert other.guess() == plain.guess()
    assert other.catalogue(other.guess()).decisions == plain.catalogue(plain.guess()).decisions


def test_the_order_that_a_parquet_file_declares_is_kept() -> None:
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    floors = pandas.Categorical(["low", "mid", "high"] * 3, ["low", "mid", "high"], ordered=True)
    frame = pandas.DataFrame({"home": [f"home {i}" for i in range(9)], "floor": floors})
    draft = read_upload(frame.to_parquet(), "homes.parquet")
    assert draft.catalogue(draft.guess()).decisions[0].text == "low < mid < high"


@pytest.mark.parametrize("file", ["commutes_wide.csv", "commutes_long.csv"])
def test_described_pairs_get_a_sentence_that_says_what_would_work(client: TestClient, file: str) -> None:
    reply = client.post("/drafts", files={"file": (file, (DATA / file).read_bytes())})
    assert reply.status_code == 422
    assert f"{file} holds 30 answers about things that it describes itself" in reply.text
    assert f"learn from it with: coombs fit {file}; or bring a table with a row for each thing." in reply.text


def test_what_only_looks_described_is_a_table_of_items() -> None:
    rows = "".join(f"{i},{i * i},no\n" for i in range(1, 7))
    assert read_upload(f"set,pieces,preferred\n{rows}".encode(), "t.csv").guess().names is not None


@pytest.mark.parametrize("file", ["flats_pairs.csv", "coffees_ratings.csv"])
def test_a_file_of_answers_is_doubted(client: TestClient, file: str) -> None:
    page = client.get(uploaded(client, (DATA / file).read_bytes(), file)).text
    assert f"{file} looks like answers, not like items" in page


def test_the_api_takes_roles_and_answers_with_what_was_decided(client: TestClient) -> None:
    roles = {"floor": ["low", "mid", "high"], "pool": "text", "page": "ignore", "price": "number"}
    made = client.post("/api/studies", json={"name": "a", "csv": HOUSES, "roles": roles})
    assert made.status_code == 201, made.text
    assert made.json()["columns"] == [
        {"name": "price", "role": "number", "text": "number in €", "levels": []},
        {"name": "floor", "role": "ordered", "text": "low < mid < high", "levels": ["low", "mid", "high"]},
        {
            "name": "town",
            "role": "category",
            "text": "2 categories, 3 of 12 not known",
            "levels": ["coast", "rural", "not known"],
        },
        {"name": "free", "role": "date", "text": "date", "levels": []},
        {"name": "pool", "role": "text", "text": "shown, not learned from", "levels": []},
    ]
    assert client.get("/api/studies/a").json()["columns"] == made.json()["columns"]
    body = {"name": "b", "csv": HOUSES, "features": ["price:number", "floor:low<mid<high"]}
    found = client.post("/api/studies", json=body).json()
    assert found["features"] == ["price", "floor"] and found["columns"][1]["role"] == "ordered"
    found = client.post("/api/studies", json={"name": "c", "csv": HOUSES, "features": []}).json()
    assert found["features"] == [] and {one["role"] for one in found["columns"]} == {"text"}


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        ({"flor": "category"}, "There is no column 'flor'"),
        ({"floor": "colour"}, "The role of 'floor' is 'colour'; it must be one of 'number', 'log', "),
        ({"town": "ordered"}, "The order of these words is not known"),
        ({"floor": "number"}, "is 'low'; it must be a number."),
    ],
)
def test_the_api_says_which_role_cannot_be(client: TestClient, roles: Any, sentence: str) -> None:
    reply = client.post("/api/studies", json={"name": "a", "csv": HOUSES, "roles": roles})
    assert reply.status_code == 422 and sentence in reply.json()["detail"]


def test_what_would_make_a_study_too_large_is_refused() -> None:
    """A category of very many words, and more columns than can be learned from."""
    words = "\n".join(["name,word", *(f"n{i},w{i // 2}" for i in range(400))])
    draft = read_upload(words.encode(), "t.csv")
    with pytest.raises(InputError, match="'word' has 200 different cells; a category has 100 at most"):
        draft.catalogue(draft.guess(roles={"word": "category"}))
    wide = ["name," + ",".join(f"c{j}" for j in range(40))]
    wide += [f"n{i}," + ",".join(str(i * j % 7) for j in range(40)) for i in range(8)]
    draft = read_upload("\n".join(wide).encode(), "t.csv")
    assert len(draft.guess().features) == MOST_FEATURES
    (problem,) = review(draft, draft.guess(roles={f"c{j}": "number" for j in range(40)})).problems
    assert problem == "40 columns are to be learned from; choose 30 at most."


@pytest.mark.slow
def test_a_result_page_of_very_many_gaps_has_all_its_parts(
    client: TestClient, storage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coombs.data.catalogue.MOST_MARKED", 2)
    rows = [f"n{i},{'' if i < 3 else i * 7 % 11},{i * 5 % 13}" for i in range(10)]
    made = client.post("/api/studies", json={"name": "gaps", "csv": "\n".join(["name,a,b", *rows])})
    assert made.status_code == 201
    person = load_study("gaps", storage=storage).respondent()
    for one, other in combinations(range(10), 2):
        person.tell((one, other) if one * 5 % 13 > other * 5 % 13 else (other, one))
    page = client.get(f"/a/{person.record.token}/result?whole=true")
    assert page.status_code == 200 and "beside the best" in page.text
    assert "Not drawn, as a value is not known: n0, n1 and n2." in page.text


def test_serve_takes_features_with_their_roles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from coombs import cli
    from coombs.web import server

    (tmp_path / "houses.csv").write_text(HOUSES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server.uvicorn.Server, "run", lambda *_, **__: None)
    asked = "price,town:category,floor:low<mid<high"
    assert cli.main(["serve", "houses.csv", "--features", asked, "--port", "0", "--no-browser"]) == 0
    found = load_study("houses", storage="sqlite:///coombs.db").catalogue.decisions
    assert [one.role for one in found][:3] == ["log", "ordered", "category"]
    assert {one.name for one in found if one.role == "text"} == {"pool", "free", "page"}


def test_declared_wishes_are_kept_and_wrong_ones_get_a_sentence(client: TestClient, storage: Any) -> None:
    draft = uploaded(client, HOUSES)
    page = client.get(draft).text
    wrong = client.post(draft, data=preview_form(page, wishes="cost: less <b>", create="yes"))
    assert wrong.status_code == 422
    assert "begins with no feature" in wrong.text and "cost: less &lt;b&gt;</textarea>" in wrong.text
    wishes = "price: less\n\n price <= 10,000 \ntown != rural"
    reply = client.post(draft, data=preview_form(page, wishes=wishes, create="yes"))
    assert reply.status_code == 303
    study = load_study("houses", storage=storage)
    assert study.settings.wishes == ("price: less", "price <= 10,000", "town != rural")
    assert 2 <= study.n_items < 12
    assert "price &lt;= 10,000" in client.get(reply.headers["location"]).text
    new = {"name": "more", "csv": HOUSES, "wishes": ["price: less"]}
    assert client.post("/api/studies", json=new).json()["wishes"] == ["price: less"]


def test_rows_of_features_are_declared_as_wishes_that_are_written_down(
    client: TestClient, storage: Any
) -> None:
    """What a row says of a column that is not learned from is nothing."""
    draft = uploaded(client, HOUSES)
    page = client.get(draft).text
    columns = list(preview_form(page)["role"])
    prices = list(decisions(page)).index("price")
    rows = {name: [""] * len(columns) for name in ("direction", "at_least", "at_most")}
    rows["direction"][prices], rows["at_most"][prices] = "less", "10,000"
    shown = client.post(draft, data=preview_form(page, wishes="town != rural") | rows).text
    assert (
        'value="10,000"' in shown and '<option selected value="less">' in shown and "town != rural" in shown
    )
    reply = client.post(draft, data=preview_form(page, wishes="town != rural", create="yes") | rows)
    assert reply.status_code == 303, reply.text
    study = load_study(reply.headers["location"].rpartition("/")[2], storage=storage)
    assert study.settings.wishes == ("price: less", "price <= 10,000", "town != rural")
    rows["at_most"][prices] = "cheap"
    wrong = client.post(draft, data=preview_form(page, create="yes") | rows)
    assert wrong.status_code == 422 and "must be a number" in wrong.text and 'value="cheap"' in wrong.text
    out = preview_form(page, {"price": "ignore"}, name="out", create="yes") | rows
    assert client.post(draft, data=out).status_code == 303
    assert load_study("out", storage=storage).settings.wishes == ()


def test_a_column_with_a_cell_that_is_no_number_can_be_taken_for_numbers(
    client: TestClient, storage: Any
) -> None:
    """What is no number is not known then, and the page says so."""
    rows = [f"Flat {i},{'on request' if i == 3 else f'{700 + 31 * i} €'}" for i in range(8)]
    draft = uploaded(client, "\n".join(["flat,rent", *rows]))
    page = client.get(draft).text
    assert decisions(page)["rent"] == "shown, not learned from" and "as a number, such cells" in page
    chosen = preview_form(page, {"rent": "number"})
    page = client.post(draft, data=chosen).text
    assert decisions(page)["rent"] == "number in €, 1 of 8 not known"
    assert "not known, in line 5: &#39;on request&#39;" in page
    assert client.post(draft, data=chosen | {"name": "rents", "create": "yes"}).status_code == 303
    made = load_study("rents", storage=storage).catalogue
    assert made.columns == ["rent"]
    # In Python and on the command line the same table with the same word gives the same items.
    for given in ({"roles": {"rent": "number"}}, {"features": ["rent:number"]}):
        table = read_table("\n".join(["flat,rent", *rows]).encode(), "flats.csv")
        same = catalogue(table, **given)  # type: ignore[arg-type]
        assert np.array_equal(same.table.matrix, made.table.matrix)
        assert same.decisions[0].text == "number in €, 1 of 8 not known"
        assert "rent: no number, and so not known: 'on request'." in same.notes
    # The table that the study was made of changes nothing, when it is brought again.
    study = load_study("rents", storage=storage)
    assert len(study.update_items(table).unchanged) == 8


@pytest.mark.parametrize(
    ("header", "second", "names"),
    [
        ("Nr;Modell;Preis", "Rad {i}", "Modell"),
        ("id;note;price", "long words " * 7 + "{i}", "id"),
        ("id;page;price", "https://example.org/{i}", "id"),
        ("id;town;price", "town", "id"),
        ("id;price;Titel", "{i}7", "Titel"),
    ],
)
def test_beside_a_number_short_text_that_tells_items_apart_is_what_they_are_called(
    header: str, second: str, names: str
) -> None:
    rows = [f"{i};{second.format(i=i)};{'Film ' * (names == 'Titel')}{i * 37 % 11}" for i in range(1, 9)]
    found = read_upload("\n".join([header, *rows]).encode(), "a.csv").guess()
    assert found.names == names
