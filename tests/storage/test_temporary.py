"""What is kept for a while: until it expires, at most so many, for every process and in both databases."""

from __future__ import annotations

from pathlib import Path

import postgres
import pytest

from coombs.storage import Storage, open_storage
from coombs.storage.temporary import TemporaryValues

PLACES = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)]


@pytest.fixture(params=PLACES)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    urls = {"memory": "memory:", "sqlite": f"sqlite:///{tmp_path / 'a.db'}"}
    return open_storage(postgres.fresh_url() if request.param == "postgres" else urls[request.param])


def test_a_text_is_there_until_it_is_dropped_or_expires(storage: Storage) -> None:
    values = TemporaryValues(storage.database, "one", 3600, 10)
    values.put("a", "text \u00e4")
    assert values.get("a") == "text \u00e4" and values.get("b") is None
    values.drop("a")
    assert values.get("a") is None
    short = TemporaryValues(storage.database, "one", -1, 10)
    short.put("b", "over")
    assert short.get("b") is None and values.get("b") is None
    values.put("c", "after")
    assert storage.database.rows("SELECT name FROM temporary") == [("c",)]


def test_purposes_are_apart_and_each_keeps_its_latest(storage: Storage) -> None:
    one, other = (TemporaryValues(storage.database, name, 3600, 2) for name in ("one", "other"))
    other.put("1", "of the other")
    for number in range(4):
        one.put(str(number), f"text {number}")
    assert [one.get(str(number)) for number in range(4)] == [None, None, "text 2", "text 3"]
    assert other.get("1") == "of the other"
