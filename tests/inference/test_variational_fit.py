"""The best sites of several designs at once, and the moments of choices that they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coombs import Comparisons
from coombs.data.rival_sets import Choices
from coombs.inference import variational_fit
from coombs.inference.answer_moments import expect_rankings
from coombs.inference.process import Process
from coombs.inference.set_design import covariances, expect_choices, positive_blocks

SHAPES = ("pairs", "tied pairs", "choices", "rankings", "ratings")


def answered(shape: str) -> Comparisons:
    """A few answers of somebody, at random but for the shape."""
    rng = np.random.default_rng(0)
    items = rng.standard_normal((9, 2))
    orders = [rng.permutation(9)[:4].tolist() for _ in range(12)]
    if shape == "choices":
        return Comparisons.from_choices(items, orders, [one[0] for one in orders])
    if shape == "rankings":
        return Comparisons.from_rankings(items, orders)
    if shape == "ratings":
        levels, users = rng.integers(0, 4, 18), np.repeat(["a", "b"], 9)
        return Comparisons.from_ratings(items, np.tile(np.arange(9), 2), levels, users=users)
    results = np.tile([1, -1, 0], 4) if shape == "tied pairs" else None
    return Comparisons(items, [one[:2] for one in orders], y=results)


@pytest.mark.parametrize("shape", SHAPES)
def test_designs_fitted_together_are_those_fitted_one_by_one(shape: str) -> None:
    data = answered(shape)
    process = Process(data.collected(data.items))
    points = list(np.random.default_rng(1).normal(0, 0.7, (5, len(process.centre))))
    start = process.variational_fit(np.zeros(len(process.centre)), None).sites
    together = process.variational_fits(points, start, 1e-3)
    for point, one in zip(points, together, strict=True):
        alone = process.variational_fit(point, start, 1e-3)
        assert one.bound == pytest.approx(alone.bound, abs=1e-9)
        assert one.mean == pytest.approx(alone.mean, abs=1e-7)
        assert one.lower == pytest.approx(alone.lower, abs=1e-7)
        assert one.design.root == pytest.approx(alone.design.root)
        assert one.expectation.value == pytest.approx(alone.expectation.value, abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_longer_search_finds_no_lower_bound(shape: str) -> None:
    """Steps that do not help are taken back."""
    data = answered(shape)
    process = Process(data.collected(data.items))
    points = list(np.random.default_rng(2).normal(0, 1.0, (6, len(process.centre))))
    rough, fine = (process.variational_fits(points, None, tolerance) for tolerance in (1e-1, 1e-6))
    assert all(one.bound <= other.bound for one, other in zip(rough, fine, strict=True))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_bound_s_slope_is_that_of_differences(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to how thresholds are taken as linear, and how expectations are integrated."""
    monkeypatch.setattr(variational_fit, "TOLERANCE", 1e-10)
    data = answered(shape)
    process = Process(data.collected(data.items), lapse=1e-6)
    u = np.random.default_rng(3).normal(0, 0.5, len(process.centre))
    _, slope, found = process.bound(u, None)
    moves = 1e-3 * np.eye(len(u))
    ends = ([process.bound(u + way * move, found.sites)[0] for move in moves] for way in (1, -1))
    ahead, behind = map(np.array, ends)
    assert slope == pytest.approx((ahead - behind) / 2e-3, rel=0.1, abs=0.05)


def test_a_few_choices_that_happen_to_follow_each_other_are_no_ranking() -> None:
    items = np.random.default_rng(0).standard_normal((6, 2))
    apart = [[0, 1, 2, 3], [2, 3, 4, 5], [0, 3, 4, 5], [1, 2, 4, 5]]
    for options, n_rankings in (([[1, 2, 3], apart[0]], 1), ([[1, 2, 3], *apart], 0)):
        data = Comparisons.from_choices(items, options, [one[0] for one in options])
        choices, rankings = data.collected(items).in_rankings
        assert sum(len(one.rows) for one in rankings) == n_rankings
        assert sum(len(one.rows) for one in choices) == len(options) - 2 * n_rankings


@given(st.integers(2, 6), st.floats(0, 0.5), st.floats(0.01, 30), st.integers(0, 10_000))
def test_precisions_of_choices_are_positive_where_they_are_said_to_be(
    k: int, lapse: float, size: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    present = np.hstack([np.ones((7, 2), bool), rng.random((7, k - 2)) < 0.7])
    mean, root = rng.normal(0, size, (7, k)), rng.normal(0, 1, (7, k, k))
    spread = root @ root.transpose(0, 2, 1)
    choices = Choices(np.arange(7), np.zeros((7, k), np.intp), present, rng.choice([1.0, -1.0], 7))
    found = expect_choices(mean, spread, choices, lapse)
    least = np.linalg.eigvalsh(found.curvature)[:, 0]
    assert (least[found.is_concave] > -1e-12).all()
    assert (np.linalg.eigvalsh(positive_blocks(found.curvature, found.is_concave))[:, 0] > -1e-9).all()


def test_slopes_and_curvatures_of_a_choice_are_those_of_its_log_probability() -> None:
    """By differences, at points without a spread."""
    rng, step = np.random.default_rng(0), 1e-5
    mean, nothing = rng.normal(0, 2, (1, 4)), np.zeros((1, 4, 4))
    for sign in (1.0, -1.0):
        choices = Choices(
            np.zeros(1, np.intp), np.zeros((1, 4), np.intp), np.ones((1, 4), bool), np.array([sign])
        )
        here = expect_choices(mean, nothing, choices, 0.1)
        for j, move in enumerate(step * np.eye(4)):
            ahead, behind = (expect_choices(mean + way * move, nothing, choices, 0.1) for way in (1, -1))
            assert (ahead.log_p - behind.log_p) / (2 * step) == pytest.approx(here.slope[:, j], abs=1e-8)
            curved = -(ahead.slope - behind.slope) / (2 * step)
            assert curved == pytest.approx(here.curvature[:, j], abs=1e-8)


def test_covariances_of_members_are_the_same_by_either_way() -> None:
    rng = np.random.default_rng(0)
    across, members = rng.standard_normal((3, 6, 6)), rng.integers(0, 6, (20, 3))
    few = np.concatenate([covariances(across, members[i : i + 1]) for i in range(len(members))], axis=1)
    assert covariances(across, members) == pytest.approx(few)


def ranked(k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Means, covariances, presence and weights of a few rankings of up to k things."""
    rng = np.random.default_rng(seed)
    present = np.arange(k) < rng.integers(3, k + 1, 5)[:, None]
    mean, root = rng.normal(0, 2, (5, k)), rng.normal(0, 0.7, (5, k, k))
    filled = np.where(present, np.arange(k), 0)
    at = np.arange(5)[:, None, None], filled[:, :, None], filled[:, None, :]
    spread = (root @ root.transpose(0, 2, 1))[at]
    n_places = rng.integers(1, present.sum(axis=1) - 1)
    weights = np.where(np.arange(k) < n_places[:, None], rng.uniform(0.5, 2, (5, k)), 0.0)
    return mean[np.arange(5)[:, None], filled], spread, present, weights


@given(st.integers(3, 7), st.floats(0, 0.3), st.integers(0, 10_000))
def test_a_ranking_without_a_spread_is_its_choices(k: int, lapse: float, seed: int) -> None:
    mean, spread, present, weights = ranked(k, seed)
    lapses = np.full((5, 1), lapse)
    found = expect_rankings(mean, 0 * spread, present, weights, lapses)
    sums = [np.zeros(5), np.zeros((5, k)), np.zeros((5, k, k)), np.zeros(5)]
    for place in range(k - 1):
        # The choice of a place is among what comes after it.
        things = np.r_[place:k, :place]
        there = np.r_[present[:, place:].T, np.zeros((place, 5), bool)].T
        there[:, 0] = True
        choices = Choices(np.arange(5), np.zeros((5, k), np.intp), there, np.ones(5))
        one, back = expect_choices(mean[:, things], 0 * spread, choices, lapse), np.argsort(things)
        w = weights[:, place]
        sums[0] += w * one.log_p
        sums[1] += w[:, None] * one.slope[:, back]
        sums[2] += w[:, None, None] * one.curvature[:, back][:, :, back]
        sums[3] += w * one.to_lapse
        assert (one.is_concave | (w == 0) | ~found.is_concave).all()
    for own, summed in zip(found, sums, strict=False):
        assert own == pytest.approx(summed, abs=1e-8, rel=1e-6)


def test_slopes_and_curvatures_of_a_ranking_are_those_of_its_log_probability() -> None:
    """By differences, over the same points."""
    mean, spread, present, weights = ranked(6, 3)
    lapses, step = np.linspace(0.0, 0.1, 5)[:, None], 1e-5
    here = expect_rankings(mean, spread, present, weights, lapses)
    for j, move in enumerate(step * np.eye(6)):
        ahead, behind = (
            expect_rankings(mean + way * move, spread, present, weights, lapses) for way in (1, -1)
        )
        assert (ahead.log_p - behind.log_p) / (2 * step) == pytest.approx(here.slope[:, j], abs=1e-7)
        curved = -(ahead.slope - behind.slope) / (2 * step)
        assert curved == pytest.approx(here.curvature[:, j], abs=1e-7)


def test_choices_that_follow_each_other_are_rankings_and_others_are_not() -> None:
    items = np.random.default_rng(0).standard_normal((6, 2))
    data = Comparisons.from_rankings(items, [[0, 1, 2, 3], [4, 1, 5, 2, 0], [4, 1, 5, 2, 0]])
    data = data + Comparisons.from_choices(items, [[0, 3, 5], [1, 2, 4]], [3, 2])
    answers = data.collected(items)
    choices, rankings = answers.in_rankings
    assert sum(len(one.rows) for one in choices) == 2
    found = {
        tuple(members[present].tolist()): answers.weights[rows[rows >= 0]].tolist()
        for one in rankings
        for rows, members, present in zip(*one, strict=True)
    }
    assert {order[:-2]: weights for order, weights in found.items()} == {
        (0, 1): [1.0, 1.0],
        (4, 1, 5): [2.0, 2.0, 2.0],
    }


@pytest.mark.parametrize("far", [1e2, 1e3, 1e5])
def test_moments_of_a_ranking_are_numbers_however_far_its_scores_are_apart(far: float) -> None:
    """Odds of the last are then so small that their squares would be nothing."""
    mean = far * np.array([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
    spread = np.tile(far * np.eye(4), (2, 1, 1))
    present, weights, lapses = np.ones((2, 4), dtype=bool), np.ones((2, 4)), np.full((2, 1), 0.01)
    found = expect_rankings(mean, spread, present, weights, lapses)
    for part in (found.log_p, found.slope, found.curvature, found.to_lapse):
        assert np.isfinite(part).all()
