"""Learning behind the page: in time or not, in this process or another, and after it was killed."""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from coombs import create_study, load_study
from coombs.data.tables import InputError
from coombs.storage import AnswerRecord, now
from coombs.study import Respondent, Study
from coombs.study.mind import AHEAD, CHUNK, MANY, Mind

pytest.importorskip("fastapi", reason="the page needs the extra 'web'")

from coombs.web.helper import FarMind, Helper
from coombs.web.thinker import Thinker

ITEMS = np.random.default_rng(0).normal(size=(30, 3))
SEED = (0, 1)


@pytest.fixture
def study() -> Study:
    return create_study(ITEMS, storage="memory:", probes=0.0)


@pytest.fixture
def helper() -> Iterator[Helper]:
    helper = Helper()
    yield helper
    helper.stop()
    helper.reopen()


def some_answers(count: int, seed: int = 1, first: int = 1) -> list[AnswerRecord]:
    rng = np.random.default_rng(seed)
    pairs = [rng.choice(30, 2, replace=False).tolist() for _ in range(count)]
    return [AnswerRecord(first + n, 1, None, *pair, "left", 1.0, now()) for n, pair in enumerate(pairs)]


def answer(one: Respondent) -> None:
    question, _ = one.turn()
    assert question is not None
    one.tell(question, "left")


# A turn goes by what was thought last.


def test_before_any_thought_a_turn_is_a_random_question_of_which_nothing_is_foretold(study: Study) -> None:
    one = study.respondent()
    question, found = one.turn()
    assert question is not None and (question.purpose, question.probability) == ("random", None)
    assert (found.n_answers, found.top, found.questions_left) == (0, (), None)
    assert str(found) == "nothing is certain yet"
    again, _ = one.turn()
    assert again == question


def test_turns_without_a_thought_use_questions_chosen_ahead_and_then_random_ones(study: Study) -> None:
    one = study.respondent()
    planned = [{choice.first, choice.second} for choice in one.think().choices]
    purposes = []
    for number in range(AHEAD + 2):
        question, found = one.turn()
        assert question is not None and found.n_answers == number
        if number < AHEAD:
            assert set(question.positions) == planned[number] and question.probability is not None
        purposes.append(question.purpose)
        one.tell(question, "left")
    assert purposes == ["information"] * AHEAD + ["random"] * 2
    one.think()
    assert one.turn()[0].purpose == "information"


def test_a_turn_after_an_undo_is_the_same_question(study: Study) -> None:
    one = study.respondent()
    one.think()
    question, _ = one.turn()
    one.tell(question, "left")
    one.undo()
    assert one.turn()[0] == question


def test_turns_end_when_every_pair_was_asked() -> None:
    one = create_study(ITEMS[:4], storage="memory:").respondent()
    pairs = set()
    for _ in range(6):
        question, _ = one.turn()
        pairs.add(frozenset(question.positions))
        one.tell(question, "right")
    assert len(pairs) == 6
    one.think()
    question, found = one.turn()
    assert question is None and found.questions_left == 0


# Minds.


@pytest.mark.parametrize("undone", [1, 2, 5, 20])
def test_an_undone_answer_is_not_believed(undone: int) -> None:
    """As a mind that never heard it: by the answers, and by what both then say of a pair."""
    mind, never = Mind(ITEMS, "full", SEED), Mind(ITEMS, "full", SEED)
    answers = some_answers(24)
    for count in range(1, len(answers) + 1):
        mind.think(answers[:count], (), "information", 5)
    left = answers[:-undone]
    thought, fresh = (one.think(left, (), "information", 5) for one in (mind, never))
    np.testing.assert_array_equal(thought.belief.winners, fresh.belief.winners)
    np.testing.assert_array_equal(thought.belief.losers, fresh.belief.losers)
    chances = [one.scores(np.arange(30))[0] for one in (thought.belief, fresh.belief)]
    sides = [(score[0] < score[1:]).mean(axis=1) for score in chances]
    assert np.abs(sides[0] - sides[1]).max() < 0.3


def test_an_answer_changed_in_the_middle_is_learned_anew() -> None:
    mind = Mind(ITEMS, "full", SEED)
    answers = some_answers(10)
    mind.think(answers, (), "information", 5)
    changed = [*answers[:3], *some_answers(1, seed=9, first=50), *answers[4:]]
    heard = mind.think(changed, (), "information", 5).belief
    assert sorted(zip(heard.winners, heard.losers, strict=True)) == sorted(
        (one.left, one.right) for one in changed
    )


@pytest.mark.parametrize("count", [1, CHUNK, CHUNK + 1, MANY, MANY + 1, 40])
def test_any_number_of_answers_at_once_is_heard_in_their_order(count: int) -> None:
    answers = some_answers(count)
    heard = Mind(ITEMS, "full", SEED).think(answers, (), "information", 5).belief
    assert [*zip(heard.winners, heard.losers, strict=True)] == [(one.left, one.right) for one in answers]


# Waiting for a thought.


class Slow(Mind):
    """Thinks when it may."""

    def __init__(self, may: threading.Event, *made_of: object) -> None:
        super().__init__(*made_of)  # type: ignore[arg-type]
        self.may, self.times = may, 0

    def think(self, *about: object) -> object:  # type: ignore[override]
        assert self.may.wait(60)
        self.times += 1
        return super().think(*about)  # type: ignore[arg-type]


def test_a_reply_does_not_wait_longer_than_its_patience_and_nobody_is_queued_twice(study: Study) -> None:
    may, thinker = threading.Event(), Thinker()
    record = study.respondent("Ann").record
    one = Respondent(study, record, partial(Slow, may))
    thinker.consider(one, 0.01)
    # The first may have begun; of those after it one is queued.
    for _ in range(5):
        answer(one)
        thinker.consider(one, 0.01)
    assert one.turn()[1].top == ()
    may.set()
    thinker.consider(one, 60)
    _, found = one.turn()
    assert found.n_answers == 5 and len(found.top) == 5 and one._mind.times <= 2
    thinker.close()


@pytest.mark.parametrize("error", [sqlite3.OperationalError("locked"), InputError("it is deleted")])
def test_a_storage_that_fails_is_the_replys_trouble(
    error: Exception, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinker = Thinker()

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Respondent, "think", fail)
    with pytest.raises(type(error), match=str(error)):
        thinker.consider(study.respondent(), 60)
    thinker.close()


def test_after_closing_it_thinks_again_if_it_is_asked_to(study: Study) -> None:
    thinker, one = Thinker(), study.respondent()
    thinker.consider(one, 60)
    thinker.close()
    answer(one)
    thinker.consider(one, 60)
    assert one.turn()[1].n_answers == 1
    thinker.close()


# In another process.


def test_a_far_mind_thinks_what_a_near_one_does(helper: Helper) -> None:
    far, near = FarMind(helper, "a", ITEMS, "full", SEED), Mind(ITEMS, "full", SEED)
    answers = some_answers(8)
    for count in (0, 1, 2, 8, 5):
        for strategy in ("information", "best"):
            about = answers[:count], {(0, 1)}, strategy, 5
            here, there = near.think(*about), far.think(*about)
            assert here.choices == there.choices and here.top(5) == there.top(5)
            np.testing.assert_array_equal(here.belief.draws, there.belief.draws)
            np.testing.assert_array_equal(there.belief.items, ITEMS)


def test_far_minds_are_told_apart(helper: Helper) -> None:
    first, second = (FarMind(helper, key, ITEMS, "full", SEED) for key in "ab")
    assert first.think(some_answers(3), (), "information", 5).n_heard == 3
    assert second.think([], (), "information", 5).n_heard == 0
    assert first.think(some_answers(4), (), "information", 5).n_heard == 4


def test_a_helper_that_was_killed_is_started_again_and_learns_all_answers(helper: Helper) -> None:
    far = FarMind(helper, "a", ITEMS, "full", SEED)
    far.think(some_answers(3), (), "information", 5)
    process = helper._process
    assert process is not None
    process.kill()
    process.wait()
    assert far.think(some_answers(4), (), "information", 5).n_heard == 4
    assert helper._process is not process


def test_a_reply_that_cannot_be_read_is_not_left_for_somebody_else(
    helper: Helper, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (FarMind(helper, key, ITEMS, "full", SEED) for key in "ab")
    first.think(some_answers(6), (), "information", 5)
    load, times = pickle.load, iter(range(100))

    def fail_once(*given: object) -> object:
        if next(times) == 0:
            raise MemoryError
        return load(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("coombs.web.helper.pickle.load", fail_once)
    for _ in range(2):
        assert first.think(some_answers(6), (), "information", 5).n_heard == 6
        assert second.think(some_answers(2), (), "information", 5).n_heard == 2


def test_a_helper_takes_no_module_from_the_folder_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, helper: Helper
) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('taken from the folder')")
    monkeypatch.chdir(tmp_path)
    assert FarMind(helper, "a", ITEMS, "full", SEED).think([], (), "information", 5).n_heard == 0


def test_what_is_printed_in_a_helper_is_not_taken_for_a_reply() -> None:
    """Also by what prints below Python."""
    script = "import runpy; runpy.run_module('coombs.web.helper', run_name='__main__')"
    job = pickle.dumps(("a", ([], set(), "information", 2), (b"x", "full", (0,), np.eye(4))))
    noisy = (
        "import os, coombs.study.mind as mind\n"
        "old = mind.Mind.think\n"
        "def think(*given):\n"
        "    os.write(1, b'noise')\n"
        "    print('more')\n"
        "    return old(*given)\n"
        "mind.Mind.think = think\n"
    )
    found = subprocess.run([sys.executable, "-c", noisy + script], input=job, capture_output=True, check=True)
    key, thought = pickle.loads(found.stdout)
    assert key == "a" and thought.n_heard == 0 and b"noise" in found.stderr


def test_a_helper_that_does_not_answer_does_not_keep_the_server_from_ending(study: Study) -> None:
    thinker = Thinker(processes=1)
    record = study.respondent("Ann").record
    one = Respondent(study, record, thinker.make_mind(record.token))
    thinker.consider(one, 60)
    helper = thinker._lanes[0].helper
    assert helper is not None and helper._process is not None
    helper._process.send_signal(signal.SIGSTOP)
    answer(one)
    thinker.consider(one, 0.01)
    thinker.close()
    thinker.consider(one, 60)
    assert one.turn()[1].n_answers == 1 and one.think().n_heard == 1
    thinker.close()


def test_a_fault_in_a_helper_is_raised_here_and_it_goes_on(helper: Helper) -> None:
    far = FarMind(helper, "a", ITEMS, "full", SEED)
    with pytest.raises(RuntimeError, match="strategy is 'none'"):
        far.think([], (), "none", 5)
    process = helper._process
    assert far.think(some_answers(2), (), "information", 5).n_heard == 2
    assert helper._process is process


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the child is looked for as POSIX has it")
def test_a_helper_ends_with_its_server_however_that_ends() -> None:
    script = (
        "import sys, time, numpy as np\n"
        "from coombs.web.helper import FarMind, Helper\n"
        "helper = Helper()\n"
        "FarMind(helper, 'a', np.eye(4), 'full', (0,)).think([], (), 'information', 2)\n"
        "print(helper._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    server = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    child = int(server.stdout.readline())
    os.kill(child, 0)
    server.send_signal(signal.SIGKILL)
    server.wait()
    server.stdout.close()
    for _ in range(600):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{child}/stat").exists() and _is_zombie(child):
            return
        time.sleep(0.1)
    pytest.fail("The helper is still there.")


def _is_zombie(pid: int) -> bool:
    """Ended, and not yet collected by whoever adopted it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_study_with_helpers_asks_and_learns_as_one_without(tmp_path: Path) -> None:
    """The same questions, as the same draws are moved by the same chance."""
    url = f"sqlite:///{tmp_path}/a.db"
    asked = []
    for processes, name in ((0, "near"), (2, "far")):
        create_study(ITEMS, name, storage=url)
        study = load_study(name, storage=url)
        thinker = Thinker(processes)
        record = study.respondent("Ann").record
        one = Respondent(study, record, thinker.make_mind(record.token))
        pairs = []
        for _ in range(12):
            thinker.consider(one, 60)
            question, _ = one.turn()
            pairs.append(question.positions)
            one.tell(question, "left" if sum(question.positions) % 2 else "right")
        thinker.close()
        asked.append(pairs)
    assert asked[0] == asked[1]
