"""Loops and servers that are killed, databases that restart, files that go: what was confirmed is stored.

Every run counts: confirmed against stored, and what is stored twice.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import postgres
import pytest
from fault_size import size

from coombs.storage import AnswerRecord, open_storage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked"),
]

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return postgres.fresh_url() if request.param == "postgres" else f"sqlite:///{tmp_path}/study.db"


def script(name: str, *arguments: Any) -> Any:
    """What a script of the tests prints last, as JSON."""
    environment = {"PYTHONPATH": os.pathsep.join([*sys.path, str(TESTS)]), "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, str(TESTS / name), *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=size(600, 7200),
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def counted(result: dict[str, Any]) -> dict[str, Any]:
    """The same, once it holds what must be true after any trouble."""
    print(result)
    assert (result["lost"], result["twice"], result["leaks"], result["refused"]) == (0, 0, 0, 0)
    assert 0 < result["confirmed"] <= result["stored"]
    return result


def test_loops_that_are_killed_lose_nothing(url: str) -> None:
    """500 on each storage in full: ask and tell, kill -9 at any moment, and again."""
    reported = script("storage/test_storage_crash.py", "kill", url, size(20, 500))
    storage = open_storage(url)
    person = storage.respondents(storage.study("study").id)[0][0].id
    stored = Counter(one.question_id for one in storage.events(person) if isinstance(one, AnswerRecord))
    storage.close_all()
    # Each loop begins by telling again what the one before it may or may not have told.
    confirmed = {number for _, number in reported}
    print({"confirmed": len(confirmed), "stored": stored.total()})
    assert not confirmed - stored.keys()
    assert max(stored.values()) == 1


def test_a_server_that_is_killed_loses_nothing(url: str) -> None:
    """Its clients send every answer until it is confirmed, by this server or the next."""
    counted(script("fault_server.py", "kill", url, size(4, 500), 3))


def test_a_file_that_goes_and_comes_back_loses_nothing(tmp_path: Path) -> None:
    result = counted(script("fault_server.py", "gone", f"sqlite:///{tmp_path}/study.db", size(5, 200), 3))
    assert set(result["statuses"]) <= {"200", "503"}


def test_a_database_server_that_restarts_loses_nothing_and_shows_nothing_of_itself() -> None:
    """PostgreSQL is stopped as by a power cut, under load; until it is back every reply is 503."""
    url = postgres.fresh_url()
    command = json.dumps(postgres.command("restart"))
    result = counted(script("fault_server.py", "restart", url, size(3, 60), 3, command))
    assert set(result["statuses"]) <= {"200", "503"} and result["statuses"]["503"] > 0
