"""How the tests run on every machine: one process a core, one thread a process, and no limit in seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from effort import few_draws, new_databases_at_once
from hypothesis import HealthCheck, settings

# What is compiled is kept, for the workers and for the programs that tests start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Before numpy is imported; the workers, and the programs that tests start, inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Hypothesis fails slow examples by default, which a busy machine has. The examples are the same everywhere.
settings.register_profile(
    "everywhere",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("everywhere")

FEW_DRAWS = ("cli", "study", "terminal", "web")
"""Folders of tests of what is shown, stored and sent, in which few draws will do for most."""
ALL_VERSIONS = ("storage", "faults")
"""Folders of tests in which databases are made as users' are."""


@pytest.fixture(scope="module", name="few_draws")
def _few_draws() -> Iterator[None]:
    """For modules, and for fixtures of modules, that any draws will do for."""
    with few_draws():
        yield


@pytest.fixture(autouse=True)
def _soon(request: pytest.FixtureRequest) -> Iterator[None]:
    """Pages and studies are soon there in `make test`; the slow tests take everything as users have it."""
    folder, is_slow = request.path.parent.name, request.node.get_closest_marker("slow") is not None
    with ExitStack() as stack:
        if folder in FEW_DRAWS and not is_slow:
            stack.enter_context(few_draws())
        if folder not in ALL_VERSIONS and not is_slow:
            stack.enter_context(new_databases_at_once())
        yield


@pytest.fixture
def still_throttle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that do not end: the first is of a second, which requests may take on a busy machine."""
    from coombs.web import owner_access, throttle

    monkeypatch.setattr(owner_access, "Throttle", lambda: throttle.Throttle(lambda: 0.0))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """No worker for tests named one by one (file::test), which end before a worker has started."""
    return 0 if all("::" in name for name in config.args) else None
