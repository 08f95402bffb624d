"""How the tests run on every machine: one process a core, one thread a process, and no limit in seconds."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# Before numpy is imported; the workers, and the programs that tests start, inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Hypothesis fails slow examples by default, which a busy machine has. The examples are the same everywhere.
settings.register_profile(
    "everywhere", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("everywhere")


@pytest.fixture(scope="module")
def few_draws() -> Iterator[None]:
    """Fits with few draws, for tests that any draws will do for; none of them warns of it."""
    from coombs.estimators import ideal_point
    from coombs.inference import infer, left_out
    from coombs.inference.sampler import Effort

    few, few_of_each = (Effort(chains=32, warm_up=2, least=8, most=8) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("WHOLE", "EXTENDED", "QUICK", "REFRESH"):
            patch.setattr(infer, name, few)
        patch.setattr(infer, "SHARED", few_of_each)
        patch.setattr(ideal_point, "WHOLE", few)
        patch.setattr(ideal_point, "SHARED", few_of_each)
        patch.setattr(infer, "LARGEST_RHAT", float("inf"))
        patch.setattr(left_out, "CHAINS", 16)
        yield


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """No worker for tests named one by one (file::test), which end before a worker has started."""
    return 0 if all("::" in name for name in config.args) else None
