"""Words and pictures about columns of any kind: by level, by date, in the user's numbers, and honest."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coombs import IdealPoint, InputError, Model
from coombs.insights.columns import axis_ticks, category_verdict, table_columns, with_scale_doubt
from coombs.insights.curves import taste_curves_data
from coombs.insights.explanation import Explanation
from coombs.insights.level_sets import feature_matrix_data, level_sets_data
from coombs.insights.statements import BY_LEVEL, HARDLY, NOT_KNOWN, LevelScore
from coombs.insights.what_matters import what_matters_data
from coombs.plots import taste_curves
from coombs.render.html import report

N = 60
WORTH = {"coast": 2.5, "rural": 0.0, "urban": -2.5}


def flats(seed: int = 0) -> pd.DataFrame:
    """A column of every kind."""
    rng = np.random.default_rng(seed)
    levels = ["low", "middle", "high"]
    return pd.DataFrame(
        {
            "price": np.exp(rng.normal(7, 1.3, N)).round(),
            "size": rng.normal(50, 10, N).round(1),
            "town": rng.permutation(np.resize(list(WORTH), N)),
            "floor": pd.Categorical(rng.choice(levels, N), categories=levels, ordered=True),
            "balcony": rng.choice(["yes", "no"], N),
            "built": pd.Timestamp("1990-01-01") + pd.to_timedelta(rng.integers(0, 12_000, N), "D"),
        },
        index=[f"flat {i}" for i in range(N)],
    )


def fitted(count: int = 300, coin: bool = False, metric: str = "auto", seed: int = 0) -> IdealPoint:
    """Answers of somebody with a taste, or of a coin."""
    items, rng = flats(seed), np.random.default_rng(seed)
    utility = items["town"].map(WORTH) - 1.5 * np.log(items["price"]) + 2.0 * (items["balcony"] == "yes")
    utility = (utility - ((items["size"] - 55) / 10) ** 2).to_numpy() * (not coin)
    pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(count)])
    first = rng.random(count) < 1 / (1 + np.exp(utility[pairs[:, 1]] - utility[pairs[:, 0]]))
    return IdealPoint(items, metric=metric).fit(np.where(first[:, None], pairs, pairs[:, ::-1]))


@pytest.fixture(scope="module")
def est() -> IdealPoint:
    return fitted()


@pytest.fixture(scope="module")
def told(est: IdealPoint) -> Explanation:
    return est.explain()


@pytest.mark.slow
def test_every_column_of_the_table_has_one_verdict(told: Explanation) -> None:
    assert [one.feature for one in told.ideal] == list(flats().columns)
    assert [one.name for one in told.features] == list(flats().columns)
    assert sum(one.share for one in told.ideal) == pytest.approx(1)


def test_levels_are_told_by_name_from_best_to_worst(told: Explanation) -> None:
    town = told.ideal[2]
    assert town.verdict == BY_LEVEL and town.best == "coast"
    assert re.fullmatch(r"coast \+\d\.\d, (rural [+-]\d\.\d, )?urban -\d\.\d", town.shape)
    assert [one.level for one in told.levels] == ["coast", "rural", "urban"]
    for one in (told.levels[0], told.levels[2]):
        assert one.is_known and one.low is not None and one.high is not None
        assert one.low < WORTH[one.level] < one.high


def test_text_has_levels_dates_and_users_numbers(told: Explanation) -> None:
    text = str(told)
    assert "town, log-odds of being chosen against the average item:" in text
    assert "yes is better" in text
    assert re.search(r"\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d", text)
    assert not re.search(r"town=|\bmore of town|more of built|more of floor", text)
    lowest, highest = flats()["price"].agg(["min", "max"])
    assert f"{lowest:.0f} to {highest:.0f}" in text


def test_json_is_in_the_users_numbers(told: Explanation) -> None:
    plain = json.loads(json.dumps(told.to_dict()))
    assert plain["features"][0]["highest"] == flats()["price"].max()
    assert plain["levels"][0]["text"].startswith("coast +")
    again = Explanation.from_findings(json.loads(json.dumps(told.findings())))
    assert again.levels == told.levels and str(again).count("coast") == str(told).count("coast") - sum(
        one.values[2] == "coast" for one in told.ranking
    )


@pytest.mark.slow
@pytest.mark.long
def test_a_coins_category_is_not_said_to_matter() -> None:
    for seed in range(4):
        told = fitted(80, coin=True, seed=seed).explain()
        assert all(one.verdict == NOT_KNOWN for one in told.ideal) or not told.ideal
        assert told.levels == () and "log-odds of being chosen against" not in str(told)


@pytest.mark.slow
@pytest.mark.long
def test_a_category_that_does_not_matter_is_not_said_to() -> None:
    """Town is shuffled after the answers: the rest has a pattern."""
    claims = 0
    for seed in range(4):
        est = fitted(150, metric="full", seed=seed)
        rng, items = np.random.default_rng(seed), flats(seed)
        other = items.assign(town=rng.permutation(items["town"].to_numpy()))
        flat = items.assign(town="coast")
        utility = -1.5 * np.log(flat["price"]) + 2.0 * (flat["balcony"] == "yes")
        pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(150)])
        margin = utility.to_numpy()[pairs[:, 0]] - utility.to_numpy()[pairs[:, 1]]
        first = rng.random(150) < 1 / (1 + np.exp(-margin))
        est = IdealPoint(other, metric="full").fit(np.where(first[:, None], pairs, pairs[:, ::-1]))
        claims += bool(est.explain().levels)
    assert claims <= 1


def test_no_fit_is_made_without_a_category_of_which_nothing_would_be_said() -> None:
    levels = ("coast", "rural")
    asked = []

    def matters() -> bool:
        asked.append(True)
        return True

    def verdict(is_known: bool, is_small: bool) -> str:
        scores = [LevelScore("town", one, 1.0, 0.0, 2.0, is_known) for one in levels]
        return category_verdict(scores, np.eye(2), 0.3, matters, is_small).verdict

    assert verdict(False, False) == NOT_KNOWN and verdict(True, True) == HARDLY and not asked
    assert verdict(True, False) == BY_LEVEL and asked


def test_importance_is_one_share_for_a_category(est: IdealPoint) -> None:
    data = what_matters_data(est)
    assert set(data.features) == set(flats().columns)
    assert data.importance.sum() == pytest.approx(1)
    assert data.importance[data.features.index("town")] > 0.15


@pytest.mark.slow
def test_curves_of_levels_have_a_value_for_each(est: IdealPoint) -> None:
    curves = {curve.feature: curve for curve in taste_curves_data(est)}
    assert curves["town"].draws.shape[1] == 3
    assert curves["town"].liking.argmax() == 0 and curves["town"].column.levels[0] == "coast"
    figure = taste_curves(est).figure if hasattr(taste_curves(est), "figure") else taste_curves(est)
    labels = [tick.get_text() for ax in figure.axes for tick in ax.get_xticklabels()]
    assert "coast" in labels and "yes" in labels


@pytest.mark.slow
@pytest.mark.long
def test_maps_are_of_numbers_and_marked_in_the_users(est: IdealPoint) -> None:
    data = level_sets_data(est, "price", "size")
    ticks = axis_ticks(data.columns[0], data.xs[0], data.xs[-1], 4)
    assert ticks is not None and {"100", "1000"} & {text for _, text in ticks}
    with pytest.raises(InputError, match="'town' is a category; maps and profiles are of numbers"):
        level_sets_data(est, "town", "size")
    assert "town" not in [profile.feature for profile in feature_matrix_data(est).profiles]


@pytest.mark.slow
@pytest.mark.long
def test_a_report_is_written(est: IdealPoint, tmp_path: Path) -> None:
    text = report(est, tmp_path / "report.html").read_text()
    assert "coast" in text and "town=coast" not in text


def test_a_model_alone_tells_levels_without_intervals() -> None:
    items = flats()[["size", "town"]]
    rng = np.random.default_rng(1)
    utility = items["town"].map(WORTH).to_numpy()
    pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(200)])
    margin = utility[pairs[:, 0]] - utility[pairs[:, 1]]
    pairs = np.where((margin >= 0)[:, None], pairs, pairs[:, ::-1])
    model = Model.from_json(IdealPoint(items, metric="full").fit(pairs).model_.to_json())
    told = model.explain()
    assert [one.level for one in told.levels] == ["coast", "rural", "urban"]
    assert "town" in str(told) and "nan" not in str(told)
    assert [one.name for one in table_columns(model)] == ["size", "town"]


def test_what_levels_are_worth_to_a_smooth_taste_is_not_sure_of_its_scale() -> None:
    """Signs and other draws stay as they are, and so does the middle; many answers know the scale."""
    draws = np.random.default_rng(0).normal(1.0, 0.1, (400, 2))
    is_smooth = np.arange(400) < 200
    few, many = (with_scale_doubt(draws, is_smooth, count) for count in (150, 1e6))
    assert (few[200:] == draws[200:]).all() and (np.sign(few) == np.sign(draws)).all()
    assert np.log(few[:200]).std() > 0.2 > np.log(many[:200]).std()
    assert np.median(few[:200]) == pytest.approx(1.0, abs=0.05)
    assert many == pytest.approx(draws, rel=0.02)


def test_a_category_that_groups_items_as_another_does_is_named_as_a_copy() -> None:
    """And of yes and no it is not asked whether more is better."""
    rng = np.random.default_rng(0)
    town, size = rng.choice(["coast", "rural", "urban"], 40), rng.normal(size=40)
    zone = np.array(["A", "B", "C"])[np.unique(town, return_inverse=True)[1]]
    lift = np.where(rng.random(40) < 0.5, "yes", "no")
    items = pd.DataFrame({"size": size, "town": town, "zone": zone, "lift": lift})
    worth = 3.0 * (town == "coast") - 3.0 * (town == "urban") + size
    pairs = np.array([rng.choice(40, 2, replace=False) for _ in range(100)])
    first = rng.random(100) < 1 / (1 + np.exp(worth[pairs[:, 1]] - worth[pairs[:, 0]]))
    told = IdealPoint(items, metric="none").fit(np.where(first[:, None], pairs, pairs[:, ::-1])).explain()
    texts = [one.text for one in told.unknowns]
    assert any(text.startswith("zone groups the items just as town does") for text in texts)
    assert not any("more" in text and "lift" in text for text in texts)
