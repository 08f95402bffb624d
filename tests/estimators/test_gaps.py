"""Cells that are not known: learned around, with honest doubt, and said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from coombs import Comparisons, IdealPoint, InputError, create_study
from coombs.data.catalogue import catalogue, item_table, shown_cells
from coombs.data.encoding import Encoding
from coombs.data.new_items import table_for
from coombs.data.tables import FloatArray
from coombs.insights.item_comparison import comparison_rows

N = 30


def flats(gap: bool = True) -> pd.DataFrame:
    """The price of the first and of the last is not known, and a town."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "price": rng.normal(500, 100, N).round(),
            "size": rng.normal(50, 10, N),
            "town": rng.permutation(np.resize(["coast", "rural"], N)),
        },
        index=[f"flat {i}" for i in range(N)],
    )
    if gap:
        frame.iloc[[0, -1], 0] = np.nan
        frame.iloc[1, 2] = None
    return frame


def answers(count: int = 120) -> FloatArray:
    """Cheaper is better; the first and the last flat are never compared."""
    rng, price = np.random.default_rng(1), flats(gap=False)["price"].to_numpy()
    pairs = np.array([1 + rng.choice(N - 2, 2, replace=False) for _ in range(count)])
    first = rng.random(count) < 1 / (1 + np.exp((price[pairs[:, 0]] - price[pairs[:, 1]]) / 50))
    return np.where(first[:, None], pairs, pairs[:, ::-1])


def test_a_gap_is_the_mean_and_marks_the_item() -> None:
    table = item_table(flats())
    assert table.encoding is not None and table.features is not None
    assert table.features.tolist() == [
        "price",
        "size",
        "town=coast",
        "town=rural",
        "town=not known",
        "not known: flat 0",
        "not known: flat 29",
    ]
    known = flats()["price"].mean()
    assert table.matrix[[0, -1], 0] == pytest.approx(known)
    assert table.matrix[:, -2].tolist() == [1.0] + [0.0] * (N - 1)
    assert table.matrix[1, 4] == 1.0
    assert Encoding.from_dict(table.encoding.to_dict()) == table.encoding


def test_what_is_not_known_is_said_and_never_shown_as_a_number() -> None:
    goods = catalogue(flats())
    assert goods.notes == (
        "price: number, 2 not known; size: number; town: 2 categories, 1 not known.",
        "2 items have a cell that is not known: only answers about them say what it is worth.",
    )
    cells = shown_cells(goods.table)
    assert cells["price"][0] == "not known" and cells["price"][1] == flats()["price"].iloc[1]
    assert cells["town"][1] == "not known"
    rows = {row.label: row for row in comparison_rows(goods, (0, 1))}
    assert rows["price"].texts[0] == "not known"


def test_an_item_with_a_gap_is_in_more_doubt_than_the_same_with_the_cell_known() -> None:
    whole, holed = flats(gap=False), flats()
    known = holed["price"].mean()
    whole.iloc[0, 0] = known
    pairs = answers()
    one, other = (IdealPoint(items, metric="full").fit(pairs) for items in (whole, holed))
    widths = [np.ptp(est.distance_interval()[0]) for est in (one, other)]
    assert widths[1] > 1.2 * widths[0]
    low, high = other.rank_interval()[0]
    assert high - low > 10


@pytest.mark.slow
def test_answers_about_an_item_tell_what_its_gap_is_worth() -> None:
    pairs = answers()
    rng = np.random.default_rng(2)
    wins = np.column_stack([np.zeros(12, dtype=int), rng.choice(np.arange(1, N - 1), 12, replace=False)])
    est = IdealPoint(flats(), metric="full").fit(np.concatenate([pairs, wins]))
    without = IdealPoint(flats(), metric="full").fit(pairs)
    assert est.distance()[0] < without.distance()[0]
    assert est.rank().tolist().index("flat 0") < without.rank().tolist().index("flat 0")
    told = est.explain()
    assert [one.feature for one in told.ideal] == ["price", "size", "town"]
    assert "not known" in str(told)


def test_many_gaps_are_a_column_of_their_own() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"price": rng.normal(size=200), "size": rng.normal(size=200)})
    frame.loc[rng.choice(200, 80, replace=False), "price"] = np.nan
    goods = catalogue(frame)
    assert goods.features == ["price", "size", "price not known"]
    assert goods.table.matrix[:, 2].sum() == 80
    assert goods.notes[0].startswith("price: number, 80 not known; size: number; price not known: yes or no")
    cells = goods.table.encoding.cells(goods.table.matrix)  # type: ignore[union-attr]
    assert sum(cell is None for cell in cells["price"]) == 80
    assert IdealPoint(frame).fit([[0, 1], [2, 3]]).n_features_in_ == 2


def test_a_column_that_is_mostly_blank_is_shown_and_not_learned_from() -> None:
    frame = flats().assign(rent=[1.0, 2.0] + [np.nan] * (N - 2))
    assert "rent" not in catalogue(frame).features
    assert "rent: shown, not learned from" in catalogue(frame).notes[0]
    assert "rent" in catalogue(frame, features=["rent", "size"]).features
    with pytest.raises(InputError, match="No cell of column 'rent' is known; leave it out"):
        catalogue(frame.assign(rent=np.nan), features=["rent", "size"])


def test_new_items_with_gaps_are_average_there() -> None:
    table = item_table(flats())
    new = pd.DataFrame({"price": [np.nan, 1.0], "size": [50.0, 50.0], "town": ["coast", "rural"]})
    found = table_for(new, None, 0, table.encoding)
    assert found.matrix[0, 0] == pytest.approx(flats()["price"].mean())
    assert not found.matrix[:, 5:].any()
    assert table_for(flats(), None, 0, table.encoding).matrix == pytest.approx(table.matrix)


def test_items_without_names_have_marks_by_place() -> None:
    frame = flats().reset_index(drop=True)
    data = Comparisons(frame, answers())
    assert data.items[:, -2:].sum() == 2
    assert IdealPoint(metric="full").fit(data).rank().shape == (N,)


def test_an_item_of_which_nothing_is_known_is_kept() -> None:
    frame = flats()[["price", "size"]]
    frame.iloc[0] = np.nan
    est = IdealPoint(frame, metric="full").fit(answers())
    assert "flat 0" in est.rank()


@pytest.mark.slow
def test_a_study_asks_about_items_with_gaps() -> None:
    study = create_study(flats(), storage="memory:")
    for _ in range(6):
        study.tell(study.ask(), "left")
    assert len(study.result().ranking) == N


@pytest.mark.parametrize("columns", [["rent", "size"], ["rent", "size", "town"]])
def test_new_items_with_a_gap_are_ranked_by_the_mean_with_a_warning(columns):
    rng = np.random.default_rng(0)
    flats = pd.DataFrame({"rent": rng.uniform(400, 900, 12), "size": rng.uniform(20, 90, 12)})
    flats["town"] = ["a", "b", "c"] * 4
    flats = flats[columns]
    est = IdealPoint(flats, metric="none").fit([(i, i + 1) for i in range(11)])
    known, gap = flats.head(3).copy(), flats.head(3).copy()
    known.loc[1, "size"], gap.loc[1, "size"] = flats["size"].mean(), np.nan
    with pytest.warns(UserWarning, match="'size' of row 1 is not known"):
        np.testing.assert_allclose(est.distance(gap), est.distance(known))
    with pytest.warns(UserWarning, match="is not known"):
        assert est.model_.rank(gap).tolist() == est.rank(known).tolist()
