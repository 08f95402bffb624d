"""Columns of any kind as numbers to learn from: what they become, what is said, and the way back."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coombs import Comparisons, InputError, create_study, load_study
from coombs.data import tables
from coombs.data.catalogue import catalogue, item_table
from coombs.data.encoding import CATEGORY, DATE, LOG, ORDERED, YES_NO, Encoding, FeatureColumn
from coombs.data.known_orders import known_order
from coombs.data.new_items import table_for
from coombs.data.scaling import Scaler

N = 12
FLATS = pd.DataFrame(
    {
        "price": np.geomspace(100, 90_000, N),
        "size": np.linspace(20.0, 75.0, N),
        "town": ["rural", "urban", "coast"] * 4,
        "floor": pd.Categorical(["low", "high"] * 6, categories=["low", "high"], ordered=True),
        "balcony": ["yes", "no", "no"] * 4,
        "built": pd.date_range("2001-01-01", periods=N, freq="YS"),
        "note": [f"flat number {i}" for i in range(N)],
    },
    index=[f"flat {i}" for i in range(N)],
)
ROLES = (LOG, "number", CATEGORY, ORDERED, YES_NO, DATE)


def test_every_column_becomes_what_its_cells_are() -> None:
    found = catalogue(FLATS)
    assert found.table.encoding is not None
    assert tuple(one.role for one in found.table.encoding.columns) == ROLES
    assert found.features == [
        "price",
        "size",
        "town=coast",
        "town=rural",
        "town=urban",
        "floor",
        "balcony",
        "built",
    ]
    assert found.table.matrix[0] == pytest.approx([np.log(100), 20, 0, 1, 0, 0, 1, 11_323])
    assert found.notes == (
        "price: number, on a log scale; size: number; town: 3 categories; floor: low < high; "
        "balcony: yes or no; built: date; note: shown, not learned from.",
    )


def test_a_csv_file_and_polars_give_the_same_numbers(tmp_path: Path) -> None:
    matrix = catalogue(FLATS).table.matrix
    FLATS.to_csv(tmp_path / "flats.csv")
    assert catalogue(tmp_path / "flats.csv", roles={"floor": ["low", "high"]}).table.matrix == pytest.approx(
        matrix
    )
    frame = pl.from_pandas(FLATS.reset_index(names="name").astype({"floor": str}))
    frame = frame.with_columns(pl.col("floor").cast(pl.Enum(["low", "high"])))
    assert catalogue(frame).table.matrix == pytest.approx(matrix)


@pytest.mark.parametrize(
    ("roles", "names"),
    [
        ({"price": "number"}, ["price", "size"]),
        ({"size": "category"}, None),
        ({"town": "text", "built": "ignore"}, ["price", "size", "floor", "balcony"]),
        ({"town": ["coast", "rural", "urban"]}, ["price", "size", "town", "floor"]),
        ({"note": "names"}, ["price", "size"]),
    ],
)
def test_roles_decide(roles: dict[str, Any], names: list[str] | None) -> None:
    found = catalogue(FLATS, roles=roles)
    if names is not None:
        assert found.features[: len(names)] == names
    assert ("built" in found.features) == (roles.get("built") is None)
    if roles == {"price": "number"}:
        assert found.table.matrix[0, 0] == 100
    if roles == {"note": "names"}:
        assert found.names[0] == "flat number 0"


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        ({"prize": "number"}, "There is no column 'prize'; the columns are price, size"),
        ({"price": "euro"}, "The role of 'price' is 'euro'; it must be one of 'number', 'log', "),
        ({"size": "date"}, "Feature 'size' of item 'flat 0' is '20'; it must be a date, as 2026-01-31."),
        ({"town": "number"}, "Feature 'town' of item 'flat 0' is 'rural'; it must be a number."),
        ({"town": "yes/no"}, "Feature 'town' of item 'flat 0' is 'rural'; it must be yes or no."),
        ({"town": ["rural"]}, "The levels of 'town' must be two or more"),
        (
            {"town": ["rural", "urban"]},
            "Feature 'town' of item 'flat 2' is 'coast'; the levels are 'rural', 'urban'",
        ),
        ({"price": "names", "note": "names"}, "More than one column has the role 'names'"),
        ([1], "roles is [1]; it must be a dict"),
    ],
)
def test_roles_that_cannot_be_get_a_sentence(roles: Any, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        catalogue(FLATS, roles=roles)
    assert str(error.value).startswith(sentence)


def test_a_log_scale_is_for_positive_numbers() -> None:
    frame = pd.DataFrame({"x": [0.0, 10.0, 1000.0]})
    with pytest.raises(InputError, match="of row 0 is 0; on a log scale it must be positive"):
        catalogue(frame, roles={"x": "log"})


@pytest.mark.parametrize(
    "column", [np.linspace(1, 99, 20), np.geomspace(1, 90, 20), np.linspace(-5, 5000, 20)]
)
def test_other_numbers_stay_as_they_are(column: np.ndarray[Any, Any]) -> None:
    """Within two decades, or not positive, or no less lopsided on a log scale."""
    assert catalogue(pd.DataFrame({"x": column})).table.encoding is None
    assert catalogue(pd.DataFrame({"x": [0.001, *range(50, 100)]})).table.encoding is None


def test_text_that_differs_is_left_out_with_a_warning_where_nothing_shows_it() -> None:
    with pytest.warns(UserWarning, match=r"Not learned from: note \(every cell is another text\)\."):
        assert "note" not in Comparisons(FLATS, [[0, 1]]).encoding.names  # type: ignore[union-attr]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Comparisons(FLATS, [["flat 0", "flat 1"]], roles={"note": "ignore"})


def encoded() -> tables.ItemTable:
    """The flats, without notes."""
    return item_table(FLATS.drop(columns="note"))


def test_cells_come_back_from_the_matrix() -> None:
    table = encoded()
    assert table.encoding is not None
    cells = table.encoding.cells(table.matrix)
    assert cells["price"] == pytest.approx(FLATS["price"].to_numpy())
    assert cells["town"].tolist() == FLATS["town"].tolist()
    assert cells["floor"].tolist() == FLATS["floor"].tolist()
    assert [str(day) for day in cells["built"]] == [str(day.date()) for day in FLATS["built"]]
    assert table.encoding.encode(cells, tables.row) == pytest.approx(table.matrix)


def test_an_encoding_survives_json() -> None:
    encoding = encoded().encoding
    assert encoding is not None
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


@pytest.mark.parametrize(
    "change",
    [
        {"role": "colour"},
        {"name": 3},
        {"levels": "ab"},
        {"levels": []},
        {"gaps": -1},
        {"fill": float("nan")},
        {"more": 1},
    ],
)
def test_an_encoding_that_cannot_be_is_a_value_error(change: dict[str, Any]) -> None:
    one = {"name": "town", "role": "category", "levels": ["a", "b"]}
    Encoding.from_dict({"columns": [one]})
    with pytest.raises(ValueError):  # noqa: PT011
        Encoding.from_dict({"columns": [{**one, **change}]})
    with pytest.raises(ValueError, match="repeated"):
        Encoding.from_dict({"columns": [one, one]})


def test_new_items_are_found_by_name_and_encoded_as_learned() -> None:
    table = encoded()
    again = FLATS.iloc[[3, 1], ::-1]
    for given_as in (again, again.assign(price=again["price"].astype(str).astype(float), extra=1)):
        found = table_for(given_as, None, table.matrix.shape[1], table.encoding)
        assert found.matrix == pytest.approx(table.matrix[[3, 1]])
        assert found.texts == ["flat 3", "flat 1"]
    with pytest.raises(InputError, match="There is no column 'town'; the model was learned from price, size"):
        table_for(again.drop(columns="town"), None, 0, table.encoding)


def test_a_level_never_seen_is_an_average_one_and_named() -> None:
    table = encoded()
    with pytest.warns(UserWarning, match="town 'moon' was not learned from: it is taken for an average one"):
        found = table_for(FLATS.assign(town="moon"), None, 0, table.encoding)
    assert not found.matrix[:, 2:5].any()


def test_a_category_has_variance_one_and_one_size() -> None:
    table = encoded()
    scaler = Scaler.of(table.matrix, True, levels=table.levels)
    (block,), (present,) = scaler.levels
    scaled = scaler.forward(table.matrix)
    assert scaled[:, list(block)].var(axis=0).sum() == pytest.approx(1)
    assert set(np.unique(scaled[:, list(block)])) == {0.0, present}
    rest = np.delete(scaled, list(block), axis=1)
    assert rest.mean(axis=0) == pytest.approx(0, abs=1e-9)
    assert rest.std(axis=0) == pytest.approx(1)


@settings(deadline=None, max_examples=30)
@given(st.permutations(["rural", "urban", "coast"]), st.permutations(range(N)))
def test_scaled_levels_do_not_depend_on_their_names_or_on_the_rows(names: list[str], rows: list[int]) -> None:
    frame = FLATS[["size", "town"]]
    renamed = frame.assign(town=frame["town"].map(dict(zip(["rural", "urban", "coast"], names, strict=True))))
    one, other = item_table(frame), item_table(renamed.iloc[rows])
    scaled = [
        Scaler.of(table.matrix, True, levels=table.levels).forward(table.matrix) for table in (one, other)
    ]
    assert scaled[1] == pytest.approx(scaled[0][rows], abs=1e-12)


@pytest.mark.slow
def test_a_study_keeps_the_encoding() -> None:
    study = create_study(FLATS, storage="memory:", roles={"size": "log"})
    again = load_study(storage=study.storage)
    assert again.catalogue.table.encoding == study.catalogue.table.encoding
    assert again.catalogue.table.encoding.columns[1] == FeatureColumn("size", LOG)  # type: ignore[union-attr]
    question = again.ask()
    again.tell(question, "left")
    assert again.result().ranking is not None


def test_words_are_ordered_only_as_somebody_says_or_everybody_knows(tmp_path: Path) -> None:
    """In Python and for commands; the alphabet is no order."""
    path = tmp_path / "shirts.csv"
    path.write_text("item,price,size,cut\nA,5,L,wide\nB,6,S,slim\nC,7,M,straight\nD,8,S,slim\n")
    with pytest.raises(
        InputError, match=r"is not known: give the levels of 'cut' .* or cut:.*<.* for --feat"
    ):
        catalogue(path, ["price", "cut:ordered"])
    asked = ["price", "cut:slim<straight<wide"]
    for told in (catalogue(path, asked), catalogue(path, ["price", "size:ordered"])):
        assert told.table.matrix[:, 1].tolist() == [2, 0, 1, 0]
    said = catalogue(path, ["price", "size"], {"size": ["L", "M", "S"]})
    assert said.table.matrix[:, 1].tolist() == [0, 2, 1, 2]


@pytest.mark.parametrize(
    "levels",
    [
        ["low", "Medium", "HIGH"],
        ["XS", "s", "M", "XL", "XXL"],
        ["poor", "fair", "good", "very good", "excellent"],
        ["never", "rarely", "sometimes", "often", "always"],
        ["1 star", "2 stars", "4.5 stars", "10 stars"],
        ["Jan", "Mar", "Oct"],
        ["mon", "tue", "sunday"],
        ["strongly disagree", "disagree", "neutral", "agree"],
    ],
)
def test_orders_that_everybody_knows_are_known(levels: list[str]) -> None:
    assert known_order(sorted(levels)) == tuple(levels)
    assert known_order([*levels, "purple"]) is None
    assert known_order([*levels, levels[0].swapcase()]) is None


def test_the_warning_of_text_that_is_left_out_says_why() -> None:
    n = 12
    table = pd.DataFrame(
        {
            "price": np.arange(n),
            "link": [f"https://a.org/{i % 2}" for i in range(n)],
            "brand": [f"brand {i % 7}" for i in range(n)],
            "same": "yes, it is",
            "day": [f"0{1 + i % 9}/04/2025" for i in range(n)],
            "rare": ["a", "b", *[None] * (n - 2)],
        }
    )
    with pytest.warns(UserWarning, match="Not learned from") as told:
        Comparisons(table, [(0, 1)])
    text = str(told[0].message)
    assert "link (it has links)" in text and "brand (it has 7 different texts in 12 cells)" in text
    assert "same (all of its cells are the same)" in text and "day (" in text and "kept as text" in text
    assert "rare (" in text


def test_files_are_read_with_features_and_roles(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item,price,stars,size\na,1,3,S\nb,2,5,L\nc,3,4,M\n")
    (tmp_path / "answers.csv").write_text("winner,loser\na,b\n")
    paths = tmp_path / "items.csv", tmp_path / "answers.csv"
    data = Comparisons.read_csv(*paths, features=["price"])
    assert data.items.tolist() == [[1.0], [2.0], [3.0]]
    data = Comparisons.read_csv(*paths, roles={"size": ["S", "M", "L"], "stars": "ignore"})
    assert data.items.tolist() == [[1.0, 0.0], [2.0, 2.0], [3.0, 1.0]]
    with pytest.raises(InputError, match="There is no column 'prize'"):
        Comparisons.read_csv(*paths, roles={"prize": "number"})
