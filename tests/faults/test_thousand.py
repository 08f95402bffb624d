"""A thousand people at once over two server processes and PostgreSQL, of which one is killed in between."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import postgres
import pytest
from fault_size import FULL, size
from running_page import RunningPage, free_port, running, workers
from test_crowd import Person, Seen, lost_and_twice, made

from coombs import Study

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Linux says which processes there are"),
]
START = Path(__file__).resolve().parents[2] / "deploy" / "start.sh"
PEOPLE = size(20, 1000)
SECONDS = size(10, 120)
PACE = float(os.environ.get("COOMBS_PACE", "20" if FULL else "1"))
"""Seconds between two answers of a person."""
MOST_MS = 300
"""Milliseconds within which 95 % of answers are confirmed, in full."""


async def answered(study: Study, page: RunningPage) -> Seen:
    """Everybody at once; in the middle one of the two processes is killed."""
    seen, start = Seen(), time.monotonic()
    offsets = np.random.default_rng(0).uniform(0, PACE, PEOPLE)
    people = [Person(name, token, page.port, seen) for name, token in study.links().items()]
    tasks = [
        asyncio.create_task(one.answer(float(offset), start + SECONDS, PACE))
        for one, offset in zip(people, offsets, strict=True)
    ]
    await asyncio.sleep(SECONDS / 2)
    servers = workers(page.process.pid)
    assert len(servers) == 2
    os.kill(servers[0], signal.SIGKILL)
    await asyncio.gather(*tasks)
    return seen


def test_what_a_thousand_people_were_told_is_stored_by_two_processes(tmp_path: Path) -> None:
    url, port = postgres.fresh_url(), free_port()
    study = made(url, PEOPLE)
    environment = {
        "COOMBS_STORAGE": url,
        "COOMBS_TOKEN": "a-token-of-many-letters",
        "COOMBS_HOST": "127.0.0.1",
    }
    environment |= {"COOMBS_PORT": str(port), "COOMBS_WORKERS": "2"}
    environment |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with running(["sh", str(START)], port, tmp_path, environment) as page:
        seen = asyncio.run(answered(study, page))
    told = np.array(seen.seconds) * 1e3
    print(
        f"{PEOPLE} people, {SECONDS} s, an answer every {PACE:g} s: {len(told)} answers, median "
        f"{np.median(told):.0f} ms, 95 % under {np.quantile(told, 0.95):.0f} ms, longest {told.max():.0f}, "
        f"{seen.repeats} sent again, refused {dict(seen.refused)}"
    )
    assert len(seen.confirmed) > PEOPLE
    assert lost_and_twice(study, seen) == (0, 0)
    study.storage.close_all()
    # Only in full: other machines and other work on them are slower.
    assert not FULL or np.quantile(told, 0.95) < MOST_MS
