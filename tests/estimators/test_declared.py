"""IdealPoint with declared wishes: what it obeys, ranks and says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import coombs
from coombs import IdealPoint, InputError
from coombs.questions import next_question

pytestmark = pytest.mark.usefixtures("few_draws")
N = 24


@pytest.fixture(scope="module")
def flats() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "rent": rng.uniform(500, 2000, N).round(),
            "size": rng.uniform(20, 100, N).round(),
            "town": rng.choice(["old", "new", "harbour"], N),
        },
        index=[f"flat {i}" for i in range(N)],
    )


@pytest.fixture(scope="module")
def answers(flats: pd.DataFrame) -> list[tuple[str, str]]:
    rng = np.random.default_rng(2)
    score = (-flats["rent"] / 300 + flats["size"] / 40).to_numpy()
    pairs = rng.integers(0, N, (60, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    first = rng.random(len(pairs)) < 1 / (1 + np.exp(score[pairs[:, 1]] - score[pairs[:, 0]]))
    return [tuple(flats.index[pair if one else pair[::-1]]) for pair, one in zip(pairs, first, strict=True)]


@pytest.fixture(scope="module")
def wishing(flats: pd.DataFrame, answers: list[tuple[str, str]], few_draws: None) -> IdealPoint:
    wishes = ["rent: less", "size: more", "rent <= 1500", "town != harbour"]
    return IdealPoint(flats, wishes=wishes).fit(answers)


@pytest.mark.slow
@pytest.mark.long
def test_the_fit_never_gets_worse_along_a_declared_direction(
    wishing: IdealPoint, flats: pd.DataFrame
) -> None:
    row = flats.iloc[[0]]
    for feature, sign in (("rent", -1), ("size", 1)):
        grid = np.linspace(flats[feature].min(), flats[feature].max(), 9)
        line = pd.concat([row.assign(**{feature: value, "town": "old"}) for value in grid])
        line.index = [f"new {i}" for i in range(len(grid))]
        inside = line["rent"] <= 1500
        distance = wishing.distance(line)[inside]
        assert (sign * np.diff(distance) < 0.05).all()


def test_items_outside_the_limits_come_last_and_are_never_preferred(
    wishing: IdealPoint, flats: pd.DataFrame
) -> None:
    outside = (flats["rent"] > 1500) | (flats["town"] == "harbour")
    assert outside[wishing.rank()].is_monotonic_increasing
    a, b = flats.index[~outside][0], flats.index[outside][0]
    assert wishing.predict([[a, b], [b, a]]).tolist() == [1, -1]
    assert wishing.predict_proba([[a, b]])[0, 1] > 0.75
    n_inside = int((~outside).sum())
    assert wishing.top_probability(n_inside)[outside].max() == 0
    assert wishing.rank_interval()[outside].min() > n_inside


@pytest.mark.slow
def test_what_was_declared_is_said_and_the_ranking_has_no_item_outside(
    wishing: IdealPoint, flats: pd.DataFrame
) -> None:
    told = wishing.explain(top=N)
    assert "What was declared" in str(told) and "Less rent is never worse." in str(told)
    assert any("not learned from" in one.text for one in told.wishes)
    outside = set(flats.index[(flats["rent"] > 1500) | (flats["town"] == "harbour")])
    assert told.ranking and not outside & {one.item for one in told.ranking}
    assert not any("rent" in one.text for one in told.unknowns if one.kind == "not known yet")
    kept = coombs.insights.Explanation.from_findings(told.findings())
    assert kept.wishes == told.wishes


@pytest.mark.slow
def test_a_saved_fit_keeps_its_wishes(wishing: IdealPoint, tmp_path: object) -> None:
    path = f"{tmp_path}/fit.json"
    wishing.save(path)
    again = coombs.load(path)
    assert tuple(again.wishes) == tuple(wishing.wishes)
    assert np.array_equal(again.distances_, wishing.distances_)
    assert str(again.explain()) == str(wishing.explain())


@pytest.mark.slow
def test_wishes_that_the_answers_obey_anyway_change_little(
    flats: pd.DataFrame, answers: list[tuple[str, str]]
) -> None:
    many = answers * 3
    free, obeying = (IdealPoint(flats, wishes=wishes).fit(many) for wishes in ((), ("rent: less",)))
    assert np.corrcoef(free.distances_, obeying.distances_)[0, 1] > 0.97


@pytest.mark.parametrize("wishes", [["price: less"], "rent > 5000", 3])
def test_wishes_that_cannot_be_get_a_sentence(
    flats: pd.DataFrame, answers: list[tuple[str, str]], wishes: object
) -> None:
    with pytest.raises(InputError):
        IdealPoint(flats, wishes=wishes).fit(answers)  # type: ignore[arg-type]


@pytest.mark.slow
def test_many_answers_that_say_the_opposite_do_not_break_a_direction() -> None:
    rng = np.random.default_rng(0)
    items = rng.standard_normal((30, 2))
    pairs = rng.integers(0, 30, (1200, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    first = 3 * (items[pairs[:, 0], 0] - items[pairs[:, 1], 0]) > rng.logistic(size=len(pairs))
    pairs = np.where(first[:, None], pairs, pairs[:, ::-1])
    for metric in ("none", "diagonal"):
        est = IdealPoint(items, metric=metric, item_effects=False, wishes=["0: less"]).fit(pairs)
        line = np.column_stack([np.linspace(items[:, 0].min(), items[:, 0].max(), 9), np.zeros(9)])
        assert (np.diff(est.distance(line)) > -0.1).all()


def test_limits_hold_for_feature_arrays_and_leave_intervals_at_their_items() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(0, 9, (12, 2)), columns=["q", "r"])
    pairs = [tuple(rng.choice(12, 2, replace=False)) for _ in range(20)]
    est = IdealPoint(frame, metric="smooth", wishes=["q <= 6"]).fit(pairs)
    assert est.rank(np.array([[7.0, 1.0], [5.0, 1.0]])).tolist() == [1, 0]
    low, high = est.distance_interval().T
    middle = est.distances_
    assert ((low - 1e-6 <= middle) & (middle <= high + 1e-6)).mean() > 0.7


def test_questions_are_about_items_inside_the_limits() -> None:
    items = np.arange(6.0)[:, None]
    est = IdealPoint(items, metric="identity", wishes=["0 <= 2"]).fit([[0, 1], [5, 4]])
    question = next_question(est, asked=[(0, 1), (4, 5)], random_state=0)
    assert question is not None and 2 in (question.first, question.second)
    assert max(question.first, question.second) == 2
    assert next_question(est, asked=[(0, 1), (0, 2), (2, 1)]) is None


@pytest.mark.slow
def test_report_without_a_pattern_says_what_was_declared():
    items = pd.DataFrame({"rent": [1.0, 2.0, 3.0, 4.0], "size": [2.0, 1.0, 4.0, 3.0]})
    est = IdealPoint(items, metric="none", wishes=["rent: less"]).fit([(0, 1)])
    page = coombs.report(est, has_pattern=False)
    assert "What was declared" in page and "Less rent is never worse" in page
