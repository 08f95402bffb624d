"""The paper's measures: their values by hand, their laws, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coombs import InputError
from coombs.data.tables import FloatArray
from coombs.evaluation import interpolated_median, kendall_tau_distance, top_k_fraction, ur_error, wer_error

LAW = settings(deadline=None)
TWO_LISTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=25).filter(
    lambda rows: len({d for _, d in rows}) > 1
)


def rotation(angle: float) -> FloatArray:
    """Turn the plane by an angle."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def random_metric(rng: np.random.Generator, d: int = 4) -> FloatArray:
    """A positive definite matrix without repeated eigenvalues."""
    root = rng.standard_normal((d, d))
    return root.T @ root + np.diag(np.arange(1.0, d + 1))


def share_out_of_order(d_hat: list[float], d: list[float]) -> float:
    """The distance by counting every pair: one that only d_hat ties counts half, one that d ties none."""
    wrong, told_apart = 0.0, 0
    for i in range(len(d)):
        for j in range(i):
            if d[i] != d[j]:
                told_apart += 1
                agreement = (d[i] - d[j]) * (d_hat[i] - d_hat[j])
                wrong += 1.0 if agreement < 0 else 0.5 if agreement == 0 else 0.0
    return wrong / told_apart


def argsort_kendall(d_hat: FloatArray, d: FloatArray) -> float:
    """What the authors' code calls Kendall's tau: the distance between the two argsort permutations."""
    return kendall_tau_distance(np.argsort(d_hat), np.argsort(d))


# UR error


def test_ur_error_is_squared_and_weighted_by_the_true_metric() -> None:
    """|u_hat - u|_M^2 / |u|_M^2 by hand: away (1, -2), M diag(4, 1), u (1, 2)."""
    assert ur_error([2.0, 0.0], [1.0, 2.0], np.diag([4.0, 1.0])) == pytest.approx((4 + 4) / (4 + 4))
    assert ur_error([1.0, 1.0], [1.0, 2.0], [[2.0, 1.0], [1.0, 2.0]]) == pytest.approx(2 / 14)


def test_ur_error_is_zero_for_the_truth_one_for_the_origin_and_quadruples_with_twice_the_miss() -> None:
    """The landmarks of a squared relative error."""
    rng = np.random.default_rng(0)
    u, miss, M = rng.standard_normal(4), rng.standard_normal(4), random_metric(rng)
    assert ur_error(u, u, M) == 0
    assert ur_error(np.zeros(4), u, M) == pytest.approx(1)
    assert ur_error(u + 2 * miss, u, M) == pytest.approx(4 * ur_error(u + miss, u, M))


@LAW
@given(st.floats(1e-6, 1e6))
def test_ur_error_does_not_see_the_scale_of_the_metric(scale: float) -> None:
    """M and c M give the same error."""
    M = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert ur_error([1.0, 0.2], [0.3, 1.0], scale * M) == pytest.approx(ur_error([1.0, 0.2], [0.3, 1.0], M))


def test_ur_error_does_not_see_a_miss_that_the_metric_does_not_see() -> None:
    """Along the kernel of M the ideal point is free."""
    assert ur_error([1.0, 9.0], [1.0, 0.0], np.diag([1.0, 0.0])) == 0


# WER error


def test_wer_error_of_rotated_eigenvectors_is_the_squared_one_by_hand() -> None:
    """M = diag(3, 1), M_hat turned by a: off = diag(3, 1) (cos a - 1), so (cos a - 1)^2 in all."""
    turn = rotation(np.pi / 6)
    M_hat = turn @ np.diag([5.0, 2.0]) @ turn.T
    assert wer_error(M_hat, np.diag([3.0, 1.0])) == pytest.approx((np.cos(np.pi / 6) - 1) ** 2)


def test_wer_error_weighs_eigenvectors_by_the_true_eigenvalues() -> None:
    """One true eigenvector kept, two turned by 60 degrees: (9 + 1) / 4 over 16 + 9 + 1."""
    turn = np.eye(3)
    turn[1:, 1:] = rotation(np.pi / 3)
    M_hat = turn @ np.diag([7.0, 5.0, 2.0]) @ turn.T
    assert wer_error(M_hat, np.diag([4.0, 3.0, 1.0])) == pytest.approx((9 + 1) / 4 / 26)


def test_wer_error_takes_eigenvalues_in_the_same_order_on_both_sides() -> None:
    """Whatever the axes are called, the same matrix has error 0 and swapped importances error 1."""
    for M in (np.diag([3.0, 1.0]), np.diag([1.0, 3.0])):
        assert wer_error(M, M) == pytest.approx(0, abs=1e-12)
        assert wer_error(np.diag(1 / np.diag(M)), M) == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-8, 0.3, 1e8])
def test_wer_error_does_not_see_the_scale_of_either_matrix(scale: float) -> None:
    """The metric is known only up to a factor."""
    rng = np.random.default_rng(1)
    M, M_hat = random_metric(rng), random_metric(rng)
    assert wer_error(scale * M, M) == pytest.approx(0, abs=1e-12)
    assert wer_error(scale * M_hat, M) == pytest.approx(wer_error(M_hat, M), rel=1e-6)
    assert wer_error(M_hat, scale * M) == pytest.approx(wer_error(M_hat, M), rel=1e-6)


def test_wer_error_does_not_see_a_common_rotation() -> None:
    """Turning the coordinates of both matrices changes nothing."""
    rng = np.random.default_rng(2)
    M, M_hat = random_metric(rng), random_metric(rng)
    turn, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    assert wer_error(turn @ M_hat @ turn.T, turn @ M @ turn.T) == pytest.approx(wer_error(M_hat, M))


# Kendall's tau distance


@LAW
@given(TWO_LISTS)
def test_kendall_distance_is_the_counted_share_of_pairs(rows: list[tuple[int, int]]) -> None:
    """Against the O(n^2) count, with ties in either list and in both."""
    d_hat, d = [float(a) for a, _ in rows], [float(b) for _, b in rows]
    assert kendall_tau_distance(d_hat, d) == pytest.approx(share_out_of_order(d_hat, d))


@LAW
@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=30, unique=True))
def test_kendall_distance_is_0_for_the_same_order_and_1_for_the_reversed(d: list[float]) -> None:
    """The two ends of the scale."""
    assert kendall_tau_distance(d, d) == 0
    assert kendall_tau_distance([-value for value in d], d) == 1


@LAW
@given(TWO_LISTS)
def test_kendall_distance_sees_only_the_order(rows: list[tuple[int, int]]) -> None:
    """Monotone maps of either list change nothing; reversing the estimate takes it to one minus itself."""
    d_hat, d = np.array(rows, dtype=float).T
    distance = kendall_tau_distance(d_hat, d)
    assert kendall_tau_distance(np.exp(d_hat), d) == distance
    assert kendall_tau_distance(d_hat, 5 * d**3 - 2) == distance
    assert kendall_tau_distance(-d_hat, d) == pytest.approx(1 - distance)


def test_kendall_distance_of_two_items_is_0_or_1() -> None:
    """The smallest list that has an order."""
    assert kendall_tau_distance([1.0, 2.0], [1.0, 2.0]) == 0
    assert kendall_tau_distance([2.0, 1.0], [1.0, 2.0]) == 1


def test_kendall_distance_of_an_estimate_that_tells_nothing_apart_is_a_half() -> None:
    """All estimated distances equal is as good as guessing."""
    assert kendall_tau_distance(np.zeros(5), np.arange(5.0)) == 0.5


def test_kendall_distance_of_many_items_does_not_count_pairs() -> None:
    """10^5 items, one of 5 10^9 pairs wrong: exact; to count the pairs would take minutes or 40 GB."""
    d = np.arange(1e5)
    d_hat = d.copy()
    d_hat[[4, 5]] = d_hat[[5, 4]]
    assert kendall_tau_distance(d_hat, d) == pytest.approx(1 / (1e5 * (1e5 - 1) / 2))


def test_the_authors_argsort_kendall_is_another_number() -> None:
    """It compares argsorts, not ranks, so one item that moves from best to worst costs it far more."""
    n = 10
    d = np.arange(float(n))
    d_hat = np.array([n - 0.5, *range(1, n)])
    # The true one: item 0 is out of order with the other 9 of the 45 pairs.
    assert kendall_tau_distance(d_hat, d) == pytest.approx(9 / 45)
    rng = np.random.default_rng(3)
    truth = rng.random(100)
    near = truth + 0.01 * rng.standard_normal(100)
    assert kendall_tau_distance(near, truth) < 0.02 < 10 * 0.02 < argsort_kendall(near, truth)


# The top k


def test_top_k_fraction_by_hand() -> None:
    """The true nearest three are items 0, 1, 2; the estimate has 0, 2, 4."""
    d, d_hat = [0.1, 0.2, 0.3, 0.4, 0.5], [0.1, 0.9, 0.2, 0.8, 0.3]
    assert [top_k_fraction(d_hat, d, k) for k in (1, 2, 3, 5)] == pytest.approx([1, 1 / 2, 2 / 3, 1])


@LAW
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20, unique=True), st.data())
def test_top_k_fraction_is_1_for_the_same_order_and_sees_only_the_order(
    d: list[float], data: st.DataObject
) -> None:
    """The truth finds itself, and its order is all that counts."""
    k = data.draw(st.integers(1, len(d)))
    ranks = np.argsort(np.argsort(d)).astype(float)
    assert top_k_fraction(d, d, k) == top_k_fraction(ranks, d, k) == 1


def test_top_k_fraction_of_the_reversed_order_is_0_up_to_half_the_items() -> None:
    """Nothing of the best half is in the worst half."""
    d = np.arange(10.0)
    assert [top_k_fraction(-d, d, k) for k in (1, 5, 6, 10)] == pytest.approx([0, 0, 2 / 6, 1])


# The interpolated median


def test_interpolated_median_by_hand() -> None:
    """m + w (above - below) / (2 equal): 3 + (3 - 2) / (2 2), .9 + .1 (2 - 1) / (2 3), between 1 and 2."""
    assert interpolated_median([1, 2, 3, 3, 4, 5, 5]) == pytest.approx(3.25)
    assert interpolated_median([0.8, 0.9, 0.9, 0.9, 1.0, 1.0]) == pytest.approx(0.9 + 0.1 / 6)
    assert interpolated_median([1, 1, 2, 2]) == 1.5
    assert interpolated_median([4, 4, 4]) == interpolated_median([4]) == 4


@LAW
@given(st.lists(st.integers(0, 10), min_size=1, max_size=20), st.integers(0, 10))
def test_interpolated_median_of_symmetric_values_is_the_median(offsets: list[int], centre: int) -> None:
    """As many above as below leaves it where it is."""
    values = [centre + k for k in offsets] + [centre - k for k in offsets] + [centre]
    assert interpolated_median(values) == np.median(values) == centre


@LAW
@given(st.lists(st.integers(0, 10), min_size=1, max_size=30))
def test_interpolated_median_moves_to_the_heavier_side_and_at_most_half_way(tenths: list[int]) -> None:
    """It never passes the middle between the median and the value next to it on that side."""
    values = np.array(tenths) / 10
    median, moved = np.median(values), interpolated_median(values)
    below, above = values[values < median], values[values > median]
    if median not in values or len(below) == len(above):
        assert moved == median
    elif len(below) > len(above):
        assert (median + below.max()) / 2 - 1e-12 <= moved < median
    else:
        assert median < moved <= (median + above.min()) / 2 + 1e-12


@LAW
@given(st.lists(st.integers(0, 10), min_size=1, max_size=30), st.integers(-5, 5), st.integers(1, 4))
def test_interpolated_median_moves_with_shift_and_scale(values: list[int], shift: int, scale: int) -> None:
    """Median of a x + b is a median + b."""
    x = np.array(values)
    expected = scale * interpolated_median(x) + shift
    assert interpolated_median(scale * x + shift) == pytest.approx(expected)


def test_interpolated_median_takes_values_that_differ_by_rounding_for_equal() -> None:
    """0.1 + 0.2 is 0.3 to every reader."""
    assert interpolated_median([0.2, 0.3, 0.1 + 0.2, 0.4, 0.4]) == pytest.approx(0.325)


# What is refused


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda: ur_error([1.0], [1.0, 2.0], np.eye(2)), r"shapes are \(1,\) and \(2,\)"),
        (lambda: wer_error(np.eye(3), np.eye(2)), r"shapes are \(3, 3\) and \(2, 2\)"),
        (lambda: kendall_tau_distance([1, 2, 3], [1, 2]), r"shapes are \(3,\) and \(2,\)"),
        (lambda: top_k_fraction([1, 2, 3], [1, 2], 1), r"shapes are \(3,\) and \(2,\)"),
        (lambda: ur_error([1.0, 0.0], [0.0, 0.0], np.eye(2)), "length zero"),
        (lambda: ur_error([1.0, 0.0], [0.0, 1.0], np.diag([1.0, 0.0])), "length zero"),
        (lambda: kendall_tau_distance([1, 2], [3, 3]), "All true distances are equal"),
        (lambda: kendall_tau_distance([1], [1]), "no order"),
        (lambda: kendall_tau_distance([], []), "no order"),
        (lambda: top_k_fraction([1, 2], [1, 2], 0), "k is 0; .* between 1 and 2"),
        (lambda: top_k_fraction([1, 2], [1, 2], 3), "k is 3; .* between 1 and 2"),
        (lambda: interpolated_median([]), "at least one value"),
        (lambda: interpolated_median([1.0, np.nan]), "finite"),
        (lambda: interpolated_median([1.0, np.inf]), "finite"),
    ],
)
def test_what_has_no_answer_is_refused_in_words(measure: Callable[[], float], message: str) -> None:
    """Shapes that disagree, no ideal point, no order, a k that is no number of items, no values."""
    with pytest.raises(InputError, match=message):
        measure()


@pytest.mark.parametrize(
    "measure",
    [
        lambda: ur_error([1.0, 0.0], [1.0, 1.0], np.eye(3)),
        lambda: wer_error(np.ones((2, 3)), np.ones((2, 3))),
        lambda: wer_error(np.eye(2), np.zeros((2, 2))),
        lambda: kendall_tau_distance(np.eye(2), np.eye(2)),
    ],
    ids=["metric of another size", "not square", "zero metric", "distances not a list"],
)
def test_matrices_and_lists_of_the_wrong_kind_are_refused_in_words(measure: Callable[[], Any]) -> None:
    """An InputError, not a numpy error from inside."""
    with pytest.raises(InputError):
        measure()


@pytest.mark.parametrize(
    "measure",
    [
        lambda: ur_error([np.nan, 0.0], [1.0, 1.0], np.eye(2)),
        lambda: wer_error(np.full((2, 2), np.nan), np.eye(2)),
        lambda: kendall_tau_distance([1.0, np.nan, 2.0], [1.0, 2.0, 3.0]),
        lambda: top_k_fraction([np.nan, 1.0], [1.0, 2.0], 1),
    ],
    ids=["ur_error", "wer_error", "kendall_tau_distance", "top_k_fraction"],
)
def test_nan_is_refused_in_words(measure: Callable[[], Any]) -> None:
    """A missing number is no estimate."""
    with pytest.raises(InputError):
        measure()
