"""What people want along a feature: nothing of those that do not matter, a best value where it is inside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from coombs import Population
from coombs.insights.people_curves import Curve, verdict_along

UNITS = np.array([10.0, 1.0])
"""Of what the user calls a price and a size, for a deviation."""


def fitted(metric: str = "diagonal", reverse: bool = False) -> Population:
    """24 people whose ideal price is near 100, and who do not care for the size."""
    rng = np.random.default_rng(0)
    places = rng.standard_normal((20, 2))
    ideals = rng.normal(0.0, 0.2, size=24)
    utilities = -2.0 * (places[:, :1] - ideals) ** 2
    users = np.repeat(np.arange(24), 14)
    pairs = rng.permuted(np.tile(np.arange(20), (len(users), 1)), axis=1)[:, :2]
    away = utilities[pairs[:, 0], users] - utilities[pairs[:, 1], users]
    y = np.where(rng.random(len(users)) < expit(away), 1, -1)
    items = pd.DataFrame([100.0, 5.0] + UNITS * places, columns=["price", "size"])
    items.index = [f"item {i}" for i in range(20)]
    names = np.array(items.index)
    if reverse:
        items, pairs, y, users = items[::-1], pairs[::-1], y[::-1], users[::-1]
    return Population(items, metric=metric).fit(names[pairs], y, users=users)


@pytest.fixture(scope="module")
def choosy() -> Population:
    return fitted()


def test_a_value_inside_is_best_in_the_users_units(choosy: Population) -> None:
    told = {one.feature: one for one in choosy.explain().features}
    best = told["price"].best
    assert best is not None and told["price"].verdict == "best inside"
    assert best.low <= 102 and best.high >= 98 and best.low <= best.value <= best.high
    assert "best at about" in str(choosy.explain()) and told["price"].share is None


def test_nothing_is_said_of_a_feature_by_which_nobody_judges(choosy: Population) -> None:
    """Also where squares of another happen to go along with it, as those of few items do."""
    told = {one.feature: one for one in choosy.explain().features}
    assert told["size"].verdict == "not known" and abs(told["size"].mean) < 0.4


def test_slopes_are_the_weights_of_a_linear_taste() -> None:
    population = fitted("none")
    part = population._average.parts[0]
    scaled = population._scaler.forward(population._data.items)
    expected = np.diag(scaled.std(axis=0) * part.coordinates.scales)
    np.testing.assert_allclose(population._slope_rows[0], expected, atol=1e-9)


def test_the_order_of_rows_changes_no_slope(choosy: Population) -> None:
    other = fitted(reverse=True)
    for one, another in zip(choosy._slope_rows, other._slope_rows, strict=True):
        np.testing.assert_allclose(one, another, atol=1e-9)


def test_a_direction_that_does_not_hold_to_the_end_is_a_mean_one(choosy: Population) -> None:
    slopes, x = np.full(100, 1.0), np.linspace(0.0, 1.0, 21)
    rising = Curve(x, np.tile(x, (100, 1)))
    assert verdict_along(choosy, slopes, rising, 0) == "more"
    assert verdict_along(choosy, -slopes, Curve(x, np.tile(-x, (100, 1))), 0) == "less"
    # Where some draws say otherwise, the peak is not sure.
    bent = np.tile(x - 0.9 * x**2 * 0.9, (100, 1))
    bent[:5] = x
    assert verdict_along(choosy, slopes, Curve(x, bent), 0) == "rather more"
    assert verdict_along(choosy, np.r_[slopes, -slopes], rising, 0) == "not known"


def test_a_level_of_a_category_is_held_against_the_average_item() -> None:
    rng = np.random.default_rng(3)
    towns = np.array(["a", "b", "c"] * 6)
    items = pd.DataFrame({"town": towns, "rent": rng.normal(size=18)}, index=[f"i{k}" for k in range(18)])
    pairs = rng.permuted(np.tile(np.arange(18), (200, 1)), axis=1)[:, :2]
    worth = np.where(towns == "a", 2.0, 0.0) - items["rent"].to_numpy()
    y = np.where(rng.random(200) < expit(worth[pairs[:, 0]] - worth[pairs[:, 1]]), 1, -1)
    names = np.array(items.index)
    population = Population(items, metric="none").fit(names[pairs], y, users=np.arange(200) % 10)
    told = {one.feature: one for one in population.explain().features}
    assert told["rent"].verdict == "less" and told["town=a"].mean > 0.5 and told["town=a"].is_level
    assert told["town=a"].wish == "town=a" and "better than the average item" in str(population.explain())
    assert all(one == replace(one, best=None) for one in told.values())
