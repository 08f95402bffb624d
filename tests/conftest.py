"""How the tests run on every machine: one process a core, one thread a process, and no limit in seconds."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# Before numpy is imported; the workers, and the programs that tests start, inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Hypothesis fails slow examples by default, which a busy machine has. The examples are the same everywhere.
settings.register_profile(
    "everywhere", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("everywhere")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """No worker for tests named one by one (file::test), which end before a worker has started."""
    return 0 if all("::" in name for name in config.args) else None
