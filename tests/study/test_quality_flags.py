"""What speaks against somebody's answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from coombs import create_study
from coombs.storage.judgement import Judgement
from coombs.storage.records import AnswerRecord, Choice, JudgementRecord, QuestionRecord, SetQuestionRecord
from coombs.study.history import History
from coombs.study.quality_flags import FLAGS, QualityFlags

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
Side = Callable[[int], Choice]


def history(
    choose: Side,
    count: int = 30,
    seconds: float = 3.0,
    purpose: str = "random",
    predicted: float | None = None,
) -> History:
    """Answers to pairs of consecutive items, each after so many seconds."""
    made = History(is_whole=True)
    for k in range(count):
        at = NOON + timedelta(minutes=k)
        asked = QuestionRecord(k + 1, 1, 2 * k, 2 * k + 1, purpose, predicted, None, at)
        told = at + timedelta(seconds=seconds)
        made.add([asked], [AnswerRecord(k + 1, 1, k + 1, 2 * k, 2 * k + 1, choose(k), 1.0, told)])
    return made


def tossed(seed: int) -> Side:
    sides = np.random.default_rng(seed).random(1000) < 0.5
    return lambda k: "left" if sides[k] else "right"


def with_repeats(alike: int, count: int) -> History:
    """As many questions, each repeated with sides swapped, of which so many are answered alike."""
    made = History(is_whole=True)
    for k in range(count):
        at = NOON + timedelta(minutes=2 * k)
        told = at + timedelta(seconds=3)
        later, numbers = at + timedelta(minutes=1), (2 * k + 1, 2 * k + 2)
        first = QuestionRecord(numbers[0], 1, 2 * k, 2 * k + 1, "random", None, None, at)
        again = QuestionRecord(numbers[1], 1, 2 * k + 1, 2 * k, "repeat", None, None, later)
        made.add([first], [AnswerRecord(numbers[0], 1, numbers[0], 2 * k, 2 * k + 1, "left", 1.0, told)])
        said: Choice = "right" if k < alike else "left"
        made.add(
            [again],
            [
                AnswerRecord(
                    numbers[1], 1, numbers[1], 2 * k + 1, 2 * k, said, 1.0, later + timedelta(seconds=3)
                )
            ],
        )
    return made


@pytest.mark.parametrize(
    ("found", "flag"),
    [
        (history(lambda k: "left"), "straight-lining"),
        (history(lambda k: "left" if k % 2 else "right"), "alternating"),
        (history(tossed(1), seconds=0.3), "fast"),
        (history(tossed(1), 4, purpose="attention", predicted=1.0), "attention"),
        (with_repeats(0, 4), "inconsistent"),
        (history(lambda k: "right", 3, predicted=0.95), "coin-like"),
    ],
)
def test_each_flag_is_raised_by_what_it_is_about(found: History, flag: str) -> None:
    flags = QualityFlags.of(found)
    assert flag in flags.names and set(flags.names) <= set(FLAGS)
    assert len(flags.sentences("Ann")) >= len(flags.names) and flags.to_dict()["flags"] == list(flags.names)


def test_nothing_speaks_against_a_slow_person_who_looks_at_the_items() -> None:
    assert QualityFlags.of(history(tossed(2))).names == ()
    assert QualityFlags.of(with_repeats(4, 5)).names == ()
    assert QualityFlags.of(History()).names == ()


@pytest.mark.parametrize("count", [10, 11, 12, 20, 40])
def test_sides_that_are_tossed_raise_less_than_one_alarm_in_a_hundred(count: int) -> None:
    raised = sum(
        bool({"straight-lining", "alternating"} & set(QualityFlags.of(history(tossed(seed), count)).names))
        for seed in range(60)
    )
    # With 0.2 % at most for each, three of 60 have a probability below 1e-3.
    assert raised <= 2


def test_the_time_of_an_answer_is_from_its_question_on() -> None:
    flags = QualityFlags.of(history(tossed(3), 12, seconds=2.5))
    assert flags.seconds == 2.5 and flags.n_fast == 0 and not flags.is_fast


def test_repeats_are_compared_by_items_not_by_sides() -> None:
    flags = QualityFlags.of(with_repeats(3, 4))
    assert (flags.n_repeats, flags.n_alike) == (4, 3)


def test_always_the_same_places_of_sets_are_straight_lining() -> None:
    made = History(is_whole=True)
    for k in range(6):
        at, items = NOON + timedelta(minutes=k), (4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3)
        asked = SetQuestionRecord(k + 1, 1, items, "random", None, None, at)
        said = Judgement("best-worst", ((items[0],), items[1:3], (items[3],)))
        made.add([asked], [JudgementRecord(k + 1, 1, said, 1.0, at + timedelta(seconds=9), k + 1)])
    flags = QualityFlags.of(made)
    assert flags.names == ("straight-lining",) and flags.sentences()


def test_flags_of_a_respondent_are_of_all_that_stands() -> None:
    study = create_study(np.eye(12), storage="memory:", metric="identity", strategy="random")
    for _ in range(12):
        question = study.ask()
        assert question is not None
        study.tell(question, "left")
    assert "straight-lining" in study.respondent().flags().names
    for _ in range(8):
        study.undo()
    assert study.respondent().flags().n_answers == 4
