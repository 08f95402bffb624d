"""The owner's settings: the same by page, API and command line, and refused to everybody else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import create_study, load_study, web
from coombs.cli import main
from coombs.storage import open_storage
from coombs.study import PersonField, Study

FORM = {"Origin": "http://127.0.0.1"}
SCRIPT = "<script>alert(1)</script>"
URL = "/studies/points/settings"
API = "/api/studies/points/settings"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'web.db'}"


@pytest.fixture
def study(url: str) -> Study:
    return create_study([[1.0], [2.0], [4.0]], "points", storage=url)


@pytest.fixture
def client(study: Study) -> Iterator[TestClient]:
    yield from _client(study, ("127.0.0.1", 5))


@pytest.fixture
def stranger(study: Study) -> Iterator[TestClient]:
    yield from _client(study, ("192.0.2.7", 5))


def _client(study: Study, address: tuple[str, int]) -> Iterator[TestClient]:
    known: Any = {"base_url": "http://127.0.0.1", "client": address, "headers": FORM}
    with TestClient(web.create_app(study.storage), follow_redirects=False, **known) as made:
        yield made


def typed(page: str) -> dict[str, str]:
    """What a browser would send of the first form."""
    form = page[page.index('class="settings"') : page.index("</form>", page.index('class="settings"'))]
    inputs = re.findall(r'<input id="[^"]*" name="([^"]*)" type="[^"]*" value="([^"]*)"', form)
    areas = re.findall(r'<textarea id="[^"]*" name="([^"]*)"[^>]*>\n(.*?)</textarea>', form, flags=re.DOTALL)
    found = {name: unescape(value) for name, value in (*inputs, *areas)}
    if re.search(r'name="shows_result" value="yes" checked', form):
        found["shows_result"] = "yes"
    for name, options in re.findall(
        r'<select id="[^"]*" name="([^"]*)"[^>]*>(.*?)</select>', form, re.DOTALL
    ):
        found[name] = (re.findall(r'value="(\w+)" selected', options) or [""])[0]
    return found


def test_the_form_sets_all_and_sent_again_changes_nothing(client: TestClient, study: Study) -> None:
    form = typed(client.get(URL).text)
    assert form["shows_result"] == "yes" and form["parameters"] == "STUDY_ID, SESSION_ID"
    assert client.post(URL, data=form).headers["location"] == f"{URL}?saved=yes"
    assert study.presentation == type(study.presentation)()
    del form["shows_result"]
    form |= {"title": f"Flats {SCRIPT}", "consent": "One\r\n\r\nTwo", "wording": "Which?", "questions": "7"}
    form |= {"before": "Age*: number\r\nTown", "after": "Sex: f | m | other", "language": "de"}
    form |= {"opens": "2026-01-01T10:00", "closes": "2100-01-01T10:00", "redirect": "https://x.org/{pid}"}
    client.post(URL, data=form)
    shown = study.presentation
    assert shown.title == f"Flats {SCRIPT}" and shown.consent == "One\n\nTwo" and not shown.shows_result
    assert shown.fields[0] == PersonField("Age", "number", required=True) and len(shown.after) == 1
    assert load_study("points", storage=study.storage).settings.questions == 7
    client.post(
        URL, data={**form, "set_size": "3", "repeats": "4, 6", "attention": "2: 0 > 1", "fixed": "0 | 2"}
    )
    asks = load_study("points", storage=study.storage).settings
    assert (asks.set_size, asks.repeats, asks.fixed) == (3, (4, 6), (("0", "2"),))
    assert asks.attention == ((2, "0", "1"),)
    client.post(URL, data={**form, "top": "1", "certainty": "62,5"})
    asks = load_study("points", storage=study.storage).settings
    assert (asks.top, asks.certainty) == (1, 0.625)
    # A browser takes only whole numbers unless it is told otherwise.
    assert re.search(r'name="certainty"[^>]* value="62.5"[^>]* step="any"', client.get(URL).text)
    client.post(URL, data={**form, "top": "", "certainty": ""})
    asks = load_study("points", storage=study.storage).settings
    assert (asks.top, asks.certainty) == (None, 0.8)
    version, page = study.presentations.latest, client.get(URL).text
    assert SCRIPT not in page
    client.post(URL, data=typed(page))
    study.presentations.refresh()
    assert study.presentations.latest == version


def test_what_cannot_be_is_refused_and_all_that_was_typed_stays(client: TestClient, study: Study) -> None:
    form = typed(client.get(URL).text)
    for wrong, words in (
        ({"redirect": "javascript:alert(1)"}, "must be a web address"),
        ({"questions": "x"}, "must be a whole number, or blank"),
        ({"questions": "5", "most_questions": "6"}, "give one of the two"),
        ({"before": "Sex: f"}, "two to 200 different choices"),
        ({"closes": "soon"}, "must be a time"),
        ({"attention": "2: 0 or 1"}, "as 10: tea &gt; soap"),
        ({"fixed": "0 | nobody"}, "which is no item of the study"),
        ({"repeats": "often"}, "must be numbers of answers"),
        ({"strategy": "fixed"}, "there are no fixed questions"),
    ):
        reply = client.post(URL, data={**form, "title": "Kept", **wrong})
        assert reply.status_code == 422 and words in reply.text and 'value="Kept"' in reply.text
    assert study.presentation.title == "" and study.settings.questions is None


def test_the_preview_shows_every_step_and_stores_nothing(client: TestClient, study: Study) -> None:
    texts = {
        "introduction": "Hello",
        "consent": "Yes?",
        "instructions": "Click",
        "thank_you": f"Bye {SCRIPT}",
    }
    study.present(**texts, fields=[{"label": "Age"}, {"label": "Job", "asked": "after"}])
    page = client.get(f"{URL}/preview").text
    assert all(text in page for text in ("Hello", "Yes?", "Click", "Bye", "Age", "Job"))
    assert SCRIPT not in page and study.respondents() == {}
    assert client.get("/studies/points").text.count(f'href="{URL}"') == 1


def test_the_open_link_and_the_state_are_switched_by_forms(client: TestClient, study: Study) -> None:
    client.post(f"{URL}/open-link", data={"switch": "on"})
    first = study.open_token
    assert f"/join/{first}" in client.get(URL).text
    client.post(f"{URL}/open-link", data={"switch": "renew"})
    assert study.open_token not in (None, first)
    client.post(f"{URL}/open-link", data={"switch": "off"})
    assert study.open_token is None
    assert client.post(f"{URL}/open-link", data={"switch": "x"}).status_code == 422
    client.post(f"{URL}/state", data={"close": "yes"})
    assert study.presentation.state() == "closed" and "Open now" in client.get(URL).text
    assert "people cannot answer" in client.get("/studies/points").text
    client.post(f"{URL}/state", data={"close": "no"})
    assert study.presentation.state() == "open"


def test_a_running_page_goes_by_what_was_changed(client: TestClient, study: Study, url: str) -> None:
    token = study.respondent("Ann").record.token
    client.get(f"/a/{token}")
    other = load_study("points", storage=url)
    other.change_settings(questions=2)
    other.present(wording="Which now?")
    page = client.get(f"/a/{token}").text
    assert "Which now?" in page and "0 of 2 questions" in page


def test_the_api_has_the_same(client: TestClient, study: Study) -> None:
    found = client.get(API).json()
    assert found["version"] == 0 and found["state"] == "open" and found["open_link"] is None
    assert found["presentation"]["parameters"] == ["STUDY_ID", "SESSION_ID"]
    sent = {
        "presentation": {"title": "Flats", "fields": [{"label": "Age", "kind": "number"}], "opens": None},
        "settings": {"questions": 9},
        "open_link": "on",
        "close": True,
    }
    found = client.patch(API, json=sent).json()
    assert found["presentation"]["title"] == "Flats" and found["settings"]["questions"] == 9
    assert found["state"] == "closed" and found["presentation"]["fields"][0]["kind"] == "number"
    assert found["open_link"] == f"http://127.0.0.1/join/{study.open_token}"
    back = {"presentation": found["presentation"], "settings": found["settings"]}
    assert client.patch(API, json=back).json() == found
    for wrong, words in (
        ({"presentation": {"colour": "red"}}, "'colour' is nothing about what people see"),
        ({"settings": {"seed": 4}}, "cannot change"),
        ({"settings": {"questions": 0}, "presentation": {"title": "No"}}, "whole number from 1"),
        ({"presentation": {"title": 7}, "settings": {"questions": 3}}, "must be text"),
        ({"open_link": "maybe"}, "open_link"),
    ):
        reply = client.patch(API, json=wrong)
        assert reply.status_code == 422 and words in reply.json()["detail"]
    assert client.get(API).json() == found


def test_settings_are_the_owners_alone(stranger: TestClient, study: Study) -> None:
    for reply in (
        stranger.get(URL),
        stranger.post(URL, data={"title": "x"}),
        stranger.get(f"{URL}/preview"),
        stranger.post(f"{URL}/open-link", data={"switch": "on"}),
        stranger.post(f"{URL}/state", data={"close": "yes"}),
        stranger.get(API),
        stranger.patch(API, json={"close": True}),
    ):
        assert reply.status_code == 403
    assert study.open_token is None and study.presentations.latest == 0


def test_the_command_has_the_same(study: Study, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["--title", "Flats", "--field", "Age*: number", "--field-after", "Job", "--questions", "5"]
    more = ["--hide-result", "--open-link", "on", "--closes", "2100-01-01", "--parameter", "source"]
    assert main(["settings", "--storage", url, *texts, *more]) == 0
    assert "open until 2100-01-01" in capsys.readouterr().out
    shown = study.presentation
    assert shown.title == "Flats" and shown.before[0].required and shown.after[0].label == "Job"
    assert not shown.shows_result and shown.parameters == ("source",)
    until = ["--most-questions", "8", "--top", "1", "--certainty", "0.9"]
    assert main(["settings", "--storage", url, "--close", *until, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["state"] == "closed" and found["settings"]["most_questions"] == 8
    assert (found["settings"]["top"], found["settings"]["certainty"]) == (1, 0.9)
    assert found["settings"]["questions"] is None and found["open_token"] == study.open_token
    assert main(["settings", "--storage", url, "--reopen", "--field", ""]) == 0
    assert study.presentation.state() == "open" and study.presentation.before == ()
    assert len(study.presentation.after) == 1
    capsys.readouterr()
    assert main(["settings", "--storage", url, "--redirect", "ftp://x"]) == 2
    assert "must be a web address" in capsys.readouterr().err


def test_a_long_text_comes_from_a_file(study: Study, url: str, tmp_path: Path) -> None:
    (tmp_path / "consent.txt").write_text("Yes?\n", encoding="utf-8")
    assert main(["settings", "--storage", url, "--consent", f"@{tmp_path / 'consent.txt'}"]) == 0
    assert study.presentation.consent == "Yes?"
    assert main(["settings", "--storage", url, "--consent", "@nowhere.txt"]) == 2


def test_a_memory_study_has_settings_too() -> None:
    study = create_study([[1.0], [2.0]], storage=open_storage("memory:"), most_questions=4)
    assert study.settings.most_questions == 4
