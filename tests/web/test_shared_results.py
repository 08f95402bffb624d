"""Results that one process of a server computes and the others use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from coombs import create_study
from coombs.storage import open_storage
from coombs.study import Study
from coombs.web import study_cache
from coombs.web.fitted_result import FittedResult
from coombs.web.group_result import GroupResult
from coombs.web.learning import group_learning
from coombs.web.learning.group_learning import GroupLearner
from coombs.web.shared_results import ResultShelf, SharedResults, result_key
from coombs.web.study_cache import LRUCache, StudyCache

PATIENCE = 60.0
HOUSES = [[float(k % 4), float(k * 5 % 7)] for k in range(8)]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'shared.db'}"


@pytest.fixture
def study(url: str) -> Study:
    """Two people who like the first feature."""
    made = create_study(HOUSES, "houses", storage=url, metric="none")
    for name in ("Ann", "Bob"):
        person = made.respondent(name)
        for k in range(12):
            one, other = k % 8, (3 * k + 1) % 8
            if HOUSES[one][0] != HOUSES[other][0]:
                person.tell((one, other) if HOUSES[one][0] > HOUSES[other][0] else (other, one))
    return made


class Processes:
    """What several processes of a server ask, with threads in their place."""

    def __init__(self) -> None:
        self.shelf, self.lines = ResultShelf(), list[Any]()

    def one(self) -> SharedResults:
        """Another process."""
        here, there = Pipe()
        threading.Thread(target=self.shelf.serve, args=(str(len(self.lines)), here), daemon=True).start()
        self.lines.append(there)
        return SharedResults(there)


@pytest.fixture
def processes() -> Iterator[Processes]:
    made = Processes()
    yield made
    for line in made.lines:
        line.close()


def cache(url: str, shared: SharedResults) -> StudyCache:
    """That of a process."""
    made = StudyCache(open_storage(url))
    made.shared = shared
    return made


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who was fitted, each time."""
    seen: list[str] = []

    class Counted(FittedResult):
        def __init__(self, respondent: Any, answers: Any, result: Any = None) -> None:
            if result is None:
                seen.append(respondent.name)
            super().__init__(respondent, answers, result)

    monkeypatch.setattr(study_cache, "FittedResult", Counted)
    return seen


def test_what_one_process_fitted_the_other_shows(
    url: str, study: Study, processes: Processes, fits: list[str]
) -> None:
    caches = [cache(url, processes.one()) for _ in range(2)]
    people = [one.respondent(study.respondent("Ann").record.token) for one in caches]
    first, second = (one.fitted(person) for one, person in zip(caches, people, strict=True))
    assert first is not None and second is not None and fits == ["Ann"]
    assert second.to_dict() == first.to_dict()
    assert second.explanation.to_dict() == first.explanation.to_dict()
    assert second.respondent is people[1] and second.reasons == first.reasons
    # Another answer is another result, in both.
    people[1].tell((0, 4))
    people[0].history()
    assert caches[0].fitted(people[0]).to_dict()["n_answers"] == first.result.n_answers + 1  # type: ignore[union-attr]
    assert caches[1].fitted(people[1]) is not None and fits == ["Ann", "Ann"]


def test_nothing_is_left_of_somebody_who_was_deleted(
    url: str, study: Study, processes: Processes, fits: list[str]
) -> None:
    caches = [cache(url, processes.one()) for _ in range(2)]
    record = study.respondent("Ann").record
    caches[0].fitted(caches[0].respondent(record.token))
    caches[1].forget_person(record)
    assert processes.shelf.get("", next(iter(processes.shelf._values), "")) is None
    # Nor is what was begun before kept.
    shared, key = caches[0].shared, result_key(record.study_id, record.id, 1)
    assert shared.claim(key)
    caches[1].forget_person(record)
    shared.put(key, "late")
    assert caches[1].shared.get(key) is None


def test_who_asks_for_what_is_being_fitted_waits_for_it(url: str, study: Study, fits: list[str]) -> None:
    made = cache(url, SharedResults())
    person = made.respondent(study.respondent("Bob").record.token)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(made.fitted(person))) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE)
    assert len({*map(id, found)}) == 1 and fits == ["Bob"]


def test_a_fit_that_fails_is_tried_again_by_the_next(url: str, study: Study, processes: Processes) -> None:
    shared = processes.one()
    made = cache(url, shared)
    person = made.respondent(study.respondent("Ann").record.token)
    person.__dict__["result"] = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        made.fitted(person)
    del person.__dict__["result"]
    assert made.fitted(person) is not None


def test_what_a_process_that_ended_was_computing_is_another_ones(processes: Processes) -> None:
    dead, alive = processes.one(), processes.one()
    assert dead.claim("1/2/key") and not alive.claim("1/2/key")
    processes.lines[0].close()
    end = threading.Event()
    while not alive.claim("1/2/key"):
        end.wait(0.02)
    # Without the process that keeps results, each goes on by itself.
    for line in processes.lines:
        line.close()
    assert dead.get("1/2/key") is None and dead.claim("1/2/key")
    dead.put("1/2/key", "result")
    assert dead.claim("1/2/key")


def test_the_latest_results_are_kept_up_to_a_size() -> None:
    shelf = ResultShelf(most_bytes=10)
    for key in "abc":
        assert shelf.claim("", key)
        shelf.put("", key, b"1234")
        shelf.get("", "a")
    # What was asked for last stays.
    assert [shelf.get("", key) for key in "abc"] == [b"1234", None, b"1234"]


def test_what_people_share_is_learned_by_one_process(
    url: str, study: Study, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []
    learned = group_learning.group_result
    begun, go_on = threading.Event(), threading.Event()

    def counted(data: Any, advance: Any, **options: Any) -> GroupResult:
        seen.append(1.0)
        advance(0.5)
        begun.set()
        go_on.wait(PATIENCE)
        return learned(data, advance, **options)

    monkeypatch.setattr(group_learning, "group_result", counted)
    learners = [GroupLearner(), GroupLearner()]
    for one in learners:
        one.shared = processes.one()
    learners[0].state(study)
    assert begun.wait(PATIENCE)
    # The other says how far it is.
    while learners[1].state(study, 0.05).fraction != 0.5:
        pass
    go_on.set()
    first, second = (one.state(study, PATIENCE) for one in learners)
    assert first.result is not None and second.result is not None and len(seen) == 1
    assert second.is_current and second.result.told == first.result.told
    for one in learners:
        one.close()


def test_results_in_memory_are_bounded_by_their_size(url: str, study: Study) -> None:
    kept = LRUCache[bytes](100, 10, len)
    for key in "abc":
        kept.put(key, b"1234")
    assert [kept.get(key) for key in "abc"] == [None, b"1234", b"1234"]
    # One alone stays, however large.
    assert kept.put("d", b"0" * 20) == kept.get("d") and kept.get("c") is None
    made = cache(url, SharedResults())
    found = made.fitted(made.respondent(study.respondent("Ann").record.token))
    assert found is not None and found.n_bytes > 10_000
