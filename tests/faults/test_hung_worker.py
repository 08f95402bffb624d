"""Worker processes that hang (SIGSTOP), at work or not: they are noticed, replaced, and the page says so."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient

from coombs import create_study, web
from coombs.study import Study
from coombs.web.learning import heartbeat
from coombs.web.learning.group_learning import GroupLearner
from coombs.web.learning.worker import Apart, WorkerPool

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="a process is stopped as POSIX does"),
]
ITEMS = np.random.default_rng(0).normal(size=(30, 3)).round(2)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten looks in five seconds here; signs of life come once a second still."""
    monkeypatch.setattr(heartbeat, "BEAT", 0.5)


@pytest.fixture
def study() -> Study:
    return create_study(ITEMS, "points", storage="memory:", probes=0.0)


def until(true: Callable[[], Any], what: str) -> None:
    for _ in range(1200):
        if true():
            return
        time.sleep(0.05)
    pytest.fail(f"{what} did not happen in a minute")


def pids(pool: Any) -> list[int]:
    """Of the processes of a watched pool."""
    return [] if pool is None else [*(pool._executor._processes or {})]


def test_an_idle_worker_that_hangs_is_replaced_though_nobody_waits_for_it() -> None:
    workers = WorkerPool(1)
    try:
        workers._started()
        stopped = workers._first_pid.result(60)
        os.kill(stopped, signal.SIGSTOP)
        until(lambda: workers._first_pid.done() and workers._first_pid.result() != stopped, "another worker")
        with pytest.raises(ProcessLookupError):
            os.kill(stopped, 0)
    finally:
        workers.close()


def test_a_process_of_its_own_that_hangs_is_ended_and_whoever_waits_is_told() -> None:
    apart, told = Apart(), list[str]()

    def run() -> None:
        try:
            apart.run(time.sleep, 600)
        except Exception as error:
            told.append(type(error).__name__)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    until(lambda: pids(apart._pool), "a process")
    until(lambda: apart._pool is not None and apart._pool._heart._started.value, "a sign of life")
    os.kill(pids(apart._pool)[0], signal.SIGSTOP)
    thread.join(60)
    assert told == ["BrokenProcessPool"]


def test_learning_about_a_group_goes_on_in_another_process_when_one_hangs(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Ann", "Bob"):
        for first, second in ((0, 1), (2, 3), (4, 5)):
            study.respondent(name).tell((first, second))
    learner = GroupLearner(processes=1)
    try:
        assert not learner.state(study).is_current
        until(lambda: pids(learner._pool), "a process")
        stopped = pids(learner._pool)[0]
        os.kill(stopped, signal.SIGSTOP)
        # It may have hung before its first sign of life.
        monkeypatch.setattr(heartbeat, "SLOWEST_START", 10)
        until(lambda: learner.state(study).is_current, "a result")
        assert learner.state(study).problem == "" and stopped not in pids(learner._pool)
    finally:
        learner.close()


@pytest.fixture
def client(study: Study) -> Iterator[TestClient]:
    app = web.create_app(study.storage, processes=1)
    known: dict[str, Any] = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5)}
    with TestClient(app, headers={"Origin": "http://127.0.0.1"}, **known) as made:
        yield made


def test_the_page_and_the_api_say_when_questions_are_chosen_without_learning(
    study: Study, client: TestClient
) -> None:
    """And that they are chosen by what was learned again, once the worker has been replaced."""
    token = study.respondent("Ann").record.token
    base, chosen = f"/api/respondents/{token}", list[str]()
    queue: Any = client.app.state.queue  # type: ignore[attr-defined]
    turn = client.get(f"{base}/question").json()
    until(lambda: queue._workers._first_pid.done(), "a worker")
    os.kill(queue._workers._first_pid.result(), signal.SIGSTOP)
    for _ in range(8):
        chosen.append(turn["question"]["chosen"])
        turn = client.post(f"{base}/tell", json={"question": turn["question"]["id"], "choice": "left"}).json()
    assert "learning" in chosen
    while turn["question"]["chosen"] != "learning":
        turn = client.post(f"{base}/tell", json={"question": turn["question"]["id"], "choice": "left"}).json()
    assert "chosen without learning for the moment" in client.get(f"/a/{token}").text

    def answered() -> bool:
        time.sleep(0.3)
        told = {"question": turn["question"]["id"], "choice": "left"}
        turn.update(client.post(f"{base}/tell", json=told).json())
        return bool(turn["question"]["chosen"] == "adaptive")

    until(answered, "a question chosen by what was learned")
    assert "without learning" not in client.get(f"/a/{token}").text
