"""A storage that is away, or damaged, is said in one plain sentence, and nothing that was sent is final."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient

from coombs import create_study, web
from coombs.storage import StorageDamagedError, StorageUnavailableError, open_storage
from coombs.study import Study
from coombs.web.errors import DAMAGED, SENTENCES

SECRET = "The PostgreSQL database 'payroll' at 'db.internal' cannot be reached (FATAL: terminating)."
"""What no respondent may read."""
POSTS: list[tuple[str, dict[str, Any]]] = [
    ("/a/{token}/tell", {"data": {"question": 1, "choice": "left"}}),
    ("/a/{token}/tell", {"data": {"question": 1, "choice": "left"}, "headers": {"x-part": "question"}}),
    ("/a/{token}/undo", {"data": {"answer": 1}}),
    ("/a/{token}/undo", {"data": {}}),
    ("/a/{token}/undo", {"data": {"answer": 1}, "headers": {"x-part": "question"}}),
    ("/api/respondents/{token}/tell", {"json": {"question": 1, "choice": "left"}}),
    ("/api/respondents/{token}/undo", {"json": {"answer": 1}}),
    ("/api/studies", {"json": {"name": "new", "csv": "a,b\nx,1\ny,2\nz,3\n"}}),
    ("/api/studies/points/respondents", {"json": {"names": ["Bob"]}}),
    ("/studies/points/people", {"data": {"names": "Bob"}}),
    ("/studies/points/answers", {"files": {"file": ("a.csv", b"winner,loser\n0,1\n", "text/csv")}}),
    ("/studies/points/answer", {}),
    ("/studies/points/delete", {"data": {"confirm": "points"}}),
]
"""Every request that writes, by what it sends."""


@pytest.fixture
def study() -> Study:
    made = create_study(np.arange(12.0).reshape(6, 2), "points", storage=open_storage("memory:"))
    made.respondent("Ann").tell(made.respondent("Ann").ask(), "left")
    return made


@pytest.fixture
def client(study: Study) -> Iterator[TestClient]:
    app = web.create_app(study.storage)
    headers = {"Origin": "http://127.0.0.1"}
    with TestClient(
        app, base_url="http://127.0.0.1", client=("127.0.0.1", 5), headers=headers, follow_redirects=False
    ) as made:
        yield made


@contextmanager
def failing(study: Study, error: Exception) -> Iterator[None]:
    """Every statement fails for a while."""
    with pytest.MonkeyPatch.context() as patch:

        def fail(*_: Any) -> None:
            raise error

        patch.setattr(type(study.storage.database), "_run", fail)
        yield


@pytest.mark.parametrize(("path", "sent"), POSTS)
@pytest.mark.parametrize("known", [True, False])
def test_whatever_is_sent_while_the_storage_is_away_is_503_and_may_be_sent_again(
    client: TestClient,
    study: Study,
    path: str,
    sent: dict[str, Any],
    known: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whether the server had the person in memory or not; only its log says where the storage is."""
    address = path.format(token=study.respondent("Ann").record.token)
    if known:
        client.get(f"/a/{study.respondent('Ann').record.token}")
    with failing(study, StorageUnavailableError(SECRET)), caplog.at_level(logging.ERROR, "coombs.web"):
        reply = client.post(address, **sent)
    assert reply.status_code == 503 and int(reply.headers["retry-after"]) > 0
    assert SENTENCES[503] in reply.text
    assert not any(word in reply.text for word in ("payroll", "db.internal", "FATAL", "PostgreSQL"))
    assert "db.internal" in caplog.text and study.respondent("Ann").record.token not in caplog.text
    again = client.post(address, **sent)
    assert again.status_code < 500


def test_an_answer_sent_again_once_the_storage_is_back_is_stored_once(
    client: TestClient, study: Study
) -> None:
    base = f"/api/respondents/{study.respondent('Ann').record.token}"
    sent = {"question": client.get(f"{base}/question").json()["question"]["id"], "choice": "right"}
    with failing(study, StorageUnavailableError(SECRET)):
        assert client.post(f"{base}/tell", json=sent).status_code == 503
    assert [client.post(f"{base}/tell", json=sent).status_code for _ in range(2)] == [200, 200]
    assert len(study.respondent("Ann").history()) == 2


def test_nothing_is_claimed_of_damaged_data(client: TestClient, study: Study) -> None:
    token = study.respondent("Ann").record.token
    with failing(study, StorageDamagedError("The database file '/home/ann/study.db' is damaged: page 7.")):
        for reply in (client.get(f"/a/{token}"), client.post(f"/a/{token}/undo"), client.get("/")):
            assert reply.status_code == 500 and DAMAGED in reply.text
            assert "/home" not in reply.text and "is stored" not in reply.text
