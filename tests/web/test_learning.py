"""Learning behind the page: in time or not, in this process or another, and after a worker was killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from coombs import create_study, load_study
from coombs.data.tables import InputError
from coombs.storage import AnswerRecord, now
from coombs.study import Respondent, Study
from coombs.study.online_model import (
    AHEAD,
    ALL_AT_ONCE,
    CHUNK,
    KEPT,
    ModelUpdate,
    OnlineModel,
    UpdateTask,
    learn,
)

pytest.importorskip("fastapi", reason="the page needs the extra 'web'")

from coombs.web.learning.learning_queue import LearningQueue
from coombs.web.learning.worker import WorkerPool

ITEMS = np.random.default_rng(0).normal(size=(30, 3))
SEED = (0, 1)


@pytest.fixture
def study() -> Study:
    return create_study(ITEMS, storage="memory:", probes=0.0)


@pytest.fixture
def workers() -> Iterator[WorkerPool]:
    workers = WorkerPool(1)
    workers._started()
    pid(workers)
    yield workers
    workers.close()


def pid(workers: WorkerPool) -> int:
    """The number of the only worker."""
    return workers._first_pid.result(60)


def some_answers(count: int, seed: int = 1, first: int = 1) -> list[AnswerRecord]:
    rng = np.random.default_rng(seed)
    pairs = [rng.choice(30, 2, replace=False).tolist() for _ in range(count)]
    return [AnswerRecord(first + n, 1, None, *pair, "left", 1.0, now()) for n, pair in enumerate(pairs)]


def answer(one: Respondent) -> None:
    question, _ = one.turn()
    assert question is not None
    one.tell(question, "left")


# A turn goes by the latest snapshot.


def test_before_any_snapshot_a_turn_is_a_random_question_without_a_prediction(study: Study) -> None:
    one = study.respondent()
    question, found = one.turn()
    assert question is not None and (question.purpose, question.probability) == ("random", None)
    assert (found.n_answers, found.top, found.questions_left) == (0, (), None)
    assert str(found) == "nothing is certain yet"
    again, _ = one.turn()
    assert again == question


def test_turns_without_learning_use_questions_chosen_ahead_and_then_random_ones(study: Study) -> None:
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


# The online model.


@pytest.mark.slow
@pytest.mark.parametrize("undone", [1, 2, 5, 20])
def test_an_undone_answer_is_not_believed(undone: int) -> None:
    """As a model that never heard it: by the answers, and by what both then say of a pair."""
    model, never = (OnlineModel(ITEMS, "full", SEED) for _ in range(2))
    answers = some_answers(24)
    for count in range(1, len(answers) + 1):
        model.update(answers[:count], (), "information", 5)
    left = answers[:-undone]
    after, fresh = (one.update(left, (), "information", 5) for one in (model, never))
    np.testing.assert_array_equal(after.belief.winners, fresh.belief.winners)
    np.testing.assert_array_equal(after.belief.losers, fresh.belief.losers)
    chances = [one.scores(np.arange(30))[0] for one in (after.belief, fresh.belief)]
    sides = [(score[0] < score[1:]).mean(axis=1) for score in chances]
    assert np.abs(sides[0] - sides[1]).max() < 0.3


def test_an_answer_changed_in_the_middle_is_learned_anew() -> None:
    model = OnlineModel(ITEMS, "full", SEED)
    answers = some_answers(10)
    model.update(answers, (), "information", 5)
    changed = [*answers[:3], *some_answers(1, seed=9, first=50), *answers[4:]]
    heard = model.update(changed, (), "information", 5).belief
    assert sorted(zip(heard.winners, heard.losers, strict=True)) == sorted(
        (one.left, one.right) for one in changed
    )


@pytest.mark.parametrize("count", [1, CHUNK, CHUNK + 1, ALL_AT_ONCE, ALL_AT_ONCE + 1, 40])
def test_any_number_of_answers_at_once_is_heard_in_their_order(count: int) -> None:
    answers = some_answers(count)
    heard = OnlineModel(ITEMS, "full", SEED).update(answers, (), "information", 5).belief
    assert [*zip(heard.winners, heard.losers, strict=True)] == [(one.left, one.right) for one in answers]


def test_the_states_that_a_model_keeps_are_bounded() -> None:
    model, answers = OnlineModel(ITEMS, "full", SEED), some_answers(20)
    for count in range(1, len(answers) + 1):
        model.update(answers[:count], (), "information", 5)
        assert len(model._states) <= KEPT + 1


@pytest.mark.slow
def test_the_same_task_gives_the_same(workers: WorkerPool) -> None:
    """Learning is a function of its task: nothing is left over from others."""
    tasks = list[UpdateTask]()

    def kept(task: UpdateTask) -> ModelUpdate:
        tasks.append(task)
        return learn(task)

    model = OnlineModel(ITEMS, "auto", SEED, kept)
    first = [model.update(some_answers(count), {(0, 1)}, "information", 5) for count in (0, 4, 9)]
    for task, snapshot in reversed([*zip(tasks, first, strict=True)]):
        for again in (learn(task), workers.learn(task)):
            assert again.snapshot.choices == snapshot.choices and again.snapshot.top(5) == snapshot.top(5)
            np.testing.assert_array_equal(again.snapshot.belief.draws, snapshot.belief.draws)


# Waiting for the model.


class Slow:
    """Learns when it may."""

    def __init__(self) -> None:
        self.may, self.times = threading.Event(), 0

    def __call__(self, task: UpdateTask) -> ModelUpdate:
        assert self.may.wait(60)
        self.times += 1
        return learn(task)


def test_a_reply_does_not_wait_longer_than_its_patience_and_nobody_is_queued_twice(study: Study) -> None:
    slow, queue = Slow(), LearningQueue()
    record = study.respondent("Ann").record
    one = Respondent(study, record, slow)
    queue.update(one, 0.01)
    # The first may have begun; of those after it one is queued.
    for _ in range(5):
        answer(one)
        queue.update(one, 0.01)
    assert one.turn()[1].top == ()
    slow.may.set()
    queue.update(one, 60)
    _, found = one.turn()
    assert found.n_answers == 5 and len(found.top) == 5 and slow.times <= 2
    queue.close()


@pytest.mark.parametrize("error", [sqlite3.OperationalError("locked"), InputError("it is deleted")])
def test_a_storage_that_fails_is_the_replys_trouble(
    error: Exception, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = LearningQueue()

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Respondent, "think", fail)
    with pytest.raises(type(error), match=str(error)):
        queue.update(study.respondent(), 60)
    queue.close()


def test_after_closing_it_learns_again_if_it_is_asked_to(study: Study) -> None:
    queue, one = LearningQueue(), study.respondent()
    queue.update(one, 60)
    queue.close()
    answer(one)
    queue.update(one, 60)
    assert one.turn()[1].n_answers == 1
    queue.close()


# In another process.


@pytest.mark.slow
def test_a_model_in_a_worker_learns_what_one_here_does(workers: WorkerPool) -> None:
    there, here = OnlineModel(ITEMS, "full", SEED, workers.learn), OnlineModel(ITEMS, "full", SEED)
    answers = some_answers(8)
    for count in (0, 1, 2, 8, 5):
        for strategy in ("information", "best"):
            about = answers[:count], {(0, 1)}, strategy, 5
            one, other = here.update(*about), there.update(*about)
            assert one.choices == other.choices and one.top(5) == other.top(5)
            np.testing.assert_array_equal(one.belief.draws, other.belief.draws)
            np.testing.assert_array_equal(other.belief.items, ITEMS)


@pytest.mark.slow
def test_models_in_one_worker_are_told_apart(workers: WorkerPool) -> None:
    first, second = (OnlineModel(ITEMS, "full", SEED, workers.learn) for _ in range(2))
    assert first.update(some_answers(3), (), "information", 5).n_heard == 3
    assert second.update([], (), "information", 5).n_heard == 0
    assert first.update(some_answers(4), (), "information", 5).n_heard == 4


@pytest.mark.slow
def test_a_worker_that_was_killed_is_replaced_and_all_answers_are_learned_from(workers: WorkerPool) -> None:
    model = OnlineModel(ITEMS, "full", SEED, workers.learn)
    model.update(some_answers(3), (), "information", 5)
    killed = pid(workers)
    os.kill(killed, signal.SIGKILL)
    assert model.update(some_answers(4), (), "information", 5).n_heard == 4
    assert pid(workers) != killed


@pytest.mark.slow
def test_a_worker_takes_no_module_from_the_folder_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: WorkerPool
) -> None:
    for name in ("random", "pickle", "socket"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken from the folder')")
    monkeypatch.chdir(tmp_path)
    assert OnlineModel(ITEMS, "full", SEED, workers.learn).update([], (), "information", 5).n_heard == 0


@pytest.mark.slow
def test_a_worker_does_not_run_the_callers_script_again(tmp_path: Path) -> None:
    script = (
        "import numpy as np\n"
        "from coombs.study.online_model import OnlineModel\n"
        "from coombs.web.learning.worker import WorkerPool\n"
        "print('run')\n"
        "workers = WorkerPool(1)\n"
        "for _ in range(2):\n"
        "    OnlineModel(np.eye(4), 'full', (0,), workers.learn).update([], (), 'information', 2)\n"
        "    workers._first_pid.result()\n"
        "workers.close()\n"
    )
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("run\n", "")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="a process is stopped as POSIX does")
def test_the_page_goes_on_while_a_worker_hangs(study: Study) -> None:
    queue = LearningQueue(processes=1, time_limit=5)
    record = study.respondent("Ann").record
    one = Respondent(study, record, queue.learn)
    queue.update(one, 60)
    assert queue._workers is not None
    os.kill(pid(queue._workers), signal.SIGSTOP)
    for number in range(AHEAD + 2):
        answer(one)
        queue.update(one, 0.01)
        assert one.turn()[1].n_answers == number + 1
    # Every question that was chosen ahead is used up.
    assert one.turn()[0].purpose == "random"
    queue.update(one, 60)
    assert one.think().n_heard == AHEAD + 2
    queue.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="a process is stopped as POSIX does")
def test_a_worker_that_hangs_does_not_keep_the_server_from_ending(study: Study) -> None:
    queue = LearningQueue(processes=1)
    record = study.respondent("Ann").record
    one = Respondent(study, record, queue.learn)
    queue.update(one, 60)
    assert queue._workers is not None
    os.kill(pid(queue._workers), signal.SIGSTOP)
    answer(one)
    queue.update(one, 0.01)
    queue.close()
    queue.update(one, 60)
    assert one.turn()[1].n_answers == 1 and one.think().n_heard == 1
    queue.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="a process is stopped as POSIX does")
def test_answers_are_learned_from_here_while_no_worker_does(workers: WorkerPool) -> None:
    workers._time_limit = 0.1
    stopped = pid(workers)
    os.kill(stopped, signal.SIGSTOP)
    model = OnlineModel(ITEMS, "full", SEED, workers.learn)
    # After the limit; at once, as the worker is late; and with another worker in its place.
    for count in (1, 2):
        assert model.update(some_answers(count), (), "information", 5).n_heard == count
    for _ in range(600):
        if pid(workers) != stopped:
            break
        time.sleep(0.1)
    assert pid(workers) != stopped
    assert model.update(some_answers(3), (), "information", 5).n_heard == 3


@pytest.mark.slow
def test_a_fault_in_a_worker_is_raised_here_and_it_goes_on(workers: WorkerPool) -> None:
    model = OnlineModel(ITEMS, "full", SEED, workers.learn)
    with pytest.raises(InputError, match="strategy is 'none'"):
        model.update([], (), "none", 5)
    same = pid(workers)
    assert model.update(some_answers(2), (), "information", 5).n_heard == 2
    assert pid(workers) == same


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the child is looked for as POSIX has it")
def test_a_worker_ends_with_its_server_however_that_ends() -> None:
    script = (
        "import time, numpy as np\n"
        "from coombs.study.online_model import OnlineModel\n"
        "from coombs.web.learning.worker import WorkerPool\n"
        "workers = WorkerPool(1)\n"
        "OnlineModel(np.eye(4), 'full', (0,), workers.learn).update([], (), 'information', 2)\n"
        "print(workers._first_pid.result(), flush=True)\n"
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
    pytest.fail("The worker is still there.")


def _is_zombie(pid: int) -> bool:
    """Ended, and not yet collected by whoever adopted it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.slow
def test_a_study_with_workers_asks_and_learns_as_one_without(tmp_path: Path) -> None:
    """The same questions, as the same draws are moved with the same random state."""
    url = f"sqlite:///{tmp_path}/a.db"
    asked = []
    for processes, name in ((0, "here"), (2, "there")):
        create_study(ITEMS, name, storage=url)
        study = load_study(name, storage=url)
        queue = LearningQueue(processes)
        one = Respondent(study, study.respondent("Ann").record, queue.learn)
        pairs = []
        for _ in range(12):
            queue.update(one, 60)
            question, _ = one.turn()
            pairs.append(question.positions)
            one.tell(question, "left" if sum(question.positions) % 2 else "right")
        queue.close()
        asked.append(pairs)
    assert asked[0] == asked[1]


@pytest.mark.slow
def test_workers_know_many_tables_of_items_apart(workers: WorkerPool) -> None:
    for number in (0, 1, 2, 0):
        items = np.random.default_rng(number).normal(size=(12, 2))
        here, there = (OnlineModel(items, "full", SEED, learner) for learner in (learn, workers.learn))
        one, other = (model.update([], (), "information", 3) for model in (here, there))
        assert one.choices == other.choices and one.top(3) == other.top(3)


@pytest.mark.slow
def test_whoever_waits_for_other_workers_is_served_though_one_was_killed() -> None:
    """Four threads and two workers, one of which is killed: no update is lost."""
    workers, answers = WorkerPool(2), some_answers(6)
    models = [OnlineModel(ITEMS, "full", (0, seed), workers.learn) for seed in range(4)]
    models[0].update([], (), "information", 5)

    def learn_all(model: OnlineModel) -> int:
        return [model.update(answers[:count], (), "information", 5).n_heard for count in range(1, 7)][-1]

    with ThreadPoolExecutor(4) as threads:
        learned = [threads.submit(learn_all, model) for model in models]
        os.kill(pid(workers), signal.SIGKILL)
        assert [one.result(120) for one in learned] == [6] * 4
    workers.close()
