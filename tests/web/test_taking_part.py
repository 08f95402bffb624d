"""A person's way through a study: consent, fields, questions, thanks; the open link; by page and by API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import create_study, load_study, web
from coombs.storage import open_storage
from coombs.study import PersonField, Presentation, Study
from coombs.web.pages.joining import cookie_name
from coombs.web.server_log import without_secrets
from coombs.web.throttle import ARRIVAL_SECONDS, Arrivals

FORM = {"Origin": "http://127.0.0.1"}
SCRIPT = "<script>alert(1)</script>"
ALL = Presentation(
    title=f"Flats {SCRIPT}",
    introduction=f"Hello {SCRIPT} https://example.org/info",
    consent=f"I agree {SCRIPT}",
    wording="Where would you rather live?",
    instructions=f"Click {SCRIPT}",
    thank_you=f"Bye {SCRIPT}",
    redirect="https://example.org/done?id={pid}",
    fields=(
        PersonField(f"Age {SCRIPT}", "choice", ("young", "old"), required=True),
        PersonField("Town"),
        PersonField("Years", "number", asked="after"),
    ),
)
AGE = f"Age {SCRIPT}"


@pytest.fixture
def storage(tmp_path: Path) -> Any:
    return open_storage(f"sqlite:///{tmp_path / 'web.db'}")


@pytest.fixture
def study(storage: Any) -> Study:
    items = np.random.default_rng(0).normal(size=(8, 2)).round(2)
    return create_study(items, "points", storage=storage)


@pytest.fixture
def client(storage: Any) -> Iterator[TestClient]:
    """A stranger's, with a browser of their own."""
    yield from _client(storage)


@pytest.fixture
def other(storage: Any) -> Iterator[TestClient]:
    """Another stranger's, at another process."""
    yield from _client(storage)


@pytest.fixture
def owner(storage: Any) -> Iterator[TestClient]:
    yield from _client(storage, ("127.0.0.1", 5))


def _client(storage: Any, client: tuple[str, int] = ("192.0.2.7", 5)) -> Iterator[TestClient]:
    known: Any = {"base_url": "http://127.0.0.1", "client": client, "headers": FORM}
    with TestClient(web.create_app(storage), follow_redirects=False, **known) as made:
        yield made


def follow(client: TestClient, reply: Any) -> str:
    """The page that a form leads to."""
    assert reply.status_code == 303, reply.text
    return str(client.get(reply.headers["location"]).text)


def question_in(page: str) -> str:
    (number,) = re.findall(r'name="question" value="(\d+)"', page)
    return str(number)


def record_of(study: Study, name: str) -> Any:
    return next(one for one, _ in study.storage.respondents(study.record.id) if one.name == name)


def test_a_study_without_texts_goes_straight_to_the_questions(client: TestClient, study: Study) -> None:
    page = client.get(f"/a/{study.respondent('Ann').record.token}").text
    assert "Which do you prefer?" in page and question_in(page) == "1" and "I am done" not in page


def test_the_whole_way_works_with_forms_alone(client: TestClient, study: Study) -> None:
    study.present(ALL)
    study.change_settings(questions=2)
    at = f"/a/{study.respondent('Ann').record.token}"
    page = client.get(at).text
    assert "I have read this and agree" in page and 'href="https://example.org/info"' in page
    refused = client.post(f"{at}/consent", data={})
    assert refused.status_code == 422 and "Please tick that you agree" in refused.text
    page = follow(client, client.post(f"{at}/consent", data={"agree": "yes"}))
    assert "A few questions about you" in page
    wrong = client.post(f"{at}/fields", data={"asked": "before", "field Town": "Ulm"})
    assert (
        wrong.status_code == 422 and "This is needed to go on." in wrong.text and 'value="Ulm"' in wrong.text
    )
    data = {"asked": "before", "field Town": "", f"field {AGE}": "old"}
    page = follow(client, client.post(f"{at}/fields", data=data))
    assert "How it works" in page and "Where would you rather live?" not in page
    page = client.get(f"{at}?begin=yes").text
    assert "Where would you rather live?" in page and "0 of 2 questions answered" in page
    for _ in range(2):
        page = follow(
            client, client.post(f"{at}/tell", data={"question": question_in(page), "choice": "skip"})
        )
    assert "Finally, a few questions about you" in page
    wrong = client.post(f"{at}/fields", data={"asked": "after", "field Years": "many"})
    assert wrong.status_code == 422 and "Please write a number." in wrong.text
    assert record_of(study, "Ann").finished is None
    page = follow(client, client.post(f"{at}/fields", data={"asked": "after", "field Years": "9"}))
    assert "Thank you" in page and 'href="https://example.org/done?id=Ann"' in page and f"{at}/result" in page
    assert SCRIPT not in page and "http-equiv=" not in page
    found = record_of(study, "Ann")
    assert found.finished and found.consented and found.consent_version == 1 and found.language == "en"
    assert found.fields == {AGE: "old", "Town": "", "Years": "9"}
    # Whoever comes back, sees the same.
    assert "Thank you" in client.get(at).text


def test_no_text_of_the_owner_is_taken_for_html(client: TestClient, study: Study) -> None:
    study.present(ALL)
    at = f"/a/{study.respondent(SCRIPT).record.token}"
    study.switch_open_link()
    pages = [client.get(at).text, client.get(f"/join/{study.open_token}?pid={SCRIPT}").text]
    pages.append(follow(client, client.post(f"{at}/consent", data={"agree": "yes"})))
    pages.append(follow(client, client.post(f"{at}/fields", data={"asked": "before", f"field {AGE}": "old"})))
    pages.append(client.get(f"{at}?begin=yes").text)
    assert all("alert(1)" in page and SCRIPT not in page for page in pages)


def test_nothing_is_asked_or_stored_without_consent(client: TestClient, study: Study) -> None:
    person = study.respondent("Ann")
    number = study.respondent("Ann").ask().id  # type: ignore[union-attr]
    study.present(consent="Yes?", fields=[{"label": "Age", "required": True}])
    at, api = f"/a/{person.record.token}", f"/api/respondents/{person.record.token}"
    for words in ("Consent comes before", "about you are asked before"):
        for reply in (
            client.get(f"{api}/question"),
            client.post(f"{api}/tell", json={"question": number, "choice": "left"}),
            client.post(f"{api}/undo", json={}),
            client.get(f"{api}/progress"),
            client.post(f"{api}/finish", json={}),
        ):
            assert reply.status_code == 403 and words in reply.json()["detail"]
        script = client.post(
            f"{at}/tell", data={"question": number, "choice": "left"}, headers={"X-Part": "question"}
        )
        assert script.status_code == 403
        form = client.post(f"{at}/tell", data={"question": number, "choice": "left"})
        assert "<h1>" in follow(client, form) and "Which do you prefer?" not in follow(client, form)
        client.post(f"{api}/consent", json={"agree": True})
    assert person.history() == ()
    wrong = client.post(f"{api}/fields", json={"fields": {"Age": " "}})
    assert wrong.status_code == 422 and "needed to go on" in wrong.json()["detail"]
    assert client.post(f"{api}/fields", json={"fields": {"Age": "41"}}).json()["step"] == "questions"
    told = client.post(f"{api}/tell", json={"question": number, "choice": "left"})
    assert told.status_code == 200 and len(person.history()) == 1
    assert client.post(f"{api}/consent", json={"agree": False}).status_code == 422


def test_consent_is_asked_again_only_where_its_text_changed(
    client: TestClient, other: TestClient, study: Study
) -> None:
    study.present(consent="One")
    at = f"/a/{study.respondent('Ann').record.token}"
    client.post(f"{at}/consent", data={"agree": "yes"})
    study.present(title="New", thank_you="Bye")
    assert "Which do you prefer?" in client.get(at).text and "Which do you prefer?" in other.get(at).text
    study.present(consent="Two")
    assert "I have read this" in client.get(at).text and "I have read this" in other.get(at).text
    client.post(f"{at}/consent", data={"agree": "yes"})
    assert record_of(study, "Ann").consent_version == 3 and "Which do you prefer?" in other.get(at).text


@pytest.mark.parametrize("way", ["link", "open link", "API"])
def test_consent_is_to_the_text_that_was_seen(client: TestClient, study: Study, way: str) -> None:
    """Who reads one text, and agrees after it was changed, agreed to the first, and is asked again."""
    study.present(consent="One")
    token = study.respondent("Ann").record.token
    at = f"/join/{study.switch_open_link()}" if way == "open link" else f"/a/{token}"
    (seen,) = re.findall(r'name="consent version" value="(\d+)"', client.get(at).text)
    study.present(consent="Two")
    form = {"agree": "yes", "consent version": seen}
    if way == "API":
        given = {"agree": True, "version": int(seen)}
        assert client.post(f"/api/respondents/{token}/consent", json=given).json()["step"] == "consent"
    else:
        page = follow(client, client.post(at if way == "open link" else f"{at}/consent", data=form))
        assert "Two" in page and "I have read this" in page
    person = record_of(study, "Person 2" if way == "open link" else "Ann")
    assert (person.consent_version, study.presentations.latest) == (1, 2)
    unknown = client.post(f"/a/{person.token}/consent", data={**form, "consent version": "9"})
    assert unknown.status_code == 422 and "no version 9" in unknown.text


def test_nobody_who_comes_by_the_open_link_is_the_owners_own_person(client: TestClient, study: Study) -> None:
    """The owner who answers is called "me", and so may an id from elsewhere be."""
    client.post(f"/join/{study.switch_open_link()}", data={"pid": "me"})
    (person,) = (one for one, _ in study.storage.respondents(study.record.id))
    assert (person.name, person.external_id) == ("Person 1", "me")


def test_who_came_by_the_open_link_or_filled_in_fields_has_started(client: TestClient, study: Study) -> None:
    """Before the first question, too: they are not only invited, and were seen."""
    study.present(fields=[{"label": "Age"}, {"label": "Years", "asked": "after"}])
    at = f"/a/{study.respondent('Ann').record.token}"
    client.post(f"{at}/fields", data={"asked": "before", "field Age": "4"})
    client.post(f"/join/{study.switch_open_link()}", data={"pid": "P7"})
    study.respondent("Bob")
    people = {one.name: one for one in study.monitor().people}
    assert [people[name].status for name in ("Ann", "P7", "Bob")] == ["started", "started", "invited"]
    assert people["P7"].last_seen is not None and people["Bob"].last_seen is None


def test_long_answers_about_oneself_are_taken_in_any_script(client: TestClient, study: Study) -> None:
    study.present(fields=[{"label": "Why"}, {"label": "Why not"}])
    at, long = f"/a/{study.respondent('Ann').record.token}", "\u5b57" * 1000
    said = {"asked": "before", "field Why": long, "field Why not": long}
    follow(client, client.post(f"{at}/fields", data=said))
    assert record_of(study, "Ann").fields == {"Why": long, "Why not": long}


def test_a_study_that_is_closed_or_not_open_says_so(client: TestClient, study: Study) -> None:
    person = study.respondent("Ann")
    at, api = f"/a/{person.record.token}", f"/api/respondents/{person.record.token}"
    number = question_in(client.get(at).text)
    load_study("points", storage=study.storage).close()
    answer = {"question": number, "choice": "left"}
    page = client.get(at)
    assert page.status_code == 403 and "one that was still on the screen is not" in page.text
    assert "This study is closed" in follow(client, client.post(f"{at}/tell", data=answer))
    refused = client.post(f"{api}/tell", json={"question": int(number), "choice": "left"})
    assert refused.status_code == 403 and "This study is closed" in refused.json()["detail"]
    assert client.get(api).json()["step"] == "closed" and person.history() == ()
    study.present(opens=datetime.now(UTC) + timedelta(days=1), closes=None)
    assert "not open yet" in client.get(at).text and client.get(f"{api}/question").status_code == 403
    study.reopen()
    assert client.post(f"{api}/tell", json={"question": int(number), "choice": "left"}).status_code == 200


def test_an_answer_that_is_stored_is_confirmed_again_at_the_end(client: TestClient, study: Study) -> None:
    study.change_settings(questions=1)
    api = f"/api/respondents/{study.respondent('Ann').record.token}"
    number = client.get(f"{api}/question").json()["question"]["id"]
    answer = {"question": number, "choice": "left"}
    for _ in range(2):
        reply = client.post(f"{api}/tell", json=answer)
        assert reply.status_code == 200 and reply.json()["step"] == "finished"
        assert reply.json()["question"] is None and reply.json()["progress"]["n_questions"] == 1
    assert record_of(study, "Ann").finished is not None
    undone = client.post(f"{api}/undo", json={}).json()
    assert undone["step"] == "questions" and undone["question"]["id"] == number
    assert record_of(study, "Ann").finished is None
    client.post(f"{api}/tell", json=answer)
    assert record_of(study, "Ann").finished is not None


def test_the_script_is_sent_on_after_the_last_answer(client: TestClient, study: Study) -> None:
    study.change_settings(questions=1)
    at = f"/a/{study.respondent('Ann').record.token}"
    number = question_in(client.get(at).text)
    reply = client.post(
        f"{at}/tell", data={"question": number, "choice": "left"}, headers={"X-Part": "question"}
    )
    assert reply.headers["x-part"] == "question" and f'data-go="{at}"' in reply.text
    page = client.get(at).text
    assert "Thank you" in page and "Take back the last answer" in page
    study.close()
    assert "Take back" not in client.get(at).text and "Thank you" in client.get(at).text


def test_without_a_text_the_browser_goes_on_at_once(client: TestClient, study: Study) -> None:
    study.present(redirect="https://example.org/?a=1&id={pid}")
    study.change_settings(questions=1)
    at = f"/a/{study.respondent('A B').record.token}"
    answer = {"question": question_in(client.get(at).text), "choice": "left"}
    page = follow(client, client.post(f"{at}/tell", data=answer))
    assert '<meta http-equiv="refresh" content="0; url=https://example.org/?a=1&amp;id=A%20B">' in page


def test_where_no_number_is_set_people_say_when_they_are_done(client: TestClient, study: Study) -> None:
    study.present(thank_you="Bye", fields=[{"label": "Age", "asked": "after", "required": True}])
    at = f"/a/{study.respondent('Ann').record.token}"
    page = client.get(at).text
    assert "I am done" not in page
    page = follow(client, client.post(f"{at}/tell", data={"question": question_in(page), "choice": "left"}))
    assert "I am done" in page
    assert "Finally" in client.post(f"{at}/finish").text and record_of(study, "Ann").finished is None
    page = follow(client, client.post(f"{at}/fields", data={"asked": "after", "field Age": "4"}))
    assert "Bye" in page and record_of(study, "Ann").finished is not None


@pytest.mark.slow
def test_a_result_that_is_not_for_people_is_for_the_owner_only(
    client: TestClient, owner: TestClient, study: Study
) -> None:
    study.present(shows_result=False)
    person = study.respondent("Ann")
    for _ in range(4):
        person.tell(person.ask(), "left")  # type: ignore[arg-type]
    token = person.record.token
    paths = ["/a/{}/result", "/a/{}/result/words", "/a/{}/result/ranking.csv", "/a/{}/result/model.json"]
    paths += ["/a/{}/result/report.html", "/api/respondents/{}/result", "/a/{}/result/map?x=a&y=b"]
    for path in paths:
        assert client.get(path.format(token)).status_code == 404, path
    assert owner.get(f"/a/{token}/result").status_code == 200
    assert client.get(f"/api/respondents/{token}/question").json()["progress"]["top"] == []
    assert "/result" not in client.get(f"/a/{token}").text


@pytest.mark.slow
def test_people_see_the_title_and_not_the_name(client: TestClient, study: Study) -> None:
    study.present(title="Where to live?")
    person = study.respondent("Ann")
    for _ in range(3):
        person.tell(person.ask(), "left")  # type: ignore[arg-type]
    for path in ("", "/result", "/result?whole=true", "/answers"):
        page = client.get(f"/a/{person.record.token}{path}").text
        assert "Where to live?" in page and "points" not in page


def test_the_owner_may_fix_the_language(client: TestClient, study: Study) -> None:
    at = f"/a/{study.respondent('Ann').record.token}"
    spanish = {"Accept-Language": "es"}
    assert '<html lang="es"' in client.get(at, headers=spanish).text
    study.present(language="de")
    assert '<html lang="de"' in client.get(at, headers=spanish).text
    assert '<html lang="de"' in client.get(f"{at}/result", headers=spanish).text


# The open link.


def join(client: TestClient, study: Study, query: str = "", **data: str) -> Any:
    """Look at the link, and press Start with what its page has."""
    page = client.get(f"/join/{study.open_token}{query}")
    if page.status_code != 200:
        return page
    hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', page.text))
    sent = {name: unescape(value) for name, value in hidden.items()}
    return client.post(f"/join/{study.open_token}", data={**sent, **data})


def test_a_person_is_made_by_start_and_not_by_looking(client: TestClient, study: Study) -> None:
    study.switch_open_link()
    at = f"/join/{study.open_token}"
    for _ in range(2):
        client.get(at, headers={"Purpose": "prefetch"})
        client.head(at)
    assert study.respondents() == {}
    page = follow(client, join(client, study))
    assert "Which do you prefer?" in page and list(study.respondents()) == ["Person 1"]
    found = record_of(study, "Person 1")
    assert found.source == "open link" and found.external_id is None


def test_a_browser_is_one_person(client: TestClient, other: TestClient, study: Study) -> None:
    study.switch_open_link()
    first = join(client, study).headers["location"]
    assert join(client, study).headers["location"] == first
    # Start pressed twice, or sent again.
    assert client.post(f"/join/{study.open_token}").headers["location"] == first
    assert join(other, study).headers["location"] != first
    study.switch_open_link(renew=True)
    assert join(client, study).headers["location"] == first
    assert len(study.respondents()) == 2


def test_ids_of_the_address_are_kept(client: TestClient, study: Study) -> None:
    study.switch_open_link()
    study.present(consent="Yes?", id_parameter="rid")
    query = "?PROLIFIC_PID=5f%26x&STUDY_ID=s1&SESSION_ID=t2&colour=red"
    refused = join(client, study, query)
    assert refused.status_code == 422 and study.respondents() == {}
    join(client, study, query, agree="yes", colour="red")
    found = record_of(study, "5f&x")
    assert found.external_id == "5f&x" and found.fields == {"STUDY_ID": "s1", "SESSION_ID": "t2"}
    assert found.consent_version == 1 and found.consented is not None
    # Another id at the same browser is another person.
    join(client, study, "?rid=7", agree="yes")
    assert list(study.respondents()) == ["5f&x", "7"]
    long = client.get(f"/join/{study.open_token}?pid={'9' * 1001}")
    assert long.status_code == 422 and "cannot be used" in long.text


def test_an_id_is_no_key_to_what_somebody_answered(
    client: TestClient, other: TestClient, study: Study
) -> None:
    study.switch_open_link()
    mine = join(client, study, "?pid=7").headers["location"]
    # Nothing was asked yet: whoever comes with the id gets a new link, and the former one ends.
    theirs = join(other, study, "?pid=7").headers["location"]
    assert theirs != mine and client.get(mine).status_code == 404 and len(study.respondents()) == 1
    follow(other, other.get(f"/join/{study.open_token}?pid=7"))
    refused = join(client, study, "?pid=7")
    assert refused.status_code == 409 and "takes part already" in refused.text
    assert other.get(theirs).status_code == 200


def test_a_name_of_somebody_is_not_taken_by_an_id(client: TestClient, study: Study) -> None:
    ann = study.respondent("Ann").record
    study.respondent("Person 2")
    study.switch_open_link()
    where = join(client, study, "?pid=Ann").headers["location"]
    assert ann.token not in where and list(study.respondents()) == ["Ann", "Person 2", "Person 3"]


def test_a_link_that_is_off_renewed_or_closed_makes_nobody(client: TestClient, study: Study) -> None:
    old = study.switch_open_link()
    study.switch_open_link(renew=True)
    for token in (old, "nothing"):
        assert client.get(f"/join/{token}").status_code == client.post(f"/join/{token}").status_code == 404
    study.close()
    assert client.get(f"/join/{study.open_token}").status_code == 403
    assert "This study is closed" in client.post(f"/join/{study.open_token}").text
    # Whoever has answered nothing is not told about answers, with a link of their own neither.
    for path in (f"/join/{study.open_token}", f"/a/{study.respondent('Eve').record.token}"):
        shown = client.get(path).text
        assert "nobody can take part any more" in shown and "answers that were stored" not in shown
    study.delete_respondent("Eve")
    study.reopen()
    token = study.open_token
    study.switch_open_link(False)
    assert client.get(f"/join/{token}").status_code == 404 and study.respondents() == {}


def test_a_foreign_cookie_opens_nothing(client: TestClient, study: Study) -> None:
    study.switch_open_link()
    other = create_study([[1.0], [2.0]], "other", storage=study.storage).respondent("Bob").record
    for value in (other.token, study.respondent("Ann").record.token + "x", "ü", ""):
        header = f"{cookie_name(study.record.id, None)}={value}".encode()
        assert client.get(f"/join/{study.open_token}", headers={"Cookie": header}).status_code == 200


def test_many_from_one_address_wait(client: TestClient, study: Study) -> None:
    study.switch_open_link()
    client.app.state.arrivals = Arrivals(most=2)  # type: ignore[attr-defined]
    replies = [join(client, study, f"?pid={i}") for i in range(3)]
    assert [reply.status_code for reply in replies] == [303, 303, 429]
    assert int(replies[2].headers["retry-after"]) > 0 and len(study.respondents()) == 2
    now = [0.0]
    arrivals = Arrivals(1, lambda: now[0])
    arrivals.note("2001:db8::1")
    assert arrivals.wait("2001:db8::2") == ARRIVAL_SECONDS and not arrivals.wait("192.0.2.1")
    now[0] = ARRIVAL_SECONDS + 1
    assert arrivals.wait("2001:db8::2") == 0


def test_no_log_has_an_open_link_or_an_id() -> None:
    assert without_secrets("GET /x/join/abc?pid=7&y=8 HTTP/1.1") == "GET /x/join/... HTTP/1.1"
