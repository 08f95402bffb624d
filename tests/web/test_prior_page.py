"""The page and the API of a study whose questions are chosen with what others answered."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from coombs import Population, create_study, web
from coombs.study import Study
from coombs.study.shared_prior import LEAST_ANSWERS, LEAST_PEOPLE

FLATS = np.random.default_rng(0).normal(size=(15, 2))
SAID = "Questions are chosen with what {} others answered."


@cache
def crowd() -> Population:
    rng = np.random.default_rng(1)
    users = np.repeat(np.arange(12), 5)
    pairs = rng.permuted(np.tile(np.arange(15), (60, 1)), axis=1)[:, :2]
    wins = np.take_along_axis(pairs, np.argsort(-FLATS[pairs, 0], axis=1), axis=1)
    return Population(FLATS, metric="none").fit(wins, users=users)


def client_of(study: Study, processes: int = 0) -> Any:
    app = web.create_app(study.storage, processes=processes)
    here: Any = {"client": ("127.0.0.1", 50000), "base_url": "http://127.0.0.1"}
    return TestClient(app, headers={"Origin": "http://127.0.0.1"}, **here)


def filled() -> Study:
    """Ten people who answered."""
    study, rng = create_study(FLATS, storage="memory:", metric="none"), np.random.default_rng(2)
    with study.storage.batch():
        for k in range(LEAST_PEOPLE):
            for _ in range(LEAST_ANSWERS):
                pair = rng.permutation(15)[:2]
                study.respondent(f"person {k}").tell(pair[np.argsort(-FLATS[pair, 0])].tolist())
    return study


def opened(client: Any, study: Study, name: str) -> str:
    """The page of somebody, once their model is there."""
    token, begin = study.respondent(name).record.token, time.monotonic()
    while True:
        page = str(client.get(f"/a/{token}").text)
        is_fixed = study.storage.use_prior(study.respondent(name).record.id) is not None
        if is_fixed or time.monotonic() - begin > 60:
            return str(client.get(f"/a/{token}").text) if is_fixed else page
        time.sleep(0.05)


def test_the_page_and_the_api_say_how_many_others_helped() -> None:
    study = create_study(FLATS, storage="memory:", metric="none", prior=crowd())
    with client_of(study) as client:
        assert SAID.format(12) in opened(client, study, "new")
        token = study.respondent("new").record.token
        assert client.get(f"/api/respondents/{token}/question").json()["n_others"] == 12
        about = client.get("/api/studies/study").json()
        assert about["n_others"] == 12 and about["shared_prior"] == "auto"
        assert "for new people are chosen with what 12 others answered" in client.get("/studies/study").text


def test_without_others_nothing_is_said_of_them() -> None:
    study = create_study(FLATS, storage="memory:", metric="none")
    with client_of(study) as client:
        assert "others answered" not in opened(client, study, "new")
        token = study.respondent("new").record.token
        assert client.get(f"/api/respondents/{token}/question").json()["n_others"] == 0


def test_a_study_made_by_the_api_can_do_without_others() -> None:
    with client_of(create_study(FLATS, storage="memory:")) as client:
        new = {"name": "tea", "csv": "name,size\na,1\nb,2\nc,3\n", "shared_prior": False}
        assert client.post("/api/studies", json=new).json()["shared_prior"] is False
        assert client.post("/api/studies", json={**new, "shared_prior": "often"}).status_code == 422


@pytest.mark.parametrize("processes", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_prior_is_learned_in_the_background_and_helps_whoever_comes_next(processes: int) -> None:
    study = filled()
    with client_of(study, processes) as client:
        opened(client, study, "first")
        begin = time.monotonic()
        while not study.storage.priors(study.record.id) and time.monotonic() - begin < 60:
            time.sleep(0.05)
        (known,) = study.storage.priors(study.record.id)
        assert (known.n_people, known.source) == (LEAST_PEOPLE, "study")
        assert SAID.format(LEAST_PEOPLE) in opened(client, study, "second")
        # Whoever began before it was there goes on as they began.
        assert "others answered" not in opened(client, study, "first")
