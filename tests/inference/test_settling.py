"""The best sites of several designs at once, and the moments of choices that they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coombs import Comparisons
from coombs.data.rival_sets import Choices
from coombs.inference.process import Process
from coombs.inference.set_design import covariances, expect_choices, mended

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
        return Comparisons.from_ratings(items, np.arange(9), rng.integers(0, 3, 9))
    results = np.tile([1, -1, 0], 4) if shape == "tied pairs" else None
    return Comparisons(items, [one[:2] for one in orders], y=results)


@pytest.mark.parametrize("shape", SHAPES)
def test_designs_settled_together_are_those_settled_one_by_one(shape: str) -> None:
    data = answered(shape)
    process = Process(data.collected(data.items))
    points = list(np.random.default_rng(1).normal(0, 0.7, (5, len(process.centre))))
    start = process.settle(np.zeros(len(process.centre)), None).sites
    together = process.settle_each(points, start, 1e-3)
    for point, one in zip(points, together, strict=True):
        alone = process.settle(point, start, 1e-3)
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
    rough, fine = (process.settle_each(points, None, tolerance) for tolerance in (1e-1, 1e-6))
    assert all(one.bound <= other.bound for one, other in zip(rough, fine, strict=True))


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
    assert (np.linalg.eigvalsh(mended(found.curvature, found.is_concave))[:, 0] > -1e-9).all()


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
