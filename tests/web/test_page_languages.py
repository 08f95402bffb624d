"""A browser that asks for another language gets it on every page of a person's way, and no English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import create_study, web
from coombs.language import FORMS, Language, language
from coombs.storage import open_storage
from coombs.study import PersonField, Presentation, Study
from coombs.web.pages import rendering

HOUSES = "Haus,Preis,Fläche,Lage,Balkon\n" + "\n".join(
    f"Haus {k},{1.25 + 7 * k % 10},{60.5 + 3 * k % 11},{('Meer', 'Dorf')[k % 3 > 0]},{('no', 'yes')[k % 2]}"
    for k in range(10)
)
OWN = Presentation(
    title="Umfrage",
    introduction="Hallo.",
    consent="Einverstanden?",
    instructions="Klick.",
    thank_you="Fertig.",
    fields=(
        PersonField("Alter", "choice", ("jung", "alt"), required=True),
        PersonField("Jahre", "number", asked="after"),
    ),
)
ENGLISH_WORDS = re.compile(
    r"\b(the|is|are|were|you|your|answers?|questions?|and|this|that|what|which|of|with|not|more|better|back)\b",
    re.IGNORECASE,
)
"""No German or Spanish text has any of these."""
SAID = ("aria-label", "aria-valuetext", "title", "placeholder", "alt")
"""Attributes that people read or hear, beside those in `data-` with words in them."""


class Reader(HTMLParser):
    """Every text that people read or hear, but for what is said to be English."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.english: list[str] = []
        self.open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag not in ("meta", "link", "input", "img", "br"):
            self.open.append((tag, given.get("lang") == "en"))
        for name, value in given.items():
            self.texts += [value] if name in SAID or (" " in value and "data-" in name) else []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """What has no end in SVG."""

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip() and not any(tag in ("script", "style") for tag, _ in self.open):
            is_english = any(english for _, english in self.open)
            (self.english if is_english else self.texts).append(" ".join(data.split()))


def english_in(page: str, spoken: Language) -> list[str]:
    """Texts of a page that are the catalogue's English, or have English words in them."""
    reader = Reader()
    reader.feed(page)
    forms = {
        form
        for english, said in spoken.texts.items()
        for form, own in zip(english.split(FORMS), said.split(FORMS), strict=True)
        if form != own and len(re.sub(r"{\w+}|\W", "", form)) > 3
    }
    whole = re.compile("|".join(re.sub(r"\\{\w+\\}", ".+", re.escape(form)) for form in forms))
    return [text for text in reader.texts if whole.fullmatch(text) or ENGLISH_WORDS.search(text)]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    path = tmp_path / "houses.csv"
    path.write_text(HOUSES)
    storage = open_storage(f"sqlite:///{tmp_path / 'web.db'}")
    return create_study(path, "Umfrage", storage=storage, metric="none")


@pytest.fixture
def client(study: Study) -> Iterator[TestClient]:
    known: Any = {"base_url": "http://127.0.0.1", "client": ("192.0.2.7", 5)}
    with TestClient(web.create_app(study.storage), **known) as made:
        made.headers["Origin"] = "http://127.0.0.1"
        yield made


def way(client: TestClient, study: Study, n_answers: int) -> Iterator[str]:
    """Each page of somebody who takes part and likes cheap houses."""
    at = f"/a/{study.respondent('Ute').record.token}"
    yield client.get(at).text
    yield client.post(f"{at}/consent", data={}).text
    yield client.post(f"{at}/consent", data={"agree": "yes"}).text
    yield client.post(f"{at}/fields", data={"asked": "before"}).text
    yield client.post(f"{at}/fields", data={"asked": "before", "field Alter": "alt"}).text
    page = client.get(f"{at}?begin=yes").text
    for _ in range(n_answers):
        yield page
        (number,) = re.findall(r'name="question" value="(\d+)"', page)
        cheap = [float(one.replace(",", ".")) for one in re.findall(r"<dd>([\d.,]+)", page)]
        choice = "left" if cheap[0] < cheap[len(cheap) // 2] else "right"
        page = client.post(f"{at}/tell", data={"question": number, "choice": choice}).text
    yield client.post(f"{at}/undo", headers={"X-Part": "question"}).text
    yield client.get(f"{at}/answers").text
    yield client.get(f"{at}/result?whole=true").text
    yield client.post(f"{at}/finish").text
    yield client.post(f"{at}/fields", data={"asked": "after", "field Jahre": "9"}).text
    yield client.get("/a/nobody").text


@pytest.mark.parametrize("code", ["de", pytest.param("es", marks=pytest.mark.slow)])
def test_no_english_is_on_any_page_of_a_person(client: TestClient, study: Study, code: str) -> None:
    study.present(OWN)
    client.headers["Accept-Language"] = f"{code}-XX,en;q=0.5"
    pages = list(way(client, study, 20))
    for page in pages:
        if page.startswith("<!DOCTYPE"):
            assert f'<html lang="{code}" dir="ltr">' in page
        assert english_in(page, language(code)) == []
    for part in ("Why this one", "Your taste on a map", "What you trade for what"):
        assert any(language(code).text(part) in page for page in pages), part


@pytest.mark.parametrize(
    "answers",
    [
        "left,right,choice\nHaus 1,Haus 2,links\n",
        "left,right,winner\nHaus 1,Haus 2,Haus 3\n",
        "winner,loser\nHaus 1,Haus 1\n",
        "winner,loser\nHaus 1,\n",
        "winner,loser,told\nHaus 1,Haus 2,gestern\n",
        "options,best,worst\nHaus 1|Haus 2|Haus 3,Haus 1,Haus 9\n",
        "Preis,Lage\n1,Meer\n",
        "ranking\nHaus 1 > > Haus 2\n",
    ],
)
def test_mistakes_in_a_file_of_answers_are_told_in_the_owners_language(study: Study, answers: str) -> None:
    known: Any = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5)}
    with TestClient(web.create_app(study.storage), **known) as owner:
        owner.headers.update({"Origin": "http://127.0.0.1", "Accept-Language": "de"})
        page = owner.post("/studies/Umfrage/answers", files={"file": ("a.csv", answers.encode())})
        missing = owner.get("/studies/nirgends")
    (said,) = re.findall(r'<p class="problem"([^>]*)>', page.text)
    assert page.status_code == 422 and 'lang="en"' not in said
    assert "Es gibt keine Studie namens" in missing.text


def test_a_field_for_numbers_has_numbers_that_a_browser_reads(client: TestClient, study: Study) -> None:
    """A browser drops 8,25 out of such a field, whatever its language."""
    person = study.respondent("Uta")
    for one, other in combinations(range(10), 2):
        cheap = sorted((one, other), key=lambda k: 1.25 + 7 * k % 10)
        person.tell((f"Haus {cheap[0]}", f"Haus {cheap[1]}"))
    at = f"/a/{person.record.token}/result/what-if?item=1"
    page = client.get(at, headers={"Accept-Language": "de"}).text
    fields = re.findall(r'<input[^>]+type="number"[^>]*>', page)
    found = [re.findall(r'(?:value|min|max|data-step)="([^"]*)"', one) for one in fields]
    assert len(fields) == 2 and all(len(one) == 4 and [*map(float, one)] for one in found)
    assert any("." in one[0] for one in found)


def test_whether_a_cell_is_not_known_is_a_feature_in_the_language_of_the_page() -> None:
    shown = rendering.templates().from_string("{{ 'Balkon not known' | feature }}, {{ 'Preis' | feature }}")
    assert shown.render(language=language("de")) == "Balkon nicht bekannt, Preis"
    assert shown.render(language=language("en")) == "Balkon not known, Preis"


def test_numbers_on_a_card_have_the_decimal_sign_of_the_language(client: TestClient, study: Study) -> None:
    at = f"/a/{study.respondent('Ute').record.token}"
    for code, sign in (("de", ","), ("en", "."), ("es", ",")):
        page = client.get(at, headers={"Accept-Language": code}).text
        assert re.search(rf"<dd>\d+{re.escape(sign)}25\b", page)
    api = at.replace("/a/", "/api/respondents/")
    question = client.get(f"{api}/question", headers={"Accept-Language": "de"})
    assert ",25" not in question.text


def test_the_owners_choice_comes_before_the_browsers(client: TestClient, study: Study) -> None:
    study.present(language="es")
    page = client.get(f"/a/{study.respondent('Ute').record.token}", headers={"Accept-Language": "de"}).text
    assert '<html lang="es"' in page and language("es").text("I prefer this") in page


MESSY = """Nr;Haus;Preis;Fläche;Lage;Bild;Frei;Bezug;Leer;Gleich
1;Haus A;1.200 €;0,5 km;Meer;a.png;ja;31.12.2025;;x
2;Haus B;900 €;700 m;Dorf;b.png;nein;1.2.2025;;x
3;Haus B;1.500 €;n/a;Dorf;c.png;ja;2.2.2025;;x
4;;auf Anfrage;2 km;Meer;d.png;nein;3.3.2025;3;x
"""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[TestClient]:
    known: Any = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5)}
    with TestClient(web.create_app(f"sqlite:///{tmp_path / 'owner.db'}"), **known) as made:
        made.headers.update({"Origin": "http://127.0.0.1"})
        yield made


@pytest.mark.parametrize("code", ["de", pytest.param("es", marks=pytest.mark.slow)])
def test_what_is_said_of_a_messy_table_is_in_the_owners_language(owner: TestClient, code: str) -> None:
    owner.headers["Accept-Language"] = code
    page = owner.post("/drafts", files={"file": ("Häuser.csv", MESSY.encode("cp1252"))})
    wrong = owner.post(str(page.url), data={"role": ["names"] * 3 + ["category"] * 7, "create": "yes"})
    said = owner.post("/drafts", data={"names": "\n"})
    for one in (page.text, wrong.text, said.text):
        reader = Reader()
        reader.feed(one)
        assert reader.english == [] and english_in(one, language(code)) == []
    assert language(code).text("numbers the items") in page.text and "cp1252" in page.text


def test_mistakes_in_settings_are_told_in_the_owners_language(owner: TestClient) -> None:
    create_study([[0.0], [1.0]], "zwei", storage=owner.app.state.cache.storage)  # type: ignore[attr-defined]
    form = {"title": "x", "questions": "viele"}
    page = owner.post("/studies/zwei/settings", data=form, headers={"Accept-Language": "de"})
    assert page.status_code == 422 and "es muss eine ganze Zahl sein" in page.text


@pytest.mark.parametrize("code", ["de", pytest.param("es", marks=pytest.mark.slow)])
def test_ordinary_mistakes_with_tables_and_items_are_told_in_the_owners_language(
    owner: TestClient, code: str
) -> None:
    storage = owner.app.state.cache.storage  # type: ignore[attr-defined]
    study = create_study([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]], "houses", storage=storage)
    spoken, page = {"Accept-Language": code}, "/studies/houses"
    uneven = {"file": ("a.csv", b"name,x,y\na,1,2\nb,3\nc,4,5\n")}
    replies = [
        owner.post("/drafts", files=uneven, headers=spoken),
        owner.post("/drafts", files={"file": ("a.xlsx", b"PK\x03\x04no")}, headers=spoken),
        owner.post(f"{page}/items/0", data={"name": "0", "cell feature 0": "viel"}, headers=spoken),
        owner.post(f"{page}/items/0", data={"name": "1"}, headers=spoken),
        owner.post(f"{page}/programs/tokens", data={"program": "", "rights": "read"}, headers=spoken),
        owner.post(f"{page}/programs/webhooks", data={"address": "x", "topics": "done"}, headers=spoken),
        owner.post(f"{page}/settings", data={"before": ": number"}, headers=spoken),
        owner.post(f"{page}/settings", data={"embed_origins": "shop"}, headers=spoken),
        owner.post(f"{page}/settings", data={"fixed": "tea"}, headers=spoken),
    ]
    for number, reply in enumerate(replies):
        read = Reader()
        read.feed(reply.text)
        said = read.english + english_in(reply.text, language(code))
        assert reply.status_code == 422 and not said, (number, reply.status_code, said)
    assert study.n_items == 3


def test_an_error_page_is_in_the_language_that_the_study_has(client: TestClient, study: Study) -> None:
    study.present(language="es")
    at = f"/a/{study.respondent('Ute').record.token}"
    client.headers["Accept-Language"] = "de"
    missing = client.get(f"{at}/picture/99")
    wrong = client.post(f"{at}/answers", data={"answer": "77", "choice": "left"})
    for page in (missing, wrong):
        assert page.status_code in (404, 422) and '<html lang="es"' in page.text
    assert '<html lang="de"' in client.get("/a/nobody").text


def test_from_right_to_left_the_left_card_stays_on_the_left(
    client: TestClient, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no such language yet: one is made up. The rest of the page goes by its direction."""
    monkeypatch.setattr(rendering, "best_language", lambda _: Language("ar"))
    page = client.get(f"/a/{study.respondent('Ute').record.token}").text
    assert '<html lang="ar" dir="rtl">' in page and page.index('value="left"') < page.index('value="right"')
    css = client.get("/static/coombs.css").text
    assert re.search(r'\[dir="rtl"\] :is\(\.pair,[^{]*{ direction: ltr; }', css)
    assert not re.search(r"(margin|padding)-(left|right)", css)
