"""Programs that use a study by a token: what each right opens, what may be sent twice, lists in parts."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import create_study, web
from coombs.storage import open_storage
from coombs.study import Study
from coombs.study.stored_check import Inspection
from coombs.web.api import idempotency
from coombs.web.token_rights import StudyAccess

TOKEN = "a-token-of-many-letters"
ITEMS = [[float(i), float(i * 7 % 12)] for i in range(12)]
ADDRESS = "203.0.113.9"


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A study beside another, in which two people have answered."""
    storage = open_storage(f"sqlite:///{tmp_path / 'web.db'}")
    create_study(ITEMS, "other", storage=storage)
    made = create_study(ITEMS, "points", storage=storage)
    for name, n in (("Ann", 3), ("Bob", 4)):
        for i in range(n):
            made.respondent(name).tell((i, i + 1))
    return made


@pytest.fixture
def app(study: Study) -> Any:
    return web.create_app(study.storage, token=TOKEN)


DELETE_STUDY = "delete /api/studies/{name}"


def client_of(app: Any, token: str, address: str = ADDRESS) -> TestClient:
    """A program elsewhere that shows a token."""
    headers = {"Authorization": f"Bearer {token}"}
    return TestClient(app, base_url="http://127.0.0.1", client=(address, 5), headers=headers)


@pytest.fixture
def owner(app: Any) -> Iterator[TestClient]:
    with client_of(app, TOKEN, "203.0.113.1") as made:
        yield made


def test_each_right_opens_what_it_says_and_only_in_its_study(study: Study, app: Any) -> None:
    """Of every route of a study: a token of another study opens nothing, and none opens pages."""
    opened: dict[str, set[str]] = {}
    for rights in ("answer", "read", "own"):
        client = client_of(app, study.api_tokens.add(rights, rights))  # type: ignore[arg-type]
        opened[rights] = set()
        for path, methods in app.openapi()["paths"].items():
            for method in methods:
                # The study itself is deleted at the end.
                is_end = rights == "own" and f"{method} {path}" == DELETE_STUDY
                if path.startswith("/api/respondents") or is_end:
                    continue
                for name in ("points", "other"):
                    at = re.sub(r"\{\w+\}", "none", path.replace("{name}", name))
                    reply = client.request(
                        method, at, json={} if method in ("post", "put", "patch") else None
                    )
                    assert reply.status_code in (200, 201, 202, 204, 403, 404, 409, 422), (method, at)
                    if reply.status_code != 403:
                        assert name == "points" and "{name}" in path
                        opened[rights].add(f"{method} {path}")
        assert client.get("/studies/points").status_code == 403
        assert client.get("/api/studies").status_code == 403
    assert opened["answer"] == {"post /api/studies/{name}/respondents"}
    assert {"get /api/studies/{name}", "get /api/studies/{name}/answers"} <= opened["read"]
    assert all(one.startswith("get ") for one in opened["read"])
    everything = {
        f"{method} {path}"
        for path, methods in app.openapi()["paths"].items()
        for method in methods
        if "{name}" in path
    }
    assert opened["own"] == everything - {DELETE_STUDY}
    assert client.delete("/api/studies/points").status_code == 204


def test_a_path_that_nobody_thought_of_takes_the_right_to_own() -> None:
    reader = StudyAccess("points", "read")
    assert reader.refusal("GET", "/api/studies/points/something/new") is not None
    assert reader.refusal("GET", "/api/studies/points/tokens") is not None
    assert reader.refusal("GET", "/api/studies/points/../other") is not None


def test_who_may_only_read_sees_no_link(study: Study, app: Any, owner: TestClient) -> None:
    reader = client_of(app, study.api_tokens.add("reader", "read"))
    links = study.links().values()
    for path in ("", "/respondents", "/answers", "/export/study.jsonl", "/export/answers.csv"):
        text = reader.get(f"/api/studies/points{path}").text
        assert "Ann" in text and not [one for one in links if one in text]
    assert owner.get("/api/studies/points/respondents").json()[0]["token"] in links


def test_a_program_asks_and_tells_for_its_own_people(study: Study, app: Any) -> None:
    program = client_of(app, study.api_tokens.add("shop", "answer"))
    made = program.post("/api/studies/points/respondents", json={"names": ["user 17"]}).json()
    again = program.post("/api/studies/points/respondents", json={"names": ["user 17"]}).json()
    assert made == again
    address = f"/api/respondents/{made[0]['token']}"
    turn = program.get(f"{address}/question").json()
    told = {"question": turn["question"]["id"], "choice": "left"}
    assert program.post(f"{address}/tell", json=told).json()["progress"]["n_answers"] == 1
    assert study.respondents()["user 17"] == 1


def test_tokens_are_made_listed_and_revoked(study: Study, app: Any, owner: TestClient) -> None:
    new = owner.post("/api/studies/points/tokens", json={"name": "shop", "rights": "read"})
    token = new.json()["token"]
    assert new.status_code == 201 and client_of(app, token).get("/api/studies/points").status_code == 200
    listed = owner.get("/api/studies/points/tokens").text
    assert "shop" in listed and token not in listed
    twice = owner.post("/api/studies/points/tokens", json={"name": "shop", "rights": "own"})
    assert twice.status_code == 422 and "revoke it" in twice.json()["detail"]
    assert owner.delete("/api/studies/points/tokens/shop").status_code == 204
    assert owner.delete("/api/studies/points/tokens/shop").status_code == 404
    assert client_of(app, token).get("/api/studies/points").status_code == 401


def test_the_database_has_digests_alone_which_go_with_the_study(study: Study) -> None:
    token = study.api_tokens.add("shop", "own")
    database = study.storage.database
    assert not [row for row in database.rows("SELECT * FROM api_tokens") if token in map(str, row)]
    assert Inspection(database).run().is_sound
    study.storage.delete_study("points")
    assert database.rows("SELECT * FROM api_tokens") == []


@pytest.mark.usefixtures("still_throttle")
def test_guessed_tokens_are_slowed_down_and_a_right_one_does_not_forget_them(study: Study, app: Any) -> None:
    """Otherwise whoever has a small right could guess the owner's token without end."""
    right = client_of(app, study.api_tokens.add("shop", "answer"))
    names = {"names": ["x"]}
    statuses = []
    for _ in range(3):
        for wrong in ("coombs_" + "x" * 43, "wrong-token-of-the-owner"):
            statuses.append(client_of(app, wrong).get("/api/studies").status_code)
            if statuses[-1] == 401 and len(statuses) < 5:
                assert right.post("/api/studies/points/respondents", json=names).status_code == 201
    assert statuses == [401] * 4 + [429] * 2


def test_a_token_works_where_the_page_has_no_owners_token(study: Study) -> None:
    app = web.create_app(study.storage)
    token = study.api_tokens.add("shop", "read")
    assert client_of(app, token).get("/api/studies/points").status_code == 200
    assert client_of(app, "coombs_" + "x" * 43).get("/api/studies/points").status_code in (401, 403)


def test_the_reference_names_the_security_scheme(app: Any) -> None:
    schema = app.openapi()
    assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    for path, methods in schema["paths"].items():
        for one in methods.values():
            assert ("security" in one) == path.startswith("/api/studies")


def post(client: TestClient, key: str, body: Any, path: str = "/api/studies") -> Any:
    """A post with a key."""
    return client.post(path, json=body, headers={"Idempotency-Key": key})


def test_the_same_key_and_body_get_the_same_reply_and_make_one_thing(owner: TestClient) -> None:
    body = {"name": "teas", "csv": "tea,price\nA,1\nB,2\nC,4\n"}
    first, again = post(owner, "k1", body), post(owner, "k1", body)
    assert (first.status_code, first.json()) == (again.status_code, again.json()) == (201, first.json())
    assert post(owner, "k1", {**body, "name": "other teas"}).status_code == 422
    # Without the key, or with another, it is another request.
    assert owner.post("/api/studies", json=body).status_code == 409
    assert post(owner, "k2", body).status_code == 409
    assert post(owner, "k2", {**body, "name": "more teas"}).status_code == 201
    assert post(owner, "", body).status_code == 422


def test_keys_of_two_programs_have_nothing_to_do_with_each_other(study: Study, app: Any) -> None:
    at, body = "/api/studies/points/respondents", {"names": ["Zoe"]}
    one = client_of(app, study.api_tokens.add("one", "answer"))
    own = client_of(app, study.api_tokens.add("two", "own"))
    assert post(one, "k", body, at).status_code == 201
    assert post(own, "k", {"names": ["Yan"]}, at).status_code == 201


def test_a_request_that_is_still_worked_on_is_not_begun_again(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, begun = idempotency.KeptReplies(study.storage.database), threading.Event()
    begun.set()
    assert kept._claim("name", "digest") is None
    with pytest.raises(Exception, match="being worked on"):
        kept._claim("name", "digest")
    # Whoever began it has died.
    monkeypatch.setattr(idempotency, "BUSY_SECONDS", -1.0)
    assert kept._claim("name", "digest") is None


def test_a_study_that_is_deleted_is_gone_with_the_replies_about_it(study: Study, owner: TestClient) -> None:
    at, words = "/api/studies/points/respondents", ("Quasimodo", "points")
    post(owner, "k", {"names": ["Quasimodo"]}, at)
    other = post(owner, "j", {"name": "teas", "csv": "tea,price\nA,1\nB,2\nC,4\n"})
    assert owner.delete("/api/studies/points").status_code == 204
    assert (
        owner.get("/api/studies/points").status_code == owner.delete("/api/studies/points").status_code == 404
    )
    rows = study.storage.database.rows("SELECT content FROM temporary")
    assert not [word for word in words for (content,) in rows if word in content]
    assert post(owner, "j", {"name": "teas", "csv": "tea,price\nA,1\nB,2\nC,4\n"}).json() == other.json()


def parts(client: TestClient, path: str) -> list[Any]:
    """All of a list, by the addresses that its parts name."""
    found, address = [], f"{path}?limit=2"
    while address:
        reply = client.get(address)
        assert reply.status_code == 200 and len(reply.json()) <= 2
        found += reply.json()
        link = re.fullmatch(r'<(.+)>; rel="next"', reply.headers.get("link", ""))
        address = "" if link is None else link[1]
    return found


@pytest.mark.parametrize(
    "path",
    [
        "/api/studies",
        "/api/studies/a~2Fb/respondents",
        "/api/studies/a~2Fb/answers",
        "/api/respondents/TOKEN/history",
    ],
)
def test_parts_of_a_list_are_the_list(path: str, study: Study, owner: TestClient) -> None:
    named = create_study(ITEMS, "a/b", storage=study.storage)
    for i in range(5):
        for j in range(i):
            named.respondent(f"p {i}").tell((j, j + 1))
    at = path.replace("TOKEN", named.links()["p 4"])
    whole = owner.get(at).json()
    assert len(whole) >= 3 and parts(owner, at) == whole
    assert owner.get(f"{at}?limit=0").status_code == 422
    assert owner.get(f"{at}?limit=2&after=nonsense!").status_code in (200, 422)
