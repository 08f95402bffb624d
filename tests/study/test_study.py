"""Studies: ask, tell, undo and result, by several people and from several processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from coombs import (
    Comparisons,
    IdealPoint,
    InputError,
    Study,
    create_study,
    delete_study,
    list_studies,
    load_study,
)
from coombs.storage import AnsweredError, Storage, StudyExistsError, UnknownStudyError, open_storage
from coombs.study import Answer, Question, Respondent, Settings
from coombs.study import history as history_module
from coombs.study.online_model import RemainingQuestions, Top

Floats = NDArray[np.float64]
POINTS = np.random.default_rng(0).normal(size=(30, 2))
NAMES = [f"flat {i}" for i in range(30)]


def made(n: int = 30, **more: Any) -> Study:
    """A study in memory about unnamed points."""
    return create_study(POINTS[:n], storage="memory:", **more)


def choice_of(question: Question, ideal: Floats | tuple[float, ...] = (0.3, -0.2)) -> str:
    """What somebody with this ideal says."""
    left, right = ((POINTS[list(question.positions)] - ideal) ** 2).sum(axis=1)
    return "left" if left < right else "right"


def answered(who: Study | Respondent, count: int) -> list[Question]:
    """So many questions, asked and answered."""
    asked = []
    for _ in range(count):
        question = who.ask()
        assert question is not None
        who.tell(question, choice_of(question))
        asked.append(question)
    return asked


def pair_of(one: Question | Answer) -> frozenset[int]:
    return frozenset(one.positions)


@pytest.fixture
def place() -> Storage:
    """A storage in which a study can be loaded again."""
    storage = open_storage("memory:")
    create_study(POINTS, storage=storage)
    return storage


# Making, finding and removing studies.


@pytest.mark.parametrize("kind", ["memory:", "sqlite"])
def test_a_study_is_there_until_it_is_deleted(kind: str, tmp_path: Path) -> None:
    storage = open_storage(kind if kind == "memory:" else f"sqlite:///{tmp_path}/a.db")
    for name in ("b", "a"):
        create_study(POINTS, name, storage=storage)
    study = load_study("a", storage=storage)
    study.tell((0, 1))
    study.respondent("Ann")
    found = list_studies(storage)
    assert [(one.name, one.n_items, one.n_respondents, one.n_answers) for one in found] == [
        ("a", 30, 2, 1),
        ("b", 30, 0, 0),
    ]
    delete_study("a", storage=storage)
    assert [one.name for one in list_studies(storage)] == ["b"]
    for gone in (load_study, delete_study):
        with pytest.raises(UnknownStudyError, match="There is no study named 'a'"):
            gone("a", storage=storage)
    with pytest.raises(InputError, match="There is no"):
        study.ask()
    storage.close()


def test_creating_a_study_again_goes_on_with_it_unless_that_is_refused(place: Storage) -> None:
    load_study(storage=place).tell((3, 4))
    assert len(create_study(POINTS, storage=place).history()) == 1
    with pytest.raises(StudyExistsError, match="There is a study named 'study' already"):
        create_study(POINTS, storage=place, load_if_exists=False)


@pytest.mark.parametrize("items", [POINTS[:29], POINTS + 1, pd.DataFrame(POINTS, index=NAMES)])
def test_the_same_name_for_other_items_is_refused(items: Any, place: Storage) -> None:
    with pytest.raises(InputError, match="The study 'study' is about other items; choose another name"):
        create_study(items, storage=place)


def test_other_settings_for_a_study_that_exists_hold_for_this_time(place: Storage) -> None:
    again = create_study(POINTS, storage=place, certainty=0.95)
    assert again.settings == Settings(certainty=0.95)
    assert load_study(storage=place).settings == Settings()
    with pytest.raises(InputError, match="The certainty is 2"):
        create_study(POINTS, storage=place, certainty=2)


def test_a_study_comes_back_as_it_was_made(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    frame = pd.DataFrame(
        {"price": [1.5, 2.5, 3.0], "size": [3, 4, 4], "url": ["x", "", "é"]}, index=list("abc")
    )
    study = create_study(
        frame, "flats", storage=url, strategy="best", top=2, certainty=0.9, seed=7, probes=0.2
    )
    again = load_study("flats", storage=url)
    assert again.settings == study.settings == Settings("best", 0.2, "auto", 2, 0.9, 7)
    assert again.catalogue.names == list("abc") and again.catalogue.features == ["price", "size"]
    assert again.catalogue.details == study.catalogue.details
    np.testing.assert_array_equal(again.catalogue.table.matrix, study.catalogue.table.matrix)
    assert not again.catalogue.table.matrix.flags.writeable
    assert (again.name, again.n_items, again.n_pairs) == ("flats", 3, 3)
    assert repr(again).startswith("Study('flats', 3 items with ")


@pytest.mark.parametrize(
    ("items", "pair", "names"),
    [
        (POINTS, (0, 1), ("0", "1")),
        (POINTS, ("0", "1"), ("0", "1")),
        (POINTS.tolist(), np.array([0, 1]), ("0", "1")),
        (pd.DataFrame(POINTS, index=NAMES), ("flat 3", "flat 0"), ("flat 3", "flat 0")),
        (pd.DataFrame(POINTS, index=NAMES), (3, 0), ("flat 3", "flat 0")),
        (pd.DataFrame(POINTS, index=range(100, 130)), (103, 100), (103, 100)),
        (pd.DataFrame(POINTS), (3, 0), ("3", "0")),
        (pl.DataFrame({"flat": NAMES, "x": POINTS[:, 0]}), ["flat 3", "flat 0"], ("flat 3", "flat 0")),
    ],
)
def test_items_are_called_as_they_were_named_also_after_reloading(items: Any, pair: Any, names: Any) -> None:
    storage = open_storage("memory:")
    for study in (create_study(items, storage=storage), load_study(storage=storage)):
        answer = study.tell(pair)
        assert (answer.left, answer.right) == names
        assert answer.winner == names[0]
        assert study.tell(pair, "right").winner == names[1]
        question = study.ask()
        assert question.left == study.catalogue.labels[question.positions[0]]


def test_a_file_of_items_makes_a_study_with_details(tmp_path: Path) -> None:
    path = tmp_path / "flats.csv"
    path.write_text("name,price,size,city\nA,1,2,Rome\nB,2,1,\nC,3,3,Oslo\n")
    study = create_study(path, storage="memory:")
    assert study.catalogue.names == ["A", "B", "C"]
    assert study.catalogue.details[2] == {"city": "Oslo"}
    only = create_study(str(path), storage="memory:", features=["size"])
    assert only.catalogue.features == ["size"]
    assert only.catalogue.details[1] == {"price": "2", "city": ""}
    with pytest.raises(InputError, match="There is no column 'prize'"):
        create_study(path, storage="memory:", features=["prize"])


# Asking and telling.


@pytest.mark.parametrize(
    ("choice", "y", "winner"), [("left", 1, 0), ("right", -1, 1), ("tie", 0, None), ("skip", None, None)]
)
def test_each_choice_is_kept_and_counts_as_what_it_is(choice: str, y: int | None, winner: int | None) -> None:
    study = made()
    question = study.ask()
    answer = study.tell(question, choice)
    assert (answer.choice, answer.question, answer.weight) == (choice, question.id, 1.0)
    assert answer.winner == (None if winner is None else (question.left, question.right)[winner])
    assert (answer.purpose, answer.probability) == (question.purpose, question.probability)
    assert study.history() == (answer,)
    assert study.progress().n_answers == (0 if choice == "skip" else 1)
    if y is None:
        with pytest.raises(InputError, match="'me' has not answered anything yet"):
            study.result()
    else:
        data = study.respondent().comparisons()
        assert data.pairs.tolist() == [list(question.positions)]
        assert data.y.tolist() == [y]
        assert data.users.tolist() == ["me"]


def test_a_question_is_two_different_items_with_a_probability() -> None:
    question = made().ask()
    assert question.positions[0] != question.positions[1]
    assert (question.left, question.right) == tuple(map(str, question.positions))
    assert question.respondent == "me" and 0 < question.probability < 1
    assert question.purpose in ("information", "probe")


def test_a_question_may_be_told_by_its_number() -> None:
    study = made()
    question = study.ask()
    assert study.tell(question.id, "right").question == question.id
    with pytest.raises(InputError, match="'me' was never asked question 999"):
        study.tell(999, "left")
    with pytest.raises(InputError, match="has no choice; say left, right, tie or skip"):
        study.tell(study.ask())


def test_telling_the_same_again_changes_nothing_and_another_choice_is_refused() -> None:
    study = made()
    question = study.ask()
    first = study.tell(question, "left")
    assert study.tell(question, "left") == first
    with pytest.raises(AnsweredError, match="has another answer, 'left'; undo it first"):
        study.tell(question, "right")
    assert study.history() == (first,)


def test_an_answer_never_asked_for_is_not_asked_about() -> None:
    study = made(3)
    study.tell((0, 1))
    pairs = {pair_of(one) for one in answered(study, 2)}
    assert pairs == {frozenset((0, 2)), frozenset((1, 2))}
    assert study.ask() is None


def test_the_same_pair_may_be_told_unasked_as_often_as_one_likes() -> None:
    study = made(3)
    for _ in range(3):
        study.tell((0, 1), weight=2.0)
    study.tell((1, 0))
    assert len(study.history()) == 4
    assert study.respondent().comparisons().weights.tolist() == [2, 2, 2, 1]


@pytest.mark.parametrize("strategy", ["information", "best", "random"])
def test_three_items_have_three_questions(strategy: str) -> None:
    study = made(3, strategy=strategy)
    assert len({pair_of(one) for one in answered(study, 3)}) == 3
    assert study.ask() is None
    assert study.done(certainty=0.99)
    found = study.progress()
    assert found.gain == 0 and found.questions_left == 0


def test_two_items_have_one_question() -> None:
    study = made(2)
    assert study.progress().top in (("0",), ("1",))
    question = study.ask()
    study.tell(question, "left")
    assert study.ask() is None
    assert study.result().ranking == list(question.positions)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["information", "best"])
def test_no_pair_is_asked_twice_and_left_and_right_come_in_both_orders(strategy: str) -> None:
    study = made(12, strategy=strategy)
    asked = answered(study, 40)
    assert len({pair_of(one) for one in asked}) == 40
    assert 4 < sum(one.positions[0] < one.positions[1] for one in asked) < 36


def test_the_same_seed_asks_the_same_questions_and_another_seed_others() -> None:
    sequences = [[one.positions for one in answered(made(seed=seed), 8)] for seed in (1, 1, 2)]
    assert sequences[0] == sequences[1] != sequences[2]


@pytest.mark.slow
def test_chosen_questions_find_the_favourites() -> None:
    study = made()
    answered(study, 30)
    truth = np.argsort(((POINTS - (0.3, -0.2)) ** 2).sum(axis=1))
    assert len(set(study.result().ranking[:5]) & set(truth[:5].tolist())) >= 4
    assert len(set(study.progress().top) & set(map(str, truth[:5]))) >= 4


# Undoing.


def test_an_undone_question_is_asked_again_before_any_other() -> None:
    study = made()
    asked = answered(study, 3)
    undone = study.undo()
    assert undone.question == asked[2].id
    assert study.ask() == asked[2]
    assert study.respondent().current() == asked[2]
    study.tell(asked[2], "tie")
    assert [one.choice for one in study.history()][-1] == "tie"
    assert pair_of(study.ask()) not in {pair_of(one) for one in asked}


def test_undoing_twice_asks_both_again_the_last_undone_first(place: Storage) -> None:
    study = load_study(storage=place)
    asked = answered(study, 3)
    study.undo()
    study.undo()
    for one in (study, load_study(storage=place)):
        assert len(one.history()) == 1
        assert one.ask() == asked[1]
    study.tell(asked[1], "skip")
    assert load_study(storage=place).ask() == asked[2]


def test_an_older_answer_can_be_undone_by_itself_or_its_number(place: Storage) -> None:
    study = load_study(storage=place)
    asked = answered(study, 4)
    first, second, third, fourth = study.history()
    assert study.respondent().undo(second) == second
    again = load_study(storage=place)
    assert again.respondent().undo(first.id) == first
    assert study.history() == again.history() == (third, fourth)
    assert study.ask() == again.ask() == asked[0]
    with pytest.raises(InputError, match="no standing answer"):
        study.respondent().undo(first)


def test_undoing_an_unasked_answer_asks_nothing_again() -> None:
    study = made()
    study.tell((0, 1))
    assert study.undo().question is None
    assert study.history() == ()
    assert study.undo() is None


def test_the_pair_of_an_unasked_answer_that_was_undone_is_asked_about() -> None:
    study = made(3)
    study.tell((0, 1))
    study.undo()
    assert len({pair_of(one) for one in answered(study, 3)}) == 3


def test_what_was_undone_is_unlearned() -> None:
    study = made()
    answered(study, 5)
    before = study.progress()
    *near, far = np.argsort(((POINTS - (0.3, -0.2)) ** 2).sum(axis=1)).tolist()
    for loser in near[:14]:
        study.tell((far, loser))
    assert str(far) not in before.top and str(far) in study.progress().top
    for _ in range(14):
        study.undo()
    after = study.progress()
    assert after.n_answers == before.n_answers
    assert abs(after.probability - before.probability) < 0.15
    assert len(set(after.top) & set(before.top)) >= 3


def test_all_answers_may_be_undone_after_reloading(place: Storage) -> None:
    answered(load_study(storage=place), 14)
    study = load_study(storage=place)
    study.progress()
    while study.undo() is not None:
        pass
    assert study.progress().n_answers == 0
    assert study.progress().probability < 0.2


def test_many_skips_say_nothing_after_reloading(place: Storage) -> None:
    study = load_study(storage=place)
    for _ in range(14):
        study.tell(study.ask(), "skip")
    again = load_study(storage=place)
    assert again.progress().n_answers == 0
    assert again.ask() is not None


def test_undo_of_a_question_takes_back_its_answer_or_is_refused(tmp_path: Path) -> None:
    me = create_study(POINTS, storage=f"sqlite:///{tmp_path}/a.db").respondent()
    me.tell((0, 1))
    question = me.ask()
    me.tell(question, "left")
    with suppress(InputError):
        assert me.undo(question).question == question.id


# Coming back.


def test_the_open_question_waits_for_whoever_comes_back(place: Storage) -> None:
    study = load_study(storage=place)
    answered(study, 2)
    waiting = study.ask()
    again = load_study(storage=place).respondent()
    assert again.current() == again.current() == waiting
    again.tell(waiting, "left")
    assert pair_of(study.respondent().current()) != pair_of(waiting)


def test_with_nothing_open_the_current_question_is_a_new_one() -> None:
    me = made(2).respondent()
    question = me.current()
    me.tell(question, "left")
    assert me.current() is None


def test_a_question_left_without_an_answer_is_asked_when_no_other_is_left() -> None:
    study = made(3)
    asked = [study.ask() for _ in range(3)]
    study.tell(asked[2], "left")
    assert study.respondent().current() is not None


# Respondents.


def test_respondents_do_not_see_each_others_answers() -> None:
    study = made()
    ann, bob = study.respondent("Ann"), study.respondent("Bob")
    answered(ann, 4)
    assert bob.history() == () and bob.undo() is None
    assert bob.progress().n_answers == 0
    for _ in range(3):
        question = bob.ask()
        study.tell(question, "right")
        assert question.respondent == "Bob"
    assert study.respondents() == {"Ann": 4, "Bob": 3}
    assert [one.respondent for one in ann.history()] == ["Ann"] * 4
    with pytest.raises(InputError, match="was put to 'Bob', not to 'Ann'"):
        ann.tell(question, "left")
    data = study.comparisons()
    assert data.users.tolist() == ["Ann"] * 4 + ["Bob"] * 3
    assert study.respondent("Ann") is ann
    assert ann.record.token != bob.record.token


@pytest.mark.slow
def test_respondents_learn_apart() -> None:
    study = made()
    tops = []
    for name, ideal in (("Ann", (1.0, 1.0)), ("Bob", (-1.0, -1.0))):
        who = study.respondent(name)
        for _ in range(15):
            question = who.ask()
            who.tell(question, choice_of(question, ideal))
        tops.append(set(who.progress().top))
    assert len(tops[0] & tops[1]) <= 1


def test_nobody_has_answered_is_a_sentence() -> None:
    study = made()
    study.respondent("Ann")
    with pytest.raises(InputError, match="Nobody has answered in the study 'study'"):
        study.comparisons()


def test_somebody_who_only_skips_does_not_hide_the_others_answers() -> None:
    study = made()
    ann, bob = study.respondent("Ann"), study.respondent("Bob")
    ann.tell(ann.ask(), "left")
    bob.tell(bob.ask(), "skip")
    assert study.comparisons().users.tolist() == ["Ann"]


# History, result and progress.


acts = st.one_of(
    st.tuples(st.just("tell"), st.sampled_from(list(combinations(range(5), 2)))),
    st.tuples(st.just("ask"), st.sampled_from(["left", "right", "tie", "skip"])),
    st.tuples(st.just("undo"), st.just(None)),
    st.tuples(st.just("undo older"), st.integers(0, 9)),
    st.tuples(st.just("reload"), st.just(None)),
)


@given(st.lists(acts, max_size=12))
@settings(deadline=None, max_examples=20)
def test_history_is_what_was_told_and_not_undone_in_order(actions: list[tuple[str, Any]]) -> None:
    storage = open_storage("memory:")
    study = create_study(POINTS[:5], storage=storage, strategy="random")
    standing: list[Answer] = []
    reopened: list[int] = []
    for act, detail in actions:
        if act == "tell":
            standing.append(study.tell(detail))
        elif act == "ask" and (question := study.ask()) is not None:
            if reopened:
                assert question.id == reopened.pop()
            standing.append(study.tell(question, detail))
        elif act == "reload":
            study = load_study(storage=storage)
        elif act.startswith("undo") and standing:
            at = -1 if detail is None else detail % len(standing)
            undone = standing.pop(at)
            assert (study.undo() if detail is None else study.respondent().undo(undone.id)) == undone
            reopened += [undone.question] if undone.question is not None else []
        assert study.history() == tuple(standing)
    again = load_study(storage=storage)
    assert again.history() == tuple(standing)
    assert again.progress().n_answers == sum(one.choice != "skip" for one in standing)


def test_the_result_is_the_fit_of_the_same_comparisons() -> None:
    study = made(seed=3)
    answered(study, 15)
    study.tell((0, 1), "tie", weight=2.0)
    study.tell((2, 3), "skip")
    found = study.result()
    told = [one for one in study.history() if one.choice != "skip"]
    data = Comparisons(
        POINTS,
        [one.positions for one in told],
        [{"left": 1, "right": -1, "tie": 0}[one.choice] for one in told],
        weights=[one.weight for one in told],
    )
    direct = IdealPoint(random_state=3).fit(data)
    assert found.ranking == direct.rank().tolist()
    np.testing.assert_array_equal(found.model.ideal_point_, direct.ideal_point_)
    expected = direct.ideal_point_ if found.has_pattern else np.full(2, np.nan)
    np.testing.assert_array_equal(found.ideal_point, expected)
    assert (found.respondent, found.n_answers) == ("me", 16)


@pytest.mark.slow
def test_a_result_lists_all_items_by_name_best_first() -> None:
    study = create_study(pd.DataFrame(POINTS, index=NAMES), storage="memory:")
    answered(study, 12)
    found = study.result()
    assert sorted(found.ranking) == sorted(NAMES)
    frame = found.to_frame()
    assert frame["item"].tolist() == found.ranking
    assert frame["rank"].tolist() == list(range(1, 31))
    assert (frame["rank_low"] <= frame["rank_high"]).all()
    assert frame["distance"].is_monotonic_increasing


@pytest.mark.slow
def test_the_given_share_of_the_questions_are_probes_and_the_result_counts_them() -> None:
    """Of 30 that are probes with 40 %, one to 25 are, but for one time in five million."""
    assert made(3).settings.probes == 0.1
    study = made(25, probes=0.4)
    asked = answered(study, 30)
    probes = [one for one in asked if one.purpose == "probe"]
    assert 1 <= len(probes) <= 25
    assert (
        {"probe", "information"} <= {one.purpose for one in asked} <= {"probe", "information", "confirmation"}
    )
    found = study.result()
    assert found.n_probes == len(probes)
    right = sum((one.probability > 0.5) == (choice_of(one) == "left") for one in probes)
    assert found.probes_right == right
    assert f"to {len(probes)} random question" in str(found) or not found.has_pattern


@pytest.mark.parametrize(
    ("share", "purposes"), [(0.0, {"best"}), (1.0, {"probe"}), (0, {"best"}), (1, {"probe"})]
)
def test_the_share_of_probes_may_be_none_or_all(share: float, purposes: set[str]) -> None:
    study = made(10, probes=share, strategy="best")
    assert {one.purpose for one in answered(study, 12)} == purposes


def test_a_tied_probe_is_half_right_and_a_skipped_or_undone_one_does_not_count() -> None:
    study = made(10, probes=1.0)
    for choice in ("tie", "tie", "skip"):
        study.tell(study.ask(), choice)
    answered(study, 1)
    study.undo()
    found = study.result()
    assert (found.n_probes, found.probes_right) == (2, 1.0)


def test_probes_come_as_often_where_every_question_is_asked_by_a_new_process(place: Storage) -> None:
    purposes = [load_study(storage=place).ask().purpose for _ in range(60)]
    assert 1 <= purposes.count("probe") <= 18


def test_a_check_asks_a_pair_again_on_purpose() -> None:
    study = made()
    me = study.respondent()
    answered(study, 3)
    answer = study.history()[0]
    check = me.check(answer)
    assert (check.purpose, check.probability) == ("check", None)
    assert pair_of(check) == pair_of(answer)
    assert me.current() == check
    study.tell(check, "left")
    assert len(study.history()) == 4
    assert study.history()[-1].purpose == "check"
    orders = {me.check(answer.id).positions for _ in range(12)}
    assert len(orders) == 2
    with pytest.raises(InputError, match="no standing answer 999"):
        me.check(999)


def test_an_answer_says_what_its_question_was_for_whoever_asked_it(place: Storage) -> None:
    one, other = load_study(storage=place), load_study(storage=place)
    question = one.ask()
    assert other.tell(question, "left").purpose == question.purpose
    check = one.respondent().check(one.history()[0])
    assert one.tell(check, "left").purpose == "check"


def test_progress_before_any_answer() -> None:
    found = made().progress()
    assert found.n_answers == 0 and len(found.top) == 5
    assert 0 < found.probability < 0.2 and 0 < found.share < 0.6
    assert 0 < found.gain <= 1 and found.questions_left > 10
    assert (found.goal, found.fraction, found.reached) == (0.8, 0, False)
    assert str(found).startswith("top 5 is ")


def test_progress_rises_until_it_is_done() -> None:
    study = made(certainty=0.7, top=3)
    lefts, fars = [], [0.0]
    while not study.done():
        answered(study, 1)
        found = study.progress()
        assert 0 < found.probability < 1 and 0 <= found.share <= 1 and 0 <= found.gain <= 1
        assert found.fraction >= fars[-1] and found.reached == (found.questions_left == 0)
        lefts.append(found.questions_left)
        fars.append(found.fraction)
    assert len(lefts) < 80
    assert study.progress().probability >= 0.7
    assert lefts[-1] == 0 and all(left > 0 for left in lefts[:-1]) and fars[-1] == 1
    # What is guessed does not jump.
    assert max(abs(one - other) for one, other in pairwise(lefts[:-1])) <= 8


def test_a_goal_that_was_reached_stays_so_until_answers_are_undone() -> None:
    remaining = RemainingQuestions(2, 9)
    for count, probability in enumerate([0.1, 0.3, 0.5, 0.6, 0.7, 0.85, 0.6], start=1):
        left, far = remaining.update(count, Top((0, 1), probability, 0.9), 0.8)
        assert (left == 0) == (probability > 0.8)
    assert remaining.reached and far == 1
    left, far = remaining.update(5, Top((0, 1), 0.7, 0.9), 0.8)
    assert not remaining.reached and left > 0 and far < 0.5
    # Of few answers nothing is certain.
    sure = Top((0, 1), 0.95, 0.97)
    first, second = RemainingQuestions(3, 9), RemainingQuestions(3, 9)
    assert first.update(5, sure, 0.8)[0] > 0 == second.update(6, sure, 0.8)[0]


def test_the_bar_goes_back_when_answers_that_were_never_asked_for_are_undone(place: Storage) -> None:
    """Also while a question waits that was asked after them, and after it was answered, anywhere."""
    study = load_study(storage=place)
    before = study.progress().fraction
    for better, worse in combinations(range(6), 2):
        study.tell((better, worse))
    after = study.progress().fraction
    question = study.ask()
    assert before < after == pytest.approx(study.progress().fraction)
    for _ in range(15):
        study.undo()
    assert study.progress().fraction == load_study(storage=place).progress().fraction == before
    study.tell(question, "left")
    assert study.progress().fraction < after / 2


def test_the_bar_moves_with_answers_that_were_never_asked_for_while_a_question_waits() -> None:
    study = made()
    study.ask()
    for better, worse in combinations(range(6), 2):
        study.tell((better, worse))
    assert study.progress().fraction > 0.1


def test_done_by_goal_by_number_and_by_default() -> None:
    study = made()
    assert not study.done()
    assert not study.done(k=1, certainty=0.001), "before a few answers nothing is certain"
    assert study.done(questions=0)
    answered(study, 4)
    study.tell(study.ask(), "skip")
    assert study.done(k=1, certainty=0.001)
    assert study.done(questions=4)
    assert not study.done(questions=5)


@pytest.mark.parametrize("n", [2, 3])
def test_a_study_is_done_when_every_pair_was_answered(n: int) -> None:
    study = made(n)
    while (question := study.ask()) is not None:
        study.tell(question, choice_of(question))
    assert study.done(certainty=0.3)


@pytest.mark.parametrize(("k", "expected"), [(1, 1), (4, 4), (30, 15), (1000, 15)])
def test_the_best_k_are_half_at_most(k: int, expected: int) -> None:
    assert len(made().progress(k).top) == expected


def test_a_certainty_that_may_be_asked_for_can_be_reached() -> None:
    study = create_study(np.arange(8.0)[:, None], storage="memory:", metric="none")
    with pytest.raises(InputError, match=r"at most 0\.99"):
        study.progress(1, 0.999)
    for better, worse in combinations(range(8), 2):
        study.tell((better, worse), weight=5.0)
    assert study.progress(1, 0.99).probability >= 0.99


def test_a_study_is_not_done_while_an_undone_question_waits() -> None:
    study = made(3)
    for _ in range(3):
        study.tell(study.ask(), "tie")
    study.undo()
    assert study.progress(2, 0.99).probability < 0.99
    assert not study.done(2, 0.99)


def test_items_that_differ_by_rounding_errors_are_refused_or_not_certain_at_once() -> None:
    with suppress(InputError):
        study = create_study(1e9 + 1e-6 * POINTS, storage="memory:")
        assert study.progress().probability < 0.5


def test_the_strategy_best_is_about_as_many_items_as_the_study_is() -> None:
    asked = [
        [one.positions for one in answered(made(strategy="best", top=top, probes=0), 6)] for top in (1, 10)
    ]
    assert asked[0] != asked[1]


# Odd items.


@pytest.mark.parametrize(
    "items",
    [
        np.arange(6.0)[:, None],
        np.column_stack([np.arange(6.0), np.ones(6)]),
        np.repeat(POINTS[:3], 2, axis=0),
        POINTS[:6] * 1e6 + 1e9,
        np.vstack([POINTS[:6], [1e6, -1e6]]),
        POINTS[:6] * 1e-30,
    ],
    ids=["one feature", "a constant", "duplicates", "1e6 apart", "an outlier", "tiny"],
)
@pytest.mark.filterwarnings("ignore:The sampler's chains")
def test_odd_items_can_be_asked_about(items: Floats) -> None:
    study = create_study(items, storage="memory:")
    for choice in ("left", "tie", "right", "skip", "left"):
        study.tell(study.ask(), choice)
    found = study.progress()
    assert np.isfinite([found.probability, found.share, found.gain]).all()
    assert sorted(study.result().ranking) == list(range(len(items)))


@pytest.mark.parametrize("metric", ["none", "identity", "diagonal", "full", "signed"])
def test_every_metric_can_be_asked_with(metric: str) -> None:
    study = made(8, metric=metric)
    answered(study, 6)
    assert sorted(study.result().ranking) == list(range(8))


def test_contradictions_are_borne() -> None:
    study = made(4)
    for _ in range(6):
        study.tell((0, 1))
        study.tell((1, 0))
    found = study.progress()
    assert np.isfinite(found.probability)
    answered(study, 2)


@pytest.mark.slow
def test_ten_thousand_items_are_asked_about_without_a_pair_twice() -> None:
    items = np.random.default_rng(1).normal(size=(10_000, 5))
    study = create_study(items, storage="memory:")
    pairs = []
    for _ in range(8):
        question = study.ask()
        study.tell(question, "left")
        pairs.append(pair_of(question))
    assert len(set(pairs)) == 8
    assert study.progress().n_answers == 8


@pytest.mark.parametrize("weight", [0.0, 1e-6, 50.0])
def test_answers_of_any_weight_are_learned_from(weight: float) -> None:
    study = made(3)
    study.tell((0, 1), weight=weight)
    assert study.history()[0].weight == weight
    assert study.ask() is not None
    assert np.isfinite(study.progress().probability)


def test_answers_that_all_count_nothing_say_nothing() -> None:
    storage = open_storage("memory:")
    study = create_study(POINTS[:3], storage=storage)
    for _ in range(14):
        study.tell((0, 1), weight=0.0)
    assert load_study(storage=storage).ask() is not None


# Bad input.


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"strategy": "best of"}, "strategy is 'best of'; it must be one of information, random, best"),
        ({"strategy": ["best"]}, "strategy is"),
        ({"metric": "car"}, "metric is 'car'; it must be one of auto, smooth, none, identity"),
        ({"probes": 1.5}, "probes is 1.5; it must be a share from 0 to 1"),
        ({"probes": float("nan")}, "probes is nan"),
        ({"probes": True}, "probes is True"),
        ({"top": 0}, "The number of best items is 0; it must be a whole number from 1"),
        ({"top": 2.5}, "The number of best items is 2.5"),
        ({"certainty": 1}, "The certainty is 1; it must be above 0"),
        ({"certainty": "high"}, "The certainty is 'high'"),
        ({"seed": -1}, "seed is -1; it must be a whole number, not negative"),
        ({"seed": "1"}, "seed is '1'"),
        ({"name": ""}, "The study's name is ''; it must be text that is not blank"),
        ({"name": 5}, "The study's name is 5"),
        ({"items": np.zeros((0, 2))}, "There are no items"),
        ({"items": [[1.0, 2.0]]}, "There are fewer than two items .*; a comparison needs two"),
        ({"items": np.ones((6, 2))}, "All 6 items have the same features"),
        ({"items": [[1.0, np.nan], [2.0, 3.0]]}, "Feature 1 of row 0 is nan"),
        ({"items": "nowhere.csv"}, "There is no file nowhere.csv"),
        ({"storage": "mysql://x"}, "The storage is 'mysql://x'; it must be"),
    ],
)
def test_what_makes_no_study_is_refused_with_one_sentence(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        create_study(**{"items": POINTS, "storage": "memory:", **wrong})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda s: s.tell((0, 1), "Left"), "The choice is 'Left'; it must be one of left, right, tie, skip"),
        (lambda s: s.tell((0, 1), ""), "The choice is ''"),
        (lambda s: s.tell((1, 1)), "Item 1 is compared with itself; the two must differ"),
        (lambda s: s.tell((1, "1")), "Item 1 is compared with itself; the two must differ"),
        (lambda s: s.tell((0, 30)), "Position 30 in the answer is no item"),
        (lambda s: s.tell((-1, 3)), "Position -1 in the answer is no item"),
        (lambda s: s.tell(("0", "zero")), "Unknown item 'zero' in the answer"),
        (lambda s: s.tell((0.5, 1)), "Unknown item '0.5' in the answer"),
        (lambda s: s.tell((None, 1)), "is missing"),
        (lambda s: s.tell((True, False)), "Items cannot be chosen by bool"),
        (lambda s: s.tell((0, 1, 2)), "it must be a question or a pair"),
        (lambda s: s.tell("01"), "it must be a question or a pair"),
        (lambda s: s.tell((0, 1), weight=-1), "The weight is -1; it must be finite and not negative"),
        (lambda s: s.tell((0, 1), weight=float("nan")), "The weight is nan"),
        (lambda s: s.tell((0, 1), weight=float("inf")), "The weight is inf"),
        (lambda s: s.tell(s.ask(), None), "has no choice"),
        (lambda s: s.respondent(""), "The respondent's name is ''; it must be text that is not blank"),
        (lambda s: s.respondent("  "), "The respondent's name is '  '"),
        (lambda s: s.respondent(5), "The respondent's name is 5"),
        (lambda s: s.respondent(None), "The respondent's name is None"),
        (lambda s: s.respondent().undo(99), "There is no standing answer 99 of 'me'"),
        (lambda s: s.result(), "'me' has not answered anything yet"),
        (lambda s: s.progress(0), "The number of best items is 0"),
        (lambda s: s.done(certainty=2), "The certainty is 2; it must be above 0"),
    ],
)
def test_what_cannot_be_done_is_refused_with_one_sentence_and_nothing_is_kept(
    call: Callable[[Study], Any], sentence: str
) -> None:
    study = made()
    with pytest.raises(InputError, match=sentence) as caught:
        call(study)
    assert "\n" not in str(caught.value)
    assert study.history() == ()


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.tell(None, "left"),
        lambda s: s.tell(1.5, "left"),
        lambda s: s.tell((0, 1), weight="2"),
        lambda s: s.tell((0, 1), weight=10**400),
        lambda s: s.tell((0, 1), weight=10**5000),
        lambda s: s.tell((0, 1), weight=1e10),
        lambda s: s.tell((0, 1), weight=True),
        lambda s: s.tell((0, 1), weight=pd.NA),
        lambda s: s.tell((0, 1), weight=np.array(2.0)),
        lambda s: s.tell((0, 1), pd.NA),
        lambda s: s.tell((0, 1), np.array("left")),
        lambda s: s.tell((0, 1), ["left"]),
        lambda s: s.tell(pd.NA, "left"),
        lambda s: s.tell((pd.NA, 1)),
        lambda s: s.tell((pd.NaT, 1)),
        lambda s: s.tell(np.array(1), "left"),
        lambda s: s.tell(np.eye(2)),
        lambda s: s.tell(([0, 1], [2, 3])),
        lambda s: s.tell((np.array([0, 1]), np.array([2, 3]))),
        lambda s: s.tell(True, "left"),
        lambda s: s.tell(10**400, "left"),
        lambda s: s.tell((10**400, 1)),
        lambda s: s.undo(pd.NA),
        lambda s: s.undo(np.array(1)),
        lambda s: s.progress(pd.NA),
        lambda s: s.progress(certainty=np.array(0.5)),
        lambda s: s.done(questions=pd.NA),
        lambda s: s.respondent(pd.NA),
        lambda s: create_study(POINTS, storage="memory:", strategy=pd.NA),
        lambda s: create_study(POINTS, storage="memory:", metric=np.array("full")),
        lambda s: create_study(POINTS, storage="memory:", top=pd.NA),
        lambda s: create_study(POINTS, storage="memory:", probes=np.array(0.5)),
        lambda s: create_study(POINTS, storage=pd.NA),
        lambda s: create_study(POINTS, pd.NA, storage="memory:"),
        lambda s: create_study(pd.NA, storage="memory:"),
        lambda s: create_study([[10**400, 1], [2, 3]], storage="memory:"),
        lambda s: create_study([[1e300, 1], [2, 3]], storage="memory:"),
        lambda s: s.tell((0, 1), weight=None),
        lambda s: s.respondent(["Ann"]),
        lambda s: s.respondent().undo("last"),
        lambda s: s.done(questions="many"),
    ],
)
def test_what_is_of_another_kind_is_refused_with_a_sentence(call: Callable[[Study], Any]) -> None:
    with pytest.raises(InputError):
        call(made())


@pytest.mark.parametrize(
    "call",
    [
        lambda: made(seed=np.int64(3)),
        lambda: made(top=np.int64(3)),
        lambda: (lambda s: s.tell(np.int64(s.ask().id), "left"))(made()),
    ],
)
def test_numbers_of_numpy_are_numbers(call: Callable[[], Any]) -> None:
    call()


# Long histories, of which the latest part is read at first.


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> Storage:
    """More answers than are read at first, the last of them undone and told again."""
    monkeypatch.setattr(history_module, "MOST_ANSWERS", 20)
    storage = open_storage("memory:")
    study = create_study(POINTS, storage=storage)
    for i in range(29):
        study.tell((i, i + 1))
    return storage


def test_a_long_history_is_whole(long: Storage) -> None:
    study = load_study(storage=long)
    assert study.ask() is not None
    assert [one.positions for one in study.history()] == [(i, i + 1) for i in range(29)]
    assert len(study.respondent().comparisons()) == 29


def test_a_long_history_with_an_undo_is_whole(long: Storage) -> None:
    load_study(storage=long).undo()
    study = load_study(storage=long)
    study.ask()
    assert len(study.history()) == 28


def test_progress_counts_all_answers_of_a_long_history(long: Storage) -> None:
    assert load_study(storage=long).progress().n_answers == 29


def test_no_pair_of_a_long_history_is_asked_again(long: Storage) -> None:
    study = load_study(storage=long)
    told = {frozenset((i, i + 1)) for i in range(29)}
    asked = [study.ask() for _ in range(12)]
    assert not {pair_of(one) for one in asked} & told


def test_an_old_question_can_be_told_and_an_old_answer_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_module, "MOST_ANSWERS", 5)
    storage = open_storage("memory:")
    study = create_study(POINTS, storage=storage)
    first = study.ask()
    old = study.tell((0, 1))
    answered(study, 8)
    again = load_study(storage=storage).respondent()
    assert again.tell(first.id, "left").question == first.id
    assert again.undo(old.id) == old
    assert len(again.history()) == 9


# Several at once.


class Meanwhile(Storage):
    """A storage where something happens just before the next question is added."""

    def __init__(self, storage: Storage, happens: Callable[[], Any]) -> None:
        super().__init__(storage.database)
        self._happens = happens

    def add_question(self, *args: Any, **more: Any) -> Any:
        happens, self._happens = self._happens, lambda: None
        happens()
        return super().add_question(*args, **more)


def test_a_pair_that_another_process_asks_first_is_not_asked_again(place: Storage) -> None:
    other, asked = load_study(storage=place), []
    one = load_study(storage=Meanwhile(place, lambda: asked.append(other.ask())))
    asked.append(one.ask())
    assert pair_of(asked[0]) != pair_of(asked[1])


def test_a_question_that_another_process_asks_at_the_same_time_is_known_later(place: Storage) -> None:
    other, asked = load_study(storage=place), []
    one = load_study(storage=Meanwhile(place, lambda: asked.append(other.ask())))
    one.tell(one.ask(), "left")
    answer = other.tell(asked[0], "left")
    assert one.history()[-1] == answer
    one.undo()
    assert one.ask() == asked[0]


def test_an_answer_that_another_process_tells_is_learned_at_once(place: Storage) -> None:
    one, other = load_study(storage=place), load_study(storage=place)
    question = one.ask()
    other.tell(question, "left")
    assert one.progress().n_answers == 1
    assert one.history() == other.history()
    other.undo()
    assert one.ask() == question == other.ask()


WORKER = """
import json, sys
from coombs import load_study
study = load_study(storage=sys.argv[1])
pairs = []
while (question := study.ask()) is not None:
    study.tell(question, "left" if question.positions[0] < question.positions[1] else "right")
    pairs.append([question.id, question.positions])
print(json.dumps(pairs))
"""


@pytest.mark.slow
def test_two_processes_never_get_the_same_pair_and_lose_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    study = create_study(POINTS[:7], storage=url)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, url],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONWARNINGS": "error"},
        )
        for _ in range(2)
    ]
    outputs = [json.loads(worker.communicate(timeout=60)[0]) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    asked = {(number, frozenset(pair)) for output in outputs for number, pair in output}
    assert len(asked) == len({number for number, _ in asked}) == len({pair for _, pair in asked}) == 21
    # Once every pair is asked, the question that the other has yet to answer is all that is left.
    assert sum(map(len, outputs)) <= 21 + len(workers) - 1
    assert {pair_of(one) for one in study.history()} == {pair for _, pair in asked}
    assert all(one.winner == str(min(one.positions)) for one in study.history())
    assert study.ask() is None and study.result().n_answers == 21


@pytest.mark.parametrize("kind", ["memory:", "sqlite"])
@pytest.mark.parametrize("names", [("me",), ("Ann", "Bob", "Cay")])
def test_threads_never_get_the_same_pair_and_lose_nothing(
    kind: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    study = create_study(POINTS[:12], storage=kind if kind == "memory:" else f"sqlite:///{tmp_path}/a.db")
    gate = threading.Barrier(3)

    def work(number: int) -> list[Question]:
        gate.wait()
        who = study.respondent(names[number % len(names)])
        asked = answered(who, 5)
        who.progress()
        study.storage.close()
        return asked

    with ThreadPoolExecutor(3) as pool:
        asked = [one for part in pool.map(work, range(3)) for one in part]
    assert len({(one.respondent, pair_of(one)) for one in asked}) == 15
    assert sum(study.respondents().values()) == 15
    for name in names:
        told = [one for one in asked if one.respondent == name]
        assert {one.question for one in study.respondent(name).history()} == {one.id for one in told}


def test_features_that_overflow_are_refused() -> None:
    with pytest.raises(InputError, match=r"Feature .* reaches [0-9]e.200; give it in larger units"):
        create_study(POINTS * 1e200, storage="memory:")


@pytest.mark.parametrize(("strategy", "is_chosen"), [("random", False), ("information", True)])
def test_random_questions_are_not_taken_for_chosen_ones(strategy: str, is_chosen: bool) -> None:
    """So that a study of random questions is judged by answers left out, as its exported answers are."""
    study = made(6, strategy=strategy, probes=0)
    answered(study, 6)
    assert study.result().is_chosen is is_chosen


@pytest.mark.slow
def test_the_report_of_a_study_says_the_same_as_its_result(tmp_path: Path) -> None:
    """How well new answers are predicted has one figure, whose basis is that questions were chosen."""
    study = create_study(np.random.default_rng(0).standard_normal((12, 2)), storage="memory:")
    for _ in range(20):
        question = study.ask()
        assert question is not None
        left, right = (study.catalogue.table.matrix[i, 0] for i in question.positions)
        study.tell(question, "left" if left > right else "right")
    result = study.result()
    told = result.explain()
    assert told.trust.basis == "evidence"
    page = Path(result.report(tmp_path / "report.html")).read_text()
    assert "predicted from the others" not in page
    assert f"log loss {told.trust.log_loss:.3f}" in page


@pytest.mark.slow
def test_a_result_says_how_it_was_answered() -> None:
    """In text as on the page, also where there is a pattern."""
    study = create_study(np.arange(12.0)[:, None], storage="memory:", metric="none")
    for _ in range(30):
        question = study.ask()
        study.tell(question, "left" if question.positions[0] > question.positions[1] else "right")
    result = study.result()
    assert result.has_pattern
    assert "which is too short to read two items" in str(result)
    calm = replace(result, response_style=replace(result.response_style, is_hasty=False))
    assert "too short" not in str(calm)
