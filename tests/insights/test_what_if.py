"""Where an item would rank with other features: as now if nothing changes, as another item if it is one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from coombs import IdealPoint, InputError
from coombs.insights.what_if import what_if
from coombs.insights.what_matters import RankDraws


@pytest.fixture(scope="module")
def fitted() -> IdealPoint:
    """Flats of which cheaper is better; some sizes are not known."""
    rng = np.random.default_rng(0)
    flats = pd.DataFrame(
        {
            "rent": rng.integers(600, 1800, 14),
            "size": np.where(np.arange(14) < 2, np.nan, rng.integers(25, 100, 14)),
            "heating": rng.choice(["gas", "oil"], 14),
        },
        index=[f"Flat {i}" for i in range(14)],
    )
    pairs = np.array([rng.choice(14, 2, replace=False) for _ in range(60)])
    y = np.where(flats["rent"].to_numpy()[pairs[:, 0]] < flats["rent"].to_numpy()[pairs[:, 1]], 1, -1)
    return IdealPoint(flats, metric="none").fit(flats.index.to_numpy()[pairs], y)


def test_an_item_that_does_not_change_keeps_its_rank_and_the_ranks_it_may_have(fitted: IdealPoint):
    order = np.argsort(fitted.distances_, kind="stable").tolist()
    for position in (0, 5):
        found = what_if(fitted, position, {})
        assert found.rank == found.before == order.index(position) + 1 and not found.changes
        assert found.better_now == 0.5 and found.n_items == 14
        assert [found.low, found.high] == pytest.approx(fitted.rank_interval()[position].tolist(), abs=1)


def test_a_worse_item_at_the_lowest_rent_comes_first_and_is_surely_better_than_now(fitted: IdealPoint):
    rents = fitted.item_table_.matrix[:, 0]
    worst = int(np.argmax(fitted.distances_))
    lowest = float(np.exp(rents.min()) if rents.max() < 100 else rents.min())
    found = what_if(fitted, worst, {"rent": lowest})
    assert found.rank < found.before and found.better_now > 0.95 and found.low <= found.rank <= found.high
    assert [one.feature for one in found.changes] == ["rent"]


def test_a_category_and_a_cell_that_was_not_known_can_be_changed(fitted: IdealPoint):
    told = [what_if(fitted, 3, {"heating": one}).changes for one in ("gas", "oil")]
    assert sorted(len(one) for one in told) == [0, 1] and max(told)[0].feature == "heating"
    (size,) = what_if(fitted, 0, {"size": 50.0}).changes
    assert (size.before, size.after) == ("not known", "50")


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"rent": 9e6}, "as the items have it"),
        ({"heating": "coal"}, "one of gas, oil"),
        ({"colour": 1.0}, "There is no feature 'colour'"),
    ],
)
def test_what_no_item_has_is_refused_with_a_sentence(fitted, cells, sentence: str):
    with pytest.raises(InputError, match=sentence):
        what_if(fitted, 3, cells)


def test_among_fewer_items_ranks_are_those_of_the_fewer(fitted: IdealPoint):
    some = [1, 4, 7, 9]
    drawn = RankDraws.among(fitted, some)
    assert drawn.ranks.shape[1] == 4 and np.allclose(np.sort(drawn.ranks, axis=1), [1, 2, 3, 4])
    assert drawn.top(2).sum() == pytest.approx(2)
    assert (RankDraws.among(fitted, range(14)).intervals() == fitted.rank_interval()).all()
    found = what_if(fitted, 4, {}, among=some)
    assert found.n_items == 4 and 1 <= found.low <= found.rank <= found.high <= 4
