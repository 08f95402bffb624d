"""What whoever runs the server sees: whether it lives and is ready, its numbers, its log, its processes."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import postgres
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient
from running_page import PATIENCE, RunningPage, children, free_port, running

from coombs import create_study, web
from coombs.storage import StorageUnavailableError
from coombs.study import Study
from coombs.web.learning.worker import WorkerPool
from coombs.web.metrics import Metrics
from coombs.web.operations import NO_STORAGE, NO_WORKERS
from coombs.web.server_log import JsonFormatter

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "a-token-of-many-letters"
ITEMS = [[float(i), float(i * 7 % 12)] for i in range(12)]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return create_study(ITEMS, "points", storage=f"sqlite:///{tmp_path / 'web.db'}")


def client_of(app: Any, address: str = "127.0.0.1", **headers: str) -> TestClient:
    """Somebody at an address."""
    return TestClient(app, base_url="http://127.0.0.1", client=(address, 5), headers=headers)


@pytest.fixture
def client(study: Study) -> Iterator[TestClient]:
    with client_of(web.create_app(study.storage), Origin="http://127.0.0.1") as made:
        yield made


def number(text: str, series: str) -> float:
    """A number of Prometheus's text."""
    found = re.search(rf"^{re.escape(series)} (\S+)$", text, flags=re.MULTILINE)
    assert found is not None, f"{series} is not in\n{text}"
    return float(found[1])


def test_everybody_may_ask_whether_it_lives_and_is_ready(study: Study) -> None:
    app = web.create_app(study.storage, token=TOKEN)
    for path in ("/health", "/ready"):
        assert client_of(app, "203.0.113.9").get(path).status_code == 200


def test_it_is_not_ready_while_the_storage_is_away(
    client: TestClient, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> Any:
        raise StorageUnavailableError("The secret place cannot be reached.")

    monkeypatch.setattr(study.storage.database, "rows", away)
    reply = client.get("/ready")
    assert (reply.status_code, reply.text.strip()) == (503, NO_STORAGE)
    assert int(reply.headers["retry-after"]) > 0
    assert client.get("/health").status_code == 200
    monkeypatch.undo()
    assert client.get("/ready").status_code == 200


def test_it_is_not_ready_until_a_dead_learning_process_is_replaced(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    class DeadPool:
        is_alive = False

        def kill(self) -> None:
            """Nothing is left of it."""

    pool = WorkerPool(1)
    pool._pool = DeadPool()  # type: ignore[assignment]
    monkeypatch.setattr(pool, "_started", lambda: None)
    monkeypatch.setattr(client.app.state.queue, "_workers", pool)
    reply = client.get("/ready")
    assert (reply.status_code, reply.text.strip()) == (503, NO_WORKERS)
    assert client.get("/ready").status_code == 200
    assert number(client.get("/metrics").text, "coombs_learning_restarts_total") == 1


def test_metrics_count_by_template_and_hold_no_secrets(client: TestClient, study: Study) -> None:
    token = study.respondent("Ann Secret").record.token
    turn = client.get(f"/api/respondents/{token}/question").json()
    for _ in range(2):
        told = {"question": turn["question"]["id"], "choice": "left"}
        client.post(f"/api/respondents/{token}/tell", json=told)
    client.get("/nowhere/secret")
    client.get(f"/a/{token}?token=geheim")
    client.get("/static/icon.svg")
    text = client.get("/metrics").text
    tells = 'method="POST",route="/api/respondents/{token}/tell"'
    assert number(text, f'coombs_requests_total{{{tells},status="200"}}') == 2
    assert number(text, f'coombs_request_seconds_bucket{{{tells},le="+Inf"}}') == 2
    assert number(text, 'coombs_requests_total{method="GET",route="none",status="404"}') == 1
    assert number(text, 'coombs_requests_total{method="GET",route="/static",status="200"}') == 1
    # The second was the same answer, which is stored once.
    assert number(text, "coombs_answers_stored_total") == 1
    assert not [word for word in (token, "geheim", "secret", "Ann") if word in text]


def test_metrics_are_for_the_owner_and_named_networks(study: Study) -> None:
    app = web.create_app(study.storage, token=TOKEN, metrics_from=["10.0.0.0/8"])
    for address, headers, status in (
        ("203.0.113.9", {}, 403),
        ("10.1.2.3", {}, 200),
        ("203.0.113.9", {"Authorization": f"Bearer {TOKEN}"}, 200),
    ):
        assert client_of(app, address, **headers).get("/metrics").status_code == status


def test_metrics_of_processes_are_summed_and_go_on_after_one_was_replaced(tmp_path: Path) -> None:
    for process in ("0", "1", "1"):
        one = Metrics(tmp_path, process)
        one.watch("coombs_answers_stored_total", lambda: 3)
        one.watch("coombs_learning_queue_length", lambda: 2)
        one.note("GET", "/", 200, 0.02)
        one.publish()
    text = Metrics(tmp_path, "2").text()
    assert number(text, "coombs_answers_stored_total") == 9
    assert number(text, 'coombs_requests_total{method="GET",route="/",status="200"}') == 3
    # A queue is as long as it is now.
    assert number(text, "coombs_learning_queue_length") == 4


def test_database_errors_are_counted(study: Study) -> None:
    before = study.storage.database.tally["errors"]
    with pytest.raises(Exception, match="no_such_table"):
        study.storage.database.rows("SELECT 1 FROM no_such_table")
    assert study.storage.database.tally["errors"] == before + 1


def test_a_line_of_the_log_is_one_json_object_without_secrets() -> None:
    try:
        raise ValueError("at /a/geheim")
    except ValueError:
        error = sys.exc_info()
    text = "GET /join/geheim\nAuthorization: Bearer geheim"
    record = logging.LogRecord("coombs.web", logging.ERROR, "", 0, text, None, error)
    record.fields = {"status": 500}
    line = JsonFormatter().format(record)
    assert "\n" not in line and "geheim" not in line
    assert json.loads(line)["status"] == 500 and "ValueError" in json.loads(line)["traceback"]


def test_a_token_is_not_made_where_it_would_stand_in_a_log() -> None:
    with pytest.raises(ValueError, match="COOMBS_TOKEN"):
        web.serve(host="0.0.0.0", log="json", storage="memory:")


def test_the_dockerfile_is_small_and_runs_as_nobody_special() -> None:
    text = (ROOT / "Dockerfile").read_text()
    bases = re.findall(r"^FROM (\S+)", text, flags=re.MULTILINE)
    assert len(bases) == 2 and all(re.fullmatch(r"python:\d+\.\d+-slim", base) for base in bases)
    final = text.rpartition("FROM ")[2]
    assert re.search(r"^USER [1-9]\d*$", final, flags=re.MULTILINE)
    assert re.search(r"^HEALTHCHECK .*\n.*/ready", final, flags=re.MULTILINE)
    assert "pip" not in final and "COPY . " not in text
    assert not re.search(r"(TOKEN|PASSWORD|SECRET)\w*=", text)
    assert (ROOT / "deploy/start.sh").name in text and (ROOT / ".dockerignore").read_text().startswith("*\n")


def test_compose_has_postgresql_several_workers_and_no_secret_of_its_own() -> None:
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    page, database = services["page"], services["database"]
    assert re.fullmatch(r"postgres:\d+", database["image"]) and "healthcheck" in database
    assert page["depends_on"]["database"]["condition"] == "service_healthy"
    assert page["environment"]["COOMBS_WORKERS"] == "${COOMBS_WORKERS:-2}"
    secrets = [page["environment"][name] for name in ("PGPASSWORD", "COOMBS_TOKEN")]
    secrets.append(database["environment"]["POSTGRES_PASSWORD"])
    assert all(re.match(r"\$\{\w+:\?", one) for one in secrets)
    # What the start script reads, and the storage's own.
    known = {
        *re.findall(r"COOMBS_\w+", (ROOT / "deploy/start.sh").read_text()),
        "COOMBS_STORAGE",
        "COOMBS_TOKEN",
    }
    assert {name for name in page["environment"] if name.startswith("COOMBS")} <= known


def told(page: RunningPage, token: str, turn: Any, patience: float = PATIENCE) -> Any:
    """The next turn after an answer, which is sent again until it is confirmed."""
    end = time.monotonic() + patience
    while True:
        try:
            body = {"question": turn["question"]["id"], "choice": "left"}
            return page.api(f"/api/respondents/{token}/tell", body)
        except HTTPError:
            raise
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Linux says which processes there are")
def test_the_start_script_serves_postgresql_by_processes_that_are_replaced(tmp_path: Path) -> None:
    url, port = postgres.fresh_url(), free_port()
    study = create_study(ITEMS, "points", storage=url, shared_prior=False)
    token = study.respondent("Ann").record.token
    environment = {"COOMBS_STORAGE": url, "COOMBS_TOKEN": TOKEN, "COOMBS_HOST": "127.0.0.1"}
    environment |= {"COOMBS_PORT": str(port), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    owner = {"Authorization": f"Bearer {TOKEN}"}
    with running(["sh", str(ROOT / "deploy/start.sh")], port, tmp_path, environment) as page:
        turn = page.api(f"/api/respondents/{token}/question")
        # Two that serve, and multiprocessing's own.
        servers = [one for one in children(page.process.pid) if len(children(one)) > 0 or is_server(one)]
        assert len(servers) == 2
        os.kill(servers[0], signal.SIGKILL)
        for _ in range(6):
            turn = told(page, token, turn)
        assert turn["progress"]["n_answers"] == 6
        assert page.api("/api/studies", headers=owner)[0]["n_answers"] == 6
        end = time.monotonic() + PATIENCE
        while "coombs_web_restarts_total 1" not in numbers(page, owner):
            assert time.monotonic() < end
            time.sleep(0.1)
        assert urlopen(f"{page.address}/ready", timeout=PATIENCE).status == 200
        page.process.send_signal(signal.SIGTERM)
        assert page.process.wait(PATIENCE) == 128 + signal.SIGTERM
        log = page.log.read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    tells = [line for line in lines if line.get("route") == "/api/respondents/{token}/tell"]
    assert {line["status"] for line in tells} == {200}
    assert token not in log and TOKEN not in log
    assert len(study.respondent("Ann").history()) == 6
    study.storage.close_all()


def is_server(pid: int) -> bool:
    """Whether a process is one that multiprocessing has started for us."""
    return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()


def numbers(page: RunningPage, headers: dict[str, str]) -> str:
    """What /metrics says."""
    from urllib.request import Request

    try:
        with urlopen(Request(f"{page.address}/metrics", headers=headers), timeout=PATIENCE) as reply:
            return str(reply.read().decode())
    except OSError:
        return ""
