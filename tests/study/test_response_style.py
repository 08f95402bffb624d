"""How somebody answered: sides and seconds, with a known and tiny rate of false alarms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from coombs import create_study
from coombs.study.response_style import ResponseStyle

sides = st.sampled_from(["left", "right", "tie", "skip"])


@given(st.lists(sides, max_size=60))
def test_left_and_right_are_treated_alike(choices: list[Any]) -> None:
    other = {"left": "right", "right": "left"}
    one, mirrored = (
        ResponseStyle.of(choices),
        ResponseStyle.of([other.get(choice, choice) for choice in choices]),
    )
    assert one.side_share == mirrored.side_share and one.changes == mirrored.changes
    assert one.is_mechanical == mirrored.is_mechanical and one.side == other.get(mirrored.side or "")


@given(st.integers(0, 80), st.integers(0, 80))
def test_a_side_is_preferred_where_the_exact_test_says_so(left: int, right: int) -> None:
    found = ResponseStyle.of(["left"] * left + ["right"] * right)
    p = binomtest(left, left + right).pvalue if left + right else 1.0
    assert found.prefers_side == (p < 0.001)
    assert not found.is_straight_lining or max(left, right) >= 0.9 * (left + right)


@pytest.mark.parametrize("n", [11, 15, 30, 3000])
def test_always_one_side_is_straight_lining(n: int) -> None:
    found = ResponseStyle.of(["right"] * n)
    assert found.is_straight_lining and found.is_mechanical and found.side == "right"
    assert found.sentences("Ann")[0] == f"Ann always chose the right item: {n} of {n} times."


def test_a_few_answers_on_one_side_are_nothing_noticeable() -> None:
    assert ResponseStyle.of(["left"] * 10).sentences() == ResponseStyle.of([]).sentences() == ()


def test_ties_and_skips_are_on_no_side() -> None:
    found = ResponseStyle.of(["left", "tie", "skip"] * 20)
    assert found.n_choices == 20 and found.is_straight_lining
    assert ResponseStyle.of(["tie"] * 40).side is None and not ResponseStyle.of(["tie"] * 40).is_mechanical


def test_left_and_right_in_turn_is_mechanical() -> None:
    found = ResponseStyle.of(["left", "right"] * 15)
    assert found.is_alternating and not found.prefers_side and found.changes == 1
    assert "29 of 29 times" in found.sentences()[0]


def test_a_lean_to_one_side_is_named_but_not_taken_for_all() -> None:
    found = ResponseStyle.of((["left"] * 3 + ["right"]) * 25)
    assert found.prefers_side and not found.is_mechanical
    assert found.sentences()[0] == "You chose the left item: 75 of 100 times."


def test_haste_is_the_median_of_ten_times_or_more() -> None:
    assert ResponseStyle.of([], [0.3] * 10).is_hasty and not ResponseStyle.of([], [0.3] * 9).is_hasty
    # A break, or a few slow answers, do not hide it; a few fast ones do not make it.
    assert ResponseStyle.of([], [0.5] * 10 + [9000.0] * 3).seconds == 0.5
    assert not ResponseStyle.of([], [0.1] * 4 + [2.0] * 10).is_hasty
    assert "0.3 seconds" in ResponseStyle.of([], [0.3] * 10).sentences()[-1]


@pytest.mark.slow
def test_sides_of_questions_are_random_so_that_who_looks_at_items_is_not_accused() -> None:
    """Of somebody who always prefers the lower position, whatever the strategy; one in 1000 by the test."""
    points = np.random.default_rng(1).normal(size=(20, 2))
    for strategy in ("information", "best", "random"):
        study = create_study(points, storage="memory:", strategy=strategy)
        for _ in range(40):
            question = study.ask()
            assert question is not None
            study.tell(question, "left" if question.positions[0] < question.positions[1] else "right")
        found = study.respondent().response_style()
        assert found.n_choices == 40 and not found.prefers_side and not found.is_alternating


def test_answers_that_were_never_asked_for_have_no_side() -> None:
    """They are told as (winner, loser): the winner is always first."""
    study = create_study(np.arange(12.0)[:, None], storage="memory:")
    for winner in range(1, 12):
        study.tell((winner, 0))
        study.tell((winner, winner - 1))
    result = study.result()
    assert result.response_style.n_choices == 0 and not result.response_style.is_hasty and result.has_pattern
